//! The chat's part of the screen as data: its entries, the versions of a reply, what is being written, what is chosen.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use ratatui::text::Line;

use crate::chat::{CallResult, Level, PhaseName};
use crate::memory::{Message, MessageId, Role, SessionId};
use crate::tui::why::{Recorded, Why};

/// Laid-out lines of an entry, for one width.
pub type Laid = Rc<Vec<Line<'static>>>;

/// One thing in the transcript.
pub struct Entry {
    pub body: Body,
    /// Cache: `(width, lines)`; emptied when the body or the palette changes.
    pub laid: RefCell<Option<(u16, Laid)>>,
}

impl Entry {
    pub fn new(body: Body) -> Self {
        Self { body, laid: RefCell::new(None) }
    }

    /// The message that is shown, if it is one.
    pub fn message(&self) -> Option<&Message> {
        match &self.body {
            Body::User(message) => Some(message),
            Body::Reply(versions) => Some(&versions.shown().message),
            Body::Unsaved(_) | Body::Called { .. } | Body::Notice { .. } => None,
        }
    }
}

/// What an entry is.
pub enum Body {
    User(Message),
    Reply(Versions),
    /// A reply that could not be saved.
    Unsaved(String),
    /// A tool was called, or not.
    Called {
        head: String,
        result: CallResult,
    },
    Notice {
        level: Level,
        text: String,
    },
}

/// One version of a reply.
#[derive(Debug)]
pub struct Version {
    pub message: Message,
    pub why: Option<Box<Why>>,
    pub why_known: bool,
    /// The model in use when it was written, as far as that is known.
    pub model: Option<String>,
}

impl Version {
    /// Of a message whose evidence is not known yet.
    fn read(message: Message) -> Self {
        Self { message, why: None, why_known: false, model: None }
    }
}

/// The versions of a reply, at least one, and which is shown.
#[derive(Debug)]
pub struct Versions {
    all: Vec<Version>,
    shown: usize,
}

impl Versions {
    fn new(first: Version) -> Self {
        Self { all: vec![first], shown: 0 }
    }

    pub fn shown(&self) -> &Version {
        &self.all[self.shown]
    }

    /// "‹2/3›", if there is more than one.
    pub fn place(&self) -> Option<String> {
        (self.all.len() > 1).then(|| format!("‹{}/{}›", self.shown + 1, self.all.len()))
    }

    pub fn ids(&self) -> Vec<MessageId> {
        self.all.iter().map(|v| v.message.id).collect()
    }

    fn has(&self, id: MessageId) -> bool {
        self.all.iter().any(|v| v.message.id == id)
    }

    /// The one before or after; `false` if there is none.
    fn step(&mut self, by: isize) -> bool {
        let to = self.shown.checked_add_signed(by).filter(|&to| to < self.all.len());
        self.shown = to.unwrap_or(self.shown);
        to.is_some()
    }

    /// One that was just written, or goes on.
    fn put(&mut self, version: Version) {
        if let Some(at) = self.all.iter().position(|v| v.message.id == version.message.id) {
            self.all[at] = version;
            self.shown = at;
        } else {
            self.all.push(version);
            self.shown = self.all.len() - 1;
        }
    }
}

/// Where an entry stood in the last frame: the rows of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub entry: usize,
    pub rows: Range<u16>,
}

/// A row of the conversation: an entry, or what comes after the last one, and a row of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Row {
    pub block: usize,
    pub row: usize,
}

/// A reply's text so far, as it is laid out.
pub struct LaidText {
    pub width: u16,
    pub text: String,
    pub lines: Laid,
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
    /// The replies in whose place it is written.
    pub replaced: Vec<MessageId>,
    /// The message on its way to disk.
    pub sending: Option<String>,
    /// Messages of this session that the model no longer reads word for word.
    pub n_dropped: usize,
    /// Whether what tools gave is shown whole.
    pub unfolded: bool,
    /// The entry that is chosen, while the messages have the focus.
    pub chosen: Option<usize>,
    /// The code block of it that was copied last.
    pub block: usize,
    /// First row shown; `None` follows the end.
    pub top: Cell<Option<Row>>,
    /// Rows to go on from there in the next frame, which knows how many there are.
    pub scroll_by: Cell<isize>,
    /// Cache: what is written of [`Self::live`]; emptied when the palette changes.
    pub live_laid: RefCell<Option<LaidText>>,
    /// To be chosen and shown once the chat is there.
    pub wanted: Option<MessageId>,
    /// The view is to scroll to the chosen entry.
    pub reveal_next: Cell<bool>,
    /// Set by the view: rows visible.
    pub visible: Cell<usize>,
    /// Set by the view: its column and those that it has.
    pub columns: Cell<(u16, u16)>,
    /// Set by the view: where the messages are.
    pub places: RefCell<Vec<Place>>,
}

impl Transcript {
    pub fn push(&mut self, body: Body) {
        self.entries.push(Entry::new(body));
    }

    /// The messages of a chat that was opened.
    pub fn fill(&mut self, messages: Vec<Message>, aside: &HashSet<MessageId>) {
        // Whether the versions so far have the one that is shown.
        let mut has_shown = false;
        for message in messages {
            if message.role == Role::User {
                self.push(Body::User(message));
                continue;
            }
            let is_aside = aside.contains(&message.id);
            if let Some(Entry { body: Body::Reply(versions), .. }) = self.entries.last_mut()
                && (is_aside || !has_shown)
            {
                versions.all.push(Version::read(message));
                if !is_aside {
                    versions.shown = versions.all.len() - 1;
                }
                has_shown |= !is_aside;
                continue;
            }
            has_shown = !is_aside;
            self.push(Body::Reply(Versions::new(Version::read(message))));
        }
    }

    /// A reply that is on disk: a new one, or another version of the one that it replaces.
    pub fn put_reply(&mut self, message: Message, Recorded { model, why }: Recorded) {
        let version = Version { message, why: why.map(Box::new), why_known: true, model };
        let replaced = std::mem::take(&mut self.replaced);
        let other = self.entries.iter_mut().rev().find_map(|entry| match &mut entry.body {
            Body::Reply(versions) if replaced.iter().any(|id| versions.has(*id)) => {
                entry.laid.replace(None);
                Some(versions)
            }
            _ => None,
        });
        match other {
            Some(versions) => versions.put(version),
            None => self.push(Body::Reply(Versions::new(version))),
        }
    }

    /// Whether this entry gives way to the reply that is being written.
    pub fn is_replaced(&self, entry: &Entry) -> bool {
        self.live.is_some()
            && matches!(&entry.body, Body::Reply(versions)
                if self.replaced.iter().any(|id| versions.has(*id)))
    }

    /// Ids of the replies shown, oldest first.
    pub fn replies(&self) -> Vec<MessageId> {
        let ids = self.entries.iter().filter_map(|e| match &e.body {
            Body::Reply(versions) => Some(versions.shown().message.id),
            _ => None,
        });
        ids.collect()
    }

    fn version(&self, id: MessageId) -> Option<&Version> {
        self.entries.iter().find_map(|e| match &e.body {
            Body::Reply(versions) => versions.all.iter().find(|v| v.message.id == id),
            _ => None,
        })
    }

    /// The evidence of a reply, and whether it is known.
    pub fn why(&self, id: MessageId) -> Option<(Option<&Why>, bool)> {
        self.version(id).map(|v| (v.why.as_deref(), v.why_known))
    }

    /// The evidence of these replies is known now: some, or that there is none.
    pub fn set_whys(&mut self, mut whys: HashMap<MessageId, Recorded>) {
        for entry in &mut self.entries {
            let Body::Reply(versions) = &mut entry.body else { continue };
            for version in &mut versions.all {
                if let Some(Recorded { model, why }) = whys.remove(&version.message.id) {
                    version.why = why.map(Box::new);
                    version.model = model.or(version.model.take());
                    version.why_known = true;
                    entry.laid.replace(None);
                }
            }
        }
    }

    /// The user's message before a reply.
    pub fn question_of(&self, id: MessageId) -> Option<&Message> {
        let at = self
            .entries
            .iter()
            .position(|e| matches!(&e.body, Body::Reply(versions) if versions.has(id)))?;
        self.entries[..at].iter().rev().find_map(|e| match &e.body {
            Body::User(message) => Some(message),
            _ => None,
        })
    }

    /// Another version of the chosen reply: that one, and all of them.
    pub fn turn(&mut self, by: isize) -> Option<(Message, Vec<MessageId>)> {
        let entry = self.entries.get_mut(self.chosen?)?;
        let Body::Reply(versions) = &mut entry.body else { return None };
        if !versions.step(by) {
            return None;
        }
        entry.laid.replace(None);
        Some((versions.shown().message.clone(), versions.ids()))
    }

    /// The entry of a message, whichever version it is.
    pub fn entry_of(&self, id: MessageId) -> Option<usize> {
        self.entries.iter().position(|entry| match &entry.body {
            Body::User(message) => message.id == id,
            Body::Reply(versions) => versions.has(id),
            Body::Unsaved(_) | Body::Called { .. } | Body::Notice { .. } => false,
        })
    }

    /// Whether nothing was said yet.
    pub fn is_empty(&self) -> bool {
        !self.entries.iter().any(|entry| entry.message().is_some())
    }

    pub fn scroll(&self, by: isize) {
        self.scroll_by.set(self.scroll_by.get().saturating_add(by));
    }

    /// Whether the newest is shown, and what is to come will be.
    pub fn follows(&self) -> bool {
        self.top.get().is_none() && self.scroll_by.get() >= 0
    }

    /// To the end.
    pub fn follow(&self) {
        self.top.set(None);
        self.scroll_by.set(0);
    }

    /// To the beginning.
    pub fn begin(&self) {
        self.top.set(Some(Row::default()));
        self.scroll_by.set(0);
    }

    pub fn busy(&self) -> bool {
        self.phase != PhaseName::Idle || self.sending.is_some()
    }
}
