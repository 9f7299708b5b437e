//! What the memories hold, and how their themes came about.

use std::fmt::Write as _;

use super::cell;
use crate::answering::journal::MemoryRow;
use crate::answering::report::AnswersReport;
use crate::retrieval::growth::AGES;

/// Memories with a row of their own; LongMemEval has one a question.
const ROWS_MAX: usize = 20;

pub(super) fn tables(text: &mut String, report: &AnswersReport) {
    let memories = &report.memories;
    if memories.is_empty() {
        return;
    }
    *text += "\n## The memories\n\nStructure as in xMemory's Tables 6 to 8. Reassigned: facts that changed their theme \
              while the memory grew (§5.3), from the facts as they came.\n\n";
    *text +=
        "| Conversation | Messages | Episodes | Facts | Themes | Facts a theme | Reassigned |\n";
    *text += "|---|---|---|---|---|---|---|\n";
    if memories.len() <= ROWS_MAX {
        for row in memories {
            line(text, &cell(&row.conversation), row);
        }
    }
    if memories.len() > 1 {
        line(text, &format!("all {}", memories.len()), &sum(memories));
    }
    *text += "\nChanges of a theme for each fact that came, by tenth of a memory's life (does it settle?):\n\n|";
    for age in 1..=AGES {
        let _ = write!(text, " {age} |");
    }
    *text += "\n|";
    *text += &"---|".repeat(AGES);
    *text += "\n|";
    let all = sum(memories);
    for age in 0..AGES {
        let _ = write!(text, " {:.2} |", all.flips[age] as f64 / all.inserts[age].max(1) as f64);
    }
    *text += "\n\nWhat other ways to organise the same facts find (Tables 6 to 8, Figure 5) shows `inglenook-eval \
              themes`, the density of evidence (Tables 3 and 5, Figure 4) `inglenook-eval retrieval`.\n";
}

fn line(text: &mut String, name: &str, row: &MemoryRow) {
    let share = |part: u64, of: u64| part as f64 / of.max(1) as f64;
    let _ = writeln!(
        text,
        "| {name} | {} | {} | {} | {} | {:.1} | {:.0} % |",
        row.messages,
        row.episodes,
        row.facts,
        row.themes,
        share(row.facts, row.themes),
        100.0 * share(row.reassigned, row.facts),
    );
}

fn sum(memories: &[MemoryRow]) -> MemoryRow {
    let of = |value: fn(&MemoryRow) -> u64| memories.iter().map(value).sum();
    let by_age = |value: fn(&MemoryRow) -> &[u64; AGES]| {
        std::array::from_fn(|age| memories.iter().map(|row| value(row)[age]).sum())
    };
    MemoryRow {
        conversation: String::new(),
        messages: of(|row| row.messages),
        episodes: of(|row| row.episodes),
        facts: of(|row| row.facts),
        themes: of(|row| row.themes),
        reassigned: of(|row| row.reassigned),
        flips: by_age(|row| &row.flips),
        inserts: by_age(|row| &row.inserts),
        built: None,
    }
}
