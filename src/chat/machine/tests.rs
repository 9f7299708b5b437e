//! Event sequences and what the machine asks for in return.

use serde_json::json;

use super::turn::CHECKPOINT_BYTES;
use super::*;
use crate::chat::own_files::OwnFile as _;
use crate::chat::policy::Reader;
use crate::chat::window::Window;
use crate::interfaces::{Clock, LanguageModel};
use crate::memory::{MessageId, Role, title_of};
use crate::testing::{ManualClock, ScriptedModel, message};

fn now() -> Moment {
    ManualClock::at("2026-11-21T10:00:00Z").now()
}

fn profile(reader: Reader) -> ModelProfile {
    ModelProfile::new(ScriptedModel::new(&[]).info(), reader, None)
}

fn command(command: Command) -> Event {
    Event::Command { command, at: now() }
}

fn submit(text: &str) -> Event {
    command(Command::Submit { text: text.into(), kind: MessageKind::Chat })
}

fn stop() -> Event {
    command(Command::Stop)
}

fn model_failed(error: &str) -> Event {
    Event::ModelFailed { error: error.into() }
}

fn saved(turn: TurnId, text: &str) -> Event {
    let user_saved = TurnEvent::UserSaved {
        title: title_of(text),
        message: message(1, Role::User, text),
        user_name: None,
    };
    Event::Turn(turn, user_saved)
}

fn not_saved(turn: TurnId) -> Event {
    Event::Turn(turn, TurnEvent::NotSaved { error: "the disk is full".into() })
}

fn failed(turn: TurnId, error: &str) -> Event {
    Event::Turn(turn, TurnEvent::Failed { error: error.into() })
}

fn recalled(turn: TurnId) -> Event {
    nothing(turn, true, true)
}

/// Nothing to quote.
fn nothing(turn: TurnId, reads: bool, is_private: bool) -> Event {
    Event::Turn(turn, TurnEvent::Recalled { quote: None, reads, is_private, nearest: None })
}

#[test]
fn what_memory_does_not_know_is_said_or_left_to_the_model() {
    // About the person, or somebody whom only memory knows: an honest answer, without the model.
    for text in ["What is my sister's name?", "What does Lena collect?"] {
        let mut m = ready(Reader::Generative);
        said(&mut m, 1, text);
        let effects = outside(&m.handle(nothing(1, false, true)));
        assert!(effects[0].contains("You have not told me that."), "{effects:?}");
    }
    // About the world, or a task: the model answers.
    for text in ["What is the capital of France?", "Suggest a dish I'd like."] {
        let mut m = ready(Reader::Generative);
        assert_eq!(outside(&said(&mut m, 1, text)), ["recall after 0"], "{text}");
        let effects = outside(&m.handle(nothing(1, false, false)));
        assert_eq!(effects, ["generate after 0 with memories false"], "{text}");
    }
}

fn text(turn: TurnId, piece: &str) -> Event {
    Event::Turn(turn, TurnEvent::Text(piece.into()))
}

/// Submits a message; the effects once it is saved.
fn said(machine: &mut Machine, turn: TurnId, text: &str) -> Vec<Effect> {
    machine.handle(submit(text));
    machine.handle(saved(turn, text))
}

/// A machine whose first reply is being generated.
fn replying() -> Machine {
    let mut machine = ready(Reader::Generative);
    said(&mut machine, 1, "a");
    machine.handle(recalled(1));
    machine
}

fn generated(turn: TurnId, outcome: Outcome) -> Event {
    Event::Turn(turn, TurnEvent::Generated(outcome))
}

fn reply_saved(turn: TurnId, text: &str, complete: bool) -> Event {
    let message = Message { complete, ..message(2, Role::Assistant, text) };
    let saved = SavedReply { message, record: json!({}), tokens_per_second: None };
    Event::Turn(turn, TurnEvent::ReplySaved(saved))
}

/// The effects in words, without updates for the screen.
fn outside(effects: &[Effect]) -> Vec<String> {
    effects
        .iter()
        .filter_map(|e| {
            Some(match e {
                Effect::Tell(_) => return None,
                Effect::LoadModel(_) => "load".into(),
                Effect::Pull(name) => format!("pull {name}"),
                Effect::StopPull => "stop the pull".into(),
                Effect::UseRole(role) => {
                    format!("role {:?}", role.as_ref().map(|role| &role.name))
                }
                Effect::UseSampling(settings) => format!("sampling of {}", settings.len()),
                Effect::SaveUser(UserMessage { text, .. }) => format!("save user {text:?}"),
                Effect::Start(ReplyJob { history, step, .. }) => match step {
                    ReplyStep::Recall { .. } => format!("recall after {}", history.len()),
                    ReplyStep::Generate { with_memories, .. } => {
                        format!("generate after {} with memories {with_memories}", history.len())
                    }
                    ReplyStep::Call(call) => format!("call {}", call.tool),
                },
                Effect::SaveReply(Reply { text, complete, last, .. }) => {
                    format!("save reply {text:?} complete {complete} last {last}")
                }
                Effect::Fork { parent, before, .. } => format!("fork {parent} before {before}"),
                Effect::Choose { chosen, others } => format!("choose {chosen} of {}", others.len()),
                Effect::Cancel => "cancel".into(),
                Effect::ListTools { .. } => "list tools".into(),
                Effect::StopTools => "stop tools".into(),
                Effect::LoadSession(session) => format!("read {session}"),
                Effect::CloseSession(session) => format!("close {session}"),
                Effect::UseStore { incognito } => format!("incognito {incognito}"),
                Effect::PauseWorker => "pause".into(),
                Effect::ResumeWorker => "resume".into(),
            })
        })
        .collect()
}

fn notices(effects: &[Effect]) -> Vec<&str> {
    effects
        .iter()
        .filter_map(|e| match e {
            Effect::Tell(Update::Notice { text, .. }) => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

/// An event and its effects, as [`outside`] says them.
#[track_caller]
fn step(machine: &mut Machine, event: Event, expected: &[&str]) {
    let shown = format!("{event:?}");
    assert_eq!(outside(&machine.handle(event)), expected, "after {shown}");
}

fn ready(reader: Reader) -> Machine {
    let mut machine = Machine::default();
    machine.handle(command(Command::LoadModel(None)));
    machine.handle(Event::ModelReady(profile(reader)));
    machine
}

#[test]
fn a_generative_turn_saves_recalls_generates_and_saves() {
    let mut m = ready(Reader::Generative);
    step(&mut m, submit("Where do I live?"), &["pause", "save user \"Where do I live?\""]);
    step(&mut m, saved(1, "Where do I live?"), &["recall after 0"]);
    step(&mut m, recalled(1), &["generate after 0 with memories true"]);
    step(&mut m, text(1, "In "), &[]);
    step(&mut m, text(1, "Lund."), &[]);
    step(
        &mut m,
        generated(1, Outcome::Ended),
        &["save reply \"In Lund.\" complete true last true"],
    );
    step(&mut m, reply_saved(1, "In Lund.", true), &["resume"]);
    step(&mut m, submit("Since when?"), &["pause", "save user \"Since when?\""]);
    step(&mut m, saved(2, "Since when?"), &["recall after 2"]);
}

#[test]
fn a_downloaded_model_is_loaded_once_the_reply_is_done() {
    let pulled = |result| Event::Pulled { name: "qwen3-0.6b".into(), result };
    let mut m = ready(Reader::Generative);
    step(&mut m, command(Command::Pull("qwen3-0.6b".into())), &["pull qwen3-0.6b"]);
    step(&mut m, command(Command::StopPull), &["stop the pull"]);
    step(&mut m, pulled(Ok(false)), &[]);
    step(&mut m, pulled(Err("the disk is full".into())), &[]);
    step(&mut m, submit("hello"), &["pause", "save user \"hello\""]);
    step(&mut m, saved(1, "hello"), &["generate after 0 with memories false"]);
    step(&mut m, text(1, "Hi."), &[]);
    // It does not cut off what is being said.
    step(&mut m, pulled(Ok(true)), &[]);
    step(&mut m, generated(1, Outcome::Ended), &["save reply \"Hi.\" complete true last true"]);
    step(&mut m, reply_saved(1, "Hi.", true), &["resume", "load"]);
    m.handle(Event::ModelReady(profile(Reader::Generative)));
    step(&mut m, pulled(Ok(true)), &["load"]);
}

#[test]
fn a_role_is_played_from_now_on_and_brings_its_model() {
    let role = |text: &str| Command::Role(Some(Persona::parse("fr", text).unwrap().into()));
    let mut m = ready(Reader::Generative);
    let effects = m.handle(command(role("You translate.")));
    assert_eq!(outside(&effects), ["role Some(\"fr\")"]);
    let told =
        |effect: &Effect| matches!(effect, Effect::Tell(Update::Ready(p)) if p.role.is_some());
    assert!(effects.iter().any(told));
    step(&mut m, submit("I moved."), &["pause", "save user \"I moved.\""]);
    step(&mut m, command(Command::Role(None)), &[]);
    step(&mut m, saved(1, "I moved."), &["generate after 0 with memories false"]);
    let mut m = ready(Reader::Generative);
    let other = role("---\nmodel: another\n---\nYou translate.");
    step(&mut m, command(other), &["role Some(\"fr\")", "load"]);
}

#[test]
fn nothing_is_answered_before_it_is_on_disk() {
    let mut m = ready(Reader::Generative);
    step(&mut m, submit("hello"), &["pause", "save user \"hello\""]);
    // A full disk: the text comes back, and nothing was asked of the model.
    let effects = m.handle(not_saved(1));
    assert!(effects.contains(&Effect::Tell(Update::Returned { text: "hello".into() })));
    assert!(notices(&effects)[0].contains("the disk is full"));
    assert_eq!(m.phase(), PhaseName::Idle);
}

#[test]
fn typing_while_the_model_loads_is_saved_and_answered_when_it_is_ready() {
    let mut m = Machine::default();
    step(&mut m, command(Command::LoadModel(None)), &["load"]);
    step(&mut m, submit("where do I live?"), &["pause", "save user \"where do I live?\""]);
    step(&mut m, saved(1, "where do I live?"), &[]);
    step(&mut m, Event::ModelReady(profile(Reader::Generative)), &["recall after 0"]);
}

#[test]
fn a_model_that_cannot_be_loaded_costs_no_message() {
    let mut m = Machine::default();
    m.handle(command(Command::LoadModel(None)));
    said(&mut m, 1, "where do I live?");
    let effects = m.handle(model_failed("no such file"));
    assert!(notices(&effects).iter().any(|n| n.contains("/retry")), "{effects:?}");
    assert_eq!(m.phase(), PhaseName::Idle);
    // Another model, and the question is answered after all.
    step(&mut m, command(Command::LoadModel(Some("b".into()))), &["load"]);
    step(&mut m, Event::ModelReady(profile(Reader::Generative)), &[]);
    step(&mut m, command(Command::Regenerate), &["pause", "recall after 0"]);
}

#[test]
fn a_failed_switch_goes_on_with_the_model_before() {
    let mut m = ready(Reader::Generative);
    m.handle(command(Command::LoadModel(Some("broken".into()))));
    assert_eq!(outside(&said(&mut m, 1, "where do I live?")), [""; 0]);
    let effects = m.handle(model_failed("bad file"));
    assert_eq!(outside(&effects), ["recall after 0"]);
}

#[test]
fn a_stopped_reply_is_kept_as_incomplete() {
    let mut m = replying();
    m.handle(text(1, "Once upon"));
    step(&mut m, stop(), &["cancel", "save reply \"Once upon\" complete false last true"]);
    // Late events of the engine change nothing.
    step(&mut m, text(1, " a time"), &[]);
    step(&mut m, generated(1, Outcome::Stopped), &[]);
    step(&mut m, reply_saved(1, "Once upon", false), &["resume"]);
    step(&mut m, stop(), &[]);
}

#[test]
fn stop_works_in_every_phase() {
    // While saving: the message stays, no answer is begun.
    let mut m = ready(Reader::Generative);
    m.handle(submit("a"));
    step(&mut m, stop(), &[]);
    step(&mut m, saved(1, "a"), &["resume"]);
    // While recalling.
    said(&mut m, 2, "b");
    step(&mut m, stop(), &["cancel", "resume"]);
    step(&mut m, recalled(2), &[]);
    step(&mut m, failed(2, "stopped"), &[]);
    // Before the first word.
    said(&mut m, 3, "c");
    m.handle(recalled(3));
    step(&mut m, stop(), &["cancel", "resume"]);
    assert_eq!(m.phase(), PhaseName::Idle);
}

#[test]
fn a_second_message_waits_for_the_first_and_is_not_lost() {
    let mut m = ready(Reader::Generative);
    m.handle(submit("one"));
    let effects = m.handle(submit("two"));
    assert_eq!(outside(&effects), [""; 0]);
    assert!(effects.contains(&Effect::Tell(Update::Returned { text: "two".into() })));
}

#[test]
fn a_long_reply_reaches_the_disk_while_it_is_written() {
    let mut m = replying();
    let piece = "x".repeat(CHECKPOINT_BYTES);
    let effects = m.handle(text(1, &piece));
    assert_eq!(outside(&effects), [format!("save reply {piece:?} complete false last false")]);
}

#[test]
fn an_extractive_reader_quotes_and_acknowledges_without_the_model() {
    let mut m = ready(Reader::Extractive);
    let small = ScriptedModel::new(&[]).with_info(|info| info.n_parameters = 500_000_000);
    m.handle(Event::ModelReady(ModelProfile::new(small.info(), Reader::Extractive, None)));
    let effects = said(&mut m, 1, "I moved to Lund last week.");
    let said = outside(&effects);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("save reply") && said[0].contains("Lund"), "{said:?}");
    m.handle(reply_saved(1, "Noted.", true));
    m.handle(submit("What is my job?"));
    step(&mut m, saved(2, "What is my job?"), &["recall after 2"]);
    // No evidence: said plainly, nothing invented, no generation.
    let effects = m.handle(nothing(2, false, true));
    assert!(outside(&effects)[0].contains("not told me that"), "{effects:?}");
}

#[test]
fn a_memory_that_cannot_be_searched_is_said() {
    let mut m = ready(Reader::Generative);
    said(&mut m, 1, "where do I live?");
    let effects = m.handle(failed(1, "damaged"));
    assert_eq!(outside(&effects), ["generate after 0 with memories false"]);
    assert!(notices(&effects)[0].contains("damaged"));
    let mut m = ready(Reader::Extractive);
    said(&mut m, 1, "where do I live?");
    let effects = m.handle(failed(1, "damaged"));
    assert_eq!(outside(&effects), ["resume"]);
}

#[test]
fn a_failing_model_keeps_what_it_said() {
    let mut m = replying();
    m.handle(text(1, "Half"));
    let effects = m.handle(failed(1, "NaN"));
    assert_eq!(outside(&effects), ["save reply \"Half\" complete false last true"]);
    assert!(notices(&effects)[0].contains("NaN"));
}

#[test]
fn an_empty_reply_is_no_answer() {
    let mut m = replying();
    m.handle(text(1, " \n"));
    let effects = m.handle(generated(1, Outcome::Ended));
    assert_eq!(outside(&effects), ["resume"]);
    assert_eq!(m.phase(), PhaseName::Idle);
}

#[test]
fn falling_out_of_the_window_is_said_once() {
    let mut m = replying();
    let window = |turn, n_dropped| {
        let window = Window { used_tokens: 100, limit_tokens: 200, n_dropped };
        Event::Turn(turn, TurnEvent::Window(window))
    };
    assert!(notices(&m.handle(window(1, 0))).is_empty());
    assert_eq!(notices(&m.handle(window(1, 2))).len(), 1);
    assert!(notices(&m.handle(window(1, 4))).is_empty());
    assert!(m.handle(window(9, 1)).is_empty(), "another turn's");
}

#[test]
fn leaving_closes_the_session_and_keeps_the_half_reply() {
    let mut m = replying();
    m.handle(text(1, "Half"));
    step(
        &mut m,
        command(Command::NewSession),
        &["cancel", "save reply \"Half\" complete false last true", "resume", "close c1"],
    );
    step(&mut m, reply_saved(1, "Half", false), &[]);
    step(&mut m, command(Command::Leave), &[]);
    assert!(m.session.is_none());
}

#[test]
fn incognito_is_a_session_of_its_own_that_queues_nothing() {
    let mut m = ready(Reader::Generative);
    said(&mut m, 1, "a");
    m.handle(stop());
    step(&mut m, command(Command::Incognito(true)), &["close c1", "incognito true"]);
    step(&mut m, submit("what is my pin?"), &["pause", "save user \"what is my pin?\""]);
    step(&mut m, saved(2, "what is my pin?"), &["recall after 0"]);
    step(&mut m, command(Command::Incognito(false)), &["cancel", "resume", "incognito false"]);
}

#[test]
fn an_earlier_chat_goes_on_where_it_was() {
    let mut m = ready(Reader::Generative);
    step(&mut m, command(Command::OpenSession(SessionId(7))), &["read c7"]);
    step(
        &mut m,
        Event::SessionLoaded {
            session: SessionId(7),
            conversation: Conversation {
                title: "Old".into(),
                messages: vec![message(1, Role::User, "q"), message(2, Role::Assistant, "a")],
                ..Conversation::default()
            },
        },
        &[],
    );
    step(&mut m, submit("more"), &["pause", "save user \"more\""]);
    // A forgotten open chat becomes an empty one, without an alarm.
    let mut m = ready(Reader::Generative);
    said(&mut m, 1, "a");
    m.handle(stop());
    step(&mut m, command(Command::Reload), &["read c1"]);
    let effects = m.handle(Event::SessionNotLoaded { session: SessionId(1), error: "gone".into() });
    assert!(notices(&effects).is_empty());
    assert!(m.session.is_none());
}

#[path = "again_tests.rs"]
mod again;
#[path = "calling_tests.rs"]
mod calling;

mod any_order {
    use super::*;
    use proptest::prelude::*;

    fn event() -> impl Strategy<Value = Event> {
        let turn = 0u64..5;
        prop_oneof![
            Just(command(Command::LoadModel(None))),
            Just(Event::ModelReady(profile(Reader::Generative))),
            Just(Event::ModelReady(profile(Reader::Extractive))),
            Just(model_failed("e")),
            Just(submit("I like tea?")),
            Just(submit("I moved.")),
            Just(stop()),
            Just(command(Command::Regenerate)),
            Just(command(Command::NewSession)),
            Just(command(Command::OpenSession(SessionId(2)))),
            Just(command(Command::Incognito(true))),
            Just(command(Command::Incognito(false))),
            Just(command(Command::Leave)),
            Just(command(Command::Reload)),
            turn.clone().prop_map(|t| saved(t, "x")),
            turn.clone().prop_map(not_saved),
            turn.clone().prop_map(recalled),
            turn.clone().prop_map(|turn| text(turn, "p")),
            turn.clone().prop_map(|turn| generated(turn, Outcome::Ended)),
            turn.clone().prop_map(|turn| failed(turn, "e")),
            turn.prop_map(|t| reply_saved(t, "r", true)),
        ]
    }

    proptest! {
        /// Whatever comes in whatever order: every submitted text is either given to the store or
        /// given back, and pauses and resumes stay in step with being busy.
        #[test]
        fn no_message_is_lost(events in proptest::collection::vec(event(), 0..60)) {
            let mut m = Machine::default();
            for event in events {
                let text = match &event {
                    Event::Command { command: Command::Submit { text, .. }, .. } => {
                        Some(text.clone())
                    }
                    _ => None,
                };
                let effects = m.handle(event);
                if let Some(text) = text {
                    let kept = effects.iter().any(|e| match e {
                        Effect::SaveUser(UserMessage { text: t, .. })
                        | Effect::Tell(Update::Returned { text: t }) => *t == text,
                        _ => false,
                    });
                    prop_assert!(kept, "{:?}", effects);
                }
                if m.phase() == PhaseName::Idle {
                    let last = effects.iter().rev().find(|e| {
                        matches!(e, Effect::PauseWorker | Effect::ResumeWorker)
                    });
                    prop_assert_ne!(last, Some(&Effect::PauseWorker));
                }
            }
        }
    }
}
