//! 2,642 real calls: none that is valid is changed, and of those that are spelt as models spell
//! them, what is rescued is rescued to exactly what was meant.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use haft_core::contract::{Arguments, Fraction, Leniency, Mode};
use haft_core::digest::canonical;
use haft_runtime::arguments::Reader;
use serde_json::{Value, json};

const LENIENT: Arguments = Arguments { mode: Leniency::Lenient, fraction: Fraction::Refuse };

/// The corpus lies beside the workspace; not everyone has it.
fn file(name: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora").join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if std::env::var_os("CI").is_some() => panic!("{}: {error}", path.display()),
        Err(error) => {
            eprintln!("skipped: the corpus is not at {} ({error})", path.display());
            None
        }
    }
}

struct Function {
    schema: Value,
    reader: Reader,
    /// The schema's own word, asked without the reader.
    validator: haft_core::validator::Validator,
}

/// A call that its function accepts.
struct Sample<'f> {
    function: &'f Function,
    args: Value,
}

/// The functions that are called, imported as `haft import` does it.
fn functions(definitions: &str, wanted: &[Value]) -> HashMap<String, Function> {
    let all: Vec<Value> = serde_json::from_str(definitions).unwrap();
    let called: std::collections::HashSet<&str> =
        wanted.iter().map(|call| call["function"].as_str().unwrap()).collect();
    let used: Vec<&Value> =
        all.iter().filter(|f| called.contains(f["id"].as_str().unwrap())).collect();
    let import = haft_build::import::functions(&json!(used).to_string()).unwrap();
    assert_eq!(import.tools.len(), used.len());
    let compiled = import.tools.iter().zip(used).map(|(tool, definition)| {
        let contract: Value = serde_json::from_str(tool.file("schema.json").unwrap()).unwrap();
        let schema = contract["parameters"].clone();
        let reader = Reader::new(&schema, LENIENT, &Default::default()).unwrap();
        let validator = haft_core::validator::compile(&schema).unwrap();
        (definition["id"].as_str().unwrap().to_owned(), Function { schema, reader, validator })
    });
    compiled.collect()
}

/// Whether `effective` is `came` with members added; `1` and `1.0` are the same number.
fn only_adds(came: &Value, effective: &Value) -> bool {
    match (came, effective) {
        (Value::Object(came), Value::Object(effective)) => came
            .iter()
            .all(|(name, value)| effective.get(name).is_some_and(|e| only_adds(value, e))),
        (Value::Array(came), Value::Array(effective)) => {
            came.len() == effective.len()
                && came.iter().zip(effective).all(|(c, e)| only_adds(c, e))
        }
        (came, effective) => canonical(came) == canonical(effective),
    }
}

#[test]
fn what_models_misspell_is_read_as_it_was_meant_or_refused() {
    let (Some(calls), Some(definitions)) = (file("bfcl_calls.json"), file("bfcl_functions.json"))
    else {
        return;
    };
    let calls: Vec<Value> = serde_json::from_str(&calls).unwrap();
    let functions = functions(&definitions, &calls);
    let samples = valid(&calls, &functions);
    let rescued = calls.iter().filter(|call| is_rescued(call, &functions)).count();
    let mut table = format!(
        "{} calls, {} of them valid as they are, {rescued} more once repaired\n",
        calls.len(),
        samples.len()
    );
    let _ = writeln!(
        table,
        "{:<38} {:>6} {:>9} {:>8} {:>8} {:>8} {:>6}",
        "spelling", "calls", "as sent", "rescued", "in part", "refused", "other"
    );
    for mutation in MUTATIONS {
        let tally = tally(mutation, &samples);
        let Tally { sent, rescued, partly, refused, other } = &tally;
        let count = sent + rescued + partly + refused + other.len();
        let _ = writeln!(
            table,
            "{:<38} {count:>6} {sent:>9} {rescued:>8} {partly:>8} {refused:>8} {:>6}",
            mutation.name,
            other.len()
        );
        assert_eq!(other, &Vec::<String>::new(), "{}", mutation.name);
        assert!(count > 0, "{} was never tried", mutation.name);
    }
    eprintln!("{table}");
}

/// The calls that the schema takes as they are: nothing in them is changed, and only defaults are
/// added.
fn valid<'f>(calls: &[Value], functions: &'f HashMap<String, Function>) -> Vec<Sample<'f>> {
    let mut samples = Vec::new();
    for call in calls {
        let function = &functions[call["function"].as_str().unwrap()];
        let args = call["args"].clone();
        let read = function.reader.read(&args.to_string().as_str().into(), Mode::Text);
        if !function.validator.is_valid(&args) {
            continue;
        }
        let read = read.unwrap();
        assert_eq!(*read.received(), args, "{}", call["case"]);
        assert!(only_adds(&args, &read.effective), "{} {}", args, read.effective);
        let respelled = read.warnings.iter().all(|warning| warning.code == "integer_spelling");
        assert!(respelled, "{:?}", read.warnings);
        samples.push(Sample { function, args });
    }
    samples
}

/// Whether the corpus's own spelling of a call is refused by the schema and can be repaired.
fn is_rescued(call: &Value, functions: &HashMap<String, Function>) -> bool {
    let function = &functions[call["function"].as_str().unwrap()];
    let text = call["args"].to_string();
    let read = function.reader.read(&text.as_str().into(), Mode::Text);
    !function.validator.is_valid(&call["args"]) && read.is_ok()
}

#[derive(Default)]
struct Tally {
    /// The schema takes it as it came.
    sent: usize,
    /// Read as exactly the call that was meant.
    rescued: usize,
    /// As it was meant where the schema refuses what was sent, and as sent where it does not: a
    /// parameter without a type takes any value, and nothing that is accepted is touched.
    partly: usize,
    refused: usize,
    /// Read as another valid call.
    other: Vec<String>,
}

fn tally(mutation: &Mutation, samples: &[Sample<'_>]) -> Tally {
    let mut tally = Tally::default();
    for sample in samples {
        let mut places = vec![String::new()];
        pointers(&sample.args, "", &mut places);
        for place in places {
            let value = sample.args.pointer(&place).unwrap();
            let schema = schema_at(&sample.function.schema, &place);
            let Some(mangled) = (mutation.mangle)(value, schema, &place) else { continue };
            let mut sent = sample.args.clone();
            *sent.pointer_mut(&place).unwrap() = mangled;
            let reader = &sample.function.reader;
            match reader.read(&sent.to_string().as_str().into(), Mode::Text) {
                Err(_) => tally.refused += 1,
                Ok(read) if only_adds(&sent, &read.effective) => tally.sent += 1,
                Ok(read) if only_adds(&sample.args, &read.effective) => tally.rescued += 1,
                Ok(read) if mixes(&sent, &sample.args, &read.effective) => tally.partly += 1,
                Ok(read) => tally.other.push(format!("{sent} was read as {}", read.effective)),
            }
        }
    }
    tally
}

/// Whether every single value is either what was sent or what was meant.
fn mixes(sent: &Value, meant: &Value, effective: &Value) -> bool {
    match (sent, meant, effective) {
        (Value::Object(sent), Value::Object(meant), Value::Object(effective)) => {
            meant.iter().all(|(name, meant)| match (sent.get(name), effective.get(name)) {
                (Some(sent), Some(effective)) => mixes(sent, meant, effective),
                _ => false,
            })
        }
        (Value::Array(sent), Value::Array(meant), Value::Array(effective)) => {
            sent.len() == effective.len()
                && meant.len() == effective.len()
                && effective.iter().zip(sent).zip(meant).all(|((e, s), m)| mixes(s, m, e))
        }
        (sent, meant, effective) => only_adds(sent, effective) || only_adds(meant, effective),
    }
}

fn pointers(value: &Value, at: &str, out: &mut Vec<String>) {
    let inside: Vec<(String, &Value)> = match value {
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| (name.replace('~', "~0").replace('/', "~1"), value))
            .collect(),
        Value::Array(list) => list.iter().enumerate().map(|(n, v)| (n.to_string(), v)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return,
    };
    for (step, value) in inside {
        let at = format!("{at}/{step}");
        out.push(at.clone());
        pointers(value, &at, out);
    }
}

fn schema_at<'s>(schema: &'s Value, pointer: &str) -> &'s Value {
    pointer.split('/').skip(1).fold(schema, |schema, step| {
        let name = step.replace("~1", "/").replace("~0", "~");
        let member = schema.get("properties").and_then(|members| members.get(&name));
        member.or_else(|| schema.get("items")).unwrap_or(&Value::Null)
    })
}

/// One way in which a call is sent other than it is meant; `None` where it does not apply.
struct Mutation {
    name: &'static str,
    mangle: fn(&Value, &Value, &str) -> Option<Value>,
}

const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "number as string",
        mangle: |v, _, _| v.is_number().then(|| json!(v.to_string())),
    },
    Mutation { name: "integer as float", mangle: |v, _, _| v.as_i64().map(|n| json!(n as f64)) },
    Mutation {
        name: "boolean as string",
        mangle: |v, _, _| v.as_bool().map(|b| json!(if b { "True" } else { "False" })),
    },
    Mutation {
        name: "boolean as 0 or 1",
        mangle: |v, _, _| v.as_bool().map(|b| json!(i32::from(b))),
    },
    Mutation {
        name: "string as number or boolean",
        mangle: |v, _, _| {
            let bare: Value = serde_json::from_str(v.as_str()?).ok()?;
            (!bare.is_object() && !bare.is_array() && !bare.is_null() && !bare.is_string())
                .then_some(bare)
        },
    },
    Mutation {
        name: "one value for a list of one",
        mangle: |v, _, _| v.as_array().filter(|l| l.len() == 1).map(|l| l[0].clone()),
    },
    Mutation {
        name: "list as JSON in a string",
        mangle: |v, _, at| (v.is_array() && !at.is_empty()).then(|| json!(v.to_string())),
    },
    Mutation {
        name: "object as JSON in a string",
        mangle: |v, _, at| (v.is_object() && !at.is_empty()).then(|| json!(v.to_string())),
    },
    Mutation {
        name: "the whole as JSON in a string",
        mangle: |v, _, at| at.is_empty().then(|| json!(v.to_string())),
    },
    Mutation {
        name: "every number and boolean as string",
        mangle: |v, _, at| Some(v).filter(|_| at.is_empty()).map(all_strings).filter(|m| m != v),
    },
    Mutation { name: "listed word in capitals", mangle: |v, s, _| listed(v, s, str::to_uppercase) },
    Mutation {
        name: "listed word with space around",
        mangle: |v, s, _| listed(v, s, |w| format!(" {w} ")),
    },
    // From here on nothing may be read as anything but what was sent.
    Mutation {
        name: "wrong: listed word misspelt",
        mangle: |v, s, _| listed(v, s, |w| w.chars().rev().collect::<String>() + "x"),
    },
    Mutation {
        name: "wrong: listed word cut short",
        mangle: |v, s, _| listed(v, s, |w| w.chars().take(w.chars().count() - 1).collect()),
    },
    Mutation {
        name: "wrong: number with a unit",
        mangle: |v, _, _| v.is_number().then(|| json!(format!("{v} kg"))),
    },
    Mutation {
        name: "wrong: fraction for an integer",
        mangle: |v, _, _| v.as_i64().map(|n| json!(n as f64 + 0.5)),
    },
    Mutation {
        name: "wrong: integer beyond 2^53",
        mangle: |v, _, _| v.as_i64().map(|n| json!((1_i64 << 60) + n)),
    },
    Mutation {
        name: "wrong: yes or no for a boolean",
        mangle: |v, _, _| v.as_bool().map(|b| json!(if b { "yes" } else { "no" })),
    },
    Mutation {
        name: "wrong: list joined with commas",
        mangle: |v, _, _| {
            let words: Option<Vec<&str>> = v.as_array()?.iter().map(Value::as_str).collect();
            words.filter(|words| words.len() > 1).map(|words| json!(words.join(", ")))
        },
    },
    Mutation {
        name: "wrong: list as Python writes it",
        mangle: |v, _, at| {
            (v.is_array() && !at.is_empty()).then(|| json!(v.to_string().replace('"', "'")))
        },
    },
    Mutation {
        name: "wrong: list for one value",
        mangle: |v, _, at| (!v.is_array() && !at.is_empty()).then(|| json!([v])),
    },
    Mutation {
        name: "wrong: null",
        mangle: |v, _, at| (!v.is_null() && !at.is_empty()).then_some(Value::Null),
    },
    Mutation {
        name: "wrong: parameter misspelt",
        mangle: |v, _, at| {
            let mut renamed = v.as_object().filter(|_| at.is_empty())?.clone();
            let name = renamed.keys().next()?.clone();
            let value = renamed.shift_remove(&name)?;
            renamed.insert(format!("{name}s"), value);
            Some(Value::Object(renamed))
        },
    },
];

fn all_strings(value: &Value) -> Value {
    match value {
        Value::Object(map) => map.iter().map(|(n, v)| (n.clone(), all_strings(v))).collect(),
        Value::Array(list) => list.iter().map(all_strings).collect(),
        Value::Bool(_) | Value::Number(_) => json!(value.to_string()),
        Value::Null | Value::String(_) => value.clone(),
    }
}

fn listed(value: &Value, schema: &Value, spell: fn(&str) -> String) -> Option<Value> {
    let words = schema.get("enum")?.as_array()?;
    let spelt = json!(spell(value.as_str()?));
    (!words.contains(&spelt)).then_some(spelt)
}
