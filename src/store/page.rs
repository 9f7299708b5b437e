//! What the memory's page needs beside the units: where each fact is from, which facts are pinned, and what is new since the
//! person last looked.
//!
//! Three settings hold the latter: `page_pinned` (ids of facts), `page_pins_kept` (digests of pinned facts that a rebuild has yet to
//! make anew) and `page_visit` (when that was, the newest fact and the newest operation of then).

use std::collections::{BTreeMap, BTreeSet};

use super::error::Result;
use super::sessions::moment_of;
use super::sync::digest;
use super::transaction::{Reader, WriteTx};
use super::undo::Inverse;
use crate::memory::{MessageId, Moment, SemanticId, SessionId};
use jiff::tz::Offset;

const PINNED: &str = "page_pinned";
const PINS_KEPT: &str = "page_pins_kept";
const VISIT: &str = "page_visit";

/// Where a fact is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FactSource {
    /// The newest message that it rests on.
    pub message: MessageId,
    /// That message's.
    pub session: SessionId,
    /// The person wrote it themself.
    pub corrected: bool,
}

/// When the person last looked at the page, and what there was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visit {
    /// Milliseconds since the Unix epoch.
    pub ms: i64,
    /// The newest fact of then.
    pub newest: SemanticId,
    newest_operation: i64,
}

impl Visit {
    /// On a wall clock.
    pub fn at(&self, offset: Offset) -> Moment {
        moment_of(self.ms, offset.seconds())
    }
}

impl Reader<'_> {
    /// Where all facts are from.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn fact_sources(&self) -> Result<BTreeMap<SemanticId, FactSource>> {
        // SQLite takes the other columns from the row of the maximum.
        let sql = "SELECT s.id, max(m.id), m.session, s.corrected FROM semantic s
                   JOIN semantic_message p ON p.semantic = s.id
                   JOIN message m ON m.id = p.message GROUP BY s.id";
        let sources = self.all(sql, [], |row| {
            let (message, session) = (MessageId(row.get(1)?), SessionId(row.get(2)?));
            Ok((SemanticId(row.get(0)?), FactSource { message, session, corrected: row.get(3)? }))
        })?;
        Ok(sources.into_iter().collect())
    }

    /// The facts that the person pinned.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn pinned_facts(&self) -> Result<BTreeSet<SemanticId>> {
        self.facts_in(PINNED)
    }

    /// `None` before the first.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn page_visit(&self) -> Result<Option<Visit>> {
        let text = self.setting(VISIT)?.unwrap_or_default();
        let numbers: Vec<i64> = text.split(' ').filter_map(|n| n.parse().ok()).collect();
        Ok(match numbers[..] {
            [ms, newest, newest_operation] => {
                Some(Visit { ms, newest: SemanticId(newest), newest_operation })
            }
            _ => None,
        })
    }

    /// The facts that the person corrected since, as far as the undo log goes back.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn corrected_since(&self, visit: &Visit) -> Result<BTreeSet<SemanticId>> {
        let operations = self.operations()?.into_iter();
        let since = operations.filter(|(id, _, _)| *id > visit.newest_operation);
        Ok(since
            .filter_map(|(_, _, inverse)| match inverse {
                Inverse::EditSemantic { semantic, .. } => Some(semantic),
                _ => None,
            })
            .collect())
    }
}

impl WriteTx<'_> {
    /// Pins a fact, or no more.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn pin_fact(&mut self, fact: SemanticId, pinned: bool) -> Result<()> {
        let mut all = self.pinned_facts()?;
        if pinned {
            all.insert(fact);
        } else {
            all.remove(&fact);
        }
        self.set_facts_in(PINNED, all)
    }

    /// What takes the place of a pinned fact is pinned, too.
    pub(super) fn hand_on_pin(&mut self, earlier: SemanticId, later: SemanticId) -> Result<()> {
        if self.pinned_facts()?.contains(&earlier) { self.pin_fact(later, true) } else { Ok(()) }
    }

    /// The person looks at the page.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn visit_page(&mut self, now: Moment) -> Result<()> {
        let newest = self.next_semantic_id()?.0 - 1;
        let visit = format!("{} {newest} {}", now.as_millisecond(), self.last_id("operation")?);
        self.set_setting(VISIT, &visit)
    }

    /// Pins of facts that went go too.
    pub(super) fn forget_pins(&mut self) -> Result<()> {
        // A digest of few words can be guessed.
        self.keep_pins(BTreeSet::new())?;
        let pinned = self.pinned_facts()?;
        if pinned.is_empty() { Ok(()) } else { self.set_facts_in(PINNED, pinned) }
    }

    /// Before all facts are made anew: what is pinned will be pinned again, if it comes to be said in the same words.
    pub(super) fn keep_pins_for_rebuild(&mut self) -> Result<()> {
        let mut kept = self.pins_kept()?;
        let pinned = self.find_semantics_and_messages(self.pinned_facts()?)?;
        kept.extend(pinned.into_values().map(|fact| digest(fact.content.as_bytes())));
        self.keep_pins(kept)?;
        self.set_facts_in(PINNED, BTreeSet::new())
    }

    /// Pins a new fact whose words were pinned before a rebuild.
    pub(super) fn pin_again(&mut self, fact: SemanticId, content: &str) -> Result<()> {
        let mut kept = self.pins_kept()?;
        if kept.is_empty() || !kept.remove(&digest(content.as_bytes())) {
            return Ok(());
        }
        self.keep_pins(kept)?;
        self.pin_fact(fact, true)
    }

    fn pins_kept(&self) -> Result<BTreeSet<String>> {
        let kept = self.setting(PINS_KEPT)?.unwrap_or_default();
        Ok(kept.split_terminator(',').map(str::to_owned).collect())
    }

    fn keep_pins(&mut self, kept: BTreeSet<String>) -> Result<()> {
        if kept.is_empty() && self.setting(PINS_KEPT)?.is_none() {
            return Ok(());
        }
        self.set_setting(PINS_KEPT, &Vec::from_iter(kept).join(","))
    }
}
