//! What a turn wants: fits the weights of [`inglenook::extractive::wants`] and scores them.
//!
//! A file has a message a line: `S` (small talk), `W` (world), `M` (memory) or `T` (tells something), a tab,
//! the text.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use inglenook::extractive::{Wants, WantsModel, features};

/// A message and what it wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub text: String,
    pub wants: Wants,
}

/// The messages of a file, and how many lines are damaged.
#[must_use]
pub fn parse_turns(text: &str) -> (Vec<Turn>, usize) {
    let turn = |line: &str| {
        let (label, text) = line.split_once('\t')?;
        let wants = match label {
            "S" => Wants::SmallTalk,
            "W" => Wants::World,
            "M" => Wants::Memory,
            "T" => Wants::Statement,
            _ => return None,
        };
        Some(Turn { text: text.to_owned(), wants })
    };
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let turns: Vec<Turn> = lines.iter().filter_map(|line| turn(line)).collect();
    let n_damaged = lines.len() - turns.len();
    (turns, n_damaged)
}

/// How well a model tells what messages want.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredTurns {
    /// The share that is right.
    pub accuracy: f64,
    /// The share whose choice between memory and no memory is right.
    pub memory_accuracy: f64,
    /// Messages by what they want and what the model says.
    pub confusion: BTreeMap<(Wants, Wants), usize>,
    /// Those it gets wrong, with what it says.
    pub wrong: Vec<(Turn, Wants)>,
}

/// Scores what `says` says of each message.
#[must_use]
pub fn score_turns(turns: &[Turn], says: impl Fn(&str) -> Wants) -> ScoredTurns {
    let mut confusion = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut n_memory_right = 0;
    for turn in turns {
        let said = says(&turn.text);
        *confusion.entry((turn.wants, said)).or_insert(0) += 1;
        n_memory_right += usize::from((said == Wants::Memory) == (turn.wants == Wants::Memory));
        if said != turn.wants {
            wrong.push((turn.clone(), said));
        }
    }
    let n = turns.len().max(1) as f64;
    ScoredTurns {
        accuracy: 1.0 - wrong.len() as f64 / n,
        memory_accuracy: n_memory_right as f64 / n,
        confusion,
        wrong,
    }
}

/// Logistic regression over four classes with an L2 penalty, by AdaGrad over the examples in a fixed
/// order.
#[must_use]
pub fn fit_turns(turns: &[Turn], l2: f32) -> WantsModel {
    const EPOCHS: usize = 40;
    const RATE: f32 = 0.2;
    const OCCURRENCES_MIN: usize = 3;
    // Many people write without capitals and marks.
    let plain = |text: &str| text.to_lowercase().trim_end_matches(['.', '?', '!']).to_owned();
    let examples: Vec<(BTreeSet<String>, usize)> = turns
        .iter()
        .flat_map(|turn| {
            let class = Wants::ALL.iter().position(|&w| w == turn.wants).unwrap_or_default();
            [(features(&turn.text), class), (features(&plain(&turn.text)), class)]
        })
        .collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (features, _) in &examples {
        for feature in features {
            *counts.entry(feature).or_default() += 1;
        }
    }
    let mut names: Vec<&str> =
        counts.iter().filter(|(_, n)| **n >= OCCURRENCES_MIN).map(|(f, _)| *f).collect();
    names.sort_unstable();
    let index: HashMap<&str, usize> = names.iter().enumerate().map(|(i, f)| (*f, i + 1)).collect();
    // Row 0 is the bias.
    let sparse: Vec<(Vec<usize>, usize)> = examples
        .iter()
        .map(|(features, class)| {
            let known = features.iter().filter_map(|f| index.get(f.as_str()).copied());
            (std::iter::once(0).chain(known).collect(), *class)
        })
        .collect();
    let occurrences: Vec<f32> = std::iter::once(examples.len() as f32)
        .chain(names.iter().map(|f| counts[f] as f32))
        .collect();
    let mut weights = vec![[0.0_f32; 4]; names.len() + 1];
    let mut squares = vec![[1e-6_f32; 4]; names.len() + 1];
    for epoch in 0..EPOCHS {
        for step in 0..sparse.len() {
            // Another order each time: a stride that is prime to the number of examples visits all.
            let stride = [7_919, 104_729, 1_299_709][epoch % 3];
            let (features, class) = &sparse[(step * stride + epoch) % sparse.len()];
            let mut scores = [0.0_f32; 4];
            for &f in features {
                scores.iter_mut().zip(weights[f]).for_each(|(s, w)| *s += w);
            }
            let largest = scores.into_iter().fold(f32::NEG_INFINITY, f32::max);
            let odds = scores.map(|s| (s - largest).exp());
            let sum: f32 = odds.iter().sum();
            for &f in features {
                for k in 0..4 {
                    let error = odds[k] / sum - f32::from(u8::from(k == *class));
                    let gradient = error + l2 * weights[f][k] / occurrences[f];
                    squares[f][k] += gradient * gradient;
                    weights[f][k] -= RATE * gradient / squares[f][k].sqrt();
                }
            }
        }
    }
    let of_features = names.iter().zip(&weights[1..]).map(|(f, w)| ((*f).to_owned(), *w));
    WantsModel { bias: weights[0], weights: of_features.collect() }
}

/// The model as `assets/words/wants.tsv`; features that hardly count are left out.
#[must_use]
pub fn render_turns(model: &WantsModel) -> String {
    const HUNDREDTHS_MIN: i16 = 12;
    let row = |name: &str, weights: [f32; 4]| {
        // The same number less for all four changes no probability.
        let mean = weights.iter().sum::<f32>() / 4.0;
        let hundredths = weights.map(|w| ((w - mean) * 100.0).round() as i16);
        let counts = name.is_empty() || hundredths.iter().any(|w| w.abs() >= HUNDREDTHS_MIN);
        let [a, b, c, d] = hundredths;
        counts.then(|| format!("{name}\t{a}\t{b}\t{c}\t{d}\n"))
    };
    let sorted: BTreeMap<&String, &[f32; 4]> = model.weights.iter().collect();
    let rows = sorted.into_iter().filter_map(|(name, weights)| row(name, *weights));
    row("", model.bias).into_iter().chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the test messages, whose wordings are others than those that the weights were fitted to, 0.96 is
    /// the goal (docs/decisions/021-memory-only-where-it-is-wanted.md).
    #[test]
    fn the_programs_weights_know_what_messages_want() {
        let check = |file: &str, accuracy_min: f64| {
            let (turns, n_damaged) = parse_turns(file);
            assert_eq!((turns.len(), n_damaged), (150, 0));
            let scored = score_turns(&turns, inglenook::extractive::wants);
            assert!(scored.accuracy >= accuracy_min, "{}: {:?}", scored.accuracy, scored.confusion);
        };
        check(include_str!("../../../tests/fixtures/turns/dev.tsv"), 0.96);
        check(include_str!("../../../tests/fixtures/turns/test.tsv"), 0.82);
    }

    #[test]
    fn a_fitted_model_is_what_its_file_says() {
        let file = "S\thello there\nS\thello you\nT\tI moved to Lund\nT\tI moved house\n\
                    M\twhere do I live?\nM\twhere do I work?\nW\twrite a poem\nW\twrite a song\nX\tno\n";
        let (turns, n_damaged) = parse_turns(file);
        assert_eq!((turns.len(), n_damaged), (8, 1));
        let model = WantsModel::parse(&render_turns(&fit_turns(&turns, 0.1)));
        let scored = score_turns(&turns, |text| model.wants(text));
        assert!((scored.accuracy - 1.0).abs() < 1e-9, "{:?}", scored.wrong);
        let (others, _) = parse_turns("S\tI moved to Lund\nM\twhere do I live?\n");
        let scored = score_turns(&others, |text| model.wants(text));
        assert!((scored.accuracy - 0.5).abs() < 1e-9);
        assert_eq!(scored.wrong[0].1, Wants::Statement);
    }
}
