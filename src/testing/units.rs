//! Units of memory and messages for tests.

use crate::interfaces::Clock;
use crate::memory::{
    Episode, EpisodeId, Message, MessageId, Role, Semantic, SemanticId, SessionId, ThemeId,
};
use crate::testing::ManualClock;

/// A message of the first session, on 21 November 2026.
pub fn message(id: i64, role: Role, text: &str) -> Message {
    Message {
        id: MessageId(id),
        session: SessionId(1),
        role,
        speaker: None,
        content: text.into(),
        created_at: ManualClock::at("2026-11-21T10:00:00Z").now(),
        external_id: None,
        episode: None,
        complete: true,
    }
}

/// A fact that was stated in message 4, on 16 November 2026.
pub fn fact(id: i64, episode: i64, text: &str, superseded_by: Option<i64>) -> Semantic {
    let stated = ManualClock::at("2026-11-16T09:12:00Z").now();
    Semantic {
        id: SemanticId(id),
        content: text.into(),
        subject: None,
        attribute: None,
        theme: ThemeId(1),
        created_at: stated,
        superseded_by: superseded_by.map(SemanticId),
        superseded_at: superseded_by.map(|_| stated),
        episodes: vec![EpisodeId(episode)],
        messages: vec![MessageId(4)],
    }
}

/// The episode of messages 4 and 5.
pub fn episode(id: i64, title: &str, text: &str) -> Episode {
    let at = ManualClock::at("2026-11-16T09:12:00Z").now();
    Episode {
        id: EpisodeId(id),
        session: SessionId(1),
        title: title.into(),
        content: text.into(),
        started_at: at,
        ended_at: at,
        messages: vec![MessageId(4), MessageId(5)],
    }
}
