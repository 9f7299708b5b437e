//! The worker on its own thread: it pauses for the person within a token, goes on, stops, tells
//! what it does, and keeps what the person asks it to.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "support/worker.rs"]
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use inglenook::interfaces::{
    Cancel, Context, Embedder, Finish, Generated, LanguageModel, ModelError, ModelInfo, Priority,
    Sampling, TurnRole, Uncertainty,
};
use inglenook::memory::{Embedding, Role};
use inglenook::model_policy::Mode;
use inglenook::store::{JobKind, Level, Store};
use inglenook::testing::{HashEmbedder, ScriptedModel};
use inglenook::worker::check::Check;
use inglenook::worker::{
    Worker, WorkerConfig, WorkerState, catch_up as before_a_question, run_until_idle,
};
use support::{Bed, models, models_with};

fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn beside_chat(bed: &Bed) -> Worker {
    Worker::start(
        bed.store.clone(),
        bed.models.clone(),
        bed.clock.clone(),
        WorkerConfig { writer: bed.config.writer, ..WorkerConfig::beside_chat(None) },
    )
}

/// Until every job is done.
fn wait_idle(bed: &Bed, worker: &Worker) {
    let n_pending = || bed.store.read(|r| r.stats()).unwrap().jobs_pending;
    until("it is idle", || n_pending() == 0 && worker.status().state == WorkerState::Idle);
}

/// Generates for ever, a token every 5 ms, until it is cancelled.
struct Slow {
    info: ModelInfo,
    generating: Arc<AtomicUsize>,
    free: Arc<AtomicBool>,
}

struct SlowContext {
    generating: Arc<AtomicUsize>,
    free: Arc<AtomicBool>,
    tokens: Vec<u32>,
}

impl LanguageModel for Slow {
    fn info(&self) -> &ModelInfo {
        &self.info
    }
    fn weights_sha256(&self) -> String {
        unreachable!()
    }
    fn encode(&self, text: &str) -> Vec<u32> {
        text.bytes().map(u32::from).collect()
    }
    fn decode(&self, _: &[u32]) -> String {
        String::new()
    }
    fn open_turn(&self, _: TurnRole) -> Vec<u32> {
        Vec::new()
    }
    fn close_turn(&self, _: TurnRole) -> Vec<u32> {
        Vec::new()
    }
    fn open_reply(&self) -> Vec<u32> {
        Vec::new()
    }
    fn turn(&self, _: TurnRole, text: &str) -> Vec<u32> {
        self.encode(text)
    }
    fn begin(&self) -> Vec<u32> {
        Vec::new()
    }
    fn context(&self, _: Priority) -> Result<Box<dyn Context>, ModelError> {
        Ok(Box::new(SlowContext {
            generating: Arc::clone(&self.generating),
            free: Arc::clone(&self.free),
            tokens: Vec::new(),
        }))
    }
}

impl Context for SlowContext {
    fn len(&self) -> usize {
        self.tokens.len()
    }
    fn tokens(&self) -> &[u32] {
        &self.tokens
    }
    fn n_processed(&self) -> u64 {
        0
    }
    fn extend(&mut self, tokens: &[u32]) -> Result<(), ModelError> {
        self.tokens.extend(tokens);
        Ok(())
    }
    fn truncate(&mut self, len: usize) {
        self.tokens.truncate(len);
    }
    fn fork(&self) -> Result<Box<dyn Context>, ModelError> {
        Err(ModelError::EngineStopped)
    }
    fn extend_with_logits(&mut self, _: &[u32], _: usize) -> Result<Vec<Vec<f32>>, ModelError> {
        Err(ModelError::EngineStopped)
    }
    fn extend_with_nlls(&mut self, _: &[u32]) -> Result<Vec<f64>, ModelError> {
        Err(ModelError::EngineStopped)
    }
    fn uncertainty(&mut self, _: &[u32], _: &[u32], _: usize) -> Result<Uncertainty, ModelError> {
        Err(ModelError::EngineStopped)
    }
    fn choose(&mut self, choices: &[Vec<u32>]) -> Result<Vec<f64>, ModelError> {
        Ok((0..choices.len()).map(|i| -(i as f64)).collect())
    }
    fn generate(
        &mut self,
        _: &Sampling,
        cancel: &Cancel,
        _: &mut dyn FnMut(&str),
    ) -> Result<Generated, ModelError> {
        self.generating.fetch_add(1, Ordering::SeqCst);
        let mut finish = Finish::EndOfTurn;
        while !self.free.load(Ordering::SeqCst) {
            if cancel.is_cancelled() {
                finish = Finish::Cancelled;
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.generating.fetch_sub(1, Ordering::SeqCst);
        Ok(Generated { text: "none".into(), n_tokens: 1, finish })
    }
}

/// A memory whose model writes, as slowly as `free` lets it.
fn slow_bed(generating: &Arc<AtomicUsize>, free: &Arc<AtomicBool>) -> Bed {
    let info = ModelInfo {
        name: "slow".into(),
        fingerprint: "slow".into(),
        n_parameters: 1_000_000_000,
        context_tokens: 1 << 20,
        vocabulary: 256,
        starter: false,
    };
    let slow = Slow { info, generating: Arc::clone(generating), free: Arc::clone(free) };
    let store = Store::in_memory().unwrap();
    let mut bed = Bed::new(store, inglenook::testing::models(Arc::new(slow)));
    bed.config.writer = Mode::Generative;
    bed
}

fn catch_up(bed: &Bed, patience: Duration, cancel: &Cancel) {
    let config = WorkerConfig { live: true, ..bed.config.clone() };
    let clock = bed.clock.clone();
    before_a_question(&bed.store, &bed.models, clock, config, patience, cancel).unwrap();
}

fn n_without_vector(bed: &Bed) -> usize {
    bed.store.read(|r| r.without_embedding(Level::Message, 100)).unwrap().len()
}

#[test]
fn before_a_question_rules_catch_up_and_a_model_that_writes_is_not_waited_for() {
    let (patience, cancel) = (Duration::from_mins(1), Cancel::default());
    let bed = Bed::new(Store::in_memory().unwrap(), models());
    bed.say(bed.session("s"), Role::User, "My dog is called Max.");
    catch_up(&bed, patience, &cancel);
    assert_eq!((bed.semantics().len(), n_without_vector(&bed)), (1, 0));

    let generating = Arc::new(AtomicUsize::new(0));
    let bed = slow_bed(&generating, &Arc::new(AtomicBool::new(false)));
    bed.say(bed.session("s"), Role::User, "My dog is called Max.");
    assert_eq!(n_without_vector(&bed), 1);
    catch_up(&bed, patience, &cancel);
    assert_eq!((generating.load(Ordering::SeqCst), n_without_vector(&bed)), (0, 0));
    assert!(bed.store.read(|r| r.stats()).unwrap().jobs_pending > 0);
}

#[test]
fn a_question_does_not_wait_longer_than_its_patience_and_nothing_is_lost() {
    let bed = Bed::new(Store::in_memory().unwrap(), models());
    for i in 0..400 {
        bed.say(bed.session("s"), Role::User, &format!("My dog number {i} is called Max{i}."));
    }
    let cancelled = Cancel::default();
    cancelled.cancel();
    for (patience, cancel) in
        [(Duration::ZERO, Cancel::default()), (Duration::from_mins(1), cancelled)]
    {
        catch_up(&bed, patience, &cancel);
        assert!(bed.store.read(|r| r.stats()).unwrap().jobs_pending > 0);
    }
    catch_up(&bed, Duration::from_mins(10), &Cancel::default());
    let stats = bed.store.read(|r| r.stats()).unwrap();
    assert_eq!((stats.messages, stats.jobs_pending, stats.jobs_failed), (400, 0, 0));
    assert!(!bed.semantics().is_empty());
}

#[test]
fn it_yields_to_the_person_and_goes_on_afterwards() {
    let generating = Arc::new(AtomicUsize::new(0));
    let free = Arc::new(AtomicBool::new(false));
    let bed = slow_bed(&generating, &free);
    let session = bed.session("s");
    bed.say(session, Role::User, "I moved to Lund last week.");
    bed.close(session);
    let worker =
        Worker::start(bed.store.clone(), bed.models.clone(), bed.clock.clone(), bed.config.clone());
    for _ in 0..3 {
        until("it generates", || generating.load(Ordering::SeqCst) == 1);
        assert!(matches!(worker.status().state, WorkerState::Working { .. }));
        let start = Instant::now();
        worker.pause();
        until("it has stopped", || generating.load(Ordering::SeqCst) == 0);
        assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
        until("it says so", || worker.status().state == WorkerState::Paused);
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(generating.load(Ordering::SeqCst), 0, "nothing begins while paused");
        worker.resume();
    }
    free.store(true, Ordering::SeqCst);
    wait_idle(&bed, &worker);
    let stats = bed.store.read(|r| r.stats()).unwrap();
    assert_eq!((stats.episodes, stats.jobs_pending, stats.jobs_failed), (1, 0, 0));
    drop(worker);
}

#[test]
fn it_sees_new_messages_by_itself_and_stops_when_dropped() {
    let bed = Bed::new(Store::in_memory().unwrap(), models());
    let worker = beside_chat(&bed);
    let session = bed.session("s");
    bed.say(session, Role::User, "My dog is called Max.");
    bed.close(session);
    until("the fact is there", || !bed.semantics().is_empty());
    wait_idle(&bed, &worker);
    drop(worker);
    bed.say(session, Role::User, "My cat is called Miso.");
    bed.close(session);
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(bed.store.read(|r| r.stats()).unwrap().jobs_pending, 2);
}

#[test]
fn a_reply_that_is_being_written_stays_out_of_the_episode() {
    let mut bed = Bed::new(Store::in_memory().unwrap(), models());
    bed.config = WorkerConfig { live: true, ..WorkerConfig::default() };
    let session = bed.session("s");
    bed.say(session, Role::User, "I live in Lund.");
    bed.say(session, Role::Assistant, "Noted.");
    bed.say(session, Role::User, "I have a dog.");
    let reply = bed.say(session, Role::Assistant, "");
    bed.store.write(|tx| tx.finish_message(reply, "How ni", false)).unwrap();
    bed.work();
    assert_eq!(bed.store.read(|r| r.open_messages(session)).unwrap().len(), 2);
    // It was never finished: the process had died.
    bed.clock.advance(jiff::SignedDuration::from_mins(11));
    bed.close(session);
    bed.work();
    assert_eq!(bed.store.read(|r| r.open_messages(session)).unwrap().len(), 0);
}

#[test]
fn a_new_model_is_tried_in_idle_time_and_only_then() {
    let bed = Bed::new(Store::in_memory().unwrap(), models_with(ScriptedModel::new(&[])));
    let info = bed.models.language.info().clone();
    let setting = |key: String| bed.store.read(|r| r.setting(&key)).unwrap().unwrap_or_default();
    let so_far = || setting(format!("check:{}", info.fingerprint));
    let grade = || setting(info.grade_key());
    let worker = |check_after| {
        let config = WorkerConfig { check_after, ..WorkerConfig::beside_chat(None) };
        Worker::start(bed.store.clone(), bed.models.clone(), bed.clock.clone(), config)
    };
    // The person is chatting: not now.
    let paused = worker(Some(Duration::ZERO));
    paused.pause();
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(so_far() + &grade(), "");
    drop(paused);
    // It goes on with what was found before.
    let mut check = Check::from_setting(None);
    for _ in 0..5 {
        assert_eq!(check.next(&bed.models, &Cancel::default()).unwrap(), None);
    }
    let key = format!("check:{}", info.fingerprint);
    bed.store.write(|tx| tx.set_setting(&key, &check.to_setting())).unwrap();
    let idle = worker(Some(Duration::ZERO));
    until("the grade", || !grade().is_empty());
    until("the end", || so_far().is_empty());
    drop(idle);
    let graded = grade();
    // It has a grade: nothing more is to be done.
    let again = worker(Some(Duration::ZERO));
    std::thread::sleep(Duration::from_millis(400));
    drop(again);
    assert_eq!((grade(), so_far()), (graded, String::new()));
}

#[test]
fn remember_keeps_a_text_at_once() {
    let bed = Bed::new(Store::in_memory().unwrap(), models());
    let session = bed.session("s");
    bed.say(session, Role::User, "I live in Oslo.");
    bed.say(session, Role::Assistant, "I see.");
    let worker = Worker::start(
        bed.store.clone(),
        bed.models.clone(),
        bed.clock.clone(),
        WorkerConfig { current_session: Some(session), ..WorkerConfig::default() },
    );
    let ids = worker.remember(session, " I moved to Lund last week. ").unwrap();
    let kept = bed.store.read(|r| r.semantics_by_id(&ids)).unwrap();
    assert_eq!(kept[0].content, "The user moved to Lund (week of 9 November 2026)");
    // No statement of the person's: kept as it is.
    let ids = worker.remember(session, "wifi: hunter2").unwrap();
    let kept = bed.store.read(|r| r.semantics_by_id(&ids)).unwrap();
    assert!(kept[0].content.contains("hunter2"), "{kept:?}");
    assert!(worker.remember(session, "  ").is_err());
    wait_idle(&bed, &worker);
    drop(worker);
    let current = bed.current();
    assert!(current.iter().any(|f| f.contains("Lund")), "{current:?}");
    assert!(!current.iter().any(|f| f.contains("Oslo")), "superseded: {current:?}");
    assert_eq!(bed.store.read(|r| r.verify()).unwrap(), [""; 0]);
}

#[test]
fn what_the_person_changed_is_what_later_facts_are_compared_with() {
    let bed = Bed::new(Store::in_memory().unwrap(), models());
    let worker = beside_chat(&bed);
    let say = |title: &str, text: &str| {
        let session = bed.session(title);
        bed.say(session, Role::User, text);
        bed.close(session);
        wait_idle(&bed, &worker);
    };
    say("first", "My dog is called Max.");
    say("second", "I live in Lund.");
    let edited = bed.semantics()[0].id;
    let text = "The user collects stamps from Peru";
    let vector = HashEmbedder.embed(&[text]).unwrap().remove(0);
    bed.store.write(|tx| tx.edit_semantic(edited, text, &vector)).unwrap();
    say("third", "I collect stamps from Chile.");
    assert_eq!(bed.store.read(|r| r.verify()).unwrap(), [""; 0]);
    let (edges, vectors) = bed
        .store
        .read(|r| Ok((r.edges(Level::Semantic)?, r.embeddings(Level::Semantic)?)))
        .unwrap();
    let vector = |id: i64| &vectors.iter().find(|(other, _)| *other == id).unwrap().1;
    assert!(edges.iter().any(|&(a, _, _)| a == edited.0), "{edges:?}");
    for (a, b, weight) in edges {
        let cosine = vector(a).cosine(vector(b));
        assert!((cosine - weight).abs() < 1e-5, "{a} to {b}: {weight}, and it is {cosine}");
    }
}

#[test]
fn the_persons_name_is_learned_and_facts_from_before_are_still_theirs() {
    let bed = Bed::new(Store::in_memory().unwrap(), models());
    let first = bed.session("first");
    bed.say(first, Role::User, "I live in Oslo.");
    bed.close(first);
    bed.work();
    let second = bed.session("second");
    bed.say(second, Role::User, "My name is Ana.");
    bed.say(second, Role::User, "I live in Lund now.");
    bed.close(second);
    bed.work();
    assert_eq!(bed.store.read(|r| r.setting("user_name")).unwrap().as_deref(), Some("Ana"));
    let current = bed.current();
    assert!(current.iter().any(|f| f.contains("Ana") && f.contains("Lund")), "{current:?}");
    assert!(!current.iter().any(|f| f.contains("Oslo")), "{current:?}");
}

/// Fails for one text only.
struct Picky;

impl Embedder for Picky {
    fn id(&self) -> &'static str {
        "picky"
    }
    fn dimensions(&self) -> usize {
        HashEmbedder.dimensions()
    }
    fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        assert!(!texts.iter().any(|t| t.contains("panic")), "a bug");
        if texts.iter().any(|t| t.contains("cursed")) {
            return Err(ModelError::NotANumber);
        }
        HashEmbedder.embed(texts)
    }
}

#[test]
fn a_step_that_fails_is_given_up_visibly_and_the_others_go_on() {
    let mut bed = Bed::new(Store::in_memory().unwrap(), models());
    bed.models.embedder = Arc::new(Picky);
    for text in ["I live in a cursed house.", "I have a panic room.", "My dog is called Max."] {
        let session = bed.session(text);
        bed.say(session, Role::User, text);
        bed.store.write(|tx| tx.enqueue(&JobKind::Close(session))).unwrap();
    }
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let config = WorkerConfig { writer: Mode::Extractive, ..WorkerConfig::default() };
    let (clock, cancel) = (bed.clock.clone(), Cancel::default());
    let n = run_until_idle(&bed.store, &bed.models, clock, config, |_| {}, &cancel);
    std::panic::set_hook(hook);
    assert!(n.unwrap() >= 3);
    let failed = bed.store.read(|r| r.failed_jobs()).unwrap();
    let errors: Vec<&str> = failed.iter().map(|(_, e)| e.as_str()).collect();
    // Boundary and Close of two sessions, and the embedding of everything for a new embedder.
    assert_eq!(errors.len(), 5, "{errors:?}");
    assert!(errors.iter().any(|e| e.contains("not a number")), "{errors:?}");
    assert!(errors.iter().any(|e| e.contains("internal error: a bug")), "{errors:?}");
    assert!(bed.current().iter().any(|f| f.contains("Max")));
    assert_eq!(bed.store.read(|r| r.verify()).unwrap(), [""; 0]);
    // Another embedder, another try: nothing was lost.
    bed.models.embedder = Arc::new(HashEmbedder);
    bed.work();
    let current = bed.current();
    assert!(current.iter().any(|f| f.contains("cursed")), "{current:?}");
    assert_eq!(bed.store.read(|r| r.embedder_id()).unwrap().as_deref(), Some("hash-128"));
}

/// Works once it is told to.
#[derive(Default)]
struct Repaired(AtomicBool);

impl Embedder for Repaired {
    fn id(&self) -> &'static str {
        "repaired"
    }
    fn dimensions(&self) -> usize {
        HashEmbedder.dimensions()
    }
    fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        if self.0.load(Ordering::SeqCst) {
            return HashEmbedder.embed(texts);
        }
        Err(ModelError::EngineStopped)
    }
}

#[test]
fn an_engine_that_cannot_be_used_is_waited_for_and_no_step_fails() {
    let mut bed = Bed::new(Store::in_memory().unwrap(), models());
    let embedder = Arc::new(Repaired::default());
    bed.models.embedder = embedder.clone();
    let worker = beside_chat(&bed);
    let session = bed.session("s");
    bed.say(session, Role::User, "My dog is called Max.");
    bed.close(session);
    until("it says so", || matches!(worker.status().state, WorkerState::Failed { .. }));
    embedder.0.store(true, Ordering::SeqCst);
    until("the fact is there", || !bed.semantics().is_empty());
    assert_eq!(bed.store.read(|r| r.stats()).unwrap().jobs_failed, 0);
}

#[test]
fn a_job_that_kills_the_process_is_given_up() {
    let bed = Bed::new(Store::in_memory().unwrap(), models());
    let session = bed.session("s");
    bed.close(session);
    for _ in 0..50 {
        let job = bed.store.read(|r| r.next_job()).unwrap().unwrap();
        bed.store.write(|tx| tx.begin_job(job.id)).unwrap();
        // As the next process finds it.
        bed.store.write(|tx| tx.fail_job(job.id, "", u32::MAX)).unwrap();
    }
    let (clock, config) = (bed.clock.clone(), bed.config.clone());
    run_until_idle(&bed.store, &bed.models, clock, config, |_| {}, &Cancel::default()).unwrap();
    let failed = bed.store.read(|r| r.failed_jobs()).unwrap();
    assert!(matches!(&failed[..], [(_, e)] if e.contains("begun 50 times")), "{failed:?}");
}
