//! Jobs and the undo log.

use super::builders::*;
use crate::memory::{EpisodeId, Role, SemanticId, SessionId, ThemeId};
use crate::store::{Job, JobKind, Level, Store, StoreError};

fn kinds(store: &Store) -> Vec<JobKind> {
    store.read(|r| Ok(r.pending_jobs()?.into_iter().map(|j| j.kind).collect())).unwrap()
}

fn next(store: &Store) -> Option<Job> {
    store.read(|r| r.next_job()).unwrap()
}

#[test]
fn jobs_are_taken_oldest_first_and_idle_work_last() {
    let (store, small) = small_in_memory();
    let consolidate = JobKind::Consolidate(small.facts[0]);
    let name = JobKind::NameTheme(small.themes[0]);
    let boundary = JobKind::Boundary(small.session);
    let semantics = JobKind::Semantics(small.episode);
    write(&store, |tx| {
        for kind in [&consolidate, &name, &boundary, &boundary, &semantics, &JobKind::Reembed] {
            tx.enqueue(kind)?;
        }
        // Units that do not exist.
        tx.enqueue(&JobKind::Close(SessionId(99)))?;
        tx.enqueue(&JobKind::Semantics(EpisodeId(99)))?;
        tx.enqueue(&JobKind::NameTheme(ThemeId(99)))?;
        tx.enqueue(&JobKind::Consolidate(SemanticId(99)))
    });
    assert_eq!(kinds(&store), [boundary, semantics, JobKind::Reembed, consolidate, name]);
    assert_valid(&store);
}

#[test]
fn a_job_is_tried_again_and_then_failed_and_can_be_retried() {
    let store = Store::in_memory().unwrap();
    let kind = JobKind::Boundary(small(&store).session);
    store.write(|tx| tx.enqueue(&kind)).unwrap();
    for attempt in 0..3 {
        let job = next(&store).unwrap();
        assert_eq!(job.attempts, attempt);
        store.write(|tx| tx.begin_job(job.id)).unwrap();
        assert_eq!(next(&store), None);
        assert_eq!(store.read(|r| r.stats()).unwrap().jobs_pending, 1);
        assert!(store.write(|tx| tx.begin_job(job.id)).is_err());
        store.write(|tx| tx.fail_job(job.id, "the model said nothing", 3)).unwrap();
    }
    assert_eq!(next(&store), None);
    let failed = store.read(|r| r.failed_jobs()).unwrap();
    assert_eq!((failed[0].0.kind.clone(), failed[0].1.as_str()), (kind, "the model said nothing"));
    assert_eq!(store.read(|r| r.stats()).unwrap().jobs_failed, 1);
    assert_eq!(store.write(|tx| tx.retry_failed()).unwrap(), 1);
    let job = next(&store).unwrap();
    assert_eq!(job.attempts, 0);
    store.write(|tx| tx.finish_job(job.id)).unwrap();
    assert!(kinds(&store).is_empty());
}

#[test]
fn an_equal_job_may_be_queued_beside_a_running_one_and_they_fall_into_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let kind = JobKind::Boundary(small(&store).session);
    store.write(|tx| tx.enqueue(&kind)).unwrap();
    let job = next(&store).unwrap();
    store.write(|tx| tx.begin_job(job.id)).unwrap();
    store.write(|tx| tx.enqueue(&kind)).unwrap();
    assert_eq!(kinds(&store).len(), 2);
    // The process dies.
    drop(store);
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(kinds(&store), [kind]);
    assert!(next(&store).is_some());
    assert_valid(&store);
}

#[test]
fn undo_takes_back_the_newest_first() {
    let (store, small) = small_in_memory();
    let [a, b] = small.facts;
    // Queued beforehand: undo leaves the job that brings the edges up to date in the queue.
    store.write(|tx| tx.enqueue(&JobKind::Reembed)).unwrap();
    let before = store.read(|r| r.dump()).unwrap();
    let vector = store.read(|r| r.embedding(Level::Semantic, a.0)).unwrap();
    let mut states = vec![before];
    let mut step = |f: &dyn Fn(&mut crate::store::WriteTx<'_>) -> Result<(), StoreError>| {
        store.write(|tx| f(tx)).unwrap();
        states.push(store.read(|r| r.dump()).unwrap());
    };
    step(&|tx| tx.edit_semantic(a, "The user moved to Malmö", &embed("Malmö")));
    step(&|tx| tx.supersede(a, b, None, at(5)));
    step(&|tx| tx.rename_theme(small.themes[0], "Where the user lives"));
    step(&|tx| tx.supersede(a, b, None, at(6)));
    let mut undone = Vec::new();
    for state in states.iter().rev().skip(1) {
        undone.push(store.write(|tx| tx.undo()).unwrap().unwrap());
        assert_eq!(store.read(|r| r.dump()).unwrap(), *state);
    }
    assert_eq!(
        undone,
        ["s1 superseded by s2", "rename of t1", "s1 superseded by s2", "edit of s1"]
    );
    assert_eq!(store.write(|tx| tx.undo()).unwrap(), None);
    assert_eq!(store.read(|r| r.embedding(Level::Semantic, a.0)).unwrap(), vector);
    assert_eq!(store.read(|r| r.stats()).unwrap().reassignment_ratio, 0.0);
}

#[test]
fn a_merge_is_one_operation_and_its_undo_takes_the_joint_fact_away() {
    let (store, small) = small_in_memory();
    let [a, b] = small.facts;
    let told = |tx: &mut crate::store::WriteTx<'_>, text: &str| {
        fact(tx, text, small.themes[0], &[small.messages[0]])
    };
    let older = store.write(|tx| Ok(told(tx, "The user lives in the north"))).unwrap();
    store.write(|tx| tx.supersede(a, older, None, at(4))).unwrap();
    let before = store.read(|r| r.dump()).unwrap();
    let joint = write(&store, |tx| {
        let joint = told(tx, "Both at once");
        tx.merge([a, b], joint, at(5))?;
        Ok(joint)
    });
    let parts = store.read(|r| r.semantics_by_id(&[a, b])).unwrap();
    assert!(parts.iter().all(|s| s.superseded_by == Some(joint)));
    // In a circle of supersession no fact would hold.
    assert!(store.write(|tx| tx.merge([joint, b], a, at(6))).is_err());
    let undone = store.write(|tx| tx.undo()).unwrap().unwrap();
    assert_eq!(undone, format!("merge of {a} and {b} into {joint}"));
    assert_eq!(store.read(|r| r.dump()).unwrap(), before);
    assert_valid(&store);
}

#[test]
fn an_episodes_edit_is_undone_and_its_vector_made_again() {
    let (store, small) = small_in_memory();
    let id = small.episode;
    store.write(|tx| tx.put_embedding(Level::Episode, id.0, &embed("before"))).unwrap();
    store.write(|tx| tx.edit_episode(id, "Moving", "They moved.")).unwrap();
    assert_eq!(store.read(|r| r.embedding(Level::Episode, id.0)).unwrap(), None);
    assert_eq!(kinds(&store), [JobKind::Reembed]);
    let missing = store.read(|r| r.without_embedding(Level::Episode, 9)).unwrap();
    assert_eq!(missing, [(id.0, "Moving\nThey moved.".to_owned())]);
    store.write(|tx| tx.undo()).unwrap().unwrap();
    assert_eq!(store.read(|r| Ok(r.episodes()?[0].title.clone())).unwrap(), "An episode");
}

#[test]
fn the_workers_naming_is_not_the_persons_to_undo() {
    let (store, small) = small_in_memory();
    let theme = small.themes[0];
    store.write(|tx| tx.rename_theme(theme, "Mine")).unwrap();
    for rename_first in [true, false] {
        store.write(|tx| tx.enqueue(&JobKind::NameTheme(theme))).unwrap();
        let job = next(&store).unwrap();
        write(&store, |tx| {
            if rename_first {
                tx.rename_theme(theme, "The worker's")?;
            }
            tx.finish_job(job.id)?;
            tx.rename_theme(theme, "The worker's, again")
        });
    }
    assert_eq!(store.write(|tx| tx.undo()).unwrap().unwrap(), "rename of t1");
    assert_eq!(store.read(|r| Ok(r.themes()?[0].name.clone())).unwrap(), "Home");
    assert_eq!(store.write(|tx| tx.undo()).unwrap(), None);
}

#[test]
fn an_edit_is_undone_under_another_embedder() {
    let (store, small) = small_in_memory();
    let fact = small.facts[0];
    store.write(|tx| tx.edit_semantic(fact, "new", &embed("new"))).unwrap();
    store.write(|tx| tx.use_embedder("another", 3)).unwrap();
    store.write(|tx| tx.undo()).unwrap().unwrap();
    let content = store.read(|r| Ok(r.semantics()?[0].content.clone())).unwrap();
    assert_eq!(content, "The user moved to Lund");
    assert_eq!(kinds(&store), [JobKind::Reembed]);
    assert_valid(&store);
}

#[test]
fn a_reply_is_finished_and_its_early_vector_dropped() {
    let (store, small) = small_in_memory();
    let reply = small.messages[3];
    store.write(|tx| tx.put_embedding(Level::Message, reply.0, &embed("early"))).unwrap();
    store.write(|tx| tx.finish_message(reply, "All of it.", true)).unwrap();
    read(&store, |r| {
        assert_eq!(r.messages_by_id(&[reply])?[0].content, "All of it.");
        assert_eq!(r.embedding(Level::Message, reply.0)?, None);
        assert_eq!(r.full_text(Level::Message, "early beagle", 9)?.len(), 1);
        Ok(())
    });
    let open = write(&store, |tx| {
        let id = say(tx, small.session, Role::Assistant, "");
        tx.finish_message(id, "cut o", false)?;
        Ok(id)
    });
    let missing = store.read(|r| r.without_embedding(Level::Message, 99)).unwrap();
    assert!(!missing.iter().any(|(id, _)| *id == open.0), "{missing:?}");
}
