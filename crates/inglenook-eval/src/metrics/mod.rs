//! Standard metrics for answers, choices and signals. Pure: texts and numbers in, numbers out.

mod bleu;
mod bootstrap;
mod rouge;

use std::collections::HashMap;

pub use bleu::{bleu_1, set_f1, word_tokens};
pub use bootstrap::{Interval, N_RESAMPLES, SplitMix, interval, nearest_rank, paired_difference};
pub use rouge::rouge_l;

pub use inglenook::worker::check::harmonic_mean;

/// An answer's words, normalised as in SQuAD: lower case, without punctuation and articles.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let bare: String = text
        .to_lowercase()
        .chars()
        .filter(|&c| !c.is_ascii_punctuation() && !"’‘“”–—…·".contains(c))
        .collect();
    bare.split_whitespace()
        .filter(|word| !matches!(*word, "a" | "an" | "the"))
        .map(str::to_owned)
        .collect()
}

/// Whether the texts have the same [`words`] in the same order.
#[must_use]
pub fn exact(found: &str, expected: &str) -> bool {
    words(found) == words(expected)
}

/// F1 over the multisets of [`words`]; two empty texts agree.
#[must_use]
pub fn token_f1(found: &str, expected: &str) -> f64 {
    let (found, expected) = (words(found), words(expected));
    if found.is_empty() || expected.is_empty() {
        return f64::from(found == expected);
    }
    let mut left: HashMap<&str, usize> = HashMap::new();
    for word in &expected {
        *left.entry(word).or_default() += 1;
    }
    let mut shared = 0;
    for word in &found {
        if let Some(n) = left.get_mut(word.as_str()).filter(|n| **n > 0) {
            *n -= 1;
            shared += 1;
        }
    }
    harmonic_mean(share(shared, found.len()), share(shared, expected.len()))
}

fn share(n: usize, of: usize) -> f64 {
    n as f64 / of as f64
}

/// Arithmetic mean; `None` without values.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Area under the ROC curve: how likely one of `positives` is larger than one of `negatives`, a
/// tie counting half. `None` if either is empty. NaN ranks lowest.
#[must_use]
pub fn roc_auc(positives: &[f64], negatives: &[f64]) -> Option<f64> {
    if positives.is_empty() || negatives.is_empty() {
        return None;
    }
    let number = |x: &f64| if x.is_nan() { f64::NEG_INFINITY } else { *x };
    let mut sorted: Vec<f64> = negatives.iter().map(number).collect();
    sorted.sort_by(f64::total_cmp);
    let beaten: f64 = positives
        .iter()
        .map(number)
        .map(|x| {
            let below = sorted.partition_point(|&y| y < x);
            let not_above = sorted.partition_point(|&y| y <= x);
            f64::midpoint(below as f64, not_above as f64)
        })
        .sum();
    Some(beaten / (positives.len() as f64 * negatives.len() as f64))
}

/// Mean recall over the expected classes, so that always choosing the majority class scores as low as chance.
/// Decisions are `(expected, found)`; a missing decision is wrong. `None` without decisions.
#[must_use]
pub fn balanced_accuracy(decisions: &[(usize, Option<usize>)]) -> Option<f64> {
    let mut classes: HashMap<usize, (usize, usize)> = HashMap::new();
    for &(expected, found) in decisions {
        let (n_right, n) = classes.entry(expected).or_default();
        *n_right += usize::from(found == Some(expected));
        *n += 1;
    }
    let recalls: Vec<f64> = classes.into_values().map(|(right, n)| share(right, n)).collect();
    mean(&recalls)
}

/// 1 if `a` is larger than `b`, ½ if they are equal, else 0.
#[must_use]
pub fn wins(a: f64, b: f64) -> f64 {
    if a == b { 0.5 } else { f64::from(a > b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn answers_are_compared_by_their_words() {
        let check = |a: &str, b: &str, same: bool| assert_eq!(exact(a, b), same, "{a:?} {b:?}");
        check("The Mafen Labs.", "mafen labs", true);
        check(" Losal's  Café ", "losals café", true);
        check("I don’t know.", "I don't know", true);
        check("Mafen", "Mafen Labs", false);
        check("labs mafen", "mafen labs", false);
        check("", "the", true);
        check("東京", "東京", true);
    }

    /// By hand, and as SQuAD's own script gives them.
    #[test]
    fn f1_counts_shared_words() {
        let check = |a: &str, b: &str, f1: f64| {
            close(token_f1(a, b), f1);
            close(token_f1(b, a), f1);
        };
        check("Mafen Labs", "Mafen Labs", 1.0);
        check("Mafen", "Mafen Labs", 2.0 / 3.0);
        check("at the Mafen Labs in Losal", "Mafen Labs", 2.0 * 0.4 / 1.4);
        check("red red", "red", 2.0 / 3.0);
        check("blue", "red", 0.0);
        check("", "red", 0.0);
        check("", "", 1.0);
        check("a", "the", 1.0);
    }

    #[test]
    fn auc_is_the_chance_of_ranking_right() {
        let auc = |p: &[f64], n: &[f64]| roc_auc(p, n);
        assert_eq!(auc(&[2.0, 3.0], &[0.0, 1.0]), Some(1.0));
        assert_eq!(auc(&[0.0], &[1.0, 2.0]), Some(0.0));
        assert_eq!(auc(&[1.0, 1.0], &[1.0]), Some(0.5));
        // sklearn.metrics.roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        assert_eq!(auc(&[0.35, 0.8], &[0.1, 0.4]), Some(0.75));
        // Of six comparisons four are won and one is a tie.
        assert_eq!(auc(&[3.0, 1.0, 2.0], &[1.0, 1.5]), Some(4.5 / 6.0));
        assert_eq!(auc(&[f64::NAN], &[0.0]), Some(0.0));
        assert_eq!(auc(&[], &[1.0]), None);
        assert_eq!(auc(&[1.0], &[]), None);
    }

    #[test]
    fn a_constant_answer_is_worth_a_coin() {
        let always = [(0, Some(0)), (0, Some(0)), (0, Some(0)), (1, Some(0))];
        assert_eq!(balanced_accuracy(&always), Some(0.5));
        assert_eq!(balanced_accuracy(&[(0, Some(0)), (0, None), (1, Some(1))]), Some(0.75));
        assert_eq!(balanced_accuracy(&[(1, Some(1))]), Some(1.0));
        assert_eq!(balanced_accuracy(&[]), None);
    }

    #[test]
    fn means() {
        assert_eq!(mean(&[1.0, 0.0]), Some(0.5));
        assert_eq!(mean(&[]), None);
        close(harmonic_mean(0.5, 1.0), 2.0 / 3.0);
        close(harmonic_mean(0.0, 1.0), 0.0);
        assert_eq!((wins(2.0, 1.0), wins(1.0, 1.0), wins(0.0, 1.0)), (1.0, 0.5, 0.0));
    }
}
