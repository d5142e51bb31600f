//! A definition that says a name, a description and schemas, and nothing about effects: plain
//! functions and declarations of the data model alike.

use haft_core::Digest;
use haft_core::contract::OriginKind;
use serde_json::Value;

use super::draft::{ASSUMED, Draft, Effects, Read, Runs, describe};
use super::log::Log;
use super::report::Part;
use super::schema;

/// The parts of a definition, as they came.
pub(super) struct Plain<'a> {
    pub(super) kind: OriginKind,
    pub(super) name: String,
    pub(super) digest: Digest,
    pub(super) description: &'a str,
    pub(super) parameters: Option<&'a Value>,
    pub(super) output: Option<&'a Value>,
    /// What was already said about the definition.
    pub(super) log: Log,
}

impl Plain<'_> {
    /// Puts the schemas right.
    pub(super) fn read(self) -> Read {
        let Self { kind, name, digest, mut log, .. } = self;
        let (line, description) = describe(self.description, &name, &mut log);
        let mut parameters_log = Log::new(Part::Parameters);
        let parameters = match schema::parameters(self.parameters, None, &mut parameters_log) {
            Ok(parameters) => parameters,
            Err(why) => {
                return Read::refused(name, digest, Part::Parameters, &why.pointer, why.what);
            }
        };
        let mut changes = log.into_changes();
        changes.extend(parameters_log.into_changes());
        let output = self.output.map(|raw| schema::output(raw, None)).and_then(|(output, log)| {
            changes.extend(log.into_changes());
            output
        });
        let draft = Draft {
            name: name.clone(),
            digest: digest.clone(),
            kind,
            assumed: assumed(&description),
            line,
            description,
            effects: Effects::UNKNOWN,
            parameters,
            output,
            runs: Runs::Nothing,
            failures: Vec::new(),
            examples: Vec::new(),
            changes,
        };
        Read { name, digest, draft: Ok(Box::new(draft)) }
    }
}

fn assumed(description: &str) -> Vec<&'static str> {
    ASSUMED.into_iter().chain(description.is_empty().then_some("description")).collect()
}
