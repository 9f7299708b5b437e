//! Coverage and speed on real conversations (LoCoMo, for evaluation only; never copied).

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::*;

/// "1:56 pm on 8 May, 2023".
fn session_time(text: &str) -> Option<DateTime> {
    DateTime::strptime("%I:%M %p on %d %B, %Y", text).ok()
}

#[test]
fn evidence_messages_become_statements() {
    let Some(path) = crate::testing::shared("data/locomo-dev.json") else { return };
    let text = std::fs::read_to_string(&path).expect("locomo-dev.json is text");
    let Ok(serde_json::Value::Array(conversations)) = serde_json::from_str(&text) else {
        panic!("{} is no list of conversations", path.display());
    };
    let (mut n_evidence, mut n_covered) = (0, 0);
    for sample in &conversations {
        let talk = &sample["conversation"];
        let names =
            [&talk["speaker_a"], &talk["speaker_b"]].map(|n| n.as_str().unwrap_or_default());
        let (mut ids, mut lines) = (Vec::new(), Vec::new());
        for n in 1..=40 {
            let at = talk[format!("session_{n}_date_time")].as_str().and_then(session_time);
            let (Some(at), Some(messages)) = (at, talk[format!("session_{n}")].as_array()) else {
                continue;
            };
            for message in messages {
                let speaker = message["speaker"].as_str().unwrap_or_default();
                let other = if speaker == names[0] { names[1] } else { names[0] };
                let text = message["text"].as_str().unwrap_or_default();
                lines.push(Utterance {
                    message: MessageId(ids.len() as i64),
                    at,
                    ..said(speaker, Some(other), text)
                });
                ids.push(message["dia_id"].as_str().unwrap_or_default());
            }
        }
        let start = Instant::now();
        let made = statements(&lines);
        let elapsed = start.elapsed();
        let covered: HashSet<i64> =
            made.iter().flat_map(|s| s.messages.iter().map(|m| m.0)).collect();
        let evidence: HashSet<i64> = sample["qa"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|q| q["category"].as_i64() != Some(5))
            .flat_map(|q| q["evidence"].as_array().into_iter().flatten())
            .filter_map(|e| ids.iter().position(|id| Some(*id) == e.as_str()).map(|i| i as i64))
            .collect();
        let hits = evidence.iter().filter(|e| covered.contains(e)).count();
        eprintln!(
            "{}: {} messages, {} statements from {} of them, evidence messages {hits}/{}, {elapsed:?}",
            sample["sample_id"].as_str().unwrap_or_default(),
            lines.len(),
            made.len(),
            covered.len(),
            evidence.len(),
        );
        n_evidence += evidence.len();
        n_covered += hits;
        assert!(elapsed < Duration::from_secs(3), "{elapsed:?}");
        for statement in &made {
            // Nobody speaks in the first person in memory, and lines stay lines.
            let first = crate::extractive::lexicon::words(&statement.text)
                .any(|w| matches!(w, "I" | "I'm" | "my" | "me"));
            let quoted = statement.text.contains('"') || statement.text.contains('“');
            assert!(!first || quoted, "first person left: {}", statement.text);
            assert!(!statement.text.contains('\n'));
        }
    }
    let share = f64::from(n_covered as u32) / f64::from(n_evidence as u32);
    eprintln!("evidence messages with a statement: {n_covered}/{n_evidence} = {share:.3}");
    assert!(share > 0.93, "{share:.3}");
}
