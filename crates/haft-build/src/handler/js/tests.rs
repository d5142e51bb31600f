use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::diagnostic::Part;

const WITH: &[Capability] = &[Capability::Kb, Capability::Clock, Capability::CallTool];

fn run(source: &str, capabilities: &[Capability]) -> Vec<String> {
    found(source, May { capabilities, only_reads: false })
}

fn found(source: &str, may: May<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let file = File::Named("handler.js".to_owned());
    check(source, &file, may, &mut findings);
    let line = |finding: &crate::diagnostic::Finding| {
        let id = finding.code.id;
        assert!(finding.help.is_some(), "{finding:?}");
        match &finding.at {
            At::Whole(_) => format!("{id}: {}", finding.message),
            At::Bytes(_, span) => {
                let text = source.get(span.clone()).unwrap_or_else(|| panic!("{finding:?}"));
                format!("{id} at `{text}`: {}", finding.message)
            }
            At::Pointer(File::Contract, at, Part::Value) => {
                format!("{id} {at}: {}", finding.message)
            }
            other @ At::Pointer(..) => panic!("{other:?}"),
        }
    };
    findings.list().iter().map(line).collect()
}

/// A whole handler.
#[track_caller]
fn whole(source: &str, expected: &[&str]) {
    assert_eq!(run(source, &[]), expected, "{source}");
}

/// The body of a handler, without a contract to speak of.
#[track_caller]
fn body(body: &str, expected: &[&str]) {
    whole(&format!("export async function execute({{ args }}) {{ {body} }}"), expected);
}

/// A whole handler whose contract lists `kb`, `clock` and `call_tool`.
#[track_caller]
fn context(source: &str, expected: &[&str]) {
    assert_eq!(run(source, WITH), expected, "{source}");
}

/// What a handler that uses nothing is told.
const UNUSED: [&str; 3] = [
    "H408 /capabilities/0: the handler never uses `kb`",
    "H408 /capabilities/1: the handler never uses `clock`",
    "H408 /capabilities/2: the handler never uses `call_tool`",
];

#[test]
fn syntax_errors_are_reported_where_they_are() {
    whole(
        "export async function execute({ args }) { return args.; }",
        &["H403 at `;`: unexpected token"],
    );
    whole(
        "export function execute() { let a: number = 1; }",
        &[
            "H403 at `:`: expected a semicolon or an implicit semicolon after a statement, but found none",
        ],
    );
    whole(
        "export function execute() { return <div/>; }",
        &["H403 at `<`: unexpected JSX expression"],
    );
    whole("export function execute() { 'a", &["H403 at `'a`: unterminated string"]);
    whole("", &["H404: no function `execute` is exported"]);
}

#[test]
fn execute_is_found_in_every_spelling() {
    for source in [
        "export async function execute({ args }) {}",
        "export function execute() {}",
        "export const execute = async ({ args }) => ({ ok: true });",
        "export const execute = function ({ args }) {};",
        "function execute() {}\nexport { execute };",
        "const run = () => {};\nexport { run as execute };",
        "const run = () => {}; const other = run;\nexport { other as 'execute' };",
        "export const execute = wrap(async () => {}); function wrap(inner) { return inner; }",
        "const { execute } = { execute() {} };\nexport { execute };",
        "export { ToolError } from 'haft'; export function execute(input, extra = 1) {}",
        "export function execute(...all) {}",
    ] {
        whole(source, &[]);
    }
}

#[test]
fn execute_must_be_an_exported_function() {
    whole("function execute() {}", &["H404: no function `execute` is exported"]);
    whole("export const run = () => {};", &["H404: no function `execute` is exported"]);
    whole(
        "export default async function execute({ args }) {}",
        &[
            "H404 at `export default async function execute`: `execute` must be exported by its name, \
         not as the default",
        ],
    );
    whole(
        "export default { execute() {} };",
        &["H404 at `export default `: `execute` must be exported by its name, not as the default"],
    );
    whole("export const execute = 4;", &["H404 at `4`: `execute` is not a function"]);
    whole(
        "export const execute = { run() {} };",
        &["H404 at `{ run() {} }`: `execute` is not a function"],
    );
    whole("export class execute {}", &["H404 at `execute`: `execute` is not a function"]);
    whole("const a = b, b = a; export { a as execute };", &[]);
    whole(
        "export function* execute({ args }) {}",
        &["H404 at `function* execute`: `execute` is a generator: calling it runs nothing"],
    );
    whole(
        "export function execute(args, context) {}",
        &["H404 at `context`: `execute` is handed one object; a second parameter stays undefined"],
    );
    whole(
        "export function execute([args]) {}",
        &["H404 at `[args]`: `execute` is handed an object, not a list"],
    );
    whole(
        "export function execute({ query, arg }) {}",
        &[
            "H404 at `query`: `execute` is handed `args` and `context`, no `query`",
            "H404 at `arg`: `execute` is handed `args` and `context`, no `arg`",
        ],
    );
}

#[test]
fn nothing_but_haft_is_imported() {
    let execute = "export function execute() {}";
    for (source, expected) in [
        ("import { ToolError } from 'haft';", vec![]),
        ("import { ToolError as Failure } from \"haft\";", vec![]),
        ("import * as haft from 'haft';", vec![]),
        ("import 'haft';", vec![]),
        ("import fs from 'fs';", vec!["H405 at `'fs'`: `fs` cannot be imported"]),
        ("import './other.js';", vec!["H405 at `'./other.js'`: `./other.js` cannot be imported"]),
        ("export * from 'x';", vec!["H405 at `'x'`: `x` cannot be imported"]),
        ("export { y } from 'x';", vec!["H405 at `'x'`: `x` cannot be imported"]),
        ("const x = await import('x');", vec!["H405 at `'x'`: `x` cannot be imported"]),
        ("const x = () => import('haft');", vec![]),
        (
            "const x = (name) => import(name);",
            vec!["H405 at `name`: what is imported must be told before the handler runs"],
        ),
        (
            "import { ToolEror } from 'haft';",
            vec!["H405 at `ToolEror`: `\"haft\"` does not export `ToolEror`"],
        ),
        ("import haft from 'haft';", vec!["H405 at `haft`: `\"haft\"` does not export `default`"]),
    ] {
        whole(&format!("{source}\n{execute}"), &expected);
    }
}

#[test]
fn what_the_sandbox_lacks_is_named() {
    for name in [
        "fetch",
        "XMLHttpRequest",
        "WebSocket",
        "process",
        "require",
        "module",
        "exports",
        "Buffer",
        "global",
        "__dirname",
        "__filename",
        "Deno",
        "Bun",
        "setTimeout",
        "setInterval",
        "setImmediate",
        "eval",
        "SharedArrayBuffer",
        "Atomics",
        "localStorage",
        "window",
        "document",
        "crypto",
        "performance",
        "console",
    ] {
        let lacks = format!("H406 at `{name}`: the sandbox has no `{name}`");
        body(&format!("return {name}(1);"), &[&lacks]);
        body(&format!("return {{ {name} }};"), &[&lacks]);
        body(&format!("return typeof {name};"), &[]);
        let lacks = format!("H406 at `globalThis.{name}`: the sandbox has no `{name}`");
        body(&format!("return globalThis.{name}.a;"), &[&lacks]);
        // Declared, whatever the way, it is the author's own.
        for own in [
            format!("const {name} = 1; return {name};"),
            format!("return (({name}) => {name})(1);"),
            format!("return (({{ a: [{name}] }}) => {name})(1);"),
            format!("try {{}} catch ({name}) {{ return {name}; }}"),
            format!("if (args) {{ var {name} = 1; }} return {name};"),
            format!("class {name} {{}} return {name};"),
            format!("return {name}; function {name}() {{}}"),
            format!("return args.{name} + {{ {name}: 1 }}.a;"),
        ] {
            if name != "eval" {
                body(&own, &[]);
            }
        }
    }
    // A declaration holds where it is made.
    body("{ const fetch = 1; } return fetch;", &["H406 at `fetch`: the sandbox has no `fetch`"]);
}

#[test]
fn clocks_and_dice_come_from_the_context() {
    let dice = ["H406 at `Math.random`: `Math.random` is not random here"];
    body("return Date.now();", &["H406 at `Date.now`: `Date.now` has no clock to read"]);
    body("return Date['now']();", &["H406 at `Date['now']`: `Date.now` has no clock to read"]);
    body("return new Date();", &["H406 at `new Date()`: `new Date()` has no clock to read"]);
    body("return Date();", &["H406 at `Date()`: `Date()` has no clock to read"]);
    body("return Math.random();", &dice);
    body("return args.list.map(Math.random);", &dice);
    body(
        "return [new Date(args.at), Date.parse(args.at), Date.UTC(2026, 1), Math.max(1, 2)];",
        &[],
    );
    body("const Date = { now() {} }; return Date.now();", &[]);
    let maker = "H406 at `Function`: the constructor `Function` cannot make code of text here";
    body("return new Function('return 1')();", &[maker]);
    body("return args.f instanceof Function;", &[]);
}

#[test]
fn a_name_that_nobody_declared_is_reported() {
    body("const total = 1; return totl;", &["H406 at `totl`: `totl` is not defined"]);
    body("return context.mode;", &["H406 at `context`: `context` is not defined"]);
    body("missing = 1;", &["H406 at `missing`: `missing` is not defined"]);
    body(
        "a: for (const b of args.c) { if (b) continue a; } return [Map, Set, undefined, NaN];",
        &[],
    );
}

#[test]
fn members_of_the_context_match_the_contract() {
    for parameter in ["{ args, context }", "{ context = {} }", "{ 'context': context }"] {
        let http = "H407 at `http`: the contract does not list the capability `http`";
        for (text, expected) in [
            ("context.kb.a(context.clock, context.callTool)", vec![]),
            ("context?.kb?.a(context?.clock, context['callTool'])", vec![]),
            ("context.kb + context.clock + context.callTool + context.http", vec![http]),
            ("context.kb + context.clock + context.callTool + context.http.get", vec![http]),
            (
                "context.mode + context.session.active + context.tool + context.callId",
                UNUSED.to_vec(),
            ),
            (
                "[context.kb, context.clock, context.call_tool]",
                vec![
                    "H407 at `call_tool`: `context` has no `call_tool`",
                    "H408 /capabilities/2: the handler never uses `call_tool`",
                ],
            ),
            ("[context['http']]", {
                let mut all =
                    vec!["H407 at `'http'`: the contract does not list the capability `http`"];
                all.extend(UNUSED);
                all
            }),
            // From here on nobody can tell what is used.
            ("context[args.name]", vec![]),
            ("Object.keys(context)", vec![]),
            ("{ context }", vec![]),
        ] {
            let args = if parameter.contains("args") { "" } else { "const args = {}; " };
            context(
                &format!("export function execute({parameter}) {{ {args}return ({text}); }}"),
                &expected,
            );
        }
    }
}

#[test]
fn the_context_is_followed() {
    let unused = &UNUSED[1..];
    for source in [
        "export function execute({ context: { kb } }) { kb.get(); }",
        "export function execute({ context: { kb: base = 1 } }) { base.get(); }",
        "export function execute({ context }) { const { kb } = context; kb.get(); }",
        "export function execute({ context: it }) { const again = it; again.kb.get(); }",
        "export function execute(input) { return input.context.kb.get(input.args.id); }",
        "export function execute(input) { const { context } = input; return context.kb; }",
        "export function execute(input) { const context = input.context; return context.kb; }",
        "export function execute(input) { return input?.context?.kb; }",
        "export function execute({ context }) { return load(context, 1); }
         function load(context, id) { return context.kb.get(id); }",
        "export function execute({ context }) { return load(context); }
         const load = async ({ kb }) => kb.get(1);",
        "const one = (it) => two(it); const two = (it) => three(it);
         const three = (it) => it.kb; export const execute = ({ context }) => one(context);",
        "function run(input) { return help(input); } function help({ context }) { context.kb }
         export { run as execute };",
        // Another `context` is another thing.
        "export function execute({ context }) { context.kb; return draw({}); }
         function draw(context) { return context.fillRect(); }",
    ] {
        context(source, unused);
    }
    let http = "H407 at `http`: the contract does not list the capability `http`";
    for source in [
        "export function execute({ context: { http, ...rest } }) {}",
        "export function execute({ context }) { const { http } = context; other(context); }
         function other(...all) {}",
        "export function execute({ context }) { load(...[context]); return load(context); }
         function load(context) { return context.http; }",
    ] {
        context(source, &[http]);
    }
    for source in [
        "export function execute({ context, ...rest }) { }",
        "export function execute() { return arguments[0].context.http; }",
        "export const execute = wrap(({ context }) => context.http); function wrap(f) { return f; }",
        "export function execute({ context }) { keep = { context }; } let keep;",
    ] {
        context(source, &[]);
    }
}

#[test]
fn large_and_deep_sources_are_refused() {
    let large = " ".repeat(MAX_BYTES + 1);
    whole(&large, &["H403: the source has 1048577 bytes; at most 1048576 are read"]);
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("`${", "}`"),
        ("f(", ")"),
        ("{a:", "}"),
        ("(a=", ")"),
        ("function f(){", "}"),
        ("class A{a=", "}"),
        ("(", ""),
        ("[{a:", ""),
    ] {
        let source = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        let source = &source[..source.len().min(MAX_BYTES)];
        let found = run(source, &[]);
        let [found] = found.as_slice() else { panic!("{found:?}") };
        assert!(found.ends_with("brackets are nested more than 128 deep"), "{open}: {found}");
    }
}

#[test]
fn long_chains_are_read() {
    let start = Instant::now();
    for (before, again, after) in [
        ("", "!", "1"),
        ("", "a?b:", "c"),
        ("", "x=>", "1"),
        ("", "a=", "1"),
        ("1", "+1", ""),
        ("a", "()", ""),
        ("a", ".b", ""),
        ("1", "**1", ""),
        ("", "new ", "a"),
        ("", "if(1)", ";"),
        ("", "if(1);else ", ";"),
        ("", "for(;;)", ";"),
        ("a", "``", ""),
        ("", "do ", ";"),
        ("", "typeof ", "a"),
        ("a", "?.b", ""),
        ("a", "??a", ""),
        ("", "async x=>", "1"),
        ("", "a:", ";"),
        ("", "-", "1"),
        ("", "await ", "1"),
        ("a", "<b", ""),
        ("", "/a/", ""),
        ("", "/", "1"),
        ("let a", ",a", ""),
        ("switch(1){", "case 1:", "}"),
        ("", "{}/", "a/"),
    ] {
        let times = MAX_BYTES / again.len() - 10;
        let source = format!("{before}{}{after}", again.repeat(times.min(30_000)));
        assert!(!run(&source, &[]).is_empty(), "{again}");
    }
    // Many scopes with many names in them, many declarations with as many near misses, and a
    // member of a member of a member.
    let execute = "export function execute({ context }) { return context; }";
    let scopes = format!("{execute}{}[{}]", "x=>".repeat(100_000), "y,x,".repeat(100_000));
    let names = (0..50_000).map(|name| format!("let nam{name};name{name};")).collect::<String>();
    let members = format!("export function execute(a) {{ a{} }}", ".context".repeat(100_000));
    for source in [scopes, names, members] {
        run(&source, WITH);
    }
    // Seconds without optimisation; it is the machine that hangs that this would catch.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

const REAL: &str = r#"
import { ToolError } from "haft";
const LIMIT = 5;
export async function execute({ args, context }) {
  const { kb, clock } = context;
  try {
    const found = await kb.search({ query: args.query, limit: Math.min(args.top_k ?? 3, LIMIT) });
    for (const [index, one] of found.entries()) { if (!one?.id) throw new ToolError("x", `no ${index}`); }
    return { ok: true, data: { found, at: await clock.now(), re: /[/"]/u.test(args.query) } };
  } catch (error) {
    return { ok: false, error: { kind: "transient", message: String(error) } };
  }
}
"#;

#[test]
fn a_real_handler_is_clean() {
    assert_eq!(run(REAL, &[Capability::Kb, Capability::Clock]), [""; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_answered(source in "\\PC{0,200}") {
        run(&source, WITH);
    }

    #[test]
    fn any_tokens_are_answered(tokens in prop::collection::vec(prop::sample::select(vec![
        "(", ")", "{", "}", "[", "]", "`", "${", "/", "/*", "*/", "//", "\n", "'", "\"", "=>", "=",
        "context", ".", "?.", "...", "export", "import", "function", "class", "const", "execute",
        "async", "await", "{ args, context }", ",", ";", ":", "x", "1", "\\u{61}", "#a", "if", "for",
        "of", "in", "new", "typeof", "yield", "*", "++", "é", "\u{2028}", "\u{feff}", "from 'haft'",
    ]), 0..60)) {
        run(&tokens.join(" "), WITH);
        run(&tokens.concat(), WITH);
    }

    #[test]
    fn a_damaged_handler_is_answered(
        cut in 0..REAL.len(),
        length in 0..40_usize,
        put in "[\\PC\n]{0,4}",
    ) {
        let mut source = REAL.to_owned();
        source.replace_range(cut..(cut + length).min(REAL.len()), &put);
        run(&source, WITH);
    }
}

#[test]
fn a_tool_that_does_not_write_changes_nothing() {
    let capabilities = &[Capability::Http, Capability::Calendar, Capability::Messaging];
    let source = "export async function execute({ context }) {
        await context.http.get('x'); await context.http.post('x'); await context.http.delete('x');
        await context.calendar.findEvent(1); await context.calendar.createEvent(1);
        await context.messaging.send(1);
    }";
    let may = May { capabilities, only_reads: true };
    assert_eq!(
        found(source, may),
        [
            "H413 at `context.http.post`: this tool does not write, and sends a POST",
            "H126 at `context.http.delete`: `http.delete` changes something, and this tool does not write",
            "H126 at `context.calendar.createEvent`: `calendar.createEvent` changes something, and this \
             tool does not write",
        ]
    );
    assert_eq!(found(source, May { only_reads: false, ..may }), [""; 0]);
}
