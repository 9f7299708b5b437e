//! Structures of memory by ways to retrieve them: the shape of the structural paper's Table 1, for the
//! methods of a run whose names say both.

use std::fmt::Write as _;

use crate::Category;
use crate::answering::report::AnswersReport;

/// The paper's words and its order of rows …
const STRUCTURES: [&str; 5] = ["chunks", "triples", "facts", "summaries", "mixed"];

/// … and of groups of them.
const RETRIEVALS: [&str; 3] = ["single", "rerank", "iterative"];

pub(super) fn table(text: &mut String, report: &AnswersReport, methods: &[&str]) {
    let named: Vec<(usize, usize, &str)> = methods
        .iter()
        .filter_map(|&name| Some((place(name, &RETRIEVALS)?, place(name, &STRUCTURES)?, name)))
        .collect();
    if named.is_empty() {
        return;
    }
    *text += "\n## Structures of memory\n\nThe shape of Table 1 of *On the structural memory of LLM agents*, in percent. \
              Bold: surely above every other method of the run.\n\n";
    *text += "| Retrieval | Structure | EM | F1 |\n|---|---|---|---|\n";
    let mut in_order = named;
    in_order.sort_unstable();
    for (retrieval, _, name) in in_order {
        let shown = |metric| {
            let figure = report.figure(name, Category::All, metric);
            let shown =
                figure.map_or_else(|| "–".into(), |f| format!("{:.2}", 100.0 * f.interval.mean));
            super::bold(&shown, report.is_surely_best(name, metric))
        };
        let (exact, f1) = (shown("exact"), shown("f1"));
        let _ = writeln!(text, "| {} | {name} | {exact} | {f1} |", RETRIEVALS[retrieval]);
    }
}

/// Which of the words a method's name has as a part of its own.
fn place(name: &str, words: &[&str]) -> Option<usize> {
    let mut parts = name.split(|c: char| !c.is_alphanumeric());
    parts.find_map(|part| words.iter().position(|word| part.starts_with(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_they_are() {
        let check = |name, structure, retrieval| {
            assert_eq!(
                (place(name, &STRUCTURES), place(name, &RETRIEVALS)),
                (structure, retrieval)
            );
        };
        check("triples-single", Some(1), Some(0));
        check("mixed/iterative/memory-doc", Some(4), Some(2));
        check("facts+reranked", Some(2), Some(1));
        check("full-context", None, None);
        check("memory-only", None, None);
    }
}
