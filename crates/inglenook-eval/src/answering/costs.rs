//! What memories cost, and after how many questions they pay for themselves (the open question of
//! xMemory's review). Pure.
//!
//! Costs are tokens processed by the model, prompt and output: per conversation for building its memory, per
//! question for answering it. Building costs are known only where the run built the memory itself.

use serde::Serialize;

use super::journal::{Line, MemoryRow, Outcome};
use super::method::Method;
use super::report::{AnswerRow, values};
use crate::metrics::{Interval, mean, paired_difference};
use crate::{Category, SEED};

/// Methods without a memory, the alternatives that a memory has to beat.
const BASELINES: [&str; 2] = ["full-context", "naive-rag"];

/// Mean work of the model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Work {
    pub tokens_in: f64,
    pub tokens_out: f64,
    pub model_calls: f64,
}

/// The columns of LightMem's Tables 2 and 3, for building and for answering.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CostRow {
    pub method: String,
    pub questions: usize,
    /// Share of answers that match the reference exactly (no LLM judge).
    pub exact: f64,
    pub f1: f64,
    /// Work per conversation to build the memory; `None` if the method needs none or the cost is unknown.
    pub building: Option<Work>,
    /// Work per question.
    pub answering: Work,
}

/// When a memory's cost is recovered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "pays_off", rename_all = "kebab-case")]
pub enum PayOff {
    /// At once: building cost no tokens, and a question costs less.
    AtOnce,
    /// After this many questions about a conversation; bounds follow from the interval of the savings.
    After { questions: f64, low: f64, high: f64 },
    /// Never: a question costs at least as much (by the interval).
    Never,
    /// The interval of the savings contains 0.
    NotSure,
    /// The memories were ready-made, so their cost is unknown.
    Unknown,
}

/// One method compared with one that needs no memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BreakEven {
    pub method: String,
    pub against: String,
    /// Tokens per conversation to build the memory.
    pub building_tokens: Option<f64>,
    /// Tokens saved per question (paired differences).
    pub saved: Interval,
    #[serde(flatten)]
    pub pay_off: PayOff,
}

impl PayOff {
    fn of(building_tokens: Option<f64>, saved: Interval) -> Self {
        match building_tokens {
            _ if saved.high <= 0.0 => Self::Never,
            _ if saved.low <= 0.0 => Self::NotSure,
            None => Self::Unknown,
            Some(0.0) => Self::AtOnce,
            Some(cost) => Self::After {
                questions: cost / saved.mean,
                low: cost / saved.high,
                high: cost / saved.low,
            },
        }
    }
}

pub(super) fn rows(
    answers: &[AnswerRow],
    methods: &[&str],
    memories: &[MemoryRow],
) -> Vec<CostRow> {
    let building = building(memories);
    let row = |&method: &&str| {
        let of = answers.iter().filter(|row| row.line.method == method);
        let answered: Vec<Work> = of.filter_map(|row| work(&row.line)).collect();
        let metric = |name| {
            let values = values(answers, method, Category::All, name).into_values();
            mean(&values.collect::<Vec<_>>())
        };
        Some(CostRow {
            method: method.to_owned(),
            questions: answered.len(),
            exact: metric("exact")?,
            f1: metric("f1")?,
            building: building.filter(|_| needs_memory(method)),
            answering: mean_of(&answered)?,
        })
    };
    methods.iter().filter_map(row).collect()
}

pub(super) fn break_even(
    answers: &[AnswerRow],
    methods: &[&str],
    memories: &[MemoryRow],
) -> Vec<BreakEven> {
    let building_tokens = building(memories).map(|work| work.tokens_in + work.tokens_out);
    let of = |method| values(answers, method, Category::All, "processed_tokens");
    let mut rows = Vec::new();
    for &method in methods.iter().filter(|method| needs_memory(method)) {
        for against in BASELINES.into_iter().filter(|against| methods.contains(against)) {
            let (own, theirs) = (of(method), of(against));
            let pairs: Vec<(f64, f64)> =
                theirs.iter().filter_map(|(key, &t)| Some((t, *own.get(key)?))).collect();
            rows.extend(paired_difference(&pairs, SEED).map(|saved| BreakEven {
                method: method.to_owned(),
                against: against.to_owned(),
                building_tokens,
                saved,
                pay_off: PayOff::of(building_tokens, saved),
            }));
        }
    }
    rows
}

fn needs_memory(method: &str) -> bool {
    Method::named(method).is_ok_and(|named| named.into_iter().any(Method::needs_memory))
}

/// The mean over conversations; `None` if any memory was given.
fn building(memories: &[MemoryRow]) -> Option<Work> {
    let works: Option<Vec<Work>> = memories
        .iter()
        .map(|row| {
            row.built.map(|built| Work {
                tokens_in: built.tokens.saturating_sub(built.written_tokens) as f64,
                tokens_out: built.written_tokens as f64,
                model_calls: built.model_calls as f64,
            })
        })
        .collect();
    mean_of(&works?)
}

fn work(line: &Line) -> Option<Work> {
    let Outcome::Answered { tokens, written_tokens, model_calls, .. } = line.outcome else {
        return None;
    };
    Some(Work {
        tokens_in: tokens.saturating_sub(written_tokens) as f64,
        tokens_out: written_tokens as f64,
        model_calls: model_calls as f64,
    })
}

fn mean_of(works: &[Work]) -> Option<Work> {
    let of = |value: fn(&Work) -> f64| mean(&works.iter().map(value).collect::<Vec<_>>());
    Some(Work {
        tokens_in: of(|work| work.tokens_in)?,
        tokens_out: of(|work| work.tokens_out)?,
        model_calls: of(|work| work.model_calls)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(low: f64, mean: f64, high: f64) -> Interval {
        Interval { mean, low, high }
    }

    #[test]
    fn a_memory_pays_off_after_its_cost_is_saved() {
        let check = |cost, saved, pay_off| assert_eq!(PayOff::of(cost, saved), pay_off);
        let sure = saved(50.0, 100.0, 200.0);
        check(Some(1000.0), sure, PayOff::After { questions: 10.0, low: 5.0, high: 20.0 });
        check(Some(0.0), sure, PayOff::AtOnce);
        check(None, sure, PayOff::Unknown);
        check(Some(1000.0), saved(-5.0, 100.0, 200.0), PayOff::NotSure);
        check(Some(1000.0), saved(-20.0, -10.0, 0.0), PayOff::Never);
        check(None, saved(-20.0, -10.0, -1.0), PayOff::Never);
    }
}
