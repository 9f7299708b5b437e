//! Slash commands: name, arguments, help and what each does, in one table. The completion popup, the
//! `?` page and the palette are made from it.
//!
//! A new command is one row of [`COMMANDS`].

use std::path::PathBuf;

use crate::chat::sampling::Setting;
use crate::chat::{Command, MessageKind, Template};
use crate::memory::SessionId;
use crate::store::AnyId;
use crate::texts::{self, text};
use crate::tui::event::{Effect, StoreRequest};
use crate::tui::keys::Action;
use crate::tui::palette::is_name;
use crate::tui::pickers::{Picker, PickerKind};
use crate::tui::state::{Overlay, State};
use crate::tui::{chats, learned, panes, settings, tools, update};

/// One command.
#[derive(Debug, Clone, Copy)]
pub struct SlashCommand {
    pub name: &'static str,
    aliases: &'static [&'static str],
    /// What follows it: `[NAME]`; empty if nothing may.
    pub arguments: &'static str,
    /// Said if its arguments are missing; `None` if it runs without any.
    pub(super) missing: Option<&'static str>,
    pub help: &'static str,
    /// Its line in the palette; `None` if a key's line does the same.
    pub palette: Option<&'static str>,
    /// Runs it with what follows its name.
    pub run: Run,
}

type Run = fn(&mut State, &str) -> Vec<Effect>;

const fn command(name: &'static str, help: &'static str, run: Run) -> SlashCommand {
    SlashCommand { name, aliases: &[], arguments: "", missing: None, help, palette: None, run }
}

/// In the order of the popup.
pub const COMMANDS: &[SlashCommand] = &[
    command("remember", "keep this in memory", |state, text| {
        update::submit(state, text.to_owned(), MessageKind::Remember)
    })
    .required("TEXT", "Say what: /remember I like green tea.")
    .palette("Keep this in memory"),
    command("forget", "take something out of memory for good", |_, what| {
        vec![Effect::Store(plan_forget(what))]
    })
    .required(
        "ID… or TEXT",
        "Say what: /forget s12, or /forget followed by words that occur in it.",
    )
    .palette("Take something out of memory for good"),
    command("memory", "the memory page: you, people, plans, places", |state, _| {
        panes::open_memory(state)
    }),
    command("learned", "look through what imports taught", |state, _| learned::open(state))
        .palette("Look through what imports taught"),
    command("why", "what the last answer was made from", |state, _| panes::open_why(state)),
    command("new", "start a new chat", |state, _| update::run(state, Action::NewSession)),
    command("sessions", "open an earlier chat", |state, _| update::run(state, Action::Sessions)),
    command("find", "search all chats", chats::find)
        .required("WORDS", "Say what: /find carrot cake"),
    command("rename", "give this chat another title", |state, title| {
        if let Some(session) = state.transcript.session.filter(|_| !state.incognito) {
            rename(state, session, title)
        } else {
            state.say(text!("There is no chat to rename yet."));
            Vec::new()
        }
    })
    .required("TITLE", "Say how: /rename Lund"),
    command("continue", "go on with a reply that was stopped or cut", |_, _| {
        vec![Effect::Chat(Command::Continue)]
    })
    .palette("Go on with a reply that was stopped or cut"),
    command("retry", "answer the last message again", |_, _| {
        vec![Effect::Chat(Command::Regenerate)]
    })
    .palette("Answer the last message again"),
    command("model", "list models, or switch to one", |state, name| match name {
        "" => update::run(state, Action::Models),
        name => vec![Effect::Chat(Command::LoadModel(Some(name.to_owned())))],
    })
    .optional("[NAME]")
    .aliases(&["models"]),
    command("role", "what the model is (none: an assistant)", |state, name| match name {
        "" => {
            state.overlay = Some(Overlay::Picker(Picker::new(PickerKind::Roles)));
            vec![Effect::Store(StoreRequest::Roles(None))]
        }
        "none" => vec![Effect::Chat(Command::Role(None))],
        name => vec![Effect::Store(StoreRequest::Roles(Some(name.to_owned())))],
    })
    .optional("[NAME]")
    .aliases(&["roles"])
    .palette("Choose what the model is"),
    command("prompts", "your own prompts; /NAME fills one", |state, _| {
        state.overlay = Some(Overlay::Picker(Picker::new(PickerKind::Prompts)));
        vec![Effect::Store(StoreRequest::Prompts)]
    })
    .palette("Your own prompts"),
    command("set", "temperature, seed … (NAME alone: as before)", settings::set)
        .optional("[NAME [NUMBER]]")
        .aliases(&["settings"])
        .palette("Change the temperature, the seed …"),
    command("theme", "choose the screen's colours", |state, name| {
        if !is_name(name) {
            return update::run(state, Action::Look);
        }
        let palette = (state.palettes)(name);
        state.set_palette(&palette);
        vec![Effect::Store(StoreRequest::Look(name.to_owned()))]
    })
    .optional("[NAME]")
    .aliases(&["themes", "palette"])
    .palette("Choose the screen's colours"),
    command("tools", "let the model use tools (MCP servers)", tools::command)
        .optional("[on|off|show]")
        .palette("Let the model use tools (MCP servers)"),
    command("incognito", "a chat that is not kept (again: back)", |state, _| {
        vec![Effect::Chat(Command::Incognito(!state.incognito))]
    })
    .palette("A chat that is not kept, and back"),
    command("undo", "take back your last correction or deleted chat", |state, _| {
        if chats::restore(state) { Vec::new() } else { vec![Effect::Store(StoreRequest::Undo)] }
    })
    .palette("Take back your last correction or deleted chat"),
    command("export", "save this chat (.md or .json)", |state, path| {
        update::export(state, (!path.is_empty()).then(|| PathBuf::from(path)))
    })
    .optional("[FILE]")
    .palette("Save this chat as a file"),
    command("copy", "the last answer to the clipboard", |state, _| {
        update::run(state, Action::Copy)
    }),
    command("help", "keys and commands", |state, _| update::run(state, Action::Help)),
    command("quit", "leave", |state, _| update::run(state, Action::Quit)).aliases(&["exit", "q"]),
];

impl SlashCommand {
    const fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    const fn optional(self, arguments: &'static str) -> Self {
        Self { arguments, ..self }
    }

    const fn required(self, arguments: &'static str, missing: &'static str) -> Self {
        Self { arguments, missing: Some(missing), ..self }
    }

    const fn palette(self, label: &'static str) -> Self {
        Self { palette: Some(label), ..self }
    }

    /// Whether it can't run without arguments.
    pub fn needs_arguments(&self) -> bool {
        self.missing.is_some()
    }
}

fn rename(state: &mut State, session: SessionId, title: &str) -> Vec<Effect> {
    title.clone_into(&mut state.transcript.title);
    vec![Effect::Store(StoreRequest::Rename { session, title: title.to_owned() })]
}

/// `s12, m4`, or words that occur in what is to be forgotten.
fn plan_forget(what: &str) -> StoreRequest {
    let words = what.split([' ', ',']).filter(|w| !w.is_empty());
    match words.map(str::parse).collect::<Result<Vec<AnyId>, _>>() {
        Ok(ids) if !ids.is_empty() => StoreRequest::PlanForget { ids, matching: None },
        _ => {
            let matching = Some(what.trim_matches('"').to_owned());
            StoreRequest::PlanForget { ids: Vec::new(), matching }
        }
    }
}

/// Whether a line is meant as a command: `/word`, not `/usr/bin` and not `//`.
pub fn is_command(line: &str) -> bool {
    let Some(rest) = line.strip_prefix('/') else { return false };
    let word = rest.split_whitespace().next().unwrap_or("");
    rest.starts_with(word)
        && word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c))
}

/// The name in a line that [`is_command`], and what follows it.
pub fn divide(line: &str) -> (&str, &str) {
    let line = line.trim().trim_start_matches('/');
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (name, arguments.trim())
}

/// The command of this name.
pub fn find(name: &str) -> Option<&'static SlashCommand> {
    COMMANDS.iter().find(|c| c.name == name || c.aliases.contains(&name))
}

/// The command of a line that [`is_command`], and its arguments.
///
/// # Errors
/// What is wrong with the line, in words for the person.
pub fn parse(line: &str) -> Result<(&'static SlashCommand, &str), String> {
    let (name, arguments) = divide(line);
    let unknown = || text!("There is no /{name}. Type / to see the commands.", name);
    let command = find(name).ok_or_else(unknown)?;
    match command.missing {
        Some(missing) if arguments.is_empty() => Err(texts::lookup(missing).into()),
        None if command.arguments.is_empty() && !arguments.is_empty() => {
            Err(text!("/{name} takes nothing after it.", name))
        }
        _ => Ok((command, arguments)),
    }
}

/// What a line may become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// "/forget".
    pub line: String,
    /// What follows it.
    pub arguments: String,
    pub help: String,
    /// It is sent as it is; otherwise something has to follow.
    pub is_whole: bool,
}

/// The commands and prompts that a line may become, or the settings, once it is `/set `.
pub fn completions(line: &str, prompts: &[Template]) -> Vec<Completion> {
    let Some(word) = line.strip_prefix('/') else { return Vec::new() };
    if let Some(word) = word.strip_prefix("set ") {
        let settings = Setting::ALL.into_iter().filter(|s| s.name().starts_with(word));
        let completion = |setting: Setting| Completion {
            line: format!("/set {}", setting.name()),
            arguments: text!("[NUMBER]").into(),
            help: setting.help().into(),
            is_whole: word == setting.name(),
        };
        return settings.map(completion).collect();
    }
    let completion = |command: &SlashCommand| Completion {
        line: format!("/{}", command.name),
        arguments: texts::lookup(command.arguments).into(),
        help: texts::lookup(command.help).into(),
        is_whole: !command.needs_arguments(),
    };
    let commands = COMMANDS.iter().filter(|c| c.name.starts_with(word)).map(completion);
    let prompts = prompts.iter().filter(|prompt| prompt.name.starts_with(word));
    let prompts = prompts.map(|prompt| Completion {
        line: format!("/{}", prompt.name),
        arguments: prompt.usage(),
        help: prompt.description.clone(),
        is_whole: prompt.usage().is_empty(),
    });
    commands.chain(prompts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_not_commands() {
        for line in ["/usr/bin is a folder", "//", "/", "/ forget", "a /new", "", "/Ünder", "/2"] {
            assert!(!is_command(line), "{line}");
        }
    }
}
