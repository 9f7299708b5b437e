//! Everything the screen shows. Plain data: `update` changes it, `view` draws it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use tui_tree_widget::TreeState;

use crate::chat::sampling::SamplingSettings;
use crate::chat::{Call, Level, MessageKind, ModelProfile, Permission, Window};
use crate::interfaces::LoadProgress;
use crate::memory::{EpisodeId, Message, MessageId, Moment, SemanticId, SessionId};
use crate::store::{AnyId, ForgetPlan};
use crate::texts::text;
use crate::tui::editor::Editor;
use crate::tui::event::{Greeting, Tree};
use crate::tui::keys::{Action, Context, Keymap};
use crate::tui::page::Page;
use crate::tui::palette::Palette;
use crate::tui::pickers::Picker;
use crate::tui::prompts::Prompts;
use crate::tui::pulls::Pull;
use crate::tui::slash::{self, Completion};
use crate::tui::transcript::{Body, Transcript};
use crate::tui::welcome::Offered;
use crate::tui::{Draft, memory_tree};
use crate::worker::{WorkerState, WorkerStatus};

/// A smaller screen shows only a request for a larger one.
pub const WIDTH_MIN: u16 = 40;
pub const HEIGHT_MIN: u16 = 12;
/// From this width on, a pane stands beside the chat instead of over it.
pub const SPLIT_WIDTH: u16 = 100;

/// The whole screen.
pub struct State {
    pub palette: Palette,
    /// The person's.
    pub keys: Keymap,
    /// What the terminal can show of a palette.
    pub palettes: fn(&str) -> Palette,
    /// The one to go back to, while others are tried.
    pub palette_before: Option<Palette>,
    pub now: Moment,
    /// Counts ticks, for animations and timeouts.
    pub tick: u64,
    pub transcript: Transcript,
    /// Shown while the chat is empty.
    pub greeting: Greeting,
    pub offered: Offered,
    pub editor: Editor,
    /// Written while a reply was on its way: each is sent when the chat is free.
    pub queue: VecDeque<(String, MessageKind)>,
    pub prompts: Prompts,
    /// The line of the completion popup that is chosen.
    pub completion: usize,
    /// Esc closed the popup; typing opens it again.
    pub completion_closed: bool,
    pub model: ModelLine,
    /// What the configuration and this chat say of how replies are drawn.
    pub sampling: SamplingSettings,
    pub worker: Option<WorkerStatus>,
    pub window: Option<Window>,
    /// Of the last generated reply.
    pub tokens_per_second: Option<f64>,
    pub pane: Option<Pane>,
    pub focus: Focus,
    pub overlay: Option<Overlay>,
    /// A sentence in place of the status line, until this tick.
    pub hint: Option<(String, u64)>,
    /// An earlier message that is being written anew.
    pub editing: Option<Editing>,
    pub trash: Option<Trash>,
    /// The terminal is not in front, as far as it says so.
    pub looks_elsewhere: bool,
    /// Since when a reply is made.
    pub busy_since: Option<u64>,
    /// Ctrl+C was pressed on an empty line; until this tick a second one leaves.
    pub leaving_until: Option<u64>,
    pub incognito: bool,
    /// A model that is being downloaded.
    pub pull: Option<Pull>,
    /// Whether tools are on in this chat.
    pub tools_on: bool,
    /// A call that the person is to be asked about.
    pub asks: Option<Call>,
}

/// Where keys go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Focus {
    #[default]
    Input,
    Pane,
    /// A message of the chat is chosen.
    Messages,
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

/// What stands beside the chat, or instead of it.
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
    /// What was learnt from one import, by its place in the list.
    Import(usize),
    /// Stands in for messages that are being read.
    Wait(EpisodeId),
}

/// The memory: its page, with the tree of themes as one tab; or the tree of what was learnt from imports, as a pane.
#[derive(Default)]
pub struct MemoryPane {
    pub page: Page,
    pub tree: Option<Tree>,
    pub messages: Vec<(EpisodeId, Vec<Message>)>,
    pub state: RefCell<TreeState<Node>>,
    /// What is shown contains all of these words.
    pub search: String,
    pub searching: bool,
    /// It is being read again; if it changes meanwhile, once more.
    pub reading: bool,
    pub stale: bool,
    /// A failure to read the memory.
    pub error: Option<String>,
    /// Built from the tree and the search; shared with the view.
    pub items: Rc<Vec<tui_tree_widget::TreeItem<'static, Node>>>,
    /// They are to be built anew before they are shown.
    pub is_old: bool,
    pub n_found: usize,
    /// What was learnt from imports stands here instead of the themes.
    pub learned: bool,
    /// Facts that go when the pane is closed, by the key that threw them away.
    pub thrown: Vec<Vec<SemanticId>>,
}

impl MemoryPane {
    /// Whether the page's list of facts has the keys, rather than a tree.
    pub fn lists(&self) -> bool {
        !self.learned && self.page.lists()
    }

    /// The words that are looked for.
    pub fn words(&self) -> Vec<String> {
        self.search.split_whitespace().map(str::to_lowercase).collect()
    }

    /// The page's rows, after the tab or the search changed.
    pub fn rebuild_page(&mut self, now: Moment) {
        let words = self.words();
        self.page.rebuild(None, &words, now);
    }
}

/// The *why* pane.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WhyPane {
    /// The answer that is explained.
    pub reply: Option<MessageId>,
    /// What was said, of which its memories were made; none until it is read.
    pub grounds: Option<Vec<Message>>,
    /// All that was considered, and the numbers.
    pub in_detail: bool,
    pub scroll: u16,
}

/// What covers the screen.
pub enum Overlay {
    Help { scroll: u16 },
    Picker(Picker),
    Confirm(Confirm),
    Edit(Box<Edit>),
}

/// A question that takes yes or no.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirm {
    pub title: String,
    pub lines: Vec<String>,
    pub yes: String,
    pub then: Confirmed,
    /// Another way of yes: its words, and what it does.
    pub other: Option<(String, Confirmed)>,
    pub scroll: u16,
    /// The tick from which keys count: nobody types a yes into a question that has just appeared.
    pub armed: u64,
}

/// What yes does.
#[derive(Debug, Clone, PartialEq)]
pub enum Confirmed {
    Forget(Box<ForgetPlan>),
    Pull(String),
    SendPart,
    /// No: the model is told so.
    Call(Permission),
    Tools(bool),
}

/// An earlier message that is being written anew: sent, it begins a chat that goes on from what stood before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Editing {
    pub session: SessionId,
    pub message: MessageId,
    /// What stood in the input.
    pub draft: String,
}

/// The correction of a fact, or of a chat's title.
#[derive(Debug, Clone)]
pub struct Edit {
    pub what: Edited,
    pub editor: Editor,
}

/// What is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edited {
    Fact(SemanticId),
    /// A chat's title.
    Title(SessionId),
}

/// Chats that are as good as deleted: they are once the time is over, with what was learnt from them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trash {
    pub chats: Vec<SessionId>,
    /// The tick.
    pub until: u64,
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
            keys: Keymap::default(),
            palettes: Palette::named,
            palette_before: None,
            now,
            tick: 0,
            transcript: Transcript::default(),
            greeting: Greeting::default(),
            offered: Offered::default(),
            editor: Editor::default(),
            queue: VecDeque::new(),
            prompts: Prompts::default(),
            completion: 0,
            completion_closed: false,
            model: ModelLine::Loading { name: model_name.to_owned(), progress: None, still: None },
            sampling: SamplingSettings::default(),
            worker: None,
            window: None,
            tokens_per_second: None,
            pane: None,
            focus: Focus::Input,
            overlay: None,
            hint: None,
            editing: None,
            trash: None,
            looks_elsewhere: false,
            busy_since: None,
            leaving_until: None,
            pull: None,
            incognito: false,
            tools_on: false,
            asks: None,
        }
    }

    /// The memory's page, which takes the whole screen.
    pub fn page(&self) -> Option<&MemoryPane> {
        match &self.pane {
            Some(Pane::Memory(pane)) if !pane.learned => Some(pane),
            _ => None,
        }
    }

    /// Whether something is animated or times out, so that ticks are needed.
    pub fn moves(&self) -> bool {
        self.spins() || self.hint.is_some() || self.leaving_until.is_some() || self.trash.is_some()
    }

    fn spins(&self) -> bool {
        self.transcript.busy()
            || matches!(self.model, ModelLine::Loading { .. })
            || self.worker_is_busy()
    }

    /// Of what is animated: five a second.
    pub fn frame(&self) -> u64 {
        self.tick / 2
    }

    /// What a tick can change on the screen.
    pub fn by_time(&self) -> (Option<u64>, bool) {
        (self.spins().then(|| self.frame()), self.hint.is_some())
    }

    pub fn worker_is_busy(&self) -> bool {
        self.worker.as_ref().is_some_and(|w| matches!(w.state, WorkerState::Working { .. }))
    }

    /// What the popup offers now.
    pub fn completions(&self) -> Vec<Completion> {
        if self.completion_closed
            || self.focus != Focus::Input
            || self.editor.area.lines().len() != 1
        {
            return Vec::new();
        }
        slash::completions(&self.editor.area.lines()[0], &self.prompts.usable)
    }

    /// Says something in place of the status line, for as long as it takes to read it.
    pub fn say(&mut self, text: impl Into<String>) {
        const AT_LEAST: u64 = 30;
        const CHARACTERS_A_TICK: u64 = 1;
        let text = text.into();
        let reading = text.chars().count() as u64 / CHARACTERS_A_TICK;
        self.hint = Some((text, self.tick + reading.max(AT_LEAST)));
    }

    /// A reply is being written, and something has to wait for it.
    pub fn say_busy(&mut self) {
        self.say(self.busy());
    }

    /// It is written.
    pub fn unsay_busy(&mut self) {
        let busy = self.busy();
        self.hint.take_if(|(text, _)| *text == busy);
    }

    fn busy(&self) -> String {
        text!("Still answering. {key} stops it.", key = self.key(Action::Escape))
    }

    /// Shows everything in other colours.
    pub fn set_palette(&mut self, palette: &Palette) {
        self.palette = *palette;
        for entry in &self.transcript.entries {
            entry.laid.replace(None);
        }
        self.transcript.live_laid.replace(None);
        if let Some(Pane::Memory(pane)) = &mut self.pane {
            memory_tree::rebuild(pane, palette);
        }
    }

    /// The key of an action of the chat: "Ctrl+S".
    pub fn key(&self, action: Action) -> String {
        self.keys.of(Context::Chat, action)
    }

    pub fn notice(&mut self, level: Level, text: impl Into<String>) {
        self.transcript.push(Body::Notice { level, text: text.into() });
    }
}
