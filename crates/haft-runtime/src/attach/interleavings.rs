//! Thousands of orders in which duplicates can meet the call that they repeat: entered or not yet,
//! answered, failed, cut off, or begun again by somebody else.

use haft_core::call::Principal;
use haft_core::contract::{Mode, SideEffectPolicy};
use haft_core::ledger::{Claim, Claimed, Effect, Ending, Keep, Settled, State, Ticket};
use haft_core::port::Ledger as _;
use haft_core::record::Stage;
use haft_core::{ErrorKind, ToolError};
use haft_store::Memory;
use serde_json::json;
use shuttle::future::block_on;
use shuttle::rand::{Rng as _, thread_rng};
use shuttle::scheduler::RandomScheduler;
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;
use shuttle::{Config, Runner};

use super::*;

const SCHEDULES: usize = 2_000;

/// One process: its ledger, what it runs, and beside them what really happened.
struct World {
    store: Memory,
    running: std::sync::Arc<Running>,
    seen: Mutex<Happened>,
}

#[derive(Default)]
struct Happened {
    /// How often the effect was done.
    done: u32,
    /// What each call that ran has said, once it has.
    said: HashMap<String, bool>,
    /// Calls that were cut off, and never say anything.
    cut_off: Vec<String>,
}

fn key() -> Digest {
    Digest::of_bytes(b"key")
}

fn claim(call: &str) -> Claim {
    Claim {
        key: key(),
        other: None,
        fingerprint: key(),
        act: key(),
        deed_unconnected: None,
        place: None,
        deed: key(),
        lease_ms: 60_000,
        again_within_ms: 0,
        keep: Keep { result_ms: 60_000, key_ms: 60_000 },
        confirmation: None,
        despite_similar: false,
        effect: Effect {
            call: call.to_owned(),
            tenant: "acme".into(),
            agent: "a".into(),
            actor: Principal::agent("a"),
            subject: None,
            session: None,
            turn: 1,
            turn_group: None,
            mode: Mode::Text,
            tool: "core__pay".into(),
            tool_version: "1.0.0".into(),
            tool_digest: key(),
            registry_version: "1.0.0".into(),
            policy: SideEffectPolicy::Irreversible,
            arguments: json!({}),
            raw_arguments: None,
            connection: None,
            account_made_ms: None,
            within: None,
            part_of: None,
            compensates: None,
            relies_on_its_key: false,
            first_at_ms: None,
            provider_key: None,
            after: None,
        },
    }
}

fn answer(call: &str, went_well: bool) -> Answer {
    let result = match went_well {
        true => Ok(json!(call)),
        false => Err(ToolError::new(ErrorKind::Permanent, call)),
    };
    let (intents, stage) = (Vec::new(), Stage::Execute);
    Answer { result, view: None, intents, stage, cached: false, state: None }
}

/// Which call gave an answer, and whether it went well.
fn by(answer: &Answer) -> (String, bool) {
    match &answer.result {
        Ok(call) => (call.as_str().unwrap().to_owned(), true),
        Err(error) => (error.message.clone(), false),
    }
}

/// What the path does with a key: runs it, waits for whoever does, or is answered.
fn send(world: &World, call: &str) {
    match block_on(world.store.claim(claim(call))).unwrap() {
        Claimed::Fresh(ticket) => run(world, &ticket),
        Claimed::InFlight(record) => wait(world, &record.effect.call),
        Claimed::Answered(record) => {
            let seen = world.seen.lock().unwrap();
            assert_eq!(record.result, Some(json!(record.effect.call)));
            assert_eq!(seen.done, 1, "answered though nothing was done");
        }
        other @ (Claimed::Conflict
        | Claimed::Unknown(_)
        | Claimed::Similar(_)
        | Claimed::Unspendable(_)
        | Claimed::Displaced) => panic!("nobody gives up here: {other:?}"),
    }
}

fn run(world: &World, ticket: &Ticket) {
    // Recorded, and not entered yet.
    thread::yield_now();
    let leading = world.running.lead(&ticket.key, &ticket.call);
    thread::yield_now();
    assert!(world.running.has(&ticket.key), "an earlier attempt took this one's place away");
    let fate = thread_rng().gen_range(0..5u8);
    if fate == 0 {
        world.seen.lock().unwrap().cut_off.push(ticket.call.clone());
        return;
    }
    let went_well = fate > 2;
    let state = if went_well { State::Succeeded } else { State::Failed };
    let said = answer(&ticket.call, went_well);
    {
        let mut seen = world.seen.lock().unwrap();
        seen.done += u32::from(went_well);
        assert!(seen.done <= 1, "done twice");
        seen.said.insert(ticket.call.clone(), went_well);
    }
    let (result, error) = (said.result.clone().ok(), said.result.clone().err());
    let ending = Ending { state, result, error, intents: Vec::new() };
    assert_eq!(block_on(world.store.settle(ticket, ending, None)).unwrap(), Settled::Written);
    // On record and not told: whoever failed may have been followed by another attempt by now.
    thread::yield_now();
    leading.answer(std::sync::Arc::new(said));
    thread::yield_now();
}

fn wait(world: &World, call: &str) {
    thread::yield_now();
    let followed = block_on(world.running.follow(&key()));
    let seen = world.seen.lock().unwrap();
    match followed {
        Some((whose, answer)) => {
            let (by, went_well) = by(&answer);
            assert_eq!(whose, by, "an answer under another's id");
            assert_eq!(seen.said.get(&by), Some(&went_well), "an answer that nobody gave");
        }
        // Not entered yet, gone already, or cut off: the ledger is asked then.
        None => {
            drop(seen);
            let record = block_on(world.store.effect("acme", call));
            let seen = world.seen.lock().unwrap();
            if let Ok(record) = record
                && record.state == State::Succeeded
            {
                assert_eq!(seen.said.get(call), Some(&true));
            }
        }
    }
}

/// Threads with room for a claim: it is large where nothing is optimised.
fn explored(what: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = 1 << 19;
    Runner::new(RandomScheduler::new(SCHEDULES), config).run(what);
}

#[test]
fn whoever_attaches_gets_the_answer_of_a_call_that_ran_and_nothing_runs_twice() {
    explored(|| {
        let world = Arc::new(World {
            store: Memory::new(),
            running: std::sync::Arc::default(),
            seen: Mutex::default(),
        });
        let threads: Vec<_> = (0..4)
            .map(|who| {
                let world = Arc::clone(&world);
                thread::spawn(move || {
                    for round in 0..2 {
                        send(&world, &format!("{who}.{round}"));
                    }
                })
            })
            .collect();
        // Nobody waits for ever: shuttle finds those who would.
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(!world.running.has(&key()), "something is left that runs no more");
        let seen = world.seen.lock().unwrap();
        assert!(seen.done == 1 || seen.said.values().all(|well| !well));
        assert!(seen.cut_off.len() <= 1, "after that one nobody knows");
    });
}
