//! From text to the words that are compared: `getUserName`, `get-user-names` and "the user's name"
//! meet.

/// Words that say nothing about what a tool does.
const EMPTY: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "could", "do", "does", "for", "from",
    "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "like", "me", "my", "need",
    "of", "on", "or", "please", "so", "that", "the", "their", "them", "then", "there", "these",
    "this", "to", "us", "was", "we", "what", "which", "will", "with", "would", "you", "your",
];

/// The longest word that is worth comparing.
const LONGEST: usize = 40;

/// The words of a text, in order, in their basic form.
#[must_use]
pub(super) fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut before = Kind::Other;
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        let kind = Kind::of(c);
        let after = letters.peek().map_or(Kind::Other, |next| Kind::of(*next));
        if begins(before, kind, after) {
            take(&mut found, &mut word);
        }
        if kind == Kind::Ideograph && after == Kind::Ideograph {
            // Two neighbours stand for a word where nothing is put between words.
            found.extend(letters.peek().map(|next| format!("{c}{next}")));
        } else if kind != Kind::Other && (kind, before) != (Kind::Ideograph, Kind::Ideograph) {
            word.extend(c.to_lowercase());
        }
        before = kind;
    }
    take(&mut found, &mut word);
    found
}

/// Whether a word begins here: `Name` is one, `userName` two, and so is `HTTPServer`.
fn begins(before: Kind, kind: Kind, after: Kind) -> bool {
    match (before, kind) {
        (Kind::Upper, Kind::Lower) => false,
        (Kind::Upper, Kind::Upper) => after == Kind::Lower,
        _ => before != kind,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Digit,
    /// A letter of a script that writes without spaces.
    Ideograph,
    Other,
}

impl Kind {
    fn of(c: char) -> Self {
        match c {
            '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' => {
                Self::Ideograph
            }
            _ if c.is_uppercase() => Self::Upper,
            _ if c.is_alphabetic() => Self::Lower,
            _ if c.is_numeric() => Self::Digit,
            _ => Self::Other,
        }
    }
}

fn take(found: &mut Vec<String>, word: &mut String) {
    if !word.is_empty() && word.len() <= LONGEST && !EMPTY.contains(&word.as_str()) {
        found.push(stem(word));
    }
    word.clear();
}

/// The basic form of an English word, roughly: what matters is that forms of one word meet.
#[must_use]
fn stem(word: &str) -> String {
    if word.len() < 4 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let singular = singular(word);
    let plain = [
        "ational", "ation", "ating", "ators", "ator", "ated", "ate", "ing", "ion", "ed", "ly",
        "er", "or", "ment",
    ]
    .iter()
    .find_map(|ending| without(&singular, ending))
    .unwrap_or(singular);
    undoubled(plain.trim_end_matches('e'))
}

fn singular(word: &str) -> String {
    if let Some(base) = word.strip_suffix("ies").filter(|base| base.len() > 2) {
        return format!("{base}y");
    }
    let base = ["sses", "shes", "ches", "xes"]
        .iter()
        .find(|ending| word.ends_with(*ending))
        .and_then(|_| word.strip_suffix("es"));
    let base = base.or_else(|| {
        let kept = ["ss", "us", "is"].iter().any(|ending| word.ends_with(ending));
        word.strip_suffix('s').filter(|_| !kept)
    });
    base.unwrap_or(word).to_owned()
}

/// A word without an ending, where a word is left.
fn without(word: &str, ending: &str) -> Option<String> {
    let base = word.strip_suffix(ending)?;
    let vowel = base.bytes().any(|b| b"aeiouy".contains(&b));
    (base.len() >= 3 && vowel).then(|| base.to_owned())
}

/// `plann` → `plan`.
fn undoubled(word: &str) -> String {
    let mut last = word.bytes().rev();
    match (last.next(), last.next()) {
        (Some(one), Some(other)) if one == other && !b"lsz".contains(&one) => {
            word.get(..word.len() - 1).unwrap_or(word).to_owned()
        }
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(words(text), expected, "{text}");
    }

    #[test]
    fn names_and_sentences_meet() {
        check("getUserName", &["get", "user", "nam"]);
        check("get-user_names", &["get", "user", "nam"]);
        check("HTTPServer2", &["http", "serv", "2"]);
        check("What is the user's name?", &["user", "s", "nam"]);
        check("", &[]);
        check("雨", &["雨"]);
        check("天气预报 now", &["天气", "气预", "预报", "now"]);
    }

    #[track_caller]
    fn meet(forms: &[&str]) {
        let stems: Vec<String> = forms.iter().map(|form| stem(form)).collect();
        assert!(stems.windows(2).all(|pair| pair[0] == pair[1]), "{forms:?} → {stems:?}");
    }

    #[test]
    fn forms_of_a_word_meet() {
        meet(&[
            "calculate",
            "calculates",
            "calculating",
            "calculated",
            "calculation",
            "calculator",
        ]);
        meet(&["plan", "plans", "planning", "planned", "planner"]);
        meet(&["city", "cities"]);
        meet(&["search", "searches", "searching"]);
        meet(&["convert", "converter", "converting"]);
        meet(&["pass", "passes"]);
    }
}
