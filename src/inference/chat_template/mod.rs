//! How a conversation is written for a model: the tokens around each turn.
//!
//! A closed list of formats, pinned here and in [`super::families`]; a model's own template text only tells which
//! of them it is, and is never executed. Knows tokens, not prompts.

mod format;
mod hints;

use std::borrow::Cow;

pub use format::{ChatFormat, Clues, NEUTRAL, Piece, ToolFormat, Trim, break_role_marks};
pub use hints::TemplateHints;

use super::families::DECODERS;
use super::tokenizer::Tokenizer;
use crate::interfaces::TurnRole;

/// One format's tokens in one vocabulary.
#[derive(Debug, Clone)]
pub struct ChatTemplate {
    format: &'static ChatFormat,
    begin: Vec<u32>,
    open: [Vec<u32>; 3],
    open_reply: Vec<u32>,
    close: [Vec<u32>; 3],
    drops_thoughts: bool,
    end_of_turn: Vec<u32>,
    tools: Option<&'static ToolFormat>,
}

/// In the order of [`TurnRole`].
const ROLES: [&str; 3] = ["system", "user", "assistant"];

/// Tokens that end a turn wherever a vocabulary has them.
const ENDS: [&str; 10] = [
    "<end_of_turn>",
    "<|end|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "</s>",
    // Of formats in which nothing closes a turn but the next one.
    "<|user|>",
    "<|observation|>",
];

impl ChatTemplate {
    /// Tells the format from the special tokens and, where they leave it open, from the template's text; builds
    /// its tokens.
    pub fn recognise(tokenizer: &Tokenizer, hints: &TemplateHints) -> Self {
        let template = hints.chat_template.as_deref().unwrap_or_default();
        let clues = Clues { tokenizer, template };
        let mut formats = DECODERS.iter().rev().flat_map(|family| family.chat_formats).copied();
        let format = formats.find(|format| (format.recognise)(&clues)).unwrap_or(&format::PLAIN);
        let tools = format.tools.filter(|tools| (tools.recognise)(&clues));
        Self { tools, ..Self::new(format, tokenizer, hints) }
    }

    fn new(format: &'static ChatFormat, tokenizer: &Tokenizer, hints: &TemplateHints) -> Self {
        let tokens = |pieces, role| format::tokens(tokenizer, pieces, role);
        let of_roles = |pieces: [&'static [Piece<'static>]; 3]| -> [Vec<u32>; 3] {
            std::array::from_fn(|role| tokens(pieces[role], ROLES[role]))
        };
        let open = of_roles(format.open);
        let open_reply = [open[2].clone(), tokens(format.reply_prefix, ROLES[2])].concat();
        let eos = hints.eos.iter().copied().filter(|&id| (id as usize) < tokenizer.n_ids());
        let mut end_of_turn: Vec<u32> =
            ENDS.iter().filter_map(|token| tokenizer.special(token)).chain(eos).collect();
        end_of_turn.sort_unstable();
        end_of_turn.dedup();
        let knows_thoughts = ["<think>", "</think>"].iter().all(|t| tokenizer.special(t).is_some());
        Self {
            format,
            begin: if format.begin.is_empty() {
                tokenizer.begin().to_vec()
            } else {
                tokens(format.begin, "")
            },
            open,
            open_reply,
            close: of_roles(format.close),
            drops_thoughts: format.drops_thoughts && knows_thoughts,
            end_of_turn,
            tools: None,
        }
    }

    /// Tokens at the very start of a prompt.
    pub fn begin(&self) -> &[u32] {
        &self.begin
    }

    /// Tokens that open a turn.
    pub fn open_turn(&self, role: TurnRole) -> &[u32] {
        &self.open[role as usize]
    }

    /// Tokens that open the user's turn right after the system's.
    pub fn open_first_turn(&self) -> &[u32] {
        if self.format.joins_system { &[] } else { self.open_turn(TurnRole::User) }
    }

    /// Tokens that open the turn to be generated.
    pub fn open_reply(&self) -> &[u32] {
        &self.open_reply
    }

    /// What the format keeps of a turn's text.
    pub fn content<'t>(&self, role: TurnRole, text: &'t str) -> &'t str {
        let text = self.format.trims[role as usize].apply(text);
        match text.rsplit_once("</think>") {
            Some((_, said)) if self.drops_thoughts && role == TurnRole::Assistant => {
                said.trim_start_matches('\n')
            }
            _ => text,
        }
    }

    /// Tokens that close a turn.
    pub fn close_turn(&self, role: TurnRole) -> &[u32] {
        &self.close[role as usize]
    }

    /// Any of these ends a generated turn.
    pub fn end_of_turn(&self) -> &[u32] {
        &self.end_of_turn
    }

    /// Text that ends a generated turn where no token does (base models).
    pub fn stop_text(&self) -> Option<&'static str> {
        self.format.stop_text
    }

    /// How the model is offered tools, if it knows any.
    pub fn tools(&self) -> Option<&'static ToolFormat> {
        self.tools
    }

    /// The system's turn with these tools, each a line of JSON.
    pub fn system_with_tools(
        &self,
        tokenizer: &Tokenizer,
        tools: &ToolFormat,
        text: &str,
        listed: &[String],
    ) -> Vec<u32> {
        let text = self.prepare(self.content(TurnRole::System, text));
        let listed = ["", &listed.join("\n")].join("\n");
        let listed = self.prepare(&listed);
        let [before, after] = tools.list;
        let (open, close) = (self.format.open[0], self.format.close[0]);
        let pieces =
            [open, &[Piece::Text(&text)], before, &[Piece::Text(&listed)], after, close].concat();
        format::tokens(tokenizer, &pieces, ROLES[0])
    }

    /// The turns of a call: what was said before it, the call, and what came of it.
    pub fn call_turns(
        &self,
        tokenizer: &Tokenizer,
        tools: &ToolFormat,
        said: &str,
        call: &str,
        result: &str,
    ) -> Vec<u32> {
        let said = self.prepare(self.content(TurnRole::Assistant, said));
        let (call, result) = (self.prepare(call), tools.break_marks(result));
        let result = self.prepare(&result);
        let marked = |[open, close]: [&'static str; 2], text| {
            [Piece::Mark(open), Piece::Text("\n"), text, Piece::Text("\n"), Piece::Mark(close)]
        };
        let gap = if said.is_empty() { "" } else { "\n" };
        let turn = |role: usize, text: &[Piece<'_>]| {
            let pieces = [self.format.open[role], text, self.format.close[role]].concat();
            format::tokens(tokenizer, &pieces, ROLES[role])
        };
        let before = [Piece::Text(&said), Piece::Text(gap)];
        let called = [&before[..], &marked(tools.call, Piece::Text(&call))].concat();
        [turn(2, &called), turn(1, &marked(tools.result, Piece::Text(&result)))].concat()
    }

    /// `text` as the format wants it before it is tokenised. Idempotent.
    pub fn prepare<'t>(&self, text: &'t str) -> Cow<'t, str> {
        (self.format.prepare)(text)
    }
}

#[cfg(test)]
mod tests;
