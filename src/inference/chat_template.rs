//! How a conversation is written for a model: the tokens around each turn.
//!
//! A closed list of families, pinned here; a model's own template text is only looked at to tell
//! which family it is, never executed. Knows tokens, not prompts.

use std::borrow::Cow;
use std::path::Path;

use serde_json::Value;

use super::metadata::Metadata;
use super::tokenizer::Tokenizer;
use crate::interfaces::TurnRole;

/// The families.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `<|system|> …<|end|><|user|> …<|end|><|assistant|> …<|end|>`; segments and lines start with
    /// a space, except lines that start with `[`.
    Starter,
    /// `<|im_start|>user⏎…<|im_end|>⏎` (Qwen2.5, SmolLM2).
    ChatMl,
    /// ChatML; the reply opens with an empty `<think>` block, so that the model answers at once. What was
    /// thought in earlier turns is left out of them.
    Qwen3,
    /// `<|start_header_id|>user<|end_header_id|>⏎⏎…<|eot_id|>`, without the blanks around a text.
    Llama3,
    /// Llama 3.1 and later: the system's turn begins with two dates.
    Llama31,
    /// `<|user|>⏎…</s>⏎`, roles in plain text (TinyLlama).
    Zephyr,
    /// `User: …⏎`: a base model without any format of its own.
    Plain,
}

/// What the files beside the weights say that bears on the format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TemplateHints {
    /// The model's own (Jinja) template.
    pub chat_template: Option<String>,
    /// Tokens that end a text.
    pub eos: Vec<u32>,
}

impl TemplateHints {
    /// From GGUF metadata.
    pub fn from_gguf(metadata: &Metadata) -> Self {
        let id = |key: &str| metadata.integer(key).and_then(|id| u32::try_from(id).ok());
        Self {
            chat_template: metadata.string("tokenizer.chat_template").map(str::to_owned),
            eos: ["eos", "eot", "eom"]
                .iter()
                .filter_map(|name| id(&format!("tokenizer.ggml.{name}_token_id")))
                .collect(),
        }
    }

    /// From `tokenizer_config.json`, `chat_template.jinja`, `generation_config.json` and
    /// `config.json` of a model's directory. Files that are absent or damaged say nothing.
    pub fn from_directory(directory: &Path) -> Self {
        const BYTES_MAX: u64 = 16 << 20;
        let text = |name: &str| {
            let path = directory.join(name);
            let n_bytes = std::fs::metadata(&path).ok()?.len();
            (n_bytes <= BYTES_MAX).then(|| std::fs::read_to_string(&path).ok())?
        };
        let json = |name: &str| serde_json::from_str::<Value>(&text(name)?).ok();
        let chat_template = text("chat_template.jinja").or_else(|| {
            let config = json("tokenizer_config.json")?;
            match config.get("chat_template")? {
                Value::String(template) => Some(template.clone()),
                // Several, by name.
                Value::Array(templates) => templates
                    .iter()
                    .find(|t| t.get("name").and_then(Value::as_str) == Some("default"))
                    .and_then(|t| t.get("template")?.as_str().map(str::to_owned)),
                _ => None,
            }
        });
        let mut eos = Vec::new();
        for name in ["generation_config.json", "config.json"] {
            let ids = json(name).and_then(|config| config.get("eos_token_id").cloned());
            let ids = match ids {
                Some(Value::Array(ids)) => ids,
                Some(id) => vec![id],
                None => continue,
            };
            eos.extend(ids.iter().filter_map(|id| u32::try_from(id.as_u64()?).ok()));
        }
        eos.sort_unstable();
        eos.dedup();
        Self { chat_template, eos }
    }
}

/// The tokens of one family in one vocabulary.
#[derive(Debug, Clone)]
pub struct ChatTemplate {
    family: Family,
    begin: Vec<u32>,
    open: [Vec<u32>; 3],
    open_reply: Vec<u32>,
    close: [Vec<u32>; 3],
    /// It knows thoughts, and leaves those of earlier turns out.
    thinks: bool,
    end_of_turn: Vec<u32>,
}

fn index(role: TurnRole) -> usize {
    match role {
        TurnRole::System => 0,
        TurnRole::User => 1,
        TurnRole::Assistant => 2,
    }
}

const ROLES: [&str; 3] = ["system", "user", "assistant"];

impl ChatTemplate {
    /// Tells the family from the special tokens and, where they leave it open, from the template's
    /// text; builds its tokens.
    pub fn recognise(tokenizer: &Tokenizer, hints: &TemplateHints) -> Self {
        let text = hints.chat_template.as_deref().unwrap_or_default();
        let has = |token: &str| tokenizer.special(token).is_some();
        let family = if STARTER_TOKENS.iter().zip(0..).all(|(t, i)| tokenizer.special(t) == Some(i))
        {
            Family::Starter
        } else if has("<|start_header_id|>") && has("<|end_header_id|>") && has("<|eot_id|>") {
            // Only Llama 3.1 and later have the token for a message that is not the last of its turn.
            let dated = match text {
                "" => has("<|eom_id|>"),
                text => text.contains(LLAMA31_DATES[0]),
            };
            if dated { Family::Llama31 } else { Family::Llama3 }
        } else if has("<|im_start|>") && has("<|im_end|>") {
            // Later Qwen3 releases have the tokens but no thinking to switch off.
            let thinks = text.is_empty() || text.contains("enable_thinking");
            if thinks && has("<think>") && has("</think>") { Family::Qwen3 } else { Family::ChatMl }
        } else if text.contains("<|user|>") && text.contains("<|assistant|>") && has("</s>") {
            Family::Zephyr
        } else {
            Family::Plain
        };
        Self::new(family, tokenizer, hints)
    }

    fn new(family: Family, tokenizer: &Tokenizer, hints: &TemplateHints) -> Self {
        let special = |token: &str| tokenizer.special(token).into_iter();
        let plain = |text: &str| tokenizer.encode(text);
        let roles = |f: &dyn Fn(&str) -> Vec<u32>| ROLES.map(f);
        let (open, close): ([Vec<u32>; 3], [Vec<u32>; 3]) = match family {
            Family::Starter => (
                roles(&|role| special(&format!("<|{role}|>")).collect()),
                roles(&|_| special("<|end|>").collect()),
            ),
            Family::ChatMl | Family::Qwen3 => {
                let open = roles(&|role| {
                    special("<|im_start|>").chain(plain(&format!("{role}\n"))).collect()
                });
                (open, roles(&|_| special("<|im_end|>").chain(plain("\n")).collect()))
            }
            Family::Llama3 | Family::Llama31 => (
                roles(&|role| {
                    let dated = family == Family::Llama31 && role == "system";
                    let after = if dated { LLAMA31_DATES.concat() } else { String::new() };
                    special("<|start_header_id|>")
                        .chain(plain(role))
                        .chain(special("<|end_header_id|>"))
                        .chain(plain(&format!("\n\n{after}")))
                        .collect()
                }),
                roles(&|_| special("<|eot_id|>").collect()),
            ),
            Family::Zephyr => (
                roles(&|role| plain(&format!("<|{role}|>\n"))),
                roles(&|_| special("</s>").chain(plain("\n")).collect()),
            ),
            Family::Plain => {
                ([Vec::new(), plain("User: "), plain("Assistant:")], roles(&|_| plain("\n")))
            }
        };
        let mut end_of_turn: Vec<u32> =
            ["<|end|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"]
                .iter()
                .chain(&["<|endoftext|>", "</s>"])
                .filter_map(|token| tokenizer.special(token))
                .chain(hints.eos.iter().copied().filter(|&id| (id as usize) < tokenizer.n_ids()))
                .collect();
        end_of_turn.sort_unstable();
        end_of_turn.dedup();
        let mut open_reply = open[index(TurnRole::Assistant)].clone();
        if family == Family::Qwen3 {
            let think = special("<think>")
                .chain(plain("\n\n"))
                .chain(special("</think>"))
                .chain(plain("\n\n"));
            open_reply.extend(think);
        }
        let chat_ml = matches!(family, Family::ChatMl | Family::Qwen3);
        let thinks =
            chat_ml && ["<think>", "</think>"].iter().all(|t| tokenizer.special(t).is_some());
        Self {
            family,
            begin: tokenizer.begin().to_vec(),
            open,
            open_reply,
            close,
            thinks,
            end_of_turn,
        }
    }

    pub fn family(&self) -> Family {
        self.family
    }

    /// Tokens at the very start of a prompt.
    pub fn begin(&self) -> &[u32] {
        &self.begin
    }

    /// Tokens that open a turn.
    pub fn open_turn(&self, role: TurnRole) -> &[u32] {
        &self.open[index(role)]
    }

    /// Tokens that open the turn which is to be generated.
    pub fn open_reply(&self) -> &[u32] {
        &self.open_reply
    }

    /// What the family keeps of a turn's text.
    pub fn content<'t>(&self, role: TurnRole, text: &'t str) -> &'t str {
        match self.family {
            // Jinja's `trim` is Python's `strip`, which takes four control characters as well.
            Family::Llama3 | Family::Llama31 => {
                text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\x1c'..='\x1f'))
            }
            _ if self.thinks && role == TurnRole::Assistant => match text.rsplit_once("</think>") {
                Some((_, said)) => said.trim_start_matches('\n'),
                None => text,
            },
            _ => text,
        }
    }

    /// Tokens that close a turn.
    pub fn close_turn(&self, role: TurnRole) -> &[u32] {
        &self.close[index(role)]
    }

    /// Any of these ends a generated turn.
    pub fn end_of_turn(&self) -> &[u32] {
        &self.end_of_turn
    }

    /// Text that ends a generated turn where no token does (base models).
    pub fn stop_text(&self) -> Option<&'static str> {
        (self.family == Family::Plain).then_some("\nUser:")
    }

    /// `text` as the family wants it before it is tokenized. Idempotent.
    ///
    /// For the starter every line that is not empty begins with a space, so that each word has one tokenisation. For
    /// families that write their roles in plain text, role marks inside the text are broken up:
    /// data can't open a role there either.
    pub fn prepare<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.family {
            Family::Starter => {
                // What follows a final line break is encoded next and gets its own space.
                let bare =
                    |line: &str| !line.starts_with(' ') && !line.starts_with('[') && line != "\n";
                if !text.split_inclusive('\n').any(bare) {
                    return Cow::Borrowed(text);
                }
                let mut out = String::with_capacity(text.len() + 16);
                for line in text.split_inclusive('\n') {
                    if bare(line) {
                        out.push(' ');
                    }
                    out.push_str(line);
                }
                Cow::Owned(out)
            }
            Family::Zephyr => {
                let marks = ROLES.map(|role| format!("<|{role}|>"));
                if !marks.iter().any(|mark| text.contains(mark)) {
                    return Cow::Borrowed(text);
                }
                let broken = marks.iter().fold(text.to_owned(), |text, mark| {
                    text.replace(mark, &mark.replace('|', " | "))
                });
                Cow::Owned(broken)
            }
            Family::Plain => {
                let forged =
                    |line: &str| line.starts_with("User:") || line.starts_with("Assistant:");
                if !text.split('\n').any(forged) {
                    return Cow::Borrowed(text);
                }
                let lines = text.split('\n');
                let lines =
                    lines.map(|line| if forged(line) { format!(" {line}") } else { line.into() });
                Cow::Owned(lines.collect::<Vec<String>>().join("\n"))
            }
            Family::ChatMl | Family::Qwen3 | Family::Llama3 | Family::Llama31 => {
                Cow::Borrowed(text)
            }
        }
    }
}

/// What Llama 3.1 and later say before anything else. The second date is the one that their template falls back
/// to (Llama 3.2's would ask the clock): the same prompt on another day gives the same memory, and the chat's own
/// system text, which follows, tells the day.
const LLAMA31_DATES: [&str; 2] =
    ["Cutting Knowledge Date: December 2023\n", "Today Date: 26 Jul 2024\n\n"];

/// The starter's control tokens, at ids 0 to 3. (Phi-3 has the same words at other ids.)
const STARTER_TOKENS: [&str; 4] = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>"];

#[cfg(test)]
mod tests;
