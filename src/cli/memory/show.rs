//! `memory show ID`: one unit, with its neighbours in the hierarchy.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::super::App;
use super::super::output::{counted, one_line};
use super::super::report::{Outcome, done};
use super::super::session::{self, speaker};
use super::{day, json_of_episode, json_of_message, json_of_semantic, json_of_theme, when};
use crate::memory::{EpisodeId, Message, MessageId, Semantic, SemanticId, ThemeId};
use crate::store::{AnyId, Reader, StoreError};

/// A unit for machines and for people.
pub type Shown = Result<(Value, String), StoreError>;

pub fn run(app: &App, id: AnyId, json: bool) -> Outcome {
    let store = app.open_read_only()?;
    let (value, text) = store.read(|r| shown(r, id))?;
    if json {
        app.console.json(&value)?;
    } else {
        app.console.write(&text)?;
    }
    done()
}

pub fn shown(r: &Reader<'_>, id: AnyId) -> Shown {
    match id {
        AnyId::Message(id) => message(r, id),
        AnyId::Episode(id) => episode(r, id),
        AnyId::Semantic(id) => semantic(r, id),
        AnyId::Theme(id) => theme(r, id),
        AnyId::Session(id) => session::show(r, id),
    }
}

fn fact_line(fact: &Semantic) -> String {
    let superseded = fact.superseded_by.map_or_else(String::new, |by| format!(" (until {by})"));
    format!("  {} {}{superseded}\n", fact.id, one_line(&fact.content, 400))
}

fn message_line(message: &Message) -> String {
    let (when, who) = (when(message.created_at), one_line(speaker(message), 40));
    format!("  {} {when} · {who}: {}\n", message.id, one_line(&message.content, 1000))
}

fn message(r: &Reader<'_>, id: MessageId) -> Shown {
    let message = r.messages_by_id(&[id])?.remove(0);
    let session = r.session(message.session)?;
    let mut facts = r.semantics()?;
    facts.retain(|fact| fact.messages.contains(&id));
    let mut value = json_of_message(&message);
    value["session"] = json!(session.id.to_string());
    let origin = r.message_origins([id])?.remove(&id).unwrap_or_default();
    value["origin"] = json!(origin.as_str());
    value["semantics"] = json!(facts.iter().map(|s| s.id.to_string()).collect::<Vec<_>>());

    let (when, who) = (when(message.created_at), one_line(speaker(&message), 60));
    let mut text = format!("{id} · {who} · {when}\n{}\n", message.content.trim_end());
    let _ = writeln!(text, "\nsession {} {}", session.id, one_line(&session.title, 100));
    let _ = match message.episode {
        Some(episode) => writeln!(text, "episode {episode}"),
        None => writeln!(text, "in no episode yet"),
    };
    let _ = writeln!(text, "said by {}", origin.as_str());
    if let Some(external) = &message.external_id {
        let _ = writeln!(text, "imported as {}", one_line(external, 60));
    }
    if !facts.is_empty() {
        text += "facts from it:\n";
        text.extend(facts.iter().map(fact_line));
    }
    Ok((value, text))
}

fn episode(r: &Reader<'_>, id: EpisodeId) -> Shown {
    let episode = r.episodes_by_id(&[id])?.remove(0);
    let messages = r.messages_by_id(&episode.messages)?;
    let facts = r.semantics_by_id(&r.semantics_of_episode(id)?)?;
    let mut value = json_of_episode(&episode);
    value["messages"] = messages.iter().map(json_of_message).collect();
    value["semantics"] = json!(facts.iter().map(|s| s.id.to_string()).collect::<Vec<_>>());

    let (start, end) = (when(episode.started_at), when(episode.ended_at));
    let mut text = format!("{id} {}\n", one_line(&episode.title, 200));
    let _ = writeln!(text, "{start} to {end} · session {}", episode.session);
    let _ = writeln!(text, "\n{}", episode.content.trim_end());
    if !facts.is_empty() {
        text += "\nfacts from it:\n";
        text.extend(facts.iter().map(fact_line));
    }
    let _ = writeln!(text, "\n{}:", counted(messages.len(), "message"));
    text.extend(messages.iter().map(message_line));
    Ok((value, text))
}

fn semantic(r: &Reader<'_>, id: SemanticId) -> Shown {
    let fact = r.semantics_by_id(&[id])?.remove(0);
    let theme = r.themes_by_id(&[fact.theme])?.remove(0);
    let episodes = r.episodes_by_id(&fact.episodes)?;
    let messages = r.messages_by_id(&fact.messages)?;
    let mut value = json_of_semantic(&fact);
    value["messages"] = messages.iter().map(json_of_message).collect();
    let origin = r.fact_origins([id])?.remove(&id).unwrap_or_default();
    value["origin"] = json!(origin.as_str());

    let mut text = format!("{id} {}\n", one_line(&fact.content, 1000));
    let _ = writeln!(text, "stated {} by {}", day(fact.created_at), origin.as_str());
    let _ = writeln!(text, "theme {} {}", theme.id, one_line(&theme.name, 100));
    if let (Some(by), Some(at)) = (fact.superseded_by, fact.superseded_at) {
        let _ = writeln!(text, "superseded by {by} on {}", day(at));
    }
    if let Some(subject) = &fact.subject {
        let attribute = fact.attribute.as_deref().map_or_else(String::new, |a| format!(", {a}"));
        let _ = writeln!(text, "{}", one_line(&format!("about {subject}{attribute}"), 200));
    }
    for episode in &episodes {
        let _ = writeln!(text, "episode {} {}", episode.id, one_line(&episode.title, 100));
    }
    text += "from:\n";
    text.extend(messages.iter().map(message_line));
    Ok((value, text))
}

fn theme(r: &Reader<'_>, id: ThemeId) -> Shown {
    let theme = r.themes_by_id(&[id])?.remove(0);
    let facts = r.semantics_by_id(&theme.members)?;
    let mut value = json_of_theme(&theme);
    value["semantics"] = facts.iter().map(json_of_semantic).collect();

    let mut text = format!("{id} {}\n", one_line(&theme.name, 200));
    let _ = writeln!(text, "{}:", counted(theme.members.len(), "fact"));
    text.extend(facts.iter().map(fact_line));
    Ok((value, text))
}
