//! What runs in a realm before the handler, seen from outside.

use rquickjs::function::IntoArgs;
use rquickjs::{Ctx, Error, FromJs, Function, Persistent};

use super::compile::Compiled;
use super::reach::{Part, Reach};

/// A function that outlives a look into its realm.
type Held = Persistent<Function<'static>>;

/// The functions of ours in a realm.
pub(super) struct Prelude {
    pub(super) start: Held,
    pub(super) settled: Held,
    pub(super) report: Held,
    pub(super) failed: Option<Held>,
    pub(super) asking: Option<Asking>,
    pub(super) chance: Option<Chance>,
}

/// What is asked for, where the handler has capabilities.
pub(super) struct Asking {
    pub(super) equip: Held,
    pub(super) answer: Held,
}

/// What is random, where the handler can ask for it.
pub(super) struct Chance {
    pub(super) seed: Held,
    pub(super) is_early: Held,
}

impl Prelude {
    /// Runs the prelude.
    pub(super) fn load(ctx: &Ctx<'_>, compiled: Compiled, reach: Reach) -> Result<Self, Error> {
        let (module, evaluated) = compiled.declare(ctx)?.eval()?;
        evaluated.finish::<()>()?;
        let module = module.namespace()?;
        let take = |name: &str| -> Result<Held, Error> {
            let function: Function<'_> = module.get(name)?;
            Ok(Persistent::save(ctx, function))
        };
        let failed = if reach.has(Part::Errors) { Some(take("failed")?) } else { None };
        let asking = if reach.has(Part::Capabilities) {
            Some(Asking { equip: take("equip")?, answer: take("answer")? })
        } else {
            None
        };
        let chance = if reach.has(Part::Chance) {
            Some(Chance { seed: take("seed")?, is_early: take("isEarly")? })
        } else {
            None
        };
        let (start, settled, report) = (take("start")?, take("settled")?, take("report")?);
        Ok(Self { start, settled, report, failed, asking, chance })
    }
}

/// Calls one of them.
pub(super) fn called<'js, A, R>(ctx: &Ctx<'js>, function: &Held, arguments: A) -> Result<R, Error>
where
    A: IntoArgs<'js>,
    R: FromJs<'js>,
{
    function.clone().restore(ctx)?.call(arguments)
}
