//! A set of numbers, one bit each.

#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers(Vec<u64>);

impl Numbers {
    /// Returns whether it is new.
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        let (word, bit) = (usize::try_from(number / 64).unwrap(), 1 << (number % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// How many of these are not in `others`.
    pub(crate) fn without(&self, others: &Self) -> u64 {
        let of = |(index, word): (usize, &u64)| {
            let other = others.0.get(index).copied().unwrap_or_default();
            u64::from((word & !other).count_ones())
        };
        self.0.iter().enumerate().map(of).sum()
    }
}
