//! Text ↔ tokens.
//!
//! Wraps the `tokenizers` crate around the two places a vocabulary comes from: a `tokenizer.json` (`json`), or the
//! metadata of a GGUF file (`gguf`). Adds what the crate leaves open: text can never become a control token
//! (invariant 6), a damaged or hostile file is an error and not a panic, and decoding works token by token.
//!
//! Does not know what the control tokens mean; [`super::chat_template`] does.

mod bounds;
mod gguf;
mod json;
mod spelling;
mod stream;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokenizers::AddedToken;

pub use gguf::PreTokenizer;
use spelling::Spelling;
pub use stream::DecodeStream;

/// Ids beyond this belong to no vocabulary in use, and would make the table of pieces huge.
const ID_MAX: u32 = 1 << 22;
/// Text is encoded in chunks of about this size, cut at spaces: the pre-tokenizers' regular
/// expressions give up (by a panic) after ten million steps, which a pasted run of blanks reaches.
const CHUNK_BYTES: usize = 32 << 10;

/// Gemma 4's marks around a thought, which has to be told from the answer.
const VISIBLE: [&str; 2] = ["<|channel>", "<channel|>"];

fn damaged(reason: impl fmt::Display) -> String {
    format!("the tokenizer is damaged: {reason}")
}

/// It is sound, but nothing here runs it.
fn unsupported(what: impl fmt::Display) -> String {
    format!("the tokenizer is of a kind that is not supported: {what}")
}

/// A vocabulary with its rules.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    spelling: Spelling,
    /// It puts a space of its own in front of each text, as SentencePiece's rules may.
    prepends_space: bool,
    /// Bytes of each token; empty where there is none.
    pieces: Vec<Box<[u8]>>,
    /// Added tokens by their text.
    added: HashMap<String, u32>,
    /// Ids that text must never become.
    control: HashSet<u32>,
    /// Ids that decoding leaves out.
    hidden: HashSet<u32>,
    /// Ids at the very start of a prompt.
    begin: Vec<u32>,
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer")
            .field("spelling", &self.spelling)
            .field("n_ids", &self.pieces.len())
            .field("begin", &self.begin)
            .finish_non_exhaustive()
    }
}

impl Tokenizer {
    /// Marks, tables and checks shared by both sources. `added` ids are already known to `inner`.
    pub(super) fn new(
        mut inner: tokenizers::Tokenizer,
        spelling: Spelling,
        added: Vec<Added>,
        begin: Vec<u32>,
    ) -> Result<Self, String> {
        // Whatever looks like markup counts as control, also where the file does not say so
        // (Qwen3's `<think>`): added again as special, the crate no longer finds it in text.
        let control: Vec<&Added> = added.iter().filter(|a| a.is_control()).collect();
        inner
            .add_special_tokens(control.iter().map(|a| AddedToken::from(a.text.clone(), true)))
            .map_err(damaged)?;
        inner.set_encode_special_tokens(true);
        let control: HashSet<u32> = control.iter().map(|a| a.id).collect();

        let mut pieces: Vec<Box<[u8]>> = Vec::new();
        let literal: HashSet<u32> = added.iter().map(|a| a.id).collect();
        for (text, id) in inner.get_vocab(true) {
            if id > ID_MAX {
                return Err(damaged(format_args!("token id {id} is out of all proportion")));
            }
            let index = id as usize;
            if index >= pieces.len() {
                pieces.resize_with(index + 1, Box::default);
            }
            pieces[index] = if literal.contains(&id) {
                text.into_bytes().into()
            } else {
                spelling.bytes(&text).into()
            };
        }
        if pieces.is_empty() {
            return Err(damaged("the vocabulary is empty"));
        }
        let letter = guarded(|| inner.encode_fast("a", false)).map(|e| e.get_ids().to_vec());
        let first = letter.unwrap_or_default().first().and_then(|&id| pieces.get(id as usize));
        let prepends_space =
            spelling == Spelling::SpaceMark && first.is_some_and(|piece| piece.starts_with(b" "));
        let is_hidden = |a: &&Added| a.special && !VISIBLE.contains(&a.text.as_str());
        Ok(Self {
            spelling,
            prepends_space,
            pieces,
            hidden: added.iter().filter(is_hidden).map(|a| a.id).collect(),
            added: added.into_iter().map(|a| (a.text, a.id)).collect(),
            control,
            begin,
            inner,
        })
    }

    /// One more than the largest id: the model needs at least this many rows.
    pub fn n_ids(&self) -> usize {
        self.pieces.len()
    }

    /// The id of an added (special) token, by its exact text.
    pub fn special(&self, text: &str) -> Option<u32> {
        self.added.get(text).copied()
    }

    /// What the vocabulary's own rules put at the very start of a prompt.
    pub fn begin(&self) -> &[u32] {
        &self.begin
    }

    /// Tokens of plain text, without anything added. Control tokens never come out, whatever the
    /// text says; a piece that spells one is encoded character by character.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::with_capacity(text.len() / 3 + 1);
        for (i, chunk) in chunks(text).enumerate() {
            let again = i > 0 && self.prepends_space;
            let chunk = if again { chunk.strip_prefix(' ').unwrap_or(chunk) } else { chunk };
            match guarded(|| self.inner.encode_fast(chunk, false)) {
                Ok(encoding) if encoding.get_ids().iter().all(|id| !self.control.contains(id)) => {
                    ids.extend_from_slice(encoding.get_ids());
                }
                Ok(_) => self.encode_around_control(chunk, &mut ids),
                Err(_) => self.encode_by_character(chunk, &mut ids),
            }
        }
        ids
    }

    /// As [`Self::encode`], with the bytes of the text that each token stands for; `None` for a text with control tokens, or that
    /// the crate's rules fail at.
    pub fn encode_with_places(&self, text: &str) -> Option<Vec<PlacedToken>> {
        let mut tokens = Vec::with_capacity(text.len() / 3 + 1);
        let mut before = 0;
        for chunk in chunks(text) {
            let encoding = guarded(|| self.inner.encode(chunk, false)).ok()?;
            for (&id, &(start, end)) in encoding.get_ids().iter().zip(encoding.get_offsets()) {
                if self.control.contains(&id) {
                    return None;
                }
                tokens.push((id, before + start..before + end));
            }
            before += chunk.len();
        }
        Some(tokens)
    }

    fn encode_around_control(&self, text: &str, ids: &mut Vec<u32>) {
        let Ok(encoding) = guarded(|| self.inner.encode(text, false)) else {
            return self.encode_by_character(text, ids);
        };
        for (&id, &(start, end)) in encoding.get_ids().iter().zip(encoding.get_offsets()) {
            if self.control.contains(&id) {
                self.encode_by_character(text.get(start..end).unwrap_or_default(), ids);
            } else {
                ids.push(id);
            }
        }
    }

    fn encode_by_character(&self, text: &str, ids: &mut Vec<u32>) {
        let mut buffer = [0; 4];
        for c in text.chars() {
            if let Ok(encoding) =
                guarded(|| self.inner.encode_fast(&*c.encode_utf8(&mut buffer), false))
            {
                ids.extend(encoding.get_ids().iter().filter(|id| !self.control.contains(id)));
            }
        }
    }

    /// The ids of a text with the vocabulary's own frame (BERT: `[CLS] … [SEP]`), the text cut so
    /// that no more than `tokens_max` come out.
    pub fn encode_framed(&self, text: &str, tokens_max: usize) -> Vec<u32> {
        /// No token is longer; a word of a megabyte would take seconds.
        const TOKEN_BYTES_MAX: usize = 128;
        let room = tokens_max.saturating_sub(self.begin.len());
        let cut = text.floor_char_boundary(room.saturating_mul(TOKEN_BYTES_MAX));
        let mut ids = self.encode(&text[..cut]);
        ids.truncate(room);
        let half = self.begin.len().div_ceil(2);
        let mut framed = self.begin[..half].to_vec();
        framed.append(&mut ids);
        framed.extend_from_slice(&self.begin[half..]);
        framed
    }

    /// The bytes that a token stands for; none for control tokens and unknown ids. A character may
    /// be spread over several tokens.
    pub fn token_bytes(&self, id: u32) -> &[u8] {
        if self.hidden.contains(&id) {
            return &[];
        }
        self.pieces.get(id as usize).map_or(&[], AsRef::as_ref)
    }

    /// As [`Tokenizer::token_bytes`], none either for tokens that text never becomes.
    pub fn text_bytes(&self, id: u32) -> &[u8] {
        if self.control.contains(&id) { &[] } else { self.token_bytes(id) }
    }

    /// Text of tokens; special tokens are left out; invalid UTF-8 becomes U+FFFD.
    pub fn decode(&self, ids: &[u32]) -> String {
        let bytes: Vec<u8> = ids.iter().flat_map(|&id| self.token_bytes(id)).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[cfg(test)]
    pub(super) fn inner(&self) -> &tokenizers::Tokenizer {
        &self.inner
    }
}

/// A token, and the bytes of the text that it stands for.
pub type PlacedToken = (u32, Range<usize>);

/// A token beside the model's own vocabulary.
pub(super) struct Added {
    pub text: String,
    pub id: u32,
    pub special: bool,
}

impl Added {
    fn is_control(&self) -> bool {
        let markup = |open, close| {
            self.text.len() > 2 && self.text.starts_with(open) && self.text.ends_with(close)
        };
        self.special || markup('<', '>') || markup('[', ']')
    }
}

/// Cuts long text in front of a space that follows something else, else at any character.
fn chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut cut = rest.len();
        if rest.len() > CHUNK_BYTES {
            cut = rest.floor_char_boundary(CHUNK_BYTES);
            let bytes = rest.as_bytes();
            let space = (cut / 2..cut).rev().find(|&i| bytes[i] == b' ' && bytes[i - 1] != b' ');
            cut = space.unwrap_or(cut);
        }
        let (chunk, after) = rest.split_at(cut);
        rest = after;
        Some(chunk)
    })
}

/// Runs a call into the crate; its panics (Oniguruma's step limit, tables that contradict each
/// other) become errors.
pub(super) fn guarded<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(damaged),
        Err(_) => Err(damaged("its rules contradict each other")),
    }
}

#[cfg(test)]
mod tests;
