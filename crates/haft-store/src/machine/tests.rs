//! Every state, class, owner, lease and fingerprint, against tables written by hand.

use haft_core::contract::SideEffectPolicy as Class;
use serde_json::json;

use super::*;

const CLASSES: [Class; 4] =
    [Class::Pure, Class::Idempotent, Class::Compensatable, Class::Irreversible];

fn head(state: State, class: Class) -> Head {
    Head {
        id: 1,
        tenant: "acme".into(),
        call: "call_1".into(),
        key: [1; 32],
        fingerprint: [2; 32],
        state,
        epoch: 4,
        class,
        owner: [3; 16],
        lease_until_ms: 1_000,
        keep: Keep { result_ms: 10, key_ms: 100 },
    }
}

fn claim(head: Option<&Head>, class: Class, now_ms: i64, alive: bool) -> Decision {
    claim_until(head, class, now_ms, alive, i64::MAX)
}

fn claim_until(
    head: Option<&Head>,
    class: Class,
    now_ms: i64,
    alive: bool,
    again_until_ms: i64,
) -> Decision {
    on_claim(head, Asked { fingerprint: &[2; 32], class, now_ms, again_until_ms }, || alive)
}

#[test]
fn a_key_that_nobody_used_is_fresh() {
    for class in CLASSES {
        for (now_ms, alive) in [(0, true), (0, false), (2_000, true)] {
            assert_eq!(claim(None, class, now_ms, alive), Decision::Fresh { epoch: 1 });
        }
    }
}

#[test]
fn another_fingerprint_is_a_conflict_in_every_state() {
    for state in State::ALL {
        for class in CLASSES {
            for (now_ms, alive) in [(0, true), (0, false), (2_000, true), (2_000, false)] {
                let asked =
                    Asked { fingerprint: &[9; 32], class, now_ms, again_until_ms: i64::MAX };
                let decision = on_claim(Some(&head(state, class)), asked, || alive);
                assert_eq!(decision, Decision::Conflict, "{state:?} {class:?}");
            }
        }
    }
}

#[test]
fn an_attempt_that_ended_decides_by_its_state() {
    let again = Decision::Fresh { epoch: 5 };
    let table = [
        (State::Succeeded, Decision::Answered),
        (State::Failed, again),
        (State::Unknown, Decision::Unknown),
        (State::Happened, Decision::Answered),
        (State::NotHappened, again),
        (State::Compensating, Decision::Answered),
        (State::Compensated, Decision::Answered),
        (State::Stuck, Decision::Answered),
    ];
    assert_eq!(table.len() + 1, State::ALL.len(), "all but `started`");
    for (state, expected) in table {
        for class in CLASSES {
            for (now_ms, alive) in [(0, true), (0, false), (2_000, true), (2_000, false)] {
                let decision = claim(Some(&head(state, class)), class, now_ms, alive);
                // What does no harm twice need not stay in doubt.
                let expected = match (state, may_run_again(class)) {
                    (State::Unknown, true) => again,
                    _ => expected,
                };
                assert_eq!(decision, expected, "{state:?} {class:?} {now_ms} {alive}");
            }
        }
    }
}

#[test]
fn a_running_attempt_decides_by_class_owner_and_lease() {
    let again = Decision::Fresh { epoch: 5 };
    let lost = Decision::BecomesUnknown;
    let running = Decision::InFlight;
    // Alive in time, alive too late, dead in time, dead too late.
    let table = [
        (Class::Pure, [running, again, again, again]),
        (Class::Idempotent, [running, again, again, again]),
        (Class::Compensatable, [running, lost, lost, lost]),
        (Class::Irreversible, [running, lost, lost, lost]),
    ];
    for (class, expected) in table {
        let found = [(999, true), (1_000, true), (999, false), (1_000, false)]
            .map(|(now, alive)| claim(Some(&head(State::Started, class)), class, now, alive));
        assert_eq!(found, expected, "{class:?}");
    }
}

#[test]
fn what_the_provider_may_have_forgotten_is_not_asked_for_again() {
    let until = 5_000;
    for class in CLASSES {
        let claim = |state, now_ms, alive| {
            claim_until(Some(&head(state, class)), class, now_ms, alive, until)
        };
        let again = |other| match may_run_again(class) {
            true => Decision::Fresh { epoch: 5 },
            false => other,
        };
        let (unknown, lost) = (Decision::Unknown, Decision::BecomesUnknown);
        assert_eq!(claim(State::Unknown, until - 1, false), again(unknown), "{class:?}");
        assert_eq!(claim(State::Unknown, until, false), unknown, "{class:?}");
        assert_eq!(claim(State::Started, until - 1, false), again(lost), "{class:?}");
        assert_eq!(claim(State::Started, until, false), lost, "{class:?}");
        // What did nothing, or is being done, is as it was.
        assert_eq!(claim(State::Failed, until, false), Decision::Fresh { epoch: 5 }, "{class:?}");
        assert_eq!(claim(State::Started, 999, true), Decision::InFlight, "{class:?}");
    }
}

#[test]
fn of_two_classes_the_stricter_one_counts() {
    for stored in CLASSES {
        for now in CLASSES {
            let found = claim(Some(&head(State::Started, stored)), now, 0, false);
            let strict = stored >= Class::Compensatable || now >= Class::Compensatable;
            let expected =
                if strict { Decision::BecomesUnknown } else { Decision::Fresh { epoch: 5 } };
            assert_eq!(found, expected, "{stored:?} {now:?}");
        }
    }
}

#[test]
fn only_the_running_attempt_settles_and_a_late_success_ends_an_unknown() {
    for state in State::ALL {
        for ending in State::ALL {
            for epoch in [3, 4, 5] {
                let ends = matches!(ending, State::Succeeded | State::Failed | State::Unknown);
                let expected = match (state, ending, epoch) {
                    _ if !ends => Settling::NoEnding,
                    (State::Started, _, 4)
                    | (State::Unknown | State::NotHappened, State::Succeeded, 4) => Settling::Write,
                    _ => Settling::TooLate,
                };
                let found = on_settle(&head(state, Class::Irreversible), epoch, ending);
                assert_eq!(found, expected, "{state:?} {ending:?} {epoch}");
            }
        }
    }
}

#[test]
fn only_an_unknown_effect_is_settled_by_hand() {
    for state in State::ALL {
        for adds in [false, true] {
            let found = (on_resolve(state, true, adds), on_resolve(state, false, adds));
            let expected = if state == State::Unknown {
                (Some(State::Happened), Some(State::NotHappened))
            } else if adds && [State::Happened, State::Succeeded].contains(&state) {
                (Some(state), None)
            } else {
                (None, None)
            };
            assert_eq!(found, expected, "{state:?} {adds}");
        }
    }
}

#[test]
fn undoing_goes_step_by_step() {
    let begin = Undo::Begin { by: "user:mara".into() };
    let done = Undo::Done { by: "call_2".into(), result: json!(null) };
    let stuck = Undo::Stuck { why: "no answer".into() };
    let allowed = [
        (State::Succeeded, &begin, false, State::Compensating),
        (State::Happened, &begin, true, State::Compensating),
        (State::Compensating, &done, false, State::Compensated),
        (State::Compensating, &stuck, false, State::Stuck),
        (State::Compensating, &Undo::Back, false, State::Succeeded),
        (State::Compensating, &Undo::Back, true, State::Happened),
        (State::Stuck, &Undo::Back, false, State::Succeeded),
        (State::Stuck, &Undo::Back, true, State::Happened),
    ];
    for state in State::ALL {
        for step in [&begin, &done, &stuck, &Undo::Back] {
            for resolved in [false, true] {
                let row = allowed.iter().find(|(from, by, was, _)| {
                    *from == state && *by == step && (*was == resolved || *step != Undo::Back)
                });
                let expected = row.map(|row| row.3);
                assert_eq!(on_undo(state, resolved, step), expected, "{state:?} {step:?}");
            }
        }
    }
}

#[test]
fn what_is_open_is_never_forgotten() {
    let keep = Keep { result_ms: 10, key_ms: 100 };
    for state in State::ALL {
        let open = [State::Started, State::Unknown, State::Compensating, State::Stuck];
        let expected = if open.contains(&state) { (None, None) } else { (Some(60), Some(150)) };
        let found = (due_at_ms(state, 50, keep, true), due_at_ms(state, 50, keep, false));
        assert_eq!(found, expected, "{state:?}");
    }
    let for_ever = Keep { result_ms: u64::MAX, key_ms: u64::MAX };
    assert_eq!(due_at_ms(State::Failed, 50, for_ever, true), Some(i64::MAX));
}
