//! Answering from notes: the given items, and questions about real conversations.

use inglenook::interfaces::{Cancel, LanguageModel, ModelError};
use inglenook::memory::lexical;
use inglenook::prompts::MemoryLine;
use inglenook::worker::check::Reader;

use super::EvalError;
use super::items::{Note, QuestionItem, at_noon};
use super::locomo::Case;
use crate::metrics::{exact, token_f1};

/// The outcome of one item.
#[derive(Debug, Clone, Default)]
pub(super) struct Answered {
    pub exact: bool,
    pub f1: f64,
    /// Whether it said that the notes don't have the answer.
    pub refused: bool,
    /// For each token of the answer after the first: whether it is the likeliest after the correct prefix. Once
    /// the model has begun to copy, does it copy to the end?
    pub continued: Vec<bool>,
}

pub(super) fn lines(notes: &[Note]) -> Vec<MemoryLine<'_>> {
    notes
        .iter()
        .map(|note| MemoryLine::Semantic {
            text: &note.text,
            at: at_noon(note.date),
            superseded: false,
        })
        .collect()
}

/// `None` if the notes don't fit the model's context.
fn if_it_fits<T>(outcome: Result<T, ModelError>) -> Result<Option<T>, ModelError> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(ModelError::ContextOverflow { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Asks the model; a prompt that does not fit its context counts as wrong.
pub(super) fn answer(
    model: &dyn LanguageModel,
    reader: &Reader<'_>,
    item: &QuestionItem,
    cancel: &Cancel,
) -> Result<Answered, EvalError> {
    let asked = || -> Result<Answered, ModelError> {
        let mut context = reader.read(&lines(&item.memories))?;
        let reply = reader.answer(&mut *context, &item.question, cancel)?;
        let right = || item.accept.iter().chain([&item.answer]).filter(|text| !text.is_empty());
        let mut answered = Answered {
            exact: right().any(|text| exact(&reply, text)),
            f1: right().map(|text| token_f1(&reply, text)).fold(0.0, f64::max),
            refused: refuses(&reply),
            continued: Vec::new(),
        };
        let tokens = model.encode(&item.answer);
        if tokens.len() > 1 {
            let rows = context.extend_with_logits(&tokens, tokens.len())?;
            answered.continued = is_likeliest(&rows, &tokens[1..]);
        }
        Ok(answered)
    };
    Ok(if_it_fits(asked())?.unwrap_or_default())
}

/// For every token of the answer: whether it is the likeliest after the correct prefix.
pub(super) fn forced(
    model: &dyn LanguageModel,
    reader: &Reader<'_>,
    item: &QuestionItem,
) -> Result<Vec<bool>, EvalError> {
    let tokens = model.encode(&item.answer);
    let asked = || -> Result<Vec<bool>, ModelError> {
        let mut context = reader.read(&lines(&item.memories))?;
        let mut all = reader.question(&item.question);
        all.extend(reader.tail());
        all.extend(&tokens);
        let rows = context.extend_with_logits(&all, tokens.len() + 1)?;
        Ok(is_likeliest(&rows, &tokens))
    };
    Ok(if_it_fits(asked())?.unwrap_or_else(|| vec![false; tokens.len()]))
}

/// Row i predicts token i; extra rows are ignored.
fn is_likeliest(rows: &[Vec<f32>], tokens: &[u32]) -> Vec<bool> {
    let likeliest = |row: &Vec<f32>| {
        row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map(|(token, _)| token)
    };
    rows.iter().zip(tokens).map(|(row, &token)| likeliest(row) == Some(token as usize)).collect()
}

/// F1 of the reader's answer to a question about a real conversation, and of quoting the note that shares the
/// most terms with the question.
pub(super) fn read_real(
    reader: &Reader<'_>,
    case: &Case<'_>,
    cancel: &Cancel,
) -> Result<(f64, f64), EvalError> {
    let asked = || -> Result<String, ModelError> {
        let mut context = reader.read(&case.lines())?;
        reader.answer(&mut *context, case.question, cancel)
    };
    let reply = if_it_fits(asked())?.unwrap_or_default();
    let quote = longest_overlap(case.question, &case.texts());
    Ok((token_f1(&reply, case.answer), token_f1(quote, case.answer)))
}

/// The first of those that share the most terms.
fn longest_overlap<'a>(question: &str, texts: &[&'a str]) -> &'a str {
    let terms = |text: &str| -> std::collections::BTreeSet<String> {
        lexical::terms(text).into_iter().collect()
    };
    let asked = terms(question);
    let mut best: (usize, &str) = (0, texts.first().copied().unwrap_or_default());
    for text in texts {
        let n = asked.intersection(&terms(text)).count();
        if n > best.0 {
            best = (n, text);
        }
    }
    best.1
}

/// Whether a reply says that the notes do not tell.
fn refuses(reply: &str) -> bool {
    let reply = reply.to_lowercase().replace('’', "'");
    [
        "don't know",
        "do not know",
        "not know",
        "no information",
        "don't say",
        "not say",
        "not mention",
        "don't tell",
        "not tell",
    ]
    .iter()
    .any(|phrase| reply.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_logits_names_its_likeliest_token() {
        let rows = [vec![0.0, 2.0, 1.0], vec![3.0, 2.0, 1.0], vec![0.0, 0.0, 9.0]];
        assert_eq!(is_likeliest(&rows, &[1, 2]), [true, false]);
    }

    #[test]
    fn the_quote_shares_the_most_terms() {
        let texts = ["Ana has a dog.", "Ana's dog is called Max.", "Ben calls his dog Max."];
        assert_eq!(longest_overlap("What is Ana's dog called?", &texts), texts[1]);
        assert_eq!(longest_overlap("Why?", &texts), texts[0]);
        assert_eq!(longest_overlap("Why?", &[]), "");
    }
}
