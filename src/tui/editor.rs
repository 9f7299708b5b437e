//! The input: several lines, large pastes folded into a placeholder, the history of what was sent.
//!
//! Editing itself is ratatui-textarea's. It knows nothing of the terminal.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui_textarea::{CursorMove, DataCursor, TextArea, WrapMode};

use crate::texts::{self, text};
use crate::tui::wrap;

/// A longer message is sent in parts.
pub const SEND_BYTES_MAX: usize = 100_000;
/// Longer pastes are folded.
const FOLD_BYTES: usize = 2_000;
/// Pastes with more lines are folded too.
const FOLD_LINES: usize = 20;
/// Sent messages that the arrow keys reach.
const HISTORY_MAX: usize = 500;

/// A folded paste.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Paste {
    placeholder: String,
    text: String,
}

/// The input.
#[derive(Debug, Clone)]
pub struct Editor {
    pub area: TextArea<'static>,
    pastes: Vec<Paste>,
    n_pastes: usize,
    /// Oldest first.
    pub history: Vec<String>,
    /// The history entry that is shown, while the arrow keys walk through it.
    at: Option<usize>,
    /// What was being written before that.
    draft: String,
    /// The places of a prompt that nothing filled, as they are written.
    places: Vec<String>,
}

impl Default for Editor {
    fn default() -> Self {
        Self {
            area: fresh(),
            pastes: Vec::new(),
            n_pastes: 0,
            history: Vec::new(),
            at: None,
            draft: String::new(),
            places: Vec::new(),
        }
    }
}

fn fresh() -> TextArea<'static> {
    let mut area = TextArea::default();
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area.set_cursor_line_style(Style::default());
    // The terminal's own cursor shows where typing goes; input methods need it there.
    area.set_cursor_style(Style::default());
    area.set_max_histories(200);
    area
}

/// "2.5 GB", "10.0 MB", "98.2 kB", "312 bytes".
pub fn size_of(bytes: usize) -> String {
    match bytes {
        0..1_000 => text!("{n} bytes", n = bytes),
        1_000..1_000_000 => text!("{n} kB", n = texts::decimal(bytes as f64 / 1e3, 1)),
        1_000_000..1_000_000_000 => text!("{n} MB", n = texts::decimal(bytes as f64 / 1e6, 1)),
        _ => text!("{n} GB", n = texts::decimal(bytes as f64 / 1e9, 1)),
    }
}

impl Editor {
    /// The text on the screen, pastes folded.
    pub fn shown(&self) -> String {
        self.area.lines().join("\n")
    }

    /// The text that would be sent, pastes unfolded.
    pub fn text(&self) -> String {
        let mut text = self.shown();
        for paste in &self.pastes {
            if let Some(at) = text.find(&paste.placeholder) {
                text.replace_range(at..at + paste.placeholder.len(), &paste.text);
            }
        }
        text
    }

    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    pub fn clear(&mut self) {
        self.set("");
    }

    /// Replaces everything; the cursor goes to the end. A long text is folded.
    pub fn set(&mut self, text: &str) {
        self.area = fresh();
        self.pastes.clear();
        self.places.clear();
        self.at = None;
        if !text.is_empty() {
            self.paste(text);
        }
    }

    /// Replaces everything with a prompt, whose text is shown whole while it is no longer than a file of one. `places` are still to
    /// be filled.
    pub fn set_template(&mut self, text: &str, places: Vec<String>) {
        const WHOLE_BYTES: usize = 20_000;
        self.clear();
        if text.len() <= WHOLE_BYTES {
            self.area.insert_str(crate::memory::plain_text(text).as_ref());
        } else {
            self.paste(text);
        }
        self.places = places;
    }

    /// Selects the next place that is still to be filled, so that what is typed takes it. Without one, everything stays as it is.
    pub fn next_place(&mut self, style: Style) -> Option<&str> {
        let DataCursor(row, column) = self.area.cursor();
        let mut found: Vec<(usize, usize, usize)> = Vec::new();
        for (n, line) in self.area.lines().iter().enumerate() {
            let column_of = |at| line[..at].chars().count();
            for (i, place) in self.places.iter().enumerate() {
                found.extend(line.match_indices(place).map(|(at, _)| (n, column_of(at), i)));
            }
        }
        found.sort_unstable();
        let after = found.iter().find(|(n, begin, _)| (*n, *begin) >= (row, column));
        let &(n, begin, place) = after.or(found.first())?;
        let place = &self.places[place];
        let end = begin + place.chars().count();
        let to = |column| CursorMove::Jump(n as u16, column as u16);
        self.area.cancel_selection();
        self.area.move_cursor(to(begin));
        self.area.start_selection();
        self.area.move_cursor(to(end));
        self.area.set_selection_style(style);
        Some(place)
    }

    /// Handles a key that is not a command.
    pub fn key(&mut self, key: KeyEvent) {
        self.at = None;
        if key.modifiers == KeyModifiers::CONTROL && key.code == KeyCode::Char('u') {
            self.area.delete_line_by_head();
            return;
        }
        self.area.input(key);
    }

    pub fn newline(&mut self) {
        self.area.insert_newline();
    }

    /// Bracketed paste. Control characters other than line breaks and tabs are not text.
    pub fn paste(&mut self, text: &str) {
        let text = crate::memory::plain_text(text);
        let n_lines = text.bytes().filter(|&b| b == b'\n').count();
        if text.len() <= FOLD_BYTES && n_lines <= FOLD_LINES {
            self.area.insert_str(text.as_ref());
            return;
        }
        self.n_pastes += 1;
        let number =
            if self.n_pastes == 1 { String::new() } else { format!(" #{}", self.n_pastes) };
        let placeholder = text!("[pasted {size}{number}]", size = size_of(text.len()), number);
        self.area.insert_str(&placeholder);
        self.pastes.push(Paste { placeholder, text: text.into_owned() });
    }

    /// Takes the whole text, and remembers it for the arrow keys.
    pub fn take(&mut self) -> String {
        let text = self.text();
        self.remember(&text);
        self.clear();
        text
    }

    /// Takes at most [`SEND_BYTES_MAX`], cut at a line or a word; the rest stays.
    pub fn take_part(&mut self) -> String {
        let text = self.text();
        let (head, rest) = split_at_most(&text, SEND_BYTES_MAX);
        let (head, rest) = (head.to_owned(), rest.to_owned());
        self.set(&rest);
        head
    }

    pub fn remember(&mut self, text: &str) {
        // Huge pastes are not worth a second copy: the arrow keys are for what a person wrote.
        if text.trim().is_empty() || text.len() > SEND_BYTES_MAX {
            return;
        }
        self.history.retain(|h| h != text);
        self.history.push(text.to_owned());
        if self.history.len() > HISTORY_MAX {
            self.history.remove(0);
        }
    }

    /// Oldest first.
    pub fn set_history(&mut self, history: Vec<String>) {
        self.history = history;
        self.at = None;
    }

    /// Shows the previous message of the history.
    pub fn earlier(&mut self) {
        let next = match self.at {
            None if self.history.is_empty() => return,
            None => {
                self.draft = self.text();
                self.history.len() - 1
            }
            Some(0) => return,
            Some(at) => at - 1,
        };
        let text = self.history[next].clone();
        self.set(&text);
        self.at = Some(next);
    }

    /// Shows the next message of the history, and after the newest the draft.
    pub fn later(&mut self) {
        let Some(at) = self.at else { return };
        if at + 1 < self.history.len() {
            let text = self.history[at + 1].clone();
            self.set(&text);
            self.at = Some(at + 1);
        } else {
            let draft = std::mem::take(&mut self.draft);
            self.set(&draft);
        }
    }

    /// The word that ends at the cursor.
    pub fn word(&self) -> Option<String> {
        let DataCursor(row, column) = self.area.cursor();
        let line = self.area.lines().get(row)?;
        let before: String = line.chars().take(column).collect();
        let begin = match before.rfind("@\"") {
            Some(at) if !before[at + 2..].contains('"') => at,
            _ => before.rfind(char::is_whitespace).map_or(0, |at| at + 1),
        };
        Some(before[begin..].to_owned()).filter(|word| !word.is_empty())
    }

    /// Writes another word in the place of the one that ends at the cursor, if that is still this one.
    pub fn replace_word(&mut self, word: &str, other: &str) -> bool {
        if self.word().as_deref() != Some(word) {
            return false;
        }
        for _ in word.chars() {
            self.area.delete_char();
        }
        self.area.insert_str(other)
    }

    /// Whether the cursor is on the first line.
    pub fn on_first_line(&self) -> bool {
        self.area.screen_cursor().row == 0
    }

    /// Whether the cursor is on the last line.
    pub fn on_last_line(&self) -> bool {
        let before = self.area.screen_cursor().row;
        let mut probe = self.area.clone();
        probe.move_cursor(CursorMove::Down);
        probe.screen_cursor().row == before
    }

    /// Rows that the text takes at `width` cells.
    pub fn rows(&self, width: usize) -> usize {
        let width = width.saturating_sub(1).max(1);
        self.area
            .lines()
            .iter()
            // Exact for what a screen can show; an estimate for a line longer than a screen.
            .map(|l| match l.len() {
                0..=4_000 => wrap::wrap(&Line::raw(l), width, 0).len(),
                n => n / width + 1,
            })
            .sum::<usize>()
            .max(1)
    }
}

/// The longest head of `text` of at most `max` bytes that ends at a line, else a word, else a
/// character.
fn split_at_most(text: &str, max: usize) -> (&str, &str) {
    if text.len() <= max {
        return (text, "");
    }
    let end = text.floor_char_boundary(max);
    let head = &text[..end];
    let cut = head
        .rfind('\n')
        .filter(|&at| at > max / 2)
        .or_else(|| head.rfind(' ').filter(|&at| at > max / 2))
        .map_or(end, |at| at + 1);
    text.split_at(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pastes_are_text_and_large_ones_fold() {
        let mut editor = Editor::default();
        editor.paste("two\nlines");
        assert_eq!(editor.shown(), "two\nlines");
        editor.clear();
        let large = "x".repeat(10_000_000);
        editor.paste("before ");
        editor.paste(&large);
        editor.paste(" after");
        assert_eq!(editor.shown(), "before [pasted 10.0 MB] after");
        assert_eq!(editor.text().len(), 10_000_000 + 13);
    }

    #[test]
    fn parts_without_spaces_end_at_a_character() {
        let text = "é".repeat(60_000);
        let (head, rest) = split_at_most(&text, 100_001);
        assert_eq!(head.len(), 100_000);
        assert_eq!(head.len() + rest.len(), text.len());
    }

    #[test]
    fn the_arrow_keys_walk_the_history_and_come_back() {
        let mut editor = Editor::default();
        for text in ["one", "two", "one"] {
            editor.set(text);
            assert_eq!(editor.take(), text);
        }
        editor.set("draft");
        editor.earlier();
        assert_eq!(editor.shown(), "one");
        editor.earlier();
        assert_eq!(editor.shown(), "two");
        editor.earlier();
        assert_eq!(editor.shown(), "two");
        editor.later();
        editor.later();
        assert_eq!(editor.shown(), "draft");
    }
}
