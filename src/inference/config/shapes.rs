//! Shapes of what only some families have.

use super::{EXPERTS_MAX, SIZE_MAX};

/// Values of a model's states; one of 27 billion parameters has 38 million.
const STATE_VALUES_MAX: usize = 1 << 26;

/// Heads of keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heads {
    /// Several heads of queries share one.
    pub n: usize,
    /// Length of a query, a key or a value.
    pub dim: usize,
}

/// Layers at the end that have no keys and values of their own (Gemma 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sharing {
    /// How many they are; each attends to what the last layer of its kind before them does.
    pub n_layers: usize,
    /// Width of their feed-forward part.
    pub intermediate: usize,
}

/// Heads of a layer that keeps a state: a matrix for each head of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recurrence {
    /// Heads of queries and keys; several heads of values share one.
    pub n_key_heads: usize,
    pub n_value_heads: usize,
    /// Length of a query or a key.
    pub key_dim: usize,
    pub value_dim: usize,
}

impl Recurrence {
    /// All keys of a token, and all queries.
    pub fn keys(self) -> usize {
        self.n_key_heads * self.key_dim
    }

    /// All values of a token.
    pub fn values(self) -> usize {
        self.n_value_heads * self.value_dim
    }

    /// Queries, keys and values of a token.
    pub fn width(self) -> usize {
        2 * self.keys() + self.values()
    }

    /// Values of a layer's state.
    pub fn state(self) -> usize {
        self.values() * self.key_dim
    }

    pub(super) fn check(self, n_layers: usize) -> Result<(), String> {
        let Self { n_key_heads, n_value_heads, key_dim, value_dim } = self;
        let sizes = [n_key_heads, n_value_heads, key_dim, value_dim];
        // None of the products can overflow.
        let is_small = sizes.iter().all(|n| (1..=SIZE_MAX).contains(n))
            && n_key_heads * key_dim <= SIZE_MAX
            && n_value_heads * value_dim <= SIZE_MAX
            && self.state().saturating_mul(n_layers) <= STATE_VALUES_MAX;
        if is_small && n_value_heads.is_multiple_of(n_key_heads) {
            return Ok(());
        }
        Err(format!(
            "its configuration is impossible: states of {n_value_heads} heads of {value_dim} values by {n_key_heads} of {key_dim} keys"
        ))
    }
}

/// A feed-forward part of which each token takes a few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mixture {
    pub n_experts: usize,
    /// Experts that a token takes.
    pub n_used: usize,
    /// Width of an expert.
    pub width: usize,
    /// The weights of those taken are made to sum up to 1.
    pub normalises: bool,
}

impl Mixture {
    pub(super) fn check(self) -> Result<(), String> {
        let Self { n_experts, n_used, width, .. } = self;
        let is_usable = n_experts <= EXPERTS_MAX
            && (1..=n_experts).contains(&n_used)
            && (1..=SIZE_MAX).contains(&width);
        if is_usable {
            return Ok(());
        }
        Err(format!(
            "its configuration is impossible: {n_used} of {n_experts} experts of a width of {width}"
        ))
    }
}

/// Queries grow with the logarithm of their position, in steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Temperature {
    pub beta: f64,
    /// Tokens of a step.
    pub step: usize,
}

impl Temperature {
    /// The factor at a position.
    pub fn at(self, position: usize) -> f32 {
        (1.0 + self.beta * ((1 + position / self.step) as f64).ln()) as f32
    }
}
