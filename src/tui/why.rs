//! The evidence record of an answer, as the *why* pane shows it.
//!
//! Reads the form of `ask --json`, tolerantly, because a record may be older than the program. It
//! reads nothing itself.

use serde_json::Value;

use crate::chat::Sureness;
use crate::memory::plain_text;
use crate::store::AnyId;

/// A fact or a whole message that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct WhyText {
    pub id: String,
    /// Who said a message.
    pub speaker: Option<String>,
    pub text: String,
}

/// An episode that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct TriedEpisode {
    pub id: String,
    pub title: String,
    pub admitted: bool,
    pub expanded: bool,
    pub before_nats: Option<f64>,
    pub after_nats: Option<f64>,
}

/// The evidence of one answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Why {
    /// Ids of the memories that the reply quotes, where the rules answered.
    pub quoted: Option<Vec<String>>,
    /// How likely the reply is right, where that was asked.
    pub sureness: Option<Sureness>,
    /// The themes' names, or their ids.
    pub themes: Vec<String>,
    pub facts: Vec<WhyText>,
    pub steps: Vec<TriedEpisode>,
    /// Whole messages that were read.
    pub messages: Vec<WhyText>,
    /// The signal is word overlap, a fraction, not an entropy in nats.
    pub overlap: bool,
    pub coarse_nats: Option<f64>,
    pub final_nats: Option<f64>,
    pub prompt_tokens: Option<u64>,
    pub processed_tokens: Option<u64>,
    pub model: Option<String>,
    pub recall_seconds: Option<f64>,
}

/// What is recorded of a reply.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recorded {
    /// The model in use.
    pub model: Option<String>,
    /// `None` if nothing was recalled.
    pub why: Option<Why>,
}

impl Recorded {
    pub fn of(record: &Value) -> Self {
        let model = record.get("model").filter(|name| name.is_string()).map(text);
        Self { model, why: Why::of(record) }
    }
}

fn text(value: &Value) -> String {
    plain_text(value.as_str().unwrap_or_default()).into_owned()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A theme's name, or its id if it has none yet.
fn name(theme: &Value) -> String {
    let name = text(&theme["name"]);
    if name.is_empty() { text(&theme["id"]) } else { name }
}

impl Why {
    /// Reads a record; `None` if nothing was recalled.
    pub fn of(record: &Value) -> Option<Self> {
        let evidence = record.get("evidence")?;
        let number = |path: &str| record.pointer(path).and_then(Value::as_f64);
        let count = |path: &str| record.pointer(path).and_then(Value::as_u64);
        let texts = |level: &str| -> Vec<WhyText> {
            list(evidence, level)
                .iter()
                .map(|unit| WhyText {
                    id: text(&unit["id"]),
                    speaker: unit.get("speaker").map(text),
                    text: text(&unit["text"]),
                })
                .collect()
        };
        let steps = list(evidence, "episodes")
            .iter()
            .map(|e| TriedEpisode {
                id: text(&e["id"]),
                title: text(&e["title"]),
                admitted: e["admitted"].as_bool().unwrap_or(false),
                expanded: e["expanded"].as_bool().unwrap_or(false),
                before_nats: e["entropy_before_nats"].as_f64(),
                after_nats: e["entropy_after_nats"].as_f64(),
            })
            .collect();
        let why = Self {
            quoted: record
                .get("quoted")
                .and_then(Value::as_array)
                .map(|ids| ids.iter().map(text).collect()),
            sureness: record.get("sureness").and_then(Value::as_str).and_then(Sureness::named),
            messages: texts("messages"),
            overlap: record.pointer("/evidence/signal") == Some(&Value::from("overlap")),
            themes: list(evidence, "themes").iter().map(name).collect(),
            facts: texts("semantics"),
            steps,
            coarse_nats: number("/entropy_nats/coarse"),
            final_nats: number("/entropy_nats/final"),
            prompt_tokens: count("/tokens/prompt"),
            processed_tokens: count("/tokens/processed"),
            model: record.get("model").map(text),
            recall_seconds: number("/seconds/recall"),
        };
        (!why.is_empty()).then_some(why)
    }

    fn is_empty(&self) -> bool {
        self.facts.is_empty()
            && self.steps.is_empty()
            && self.themes.is_empty()
            && self.messages.is_empty()
    }

    /// The number of memories that the answer quotes; where a model wrote it, that it could read.
    pub fn n_memories(&self) -> usize {
        self.quoted.as_ref().map_or_else(
            || {
                let admitted = self.steps.iter().filter(|s| s.admitted).count();
                self.facts.len() + self.messages.len() + admitted
            },
            Vec::len,
        )
    }

    /// The facts and messages that the reply quotes; where a model wrote it, that it could read.
    pub fn grounds(&self) -> Vec<AnyId> {
        let of = |unit: &&WhyText| self.quoted.is_none() || self.quotes(&unit.id);
        let units = self.facts.iter().chain(&self.messages).filter(of);
        units.filter_map(|unit| unit.id.parse().ok()).collect()
    }

    /// Whether the reply quotes this fact or message.
    pub fn quotes(&self, id: &str) -> bool {
        self.quoted.as_ref().is_some_and(|ids| ids.iter().any(|quoted| quoted == id))
    }

    /// The largest value in the chart: the full bar.
    pub fn nats_max(&self) -> f64 {
        self.steps
            .iter()
            .flat_map(|s| [s.before_nats, s.after_nats])
            .chain([self.coarse_nats, self.final_nats])
            .flatten()
            .filter(|n| n.is_finite())
            .fold(0.0, f64::max)
    }
}

/// A bar for `nats`, in eighths of a cell; `max` fills all `cells`.
pub fn bar(nats: f64, max: f64, cells: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if !(nats.is_finite() && max.is_finite() && max > 0.0) || cells == 0 {
        return String::new();
    }
    let eighths = ((nats / max).clamp(0.0, 1.0) * cells as f64 * 8.0).round() as usize;
    // A value above zero is visible.
    let eighths = if nats > 0.0 { eighths.max(1) } else { eighths };
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn odd_records_are_data() {
        assert_eq!(Why::of(&json!({"answer": "hello"})), None);
        assert_eq!(Why::of(&json!({"evidence": null})), None);
        let why =
            Why::of(&json!({"evidence": {"episodes": [{}, 3], "semantics": "none"}})).unwrap();
        assert_eq!(why.steps.len(), 2);
        assert_eq!(why.steps[0].before_nats, None);
    }

    #[test]
    fn bars_are_proportional() {
        assert_eq!(bar(1.0, 2.0, 4), "██");
        assert_eq!(bar(1.0, 1.0, 3), "███");
        assert_eq!(bar(0.0, 1.0, 3), "");
        assert_eq!(bar(0.001, 1.0, 3), "▏");
        assert_eq!(bar(f64::NAN, 1.0, 3), "");
        assert_eq!(bar(9.0, 1.0, 2), "██");
        assert_eq!(bar(0.5, 1.0, 3), "█▌");
    }
}
