//! E-mail addresses, also those that are spelled out to hide them from machines.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{Confidence, Find, Finds, Kind, pattern};

/// `＠` and `．` are what some keyboards write.
static PLAIN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:mailto:)?([\p{L}\p{N}!#$%&'*+/=?^_`{|}~.-]+)[@＠]((?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?[.．])+[\p{L}][\p{L}\p{N}-]*[\p{L}\p{N}])",
    )
});

const AT: &str = "at|ät|arroba|arobase|chiocciola|klammeraffe|apenstaartje|собака";
const DOT: &str = "dot|punkt|punto|point|ponto|punct|punt|точка";

/// `name [at] host.example`, `name(at)host(dot)example`: the brackets show what is meant.
static BRACKETED: LazyLock<Regex> = LazyLock::new(|| {
    let dot = format!(r"(?:\.|\s*[\[({{<]\s*(?:\.|{DOT})\s*[\])}}>]\s*|\s+(?:{DOT})\s+)");
    pattern(&format!(
        r"(?i)\b([\p{{L}}\p{{N}}+_-]+(?:{dot}[\p{{L}}\p{{N}}+_-]+)*)\s*[\[({{<]\s*(?:@|{AT})\s*[\])}}>]\s*([\p{{L}}\p{{N}}-]+(?:{dot}[\p{{L}}\p{{N}}-]+)+)"
    ))
});

/// `name at host dot example`: only where both are spelled. A dot before the `at` belongs to the name:
/// without it the address would be somebody else's.
static SPELLED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i)\b([\p{{L}}\p{{N}}._+-]+(?:\s+(?:{DOT})\s+[\p{{L}}\p{{N}}._+-]+)*)\s+(?:{AT})\s+([\p{{L}}\p{{N}}-]+(?:\s+(?:{DOT})\s+[\p{{L}}\p{{N}}-]+)+)"
    ))
});

/// `name @ host . example`, pulled apart.
static SPACED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b([\p{L}\p{N}._+-]+)(?:\s+@\s*|\s*@\s+)([\p{L}\p{N}-]+(?:\s?\.\s?[\p{L}\p{N}-]+)*\s?\.\s?[\p{L}]{2,24})\b",
    )
});

static WORDS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(r"(?i)\s*[\[({{<]\s*(?:\.|{DOT})\s*[\])}}>]\s*|\s+(?:{DOT})\s+|\s*\.\s*"))
});

/// Whether a letter is of a script that puts no spaces between words: an address may be glued to it.
pub(super) fn is_glued(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{e7f}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}')
}

/// The end of a mailbox that a sentence runs into; one that is written in such a script stays whole.
fn unglued_name(local: &str) -> &str {
    let end = local.char_indices().rfind(|(_, c)| is_glued(*c));
    let rest = end.and_then(|(at, c)| local.get(at + c.len_utf8()..)).unwrap_or(local);
    if rest.is_empty() { local } else { rest }
}

/// The beginning of a host that runs into a sentence. A label is of one script.
fn unglued_host(host: &str) -> &str {
    let mut at = 0;
    for label in host.split_inclusive(['.', '．']) {
        let plain = label.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
        if let Some(cut) = label.find(is_glued).filter(|_| plain) {
            return host.get(..at + cut).unwrap_or(host);
        }
        at += label.len();
    }
    host
}

/// A host has a dot inside, and ends in more than one letter.
fn is_host(host: &str) -> bool {
    let ending = host.rsplit(['.', '．']).next().unwrap_or_default();
    ending.len() < host.len() && ending.chars().count() > 1
}

pub(super) fn find(text: &str, finds: &mut Finds) {
    let mut at = 0;
    while let Some(found) = PLAIN.captures_at(text, at) {
        let (Some(local), Some(host)) = (found.get(1), found.get(2)) else { break };
        let end = host.start() + unglued_host(host.as_str()).len();
        // What comes after the address may be the beginning of the next one.
        at = end;
        plain(text, local.start()..local.end(), host.start()..end, finds);
    }
    spelled(text, finds);
}

fn plain(text: &str, local: Range<usize>, host: Range<usize>, finds: &mut Finds) {
    let (Some(name), Some(domain)) = (text.get(local.clone()), text.get(host.clone())) else {
        return;
    };
    // Quotes, stars and brackets around an address are not a part of it, nor is a leading dot.
    let name = unglued_name(name)
        .trim_start_matches(['.', '\'', '*', '_', '`', '/', '=', '|', '~', '-', '{']);
    if name.is_empty() || name.ends_with('.') || name.contains("..") || name.len() > 64 {
        return;
    }
    let place = local.end - name.len()..host.end;
    // `@user@host` is a handle of the fediverse.
    let before = text.get(..place.start).and_then(|before| before.chars().next_back());
    if before == Some('@') || !is_host(domain) {
        return;
    }
    let value = format!("{name}@{}", domain.replace('．', ".").to_lowercase());
    finds.take(Find::new(Kind::Email, place, value, Confidence::Exact));
}

fn spelled(text: &str, finds: &mut Finds) {
    for pattern in [&BRACKETED, &SPELLED, &SPACED] {
        for found in pattern.captures_iter(text) {
            let (Some(whole), Some(local), Some(host)) = (found.get(0), found.get(1), found.get(2))
            else {
                continue;
            };
            let name = WORDS.replace_all(local.as_str(), ".");
            let host = WORDS.replace_all(host.as_str(), ".").to_lowercase();
            let ending = host.rsplit('.').next().unwrap_or_default();
            if ending.chars().count() < 2 || ending.chars().any(|c| !c.is_alphabetic()) {
                continue;
            }
            let value = format!("{name}@{host}");
            finds.take(Find::new(Kind::Email, whole.range(), value, Confidence::Likely));
        }
    }
}
