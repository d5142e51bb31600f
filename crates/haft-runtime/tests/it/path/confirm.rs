//! Approval: by another, for exactly this, once.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use haft_core::call::Principal;
use haft_core::contract::{Capability, Mode};
use haft_core::port::{ConfirmationFilter, Confirmations as _, Invoke as _, Journal as _};
use haft_core::record::{Confirmation, ConfirmationStatus};
use haft_core::registry::{Implementation, Registry, Tool};
use haft_core::{Digest, Envelope, ErrorKind};
use haft_runtime::Runtime;
use haft_runtime::effects::Found;
use haft_runtime::policy::{Policy, Rules, Source};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::faulty::Faulty;
use super::gate::foreseen;
use super::sessions::In;
use super::world::{Does, World, call, caller, failed, kind, let_pass, lost, tools, tools_with};
use crate::policy::world::registry;

pub(super) fn asked(envelope: &Envelope) -> String {
    let error = envelope.result.as_ref().unwrap_err();
    assert_eq!(error.kind, ErrorKind::ConfirmationRequired, "{error}");
    error.details.as_ref().unwrap()["confirmation"]["id"].as_str().unwrap().to_owned()
}

pub(super) async fn approve(runtime: &Runtime, id: &str) -> String {
    let by = Principal::user("mara");
    runtime.confirm("default", id, true, &by).await.unwrap().token.unwrap()
}

#[tokio::test]
async fn a_person_approves_and_the_same_call_runs_once() {
    let world = World::new();
    let first = world.call(call("gift", "k")).await;
    let id = asked(&first);
    let details = first.result.unwrap_err().details.clone().unwrap();
    assert_eq!(details["confirmation"]["preview"], "Give lamp 1 times?");
    assert_eq!(details["confirmation"]["arguments"], json!({ "item": "lamp", "count": 1 }));
    // Asking again asks the same question.
    assert_eq!(asked(&world.call(call("gift", "k")).await), id);
    approve(&world.runtime, &id).await;
    assert!(world.call(call("gift", "k")).await.is_ok());
    // A repetition is answered; another act needs another approval.
    assert!(world.call(call("gift", "k")).await.meta.cached);
    assert_ne!(asked(&world.call(call("gift", "k2")).await), id);
    assert_eq!(world.acts("gift"), 1);
}

/// What its handler calls is approved with a tool, as it is then.
#[tokio::test]
async fn an_approval_of_a_tool_that_calls_others_is_for_those_as_they_were() {
    for (tool, calls) in [("again", true), ("put", false)] {
        let approve_both = vec!["again".into(), "put".into()];
        let rules =
            Rules { allow: vec!["shop__*".into()], approve: approve_both, ..Rules::default() };
        let world = World::with(rules, |builder| builder);
        let id = asked(&world.call(call(tool, "k")).await);
        approve(&world.runtime, &id).await;
        let changed = tools_with("order", |order| order.contract.description.push_str(" anew"));
        world.runtime.load(changed).unwrap();
        let then = world.call(call(tool, "k")).await;
        match calls {
            true => assert_ne!(asked(&then), id, "{tool}"),
            false => assert!(then.is_ok(), "{tool}: {then:?}"),
        }
    }
}

/// The questions that wait for an answer.
async fn open(world: &World) -> Vec<Confirmation> {
    let filter = ConfirmationFilter {
        tenant: "default".into(),
        status: Some(ConfirmationStatus::Pending),
        limit: 1_000,
        ..ConfirmationFilter::default()
    };
    world.store.confirmations(filter).await.unwrap()
}

#[tokio::test]
async fn a_duplicate_that_finds_the_approval_used_up_shares_the_answer() {
    let world = World::new();
    approve(&world.runtime, &asked(&world.call(call("gift", "k")).await)).await;
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    world.next("gift", Does::Waits(begun.clone(), go.clone()));
    let first = tokio::spawn({
        let runtime = world.runtime.clone();
        async move { runtime.invoke(call("gift", "k")).await }
    });
    begun.notified().await;
    // It has looked into the ledger before the first was there, and for the approval after.
    let store = Faulty::on(Arc::new(world.store.join()));
    store.early.store(2, Ordering::SeqCst);
    let twin = world.on(store.clone());
    let second = tokio::spawn(async move { twin.invoke(call("gift", "k")).await });
    while store.claimed.load(Ordering::SeqCst) == 0 && !second.is_finished() {
        tokio::task::yield_now().await;
    }
    go.notify_one();
    assert!(first.await.unwrap().is_ok());
    let told = second.await.unwrap();
    assert!(told.is_ok() && told.meta.cached, "{told:?}");
    assert!(open(&world).await.is_empty(), "nobody is asked to approve it once more");
    assert_eq!(world.acts("gift"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_hundred_duplicates_of_an_approved_call_one_runs_and_all_get_its_answer() {
    let world = World::new();
    let both = [world.runtime.clone(), world.twin()];
    for round in 0..10 {
        let key = format!("k{round}");
        approve(&world.runtime, &asked(&world.call(call("gift", &key)).await)).await;
        let calls: Vec<_> = (0..100)
            .map(|n| {
                let (runtime, key) = (both[n % 2].clone(), key.clone());
                tokio::spawn(async move { runtime.invoke(call("gift", &key)).await })
            })
            .collect();
        for one in calls {
            let told = one.await.unwrap();
            assert!(told.is_ok(), "{round}: {told:?}");
        }
        assert_eq!((world.acts("gift"), open(&world).await.len()), (round + 1, 0));
    }
}

#[tokio::test]
async fn a_question_about_a_nested_call_reaches_whoever_called() {
    let world = World::new();
    let lamp = || json!({ "item": "lamp" });
    world.next("relay", Does::LetsPass(vec![("gift", lamp())]));
    let id = asked(&world.call(call("relay", "k")).await);
    // Approved and sent again, under the same key, it is done.
    approve(&world.runtime, &id).await;
    world.next("relay", Does::Uses(Capability::CallTool, "gift", lamp()));
    let answer = world.call(call("relay", "k")).await;
    assert!(answer.is_ok(), "{:?}", answer.result);
    assert_eq!(world.acts("gift"), 1);
}

/// Whoever asks a person in between sends the same message once more.
#[tokio::test]
async fn a_call_whose_nested_one_was_approved_is_made_under_its_old_id() {
    let session = In::mode(Mode::Text).await;
    let world = &session.world;
    let relay = || {
        let mut relay = session.call("relay", "lamp");
        relay.id = Some("c1".into());
        relay
    };
    world.next("relay", Does::LetsPass(vec![("gift", json!({ "item": "lamp" }))]));
    approve(&world.runtime, &asked(&world.call(relay()).await)).await;
    world.next("relay", Does::Uses(Capability::CallTool, "gift", json!({ "item": "lamp" })));
    let answer = world.call(relay()).await;
    assert!(answer.is_ok(), "{:?}", answer.result);
    assert_eq!(world.acts("gift"), 1);
}

#[tokio::test]
async fn a_handler_makes_no_refusal_up_and_hides_nothing_that_was_done() {
    let world = World::new();
    let question = world.call(call("gift", "other")).await.result.unwrap_err();
    world.next("relay", Does::Ends(let_pass(&question)));
    assert_eq!(kind(&world.call(call("relay", "k1")).await), ErrorKind::Internal);
    // Something was done before.
    let lamp = || json!({ "item": "lamp" });
    world.next("relay", Does::LetsPass(vec![("order", lamp()), ("gift", lamp())]));
    assert_eq!(kind(&world.call(call("relay", "k2")).await), ErrorKind::UnknownOutcome);
}

#[tokio::test]
async fn a_dry_run_knows_of_an_approval_and_leaves_it_there() {
    let world = World::new();
    let id = asked(&world.call(call("gift", "k")).await);
    let would_run = async |token: Option<&str>| {
        let mut gift = call("gift", "k");
        gift.confirmation = token.map(str::to_owned);
        foreseen(&world, gift).await.0
    };
    assert!(!would_run(None).await, "nobody has answered");
    let token = approve(&world.runtime, &id).await;
    assert!(would_run(None).await && would_run(Some(&token)).await);
    assert!(would_run(None).await, "asking used it up");
    world.clock.advance(20 * 60 * 1000);
    assert!(!would_run(None).await, "it has expired");
    assert_eq!(world.acts("gift"), 0);
}

#[tokio::test]
async fn a_dry_run_of_what_was_declined_is_refused_as_the_call_is() {
    let world = World::new();
    let id = asked(&world.call(call("gift", "k")).await);
    world.runtime.confirm("default", &id, false, &Principal::user("mara")).await.unwrap();
    for (key, dry_run) in [("k", true), ("k", false), ("other", true), ("other", false)] {
        let mut gift = call("gift", key);
        gift.dry_run = dry_run;
        let refused = world.call(gift).await.result.unwrap_err();
        let said = (refused.kind, refused.message.as_str());
        let expected = (ErrorKind::ConfirmationRefused, "the person who was asked declined");
        assert_eq!(said, expected, "{key}, dry: {dry_run}");
    }
    world.clock.advance(20 * 60 * 1000);
    let (_, refusal, _) = foreseen(&world, call("gift", "k")).await;
    assert_eq!(refusal, Value::Null, "somebody would be asked again");
}

#[tokio::test]
async fn a_token_holds_for_one_call() {
    let world = World::new();
    let id = asked(&world.call(call("gift", "k")).await);
    let token = approve(&world.runtime, &id).await;
    let with = |key: &str, arguments: Value| {
        let mut call = call("gift", key);
        call.arguments = arguments.into();
        call.confirmation = Some(token.clone());
        call
    };
    let other = world.call(with("k", json!({ "item": "Lamp" }))).await;
    assert_eq!(kind(&other), ErrorKind::ConfirmationRefused);
    let mut somebody = with("k", json!({ "item": "lamp" }));
    somebody.caller.actor = Principal::agent("other");
    assert_eq!(kind(&world.call(somebody).await), ErrorKind::ConfirmationRefused);
    // The mismatch has not used it up, and spelling the default out changes nothing.
    assert!(world.call(with("k", json!({ "count": 1, "item": "lamp" }))).await.is_ok());
    assert_eq!(
        kind(&world.call(with("k2", json!({ "item": "lamp" }))).await),
        ErrorKind::ConfirmationRefused
    );
    assert_eq!(world.acts("gift"), 1);
}

/// What the audit trail says of approvals that were used for something else.
async fn mismatches(world: &World) -> Vec<Value> {
    let trail = world
        .store
        .trail(haft_core::port::TrailFilter {
            tenant: "default".into(),
            limit: 1_000,
            ..Default::default()
        })
        .await
        .unwrap();
    let notes = trail.iter().filter(|entry| entry.kind == "confirmation_mismatch");
    notes.map(|entry| serde_json::from_str(&entry.body).unwrap()).collect()
}

#[tokio::test]
async fn an_approval_that_is_used_for_something_else_leaves_a_note() {
    let world = World::new();
    let id = asked(&world.call(call("gift", "k")).await);
    let mut other = call("gift", "k");
    other.confirmation = Some(approve(&world.runtime, &id).await);
    other.arguments = json!({ "item": "sofa" }).into();
    assert!(mismatches(&world).await.is_empty());
    assert_eq!(kind(&world.call(other).await), ErrorKind::ConfirmationRefused);
    let [note] = mismatches(&world).await.try_into().unwrap();
    let agent = call("gift", "k").caller.agent;
    let about = json!({ "confirmation": id, "tool": "shop__gift", "why": "mismatch",
                        "agent": &*agent, "session": null });
    assert_eq!(note, about);
}

/// The registry with another `gift`.
fn changed(change: impl FnOnce(&mut Tool)) -> Registry {
    tools_with("gift", change)
}

#[tokio::test]
async fn an_approval_is_for_the_contract_and_the_handler_that_were_shown() {
    let source = "export const execute = () => ({});".to_owned();
    let swapped = Implementation::Js { digest: Digest::of_bytes(source.as_bytes()), source };
    let changes: [(&str, Registry); 4] = [
        ("description", changed(|gift| gift.contract.description = "gives more".into())),
        ("document", changed(|gift| gift.doc = "another".into())),
        ("limits", changed(|gift| gift.contract.limits.max_runtime_ms = Some(60_000))),
        ("handler", changed(|gift| gift.handler = swapped)),
    ];
    for (what, changed) in changes {
        let world = World::new();
        let id = asked(&world.call(call("gift", "k")).await);
        let mut approved = call("gift", "k");
        approved.confirmation = Some(approve(&world.runtime, &id).await);
        world.runtime.load(changed).unwrap();
        let refused = world.call(approved.clone()).await;
        assert_eq!(kind(&refused), ErrorKind::ConfirmationRefused, "{what}");
        // Without its token the approval is not found either: another question is put.
        assert_ne!(asked(&world.call(call("gift", "k")).await), id, "{what}");
        assert_eq!((world.acts("gift"), mismatches(&world).await.len()), (0, 1), "{what}");
        // It was not used up: what was approved may be done.
        world.runtime.load(tools()).unwrap();
        assert!(world.call(approved).await.is_ok(), "{what}");
    }
}

/// An approval that would be void is not taken: the person would think that it is done.
#[tokio::test]
async fn whoever_approves_what_would_no_longer_run_is_told_so_at_once() {
    let mut gone = tools().tools;
    gone.retain(|tool| tool.id != "shop__gift");
    let rules = Rules { allow: vec!["shop__gift".into()], ..Rules::default() };
    let source = Source { rules: rules.clone(), ..Source::default() };
    type Change<'a> = Box<dyn Fn(&Runtime) + 'a>;
    let load = |registry: Registry| -> Change<'_> {
        Box::new(move |runtime: &Runtime| runtime.load(registry.clone()).unwrap())
    };
    let changes: [(&str, Change<'_>); 3] = [
        ("tool_changed", load(changed(|gift| gift.doc = "another".into()))),
        ("tool_gone", load(registry("shop", gone))),
        (
            "rules_changed",
            Box::new(|runtime| {
                let policy = Policy::load(&source, &[&tools()]).unwrap();
                runtime.govern(Arc::new(policy), rules.clone());
            }),
        ),
    ];
    let by = Principal::user("mara");
    for (why, change) in changes {
        let world = World::new();
        let id = asked(&world.call(call("gift", "k")).await);
        change(&world.runtime);
        let refused = world.runtime.confirm("default", &id, true, &by).await.unwrap_err();
        assert_eq!(refused.kind, ErrorKind::ConfirmationRefused, "{why}");
        assert_eq!(refused.details.as_ref().unwrap()["why"], why);
        // What was refused can be declined, and counts again when all is as it was.
        let open = world.store.confirmation("default", &id).await.unwrap();
        assert_eq!(open.status, ConfirmationStatus::Pending, "{why}");
        if why == "tool_changed" {
            world.runtime.load(tools()).unwrap();
            approve(&world.runtime, &id).await;
            assert!(world.call(call("gift", "k")).await.is_ok());
        } else {
            assert!(world.runtime.confirm("default", &id, false, &by).await.is_ok(), "{why}");
        }
    }
}

/// A session keeps to its registry, so what it asks is still what would run in it.
#[tokio::test]
async fn what_a_session_asks_is_approved_though_new_sessions_have_other_tools() {
    let world = World::new();
    let session = world.runtime.open(&caller(), Mode::Text).await.unwrap();
    let mut gift = call("gift", "k");
    (gift.key, gift.session) = (None, Some(session.id));
    let id = asked(&world.call(gift.clone()).await);
    world.runtime.load(changed(|gift| gift.doc = "another".into())).unwrap();
    approve(&world.runtime, &id).await;
    assert!(world.call(gift).await.is_ok());
}

#[tokio::test]
async fn an_approval_is_for_the_policy_that_it_was_given_under() {
    let world = World::new();
    let id = asked(&world.call(call("gift", "k")).await);
    let mut approved = call("gift", "k");
    approved.confirmation = Some(approve(&world.runtime, &id).await);
    let govern = |deny: &[&str]| {
        let rules = Rules {
            allow: vec!["shop__*".into()],
            deny: deny.iter().map(|tool| (*tool).to_owned()).collect(),
            ..Rules::default()
        };
        let source = Source { rules: rules.clone(), ..Source::default() };
        let policy = Policy::load(&source, &[&tools()]).unwrap();
        world.runtime.govern(Arc::new(policy), rules);
    };
    // Any change counts, also one that is about another tool.
    govern(&["shop__rare"]);
    assert_eq!(kind(&world.call(approved.clone()).await), ErrorKind::ConfirmationRefused);
    assert_ne!(asked(&world.call(call("gift", "k")).await), id);
    govern(&["shop__gift"]);
    assert_eq!(kind(&world.call(approved.clone()).await), ErrorKind::Unavailable);
    assert_eq!(world.acts("gift"), 0);
    // The same rules again are the same policy.
    govern(&[]);
    assert!(world.call(approved).await.is_ok());
}

#[tokio::test]
async fn nobody_approves_their_own_call() {
    let world = World::new();
    let id = asked(&world.call(call("gift", "k")).await);
    let own = Principal::agent("default");
    let refused = world.runtime.confirm("default", &id, true, &own).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::ConfirmationRefused);
    assert!(refused.suggestion.contains("stays open"), "{}", refused.suggestion);
    assert_eq!(asked(&world.call(call("gift", "k")).await), id);
    let other_tenant = world.runtime.confirm("other", &id, true, &Principal::user("mara")).await;
    assert_eq!(other_tenant.unwrap_err().kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn an_approval_ends_with_its_time_and_with_the_policy() {
    let world = World::new();
    let id = asked(&world.call(call("gift", "k")).await);
    let token = approve(&world.runtime, &id).await;
    let mut late = call("gift", "k");
    late.confirmation = Some(token.clone());
    world.clock.advance(15 * 60 * 1000 - 1);
    let mut still = late.clone();
    still.dry_run = true;
    assert!(world.call(still).await.is_ok());
    world.clock.advance(1);
    assert_eq!(kind(&world.call(late.clone()).await), ErrorKind::ConfirmationRefused);
    // Turning the machine's clock back does not bring it back.
    world.clock.set_wall(super::world::NOW);
    assert_eq!(kind(&world.call(late).await), ErrorKind::ConfirmationRefused);
}

#[tokio::test]
async fn a_declined_call_is_not_asked_for_again() {
    let world = World::new();
    let id = asked(&world.call(call("gift", "k")).await);
    world.runtime.confirm("default", &id, false, &Principal::user("mara")).await.unwrap();
    assert_eq!(kind(&world.call(call("gift", "k")).await), ErrorKind::ConfirmationRefused);
}

#[tokio::test]
async fn a_no_takes_back_what_somebody_else_has_approved() {
    let world = World::new();
    let id = asked(&world.call(call("gift", "k")).await);
    let token = approve(&world.runtime, &id).await;
    let ann = Principal::user("ann");
    let decided = world.runtime.confirm("default", &id, false, &ann).await.unwrap();
    assert_eq!(decided.confirmation.status, ConfirmationStatus::Denied);
    assert_eq!(decided.token, None);
    let mut with = call("gift", "k");
    with.confirmation = Some(token);
    for call in [call("gift", "k"), with] {
        assert_eq!(kind(&world.call(call).await), ErrorKind::ConfirmationRefused);
    }
    assert_eq!(world.acts("gift"), 0);
}

/// Whoever was asked about this very call has said no, and what stands elsewhere is no yes to it.
#[tokio::test]
async fn a_call_that_was_declined_is_not_begun_and_what_was_done_is_told() {
    let world = World::new();
    let mut declined = call("gift", "k");
    declined.declined = true;
    // Nobody need be asked about the other.
    for tool in ["bulk", "gift"] {
        let mut one = call(tool, "n");
        one.declined = true;
        assert_eq!(kind(&world.call(one).await), ErrorKind::ConfirmationRefused, "{tool}");
    }
    let id = asked(&world.call(call("gift", "k")).await);
    approve(&world.runtime, &id).await;
    assert_eq!(kind(&world.call(declined.clone()).await), ErrorKind::ConfirmationRefused);
    assert_eq!(world.acts("gift") + world.acts("bulk"), 0);
    assert!(world.call(call("gift", "k")).await.is_ok(), "the approval is not used up");
    let told = world.call(declined).await;
    assert!(told.is_ok() && told.meta.cached, "{told:?}");
    assert_eq!(world.acts("gift"), 1);
}

#[tokio::test]
async fn whoever_answers_too_late_is_told_what_would_help() {
    let world = World::new();
    let mara = Principal::user("mara");
    let question = async |item: &str| {
        let mut gift = call("gift", item);
        gift.arguments = json!({ "item": item }).into();
        (asked(&world.call(gift.clone()).await), gift)
    };
    let told = async |id: &str| {
        let error = world.runtime.confirm("default", id, true, &mara).await.unwrap_err();
        (error.message.clone(), error.suggestion.clone())
    };
    let (declined, call) = question("a").await;
    world.runtime.confirm("default", &declined, false, &mara).await.unwrap();
    let (message, help) = told(&declined).await;
    assert_eq!(message, "the confirmation has been declined already");
    assert!(help.contains("not asked about again before this one expires"), "{help}");
    assert_eq!(
        kind(&world.call(call.clone()).await),
        ErrorKind::ConfirmationRefused,
        "as was said"
    );

    let (approved, gift) = question("b").await;
    approve(&world.runtime, &approved).await;
    let (message, help) = told(&approved).await;
    assert_eq!(message, "the confirmation has been approved already");
    assert!(help.contains("it finds the approval"), "{help}");
    assert!(world.call(gift).await.is_ok(), "as was said");
    let (message, help) = told(&approved).await;
    assert_eq!(message, "the approval has been used");
    assert!(help.contains("answer the new question"), "{help}");

    world.clock.advance(15 * 60 * 1000);
    let (message, help) = told(&declined).await;
    assert_eq!(message, "the confirmation has expired");
    assert!(help.contains("answer the new question"), "{help}");
    assert_ne!(asked(&world.call(call).await), declined, "as was said");
}

#[tokio::test]
async fn a_condition_decides_with_the_effective_arguments() {
    let world = World::new();
    assert!(world.call(call("bulk", "k")).await.is_ok());
    let mut many = call("bulk", "k2");
    many.arguments = json!({ "item": "lamp", "count": 4 }).into();
    asked(&world.call(many).await);
}

#[tokio::test]
async fn an_approval_is_spent_even_when_the_outcome_is_unknown() {
    let world = World::new();
    let id = asked(&world.call(call("gift", "k")).await);
    approve(&world.runtime, &id).await;
    world.next("gift", Does::ActsThen(lost()));
    assert_eq!(kind(&world.call(call("gift", "k")).await), ErrorKind::UnknownOutcome);
    assert_eq!(kind(&world.call(call("gift", "k")).await), ErrorKind::UnknownOutcome);
    assert_eq!(world.acts("gift"), 1);
}

#[tokio::test]
async fn after_a_failure_a_new_approval_is_needed() {
    let world = World::new();
    let id = asked(&world.call(call("gift", "k")).await);
    approve(&world.runtime, &id).await;
    world.next("gift", Does::Ends(failed(ErrorKind::Permanent)));
    assert_eq!(kind(&world.call(call("gift", "k")).await), ErrorKind::Permanent);
    assert_ne!(asked(&world.call(call("gift", "k")).await), id);
}

#[tokio::test]
async fn an_agent_can_only_ask_so_much() {
    let world = World::new();
    for n in 0..20 {
        let mut one = call("gift", "k");
        one.arguments = json!({ "item": format!("lamp {n}") }).into();
        asked(&world.call(one).await);
    }
    assert_eq!(kind(&world.call(call("gift", "k")).await), ErrorKind::BudgetExceeded);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_can_only_ask_so_much_at_once_too() {
    let world = World::new();
    let both = [world.runtime.clone(), world.twin()];
    let calls: Vec<_> = (0..100)
        .map(|n| {
            let (runtime, mut one) = (both[n % 2].clone(), call("gift", "k"));
            one.arguments = json!({ "item": format!("lamp {n}") }).into();
            tokio::spawn(async move { runtime.invoke(one).await })
        })
        .collect();
    for one in calls {
        assert!(one.await.unwrap().result.is_err());
    }
    assert_eq!(open(&world).await.len(), 20);
}

#[tokio::test]
async fn an_approval_of_a_tool_without_effects_is_used_once_too() {
    let world = World::new();
    let id = asked(&world.call(call("asked", "k")).await);
    let token = approve(&world.runtime, &id).await;
    let mut with = call("asked", "k");
    with.confirmation = Some(token);
    assert!(world.call(with.clone()).await.is_ok());
    assert_eq!(kind(&world.call(with).await), ErrorKind::ConfirmationRefused);
    assert_ne!(asked(&world.call(call("asked", "k")).await), id);
}

#[tokio::test]
async fn what_is_begun_again_after_an_unknown_outcome_is_approved_again() {
    let world = World::new();
    let id = asked(&world.call(call("wanted", "k")).await);
    approve(&world.runtime, &id).await;
    world.next("wanted", Does::ActsThen(lost()));
    world.next("wanted", Does::ActsThen(lost()));
    let lost = world.call(call("wanted", "k")).await;
    assert_eq!(kind(&lost), ErrorKind::UnknownOutcome);
    // Whoever is asked, and whoever asks, knows that it may have been done already.
    let waits = world.call(call("wanted", "k")).await;
    let again = asked(&waits);
    assert_ne!(again, id);
    let error = waits.result.unwrap_err();
    assert!(error.partial_side_effects && error.message.contains("earlier attempt"), "{error:?}");
    assert_eq!(error.details.as_ref().unwrap()["earlier"]["call"], *lost.meta.record_id);
    let question = world.store.confirmation("default", &again).await.unwrap();
    assert!(question.preview.contains(&*lost.meta.record_id), "{}", question.preview);
    world.runtime.confirm("default", &again, false, &Principal::user("mara")).await.unwrap();
    let refused = world.call(call("wanted", "k")).await.result.unwrap_err();
    assert_eq!(
        (refused.kind, refused.partial_side_effects),
        (ErrorKind::ConfirmationRefused, true)
    );
    world.clock.advance(16 * 60 * 1000);
    let again = asked(&world.call(call("wanted", "k")).await);
    approve(&world.runtime, &again).await;
    assert!(world.call(call("wanted", "k")).await.is_ok());
}

#[tokio::test]
async fn a_token_of_a_call_that_was_done_gets_its_answer_even_late() {
    let world = World::new();
    let id = asked(&world.call(call("gift", "k")).await);
    let mut with = call("gift", "k");
    with.confirmation = Some(approve(&world.runtime, &id).await);
    assert!(world.call(with.clone()).await.is_ok());
    world.clock.advance(16 * 60 * 1000);
    assert!(world.call(with).await.meta.cached);
}

#[tokio::test]
async fn no_agent_approves_or_settles_or_undoes() {
    let world = World::new();
    let id = asked(&world.call(call("gift", "k")).await);
    let other = Principal::agent("other");
    assert!(world.runtime.confirm("default", &id, true, &other).await.is_err());
    let agent = super::world::caller();
    let settled = world.runtime.settle(&agent, "call_0", Found::bare(false), "no").await;
    assert_eq!(settled.unwrap_err().kind, ErrorKind::Denied);
}
