//! The screen without a terminal: `press`, `type_str`, `screen`.

mod chats;
mod choices;
mod flows;
mod input;
mod keys;
mod learned;
mod messages;
mod page;
mod prompts;
mod screens;
mod texts;
mod tools;

use crossterm::event::{Event as TerminalEvent, KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};

use crate::chat::policy::Reader;
use crate::chat::{ModelProfile, PhaseName, SavedReply, Update};
use crate::interfaces::{Clock, LanguageModel, PullableModel};
use crate::memory::{EpisodeId, Message, MessageId, Moment, Role, SemanticId, SessionId, ThemeId};
use crate::store::{Conversation, Session};
use crate::testing::{ManualClock, ScriptedModel, episode, fact, message};
use crate::tui::event::{Effect, Event, StoreReply, StoreRequest, ThemeRow, Tree};
use crate::tui::keys::Key;
use crate::tui::palette::Palette;
use crate::tui::state::State;
use crate::tui::{update, view};
use crate::worker::{WorkerState, WorkerStatus};

pub struct Harness {
    pub state: State,
    clock: ManualClock,
    terminal: Terminal<TestBackend>,
    /// Everything asked for since the last [`Self::take`].
    pub effects: Vec<Effect>,
    /// How often the prompts were read, which every `/` that is typed asks for.
    pub n_prompts_read: usize,
}

pub fn at(time: &str) -> Moment {
    ManualClock::at(time).now()
}

impl Harness {
    pub fn new(width: u16, height: u16) -> Self {
        let clock = ManualClock::at("2026-11-21T10:00:00Z");
        let state = State::new(&Palette::named("ansi"), clock.now(), "starter");
        let terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        Self { state, clock, terminal, effects: Vec::new(), n_prompts_read: 0 }
    }

    /// With the starter loaded.
    pub fn ready(width: u16, height: u16) -> Self {
        let mut harness = Self::new(width, height);
        harness.chat(Update::Ready(starter()));
        harness.worker(WorkerState::Idle, 0);
        harness
    }

    pub fn feed(&mut self, event: Event) {
        let now = self.clock.now();
        for effect in update(&mut self.state, event, now) {
            match effect {
                Effect::Store(StoreRequest::Prompts) => self.n_prompts_read += 1,
                effect => self.effects.push(effect),
            }
        }
    }

    pub fn chat(&mut self, update: Update) {
        self.feed(Event::Chat(update));
    }

    pub fn worker(&mut self, state: WorkerState, jobs_left: usize) {
        self.chat(Update::Worker(WorkerStatus { state, jobs_done: 0, jobs_left }));
    }

    /// "a", "enter", "esc", "ctrl-t", "shift-enter", "up", "pgdn", …
    #[track_caller]
    pub fn press(&mut self, key: &str) {
        let mut held = KeyModifiers::NONE;
        let mut name = key;
        while let Some((modifier, rest)) = name.split_once('-').filter(|(_, r)| !r.is_empty()) {
            held |= match modifier {
                "ctrl" => KeyModifiers::CONTROL,
                "alt" => KeyModifiers::ALT,
                "shift" => KeyModifiers::SHIFT,
                other => panic!("no modifier {other}"),
            };
            name = rest;
        }
        let name = match name {
            "pgup" => "pageup",
            "pgdn" => "pagedown",
            "del" => "delete",
            name => name,
        };
        let key = KeyEvent::new(Key::parse(name).unwrap().code, held);
        self.feed(Event::Terminal(TerminalEvent::Key(key)));
    }

    #[track_caller]
    pub fn keys(&mut self, keys: &str) {
        for key in keys.split_whitespace() {
            self.press(key);
        }
    }

    pub fn type_str(&mut self, text: &str) {
        for c in text.chars() {
            let key = KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
            self.feed(Event::Terminal(TerminalEvent::Key(key)));
        }
    }

    pub fn enter(&mut self, text: &str) {
        self.type_str(text);
        self.press("enter");
    }

    pub fn paste(&mut self, text: &str) {
        self.feed(Event::Terminal(TerminalEvent::Paste(text.into())));
    }

    pub fn tick(&mut self, n: usize) {
        for _ in 0..n {
            self.feed(Event::Tick);
        }
    }

    pub fn take(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    pub fn resize(&mut self, width: u16, height: u16) {
        self.terminal.backend_mut().resize(width, height);
        self.feed(Event::Terminal(TerminalEvent::Resize(width, height)));
    }

    /// What the screen shows, row by row.
    pub fn screen(&mut self) -> String {
        let state = &self.state;
        self.terminal.draw(|frame| view::draw(frame, state)).unwrap();
        let buffer = self.terminal.backend().buffer();
        let mut rows = Vec::new();
        for y in 0..buffer.area.height {
            let mut row = String::new();
            let mut hidden = 0;
            for x in 0..buffer.area.width {
                if hidden > 0 {
                    hidden -= 1;
                    continue;
                }
                let symbol = buffer[(x, y)].symbol();
                hidden = crate::tui::wrap::width(symbol).saturating_sub(1);
                row.push_str(symbol);
            }
            rows.push(row.trim_end().to_owned());
        }
        rows.join("\n")
    }

    /// A completed turn.
    pub fn exchange(&mut self, n: i64, question: &str, answer: &str, record: Value) {
        self.chat(Update::UserMessage {
            title: "I moved to Lund last week".into(),
            message: message(2 * n, Role::User, question),
        });
        self.chat(Update::ReplyDone(SavedReply {
            message: message(2 * n + 1, Role::Assistant, answer),
            record,
            tokens_per_second: Some(61.6),
        }));
        self.chat(Update::Phase(PhaseName::Idle));
    }
}

fn profile(name: &str, starter: bool, reader: Reader) -> ModelProfile {
    let model = ScriptedModel::new(&[]).with_info(|info| {
        info.name = name.into();
        info.starter = starter;
    });
    ModelProfile::new(model.info(), reader, None)
}

pub fn starter() -> ModelProfile {
    profile("starter", true, Reader::Generative)
}

pub fn qwen() -> ModelProfile {
    profile("qwen3-0.6b", false, Reader::Generative)
}

pub fn no_session(incognito: bool) -> Update {
    Update::Session { session: None, conversation: Conversation::default(), incognito }
}

pub fn session(id: i64, title: &str, updated: &str, imported: bool) -> Session {
    Session {
        id: SessionId(id),
        title: title.into(),
        created_at: at(updated),
        updated_at: at(updated),
        n_messages: id as usize,
        imported,
        agent: false,
        source: None,
        pinned: false,
        parent: None,
    }
}

/// Two models that can be downloaded.
pub fn pullable() -> Vec<PullableModel> {
    let model = |name: &str, bytes, fits, recommended| PullableModel {
        name: name.into(),
        bytes,
        licence: "Apache-2.0".into(),
        from: format!("https://huggingface.co/org/{name}"),
        good_at: "quick".into(),
        fits,
        recommended,
    };
    vec![
        model("large-14b", 9_000_000_000, false, false),
        model("good-4b", 2_500_000_000, true, true),
    ]
}

pub fn record() -> Value {
    json!({
        "answer": "…", "model": "qwen3-0.6b",
        "evidence": {
            "themes": [{"id": "t2", "name": "Home and moves"}, {"id": "t5", "name": "Cycling"}],
            "semantics": [
                {"id": "s31", "text": "Ana moved to Lund (week of 9 November 2026)", "messages": ["m4"]},
                {"id": "s12", "text": "Ana lives near the botanical garden", "messages": ["m9", "m10"]}
            ],
            "episodes": [
                {"id": "e4", "title": "Moving to Lund", "admitted": true, "expanded": true,
                 "entropy_before_nats": 2.31, "entropy_after_nats": 1.42},
                {"id": "e9", "title": "A new bike for the way to work", "admitted": true,
                 "expanded": false, "entropy_before_nats": 1.42, "entropy_after_nats": 1.04},
                {"id": "e2", "title": "Max learns to sit", "admitted": false, "expanded": false,
                 "entropy_before_nats": 1.04, "entropy_after_nats": 1.21}
            ]
        },
        "entropy_nats": {"coarse": 2.31, "final": 1.04},
        "tokens": {"prompt": 1204, "processed": 1610, "generated": 18},
        "seconds": {"recall": 0.8, "first_token": 0.9, "total": 1.6}
    })
}

pub fn tree() -> Tree {
    Tree {
        themes: vec![
            ThemeRow {
                id: ThemeId(2),
                name: "Home and moves".into(),
                facts: vec![
                    fact(12, 3, "Ana lives in Malmö", Some(31)),
                    fact(31, 4, "Ana moved to Lund (week of 9 November 2026)", None),
                ],
            },
            ThemeRow {
                id: ThemeId(5),
                name: "Pets".into(),
                facts: vec![fact(7, 3, "Ana has a dog named Max, a Labrador mix 🐕", None)],
            },
        ],
        episodes: vec![
            episode(3, "Where Ana lives, and Max", "Ana lives in Malmö. She has a dog, Max."),
            episode(4, "Moving to Lund", "Ana moved to Lund in the week of 9 November 2026."),
            episode(6, "Small talk", "Ana said hello."),
        ],
        n_messages: 6,
        without_facts: vec![EpisodeId(6)],
        known: page::knowledge(),
        learned: Vec::new(),
    }
}

pub fn episode_messages() -> StoreReply {
    let said = |id, role, text: &str| Message {
        created_at: at("2026-11-16T09:12:00Z"),
        ..message(id, role, text)
    };
    StoreReply::Messages {
        episode: EpisodeId(4),
        messages: vec![
            said(4, Role::User, "I moved to Lund last week."),
            said(5, Role::Assistant, "Noted: you moved to Lund (week of 9 November 2026)."),
        ],
    }
}
