//! Whether a later clause makes an earlier one untrue: it denies or contrasts it, ends what it tells of, or says the
//! same with another value.

use std::collections::HashSet;

use super::attributes::main_verb;
use super::changes::Part;
use super::judge::{contradicts, substance};
use super::lexicon::{self, starts_upper};
use super::lists::{Lines, Words};
use super::patterns::Patterns;
use super::words::tokens;
use super::{dates, values::has_time};

pub(super) static CALLS_OFF: Lines = Lines::new("calls off");
pub(super) static DEATHS: Lines = Lines::new("deaths");
pub(super) static DEPARTURES: Lines = Lines::new("departures");
pub(super) static ENDINGS: Lines = Lines::new("endings");
static GENERAL_OBJECTS: Words = Words::new("general objects");
static HAVING: Words = Words::new("having");
static LASTING: Words = Words::new("lasting attributes");
pub(super) static LOSSES: Lines = Lines::new("losses");
pub(super) static NOW: Words = Words::new("now");
static OF_PARTNERS: Words = Words::new("of partners");
static ONE_AT_A_TIME: Words = Words::new("one at a time");
static OWING: Words = Words::new("owing");
pub(super) static SEPARATIONS: Lines = Lines::new("separations");
static SETTLES: Patterns = Patterns::new("settles");

/// Whether a clause makes a part of an earlier line untrue.
pub(super) fn makes_untrue(later: &Part, earlier: &Part) -> bool {
    if later.statement.text.eq_ignore_ascii_case(&earlier.statement.text) {
        return false;
    }
    let lasting = earlier.statement.attribute.as_deref().is_some_and(|a| LASTING.has(a));
    let same_subject = later.same_subject(earlier);
    if same_subject && let Some(denied) = contradicts(&earlier.statement, &later.statement) {
        return denied;
    }
    denies(later, earlier, same_subject)
        || settles(&later.statement.text, &earlier.statement.text)
        || ends(later, earlier, lasting)
        || same_frame(later, earlier, same_subject)
}

/// "is not vegan any more" of "is vegan"; "can eat gluten after all" of "can't eat gluten".
fn denies(later: &Part, earlier: &Part, same_subject: bool) -> bool {
    if later.negated == earlier.negated {
        return false;
    }
    let bare = |part: &Part| -> HashSet<String> {
        let empty = [
            "anymor", "longer", "stop", "quit", "long", "ani", "more", "not", "never", "now",
            "again", "actual", "all", "no", "also", "after", "turn", "out", "can", "do", "go",
        ];
        part.stems
            .iter()
            .filter(|s| {
                !empty.contains(&s.as_str()) && !s.ends_with("n't") && !part.subject.contains(*s)
            })
            .cloned()
            .collect()
    };
    let (x, y) = (bare(earlier), bare(later));
    if x.is_empty() || y.is_empty() || !same_subject {
        return false;
    }
    // The same kind of predicate: "has no dog" says nothing of "loves the dog".
    y.is_subset(&x) || x.is_subset(&y) && y.len() <= x.len() + 1
}

/// "Rolf paid the user back" of "Rolf owes the user 40 euros".
pub(super) fn settles(later: &str, earlier: &str) -> bool {
    let lower = |text: &str| lexicon::words(text).map(str::to_lowercase).collect::<Vec<_>>();
    let stems = |text: &str| lexicon::content_stems(text).into_iter().collect::<HashSet<_>>();
    let words = lower(later);
    if !lower(earlier).iter().any(|word| OWING.has(word)) || !SETTLES.match_any(&words) {
        return false;
    }
    let of_earlier = stems(earlier);
    let is_it = |what: &str| lower(what).iter().any(|word| IT.contains(&word.as_str()));
    given_back(later).is_none_or(|what| !stems(&what).is_disjoint(&of_earlier) || is_it(&what))
        && stems(later).intersection(&of_earlier).any(|stem| stem != "user")
}

/// What may stand for anything lent.
const IT: [&str; 5] = ["money", "cash", "rest", "it", "them"];

/// "the spirit level" of "Dave brought back the spirit level but not the money", and of "brought the spirit level back".
fn given_back(text: &str) -> Option<String> {
    const DETERMINERS: [&str; 8] = ["the", "a", "an", "my", "his", "her", "their", "our"];
    let words: Vec<&str> = lexicon::words(text).collect();
    let back = words.iter().position(|word| word.eq_ignore_ascii_case("back"))?;
    let is_determiner =
        |word: &&str| DETERMINERS.contains(&word.to_lowercase().as_str()) || word.ends_with("'s");
    let before = words[..back].iter().rposition(is_determiner).filter(|&at| at > 0);
    let ends =
        |word: &&&str| !matches!(**word, "but" | "and" | "on" | "in" | "yesterday" | "today");
    let what = match (words.get(back + 1).filter(|word| is_determiner(word)), before) {
        (Some(_), _) => words[back + 2..].iter().take_while(ends).copied().collect::<Vec<_>>(),
        (None, Some(at)) => words[at + 1..back].to_vec(),
        (None, None) => return None,
    };
    Some(what.join(" "))
}

/// What stands before and after the longest of these phrases that occurs.
pub(super) fn around<'a>(low: &'a str, phrases: &Lines) -> Option<(&'a str, &'a str)> {
    phrases
        .iter()
        .filter_map(|phrase| {
            let at = low.find(&format!(" {phrase} "))?;
            Some((phrase.len(), at))
        })
        .max()
        .map(|(n, at)| (&low[..at], &low[at + n + 2..]))
}

/// Somebody died, something was sold, quit, left or called off.
fn ends(later: &Part, earlier: &Part, lasting: bool) -> bool {
    if earlier.past || earlier.negated {
        return false;
    }
    let mut text = format!("{} ", later.statement.text.trim_end_matches(['.', '!']));
    // "has given her Fiat away"
    if let (Some(away), Some(gave)) =
        (text.find(" away "), text.find(" given ").or_else(|| text.find(" gave ")))
        && gave + 7 < away
    {
        let given = text[gave + 1..away].split_once(' ').map_or("", |(_, what)| what).to_owned();
        text = format!("{} gave away {given} ", &text[..gave]);
    }
    let held = HAVING.has(first_verb(earlier).as_str());
    let names = |text: &str| -> HashSet<String> {
        text.split_whitespace()
            .filter(|w| {
                starts_upper(w)
                    && !matches!(*w, "The" | "I")
                    && !lexicon::is_month_or_weekday(&w.to_lowercase())
            })
            .map(|w| {
                lexicon::stem(w.trim_matches(|c: char| !c.is_alphanumeric()).trim_end_matches("'s"))
            })
            .collect()
    };
    if let Some((who, _)) = around(&text, &DEATHS) {
        let named = names(who);
        let who = if named.is_empty() { substance(who) } else { named };
        return held
            && !lasting
            && !who.is_empty()
            && who.iter().any(|w| earlier.stems.contains(w));
    }
    let of_user = later.is_users()
        && (earlier.is_users() || earlier.statement.text.starts_with("The user's"))
        || later.same_subject(earlier);
    if let Some((before, after)) = around(&text, &SEPARATIONS) {
        let about_partner =
            lexicon::words(&earlier.statement.text).any(|w| OF_PARTNERS.has(&w.to_lowercase()));
        let (said, known) = (names(&format!("{before} {after}")), names(&earlier.statement.text));
        return about_partner && (said.is_empty() || known.is_empty() || !said.is_disjoint(&known));
    }
    if lasting {
        return false;
    }
    if let Some((_, object)) = around(&text, &LOSSES) {
        let object = objects(object);
        if of_user && held && !object.is_empty() && object.is_subset(&earlier.stems) {
            return true;
        }
    }
    if let Some((_, object)) = around(&text, &ENDINGS) {
        let object = objects(object);
        if of_user && !object.is_empty() && object.is_subset(&earlier.stems) {
            return true;
        }
    }
    let low = text.to_lowercase();
    around(&low, &CALLS_OFF).is_some_and(|(what, _)| {
        let what = substance(what);
        let dated = !dates::find(&earlier.statement.text).is_empty()
            || has_time(&earlier.statement.text.to_lowercase())
            || earlier.statement.attribute.as_deref() == Some("plan");
        dated && !what.is_empty() && what.is_subset(&earlier.stems)
    })
}

/// The first word of what the verb is about.
fn object(part: &Part) -> Option<String> {
    let words = tokens(&part.statement.text);
    let stems = words.iter().map(|t| lexicon::stem(&t.lower));
    stems.skip(main_verb(&words)? + 1).find(|s| part.tail().contains(s))
}

fn first_verb(part: &Part) -> String {
    let words = tokens(&part.statement.text);
    main_verb(&words).map_or(String::new(), |at| words[at].lower.clone())
}

/// What was sold or quit, without dates and words that fit anything.
fn objects(object: &str) -> HashSet<String> {
    let found = dates::find(object);
    let end = found.first().map_or(object.len(), |f| f.start);
    let object = object[..end].split([',', ';', '.']).next().unwrap_or_default();
    let object = [" because ", " so ", " and ", " in ", " last ", " this ", " but ", " for "]
        .iter()
        .filter_map(|cut| object.find(cut).filter(|at| *at > 0))
        .min()
        .map_or(object, |at| &object[..at]);
    substance(object).into_iter().filter(|s| !GENERAL_OBJECTS.has(s)).collect()
}

/// Numbers, dates and times of a text, by kind.
fn values(part: &Part) -> [HashSet<String>; 3] {
    let mut out = [HashSet::new(), HashSet::new(), HashSet::new()];
    let text = &part.statement.text;
    let mut rest = text.clone();
    for found in dates::find(text).iter().rev() {
        out[1].insert(text[found.start..found.end].to_lowercase());
        rest.replace_range(found.start..found.end, " ");
    }
    for word in lexicon::words(&rest) {
        let low = word.to_lowercase();
        let timed = low.contains(':')
            || low.len() > 2
                && (low.ends_with("am") || low.ends_with("pm"))
                && low.starts_with(|c: char| c.is_ascii_digit());
        if lexicon::is_month_or_weekday(low.trim_end_matches('s')) {
            out[1].insert(low.trim_end_matches('s').to_owned());
        } else if timed {
            out[2].insert(low);
        } else if lexicon::is_value(&low) {
            out[0].insert(lexicon::number(&low).map_or(low, |n| n.to_string()));
        }
    }
    out
}

/// The same said of the same subject with another number, date or time; or, with "now", something else of the kind.
fn same_frame(later: &Part, earlier: &Part, same_subject: bool) -> bool {
    if later.negated || earlier.negated || later.past || earlier.past {
        return false;
    }
    let (a, b) = (&earlier.subject, &later.subject);
    // "The meeting" is "the meeting with Tom"; "Leo" is not "Leo's friend", nor is "my rent" my brother's.
    let about = same_subject
        || !later.has_other_owner(earlier)
            && !b.is_empty()
            && (b.is_subset(a) || !a.is_empty() && a.is_subset(b));
    // "is the Monday after, as I have 2B then" is no age.
    let is_age = |part: &Part| part.statement.attribute.as_deref() == Some("age");
    if !about || later.verb != earlier.verb || is_age(earlier) != is_age(later) {
        return false;
    }
    let (x, y) = (values(earlier), values(later));
    let numeric = |s: &String| {
        s.chars().any(|c| c.is_ascii_digit())
            || lexicon::number(s).is_some()
            || lexicon::is_month_or_weekday(s)
    };
    let plain = |part: &Part| -> HashSet<String> {
        part.tail().into_iter().filter(|s| !numeric(s) && !NOW.has(s)).cloned().collect()
    };
    let (p, q) = (plain(earlier), plain(later));
    let alike = p.is_subset(&q) || q.is_subset(&p);
    let other = (0..3).any(|k| !x[k].is_empty() && !y[k].is_empty() && x[k].is_disjoint(&y[k]));
    if other && alike {
        return true;
    }
    let now = lexicon::words(&later.statement.text)
        .any(|w| NOW.has(w.to_lowercase().as_str()) && !w.eq_ignore_ascii_case("again"));
    now && same_subject
        && p != q
        && !matches!(later.verb.as_str(), "is" | "are" | "be" | "cost" | "was")
        && (!p.is_disjoint(&q) && object(earlier).is_some_and(|o| !q.contains(&o))
            || ONE_AT_A_TIME.has(later.verb.as_str()))
}

/// "is at 3pm in room 204" after "is at 4pm": "is in room 204".
pub(super) fn without_value(later: &Part, part: &Part) -> Option<String> {
    if !same_frame(later, part, later.same_subject(part)) {
        return None;
    }
    let (x, y) = (values(part), values(later));
    let kind = (0..3).find(|&k| !x[k].is_empty() && !y[k].is_empty() && x[k].is_disjoint(&y[k]))?;
    // As many new values as there were: none of them stays.
    if x[kind].len() > 1 && y[kind].len() >= x[kind].len() {
        return None;
    }
    let text = &part.statement.text;
    let (mut start, end) = match (kind, dates::find(text).first()) {
        (1, Some(found)) => (found.start, found.end),
        (1, None) => return None,
        _ => {
            let low = text.to_lowercase();
            let place = |value: &String| Some((low.find(value.as_str())?, value.len()));
            let (at, length) = x[kind].iter().filter_map(place).min()?;
            (at, at + length)
        }
    };
    for preposition in [" at ", " on ", " in ", " since ", " for "] {
        if text[..start].ends_with(preposition) {
            start -= preposition.len() - 1;
        }
    }
    let rest = format!("{}{}", &text[..start], text[end..].trim_start());
    // Only a phrase with a preposition stands by itself.
    let phrase = text[end..].trim_start().split(' ').next().unwrap_or_default();
    let said = |s: &String| later.stems.contains(s);
    let more =
        substance(&text[end..]).iter().any(|s| !said(s) && !s.chars().all(|c| c.is_ascii_digit()));
    (more && matches!(phrase, "in" | "at" | "with" | "near")).then_some(rest)
}
