//! Everything the screen shows. Plain data: `update` changes it, `view` draws it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use ratatui::text::Line;
use tui_tree_widget::TreeState;

use crate::chat::{Level, MessageKind, ModelProfile, PhaseName, Window};
use crate::interfaces::LoadProgress;
use crate::memory::{EpisodeId, Message, MessageId, Moment, SemanticId, SessionId};
use crate::store::{AnyId, ForgetPlan};
use crate::tui::Draft;
use crate::tui::editor::Editor;
use crate::tui::event::{Greeting, Tree};
use crate::tui::keys::Action;
use crate::tui::palette::Palette;
use crate::tui::slash::{self, SlashCommand};
use crate::tui::why::Why;
use crate::worker::{WorkerState, WorkerStatus};

/// A smaller screen shows only a request for a larger one.
pub const WIDTH_MIN: u16 = 40;
pub const HEIGHT_MIN: u16 = 12;
/// From this width on, a pane stands beside the chat instead of over it.
pub const SPLIT_WIDTH: u16 = 100;

/// The whole screen.
pub struct State {
    pub palette: Palette,
    pub now: Moment,
    /// Counts ticks, for animations and timeouts.
    pub tick: u64,
    pub transcript: Transcript,
    /// Shown while the chat is empty.
    pub greeting: Greeting,
    pub editor: Editor,
    /// Written while a reply was on its way: each is sent when the chat is free.
    pub queue: VecDeque<(String, MessageKind)>,
    /// The line of the completion popup that is chosen.
    pub completion: usize,
    /// Esc closed the popup; typing opens it again.
    pub completion_closed: bool,
    pub model: ModelLine,
    pub worker: Option<WorkerStatus>,
    pub window: Option<Window>,
    /// Of the last generated reply.
    pub tokens_per_second: Option<f64>,
    pub pane: Option<Pane>,
    pub focus: Focus,
    pub overlay: Option<Overlay>,
    /// A sentence in place of the status line, until this tick.
    pub hint: Option<(String, u64)>,
    /// Ctrl+C was pressed on an empty line; until this tick a second one leaves.
    pub leaving_until: Option<u64>,
    pub incognito: bool,
}

/// Where keys go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Focus {
    #[default]
    Input,
    Pane,
}

/// The model's part of the status line.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelLine {
    /// `still` is the model that is in use meanwhile.
    Loading {
        name: String,
        progress: Option<LoadProgress>,
        still: Option<ModelProfile>,
    },
    Ready(ModelProfile),
    Absent,
}

impl ModelLine {
    /// The model in use.
    pub fn profile(&self) -> Option<&ModelProfile> {
        match self {
            Self::Ready(profile) => Some(profile),
            Self::Loading { still, .. } => still.as_ref(),
            Self::Absent => None,
        }
    }
}

/// Laid-out lines of an entry, for one width.
pub type Laid = Rc<Vec<Line<'static>>>;

/// One thing in the transcript.
pub struct Entry {
    pub body: Body,
    /// Cache: `(width, lines)`; emptied when the body changes.
    pub laid: RefCell<Option<(u16, Laid)>>,
}

impl Entry {
    pub fn new(body: Body) -> Self {
        Self { body, laid: RefCell::new(None) }
    }
}

/// What an entry is.
pub enum Body {
    User(Message),
    Reply {
        message: Message,
        why: Option<Box<Why>>,
        why_known: bool,
    },
    /// A reply that could not be saved.
    Unsaved(String),
    Notice {
        level: Level,
        text: String,
    },
}

/// The chat's part of the screen.
#[derive(Default)]
pub struct Transcript {
    pub session: Option<SessionId>,
    pub title: String,
    pub entries: Vec<Entry>,
    pub phase: PhaseName,
    /// "3 of 10 episodes", while recalling.
    pub progress: String,
    /// The reply that is being written.
    pub live: Option<String>,
    /// The message on its way to disk.
    pub sending: Option<String>,
    /// Messages of this session that the model no longer reads word for word.
    pub n_dropped: usize,
    /// First row shown; `None` follows the end.
    pub top: Option<usize>,
    /// Set by the view: rows in all, rows visible.
    pub rows: Cell<(usize, usize)>,
}

impl Transcript {
    pub fn push(&mut self, body: Body) {
        self.entries.push(Entry::new(body));
    }

    /// Ids of the replies, oldest first.
    pub fn replies(&self) -> Vec<MessageId> {
        self.entries
            .iter()
            .filter_map(|e| match &e.body {
                Body::Reply { message, .. } => Some(message.id),
                _ => None,
            })
            .collect()
    }

    /// The evidence of a reply, and whether it is known.
    pub fn why(&self, id: MessageId) -> Option<(Option<&Why>, bool)> {
        self.entries.iter().find_map(|e| match &e.body {
            Body::Reply { message, why, why_known } if message.id == id => {
                Some((why.as_deref(), *why_known))
            }
            _ => None,
        })
    }

    /// The user's message before a reply.
    pub fn question_of(&self, id: MessageId) -> Option<&Message> {
        let at = self
            .entries
            .iter()
            .position(|e| matches!(&e.body, Body::Reply { message, .. } if message.id == id))?;
        self.entries[..at].iter().rev().find_map(|e| match &e.body {
            Body::User(message) => Some(message),
            _ => None,
        })
    }

    pub fn scroll(&mut self, by: isize) {
        let (rows, visible) = self.rows.get();
        let last = rows.saturating_sub(visible);
        let top = self.top.unwrap_or(last).min(last);
        let top = top.saturating_add_signed(by);
        self.top = (top < last).then_some(top);
    }

    pub fn busy(&self) -> bool {
        self.phase != PhaseName::Idle || self.sending.is_some()
    }
}

/// What stands beside the chat.
pub enum Pane {
    Memory(Box<MemoryPane>),
    Why(WhyPane),
}

/// A node of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Node {
    Unit(AnyId),
    /// The episodes without facts.
    WithoutFacts,
    /// Stands in for messages that are being read.
    Wait(EpisodeId),
}

/// The memory pane.
#[derive(Default)]
pub struct MemoryPane {
    pub tree: Option<Tree>,
    pub messages: Vec<(EpisodeId, Vec<Message>)>,
    pub state: RefCell<TreeState<Node>>,
    /// What is shown contains all of these words.
    pub search: String,
    pub searching: bool,
    /// A failure to read the memory.
    pub error: Option<String>,
    /// Built from the tree and the search; shared with the view.
    pub items: Rc<Vec<tui_tree_widget::TreeItem<'static, Node>>>,
    pub n_found: usize,
}

/// The *why* pane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WhyPane {
    /// The answer that is explained.
    pub reply: Option<MessageId>,
    pub scroll: u16,
}

/// What covers the screen.
pub enum Overlay {
    Help { scroll: u16 },
    Picker(Picker),
    Confirm(Confirm),
    Edit(Box<Edit>),
}

/// A list to choose from.
#[derive(Debug, Clone)]
pub struct Picker {
    pub kind: PickerKind,
    pub filter: String,
    pub items: Vec<Item>,
    pub selected: usize,
    pub loading: bool,
}

/// Which list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickerKind {
    Palette,
    Sessions,
    Models,
    History,
}

/// One line of a list.
#[derive(Debug, Clone)]
pub struct Item {
    pub label: String,
    pub detail: String,
    pub pick: Pick,
}

/// What choosing a line does.
#[derive(Debug, Clone)]
pub enum Pick {
    Action(Action),
    Command(&'static SlashCommand),
    Session(SessionId),
    Model(String),
    Text(String),
}

impl Picker {
    pub fn new(kind: PickerKind) -> Self {
        Self { kind, filter: String::new(), items: Vec::new(), selected: 0, loading: true }
    }

    /// The items that contain all words of the filter.
    pub fn visible(&self) -> Vec<&Item> {
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        self.items
            .iter()
            .filter(|item| {
                let text = format!("{} {}", item.label, item.detail).to_lowercase();
                words.iter().all(|w| text.contains(w.as_str()))
            })
            .collect()
    }
}

/// A question that takes yes or no.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirm {
    pub title: String,
    pub lines: Vec<String>,
    pub yes: String,
    pub then: Confirmed,
    pub scroll: u16,
}

/// What yes does.
#[derive(Debug, Clone, PartialEq)]
pub enum Confirmed {
    Forget(Box<ForgetPlan>),
    SendPart,
}

/// The correction of a fact.
#[derive(Debug, Clone)]
pub struct Edit {
    pub semantic: SemanticId,
    pub editor: Editor,
}

impl State {
    /// What is left of the screen when it is locked: what waits to be sent stands before what is being typed.
    pub(super) fn draft(&self) -> Draft {
        let waiting = self.queue.iter().map(|(text, _)| text.clone());
        let texts: Vec<String> =
            waiting.chain([self.editor.text()]).filter(|text| !text.is_empty()).collect();
        let session = self.transcript.session.filter(|_| !self.incognito);
        Draft { text: texts.join("\n"), incognito: self.incognito, session }
    }

    pub fn new(palette: &Palette, now: Moment, model_name: &str) -> Self {
        Self {
            palette: *palette,
            now,
            tick: 0,
            transcript: Transcript::default(),
            greeting: Greeting::default(),
            editor: Editor::default(),
            queue: VecDeque::new(),
            completion: 0,
            completion_closed: false,
            model: ModelLine::Loading { name: model_name.to_owned(), progress: None, still: None },
            worker: None,
            window: None,
            tokens_per_second: None,
            pane: None,
            focus: Focus::Input,
            overlay: None,
            hint: None,
            leaving_until: None,
            incognito: false,
        }
    }

    /// Whether something is animated or times out, so that ticks are needed.
    pub fn moves(&self) -> bool {
        self.transcript.busy()
            || matches!(self.model, ModelLine::Loading { .. })
            || self.worker_is_busy()
            || self.hint.is_some()
            || self.leaving_until.is_some()
    }

    pub fn worker_is_busy(&self) -> bool {
        self.worker.as_ref().is_some_and(|w| matches!(w.state, WorkerState::Working { .. }))
    }

    /// The commands that the popup offers now.
    pub fn completions(&self) -> Vec<&'static SlashCommand> {
        if self.completion_closed
            || self.focus != Focus::Input
            || self.editor.area.lines().len() != 1
        {
            return Vec::new();
        }
        slash::completions(&self.editor.area.lines()[0])
    }

    /// Says something for three seconds in place of the status line.
    pub fn say(&mut self, text: impl Into<String>) {
        self.hint = Some((text.into(), self.tick + 30));
    }

    pub fn notice(&mut self, level: Level, text: impl Into<String>) {
        self.transcript.push(Body::Notice { level, text: text.into() });
    }
}
