//! How a model's heads are rotated by position: from `rope_parameters`, from the older `rope_theta` and
//! `rope_scaling`, or from GGUF metadata.

use super::fields::{Fields, Key};
use super::printable;

/// The base, where a file names none.
const THETA: f64 = 10_000.0;
/// Turns within the original context beyond which YaRN keeps a pair, and below which it stretches it.
const BETA_FAST: f64 = 32.0;
const BETA_SLOW: f64 = 1.0;

/// Rotary positions of one kind of layer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RopeConfig {
    /// The base of the frequencies.
    pub theta: f64,
    pub scaling: RopeScaling,
    /// Dimensions of a head that rotate, the first ones.
    pub dims: usize,
    /// Pairs (2i, 2i+1) rotate together instead of (i, i + d/2): llama GGUF files hold their query
    /// and key rows permuted for it.
    pub interleaved: bool,
}

/// How the rotary frequencies are scaled for long contexts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RopeScaling {
    None,
    /// Positions divided by the factor.
    Linear(f64),
    /// Llama 3.1: long wavelengths divided by the factor, short ones kept, a ramp between.
    Llama3 {
        factor: f64,
        low_freq_factor: f64,
        high_freq_factor: f64,
        original_context: f64,
    },
    /// YaRN: pairs that turn often within the original context are kept, those that turn seldom divided by the factor,
    /// a ramp between; all products scaled.
    Yarn {
        factor: f64,
        original_context: f64,
        beta_fast: f64,
        beta_slow: f64,
        /// Of cosines and sines.
        attention_factor: f64,
    },
    /// Of the pairs of whole heads only so many rotate, the first, by frequencies as if all did, divided by the factor.
    Proportional {
        n_pairs: usize,
        factor: f64,
    },
    /// LongRoPE: every frequency divided by a factor of its own, by one set of factors within the original context
    /// and by another beyond.
    Long {
        original_context: usize,
        /// Of cosines and sines.
        attention_factor: f64,
        /// Short and long; a GGUF file has them among its tensors.
        factors: Option<[Vec<f64>; 2]>,
    },
}

impl RopeConfig {
    /// Without scaling, over whole heads.
    pub fn plain(theta: f64, dims: usize, interleaved: bool) -> Self {
        Self { theta, scaling: RopeScaling::None, dims, interleaved }
    }

    /// Heads of which only a share rotates, by frequencies as if all did.
    pub fn proportional(theta: f64, head_dim: usize, share: f64) -> Self {
        let n_pairs = (head_dim as f64 * share) as usize / 2;
        let scaling = RopeScaling::Proportional { n_pairs, factor: 1.0 };
        Self { theta, scaling, dims: head_dim, interleaved: false }
    }

    /// What a `config.json` says of all layers, or of those that attend to everything and, second, of those with a window.
    pub fn of_json(
        fields: &Fields<'_>,
        head_dim: usize,
        local_dim: usize,
    ) -> Result<(Self, Option<Self>), String> {
        let parameters = fields.object(("rope_parameters", ""))?;
        if let Some(parameters) = &parameters
            && let Some(full) = parameters.object(("full_attention", ""))?
        {
            let local = parameters.object(("sliding_attention", ""))?;
            let local =
                local.map(|local| Self::of_object(&local, fields, local_dim)).transpose()?;
            return Ok((Self::of_object(&full, fields, head_dim)?, local));
        }
        let scaling = match parameters {
            Some(parameters) => Some(parameters),
            None => fields.object(("rope_scaling", ""))?,
        };
        let rope = if let Some(scaling) = scaling {
            Self::of_object(&scaling, fields, head_dim)?
        } else {
            let theta = fields.float(("rope_theta", ""))?.unwrap_or(THETA);
            Self::plain(theta, dims(fields, fields, head_dim)?, false)
        };
        Ok((rope, None))
    }

    fn of_object(
        parameters: &Fields<'_>,
        outer: &Fields<'_>,
        head_dim: usize,
    ) -> Result<Self, String> {
        let theta: Key = ("rope_theta", "");
        let theta = match parameters.float(theta)? {
            Some(own) => own,
            None => outer.float(theta)?.unwrap_or(THETA),
        };
        let kind = match parameters.text(("rope_type", ""))? {
            Some(kind) => kind,
            None => parameters.text(("type", ""))?.unwrap_or("default"),
        };
        let number = |key: &'static str| {
            parameters
                .float((key, ""))?
                .ok_or_else(|| format!("its {} rope scaling lacks `{key}`", printable(kind)))
        };
        let original: Key = ("original_max_position_embeddings", "");
        let original = || match parameters.number(original)? {
            Some(own) => Ok(own),
            None => outer.number(original)?.ok_or_else(|| no_original(kind)),
        };
        let context = outer.number(("max_position_embeddings", ""))?.unwrap_or(0) as f64;
        let optional = |key: &'static str| parameters.float((key, ""));
        let scaling = match kind {
            "default" => RopeScaling::None,
            "linear" => RopeScaling::Linear(number("factor")?),
            "proportional" => {
                let scaling = RopeScaling::Proportional {
                    n_pairs: dims(parameters, outer, head_dim)? / 2,
                    factor: optional("factor")?.unwrap_or(1.0),
                };
                return Ok(Self { theta, scaling, dims: head_dim, interleaved: false });
            }
            "llama3" => RopeScaling::Llama3 {
                factor: number("factor")?,
                low_freq_factor: number("low_freq_factor")?,
                high_freq_factor: number("high_freq_factor")?,
                original_context: number("original_max_position_embeddings")?,
            },
            "yarn" if !parameters.has(("long_factor", "")) => {
                if parameters.boolean(("truncate", ""))? == Some(false) {
                    return Err("its rope scaling is not truncated, which is not supported".into());
                }
                let original = original()? as f64;
                let factor = optional("factor")?.unwrap_or(context / original);
                let by_scales = match (optional("mscale")?, optional("mscale_all_dim")?) {
                    (Some(one), Some(all)) if one != 0.0 && all != 0.0 => {
                        yarn_factor(factor, one) / yarn_factor(factor, all)
                    }
                    _ => yarn_factor(factor, 1.0),
                };
                RopeScaling::Yarn {
                    factor,
                    original_context: original,
                    beta_fast: optional("beta_fast")?.filter(|b| *b != 0.0).unwrap_or(BETA_FAST),
                    beta_slow: optional("beta_slow")?.filter(|b| *b != 0.0).unwrap_or(BETA_SLOW),
                    attention_factor: optional("attention_factor")?.unwrap_or(by_scales),
                }
            }
            // Early files of Phi-3 call it by two other names.
            "longrope" | "su" | "yarn" => {
                let original = original()?;
                let factor = optional("factor")?.unwrap_or(context / original as f64);
                let by_factor = if factor <= 1.0 {
                    1.0
                } else {
                    (1.0 + factor.ln() / (original as f64).ln()).sqrt()
                };
                let of = |key: &'static str| {
                    let factors = parameters.floats((key, ""))?;
                    factors.ok_or_else(|| format!("its longrope scaling lacks `{key}`"))
                };
                RopeScaling::Long {
                    original_context: original,
                    attention_factor: optional("attention_factor")?.unwrap_or(by_factor),
                    factors: Some([of("short_factor")?, of("long_factor")?]),
                }
            }
            other => return Err(unsupported(other)),
        };
        Ok(Self { theta, scaling, dims: dims(parameters, outer, head_dim)?, interleaved: false })
    }

    /// What GGUF metadata say.
    pub fn of_gguf(
        fields: &Fields<'_>,
        head_dim: usize,
        interleaved: bool,
    ) -> Result<Self, String> {
        let kind = fields.text(("", "rope.scaling.type"))?.unwrap_or("none");
        let factor = || {
            let factor = fields.float(("", "rope.scaling.factor"))?;
            factor.ok_or_else(|| format!("its {} rope scaling has no factor", printable(kind)))
        };
        let original = || {
            let original = fields.number(("", "rope.scaling.original_context_length"))?;
            original.ok_or_else(|| no_original(kind))
        };
        let scaling = match kind {
            "none" => RopeScaling::None,
            "linear" => RopeScaling::Linear(factor()?),
            "yarn" => {
                let factor = factor()?;
                let all = fields.float(("", "rope.scaling.yarn_log_multiplier"))?.unwrap_or(0.0);
                let rest = if all == 0.0 { 1.0 } else { yarn_factor(factor, all) };
                let own = fields.float(("", "rope.scaling.attn_factor"))?.unwrap_or(1.0);
                let beta =
                    |name, default| fields.float(("", name)).map(|beta| beta.unwrap_or(default));
                RopeScaling::Yarn {
                    factor,
                    original_context: original()? as f64,
                    beta_fast: beta("rope.scaling.yarn_beta_fast", BETA_FAST)?,
                    beta_slow: beta("rope.scaling.yarn_beta_slow", BETA_SLOW)?,
                    attention_factor: own * yarn_factor(factor, 1.0) / rest,
                }
            }
            "longrope" => Self::long_of_gguf(fields, original()?)?,
            other => return Err(unsupported(other)),
        };
        let theta = fields.float(("", "rope.freq_base"))?.unwrap_or(THETA);
        let dims = fields.number(("", "rope.dimension_count"))?.unwrap_or(head_dim);
        Ok(Self { theta, scaling, dims, interleaved })
    }

    /// LongRoPE whose factors are tensors of a GGUF file.
    pub fn long_of_gguf(fields: &Fields<'_>, original: usize) -> Result<RopeScaling, String> {
        let attention_factor = fields.float(("", "rope.scaling.attn_factor"))?.unwrap_or(1.0);
        Ok(RopeScaling::Long { original_context: original, attention_factor, factors: None })
    }

    /// Refuses what can't be computed with.
    pub fn check(&self, head_dim: usize) -> Result<(), String> {
        if self.dims == 0 || self.dims > head_dim || !self.dims.is_multiple_of(2) {
            return Err(format!(
                "{} dimensions of its heads of {head_dim} rotate, which is impossible",
                self.dims
            ));
        }
        let stretches: Vec<f64> = match &self.scaling {
            RopeScaling::None => Vec::new(),
            RopeScaling::Proportional { n_pairs, .. } if *n_pairs > self.dims / 2 => {
                return Err(format!(
                    "{n_pairs} of {} pairs of its heads rotate, which is impossible",
                    self.dims / 2
                ));
            }
            RopeScaling::Linear(factor) | RopeScaling::Proportional { factor, .. } => vec![*factor],
            &RopeScaling::Llama3 {
                factor,
                low_freq_factor,
                high_freq_factor,
                original_context,
            } => {
                vec![factor, low_freq_factor, high_freq_factor, original_context]
            }
            &RopeScaling::Yarn {
                factor,
                original_context,
                beta_fast,
                beta_slow,
                attention_factor,
            } => {
                // Their logarithms are divided by the base's.
                vec![
                    factor,
                    original_context,
                    beta_fast,
                    beta_slow,
                    attention_factor,
                    self.theta - 1.0,
                ]
            }
            RopeScaling::Long { original_context, attention_factor, factors } => {
                let of_pairs = factors.iter().flatten();
                if of_pairs.clone().any(|set| set.len() != self.dims / 2) {
                    return Err(format!(
                        "its rope scaling has {:?} factors for {} pairs",
                        of_pairs.map(Vec::len).collect::<Vec<_>>(),
                        self.dims / 2
                    ));
                }
                let scale = [*original_context as f64, *attention_factor];
                of_pairs.flatten().copied().chain(scale).collect()
            }
        };
        if stretches.iter().chain([&self.theta]).any(|v| !(v.is_finite() && *v > 0.0)) {
            return Err("its rope parameters are not usable numbers".into());
        }
        Ok(())
    }
}

/// YaRN's scale of all products, its root: for a factor by which contexts are stretched.
fn yarn_factor(factor: f64, scale: f64) -> f64 {
    if factor <= 1.0 { 1.0 } else { 0.1 * scale * factor.ln() + 1.0 }
}

fn no_original(kind: &str) -> String {
    format!("its {} rope scaling names no original context", printable(kind))
}

/// How many dimensions of a head rotate.
fn dims(parameters: &Fields<'_>, outer: &Fields<'_>, head_dim: usize) -> Result<usize, String> {
    let part: Key = ("partial_rotary_factor", "");
    let factor = match parameters.float(part)? {
        Some(own) => Some(own),
        None => outer.float(part)?,
    };
    Ok(factor.map_or(head_dim, |factor| (head_dim as f64 * factor) as usize))
}

fn unsupported(kind: &str) -> String {
    format!(
        "its rope scaling is `{}`, which is not supported (default, linear, proportional, llama3, yarn and longrope are)",
        printable(kind)
    )
}
