//! What can be done to a memory, for the random tests.
//!
//! Every message has a word of its own; whatever is derived from a message repeats that word. So
//! after forgetting, the word must be nowhere.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;

use super::builders::*;
use super::random::forget;
use crate::memory::{EpisodeId, MessageId, Role, SemanticId, SessionId, ThemeId};
use crate::store::{AnyId, JobKind, Level, NewSemantic, Reader, Store};

#[derive(Debug, Clone)]
pub(super) enum Deed {
    Append { session: Index, reply: bool },
    Cite { session: Index, fact: Index, episode: Index },
    Close { session: Index, run: Index, from: Index, to: Index },
    Learn { episode: Index, message: Index, theme: Option<Index>, second: Option<Index> },
    Move { fact: Index, theme: Index },
    Split { fact: Index },
    Join { theme: Index, into: Index },
    Supersede { earlier: Index, later: Index },
    Merge { first: Index, second: Index },
    Edit { fact: Index },
    EditEpisode { episode: Index },
    Rename { theme: Index, fact: Index },
    Edges { fact: Index, other: Index, theme: Index },
    Vectors { message: Index },
    Enqueue { fact: Index, episode: Index, session: Index },
    Work { fails: bool },
    Embedder,
    Forget { level: u8, index: Index },
    Search { message: Index },
    Undo,
}

pub(super) fn deed() -> impl Strategy<Value = Deed> {
    let i = any::<Index>;
    prop_oneof![
        6 => (i(), any::<bool>()).prop_map(|(session, reply)| Deed::Append { session, reply }),
        2 => (i(), i(), i()).prop_map(|(session, fact, episode)| Deed::Cite { session, fact, episode }),
        4 => (i(), i(), i(), i())
            .prop_map(|(session, run, from, to)| Deed::Close { session, run, from, to }),
        6 => (i(), i(), prop::option::of(i()), prop::option::of(i()))
            .prop_map(|(episode, message, theme, second)| Deed::Learn { episode, message, theme, second }),
        2 => (i(), i()).prop_map(|(fact, theme)| Deed::Move { fact, theme }),
        1 => i().prop_map(|fact| Deed::Split { fact }),
        1 => (i(), i()).prop_map(|(theme, into)| Deed::Join { theme, into }),
        2 => (i(), i()).prop_map(|(earlier, later)| Deed::Supersede { earlier, later }),
        2 => (i(), i()).prop_map(|(first, second)| Deed::Merge { first, second }),
        1 => i().prop_map(|fact| Deed::Edit { fact }),
        1 => i().prop_map(|episode| Deed::EditEpisode { episode }),
        2 => (i(), i()).prop_map(|(theme, fact)| Deed::Rename { theme, fact }),
        2 => (i(), i(), i()).prop_map(|(fact, other, theme)| Deed::Edges { fact, other, theme }),
        1 => i().prop_map(|message| Deed::Vectors { message }),
        1 => (i(), i(), i())
            .prop_map(|(fact, episode, session)| Deed::Enqueue { fact, episode, session }),
        2 => any::<bool>().prop_map(|fails| Deed::Work { fails }),
        1 => Just(Deed::Embedder),
        3 => (0..5_u8, i()).prop_map(|(level, index)| Deed::Forget { level, index }),
        1 => i().prop_map(|message| Deed::Search { message }),
        3 => Just(Deed::Undo),
    ]
}

/// The word that only this message, and what is made from it, has.
pub(super) fn word(id: MessageId) -> String {
    format!("zq{}x", id.0)
}

/// The words of messages, and of what they quote, as found in a text.
pub(super) fn words_in(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|w| w.starts_with("zq") && w.ends_with('x'))
        .collect()
}

pub(super) struct Units {
    pub sessions: Vec<SessionId>,
    pub messages: Vec<MessageId>,
    pub episodes: Vec<EpisodeId>,
    pub facts: Vec<SemanticId>,
    pub themes: Vec<ThemeId>,
}

impl Units {
    pub(super) fn ids(&self) -> [Vec<i64>; 4] {
        [
            self.sessions.iter().map(|id| id.0).collect(),
            self.messages.iter().map(|id| id.0).collect(),
            self.episodes.iter().map(|id| id.0).collect(),
            self.facts.iter().map(|id| id.0).collect(),
        ]
    }
}

pub(super) fn units(r: &Reader<'_>) -> Units {
    let mut sessions: Vec<SessionId> = r.sessions().unwrap().iter().map(|s| s.id).collect();
    sessions.sort();
    Units {
        sessions,
        messages: r.all_messages().unwrap().iter().map(|m| m.id).collect(),
        episodes: r.episodes().unwrap().iter().map(|e| e.id).collect(),
        facts: r.semantics().unwrap().iter().map(|s| s.id).collect(),
        themes: r.themes().unwrap().iter().map(|t| t.id).collect(),
    }
}

fn pick<T: Copy>(from: &[T], index: Index) -> Option<T> {
    (!from.is_empty()).then(|| from[index.index(from.len())])
}

fn vector(tx: &Reader<'_>, text: &str) -> crate::memory::Embedding {
    let mut floats = embed(text).into_inner();
    floats.truncate(tx.dimensions().unwrap().unwrap());
    floats[0] += 0.01;
    crate::memory::Embedding::normalise(floats).unwrap()
}

/// Does one; a deed that there is nothing for does nothing.
pub(super) fn act(store: &Store, deed: &Deed) -> Option<()> {
    let u = store.read(|r| Ok(units(r))).unwrap();
    talk(store, &u, deed)
        .or_else(|| learn(store, &u, deed))
        .or_else(|| organise(store, &u, deed))
        .or_else(|| maintain(store, &u, deed))
}

/// What is said, cited and closed.
fn talk(store: &Store, u: &Units, deed: &Deed) -> Option<()> {
    match deed {
        Deed::Append { session, reply } => {
            let role = if *reply { Role::Assistant } else { Role::User };
            let fresh = session.index(4) >= u.sessions.len();
            write(store, |tx| {
                let next = MessageId(tx.last_id("message")? + 1);
                let text = format!("I said {} just now", word(next));
                let id = if fresh {
                    tx.create_session(&text, at(0), session.index(8) == 0)?
                } else {
                    u.sessions[session.index(u.sessions.len())]
                };
                assert_eq!(say(tx, id, role, &text), next);
                tx.enqueue(&JobKind::Boundary { session: id })
            });
        }
        Deed::Cite { session, fact, episode } => {
            let (session, fact) = (pick(&u.sessions, *session)?, pick(&u.facts, *fact)?);
            let episode = pick(&u.episodes, *episode)?;
            write(store, |tx| {
                let fact = tx.semantics_by_id(&[fact])?.remove(0);
                let words = words_in(&fact.content).join(" ");
                let reply = say(tx, session, Role::Assistant, &format!("You said {words}"));
                // Half of the ids as a number under its key, half as a shown id.
                tx.record_answer(
                    reply,
                    &json!({
                        "evidence": {
                            "semantics": [{"id": fact.id.to_string(), "text": fact.content}],
                            "episodes": [{"id": episode.0, "admitted": false}],
                        }
                    }),
                )
            });
        }
        Deed::Close { session, run, from, to } => {
            let session = pick(&u.sessions, *session)?;
            let runs = store.read(|r| r.open_runs(session)).unwrap();
            if runs.is_empty() {
                return None;
            }
            let run = &runs[run.index(runs.len())];
            let (a, b) = (from.index(run.len()), to.index(run.len()));
            let run = &run[a.min(b)..=a.max(b)];
            let text: Vec<&str> = run.iter().flat_map(|m| words_in(&m.content)).collect();
            write(store, |tx| {
                let title = format!("About {}", text[0]);
                let content = format!("They said {}", text.join(" and "));
                let run: Vec<MessageId> = run.iter().map(|m| m.id).collect();
                let episode = tx.insert_episode(session, &title, &content, &run)?;
                tx.enqueue(&JobKind::Semantics { episode })
            });
        }
        _ => return None,
    }
    Some(())
}

/// Facts that come or are corrected.
fn learn(store: &Store, u: &Units, deed: &Deed) -> Option<()> {
    match deed {
        Deed::Learn { episode, message, theme, second } => {
            let mut from = vec![pick(&u.episodes, *episode)?];
            from.extend(second.as_ref().and_then(|i| pick(&u.episodes, *i)));
            write(store, |tx| {
                let mut messages = Vec::new();
                for e in tx.episodes_by_id(&from)? {
                    messages.push(e.messages[message.index(e.messages.len())]);
                }
                let sources = tx.messages_by_id(&messages)?;
                let words: Vec<&str> = sources.iter().flat_map(|m| words_in(&m.content)).collect();
                let content = format!("The user said {}", words.join(" and "));
                let theme = match theme.as_ref().and_then(|i| pick(&u.themes, *i)) {
                    Some(theme) => theme,
                    None => tx.create_theme(&format!("Theme of {}", words[0]))?,
                };
                let expected = tx.next_semantic_id()?;
                let vector = vector(tx, &content);
                let new = NewSemantic {
                    content,
                    subject: Some("The user".to_owned()),
                    attribute: None,
                    created_at: at(1),
                    episodes: from,
                    messages,
                };
                let id = tx.insert_semantic(new, theme, &vector)?;
                assert_eq!(id, expected);
                tx.enqueue(&JobKind::Consolidate { semantic: id })
            });
        }
        Deed::Merge { first, second } => {
            let parts = [pick(&u.facts, *first)?, pick(&u.facts, *second)?];
            if parts[0] == parts[1] {
                return None;
            }
            write(store, |tx| {
                let of = tx.semantics_by_id(&parts)?;
                let content = format!("{}; {}", of[0].content, of[1].content);
                let vector = vector(tx, &content);
                let both =
                    |ids: [Vec<i64>; 2]| -> BTreeSet<i64> { ids.concat().into_iter().collect() };
                let episodes = both([0, 1].map(|i| of[i].episodes.iter().map(|e| e.0).collect()));
                let messages = both([0, 1].map(|i| of[i].messages.iter().map(|m| m.0).collect()));
                let new = NewSemantic {
                    content,
                    subject: None,
                    attribute: None,
                    created_at: at(2),
                    episodes: episodes.into_iter().map(EpisodeId).collect(),
                    messages: messages.into_iter().map(MessageId).collect(),
                };
                let joint = tx.insert_semantic(new, of[1].theme, &vector)?;
                tx.merge(parts, joint, at(7))
            });
        }
        Deed::Supersede { earlier, later } => {
            let (earlier, later) = (pick(&u.facts, *earlier)?, pick(&u.facts, *later)?);
            // A circle is refused.
            let _ = store.write(|tx| tx.supersede(earlier, later, None, at(7)));
        }
        Deed::Edit { fact } => {
            let fact = pick(&u.facts, *fact)?;
            write(store, |tx| {
                let before = tx.semantics_by_id(&[fact])?.remove(0).content;
                let content = format!("Corrected: {before}");
                let vector = vector(tx, &content);
                tx.edit_semantic(fact, &content, &vector)
            });
        }
        _ => return None,
    }
    Some(())
}

/// Themes, edges and vectors.
fn organise(store: &Store, u: &Units, deed: &Deed) -> Option<()> {
    match deed {
        Deed::Move { fact, theme } => {
            let (fact, theme) = (pick(&u.facts, *fact)?, pick(&u.themes, *theme)?);
            store.write(|tx| tx.move_semantic(fact, theme)).unwrap();
        }
        Deed::Split { fact } => {
            let fact = pick(&u.facts, *fact)?;
            write(store, |tx| {
                let expected = tx.next_theme_id()?;
                let theme = tx.create_theme("split off")?;
                assert_eq!(theme, expected);
                tx.move_semantic(fact, theme)?;
                tx.enqueue(&JobKind::NameTheme { theme })
            });
        }
        Deed::Join { theme, into } => {
            let (theme, into) = (pick(&u.themes, *theme)?, pick(&u.themes, *into)?);
            write(store, |tx| {
                let members = tx.themes_by_id(&[theme])?.remove(0).members;
                members.into_iter().try_for_each(|fact| tx.move_semantic(fact, into))
            });
        }
        Deed::Rename { theme, fact } => {
            let theme = pick(&u.themes, *theme)?;
            write(store, |tx| {
                let members = tx.themes_by_id(&[theme])?.remove(0).members;
                let member = members[fact.index(members.len())];
                let content = tx.semantics_by_id(&[member])?.remove(0).content;
                let words = words_in(&content);
                tx.rename_theme(theme, &format!("Named after {}", words[0]))
            });
        }
        Deed::Edges { fact, other, theme } => {
            let (a, b) = (pick(&u.facts, *fact)?, pick(&u.facts, *other)?);
            let (c, d) = (pick(&u.themes, *theme)?, pick(&u.themes, *other)?);
            write(store, |tx| {
                if a != b {
                    tx.replace_edges(Level::Semantic, a.0, &[(b.0, 0.5)])?;
                }
                if c != d {
                    tx.replace_edges(Level::Theme, c.0, &[(d.0, 0.25)])?;
                }
                Ok(())
            });
        }
        Deed::Vectors { message } => {
            let message = pick(&u.messages, *message)?;
            write(store, |tx| {
                let vector = vector(tx, "some text");
                for theme in &u.themes {
                    tx.put_embedding(Level::Theme, theme.0, &vector)?;
                }
                for episode in &u.episodes {
                    tx.put_embedding(Level::Episode, episode.0, &vector)?;
                }
                tx.put_embedding(Level::Message, message.0, &vector)
            });
        }
        _ => return None,
    }
    Some(())
}

/// Jobs, corrections and forgetting.
fn maintain(store: &Store, u: &Units, deed: &Deed) -> Option<()> {
    match deed {
        Deed::EditEpisode { episode } => {
            let episode = pick(&u.episodes, *episode)?;
            write(store, |tx| {
                let before = tx.episodes_by_id(&[episode])?.remove(0).content;
                tx.edit_episode(episode, "Edited", &format!("Edited: {before}"))
            });
        }
        Deed::Enqueue { fact, episode, session } => {
            let (fact, episode) = (pick(&u.facts, *fact)?, pick(&u.episodes, *episode)?);
            let session = pick(&u.sessions, *session)?;
            write(store, |tx| {
                tx.enqueue(&JobKind::Consolidate { semantic: fact })?;
                tx.enqueue(&JobKind::Semantics { episode })?;
                tx.enqueue(&JobKind::Close { session })
            });
        }
        Deed::Work { fails } => {
            let job = store.read(|r| r.next_job()).unwrap()?;
            store.write(|tx| tx.begin_job(job.id)).unwrap();
            if *fails {
                let about = u.messages.first().copied().map(word).unwrap_or_default();
                store.write(|tx| tx.fail_job(job.id, &format!("no sense in {about}"), 2)).unwrap();
            } else {
                // The one that makes vectors has to make them.
                let reembed = job.kind == JobKind::Reembed;
                write(store, |tx| {
                    if reembed {
                        for (id, text) in tx.without_embedding(Level::Semantic, 999)? {
                            let vector = vector(tx, &text);
                            tx.put_embedding(Level::Semantic, id, &vector)?;
                        }
                    }
                    tx.finish_job(job.id)
                });
            }
        }
        Deed::Embedder => {
            write(store, |tx| {
                let other = if tx.dimensions()? == Some(5) { 6 } else { 5 };
                tx.use_embedder("another", other)
            });
        }
        Deed::Forget { level, index } => {
            let id = match level {
                0 => AnyId::Message(pick(&u.messages, *index)?),
                1 => AnyId::Episode(pick(&u.episodes, *index)?),
                2 => AnyId::Semantic(pick(&u.facts, *index)?),
                3 => AnyId::Theme(pick(&u.themes, *index)?),
                _ => AnyId::Session(pick(&u.sessions, *index)?),
            };
            forget(store, &[id], None);
        }
        Deed::Search { message } => {
            let message = pick(&u.messages, *message)?;
            forget(store, &[], Some(&word(message).to_uppercase()));
        }
        Deed::Undo => {
            store.write(|tx| tx.undo()).unwrap();
        }
        _ => return None,
    }
    Some(())
}

pub(super) fn making() -> impl Strategy<Value = Deed> {
    let i = any::<Index>;
    prop_oneof![
        3 => i().prop_map(|session| Deed::Append { session, reply: false }),
        2 => (i(), i(), i(), i())
            .prop_map(|(session, run, from, to)| Deed::Close { session, run, from, to }),
        2 => (i(), i()).prop_map(|(episode, message)| Deed::Learn { episode, message, theme: None, second: None }),
    ]
}

/// Only what undo takes back.
pub(super) fn operation() -> impl Strategy<Value = Deed> {
    let i = any::<Index>;
    prop_oneof![
        3 => (i(), i()).prop_map(|(earlier, later)| Deed::Supersede { earlier, later }),
        1 => (i(), i()).prop_map(|(first, second)| Deed::Merge { first, second }),
        3 => i().prop_map(|fact| Deed::Edit { fact }),
        2 => i().prop_map(|episode| Deed::EditEpisode { episode }),
        2 => (i(), i()).prop_map(|(theme, fact)| Deed::Rename { theme, fact }),
    ]
}
