//! Small values that the rest of the program keeps (`user_name`, `theme_cap`, `grade:…`).

use std::collections::BTreeSet;

use super::error::Result;
use super::transaction::{Reader, WriteTx, text};
use crate::memory::SemanticId;

/// The person's name. The store knows this one key, because forgetting has to reach it.
pub const USER_NAME: &str = "user_name";

/// `verify` holds every theme to it (invariant 2: "within the cap"); unset, to `memory`'s own.
pub(super) const THEME_CAP: &str = "theme_cap";

impl Reader<'_> {
    /// The value of one setting.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn setting(&self, key: &str) -> Result<Option<String>> {
        self.optional("SELECT value FROM setting WHERE key = ?1", [key], |row| text(row, 0))
    }

    /// The person's name, if it is known.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn user_name(&self) -> Result<Option<String>> {
        Ok(self.setting(USER_NAME)?.filter(|name| !name.trim().is_empty()))
    }

    /// All settings, by key.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn settings(&self) -> Result<Vec<(String, String)>> {
        self.all("SELECT key, value FROM setting ORDER BY key", [], |row| {
            Ok((text(row, 0)?, text(row, 1)?))
        })
    }

    /// The ids of facts that a setting holds.
    pub(super) fn facts_in(&self, key: &str) -> Result<BTreeSet<SemanticId>> {
        let ids = self.setting(key)?.unwrap_or_default();
        Ok(ids.split(',').filter_map(|id| id.parse().ok()).map(SemanticId).collect())
    }
}

impl WriteTx<'_> {
    /// Sets or replaces one setting.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn set_setting(&mut self, key: &str, value: &str) -> Result<()> {
        self.run("INSERT OR REPLACE INTO setting VALUES (?1, ?2)", [key, value])?;
        Ok(())
    }

    /// Sets a setting to the ids of those facts that exist.
    pub(super) fn set_facts_in(&mut self, key: &str, facts: BTreeSet<SemanticId>) -> Result<()> {
        let facts = self.find_semantics_and_messages(facts)?.into_keys();
        let ids: Vec<String> = facts.map(|id| id.0.to_string()).collect();
        self.set_setting(key, &ids.join(","))
    }
}
