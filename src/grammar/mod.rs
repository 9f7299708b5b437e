//! What a constrained reply looks like: a list of lines, or JSON by a schema, followed byte by byte.
//!
//! [`Constraint`] says which bytes may follow a [`Position`]; [`MinCompletion`] tells how few tokens still
//! complete the reply. Every reachable position can be completed: there is no dead end.
//!
//! **Invariant:** pure. It knows bytes, but no tokenizer, model or sampler (`inference/mask.rs` joins them).

mod automaton;
mod json;

use std::sync::Arc;

use serde_json::Value;

use self::automaton::Automaton;
pub use self::json::SchemaError;

/// One to `max` lines separated by line feeds. Each is `prefix` followed by 1 to `chars_max` characters, the
/// first of them not a space and none an ASCII control character. Where the prefix does not end in a space, one space
/// that does not count may follow it: many models begin every line that way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// Most lines.
    pub max: u16,
    /// What every line begins with.
    pub prefix: String,
    /// Most characters of a line, its prefix aside.
    pub chars_max: u16,
}

/// What a reply has to look like. Clones share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraint(Arc<Form>);

#[derive(Debug, PartialEq, Eq)]
enum Form {
    Lines(Lines),
    Json(Automaton),
}

/// How far a reply has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Complete lines before this one.
    line: u16,
    place: Place,
    /// Inside a character: what is missing of it.
    rest: Option<Continuation>,
}

/// Where in its line a position is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// After this many bytes of the prefix.
    Prefix(u16),
    /// Before the first character, or the space that does not count.
    Indent,
    /// Before the first character.
    First,
    /// After this many characters.
    Text(u16),
    /// At this state of an automaton.
    Json(u32),
}

/// Bytes that a started character still needs (UTF-8: the Unicode Standard, section 3.9, D92, table 3-7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Continuation {
    n_bytes: u8,
    /// The next of them; any others are 0x80 to 0xbf.
    first: u8,
    last: u8,
}

impl Continuation {
    /// After the first byte of a character outside ASCII.
    fn after(byte: u8) -> Option<Self> {
        let (n_bytes, first, last) = match byte {
            0xc2..=0xdf => (1, 0x80, 0xbf),
            0xe0 => (2, 0xa0, 0xbf),
            0xed => (2, 0x80, 0x9f),
            0xe1..=0xef => (2, 0x80, 0xbf),
            0xf0 => (3, 0x90, 0xbf),
            0xf1..=0xf3 => (3, 0x80, 0xbf),
            0xf4 => (3, 0x80, 0x8f),
            _ => return None,
        };
        Some(Self { n_bytes, first, last })
    }
}

impl Constraint {
    /// A list of lines; `None` if no list has that form: a number is zero, or the prefix holds a control
    /// character or is longer than 1 KiB.
    pub fn lines(lines: Lines) -> Option<Self> {
        let sound = lines.max >= 1 && lines.chars_max >= 1;
        let prefix_is_sound =
            !lines.prefix.contains(char::is_control) && lines.prefix.len() <= 1 << 10;
        (sound && prefix_is_sound).then(|| Self(Arc::new(Form::Lines(lines))))
    }

    /// JSON that is valid by this schema: objects have their properties in its order and no others.
    ///
    /// # Errors
    /// If the schema is malformed, too large, or has something that can't be kept to.
    pub fn json(schema: &Value) -> Result<Self, SchemaError> {
        Ok(Self(Arc::new(Form::Json(json::automaton(schema)?))))
    }

    /// The list that it describes, if it describes one.
    pub fn form(&self) -> Option<&Lines> {
        match &*self.0 {
            Form::Lines(lines) => Some(lines),
            Form::Json(_) => None,
        }
    }

    fn prefix(&self) -> &str {
        self.form().map_or("", |lines| &lines.prefix)
    }

    fn chars_max(&self) -> u16 {
        self.form().map_or(0, |lines| lines.chars_max)
    }

    fn lines_max(&self) -> u16 {
        self.form().map_or(0, |lines| lines.max)
    }

    fn line_start(&self, line: u16) -> Position {
        Position { line, place: self.prefix_place(0), rest: None }
    }

    fn prefix_place(&self, n_bytes: u16) -> Place {
        let prefix = self.prefix();
        match usize::from(n_bytes) < prefix.len() {
            true => Place::Prefix(n_bytes),
            false if prefix.ends_with(' ') => Place::First,
            false => Place::Indent,
        }
    }

    /// Before the first byte.
    pub fn start(&self) -> Position {
        match &*self.0 {
            Form::Lines(_) => self.line_start(0),
            Form::Json(_) => Position { line: 0, place: Place::Json(0), rest: None },
        }
    }

    /// After one more byte; `None` if no reply continues with it.
    pub fn step(&self, position: Position, byte: u8) -> Option<Position> {
        if let Some(Continuation { n_bytes, first, last }) = position.rest {
            let more = Continuation { n_bytes: n_bytes - 1, first: 0x80, last: 0xbf };
            let rest = (more.n_bytes > 0).then_some(more);
            return (first..=last).contains(&byte).then_some(Position { rest, ..position });
        }
        let n_chars = match position.place {
            Place::Prefix(n) => {
                let place = self.prefix_place(n + 1);
                let expected = self.prefix().as_bytes()[usize::from(n)];
                return (byte == expected).then_some(Position { place, ..position });
            }
            Place::Indent if byte == b' ' => {
                return Some(Position { place: Place::First, ..position });
            }
            Place::First | Place::Indent if byte == b' ' => return None,
            Place::First | Place::Indent => 0,
            Place::Text(_) if byte == b'\n' => {
                let another = position.line + 1 < self.lines_max();
                return another.then(|| self.line_start(position.line + 1));
            }
            Place::Text(n) => n,
            Place::Json(state) => {
                let Form::Json(json) = &*self.0 else { return None };
                let place = Place::Json(json.step(state, byte)?);
                return Some(Position { place, ..position });
            }
        };
        let rest = Continuation::after(byte);
        let fits = n_chars < self.chars_max() && (rest.is_some() || (b' '..=b'~').contains(&byte));
        fits.then_some(Position { place: Place::Text(n_chars + 1), rest, ..position })
    }

    /// After several bytes; `None` if no reply continues with them.
    pub fn walk(&self, position: Position, bytes: &[u8]) -> Option<Position> {
        bytes.iter().try_fold(position, |position, &byte| self.step(position, byte))
    }

    /// Whether the reply is complete as it stands.
    pub fn accepts(&self, position: Position) -> bool {
        if let (Place::Json(state), Form::Json(json)) = (position.place, &*self.0) {
            return json.ends(state);
        }
        matches!(position.place, Place::Text(_)) && position.rest.is_none()
    }

    /// Whether more may follow.
    pub fn may_continue(&self, position: Position) -> bool {
        if let (Place::Json(state), Form::Json(json)) = (position.place, &*self.0) {
            return json.goes_on(state);
        }
        let Place::Text(n) = position.place else { return true };
        position.rest.is_some() || n < self.chars_max() || position.line + 1 < self.lines_max()
    }

    /// Whether quotes and backslashes are like any other character.
    pub fn takes_quotes(&self) -> bool {
        matches!(*self.0, Form::Lines(_))
    }

    /// Whether free text may follow: any characters but ASCII control characters (and, unless [`Self::takes_quotes`], quotes
    /// and backslashes).
    pub fn takes_text(&self, position: Position) -> bool {
        if let (Place::Json(state), Form::Json(json)) = (position.place, &*self.0) {
            return json.takes_text(state);
        }
        position.rest.is_none() && !matches!(position.place, Place::Prefix(_))
    }

    /// Where [`Self::takes_text`], the position after a text of `n_chars` characters, of which `n_spaces` leading
    /// ones are spaces and at least one is not; `None` if it does not fit.
    pub fn after_text(&self, position: Position, n_chars: u16, n_spaces: u16) -> Option<Position> {
        let n = match (position.place, n_spaces) {
            (Place::Text(n), _) => n.checked_add(n_chars)?,
            (Place::First | Place::Indent, 0) => n_chars,
            (Place::Indent, 1) => n_chars - 1,
            (Place::Json(_), _) => return Some(position),
            _ => return None,
        };
        (n <= self.chars_max()).then_some(Position { place: Place::Text(n), ..position })
    }
}

/// How few tokens complete a reply.
///
/// An upper bound that can be kept: from every position whose bound is n > 0, some token leads to one whose
/// bound is at most n − 1. Tokens may span several bytes of a line's prefix; elsewhere a token is one byte.
#[derive(Debug, Clone)]
pub struct MinCompletion {
    /// Tokens that spell the rest of the prefix, by the number of bytes already written; `None` if none do.
    of_prefix: Vec<Option<u32>>,
    /// Which bytes are tokens of their own.
    single: [bool; 256],
    /// Of JSON, by state.
    of_states: Vec<Option<u32>>,
}

impl MinCompletion {
    /// For a vocabulary in which `is_token` tells whether bytes are a token.
    pub fn new(constraint: &Constraint, is_token: &dyn Fn(&[u8]) -> bool) -> Self {
        let prefix = constraint.prefix().as_bytes();
        let mut of_prefix: Vec<Option<u32>> = vec![None; prefix.len() + 1];
        of_prefix[prefix.len()] = Some(0);
        for start in (0..prefix.len()).rev() {
            let ends = (start + 1..=prefix.len()).filter(|&end| is_token(&prefix[start..end]));
            of_prefix[start] = ends.filter_map(|end| Some(of_prefix[end]? + 1)).min();
        }
        let mut single = [false; 256];
        for (byte, single) in (0..=255u8).zip(&mut single) {
            *single = is_token(&[byte]);
        }
        let of_states = match &*constraint.0 {
            Form::Lines(_) => Vec::new(),
            Form::Json(json) => json.completions(is_token),
        };
        Self { of_prefix, single, of_states }
    }

    fn any_of(&self, first: u8, last: u8) -> bool {
        self.single[usize::from(first)..=usize::from(last)].contains(&true)
    }

    /// Tokens from after `n_bytes` of the prefix to a line that may end.
    fn of_line(&self, n_bytes: usize) -> Option<u32> {
        let first_character = self.any_of(b'!', b'~').then_some(1)?;
        Some(self.of_prefix[n_bytes]? + first_character)
    }

    /// Tokens that complete the reply from here; `None` if this vocabulary cannot spell an end.
    pub fn tokens(&self, position: Position) -> Option<u32> {
        match (position.rest, position.place) {
            (Some(Continuation { n_bytes, first, last }), _) => {
                let spelled = self.any_of(first, last) && (n_bytes == 1 || self.any_of(0x80, 0xbf));
                spelled.then_some(u32::from(n_bytes))
            }
            (None, Place::Prefix(n)) => self.of_line(usize::from(n)),
            (None, Place::Indent | Place::First) => self.of_line(self.of_prefix.len() - 1),
            (None, Place::Text(_)) => Some(0),
            (None, Place::Json(state)) => *self.of_states.get(state as usize)?,
        }
    }
}

#[cfg(test)]
mod tests;
