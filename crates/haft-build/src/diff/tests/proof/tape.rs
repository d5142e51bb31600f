//! Random choices, read from bytes so that a failing case shrinks to a small one.

pub(super) struct Tape<'a> {
    left: std::slice::Iter<'a, u8>,
}

impl<'a> Tape<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes.iter() }
    }

    /// A number below `end`; 0 when the tape has run out.
    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::from(self.left.next().copied().unwrap_or_default()) % end.max(1)
    }

    pub(super) fn pick<'v, T>(&mut self, list: &'v [T]) -> &'v T {
        &list[self.below(list.len())]
    }

    pub(super) fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) + 1 == chances
    }
}
