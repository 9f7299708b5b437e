//! ROUGE-L (Lin, 2004) as PyPI's `rouge-score` gives it, with its default tokenizer and without
//! stemming.
//!
//! `tests/fixtures/rouge_l.json` holds 500 pairs of texts of our own with that package's figures
//! (0.1.2); `make_rouge_l.py` beside it makes them.

use super::{harmonic_mean, share};

/// F1 of the longest common subsequence of the two texts' tokens: runs of `a–z` and `0–9` after
/// lower-casing, so that text in other scripts has none. 0 if either has no token.
#[must_use]
pub fn rouge_l(found: &str, expected: &str) -> f64 {
    let (found, expected) = (found.to_lowercase(), expected.to_lowercase());
    let (found, expected) = (tokens(&found), tokens(&expected));
    let n = longest_common(&found, &expected);
    if n == 0 {
        return 0.0;
    }
    harmonic_mean(share(n, found.len()), share(n, expected.len()))
}

fn tokens(lower: &str) -> Vec<&str> {
    let is_token = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    lower.split(|c| !is_token(c)).filter(|token| !token.is_empty()).collect()
}

/// Length of the longest common subsequence.
fn longest_common(a: &[&str], b: &[&str]) -> usize {
    // row[j]: of what has been read of `a` and the first j of `b`.
    let mut row = vec![0; b.len() + 1];
    for x in a {
        let mut diagonal = 0;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if x == y { diagonal + 1 } else { above.max(row[j]) };
            diagonal = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let check = |a: &str, b: &str, f: f64| {
            assert!((rouge_l(a, b) - f).abs() < 1e-12, "{a:?} {b:?} {}", rouge_l(a, b));
        };
        check("Lund", "lund.", 1.0);
        check("police killed the gunman", "police kill the gunman", 0.75);
        check("the gunman kill police", "police kill the gunman", 0.5);
        check("Ana's dog", "ana s dog", 1.0);
        check("red red", "red", 2.0 / 3.0);
        check("東京", "東京", 0.0);
        check("", "", 0.0);
        check("", "Lund", 0.0);
    }

    #[test]
    fn equal_to_the_reference_on_500_pairs() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/rouge_l.json");
        let text = std::fs::read_to_string(path).unwrap();
        let pairs: Vec<(String, String, f64)> = serde_json::from_str(&text).unwrap();
        assert_eq!(pairs.len(), 500);
        for (found, expected, f) in pairs {
            let own = rouge_l(&found, &expected);
            assert!((own - f).abs() < 1e-12, "{found:?} {expected:?}: {own} is not {f}");
        }
    }
}
