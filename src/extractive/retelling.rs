//! A person's question and messages as somebody else would say them, for a model that reads them.
//!
//! A small model that reads "I am a nurse" answers "I am a nurse". It reads "Ana is a nurse".

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::person::{Parties, inside, third_person};
use super::words::{Token, join, tokens};
use super::{lexicon, sentences};

/// A question of the person `name` ("Ana", "The user") as somebody else would ask it: "Where do I live?" →
/// "Where does Ana live?"
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

/// Makes the verb before the subject at `i` agree, and restores the base form after it: "Where do I live", "Am
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
pub fn retold(text: &str, speaker: &str, addressee: Option<&str>) -> String {
    let parties = Parties { speaker, addressee: Some(addressee.unwrap_or("the assistant")) };
    let retell = |sentence: &&str| match third_person(&tokens(sentence), parties) {
        Some(told) => lexicon::capitalise(&join(&told)),
        None => format!("{} said: \u{201c}{sentence}\u{201d}", inside(speaker)),
    };
    sentences(text).iter().map(retell).collect::<Vec<_>>().join(" ")
}

/// What is said to somebody, in their own words: "You live in Lund with your cat" → "I live in Lund with my cat".
pub fn in_own_words(said: &str) -> String {
    static YOU: LazyLock<Regex> = LazyLock::new(|| {
        super::pattern(r"\b(?:[Yy]ou are|[Yy]ou['’]re|[Yy]ou|[Yy]ours?|[Yy]ourself)\b")
    });
    let own = |found: &Captures<'_>| match &*found[0].to_lowercase().replace('’', "'") {
        "you are" | "you're" => "I am",
        "you" => "I",
        "your" => "my",
        "yours" => "mine",
        _ => "myself",
    };
    lexicon::capitalise(&YOU.replace_all(said, own))
}

/// A correction as a fact, whoever it speaks to or of: "You live in Aachen." and "I live in Aachen" → "Ana lives in Aachen".
pub fn as_fact(sentence: &str, person: &str) -> String {
    let sentence = sentence.trim();
    let own = in_own_words(sentence);
    if !is_of_speaker(&own) {
        return sentence.to_owned();
    }
    let parties = Parties { speaker: person, addressee: Some("the assistant") };
    let told = third_person(&tokens(own.trim_end_matches('.')), parties);
    told.map_or_else(|| sentence.to_owned(), |told| lexicon::capitalise(&join(&told)))
}

/// Whether a sentence refers to its speaker: "I", "my", "we".
pub fn is_of_speaker(sentence: &str) -> bool {
    tokens(sentence)
        .iter()
        .any(|t| t.among(&["i", "my", "mine", "me", "myself", "we", "our", "us"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correction_is_a_fact() {
        for (sentence, expected) in [
            ("You live in Aachen.", "Ana lives in Aachen"),
            ("I live in Aachen", "Ana lives in Aachen"),
            (
                "You are a joiner and your sister's name is Sara.",
                "Ana is a joiner and Ana's sister's name is Sara",
            ),
            ("Ana lives in Aachen.", "Ana lives in Aachen."),
            ("Max is a labrador", "Max is a labrador"),
        ] {
            assert_eq!(as_fact(sentence, "Ana"), expected, "{sentence}");
        }
    }

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
    fn the_first_person_is_of_the_speaker() {
        assert!(is_of_speaker("I moved.") && !is_of_speaker("You moved."));
    }
}
