//! Secrets that become known while calls are made: whose they are, and for how long they are hidden.

use std::sync::{Arc, Barrier};

use haft_core::port::{Ended, Hidden, Owner};
use haft_core::secret::SecretText;
use haft_core::{ErrorKind, ToolError};
use haft_runtime::redact::{Scrubber, Secret};
use serde_json::json;

use super::world::{Does, World, call};

fn connection(tenant: &str, id: &str) -> Owner {
    Owner::Connection { tenant: tenant.to_owned(), id: id.to_owned() }
}

fn hide(world: &World, owner: &Owner, secret: &str) -> Hidden {
    world.runtime.hide(owner, "work", &SecretText::new(secret)).unwrap()
}

/// Which of the secrets are not told when a tool tells all of them.
async fn hidden(world: &World, secrets: &[String]) -> Vec<usize> {
    world.next("find", Does::Returns(json!({ "did": secrets })));
    let told = world.call(call("find", "k")).await.result.unwrap().to_string();
    (0..secrets.len()).filter(|at| !told.contains(&secrets[*at])).collect()
}

fn secrets(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("canary-number-{n:03}")).collect()
}

#[tokio::test]
async fn connections_of_one_name_do_not_push_each_other_out() {
    let world = World::new();
    let all = secrets(40);
    drop(hide(&world, &connection("default", "work"), &all[0]));
    for (at, secret) in all.iter().enumerate().skip(1) {
        drop(hide(&world, &connection(&format!("tenant{at}"), "work"), secret));
    }
    assert_eq!(hidden(&world, &all).await, [0], "and nobody is told of the others");
}

#[tokio::test]
async fn what_is_in_use_stays_hidden_however_often_its_owner_gets_another() {
    let world = World::new();
    let owner = connection("default", "work");
    let all = secrets(20);
    let in_use = hide(&world, &owner, &all[0]);
    for secret in &all[1..] {
        drop(hide(&world, &owner, secret));
    }
    let last: Vec<usize> = [0].into_iter().chain(12..20).collect();
    assert_eq!(hidden(&world, &all).await, last, "and of the others the last ones");
    // When it is not in use any more, it goes like the others.
    drop(in_use);
    for secret in secrets(30).iter().skip(20) {
        drop(hide(&world, &owner, secret));
    }
    assert_eq!(hidden(&world, &all).await, [0_usize; 0]);
}

/// Errors lose what cannot be seen, and what stood around it comes together.
#[tokio::test]
async fn what_comes_together_when_an_error_is_cleaned_is_no_secret() {
    let world = World::new();
    let kept = hide(&world, &connection("default", "work"), "canary-number-000");
    for between in ["\u{34f}", "\u{e0041}", "\u{1b}[31m", "\u{1b}x", "\u{1b}]0;t\u{7}", "\u{9b}1m"]
    {
        let words = format!("no: canary-{between}number-000, sorry");
        let error = ToolError::new(ErrorKind::Permanent, words);
        world.next("find", Does::Ends(Ended::Failed(error)));
        let told = world.call(call("find", "k")).await.result.unwrap_err();
        assert_eq!(told.message, "no: [secret], sorry", "{between:?}");
    }
    drop(kept);
}

/// Words are cut when they have been looked through, so that nothing is left of what was at the cut.
#[tokio::test]
async fn a_long_error_is_cut_after_its_secrets_are_out() {
    const CUT: usize = 4_000;
    let world = World::new();
    let kept = hide(&world, &connection("default", "work"), "canary-number-000");
    for before in CUT - 20..CUT + 3 {
        let words = format!("{}canary-number-000", "x".repeat(before));
        let error = ToolError::new(ErrorKind::Permanent, words.as_str()).suggest(words);
        world.next("find", Does::Ends(Ended::Failed(error)));
        let told = world.call(call("find", "k")).await.result.unwrap_err();
        for words in [&told.message, &told.suggestion] {
            assert!(!words.contains('c') || words.contains("[sec"), "{before}: {words}");
            assert!(words.chars().count() <= CUT + 1, "{before}");
        }
    }
    drop(kept);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_hide_the_same_take_one_place() {
    let world = World::new();
    let owner = connection("default", "work");
    let all = secrets(8);
    for secret in &all {
        let barrier = Arc::new(Barrier::new(16));
        let threads: Vec<_> = (0..16)
            .map(|_| {
                let (runtime, owner) = (world.runtime.clone(), owner.clone());
                let (secret, barrier) = (SecretText::new(secret.as_str()), barrier.clone());
                std::thread::spawn(move || {
                    barrier.wait();
                    drop(runtime.hide(&owner, "work", &secret).unwrap());
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }
    assert_eq!(hidden(&world, &all).await, (0..8).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_calls_use_stays_hidden_when_other_secrets_are_declared() {
    let world = World::new();
    let all = secrets(3);
    let _in_use = hide(&world, &connection("default", "work"), &all[0]);
    let declared = Secret::new("declared", all[1].as_str()).unwrap();
    world.runtime.guard(&Scrubber::new(&[declared]).unwrap()).unwrap();
    assert_eq!(hidden(&world, &all).await, [0, 1]);
}
