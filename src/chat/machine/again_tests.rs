//! Replies that go on or come again, and chats that go on from others.

use super::*;
use crate::chat::quote::{Cited, Quote};

/// A chat that was stopped in the middle of its second answer.
fn stopped() -> Machine {
    let mut m = ready(Reader::Generative);
    let stopped = Message { complete: false, ..message(4, Role::Assistant, "Once upon") };
    let messages = vec![
        message(1, Role::User, "Tell me a story."),
        message(2, Role::Assistant, "No."),
        message(3, Role::User, "Please tell me a story."),
        stopped,
    ];
    let conversation = Conversation { title: "Old".into(), messages, ..Conversation::default() };
    m.handle(Event::SessionLoaded { session: SessionId(7), conversation });
    m
}

#[test]
fn a_stopped_reply_goes_on_with_what_it_had() {
    let mut m = stopped();
    let effects = m.handle(command(Command::Continue));
    let again = Update::Again { replaces: vec![MessageId(4)], begun: "Once upon".into() };
    assert!(effects.contains(&Effect::Tell(again)), "{effects:?}");
    let generated = if outside(&effects).iter().any(|e| e.starts_with("recall")) {
        m.handle(nothing(1, false, false))
    } else {
        effects
    };
    let job = generated.iter().find_map(|e| match e {
        Effect::Start(job) => Some(job),
        _ => None,
    });
    let job = job.unwrap_or_else(|| panic!("{generated:?}"));
    assert_eq!(
        job.begun.as_ref().map(|b| (b.id, b.text.as_str())),
        Some((MessageId(4), "Once upon"))
    );
    assert_eq!(job.history.len(), 2);
    m.handle(text(1, " a time"));
    step(
        &mut m,
        self::generated(1, Outcome::Ended),
        &["save reply \"Once upon a time\" complete true last true"],
    );
    // What is whole does not go on.
    let mut m = stopped();
    m.session.as_mut().unwrap().history.pop();
    assert_eq!(m.handle(command(Command::Continue)).len(), 1);
}

#[test]
fn another_version_takes_the_place_of_the_one_before() {
    let mut m = stopped();
    let effects = m.handle(command(Command::Regenerate));
    let again = Update::Again { replaces: vec![MessageId(4)], begun: String::new() };
    assert!(effects.contains(&Effect::Tell(again)), "{effects:?}");
    // Stopped before its first word, it leaves the chat as it was.
    let effects = outside(&m.handle(stop()));
    assert_eq!(effects.last().map(String::as_str), Some("read c7"), "{effects:?}");
    let mut m = stopped();
    let chosen = message(9, Role::Assistant, "Another.");
    let others = vec![MessageId(4), MessageId(9)];
    step(&mut m, command(Command::Choose { chosen, others }), &["choose m9 of 2"]);
    assert_eq!(m.session.unwrap().history[3].content, "Another.");
}

#[test]
fn a_chat_goes_on_from_another() {
    let mut m = stopped();
    let (parent, before) = (SessionId(7), MessageId(3));
    let then = Forked::Submit("Sing!".into());
    let fork = Command::Fork { parent, before, then: then.clone() };
    step(&mut m, command(fork.clone()), &["fork c7 before m3"]);
    let conversation = Conversation {
        title: "Old".into(),
        messages: vec![
            message(1, Role::User, "Tell me a story."),
            message(2, Role::Assistant, "No."),
        ],
        ..Conversation::default()
    };
    let forked =
        Event::Forked { session: SessionId(8), conversation, then: then.clone(), at: now() };
    step(&mut m, forked, &["close c7", "pause", "save user \"Sing!\""]);
    // Not while it answers, and not if it can't be made: what was written comes back.
    for event in [command(fork), Event::NotForked { error: "the disk is full".into(), then }] {
        let effects = m.handle(event);
        let returned = Effect::Tell(Update::Returned { text: "Sing!".into() });
        assert!(effects.contains(&returned), "{effects:?}");
    }
}

#[test]
fn that_a_reply_reached_its_limit_is_said_below_it() {
    let mut m = replying();
    m.handle(text(1, "a long story"));
    let effects = m.handle(generated(1, Outcome::Cut));
    assert_eq!(notices(&effects), [""; 0]);
    assert_eq!(outside(&effects), ["save reply \"a long story\" complete false last true"]);
    let effects = m.handle(reply_saved(1, "a long story", false));
    assert!(matches!(effects[0], Effect::Tell(Update::ReplyDone(_))), "{effects:?}");
    assert!(notices(&effects)[0].contains("reached its limit"), "{effects:?}");
}

#[test]
fn a_large_model_reacts_to_what_is_told_and_what_is_noted_stands_below() {
    let mut m = ready(Reader::Generative);
    let effects = said(&mut m, 1, "I moved to Lund last week.");
    assert_eq!(outside(&effects), ["generate after 0 with memories false"]);
    m.handle(text(1, "How is the new flat?"));
    m.handle(generated(1, Outcome::Ended));
    let effects = m.handle(reply_saved(1, "How is the new flat?", true));
    assert!(notices(&effects)[0].starts_with("Noted: you moved to Lund"), "{effects:?}");
}

#[test]
fn a_small_model_does_a_task_without_notes_and_what_they_say_stands_below() {
    let saved = |said: &str, expected: &str| {
        let saved = format!("save reply {expected:?} complete true last true");
        assert_eq!(reminded(said), [saved]);
    };
    saved("A soup.", "A soup.\n\nYou told me: Sara eats no pork.");
    // It does not know what stands below.
    saved("You haven't told me anything about Sara yet.", "You told me: Sara eats no pork.");
}

/// What a small model's reply to a task becomes where memory knows something.
fn reminded(said_by_model: &str) -> Vec<String> {
    let mut m = Machine::default();
    m.handle(command(Command::LoadModel(None)));
    let small = ScriptedModel::new(&[]).with_info(|info| info.n_parameters = 500_000_000);
    m.handle(Event::ModelReady(ModelProfile::new(small.info(), Reader::Generative, None)));
    said(&mut m, 1, "What should I cook for Sara?");
    let reminder = Quote {
        text: format!("{}Sara eats no pork.", crate::extractive::REMINDER),
        cited: Cited::default(),
        reminds: true,
    };
    let recalled = TurnEvent::Recalled {
        quote: Some(reminder),
        reads: false,
        is_private: true,
        nearest: None,
    };
    let effects = m.handle(Event::Turn(1, recalled));
    assert_eq!(outside(&effects), ["generate after 0 with memories false"]);
    m.handle(text(1, said_by_model));
    outside(&m.handle(generated(1, Outcome::Ended)))
}

#[test]
fn a_role_that_is_chosen_while_a_model_loads_counts_when_it_is_ready() {
    let persona = || Persona::parse("fr", "You translate.").unwrap();
    for role in [Some(Arc::new(persona())), None] {
        let mut m = Machine::default();
        step(&mut m, command(Command::LoadModel(None)), &["load"]);
        let named = format!("role {:?}", role.as_ref().map(|role| &role.name));
        step(&mut m, command(Command::Role(role.clone())), &[named.as_str()]);
        // What was being loaded knows the role of before.
        let mut loaded = profile(Reader::Generative);
        loaded.role = Some(Persona::parse("es", "You translate.").unwrap().into());
        let effects = m.handle(Event::ModelReady(loaded));
        assert_eq!(outside(&effects), [named]);
        let told =
            |effect: &Effect| matches!(effect, Effect::Tell(Update::Ready(p)) if p.role == role);
        assert!(effects.iter().any(told), "{effects:?}");
    }
}

#[test]
fn a_chat_that_is_opened_again_is_drawn_as_before() {
    let mut m = ready(Reader::Generative);
    step(
        &mut m,
        command(Command::Set(Setting::Seed, Some(SettingValue::Whole(3)))),
        &["sampling of 1"],
    );
    step(&mut m, command(Command::OpenSession(SessionId(7))), &["sampling of 0", "read c7"]);
    let sampling = "temperature=0.2 top_p=9 colour=red".to_owned();
    let conversation = Conversation { title: "Old".into(), sampling, ..Conversation::default() };
    let loaded = Event::SessionLoaded { session: SessionId(7), conversation };
    let effects = m.handle(loaded.clone());
    let kept = Settings::from([(Setting::Temperature, SettingValue::Number(0.2))]);
    assert_eq!(outside(&effects), ["sampling of 1"]);
    assert!(effects.contains(&Effect::Tell(Update::Sampling(kept))), "{effects:?}");
    // Read once more, it keeps what was set meanwhile.
    step(
        &mut m,
        command(Command::Set(Setting::Seed, Some(SettingValue::Whole(3)))),
        &["sampling of 2"],
    );
    step(&mut m, loaded, &[]);
}
