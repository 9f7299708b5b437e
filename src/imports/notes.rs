//! A note, in Markdown as Obsidian and others write it → a session of its sections.
//!
//! It knows no files: what is read, and when it was written, is handed to it.

use crate::imports::ImportedSession;
use crate::memory::{Moment, NewMessage, Role};

/// Longer sections become several messages.
const SECTION_CHARS_MAX: usize = 2_000;

/// What a note holds; `None` if there is nothing in it. `path`: within its folder; each message is known by it.
pub fn note(path: &str, text: &str, at: Moment) -> Option<ImportedSession> {
    let text = text.replace("\r\n", "\n");
    let (front, body) = front_matter(&text);
    let stem = path.rsplit('/').next().unwrap_or(path);
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let first = body.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim);
    let title = front.or(first.map(str::to_owned)).filter(|title| !title.is_empty());
    let title = title.unwrap_or_else(|| stem.to_owned());
    let message = |(n, text): (usize, String)| NewMessage {
        external_id: Some(format!("{path}#{n}")),
        ..NewMessage::new(Role::User, text, at)
    };
    let messages: Vec<NewMessage> =
        sections(&title, body).into_iter().enumerate().map(message).collect();
    (!messages.is_empty()).then_some(ImportedSession { title, messages })
}

/// The file of a note's message, by its external id.
pub fn path_of(external_id: &str) -> &str {
    external_id.rsplit_once('#').map_or(external_id, |(path, _)| path)
}

/// The title in the front matter, and what comes after it.
fn front_matter(text: &str) -> (Option<String>, &str) {
    let Some((front, body)) = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---"))
    else {
        return (None, text);
    };
    let title = front.lines().find_map(|line| line.strip_prefix("title:"));
    let title = title.map(|title| title.trim().trim_matches(['"', '\'']).to_owned());
    (title, body.split_once('\n').map_or("", |(_, body)| body))
}

/// The sections of a note, each below the headings that it stands under.
fn sections(title: &str, body: &str) -> Vec<String> {
    let mut sections = Vec::new();
    let mut heading = String::new();
    let mut text = String::new();
    let mut is_code = false;
    for line in without_comments(body).lines() {
        is_code ^= line.trim_start().starts_with("```");
        let level = line.bytes().take_while(|b| *b == b'#').count();
        let begins = (1..=6).contains(&level) && line[level..].starts_with(' ') && !is_code;
        if begins {
            push(&mut sections, title, &heading, &text);
            text.clear();
            line[level..].trim().clone_into(&mut heading);
        } else {
            text.push_str(&without_links(line));
            text.push('\n');
        }
    }
    push(&mut sections, title, &heading, &text);
    sections
}

/// One section, in parts if it is long.
fn push(sections: &mut Vec<String>, title: &str, heading: &str, text: &str) {
    let head = if heading.is_empty() || heading == title {
        title.to_owned()
    } else {
        format!("{title} › {heading}")
    };
    let mut part = String::new();
    let mut end = |part: &mut String| {
        if !part.trim().is_empty() {
            sections.push(format!("{head}\n\n{}", part.trim()));
        }
        part.clear();
    };
    for paragraph in text.split("\n\n") {
        if part.len() + paragraph.len() > SECTION_CHARS_MAX {
            end(&mut part);
        }
        part.push_str(paragraph);
        part.push_str("\n\n");
    }
    end(&mut part);
}

/// Without `%% … %%` and `<!-- … -->`, which are nobody's to read.
fn without_comments(text: &str) -> String {
    let mut out = text.to_owned();
    for (open, close) in [("%%", "%%"), ("<!--", "-->")] {
        let mut from = 0;
        while let Some(at) = out[from..].find(open).map(|at| from + at) {
            let Some(end) = out[at + open.len()..].find(close) else { break };
            out.replace_range(at..at + open.len() + end + close.len(), "");
            from = at;
        }
    }
    out
}

/// `[[Page|words]]` is the words, `[[Page#part]]` the page; what is embedded is not said.
fn without_links(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("[[") {
        let Some(end) = rest[at..].find("]]").map(|end| at + end) else { break };
        let link = &rest[at + 2..end];
        let before = &rest[..at];
        if let Some(before) = before.strip_suffix('!') {
            out.push_str(before);
        } else {
            out.push_str(before);
            let words = link.split_once('|').map(|(_, words)| words);
            out.push_str(words.unwrap_or_else(|| link.split('#').next().unwrap_or(link)));
        }
        rest = &rest[end + 2..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interfaces::Clock;
    use crate::testing::ManualClock;

    fn read(path: &str, text: &str) -> Option<(String, Vec<String>)> {
        let note = note(path, text, ManualClock::at("2026-11-21T10:00:00Z").now())?;
        Some((note.title, note.messages.into_iter().map(|m| m.content).collect()))
    }

    #[test]
    fn a_note_is_its_sections() {
        let text = "---\ntags: [home]\ntitle: \"The house\"\n---\nBought in 2019. %%secret%%\n\n\
                    # Rooms\nThe [[Kitchen|big kitchen]] and the [[Attic#north]]. ![[plan.png]]\n\
                    ```\n# no heading\n```\n## Empty\n\n# Heating\nA stove.\n";
        let (title, sections) = read("a/House.md", text).unwrap();
        assert_eq!(title, "The house");
        assert_eq!(
            sections,
            [
                "The house\n\nBought in 2019.",
                "The house › Rooms\n\nThe big kitchen and the Attic. \n```\n# no heading\n```",
                "The house › Heating\n\nA stove.",
            ]
        );
        assert_eq!(read("Plain.md", "just words").unwrap().0, "Plain");
        assert_eq!(read("b.md", "# Title\n\nwords").unwrap().1, ["Title\n\nwords"]);
        assert_eq!(read("c.md", "---\ntitle: x\n---\n"), None);
        assert_eq!(read("c.md", "  \n"), None);
        let long = read("d.md", &"word word word\n\n".repeat(400)).unwrap().1;
        assert!(long.len() > 2 && long.iter().all(|part| part.len() < SECTION_CHARS_MAX + 40));
        for odd in ["---\n", "[[", "]][[", "![[a]]", "%%", "%% a", "<!--", "#", "# ", "[[|]]"] {
            read("e.md", odd);
        }
        assert_eq!(path_of("a/b#c.md#12"), "a/b#c.md");
    }
}
