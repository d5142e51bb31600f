//! Connections: accounts elsewhere that calls are made with.
//!
//! What may be known of one is an [`Account`]; what must not be is in its [`Credentials`]. A call
//! knows a connection by its id alone. The path binds an [`crate::port::Auth`] to one connection and
//! one call, after it was decided that the call may use it.

mod refusal;
mod written;

use serde::{Deserialize, Serialize};

pub use refusal::Refusal;

use crate::secret::SecretText;

/// What may be known of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Account {
    /// Whose it is.
    pub tenant: String,
    /// The opaque id that calls name.
    pub id: String,
    /// Whose service it is an account of; tools name the same word.
    pub provider: String,
    /// How it proves who it is.
    pub kind: AuthKind,
    /// The only hosts that its credentials may go to; those of each tool's contract when empty.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Who chose the addresses in it, and so whose way out tokens are asked for through.
    #[serde(default, skip_serializing_if = "Origin::is_operator")]
    pub origin: Origin,
    /// Raised by every change.
    pub revision: u64,
    /// When it was made.
    pub made_ms: i64,
    /// When it was last changed.
    pub changed_ms: i64,
}

/// Who made a connection. What a tenant's administrators write must not reach what only the operator's
/// tools may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Whoever runs haft: by a command, or in `haft.toml`.
    #[default]
    Operator,
    /// An administrator of the tenant, over the API or on a page.
    Tenant,
}

impl Origin {
    /// Whether it is whoever runs haft. Records from before there was anybody else do not say so.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        *self == Self::Operator
    }
}

/// How a connection proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuthKind {
    /// `Authorization: Bearer …`
    Bearer,
    /// A key in a header.
    Header,
    /// A key in the query.
    Query,
    /// A name and a password.
    Basic,
    /// OAuth 2, as this program itself.
    ClientCredentials,
    /// OAuth 2, as a person who has agreed in the browser.
    AuthorizationCode,
}

impl AuthKind {
    /// The word used in commands and tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bearer => "bearer",
            Self::Header => "header",
            Self::Query => "query",
            Self::Basic => "basic",
            Self::ClientCredentials => "client-credentials",
            Self::AuthorizationCode => "authorization-code",
        }
    }
}

/// What proves who an account is. No `Debug`, no `Serialize`: see [`Credentials::write`].
#[derive(Clone)]
pub enum Credentials {
    /// A token.
    Bearer(SecretText),
    /// A key in a header.
    Header {
        /// The header's name.
        name: String,
        /// The key.
        key: SecretText,
    },
    /// A key in the query.
    Query {
        /// The parameter's name.
        name: String,
        /// The key.
        key: SecretText,
    },
    /// A name and a password.
    Basic {
        /// The name.
        user: String,
        /// The password.
        password: SecretText,
    },
    /// OAuth 2.
    OAuth(Box<OAuth>),
}

/// What OAuth 2 needs to keep going.
#[derive(Clone)]
pub struct OAuth {
    /// On whose behalf.
    pub grant: OAuthGrant,
    /// Where a person agrees, as far as that is known: their consent can be asked for again.
    pub authorize_url: Option<String>,
    /// Where tokens are had.
    pub token_url: String,
    /// Who this program is.
    pub client_id: String,
    /// Its proof, where it has one.
    pub client_secret: Option<SecretText>,
    /// Where the proof goes.
    pub client_auth: ClientAuth,
    /// What is asked for.
    pub scopes: Vec<String>,
    /// What the token is good for, where the provider wants to know.
    pub audience: Option<String>,
    /// What a new token is had with.
    pub refresh: Option<SecretText>,
    /// The token of the moment.
    pub access: Option<Access>,
}

/// A person's consent that is asked for: where their browser goes, and what proves later that it was us.
#[derive(Clone)]
pub struct Consent {
    /// Where the browser goes.
    pub url: String,
    /// What must come back with it.
    pub state: String,
    /// What the code is redeemed with.
    pub verifier: SecretText,
    /// Where the browser comes back to.
    pub redirect: String,
}

/// A token and its end.
#[derive(Clone)]
pub struct Access {
    /// The token.
    pub token: SecretText,
    /// From when on it is not accepted, as far as that is known.
    pub until_ms: Option<i64>,
}

/// How a program proves who it is when it asks for a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientAuth {
    /// In the `Authorization` header.
    #[default]
    Basic,
    /// Among the fields of the request.
    Body,
}

/// On whose behalf tokens are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OAuthGrant {
    /// The program's own.
    ClientCredentials,
    /// A person's.
    AuthorizationCode,
}

impl Credentials {
    /// How they prove who the account is.
    #[must_use]
    pub fn kind(&self) -> AuthKind {
        match self {
            Self::Bearer(_) => AuthKind::Bearer,
            Self::Header { .. } => AuthKind::Header,
            Self::Query { .. } => AuthKind::Query,
            Self::Basic { .. } => AuthKind::Basic,
            Self::OAuth(oauth) => match oauth.grant {
                OAuthGrant::ClientCredentials => AuthKind::ClientCredentials,
                OAuthGrant::AuthorizationCode => AuthKind::AuthorizationCode,
            },
        }
    }

    /// Every secret in them.
    #[must_use]
    pub fn secrets(&self) -> Vec<&SecretText> {
        match self {
            Self::Bearer(secret)
            | Self::Header { key: secret, .. }
            | Self::Query { key: secret, .. }
            | Self::Basic { password: secret, .. } => vec![secret],
            Self::OAuth(oauth) => {
                let access = oauth.access.as_ref().map(|access| &access.token);
                [oauth.client_secret.as_ref(), oauth.refresh.as_ref(), access]
                    .into_iter()
                    .flatten()
                    .collect()
            }
        }
    }
}

/// Who may use a connection, and with which tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// In which tenant.
    pub tenant: String,
    /// Which connection.
    pub connection: String,
    /// `user:mara`, `agent:*`, `*`.
    pub principals: Vec<String>,
    /// Names of tools, with `*`.
    pub tools: Vec<String>,
}

/// Credentials as a request carries them.
#[derive(Clone)]
pub enum Presented {
    /// In a header.
    Header {
        /// Its name.
        name: String,
        /// Its value.
        value: SecretText,
    },
    /// In the query.
    Query {
        /// The parameter's name.
        name: String,
        /// Its value.
        value: SecretText,
    },
}

/// Credentials for one call, with what is known of their account.
pub struct Lease {
    /// The account.
    pub account: Account,
    /// What the request carries.
    pub presented: Presented,
    /// Everything in it that nobody may see.
    pub secrets: Vec<SecretText>,
}
