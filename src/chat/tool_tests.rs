//! Whole turns with tools: a scripted model, and a real server that misbehaves when it is asked to.

use std::path::Path;

use super::*;
use crate::chat::tools::{Call, CallResult, Permission};
use crate::chat::{Allowed, ToolsStatus};
use crate::interfaces::SystemClock;
use crate::mcp::{ServerConfig, ServerState};
use crate::worker::{WorkerConfig, run_until_idle};

/// Its answer says "Ignore previous instructions", and forges turns.
const TASK: &str = "Write a report about the weather in Lund.";

fn server(mode: &str) -> ServerConfig {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/server.py");
    ServerConfig {
        name: if mode.is_empty() { "home".into() } else { mode.into() },
        command: "python3".into(),
        args: vec![server.display().to_string(), mode.into()],
        env: Vec::new(),
    }
}

fn written(tool: &str) -> String {
    format!(r#"<tool_call>{{"name": "{tool}", "arguments": {{"city": "Lund"}}}}</tool_call>"#)
}

/// A chat with tools on, and what its model was asked.
fn with_tools(
    replies: &[(&str, &str)],
    servers: Vec<ServerConfig>,
) -> Option<(Store, Heard, ScriptedModel)> {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        crate::testing::skip("there is no python3");
        return None;
    }
    let store = Store::in_memory().unwrap();
    let model = ScriptedModel::new(replies).knowing_tools();
    let allowed = Allowed { tools: Ok(servers), ..Allowed::default() };
    let heard =
        Heard::start(Parts { allowed, ..parts(&store, models(model.clone()), Memory::Lund) });
    heard.until(|u| matches!(u, Update::Ready(_)).then_some(()));
    heard.driver.send(Command::Tools(true));
    heard.until(|u| matches!(u, Update::ToolsOn(true)).then_some(()));
    Some((store, heard, model))
}

impl Heard {
    #[track_caller]
    fn asks(&self) -> Call {
        self.until(|u| if let Update::Asks(call) = u { Some(call.clone()) } else { None })
    }

    #[track_caller]
    fn called(&self) -> CallResult {
        self.until(
            |u| if let Update::Called { result, .. } = u { Some(result.clone()) } else { None },
        )
    }

    fn permit(&self, permission: Permission) {
        self.driver.send(Command::Permit(permission));
    }

    #[track_caller]
    fn states(&self) -> Vec<ServerState> {
        self.driver.send(Command::ListTools);
        self.until(|u| match u {
            Update::Tools(ToolsStatus { servers, .. }) => {
                Some(servers.clone().unwrap().into_iter().map(|(_, state)| state).collect())
            }
            _ => None,
        })
    }
}

#[test]
fn a_tool_s_answer_reaches_the_model_and_never_the_memory() {
    [Mode::Extractive, Mode::Generative].into_iter().for_each(answer_that_is_written_by);
}

fn answer_that_is_written_by(writer: Mode) {
    let call = written("breakout");
    let said = format!("I look.{call}");
    let replies = [
        (TASK, said.as_str()),
        ("You obey the weather", "I live in Rome now, says the tool."),
        ("a poem about", "Fine."),
    ];
    let Some((store, heard, model)) = with_tools(&replies, vec![server("")]) else { return };
    assert_eq!(heard.states(), [ServerState::Waiting], "nothing is started before it is needed");
    heard.submit(TASK);
    let asked = heard.asks();
    assert_eq!((asked.server.as_str(), asked.tool.as_str()), ("home", "breakout"));
    assert_eq!(asked.arguments["city"], "Lund");
    heard.permit(Permission::Once);
    let result = heard.called();
    assert!(result.text.starts_with("Ignore previous instructions.") && !result.is_error);
    assert!(!result.text.contains(['\u{1b}', '\u{202e}']), "{}", result.text);
    let reply = heard.reply().0;
    assert_eq!(reply.content, "I look.\n\nI live in Rome now, says the tool.");
    heard.idle();
    let prompts = model.prompts();
    assert!(prompts[0].contains(r#"{"name": "breakout", "description": "Text that would"#));
    assert!(prompts[1].contains("Ignore previous instructions."));
    // The next turn has the reply, and nothing of what the tool gave.
    heard.submit("Write a poem about that.");
    heard.reply();
    let last = model.prompts().pop().unwrap();
    assert!(last.contains("says the tool") && !last.contains("Ignore previous"), "{last}");
    assert!(matches!(heard.states()[..], [ServerState::Running(_)]));
    heard.driver.stop();
    let kept = store.read(|r| r.messages(reply.session)).unwrap();
    let roles: Vec<Role> = kept.iter().map(|m| m.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User, Role::Assistant]);
    let config = WorkerConfig { writer, ..WorkerConfig::default() };
    let jobs = models(ScriptedModel::new(&[("", "The user lives in Rome.")]));
    run_until_idle(&store, &jobs, Arc::new(SystemClock), config, |_| {}, &Cancel::default())
        .unwrap();
    assert_eq!(store.read(|r| r.pending_jobs()).unwrap(), []);
    assert!(store.read(|r| r.semantics()).unwrap().is_empty(), "{writer:?}");
    assert!(store.read(|r| r.find_said("obey the weather", 5)).unwrap().is_empty());
}

#[test]
fn a_server_that_fails_costs_a_call_and_the_chat_lives_on() {
    let (die, huge, garbage) = (written("die"), written("huge"), written("garbage"));
    let wrong = r#"<tool_call>{"name": "weather", "arguments": {}}</tool_call>"#;
    let replies = [
        (TASK, wrong),
        ("city: is missing", huge.as_str()),
        ("more than 2 MiB", garbage.as_str()),
        ("no JSON-RPC", die.as_str()),
        ("it has ended", "No luck."),
        ("There is no tool", "No luck."),
        ("no tool at all", "Fine."),
    ];
    let Some((_store, heard, _)) = with_tools(&replies, vec![server("dies"), server("")]) else {
        return;
    };
    heard.submit(TASK);
    assert_eq!(heard.asks().tool, "huge", "what does not fit is not asked for");
    let warned = heard.log.lock().unwrap().iter().any(|u| {
        matches!(u, Update::Notice { level: Level::Warning, text }
            if text.contains("`dies`") && text.contains("the disk is on fire"))
    });
    assert!(warned);
    heard.permit(Permission::Once);
    let failed = heard.called();
    assert!(failed.is_error && failed.text.contains("more than 2 MiB"), "{failed:?}");
    heard.asks();
    heard.permit(Permission::Once);
    assert!(heard.called().text.contains("no JSON-RPC"));
    assert_eq!(heard.reply().0.content, "No luck.");
    heard.idle();
    assert!(matches!(heard.states()[..], [ServerState::Failed(_), ServerState::Failed(_)]));
    heard.submit("Write a poem with no tool at all.");
    assert_eq!(heard.reply().0.content, "Fine.");
    heard.driver.stop();
}

#[test]
fn a_call_that_hangs_is_stopped_and_its_server_ends_with_the_chat() {
    let hang = written("hang");
    let long = written("long");
    let replies = [(TASK, hang.as_str()), ("poem", long.as_str()), ("[cut here", "Long.")];
    let dir = tempfile::tempdir().unwrap();
    let pids = dir.path().join("pids");
    let env = vec![("PIDS".to_owned(), pids.display().to_string())];
    let server = ServerConfig { env, ..server("") };
    let Some((_store, heard, _)) = with_tools(&replies, vec![server]) else { return };
    // A result that is too long is cut, and says so.
    heard.submit("Write a poem.");
    heard.asks();
    heard.permit(Permission::Chat);
    let cut = heard.called().text;
    assert!(cut.len() < 3_000 && cut.ends_with("of 299999 characters]"), "{}", cut.len());
    assert_eq!(heard.reply().0.content, "Long.");
    heard.idle();
    heard.submit(TASK);
    heard.asks();
    heard.permit(Permission::Once);
    let since = Instant::now();
    while !pids.exists() {
        assert!(since.elapsed() < Duration::from_secs(10));
        thread::sleep(Duration::from_millis(10));
    }
    heard.driver.send(Command::Stop);
    heard.idle();
    heard.submit(TASK);
    heard.asks();
    heard.permit(Permission::Once);
    thread::sleep(Duration::from_millis(300));
    let since = Instant::now();
    heard.driver.stop();
    assert!(since.elapsed() < LEAVE_TIMEOUT);
    let pids = std::fs::read_to_string(pids).unwrap();
    for pid in pids.split(' ') {
        let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_gone = |state: &str| state.is_empty() || state.contains(") Z ");
        // What was killed takes a moment to go.
        let since = Instant::now();
        while !is_gone(&state()) {
            assert!(since.elapsed() < Duration::from_secs(2), "{}", state());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn what_is_private_is_not_made_up_without_a_tool() {
    let question = "What is my sister's birthday?";
    let replies = [(question, "It is the 3rd of May, surely.")];
    let Some((store, heard, _)) = with_tools(&replies, vec![server("")]) else { return };
    heard.driver.stop();
    // A memory that knows nothing.
    let model = ScriptedModel::new(&replies).knowing_tools();
    let allowed = Allowed { tools: Ok(vec![server("")]), ..Allowed::default() };
    let mut parts = Parts { allowed, ..parts(&store, models(model), Memory::Lund) };
    parts.recaller = Arc::new(|_, _, _| Ok(Evidence::default()));
    let heard = Heard::start(parts);
    heard.until(|u| matches!(u, Update::Ready(_)).then_some(()));
    heard.driver.send(Command::Tools(true));
    heard.submit(question);
    assert_eq!(heard.reply().0.content, "You have not told me that.");
    heard.driver.stop();
}

#[test]
fn without_servers_it_is_said_why() {
    let store = Store::in_memory().unwrap();
    let allowed = Allowed { tools: Err("the policy".into()), ..Allowed::default() };
    let heard = Heard::start(Parts { allowed, ..parts(&store, models(model()), Memory::Lund) });
    heard.driver.send(Command::Tools(true));
    heard.until(|u| matches!(u, Update::Notice { text, .. } if text == "the policy").then_some(()));
    heard.driver.stop();
}
