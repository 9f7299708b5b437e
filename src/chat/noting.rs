//! What will be remembered of a message, as it is said back (pure).

use jiff::civil::DateTime;

use crate::chat::policy::head;
use crate::extractive;
use crate::memory::{Message, MessageId, Moment, Role};

/// Earlier messages that a pronoun or a correction may point back to.
const N_EARLIER: usize = 12;

/// What one message states, in the third person.
pub fn facts(text: &str, person: &str, at: Moment) -> Vec<String> {
    let said = utterance(MessageId(0), text, person, at.civil());
    extractive::statements(&[said]).into_iter().map(|statement| statement.text).collect()
}

fn utterance(message: MessageId, text: &str, person: &str, at: DateTime) -> extractive::Utterance {
    extractive::Utterance {
        message,
        role: Role::User,
        speaker: person.to_owned(),
        addressee: None,
        text: head(text).to_owned(),
        at,
    }
}

/// What was understood and will be remembered; `None` if the rules find no statement.
pub fn acknowledge(
    text: &str,
    earlier: &[Message],
    at: Moment,
    user_name: Option<&str>,
) -> Option<String> {
    /// No stored message has it.
    const THIS: MessageId = MessageId(0);
    let at = at.civil();
    let person = user_name.unwrap_or(extractive::THE_USER);
    let said = |message, text| utterance(message, text, person, at);
    let mine = earlier.iter().rev().filter(|line| line.role == Role::User).take(N_EARLIER);
    let mut utterances: Vec<_> = mine.map(|line| said(line.id, &line.content)).collect();
    utterances.reverse();
    let told = said(THIS, text);
    utterances.push(told.clone());
    let mut statements = extractive::statements(&utterances);
    statements.retain(|s| s.messages.contains(&THIS));
    if statements.is_empty() {
        // It was said before.
        statements = extractive::statements(std::slice::from_ref(&told));
    }
    if statements.is_empty() {
        return None;
    }
    Some(extractive::acknowledge(&statements, &told, user_name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::message;

    fn now() -> Moment {
        crate::interfaces::Clock::now(&crate::testing::ManualClock::at("2026-11-21T10:00:00Z"))
    }

    fn line(id: i64, text: &str) -> Message {
        message(id, Role::User, text)
    }

    #[test]
    fn what_was_told_before_is_noted_once_more() {
        let at = now();
        let told = "From now on the cornbread costs 3.50.";
        let earlier = [message(1, Role::User, told)];
        let noted = acknowledge(told, &earlier, at, None);
        assert_eq!(noted.as_deref(), Some("Noted: From now on the cornbread costs 3.50."));
        assert_eq!(acknowledge(told, &[], at, None), noted);
    }

    #[test]
    fn acknowledging_understands_what_went_before() {
        let earlier = [line(1, "I have a dog named Max.")];
        let text = acknowledge("He is a Labrador mix.", &earlier, now(), None).unwrap_or_default();
        assert!(text.contains("Max") && text.contains("Labrador"), "{text}");
        assert!(!text.contains("have a dog"), "only what is new: {text}");
    }

    #[test]
    fn a_mood_is_not_noted() {
        for (text, is_noted) in [
            ("I feel a bit sad today", false),
            ("i'm so tired", false),
            ("im bored", false),
            ("I'm really anxious tonight.", false),
            ("I had a really bad day", false),
            ("I'm feeling great this morning!", false),
            ("feeling lonely again", false),
            ("I'm a nurse.", true),
            ("I'm allergic to peanuts", true),
            ("My dog Max is a labrador mix.", true),
            ("I moved to Lund last week.", true),
            ("my exam is on thursday", true),
            ("I'm worried about my exam on Thursday", true),
            ("I have a day off on Monday", true),
            ("I'm having a rough day", false),
            ("I can't sleep", false),
            ("I'm scared of flying", true),
            ("I was depressed last year", true),
            ("I have a long night shift on Friday", true),
        ] {
            let noted = acknowledge(text, &[], now(), None);
            assert_eq!(noted.is_some(), is_noted, "{text}: {noted:?}");
        }
    }
}
