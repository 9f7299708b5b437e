//! What the person corrected, struck out or blotted out: it stays so, whatever is made from the messages later.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::error::{Result, StoreError};
use super::forget_plan::{is_reply, words_of};
use super::quoting::{contains, contains_in};
use super::records::{AnyId, ForgetPlan, JobKind, Level, NewSemantic};
use super::transaction::{Reader, WriteTx, optional_text, text};
use super::undo::Inverse;
use crate::memory::lexical::words;
use crate::memory::{Episode, EpisodeId, Message, MessageId, Semantic, SemanticId, title_of};

/// Stands for what was blotted out.
pub const BLOT: &str = "[…]";

/// Words that tell no two facts apart.
pub(super) const COMMON: [&str; 19] = [
    "a", "an", "and", "at", "for", "has", "have", "her", "his", "in", "is", "of", "on", "s", "the",
    "their", "to", "user", "with",
];

/// Whether a fact says all that was refused, perhaps more.
fn says(fact: &str, refused: &str) -> bool {
    let told = |text: &str| -> HashSet<String> {
        words(text).filter(|word| !COMMON.contains(&word.as_str())).collect()
    };
    let refused = told(refused);
    !refused.is_empty() && refused.is_subset(&told(fact))
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
    // The beginning that contains it, doubled until it does: a long message is not read to its end for each place.
    let mut room = 4 * part.len() + 64;
    let within = loop {
        let within = &text[..text.ceil_char_boundary(room.min(text.len()))];
        if contains(within, part) {
            break within;
        }
        if within.len() == text.len() {
            return None;
        }
        room *= 2;
    };
    let mut ends: Vec<usize> =
        within.char_indices().map(|(at, _)| at).chain([within.len()]).collect();
    // The shortest such beginning ends where the first place ends; so then from the other side.
    let short = ends.partition_point(|&end| !contains(&within[..end], part));
    let end = ends.get(short).copied().unwrap_or(within.len());
    ends.truncate(short);
    let begin = ends.partition_point(|&start| contains(&within[start..end], part));
    Some((ends[begin.saturating_sub(1)], end))
}

/// Words of the stretches that read like `part` which nobody says elsewhere.
fn pieces(all: &[Message], part: &str) -> HashSet<String> {
    let said = || all.iter().filter(|m| !is_reply(m)).map(|m| m.content.as_str());
    let mut pieces = HashSet::new();
    for text in said() {
        let mut from = 0;
        while let Some((start, end)) = find(&text[from..], part) {
            pieces.extend(words_of(&text[from + start..from + end]));
            from += end;
        }
    }
    if pieces.is_empty() {
        return pieces;
    }
    for text in said() {
        for word in words(&blotted(text, part)) {
            pieces.remove(&word);
        }
    }
    pieces
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
            if refused.iter().any(|content| says(&fact.content, content)) {
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

    pub(super) fn is_corrected(&self, id: SemanticId) -> Result<bool> {
        let sql = "SELECT 1 FROM semantic WHERE id = ?1 AND corrected";
        Ok(self.optional(sql, [id.0], |_| Ok(()))?.is_some())
    }

    /// The facts that the person corrected, each with its texts of before: refusals, the undo log.
    pub(super) fn corrected(&self) -> Result<HashMap<SemanticId, Vec<String>>> {
        let sql = "SELECT semantic.id, refused.content FROM semantic
                   LEFT JOIN semantic_message source ON source.semantic = semantic.id
                   LEFT JOIN refused ON refused.message = source.message WHERE corrected";
        let rows =
            self.all(sql, [], |row| Ok((SemanticId(row.get(0)?), optional_text(row, 1)?)))?;
        let mut found: HashMap<SemanticId, Vec<String>> = HashMap::new();
        for (id, content) in rows {
            found.entry(id).or_default().extend(content);
        }
        for (_, _, inverse) in self.operations()? {
            if let Inverse::EditSemantic { semantic, content, .. } = inverse
                && let Some(before) = found.get_mut(&semantic)
            {
                before.push(content);
            }
        }
        Ok(found)
    }

    /// What striking out these facts would take: the facts, and nothing that they come from.
    ///
    /// # Errors
    /// If one of the ids does not exist or is no fact's or theme's, or the memory cannot be read.
    pub fn plan_strike(&self, ids: &[AnyId]) -> Result<ForgetPlan> {
        let mut facts: BTreeSet<SemanticId> = BTreeSet::new();
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
        // What gave way to it and says no more than it does would hold again, and it would be made again of the person's own words.
        let all = self.semantics()?;
        let mut behind: BTreeSet<SemanticId> = BTreeSet::new();
        loop {
            let by: HashMap<SemanticId, &str> = all
                .iter()
                .filter(|s| facts.contains(&s.id))
                .map(|s| (s.id, s.content.as_str()))
                .collect();
            let said = |s: &&Semantic| {
                s.superseded_by
                    .and_then(|id| by.get(&id))
                    .is_some_and(|later| says(later, &s.content))
            };
            let n = facts.len();
            let said: Vec<SemanticId> = all.iter().filter(said).map(|s| s.id).collect();
            for fact in all.iter().filter(|s| facts.contains(&s.id)) {
                behind.extend(self.corrections_behind(fact)?);
            }
            facts.extend(said.into_iter().chain(behind.iter().copied()));
            if facts.len() == n {
                break;
            }
        }
        let struck: Vec<SemanticId> = facts.into_iter().collect();
        self.renew(&ForgetPlan { semantics: struck.clone(), struck, ..ForgetPlan::default() })
    }

    /// Titles of chats, names of the files that they came from, entries of the undo log and texts that were struck out, as
    /// far as they hold a text.
    pub(super) fn n_elsewhere(&self, part: &str) -> Result<usize> {
        if part.trim().is_empty() {
            return Err(StoreError::invalid("the text to forget is empty"));
        }
        let sessions = self.sessions()?;
        let names = sessions.iter().flat_map(|s| [Some(&s.title), s.source.as_ref()]).flatten();
        let names = names.filter(|name| contains(name, part)).count();
        let entries = self.operations()?;
        let entries = entries.iter().filter(|(_, entry, _)| contains_in(entry, part)).count();
        let refused = self.all("SELECT content FROM refused", [], |row| text(row, 0))?;
        let refused = refused.iter().filter(|content| contains(content, part)).count();
        Ok(names + entries + refused)
    }

    /// What blotting out `part` would change: the messages that hold it stay without it, and what was made of them is
    /// made anew.
    ///
    /// # Errors
    /// If `part` is empty, or the memory cannot be read.
    pub fn plan_blot(&self, part: &str) -> Result<ForgetPlan> {
        let mut n_elsewhere = self.n_elsewhere(part)?;
        let says = |m: &Message| {
            contains(&m.content, part) || m.speaker.as_deref().is_some_and(|s| contains(s, part))
        };
        let all = self.all_messages()?;
        let blotted: BTreeSet<MessageId> = all.iter().filter(|m| says(m)).map(|m| m.id).collect();
        // Of a text that was cut in two, a reply may hold a piece.
        let pieces = pieces(&all, part);
        let holds_a_piece = |m: &&Message| {
            is_reply(m)
                && !blotted.contains(&m.id)
                && words_of(&m.content).any(|word| pieces.contains(&word))
        };
        let holding = |e: &Episode| {
            contains(&e.title, part)
                || contains(&e.content, part)
                || e.messages.iter().any(|m| blotted.contains(m))
        };
        let corrected = self.corrected()?;
        let facts = self.semantics()?.into_iter().filter(|s| contains(&s.content, part));
        let (kept, made): (Vec<_>, Vec<_>) =
            facts.map(|s| s.id).partition(|id| corrected.contains_key(id));
        n_elsewhere += kept.len();
        let plan = ForgetPlan {
            semantics: made,
            only_words: true,
            messages: all.iter().filter(holds_a_piece).map(|m| m.id).collect(),
            episodes: self.episodes()?.iter().filter(|e| holding(e)).map(|e| e.id).collect(),
            blotted: blotted.into_iter().collect(),
            matching: Some(part.to_owned()),
            n_elsewhere,
            ..ForgetPlan::default()
        };
        self.renew(&plan)
    }
}

impl WriteTx<'_> {
    /// No fact that says `content` is made from the sources of this one again. The person's own words are not kept for that:
    /// nothing makes them again, and they go when the correction goes, from every device.
    pub(super) fn refuse(&mut self, fact: SemanticId, content: &str) -> Result<()> {
        if self.has_own_words(fact, content)? {
            return Ok(());
        }
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

    /// Refusals that hold a text which goes. Where only the words go, they still refuse what is left of them.
    pub(super) fn forget_refusals(&mut self, part: &str, only_words: bool) -> Result<()> {
        let all = self.all("SELECT message, content FROM refused", [], |row| {
            Ok((row.get::<_, i64>(0)?, text(row, 1)?))
        })?;
        for (message, content) in all.into_iter().filter(|(_, content)| contains(content, part)) {
            self.run(
                "DELETE FROM refused WHERE message = ?1 AND content = ?2",
                rusqlite::params![message, content],
            )?;
            let left = blotted(&content, part).replace(BLOT, " ");
            if only_words && words(&left).any(|word| !COMMON.contains(&word.as_str())) {
                self.run(
                    "INSERT OR IGNORE INTO refused VALUES (?1, ?2)",
                    rusqlite::params![message, left.trim()],
                )?;
            }
        }
        Ok(())
    }

    /// What was refused of messages that go, wherever else it was refused too: it may be made of their words.
    pub(super) fn forget_refusals_of(&mut self, ids: &[MessageId]) -> Result<()> {
        for id in ids {
            self.run("DELETE FROM refused WHERE content IN (SELECT content FROM refused WHERE message = ?1)", [id.0])?;
        }
        Ok(())
    }

    /// What was refused loses these words, of a message also those that it alone lost, and still refuses the rest.
    pub(super) fn refuse_without(
        &mut self,
        vanished: &BTreeSet<String>,
        lost: &BTreeMap<i64, BTreeSet<String>>,
    ) -> Result<()> {
        let all = self.all("SELECT message, content FROM refused", [], |row| {
            Ok((row.get::<_, i64>(0)?, text(row, 1)?))
        })?;
        for (message, content) in all {
            let is_out = |word: String| {
                vanished.contains(&word) || lost.get(&message).is_some_and(|l| l.contains(&word))
            };
            let stays = |part: &&str| !words(part).any(is_out);
            let left = content.split_whitespace().filter(stays).collect::<Vec<_>>().join(" ");
            if words(&content).any(is_out) {
                let params = rusqlite::params![message, content, left];
                let sql = "UPDATE OR REPLACE refused SET content = ?3 WHERE message = ?1 AND content = ?2";
                self.run(sql, params)?;
            }
        }
        Ok(())
    }

    /// The messages of a plan without the text that goes.
    pub(super) fn blot(&mut self, ids: &[MessageId], part: &str) -> Result<()> {
        let corrected = self.corrected()?;
        let facts = self.semantics()?.into_iter().filter(|s| corrected.contains_key(&s.id));
        for fact in facts.filter(|s| contains(&s.content, part)) {
            self.set_semantic_content(fact.id, &blotted(&fact.content, part))?;
            self.drop_embedding(Level::Semantic, fact.id.0)?;
            self.relink()?;
        }
        for message in self.messages_by_id(ids)? {
            let content = blotted(&message.content, part);
            // A chat's title is the beginning of what was said, perhaps of the words.
            self.run(
                "UPDATE session SET title = ?3 WHERE id = ?1 AND title = ?2",
                rusqlite::params![
                    message.session.0,
                    title_of(&message.content),
                    title_of(&content)
                ],
            )?;
            let speaker = message.speaker.map(|speaker| blotted(&speaker, part));
            self.run(
                "UPDATE message SET content = ?2, speaker = ?3 WHERE id = ?1",
                rusqlite::params![message.id.0, content, speaker],
            )?;
            self.seal(message.id)?;
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
            ("The user's dog is Rex", "Rex is the user's dog", true),
            ("The user likes tea", "The user likes jazz", false),
            ("The user's dog is Rex", "The user's mom is Eva", false),
            ("Martin has a dog", "Martin works in Oslo", false),
            ("The user is vegan", "The user is a nurse", false),
        ] {
            assert_eq!(says(fact, refused), expected, "{refused}, {fact}");
        }
    }
}
