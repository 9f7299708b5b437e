//! The input log: every unit that the person put in, under a name that all devices know, in its newest state.
//!
//! Two devices that have seen the same entries, in whatever order and however often, hold the same: states are joined
//! ([`Entry::join`]), the later one wins, and what is gone stays gone.
#![expect(missing_docs, reason = "fields are what the store's columns of that name are")]

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::memory::{Moment, Role};

/// A device, by eight random bytes. Shown as sixteen hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DeviceId(pub [u8; 8]);

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl From<DeviceId> for String {
    fn from(id: DeviceId) -> Self {
        id.to_string()
    }
}

impl DeviceId {
    /// A new one.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut id = Self([0; 8]);
        getrandom::fill(&mut id.0)?;
        Ok(id)
    }
}

/// A text that names no device, or no unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the id of a device or of what it wrote")]
pub struct NoId;

impl FromStr for DeviceId {
    type Err = NoId;

    fn from_str(text: &str) -> Result<Self, NoId> {
        let digits = text.as_bytes();
        if digits.len() != 16 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(NoId);
        }
        u64::from_str_radix(text, 16).map(|n| Self(n.to_be_bytes())).map_err(|_| NoId)
    }
}

impl TryFrom<String> for DeviceId {
    type Error = NoId;

    fn try_from(text: String) -> Result<Self, NoId> {
        text.parse()
    }
}

/// A unit of the log: the device that made it, and its number there, from 1. Shown as `0123456789abcdef-12`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Uid {
    pub device: DeviceId,
    pub n: u64,
}

impl Uid {
    /// The person's name, which no device makes alone.
    pub const USER_NAME: Self = Self { device: DeviceId([0; 8]), n: 1 };
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.device, self.n)
    }
}

impl From<Uid> for String {
    fn from(uid: Uid) -> Self {
        uid.to_string()
    }
}

impl FromStr for Uid {
    type Err = NoId;

    fn from_str(text: &str) -> Result<Self, NoId> {
        let (device, n) = text.split_once('-').ok_or(NoId)?;
        Ok(Self { device: device.parse()?, n: n.parse().map_err(|_| NoId)? })
    }
}

impl TryFrom<String> for Uid {
    type Error = NoId;

    fn try_from(text: String) -> Result<Self, NoId> {
        text.parse()
    }
}

/// When a state was written, by Lamport's clock: greater than every stamp that its device had seen. No wall clock counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Stamp {
    pub clock: u64,
    pub device: DeviceId,
}

/// A unit and its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub uid: Uid,
    pub stamp: Stamp,
    pub state: State,
}

impl Entry {
    /// Of two states of one unit the one that counts: what is gone stays gone, otherwise the later stamp. Associative,
    /// commutative and idempotent, if no stamp is given to two states.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        let rank = |entry: &Self| (entry.state == State::Gone, entry.stamp);
        if rank(&other) > rank(&self) { other } else { self }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum State {
    Session(SharedSession),
    Message(Said),
    Refusal(Refusal),
    Correction(Correction),
    /// One of the person's settings that all devices share (their name); `None`: not set.
    Setting {
        key: String,
        value: Option<String>,
    },
    /// Forgotten, deleted or taken back: only the name of the unit is left.
    Gone,
}

/// A chat. It belongs to the device that made its uid: who goes on with it on another one goes on in a fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedSession {
    pub title: String,
    /// The clock when it got this title: what else changes later does not bring an older title back.
    pub titled: u64,
    #[serde(with = "moment")]
    pub created_at: Moment,
    pub imported: bool,
    pub source: Option<String>,
    pub agent: bool,
    pub pinned: bool,
    pub fork: Option<Fork>,
}

/// Of which chat a chat is a fork, and after which of that one's own messages (`None`: before the first). What is said there
/// later is not shown in the fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    pub parent: Uid,
    pub after: Option<Uid>,
}

/// A message. Those of a session are in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub session: Uid,
    pub role: Role,
    pub speaker: Option<String>,
    pub content: String,
    #[serde(with = "moment")]
    pub created_at: Moment,
    pub external_id: Option<String>,
    pub complete: bool,
    /// A reply that was put aside for another version.
    pub aside: bool,
}

/// What no fact of this message may say again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub message: Uid,
    pub content: String,
}

/// A fact in the person's own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correction {
    pub messages: Vec<Uid>,
    pub content: String,
    /// When it was worded so: since then it has only lost words.
    pub worded: Stamp,
    /// When words were taken out of it, in this wording or in one before it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub redacted: BTreeSet<Stamp>,
    pub subject: Option<String>,
    pub attribute: Option<String>,
    #[serde(with = "moment")]
    pub created_at: Moment,
}

/// A time as the store keeps it: milliseconds since the Unix epoch and the wall clock's offset in seconds.
mod moment {
    use jiff::{Timestamp, tz::Offset};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use crate::memory::Moment;

    pub fn serialize<S: Serializer>(at: &Moment, to: S) -> Result<S::Ok, S::Error> {
        (at.as_millisecond(), at.offset.seconds()).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Moment, D::Error> {
        let (ms, seconds) = <(i64, i32)>::deserialize(from)?;
        let timestamp = Timestamp::from_millisecond(ms).map_err(D::Error::custom)?;
        let offset = Offset::from_seconds(seconds).map_err(D::Error::custom)?;
        Ok(Moment::new(timestamp, offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(clock: u64, device: u8, state: State) -> Entry {
        let id = |byte| DeviceId([byte; 8]);
        Entry {
            uid: Uid { device: id(1), n: 7 },
            stamp: Stamp { clock, device: id(device) },
            state,
        }
    }

    #[test]
    fn the_later_state_counts_and_what_is_gone_stays_gone() {
        let set =
            |value: &str| State::Setting { key: "user_name".into(), value: Some(value.into()) };
        let all = [
            entry(1, 1, set("Ana")),
            entry(2, 1, set("Anna")),
            entry(2, 2, set("Anne")),
            entry(1, 3, State::Gone),
            entry(5, 3, State::Gone),
        ];
        for a in &all {
            assert_eq!(a.clone().join(a.clone()), *a);
            for b in &all {
                assert_eq!(a.clone().join(b.clone()), b.clone().join(a.clone()));
                for c in &all {
                    let left = a.clone().join(b.clone()).join(c.clone());
                    assert_eq!(left, a.clone().join(b.clone().join(c.clone())));
                }
            }
        }
        assert_eq!(all[0].clone().join(all[2].clone()), all[2]);
        assert_eq!(all[2].clone().join(all[3].clone()), all[3]);
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        let uid = Uid { device: DeviceId([0, 1, 2, 3, 0xfc, 0xfd, 0xfe, 0xff]), n: 12 };
        assert_eq!(uid.to_string(), "00010203fcfdfeff-12");
        assert_eq!(uid.to_string().parse(), Ok(uid));
        for odd in
            ["", "12", "00010203fcfdfeff", "+0010203fcfdfeff-1", "00010203fcfdfeff--1", "x-1"]
        {
            assert_eq!(odd.parse::<Uid>(), Err(NoId), "{odd}");
        }
    }
}
