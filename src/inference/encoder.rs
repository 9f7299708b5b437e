//! What every embedder's encoder has in common: its shape, checked before anything is sized by it, and its pass
//! over tokens. Knows neither text nor pooling.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// An encoder's sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Length of a token's vector.
    pub hidden: usize,
    /// Number of layers.
    pub n_layers: usize,
    /// Attention heads of a layer.
    pub n_heads: usize,
    /// Width of the feed-forward part.
    pub intermediate: usize,
    /// Rows of the word table.
    pub vocabulary: usize,
    /// Longest text.
    pub tokens_max: usize,
}

impl Shape {
    /// Refuses sizes that no encoder has.
    ///
    /// # Errors
    /// The reason, as the end of a sentence that starts with the file's name.
    pub fn checked(self) -> Result<Self, String> {
        within("the hidden size", self.hidden, 1 << 14)?;
        within("the number of layers", self.n_layers, 256)?;
        within("the number of heads", self.n_heads, 1 << 10)?;
        within("the feed-forward size", self.intermediate, 1 << 16)?;
        within("the vocabulary", self.vocabulary, 1 << 22)?;
        within("the number of positions", self.tokens_max, 1 << 16)?;
        if !self.hidden.is_multiple_of(self.n_heads) {
            return Err(format!(
                "{} hidden values cannot be split into {} heads",
                self.hidden, self.n_heads
            ));
        }
        Ok(self)
    }

    /// As [`Self::checked`], for an encoder that rotates each head's values in pairs.
    ///
    /// # Errors
    /// As [`Self::checked`].
    pub fn checked_for_rotation(self) -> Result<Self, String> {
        let head = self.checked()?.hidden / self.n_heads;
        if !head.is_multiple_of(2) {
            return Err(format!("its head size {head} is odd: it can't be rotated"));
        }
        Ok(self)
    }
}

/// Refuses a number outside `1..=max`.
///
/// # Errors
/// As [`Shape::checked`].
pub fn within(what: &str, n: usize, max: usize) -> Result<(), String> {
    match n {
        n if (1..=max).contains(&n) => Ok(()),
        n => Err(format!("{what} is {n} (1 to {max} is possible)")),
    }
}

/// Reads a `config.json` into a family's type, with `defaults` for keys that it leaves out.
///
/// # Errors
/// As [`Shape::checked`].
pub fn read_config<T: DeserializeOwned>(
    config: &Value,
    family: &str,
    defaults: Value,
) -> Result<T, String> {
    let mut merged = defaults;
    if let (Some(merged), Some(config)) = (merged.as_object_mut(), config.as_object()) {
        merged.extend(config.clone());
    }
    serde_json::from_value(merged).map_err(|e| format!("it describes no {family} encoder: {e}"))
}

/// Whether a `config.json` switches something on.
pub fn is_on(config: &Value, key: &str) -> bool {
    config.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// Refuses a rotation whose base is not a usable number.
///
/// # Errors
/// As [`Shape::checked`].
pub fn check_rotation(theta: f64) -> Result<(), String> {
    let sound = theta.is_finite() && theta > 0.0;
    if sound { Ok(()) } else { Err("its rotation's base is not a usable number".into()) }
}

/// An encoder: tokens → a vector each.
pub trait Encoder: Send + Sync {
    /// Its sizes.
    fn shape(&self) -> Shape;

    /// Last hidden states of every token of every text, one after the other: row-major
    /// `[tokens of all texts, hidden]`. No text is empty or longer than `tokens_max`, and ids are in the
    /// vocabulary.
    ///
    /// # Errors
    /// A backend failure.
    fn states(&self, texts: &[Vec<u32>]) -> candle_core::Result<Vec<f32>>;
}
