//! stdout, stderr, questions and progress.
//!
//! All output passes through here and loses its control characters first: memories, imports and
//! model output reach the terminal only as text. A closed pipe (`| head`) ends the program quietly.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use serde::Serialize;

use super::report::Failure;
use crate::memory::plain_text;

/// The terminal or pipes of this run.
#[derive(Debug, Clone, Copy)]
pub struct Console {
    quiet: bool,
}

#[expect(clippy::unused_self, reason = "all output goes through one value")]
impl Console {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Writes a result, `text` and a newline, to stdout.
    ///
    /// # Errors
    /// If stdout is closed or full.
    pub fn line(self, text: &str) -> Result<(), Failure> {
        self.write(&format!("{text}\n"))
    }

    /// Writes a result to stdout, and flushes it.
    pub(crate) fn write(self, text: &str) -> Result<(), Failure> {
        self.write_bytes(plain_text(text).as_bytes())
    }

    /// Writes bytes that cannot hold control sequences (man pages, completions).
    pub(crate) fn write_bytes(self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|e| match e.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::Output(e),
        })
    }

    /// Writes a JSON document to stdout.
    ///
    /// # Errors
    /// As [`Console::line`].
    pub fn json(self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).map_err(|e| Failure::Output(e.into()))?;
        self.write_bytes(format!("{}\n", plain_json(&text)).as_bytes())
    }

    /// Writes a JSON document on one line: for long rows of numbers.
    pub(crate) fn json_line(self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value).map_err(|e| Failure::Output(e.into()))?;
        self.write_bytes(format!("{}\n", plain_json(&text)).as_bytes())
    }

    /// Writes a report, as JSON or as `print` does.
    ///
    /// # Errors
    /// As [`Console::line`], or if `print` fails.
    pub fn report<T: Serialize>(
        self,
        report: &T,
        as_json: bool,
        print: impl FnOnce(&T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if as_json { self.json(report) } else { print(report) }
    }

    /// Writes a remark to stderr, unless `--quiet`.
    pub fn note(self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr().lock(), "{}", plain_text(text));
        }
    }

    /// Writes a warning to stderr, even with `--quiet`.
    pub fn warn(self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "warning: {}", plain_text(text));
    }

    /// Asks a yes-or-no question; fails without a terminal to ask on.
    pub(crate) fn confirm(self, question: &str) -> Result<bool, Failure> {
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return Err(Failure::NeedsYes);
        }
        let mut stderr = io::stderr().lock();
        let _ = write!(stderr, "{} [y/N] ", plain_text(question));
        let _ = stderr.flush();
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer).map_err(|_| Failure::NeedsYes)?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Progress: a bar on a terminal, a line every few seconds elsewhere, nothing when quiet.
    pub fn progress(self) -> Progress {
        if self.quiet {
            Progress::Silent
        } else if io::stderr().is_terminal() {
            let bar = ProgressBar::new(0);
            bar.set_style(
                ProgressStyle::with_template("{bar:30} {percent:>3}% {msg}{left}")
                    .unwrap_or_else(|_| ProgressStyle::default_bar())
                    .with_key("left", time_left),
            );
            Progress::Bar(bar)
        } else {
            Progress::Lines(Mutex::new(Instant::now()))
        }
    }
}

/// How far a long task has got, as shown on stderr.
pub enum Progress {
    /// With `--quiet`.
    Silent,
    /// On a terminal.
    Bar(ProgressBar),
    /// Elsewhere: the time of the last line. A short task writes none.
    Lines(Mutex<Instant>),
}

/// "· 12 s left", once that can be told and is long.
fn time_left(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    const LONG: Duration = Duration::from_secs(3);
    let seconds = state.eta().as_secs();
    // Writing to a bar can't fail.
    let _ = match seconds {
        _ if state.elapsed() < Duration::from_secs(1) || state.eta() < LONG => Ok(()),
        0..90 => write!(out, " · {seconds} s left"),
        _ => write!(out, " · {} min left", seconds.div_ceil(60)),
    };
}

const LINES_EVERY: Duration = Duration::from_secs(5);

impl Progress {
    /// Shows `done` of `total` (0: not known yet).
    pub fn set(&self, done: u64, total: u64, message: &str) {
        match self {
            Self::Silent => {}
            Self::Bar(bar) => {
                bar.set_length(total);
                bar.set_position(done);
                bar.set_message(plain_text(message).into_owned());
            }
            Self::Lines(last) => {
                let Ok(mut last) = last.lock() else { return };
                if last.elapsed() >= LINES_EVERY {
                    *last = Instant::now();
                    let percent = (done * 100).checked_div(total).unwrap_or(0).min(100);
                    let _ = writeln!(io::stderr().lock(), "{percent:>3}% {}", plain_text(message));
                }
            }
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// JSON without control characters: they are escaped, so that the value stays the same.
pub fn plain_json(json: &str) -> Cow<'_, str> {
    if plain_text(json) == json {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 64);
    let mut buffer = [0; 4];
    for c in json.chars() {
        let plain = (c.is_ascii() && c != '\u{7f}')
            || plain_text(c.encode_utf8(&mut buffer)) == *c.encode_utf8(&mut [0; 4]);
        if plain {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    Cow::Owned(out)
}

/// The text on one line, cut to `chars_max` characters.
pub fn one_line(text: &str, chars_max: usize) -> String {
    let line = plain_text(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().nth(chars_max).is_none() {
        return line;
    }
    line.chars().take(chars_max - 1).chain(['…']).collect()
}

/// "1 message", "3 messages".
pub fn counted(n: usize, what: &str) -> String {
    let plural = match what.strip_suffix('y') {
        Some(stem) if n != 1 => format!("{stem}ies"),
        _ if n != 1 => format!("{what}s"),
        _ => what.to_owned(),
    };
    format!("{n} {plural}")
}

/// "397 MB".
pub fn bytes(n: u64) -> String {
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => format!("{:.0} kB", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.0} MB", n as f64 / 1e6),
        _ => format!("{:.1} GB", n as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_value_and_loses_control_characters() {
        let value = serde_json::json!({"a": "x\u{1b}[31m\u{9b}0m\u{202e}y\u{7f} né 👩‍👩‍👧"});
        let text = serde_json::to_string(&value).unwrap();
        let plain = plain_json(&text);
        assert_eq!(plain_text(&plain), plain);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&plain).unwrap(), value);
    }

    #[test]
    fn lines_are_cut_at_whole_characters() {
        assert_eq!(one_line("a\n b\tc", 10), "a b c");
        assert_eq!(one_line("añb", 3), "añb");
        assert_eq!(one_line("añbc", 3), "añ…");
        assert_eq!(one_line("", 3), "");
    }

    #[test]
    fn counts_and_sizes_are_put_in_words() {
        assert_eq!(counted(1, "memory"), "1 memory");
        assert_eq!(counted(2, "memory"), "2 memories");
        assert_eq!(counted(0, "fact"), "0 facts");
        assert_eq!(bytes(396_705_472), "397 MB");
        assert_eq!(bytes(2_500_000_000), "2.5 GB");
    }
}
