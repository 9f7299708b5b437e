//! Chats and messages of other devices.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::elsewhere::Elsewhere;
use super::join::Fate;
use super::names::{Kind, Local};
use super::states::session_digest;
use crate::memory::lexical::words;
use crate::memory::{MessageId, NewMessage, Role, SessionId, title_of};
use crate::store::by_hand::BLOT;
use crate::store::error::Result;
use crate::store::records::{JobKind, Level};
use crate::store::sessions::columns;
use crate::store::transaction::WriteTx;
use crate::sync::{Fork, Said, SharedSession, Stamp, Uid};

impl WriteTx<'_> {
    /// The row of the chat that a fork goes on from, and the first message that it does not show. `Err`: not yet, or never.
    fn origin_of(
        &self,
        fork: Option<&Fork>,
    ) -> Result<std::result::Result<Option<(i64, i64)>, Fate>> {
        let Some(fork) = fork else { return Ok(Ok(None)) };
        let parent = match self.name(fork.parent)?.map(|name| name.local) {
            None => return Ok(Err(Fate::Waits)),
            Some(None) => return Ok(Ok(None)),
            Some(Some(local)) if local.kind == Kind::Session => local.id,
            Some(Some(_)) => return Ok(Err(Fate::Refused)),
        };
        let Some(after) = fork.after else { return Ok(Ok(Some((parent, 1)))) };
        if self.name(after)?.is_none() {
            return Ok(Err(Fate::Waits));
        }
        // Itself, or the last one before it that is still there.
        let sql = "SELECT max(m.id) FROM message m
                   JOIN shared ON shared.kind = 'message' AND shared.local = m.id
                   WHERE m.session = ?1 AND shared.device = ?2 AND shared.n <= ?3";
        let params = rusqlite::params![parent, after.device.0, after.n.cast_signed()];
        let last: Option<i64> = self.optional(sql, params, |row| row.get(0))?.flatten();
        Ok(Ok(Some((parent, last.unwrap_or(0) + 1))))
    }

    pub(super) fn take_session(
        &mut self,
        uid: Uid,
        stamp: Stamp,
        session: &SharedSession,
    ) -> Result<Fate> {
        let origin = match self.origin_of(session.fork.as_ref())? {
            Ok(origin) => origin,
            Err(fate) => return Ok(fate),
        };
        let (ms, offset) = columns(&session.created_at);
        let id = self.insert(
            "INSERT INTO session (title, created_ms, created_offset, imported, source, agent, pinned, parent, parent_end)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            rusqlite::params![
                session.title,
                ms,
                offset,
                session.imported,
                session.source,
                session.agent.then_some(1),
                session.pinned.then_some(1),
                origin.map(|(parent, _)| parent),
                origin.map(|(_, end)| end),
            ],
        )?;
        self.put_session(uid, stamp, id, session.titled, true)?;
        Ok(Fate::Taken)
    }

    /// `is_said`: the others know it as it is here now.
    fn put_session(
        &mut self,
        uid: Uid,
        stamp: Stamp,
        id: i64,
        titled: u64,
        is_said: bool,
    ) -> Result<()> {
        let Some(mut state) = self.session_state(id)? else { return Ok(()) };
        state.titled = titled;
        let mut digest = session_digest(&state)?;
        if !is_said {
            digest.truncate(digest.rfind(' ').unwrap_or(0) + 1);
        }
        self.put_name(uid, stamp, Some(&Local { kind: Kind::Session, id, digest }))
    }

    /// Its newest title, and in the state that was written last whether it is pinned and what it goes on from. The name of its
    /// file may be taken away.
    pub(super) fn change_session(
        &mut self,
        uid: Uid,
        stamps: [Stamp; 2],
        id: i64,
        session: &SharedSession,
    ) -> Result<Fate> {
        let Some(before) = self.session_state(id)? else { return Ok(Fate::Refused) };
        let [held, stamp] = stamps;
        let later = if stamp > held { session } else { &before };
        let titled = |of: &SharedSession| (of.titled, of.title.clone());
        let (clock, title) = titled(session).max(titled(&before));
        let source = before.source.clone().filter(|source| session.source.as_ref() == Some(source));
        let merged = SharedSession { title, titled: clock, source, ..later.clone() };
        if stamp <= held && merged == before {
            return Ok(Fate::Known);
        }
        let origin = match self.origin_of(merged.fork.as_ref())? {
            Ok(origin) => origin,
            Err(fate) => return Ok(fate),
        };
        // A circle of forks is none.
        let origin = origin.filter(|(parent, _)| *parent < id);
        self.run(
            "UPDATE session SET title = ?2, pinned = ?3, source = ?4, parent = ?5, parent_end = ?6 WHERE id = ?1",
            rusqlite::params![
                id,
                merged.title,
                merged.pinned.then_some(1),
                merged.source,
                origin.map(|(parent, _)| parent),
                origin.map(|(_, end)| end),
            ],
        )?;
        if merged.title != before.title {
            self.retitle_forks(id, &before.title, Some(&merged.title))?;
        }
        self.put_session(uid, stamp.max(held), id, clock, stamp > held && merged == *session)?;
        Ok(Fate::Taken)
    }

    /// A fork that was made here has the title of its chat, perhaps of a message that was forgotten before it came here.
    pub(super) fn retitle_forks(&mut self, of: i64, old: &str, new: Option<&str>) -> Result<()> {
        let sql = "WITH RECURSIVE fork (id) AS (
                SELECT ?1 UNION SELECT session.id FROM session JOIN fork ON parent = fork.id
             ) SELECT session.id FROM session JOIN fork USING (id) WHERE id <> ?1 AND title = ?2";
        let forks = self.all(sql, rusqlite::params![of, old], |row| row.get::<_, i64>(0))?;
        for fork in forks {
            let own = self.messages(SessionId(fork))?;
            let first = own.iter().find(|m| m.role == Role::User).or(own.first());
            let of_own = title_of(first.map_or("", |m| &m.content));
            let title = new.unwrap_or(&of_own);
            self.run(
                "UPDATE session SET title = ?2 WHERE id = ?1",
                rusqlite::params![fork, title],
            )?;
        }
        Ok(())
    }

    pub(super) fn take_message(&mut self, session: SessionId, said: &Said) -> Result<MessageId> {
        let id = self.insert_message(
            session,
            &NewMessage {
                role: said.role,
                speaker: said.speaker.clone(),
                content: said.content.clone(),
                created_at: said.created_at,
                external_id: said.external_id.clone(),
                complete: said.complete,
            },
        )?;
        self.set_aside(id.0, said.aside)?;
        Ok(id)
    }

    fn set_aside(&mut self, id: i64, aside: bool) -> Result<()> {
        let sql = "UPDATE message SET aside = ?2 WHERE id = ?1 AND role = 'assistant'";
        self.run(sql, rusqlite::params![id, aside.then_some(1)])?;
        Ok(())
    }

    /// What was said may lose words, and a reply may grow; who said it, when and where stays.
    pub(super) fn change_message(
        &mut self,
        elsewhere: &mut Elsewhere,
        uid: Uid,
        stamps: [Stamp; 2],
        id: i64,
        said: &Said,
    ) -> Result<Fate> {
        // It goes with its chat.
        let Some(before) = self.said(id)? else { return Ok(Fate::Known) };
        let [held, stamp] = stamps;
        let (earlier, later) = if stamp > held { (&before, said) } else { (said, &before) };
        let speakers = earlier.speaker.as_ref().zip(later.speaker.as_ref());
        let merged = Said {
            content: joined(&earlier.content, &later.content).into(),
            speaker: speakers.map(|(earlier, later)| joined(earlier, later).into()),
            complete: later.complete,
            aside: later.aside,
            ..before.clone()
        };
        let as_said = Said { complete: said.complete, aside: said.aside, ..merged.clone() };
        if *said
            != (Said { content: said.content.clone(), speaker: said.speaker.clone(), ..as_said })
        {
            return Ok(Fate::Refused);
        }
        if stamp <= held && merged == before {
            return Ok(Fate::Known);
        }
        if (&merged.content, &merged.speaker) != (&before.content, &before.speaker) {
            self.run(
                "UPDATE message SET content = ?2, speaker = ?3 WHERE id = ?1",
                rusqlite::params![id, merged.content, merged.speaker],
            )?;
            self.seal(MessageId(id))?;
            self.drop_embedding(Level::Message, id)?;
            self.enqueue(&JobKind::Reembed)?;
            elsewhere.changed.push(MessageId(id));
            let texts = |of: Said| [Some(of.content), of.speaker].into_iter().flatten();
            let (old, new) = (texts(before), texts(merged.clone()).collect::<Vec<_>>().join(" "));
            if new.contains(BLOT) {
                let kept: BTreeSet<String> = words(&new).collect();
                let lost = old.clone().flat_map(|text| words(&text).collect::<Vec<_>>());
                let lost = lost.filter(|word| !kept.contains(word)).collect();
                elsewhere.lost.insert(id, lost);
                elsewhere.old_texts.extend(old);
            }
        }
        let sql = "UPDATE message SET complete = ?2 WHERE id = ?1";
        self.run(sql, rusqlite::params![id, merged.complete])?;
        self.set_aside(id, merged.aside)?;
        if stamp > held && merged == *said {
            self.put_local(uid, stamp, Kind::Message, id)?;
        } else {
            // The others are told what came of both.
            let unsaid = Local { kind: Kind::Message, id, digest: String::new() };
            self.put_name(uid, stamp.max(held), Some(&unsaid))?;
        }
        Ok(Fate::Taken)
    }
}

/// Of two texts of one message the one that counts: that lost words, whatever else changed where they were still known, or else
/// the longer, later one.
fn joined<'a>(earlier: &'a str, later: &'a str) -> Cow<'a, str> {
    match (earlier.contains(BLOT), later.contains(BLOT)) {
        (true, true) => without_either(earlier, later),
        (is_out, false) if is_out || earlier.len() > later.len() => earlier.into(),
        _ => later.into(),
    }
}

/// A text without what either of two devices took out of it. Where both did at a time, it is not known what stood between the
/// first place and the last.
pub(super) fn without_either<'a>(a: &'a str, b: &'a str) -> Cow<'a, str> {
    let left = |text: &'a str| text.split_whitespace().filter(|word| !word.contains(BLOT));
    let is_of = |some: &'a str, all: &'a str| {
        let mut all = left(all);
        left(some).all(|word| all.any(|other| other == word))
    };
    match (is_of(a, b), is_of(b, a)) {
        _ if a == b => a.into(),
        (true, false) => a.into(),
        (false, true) => b.into(),
        _ => {
            let parts = |text: &'a str| -> Vec<&str> {
                text.split_inclusive(char::is_whitespace).collect()
            };
            let (a, b) = (parts(a), parts(b));
            let same = |(a, b): &(&&str, &&str)| a == b;
            let start = a.iter().zip(&b).take_while(same).count();
            let (a_end, b_end) = (&a[start..], &b[start..]);
            let end = a_end.iter().rev().zip(b_end.iter().rev()).take_while(same).count();
            let blot = if end > 0 { format!("{BLOT} ") } else { BLOT.to_owned() };
            (a[..start].concat() + &blot + &a[a.len() - end..].concat()).into()
        }
    }
}

/// Whether there is a text from which words can be taken out so that one of these two is left, and others, so that the other one is.
pub(super) fn may_be_one(a: &str, b: &str) -> bool {
    let [a, b] = [a, b].map(|text| text.split_whitespace().collect::<Vec<_>>());
    // Of long ones it is not asked: they are taken for one, and lose what either lost.
    if a.len().saturating_mul(b.len()) > 1 << 22 {
        return true;
    }
    let is_out = |word: &str| word.contains(BLOT);
    // Whether what stands before these two places may be one.
    let mut before = vec![vec![false; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            let is_either =
                |i: usize, j: usize| i > 0 && is_out(a[i - 1]) || j > 0 && is_out(b[j - 1]);
            before[i][j] = i + j == 0
                || i > 0
                    && j > 0
                    && before[i - 1][j - 1]
                    && (a[i - 1] == b[j - 1] || is_either(i, j))
                || i > 0 && before[i - 1][j] && is_either(i, j)
                || j > 0 && before[i][j - 1] && is_either(i, j);
        }
    }
    before[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_may_be_one_are_known() {
        for (a, b, expected) in [
            ("likes […] and Ystad", "likes Malmö and […]", true),
            ("likes Lund and Ystad", "likes […] and Ystad", true),
            ("likes […]", "likes Lund and Ystad", true),
            ("likes […] and Ystad", "likes Malmö and Lund", false),
            ("loves Malmö and Ystad", "likes […] and Ystad", false),
            ("lives in Lund", "likes […]", false),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(may_be_one(a, b), expected, "{a} {b}");
            assert_eq!(may_be_one(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn what_either_took_out_is_out() {
        for (a, b, expected) in [
            ("from Lund to […] in May", "from […] to Oslo in May", "from […] in May"),
            ("from Lund to […]", "from […] to Oslo", "from […]"),
            ("I like tea, and […]", "I like […], and […]", "I like […], and […]"),
            ("[…] x […]", "[…] x […]", "[…] x […]"),
            ("x sec[…] y", "x […]ret y", "x […] y"),
            ("[…] b", "a […]", "[…]"),
        ] {
            assert_eq!(without_either(a, b), expected);
            assert_eq!(without_either(b, a), expected);
            for one in [a, b] {
                assert_eq!(without_either(one, expected), expected);
                assert_eq!(joined(one, "from Lund to Oslo, and more"), one);
            }
        }
        assert_eq!(
            (joined("I see", "I see you"), joined("I see you", "I see")),
            ("I see you".into(), "I see you".into())
        );
    }
}
