//! Contracts → a provider's tools, and a model's arguments back into the contract's shape.
//!
//! One walk over JSON Schema lowers a contract's parameters to what a dialect can say, as its
//! [profile] lists it. The walk gives three things: the schema, a report of
//! everything that is now said otherwise or not at all, and a plan that undoes the changes in
//! whatever the model sends. A tool of which only something wrong could be said is left out and
//! listed; the rest of the request does not suffer.
//!
//! A [`Rendering`] never changes once it is made: keep it per registry version, agent and target.

pub mod adm;
mod anthropic;
pub mod choice;
mod describe;
mod gemini;
mod kept;
pub mod limits;
mod lower;
mod mcp;
mod openai;
mod plan;
pub mod profile;
mod retell;
mod show;
mod spell;
pub mod target;

use std::collections::HashMap;
use std::sync::Arc;

use haft_core::Tool;
use haft_core::call::RawArguments;
use serde_json::Value;

pub use choice::Choice;
pub use describe::Description;
pub use kept::{Kept, Renderings};
pub use target::{Schemas, Target};

use crate::loss::{Loss, Quarantined};
use crate::names::{self, Names};
use crate::{Dialect, Strictness};
use plan::Plans;
use show::Written;

/// Tools as one dialect shows them, and the way back.
#[derive(Clone, Debug)]
pub struct Rendering {
    /// Exactly what the request's `tools` holds, in the order in which the tools were given.
    pub tools: Value,
    /// What is said otherwise than in the contract, or not at all.
    pub report: Vec<Loss>,
    /// Tools that are left out.
    pub quarantined: Vec<Quarantined>,
    target: Target,
    offered: Vec<Offered>,
    by_id: HashMap<Arc<str>, usize>,
    /// Where the name is another.
    by_wire: HashMap<Arc<str>, usize>,
}

/// A tool that is shown.
#[derive(Clone, Debug)]
struct Offered {
    id: Arc<str>,
    /// The same, most often.
    wire: Arc<str>,
    plans: Plans,
    /// Whether arguments come back in another shape than the contract's.
    changed: bool,
    /// The parameters in the words of JSON Schema, where they are changed and shown in others.
    schema: Option<Value>,
}

/// Renders tools for a dialect; the order stays as given.
#[must_use]
pub fn render<'t>(
    dialect: Dialect,
    strictness: Strictness,
    tools: impl IntoIterator<Item = &'t Tool>,
) -> Rendering {
    Target::new(dialect, strictness).render(tools)
}

impl Target {
    /// Renders tools; the order stays as given.
    #[must_use]
    pub fn render<'t>(self, tools: impl IntoIterator<Item = &'t Tool>) -> Rendering {
        let tools: Vec<&Tool> = tools.into_iter().collect();
        let names =
            Names::new(names::rule(self.dialect), tools.iter().map(|tool| tool.id.as_str()));
        let mut rendering = Rendering {
            tools: Value::Null,
            report: Vec::new(),
            quarantined: Vec::new(),
            target: self,
            offered: Vec::with_capacity(tools.len()),
            by_id: HashMap::with_capacity(tools.len()),
            by_wire: HashMap::new(),
        };
        let mut written = Vec::with_capacity(tools.len());
        for tool in tools {
            let name = names.wire(&tool.id);
            match show::show(self, tool, name, &mut rendering.report) {
                Ok(Written { tool: shown, plans, changed, schema }) => {
                    written.push(shown);
                    rendering.offer(&tool.id, name, plans, changed, schema);
                }
                Err(quarantined) => rendering.quarantined.push(quarantined),
            }
        }
        rendering.tools = match self.dialect {
            Dialect::Gemini | Dialect::GeminiLive => gemini::list(written),
            Dialect::Adm => adm::list(written),
            Dialect::OpenAiChat
            | Dialect::OpenAiResponses
            | Dialect::OpenAiRealtime
            | Dialect::Anthropic
            | Dialect::Mcp => Value::Array(written),
        };
        rendering
    }
}

impl Rendering {
    fn offer(&mut self, id: &str, wire: &str, plans: Plans, changed: bool, schema: Option<Value>) {
        let place = self.offered.len();
        let name: Arc<str> = wire.into();
        let id = if id == wire { name.clone() } else { id.into() };
        self.by_id.insert(id.clone(), place);
        if id != name {
            self.by_wire.insert(name.clone(), place);
        }
        self.offered.push(Offered { id, wire: name, plans, changed, schema });
    }

    fn place(&self, wire_name: &str) -> Option<usize> {
        let renamed = || self.by_wire.get(wire_name).copied();
        let same = |place: &usize| {
            self.offered.get(*place).is_some_and(|offered| *offered.wire == *wire_name)
        };
        self.by_id.get(wire_name).copied().filter(same).or_else(renamed)
    }

    fn shown_as(&self, wire_name: &str) -> Option<&Offered> {
        self.place(wire_name).and_then(|place| self.offered.get(place))
    }

    /// The parameters that are shown under a name, in the words of JSON Schema.
    fn schema_of(&self, wire_name: &str) -> Option<&Value> {
        let place = self.place(wire_name)?;
        let own = self.offered.get(place)?.schema.as_ref();
        own.or_else(|| describe::parameters(self.target, &self.tools, place))
    }

    /// Whether a tool's arguments are shown in another form than the contract's.
    #[must_use]
    pub fn is_changed(&self, id: &str) -> bool {
        let offered = self.by_id.get(id).and_then(|place| self.offered.get(*place));
        offered.is_some_and(|offered| offered.changed)
    }

    /// What it was rendered for.
    #[must_use]
    pub fn target(&self) -> Target {
        self.target
    }

    /// The canonical id of a tool that the model names.
    #[must_use]
    pub fn tool(&self, wire_name: &str) -> Option<&str> {
        self.shown_as(wire_name).map(|offered| &*offered.id)
    }

    /// The name on the wire of a tool that is shown.
    #[must_use]
    pub fn wire_name(&self, id: &str) -> Option<&str> {
        let place = *self.by_id.get(id)?;
        self.offered.get(place).map(|offered| &*offered.wire)
    }

    /// A model's arguments in the contract's shape.
    ///
    /// Where nothing was changed on the way out, the text passes untouched. So does text that cannot
    /// be read, and arguments of a tool that was not shown: the one path says what is wrong.
    #[must_use]
    pub fn arguments(&self, wire_name: &str, text: &str) -> RawArguments {
        match self.shown_as(wire_name).filter(|offered| offered.changed) {
            Some(offered) => offered.plans.raise(text),
            None => RawArguments::Text(text.to_owned()),
        }
    }

    /// What a model would send for arguments in the contract's shape: for replays and tests.
    ///
    /// # Errors
    ///
    /// If the rendering shows no such tool, or the dialect cannot say these arguments.
    pub fn lower_arguments(&self, id: &str, arguments: &Value) -> Result<Value, CannotSay> {
        let offered = self.by_id.get(id).and_then(|place| self.offered.get(*place));
        let offered = offered.ok_or_else(|| CannotSay(format!("`{id}` is not shown")))?;
        offered.plans.say(arguments).map_err(CannotSay)
    }
}

/// Why arguments cannot be said in a dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotSay(pub String);

impl std::fmt::Display for CannotSay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CannotSay {}
