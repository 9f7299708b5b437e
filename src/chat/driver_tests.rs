use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};

use super::*;
use crate::chat::ask::Answered;
use crate::chat::machine::{Forked, Level, MessageKind};
use crate::chat::sampling::{Setting, SettingValue};
use crate::chat::{ChatConfig, ChatError, answer_in};
use crate::extractive::Candidate;
use crate::interfaces::{
    Cancel, Clock, LoadProgress, MemoryModel, ModelError, ModelSource, ModelSummary, Models,
};
use crate::memory::{Message, MessageId, NewMessage, Origin, Role, SemanticId};
use crate::model_policy::{Mode, Reader, reading_model};
use crate::recall::{
    Evidence, Progress, RecallConfig, RecallError, RecallRequest, SemanticEvidence,
};
use crate::store::{AnyId, JobKind, Store};
use crate::testing::{ManualClock, ScriptedModel};

/// There is no model.
struct Missing;

impl ModelSource for Missing {
    fn installed(&self) -> Vec<ModelSummary> {
        Vec::new()
    }
    fn default_name(&self) -> String {
        "missing".into()
    }
    fn load(
        &self,
        _: Option<&str>,
        _: &(dyn Fn(LoadProgress) + Sync),
    ) -> Result<Models, ModelError> {
        Err(ModelError::NotInstalled { name: "missing".into() })
    }
}

/// Always the same memory; or it waits until it is stopped, or panics.
enum Memory {
    Lund,
    Never,
    Bug,
}

impl Memory {
    fn recall(
        &self,
        models: &Models,
        request: &RecallRequest<'_>,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Evidence, RecallError> {
        on_progress(Progress::Searching);
        match self {
            Self::Never => {
                while !request.cancel.is_cancelled() {
                    thread::sleep(Duration::from_millis(1));
                }
                return Err(RecallError::Cancelled);
            }
            Self::Bug => panic!("a bug"),
            Self::Lund => {}
        }
        let mut context = None;
        if request.reader != Reader::Extractive {
            let reader = reading_model(request.reader, models)?;
            let mut held = reader.context(crate::interfaces::Priority::Chat)?;
            let text = format!("<memories>lives in Lund</memories>{}", request.question);
            held.extend(&reader.encode(&text))?;
            context = Some(held);
        }
        Ok(Evidence {
            candidates: vec![Candidate {
                text: "The user lives in Lund".into(),
                relevance: 0.9,
                at: jiff::civil::date(2026, 11, 16).at(9, 0, 0, 0),
                raw_speaker: None,
                superseded: false,
                origin: Origin::Person,
                answers: None,
            }],
            semantics: vec![SemanticEvidence {
                id: SemanticId(1),
                text: "The user lives in Lund".into(),
                messages: vec![MessageId(1)],
                relevance: 0.9,
                superseded: false,
            }],
            prompt_tokens: 40,
            processed_tokens: 90,
            context,
            ..Evidence::default()
        })
    }
}

fn parts(store: &Store, source: impl ModelSource + 'static, memory: Memory) -> Parts {
    Parts {
        store: store.clone(),
        source: Arc::new(source),
        clock: Arc::new(ManualClock::at("2026-11-21T10:00:00Z")),
        config: ChatConfig::default(),
        recall: RecallConfig::default(),
        recaller: Arc::new(move |recall, request, report| {
            memory.recall(recall.models, &request, report)
        }),
        reader: Mode::Generative,
        worker: None,
        models: Arc::default(),
        incognito: false,
        allowed: crate::chat::Allowed::default(),
    }
}

fn model() -> ScriptedModel {
    ScriptedModel::new(&[("Where do I live?", "You live in \u{1b}[31mLund.")])
}

fn models(model: ScriptedModel) -> Models {
    crate::testing::models(Arc::new(model))
}

struct Heard {
    driver: Driver,
    updates: Receiver<Update>,
    log: Mutex<Vec<Update>>,
}

impl Heard {
    fn start(parts: Parts) -> Self {
        let (sender, updates) = channel();
        let driver = Driver::start(parts, move |u| {
            let _ = sender.send(u);
        })
        .unwrap();
        Self { driver, updates, log: Mutex::default() }
    }

    /// Waits for a wanted update, logging every update up to it.
    #[track_caller]
    fn until<T>(&self, mut wanted: impl FnMut(&Update) -> Option<T>) -> T {
        loop {
            let update = self
                .updates
                .recv_timeout(Duration::from_secs(10))
                .unwrap_or_else(|_| panic!("nothing came after {:?}", self.log.lock().unwrap()));
            let found = wanted(&update);
            self.log.lock().unwrap().push(update);
            if let Some(found) = found {
                return found;
            }
        }
    }

    #[track_caller]
    fn idle(&self) {
        self.until(|u| matches!(u, Update::Phase(PhaseName::Idle)).then_some(()));
    }

    fn submit(&self, text: &str) {
        self.driver.send(Command::Submit { text: text.into(), kind: MessageKind::Chat });
    }

    #[track_caller]
    fn reply(&self) -> (Message, serde_json::Value) {
        self.until(|u| match u {
            Update::ReplyDone(done) => Some((done.message.clone(), done.record.clone())),
            _ => None,
        })
    }
}

/// A chat with a generative reader, on an empty store.
fn started(memory: Memory) -> (Store, Heard) {
    let store = Store::in_memory().unwrap();
    let heard = Heard::start(parts(&store, models(model()), memory));
    (store, heard)
}

#[test]
fn a_turn_is_on_disk_with_its_evidence_and_its_job() {
    let (store, heard) = started(Memory::Lund);
    heard.submit("Where do I live?");
    let (message, record) = heard.reply();
    // The model's escape sequence is removed before anything is saved.
    assert_eq!(message.content, "You live in Lund.");
    assert!(message.complete);
    assert_eq!(record["evidence"]["semantics"][0]["id"], "s1");
    assert_eq!(record["tokens"]["prompt"].as_u64(), Some(50));
    assert!(record["tokens"]["generated"].as_u64().unwrap() > 0);
    assert!(record["seconds"]["total"].as_f64().is_some());
    heard.idle();
    store
        .read(|r| {
            let sessions = r.sessions()?;
            assert_eq!(sessions[0].title, "Where do I live?");
            let messages = r.messages(sessions[0].id)?;
            assert_eq!(messages.len(), 2);
            assert_eq!(r.answer_record(message.id)?.unwrap()["answer"], "You live in Lund.");
            let job = r.next_job()?.unwrap();
            assert_eq!(job.kind, JobKind::Boundary(sessions[0].id));
            Ok(())
        })
        .unwrap();
    let window = heard
        .log
        .lock()
        .unwrap()
        .iter()
        .any(|u| matches!(u, Update::Window(w) if w.n_dropped == 0 && w.used_tokens == 50));
    assert!(window, "what fell out of the window is said");
    // Leaving closes the session.
    heard.driver.stop();
    let jobs = store.read(|r| r.pending_jobs()).unwrap();
    assert!(jobs.iter().any(|j| matches!(j.kind, JobKind::Close(_))), "{jobs:?}");
}

#[test]
fn the_built_in_model_reads_for_a_small_one() {
    let store = Store::in_memory().unwrap();
    let named = |name: &str, reply: &str, n_parameters| {
        model().with_default_reply(reply).with_info(|info| {
            (info.name, info.n_parameters) = (name.into(), n_parameters);
        })
    };
    let ask = |n_parameters, text: &str| {
        let language = named("large", "Good evening.", n_parameters);
        let built_in: Arc<dyn MemoryModel> = Arc::new(named("small", "In Lund.", 135_000_000));
        let models = Models { memory: Some(built_in), ..models(language) };
        let parts = Parts { reader: Mode::Auto, ..parts(&store, models, Memory::Lund) };
        let answered = answer_in(parts, None, text, &Cancel::default(), &mut |_| {}).unwrap();
        (answered.text, answered.record["model"].as_str().unwrap().to_owned())
    };
    let at_home = "Which place is my home in?";
    assert_eq!(ask(500_000_000, at_home), ("In Lund.".into(), "small".into()));
    assert_eq!(ask(500_000_000, "hi"), ("Good evening.".into(), "large".into()));
    assert_eq!(ask(2_000_000_000, at_home).1, "large");
}

#[test]
fn incognito_reads_memory_and_leaves_no_trace() {
    let (store, heard) = started(Memory::Lund);
    heard.until(|u| matches!(u, Update::Ready(_)).then_some(()));
    let before = store.generation();
    heard.driver.send(Command::Incognito(true));
    heard.submit("Where do I live?");
    assert_eq!(heard.reply().0.content, "You live in Lund.");
    heard.idle();
    heard.driver.send(Command::Incognito(false));
    heard.until(|u| matches!(u, Update::Session { incognito: false, .. }).then_some(()));
    heard.driver.stop();
    assert_eq!(store.generation(), before);
    assert_eq!(store.read(|r| r.stats()).unwrap().messages, 0);
}

#[test]
fn stopping_while_memory_is_searched_is_immediate() {
    let (store, heard) = started(Memory::Never);
    heard.submit("Where do I live?");
    heard.until(|u| matches!(u, Update::Progress(_)).then_some(()));
    heard.driver.send(Command::Stop);
    heard.idle();
    // The message stays, and can be answered after all.
    assert_eq!(store.read(|r| r.stats()).unwrap().messages, 1);
    heard.driver.stop();
}

#[test]
fn a_bug_in_recall_costs_one_answer_at_most() {
    let (_store, heard) = started(Memory::Bug);
    heard.submit("Where do I live?");
    assert_eq!(heard.reply().0.content, "You live in Lund.", "without memories");
    let warned = heard.log.lock().unwrap().iter().any(|u| {
        matches!(u, Update::Notice { level: Level::Warning, text } if text.contains("a bug in inglenook"))
    });
    assert!(warned);
    heard.driver.stop();
}

#[test]
fn replies_have_versions_and_chats_go_on_from_others() {
    let (store, heard) = started(Memory::Lund);
    heard.submit("Where do I live?");
    let first = heard.reply().0;
    heard.driver.send(Command::Regenerate);
    let second = heard.reply().0;
    let read = |session| store.read(|r| r.conversation(session)).unwrap();
    let session = first.session;
    assert_eq!(read(session).aside, [first.id].into());
    heard.driver.send(Command::Choose { chosen: first.clone(), others: vec![first.id, second.id] });
    // Written anew, the question stands in a chat of its own, and the old one is as it was.
    let question = read(session).messages[0].clone();
    let then = Forked::Submit("Where did I live?".into());
    heard.driver.send(Command::Fork { parent: session, before: question.id, then });
    let third = heard.reply().0;
    assert_ne!(third.session, session);
    assert_eq!(read(session).aside, [second.id].into());
    assert_eq!(read(session).messages.len(), 3);
    assert_eq!(read(third.session).messages.len(), 2);
    assert_eq!(read(third.session).title, "Where did I live?");
    // Goes on from an answer: what was said before is there, and in no memory twice.
    let (parent, before) = (session, MessageId(second.id.0 + 1));
    heard.driver.send(Command::Fork { parent, before, then: Forked::Submit("And before?".into()) });
    let fourth = heard.reply().0;
    assert_eq!(read(fourth.session).messages.len(), 5);
    assert_eq!(store.read(|r| r.messages(fourth.session)).unwrap().len(), 2);
    assert_eq!(store.read(|r| r.verify()).unwrap(), Vec::<String>::new());
    heard.driver.stop();
}

#[test]
fn once_is_one_question_and_one_answer() {
    let store = Store::in_memory().unwrap();
    let ask = |cancel: &Cancel, memory| {
        let parts = parts(&store, models(model()), memory);
        let mut streamed = String::new();
        let result = answer_in(parts, None, "Where do I live?", cancel, &mut |update| {
            if let Update::ReplyText(piece) = update {
                streamed.push_str(piece);
            }
        });
        (result, streamed)
    };
    let (answered, streamed) = ask(&Cancel::default(), Memory::Lund);
    let Answered { text, complete, record, notices } = answered.unwrap();
    assert_eq!(text, "You live in Lund.");
    assert!(complete && notices.is_empty());
    assert_eq!(record["model"], "scripted");
    assert!(streamed.contains("Lund"));
    let cancel = Cancel::default();
    cancel.cancel();
    assert!(matches!(ask(&cancel, Memory::Never).0, Err(ChatError::Cancelled)));
    let nothing = parts(&store, Missing, Memory::Lund);
    let result = answer_in(nothing, None, "hi", &Cancel::default(), &mut |_| {});
    assert!(matches!(result, Err(ChatError::Model { .. })));
    let sessions = store.read(|r| r.sessions()).unwrap();
    assert!(sessions.iter().any(|s| s.n_messages == 2));
    let stored: Vec<_> =
        sessions.iter().flat_map(|s| store.read(|r| r.messages(s.id)).unwrap()).collect();
    let holds = |role, text| stored.iter().any(|m| m.role == role && m.content == text);
    assert!(holds(Role::User, "Where do I live?"));
    assert!(holds(Role::Assistant, "You live in Lund."));
    assert!(holds(Role::User, "hi"), "kept, though no model answers");
}

#[test]
fn only_a_reply_that_may_rest_on_what_was_forgotten_meanwhile_is_dropped() {
    let store = Store::in_memory().unwrap();
    let told = |text: &str| {
        let at = ManualClock::at("2026-11-20T10:00:00Z").now();
        let message = store.write(|tx| {
            let session = tx.create_session(text, at, false)?;
            tx.append_message(session, &NewMessage::new(Role::User, text, at))
        });
        message.unwrap()
    };
    let (lund, dog) = (told("I live in Lund."), told("My dog is called Bo."));
    assert_eq!(lund, MessageId(1), "what the memory of this test comes from");
    // While it recalls, somebody forgets the next of these.
    let gone = Arc::new(Mutex::new(vec![lund, dog]));
    let mut parts = parts(&store, models(model()), Memory::Lund);
    let (elsewhere, next) = (store.clone(), Arc::clone(&gone));
    parts.recaller = Arc::new(move |recall, request, report| {
        let evidence = Memory::Lund.recall(recall.models, &request, report);
        if let Some(id) = next.lock().unwrap().pop() {
            let plan = elsewhere.read(|r| r.plan_forget(&[AnyId::Message(id)], None)).unwrap();
            elsewhere.write(|tx| tx.forget(&plan)).unwrap();
        }
        evidence
    });
    let heard = Heard::start(parts);
    heard.submit("Where do I live?");
    let kept = heard.reply().0;
    heard.idle();
    heard.submit("Where do I live?");
    heard.until(|u| match u {
        Update::Notice { level: Level::Error, text } => {
            text.contains("was forgotten meanwhile").then_some(())
        }
        _ => None,
    });
    heard.idle();
    heard.driver.stop();
    let messages = store.read(|r| r.messages(kept.session)).unwrap();
    let roles: Vec<Role> = messages.iter().map(|m| m.role).collect();
    assert_eq!(roles, [Role::User, Role::User], "the first reply quoted it, too");
}

#[test]
fn what_is_set_holds_for_this_chat_alone() {
    let store = Store::in_memory().unwrap();
    let model = ScriptedModel::new(&[]).with_default_reply("A frog jumps in.");
    let heard = Heard::start(parts(&store, models(model), Memory::Lund));
    let answer = || {
        heard.submit("Write a haiku about a pond.");
        let (message, _) = heard.reply();
        heard.idle();
        message.content
    };
    let set = |value| heard.driver.send(Command::Set(Setting::ReplyTokensMax, value));
    // Also before the first model is there.
    set(Some(SettingValue::Whole(6)));
    assert_eq!(answer(), "A frog");
    set(None);
    assert_eq!(answer(), "A frog jumps in.");
    set(Some(SettingValue::Whole(1)));
    heard.driver.send(Command::NewSession);
    assert_eq!(answer(), "A frog jumps in.");
    let told = heard.log.lock().unwrap();
    let last = told.iter().rev().find_map(|update| match update {
        Update::Sampling(settings) => Some(settings.len()),
        _ => None,
    });
    assert_eq!(last, Some(0));
}

#[path = "tool_tests.rs"]
mod tools;
