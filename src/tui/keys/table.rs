//! The table: where a key applies, what it does, what it is called in `keys.toml` and what is said about it.
//!
//! A new key is one row of [`BINDINGS`] and, if its action is new, the action's arm where the context is handled:
//! `update::run` (chat), `panes` or `overlays`.

use Action as A;
use Context::{
    Chat, ChatList, Completion, Confirm, Edit, Help, Input, Learned, MemoryPage, MemoryPane,
    MemorySearch, Messages, Picker, WhyPane,
};

use super::Key;

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

impl Context {
    /// What it is called in `keys.toml`.
    pub const fn place(self) -> &'static str {
        match self {
            Chat | Input => "chat",
            Completion => "completion",
            Messages => "message",
            MemoryPage | MemoryPane => "memory",
            Learned => "learned",
            MemorySearch => "search",
            WhyPane => "why",
            Help => "help",
            Picker => "list",
            ChatList => "chats",
            Confirm => "question",
            Edit => "edit",
        }
    }

    /// Whether a key is looked for in both.
    pub fn meets(self, other: Self) -> bool {
        let both = |a, b| (self, other) == (a, b) || (self, other) == (b, a);
        self.place() == other.place() || both(Learned, MemoryPane) || both(ChatList, Picker)
    }
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
    ForgetGrounds,
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
    /// The input's own, or the terminal's.
    Elsewhere,
}

/// One action in one context, and its keys.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    pub context: Context,
    /// In `keys.toml`; empty where the keys are not the program's own.
    pub name: &'static str,
    pub action: Action,
    /// Without a file: as they are written there, separated by spaces. Where they are not the program's own, their label.
    pub keys: &'static str,
    /// What the `?` page says it does; nothing if it is not listed there.
    pub help: &'static str,
    /// What it does in one or two words, below a pane or an overlay.
    pub hint: &'static str,
    /// Its key stands in the line of the row above.
    pub also: bool,
    /// What choosing its help text in the palette does.
    pub palette: Option<Action>,
}

impl Binding {
    const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    const fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    const fn also(self) -> Self {
        Self { also: true, ..self }
    }

    const fn palette(self) -> Self {
        Self { palette: Some(self.action), ..self }
    }

    pub(super) fn default_keys(&self) -> Vec<Key> {
        let own = if self.name.is_empty() { "" } else { self.keys };
        own.split_whitespace().filter_map(|key| Key::parse(key).ok()).collect()
    }

    /// Whether a character is text there. Help in an empty input is the exception.
    pub(super) fn is_where_one_writes(&self) -> bool {
        matches!(self.context, Chat | Completion | MemorySearch | Picker | ChatList | Edit)
            || self.context == Input && self.action != Action::Help
    }
}

const fn row(context: Context, name: &'static str, action: Action, keys: &'static str) -> Binding {
    let (help, hint) = ("", "");
    Binding { context, name, action, keys, help, hint, also: false, palette: None }
}

/// Keys of the input itself, or of the terminal.
const fn others(label: &'static str, help: &'static str) -> Binding {
    row(Chat, "", A::Elsewhere, label).help(help)
}

/// All keys. Within a context the first row with a key has it.
#[rustfmt::skip]
pub const BINDINGS: &[Binding] = &[
    // The chat, in the order of the `?` page.
    row(Chat, "send", A::Send, "enter").help("send"),
    row(Chat, "newline", A::Newline, "shift+enter alt+enter ctrl+enter ctrl+j").help("new line"),
    row(Chat, "escape", A::Escape, "esc").help("stop the reply; close what is open"),
    row(Chat, "interrupt", A::Interrupt, "ctrl+c").help("clear the input, stop the reply, leave"),
    row(Input, "earlier", A::Earlier, "up").help("earlier messages of yours"),
    row(Input, "later", A::Later, "down").also(),
    row(Chat, "choose_message", A::ChooseMessage, "alt+up")
        .help("choose a message (↑ in an empty input, too): copy, write anew, answer again").palette(),
    row(Chat, "complete", A::SwitchFocus, "tab").help("complete a command or @file; to the side pane and back"),
    row(Chat, "history", A::History, "ctrl+r").help("search your earlier messages").palette(),
    row(Chat, "page_up", A::ScrollPage(-1), "pageup").help("scroll the chat (so does the wheel)"),
    row(Chat, "page_down", A::ScrollPage(1), "pagedown").also(),
    row(Chat, "beginning", A::ScrollEnd(-1), "ctrl+home").help("its beginning, its end"),
    row(Chat, "end", A::ScrollEnd(1), "ctrl+end").also(),
    row(Chat, "line_up", A::ScrollLine(-1), "ctrl+up shift+up"),
    row(Chat, "line_down", A::ScrollLine(1), "ctrl+down shift+down"),
    row(Chat, "new_chat", A::NewSession, "ctrl+n").help("new chat").palette(),
    row(Chat, "chats", A::Sessions, "ctrl+s").help("earlier chats: open, search, rename, pin, delete").palette(),
    row(Chat, "memory", A::Memory, "ctrl+t").help("memory: you, people, plans, places").hint("memory").palette(),
    row(Chat, "why", A::Why, "ctrl+g").help("why this answer").palette(),
    row(Chat, "models", A::Models, "ctrl+l").help("models").palette(),
    row(Chat, "commands", A::Palette, "ctrl+p").help("all commands"),
    row(Chat, "copy", A::Copy, "ctrl+y").help("copy the last answer").palette(),
    row(Chat, "help", A::Help, "f1").help("this help").palette(),
    row(Input, "help_in_empty_input", A::Help, "?").hint("help").also(),
    row(Chat, "editor", A::WriteOutside, "ctrl+o").help("write in your editor ($VISUAL, $EDITOR)").palette(),
    // ratatui-textarea's own, but for Ctrl+U, which is undo there.
    others("Ctrl+U Ctrl+K Ctrl+W", "delete to the left, the right, the word"),
    others("Ctrl+A Ctrl+E", "its start, its end"),
    row(Chat, "suspend", A::Suspend, "ctrl+z").help("suspend"),
    others("Shift+drag", "select text with the mouse"),
    Binding { palette: Some(A::Quit), ..row(Chat, "leave", A::EndOfInput, "ctrl+d").help("leave") },
    // The popup of slash commands.
    row(Completion, "up", A::Up, "up"),
    row(Completion, "down", A::Down, "down"),
    row(Completion, "complete", A::Complete, "tab"),
    row(Completion, "take", A::Accept, "enter"),
    row(Completion, "close", A::Close, "esc"),
    // A chosen message.
    row(Messages, "up", A::Up, "up k").help("choose another message"),
    row(Messages, "down", A::Down, "down j").also(),
    row(Messages, "copy", A::Copy, "c y").help("copy it").hint("copy"),
    row(Messages, "copy_code", A::CopyCode, "b").help("copy its code, block by block").hint("code"),
    row(Messages, "edit", A::Edit, "e").help("write yours anew: another chat goes on from there").hint("edit"),
    row(Messages, "retry", A::Retry, "r").help("another answer, beside the one that is there").hint("again"),
    row(Messages, "previous_version", A::Left, "left h").help("the other versions of an answer").hint("version"),
    row(Messages, "next_version", A::Right, "right l").also(),
    row(Messages, "go_on", A::GoOn, "g").help("go on with an answer that was stopped or cut").hint("go on"),
    row(Messages, "fork", A::Fork, "n").help("a new chat that goes on from here").hint("new from here"),
    row(Messages, "why", A::Why, "w").help("why this answer").hint("why"),
    row(Messages, "forget", A::Forget, "f delete").help("forget it (asks first)").hint("forget"),
    row(Messages, "forget_grounds", A::ForgetGrounds, "F").help("forget what it rests on (asks first)").hint("its sources"),
    row(Messages, "first", A::First, "home"),
    row(Messages, "close", A::Close, "esc enter q").hint("back"),
    row(Messages, "help", A::Help, "?"),
    // The memory's page.
    row(MemoryPage, "about_you", A::Tab(0), "1").help("About you, People, Plans, Places, Everything"),
    row(MemoryPage, "people", A::Tab(1), "2").also(),
    row(MemoryPage, "plans", A::Tab(2), "3").also(),
    row(MemoryPage, "places", A::Tab(3), "4").also(),
    row(MemoryPage, "everything", A::Tab(4), "5").also(),
    row(MemoryPage, "next_tab", A::NextTab, "tab").help("the next of these").hint("next"),
    row(MemoryPage, "previous_tab", A::PreviousTab, "shift+tab").help("the one before"),
    row(MemoryPage, "leave", A::Close, "ctrl+c"),
    row(MemoryPage, "open_chat", A::OpenChat, "o").help("open the chat where it was said (so does Enter on a fact)").hint("chat"),
    row(MemoryPage, "pin", A::Pin, "p").help("pin a fact to the top, or no more").hint("pin"),
    row(MemoryPage, "changes", A::Changes, "n").help("what is new, corrected or no longer so").hint("changes"),
    // In the tree, and of facts anywhere.
    row(MemoryPane, "up", A::Up, "up k").help("move, open, close"),
    row(MemoryPane, "down", A::Down, "down j").also(),
    row(MemoryPane, "left", A::Left, "left h").also(),
    row(MemoryPane, "right", A::Right, "right l").also(),
    row(MemoryPane, "first", A::First, "home g"),
    row(MemoryPane, "last", A::Last, "end G"),
    row(MemoryPane, "page_up", A::ScrollPage(-1), "pageup"),
    row(MemoryPane, "page_down", A::ScrollPage(1), "pagedown"),
    row(MemoryPane, "open", A::Accept, "enter space").hint("open"),
    row(MemoryPane, "search", A::Search, "/").help("search").hint("search"),
    row(MemoryPane, "edit", A::Edit, "e").help("correct a fact").hint("edit"),
    row(MemoryPane, "forget", A::Forget, "f delete").help("forget what is chosen (asks first)").hint("forget"),
    row(MemoryPane, "forget_file", A::ForgetFile, "F").help("forget all that came from the same file (asks first)"),
    row(MemoryPane, "undo", A::Undo, "u").help("undo the last change"),
    row(MemoryPane, "close", A::Close, "esc q").hint("close"),
    row(MemoryPane, "help", A::Help, "?"),
    // What was learnt from imports.
    row(Learned, "keep", A::Keep, "a").help("keep the fact").hint("keep"),
    row(Learned, "throw", A::Throw, "x delete")
        .help("throw it away; u takes that back until the pane is closed").hint("throw away"),
    row(Learned, "keep_rest", A::KeepRest, "A").help("keep the rest of the import, throw it away").hint("the rest"),
    row(Learned, "throw_rest", A::ThrowRest, "X").also(),
    row(MemorySearch, "done", A::Accept, "enter down").hint("done"),
    row(MemorySearch, "clear", A::Close, "esc").hint("clear"),
    row(MemorySearch, "delete", A::DeleteChar, "backspace"),
    // The *why* pane.
    row(WhyPane, "up", A::Up, "up k"),
    row(WhyPane, "down", A::Down, "down j"),
    row(WhyPane, "page_up", A::ScrollPage(-1), "pageup"),
    row(WhyPane, "page_down", A::ScrollPage(1), "pagedown"),
    row(WhyPane, "previous", A::Left, "left h").hint("answer"),
    row(WhyPane, "next", A::Right, "right l").also(),
    row(WhyPane, "details", A::Why, "ctrl+g").hint("details"),
    row(WhyPane, "close", A::Close, "esc q").hint("close"),
    row(WhyPane, "help", A::Help, "?"),
    // The `?` page.
    row(Help, "up", A::Up, "up k").hint("back"),
    row(Help, "down", A::Down, "down j").hint("more"),
    row(Help, "page_up", A::ScrollPage(-1), "pageup"),
    row(Help, "page_down", A::ScrollPage(1), "pagedown"),
    row(Help, "close", A::Close, "esc ctrl+c ? q enter f1").hint("close"),
    // Lists. Ctrl+R again goes to the message before, as in a shell.
    row(Picker, "up", A::Up, "up").hint("choose"),
    row(Picker, "down", A::Down, "down tab ctrl+r").also(),
    row(Picker, "first", A::First, "home"),
    row(Picker, "last", A::Last, "end"),
    row(Picker, "page_up", A::ScrollPage(-1), "pageup"),
    row(Picker, "page_down", A::ScrollPage(1), "pagedown"),
    row(Picker, "take", A::Accept, "enter").hint("take"),
    row(Picker, "close", A::Close, "esc ctrl+c").hint("close"),
    row(Picker, "delete", A::DeleteChar, "backspace"),
    row(Picker, "clear", A::ClearText, "ctrl+u"),
    // The list of chats.
    row(ChatList, "rename", A::Rename, "ctrl+e f2").hint("rename"),
    row(ChatList, "pin", A::Pin, "ctrl+p").hint("pin"),
    row(ChatList, "delete", A::DeleteChat, "delete ctrl+d").hint("delete, or not"),
    // Questions. Enter takes the safe answer.
    row(Confirm, "yes", A::Accept, "y Y"),
    row(Confirm, "no", A::Close, "n N q enter esc ctrl+c").hint("leave it"),
    row(Confirm, "other", A::Other, "o O"),
    row(Confirm, "up", A::Up, "up").hint("read all"),
    row(Confirm, "down", A::Down, "down").also(),
    row(Confirm, "page_up", A::ScrollPage(-1), "pageup"),
    row(Confirm, "page_down", A::ScrollPage(1), "pagedown"),
    // The correction of a fact.
    row(Edit, "save", A::Accept, "enter").hint("save"),
    row(Edit, "close", A::Close, "esc ctrl+c").hint("leave as it was"),
];
