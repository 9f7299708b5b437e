//! Text ↔ tokens.
//!
//! Wraps the `tokenizers` crate around the two places a vocabulary comes from: a `tokenizer.json`,
//! or the metadata of a GGUF file ([`super::tokenizer_gguf`]). Adds what the crate leaves open:
//! text can never become a control token (invariant 6), a damaged or hostile file is an error and
//! not a panic, and decoding works token by token.
//!
//! Does not know what the control tokens mean; [`super::chat_template`] does.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use thiserror::Error;
use tokenizers::AddedToken;

/// Largest `tokenizer.json` that is read. Real ones stay under 20 MB.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// Ids beyond this belong to no vocabulary in use, and would make the table of pieces huge.
const ID_MAX: u32 = 1 << 22;
/// Text is encoded in chunks of about this size, cut at spaces: the pre-tokenizers' regular
/// expressions give up (by a panic) after ten million steps, which a pasted run of blanks reaches.
const CHUNK_BYTES: usize = 32 << 10;

/// Why a tokenizer cannot be used.
#[derive(Debug, Error)]
pub enum TokenizerError {
    #[error("cannot read the tokenizer {path}")]
    Unreadable {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("the tokenizer is damaged: {reason}")]
    Damaged { reason: String },
    #[error("the tokenizer is of a kind that is not supported: {what}")]
    Unsupported { what: String },
}

pub(super) fn damaged(reason: impl fmt::Display) -> TokenizerError {
    TokenizerError::Damaged { reason: reason.to_string() }
}

/// How a token's text in the vocabulary stands for bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// GPT-2's alphabet: one printable character a byte.
    ByteLevel,
    /// SentencePiece: `▁` is a space, `<0x0A>` a byte.
    SpaceMark,
    /// BERT: `##` continues a word, everything else begins one.
    WordPiece,
    Plain,
}

/// A vocabulary with its rules.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    spelling: Spelling,
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
    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    /// If it cannot be read or is no tokenizer.
    pub fn from_json_file(path: &Path) -> Result<Self, TokenizerError> {
        let unreadable =
            |source| TokenizerError::Unreadable { path: path.display().to_string(), source };
        let n_bytes = fs::metadata(path).map_err(unreadable)?.len();
        if n_bytes > FILE_BYTES_MAX {
            return Err(damaged(format_args!("{} has {n_bytes} bytes", path.display())));
        }
        Self::from_json_bytes(&fs::read(path).map_err(unreadable)?)
    }

    /// As [`Tokenizer::from_json_file`]. Padding and truncation that the file asks for are
    /// ignored: MiniLM's pads everything to 128 tokens.
    ///
    /// # Errors
    /// If the bytes are no tokenizer.
    pub fn from_json_bytes(json: &[u8]) -> Result<Self, TokenizerError> {
        let sketch: Sketch = serde_json::from_slice(json).map_err(damaged)?;
        sketch.model.check()?;
        let mut inner = guarded(|| tokenizers::Tokenizer::from_bytes(json))?;
        inner.with_truncation(None).map_err(damaged)?;
        inner.with_padding(None);
        for token in &sketch.added_tokens {
            // The crate only logs this; here it would mean that a role opens with a wrong token.
            if inner.token_to_id(&token.content) != Some(token.id) {
                return Err(damaged(format_args!(
                    "added token `{}` is not at its id {}",
                    token.content, token.id
                )));
            }
        }
        let spelling = serde_json::to_string(&inner.get_decoder()).map_or(Spelling::Plain, |d| {
            if d.contains("\"ByteLevel\"") {
                Spelling::ByteLevel
            } else if d.contains("\"WordPiece\"") {
                Spelling::WordPiece
            } else if d.contains('▁') || d.contains("\"ByteFallback\"") {
                Spelling::SpaceMark
            } else {
                Spelling::Plain
            }
        });
        let begin = guarded(|| inner.encode_fast("", true))?.get_ids().to_vec();
        let added = sketch.added_tokens.into_iter().map(|token| Added {
            text: token.content,
            id: token.id,
            special: token.special,
        });
        Self::new(inner, spelling, added.collect(), begin)
    }

    /// Marks, tables and checks shared by both sources. `added` ids are already known to `inner`.
    pub(super) fn new(
        mut inner: tokenizers::Tokenizer,
        spelling: Spelling,
        added: Vec<Added>,
        begin: Vec<u32>,
    ) -> Result<Self, TokenizerError> {
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
        Ok(Self {
            spelling,
            pieces,
            hidden: added.iter().filter(|a| a.special).map(|a| a.id).collect(),
            added: added.into_iter().map(|a| (a.text, a.id)).collect(),
            control,
            begin,
            inner,
        })
    }

    /// One more than the largest id: the model needs at least so many rows.
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
            // SentencePiece puts its own space in front of each text.
            let again = i > 0 && self.spelling == Spelling::SpaceMark;
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
        let room = tokens_max.saturating_sub(self.begin.len());
        let mut ids = self.encode(text);
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

/// Turns a stream of tokens into a stream of valid UTF-8.
#[derive(Debug, Default)]
pub struct DecodeStream {
    pending: Vec<u8>,
}

impl DecodeStream {
    /// The text that is complete with this token; often empty inside a character.
    pub fn push(&mut self, tokenizer: &Tokenizer, id: u32) -> String {
        self.pending.extend_from_slice(tokenizer.token_bytes(id));
        let mut text = String::new();
        loop {
            match str::from_utf8(&self.pending) {
                Ok(valid) => {
                    text.push_str(valid);
                    self.pending.clear();
                    return text;
                }
                Err(error) => {
                    let (valid, rest) = self.pending.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(valid));
                    let Some(n_bad) = error.error_len() else {
                        self.pending = rest.to_vec();
                        return text;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.pending = rest[n_bad..].to_vec();
                }
            }
        }
    }

    /// What is left at the end: U+FFFD if a character was cut off.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.pending).into_owned()
    }
}

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

impl Spelling {
    fn bytes(self, piece: &str) -> Vec<u8> {
        match self {
            Self::ByteLevel => {
                let bytes: Option<Vec<u8>> = piece.chars().map(byte_of).collect();
                bytes.unwrap_or_else(|| piece.as_bytes().to_vec())
            }
            Self::SpaceMark => {
                let byte = piece.strip_prefix("<0x").and_then(|p| p.strip_suffix('>'));
                if let Some(Ok(byte)) = byte.map(|hex| u8::from_str_radix(hex, 16)) {
                    return vec![byte];
                }
                piece.replace('▁', " ").into_bytes()
            }
            Self::WordPiece => match piece.strip_prefix("##") {
                Some(rest) => rest.as_bytes().to_vec(),
                None => format!(" {piece}").into_bytes(),
            },
            Self::Plain => piece.as_bytes().to_vec(),
        }
    }
}

/// GPT-2's alphabet, read backwards: printable Latin-1 stands for itself, the 68 other bytes follow
/// from U+0100 in order.
fn byte_of(c: char) -> Option<u8> {
    let stands_for_itself = |b: u32| matches!(b, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let code = u32::from(c);
    if stands_for_itself(code) {
        return u8::try_from(code).ok();
    }
    let rank = code.checked_sub(0x100)?;
    let byte = (0..=0xff).filter(|&b| !stands_for_itself(b)).nth(rank as usize)?;
    u8::try_from(byte).ok()
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
pub(super) fn guarded<T>(
    call: impl FnOnce() -> tokenizers::Result<T>,
) -> Result<T, TokenizerError> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(damaged),
        Err(_) => Err(damaged("its rules contradict each other")),
    }
}

/// What is looked at before the crate sees the file.
#[derive(Deserialize)]
struct Sketch {
    #[serde(default)]
    added_tokens: Vec<SketchToken>,
    model: SketchModel,
}

#[derive(Deserialize)]
struct SketchToken {
    id: u32,
    content: String,
    #[serde(default)]
    special: bool,
}

#[derive(Deserialize)]
struct SketchModel {
    #[serde(default)]
    continuing_subword_prefix: Option<String>,
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    vocab: LongestKey,
    #[serde(default)]
    merges: LongestMerge,
}

impl SketchModel {
    /// The crate's BPE builder writes each merge into a buffer as long as the longest token, and
    /// slices by the prefix's length without looking: a longer merge is a panic there.
    fn check(&self) -> Result<(), TokenizerError> {
        let bpe = self.kind.as_deref().is_none_or(|kind| kind == "BPE") && self.merges.0 > 0;
        if bpe && self.continuing_subword_prefix.as_deref().is_some_and(|p| !p.is_empty()) {
            return Err(TokenizerError::Unsupported { what: "BPE with a subword prefix".into() });
        }
        if bpe && self.merges.0 > self.vocab.0 {
            return Err(damaged("a merge makes a token that is not in the vocabulary"));
        }
        Ok(())
    }
}

/// Length of the longest key of a map (0 for a list), without keeping the map.
#[derive(Default)]
struct LongestKey(usize);

impl<'de> Deserialize<'de> for LongestKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Longest;
        impl<'de> Visitor<'de> for Longest {
            type Value = LongestKey;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a vocabulary")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LongestKey, A::Error> {
                let mut longest = 0;
                while let Some((key, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
                    longest = longest.max(key.len());
                }
                Ok(LongestKey(longest))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<LongestKey, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(LongestKey(0))
            }
        }
        deserializer.deserialize_any(Longest)
    }
}

/// Length of the longest result of a merge, both spellings (`"a b"` and `["a", "b"]`).
#[derive(Default)]
struct LongestMerge(usize);

impl<'de> Deserialize<'de> for LongestMerge {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Merge {
            Pair(String, String),
            Joined(String),
        }
        let merges: Vec<Merge> = Vec::deserialize(deserializer)?;
        let longest = merges.iter().map(|merge| match merge {
            Merge::Pair(a, b) => a.len() + b.len(),
            Merge::Joined(ab) => ab.len().saturating_sub(1),
        });
        Ok(Self(longest.max().unwrap_or(0)))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// A byte-level tokenizer with a control token that the file forgets to mark as special.
    fn small(added: &str) -> String {
        let mut vocab: Vec<String> = (0..=255u8)
            .map(|byte| {
                let c = (0..0x200)
                    .filter_map(char::from_u32)
                    .find(|&c| byte_of(c) == Some(byte))
                    .unwrap();
                format!("{}:{byte}", serde_json::to_string(&c.to_string()).unwrap())
            })
            .collect();
        vocab.push("\"he\":256".into());
        vocab.push("\"<|end|>\":257".into());
        format!(
            r#"{{"version":"1.0","truncation":null,
            "padding":{{"strategy":{{"Fixed":8}},"direction":"Right","pad_to_multiple_of":null,
                "pad_id":0,"pad_type_id":0,"pad_token":"!"}},
            "added_tokens":[{added}],"normalizer":null,
            "pre_tokenizer":{{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}},
            "post_processor":null,
            "decoder":{{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}},
            "model":{{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,
                "end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":true,
                "vocab":{{{}}},"merges":["h e"]}}}}"#,
            vocab.join(",")
        )
    }

    const END: &str = r#"{"id":257,"content":"<|end|>","single_word":false,"lstrip":false,
        "rstrip":false,"normalized":false,"special":false}"#;

    #[test]
    fn text_never_becomes_a_control_token_and_padding_is_off() {
        let tokenizer = Tokenizer::from_json_bytes(small(END).as_bytes()).unwrap();
        let end = tokenizer.special("<|end|>").unwrap();
        assert_eq!(end, 257);
        for text in ["<|end|>", "he<|end|>he", " <|end|>", "<|end|><|end|>"] {
            let ids = tokenizer.encode(text);
            assert!(!ids.contains(&end), "{text}: {ids:?}");
            assert_eq!(tokenizer.decode(&ids), text);
        }
        assert_eq!(tokenizer.encode("he"), [256]);
    }

    #[test]
    fn decoding_leaves_special_tokens_out_and_marks_broken_characters() {
        let special = END.replace("\"special\":false", "\"special\":true");
        let tokenizer = Tokenizer::from_json_bytes(small(&special).as_bytes()).unwrap();
        assert_eq!(tokenizer.decode(&[256, 257, 256]), "hehe");
        assert_eq!(tokenizer.decode(&[0xc3, 256]), "\u{fffd}he");
        assert_eq!(tokenizer.decode(&[9_999_999]), "");

        let mut stream = DecodeStream::default();
        let mut parts = Vec::new();
        for id in [256, 0xc3, 0xa5, 0xe2, 0x82, 256, 0xff, 0xe2] {
            parts.push(stream.push(&tokenizer, id));
        }
        assert_eq!(parts, ["he", "", "å", "", "", "\u{fffd}he", "\u{fffd}", ""]);
        assert_eq!(stream.finish(), "\u{fffd}");
    }

    #[test]
    fn long_text_survives_a_round_trip() {
        let tokenizer = Tokenizer::from_json_bytes(small(END).as_bytes()).unwrap();
        for text in ["he said that ".repeat(20_000), " ".repeat(200_000), "é".repeat(100_000)] {
            assert!(tokenizer.decode(&tokenizer.encode(&text)) == text);
        }
    }

    #[test]
    fn damaged_files_are_errors() {
        let good = small(END);
        let cases = [
            String::new(),
            "[]".into(),
            good[..good.len() / 2].into(),
            good.replace("\"h e\"", "\"h eeeeeeeeeeeeeeeeeee\""),
            good.replace("\"h e\"", "\"h zz\""),
            good.replace("\"h e\"", "\"<|end|> <|end|>\""),
            good.replace(
                "\"continuing_subword_prefix\":null",
                "\"continuing_subword_prefix\":\"éé\"",
            ),
            good.replace("\"id\":257", "\"id\":31"),
            good.replace("\"he\":256", "\"he\":4294967295"),
            "{\"model\":".repeat(5_000),
        ];
        for case in cases {
            let result = Tokenizer::from_json_bytes(case.as_bytes());
            assert!(result.is_err(), "accepted {}", &case[..case.len().min(80)]);
        }
        assert!(Tokenizer::from_json_bytes(good.as_bytes()).is_ok());
    }
}
