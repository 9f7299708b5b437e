//! Keys → actions. A table, and the only place that knows it.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What a key means, apart from editing text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Send,
    Newline,
    Escape,
    Interrupt,
    EndOfInput,
    Palette,
    NewSession,
    Sessions,
    Models,
    Memory,
    Why,
    History,
    Help,
    Copy,
    Retry,
    Incognito,
    Undo,
    Export,
    SwitchFocus,
    Suspend,
    Redraw,
    ScrollPage(i8),
    ScrollLine(i8),
    ScrollEnd(i8),
    Quit,
}

/// One line of the help and of the palette.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    pub keys: &'static str,
    pub help: &'static str,
    /// In the palette, if it makes sense there.
    pub action: Option<Action>,
}

const fn binding(keys: &'static str, help: &'static str, action: Option<Action>) -> Binding {
    Binding { keys, help, action }
}

/// In the order of the help.
pub const BINDINGS: [Binding; 24] = [
    binding("Enter", "send", None),
    binding("Shift+Enter, Alt+Enter, Ctrl+J", "new line", None),
    binding("Esc", "stop the reply; close what is open", None),
    binding("Ctrl+C", "clear the input, stop the reply, leave", None),
    binding("↑ ↓", "earlier messages of yours", None),
    binding("Tab", "complete a command; to the side pane and back", None),
    binding("Ctrl+R", "search your earlier messages", Some(Action::History)),
    binding("PgUp PgDn, wheel", "scroll the chat", None),
    binding("Ctrl+Home Ctrl+End", "its beginning, its end", None),
    binding("Ctrl+N", "new chat", Some(Action::NewSession)),
    binding("Ctrl+S", "earlier chats", Some(Action::Sessions)),
    binding("Ctrl+T", "memory", Some(Action::Memory)),
    binding("Ctrl+W", "why this answer", Some(Action::Why)),
    binding("Ctrl+L", "models", Some(Action::Models)),
    binding("Ctrl+P", "all commands", None),
    binding("Ctrl+Y", "copy the last answer", Some(Action::Copy)),
    binding("/retry", "answer the last message again", Some(Action::Retry)),
    binding("/incognito", "a chat that is not kept, and back", Some(Action::Incognito)),
    binding("/undo", "undo the last change to memory", Some(Action::Undo)),
    binding("/export", "save this chat as a file", Some(Action::Export)),
    binding("? F1", "this help", Some(Action::Help)),
    binding("Ctrl+Z", "suspend", None),
    binding("Shift+drag", "select text with the mouse", None),
    binding("Ctrl+D", "leave", Some(Action::Quit)),
];

/// The action of a key, whatever has the focus; `None` leaves it to the panel or the text.
#[must_use]
pub fn action(key: KeyEvent) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    Some(match key.code {
        KeyCode::Enter if control || alt || shift => Action::Newline,
        KeyCode::Enter => Action::Send,
        KeyCode::Esc => Action::Escape,
        KeyCode::Tab => Action::SwitchFocus,
        KeyCode::F(1) => Action::Help,
        KeyCode::PageUp => Action::ScrollPage(-1),
        KeyCode::PageDown => Action::ScrollPage(1),
        KeyCode::Home if control => Action::ScrollEnd(-1),
        KeyCode::End if control => Action::ScrollEnd(1),
        KeyCode::Up if control || shift => Action::ScrollLine(-1),
        KeyCode::Down if control || shift => Action::ScrollLine(1),
        KeyCode::Char(c) if control && !alt => match c.to_ascii_lowercase() {
            'c' => Action::Interrupt,
            'd' => Action::EndOfInput,
            'j' => Action::Newline,
            'l' => Action::Models,
            'm' => Action::Send,
            'n' => Action::NewSession,
            'p' => Action::Palette,
            'r' => Action::History,
            's' => Action::Sessions,
            't' => Action::Memory,
            'w' => Action::Why,
            'y' => Action::Copy,
            'z' => Action::Suspend,
            _ => return None,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: KeyCode, modifiers: KeyModifiers, expected: Option<Action>) {
        assert_eq!(action(KeyEvent::new(code, modifiers)), expected);
    }

    #[test]
    fn the_table() {
        use KeyModifiers as M;
        check(KeyCode::Enter, M::NONE, Some(Action::Send));
        for m in [M::SHIFT, M::ALT, M::CONTROL] {
            check(KeyCode::Enter, m, Some(Action::Newline));
        }
        check(KeyCode::Char('j'), M::CONTROL, Some(Action::Newline));
        check(KeyCode::Char('T'), M::CONTROL, Some(Action::Memory));
        check(KeyCode::Char('t'), M::NONE, None);
        check(KeyCode::Char('?'), M::NONE, None);
        // AltGr on some layouts is Ctrl+Alt: a character, not a command.
        check(KeyCode::Char('p'), M::CONTROL | M::ALT, None);
        check(KeyCode::Up, M::NONE, None);
        let mut release = KeyEvent::new(KeyCode::Enter, M::NONE);
        release.kind = KeyEventKind::Release;
        assert_eq!(action(release), None);
    }
}
