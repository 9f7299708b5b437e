//! What the messages of some topics tell (LightMem §3.2, f_sum). The paper does not print its
//! prompt: the wording is our own.

use inglenook::prompts::{Line, Problem, Prompt, Style, date, reply};
use jiff::civil::DateTime;
use minijinja::{Value, context};

use super::TEMPLATES;

/// More notes on one message are a loop.
const NOTES_MAX: usize = 8;
/// A longer line is a story.
const NOTE_CHARS_MAX: usize = 400;

/// Asks what each message tells; messages are numbered through all topics, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicNotes<'a> {
    /// None of them empty.
    pub topics: &'a [&'a [Line]],
}

impl TopicNotes<'_> {
    /// The filled prompt.
    #[must_use]
    pub fn fill(&self) -> Prompt {
        let mut numbers = 1_usize..;
        let topics: Vec<Value> = self
            .topics
            .iter()
            .map(|lines| {
                let begun = lines.first().map_or(DateTime::default(), |line| line.at);
                // Not `zip`: it would take a number more than there are lines.
                let lines: Vec<Value> = lines
                    .iter()
                    .map(|line| context! { number => numbers.next(), text => line.render() })
                    .collect();
                context! { date => date(begun), lines }
            })
            .collect();
        TEMPLATES.prompt("topic_notes", Style::Instructed, context! { topics })
    }

    /// Notes, each with the place of its message (from 0).
    #[must_use]
    pub fn parse(reply: &str, n_messages: usize) -> (Vec<(usize, String)>, Vec<Problem>) {
        let text = reply::clean(reply);
        let (mut notes, mut problems) = (Vec::<(usize, String)>::new(), Vec::new());
        for line in text.lines().map(|line| line.trim_matches(['-', '*', '•', ' '])) {
            if line.is_empty() {
                continue;
            }
            let why = match numbered(line) {
                None => "no message and note",
                Some((0, _)) => "no such message",
                Some((number, _)) if number > n_messages => "no such message",
                Some((_, note)) if note.chars().count() > NOTE_CHARS_MAX => "too long for a note",
                Some((number, note)) => {
                    let on_it = notes.iter().filter(|(place, _)| *place == number - 1);
                    if on_it.clone().count() == NOTES_MAX {
                        "too many notes"
                    } else if on_it.clone().any(|(_, known)| known == note) {
                        "said already"
                    } else {
                        notes.push((number - 1, note.to_owned()));
                        continue;
                    }
                }
            };
            problems.push(Problem::Dropped { line: reply::shorten(line), why });
        }
        if text.is_empty() {
            problems.push(Problem::Empty);
        }
        (notes, problems)
    }
}

/// `3: …`, `3. …`, `3) …`.
fn numbered(line: &str) -> Option<(usize, &str)> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line[digits..].trim_start();
    let note = rest.strip_prefix([':', '.', ')'])?.trim().trim_matches(['*', '"']).trim();
    (!note.is_empty()).then_some((line[..digits].parse().ok()?, note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_numbered_through_all_topics() {
        let line = |text: &str| Line {
            speaker: "Ana".into(),
            at: jiff::civil::date(2026, 11, 16).at(9, 0, 0, 0),
            text: text.into(),
        };
        let (first, second) = ([line("one"), line("two")], [line("three")]);
        let prompt = TopicNotes { topics: &[&first, &second] }.fill();
        let expected = "Topic 1, 16 November 2026\n1. Ana: one\n2. Ana: two\n\
                        Topic 2, 16 November 2026\n3. Ana: three\nNotes:";
        assert_eq!(prompt.user, expected);
    }

    #[test]
    fn notes_name_their_messages() {
        let check = |reply: &str, expected: &[(usize, &str)], n_problems: usize| {
            let (found, problems) = TopicNotes::parse(reply, 3);
            let found: Vec<(usize, &str)> = found.iter().map(|(n, t)| (*n, t.as_str())).collect();
            assert_eq!(found, expected, "{reply}");
            assert_eq!(problems.len(), n_problems, "{problems:?}");
        };
        check("1: Ana has a dog.\n3: Ben sails.", &[(0, "Ana has a dog."), (2, "Ben sails.")], 0);
        check("Notes:\n- 2) Ana has a dog.\n2. Ana has a dog.", &[(1, "Ana has a dog.")], 2);
        check("4: Ana sails.\n0: Ana sails.\n2:\nAna sails.", &[], 4);
        check("", &[], 1);
    }
}
