//! Whatever a provider's dialect could not say, the one path checks: arguments are judged by the
//! contract's own schema, never by the one that the model was shown.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_core::call::RawArguments;
use haft_core::port::{Boxed, Ended, Execute, Invoke as _, Job};
use haft_core::registry::Tool;
use haft_core::{Call, Caller, ErrorKind};
use haft_runtime::Runtime;
use haft_runtime::policy::{Policy, Rules, Source};
use haft_store::Memory;
use haft_wire::Target;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

use crate::policy::world::{registry, tool};

/// A schema, a value that it accepts, and one of the same type that it does not.
type Sample = (Value, Value, Value);

fn leaf() -> impl Strategy<Value = Sample> {
    let sample = |schema: Value, good: Value, bad: Value| Just((schema, good, bad));
    prop_oneof![
        sample(json!({"type": "string", "enum": ["red", "green"]}), json!("red"), json!("blue")),
        sample(json!({"type": "string", "const": "one"}), json!("one"), json!("two")),
        (1..6_usize).prop_map(|most| {
            let text = |length| json!("x".repeat(length));
            (json!({"type": "string", "maxLength": most}), text(most), text(most + 1))
        }),
        (1..6_usize).prop_map(|least| {
            let text = |length| json!("x".repeat(length));
            (json!({"type": "string", "minLength": least}), text(least), text(least - 1))
        }),
        sample(json!({"type": "string", "pattern": "^[a-z]+$"}), json!("abc"), json!("A1")),
        sample(
            json!({"type": "string", "format": "date-time"}),
            json!("2026-01-31T09:30:00Z"),
            json!("soon")
        ),
        (-9..9_i64).prop_map(|n| (
            json!({"type": "integer", "maximum": n}),
            json!(n),
            json!(n + 1)
        )),
        (-9..9_i64).prop_map(|n| (
            json!({"type": "integer", "minimum": n}),
            json!(n),
            json!(n - 1)
        )),
        sample(json!({"type": "number", "exclusiveMinimum": 0}), json!(0.5), json!(0)),
        sample(json!({"type": "integer", "multipleOf": 5}), json!(10), json!(12)),
    ]
}

fn any() -> impl Strategy<Value = Sample> {
    leaf().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|(schema, good, bad)| {
                (json!({"type": "array", "items": schema}), json!([good]), json!([good, bad]))
            }),
            inner.clone().prop_map(|(schema, good, _)| {
                let list = json!({"type": "array", "items": schema, "maxItems": 2, "minItems": 1});
                (list, json!([good]), json!([good, good, good]))
            }),
            (inner.clone(), inner.clone(), any_of_two()).prop_map(|(one, two, wrong)| {
                let schema = object(&one.0, &two.0, true);
                let bad = match wrong {
                    true => json!({"one": one.2, "two": two.1}),
                    false => json!({"one": one.1}),
                };
                (schema, json!({"one": one.1, "two": two.1}), bad)
            }),
            inner.prop_map(|(schema, good, bad)| {
                let map = json!({"type": "object", "additionalProperties": schema});
                (map, json!({"k": good}), json!({"k": good, "l": bad}))
            }),
        ]
    })
}

fn any_of_two() -> impl Strategy<Value = bool> {
    prop_oneof![Just(true), Just(false)]
}

fn object(one: &Value, two: &Value, both: bool) -> Value {
    let required = if both { json!(["one", "two"]) } else { json!(["one"]) };
    json!({
        "type": "object", "additionalProperties": false, "required": required,
        "properties": {"one": one, "two": two},
    })
}

fn acting(schema: &Value) -> Tool {
    let changes = json!({
        "category": "action", "sideEffects": "writes", "effect": "state_change",
        "sideEffectPolicy": "irreversible", "idempotent": false, "parameters": schema,
        "arguments": {"mode": "strict", "fraction": "refuse"},
    });
    tool("test__act", changes)
}

/// Takes anything, and counts.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Execute for Counting {
    fn can_run(&self, _: &Tool) -> bool {
        true
    }

    fn execute<'a>(&'a self, _: Job) -> Boxed<'a, Ended> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ended::Returned { data: Value::Null, intents: Vec::new() } })
    }
}

fn path(tool: Tool) -> (Runtime, Arc<Counting>) {
    let registry = registry("test", vec![tool]);
    let rules = Rules { allow: vec!["test__*".into()], ..Rules::default() };
    let source = Source { rules, ..Source::default() };
    let policy = Policy::load(&source, &[&registry]).unwrap();
    let ran = Arc::new(Counting::default());
    let builder = Runtime::builder(registry, Arc::new(Memory::new()), ran.clone());
    (builder.policy(Arc::new(policy)).build().unwrap(), ran)
}

/// The schema that a model is shown, where it is one that a validator reads.
fn shown(tools: &Value) -> Option<jsonschema::Validator> {
    let schema = ["/0/function/parameters", "/0/parameters", "/0/input_schema", "/0/inputSchema"]
        .into_iter()
        .find_map(|place| tools.pointer(place))?;
    jsonschema::draft202012::new(schema).ok()
}

thread_local! {
    /// How much a dialect's own schema would have let through.
    static LET_THROUGH: Cell<usize> = const { Cell::new(0) };
}

/// What a model says in each dialect is done if the contract's schema accepts it, and not otherwise.
fn check(schema: &Value, said: &[Value]) -> Result<(), String> {
    let canonical = jsonschema::options().should_validate_formats(true).build(schema).unwrap();
    let tool = acting(schema);
    let (runtime, ran) = path(tool.clone());
    let here = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for target in Target::ALL {
        let rendering = target.render([&tool]);
        let Some(wire) = rendering.wire_name("test__act") else { continue };
        for (at, value) in said.iter().enumerate() {
            // As the dialect would have it said, where it can say it at all.
            let lowered = rendering.lower_arguments("test__act", value);
            let text = lowered.as_ref().unwrap_or(value);
            let raised = rendering.arguments(wire, &text.to_string());
            let back = match &raised {
                RawArguments::Value(value) | RawArguments::Read(value, _) => value.clone(),
                RawArguments::Text(text) => serde_json::from_str(text).unwrap(),
            };
            let fits = canonical.is_valid(&back);
            if !fits && shown(&rendering.tools).is_some_and(|shown| shown.is_valid(text)) {
                LET_THROUGH.set(LET_THROUGH.get() + 1);
            }
            let mut call = Call::new(Caller::agent("default", "default"), "act", raised);
            call.key = Some(format!("{}/{at}", target.name()));
            let before = ran.0.load(Ordering::SeqCst);
            let end = here.block_on(runtime.invoke(call));
            let done = ran.0.load(Ordering::SeqCst) - before;
            let why = || format!("{}: {text} as {back} of {schema}: {end:?}", target.name());
            // With the schema's own words for what is wrong.
            let refused = end.result.as_ref().err().map(|it| (it.kind, it.details.is_some()));
            let expected = (!fits).then_some((ErrorKind::InvalidArguments, true));
            if refused != expected || done != usize::from(fits) {
                return Err(why());
            }
        }
    }
    Ok(())
}

fn cases() -> ProptestConfig {
    let (rng_seed, cases) = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => (RngSeed::Random, ProptestConfig::default().cases),
        None => (RngSeed::Fixed(1), 100),
    };
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn what_breaks_the_contract_is_refused_whatever_a_dialect_dropped(
        one in any(), two in any(), both: bool,
    ) {
        let schema = object(&one.0, &two.0, both);
        let bad = [
            json!({"one": one.2, "two": two.1}),
            json!({"one": one.1, "two": two.2}),
            json!({"one": one.1, "two": two.1, "three": 3}),
            json!({"two": two.1}),
        ];
        let good = json!({"one": one.1, "two": two.1});
        let canonical = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
        prop_assert!(canonical.is_valid(&good), "{} {}", schema, good);
        prop_assert!(bad.iter().all(|bad| !canonical.is_valid(bad)), "{} {:?}", schema, bad);
        let said: Vec<Value> = bad.into_iter().chain([good]).collect();
        if let Err(why) = check(&schema, &said) {
            prop_assert!(false, "{}", why);
        }
    }
}

/// Some of it a model was never told, so the test above means something.
#[test]
fn dialects_drop_what_the_path_checks() {
    for (schema, _, bad) in [
        (json!({"type": "string", "maxLength": 3}), json!("x"), json!("xxxx")),
        (json!({"type": "integer", "maximum": 3}), json!(3), json!(4)),
        (json!({"type": "string", "pattern": "^a$"}), json!("a"), json!("b")),
    ] {
        let whole = object(&schema, &schema, true);
        check(&whole, &[json!({"one": bad, "two": bad})]).unwrap();
    }
    assert!(LET_THROUGH.get() > 0);
}
