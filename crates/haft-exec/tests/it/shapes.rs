//! What a handler returns or throws, and what becomes of it.

use std::sync::Arc;

use haft_core::error::ErrorKind::{
    self, Conflict, Internal, InvalidArguments, NotFound, Permanent,
};
use haft_core::outcome::{After, Intent};
use haft_core::port::Ended;
use serde_json::json;

use crate::rig::{Stubs, body, data, error, pool, run};

#[tokio::test]
async fn an_answer_comes_with_its_intents() {
    let js = pool(1);
    let source = r#"export const execute = ({ args }) => ({
        ok: true, data: { got: args },
        intents: [{ type: "END_VOICE_SESSION", after: "farewell_spoken" }],
    });"#;
    assert_eq!(
        run(&js, source, json!({"a": [1, "é", null]})).await,
        Ended::Returned {
            data: json!({"got": {"a": [1, "é", null]}}),
            intents: vec![Intent::EndVoiceSession { after: After::FarewellSpoken }],
        }
    );
}

#[tokio::test]
async fn failures_are_told_in_words_that_are_the_handlers_to_use() {
    let js = pool(1);
    let host = Arc::new(Stubs::default());
    // body, way, kind, message, partly done, retryable
    let rows: &[(&str, &str, ErrorKind, &str, bool, bool)] = &[
        (
            "return { ok: false, error: { kind: 'not_found', message: 'no' } }",
            "failed",
            NotFound,
            "no",
            false,
            false,
        ),
        (
            "return { ok: false, error: { kind: 'VALIDATION', message: 'no' } }",
            "failed",
            InvalidArguments,
            "no",
            false,
            false,
        ),
        (
            "return { ok: false, error: { kind: 'conflict', message: 'no', retryable: true, partialSideEffects: true } }",
            "failed",
            Conflict,
            "no",
            true,
            true,
        ),
        (
            "return { ok: false, error: { kind: 'denied', message: 'no', retryable: true } }",
            "failed",
            Internal,
            "no",
            false,
            false,
        ),
        ("return { ok: false, error: {} }", "failed", Internal, "the tool failed", false, false),
        (
            "return { ok: false }",
            "failed",
            Internal,
            "the handler returned `ok: false` without an `error` instead of {ok, data}",
            true,
            false,
        ),
        (
            "return 7",
            "failed",
            Internal,
            "the handler returned a number instead of {ok, data}",
            true,
            false,
        ),
        ("", "failed", Internal, "the handler returned nothing instead of {ok, data}", true, false),
        (
            "return () => 1",
            "failed",
            Internal,
            "the handler returned nothing instead of {ok, data}",
            true,
            false,
        ),
        (
            "return { data: 1 }",
            "failed",
            Internal,
            "the handler returned an object without `ok` instead of {ok, data}",
            true,
            false,
        ),
        (
            "return { ok: true }",
            "unusable",
            ErrorKind::InvalidOutput,
            "the handler returned `ok: true` without `data`",
            false,
            false,
        ),
        (
            "return { ok: true, data: 1n }",
            "failed",
            Internal,
            "the handler returned something that is not JSON",
            true,
            false,
        ),
        (
            "const a = {}; a.a = a; return { ok: true, data: a }",
            "failed",
            Internal,
            "the handler returned something that is not JSON",
            true,
            false,
        ),
        (
            "return { ok: true, data: 1, intents: [{ type: 'FORMAT_DISK' }] }",
            "unusable",
            ErrorKind::InvalidOutput,
            "the handler returned intents that cannot be used: unknown variant `FORMAT_DISK`, expected one of \
             `END_VOICE_SESSION`, `SUPPRESS_AUDIO`, `SUPPRESS_TRANSCRIPT`, `SET_PENDING_MESSAGE`",
            false,
            false,
        ),
        (
            "throw new Error('with a path /etc')",
            "failed",
            Internal,
            "the tool failed on a fault in its handler",
            true,
            false,
        ),
        (
            "throw null",
            "failed",
            Internal,
            "the tool failed on a fault in its handler",
            true,
            false,
        ),
        ("null.x", "failed", Internal, "the tool failed on a fault in its handler", true, false),
        (
            "await new Promise(() => {})",
            "failed",
            Internal,
            "the handler waits for something that never comes",
            true,
            false,
        ),
        (
            "return { ok: true, data: 'x'.repeat(2 << 20) }",
            "unusable",
            ErrorKind::InvalidOutput,
            "the handler's answer has 2097173 bytes, more than it may have",
            false,
            false,
        ),
    ];
    for (text, way, kind, message, partial, retryable) in rows {
        let (came, error) = error(body(&js, text, &host).await);
        assert_eq!(
            (came, error.kind, error.message.as_str(), error.partial_side_effects, error.retryable),
            (*way, *kind, *message, *partial, *retryable),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_thrown_tool_error_keeps_everything_that_it_says() {
    let source = r#"import { ToolError } from "haft";
        export async function execute() {
            throw new ToolError("permanent", "no image", {
                retryable: false, partialSideEffects: true, suggestion: "ask first",
            });
        }"#;
    let (way, error) = error(run(&pool(1), source, json!({})).await);
    assert_eq!(way, "failed");
    assert_eq!((error.kind, error.message.as_str()), (Permanent, "no image"));
    assert_eq!(error.suggestion, "ask first");
    assert!(error.partial_side_effects && !error.retryable);
}

#[tokio::test]
async fn the_log_learns_the_line_and_the_model_does_not() {
    let source = "export async function execute() {\n  const secret = 1;\n  oops(secret);\n}";
    let (_, error) = error(run(&pool(1), source, json!({})).await);
    let source = error.source.clone().unwrap();
    assert!(source.contains("oops is not defined"), "{source}");
    assert!(source.contains("handler.js:3:3"), "{source}");
    let shown = serde_json::to_string(&error).unwrap();
    assert!(!shown.contains("oops") && !shown.contains("handler.js"), "{shown}");
}

#[tokio::test]
async fn a_module_that_cannot_be_loaded_is_not_begun() {
    let js = pool(1);
    for (source, why) in [
        ("export async function execute( {", "handler.js:1"),
        ("export default 1;", "it exports no function `execute`"),
        ("export const execute = 5;", "it exports no function `execute`"),
        ("throw new Error('early'); export function execute() {}", "early"),
        ("await new Promise(() => {}); export function execute() {}", "never comes"),
        ("import fs from 'fs'; export function execute() {}", "fs"),
        ("import 'haft:prelude'; export function execute() {}", "haft:prelude"),
        ("import { nothing } from 'haft'; export function execute() {}", "nothing"),
    ] {
        let (way, error) = error(run(&js, source, json!({})).await);
        assert_eq!((way, error.kind), ("not begun", Internal), "{source}");
        let told = error.source.clone().unwrap();
        assert!(told.contains(why), "{source}: {told}");
    }
    // The child is as good as before.
    let good = "export const execute = () => ({ ok: true, data: 1 });";
    assert_eq!(data(run(&js, good, json!({})).await), 1);
}
