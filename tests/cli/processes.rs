//! Commands beside a running chat, with a closed pipe, and interrupted.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use inglenook::store::Store;

use super::Home;

#[test]
fn what_writes_works_beside_an_open_memory_and_what_replaces_it_waits() {
    let home = Home::new();
    home.import(&[("user", "I live in Lund."), ("user", "I have a cat.")]);
    // This process plays the running chat.
    let chat = Store::open(&home.data()).unwrap();
    let path = home.file(
        "more.jsonl",
        "{\"role\":\"user\",\"content\":\"more\",\"created_at\":\"2026-11-17T10:00:00Z\"}",
    );
    let before = chat.generation();
    let backup = home.dir.path().join("backup.db");
    let backup = backup.to_str().unwrap();
    for args in [
        &["import", path.to_str().unwrap()][..],
        &["memory", "undo"],
        &["memory", "forget", "m1", "--yes"],
        &["memory", "stats", "--json"],
        &["memory", "tree"],
        &["memory", "verify"],
        &["memory", "show", "m2"],
        &["session", "list"],
        &["export"],
        &["doctor", "--json"],
        &["backup", backup],
        &["session", "delete", "c1", "--yes"],
    ] {
        home.ok(args);
    }
    assert_ne!(chat.generation(), before);
    let said = chat.read(|r| r.messages(inglenook::memory::SessionId(2))).unwrap();
    assert_eq!(said.len(), 1);
    let pid = std::process::id().to_string();
    let passphrase = home.file("passphrase", "correct horse battery\n");
    let since = Instant::now();
    let mut encrypt = home.command(&["memory", "encrypt", "--wait", "1"]);
    let encrypt = encrypt.env("INGLENOOK_PASSPHRASE_FILE", &passphrase).output().unwrap();
    assert_eq!(encrypt.status.code(), Some(11), "{encrypt:?}");
    assert!(since.elapsed() >= Duration::from_secs(1));
    let stderr = home.fails(&["restore", backup, "--replace", "--wait", "0"], 11);
    assert!(stderr.contains(&pid) && stderr.contains("closed"), "{stderr}");
    drop(chat);
    home.ok_after_unlock(&["restore", backup, "--replace", "--wait", "0"]);
}

#[test]
fn a_writer_is_waited_for_as_long_as_is_said() {
    let home = Home::new();
    home.import(&[("user", "I live in Lund.")]);
    let turn = std::fs::File::open(home.data().join("memory.turn")).unwrap();
    turn.lock().unwrap();
    let pid = std::process::id().to_string();
    for args in [&["memory", "undo", "--wait", "0"][..], &["ask", "hi", "--wait", "1"]] {
        let stderr = home.fails(args, 11);
        assert!(stderr.contains(&pid) && stderr.contains("--wait SECONDS"), "{stderr}");
    }
    home.ok(&["memory", "tree"]);
    std::thread::scope(|scope| {
        let undone = scope.spawn(|| home.ok(&["memory", "undo"]));
        std::thread::sleep(Duration::from_millis(500));
        turn.unlock().unwrap();
        undone.join().unwrap();
    });
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
