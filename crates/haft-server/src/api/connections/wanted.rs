//! What a request says of a connection. The secret is taken out before anything else is read, so that no
//! error about the rest can repeat it.

use haft_core::connection::AuthKind;
use haft_core::secret::SecretText;
use haft_runtime::connections::{Proof, Wanted};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::body;
use crate::problem::Problem;

/// A connection that is to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewConnection {
    /// Its id: up to 64 letters, digits and `_.:-`.
    #[schema(pattern = "^[A-Za-z0-9_.:-]{1,64}$")]
    id: String,
    /// Whose service it is an account of; the tools that may use it name the same word.
    #[schema(min_length = 1, max_length = 1024)]
    provider: String,
    /// How it proves who it is.
    kind: KindName,
    /// The only hosts that the credentials may go to, by name; those of each tool's contract where
    /// absent, and nowhere with a tool that the tenant defined itself.
    #[serde(default)]
    hosts: Vec<String>,
    /// The secret: a token, a key, a password, or the client's secret. Sealed, and never shown.
    #[serde(default)]
    #[schema(write_only, format = Password, min_length = 6)]
    #[expect(
        dead_code,
        reason = "taken out before the rest is read; here for the OpenAPI document"
    )]
    secret: Option<String>,
    /// For `header` and `query`: the header's or parameter's name.
    name: Option<String>,
    /// For `basic`: the user's name.
    user: Option<String>,
    /// For `authorization-code`: where a person agrees, in a browser. Encrypted, or on this machine.
    pub(crate) authorize_url: Option<String>,
    /// For OAuth: where tokens are had. Encrypted, or on this machine.
    token_url: Option<String>,
    /// For OAuth: who the program is to the provider.
    client_id: Option<String>,
    /// For OAuth: where the client's secret goes; `header` where absent.
    #[serde(default)]
    secret_in: SecretIn,
    /// For OAuth: what is asked for.
    #[serde(default)]
    scopes: Vec<String>,
    /// For OAuth: what the token is for, where the provider wants to know.
    audience: Option<String>,
}

/// How a connection proves who it is.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum KindName {
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
    /// OAuth 2, as a person who agrees in a browser.
    AuthorizationCode,
}

/// How a client proves who it is to the provider of tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SecretIn {
    /// In the `Authorization` header.
    #[default]
    Header,
    /// Among the fields of the request.
    Body,
    /// The client has no secret.
    None,
}

impl From<SecretIn> for Proof {
    fn from(place: SecretIn) -> Self {
        match place {
            SecretIn::Header => Self::Header,
            SecretIn::Body => Self::Body,
            SecretIn::None => Self::None,
        }
    }
}

impl NewConnection {
    pub(crate) fn read(mut said: Value) -> Result<(Self, Option<SecretText>), Problem> {
        let secret = take_secret(&mut said)?;
        Ok((body::shape(said)?, secret))
    }

    pub(crate) fn wanted(self) -> Wanted {
        Wanted {
            id: self.id,
            provider: self.provider,
            kind: match self.kind {
                KindName::Bearer => AuthKind::Bearer,
                KindName::Header => AuthKind::Header,
                KindName::Query => AuthKind::Query,
                KindName::Basic => AuthKind::Basic,
                KindName::ClientCredentials => AuthKind::ClientCredentials,
                KindName::AuthorizationCode => AuthKind::AuthorizationCode,
            },
            hosts: self.hosts,
            name: self.name,
            user: self.user,
            token_url: self.token_url,
            client_id: self.client_id,
            proof: self.secret_in.into(),
            scopes: self.scopes,
            audience: self.audience,
        }
    }
}

/// Another secret.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSecret {
    /// The new secret. Sealed, and never shown.
    #[schema(write_only, format = Password, required, value_type = String, min_length = 6)]
    #[expect(
        dead_code,
        reason = "taken out before the rest is read; here for the OpenAPI document"
    )]
    secret: Option<String>,
}

impl NewSecret {
    pub(crate) fn read(mut said: Value) -> Result<SecretText, Problem> {
        let secret = take_secret(&mut said)?;
        let Self { .. } = body::shape(said)?;
        secret.ok_or_else(|| Problem::malformed("`secret` is missing"))
    }
}

/// What a body says under `secret`, out of it.
fn take_secret(said: &mut Value) -> Result<Option<SecretText>, Problem> {
    let found = said.as_object_mut().and_then(|fields| fields.shift_remove("secret"));
    match found {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(SecretText::new(text))),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Err(Problem::malformed("`secret` must be a text"))
        }
    }
}
