//! The decoder of every family of language models: tokens → hidden states → logits.
//!
//! One code path: families differ in which of a layer's parts are there, in its kinds of layers and in a few factors
//! ([`super::families`], [`super::config`]). It knows neither text nor sampling, nor who asks.

mod convolution;
mod delta_net;
mod experts;
mod load;
mod per_layer;
mod pool;

use candle_core::{DType, Device, Result, Tensor};

use super::attention::attend;
use super::branches::Run;
use super::config::{Activation, DecoderConfig, LayerKind, RopeScaling};
use super::kv_cache::KvCache;
use super::linear::LinearGroup;
use super::ops::{self, Projection};
use super::rope::{Rope, Rotation};
use super::sequence::CHUNK_TOKENS;
use super::weights::{Matrix, backend};
use crate::interfaces::ModelError;
use convolution::Convolution;
use delta_net::DeltaNet;
use experts::{Beside, Experts};
use per_layer::{OwnInput, PerLayer};
use pool::in_pool;

type Outcome<T> = std::result::Result<T, ModelError>;

struct Attention {
    /// Queries, keys and values; no values where keys are values, and queries alone where another layer's keys are used.
    qkv: LinearGroup,
    output: Matrix,
    output_bias: Option<Tensor>,
    /// Over each head's dimensions, before the rotation.
    query_norm: Option<Tensor>,
    key_norm: Option<Tensor>,
    value_norm: Option<Tensor>,
}

/// What mixes a token with those before it.
enum Mixer {
    Attention(Box<Attention>),
    Convolution(Box<Convolution>),
    DeltaNet(Box<DeltaNet>),
}

enum FeedForward {
    Dense { gate_up: LinearGroup, down: Matrix, down_bias: Option<Tensor> },
    Experts(Experts),
}

struct Layer {
    attention_norm: Tensor,
    mixer: Mixer,
    post_attention_norm: Option<Tensor>,
    feed_forward_norm: Tensor,
    feed_forward: FeedForward,
    beside: Option<Box<Beside>>,
    post_feed_forward_norm: Option<Tensor>,
    own_input: Option<OwnInput>,
    /// What all of it is multiplied by at the end.
    scale: Option<f64>,
}

/// What the tokens of a pass come after.
enum Held<'a, 'c> {
    /// One text, or branches of it ([`Run`]).
    One { cache: &'a mut KvCache, branches: &'a [usize] },
    /// One token each of as many texts.
    Each(&'a mut [&'c mut KvCache]),
}

impl Held<'_, '_> {
    fn is_long(&self) -> bool {
        match self {
            Self::One { cache, .. } => cache.is_long(),
            Self::Each(caches) => caches.first().is_some_and(|cache| cache.is_long()),
        }
    }

    /// The position of token `index` in its own text.
    fn position(&self, index: usize) -> usize {
        match self {
            Self::One { cache, branches } => {
                Run { start: cache.len(), branches, window: None }.position(index)
            }
            Self::Each(caches) => caches[index].len(),
        }
    }

    /// Mixes the tokens of each text among themselves: `parts` hold a row for each token, and so does the result.
    fn each<const N: usize>(
        &mut self,
        parts: [&Tensor; N],
        mut mix: impl FnMut([&Tensor; N], Run<'_>, &mut KvCache) -> Result<Tensor>,
    ) -> Result<Tensor> {
        match self {
            Self::One { cache, branches } => {
                let run = Run { start: cache.len(), branches, window: None };
                mix(parts, run, cache)
            }
            Self::Each(caches) => {
                let mut mixed = Vec::with_capacity(caches.len());
                for (row, cache) in caches.iter_mut().enumerate() {
                    let mut own = parts.map(Tensor::clone);
                    for part in &mut own {
                        *part = part.narrow(0, row, 1)?;
                    }
                    let run = Run { start: cache.len(), branches: &[], window: None };
                    mixed.push(mix(own.each_ref(), run, cache)?);
                }
                Tensor::cat(&mixed, 0)
            }
        }
    }

    /// Whether the tokens are of several branches of a text, or of several texts.
    fn branches(&self) -> bool {
        match self {
            Self::One { branches, .. } => !branches.is_empty(),
            Self::Each(_) => true,
        }
    }

    fn advance(&mut self, n: usize) {
        match self {
            Self::One { cache, .. } => cache.advance(n),
            Self::Each(caches) => caches.iter_mut().for_each(|cache| cache.advance(1)),
        }
    }
}

/// How the heads of a pass are rotated.
struct Rotations {
    full: Rotation,
    /// In layers with a window, where it is another.
    local: Option<Rotation>,
    /// Of queries, where they grow with their position.
    of_queries: Option<Rotation>,
}

impl Rotations {
    /// Of queries and of keys in a layer of this kind.
    fn of(&self, kind: LayerKind) -> [Option<&Rotation>; 2] {
        match (kind, &self.local) {
            (LayerKind::Unrotated, _) => [None; 2],
            (LayerKind::Sliding, Some(local)) => [Some(local); 2],
            _ => [Some(self.of_queries.as_ref().unwrap_or(&self.full)), Some(&self.full)],
        }
    }
}

/// A language model's weights and shape.
pub struct Decoder {
    config: DecoderConfig,
    vocabulary: usize,
    embedding: Matrix,
    per_layer: Option<PerLayer>,
    layers: Vec<Layer>,
    norm: Tensor,
    head: Matrix,
    rope: Rope,
    /// Beyond the original context, where it is another.
    long_rope: Option<Rope>,
    /// Of layers with a window, where it is another.
    local_rope: Option<Rope>,
    /// The type of cached keys and values: f16 beside packed weights, whose products are rounded more coarsely anyway.
    cache_dtype: DType,
    device: Device,
}

impl Decoder {
    /// Number of tokens in the vocabulary.
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// Longest context.
    pub fn context_tokens(&self) -> usize {
        self.config.context_tokens
    }

    /// Tokens that are best computed at once: what they take beside the weights grows with them, and so does the work
    /// for each expert of a mixture. Where layers keep states, one is kept at the end of each pass.
    pub fn tokens_at_once(&self) -> usize {
        let is_plain = self.config.mixture.is_none() && self.config.recurrence.is_none();
        if is_plain { CHUNK_TOKENS / 2 } else { CHUNK_TOKENS }
    }

    /// A longer or shorter context than the model was trained for.
    #[cfg(test)]
    pub(super) fn set_context_tokens(&mut self, context_tokens: usize) {
        self.config.context_tokens = context_tokens;
    }

    /// Whether the keys of so many tokens are rotated in another way than those of fewer.
    pub fn is_long(&self, n_tokens: usize) -> bool {
        match self.config.rope.scaling {
            RopeScaling::Long { original_context, .. } => n_tokens > original_context,
            _ => false,
        }
    }

    /// Runs `tokens` after those that `cache` holds and adds them to it; the hidden state after each of the last `n_wanted`,
    /// `[n_wanted, hidden]`. The others don't go through layers that share keys: nothing that comes later sees them there.
    /// `branches` are those of [`Run`]. `between_layers` is called after each layer and must not touch this cache.
    ///
    /// # Errors
    /// A token outside the vocabulary, or a backend failure. The cache holds what it held before.
    pub fn forward(
        &self,
        tokens: &[u32],
        branches: &[usize],
        cache: &mut KvCache,
        n_wanted: usize,
        between_layers: &mut (dyn FnMut() + Send),
    ) -> Outcome<Tensor> {
        self.check_vocabulary(tokens)?;
        let before = cache.len();
        // All of it on a thread of the pool: a product that starts there has one thread fewer to wake.
        let mut held = Held::One { cache: &mut *cache, branches };
        let outcome =
            in_pool(tokens.len(), || self.run(tokens, &mut held, n_wanted, between_layers));
        if outcome.is_err() {
            cache.truncate(before);
        }
        outcome.map_err(backend)
    }

    /// Runs one token of each of several texts after those that its cache holds; the hidden states, `[n, hidden]`. The
    /// weights are read once for all of them. All caches rotate alike ([`KvCache::is_long`]).
    ///
    /// # Errors
    /// As [`Self::forward`].
    pub fn forward_each(
        &self,
        tokens: &[u32],
        caches: &mut [&mut KvCache],
        between_layers: &mut (dyn FnMut() + Send),
    ) -> Outcome<Tensor> {
        self.check_vocabulary(tokens)?;
        let mut held = Held::Each(caches);
        let run = || self.run(tokens, &mut held, tokens.len(), between_layers);
        in_pool(tokens.len(), run).map_err(backend)
    }

    fn check_vocabulary(&self, tokens: &[u32]) -> Outcome<()> {
        let Some(token) = tokens.iter().find(|&&t| t as usize >= self.vocabulary) else {
            return Ok(());
        };
        let what =
            format!("the token {token} is not in the model's vocabulary of {}", self.vocabulary);
        Err(ModelError::Backend { what, source: None })
    }

    /// Of tokens at these positions.
    fn rotations(&self, positions: &[usize], is_long: bool) -> Rotations {
        let rotated = |rope: &Rope| rope.rotation(positions.iter().copied(), &self.device);
        let long_rope = self.long_rope.as_ref().filter(|_| is_long);
        let full = rotated(long_rope.unwrap_or(&self.rope));
        let mut of_queries = None;
        if let Some(temperature) = self.config.temperature
            && positions.iter().any(|&position| position >= temperature.step)
        {
            let mut stretched = full.clone();
            stretched.stretch(positions.iter().map(|&position| temperature.at(position)));
            of_queries = Some(stretched);
        }
        Rotations { full, local: self.local_rope.as_ref().map(rotated), of_queries }
    }

    fn run(
        &self,
        tokens: &[u32],
        held: &mut Held<'_, '_>,
        n_wanted: usize,
        between_layers: &mut (dyn FnMut() + Send),
    ) -> Result<Tensor> {
        let DecoderConfig { family, norm_epsilon, scales, n_layers, .. } = self.config;
        let mut n_left = tokens.len();
        let n_wanted = n_wanted.min(n_left);
        let positions: Vec<usize> = (0..n_left).map(|index| held.position(index)).collect();
        let mut rotations = self.rotations(&positions, held.is_long());
        let n_own = self.config.sharing.map(|sharing| n_layers.saturating_sub(sharing.n_layers));
        let mut xs = self.embedding.rows(&Tensor::new(tokens, &self.device)?)?;
        if scales.embedding != 1.0 {
            xs = (xs * scales.embedding)?;
        }
        let mut own_inputs = match &self.per_layer {
            Some(part) => Some(part.inputs(tokens, &xs, norm_epsilon)?),
            None => None,
        };
        let norm = |xs: &Tensor, weight: &Tensor| ops::rms_norm(xs, weight, norm_epsilon);
        let add = |xs: Tensor, part: Tensor, weight: Option<&Tensor>| match weight {
            Some(weight) => xs + norm(&part, weight)?,
            None if scales.residual != 1.0 => xs + (part * scales.residual)?,
            None => xs + part,
        };
        for (index, layer) in self.layers.iter().enumerate() {
            // From here on, each token only reads what those before it have written.
            if Some(index) == n_own && n_wanted < n_left && !held.branches() {
                let n_done = n_left - n_wanted;
                held.advance(n_done);
                n_left = n_wanted;
                xs = xs.narrow(0, n_done, n_left)?;
                if n_left == 0 {
                    return Ok(xs);
                }
                own_inputs = own_inputs.map(|all| all.narrow(0, n_done, n_left)).transpose()?;
                rotations = self.rotations(&positions[n_done..], held.is_long());
            }
            let (kind, window) = self.config.layer(index);
            let normed = norm(&xs, &layer.attention_norm)?;
            let mixed = match &layer.mixer {
                Mixer::Attention(part) => {
                    self.attend(index, part, &normed, window, rotations.of(kind), held)?
                }
                Mixer::Convolution(part) => held.each([&normed], |[xs], run, cache| {
                    part.forward(index, xs, Run { window, ..run }, self.cache_dtype, cache)
                })?,
                Mixer::DeltaNet(part) => part.forward(index, &normed, held, norm_epsilon)?,
            };
            xs = add(xs, mixed, layer.post_attention_norm.as_ref())?;
            let normed = norm(&xs, &layer.feed_forward_norm)?;
            let mut fed = layer.feed_forward.forward(&normed, family.activation)?;
            if let Some(part) = &layer.beside {
                fed = part.forward(&xs, &fed, family.activation, norm_epsilon)?;
            }
            xs = add(xs, fed, layer.post_feed_forward_norm.as_ref())?;
            if let Some((part, inputs)) = layer.own_input.as_ref().zip(own_inputs.as_ref()) {
                xs = (&xs + part.forward(index, &xs, inputs, family.activation, norm_epsilon)?)?;
            }
            if let Some(scale) = layer.scale {
                xs = (xs * scale)?;
            }
            between_layers();
        }
        held.advance(n_left);
        xs.narrow(0, n_left - n_wanted, n_wanted)
    }

    fn attend(
        &self,
        index: usize,
        layer: &Attention,
        xs: &Tensor,
        window: Option<usize>,
        [of_queries, of_keys]: [Option<&Rotation>; 2],
        held: &mut Held<'_, '_>,
    ) -> Result<Tensor> {
        let DecoderConfig { n_heads, norm_epsilon, scales, .. } = self.config;
        let projected = layer.qkv.forward(xs)?;
        let (queries, keys, values) = match projected.as_slice() {
            [queries, keys, values] => (queries, Some(keys), Some(values)),
            [queries, keys] => (queries, Some(keys), Some(keys)),
            [queries] => (queries, None, None),
            _ => candle_core::bail!("expected queries, keys and values"),
        };
        let heads = |n_heads, norm, rotation| Projection {
            n_heads,
            norm,
            norm_epsilon,
            rotation,
            dtype: DType::F32,
        };
        let (queries, gates) = self.without_gates(queries)?;
        let queries = heads(n_heads, layer.query_norm.as_ref(), of_queries).split(&queries)?;
        let queries = queries.transpose(0, 1)?;
        let scale = scales.attention as f32;
        let see = |queries: Result<Tensor>, [keys, values]: [Tensor; 2], run: Run<'_>| {
            attend(&queries?.contiguous()?, &keys, &values, Run { window, ..run }, scale)
        };
        let mut mixed = if let Some((keys, values)) = keys.zip(values) {
            let n_kv_heads = self.config.heads(index).n;
            let cached = |norm, rotation| Projection {
                dtype: self.cache_dtype,
                ..heads(n_kv_heads, norm, rotation)
            };
            let keys = cached(layer.key_norm.as_ref(), of_keys).split(keys)?.transpose(0, 1)?;
            let values = cached(layer.value_norm.as_ref(), None).split(values)?.transpose(0, 1)?;
            held.each([&queries, &keys, &values], |parts, run, cache| {
                let [queries, keys, values] = parts.map(|part| part.transpose(0, 1));
                let own = [&keys?.contiguous()?, &values?.contiguous()?];
                see(queries, cache.append(index, own)?, run)
            })?
        } else {
            let source = self.config.keys_of(index);
            held.each([&queries], |[queries], run, cache| {
                let shared = cache.written(source, queries.dim(0)?)?;
                see(queries.transpose(0, 1), shared, run)
            })?
        };
        if let Some(gates) = gates {
            mixed = (mixed * candle_nn::ops::sigmoid(&gates)?)?;
        }
        with_bias(layer.output.forward(&mixed)?, layer.output_bias.as_ref())
    }

    /// Queries, and the gates where each head has one behind its queries.
    fn without_gates(&self, queries: &Tensor) -> Result<(Tensor, Option<Tensor>)> {
        if !self.config.family.query_gates {
            return Ok((queries.clone(), None));
        }
        let n_heads = self.config.n_heads;
        let (n, width) = queries.dims2()?;
        let head_dim = width / (2 * n_heads);
        let both = queries.reshape((n, n_heads, 2, head_dim))?;
        let part = |index| both.narrow(2, index, 1)?.reshape((n, n_heads * head_dim));
        Ok((part(0)?, Some(part(1)?)))
    }

    /// Logits of hidden states `[n, hidden]`: n rows of `vocabulary` values.
    ///
    /// # Errors
    /// [`ModelError::NotANumber`] if one of them is not finite, or a backend failure.
    pub fn logits(&self, hidden: &Tensor) -> Outcome<Vec<Vec<f32>>> {
        let compute = || {
            let normed =
                ops::rms_norm(&hidden.contiguous()?, &self.norm, self.config.norm_epsilon)?;
            let mut logits = self.head.forward(&normed)?;
            if self.config.scales.logits != 1.0 {
                logits = (logits / self.config.scales.logits)?;
            }
            let mut rows = logits.to_device(&Device::Cpu)?.to_vec2::<f32>()?;
            if let Some(cap) = self.config.logit_cap {
                for row in &mut rows {
                    ops::cap(row, cap as f32);
                }
            }
            Ok(rows)
        };
        let rows = in_pool(hidden.dim(0).map_err(backend)?, compute).map_err(backend)?;
        // x · 0 is NaN for an infinite or NaN x; unlike `all`, the sum vectorises.
        if rows.iter().any(|row| row.iter().map(|x| x * 0.0).sum::<f32>() != 0.0) {
            return Err(ModelError::NotANumber);
        }
        Ok(rows)
    }
}

fn with_bias(xs: Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    match bias {
        Some(bias) => xs.broadcast_add(bias),
        None => Ok(xs),
    }
}

impl FeedForward {
    fn forward(&self, xs: &Tensor, activation: Activation) -> Result<Tensor> {
        let (gate_up, down, down_bias) = match self {
            Self::Dense { gate_up, down, down_bias } => (gate_up, down, down_bias),
            Self::Experts(experts) => return experts.forward(xs, xs, activation),
        };
        let projected = gate_up.forward(xs)?;
        let [gate, up] = projected.as_slice() else { candle_core::bail!("expected gate and up") };
        let gated = ops::gated(activation, gate, up)?;
        drop(projected);
        with_bias(down.forward(&gated)?, down_bias.as_ref())
    }
}
