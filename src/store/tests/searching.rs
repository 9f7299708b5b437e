//! Full text, and what stands beside a message.

use proptest::prelude::*;

use super::builders::*;
use crate::memory::{MessageId, NewMessage, Role};
use crate::store::{KnownName, Level, Store};

#[test]
fn neighbours_are_of_the_same_episode() {
    let store = Store::in_memory().unwrap();
    let ids: Vec<MessageId> = write(&store, |tx| {
        let session = tx.create_session("", at(0), false)?;
        let ids: Vec<MessageId> =
            (0..5).map(|i| say(tx, session, Role::User, &format!("m{i}"))).collect();
        close(tx, session, &ids[..3]);
        close(tx, session, &ids[3..4]);
        Ok(ids)
    });
    let beside = |i: usize| store.read(|r| r.messages_beside([ids[i]])).unwrap();
    assert_eq!(beside(0), [ids[1]]);
    assert_eq!(beside(1), [ids[0], ids[2]]);
    assert_eq!(beside(2), [ids[1]], "the next one is in another episode");
    assert_eq!(beside(3), []);
    assert_eq!(beside(4), [], "in no episode yet");
    assert_eq!(store.read(|r| r.messages_beside([MessageId(99)])).unwrap(), []);
}

#[test]
fn names_are_known_from_facts_and_from_what_was_just_said() {
    let store = Store::in_memory().unwrap();
    let said = [
        "Ana's neighbour Lena comes from Porto.".to_owned(),
        "Ana went to France.".to_owned(),
        "Ana's manager is Priya.".to_owned(),
        "Ana is off to Ana's cousin Pawel in Ana's hometown Gdansk.".to_owned(),
    ];
    let check = |text: &str, expected: KnownName| {
        assert_eq!(store.read(|r| r.known_name_in(text, &said)).unwrap(), expected, "{text}");
        assert_eq!(store.read(|r| r.known_name_in(text, &[])).unwrap(), KnownName::None, "{text}");
    };
    check("What does Lena do for a living?", KnownName::Person);
    check("what does lena do", KnownName::Person);
    check("Who is Priya?", KnownName::Person);
    check("where does pawel live", KnownName::Person);
    check("whats pawels wifes name", KnownName::Person);
    check("How many people live in Gdansk?", KnownName::Name);
    check("What is the capital of France?", KnownName::Name);
    check("What did Lena Horne sing?", KnownName::Name);
    check("How far is it?", KnownName::None);
    check("What is a neighbour?", KnownName::None);
}

#[track_caller]
fn finds(store: &Store, query: &str, expected: &[i64]) {
    let found = store.read(|r| r.full_text(Level::Message, query, 10)).unwrap();
    let ids: Vec<i64> = found.iter().map(|f| f.0).collect();
    assert_eq!(ids, expected, "{query:?}");
    assert!(found.iter().all(|f| f.1 > 0.0));
    assert!(found.windows(2).all(|w| w[0].1 >= w[1].1));
}

#[test]
fn words_are_found_stemmed_and_without_accents() {
    let store = with_messages(&[
        "I moved to Malmö last week",
        "My dog is a beagle, a beagle!",
        "Moving house is tiring",
        "the beagle and the cat",
    ]);
    finds(&store, "MALMO", &[1]);
    finds(&store, "moves", &[3, 1]);
    finds(&store, "beagle", &[2, 4]);
    finds(&store, "cats beagle", &[4, 2]);
    finds(&store, "zebra", &[]);
}

#[test]
fn no_query_is_syntax() {
    let store = with_messages(&["a NEAR thing", "content AND more", "plain"]);
    finds(&store, "", &[]);
    finds(&store, " \t\n", &[]);
    finds(&store, "\"", &[]);
    finds(&store, "\" OR \"", &[]);
    finds(&store, "*", &[]);
    finds(&store, "plain*", &[3]);
    finds(&store, "content:plain", &[3, 2]);
    finds(&store, "NEAR(plain thing)", &[1, 3]); // two words of three
    finds(&store, "^plain) AND (", &[3, 2]);
    finds(&store, "plain\0'; DROP TABLE message; --", &[3]);
    finds(&store, "🦊🔥", &[]);
    finds(&store, "\u{0301}\u{200d}\u{202e}", &[]);
    finds(&store, &"plain \"* ".repeat(2000), &[3]);
    let many: Vec<String> = (0..5000).map(|i| format!("w{i}")).collect();
    finds(&store, &many.join(" "), &[]);
    assert_eq!(store.read(|r| r.stats()).unwrap().messages, 3);
}

#[test]
fn any_text_can_be_a_message() {
    let store = Store::in_memory().unwrap();
    let texts = ["", "\0", "a\0b", "\u{feff}x", "🦊", "\u{1b}[31mred", &"long ".repeat(200_000)];
    write(&store, |tx| {
        let session = tx.create_session("\0", at(0), true)?;
        for text in texts {
            let new = NewMessage {
                speaker: Some("\0'\"".to_owned()),
                external_id: Some("D1:1".to_owned()),
                ..NewMessage::new(Role::Assistant, text, at(0))
            };
            tx.append_message(session, &new)?;
        }
        Ok(())
    });
    let messages = store.read(|r| r.all_messages()).unwrap();
    assert!(messages.iter().map(|m| m.content.as_str()).eq(texts));
    assert_valid(&store);
}

proptest! {
    #[test]
    fn any_query_is_fine(query in "\\PC{0,60}|[\"*^:(){}\\-+ORANDNT ]{0,40}") {
        let store = with_messages(&["plain text"]);
        store.read(|r| r.full_text(Level::Message, &query, 5)).unwrap();
    }
}
