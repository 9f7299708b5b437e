//! Automata from parts, built from their end to their beginning: a part is given the state that follows it.

use std::collections::HashMap;

use super::ConstraintError;
use super::automaton::{
    Action, Automaton, END, Edge, N_COUNTERS, Repeats, Run, RunStart, Scope, Skip, State, StateId,
};

/// Which ASCII characters free text may hold besides letters, digits, spaces and most marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextClass {
    /// In a JSON string: `"` and `\` are escaped.
    Json,
    /// On a line.
    Line,
}

/// The states so far.
#[derive(Debug)]
pub struct Builder {
    states: Vec<State>,
    scopes: Vec<Scope>,
    /// The scopes that are open around what is being built.
    open: Vec<u16>,
    /// Equal states are one: the many ways to write a date share their ends.
    known: HashMap<State, StateId>,
    n_counters: usize,
}

impl Builder {
    pub fn new() -> Self {
        Self {
            states: vec![State::default()],
            scopes: Vec::new(),
            open: Vec::new(),
            known: HashMap::new(),
            n_counters: 0,
        }
    }

    pub fn finish(self, start: StateId) -> Automaton {
        Automaton { states: self.states, scopes: self.scopes, start }
    }

    fn state(&self, edges: Vec<Edge>, skip: Option<Skip>) -> State {
        State { edges, skip, scopes: self.open.clone(), run: None }
    }

    /// A state that may still be changed.
    fn push(&mut self, state: State) -> StateId {
        self.states.push(state);
        (self.states.len() - 1) as StateId
    }

    fn add_edge(&mut self, state: StateId, edge: Edge) {
        self.states[state as usize].edges.push(edge);
    }

    /// A state that is never changed.
    fn intern(&mut self, state: State) -> StateId {
        if let Some(&id) = self.known.get(&state) {
            return id;
        }
        let id = self.push(state.clone());
        self.known.insert(state, id);
        id
    }

    /// A state with these edges, never changed.
    pub fn branch(&mut self, edges: Vec<Edge>) -> StateId {
        let state = self.state(edges, None);
        self.intern(state)
    }

    /// As `branch`, or what follows in `to`.
    pub fn branch_or(&mut self, edges: Vec<Edge>, to: StateId) -> StateId {
        let state = self.state(edges, Some(Skip { to, counter: 0, min: 0 }));
        self.intern(state)
    }

    /// Exactly these bytes.
    pub fn literal(&mut self, bytes: &[u8], next: StateId) -> StateId {
        bytes.iter().rev().fold(next, |next, &byte| self.branch(vec![edge(byte, byte, next)]))
    }

    /// At most one space. `next` takes none.
    pub fn optional_space(&mut self, next: StateId) -> StateId {
        self.branch_or(vec![edge(b' ', b' ', next)], next)
    }

    /// One of several texts, none the beginning of another, each with what follows it.
    pub fn choice(&mut self, options: &[(&[u8], StateId)]) -> StateId {
        if let &[(text, next)] = options {
            return self.literal(text, next);
        }
        let mut firsts: Vec<u8> =
            options.iter().filter_map(|(text, _)| text.first().copied()).collect();
        firsts.sort_unstable();
        firsts.dedup();
        let edges = firsts
            .into_iter()
            .map(|first| {
                let rest: Vec<(&[u8], StateId)> = options
                    .iter()
                    .filter_map(|&(text, next)| Some((text.strip_prefix(&[first])?, next)))
                    .collect();
                edge(first, first, self.choice(&rest))
            })
            .collect();
        self.branch(edges)
    }

    /// The edges of a state that has nothing else.
    pub fn edges_of(&self, state: StateId) -> Vec<Edge> {
        self.states[state as usize].edges.clone()
    }

    fn counter(&mut self) -> Result<u8, ConstraintError> {
        if self.n_counters == N_COUNTERS {
            return Err(ConstraintError::TooDeep { max: N_COUNTERS - 1 });
        }
        self.n_counters += 1;
        Ok((self.n_counters - 1) as u8)
    }

    /// Items with a separator between them: `min` to `max`, both at least 1. `item` builds one, given what
    /// follows it; `leave` is the edge that ends the list, or none if it ends where `next` goes on.
    /// Gives the state before the first item, with the counter at 0.
    pub fn repeat(
        &mut self,
        (min, max): (u16, u16),
        separator: u8,
        end: Ending,
        item: impl FnOnce(&mut Self, StateId) -> Result<(StateId, StateId), ConstraintError>,
    ) -> Result<Repeated, ConstraintError> {
        let counter = self.counter()?;
        let scope = self.scopes.len() as u16;
        let repeats = Repeats::Item { after: END, item: END };
        // The counter counts separators.
        self.scopes.push(Scope { counter, min: min - 1, repeats });
        self.open.push(scope);
        let state = match end {
            Ending::Byte(byte, next) => {
                let action = Action::Leave { counter, min: min - 1 };
                self.state(vec![Edge { action, ..edge(byte, byte, next) }], None)
            }
            Ending::Skip(to) => self.state(Vec::new(), Some(Skip { to, counter, min: min - 1 })),
        };
        let after = self.push(state);
        let (first, again) = item(self, after)?;
        let action = Action::Count { counter, max: max - 1 };
        self.add_edge(after, Edge { action, ..edge(separator, separator, again) });
        self.scopes[usize::from(scope)].repeats = Repeats::Item { after, item: first };
        self.open.pop();
        self.n_counters -= 1;
        Ok(Repeated { first, counter })
    }

    /// Free text of `min` to `max` characters, valid UTF-8 without control characters. The state it gives is
    /// entered with the counter set: to 0, or to 1 after a first character.
    pub fn text(
        &mut self,
        (min, max): (u16, u16),
        class: TextClass,
        next: StateId,
    ) -> Result<Text, ConstraintError> {
        let counter = self.counter()?;
        let n_open = self.open.len();
        if min > 0 {
            self.open.push(self.scopes.len() as u16);
            self.scopes.push(Scope { counter, min, repeats: Repeats::Character { text: END } });
        }
        let state = self.state(Vec::new(), Some(Skip { to: next, counter, min }));
        let text = self.push(state);
        if min > 0
            && let Some(scope) = self.scopes.last_mut()
        {
            scope.repeats = Repeats::Character { text };
        }
        let run = Run { start: RunStart::Inside, to: text, counter, max };
        let edges = self.characters(class, text, Action::Count { counter, max }, b' ');
        let state = &mut self.states[text as usize];
        state.edges = edges;
        state.run = Some(run);
        self.open.truncate(n_open);
        self.n_counters -= 1;
        Ok(Text { state: text, counter, run, class })
    }

    /// Before the first character of a text: no space, or one that does not count.
    pub fn first_character(&mut self, text: &Text, indented: bool) -> StateId {
        let action = Action::Set { counter: text.counter, to: 1 };
        let edges = self.characters(text.class, text.state, action, b'!');
        let mut state = self.state(edges, None);
        state.run = Some(Run { start: RunStart::First, ..text.run });
        let first = self.intern(state);
        if !indented {
            return first;
        }
        let skip = Skip { to: first, counter: 0, min: 0 };
        let mut state = self.state(vec![edge(b' ', b' ', first)], Some(skip));
        state.run = Some(Run { start: RunStart::Indented, ..text.run });
        self.intern(state)
    }

    /// One character of a text, ASCII from `first` on, counted by its first byte. UTF-8 as Unicode 3.9 D92,
    /// table 3-7, has it.
    fn characters(
        &mut self,
        class: TextClass,
        text: StateId,
        action: Action,
        first: u8,
    ) -> Vec<Edge> {
        let last = self.branch(vec![edge(0x80, 0xbf, text)]);
        let two = self.branch(vec![edge(0x80, 0xbf, last)]);
        let three = self.branch(vec![edge(0x80, 0xbf, two)]);
        let e0 = self.branch(vec![edge(0xa0, 0xbf, last)]);
        let ed = self.branch(vec![edge(0x80, 0x9f, last)]);
        let f0 = self.branch(vec![edge(0x90, 0xbf, two)]);
        let f4 = self.branch(vec![edge(0x80, 0x8f, two)]);
        let mut edges = match class {
            TextClass::Line => vec![edge(first, 0x7e, text)],
            TextClass::Json => {
                let escaped = b"\"/\\bfnrt".map(|byte| edge(byte, byte, text));
                let escape = self.branch(escaped.to_vec());
                vec![
                    edge(first, b'!', text),
                    edge(b'#', b'[', text),
                    edge(b'\\', b'\\', escape),
                    edge(b']', 0x7e, text),
                ]
            }
        };
        edges.extend([
            edge(0xc2, 0xdf, last),
            edge(0xe0, 0xe0, e0),
            edge(0xe1, 0xec, two),
            edge(0xed, 0xed, ed),
            edge(0xee, 0xef, two),
            edge(0xf0, 0xf0, f0),
            edge(0xf1, 0xf3, three),
            edge(0xf4, 0xf4, f4),
        ]);
        edges.into_iter().map(|edge| Edge { action, ..edge }).collect()
    }
}

/// How a repetition ends.
pub enum Ending {
    /// By this byte, then what follows.
    Byte(u8, StateId),
    /// By what follows.
    Skip(StateId),
}

/// Before the first item of a repetition, whose counter is set to 0 on the way here.
pub struct Repeated {
    pub first: StateId,
    pub counter: u8,
}

/// Free text, whose counter is set on the way here.
pub struct Text {
    pub state: StateId,
    pub counter: u8,
    run: Run,
    class: TextClass,
}

/// Bytes `first..=last`, whatever the counters say.
pub fn edge(first: u8, last: u8, to: StateId) -> Edge {
    Edge { first, last, to, action: Action::None }
}
