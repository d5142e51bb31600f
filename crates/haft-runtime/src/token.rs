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
        let signature = self.mac(CONFIRMATION, &payload).finalize().into_bytes();
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
        self.mac(CONFIRMATION, &payload).verify_slice(&signature).ok()?;
        serde_json::from_slice(&payload).ok()
    }

    /// Seals a text for one purpose. It can be read by whoever holds it, and changed by nobody.
    #[must_use]
    pub(crate) fn seal_text(&self, purpose: &str, text: &str) -> String {
        let signature = self.mac(&named(purpose), text.as_bytes()).finalize().into_bytes();
        format!("{}.{}", BASE64.encode(text), BASE64.encode(signature))
    }

    /// The text that this key sealed for a purpose.
    #[must_use]
    pub(crate) fn open_text(&self, purpose: &str, sealed: &str) -> Option<String> {
        let (text, signature) = sealed.split_once('.')?;
        let text = BASE64.decode(text).ok()?;
        let signature = BASE64.decode(signature).ok()?;
        self.mac(&named(purpose), &text).verify_slice(&signature).ok()?;
        String::from_utf8(text).ok()
    }

    /// A number as another one, which says neither how large it is nor which of two is larger to whoever
    /// does not hold the key. Each has its own, and the same one back: a permutation, in rounds.
    #[must_use]
    pub(crate) fn hide_number(&self, purpose: &str, number: u64) -> u64 {
        let (mut left, mut right) = halves(number);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ self.round(purpose, round, right));
        }
        whole(left, right)
    }

    /// The number that was hidden so.
    #[must_use]
    pub(crate) fn show_number(&self, purpose: &str, hidden: u64) -> u64 {
        let (mut left, mut right) = halves(hidden);
        for round in (0..ROUNDS).rev() {
            (left, right) = (right ^ self.round(purpose, round, left), left);
        }
        whole(left, right)
    }

    fn round(&self, purpose: &str, round: u8, half: u32) -> u32 {
        let [a, b, c, d] = half.to_be_bytes();
        let mac = self.mac(&named(purpose), &[round, a, b, c, d]).finalize().into_bytes();
        mac.iter().take(4).fold(0, |all, byte| all << 8 | u32::from(*byte))
    }

    fn mac(&self, purpose: &[u8], payload: &[u8]) -> Hmac<Sha256> {
        // Any length of key is accepted, so the fallback is never taken; were it, nothing would
        // verify.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0)
            .unwrap_or_else(|_| Hmac::new(&Default::default()));
        mac.update(purpose);
        mac.update(payload);
        mac
    }
}

/// Fewer would let somebody who has seen many pairs tell it from chance.
const ROUNDS: u8 = 8;

fn halves(number: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = number.to_be_bytes();
    (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
}

fn whole(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// What the signature of an approval is for.
const CONFIRMATION: &[u8] = b"haft confirmation\0";

/// What the signature of a sealed text is for: no purpose is the beginning of another.
fn named(purpose: &str) -> Vec<u8> {
    format!("haft seal {}:{purpose}\0", purpose.len()).into_bytes()
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
    fn a_sealed_text_is_for_one_purpose_and_one_key() {
        let key = TokenKey::from_bytes([7; 32]);
        let sealed = key.seal_text("a", "what was said");
        assert_eq!(key.open_text("a", &sealed).as_deref(), Some("what was said"));
        assert_eq!(key.open_text("b", &sealed), None);
        assert_eq!(TokenKey::from_bytes([8; 32]).open_text("a", &sealed), None);
        for at in 0..sealed.len() {
            let mut bytes = sealed.clone().into_bytes();
            bytes[at] ^= 1;
            let changed = String::from_utf8_lossy(&bytes).into_owned();
            assert_eq!(key.open_text("a", &changed), None, "byte {at}");
        }
    }

    #[test]
    fn a_hidden_number_is_its_own_and_comes_back() {
        let key = TokenKey::from_bytes([7; 32]);
        let all: Vec<u64> = (0..200).chain([u64::MAX, 1 << 32, u64::from(u32::MAX)]).collect();
        let hidden: Vec<u64> = all.iter().map(|one| key.hide_number("a", *one)).collect();
        let back: Vec<u64> = hidden.iter().map(|one| key.show_number("a", *one)).collect();
        assert_eq!(back, all);
        let mut apart = hidden.clone();
        apart.sort_unstable();
        apart.dedup();
        assert_eq!(apart.len(), all.len());
        assert!(!hidden.is_sorted() && hidden[1] > 1 << 32, "{hidden:?}");
        assert_ne!(key.hide_number("b", 1), hidden[1]);
        assert_ne!(TokenKey::from_bytes([8; 32]).hide_number("a", 1), hidden[1]);
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
