//! A decoder's shape, from `config.json` (old and new spelling) or from GGUF metadata.
//!
//! Whatever the decoder does not compute is refused here with a sentence, because a model that
//! runs slightly wrong is worse than one that does not load. Knows no weights.

use serde::Deserialize;
use serde_json::Value;

use super::families::{self, DECODERS, DecoderFamily};
use super::metadata::Metadata;

/// More than any model that could run here; keeps hostile numbers out of arithmetic.
const SIZE_MAX: usize = 1 << 22;
const CONTEXT_TOKENS_MAX: usize = 1 << 20;

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
    /// Heads of keys and values; several heads of queries share one.
    pub(crate) n_kv_heads: usize,
    pub(crate) head_dim: usize,
    pub(crate) norm_epsilon: f64,
    /// The base of the rotary frequencies.
    pub(crate) rope_theta: f64,
    pub(crate) rope_scaling: RopeScaling,
    /// Pairs (2i, 2i+1) rotate together instead of (i, i + d/2): llama GGUF files hold their query
    /// and key rows permuted for it.
    pub(crate) rope_interleaved: bool,
    /// Longest context.
    pub(crate) context_tokens: usize,
    /// Whether the output matrix is the embedding; None: as the weights have it.
    pub(crate) tied: Option<bool>,
}

#[derive(Deserialize)]
struct Json {
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    max_position_embeddings: Option<usize>,
    rms_norm_eps: Option<f64>,
    rope_theta: Option<f64>,
    rope_scaling: Option<Value>,
    rope_parameters: Option<Value>,
    partial_rotary_factor: Option<f64>,
    hidden_act: Option<String>,
    tie_word_embeddings: Option<bool>,
    use_sliding_window: Option<bool>,
    sliding_window: Option<usize>,
    layer_types: Option<Vec<String>>,
    quantization_config: Option<Value>,
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
    let [others @ .., last] = DECODERS.map(|family| family.class.trim_end_matches("ForCausalLM"));
    format!(
        "its architecture is `{}`, which is not supported ({} and {last} are)",
        printable(name),
        others.join(", ")
    )
}

const NO_SLIDING_WINDOW: &str =
    "it attends through a sliding window, which is not supported (only full attention is)";

impl DecoderConfig {
    /// From the text of a `config.json`.
    ///
    /// # Errors
    /// The reason, as the end of a sentence that starts with the file's name.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let Some(name) = architecture_of_json(text) else {
            return Err(match serde_json::from_str::<Value>(text) {
                Err(e) => format!("config.json is not valid JSON: {e}"),
                Ok(_) => "config.json names no architecture".into(),
            });
        };
        let family = families::decoder(&name).ok_or_else(|| unsupported(&name))?;
        let json: Json =
            serde_json::from_str(text).map_err(|e| format!("config.json is not usable: {e}"))?;
        if json.quantization_config.is_some() {
            return Err(
                "its weights are quantised in a form of their own (`quantization_config`); \
                 use a GGUF file instead"
                    .into(),
            );
        }
        if !matches!(json.hidden_act.as_deref(), None | Some("silu" | "swish")) {
            return Err(format!(
                "its activation is {:?} (only \"silu\" is supported)",
                json.hidden_act.unwrap_or_default()
            ));
        }
        // Llama has no sliding window; Qwen's configurations carry the number even where it is off.
        let slides = json.use_sliding_window == Some(true)
            && json.sliding_window.is_some_and(|w| w < json.max_position_embeddings.unwrap_or(0));
        let layers_slide =
            json.layer_types.iter().flatten().any(|kind| kind.as_str() != "full_attention");
        if slides || layers_slide {
            return Err(NO_SLIDING_WINDOW.into());
        }
        if json.partial_rotary_factor.is_some_and(|f| f != 1.0) {
            return Err("it rotates only a part of each head, which is not supported".into());
        }
        let (rope_theta, rope_scaling) = rope_of_json(&json)?;
        let config = Self {
            family,
            n_layers: json.num_hidden_layers,
            hidden: json.hidden_size,
            intermediate: json.intermediate_size,
            n_heads: json.num_attention_heads,
            n_kv_heads: json.num_key_value_heads.unwrap_or(json.num_attention_heads),
            head_dim: json
                .head_dim
                .unwrap_or_else(|| json.hidden_size / json.num_attention_heads.max(1)),
            norm_epsilon: json.rms_norm_eps.unwrap_or(1e-6),
            rope_theta,
            rope_scaling,
            rope_interleaved: false,
            context_tokens: json.max_position_embeddings.unwrap_or(2048).min(CONTEXT_TOKENS_MAX),
            tied: json.tie_word_embeddings,
        };
        config.checked()
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
        let number = |key: &str| {
            let key = format!("{name}.{key}");
            match metadata.get(&key) {
                None => Ok(None),
                Some(_) => metadata
                    .integer(&key)
                    .and_then(|n| usize::try_from(n).ok())
                    .map(Some)
                    .ok_or_else(|| format!("its metadata value `{key}` is not a usable number")),
            }
        };
        let needed =
            |key: &str| number(key)?.ok_or_else(|| format!("its metadata lacks `{name}.{key}`"));
        let float = |key: &str| metadata.float(&format!("{name}.{key}"));
        if number("expert_count")?.is_some_and(|n| n > 0) {
            return Err("it is a mixture of experts, which is not supported".into());
        }
        let context_tokens = needed("context_length")?;
        if number("attention.sliding_window")?.is_some_and(|w| w > 0 && w < context_tokens) {
            return Err(NO_SLIDING_WINDOW.into());
        }
        let hidden = needed("embedding_length")?;
        let n_heads = needed("attention.head_count")?;
        let head_dim = number("attention.key_length")?.unwrap_or_else(|| hidden / n_heads.max(1));
        if number("attention.value_length")?.is_some_and(|d| d != head_dim)
            || number("rope.dimension_count")?.is_some_and(|d| d != head_dim)
        {
            return Err(
                "its keys, values and rotation differ in length, which is not supported".into()
            );
        }
        let scaling = metadata.string(&format!("{name}.rope.scaling.type")).unwrap_or("none");
        let rope_scaling = match scaling {
            "none" => RopeScaling::None,
            "linear" => RopeScaling::Linear(
                float("rope.scaling.factor").ok_or("its linear rope scaling has no factor")?,
            ),
            other => return Err(no_scaling(other)),
        };
        let config = Self {
            family,
            n_layers: needed("block_count")?,
            hidden,
            intermediate: needed("feed_forward_length")?,
            n_heads,
            n_kv_heads: number("attention.head_count_kv")?.unwrap_or(n_heads),
            head_dim,
            norm_epsilon: float("attention.layer_norm_rms_epsilon").unwrap_or(1e-6),
            rope_theta: float("rope.freq_base").unwrap_or(10_000.0),
            rope_scaling,
            rope_interleaved: family.gguf_rope_interleaved,
            context_tokens: context_tokens.min(CONTEXT_TOKENS_MAX),
            tied: None,
        };
        config.checked()
    }

    /// Refuses what would divide by zero, overflow or make no sense.
    fn checked(self) -> Result<Self, String> {
        let sizes = [
            ("layers", self.n_layers),
            ("hidden size", self.hidden),
            ("intermediate size", self.intermediate),
            ("attention heads", self.n_heads),
            ("key-value heads", self.n_kv_heads),
            ("head size", self.head_dim),
            ("context length", self.context_tokens),
        ];
        for (what, n) in sizes {
            if n == 0 || n > SIZE_MAX {
                return Err(format!("its configuration is impossible: {what} {n}"));
            }
        }
        if !self.n_heads.is_multiple_of(self.n_kv_heads) {
            return Err(format!(
                "its configuration is impossible: {} attention heads share {} key-value heads",
                self.n_heads, self.n_kv_heads
            ));
        }
        if !self.head_dim.is_multiple_of(2) {
            return Err(format!("its head size {} is odd: it can't be rotated", self.head_dim));
        }
        if !(self.norm_epsilon.is_finite() && self.norm_epsilon >= 0.0) {
            return Err("its norm epsilon is not a usable number".into());
        }
        let stretches: &[f64] = match &self.rope_scaling {
            RopeScaling::None => &[],
            RopeScaling::Linear(factor) => &[*factor],
            RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_context } => {
                &[*factor, *low_freq_factor, *high_freq_factor, *original_context]
            }
        };
        if stretches.iter().chain([&self.rope_theta]).any(|v| !(v.is_finite() && *v > 0.0)) {
            return Err("its rope parameters are not usable numbers".into());
        }
        Ok(self)
    }
}

fn no_scaling(kind: &str) -> String {
    format!(
        "its rope scaling is `{}`, which is not supported (default, linear and llama3 are)",
        printable(kind)
    )
}

/// `rope_parameters` (transformers 5) or `rope_theta` + `rope_scaling` (before).
fn rope_of_json(json: &Json) -> Result<(f64, RopeScaling), String> {
    let parameters = json.rope_parameters.as_ref().filter(|v| !v.is_null());
    let scaling = parameters.or(json.rope_scaling.as_ref().filter(|v| !v.is_null()));
    let theta = parameters
        .and_then(|p| p.get("rope_theta"))
        .and_then(Value::as_f64)
        .or(json.rope_theta)
        .unwrap_or(10_000.0);
    let Some(scaling) = scaling else { return Ok((theta, RopeScaling::None)) };
    let kind = scaling
        .get("rope_type")
        .or_else(|| scaling.get("type"))
        .and_then(Value::as_str)
        .unwrap_or("default");
    let number = |key: &str| {
        scaling
            .get(key)
            .and_then(Value::as_f64)
            .ok_or_else(|| format!("its {} rope scaling lacks `{key}`", printable(kind)))
    };
    if scaling.get("partial_rotary_factor").and_then(Value::as_f64).is_some_and(|f| f != 1.0) {
        return Err("it rotates only a part of each head, which is not supported".into());
    }
    let scaling = match kind {
        "default" => RopeScaling::None,
        "linear" => RopeScaling::Linear(number("factor")?),
        "llama3" => RopeScaling::Llama3 {
            factor: number("factor")?,
            low_freq_factor: number("low_freq_factor")?,
            high_freq_factor: number("high_freq_factor")?,
            original_context: number("original_max_position_embeddings")?,
        },
        other => return Err(no_scaling(other)),
    };
    Ok((theta, scaling))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::inference::metadata::Value as Meta;

    fn config(changes: &Value) -> Result<DecoderConfig, String> {
        let mut config = json!({
            "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 64,
            "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
            "max_position_embeddings": 512,
        });
        for (key, value) in changes.as_object().unwrap() {
            config[key] = value.clone();
        }
        DecoderConfig::from_json(&config.to_string())
    }

    #[test]
    fn old_and_new_spelling_of_the_rotation_are_one() {
        let theta = 500_000.0;
        let llama3 = json!({
            "rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        });
        let with_theta = |mut parameters: Value| {
            parameters["rope_theta"] = theta.into();
            json!({ "rope_parameters": parameters })
        };
        let linear = json!({"rope_type": "linear", "factor": 2.0});
        for (scaling, expected) in [
            (
                llama3,
                RopeScaling::Llama3 {
                    factor: 32.0,
                    low_freq_factor: 1.0,
                    high_freq_factor: 4.0,
                    original_context: 8192.0,
                },
            ),
            (linear, RopeScaling::Linear(2.0)),
            (json!({"rope_type": "default"}), RopeScaling::None),
        ] {
            let old = config(&json!({"rope_theta": theta, "rope_scaling": scaling})).unwrap();
            assert_eq!((old.rope_theta, &old.rope_scaling), (theta, &expected));
            // Before `rope_type` it was `type`.
            let mut oldest = scaling.clone();
            oldest["type"] = oldest.as_object_mut().unwrap().remove("rope_type").unwrap();
            let oldest = config(&json!({"rope_theta": theta, "rope_scaling": oldest})).unwrap();
            assert_eq!(old, oldest);
            assert_eq!(old, config(&with_theta(scaling)).unwrap());
        }
        let old = config(&json!({"rope_theta": theta, "rope_scaling": null})).unwrap();
        let new = config(&json!({"rope_parameters": {"rope_theta": theta}})).unwrap();
        assert_eq!((old.rope_theta, &old.rope_scaling), (theta, &RopeScaling::None));
        assert_eq!(old, new);
        assert!(config(&json!({"rope_scaling": {"type": "yarn"}})).unwrap_err().contains("`yarn`"));
    }

    #[test]
    fn a_sliding_window_is_refused_where_there_is_one() {
        let slides = |changes: Value| config(&changes).err();
        let refused = Some(NO_SLIDING_WINDOW.to_owned());
        assert_eq!(slides(json!({"use_sliding_window": true, "sliding_window": 128})), refused);
        assert_eq!(
            slides(json!({"layer_types": ["full_attention", "sliding_attention"]})),
            refused
        );
        // Qwen names a window that is off, or as long as the context.
        assert_eq!(slides(json!({"use_sliding_window": false, "sliding_window": 128})), None);
        assert_eq!(slides(json!({"use_sliding_window": true, "sliding_window": 512})), None);
        assert_eq!(slides(json!({"use_sliding_window": false, "sliding_window": null})), None);
        assert_eq!(slides(json!({"layer_types": ["full_attention", "full_attention"]})), None);

        let gguf = |window: i128| {
            let mut metadata = Metadata::default();
            metadata.insert("general.architecture".into(), Meta::String("qwen2".into()));
            for (key, value) in [
                ("block_count", 2),
                ("embedding_length", 64),
                ("feed_forward_length", 64),
                ("attention.head_count", 4),
                ("context_length", 512),
                ("attention.sliding_window", window),
            ] {
                metadata.insert(format!("qwen2.{key}"), Meta::Integer(value));
            }
            DecoderConfig::from_gguf(&metadata).err()
        };
        assert_eq!(gguf(128), refused);
        assert_eq!(gguf(0), None);
        assert_eq!(gguf(512), None);
    }
}
