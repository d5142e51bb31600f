use super::*;

const NOW: i64 = 1_800_000_000_000;
const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// A time that has been kept for long, and its clock.
fn kept() -> (Arc<Manual>, Steady) {
    let clock = Manual::at(NOW);
    let steady = Steady::new(clock.clone(), Times::default());
    clock.advance(30 * DAY);
    assert_eq!(steady.times().trusted(), NOW + 30 * DAY);
    (clock, steady)
}

/// Lets time pass, and somebody look at it every minute.
fn pass(clock: &Manual, steady: &Steady, ms: i64) {
    for _ in 0..ms / MINUTE {
        clock.advance(MINUTE);
        steady.now_ms();
    }
}

/// Another process, after this one.
fn reopened(clock: &Arc<Manual>, steady: &Steady) -> Steady {
    Steady::new(clock.clone(), steady.times())
}

#[test]
fn a_clock_that_is_set_back_a_day_does_not_take_the_time_back_and_time_goes_on() {
    let (clock, steady) = kept();
    let now = steady.now_ms();
    clock.set_wall(now - DAY);
    assert_eq!(steady.now_ms(), now);
    clock.advance(500);
    assert_eq!(steady.now_ms(), now + 500, "leases and tokens still run out");
}

#[test]
fn a_small_correction_makes_time_stand_still_until_it_is_caught_up() {
    let clock = Manual::at(10_000);
    let steady = Steady::new(clock.clone(), Times::default());
    clock.set_wall(9_000);
    clock.advance(400);
    assert_eq!(steady.now_ms(), 10_000);
    clock.advance(700);
    assert_eq!(steady.now_ms(), 10_100);
}

#[test]
fn time_starts_where_it_was_left() {
    let clock = Manual::at(5);
    let stored = Times { now: 70_000, ..Times::default() };
    let steady = Steady::new(clock, stored);
    assert_eq!(steady.now_ms(), 70_000);
    assert_eq!(steady.not_before(80_000).now, 80_000);
    assert_eq!(steady.not_before(1).now, 80_000);
}

#[test]
fn a_clock_that_jumps_for_a_moment_moves_nothing() {
    for jump in [100 * DAY, YEAR, -YEAR] {
        let (clock, steady) = kept();
        let now = steady.now_ms();
        clock.set_wall(now + jump);
        pass(&clock, &steady, 9 * MINUTE);
        assert_eq!(steady.now_ms(), now + 9 * MINUTE, "{jump}");
        assert_eq!(steady.times().trusted(), now + 9 * MINUTE, "{jump}");
        assert_eq!(steady.off_ms(), Some(jump));
        clock.set_wall(now + 9 * MINUTE);
        pass(&clock, &steady, MINUTE);
        assert_eq!((steady.now_ms(), steady.off_ms()), (now + 10 * MINUTE, None), "{jump}");
    }
}

#[test]
fn a_clock_that_jumps_about_is_not_believed() {
    let (clock, steady) = kept();
    let now = steady.now_ms();
    for day in 1..60 {
        clock.set_wall(now + day * DAY);
        pass(&clock, &steady, MINUTE);
    }
    assert_eq!(steady.now_ms(), now + 59 * MINUTE);
}

#[test]
fn a_clock_that_stays_ahead_is_believed_and_trusted_later() {
    let (clock, steady) = kept();
    let now = steady.now_ms();
    clock.set_wall(now + YEAR);
    pass(&clock, &steady, 11 * MINUTE);
    assert_eq!((steady.now_ms(), steady.off_ms()), (now + YEAR + 11 * MINUTE, None));
    pass(&clock, &steady, 58 * MINUTE);
    assert_eq!(steady.times().trusted(), now + 69 * MINUTE, "nothing is forgotten by it yet");
    pass(&clock, &steady, 2 * MINUTE);
    assert_eq!(steady.times().trusted(), now + YEAR + 71 * MINUTE);
}

#[test]
fn what_was_believed_wrongly_is_taken_back() {
    for held in [20 * MINUTE, 2 * HOUR, 6 * DAY] {
        let (clock, steady) = kept();
        let now = steady.now_ms();
        clock.set_wall(now + YEAR);
        pass(&clock, &steady, held);
        let steady = reopened(&clock, &steady);
        clock.set_wall(now + held);
        let steady = reopened(&clock, &steady);
        assert!(steady.now_ms() >= now + YEAR, "not at once: perhaps it is wrong now");
        pass(&clock, &steady, 11 * MINUTE);
        assert_eq!(steady.now_ms(), now + held + 11 * MINUTE);
        assert!(steady.times().trusted() <= steady.now_ms());
    }
}

#[test]
fn a_clock_that_stays_behind_takes_nothing_back_that_was_certain() {
    let (clock, steady) = kept();
    let now = steady.now_ms();
    clock.set_wall(now - YEAR);
    pass(&clock, &steady, DAY);
    assert_eq!((steady.now_ms(), steady.off_ms()), (now + DAY, Some(-YEAR)));
    let steady = reopened(&clock, &steady);
    pass(&clock, &steady, DAY);
    assert_eq!(steady.now_ms(), now + 2 * DAY);
}

#[test]
fn a_machine_that_was_off_has_the_right_time_at_once_and_forgets_later() {
    let (clock, steady) = kept();
    let now = steady.now_ms();
    let stored = steady.times();
    clock.set_wall(now + 30 * DAY);
    let steady = Steady::new(clock.clone(), stored);
    assert_eq!(steady.now_ms(), now + 30 * DAY);
    assert_eq!(steady.times().trusted(), now);
    pass(&clock, &steady, HOUR);
    assert_eq!(steady.times().trusted(), now + 30 * DAY + HOUR);
}

#[test]
fn processes_that_last_a_moment_trust_the_time_of_the_one_before() {
    let (clock, mut steady) = kept();
    for _ in 0..5 {
        let before = steady.now_ms();
        clock.set_wall(before + DAY);
        steady = reopened_later(&clock, &steady);
        assert_eq!((steady.now_ms(), steady.times().trusted()), (before + DAY, before));
    }
}

/// Another process, for which no ticks have passed since.
fn reopened_later(clock: &Arc<Manual>, steady: &Steady) -> Steady {
    let stored = steady.last.lock().times;
    Steady::new(clock.clone(), stored)
}

#[test]
fn another_process_that_believes_another_clock_is_not_followed() {
    let (_, steady) = kept();
    let now = steady.now_ms();
    assert_eq!(steady.not_before(now + 1_000).now, now + 1_000);
    assert_eq!(steady.not_before(now + YEAR).now, now + 1_000);
}

#[test]
fn the_machines_ticks_go_on() {
    let system = System::default();
    let (first, second) = (system.ticks_ms(), system.ticks_ms());
    assert!(first <= second && second < 60_000);
    assert!(system.wall_ms() > 1_700_000_000_000);
}
