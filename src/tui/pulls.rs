//! Downloading a model in the chat: what is offered, the question before it, and how far it has come.

use crate::chat::{Command, Level};
use crate::interfaces::PullableModel;
use crate::memory::{Moment, plain_text};
use crate::texts::{self, text};
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
            text = text!("{size} of {all}", size = text, all = size_of(self.total_bytes as usize));
        }
        let Some((since, before)) = self.since else { return text };
        let seconds = (self.now.as_millisecond() - since.as_millisecond()) as f64 / 1e3;
        let rate = self.bytes.saturating_sub(before) as f64 / seconds;
        if seconds < 1.0 || rate < 1.0 {
            return text;
        }
        text = text!("{size} · {rate}/s", size = text, rate = size_of(rate as usize));
        let left = self.total_bytes.saturating_sub(self.bytes) as f64 / rate;
        match left as u64 {
            _ if self.total_bytes == 0 => text,
            0..90 => format!("{text} · {}", text!("{n} s left", n = left.round())),
            _ => format!("{text} · {}", text!("{n} min left", n = (left / 60.0).ceil())),
        }
    }
}

/// What can be downloaded: what fits this machine first, and the best of that at the top; the one that is coming can be stopped.
pub(super) fn items(mut models: Vec<PullableModel>, pull: Option<&Pull>) -> Vec<Item> {
    models.sort_by_key(|m| (!m.recommended, !m.fits, m.bytes));
    let item = |m: PullableModel| {
        if let Some(pull) = pull.filter(|pull| pull.name == m.name) {
            return Item::new(pull.text(), text!("stop"), Pick::StopPull);
        }
        let says = match (m.fits, m.recommended) {
            (false, _) => text!("too large here"),
            (true, true) => text!("recommended"),
            (true, false) => &text!("fits · {what}", what = texts::lookup(&m.good_at)),
        };
        let detail =
            text!("download {size} · {what}", size = size_of(m.bytes as usize), what = says);
        Item::new(m.name.clone(), detail, Pick::Pull(m))
    };
    models.into_iter().map(item).collect()
}

/// Nothing is fetched before the person has seen what and from where.
pub(super) fn ask(state: &mut State, model: &PullableModel) {
    let mut lines = vec![
        text!(
            "{name}, about {size}, {licence}",
            name = model.name,
            size = size_of(model.bytes as usize),
            licence = model.licence
        ),
        text!("from {place}", place = model.from),
        String::new(),
        text!(
            "The file is checked before it is used. Nothing that you said leaves this machine, and you can go on chatting \
             meanwhile."
        )
        .into(),
    ];
    if !model.fits {
        lines.push(String::new());
        lines.push(
            text!("It is too large for this machine's memory, and would be very slow.").into(),
        );
    }
    state.overlay = Some(Overlay::Confirm(Confirm {
        title: text!("Download this model?").into(),
        lines,
        yes: text!("download").into(),
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
        let text = text!(
            "{name} is being downloaded; one at a time. {key} stops it.",
            name = pull.name,
            key = stop
        );
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
            let text = text!("{name} is here, checked, and used from now on.", name);
            state.notice(Level::Info, text);
        }
        Ok(false) => state.say(text!("Stopped. What has come is kept: choose it again to go on.")),
        Err(error) => {
            let text = text!(
                "{name} could not be downloaded: {error}. What has come is kept.",
                name,
                error
            );
            state.notice(Level::Error, text);
        }
    }
}
