//! Encoders of candle-transformers, fed with batches that are padded on the right.
//!
//! Their weights come from [`Weights`], whose headers were checked, one tensor at a time and with the shape that
//! the model asks for: candle never sees the file.

use candle_core::{DType, Device, Error, Result, Tensor};
use candle_nn::var_builder::SimpleBackend;
use candle_nn::{Init, VarBuilder};

use super::encoder::{Encoder, Shape};
use super::weights::Weights;
use crate::interfaces::ModelError;

/// Longest text, whatever the model allows: attention weights of 8,192 tokens would take four gigabytes.
pub const TOKENS_MAX: usize = 2048;
/// Tokens of a batch, padding included.
const BATCH_TOKENS: usize = 2048;

/// Token ids and their mask (1 for a token, 0 for padding), both `[texts, tokens]` and u32, to last hidden states
/// `[texts, tokens, hidden]`.
type Forward = Box<dyn Fn(&Tensor, &Tensor) -> Result<Tensor> + Send + Sync>;

/// One of candle-transformers' encoders.
pub struct PaddedEncoder {
    shape: Shape,
    /// The padding token.
    pad: u32,
    forward: Forward,
}

impl PaddedEncoder {
    /// Loads a model: `build` makes it from the tensors. Where the model asks for tensors under `prefix` and the
    /// file has them without, they are found all the same, and the other way round.
    ///
    /// # Errors
    /// [`ModelError::BadFile`] if a tensor is missing or of another shape.
    pub fn load<F>(
        weights: &Weights,
        shape: Shape,
        (pad, prefix): (u32, &'static str),
        build: impl FnOnce(VarBuilder<'_>) -> Result<F>,
    ) -> std::result::Result<Box<dyn Encoder>, ModelError>
    where
        F: Fn(&Tensor, &Tensor) -> Result<Tensor> + Send + Sync + 'static,
    {
        if pad as usize >= shape.vocabulary {
            return Err(weights.bad(format!("its padding token {pad} is not in its vocabulary")));
        }
        let source = Box::new(Source { weights, prefix });
        let forward = build(VarBuilder::from_backend(source, DType::F32, Device::Cpu))
            .map_err(|e| weights.bad(e.to_string().lines().next().unwrap_or_default()))?;
        let shape = Shape { tokens_max: shape.tokens_max.min(TOKENS_MAX), ..shape };
        Ok(Box::new(Self { shape, pad, forward: Box::new(forward) }))
    }

    /// Hidden states of the texts `group`, each without its padding.
    fn run(&self, group: &[&Vec<u32>]) -> Result<Vec<Vec<f32>>> {
        let n_tokens = group.iter().map(|text| text.len()).max().unwrap_or(0);
        let (mut ids, mut mask) = (Vec::new(), Vec::new());
        for text in group {
            ids.extend_from_slice(text);
            mask.resize(ids.len(), 1u32);
            ids.resize(ids.len().next_multiple_of(n_tokens), self.pad);
            mask.resize(ids.len(), 0);
        }
        let batch = (group.len(), n_tokens);
        let ids = Tensor::from_vec(ids, batch, &Device::Cpu)?;
        let mask = Tensor::from_vec(mask, batch, &Device::Cpu)?;
        let states = (self.forward)(&ids, &mask)?.flatten_all()?.to_vec1::<f32>()?;
        let (hidden, padded) = (self.shape.hidden, n_tokens * self.shape.hidden);
        let texts = group.iter().zip(states.chunks_exact(padded));
        Ok(texts.map(|(text, states)| states[..text.len() * hidden].to_vec()).collect())
    }
}

impl Encoder for PaddedEncoder {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn states(&self, texts: &[Vec<u32>]) -> Result<Vec<f32>> {
        // Texts of about the same length together, so that little is padding.
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|&i| texts[i].len());
        let mut states: Vec<Vec<f32>> = vec![Vec::new(); texts.len()];
        let mut rest = order.as_slice();
        while let Some(&shortest) = rest.first() {
            let fits = |n: usize| {
                let longest = texts[rest[n - 1]].len();
                longest <= 2 * texts[shortest].len() && n * longest <= BATCH_TOKENS
            };
            let n = (2..=rest.len()).take_while(|&n| fits(n)).last().unwrap_or(1);
            let (group, after) = rest.split_at(n);
            let group_states = self.run(&group.iter().map(|&i| &texts[i]).collect::<Vec<_>>())?;
            for (&i, of_text) in group.iter().zip(group_states) {
                states[i] = of_text;
            }
            rest = after;
        }
        Ok(states.concat())
    }
}

/// Tensors for candle's builders.
struct Source<'a> {
    weights: &'a Weights,
    prefix: &'static str,
}

impl Source<'_> {
    /// The name that the file has a tensor under.
    fn name(&self, asked: &str) -> String {
        let others = [asked.strip_prefix(self.prefix).unwrap_or(asked).to_owned()]
            .into_iter()
            .chain([format!("{}{asked}", self.prefix)]);
        let found = others.into_iter().find(|name| self.weights.contains(name));
        found.filter(|_| !self.weights.contains(asked)).unwrap_or_else(|| asked.to_owned())
    }
}

impl SimpleBackend for Source<'_> {
    fn get(
        &self,
        shape: candle_core::Shape,
        name: &str,
        _: Init,
        _: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let values = self.weights.values(&self.name(name), shape.dims()).map_err(|e| match e {
            ModelError::BadFile { reason, .. } => Error::Msg(reason),
            other => Error::wrap(other),
        })?;
        Tensor::from_vec(values, shape, device)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        let name = self.name(name);
        let Some(dims) = self.weights.dims(&name) else {
            return Err(Error::Msg(format!("the tensor `{name}` is missing")));
        };
        self.get(dims.into(), &name, Init::Const(0.0), dtype, device)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.weights.contains(&self.name(name))
    }
}
