//! The four levels, and what the store refuses about them.

use super::builders::*;
use super::forgetting::forget;
use crate::memory::{MessageId, Origin, Role, SemanticId, ThemeId};
use crate::store::error::Result;
use crate::store::{AnyId, JobKind, Level, NewSemantic, Store, StoreError, USER_NAME, WriteTx};

#[test]
fn what_is_written_is_read_back() {
    let (store, small) = small_in_memory();
    assert_valid(&store);
    read(&store, |r| {
        let messages = r.messages(small.session)?;
        assert_eq!(messages.len(), 4);
        assert_eq!(messages[2].content, "My dog Max is a beagle");
        assert_eq!(messages[2].created_at, at(2));
        assert_eq!(messages[2].episode, Some(small.episode));
        assert!(r.open_messages(small.session)?.is_empty());
        let episode = &r.episodes()?[0];
        assert_eq!((episode.started_at, episode.ended_at), (at(0), at(3)));
        assert_eq!(episode.messages, small.messages);
        assert_eq!(r.episodes_by_id(&[small.episode])?[0], *episode);
        let facts = r.semantics()?;
        assert_eq!(facts[1].messages, [small.messages[2]]);
        assert_eq!(facts[1].theme, small.themes[1]);
        assert_eq!(r.semantics_by_id(&small.facts)?, facts);
        assert_eq!(r.themes()?[0].members, [small.facts[0]]);
        assert_eq!(r.themes_by_id(&small.themes)?, r.themes()?);
        assert_eq!(r.semantics_of_episode(small.episode)?, small.facts);
        assert_eq!(r.evidence_messages(small.facts)?, [small.messages[0], small.messages[2]]);
        let session = &r.sessions()?[0];
        assert_eq!((session.n_messages, session.updated_at), (4, at(3)));
        assert_eq!(r.next_semantic_id()?, SemanticId(3));
        assert_eq!(r.next_theme_id()?, ThemeId(3));
        Ok(())
    });
}

#[test]
fn more_than_a_few_messages_or_a_fact() {
    let store = Store::in_memory().unwrap();
    let more_than = |n| store.read(|r| r.has_more_than(n)).unwrap();
    assert!(!more_than(0));
    write(&store, |tx| {
        let session = tx.create_session("", at(0), false)?;
        for text in ["one", "two", "three"] {
            say(tx, session, Role::User, text);
        }
        Ok::<_, StoreError>(())
    });
    assert_eq!([1, 2, 3, usize::MAX].map(more_than), [true, true, false, false]);
    let (store, _) = small_in_memory();
    assert!(store.read(|r| r.has_more_than(usize::MAX)).unwrap());
}

#[test]
fn dump_shows_the_hierarchy() {
    let (store, _) = small_in_memory();
    let expected = "\
c1 \"I moved to Lund\"
 e1 \"An episode\" \"What was said.\"
  m1 user: \"I moved to Lund last week\"
  m2 assistant: \"Noted: you moved to Lund.\"
  m3 user: \"My dog Max is a beagle\"
  m4 assistant: \"Noted: Max is a beagle.\"
t1 \"Home\"
  s1 \"The user moved to Lund\" from e1 m1
t2 \"Pets\"
  s2 \"Max, the user's dog, is a beagle\" from e1 m3
";
    assert_eq!(store.read(|r| r.dump()).unwrap(), expected);
}

#[track_caller]
fn refused(store: &Store, messages: &[i64], why: &str) {
    let session = store.read(|r| Ok(r.sessions()?[0].id)).unwrap();
    let run: Vec<MessageId> = messages.iter().map(|&id| MessageId(id)).collect();
    let error = store.write(|tx| tx.insert_episode(session, "", "", &run)).unwrap_err();
    assert!(error.to_string().contains(why), "{error}");
}

#[test]
fn episodes_are_contiguous_and_do_not_overlap() {
    let (store, small) = small_in_memory();
    write(&store, |tx| {
        for text in ["a", "b", "c"] {
            say(tx, small.session, Role::User, text);
        }
        Ok(())
    });
    refused(&store, &[], "needs messages");
    refused(&store, &[4, 5], "m4 is in e1 already");
    refused(&store, &[5, 7], "no contiguous run");
    refused(&store, &[5, 99], "no contiguous run");
    write(&store, |tx| {
        // In any order.
        let id = close(tx, small.session, &[MessageId(6), MessageId(5)]);
        assert_eq!(tx.episodes_by_id(&[id])?[0].messages, [MessageId(5), MessageId(6)]);
        Ok(())
    });
    assert_valid(&store);
}

#[test]
fn a_fact_needs_a_theme_a_source_and_a_vector_that_fits() {
    let (store, small) = small_in_memory();
    let new = NewSemantic {
        content: "x".to_owned(),
        subject: None,
        attribute: None,
        created_at: at(0),
        messages: vec![small.messages[0]],
    };
    let insert = |new: NewSemantic, theme, vector| {
        store.write(|tx| tx.insert_semantic(new.clone(), theme, &vector)).unwrap_err()
    };
    let theme = small.themes[0];
    let error = insert(new.clone(), ThemeId(99), embed("x"));
    assert!(matches!(error, StoreError::NotFound { what: "theme", .. }));
    let error = insert(NewSemantic { messages: vec![], ..new.clone() }, theme, embed("x"));
    assert!(error.to_string().contains("came from"), "{error}");
    let short = crate::memory::Embedding::normalise(vec![1.0, 2.0]).unwrap();
    let error = insert(new, theme, short);
    assert!(error.to_string().contains("2 components"), "{error}");
    // A failed transaction leaves no trace, not even an id.
    read(&store, |r| {
        assert_eq!(r.next_semantic_id()?, SemanticId(3));
        assert_eq!(r.semantics()?.len(), 2);
        Ok(())
    });
}

#[test]
fn a_theme_left_empty_is_removed_with_its_vector_edges_and_jobs() {
    let (store, small) = small_in_memory();
    let [home, pets] = small.themes;
    write(&store, |tx| {
        tx.put_embedding(Level::Theme, pets.0, &embed("pets"))?;
        tx.replace_edges(Level::Theme, pets.0, &[(home.0, 0.5)])?;
        tx.enqueue(&JobKind::NameTheme(pets))?;
        tx.create_theme("nobody's")?;
        Ok(())
    });
    assert_eq!(store.read(|r| Ok(r.themes()?.len())).unwrap(), 2);
    store.write(|tx| tx.move_semantic(small.facts[1], home)).unwrap();
    assert_valid(&store);
    read(&store, |r| {
        assert_eq!(r.themes()?.len(), 1);
        assert!(r.edges(Level::Theme)?.is_empty());
        assert_eq!(r.next_job()?, None);
        assert_eq!(r.stats()?.reassignment_ratio, 0.5);
        assert_eq!(r.stats()?.largest_theme, 2);
        // Its id is not given again.
        assert_eq!(r.next_theme_id()?, ThemeId(4));
        Ok(())
    });
}

#[test]
fn supersession_makes_no_circle() {
    let (store, small) = small_in_memory();
    let [a, b] = small.facts;
    store.write(|tx| tx.supersede(a, b, None, at(9))).unwrap();
    let error = store.write(|tx| tx.supersede(b, a, None, at(9))).unwrap_err();
    assert!(error.to_string().contains("cannot be superseded"), "{error}");
    assert!(store.write(|tx| tx.supersede(a, a, None, at(9))).is_err());
    let fact = store.read(|r| Ok(r.semantics_by_id(&[a])?.remove(0))).unwrap();
    assert_eq!((fact.superseded_by, fact.superseded_at), (Some(b), Some(at(9))));
    assert_eq!(store.read(|r| r.stats()).unwrap().superseded, 1);
    assert_valid(&store);
}

#[test]
fn edges_are_symmetric() {
    let (store, small) = small_in_memory();
    let [a, b] = small.facts.map(|f| f.0);
    store.write(|tx| tx.replace_edges(Level::Semantic, a, &[(b, 0.25)])).unwrap();
    read(&store, |r| {
        assert_eq!(r.edges(Level::Semantic)?, [(a, b, 0.25), (b, a, 0.25)]);
        assert_eq!(r.stats()?.edges, 1);
        Ok(())
    });
    store.write(|tx| tx.replace_edges(Level::Semantic, b, &[])).unwrap();
    assert!(store.read(|r| r.edges(Level::Semantic)).unwrap().is_empty());
    assert!(store.write(|tx| tx.replace_edges(Level::Semantic, a, &[(99, 0.5)])).is_err());
    assert!(store.write(|tx| tx.replace_edges(Level::Message, 1, &[])).is_err());
    assert_valid(&store);
}

#[test]
fn the_hierarchy_has_another_version_after_whatever_changes_it() {
    let (store, small) = small_in_memory();
    let version = || store.read(|r| r.hierarchy_version()).unwrap();
    let mut last = version();
    let mut check = |changes: bool, what: &str, f: &dyn Fn(&mut WriteTx<'_>) -> Result<()>| {
        store.write(|tx| f(tx)).unwrap();
        assert_eq!(version() != last, changes, "{what}");
        last = version();
    };
    let [one, two] = small.facts;
    check(false, "a message", &|tx| {
        let id = say(tx, small.session, Role::User, "More");
        tx.put_embedding(Level::Message, id.0, &embed("More"))
    });
    check(true, "an edit", &|tx| tx.edit_semantic(one, "Edited", &embed("Edited")));
    check(true, "a move", &|tx| tx.move_semantic(two, small.themes[0]));
    check(true, "an undo", &|tx| tx.undo().map(drop));
    check(true, "edges", &|tx| tx.replace_edges(Level::Semantic, one.0, &[(two.0, 0.5)]));
    check(true, "a centroid", &|tx| tx.put_embedding(Level::Theme, small.themes[0].0, &embed("x")));
    check(true, "another embedder", &|tx| tx.use_embedder("another", 3));
    let failed = store.write(|tx| {
        tx.create_theme("A theme")?;
        Err::<(), _>(StoreError::invalid("no"))
    });
    assert!(failed.is_err() && version() == last, "nothing was written");
    forget(&store, &[AnyId::Semantic(two)], None);
    assert_ne!(version(), last, "forgetting");
}

#[test]
fn whose_word_a_message_is_follows_from_where_it_stands() {
    let store = Store::in_memory().unwrap();
    write(&store, |tx| {
        tx.set_setting(USER_NAME, "Ana Berg")?;
        let here = tx.create_session("here", at(0), false)?;
        let there = tx.create_session("there", at(0), true)?;
        let noted = tx.agent_session("noted", at(0), "a program")?;
        let rows = [
            (here, Role::User, None, Origin::Person),
            (here, Role::Assistant, None, Origin::Assistant),
            (there, Role::User, None, Origin::Owner),
            (there, Role::User, Some("ana"), Origin::Owner),
            (there, Role::User, Some("Emily"), Origin::Other),
            (there, Role::Assistant, Some("Ana Berg"), Origin::Other),
            (there, Role::Assistant, None, Origin::Model),
            // Whomever it quotes.
            (noted, Role::User, None, Origin::Agent),
            (noted, Role::User, Some("Ana Berg"), Origin::Agent),
            (noted, Role::Assistant, None, Origin::Agent),
            // Of a chat whose own row was lost, perhaps a program's.
            (here, Role::User, Some("Ana"), Origin::Other),
            (here, Role::User, Some("Emily"), Origin::Other),
        ];
        for (session, role, speaker, expected) in rows {
            let id = say_as(tx, session, role, speaker, "I live in Lund.");
            assert_eq!(tx.message_origins([id])?[&id], expected, "{role:?} {speaker:?}");
        }
        Ok(())
    });
}
