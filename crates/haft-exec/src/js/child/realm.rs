//! One call in an engine.

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_rewind::{Kept, is_at_rest};
use rquickjs::atom::PredefinedAtom;
use rquickjs::{
    CatchResultExt as _, CaughtError, Ctx, Error, FromJs, Function, Object, Promise, Value,
    function::IntoArgs,
};

use super::compile::{Compiled, Handler};
use super::outside::Outside;
use super::prelude;
use crate::js::answer::says_that_it_is_done;
use crate::js::frame::{Call, End};

/// An engine's realm while something runs in it.
pub(super) struct Realm<'r, 'js> {
    pub(super) ctx: &'r Ctx<'js>,
    pub(super) kept: &'r Kept,
    pub(super) outside: &'r Arc<Outside>,
}

/// What came of a call.
pub(super) struct Ran {
    pub(super) end: End,
    /// The answer or the error, as JSON.
    pub(super) json: String,
    /// How long its handler took to load, where that was not done ahead.
    pub(super) loading: Option<Duration>,
}

/// How a `null` that was thrown is reported. The engine itself throws one where it has no memory left for
/// an error.
pub(super) const NULL: &str = r#"{"name":"object","message":"null"}"#;

/// What a call comes to where it comes to no answer.
enum Halt<'js> {
    /// Something was thrown.
    Thrown(Value<'js>),
    /// Nothing is left that could go on.
    Stuck,
    /// The deadline has passed.
    Late,
}

impl<'js> Realm<'_, 'js> {
    /// Runs a call to its end.
    pub(super) fn run(&self, handler: &Handler, call: &Call) -> Ran {
        self.outside.begin(call);
        let (execute, loading) = self.begin(handler, call.seed);
        let (end, json) = match execute {
            Ok(execute) => self.answer(execute, call),
            Err(_) if self.outside.is_late() => (End::TimedOut, String::new()),
            Err(why) => (End::NotBegun, why),
        };
        if end == End::Returned && json.len() as u64 > call.answer_bytes {
            let said = format!("{} {}", json.len(), says_that_it_is_done(&json));
            return Ran { end: End::TooLong, json: said, loading };
        }
        Ran { end, json, loading }
    }

    /// What is to be called, loaded where that was not done ahead, and how long that took.
    fn begin(
        &self,
        handler: &Handler,
        seed: u64,
    ) -> (Result<Function<'js>, String>, Option<Duration>) {
        let seeded = self.seed(seed);
        if self.kept.has("execute") {
            let execute = self.kept.get(self.ctx, "execute").map_err(|why| why.to_string());
            return (seeded.and(execute), None);
        }
        let now = Instant::now();
        let execute = seeded.and_then(|()| self.load(handler));
        (execute, Some(now.elapsed()))
    }

    fn called<A, R>(&self, name: &'static str, arguments: A) -> Result<R, Error>
    where
        A: IntoArgs<'js>,
        R: FromJs<'js>,
    {
        prelude::called(self.ctx, self.kept, name, arguments)
    }

    fn seed(&self, seed: u64) -> Result<(), String> {
        if !self.kept.has("seed") {
            return Ok(());
        }
        let halves = ((seed >> 32) as u32 as i32, seed as u32 as i32);
        self.called::<_, ()>("seed", halves).catch(self.ctx).map_err(|why| why.to_string())
    }

    /// Loads the handler's module and gives its `execute`.
    pub(super) fn load(&self, handler: &Handler) -> Result<Function<'js>, String> {
        self.equip(handler).catch(self.ctx).map_err(|why| why.to_string())?;
        let execute = self.execute(handler.compiled);
        let execute = execute.catch(self.ctx).map_err(|why| described(&why))?;
        execute.into_function().ok_or_else(|| "it exports no function `execute`".to_owned())
    }

    /// Gives the handler its capabilities.
    fn equip(&self, handler: &Handler) -> Result<(), Error> {
        if !self.kept.has("equip") {
            return Ok(());
        }
        let capabilities = self.ctx.json_parse(handler.capabilities.as_str())?;
        self.called("equip", (capabilities, self.kept.get(self.ctx, "send")?))
    }

    /// What a module calls `execute`.
    fn execute(&self, compiled: Compiled) -> Result<Value<'js>, Error> {
        let (module, evaluated) = compiled.declare(self.ctx)?.eval()?;
        loop {
            match evaluated.result::<()>() {
                Some(result) => break result?,
                None if self.outside.is_late() || !self.ctx.execute_pending_job() => {
                    return Err(Error::WouldBlock);
                }
                None => {}
            }
        }
        module.get("execute")
    }

    /// Calls `execute` and waits for what it comes to.
    fn answer(&self, execute: Function<'js>, call: &Call) -> (End, String) {
        let begun = self
            .ctx
            .json_parse(call.arguments.as_str())
            .and_then(|arguments| self.called("start", (execute, arguments)));
        let settled = match begun {
            Ok(value) => self.settle(value),
            Err(_) => Err(Halt::Thrown(self.ctx.catch())),
        };
        self.told(settled)
    }

    /// How a call ended, and its answer or error as JSON.
    fn told(&self, settled: Result<Value<'js>, Halt<'js>>) -> (End, String) {
        let value = match settled {
            Ok(value) => value,
            Err(Halt::Thrown(error)) => return self.thrown(error),
            Err(Halt::Late) => return (End::TimedOut, String::new()),
            Err(Halt::Stuck) => return (End::Stuck, String::new()),
        };
        // It is put away with the whole engine. To take it apart first would only cost time.
        mem::forget(value.clone());
        match self.ctx.json_stringify(value) {
            Ok(Some(json)) => match json.to_string() {
                Ok(json) => (End::Returned, json),
                Err(_) => (End::Stuck, String::new()),
            },
            Ok(None) => (End::Returned, String::new()),
            Err(_) => self.report(End::Unwritable, self.ctx.catch()),
        }
    }

    /// What a value comes to: itself, or what it promises.
    fn settle(&self, value: Value<'js>) -> Result<Value<'js>, Halt<'js>> {
        let thrown = |_| Halt::Thrown(self.ctx.catch());
        // Where nothing else is to be done first, what is there already is not waited for.
        if is_at_rest(self.ctx) {
            match value.as_promise().map(Promise::result) {
                Some(Some(result)) => return result.map_err(thrown),
                Some(None) => {}
                None if !is_thenable(&value).map_err(thrown)? => return Ok(value),
                None => {}
            }
        }
        let promise: Promise<'_> = self.called("settled", (value,)).map_err(thrown)?;
        loop {
            if let Some(result) = promise.result::<Object<'_>>() {
                return result.and_then(|boxed| boxed.get("value")).map_err(thrown);
            }
            if self.outside.is_late() {
                return Err(Halt::Late);
            }
            // What a job throws is for the promise that waits for it; nothing else is lost here.
            if !self.ctx.execute_pending_job() {
                self.pass_on()?;
            }
        }
    }

    /// Waits for an answer from the host and passes it on.
    fn pass_on(&self) -> Result<(), Halt<'js>> {
        let (id, ok, json) = self.outside.answer().ok_or(Halt::Stuck)?;
        let passed_on = self
            .ctx
            .json_parse(json)
            .and_then(|value| self.called::<_, ()>("answer", (id as f64, ok, value)));
        passed_on.catch(self.ctx).map_err(|_| Halt::Stuck)
    }

    /// A `ToolError` is told in its own words, anything else as a fault.
    fn thrown(&self, error: Value<'js>) -> (End, String) {
        if !self.kept.has("failed") {
            return self.report(End::Thrown, error);
        }
        match self.called("failed", (error.clone(),)) {
            Ok(Some(json)) => (End::Failed, json),
            Ok(None) => self.report(End::Thrown, error),
            Err(_) => self.report(End::Thrown, self.ctx.catch()),
        }
    }

    /// What was thrown, unless that was the deadline, which nobody can catch.
    fn report(&self, end: End, error: Value<'js>) -> (End, String) {
        if self.outside.is_late() {
            return (End::TimedOut, String::new());
        }
        if error.is_null() {
            return (end, NULL.to_owned());
        }
        match self.called("report", (error,)).catch(self.ctx) {
            Ok(json) => (end, json),
            Err(_) if self.outside.is_late() => (End::TimedOut, String::new()),
            Err(_) => (End::Stuck, String::new()),
        }
    }
}

/// Whether it is something that can be waited for.
fn is_thenable(value: &Value<'_>) -> Result<bool, Error> {
    match value.as_object() {
        Some(object) => Ok(object.get::<_, Value<'_>>(PredefinedAtom::Then)?.is_function()),
        None => Ok(false),
    }
}

fn described(why: &CaughtError<'_>) -> String {
    match why {
        CaughtError::Exception(exception) => {
            let stack = exception.stack().unwrap_or_default();
            let place = stack.lines().next().unwrap_or_default().trim();
            format!("{} {place}", exception.message().unwrap_or_default())
        }
        CaughtError::Error(Error::WouldBlock) => {
            "its module waits for something that never comes".to_owned()
        }
        CaughtError::Error(_) | CaughtError::Value(_) => why.to_string(),
    }
}
