//! Which chats show a message: its own, and those that go on from it.

use std::collections::{BTreeMap, HashSet};

use super::error::Result;
use super::transaction::Reader;
use crate::memory::{Message, MessageId, SessionId};

/// Of each chat that goes on from another: that one, and the first message of it that is not shown.
#[derive(Debug, Default)]
pub(super) struct Forks(BTreeMap<SessionId, (SessionId, MessageId)>);

impl Forks {
    /// Whether a message is shown in `session`.
    pub(super) fn shows(&self, session: SessionId, message: &Message) -> bool {
        let (mut of, mut end) = (session, MessageId(i64::MAX));
        loop {
            if message.session == of && message.id < end {
                return true;
            }
            // A chat's id is greater than that of the one that it goes on from.
            match self.0.get(&of) {
                Some(&from) => (of, end) = from,
                None => return false,
            }
        }
    }

    /// Every chat that shows one of these.
    pub(super) fn showing(&self, messages: &[&Message]) -> HashSet<SessionId> {
        let forks = self.0.keys().copied();
        let shows = |session: &SessionId| messages.iter().any(|m| self.shows(*session, m));
        messages.iter().map(|m| m.session).chain(forks.filter(shows)).collect()
    }

    /// The last of all messages that `session` shows of another chat and that is `wanted`.
    pub(super) fn last_before<'a>(
        &self,
        session: SessionId,
        all: &'a [Message],
        wanted: impl Fn(&Message) -> bool,
    ) -> Option<&'a Message> {
        let before = |m: &&Message| m.session != session && wanted(m) && self.shows(session, m);
        self.0.get(&session).and_then(|_| all.iter().rfind(before))
    }

    /// The chats that go on from another.
    pub(super) fn sessions(&self) -> impl Iterator<Item = SessionId> {
        self.0.keys().copied()
    }
}

impl Reader<'_> {
    pub(super) fn forks(&self) -> Result<Forks> {
        let sql = "SELECT id, parent, parent_end FROM session WHERE parent < id AND parent_end IS NOT NULL";
        let fork = |row: &rusqlite::Row<'_>| {
            Ok((SessionId(row.get(0)?), (SessionId(row.get(1)?), MessageId(row.get(2)?))))
        };
        Ok(Forks(self.all(sql, [], fork)?.into_iter().collect()))
    }
}
