//! Signed tokens of issuers that `haft.toml` names: who a token says its bearer is, once it is
//! certain that the issuer says so.
//!
//! Keys come from the configured place and from nowhere that a token names. The algorithms are
//! pinned, and all of them are signatures: a public key can never be taken for a shared secret.
//! Whoever is refused learns only that; the log says why.

mod claims;
mod keyset;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use jsonwebtoken::{Algorithm, Validation};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Role, Who};
use keyset::{Keyset, Place};

/// A longer token is not looked at.
const MOST_BYTES: usize = 16 << 10;

/// An issuer, as it is declared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Issuer {
    /// What its tokens say as `iss`, to the letter.
    pub issuer: String,
    /// One of these must be the token's `aud`.
    pub audience: Vec<String>,
    /// Where its keys are: `https`, or `http` on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_url: Option<String>,
    /// A file with its keys, instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_file: Option<PathBuf>,
    /// The algorithms that it signs with; `RS256`, `ES256` and `EdDSA` where absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub algorithms: Vec<String>,
    /// How far clocks may differ, in seconds: at most 300; 30 where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leeway_s: Option<u64>,
    /// How long to wait, in seconds, before its keys are asked for again; 10 where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_pause_s: Option<u64>,
    /// Whose tools and records its tokens open, where no claim says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The tenants that a claim may name; any where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenants: Option<Vec<String>>,
    /// Which claim says what.
    #[serde(default)]
    pub claims: Names,
    /// The role that a word of the roles claim stands for. Without any, the words are the roles.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, Role>,
}

/// Which claim says what. A dot leads into an object: `realm_access.roles`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Names {
    /// The tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Who acts; `sub` where absent. A name may say its kind: `user:mara`, `service:portal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The agent: whoever acts with a token that has it is that agent, and nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The program: whoever acts with a token that has it is that service, and approves nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// For which user the bearer acts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The roles: one word, several with spaces between, or a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roles: Option<String>,
    /// What is known about the user: the claim for each member of `context.user`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub user: BTreeMap<String, String>,
}

impl Names {
    fn has_empty(&self) -> bool {
        let all = [&self.tenant, &self.principal, &self.agent, &self.service, &self.subject];
        let mut all = all.into_iter().chain([&self.roles]).flatten().chain(self.user.values());
        all.any(String::is_empty)
    }

    fn is_both(&self) -> bool {
        self.agent.is_some() && self.agent == self.service
    }
}

/// Why an issuer is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadIssuer {
    issuer: String,
    why: String,
}

impl fmt::Display for BadIssuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "issuer `{}`: {}", self.issuer.escape_debug(), self.why)
    }
}

impl std::error::Error for BadIssuer {}

/// Why a token is refused: for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) why: String,
    pub(crate) issuer: Option<String>,
    pub(crate) kid: Option<String>,
}

/// The issuers whose tokens open this server.
#[derive(Default)]
pub struct Issuers {
    all: Vec<Known>,
}

struct Known {
    issuer: Issuer,
    algorithms: Vec<Algorithm>,
    keys: Keyset,
}

impl Issuers {
    /// Checks the issuers that are declared. Nothing is fetched before the first token.
    ///
    /// # Errors
    ///
    /// The first that makes no sense, and why.
    pub fn load(issuers: &[Issuer]) -> Result<Self, BadIssuer> {
        let mut all: Vec<Known> = Vec::new();
        for issuer in issuers {
            let twice = all.iter().any(|one| one.issuer.issuer == issuer.issuer);
            let checked = match twice {
                true => Err(vec!["it is there twice".to_owned()]),
                false => Known::new(issuer),
            };
            let bad = |wrong: Vec<String>| BadIssuer {
                issuer: issuer.issuer.clone(),
                why: wrong.into_iter().next().unwrap_or_default(),
            };
            all.push(checked.map_err(bad)?);
        }
        Ok(Self { all })
    }

    /// Whether a text can be a token at all.
    pub(crate) fn may_be(&self, text: &str) -> bool {
        !self.all.is_empty() && text.len() <= MOST_BYTES && text.matches('.').count() == 2
    }

    /// Whoever bears a token.
    pub(crate) async fn find(&self, token: &str) -> Result<Who, Refused> {
        let refuse = |why: &str| Refused { why: why.to_owned(), issuer: None, kid: None };
        let header =
            jsonwebtoken::decode_header(token).map_err(|_| refuse("not a signed token"))?;
        // Only to see whose keys to check it with: whatever else it says is read afterwards.
        let said: Map<String, Value> = jsonwebtoken::dangerous::insecure_decode_claims(token)
            .map_err(|_| refuse("its claims cannot be read"))?;
        let issuer = said.get("iss").and_then(Value::as_str);
        let known = self.all.iter().find(|one| issuer == Some(one.issuer.issuer.as_str()));
        let Some(known) = known else { return Err(refuse("of no issuer that is configured")) };
        let refuse = |why: String| Refused {
            why,
            issuer: Some(known.issuer.issuer.clone()),
            kid: header.kid.as_ref().map(|kid| kid.chars().take(64).collect()),
        };
        if header.crit.is_some() {
            return Err(refuse("it needs extensions that are not known here".to_owned()));
        }
        if !known.algorithms.contains(&header.alg) {
            return Err(refuse(format!("`{:?}` is not one of the algorithms", header.alg)));
        }
        let key = known.keys.find(header.kid.as_deref(), header.alg).await.map_err(&refuse)?;
        let read =
            jsonwebtoken::decode::<Map<String, Value>>(token, &key, &known.rules(header.alg));
        let claims = read.map_err(|why| refuse(why.to_string()))?.claims;
        claims::who(&known.issuer, &claims).map_err(&refuse)
    }
}

impl Issuer {
    /// Everything that makes no sense, the first first.
    #[must_use]
    pub fn faults(&self) -> Vec<BadIssuer> {
        let bad = |why| BadIssuer { issuer: self.issuer.clone(), why };
        Known::new(self).err().unwrap_or_default().into_iter().map(bad).collect()
    }

    fn leeway(&self) -> u64 {
        self.leeway_s.unwrap_or(30)
    }

    fn lacks(&self) -> Vec<&'static str> {
        let (nobody, anybody) = (self.issuer.is_empty(), self.audience.is_empty());
        let odd = anybody || self.audience.iter().any(String::is_empty);
        let nobodys = self.tenant.is_none() && self.claims.tenant.is_none();
        let faults = [
            nobody.then_some("it has no name"),
            odd.then_some("`audience` is needed: tokens for others must not open this"),
            self.leeway_s.is_some_and(|s| s > 300).then_some("`leeway_s` is at most 300"),
            nobodys.then_some("say whose it is: `tenant`, or `claims.tenant`"),
            self.claims.has_empty().then_some("a claim in `claims` has no name; leave it out"),
            self.claims
                .is_both()
                .then_some("`claims.agent` and `claims.service` are one claim; say which it names"),
        ];
        faults.into_iter().flatten().collect()
    }

    fn place(&self) -> Result<Place, String> {
        match (&self.jwks_url, &self.jwks_file) {
            (Some(url), None) => Place::url(url),
            (None, Some(file)) => Ok(Place::File(file.clone())),
            (None, None) | (Some(_), Some(_)) => {
                Err("say where its keys are: `jwks_url` or `jwks_file`".to_owned())
            }
        }
    }
}

impl Known {
    /// # Errors
    ///
    /// Everything that makes no sense, the first first.
    fn new(issuer: &Issuer) -> Result<Self, Vec<String>> {
        let mut wrong: Vec<String> = issuer.lacks().into_iter().map(str::to_owned).collect();
        let mut noted = |why: String| wrong.push(why);
        let place = issuer.place().map_err(&mut noted).ok();
        let algorithms = algorithms(&issuer.algorithms).map_err(&mut noted).ok();
        let pause = std::time::Duration::from_secs(issuer.jwks_pause_s.unwrap_or(10));
        let keys = place.and_then(|place| Keyset::new(place, pause).map_err(&mut noted).ok());
        match (algorithms, keys) {
            (Some(algorithms), Some(keys)) if wrong.is_empty() => {
                Ok(Self { issuer: issuer.clone(), algorithms, keys })
            }
            (_, _) => Err(wrong),
        }
    }

    fn rules(&self, algorithm: Algorithm) -> Validation {
        let mut rules = Validation::new(algorithm);
        rules.leeway = self.issuer.leeway();
        rules.validate_nbf = true;
        rules.set_audience(&self.issuer.audience);
        rules.set_issuer(&[&self.issuer.issuer]);
        rules.set_required_spec_claims(&["exp", "aud", "iss"]);
        rules
    }
}

/// Signatures alone. With a shared secret whoever can check a token can also make one, and a public
/// key in its place would let anybody.
fn algorithms(names: &[String]) -> Result<Vec<Algorithm>, String> {
    const SIGNATURES: [(&str, Algorithm); 9] = [
        ("RS256", Algorithm::RS256),
        ("RS384", Algorithm::RS384),
        ("RS512", Algorithm::RS512),
        ("PS256", Algorithm::PS256),
        ("PS384", Algorithm::PS384),
        ("PS512", Algorithm::PS512),
        ("ES256", Algorithm::ES256),
        ("ES384", Algorithm::ES384),
        ("EdDSA", Algorithm::EdDSA),
    ];
    if names.is_empty() {
        return Ok(vec![Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA]);
    }
    let find = |name: &String| {
        let known = SIGNATURES.iter().find(|(word, _)| word == name).map(|(_, it)| *it);
        known.ok_or_else(|| {
            let all = SIGNATURES.map(|(word, _)| word).join(", ");
            format!("`{}` is not an algorithm for this; use {all}", name.escape_debug())
        })
    };
    names.iter().map(find).collect()
}
