//! Ed25519 signatures over statements: of a registry, of the audit trail's head.

use std::fmt;

use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, EncodePrivateKey};
use ed25519_dalek::{Signer, Verifier};
use serde::{Deserialize, Serialize};

use crate::digest::hex;

const PREFIX: &str = "ed25519:";

/// A private key. It has no `Debug`, `Display` or `Serialize`, so that it cannot end in a log.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// Makes a key from 32 random bytes.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    /// Reads a PKCS#8 PEM file, as `haft keygen` and `openssl genpkey -algorithm ed25519` write.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        ed25519_dalek::SigningKey::from_pkcs8_pem(pem).map(Self).map_err(|_| KeyError::Private)
    }

    /// The PEM text to keep in a file that only its owner can read.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        let pem = self.0.to_pkcs8_pem(LineEnding::LF).map_err(|_| KeyError::Private)?;
        Ok(pem.to_string())
    }

    /// The key that others verify with.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs a statement. Its first words must say what kind of statement it is, so that a
    /// signature for one purpose never serves another.
    #[must_use]
    pub fn sign(&self, statement: &str) -> Signature {
        Signature { key: self.public(), value: hex(&self.0.sign(statement.as_bytes()).to_bytes()) }
    }
}

/// A public key, written `ed25519:<64 hex digits>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey(ed25519_dalek::VerifyingKey);

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", hex(self.0.as_bytes()))
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.to_string()
    }
}

impl TryFrom<String> for PublicKey {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        let bytes = text.strip_prefix(PREFIX).and_then(unhex::<32>).ok_or(KeyError::Public)?;
        ed25519_dalek::VerifyingKey::from_bytes(&bytes).map(Self).map_err(|_| KeyError::Public)
    }
}

/// A signature with the key that made it. The key inside proves nothing by itself: it counts only
/// when it is one that the reader trusts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// Who signed.
    pub key: PublicKey,
    /// 128 hex digits.
    pub value: String,
}

impl Signature {
    /// Whether this is the key's signature under a statement. Whether the key is trusted is another
    /// question.
    #[must_use]
    pub fn covers(&self, statement: &str) -> bool {
        let Some(bytes) = unhex::<64>(&self.value) else { return false };
        let signature = ed25519_dalek::Signature::from_bytes(&bytes);
        self.key.0.verify(statement.as_bytes(), &signature).is_ok()
    }
}

/// Why a key was refused. Never says what was in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// Not a private key.
    Private,
    /// Not a public key.
    Public,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Private => {
                "not an Ed25519 private key in PKCS#8 PEM; `haft keygen FILE` writes one"
            }
            Self::Public => "not a public key; write `ed25519:` and 64 hex digits",
        })
    }
}

impl std::error::Error for KeyError {}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}
