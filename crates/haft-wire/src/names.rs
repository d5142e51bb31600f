//! Names that a provider takes, for names that it may not take: reversible, and no two the same.
//!
//! A name that is allowed stays as it is. Any other becomes what is left of it and eight digits of
//! its digest: `maps.route` → `maps_route_3f15e07d`. That depends on nothing but the name, so a
//! tool is called the same whatever else is offered beside it. Only where two names would still
//! meet, the later one takes more digits.
//!
//! Every dialect tells capitals from small letters, so names that differ in nothing else stay apart.

use std::collections::{HashMap, HashSet};

use haft_core::Digest;

use crate::Dialect;

/// What names may be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What is allowed beside ASCII letters, digits and `_`.
    pub also: &'static str,
    /// Whether the first character is a letter or `_`.
    pub letter_first: bool,
    /// The most characters.
    pub most: usize,
}

/// Letters, digits, `_` and `-`, at most 64: OpenAI's rule for functions.
const OPENAI: Rule = Rule { also: "-", letter_first: false, most: 64 };
/// Anthropic took 64 characters once and takes 128 now.
const ANTHROPIC: Rule = Rule { also: "-", letter_first: false, most: 128 };
/// Gemini's rule for functions.
const GEMINI: Rule = Rule { also: ".:-", letter_first: true, most: 128 };
/// The protocol's rule.
const MCP: Rule = Rule { also: ".-", letter_first: false, most: 128 };
/// ADM's rule for functions.
const ADM: Rule = Rule { also: "-", letter_first: true, most: 64 };

/// The rule for the names of tools.
#[must_use]
pub fn rule(dialect: Dialect) -> Rule {
    match dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::OpenAiRealtime => OPENAI,
        Dialect::Anthropic => ANTHROPIC,
        Dialect::Gemini | Dialect::GeminiLive => GEMINI,
        Dialect::Mcp => MCP,
        Dialect::Adm => ADM,
    }
}

impl Rule {
    /// Whether a name may stay as it is.
    #[must_use]
    pub fn allows(self, name: &str) -> bool {
        // Whatever is allowed is ASCII, and bytes are looked at faster than characters.
        let also = |byte: &u8| self.also.as_bytes().contains(byte);
        let starts = name
            .as_bytes()
            .first()
            .is_some_and(|first| !self.letter_first || !(first.is_ascii_digit() || also(first)));
        let takes = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || also(byte);
        starts && name.len() <= self.most && name.as_bytes().iter().all(takes)
    }

    fn takes(self, c: char) -> bool {
        c.is_ascii_alphanumeric() || c == '_' || self.also.contains(c)
    }

    /// What a name becomes, with so many digits of its digest.
    fn spell(self, name: &str, digits: usize) -> String {
        let digest = Digest::of_bytes(name.as_bytes()).to_string();
        let hex = digest.rsplit(':').next().unwrap_or_default();
        let room = self.most.saturating_sub(digits + 1);
        let kept: String = name.chars().map(|c| if self.takes(c) { c } else { '_' }).collect();
        let starts_badly = self.letter_first
            && kept.starts_with(|c: char| c.is_ascii_digit() || self.also.contains(c));
        let lead = if starts_badly { "_" } else { "" };
        let kept: String = lead.chars().chain(kept.chars()).take(room).collect();
        let hex: String = hex.chars().take(digits).collect();
        format!("{kept}_{hex}")
    }
}

/// The names of one set, both ways.
#[derive(Clone, Debug, Default)]
pub struct Names {
    wire: HashMap<String, String>,
}

/// How many digits of the digest a changed name carries.
const DIGITS: usize = 8;
/// A digest has no more.
const ALL_DIGITS: usize = 60;

impl Names {
    /// Names for all of these.
    #[must_use]
    pub fn new<'n>(rule: Rule, names: impl IntoIterator<Item = &'n str> + Clone) -> Self {
        if names.clone().into_iter().all(|name| rule.allows(name)) {
            return Self::default();
        }
        let allowed = names.clone().into_iter().filter(|name| rule.allows(name));
        // Whoever needs no change keeps the name, wherever in the set it stands.
        let mut taken: HashSet<String> = allowed.map(str::to_owned).collect();
        let mut wire = HashMap::new();
        for name in names {
            if rule.allows(name) || wire.contains_key(name) {
                continue;
            }
            let mut spelt = (DIGITS..=ALL_DIGITS.min(rule.most.saturating_sub(1)))
                .map(|digits| rule.spell(name, digits));
            if let Some(free) = spelt.find(|spelt| !taken.contains(spelt)) {
                taken.insert(free.clone());
                wire.insert(name.to_owned(), free);
            }
        }
        Self { wire }
    }

    /// The name on the wire.
    #[must_use]
    pub fn wire<'n>(&'n self, name: &'n str) -> &'n str {
        self.wire.get(name).map_or(name, String::as_str)
    }

    /// Whether no name was changed.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        self.wire.is_empty()
    }
}
