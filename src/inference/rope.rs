//! Rotary positions: a model's frequencies, and their cosines and sines at given positions.

use candle_core::{Device, Result, Tensor};

use super::config::{DecoderConfig, RopeScaling};

/// The angular frequency of each pair of a head's dimensions.
#[derive(Debug, Clone)]
pub struct Rope {
    frequencies: Vec<f32>,
    interleaved: bool,
}

impl Rope {
    /// `factors`: a GGUF file's `rope_freqs`, which divide the frequencies.
    pub fn new(config: &DecoderConfig, factors: Option<&[f32]>) -> Self {
        let pairs = config.head_dim / 2;
        let mut frequencies: Vec<f32> = (0..pairs)
            .map(|i| {
                let exponent = (2 * i) as f32 / config.head_dim as f32;
                1.0 / (config.rope_theta as f32).powf(exponent)
            })
            .map(|f| scaled(f, &config.rope_scaling))
            .collect();
        for (frequency, factor) in frequencies.iter_mut().zip(factors.unwrap_or_default()) {
            *frequency /= factor;
        }
        Self { frequencies, interleaved: config.rope_interleaved }
    }

    /// For tokens at these positions. Angles are computed in f32, as in the reference implementations.
    pub fn rotation(&self, positions: impl Iterator<Item = usize>, device: &Device) -> Rotation {
        let angles = positions
            .flat_map(|position| self.frequencies.iter().map(move |f| position as f32 * f));
        let (cos, sin) = angles.map(|a| (a.cos(), a.sin())).unzip();
        let pairs = self.frequencies.len();
        Rotation { cos, sin, pairs, interleaved: self.interleaved, device: device.clone() }
    }
}

/// The cosines and sines of several tokens' positions.
#[derive(Debug)]
pub struct Rotation {
    cos: Vec<f32>,
    sin: Vec<f32>,
    pairs: usize,
    interleaved: bool,
    device: Device,
}

impl Rotation {
    /// Those of the run's token `index`, one for each pair of dimensions.
    pub fn at(&self, index: usize) -> (&[f32], &[f32]) {
        let range = index * self.pairs..(index + 1) * self.pairs;
        (&self.cos[range.clone()], &self.sin[range])
    }

    /// Whether pairs stand side by side, instead of half a head apart.
    pub fn interleaved(&self) -> bool {
        self.interleaved
    }

    /// Rotates `[n_heads, n, head_dim]`, by candle's operators.
    pub fn apply(&self, xs: &Tensor) -> Result<Tensor> {
        let shape = (self.cos.len() / self.pairs, self.pairs);
        let cos = Tensor::from_slice(&self.cos, shape, &self.device)?;
        let sin = Tensor::from_slice(&self.sin, shape, &self.device)?;
        let xs = xs.unsqueeze(0)?;
        let rotated = if self.interleaved {
            candle_nn::rotary_emb::rope_i(&xs, &cos, &sin)
        } else {
            candle_nn::rotary_emb::rope(&xs, &cos, &sin)
        };
        rotated?.squeeze(0)
    }
}

fn scaled(frequency: f32, scaling: &RopeScaling) -> f32 {
    match *scaling {
        RopeScaling::None => frequency,
        RopeScaling::Linear(factor) => frequency / factor as f32,
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
