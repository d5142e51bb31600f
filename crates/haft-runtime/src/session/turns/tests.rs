//! Which group comes next: messages, calls and ends of turns, in every order that matters.

use haft_core::Caller;
use haft_core::contract::Mode;
use haft_core::session::Session;
use serde_json::json;

use super::{Arrived, Before, By, arrive, before_effect, settle_turn};
use crate::policy::Supersede::{self, Abort, Absorb, Finish, Queue};

/// What happens to a session.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The user says something.
    Says,
    /// A call comes for which this is the rule.
    Calls(Supersede),
    /// A handler makes one.
    Nests(Supersede),
    /// The turn is over.
    Over,
}

use Step::{Calls, Nests, Over, Says};

fn session() -> Session {
    crate::session::begin(&Caller::agent("default", "default"), Mode::Text, "1.0.0", 0)
}

/// The groups by the order in which they came up: `a`, `b`, …
#[derive(Default)]
struct Groups(Vec<String>);

impl Groups {
    fn letter(&mut self, group: &str) -> char {
        let at = self.0.iter().position(|one| one == group).unwrap_or_else(|| {
            self.0.push(group.to_owned());
            self.0.len() - 1
        });
        ('a'..='z').nth(at).unwrap()
    }
}

/// What the session said to a step, in a word.
fn take(session: &mut Session, groups: &mut Groups, step: Step) -> String {
    match step {
        Says => match arrive(session, json!("hm")).unwrap() {
            Arrived::Begins { group, messages, .. } => {
                format!("{}{}", groups.letter(&group), messages.len())
            }
            Arrived::Waits { waiting } => format!("waits{waiting}"),
        },
        Calls(rule) => before(session, rule, By::Model),
        Nests(rule) => before(session, rule, By::Handler),
        Over => match settle_turn(session).len() {
            0 => "over".to_owned(),
            taken => format!("{}{taken}", groups.letter(&session.turn.group)),
        },
    }
}

fn before(session: &mut Session, rule: Supersede, by: By) -> String {
    match before_effect(session, rule, by) {
        Before::Run => "runs".to_owned(),
        Before::Aborted => "aborted".to_owned(),
        Before::Absorbed(messages) => format!("absorbed{}", messages.len()),
        Before::Unread => "unread".to_owned(),
    }
}

#[track_caller]
fn check(steps: &[Step], expected: &str) {
    let (mut session, mut groups) = (session(), Groups::default());
    let said: Vec<String> =
        steps.iter().map(|step| take(&mut session, &mut groups, *step)).collect();
    assert_eq!(said.join(" "), expected, "{steps:?}");
}

#[test]
fn a_turn_that_nobody_interrupts_is_a_group_of_its_own() {
    for rule in [Abort, Absorb, Queue, Finish] {
        check(&[Says, Calls(rule), Over, Says], "a1 runs over b1");
        // A message that came after the call was not there to be decided about.
        check(&[Says, Calls(rule), Says, Over], "a1 runs waits1 b1");
    }
}

#[test]
fn what_an_abort_gives_way_to_keeps_the_group() {
    check(&[Says, Says, Calls(Abort), Over], "a1 waits1 aborted a1");
    check(&[Says, Says, Calls(Abort), Says], "a1 waits1 aborted a2");
    check(
        &[Says, Says, Says, Calls(Abort), Over, Over, Says],
        "a1 waits1 waits2 aborted a2 over b1",
    );
    // A chain of three.
    check(
        &[Says, Says, Calls(Abort), Over, Says, Calls(Abort), Over, Calls(Abort), Over, Says],
        "a1 waits1 aborted a1 waits1 aborted a1 runs over b1",
    );
}

#[test]
fn what_was_absorbed_belongs_to_its_turn_and_the_next_begins_anew() {
    check(&[Says, Says, Calls(Absorb), Over, Says], "a1 waits1 absorbed1 over b1");
    check(
        &[Says, Says, Calls(Absorb), Calls(Absorb), Over, Says],
        "a1 waits1 absorbed1 runs over b1",
    );
    // One that comes later still and is not absorbed was decided about by nobody.
    check(&[Says, Says, Calls(Absorb), Says, Over], "a1 waits1 absorbed1 waits1 b1");
    check(
        &[Says, Says, Calls(Absorb), Says, Calls(Absorb), Over, Says],
        "a1 waits1 absorbed1 waits1 absorbed1 over b1",
    );
}

#[test]
fn what_is_queued_begins_a_group_and_what_a_turn_is_finished_for_keeps_it() {
    check(&[Says, Says, Calls(Queue), Over, Over, Says], "a1 waits1 runs b1 over c1");
    check(&[Says, Says, Calls(Finish), Over], "a1 waits1 runs a1");
    check(&[Says, Says, Says, Calls(Finish), Over], "a1 waits1 waits2 runs a2");
    check(&[Says, Says, Calls(Finish), Over, Over, Says], "a1 waits1 runs a1 over b1");
    check(&[Says, Says, Calls(Finish), Over, Says, Over], "a1 waits1 runs a1 waits1 b1");
}

#[test]
fn rules_of_several_classes_meet_in_one_turn() {
    // The messages that the turn was to be finished for have been absorbed since.
    check(
        &[Says, Says, Calls(Finish), Calls(Absorb), Over, Says],
        "a1 waits1 runs absorbed1 over b1",
    );
    check(
        &[Says, Says, Calls(Finish), Calls(Absorb), Says, Over],
        "a1 waits1 runs absorbed1 waits1 b1",
    );
    // What was done before them must not be done again because something else was queued.
    check(&[Says, Says, Calls(Finish), Calls(Queue), Over], "a1 waits1 runs runs a1");
    check(&[Says, Says, Calls(Queue), Calls(Finish), Over], "a1 waits1 runs runs a1");
    check(&[Says, Says, Calls(Queue), Calls(Abort), Over], "a1 waits1 runs aborted a1");
}

#[test]
fn a_handler_is_handed_no_messages() {
    check(&[Says, Says, Nests(Absorb), Over], "a1 waits1 unread a1");
    check(&[Says, Says, Nests(Absorb), Nests(Absorb), Over], "a1 waits1 unread unread a1");
    check(
        &[Says, Says, Nests(Absorb), Calls(Absorb), Over, Says],
        "a1 waits1 unread absorbed1 over b1",
    );
    check(&[Says, Says, Nests(Abort), Over], "a1 waits1 aborted a1");
    check(&[Says, Says, Nests(Queue), Over], "a1 waits1 runs b1");
    check(&[Says, Says, Nests(Finish), Over], "a1 waits1 runs a1");
}

#[test]
fn a_session_that_was_stored_with_a_group_to_keep_and_nothing_to_keep_it_for_begins_anew() {
    let mut session = session();
    let group = session.turn.group.clone();
    (session.turn.open, session.turn.untouched, session.turn.carry) = (false, false, true);
    let Arrived::Begins { group: next, .. } = arrive(&mut session, json!("hm")).unwrap() else {
        panic!("nothing was going on");
    };
    assert_ne!(next, group);
}

#[test]
fn what_a_tool_left_is_told_with_the_next_turn_and_only_there() {
    let mut session = session();
    let left = |arrived: Arrived| match arrived {
        Arrived::Begins { left, .. } => left,
        Arrived::Waits { .. } => panic!("nothing was going on"),
    };
    assert_eq!(left(arrive(&mut session, json!("one")).unwrap()), None);
    session.pending_message = Some(json!({"ask": "which lamp"}));
    // A turn that ends keeps it: no other has begun.
    assert!(settle_turn(&mut session).is_empty());
    assert_eq!(
        left(arrive(&mut session, json!("two")).unwrap()),
        Some(json!({"ask": "which lamp"}))
    );
    assert_eq!(session.pending_message, None);
    // Messages that waited begin the next one with what was left meanwhile.
    session.pending_message = Some(json!("and the chair?"));
    assert_eq!(arrive(&mut session, json!("three")).unwrap(), Arrived::Waits { waiting: 1 });
    assert_eq!(settle_turn(&mut session).len(), 1);
    assert_eq!(session.turn.left, Some(json!("and the chair?")));
    settle_turn(&mut session);
    assert_eq!(left(arrive(&mut session, json!("four")).unwrap()), None);
}
