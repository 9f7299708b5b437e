//! The real binary in a pseudo-terminal: what a person sees, and what is left of their terminal.
//!
//! A shell runs the program and then `stty -a`, so that the test sees the terminal's state as the
//! person's shell would.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use std::fs;
use std::io::Write;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use expectrl::Session;
use expectrl::session::OsSession;

const PATIENCE: Duration = Duration::from_mins(1);

struct Terminal {
    session: OsSession,
    parser: vt100::Parser,
    /// Everything that the program wrote.
    raw: Vec<u8>,
}

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

fn nonzero(n: u16) -> std::num::NonZeroU16 {
    std::num::NonZeroU16::new(n).unwrap()
}

impl Terminal {
    fn start(home: &Home, width: u16, height: u16, env: &[(&str, &str)]) -> Self {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            r#"stty sane rows "$ROWS" cols "$COLS"; "$PROGRAM"; echo "code=$?"; stty -a; echo end-of-test"#,
        ]);
        command
            .env("PROGRAM", env!("CARGO_BIN_EXE_inglenook"))
            .env("ROWS", height.to_string())
            .env("COLS", width.to_string())
            .env("INGLENOOK_HOME", home.0.path())
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C")
            .env("RUST_BACKTRACE", "0")
            .env_remove("NO_COLOR")
            .env_remove("COLORTERM");
        for (name, value) in env {
            command.env(name, value);
        }
        let session = Session::spawn(command).unwrap();
        let parser = vt100::Parser::new(nonzero(height), nonzero(width), 0);
        Self { session, parser, raw: Vec::new() }
    }

    /// Reads what is available.
    fn read(&mut self) {
        let mut buffer = vec![0; 65_536];
        while let Ok(n @ 1..) = self.session.try_read(&mut buffer) {
            self.parser.process(&buffer[..n]);
            self.raw.extend_from_slice(&buffer[..n]);
        }
    }

    fn screen(&mut self) -> String {
        self.read();
        self.parser.screen().contents()
    }

    #[track_caller]
    fn until(&mut self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let since = Instant::now();
        loop {
            let screen = self.screen();
            if wanted(&screen) {
                return screen;
            }
            assert!(since.elapsed() < PATIENCE, "no {what} on the screen:\n{screen}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[track_caller]
    fn shows(&mut self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    fn keys(&mut self, keys: &str) {
        self.session.write_all(keys.as_bytes()).unwrap();
        self.session.flush().unwrap();
    }

    /// Types a line, once the program is ready for it.
    fn line(&mut self, text: &str) {
        self.keys(text);
        self.until("the typed text", |screen| {
            let end: String = text.chars().skip(text.chars().count().saturating_sub(10)).collect();
            screen.contains(&end)
        });
        self.keys("\r");
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.read();
        self.session.get_process_mut().set_window_size(width, height).unwrap();
        self.parser.screen_mut().set_size(nonzero(height), nonzero(width));
    }

    /// The process of the program, which is the shell's only child.
    fn program(&self) -> String {
        let shell = self.session.get_process().pid();
        let path = format!("/proc/{shell}/task/{shell}/children");
        fs::read_to_string(path).unwrap().trim().to_owned()
    }

    /// Waits for the end, checks that the terminal is as it was, and returns the exit code.
    #[track_caller]
    fn ended(&mut self) -> String {
        let screen = self.shows("end-of-test");
        let state = self.parser.screen();
        assert!(!state.alternate_screen(), "still in the alternate screen:\n{screen}");
        assert!(!state.hide_cursor(), "the cursor is hidden:\n{screen}");
        assert!(!state.bracketed_paste(), "bracketed paste is on");
        assert_eq!(
            state.mouse_protocol_mode(),
            vt100::MouseProtocolMode::None,
            "the mouse is ours"
        );
        let words: Vec<&str> = screen.split(|c: char| c.is_whitespace() || c == ';').collect();
        for mode in ["icanon", "echo", "isig", "icrnl", "opost"] {
            assert!(words.contains(&mode), "{mode} is off:\n{screen}");
        }
        let code = screen.lines().find_map(|l| l.trim().strip_prefix("code="));
        code.unwrap_or_else(|| panic!("no exit code:\n{screen}")).to_owned()
    }

    /// Checks that no escape sequence was written that is not the program's own.
    fn assert_clean(&self, needles: &[&str]) {
        let raw = String::from_utf8_lossy(&self.raw);
        for needle in needles {
            assert!(!raw.contains(needle), "{needle:?} reached the terminal");
        }
    }
}

#[test]
fn an_encrypted_memory_locks_when_nobody_is_there() {
    let home = Home::new();
    let file = home.0.path().join("passphrase");
    fs::write(&file, "correct horse battery\n").unwrap();
    let encrypted = Command::new(env!("CARGO_BIN_EXE_inglenook"))
        .args(["memory", "encrypt"])
        .env("INGLENOOK_HOME", home.0.path())
        .env("INGLENOOK_PASSPHRASE_FILE", &file)
        .status();
    assert!(encrypted.unwrap().success());
    fs::write(home.0.path().join("config.toml"), "[chat]\nlock_minutes = 0.05\n").unwrap();
    let mut t = Terminal::start(&home, 80, 24, &[]);
    t.shows("Passphrase:");
    t.keys("correct horse battery\r");
    t.shows("An assistant that remembers");
    t.keys("half a thought");
    t.shows("half a thought");
    let locked = t.shows("Locked, because nobody was there");
    assert!(!locked.contains("half a thought"), "{locked}");
    t.shows("Passphrase:");
    t.keys("wrong\r");
    t.shows("this is not the passphrase");
    t.keys("correct horse battery\r");
    t.shows("half a thought");
    // Nobody comes back, and the terminal goes.
    t.until("the next lock", |screen| screen.matches("Locked").count() == 2);
    t.until("the next question", |screen| screen.trim_end().ends_with("Passphrase:"));
    assert!(Command::new("kill").args(["-HUP", &t.program()]).status().unwrap().success());
    assert_eq!(t.ended(), "129");
}

#[test]
fn a_first_conversation_is_remembered_after_a_restart() {
    let home = Home::new();
    let mut t = Terminal::start(&home, 80, 24, &[]);
    t.shows("An assistant that remembers");
    t.shows("gets a larger one");
    t.line("My name is Ana and I moved to Lund last week.");
    t.shows("Noted:");
    t.line("Where do I live?");
    t.until("an answer about Lund", |s| s.matches("Lund").count() >= 4);
    t.line("/why");
    t.shows("why this answer");
    // Resized to smaller and back.
    t.resize(40, 12);
    t.until("the small why pane", |s| {
        s.lines().next().is_some_and(|l| l.starts_with(" inglenook"))
    });
    t.resize(20, 5);
    t.shows("A little larger");
    t.resize(80, 24);
    t.shows("why this answer");
    t.keys("\x1b");
    t.until("the chat", |s| !s.contains("why this answer"));
    let path = home.0.path().join("chat.md");
    fs::write(&path, "mine").unwrap();
    t.line(&format!("/export {}", path.display()));
    t.shows("nothing is overwritten");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    fs::remove_file(path).unwrap();
    t.keys("\x04");
    assert_eq!(t.ended(), "0");

    let mut t = Terminal::start(&home, 80, 24, &[]);
    t.shows("memory idle");
    t.line("Where do I live?");
    t.shows("You moved to Lund");
    // The reply is saved: nothing is forgotten while one is being written.
    t.shows("from 1 memory");
    t.line("/forget Lund");
    t.shows("Forget this for good?");
    t.keys("y");
    t.shows("Forgotten:");
    t.line("/quit");
    assert_eq!(t.ended(), "0");
    for file in fs::read_dir(home.0.path()).unwrap().flatten() {
        if file.file_type().unwrap().is_file() {
            let bytes = fs::read(file.path()).unwrap();
            let found = bytes.windows(4).any(|w| w == b"Lund");
            assert!(!found, "Lund is still in {}", file.path().display());
        }
    }
}

#[test]
fn chats_fork_have_versions_and_are_found() {
    let home = Home::new();
    let mut t = Terminal::start(&home, 80, 24, &[("COLORTERM", "truecolor")]);
    t.shows("memory idle");
    t.line("My cat is called Tiger.");
    t.shows("Noted: your cat is called Tiger");
    t.shows("memory idle");
    t.line("/retry");
    t.shows("‹2/2›");
    // The first message, written anew: another chat.
    t.keys("\x1b[A");
    t.shows("c copy");
    t.keys("\x1b[A");
    t.shows("e edit");
    t.keys("e");
    t.shows("written anew");
    t.keys("\x15My dog is called Bella.\r");
    t.shows("Noted: your dog is called Bella");
    t.until("only the new chat", |s| !s.contains("Tiger"));
    // Found, renamed, pinned.
    t.keys("\x13");
    t.shows("type to search");
    t.keys("tiger");
    t.shows("My cat is called Tiger.");
    t.keys("\x15");
    t.shows("type to search");
    t.keys("\x1b[B\x05");
    t.shows("rename the chat");
    t.keys("\x15Animals\r");
    t.shows("Animals");
    t.until("both chats", |s| s.contains("Animals") && s.contains("↳"));
    t.keys("\x1b[B\x10");
    t.shows("★ Animals");
    t.keys("\r");
    t.shows("‹2/2›");
    // Colours fill the screen, and are kept.
    t.line("/theme dusk");
    let is_dusk = |t: &Terminal| {
        let cell = t.parser.screen().cell(10, 70).unwrap();
        cell.bgcolor() == vt100::Color::Rgb(0x1b, 0x1e, 0x2e)
    };
    t.until("the empty input", |s| s.contains("› Message"));
    assert!(is_dusk(&t));
    t.keys("\x04");
    assert_eq!(t.ended(), "0");
    let mut t = Terminal::start(&home, 80, 24, &[("COLORTERM", "truecolor")]);
    t.shows("Animals");
    assert!(is_dusk(&t));
    // Deleted with what was learnt from it: at the latest when the program is left.
    t.keys("\x13");
    t.shows("★ Animals");
    t.keys("\x1b[3~");
    t.shows("deleted");
    t.keys("\x1b");
    t.shows("1 chat deleted");
    t.keys("\x04");
    assert_eq!(t.ended(), "0");
    let mut t = Terminal::start(&home, 80, 24, &[]);
    t.shows("Welcome back");
    assert!(!t.screen().contains("Animals"));
    t.keys("\x04");
    assert_eq!(t.ended(), "0");
    for file in fs::read_dir(home.0.path()).unwrap().flatten() {
        if file.file_type().unwrap().is_file() {
            let bytes = fs::read(file.path()).unwrap();
            assert!(!bytes.windows(5).any(|w| w == b"Tiger"), "{}", file.path().display());
        }
    }
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was() {
    for (signal, code) in [("TERM", "143"), ("HUP", "129"), ("INT", "130")] {
        let home = Home::new();
        let mut t = Terminal::start(&home, 80, 24, &[]);
        t.shows("memory idle");
        t.keys("half a thought");
        t.shows("half a thought");
        let pid = t.program();
        let killed = Command::new("kill").args([&format!("-{signal}"), pid.as_str()]).status();
        assert!(killed.unwrap().success());
        assert_eq!(t.ended(), code, "SIG{signal}");
    }
}

#[test]
fn a_panic_leaves_the_terminal_as_it_was() {
    let home = Home::new();
    let mut t = Terminal::start(&home, 80, 24, &[("INGLENOOK_TEST_PANIC", "1")]);
    t.shows("memory idle");
    t.keys("\x1b[24~");
    assert_eq!(t.ended(), "101");
    assert!(t.screen().contains("provoked by a test"), "the message is on the normal screen");
}

#[test]
fn typed_and_pasted_escape_sequences_have_no_effect() {
    let home = Home::new();
    let mut t = Terminal::start(&home, 80, 24, &[]);
    t.shows("memory idle");
    // A terminal passes anything through inside a bracketed paste.
    t.keys("\x1b[200~My cat is called \x1b]0;pwned\x07Ti\x1b[31mger\u{9b}2J.\x1b[201~");
    t.shows("My cat is called Tiger");
    t.keys("\r");
    t.shows("Noted:");
    t.keys("\x14");
    t.shows("About you");
    // Esc and the next key in one read would mean Alt, so wait in between.
    t.keys("\x1b");
    t.until("the chat", |s| !s.contains("About you"));
    t.keys("\x04");
    assert_eq!(t.ended(), "0");
    t.assert_clean(&["pwned", "Ti\x1b[31mger", "\u{9b}2J"]);
}

#[test]
fn a_ten_megabyte_paste_neither_freezes_nor_is_lost() {
    let home = Home::new();
    let mut t = Terminal::start(&home, 80, 24, &[]);
    t.shows("memory idle");
    let since = Instant::now();
    let text = "0123456789abcde ".repeat(655_360);
    t.keys("\x1b[200~");
    for chunk in text.as_bytes().chunks(4_096) {
        // The output has to be read meanwhile, or both sides would block.
        t.read();
        t.session.write_all(chunk).unwrap();
    }
    t.keys("\x1b[201~");
    t.shows("[pasted 10.5 MB]");
    let took = since.elapsed();
    println!("10.5 MB pasted in {took:?}");
    assert!(took < Duration::from_secs(20), "{took:?}");
    t.keys("\r");
    t.shows("Send it in parts?");
    t.keys("n");
    t.shows("[pasted 10.5 MB]");
    t.keys("\x03");
    t.until("an empty input", |s| !s.contains("[pasted"));
    t.keys("\x03\x03");
    assert_eq!(t.ended(), "0");
}

#[test]
fn the_screen_speaks_the_language_of_the_environment() {
    let home = Home::new();
    let mut t = Terminal::start(&home, 80, 24, &[("LC_ALL", "de_DE.UTF-8")]);
    t.shows("Ein Assistent, der sich erinnert");
    // What the chat's own threads say is German, too.
    t.line("/incognito");
    t.shows("Inkognito: ein neues Gespräch");
    t.keys("\x04");
    assert_eq!(t.ended(), "0");
}

#[test]
fn without_a_terminal_it_says_so() {
    let home = Home::new();
    let output = Command::new(env!("CARGO_BIN_EXE_inglenook"))
        .env("INGLENOOK_HOME", home.0.path())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("terminal"), "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn the_first_frame_comes_at_once() {
    let home = Home::new();
    // The first run creates the memory and warms the page cache.
    let mut t = Terminal::start(&home, 80, 24, &[]);
    t.shows("memory idle");
    t.keys("\x04");
    t.ended();
    let since = Instant::now();
    let mut t = Terminal::start(&home, 80, 24, &[]);
    t.shows("An assistant that remembers");
    let took = since.elapsed();
    // The target is 150 ms; a busy test machine gets some slack.
    assert!(took < Duration::from_millis(600), "the first frame took {took:?}");
    println!("first frame after {took:?}");
    t.keys("\x04");
    t.ended();
}
