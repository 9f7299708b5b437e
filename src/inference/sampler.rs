//! Draws the next token from logits. Seeded: the same logits and seed give the same token on every
//! machine (ChaCha, whose stream is fixed).

use rand::Rng;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::probability::argmax;
use crate::interfaces::{ModelError, Sampling};

/// How far back the repetition penalty looks.
const N_PENALISED: usize = 64;

/// Draws the tokens of one request.
#[derive(Debug)]
pub struct Sampler {
    sampling: Sampling,
    rng: ChaCha8Rng,
}

impl Sampler {
    /// A sampler with its own random stream.
    pub fn new(sampling: &Sampling) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(sampling.seed), sampling: sampling.clone() }
    }

    /// The next token after `held`.
    ///
    /// # Errors
    /// [`ModelError::NotANumber`] if no token has a probability.
    pub fn draw(&mut self, mut logits: Vec<f32>, held: &[u32]) -> Result<u32, ModelError> {
        if logits.is_empty() || logits.iter().any(|l| l.is_nan()) {
            return Err(ModelError::NotANumber);
        }
        let Sampling { temperature, top_p, min_p, repetition_penalty, .. } = self.sampling;
        if repetition_penalty != 1.0 && repetition_penalty > 0.0 {
            penalise(&mut logits, held, repetition_penalty);
        }
        if temperature <= 0.0 || temperature.is_nan() {
            return Ok(argmax(&logits));
        }
        let max = logits[argmax(&logits) as usize];
        let mut candidates: Vec<(u32, f32)> = logits
            .iter()
            .enumerate()
            .map(|(token, &logit)| (token as u32, ((logit - max) / temperature).exp()))
            // The most likely token has weight 1.
            .filter(|&(_, weight)| weight >= min_p.min(1.0) && weight > 0.0)
            .collect();
        if top_p < 1.0 {
            nucleus(&mut candidates, top_p.max(0.0));
        }
        let total: f64 = candidates.iter().map(|&(_, w)| f64::from(w)).sum();
        if !total.is_finite() || total <= 0.0 {
            return Err(ModelError::NotANumber);
        }
        let mut left = self.rng.random::<f64>() * total;
        for &(token, weight) in &candidates {
            left -= f64::from(weight);
            if left < 0.0 {
                return Ok(token);
            }
        }
        // Rounding may leave a remainder.
        candidates.last().map(|&(token, _)| token).ok_or(ModelError::NotANumber)
    }
}

/// Each recent token is penalised once, however often it occurs.
fn penalise(logits: &mut [f32], held: &[u32], penalty: f32) {
    let mut recent = held[held.len().saturating_sub(N_PENALISED)..].to_vec();
    recent.sort_unstable();
    recent.dedup();
    for token in recent {
        if let Some(logit) = logits.get_mut(token as usize) {
            *logit = if *logit > 0.0 { *logit / penalty } else { *logit * penalty };
        }
    }
}

/// Keeps the fewest most likely candidates whose probability mass reaches `top_p`, at least one. Sorts the
/// best 64 candidates, and eight times as many whenever those do not suffice.
fn nucleus(candidates: &mut Vec<(u32, f32)>, top_p: f32) {
    let by_weight =
        |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0));
    let total: f64 = candidates.iter().map(|&(_, w)| f64::from(w)).sum();
    let wanted = f64::from(top_p) * total;
    let mut n_sorted = 64.min(candidates.len());
    loop {
        if n_sorted < candidates.len() {
            candidates.select_nth_unstable_by(n_sorted - 1, by_weight);
        }
        candidates[..n_sorted].sort_unstable_by(by_weight);
        let mut reached = 0.0;
        let enough = candidates[..n_sorted].iter().position(|&(_, weight)| {
            reached += f64::from(weight);
            reached >= wanted
        });
        if let Some(last) = enough {
            candidates.truncate(last + 1);
            return;
        }
        if n_sorted == candidates.len() {
            return;
        }
        n_sorted = (n_sorted * 8).min(candidates.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampling(change: impl FnOnce(&mut Sampling)) -> Sampling {
        let mut sampling = Sampling { temperature: 1.0, ..Sampling::greedy(1) };
        change(&mut sampling);
        sampling
    }

    fn shares(sampling: &Sampling, logits: &[f32], held: &[u32]) -> Vec<f64> {
        let mut sampler = Sampler::new(sampling);
        let mut counts = vec![0; logits.len()];
        for _ in 0..20_000 {
            counts[sampler.draw(logits.to_vec(), held).unwrap() as usize] += 1;
        }
        counts.into_iter().map(|n| f64::from(n) / 20_000.0).collect()
    }

    #[track_caller]
    fn check(sampling: &Sampling, logits: &[f32], held: &[u32], expected: &[f64]) {
        let got = shares(sampling, logits, held);
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() < 0.015, "{got} instead of {expected}");
        }
    }

    const LN_2: f32 = std::f32::consts::LN_2;
    const LOGITS: [f32; 4] = [0.0, LN_2, 1.609_438, LN_2]; // 1 : 2 : 5 : 2

    #[test]
    fn draws_in_proportion() {
        check(&sampling(|_| {}), &LOGITS, &[], &[0.1, 0.2, 0.5, 0.2]);
    }

    #[test]
    fn top_p_keeps_the_likeliest() {
        check(&sampling(|s| s.top_p = 0.6), &LOGITS, &[], &[0.0, 2.0 / 7.0, 5.0 / 7.0, 0.0]);
        check(&sampling(|s| s.top_p = 0.0), &LOGITS, &[], &[0.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn min_p_drops_the_unlikely() {
        check(&sampling(|s| s.min_p = 0.3), &LOGITS, &[], &[0.0, 2.0 / 9.0, 5.0 / 9.0, 2.0 / 9.0]);
    }

    #[test]
    fn the_penalty_lowers_what_was_said() {
        let got = shares(&sampling(|s| s.repetition_penalty = 2.0), &LOGITS, &[2, 2]);
        assert!(got[2] < 0.35, "{got:?}");
    }

    #[test]
    fn a_nucleus_wider_than_one_sort_is_exact() {
        let logits = vec![0.0; 3000];
        let mut candidates: Vec<(u32, f32)> = (0..3000).map(|t| (t, 1.0)).collect();
        nucleus(&mut candidates, 0.5);
        assert_eq!(candidates.len(), 1500);
        let drawn = Sampler::new(&sampling(|s| s.top_p = 0.5)).draw(logits, &[]).unwrap();
        assert!(drawn < 1500);
    }

    #[test]
    fn the_seed_decides() {
        let draw = |seed| {
            let mut sampler = Sampler::new(&sampling(|s| s.seed = seed));
            (0..50).map(|_| sampler.draw(LOGITS.to_vec(), &[]).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn greedy_takes_the_likeliest_and_nan_is_refused() {
        let mut greedy = Sampler::new(&Sampling::greedy(1));
        assert_eq!(greedy.draw(LOGITS.to_vec(), &[]).unwrap(), 2);
        let refused = greedy.draw(vec![0.0, f32::NAN], &[]);
        assert!(matches!(refused, Err(ModelError::NotANumber)));
    }
}
