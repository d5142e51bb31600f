//! One engine for one call.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rquickjs::context::{Context, intrinsic};
use rquickjs::{
    CatchResultExt as _, Ctx, Function, Module, Object, Persistent, Promise, Runtime, Value,
};

use super::compile::{Compiled, HANDLER, Library, Only, PRELUDE, Shelf};
use super::wire::Wire;
use crate::js::frame::{Call, End, FromChild, ToChild};

/// How deep the engine may go, in bytes of stack.
pub(super) const STACK_BYTES: usize = 512 << 10;

/// The language without an evaluator and without a clock of high resolution.
type Intrinsics = (
    intrinsic::Date,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
    intrinsic::WeakRef,
);

/// An engine with a realm in which only the prelude has run.
pub(super) struct Realm {
    // Dropped in this order: values, realm, engine.
    prelude: Prelude,
    context: Context,
    runtime: Runtime,
    shelf: Rc<RefCell<Vec<Compiled>>>,
    deadline: Rc<Cell<Option<Instant>>>,
    memory: usize,
}

struct Prelude {
    prepare: Persistent<Function<'static>>,
    start: Persistent<Function<'static>>,
    answer: Persistent<Function<'static>>,
}

/// What the handler's end and its calls leave behind.
#[derive(Default)]
struct Progress {
    done: Option<(String, String)>,
    asked: u64,
    carried: u64,
    open: u64,
}

impl Realm {
    pub(super) fn new(library: &Library, memory: usize) -> Result<Self, rquickjs::Error> {
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(memory);
        runtime.set_max_stack_size(STACK_BYTES);
        let shelf = Rc::new(RefCell::new(library.ours().to_vec()));
        runtime.set_loader(Only, Shelf(shelf.clone()));
        let deadline: Rc<Cell<Option<Instant>>> = Rc::default();
        let until = deadline.clone();
        let passed = move || until.get().is_some_and(|at| Instant::now() >= at);
        runtime.set_interrupt_handler(Some(Box::new(passed)));
        let context = Context::custom::<Intrinsics>(&runtime)?;
        let prelude = context.with(|ctx| Prelude::load(&ctx))?;
        Ok(Self { prelude, context, runtime, shelf, deadline, memory })
    }

    /// Runs a handler to its end.
    pub(super) fn run(&self, library: &mut Library, call: &Call, wire: &Wire) -> FromChild {
        let (end, json) = self.end_of(library, call, wire);
        if end == End::Returned && json.len() as u64 > call.answer_bytes {
            return FromChild::Done { end: End::TooLong, json: json.len().to_string() };
        }
        FromChild::Done { end, json }
    }

    fn end_of(&self, library: &mut Library, call: &Call, wire: &Wire) -> (End, String) {
        let now = Instant::now();
        self.deadline.set(now.checked_add(Duration::from_millis(call.budget_ms)));
        match library.handler(&call.digest, &call.source) {
            Ok(compiled) => self.shelf.borrow_mut().push(compiled),
            Err(why) => return (End::NotBegun, why),
        }
        let progress = Rc::new(RefCell::new(Progress::default()));
        if let Err(early) = self.context.with(|ctx| self.begin(&ctx, call, wire, &progress)) {
            return if self.is_late() { (End::TimedOut, String::new()) } else { early };
        }
        self.settle(wire, &progress)
    }

    /// Loads the handler's module and calls `execute`.
    fn begin(
        &self,
        ctx: &Ctx<'_>,
        call: &Call,
        wire: &Wire,
        progress: &Rc<RefCell<Progress>>,
    ) -> Result<(), (End, String)> {
        let ours = |why: rquickjs::CaughtError<'_>| (End::NotBegun, why.to_string());
        let limits = (call.asks, call.ask_bytes);
        let send = sender(ctx, wire.clone(), progress.clone(), limits).catch(ctx).map_err(ours)?;
        let halves = ((call.seed >> 32) as u32 as i32, call.seed as u32 as i32);
        let prepared = (&call.context, &call.capabilities, halves.0, halves.1, send);
        self.prelude
            .call::<_, ()>(ctx, &self.prelude.prepare, prepared)
            .catch(ctx)
            .map_err(ours)?;

        let theirs = |why: rquickjs::CaughtError<'_>| (End::NotBegun, described(&why));
        let module: Object<'_> = Module::import(ctx, HANDLER)
            .and_then(|promise| self.awaited(&promise))
            .catch(ctx)
            .map_err(theirs)?;
        let execute: Value<'_> = module.get("execute").catch(ctx).map_err(theirs)?;
        if !execute.is_function() {
            return Err((End::NotBegun, "it exports no function `execute`".to_owned()));
        }
        let done = finisher(ctx, progress.clone()).catch(ctx).map_err(ours)?;
        self.prelude
            .call::<_, ()>(ctx, &self.prelude.start, (execute, &call.arguments, done))
            .catch(ctx)
            .map_err(ours)
    }

    /// What a module's promise comes to, where that needs nothing from outside.
    fn awaited<'js, T: rquickjs::FromJs<'js>>(
        &self,
        promise: &Promise<'js>,
    ) -> Result<T, rquickjs::Error> {
        loop {
            if let Some(result) = promise.result() {
                return result;
            }
            if self.is_late() || !promise.ctx().execute_pending_job() {
                return Err(rquickjs::Error::WouldBlock);
            }
        }
    }

    /// Runs jobs and passes answers on until the handler has ended.
    fn settle(&self, wire: &Wire, progress: &Rc<RefCell<Progress>>) -> (End, String) {
        loop {
            // What a job throws is for the promise that waits for it; nothing else is lost here.
            while progress.borrow().done.is_none()
                && !self.is_late()
                && self.runtime.execute_pending_job().unwrap_or(true)
            {}
            if let Some((how, json)) = progress.borrow_mut().done.take() {
                return (end_of_word(&how), json);
            }
            if self.is_late() {
                return (End::TimedOut, String::new());
            }
            if progress.borrow().open == 0 {
                return (self.stuck(), String::new());
            }
            let Ok(ToChild::Answer { id, ok, json }) = wire.receive() else {
                return (End::Stuck, String::new());
            };
            progress.borrow_mut().open -= 1;
            let passed_on = self.context.with(|ctx| {
                let answer = &self.prelude.answer;
                self.prelude.call::<_, ()>(&ctx, answer, (id as f64, ok, json)).catch(&ctx).is_ok()
            });
            if !passed_on {
                return (self.stuck(), String::new());
            }
        }
    }

    /// Nothing is left to run. A realm without memory comes to this, too.
    fn stuck(&self) -> End {
        let used = usize::try_from(self.runtime.memory_usage().malloc_size).unwrap_or(0);
        if used > self.memory / 10 * 9 { End::OutOfMemory } else { End::Stuck }
    }

    fn is_late(&self) -> bool {
        self.deadline.get().is_some_and(|at| Instant::now() >= at)
    }
}

impl Prelude {
    fn load(ctx: &Ctx<'_>) -> Result<Self, rquickjs::Error> {
        let module: Object<'_> = Module::import(ctx, PRELUDE)?.finish()?;
        let take = |name: &str| -> Result<Persistent<Function<'static>>, rquickjs::Error> {
            let function: Function<'_> = module.get(name)?;
            Ok(Persistent::save(ctx, function))
        };
        Ok(Self { prepare: take("prepare")?, start: take("start")?, answer: take("answer")? })
    }

    fn call<'js, A, R>(
        &self,
        ctx: &Ctx<'js>,
        function: &Persistent<Function<'static>>,
        arguments: A,
    ) -> Result<R, rquickjs::Error>
    where
        A: rquickjs::function::IntoArgs<'js>,
        R: rquickjs::FromJs<'js>,
    {
        function.clone().restore(ctx)?.call(arguments)
    }
}

/// The function through which the handler asks for something: gives the question's number, or a
/// negative one that says why not.
fn sender<'js>(
    ctx: &Ctx<'js>,
    wire: Wire,
    progress: Rc<RefCell<Progress>>,
    (asks, ask_bytes): (u64, u64),
) -> Result<Function<'js>, rquickjs::Error> {
    Function::new(ctx.clone(), move |capability: String, method: String, json: String| -> f64 {
        let mut progress = progress.borrow_mut();
        let carries = (capability.len() + method.len() + json.len()) as u64;
        if progress.asked >= asks {
            return -1.0;
        }
        if progress.carried.saturating_add(carries) > ask_bytes {
            return -2.0;
        }
        if capability != "callTool" && !is_method(&method) {
            return -3.0;
        }
        progress.asked += 1;
        progress.carried += carries;
        progress.open += 1;
        let id = progress.asked;
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

/// The function that the prelude says the end to. Only the first end counts.
fn finisher<'js>(
    ctx: &Ctx<'js>,
    progress: Rc<RefCell<Progress>>,
) -> Result<Function<'js>, rquickjs::Error> {
    Function::new(ctx.clone(), move |how: String, json: String| {
        progress.borrow_mut().done.get_or_insert((how, json));
    })
}

fn end_of_word(how: &str) -> End {
    match how {
        "returned" => End::Returned,
        "failed" => End::Failed,
        "unwritable" => End::Unwritable,
        _ => End::Thrown,
    }
}

fn described(why: &rquickjs::CaughtError<'_>) -> String {
    match why {
        rquickjs::CaughtError::Exception(exception) => {
            let stack = exception.stack().unwrap_or_default();
            let place = stack.lines().next().unwrap_or_default().trim();
            format!("{} {place}", exception.message().unwrap_or_default())
        }
        rquickjs::CaughtError::Error(rquickjs::Error::WouldBlock) => {
            "its module waits for something that never comes".to_owned()
        }
        rquickjs::CaughtError::Error(_) | rquickjs::CaughtError::Value(_) => why.to_string(),
    }
}
