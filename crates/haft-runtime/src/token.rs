//! Approvals as tokens: signed, bound to one call, and worth nothing to anyone who changes a byte.
//!
//! A token is `haft1.<payload>.<signature>`, both in unpadded URL-safe base64. The signature keeps
//! forgeries from the store; that it is used once is the ledger's business.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use haft_core::Digest;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

const PREFIX: &str = "haft1.";

/// Longer texts are not looked at.
const MAX: usize = 1024;

/// What tokens are signed with. Has no `Debug`, `Display` or `Serialize`.
#[derive(Clone)]
pub struct TokenKey([u8; 32]);

impl TokenKey {
    /// A key from 32 secret bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Makes the token of an approval.
    #[must_use]
    pub fn seal(&self, approval: &Approval) -> String {
        let payload = serde_json::to_vec(approval).unwrap_or_default();
        let signature = self.mac(&payload).finalize().into_bytes();
        format!("{PREFIX}{}.{}", BASE64.encode(&payload), BASE64.encode(signature))
    }

    /// Reads a token that this key made. Whatever is wrong with it, the answer is the same.
    #[must_use]
    pub fn open(&self, token: &str) -> Option<Approval> {
        let body = token.strip_prefix(PREFIX).filter(|body| body.len() <= MAX)?;
        let (payload, signature) = body.split_once('.')?;
        let payload = BASE64.decode(payload).ok()?;
        let signature = BASE64.decode(signature).ok()?;
        // Compares in constant time.
        self.mac(&payload).verify_slice(&signature).ok()?;
        serde_json::from_slice(&payload).ok()
    }

    fn mac(&self, payload: &[u8]) -> Hmac<Sha256> {
        // Any length of key is accepted, so the fallback is never taken; were it, nothing would
        // verify.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0)
            .unwrap_or_else(|_| Hmac::new(&Default::default()));
        mac.update(b"haft confirmation\0");
        mac.update(payload);
        mac
    }
}

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The confirmation.
    pub id: String,
    /// What it was given for.
    pub binding: Digest,
    /// When it is void, in milliseconds of the Unix epoch. The store's clock decides.
    pub expires_at_ms: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approval() -> Approval {
        Approval { id: "c1".into(), binding: Digest::of_bytes(b"x"), expires_at_ms: 7 }
    }

    #[test]
    fn a_token_says_what_was_sealed() {
        let key = TokenKey::from_bytes([7; 32]);
        assert_eq!(key.open(&key.seal(&approval())), Some(approval()));
    }

    #[test]
    fn no_changed_token_opens() {
        let key = TokenKey::from_bytes([7; 32]);
        let token = key.seal(&approval());
        for at in 0..token.len() {
            for flip in [1_u8, 4, 32] {
                let mut bytes = token.clone().into_bytes();
                bytes[at] ^= flip;
                let changed = String::from_utf8_lossy(&bytes).into_owned();
                // The last digit of each part has bits that say nothing; base64 refuses those too.
                assert_eq!(key.open(&changed), None, "byte {at} ^ {flip}");
            }
        }
        let (head, _) = token.rsplit_once('.').unwrap();
        for forged in ["", "haft1.", head, &format!("{head}."), &token[1..], &format!("{token}A")] {
            assert_eq!(key.open(forged), None, "{forged}");
        }
        assert_eq!(TokenKey::from_bytes([8; 32]).open(&token), None);
    }
}
