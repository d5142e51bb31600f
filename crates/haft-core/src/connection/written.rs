//! Credentials as bytes: only to be sealed, and only after they were unsealed.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

use super::{Access, ClientAuth, Credentials, OAuth, OAuthGrant};
use crate::secret::SecretText;

/// A secret that can be written, in this file alone.
struct Open(SecretText);

impl Serialize for Open {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0.expose())
    }
}

impl<'de> Deserialize<'de> for Open {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(|text| Self(SecretText::new(text)))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Plain {
    Bearer {
        token: Open,
    },
    Header {
        name: String,
        key: Open,
    },
    Query {
        name: String,
        key: Open,
    },
    Basic {
        user: String,
        password: Open,
    },
    Oauth {
        grant: OAuthGrant,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        authorize_url: Option<String>,
        token_url: String,
        client_id: String,
        client_secret: Option<Open>,
        client_auth: ClientAuth,
        scopes: Vec<String>,
        audience: Option<String>,
        refresh: Option<Open>,
        access: Option<Open>,
        until_ms: Option<i64>,
    },
}

impl Plain {
    fn of(credentials: &Credentials) -> Self {
        let open = |secret: &SecretText| Open(secret.clone());
        match credentials {
            Credentials::Bearer(token) => Self::Bearer { token: open(token) },
            Credentials::Header { name, key } => {
                Self::Header { name: name.clone(), key: open(key) }
            }
            Credentials::Query { name, key } => Self::Query { name: name.clone(), key: open(key) },
            Credentials::Basic { user, password } => {
                Self::Basic { user: user.clone(), password: open(password) }
            }
            Credentials::OAuth(oauth) => Self::Oauth {
                grant: oauth.grant,
                authorize_url: oauth.authorize_url.clone(),
                token_url: oauth.token_url.clone(),
                client_id: oauth.client_id.clone(),
                client_secret: oauth.client_secret.as_ref().map(open),
                client_auth: oauth.client_auth,
                scopes: oauth.scopes.clone(),
                audience: oauth.audience.clone(),
                refresh: oauth.refresh.as_ref().map(open),
                access: oauth.access.as_ref().map(|access| open(&access.token)),
                until_ms: oauth.access.as_ref().and_then(|access| access.until_ms),
            },
        }
    }

    fn credentials(self) -> Credentials {
        match self {
            Self::Bearer { token } => Credentials::Bearer(token.0),
            Self::Header { name, key } => Credentials::Header { name, key: key.0 },
            Self::Query { name, key } => Credentials::Query { name, key: key.0 },
            Self::Basic { user, password } => Credentials::Basic { user, password: password.0 },
            Self::Oauth {
                grant,
                authorize_url,
                token_url,
                client_id,
                client_secret,
                client_auth,
                scopes,
                audience,
                refresh,
                access,
                until_ms,
            } => Credentials::OAuth(Box::new(OAuth {
                grant,
                authorize_url,
                token_url,
                client_id,
                client_secret: client_secret.map(|secret| secret.0),
                client_auth,
                scopes,
                audience,
                refresh: refresh.map(|secret| secret.0),
                access: access.map(|secret| Access { token: secret.0, until_ms }),
            })),
        }
    }
}

impl Credentials {
    /// The bytes to be sealed; wiped when they go. They hold the secrets as they are.
    #[must_use]
    pub fn write(&self) -> Zeroizing<Vec<u8>> {
        // A vector that grows leaves copies of itself behind; this one does not have to.
        let mut bytes = Zeroizing::new(Vec::with_capacity(16 << 10));
        // Text and numbers always have a spelling in JSON.
        let _ = serde_json::to_writer(&mut *bytes, &Plain::of(self));
        bytes
    }

    /// Reads what [`Credentials::write`] wrote.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice::<Plain>(bytes).ok().map(Plain::credentials)
    }
}
