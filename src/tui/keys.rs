//! Every key: where it applies, what it does, and what the `?` page, the hints and the palette say
//! about it. The only place that knows them.
//!
//! A new key is one row of [`BINDINGS`] and, if its action is new, the action's arm where the
//! context is handled: `update::run` (chat), `panes` or `overlays`.

use crossterm::event::KeyCode::{
    BackTab, Backspace, Delete, Down, End, Enter, Esc, F, Home, Left, PageDown, PageUp, Right, Tab,
    Up,
};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use Action as A;
use Context::{
    Chat, ChatList, Completion, Confirm, Edit, Help, Input, Learned, MemoryPage, MemoryPane,
    MemorySearch, Messages, Picker, WhyPane,
};
use Key::{Any, Arrow, Char, Ctrl, Plain, With};

/// Where keys go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// Chat and panes, unless an overlay is open or the pane has a row of its own.
    Chat,
    /// The message being written, after [`Context::Chat`].
    Input,
    /// The popup of slash commands, before [`Context::Chat`].
    Completion,
    /// A message of the chat that is chosen.
    Messages,
    /// The memory's page, before [`Context::MemoryPane`].
    MemoryPage,
    /// The memory's page and what was learnt from imports.
    MemoryPane,
    /// What was learnt from imports, before [`Context::MemoryPane`].
    Learned,
    MemorySearch,
    WhyPane,
    /// The `?` page.
    Help,
    Picker,
    /// The list of chats, before [`Context::Picker`].
    ChatList,
    Confirm,
    /// The correction of a fact.
    Edit,
}

/// What a key means, apart from editing text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Send,
    Newline,
    Escape,
    Interrupt,
    EndOfInput,
    Earlier,
    Later,
    SwitchFocus,
    Palette,
    NewSession,
    Sessions,
    Models,
    Memory,
    Why,
    History,
    Help,
    Copy,
    Suspend,
    WriteOutside,
    ScrollPage(i8),
    ScrollLine(i8),
    ScrollEnd(i8),
    Quit,
    // Panes, lists and questions.
    Up,
    Down,
    Left,
    Right,
    First,
    Last,
    Accept,
    Complete,
    Close,
    Search,
    Forget,
    ForgetFile,
    Edit,
    Undo,
    // The memory's page.
    NextTab,
    PreviousTab,
    /// By its place.
    Tab(u8),
    OpenChat,
    Changes,
    // What was learnt from imports.
    Keep,
    KeepRest,
    Throw,
    ThrowRest,
    DeleteChar,
    ClearText,
    // The list of chats; a fact is pinned, too.
    Rename,
    Pin,
    DeleteChat,
    // A chosen message.
    /// Colours.
    Look,
    ChooseMessage,
    CopyCode,
    Retry,
    GoOn,
    Fork,
    /// Of a question: the other way of yes.
    Other,
}

/// A key and the modifiers that may or must be held with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Whatever is held.
    Any(KeyCode),
    /// Nothing is held.
    Plain(KeyCode),
    /// Neither Ctrl nor Shift is held: with them, the arrows scroll the chat.
    Arrow(KeyCode),
    /// One of these is held.
    With(KeyModifiers, KeyCode),
    Ctrl(char),
    Char(char),
}

/// AltGr on some layouts is Ctrl+Alt: a character, not a command.
fn is_control(key: KeyEvent) -> bool {
    key.modifiers.contains(CTRL) && !key.modifiers.contains(KeyModifiers::ALT)
}

impl Key {
    fn matches(self, key: KeyEvent) -> bool {
        let held = key.modifiers;
        match self {
            Any(code) => key.code == code,
            Plain(code) => key.code == code && !held.intersects(CTRL_OR_SHIFT | KeyModifiers::ALT),
            Arrow(code) => key.code == code && !held.intersects(CTRL_OR_SHIFT),
            With(modifiers, code) => key.code == code && held.intersects(modifiers),
            Char(c) => key.code == KeyCode::Char(c) && !is_control(key),
            Ctrl(c) => {
                is_control(key)
                    && matches!(key.code, KeyCode::Char(k) if k.eq_ignore_ascii_case(&c))
            }
        }
    }
}

/// The character that a key types, if it types one.
pub fn typed(key: KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(c) if !is_control(key) => Some(c),
        _ => None,
    }
}

/// One row: keys that belong together.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    context: Context,
    keys: &'static [(Key, Action)],
    /// The keys and what they do on the `?` page; empty if they are not listed there.
    pub label: &'static str,
    pub help: &'static str,
    /// The keys and what they do in one or two words, below a pane or an overlay.
    pub hint: (&'static str, &'static str),
    /// What choosing its help text in the palette does.
    pub palette: Option<Action>,
}

const fn row(context: Context, keys: &'static [(Key, Action)]) -> Binding {
    Binding { context, keys, label: "", help: "", hint: ("", ""), palette: None }
}

impl Binding {
    const fn help(self, label: &'static str, help: &'static str) -> Self {
        Self { label, help, ..self }
    }

    const fn hint(self, keys: &'static str, does: &'static str) -> Self {
        Self { hint: (keys, does), ..self }
    }

    const fn palette(self, action: Action) -> Self {
        Self { palette: Some(action), ..self }
    }
}

const CTRL: KeyModifiers = KeyModifiers::CONTROL;
const CTRL_OR_SHIFT: KeyModifiers = CTRL.union(KeyModifiers::SHIFT);

/// Up and down, by arrow and by letter.
const UP_DOWN: &[(Key, Action)] =
    &[(Arrow(Up), A::Up), (Arrow(Down), A::Down), (Char('k'), A::Up), (Char('j'), A::Down)];
const LEFT_RIGHT: &[(Key, Action)] = &[
    (Arrow(Left), A::Left),
    (Arrow(Right), A::Right),
    (Char('h'), A::Left),
    (Char('l'), A::Right),
];
const PAGES: &[(Key, Action)] =
    &[(Any(PageUp), A::ScrollPage(-1)), (Any(PageDown), A::ScrollPage(1))];
const CLOSE: &[(Key, Action)] = &[(Any(Esc), A::Close), (Ctrl('c'), A::Close)];
const CLOSE_PANE: &[(Key, Action)] = &[(Any(Esc), A::Close), (Char('q'), A::Close)];

/// All keys. Within a context the first matching row wins.
pub const BINDINGS: &[Binding] = &[
    // The chat, in the order of the `?` page.
    row(Chat, &[(Plain(Enter), A::Send)]).help("Enter", "send"),
    row(Chat, &[(Any(Enter), A::Newline), (Ctrl('j'), A::Newline)])
        .help("Shift+Enter, Alt+Enter, Ctrl+J", "new line"),
    row(Chat, &[(Any(Esc), A::Escape)]).help("Esc", "stop the reply; close what is open"),
    row(Chat, &[(Ctrl('c'), A::Interrupt)])
        .help("Ctrl+C", "clear the input, stop the reply, leave"),
    row(Input, &[(Arrow(Up), A::Earlier), (Arrow(Down), A::Later)])
        .help("↑ ↓", "earlier messages of yours"),
    row(Chat, &[(With(KeyModifiers::ALT, Up), A::ChooseMessage)])
        .help("Alt+↑, ↑ in an empty input", "choose a message: copy, write anew, answer again")
        .palette(A::ChooseMessage),
    row(Chat, &[(Any(Tab), A::SwitchFocus)])
        .help("Tab", "complete a command or @file; to the side pane and back"),
    row(Chat, &[(Ctrl('r'), A::History)])
        .help("Ctrl+R", "search your earlier messages")
        .palette(A::History),
    row(Chat, PAGES).help("PgUp PgDn, wheel", "scroll the chat"),
    row(Chat, &[(With(CTRL, Home), A::ScrollEnd(-1)), (With(CTRL, End), A::ScrollEnd(1))])
        .help("Ctrl+Home Ctrl+End", "its beginning, its end"),
    row(Chat, &[(With(CTRL_OR_SHIFT, Up), A::ScrollLine(-1))]),
    row(Chat, &[(With(CTRL_OR_SHIFT, Down), A::ScrollLine(1))]),
    row(Chat, &[(Ctrl('n'), A::NewSession)]).help("Ctrl+N", "new chat").palette(A::NewSession),
    row(Chat, &[(Ctrl('s'), A::Sessions)])
        .help("Ctrl+S", "earlier chats: open, search, rename, pin, delete")
        .palette(A::Sessions),
    row(Chat, &[(Ctrl('t'), A::Memory)])
        .help("Ctrl+T", "memory: you, people, plans, places")
        .hint("Ctrl+T", "memory")
        .palette(A::Memory),
    row(Chat, &[(Ctrl('g'), A::Why)]).help("Ctrl+G", "why this answer").palette(A::Why),
    row(Chat, &[(Ctrl('l'), A::Models)]).help("Ctrl+L", "models").palette(A::Models),
    row(Chat, &[(Ctrl('p'), A::Palette)]).help("Ctrl+P", "all commands"),
    row(Chat, &[(Ctrl('y'), A::Copy)]).help("Ctrl+Y", "copy the last answer").palette(A::Copy),
    row(Chat, &[(Any(F(1)), A::Help)]).help("? F1", "this help").palette(A::Help),
    row(Input, &[(Char('?'), A::Help)]).hint("?", "help"),
    row(Chat, &[(Ctrl('o'), A::WriteOutside)])
        .help("Ctrl+O", "write in your editor ($VISUAL, $EDITOR)")
        .palette(A::WriteOutside),
    // ratatui-textarea's own, but for Ctrl+U, which is undo there.
    row(Chat, &[]).help("Ctrl+U Ctrl+K Ctrl+W", "delete to the left, the right, the word"),
    row(Chat, &[]).help("Ctrl+A Ctrl+E", "its start, its end"),
    row(Chat, &[(Ctrl('z'), A::Suspend)]).help("Ctrl+Z", "suspend"),
    // The terminal's own.
    row(Chat, &[]).help("Shift+drag", "select text with the mouse"),
    row(Chat, &[(Ctrl('d'), A::EndOfInput)]).help("Ctrl+D", "leave").palette(A::Quit),
    // The popup of slash commands.
    row(Completion, &[(Arrow(Up), A::Up), (Arrow(Down), A::Down)]),
    row(Completion, &[(Any(Tab), A::Complete), (Plain(Enter), A::Accept), (Any(Esc), A::Close)]),
    // A chosen message.
    row(Messages, UP_DOWN).help("↑ ↓", "choose another message"),
    row(Messages, &[(Char('c'), A::Copy), (Char('y'), A::Copy)])
        .help("c", "copy it")
        .hint("c", "copy"),
    row(Messages, &[(Char('b'), A::CopyCode)])
        .help("b", "copy its code, block by block")
        .hint("b", "code"),
    row(Messages, &[(Char('e'), A::Edit)])
        .help("e", "write yours anew: another chat goes on from there")
        .hint("e", "edit"),
    row(Messages, &[(Char('r'), A::Retry)])
        .help("r", "another answer, beside the one that is there")
        .hint("r", "again"),
    row(Messages, LEFT_RIGHT).help("← →", "the other versions of an answer").hint("← →", "version"),
    row(Messages, &[(Char('g'), A::GoOn)])
        .help("g", "go on with an answer that was stopped or cut")
        .hint("g", "go on"),
    row(Messages, &[(Char('n'), A::Fork)])
        .help("n", "a new chat that goes on from here")
        .hint("n", "new from here"),
    row(Messages, &[(Char('w'), A::Why)]).help("w", "why this answer").hint("w", "why"),
    row(Messages, &[(Char('f'), A::Forget), (Any(Delete), A::Forget)])
        .help("f", "forget it (asks first)")
        .hint("f", "forget"),
    row(Messages, &[(Arrow(Home), A::First)]),
    row(Messages, &[(Any(Esc), A::Close), (Plain(Enter), A::Close), (Char('q'), A::Close)])
        .hint("Esc", "back"),
    row(Messages, &[(Char('?'), A::Help)]),
    // The memory's page.
    row(
        MemoryPage,
        &[
            (Char('1'), A::Tab(0)),
            (Char('2'), A::Tab(1)),
            (Char('3'), A::Tab(2)),
            (Char('4'), A::Tab(3)),
            (Char('5'), A::Tab(4)),
        ],
    )
    .help("1 … 5, Tab", "About you, People, Plans, Places, Everything"),
    row(MemoryPage, &[(Any(Tab), A::NextTab), (Any(BackTab), A::PreviousTab)]).hint("Tab", "next"),
    row(MemoryPage, &[(Ctrl('c'), A::Close)]),
    row(MemoryPage, &[(Char('o'), A::OpenChat)])
        .help("o, Enter on a fact", "open the chat where it was said")
        .hint("o", "chat"),
    row(MemoryPage, &[(Char('p'), A::Pin)])
        .help("p", "pin a fact to the top, or no more")
        .hint("p", "pin"),
    row(MemoryPage, &[(Char('n'), A::Changes)])
        .help("n", "what is new, corrected or no longer so")
        .hint("n", "changes"),
    // In the tree, and of facts anywhere.
    row(MemoryPane, UP_DOWN).help("↑ ↓ ← →", "move, open, close"),
    row(MemoryPane, LEFT_RIGHT),
    row(MemoryPane, &[(Arrow(Home), A::First), (Char('g'), A::First)]),
    row(MemoryPane, &[(Arrow(End), A::Last), (Char('G'), A::Last)]),
    row(MemoryPane, PAGES),
    row(MemoryPane, &[(Plain(Enter), A::Accept), (Char(' '), A::Accept)]).hint("Enter", "open"),
    row(MemoryPane, &[(Char('/'), A::Search)]).help("/", "search").hint("/", "search"),
    row(MemoryPane, &[(Char('e'), A::Edit)]).help("e", "correct a fact").hint("e", "edit"),
    row(MemoryPane, &[(Char('f'), A::Forget), (Any(Delete), A::Forget)])
        .help("f", "forget what is chosen (asks first)")
        .hint("f", "forget"),
    row(MemoryPane, &[(Char('F'), A::ForgetFile)])
        .help("F", "forget all that came from the same file (asks first)"),
    row(MemoryPane, &[(Char('u'), A::Undo)]).help("u", "undo the last change"),
    row(MemoryPane, CLOSE_PANE).hint("Esc", "close"),
    row(MemoryPane, &[(Char('?'), A::Help)]),
    // What was learnt from imports.
    row(Learned, &[(Char('a'), A::Keep)]).help("a", "keep the fact").hint("a", "keep"),
    row(Learned, &[(Char('x'), A::Throw), (Any(Delete), A::Throw)])
        .help("x", "throw it away; u takes that back until the pane is closed")
        .hint("x", "throw away"),
    row(Learned, &[(Char('A'), A::KeepRest), (Char('X'), A::ThrowRest)])
        .help("A X", "keep the rest of the import, throw it away")
        .hint("A X", "the rest"),
    row(MemorySearch, &[(Plain(Enter), A::Accept), (Arrow(Down), A::Accept)]).hint("Enter", "done"),
    row(MemorySearch, &[(Any(Esc), A::Close)]).hint("Esc", "clear"),
    row(MemorySearch, &[(Any(Backspace), A::DeleteChar)]),
    // The *why* pane.
    row(WhyPane, UP_DOWN),
    row(WhyPane, PAGES),
    row(WhyPane, LEFT_RIGHT).hint("← →", "answer"),
    row(WhyPane, &[(Ctrl('g'), A::Why)]).hint("Ctrl+G", "details"),
    row(WhyPane, CLOSE_PANE).hint("Esc", "close"),
    row(WhyPane, &[(Char('?'), A::Help)]),
    // The `?` page.
    row(Help, &[(Any(Up), A::Up), (Char('k'), A::Up)]).hint("↑", "back"),
    row(Help, &[(Any(Down), A::Down), (Char('j'), A::Down)]).hint("↓", "more"),
    row(Help, PAGES),
    row(Help, CLOSE).hint("Esc", "close"),
    row(Help, &[(Char('?'), A::Close), (Char('q'), A::Close)]),
    row(Help, &[(Any(Enter), A::Close), (Any(F(1)), A::Close)]),
    // Lists. Ctrl+R again goes to the message before, as in a shell.
    row(Picker, &[(Any(Up), A::Up), (Any(Down), A::Down)]).hint("↑ ↓", "choose"),
    row(Picker, &[(Any(Tab), A::Down), (Ctrl('r'), A::Down)]),
    row(Picker, &[(Any(Home), A::First), (Any(End), A::Last)]),
    row(Picker, PAGES),
    row(Picker, &[(Plain(Enter), A::Accept)]).hint("Enter", "take"),
    row(Picker, CLOSE).hint("Esc", "close"),
    row(Picker, &[(Any(Backspace), A::DeleteChar), (Ctrl('u'), A::ClearText)]),
    // The list of chats.
    row(ChatList, &[(Ctrl('e'), A::Rename), (Any(F(2)), A::Rename)]).hint("Ctrl+E", "rename"),
    row(ChatList, &[(Ctrl('p'), A::Pin)]).hint("Ctrl+P", "pin"),
    row(ChatList, &[(Any(Delete), A::DeleteChat), (Ctrl('d'), A::DeleteChat)])
        .hint("Del", "delete, or not"),
    // Questions. Enter takes the safe answer.
    row(Confirm, &[(Char('y'), A::Accept), (Char('Y'), A::Accept)]).hint("y", ""),
    row(Confirm, &[(Char('n'), A::Close), (Char('N'), A::Close)]).hint("n", "leave it"),
    row(Confirm, &[(Char('q'), A::Close), (Plain(Enter), A::Close)]),
    row(Confirm, &[(Char('o'), A::Other), (Char('O'), A::Other)]).hint("o", ""),
    row(Confirm, CLOSE),
    row(Confirm, &[(Any(Up), A::Up), (Any(Down), A::Down)]).hint("↑ ↓", "read all"),
    row(Confirm, PAGES),
    // The correction of a fact.
    row(Edit, &[(Plain(Enter), A::Accept)]).hint("Enter", "save"),
    row(Edit, CLOSE).hint("Esc", "leave as it was"),
];

/// The action of a key in this context alone.
pub fn lookup(context: Context, key: KeyEvent) -> Option<Action> {
    // What some terminals send for Enter.
    let key = if Ctrl('m').matches(key) { KeyEvent::from(Enter) } else { key };
    let mut keys = BINDINGS.iter().filter(|b| b.context == context).flat_map(|b| b.keys);
    keys.find(|(k, _)| k.matches(key)).map(|(_, action)| *action)
}

/// The rows of the `?` page: the chat's, or those of a pane.
pub fn help_rows(context: Context) -> impl Iterator<Item = &'static Binding> {
    let chat = |c| matches!(c, Chat | Input);
    let listed = move |b: &&Binding| !b.label.is_empty();
    let here = move |b: &&Binding| b.context == context || (chat(b.context) && chat(context));
    BINDINGS.iter().filter(listed).filter(here)
}

/// The hint of the row in which this action stands: the keys, and what they do.
pub fn hint(context: Context, action: Action) -> (&'static str, &'static str) {
    let does = |b: &Binding| b.context == context && b.keys.iter().any(|(_, a)| *a == action);
    let mut hints = BINDINGS.iter().filter(|b| does(b)).map(|b| b.hint);
    hints.find(|(keys, _)| !keys.is_empty()).unwrap_or_default()
}

/// "Esc close".
pub fn hint_text(context: Context, action: Action) -> String {
    let (keys, does) = hint(context, action);
    format!("{keys} {does}")
}

/// All hints of a context: "Enter open · / search · Esc close".
pub fn hints(context: Context) -> String {
    let hints = BINDINGS.iter().filter(|b| b.context == context).map(|b| b.hint);
    let texts: Vec<_> =
        hints.filter(|h| !h.0.is_empty()).map(|(keys, does)| format!("{keys} {does}")).collect();
    texts.join(" · ")
}

/// The hints of a context whose action is possible now.
pub fn hints_of(context: Context, is_possible: &dyn Fn(Action) -> bool) -> String {
    let here = BINDINGS.iter().filter(|b| b.context == context && !b.hint.0.is_empty());
    let possible = here.filter(|b| b.keys.iter().any(|(_, action)| is_possible(*action)));
    let texts: Vec<_> = possible.map(|b| format!("{} {}", b.hint.0, b.hint.1)).collect();
    texts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_stands_twice_in_a_context() {
        let mut seen = Vec::new();
        for binding in BINDINGS {
            for (key, _) in binding.keys {
                let place = (binding.context, *key);
                assert!(!seen.contains(&place), "{place:?}");
                seen.push(place);
            }
        }
    }
}
