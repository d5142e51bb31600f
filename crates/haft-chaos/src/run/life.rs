//! What becomes of each victim, planned before the run.

use crate::dice::Dice;
use crate::words::Act;

/// Where in the store, on the path, in a tool and around a compensation a victim can die.
const POINTS: [&str; 10] = [
    "in_commit",
    "after_commit",
    "before_claim",
    "after_claim",
    "before_execute",
    "mid_body",
    "after_effect",
    "after_response",
    "after_record",
    "before_reply",
];
const UNDO_POINTS: [&str; 2] = ["comp_before", "comp_after"];

/// One victim's fate.
#[derive(Clone, Debug)]
pub(super) enum Life {
    Killed(Killed),
    /// Stopped for longer than its lease, while another takes over, then let go on: at a place, or
    /// at whatever it is doing.
    Stopped {
        point: Option<&'static str>,
        act: Act,
    },
}

#[derive(Clone, Debug, Default)]
pub(super) struct Killed {
    /// Dies by itself at a place: `after_claim:kill:3`.
    pub(super) fail: Option<String>,
    /// Is killed after so many outcomes at the latest.
    pub(super) after: u64,
    /// Gets calls of this tool only.
    pub(super) only: Option<Act>,
    /// Undoes whatever can be undone.
    pub(super) undoes: bool,
}

/// Until when a victim is talked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// It has given so many outcomes.
    Outcomes(u64),
    /// Nothing is left to ask.
    Idle,
}

fn at(point: &str, times: u64) -> Option<String> {
    Some(format!("{point}:kill:{times}"))
}

/// Every place with every class, those that write twice; each undoing place twice, pauses, and kills at random.
pub(super) fn short(dice: &mut Dice) -> Vec<Life> {
    let mut lives = Vec::new();
    for act in Act::ALL {
        for point in POINTS {
            // What only looks claims nothing.
            if act == Act::Look && point == "before_claim" {
                continue;
            }
            let times = if matches!(act, Act::Look | Act::Gift) { 1 } else { 2 };
            for _ in 0..times {
                let fail = at(point, 1 + dice.roll(8));
                let killed = Killed { fail, after: 60, only: Some(act), undoes: false };
                lives.push(Life::Killed(killed));
            }
        }
    }
    for point in UNDO_POINTS.into_iter().chain(UNDO_POINTS) {
        let fail = at(point, 1 + dice.roll(3));
        let only = Some(Act::Book);
        lives.push(Life::Killed(Killed { fail, after: 200, only, undoes: true }));
    }
    for point in ["after_claim", "before_execute", "after_effect", "after_response"] {
        lives.push(Life::Stopped { point: Some(point), act: Act::Order });
    }
    lives.push(Life::Stopped { point: Some("mid_body"), act: Act::Book });
    for _ in 0..8 {
        let after = 20 + dice.roll(150);
        lives.push(Life::Killed(Killed { after, ..Killed::default() }));
    }
    lives
}

/// Half of the kills at a place, half at random, evenly over the keys.
pub(super) fn long(dice: &mut Dice, kills: u64, keys: u64) -> Vec<Life> {
    let mean = (keys / kills.max(1)).max(1);
    let life = |_| {
        let after = mean / 2 + dice.roll(mean);
        let fail = match dice.roll(2) {
            0 => None,
            _ => match dice.roll(12) {
                which @ 0..10 => {
                    let point = POINTS.get(which as usize).copied().unwrap_or_default();
                    at(point, 1 + dice.roll(after.max(1)))
                }
                which => {
                    let point = if which == 10 { "comp_before" } else { "comp_after" };
                    at(point, 1 + dice.roll(1 + after / 50))
                }
            },
        };
        Life::Killed(Killed { fail, after, ..Killed::default() })
    };
    (0..kills).map(life).collect()
}

/// Stopped while they are busy, with each class that is done at most once.
pub(super) fn stops(some: u64) -> impl Iterator<Item = Life> {
    let act = |nth| if nth % 2 == 0 { Act::Order } else { Act::Book };
    (0..some).map(move |nth| Life::Stopped { point: None, act: act(nth) })
}
