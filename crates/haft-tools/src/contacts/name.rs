//! Names of people. They are likely, never certain: nothing about a capital letter proves a name.
//!
//! Two to four words with capitals are a name when something else speaks for it: a usual given name,
//! a title or a word that announces one, the address beside it, or a place of its own at a letter's
//! end.

mod caseless;
mod han;

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::given::is_given;
use super::{Confidence, Find, Finds, Kind, pattern};

/// A word that begins with a capital: `Mára`, `O'Brien`, `McKay`, `Jean-Luc`, `J.`
const WORD: &str = r"(?:\p{Lu}[\p{Ll}\p{M}]+(?:['’-]?\p{Lu}[\p{Ll}\p{M}]+)*|\p{Lu}['’]\p{Lu}[\p{Ll}\p{M}]+|\p{Lu}\.)";
/// Small words inside of names.
const LINK: &str = r"(?:de|del|della|der|den|di|da|das|do|dos|du|la|le|van|von|zu|zur|ten|ter|bin|ibn|al|el|af|y|e)";

static CAPITALS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(r"{WORD}(?:[ \u{{a0}}](?:{LINK}[ \u{{a0}}]){{0,2}}{WORD}){{0,3}}"))
});

/// What announces a name, at the end of what stands before it: titles, greetings, "my name is".
static ANNOUNCED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?ix)(?:^|[\s(,;:>])(?:
            (?:mr|mrs|ms|mx|miss|dr|prof|professor|sir|madam|herr|herrn|frau|m|mme|mlle|monsieur|madame|
            sr|sra|srta|dra|señor|señora|señorita|don|doña|dña|signor|signore|signora|signorina|sig|sig\.ra|sig\.na|dott|dott\.ssa|avv|
            ing|inż|mgr|lic|lord|lady|maître|dl|dna|domnul|doamna|pan|pana|panu|panem|panie|pani|panią|państwo|
            господин\p{L}*|госпож\p{L}*|г-н|г-на|г-ну|г-жа|г-жу|г-же|доктор\p{L}*|профессор\p{L}*|
            κ|κος|κα|κύριο[ςυ]?|κύριε|κυρία[ς]?|sayın|ông|bà|anh|chị|cô|thầy|bác\s sĩ)\.?|
            (?:name|contact|kontakt|ansprechpartner|ansprechpartnerin|attn|nome|nombre|nom|nume|nazwisko|imię|имя|фио|контакт|
            όνομα|ονοματεπώνυμο|ad\s soyad|adı\s soyadı|isim|họ\s (?:và\s )?tên|tên)\s?[:：]|
            hi|hello|hey|dear|liebe|lieber|hallo|cher|chère|bonjour|hola|estimad[oa]|querid[oa]|dragă|bună|stimat[eă]|ciao|cara|caro|
            уважаем(?:ый|ая)|дорог(?:ой|ая)|αγαπητ(?:έ|ή)|sevgili|
            my\s name\s is|mein\s name\s ist|ich\s heiße|je\s m['’]appelle|me\s llamo|
            mi\s chiamo|mă\s numesc|mă\s cheamă|numele\s meu\s este|меня\s зовут|nazywam\s się|mam\s na\s imię|
            με\s λένε|ονομάζομαι|το\s όνομά\s μου\s είναι|(?:benim\s )?adım|tôi\s tên\s là|tên\s tôi\s là|tên\s em\s là
        )\s?$",
    )
});

/// What often stands before a name, and before other things as well: only whole names are taken.
static EXPECTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?ix)(?:^|[\s(,;:>])(?:
            call|ring|phone|e-?mail|meet|met|ask|ask\s for|tell|contact|with|speak\s (?:to|with)|i\s am|i['’]m|this\s is|
            ich\s bin|mit|ruf|je\s suis|avec|appelez|contactez|joignez|soy|con|llame\s a|llama\s a|sono|chiami|chiamare|contatti|contattare|
            dzwonić\s do|zadzwoń\s do|kontakt\s z|позвоните|свяжитесь\s с|это|sunt|sunați\s pe|cu|pe|tôi\s là|em\s là|liên\s hệ|
            from:|von:|cc:?
        )\s$",
    )
});

/// What begins or ends no name.
const NOT: &[&str] = &[
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
    "Street",
    "St",
    "Road",
    "Avenue",
    "Lane",
    "Square",
    "Straße",
    "Platz",
    "Allee",
    "Rue",
    "Calle",
    "Via",
    "Strada",
    "University",
    "Institute",
    "School",
    "College",
    "Hospital",
    "Hotel",
    "Festival",
    "Studio",
    "Studios",
    "Company",
    "Bank",
    "Gmbh",
    "Ltd",
    "Inc",
    "Llc",
    "Corp",
    "The",
    "This",
    "That",
    "Hello",
    "Hi",
    "Dear",
    "Hey",
    "Best",
    "Kind",
    "Regards",
    "Thanks",
    "Thank",
    "Please",
    "Liebe",
    "Lieber",
    "Hallo",
    "Guten",
    "Beste",
    "Viele",
    "Herzliche",
    "Grüße",
    "Bonjour",
    "Cher",
    "Chère",
    "Cordialement",
    "Hola",
    "Estimado",
    "Estimada",
    "Saludos",
    "Bună",
    "Stimate",
    "Stimată",
    "Salut",
    "Ciao",
    "Gentile",
    "New",
    "North",
    "South",
    "East",
    "West",
    "Great",
    "San",
    "Los",
    "United",
    "Team",
    "Office",
    "Phone",
    "Tel",
    "Email",
    "Mail",
    "Fax",
    "Mobile",
    "Street",
    "Call",
    "Contact",
    "Meet",
    "Ask",
    "Write",
    "Ring",
    "And",
    "Or",
    "But",
    "If",
    "Lütfen",
    "Merhaba",
    "Proszę",
];

/// What Turkish puts behind a given name, as other languages put a title before.
const BEHIND: &[&str] = &["Bey", "Hanım", "Hoca"];

/// What ends a letter; the line after it is who wrote it.
const CLOSINGS: &[&str] = &[
    "regards",
    "best",
    "cheers",
    "thanks",
    "sincerely",
    "grüßen",
    "grüße",
    "gruß",
    "lg",
    "mfg",
    "cordialement",
    "amicalement",
    "bisous",
    "saludos",
    "atentamente",
    "saluti",
    "stimă",
    "respect",
    "groeten",
    "groet",
    "abraço",
    "cumprimentos",
    "уважением",
    "pozdrawiam",
    "poważaniem",
    "saygılarımla",
    "saygılar",
    "sevgiler",
    "εκτίμηση",
    "χαιρετισμούς",
    "trọng",
];

pub(super) fn find(text: &str, finds: &mut Finds) {
    let boxes = mailboxes(finds);
    let mut at = 0;
    while let Some(found) = CAPITALS.find_at(text, at) {
        at = found.end();
        if let Some(place) = person(text, found.range(), &boxes) {
            at = place.end;
            let value = text.get(place.clone()).unwrap_or_default().replace('\u{a0}', " ");
            finds.take(Find::new(Kind::Name, place, value, Confidence::Likely));
        }
    }
    han::find(text, finds);
    caseless::find(text, finds);
}

/// The part of a run of capitals that is a name, where one is.
fn person(text: &str, run: Range<usize>, boxes: &[Vec<String>]) -> Option<Range<usize>> {
    let before = text.get(..run.start)?;
    let joined =
        before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || "@#/_-'’".contains(c));
    let after = text.get(run.end..)?.chars().next();
    if joined || after.is_some_and(|c| c.is_alphanumeric() || "_@".contains(c)) {
        return None;
    }
    // Sentences and titles begin with capitals, too, so a name may begin with any word of the run.
    let starts = std::iter::once(run.start).chain(
        text.get(run.clone())?
            .match_indices([' ', '\u{a0}'])
            .map(|(at, space)| run.start + at + space.len()),
    );
    for start in starts {
        let place = start..start + before_title(text.get(start..run.end)?).len();
        let words: Vec<&str> = text.get(place.clone())?.split([' ', '\u{a0}']).collect();
        if let [name, behind, ..] = words.as_slice()
            && BEHIND.contains(behind)
            && !is_no_name(name)
        {
            return Some(start..start + name.len());
        }
        let (first, last) = (words.first()?, words.last()?);
        if !first.starts_with(char::is_uppercase)
            || is_no_name(first)
            || is_no_name(last)
            || is_title(first)
        {
            continue;
        }
        let long = words.iter().any(|word| word.chars().count() > 2);
        let full = words.len() > 1 && long;
        let before = last_words(text.get(..start)?);
        let announced = long && ANNOUNCED.is_match(before);
        let spoken_for = || {
            let known = is_given(first) || is_in_mailbox(&words, boxes);
            known || EXPECTED.is_match(before) || signs(text, &place)
        };
        if announced || full && spoken_for() {
            return Some(place);
        }
    }
    None
}

/// A run up to the next title in it: `García y el Sr` are two people.
fn before_title(run: &str) -> &str {
    let spaces = run.match_indices([' ', '\u{a0}']);
    for (at, space) in spaces {
        let rest = run.get(at + space.len()..).unwrap_or_default();
        let word = rest.split([' ', '\u{a0}']).next().unwrap_or_default();
        if word.trim_end_matches('.').chars().count() > 1 && is_title(word) {
            let mut before = run.get(..at).unwrap_or(run);
            while let Some((shorter, last)) = before.rsplit_once([' ', '\u{a0}'])
                && !last.starts_with(char::is_uppercase)
            {
                before = shorter;
            }
            return before;
        }
    }
    run
}

fn is_no_name(word: &str) -> bool {
    NOT.contains(&word.trim_end_matches('.'))
}

/// Whether a word announces a name and is none itself.
fn is_title(word: &str) -> bool {
    ANNOUNCED.is_match(&format!("{word} "))
}

/// The end of a text, enough for what announces a name.
pub(super) fn last_words(before: &str) -> &str {
    let mut from = before.len().saturating_sub(40);
    while !before.is_char_boundary(from) {
        from += 1;
    }
    let tail = before.get(from..).unwrap_or_default();
    // A line of its own is announced by nothing above it.
    tail.rsplit_once('\n').map_or(tail, |(_, line)| line)
}

/// The parts of the addresses' names.
fn mailboxes(finds: &Finds) -> Vec<Vec<String>> {
    let emails = finds.0.iter().filter(|find| find.kind == Kind::Email);
    let local =
        emails.filter_map(|find| find.value.split_once('@').map(|(local, _)| local.to_lowercase()));
    local.map(|local| local.split(['.', '_', '-', '+']).map(str::to_owned).collect()).collect()
}

/// Whether an address in the text is made of these words: `m.ionescu` of Mara Ionescu.
fn is_in_mailbox(words: &[&str], boxes: &[Vec<String>]) -> bool {
    let plain: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let (Some(first), Some(last)) = (plain.first(), plain.last()) else { return false };
    boxes.iter().any(|parts| {
        let whole = parts.concat();
        parts.contains(last)
            || whole == format!("{first}{last}")
            || first.chars().next().is_some_and(|c| whole == format!("{c}{last}"))
    })
}

/// Whether it is a line of its own under the end of a letter.
fn signs(text: &str, place: &Range<usize>) -> bool {
    let above = text.get(..place.start).unwrap_or_default();
    let below = text.get(place.end..).unwrap_or_default();
    let alone = above.trim_end_matches([' ', '\t']).ends_with('\n')
        && below
            .trim_start_matches([' ', '\t', ','])
            .chars()
            .next()
            .is_none_or(|c| c == '\n' || c == '\r');
    let closing = above.trim_end().rsplit('\n').next().unwrap_or_default().to_lowercase();
    let words = closing.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    alone && closing.chars().count() < 40 && words.into_iter().any(|word| CLOSINGS.contains(&word))
}
