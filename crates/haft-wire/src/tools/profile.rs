//! What each target can say, as data: the walk asks here and knows no provider.

use crate::names::Rule;
use crate::{Dialect, Strictness};

use super::limits::{self, PerSchema};
use super::target::{Schemas, Target};

/// What a target can say.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Keywords beyond the structural ones that stand as they are.
    pub keywords: Keywords,
    /// The formats that it takes; all of them where nothing is listed.
    pub formats: Option<&'static [&'static str]>,
    /// How objects are closed.
    pub objects: Objects,
    /// Whether members by any name can be described.
    pub maps: bool,
    /// Whether an object may list no members.
    pub bare_objects: bool,
    /// How `null` is allowed.
    pub nulls: Nulls,
    /// Whether `type` may list several.
    pub type_lists: bool,
    /// Whether a schema may have no type.
    pub untyped: bool,
    /// Whether there are alternatives.
    pub unions: bool,
    /// Whether alternatives may stand at the root.
    pub root_unions: bool,
    /// What becomes of references.
    pub refs: Refs,
    /// What may be listed as values.
    pub values: Values,
    /// Most values that `minItems` may name, where it is limited.
    pub least_items: Option<u64>,
    /// What the names of parameters may be made of.
    pub names: Option<Rule>,
    /// The order of members is said.
    pub ordering: bool,
    /// How deep schemas may nest.
    pub levels: usize,
    /// How much there may be in all.
    pub limits: Option<PerSchema>,
    /// The most characters of the tool's description.
    pub description: Option<usize>,
}

/// Keywords that stand as they are.
#[derive(Clone, Copy, Debug)]
pub enum Keywords {
    /// All that there are.
    All,
    /// These.
    Only(&'static [&'static str]),
}

impl Keywords {
    /// Whether a keyword is one of them.
    #[must_use]
    pub fn have(self, keyword: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(list) => list.contains(&keyword),
        }
    }
}

/// How objects are closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objects {
    /// As the schema says.
    Said,
    /// Each must say that it is.
    Closed,
    /// Each must say that it is, and every member is required.
    AllRequired,
    /// There is no word for it: an object that lists members takes no others.
    Implied,
}

/// How `null` is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// `"type": ["string", "null"]`.
    TypeList,
    /// `"anyOf": […, {"type": "null"}]`.
    AnyOf,
    /// `"nullable": true`.
    Nullable,
    /// Not at all.
    Unsaid,
}

/// What becomes of references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refs {
    /// They stand as they are, siblings included.
    Said,
    /// They stand without siblings, also where a schema contains itself.
    Alone,
    /// They stand without siblings; a schema may not contain itself.
    Flat,
    /// What they lead to stands in their place.
    Inlined,
}

/// What may be listed as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Anything.
    Any,
    /// No arrays and no objects.
    Primitive,
    /// Texts and numbers.
    TextsAndNumbers,
    /// Texts that are not empty.
    Texts,
}

const FULL: Profile = Profile {
    keywords: Keywords::All,
    formats: None,
    objects: Objects::Said,
    maps: true,
    bare_objects: true,
    nulls: Nulls::TypeList,
    type_lists: true,
    untyped: true,
    unions: true,
    root_unions: true,
    refs: Refs::Said,
    values: Values::Any,
    least_items: None,
    names: None,
    ordering: false,
    levels: 100,
    limits: None,
    description: None,
};

/// OpenAI without strict mode: JSON Schema, save that the root is a plain object.
const OPENAI: Profile = Profile { root_unions: false, description: Some(1024), ..FULL };

const OPENAI_STRICT: Profile = Profile {
    keywords: Keywords::Only(&[
        "title",
        "pattern",
        "format",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
        "const",
        "$defs",
        "$ref",
        "anyOf",
        "enum",
    ]),
    formats: Some(&[
        "date-time",
        "time",
        "date",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "uuid",
    ]),
    objects: Objects::AllRequired,
    maps: false,
    bare_objects: true,
    nulls: Nulls::TypeList,
    type_lists: false,
    untyped: false,
    unions: true,
    root_unions: false,
    refs: Refs::Alone,
    values: Values::Primitive,
    least_items: None,
    names: None,
    ordering: false,
    levels: 10,
    limits: Some(limits::OPENAI_STRICT),
    description: Some(1024),
};

/// Anthropic without strict mode: JSON Schema, save for the root and the names of parameters.
const ANTHROPIC: Profile = Profile {
    root_unions: false,
    names: Some(Rule { also: ".-", letter_first: false, most: 64 }),
    ..FULL
};

const ANTHROPIC_STRICT: Profile = Profile {
    keywords: Keywords::Only(&[
        "title", "format", "minItems", "const", "$defs", "$ref", "anyOf", "enum",
    ]),
    formats: Some(&[
        "date-time",
        "time",
        "date",
        "duration",
        "email",
        "hostname",
        "uri",
        "ipv4",
        "ipv6",
        "uuid",
    ]),
    objects: Objects::Closed,
    nulls: Nulls::AnyOf,
    refs: Refs::Flat,
    least_items: Some(1),
    names: ANTHROPIC.names,
    levels: 100,
    limits: None,
    description: None,
    ..OPENAI_STRICT
};

/// The names of Gemini's parameters.
const GEMINI_NAMES: Rule = Rule { also: "", letter_first: true, most: 64 };

const GEMINI: Profile = Profile {
    keywords: Keywords::Only(&[
        "title",
        "format",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "pattern",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "default",
        "example",
        "anyOf",
        "enum",
    ]),
    formats: None,
    objects: Objects::Implied,
    maps: false,
    bare_objects: false,
    nulls: Nulls::Nullable,
    type_lists: false,
    untyped: false,
    unions: true,
    root_unions: false,
    // Its developer API has no `defs`, and its SDK puts what they hold into place as well.
    refs: Refs::Inlined,
    values: Values::Texts,
    least_items: None,
    names: Some(GEMINI_NAMES),
    ordering: true,
    levels: 32,
    limits: None,
    description: None,
};

const GEMINI_JSON: Profile = Profile {
    keywords: Keywords::Only(&[
        "title",
        "format",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
        "prefixItems",
        "$defs",
        "$ref",
        "anyOf",
        "enum",
    ]),
    objects: Objects::Said,
    maps: true,
    bare_objects: true,
    nulls: Nulls::TypeList,
    // It unrolls what contains itself only so far, and only under members that may be left out.
    refs: Refs::Flat,
    values: Values::TextsAndNumbers,
    ..GEMINI
};

/// Six types, names, descriptions, lists of words, and no more.
const ADM: Profile = Profile {
    keywords: Keywords::Only(&["enum"]),
    bare_objects: true,
    nulls: Nulls::Unsaid,
    unions: false,
    names: None,
    ordering: false,
    levels: haft_adm::SCHEMA_LEVELS,
    description: Some(haft_adm::DESCRIPTION_CHARACTERS),
    ..GEMINI
};

impl Profile {
    /// What a target can say.
    #[must_use]
    pub fn of(target: Target) -> &'static Self {
        match (target.dialect, target.strictness) {
            (
                Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::OpenAiRealtime,
                Strictness::Plain,
            ) => &OPENAI,
            (
                Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::OpenAiRealtime,
                Strictness::Strict,
            ) => &OPENAI_STRICT,
            (Dialect::Anthropic, Strictness::Plain) => &ANTHROPIC,
            (Dialect::Anthropic, Strictness::Strict) => &ANTHROPIC_STRICT,
            (Dialect::Gemini | Dialect::GeminiLive, _) => match target.schemas {
                Schemas::Own => &GEMINI,
                Schemas::JsonSchema => &GEMINI_JSON,
            },
            (Dialect::Mcp, _) => &FULL,
            (Dialect::Adm, _) => &ADM,
        }
    }
}
