//! What a token costs a language model: from the headers of its files, nothing is read.

use super::config::{DecoderConfig, Mixture};
use super::weights::Weights;

/// What one token takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenCost {
    /// Weights that each token of a prompt is multiplied with: those of the layers. The vocabulary's are looked up.
    pub prompt_weights: u64,
    /// Values that go into its layers.
    pub prompt_values: u64,
    /// Bytes of weights that are read to write a token: the output matrix too.
    pub decode_bytes: u64,
    /// Of the model.
    pub n_layers: u64,
}

impl TokenCost {
    /// Where only the size of the files is known: as if all were layers in Q4_K_M.
    pub fn of_bytes(bytes: u64) -> Self {
        /// In such a file some matrices have 5 and 6 bits.
        const BITS_PER_WEIGHT: f64 = 4.85;
        let weights = bytes as f64 * 8.0 / BITS_PER_WEIGHT;
        Self { prompt_weights: weights as u64, prompt_values: 0, decode_bytes: bytes, n_layers: 0 }
    }

    pub(super) fn of(weights: &Weights, config: &DecoderConfig) -> Self {
        let names = &config.family.tensors;
        let pick = |(safetensors, gguf)| if weights.is_gguf() { gguf } else { safetensors };
        let (embedding, head) = (pick(names.embedding), pick(names.head));
        let is_of_layer = |name: &str| name.contains(pick(names.layer));
        let is_called = |name: &str, part: &str| {
            let name = name.strip_suffix(".weight").filter(|name| !is_of_layer(name));
            name.is_some_and(|name| name.ends_with(part))
        };
        let has_head = weights.matrices().any(|(name, ..)| is_called(name, head));
        let output = if has_head && config.tied != Some(true) { head } else { embedding };
        let prompt_values = (config.n_layers * config.hidden) as u64;
        let n_layers = config.n_layers as u64;
        let mut cost = Self { prompt_weights: 0, prompt_values, decode_bytes: 0, n_layers };
        for (name, n_values, n_bytes) in weights.matrices() {
            let used = match config.mixture {
                Some(Mixture { n_experts, n_used, .. }) if name.contains("exp") => {
                    n_used as f64 / n_experts as f64
                }
                _ => 1.0,
            };
            if is_of_layer(name) {
                cost.prompt_weights += (n_values as f64 * used) as u64;
                cost.decode_bytes += (n_bytes as f64 * used) as u64;
            } else if is_called(name, output) {
                cost.decode_bytes += n_bytes as u64;
            }
        }
        cost
    }
}
