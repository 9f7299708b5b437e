//! `memory tree`: theme → fact → episode → the messages that the fact came from.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::super::App;
use super::super::output::{counted, one_line};
use super::super::report::{Outcome, done};
use super::super::session::speaker;
use super::{day, json_of_semantic, rfc3339};
use crate::memory::{Episode, EpisodeId, Message, MessageId, Semantic, SemanticId, Theme, ThemeId};
use crate::store::{Reader, StoreError};

/// All four levels, by id.
struct Hierarchy {
    themes: Vec<Theme>,
    semantics: HashMap<SemanticId, Semantic>,
    episodes: HashMap<EpisodeId, Episode>,
    messages: HashMap<MessageId, Message>,
}

impl Hierarchy {
    fn read(reader: &Reader<'_>, only: Option<ThemeId>) -> Result<Self, StoreError> {
        let themes = match only {
            Some(id) => reader.themes_by_id(&[id])?,
            None => reader.themes()?,
        };
        let semantics = reader.semantics()?.into_iter().map(|s| (s.id, s)).collect();
        let episodes = reader.episodes()?.into_iter().map(|e| (e.id, e)).collect();
        let mut messages = HashMap::new();
        for session in reader.sessions()? {
            messages.extend(reader.messages(session.id)?.into_iter().map(|m| (m.id, m)));
        }
        Ok(Self { themes, semantics, episodes, messages })
    }

    /// The theme's facts: current ones first, then by time.
    fn facts<'a>(&'a self, theme: &'a Theme) -> Vec<&'a Semantic> {
        let mut facts: Vec<&Semantic> =
            theme.members.iter().filter_map(|id| self.semantics.get(id)).collect();
        facts.sort_by_key(|s| (s.superseded_by.is_some(), s.created_at.timestamp, s.id));
        facts
    }

    /// The messages of the episode that the fact came from.
    fn sources<'a>(&'a self, fact: &Semantic, episode: &'a Episode) -> Vec<&'a Message> {
        episode
            .messages
            .iter()
            .filter(|id| fact.messages.contains(id))
            .filter_map(|id| self.messages.get(id))
            .collect()
    }
}

pub fn run(app: &App, depth: u8, only: Option<ThemeId>, json: bool) -> Outcome {
    let store = app.open_read_only()?;
    let hierarchy = store.read(|reader| Hierarchy::read(reader, only))?;
    if json {
        app.console.json(&as_json(&hierarchy, depth))?;
        return done();
    }
    if hierarchy.themes.is_empty() {
        let pending = store.read(|r| r.stats())?;
        app.console.note(if pending.messages == 0 {
            "Nothing is remembered yet: tell me something in the chat (`inglenook`)."
        } else {
            "Nothing has been built from the messages yet: `inglenook memory consolidate --wait`."
        });
    }
    app.console.write(&as_text(&hierarchy, depth))?;
    done()
}

fn as_text(hierarchy: &Hierarchy, depth: u8) -> String {
    let mut text = String::new();
    for theme in &hierarchy.themes {
        let n = counted(theme.members.len(), "fact");
        let _ = writeln!(text, "{} {} · {n}", theme.id, one_line(&theme.name, 100));
        if depth >= 2 {
            let facts = hierarchy.facts(theme);
            let facts = facts.into_iter().map(|fact| fact_node(hierarchy, fact, depth)).collect();
            write_branches(&mut text, "", facts);
        }
    }
    text
}

/// A line of the tree and those below it.
struct Node {
    line: String,
    below: Vec<Node>,
}

fn fact_node(hierarchy: &Hierarchy, fact: &Semantic, depth: u8) -> Node {
    let superseded = fact.superseded_by.map_or_else(String::new, |by| format!(" (until {by})"));
    let line = format!("{} {}{superseded}", fact.id, one_line(&fact.content, 400));
    let episodes = fact.episodes.iter().filter_map(|id| hierarchy.episodes.get(id));
    let episodes = episodes.filter(|_| depth >= 3);
    Node { line, below: episodes.map(|e| episode_node(hierarchy, fact, e, depth)).collect() }
}

fn episode_node(hierarchy: &Hierarchy, fact: &Semantic, episode: &Episode, depth: u8) -> Node {
    let (title, day) = (one_line(&episode.title, 100), day(episode.started_at));
    let n = counted(episode.messages.len(), "message");
    let sources = hierarchy.sources(fact, episode).into_iter().filter(|_| depth >= 4);
    let messages = sources.map(|message| {
        let (who, said) = (one_line(speaker(message), 40), one_line(&message.content, 160));
        Node { line: format!("{} {who}: {said}", message.id), below: Vec::new() }
    });
    Node { line: format!("{} {title} · {day}, {n}", episode.id), below: messages.collect() }
}

fn write_branches(text: &mut String, indent: &str, nodes: Vec<Node>) {
    let n = nodes.len();
    for (i, node) in nodes.into_iter().enumerate() {
        let (branch, below) = if i + 1 == n { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let _ = writeln!(text, "{indent}{branch}{}", node.line);
        write_branches(text, &format!("{indent}{below}"), node.below);
    }
}

fn as_json(hierarchy: &Hierarchy, depth: u8) -> Value {
    let message = |m: &Message| {
        json!({
            "id": m.id.to_string(),
            "external_id": m.external_id,
            "speaker": speaker(m),
            "content": m.content,
            "created_at": rfc3339(m.created_at),
        })
    };
    let episode = |fact: &Semantic, e: &Episode| {
        let mut value = json!({ "id": e.id.to_string(), "title": e.title, "started_at": rfc3339(e.started_at) });
        if depth >= 4 {
            value["messages"] =
                hierarchy.sources(fact, e).into_iter().map(message).collect::<Vec<_>>().into();
        }
        value
    };
    let fact = |s: &Semantic| {
        let mut value = json_of_semantic(s);
        if depth >= 3 {
            value["episodes"] = s
                .episodes
                .iter()
                .filter_map(|id| hierarchy.episodes.get(id))
                .map(|e| episode(s, e))
                .collect::<Vec<_>>()
                .into();
        }
        value
    };
    let themes: Vec<Value> = hierarchy
        .themes
        .iter()
        .map(|theme| {
            let mut value = json!({ "id": theme.id.to_string(), "name": theme.name });
            if depth >= 2 {
                value["semantics"] =
                    hierarchy.facts(theme).into_iter().map(fact).collect::<Vec<_>>().into();
            }
            value
        })
        .collect();
    json!({ "themes": themes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Role;
    use crate::testing::{episode, fact, message};

    fn hierarchy() -> Hierarchy {
        let said = |id, text| (MessageId(id), message(id, Role::User, text));
        let stated = |id, text, by| (SemanticId(id), fact(id, 1, text, by));
        Hierarchy {
            themes: vec![Theme {
                id: ThemeId(1),
                name: "Home".into(),
                members: vec![SemanticId(1), SemanticId(2)],
            }],
            semantics: [
                stated(1, "Ana lives in Malmö", Some(2)),
                stated(2, "Ana moved to Lund", None),
            ]
            .into(),
            episodes: [(EpisodeId(1), episode(1, "Moving", ""))].into(),
            messages: [said(4, "I moved\nto \u{1b}[31mLund"), said(5, "unrelated")].into(),
        }
    }

    #[test]
    fn the_tree_shows_all_four_levels() {
        let expected = "\
t1 Home · 2 facts
├─ s2 Ana moved to Lund
│  └─ e1 Moving · 16 Nov 2026, 2 messages
│     └─ m4 you: I moved to Lund
└─ s1 Ana lives in Malmö (until s2)
   └─ e1 Moving · 16 Nov 2026, 2 messages
      └─ m4 you: I moved to Lund
";
        assert_eq!(as_text(&hierarchy(), 4), expected);
        assert_eq!(as_text(&hierarchy(), 1), "t1 Home · 2 facts\n");
        let json = as_json(&hierarchy(), 4);
        assert_eq!(json["themes"][0]["semantics"][0]["episodes"][0]["messages"][0]["id"], "m4");
    }
}
