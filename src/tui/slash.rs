//! Slash commands: name, arguments, help and what each does, in one table. The completion popup, the
//! `?` page and the palette are made from it.
//!
//! A new command is one row of [`COMMANDS`].

use std::path::PathBuf;

use crate::chat::{Command, MessageKind};
use crate::store::AnyId;
use crate::tui::event::{Effect, StoreRequest};
use crate::tui::keys::Action;
use crate::tui::state::State;
use crate::tui::{panes, update};

/// What may follow a command's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arguments {
    None,
    Optional(&'static str),
    Required {
        name: &'static str,
        /// Said if there are none.
        missing: &'static str,
    },
}

/// One command.
#[derive(Debug, Clone, Copy)]
pub struct SlashCommand {
    pub name: &'static str,
    aliases: &'static [&'static str],
    pub arguments: Arguments,
    pub help: &'static str,
    /// Its line in the palette; `None` if a key's stands there.
    pub palette: Option<&'static str>,
    /// Runs it with what follows its name.
    pub run: fn(&mut State, &str) -> Vec<Effect>,
}

/// A command without arguments, which the table below amends.
const BARE: SlashCommand = SlashCommand {
    name: "",
    aliases: &[],
    arguments: Arguments::None,
    help: "",
    palette: None,
    run: |_, _| Vec::new(),
};

/// In the order of the popup.
pub const COMMANDS: &[SlashCommand] = &[
    SlashCommand {
        name: "remember",
        arguments: Arguments::Required {
            name: "TEXT",
            missing: "Say what: /remember I like green tea.",
        },
        help: "keep this in memory",
        palette: Some("Keep this in memory"),
        run: |state, text| update::submit(state, text.to_owned(), MessageKind::Remember),
        ..BARE
    },
    SlashCommand {
        name: "forget",
        arguments: Arguments::Required {
            name: "ID… or TEXT",
            missing: "Say what: /forget s12, or /forget followed by words that occur in it.",
        },
        help: "take something out of memory for good",
        palette: Some("Take something out of memory for good"),
        run: |_, what| vec![Effect::Store(plan_forget(what))],
        ..BARE
    },
    SlashCommand {
        name: "memory",
        help: "browse what is remembered",
        run: |state, _| panes::open_memory(state),
        ..BARE
    },
    SlashCommand {
        name: "why",
        help: "what the last answer was made from",
        run: |state, _| panes::open_why(state),
        ..BARE
    },
    SlashCommand {
        name: "new",
        help: "start a new chat",
        run: |state, _| update::run(state, Action::NewSession),
        ..BARE
    },
    SlashCommand {
        name: "sessions",
        help: "open an earlier chat",
        run: |state, _| update::run(state, Action::Sessions),
        ..BARE
    },
    SlashCommand {
        name: "retry",
        help: "answer the last message again",
        palette: Some("Answer the last message again"),
        run: |_, _| vec![Effect::Chat(Command::Regenerate)],
        ..BARE
    },
    SlashCommand {
        name: "model",
        aliases: &["models"],
        arguments: Arguments::Optional("[NAME]"),
        help: "list models, or switch to one",
        run: |state, name| match name {
            "" => update::run(state, Action::Models),
            name => vec![Effect::Chat(Command::LoadModel(Some(name.to_owned())))],
        },
        ..BARE
    },
    SlashCommand {
        name: "incognito",
        help: "a chat that is not kept (again: back)",
        palette: Some("A chat that is not kept, and back"),
        run: |state, _| vec![Effect::Chat(Command::Incognito(!state.incognito))],
        ..BARE
    },
    SlashCommand {
        name: "undo",
        help: "undo the last change to memory",
        palette: Some("Undo the last change to memory"),
        run: |_, _| vec![Effect::Store(StoreRequest::Undo)],
        ..BARE
    },
    SlashCommand {
        name: "export",
        arguments: Arguments::Optional("[FILE]"),
        help: "save this chat (.md or .json)",
        palette: Some("Save this chat as a file"),
        run: |state, path| update::export(state, (!path.is_empty()).then(|| PathBuf::from(path))),
        ..BARE
    },
    SlashCommand {
        name: "copy",
        help: "the last answer to the clipboard",
        run: |state, _| update::run(state, Action::Copy),
        ..BARE
    },
    SlashCommand {
        name: "help",
        help: "keys and commands",
        run: |state, _| update::run(state, Action::Help),
        ..BARE
    },
    SlashCommand {
        name: "quit",
        aliases: &["exit", "q"],
        help: "leave",
        run: |state, _| update::run(state, Action::Quit),
        ..BARE
    },
];

impl SlashCommand {
    /// "/model [NAME]".
    #[must_use]
    pub fn usage(&self) -> String {
        match self.arguments {
            Arguments::None => format!("/{}", self.name),
            Arguments::Optional(name) | Arguments::Required { name, .. } => {
                format!("/{} {name}", self.name)
            }
        }
    }

    /// Whether it can't run without arguments.
    #[must_use]
    pub fn needs_arguments(&self) -> bool {
        matches!(self.arguments, Arguments::Required { .. })
    }
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
#[must_use]
pub fn is_command(line: &str) -> bool {
    let Some(rest) = line.strip_prefix('/') else { return false };
    let word = rest.split_whitespace().next().unwrap_or("");
    rest.starts_with(word)
        && !word.is_empty()
        && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

/// The command of a line that [`is_command`], and its arguments.
///
/// # Errors
/// What is wrong with the line, in words for the person.
pub fn parse(line: &str) -> Result<(&'static SlashCommand, &str), String> {
    let line = line.trim().trim_start_matches('/');
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let arguments = arguments.trim();
    let command = COMMANDS
        .iter()
        .find(|c| c.name == name || c.aliases.contains(&name))
        .ok_or_else(|| format!("There is no /{name}. Type / to see the commands."))?;
    match command.arguments {
        Arguments::None if !arguments.is_empty() => Err(format!("/{name} takes nothing after it.")),
        Arguments::Required { missing, .. } if arguments.is_empty() => Err(missing.into()),
        _ => Ok((command, arguments)),
    }
}

/// The commands that a line may become; none once an argument is begun.
#[must_use]
pub fn completions(line: &str) -> Vec<&'static SlashCommand> {
    let Some(word) = line.strip_prefix('/') else { return Vec::new() };
    if !word.chars().all(|c| c.is_ascii_lowercase()) {
        return Vec::new();
    }
    COMMANDS.iter().filter(|c| c.name.starts_with(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{MessageId, SemanticId};

    #[track_caller]
    fn check(line: &str, expected: Result<(&str, &str), &str>) {
        assert!(is_command(line), "{line}");
        match (parse(line), expected) {
            (Ok((command, arguments)), Ok(expected)) => {
                assert_eq!((command.name, arguments), expected);
            }
            (Err(got), Err(part)) => assert!(got.contains(part), "{got}"),
            (got, expected) => panic!("{:?}, expected {expected:?}", got.map(|(c, _)| c.name)),
        }
    }

    #[test]
    fn commands_are_parsed() {
        check("/new", Ok(("new", "")));
        check("/quit ", Ok(("quit", "")));
        check("/q", Ok(("quit", "")));
        check("/new please", Err("takes nothing"));
        check("/nwe", Err("no /nwe"));
        check("/remember", Err("Say what"));
        check("/remember I am 41", Ok(("remember", "I am 41")));
        check("/forget", Err("Say what"));
        check("/model", Ok(("model", "")));
        check("/models qwen3-0.6b", Ok(("model", "qwen3-0.6b")));
        check("/export a b.md", Ok(("export", "a b.md")));
    }

    #[test]
    fn forgetting_goes_by_ids_or_by_words() {
        let check = |what: &str, ids: Vec<AnyId>, matching: Option<&str>| {
            let matching = matching.map(str::to_owned);
            assert_eq!(plan_forget(what), StoreRequest::PlanForget { ids, matching });
        };
        let ids = vec![AnyId::Semantic(SemanticId(12)), AnyId::Message(MessageId(4))];
        check("s12, m4", ids, None);
        // Words that only begin like ids are text.
        for (what, matching) in
            [("Lund", "Lund"), ("s12 and more", "s12 and more"), ("\"m4\"", "m4"), ("é", "é")]
        {
            check(what, vec![], Some(matching));
        }
    }

    #[test]
    fn paths_are_not_commands() {
        for line in ["/usr/bin is a folder", "//", "/", "/ forget", "a /new", "", "/Ünder"] {
            assert!(!is_command(line), "{line}");
        }
    }

    #[test]
    fn completion_narrows() {
        let names = |line: &str| completions(line).iter().map(|c| c.name).collect::<Vec<_>>();
        assert_eq!(names("/").len(), COMMANDS.len());
        assert_eq!(names("/me"), ["memory"]);
        assert_eq!(names("/re"), ["remember", "retry"]);
        assert!(names("/remember x").is_empty());
        assert!(names("hello").is_empty());
    }
}
