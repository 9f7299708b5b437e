//! What a later line makes untrue of an earlier one, and what it leaves of it.
//!
//! "The user has two cats, Fifi and Tom" loses Fifi when Fifi dies, "The user is 34 and works as a nurse" its age
//! when the user is 35. Both sides are taken apart; each part of the earlier line is judged by itself.

use std::collections::HashSet;

use super::Statement;
use super::attributes::{main_verb, parse_statement};
use super::judge::{negates, same_name, substance};
use super::lexicon::{self, starts_upper};
use super::lists::Words;
use super::untrue::{
    CALLS_OFF, DEATHS, ENDINGS, LOSSES, NOW, SEPARATIONS, around, makes_untrue, without_value,
};
use super::words::{Token, join, tokens};

static MOVES: Words = Words::new("moves");

/// Longer lines are stories; they are not taken apart.
const BYTES_MAX: usize = 400;

/// One clause and what the rules need to know about it.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub statement: Statement,
    pub subject: HashSet<String>,
    /// Whose it is: "user" and "brother" of "the user's brother's rent".
    pub owners: HashSet<String>,
    /// The main verb in lowercase; "is" if there is only an auxiliary.
    pub verb: String,
    pub stems: HashSet<String>,
    pub negated: bool,
    pub past: bool,
    /// Its words as they stood in the line that it is part of.
    segment: String,
}

/// A line that others are compared with.
#[derive(Debug, Clone)]
pub(super) struct Line {
    parts: Vec<Part>,
    /// What it says as a later line: also what follows "that", "says", a comma.
    clauses: Vec<Part>,
    /// Stems of its words, and its attributes: two lines that share none are unrelated.
    pub(super) stems: HashSet<String>,
}

impl Line {
    /// `person`: the name that stands for the user.
    pub(super) fn new(text: &str, person: Option<&str>) -> Self {
        let text = as_user(text, person);
        let text = text.trim().trim_end_matches('.');
        let parts = parts(text);
        let clauses = if text.len() > BYTES_MAX { Vec::new() } else { clauses(text, &parts) };
        let all = || clauses.iter().chain(&parts);
        let attributes = all().filter_map(|p| p.statement.attribute.clone());
        let stems = all().flat_map(|p| p.stems.iter().cloned()).chain(attributes).collect();
        Self { parts, clauses, stems }
    }

    /// Which parts of this line are no longer true after `later`.
    fn lost(&self, later: &Self) -> Vec<bool> {
        let related = !self.stems.is_disjoint(&later.stems);
        let lost = |p: &Part| related && later.clauses.iter().any(|clause| makes_untrue(clause, p));
        self.parts.iter().map(lost).collect()
    }

    /// Whether a later line makes any of it untrue.
    pub(super) fn changed_by(&self, later: &Self) -> bool {
        self.lost(later).contains(&true)
    }

    /// "has two cats, Fifi and Tom" without Fifi: "has one cat, Tom".
    fn recounted(&self, lost: &[bool]) -> Option<String> {
        let (first, names) = self.parts.split_first()?;
        let is_name = |p: &Part| p.segment.split(' ').all(starts_upper);
        let kept: Vec<&str> = names
            .iter()
            .zip(&lost[1..])
            .filter(|(_, lost)| !**lost)
            .map(|(p, _)| p.segment.trim())
            .collect();
        let number = first.segment.split(' ').next()?;
        let n = lexicon::number(number).filter(|&n| n as usize == names.len())?;
        if lost[0] || kept.is_empty() || !names.iter().all(is_name) {
            return None;
        }
        let n_lost = (names.len() - kept.len()) as i64;
        let nouns = first.segment[number.len()..].trim();
        let nouns = if n - n_lost == 1 { nouns.trim_end_matches('s') } else { nouns };
        let count = match n - n_lost {
            1 => "one".to_owned(),
            n => n.to_string(),
        };
        let lead = first.statement.text.strip_suffix(first.segment.trim())?;
        Some(format!("{lead}{count} {nouns}, {}", kept.join(" and ")))
    }

    /// What stays true of it; `None` if nothing does, or nothing was lost.
    pub(super) fn remainder(&self, later: &Self) -> Option<String> {
        let lost = self.lost(later);
        if !lost.contains(&true) {
            return None;
        }
        if !lost.contains(&false) && self.parts.len() > 1 {
            return None;
        }
        if let ([part], [true]) = (self.parts.as_slice(), lost.as_slice()) {
            return later.clauses.iter().find_map(|clause| without_value(clause, part));
        }
        if let Some(counted) = self.recounted(&lost) {
            return Some(counted);
        }
        let mut kept = self.parts.iter().zip(lost).filter(|(_, lost)| !lost).map(|(part, _)| part);
        let first = kept.next()?.statement.text.clone();
        Some(kept.fold(first, |text, part| format!("{text} and {}", part.segment.trim())))
    }
}

/// What stays true of an earlier fact after a later one; `None` if nothing or all of it does.
pub fn remainder(earlier: &str, later: &str, person: Option<&str>) -> Option<String> {
    Line::new(earlier, person).remainder(&Line::new(later, person))
}

/// The person called "the user", as before the name was known; what they are called stays ("The user's name is Ana").
pub fn as_user(text: &str, person: Option<&str>) -> String {
    let Some(name) = person.filter(|name| !name.is_empty()) else { return text.to_owned() };
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in text.match_indices(name) {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let is_part = is_letter(before.chars().next_back()) || is_letter(after.chars().next());
        let is_named =
            [" name is ", " called ", " named "].iter().any(|said| before.ends_with(said));
        if is_part || is_named {
            continue;
        }
        out += &text[from..at];
        out += if before.trim_end().is_empty() { "The user" } else { "the user" };
        from = at + name.len();
    }
    out + &text[from..]
}

/// Whether a fact may take others back, beyond those about the same attribute.
pub fn takes_back(text: &str) -> bool {
    let low = format!(" {} ", text.to_lowercase());
    negates(text)
        || lexicon::words(&low).any(|w| NOW.has(w) || MOVES.has(w))
        || [&DEATHS, &LOSSES, &ENDINGS, &SEPARATIONS, &CALLS_OFF]
            .iter()
            .any(|phrases| around(&low, phrases).is_some())
}

/// Subject and verb are repeated where a part lacks them: "has a dog and two cats" → "has a dog", "has two cats".
fn parts(text: &str) -> Vec<Part> {
    let words = tokens(text);
    let whole = || vec![Part::new(text.to_owned(), text.to_owned())];
    let Some(verb) = main_verb(&words).filter(|_| text.len() <= BYTES_MAX) else { return whole() };
    let mut end = verb + 1;
    while words.get(end).is_some_and(|t| lexicon::AUXILIARIES.has(&t.lower) || t.is("not")) {
        end += 1;
    }
    if end > verb + 1
        || lexicon::AUXILIARIES.has(&words[verb].lower) && !is_possession(&words[verb])
    {
        let main = words.get(end).is_some_and(|t| {
            lexicon::is_participle(&t.lower) || t.lower.ends_with("ing") || t.is("to")
        });
        end += usize::from(main);
    }
    let (subject, lead) = (join(&words[..verb]), join(&words[..end.min(words.len())]));
    let mut segments: Vec<&[Token]> = Vec::new();
    let mut start = end.min(words.len());
    for i in end.min(words.len())..words.len() {
        let list = words[i..].iter().any(|t| t.among(&["and", "but"]));
        let rest = &words[i + 1..];
        let splits = words[i].text == ";"
            || words[i].among(&["and", "but"])
            || words[i].text == "," && (list || begins_with_verb(rest) || clause_of_its_own(rest));
        if splits && i >= start {
            if i > start {
                segments.push(&words[start..i]);
            }
            start = i + 1;
        }
    }
    if start < words.len() {
        segments.push(&words[start..]);
    }
    if segments.len() < 2 {
        return whole();
    }
    let part = |(n, segment): (usize, &&[Token])| {
        let said = join(segment);
        let said = said.trim();
        let own_verb = n > 0 && begins_with_verb(segment);
        let clause = n > 0 && !own_verb && clause_of_its_own(segment);
        let gerund = |t: &Token| t.lower.len() > 4 && t.lower.ends_with("ing");
        let text = if clause && segment[0].among(&["it", "she", "he", "they"]) {
            format!("{subject} {}", join(&segment[1..]).trim())
        } else if clause {
            said.to_owned()
        } else if own_verb {
            format!("{subject} {said}")
        } else if n > 0 && gerund(&segment[0]) && end > verb + 1 && gerund(&words[end - 1]) {
            // "is reading Emma and learning Italian"
            format!("{} {said}", join(&words[..end - 1]))
        } else {
            format!("{lead} {said}")
        };
        Part::new(text, said.to_owned())
    };
    segments.iter().enumerate().map(part).collect()
}

fn is_possession(token: &Token) -> bool {
    token.among(&["has", "have", "had"])
}

fn begins_with_verb(segment: &[Token]) -> bool {
    let at = segment.iter().take_while(|t| lexicon::is_adverb(&t.lower)).count();
    segment.get(at).is_some_and(|t| {
        !t.upper()
            && (lexicon::helps(&t.lower)
                || lexicon::is_third_person(&t.lower)
                    && segment.get(at + 1).is_some_and(|next| {
                        !next.among(&["with", "of", "for"])
                            || !lexicon::NOUN_LIKE.has(&lexicon::base_of_third(&t.lower))
                    })
                || lexicon::is_past(&t.lower))
    })
}

fn clause_of_its_own(segment: &[Token]) -> bool {
    !begins_with_verb(segment)
        && main_verb(segment).is_some_and(|verb| {
            verb <= 4
                && (segment[0].upper()
                    || segment[0].among(&["the", "it", "she", "he", "they", "his", "her"]))
        })
}

/// The line itself, its parts, and each clause in it.
fn clauses(text: &str, parts: &[Part]) -> Vec<Part> {
    let words = tokens(text);
    let mut texts: Vec<String> = vec![text.to_owned()];
    texts.extend(parts.iter().map(|p| p.statement.text.clone()));
    for i in 1..words.len().saturating_sub(1) {
        let opens = matches!(words[i].text.as_str(), "," | ":" | ";" | "—" | "–")
            || words[i].among(&["that", "says", "said", "but", "and"]);
        if opens && main_verb(&words[i + 1..]).is_some() {
            texts.push(join(&words[i + 1..]).trim().to_owned());
        }
    }
    let mut seen = HashSet::new();
    texts.retain(|text| seen.insert(text.clone()));
    let clause = |text: String| {
        let settled = settled(&text);
        // What was read once as a part is not read again.
        match parts.iter().find(|p| p.statement.text == settled) {
            Some(known) => Part { segment: text, ..known.clone() },
            None => Part::new(settled, text),
        }
    };
    texts.into_iter().map(clause).collect()
}

/// "The meeting was moved to 4pm" → "The meeting is 4pm"; "The user's new number is 5" → "The user's number is 5".
fn settled(text: &str) -> String {
    let words = tokens(text);
    let to = words.iter().rposition(|t| t.is("to"));
    let verb = words.iter().position(|t| t.within(&MOVES));
    let telling = |t: &Token| {
        t.lower.chars().any(|c| c.is_ascii_digit())
            || lexicon::is_month_or_weekday(t.lower.trim_end_matches('s'))
    };
    if let (Some(to), Some(verb)) = (to, verb)
        && (1..8).contains(&verb)
        && to > verb
        && to - verb <= 5
        && words.get(to + 1).is_some_and(|t| t.word)
        && (words[to + 1..].iter().any(telling) || !is_person(&words[..verb]))
    {
        let helped = |t: &&Token| {
            lexicon::AUXILIARIES.has(&t.lower) || lexicon::is_adverb(&t.lower) || t.is("got")
        };
        let end = verb - words[..verb].iter().rev().take_while(helped).count();
        return format!("{} is {}", join(&words[..end]), join(&words[to + 1..]).trim());
    }
    let verb = main_verb(&words).unwrap_or_default();
    let kept = words.iter().enumerate().filter(|(i, t)| !(*i < verb && t.is("new")));
    join(&kept.map(|(_, t)| t.clone()).collect::<Vec<_>>())
}

/// Whether the subject is a person, who moves to a place and not to another time.
fn is_person(subject: &[Token]) -> bool {
    let last = subject
        .iter()
        .rev()
        .find(|t| !lexicon::AUXILIARIES.has(&t.lower) && !lexicon::is_adverb(&t.lower));
    last.is_some_and(|t| {
        t.is("user")
            || t.is("others")
            || t.among(&["he", "she", "they", "we"])
            || super::attributes::is_creature(&t.lower)
            || t.upper() && subject.len() <= 2
    })
}

impl Part {
    fn new(text: String, segment: String) -> Self {
        let words = tokens(&text);
        let at = main_verb(&words);
        let statement = parse_statement(&text);
        let mut verb = at.map_or(String::new(), |at| words[at].lower.clone());
        let past = at.is_some_and(|at| {
            let t = &words[at];
            t.among(&["was", "were", "had"])
                || lexicon::is_past(&t.lower) && !lexicon::AUXILIARIES.has(&t.lower)
        });
        // "is reading", "has been living", "doesn't go": the verb is what carries meaning.
        if let Some(at) = at.filter(|&at| lexicon::helps(&words[at].lower)) {
            let main = words[at + 1..].iter().find(|t| {
                !lexicon::AUXILIARIES.has(&t.lower) && !lexicon::is_adverb(&t.lower) && !t.is("not")
            });
            if let Some(main) = main.filter(|t| {
                t.lower.ends_with("ing") && t.lower.len() > 4
                    || lexicon::is_participle(&t.lower)
                    || negates(&words[at].text) && lexicon::is_base_verb(&t.lower)
            }) {
                verb.clone_from(&main.lower);
            }
        }
        let subject = at.map_or(HashSet::new(), |at| {
            let said = words[..at].iter().filter(|t| !lexicon::is_adverb(&t.lower) || t.upper());
            substance(&said.map(|t| t.text.as_str()).collect::<Vec<_>>().join(" "))
        });
        let possessors = words[..at.unwrap_or_default()].iter().filter_map(|t| {
            let owner = t.lower.strip_suffix("'s").or_else(|| t.lower.strip_suffix("\u{2019}s"))?;
            Some(lexicon::stem(owner))
        });
        Self {
            owners: possessors.collect(),
            subject: subject
                .into_iter()
                .filter(|s| {
                    !matches!(
                        s.as_str(),
                        "other" | "new" | "no" | "longer" | "long" | "also" | "now"
                    )
                })
                .collect(),
            stems: substance(&text),
            negated: negates(&text),
            verb: lexicon::stem(&verb),
            past,
            segment,
            statement,
        }
    }

    /// Whether the subject is the user, alone or with others.
    pub fn is_users(&self) -> bool {
        let low = self.statement.text.to_lowercase();
        self.subject.is_empty() && low.contains("the user") && !low.starts_with("the user's")
    }

    pub fn same_subject(&self, other: &Self) -> bool {
        let key = |s: &Statement| {
            let low = s.subject.as_deref().unwrap_or_default().to_lowercase();
            let low = low.strip_prefix("the user's ").unwrap_or(&low).to_owned();
            low.strip_suffix(" and others").unwrap_or(&low).to_owned()
        };
        let (a, b) = (key(&self.statement), key(&other.statement));
        // "The user's phone number is …" names the user, but is about the number.
        !a.is_empty() && a != "the user" && same_name(&a, &b)
            || self.is_users() && other.is_users()
            || !self.subject.is_empty() && self.subject == other.subject
    }

    /// Whether one is somebody else's: "Leo's friend" beside "Leo", "the user's rent" beside the brother's.
    pub fn has_other_owner(&self, other: &Self) -> bool {
        let owns = |a: &Self, b: &Self| {
            a.subject.intersection(&b.owners).any(|owner| !a.owners.contains(owner))
        };
        let both_owned = !self.owners.is_empty() && !other.owners.is_empty();
        owns(self, other) || owns(other, self) || both_owned && self.owners != other.owners
    }

    pub fn tail(&self) -> HashSet<&String> {
        self.stems.iter().filter(|s| !self.subject.contains(*s) && **s != self.verb).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::cases;
    use super::*;

    #[test]
    fn only_what_changed_is_lost() {
        let mut wrong = Vec::new();
        for (earlier, rest) in cases(include_str!("tests/cases/changes.txt"), "what stays") {
            let (later, rest) = (&rest[0], rest.get(1).map_or("", String::as_str));
            let (a, b) = (Line::new(&earlier, None), Line::new(later, None));
            let got = a.remainder(&b).unwrap_or_default();
            if !a.changed_by(&b) || got != rest {
                wrong.push(format!("{earlier} + {later}: {} {got:?}", a.changed_by(&b)));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn what_has_nothing_to_do_with_it_stays() {
        let mut wrong = Vec::new();
        for (earlier, later) in cases(include_str!("tests/cases/changes.txt"), "nothing changes") {
            let (a, b) = (Line::new(&earlier, None), Line::new(&later[0], None));
            if a.changed_by(&b) {
                wrong.push((earlier, later));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
