//! What a handler did in an attempt that another one has taken the place of is a part of the whole all the same.

use haft_core::contract::{Capability, Mode};
use haft_core::port::Ledger as _;
use haft_core::{Call, Caller, ErrorKind, Principal};
use haft_runtime::effects::{Found, UndoTarget, UndoneStatus as Status};
use serde_json::json;

use super::world::{Does, World, call, caller, failed};

fn operator() -> Caller {
    Caller { actor: Principal::user("mara"), ..caller() }
}

/// A tool that calls `rent` twice, and undoes nothing itself or everything.
struct Whole {
    world: World,
    tool: &'static str,
    session: String,
}

impl Whole {
    async fn new(tool: &'static str) -> Self {
        let world = World::new();
        let session = world.runtime.open(&caller(), Mode::Text).await.unwrap().id;
        Self { world, tool, session }
    }

    fn call(&self) -> Call {
        let mut call = call(self.tool, "k");
        (call.key, call.session) = (None, Some(self.session.clone()));
        call
    }

    /// An attempt that rents and comes to nothing, and another call that takes its place: what they did, and the
    /// group of turns.
    async fn made_twice(&self) -> (String, String) {
        let rents = |item: &str| (Capability::CallTool, "rent", json!({ "item": item }));
        let ends = failed(ErrorKind::Permanent);
        self.world.next(self.tool, Does::UsesAll(vec![rents("lamp")], ends));
        let first = self.world.call(self.call()).await.meta.record_id.to_string();
        let effect = self.world.store.effect("default", &first).await.unwrap();
        // A handler that did something by its means and failed may have done more.
        if !effect.state.frees_its_key() {
            let did_not = Found::bare(false);
            self.world.runtime.settle(&operator(), &first, did_not, "seen").await.unwrap();
        }
        self.world.clock.advance(10);
        let all = vec![rents("lamp"), rents("chair")];
        let done = haft_core::port::Ended::Returned { data: json!({}), intents: Vec::new() };
        self.world.next(self.tool, Does::UsesAll(all, done));
        let second = self.world.call(self.call()).await;
        assert!(second.is_ok(), "{second:?}");
        assert_eq!(self.world.acts("rent"), 2, "the lamp is rented already");
        (second.meta.record_id.to_string(), effect.effect.turn_group.unwrap())
    }

    async fn undone(&self, target: UndoTarget) -> Vec<Status> {
        let all = self.world.runtime.undo(&operator(), &target).await.unwrap();
        all.into_iter().map(|one| one.status).collect()
    }
}

#[tokio::test]
async fn what_an_earlier_attempt_did_is_undone_with_the_call_that_took_its_place() {
    for tool in ["again", "relay"] {
        let whole = Whole::new(tool).await;
        let (call, _) = whole.made_twice().await;
        let undone = whole.undone(UndoTarget::Call(call)).await;
        let expected = [Status::Undone, Status::Undone, Status::CannotBeUndone];
        assert_eq!(
            undone, expected,
            "{tool}: each part, and then the whole, which has nothing for it"
        );
        assert_eq!(whole.world.acts("unrent"), 2, "{tool}");
    }
}

#[tokio::test]
async fn what_an_earlier_attempt_did_is_not_undone_beside_the_compensation_of_the_whole() {
    let whole = Whole::new("furnish").await;
    let (_, group) = whole.made_twice().await;
    let undone = whole.undone(UndoTarget::TurnGroup(group)).await;
    assert_eq!(undone, [Status::Undone, Status::AlreadyUndone, Status::AlreadyUndone]);
    assert_eq!((whole.world.acts("unfurnish"), whole.world.acts("unrent")), (1, 0));
}

/// Parts of parts are undone before what they are parts of, and what came last comes first.
#[tokio::test]
async fn parts_of_parts_are_undone_with_the_whole() {
    let world = World::new();
    let rents = |item: &str| (Capability::CallTool, "rent", json!({ "item": item }));
    let inner = (Capability::CallTool, "again", json!({ "item": "lamp" }));
    let done = || haft_core::port::Ended::Returned { data: json!({}), intents: Vec::new() };
    world.next("relay", Does::UsesAll(vec![rents("sofa"), inner, rents("chair")], done()));
    world.next("again", Does::UsesAll(vec![rents("lamp"), rents("desk")], done()));
    let whole = world.call(call("relay", "k")).await.meta.record_id.to_string();
    let all = world.runtime.undo(&operator(), &UndoTarget::Call(whole)).await.unwrap();
    let mut undone = world.script.acts.lock().clone();
    undone.retain(|(tool, _)| tool == "shop__unrent");
    let items: Vec<_> = undone.iter().map(|(_, said)| said["item"].as_str().unwrap()).collect();
    assert_eq!(items, ["chair", "desk", "lamp", "sofa"]);
    let tools: Vec<_> = all.iter().map(|one| one.tool.as_str()).collect();
    let expected =
        ["rent", "rent", "rent", "again", "rent", "relay"].map(|one| format!("shop__{one}"));
    assert_eq!(tools, expected);
}
