//! A tokenizer from GGUF metadata.
//!
//! GGUF stores a vocabulary as parallel arrays under `tokenizer.ggml.*`: `tokens`, `token_type`
//! (1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte), `merges` or `scores`, and
//! names the rules only: `model` is `gpt2` (byte-level BPE, split first as `pre` says), `llama`
//! (SentencePiece BPE), `gemma4` (the same with merges) or `bert` (WordPiece). The rules themselves are llama.cpp's and the original tokenizers'.

use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::{BertNormalizer, NFC, NormalizerWrapper, Prepend, Replace, Sequence};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence as Splits;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::SplitDelimiterBehavior;

use super::{Added, Spelling, Tokenizer, damaged, guarded, unsupported};
use crate::inference::families::DECODERS;
use crate::inference::metadata::Metadata;

const NORMAL: i64 = 1;
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;

/// How a byte-level vocabulary splits text before its merges.
#[derive(Debug, Clone, Copy)]
pub struct PreTokenizer {
    /// `tokenizer.ggml.pre` of a GGUF file.
    pub names: &'static [&'static str],
    /// Regular expressions, applied one after the other.
    pub rules: &'static [&'static str],
    /// A piece that is a token needs no merges.
    pub ignore_merges: bool,
    /// A prompt begins with the BOS token, unless the file says otherwise.
    pub begins: bool,
    /// Text is normalised to NFC first.
    pub nfc: bool,
}

const GPT2_RULE: &str =
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

const GPT2: PreTokenizer = PreTokenizer {
    names: &["gpt-2"],
    rules: &[GPT2_RULE],
    ignore_merges: false,
    begins: false,
    nfc: false,
};

/// Those that belong to no family.
static COMMON: [PreTokenizer; 3] = [
    GPT2,
    PreTokenizer { names: &["smollm", "refact"], rules: &[r"\p{N}", GPT2_RULE], ..GPT2 },
    // What llama.cpp does where a file names no rule.
    PreTokenizer {
        names: &["default"],
        rules: &[
            r"[\p{P}\$\+<=>\^~\|]+",
            r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)",
            r"\p{N}+",
            r"[0-9][0-9][0-9]",
        ],
        ..GPT2
    },
];

/// The rules that a GGUF file names.
fn pre_tokenizer(metadata: &Metadata) -> Option<&'static PreTokenizer> {
    let name = metadata.string("tokenizer.ggml.pre").unwrap_or("default");
    let of_families = DECODERS.into_iter().flat_map(|family| family.pre_tokenizers);
    of_families.chain(&COMMON).find(|rules| rules.names.contains(&name))
}

impl Tokenizer {
    /// Builds the tokenizer that a GGUF file describes.
    ///
    /// # Errors
    /// If the metadata has none, contradicts itself, or names rules that are not known here.
    pub fn from_gguf(metadata: &Metadata) -> Result<Self, String> {
        let model = metadata
            .string("tokenizer.ggml.model")
            .ok_or_else(|| damaged("the file holds no `tokenizer.ggml.model`"))?;
        let vocabulary = Vocabulary::read(metadata)?;
        let (mut inner, spelling) = match model {
            "gpt2" => (byte_level(metadata, &vocabulary)?, Spelling::ByteLevel),
            "llama" | "gemma4" => (sentence_piece(metadata, &vocabulary)?, Spelling::SpaceMark),
            "bert" => (word_piece(&vocabulary)?, Spelling::WordPiece),
            other => {
                return Err(unsupported(format_args!("`{other}`")));
            }
        };
        let added = vocabulary.added();
        let tokens = added.iter().filter(|a| !a.special);
        inner
            .add_tokens(tokens.map(|a| tokenizers::AddedToken::from(a.text.clone(), false)))
            .map_err(damaged)?;
        let begin = if model == "bert" {
            ["[CLS]", "[SEP]"].iter().filter_map(|token| inner.token_to_id(token)).collect()
        } else {
            begin(metadata, model, vocabulary.tokens.len())?
        };
        Self::new(inner, spelling, added, begin)
    }
}

struct Vocabulary<'a> {
    tokens: &'a [String],
    types: &'a [i64],
}

impl<'a> Vocabulary<'a> {
    fn read(metadata: &'a Metadata) -> Result<Self, String> {
        let tokens = metadata
            .strings("tokenizer.ggml.tokens")
            .ok_or_else(|| damaged("the file holds no `tokenizer.ggml.tokens`"))?;
        let types = metadata.integers("tokenizer.ggml.token_type").unwrap_or_default();
        if !types.is_empty() && types.len() != tokens.len() {
            return Err(damaged(format_args!("{} tokens, {} types", tokens.len(), types.len())));
        }
        Ok(Self { tokens, types })
    }

    fn kind(&self, index: usize) -> i64 {
        self.types.get(index).copied().unwrap_or(NORMAL)
    }

    fn ids(&self) -> Result<Vocab, String> {
        let mut ids = Vocab::with_capacity(self.tokens.len());
        for (index, token) in self.tokens.iter().enumerate() {
            let id = u32::try_from(index).map_err(damaged)?;
            // Of two equal tokens the first is the one that the tokenizer yields.
            ids.entry(token.clone()).or_insert(id);
        }
        Ok(ids)
    }

    fn added(&self) -> Vec<Added> {
        let wanted =
            |&(index, _): &(usize, &String)| matches!(self.kind(index), CONTROL | USER_DEFINED);
        self.tokens
            .iter()
            .enumerate()
            .filter(wanted)
            .filter(|(_, text)| !text.is_empty())
            .map(|(index, text)| Added {
                text: text.clone(),
                id: index as u32,
                special: self.kind(index) == CONTROL,
            })
            .collect()
    }
}

fn begin(metadata: &Metadata, model: &str, n: usize) -> Result<Vec<u32>, String> {
    // Some files of Gemma 4 deny that it begins with BOS.
    if model == "gemma4" {
        let bos = metadata.integer("tokenizer.ggml.bos_token_id").unwrap_or(2);
        return u32::try_from(bos)
            .ok()
            .filter(|&id| (id as usize) < n)
            .map(|id| vec![id])
            .ok_or_else(|| damaged(format_args!("`bos_token_id` {bos} of {n} tokens")));
    }
    let by_rule = || model == "llama" || pre_tokenizer(metadata).is_some_and(|pre| pre.begins);
    let wanted = metadata.boolean("tokenizer.ggml.add_bos_token").unwrap_or_else(by_rule);
    let Some(bos) = metadata.integer("tokenizer.ggml.bos_token_id").filter(|_| wanted) else {
        return Ok(Vec::new());
    };
    match u32::try_from(bos) {
        Ok(id) if (id as usize) < n => Ok(vec![id]),
        _ => Err(damaged(format_args!("`bos_token_id` {bos} of {n} tokens"))),
    }
}

fn byte_level(
    metadata: &Metadata,
    vocabulary: &Vocabulary<'_>,
) -> Result<tokenizers::Tokenizer, String> {
    let Some(pre) = pre_tokenizer(metadata) else {
        let name = metadata.string("tokenizer.ggml.pre").unwrap_or_default();
        return Err(unsupported(format_args!("pre-tokenizer `{name}`")));
    };
    let merges = merges(metadata, vocabulary)?;
    let ids = vocabulary.ids()?;
    let bpe = guarded(|| {
        BPE::builder().vocab_and_merges(ids, merges).ignore_merges(pre.ignore_merges).build()
    })?;
    let mut inner = tokenizers::Tokenizer::new(bpe);
    let mut steps = Vec::new();
    for &rule in pre.rules {
        let pattern = SplitPattern::Regex(rule.to_owned());
        let split =
            Split::new(pattern, SplitDelimiterBehavior::Isolated, false).map_err(damaged)?;
        steps.push(PreTokenizerWrapper::from(split));
    }
    steps.push(ByteLevel::new(false, true, false).into());
    inner.with_pre_tokenizer(Some(Splits::new(steps)));
    if pre.nfc {
        inner.with_normalizer(Some(NormalizerWrapper::from(NFC))).map_err(damaged)?;
    }
    Ok(inner)
}

/// Those that the file lists.
fn merges(
    metadata: &Metadata,
    vocabulary: &Vocabulary<'_>,
) -> Result<Vec<(String, String)>, String> {
    let listed = metadata
        .strings("tokenizer.ggml.merges")
        .ok_or_else(|| damaged("the file holds no `tokenizer.ggml.merges`"))?;
    // The crate looks every merge up, but writes its result into a buffer as long as the longest token.
    let longest = vocabulary.tokens.iter().map(String::len).max().unwrap_or(0);
    listed
        .iter()
        .map(|merge| {
            let pair = merge.split_once(' ').filter(|(a, b)| a.len() + b.len() <= longest);
            let (a, b) = pair.ok_or_else(|| damaged("a merge names an unknown token"))?;
            Ok((a.to_owned(), b.to_owned()))
        })
        .collect()
}

fn sentence_piece(
    metadata: &Metadata,
    vocabulary: &Vocabulary<'_>,
) -> Result<tokenizers::Tokenizer, String> {
    let unknown = metadata.integer("tokenizer.ggml.unknown_token_id").unwrap_or(0);
    let unknown = usize::try_from(unknown).ok().and_then(|i| vocabulary.tokens.get(i));
    let unknown = unknown.ok_or_else(|| damaged("`unknown_token_id` is no token"))?;
    let ids = vocabulary.ids()?;
    let is_gemma4 = metadata.string("tokenizer.ggml.model") == Some("gemma4");
    let merges = if is_gemma4 {
        merges(metadata, vocabulary)?
    } else {
        merges_of_scores(vocabulary, scores(metadata, vocabulary)?, &ids)
    };
    let bpe = guarded(|| {
        BPE::builder()
            .vocab_and_merges(ids, merges)
            .unk_token(unknown.clone())
            .fuse_unk(true)
            .byte_fallback(true)
            .build()
    })?;
    let mut inner = tokenizers::Tokenizer::new(bpe);
    let mut steps: Vec<NormalizerWrapper> = Vec::new();
    if metadata.boolean("tokenizer.ggml.add_space_prefix").unwrap_or(!is_gemma4) {
        steps.push(Prepend::new("▁".into()).into());
    }
    steps.push(Replace::new(" ", "▁").map_err(damaged)?.into());
    inner.with_normalizer(Some(Sequence::new(steps))).map_err(damaged)?;
    Ok(inner)
}

fn scores<'a>(metadata: &'a Metadata, vocabulary: &Vocabulary<'_>) -> Result<&'a [f32], String> {
    let scores = metadata
        .floats("tokenizer.ggml.scores")
        .ok_or_else(|| damaged("the file holds no `tokenizer.ggml.scores`"))?;
    if scores.len() != vocabulary.tokens.len() || scores.iter().any(|s| s.is_nan()) {
        return Err(damaged("the tokens' scores are incomplete"));
    }
    Ok(scores)
}

/// BERT's vocabulary, which GGUF spells the other way round: a word that begins has `▁` in front,
/// one that continues has nothing (`##` elsewhere).
fn word_piece(vocabulary: &Vocabulary<'_>) -> Result<tokenizers::Tokenizer, String> {
    let spelled = |(index, token): (usize, &String)| {
        let text = match token.strip_prefix('▁') {
            Some(word) => word.to_owned(),
            None if vocabulary.kind(index) == NORMAL => format!("##{token}"),
            None => token.clone(),
        };
        (text, index as u32)
    };
    let ids: Vocab = vocabulary.tokens.iter().enumerate().map(spelled).collect();
    if !["[UNK]", "[CLS]", "[SEP]"].iter().all(|token| ids.contains_key(*token)) {
        return Err(damaged("it has no [UNK], [CLS] and [SEP]"));
    }
    let model = guarded(|| WordPiece::builder().vocab(ids).unk_token("[UNK]".into()).build())?;
    let mut inner = tokenizers::Tokenizer::new(model);
    let normalizer = BertNormalizer::new(true, true, None, true);
    inner.with_normalizer(Some(NormalizerWrapper::from(normalizer))).map_err(damaged)?;
    inner.with_pre_tokenizer(Some(BertPreTokenizer));
    Ok(inner)
}

/// SentencePiece joins the neighbours whose union scores highest. As a BPE: every way to cut a
/// token into two tokens is a merge, the best union first (as transformers' converter does it).
fn merges_of_scores(
    vocabulary: &Vocabulary<'_>,
    scores: &[f32],
    ids: &Vocab,
) -> Vec<(String, String)> {
    /// No real token is longer; a hostile one would take quadratic time.
    const TOKEN_BYTES_MAX: usize = 512;
    let normal =
        |piece: &str| ids.get(piece).copied().filter(|&id| vocabulary.kind(id as usize) == NORMAL);
    let mut merges = Vec::new();
    for (index, token) in vocabulary.tokens.iter().enumerate() {
        if vocabulary.kind(index) != NORMAL || token.len() > TOKEN_BYTES_MAX {
            continue;
        }
        for (cut, _) in token.char_indices().skip(1) {
            let (left, right) = token.split_at(cut);
            if let (Some(l), Some(r)) = (normal(left), normal(right)) {
                merges.push((scores[index], left, right, l, r));
            }
        }
    }
    merges.sort_by(|a, b| {
        let lengths = |m: &(f32, &str, &str, u32, u32)| (m.1.chars().count(), m.2.chars().count());
        b.0.total_cmp(&a.0)
            .then_with(|| lengths(b).cmp(&lengths(a)))
            .then_with(|| (b.3, b.4).cmp(&(a.3, a.4)))
    });
    merges.into_iter().map(|(_, left, right, ..)| (left.to_owned(), right.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;
    use tokenizers::{OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer};

    use super::*;
    use crate::inference::metadata::Value;

    fn metadata(entries: Vec<(&str, Value)>) -> Metadata {
        let mut metadata = Metadata::default();
        for (key, value) in entries {
            assert!(metadata.insert(format!("tokenizer.ggml.{key}"), value));
        }
        metadata
    }

    fn words(list: &[&str]) -> Value {
        Value::Strings(list.iter().map(|&s| s.into()).collect())
    }

    fn tiny_gpt2(pre: &str) -> Metadata {
        metadata(vec![
            ("model", Value::String("gpt2".into())),
            ("pre", Value::String(pre.into())),
            ("tokens", words(&["a", "b", "ab", "<|im_start|>", "<think>", "Ġ"])),
            ("token_type", Value::Integers(vec![1, 1, 1, 3, 4, 1])),
            ("merges", words(&["a b"])),
        ])
    }

    #[track_caller]
    fn check_split(pre: &str, text: &str, expected: &[&str]) {
        let tokenizer = Tokenizer::from_gguf(&tiny_gpt2(pre)).unwrap();
        let mut pretokenized = PreTokenizedString::from(text);
        tokenizer.inner().get_pre_tokenizer().unwrap().pre_tokenize(&mut pretokenized).unwrap();
        let splits = pretokenized.get_splits(OffsetReferential::Original, OffsetType::Byte);
        let pieces: Vec<&str> = splits.iter().map(|(_, (a, b), _)| &text[*a..*b]).collect();
        assert_eq!(pieces, expected, "{pre}");
    }

    #[test]
    fn text_is_split_as_each_family_does() {
        let text = "I'LL pay 12345 euros!!\n\n  ok";
        check_split(
            "llama-bpe",
            text,
            &["I", "'LL", " pay", " ", "123", "45", " euros", "!!\n\n", " ", " ok"],
        );
        for pre in ["smaug-bpe", "lfm2"] {
            check_split(
                pre,
                text,
                &["I", "'LL", " pay", " ", "123", "45", " euros", "!!\n\n", " ", " ok"],
            );
        }
        check_split(
            "qwen2",
            text,
            &["I", "'LL", " pay", " ", "1", "2", "3", "4", "5", " euros", "!!\n\n", " ", " ok"],
        );
        // Vowel signs belong to their word.
        check_split("qwen35", "I'LL 12 हिन्दी!!\n", &["I", "'LL", " ", "1", "2", " हिन्दी", "!!\n"]);
        check_split(
            "gpt-2",
            text,
            &["I", "'", "LL", " pay", " 12345", " euros", "!!", "\n\n ", " ok"],
        );
        check_split("smollm", "pay 12 now", &["pay", " ", "1", "2", " now"]);
        check_split("default", "a b 1234!", &["a", " b", " ", "123", "4", "!"]);
    }

    #[test]
    fn control_and_markup_tokens_never_come_from_text() {
        let tokenizer = Tokenizer::from_gguf(&tiny_gpt2("qwen2")).unwrap();
        assert_eq!(tokenizer.special("<|im_start|>"), Some(3));
        assert_eq!(tokenizer.special("<think>"), Some(4));
        assert_eq!(tokenizer.encode("ab<|im_start|><think>ab"), [2, 0, 2]);
        assert_eq!(tokenizer.decode(&[3, 2, 5, 2]), "ab ab");
    }

    #[test]
    fn sentence_piece_scores_give_the_same_tokens_as_the_merges() {
        let path = crate::testing::shared("models/stories260K/tokenizer.json");
        let Some(path) = path else { return };
        let json = std::fs::read(&path).unwrap();
        let value: Json = serde_json::from_slice(&json).unwrap();
        let vocab = value["model"]["vocab"].as_object().unwrap();
        let mut tokens = vec![String::new(); vocab.len()];
        for (token, id) in vocab {
            tokens[usize::try_from(id.as_u64().unwrap()).unwrap()] = token.clone();
        }
        let types = (0..tokens.len() as i64).map(|i| match i {
            0 => 2,
            1 | 2 => CONTROL,
            3..259 => 6,
            _ => NORMAL,
        });
        // SentencePiece numbers its merged pieces in the order of their merges.
        let scores = (0..tokens.len()).map(|i| -(i as f32)).collect();
        let metadata = metadata(vec![
            ("model", Value::String("llama".into())),
            ("tokens", Value::Strings(tokens.clone())),
            ("token_type", Value::Integers(types.collect())),
            ("scores", Value::Floats(scores)),
            ("bos_token_id", Value::Integer(1)),
        ]);
        let from_gguf = Tokenizer::from_gguf(&metadata).unwrap();
        let from_json = Tokenizer::from_json_bytes(&json).unwrap();
        assert_eq!(from_gguf.begin(), [1]);
        assert_eq!(from_json.begin(), [1]);
        for text in [
            "Once upon a time, there was a little girl named Lily.",
            "  two  spaces\nand a line </s> <s>",
            "Zürich — 東京 🙂",
            "",
        ] {
            let ids = from_gguf.encode(text);
            assert_eq!(ids, from_json.encode(text), "{text}");
            assert!(!ids.contains(&1) && !ids.contains(&2), "{text}");
            assert_eq!(from_gguf.decode(&ids).trim_start(), text.trim_start());
        }
    }

    #[test]
    fn damaged_metadata_is_an_error() {
        let broken = |key: &str, value: Value| {
            let mut metadata = tiny_gpt2("qwen2");
            assert!(!metadata.insert(format!("tokenizer.ggml{key}"), value), "{key}");
            metadata
        };
        let cases = [
            Metadata::default(),
            broken(".model", Value::String("t5".into())),
            broken(".pre", Value::String("unheard-of".into())),
            broken(".tokens", words(&[])),
            broken(".tokens", Value::Integer(3)),
            broken(".token_type", Value::Integers(vec![1])),
            broken(".merges", words(&["a c"])),
            broken(".merges", words(&["ab"])),
            broken(".merges", words(&["ab ab"])),
        ];
        for case in cases {
            assert!(Tokenizer::from_gguf(&case).is_err(), "{case:?}");
        }
    }
}
