//! The decoder of every family of language models: tokens → hidden states → logits.
//!
//! One code path: families differ in whether a bias, a norm of queries and keys or an output matrix of its own is
//! there ([`super::families`]). It knows neither text nor sampling, nor who asks.

use candle_core::{DType, Device, Result, Tensor};

use super::attention::attend;
use super::branches::Run;
use super::config::DecoderConfig;
use super::families::Names;
use super::kv_cache::KvCache;
use super::linear::LinearGroup;
use super::ops::{self, Projection};
use super::rope::{Rope, Rotation};
use super::weights::{Matrix, Weights, backend};
use crate::interfaces::ModelError;

type Outcome<T> = std::result::Result<T, ModelError>;

struct Attention {
    qkv: LinearGroup,
    output: Matrix,
    output_bias: Option<Tensor>,
    /// Qwen3: over each head's dimensions, before the rotation.
    query_norm: Option<Tensor>,
    key_norm: Option<Tensor>,
}

struct FeedForward {
    gate_up: LinearGroup,
    down: Matrix,
    down_bias: Option<Tensor>,
}

struct Layer {
    attention_norm: Tensor,
    attention: Attention,
    feed_forward_norm: Tensor,
    feed_forward: FeedForward,
}

/// A language model's weights and shape.
pub struct Decoder {
    config: DecoderConfig,
    vocabulary: usize,
    embedding: Matrix,
    layers: Vec<Layer>,
    norm: Tensor,
    head: Matrix,
    rope: Rope,
    /// The type of cached keys and values: f16 beside packed weights, whose products are rounded more coarsely anyway.
    cache_dtype: DType,
    device: Device,
}

struct Loader<'a> {
    weights: &'a Weights,
    config: &'a DecoderConfig,
    device: &'a Device,
}

impl Loader<'_> {
    fn pick(&self, (safetensors, gguf): Names) -> &'static str {
        if self.weights.is_gguf() { gguf } else { safetensors }
    }

    fn name(&self, layer: usize, names: Names, kind: &str) -> String {
        let prefix = self.pick(self.config.family.tensors.layer);
        format!("{prefix}{layer}.{}.{kind}", self.pick(names))
    }

    fn norm(&self, layer: usize, names: Names, n: usize) -> Outcome<Tensor> {
        self.weights.vector(&self.name(layer, names, "weight"), n, self.device)
    }

    fn bias(&self, layer: usize, names: Names, n: usize) -> Outcome<Option<Tensor>> {
        let name = self.name(layer, names, "bias");
        if self.weights.contains(&name) {
            self.weights.vector(&name, n, self.device).map(Some)
        } else {
            Ok(None)
        }
    }

    fn matrix(&self, layer: usize, names: Names, shape: (usize, usize)) -> Outcome<Matrix> {
        self.weights.matrix(&self.name(layer, names, "weight"), shape, self.device)
    }

    fn group(
        &self,
        layer: usize,
        parts: &[(Names, usize)],
        n_in: usize,
        biased: bool,
    ) -> Outcome<LinearGroup> {
        let named: Vec<_> =
            parts.iter().map(|&(names, n)| (self.name(layer, names, "weight"), n)).collect();
        let matrices = self.weights.stacked(&named, n_in, self.device)?;
        let mut biases = Vec::new();
        for &(names, n) in parts {
            biases.extend(self.bias(layer, names, n)?);
        }
        if (biased || !biases.is_empty()) && biases.len() != parts.len() {
            let name = self.name(layer, parts[0].0, "bias");
            return Err(self.weights.bad(format!("`{name}` or one of its companions is missing")));
        }
        let widths = parts.iter().map(|&(_, n)| n).collect();
        Ok(LinearGroup::new(matrices, widths, (!biases.is_empty()).then_some(biases)))
    }

    fn layer(&self, layer: usize) -> Outcome<Layer> {
        let c = self.config;
        let names = &c.family.tensors;
        let (queries, keys) = (c.n_heads * c.head_dim, c.n_kv_heads * c.head_dim);
        let head_norm =
            |names| c.family.head_norms.then(|| self.norm(layer, names, c.head_dim)).transpose();
        Ok(Layer {
            attention_norm: self.norm(layer, names.attention_norm, c.hidden)?,
            attention: Attention {
                qkv: self.group(
                    layer,
                    &[(names.query, queries), (names.key, keys), (names.value, keys)],
                    c.hidden,
                    c.family.qkv_bias,
                )?,
                output: self.matrix(layer, names.output, (c.hidden, queries))?,
                output_bias: self.bias(layer, names.output, c.hidden)?,
                query_norm: head_norm(names.query_norm)?,
                key_norm: head_norm(names.key_norm)?,
            },
            feed_forward_norm: self.norm(layer, names.feed_forward_norm, c.hidden)?,
            feed_forward: FeedForward {
                gate_up: self.group(
                    layer,
                    &[(names.gate, c.intermediate), (names.up, c.intermediate)],
                    c.hidden,
                    false,
                )?,
                down: self.matrix(layer, names.down, (c.hidden, c.intermediate))?,
                down_bias: self.bias(layer, names.down, c.hidden)?,
            },
        })
    }
}

impl Decoder {
    /// Builds the decoder; `on_layer` is told how many layers are ready.
    ///
    /// # Errors
    /// [`ModelError::BadFile`] if a tensor is missing or does not fit the configuration.
    pub fn load(
        config: DecoderConfig,
        weights: &Weights,
        device: &Device,
        on_layer: &dyn Fn(usize),
    ) -> Outcome<Self> {
        let loader = Loader { weights, config: &config, device };
        let names = &config.family.tensors;
        let named = |names| format!("{}.weight", loader.pick(names));
        let embedding_name = named(names.embedding);
        let Some(&[vocabulary, _]) = weights.dims(&embedding_name) else {
            return Err(weights.bad(format!("the matrix `{embedding_name}` is missing")));
        };
        let embedding = weights.matrix(&embedding_name, (vocabulary, config.hidden), device)?;
        let mut layers = Vec::new();
        for index in 0..config.n_layers {
            layers.push(loader.layer(index)?);
            on_layer(index + 1);
        }
        let head_name = named(names.head);
        let tied = config.tied.unwrap_or(!weights.contains(&head_name));
        let head = if tied {
            embedding.clone()
        } else {
            weights.matrix(&head_name, (vocabulary, config.hidden), device)?
        };
        let norm = weights.vector(&named(names.norm), config.hidden, device)?;
        let factors = weights
            .contains("rope_freqs.weight")
            .then(|| weights.values("rope_freqs.weight", &[config.head_dim / 2]))
            .transpose()?;
        let rope = Rope::new(&config, factors.as_deref());
        let packed = layers.first().is_some_and(|layer| layer.attention.output.packed().is_some());
        Ok(Self {
            config,
            vocabulary,
            embedding,
            layers,
            norm,
            head,
            rope,
            cache_dtype: if packed { DType::F16 } else { DType::F32 },
            device: device.clone(),
        })
    }

    /// Number of tokens in the vocabulary.
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// Longest context.
    pub fn context_tokens(&self) -> usize {
        self.config.context_tokens
    }

    /// A longer or shorter context than the model was trained for.
    #[cfg(test)]
    pub(super) fn set_context_tokens(&mut self, context_tokens: usize) {
        self.config.context_tokens = context_tokens;
    }

    /// Runs `tokens` after those that `cache` holds and adds them to it; the hidden state after each, `[n, hidden]`.
    /// `branches` are those of [`Run`]. `between_layers` is called after each layer and must not touch this cache.
    ///
    /// # Errors
    /// A token outside the vocabulary, or a backend failure. The cache holds what it held before.
    pub fn forward(
        &self,
        tokens: &[u32],
        branches: &[usize],
        cache: &mut KvCache,
        between_layers: &mut (dyn FnMut() + Send),
    ) -> Outcome<Tensor> {
        if let Some(&token) = tokens.iter().find(|&&t| t as usize >= self.vocabulary) {
            return Err(ModelError::Backend {
                what: format!(
                    "the token {token} is not in the model's vocabulary of {}",
                    self.vocabulary
                ),
                source: None,
            });
        }
        // All of it on a thread of the pool: a product that starts there has one thread fewer to wake.
        in_pool(|| self.run(tokens, branches, cache, between_layers)).map_err(backend)
    }

    fn run(
        &self,
        tokens: &[u32],
        branches: &[usize],
        cache: &mut KvCache,
        between_layers: &mut (dyn FnMut() + Send),
    ) -> Result<Tensor> {
        let epsilon = self.config.norm_epsilon;
        let run = Run { start: cache.len(), branches };
        let positions = (0..tokens.len()).map(|index| run.position(index));
        let rotation = self.rope.rotation(positions, &self.device);
        let mut xs = self.embedding.rows(&Tensor::new(tokens, &self.device)?)?;
        for (index, layer) in self.layers.iter().enumerate() {
            let normed = ops::rms_norm(&xs, &layer.attention_norm, epsilon)?;
            let attended = self.attend(index, &layer.attention, &normed, run, &rotation, cache)?;
            xs = (xs + attended)?;
            let normed = ops::rms_norm(&xs, &layer.feed_forward_norm, epsilon)?;
            xs = (xs + layer.feed_forward.forward(&normed)?)?;
            between_layers();
        }
        cache.advance(tokens.len());
        Ok(xs)
    }

    fn attend(
        &self,
        index: usize,
        layer: &Attention,
        xs: &Tensor,
        run: Run<'_>,
        rotation: &Rotation,
        cache: &mut KvCache,
    ) -> Result<Tensor> {
        let DecoderConfig { n_heads, n_kv_heads, norm_epsilon, .. } = self.config;
        let projected = layer.qkv.forward(xs)?;
        let [queries, keys, values] = projected.as_slice() else {
            candle_core::bail!("expected queries, keys and values")
        };
        let heads = |n_heads, norm| Projection {
            n_heads,
            norm,
            norm_epsilon,
            rotation: Some(rotation),
            dtype: DType::F32,
        };
        let queries = heads(n_heads, layer.query_norm.as_ref()).split(queries)?;
        let cached =
            Projection { dtype: self.cache_dtype, ..heads(n_kv_heads, layer.key_norm.as_ref()) };
        let keys = cached.split(keys)?;
        let values = Projection { norm: None, rotation: None, ..cached }.split(values)?;
        let (keys, values) = cache.append(index, &keys, &values)?;

        let mixed = attend(&queries, &keys, &values, run)?;
        with_bias(layer.output.forward(&mixed)?, layer.output_bias.as_ref())
    }

    /// Logits of hidden states `[n, hidden]`: n rows of `vocabulary` values.
    ///
    /// # Errors
    /// [`ModelError::NotANumber`] if one of them is not finite, or a backend failure.
    pub fn logits(&self, hidden: &Tensor) -> Outcome<Vec<Vec<f32>>> {
        let compute = || {
            let normed =
                ops::rms_norm(&hidden.contiguous()?, &self.norm, self.config.norm_epsilon)?;
            self.head.forward(&normed)?.to_device(&Device::Cpu)?.to_vec2::<f32>()
        };
        let rows = in_pool(compute).map_err(backend)?;
        // x · 0 is NaN for an infinite or NaN x; unlike `all`, the sum vectorises.
        if rows.iter().any(|row| row.iter().map(|x| x * 0.0).sum::<f32>() != 0.0) {
            return Err(ModelError::NotANumber);
        }
        Ok(rows)
    }
}

/// Runs `work` on a thread of rayon's pool.
fn in_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    rayon::scope(|_| work())
}

fn with_bias(xs: Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    match bias {
        Some(bias) => xs.broadcast_add(bias),
        None => Ok(xs),
    }
}

impl FeedForward {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let projected = self.gate_up.forward(xs)?;
        let [gate, up] = projected.as_slice() else { candle_core::bail!("expected gate and up") };
        with_bias(self.down.forward(&ops::swiglu(gate, up)?)?, self.down_bias.as_ref())
    }
}
