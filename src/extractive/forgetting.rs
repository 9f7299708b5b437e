//! "Forget my locker code": what a person asks to forget, in a sentence, and what is meant.

use jiff::civil::DateTime;

use super::answer::answer;
use super::lexicon;
use super::question::QUESTION_WORDS;
use super::{Candidate, Intent, intent};

/// A longer sentence tells more than what to forget.
const WORDS_MAX: usize = 12;

/// What a message asks to forget: "please forget that I live in Lund" → "I live in Lund". `None` if it asks nothing of the kind, or
/// does not say what ("forget it").
pub fn asked_to_forget(text: &str) -> Option<&str> {
    const POLITE: [&str; 9] = [
        "please ",
        "can you ",
        "could you ",
        "would you ",
        "you can ",
        "ok ",
        "okay ",
        "now ",
        "and ",
    ];
    const OF_WHAT: [&str; 10] = [
        "everything about ",
        "everything you know about ",
        "everything i told you about ",
        "everything i said about ",
        "all about ",
        "what i said about ",
        "what i told you about ",
        "what you know about ",
        "about ",
        "that ",
    ];
    const MEMORIES: [&str; 3] = [" from your memory", " from your memories", " from memory"];
    const NOTHING: [&str; 12] = [
        "",
        "it",
        "that",
        "this",
        "them",
        "about it",
        "everything",
        "all",
        "me",
        "about that",
        "what i said",
        "the rest",
    ];
    const MEASURES: [&str; 5] = ["how much ", "how many ", "how old ", "how long ", "how far "];
    let mut rest = text.trim().trim_end_matches(['.', '!', '?']);
    if rest.contains([',', ';', '\n', '.']) || rest.split_whitespace().count() > WORDS_MAX {
        return None;
    }
    while let Some(more) = POLITE.iter().find_map(|polite| after(rest, polite)) {
        rest = more;
    }
    rest = before(rest, " please").unwrap_or(rest);
    rest = if let Some(rest) = after(rest, "forget ") {
        MEMORIES.iter().find_map(|end| before(rest, end)).unwrap_or(rest)
    } else {
        let what = ["delete ", "erase ", "remove "].iter().find_map(|verb| after(rest, verb))?;
        MEMORIES.iter().find_map(|end| before(what, end))?
    };
    let measures = |rest: &str| MEASURES.iter().any(|measure| after(rest, measure).is_some());
    if ["to ", "how ", "why "].iter().any(|other| after(rest, other).is_some()) && !measures(rest) {
        return None;
    }
    rest = OF_WHAT.iter().find_map(|of| after(rest, of)).unwrap_or(rest).trim();
    (!NOTHING.contains(&rest.to_lowercase().as_str())).then_some(rest)
}

/// `text` after a beginning, whatever its capitals.
fn after<'a>(text: &'a str, beginning: &str) -> Option<&'a str> {
    let head = text.get(..beginning.len())?;
    head.eq_ignore_ascii_case(beginning).then(|| text[beginning.len()..].trim_start())
}

/// `text` before an end, whatever its capitals.
fn before<'a>(text: &'a str, end: &str) -> Option<&'a str> {
    let at = text.len().checked_sub(end.len())?;
    text.get(at..)?.eq_ignore_ascii_case(end).then(|| text[..at].trim_end())
}

/// Which of these texts are meant by `what`: those with all of its words, or, for "my age", what answers "What is my age?", or those
/// with most of its words, at least half: whoever asked is shown them first.
pub fn meant(what: &str, among: &[Candidate], now: DateTime, person: Option<&str>) -> Vec<usize> {
    const NEAR_MAX: usize = 3;
    let wanted = lexicon::content_stems(what);
    if wanted.is_empty() {
        return Vec::new();
    }
    let n_held = |candidate: &Candidate| {
        let asks = matches!(intent(&candidate.text), Intent::Question | Intent::Request);
        let stems = lexicon::content_stems(&candidate.text);
        if asks { 0 } else { wanted.iter().filter(|stem| stems.contains(stem)).count() }
    };
    let held: Vec<usize> = among.iter().map(n_held).collect();
    let with = |n: usize| (0..among.len()).filter(|&i| held[i] == n).collect::<Vec<_>>();
    let found = with(wanted.len());
    if !found.is_empty() {
        return found;
    }
    let asks = what.split_whitespace().next().is_some_and(|first| QUESTION_WORDS.has(first));
    let question = if asks { format!("{what}?") } else { format!("What is {what}?") };
    let answer = answer(&question, among, now, person);
    if let Some(answer) = answer.filter(|answer| answer.sure) {
        return answer.cited;
    }
    let most = held.iter().copied().max().unwrap_or(0);
    let near = if most > 0 && most * 2 >= wanted.len() { with(most) } else { Vec::new() };
    // A word of everything is no word of this.
    if near.len() > NEAR_MAX { Vec::new() } else { near }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::memory::Origin;

    #[test]
    fn what_is_to_be_forgotten_is_in_the_sentence() {
        for (text, what) in [
            ("forget my locker code", Some("my locker code")),
            ("Please forget that I live in Lund.", Some("I live in Lund")),
            ("can you forget everything about Sara?", Some("Sara")),
            ("Forget what I told you about Tom, please", None),
            ("forget what I told you about Tom please", Some("Tom")),
            ("Delete my address from your memory!", Some("my address")),
            ("delete the last line", None),
            ("forget it", None),
            ("Forget about it.", None),
            ("forget that", None),
            ("forget to buy milk", None),
            ("forget how we get there", None),
            ("forget how much we have in the bank", Some("how much we have in the bank")),
            ("please forget where I live", Some("where I live")),
            ("don't forget my birthday", None),
            ("I forget names easily", None),
            ("forget my age and tell me a joke about a horse that walks into a bar", None),
            ("Forgét", None),
            ("forget", None),
            ("", None),
        ] {
            assert_eq!(asked_to_forget(text), what, "{text}");
        }
    }

    #[test]
    fn what_is_meant_has_its_words_or_answers_what_it_is() {
        let facts = [
            "Priya is 34",
            "Priya's locker code is 4471",
            "Priya lives in Leeds",
            "Priya's sister Anjali lives in Jaipur",
            "Priya and others have only got about 6 in the bank",
        ];
        let at = date(2026, 11, 26).at(9, 0, 0, 0);
        let candidate = |text: &&str| Candidate {
            text: (*text).into(),
            relevance: 1.0,
            at,
            raw_speaker: None,
            superseded: false,
            origin: Origin::Person,
            answers: None,
        };
        let among: Vec<Candidate> = facts.iter().map(candidate).collect();
        let check = |what: &str, expected: &[usize]| {
            assert_eq!(meant(what, &among, at, Some("Priya")), expected, "{what}");
        };
        check("my locker code", &[1]);
        check("I live in Leeds", &[2]);
        check("my age", &[0]);
        check("Anjali", &[3]);
        check("my shoe size", &[]);
        check("my bank balance", &[4]);
        check("how much money we have in the bank", &[4]);
        check("where Anjali lives", &[3]);
        check("the", &[]);
    }
}
