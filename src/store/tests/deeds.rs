//! What can be done to a memory, for the random tests.
//!
//! Every message has a word of its own; whatever is derived from a message repeats that word. So
//! after forgetting, the word must be nowhere.

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::Union;
use serde_json::json;

use super::builders::*;
use super::random::forget;
use crate::memory::{Embedding, EpisodeId, MessageId, Role, SemanticId, SessionId, ThemeId};
use crate::store::error::Result;
use crate::store::{AnyId, JobKind, Level, NewSemantic, Reader, Store, StoreError, WriteTx};

/// The arguments of `plan_forget`: ids, and a text.
type Forgotten = (Vec<AnyId>, Option<String>);

/// What a deed does to the units that the indexes pick.
#[derive(Debug, Clone, Copy)]
pub(super) enum Act {
    Write(fn(&mut WriteTx<'_>, &Units, [Index; 4]) -> Result<()>),
    Forget(fn(&Units, [Index; 4]) -> Result<Forgotten>),
}

#[derive(Debug, Clone)]
pub(super) struct Deed {
    name: &'static str,
    act: Act,
    indexes: [Index; 4],
}

use Act::{Forget, Write};

/// How often a deed is done (its weight), its name, and what it does.
type Weighted = (u32, &'static str, Act);

pub(super) const ANY: &[Weighted] = &[
    (6, "append", Write(append)),
    (2, "cite", Write(cite)),
    (4, "close", Write(close_run)),
    (6, "learn", Write(learn)),
    (2, "move", Write(move_fact)),
    (1, "split", Write(split)),
    (1, "join", Write(join)),
    (2, "supersede", Write(supersede)),
    (2, "merge", Write(merge)),
    (1, "edit", Write(edit)),
    (1, "edit episode", Write(edit_episode)),
    (2, "rename", Write(rename)),
    (2, "edges", Write(edges)),
    (1, "vectors", Write(vectors)),
    (1, "enqueue", Write(enqueue)),
    (2, "work", Write(work)),
    (1, "embedder", Write(embedder)),
    (3, "forget", Forget(forget_one)),
    (1, "search", Forget(search)),
    (3, "undo", Write(undo)),
];

pub(super) const MAKING: &[Weighted] =
    &[(3, "append", Write(append)), (2, "close", Write(close_run)), (2, "learn", Write(learn))];

/// Only what undo takes back.
pub(super) const OPERATIONS: &[Weighted] = &[
    (3, "supersede", Write(supersede)),
    (1, "merge", Write(merge)),
    (3, "edit", Write(edit)),
    (2, "edit episode", Write(edit_episode)),
    (2, "rename", Write(rename)),
];

pub(super) fn one_of(deeds: &[Weighted]) -> impl Strategy<Value = Deed> + use<> {
    let weighted = deeds.iter().map(|&(weight, name, act)| {
        let deed = move |indexes| Deed { name, act, indexes };
        (weight, any::<[Index; 4]>().prop_map(deed).boxed())
    });
    Union::new_weighted(weighted.collect())
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

/// The error of a deed that finds no unit to act on.
const NOTHING: &str = "there is nothing to pick";

fn pick<T: Clone>(from: &[T], index: Index) -> Result<T> {
    if from.is_empty() {
        return Err(StoreError::invalid(NOTHING));
    }
    Ok(from[index.index(from.len())].clone())
}

/// `None` about every other time.
fn pick_or_not<T: Copy>(from: &[T], index: Index) -> Option<T> {
    from.get(index.index(2 * from.len() + 1)).copied()
}

fn vector(tx: &Reader<'_>, text: &str) -> Embedding {
    let mut floats = embed(text).into_inner();
    floats.truncate(tx.dimensions().unwrap().unwrap());
    floats[0] += 0.01;
    Embedding::normalise(floats).unwrap()
}

fn insert(
    tx: &mut WriteTx<'_>,
    content: String,
    theme: ThemeId,
    messages: Vec<MessageId>,
) -> Result<SemanticId> {
    let (vector, created_at) = (vector(tx, &content), at(1));
    let subject = Some("The user".to_owned());
    let new = NewSemantic { content, subject, attribute: None, created_at, messages };
    tx.insert_semantic(new, theme, &vector)
}

/// Does a deed; one that finds no unit to act on does nothing.
pub(super) fn act(store: &Store, deed: &Deed) {
    let units = store.read(|r| Ok(units(r))).unwrap();
    let done = match deed.act {
        Write(f) => store.write(|tx| f(tx, &units, deed.indexes)),
        Forget(f) => {
            f(&units, deed.indexes).map(|(ids, text)| forget(store, &ids, text.as_deref()))
        }
    };
    if let Err(error) = done {
        assert_eq!(error.to_string(), NOTHING, "{}", deed.name);
    }
}

fn append(tx: &mut WriteTx<'_>, u: &Units, [session, role, ..]: [Index; 4]) -> Result<()> {
    let role = if role.index(2) == 0 { Role::Assistant } else { Role::User };
    let fresh = session.index(4) >= u.sessions.len();
    let next = MessageId(tx.last_id("message")? + 1);
    let text = format!("I said {} just now", word(next));
    let id = if fresh {
        tx.create_session(&text, at(0), session.index(8) == 0)?
    } else {
        u.sessions[session.index(u.sessions.len())]
    };
    assert_eq!(say(tx, id, role, &text), next);
    tx.enqueue(&JobKind::Boundary(id))
}

fn cite(tx: &mut WriteTx<'_>, u: &Units, [session, fact, episode, _]: [Index; 4]) -> Result<()> {
    let (session, fact) = (pick(&u.sessions, session)?, pick(&u.facts, fact)?);
    let episode = pick(&u.episodes, episode)?;
    let fact = tx.semantics_by_id(&[fact])?.remove(0);
    let words = words_in(&fact.content).join(" ");
    let reply = say(tx, session, Role::Assistant, &format!("You said {words}"));
    // One id as it is displayed, one as a bare number under its key.
    let evidence = json!({
        "semantics": [{"id": fact.id.to_string(), "text": fact.content}],
        "episodes": [{"id": episode.0, "admitted": false}],
    });
    tx.record_answer(reply, &json!({"evidence": evidence}))
}

fn close_run(tx: &mut WriteTx<'_>, u: &Units, [session, run, from, to]: [Index; 4]) -> Result<()> {
    let session = pick(&u.sessions, session)?;
    let run = pick(&tx.open_runs(session)?, run)?;
    let (a, b) = (from.index(run.len()), to.index(run.len()));
    let run = &run[a.min(b)..=a.max(b)];
    let text: Vec<&str> = run.iter().flat_map(|m| words_in(&m.content)).collect();
    let title = format!("About {}", text[0]);
    let content = format!("They said {}", text.join(" and "));
    let run: Vec<MessageId> = run.iter().map(|m| m.id).collect();
    let episode = tx.insert_episode(session, &title, &content, &run)?;
    tx.enqueue(&JobKind::Semantics(episode))
}

fn learn(
    tx: &mut WriteTx<'_>,
    u: &Units,
    [episode, message, theme, second]: [Index; 4],
) -> Result<()> {
    let mut from = vec![pick(&u.episodes, episode)?];
    from.extend(pick_or_not(&u.episodes, second));
    let mut messages = Vec::new();
    for e in tx.episodes_by_id(&from)? {
        messages.push(e.messages[message.index(e.messages.len())]);
    }
    let sources = tx.messages_by_id(&messages)?;
    let words: Vec<&str> = sources.iter().flat_map(|m| words_in(&m.content)).collect();
    let theme = match pick_or_not(&u.themes, theme) {
        Some(theme) => theme,
        None => tx.create_theme(&format!("Theme of {}", words[0]))?,
    };
    let expected = tx.next_semantic_id()?;
    let content = format!("The user said {}", words.join(" and "));
    let id = insert(tx, content, theme, messages)?;
    assert_eq!(id, expected);
    tx.enqueue(&JobKind::Consolidate(id))
}

fn merge(tx: &mut WriteTx<'_>, u: &Units, [first, second, ..]: [Index; 4]) -> Result<()> {
    let parts = [pick(&u.facts, first)?, pick(&u.facts, second)?];
    if parts[0] == parts[1] {
        return Ok(());
    }
    let of = tx.semantics_by_id(&parts)?;
    let content = format!("{}; {}", of[0].content, of[1].content);
    let messages = of.iter().flat_map(|s| s.messages.clone()).collect();
    let joint = insert(tx, content, of[1].theme, messages)?;
    tx.merge(parts, joint, at(7))
}

fn supersede(tx: &mut WriteTx<'_>, u: &Units, [earlier, later, ..]: [Index; 4]) -> Result<()> {
    let (earlier, later) = (pick(&u.facts, earlier)?, pick(&u.facts, later)?);
    // A circle is refused.
    let _ = tx.supersede(earlier, later, None, at(7));
    Ok(())
}

fn edit(tx: &mut WriteTx<'_>, u: &Units, [fact, ..]: [Index; 4]) -> Result<()> {
    let fact = pick(&u.facts, fact)?;
    let before = tx.semantics_by_id(&[fact])?.remove(0);
    // What is made of corrections goes with an edit, and undo brings the text back, not that.
    if !tx.corrections_behind(&before)?.is_empty() || !tx.made_of_corrections([fact])?.is_empty() {
        return Ok(());
    }
    let content = format!("Corrected: {}", before.content);
    let vector = vector(tx, &content);
    tx.edit_semantic(fact, &content, &vector)
}

fn edit_episode(tx: &mut WriteTx<'_>, u: &Units, [episode, ..]: [Index; 4]) -> Result<()> {
    let episode = pick(&u.episodes, episode)?;
    let before = tx.episodes_by_id(&[episode])?.remove(0).content;
    tx.edit_episode(episode, "Edited", &format!("Edited: {before}"))
}

fn move_fact(tx: &mut WriteTx<'_>, u: &Units, [fact, theme, ..]: [Index; 4]) -> Result<()> {
    let (fact, theme) = (pick(&u.facts, fact)?, pick(&u.themes, theme)?);
    tx.move_semantic(fact, theme)
}

fn split(tx: &mut WriteTx<'_>, u: &Units, [fact, ..]: [Index; 4]) -> Result<()> {
    let fact = pick(&u.facts, fact)?;
    let expected = tx.next_theme_id()?;
    let theme = tx.create_theme("split off")?;
    assert_eq!(theme, expected);
    tx.move_semantic(fact, theme)?;
    tx.enqueue(&JobKind::NameTheme(theme))
}

fn join(tx: &mut WriteTx<'_>, u: &Units, [theme, into, ..]: [Index; 4]) -> Result<()> {
    let (theme, into) = (pick(&u.themes, theme)?, pick(&u.themes, into)?);
    let members = tx.themes_by_id(&[theme])?.remove(0).members;
    members.into_iter().try_for_each(|fact| tx.move_semantic(fact, into))
}

fn rename(tx: &mut WriteTx<'_>, u: &Units, [theme, fact, ..]: [Index; 4]) -> Result<()> {
    let theme = pick(&u.themes, theme)?;
    let members = tx.themes_by_id(&[theme])?.remove(0).members;
    let member = members[fact.index(members.len())];
    let content = tx.semantics_by_id(&[member])?.remove(0).content;
    tx.rename_theme(theme, &format!("Named after {}", words_in(&content)[0]))
}

fn edges(tx: &mut WriteTx<'_>, u: &Units, [fact, other, theme, _]: [Index; 4]) -> Result<()> {
    let (a, b) = (pick(&u.facts, fact)?, pick(&u.facts, other)?);
    let (c, d) = (pick(&u.themes, theme)?, pick(&u.themes, other)?);
    if a != b {
        tx.replace_edges(Level::Semantic, a.0, &[(b.0, 0.5)])?;
    }
    if c != d {
        tx.replace_edges(Level::Theme, c.0, &[(d.0, 0.25)])?;
    }
    Ok(())
}

fn vectors(tx: &mut WriteTx<'_>, u: &Units, [message, ..]: [Index; 4]) -> Result<()> {
    let message = pick(&u.messages, message)?;
    let vector = vector(tx, "some text");
    for theme in &u.themes {
        tx.put_embedding(Level::Theme, theme.0, &vector)?;
    }
    for episode in &u.episodes {
        tx.put_embedding(Level::Episode, episode.0, &vector)?;
    }
    tx.put_embedding(Level::Message, message.0, &vector)
}

fn enqueue(tx: &mut WriteTx<'_>, u: &Units, [fact, episode, session, _]: [Index; 4]) -> Result<()> {
    let (fact, episode) = (pick(&u.facts, fact)?, pick(&u.episodes, episode)?);
    let session = pick(&u.sessions, session)?;
    tx.enqueue(&JobKind::Consolidate(fact))?;
    tx.enqueue(&JobKind::Semantics(episode))?;
    tx.enqueue(&JobKind::Close(session))
}

fn work(tx: &mut WriteTx<'_>, u: &Units, [fails, ..]: [Index; 4]) -> Result<()> {
    let Some(job) = tx.next_job()? else { return Ok(()) };
    tx.begin_job(job.id)?;
    if fails.index(2) == 0 {
        let about = u.messages.first().copied().map(word).unwrap_or_default();
        return tx.fail_job(job.id, &format!("no sense in {about}"), 2);
    }
    // Without the vectors that this job is to make, `verify` would complain.
    if job.kind == JobKind::Reembed {
        for (id, text) in tx.without_embedding(Level::Semantic, 999)? {
            let vector = vector(tx, &text);
            tx.put_embedding(Level::Semantic, id, &vector)?;
        }
    }
    tx.finish_job(job.id)
}

fn embedder(tx: &mut WriteTx<'_>, _: &Units, _: [Index; 4]) -> Result<()> {
    let other = if tx.dimensions()? == Some(5) { 6 } else { 5 };
    tx.use_embedder("another", other)
}

fn forget_one(u: &Units, [level, unit, ..]: [Index; 4]) -> Result<Forgotten> {
    let id = match level.index(5) {
        0 => AnyId::Message(pick(&u.messages, unit)?),
        1 => AnyId::Episode(pick(&u.episodes, unit)?),
        2 => AnyId::Semantic(pick(&u.facts, unit)?),
        3 => AnyId::Theme(pick(&u.themes, unit)?),
        _ => AnyId::Session(pick(&u.sessions, unit)?),
    };
    Ok((vec![id], None))
}

fn search(u: &Units, [message, ..]: [Index; 4]) -> Result<Forgotten> {
    let message = pick(&u.messages, message)?;
    Ok((Vec::new(), Some(word(message).to_uppercase())))
}

fn undo(tx: &mut WriteTx<'_>, _: &Units, _: [Index; 4]) -> Result<()> {
    tx.undo().map(drop)
}
