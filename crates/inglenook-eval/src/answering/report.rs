//! From a run's lines to its figures. Pure: the same lines give the same report.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::Skipped;
use super::built_cache::{BuiltMemory, MadeBy};
use super::costs::{self, BreakEven, CostRow};
use super::journal::{BUILDING, Line, MemoryRow, Outcome, Timing};
use super::method::Method;
use crate::metrics::{Interval, interval, nearest_rank, paired_difference};
use crate::{Category, SEED, Scored};

/// What is measured of an answer.
pub(super) const METRICS: [&str; 9] = [
    "f1",
    "bleu1",
    "rouge_l",
    "exact",
    "evidence_recall",
    "tokens",
    "processed_tokens",
    "prompt_tokens",
    "model_calls",
];

/// Metrics by which methods are compared pairwise.
pub(super) const COMPARED: [&str; 5] = ["f1", "bleu1", "rouge_l", "evidence_recall", "tokens"];

/// One mean with its 95 % interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FigureRow {
    pub method: String,
    pub category: Category,
    pub metric: &'static str,
    /// Number of answers (for evidence recall: those with known evidence).
    pub questions: usize,
    #[serde(flatten)]
    pub interval: Interval,
}

/// Mean of `method` minus `against` over the questions that both answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DifferenceRow {
    pub method: String,
    pub against: String,
    pub metric: &'static str,
    pub questions: usize,
    #[serde(flatten)]
    pub interval: Interval,
    /// The interval excludes 0.
    pub sure: bool,
}

/// One answer, scored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerRow {
    #[serde(flatten)]
    pub line: Line,
    #[serde(flatten)]
    pub scored: Option<Scored>,
    pub exact: Option<bool>,
    pub evidence_recall: Option<f64>,
}

/// One kind of memory that methods built for themselves, summed over conversations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConstructionRow {
    /// "chunks", "triples", "facts", "summaries" or "lightmem".
    pub memory: String,
    pub made_by: MadeBy,
    pub conversations: u64,
    /// Number of memories.
    pub units: u64,
    pub model_calls: u64,
    /// Tokens processed by the model: prompts, measurements and replies.
    pub tokens: u64,
    /// Counts of the build's steps, by name.
    pub counts: BTreeMap<String, u64>,
}

impl ConstructionRow {
    pub(super) fn of(kept: &[BuiltMemory]) -> Vec<Self> {
        let mut rows: BTreeMap<(&str, &str), Self> = BTreeMap::new();
        for kept in kept {
            let key = (kept.memory.as_str(), kept.made_by.as_str());
            let row = rows.entry(key).or_insert_with(|| Self {
                memory: kept.memory.clone(),
                made_by: kept.made_by,
                conversations: 0,
                units: 0,
                model_calls: 0,
                tokens: 0,
                counts: BTreeMap::new(),
            });
            row.conversations += 1;
            row.units += kept.units.len() as u64;
            row.model_calls += kept.model_calls;
            row.tokens += kept.tokens;
            for (name, n) in &kept.counts {
                *row.counts.entry(name.clone()).or_default() += n;
            }
        }
        rows.into_values().collect()
    }
}

/// The figures of a whole run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswersReport {
    pub manifest: Value,
    pub figures: Vec<FigureRow>,
    pub differences: Vec<DifferenceRow>,
    pub costs: Vec<CostRow>,
    pub break_even: Vec<BreakEven>,
    pub memories: Vec<MemoryRow>,
    /// What methods built for themselves, and what that took.
    pub construction: Vec<ConstructionRow>,
    /// What could not be read or answered.
    pub skipped: Vec<Skipped>,
    pub answers: Vec<AnswerRow>,
}

/// Seconds that an answer takes, or building a memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SecondsRow {
    pub method: String,
    pub times: usize,
    pub p50: f64,
    pub p95: f64,
    pub sum: f64,
}

impl AnswersReport {
    #[must_use]
    pub(super) fn of(
        manifest: Value,
        lines: Vec<Line>,
        memories: Vec<MemoryRow>,
        mut skipped: Vec<Skipped>,
    ) -> Self {
        let answers: Vec<AnswerRow> = lines.into_iter().map(AnswerRow::of).collect();
        skipped.extend(failures(&answers));
        let methods: Vec<&str> = Method::ALL
            .iter()
            .map(|method| method.as_str())
            .filter(|&name| answers.iter().any(|row| row.line.method == name))
            .collect();
        let mut figures = Vec::new();
        for &method in &methods {
            for category in categories(&answers) {
                for metric in METRICS {
                    let values: Vec<f64> =
                        values(&answers, method, category, metric).into_values().collect();
                    figures.extend(interval(&values, SEED).map(|interval| FigureRow {
                        method: method.to_owned(),
                        category,
                        metric,
                        questions: values.len(),
                        interval,
                    }));
                }
            }
        }
        let differences = differences(&answers, &methods);
        let costs = costs::rows(&answers, &methods, &memories);
        let break_even = costs::break_even(&answers, &methods, &memories);
        let construction = Vec::new();
        Self {
            manifest,
            figures,
            differences,
            costs,
            break_even,
            memories,
            construction,
            skipped,
            answers,
        }
    }

    pub(super) fn figure(
        &self,
        method: &str,
        category: Category,
        metric: &str,
    ) -> Option<&FigureRow> {
        self.figures
            .iter()
            .find(|row| row.method == method && row.category == category && row.metric == metric)
    }

    /// In the order of [`Method::ALL`].
    pub(super) fn methods(&self) -> Vec<&str> {
        let mut methods: Vec<&str> = self.figures.iter().map(|row| row.method.as_str()).collect();
        methods.dedup();
        methods
    }

    /// Whether it is significantly the largest, by the paired difference with every other method.
    pub(super) fn is_surely_best(&self, method: &str, metric: &str) -> bool {
        let others = self.methods().into_iter().filter(|&other| other != method);
        let beaten = |other: &str| {
            self.differences.iter().filter(|row| row.metric == metric).any(|row| {
                (row.method == method && row.against == other && row.interval.low > 0.0)
                    || (row.method == other && row.against == method && row.interval.high < 0.0)
            })
        };
        let mut n = 0;
        let all = others.inspect(|_| n += 1).all(beaten);
        all && n > 0
    }
}

impl AnswerRow {
    fn of(line: Line) -> Self {
        let (mut scored, mut recall) = (None, None);
        if let Outcome::Answered { answer, evidence_named, evidence_found, .. } = &line.outcome {
            scored = Some(Scored::of(answer, &line.expected));
            recall = (*evidence_named > 0).then(|| *evidence_found as f64 / *evidence_named as f64);
        }
        Self { exact: scored.map(|s| s.exact), scored, evidence_recall: recall, line }
    }

    fn value(&self, metric: &str) -> Option<f64> {
        let scored = self.scored?;
        let Outcome::Answered { prompt_tokens, tokens, processed_tokens, model_calls, .. } =
            self.line.outcome
        else {
            return None;
        };
        match metric {
            "f1" => Some(scored.f1),
            "bleu1" => Some(scored.bleu1),
            "rouge_l" => Some(scored.rouge_l),
            "exact" => Some(f64::from(scored.exact)),
            "evidence_recall" => self.evidence_recall,
            "tokens" => Some(tokens as f64),
            "processed_tokens" => Some(processed_tokens as f64),
            "prompt_tokens" => Some(prompt_tokens as f64),
            _ => Some(model_calls as f64),
        }
    }
}

/// By conversation and question.
pub(super) fn values<'a>(
    answers: &'a [AnswerRow],
    method: &str,
    category: Category,
    metric: &str,
) -> BTreeMap<(&'a str, usize), f64> {
    let wanted =
        |row: &&AnswerRow| row.line.method == method && category.includes(row.line.category);
    let key = |row: &'a AnswerRow| (row.line.conversation.as_str(), row.line.question);
    answers.iter().filter(wanted).filter_map(|row| Some((key(row), row.value(metric)?))).collect()
}

fn categories(answers: &[AnswerRow]) -> Vec<Category> {
    let mut found: Vec<Category> =
        answers.iter().map(|row| Category::One(row.line.category)).collect();
    found.push(Category::All);
    found.sort();
    found.dedup();
    found
}

fn differences(answers: &[AnswerRow], methods: &[&str]) -> Vec<DifferenceRow> {
    let mut rows = Vec::new();
    for metric in COMPARED {
        let of: Vec<_> =
            methods.iter().map(|m| values(answers, m, Category::All, metric)).collect();
        for (i, method) in methods.iter().enumerate() {
            for (j, against) in methods.iter().enumerate().take(i) {
                let pairs: Vec<(f64, f64)> = of[i]
                    .iter()
                    .filter_map(|(key, &value)| Some((value, *of[j].get(key)?)))
                    .collect();
                rows.extend(paired_difference(&pairs, SEED).map(|interval| DifferenceRow {
                    method: (*method).to_owned(),
                    against: (*against).to_owned(),
                    metric,
                    questions: pairs.len(),
                    interval,
                    sure: interval.excludes_zero(),
                }));
            }
        }
    }
    rows
}

/// Merges identical failures of a conversation's questions.
fn failures(answers: &[AnswerRow]) -> Vec<Skipped> {
    let mut groups: BTreeMap<(&str, &str), Vec<&Line>> = BTreeMap::new();
    for row in answers {
        if let Outcome::Failed { error } = &row.line.outcome {
            groups.entry((&row.line.conversation, error)).or_default().push(&row.line);
        }
    }
    groups
        .into_iter()
        .map(|((conversation, error), lines)| Skipped {
            what: match lines[..] {
                [line] => {
                    format!("{conversation}, question {}, {}", line.question + 1, line.method)
                }
                _ => format!("{conversation}, {} answers", lines.len()),
            },
            reason: error.to_owned(),
        })
        .collect()
}

/// Nearest-rank percentiles.
#[must_use]
pub(super) fn seconds(timings: &[Timing]) -> Vec<SecondsRow> {
    let of = |method: &str| {
        let mut seconds: Vec<f64> = timings
            .iter()
            .filter(|timing| timing.method == method)
            .map(|timing| timing.seconds)
            .collect();
        seconds.sort_by(f64::total_cmp);
        Some(SecondsRow {
            method: method.to_owned(),
            times: seconds.len(),
            p50: nearest_rank(&seconds, 0.5)?,
            p95: nearest_rank(&seconds, 0.95)?,
            sum: seconds.iter().sum(),
        })
    };
    let methods = Method::ALL.iter().map(|method| method.as_str());
    methods.chain([BUILDING]).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::costs::PayOff;
    use super::super::journal::BuildCost;
    use super::*;

    /// `of(method, question)` is the answer; "Lund" is right.
    fn report(methods: [&str; 2], of: impl Fn(usize, usize) -> &'static str) -> AnswersReport {
        let mut lines = Vec::new();
        for question in 0..40 {
            for (i, method) in methods.iter().enumerate() {
                lines.push(Line {
                    conversation: "c".into(),
                    question,
                    category: 1 + question as u64 % 2,
                    method: (*method).to_owned(),
                    asked: "Where?".into(),
                    expected: "Lund".into(),
                    outcome: Outcome::Answered {
                        answer: of(i, question).into(),
                        evidence_named: question as u64 % 3,
                        evidence_found: u64::from(i == 1 && question % 3 > 0),
                        prompt_tokens: 10,
                        tokens: 20 + question as u64,
                        processed_tokens: if i == 0 { 95 } else { 15 },
                        written_tokens: 5,
                        model_calls: 1,
                    },
                });
            }
        }
        let memory = |conversation: &str, tokens| MemoryRow {
            conversation: conversation.into(),
            messages: 50,
            episodes: 4,
            facts: 20,
            themes: 5,
            reassigned: 7,
            flips: [0, 0, 1, 0, 2, 0, 3, 0, 1, 1],
            inserts: [2; 10],
            built: Some(BuildCost { tokens, written_tokens: 100, model_calls: 9 }),
        };
        let memories = vec![memory("c", 1200), memory("d", 2000)];
        AnswersReport::of(Value::Null, lines, memories, Vec::new())
    }

    #[test]
    fn only_what_is_sure_is_bold() {
        let better = report(["naive-rag", "full"], |i, question| {
            if i == 1 && question < 30 || question < 5 { "Lund" } else { "Oslo" }
        });
        let text = super::super::markdown::of(&better);
        assert!(better.is_surely_best("full", "f1") && !better.is_surely_best("naive-rag", "f1"));
        assert!(text.contains("| **75.00** | **75.00** |"), "{text}");
        assert!(text.contains("| full − naive-rag | **0.625 ["), "{text}");
        assert!(text.contains("| 0 [0, 0] |"), "the same tokens: {text}");
        // Each is right where the other is wrong, one a little oftener.
        let close = report(["naive-rag", "full"], |i, question| {
            if (question < 21) == (i == 1) { "Lund" } else { "Oslo" }
        });
        assert!(!close.is_surely_best("full", "f1"));
        let text = super::super::markdown::of(&close);
        assert!(text.contains("| full − naive-rag | 0.050 ["), "not bold: {text}");
    }

    #[test]
    fn means_are_over_what_they_say() {
        let report = report(["naive-rag", "full"], |_, _| "Lund");
        let figure = |category, metric| report.figure("full", category, metric).unwrap();
        assert_eq!(figure(Category::One(1), "f1").questions, 20);
        let recall = figure(Category::All, "evidence_recall");
        assert_eq!(recall.questions, 26, "a third names no message");
        assert!((recall.interval.mean - 0.75).abs() < 1e-12, "{recall:?}");
        assert_eq!(figure(Category::All, "tokens").interval.mean, 39.5);
    }

    /// 1,600 tokens a conversation, of which 80 are saved by each question.
    #[test]
    fn costs_are_means_and_pay_off() {
        let report = report(["naive-rag", "full"], |_, _| "Lund");
        let [naive, full] = &report.costs[..] else { panic!("{:?}", report.costs) };
        assert_eq!((naive.building, full.questions), (None, 40));
        let building = full.building.unwrap();
        assert_eq!((building.tokens_in, building.tokens_out), (1500.0, 100.0));
        assert_eq!((full.answering.tokens_in, full.answering.tokens_out), (34.5, 5.0));
        let [pay] = &report.break_even[..] else { panic!("{:?}", report.break_even) };
        assert_eq!((pay.method.as_str(), pay.against.as_str()), ("full", "naive-rag"));
        assert_eq!(pay.pay_off, PayOff::After { questions: 20.0, low: 20.0, high: 20.0 });
        let text = super::super::markdown::of(&report);
        for line in [
            "| full | 100.00 | 100.00 | 1.50 | 0.10 | 1.60 | 9 | 0.03 | 0.01 | 0.04 | 1 |",
            "| full | 1600 | 20 (20 to 20) |",
            "| c | 50 | 4 | 20 | 5 | 4.0 | 35 % |",
            "| 0.00 | 0.00 | 0.50 | 0.00 | 1.00 |",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn percentiles_are_measured_seconds() {
        let timing = |seconds| Timing {
            conversation: "c".into(),
            question: 0,
            method: "full".into(),
            seconds,
        };
        let timings: Vec<Timing> = (1..=20).rev().map(|n| timing(f64::from(n))).collect();
        let rows = seconds(&timings);
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].p50, rows[0].p95, rows[0].times), (10.0, 19.0, 20));
        assert_eq!(rows[0].sum, 210.0);
    }
}
