//! Rotary positions: a model's frequencies, and their cosines and sines at given positions.

use candle_core::{D, Device, Result, Tensor};

use super::config::{RopeConfig, RopeScaling};

/// The angular frequency of each pair of a head's dimensions that rotates.
#[derive(Debug, Clone)]
pub struct Rope {
    frequencies: Vec<f32>,
    /// Of cosines and sines.
    scale: f32,
    interleaved: bool,
}

impl Rope {
    /// `factors`: one for each pair, by which its frequency is divided.
    pub fn new(config: &RopeConfig, factors: Option<&[f32]>) -> Self {
        let pairs = config.dims / 2;
        let base = |i: usize| (config.theta as f32).powf((2 * i) as f32 / config.dims as f32);
        let ramp = Ramp::of(config);
        let mut frequencies: Vec<f32> = (0..pairs)
            .map(|i| match &ramp {
                Some(ramp) => ramp.frequency(i, base(i)),
                None => scaled(i, 1.0 / base(i), &config.scaling),
            })
            .collect();
        for (frequency, factor) in frequencies.iter_mut().zip(factors.unwrap_or_default()) {
            *frequency /= factor;
        }
        let scale = match config.scaling {
            RopeScaling::Yarn { attention_factor, .. }
            | RopeScaling::Long { attention_factor, .. } => attention_factor as f32,
            _ => 1.0,
        };
        Self { frequencies, scale, interleaved: config.interleaved }
    }

    /// For tokens at these positions. Angles are computed in f32, as in the reference implementations.
    pub fn rotation(&self, positions: impl Iterator<Item = usize>, device: &Device) -> Rotation {
        let angles = positions
            .flat_map(|position| self.frequencies.iter().map(move |f| position as f32 * f));
        let (cos, sin) = angles.map(|a| (a.cos() * self.scale, a.sin() * self.scale)).unzip();
        let pairs = self.frequencies.len();
        Rotation { cos, sin, pairs, interleaved: self.interleaved, device: device.clone() }
    }
}

/// The cosines and sines of several tokens' positions.
#[derive(Debug, Clone)]
pub struct Rotation {
    cos: Vec<f32>,
    sin: Vec<f32>,
    pairs: usize,
    interleaved: bool,
    device: Device,
}

impl Rotation {
    /// Those of the run's token `index`, one for each pair of dimensions that rotates.
    pub fn at(&self, index: usize) -> (&[f32], &[f32]) {
        let range = index * self.pairs..(index + 1) * self.pairs;
        (&self.cos[range.clone()], &self.sin[range])
    }

    /// Whether pairs stand side by side, instead of half of what rotates apart.
    pub fn interleaved(&self) -> bool {
        self.interleaved
    }

    /// What is rotated becomes so many times as long, by a factor for each token.
    pub fn stretch(&mut self, factors: impl Iterator<Item = f32>) {
        let rows = self.cos.chunks_mut(self.pairs).zip(self.sin.chunks_mut(self.pairs));
        for ((cos, sin), factor) in rows.zip(factors) {
            cos.iter_mut().chain(sin).for_each(|x| *x *= factor);
        }
    }

    /// Rotates `[n_heads, n, head_dim]`, by candle's operators.
    pub fn apply(&self, xs: &Tensor) -> Result<Tensor> {
        let shape = (self.cos.len() / self.pairs, self.pairs);
        let cos = Tensor::from_slice(&self.cos, shape, &self.device)?;
        let sin = Tensor::from_slice(&self.sin, shape, &self.device)?;
        let (dims, head_dim) = (2 * self.pairs, xs.dim(D::Minus1)?);
        let rotating = xs.narrow(D::Minus1, 0, dims)?.contiguous()?.unsqueeze(0)?;
        let rotated = if self.interleaved {
            candle_nn::rotary_emb::rope_i(&rotating, &cos, &sin)
        } else {
            candle_nn::rotary_emb::rope(&rotating, &cos, &sin)
        };
        let rotated = rotated?.squeeze(0)?;
        if dims == head_dim {
            return Ok(rotated);
        }
        Tensor::cat(&[&rotated, &xs.narrow(D::Minus1, dims, head_dim - dims)?], D::Minus1)
    }
}

fn scaled(pair: usize, frequency: f32, scaling: &RopeScaling) -> f32 {
    match *scaling {
        RopeScaling::Proportional { n_pairs, .. } if pair >= n_pairs => 0.0,
        RopeScaling::None | RopeScaling::Yarn { .. } | RopeScaling::Long { .. } => frequency,
        RopeScaling::Linear(factor) | RopeScaling::Proportional { factor, .. } => {
            frequency / factor as f32
        }
        RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_context } => {
            let wavelength = 2.0 * std::f64::consts::PI / f64::from(frequency);
            if wavelength < original_context / high_freq_factor {
                frequency
            } else if wavelength > original_context / low_freq_factor {
                frequency / factor as f32
            } else {
                let smooth = (original_context / wavelength - low_freq_factor)
                    / (high_freq_factor - low_freq_factor);
                let f = f64::from(frequency);
                ((1.0 - smooth) * f / factor + smooth * f) as f32
            }
        }
    }
}

/// Where YaRN goes over from frequencies as they were to frequencies divided by the factor.
struct Ramp {
    low: f32,
    high: f32,
    factor: f32,
}

impl Ramp {
    fn of(config: &RopeConfig) -> Option<Self> {
        let RopeScaling::Yarn { factor, original_context, beta_fast, beta_slow, .. } =
            config.scaling
        else {
            return None;
        };
        let dims = config.dims as f64;
        // The pair that turns so often within the original context.
        let pair = |turns: f64| {
            let logarithm = (original_context / (turns * 2.0 * std::f64::consts::PI)).ln();
            dims * logarithm / (2.0 * config.theta.ln())
        };
        let low = pair(beta_fast).floor().max(0.0) as f32;
        let high = pair(beta_slow).ceil().min(dims - 1.0) as f32;
        let high = if low == high { high + 0.001 } else { high };
        Some(Self { low, high, factor: factor as f32 })
    }

    fn frequency(&self, pair: usize, base: f32) -> f32 {
        let stretched = ((pair as f32 - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        let kept = 1.0 - stretched;
        1.0 / (self.factor * base) * (1.0 - kept) + 1.0 / base * kept
    }
}
