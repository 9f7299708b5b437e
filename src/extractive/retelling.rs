//! The same text as somebody else would say it: a person's question and messages in the third person, for a
//! model that reads them; what it answers in the second person, for the person.
//!
//! A small model that reads "I am a nurse" answers "I am a nurse". It reads "Ana is a nurse".

use super::person::{Parties, inside, third_person};
use super::words::{Token, join, tokens};
use super::{lexicon, second_person, sentences};

/// A question of the person `name` ("Ana", "The user") as somebody else would ask it: "Where do I live?" →
/// "Where does Ana live?"
#[must_use]
pub fn asked_by(name: &str, question: &str) -> String {
    let parties = Parties { speaker: name, addressee: Some("the assistant") };
    let retell = |sentence: &&str| {
        let words = tokens(sentence);
        let of_speaker: Vec<usize> =
            (1..words.len()).filter(|&i| words[i].is("i") || words[i].is("we")).collect();
        let Some(mut told) = third_person(&words, parties) else { return (*sentence).to_owned() };
        if told.len() == words.len() {
            for &i in &of_speaker {
                invert(&words, &mut told, i);
            }
        }
        join(&told)
    };
    let told: Vec<String> = sentences(question).iter().map(retell).collect();
    if told.is_empty() { question.to_owned() } else { told.join(" ") }
}

/// Makes the verb before its subject at `i` agree, and leaves the one behind as it was: "Where do I live", "Am
/// I …".
fn invert(words: &[Token], told: &mut [Token], i: usize) {
    let before = &words[i - 1];
    let verb = match before.lower.as_str() {
        "am" => "is",
        "do" => "does",
        "have" => "has",
        "did" | "was" | "had" => before.lower.as_str(),
        lower if lexicon::MODALS.has(lower) => lower,
        _ => return,
    };
    let verb = if before.upper() { lexicon::capitalise(verb) } else { verb.to_owned() };
    told[i - 1] = Token::new(verb, before.space_before);
    if let Some(j) = (i + 1..words.len()).take(4).find(|&j| told[j] != words[j])
        && lexicon::is_base_verb(&words[j].lower)
    {
        told[j] = words[j].clone();
    }
}

/// What `speaker` said, in the third person: "I moved" → "Ana moved". A sentence that can't be retold is
/// quoted. `addressee` is whom the speaker calls "you"; `None` for the assistant.
#[must_use]
pub fn retold(text: &str, speaker: &str, addressee: Option<&str>) -> String {
    let parties = Parties { speaker, addressee: Some(addressee.unwrap_or("the assistant")) };
    let retell = |sentence: &&str| match third_person(&tokens(sentence), parties) {
        Some(told) => lexicon::capitalise(&join(&told)),
        None => format!("{} said: \u{201c}{sentence}\u{201d}", inside(speaker)),
    };
    sentences(text).iter().map(retell).collect::<Vec<_>>().join(" ")
}

/// What a model says of the person `name`, said to the person: "Ana lives in Lund." → "You live in Lund."
#[must_use]
pub fn said_to(name: Option<&str>, text: &str) -> String {
    second_person::to_second_person(text, name)
}

/// Whether a sentence speaks of its speaker: "I", "my", "we".
#[must_use]
pub fn is_of_speaker(sentence: &str) -> bool {
    tokens(sentence)
        .iter()
        .any(|t| t.among(&["i", "my", "mine", "me", "myself", "we", "our", "us"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_asked_about_the_person() {
        let check = |question: &str, expected: &str| {
            assert_eq!(asked_by("Ana", question), expected, "{question}");
        };
        check("Where do I live?", "Where does Ana live?");
        check("What's my sister's name?", "What is Ana's sister's name?");
        check("How old am I?", "How old is Ana?");
        check("Have I told you about Max?", "Has Ana told the assistant about Max?");
        check("When did I move to Lund?", "When did Ana move to Lund?");
        check("When did Maria donate her car?", "When did Maria donate her car?");
    }

    #[test]
    fn messages_are_retold() {
        assert_eq!(
            retold("I'm a nurse. My wife Sara is a carpenter.", "Ana", None),
            "Ana is a nurse. Ana's wife Sara is a carpenter."
        );
        assert_eq!(
            retold("I love your painting!", "Ana", Some("Mel")),
            "Ana loves Mel's painting!"
        );
    }

    #[test]
    fn answers_are_said_to_the_person() {
        assert_eq!(said_to(Some("Ana"), "Ana's sister is Lena."), "Your sister is Lena.");
        assert_eq!(said_to(None, "The user lives in Lund."), "You live in Lund.");
        assert!(is_of_speaker("I moved.") && !is_of_speaker("You moved."));
    }
}
