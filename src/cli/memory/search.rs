//! `memory search`: by words and by meaning, over facts, episodes and messages.
//!
//! The two rankings are merged by reciprocal rank fusion (1 / (60 + rank)), which needs no common scale.

use std::collections::{HashMap, HashSet};

use jiff::civil::Date;
use serde_json::json;

use super::super::App;
use super::super::output::one_line;
use super::super::report::{Failure, Outcome, done};
use super::super::session::speaker;
use super::{day, rfc3339};
use crate::memory::{Embedding, EpisodeId, MessageId, Moment, SemanticId};
use crate::store::{AnyId, Level, Reader, Store, StoreError};

/// A unit that was found.
pub struct Hit {
    pub id: AnyId,
    text: String,
    at: Moment,
    score: f64,
}

pub fn run(app: &App, query: &str, k: usize, json: bool) -> Outcome {
    let store = app.open_read_only()?;
    let vector = query_vector(app, &store, query)?;
    let hits = store.read(|r| hits(r, query, vector.as_ref(), k, None))?;
    if json {
        let list: Vec<_> = hits
            .iter()
            .map(|h| {
                json!({ "id": h.id.to_string(), "kind": kind(h.id), "text": h.text, "at": rfc3339(h.at), "score": h.score })
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
            hit.id.to_string(),
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

fn kind(id: AnyId) -> &'static str {
    match id {
        AnyId::Message(_) => "message",
        AnyId::Episode(_) => "episode",
        _ => "semantic",
    }
}

/// The `k` best units; of these days, if they are given (the first and the last).
pub fn hits(
    reader: &Reader<'_>,
    query: &str,
    vector: Option<&Embedding>,
    k: usize,
    days: Option<(Date, Date)>,
) -> Result<Vec<Hit>, StoreError> {
    /// Of each ranking, where most of them may be of other days.
    const RANKED: usize = 1_000;
    let n_ranked = if days.is_some() { RANKED } else { k };
    let mut scores: HashMap<(Level, i64), f64> = HashMap::new();
    let mut add = |level, ranking: &[(i64, f32)]| {
        for (rank, (id, _)) in ranking.iter().enumerate() {
            *scores.entry((level, *id)).or_default() += 1.0 / (61.0 + rank as f64);
        }
    };
    let mut said = HashSet::new();
    let mut near = Vec::new();
    for level in [Level::Semantic, Level::Episode, Level::Message] {
        let found = reader.full_text(level, query, n_ranked)?;
        said.extend(found.iter().map(|(id, _)| (level, *id)));
        add(level, &found);
        if let Some(vector) = vector {
            near.push((level, reader.nearest(level, vector, n_ranked)?));
        }
    }
    // What does not have the words is no further away than what has: there is always something nearest.
    let of = |(level, found): &(Level, Vec<(i64, f32)>)| {
        found.iter().map(|&(id, cosine)| ((*level, id), cosine)).collect::<Vec<_>>()
    };
    let with_words = near.iter().flat_map(of).filter(|(unit, _)| said.contains(unit));
    let least = with_words.map(|(_, cosine)| cosine).fold(f32::INFINITY, f32::min);
    for (level, mut found) in near {
        found.retain(|(id, cosine)| {
            said.is_empty() || said.contains(&(level, *id)) || *cosine >= least
        });
        add(level, &found);
    }
    let mut ranked: Vec<((Level, i64), f64)> = scores.into_iter().collect();
    ranked.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
    let mut hits = Vec::new();
    for ((level, id), score) in ranked {
        let hit = hit(reader, level, id, score)?;
        let day = hit.at.civil().date();
        if days.is_none_or(|(first, last)| (first..=last).contains(&day)) {
            hits.push(hit);
        }
        if hits.len() == k {
            break;
        }
    }
    Ok(hits)
}

fn hit(reader: &Reader<'_>, level: Level, id: i64, score: f64) -> Result<Hit, StoreError> {
    let (id, text, at) = match level {
        Level::Message => {
            let m = reader.messages_by_id(&[MessageId(id)])?.remove(0);
            (AnyId::Message(m.id), format!("{}: {}", speaker(&m), m.content), m.created_at)
        }
        Level::Episode => {
            let e = reader.episodes_by_id(&[EpisodeId(id)])?.remove(0);
            (AnyId::Episode(e.id), format!("{}: {}", e.title, e.content), e.started_at)
        }
        Level::Semantic | Level::Theme => {
            let s = reader.semantics_by_id(&[SemanticId(id)])?.remove(0);
            (AnyId::Semantic(s.id), s.content, s.created_at)
        }
    };
    Ok(Hit { id, text, at, score })
}
