//! Text as the words that are indexed and searched for.
//!
//! Both sides go through the same steps, so that *Festivals* finds *festival's*: runs of letters
//! and digits, lower case, without accents, reduced to their stem; Korean ones without the particle
//! that is written onto them. Scripts that write no spaces are taken two characters at a time; what is
//! indexed, also one at a time, so that a single character is found.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;
use frostem::{Algorithm, Stemmer};
use serde::{Deserialize, Serialize};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Longer ones are no words: keys, hashes, pictures in base 64.
const LONGEST: usize = 100;

/// How many stems are remembered. Most of a text are the same few thousand words, which come back soon
/// after all are forgotten.
const REMEMBERED: usize = 50_000;

/// The language whose endings are taken off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "they are what they are called")]
pub enum Language {
    #[default]
    English,
    Danish,
    Dutch,
    Finnish,
    French,
    German,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Turkish,
    /// Words stay as they are.
    None,
}

impl Language {
    /// As it is written in `haft.toml`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::English => "english",
            Self::Danish => "danish",
            Self::Dutch => "dutch",
            Self::Finnish => "finnish",
            Self::French => "french",
            Self::German => "german",
            Self::Hungarian => "hungarian",
            Self::Italian => "italian",
            Self::Norwegian => "norwegian",
            Self::Portuguese => "portuguese",
            Self::Romanian => "romanian",
            Self::Russian => "russian",
            Self::Spanish => "spanish",
            Self::Swedish => "swedish",
            Self::Turkish => "turkish",
            Self::None => "none",
        }
    }

    fn algorithm(self) -> Option<Algorithm> {
        Some(match self {
            Self::English => Algorithm::English,
            Self::Danish => Algorithm::Danish,
            Self::Dutch => Algorithm::Dutch,
            Self::Finnish => Algorithm::Finnish,
            Self::French => Algorithm::French,
            Self::German => Algorithm::German,
            Self::Hungarian => Algorithm::Hungarian,
            Self::Italian => Algorithm::Italian,
            Self::Norwegian => Algorithm::Norwegian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Romanian => Algorithm::Romanian,
            Self::Russian => Algorithm::Russian,
            Self::Spanish => Algorithm::Spanish,
            Self::Swedish => Algorithm::Swedish,
            Self::Turkish => Algorithm::Turkish,
            Self::None => return None,
        })
    }
}

/// English words that say nothing about what is looked for. They are indexed, because a title may
/// consist of them, and left out of queries that have other words.
const SMALL: &[&str] = &[
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "did", "do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is",
    "it", "its", "me", "my", "no", "not", "of", "on", "or", "our", "so", "such", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "to", "was", "we", "were", "what",
    "when", "where", "which", "who", "whom", "whose", "why", "will", "with", "you", "your",
];

/// Whether a word, in lower case, is too common to look for.
pub(super) fn is_small(word: &str) -> bool {
    SMALL.binary_search(&word).is_ok()
}

/// The words of a text, for the curious and for tests.
#[must_use]
pub fn words(language: Language, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    Reader::new(language).each(text, |word| found.push(word.stem.to_owned()));
    found
}

/// One word of a text.
pub(super) struct Word<'a> {
    /// As it is indexed.
    pub(super) stem: &'a str,
    /// As it stands, in lower case and without accents.
    pub(super) plain: &'a str,
    /// Where it stands.
    pub(super) place: Range<usize>,
}

/// Reads words. Keeps what it learned about stems.
pub(super) struct Reader {
    stemmer: Option<Stemmer>,
    language: Language,
    known: HashMap<String, String, RandomState>,
    plain: String,
    /// Whether single characters of scripts without spaces are words beside their pairs, and Korean
    /// syllables beside what they are with a particle.
    pub(super) singles: bool,
}

impl Clone for Reader {
    fn clone(&self) -> Self {
        Self { singles: self.singles, ..Self::new(self.language) }
    }
}

impl Reader {
    pub(super) fn new(language: Language) -> Self {
        Self {
            stemmer: language.algorithm().map(Stemmer::new),
            language,
            known: HashMap::default(),
            plain: String::new(),
            singles: false,
        }
    }

    /// Hands over the words in their order.
    pub(super) fn each(&mut self, text: &str, mut take: impl FnMut(Word<'_>)) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            if byte.is_ascii() && !byte.is_ascii_alphanumeric() {
                at += 1;
                continue;
            }
            // Most words are plain ASCII, and then there is nothing to look up about their letters.
            let rest = bytes.get(at..).unwrap_or_default();
            let length = rest.iter().position(|byte| !byte.is_ascii_alphanumeric());
            let end = at + length.unwrap_or(rest.len());
            if end > at && bytes.get(end).is_none_or(u8::is_ascii) {
                self.word(text, at..end, &mut take);
                at = after_genitive(text, end);
            } else {
                at = self.any(text, at, &mut take);
            }
        }
    }

    /// The word that starts at a place, whatever it is written in; gives where it ends.
    fn any(&mut self, text: &str, start: usize, take: &mut impl FnMut(Word<'_>)) -> usize {
        let rest = text.get(start..).unwrap_or_default();
        let Some(first) = rest.chars().next() else { return text.len() };
        let length = |goes_on: &dyn Fn(char) -> bool| {
            let end = rest.char_indices().skip(1).find(|(_, c)| !goes_on(*c));
            end.map_or(rest.len(), |(at, _)| at)
        };
        if !first.is_alphanumeric() {
            return start + first.len_utf8();
        }
        if is_unspaced(first) {
            let end = start + length(&is_unspaced);
            pairs(text, start..end, self.singles, take);
            return end;
        }
        let goes_on = |c: char| !is_unspaced(c) && (c.is_alphanumeric() || is_combining_mark(c));
        let end = start + length(&goes_on);
        self.word(text, start..end, take);
        after_genitive(text, end)
    }

    fn word(&mut self, text: &str, place: Range<usize>, take: &mut impl FnMut(Word<'_>)) {
        if let Some(word) = text.get(place.clone()).filter(|word| word.len() <= LONGEST) {
            let whole = without_particle(word, 2).unwrap_or(word);
            self.one(whole, place.start..place.start + whole.len(), take);
            // 빛을 may be 빛 with its particle, 지도 is none of 지: what is asked for decides.
            let alone = if self.singles { without_particle(word, 1) } else { None };
            if let Some(alone) = alone.filter(|alone| alone.chars().count() == 1) {
                self.one(alone, place.start..place.start + alone.len(), take);
            }
        }
    }

    fn one(&mut self, word: &str, place: Range<usize>, take: &mut impl FnMut(Word<'_>)) {
        self.plain.clear();
        if word.is_ascii() {
            self.plain.extend(word.bytes().map(|b| char::from(b.to_ascii_lowercase())));
        } else if self.language == Language::English {
            fold(&word.to_lowercase(), &mut self.plain);
        } else {
            // Their stemmers know their accents, so those go afterwards.
            self.plain.push_str(&word.to_lowercase());
        }
        if let Some(stem) = self.known.get(&self.plain) {
            return take(Word { stem, plain: &self.plain, place });
        }
        let stem = match &self.stemmer {
            Some(stemmer) => stemmer.stem(&self.plain),
            None => Cow::Borrowed(self.plain.as_str()),
        };
        let mut folded = String::with_capacity(stem.len());
        match stem.is_ascii() {
            true => folded.push_str(&stem),
            false => fold(&stem, &mut folded),
        }
        take(Word { stem: &folded, plain: &self.plain, place });
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(self.plain.clone(), folded);
    }
}

/// `festival's` is the festival: what follows an apostrophe and is no more than an `s` is left out.
/// Gives where to go on.
fn after_genitive(text: &str, end: usize) -> usize {
    let mut ahead = text.get(end..).unwrap_or_default().chars();
    let Some(apostrophe @ ('\'' | '\u{2019}')) = ahead.next() else { return end };
    let s = matches!(ahead.next(), Some('s' | 'S'));
    match s && !ahead.next().is_some_and(char::is_alphanumeric) {
        true => end + apostrophe.len_utf8() + 1,
        false => end,
    }
}

/// Without accents. Some letters carry theirs for good and are spelled out.
fn fold(word: &str, into: &mut String) {
    for c in word.nfkd().filter(|c| !is_combining_mark(*c)) {
        match c {
            'ß' => into.push_str("ss"),
            'æ' => into.push_str("ae"),
            'œ' => into.push_str("oe"),
            'ø' => into.push('o'),
            'ł' => into.push('l'),
            'đ' | 'ð' => into.push('d'),
            'þ' => into.push_str("th"),
            'ı' => into.push('i'),
            other => into.extend(other.to_lowercase()),
        }
    }
}

/// Scripts without spaces between words: Han, kana, Thai, Lao, Burmese, Khmer.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// Whether a word of a question is one character of a script without spaces, or one Korean syllable.
pub(super) fn is_single(word: &str) -> bool {
    // Syllables are indexed in their parts.
    let mut letters = word.nfc();
    letters.next().is_some_and(|c| is_unspaced(c) || is_syllable(c)) && letters.next().is_none()
}

fn is_syllable(c: char) -> bool {
    ('\u{ac00}'..='\u{d7a3}').contains(&c)
}

/// Particles after a syllable that ends in a consonant, the longest first.
const AFTER_CONSONANT: [&str; 5] = ["으로", "은", "이", "을", "과"];
/// Particles after one that ends in a vowel.
const AFTER_VOWEL: [&str; 5] = ["는", "가", "를", "와", "로"];
/// Particles after any, the longest first.
const AFTER_ANY: [&str; 9] = ["에서는", "에서", "에게", "까지", "부터", "에", "의", "도", "만"];

/// A Korean word without its particle: 조명을 is 조명. So many syllables must be left, and the particle must be
/// the one that such a syllable takes: 회의 and 전문가 end in none. Some words lose an end of their own
/// (고양이); they do so on both sides.
fn without_particle(word: &str, least: usize) -> Option<&str> {
    if word.is_ascii() || !word.ends_with(is_syllable) {
        return None;
    }
    let left = |particle: &&str, fits: &dyn Fn(u32) -> bool| {
        let stem = word.strip_suffix(*particle)?;
        let last = stem.chars().next_back().filter(|c| is_syllable(*c))?;
        // Syllables stand in the order of their 28 ends, none first; the eighth is ㄹ.
        let end = (u32::from(last) - 0xac00) % 28;
        (stem.chars().filter(|c| is_syllable(*c)).count() >= least && fits(end)).then_some(stem)
    };
    let any = AFTER_ANY.iter().find_map(|one| left(one, &|_| true));
    let any = any.or_else(|| AFTER_CONSONANT.iter().find_map(|one| left(one, &|end| end != 0)));
    any.or_else(|| {
        AFTER_VOWEL.iter().find_map(|one| left(one, &|end| end == 0 || *one == "로" && end == 8))
    })
}

fn pairs(text: &str, place: Range<usize>, singles: bool, take: &mut impl FnMut(Word<'_>)) {
    let run = text.get(place.clone()).unwrap_or_default();
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    let alone = starts.len() == 2;
    let mut give = |from: usize, to: Option<&usize>| {
        let Some(word) = to.and_then(|to| run.get(from..*to)) else { return };
        let from = place.start + from;
        take(Word { stem: word, plain: word, place: from..from + word.len() });
    };
    for (at, from) in starts.iter().enumerate() {
        give(*from, starts.get(at + 2));
        if singles || alone {
            give(*from, starts.get(at + 1));
        }
    }
}

/// The reader as the index calls it.
#[derive(Clone)]
pub(super) struct Indexed {
    reader: Reader,
    text: String,
    ends: Vec<usize>,
    token: Token,
}

impl Indexed {
    pub(super) fn new(language: Language) -> Self {
        Self {
            reader: Reader { singles: true, ..Reader::new(language) },
            text: String::new(),
            ends: Vec::new(),
            token: Token::default(),
        }
    }
}

impl Tokenizer for Indexed {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        let Self { reader, text: stems, ends, token } = self;
        stems.clear();
        ends.clear();
        reader.each(text, |word| {
            stems.push_str(word.stem);
            ends.push(stems.len());
        });
        token.reset();
        Stream { text: stems, ends, next: 0, from: 0, token }
    }
}

/// The stems of one text.
pub(super) struct Stream<'a> {
    text: &'a str,
    ends: &'a [usize],
    next: usize,
    from: usize,
    token: &'a mut Token,
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        let Some(&end) = self.ends.get(self.next) else { return false };
        self.token.text.clear();
        self.token.text.push_str(self.text.get(self.from..end).unwrap_or_default());
        self.token.position = self.next;
        self.from = end;
        self.next += 1;
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests;
