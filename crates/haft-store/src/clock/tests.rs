use super::*;

const NOW: i64 = 1_800_000_000_000;
const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// A time that has been kept for long, and its clock.
fn kept() -> (Arc<Manual>, Steady) {
    let clock = Manual::of_boot(NOW, Some("one"));
    let steady = Steady::new(clock.clone(), Stored::default());
    clock.advance(30 * DAY);
    assert_eq!(steady.times().sure, NOW + 30 * DAY);
    (clock, steady)
}

/// Lets time pass, and somebody look at it every minute.
fn pass(clock: &Manual, steady: &Steady, ms: i64) {
    for _ in 0..ms / MINUTE {
        clock.advance(MINUTE);
        steady.now_ms();
    }
}

/// What a process leaves to the next.
fn left(steady: &Steady) -> Stored {
    Stored { reading: steady.reading(), boot: steady.boot().map(str::to_owned), told: 0 }
}

/// Another process, after this one.
fn reopened(clock: &Arc<Manual>, steady: &Steady) -> Steady {
    Steady::new(clock.clone(), left(steady))
}

/// A process after another start of the machine, whose clock shows this.
fn restarted(steady: &Steady, wall: i64) -> (Arc<Manual>, Steady) {
    let clock = Manual::of_boot(wall, Some("another"));
    let steady = Steady::new(clock.clone(), left(steady));
    (clock, steady)
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
    let steady = Steady::new(clock.clone(), Stored::default());
    clock.set_wall(9_000);
    clock.advance(400);
    assert_eq!(steady.now_ms(), 10_000);
    clock.advance(700);
    assert_eq!(steady.now_ms(), 10_100);
}

#[test]
fn time_starts_where_it_was_left() {
    let clock = Manual::at(5);
    let times = Times { now: 70_000, ..Times::default() };
    let reading = Reading { times, ..Reading::default() };
    let steady = Steady::new(clock, Stored { reading, ..Stored::default() });
    assert_eq!(steady.now_ms(), 70_000);
    assert_eq!(steady.not_before(80_000).times.now, 80_000);
    assert_eq!(steady.not_before(1).times.now, 80_000);
}

#[test]
fn a_clock_that_jumps_for_a_moment_moves_nothing() {
    for jump in [100 * DAY, YEAR, -YEAR] {
        let (clock, steady) = kept();
        let now = steady.now_ms();
        clock.set_wall(now + jump);
        pass(&clock, &steady, 9 * MINUTE);
        assert_eq!(steady.now_ms(), now + 9 * MINUTE, "{jump}");
        assert_eq!(steady.times().sure, now + 9 * MINUTE, "{jump}");
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
    assert_eq!(steady.times().sure, now + 69 * MINUTE, "nothing is forgotten by it yet");
    pass(&clock, &steady, 2 * MINUTE);
    assert_eq!(steady.times().sure, now + YEAR + 71 * MINUTE);
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
        assert!(steady.times().sure <= steady.now_ms());
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
    let (_, steady) = kept();
    let now = steady.now_ms();
    let (clock, steady) = restarted(&steady, now + 30 * DAY);
    assert_eq!(steady.now_ms(), now + 30 * DAY);
    assert_eq!(steady.times().sure, now);
    pass(&clock, &steady, HOUR);
    assert_eq!(steady.times().sure, now + 30 * DAY + HOUR);
}

#[test]
fn processes_that_last_a_moment_know_how_long_it_was_between_them() {
    let (clock, mut steady) = kept();
    for _ in 0..5 {
        let before = left(&steady);
        let now = before.reading.times.now;
        clock.advance(DAY);
        steady = Steady::new(clock.clone(), before);
        assert_eq!((steady.now_ms(), steady.times().sure), (now + DAY, now + DAY));
    }
}

#[test]
fn a_clock_that_is_set_between_two_processes_has_jumped() {
    let (clock, mut steady) = kept();
    let now = steady.now_ms();
    for days in [31, 32, -3, 400] {
        clock.set_wall(now + days * DAY);
        steady = reopened(&clock, &steady);
        assert_eq!((steady.now_ms(), steady.off_ms()), (now, Some(days * DAY)));
    }
    clock.set_wall(now);
    let steady = reopened(&clock, &steady);
    assert_eq!((steady.times().sure, steady.off_ms()), (now, None));
}

#[test]
fn a_clock_that_stays_ahead_is_believed_by_processes_that_last_a_moment() {
    let (clock, mut steady) = kept();
    let now = steady.now_ms();
    clock.set_wall(now + YEAR);
    steady = reopened(&clock, &steady);
    for _ in 0..10 {
        assert_eq!(steady.times().sure, steady.now_ms());
        assert!(steady.now_ms() < now + DAY);
        clock.advance(MINUTE);
        steady = reopened(&clock, &steady);
    }
    assert_eq!(
        (steady.now_ms(), steady.times().sure),
        (now + YEAR + 10 * MINUTE, now + 10 * MINUTE)
    );
}

#[test]
fn starts_of_a_machine_at_one_wrong_time_after_another_forget_nothing() {
    let (_, mut steady) = kept();
    let now = steady.now_ms();
    for days in [31, 32, 64, 1_000] {
        let clock;
        (clock, steady) = restarted(&steady, now + days * DAY);
        pass(&clock, &steady, 20 * MINUTE);
        assert!(steady.times().sure < now + DAY, "{days}");
        // The last of it was told and not written down.
        let told = Stored { told: steady.now_ms() + 900, ..left(&steady) };
        steady = Steady::new(clock, told);
    }
    assert_eq!(steady.now_ms(), now + 1_000 * DAY + 20 * MINUTE + 900);
}

#[test]
fn a_time_that_was_told_after_it_was_written_down_does_not_count_twice() {
    let (clock, steady) = kept();
    let stored = left(&steady);
    let now = stored.reading.times.now;
    clock.advance(900);
    let told = Stored { told: now + 900, ..stored };
    assert_eq!(Steady::new(clock.clone(), told).reading(), steady.reading());
}

#[test]
fn another_process_that_believes_another_clock_is_not_followed() {
    let (_, steady) = kept();
    let now = steady.now_ms();
    assert_eq!(steady.not_before(now + 1_000).times.now, now + 1_000);
    assert_eq!(steady.not_before(now + YEAR).times.now, now + 1_000);
}

#[test]
fn the_machines_ticks_go_on() {
    let system = System::default();
    let (first, second) = (system.ticks_ms(), system.ticks_ms());
    assert!(first <= second && second - first < 60_000);
    assert!(system.wall_ms() > 1_700_000_000_000);
}
