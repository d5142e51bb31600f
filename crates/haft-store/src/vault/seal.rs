//! Sealing: the secret part of a record, bound to the part that everyone may read.

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use haft_core::connection::{Account, Credentials};
use haft_core::digest::canonical;
use haft_core::port::StoreError;
use serde_json::json;
use zeroize::Zeroizing;

use super::keys::{Key, Keyring};
use crate::sqlite::Kept;
use crate::tables::Res;

/// How many bytes a nonce has.
pub(crate) const NONCE: usize = 24;

/// Seals bytes, bound to what they are about, under a nonce of their own.
pub(crate) fn close(key: &Key, about: &[u8], plain: &[u8]) -> Res<([u8; NONCE], Vec<u8>)> {
    let mut nonce = [0; NONCE];
    getrandom::fill(&mut nonce)
        .map_err(|why| StoreError::Unavailable(format!("no random numbers: {why}")))?;
    let payload = Payload { msg: plain, aad: about };
    let sealed = XChaCha20Poly1305::new(key.bytes().into())
        .encrypt(&XNonce::from(nonce), payload)
        .map_err(|_| StoreError::Unavailable("it cannot be sealed".to_owned()))?;
    Ok((nonce, sealed))
}

/// What was sealed, unless anything of it was touched.
pub(crate) fn reveal(
    key: &Key,
    about: &[u8],
    nonce: [u8; NONCE],
    sealed: &[u8],
) -> Option<Zeroizing<Vec<u8>>> {
    let payload = Payload { msg: sealed, aad: about };
    let cipher = XChaCha20Poly1305::new(key.bytes().into());
    cipher.decrypt(&XNonce::from(nonce), payload).ok().map(Zeroizing::new)
}

/// Says of what there is no key.
pub(crate) fn of(what: &str, why: StoreError) -> StoreError {
    match why {
        StoreError::WrongState(why) => StoreError::WrongState(format!("{what}: {why}")),
        StoreError::Unavailable(_)
        | StoreError::InDoubt(_)
        | StoreError::Stale
        | StoreError::Missing
        | StoreError::Tampered(_) => why,
    }
}

/// What a record is bound to: whatever of the account would change where its credentials go.
fn bound_to(account: &Account) -> String {
    canonical(&json!(["haft connection 1", account]))
}

pub(super) fn seal(keys: &Keyring, account: Account, credentials: &Credentials) -> Res<Kept> {
    let key = keys.current()?;
    let (nonce, sealed) = close(key, bound_to(&account).as_bytes(), &credentials.write())?;
    Ok(Kept { account, key_id: key.id().to_owned(), nonce, sealed })
}

pub(super) fn open(keys: &Keyring, kept: &Kept) -> Res<Credentials> {
    let whose = format!("the connection `{}`", kept.account.id);
    let key = keys.named(&kept.key_id).map_err(|why| of(&whose, why))?;
    let about = bound_to(&kept.account);
    let plain = reveal(key, about.as_bytes(), kept.nonce, &kept.sealed);
    plain
        .and_then(|plain| Credentials::read(&plain))
        .ok_or_else(|| StoreError::Tampered(format!("{whose} does not open")))
}
