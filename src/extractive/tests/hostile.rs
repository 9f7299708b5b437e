//! Nothing panics, nothing is invented, and time grows with length only.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::*;
use crate::extractive::lexicon;

/// Names, and words that the rules add.
const ADDED: &str = "
user user's ana ana's melanie melanie's said others alone themself week weekend around spring
summer autumn fall winter christmas morning evening afternoon night days weeks months years
halloween thanksgiving couple wants gonna isn't hasn't";

/// Every word of a statement is a word of its source, a form of one, a function word, a name of the
/// speakers or part of a date.
#[track_caller]
fn is_grounded_in(statement: &str, source: &str) {
    let source = source.replace('\u{2019}', "'");
    let mut known: HashSet<String> = HashSet::new();
    for word in lexicon::words(&source) {
        let lower = word.to_lowercase();
        for part in lower.split(['-', '\'']) {
            known.insert(lexicon::stem(part));
            known.insert(part.to_owned());
        }
        known.insert(lexicon::stem(&lower));
        known.insert(lexicon::stem(lower.trim_end_matches("'s")));
        // "a retriever named Max" is a dog.
        if lexicon::BREEDS.has(&lower) {
            known.insert("dog".to_owned());
        }
    }
    let function = |w: &str| {
        lexicon::STOP.has(w)
            || ADDED.split_whitespace().any(|added| added == w)
            || lexicon::MONTHS.iter().chain(&lexicon::WEEKDAYS).any(|m| m.to_lowercase() == w)
            || w.bytes().all(|b| b.is_ascii_digit())
    };
    for word in lexicon::words(statement) {
        let lower = word.to_lowercase();
        let ok = function(&lower)
            || lower.split('-').all(|p| known.contains(p) || known.contains(&lexicon::stem(p)) || function(p))
            || known.contains(&lexicon::stem(&lower))
            || known.contains(&lexicon::stem(lower.trim_end_matches("'s")))
            || lower.split('\'').all(|p| known.contains(p) || p.len() <= 2)
            // "watches", "dos": an inflection that the stemmer takes apart differently.
            || ["s", "es", "ies"].iter().any(|e| lower.strip_suffix(e).is_some_and(|b| known.contains(b) || known.contains(&format!("{b}y"))));
        assert!(ok, "{word:?} of {statement:?} is not in {source:?}");
    }
}

/// Separated by `|`.
const PIECES: &str = "\
I|I'm|i|im|my|dog|Max|is|a|golden|retriever|he|loves|and|but|,|.|?|!|sister|Emily|\
lives|in|Lund|yesterday|last week|we|you|your|don't|like|5|years|old|who|named|called|\
not|the|user|it|they|have|went|to|work|as|nurse|on Tuesday|'s|\"|(|)|—|;|😀|ich|und|\
Ana|Melanie|because|when|next year|birthday|3 May|\n|- |http://x.y/z|@|…|’|ﬁ|İ|ß";

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_survived(text in "\\PC{0,200}", other in "\\PC{0,80}") {
        everything(&text, &other);
    }

    #[test]
    fn words_in_any_order_invent_nothing(picks in proptest::collection::vec(0..PIECES.split('|').count(), 0..30)) {
        let text = picks.iter().filter_map(|&i| PIECES.split('|').nth(i)).collect::<Vec<_>>().join(" ");
        for addressee in [None, Some("Melanie")] {
            for statement in statements(&[said("Ana", addressee, &text)]) {
                is_grounded_in(&statement.text, &text);
            }
        }
        everything(&text, "What do you know about Max?");
    }
}

/// Calls everything there is.
fn everything(text: &str, other: &str) {
    let u = said("Ana", Some("Melanie"), text);
    let v = said("The user", None, other);
    let made = statements(&[u.clone(), v.clone()]);
    let _ = (says_something(&u), intent(text), user_name(text), title(&[u.clone(), v.clone()]));
    let _ = (narrative(NOW, &made), theme_name(&[text, other]), keyphrases(&[text, other], 5));
    let _ = (acknowledge(&made, &u, Some("Ana")), to_second_person(text, Some("Ana")));
    let _ = (grounded(text, &[other], NOW), changes_topic(&[v], &u, Some(0.1)));
    let (a, b) = (parse_statement(text), parse_statement(other));
    let _ = (judge(&a, &b, 0.9), judge(&b, &a, 0.1));
    let candidate = |raw: Option<&str>, t: &str| Candidate {
        relevance: f64::NAN,
        raw_speaker: raw.map(str::to_owned),
        ..evidence(t, NOW)
    };
    let _ = answer(other, &[candidate(None, text), candidate(Some("Ana"), text)], NOW, Some("Ana"));
    let _ = answer(text, &[candidate(None, other)], NOW, None);
}

#[test]
fn what_people_type_invents_nothing() {
    for text in [
        "My dog Max is a golden retriever. He loves playing fetch.",
        "I'm 34, I live in Lund and work as a nurse",
        "Last week, I quit my job; tomorrow I start at IKEA",
        "My sister Emily, who lives in Portland, is a nurse",
        "we adopted a cat yesterday 🐱 her name is Luna",
        "I taught myself guitar and I live by myself",
    ] {
        for statement in of_ana(text) {
            is_grounded_in(&statement, text);
        }
    }
}

#[test]
fn ten_megabytes_take_seconds_at_most() {
    let mb = 10 << 20;
    for text in [
        "a".repeat(mb),
        "I like ".repeat(mb / 7),
        "I live in Lund. ".repeat(mb / 16),
        "and ".repeat(mb / 4),
        ", I am".repeat(mb / 6),
        "\"(".repeat(mb / 2),
        "\n".repeat(mb),
        "yesterday ".repeat(mb / 10),
        "Ana's ".repeat(mb / 6),
        "😀".repeat(mb / 4),
        "last last last ".repeat(mb / 15),
    ] {
        let start = Instant::now();
        let made = statements(&[said("Ana", None, &text)]);
        assert!(made.len() <= 64);
        let _ = (intent(&text), user_name(&text), title(&[said("Ana", None, &text)]));
        let _ = (keyphrases(&[&text], 3), grounded(&text, &[&text], NOW), parse_statement(&text));
        let _ = to_second_person(&text, Some("Ana"));
        let candidate =
            Candidate { relevance: 0.5, raw_speaker: Some("Ana".into()), ..evidence(&text, NOW) };
        let _ = answer(&text, &[candidate], NOW, Some("Ana"));
        let head: String = text.chars().take(12).collect();
        assert!(start.elapsed() < Duration::from_secs(20), "{head:?}: {:?}", start.elapsed());
    }
}
