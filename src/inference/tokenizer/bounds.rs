//! How much the rules of a `tokenizer.json` may make of a text, judged before the crate sees them.
//!
//! The crate follows any rules: three that replace a letter by a thousand need gigabytes for a letter, and a table
//! gets the memory that it claims to need before it is read. Knows the rules' sizes, not what they do.

use std::collections::HashMap;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// What a text may become, as a multiple of its length. The longest text that NFKC makes of a character has 33 bytes,
/// and a run of blanks that becomes `▁` counts 4.
const GROWTH_MAX: usize = 512;
/// Parts of a frame around a text, and tokens of one part. Real frames have up to five parts, of a token each.
const PARTS_MAX: usize = 16;
const PART_TOKENS_MAX: usize = 256;

/// The factor by which normalizers or pre-tokenizers may lengthen a text, at most.
#[derive(Deserialize)]
#[serde(try_from = "Rule")]
pub(super) struct Growth(usize);

#[derive(Deserialize)]
struct Rule {
    #[serde(rename = "type")]
    kind: Option<String>,
    pattern: Option<Pattern>,
    content: Option<String>,
    prepend: Option<String>,
    precompiled_charsmap: Option<String>,
    #[serde(default, alias = "pretokenizers")]
    normalizers: Vec<Growth>,
}

#[derive(Deserialize)]
enum Pattern {
    String(String),
    Regex(String),
}

impl Growth {
    /// Refuses steps, one after the other, that lengthen a text too much.
    pub(super) fn check<'a>(steps: impl IntoIterator<Item = &'a Self>) -> Result<Self, String> {
        let growth = steps.into_iter().fold(1, |all: usize, step| all.saturating_mul(step.0));
        if growth > GROWTH_MAX {
            return Err(format!("its rules could make a text over {GROWTH_MAX} times as long"));
        }
        Ok(Self(growth))
    }
}

impl TryFrom<Rule> for Growth {
    type Error = String;

    fn try_from(rule: Rule) -> Result<Self, String> {
        if matches!(&rule.pattern, Some(Pattern::String(of) | Pattern::Regex(of)) if of.is_empty())
        {
            return Err("one of its rules looks for the empty text".into());
        }
        let replaced = match (&rule.pattern, &rule.content) {
            (_, None) => 1,
            (Some(Pattern::String(pattern)), Some(content)) => {
                content.len().div_ceil(pattern.len())
            }
            // An expression may match the nothing between two letters.
            (Some(Pattern::Regex(_)) | None, Some(content)) => content.len() + 1,
        };
        let by_table = rule.precompiled_charsmap.map_or(Ok(1), |table| longest_text(&table))?;
        // A letter for each byte, of up to two bytes.
        let by_byte = if rule.kind.as_deref() == Some("ByteLevel") { 2 } else { 1 };
        let steps = [replaced, rule.prepend.map_or(1, |text| text.len()), by_table, by_byte];
        Self::check(steps.map(|n| Self(n.max(1))).iter().chain(&rule.normalizers))
    }
}

/// The longest text in SentencePiece's table of replacements: length u32 · that many bytes of a trie · texts, each
/// with a NUL at its end.
fn longest_text(table: &str) -> Result<usize, String> {
    let bytes = BASE64_STANDARD.decode(table).map_err(|e| format!("a table of characters: {e}"))?;
    let texts = bytes.split_first_chunk().and_then(|(length, rest)| {
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        rest.get(length / 4 * 4..)
    });
    let texts = texts.ok_or("a table of characters is shorter than it claims to be")?;
    Ok(texts.split(|&byte| byte == 0).map(<[u8]>::len).max().unwrap_or(0))
}

/// A frame around a text that was found to be small: `post_processor`.
#[derive(Deserialize)]
#[serde(try_from = "Processor")]
pub(super) struct Frame;

#[derive(Deserialize)]
struct Processor {
    #[serde(default)]
    single: Vec<IgnoredAny>,
    #[serde(default)]
    special_tokens: HashMap<String, SpecialToken>,
    #[serde(default, rename = "processors")]
    _processors: Vec<Frame>,
}

#[derive(Deserialize)]
struct SpecialToken {
    ids: Vec<IgnoredAny>,
}

impl TryFrom<Processor> for Frame {
    type Error = String;

    fn try_from(processor: Processor) -> Result<Self, String> {
        let mut tokens = processor.special_tokens.values();
        if processor.single.len() > PARTS_MAX || tokens.any(|t| t.ids.len() > PART_TOKENS_MAX) {
            return Err("it puts too many tokens around a text".into());
        }
        Ok(Self)
    }
}
