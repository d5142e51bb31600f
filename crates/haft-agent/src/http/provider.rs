//! Where each provider listens, and how a key is shown to it.

use std::fmt;
use std::str::FromStr;

use haft_wire::Dialect;
use reqwest::Url;

/// An API that a model is asked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// OpenAI's Chat Completions, and the many that imitate them.
    OpenAi,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's `generateContent`.
    Gemini,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::OpenAiResponses, Self::Anthropic, Self::Gemini];

    /// The word in configurations.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.dialect().as_str()
    }

    /// What it speaks.
    #[must_use]
    pub fn dialect(self) -> Dialect {
        match self {
            Self::OpenAi => Dialect::OpenAiChat,
            Self::OpenAiResponses => Dialect::OpenAiResponses,
            Self::Anthropic => Dialect::Anthropic,
            Self::Gemini => Dialect::Gemini,
        }
    }

    /// Where the provider itself listens.
    #[must_use]
    pub fn default_url(self) -> &'static str {
        match self {
            Self::OpenAi | Self::OpenAiResponses => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta",
        }
    }

    /// The environment variable that usually holds its key.
    #[must_use]
    pub fn default_key_env(self) -> &'static str {
        match self {
            Self::OpenAi | Self::OpenAiResponses => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::Gemini => "GEMINI_API_KEY",
        }
    }

    pub(super) fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Anthropic => &[("anthropic-version", "2023-06-01")],
            Self::OpenAi | Self::OpenAiResponses | Self::Gemini => &[],
        }
    }

    pub(super) fn authorization(self, key: &str) -> (&'static str, String) {
        match self {
            Self::OpenAi | Self::OpenAiResponses => ("authorization", format!("Bearer {key}")),
            Self::Anthropic => ("x-api-key", key.to_owned()),
            Self::Gemini => ("x-goog-api-key", key.to_owned()),
        }
    }

    /// The URL that requests go to. A base that names the host alone gets the version that the
    /// provider's own base has.
    pub(super) fn url(self, base: &str, model: &str) -> Result<Url, String> {
        let wrong = |why: &str| format!("{} is not the URL of a model: {why}", shown(base));
        let mut url =
            Url::parse(base).map_err(|why| wrong(&format!("{why}; write http(s)://host/…")))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong("write http(s)://host/…"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            // Not repeated: it may be a real one.
            return Err("a model's URL must not hold credentials; name the key's variable \
                        instead"
                .to_owned());
        }
        let version = match self {
            Self::OpenAi | Self::OpenAiResponses | Self::Anthropic => "v1",
            Self::Gemini => "v1beta",
        };
        let bare = url.path().trim_matches('/').is_empty();
        {
            let mut path = url.path_segments_mut().map_err(|()| wrong("it has no path"))?;
            path.pop_if_empty();
            if bare {
                path.push(version);
            }
            match self {
                Self::OpenAi => drop(path.push("chat").push("completions")),
                Self::OpenAiResponses => drop(path.push("responses")),
                Self::Anthropic => drop(path.push("messages")),
                Self::Gemini => {
                    let model = model.strip_prefix("models/").unwrap_or(model);
                    path.push("models").push(&format!("{model}:streamGenerateContent"));
                }
            }
        }
        if self == Self::Gemini {
            url.set_query(Some("alt=sse"));
        }
        Ok(url)
    }
}

/// A base as far as it can be repeated: neither who logs in nor a query, which may hold secrets.
pub(super) fn shown(base: &str) -> String {
    match base.split(['?', '#']).next() {
        Some(place) if !base.contains('@') => format!("`{}`", place.escape_debug()),
        Some(_) | None => "what is set (not shown: it may hold credentials)".to_owned(),
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Provider {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|provider| provider.as_str() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            format!("`{}` is not a provider; use one of {known}", text.escape_debug())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(provider: Provider, base: &str, expected: &str) {
        let url = provider.url(base, "m-1").map(String::from);
        match url {
            Ok(url) => assert_eq!(url, expected),
            Err(why) => assert!(why.contains(expected), "{why}"),
        }
    }

    #[test]
    fn a_base_becomes_the_url_of_requests() {
        use Provider::{Anthropic, Gemini, OpenAi, OpenAiResponses};
        check(OpenAi, "https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions");
        check(OpenAi, "http://localhost:8080/", "http://localhost:8080/v1/chat/completions");
        check(
            OpenAi,
            "https://x.example/api/openai/",
            "https://x.example/api/openai/chat/completions",
        );
        check(OpenAiResponses, "https://x.example", "https://x.example/v1/responses");
        check(Anthropic, "https://x.example", "https://x.example/v1/messages");
        check(
            Gemini,
            Gemini.default_url(),
            "https://generativelanguage.googleapis.com/v1beta/models/m-1:streamGenerateContent?alt=sse",
        );
        check(OpenAi, "x.example", "is not the URL of a model");
        check(OpenAi, "", "write http(s)");
        check(OpenAi, "ftp://x.example", "write http(s)");
        check(OpenAi, "https://me:secret@x.example", "must not hold credentials");
    }

    #[test]
    fn what_may_be_a_secret_is_not_repeated() {
        for base in [
            "https://me:secret@h:99999",
            "https://me:secret@",
            "https://secret@[::1",
            "ftp://me:secret@h",
            "me:secret@h",
            "//secret@h",
            "https://h:99999/v1?key=secret",
            "ftp://h/#secret",
            "data:h?secret",
        ] {
            let why = Provider::OpenAi.url(base, "m-1").unwrap_err();
            assert!(!why.contains("secret"), "{base}: {why}");
            assert!(why.contains("URL"), "{base}: {why}");
        }
    }
}
