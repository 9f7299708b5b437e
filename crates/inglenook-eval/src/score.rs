//! `score`: any system's answers against references, by the papers' metrics.
//!
//! A file holds rows with the texts `pred` and `ref`, as JSON lines or as one JSON array:
//!
//! ```json
//! {"pred": "in Lund", "ref": "Lund"}
//! {"pred": "2022", "ref": 2022}
//! ```
//!
//! Numbers are taken as they are written (LoCoMo answers with years); other keys are left alone.

use serde::Serialize;
use serde_json::Value;

use super::locomo::answer_text;
use crate::metrics::{bleu_1, exact, rouge_l, set_f1};

/// One row's figures: the papers' F1 over sets of words, BLEU-1, ROUGE-L.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scored {
    pub f1: f64,
    pub bleu1: f64,
    pub rouge_l: f64,
    /// Not in the JSON, whose form is fixed.
    #[serde(skip)]
    pub exact: bool,
}

impl Scored {
    /// Scores one answer.
    #[must_use]
    pub fn of(found: &str, expected: &str) -> Self {
        Self {
            f1: set_f1(found, expected),
            bleu1: bleu_1(found, expected),
            rouge_l: rouge_l(found, expected),
            exact: exact(found, expected),
        }
    }
}

/// A row that could not be scored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BadRow {
    /// Line where the row begins, from 1.
    pub line: usize,
    pub reason: String,
}

/// The rows of a file in their order, without the bad ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scores {
    pub rows: Vec<Scored>,
    /// Rows that are missing from `rows`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<BadRow>,
}

/// Scores every row of a file's text.
#[must_use]
pub fn score(text: &str) -> Scores {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut scores = Scores { rows: Vec::new(), skipped: Vec::new() };
    let mut add = |line, outcome: Result<Scored, String>| match outcome {
        Ok(row) => scores.rows.push(row),
        Err(reason) => scores.skipped.push(BadRow { line, reason }),
    };
    if text.trim_start().starts_with('[') {
        of_array(text, &mut add);
    } else {
        for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let row = serde_json::from_str(line).map_err(|e| syntax(&e));
            add(i + 1, row.and_then(|row| scored(&row)));
        }
    }
    scores
}

/// Keeps the rows before a syntax error, after which the start of the next row is unknown.
fn of_array(text: &str, add: &mut dyn FnMut(usize, Result<Scored, String>)) {
    let mut at = text.len() - text.trim_start().len() + 1;
    let line_of = |at: usize| 1 + text[..at].matches('\n').count();
    let space = |at: usize| text[at..].len() - text[at..].trim_start().len();
    let mut n_rows = 0;
    loop {
        at += space(at);
        if n_rows == 0 && text[at..].starts_with(']') {
            at += 1;
            break;
        }
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(row)) => add(line_of(at), scored(&row)),
            other => {
                let reason =
                    other.and_then(Result::err).map_or("it ends here".into(), |e| syntax(&e));
                return add(line_of(at), Err(format!("{reason}; nothing after it is read")));
            }
        }
        n_rows += 1;
        at += values.byte_offset();
        at += space(at);
        match text[at..].chars().next() {
            Some(',') => at += 1,
            Some(']') => {
                at += 1;
                break;
            }
            _ => {
                let reason = "a comma or `]` must follow a row; nothing after it is read";
                return add(line_of(at), Err(reason.into()));
            }
        }
    }
    at += space(at);
    if at < text.len() {
        add(line_of(at), Err("there is more after the array's end".into()));
    }
}

fn syntax(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
    format!("it is no JSON ({reason})")
}

fn scored(row: &Value) -> Result<Scored, String> {
    let Value::Object(row) = row else {
        return Err("it is no object with `pred` and `ref`".into());
    };
    let text = |key: &str| match row.get(key) {
        None => Err(format!("it has no `{key}`")),
        Some(value) => answer_text(value).ok_or_else(|| format!("`{key}` is no text")),
    };
    Ok(Scored::of(&text("pred")?, &text("ref")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, n_rows: usize, skipped: &[(usize, &str)]) {
        let scores = score(text);
        assert_eq!(scores.rows.len(), n_rows, "{scores:?}");
        assert_eq!(scores.skipped.len(), skipped.len(), "{scores:?}");
        for (bad, (line, reason)) in scores.skipped.iter().zip(skipped) {
            assert!(bad.line == *line && bad.reason.contains(reason), "{bad:?} {line} {reason}");
        }
    }

    const ROW: &str = r#"{"pred": "in Lund", "ref": "Lund"}"#;

    #[test]
    fn rows_are_read_from_lines_and_arrays() {
        check(&format!("{ROW}\n\n{ROW}\r\n"), 2, &[]);
        check(&format!("\u{feff} [\n{ROW},\n{ROW} ]\n"), 2, &[]);
        check(&format!("[{ROW}]"), 1, &[]);
        check("", 0, &[]);
        check("[ ]", 0, &[]);
        check(r#"{"pred": 2022, "ref": "2022", "id": [1]}"#, 1, &[]);
    }

    #[test]
    fn a_bad_row_is_named_and_the_others_are_scored() {
        check(&format!("{ROW}\nnot json\n{ROW}"), 2, &[(2, "no JSON")]);
        check(&format!("{ROW}\n{{\"pred\": \"x\"}}\n[1]"), 1, &[(2, "no `ref`"), (3, "no object")]);
        check(&format!("[\n{ROW},\n{{\"ref\": 1}},\n{ROW}]"), 2, &[(3, "no `pred`")]);
        check("{\"pred\": null, \"ref\": \"x\"}", 0, &[(1, "`pred` is no text")]);
        check(&format!("[{ROW},\n oops, {ROW}]"), 1, &[(2, "nothing after it")]);
        check(&format!("[{ROW}\n{ROW}]"), 1, &[(2, "a comma")]);
        check(&format!("[{ROW},\n"), 1, &[(2, "nothing after it")]);
        check(&format!("[{ROW}]\n[{ROW}]"), 1, &[(2, "more after")]);
    }

    #[test]
    fn the_json_has_the_three_figures() {
        let json = |text| serde_json::to_value(score(text)).unwrap_or_default();
        let third = 2.0 / 3.0;
        let row = serde_json::json!({"f1": third, "bleu1": 0.5, "rouge_l": third});
        assert_eq!(json(ROW), serde_json::json!({"rows": [row]}));
        assert_eq!(json("x")["skipped"][0]["line"], 1);
    }
}
