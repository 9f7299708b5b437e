//! What was forgotten of late, by id alone: whoever made something of it meanwhile drops that.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::error::Result;
use super::records::AnyId;
use super::transaction::{Reader, WriteTx};

const FORGETTINGS: &str = "forgettings";
const LATELY: &str = "forgotten_lately";
/// Of more, or of longer ago, only that something was forgotten is known.
const FORGETTINGS_MAX: usize = 32;
const IDS_MAX: usize = 2_000;

impl Reader<'_> {
    /// How often something was forgotten: whoever keeps what was read from the memory compares it.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn n_forgettings(&self) -> Result<u64> {
        Ok(self.meta(FORGETTINGS)?.and_then(|text| text.parse().ok()).unwrap_or(0))
    }

    /// What was forgotten since [`Reader::n_forgettings`] was `n`: the units, and the sessions that messages went from.
    /// `None` if it may be anything.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn forgotten_since(&self, n: u64) -> Result<Option<HashSet<AnyId>>> {
        let now = self.n_forgettings()?;
        if now < n {
            return Ok(None);
        }
        let lately = self.forgotten_lately()?;
        let ids = (n.wrapping_add(1)..=now).map(|n| ids_of(&lately, n)).collect::<Option<Vec<_>>>();
        Ok(ids.map(|ids| ids.into_iter().flatten().collect()))
    }

    fn forgotten_lately(&self) -> Result<Vec<Value>> {
        let lately = self.meta(LATELY)?.and_then(|text| serde_json::from_str(&text).ok());
        Ok(lately.unwrap_or_default())
    }
}

impl WriteTx<'_> {
    /// Something was forgotten: these units, or, with `None`, perhaps anything.
    pub(super) fn count_forgetting(&mut self, ids: Option<&HashSet<AnyId>>) -> Result<()> {
        let n = self.n_forgettings()?.wrapping_add(1);
        let mut lately = match ids {
            Some(ids) if ids.len() <= IDS_MAX => {
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                let mut lately = self.forgotten_lately()?;
                lately.push(json!({"n": n, "ids": ids}));
                lately
            }
            _ => Vec::new(),
        };
        lately.drain(..lately.len().saturating_sub(FORGETTINGS_MAX));
        self.set_meta(LATELY, Some(&Value::from(lately).to_string()))?;
        self.set_meta(FORGETTINGS, Some(&n.to_string()))
    }
}

/// `None` if it is not known, or not as it was written.
fn ids_of(lately: &[Value], n: u64) -> Option<Vec<AnyId>> {
    let forgetting = lately.iter().find(|forgetting| forgetting["n"] == n)?;
    let ids = forgetting["ids"].as_array()?.iter();
    ids.map(|id| id.as_str().and_then(|id| id.parse().ok())).collect()
}
