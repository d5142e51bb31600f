//! Parameters that must not be parameters.

use crate::code;
use crate::diagnostic::{Findings, escape};

/// What the host decides and a model must not.
const RESERVED: &[&str] = &["connectionid", "confirmed", "confirmationtoken"];
const TENANT: &[&str] = &["tenant", "tenantid"];

/// Words that name a secret by themselves.
const SECRETS: &[&str] = &[
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "jwt",
    "bearer",
    "secret",
    "secrets",
    "apikey",
    "credential",
    "credentials",
    "authorization",
];

/// Words that name a secret together.
const SECRET_PAIRS: &[(&str, &str)] = &[
    ("api", "key"),
    ("api", "token"),
    ("access", "key"),
    ("private", "key"),
    ("secret", "key"),
    ("access", "token"),
    ("auth", "token"),
    ("bearer", "token"),
    ("refresh", "token"),
    ("session", "token"),
];

/// A root parameter that the host sets.
pub(super) fn reserved(name: &str, out: &mut Findings) {
    let at = || format!("/parameters/properties/{}", escape(name));
    if is_reserved(name) {
        out.contract_key(
            &code::RESERVED_PARAMETER,
            at(),
            format!("`{name}` is set by the host, never by a model"),
        )
        .help("take it out; connections and approvals reach the handler without the model");
    } else if is_tenant(name) {
        out.contract_key(
            &code::TENANT_PARAMETER,
            at(),
            format!("`{name}`: which tenant a call is for comes from its credential"),
        )
        .help("take it out, or say under `lint.allow` why it is something else here");
    }
}

/// A parameter, at any depth, that is named like a secret.
pub(super) fn named(name: &str, at: &str, out: &mut Findings) {
    if is_secret(name) {
        out.contract_key(
            &code::SECRET_PARAMETER,
            at.to_owned(),
            format!("`{name}` looks like a secret, and a model would have to know it"),
        )
        .help("declare a `connection`: its credentials are attached by the host, unseen");
    }
}

/// A pattern of root parameters that lets such a name through.
pub(super) fn pattern(pattern: &str, out: &mut Findings) {
    let Ok(regex) = regex::Regex::new(pattern) else { return };
    let spelt = ["connectionId", "connection_id", "confirmed", "confirmation_token", "_meta"];
    let secret =
        ["password", "api_key", "apiKey", "authorization", "Authorization", "access_token"];
    if let Some(name) = spelt.iter().chain(&secret).find(|name| regex.is_match(name)) {
        let at = format!("/parameters/patternProperties/{}", escape(pattern));
        out.contract_key(
            &code::RESERVED_PARAMETER,
            at,
            format!("this pattern lets `{name}` through, which is not for a model to set"),
        )
        .help("name the parameters one by one, or make the pattern narrower");
    }
}

/// Whether a name is one that the host sets.
pub(crate) fn is_reserved(name: &str) -> bool {
    name == "_meta" || RESERVED.contains(&plain(name).as_str())
}

/// Whether a name says which tenant a call is for.
pub(crate) fn is_tenant(name: &str) -> bool {
    TENANT.contains(&plain(name).as_str())
}

/// Whether a name is that of a secret: `apiKey`, `X-Api-Key`, `user_password`; not `secretary`.
pub(crate) fn is_secret(name: &str) -> bool {
    let words = words(name);
    words.iter().any(|word| SECRETS.contains(&word.as_str()))
        || words
            .iter()
            .zip(words.iter().skip(1))
            .any(|(first, second)| SECRET_PAIRS.contains(&(first.as_str(), second.as_str())))
}

/// The words of a name, however they are joined.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for c in name.chars() {
        let starts = !before.is_alphanumeric() || (before.is_lowercase() && c.is_uppercase());
        if c.is_alphanumeric() {
            match words.last_mut().filter(|_| !starts) {
                Some(word) => word.extend(c.to_lowercase()),
                None => words.push(c.to_lowercase().collect()),
            }
        }
        before = c;
    }
    words
}

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_told_by_their_words() {
        for (name, secret) in [
            ("password", true),
            ("userPassword", true),
            ("X-RapidAPI-Key", true),
            ("X-Api-Key", true),
            ("apiKey", true),
            ("api_key", true),
            ("APIKEY", true),
            ("Authorization", true),
            ("access_token", true),
            ("client_secret", true),
            ("secretary_email", false),
            ("max_tokens", false),
            ("key", false),
            ("token_count", false),
        ] {
            assert_eq!(is_secret(name), secret, "{name}");
        }
    }
}
