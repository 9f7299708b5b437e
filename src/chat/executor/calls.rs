//! Tools on the thread of a job: servers are started, offered to the model, called.

use std::mem;
use std::thread;

use crate::chat::driver::Input;
use crate::chat::executor::jobs::Job;
use crate::chat::executor::{Executor, lock};
use crate::chat::machine::{Level, Update};
use crate::chat::tools::{Call, CallResult, ToolUse, ToolsStatus, listed};
use crate::error_chain::error_chain;
use crate::mcp::{Offered, Servers};
use crate::memory::plain_text;
use crate::store;
use crate::texts::{key, text};

/// No token is longer, but for runs of blanks.
const TOKEN_BYTES: usize = 16;

/// The tools that go with a prompt.
#[derive(Default)]
pub(super) struct Offer {
    pub(super) tools: Vec<Offered>,
    /// Each as a line of JSON.
    pub(super) lines: Vec<String>,
    /// What a call stands between.
    pub(super) marks: Option<[&'static str; 2]>,
}

impl Executor {
    /// Servers that run now, or could.
    pub(in crate::chat) fn tools_status(&self, on: bool) -> ToolsStatus {
        let of = |configs: &Vec<_>| match &*lock(&self.servers) {
            Some(servers) => servers.states(),
            None => Servers::new(configs).states(),
        };
        ToolsStatus { servers: self.parts.allowed.tools.as_ref().map(of).map_err(Clone::clone), on }
    }

    /// Ends the servers, on a thread of its own: some take their time.
    pub(super) fn stop_tools(&mut self) {
        let servers = mem::take(&mut self.servers);
        let _ = thread::Builder::new().name("mcp-end".into()).spawn(move || lock(&servers).take());
    }

    /// Ends them before it returns.
    pub(in crate::chat) fn end_tools(&mut self) {
        self.cancel();
        lock(&self.servers).take();
    }
}

impl Job {
    /// What goes with the prompt; starts the servers that were not needed before.
    pub(super) fn offer(&self, tools: ToolUse, send: &mut dyn FnMut(Input)) -> Offer {
        let model = self.models.language.as_ref();
        let (Some(marks), Ok(configs)) = (model.call_marks(), &self.parts.allowed.tools) else {
            return Offer::default();
        };
        match tools {
            ToolUse::None => return Offer::default(),
            ToolUse::Over => return Offer { marks: Some(marks), ..Offer::default() },
            ToolUse::Offered | ToolUse::Required => {}
        }
        let mut servers = lock(&self.servers);
        let servers = servers.get_or_insert_with(|| Servers::new(configs));
        let is_start = servers.are_waiting();
        if is_start {
            send(Input::Tell(Update::Progress(text!("starting the tools' servers").into())));
            for (name, why) in servers.start(&self.cancel) {
                let text = text!(
                    "The server `{name}` offers no tools: {why}. /tools lists them all.",
                    name,
                    why
                );
                send(Input::Tell(Update::Notice { level: Level::Warning, text }));
            }
            send(Input::Tell(Update::Progress(String::new())));
        }
        let mut offer = Offer { marks: Some(marks), ..Offer::default() };
        let (mut room, mut n_left_out) = (self.budgets().0 / 4, 0);
        for tool in servers.tools() {
            let line = listed(&tool);
            let fits = line.len() <= room * TOKEN_BYTES;
            match fits.then(|| model.encode(&line).len()).filter(|&n| n <= room) {
                Some(n_tokens) => {
                    room -= n_tokens;
                    offer.tools.push(tool);
                    offer.lines.push(line);
                }
                None => n_left_out += 1,
            }
        }
        if is_start && n_left_out > 0 {
            let text = text!(
                "The model's window has no room for all tools: {n} are left out, {offered} are offered.",
                n = n_left_out,
                offered = offer.tools.len()
            );
            send(Input::Tell(Update::Notice { level: Level::Warning, text }));
        }
        // After a call there may be another, even if its server has failed since.
        offer.marks =
            offer.marks.filter(|_| !offer.lines.is_empty() || !self.request.exchanges.is_empty());
        offer
    }

    /// Runs a tool; what came of it, as the model and the person read it.
    pub(super) fn call(&self, call: &Call) -> CallResult {
        if let Some(file) = &self.parts.allowed.audit
            && let Err(error) = store::audit(file, "tool call", 0)
        {
            let why = error_chain(&error);
            return CallResult::error(format!(
                "Nothing was called, since it can't be noted: {why}."
            ));
        }
        let mut servers = lock(&self.servers);
        let Some(servers) = servers.as_mut() else {
            return CallResult::error(key!("No server runs."));
        };
        match servers.call(&call.server, &call.tool, &call.arguments, &self.cancel) {
            Ok(result) => {
                let text = self.cut(&result.text);
                CallResult { text, is_error: result.is_error }
            }
            Err(why) => CallResult::error(self.cut(&format!("The server failed: {why}."))),
        }
    }

    /// A result that fits into a quarter of the window, in plain text; it says if it was cut.
    fn cut(&self, text: &str) -> String {
        let text = plain_text(text);
        let text = text.trim();
        let tokens_max = self.budgets().0 / 4;
        let beginning = &text[..text.floor_char_boundary(tokens_max * TOKEN_BYTES)];
        let model = self.models.language.as_ref();
        let tokens = model.encode(beginning);
        if tokens.len() <= tokens_max && beginning.len() == text.len() {
            return text.to_owned();
        }
        let kept = model.decode(&tokens[..tokens.len().min(tokens_max)]);
        let kept = kept.trim_end_matches(char::REPLACEMENT_CHARACTER);
        let (n, of) = (kept.chars().count(), text.chars().count());
        format!("{kept}\n[cut here: the first {n} of {of} characters]")
    }
}
