//! Small ways to fill a store.

use jiff::{Timestamp, tz::Offset};

use crate::interfaces::Embedder;
use crate::memory::{
    Embedding, EpisodeId, MessageId, Moment, NewMessage, Role, SemanticId, SessionId, ThemeId,
};
use crate::store::{Level, NewSemantic, Reader, Store, StoreError, WriteTx};
use crate::testing::HashEmbedder;

pub(super) fn at(minute: i64) -> Moment {
    let start: Timestamp = "2026-11-09T08:00:00Z".parse().unwrap();
    let timestamp = Timestamp::from_second(start.as_second() + 60 * minute).unwrap();
    Moment::new(timestamp, Offset::from_hours(1).unwrap())
}

/// A transaction that has to succeed.
pub(super) fn write<T>(
    store: &Store,
    f: impl FnOnce(&mut WriteTx<'_>) -> Result<T, StoreError>,
) -> T {
    store.write(f).unwrap()
}

/// A read that has to succeed.
pub(super) fn read<T>(store: &Store, f: impl FnOnce(&Reader<'_>) -> Result<T, StoreError>) -> T {
    store.read(f).unwrap()
}

pub(super) fn embed(text: &str) -> Embedding {
    HashEmbedder.embed(&[text]).unwrap().remove(0)
}

pub(super) fn use_hash_embedder(tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
    tx.use_embedder(HashEmbedder.id(), HashEmbedder.dimensions())
}

pub(super) fn say(tx: &mut WriteTx<'_>, session: SessionId, role: Role, text: &str) -> MessageId {
    say_as(tx, session, role, None, text)
}

pub(super) fn say_as(
    tx: &mut WriteTx<'_>,
    session: SessionId,
    role: Role,
    speaker: Option<&str>,
    text: &str,
) -> MessageId {
    let minute = tx.last_id("message").unwrap();
    let new = NewMessage::new(role, text, at(minute));
    tx.append_message(session, &NewMessage { speaker: speaker.map(str::to_owned), ..new }).unwrap()
}

pub(super) fn close(tx: &mut WriteTx<'_>, session: SessionId, messages: &[MessageId]) -> EpisodeId {
    tx.insert_episode(session, "An episode", "What was said.", messages).unwrap()
}

/// A fact from one message, with its vector, in `theme`.
pub(super) fn fact(
    tx: &mut WriteTx<'_>,
    text: &str,
    theme: ThemeId,
    messages: &[MessageId],
) -> SemanticId {
    tx.insert_semantic(
        NewSemantic {
            content: text.to_owned(),
            subject: None,
            attribute: None,
            created_at: at(0),
            messages: messages.to_vec(),
        },
        theme,
        &embed(text),
    )
    .unwrap()
}

/// Messages of one session, with their vectors.
pub(super) fn with_messages(texts: &[impl AsRef<str>]) -> Store {
    let store = Store::in_memory().unwrap();
    write(&store, |tx| {
        use_hash_embedder(tx)?;
        let session = tx.create_session("", at(0), false)?;
        for text in texts {
            let id = say(tx, session, Role::User, text.as_ref());
            tx.put_embedding(Level::Message, id.0, &embed(text.as_ref()))?;
        }
        Ok(())
    });
    store
}

/// One session, four messages, one episode, two facts in two themes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Small {
    pub session: SessionId,
    pub messages: [MessageId; 4],
    pub episode: EpisodeId,
    pub facts: [SemanticId; 2],
    pub themes: [ThemeId; 2],
}

pub(super) fn small_in_memory() -> (Store, Small) {
    let store = Store::in_memory().unwrap();
    let small = small(&store);
    (store, small)
}

pub(super) fn small(store: &Store) -> Small {
    write(store, |tx| {
        use_hash_embedder(tx)?;
        let session = tx.create_session("I moved to Lund", at(0), false)?;
        let messages = [
            say(tx, session, Role::User, "I moved to Lund last week"),
            say(tx, session, Role::Assistant, "Noted: you moved to Lund."),
            say(tx, session, Role::User, "My dog Max is a beagle"),
            say(tx, session, Role::Assistant, "Noted: Max is a beagle."),
        ];
        let episode = close(tx, session, &messages);
        let themes = [tx.create_theme("Home")?, tx.create_theme("Pets")?];
        let facts = [
            fact(tx, "The user moved to Lund", themes[0], &messages[..1]),
            fact(tx, "Max, the user's dog, is a beagle", themes[1], &messages[2..3]),
        ];
        Ok(Small { session, messages, episode, facts, themes })
    })
}

pub(super) fn assert_valid(store: &Store) {
    let found = store.read(|r| r.verify()).unwrap();
    assert!(found.is_empty(), "{found:#?}");
}
