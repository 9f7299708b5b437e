//! What the store's thread replies → what the screen shows.

use crate::chat::{Command, Level};
use crate::memory::plain_text;
use crate::texts::{self, plural, text};
use crate::tui::event::{Effect, Greeting, StoreReply, StoreRequest};
use crate::tui::pickers::PickerKind;
use crate::tui::state::{Pane, State};
use crate::tui::store_thread::READ_MEMORY;
use crate::tui::update::{deliver, take_back};
use crate::tui::why::Recorded;
use crate::tui::{files, forgetting, panes, pickers, prompts, pulls};

/// Applies one reply.
pub(super) fn apply(state: &mut State, reply: StoreReply) -> Vec<Effect> {
    match reply {
        StoreReply::Tree(tree) => {
            panes::set_tree(state, tree);
            return read_again(state);
        }
        StoreReply::Messages { episode, messages } => panes::set_messages(state, episode, messages),
        StoreReply::Greeting(greeting) => state.greeting = greeting,
        StoreReply::Sessions(sessions) => {
            let items = pickers::session_items(&sessions, state.now);
            pickers::fill(state, PickerKind::Sessions, items);
        }
        StoreReply::Found { query, found } => {
            let again = pickers::set_found(state, &query, found).map(StoreRequest::Find);
            return again.into_iter().map(Effect::Store).collect();
        }
        StoreReply::Attached(Ok(text)) => {
            state.transcript.sending = None;
            return deliver(state, text);
        }
        StoreReply::Attached(Err((why, text))) => {
            state.transcript.sending = None;
            take_back(state, &text);
            state.say(text!("Not sent: {why}.", why));
        }
        StoreReply::CompletedPath { word, completed, names } => {
            if state.editor.replace_word(&word, &completed) && completed == word {
                state.say(files::listed(&names));
            }
        }
        StoreReply::Done => {}
        StoreReply::Models { installed, pullable } => {
            let in_use = state.model.profile().map(|profile| profile.name.clone());
            let mut items = pickers::model_items(&installed, in_use.as_deref());
            items.extend(pulls::items(pullable, state.pull.as_ref()));
            pickers::fill(state, PickerKind::Models, items);
        }
        StoreReply::Roles { roles, unusable } => {
            pickers::fill(state, PickerKind::Roles, pickers::role_items(roles, unusable));
        }
        StoreReply::Prompts { prompts, unusable } => prompts::set(state, prompts, unusable),
        StoreReply::Role(Ok(role)) => return vec![Effect::Chat(Command::Role(Some(role.into())))],
        StoreReply::Role(Err(why)) => state.notice(Level::Warning, why),
        StoreReply::History(history) => {
            state.editor.set_history(history);
            let items = pickers::history_items(&state.editor.history);
            pickers::fill(state, PickerKind::History, items);
        }
        StoreReply::Why { message, record } => {
            return panes::put_whys(
                state,
                [(message, record.as_ref().map(Recorded::of).unwrap_or_default())].into(),
            );
        }
        StoreReply::Whys(whys) => return panes::put_whys(state, whys),
        StoreReply::Grounds { reply, said } => panes::put_grounds(state, reply, said),
        StoreReply::ForgetPlan { plan, lines, other } => {
            forgetting::ask(state, plan, lines, other);
        }
        StoreReply::NothingAbout { what, text } => {
            take_back(state, &text);
            state.say(text!(
                "I know nothing of {what}. /forget and a word of it looks for that word.",
                what
            ));
        }
        StoreReply::Forgotten { n_messages, n_facts, n_blotted } => {
            state.notice(Level::Info, gone(n_messages, n_facts, n_blotted));
            let mut effects = vec![Effect::Chat(Command::Reload)];
            effects.extend(forgotten(state));
            return effects;
        }
        StoreReply::Edited => {
            state.say(text!("Corrected. /undo takes it back."));
            return refresh(state);
        }
        StoreReply::Undone(what) => {
            match what {
                Some(what) => state.say(text!("Undone: {what}.", what = deed(&what))),
                None => state.say(text!("There is nothing of yours to undo.")),
            }
            return refresh(state);
        }
        StoreReply::Exported(path) => {
            let path = plain_text(&path.display().to_string()).into_owned();
            state.notice(Level::Info, text!("Saved as {path} (readable by you alone).", path));
        }
        StoreReply::Failed { what, error } => {
            // It may tell of what was forgotten and is not yet off the disk.
            state.greeting = Greeting::default();
            if let (Some(Pane::Memory(pane)), READ_MEMORY) = (&mut state.pane, what) {
                (pane.error, pane.reading) = (Some(error.clone()), false);
            }
            let what = texts::lookup(what);
            state.notice(Level::Error, text!("Could not {what}: {error}.", what, error));
        }
    }
    Vec::new()
}

/// Drops what may hold what was forgotten, and reads it again.
pub(super) fn forgotten(state: &mut State) -> Vec<Effect> {
    state.greeting = Greeting::default();
    let mut effects = vec![Effect::Store(StoreRequest::History)];
    effects.extend(refresh(state));
    effects
}

/// Reads the memory again, if it changed while it was being read.
fn read_again(state: &mut State) -> Vec<Effect> {
    let Some(Pane::Memory(pane)) = &mut state.pane else { return Vec::new() };
    pane.reading = std::mem::take(&mut pane.stale);
    let tree = Effect::Store(StoreRequest::Tree { learned: pane.learned });
    pane.reading.then_some(tree).into_iter().collect()
}

/// Reads again what is shown of the memory.
pub(super) fn refresh(state: &mut State) -> Vec<Effect> {
    let tree = match &mut state.pane {
        // A large memory takes a while, and is written to more often.
        Some(Pane::Memory(pane)) => {
            pane.stale = pane.reading;
            let tree = StoreRequest::Tree { learned: pane.learned };
            (!std::mem::replace(&mut pane.reading, true)).then_some(tree)
        }
        _ => None,
    };
    let greeting = state.transcript.entries.is_empty().then_some(StoreRequest::Greeting);
    tree.into_iter().chain(greeting).map(Effect::Store).collect()
}

/// What was undone, by the store's words for it.
fn deed(what: &str) -> String {
    match (what.strip_prefix("edit of "), what.strip_prefix("rename of ")) {
        (Some(id), _) => text!("edit of {id}", id),
        (_, Some(id)) => text!("rename of {id}", id),
        (None, None) => what.to_owned(),
    }
}

/// What is gone, and whether anything is left of it.
fn gone(n_messages: usize, n_facts: usize, n_blotted: usize) -> String {
    let facts = plural!("{n} fact", "{n} facts", n_facts);
    let messages = |n| plural!("{n} message", "{n} messages", n);
    let said = match (n_messages, n_blotted) {
        (0, 1..) => {
            text!("Forgotten: these words, in {messages}.", messages = messages(n_blotted))
        }
        (0, 0) => {
            return text!("Forgotten: {facts}. What was said stays in its chat.", facts);
        }
        _ => text!("Forgotten: {messages}, {facts}.", messages = messages(n_messages), facts),
    };
    format!("{said} {}", text!("Nothing of it is left on this disk."))
}
