//! Dialects in which a call is a request of its own: MCP's `tools/call`, ADM's `FunctionCall`. One
//! object is one call; a list is several.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::notes::{Draft, Pen, Verdict};
use super::{Ended, Provider, fault, json, whole};
use crate::raw::RawJson;
use crate::said::{Broken, Fault, Finish};

/// The calls so far.
pub(super) struct Request {
    read: fn(&str) -> Result<Draft, Fault>,
    drafts: Vec<Draft>,
}

impl Request {
    pub(super) fn new(read: fn(&str) -> Result<Draft, Fault>) -> Self {
        Self { read, drafts: Vec::new() }
    }
}

impl Provider for Request {
    fn event(&mut self, _: &[u8], data: &str, pen: &mut Pen<'_>) -> Result<Option<Ended>, Fault> {
        pen.notes.hold(data.len())?;
        pen.notes.calls_fit(self.drafts.len() + 1)?;
        self.drafts.push((self.read)(data)?);
        Ok(None)
    }

    fn eof(&mut self) -> Option<Ended> {
        (!self.drafts.is_empty()).then(|| Ended::new(Finish::Calls, None))
    }

    fn settle(&mut self, verdict: Verdict, pen: &mut Pen<'_>) -> Vec<RawJson> {
        for draft in std::mem::take(&mut self.drafts) {
            pen.judge(draft, verdict);
        }
        Vec::new()
    }
}

/// A `tools/call`.
pub(super) fn mcp(data: &str) -> Result<Draft, Fault> {
    #[derive(Deserialize)]
    struct Call<'a> {
        #[serde(borrow)]
        method: Option<Cow<'a, str>>,
        id: Option<Value>,
        #[serde(borrow)]
        params: Option<Params<'a>>,
    }
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow)]
        name: Option<Cow<'a, str>>,
        #[serde(borrow)]
        arguments: Option<&'a RawValue>,
    }
    let call: Call<'_> = json(data)?;
    if call.method.as_deref() != Some("tools/call") {
        return Err(fault("not_a_call", "the request's method is not `tools/call`"));
    }
    let (name, arguments) = call.params.map_or((None, None), |it| (it.name, it.arguments));
    Ok(Draft {
        id: call.id.map(|id| id.as_str().map_or_else(|| id.to_string(), ToOwned::to_owned)),
        name: name.unwrap_or_default().into_owned(),
        arguments: arguments.map_or_else(String::new, |arguments| arguments.get().to_owned()),
        ..Draft::default()
    })
}

/// A `FunctionCall`, held to the rules of ADM 1.0.
pub(super) fn adm(data: &str) -> Result<Draft, Fault> {
    #[derive(Deserialize)]
    struct Call<'a> {
        #[serde(borrow)]
        name: Option<Cow<'a, str>>,
        #[serde(borrow)]
        args: Option<&'a RawValue>,
    }
    let call: Call<'_> = json(data)?;
    let name = call.name.unwrap_or_default().into_owned();
    let arguments = call.args.map_or_else(String::new, |args| args.get().to_owned());
    let flaw = haft_adm::FunctionCall::parse(data)
        .err()
        .map(|_| whole::flaw(&name, &arguments).unwrap_or(Broken::Contradiction));
    Ok(Draft { name, arguments, flaw, ..Draft::default() })
}
