//! Names for episodes and themes from key phrases, and the episode's narrative.

use std::collections::HashMap;

use jiff::civil::DateTime;

use super::attributes::is_creature;
use super::lexicon::{self, capitalise, stem};
use super::lists::Words;
use super::memorable::LASTING_THINGS;
use super::{Statement, Utterance, dates};

static WEAK: Words = Words::new("weak");

/// Key phrases, best first (RAKE-like: runs of content words, scored by their words' degree over
/// frequency and by how often they occur).
pub(super) fn keyphrases(texts: &[&str], n: usize) -> Vec<String> {
    let mut phrases: HashMap<Vec<String>, (String, usize, usize)> = HashMap::new();
    let mut degree: HashMap<String, (f64, f64)> = HashMap::new();
    let mut order = 0;
    let budget = 200_000 / texts.len().max(1);
    for text in texts {
        let text = lexicon::clip(text, budget.max(400));
        for run in runs(text) {
            let stems: Vec<String> = run.iter().map(|w| stem(w)).collect();
            for s in &stems {
                let entry = degree.entry(s.clone()).or_default();
                entry.0 += 1.0;
                entry.1 += stems.len() as f64;
            }
            order += 1;
            let entry = phrases.entry(stems).or_insert_with(|| (run.join(" "), 0, order));
            entry.1 += 1;
        }
    }
    let mut ranked: Vec<(f64, usize, String, Vec<String>)> = phrases
        .into_iter()
        .map(|(stems, (text, count, order))| {
            // Divided by the root of its length, so that long runs do not win by length alone.
            let score: f64 = stems
                .iter()
                .map(|s| degree.get(s).map_or(0.0, |&(f, d)| f.sqrt() * (d / f).min(3.0)))
                .sum::<f64>()
                / (stems.len() as f64).sqrt();
            let name = text.split(' ').any(lexicon::starts_upper);
            let weight = if name {
                1.3
            } else if is_creature(&text) {
                0.5
            } else {
                1.0
            };
            (weight * score * (1.0 + (count as f64).ln()), order, text, stems)
        })
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut chosen: Vec<(String, Vec<String>)> = Vec::new();
    for (_, _, text, stems) in ranked {
        if chosen.len() >= n {
            break;
        }
        let new = stems.iter().filter(|s| !chosen.iter().any(|(_, c)| c.contains(s))).count();
        if new == stems.len() || chosen.is_empty() {
            chosen.push((text, stems));
        }
    }
    chosen.into_iter().map(|(text, _)| text).collect()
}

/// Noun phrases of at most three words: runs of words that carry meaning, after a word that a noun
/// follows ("the support group", "Ana's dog", "likes green tea"; not "is inspiring").
fn runs(text: &str) -> Vec<Vec<String>> {
    let mut out = Vec::new();
    let mut run: Vec<String> = Vec::new();
    let mut before = String::new();
    let mut flush = |run: &mut Vec<String>, before: &str| {
        let phrase = noun_phrase(std::mem::take(run), before);
        if phrase.iter().any(|w| w.chars().count() > 2) {
            out.push(phrase[phrase.len().saturating_sub(3)..].to_vec());
        }
    };
    for chunk in text.split_whitespace() {
        let ends = chunk.ends_with(['.', ',', '!', '?', ';', ':', ')', '"', '…']);
        let word = chunk.trim_matches(|c: char| !c.is_alphanumeric());
        let lower = word.to_lowercase().replace('’', "'");
        if word.chars().count() > 30 || is_weak(&lower) {
            flush(&mut run, &before);
            before = lower;
            continue;
        }
        if let Some(owner) = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")) {
            flush(&mut run, &before);
            if !lexicon::STOP.has(&owner.to_lowercase()) {
                run.push(owner.to_owned());
                flush(&mut run, "the");
            }
            before = "the".into();
            continue;
        }
        // "dog Max" is a dog and a name.
        if lexicon::starts_upper(word) && run.last().is_some_and(|w| is_creature(w)) {
            run.clear();
        }
        run.push(if lexicon::starts_upper(word) { word.to_owned() } else { lower });
        if ends {
            flush(&mut run, &before);
            before = "and".into();
        }
    }
    flush(&mut run, &before);
    out
}

/// The noun phrase of a run, without praise before it and adjectives after it; empty if there is none.
fn noun_phrase(mut run: Vec<String>, before: &str) -> Vec<String> {
    let named = |w: &String| lexicon::starts_upper(w);
    let is_praise = |w: &String| lexicon::REACTION.has(w) || w.ends_with("ly");
    // "making", "coming", but not "painting".
    run.retain(|w| !w.ends_with("ing") || LASTING_THINGS.has(&stem(w)));
    let from = run.iter().take_while(|w| is_praise(w)).count();
    run.drain(..from);
    // "playing fetch" is named after what is played.
    if run.len() > 1 && run[0].ends_with("ing") && !named(&run[0]) {
        run.remove(0);
    }
    while run.last().is_some_and(is_praise) {
        run.pop();
    }
    // "Seeing her walk …": begins a sentence and names nothing.
    let opens = before.is_empty() && !run.iter().any(|w| named(w) && !w.ends_with("ing"));
    let copula = matches!(
        before,
        "is" | "are" | "was" | "were" | "be" | "been" | "feels" | "seems" | "looks" | "to" | "so"
    ) || lexicon::MODALS.has(before)
        || lexicon::is_adverb(before);
    if opens || copula && !run.iter().any(named) { Vec::new() } else { run }
}

/// Whether a word names no topic.
fn is_weak(lower: &str) -> bool {
    let nominal = || lexicon::NOUN_LIKE.has(lower.trim_end_matches('s'));
    lower.chars().all(|c| c.is_ascii_digit())
        || [&lexicon::STOP, &lexicon::AUXILIARIES, &lexicon::MODALS, &WEAK]
            .iter()
            .any(|words| words.has(lower))
        || lexicon::is_adverb(lower)
        || lexicon::is_month_or_weekday(lower)
        || lexicon::is_past(lower)
        || lexicon::is_third_person(lower) && !nominal()
        || lexicon::is_base_verb(lower) && !lexicon::NOUN_LIKE.has(lower)
}

/// "Golden retriever, fetch": the title of an episode, from its messages.
pub fn title(utterances: &[Utterance]) -> String {
    let told = super::statements(utterances);
    let worth = super::memorable(&told, utterances);
    let statements = if worth.is_empty() { told } else { worth };
    let people: Vec<String> = utterances.iter().map(|u| u.speaker.to_lowercase()).collect();
    let texts: Vec<&str> = if statements.is_empty() {
        utterances.iter().map(|u| u.text.as_str()).collect()
    } else {
        statements.iter().map(|s| s.text.as_str()).collect()
    };
    let phrases: Vec<String> = keyphrases(&texts, 6)
        .into_iter()
        .filter(|p| !people.contains(&p.to_lowercase()))
        .take(3)
        .collect();
    if phrases.is_empty() {
        let first = utterances
            .iter()
            .map(|u| u.text.trim())
            .find(|t| !t.is_empty())
            .unwrap_or("Conversation");
        let first = first.lines().next().unwrap_or_default();
        return lexicon::clip_words(&crate::memory::plain_text(first), 48);
    }
    capitalise(&phrases.join(", "))
}

/// A theme's name, from its members: "Ana's green tea and sushi".
pub fn theme_name(texts: &[&str]) -> String {
    let parsed: Vec<Statement> =
        texts.iter().take(50).map(|t| super::parse_statement(lexicon::clip(t, 600))).collect();
    let owners = owners(&parsed);
    let members: Vec<Vec<String>> = texts.iter().map(|t| lexicon::content_stems(t)).collect();
    let recurs = |phrase: &str| {
        let head = stem(phrase.rsplit(' ').next().unwrap_or(phrase));
        members.iter().filter(|stems| stems.contains(&head)).count()
    };
    let mut topics = keyphrases(texts, 8);
    topics.retain(|p| !p.split(' ').any(|w| owners.iter().any(|o| o.eq_ignore_ascii_case(w))));
    // What most members are about comes first; a second topic is named where it recurs as well.
    topics.sort_by_key(|topic| std::cmp::Reverse(recurs(topic)));
    let n =
        if topics.iter().skip(1).any(|topic| recurs(topic) > 1) || texts.len() < 4 { 2 } else { 1 };
    topics.truncate(n);
    // "Ana is 34" has no phrase but the attribute.
    if topics.is_empty() {
        topics.extend(parsed.first().and_then(|s| s.attribute.clone()));
    }
    let (who, what) = (owners.join(" and "), topics.join(" and "));
    match (who.is_empty(), what.is_empty()) {
        (true, true) => {
            texts.first().map_or_else(|| "Notes".into(), |t| lexicon::clip_words(t, 40))
        }
        (true, false) => capitalise(&what),
        (false, true) => who,
        // "Ana's Lisbon" is no place.
        (false, false) if lexicon::starts_upper(&what) => format!("{who}: {what}"),
        (false, false) => format!("{who}'s {what}"),
    }
}

/// Whom most of the facts are about, two at most.
fn owners(facts: &[Statement]) -> Vec<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for subject in facts.iter().filter_map(|fact| fact.subject.as_deref()) {
        let owner = subject.split("'s ").next().unwrap_or(subject);
        let name = !owner.starts_with("The ")
            && !owner.ends_with("ing")
            && !lexicon::is_base_verb(&owner.to_lowercase())
            && super::names::may_be_a_name(owner);
        match counts.iter_mut().find(|(known, _)| *known == owner) {
            Some((_, n)) => *n += 1,
            None if name => counts.push((owner, 1)),
            None => {}
        }
    }
    counts.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    let least = counts.first().map_or(0, |&(_, n)| n.div_ceil(2));
    let most = counts.iter().filter(|&&(_, n)| n >= least && n * 4 >= facts.len());
    most.take(2).map(|&(owner, _)| owner.to_owned()).collect()
}

/// The dated, ordered statements of an episode as one text in the third person.
pub fn narrative(started: DateTime, statements: &[Statement]) -> String {
    let mut out = format!("On {}:", dates::long_date(started.date()));
    for statement in statements {
        out.push(' ');
        out.push_str(statement.text.trim());
        if !statement.text.trim_end().ends_with(['.', '!', '?', '"']) {
            out.push('.');
        }
    }
    if statements.is_empty() {
        out.push_str(" small talk.");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cases, said};
    use super::*;

    #[test]
    fn themes_are_named_after_their_facts() {
        assert_eq!(theme_name(&[]), "Notes");
        for (name, facts) in cases(include_str!("tests/cases/themes.txt"), "themes") {
            let facts: Vec<&str> = facts.iter().map(String::as_str).collect();
            assert_eq!(theme_name(&facts), name, "of {facts:?}");
        }
    }

    #[test]
    fn episodes_have_titles_and_narratives() {
        let at = jiff::civil::date(2026, 11, 21).at(10, 0, 0, 0);
        let said = |text: &str| said("The user", None, text);
        let told = [said("My dog Max is a golden retriever."), said("I moved to Lund last week!")];
        assert_eq!(title(&told), "Max, golden retriever, Lund");
        assert_eq!(title(&[said("what's the capital of France")]), "France, capital");
        assert_eq!(title(&[said("hi")]), "hi");
        assert_eq!(title(&[]), "Conversation");
        assert_eq!(
            narrative(at, &super::super::statements(&told)),
            "On 21 November 2026: The user's dog Max is a golden retriever. Max is the user's dog. \
             The user moved to Lund (week of 9 November 2026)."
        );
        assert_eq!(narrative(at, &[]), "On 21 November 2026: small talk.");
    }
}
