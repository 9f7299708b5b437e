//! Messages as the writers see them: who speaks to whom.

use crate::extractive::{self, THE_USER, Utterance};
use crate::memory::{Message, Role, own_words};
use crate::store::{StoreError, USER_NAME, WriteTx};

const ASSISTANT: &str = "Assistant";

/// Rules and prompts see at most this much of a message; the store keeps all of it.
const TEXT_CHARS_MAX: usize = 16_000;

/// The name that the person gives in these messages; the newest counts.
pub(super) fn learned_name(messages: &[Message]) -> Option<String> {
    messages
        .iter()
        .rev()
        .filter(|m| m.role == Role::User && m.speaker.is_none())
        .find_map(|m| extractive::user_name(cut(&m.content)))
}

/// Stores the person's name if none is known: a later "I'm Max's owner" must not rename them; `/name`
/// and the settings can.
pub(super) fn learn_name(tx: &mut WriteTx<'_>, learned: Option<&str>) -> Result<(), StoreError> {
    match learned {
        Some(name) if tx.user_name()?.is_none() => tx.set_setting(USER_NAME, name),
        _ => Ok(()),
    }
}

/// The messages of one session as utterances.
pub(super) fn utterances(messages: &[Message], user_name: Option<&str>) -> Vec<Utterance> {
    let name = |m: &Message| match (&m.speaker, m.role) {
        (Some(name), _) => name.clone(),
        (None, Role::User) => user_name.unwrap_or(THE_USER).to_owned(),
        (None, Role::Assistant) => ASSISTANT.to_owned(),
    };
    let mut named: Vec<&String> = Vec::new();
    for speaker in messages.iter().filter_map(|m| m.speaker.as_ref()) {
        if !named.contains(&speaker) {
            named.push(speaker);
        }
    }
    messages
        .iter()
        .map(|m| Utterance {
            message: m.id,
            // Of two named people, neither is the assistant: both state facts.
            role: if m.speaker.is_some() { Role::User } else { m.role },
            speaker: name(m),
            addressee: match (&m.speaker, &named[..]) {
                (Some(me), [a, b]) => Some((*if *a == me { b } else { a }).clone()),
                _ => None,
            },
            text: without_photos(cut(own_words(&m.content))),
            at: m.created_at.civil(),
        })
        .collect()
}

/// Removes the photo descriptions that imports write into the text, since nobody stated them. The
/// message itself keeps them, and recall finds them there.
fn without_photos(text: &str) -> String {
    const OPENS: &str = "[shares a photo:";
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, photo)) = rest.split_once(OPENS) {
        let Some((_, after)) = photo.split_once(']') else { break };
        kept.push_str(before.trim_end());
        rest = after;
    }
    kept.push_str(rest);
    kept
}

pub(super) fn cut(text: &str) -> &str {
    text.char_indices().nth(TEXT_CHARS_MAX).map_or(text, |(at, _)| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn photo_descriptions_are_no_statements() {
        let check = |text: &str, kept: &str| assert_eq!(without_photos(text), kept);
        check("Look! [shares a photo: a dog]", "Look!");
        check("[shares a photo: a] and [shares a photo: b] both", " and both");
        check("I take [good] photos", "I take [good] photos");
        check("cut off [shares a photo: a do", "cut off [shares a photo: a do");
    }
}
