//! Commands beside a running chat, with a closed pipe, and interrupted.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use inglenook::store::Store;

use super::Home;

#[test]
fn a_second_writer_gets_exit_code_11_and_readers_go_on() {
    let home = Home::new();
    home.import(&[("user", "I live in Lund.")]);
    // This process plays the running chat.
    let chat = Store::open(&home.data()).unwrap();
    let pid = std::process::id().to_string();
    let path = home.file(
        "more.jsonl",
        "{\"role\":\"user\",\"content\":\"more\",\"created_at\":\"2026-11-17T10:00:00Z\"}",
    );
    for args in [
        &["import", path.to_str().unwrap()][..],
        &["memory", "undo"],
        &["memory", "forget", "m1", "--yes"],
        &["memory", "edit", "t1", "name"],
        &["session", "delete", "c1", "--yes"],
    ] {
        let stderr = home.fails(args, 11);
        assert!(stderr.contains(&pid), "{args:?} names the process: {stderr}");
    }
    for args in [
        &["memory", "stats", "--json"][..],
        &["memory", "tree"],
        &["memory", "verify"],
        &["memory", "show", "m1"],
        &["session", "list"],
        &["session", "show", "c1"],
        &["export"],
        &["doctor", "--json"],
    ] {
        home.ok(args);
    }
    drop(chat);
    home.ok_after_unlock(&["import", path.to_str().unwrap()]);
}

#[test]
fn a_closed_pipe_ends_the_program_quietly() {
    let home = Home::new();
    let long = "word ".repeat(2000);
    let messages: Vec<(&str, &str)> = (0..50).map(|_| ("user", long.as_str())).collect();
    home.import(&messages);
    let mut export = Command::new(env!("CARGO_BIN_EXE_inglenook"))
        .arg("export")
        .env("INGLENOOK_HOME", home.data())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(export.stdout.take());
    let output = export.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[cfg(unix)]
#[test]
fn an_interrupt_is_exit_code_130() {
    let home = Home::new();
    let mut import = Command::new(env!("CARGO_BIN_EXE_inglenook"))
        .args(["import", "-"])
        .env("INGLENOOK_HOME", home.data())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Until the handler is installed the signal itself ends the program.
    let deadline = Instant::now() + Duration::from_secs(20);
    std::thread::sleep(Duration::from_millis(500));
    let status = loop {
        Command::new("kill").args(["-INT", &import.id().to_string()]).status().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        if let Some(status) = import.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < deadline, "it ignores the interrupt");
    };
    assert_eq!(status.code(), Some(130));
}
