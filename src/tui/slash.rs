//! Slash commands: their names, their arguments, their completion. Pure.

use std::path::PathBuf;

use crate::store::AnyId;

/// One line of the completion popup and of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    pub name: &'static str,
    pub arguments: &'static str,
    pub help: &'static str,
}

/// In the order of the popup.
pub const COMMANDS: [Spec; 14] = [
    Spec { name: "remember", arguments: "TEXT", help: "keep this in memory" },
    Spec {
        name: "forget",
        arguments: "ID… or TEXT",
        help: "take something out of memory for good",
    },
    Spec { name: "memory", arguments: "", help: "browse what is remembered" },
    Spec { name: "why", arguments: "", help: "what the last answer was made from" },
    Spec { name: "new", arguments: "", help: "start a new chat" },
    Spec { name: "sessions", arguments: "", help: "open an earlier chat" },
    Spec { name: "retry", arguments: "", help: "answer the last message again" },
    Spec { name: "model", arguments: "[NAME]", help: "list models, or switch to one" },
    Spec { name: "incognito", arguments: "", help: "a chat that is not kept (again: back)" },
    Spec { name: "undo", arguments: "", help: "undo the last change to memory" },
    Spec { name: "export", arguments: "[FILE]", help: "save this chat (.md or .json)" },
    Spec { name: "copy", arguments: "", help: "the last answer to the clipboard" },
    Spec { name: "help", arguments: "", help: "keys and commands" },
    Spec { name: "quit", arguments: "", help: "leave" },
];

/// A parsed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slash {
    Remember(String),
    ForgetIds(Vec<AnyId>),
    ForgetMatching(String),
    Memory,
    Why,
    New,
    Sessions,
    Retry,
    Model(Option<String>),
    Incognito,
    Undo,
    Export(Option<PathBuf>),
    Copy,
    Help,
    Quit,
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

fn any_id(word: &str) -> Option<AnyId> {
    let number = || word.get(1..).filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
    let n = number()?.parse::<i64>().ok()?;
    Some(match word.as_bytes()[0] {
        b'm' => AnyId::Message(crate::memory::MessageId(n)),
        b'e' => AnyId::Episode(crate::memory::EpisodeId(n)),
        b's' => AnyId::Semantic(crate::memory::SemanticId(n)),
        b't' => AnyId::Theme(crate::memory::ThemeId(n)),
        b'c' => AnyId::Session(crate::memory::SessionId(n)),
        _ => return None,
    })
}

/// Parses a line that [`is_command`].
///
/// # Errors
/// What is wrong with it, for people.
pub fn parse(line: &str) -> Result<Slash, String> {
    let line = line.trim();
    let (name, rest) = line[1..].split_once(char::is_whitespace).unwrap_or((&line[1..], ""));
    let rest = rest.trim();
    let optional = || (!rest.is_empty()).then(|| rest.to_owned());
    let bare = |slash: Slash| {
        if rest.is_empty() { Ok(slash) } else { Err(format!("/{name} takes nothing after it.")) }
    };
    match name {
        "remember" if rest.is_empty() => Err("Say what: /remember I like green tea.".into()),
        "remember" => Ok(Slash::Remember(rest.to_owned())),
        "forget" if rest.is_empty() => {
            Err("Say what: /forget s12, or /forget followed by words that occur in it.".into())
        }
        "forget" => {
            let ids: Option<Vec<AnyId>> =
                rest.split([' ', ',']).filter(|w| !w.is_empty()).map(any_id).collect();
            Ok(match ids {
                Some(ids) if !ids.is_empty() => Slash::ForgetIds(ids),
                _ => Slash::ForgetMatching(rest.trim_matches('"').to_owned()),
            })
        }
        "memory" => bare(Slash::Memory),
        "why" => bare(Slash::Why),
        "new" => bare(Slash::New),
        "sessions" => bare(Slash::Sessions),
        "retry" => bare(Slash::Retry),
        "model" | "models" => Ok(Slash::Model(optional())),
        "incognito" => bare(Slash::Incognito),
        "undo" => bare(Slash::Undo),
        "export" => Ok(Slash::Export(optional().map(PathBuf::from))),
        "copy" => bare(Slash::Copy),
        "help" => bare(Slash::Help),
        "quit" | "exit" | "q" => bare(Slash::Quit),
        _ => Err(format!("There is no /{name}. Type / to see the commands.")),
    }
}

/// The commands that a line may become; empty once an argument is begun.
#[must_use]
pub fn completions(line: &str) -> Vec<Spec> {
    let Some(word) = line.strip_prefix('/') else { return Vec::new() };
    if !word.chars().all(|c| c.is_ascii_lowercase()) {
        return Vec::new();
    }
    COMMANDS.into_iter().filter(|c| c.name.starts_with(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{MessageId, SemanticId};

    #[track_caller]
    fn check(line: &str, expected: Result<Slash, &str>) {
        assert!(is_command(line), "{line}");
        match (parse(line), expected) {
            (Ok(got), Ok(expected)) => assert_eq!(got, expected),
            (Err(got), Err(part)) => assert!(got.contains(part), "{got}"),
            (got, expected) => panic!("{got:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn commands_are_parsed() {
        check("/new", Ok(Slash::New));
        check("/quit ", Ok(Slash::Quit));
        check("/new please", Err("takes nothing"));
        check("/nwe", Err("no /nwe"));
        check("/remember", Err("Say what"));
        check("/remember I am 41", Ok(Slash::Remember("I am 41".into())));
        check(
            "/forget s12, m4",
            Ok(Slash::ForgetIds(vec![
                AnyId::Semantic(SemanticId(12)),
                AnyId::Message(MessageId(4)),
            ])),
        );
        // Words that only begin like ids are text.
        check("/forget Lund", Ok(Slash::ForgetMatching("Lund".into())));
        check("/forget s12 and more", Ok(Slash::ForgetMatching("s12 and more".into())));
        check("/forget \"m4\"", Ok(Slash::ForgetMatching("m4".into())));
        check("/forget é", Ok(Slash::ForgetMatching("é".into())));
        check("/forget", Err("Say what"));
        check("/model", Ok(Slash::Model(None)));
        check("/model qwen3-0.6b", Ok(Slash::Model(Some("qwen3-0.6b".into()))));
        check("/export", Ok(Slash::Export(None)));
        check("/export a b.md", Ok(Slash::Export(Some("a b.md".into()))));
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
