//! State × event → state and what is to be done. Pure: no terminal, no store, no model.

use crossterm::event::{Event as TerminalEvent, KeyCode, KeyEvent, MouseEventKind};

use crate::chat::{Command, Kind, Level, Phase, Update};
use crate::interfaces::ModelSummary;
use crate::memory::Moment;
use crate::store::Session;
use crate::tui::editor::{SEND_BYTES_MAX, size_of};
use crate::tui::event::{Answer, Do, Event, Request};
use crate::tui::keys::{self, Action};
use crate::tui::overlays;
use crate::tui::panes;
use crate::tui::slash::{self, Slash};
use crate::tui::state::{
    Body, Confirm, Confirmed, Focus, ModelLine, Overlay, Pane, Picker, PickerKind, State, WhyPane,
    WindowLine, WorkerLine, model_items, session_items,
};
use crate::tui::why::Why;

/// One step of the screen.
pub fn update(state: &mut State, event: Event, now: Moment) -> Vec<Do> {
    state.now = now;
    match event {
        Event::Tick => {
            tick(state);
            Vec::new()
        }
        Event::Terminal(TerminalEvent::Resize(width, height)) => {
            (state.width, state.height) = (width, height);
            Vec::new()
        }
        Event::Terminal(TerminalEvent::Key(key)) => on_key(state, key),
        Event::Terminal(TerminalEvent::Paste(text)) => {
            paste(state, &text);
            Vec::new()
        }
        Event::Terminal(TerminalEvent::Mouse(mouse)) => {
            match mouse.kind {
                MouseEventKind::ScrollUp => wheel(state, -3),
                MouseEventKind::ScrollDown => wheel(state, 3),
                _ => {}
            }
            Vec::new()
        }
        Event::Terminal(_) => Vec::new(),
        Event::Chat(update) => on_chat(state, update),
        Event::Desk(answer) => on_desk(state, answer),
        Event::Terminate(code) => vec![Do::Quit(code)],
    }
}

fn tick(state: &mut State) {
    state.tick += 1;
    if state.hint.as_ref().is_some_and(|(_, until)| state.tick >= *until) {
        state.hint = None;
    }
    if state.leaving_until.is_some_and(|until| state.tick >= until) {
        state.leaving_until = None;
    }
}

// — keys —

fn on_key(state: &mut State, key: KeyEvent) -> Vec<Do> {
    let action = keys::action(key);
    if key.kind == crossterm::event::KeyEventKind::Release {
        return Vec::new();
    }
    if action != Some(Action::Interrupt) {
        state.leaving_until = None;
    }
    if state.overlay.is_some() {
        return overlays::key(state, key, action);
    }
    if state.focus == Focus::Pane
        && state.pane.is_some()
        && let Some(done) = panes::key(state, key, action)
    {
        return done;
    }
    if let Some(done) = completion_key(state, key, action) {
        return done;
    }
    if let Some(action) = action {
        return run(state, action);
    }
    text_key(state, key);
    Vec::new()
}

/// Keys of the completion popup.
fn completion_key(state: &mut State, key: KeyEvent, action: Option<Action>) -> Option<Vec<Do>> {
    let offered = state.completions();
    if offered.is_empty() {
        return None;
    }
    let chosen = state.completion.min(offered.len() - 1);
    match (key.code, action) {
        (KeyCode::Up, None) => {
            state.completion = chosen.checked_sub(1).unwrap_or(offered.len() - 1);
        }
        (KeyCode::Down, None) => state.completion = (chosen + 1) % offered.len(),
        (_, Some(Action::Escape)) => state.completion_closed = true,
        (_, Some(Action::SwitchFocus)) => complete(state, offered[chosen].name),
        (_, Some(Action::Send)) => {
            let spec = offered[chosen];
            if spec.arguments.is_empty() || spec.arguments.starts_with('[') {
                state.editor.set(&format!("/{}", spec.name));
                return Some(send(state));
            }
            complete(state, spec.name);
        }
        _ => return None,
    }
    Some(Vec::new())
}

fn complete(state: &mut State, name: &str) {
    state.editor.set(&format!("/{name} "));
    state.completion = 0;
}

fn text_key(state: &mut State, key: KeyEvent) {
    match key.code {
        KeyCode::Char('?') if state.editor.is_empty() => {
            state.overlay = Some(Overlay::Help { scroll: 0 });
        }
        KeyCode::Up if state.editor.on_first_line() => state.editor.earlier(),
        KeyCode::Down if state.editor.on_last_line() => state.editor.later(),
        _ => {
            state.focus = Focus::Input;
            state.editor.key(key);
            state.completion = 0;
            state.completion_closed = false;
        }
    }
}

fn paste(state: &mut State, text: &str) {
    match &mut state.overlay {
        Some(Overlay::Picker(picker)) => {
            let line = crate::memory::plain_text(text.lines().next().unwrap_or_default());
            picker.filter.extend(line.chars().take(200));
            picker.selected = 0;
        }
        Some(Overlay::Edit(edit)) => {
            let line: Vec<&str> = text.split_whitespace().take(500).collect();
            edit.editor.paste(&line.join(" "));
        }
        Some(_) => {}
        None => {
            state.focus = Focus::Input;
            state.editor.paste(text);
            state.completion_closed = true;
            if text.len() > SEND_BYTES_MAX {
                state.say(format!(
                    "{} pasted, all of it kept here. One message takes at most {}; \
                     Enter sends it in parts.",
                    size_of(text.len()),
                    size_of(SEND_BYTES_MAX)
                ));
            }
        }
    }
}

fn wheel(state: &mut State, by: isize) {
    match &mut state.overlay {
        Some(Overlay::Help { scroll }) => *scroll = scroll.saturating_add_signed(by as i16),
        Some(Overlay::Confirm(confirm)) => {
            confirm.scroll = confirm.scroll.saturating_add_signed(by as i16);
        }
        Some(_) => {}
        None if state.focus == Focus::Pane && state.pane.is_some() => panes::scroll(state, by),
        None => state.transcript.scroll(by),
    }
}

/// What an action does when nothing lies over the chat.
pub(super) fn run(state: &mut State, action: Action) -> Vec<Do> {
    match action {
        Action::Send => return send(state),
        Action::Newline => state.editor.newline(),
        Action::Escape => return escape(state),
        Action::Interrupt => return interrupt(state),
        Action::EndOfInput => {
            if state.editor.is_empty() {
                return vec![Do::Quit(0)];
            }
            state.editor.area.delete_next_char();
        }
        Action::Palette => {
            let mut picker = Picker::new(PickerKind::Palette);
            picker.items = overlays::palette_items();
            picker.loading = false;
            state.overlay = Some(Overlay::Picker(picker));
        }
        Action::NewSession => return vec![Do::Chat(Command::NewSession)],
        Action::Sessions => return open_picker(state, PickerKind::Sessions, Request::Sessions),
        Action::Models => return open_picker(state, PickerKind::Models, Request::Models),
        Action::History => return open_picker(state, PickerKind::History, Request::History),
        Action::Memory => return panes::toggle_memory(state),
        Action::Why => return panes::toggle_why(state),
        Action::Help => state.overlay = Some(Overlay::Help { scroll: 0 }),
        Action::Copy => return copy(state),
        Action::Retry => return vec![Do::Chat(Command::Regenerate)],
        Action::Incognito => return vec![Do::Chat(Command::Incognito(!state.incognito))],
        Action::Undo => return vec![Do::Desk(Request::Undo)],
        Action::Export => return export(state, None),
        Action::SwitchFocus => {
            if state.pane.is_some() {
                state.focus = match state.focus {
                    Focus::Input => Focus::Pane,
                    Focus::Pane => Focus::Input,
                };
            } else {
                state.editor.area.insert_str("    ");
            }
        }
        Action::Suspend => return vec![Do::Suspend],
        Action::Redraw => {}
        Action::ScrollPage(by) => {
            let page = state.transcript.rows.get().1.saturating_sub(2).max(1) as isize;
            state.transcript.scroll(page * isize::from(by));
        }
        Action::ScrollLine(by) => state.transcript.scroll(isize::from(by)),
        Action::ScrollEnd(-1) => {
            state.transcript.scroll(isize::MIN / 2);
        }
        Action::ScrollEnd(_) => state.transcript.top = None,
        Action::Quit => return vec![Do::Quit(0)],
    }
    Vec::new()
}

fn open_picker(state: &mut State, kind: PickerKind, request: Request) -> Vec<Do> {
    state.overlay = Some(Overlay::Picker(Picker::new(kind)));
    vec![Do::Desk(request)]
}

fn escape(state: &mut State) -> Vec<Do> {
    if state.transcript.busy() {
        return vec![Do::Chat(Command::Stop)];
    }
    if state.pane.is_some() {
        state.pane = None;
        state.focus = Focus::Input;
    } else if state.transcript.top.is_some() {
        state.transcript.top = None;
    }
    Vec::new()
}

fn interrupt(state: &mut State) -> Vec<Do> {
    if !state.editor.is_empty() {
        state.editor.clear();
        return Vec::new();
    }
    if state.transcript.busy() {
        return vec![Do::Chat(Command::Stop)];
    }
    if state.leaving_until.is_some() {
        return vec![Do::Quit(0)];
    }
    state.leaving_until = Some(state.tick + 25);
    state.hint = Some(("Ctrl+C again leaves.".into(), state.tick + 25));
    Vec::new()
}

// — sending —

fn send(state: &mut State) -> Vec<Do> {
    if state.editor.is_blank() {
        return Vec::new();
    }
    let text = state.editor.text();
    if slash::is_command(&text) {
        return match slash::parse(&text) {
            Ok(command) => {
                state.editor.remember(text.trim());
                state.editor.clear();
                run_slash(state, command)
            }
            Err(why) => {
                state.say(why);
                Vec::new()
            }
        };
    }
    if state.transcript.busy() {
        state.say("Still answering. Esc stops it.");
        return Vec::new();
    }
    if text.len() > SEND_BYTES_MAX {
        state.overlay = Some(Overlay::Confirm(Confirm {
            title: "Send it in parts?".into(),
            lines: vec![
                format!(
                    "This message has {}. One message takes at most {}.",
                    size_of(text.len()),
                    size_of(SEND_BYTES_MAX)
                ),
                String::new(),
                "Yes sends the first part; the rest stays in the input for the next Enter.".into(),
            ],
            yes: "send the first part".into(),
            then: Confirmed::SendPart,
            scroll: 0,
        }));
        return Vec::new();
    }
    let text = state.editor.take();
    submit(state, text, Kind::Chat)
}

pub(super) fn submit(state: &mut State, text: String, kind: Kind) -> Vec<Do> {
    if state.transcript.busy() {
        state.editor.set(&text);
        state.say("Still answering. Esc stops it.");
        return Vec::new();
    }
    state.transcript.sending = Some(text.clone());
    state.transcript.top = None;
    vec![Do::Chat(Command::Submit { text, kind })]
}

fn run_slash(state: &mut State, command: Slash) -> Vec<Do> {
    match command {
        Slash::Remember(text) => submit(state, text, Kind::Remember),
        Slash::ForgetIds(ids) => vec![Do::Desk(Request::PlanForget { ids, matching: None })],
        Slash::ForgetMatching(text) => {
            vec![Do::Desk(Request::PlanForget { ids: Vec::new(), matching: Some(text) })]
        }
        Slash::Memory => panes::open_memory(state),
        Slash::Why => panes::open_why(state),
        Slash::New => run(state, Action::NewSession),
        Slash::Sessions => run(state, Action::Sessions),
        Slash::Retry => run(state, Action::Retry),
        Slash::Model(None) => run(state, Action::Models),
        Slash::Model(Some(name)) => vec![Do::Chat(Command::LoadModel(Some(name)))],
        Slash::Incognito => run(state, Action::Incognito),
        Slash::Undo => run(state, Action::Undo),
        Slash::Export(path) => export(state, path),
        Slash::Copy => copy(state),
        Slash::Help => run(state, Action::Help),
        Slash::Quit => vec![Do::Quit(0)],
    }
}

fn export(state: &mut State, path: Option<std::path::PathBuf>) -> Vec<Do> {
    if let Some(session) = state.transcript.session {
        return vec![Do::Desk(Request::Export { session, path })];
    }
    state.say("There is nothing to save yet.");
    Vec::new()
}

fn copy(state: &mut State) -> Vec<Do> {
    let last = state.transcript.entries.iter().rev().find_map(|e| match &e.body {
        Body::Reply { message, .. } => Some(message.content.as_str()),
        _ => None,
    });
    let Some(text) = last else {
        state.say("There is no answer to copy yet.");
        return Vec::new();
    };
    let text = crate::memory::plain_text(text).into_owned();
    state.say("Copied (if your terminal allows it).");
    vec![Do::Copy(text)]
}

// — what the chat says —

fn on_chat(state: &mut State, update: Update) -> Vec<Do> {
    match update {
        Update::Loading { name } => {
            let still = state.model.facts().cloned();
            let name = name.unwrap_or_else(|| match &state.model {
                ModelLine::Loading { name, .. } => name.clone(),
                ModelLine::Ready(facts) => facts.name.clone(),
                ModelLine::Absent { .. } => "the model".into(),
            });
            state.model = ModelLine::Loading { name, stage: String::new(), fraction: None, still };
        }
        Update::LoadProgress { stage: now, fraction: part } => {
            if let ModelLine::Loading { stage, fraction, .. } = &mut state.model {
                *stage = now;
                *fraction = part;
            }
        }
        Update::Ready(facts) => {
            let before = match &state.model {
                ModelLine::Loading { still, .. } => still.as_ref().map(|f| f.name.clone()),
                _ => None,
            };
            if before.is_some_and(|b| b != facts.name) {
                state.notice(Level::Info, format!("Now with {}.", facts.name));
                state.window = None;
                state.speed = None;
            }
            state.model = ModelLine::Ready(facts);
        }
        Update::LoadFailed { error, still } => {
            let rest = match &still {
                Some(facts) => format!(" Going on with {}.", facts.name),
                None => " /model lists the models; `inglenook doctor` looks for the cause.".into(),
            };
            state.notice(Level::Error, format!("The model could not be loaded: {error}.{rest}"));
            state.model = match still {
                Some(facts) => ModelLine::Ready(facts),
                None => ModelLine::Absent { error },
            };
        }
        Update::Phase(phase) => set_phase(state, phase),
        Update::Progress(text) => state.transcript.progress = text,
        Update::UserMessage { session, title, message } => {
            state.transcript.session = Some(session);
            state.transcript.title = title;
            state.transcript.sending = None;
            state.transcript.push(Body::User(message));
            state.transcript.top = None;
        }
        Update::Returned { text } => {
            state.transcript.sending = None;
            let now = state.editor.text();
            let both = if now.trim().is_empty() { text } else { format!("{text}\n{now}") };
            state.editor.set(&both);
        }
        Update::ReplyText(piece) => {
            state.transcript.live.get_or_insert_default().push_str(&piece);
        }
        Update::ReplyDone { message, record, speed } => {
            state.transcript.live = None;
            let id = message.id;
            let why = Why::of(&record).filter(|w| !w.is_empty()).map(Box::new);
            state.transcript.push(Body::Reply { message, why, why_known: true });
            if speed.is_some() {
                state.speed = speed;
            }
            if let Some(Pane::Why(pane)) = &mut state.pane {
                *pane = WhyPane { reply: Some(id), scroll: 0 };
            }
        }
        Update::ReplyDropped => state.transcript.live = None,
        Update::Window { used_tokens, limit_tokens, n_dropped } => {
            state.window = Some(WindowLine { used_tokens, limit_tokens });
            state.transcript.n_dropped = n_dropped;
        }
        Update::Session { session, title, messages, incognito } => {
            return set_session(state, session, title, messages, incognito);
        }
        Update::Worker { text, busy, failed } => {
            state.worker = WorkerLine { text, busy, failed };
        }
        Update::MemoryChanged => {
            if matches!(state.pane, Some(Pane::Memory(_))) {
                return vec![Do::Desk(Request::Tree)];
            }
        }
        Update::Notice { level, text } => state.notice(level, text),
    }
    Vec::new()
}

fn set_phase(state: &mut State, phase: Phase) {
    let transcript = &mut state.transcript;
    transcript.phase = phase;
    transcript.progress.clear();
    match phase {
        Phase::Idle => {
            transcript.sending = None;
            // Only a reply that could not be saved is still here.
            if let Some(text) = transcript.live.take()
                && !text.trim().is_empty()
            {
                transcript.push(Body::Unsaved(text));
            }
        }
        Phase::Recalling | Phase::AwaitingModel | Phase::Replying => {
            transcript.live.get_or_insert_default();
        }
        Phase::Saving | Phase::Finishing => {}
    }
}

fn set_session(
    state: &mut State,
    session: Option<crate::memory::SessionId>,
    title: String,
    messages: Vec<crate::memory::Message>,
    incognito: bool,
) -> Vec<Do> {
    let same = session.is_some() && session == state.transcript.session;
    // What was said after the last message is still worth reading after a reload.
    let mut notices: Vec<_> = if same || session.is_none() {
        let keep = |e: &crate::tui::state::Entry| matches!(e.body, Body::Notice { .. });
        let n = state.transcript.entries.iter().rev().take_while(|e| keep(e)).count();
        let at = if same { state.transcript.entries.len() - n } else { usize::MAX };
        state.transcript.entries.drain(at.min(state.transcript.entries.len())..).collect()
    } else {
        Vec::new()
    };
    let transcript = &mut state.transcript;
    transcript.session = session;
    transcript.title = title;
    transcript.live = None;
    transcript.sending = None;
    transcript.top = None;
    transcript.n_dropped = 0;
    transcript.entries.clear();
    for message in messages {
        match message.role {
            crate::memory::Role::User => transcript.push(Body::User(message)),
            crate::memory::Role::Assistant => {
                transcript.push(Body::Reply { message, why: None, why_known: false });
            }
        }
    }
    transcript.entries.append(&mut notices);
    state.incognito = incognito;
    if !same {
        state.window = None;
    }
    if let Some(Pane::Why(pane)) = &mut state.pane {
        *pane = WhyPane::default();
        return panes::open_why(state);
    }
    Vec::new()
}

// — what the desk says —

fn on_desk(state: &mut State, answer: Answer) -> Vec<Do> {
    match answer {
        Answer::Tree(tree) => panes::set_tree(state, tree),
        Answer::Messages { episode, messages } => panes::set_messages(state, episode, messages),
        Answer::Sessions(sessions) => fill_sessions(state, &sessions),
        Answer::Models(models) => fill_models(state, &models),
        Answer::History(history) => {
            state.editor.set_history(history);
            let items = overlays::history_items(state.editor.history());
            fill(state, PickerKind::History, items);
        }
        Answer::Why { message, record } => {
            for entry in &mut state.transcript.entries {
                if let Body::Reply { message: m, why, why_known } = &mut entry.body
                    && m.id == message
                {
                    *why =
                        record.as_ref().and_then(Why::of).filter(|w| !w.is_empty()).map(Box::new);
                    *why_known = true;
                    entry.laid.replace(None);
                }
            }
        }
        Answer::ForgetPlan { plan, lines } => {
            if plan.messages.is_empty() && plan.semantics.is_empty() {
                state.say("Nothing in memory matches that.");
            } else {
                state.overlay = Some(Overlay::Confirm(Confirm {
                    title: "Forget this for good?".into(),
                    lines,
                    yes: "forget".into(),
                    then: Confirmed::Forget(plan),
                    scroll: 0,
                }));
            }
        }
        Answer::Forgotten { n_messages, n_facts } => {
            let count = |n: usize, one: &str, many: &str| match n {
                1 => format!("1 {one}"),
                n => format!("{n} {many}"),
            };
            state.notice(
                Level::Info,
                format!(
                    "Forgotten: {}, {}. Nothing of it is left on this disk.",
                    count(n_messages, "message", "messages"),
                    count(n_facts, "fact", "facts"),
                ),
            );
            let mut todo = vec![Do::Chat(Command::Reload), Do::Desk(Request::History)];
            if matches!(state.pane, Some(Pane::Memory(_))) {
                todo.push(Do::Desk(Request::Tree));
            }
            return todo;
        }
        Answer::Edited => {
            state.say("Corrected. /undo takes it back.");
            return refresh(state);
        }
        Answer::Undone(what) => {
            match what {
                Some(what) => state.say(format!("Undone: {what}.")),
                None => state.say("There is nothing to undo."),
            }
            return refresh(state);
        }
        Answer::Exported(path) => {
            let path = crate::memory::plain_text(&path.display().to_string()).into_owned();
            state.notice(Level::Info, format!("Saved as {path} (readable by you alone)."));
        }
        Answer::Failed { what, error } => {
            if let (Some(Pane::Memory(pane)), "read the memory") = (&mut state.pane, what) {
                pane.error = Some(error.clone());
            }
            state.notice(Level::Error, format!("Could not {what}: {error}."));
        }
    }
    Vec::new()
}

fn refresh(state: &State) -> Vec<Do> {
    if matches!(state.pane, Some(Pane::Memory(_))) {
        vec![Do::Desk(Request::Tree)]
    } else {
        Vec::new()
    }
}

fn fill(state: &mut State, kind: PickerKind, items: Vec<crate::tui::state::Item>) {
    if let Some(Overlay::Picker(picker)) = &mut state.overlay
        && picker.kind == kind
    {
        picker.items = items;
        picker.loading = false;
        picker.selected = 0;
    }
}

fn fill_sessions(state: &mut State, sessions: &[Session]) {
    let items = session_items(sessions, state.now);
    fill(state, PickerKind::Sessions, items);
}

fn fill_models(state: &mut State, models: &[ModelSummary]) {
    fill(state, PickerKind::Models, model_items(models));
}
