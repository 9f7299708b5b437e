//! A decoder's shape, from `config.json` (old and new spelling) or from GGUF metadata.
//!
//! Whatever the decoder does not compute is refused here with a sentence, because a model that
//! runs slightly wrong is worse than one that does not load. Knows no weights.

mod fields;
mod rotation;
mod shapes;

use serde_json::Value;

pub use fields::{Fields, Key};
pub(crate) use rotation::{RopeConfig, RopeScaling};
pub(crate) use shapes::{Heads, Mixture, Recurrence, Sharing, Temperature};

use super::families::{self, DECODERS, DecoderFamily};
use super::metadata::Metadata;

/// More than any model that could run here; keeps hostile numbers out of arithmetic.
const SIZE_MAX: usize = 1 << 22;
const CONTEXT_TOKENS_MAX: usize = 1 << 20;
/// Experts of a layer; the largest models have 512.
pub(super) const EXPERTS_MAX: usize = 1 << 10;
/// Tokens that a convolution mixes; real ones mix three.
const KERNEL_MAX: usize = 64;

/// What the gate of a feed-forward part goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// x · sigmoid(x).
    Silu,
    /// GELU by a tangens hyperbolicus.
    GeluTanh,
}

/// What a layer does with what came before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LayerKind {
    /// It attends to everything.
    Full,
    /// It attends to the last tokens only, as many as the window holds.
    Sliding,
    /// It attends to everything, whatever the distance: its heads are not rotated.
    Unrotated,
    /// It mixes the last few tokens by a convolution.
    Convolution,
    /// It keeps a state instead of what came before.
    Recurrent,
}

/// Factors where other models have none (1), or one that follows from their shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scales {
    /// Of a token's vector, before the first layer.
    pub embedding: f64,
    /// Of the products of queries and keys.
    pub attention: f64,
    /// Of what a part of a layer adds.
    pub residual: f64,
    /// Of the logits: they are divided by it.
    pub logits: f64,
}

/// All that the decoder needs beyond the weights.
#[derive(Debug, Clone, PartialEq)]
pub struct DecoderConfig {
    /// Which architecture it is.
    pub family: &'static DecoderFamily,
    pub(crate) n_layers: usize,
    /// Length of a token's vector.
    pub(crate) hidden: usize,
    /// Width of the feed-forward part.
    pub(crate) intermediate: usize,
    pub(crate) n_heads: usize,
    /// Heads of keys and values.
    pub(crate) heads: Heads,
    /// Those of layers that attend to everything, where they are others.
    pub(crate) full_heads: Option<Heads>,
    /// Layers that attend to everything take their keys for values, too; None: where the weights have no values.
    pub(crate) keys_are_values: Option<bool>,
    pub(crate) sharing: Option<Sharing>,
    /// Length of the vector that a token has in each layer, beside the one that goes through all.
    pub(crate) per_layer: Option<usize>,
    pub(crate) norm_epsilon: f64,
    pub(crate) rope: RopeConfig,
    /// Of layers with a window, where it is another.
    pub(crate) local_rope: Option<RopeConfig>,
    /// One for each layer, or none: all are full.
    pub(crate) layers: Vec<LayerKind>,
    /// Tokens that a layer with a window attends to, the newest included.
    pub(crate) window: Option<usize>,
    pub(crate) scales: Scales,
    /// Logits approach it and its negative.
    pub(crate) logit_cap: Option<f64>,
    pub(crate) temperature: Option<Temperature>,
    /// Of layers whose feed-forward part is a mixture of experts: all, or none.
    pub(crate) mixture: Option<Mixture>,
    /// Of layers that keep a state.
    pub(crate) recurrence: Option<Recurrence>,
    /// Of a layer with a convolution, how many tokens that mixes.
    pub(crate) kernel: usize,
    /// Longest context.
    pub(crate) context_tokens: usize,
    /// Whether the output matrix is the embedding; None: as the weights have it.
    pub(crate) tied: Option<bool>,
}

/// The architecture that a `config.json` names, supported or not.
pub fn architecture_of_json(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    let listed = value.get("architectures").and_then(|a| a.get(0)).and_then(Value::as_str);
    let typed = value.get("model_type").and_then(Value::as_str);
    listed.or(typed).map(printable)
}

/// A name from a model's file, as an error message may repeat it.
pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

fn unsupported(name: &str) -> String {
    let [others @ .., last] =
        DECODERS.map(|family| family.classes[0].trim_end_matches("ForCausalLM"));
    format!(
        "its architecture is `{}`, which is not supported ({} and {last} are)",
        printable(name),
        others.join(", ")
    )
}

impl DecoderConfig {
    /// From the text of a `config.json`.
    ///
    /// # Errors
    /// The reason, as the end of a sentence that starts with the file's name.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text)
            .map_err(|e| format!("config.json is not valid JSON: {e}"))?;
        let name = architecture_of_json(text).ok_or("config.json names no architecture")?;
        let family = families::decoder(&name).ok_or_else(|| unsupported(&name))?;
        let whole = Fields::json(&value, family.defaults);
        if whole.has(("quantization_config", "")) {
            return Err(
                "its weights are quantised in a form of their own (`quantization_config`); \
                 use a GGUF file instead"
                    .into(),
            );
        }
        // A model that also sees: its language model's shape is an object of its own.
        let of_text = whole.part("text_config")?;
        let tied: Key = ("tie_word_embeddings", "");
        let config = Self::read(of_text.as_ref().unwrap_or(&whole), family)?;
        Self { tied: config.tied.or(whole.boolean(tied)?).or(family.tied), ..config }.checked()
    }

    /// From GGUF metadata.
    ///
    /// # Errors
    /// As [`Self::from_json`].
    pub fn from_gguf(metadata: &Metadata) -> Result<Self, String> {
        let name = metadata
            .string("general.architecture")
            .ok_or("its metadata names no architecture (`general.architecture`)")?;
        let family = families::decoder(name).ok_or_else(|| unsupported(name))?;
        Self::read(&Fields::gguf(metadata, name), family)?.checked()
    }

    fn read(fields: &Fields<'_>, family: &'static DecoderFamily) -> Result<Self, String> {
        let n_experts = fields.number(("", "expert_count"))?;
        if n_experts.is_some_and(|n| n > 0) && family.tensors.experts.is_none() {
            return Err("it is a mixture of experts, which is not supported".into());
        }
        check_activation(fields, family.activation)?;
        let hidden = fields.needed(("hidden_size", "embedding_length"))?;
        let n_heads = fields.needed(("num_attention_heads", "attention.head_count"))?;
        // Of layers that attend to everything, and of those with a window.
        let full_dim = fields.number(("global_head_dim", "attention.key_length"))?;
        let head_dim = fields.number(("head_dim", "attention.key_length_swa"))?;
        let head_dim = head_dim.or(full_dim).unwrap_or_else(|| hidden / n_heads.max(1));
        let full_dim = full_dim.unwrap_or(head_dim);
        let lengths =
            [("attention.value_length", full_dim), ("attention.value_length_swa", head_dim)];
        for (name, dim) in lengths {
            if fields.number(("", name))?.is_some_and(|d| d != dim) {
                return Err("its keys and values differ in length, which is not supported".into());
            }
        }
        let (rope, local_rope) = if fields.is_gguf() {
            (RopeConfig::of_gguf(fields, full_dim, family.gguf_rope_interleaved)?, None)
        } else {
            RopeConfig::of_json(fields, full_dim, head_dim)?
        };
        let context_tokens = match fields.number(("max_position_embeddings", "context_length"))? {
            None if fields.is_gguf() => fields.needed(("", "context_length"))?,
            stated => stated.unwrap_or(2048),
        };
        let epsilon = fields.float(("rms_norm_eps", "attention.layer_norm_rms_epsilon"))?;
        let n_kv_heads: Key = ("num_key_value_heads", "attention.head_count_kv");
        // Either of each layer, where some have none (they do not attend) or another number.
        let most = |key: Key| match fields.largest(key) {
            Some(largest) => Ok(Some(largest)),
            None => fields.number(key),
        };
        let n = most(n_kv_heads)?.unwrap_or(n_heads);
        let intermediate: Key = ("intermediate_size", "feed_forward_length");
        let mut config = Self {
            family,
            n_layers: fields.needed(("num_hidden_layers", "block_count"))?,
            hidden,
            intermediate: match fields.largest(intermediate) {
                Some(widest) => widest,
                None => fields.needed(intermediate)?,
            },
            n_heads,
            heads: Heads { n, dim: head_dim },
            full_heads: (full_dim != head_dim).then_some(Heads { n, dim: full_dim }),
            keys_are_values: Some(false),
            sharing: None,
            per_layer: None,
            norm_epsilon: epsilon.unwrap_or(1e-6),
            rope,
            local_rope,
            layers: Vec::new(),
            window: None,
            scales: Scales {
                embedding: 1.0,
                attention: 1.0 / (full_dim as f64).sqrt(),
                residual: 1.0,
                logits: 1.0,
            },
            logit_cap: None,
            temperature: None,
            mixture: None,
            recurrence: None,
            kernel: 0,
            context_tokens: context_tokens.min(CONTEXT_TOKENS_MAX),
            tied: fields.boolean(("tie_word_embeddings", ""))?,
        };
        config.sized()?;
        (family.configure)(fields, &mut config)?;
        if config.window.is_some_and(|window| window >= context_tokens) {
            config.window = None;
        }
        Ok(config)
    }

    /// What a layer does; the window, if it has one.
    pub(crate) fn layer(&self, index: usize) -> (LayerKind, Option<usize>) {
        match self.layers.get(index) {
            Some(LayerKind::Sliding) => (LayerKind::Sliding, self.window),
            Some(&kind) => (kind, None),
            None => (LayerKind::Full, None),
        }
    }

    /// Its heads of keys and values, whether they are its own or another layer's.
    pub(crate) fn heads(&self, index: usize) -> Heads {
        match self.full_heads {
            Some(full) if self.layer(index).0 != LayerKind::Sliding => full,
            _ => self.heads,
        }
    }

    /// The layer whose keys and values a layer attends to: itself, unless it has none.
    pub(crate) fn keys_of(&self, index: usize) -> usize {
        let Some(sharing) = self.sharing else { return index };
        let n_own = self.n_layers.saturating_sub(sharing.n_layers);
        if index < n_own {
            return index;
        }
        let kind = self.layer(index).0;
        (0..n_own).rev().find(|&own| self.layer(own).0 == kind).unwrap_or(index)
    }

    /// Width of its feed-forward part.
    pub(crate) fn intermediate(&self, index: usize) -> usize {
        match self.sharing {
            Some(sharing) if index + sharing.n_layers >= self.n_layers => sharing.intermediate,
            _ => self.intermediate,
        }
    }

    /// Takes the kinds of layers that a `config.json` lists, if it does; true if it does.
    ///
    /// # Errors
    /// If one of them is of a kind that is not computed.
    pub(crate) fn list_layers(&mut self, fields: &Fields<'_>) -> Result<bool, String> {
        let Some(kinds) = fields.texts(("layer_types", ""))? else { return Ok(false) };
        let kind = |kind: &&str| match *kind {
            "full_attention" => Ok(LayerKind::Full),
            "sliding_attention" => Ok(LayerKind::Sliding),
            "conv" => Ok(LayerKind::Convolution),
            "linear_attention" if self.family.tensors.recurrence.is_some() => {
                Ok(LayerKind::Recurrent)
            }
            other => Err(format!(
                "it has a layer of the kind `{}`, which is not supported",
                printable(other)
            )),
        };
        if kinds.len() != self.n_layers {
            return Err(wrong_kinds(kinds.len(), self.n_layers));
        }
        self.layers = kinds.iter().map(kind).collect::<Result<_, _>>()?;
        Ok(true)
    }

    /// Refuses sizes that would divide by zero or overflow.
    fn sized(&self) -> Result<(), String> {
        let sizes = [
            ("layers", self.n_layers),
            ("hidden size", self.hidden),
            ("intermediate size", self.intermediate),
            ("attention heads", self.n_heads),
            ("key-value heads", self.heads.n),
            ("head size", self.heads.dim),
            ("context length", self.context_tokens),
        ];
        let full =
            self.full_heads.map(|full| [("key-value heads", full.n), ("head size", full.dim)]);
        let per_layer = self.per_layer.map(|n| ("size of a token's vector in each layer", n));
        let shared = self.sharing.map(|sharing| ("intermediate size", sharing.intermediate));
        let others = full.into_iter().flatten().chain(per_layer).chain(shared);
        match sizes.into_iter().chain(others).find(|&(_, n)| n == 0 || n > SIZE_MAX) {
            Some((what, n)) => Err(format!("its configuration is impossible: {what} {n}")),
            None => Ok(()),
        }
    }

    /// Refuses what makes no sense.
    fn checked(self) -> Result<Self, String> {
        self.sized()?;
        for heads in self.full_heads.into_iter().chain([self.heads]) {
            if !self.n_heads.is_multiple_of(heads.n) {
                return Err(format!(
                    "its configuration is impossible: {} attention heads share {} key-value heads",
                    self.n_heads, heads.n
                ));
            }
            if !heads.dim.is_multiple_of(2) {
                return Err(format!("its head size {} is odd: it can't be rotated", heads.dim));
            }
        }
        let Scales { embedding, attention, residual, logits } = self.scales;
        let temperature = self.temperature.map_or(1.0, |t| t.beta);
        let cap = self.logit_cap.unwrap_or(1.0);
        let scales = [embedding, attention, residual, logits, temperature, cap];
        if scales.iter().any(|scale| !(scale.is_finite() && *scale > 0.0)) {
            return Err("one of its multipliers is not a usable number".into());
        }
        if !(self.norm_epsilon.is_finite() && self.norm_epsilon >= 0.0) {
            return Err("its norm epsilon is not a usable number".into());
        }
        if !self.layers.is_empty() && self.layers.len() != self.n_layers {
            return Err(wrong_kinds(self.layers.len(), self.n_layers));
        }
        if let Some(mixture) = self.mixture {
            mixture.check()?;
        }
        if self.window == Some(0) {
            return Err("its sliding window holds 0 tokens".into());
        }
        if self.layers.contains(&LayerKind::Convolution)
            && self.family.tensors.convolution.is_none()
        {
            return Err("it has layers that mix by a convolution, which is not supported".into());
        }
        let convolves =
            |kind: &LayerKind| matches!(kind, LayerKind::Convolution | LayerKind::Recurrent);
        if self.layers.iter().any(convolves) && !(1..=KERNEL_MAX).contains(&self.kernel) {
            return Err(format!(
                "its convolution mixes {} tokens, which is impossible",
                self.kernel
            ));
        }
        if let Some(recurrence) = self.recurrence {
            recurrence.check(self.layers.len())?;
        }
        if let Some(sharing) = self.sharing
            && (self.n_layers - sharing.n_layers.min(self.n_layers)..self.n_layers)
                .any(|index| self.keys_of(index) == index)
        {
            return Err(format!(
                "its last {} of {} layers share keys that no layer before them has",
                sharing.n_layers, self.n_layers
            ));
        }
        let full = self.full_heads.unwrap_or(self.heads).dim;
        let local = self.local_rope.iter().map(|rope| (rope, self.heads.dim));
        for (rope, head_dim) in local.chain([(&self.rope, full)]) {
            rope.check(head_dim)?;
            let is_long = matches!(rope.scaling, RopeScaling::Long { .. });
            if is_long && self.local_rope.is_some() {
                return Err(
                    "it has a window and two sets of factors, which is not supported".into()
                );
            }
            if rope.dims != head_dim && !self.family.partial_rotation {
                return Err("it rotates only a part of each head, which is not supported".into());
            }
        }
        Ok(self)
    }
}

fn wrong_kinds(listed: usize, n_layers: usize) -> String {
    format!("it lists the kinds of {listed} layers and has {n_layers}")
}

fn check_activation(fields: &Fields<'_>, expected: Activation) -> Result<(), String> {
    let stated = match fields.text(("hidden_activation", ""))? {
        Some(newer) => Some(newer),
        None => fields.text(("hidden_act", ""))?,
    };
    let (names, known): (&[&str], _) = match expected {
        Activation::Silu => (&["silu", "swish"], "silu"),
        Activation::GeluTanh => (&["gelu_pytorch_tanh"], "gelu_pytorch_tanh"),
    };
    match stated {
        Some(other) if !names.contains(&other) => {
            Err(format!("its activation is {:?} (only {known:?} is supported)", printable(other)))
        }
        _ => Ok(()),
    }
}

/// [`DecoderFamily::configure`] of a family all of whose layers attend to everything, unless a `config.json` says
/// that some slide.
///
/// # Errors
/// If GGUF metadata name a window: which layers have it is not known.
pub(crate) fn attend_to_everything(
    fields: &Fields<'_>,
    config: &mut DecoderConfig,
) -> Result<(), String> {
    let window = fields.number(("sliding_window", "attention.sliding_window"))?;
    if fields.is_gguf() {
        return match window {
            Some(window) if window > 0 && window < config.context_tokens => Err(
                "it attends through a sliding window, which is not supported for this architecture"
                    .into(),
            ),
            _ => Ok(()),
        };
    }
    let listed = config.list_layers(fields)?;
    // Qwen's files carry the number also where it is off, and tell the first layer that slides.
    let slides = fields.boolean(("use_sliding_window", ""))?;
    if slides == Some(true) && !listed {
        let first = fields.number(("max_window_layers", ""))?.unwrap_or(0);
        let kind = |i| if i < first { LayerKind::Full } else { LayerKind::Sliding };
        config.layers = (0..config.n_layers).map(kind).collect();
    }
    if config.layers.contains(&LayerKind::Sliding) {
        let window = window.filter(|_| slides != Some(false));
        config.window = Some(window.ok_or("its layers slide, but it names no window")?);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
