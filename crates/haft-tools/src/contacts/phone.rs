//! Phone numbers: what looks like one and is valid for its country.

use std::sync::LazyLock;

use phonenumber::metadata::DATABASE;
use phonenumber::{Mode, country};
use regex::Regex;

use super::name::last_words;
use super::{Confidence, Find, Finds, Kind, pattern};

/// Digits of any script, and what people put between them.
static CANDIDATE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:tel:)?((?:[+＋]|\(\s?[+＋])?[\s\u{a0}]?[(（]?\p{Nd}(?:[\s\u{a0}\u{2009}\u{202f}()（）./\u{ad}\u{2010}-\u{2015}\u{2212}・-]{0,3}\p{Nd}){5,20})",
    )
});

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
            whatsapp|anruf\p{L}*|erreich\p{L}*|тел|телефон\p{L}*|моб|звон\p{L}*)|電話|电话|携帯|手机|전화)[^\p{Nd}\n]{0,24}$",
    )
});

/// What is said before a number that names a document, in its last words.
static FILED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?ix)(?:\b(?:rechnung\p{L}*|bestell\p{L}*|auftrag\p{L}*|kunden\p{L}*|vertrag\p{L}*|aktenzeichen|konto\p{L}*|iban|nr|no\.|num|number|numer|
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
    for found in CANDIDATE.captures_iter(text) {
        let Some(number) = found.get(1) else { continue };
        let start = number.start() + number.as_str().len() - number.as_str().trim_start().len();
        let mut candidate = text.get(start..number.end()).unwrap_or_default();
        let before = text.get(..start).and_then(|before| before.chars().next_back());
        let after = text.get(number.end()..).and_then(|after| after.chars().next());
        // Part of a word, a price, a percentage, a version, a key.
        let joined = before.is_some_and(|c| is_spelled(c) || "#$€£¥_=@%&".contains(c));
        let continued = after.is_some_and(|c| is_spelled(c) || "€$£¥%_@=".contains(c));
        let said = last_words(text.get(..start).unwrap_or_default());
        let called = CALLED.is_match(said);
        if joined || continued || !called && FILED.is_match(said) {
            continue;
        }
        // Two numbers may stand side by side; then the longest beginning that is one is taken.
        while let Some(digits) = digits(candidate) {
            let others = OTHERS.is_match(candidate)
                && !candidate.starts_with(['+', '＋', '0'])
                && !is_dialled(candidate, called, text.get(start + candidate.len()..));
            let dated = OTHERS.is_match(candidate) && is_date(candidate);
            if !others
                && !dated
                && let Some((value, of)) = valid(&digits, region)
            {
                let closed = balanced(candidate);
                let place = start + candidate.len() - closed.len()..start + candidate.len();
                let mut find = Find::new(Kind::Phone, place, value, Confidence::Exact);
                find.region = of;
                finds.take(find);
                break;
            }
            let Some(shorter) = candidate.rfind(|c: char| c.is_whitespace() || c == '/') else {
                break;
            };
            candidate = candidate.get(..shorter).unwrap_or_default().trim_end();
        }
    }
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
    (7..=16).contains(&count).then_some(digits)
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
