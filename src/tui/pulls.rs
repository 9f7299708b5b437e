//! Downloading a model in the chat: what is offered, the question before it, and how far it has come.

use crate::chat::{Command, Level};
use crate::interfaces::PullableModel;
use crate::memory::{Moment, plain_text};
use crate::tui::editor::size_of;
use crate::tui::event::Effect;
use crate::tui::keys::Action;
use crate::tui::pickers::{Item, Pick};
use crate::tui::state::{Confirm, Confirmed, Overlay, State};

/// How far a download has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Pull {
    pub name: String,
    pub bytes: u64,
    /// 0 if it is not known.
    pub total_bytes: u64,
    /// When the first bytes of this try came, and how many were here then.
    pub since: Option<(Moment, u64)>,
    pub now: Moment,
}

impl Pull {
    /// "↓ qwen3-0.6b 120.0 MB of 397.0 MB · 3.1 MB/s · 2 min left".
    pub fn text(&self) -> String {
        let mut text = format!("↓ {} {}", plain_text(&self.name), size_of(self.bytes as usize));
        if self.total_bytes > 0 {
            text = format!("{text} of {}", size_of(self.total_bytes as usize));
        }
        let Some((since, before)) = self.since else { return text };
        let seconds = (self.now.as_millisecond() - since.as_millisecond()) as f64 / 1e3;
        let rate = self.bytes.saturating_sub(before) as f64 / seconds;
        if seconds < 1.0 || rate < 1.0 {
            return text;
        }
        text = format!("{text} · {}/s", size_of(rate as usize));
        let left = self.total_bytes.saturating_sub(self.bytes) as f64 / rate;
        match left as u64 {
            _ if self.total_bytes == 0 => text,
            0..90 => format!("{text} · {left:.0} s left"),
            _ => format!("{text} · {:.0} min left", (left / 60.0).ceil()),
        }
    }
}

/// What can be downloaded: what fits this machine first, and the best of that at the top; the one that is coming can be stopped.
pub(super) fn items(mut models: Vec<PullableModel>, pull: Option<&Pull>) -> Vec<Item> {
    models.sort_by_key(|m| (!m.recommended, !m.fits, m.bytes));
    let item = |m: PullableModel| {
        if let Some(pull) = pull.filter(|pull| pull.name == m.name) {
            return Item::new(pull.text(), "stop", Pick::StopPull);
        }
        let says = match (m.fits, m.recommended) {
            (false, _) => "too large here",
            (true, true) => "recommended",
            (true, false) => m.good_at.as_str(),
        };
        let detail = format!("download {} · {says}", size_of(m.bytes as usize));
        Item::new(m.name.clone(), detail, Pick::Pull(m))
    };
    models.into_iter().map(item).collect()
}

/// Nothing is fetched before the person has seen what and from where.
pub(super) fn ask(state: &mut State, model: &PullableModel) {
    let mut lines = vec![
        format!("{}, about {}, {}", model.name, size_of(model.bytes as usize), model.licence),
        format!("from {}", model.from),
        String::new(),
        "The file is checked before it is used. Nothing that you said leaves this machine, and you can go on chatting \
         meanwhile."
            .into(),
    ];
    if !model.fits {
        lines.push(String::new());
        lines.push("It is too large for this machine's memory, and would be very slow.".into());
    }
    state.overlay = Some(Overlay::Confirm(Confirm {
        title: "Download this model?".into(),
        lines,
        yes: "download".into(),
        then: Confirmed::Pull(model.name.clone()),
        other: None,
        scroll: 0,
        armed: 0,
    }));
}

/// Begins a download, unless one is under way.
pub(super) fn begin(state: &mut State, name: String) -> Vec<Effect> {
    if let Some(pull) = &state.pull {
        let stop = state.key(Action::Escape);
        let text = format!("{} is being downloaded; one at a time. {stop} stops it.", pull.name);
        state.say(text);
        return Vec::new();
    }
    let now = state.now;
    state.pull = Some(Pull { name: name.clone(), bytes: 0, total_bytes: 0, since: None, now });
    vec![Effect::Chat(Command::Pull(name))]
}

pub(super) fn progress(state: &mut State, name: &str, bytes: u64, total_bytes: u64) {
    let Some(pull) = state.pull.as_mut().filter(|pull| pull.name == name) else { return };
    // Another file of the same model.
    if bytes < pull.bytes {
        pull.since = None;
    }
    pull.since.get_or_insert((state.now, bytes));
    (pull.bytes, pull.total_bytes, pull.now) = (bytes, total_bytes, state.now);
}

/// `result`: whether it is here, or why not.
pub(super) fn ended(state: &mut State, name: &str, result: Result<bool, String>) {
    state.pull = None;
    match result {
        Ok(true) => {
            let text = format!("{name} is here, checked, and used from now on.");
            state.notice(Level::Info, text);
        }
        Ok(false) => state.say("Stopped. What has come is kept: choose it again to go on."),
        Err(error) => {
            let text = format!("{name} could not be downloaded: {error}. What has come is kept.");
            state.notice(Level::Error, text);
        }
    }
}
