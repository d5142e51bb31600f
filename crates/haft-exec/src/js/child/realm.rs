//! One engine for one call.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rquickjs::context::{Context, intrinsic};
use rquickjs::{
    CatchResultExt as _, Ctx, Function, Module, Object, Persistent, Promise, Runtime, Value,
};

use super::compile::{Compiled, HANDLER, Handler, Library, Only, PRELUDE, Shelf};
use super::wire::Wire;
use crate::js::frame::{Call, End, FromChild, ToChild};

/// How deep the engine may go, in bytes of stack.
pub(super) const STACK_BYTES: usize = 512 << 10;

/// Garbage that refers to itself is looked for when this part of the memory is in use. A new realm is
/// close to the engine's own threshold, and most calls end before there is any.
const GARBAGE_PART: usize = 8;

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

/// An engine with a realm in which only the prelude has run, or the prelude and one handler's
/// module. It serves one call.
pub(super) struct Realm {
    // Dropped in this order: values, realm, engine.
    execute: Option<Persistent<Function<'static>>>,
    prelude: Prelude,
    context: Context,
    runtime: Runtime,
    shelf: Rc<RefCell<Vec<Compiled>>>,
    deadline: Rc<Cell<Option<Instant>>>,
    progress: Rc<RefCell<Progress>>,
    memory: usize,
}

struct Prelude {
    equip: Persistent<Function<'static>>,
    seed: Persistent<Function<'static>>,
    is_early: Persistent<Function<'static>>,
    start: Persistent<Function<'static>>,
    answer: Persistent<Function<'static>>,
}

/// Why a handler is not loaded ahead of its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotAhead {
    /// It took too long, this time.
    Slow,
    /// It fails, waits, or wants to know something about its call.
    Unfit,
}

/// What the handler's end and its calls leave behind, and how often and how much it may ask.
#[derive(Default)]
struct Progress {
    done: Option<(String, String)>,
    asked: u64,
    carried: u64,
    open: u64,
    asks: u64,
    ask_bytes: u64,
}

impl Realm {
    pub(super) fn new(library: &Library, memory: usize) -> Result<Self, rquickjs::Error> {
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(memory);
        runtime.set_max_stack_size(STACK_BYTES);
        runtime.set_gc_threshold(memory / GARBAGE_PART);
        let shelf = Rc::new(RefCell::new(library.ours().to_vec()));
        runtime.set_loader(Only, Shelf(shelf.clone()));
        let deadline: Rc<Cell<Option<Instant>>> = Rc::default();
        let until = deadline.clone();
        let passed = move || until.get().is_some_and(|at| Instant::now() >= at);
        runtime.set_interrupt_handler(Some(Box::new(passed)));
        let context = Context::custom::<Intrinsics>(&runtime)?;
        let prelude = context.with(|ctx| Prelude::load(&ctx))?;
        let progress = Rc::default();
        Ok(Self { execute: None, prelude, context, runtime, shelf, deadline, progress, memory })
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
        let early = self.context.with(|ctx| {
            self.prelude.call::<_, bool>(&ctx, &self.prelude.is_early, ()).unwrap_or(true)
        });
        if loaded.is_err() || early { Err(NotAhead::Unfit) } else { Ok(()) }
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
            let mut progress = self.progress.borrow_mut();
            (progress.asks, progress.ask_bytes) = (call.asks, call.ask_bytes);
        }
        let mut took = None;
        let mut begun = Ok(());
        if self.execute.is_none() {
            begun = self.seed(call.seed).and_then(|()| self.load(handler, wire));
            took = Some(now.elapsed());
        }
        let begun = begun.and_then(|()| self.begin(call));
        let (end, json) = match begun {
            Ok(()) => self.settle(wire),
            Err(_) if self.is_late() => (End::TimedOut, String::new()),
            Err(why) => (End::NotBegun, why),
        };
        if end == End::Returned && json.len() as u64 > call.answer_bytes {
            return ((End::TooLong, json.len().to_string()), took);
        }
        ((end, json), took)
    }

    fn seed(&self, seed: u64) -> Result<(), String> {
        self.context.with(|ctx| {
            let seeded = self.prelude.call::<_, ()>(&ctx, &self.prelude.seed, halves(seed));
            seeded.catch(&ctx).map_err(|why| why.to_string())
        })
    }

    /// Loads the handler's module.
    fn load(&mut self, handler: &Handler, wire: &Wire) -> Result<(), String> {
        self.shelf.borrow_mut().push(handler.compiled);
        let execute = self.context.with(|ctx| {
            let ours = |why: rquickjs::CaughtError<'_>| why.to_string();
            let theirs = |why: rquickjs::CaughtError<'_>| described(&why);
            let send = sender(&ctx, wire.clone(), self.progress.clone()).catch(&ctx);
            let done = finisher(&ctx, self.progress.clone()).catch(&ctx);
            let given = (&handler.capabilities, send.map_err(ours)?, done.map_err(ours)?);
            let equipped = self.prelude.call::<_, ()>(&ctx, &self.prelude.equip, given);
            equipped.catch(&ctx).map_err(ours)?;
            let module: Object<'_> = Module::import(&ctx, HANDLER)
                .and_then(|promise| self.awaited(&promise))
                .catch(&ctx)
                .map_err(theirs)?;
            let execute: Value<'_> = module.get("execute").catch(&ctx).map_err(theirs)?;
            match execute.into_function() {
                Some(execute) => Ok(Persistent::save(&ctx, execute)),
                None => Err("it exports no function `execute`".to_owned()),
            }
        })?;
        self.execute = Some(execute);
        Ok(())
    }

    /// Calls `execute`.
    fn begin(&mut self, call: &Call) -> Result<(), String> {
        let Some(execute) = self.execute.take() else { return Err("it is not loaded".to_owned()) };
        self.context.with(|ctx| {
            let (high, low) = halves(call.seed);
            let given = (execute, &call.context, &call.arguments, high, low);
            let started = self.prelude.call::<_, Value<'_>>(&ctx, &self.prelude.start, given);
            started.catch(&ctx).map(drop).map_err(|why| why.to_string())
        })
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
    fn settle(&self, wire: &Wire) -> (End, String) {
        let progress = &self.progress;
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
        if self.used_bytes() > self.memory / 10 * 9 { End::OutOfMemory } else { End::Stuck }
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
        Ok(Self {
            equip: take("equip")?,
            seed: take("seed")?,
            is_early: take("isEarly")?,
            start: take("start")?,
            answer: take("answer")?,
        })
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
) -> Result<Function<'js>, rquickjs::Error> {
    Function::new(ctx.clone(), move |capability: String, method: String, json: String| -> f64 {
        let mut progress = progress.borrow_mut();
        let carries = (capability.len() + method.len() + json.len()) as u64;
        if progress.asked >= progress.asks {
            return -1.0;
        }
        if progress.carried.saturating_add(carries) > progress.ask_bytes {
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

fn halves(seed: u64) -> (i32, i32) {
    ((seed >> 32) as u32 as i32, seed as u32 as i32)
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
