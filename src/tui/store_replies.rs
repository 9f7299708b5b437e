//! What the store's thread replies → what the screen shows.

use crate::chat::{Command, Level};
use crate::memory::plain_text;
use crate::tui::event::{Effect, Greeting, StoreReply, StoreRequest};
use crate::tui::state::{Body, Confirm, Confirmed, Overlay, Pane, PickerKind, State};
use crate::tui::why::Why;
use crate::tui::{count, panes, pickers};

/// Applies one reply.
pub(super) fn apply(state: &mut State, reply: StoreReply) -> Vec<Effect> {
    match reply {
        StoreReply::Tree(tree) => panes::set_tree(state, tree),
        StoreReply::Messages { episode, messages } => panes::set_messages(state, episode, messages),
        StoreReply::Greeting(greeting) => state.greeting = greeting,
        StoreReply::Sessions(sessions) => {
            let items = pickers::session_items(&sessions, state.now);
            pickers::fill(state, PickerKind::Sessions, items);
        }
        StoreReply::Models(models) => {
            pickers::fill(state, PickerKind::Models, pickers::model_items(&models));
        }
        StoreReply::History(history) => {
            state.editor.set_history(history);
            let items = pickers::history_items(&state.editor.history);
            pickers::fill(state, PickerKind::History, items);
        }
        StoreReply::Why { message, record } => {
            for entry in &mut state.transcript.entries {
                if let Body::Reply { message: m, why, why_known } = &mut entry.body
                    && m.id == message
                {
                    *why = record.as_ref().and_then(Why::of).map(Box::new);
                    *why_known = true;
                    entry.laid.replace(None);
                }
            }
        }
        StoreReply::ForgetPlan { plan, lines } => {
            if plan.messages.is_empty() && plan.semantics.is_empty() {
                state.say("Nothing in memory matches that.");
            } else {
                state.overlay = Some(Overlay::Confirm(Confirm {
                    title: "Forget this for good?".into(),
                    lines,
                    yes: "forget".into(),
                    then: Confirmed::Forget(Box::new(plan)),
                    scroll: 0,
                }));
            }
        }
        StoreReply::Forgotten { n_messages, n_facts } => {
            state.notice(
                Level::Info,
                format!(
                    "Forgotten: {}, {}. Nothing of it is left on this disk.",
                    count(n_messages, "message", "messages"),
                    count(n_facts, "fact", "facts"),
                ),
            );
            let mut effects = vec![Effect::Chat(Command::Reload)];
            effects.extend(forgotten(state));
            return effects;
        }
        StoreReply::Edited => {
            state.say("Corrected. /undo takes it back.");
            return refresh(state);
        }
        StoreReply::Undone(what) => {
            match what {
                Some(what) => state.say(format!("Undone: {what}.")),
                None => state.say("There is nothing to undo."),
            }
            return refresh(state);
        }
        StoreReply::Exported(path) => {
            let path = plain_text(&path.display().to_string()).into_owned();
            state.notice(Level::Info, format!("Saved as {path} (readable by you alone)."));
        }
        StoreReply::Failed { what, error } => {
            // It may tell of what was forgotten and is not yet off the disk.
            state.greeting = Greeting::default();
            if let (Some(Pane::Memory(pane)), "read the memory") = (&mut state.pane, what) {
                pane.error = Some(error.clone());
            }
            state.notice(Level::Error, format!("Could not {what}: {error}."));
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

/// Reads again what is shown of the memory.
pub(super) fn refresh(state: &State) -> Vec<Effect> {
    let tree = matches!(state.pane, Some(Pane::Memory(_))).then_some(StoreRequest::Tree);
    let greeting = state.transcript.entries.is_empty().then_some(StoreRequest::Greeting);
    tree.into_iter().chain(greeting).map(Effect::Store).collect()
}
