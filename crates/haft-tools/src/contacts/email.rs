//! E-mail addresses, also those that are spelled out to hide them from machines.

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

/// `name at host dot example`: only where both are spelled.
static SPELLED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i)\b([\p{{L}}\p{{N}}._+-]+)\s+(?:{AT})\s+([\p{{L}}\p{{N}}-]+(?:\s+(?:{DOT})\s+[\p{{L}}\p{{N}}-]+)+)"
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

pub(super) fn find(text: &str, finds: &mut Finds) {
    for found in PLAIN.captures_iter(text) {
        let (Some(local), Some(host)) = (found.get(1), found.get(2)) else { continue };
        // Quotes, stars and brackets around an address are not a part of it, nor is a leading dot.
        let name = local
            .as_str()
            .trim_start_matches(['.', '\'', '*', '_', '`', '/', '=', '|', '~', '-', '{']);
        if name.is_empty() || name.ends_with('.') || name.contains("..") || name.len() > 64 {
            continue;
        }
        let place = local.end() - name.len()..host.end();
        // `@user@host` is a handle of the fediverse.
        let before = text.get(..place.start).and_then(|before| before.chars().next_back());
        if before == Some('@') {
            continue;
        }
        let value = format!("{name}@{}", host.as_str().replace('．', ".").to_lowercase());
        finds.take(Find::new(Kind::Email, place, value, Confidence::Exact));
    }
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
