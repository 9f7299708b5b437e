//! `memory search`: by words and by meaning, over facts, episodes and messages.
//!
//! The two rankings are merged by reciprocal rank fusion (1 / (60 + rank)), which needs no common scale.

use std::collections::HashMap;

use serde_json::json;

use super::super::App;
use super::super::output::one_line;
use super::super::report::{Failure, Outcome, done};
use super::super::session::speaker;
use super::{day, rfc3339};
use crate::memory::{Embedding, EpisodeId, MessageId, Moment, SemanticId};
use crate::store::{Level, Reader, Store, StoreError};

struct Hit {
    id: String,
    kind: &'static str,
    text: String,
    at: Moment,
    score: f64,
}

pub fn run(app: &App, query: &str, k: usize, json: bool) -> Outcome {
    let store = app.open_read_only()?;
    let vector = query_vector(app, &store, query)?;
    let hits = store.read(|r| hits(r, query, vector.as_ref(), k))?;
    if json {
        let list: Vec<_> = hits
            .iter()
            .map(|h| {
                json!({ "id": h.id, "kind": h.kind, "text": h.text, "at": rfc3339(h.at), "score": h.score })
            })
            .collect();
        app.console.json(&list)?;
        return done();
    }
    if hits.is_empty() {
        app.console.note("Nothing about that is remembered.");
    }
    for hit in &hits {
        app.console.line(&format!(
            "{:<6} {:<12} {}",
            hit.id,
            day(hit.at),
            one_line(&hit.text, 300)
        ))?;
    }
    done()
}

/// `None` if the stored vectors are from another embedder: the search is then by words only.
fn query_vector(app: &App, store: &Store, query: &str) -> Result<Option<Embedding>, Failure> {
    let Some(stored) = store.read(|r| r.embedder_id())? else { return Ok(None) };
    let embedder = app.embedder()?;
    if embedder.id() != stored {
        app.console.note(
            "The memory was embedded by another model: searching by words only. \
             `inglenook memory consolidate --wait` embeds it again.",
        );
        return Ok(None);
    }
    Ok(embedder.embed(&[query])?.pop())
}

fn hits(
    reader: &Reader<'_>,
    query: &str,
    vector: Option<&Embedding>,
    k: usize,
) -> Result<Vec<Hit>, StoreError> {
    let mut scores: HashMap<(Level, i64), f64> = HashMap::new();
    for level in [Level::Semantic, Level::Episode, Level::Message] {
        let mut add = |ranking: Vec<(i64, f32)>| {
            for (rank, (id, _)) in ranking.into_iter().enumerate() {
                *scores.entry((level, id)).or_default() += 1.0 / (61.0 + rank as f64);
            }
        };
        add(reader.full_text(level, query, k)?);
        if let Some(vector) = vector {
            add(reader.nearest(level, vector, k)?);
        }
    }
    let mut ranked: Vec<((Level, i64), f64)> = scores.into_iter().collect();
    ranked.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
    ranked.truncate(k);
    ranked
        .into_iter()
        .map(|((level, id), score)| {
            let (id, kind, text, at) = match level {
                Level::Message => {
                    let m = reader.messages_by_id(&[MessageId(id)])?.remove(0);
                    let text = format!("{}: {}", speaker(&m), m.content);
                    (m.id.to_string(), "message", text, m.created_at)
                }
                Level::Episode => {
                    let e = reader.episodes_by_id(&[EpisodeId(id)])?.remove(0);
                    let text = format!("{}: {}", e.title, e.content);
                    (e.id.to_string(), "episode", text, e.started_at)
                }
                Level::Semantic | Level::Theme => {
                    let s = reader.semantics_by_id(&[SemanticId(id)])?.remove(0);
                    (s.id.to_string(), "semantic", s.content, s.created_at)
                }
            };
            Ok(Hit { id, kind, text, at, score })
        })
        .collect()
}
