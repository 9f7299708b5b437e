//! What people leave out: subjects, capitals of names; and what they add: names of the listener,
//! end marks, emoji.

use super::attributes::is_creature;
use super::facts::is_name;
use super::lexicon::{self, capitalise};
use super::person::Parties;
use super::words::Token;

/// "Hey Caroline, …", "…, Mel": the name of the person spoken to.
pub(super) fn strip_vocative(words: &[Token], parties: Parties<'_>) -> Vec<Token> {
    let calls = |t: &Token| match parties.addressee {
        Some(name) => {
            let name = name.to_lowercase();
            let first = name.split(' ').next().unwrap_or_default();
            t.lower == first
                || t.lower.len() >= 2 && first.starts_with(&t.lower) && t.upper()
                || t.among(&["girl", "buddy", "bro", "dude", "man", "mate", "friend"])
        }
        None => t.among(&["assistant", "inglenook", "buddy", "dude", "mate"]),
    };
    let mut words = words.to_vec();
    while words.len() >= 2 && calls(&words[0]) && !words[1].word && words[1].text != "'" {
        words.drain(..2);
    }
    let end = words.iter().rposition(|t| t.word).map_or(0, |p| p + 1);
    if end >= 2 && calls(&words[end - 1]) && words[end - 2].text == "," {
        words.drain(end - 2..end);
    }
    words
}

/// Without end marks, emoji and laughter.
pub(super) fn trim_end(words: &mut Vec<Token>) {
    while words.last().is_some_and(|t| {
        !t.word
            && !matches!(
                t.text.as_str(),
                ")" | "\"" | "”" | "]" | "%" | "$" | "€" | "£" | "°" | "+" | "'"
            )
            || t.among(&[
                "lol", "haha", "hahaha", "lmao", "xd", "hehe", "btw", "tho", "please", "pls",
                "right", "ok", "okay",
            ]) && words.len() > 3
    }) {
        words.pop();
    }
    // A bracket or quotation mark without its partner, left by the sentence's end.
    for (open, close) in [("(", ")"), ("\"", "\""), ("“", "”")] {
        let opens = words.iter().filter(|t| t.text == open).count();
        let closes = words.iter().filter(|t| t.text == close).count();
        let odd = if open == close { opens % 2 == 1 } else { opens != closes };
        if odd {
            words.retain(|t| t.text != open && t.text != close);
        }
    }
    // "I'm Ana, nice to meet you".
    for i in 1..words.len() {
        let greets = words[i].among(&["nice", "pleased", "good", "great", "lovely"])
            && words.get(i + 1).is_some_and(|t| t.is("to"))
            && words.get(i + 2).is_some_and(|t| t.among(&["meet", "see"]))
            && words.get(i + 3).is_some_and(|t| t.among(&["you", "ya"]));
        if greets {
            words.truncate(i);
            while words.last().is_some_and(|t| !t.word || t.is("and")) {
                words.pop();
            }
            break;
        }
    }
    words.retain(|t| t.word || !t.text.chars().all(super::sentences::is_emoji));
    if let Some(first) = words.first_mut() {
        first.space_before = false;
    }
}

const SUBJECTLESS: &[&str] = &[
    "went",
    "got",
    "saw",
    "took",
    "bought",
    "met",
    "found",
    "finished",
    "started",
    "joined",
    "signed",
    "visited",
    "tried",
    "moved",
    "watched",
    "played",
    "hiked",
    "ran",
    "won",
    "lost",
    "spent",
    "began",
    "decided",
    "booked",
    "adopted",
    "attended",
    "had",
    "ate",
    "drove",
    "flew",
    "graduated",
    "completed",
    "celebrated",
    "learned",
    "painted",
    "wrote",
    "came",
];

/// "Went to Rome yesterday", "Gonna move", "Been running a lot": the subject is "I".
pub(super) fn restore_subject(mut words: Vec<Token>) -> Vec<Token> {
    let mut j = 0;
    while words.get(j).is_some_and(|t| {
        t.among(&["just", "recently", "finally", "also", "already", "actually", "still", "even"])
    }) {
        j += 1;
    }
    let Some(first) = words.get(j) else { return words };
    let next = words.get(j + 1).map(|t| t.lower.clone()).unwrap_or_default();
    let insert: &[&str] = match first.lower.as_str() {
        lower if SUBJECTLESS.contains(&lower) => {
            if matches!(next.as_str(), "me" | "my" | "us") && matches!(lower, "took" | "got") {
                return words;
            }
            &["I"]
        }
        "gonna" => &["I", "am"],
        "going" if next == "to" => &["I", "am"],
        "been" if next.ends_with("ing") => &["I", "have"],
        "have" | "am" | "love" | "hate" | "live" | "work" | "like" | "need" | "want" | "enjoy"
            if j == 0 && words.len() > 2 =>
        {
            if matches!(next.as_str(), "is" | "was" | "you" | "it" | "that" | "this" | "your") {
                return words;
            }
            &["I"]
        }
        lower if lower.ends_with("ing") && lower.len() > 4 => {
            // A gerund that is a subject has its verb: "Painting is fun".
            let verb = words
                .iter()
                .skip(j + 1)
                .take_while(|t| !matches!(t.text.as_str(), "—" | "–" | "-" | ";"))
                .any(|t| {
                    lexicon::AUXILIARIES.contains(t.lower.as_str())
                        || lexicon::MODALS.contains(t.lower.as_str())
                        || lexicon::is_third_person(&t.lower)
                        || t.lower.ends_with("'s")
                        || lexicon::is_past(&t.lower)
                });
            let base = lower.trim_end_matches("ing");
            let known = lexicon::is_base_verb(base)
                || lexicon::is_base_verb(&format!("{base}e"))
                || base.len() > 2
                    && lexicon::is_base_verb(
                        &base[..base.len() - base.chars().next_back().map_or(0, char::len_utf8)],
                    );
            if verb || !known {
                return words;
            }
            &["I", "am"]
        }
        _ => return words,
    };
    let mut restored: Vec<Token> = insert.iter().map(|w| Token::new(*w, true)).collect();
    for (n, mut word) in words.drain(..).enumerate() {
        if n == 0 {
            word.space_before = true;
            if !word.text.chars().skip(1).any(char::is_uppercase) {
                word = Token::new(word.lower.clone(), true);
            }
        }
        restored.push(word);
    }
    restored[0].space_before = false;
    restored
}

/// "my dog max is", "a cat called tom": names typed small get their capital.
pub(super) fn name_the_nameless(mut words: Vec<Token>) -> Vec<Token> {
    // "my names bob"
    for i in 1..words.len().saturating_sub(1) {
        if words[i].is("names")
            && words[i - 1].is("my")
            && words[i + 1].word
            && !lexicon::STOP.contains(words[i + 1].lower.as_str())
        {
            words[i] = Token::new("name", true);
            words.insert(i + 1, Token::new("is", true));
            break;
        }
    }
    // "My boss, Karen, is strict": the name without its commas.
    let mut i = 1;
    while i + 2 < words.len() {
        let closes = words.get(i + 3).is_none_or(|t| t.text == ",");
        let owned = words[..i].iter().rev().take(3).any(|t| t.among(&["my", "our"]));
        if is_creature(&words[i].lower)
            && (!words[i].lower.ends_with('s') || words[i].is("boss"))
            && owned
            && words[i + 1].text == ","
            && is_name(&words[i + 2])
            && closes
        {
            if i + 3 < words.len() {
                words.remove(i + 3);
            }
            words.remove(i + 1);
        }
        // "My dog (Max) is sick".
        if is_creature(&words[i].lower)
            && owned
            && words.get(i + 1).is_some_and(|t| t.text == "(")
            && words.get(i + 2).is_some_and(is_name)
            && words.get(i + 3).is_some_and(|t| t.text == ")")
        {
            words.remove(i + 3);
            words.remove(i + 1);
            words[i + 1].space_before = true;
        }
        i += 1;
    }
    for i in 1..words.len() {
        let word = &words[i];
        let plain = word.word
            && word.text.chars().all(char::is_lowercase)
            && word.text.chars().count() > 1
            && !lexicon::STOP.contains(word.lower.as_str());
        if !plain {
            continue;
        }
        let before = words[i - 1].lower.as_str();
        let known = lexicon::is_finite(&word.lower)
            || lexicon::is_adverb(&word.lower)
            || lexicon::is_participle(&word.lower)
            || is_creature(&word.lower)
            || word.lower.ends_with("ing");
        let after_kin = is_creature(before)
            && !before.ends_with('s')
            && i >= 2
            && words[..i - 1].iter().rev().take(3).any(|t| t.among(&["my", "our"]))
            && !known
            && word.space_before
            && words.get(i + 1).is_none_or(|t| {
                !t.word
                    || lexicon::AUXILIARIES.contains(t.lower.as_str())
                    || lexicon::MODALS.contains(t.lower.as_str())
                    || lexicon::is_third_person(&t.lower)
                    || lexicon::is_past(&t.lower)
                    || t.among(&["and", "who", "in", "from"])
            });
        let naming = matches!(before, "named" | "called")
            && !matches!(
                word.lower.as_str(),
                "after" | "for" | "off" | "back" | "him" | "her" | "in" | "sick" | "it"
            )
            || before == "is" && i >= 2 && (words[i - 2].is("name") || words[i - 2].is("name's"))
            || matches!(before, "name's" | "names")
                && words[..i - 1].iter().any(|t| t.is("my") || t.among(&["his", "her", "its"]));
        if after_kin || naming {
            let capital = capitalise(&word.text);
            let space = word.space_before;
            let stated = before == "is";
            words[i] = Token::new(capital, space);
            // "my name is bob smith"
            let surname = stated
                && words.get(i + 1).is_some_and(|t| {
                    t.word
                        && t.text.chars().all(char::is_lowercase)
                        && !lexicon::STOP.contains(t.lower.as_str())
                        && !lexicon::is_finite(&t.lower)
                        && !lexicon::is_adverb(&t.lower)
                })
                && words.get(i + 2).is_none_or(|t| !t.word || t.is("and"));
            if surname {
                words[i + 1] = Token::new(capitalise(&words[i + 1].text), true);
            }
        }
    }
    words
}
