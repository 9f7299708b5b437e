//! Forgetting: what the plan reaches, and what is left.

use serde_json::json;

use super::builders::*;
use crate::memory::{EpisodeId, MessageId, Role, SemanticId, SessionId};
use crate::store::{AnyId, ForgetPlan, JobKind, Level, Store, WriteTx};

fn plan(store: &Store, ids: &[AnyId], matching: Option<&str>) -> ForgetPlan {
    store.read(|r| r.plan_forget(ids, matching)).unwrap()
}

pub(super) fn forget(store: &Store, ids: &[AnyId], matching: Option<&str>) -> ForgetPlan {
    let plan = plan(store, ids, matching);
    store.write(|tx| tx.forget(&plan)).unwrap();
    assert_valid(store);
    plan
}

/// A message of another session, in an episode.
fn elsewhere(tx: &mut WriteTx<'_>, text: &str) -> (SessionId, MessageId, EpisodeId) {
    let session = tx.create_session("Other", at(10), false).unwrap();
    let message = say(tx, session, Role::User, text);
    (session, message, close(tx, session, &[message]))
}

#[test]
fn a_message_takes_its_reply_its_episode_and_its_facts() {
    let (store, small) = small_in_memory();
    let [m1, m2, m3, m4] = small.messages;
    let plan = forget(&store, &[AnyId::Message(m1)], None);
    assert_eq!(plan.messages, [m1, m2]);
    assert_eq!(plan.episodes, [small.episode]);
    assert_eq!(plan.rewritten, [small.episode]);
    // The whole episode is told anew, and so are its facts.
    assert_eq!(plan.semantics, small.facts);
    assert!(plan.sessions.is_empty());
    let expected = "\
c1 \"My dog Max is a beagle\"
 (open)
  m1 user: \"My dog Max is a beagle\"
  m2 assistant: \"Noted: Max is a beagle.\"
job Close(SessionId(1))
";
    assert_eq!(store.read(|r| r.dump()).unwrap(), expected);
    read(&store, |r| {
        assert!(r.full_text(Level::Message, "Lund", 9)?.is_empty());
        assert!(r.full_text(Level::Semantic, "Lund moved", 9)?.is_empty());
        assert!(r.embeddings(Level::Semantic)?.is_empty());
        let runs = r.open_runs(small.session)?;
        assert_eq!(
            runs.iter().map(|r| r.iter().map(|m| m.id).collect()).collect::<Vec<Vec<_>>>(),
            [[m3, m4]]
        );
        // Ids are not given again.
        assert_eq!(r.next_semantic_id()?.0, 3);
        assert_eq!(r.next_theme_id()?.0, 3);
        Ok(())
    });
}

#[test]
fn facts_and_themes_reach_their_messages() {
    for which in 0..4 {
        let (store, small) = small_in_memory();
        let id = match which {
            0 => AnyId::Semantic(small.facts[1]),
            1 => AnyId::Theme(small.themes[1]),
            2 => AnyId::Message(small.messages[2]),
            _ => AnyId::Episode(small.episode),
        };
        let plan = forget(&store, &[id], None);
        if which == 3 {
            assert_eq!(plan.messages, small.messages);
            assert_eq!(plan.sessions, [small.session]);
            assert_eq!(store.read(|r| r.dump()).unwrap(), "");
        } else {
            assert_eq!(plan.messages, small.messages[2..], "{which}");
            assert!(store.read(|r| r.full_text(Level::Message, "beagle", 9)).unwrap().is_empty());
        }
    }
}

#[test]
fn a_search_takes_every_message_and_fact_with_the_text() {
    let (store, small) = small_in_memory();
    let plan = forget(&store, &[], Some("bEAGle"));
    assert_eq!(plan.messages, small.messages[2..]);
    assert!(plan.semantics.contains(&small.facts[1]));
    assert!(store.read(|r| r.plan_forget(&[], Some("zebra"))).unwrap().is_empty());
    assert!(store.read(|r| r.plan_forget(&[], Some("  "))).is_err());
    let unknown = store.read(|r| r.plan_forget(&[AnyId::Message(MessageId(77))], None));
    assert!(unknown.unwrap_err().to_string().contains("m77"));
}

#[test]
fn a_session_goes_as_a_whole_and_an_empty_one_too() {
    let (store, small) = small_in_memory();
    let empty = store.write(|tx| tx.create_session("unused", at(1), false)).unwrap();
    store.write(|tx| tx.enqueue(&JobKind::Boundary(small.session))).unwrap();
    forget(&store, &[AnyId::Session(small.session), AnyId::Session(empty)], None);
    assert_eq!(store.read(|r| r.dump()).unwrap(), "");
    assert_eq!(store.read(|r| r.stats()).unwrap(), crate::store::MemoryStats::default());
}

#[test]
fn a_reply_that_cited_it_goes_and_one_that_did_not_stays() {
    let (store, small) = small_in_memory();
    let (cites, refuses, other, again) = write(&store, |tx| {
        let session = tx.create_session("Questions", at(10), false)?;
        say(tx, session, Role::User, "Where is home?");
        let cites = say(tx, session, Role::Assistant, "In that town in the south.");
        tx.record_answer(
            cites,
            &json!({"evidence": {"semantics": [{"id": "s1", "text": "The user moved to Lund"}]}}),
        )?;
        say(tx, session, Role::User, "What is two and two?");
        let refuses = say(tx, session, Role::Assistant, "Four.");
        let refused =
            json!({"evidence": {"episodes": [{"id": 1, "title": "x", "admitted": false}]}});
        tx.record_answer(refuses, &refused)?;
        say(tx, session, Role::User, "And your name?");
        let other = say(tx, session, Role::Assistant, "Inglenook.");
        tx.record_answer(other, &json!({"evidence": {"semantics": []}}))?;
        // It quotes a reply that quoted it, and cites neither.
        let later = tx.create_session("Later", at(20), false)?;
        say(tx, later, Role::User, "What did you say?");
        let again = say(tx, later, Role::Assistant, "I said: Lund.");
        tx.record_answer(again, &json!({"evidence": {"messages": [cites.0]}}))?;
        Ok((cites, refuses, other, again))
    });
    let plan = forget(&store, &[AnyId::Message(small.messages[0])], None);
    assert_eq!(plan.messages, [small.messages[0], small.messages[1], cites, again]);
    read(&store, |r| {
        assert_eq!(r.messages_by_id(&[refuses])?[0].content, "Four.");
        // Its record named an episode that is gone.
        assert_eq!(r.answer_record(refuses)?, None);
        assert!(r.answer_record(other)?.is_some());
        Ok(())
    });
}

#[test]
fn a_reply_is_found_by_what_is_left_of_its_record() {
    let (store, small) = small_in_memory();
    let reply = write(&store, |tx| {
        let session = tx.create_session("Questions", at(10), false)?;
        say(tx, session, Role::User, "What breed is he?");
        let reply = say(tx, session, Role::Assistant, "A lovely one.");
        tx.record_answer(
            reply,
            &json!({
                "evidence": {"semantics": [{"id": "s2", "text": "Max is a beagle"}]},
                // The reply only considered this: forgetting it takes the record, not the reply.
                "refused": {"episodes": [{"id": 1, "title": "Lund", "admitted": false}]},
            }),
        )?;
        Ok(reply)
    });
    let plan = forget(&store, &[AnyId::Message(small.messages[0])], None);
    assert!(!plan.messages.contains(&reply));
    read(&store, |r| {
        assert_eq!(r.answer_record(reply)?, None, "it had the title");
        // The fact went with its episode; what it came from stays.
        let left = json!({"forgotten": true, "quoted": [small.messages[2].to_string()]});
        assert_eq!(r.answer_records()?, [(reply, left)]);
        Ok(())
    });
    let plan = forget(&store, &[AnyId::Message(small.messages[2])], None);
    assert!(plan.messages.contains(&reply), "{plan:?}");
}

#[test]
fn a_reply_that_only_considered_it_stays() {
    let (store, small) = small_in_memory();
    let (quotes, considered) = write(&store, |tx| {
        let session = tx.create_session("Questions", at(10), false)?;
        say(tx, session, Role::User, "Where is home?");
        let quotes = say(tx, session, Role::Assistant, "In that town in the south.");
        let evidence = json!({
            "semantics": [{"id": "s1", "text": "The user moved to Lund"}],
            "episodes": [{"id": "e1", "title": "x", "admitted": true}],
        });
        tx.record_answer(quotes, &json!({"evidence": evidence, "quoted": ["s1"]}))?;
        say(tx, session, Role::User, "And your name?");
        let considered = say(tx, session, Role::Assistant, "Inglenook.");
        tx.record_answer(considered, &json!({"evidence": evidence, "quoted": []}))?;
        Ok((quotes, considered))
    });
    let plan = forget(&store, &[AnyId::Message(small.messages[0])], None);
    assert_eq!(plan.messages, [small.messages[0], small.messages[1], quotes]);
    read(&store, |r| {
        assert_eq!(r.messages_by_id(&[considered])?[0].content, "Inglenook.");
        // Its record held the text.
        assert_eq!(r.answer_record(considered)?, None);
        Ok(())
    });
}

#[test]
fn an_answer_about_something_else_said_in_the_same_episode_stays() {
    let store = Store::in_memory().unwrap();
    store.write(|tx| tx.use_embedder("hash-128", 128)).unwrap();
    let reply = write(&store, |tx| {
        let first = tx.create_session("First", at(0), false)?;
        let lund = say(tx, first, Role::User, "Hi, I'm Ana. I moved to Lund last week.");
        let noted = say(tx, first, Role::Assistant, "Noted: you moved to Lund.");
        let nuts = say(tx, first, Role::User, "my sister Emily is allergic to peanuts");
        let heard = say(tx, first, Role::Assistant, "Noted: Emily is allergic to peanuts.");
        let content = "Ana moved to Lund. Ana's sister Emily is allergic to peanuts.";
        tx.insert_episode(first, "Emily, Lund, allergic", content, &[lund, noted, nuts, heard])?;
        let later = tx.create_session("Where do I live?", at(10), false)?;
        say(tx, later, Role::User, "Where do I live?");
        let said = "You moved to Lund. (said on 21 November 2026)";
        let reply = say(tx, later, Role::Assistant, said);
        tx.record_answer(reply, &json!({"evidence": {"episodes": ["e1"]}, "quoted": ["s1"]}))?;
        say(tx, later, Role::User, "who is allergic to peanuts?");
        let said = "Your sister Emily is allergic to peanuts. (said on 21 November 2026)";
        say(tx, later, Role::Assistant, said);
        Ok(reply)
    });
    let plan = store.read(|r| r.plan_forget(&[], Some("peanuts"))).unwrap();
    assert!(!plan.messages.contains(&reply), "{plan:?}");
}

#[test]
fn a_reply_that_cited_what_undo_took_away_is_known_by_a_word() {
    let (store, small) = small_in_memory();
    let reply = write(&store, |tx| {
        let joint =
            fact(tx, "The user and Max live in Lund", small.themes[0], &small.messages[..1]);
        tx.merge(small.facts, joint, at(5))?;
        let session = tx.create_session("Questions", at(10), false)?;
        let reply = say(tx, session, Role::Assistant, "In Lund.");
        tx.record_answer(reply, &json!({"evidence": {"semantics": [joint]}}))?;
        tx.undo()?;
        Ok(reply)
    });
    let plan = forget(&store, &[AnyId::Message(small.messages[0])], None);
    assert!(plan.messages.contains(&reply), "{plan:?}");
}

#[test]
fn an_imports_other_speaker_is_not_a_reply() {
    let store = Store::in_memory().unwrap();
    let ids = write(&store, |tx| {
        let session = tx.create_session("conv-26, session 1", at(0), true)?;
        Ok([
            say_as(tx, session, Role::User, Some("Jon"), "I went to the museum yesterday"),
            say_as(tx, session, Role::Assistant, Some("Gina"), "I had a quiet day at home"),
        ])
    });
    let plan = forget(&store, &[AnyId::Message(ids[0])], None);
    assert_eq!(plan.messages, ids[..1]);
    assert_eq!(store.read(|r| Ok(r.sessions()?[0].title.clone())).unwrap(), "conv-26, session 1");
}

#[test]
fn a_name_that_quotes_a_fact_which_moved_on_is_reset() {
    let (store, small) = small_in_memory();
    let [home, pets] = small.themes;
    let (session, episode) = write(&store, |tx| {
        let (session, message, episode) = elsewhere(tx, "I like tea and chess");
        fact(tx, "The user likes tea", home, &[message]);
        fact(tx, "The user likes chess", pets, &[message]);
        tx.rename_theme(home, "Lund and tea")?;
        tx.put_embedding(Level::Theme, home.0, &embed("centroid"))?;
        tx.move_semantic(small.facts[0], pets)?;
        Ok((session, episode))
    });
    let plan = forget(&store, &[AnyId::Semantic(small.facts[0])], None);
    assert_eq!(plan.themes, [home, pets]);
    read(&store, |r| {
        assert!(r.themes()?.iter().all(|t| t.name == "unnamed"));
        assert_eq!(r.embedding(Level::Theme, home.0)?, None);
        let jobs: Vec<_> = r.pending_jobs()?.into_iter().map(|j| j.kind).collect();
        assert_eq!(
            jobs,
            [
                JobKind::Close(small.session),
                JobKind::Reembed,
                JobKind::NameTheme(home),
                JobKind::NameTheme(pets),
            ]
        );
        assert_eq!(r.episodes()?[0].id, episode);
        assert_eq!(r.session(session)?.title, "Other");
        Ok(())
    });
    // The rename was recorded with the old name.
    assert_eq!(store.write(|tx| tx.undo()).unwrap(), None);
}

#[test]
fn everything_that_came_from_the_same_file_can_be_found() {
    let (store, small) = small_in_memory();
    let (message, chats) = write(&store, |tx| {
        let mut chats = Vec::new();
        for file in ["a.jsonl", "b.jsonl", "a.jsonl"] {
            chats.push(tx.import_session("Chat", at(30), file)?);
        }
        Ok((say(tx, chats[2], Role::User, "Lund is cold"), chats))
    });
    let of = |id| store.read(|r| r.chats_of_its_files(id)).unwrap();
    assert_eq!(of(AnyId::Message(message)), [AnyId::Session(chats[0]), AnyId::Session(chats[2])]);
    assert_eq!(of(AnyId::Semantic(small.facts[0])), []);
}

#[test]
fn a_fact_of_two_episodes_takes_one_and_has_the_other_read_again() {
    let (store, small) = small_in_memory();
    let (second, both) = write(&store, |tx| {
        let (_, message, second) = elsewhere(tx, "Lund is cold");
        let sources = [small.messages[0], message];
        let both = fact(tx, "The user lives in cold Lund", small.themes[0], &sources);
        tx.supersede(small.facts[1], both, None, at(11))?;
        Ok((second, both))
    });
    let plan = forget(&store, &[AnyId::Message(small.messages[0])], None);
    assert!(plan.semantics.contains(&both));
    assert_eq!(plan.episodes, [small.episode]);
    let jobs = store.read(|r| r.pending_jobs()).unwrap();
    assert!(jobs.iter().any(|j| j.kind == JobKind::Semantics(second)));
}

#[test]
fn what_a_forgotten_fact_superseded_holds_again() {
    let (store, small) = small_in_memory();
    let later = write(&store, |tx| {
        let (_, message, _) = elsewhere(tx, "We moved on to Kiruna");
        let later = fact(tx, "The user moved to Kiruna", small.themes[0], &[message]);
        tx.supersede(small.facts[0], later, None, at(11))?;
        Ok(later)
    });
    forget(&store, &[AnyId::Semantic(later)], None);
    let fact = store.read(|r| Ok(r.semantics()?[0].clone())).unwrap();
    assert_eq!((fact.superseded_by, fact.superseded_at), (None, None));
    assert_eq!(store.write(|tx| tx.undo()).unwrap(), None);
}

/// A fact that a later one took back in part, that later one, and the fact of what was left.
fn split(dir: &std::path::Path) -> (Store, MessageId, [SemanticId; 3]) {
    let store = Store::open(dir).unwrap();
    let (message, facts) = write(&store, |tx| {
        use_hash_embedder(tx)?;
        let session = tx.create_session("Talk", at(0), false)?;
        let message = say(tx, session, Role::User, "I have two cats, Fifi and Zanzibar");
        let change = say(tx, session, Role::User, "Fifi died");
        let kept = say(tx, session, Role::User, "I live in Lund");
        close(tx, session, &[message]);
        close(tx, session, &[change]);
        close(tx, session, &[kept]);
        let theme = tx.create_theme("Life")?;
        let home = fact(tx, "The user lives in Lund", theme, &[kept]);
        let text = "The user has two cats, Fifi and Zanzibar";
        let whole = fact(tx, text, theme, &[message]);
        let later = fact(tx, "Fifi died", theme, &[change]);
        let rest = fact(tx, "The user has one cat, Zanzibar", theme, &[message]);
        tx.supersede(whole, later, Some(rest), at(9))?;
        tx.supersede(home, later, None, at(9))?;
        tx.undo()?;
        Ok((message, [whole, later, rest]))
    });
    (store, message, facts)
}

fn facts(store: &Store) -> Vec<String> {
    let all = store.read(|r| r.semantics()).unwrap();
    all.iter().filter(|s| s.superseded_by.is_none()).map(|s| s.content.clone()).collect()
}

#[test]
fn of_a_fact_that_was_split_nothing_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let (store, message, [whole, _, rest]) = split(dir.path());
    let plan = forget(&store, &[AnyId::Message(message)], None);
    assert!(plan.semantics.contains(&whole) && plan.semantics.contains(&rest));
    assert_eq!(facts(&store), ["The user lives in Lund", "Fifi died"]);
    assert_eq!(store.write(|tx| tx.undo()).unwrap(), None);
    store.scrub().unwrap();
    let left = super::forgotten_bytes::bytes(dir.path());
    assert!(!super::forgotten_bytes::has(&left, b"Zanzibar"));
}

#[test]
fn without_its_correction_a_split_fact_holds_again_as_a_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _, [_, later, _]) = split(dir.path());
    forget(&store, &[AnyId::Semantic(later)], None);
    let whole = "The user has two cats, Fifi and Zanzibar";
    assert_eq!(facts(&store), ["The user lives in Lund", whole]);
    assert_eq!(store.write(|tx| tx.undo()).unwrap(), None);
    store.scrub().unwrap();
    let left = super::forgotten_bytes::bytes(dir.path());
    assert!(!super::forgotten_bytes::has(&left, b"one cat"));
    assert!(!super::forgotten_bytes::has(&left, b"Fifi died"));
}

#[test]
fn the_persons_name_goes_with_the_only_message_that_said_it() {
    let store = Store::in_memory().unwrap();
    let (said, tea) = write(&store, |tx| {
        use_hash_embedder(tx)?;
        tx.set_setting("user_name", "Ana")?;
        tx.set_setting("writer", "auto")?;
        let session = tx.create_session("I'm Ana", at(0), false)?;
        let said = say(tx, session, Role::User, "I'm Ana");
        close(tx, session, &[said]);
        let other = tx.create_session("Tea", at(5), false)?;
        let tea = say(tx, other, Role::User, "I like tea");
        close(tx, other, &[tea]);
        let theme = tx.create_theme("Drinks")?;
        fact(tx, "Ana likes tea", theme, &[tea]);
        Ok((said, tea))
    });
    let plan = forget(&store, &[AnyId::Message(said)], None);
    assert_eq!(plan.messages, [said]);
    assert_eq!(plan.episodes.len(), 2);
    read(&store, |r| {
        assert_eq!(r.settings()?, [("writer".to_owned(), "auto".to_owned())]);
        // To be written again, about "the user".
        assert!(r.semantics()?.is_empty());
        assert_eq!(r.open_messages(r.sessions()?[0].id)?[0].id, tea);
        Ok(())
    });
}

#[test]
fn a_plan_that_has_grown_old_takes_what_was_written_since() {
    let (store, small) = small_in_memory();
    let open = store.write(|tx| Ok(say(tx, small.session, Role::User, "My PIN is 4711"))).unwrap();
    let plan = plan(&store, &[AnyId::Message(open)], None);
    assert!(plan.episodes.is_empty());
    write(&store, |tx| {
        close(tx, small.session, &[open]);
        fact(tx, "The PIN is 4711", small.themes[0], &[open]);
        Ok(())
    });
    store.write(|tx| tx.forget(&plan)).unwrap();
    assert_valid(&store);
    read(&store, |r| {
        assert_eq!((r.stats()?.episodes, r.stats()?.semantics), (1, 2));
        assert!(r.full_text(Level::Semantic, "4711", 9)?.is_empty());
        Ok(())
    });
    // A second time does nothing more.
    store.write(|tx| tx.forget(&plan)).unwrap();
    assert_valid(&store);
}

/// A step that read the text before it was forgotten must not write it back.
#[test]
fn a_running_step_cannot_commit_what_it_read_before() {
    let (store, small) = small_in_memory();
    let theme = small.themes[1];
    let job = write(&store, |tx| {
        tx.enqueue(&JobKind::NameTheme(theme))?;
        tx.enqueue(&JobKind::Boundary(small.session))?;
        tx.enqueue(&JobKind::Consolidate(small.facts[0]))?;
        let (_, message, _) = elsewhere(tx, "Cats are fine too");
        fact(tx, "The user finds cats fine", theme, &[message]);
        let name = JobKind::NameTheme(theme);
        let job = tx.pending_jobs()?.into_iter().find(|j| j.kind == name).unwrap();
        tx.begin_job(job.id)?;
        Ok(job)
    });
    forget(&store, &[AnyId::Message(small.messages[2])], None);
    let late = store.write(|tx| {
        tx.rename_theme(theme, "Beagles and cats")?;
        tx.finish_job(job.id)
    });
    assert!(matches!(late, Err(crate::store::StoreError::NotFound { .. })));
    read(&store, |r| {
        assert_eq!(r.themes_by_id(&[theme])?[0].name, "unnamed");
        let jobs: Vec<_> = r.pending_jobs()?.into_iter().map(|j| j.kind).collect();
        // The running job is queued again; the one about the fact that is gone is not.
        assert_eq!(
            jobs,
            [
                JobKind::Boundary(small.session),
                JobKind::Close(small.session),
                JobKind::Reembed,
                JobKind::NameTheme(theme),
            ]
        );
        Ok(())
    });
    // And failing it is no error for the worker.
    store.write(|tx| tx.fail_job(job.id, "late", 3)).unwrap();
    assert_eq!(store.read(|r| r.stats()).unwrap().jobs_failed, 0);
}
