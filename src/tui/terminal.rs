//! The terminal: modes on, modes off, whatever happens.
//!
//! Everything that changes the terminal goes through here, and can be undone from a panic hook.
//! It knows nothing of what is drawn.

use std::cell::Cell;
use std::fs;
use std::io::{self, IsTerminal, Write, stdout};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange,
    KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, SetTitle, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Position, Rect};
use ratatui::{Frame, Terminal};
use tempfile::TempPath;

use crate::memory::plain_text;
use crate::texts::text;

/// The screen that is drawn on.
pub type Screen = Terminal<CrosstermBackend<io::Stdout>>;

/// True between `enter` and `leave`: what a panic has to undo.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// Where a background thread panicked; shown when the screen is gone.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

thread_local! {
    /// Set while [`guarded`] runs: a panic in it is its caller's to handle.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    /// Set on the thread that draws.
    static DRAWS: Cell<bool> = const { Cell::new(false) };
}

/// Wheel and buttons, not every movement of the mouse (crossterm's own command asks for both).
const WHEEL_ON: &str = "\x1b[?1000h\x1b[?1006h";
const WHEEL_OFF: &str = "\x1b[?1006l\x1b[?1000l";

/// Whether stdin and stdout are both a terminal.
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && stdout().is_terminal()
}

/// The Linux console does not know the keyboard protocol and might print it.
fn has_keyboard_protocol() -> bool {
    !matches!(std::env::var("TERM").as_deref(), Ok("linux" | "dumb") | Err(_))
}

/// Switches the terminal to the chat screen.
///
/// # Errors
/// If the terminal can't be written to.
pub fn enter() -> io::Result<Screen> {
    DRAWS.set(true);
    modes_on()?;
    Terminal::new(CrosstermBackend::new(stdout()))
}

fn modes_on() -> io::Result<()> {
    enable_raw_mode()?;
    ACTIVE.store(true, Ordering::SeqCst);
    let mut out = stdout();
    queue!(
        out,
        EnterAlternateScreen,
        Clear(ClearType::All),
        EnableBracketedPaste,
        EnableFocusChange,
        Print(WHEEL_ON)
    )?;
    queue!(out, SetTitle("inglenook"))?;
    if has_keyboard_protocol() {
        // Tells Shift+Enter from Enter where the terminal can. Support is not queried first: some
        // terminals take two seconds not to answer, and those that don't know it ignore it.
        let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
        queue!(out, PushKeyboardEnhancementFlags(flags))?;
    }
    out.flush()
}

/// Restores the terminal; does nothing if it is restored already.
pub fn leave() {
    if !ACTIVE.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = stdout();
    // One by one: the last ones matter most, and an earlier failure must not keep them back.
    if has_keyboard_protocol() {
        let _ = queue!(out, PopKeyboardEnhancementFlags);
    }
    let _ = queue!(
        out,
        Print(WHEEL_OFF),
        DisableFocusChange,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = out.flush();
    let _ = disable_raw_mode();
}

/// After a stop and `fg`: sets the modes again and forces a full redraw.
///
/// # Errors
/// If the terminal can't be written to.
pub fn resume(screen: &mut Screen) -> io::Result<()> {
    modes_on()?;
    // Not `clear`, which asks the terminal where its cursor is and waits for the answer.
    let size = screen.size()?;
    screen.resize(Rect::from((Position::ORIGIN, size)))
}

/// Tells somebody who looks elsewhere: the desktop's notification, where the terminal has one (OSC 9), and its bell.
pub fn notify(text: &str) {
    let text = plain_text(text);
    let text =
        if has_keyboard_protocol() { format!("\x1b]9;{text}\x07\x07") } else { "\x07".into() };
    let _ = execute!(stdout(), Print(text));
}

/// Draws a frame as one update, where the terminal can.
///
/// # Errors
/// If the terminal can't be written to.
pub fn draw(screen: &mut Screen, render: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
    queue!(stdout(), BeginSynchronizedUpdate)?;
    let drawn = screen.draw(render).map(|_| ());
    execute!(stdout(), EndSynchronizedUpdate)?;
    drawn
}

/// Ctrl+Z: restores the terminal and stops the process, as the shell's job control expects.
/// Returns when the process goes on.
pub fn suspend() {
    leave();
    let pid = std::process::id().to_string();
    // A process of our own group, so that a shell sees the stop as it would after a real Ctrl+Z.
    let _ = Process::new("kill").args(["-TSTP", &pid]).status();
}

/// Opens a text in the person's own editor and returns what they made of it; the terminal is theirs meanwhile. The
/// file is private, in memory where the system has a place for that, and gone afterwards, unless the editor failed and
/// left something in it.
///
/// # Errors
/// Why it could not, as a sentence.
pub fn write_outside(text: &str) -> Result<String, String> {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| "vi".into());
    let folder = named("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    leave();
    write_with(&editor, &folder, text).map_err(|e| text!("The editor: {error}", error = e))
}

fn write_with(editor: &str, folder: &Path, text: &str) -> Result<String, String> {
    let begin = |folder: &Path| -> io::Result<TempPath> {
        let mut file =
            tempfile::Builder::new().prefix("inglenook-").suffix(".md").tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        Ok(file.into_temp_path())
    };
    let path = begin(folder)
        .or_else(|_| begin(&std::env::temp_dir()))
        .map_err(|e| text!("there is no place for a file: {error}", error = e))?;
    // A command with arguments, as git and crontab take it.
    let run = Process::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(&path)
        .status()
        .map_err(|e| e.to_string())?;
    let written = fs::read(&path);
    let failure = match &written {
        Ok(written) if run.success() => {
            return Ok(String::from_utf8_lossy(written).trim_end().to_owned());
        }
        Err(e) if run.success() => text!("its file cannot be read ({error})", error = e),
        _ => text!("`{editor}` ended with {status}", editor, status = run),
    };
    let has_nothing = match written {
        Ok(written) => written == text.as_bytes(),
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    };
    if has_nothing {
        return Err(text!("{failure}: the text is as it was", failure));
    }
    let kept = path.keep().map_err(|e| e.to_string())?;
    Err(text!(
        "{failure}: the text is as it was, and what you wrote is in {path}",
        failure,
        path = kept.display()
    ))
}

/// Installs the hook that restores the terminal before a panic's message is printed. Panics of
/// other threads leave the screen alone; the loop notices that the thread has ended.
pub fn install_panic_hook() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if GUARDED.get() {
            return;
        }
        if DRAWS.get() || !ACTIVE.load(Ordering::SeqCst) {
            leave();
            before(info);
            return;
        }
        // Where, not what: a panic's message may quote a memory.
        let place =
            info.location().map_or_else(String::new, |l| format!("{}:{}", l.file(), l.line()));
        if let Ok(mut slot) = PANIC.lock() {
            *slot = Some(place);
        }
    }));
}

/// Where a background thread panicked, if one did.
pub fn take_panic() -> Option<String> {
    PANIC.lock().ok().and_then(|mut slot| slot.take())
}

/// Runs `f`; a panic in it is `None` and is not reported.
pub fn guarded<T>(f: impl FnOnce() -> T) -> Option<T> {
    let before = GUARDED.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(f));
    GUARDED.set(before);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The folder's files after an editor has been there.
    fn left(folder: &Path) -> Vec<String> {
        let files = fs::read_dir(folder).unwrap();
        files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect()
    }

    #[test]
    fn what_was_written_outside_comes_back_or_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let write = |editor: &str| write_with(editor, dir.path(), "draft");
        // The file's name is the last word of the command.
        assert_eq!(write("printf ' and more\\n' >>").unwrap(), "draft and more");
        assert_eq!(write("printf 'caf\\351' >").unwrap(), "caf\u{fffd}");
        assert_eq!(
            write("exit 3; cat").unwrap_err(),
            "`exit 3; cat` ended with exit status: 3: the text is as it was"
        );
        assert!(write("rm").unwrap_err().contains("cannot be read"));
        assert!(left(dir.path()).is_empty());
        let error = write("f() { printf ' and more' >> \"$1\"; return 1; }; f").unwrap_err();
        assert!(error.contains(dir.path().to_str().unwrap()), "{error}");
        assert_eq!(left(dir.path()), ["draft and more"]);
        let gone = dir.path().join("gone");
        assert_eq!(write_with("true", &gone, "draft").unwrap(), "draft");
    }
}
