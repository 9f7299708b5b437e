//! The passphrase from the system's keyring: a D-Bus and a GNOME Keyring of the test's own.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use expectrl::Expect as _;
use inglenook::testing::skip;

use crate::encryption::{Encrypted, PASSPHRASE, private};

const HAS_FEATURE: bool = cfg!(feature = "keyring");

/// Ended when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A session bus, with a keyring or without.
struct Desktop {
    memory: Encrypted,
    address: String,
    running: Vec<Running>,
}

impl Desktop {
    /// `None`: the calling test is skipped.
    fn new(with_keyring: bool) -> Option<Self> {
        if !HAS_FEATURE {
            skip("built without the feature `keyring`");
            return None;
        }
        for program in ["dbus-daemon", "gnome-keyring-daemon", "secret-tool"] {
            let found = Command::new(program).arg("--version").output();
            if found.is_err() {
                skip(&format!("{program} is not here"));
                return None;
            }
        }
        let memory = Encrypted::new();
        let dir = memory.home.dir.path();
        // Of its own: no service is started because somebody asks for it.
        let config = memory.home.file(
            "bus.conf",
            format!(
                "<busconfig><type>session</type><listen>unix:dir={}</listen><auth>EXTERNAL</auth>\
                 <policy context='default'><allow send_destination='*'/>\
                 <allow receive_sender='*'/><allow own='*'/></policy></busconfig>",
                dir.display()
            ),
        );
        let mut bus = Command::new("dbus-daemon")
            .arg(format!("--config-file={}", config.display()))
            .args(["--nofork", "--print-address"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(bus.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        let mut this = Self { memory, address, running: vec![Running(bus)] };
        if with_keyring {
            let mut keyring = this.program("gnome-keyring-daemon");
            keyring.args(["--foreground", "--unlock", "--components=secrets"]);
            keyring.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut keyring = keyring.spawn().unwrap();
            keyring.stdin.take().unwrap().write_all(b"the keyring's own").unwrap();
            this.running.push(Running(keyring));
            let since = Instant::now();
            while this.tool(&["search", "service", "nothing"], "").status.code() != Some(0) {
                assert!(since.elapsed() < Duration::from_secs(20), "the keyring does not start");
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Some(this)
    }

    /// A program of this session.
    fn program(&self, name: &str) -> Command {
        let dir = self.memory.home.dir.path();
        let mut command = Command::new(name);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", dir)
            .env("XDG_RUNTIME_DIR", dir)
            .env("DBUS_SESSION_BUS_ADDRESS", &self.address);
        command
    }

    fn tool(&self, args: &[&str], stdin: &str) -> Output {
        let mut tool = self.program("secret-tool");
        tool.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = tool.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        child.wait_with_output().unwrap()
    }

    fn account(&self) -> String {
        self.memory.home.data().canonicalize().unwrap().display().to_string()
    }

    /// What the keyring has for this memory.
    fn entry(&self) -> String {
        let output =
            self.tool(&["lookup", "service", "inglenook", "username", &self.account()], "");
        String::from_utf8(output.stdout).unwrap()
    }

    fn put(&self, secret: &str) {
        let account = self.account();
        let args = ["store", "--label=x", "service", "inglenook", "username", &account];
        assert!(self.tool(&args, secret).status.success());
    }

    /// inglenook in this session, with no file that has the passphrase.
    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn command(&self, args: &[&str]) -> assert_cmd::Command {
        let mut command = self.memory.home.command(args);
        command.env("DBUS_SESSION_BUS_ADDRESS", &self.address);
        command
    }

    #[track_caller]
    fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stderr(&output) + &String::from_utf8_lossy(&output.stdout)
    }

    fn store(&self) {
        let mut store = self.command(&["memory", "keyring", "store"]);
        let output = store.env("INGLENOOK_PASSPHRASE_FILE", &self.memory.passphrase).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }

    /// The chat in a terminal, which locks after three seconds.
    fn chat(&self) -> expectrl::session::OsSession {
        let home = &self.memory.home;
        fs::write(home.data().join("config.toml"), "[chat]\nlock_minutes = 0.05\n").unwrap();
        let mut chat = self.program(crate::PROGRAM);
        chat.env("INGLENOOK_HOME", home.data()).env("TERM", "xterm-256color").env("LC_ALL", "C");
        let mut session = expectrl::Session::spawn(chat).unwrap();
        session.set_expect_timeout(Some(Duration::from_mins(1)));
        session
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Ended with code 4, soon, with one remark that says `why`; and nothing was changed.
#[track_caller]
fn falls_through(memory: &Encrypted, address: Option<&str>, why: &str) {
    let database = memory.home.data().join("memory.db");
    let before = fs::read(&database).unwrap();
    let since = Instant::now();
    let mut command = memory.home.command(&["memory", "stats"]);
    command.env("XDG_RUNTIME_DIR", memory.home.dir.path());
    if let Some(address) = address {
        command.env("DBUS_SESSION_BUS_ADDRESS", address);
    }
    let output = command.output().unwrap();
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{told}");
    assert_eq!(told.matches("not taken from it").count(), 1, "{told}");
    assert!(told.contains(why) && told.contains("is encrypted"), "{told}");
    assert!(since.elapsed() < Duration::from_secs(12), "{:?}", since.elapsed());
    assert!(fs::read(&database).unwrap() == before);
}

#[test]
#[cfg(not(feature = "keyring"))]
fn a_build_without_it_says_so() {
    let memory = Encrypted::new();
    for what in ["store", "forget"] {
        let told = memory.home.fails(&["memory", "keyring", what], 1);
        assert!(told.contains("this build") && told.contains("--features keyring"), "{told}");
    }
    assert!(!memory.home.fails(&["memory", "stats"], 4).contains("keyring"));
}

#[test]
fn a_keyring_that_cannot_be_asked_holds_nobody_up() {
    if !HAS_FEATURE {
        return skip("built without the feature `keyring`");
    }
    let memory = Encrypted::new();
    let dir = memory.home.dir.path();
    falls_through(&memory, None, "this session has no D-Bus");
    falls_through(&memory, Some("tcp:host=127.0.0.1,port=9"), "something else than unix sockets");
    let socket = |name: &str| format!("unix:path={}", dir.join(name).display());
    falls_through(&memory, Some(&socket("nobody")), "no keyring can be used");
    // Somebody listens and never answers.
    let _listens = UnixListener::bind(dir.join("silent")).unwrap();
    falls_through(&memory, Some(&socket("silent")), "the keyring does not answer");
    // Before the passphrase is asked for.
    for what in ["store", "forget"] {
        let told = memory.home.fails(&["memory", "keyring", what], 1);
        assert!(told.contains("no D-Bus") && told.contains("hint: "), "{told}");
    }
    let Some(desktop) = Desktop::new(false) else { return };
    falls_through(&desktop.memory, Some(&desktop.address), "no keyring runs in this session");
}

#[test]
fn the_keyring_opens_the_memory_and_follows_its_passphrase() {
    let Some(desktop) = Desktop::new(true) else { return };
    let home = &desktop.memory.home;
    // Only what opens it is stored.
    let wrong = private(home, "wrong", "correct horse battery stable");
    let mut store = desktop.command(&["memory", "keyring", "store"]);
    let refused = store.env("INGLENOOK_PASSPHRASE_FILE", &wrong).output().unwrap();
    assert_eq!((refused.status.code(), desktop.entry().as_str()), (Some(4), ""));
    desktop.store();
    assert_eq!(desktop.entry(), PASSPHRASE);
    // Without a word.
    let output = desktop.run(&["memory", "stats"]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    assert!(desktop.ok(&["ask", "What is my dog called?"]).contains("Xerxes"));
    // The file goes first.
    let mut stats = desktop.command(&["memory", "stats"]);
    let output = stats.env("INGLENOOK_PASSPHRASE_FILE", &wrong).output().unwrap();
    assert_eq!(output.status.code(), Some(4));

    let new = private(home, "new", "another one, quite as long");
    let mut rekey = desktop.command(&["memory", "rekey"]);
    let output = rekey.env("INGLENOOK_NEW_PASSPHRASE_FILE", &new).output().unwrap();
    assert!(stderr(&output).contains("The keyring has the new one"), "{}", stderr(&output));
    assert_eq!(desktop.entry(), "another one, quite as long");
    desktop.ok(&["memory", "verify"]);
    assert!(desktop.ok(&["memory", "decrypt"]).contains("no passphrase of it any more"));
    assert_eq!(desktop.entry(), "");
    // What has no entry gets none.
    let mut encrypt = desktop.command(&["memory", "encrypt"]);
    assert!(encrypt.env("INGLENOOK_PASSPHRASE_FILE", &new).output().unwrap().status.success());
    assert_eq!(desktop.entry(), "");
}

#[test]
fn a_wrong_entry_is_named_and_can_be_forgotten() {
    let Some(desktop) = Desktop::new(true) else { return };
    desktop.put("correct horse battery stable");
    let database = desktop.memory.home.data().join("memory.db");
    let before = fs::read(&database).unwrap();
    let output = desktop.run(&["memory", "forget", "--match", "dog", "--yes"]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{told}");
    assert!(told.contains("memory keyring store") && told.contains("memory keyring forget"));
    assert_eq!(told.matches("though the keyring has it").count(), 1, "{told}");
    assert!(fs::read(&database).unwrap() == before);
    // At a terminal it is asked for.
    let mut chat = desktop.chat();
    chat.expect("though the keyring has it").unwrap();
    chat.expect("Passphrase:").unwrap();
    chat.send("\x03").unwrap();
    assert!(desktop.ok(&["memory", "keyring", "forget"]).contains("any more"));
    assert_eq!(desktop.entry(), "");
    assert!(!desktop.ok(&["memory", "keyring", "forget"]).contains("any more"));
}

#[test]
fn a_locked_keyring_is_not_asked_to_unlock() {
    let Some(desktop) = Desktop::new(true) else { return };
    desktop.store();
    // It locks, and then may crash.
    desktop.tool(&["lock", "--collection=login"], "");
    assert_eq!(desktop.entry(), "");
    falls_through(&desktop.memory, Some(&desktop.address), "the keyring is locked");
    let new = private(&desktop.memory.home, "new", "another one, quite as long");
    let mut rekey = desktop.command(&["memory", "rekey"]);
    rekey.env("INGLENOOK_PASSPHRASE_FILE", &desktop.memory.passphrase);
    let output = rekey.env("INGLENOOK_NEW_PASSPHRASE_FILE", &new).output().unwrap();
    assert!(output.status.success());
    assert!(stderr(&output).contains("If it has the passphrase from before"));
}

#[test]
fn a_chat_that_the_keyring_opened_stays_open_and_a_locked_one_stays_locked() {
    let Some(desktop) = Desktop::new(true) else { return };
    let mut chat = desktop.chat();
    chat.expect("Passphrase:").unwrap();
    chat.send(format!("{PASSPHRASE}\r")).unwrap();
    chat.expect("An assistant that remembers").unwrap();
    desktop.store();
    chat.expect("Locked, because nobody was there").unwrap();
    chat.expect("Passphrase:").unwrap();
    chat.send("\x03").unwrap();

    let mut chat = desktop.chat();
    chat.expect("An assistant that remembers").unwrap();
    chat.set_expect_timeout(Some(Duration::from_secs(6)));
    assert!(chat.expect("Locked").is_err());
    chat.send("still here").unwrap();
    chat.set_expect_timeout(Some(Duration::from_mins(1)));
    chat.expect("still here").unwrap();
    chat.send("\x03\x04").unwrap();
}
