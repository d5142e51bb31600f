//! `docs/dialects.md` says what the code does.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use haft_wire::names::rule;
use haft_wire::tools::Schemas;
use haft_wire::{Dialect, Strictness, Target};
use serde_json::{Value, json};

use crate::support::tool;

/// How much of the corpus a target says how well, in numbers of definitions.
pub(crate) struct Share {
    pub(crate) target: String,
    /// Nothing to report.
    pub(crate) untouched: usize,
    /// Said in another form that is undone.
    pub(crate) changed: usize,
    /// Something moved into a description.
    pub(crate) described: usize,
    /// Something approximated or dropped.
    pub(crate) lost: usize,
    pub(crate) quarantined: usize,
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dialects.md")
}

/// Replaces what stands between the page's marks, or complains that it is not what the code says.
/// `UPDATE_DOCS=1` writes it.
#[track_caller]
fn check(mark: &str, expected: &str) {
    let text = std::fs::read_to_string(page()).unwrap();
    let (begin, end) = (format!("<!-- {mark} -->\n"), format!("<!-- end of {mark} -->"));
    let start = text.find(&begin).expect("the page has the mark") + begin.len();
    let stop = text.find(&end).expect("the page has the end mark");
    if text[start..stop] == *expected {
        return;
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let written = format!("{}{expected}{}", &text[..start], &text[stop..]);
        std::fs::write(page(), written).unwrap();
        return;
    }
    panic!(
        "docs/dialects.md is not what the code says; UPDATE_DOCS=1 cargo test writes:\n{expected}"
    );
}

/// Schemas that use one keyword each, as a property of the arguments.
fn samples() -> Vec<(&'static str, Value)> {
    vec![
        (
            "`type`, `properties`, `items`, `description`",
            json!({"type": "array", "items": {"type": "string"}, "description": "d"}),
        ),
        ("a property that may be left out", json!({"type": "string"})),
        ("`type: [T, \"null\"]`", json!({"type": ["string", "null"]})),
        ("`type: [A, B]`", json!({"type": ["string", "integer"]})),
        ("no type: `{}`, `true`", json!({})),
        ("`enum` of texts", json!({"type": "string", "enum": ["a", "b"]})),
        ("`enum` of numbers", json!({"type": "integer", "enum": [1, 2]})),
        ("`enum` of several kinds", json!({"enum": ["a", 1]})),
        ("`const`", json!({"const": "a"})),
        ("`minimum`, `maximum`", json!({"type": "number", "minimum": 1, "maximum": 2})),
        (
            "`exclusiveMinimum`, `exclusiveMaximum`",
            json!({"type": "number", "exclusiveMinimum": 1}),
        ),
        ("`multipleOf`", json!({"type": "number", "multipleOf": 2})),
        ("`minLength`, `maxLength`", json!({"type": "string", "minLength": 1})),
        ("`pattern`", json!({"type": "string", "pattern": "^a"})),
        ("`format: date-time`", json!({"type": "string", "format": "date-time"})),
        ("`format: uri`", json!({"type": "string", "format": "uri"})),
        ("`format: iri`", json!({"type": "string", "format": "iri"})),
        ("`minItems` 1", json!({"type": "array", "items": {"type": "string"}, "minItems": 1})),
        (
            "`minItems` above 1, `maxItems`",
            json!({"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 3}),
        ),
        (
            "`uniqueItems`",
            json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
        ),
        (
            "`contains`",
            json!({"type": "array", "items": {"type": "string"}, "contains": {"const": "a"}}),
        ),
        (
            "`prefixItems`",
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "items": false}),
        ),
        ("`array` without `items`", json!({"type": "array"})),
        (
            "`object` of listed members, closed",
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}),
        ),
        (
            "`object` of listed members, not said to be closed",
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        ),
        (
            "`additionalProperties: true` beside members",
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": true}),
        ),
        ("`object` of any members", json!({"type": "object", "additionalProperties": true})),
        (
            "`additionalProperties: {…}`: a map",
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
        ),
        (
            "`patternProperties`",
            json!({"type": "object", "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": false}),
        ),
        (
            "`propertyNames`",
            json!({"type": "object", "additionalProperties": {"type": "string"}, "propertyNames": {"minLength": 2}}),
        ),
        (
            "`minProperties`, `maxProperties`",
            json!({"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1}),
        ),
        (
            "`dependentRequired`",
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a", "b"], "additionalProperties": false, "dependentRequired": {"a": ["b"]}}),
        ),
        ("`anyOf`", json!({"anyOf": [{"type": "string"}, {"type": "number"}]})),
        ("`anyOf: [T, null]`", json!({"anyOf": [{"type": "string"}, {"type": "null"}]})),
        (
            "`oneOf`, alternatives that differ",
            json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
        ),
        (
            "`oneOf`, alternatives that overlap",
            json!({"oneOf": [{"type": "integer", "minimum": 3}, {"type": "number", "maximum": 9}]}),
        ),
        ("`allOf`", json!({"allOf": [{"type": "string"}, {"minLength": 1}]})),
        ("`not`", json!({"type": "string", "not": {"const": "a"}})),
        (
            "`if`, `then`, `else`",
            json!({"type": "string", "if": {"minLength": 3}, "then": {"pattern": "^a"}}),
        ),
        ("`$ref`", json!({"$ref": "#/$defs/word"})),
        ("`$ref` with something beside it", json!({"$ref": "#/$defs/word", "description": "d"})),
        ("a schema that contains itself", json!({"$ref": "#/$defs/tree"})),
        ("`default`", json!({"type": "integer", "default": 3})),
        ("`examples`", json!({"type": "integer", "examples": [3]})),
        ("`title`", json!({"type": "string", "title": "T"})),
        ("`deprecated`", json!({"type": "string", "deprecated": true})),
        ("`$comment`, `readOnly`, `writeOnly`", json!({"type": "string", "$comment": "c"})),
        ("a parameter named `a b`", json!({"type": "string"})),
    ]
}

/// Targets that differ in what they can say.
fn columns() -> [(Target, &'static str); 8] {
    let plain = |dialect| Target::new(dialect, Strictness::Plain);
    let strict = |dialect| Target::new(dialect, Strictness::Strict);
    [
        (plain(Dialect::OpenAiChat), "OpenAI"),
        (strict(Dialect::OpenAiChat), "OpenAI strict"),
        (plain(Dialect::Anthropic), "Anthropic"),
        (strict(Dialect::Anthropic), "Anthropic strict"),
        (plain(Dialect::Gemini), "Gemini `parameters`"),
        (plain(Dialect::Gemini).with_json_schema(), "Gemini `parametersJsonSchema`"),
        (plain(Dialect::Mcp), "MCP"),
        (plain(Dialect::Adm), "ADM"),
    ]
}

/// What becomes of a sample: the worst word of the report.
fn fate(target: Target, label: &str, schema: &Value) -> String {
    let name = if label.contains("`a b`") { "a b" } else { "p" };
    let required = if label.contains("left out") { json!([]) } else { json!([name]) };
    let parameters = json!({
        "type": "object", "properties": {name: schema}, "required": required,
        "additionalProperties": false,
        "$defs": {
            "word": {"type": "string"},
            "tree": {
                "type": "object", "additionalProperties": false, "required": ["next"],
                "properties": {"next": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]}},
            },
        },
    });
    let rendering = target.render([&tool("t", &parameters)]);
    assert_eq!(rendering.quarantined, [], "{label}");
    let worst = rendering.report.iter().map(|loss| loss.fate).max();
    worst.map_or_else(|| "✓".to_owned(), |fate| fate.as_str().to_owned())
}

#[test]
fn the_table_of_losses_is_that_of_the_code() {
    let columns = columns();
    let mut table = String::from("| schema |");
    columns.iter().for_each(|(_, name)| write!(table, " {name} |").unwrap());
    table.push_str("\n|---|");
    columns.iter().for_each(|_| table.push_str("---|"));
    table.push('\n');
    for (label, schema) in samples() {
        write!(table, "| {} |", label.replace('|', "\\|")).unwrap();
        for (target, _) in columns {
            write!(table, " {} |", fate(target, label, &schema)).unwrap();
        }
        table.push('\n');
    }
    check("losses", &table);
}

#[test]
fn the_table_of_names_is_that_of_the_code() {
    let mut table =
        String::from("| dialect | strict mode | a tool's name | at most |\n|---|---|---|---|\n");
    for dialect in Dialect::ALL {
        let rule = rule(dialect);
        let strict = Target::new(dialect, Strictness::Strict).strictness == Strictness::Strict;
        let also: String = rule.also.chars().map(|c| format!(" `{c}`")).collect();
        let first = if rule.letter_first { "; a letter or `_` first" } else { "" };
        writeln!(
            table,
            "| `{dialect}` | {} | letters, digits, `_`{also}{first} | {} |",
            if strict { "yes" } else { "" },
            rule.most
        )
        .unwrap();
    }
    check("names", &table);
    let both = Target::ALL.iter().filter(|target| target.schemas == Schemas::JsonSchema).count();
    assert_eq!(both, 1, "only Gemini has two ways to write a schema");
}

/// The numbers of the corpus.
pub(crate) fn check_shares(shares: &[Share], definitions: usize, calls: usize) {
    let mut table = format!(
        "Of {definitions} definitions, with {calls} valid calls sent there and back:\n\n\
         | target | as they are | changed and undone | with words in a description | with something approximated or dropped | left out |\n\
         |---|---|---|---|---|---|\n"
    );
    for share in shares {
        let percent = |number: usize| {
            format!("{number} ({:.1} %)", number as f64 * 100.0 / definitions as f64)
        };
        writeln!(
            table,
            "| `{}` | {} | {} | {} | {} | {} |",
            share.target,
            percent(share.untouched),
            share.changed,
            share.described,
            share.lost,
            share.quarantined
        )
        .unwrap();
    }
    check("corpus", &table);
}
