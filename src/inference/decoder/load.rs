//! A decoder from its weights: which tensors each layer takes, and in which shapes.

use candle_core::{DType, Device, Tensor};

use super::convolution::Convolution;
use super::delta_net::DeltaNet;
use super::experts::{Beside, Expert, Experts};
use super::per_layer::{OwnInput, PerLayer};
use super::{Attention, Decoder, FeedForward, Layer, Mixer, Outcome};
use crate::inference::config::{DecoderConfig, LayerKind, Mixture, Recurrence, RopeScaling};
use crate::inference::families::{Names, RecurrenceNames};
use crate::inference::linear::LinearGroup;
use crate::inference::rope::Rope;
use crate::inference::table::Table;
use crate::inference::weights::{Matrix, Weights, backend};

struct Loader<'a> {
    weights: &'a Weights,
    config: &'a DecoderConfig,
    device: &'a Device,
    /// What names begin with, and what they begin with in these files instead.
    renamed: (&'static str, &'static str),
}

/// The language model alone; and within a model that also sees, as older and newer releases of transformers write it.
const RENAMED: [(&str, &str); 3] =
    [("", ""), ("", "language_model."), ("model.", "model.language_model.")];

impl Loader<'_> {
    fn pick(&self, (safetensors, gguf): Names) -> &'static str {
        if self.weights.is_gguf() { gguf } else { safetensors }
    }

    fn placed(&self, name: String) -> String {
        let (from, to) = self.renamed;
        name.strip_prefix(from).map(|rest| format!("{to}{rest}")).unwrap_or(name)
    }

    /// The name of a tensor that belongs to no layer.
    fn whole(&self, names: Names) -> String {
        self.placed(format!("{}.weight", self.pick(names)))
    }

    fn name(&self, layer: usize, names: Names, kind: &str) -> String {
        let layers = self.pick(self.config.family.tensors.layer);
        self.placed(format!("{layers}{layer}.{}.{kind}", self.pick(names)))
    }

    /// The name of a tensor of a layer that is no `.weight` and no `.bias`.
    fn whole_of(&self, layer: usize, names: Names) -> String {
        let layers = self.pick(self.config.family.tensors.layer);
        self.placed(format!("{layers}{layer}.{}", self.pick(names)))
    }

    fn norm(&self, layer: usize, names: Names, n: usize) -> Outcome<Tensor> {
        self.norm_called(&self.name(layer, names, "weight"), n)
    }

    fn norm_called(&self, name: &str, n: usize) -> Outcome<Tensor> {
        let mut weight = self.weights.values(name, &[n])?;
        if self.config.family.norms_from_one && !self.weights.is_gguf() {
            for w in &mut weight {
                *w += 1.0;
            }
        }
        Tensor::from_vec(weight, n, self.device).map_err(backend)
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
        let (kind, _) = c.layer(layer);
        let mixer = match (kind, names.convolution, names.recurrence.as_ref().zip(c.recurrence)) {
            (LayerKind::Convolution, Some(names), _) => {
                Mixer::Convolution(Box::new(self.convolution(layer, names)?))
            }
            (LayerKind::Recurrent, _, Some((names, shape))) => {
                Mixer::DeltaNet(Box::new(self.delta_net(layer, names, shape)?))
            }
            _ => Mixer::Attention(Box::new(self.attention(layer)?)),
        };
        let post_norm =
            |names: Option<Names>| names.map(|names| self.norm(layer, names, c.hidden)).transpose();
        Ok(Layer {
            attention_norm: self.norm(layer, names.attention_norm, c.hidden)?,
            mixer,
            post_attention_norm: post_norm(names.post_attention_norm)?,
            feed_forward_norm: self.norm(layer, names.feed_forward_norm, c.hidden)?,
            feed_forward: self.feed_forward(layer)?,
            beside: self.beside(layer)?,
            post_feed_forward_norm: post_norm(names.post_feed_forward_norm)?,
            own_input: self.own_input(layer)?,
            scale: self.scale(layer)?,
        })
    }

    fn own_input(&self, layer: usize) -> Outcome<Option<OwnInput>> {
        let c = self.config;
        let Some((width, names)) = c.per_layer.zip(c.family.tensors.per_layer) else {
            return Ok(None);
        };
        Ok(Some(OwnInput {
            gate: self.matrix(layer, names.gate, (width, c.hidden))?,
            projection: self.matrix(layer, names.output, (c.hidden, width))?,
            norm: self.norm(layer, names.output_norm, c.hidden)?,
        }))
    }

    /// A layer's own factor; files may lack it.
    fn scale(&self, layer: usize) -> Outcome<Option<f64>> {
        let Some(names) = self.config.family.tensors.layer_scale else { return Ok(None) };
        let name = self.whole_of(layer, names);
        if !self.weights.contains(&name) {
            return Ok(None);
        }
        Ok(self.weights.values(&name, &[1])?.first().map(|&scale| f64::from(scale)))
    }

    fn per_layer(&self, vocabulary: usize) -> Outcome<Option<PerLayer>> {
        let c = self.config;
        let Some((width, names)) = c.per_layer.zip(c.family.tensors.per_layer) else {
            return Ok(None);
        };
        let all = c.n_layers * width;
        Ok(Some(PerLayer {
            table: Table::new(self.weights, &self.whole(names.table), (vocabulary, all))?,
            projection: self.weights.matrix(
                &self.whole(names.projection),
                (all, c.hidden),
                self.device,
            )?,
            norm: self.norm_called(&self.whole(names.norm), width)?,
            width,
        }))
    }

    fn attention(&self, layer: usize) -> Outcome<Attention> {
        let c = self.config;
        let names = &c.family.tensors;
        let heads = c.heads(layer);
        let (queries, keys) = (c.n_heads * heads.dim, heads.n * heads.dim);
        let per_query = if c.family.query_gates { 2 } else { 1 };
        let parts = [(names.query, per_query * queries), (names.key, keys), (names.value, keys)];
        let has_keys = c.keys_of(layer) == layer;
        let no_values = || !self.weights.contains(&self.name(layer, names.value, "weight"));
        let is_sliding = c.layer(layer).0 == LayerKind::Sliding;
        let n_parts = match has_keys {
            false => 1,
            true if !is_sliding && c.keys_are_values.unwrap_or_else(no_values) => 2,
            true => 3,
        };
        let parts = &parts[..n_parts];
        let qkv = match names.fused_attention {
            Some(fused) => {
                let widths: Vec<usize> = parts.iter().map(|&(_, n)| n).collect();
                self.fused(layer, fused, &widths)?
            }
            None => self.group(layer, parts, c.hidden, c.family.qkv_bias)?,
        };
        let head_norm = |names, is_there: bool| {
            let has_norm = c.family.head_norms && is_there;
            has_norm.then(|| self.norm(layer, names, heads.dim)).transpose()
        };
        let value_norm = c
            .family
            .value_norms
            .then(|| Tensor::ones(heads.dim, DType::F32, self.device).map_err(backend));
        Ok(Attention {
            qkv,
            output: self.matrix(layer, names.output, (c.hidden, queries))?,
            output_bias: self.bias(layer, names.output, c.hidden)?,
            query_norm: head_norm(names.query_norm, true)?,
            key_norm: head_norm(names.key_norm, has_keys)?,
            value_norm: value_norm.transpose()?,
        })
    }

    /// One matrix with the rows of several.
    fn fused(&self, layer: usize, names: Names, widths: &[usize]) -> Outcome<LinearGroup> {
        let matrix = self.matrix(layer, names, (widths.iter().sum(), self.config.hidden))?;
        Ok(LinearGroup::new(vec![matrix], widths.to_vec(), None))
    }

    fn feed_forward(&self, layer: usize) -> Outcome<FeedForward> {
        let c = self.config;
        let names = &c.family.tensors;
        let width = c.intermediate(layer);
        let parts = [(names.gate, width), (names.up, width)];
        if let (Some(mixture), Some(names), None) = (c.mixture, names.experts, names.beside) {
            return Ok(FeedForward::Experts(self.experts(layer, mixture, names)?));
        }
        Ok(FeedForward::Dense {
            gate_up: match names.fused_feed_forward {
                Some(fused) => self.fused(layer, fused, &[width; 2])?,
                None => self.group(layer, &parts, c.hidden, false)?,
            },
            down: self.matrix(layer, names.down, (c.hidden, width))?,
            down_bias: self.bias(layer, names.down, c.hidden)?,
        })
    }

    fn experts(&self, layer: usize, mixture: Mixture, names: [Names; 4]) -> Outcome<Experts> {
        let Mixture { n_experts, n_used, width, normalises } = mixture;
        let [router, gate, up, down] = names;
        let hidden = self.config.hidden;
        let expert = |index: usize| {
            let name = |names| self.name(layer, names, "weight").replace("{}", &index.to_string());
            let parts = [(name(gate), width), (name(up), width)];
            let gate_up = self.weights.stacked(&parts, hidden, self.device)?;
            Ok(Expert {
                gate_up: LinearGroup::new(gate_up, vec![width; 2], None),
                down: self.weights.matrix(&name(down), (hidden, width), self.device)?,
            })
        };
        Ok(Experts {
            router: self.matrix(layer, router, (n_experts, hidden))?,
            all: (0..n_experts).map(expert).collect::<Outcome<_>>()?,
            n_used,
            normalises,
            scales: None,
        })
    }

    fn beside(&self, layer: usize) -> Outcome<Option<Box<Beside>>> {
        let c = self.config;
        let names = &c.family.tensors;
        let (Some(mixture), Some(experts), Some(names)) = (c.mixture, names.experts, names.beside)
        else {
            return Ok(None);
        };
        let of_experts = self.whole_of(layer, names.scales);
        let scales = self.weights.values(&of_experts, &[mixture.n_experts])?;
        let mut router =
            self.weights.values(&self.whole_of(layer, names.router_norm), &[c.hidden])?;
        let factor = 1.0 / (c.hidden as f32).sqrt();
        for w in &mut router {
            *w *= factor;
        }
        let norm = |names| self.norm(layer, names, c.hidden);
        Ok(Some(Box::new(Beside {
            experts: Experts { scales: Some(scales), ..self.experts(layer, mixture, experts)? },
            router_norm: Tensor::from_vec(router, c.hidden, self.device).map_err(backend)?,
            dense_norm: norm(names.dense_norm)?,
            norms: [norm(names.norms[0])?, norm(names.norms[1])?],
        })))
    }

    fn convolution(&self, layer: usize, names: [Names; 3]) -> Outcome<Convolution> {
        let [input, kernel, output] = names;
        let hidden = self.config.hidden;
        let biases = self.bias(layer, input, 3 * hidden)?;
        let biases = biases.map(|all| (0..3).map(|i| all.narrow(0, i * hidden, hidden)).collect());
        let matrix = self.matrix(layer, input, (3 * hidden, hidden))?;
        Ok(Convolution {
            input: LinearGroup::new(
                vec![matrix],
                vec![hidden; 3],
                biases.transpose().map_err(backend)?,
            ),
            kernel: self.kernel(layer, kernel, hidden)?,
            bias: self.bias(layer, kernel, hidden)?,
            output: self.matrix(layer, output, (hidden, hidden))?,
            output_bias: self.bias(layer, output, hidden)?,
        })
    }

    /// For each place, the oldest first, the weights of all channels.
    fn kernel(&self, layer: usize, names: Names, width: usize) -> Outcome<Vec<Vec<f32>>> {
        let n = self.config.kernel;
        let shape = if self.weights.is_gguf() { vec![width, n] } else { vec![width, 1, n] };
        let by_channel = self.weights.values(&self.name(layer, names, "weight"), &shape)?;
        let of_place = |place| by_channel.iter().skip(place).step_by(n).copied().collect();
        Ok((0..n).map(of_place).collect())
    }

    fn delta_net(
        &self,
        layer: usize,
        names: &RecurrenceNames,
        shape: Recurrence,
    ) -> Outcome<DeltaNet> {
        let (hidden, n_heads) = (self.config.hidden, shape.n_value_heads);
        let is_gguf = self.weights.is_gguf();
        let widths = [shape.width(), shape.values(), n_heads, n_heads];
        let parts: Vec<_> = names.input.into_iter().zip(widths).collect();
        let of_heads = |whole: Names| self.weights.values(&self.whole_of(layer, whole), &[n_heads]);
        let mut decay = of_heads(names.decay)?;
        if !is_gguf {
            for logarithm in &mut decay {
                *logarithm = -logarithm.exp();
            }
        }
        let sharing = n_heads / shape.n_key_heads;
        let key_of = |head| if is_gguf { head % shape.n_key_heads } else { head / sharing };
        let norm = self.name(layer, names.norm, "weight");
        Ok(DeltaNet {
            shape,
            keys_of: (0..n_heads).map(key_of).collect(),
            input: self.group(layer, &parts, hidden, false)?,
            kernel: self.kernel(layer, names.kernel, shape.width())?,
            decay,
            decay_bias: of_heads(names.decay_bias)?,
            norm: self.weights.vector(&norm, shape.value_dim, self.device)?,
            output: self.matrix(layer, names.output, (hidden, shape.values()))?,
        })
    }

    /// The factors of LongRoPE, short and long: from the configuration, or from a GGUF file's tensors.
    fn long_factors(&self) -> Outcome<Option<[Vec<f32>; 2]>> {
        let rope = &self.config.rope;
        let RopeScaling::Long { factors, .. } = &rope.scaling else { return Ok(None) };
        if let Some(factors) = factors {
            return Ok(Some([0, 1].map(|i| factors[i].iter().map(|&x| x as f32).collect())));
        }
        let read = |name: &str| {
            let values = self.weights.values(name, &[rope.dims / 2])?;
            if values.iter().all(|x| x.is_finite() && *x > 0.0) {
                return Ok(values);
            }
            Err(self.weights.bad(format!("`{name}` holds no usable factors")))
        };
        Ok(Some([read("rope_factors_short.weight")?, read("rope_factors_long.weight")?]))
    }
}

impl Layer {
    fn is_packed(&self) -> bool {
        let output = match &self.mixer {
            Mixer::Attention(attention) => &attention.output,
            Mixer::Convolution(convolution) => &convolution.output,
            Mixer::DeltaNet(delta_net) => &delta_net.output,
        };
        output.packed().is_some()
    }
}

impl Decoder {
    /// Builds the decoder; `on_layer` is told how many layers are ready.
    ///
    /// # Errors
    /// [`BadFile`](crate::interfaces::ModelError::BadFile) if a tensor is missing or does not fit the configuration.
    pub fn load(
        config: DecoderConfig,
        weights: &Weights,
        device: &Device,
        on_layer: &dyn Fn(usize),
    ) -> Outcome<Self> {
        let names = &config.family.tensors;
        let loader = Loader { weights, config: &config, device, renamed: RENAMED[0] };
        let within = |renamed| Loader { renamed, ..loader };
        let has_embedding = |loader: &Loader<'_>| weights.contains(&loader.whole(names.embedding));
        let found = RENAMED.map(within).into_iter().find(has_embedding);
        let loader = found.unwrap_or(loader);
        let embedding_name = loader.whole(names.embedding);
        let Some(&[vocabulary, _]) = weights.dims(&embedding_name) else {
            return Err(weights.bad(format!("the matrix `{embedding_name}` is missing")));
        };
        let embedding = weights.matrix(&embedding_name, (vocabulary, config.hidden), device)?;
        let per_layer = loader.per_layer(vocabulary)?;
        let mut layers = Vec::new();
        for index in 0..config.n_layers {
            layers.push(loader.layer(index)?);
            on_layer(index + 1);
        }
        let head_name = loader.whole(names.head);
        let tied = config.tied.unwrap_or(!weights.contains(&head_name));
        let head = if tied {
            embedding.clone()
        } else {
            weights.matrix(&head_name, (vocabulary, config.hidden), device)?
        };
        let norm = loader.norm_called(&loader.whole(names.norm), config.hidden)?;
        let long = loader.long_factors()?;
        let factors = match &long {
            Some([short, _]) => Some(short.clone()),
            None => weights
                .contains("rope_freqs.weight")
                .then(|| weights.values("rope_freqs.weight", &[config.rope.dims / 2]))
                .transpose()?,
        };
        let rope = Rope::new(&config.rope, factors.as_deref());
        let long_rope = long.map(|[_, long]| Rope::new(&config.rope, Some(&long)));
        let local_rope = config.local_rope.as_ref().map(|local| Rope::new(local, None));
        let packed = layers.first().is_some_and(Layer::is_packed);
        // Reading one tensor brings pages of its neighbours back. What is read in place comes when it is needed.
        weights.release_all();
        Ok(Self {
            config,
            vocabulary,
            embedding,
            per_layer,
            layers,
            norm,
            head,
            rope,
            long_rope,
            local_rope,
            cache_dtype: if packed { DType::F16 } else { DType::F32 },
            device: device.clone(),
        })
    }
}
