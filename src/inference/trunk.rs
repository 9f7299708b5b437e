//! What the small models that read texts share: a BERT encoder with an embedder's word table.
//!
//! A GGUF file has the encoder's layers and the model's own heads; the word table and the vocabulary come from the
//! embedder's file beside it. A second text follows after a `[SEP]`.

use std::borrow::Cow;
use std::path::Path;

use super::bert::{Bert, BertConfig};
use super::tokenizer::{PlacedToken, Tokenizer};
use super::weights::{Bytes, Weights, backend};
use crate::interfaces::ModelError;

/// An encoder with its tokenizer.
pub(super) struct Trunk {
    bert: Bert,
    tokenizer: Tokenizer,
    /// `[CLS]` and `[SEP]`.
    first: u32,
    separator: u32,
}

impl Trunk {
    /// From a GGUF file without a word table, whose other weights are returned too, and the embedder's, which has it.
    ///
    /// # Errors
    /// If a file is damaged, or they don't fit each other, or two texts of `tokens_max` tokens in total don't fit.
    pub(super) fn from_gguf(
        path: &Path,
        bytes: Bytes,
        embedder: Bytes,
        tokens_max: usize,
    ) -> Result<(Self, Weights), ModelError> {
        let weights = Weights::from_bytes(path, bytes)?;
        let words = Weights::from_bytes(Path::new("the embedder beside it"), embedder)?;
        let config =
            BertConfig::from_gguf(&weights, &words).map_err(|reason| weights.bad(reason))?;
        let tokenizer =
            Tokenizer::from_gguf(words.metadata()).map_err(|reason| words.bad(reason))?;
        let &[first, separator] = tokenizer.begin() else {
            return Err(words.bad("its tokenizer puts no [CLS] and [SEP] around a text"));
        };
        if tokenizer.n_ids() > config.vocab_size {
            return Err(words.bad("its tokenizer has more tokens than its word table rows"));
        }
        if config.max_position_embeddings < tokens_max + 3 {
            return Err(weights.bad("its positions are too few for two texts"));
        }
        let bert = Bert::load(&weights, &words, config)?;
        Ok((Self { bert, tokenizer, first, separator }, weights))
    }

    /// Components of a state.
    pub(super) fn hidden(&self) -> usize {
        self.bert.config().hidden_size
    }

    /// A long text without its middle, which no input has room for: a word of a megabyte would take seconds.
    pub(super) fn ends(text: &str) -> Cow<'_, str> {
        /// Of each end: ten times what 512 tokens mostly take.
        const BYTES: usize = 24 << 10;
        if text.len() <= 2 * BYTES {
            return text.into();
        }
        let (head, tail) =
            (text.floor_char_boundary(BYTES), text.ceil_char_boundary(text.len() - BYTES));
        format!("{} {}", &text[..head], &text[tail..]).into()
    }

    /// The tokens of a text; words in letters that the vocabulary lacks yield none.
    pub(super) fn encode(&self, text: &str) -> Vec<u32> {
        self.tokenizer.encode(&Self::ends(text))
    }

    /// As [`Self::encode`], with each token's bytes of the text, for one that is short.
    pub(super) fn encode_with_places(&self, text: &str) -> Option<Vec<PlacedToken>> {
        self.tokenizer.encode_with_places(text)
    }

    /// The last hidden states of each input, whose texts are read together: `[CLS] text [SEP]`, or
    /// `[CLS] first [SEP] second [SEP]`.
    pub(super) fn states(&self, inputs: &[Vec<&[u32]>]) -> Result<Vec<Vec<f32>>, ModelError> {
        let (mut ids, mut lengths) = (Vec::new(), Vec::with_capacity(inputs.len()));
        for texts in inputs {
            let before = ids.len();
            ids.push(self.first);
            for text in texts {
                ids.extend_from_slice(text);
                ids.push(self.separator);
            }
            lengths.push(ids.len() - before);
        }
        let states = self.bert.forward(&ids, &lengths).map_err(backend)?;
        let mut rest = states.as_slice();
        let parts = lengths.into_iter().map(|length| {
            let (part, after) = rest.split_at(length * self.hidden());
            rest = after;
            part.to_vec()
        });
        Ok(parts.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_text_the_ends_are_read() {
        assert_eq!(Trunk::ends("short"), "short");
        let long = format!("first {} last", "\u{e9}".repeat(500_000));
        let ends = Trunk::ends(&long);
        assert!(ends.len() < 50_000 && ends.starts_with("first ") && ends.ends_with(" last"));
    }
}
