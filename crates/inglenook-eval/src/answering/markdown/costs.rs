//! What it took, and when a memory has paid for itself.

use std::fmt::Write as _;

use crate::answering::costs::{PayOff, Work};
use crate::answering::report::AnswersReport;

pub(super) fn tables(text: &mut String, report: &AnswersReport) {
    *text += "\n## Costs\n\nThe columns of LightMem's Tables 2 and 3: thousands of tokens and calls of the model, \
              for building a conversation's memory and for answering a question. Exact: the expected \
              answer word for word; no judge is asked. Seconds are in timings.md.\n\n";
    *text += "| Method | Exact % | F1 % | Building in (k) | out | sum | calls | Question in (k) | out | sum \
              | calls |\n|---|";
    *text += &"---|".repeat(10);
    *text += "\n";
    for row in &report.costs {
        let _ =
            write!(text, "| {} | {:.2} | {:.2} |", row.method, 100.0 * row.exact, 100.0 * row.f1);
        work(text, row.building);
        work(text, Some(row.answering));
        *text += "\n";
    }
    if report.costs.iter().all(|row| row.building.is_none()) && !report.memories.is_empty() {
        *text += "\nThe memories were given ready-made: what building them took is not known.\n";
    }
    pay_off(text, report);
}

fn work(text: &mut String, work: Option<Work>) {
    let Some(work) = work else {
        *text += " – | – | – | – |";
        return;
    };
    let (read, written) = (work.tokens_in / 1000.0, work.tokens_out / 1000.0);
    let calls = work.model_calls;
    let _ = write!(text, " {read:.2} | {written:.2} | {:.2} | {calls:.0} |", read + written);
}

/// The review's second open question.
fn pay_off(text: &mut String, report: &AnswersReport) {
    if report.break_even.is_empty() {
        return;
    }
    *text += "\n### After how many questions does a memory pay for itself?\n\nQuestions about the same conversation \
              until what they save has made up for building its memory, in tokens processed. In \
              brackets: with the ends of the 95 % interval of what a question saves (paired). No method \
              keeps a conversation in the reader's cache from one question to the next.\n";
    let mut against: Vec<&str> = report.break_even.iter().map(|row| row.against.as_str()).collect();
    against.sort_unstable();
    against.dedup();
    *text += "\n| Method | Building, tokens |";
    for name in &against {
        let _ = write!(text, " Against {name} |");
    }
    let _ = writeln!(text, "\n|---|---|{}", "---|".repeat(against.len()));
    for first in report.break_even.iter().filter(|row| row.against == against[0]) {
        let cost = first.building_tokens.map_or_else(|| "–".into(), |cost| format!("{cost:.0}"));
        let _ = write!(text, "| {} | {cost} |", first.method);
        for name in &against {
            let row = report
                .break_even
                .iter()
                .find(|row| row.method == first.method && row.against == *name);
            let shown = row.map_or_else(|| "–".into(), |row| said(row.pay_off));
            let _ = write!(text, " {shown} |");
        }
        *text += "\n";
    }
}

fn said(pay_off: PayOff) -> String {
    match pay_off {
        PayOff::AtOnce => "at once".into(),
        PayOff::After { questions, low, high } => {
            format!("{:.0} ({:.0} to {:.0})", questions.ceil(), low.ceil(), high.ceil())
        }
        PayOff::Never => "never".into(),
        PayOff::NotSure => "not sure: a question may take as much".into(),
        PayOff::Unknown => "not known: the memories were given".into(),
    }
}
