//! What forgetting leaves in the files: no byte of a text, a vector or a record.

use std::path::Path;

use serde_json::json;

use super::builders::*;
use super::forgetting::forget;
use crate::memory::Role;
use crate::store::{AnyId, JobKind, Level, Store};

/// All bytes of all files of the memory, the lock included.
pub(super) fn bytes(dir: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        all.extend(std::fs::read(entry.unwrap().path()).unwrap());
    }
    all
}

pub(super) fn has(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

/// The bytes of the forgotten text and of its vectors are in no file.
#[test]
fn no_forgotten_byte_is_in_any_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let secret = "Quetzalcoatlus";
    let text = format!("My private word is {secret}, and nobody else's");
    let vector = embed(&text);
    let (message, kept) = write(&store, |tx| {
        use_hash_embedder(tx)?;
        let session = tx.create_session(&text, at(0), false)?;
        for i in 0..300 {
            let id = say(tx, session, Role::User, &format!("Ordinary talk, quite {i}"));
            tx.put_embedding(Level::Message, id.0, &embed(&format!("ordinary {i}")))?;
        }
        let message = say(tx, session, Role::User, &text);
        let reply = say(tx, session, Role::Assistant, &format!("Noted: {secret}."));
        tx.put_embedding(Level::Message, message.0, &vector)?;
        let kept = say(tx, session, Role::User, "The kettle is on");
        let (title, told) = (format!("About {secret}"), format!("The private word is {secret}."));
        let episode = tx.insert_episode(session, &title, &told, &[message, reply, kept])?;
        tx.put_embedding(Level::Episode, episode.0, &vector)?;
        let theme = tx.create_theme(&format!("{secret} and others"))?;
        let a = fact(tx, &text, theme, &[message]);
        let b = fact(tx, "The kettle was on", theme, &[kept]);
        tx.replace_edges(Level::Semantic, a.0, &[(b.0, 0.5)])?;
        tx.edit_semantic(a, &format!("The word is {secret}"), &embed("edited"))?;
        tx.edit_semantic(a, &format!("It is {secret}!"), &vector)?;
        tx.edit_episode(episode, "Words", &format!("{secret}."))?;
        tx.put_embedding(Level::Theme, theme.0, &vector)?;
        tx.enqueue(&JobKind::Semantics(episode))?;
        tx.record_answer(reply, &json!({"question": text, "evidence": {"semantics": ["s1"]}}))?;
        Ok((message, kept))
    });
    // A step that failed on it, with the text in its error.
    write(&store, |tx| {
        tx.enqueue(&JobKind::Boundary(tx.sessions()?[0].id))?;
        let job = tx.next_job()?.unwrap();
        tx.begin_job(job.id)?;
        tx.fail_job(job.id, &format!("cannot parse {secret}"), 1)
    });
    // Some history in the log.
    for i in 0..20 {
        store.write(|tx| tx.set_setting("turn", &format!("{i}"))).unwrap();
    }
    let raw: Vec<u8> = vector.as_slice().iter().flat_map(|x| x.to_le_bytes()).collect();
    let before = bytes(dir.path());
    assert!(has(&before, secret.as_bytes()) && has(&before, &raw[..64]), "the test sees them");

    let plan = forget(&store, &[AnyId::Message(message)], None);
    store.scrub().unwrap();
    let nothing_is_left = |moment: &str| {
        let after = bytes(dir.path());
        for needle in [secret, "Quetzal", "quetzalcoatlu", "private", "nobody else"] {
            assert!(!has(&after, needle.as_bytes()), "{needle} while {moment}");
        }
        // Its vector, sixteen components at a time.
        for piece in raw.chunks(64).filter(|p| p.iter().any(|&b| b != 0)) {
            assert!(!has(&after, piece), "a vector while {moment}");
        }
        assert!(has(&after, b"The kettle is on"));
    };
    nothing_is_left("open");
    assert_valid(&store);
    read(&store, |r| {
        assert_eq!(r.messages_by_id(&[kept])?.len(), 1);
        assert_eq!(r.embeddings(Level::Message)?.len(), 300);
        assert_eq!(r.full_text(Level::Message, "kettle", 3)?[0].0, kept.0);
        Ok(())
    });
    assert!(!plan.rewritten.is_empty());
    // A reader that comes and goes brings nothing back.
    Store::open_read_only(dir.path()).unwrap().read(|r| r.stats()).unwrap();
    nothing_is_left("read");
    drop(store);
    nothing_is_left("closed");
}

#[test]
fn a_scrub_beside_a_reader_stays_due_until_it_can_be_done() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let small = small(&store);
    let reader = Store::open_read_only(dir.path()).unwrap();
    read(&reader, |r| {
        r.stats()?;
        forget(&store, &[AnyId::Message(small.messages[0])], None);
        let error = store.scrub().unwrap_err();
        assert!(error.to_string().contains("another program is reading"), "{error}");
        Ok(())
    });
    assert!(store.read(|r| r.scrub_is_due()).unwrap());
    drop((reader, store));
    let store = Store::open(dir.path()).unwrap();
    assert!(!store.read(|r| r.scrub_is_due()).unwrap());
    assert!(!has(&bytes(dir.path()), b"Lund"));
}

#[test]
fn a_text_that_only_the_undo_log_or_a_title_holds_is_found() {
    let (store, small) = small_in_memory();
    write(&store, |tx| {
        tx.edit_semantic(small.facts[0], "chip \"SECRET\"", &embed("x"))?;
        tx.edit_semantic(small.facts[0], "a chip", &embed("y"))
    });
    let plan = forget(&store, &[], Some("\u{201c}secret\u{201d}"));
    assert!(!plan.is_empty() && plan.messages.is_empty() && plan.semantics.is_empty());
    let log = store.read(|r| r.operations()).unwrap();
    assert!(log.iter().all(|(_, entry, _)| !entry.to_string().contains("SECRET")), "{log:?}");
    let fact = store.read(|r| r.semantic(small.facts[0])).unwrap();
    assert_eq!(fact.content, "a chip");

    write(&store, |tx| tx.create_session("Holidays at Lake Secret", at(30), true).map(|_| ()));
    let plan = forget(&store, &[], Some("lake  secret"));
    assert_eq!(plan.n_elsewhere, 1);
    let titles = store.read(|r| r.sessions()).unwrap();
    assert!(titles.iter().all(|session| !session.title.contains("Secret")), "{titles:?}");
}

/// A word that a line's end divides comes out in two: a reply may hold a piece of it alone.
#[test]
fn no_piece_of_a_word_that_was_blotted_out_is_in_any_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let (piece, other) = write(&store, |tx| {
        let text = "My boss Uunbzwa-\nynsutzb gave me a raise today";
        let session = tx.create_session(&crate::memory::title_of(text), at(0), false)?;
        say(tx, session, Role::User, text);
        say(tx, session, Role::User, "A raise is fine");
        let piece = say(tx, session, Role::Assistant, "Ynsutzb gave you a raise.");
        let other = say(tx, session, Role::Assistant, "A raise!");
        Ok((piece, other))
    });
    let plan = read(&store, |r| r.plan_blot("UUNBZWAYNSUTZB"));
    assert_eq!((plan.messages.as_slice(), plan.blotted.len()), (&[piece][..], 1));
    write(&store, |tx| tx.forget(&plan));
    store.scrub().unwrap();
    drop(store);
    let all = String::from_utf8_lossy(&bytes(dir.path())).to_lowercase();
    assert!(!all.contains("uunbzwa") && !all.contains("ynsutzb"));
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(read(&store, |r| r.messages_by_id(&[other])).len(), 1);
}
