//! `memory show ID`: one unit, with its neighbours in the hierarchy.

use serde_json::json;

use super::super::App;
use super::super::output::{counted, one_line};
use super::super::report::{Outcome, done};
use super::super::session::{self, speaker};
use super::{day, ids, json_of_episode, json_of_message, json_of_semantic, json_of_theme, when};
use crate::memory::{EpisodeId, Message, MessageId, Semantic, SemanticId, ThemeId};
use crate::store::AnyId;

pub fn run(app: &App, id: AnyId, json: bool) -> Outcome {
    match id {
        AnyId::Message(id) => message(app, id, json),
        AnyId::Episode(id) => episode(app, id, json),
        AnyId::Semantic(id) => semantic(app, id, json),
        AnyId::Theme(id) => theme(app, id, json),
        AnyId::Session(id) => session::show(app, id, json),
    }
}

fn fact_line(fact: &Semantic) -> String {
    let superseded = fact.superseded_by.map_or_else(String::new, |by| format!(" (until {by})"));
    format!("  {} {}{superseded}", fact.id, one_line(&fact.content, 400))
}

fn message_line(message: &Message) -> String {
    format!(
        "  {} {} · {}: {}",
        message.id,
        when(message.created_at),
        one_line(speaker(message), 40),
        one_line(&message.content, 1000)
    )
}

fn message(app: &App, id: MessageId, json: bool) -> Outcome {
    let store = app.open_read_only()?;
    let (message, session, facts) = store.read(|r| {
        let message = r.messages_by_id(&[id])?.remove(0);
        let session = r.session(message.session)?;
        let facts: Vec<Semantic> =
            r.semantics()?.into_iter().filter(|s| s.messages.contains(&id)).collect();
        Ok((message, session, facts))
    })?;
    let console = app.console;
    if json {
        let mut value = json_of_message(&message);
        value["session"] = json!(session.id.to_string());
        value["semantics"] = json!(facts.iter().map(|s| s.id.to_string()).collect::<Vec<_>>());
        console.json(&value)?;
        return done();
    }
    console.line(&format!(
        "{id} · {} · {}",
        one_line(speaker(&message), 60),
        when(message.created_at)
    ))?;
    console.line(message.content.trim_end())?;
    console.line(&format!("\nsession {} {}", session.id, one_line(&session.title, 100)))?;
    match message.episode {
        Some(episode) => console.line(&format!("episode {episode}"))?,
        None => console.line("in no episode yet")?,
    }
    if let Some(external) = &message.external_id {
        console.line(&format!("imported as {}", one_line(external, 60)))?;
    }
    if !facts.is_empty() {
        console.line("facts from it:")?;
        for fact in &facts {
            console.line(&fact_line(fact))?;
        }
    }
    done()
}

fn episode(app: &App, id: EpisodeId, json: bool) -> Outcome {
    let store = app.open_read_only()?;
    let (episode, messages, facts) = store.read(|r| {
        let episode = r.episodes_by_id(&[id])?.remove(0);
        let messages = r.messages_by_id(&episode.messages)?;
        let facts = r.semantics_by_id(&r.semantics_of_episode(id)?)?;
        Ok((episode, messages, facts))
    })?;
    let console = app.console;
    if json {
        let mut value = json_of_episode(&episode);
        value["messages"] = messages.iter().map(json_of_message).collect::<Vec<_>>().into();
        value["semantics"] = json!(facts.iter().map(|s| s.id.to_string()).collect::<Vec<_>>());
        console.json(&value)?;
        return done();
    }
    console.line(&format!("{id} {}", one_line(&episode.title, 200)))?;
    console.line(&format!(
        "{} to {} · session {}",
        when(episode.started_at),
        when(episode.ended_at),
        episode.session
    ))?;
    console.line(&format!("\n{}", episode.content.trim_end()))?;
    if !facts.is_empty() {
        console.line("\nfacts from it:")?;
        for fact in &facts {
            console.line(&fact_line(fact))?;
        }
    }
    console.line(&format!("\n{}:", counted(messages.len(), "message")))?;
    for message in &messages {
        console.line(&message_line(message))?;
    }
    done()
}

fn semantic(app: &App, id: SemanticId, json: bool) -> Outcome {
    let store = app.open_read_only()?;
    let (fact, theme, episodes, messages) = store.read(|r| {
        let fact = r.semantics_by_id(&[id])?.remove(0);
        let theme = r.themes_by_id(&[fact.theme])?.remove(0);
        let episodes = r.episodes_by_id(&fact.episodes)?;
        let messages = r.messages_by_id(&fact.messages)?;
        Ok((fact, theme, episodes, messages))
    })?;
    let console = app.console;
    if json {
        let mut value = json_of_semantic(&fact);
        value["messages"] = messages.iter().map(json_of_message).collect::<Vec<_>>().into();
        console.json(&value)?;
        return done();
    }
    console.line(&format!("{id} {}", one_line(&fact.content, 1000)))?;
    console.line(&format!("stated {}", day(fact.created_at)))?;
    console.line(&format!("theme {} {}", theme.id, one_line(&theme.name, 100)))?;
    if let (Some(by), Some(at)) = (fact.superseded_by, fact.superseded_at) {
        console.line(&format!("superseded by {by} on {}", day(at)))?;
    }
    if let Some(subject) = &fact.subject {
        let attribute = fact.attribute.as_deref().map_or_else(String::new, |a| format!(", {a}"));
        console.line(&one_line(&format!("about {subject}{attribute}"), 200))?;
    }
    for episode in &episodes {
        console.line(&format!("episode {} {}", episode.id, one_line(&episode.title, 100)))?;
    }
    console.line("from:")?;
    for message in &messages {
        console.line(&message_line(message))?;
    }
    done()
}

fn theme(app: &App, id: ThemeId, json: bool) -> Outcome {
    let store = app.open_read_only()?;
    let (theme, facts) = store.read(|r| {
        let theme = r.themes_by_id(&[id])?.remove(0);
        let facts = r.semantics_by_id(&theme.members)?;
        Ok((theme, facts))
    })?;
    if json {
        let mut value = json_of_theme(&theme);
        value["semantics"] = facts.iter().map(json_of_semantic).collect::<Vec<_>>().into();
        app.console.json(&value)?;
        return done();
    }
    app.console.line(&format!("{id} {}", one_line(&theme.name, 200)))?;
    app.console.line(&format!("{}:", counted(ids(&theme.members).len(), "fact")))?;
    for fact in &facts {
        app.console.line(&fact_line(fact))?;
    }
    done()
}
