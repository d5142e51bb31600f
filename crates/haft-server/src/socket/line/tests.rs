use super::log::{BYTES, FRAMES, NOTE_BYTES, NOTES};
use super::*;

const ONE: Content = [1; 32];

fn sent(line: &Line, place: &mut Place) -> Vec<String> {
    let mut all = Vec::new();
    while let Next::Frame(text) = line.next(place) {
        all.push(text);
    }
    all
}

fn cursor(text: &str) -> Cursor {
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    value["cursor"].as_str().unwrap().parse().unwrap()
}

#[test]
fn the_next_connection_takes_up_what_the_last_one_missed() {
    let line = Line::new(Weak::new());
    let (mut first, resumed) = line.attach(None);
    assert!(!resumed);
    line.tell(None, &Told::Lost { events: 1 });
    let seen = sent(&line, &mut first);
    line.tell(None, &Told::Lost { events: 2 });
    let (mut second, resumed) = line.attach(Some(&cursor(&seen[0])));
    assert!(resumed);
    assert!(matches!(line.next(&mut first), Next::TakenOver));
    assert_eq!(sent(&line, &mut second).len(), 1);
    // A cursor of another start is none of ours.
    let (_, resumed) = line.attach(Some(&Cursor { line: line.id ^ 1, frame: 1 }));
    assert!(!resumed);
}

#[test]
fn what_is_gone_is_counted() {
    let line = Line::new(Weak::new());
    let (mut place, _) = line.attach(None);
    for events in 0..FRAMES as u64 + 5 {
        line.tell(None, &Told::Lost { events });
    }
    let all = sent(&line, &mut place);
    assert_eq!(all[0], r#"{"type":"missed","frames":5}"#);
    assert_eq!(all.len(), FRAMES + 1);
}

#[test]
fn a_frame_that_comes_again_is_answered_again_and_not_done_again() {
    let line = Line::new(Weak::new());
    let (mut place, _) = line.attach(None);
    assert_eq!(line.enter("a", ONE), Entered::New);
    assert_eq!(line.enter("a", ONE), Entered::Again);
    assert!(sent(&line, &mut place).is_empty());
    line.tell(Some("a"), &Told::Lost { events: 1 });
    assert_eq!(line.enter("a", ONE), Entered::Again);
    let all = sent(&line, &mut place);
    let bare = |text: &String| {
        let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
        value.as_object_mut().unwrap().shift_remove("cursor");
        value
    };
    assert_eq!((all.len(), bare(&all[0])), (2, bare(&all[1])));
}

#[test]
fn another_frame_under_the_same_id_is_no_answer_to_the_first() {
    let line = Line::new(Weak::new());
    let (mut place, _) = line.attach(None);
    line.enter("a", ONE);
    assert_eq!(line.enter("a", [2; 32]), Entered::Other, "while the first is worked on");
    line.tell(Some("a"), &Told::Lost { events: 1 });
    assert_eq!(line.enter("a", [2; 32]), Entered::Other);
    assert_eq!(sent(&line, &mut place).len(), 1, "the first one's answer is not told again");
    assert_eq!(line.enter("a", ONE), Entered::Again, "the first is still known");
}

#[test]
fn whoever_goes_on_from_a_frame_that_was_told_again_hears_nothing_twice() {
    let line = Line::new(Weak::new());
    let (mut place, _) = line.attach(None);
    line.enter("a", ONE);
    line.tell(Some("a"), &Told::Lost { events: 1 });
    line.tell(None, &Told::Lost { events: 2 });
    line.enter("a", ONE);
    let all = sent(&line, &mut place);
    let places: Vec<u64> = all.iter().map(|text| cursor(text).frame).collect();
    assert_eq!(places, [1, 2, 3]);
    let (mut next, resumed) = line.attach(Some(&cursor(&all[2])));
    assert!(resumed);
    assert_eq!(sent(&line, &mut next), Vec::<String>::new());
}

#[test]
fn a_frame_whose_answer_is_gone_is_told_so() {
    let many: fn(&Line) =
        |line| (0..FRAMES as u64).for_each(|events| line.tell(None, &Told::Lost { events }));
    let large: fn(&Line) = |line| {
        let result = serde_json::json!("x".repeat(BYTES));
        line.tell(None, &Told::Answer { to: "b", result });
    };
    let halved: fn(&Line) = |line| {
        (0..8).for_each(|events| line.tell(None, &Told::Lost { events }));
        (0..3).for_each(|_| line.halve());
    };
    for lose in [many, large, halved] {
        let line = Line::new(Weak::new());
        let (mut place, _) = line.attach(None);
        assert_eq!(line.enter("a", ONE), Entered::New);
        line.tell(Some("a"), &Told::Lost { events: 1 });
        lose(&line);
        sent(&line, &mut place);
        // However often it asks.
        for _ in 0..2 {
            assert_eq!(line.enter("a", ONE), Entered::Again, "it is not done again");
            let all = sent(&line, &mut place);
            assert_eq!(all.len(), 1, "{all:?}");
            let told: serde_json::Value = serde_json::from_str(&all[0]).unwrap();
            assert_eq!((&told["type"], &told["to"]), (&"error".into(), &"a".into()));
            assert_eq!(told["problem"]["code"], "result_expired");
            let fix = told["problem"]["suggestion"].as_str().unwrap();
            assert!(fix.contains("/v1/calls?session="), "{fix}");
        }
    }
}

#[test]
fn answers_that_are_told_again_take_no_more_room() {
    let line = Line::new(Weak::new());
    line.enter("a", ONE);
    let large = serde_json::json!("x".repeat(BYTES / 4));
    line.tell(Some("a"), &Told::Answer { to: "a", result: large });
    for _ in 0..20 {
        line.enter("a", ONE);
    }
    let log = line.log();
    assert!(log.bytes <= BYTES, "{}", log.bytes);
    assert_eq!(log.bytes, log.frames.iter().map(|(_, text)| text.len()).sum::<usize>());
}

#[test]
fn notes_come_between_the_frames_that_they_came_between_and_are_not_kept() {
    let line = Line::new(Weak::new());
    let (mut place, _) = line.attach(None);
    let note = |at: u64| {
        let note = serde_json::json!({ "progress": at });
        line.note(&Told::Progress { of: "a", note: &note });
    };
    note(1);
    line.tell(None, &Told::Lost { events: 1 });
    note(2);
    note(3);
    line.tell(Some("a"), &Told::Lost { events: 2 });
    let all = sent(&line, &mut place);
    let kinds: Vec<_> = all.iter().map(|text| text.contains("progress")).collect();
    assert_eq!(kinds, [true, false, true, true, false], "{all:?}");
    let from = Cursor { line: line.id, frame: 0 };
    let (mut again, resumed) = line.attach(Some(&from));
    assert!(resumed);
    assert_eq!(sent(&line, &mut again).len(), 2, "only frames are sent again");
}

#[test]
fn notes_that_nobody_takes_are_bounded_and_push_no_frame_out() {
    let line = Line::new(Weak::new());
    let (mut place, _) = line.attach(None);
    line.tell(Some("a"), &Told::Lost { events: 1 });
    let (small, large) = (serde_json::json!({"progress": 1}), "x".repeat(NOTE_BYTES / 4));
    let large = serde_json::json!({ "message": large });
    for _ in 0..1_000_000 / 64 {
        line.note(&Told::Progress { of: "a", note: &small });
    }
    assert_eq!(line.log().notes.len(), NOTES);
    (0..64).for_each(|_| line.note(&Told::Progress { of: "a", note: &large }));
    assert!(line.log().note_bytes <= NOTE_BYTES, "{}", line.log().note_bytes);
    let all = sent(&line, &mut place);
    assert!(all[0].contains("lost"), "the frame is still there: {}", all[0]);
    assert_eq!(line.log().note_bytes, 0);
}

#[test]
fn a_cursor_is_read_as_it_is_written() {
    let one = Cursor { line: 0xabc, frame: 7 };
    assert_eq!(one.to_string().parse(), Ok(one));
    for odd in ["", "a", "a.", ".7", "z.1", "1.-1", "1.1.1"] {
        assert!(odd.parse::<Cursor>().is_err(), "{odd}");
    }
}
