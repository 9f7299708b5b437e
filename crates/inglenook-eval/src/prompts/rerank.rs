//! Memories by their relevance to a question (structural-memory paper, Figure 12).

use inglenook::prompts::{Problem, Prompt, Style, data, reply};
use minijinja::context;

use super::TEMPLATES;

/// Asks for the documents' relevance to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rerank<'a> {
    /// Numbered from 1 in the prompt.
    pub documents: &'a [&'a str],
    pub question: &'a str,
}

impl Rerank<'_> {
    /// The filled prompt.
    #[must_use]
    pub fn fill(&self) -> Prompt {
        let documents: Vec<_> = self.documents.iter().map(|text| data(text)).collect();
        let context = context! { documents, question => data(self.question) };
        TEMPLATES.prompt("rerank", Style::Instructed, context)
    }

    /// Places of the documents (from 0), most relevant first, each once; equal scores in the order
    /// of the reply. Reads `Doc: 2, Relevance Score: 7` and every line with two such numbers.
    #[must_use]
    pub fn parse(reply: &str, n_documents: usize) -> (Vec<usize>, Vec<Problem>) {
        let text = reply::clean(reply);
        let mut scored: Vec<(f64, usize)> = Vec::new();
        let mut problems = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let mut drop = |why| {
                problems.push(Problem::Dropped { line: reply::shorten(line), why });
            };
            match numbers(line)[..] {
                [number, score, ..] if number.fract() == 0.0 && number >= 1.0 => {
                    let place = number as usize - 1;
                    if place >= n_documents {
                        drop("no such document");
                    } else if scored.iter().any(|&(_, known)| known == place) {
                        drop("ranked already");
                    } else {
                        scored.push((score, place));
                    }
                }
                _ => drop("no document and score"),
            }
        }
        if text.is_empty() {
            problems.push(Problem::Empty);
        }
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        (scored.into_iter().map(|(_, place)| place).collect(), problems)
    }
}

/// The numbers of a line, in order.
fn numbers(line: &str) -> Vec<f64> {
    line.split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .filter_map(|part| part.trim_matches('.').parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(reply: &str, order: &[usize], n_problems: usize) {
        let (found, problems) = Rerank::parse(reply, 3);
        assert_eq!(found, order, "{reply}");
        assert_eq!(problems.len(), n_problems, "{problems:?}");
    }

    #[test]
    fn documents_go_by_their_scores() {
        check(
            "Doc: 2, Relevance Score: 7\nDoc: 1, Relevance Score: 4\nDoc: 3, Relevance Score: 4",
            &[1, 0, 2],
            0,
        );
        check("Doc 1: 3\nDocument 3 - score 9.5", &[2, 0], 0);
        check("Doc: 7, Relevance Score: 7\nDoc: 1, Relevance Score: 1\nDoc: 1, Score: 9", &[0], 2);
        check("Doc: 0, Score: 4\nThe second.", &[], 2);
        check("", &[], 1);
    }
}
