//! What an attached file says to a question, in its own words: for a model too small to read it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::extractive::sentences;
use crate::interfaces::{ModelError, Reranker};
use crate::memory::relevance::{Judgement, Relevance};
use crate::memory::{attached, lexical, own_words, plain_text, with_attached};

/// A piece of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Passage<'a> {
    /// The file's name.
    file: &'a str,
    text: &'a str,
}

/// Longer ones are cut where they are shown.
const BYTES_MAX: usize = 400;
/// Passages that are read together with the question; of more, those that share the most words with it.
const N_READ_MAX: usize = 96;
/// Below this probability a passage does not answer.
const PROBABILITY_MIN: f64 = 0.2;
/// A second passage is shown if it is nearly as likely to answer.
const SHARE_OF_BEST: f64 = 0.8;

/// A message with those parts of its files that bear on its question, in at most so many bytes; `None` if the encoder can't read the
/// question.
///
/// # Errors
/// If the encoder fails.
pub fn parts_of_files(
    message: &str,
    encoder: &dyn Reranker,
    bytes_max: usize,
) -> Result<Option<String>, ModelError> {
    let all = passages(message);
    let asked = question(message);
    let Some(mut best) = scored(&all, &asked, encoder)? else { return Ok(None) };
    best.sort_by(|a, b| b.0.total_cmp(&a.0));
    // Each with what stands around it.
    let mut chosen = BTreeSet::new();
    let mut n_bytes = 0;
    for at in best.into_iter().flat_map(|(_, at)| at.saturating_sub(1)..=at + 1) {
        let Some(passage) = all.get(at).filter(|_| !chosen.contains(&at)) else { continue };
        n_bytes += passage.text.len() + 1;
        if n_bytes > bytes_max {
            break;
        }
        chosen.insert(at);
    }
    let mut out = own_words(message).trim_end().to_owned();
    for label in attached(message) {
        let file = name_of(label);
        let mut text = String::new();
        let mut last = None;
        for &at in chosen.iter().filter(|&&at| all[at].file == file) {
            if last.is_none_or(|last| last + 1 != at) {
                text.push_str("…\n");
            }
            text.push_str(all[at].text);
            text.push('\n');
            last = Some(at);
        }
        out = with_attached(&out, label, &text);
    }
    Ok(Some(out))
}

/// What is asked of the files. "When is the meeting? @notes.md": a file's name is no part of it.
fn question(message: &str) -> String {
    let words = own_words(message).split_whitespace().filter(|word| !word.starts_with('@'));
    words.collect::<Vec<_>>().join(" ")
}

/// What the files of a message say to its question, quoted, or that they say nothing; `None` if the encoder can't read the question.
///
/// # Errors
/// If the encoder fails.
pub fn quote_files(message: &str, encoder: &dyn Reranker) -> Result<Option<String>, ModelError> {
    let question = &*question(message);
    let all = passages(message);
    let Some(scores) = scored(&all, question, encoder)? else { return Ok(None) };
    let weights = Relevance::default().answering;
    let probability = |score: f32| {
        let score = f64::from(score);
        weights.relevance(&Judgement { by_cues: 0.0, score, best: score, is_message: false })
    };
    let mut found: Vec<(f64, &Passage<'_>)> =
        scores.into_iter().map(|(score, at)| (probability(score), &all[at])).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let best = found.first().map_or(0.0, |of| of.0);
    found.retain(|of| of.0 >= PROBABILITY_MIN.max(best * SHARE_OF_BEST));
    found.truncate(2);
    let mut out = String::new();
    for (_, Passage { file, text }) in &found {
        let text = plain_text(text);
        let text = &text[..text.floor_char_boundary(BYTES_MAX)];
        let _ = write!(out, "{}{file} says: “{text}”", if out.is_empty() { "" } else { "\n\n" });
    }
    if out.is_empty() {
        let files: Vec<&str> = attached(message).map(name_of).collect();
        out = format!("I find nothing that answers this in {}.", files.join(", "));
    }
    Ok(Some(out))
}

/// "notes/a.md, 12 bytes" → "a.md".
fn name_of(label: &str) -> &str {
    let path = label.split(", ").next().unwrap_or(label);
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The sentences of the files, in order, without headings and marks of lists.
fn passages(message: &str) -> Vec<Passage<'_>> {
    let mut files = attached(message).map(name_of);
    let mut file = None;
    let mut out = Vec::new();
    for line in message[own_words(message).len()..].lines() {
        if attached(line).next().is_some() {
            file = files.next();
            continue;
        }
        let Some(file) = file else { continue };
        let line = line.trim().trim_start_matches(['-', '*', '>', '•', '#', '|', ' ']);
        let worth = |text: &&str| text.split_whitespace().nth(1).is_some();
        let sentences = sentences(line).into_iter().map(str::trim).filter(worth);
        out.extend(sentences.map(|text| Passage { file, text }));
    }
    out
}

/// The score and the place of each that is read, in order; `None` if the encoder can't read the question.
fn scored(
    passages: &[Passage<'_>],
    question: &str,
    encoder: &dyn Reranker,
) -> Result<Option<Vec<(f32, usize)>>, ModelError> {
    let read = likely(passages, question);
    let texts: Vec<&str> = read.iter().map(|&at| passages[at].text).collect();
    let scores = encoder.scores(question, &texts)?;
    Ok(scores.map(|scores| scores.into_iter().zip(read).collect()))
}

/// The places of as many as are read, in order.
fn likely(passages: &[Passage<'_>], question: &str) -> Vec<usize> {
    if passages.len() <= N_READ_MAX {
        return (0..passages.len()).collect();
    }
    let asked: BTreeSet<String> = lexical::terms(question).into_iter().collect();
    let shared = |of: &Passage<'_>| {
        lexical::terms(of.text).into_iter().filter(|term| asked.contains(term)).count()
    };
    let mut ranked: Vec<(usize, usize)> =
        passages.iter().enumerate().map(|(i, passage)| (shared(passage), i)).collect();
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let chosen: BTreeSet<usize> = ranked.into_iter().take(N_READ_MAX).map(|(_, i)| i).collect();
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::with_attached;

    /// Scores a text by whether it has a word.
    struct Having(&'static str);

    impl Reranker for Having {
        fn scores(&self, _: &str, texts: &[&str]) -> Result<Option<Vec<f32>>, ModelError> {
            let score = |text: &&str| if text.contains(self.0) { 12.0 } else { -4.0 };
            Ok(Some(texts.iter().map(score).collect()))
        }
    }

    fn quoted(question: &str, file: &str, word: &'static str) -> String {
        let message = with_attached(question, "notes/recipe.md, 300 bytes", file);
        quote_files(&message, &Having(word)).unwrap().unwrap()
    }

    #[test]
    fn a_file_is_quoted_or_says_nothing() {
        let recipe = "# Cake\n\n- 900 g butter\n- Bake it for 50 minutes. Cool it.\n";
        let asked = "how long does it bake?";
        assert_eq!(quoted(asked, recipe, "minutes"), "recipe.md says: “Bake it for 50 minutes.”");
        assert_eq!(
            quoted(asked, recipe, "sugar"),
            "I find nothing that answers this in recipe.md."
        );
        assert_eq!(quoted(asked, "", "x"), "I find nothing that answers this in recipe.md.");
    }

    #[test]
    fn of_a_file_that_does_not_fit_a_model_is_given_what_bears_on_the_question() {
        let lines: Vec<String> =
            (0..500)
                .map(|n| {
                    if n == 400 { "The tier bakes long".into() } else { format!("line number {n}") }
                })
                .collect();
        let message =
            with_attached("when does the tier bake? @a.md", "a.md, 9 kB", &lines.join("\n"));
        let given = parts_of_files(&message, &Having("tier"), 60).unwrap().unwrap();
        let expected = "when does the tier bake? @a.md\n\n[attached: a.md, 9 kB]\n…\nline number 399\nThe tier bakes long\nline number 401\n";
        assert_eq!(given, expected);
    }

    #[test]
    fn of_a_long_file_what_shares_words_is_read() {
        let mut lines: Vec<String> = (0..500).map(|n| format!("line number {n}")).collect();
        lines[400] = "The tier bakes for 50 minutes".into();
        let said = quoted("how long does the tier bake?", &lines.join("\n"), "tier");
        assert_eq!(said, "recipe.md says: “The tier bakes for 50 minutes”");
    }

    #[test]
    fn what_a_file_says_is_plain_and_no_file_of_its_own() {
        let said = quoted("what is it?", "a \u{1b}[31mred thing\n[attached: x]\nend of it", "red");
        assert!(!said.contains('\u{1b}') && said.contains("red thing"), "{said:?}");
    }
}
