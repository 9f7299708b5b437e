//! What the person corrected, struck out or blotted out: it stays so, whatever is made from the messages later.

use std::collections::{BTreeSet, HashSet};

use super::error::{Result, StoreError};
use super::quoting::{contains, telling_words};
use super::records::{AnyId, ForgetPlan, JobKind, Level, NewSemantic};
use super::sessions::checksum;
use super::transaction::{Reader, WriteTx, text};
use crate::memory::{EpisodeId, MessageId, SemanticId};

/// Stands for what was blotted out.
const BLOT: &str = "[…]";

/// The words that tell facts about the same person apart.
fn told(content: &str) -> HashSet<String> {
    telling_words(content).filter(|word| word != "user").collect()
}

/// Whether one fact says what the other says, perhaps more.
fn says_the_same(a: &str, b: &str) -> bool {
    /// Of the words of the shorter.
    const SHARE_MIN: f64 = 0.75;
    let (a, b) = (told(a), told(b));
    let n = a.len().min(b.len());
    n == 0 && a == b || n > 0 && a.intersection(&b).count() as f64 >= SHARE_MIN * n as f64
}

/// `text` with every stretch that reads like `part` (see [`contains`]) blotted out.
pub(super) fn blotted(text: &str, part: &str) -> String {
    let mut out = text.to_owned();
    let mut from = 0;
    while let Some((start, end)) = find(&out[from..], part) {
        out.replace_range(from + start..from + end, BLOT);
        from += start + BLOT.len();
    }
    out
}

/// The first stretch that reads like `part`, by bytes.
fn find(text: &str, part: &str) -> Option<(usize, usize)> {
    if !contains(text, part) {
        return None;
    }
    let mut ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    // The shortest beginning that contains it ends where the first one ends; so then from the other side.
    let short = ends.partition_point(|&end| !contains(&text[..end], part));
    let end = ends.get(short).copied().unwrap_or(text.len());
    ends.truncate(short);
    let begin = ends.partition_point(|&start| contains(&text[start..end], part));
    Some((ends[begin.saturating_sub(1)], end))
}

impl Reader<'_> {
    /// Whether the person struck out what this fact says, or corrected it, where it comes from.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn is_refused(&self, fact: &NewSemantic) -> Result<bool> {
        for message in &fact.messages {
            let sql = "SELECT content FROM refused WHERE message = ?1";
            let refused = self.all(sql, [message.0], |row| text(row, 0))?;
            if refused.iter().any(|content| says_the_same(content, &fact.content)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Messages of which the person struck out or corrected something that they say: they are quoted no more.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn refused_messages(&self) -> Result<HashSet<MessageId>> {
        let sql = "SELECT DISTINCT message FROM refused";
        Ok(self.all(sql, [], |row| row.get(0).map(MessageId))?.into_iter().collect())
    }

    /// Whether facts of this episode were written already; those that the person corrected outlive their episode.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn has_written_facts(&self, episode: EpisodeId) -> Result<bool> {
        let sql = "SELECT 1 FROM semantic_episode JOIN semantic ON semantic.id = semantic
                   WHERE episode = ?1 AND NOT corrected LIMIT 1";
        Ok(self.optional(sql, [episode.0], |_| Ok(()))?.is_some())
    }

    pub(super) fn corrected(&self) -> Result<HashSet<SemanticId>> {
        let sql = "SELECT id FROM semantic WHERE corrected";
        Ok(self.all(sql, [], |row| row.get(0).map(SemanticId))?.into_iter().collect())
    }

    /// What striking out these facts would take: the facts, and nothing that they come from.
    ///
    /// # Errors
    /// If one of the ids does not exist or is no fact's or theme's, or the memory cannot be read.
    pub fn plan_strike(&self, ids: &[AnyId]) -> Result<ForgetPlan> {
        let mut facts = BTreeSet::new();
        for id in ids {
            match *id {
                AnyId::Semantic(id) => {
                    facts.insert(self.semantic(id)?.id);
                }
                AnyId::Theme(id) => {
                    facts.extend(self.themes_by_id(&[id])?.into_iter().flat_map(|t| t.members));
                }
                AnyId::Message(_) | AnyId::Episode(_) | AnyId::Session(_) => {
                    return Err(StoreError::invalid(format!(
                        "only a fact can go alone, and {id} is none"
                    )));
                }
            }
        }
        let plan = ForgetPlan {
            semantics: facts.into_iter().collect(),
            only: true,
            ..ForgetPlan::default()
        };
        self.renew(&plan)
    }

    /// What blotting out `part` would change: the messages that hold it stay without it, and what was made of them is
    /// made anew.
    ///
    /// # Errors
    /// If `part` is empty, or the memory cannot be read.
    pub fn plan_blot(&self, part: &str) -> Result<ForgetPlan> {
        let found = self.plan_forget(&[], Some(part))?;
        let mut blotted = Vec::new();
        for message in self.all_messages()? {
            let by = message.speaker.as_deref().is_some_and(|speaker| contains(speaker, part));
            if by || contains(&message.content, part) {
                blotted.push(message.id);
            }
        }
        let holding = |id: &EpisodeId| -> Result<bool> {
            let of = self.episodes_by_id(&[*id])?;
            Ok(of.iter().any(|e| {
                contains(&e.title, part)
                    || contains(&e.content, part)
                    || e.messages.iter().any(|m| blotted.contains(m))
            }))
        };
        let mut episodes = Vec::new();
        for id in found.episodes {
            if holding(&id)? {
                episodes.push(id);
            }
        }
        let facts = self.semantics()?.into_iter().filter(|s| contains(&s.content, part));
        let plan = ForgetPlan {
            semantics: facts.map(|s| s.id).collect(),
            episodes,
            blotted,
            matching: found.matching,
            n_elsewhere: found.n_elsewhere,
            ..ForgetPlan::default()
        };
        self.renew(&plan)
    }
}

impl WriteTx<'_> {
    /// No fact that says `content` is made from the sources of this one again.
    pub(super) fn refuse(&mut self, fact: SemanticId, content: &str) -> Result<()> {
        self.run(
            "INSERT OR IGNORE INTO refused SELECT message, ?2 FROM semantic_message WHERE semantic = ?1",
            rusqlite::params![fact.0, content],
        )?;
        Ok(())
    }

    pub(super) fn refuse_no_more(&mut self, fact: SemanticId, content: &str) -> Result<()> {
        self.run(
            "DELETE FROM refused WHERE content = ?2
             AND message IN (SELECT message FROM semantic_message WHERE semantic = ?1)",
            rusqlite::params![fact.0, content],
        )?;
        Ok(())
    }

    pub(super) fn set_corrected(&mut self, fact: SemanticId, corrected: bool) -> Result<()> {
        self.run(
            "UPDATE semantic SET corrected = ?2 WHERE id = ?1",
            rusqlite::params![fact.0, corrected],
        )?;
        Ok(())
    }

    /// Facts that the person corrected, and whose episode was written anew, belong to the new one.
    pub(super) fn adopt_corrected(&mut self, episode: EpisodeId) -> Result<()> {
        self.run(
            "INSERT OR IGNORE INTO semantic_episode
             SELECT source.semantic, ?1 FROM message
             JOIN semantic_message source ON source.message = message.id
             JOIN semantic ON semantic.id = source.semantic
             WHERE message.episode = ?1 AND semantic.corrected",
            [episode.0],
        )?;
        Ok(())
    }

    /// Refusals that hold a text which goes.
    pub(super) fn forget_refusals(&mut self, part: &str) -> Result<()> {
        let all = self.all("SELECT message, content FROM refused", [], |row| {
            Ok((row.get::<_, i64>(0)?, text(row, 1)?))
        })?;
        for (message, content) in all.into_iter().filter(|(_, content)| contains(content, part)) {
            self.run(
                "DELETE FROM refused WHERE message = ?1 AND content = ?2",
                rusqlite::params![message, content],
            )?;
        }
        Ok(())
    }

    /// The messages of a plan without the text that goes.
    pub(super) fn blot(&mut self, ids: &[MessageId], part: &str) -> Result<()> {
        for message in self.messages_by_id(ids)? {
            let content = blotted(&message.content, part);
            let speaker = message.speaker.map(|speaker| blotted(&speaker, part));
            self.run(
                "UPDATE message SET content = ?2, speaker = ?3, checksum = ?4 WHERE id = ?1",
                rusqlite::params![message.id.0, content, speaker, checksum(content.as_bytes())],
            )?;
            self.drop_embedding(Level::Message, message.id.0)?;
        }
        if !ids.is_empty() {
            self.enqueue(&JobKind::Reembed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_like_it_is_blotted_out() {
        for (text, part, expected) in [
            ("I live in Bergen, Norway.", "bergen", "I live in […], Norway."),
            ("caf\u{e9} Cafe\u{301} CAF\u{c9}!", "cafe\u{301}", "[…] […] […]!"),
            ("It\u{2019}s Ana\u{2018}s; it's ana's", "it's ana's", "[…]; […]"),
            ("sec\u{ad}ret", "secret", "[…]"),
            ("two\n  words", "two words", "[…]"),
            ("aaaa", "aa", "[…][…]"),
            ("nothing", "x", "nothing"),
            ("Stra\u{df}e 5", "strasse", "[…] 5"),
        ] {
            assert_eq!(blotted(text, part), expected, "{text:?}, {part:?}");
            assert!(!contains(&blotted(text, part), part));
        }
    }

    #[test]
    fn a_fact_comes_back_in_no_other_words() {
        for (refused, fact, expected) in [
            ("The user lives in Oslo", "The user lives in Oslo.", true),
            ("The user lives in Oslo", "The user lives in Oslo with her sister", true),
            ("The user lives in Oslo", "The user works in Oslo", false),
            ("The user has a dog named Rex", "Rex is the user's dog", false),
            ("The user is vegan", "The user is a nurse", false),
        ] {
            assert_eq!(says_the_same(refused, fact), expected, "{refused}, {fact}");
        }
    }
}
