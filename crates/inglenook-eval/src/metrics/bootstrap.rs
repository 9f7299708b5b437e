//! Percentile bootstrap intervals of means (Efron and Tibshirani, 1993, §13.3).
//!
//! Random numbers come from SplitMix64: the same values and seed give the same interval.

use serde::Serialize;

/// Samples drawn with replacement for an interval.
pub const N_RESAMPLES: usize = 10_000;

/// A mean with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// Whether the interval excludes 0.
    #[must_use]
    pub fn excludes_zero(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Debug, Clone)]
pub struct SplitMix(pub u64);

impl SplitMix {
    #[expect(clippy::should_implement_trait, reason = "a stream without an end")]
    /// The next number of the sequence.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

/// The mean of the values and its interval: 2.5 and 97.5 % of the means of [`N_RESAMPLES`] samples
/// of the same size. `None` without values.
#[must_use]
pub fn interval(values: &[f64], seed: u64) -> Option<Interval> {
    let mean = super::mean(values)?;
    let mut draws = SplitMix(seed);
    let n = values.len();
    let mut means: Vec<f64> = (0..N_RESAMPLES)
        .map(|_| (0..n).map(|_| values[draws.below(n)]).sum::<f64>() / n as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    Some(Interval { mean, low: percentile(&means, 0.025), high: percentile(&means, 0.975) })
}

/// Mean of a − b over pairs, with its interval: two methods on the same questions.
#[must_use]
pub fn paired_difference(pairs: &[(f64, f64)], seed: u64) -> Option<Interval> {
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| a - b).collect();
    interval(&differences, seed)
}

/// Linear interpolation between the two nearest sorted values, as in NumPy. Needs at least one value.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

/// Nearest-rank percentile of sorted values; `None` without values.
#[must_use]
pub fn nearest_rank<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(found: Option<Interval>, mean: f64, low: f64, high: f64) {
        let found = found.unwrap();
        for (found, expected) in [(found.mean, mean), (found.low, low), (found.high, high)] {
            assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
        }
    }

    /// The first numbers of the published generator (Vigna's splitmix64.c) from 1234567.
    #[test]
    fn the_generator_is_the_published_one() {
        let mut draws = SplitMix(1_234_567);
        let first = [draws.next(), draws.next(), draws.next()];
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    /// What NumPy's `mean` and `percentile` give over the same draws.
    #[test]
    #[expect(clippy::unreadable_literal, reason = "as NumPy prints them")]
    fn equal_to_numpy_s_percentiles() {
        let values: Vec<f64> = (0..50).map(|i| f64::from(i * i % 17) / 17.0).collect();
        close(interval(&values, 7), 0.4788235294117647, 0.3870588235294117, 0.5705882352941177);
        let pairs: Vec<(f64, f64)> =
            values.iter().enumerate().map(|(i, &v)| (v, f64::from(i as u32 % 5) / 5.0)).collect();
        close(
            paired_difference(&pairs, 8),
            0.07882352941176471,
            -0.030823529411764722,
            0.1945882352941176,
        );
    }

    #[test]
    fn the_interval_of_many_is_that_of_the_normal_distribution() {
        let values: Vec<f64> = (0..2_000).map(|i| f64::from(i % 4 == 0)).collect();
        let half = 1.96 * (0.25f64 * 0.75 / 2_000.0).sqrt();
        let found = interval(&values, 1).unwrap();
        assert!((found.high - 0.25 - half).abs() < 0.001, "{found:?}");
        assert!((0.25 - found.low - half).abs() < 0.001, "{found:?}");
        assert_eq!(interval(&values, 1), Some(found), "seeded");
        assert_ne!(interval(&values, 2), Some(found));
    }

    #[test]
    fn pairs_are_surer_than_means() {
        let pairs: Vec<(f64, f64)> =
            (0..100).map(|i| (f64::from(i) + 1.0 + f64::from(i % 3), f64::from(i))).collect();
        let difference = paired_difference(&pairs, 0).unwrap();
        assert!(difference.excludes_zero() && difference.high < 2.5, "{difference:?}");
        let same: Vec<(f64, f64)> = (0..9).map(|i| (f64::from(i), f64::from(i))).collect();
        assert!(!paired_difference(&same, 0).unwrap().excludes_zero());
    }

    #[test]
    fn edges() {
        assert_eq!(interval(&[], 0), None);
        close(interval(&[0.5], 0), 0.5, 0.5, 0.5);
        close(interval(&[2.0; 9], 0), 2.0, 2.0, 2.0);
    }
}
