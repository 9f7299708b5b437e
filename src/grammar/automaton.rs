//! Bytes that a reply may consist of, as a finite automaton: built state by state without thought of choice, then made
//! deterministic.

use std::collections::{BTreeSet, HashMap, HashSet};

/// States of the automaton as it is built, and as it is used: a form that takes more is refused.
const N_STATES_MAX: usize = 20_000;
/// Bytes of a token of which a shortest completion is made up.
const TOKEN_BYTES_MAX: usize = 24;

#[derive(Debug, Default)]
struct Choice {
    /// States that are reached without a byte.
    silent: Vec<u32>,
    /// First byte, last byte, state after.
    steps: Vec<(u8, u8, u32)>,
}

/// Builds an [`Automaton`]. Every part begins at a state and gives the state at its end.
#[derive(Debug, Default)]
pub(super) struct Builder {
    states: Vec<Choice>,
}

impl Builder {
    pub fn state(&mut self) -> u32 {
        self.states.push(Choice::default());
        self.states.len() as u32 - 1
    }

    /// Whether there are too many states already.
    pub fn is_full(&self) -> bool {
        self.states.len() > N_STATES_MAX
    }

    /// From one state to another without a byte.
    pub fn skip(&mut self, from: u32, to: u32) {
        self.states[from as usize].silent.push(to);
    }

    /// One byte out of one of these ranges.
    pub fn class(&mut self, from: u32, ranges: &[(u8, u8)]) -> u32 {
        let to = self.state();
        self.states[from as usize]
            .steps
            .extend(ranges.iter().map(|&(first, last)| (first, last, to)));
        to
    }

    pub fn literal(&mut self, from: u32, text: &str) -> u32 {
        text.bytes().fold(from, |from, byte| self.class(from, &[(byte, byte)]))
    }

    pub fn one_of(&mut self, from: u32, texts: &[&str]) -> u32 {
        let to = self.state();
        for text in texts {
            let end = self.literal(from, text);
            self.skip(end, to);
        }
        to
    }

    /// From `min` to `max` bytes of these ranges.
    pub fn some(&mut self, from: u32, ranges: &[(u8, u8)], min: usize, max: usize) -> u32 {
        let (to, mut at) = (self.state(), from);
        for n in 0..=max {
            if n >= min {
                self.skip(at, to);
            }
            if n < max {
                at = self.class(at, ranges);
            }
        }
        to
    }

    /// The automaton that begins at `start` and may end at `end`; `None` if it takes too many states.
    pub fn finish(self, start: u32, end: u32) -> Option<Automaton> {
        let mut found: HashMap<Vec<u32>, u32> = HashMap::new();
        let first = self.reached([start], end);
        found.insert(first.clone(), 0);
        let (mut waiting, mut states) = (vec![first], Vec::new());
        while let Some(members) = waiting.get(states.len()).cloned() {
            let steps = || members.iter().flat_map(|&m| &self.states[m as usize].steps);
            // Where one of the ranges begins, or has ended.
            let bounds: BTreeSet<u16> = steps()
                .flat_map(|&(first, last, _)| [u16::from(first), u16::from(last) + 1])
                .collect();
            let bounds: Vec<u16> = bounds.into_iter().collect();
            let mut state = State { ends: members.contains(&end), steps: Vec::new() };
            for pair in bounds.windows(2) {
                let (first, last) = (pair[0] as u8, (pair[1] - 1) as u8);
                let within = steps().filter(|(a, b, _)| *a <= first && last <= *b);
                let next = self.reached(within.map(|&(_, _, to)| to), end);
                if next.is_empty() {
                    continue;
                }
                let to = *found.entry(next).or_insert_with_key(|next| {
                    waiting.push(next.clone());
                    waiting.len() as u32 - 1
                });
                state.steps.push((first, last, to));
            }
            states.push(state);
            if waiting.len() > N_STATES_MAX {
                return None;
            }
        }
        Some(Automaton { states })
    }

    /// Of these states and all that are reached from them without a byte, those that matter: more follows, or it is `end`. In order.
    fn reached(&self, from: impl IntoIterator<Item = u32>, end: u32) -> Vec<u32> {
        let (mut seen, mut reached) = (HashSet::new(), BTreeSet::new());
        let mut waiting: Vec<u32> = from.into_iter().collect();
        while let Some(state) = waiting.pop() {
            let Choice { silent, steps } = &self.states[state as usize];
            if seen.insert(state) {
                waiting.extend(silent);
                if state == end || !steps.is_empty() {
                    reached.insert(state);
                }
            }
        }
        reached.into_iter().collect()
    }
}

#[derive(Debug, PartialEq, Eq)]
struct State {
    /// Whether a reply may end here.
    ends: bool,
    /// First byte, last byte, state after: in order, apart from one another.
    steps: Vec<(u8, u8, u32)>,
}

/// A form of replies, followed byte by byte. From every state an end is reached.
#[derive(Debug, PartialEq, Eq)]
pub struct Automaton {
    states: Vec<State>,
}

impl Automaton {
    /// The state after one more byte.
    pub(super) fn step(&self, state: u32, byte: u8) -> Option<u32> {
        let steps = &self.states[state as usize].steps;
        let at = steps.partition_point(|&(_, last, _)| last < byte);
        steps.get(at).filter(|(first, ..)| *first <= byte).map(|&(_, _, to)| to)
    }

    pub(super) fn ends(&self, state: u32) -> bool {
        self.states[state as usize].ends
    }

    pub(super) fn goes_on(&self, state: u32) -> bool {
        !self.states[state as usize].steps.is_empty()
    }

    /// Whether any text without quotes, backslashes and control characters leaves it in this state.
    pub(super) fn takes_text(&self, state: u32) -> bool {
        [b' ', b'a', b'}', b'~'].iter().all(|&byte| self.step(state, byte) == Some(state))
    }

    /// For each state, tokens that complete a reply; `None` where these bytes can't.
    pub(super) fn completions(&self, is_token: &dyn Fn(&[u8]) -> bool) -> Vec<Option<u32>> {
        let n = self.states.len();
        let mut single = [false; 256];
        for (byte, single) in (0..=255u8).zip(&mut single) {
            *single = is_token(&[byte]);
        }
        // The shortest way to an end in bytes: of each state, the byte and the state after.
        let mut before: Vec<Vec<(u32, u8)>> = vec![Vec::new(); n];
        for (state, from) in self.states.iter().zip(0..) {
            for &(first, last, to) in &state.steps {
                let byte = (first..=last).find(|&byte| single[usize::from(byte)]).unwrap_or(first);
                before[to as usize].push((from, byte));
            }
        }
        let mut way: Vec<Option<(u8, u32)>> = vec![None; n];
        let mut order: Vec<u32> =
            (0..n as u32).filter(|&state| self.states[state as usize].ends).collect();
        let mut at = 0;
        while let Some(&state) = order.get(at) {
            at += 1;
            for &(from, byte) in &before[state as usize] {
                if way[from as usize].is_none() && !self.states[from as usize].ends {
                    way[from as usize] = Some((byte, state));
                    order.push(from);
                }
            }
        }
        // In tokens that lie on that way.
        let mut tokens: Vec<Option<u32>> = vec![None; n];
        for &state in &order {
            let (mut bytes, mut after) = (Vec::new(), state);
            let mut best = self.states[state as usize].ends.then_some(0);
            while let Some((byte, next)) = way[after as usize].filter(|_| best != Some(0)) {
                bytes.push(byte);
                after = next;
                if bytes.len() > TOKEN_BYTES_MAX {
                    break;
                }
                if is_token(&bytes)
                    && let Some(rest) = tokens[after as usize]
                {
                    best = Some(best.map_or(rest + 1, |best| best.min(rest + 1)));
                }
            }
            tokens[state as usize] = best;
        }
        tokens
    }
}
