//! Words and scores as a search without a store finds them: BM25 over texts that are given at once.

use std::collections::{BTreeSet, HashMap};

use inglenook::memory::lexical::terms;

/// Divides all scores by the largest, if that is above 0.
pub(crate) fn by_largest(scores: &mut [f64]) {
    let largest = scores.iter().copied().fold(0.0, f64::max);
    if largest > 0.0 {
        for score in scores {
            *score /= largest;
        }
    }
}

/// Share of the question's distinct terms that occur in the text, in [0, 1]; 0 if it has none.
pub(crate) fn overlap(question: &BTreeSet<String>, text: &BTreeSet<String>) -> f64 {
    if question.is_empty() {
        0.0
    } else {
        question.intersection(text).count() as f64 / question.len() as f64
    }
}

/// BM25 (k₁ = 1.2, b = 0.75).
#[derive(Debug, Clone)]
pub(crate) struct Bm25 {
    /// term → (text, occurrences)
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    mean_length: f64,
}

const K1: f64 = 1.2;
const B: f64 = 0.75;

impl Bm25 {
    /// Indexes the texts; their positions are their ids.
    pub(crate) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::new();
        for (text_number, text) in texts.into_iter().enumerate() {
            let terms = terms(text);
            lengths.push(terms.len() as f64);
            for term in terms {
                let list = postings.entry(term).or_default();
                match list.last_mut() {
                    Some((last, count)) if *last == text_number => *count += 1.0,
                    _ => list.push((text_number, 1.0)),
                }
            }
        }
        let mean_length = lengths.iter().sum::<f64>() / (lengths.len().max(1) as f64);
        Self { postings, lengths, mean_length: mean_length.max(1.0) }
    }

    /// One score a text; 0 without a common term.
    pub(crate) fn scores(&self, query: &str) -> Vec<f64> {
        let n = self.lengths.len() as f64;
        let mut scores = vec![0.0; self.lengths.len()];
        for term in terms(query).into_iter().collect::<BTreeSet<_>>() {
            let Some(list) = self.postings.get(&term) else { continue };
            let n_with = list.len() as f64;
            let idf = (1.0 + (n - n_with + 0.5) / (n_with + 0.5)).ln();
            for &(text, count) in list {
                let norm = K1 * (1.0 - B + B * self.lengths[text] / self.mean_length);
                scores[text] += idf * count * (K1 + 1.0) / (count + norm);
            }
        }
        scores
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_score_becomes_one() {
        let mut scores = [2.0, 0.0, 4.0];
        by_largest(&mut scores);
        assert_eq!(scores, [0.5, 0.0, 1.0]);
        let mut none = [0.0, 0.0];
        by_largest(&mut none);
        assert_eq!(none, [0.0, 0.0]);
    }

    #[test]
    fn overlap_is_a_share_of_the_question() {
        let set = |text| terms(text).into_iter().collect();
        assert!(
            (overlap(&set("Where does Ana work?"), &set("Ana works at a mill")) - 1.0).abs()
                < 1e-12
        );
        assert!((overlap(&set("Ana dog"), &set("a dog")) - 0.5).abs() < 1e-12);
        assert!(overlap(&set("who"), &set("a dog")).abs() < 1e-12);
    }

    #[test]
    fn bm25_by_hand() {
        let index = Bm25::new(["dog", "dog dog cat", "bird"]);
        let scores = index.scores("dogs");
        // n = 3, 2 have it: idf = ln(1 + 1.5/2.5). Mean length 5/3.
        let idf = (1.0f64 + 1.5 / 2.5).ln();
        let norm = |length: f64| 1.2 * (0.25 + 0.75 * length * 3.0 / 5.0);
        assert!((scores[0] - idf * 2.2 / (1.0 + norm(1.0))).abs() < 1e-12);
        assert!((scores[1] - idf * 4.4 / (2.0 + norm(3.0))).abs() < 1e-12);
        assert!(scores[2].abs() < 1e-12);
        assert!(Bm25::new([]).scores("dogs").is_empty());
    }
}
