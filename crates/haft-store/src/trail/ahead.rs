//! A time that is ahead of the machine's clock: nothing was touched, and somebody should look at it.

/// Clocks differ, and the store's is not set back by a little. More than this is no such thing.
const AHEAD_MS: i64 = 60 * 60 * 1000;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What the store's time and that of its latest entry say, by the machine's clock. By the first, keys end
/// and things are forgotten; the second stays in the trail when the first was put right.
pub(crate) fn warning(wall_ms: i64, store_ms: i64, latest_ms: i64) -> Option<String> {
    let by = |ms: i64| Some(ms.saturating_sub(wall_ms)).filter(|by| *by > AHEAD_MS).map(in_words);
    let store =
        by(store_ms).map(|by| format!("the store's time is {by} ahead of this machine's clock"));
    let entries = by(latest_ms)
        .map(|by| format!("entries of the trail are dated up to {by} later than it is now"));
    let said: Vec<String> = [store, entries].into_iter().flatten().collect();
    (!said.is_empty()).then(|| {
        format!(
            "{}: this machine's clock was or is wrong, or somebody has set the store's; keys may have been \
             forgotten too early, and a call that was sent again since may have been done twice: set the \
             clock right, and compare `haft effects` with what the providers did",
            said.join(", and ")
        )
    })
}

fn in_words(ms: i64) -> String {
    let (unit, name) = if ms < 2 * DAY_MS { (AHEAD_MS, "hours") } else { (DAY_MS, "days") };
    format!("{} {name}", ms.saturating_add(unit / 2) / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_is_far_ahead_is_told_with_what_it_means() {
        let now = 1_800_000_000_000;
        for (store, latest, expected) in [
            (0, 0, None),
            (now, now, None),
            (now + AHEAD_MS, now + AHEAD_MS, None),
            (
                now + 5 * AHEAD_MS,
                now,
                Some("the store's time is 5 hours ahead of this machine's clock: "),
            ),
            // It was put right, and what was written meanwhile stays.
            (
                now,
                now + 730 * DAY_MS,
                Some("entries of the trail are dated up to 730 days later than it is now: "),
            ),
            (
                now + 3 * DAY_MS,
                now + 2 * DAY_MS,
                Some(
                    "the store's time is 3 days ahead of this machine's clock, and entries of the trail \
                     are dated up to 2 days later than it is now: ",
                ),
            ),
            (i64::MAX, i64::MIN, Some("the store's time is ")),
        ] {
            let told = warning(now, store, latest);
            let begins = told.as_deref().zip(expected).is_some_and(|(a, b)| a.starts_with(b));
            assert!(begins || told.is_none() && expected.is_none(), "{store} {latest}: {told:?}");
        }
    }
}
