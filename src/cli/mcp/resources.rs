//! Themes and episodes as resources.

use serde_json::{Value, json};

use super::super::memory::show::shown;
use super::super::output::{counted, one_line};
use super::super::report::Failure;
use super::home::Home;
use super::units;
use crate::mcp::{Page, Refusal};
use crate::memory::EpisodeId;
use crate::store::{AnyId, Reader, StoreError};

const PAGE: usize = 100;

/// The list of themes.
const THEMES: &str = "inglenook://themes";
const SCHEME: &str = "inglenook://";

/// The list of themes and the first hundred of them, then the episodes, the newest first.
pub fn list(home: &Home<'_>, cursor: Option<&str>) -> Result<Page, Refusal> {
    let before = match cursor {
        None => None,
        Some(text) => Some(before(text).ok_or_else(|| {
            Refusal::Request("there is no such page: `cursor` is none of this server's".into())
        })?),
    };
    let store = home.to_read().map_err(failed)?;
    store
        .read(|r| {
            let mut items = if before.is_none() { themes(r)? } else { Vec::new() };
            let ids = r.newest_episodes(before, PAGE)?;
            items.extend(episodes(r, &ids)?);
            let next = (ids.len() == PAGE).then(|| ids.last()).flatten().map(ToString::to_string);
            Ok(Page { items, next })
        })
        .map_err(|e| failed(e.into()))
}

/// A cursor is the last page's last episode.
fn before(text: &str) -> Option<EpisodeId> {
    match text.parse() {
        Ok(AnyId::Episode(id)) => Some(id),
        _ => None,
    }
}

fn failed(failure: Failure) -> Refusal {
    Refusal::Failed(super::described(&failure))
}

fn themes(r: &Reader<'_>) -> Result<Vec<Value>, StoreError> {
    let mut items = vec![json!({
        "uri": THEMES,
        "name": "themes",
        "title": "All themes",
        "description": "What the memory is about",
        "mimeType": "text/plain",
    })];
    for theme in r.themes()?.into_iter().take(PAGE) {
        items.push(json!({
            "uri": format!("{SCHEME}theme/{}", theme.id),
            "name": theme.id.to_string(),
            "title": one_line(&theme.name, 100),
            "description": counted(theme.members.len(), "fact"),
            "mimeType": "text/plain",
        }));
    }
    Ok(items)
}

fn episodes(r: &Reader<'_>, ids: &[EpisodeId]) -> Result<Vec<Value>, StoreError> {
    let items = units::episodes(r, ids)?.into_iter().map(|unit| {
        let at = unit.at.map(|at| at.timestamp.to_string());
        json!({
            "uri": unit.url(),
            "name": unit.id.to_string(),
            "title": unit.title(),
            "description": unit.at.map(units::date),
            "mimeType": "text/plain",
            "annotations": {"lastModified": at},
        })
    });
    Ok(items.collect())
}

/// A resource's contents.
pub fn read(home: &Home<'_>, uri: &str) -> Result<Value, Refusal> {
    let missing = || Refusal::Request(format!("there is no resource {:?}", one_line(uri, 200)));
    let id = match uri.strip_prefix(SCHEME).ok_or_else(missing)?.split_once('/') {
        None if uri == THEMES => None,
        Some(("theme", id)) => Some(id.parse().ok().filter(|id| matches!(id, AnyId::Theme(_)))),
        Some(("episode", id)) => Some(id.parse().ok().filter(|id| matches!(id, AnyId::Episode(_)))),
        _ => return Err(missing()),
    };
    let store = home.to_read().map_err(failed)?;
    let text = match id {
        None => store.read(all_themes),
        Some(None) => return Err(missing()),
        Some(Some(id)) => store.read(|r| shown(r, id).map(|(_, text)| text)),
    };
    let text = match text {
        Err(StoreError::NotFound { .. }) => return Err(missing()),
        other => other.map_err(|e| failed(e.into()))?,
    };
    Ok(json!([{"uri": uri, "mimeType": "text/plain", "text": super::plain(&text)}]))
}

fn all_themes(r: &Reader<'_>) -> Result<String, StoreError> {
    let lines = r.themes()?.into_iter().map(|theme| {
        let n = counted(theme.members.len(), "fact");
        format!("{} {} · {n}\n", theme.id, one_line(&theme.name, 100))
    });
    Ok(lines.collect())
}
