//! One fact each: appositions, relative clauses, lists after "is" and shared subjects taken apart,
//! and relations ("Max is Ana's dog") made facts of their own.

use super::attributes::is_creature;
use super::lexicon::{self, DOG_BREEDS, capitalise};
use super::lists::{Lines, Words};
use super::person;
use super::words::{Sentence, Token, join, tokens};

static AFTER_A_COORDINATED_VERB: Words = Words::new("after a coordinated verb");
static FACTS_OF_A_COPULA: Lines = Lines::new("facts of a copula");
static OPENERS_OF_DEPENDENT_CLAUSES: Words = Words::new("openers of dependent clauses");

/// Appositions and relative clauses as facts of their own.
pub(super) fn facts(text: &str) -> Vec<String> {
    let words = tokens(text);
    apposition(&words)
        .or_else(|| copula_list(&words))
        .or_else(|| coordinated(&words))
        .unwrap_or_else(|| vec![text.to_owned()])
}

/// "Max, a golden retriever, loves fetch", "Emily, who lives in Portland, is a nurse".
fn apposition(words: &[Token]) -> Option<Vec<String>> {
    let mut commas = words.iter().enumerate().filter(|(_, t)| t.text == ",").map(|(i, _)| i);
    let (open, close) = (commas.next()?, commas.next()?);
    if open > 6 || close - open > 10 || close + 1 >= words.len() {
        return None;
    }
    let (subject, inside, rest) = (&words[..open], &words[open + 1..close], &words[close + 1..]);
    let named = subject.iter().any(|t| t.upper() && t.word)
        && !subject.iter().any(|t| lexicon::is_finite(&t.lower) && !t.upper());
    let article = inside.among(0, &["a", "an", "the"]) || inside.lower(0).ends_with("'s");
    let who = inside.among(0, &["who", "which"]) && lexicon::is_finite(inside.lower(1));
    let has_verb = lexicon::is_finite(rest.lower(0))
        || lexicon::is_adverb(rest.lower(0)) && lexicon::is_finite(rest.lower(1));
    if !named || !has_verb || !(article || who) || inside.iter().any(|t| t.is("and")) {
        return None;
    }
    let subject = join(subject);
    let middle = if who { join(&inside[1..]) } else { format!("is {}", join(inside)) };
    let mut out = vec![format!("{subject} {}", middle.trim())];
    out.extend(facts(&format!("{subject} {}", join(rest).trim())));
    Some(out)
}

/// "Ana is Ana, 34, from Porto and allergic to nuts": one fact each.
fn copula_list(words: &[Token]) -> Option<Vec<String>> {
    let is = words.iter().take(6).position(|t| t.is("is")).filter(|&is| is > 0)?;
    if words.len() > 40 {
        return None;
    }
    let subject = join(&words[..is]);
    let segments: Vec<&[Token]> = words[is + 1..].split(|t| t.text == "," || t.is("and")).collect();
    let (last, rest) = segments.split_last()?;
    let segments: Vec<&[Token]> =
        rest.iter().filter(|s| !s.is_empty()).chain([last]).copied().collect();
    let age = |s: &[Token]| {
        s.first().is_some_and(|t| lexicon::number(&t.text).is_some_and(|n| n > 3))
            && (s.len() == 1 || s[1].among(&["years", "yo"]))
    };
    let has_age = segments.iter().any(|s| age(s));
    let name = |s: &[Token]| {
        let small = has_age && s.len() == 1;
        s.len() <= 2
            && s.iter()
                .all(|t| t.word && (t.upper() || small && t.text.chars().all(char::is_alphabetic)))
            && super::names::may_be_a_name(&capitalise(&join(s)))
    };
    let whole = |s: &&[Token]| {
        let low = join(s).to_lowercase();
        age(s)
            || name(s)
            || FACTS_OF_A_COPULA.iter().any(|p| low.starts_with(p))
            || s.among(0, &["a", "an"]) && s.len() >= 2
            // "2nd year nursing student in Cork"
            || s.iter().skip(1).any(|t| t.is("student"))
    };
    if segments.len() < 2 || !segments.iter().all(|s| !s.is_empty() && whole(s)) {
        return None;
    }
    // "Ana is married to Sara, a carpenter": it is Sara who is one.
    let is_of_other = |pair: &[&[Token]]| {
        matches!(pair[0], [.., to, other] if to.among(&["to", "with"]) && other.upper())
            && pair[1].among(0, &["a", "an"])
    };
    if segments.windows(2).any(is_of_other) {
        return None;
    }
    let fact = |(n, s): (usize, &&[Token])| {
        let mut text = join(s);
        if n == 0 && s.len() == 1 && has_age && !age(s) {
            text = capitalise(&text);
        }
        let is_bare =
            s.len() > 1 && s.iter().any(|t| t.is("student")) && !s.among(0, &["a", "an", "the"]);
        format!("{subject} is {}{}", if is_bare { "a " } else { "" }, text.trim())
    };
    Some(segments.iter().enumerate().map(fact).collect())
}

/// "Mia loves dinosaurs and hates broccoli": one fact each.
fn coordinated(words: &[Token]) -> Option<Vec<String>> {
    let is_verb = |t: &Token| lexicon::is_third_person(&t.lower) && !t.upper();
    let verb = (1..words.len().min(7)).find(|&i| is_verb(&words[i]))?;
    let subject = &words[..verb];
    let complex = ["and", "who", "that", "which", "when", "if", "since", "because"];
    // Only a plain subject is repeated.
    if words.len() > 40 || subject.iter().any(|t| !t.word || t.among(&complex)) {
        return None;
    }
    for i in verb + 2..words.len().saturating_sub(2) {
        let t = &words[i];
        if t.within(&OPENERS_OF_DEPENDENT_CLAUSES)
            || matches!(t.text.as_str(), ";" | ":" | "\"" | "(")
        {
            return None;
        }
        let at = words.after_adverbs(i + 1);
        let is_second = t.among(&["and", "but"])
            && words.get(at).is_some_and(is_verb)
            && (!lexicon::NOUN_LIKE.has(&lexicon::base_of_third(words.lower(at)))
                || words.get(at + 1).is_some_and(|t| t.within(&AFTER_A_COORDINATED_VERB)));
        if is_second {
            let end = if words[i - 1].text == "," { i - 1 } else { i };
            let mut out = vec![join(&words[..end])];
            let second = format!("{} {}", join(subject), join(&words[i + 1..]).trim());
            out.extend(facts(&second));
            return Some(out);
        }
    }
    None
}

/// "Ana's dog Max" → "Max is Ana's dog": the relation as a fact of its own.
pub(super) fn relations(text: &str) -> Vec<String> {
    let words = tokens(text);
    let mut out: Vec<String> = (1..words.len())
        .filter_map(|i| owned_name(&words, i))
        .filter(|relation| !text.ends_with(relation))
        .take(4)
        .collect();
    for i in 3..words.len().saturating_sub(1) {
        let Some(relation) = had_name(&words, i) else { continue };
        out.push(relation);
        out.extend(said_of_named(&words, i));
    }
    out
}

/// "Ana's dog Max": the owner stands before `i`.
fn owned_name(words: &[Token], i: usize) -> Option<String> {
    let owner = &words[i - 1];
    if !owner.lower.ends_with("'s") {
        return None;
    }
    let kind = (i..words.len().min(i + 3)).find(|&k| is_creature(&words[k].lower))?;
    if words[i..kind].iter().any(|t| !t.word || t.upper())
        || words[kind].lower.ends_with('s') && !words[kind].is("boss")
    {
        return None;
    }
    let names: Vec<&str> = words[kind + 1..]
        .iter()
        .take(2)
        .take_while(|t| is_name(t))
        .map(|t| t.text.trim_end_matches("'s"))
        .collect();
    let user = i >= 2 && owner.is("user's") && words[i - 2].is("the");
    // Of "Ana's neighbour's daughter Isla", the neighbour is nobody's name.
    if !user && !owner.upper() {
        return None;
    }
    let owner = if user { "the user's" } else { &owner.text };
    let kind = join(&words[i..=kind]);
    (!names.is_empty()).then(|| format!("{} is {owner} {}", names.join(" "), kind.trim()))
}

/// "Ana has a dog named Max": "named" stands at `i`.
fn had_name(words: &[Token], i: usize) -> Option<String> {
    let (kind, name) = (&words[i - 1], &words[i + 1]);
    let is_dog = DOG_BREEDS.has(&kind.lower);
    if !words[i].among(&["named", "called"])
        || !is_dog && (!is_creature(&kind.lower) || kind.lower.ends_with('s'))
        || !is_name(name)
    {
        return None;
    }
    let verb =
        words[..i].iter().position(|t| t.among(&["has", "have", "got", "adopted", "bought"]))?;
    let owner = join(&words[..verb]);
    let owner = owner.trim_end_matches(" just").trim_end_matches(" also");
    // "We have a dog": whoever says so may say "my dog".
    let owner = owner.trim_end_matches(" and others");
    (!owner.is_empty() && owner.split(' ').count() <= 3 && !owner.contains(" and ")).then(|| {
        let kind = if is_dog { "dog" } else { &kind.text };
        format!("{} is {} {kind}", name.text, person::possessive(&person::inside(owner)))
    })
}

/// "Ana has a flatmate called Saoirse who is vegan" → "Saoirse is vegan"; "called" stands at `i`.
fn said_of_named(words: &[Token], i: usize) -> Option<String> {
    let who = i + 2 + usize::from(words.get(i + 2)?.text == ",");
    let told = words.get(who + 1..).filter(|_| words[who].is("who"))?;
    let end = told.iter().position(|t| matches!(&*t.text, "," | ";")).unwrap_or(told.len());
    (end > 1 && lexicon::is_finite(told.lower(0)))
        .then(|| format!("{} {}", words[i + 1].text, join(&told[..end]).trim()))
}

/// A capitalised word that is not a weekday, a month or a language.
pub(super) fn is_name(token: &Token) -> bool {
    token.word
        && token.upper()
        && token.text.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '-'))
        && !lexicon::is_month_or_weekday(&token.lower)
        && !token.is("i")
        && !matches!(
            token.lower.as_str(),
            "english" | "spanish" | "french" | "german" | "swedish" | "christmas"
        )
}
