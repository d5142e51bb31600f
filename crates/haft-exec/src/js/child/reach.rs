//! What of the language a handler can reach: its engine is made with that and nothing else, and so is
//! small, and quick to put back after a call.
//!
//! A module is strict code, so there are two ways to a global: its name, and `globalThis`. What the
//! text holds neither of is not missed. The bare text is looked through, comments and all: that finds
//! too much and never too little.

use rquickjs::context::{Context, Intrinsic, intrinsic};
use rquickjs::{Error, Runtime};

/// A part that most handlers do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Part {
    /// `ToolError`, which is imported, or comes from a capability.
    Errors,
    /// What the contract lists.
    Capabilities,
    /// `Date`, of which the clock is taken away.
    Dates,
    /// Maps and sets, the weak ones among them.
    Maps,
    /// Typed arrays and their buffers, of which the shared ones are taken away.
    Buffers,
    /// References that do not keep.
    WeakRefs,
    /// `Math`, whose numbers at random are made to follow from the call.
    Chance,
    /// `eval`, which is taken away.
    Eval,
}

impl Part {
    const ALL: [Self; 8] = [
        Self::Errors,
        Self::Capabilities,
        Self::Dates,
        Self::Maps,
        Self::Buffers,
        Self::WeakRefs,
        Self::Chance,
        Self::Eval,
    ];

    /// Who uses the part writes one of these: the name of each of its globals holds one.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Errors => &["import", "from"],
            Self::Capabilities => &[],
            Self::Dates => &["Date"],
            Self::Maps => &["Map", "Set"],
            Self::Buffers => &[
                "Buffer",
                "DataView",
                "Atomics",
                "Int8",
                "Uint8",
                "Int16",
                "Uint16",
                "Int32",
                "Uint32",
                "Float16",
                "Float32",
                "Float64",
                "BigInt64",
                "BigUint64",
            ],
            Self::WeakRefs => &["WeakRef", "FinalizationRegistry"],
            Self::Chance => &["Math"],
            Self::Eval => &["eval"],
        }
    }

    /// What the prelude has to do about it.
    fn prelude(self) -> &'static str {
        match self {
            Self::Errors => include_str!("prelude/errors.js"),
            Self::Capabilities => include_str!("prelude/capabilities.js"),
            Self::Dates => include_str!("prelude/dates.js"),
            Self::Buffers => include_str!("prelude/buffers.js"),
            Self::Chance => include_str!("prelude/chance.js"),
            Self::Eval => include_str!("prelude/eval.js"),
            Self::Maps | Self::WeakRefs => "",
        }
    }
}

/// The parts that a handler can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reach(u16);

impl Reach {
    /// What no handler can go beyond.
    pub(super) const ALL: Self = Self((1 << Part::ALL.len()) - 1);

    /// What a source can reach.
    pub(super) fn of(source: &str) -> Self {
        if source.contains("globalThis") || hides_names(source) {
            return Self::ALL.without(Part::Capabilities);
        }
        let named = |part: &Part| part.words().iter().any(|word| source.contains(word));
        Self(Part::ALL.into_iter().filter(named).fold(0, |bits, part| bits | 1 << part as u16))
    }

    /// The same with what capabilities need.
    pub(super) fn with_capabilities(self) -> Self {
        Self(self.0 | 1 << Part::Capabilities as u16 | 1 << Part::Errors as u16)
    }

    fn without(self, part: Part) -> Self {
        Self(self.0 & !(1 << part as u16))
    }

    pub(super) fn has(self, part: Part) -> bool {
        self.0 & (1 << part as u16) != 0
    }

    /// The text of the prelude for these parts.
    pub(super) fn prelude(self) -> String {
        let parts = Part::ALL.into_iter().filter(|part| self.has(*part)).map(Part::prelude);
        let alone = include_str!("prelude/alone.js");
        let end = if self.has(Part::Capabilities) { "" } else { alone };
        std::iter::once(include_str!("prelude.js")).chain(parts).chain([end]).collect()
    }

    /// A realm for these parts: without an evaluator and without a clock of high resolution.
    pub(super) fn context(self, runtime: &Runtime) -> Result<Context, Error> {
        self.with_dates::<Always>(runtime)
    }

    fn with_dates<I: Intrinsic>(self, runtime: &Runtime) -> Result<Context, Error> {
        if self.has(Part::Dates) {
            self.with_maps::<(I, intrinsic::Date)>(runtime)
        } else {
            self.with_maps::<I>(runtime)
        }
    }

    fn with_maps<I: Intrinsic>(self, runtime: &Runtime) -> Result<Context, Error> {
        if self.has(Part::Maps) {
            self.with_buffers::<(I, intrinsic::MapSet)>(runtime)
        } else {
            self.with_buffers::<I>(runtime)
        }
    }

    fn with_buffers<I: Intrinsic>(self, runtime: &Runtime) -> Result<Context, Error> {
        if self.has(Part::Buffers) {
            self.with_weak_refs::<(I, intrinsic::TypedArrays)>(runtime)
        } else {
            self.with_weak_refs::<I>(runtime)
        }
    }

    fn with_weak_refs<I: Intrinsic>(self, runtime: &Runtime) -> Result<Context, Error> {
        if self.has(Part::WeakRefs) {
            Context::custom::<(I, intrinsic::WeakRef)>(runtime)
        } else {
            Context::custom::<I>(runtime)
        }
    }
}

/// What can be come to without a name: expressions in the source, promises of `async`, methods of
/// texts that make a `RegExp`; and what the prelude uses.
type Always = (
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::Promise,
);

/// Whether a letter of a name may be written as an escape, as in `\u004dap`.
fn hides_names(source: &str) -> bool {
    source.match_indices("\\u").any(|(at, escape)| {
        let code = source.get(at + escape.len()..).unwrap_or_default();
        code.starts_with('{') || code.starts_with("00")
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rquickjs::Filter;

    use super::*;

    #[track_caller]
    fn check(source: &str, parts: &[Part]) {
        let reach = Reach::of(source);
        let found: Vec<Part> = Part::ALL.into_iter().filter(|part| reach.has(*part)).collect();
        assert_eq!(found, parts, "{source}");
    }

    #[test]
    fn a_source_reaches_what_it_names() {
        check("export const execute = ({ args }) => ({ ok: true, data: [...args.list] });", &[]);
        check("import { ToolError } from 'haft';", &[Part::Errors]);
        check("export * from 'haft';", &[Part::Errors]);
        check("new Date(text)", &[Part::Dates]);
        check("new WeakMap()", &[Part::Maps]);
        check("new Set([1])", &[Part::Maps]);
        check("Array.isArray(list) && Math.max(1, 2)", &[Part::Chance]);
        check("new Uint8ClampedArray(4)", &[Part::Buffers]);
        check("new WeakRef({})", &[Part::WeakRefs]);
        check("typeof eval", &[Part::Eval]);
        // Too much is no harm.
        check("// no Date here", &[Part::Dates]);
        check("'\\u2014 as \\xe9'", &[]);
    }

    #[test]
    fn a_source_that_may_hide_names_reaches_everything() {
        let all = Part::ALL.map(|part| (part != Part::Capabilities).then_some(part));
        let all: Vec<Part> = all.into_iter().flatten().collect();
        for source in ["globalThis['Da' + 'te']", "new \\u004dap()", "new M\\u{61}p()"] {
            check(source, &all);
        }
    }

    /// The globals of an engine.
    fn globals(reach: Reach) -> BTreeSet<String> {
        let runtime = Runtime::new().unwrap();
        reach.context(&runtime).unwrap().with(|ctx| {
            let names = ctx.globals().own_keys::<String>(Filter::new().string());
            names.collect::<Result<_, _>>().unwrap()
        })
    }

    /// What an engine has more than another can be come to by a word of its part alone.
    #[test]
    fn every_global_that_may_be_missing_holds_a_word_of_its_part() {
        let whole = globals(Reach::ALL);
        for part in Part::ALL {
            let without = globals(Reach::ALL.without(part));
            let missing: Vec<&String> = whole.difference(&without).collect();
            let is_named = |name: &&String| part.words().iter().any(|word| name.contains(word));
            assert!(missing.iter().all(is_named), "{part:?}: {missing:?}");
            let is_made = matches!(part, Part::Dates | Part::Maps | Part::Buffers | Part::WeakRefs);
            assert_eq!(is_made, !missing.is_empty(), "{part:?}: {missing:?}");
        }
    }
}
