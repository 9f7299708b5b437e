use super::*;
use crate::chat::policy::Reader;
use crate::interfaces::Clock;
use crate::memory::MessageId;
use crate::testing::ManualClock;
use serde_json::json;

fn now() -> Moment {
    ManualClock::at("2026-11-21T10:00:00Z").now()
}

fn facts(reader: Reader) -> Facts {
    Facts { name: "m".into(), starter: false, reader, context_tokens: 4096 }
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

fn submit(text: &str) -> Event {
    Event::Submit { text: text.into(), at: now(), kind: Kind::Chat }
}

fn saved(turn: Turn, text: &str) -> Event {
    Event::UserSaved {
        turn,
        session: SessionId(1),
        title: policy::title_of(text),
        message: message(1, Role::User, text, true),
        name: None,
    }
}

fn reply_saved(turn: Turn, text: &str, complete: bool) -> Event {
    Event::ReplySaved {
        turn,
        message: message(2, Role::Assistant, text, complete),
        record: json!({}),
        last: true,
        speed: None,
    }
}

/// The effects that reach outside, in words; what is told to the screen is left out.
fn outside(effects: &[Effect]) -> Vec<String> {
    effects
        .iter()
        .filter_map(|e| {
            Some(match e {
                Effect::Tell(_) => return None,
                Effect::LoadModel { .. } => "load".into(),
                Effect::SaveUser { text, .. } => format!("save user {text:?}"),
                Effect::Recall { history, .. } => format!("recall after {}", history.len()),
                Effect::Generate { with_memories, history, .. } => {
                    format!("generate after {} with memories {with_memories}", history.len())
                }
                Effect::SaveReply { text, complete, last, .. } => {
                    format!("save reply {text:?} complete {complete} last {last}")
                }
                Effect::Cancel { .. } => "cancel".into(),
                Effect::LoadSession { session } => format!("read {session}"),
                Effect::CloseSession { session } => format!("close {session}"),
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

/// Events in, outside effects out: one line an event.
#[track_caller]
fn check(machine: &mut Machine, steps: Vec<(Event, &[&str])>) {
    for (event, expected) in steps {
        let shown = format!("{event:?}");
        assert_eq!(outside(&machine.handle(event)), expected, "after {shown}");
    }
}

fn ready(reader: Reader) -> Machine {
    let mut machine = Machine::new();
    machine.handle(Event::LoadModel { name: None });
    machine.handle(Event::ModelReady { facts: facts(reader) });
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
            (
                Event::Recalled { turn: 1, found: Found::default() },
                &["generate after 0 with memories true"],
            ),
            (Event::Text { turn: 1, piece: "In ".into() }, &[]),
            (Event::Text { turn: 1, piece: "Lund.".into() }, &[]),
            (
                Event::Generated { turn: 1, outcome: Outcome::Ended },
                &["save reply \"In Lund.\" complete true last true"],
            ),
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
    let effects = m.handle(Event::UserNotSaved { turn: 1, error: "the disk is full".into() });
    assert!(effects.contains(&Effect::Tell(Update::Returned { text: "hello".into() })));
    assert!(notices(&effects)[0].contains("the disk is full"));
    assert_eq!(m.phase(), Phase::Idle);
}

#[test]
fn typing_while_the_model_loads_is_saved_and_answered_when_it_is_ready() {
    let mut m = Machine::new();
    check(
        &mut m,
        vec![
            (Event::LoadModel { name: None }, &["load"]),
            (submit("hi"), &["pause", "save user \"hi\""]),
            (saved(1, "hi"), &[]),
            (Event::ModelReady { facts: facts(Reader::Generative) }, &["recall after 0"]),
        ],
    );
}

#[test]
fn a_model_that_cannot_be_loaded_costs_no_message() {
    let mut m = Machine::new();
    m.handle(Event::LoadModel { name: None });
    m.handle(submit("hi"));
    m.handle(saved(1, "hi"));
    let effects = m.handle(Event::ModelFailed { error: "no such file".into() });
    assert!(notices(&effects).iter().any(|n| n.contains("/retry")), "{effects:?}");
    assert_eq!(m.phase(), Phase::Idle);
    // Another model, and the question is answered after all.
    check(
        &mut m,
        vec![
            (Event::LoadModel { name: Some("b".into()) }, &["load"]),
            (Event::ModelReady { facts: facts(Reader::Generative) }, &[]),
            (Event::Regenerate { at: now() }, &["pause", "recall after 0"]),
        ],
    );
}

#[test]
fn a_failed_switch_goes_on_with_the_model_before() {
    let mut m = ready(Reader::Generative);
    m.handle(Event::LoadModel { name: Some("broken".into()) });
    m.handle(submit("hi"));
    assert_eq!(outside(&m.handle(saved(1, "hi"))), [""; 0]);
    let effects = m.handle(Event::ModelFailed { error: "bad file".into() });
    assert_eq!(outside(&effects), ["recall after 0"]);
}

#[test]
fn a_stopped_reply_is_kept_as_incomplete() {
    let mut m = ready(Reader::Generative);
    m.handle(submit("tell me"));
    m.handle(saved(1, "tell me"));
    m.handle(Event::Recalled { turn: 1, found: Found::default() });
    m.handle(Event::Text { turn: 1, piece: "Once upon".into() });
    check(
        &mut m,
        vec![
            (Event::Stop, &["cancel", "save reply \"Once upon\" complete false last true"]),
            // What still arrives from the engine changes nothing.
            (Event::Text { turn: 1, piece: " a time".into() }, &[]),
            (Event::Generated { turn: 1, outcome: Outcome::Stopped }, &[]),
            (reply_saved(1, "Once upon", false), &["resume"]),
            (Event::Stop, &[]),
        ],
    );
}

#[test]
fn stop_works_in_every_phase() {
    // While saving: the message stays, no answer is begun.
    let mut m = ready(Reader::Generative);
    m.handle(submit("a"));
    check(&mut m, vec![(Event::Stop, &[]), (saved(1, "a"), &["resume"])]);
    // While recalling.
    m.handle(submit("b"));
    m.handle(saved(2, "b"));
    check(
        &mut m,
        vec![
            (Event::Stop, &["cancel", "resume"]),
            (Event::Recalled { turn: 2, found: Found::default() }, &[]),
            (Event::RecallFailed { turn: 2, error: "stopped".into() }, &[]),
        ],
    );
    // Before the first word.
    m.handle(submit("c"));
    m.handle(saved(3, "c"));
    m.handle(Event::Recalled { turn: 3, found: Found::default() });
    check(&mut m, vec![(Event::Stop, &["cancel", "resume"])]);
    assert_eq!(m.phase(), Phase::Idle);
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
    let mut m = ready(Reader::Generative);
    m.handle(submit("tell me"));
    m.handle(saved(1, "tell me"));
    m.handle(Event::Recalled { turn: 1, found: Found::default() });
    let piece = "x".repeat(CHECKPOINT_BYTES);
    let effects = m.handle(Event::Text { turn: 1, piece: piece.clone() });
    assert_eq!(outside(&effects), [format!("save reply {piece:?} complete false last false")]);
    // Its answer does not end the turn.
    let saved = Event::ReplySaved {
        turn: 1,
        message: message(2, Role::Assistant, &piece, false),
        record: json!(null),
        last: false,
        speed: None,
    };
    check(&mut m, vec![(saved, &[])]);
    assert_eq!(m.phase(), Phase::Replying);
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
    let effects = m.handle(Event::Recalled { turn: 2, found: Found::default() });
    assert!(outside(&effects)[0].contains("no memory of that"), "{effects:?}");
}

#[test]
fn a_memory_that_cannot_be_searched_is_said() {
    let mut m = ready(Reader::Generative);
    m.handle(submit("where?"));
    m.handle(saved(1, "where?"));
    let effects = m.handle(Event::RecallFailed { turn: 1, error: "damaged".into() });
    assert_eq!(outside(&effects), ["generate after 0 with memories false"]);
    assert!(notices(&effects)[0].contains("damaged"));
    let mut m = ready(Reader::Extractive);
    m.handle(submit("where?"));
    m.handle(saved(1, "where?"));
    let effects = m.handle(Event::RecallFailed { turn: 1, error: "damaged".into() });
    assert_eq!(outside(&effects), ["resume"]);
}

#[test]
fn a_failing_model_keeps_what_it_said() {
    let mut m = ready(Reader::Generative);
    m.handle(submit("a"));
    m.handle(saved(1, "a"));
    m.handle(Event::Recalled { turn: 1, found: Found::default() });
    m.handle(Event::Text { turn: 1, piece: "Half".into() });
    let effects = m.handle(Event::GenerateFailed { turn: 1, error: "not a number".into() });
    assert_eq!(outside(&effects), ["save reply \"Half\" complete false last true"]);
    assert!(notices(&effects)[0].contains("not a number"));
}

#[test]
fn an_empty_reply_is_no_answer() {
    let mut m = ready(Reader::Generative);
    m.handle(submit("a"));
    m.handle(saved(1, "a"));
    m.handle(Event::Recalled { turn: 1, found: Found::default() });
    m.handle(Event::Text { turn: 1, piece: " \n".into() });
    let effects = m.handle(Event::Generated { turn: 1, outcome: Outcome::Ended });
    assert_eq!(outside(&effects), ["resume"]);
    assert_eq!(m.phase(), Phase::Idle);
}

#[test]
fn falling_out_of_the_window_is_said_once() {
    let mut m = ready(Reader::Generative);
    m.handle(submit("a"));
    let window =
        |turn, n_dropped| Event::Window { turn, used_tokens: 100, limit_tokens: 200, n_dropped };
    assert!(notices(&m.handle(window(1, 0))).is_empty());
    assert_eq!(notices(&m.handle(window(1, 2))).len(), 1);
    assert!(notices(&m.handle(window(1, 4))).is_empty());
    assert!(m.handle(window(9, 1)).is_empty(), "another turn's");
}

#[test]
fn leaving_closes_the_session_and_keeps_the_half_reply() {
    let mut m = ready(Reader::Generative);
    m.handle(submit("a"));
    m.handle(saved(1, "a"));
    m.handle(Event::Recalled { turn: 1, found: Found::default() });
    m.handle(Event::Text { turn: 1, piece: "Half".into() });
    check(
        &mut m,
        vec![
            (
                Event::NewSession,
                &["cancel", "save reply \"Half\" complete false last true", "resume", "close c1"],
            ),
            (reply_saved(1, "Half", false), &[]),
            (Event::Leave, &[]),
        ],
    );
    assert_eq!(m.session(), None);
}

#[test]
fn incognito_is_a_session_of_its_own_that_queues_nothing() {
    let mut m = ready(Reader::Generative);
    m.handle(submit("a"));
    m.handle(saved(1, "a"));
    m.handle(Event::Stop);
    check(
        &mut m,
        vec![
            (Event::Incognito { on: true }, &["close c1", "incognito true"]),
            (submit("secret"), &["pause", "save user \"secret\""]),
            (saved(3, "secret"), &["recall after 0"]),
            (Event::Incognito { on: false }, &["cancel", "resume", "incognito false"]),
        ],
    );
}

#[test]
fn an_earlier_chat_goes_on_where_it_was() {
    let mut m = ready(Reader::Generative);
    check(
        &mut m,
        vec![
            (Event::OpenSession { session: SessionId(7) }, &["read c7"]),
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
    m.handle(Event::Stop);
    check(&mut m, vec![(Event::Reload, &["read c1"])]);
    let effects = m.handle(Event::SessionNotLoaded { session: SessionId(1), error: "gone".into() });
    assert!(notices(&effects).is_empty());
    assert_eq!(m.session(), None);
}

#[test]
fn remember_is_a_statement_whatever_it_looks_like() {
    let mut m = ready(Reader::Generative);
    m.handle(Event::Submit { text: "I like tea".into(), at: now(), kind: Kind::Remember });
    let effects = m.handle(saved(1, "I like tea"));
    assert!(outside(&effects)[0].starts_with("save reply"), "{effects:?}");
}

mod any_order {
    use super::*;
    use proptest::prelude::*;

    fn event() -> impl Strategy<Value = Event> {
        let turn = 0u64..5;
        prop_oneof![
            Just(Event::LoadModel { name: None }),
            Just(Event::ModelReady { facts: facts(Reader::Generative) }),
            Just(Event::ModelReady { facts: facts(Reader::Extractive) }),
            Just(Event::ModelFailed { error: "e".into() }),
            Just(submit("I like tea?")),
            Just(submit("I moved.")),
            Just(Event::Stop),
            Just(Event::Regenerate { at: now() }),
            Just(Event::NewSession),
            Just(Event::OpenSession { session: SessionId(2) }),
            Just(Event::Incognito { on: true }),
            Just(Event::Incognito { on: false }),
            Just(Event::Leave),
            Just(Event::Reload),
            turn.clone().prop_map(|t| saved(t, "x")),
            turn.clone().prop_map(|turn| Event::UserNotSaved { turn, error: "e".into() }),
            turn.clone().prop_map(|turn| Event::Recalled { turn, found: Found::default() }),
            turn.clone().prop_map(|turn| Event::RecallFailed { turn, error: "e".into() }),
            turn.clone().prop_map(|turn| Event::Text { turn, piece: "p".into() }),
            turn.clone().prop_map(|turn| Event::Generated { turn, outcome: Outcome::Ended }),
            turn.clone().prop_map(|turn| Event::GenerateFailed { turn, error: "e".into() }),
            turn.clone().prop_map(|t| reply_saved(t, "r", true)),
            turn.prop_map(|turn| Event::ReplyNotSaved { turn, error: "e".into(), last: true }),
        ]
    }

    proptest! {
        /// Whatever comes in whatever order: every submitted text is either given to the store or
        /// given back, pauses and resumes stay in step with being busy, and a reply belongs to a
        /// saved session.
        #[test]
        fn no_message_is_lost(events in proptest::collection::vec(event(), 0..60)) {
            let mut m = Machine::new();
            for event in events {
                let text = match &event {
                    Event::Submit { text, .. } => Some(text.clone()),
                    _ => None,
                };
                let effects = m.handle(event);
                if let Some(text) = text {
                    let kept = effects.iter().any(|e| match e {
                        Effect::SaveUser { text: t, .. }
                        | Effect::Tell(Update::Returned { text: t }) => *t == text,
                        _ => false,
                    });
                    prop_assert!(kept, "{:?}", effects);
                }
                for effect in &effects {
                    if let Effect::SaveReply { session, .. } = effect {
                        prop_assert_ne!(*session, SessionId(0));
                    }
                }
                if m.phase() == Phase::Idle {
                    let last = effects.iter().rev().find(|e| {
                        matches!(e, Effect::PauseWorker | Effect::ResumeWorker)
                    });
                    prop_assert_ne!(last, Some(&Effect::PauseWorker));
                }
            }
        }
    }
}
