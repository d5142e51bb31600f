//! What is wrong with a `FunctionCall` of ADM, in that standard's own words.

use haft_adm::FunctionCall;
use haft_core::{Envelope, ErrorKind};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::problem::Problem;

/// The texts of the calls that a message has: one, or a list.
fn texts(bytes: &[u8]) -> Vec<&str> {
    if let Ok(list) = serde_json::from_slice::<Vec<&RawValue>>(bytes) {
        return list.into_iter().map(RawValue::get).collect();
    }
    std::str::from_utf8(bytes).into_iter().collect()
}

/// Refuses what names no function: it is another dialect's message, and no call to be answered.
pub(super) fn check(bytes: &[u8]) -> Result<(), Problem> {
    #[derive(Deserialize)]
    struct Named {
        #[expect(dead_code, reason = "only whether it is there counts")]
        name: String,
    }
    let is_call = |text: &&str| serde_json::from_str::<Named>(text).is_ok();
    match texts(bytes).iter().all(is_call) {
        true => Ok(()),
        false => {
            let why = "this is no message of `adm`: a `FunctionCall` has a `name` and `args`";
            Err(Problem::malformed(why))
        }
    }
}

/// Puts the first thing that is wrong with the call at a place into its answer.
pub(super) fn explain(bytes: &[u8], place: u32, end: &mut Envelope) {
    let text = usize::try_from(place).ok().and_then(|at| texts(bytes).get(at).copied());
    let Some(wrong) = text.and_then(|text| FunctionCall::parse(text).err()) else { return };
    if let (Some(why), Err(error)) = (wrong.into_iter().next(), &mut end.result)
        && error.kind == ErrorKind::InvalidArguments
    {
        error.message = format!("this is no `FunctionCall` of ADM: {why}; nothing was done");
        "make the call again with `name` and `args` alone".clone_into(&mut error.suggestion);
    }
}
