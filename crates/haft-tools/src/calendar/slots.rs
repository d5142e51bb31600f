//! From everybody's free time to times that a meeting could start at.

use haft_core::calendar::Span;

/// Meetings start at every quarter of an hour.
const STEP_MS: i64 = 15 * 60 * 1_000;

/// Starts within free time: those nearest to the wishes first, else the earliest.
pub(super) fn starts(free: &[Span], length_ms: i64, wishes: &[i64], most: usize) -> Vec<i64> {
    let fits = |span: &Span, start: i64| start >= span.start_ms && start + length_ms <= span.end_ms;
    let mut found: Vec<i64> = free
        .iter()
        .flat_map(|span| {
            let first = span.start_ms.div_euclid(STEP_MS) * STEP_MS;
            let steps = (0..).map(move |step| first + step * STEP_MS);
            steps
                .take_while(move |start| start + length_ms <= span.end_ms)
                .filter(move |start| fits(span, *start))
        })
        .collect();
    // A wish need not fall on a quarter.
    found.extend(wishes.iter().filter(|wish| free.iter().any(|span| fits(span, **wish))));
    let distance = |start: i64| wishes.iter().map(|wish| wish.abs_diff(start)).min().unwrap_or(0);
    found.sort_by_key(|start| (distance(*start), *start));
    found.dedup();
    found.truncate(most);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000;

    #[test]
    fn starts_lie_in_free_time_and_near_to_what_was_wished() {
        let check = |free: &[(i64, i64)], length: i64, wishes: &[i64], most, expected: &[i64]| {
            let free: Vec<Span> = free
                .iter()
                .map(|(start, end)| Span { start_ms: start * MINUTE, end_ms: end * MINUTE })
                .collect();
            let wishes: Vec<i64> = wishes.iter().map(|wish| wish * MINUTE).collect();
            let found = starts(&free, length * MINUTE, &wishes, most);
            let found: Vec<i64> = found.iter().map(|start| start / MINUTE).collect();
            assert_eq!(found, expected, "{free:?} {wishes:?}");
        };
        check(&[(0, 60)], 30, &[], 9, &[0, 15, 30]);
        check(&[(7, 60)], 30, &[], 9, &[15, 30]);
        check(&[(0, 60)], 60, &[], 9, &[0]);
        check(&[(0, 59)], 60, &[], 9, &[]);
        check(&[(-40, 0)], 15, &[], 9, &[-30, -15]);
        check(&[(0, 60), (600, 660)], 30, &[615], 2, &[615, 600]);
        check(&[(0, 60)], 30, &[20], 2, &[20, 15]);
        check(&[(0, 60)], 30, &[50], 1, &[30]);
        check(&[(0, 600)], 30, &[], 3, &[0, 15, 30]);
    }
}
