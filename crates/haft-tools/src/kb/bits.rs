//! A set of documents of one segment.

/// One bit a document.
#[derive(Clone, Debug)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn none(documents: u32) -> Self {
        Self(vec![0; documents.div_ceil(64) as usize])
    }

    pub(super) fn insert(&mut self, document: u32) {
        if let Some(word) = self.0.get_mut((document / 64) as usize) {
            *word |= 1 << (document % 64);
        }
    }

    pub(super) fn contains(&self, document: u32) -> bool {
        self.0.get((document / 64) as usize).is_some_and(|word| word >> (document % 64) & 1 == 1)
    }

    pub(super) fn keep(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine &= theirs);
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine |= theirs);
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.len() * 8
    }

    pub(super) fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// The documents in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().zip(0..).flat_map(|(word, at)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                if left == 0 {
                    return None;
                }
                let bit = left.trailing_zeros();
                left &= left - 1;
                Some(at * 64 + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_come_in_their_order() {
        let mut bits = Bits::none(130);
        [129, 0, 64, 63].into_iter().for_each(|document| bits.insert(document));
        assert_eq!(bits.iter().collect::<Vec<_>>(), [0, 63, 64, 129]);
        let mut other = Bits::none(130);
        [63, 129, 1].into_iter().for_each(|document| other.insert(document));
        bits.keep(&other);
        assert_eq!((bits.count(), bits.contains(63), bits.contains(0)), (2, true, false));
        bits.add(&other);
        assert_eq!(bits.iter().collect::<Vec<_>>(), [1, 63, 129]);
        bits.insert(1_000);
        assert!(!bits.contains(1_000));
    }
}
