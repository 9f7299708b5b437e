//! A tokenizer from a `tokenizer.json`.

use std::fmt;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::bounds::{Frame, Growth};
use super::{Added, Spelling, Tokenizer, damaged, guarded, unsupported};

/// Largest `tokenizer.json` that is read. Real ones stay under 20 MB.
const FILE_BYTES_MAX: u64 = 256 << 20;

impl Tokenizer {
    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    /// If it cannot be read or is no tokenizer.
    pub fn from_json_file(path: &Path) -> Result<Self, String> {
        let unreadable = |e| format!("cannot read the tokenizer {}: {e}", path.display());
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
    pub fn from_json_bytes(json: &[u8]) -> Result<Self, String> {
        let sketch: Sketch = serde_json::from_slice(json).map_err(damaged)?;
        sketch.model.check()?;
        Growth::check(sketch.normalizer.iter().chain(&sketch.pre_tokenizer)).map_err(damaged)?;
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
}

/// What is looked at before the crate sees the file.
#[derive(Deserialize)]
struct Sketch {
    #[serde(default)]
    added_tokens: Vec<SketchToken>,
    normalizer: Option<Growth>,
    pre_tokenizer: Option<Growth>,
    #[serde(rename = "post_processor")]
    _post_processor: Option<Frame>,
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
    vocab: Longest,
    #[serde(default)]
    merges: LongestMerge,
    max_input_chars_per_word: Option<usize>,
}

impl SketchModel {
    /// WordPiece takes cubic time for a word, Unigram the length of its longest token for every letter. Real limits
    /// are 100 or 200 characters, and real tokens shorter still.
    const WORD_CHARS_MAX: usize = 1_000;

    /// The crate's BPE builder writes each merge into a buffer as long as the longest token, and
    /// slices by the prefix's length without looking: a longer merge is a panic there.
    fn check(&self) -> Result<(), String> {
        let bpe = self.kind.as_deref().is_none_or(|kind| kind == "BPE") && self.merges.0 > 0;
        if bpe && self.continuing_subword_prefix.as_deref().is_some_and(|p| !p.is_empty()) {
            return Err(unsupported("BPE with a subword prefix"));
        }
        if bpe && self.merges.0 > self.vocab.of_map {
            return Err(damaged("a merge makes a token that is not in the vocabulary"));
        }
        let word = self.max_input_chars_per_word.max(self.vocab.of_list);
        if word.is_some_and(|n| n > Self::WORD_CHARS_MAX) {
            return Err(damaged("it makes tokens of over 1,000 characters"));
        }
        Ok(())
    }
}

/// Length of the longest token of a map, or of a list (Unigram's, with scores), without keeping them.
#[derive(Default)]
struct Longest {
    of_map: usize,
    of_list: Option<usize>,
}

impl<'de> Deserialize<'de> for Longest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tokens;
        impl<'de> Visitor<'de> for Tokens {
            type Value = Longest;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a vocabulary")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Longest, A::Error> {
                let (mut longest, mut n) = (0, 0);
                while let Some((key, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
                    longest = longest.max(key.len());
                    n = counted(n)?;
                }
                Ok(Longest { of_map: longest, of_list: None })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Longest, A::Error> {
                let (mut longest, mut n) = (0, 0);
                while let Some((token, IgnoredAny)) = seq.next_element::<(String, IgnoredAny)>()? {
                    longest = longest.max(token.len());
                    n = counted(n)?;
                }
                Ok(Longest { of_map: 0, of_list: Some(longest) })
            }
        }
        deserializer.deserialize_any(Tokens)
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
        struct Merges;
        impl<'de> Visitor<'de> for Merges {
            type Value = LongestMerge;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of merges")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<LongestMerge, A::Error> {
                let (mut longest, mut n) = (0, 0);
                while let Some(merge) = seq.next_element()? {
                    longest = longest.max(match merge {
                        Merge::Pair(a, b) => a.len() + b.len(),
                        Merge::Joined(ab) => ab.len().saturating_sub(1),
                    });
                    n = counted(n)?;
                }
                Ok(LongestMerge(longest))
            }
        }
        deserializer.deserialize_seq(Merges)
    }
}

/// One more token or merge.
fn counted<E: serde::de::Error>(n: usize) -> Result<usize, E> {
    /// Twice what the largest real vocabularies have (half a million merges). The crate takes some 200 bytes for each.
    const N_MAX: usize = 1 << 20;
    if n < N_MAX { Ok(n + 1) } else { Err(E::custom("it has over a million tokens or merges")) }
}
