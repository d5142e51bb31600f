//! The keys of an issuer: fetched from the configured place, kept, and fetched again when a token
//! names one that is not there — by one request at a time, and not too often.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// After this long keys are asked for again, so that a withdrawn one does not open for ever.
const FRESH: Duration = Duration::from_secs(600);
/// Keys that could not be fetched again for this long open nothing.
const STALE: Duration = Duration::from_secs(24 * 3600);
/// How long a fetch may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// A larger answer is no set of keys.
const MOST_BYTES: usize = 256 << 10;
/// No issuer has more.
const MOST_KEYS: usize = 100;

/// Where keys come from.
pub(super) enum Place {
    Url(String),
    File(PathBuf),
}

impl Place {
    /// Keys over an open line could be anybody's, unless the line does not leave the machine.
    pub(super) fn url(text: &str) -> Result<Self, String> {
        let url = reqwest::Url::parse(text).map_err(|why| format!("`jwks_url`: {why}"))?;
        let host = url.host_str().unwrap_or_default();
        let here = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
        match url.scheme() {
            "https" => Ok(Self::Url(text.to_owned())),
            "http" if here => Ok(Self::Url(text.to_owned())),
            _ => Err("`jwks_url` must begin with `https://`".to_owned()),
        }
    }
}

/// An issuer's keys.
pub(super) struct Keyset {
    pause: Duration,
    kept: Arc<Kept>,
    /// Whoever holds this asks.
    asked: Arc<Mutex<Asked>>,
}

/// The keys that are there, and where they come from.
struct Kept {
    place: Place,
    client: reqwest::Client,
    keys: ArcSwap<Loaded>,
}

/// When keys were last asked for, and when that had an end.
#[derive(Default)]
struct Asked {
    begun: Option<Instant>,
    ended: Option<Instant>,
}

#[derive(Default)]
struct Loaded {
    keys: Vec<One>,
    at: Option<Instant>,
}

struct One {
    kid: Option<String>,
    algorithms: Vec<Algorithm>,
    key: Arc<DecodingKey>,
}

impl Keyset {
    pub(super) fn new(place: Place, pause: Duration) -> Result<Self, String> {
        // What answers elsewhere is not what was configured.
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(PATIENCE)
            .no_proxy()
            .build()
            .map_err(|why| format!("no client: {why}"))?;
        let kept = Kept { place, client, keys: ArcSwap::default() };
        Ok(Self { pause, kept: Arc::new(kept), asked: Arc::default() })
    }

    /// The key that a token names, or the only one that it can mean.
    pub(super) async fn find(
        &self,
        kid: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Arc<DecodingKey>, String> {
        let loaded = self.kept.keys.load_full();
        let found = loaded.find(kid, algorithm);
        if let Some(key) = &found
            && loaded.is_younger(FRESH)
        {
            return Ok(key.clone());
        }
        let came = Instant::now();
        // While somebody asks, a key that is known does for the others.
        let asked = match (self.asked.clone().try_lock_owned(), &found) {
            (Ok(asked), _) => asked,
            (Err(_), Some(key)) if loaded.is_younger(STALE) => return Ok(key.clone()),
            (Err(_), _) => self.asked.clone().lock_owned().await,
        };
        let rested = asked.begun.is_none_or(|at| at.elapsed() >= self.pause);
        // Who waited has waited for the answer: those in line do not ask one after the other.
        let is_told = asked.ended.is_some_and(|at| at >= came);
        if rested && !is_told && !self.is_newer_than(&loaded) {
            // On a task of its own: whoever asks may hang up, and nobody asks again for a while.
            let asking = tokio::spawn(self.kept.clone().ask(asked));
            // One that breaks has brought no keys.
            let _ = asking.await;
        }
        let loaded = self.kept.keys.load();
        let found = loaded.find(kid, algorithm).filter(|_| loaded.is_younger(STALE));
        found.ok_or_else(|| "no key of the issuer fits".to_owned())
    }

    /// Whether somebody has fetched since.
    fn is_newer_than(&self, seen: &Loaded) -> bool {
        self.kept.keys.load().at != seen.at
    }
}

impl Kept {
    /// Asks for the keys, once.
    async fn ask(self: Arc<Self>, mut asked: OwnedMutexGuard<Asked>) {
        asked.begun = Some(Instant::now());
        match self.fetch().await {
            Ok(keys) => self.keys.store(Arc::new(Loaded { keys, at: Some(Instant::now()) })),
            Err(why) => tracing::warn!(event = "jwks_not_fetched", why),
        }
        asked.ended = Some(Instant::now());
    }

    async fn fetch(&self) -> Result<Vec<One>, String> {
        let bytes = match &self.place {
            Place::File(path) => tokio::fs::read(path).await.map_err(|why| why.to_string())?,
            Place::Url(url) => self.get(url).await?,
        };
        if bytes.len() > MOST_BYTES {
            return Err("the set of keys is too large".to_owned());
        }
        read(&bytes)
    }

    async fn get(&self, url: &str) -> Result<Vec<u8>, String> {
        let answer = self.client.get(url).send().await.map_err(|why| why.to_string())?;
        if !answer.status().is_success() {
            return Err(format!("the answer was {}", answer.status()));
        }
        let mut answer = answer;
        let mut bytes = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(|why| why.to_string())? {
            bytes.extend_from_slice(&part);
            if bytes.len() > MOST_BYTES {
                return Err("the set of keys is too large".to_owned());
            }
        }
        Ok(bytes)
    }
}

impl Loaded {
    fn is_younger(&self, than: Duration) -> bool {
        self.at.is_some_and(|at| at.elapsed() < than)
    }

    fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Option<Arc<DecodingKey>> {
        let mut fitting = self.keys.iter().filter(|one| one.algorithms.contains(&algorithm));
        match kid {
            Some(kid) => fitting.find(|one| one.kid.as_deref() == Some(kid)),
            // A token that names none can mean only the one that there is.
            None => fitting.next().filter(|_| fitting.next().is_none()),
        }
        .map(|one| one.key.clone())
    }
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<Value>,
}

/// One key that cannot be read does not hide the others.
fn read(bytes: &[u8]) -> Result<Vec<One>, String> {
    let set: Set = serde_json::from_slice(bytes).map_err(|why| why.to_string())?;
    let jwks = set.keys.into_iter().take(MOST_KEYS);
    Ok(jwks
        .filter_map(|one| serde_json::from_value(one).ok())
        .filter_map(|one| usable(&one))
        .collect())
}

/// A key that signatures are checked with, and the algorithms that it is for. Shared secrets have
/// no place in a public set.
fn usable(jwk: &Jwk) -> Option<One> {
    if jwk.common.public_key_use.as_ref().is_some_and(|use_| *use_ != PublicKeyUse::Signature) {
        return None;
    }
    let fitting: &[Algorithm] = if let AlgorithmParameters::RSA(_) = &jwk.algorithm {
        AlgorithmFamily::Rsa.algorithms()
    } else if let AlgorithmParameters::EllipticCurve(key) = &jwk.algorithm {
        match key.curve == EllipticCurve::P256 {
            true => &[Algorithm::ES256],
            false if key.curve == EllipticCurve::P384 => &[Algorithm::ES384],
            false => return None,
        }
    } else if let AlgorithmParameters::OctetKeyPair(key) = &jwk.algorithm
        && key.curve == EllipticCurve::Ed25519
    {
        &[Algorithm::EdDSA]
    } else {
        return None;
    };
    let named = jwk.common.key_algorithm;
    let is_named = |one: &&Algorithm| named.is_none_or(|named| named == KeyAlgorithm::from(**one));
    Some(One {
        kid: jwk.common.key_id.clone(),
        algorithms: fitting.iter().filter(is_named).copied().collect(),
        key: Arc::new(DecodingKey::from_jwk(jwk).ok()?),
    })
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn those_who_wait_for_keys_that_do_not_come_wait_for_them_together() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", silent.local_addr().unwrap());
        let keys = Keyset::new(Place::Url(url), Duration::ZERO).unwrap();
        let began = tokio::time::Instant::now();
        let found = join_all((0..4).map(|_| keys.find(Some("k"), Algorithm::ES256))).await;
        assert!(found.iter().all(Result::is_err));
        let waited = began.elapsed();
        assert!(waited < 2 * PATIENCE, "{waited:?}");
    }
}
