//! The public test suite of JSON Schema, draft 2020-12.
//!
//! It is run twice: with the validator as its authors ship it, and as [`validator::compile`] sets
//! it up. What fails is listed in `schema_suite_failures.txt`, which may only get shorter.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use haft_core::validator;
use jsonschema::{Draft, Registry};
use serde::Deserialize;
use serde_json::Value;

const LISTED: &str = include_str!("schema_suite_failures.txt");

#[derive(Deserialize)]
struct Part {
    file: String,
    optional: bool,
    format: bool,
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    description: String,
    schema: Value,
    tests: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    description: String,
    data: Value,
    valid: bool,
}

/// Which cases failed, and how many there were.
#[derive(Default)]
struct Score {
    failed: BTreeSet<String>,
    required: usize,
    required_failed: usize,
    optional: usize,
    optional_failed: usize,
}

#[test]
fn the_validator_as_it_is_shipped() {
    let Some(suite) = read::<Vec<Part>>("draft2020-12.json") else { return };
    let remotes: BTreeMap<String, Value> = read("remotes.json").expect("the suite has its remotes");
    let registry = remotes
        .iter()
        // Those of a later draft.
        .filter(|(uri, _)| !uri.contains("/v1/"))
        .try_fold(Registry::new(), |registry, (uri, schema)| registry.add(uri, schema))
        .and_then(jsonschema::RegistryBuilder::prepare)
        .expect("the remotes are schemas");
    let score = run(&suite, |part, schema| {
        let options = jsonschema::options().with_draft(Draft::Draft202012).with_registry(&registry);
        let options = match part.format {
            true => options.should_validate_formats(true),
            false => options,
        };
        options.build(schema).map_err(|error| error.to_string())
    });
    let missed = score.required_failed * 100;
    assert!(missed <= score.required, "{} of {}", score.required_failed, score.required);
    compare("shipped", &score);
}

#[test]
fn the_validator_as_we_set_it_up() {
    let Some(suite) = read::<Vec<Part>>("draft2020-12.json") else { return };
    let score = run(&suite, |_, schema| {
        validator::compile(schema).map(|validator| jsonschema::Validator::clone(&validator))
    });
    compare("ours", &score);
}

fn run(
    suite: &[Part],
    compile: impl Fn(&Part, &Value) -> Result<jsonschema::Validator, String>,
) -> Score {
    let mut score = Score::default();
    for part in suite {
        for group in &part.groups {
            let validator = compile(part, &group.schema);
            for case in &group.tests {
                let verdict = validator.as_ref().map(|validator| validator.is_valid(&case.data));
                let failed = verdict != Ok(case.valid);
                score.add(part, failed);
                if failed {
                    let (group, case) = (&group.description, &case.description);
                    score.failed.insert(format!("{} > {group} > {case}", part.file));
                }
            }
        }
    }
    score
}

impl Score {
    fn add(&mut self, part: &Part, failed: bool) {
        let (all, missed) = match part.optional {
            true => (&mut self.optional, &mut self.optional_failed),
            false => (&mut self.required, &mut self.required_failed),
        };
        *all += 1;
        *missed += usize::from(failed);
    }
}

/// The list names each failing case once, in sections `[shipped: why]` and `[ours: why]`.
#[track_caller]
fn compare(run: &str, score: &Score) {
    let mut listed = BTreeSet::new();
    let mut ours = false;
    for line in LISTED.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix('[') {
            Some(section) => ours = section.starts_with(&format!("{run}: ")),
            None if ours => assert!(listed.insert(line.to_owned()), "listed twice: {line}"),
            None => {}
        }
    }
    let (required, optional) = (score.required, score.optional);
    eprintln!(
        "{run}: {} of {required} required and {} of {optional} optional cases pass",
        required - score.required_failed,
        optional - score.optional_failed,
    );
    let new: Vec<_> = score.failed.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&score.failed).collect();
    assert!(new.is_empty(), "these fail and are not listed:\n{}", lines(&new));
    assert!(gone.is_empty(), "these pass now; take them off the list:\n{}", lines(&gone));
}

fn lines(cases: &[&String]) -> String {
    cases.iter().map(|case| format!("{case}\n")).collect()
}

/// A file of the suite, which stands beside the workspace.
fn read<T: for<'de> Deserialize<'de>>(file: &str) -> Option<T> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/json-schema-test-suite");
    let path: PathBuf = folder.join(file);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(serde_json::from_str(&text).expect("the suite is JSON of a known shape")),
        Err(why) if std::env::var_os("CI").is_some() => panic!("{}: {why}", path.display()),
        Err(why) => {
            eprintln!("skipped: the JSON Schema test suite is not at {}: {why}", path.display());
            None
        }
    }
}
