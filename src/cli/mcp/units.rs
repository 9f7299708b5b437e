//! Units as tools show them: what, when, and whose word.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::super::output::one_line;
use crate::memory::{
    Episode, EpisodeId, Message, MessageId, Moment, Origin, Role, SemanticId, SessionId, ThemeId,
};
use crate::store::{AnyId, Reader, StoreError};

/// A unit in a list is cut to this many characters.
const LISTED_CHARS_MAX: usize = 600;

/// What a tool says about one unit.
#[derive(Debug, Clone)]
pub struct Unit {
    pub id: AnyId,
    pub title: Option<String>,
    pub text: String,
    pub at: Option<Moment>,
    pub origin: Option<Origin>,
    pub speaker: Option<String>,
    pub superseded_by: Option<SemanticId>,
}

impl Unit {
    fn kind(&self) -> &'static str {
        match self.id {
            AnyId::Theme(_) => "theme",
            AnyId::Semantic(_) => "fact",
            AnyId::Episode(_) => "episode",
            AnyId::Message(_) => "message",
            AnyId::Session(_) => "session",
        }
    }

    pub fn url(&self) -> String {
        format!("inglenook://{}/{}", self.kind(), self.id)
    }

    /// Everything but the texts.
    pub fn reference(&self) -> Value {
        let mut value = json!({
            "id": self.id.to_string(),
            "kind": self.kind(),
            "date": self.at.map(date),
            "origin": self.origin.map(Origin::as_str),
            "speaker": self.speaker.as_ref().map(|name| one_line(name, 60)),
        });
        if let Some(by) = self.superseded_by {
            value["superseded_by"] = by.to_string().into();
        }
        value
    }

    /// As part of a list.
    pub fn listed(&self) -> Value {
        let mut value = self.reference();
        value["title"] = self.title().into();
        value["url"] = self.url().into();
        value["text"] = one_line(&self.text, LISTED_CHARS_MAX).into();
        value
    }

    /// A few words.
    pub fn title(&self) -> String {
        one_line(self.title.as_ref().unwrap_or(&self.text), 80)
    }

    /// For a model to read.
    pub fn line(&self) -> String {
        let mut line = self.id.to_string();
        if let Some(at) = self.at {
            let _ = write!(line, " | {}", date(at));
        }
        if let Some(origin) = self.origin {
            let _ = write!(line, " | {}", origin.as_str());
        }
        if let Some(name) = &self.speaker {
            let _ = write!(line, " ({})", one_line(name, 60));
        }
        if let Some(by) = self.superseded_by {
            let _ = write!(line, " | until {by}");
        }
        let _ = write!(line, " | {}", one_line(&self.text, LISTED_CHARS_MAX));
        line
    }
}

/// The lines of a list, or what to say if there are none.
pub fn lines(units: &[Unit], none: &str) -> String {
    if units.is_empty() {
        return none.to_owned();
    }
    units.iter().map(Unit::line).collect::<Vec<_>>().join("\n")
}

/// "2026-11-16", in the local time of what was said.
pub fn date(at: Moment) -> String {
    at.civil().date().to_string()
}

/// Facts, in the order of `ids`; those that are not there are left out.
pub fn facts(r: &Reader<'_>, ids: &[SemanticId]) -> Result<Vec<Unit>, StoreError> {
    let mut found = r.find_semantics_and_messages(ids.iter().copied())?;
    let origins = r.fact_origins(ids.iter().copied())?;
    let unit = |id: &SemanticId| {
        let fact = found.remove(id)?;
        Some(Unit {
            id: AnyId::Semantic(*id),
            title: None,
            text: fact.content,
            at: Some(fact.created_at),
            origin: Some(origins.get(id).copied().unwrap_or_default()),
            speaker: None,
            superseded_by: fact.superseded_by,
        })
    };
    Ok(ids.iter().filter_map(unit).collect())
}

/// Messages, likewise.
pub fn messages(r: &Reader<'_>, ids: &[MessageId]) -> Result<Vec<Unit>, StoreError> {
    let mut found = r.find_messages(ids.iter().copied())?;
    let origins = r.message_origins(ids.iter().copied())?;
    Ok(ids.iter().filter_map(|id| Some(message(found.remove(id)?, &origins))).collect())
}

fn message(message: Message, origins: &HashMap<MessageId, Origin>) -> Unit {
    let speaker = match (message.speaker, message.role) {
        (None, Role::Assistant) => Some("inglenook".to_owned()),
        (speaker, _) => speaker,
    };
    Unit {
        id: AnyId::Message(message.id),
        title: None,
        text: message.content,
        at: Some(message.created_at),
        origin: Some(origins.get(&message.id).copied().unwrap_or_default()),
        speaker,
        superseded_by: None,
    }
}

/// Episodes, likewise. An episode has an origin where all of its messages have the same.
pub fn episodes(r: &Reader<'_>, ids: &[EpisodeId]) -> Result<Vec<Unit>, StoreError> {
    let mut found = r.find_episodes(ids.iter().copied())?;
    let members: Vec<MessageId> = found.values().flat_map(|e| e.messages.iter().copied()).collect();
    let origins = r.message_origins(members)?;
    Ok(ids.iter().filter_map(|id| Some(episode(found.remove(id)?, &origins))).collect())
}

fn episode(episode: Episode, origins: &HashMap<MessageId, Origin>) -> Unit {
    let mut of_messages = episode.messages.iter().map(|id| origins.get(id).copied());
    let first = of_messages.next().flatten();
    Unit {
        id: AnyId::Episode(episode.id),
        title: Some(episode.title),
        text: episode.content,
        at: Some(episode.started_at),
        origin: first.filter(|_| of_messages.all(|other| other == first)),
        speaker: None,
        superseded_by: None,
    }
}

fn theme(r: &Reader<'_>, id: ThemeId) -> Result<Unit, StoreError> {
    let theme = r.themes_by_id(&[id])?.remove(0);
    let facts = facts(r, &theme.members)?;
    let text = facts.iter().map(Unit::line).collect::<Vec<_>>().join("\n");
    Ok(Unit {
        id: AnyId::Theme(id),
        title: Some(theme.name),
        text,
        at: None,
        origin: None,
        speaker: None,
        superseded_by: None,
    })
}

fn session(r: &Reader<'_>, id: SessionId) -> Result<Unit, StoreError> {
    let (session, said) = (r.session(id)?, r.messages(id)?);
    let origins = r.message_origins(said.iter().map(|m| m.id))?;
    let lines: Vec<String> = said.into_iter().map(|m| message(m, &origins).line()).collect();
    Ok(Unit {
        id: AnyId::Session(id),
        title: Some(session.title),
        text: lines.join("\n"),
        at: Some(session.created_at),
        origin: None,
        speaker: session.source,
        superseded_by: None,
    })
}

/// Any unit.
///
/// # Errors
/// If it is not there, or the memory can't be read.
pub fn unit(r: &Reader<'_>, id: AnyId) -> Result<Unit, StoreError> {
    match id {
        AnyId::Theme(id) => theme(r, id),
        AnyId::Session(id) => session(r, id),
        AnyId::Semantic(id) => {
            r.semantics_by_id(&[id])?;
            Ok(facts(r, &[id])?.remove(0))
        }
        AnyId::Episode(id) => {
            r.episodes_by_id(&[id])?;
            Ok(episodes(r, &[id])?.remove(0))
        }
        AnyId::Message(id) => {
            r.messages_by_id(&[id])?;
            Ok(messages(r, &[id])?.remove(0))
        }
    }
}

/// Units of any kind, in the order of `ids`.
pub fn units(r: &Reader<'_>, ids: &[AnyId]) -> Result<Vec<Unit>, StoreError> {
    let (mut of_facts, mut of_messages, mut of_episodes) = (Vec::new(), Vec::new(), Vec::new());
    for id in ids {
        match id {
            AnyId::Semantic(id) => of_facts.push(*id),
            AnyId::Message(id) => of_messages.push(*id),
            AnyId::Episode(id) => of_episodes.push(*id),
            AnyId::Theme(_) | AnyId::Session(_) => {}
        }
    }
    let all = facts(r, &of_facts)?.into_iter().chain(messages(r, &of_messages)?);
    let all = all.chain(episodes(r, &of_episodes)?);
    let mut by_id: HashMap<AnyId, Unit> = all.map(|unit| (unit.id, unit)).collect();
    Ok(ids.iter().filter_map(|id| by_id.remove(id)).collect())
}
