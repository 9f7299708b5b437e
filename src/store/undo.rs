//! The undo log: the last hundred operations on memory, each with its inverse as JSON.
//!
//! Operations are undone newest first, so an inverse finds things as its operation left them,
//! except for what the worker did meanwhile and what was forgotten. Forgetting removes every entry
//! that touches what goes; what the worker did (a theme gone, a new name) an inverse has to cope with.

use serde::{Deserialize, Serialize};

use super::error::Result;
use super::records::{AnyId, Level};
use super::sessions::moment_of;
use super::transaction::{Reader, WriteTx, text};
use crate::memory::{Embedding, EpisodeId, Semantic, SemanticId, ThemeId};

const KEPT: i64 = 100;

/// How to take an operation back.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Inverse {
    EditSemantic {
        semantic: SemanticId,
        content: String,
        embedding: Option<Vec<f32>>,
        /// The vector is of use only while this is still the embedder.
        embedder: Option<String>,
        /// Whether it was a correction already.
        #[serde(default)]
        corrected: bool,
        /// The newest fact of then: what was made of the correction is newer.
        #[serde(default)]
        newest: Option<SemanticId>,
    },
    EditEpisode {
        episode: EpisodeId,
        title: String,
        content: String,
    },
    Supersede {
        earlier: SemanticId,
        later: SemanticId,
        before: Option<Superseded>,
        /// What stayed true of it, as a fact of its own.
        #[serde(default)]
        rest: Option<SemanticId>,
    },
    Merge {
        joint: SemanticId,
        /// What each part had given way to before.
        parts: Vec<(SemanticId, Option<Superseded>)>,
    },
    RenameTheme {
        theme: ThemeId,
        name: String,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Superseded {
    by: SemanticId,
    ms: i64,
    offset_seconds: i32,
}

impl Superseded {
    pub(super) fn of(semantic: &Semantic) -> Option<Self> {
        semantic.superseded_by.zip(semantic.superseded_at).map(|(by, at)| Self {
            by,
            ms: at.as_millisecond(),
            offset_seconds: at.offset.seconds(),
        })
    }
}

impl Inverse {
    /// The units that the operation is about.
    pub(super) fn touched(&self) -> Vec<AnyId> {
        let by = |before: &Option<Superseded>| before.as_ref().map(|before| before.by);
        let semantics = match self {
            Self::EditSemantic { semantic, .. } => vec![*semantic],
            Self::Supersede { earlier, later, before, rest } => {
                [*earlier, *later].into_iter().chain(*rest).chain(by(before)).collect()
            }
            Self::Merge { joint, parts } => {
                let of = |(part, before): &_| [Some(*part), by(before)];
                parts.iter().flat_map(of).flatten().chain([*joint]).collect()
            }
            Self::EditEpisode { episode, .. } => return vec![AnyId::Episode(*episode)],
            Self::RenameTheme { theme, .. } => return vec![AnyId::Theme(*theme)],
        };
        semantics.into_iter().map(AnyId::Semantic).collect()
    }
}

impl Reader<'_> {
    /// The recorded operations that can be read, newest first: as JSON too.
    pub(super) fn operations(&self) -> Result<Vec<(i64, serde_json::Value, Inverse)>> {
        let sql = "SELECT id, inverse FROM operation WHERE json_valid(inverse) ORDER BY id DESC";
        let rows = self.all(sql, [], |row| Ok((row.get(0)?, text(row, 1)?)))?;
        rows.into_iter()
            .map(|(id, text)| {
                let entry: serde_json::Value = serde_json::from_str(&text)?;
                let inverse = Inverse::deserialize(&entry)?;
                Ok((id, entry, inverse))
            })
            .collect()
    }
}

impl WriteTx<'_> {
    pub(super) fn record(&mut self, what: &str, inverse: &Inverse) -> Result<()> {
        let inverse = serde_json::to_string(inverse)?;
        self.insert("INSERT INTO operation (what, inverse) VALUES (?1, ?2)", [what, &inverse])?;
        self.run(
            "DELETE FROM operation
             WHERE id <= (SELECT id FROM operation ORDER BY id DESC LIMIT 1 OFFSET ?1)",
            [KEPT],
        )?;
        Ok(())
    }

    /// Undoes the newest recorded operation (edit, supersede, merge, rename) and returns which: "edit of s12", "s9
    /// superseded by s31", or `None` if none is left. The last 100 are kept. Forgetting can't be undone.
    ///
    /// # Errors
    /// If the log cannot be read, or the memory cannot be written.
    pub fn undo(&mut self) -> Result<Option<String>> {
        self.undo_newest("1")
    }

    /// As [`Self::undo`], but only what the person did: what the program settled by itself meanwhile stays.
    ///
    /// # Errors
    /// As [`Self::undo`].
    pub fn undo_own(&mut self) -> Result<Option<String>> {
        self.undo_newest(
            "json_valid(inverse) AND json_extract(inverse, '$.kind') NOT IN ('supersede', 'merge')",
        )
    }

    /// No edit of this fact is taken back any more.
    pub(super) fn forget_wordings(&mut self, fact: SemanticId) -> Result<()> {
        self.drop_operations(|inverse| {
            matches!(inverse, Inverse::EditSemantic { semantic, .. } if *semantic == fact)
        })
    }

    /// Takes operations out of the log: they can't be undone any more.
    pub(super) fn drop_operations(&mut self, goes: impl Fn(&Inverse) -> bool) -> Result<()> {
        for (id, _, inverse) in self.operations()? {
            if goes(&inverse) {
                self.run("DELETE FROM operation WHERE id = ?1", [id])?;
            }
        }
        Ok(())
    }

    fn undo_newest(&mut self, wanted: &str) -> Result<Option<String>> {
        let sql = format!(
            "SELECT id, what, inverse FROM operation WHERE {wanted} ORDER BY id DESC LIMIT 1"
        );
        loop {
            let newest = self.optional(&sql, [], |row| {
                Ok((row.get::<_, i64>(0)?, text(row, 1)?, text(row, 2)?))
            })?;
            let Some((id, what, inverse)) = newest else { return Ok(None) };
            self.run("DELETE FROM operation WHERE id = ?1", [id])?;
            // A rename whose theme has gone meanwhile undoes nothing: the operation before it is meant.
            if self.take_back(serde_json::from_str(&inverse)?)? {
                return Ok(Some(what));
            }
        }
    }

    /// Returns whether there was anything to do.
    fn take_back(&mut self, inverse: Inverse) -> Result<bool> {
        match inverse {
            Inverse::EditSemantic { semantic, content, embedding, embedder, corrected, newest } => {
                let homeless = "SELECT 1 FROM semantic WHERE id = ?1
                    AND NOT EXISTS (SELECT 1 FROM semantic_episode WHERE semantic = ?1)";
                if !corrected && self.optional(homeless, [semantic.0], |_| Ok(()))?.is_some() {
                    // Its episode is to be written anew, and the fact with it.
                    self.refuse_no_more(semantic, &content)?;
                    self.remove_semantic(semantic)?;
                    return Ok(true);
                }
                self.word_anew(semantic, newest)?;
                self.set_corrected(semantic, corrected)?;
                self.refuse_no_more(semantic, &content)?;
                self.set_semantic_content(semantic, &content)?;
                let (same, n) = (embedder == self.embedder_id()?, self.dimensions()?);
                let vector = embedding
                    .filter(|vector| same && n == Some(vector.len()))
                    .map(Embedding::normalise);
                if let Some(Ok(vector)) = vector {
                    self.put_embedding(Level::Semantic, semantic.0, &vector)?;
                } else {
                    self.drop_embedding(Level::Semantic, semantic.0)?;
                }
                self.relink()?;
            }
            Inverse::EditEpisode { episode, title, content } => {
                self.set_episode(episode, &title, &content)?;
            }
            Inverse::Supersede { earlier, before, rest, .. } => {
                self.give_back(earlier, before)?;
                if let Some(rest) = rest {
                    self.remove_semantic(rest)?;
                }
            }
            Inverse::Merge { joint, parts } => {
                for (part, before) in parts {
                    self.give_back(part, before)?;
                }
                self.remove_semantic(joint)?;
            }
            Inverse::RenameTheme { theme, name } => {
                if self.theme_exists(theme).is_err() {
                    return Ok(false);
                }
                self.set_theme_name(theme, &name)?;
            }
        }
        Ok(true)
    }

    /// Restores what superseded the fact before, if anything did.
    fn give_back(&mut self, fact: SemanticId, before: Option<Superseded>) -> Result<()> {
        // Not where that would make a circle, after what the worker did meanwhile.
        let mut back = before.map(|b| (b.by, moment_of(b.ms, b.offset_seconds)));
        if let Some((by, _)) = back
            && self.supersession_reaches(by, fact)?
        {
            back = None;
        }
        self.set_superseded(fact, back)
    }
}
