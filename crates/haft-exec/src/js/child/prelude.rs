//! What runs in a realm before the handler, seen from outside.

use haft_rewind::Kept;
use rquickjs::function::IntoArgs;
use rquickjs::{Ctx, Error, FromJs};

use super::compile::Compiled;
use super::reach::{Part, Reach};

/// The functions of ours that every realm has.
const ALWAYS: &[&str] = &["start", "settled", "report", "know"];
/// Those of its parts.
const OF_PARTS: &[(Part, &[&str])] = &[
    (Part::Errors, &["failed"]),
    (Part::Capabilities, &["equip", "answer"]),
    (Part::Chance, &["seed", "isEarly"]),
];

/// Runs the prelude and holds its functions.
pub(super) fn load(ctx: &Ctx<'_>, compiled: Compiled, reach: Reach) -> Result<Kept, Error> {
    let (module, evaluated) = compiled.declare(ctx)?.eval()?;
    evaluated.finish::<()>()?;
    let module = module.namespace()?;
    let parts = OF_PARTS.iter().filter(|(part, _)| reach.has(*part)).flat_map(|(_, names)| *names);
    let mut kept = Kept::default();
    for name in ALWAYS.iter().chain(parts) {
        kept.hold(ctx, name, module.get(*name)?);
    }
    Ok(kept)
}

/// Calls one of them.
pub(super) fn called<'js, A, R>(
    ctx: &Ctx<'js>,
    kept: &Kept,
    name: &'static str,
    arguments: A,
) -> Result<R, Error>
where
    A: IntoArgs<'js>,
    R: FromJs<'js>,
{
    kept.get(ctx, name)?.call(arguments)
}
