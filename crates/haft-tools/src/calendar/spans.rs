//! Lists of spans: put together, taken away from each other, cut to what they share.
//!
//! Every list that comes out is in order, and no two of its spans touch.

use haft_core::calendar::Span;

/// The same time as fewest spans.
pub(super) fn merged(mut all: Vec<Span>) -> Vec<Span> {
    all.retain(|span| span.start_ms < span.end_ms);
    all.sort_unstable();
    let mut out: Vec<Span> = Vec::with_capacity(all.len());
    for span in all {
        match out.last_mut() {
            Some(last) if span.start_ms <= last.end_ms => {
                last.end_ms = last.end_ms.max(span.end_ms);
            }
            Some(_) | None => out.push(span),
        }
    }
    out
}

/// The time that is in both; both are merged.
pub(super) fn shared(one: &[Span], other: &[Span]) -> Vec<Span> {
    let (mut left, mut right) = (one.iter().peekable(), other.iter().peekable());
    let mut out = Vec::new();
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let both = Span { start_ms: a.start_ms.max(b.start_ms), end_ms: a.end_ms.min(b.end_ms) };
        if both.start_ms < both.end_ms {
            out.push(both);
        }
        match a.end_ms <= b.end_ms {
            true => left.next(),
            false => right.next(),
        };
    }
    out
}

/// The time of the first that is not in the second; both are merged.
pub(super) fn without(from: &[Span], taken: &[Span]) -> Vec<Span> {
    let mut out = Vec::new();
    let mut taken = taken.iter().peekable();
    for span in from {
        let mut start_ms = span.start_ms;
        while let Some(hole) = taken.peek() {
            if hole.start_ms >= span.end_ms {
                break;
            }
            if hole.start_ms > start_ms {
                out.push(Span { start_ms, end_ms: hole.start_ms });
            }
            start_ms = start_ms.max(hole.end_ms);
            // A hole that goes on takes from the next span as well.
            if hole.end_ms > span.end_ms {
                break;
            }
            taken.next();
        }
        if start_ms < span.end_ms {
            out.push(Span { start_ms, end_ms: span.end_ms });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(pairs: &[(i64, i64)]) -> Vec<Span> {
        pairs
            .iter()
            .map(|(start_ms, end_ms)| Span { start_ms: *start_ms, end_ms: *end_ms })
            .collect()
    }

    #[test]
    fn lists_are_put_together() {
        let check = |all: &[(i64, i64)], expected: &[(i64, i64)]| {
            assert_eq!(merged(spans(all)), spans(expected), "{all:?}");
        };
        check(&[], &[]);
        check(&[(3, 5), (1, 2)], &[(1, 2), (3, 5)]);
        check(&[(1, 3), (3, 5)], &[(1, 5)]);
        check(&[(1, 9), (2, 3), (8, 12)], &[(1, 12)]);
        check(&[(5, 5), (7, 6)], &[]);
    }

    #[test]
    fn what_both_have_is_shared() {
        let check = |one: &[(i64, i64)], other: &[(i64, i64)], expected: &[(i64, i64)]| {
            assert_eq!(shared(&spans(one), &spans(other)), spans(expected), "{one:?} {other:?}");
        };
        check(&[(0, 10)], &[(5, 15)], &[(5, 10)]);
        check(&[(0, 10), (20, 30)], &[(5, 25)], &[(5, 10), (20, 25)]);
        check(&[(0, 10)], &[(10, 20)], &[]);
        check(&[(0, 10)], &[(0, 3), (4, 6), (9, 12)], &[(0, 3), (4, 6), (9, 10)]);
    }

    #[test]
    fn what_is_taken_goes() {
        let check = |from: &[(i64, i64)], taken: &[(i64, i64)], expected: &[(i64, i64)]| {
            assert_eq!(without(&spans(from), &spans(taken)), spans(expected), "{from:?} {taken:?}");
        };
        check(&[(0, 10)], &[], &[(0, 10)]);
        check(&[(0, 10)], &[(0, 10)], &[]);
        check(&[(0, 10)], &[(3, 4), (6, 7)], &[(0, 3), (4, 6), (7, 10)]);
        check(&[(0, 10), (20, 30)], &[(5, 25)], &[(0, 5), (25, 30)]);
        check(&[(0, 10), (20, 30)], &[(-5, 2), (9, 21), (29, 90)], &[(2, 9), (21, 29)]);
        check(&[(0, 10), (20, 30), (40, 50)], &[(5, 45)], &[(0, 5), (45, 50)]);
    }
}
