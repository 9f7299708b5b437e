//! The four levels of memory: messages → episodes → semantics → themes (xMemory §3.2).

use std::fmt;

use jiff::{Timestamp, civil, tz::Offset};
use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = std::num::ParseIntError;

            /// Accepts the displayed form (`
            #[doc = $prefix]
            /// 12`) and the bare number.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.strip_prefix($prefix).unwrap_or(text).parse().map(Self)
            }
        }
    };
}

id!(/// One sitting of chat, or one imported conversation session. Shown as `c3`.
    SessionId, "c");
id!(/// A message. Shown as `m12`.
    MessageId, "m");
id!(/// An episode. Shown as `e4`.
    EpisodeId, "e");
id!(/// A semantic. Shown as `s31`.
    SemanticId, "s");
id!(/// A theme. Shown as `t2`.
    ThemeId, "t");

/// An instant together with the UTC offset of the wall clock where it happened.
///
/// Relative dates ("last week") are resolved on that wall clock, never in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Moment {
    /// The instant.
    pub timestamp: Timestamp,
    /// Offset of the wall clock from UTC.
    pub offset: Offset,
}

impl Moment {
    /// An instant and its offset.
    pub fn new(timestamp: Timestamp, offset: Offset) -> Self {
        Self { timestamp, offset }
    }

    /// A wall-clock time of unknown zone, taken as UTC (imports such as LoCoMo).
    pub fn from_civil_utc(at: civil::DateTime) -> Self {
        let timestamp = Offset::UTC.to_timestamp(at).unwrap_or(Timestamp::UNIX_EPOCH);
        Self { timestamp, offset: Offset::UTC }
    }

    /// Wall-clock date and time.
    pub fn civil(&self) -> civil::DateTime {
        self.offset.to_datetime(self.timestamp)
    }

    /// Milliseconds since the Unix epoch: the stored form.
    pub fn as_millisecond(&self) -> i64 {
        self.timestamp.as_millisecond()
    }
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, or a named person in an imported conversation.
    User,
    /// The chat's model.
    Assistant,
}

impl Role {
    /// `user` or `assistant`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// Whose word a text is. What is lower supersedes nothing that is higher, neither in memory nor in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Origin {
    /// A model's, in an import, and whatever nobody is known to have said.
    #[default]
    Model,
    /// Another program's, which noted it through `inglenook mcp`, whomever it quotes.
    Agent,
    /// This program's, in a chat here.
    Assistant,
    /// Another speaker's, in an import.
    Other,
    /// In a note of the person's: their own, or copied from anywhere.
    Note,
    /// The person's, as an import has it.
    Owner,
    /// What the person said in a chat here, or corrected by hand.
    Person,
}

impl Origin {
    /// Whether it came from outside.
    pub fn is_elsewhere(self) -> bool {
        !matches!(self, Self::Person | Self::Assistant)
    }

    /// Whether this word counts before `other`, whichever was said later: the person's before all that came from elsewhere,
    /// and what an import has as theirs before what an agent noted.
    pub fn prevails(self, other: Self) -> bool {
        self == Self::Person && other.is_elsewhere() || self == Self::Owner && other == Self::Agent
    }

    /// Whether this word of somebody stands against what `other` says: the person's against all others', and of the person
    /// also what an import has as theirs; but who tells of themselves knows better than the owner of an import.
    pub fn outranks(self, other: Self, is_about_person: bool) -> bool {
        self > other && (self == Self::Person || is_about_person || self.prevails(other))
    }

    /// For a person to read.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Model => "a model",
            Self::Agent => "an agent",
            Self::Assistant => "the assistant",
            Self::Other => "another speaker",
            Self::Note => "a note",
            Self::Owner => "an import's owner",
            Self::Person => "the person",
        }
    }
}

/// Level 1: one turn, verbatim.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// The session in which it was sent.
    pub session: SessionId,
    /// Who speaks.
    pub role: Role,
    /// The speaker's name, where it is known (imports of two named people).
    pub speaker: Option<String>,
    /// What was said, verbatim.
    pub content: String,
    /// When it was sent.
    pub created_at: Moment,
    /// The id that the message had where it was imported from (LoCoMo: `D3:14`).
    pub external_id: Option<String>,
    /// The episode it belongs to; `None` while its episode is still open.
    pub episode: Option<EpisodeId>,
    /// False while a reply is streaming, and for good if it was stopped or cut off.
    pub complete: bool,
}

impl Message {
    /// A complete message that memory does not hold: its id stands for none.
    pub fn unkept(
        session: SessionId,
        role: Role,
        content: impl Into<String>,
        created_at: Moment,
    ) -> Self {
        Self {
            id: MessageId(0),
            session,
            role,
            speaker: None,
            content: content.into(),
            created_at,
            external_id: None,
            episode: None,
            complete: true,
        }
    }
}

/// A message that memory does not hold yet.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// Who speaks.
    pub role: Role,
    /// The speaker's name, in a conversation of several people.
    pub speaker: Option<String>,
    /// What was said, verbatim.
    pub content: String,
    /// When it was said, with the UTC offset of that time and place.
    pub created_at: Moment,
    /// Its id in the imported file.
    pub external_id: Option<String>,
    /// False for a reply that is still being written.
    pub complete: bool,
}

impl NewMessage {
    /// A complete message of the chat.
    pub fn new(role: Role, content: impl Into<String>, created_at: Moment) -> Self {
        let content = content.into();
        Self { role, speaker: None, content, created_at, external_id: None, complete: true }
    }
}

/// Level 2: a contiguous run of one session's messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Episode {
    /// Its id.
    pub id: EpisodeId,
    /// The session of its messages.
    pub session: SessionId,
    /// A few words.
    pub title: String,
    /// Third-person narrative with absolute dates.
    pub content: String,
    /// When its first message was sent.
    pub started_at: Moment,
    /// When its last message was sent.
    pub ended_at: Moment,
    /// In order of time; never empty.
    pub messages: Vec<MessageId>,
}

/// Level 3: one persistent fact, one line, in the third person.
#[derive(Debug, Clone, PartialEq)]
pub struct Semantic {
    /// Its id.
    pub id: SemanticId,
    /// The fact in one sentence.
    pub content: String,
    /// Who or what it is about ("Ana", "Max"), if the writer knows.
    pub subject: Option<String>,
    /// What of the subject it states ("breed", "home"), if the writer knows: a later statement
    /// of the same subject and attribute is a candidate conflict.
    pub attribute: Option<String>,
    /// Exactly one theme (invariant 2).
    pub theme: ThemeId,
    /// When it was stated.
    pub created_at: Moment,
    /// Set by consolidation: the fact that took its place. The row stays.
    pub superseded_by: Option<SemanticId>,
    /// When that was stated.
    pub superseded_at: Option<Moment>,
    /// The episodes that it comes from; never empty.
    pub episodes: Vec<EpisodeId>,
    /// The messages that it comes from; never empty.
    pub messages: Vec<MessageId>,
}

/// Level 4: related semantics under one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    /// Its id.
    pub id: ThemeId,
    /// A few words.
    pub name: String,
    /// Current and superseded members, by id; never empty.
    pub members: Vec<SemanticId>,
}
