//! What a chat service says that it remembers of somebody: a list, pasted into a file, an entry a line.
//!
//! Entries may have a bullet or a number and a day in brackets before them ("[2026-03-01] - Lives in Lund"). Their subject is often
//! left out, or is "User".

use std::sync::LazyLock;

use jiff::civil::Date;
use regex::Regex;

use super::ImportedSession;
use crate::extractive::in_own_words;
use crate::memory::{Moment, NewMessage, Role, plain_text};

/// With how entries begin whose subject is left out.
const VERBS: &str = "Is|Was|Has|Had|Does|Did|Can|Cannot|Will|Would|Lives|Lived|Works|Worked|Likes|Loves|Prefers|Wants|Wishes|Hopes|\
    Enjoys|Plans|Uses|Needs|Speaks|Studies|Studied|Plays|Owns|Dislikes|Hates|Avoids|Values|Believes|Thinks|Asked|Moved|Bought|\
    Started|Stopped|Began|Became|Got|Keeps|Knows|Learns|Runs|Reads|Writes|Drives|Rides|Eats|Drinks|Cooks|Goes|Went|Takes|Makes|\
    Teaches|Manages|Leads|Builds|Grew|Comes|Came|Finds|Cares|Follows|Appreciates|Considers|Doesn't|Isn't|Wasn't|Hasn't";

/// A list of memories as one chat in which the person says them; `None` if there are none. What has no day of its own has `at`.
pub fn memories(text: &str, title: &str, at: Moment) -> Option<ImportedSession> {
    let mut messages: Vec<NewMessage> = text
        .lines()
        .filter_map(|line| {
            let (day, said) = entry(line)?;
            let noon = |day: Date| Moment::from_civil_utc(day.at(12, 0, 0, 0));
            let said = by_name(in_whole(&said));
            Some(NewMessage::new(Role::User, said, day.map_or(at, noon)))
        })
        .collect();
    messages.sort_by_key(|message| message.created_at.timestamp);
    (!messages.is_empty()).then(|| ImportedSession { title: title.to_owned(), messages })
}

/// What a line says, and its day. Headings, rules and the fences of code say nothing.
fn entry(line: &str) -> Option<(Option<Date>, String)> {
    static MARK: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^(?:[-*•–—+]\s+|\d{1,4}[.)]\s+)+").expect("a constant"));
    static DAY: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:\[([^\]]{1,40})\]|(\d{4}-\d{2}-\d{2}))\s*[-–—:]?\s*").expect("a constant")
    });
    let line = plain_text(line.trim());
    let line = MARK.replace(&line, "");
    let day = DAY.captures(&line);
    let rest = day.as_ref().map_or(&*line, |day| &line[day[0].len()..]);
    let rest = rest.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '“' | '”'));
    let is_heading = rest.starts_with('#')
        || rest.starts_with("```")
        || rest.ends_with(':')
        || rest.starts_with("**") && rest.ends_with("**")
        || !rest.chars().any(char::is_alphanumeric)
        || rest.split_whitespace().count() < 2;
    let day = day.and_then(|day| {
        let text = day.get(1).or_else(|| day.get(2))?.as_str();
        text.get(..10)?.parse().ok()
    });
    (!is_heading).then(|| (day, rest.to_owned()))
}

/// "The user's name is Tomas" → "My name is Tomas", which says what the person is called.
fn by_name(said: String) -> String {
    const NAMED: [&str; 4] =
        ["The user's name is ", "The user’s name is ", "The user is named ", "The user is called "];
    let name = NAMED.iter().find_map(|begins| said.strip_prefix(begins));
    name.map(|name| format!("My name is {name}")).unwrap_or(said)
}

/// "Lives in Lund", "User lives in Lund" → "The user lives in Lund"; "You live in Lund" → "I live in Lund".
fn in_whole(said: &str) -> String {
    static BARE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(&format!(r"^(?:{VERBS})\b")).expect("a constant"));
    static USER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^(?:The )?[Uu]ser(?P<of>['’]s)?\b").expect("a constant"));
    if BARE.is_match(said) {
        let (first, rest) = said.split_at(1);
        return format!("The user {}{rest}", first.to_lowercase());
    }
    if USER.is_match(said) {
        return USER.replace(said, "The user$of").into_owned();
    }
    if said.starts_with("You") {
        return in_own_words(said);
    }
    said.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_a_chat_of_what_it_says() {
        let list = "# Memories\n\n**Work context**\n```\n[2026-03-01] - Lives in Lund.\n- User's name is Tomas\n[unknown] - User's sister Clara is a vet.\n\
                    - User has a dog\n2. Is vegetarian\n* You're a nurse and your shifts are long.\nAna plays the cello.\n---\nHere is what I know:\n\
                    2025-12-24: “Prefers short answers”\nok\n```";
        let at = Moment::from_civil_utc("2026-11-28T10:00".parse().unwrap());
        let session = memories(list, "Memories", at).unwrap();
        let said: Vec<(String, &str)> = session
            .messages
            .iter()
            .map(|m| (m.created_at.civil().date().to_string(), m.content.as_str()))
            .collect();
        let expected = [
            ("2025-12-24", "The user prefers short answers"),
            ("2026-03-01", "The user lives in Lund."),
            ("2026-11-28", "My name is Tomas"),
            ("2026-11-28", "The user's sister Clara is a vet."),
            ("2026-11-28", "The user has a dog"),
            ("2026-11-28", "The user is vegetarian"),
            ("2026-11-28", "I am a nurse and my shifts are long."),
            ("2026-11-28", "Ana plays the cello."),
        ];
        let expected: Vec<_> =
            expected.iter().map(|(day, said)| ((*day).to_owned(), *said)).collect();
        assert_eq!(said, expected);
        assert!(session.messages.iter().all(|m| m.role == Role::User));
        assert_eq!(memories("# Nothing\n\n", "Memories", at), None);
        assert_eq!(memories("\u{1b}[2J\n🐕 !! \n", "Memories", at), None);
    }
}
