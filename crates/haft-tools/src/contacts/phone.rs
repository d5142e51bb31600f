//! Phone numbers: what looks like one and is valid for its country.

use std::ops::Range;
use std::sync::LazyLock;

use phonenumber::metadata::DATABASE;
use phonenumber::{Mode, country};
use regex::Regex;

use super::name::last_words;
use super::{Confidence, Find, Finds, Kind, pattern};

/// A number with everything that is dialled before it has no more.
const MOST_DIGITS: usize = 16;

/// Digits of any script, and what people put between them, on one line: a number, or several.
static RUN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:tel:)?((?:[+＋]|\(\s?[+＋])?[\s&&[^\n\r]]?[(（]?\p{Nd}(?:[[\s&&[^\n\r]]()（）./\u{ad}\u{2010}-\u{2015}\u{2212}・-]{0,3}\p{Nd}){5,})",
    )
});

/// A day, before a space or at the end.
static DAY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})(?:\s|$)")
});

/// What is dialled when somebody has answered: `x99`, `ext. 99`, `Durchwahl 99`.
static EXTENSION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^[ \u{a0}]{0,2}(?:x|extension|extn?|durchwahl|dw|apparat|app|poste|interno|int|wewn?|доб|内線|分机)[.:：]{0,2}[ \u{a0}]?(\d{1,6})\b",
    )
});

/// Four groups of four are a card's.
static CARD: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\d{4}(?:[ -]\d{4}){3}$"));

/// Dates, addresses of machines, times, money: as many digits, but no numbers to dial.
static OTHERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)^(?:
            \d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:\s.*)? | \d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}(?:\s\d{1,2}.*)? |
            \d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3} | \d{1,3}(?:[.\s]\d{3})+ |
            (?:19|20)\d{2}\s?[-–/]\s?(?:19|20)\d{2} | \d+\.\d+
        )$",
    )
});

/// What is said before a number that is to be dialled, in its last words.
static CALLED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?ix)(?:\b(?:tel|tél|telefon\p{L}*|téléphone|telefono|teléfono|telefone|phone|ph|mobil\p{L}*|móvil|portable|
            cell\p{L}*|cellulare|handy\p{L}*|fax|call|ring|dial|llam\p{L}*|appel\p{L}*|chiam\p{L}*|zadzwoń|dzwoni\p{L}*|kom|komórk\p{L}*|
            whatsapp|anruf\p{L}*|erreich\p{L}*|тел|телефон\p{L}*|моб|звон\p{L}*)|هاتف|جوال|رقم|اتصل|טלפון|נייד|फ़ोन|फोन|मोबाइल|τηλ|κινητό|điện\s thoại|電話|电话|携帯|手机|전화)[^\p{Nd}\n]{0,24}$",
    )
});

/// What is said before a number that names a document, in its last words.
static FILED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?ix)(?:\b(?:rechnung\p{L}*|bestell\p{L}*|auftrag\p{L}*|kunden\p{L}*|vertrag\p{L}*|aktenzeichen|konto\p{L}*|iban|nr|no\.|num|number|numer|
            siren|siret|tva|vat|ust-?id\p{L}*|steuer\p{L}*|nip|regon|pesel|nif|cif|iva|инн|огрн|кпп|ein|ssn|tax\p{L}*|
            timestamp|epoch|unix|uid|sku|ean|gtin|imei|blz|hrb|kvk|
            invoice|order|reference|ref|ticket|case|account|policy|contract|tracking|serial|isbn|issn|
            facture|commande|dossier|référence|n°|nº|factura|pedido|expediente|fattura|ordine|pratica|faktur\p{L}*|zamówieni\p{L}*|
            счёт\p{L}*|счет\p{L}*|заказ\p{L}*|договор\p{L}*)|№|\#|n°|nº|請求書|注文|発注|订单|訂單|发票|合同|编号|番号)[\s.:：\#°º号碼码-]{0,4}$",
    )
});

/// Three groups of three: a number to dial in some countries, and a large number in all of them.
static TRIPLETS: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\d{3}(?:[.\s\u{a0}]\d{3}){2}$"));

/// The country of two letters, where there is one that has numbers.
pub(super) fn region(letters: &str) -> Option<country::Id> {
    let id: country::Id = letters.parse().ok()?;
    DATABASE.by_id(id.as_ref()).map(|_| id)
}

pub(super) fn find(text: &str, region: Option<country::Id>, finds: &mut Finds) {
    for found in RUN.captures_iter(text) {
        let Some(digits) = found.get(1) else { continue };
        if let Some(run) = Run::of(text, digits.range(), region) {
            run.find(finds);
        }
    }
}

/// Digits that stand together.
struct Run<'a> {
    text: &'a str,
    place: Range<usize>,
    region: Option<country::Id>,
    /// Somebody says that it is to be dialled.
    called: bool,
    /// Its last group goes on in letters.
    cut: bool,
}

impl<'a> Run<'a> {
    /// Nothing for what is part of a word, a price, a percentage, a version, a key, a document's name.
    fn of(text: &'a str, place: Range<usize>, region: Option<country::Id>) -> Option<Self> {
        let digits = text.get(place.clone())?;
        let start = place.start + digits.len() - digits.trim_start().len();
        let before = text.get(..start)?;
        let after = text.get(place.end..)?;
        let joined = |c: char| is_spelled(c) || "#$€£¥_=@%&".contains(c);
        let said = last_words(before);
        let called = CALLED.is_match(said);
        if before.ends_with(joined)
            || after.starts_with(['€', '$', '£', '¥', '%'])
            || !called && FILED.is_match(said)
            || CARD.is_match(digits.trim())
        {
            return None;
        }
        let continued = after.starts_with(|c| is_spelled(c) || "_@=".contains(c));
        let cut = continued && !EXTENSION.is_match(after);
        Some(Self { text, place: start..place.end, region, called, cut })
    }

    /// One number after the other. What is none is passed over once, so that the search ends.
    fn find(&self, finds: &mut Finds) {
        let mut at = self.place.start;
        let mut passed = false;
        while let Some(rest) = self.text.get(at..self.place.end) {
            let Some(first) = rest.find(|c| digit(c).is_some() || "(（+＋".contains(c)) else {
                return;
            };
            at += first;
            let rest = rest.get(first..).unwrap_or_default();
            if let Some(find) = self.first(at) {
                at = find.1;
                passed = false;
                finds.take(find.0);
            } else if let Some(other) = other(rest).filter(|_| !passed) {
                at += other;
                passed = true;
            } else {
                return;
            }
        }
    }

    /// The number that begins here, and where its digits end.
    fn first(&self, at: usize) -> Option<(Find, usize)> {
        let ends = self.ends(at);
        // Where numbers differ in length, two that stand side by side can be read as one.
        let apart = ends.iter().find(|end| {
            let next = self.text.get(**end..self.place.end).unwrap_or_default().trim_start();
            let anew = self.place.end - next.len();
            next.starts_with(['0', '(', '（'])
                && self.read(at, **end).is_some()
                && self.ends(anew).iter().any(|end| self.read(anew, *end).is_some())
        });
        let end = *apart.or_else(|| ends.iter().find(|end| self.read(at, **end).is_some()))?;
        let (value, region) = self.read(at, end)?;
        let candidate = self.text.get(at..end)?;
        let start = end - balanced(candidate).len();
        let extension = self.text.get(end..).and_then(|after| EXTENSION.captures(after));
        let (whole, extension) =
            match extension.as_ref().and_then(|found| found.get(0).zip(found.get(1))) {
                Some((whole, digits)) => (end + whole.end(), Some(digits.as_str().to_owned())),
                None => (end, None),
            };
        let mut find = Find::new(Kind::Phone, start..whole, value, self.confidence(candidate));
        find.region = region;
        find.extension = extension;
        Some((find, end))
    }

    /// Where a number that begins here may end, the longest first.
    fn ends(&self, at: usize) -> Vec<usize> {
        let rest = self.text.get(at..self.place.end).unwrap_or_default();
        let mut ends = Vec::new();
        let mut count = 0;
        for (place, c) in rest.char_indices() {
            count += usize::from(digit(c).is_some());
            if count > MOST_DIGITS {
                break;
            }
            if c.is_whitespace() || c == '/' {
                let number = rest.get(..place).unwrap_or_default().trim_end();
                ends.push(at + number.len());
            }
        }
        if count <= MOST_DIGITS && !self.cut {
            ends.push(self.place.end);
        }
        ends.dedup();
        ends.reverse();
        ends
    }

    /// The number at this place, if it is one.
    fn read(&self, start: usize, end: usize) -> Option<(String, Option<String>)> {
        let candidate = self.text.get(start..end)?;
        let digits = digits(candidate)?;
        let looks = OTHERS.is_match(candidate);
        let other = looks
            && !candidate.starts_with(['+', '＋', '0'])
            && !is_dialled(candidate, self.called, self.text.get(end..));
        if other || looks && is_date(candidate) {
            return None;
        }
        valid(&digits, self.region)
    }

    /// Digits alone may count anything, and so may those without the zero that is dialled at home.
    fn confidence(&self, candidate: &str) -> Confidence {
        let international = candidate.contains(['+', '＋']) || candidate.starts_with("00");
        let bare = candidate.chars().all(|c| digit(c).is_some());
        let zero = self
            .region
            .and_then(|region| DATABASE.by_id(region.as_ref())?.national_prefix())
            .is_some_and(|prefix| prefix == "0");
        let begun = candidate.chars().find_map(digit) == Some('0');
        match !self.called && !international && (bare || zero && !begun) {
            true => Confidence::Likely,
            false => Confidence::Exact,
        }
    }
}

/// How long something is that stands before a number and is none: a day, or a postcode before what
/// begins as numbers do.
fn other(rest: &str) -> Option<usize> {
    if let Some(day) = DAY.captures(rest).and_then(|found| found.get(1))
        && is_date(day.as_str())
    {
        return Some(day.end());
    }
    let (group, after) = rest.split_once(|c: char| c.is_whitespace())?;
    let short = group.len() <= 5 && group.chars().all(|c| c.is_ascii_digit());
    (short && after.trim_start().starts_with(['0', '('])).then_some(group.len())
}

/// Whether three groups of three are to be dialled: somebody says so, or nothing is counted with them.
fn is_dialled(candidate: &str, called: bool, after: Option<&str>) -> bool {
    let rest = after.unwrap_or_default().trim_start_matches([' ', '\u{a0}']);
    let counted = rest.starts_with(|c: char| c.is_alphabetic() || "€$£¥%".contains(c));
    TRIPLETS.is_match(candidate) && (called || !candidate.contains('.') && !counted)
}

/// A letter of a script that puts spaces between words, or a digit.
fn is_spelled(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase() || c.is_numeric()
}

/// A leading bracket that is never closed belongs to the sentence.
fn balanced(candidate: &str) -> &str {
    match candidate.strip_prefix(['(', '（']) {
        Some(rest) if !rest.contains([')', '）']) => rest,
        _ => candidate,
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<u32> =
        text.split(['.', '/', '-']).filter_map(|part| part.trim().parse().ok()).collect();
    let day_and_month = |day: u32, month: u32| (1..=31).contains(&day) && (1..=12).contains(&month);
    let is_year = |year: u32| year < 100 || (1_800..=2_200).contains(&year);
    match parts.as_slice() {
        [first, second, third] => {
            day_and_month(*first, *second) && is_year(*third)
                || day_and_month(*third, *second) && is_year(*first)
        }
        _ => false,
    }
}

/// The digits in ASCII, with a plus where it is international.
fn digits(text: &str) -> Option<String> {
    let mut digits = String::new();
    for c in text.chars() {
        match c {
            '+' | '＋' => digits.push('+'),
            _ => digits.extend(digit(c)),
        }
    }
    // `+44 (0)20 …`: the zero is dialled at home only.
    if text.contains("(0)") && digits.starts_with('+') {
        let at = text.find("(0)").unwrap_or_default();
        let before = text.get(..at).unwrap_or_default().chars().filter_map(digit).count();
        let rest = digits.get(1 + before + 1..).unwrap_or_default();
        digits = format!("{}{rest}", digits.get(..=before).unwrap_or_default());
    }
    let count = digits.trim_start_matches('+').len();
    (7..=MOST_DIGITS).contains(&count).then_some(digits)
}

/// The digits of the scripts that phone numbers are written in.
fn digit(c: char) -> Option<char> {
    let zeros = ['0', '\u{660}', '\u{6f0}', '\u{966}', '\u{9e6}', '\u{e50}', '\u{ff10}'];
    let value = zeros
        .iter()
        .find_map(|zero| (u32::from(c)).checked_sub(u32::from(*zero)).filter(|n| *n < 10))?;
    char::from_digit(value, 10)
}

/// The number as E.164 with its country.
fn valid(digits: &str, region: Option<country::Id>) -> Option<(String, Option<String>)> {
    let international = match digits.strip_prefix("00") {
        // What is dialled before a country's code nearly everywhere.
        Some(rest) if !rest.starts_with('0') => Some(format!("+{rest}")),
        _ => digits.starts_with('+').then(|| digits.to_owned()),
    };
    let parsed = match (&international, region) {
        (Some(number), _) => phonenumber::parse(None, number),
        (None, Some(region)) => phonenumber::parse(Some(region), digits),
        (None, None) => return None,
    };
    let number = parsed.ok().filter(phonenumber::is_valid)?;
    let of = number.country().id().map(|id| id.as_ref().to_owned());
    Some((number.format().mode(Mode::E164).to_string(), of))
}
