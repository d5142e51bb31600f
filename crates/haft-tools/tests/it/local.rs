//! A model in a folder. `scripts/local-model` fetches it, says where it is, and runs these.

use std::path::PathBuf;
use std::sync::Arc;

use haft_tools::kb::embed::{Embed as _, Local, Purpose};
use haft_tools::kb::{Base, Import, Setup};

use crate::meaning::{KNOWN, QUESTIONS, RECORDS};
use crate::rig::{Rig, ask};

/// The folder; without it there is nothing to test, and CI says so.
#[expect(clippy::print_stderr, reason = "what is skipped is said")]
fn model() -> Option<Local> {
    let folder = std::env::var_os("HAFT_MODEL").map(PathBuf::from);
    assert!(folder.is_some() || std::env::var("CI").as_deref() != Ok("true"), "CI does not skip");
    match folder {
        Some(folder) => Some(Local::new(&folder).unwrap()),
        None => {
            eprintln!("skipped: `HAFT_MODEL` names no folder; `scripts/local-model` does");
            None
        }
    }
}

fn alike(one: &[f32], other: &[f32]) -> f32 {
    let length = |vector: &[f32]| vector.iter().map(|part| part * part).sum::<f32>().sqrt();
    one.iter().zip(other).map(|(a, b)| a * b).sum::<f32>() / length(one) / length(other)
}

#[test]
fn it_says_what_another_implementation_says() {
    let Some(model) = model() else { return };
    let (texts, expected): (Vec<String>, Vec<&Vec<f32>>) =
        KNOWN.iter().map(|(text, vector)| (text.clone(), vector)).unzip();
    let made = model.embed(&texts, Purpose::Import).unwrap();
    for ((text, made), expected) in texts.iter().zip(&made).zip(expected) {
        assert!(alike(made, expected) > 0.999, "{text}: {}", alike(made, expected));
    }
    // Alone or among longer ones, a text means the same.
    let alone = model.embed(&texts[..1], Purpose::Search).unwrap();
    assert!(alike(&alone[0], &made[0]) > 0.9999);
}

#[test]
fn a_base_is_searched_with_it() {
    let Some(model) = model() else { return };
    let rig = Rig::new();
    rig.write("kb/a.jsonl", RECORDS);
    let setup = Setup { embed: Some(Arc::new(model)), ..rig.setup() };
    let import =
        Import { sources: vec![rig.root().join("kb")], root: rig.root().to_owned(), anew: false };
    assert_eq!(import.run(&setup).unwrap().embedded, 24);
    assert_eq!(import.run(&setup).unwrap().embedded, 0);
    let base = Base::new(setup);
    for (question, answer) in QUESTIONS {
        let found = base.search(&ask(question)).unwrap();
        assert_eq!(
            (found.hits[0].record.id.as_str(), found.degraded),
            (answer, None),
            "{question}"
        );
    }
}
