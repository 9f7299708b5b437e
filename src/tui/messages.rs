//! A message that is chosen: copied, written anew, answered again, gone on with, turned to another version.

use crossterm::event::{KeyCode, KeyEvent};

use crate::chat::{Command, Forked};
use crate::memory::{Message, MessageId, Role, own_words, plain_text};
use crate::store::AnyId;
use crate::texts::{plural, text};
use crate::tui::code_blocks::code_blocks;
use crate::tui::event::{Effect, StoreRequest};
use crate::tui::keys::{Action, Context};
use crate::tui::panes;
use crate::tui::state::{Editing, Focus, Overlay, State};
use crate::tui::transcript::{Body, Transcript};
use crate::tui::why::Why;

/// Chooses the newest message, or the one before the chosen one.
pub(super) fn up(state: &mut State) {
    let transcript = &state.transcript;
    let from = match (state.focus, transcript.chosen) {
        (Focus::Messages, Some(at)) => at,
        _ => transcript.entries.len(),
    };
    match before(transcript, from) {
        Some(at) => choose(state, at),
        None if state.focus != Focus::Messages => state.say(text!("There is no message yet.")),
        None => {}
    }
}

fn before(transcript: &Transcript, from: usize) -> Option<usize> {
    (0..from).rev().find(|&at| transcript.entries[at].message().is_some())
}

fn after(transcript: &Transcript, from: usize) -> Option<usize> {
    (from + 1..transcript.entries.len()).find(|&at| transcript.entries[at].message().is_some())
}

/// Chooses an entry.
pub(super) fn choose(state: &mut State, entry: usize) {
    state.focus = Focus::Messages;
    state.transcript.chosen = Some(entry);
    state.transcript.block = 0;
    state.transcript.reveal_next.set(true);
}

/// Chooses the message that was clicked on.
pub(super) fn click(state: &mut State, column: u16, row: u16) {
    let transcript = &state.transcript;
    let (left, width) = transcript.columns.get();
    if !(left..left.saturating_add(width)).contains(&column) {
        return;
    }
    let places = transcript.places.borrow();
    let hit = places.iter().find(|place| place.rows.contains(&row)).map(|place| place.entry);
    drop(places);
    match hit {
        Some(entry) => choose(state, entry),
        None => leave(state),
    }
}

/// Chooses the message that was looked for, once its chat is there.
pub(super) fn show_wanted(state: &mut State) {
    let Some(id) = state.transcript.wanted else { return };
    if let Some(entry) = state.transcript.entry_of(id) {
        state.transcript.wanted = None;
        choose(state, entry);
    }
}

/// Back to the input.
pub(super) fn leave(state: &mut State) {
    if state.focus == Focus::Messages {
        state.focus = Focus::Input;
        state.transcript.chosen = None;
        state.transcript.follow();
    }
}

/// The chosen message.
fn chosen(state: &State) -> Option<&Message> {
    state.transcript.entries.get(state.transcript.chosen?)?.message()
}

/// One key while a message is chosen; `None` if it is the chat's.
pub(super) fn on_key(state: &mut State, key: KeyEvent) -> Option<Vec<Effect>> {
    let Some(message) = chosen(state).cloned() else {
        leave(state);
        return None;
    };
    let Some(action) = state.keys.lookup(Context::Messages, key) else {
        // Somebody begins a command.
        if key.code == KeyCode::Char('/') && state.editor.is_empty() {
            leave(state);
            return None;
        }
        // A wrong letter must not write into the message.
        let letter = matches!(key.code, KeyCode::Char(_));
        return (letter && state.keys.lookup(Context::Chat, key).is_none()).then(Vec::new);
    };
    Some(run(state, action, message))
}

fn run(state: &mut State, action: Action, message: Message) -> Vec<Effect> {
    let at = state.transcript.chosen.unwrap_or_default();
    match action {
        Action::Up => up(state),
        Action::Down => match after(&state.transcript, at) {
            Some(at) => choose(state, at),
            None => leave(state),
        },
        Action::First => {
            if let Some(first) = after_or_at(&state.transcript, 0) {
                choose(state, first);
            }
        }
        Action::Left => return turn(state, -1),
        Action::Right => return turn(state, 1),
        Action::Copy => {
            state.say(text!("Copied (if your terminal allows it)."));
            return vec![Effect::Copy(plain_text(&message.content).into_owned())];
        }
        Action::CopyCode => return copy_code(state, &message),
        Action::Edit => edit(state, &message),
        Action::Retry => return retry(state, at, &message),
        Action::GoOn => {
            leave(state);
            return vec![Effect::Chat(Command::Continue)];
        }
        Action::Fork => {
            leave(state);
            let (parent, before) = (message.session, MessageId(message.id.0 + 1));
            return vec![Effect::Chat(Command::Fork { parent, before, then: Forked::Nothing })];
        }
        Action::Why if message.role == Role::Assistant => {
            leave(state);
            return panes::open_why_of(state, message.id);
        }
        Action::Forget if state.incognito => state.say(text!("Nothing of this chat is kept.")),
        Action::Forget => {
            let ids = vec![AnyId::Message(message.id)];
            return vec![Effect::Store(StoreRequest::PlanForget { ids, matching: None })];
        }
        Action::ForgetGrounds if message.role == Role::Assistant => {
            let ids = grounds(state, message.id);
            if ids.is_empty() {
                state.say(text!("It rests on nothing that is remembered."));
                return Vec::new();
            }
            return vec![Effect::Store(StoreRequest::PlanForget { ids, matching: None })];
        }
        Action::Help => state.overlay = Some(Overlay::Help { scroll: 0 }),
        Action::Close => leave(state),
        _ => {}
    }
    Vec::new()
}

/// What a reply quotes, or was shown.
fn grounds(state: &State, reply: MessageId) -> Vec<AnyId> {
    let why = state.transcript.why(reply).and_then(|(why, _)| why);
    why.map(Why::grounds).unwrap_or_default()
}

fn after_or_at(transcript: &Transcript, at: usize) -> Option<usize> {
    (at..transcript.entries.len()).find(|&at| transcript.entries[at].message().is_some())
}

fn turn(state: &mut State, by: isize) -> Vec<Effect> {
    if state.transcript.busy() {
        state.say_busy();
        return Vec::new();
    }
    match state.transcript.turn(by) {
        Some((chosen, others)) => vec![Effect::Chat(Command::Choose { chosen, others })],
        None => Vec::new(),
    }
}

/// The next of its code blocks to the clipboard.
fn copy_code(state: &mut State, message: &Message) -> Vec<Effect> {
    let blocks = code_blocks(&message.content);
    let n = blocks.len();
    let Some(block) = blocks.into_iter().nth(state.transcript.block % n.max(1)) else {
        state.say(text!("There is no code in this message."));
        return Vec::new();
    };
    let at = state.transcript.block % n;
    state.transcript.block = at + 1;
    let lines = plural!("{n} line", "{n} lines", block.code.lines().count());
    state.say(if n == 1 {
        text!("Copied the code: {lines}.", lines)
    } else {
        let next = state.keys.of(Context::Messages, Action::CopyCode);
        text!(
            "Copied block {n} of {of}: {lines}. {key} copies the next.",
            n = at + 1,
            of = n,
            lines,
            key = next
        )
    });
    vec![Effect::Copy(plain_text(&block.code).into_owned())]
}

/// The person's own message goes back into the input; what stood there comes back afterwards.
fn edit(state: &mut State, message: &Message) {
    if message.role != Role::User {
        let retry = state.keys.of(Context::Messages, Action::Retry);
        state.say(text!(
            "Only your own messages can be written anew; {key} asks for another answer.",
            key = retry
        ));
        return;
    }
    leave(state);
    let draft = match state.editing.take() {
        Some(editing) => editing.draft,
        None => state.editor.text(),
    };
    state.editing = Some(Editing { session: message.session, message: message.id, draft });
    // What was attached is read again, where the words name it.
    state.editor.set(own_words(&message.content));
}

/// Leaves the message that is written anew as it was.
pub(super) fn stop_editing(state: &mut State) -> bool {
    let Some(editing) = state.editing.take() else { return false };
    state.editor.set(&editing.draft);
    true
}

/// Another answer: a version beside the last one, or, further up, a chat of its own.
fn retry(state: &mut State, at: usize, message: &Message) -> Vec<Effect> {
    let transcript = &state.transcript;
    let is_user = |at: &usize| matches!(transcript.entries[*at].body, Body::User(_));
    let question = if message.role == Role::User { Some(at) } else { (0..at).rev().find(is_user) };
    let question = question.and_then(|at| Some((at, transcript.entries[at].message()?.clone())));
    let Some((at, question)) = question else {
        state.say(text!("Nothing was asked before this."));
        return Vec::new();
    };
    let is_last = !(at + 1..transcript.entries.len()).any(|at| is_user(&at));
    leave(state);
    let (parent, before) = (question.session, MessageId(question.id.0 + 1));
    vec![Effect::Chat(if is_last {
        Command::Regenerate
    } else {
        Command::Fork { parent, before, then: Forked::Answer }
    })]
}

/// What can be done with the chosen message: "c copy · r another answer · Esc back".
pub(super) fn hints(state: &State) -> String {
    let Some(message) = chosen(state) else { return String::new() };
    let entry = state.transcript.chosen.and_then(|at| state.transcript.entries.get(at));
    let is_last = state.transcript.chosen.is_some_and(|at| after(&state.transcript, at).is_none());
    let is_user = message.role == Role::User;
    let has_versions =
        matches!(entry.map(|e| &e.body), Some(Body::Reply(v)) if v.place().is_some());
    let possible = |action: Action| match action {
        Action::Copy | Action::Retry | Action::Fork | Action::Close => true,
        Action::CopyCode => !code_blocks(&message.content).is_empty(),
        Action::Edit => is_user,
        Action::GoOn => is_last && !is_user && !message.complete,
        Action::Left => has_versions,
        Action::Why => !is_user,
        Action::Forget => !state.incognito,
        Action::ForgetGrounds => !state.incognito && !grounds(state, message.id).is_empty(),
        _ => false,
    };
    state.keys.hints_of(Context::Messages, &possible)
}
