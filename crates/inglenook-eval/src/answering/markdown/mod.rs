//! A report as tables of the papers' shapes, with intervals.
//!
//! Which table of which paper a table is like stands above it. Rows are the methods of the run,
//! whatever they are.

mod calibration;
mod costs;
mod memories;
mod structural;

use std::fmt::Write as _;

use serde_json::Value;

use super::built_cache::BuildTime;
use super::data::DataSet;
use super::report::{AnswersReport, COMPARED, SecondsRow};
use crate::Category;
use crate::metrics::Interval;

const SCORES: [(&str, &str); 5] = [
    ("f1", "F1"),
    ("bleu1", "BLEU-1"),
    ("rouge_l", "ROUGE-L"),
    ("exact", "Exact"),
    ("evidence_recall", "Evidence recall"),
];

const COSTS: [(&str, &str); 4] = [
    ("tokens", "Tokens/query"),
    ("processed_tokens", "Tokens processed"),
    ("prompt_tokens", "Prompt"),
    ("model_calls", "Model calls"),
];

/// Everything but the seconds.
#[must_use]
pub(super) fn of(report: &AnswersReport) -> String {
    let command = report.manifest.get("command").and_then(Value::as_str);
    let set = DataSet::ALL.into_iter().find(|set| Some(set.command()) == command);
    let set = set.unwrap_or(DataSet::Locomo);
    let mut text = format!("# {}\n\n", set.name());
    text += &heading(&report.manifest);
    let methods = report.methods();
    if methods.is_empty() {
        text += "\nNothing was answered.\n";
    } else {
        text += "\n## Answers by kind of question\n\nThe shape of xMemory's Tables 1, 2 and 4, in \
                 percent. Bold: surely above every other method (paired differences, 95 %).\n\n";
        by_kind(&mut text, report, &methods, set);
        text += "\n## Means with 95 % intervals\n\nBootstrapped over questions. Evidence recall: the share of the \
                 messages an answer rests on that the evidence comes from, where they are known.\n\n";
        with_intervals(&mut text, report, &methods, &SCORES, 3);
        text += "\nTokens/query: the prompt once, what was tried besides, measurements and the \
                 answer. Tokens processed: without what all prompts begin with, which stays in the \
                 reader's cache.\n\n";
        with_intervals(&mut text, report, &methods, &COSTS, 1);
        structural::table(&mut text, report, &methods);
        costs::tables(&mut text, report);
        memories::tables(&mut text, report);
        if !report.differences.is_empty() {
            text += "\n## Paired differences\n\nMeans over the questions that both answered, with 95 % \
                     intervals. Bold: the interval excludes 0.\n\n";
            if let Some(best) = of_interest(report) {
                let _ =
                    writeln!(text, "Of many methods, the pairs with {best} (the highest F1).\n");
            }
            differences(&mut text, report);
        }
    }
    if !report.construction.is_empty() {
        text += "\nMemories that methods built for themselves, and what that took of the model. \
                 Made by: ready-made (given), the model, or the program's rules.\n\n";
        construction(&mut text, report);
    }
    if let Some(Value::Object(by)) = report.manifest.get("written_by") {
        let by: Vec<String> = by
            .iter()
            .map(|(what, who)| format!("{what}: {}", who.as_str().unwrap_or("?")))
            .collect();
        let _ = writeln!(text, "\nWhere nothing is given, written by: {}.", cell(&by.join("; ")));
    }
    if !report.skipped.is_empty() {
        text += "\n## Left out\n\n";
        for skipped in &report.skipped {
            let _ = writeln!(text, "- {}: {}", cell(&skipped.what), cell(&skipped.reason));
        }
    }
    text
}

/// How long answers took on this machine.
#[must_use]
pub(super) fn of_seconds(rows: &[SecondsRow]) -> String {
    let mut text = String::from("| Seconds | times | p50 | p95 | sum |\n|---|---|---|---|---|\n");
    for row in rows {
        let SecondsRow { method, times, p50, p95, sum } = row;
        let _ = writeln!(text, "| {method} | {times} | {p50:.2} | {p95:.2} | {sum:.1} |");
    }
    text
}

/// How long building took on this machine; nothing where nothing was built.
#[must_use]
pub(super) fn of_building(times: &[BuildTime]) -> String {
    if times.is_empty() {
        return String::new();
    }
    let mut memories: Vec<&str> = times.iter().map(|time| time.memory.as_str()).collect();
    memories.dedup();
    let mut text = String::from(
        "\n| Seconds of building | conversations | all | longest |\n|---|---|---|---|\n",
    );
    for memory in memories {
        let of = || times.iter().filter(|time| time.memory == memory).map(|time| time.seconds);
        let _ = writeln!(
            text,
            "| {} | {} | {:.2} | {:.2} |",
            cell(memory),
            of().count(),
            of().sum::<f64>(),
            of().fold(0.0, f64::max)
        );
    }
    text
}

fn construction(text: &mut String, report: &AnswersReport) {
    *text += "| Memory | made by | conversations | units | model calls | tokens | steps |\n\
              |---|---|---|---|---|---|---|\n";
    for row in &report.construction {
        let steps: Vec<String> =
            row.counts.iter().map(|(name, n)| format!("{name}: {n}")).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            cell(&row.memory),
            row.made_by.as_str(),
            row.conversations,
            row.units,
            row.model_calls,
            row.tokens,
            cell(&steps.join(", ")),
        );
    }
}

fn heading(manifest: &Value) -> String {
    let text = |path: &str| match manifest.pointer(path) {
        Some(Value::String(text)) => cell(text),
        Some(Value::Null) | None => "unknown".into(),
        Some(other) => cell(&other.to_string()),
    };
    let short = |path: &str| {
        let text = text(path);
        // A checkout with changes of its own is not that commit.
        let mark = if text.ends_with("-dirty") { " with changes" } else { "" };
        text.chars().take(12).collect::<String>() + mark
    };
    format!(
        "Reader: {} ({}, {} tokens of context). Questions: {} of {}, in {} conversations. \
         Memories: {}. Uncertainty: {}. Embedder: {}. inglenook {}, commit {}. Machine: {}, cores: {}. \
         Seed {}.\n",
        text("/model/name"),
        short("/model/sha256"),
        text("/model/context_tokens"),
        text("/data/questions"),
        text("/data/questions_in_file"),
        text("/data/conversations"),
        text("/memories/kind"),
        text("/uncertainty"),
        text("/embedder"),
        text("/program/version"),
        short("/program/commit"),
        text("/machine/processor"),
        text("/machine/cores"),
        text("/seed"),
    )
}

/// One cell of a table, whatever it came from.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn by_kind(text: &mut String, report: &AnswersReport, methods: &[&str], set: DataSet) {
    let kinds: Vec<(Category, &str)> = set
        .kinds()
        .iter()
        .map(|&(number, name)| (Category::One(number), name))
        .filter(|&(kind, _)| methods.iter().any(|m| report.figure(m, kind, "f1").is_some()))
        .chain([(Category::All, "Average")])
        .collect();
    *text += "| Method |";
    for (kind, name) in &kinds {
        let n = methods.iter().filter_map(|m| report.figure(m, *kind, "f1")).map(|f| f.questions);
        let _ = write!(text, " {name} ({}) BLEU-1 | F1 | ROUGE-L |", n.max().unwrap_or(0));
    }
    *text += " Tokens/query |\n|---|";
    *text += &"---|".repeat(3 * kinds.len() + 1);
    *text += "\n";
    for method in methods {
        let _ = write!(text, "| {method} |");
        for &(kind, _) in &kinds {
            for metric in ["bleu1", "f1", "rouge_l"] {
                let shown = report
                    .figure(method, kind, metric)
                    .map_or_else(|| "–".into(), |f| format!("{:.2}", 100.0 * f.interval.mean));
                let best = kind == Category::All && report.is_surely_best(method, metric);
                let _ = write!(text, " {} |", bold(&shown, best));
            }
        }
        let tokens = report.figure(method, Category::All, "tokens");
        let tokens = tokens.map_or_else(|| "–".into(), |f| format!("{:.0}", f.interval.mean));
        let _ = writeln!(text, " {tokens} |");
    }
}

fn with_intervals(
    text: &mut String,
    report: &AnswersReport,
    methods: &[&str],
    columns: &[(&str, &str)],
    digits: usize,
) {
    *text += "| Method |";
    for (_, name) in columns {
        let _ = write!(text, " {name} |");
    }
    let _ = writeln!(text, "\n|---|{}", "---|".repeat(columns.len()));
    for method in methods {
        let _ = write!(text, "| {method} |");
        for (metric, _) in columns {
            let shown = report
                .figure(method, Category::All, metric)
                .map_or_else(|| "–".into(), |figure| shown(&figure.interval, digits));
            let _ = write!(text, " {shown} |");
        }
        *text += "\n";
    }
}

fn differences(text: &mut String, report: &AnswersReport) {
    let name = |metric| {
        let mut names = SCORES.iter().chain(&COSTS);
        names.find(|(known, _)| *known == metric).map_or(metric, |(_, name)| *name)
    };
    *text += "| |";
    for metric in COMPARED {
        let _ = write!(text, " {} |", name(metric));
    }
    let _ = writeln!(text, "\n|---|{}", "---|".repeat(COMPARED.len()));
    let best = of_interest(report);
    let of_first = report.differences.iter().filter(|row| row.metric == COMPARED[0]);
    for first in of_first.filter(|row| best.is_none_or(|b| b == row.method || b == row.against)) {
        let _ = write!(text, "| {} − {} |", first.method, first.against);
        for metric in COMPARED {
            let row = report.differences.iter().find(|row| {
                (row.metric, &row.method, &row.against) == (metric, &first.method, &first.against)
            });
            let digits = if metric == "tokens" { 0 } else { 3 };
            let shown =
                row.map_or_else(|| "–".into(), |row| bold(&shown(&row.interval, digits), row.sure));
            let _ = write!(text, " {shown} |");
        }
        *text += "\n";
    }
}

/// With so many methods only the pairs with the one of the highest F1 are shown; the JSON has all.
fn of_interest(report: &AnswersReport) -> Option<&str> {
    const METHODS_MAX: usize = 8;
    let f1 = |method: &&str| {
        report.figure(method, Category::All, "f1").map_or(0.0, |figure| figure.interval.mean)
    };
    let methods = report.methods();
    let is_many = methods.len() > METHODS_MAX;
    methods.into_iter().max_by(|a, b| f1(a).total_cmp(&f1(b))).filter(|_| is_many)
}

fn shown(interval: &Interval, digits: usize) -> String {
    let Interval { mean, low, high } = interval;
    format!("{mean:.digits$} [{low:.digits$}, {high:.digits$}]")
}

fn bold(text: &str, is: bool) -> String {
    if is { format!("**{text}**") } else { text.to_owned() }
}
