//! Chats: titles, pins, forks, versions, search.

use super::builders::*;
use crate::memory::{MessageId, Role};
use crate::store::{AnyId, FOUND};

#[test]
fn a_chat_goes_on_from_another_without_a_copy() {
    let (store, small) = small_in_memory();
    let [_, _, third, _] = small.messages;
    let fork = write(&store, |tx| {
        let fork = tx.fork_session(small.session, third, "Another", at(9))?;
        say(tx, fork, Role::User, "I like tea");
        Ok(fork)
    });
    let next = write(&store, |tx| tx.fork_session(fork, MessageId(i64::MAX), "Third", at(10)));
    let said = |session| -> Vec<String> {
        let messages = read(&store, |r| r.conversation(session)).messages;
        messages.into_iter().map(|m| m.content).collect()
    };
    let expected = ["I moved to Lund last week", "Noted: you moved to Lund.", "I like tea"];
    assert_eq!(said(fork), expected);
    assert_eq!(said(next), expected);
    assert_eq!(read(&store, |r| r.session(fork)).parent, Some(small.session));
    assert_eq!(read(&store, |r| r.messages(fork)).len(), 1);
    assert_eq!(read(&store, |r| r.verify()), Vec::<String>::new());
    // It is in no export twice, and comes back with it.
    let rows = read(&store, |r| r.rows());
    let other = crate::store::Store::in_memory().unwrap();
    write(&other, |tx| tx.insert_rows(&rows));
    assert_eq!(read(&other, |r| r.conversation(next)).messages.len(), 3);
    // Without the chat that it went on from it is short, and sound.
    write(&store, |tx| {
        let plan = tx.plan_forget(&[AnyId::Session(small.session)], None)?;
        tx.forget(&plan)
    });
    assert_eq!(said(next), ["I like tea"]);
    assert_eq!(read(&store, |r| r.verify()), Vec::<String>::new());
}

/// The window brings what a chat goes on from before the model, as if it had been said in it.
#[test]
fn what_is_forgotten_goes_from_the_chats_that_go_on_from_it() {
    let (store, small) = small_in_memory();
    let [lund, _, max, noted] = small.messages;
    let end = MessageId(noted.0 + 1);
    let (answered, asked, before, empty, replies) = write(&store, |tx| {
        // Answered once more; asked about; from before it, of no word of it.
        let answered = tx.fork_session(small.session, noted, "My dog Max is a beagle", at(9))?;
        let first = say(tx, answered, Role::Assistant, "What a fine breed to have!");
        let asked =
            tx.fork_session(answered, MessageId(i64::MAX), "What breed is my dog?", at(9))?;
        say(tx, asked, Role::User, "What breed is my dog?");
        let second = say(tx, asked, Role::Assistant, "He is a beagle.");
        say(tx, asked, Role::User, "And what do I cook tonight?");
        let third = say(tx, asked, Role::Assistant, "Perhaps a soup.");
        let before = tx.fork_session(small.session, max, "My dog Max is a beagle", at(9))?;
        say(tx, before, Role::User, "Is Lund large?");
        let fourth = say(tx, before, Role::Assistant, "A beagle is not a town.");
        let empty = tx.fork_session(small.session, end, "Max, a beagle", at(9))?;
        Ok((answered, asked, before, empty, [first, second, third, fourth]))
    });
    let n = read(&store, |r| r.n_forgettings());
    let forget = |ids: &[AnyId]| {
        let plan = read(&store, |r| r.plan_forget(ids, None));
        write(&store, |tx| tx.forget(&plan));
        assert_eq!(read(&store, |r| r.verify()), Vec::<String>::new());
        plan
    };
    assert_eq!(forget(&[AnyId::Message(max)]).messages, [max, noted, replies[0], replies[1]]);
    // Of the one answered once more nothing is left; what goes on from it still shows the rest.
    assert!(store.read(|r| r.session(answered)).is_err());
    assert_eq!(read(&store, |r| r.conversation(asked)).messages[0].id, lund);
    let title = |session| read(&store, |r| r.session(session)).title;
    assert_eq!([title(asked), title(before)], ["What breed is my dog?", "Is Lund large?"]);
    assert_eq!(title(empty), "I moved to Lund last week");
    // A reply that is just being written in any of them may rest on it.
    let gone = read(&store, |r| r.forgotten_since(n)).unwrap();
    for (session, shows) in
        [(small.session, true), (answered, true), (asked, true), (before, false)]
    {
        assert_eq!(gone.contains(&AnyId::Session(session)), shows, "{session}");
    }
    // What shows nothing any more is no chat.
    assert_eq!(forget(&[AnyId::Message(lund)]).sessions, [small.session, empty]);
}

#[test]
fn one_version_of_a_reply_is_shown() {
    let (store, small) = small_in_memory();
    let [.., last] = small.messages;
    let other = write(&store, |tx| {
        let other = say(tx, small.session, Role::Assistant, "Max: noted.");
        tx.choose_reply(other, [last])?;
        Ok(other)
    });
    assert_eq!(read(&store, |r| r.conversation(small.session)).aside, [last].into());
    write(&store, |tx| tx.choose_reply(last, [last, other]));
    assert_eq!(read(&store, |r| r.conversation(small.session)).aside, [other].into());
    // What the person said is never put aside.
    write(&store, |tx| tx.choose_reply(last, [small.messages[2]]));
    assert_eq!(read(&store, |r| r.conversation(small.session)).aside, [other].into());
}

#[test]
fn titles_and_pins() {
    let (store, small) = small_in_memory();
    write(&store, |tx| {
        tx.rename_session(small.session, "  Lund  ")?;
        tx.pin_session(small.session, true)
    });
    let session = read(&store, |r| r.session(small.session));
    assert_eq!((session.title.as_str(), session.pinned), ("Lund", true));
    write(&store, |tx| tx.pin_session(small.session, false));
    assert!(!read(&store, |r| r.session(small.session)).pinned);
    assert!(store.write(|tx| tx.rename_session(small.session, " ")).is_err());
    assert!(store.write(|tx| tx.pin_session(crate::memory::SessionId(99), true)).is_err());
}

#[test]
fn what_was_said_is_found_by_its_words() {
    let (store, small) = small_in_memory();
    let find = |query: &str| -> Vec<(MessageId, String)> {
        let found = read(&store, |r| r.find_said(query, 10));
        found.into_iter().map(|f| (f.message, f.snippet)).collect()
    };
    let [first, second, third, fourth] = small.messages;
    let ids = |query: &str| find(query).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
    let (open, close) = FOUND;
    let snippet = format!("My {open}dog{close} Max is a {open}beagle{close}");
    assert_eq!(find("bea dog"), []);
    assert_eq!(find("dog bea"), [(third, snippet)]);
    let mut both = ids("LUND");
    both.sort();
    assert_eq!(both, [first, second]);
    let mut both = ids("max \"is");
    both.sort();
    assert_eq!(both, [third, fourth]);
    assert_eq!(ids("lun moved "), []);
    for nothing in ["", "  ", "\"", "* OR", "zebra", "NEAR("] {
        assert!(ids(nothing).is_empty(), "{nothing}");
    }
}

#[test]
fn the_person_takes_back_their_own_acts_only() {
    let (store, small) = small_in_memory();
    let [first, second] = small.facts;
    write(&store, |tx| tx.edit_semantic(first, "Ana lives in Lund", &embed("Lund")));
    write(&store, |tx| tx.supersede(first, second, None, at(20)));
    assert_eq!(write(&store, |tx| tx.undo_own()).as_deref(), Some("edit of s1"));
    let fact = read(&store, |r| r.semantics_by_id(&[first])).remove(0);
    assert_eq!(fact.superseded_by, Some(second), "what the program settled stays");
    assert_ne!(fact.content, "Ana lives in Lund");
    assert_eq!(write(&store, |tx| tx.undo_own()), None);
    assert_eq!(write(&store, |tx| tx.undo()).as_deref(), Some("s1 superseded by s2"));
}

#[test]
fn how_replies_are_drawn_is_kept_until_the_chat_goes() {
    let (store, small) = small_in_memory();
    let keep = |sampling: &str| write(&store, |tx| tx.keep_sampling(small.session, sampling));
    let kept = || read(&store, |r| r.conversation(small.session)).sampling;
    keep("seed=3");
    assert_eq!(kept(), "seed=3");
    keep("");
    assert_eq!(kept(), "");
    keep("seed=4");
    write(&store, |tx| {
        let plan = tx.plan_forget(&[AnyId::Session(small.session)], None)?;
        tx.forget(&plan)
    });
    let settings = read(&store, |r| r.settings());
    assert!(!settings.iter().any(|(_, value)| value == "seed=4"), "{settings:?}");
}
