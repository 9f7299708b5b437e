//! Reproducible pseudo-random choices, seeded by a text.

use crate::metrics::SplitMix;

/// A stream of numbers that depends on its name only (FNV-1a, then SplitMix64).
pub(super) struct Draws(SplitMix);

impl Draws {
    pub(super) fn new(name: &str) -> Self {
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(SplitMix(hash))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0.next()
    }

    /// One of `choices`; `None` if there are none.
    pub(super) fn pick(&mut self, choices: &[usize]) -> Option<usize> {
        let n = choices.len() as u64;
        (n > 0).then(|| choices[(self.next() % n) as usize])
    }

    /// Up to `n` different ones of `choices`.
    pub(super) fn pick_many(&mut self, choices: &[usize], n: usize) -> Vec<usize> {
        let mut left = choices.to_vec();
        let mut picked = Vec::with_capacity(n.min(left.len()));
        while picked.len() < n && !left.is_empty() {
            let at = (self.next() % left.len() as u64) as usize;
            picked.push(left.swap_remove(at));
        }
        picked
    }
}

/// A sample of at most `n` items, in their order. Not the first `n`, because a file may be sorted.
pub(super) fn some<T>(items: Vec<T>, n: usize, name: &str) -> Vec<T> {
    if items.len() <= n {
        return items;
    }
    let all: Vec<usize> = (0..items.len()).collect();
    let chosen: std::collections::BTreeSet<usize> =
        Draws::new(name).pick_many(&all, n).into_iter().collect();
    items.into_iter().enumerate().filter(|(i, _)| chosen.contains(i)).map(|(_, x)| x).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_spread_and_repeatable() {
        let all: Vec<usize> = (0..10).collect();
        let mut counts = [0; 10];
        let mut draws = Draws::new("a");
        for _ in 0..1_000 {
            counts[draws.pick(&all).unwrap_or(0)] += 1;
        }
        assert!(counts.iter().all(|n| (60..140).contains(n)), "{counts:?}");
        let mut five = Draws::new("b").pick_many(&all, 5);
        assert_eq!(five, Draws::new("b").pick_many(&all, 5));
        five.sort_unstable();
        five.dedup();
        assert_eq!(five.len(), 5);
        assert_eq!(Draws::new("b").pick_many(&all, 50).len(), 10);
        assert_eq!(Draws::new("b").pick(&[]), None);
    }

    #[test]
    fn some_keeps_the_order() {
        let some_of = |n| some((0..100).collect::<Vec<_>>(), n, "x");
        assert_eq!(some_of(200).len(), 100);
        let few = some_of(10);
        assert!(few.len() == 10 && few.is_sorted() && few[9] > 30, "{few:?}");
    }
}
