//! Themes (level 4).

use std::collections::BTreeMap;

use super::error::{Result, StoreError};
use super::records::Level;
use super::transaction::{Reader, WriteTx, text};
use super::undo::Inverse;
use crate::memory::{SemanticId, Theme, ThemeId};

impl Reader<'_> {
    /// All themes, by id.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn themes(&self) -> Result<Vec<Theme>> {
        let themes = self.all("SELECT id, name FROM theme", [], |row| {
            Ok(Theme { id: ThemeId(row.get(0)?), name: text(row, 1)?, members: Vec::new() })
        })?;
        let mut themes: BTreeMap<ThemeId, Theme> = themes.into_iter().map(|t| (t.id, t)).collect();
        let members = self.all("SELECT theme, id FROM semantic ORDER BY id", [], |row| {
            Ok((ThemeId(row.get(0)?), SemanticId(row.get(1)?)))
        })?;
        for (id, member) in members {
            themes.entry(id).and_modify(|theme| theme.members.push(member));
        }
        Ok(themes.into_values().collect())
    }

    /// The themes with these ids, in the order asked for.
    ///
    /// # Errors
    /// If one of them does not exist, or the memory cannot be read.
    pub fn themes_by_id(&self, ids: &[ThemeId]) -> Result<Vec<Theme>> {
        ids.iter()
            .map(|&id| {
                let members = self.all(
                    "SELECT id FROM semantic WHERE theme = ?1 ORDER BY id",
                    [id.0],
                    |row| row.get(0).map(SemanticId),
                )?;
                Ok(Theme { id, name: self.theme_name(id)?, members })
            })
            .collect()
    }

    /// The id that the next `create_theme` will give: `memory` numbers new themes from here.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn next_theme_id(&self) -> Result<ThemeId> {
        Ok(ThemeId(self.last_id("theme")? + 1))
    }

    pub(super) fn theme_name(&self, id: ThemeId) -> Result<String> {
        self.optional("SELECT name FROM theme WHERE id = ?1", [id.0], |row| text(row, 0))?
            .ok_or_else(|| StoreError::not_found("theme", id))
    }
}

impl WriteTx<'_> {
    /// Creates a theme. If it has no member at the commit, it is removed again.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn create_theme(&mut self, name: &str) -> Result<ThemeId> {
        self.touch_themes()?;
        self.insert("INSERT INTO theme (name) VALUES (?1)", [name]).map(ThemeId)
    }

    /// Renames a theme. Recorded for undo, unless the transaction also finishes a job: nobody wants
    /// to undo the worker's naming before their own last action.
    ///
    /// # Errors
    /// If it does not exist, or the memory cannot be written.
    pub fn rename_theme(&mut self, id: ThemeId, name: &str) -> Result<()> {
        let before = self.theme_name(id)?;
        if before == name {
            return Ok(());
        }
        if !self.is_workers {
            self.record(
                &format!("rename of {id}"),
                &Inverse::RenameTheme { theme: id, name: before },
            )?;
        }
        self.set_theme_name(id, name)
    }

    pub(super) fn set_theme_name(&mut self, id: ThemeId, name: &str) -> Result<()> {
        self.run("UPDATE theme SET name = ?2 WHERE id = ?1", rusqlite::params![id.0, name])?;
        Ok(())
    }

    pub(super) fn theme_exists(&self, id: ThemeId) -> Result<()> {
        self.theme_name(id).map(drop)
    }

    pub(super) fn remove_empty_themes(&mut self) -> Result<()> {
        let empty = self.all(
            "SELECT id FROM theme
             WHERE NOT EXISTS (SELECT 1 FROM semantic WHERE semantic.theme = theme.id)",
            [],
            |row| row.get::<_, i64>(0),
        )?;
        for id in empty {
            self.drop_embedding(Level::Theme, id)?;
            self.drop_jobs(&["name_theme"], id)?;
            self.run("DELETE FROM theme WHERE id = ?1", [id])?;
        }
        Ok(())
    }
}
