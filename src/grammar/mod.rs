//! What a constrained reply looks like: a list of lines, followed byte by byte.
//!
//! [`Constraint`] says which bytes may follow a [`Position`]; [`MinCompletion`] tells how few tokens still
//! complete the reply. Every reachable position can be completed: there is no dead end.
//!
//! **Invariant:** pure. It knows bytes, but no tokenizer, model or sampler (`inference/mask.rs` joins them).

use std::sync::Arc;

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
pub struct Constraint(Arc<Lines>);

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
        (sound && prefix_is_sound).then(|| Self(Arc::new(lines)))
    }

    /// The list that it describes.
    pub fn form(&self) -> &Lines {
        &self.0
    }

    fn line_start(&self, line: u16) -> Position {
        Position { line, place: self.prefix_place(0), rest: None }
    }

    fn prefix_place(&self, n_bytes: u16) -> Place {
        let prefix = &self.0.prefix;
        match usize::from(n_bytes) < prefix.len() {
            true => Place::Prefix(n_bytes),
            false if prefix.ends_with(' ') => Place::First,
            false => Place::Indent,
        }
    }

    /// Before the first byte.
    pub fn start(&self) -> Position {
        self.line_start(0)
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
                let expected = self.0.prefix.as_bytes()[usize::from(n)];
                return (byte == expected).then_some(Position { place, ..position });
            }
            Place::Indent if byte == b' ' => {
                return Some(Position { place: Place::First, ..position });
            }
            Place::First | Place::Indent if byte == b' ' => return None,
            Place::First | Place::Indent => 0,
            Place::Text(_) if byte == b'\n' => {
                let another = position.line + 1 < self.0.max;
                return another.then(|| self.line_start(position.line + 1));
            }
            Place::Text(n) => n,
        };
        let rest = Continuation::after(byte);
        let fits = n_chars < self.0.chars_max && (rest.is_some() || (b' '..=b'~').contains(&byte));
        fits.then_some(Position { place: Place::Text(n_chars + 1), rest, ..position })
    }

    /// After several bytes; `None` if no reply continues with them.
    pub fn walk(&self, position: Position, bytes: &[u8]) -> Option<Position> {
        bytes.iter().try_fold(position, |position, &byte| self.step(position, byte))
    }

    /// Whether the reply is complete as it stands.
    pub fn accepts(&self, position: Position) -> bool {
        matches!(position.place, Place::Text(_)) && position.rest.is_none()
    }

    /// Whether more may follow.
    pub fn may_continue(&self, position: Position) -> bool {
        let Place::Text(n) = position.place else { return true };
        position.rest.is_some() || n < self.0.chars_max || position.line + 1 < self.0.max
    }

    /// Whether free text may follow: any characters but ASCII control characters.
    pub fn takes_text(&self, position: Position) -> bool {
        position.rest.is_none() && !matches!(position.place, Place::Prefix(_))
    }

    /// Where [`Self::takes_text`], the position after a text of `n_chars` characters, of which `n_spaces` leading
    /// ones are spaces and at least one is not; `None` if it does not fit.
    pub fn after_text(&self, position: Position, n_chars: u16, n_spaces: u16) -> Option<Position> {
        let n = match (position.place, n_spaces) {
            (Place::Text(n), _) => n.checked_add(n_chars)?,
            (Place::First | Place::Indent, 0) => n_chars,
            (Place::Indent, 1) => n_chars - 1,
            _ => return None,
        };
        (n <= self.0.chars_max).then_some(Position { place: Place::Text(n), ..position })
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
}

impl MinCompletion {
    /// For a vocabulary in which `is_token` tells whether bytes are a token.
    pub fn new(constraint: &Constraint, is_token: &dyn Fn(&[u8]) -> bool) -> Self {
        let prefix = constraint.0.prefix.as_bytes();
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
        Self { of_prefix, single }
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
        }
    }
}

#[cfg(test)]
mod tests;
