//! Sources to bytecode, once per source and child.
//!
//! Compiling needs the engine's evaluator, which realms must not have. So it happens in an engine
//! of its own, which runs nothing, and realms load the result. Bytecode never comes from outside:
//! the engine trusts it blindly.

use std::collections::HashMap;

use rquickjs::context::{Context, intrinsic};
use rquickjs::loader::bundle::Bundle;
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::{Declared, Module, WriteOptions};
use rquickjs::{CatchResultExt as _, Ctx, Error, Runtime};

use super::reach::Reach;
use crate::js::frame::Call;

const HANDLER: &str = "handler.js";
const PRELUDE: &str = "haft:prelude";
const HAFT: &str = "haft";

/// A module's name and bytecode. They live as long as the child: the engine asks for that, and the
/// pool replaces a child that has seen many sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Compiled(&'static [(&'static str, &'static [u8])]);

impl Compiled {
    /// The module in a realm, not yet run.
    pub(super) fn declare<'js>(self, ctx: &Ctx<'js>) -> Result<Module<'js, Declared>, Error> {
        let name = self.0.first().map_or("", |(name, _)| name);
        Bundle(self.0).load(ctx, name, None)
    }
}

/// A handler in the company of its capabilities: what an engine can be made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Handler {
    /// The source's digest.
    pub(super) digest: String,
    /// Its capabilities by their names in `context`, as JSON.
    pub(super) capabilities: String,
    /// Its module.
    pub(super) compiled: Compiled,
    /// What of the language it can reach.
    pub(super) reach: Reach,
}

impl Handler {
    /// Whether a call is one of this handler.
    pub(super) fn serves(&self, call: &Call) -> bool {
        self.digest == call.digest && self.capabilities == call.capabilities
    }
}

/// Everything that was compiled in this child.
pub(super) struct Library {
    builder: Builder,
    haft: Compiled,
    preludes: HashMap<Reach, Compiled>,
    handlers: HashMap<String, (Compiled, Reach)>,
}

impl Library {
    pub(super) fn new(memory: usize) -> Result<Self, String> {
        let builder = Builder { memory };
        let haft = builder.compile(HAFT, include_str!("haft.js"), of_ours())?;
        Ok(Self { builder, haft, preludes: HashMap::new(), handlers: HashMap::new() })
    }

    /// The module that handlers may import.
    pub(super) fn haft(&self) -> Compiled {
        self.haft
    }

    /// What runs before a handler that can reach so much.
    pub(super) fn prelude(&mut self, reach: Reach) -> Result<Compiled, String> {
        if let Some(compiled) = self.preludes.get(&reach) {
            return Ok(*compiled);
        }
        let compiled = self.builder.compile(PRELUDE, &reach.prelude(), of_ours())?;
        self.preludes.insert(reach, compiled);
        Ok(compiled)
    }

    /// The handler of a call, compiled where it is new.
    pub(super) fn handler(&mut self, call: &Call) -> Result<Handler, String> {
        let (compiled, reach) = match self.handlers.get(&call.digest) {
            Some(known) => *known,
            None if call.source.is_empty() => return Err("its source did not arrive".to_owned()),
            None => {
                let compiled =
                    self.builder.compile(HANDLER, &call.source, WriteOptions::default())?;
                let known = (compiled, Reach::of(&call.source));
                self.handlers.insert(call.digest.clone(), known);
                known
            }
        };
        let (digest, capabilities) = (call.digest.clone(), call.capabilities.clone());
        let reach = if capabilities == "[]" { reach } else { reach.with_capabilities() };
        Ok(Handler { digest, capabilities, compiled, reach })
    }
}

/// How modules of ours are written: nobody looks for a fault in them by its line, and every engine
/// holds them.
fn of_ours() -> WriteOptions {
    WriteOptions { strip_source: true, strip_debug: true, ..WriteOptions::default() }
}

/// Compiles and runs nothing.
struct Builder {
    memory: usize,
}

impl Builder {
    fn compile(
        &self,
        name: &'static str,
        source: &str,
        written: WriteOptions,
    ) -> Result<Compiled, String> {
        let failed = |why: Error| why.to_string();
        let runtime = Runtime::new().map_err(failed)?;
        runtime.set_memory_limit(self.memory);
        runtime.set_max_stack_size(super::make::STACK_BYTES);
        runtime.set_loader(Only, Hollow);
        let context = Context::custom::<(intrinsic::Eval, intrinsic::RegExpCompiler)>(&runtime)
            .map_err(failed)?;
        let bytecode = context.with(|ctx| {
            Module::declare(ctx.clone(), name, source)
                .and_then(|module| module.write(written))
                .catch(&ctx)
                .map_err(|why| why.to_string())
        })?;
        let bytecode: &'static [u8] = Vec::leak(bytecode);
        Ok(Compiled(Vec::leak(vec![(name, bytecode)])))
    }
}

/// A handler imports `haft` and nothing else, and `haft` what the prelude lends it.
pub(super) struct Only;

impl Resolver for Only {
    fn resolve<'js>(
        &mut self,
        _: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String, Error> {
        if name == HAFT || (base == HAFT && name == PRELUDE) {
            Ok(name.to_owned())
        } else {
            Err(Error::new_resolving(base, name))
        }
    }
}

/// Stands in for what is imported while nothing is run.
struct Hollow;

impl Loader for Hollow {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>, Error> {
        Module::declare(ctx.clone(), name, "export let ToolError;")
    }
}

/// Loads `haft` when it is imported.
pub(super) struct Shelf(pub(super) Compiled);

impl Loader for Shelf {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>, Error> {
        if name == HAFT { self.0.declare(ctx) } else { Err(Error::new_loading(name)) }
    }
}
