//! The states of a layer that keeps one instead of keys: after as many tokens as there are, and at a few lengths before.
//!
//! A state can't be rolled back. So some are kept: where a pass of several tokens begins and ends, and shortly before a long one
//! ends ([`super::decoder`]). Generating, token by token, changes the newest in place. Whoever rolls back to another length runs
//! the tokens after the last state again (`docs/decisions/035-recurrent-states.md`).

use std::collections::BTreeMap;
use std::sync::Arc;

/// States kept for rolling back. Of Qwen3.5 0.8B one takes 19 MiB in all layers.
const KEPT_MAX: usize = 8;

/// What a layer knows of the tokens before.
#[derive(Debug, Clone)]
pub struct State {
    /// The last inputs of its convolution, the oldest first.
    pub inputs: Vec<f32>,
    /// For each head a matrix.
    pub memory: Vec<f32>,
}

#[derive(Debug, Clone)]
struct Held {
    /// Shared with forks.
    state: Arc<State>,
    /// For rolling back; otherwise only until the next token.
    is_kept: bool,
}

/// States by the tokens that they come after.
#[derive(Debug, Clone, Default)]
pub struct States(BTreeMap<usize, Held>);

impl States {
    /// The lengths at which there is one.
    pub fn lengths(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.0.keys().copied()
    }

    /// Forgets those after more tokens.
    pub fn truncate(&mut self, len: usize) {
        self.0.split_off(&(len + 1));
    }

    /// The one after `len` tokens, to be changed; if `keeps`, or if it was kept before, it stays here as well.
    pub fn take(&mut self, len: usize, keeps: bool) -> Option<State> {
        let held = self.0.get_mut(&len)?;
        held.is_kept |= keeps;
        if held.is_kept {
            return Some(State::clone(&held.state));
        }
        self.0.remove(&len).map(|held| Arc::unwrap_or_clone(held.state))
    }

    /// The one after `len` tokens; `is_kept`: for rolling back.
    pub fn put(&mut self, len: usize, state: State, is_kept: bool) {
        self.0.insert(len, Held { state: Arc::new(state), is_kept });
        let kept: Vec<usize> =
            self.0.iter().filter(|(_, held)| held.is_kept).map(|(&len, _)| len).collect();
        if kept.len() > KEPT_MAX {
            self.0.remove(&least_useful(&kept));
        }
    }
}

/// Of ascending lengths, the one without which the fewest tokens more would be run again, for how far back it is. The last stays.
fn least_useful(lengths: &[usize]) -> usize {
    let last = lengths.len() - 1;
    let gap = |i: usize| {
        let before = if i == 0 { 0 } else { lengths[i - 1] };
        (lengths[i + 1] - before) as f64 / (lengths[last] - lengths[i]) as f64
    };
    let least = (0..last).min_by(|&a, &b| gap(a).total_cmp(&gap(b)));
    lengths[least.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(x: f32) -> State {
        State { inputs: Vec::new(), memory: vec![x] }
    }

    #[test]
    fn far_back_few_are_kept() {
        let mut states = States::default();
        for len in (64..=8192).step_by(64) {
            states.put(len, state(len as f32), true);
        }
        let lengths: Vec<usize> = states.lengths().collect();
        assert_eq!(lengths.len(), KEPT_MAX);
        assert_eq!(lengths[KEPT_MAX - 2..], [8128, 8192]);
        // Behind any length, half of the way back at most is run again.
        for pair in lengths.windows(2) {
            assert!(pair[1] - pair[0] <= (8192 - pair[0]).max(64), "{lengths:?}");
        }
    }

    #[test]
    fn generating_changes_one_in_place() {
        let mut states = States::default();
        states.put(5, state(5.0), true);
        for len in 5..9 {
            let taken = states.take(len, false).unwrap();
            states.put(len + 1, state(taken.memory[0] + 1.0), false);
        }
        assert_eq!(states.lengths().collect::<Vec<_>>(), [5, 9]);
        assert!(states.take(7, false).is_none());
        // A pass of several tokens begins at 9: it may be rolled back.
        assert!((states.take(9, true).unwrap().memory[0] - 9.0).abs() < f32::EPSILON);
        states.truncate(9);
        assert_eq!(states.lengths().collect::<Vec<_>>(), [5, 9]);
        states.truncate(8);
        assert_eq!(states.lengths().collect::<Vec<_>>(), [5]);
    }
}
