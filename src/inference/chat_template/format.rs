//! What a chat format is, and the one that belongs to no family.

use std::borrow::Cow;
use std::fmt;

use super::ROLES;
use crate::inference::tokenizer::Tokenizer;

/// A piece of the markup around a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'t> {
    /// A special token; nothing where the vocabulary lacks it.
    Special(&'static str),
    /// A special token; plain text where the vocabulary lacks it.
    Mark(&'static str),
    /// Plain text, tokenised together with its plain neighbours.
    Text(&'t str),
    /// The role's name, as plain text.
    Role,
}

/// What a text loses before it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trim {
    Nothing,
    /// Whitespace before and after it.
    Ends,
    /// Whitespace after it.
    After,
    /// Newlines before it.
    NewlinesBefore,
}

impl Trim {
    pub(super) fn apply(self, text: &str) -> &str {
        // Jinja's `trim` is Python's `strip`, which removes four control characters as well.
        let is_blank = |c: char| c.is_whitespace() || matches!(c, '\x1c'..='\x1f');
        match self {
            Self::Nothing => text,
            Self::Ends => text.trim_matches(is_blank),
            Self::After => text.trim_end_matches(is_blank),
            Self::NewlinesBefore => text.trim_start_matches('\n'),
        }
    }
}

/// How one kind of model writes a conversation.
#[derive(Clone, Copy)]
pub struct ChatFormat {
    /// For people.
    pub name: &'static str,
    /// Whether a model uses it, judging by the clues.
    pub recognise: fn(&Clues<'_>) -> bool,
    /// At the very start of a prompt; where it is empty, what the vocabulary's own rules put there.
    pub begin: &'static [Piece<'static>],
    /// Before a turn of the system, the user and the assistant.
    pub open: [&'static [Piece<'static>]; 3],
    /// After a turn of each.
    pub close: [&'static [Piece<'static>]; 3],
    /// The system has no turn: its text, then `close[0]`, opens the first turn of the user.
    pub joins_system: bool,
    /// What the turn to be generated begins with, besides its opening.
    pub reply_prefix: &'static [Piece<'static>],
    /// What the texts of each lose.
    pub trims: [Trim; 3],
    /// Earlier replies lose their `<think>` block, if the vocabulary has its two tokens.
    pub drops_thoughts: bool,
    /// Changes a text before it is tokenised. Idempotent.
    pub prepare: for<'t> fn(&'t str) -> Cow<'t, str>,
    /// Text that ends a generated turn, where no token does.
    pub stop_text: Option<&'static str>,
    /// How its models are offered tools, if they know any.
    pub tools: Option<&'static ToolFormat>,
}

/// How one kind of model is offered tools, calls them, and reads what came of it.
#[derive(Debug)]
pub struct ToolFormat {
    /// Whether a model of the format knows them, judging by the clues.
    pub recognise: fn(&Clues<'_>) -> bool,
    /// After the system's text; then the tools, each on a line of its own; and after them.
    pub list: [&'static [Piece<'static>]; 2],
    /// Around a call, in a turn of the assistant.
    pub call: [&'static str; 2],
    /// Around a result, in a turn of the user.
    pub result: [&'static str; 2],
}

impl ToolFormat {
    /// Breaks up the marks in a text that comes from outside, where they may be plain text in the format.
    pub(super) fn break_marks(&self, text: &str) -> String {
        let marks = self.call.iter().chain(&self.result);
        marks.fold(text.to_owned(), |text, mark| text.replace(mark, &mark.replace('<', "< ")))
    }
}

impl fmt::Debug for ChatFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What a model's format is recognised by.
pub struct Clues<'a> {
    pub(super) tokenizer: &'a Tokenizer,
    /// The text of the model's own template; empty if it has none.
    pub template: &'a str,
}

impl Clues<'_> {
    /// Whether the vocabulary has this special token.
    pub fn has(&self, token: &str) -> bool {
        self.tokenizer.special(token).is_some()
    }

    /// Whether it has all of these.
    pub fn has_all(&self, tokens: &[&str]) -> bool {
        tokens.iter().all(|token| self.has(token))
    }
}

/// A format that does nothing: what the others start from.
pub const NEUTRAL: ChatFormat = ChatFormat {
    name: "",
    recognise: |_| false,
    begin: &[],
    open: [&[]; 3],
    close: [&[]; 3],
    joins_system: false,
    reply_prefix: &[],
    trims: [Trim::Nothing; 3],
    drops_thoughts: false,
    prepare: |text| Cow::Borrowed(text),
    stop_text: None,
    tools: None,
};

/// `User: …⏎`: a base model without any format of its own.
pub(super) static PLAIN: ChatFormat = ChatFormat {
    name: "Plain",
    open: [&[], &[Piece::Text("User: ")], &[Piece::Text("Assistant:")]],
    close: [&[Piece::Text("\n")]; 3],
    prepare: indent_role_names,
    stop_text: Some("\nUser:"),
    ..NEUTRAL
};

/// The tokens of `pieces` for one role.
pub(super) fn tokens(tokenizer: &Tokenizer, pieces: &[Piece<'_>], role: &str) -> Vec<u32> {
    let (mut ids, mut plain) = (Vec::new(), String::new());
    for piece in pieces {
        match piece {
            Piece::Text(text) => plain.push_str(text),
            Piece::Role => plain.push_str(role),
            Piece::Mark(text) if tokenizer.special(text).is_none() => plain.push_str(text),
            Piece::Special(token) | Piece::Mark(token) => {
                ids.extend(tokenizer.encode(&std::mem::take(&mut plain)));
                ids.extend(tokenizer.special(token));
            }
        }
    }
    ids.extend(tokenizer.encode(&plain));
    ids
}

/// Breaks up `<|user|>` and the like, so that data can't open a turn even where roles are written as plain text.
pub fn break_role_marks(text: &str) -> Cow<'_, str> {
    let marks = ROLES.map(|role| format!("<|{role}|>"));
    if !marks.iter().any(|mark| text.contains(mark)) {
        return Cow::Borrowed(text);
    }
    let broken = marks
        .iter()
        .fold(text.to_owned(), |text, mark| text.replace(mark, &mark.replace('|', " | ")));
    Cow::Owned(broken)
}

/// Indents lines that look like the beginning of a turn.
fn indent_role_names(text: &str) -> Cow<'_, str> {
    let is_forged = |line: &str| line.starts_with("User:") || line.starts_with("Assistant:");
    if !text.split('\n').any(is_forged) {
        return Cow::Borrowed(text);
    }
    let indented = |line: &str| if is_forged(line) { format!(" {line}") } else { line.into() };
    Cow::Owned(text.split('\n').map(indented).collect::<Vec<String>>().join("\n"))
}
