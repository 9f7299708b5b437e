//! Event sequences and what the machine asks for in return.

use serde_json::json;

use super::turn::CHECKPOINT_BYTES;
use super::*;
use crate::chat::policy::{self, Reader};
use crate::interfaces::{Clock, LanguageModel};
use crate::memory::{MessageId, Role};
use crate::testing::{ManualClock, ScriptedModel};

fn now() -> Moment {
    ManualClock::at("2026-11-21T10:00:00Z").now()
}

fn profile(reader: Reader) -> ModelProfile {
    ModelProfile::new(ScriptedModel::new(&[]).info(), reader)
}

fn message(id: i64, role: Role, text: &str, complete: bool) -> Message {
    Message {
        id: MessageId(id),
        session: SessionId(1),
        role,
        speaker: None,
        content: text.into(),
        created_at: now(),
        external_id: None,
        episode: None,
        complete,
    }
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
        session: SessionId(1),
        title: policy::title_of(text),
        message: message(1, Role::User, text, true),
        user_name: None,
    };
    Event::Turn(turn, user_saved)
}

fn user_not_saved(turn: TurnId, error: &str) -> Event {
    Event::Turn(turn, TurnEvent::UserNotSaved { error: error.into() })
}

fn generate_failed(turn: TurnId, error: &str) -> Event {
    Event::Turn(turn, TurnEvent::GenerateFailed { error: error.into() })
}

fn reply_not_saved(turn: TurnId) -> Event {
    Event::Turn(turn, TurnEvent::ReplyNotSaved { error: "e".into(), last: true })
}

fn recalled(turn: TurnId) -> Event {
    Event::Turn(turn, TurnEvent::Recalled(Vec::new()))
}

fn recall_failed(turn: TurnId, error: &str) -> Event {
    Event::Turn(turn, TurnEvent::RecallFailed { error: error.into() })
}

fn text(turn: TurnId, piece: &str) -> Event {
    Event::Turn(turn, TurnEvent::Text(piece.into()))
}

/// Its first turn is being generated.
fn replying() -> Machine {
    let mut machine = ready(Reader::Generative);
    for event in [submit("a"), saved(1, "a"), recalled(1)] {
        machine.handle(event);
    }
    machine
}

fn generated(turn: TurnId, outcome: Outcome) -> Event {
    Event::Turn(turn, TurnEvent::Generated(outcome))
}

fn reply_saved(turn: TurnId, text: &str, complete: bool) -> Event {
    let message = message(2, Role::Assistant, text, complete);
    let reply_saved =
        TurnEvent::ReplySaved { message, record: json!({}), last: true, tokens_per_second: None };
    Event::Turn(turn, reply_saved)
}

/// The effects in words, without updates for the screen.
fn outside(effects: &[Effect]) -> Vec<String> {
    effects
        .iter()
        .filter_map(|e| {
            Some(match e {
                Effect::Tell(_) => return None,
                Effect::LoadModel(_) => "load".into(),
                Effect::SaveUser(UserMessage { text, .. }) => format!("save user {text:?}"),
                Effect::Start(ReplyJob { history, step, .. }) => match step {
                    ReplyStep::Recall { .. } => format!("recall after {}", history.len()),
                    ReplyStep::Generate { with_memories } => {
                        format!("generate after {} with memories {with_memories}", history.len())
                    }
                },
                Effect::SaveReply(Reply { text, complete, last, .. }) => {
                    format!("save reply {text:?} complete {complete} last {last}")
                }
                Effect::Cancel => "cancel".into(),
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

/// Events and the effects that each has, as [`outside`] says them.
#[track_caller]
fn check(machine: &mut Machine, steps: Vec<(Event, &[&str])>) {
    for (event, expected) in steps {
        let shown = format!("{event:?}");
        assert_eq!(outside(&machine.handle(event)), expected, "after {shown}");
    }
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
    check(
        &mut m,
        vec![
            (submit("Where do I live?"), &["pause", "save user \"Where do I live?\""]),
            (saved(1, "Where do I live?"), &["recall after 0"]),
            (recalled(1), &["generate after 0 with memories true"]),
            (text(1, "In "), &[]),
            (text(1, "Lund."), &[]),
            (generated(1, Outcome::Ended), &["save reply \"In Lund.\" complete true last true"]),
            (reply_saved(1, "In Lund.", true), &["resume"]),
            (submit("Since when?"), &["pause", "save user \"Since when?\""]),
            (saved(2, "Since when?"), &["recall after 2"]),
        ],
    );
}

#[test]
fn nothing_is_answered_before_it_is_on_disk() {
    let mut m = ready(Reader::Generative);
    let effects = m.handle(submit("hello"));
    assert!(!outside(&effects).iter().any(|e| e.starts_with("recall") || e.starts_with("gen")));
    // A full disk: the text comes back, and nothing was asked of the model.
    let effects = m.handle(user_not_saved(1, "the disk is full"));
    assert!(effects.contains(&Effect::Tell(Update::Returned { text: "hello".into() })));
    assert!(notices(&effects)[0].contains("the disk is full"));
    assert_eq!(m.phase(), PhaseName::Idle);
}

#[test]
fn typing_while_the_model_loads_is_saved_and_answered_when_it_is_ready() {
    let mut m = Machine::default();
    check(
        &mut m,
        vec![
            (command(Command::LoadModel(None)), &["load"]),
            (submit("hi"), &["pause", "save user \"hi\""]),
            (saved(1, "hi"), &[]),
            (Event::ModelReady(profile(Reader::Generative)), &["recall after 0"]),
        ],
    );
}

#[test]
fn a_model_that_cannot_be_loaded_costs_no_message() {
    let mut m = Machine::default();
    m.handle(command(Command::LoadModel(None)));
    m.handle(submit("hi"));
    m.handle(saved(1, "hi"));
    let effects = m.handle(model_failed("no such file"));
    assert!(notices(&effects).iter().any(|n| n.contains("/retry")), "{effects:?}");
    assert_eq!(m.phase(), PhaseName::Idle);
    // Another model, and the question is answered after all.
    check(
        &mut m,
        vec![
            (command(Command::LoadModel(Some("b".into()))), &["load"]),
            (Event::ModelReady(profile(Reader::Generative)), &[]),
            (command(Command::Regenerate), &["pause", "recall after 0"]),
        ],
    );
}

#[test]
fn a_failed_switch_goes_on_with_the_model_before() {
    let mut m = ready(Reader::Generative);
    m.handle(command(Command::LoadModel(Some("broken".into()))));
    m.handle(submit("hi"));
    assert_eq!(outside(&m.handle(saved(1, "hi"))), [""; 0]);
    let effects = m.handle(model_failed("bad file"));
    assert_eq!(outside(&effects), ["recall after 0"]);
}

#[test]
fn a_stopped_reply_is_kept_as_incomplete() {
    let mut m = replying();
    m.handle(text(1, "Once upon"));
    check(
        &mut m,
        vec![
            (stop(), &["cancel", "save reply \"Once upon\" complete false last true"]),
            // Late events of the engine change nothing.
            (text(1, " a time"), &[]),
            (generated(1, Outcome::Stopped), &[]),
            (reply_saved(1, "Once upon", false), &["resume"]),
            (stop(), &[]),
        ],
    );
}

#[test]
fn stop_works_in_every_phase() {
    // While saving: the message stays, no answer is begun.
    let mut m = ready(Reader::Generative);
    m.handle(submit("a"));
    check(&mut m, vec![(stop(), &[]), (saved(1, "a"), &["resume"])]);
    // While recalling.
    m.handle(submit("b"));
    m.handle(saved(2, "b"));
    check(
        &mut m,
        vec![
            (stop(), &["cancel", "resume"]),
            (recalled(2), &[]),
            (recall_failed(2, "stopped"), &[]),
        ],
    );
    // Before the first word.
    m.handle(submit("c"));
    m.handle(saved(3, "c"));
    m.handle(recalled(3));
    check(&mut m, vec![(stop(), &["cancel", "resume"])]);
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
    // Its answer does not end the turn.
    let message = message(2, Role::Assistant, &piece, false);
    let saved =
        TurnEvent::ReplySaved { message, record: json!({}), last: false, tokens_per_second: None };
    check(&mut m, vec![(Event::Turn(1, saved), &[])]);
    assert_eq!(m.phase(), PhaseName::Replying);
}

#[test]
fn an_extractive_reader_quotes_and_acknowledges_without_the_model() {
    let mut m = ready(Reader::Extractive);
    m.handle(submit("I moved to Lund last week."));
    let effects = m.handle(saved(1, "I moved to Lund last week."));
    let said = outside(&effects);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("save reply") && said[0].contains("Lund"), "{said:?}");
    m.handle(reply_saved(1, "Noted.", true));
    m.handle(submit("What is my job?"));
    check(&mut m, vec![(saved(2, "What is my job?"), &["recall after 2"])]);
    // No evidence: said plainly, nothing invented, no generation.
    let effects = m.handle(recalled(2));
    assert!(outside(&effects)[0].contains("no memory of that"), "{effects:?}");
}

#[test]
fn a_memory_that_cannot_be_searched_is_said() {
    let mut m = ready(Reader::Generative);
    m.handle(submit("where?"));
    m.handle(saved(1, "where?"));
    let effects = m.handle(recall_failed(1, "damaged"));
    assert_eq!(outside(&effects), ["generate after 0 with memories false"]);
    assert!(notices(&effects)[0].contains("damaged"));
    let mut m = ready(Reader::Extractive);
    m.handle(submit("where?"));
    m.handle(saved(1, "where?"));
    let effects = m.handle(recall_failed(1, "damaged"));
    assert_eq!(outside(&effects), ["resume"]);
}

#[test]
fn a_failing_model_keeps_what_it_said() {
    let mut m = replying();
    m.handle(text(1, "Half"));
    let effects = m.handle(generate_failed(1, "NaN"));
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
        let window = TurnEvent::Window { used_tokens: 100, limit_tokens: 200, n_dropped };
        Event::Turn(turn, window)
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
    check(
        &mut m,
        vec![
            (
                command(Command::NewSession),
                &["cancel", "save reply \"Half\" complete false last true", "resume", "close c1"],
            ),
            (reply_saved(1, "Half", false), &[]),
            (command(Command::Leave), &[]),
        ],
    );
    assert!(m.session.is_none());
}

#[test]
fn incognito_is_a_session_of_its_own_that_queues_nothing() {
    let mut m = ready(Reader::Generative);
    m.handle(submit("a"));
    m.handle(saved(1, "a"));
    m.handle(stop());
    check(
        &mut m,
        vec![
            (command(Command::Incognito(true)), &["close c1", "incognito true"]),
            (submit("secret"), &["pause", "save user \"secret\""]),
            (saved(2, "secret"), &["recall after 0"]),
            (command(Command::Incognito(false)), &["cancel", "resume", "incognito false"]),
        ],
    );
}

#[test]
fn an_earlier_chat_goes_on_where_it_was() {
    let mut m = ready(Reader::Generative);
    check(
        &mut m,
        vec![
            (command(Command::OpenSession(SessionId(7))), &["read c7"]),
            (
                Event::SessionLoaded {
                    session: SessionId(7),
                    title: "Old".into(),
                    messages: vec![
                        message(1, Role::User, "q", true),
                        message(2, Role::Assistant, "a", true),
                    ],
                },
                &[],
            ),
            (submit("more"), &["pause", "save user \"more\""]),
        ],
    );
    // A forgotten open chat becomes an empty one, without an alarm.
    let mut m = ready(Reader::Generative);
    m.handle(submit("a"));
    m.handle(saved(1, "a"));
    m.handle(stop());
    check(&mut m, vec![(command(Command::Reload), &["read c1"])]);
    let effects = m.handle(Event::SessionNotLoaded { session: SessionId(1), error: "gone".into() });
    assert!(notices(&effects).is_empty());
    assert!(m.session.is_none());
}

#[test]
fn remember_is_a_statement_whatever_it_looks_like() {
    let mut m = ready(Reader::Generative);
    m.handle(command(Command::Submit { text: "I like tea".into(), kind: MessageKind::Remember }));
    let effects = m.handle(saved(1, "I like tea"));
    assert!(outside(&effects)[0].starts_with("save reply"), "{effects:?}");
}

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
            turn.clone().prop_map(|turn| user_not_saved(turn, "e")),
            turn.clone().prop_map(recalled),
            turn.clone().prop_map(|turn| recall_failed(turn, "e")),
            turn.clone().prop_map(|turn| text(turn, "p")),
            turn.clone().prop_map(|turn| generated(turn, Outcome::Ended)),
            turn.clone().prop_map(|turn| generate_failed(turn, "e")),
            turn.clone().prop_map(|t| reply_saved(t, "r", true)),
            turn.prop_map(reply_not_saved),
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
