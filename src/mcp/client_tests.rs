//! Against a real server, `tests/mcp/server.py`, that misbehaves when it is asked to.

use std::fs;
use std::path::Path;

use super::*;
use crate::error_chain::error_chain;
use crate::mcp::{ServerState, Servers};

fn config(mode: &str) -> ServerConfig {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/server.py");
    ServerConfig {
        name: "test".into(),
        command: "python3".into(),
        args: vec![server.display().to_string(), mode.into()],
        env: vec![("GREETING".into(), "hello".into())],
    }
}

/// A running server; `None` where there is no Python to run it.
fn started(mode: &str) -> Option<(Client, Vec<Tool>)> {
    match Client::start(&config(mode), &Cancel::default()) {
        Err(ClientError::NotStarted { .. }) => {
            crate::testing::skip("there is no python3");
            None
        }
        started => Some(started.unwrap()),
    }
}

/// What a tool answers.
#[track_caller]
fn call(client: &mut Client, tool: &str) -> Result<ToolResult, String> {
    let arguments = json!({"city": "Lund", "text": "x"});
    let called = client.call(tool, arguments.as_object().unwrap(), &Cancel::default());
    called.map_err(|error| error_chain(&error))
}

fn is_running(pid: &str) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

#[test]
fn a_server_of_either_era_says_what_it_offers_and_does_it() {
    for mode in ["", "modern"] {
        let Some((mut client, tools)) = started(mode) else { return };
        assert_eq!((tools.len(), tools[0].name.as_str()), (12, "weather"), "{mode}");
        assert_eq!(tools[0].schema["required"], json!(["city"]));
        let said = |client: &mut Client, tool| call(client, tool).unwrap();
        assert_eq!(said(&mut client, "weather").text, "12 °C and rain in Lund.");
        assert_eq!(said(&mut client, "picture").text, "(image, left out)\nA cat.");
        assert_eq!(said(&mut client, "noise").text, "Quiet again.");
        assert!(said(&mut client, "long").text.len() == 300_000);
        let failed = said(&mut client, "fail");
        assert!(failed.is_error && failed.text == "The station is closed.");
        // Nothing that was meant for this program alone.
        let variables = said(&mut client, "environment").text;
        assert!(variables.contains("GREETING") && variables.contains("PATH"));
        assert!(!variables.contains("CARGO"), "{variables}");
    }
}

#[test]
fn a_server_that_misbehaves_costs_one_call() {
    let Some((mut client, _)) = started("") else { return };
    assert_eq!(call(&mut client, "huge").unwrap_err(), "it answered more than 2 MiB at once");
    assert_eq!(call(&mut client, "weather").unwrap().text, "12 °C and rain in Lund.");
    assert!(call(&mut client, "garbage").unwrap_err().contains("no JSON-RPC"));
    assert_eq!(call(&mut client, "die").unwrap_err(), "it has ended: the disk is on fire");
    assert!(call(&mut client, "weather").unwrap_err().contains("it has ended"));
    let unknown = started("").unwrap().0.call("rm", &Map::new(), &Cancel::default());
    assert!(matches!(unknown, Err(ClientError::Ended(_))), "the test server's own fault");
}

#[test]
fn a_server_that_hangs_is_given_up_and_ended_with_its_children() {
    let dir = tempfile::tempdir().unwrap();
    let pids = dir.path().join("pids");
    let mut config = config("");
    config.env.push(("PIDS".into(), pids.display().to_string()));
    let Ok((mut client, _)) = Client::start(&config, &Cancel::default()) else {
        return crate::testing::skip("there is no python3");
    };
    let until = Instant::now() + Duration::from_secs(1);
    let params = json!({"name": "hang", "arguments": {}});
    let hung = client.request("tools/call", params, until, 1, &Cancel::default());
    assert_eq!(hung.unwrap_err().to_string(), "it did not answer within 1 seconds");
    let cancel = Cancel::default();
    cancel.cancel();
    let since = Instant::now();
    assert!(matches!(client.call("weather", &Map::new(), &cancel), Err(ClientError::Cancelled)));
    // However much it is told without reading, nobody waits.
    let long = json!({"text": "x".repeat(100_000)});
    for _ in 0..40 {
        let _ = client.call("add_note", long.as_object().unwrap(), &cancel);
    }
    // Its writer may take one more meanwhile.
    assert!((0..3).any(|_| matches!(client.send(&long), Err(ClientError::Deaf))));
    assert!(since.elapsed() < Duration::from_secs(1));
    let pids = fs::read_to_string(pids).unwrap();
    let pids: Vec<&str> = pids.split(' ').collect();
    assert!(pids.iter().all(|pid| is_running(pid)));
    drop(client);
    assert!(since.elapsed() < Duration::from_secs(3));
    // The kernel takes a moment to bury its child.
    thread::sleep(Duration::from_millis(200));
    assert_eq!(pids.iter().filter(|pid| is_running(pid)).count(), 0);
    // Nobody is left unburied, either.
    assert!(!Path::new(&format!("/proc/{}", pids[0])).exists());
}

#[test]
fn servers_that_do_not_start_are_named_with_the_reason() {
    if started("").is_none() {
        return;
    }
    let named = |name: &str, config: ServerConfig| ServerConfig { name: name.into(), ..config };
    let absent = ServerConfig { command: "/no/such/program".into(), ..config("") };
    let mut servers = Servers::new(&[
        named("absent", absent),
        named("good", config("")),
        named("dead", config("dies")),
        named("odd", config("nonsense")),
    ]);
    assert!(servers.are_waiting() && servers.tools().is_empty());
    let failed: Vec<String> = servers
        .start(&Cancel::default())
        .into_iter()
        .map(|(name, why)| format!("{name}: {why}"))
        .collect();
    assert_eq!(
        failed,
        [
            "absent: `/no/such/program` can't be started: No such file or directory (os error 2)",
            "dead: it has ended: the disk is on fire",
            "odd: it speaks revision \"1987-01-01\", which is not known here",
        ]
    );
    assert_eq!((servers.tools().len(), servers.are_waiting()), (12, false));
    let mut call = |server: &str, tool: &str| {
        servers.call(server, tool, &Map::new(), &Cancel::default()).unwrap_err()
    };
    assert_eq!(call("dead", "weather"), "it has ended: the disk is on fire");
    assert_eq!(call("good", "die"), "it has ended: the disk is on fire");
    assert_eq!(call("good", "weather"), "it has ended: the disk is on fire");
    assert!(matches!(servers.states()[1].1, ServerState::Failed(_)) && servers.tools().is_empty());
    // One that is stopped while it starts can be started again.
    let mut hanging = Servers::new(&[config("hangs"), config("silent")]);
    let cancel = Cancel::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(300));
            cancel.cancel();
        });
        assert_eq!(hanging.start(&cancel), []);
    });
    assert!(hanging.are_waiting());
}
