//! How many tokens still complete a reply.
//!
//! An upper bound that can be kept: from every position whose bound is n > 0, some token leads to one whose
//! bound is at most n - 1. It is computed state by state, each from the states its shortest way leads over,
//! plus what the counters still lack. A token may span several bytes of a forced stretch (a key, a digit of a
//! year); everywhere else one byte a token is assumed.

use super::automaton::{Action, Automaton, END, Edge, Position, Repeats, StateId};

/// Out of reach: no tokens spell it.
const NEVER: u32 = u32::MAX / 4;

/// See the module.
#[derive(Debug, Clone)]
pub struct Needs {
    /// By state, without what its scopes lack.
    of_state: Vec<u32>,
    /// By scope, for each time that it lacks.
    of_scope: Vec<u32>,
}

impl Needs {
    /// `is_token` tells whether these bytes are a token.
    pub fn new(automaton: &Automaton, is_token: &dyn Fn(&[u8]) -> bool) -> Self {
        let mut needs =
            Self { of_state: vec![NEVER; automaton.states.len()], of_scope: Vec::new() };
        needs.of_state[END as usize] = 0;
        for id in 1..automaton.states.len() as StateId {
            needs.of_state[id as usize] = needs.shortest(automaton, id, is_token);
        }
        needs.of_scope =
            (0..automaton.scopes.len()).map(|s| needs.once_more(automaton, s, is_token)).collect();
        needs
    }

    /// Where every single byte is a token, and nothing else.
    pub fn in_bytes(automaton: &Automaton) -> Self {
        Self::new(automaton, &|bytes| bytes.len() == 1)
    }

    /// Tokens that complete the reply from here; `None` if no tokens do.
    pub fn tokens(&self, automaton: &Automaton, position: Position) -> Option<u32> {
        let state = automaton.state(position.state);
        let lacking = state.scopes.iter().map(|&s| {
            let scope = automaton.scopes[usize::from(s)];
            let count = position.counts[usize::from(scope.counter)];
            times(self.of_scope[usize::from(s)], scope.min.saturating_sub(count))
        });
        let sum = lacking.fold(self.of_state[position.state as usize], u32::saturating_add);
        (sum < NEVER).then_some(sum)
    }

    /// The bytes that complete a reply from here on the shortest way.
    pub fn completion(&self, automaton: &Automaton, mut position: Position) -> Vec<u8> {
        let mut bytes = Vec::new();
        while !automaton.accepts(position) {
            let next = automaton
                .steps(position)
                .min_by_key(|&(_, after)| self.tokens(automaton, after).unwrap_or(NEVER));
            let Some((byte, after)) = next else { break };
            bytes.push(byte);
            position = after;
        }
        bytes
    }

    fn shortest(
        &self,
        automaton: &Automaton,
        id: StateId,
        is_token: &dyn Fn(&[u8]) -> bool,
    ) -> u32 {
        let state = automaton.state(id);
        let skip = state.skip.map_or(NEVER, |skip| self.of_state[skip.to as usize]);
        let edges = state.edges.iter().filter(|edge| edge.to < id && available(edge, is_token));
        let by_byte = edges.map(|edge| {
            let entering = self.entering(automaton, id, edge, is_token);
            self.of_state[edge.to as usize].saturating_add(1).saturating_add(entering)
        });
        let by_byte = by_byte.min().unwrap_or(NEVER);
        skip.min(by_byte).min(self.by_longer_token(automaton, id, is_token)).min(NEVER)
    }

    /// By one token over several forced bytes.
    fn by_longer_token(
        &self,
        automaton: &Automaton,
        id: StateId,
        is_token: &dyn Fn(&[u8]) -> bool,
    ) -> u32 {
        /// Longer tokens are left out of account: this is a bound.
        const BYTES_MAX: usize = 16;
        let (mut at, mut entering, mut best) = (id, 0u32, NEVER);
        let mut bytes = Vec::with_capacity(BYTES_MAX);
        while bytes.len() < BYTES_MAX {
            let state = automaton.state(at);
            let ([edge], None) = (state.edges.as_slice(), state.skip) else { break };
            if edge.first != edge.last || edge.to >= at {
                break;
            }
            entering = entering.saturating_add(self.entering(automaton, at, edge, is_token));
            bytes.push(edge.first);
            at = edge.to;
            if is_token(&bytes) {
                let rest = self.of_state[at as usize].saturating_add(entering);
                best = best.min(rest.saturating_add(1));
            }
        }
        best
    }

    /// What the scopes that an edge enters lack.
    fn entering(
        &self,
        automaton: &Automaton,
        from: StateId,
        edge: &Edge,
        is_token: &dyn Fn(&[u8]) -> bool,
    ) -> u32 {
        let held = &automaton.state(from).scopes;
        let entered = automaton.state(edge.to).scopes.iter().filter(|s| !held.contains(s));
        entered
            .map(|&s| {
                let scope = automaton.scopes[usize::from(s)];
                let count = match edge.action {
                    Action::Set { counter, to } if counter == scope.counter => to,
                    _ => 0,
                };
                let lacking = scope.min.saturating_sub(count);
                if lacking == 0 {
                    return 0;
                }
                times(self.once_more(automaton, usize::from(s), is_token), lacking)
            })
            .fold(0, u32::saturating_add)
    }

    /// Tokens that make a scope's counter one larger.
    fn once_more(
        &self,
        automaton: &Automaton,
        scope: usize,
        is_token: &dyn Fn(&[u8]) -> bool,
    ) -> u32 {
        match automaton.scopes[scope].repeats {
            Repeats::Character { text } => {
                let spelled = |edge: &Edge| edge.to == text && available(edge, is_token);
                if automaton.state(text).edges.iter().any(spelled) { 1 } else { NEVER }
            }
            Repeats::Item { after, item } => {
                let separator = |edge: &Edge| {
                    matches!(edge.action, Action::Count { .. }) && available(edge, is_token)
                };
                let (after_needs, item_needs) =
                    (self.of_state[after as usize], self.of_state[item as usize]);
                if item_needs >= NEVER || !automaton.state(after).edges.iter().any(separator) {
                    return NEVER;
                }
                1 + item_needs.saturating_sub(after_needs)
            }
        }
    }
}

fn times(tokens: u32, n: u16) -> u32 {
    if n == 0 { 0 } else { tokens.saturating_mul(u32::from(n)).min(NEVER) }
}

fn available(edge: &Edge, is_token: &dyn Fn(&[u8]) -> bool) -> bool {
    (edge.first..=edge.last).any(|byte| is_token(&[byte]))
}
