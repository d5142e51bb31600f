//! Links: those with a scheme, `www.`, and bare domains.

use std::sync::LazyLock;

use regex::Regex;

use super::{Confidence, Find, Finds, Kind, pattern};

static SCHEME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?i)\b(?:https?|ftp)://[^\s<>"“”„«»]+"#));
static WWW: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?i)\bwww\.[\p{L}\p{N}-]+\.[^\s<>"“”„«»]+"#));
static BARE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i)(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)+(\p{L}{2,24})\b(?::\d{2,5})?(?:/[^\s<>"“”„«»]*)?"#,
    )
});

/// Domains under these are links without more. Countries are added to them.
const COMMON: &[&str] = &[
    "ai", "app", "art", "biz", "blog", "cloud", "com", "design", "dev", "edu", "eu", "events",
    "example", "gov", "info", "int", "io", "live", "me", "museum", "net", "news", "online", "org",
    "shop", "site", "space", "store", "studio", "tech", "tv", "uk", "xyz",
];

/// Countries that files are named after more often than sites.
const FILES: &[&str] = &[
    "cc", "cs", "gz", "js", "md", "mk", "ml", "pl", "ps", "py", "rs", "sh", "so", "tf", "ts", "vb",
];

pub(super) fn find(text: &str, finds: &mut Finds) {
    for found in SCHEME.find_iter(text) {
        let link = trimmed(found.as_str());
        // A scheme and nothing is no link.
        let rest = link.split_once("://").map_or("", |(_, rest)| rest);
        if rest.starts_with(|c: char| c.is_alphanumeric() || c == '[') {
            let place = found.start()..found.start() + link.len();
            finds.take(Find::new(Kind::Url, place, normal(link), Confidence::Exact));
        }
    }
    for found in WWW.find_iter(text) {
        let link = trimmed(found.as_str());
        let place = found.start()..found.start() + link.len();
        finds.take(Find::new(
            Kind::Url,
            place,
            normal(&format!("https://{link}")),
            Confidence::Likely,
        ));
    }
}

/// Domains without a scheme. After addresses, whose domains are not links.
pub(super) fn find_bare(text: &str, finds: &mut Finds) {
    for found in BARE.captures_iter(text) {
        let (Some(whole), Some(top)) = (found.get(0), found.get(1)) else { continue };
        let before = text.get(..whole.start()).and_then(|before| before.chars().next_back());
        let joined = before.is_some_and(|c| c.is_alphanumeric() || "@./\\_-~#$".contains(c));
        let after = text.get(whole.end()..).and_then(|after| after.chars().next());
        let continued = after.is_some_and(|c| c == '@' || c == '_' || c == '(');
        let ending = top.as_str().to_lowercase();
        let with_path = whole.as_str().contains('/');
        let country = ending.len() == 2
            && ending.is_ascii()
            && super::phone::region(&ending.to_uppercase()).is_some();
        let known = COMMON.contains(&ending.as_str())
            || (country && (with_path || !FILES.contains(&ending.as_str())));
        // In prose, a sentence may end and the next begin without a space: `word.It`.
        let sentence = top.as_str().starts_with(char::is_uppercase) && !is_upper(whole.as_str());
        if joined || continued || !known || sentence {
            continue;
        }
        let link = trimmed(whole.as_str());
        let place = whole.start()..whole.start() + link.len();
        finds.take(Find::new(
            Kind::Url,
            place,
            normal(&format!("https://{link}")),
            Confidence::Likely,
        ));
    }
}

fn is_upper(text: &str) -> bool {
    !text.chars().any(char::is_lowercase)
}

/// Without what ends a sentence, and without a bracket that was opened before.
fn trimmed(link: &str) -> &str {
    let mut link = link;
    loop {
        let shorter = link.trim_end_matches([
            '.', ',', ';', ':', '!', '?', '\'', '’', '…', '*', '_', '。', '、', '，',
        ]);
        let last = shorter.chars().next_back();
        let pair = match last {
            Some(')') => Some(('(', ')')),
            Some(']') => Some(('[', ']')),
            Some('}') => Some(('{', '}')),
            Some('）') => Some(('（', '）')),
            Some('」') => Some(('「', '」')),
            _ => None,
        };
        let surplus = pair.is_some_and(|(open, close)| {
            shorter.matches(close).count() > shorter.matches(open).count()
        });
        let next = match (surplus, last) {
            (true, Some(last)) => {
                shorter.get(..shorter.len() - last.len_utf8()).unwrap_or_default()
            }
            _ => shorter,
        };
        if next.len() == link.len() {
            return link;
        }
        link = next;
    }
}

/// Scheme and host in lower case; the rest may depend on it.
fn normal(link: &str) -> String {
    let Some((scheme, rest)) = link.split_once("://") else { return link.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    // What stands before an @ is no part of the host and keeps its case.
    let (user, host) = host.rsplit_once('@').map_or(("", host), |(user, host)| (user, host));
    let at = if user.is_empty() { "" } else { "@" };
    format!("{}://{user}{at}{}{path}", scheme.to_lowercase(), host.to_lowercase())
}
