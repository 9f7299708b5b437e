//! A deterministic automaton over bytes with a few counters.
//!
//! Counters keep it small: a line of at most 300 characters is one state that counts, not 300. A state
//! takes the byte itself (an edge), or hands it to another state where its own part may end (the skip).
//! State 0 is the end: it takes nothing.

/// Nested lists and the text inside them: more is refused when a constraint is compiled.
pub const N_COUNTERS: usize = 6;

pub type StateId = u32;

/// The state where a reply is complete.
pub const END: StateId = 0;

/// What an edge asks of the counters and does to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    None,
    Set {
        counter: u8,
        to: u16,
    },
    /// Only while the counter is below `max`; then one more.
    Count {
        counter: u8,
        max: u16,
    },
    /// Only once the counter has reached `min`.
    Leave {
        counter: u8,
        min: u16,
    },
}

/// Bytes `first..=last` lead to `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edge {
    pub first: u8,
    pub last: u8,
    pub to: StateId,
    pub action: Action,
}

/// Where to go on without a byte, once the counter has reached `min`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Skip {
    pub to: StateId,
    pub counter: u8,
    pub min: u16,
}

/// Where a run of free text starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunStart {
    /// In the middle of it.
    Inside,
    /// Before its first character, which is no space.
    First,
    /// As [`RunStart::First`], after at most one space that does not count.
    Indented,
}

/// A state in which any plain text may follow: every character but control characters, `"` and `\`. It tells
/// what the edges tell already, for whoever wants to treat thousands of words at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Run {
    pub start: RunStart,
    /// The state after such text, and the counter of its characters.
    pub to: StateId,
    pub counter: u8,
    pub max: u16,
}

/// A counter that has to reach `min`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    pub counter: u8,
    pub min: u16,
    pub repeats: Repeats,
}

/// What makes the counter of a [`Scope`] one larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// One more character in this state.
    Character { text: StateId },
    /// From `after` an item, a separator and one more item, back to `after`.
    Item { after: StateId, item: StateId },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct State {
    pub edges: Vec<Edge>,
    pub skip: Option<Skip>,
    /// Indices into [`Automaton::scopes`], outermost first.
    pub scopes: Vec<u16>,
    pub run: Option<Run>,
}

/// See the module. A state's shortest way to the end leads over states with smaller numbers only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Automaton {
    pub(super) states: Vec<State>,
    pub(super) scopes: Vec<Scope>,
    pub(super) start: StateId,
}

/// How far a reply has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Position {
    pub(super) state: StateId,
    pub(super) counts: [u16; N_COUNTERS],
}

impl Automaton {
    /// Before the first byte.
    pub fn start(&self) -> Position {
        Position { state: self.start, counts: [0; N_COUNTERS] }
    }

    pub(super) fn state(&self, id: StateId) -> &State {
        &self.states[id as usize]
    }

    /// After one more byte; `None` if no reply goes on so.
    pub fn step(&self, mut position: Position, byte: u8) -> Option<Position> {
        loop {
            let state = self.state(position.state);
            if let Some(edge) = state.edges.iter().find(|e| (e.first..=e.last).contains(&byte)) {
                return taken(position, *edge);
            }
            position = skipped(position, state.skip?)?;
        }
    }

    /// After several bytes.
    pub fn walk(&self, position: Position, bytes: &[u8]) -> Option<Position> {
        bytes.iter().try_fold(position, |position, &byte| self.step(position, byte))
    }

    /// Whether the reply is complete as it stands.
    pub fn accepts(&self, mut position: Position) -> bool {
        while position.state != END {
            let skip = self.state(position.state).skip;
            match skip.and_then(|skip| skipped(position, skip)) {
                Some(next) => position = next,
                None => return false,
            }
        }
        true
    }

    /// Whether more may follow.
    pub fn goes_on(&self, position: Position) -> bool {
        self.steps(position).next().is_some()
    }

    /// The byte that has to follow, where there is no choice.
    pub fn forced(&self, position: Position) -> Option<(u8, Position)> {
        let mut steps = self.steps(position);
        let (only, None) = (steps.next()?, steps.next()) else { return None };
        let another = (0..=255).any(|byte| byte != only.0 && self.step(position, byte).is_some());
        (!another && !self.accepts(position)).then_some(only)
    }

    /// The free text that may follow here.
    pub fn run(&self, position: Position) -> Option<Run> {
        self.state(position.state).run
    }

    /// What may follow, one byte for each edge.
    pub(super) fn steps(&self, position: Position) -> impl Iterator<Item = (u8, Position)> {
        let chain = std::iter::successors(Some(position), |&position| {
            skipped(position, self.state(position.state).skip?)
        });
        chain.flat_map(|position| {
            let edges = self.state(position.state).edges.iter();
            edges.filter_map(move |edge| Some((edge.first, taken(position, *edge)?)))
        })
    }
}

impl Position {
    /// The position after `n` characters of a [`Run`]; `None` if so many do not fit.
    pub fn after_run(mut self, run: Run, n: usize) -> Option<Self> {
        let held = match run.start {
            RunStart::Inside => usize::from(self.counts[usize::from(run.counter)]),
            RunStart::First | RunStart::Indented => 0,
        };
        let count = u16::try_from(held + n).ok().filter(|&count| count <= run.max)?;
        self.counts[usize::from(run.counter)] = count;
        self.state = run.to;
        Some(self)
    }
}

fn taken(mut position: Position, edge: Edge) -> Option<Position> {
    match edge.action {
        Action::None => {}
        Action::Set { counter, to } => position.counts[usize::from(counter)] = to,
        Action::Count { counter, max } => {
            let count = &mut position.counts[usize::from(counter)];
            if *count >= max {
                return None;
            }
            *count += 1;
        }
        Action::Leave { counter, min } => {
            if position.counts[usize::from(counter)] < min {
                return None;
            }
        }
    }
    position.state = edge.to;
    Some(position)
}

fn skipped(position: Position, skip: Skip) -> Option<Position> {
    let ready = position.counts[usize::from(skip.counter)] >= skip.min;
    ready.then_some(Position { state: skip.to, ..position })
}
