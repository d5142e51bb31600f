//! One engine for one call.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rquickjs::context::Context;
use rquickjs::{
    CatchResultExt as _, CaughtError, Ctx, Error, Function, Object, Persistent, Promise, Runtime,
    Value,
};

use super::compile::{Compiled, Handler, Library, Only, Shelf};
use super::prelude::{Prelude, called};
use super::reach::Reach;
use super::wire::Wire;
use crate::js::frame::{Call, End, FromChild, ToChild};

/// How deep the engine may go, in bytes of stack.
pub(super) const STACK_BYTES: usize = 512 << 10;

/// Garbage that refers to itself is looked for when this part of the memory is in use. A new realm is
/// close to the engine's own threshold, and most calls end before there is any.
const GARBAGE_PART: usize = 8;

/// An engine with a realm in which only the prelude has run, or the prelude and one handler's
/// module. It serves one call.
pub(super) struct Realm {
    // Dropped in this order: values, realm, engine.
    execute: Option<Persistent<Function<'static>>>,
    prelude: Prelude,
    context: Context,
    runtime: Runtime,
    deadline: Rc<Cell<Option<Instant>>>,
    asked: Rc<RefCell<Asked>>,
    memory: usize,
}

/// Why a handler is not loaded ahead of its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotAhead {
    /// It took too long, this time.
    Slow,
    /// It fails, waits, or wants to know something about its call.
    Unfit,
}

/// What the handler asks for, and how often and how much it may.
#[derive(Default)]
struct Asked {
    asked: u64,
    carried: u64,
    open: u64,
    asks: u64,
    ask_bytes: u64,
}

/// What a call comes to where it comes to no answer.
enum Halt<'js> {
    /// Something was thrown.
    Thrown(Value<'js>),
    /// Nothing is left that could go on.
    Stuck,
    /// The deadline has passed.
    Late,
}

impl Realm {
    pub(super) fn new(library: &mut Library, reach: Reach, memory: usize) -> Result<Self, String> {
        let prelude = library.prelude(reach)?;
        let made = || {
            let runtime = Runtime::new()?;
            runtime.set_memory_limit(memory);
            runtime.set_max_stack_size(STACK_BYTES);
            runtime.set_gc_threshold(memory / GARBAGE_PART);
            runtime.set_loader(Only, Shelf(library.haft()));
            let deadline: Rc<Cell<Option<Instant>>> = Rc::default();
            let until = deadline.clone();
            let passed = move || until.get().is_some_and(|at| Instant::now() >= at);
            runtime.set_interrupt_handler(Some(Box::new(passed)));
            let context = reach.context(&runtime)?;
            let prelude = context.with(|ctx| Prelude::load(&ctx, prelude, reach))?;
            let asked = Rc::default();
            Ok(Self { execute: None, prelude, context, runtime, deadline, asked, memory })
        };
        made().map_err(|why: Error| why.to_string())
    }

    /// Loads a handler ahead of its call. Its module gets neither arguments nor a seed, and it has
    /// until `limit` to be done with; where it needs more, the realm is of no use.
    pub(super) fn load_ahead(
        &mut self,
        handler: &Handler,
        wire: &Wire,
        limit: Duration,
    ) -> Result<(), NotAhead> {
        self.deadline.set(Instant::now().checked_add(limit));
        let loaded = self.load(handler, wire);
        if self.is_late() {
            return Err(NotAhead::Slow);
        }
        self.deadline.set(None);
        if loaded.is_err() || self.is_early() { Err(NotAhead::Unfit) } else { Ok(()) }
    }

    /// How much memory is in use; counting it takes a while.
    pub(super) fn used_bytes(&self) -> usize {
        usize::try_from(self.runtime.memory_usage().malloc_size).unwrap_or(0)
    }

    /// Runs a call to its end, loading the handler where that was not done ahead; says how long
    /// the loading took.
    pub(super) fn run(
        &mut self,
        handler: &Handler,
        call: &Call,
        wire: &Wire,
    ) -> ((End, String), Option<Duration>) {
        let now = Instant::now();
        self.deadline.set(now.checked_add(Duration::from_millis(call.budget_ms)));
        {
            let mut asked = self.asked.borrow_mut();
            (asked.asks, asked.ask_bytes) = (call.asks, call.ask_bytes);
        }
        let mut took = None;
        let mut begun = self.seed(call.seed);
        if self.execute.is_none() {
            begun = begun.and_then(|()| self.load(handler, wire));
            took = Some(now.elapsed());
        }
        let (end, json) = match begun {
            Ok(()) => self.answer(call, wire),
            Err(_) if self.is_late() => (End::TimedOut, String::new()),
            Err(why) => (End::NotBegun, why),
        };
        if end == End::Returned && json.len() as u64 > call.answer_bytes {
            return ((End::TooLong, json.len().to_string()), took);
        }
        ((end, json), took)
    }

    fn seed(&self, seed: u64) -> Result<(), String> {
        let Some(chance) = &self.prelude.chance else { return Ok(()) };
        let halves = ((seed >> 32) as u32 as i32, seed as u32 as i32);
        self.context.with(|ctx| {
            let seeded = called::<_, ()>(&ctx, &chance.seed, halves);
            seeded.catch(&ctx).map_err(|why| why.to_string())
        })
    }

    /// Whether something random was asked for before there was a seed.
    fn is_early(&self) -> bool {
        self.prelude.chance.as_ref().is_some_and(|chance| {
            self.context.with(|ctx| called(&ctx, &chance.is_early, ()).unwrap_or(true))
        })
    }

    /// Loads the handler's module.
    fn load(&mut self, handler: &Handler, wire: &Wire) -> Result<(), String> {
        let execute = self.context.with(|ctx| {
            self.equip(&ctx, handler, wire).catch(&ctx).map_err(|why| why.to_string())?;
            let execute = self.execute(&ctx, handler.compiled);
            match execute.catch(&ctx).map_err(|why| described(&why))?.into_function() {
                Some(execute) => Ok(Persistent::save(&ctx, execute)),
                None => Err("it exports no function `execute`".to_owned()),
            }
        })?;
        self.execute = Some(execute);
        Ok(())
    }

    /// Gives the handler its capabilities.
    fn equip(&self, ctx: &Ctx<'_>, handler: &Handler, wire: &Wire) -> Result<(), Error> {
        let Some(asking) = &self.prelude.asking else { return Ok(()) };
        let capabilities = ctx.json_parse(handler.capabilities.as_str())?;
        let send = sender(ctx, wire.clone(), self.asked.clone())?;
        called(ctx, &asking.equip, (capabilities, send))
    }

    /// What a module calls `execute`.
    fn execute<'js>(&self, ctx: &Ctx<'js>, compiled: Compiled) -> Result<Value<'js>, Error> {
        let (module, evaluated) = compiled.declare(ctx)?.eval()?;
        loop {
            match evaluated.result::<()>() {
                Some(result) => break result?,
                None if self.is_late() || !ctx.execute_pending_job() => {
                    return Err(Error::WouldBlock);
                }
                None => {}
            }
        }
        module.get("execute")
    }

    /// Calls `execute` and waits for what it comes to.
    fn answer(&mut self, call: &Call, wire: &Wire) -> (End, String) {
        let Some(execute) = self.execute.take() else { return (End::Stuck, String::new()) };
        let begun = self.context.with(|ctx| match self.start(&ctx, execute, call) {
            Ok(value) => Ok(Persistent::save(&ctx, value)),
            Err(_) => Err(Persistent::save(&ctx, ctx.catch())),
        });
        let at_rest = !self.runtime.is_job_pending();
        let (end, json) = self.context.with(|ctx| {
            let settled = match begun {
                Ok(value) => value
                    .restore(&ctx)
                    .map_err(|_| Halt::Stuck)
                    .and_then(|value| self.settle(&ctx, value, at_rest, wire)),
                Err(error) => Err(error.restore(&ctx).map_or(Halt::Stuck, Halt::Thrown)),
            };
            self.told(&ctx, settled)
        });
        // Nothing is left to run. A realm without memory comes to this, too.
        if end == End::Stuck && self.used_bytes() > self.memory / 10 * 9 {
            return (End::OutOfMemory, String::new());
        }
        (end, json)
    }

    fn start<'js>(
        &self,
        ctx: &Ctx<'js>,
        execute: Persistent<Function<'static>>,
        call: &Call,
    ) -> Result<Value<'js>, Error> {
        let arguments = ctx.json_parse(call.arguments.as_str())?;
        called(ctx, &self.prelude.start, (execute, arguments, &call.context))
    }

    /// How a call ended, and its answer or error as JSON.
    fn told<'js>(&self, ctx: &Ctx<'js>, settled: Result<Value<'js>, Halt<'js>>) -> (End, String) {
        let value = match settled {
            Ok(value) => value,
            Err(Halt::Thrown(error)) => return self.thrown(ctx, error),
            Err(Halt::Late) => return (End::TimedOut, String::new()),
            Err(Halt::Stuck) => return (End::Stuck, String::new()),
        };
        match ctx.json_stringify(value) {
            Ok(Some(json)) => match json.to_string() {
                Ok(json) => (End::Returned, json),
                Err(_) => (End::Stuck, String::new()),
            },
            Ok(None) => (End::Returned, String::new()),
            Err(_) => self.report(ctx, End::Unwritable, ctx.catch()),
        }
    }

    /// What a value comes to: itself, or what it promises.
    fn settle<'js>(
        &self,
        ctx: &Ctx<'js>,
        value: Value<'js>,
        at_rest: bool,
        wire: &Wire,
    ) -> Result<Value<'js>, Halt<'js>> {
        let thrown = |_| Halt::Thrown(ctx.catch());
        // Where nothing else is to be done first, what is there already is not waited for.
        if at_rest {
            match value.as_promise().map(Promise::result) {
                Some(Some(result)) => return result.map_err(thrown),
                Some(None) => {}
                None if !is_thenable(&value).map_err(thrown)? => return Ok(value),
                None => {}
            }
        }
        let promise: Promise<'_> = called(ctx, &self.prelude.settled, (value,)).map_err(thrown)?;
        loop {
            if let Some(result) = promise.result::<Object<'_>>() {
                return result.and_then(|boxed| boxed.get("value")).map_err(thrown);
            }
            if self.is_late() {
                return Err(Halt::Late);
            }
            // What a job throws is for the promise that waits for it; nothing else is lost here.
            if !ctx.execute_pending_job() {
                self.pass_on(ctx, wire)?;
            }
        }
    }

    /// Waits for an answer from the host and passes it on.
    fn pass_on<'js>(&self, ctx: &Ctx<'js>, wire: &Wire) -> Result<(), Halt<'js>> {
        if self.asked.borrow().open == 0 {
            return Err(Halt::Stuck);
        }
        let Ok(ToChild::Answer { id, ok, json }) = wire.receive() else {
            return Err(Halt::Stuck);
        };
        self.asked.borrow_mut().open -= 1;
        let Some(asking) = &self.prelude.asking else { return Err(Halt::Stuck) };
        let passed_on = ctx
            .json_parse(json)
            .and_then(|value| called::<_, ()>(ctx, &asking.answer, (id as f64, ok, value)));
        passed_on.catch(ctx).map_err(|_| Halt::Stuck)
    }

    /// A `ToolError` is told in its own words, anything else as a fault.
    fn thrown<'js>(&self, ctx: &Ctx<'js>, error: Value<'js>) -> (End, String) {
        let Some(failed) = &self.prelude.failed else {
            return self.report(ctx, End::Thrown, error);
        };
        match called(ctx, failed, (error.clone(),)) {
            Ok(Some(json)) => (End::Failed, json),
            Ok(None) => self.report(ctx, End::Thrown, error),
            Err(_) => self.report(ctx, End::Thrown, ctx.catch()),
        }
    }

    /// What was thrown, unless that was the deadline, which nobody can catch.
    fn report<'js>(&self, ctx: &Ctx<'js>, end: End, error: Value<'js>) -> (End, String) {
        if self.is_late() {
            return (End::TimedOut, String::new());
        }
        match called(ctx, &self.prelude.report, (error,)).catch(ctx) {
            Ok(json) => (end, json),
            Err(_) if self.is_late() => (End::TimedOut, String::new()),
            Err(_) => (End::Stuck, String::new()),
        }
    }

    fn is_late(&self) -> bool {
        self.deadline.get().is_some_and(|at| Instant::now() >= at)
    }
}

/// Whether it is something that can be waited for.
fn is_thenable(value: &Value<'_>) -> Result<bool, Error> {
    match value.as_object() {
        Some(object) => Ok(object.get::<_, Value<'_>>("then")?.is_function()),
        None => Ok(false),
    }
}

/// The function through which the handler asks for something: gives the question's number, or a
/// negative one that says why not.
fn sender<'js>(
    ctx: &Ctx<'js>,
    wire: Wire,
    asked: Rc<RefCell<Asked>>,
) -> Result<Function<'js>, Error> {
    Function::new(ctx.clone(), move |capability: String, method: String, json: String| -> f64 {
        let mut asked = asked.borrow_mut();
        let carries = (capability.len() + method.len() + json.len()) as u64;
        if asked.asked >= asked.asks {
            return -1.0;
        }
        if asked.carried.saturating_add(carries) > asked.ask_bytes {
            return -2.0;
        }
        if capability != "callTool" && !is_method(&method) {
            return -3.0;
        }
        asked.asked += 1;
        asked.carried += carries;
        asked.open += 1;
        let id = asked.asked;
        if wire.send(&FromChild::Ask { id, capability, method, json }).is_err() {
            std::process::exit(0);
        }
        id as f64
    })
}

fn is_method(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric())
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
