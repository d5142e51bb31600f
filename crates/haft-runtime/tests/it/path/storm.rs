//! A storm of newer messages, held against a model of what they mean.

use std::collections::{HashMap, HashSet};

use haft_core::ErrorKind;
use haft_core::contract::Mode;
use haft_runtime::policy::Supersede;
use haft_runtime::session::Arrived;
use serde_json::json;

use super::sessions::{In, superseding};
use super::world::kind;

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// What the session ought to be.
#[derive(Debug)]
struct Model {
    rule: Supersede,
    group: u64,
    next_group: u64,
    waiting: usize,
    open: bool,
    aborted: bool,
    carry: bool,
    untouched: bool,
    done: HashSet<(u64, &'static str)>,
}

#[derive(Debug, PartialEq)]
enum Expected {
    Runs,
    Replayed,
    Superseded { messages: usize },
}

impl Model {
    fn new(rule: Supersede) -> Self {
        let done = HashSet::new();
        Self {
            rule,
            group: 0,
            next_group: 1,
            waiting: 0,
            open: true,
            aborted: false,
            carry: false,
            untouched: true,
            done,
        }
    }

    fn message(&mut self) -> bool {
        if std::mem::take(&mut self.untouched) {
            return true;
        }
        if self.open && !self.aborted {
            self.waiting += 1;
            return false;
        }
        self.begin();
        true
    }

    fn begin(&mut self) {
        // Only messages that waited replace anything.
        if std::mem::take(&mut self.waiting) == 0 || !self.carry {
            self.group = self.next_group;
            self.next_group += 1;
        }
        (self.open, self.aborted, self.carry) = (true, false, false);
    }

    fn over(&mut self) {
        (self.open, self.untouched) = (false, false);
        if self.waiting > 0 {
            self.begin();
        }
    }

    fn order(&mut self, item: &'static str) -> Expected {
        if self.done.contains(&(self.group, item)) {
            return Expected::Replayed;
        }
        if self.aborted {
            return Expected::Superseded { messages: 0 };
        }
        if self.waiting > 0 {
            match self.rule {
                Supersede::Abort => {
                    (self.aborted, self.carry) = (true, true);
                    return Expected::Superseded { messages: 0 };
                }
                Supersede::Absorb => {
                    self.carry = false;
                    let messages = std::mem::take(&mut self.waiting);
                    return Expected::Superseded { messages };
                }
                Supersede::Queue => self.carry = false,
                Supersede::Finish => self.carry = true,
            }
        }
        self.untouched = false;
        self.done.insert((self.group, item));
        Expected::Runs
    }
}

/// What a call came to, in the model's words.
async fn order(text: &In, item: &str) -> Expected {
    let answer = text.make("order", item).await;
    match &answer.result {
        Ok(_) if answer.meta.cached => Expected::Replayed,
        Ok(_) => Expected::Runs,
        Err(error) => {
            assert_eq!(kind(&answer), ErrorKind::Superseded, "{error}");
            let given = error.details.as_ref().and_then(|it| it["messages"].as_array());
            Expected::Superseded { messages: given.map_or(0, Vec::len) }
        }
    }
}

const RULES: [Supersede; 4] =
    [Supersede::Abort, Supersede::Absorb, Supersede::Queue, Supersede::Finish];

/// One chain of messages and calls; returns how often each kind of answer came.
async fn chain(text: &In, model: &mut Model, dice: &mut Dice, seen: &mut HashMap<String, u32>) {
    let before = text.world.acts("order");
    let mut runs = 0;
    for step in 0..12 {
        match dice.roll(5) {
            0 | 1 => {
                let begins = matches!(text.message("newer").await, Arrived::Begins { .. });
                assert_eq!(begins, model.message(), "step {step}: {model:?}");
            }
            2 => {
                text.over().await;
                model.over();
            }
            _ => {
                let item = ["lamp", "chair"][usize::from(dice.roll(2) == 0)];
                let expected = model.order(item);
                assert_eq!(order(text, item).await, expected, "step {step}: {model:?}");
                runs += usize::from(expected == Expected::Runs);
                *seen.entry(format!("{:?} {expected:?}", model.rule)).or_default() += 1;
            }
        }
    }
    assert_eq!(text.world.acts("order") - before, runs, "what was said, and nothing else");
}

#[tokio::test]
async fn a_thousand_chains_go_as_the_model_says() {
    let mut seen = HashMap::new();
    for rule in RULES {
        let world = superseding(rule);
        let mut dice = Dice(rule as u64 + 1);
        let mut text = In::world(world, Mode::Text).await;
        for _ in 0..250 {
            text = In::world(text.world, Mode::Text).await;
            chain(&text, &mut Model::new(rule), &mut dice, &mut seen).await;
        }
    }
    // Each kind of answer came: the storm was one.
    for expected in ["Abort Superseded", "Absorb Superseded", "Queue Runs", "Finish Replayed"] {
        assert!(seen.keys().any(|key| key.starts_with(expected)), "{expected}: {seen:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_races_a_call_comes_before_or_after_it() {
    let mut outcomes = HashMap::new();
    for rule in RULES {
        let mut text = In::world(superseding(rule), Mode::Text).await;
        for round in 0..100 {
            text = In::world(text.world, Mode::Text).await;
            text.message("order a lamp").await;
            let before = text.world.acts("order");
            let runtime = text.world.runtime.clone();
            let id = text.id.clone();
            let message = tokio::spawn(async move {
                runtime.message(&super::world::caller(), &id, json!("newer")).await.unwrap()
            });
            if round % 2 == 0 {
                tokio::task::yield_now().await;
            }
            let said = order(&text, "lamp").await;
            message.await.unwrap();
            let acts = text.world.acts("order") - before;
            // Nothing or one, and the answer says which.
            assert_eq!(acts, usize::from(said == Expected::Runs), "{rule:?} {said:?}");
            // The same act again in the same group: what was done is shown, not repeated.
            if said == Expected::Runs {
                assert_eq!(order(&text, "lamp").await, Expected::Replayed, "{rule:?}");
            }
            *outcomes.entry(said == Expected::Runs).or_insert(0) += 1;
        }
    }
    assert!(outcomes.contains_key(&true), "{outcomes:?}");
}
