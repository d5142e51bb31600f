//! Every field of `schema.json`.

use haft_core::contract::Limits;

use crate::shape::Empty::{Allowed, Refused};
use crate::shape::Need::{Optional, Required};
use crate::shape::{Field, Need, Shape};

const fn field(name: &'static str, need: Need, shape: Shape) -> Field {
    Field { name, need, shape }
}

const TEXTS: Shape = Shape::List(&Shape::Text, Allowed);
const MODES: &[&str] = &["text", "voice"];

/// The contract.
pub(crate) static CONTRACT: Shape = Shape::Object(FIELDS);

/// The fields that `toolset.toml` may give a default for: those that are about how a tool is run,
/// not about what it is.
pub(crate) const DEFAULTABLE: &[&str] =
    &["allowedModes", "arguments", "latencyBudgetMs", "limits", "requiresConfirmation", "tags"];

/// Fields by name; the order is the one they are documented in.
pub(crate) static FIELDS: &[Field] = &[
    field("$schema", Optional, Shape::Text),
    field("toolId", Required, Shape::Text),
    field("version", Required, Shape::Text),
    field("description", Required, Shape::Text),
    field("category", Required, Shape::Word(&["retrieval", "action", "utility"])),
    field("sideEffects", Required, Shape::Word(&["none", "read_only", "writes"])),
    field("effect", Optional, Shape::Word(&["read_only", "state_change", "external_side_effect"])),
    field(
        "sideEffectPolicy",
        Optional,
        Shape::Word(&["pure", "idempotent", "compensatable", "irreversible"]),
    ),
    field("idempotent", Required, Shape::Bool),
    field(
        "requiresConfirmation",
        Required,
        Shape::BoolOr(&Shape::Object(&[field("when", Required, Shape::Text)])),
    ),
    field("confirmation", Optional, Shape::Object(&[field("prompt", Required, Shape::Text)])),
    field("allowedModes", Required, Shape::List(&Shape::Word(MODES), Refused)),
    field("latencyBudgetMs", Required, Shape::Count(1)),
    field(
        "modes",
        Optional,
        Shape::Object(&[field("text", Optional, MODE), field("voice", Optional, MODE)]),
    ),
    field("parameters", Required, Shape::Any),
    field("output", Optional, Shape::Any),
    field("redaction", Optional, REDACTION),
    field(
        "arguments",
        Optional,
        Shape::WordOr(
            LENIENCY,
            &Shape::Object(&[
                field("mode", Optional, Shape::Word(LENIENCY)),
                field("fraction", Optional, Shape::Word(&["refuse", "truncate"])),
            ]),
        ),
    ),
    field("capabilities", Optional, Shape::List(&Shape::Word(CAPABILITIES), Allowed)),
    field(
        "connection",
        Optional,
        Shape::Object(&[
            field("provider", Required, Shape::Text),
            field("hosts", Required, Shape::List(&Shape::Text, Allowed)),
            field("required", Optional, Shape::Bool),
        ]),
    ),
    field("hosts", Optional, Shape::List(&Shape::Text, Refused)),
    field("gateway", Optional, Shape::Tagged(GATEWAYS)),
    field("handler", Optional, Shape::Tagged(HANDLERS)),
    field("idempotencyKeyFields", Optional, Shape::List(&Shape::Text, Refused)),
    field(
        "compensation",
        Optional,
        Shape::Object(&[
            field("tool", Required, Shape::Text),
            field("arguments", Optional, MAPPING),
        ]),
    ),
    field(
        "probe",
        Optional,
        Shape::Object(&[
            field("tool", Required, Shape::Text),
            field("arguments", Optional, MAPPING),
            field("happened", Required, Shape::Text),
            field("result", Optional, Shape::Text),
            field("settledAfterMs", Optional, Shape::Count(0)),
        ]),
    ),
    field("limits", Optional, LIMITS),
    field("availability", Optional, Shape::Object(&[field("condition", Required, Shape::Text)])),
    field("documentation", Optional, Shape::Word(&["on_demand", "before_use"])),
    field("tags", Optional, TEXTS),
    field(
        "deprecated",
        Optional,
        Shape::Object(&[
            field("reason", Required, Shape::Text),
            field("replacement", Optional, Shape::Text),
        ]),
    ),
    field(
        "portability",
        Optional,
        Shape::Object(&[field("allow", Required, Shape::List(&Shape::Text, Refused))]),
    ),
    field("lint", Optional, Shape::Object(&[field("allow", Required, Shape::Map(&Shape::Text))])),
    field(
        "origin",
        Optional,
        Shape::Object(&[
            field("kind", Required, Shape::Word(&["adm", "function", "openapi"])),
            field("name", Required, Shape::Text),
            field("digest", Required, Shape::Text),
            field("assumed", Optional, TEXTS),
        ]),
    ),
];

const LENIENCY: &[&str] = &["lenient", "strict"];

const MODE: Shape = Shape::Object(&[field(
    "clamp",
    Required,
    Shape::Map(&Shape::Object(&[
        field("max", Optional, Shape::Number),
        field("min", Optional, Shape::Number),
        field("maxItems", Optional, Shape::Count(0)),
        field("maxLength", Optional, Shape::Count(0)),
        field("without", Optional, Shape::List(&Shape::Any, Refused)),
        field("value", Optional, Shape::Any),
        field("remove", Optional, Shape::Bool),
    ])),
)]);

const REDACTION: Shape =
    Shape::Object(&[field("allow", Optional, TEXTS), field("allowArgs", Optional, TEXTS)]);

const CAPABILITIES: &[&str] = &[
    "kb",
    "clock",
    "http",
    "messaging",
    "audit",
    "voice",
    "calendar",
    "images",
    "moderation",
    "client",
    "call_tool",
];

const MAPPING: Shape = Shape::Map(&Shape::Object(&[
    field("from", Optional, Shape::Text),
    field("value", Optional, Shape::Any),
]));

const LIMITS: Shape = Shape::Object(&[
    field("maxRuntimeMs", Optional, Shape::UpTo(Limits::LONGEST_RUNTIME_MS)),
    field("maxResultBytes", Optional, Shape::Count(1)),
    field("providerKeyWindowMs", Optional, Shape::Count(1)),
    field(
        "rate",
        Optional,
        Shape::Object(&[
            field("calls", Required, Shape::Count(1)),
            field("windowMs", Required, Shape::Count(1)),
        ]),
    ),
]);

const KIND: Field = field("kind", Required, Shape::Text);

/// An argument's name, how an argument is written, or a value that is always the same.
const SLOTS: Shape = Shape::Map(&Shape::TextOr(&Shape::Object(&[
    field("value", Optional, Shape::Any),
    field("from", Optional, Shape::Text),
    field("style", Optional, Shape::Word(STYLES)),
    field("explode", Optional, Shape::Bool),
    field("allowReserved", Optional, Shape::Bool),
])));

const STYLES: &[&str] =
    &["simple", "label", "matrix", "form", "spaceDelimited", "pipeDelimited", "deepObject", "json"];

const PAGES: Shape = Shape::Object(&[
    field("by", Required, Shape::Word(&["link", "cursor", "page", "offset"])),
    field("items", Optional, Shape::Any),
    field("next", Optional, Shape::Text),
    field("query", Optional, Shape::Text),
    field("maxPages", Required, Shape::Count(1)),
]);

const GATEWAYS: &[(&str, &[Field])] = &[
    (
        "http",
        &[
            KIND,
            field(
                "method",
                Required,
                Shape::Word(&["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]),
            ),
            field("url", Required, Shape::Text),
            field("path", Optional, SLOTS),
            field("query", Optional, SLOTS),
            field("headers", Optional, SLOTS),
            field("body", Optional, SLOTS),
            field("bodyFrom", Optional, Shape::Text),
            field("encoding", Optional, Shape::Word(&["json", "form", "text", "base64"])),
            field("response", Optional, Shape::Word(&["json", "text"])),
            field("result", Optional, Shape::Any),
            field("errors", Optional, Shape::Map(&Shape::Text)),
            field("pages", Optional, PAGES),
            field("redirects", Optional, Shape::Count(0)),
            field("idempotencyHeader", Optional, Shape::Text),
            field("maxResponseBytes", Optional, Shape::Count(1)),
        ],
    ),
    ("mcp", &[KIND, field("server", Required, Shape::Text), field("tool", Required, Shape::Text)]),
    ("composio", &[KIND, field("action", Required, Shape::Text)]),
    ("grid", &[KIND, field("queue", Optional, Shape::Text)]),
];

const HANDLERS: &[(&str, &[Field])] = &[
    (
        "native",
        &[
            KIND,
            field("crate", Required, Shape::Text),
            field("crateVersion", Optional, Shape::Text),
            field("revision", Required, Shape::Count(1)),
        ],
    ),
    ("unbound", &[KIND]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::contract::Capability;

    #[test]
    fn the_capabilities_are_those_of_the_contract_type() {
        let words: Vec<&str> =
            Capability::ALL.iter().map(|capability| capability.as_str()).collect();
        assert_eq!(CAPABILITIES, words);
    }

    #[test]
    fn a_default_is_for_a_field_that_exists() {
        for name in DEFAULTABLE {
            assert!(FIELDS.iter().any(|field| field.name == *name), "{name}");
        }
    }
}
