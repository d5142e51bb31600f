//! Sealing: the secret part of a record, bound to the part that everyone may read.

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use haft_core::connection::{Account, Credentials};
use haft_core::digest::canonical;
use haft_core::port::StoreError;
use serde_json::json;
use zeroize::Zeroizing;

use super::keys::Keyring;
use crate::sqlite::Kept;
use crate::tables::Res;

/// What a record is bound to: whatever of the account would change where its credentials go.
fn bound_to(account: &Account) -> String {
    canonical(&json!(["haft connection 1", account]))
}

pub(super) fn seal(keys: &Keyring, account: Account, credentials: &Credentials) -> Res<Kept> {
    let key = keys.current()?;
    let mut nonce = [0; 24];
    getrandom::fill(&mut nonce)
        .map_err(|why| StoreError::Unavailable(format!("no random numbers: {why}")))?;
    let plain = credentials.write();
    let about = bound_to(&account);
    let payload = Payload { msg: &plain, aad: about.as_bytes() };
    let sealed = XChaCha20Poly1305::new(key.bytes().into())
        .encrypt(&XNonce::from(nonce), payload)
        .map_err(|_| StoreError::Unavailable("the credentials cannot be sealed".to_owned()))?;
    Ok(Kept { account, key_id: key.id().to_owned(), nonce, sealed })
}

pub(super) fn open(keys: &Keyring, kept: &Kept) -> Res<Credentials> {
    let named = |why: StoreError| match why {
        StoreError::WrongState(why) => {
            StoreError::WrongState(format!("the connection `{}`: {why}", kept.account.id))
        }
        StoreError::Unavailable(_)
        | StoreError::InDoubt(_)
        | StoreError::Stale
        | StoreError::Missing
        | StoreError::Tampered(_) => why,
    };
    let key = keys.named(&kept.key_id).map_err(named)?;
    let touched =
        || StoreError::Tampered(format!("the connection `{}` does not open", kept.account.id));
    let about = bound_to(&kept.account);
    let payload = Payload { msg: &kept.sealed, aad: about.as_bytes() };
    let plain = XChaCha20Poly1305::new(key.bytes().into())
        .decrypt(&XNonce::from(kept.nonce), payload)
        .map_err(|_| touched())?;
    Credentials::read(&Zeroizing::new(plain)).ok_or_else(touched)
}
