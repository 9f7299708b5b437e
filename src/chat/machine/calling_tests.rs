//! Calls of tools: asked for, allowed or not, made, stopped.

use super::*;
use crate::chat::tools::{CALLS_MAX, Call, CallResult, Permission, ToolUse};

const TASK: &str = "Write a report about the weather in Lund.";

/// A machine whose model knows tools, with them on.
fn with_tools() -> Machine {
    let mut m = ready(Reader::Generative);
    let mut profile = profile(Reader::Generative);
    profile.knows_tools = true;
    m.handle(Event::ModelReady(profile));
    m.handle(command(Command::Tools(true)));
    m
}

fn call() -> Call {
    let arguments = json!({"city": "Lund"}).as_object().unwrap().clone();
    Call { server: "home".into(), tool: "weather".into(), arguments }
}

fn asked(turn: TurnId, said: &str) -> Event {
    asked_as(r#"{"name": "weather"}"#, turn, said)
}

fn asked_as(written: &str, turn: TurnId, said: &str) -> Event {
    let (said, written) = (said.into(), written.into());
    Event::Turn(turn, TurnEvent::Asked { said, written, call: Ok(call()) })
}

fn result(turn: TurnId, text: &str) -> Event {
    let result = CallResult { text: text.into(), is_error: false };
    Event::Turn(turn, TurnEvent::Called(result))
}

fn permit(permission: Permission) -> Event {
    command(Command::Permit(permission))
}

/// The job that is asked for.
#[track_caller]
fn job(effects: &[Effect]) -> ReplyJob {
    let job = effects.iter().find_map(|effect| match effect {
        Effect::Start(job) => Some(job.clone()),
        _ => None,
    });
    job.unwrap_or_else(|| panic!("no job in {effects:?}"))
}

fn tools_of(effects: &[Effect]) -> ToolUse {
    match job(effects).step {
        ReplyStep::Generate { tools, .. } => tools,
        step => panic!("{step:?}"),
    }
}

#[test]
fn a_call_is_asked_for_made_and_gone_on_from() {
    let mut m = with_tools();
    // What is to be done is not looked up in memory first.
    assert_eq!(tools_of(&said(&mut m, 1, TASK)), ToolUse::Offered);
    m.handle(text(1, "I look."));
    let effects = m.handle(asked(1, "I look."));
    assert!(effects.contains(&Effect::Tell(Update::Asks(call()))), "{effects:?}");
    assert_eq!((outside(&effects), m.phase()), (vec![], PhaseName::Asking));
    let effects = m.handle(permit(Permission::Once));
    assert_eq!((job(&effects).step, m.phase()), (ReplyStep::Call(call()), PhaseName::Calling));
    let effects = m.handle(result(1, "Rain."));
    let [exchange] = &job(&effects).exchanges[..] else { panic!("{effects:?}") };
    assert_eq!((exchange.said.as_str(), exchange.result.text.as_str()), ("I look.", "Rain."));
    let told = |e: &Effect| matches!(e, Effect::Tell(Update::Called { result, .. }) if result.text == "Rain.");
    assert!(effects.iter().any(told));
    m.handle(text(1, "It rains."));
    // What the tool gave is no part of what is kept.
    let kept = "save reply \"I look.\\n\\nIt rains.\" complete true last true";
    step(&mut m, generated(1, Outcome::Ended), &[kept]);
    m.handle(reply_saved(1, "I look.\n\nIt rains.", true));
    // Once is once.
    said(&mut m, 2, TASK);
    m.handle(asked(2, ""));
    assert_eq!(m.phase(), PhaseName::Asking);
    // For the chat is until it is left.
    m.handle(permit(Permission::Chat));
    m.handle(result(2, "Rain."));
    assert_eq!(job(&m.handle(asked_as("{}", 2, ""))).step, ReplyStep::Call(call()));
    m.handle(result(2, "Rain."));
    // What it has, it is not given again.
    assert_eq!(tools_of(&m.handle(asked(2, ""))), ToolUse::Over);
    let effects = m.handle(asked(2, ""));
    assert!(notices(&effects)[0].contains("does not answer"), "{effects:?}");
    said(&mut m, 3, TASK);
    m.handle(asked(3, ""));
    let effects = m.handle(command(Command::NewSession));
    assert!(effects.contains(&Effect::StopTools) && effects.contains(&Effect::Cancel));
    assert!(effects.contains(&Effect::Tell(Update::ToolsOn(false))));
    let recalled = said(&mut m, 4, TASK);
    assert!(matches!(job(&recalled).step, ReplyStep::Recall { .. }), "off in each chat at first");
    m.handle(stop());
    m.handle(command(Command::Tools(true)));
    said(&mut m, 5, TASK);
    m.handle(asked(5, ""));
    assert_eq!(m.phase(), PhaseName::Asking);
}

#[test]
fn the_model_is_told_of_what_was_not_done() {
    let mut m = with_tools();
    said(&mut m, 1, TASK);
    m.handle(asked(1, ""));
    let refused = job(&m.handle(permit(Permission::No))).exchanges;
    assert!(refused[0].result.is_error && refused[0].result.text.contains("did not allow"));
    // A call that is none is not asked for.
    let why = "There is no tool `rm`.";
    let none = TurnEvent::Asked { said: String::new(), written: "{".into(), call: Err(why.into()) };
    assert_eq!(job(&m.handle(Event::Turn(1, none))).exchanges[1].result.text, why);
    // Neither an answer to nothing nor a fault on the way stops the turn.
    step(&mut m, permit(Permission::Once), &[]);
    m.handle(asked(1, ""));
    m.handle(permit(Permission::Once));
    let failed = job(&m.handle(failed(1, "a bug"))).exchanges;
    assert_eq!((failed.len(), failed[2].result.text.as_str()), (3, "a bug"));
    for n in 3..CALLS_MAX {
        m.handle(asked_as(&n.to_string(), 1, ""));
        m.handle(permit(Permission::Once));
        m.handle(result(1, "Rain."));
    }
    assert_eq!(tools_of(&m.handle(asked(1, ""))), ToolUse::Over, "so many, and it is to answer");
    m.handle(text(1, "Rain."));
    let kept = "save reply \"Rain.\" complete false last true";
    step(&mut m, asked(1, ""), &[kept]);
}

#[test]
fn stopping_ends_a_question_and_a_call() {
    for before in ["", "I look."] {
        for is_called in [false, true] {
            let mut m = with_tools();
            said(&mut m, 1, TASK);
            m.handle(text(1, before));
            m.handle(asked(1, before));
            if is_called {
                m.handle(permit(Permission::Once));
            }
            let effects = outside(&m.handle(stop()));
            let kept = "save reply \"I look.\" complete false last true";
            let rest = if before.is_empty() { "resume" } else { kept };
            assert_eq!(effects, ["cancel", rest]);
            // The question and its answer come too late.
            step(&mut m, permit(Permission::Once), &[]);
            step(&mut m, result(1, "Rain."), &[]);
        }
    }
}

#[test]
fn only_memory_or_a_tool_can_know_what_is_private() {
    let question = "What is on my calendar tomorrow?";
    let mut m = with_tools();
    step(&mut m, submit(question), &["pause", &format!("save user {question:?}")]);
    assert!(matches!(job(&m.handle(saved(1, question))).step, ReplyStep::Recall { .. }));
    assert_eq!(tools_of(&m.handle(nothing(1, false, true))), ToolUse::Required);
    m.handle(asked(1, ""));
    assert_eq!(tools_of(&m.handle(permit(Permission::No))), ToolUse::Required);
    m.handle(asked(1, ""));
    m.handle(permit(Permission::Once));
    assert_eq!(tools_of(&m.handle(result(1, "Nothing."))), ToolUse::Offered);
    // What memory answers, it answers.
    let mut m = with_tools();
    said(&mut m, 1, question);
    assert_eq!(tools_of(&m.handle(recalled(1))), ToolUse::None);
    for told in ["Good morning!", "I moved to Lund."] {
        let mut m = with_tools();
        let effects = said(&mut m, 1, told);
        let offered = effects.iter().any(|e| {
            matches!(e, Effect::Start(ReplyJob { step: ReplyStep::Generate { tools, .. }, .. })
                if *tools != ToolUse::None)
        });
        assert!(!offered, "{told}");
    }
}

#[test]
fn tools_are_off_where_nobody_knows_them_and_in_incognito() {
    let mut m = ready(Reader::Generative);
    let effects = m.handle(command(Command::Tools(true)));
    assert!(notices(&effects)[0].contains("offered no tools"), "{effects:?}");
    let mut m = with_tools();
    let effects = m.handle(Event::ModelReady(profile(Reader::Generative)));
    assert!(notices(&effects)[0].contains("offered no tools"), "another model: {effects:?}");
    let mut m = with_tools();
    let effects = m.handle(command(Command::Incognito(true)));
    assert!(effects.contains(&Effect::StopTools));
    let effects = m.handle(command(Command::Tools(true)));
    assert!(!effects.contains(&Effect::Tell(Update::ToolsOn(true))), "{effects:?}");
    assert_eq!(m.handle(command(Command::ListTools)), [Effect::ListTools { on: false }]);
}
