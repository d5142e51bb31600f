//! Thousands of orders in which callers, clocks, deaths and purges can meet, and what must hold in
//! all of them.

use std::collections::HashMap;

use haft_core::Digest;
use haft_core::call::Principal;
use haft_core::contract::{Mode, SideEffectPolicy};
use haft_core::ledger::{Claim, Claimed, Effect, Ending, Keep, Settled, State, Ticket};
use serde_json::{Value, json};
use shuttle::rand::{Rng as _, thread_rng};
use shuttle::scheduler::RandomScheduler;
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;
use shuttle::{Config, Runner};

use super::rows::Rows;
use crate::clock::Times;
use crate::machine::Owner;
use crate::steps::ledger;
use crate::tables::Tables as _;

const SCHEDULES: usize = 2_000;
const LEASE_MS: i64 = 10;

/// The store, and beside it what really happened.
#[derive(Default)]
struct World {
    rows: Rows,
    now_ms: i64,
    /// How often the effect of a key was really done.
    done: HashMap<u8, u32>,
    /// Attempts that were begun and of which nobody has said that they did nothing.
    live: HashMap<u8, u32>,
    /// What was settled as the answer of a key.
    answer: HashMap<u8, Value>,
}

impl World {
    fn begin(&mut self, owner: Owner) -> &mut Rows {
        self.rows.begin(owner, Times::certain(self.now_ms));
        &mut self.rows
    }
}

fn claim(key: u8, call: String, class: SideEffectPolicy) -> Claim {
    let digest = Digest::from_raw(&[key; 32]);
    Claim {
        key: digest.clone(),
        other: None,
        fingerprint: digest.clone(),
        act: digest.clone(),
        deed_unconnected: None,
        place: None,
        deed: digest.clone(),
        lease_ms: LEASE_MS as u64,
        again_within_ms: u64::MAX,
        keep: Keep { result_ms: 15, key_ms: 1_000_000 },
        confirmation: None,
        despite_similar: false,
        effect: Effect {
            call,
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
            tool_digest: digest,
            registry_version: "1.0.0".into(),
            policy: class,
            arguments: json!({}),
            connection: None,
            account_made_ms: None,
            within: None,
            part_of: None,
            compensates: None,
            relies_on_its_key: false,
            first_at_ms: None,
            provider_key: None,
            after: None,
            raw_arguments: None,
        },
    }
}

/// One process: claims, does, settles; and may be killed anywhere in between.
fn process(world: &Mutex<World>, who: u8, class: SideEffectPolicy) {
    let owner = world.lock().unwrap().rows.join();
    for round in 0..2 {
        let key = thread_rng().gen_range(0..2u8);
        let call = format!("{who}.{round}");
        let Some(ticket) = begin(world, owner, key, claim(key, call.clone(), class)) else {
            continue;
        };
        let fate = thread_rng().gen_range(0..4u8);
        if fate < 3 {
            let mut world = world.lock().unwrap();
            *world.done.entry(key).or_default() += u32::from(fate < 2);
        }
        if fate == 1 {
            // Killed after the effect, before its outcome was written.
            world.lock().unwrap().rows.leave(owner);
            return;
        }
        settle(world, owner, key, &ticket, fate, &call);
    }
    world.lock().unwrap().rows.leave(owner);
}

fn begin(world: &Mutex<World>, owner: Owner, key: u8, claim: Claim) -> Option<Ticket> {
    let mut world = world.lock().unwrap();
    let irreversible = claim.effect.policy == SideEffectPolicy::Irreversible;
    let claimed = ledger::claim(world.begin(owner), &claim).unwrap();
    match claimed {
        Claimed::Fresh(ticket) => {
            let live = world.live.entry(key).or_default();
            *live += 1;
            assert!(!irreversible || *live == 1, "two attempts of an irreversible effect");
            assert!(!world.answer.contains_key(&key), "asked again for what had succeeded");
            Some(ticket)
        }
        Claimed::Answered(record) => {
            let answer = world.answer.get(&key);
            assert!(answer.is_some(), "answered though nothing was settled");
            assert!(record.result.is_none() || record.result.as_ref() == answer);
            None
        }
        Claimed::InFlight(_) | Claimed::Unknown(_) | Claimed::Similar(_) => None,
        Claimed::Conflict | Claimed::Unspendable(_) | Claimed::Displaced => {
            panic!("none of these can be here")
        }
    }
}

fn settle(world: &Mutex<World>, owner: Owner, key: u8, ticket: &Ticket, fate: u8, call: &str) {
    let state = match fate {
        0 => State::Succeeded,
        2 => State::Failed,
        _ => State::Unknown,
    };
    let result = (state == State::Succeeded).then(|| json!(call));
    let ending = Ending { state, result, error: None, intents: Vec::new() };
    let mut world = world.lock().unwrap();
    let settled = ledger::settle(world.begin(owner), ticket, &ending, None).unwrap();
    match (settled, state) {
        (Settled::Written, State::Succeeded) => {
            assert!(world.answer.insert(key, json!(call)).is_none(), "an answer was lost");
        }
        (Settled::Written, State::Failed) => {
            *world.live.entry(key).or_default() -= 1;
        }
        (Settled::Written, _) => {}
        // It was given up, or has been begun anew where that does no harm.
        (Settled::Again | Settled::TooLate(_), _) => {}
    }
}

/// Time passes, the dead are buried, the old is forgotten.
fn surroundings(world: &Mutex<World>) {
    let owner = world.lock().unwrap().rows.join();
    for _ in 0..4 {
        let mut world = world.lock().unwrap();
        match thread_rng().gen_range(0..3u8) {
            0 => world.now_ms += LEASE_MS,
            1 => drop(ledger::recover(world.begin(owner)).unwrap()),
            _ => drop(ledger::purge(world.begin(owner)).unwrap()),
        }
    }
}

/// Threads with room for a claim: it is large where nothing is optimised.
fn explored(what: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = 1 << 19;
    Runner::new(RandomScheduler::new(SCHEDULES), config).run(what);
}

fn explore(class: SideEffectPolicy, check: fn(&mut World)) {
    explored(move || {
        let world = Arc::new(Mutex::new(World::default()));
        let mut threads: Vec<_> = (0..3)
            .map(|who| {
                let world = Arc::clone(&world);
                thread::spawn(move || process(&world, who, class))
            })
            .collect();
        let around = Arc::clone(&world);
        threads.push(thread::spawn(move || surroundings(&around)));
        for thread in threads {
            thread.join().unwrap();
        }
        check(&mut world.lock().unwrap());
    });
}

/// What was settled is what is there, and nothing that was begun is forgotten.
fn nothing_is_lost(world: &mut World) {
    for key in 0..2 {
        let head = world.rows.head(&[key; 32]).unwrap();
        if let Some(answer) = world.answer.get(&key) {
            let head = head.as_ref().unwrap();
            assert_eq!(head.state, State::Succeeded);
            let record = world.rows.effect(head.id).unwrap();
            assert!(record.result.is_none() || record.result.as_ref() == Some(answer));
        }
        assert_eq!(head.is_none(), !world.live.contains_key(&key), "an entry is missing");
    }
}

#[test]
fn an_irreversible_effect_is_never_done_twice_under_one_key() {
    explore(SideEffectPolicy::Irreversible, |world| {
        nothing_is_lost(world);
        for (key, done) in &world.done {
            assert!(*done <= 1, "the effect of key {key} was done {done} times");
        }
    });
}

#[test]
fn an_idempotent_effect_is_begun_again_and_settled_once() {
    explore(SideEffectPolicy::Idempotent, nothing_is_lost);
}
