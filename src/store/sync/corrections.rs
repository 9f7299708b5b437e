//! What the person corrected or struck out on another device.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::chats::{may_be_one, without_either};
use super::elsewhere::Elsewhere;
use super::join::Fate;
use super::names::{Kind, Local};
use super::states::{correction_digest, digest};
use crate::memory::{MessageId, Semantic, SemanticId};
use crate::store::by_hand::BLOT;
use crate::store::error::Result;
use crate::store::records::{JobKind, Level, NewSemantic};
use crate::store::sessions::columns;
use crate::store::transaction::{Reader, WriteTx};
use crate::sync::{Correction, Stamp, Uid};

impl Reader<'_> {
    /// Facts of these messages that say what the person struck out or corrected.
    pub(super) fn refused_facts(
        &self,
        messages: impl IntoIterator<Item = MessageId>,
    ) -> Result<Vec<Semantic>> {
        let ids = self.semantics_of_messages(messages)?;
        let mut found = Vec::new();
        for fact in self.find_semantics_and_messages(ids)?.into_values() {
            let new = NewSemantic {
                content: fact.content.clone(),
                subject: None,
                attribute: None,
                created_at: fact.created_at,
                messages: fact.messages.clone(),
            };
            if !self.is_corrected(fact.id)? && self.is_refused(&new)? {
                found.push(fact);
            }
        }
        Ok(found)
    }
}

/// The text of the later one of two wordings, without what the other one lost where that may be the same text.
fn later_wording<'a>(later: &'a Correction, earlier: &'a Correction) -> Cow<'a, str> {
    let (a, b) = (&later.content, &earlier.content);
    if !earlier.redacted.is_subset(&later.redacted) && may_be_one(a, b) {
        without_either(a, b)
    } else {
        a.into()
    }
}

impl WriteTx<'_> {
    /// A correction takes the place of the fact that it corrects, where that was derived here already; else it begins a theme,
    /// until facts are grouped anew.
    pub(super) fn take_correction(
        &mut self,
        correction: &Correction,
        messages: Vec<MessageId>,
    ) -> Result<SemanticId> {
        let fact = NewSemantic {
            content: correction.content.clone(),
            subject: correction.subject.clone(),
            attribute: correction.attribute.clone(),
            created_at: correction.created_at,
            messages,
        };
        let Some(corrected) = self.refused_facts(fact.messages.iter().copied())?.into_iter().next()
        else {
            return self.insert_corrected(&fact);
        };
        let (ms, offset) = columns(&fact.created_at);
        self.run(
            "UPDATE semantic SET content = ?2, subject = ?3, attribute = ?4, created_ms = ?5, created_offset = ?6,
                 corrected = 1 WHERE id = ?1",
            rusqlite::params![corrected.id.0, fact.content, fact.subject, fact.attribute, ms, offset],
        )?;
        for table in ["semantic_message", "semantic_episode"] {
            self.run(&format!("DELETE FROM {table} WHERE semantic = ?1"), [corrected.id.0])?;
        }
        self.put_sources(corrected.id, &fact.messages)?;
        self.drop_embedding(Level::Semantic, corrected.id.0)?;
        self.enqueue(&JobKind::NameTheme(corrected.theme))?;
        self.relink()?;
        Ok(corrected.id)
    }

    /// A fact in the person's words, in a theme of its own and without a vector: the worker makes it. Unlike other facts it may
    /// be there before its episodes.
    pub(in crate::store) fn insert_corrected(&mut self, fact: &NewSemantic) -> Result<SemanticId> {
        let theme = self.create_theme(&fact.content)?;
        let (ms, offset) = columns(&fact.created_at);
        let id = self.insert(
            "INSERT INTO semantic (content, subject, attribute, theme, created_ms, created_offset, corrected)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1)",
            rusqlite::params![fact.content, fact.subject, fact.attribute, theme.0, ms, offset],
        )?;
        self.run("INSERT INTO theme_history VALUES (?1, ?2)", [id, theme.0])?;
        self.put_sources(SemanticId(id), &fact.messages)?;
        self.enqueue(&JobKind::NameTheme(theme))?;
        self.enqueue(&JobKind::Consolidate(SemanticId(id)))?;
        self.relink()?;
        self.pin_again(SemanticId(id), &fact.content)?;
        Ok(SemanticId(id))
    }

    fn put_sources(&mut self, id: SemanticId, messages: &[MessageId]) -> Result<()> {
        for message in BTreeSet::from_iter(messages) {
            self.run("INSERT INTO semantic_message VALUES (?1, ?2)", [id.0, message.0])?;
            self.run(
                "INSERT OR IGNORE INTO semantic_episode
                 SELECT ?1, episode FROM message WHERE id = ?2 AND episode IS NOT NULL",
                [id.0, message.0],
            )?;
        }
        Ok(())
    }

    /// Of the state only its stamps count. `is_said`: the others know it as it is here now.
    pub(super) fn put_correction(
        &mut self,
        uid: Uid,
        stamp: Stamp,
        id: SemanticId,
        state: &Correction,
        is_said: bool,
    ) -> Result<()> {
        let Some(held) = self.correction(id)? else { return Ok(()) };
        let redacted = state.redacted.clone();
        let mut digest = correction_digest(&Correction { worded: state.worded, redacted, ..held })?;
        if !is_said {
            digest.truncate(digest.rfind(' ').unwrap_or(0) + 1);
        }
        self.put_name(uid, stamp, Some(&Local { kind: Kind::Correction, id: id.0, digest }))
    }

    /// It may have been worded anew, the later wording counts, or have lost words. A wording that was given meanwhile loses
    /// them too if it may be the same text (an edit was taken back), and no edit is taken back to one that has them.
    pub(super) fn change_correction(
        &mut self,
        elsewhere: &mut Elsewhere,
        uid: Uid,
        stamps: [Stamp; 2],
        id: SemanticId,
        correction: &Correction,
    ) -> Result<Fate> {
        // It goes with its message.
        let Some(before) = self.correction(id)? else { return Ok(Fate::Known) };
        let [held, stamp] = stamps;
        let is_news = !correction.redacted.is_subset(&before.redacted);
        let content = match correction.worded.cmp(&before.worded) {
            Ordering::Less => later_wording(&before, correction),
            Ordering::Greater => later_wording(correction, &before),
            Ordering::Equal => without_either(&before.content, &correction.content),
        };
        let state = Correction {
            content: content.into_owned(),
            worded: before.worded.max(correction.worded),
            redacted: &before.redacted | &correction.redacted,
            ..before.clone()
        };
        if stamp <= held && state == before {
            return Ok(Fate::Known);
        }
        if is_news {
            self.forget_wordings(id)?;
            elsewhere.old_texts.push(before.content.clone());
        }
        let content = &state.content;
        if *content != before.content {
            self.remove_made_of(id)?;
            self.set_semantic_content(id, content)?;
            self.drop_embedding(Level::Semantic, id.0)?;
            self.enqueue(&JobKind::NameTheme(self.semantic(id)?.theme))?;
            self.relink()?;
            if content.contains(BLOT) {
                elsewhere.old_texts.push(before.content);
            }
        }
        let is_said = stamp > held
            && *content == correction.content
            && state.worded == correction.worded
            && state.redacted == correction.redacted;
        self.put_correction(uid, stamp.max(held), id, &state, is_said)?;
        Ok(Fate::Taken)
    }

    /// A refusal that one of its devices took back; it holds while another one's does.
    pub(super) fn refuse_no_longer(&mut self, refusal: &Local) -> Result<()> {
        let holds = self.names_of(Kind::Refusal)?.iter().any(|n| n.local.as_ref() == Some(refusal));
        if holds {
            return Ok(());
        }
        for content in self.refused_of(refusal.id)? {
            if digest(content.as_bytes()) == refusal.digest {
                let sql = "DELETE FROM refused WHERE message = ?1 AND content = ?2";
                self.run(sql, rusqlite::params![refusal.id, content])?;
            }
        }
        Ok(())
    }
}
