//! Connections as somebody wants them: what makes sense, the same for every way in.
//!
//! A command, the HTTP API, a page and `haft.toml` all end here, so that none of them takes what another
//! would refuse.

mod address;
mod fits;

use std::fmt;

use haft_core::Principal;
use haft_core::connection::{
    Account, AuthKind, ClientAuth, Credentials, OAuth, OAuthGrant, Origin,
};
use haft_core::secret::SecretText;

pub use fits::doubts;

use crate::redact::Secret;

/// No secret is longer.
pub const LONGEST_SECRET: usize = 64 << 10;
/// So many hosts, scopes, principals or tools are named at once.
const MOST: usize = 256;
/// No name is longer.
const LONGEST: usize = 1_024;

/// Headers that say where a request goes, or where it ends.
const FRAMING: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A connection that somebody wants, without its secret.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The id that calls will name.
    pub id: String,
    /// Whose service it is an account of.
    pub provider: String,
    /// How it proves who it is.
    pub kind: AuthKind,
    /// The only hosts that its credentials may go to.
    pub hosts: Vec<String>,
    /// The name of the header or of the query parameter.
    pub name: Option<String>,
    /// The user's name, for a password.
    pub user: Option<String>,
    /// Where OAuth tokens are had.
    pub token_url: Option<String>,
    /// Who the program is to the provider.
    pub client_id: Option<String>,
    /// How the program proves that.
    pub proof: Proof,
    /// What is asked for.
    pub scopes: Vec<String>,
    /// What the token is for.
    pub audience: Option<String>,
}

/// How a program proves who it is to a provider of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proof {
    /// By a secret in a header.
    #[default]
    Header,
    /// By a secret among the fields of the request.
    Body,
    /// Not at all.
    None,
}

/// What is wrong, and with which part of it. Neither ever holds a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The part: `token_url`, `secret`.
    pub part: &'static str,
    /// Why, and what to do.
    pub why: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.part, self.why)
    }
}

impl std::error::Error for Wrong {}

fn wrong<T>(part: &'static str, why: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong { part, why: why.into() })
}

impl Wanted {
    /// Whether it makes sense, as far as that can be said without its secret.
    ///
    /// # Errors
    ///
    /// What does not.
    pub fn check(&self) -> Result<(), Wrong> {
        self.faults().into_iter().next().map_or(Ok(()), Err)
    }

    /// Everything that does not make sense, the first first.
    #[must_use]
    pub fn faults(&self) -> Vec<Wrong> {
        let common = [self.check_id(), named("provider", &self.provider), hosts(&self.hosts)];
        let own = match self.kind {
            AuthKind::Bearer => Vec::new(),
            AuthKind::Header => vec![needed("name", self.name.as_deref()).and_then(header)],
            AuthKind::Query => {
                vec![needed("name", self.name.as_deref()).and_then(|name| named("name", name))]
            }
            AuthKind::Basic => vec![match needed("user", self.user.as_deref()) {
                Ok(user) if user.contains(':') => wrong("user", "a name cannot hold `:`"),
                Ok(user) => named("user", user),
                Err(wrong) => Err(wrong),
            }],
            AuthKind::ClientCredentials | AuthKind::AuthorizationCode => self.check_oauth(),
        };
        common.into_iter().chain(own).filter_map(Result::err).collect()
    }

    fn check_id(&self) -> Result<(), Wrong> {
        let is_id = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
        // In an address, two points lead elsewhere.
        let leads = self.id.bytes().all(|byte| byte == b'.');
        if leads || self.id.len() > 64 || !self.id.bytes().all(is_id) {
            let id = self.id.escape_debug();
            return wrong(
                "id",
                format!(
                    "`{id}` is not an id: use up to 64 letters, digits and `_.:-`, not points alone"
                ),
            );
        }
        Ok(())
    }

    fn check_oauth(&self) -> Vec<Result<(), Wrong>> {
        let token_url = needed("token_url", self.token_url.as_deref());
        let client_id = needed("client_id", self.client_id.as_deref());
        let audience = self.audience.as_deref();
        vec![
            token_url.and_then(|url| address::check("token_url", url)),
            client_id.and_then(|id| named("client_id", id)),
            few("scopes", &self.scopes),
            self.scopes.iter().try_for_each(|scope| named("scopes", scope)),
            audience.map_or(Ok(()), |audience| named("audience", audience)),
        ]
    }

    /// Whether it needs a secret.
    #[must_use]
    pub fn needs_secret(&self) -> bool {
        let oauth = matches!(self.kind, AuthKind::ClientCredentials | AuthKind::AuthorizationCode);
        !(oauth && self.proof == Proof::None)
    }

    /// The account of a tenant.
    #[must_use]
    pub fn account(&self, tenant: &str, origin: Origin) -> Account {
        Account {
            tenant: tenant.to_owned(),
            id: self.id.clone(),
            provider: self.provider.clone(),
            kind: self.kind,
            hosts: self.hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            origin,
            revision: 0,
            made_ms: 0,
            changed_ms: 0,
        }
    }

    /// Its credentials, with a secret that makes sense.
    ///
    /// # Errors
    ///
    /// What does not.
    pub fn credentials(&self, secret: Option<SecretText>) -> Result<Credentials, Wrong> {
        self.check()?;
        let secret = match (self.needs_secret(), secret) {
            (true, Some(secret)) => Some(secret),
            (true, None) => return wrong("secret", "this kind needs one"),
            (false, None) => None,
            (false, Some(_)) => return wrong("secret", "a client without a secret has none"),
        };
        let made = self.made(secret);
        sound(&self.id, &made)?;
        Ok(made)
    }

    fn made(&self, secret: Option<SecretText>) -> Credentials {
        let name = || self.name.clone().unwrap_or_default();
        match (self.kind, secret) {
            (AuthKind::Bearer, Some(secret)) => Credentials::Bearer(secret),
            (AuthKind::Header, Some(key)) => Credentials::Header { name: name(), key },
            (AuthKind::Query, Some(key)) => Credentials::Query { name: name(), key },
            (AuthKind::Basic, Some(password)) => {
                Credentials::Basic { user: self.user.clone().unwrap_or_default(), password }
            }
            (kind, client_secret) => Credentials::OAuth(Box::new(OAuth {
                grant: match kind {
                    AuthKind::AuthorizationCode => OAuthGrant::AuthorizationCode,
                    AuthKind::Bearer
                    | AuthKind::Header
                    | AuthKind::Query
                    | AuthKind::Basic
                    | AuthKind::ClientCredentials => OAuthGrant::ClientCredentials,
                },
                authorize_url: None,
                token_url: self.token_url.clone().unwrap_or_default(),
                client_id: self.client_id.clone().unwrap_or_default(),
                client_secret,
                client_auth: match self.proof {
                    Proof::Body => ClientAuth::Body,
                    Proof::Header | Proof::None => ClientAuth::Basic,
                },
                scopes: self.scopes.clone(),
                audience: self.audience.clone(),
                refresh: None,
                access: None,
            })),
        }
    }
}

/// Whether a person's browser may be sent to an address for their consent.
///
/// # Errors
///
/// It may not.
pub fn check_authorize_url(url: &str) -> Result<(), Wrong> {
    address::check("authorize_url", needed("authorize_url", Some(url))?)
}

/// The same credentials with another secret; a token that was had with the old one is dropped.
///
/// # Errors
///
/// The secret makes no sense.
pub fn with_secret(id: &str, before: Credentials, new: SecretText) -> Result<Credentials, Wrong> {
    let after = match before {
        Credentials::Bearer(_) => Credentials::Bearer(new),
        Credentials::Header { name, .. } => Credentials::Header { name, key: new },
        Credentials::Query { name, .. } => Credentials::Query { name, key: new },
        Credentials::Basic { user, .. } => Credentials::Basic { user, password: new },
        Credentials::OAuth(oauth) if oauth.client_secret.is_none() => {
            let why = "this client proves nothing, so it has no secret; remove it and make another";
            return wrong("secret", why);
        }
        Credentials::OAuth(mut oauth) => {
            oauth.client_secret = Some(new);
            oauth.access = None;
            Credentials::OAuth(oauth)
        }
    };
    sound(id, &after)?;
    Ok(after)
}

/// A secret that could not be kept out of texts, or could not be sent, is not taken.
fn sound(id: &str, credentials: &Credentials) -> Result<(), Wrong> {
    for secret in credentials.secrets() {
        let text = secret.expose();
        if text.len() > LONGEST_SECRET {
            return wrong("secret", format!("it has more than {LONGEST_SECRET} bytes"));
        }
        if let Err(why) = Secret::new(id, text) {
            return wrong("secret", why.to_string());
        }
        if text.chars().any(char::is_control) {
            return wrong("secret", "it holds control characters; is it the right one?");
        }
    }
    Ok(())
}

/// What the owner of a secret that can be found by trying is told.
#[must_use]
pub fn doubt(id: &str, credentials: &Credentials) -> Option<String> {
    let guessable = |secret: &&SecretText| Secret::is_guessable(secret.expose());
    credentials.secrets().iter().any(guessable).then(|| {
        format!(
            "the secret of `{id}` can be found by trying, so it is taken out of the texts of calls that \
             use it alone; use a longer one where the service takes it (docs/connections.md)"
        )
    })
}

/// Whether a grant makes sense: principals that there can be, and names of tools or patterns.
///
/// # Errors
///
/// What does not.
pub fn check_grant(principals: &[String], tools: &[String]) -> Result<(), Wrong> {
    for (part, list) in [("principals", principals), ("tools", tools)] {
        few(part, list)?;
        if list.is_empty() {
            return wrong(part, "name at least one");
        }
    }
    for who in principals {
        let all = matches!(who.as_str(), "*" | "user:*" | "agent:*" | "service:*");
        if !all && (who.contains('*') || Principal::parse(who).is_err()) {
            let why = format!(
                "`{}` is nobody: write `user:<id>`, `agent:<id>`, `service:<id>`, `agent:*` or `*`",
                who.escape_debug()
            );
            return wrong("principals", why);
        }
    }
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"_-*".contains(&byte);
    match tools.iter().find(|tool| tool.is_empty() || !tool.bytes().all(good)) {
        Some(odd) => wrong("tools", format!("`{}` is not a tool or a pattern", odd.escape_debug())),
        None => Ok(()),
    }
}

fn needed<'a>(part: &'static str, value: Option<&'a str>) -> Result<&'a str, Wrong> {
    match value.filter(|text| !text.is_empty()) {
        Some(text) => Ok(text),
        None => wrong(part, "this kind needs it"),
    }
}

fn few(part: &'static str, list: &[String]) -> Result<(), Wrong> {
    match list.len() > MOST {
        true => wrong(part, format!("at most {MOST} are named at once")),
        false => Ok(()),
    }
}

/// A text of one line.
fn named(part: &'static str, text: &str) -> Result<(), Wrong> {
    match text {
        "" => wrong(part, "it is empty"),
        long if long.len() > LONGEST => wrong(part, format!("it has more than {LONGEST} bytes")),
        odd if odd.chars().any(char::is_control) => wrong(part, "it holds control characters"),
        _ => Ok(()),
    }
}

fn hosts(hosts: &[String]) -> Result<(), Wrong> {
    few("hosts", hosts)?;
    let odd = |host: &&String| {
        host.is_empty()
            || host.len() > 253
            || host.contains(['/', ':', '*', '@', '?', '#'])
            || host.chars().any(|c| c.is_control() || c.is_whitespace())
    };
    match hosts.iter().find(odd) {
        Some(host) => {
            wrong("hosts", format!("`{}` is not the name of one host", host.escape_debug()))
        }
        None => Ok(()),
    }
}

fn header(name: &str) -> Result<(), Wrong> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if !name.bytes().all(good) || name.len() > LONGEST {
        return wrong("name", "a header's name has letters, digits and `-`");
    }
    if FRAMING.contains(&name.to_ascii_lowercase().as_str()) {
        let why = format!(
            "`{name}` is a header that haft writes itself; name the one that the service reads the \
             secret from, such as `X-Api-Key`"
        );
        return wrong("name", why);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
