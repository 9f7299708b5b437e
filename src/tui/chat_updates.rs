//! What the chat says → what the screen shows.

use crate::chat::{Level, ModelProfile, PhaseName, SavedReply, Update};
use crate::memory::SessionId;
use crate::store::Conversation;
use crate::texts::text;
use crate::tui::event::{Effect, StoreRequest};
use crate::tui::state::{Focus, ModelLine, Pane, State, WhyPane};
use crate::tui::transcript::{Body, Entry};
use crate::tui::update::{submit, take_back};
use crate::tui::why::Recorded;
use crate::tui::{messages, panes, pulls, store_replies, tools};

/// Ticks. Who waits longer for a reply may have turned to something else.
const LONG: u64 = 50;

/// Applies one update.
pub(super) fn apply(state: &mut State, update: Update) -> Vec<Effect> {
    match update {
        Update::Loading { name } => {
            // The default model has no name here; the screen begins with it.
            if let Some(name) = name {
                let still = state.model.profile().cloned();
                state.model = ModelLine::Loading { name, progress: None, still };
            }
        }
        Update::LoadProgress(now) => {
            if let ModelLine::Loading { progress, .. } = &mut state.model {
                *progress = Some(now);
            }
        }
        Update::Pulling { name, bytes, total_bytes } => {
            pulls::progress(state, &name, bytes, total_bytes);
        }
        Update::Pulled { name, result } => pulls::ended(state, &name, result),
        Update::Ready(profile) => ready(state, profile),
        Update::Sampling(settings) => state.sampling.chat = settings,
        Update::LoadFailed { error, still } => load_failed(state, &error, still),
        Update::Phase(phase) => {
            set_phase(state, phase);
            if phase != PhaseName::Idle {
                state.busy_since.get_or_insert(state.tick);
                return Vec::new();
            }
            state.unsay_busy();
            if let Some((text, kind)) = state.queue.pop_front() {
                return submit(state, text, kind);
            }
            let since = state.busy_since.take();
            if state.looks_elsewhere && since.is_some_and(|since| state.tick - since >= LONG) {
                return vec![Effect::Notify(text!("inglenook: the reply is there").into())];
            }
        }
        Update::Progress(text) => state.transcript.progress = text,
        Update::UserMessage { title, message } => {
            state.transcript.session = Some(message.session);
            state.transcript.title = title;
            state.transcript.sending = None;
            state.transcript.push(Body::User(message));
            state.transcript.follow();
        }
        Update::Returned { text } => {
            state.transcript.sending = None;
            take_back(state, &text);
        }
        Update::ReplyText(piece) => {
            state.transcript.live.get_or_insert_default().push_str(&piece);
        }
        Update::ReplyDone(SavedReply { message, record, tokens_per_second }) => {
            state.transcript.live = None;
            state.transcript.session = Some(message.session);
            let id = message.id;
            state.transcript.put_reply(message, Recorded::of(&record));
            if tokens_per_second.is_some() {
                state.tokens_per_second = tokens_per_second;
            }
            if let Some(Pane::Why(pane)) = &mut state.pane {
                panes::why_of_another(pane, id);
                return panes::ask_why(state);
            }
        }
        Update::Again { replaces, begun } => {
            state.transcript.replaced = replaces;
            state.transcript.live = Some(begun);
            state.transcript.follow();
        }
        Update::ReplyDropped => {
            state.transcript.live = None;
            state.transcript.replaced.clear();
        }
        Update::Asks(call) => state.asks = Some(call),
        Update::Called { call, result } => tools::called(state, &call, result),
        Update::ToolsOn(on) => {
            state.tools_on = on;
            state.say(if on {
                text!("Tools are on in this chat. Each call is asked for.")
            } else {
                text!("Tools are off.")
            });
        }
        Update::Tools(status) => tools::list(state, status),
        Update::Window(window) => {
            state.window = Some(window);
            state.transcript.n_dropped = window.n_dropped;
        }
        Update::Session { session, conversation, incognito } => {
            return set_session(state, session, conversation, incognito);
        }
        Update::Worker(status) => state.worker = Some(status),
        Update::MemoryChanged => return store_replies::refresh(state),
        Update::Forgotten => return store_replies::forgotten(state),
        Update::Notice { level, text } => state.notice(level, text),
        Update::Hint(text) => state.say(text),
        Update::Busy => state.say_busy(),
    }
    Vec::new()
}

/// `still` is the model that stays in use.
fn load_failed(state: &mut State, error: &str, still: Option<ModelProfile>) {
    let Some(profile) = still else {
        let text = text!(
            "The model could not be loaded: {error}. /model lists the models; `inglenook doctor` looks for the cause.",
            error
        );
        state.notice(Level::Error, text);
        state.model = ModelLine::Absent;
        return;
    };
    let name = &profile.name;
    let text = text!("The model could not be loaded: {error}. Going on with {name}.", error, name);
    state.notice(Level::Error, text);
    state.model = ModelLine::Ready(profile);
}

/// The model is in use, or what it is told that it is has changed.
fn ready(state: &mut State, profile: ModelProfile) {
    let before = match &state.model {
        ModelLine::Loading { still, .. } => still.as_ref().map(|p| p.name.clone()),
        _ => None,
    };
    if before.is_some_and(|b| b != profile.name) {
        state.notice(Level::Info, text!("Now with {name}.", name = profile.name));
        state.window = None;
        state.tokens_per_second = None;
    }
    let role = |profile: &ModelProfile| profile.role.as_ref().map(|role| role.name.clone());
    let before = state.model.profile().map(role);
    match (before, role(&profile)) {
        (Some(before), now) if before == now => {}
        (_, Some(now)) => state.say(text!("As {role}. /role none ends it.", role = now)),
        (Some(_), None) => state.say(text!("An assistant again.")),
        (None, None) => {}
    }
    state.model = ModelLine::Ready(profile);
}

fn set_phase(state: &mut State, phase: PhaseName) {
    if phase != PhaseName::Asking {
        tools::forget_question(state);
    }
    let transcript = &mut state.transcript;
    transcript.phase = phase;
    transcript.progress.clear();
    match phase {
        PhaseName::Idle => {
            transcript.sending = None;
            // A saved reply is in the transcript already; this one could not be saved.
            let text = transcript.live.take();
            let was_there = !std::mem::take(&mut transcript.replaced).is_empty();
            if let Some(text) = text.filter(|text| !was_there && !text.trim().is_empty()) {
                transcript.push(Body::Unsaved(text));
            }
        }
        PhaseName::Recalling
        | PhaseName::AwaitingModel
        | PhaseName::Replying
        | PhaseName::Asking
        | PhaseName::Calling => {
            transcript.live.get_or_insert_default();
        }
        PhaseName::Saving | PhaseName::Finishing => {}
    }
}

fn set_session(
    state: &mut State,
    session: Option<SessionId>,
    Conversation { title, messages, aside, .. }: Conversation,
    incognito: bool,
) -> Vec<Effect> {
    let same = session.is_some() && session == state.transcript.session;
    // Another chat was opened: it is to be seen.
    let leaves = session != state.transcript.session && state.page().is_some();
    let closed = if leaves { panes::close(state) } else { Vec::new() };
    let transcript = &mut state.transcript;
    // Notices after the last message survive a reload.
    let is_kept = |e: &&Entry| same && matches!(e.body, Body::Notice { .. });
    let n_kept = transcript.entries.iter().rev().take_while(is_kept).count();
    let mut notices = transcript.entries.split_off(transcript.entries.len() - n_kept);
    transcript.session = session;
    transcript.title = title;
    transcript.live = None;
    transcript.sending = None;
    transcript.follow();
    transcript.n_dropped = 0;
    transcript.entries.clear();
    transcript.replaced.clear();
    transcript.chosen = None;
    transcript.fill(messages, &aside);
    transcript.entries.append(&mut notices);
    state.incognito = incognito;
    messages::show_wanted(state);
    if state.transcript.chosen.is_none() && state.focus == Focus::Messages {
        state.focus = Focus::Input;
    }
    if !same {
        state.window = None;
        if !state.queue.is_empty() {
            // They were meant for the chat before.
            take_back(state, "");
        }
    }
    // A new chat: the screen greets.
    let greeting = session.is_none().then_some(Effect::Store(StoreRequest::Greeting));
    // What each answer rests on; of an incognito chat nothing is kept.
    let whys = session.filter(|_| !incognito).map(|id| Effect::Store(StoreRequest::Whys(id)));
    let mut effects: Vec<Effect> = closed.into_iter().chain(greeting).chain(whys).collect();
    if let Some(Pane::Why(pane)) = &mut state.pane {
        *pane = WhyPane::default();
        effects.extend(panes::open_why(state));
    }
    effects
}
