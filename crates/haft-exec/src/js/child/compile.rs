//! Sources to bytecode, once per source and child.
//!
//! Compiling needs the engine's evaluator, which realms must not have. So it happens in an engine
//! of its own, which runs nothing, and realms load the result. Bytecode never comes from outside:
//! the engine trusts it blindly.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rquickjs::context::{Context, intrinsic};
use rquickjs::loader::bundle::Bundle;
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::{Declared, Module, WriteOptions};
use rquickjs::{CatchResultExt as _, Ctx, Error, Runtime};

use crate::js::frame::Call;

pub(super) const HANDLER: &str = "handler.js";
pub(super) const PRELUDE: &str = "haft:prelude";
const HAFT: &str = "haft";

/// A module's name and bytecode. They live as long as the child: the engine asks for that, and the
/// pool replaces a child that has seen many sources.
pub(super) type Compiled = &'static [(&'static str, &'static [u8])];

/// A handler in the company of its capabilities: what a realm can be made for ahead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Handler {
    /// The source's digest.
    pub(super) digest: String,
    /// Its capabilities by their names in `context`, as JSON.
    pub(super) capabilities: String,
    /// Its module.
    pub(super) compiled: Compiled,
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
    ours: [Compiled; 2],
    handlers: HashMap<String, Compiled>,
}

impl Library {
    pub(super) fn new(memory: usize) -> Result<Self, String> {
        let builder = Builder { memory };
        let haft = builder.compile(HAFT, include_str!("haft.js"))?;
        let prelude = builder.compile(PRELUDE, include_str!("prelude.js"))?;
        Ok(Self { builder, ours: [haft, prelude], handlers: HashMap::new() })
    }

    /// The modules of ours.
    pub(super) fn ours(&self) -> [Compiled; 2] {
        self.ours
    }

    /// The handler of a call, compiled where it is new.
    pub(super) fn handler(&mut self, call: &Call) -> Result<Handler, String> {
        let compiled = match self.handlers.get(&call.digest) {
            Some(compiled) => compiled,
            None if call.source.is_empty() => return Err("its source did not arrive".to_owned()),
            None => {
                let compiled = self.builder.compile(HANDLER, &call.source)?;
                self.handlers.insert(call.digest.clone(), compiled);
                compiled
            }
        };
        let (digest, capabilities) = (call.digest.clone(), call.capabilities.clone());
        Ok(Handler { digest, capabilities, compiled })
    }
}

/// Compiles and runs nothing.
struct Builder {
    memory: usize,
}

impl Builder {
    fn compile(&self, name: &'static str, source: &str) -> Result<Compiled, String> {
        let failed = |why: Error| why.to_string();
        let runtime = Runtime::new().map_err(failed)?;
        runtime.set_memory_limit(self.memory);
        runtime.set_max_stack_size(super::realm::STACK_BYTES);
        runtime.set_loader(Only, Hollow);
        let context = Context::custom::<(intrinsic::Eval, intrinsic::RegExpCompiler)>(&runtime)
            .map_err(failed)?;
        let bytecode = context.with(|ctx| {
            Module::declare(ctx.clone(), name, source)
                .and_then(|module| module.write(WriteOptions::default()))
                .catch(&ctx)
                .map_err(|why| why.to_string())
        })?;
        let bytecode: &'static [u8] = Vec::leak(bytecode);
        Ok(Vec::leak(vec![(name, bytecode)]))
    }
}

/// A handler imports `haft` and nothing else. The host, which has no name, may load the rest.
pub(super) struct Only;

impl Resolver for Only {
    fn resolve<'js>(
        &mut self,
        _: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String, Error> {
        if name == HAFT || base.is_empty() {
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

/// Loads what was compiled here.
pub(super) struct Shelf(pub(super) Rc<RefCell<Vec<Compiled>>>);

impl Loader for Shelf {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        attributes: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>, Error> {
        let holds = |compiled: &&Compiled| compiled.iter().any(|(module, _)| *module == name);
        let found = self.0.borrow().iter().find(holds).copied();
        match found {
            Some(compiled) => Bundle(compiled).load(ctx, name, attributes),
            None => Err(Error::new_loading(name)),
        }
    }
}
