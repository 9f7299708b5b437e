//! One fact each: appositions, relative clauses, lists after "is" and shared subjects taken apart,
//! and relations ("Max is Ana's dog") made facts of their own.

use super::attributes::is_creature;
use super::lexicon::{self, capitalise};
use super::person;
use super::words::{Token, join, tokens};

/// Appositions and relative clauses as facts of their own.
pub(super) fn facts(text: &str) -> Vec<String> {
    let words = tokens(text);
    let commas: Vec<usize> =
        words.iter().enumerate().filter(|(_, t)| t.text == ",").map(|(i, _)| i).collect();
    if let [open, close, ..] = commas.as_slice()
        && *open <= 6
        && close - open <= 10
        && *close + 1 < words.len()
    {
        let subject = &words[..*open];
        let inside = &words[open + 1..*close];
        let rest = &words[close + 1..];
        let named = subject.iter().any(|t| t.upper() && t.word)
            && !subject.iter().any(|t| lexicon::is_finite(&t.lower) && !t.upper());
        let article =
            inside.first().is_some_and(|t| t.among(&["a", "an", "the"]) || t.lower.ends_with("'s"));
        let rest_verb = rest.first().is_some_and(|t| {
            lexicon::is_finite(&t.lower)
                || lexicon::is_adverb(&t.lower)
                    && rest.get(1).is_some_and(|v| lexicon::is_finite(&v.lower))
        });
        let who = inside.first().is_some_and(|t| t.among(&["who", "which"]))
            && inside.get(1).is_some_and(|t| lexicon::is_finite(&t.lower));
        if named && rest_verb && (article || who) && !inside.iter().any(|t| t.is("and")) {
            let subject_text = join(subject);
            let middle = if who { join(&inside[1..]) } else { format!("is {}", join(inside)) };
            let mut out = vec![format!("{subject_text} {}", middle.trim())];
            out.extend(facts(&format!("{subject_text} {}", join(rest).trim())));
            return out;
        }
    }
    // "has a dog named Max who is 5", "lives with Ana's sister Emily, who is a nurse".
    if let Some(who) = words.iter().position(|t| t.is("who"))
        && who >= 3
        && words.get(who + 1).is_some_and(|t| {
            lexicon::AUXILIARIES.contains(t.lower.as_str())
                || lexicon::is_third_person(&t.lower)
                || lexicon::is_past(&t.lower)
        })
    {
        let comma = words[who - 1].text == ",";
        let end = if comma { who - 1 } else { who };
        let name = &words[end - 1];
        let has_name = name.upper()
            && name.word
            && !name.lower.ends_with("'s")
            && words[..end - 1]
                .iter()
                .rev()
                .take(3)
                .any(|t| is_creature(&t.lower) || t.among(&["named", "called"]));
        if has_name && words.len() > who + 2 && !words[who + 1..].iter().any(|t| t.text == ",") {
            return vec![join(&words[..end]), format!("{} {}", name.text, join(&words[who + 1..]))];
        }
    }
    copula_list(&words).or_else(|| coordinated(&words)).unwrap_or_else(|| vec![text.to_owned()])
}

/// "Ana is Ana, 34, from Porto and allergic to nuts": one fact each.
fn copula_list(words: &[Token]) -> Option<Vec<String>> {
    let is = words.iter().take(6).position(|t| t.is("is"))?;
    if is == 0 || words.len() > 40 {
        return None;
    }
    let subject = join(&words[..is]);
    let mut segments: Vec<&[Token]> = Vec::new();
    let mut start = is + 1;
    for i in is + 1..words.len() {
        if words[i].text == "," || words[i].is("and") {
            if i > start {
                segments.push(&words[start..i]);
            }
            start = i + 1;
        }
    }
    segments.push(words.get(start..)?);
    if segments.len() < 2 {
        return None;
    }
    let age = |s: &[Token]| {
        s.first().is_some_and(|t| lexicon::number(&t.text).is_some_and(|n| n > 3))
            && (s.len() == 1 || s.get(1).is_some_and(|t| t.among(&["years", "yo"])))
    };
    let has_age = segments.iter().any(|s| age(s));
    let whole = |s: &[Token]| {
        let low = join(s).to_lowercase();
        let name = s.len() <= 2
            && s.iter().all(|t| {
                t.word
                    && (t.upper()
                        || has_age && s.len() == 1 && t.text.chars().all(char::is_alphabetic))
            });
        age(s)
            || name && super::names::may_be_a_name(&capitalise(&join(s)))
            || [
                "from ",
                "originally from ",
                "allergic to ",
                "based in ",
                "married",
                "single",
                "divorced",
                "vegetarian",
                "vegan",
            ]
            .iter()
            .any(|p| low.starts_with(p))
            || s.first().is_some_and(|t| t.among(&["a", "an"])) && s.len() >= 2
    };
    segments.iter().all(|s| !s.is_empty() && whole(s)).then(|| {
        segments
            .iter()
            .enumerate()
            .map(|(n, s)| {
                let mut text = join(s);
                if n == 0 && s.len() == 1 && has_age && !age(s) {
                    text = capitalise(&text);
                }
                format!("{subject} is {}", text.trim())
            })
            .collect()
    })
}

/// "Mia loves dinosaurs and hates broccoli": one fact each.
fn coordinated(words: &[Token]) -> Option<Vec<String>> {
    if words.len() > 40 {
        return None;
    }
    let verb = words
        .iter()
        .take(7)
        .skip(1)
        .position(|t| lexicon::is_third_person(&t.lower) && !t.upper())?
        + 1;
    let subject = &words[..verb];
    // Only a plain subject is repeated.
    if subject.iter().any(|t| {
        !t.word || t.among(&["and", "who", "that", "which", "when", "if", "since", "because"])
    }) {
        return None;
    }
    for i in verb + 2..words.len().saturating_sub(2) {
        let t = &words[i];
        if t.among(&[
            "who", "that", "which", "because", "when", "if", "while", "where", "what", "how",
            "whose", "since", "so",
        ]) || matches!(t.text.as_str(), ";" | ":" | "\"" | "(")
        {
            return None;
        }
        if !t.among(&["and", "but"]) {
            continue;
        }
        let end = if words[i - 1].text == "," { i - 1 } else { i };
        let mut j = i + 1;
        while words.get(j).is_some_and(|t| lexicon::is_adverb(&t.lower)) {
            j += 1;
        }
        let Some(second) = words.get(j) else { continue };
        let verb_like = !second.upper()
            && lexicon::is_third_person(&second.lower)
            && (!lexicon::is_noun_like(&lexicon::base_of_third(&second.lower))
                || words.get(j + 1).is_some_and(|t| {
                    t.among(&[
                        "as", "at", "for", "in", "with", "the", "a", "an", "it", "to", "on", "from",
                    ])
                }));
        if verb_like {
            let subject = join(subject);
            let mut out = vec![join(&words[..end])];
            out.extend(facts(&format!("{subject} {}", join(&words[i + 1..]).trim())));
            return Some(out);
        }
    }
    None
}

/// "Ana's dog Max" → "Max is Ana's dog": the relation outlives whatever else the sentence says.
pub(super) fn relations(text: &str) -> Vec<String> {
    let words = tokens(text);
    let mut out = Vec::new();
    for i in 1..words.len() {
        if !words[i - 1].lower.ends_with("'s") || out.len() >= 4 {
            continue;
        }
        let user = i >= 2 && words[i - 1].is("user's") && words[i - 2].is("the");
        let Some(kind) = (i..words.len().min(i + 3)).find(|&k| is_creature(&words[k].lower)) else {
            continue;
        };
        if words[i..kind].iter().any(|t| !t.word || t.upper())
            || words[kind].lower.ends_with('s') && !words[kind].is("boss")
        {
            continue;
        }
        let names: Vec<&Token> =
            words[kind + 1..].iter().take(2).take_while(|t| is_name(t)).collect();
        if names.is_empty() {
            continue;
        }
        let name =
            names.iter().map(|t| t.text.trim_end_matches("'s")).collect::<Vec<_>>().join(" ");
        let owner = if user { "the user's".to_owned() } else { words[i - 1].text.clone() };
        let owner = match owner.as_str() {
            "The" => "the".to_owned(),
            _ => owner,
        };
        let relation = format!("{name} is {owner} {}", join(&words[i..=kind]).trim());
        if !text.ends_with(&relation) {
            out.push(relation);
        }
    }
    // "Ana has a sister, Emily, and a brother, Tom".
    if let Some(verb) = words.iter().position(|t| t.is("has")).filter(|&v| (1..=2).contains(&v)) {
        for i in verb + 2..words.len().saturating_sub(2) {
            if words[i - 1].among(&["a", "an"])
                && is_creature(&words[i].lower)
                && words[i + 1].text == ","
                && is_name(&words[i + 2])
                && words.get(i + 3).is_none_or(|t| t.text == "," || t.is("and"))
            {
                let owner = person::possessive(&person::inside(&join(&words[..verb])));
                out.push(format!("{} is {owner} {}", words[i + 2].text, words[i].text));
            }
        }
    }
    // "Ana has a dog named Max".
    for i in 3..words.len().saturating_sub(1) {
        if words[i].among(&["named", "called"])
            && is_creature(&words[i - 1].lower)
            && is_name(&words[i + 1])
            && words.iter().take(i).any(|t| t.among(&["has", "got", "adopted", "bought"]))
            && !words[i - 1].lower.ends_with('s')
        {
            let Some(verb) =
                words.iter().position(|t| t.among(&["has", "got", "adopted", "bought"]))
            else {
                continue;
            };
            let owner = join(&words[..verb]);
            let owner = owner.trim_end_matches(" just").trim_end_matches(" also");
            if owner.is_empty() || owner.split(' ').count() > 3 || owner.contains(" and ") {
                continue;
            }
            out.push(format!(
                "{} is {} {}",
                words[i + 1].text,
                person::possessive(&person::inside(owner)),
                words[i - 1].text
            ));
        }
    }
    out
}

/// A capitalised word that is no weekday, month or language.
pub(super) fn is_name(token: &Token) -> bool {
    token.word
        && token.upper()
        && token.text.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '-'))
        && !lexicon::MONTHS.contains(&token.text.as_str())
        && !lexicon::WEEKDAYS.contains(&token.text.as_str())
        && !token.is("i")
        && !matches!(
            token.lower.as_str(),
            "english" | "spanish" | "french" | "german" | "swedish" | "christmas"
        )
}
