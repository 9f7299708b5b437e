//! What a question wants: whom it is about, of what kind, which attribute, which words must be met.

use std::collections::HashSet;

use jiff::civil::DateTime;

use super::attributes::is_creature;
use super::dates::{self, DateSpan};
use super::lexicon;
use super::words::{Token, tokens};
use super::{intent, openings};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    When,
    Where,
    Who,
    HowOld,
    HowMany,
    HowLong,
    Why,
    YesNo,
    What,
    /// "What do you know about X?"
    List,
}

#[derive(Debug, Clone)]
pub(super) struct Question {
    pub kind: Kind,
    /// The person asks about themself.
    pub own: bool,
    /// "Where do I live?": the person is the subject.
    pub own_subject: bool,
    pub hypothetical: bool,
    /// "What should I do?" asks for advice, not for memories.
    pub advice: bool,
    /// Proper names, small: evidence has to meet them.
    pub names: Vec<String>,
    /// "my dog", "Emily's sister": (owner, noun); the owner is `None` for the person.
    pub relation: Option<(Option<String>, String)>,
    /// Attributes, any of which answers.
    pub attributes: Vec<String>,
    /// Stems that say what it is about, in order, without names.
    pub stems: Vec<String>,
    /// Of the past: superseded facts may answer.
    pub past: bool,
    pub span: Option<DateSpan>,
}

/// Words of questions that name no topic.
const EMPTY: &[&str] = &[
    "know",
    "remember",
    "tell",
    "recall",
    "remind",
    "say",
    "said",
    "mention",
    "mentioned",
    "told",
    "do",
    "did",
    "does",
    "have",
    "has",
    "had",
    "is",
    "are",
    "was",
    "were",
    "name",
    "names",
    "called",
    "please",
    "again",
    "thing",
    "things",
    "anything",
    "something",
    "everything",
    "kind",
    "type",
    "sort",
    "much",
    "many",
    "long",
    "old",
    "currently",
    "right",
    "user",
    "user's",
    "assistant",
    "think",
    "hey",
    "hi",
    "people",
    "person",
    "get",
    "go",
    "going",
    "ever",
    "happen",
    "happened",
    "list",
    "show",
    "information",
    "info",
    "facts",
    "fact",
    "memory",
    "memories",
    "did",
    "used",
    "use",
    "time",
    "date",
    "day",
    "year",
    "month",
    "week",
    "exactly",
    "still",
    "person",
    "someone",
    "actually",
    "before",
    "previously",
    "originally",
    "earlier",
    "first",
    "past",
    "formerly",
    "now",
    "these",
    "today",
    "nowadays",
    "been",
    "take",
    "make",
    "made",
    "own",
];

/// Of "find my …", "give me the …": words that say nothing of what is asked for.
fn n_of_command(words: &[Token]) -> usize {
    let lower: Vec<&str> = words.iter().take(3).map(|t| t.lower.as_str()).collect();
    match lower.as_slice() {
        ["give" | "get", "me", ..] | ["look", "up" | "for", _] => 2,
        ["find" | "spell" | "repeat", "my" | "our", ..] => 1,
        _ => 0,
    }
}

pub(super) fn analyse(
    question: &str,
    now: DateTime,
    person: Option<&str>,
    known: &HashSet<String>,
) -> Question {
    let question = lexicon::clip(question, 2_000);
    let sentences = super::sentences(question);
    // The last sentence that asks.
    let asked = sentences
        .iter()
        .rev()
        .find(|s| {
            let words = openings::strip_opening(&tokens(s));
            intent::is_question(&words, s) || intent::is_recall_request(&words)
        })
        .copied()
        .unwrap_or(question);
    let mut words: Vec<Token> =
        openings::strip_opening(&tokens(asked)).into_iter().filter(|t| t.word).collect();
    words.drain(..n_of_command(&words));
    let lower: Vec<&str> = words.iter().map(|t| t.lower.as_str()).collect();
    let text = format!(" {} ", lower.join(" "));
    let kind = kind(&lower, &text);
    let person_words: Vec<String> =
        person.unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
    let mut own = lower
        .iter()
        .any(|w| matches!(*w, "i" | "me" | "my" | "mine" | "myself" | "we" | "our" | "us"));
    let bare = |t: &Token| t.lower.trim_end_matches("'s").to_owned();
    let mut names: Vec<String> = Vec::new();
    for (i, token) in words.iter().enumerate() {
        let name = bare(token);
        if person_words.contains(&name) {
            own = true;
            continue;
        }
        let capital = token.upper()
            && (i > 0 || token.lower.ends_with("'s"))
            && !token.is("i")
            && !lexicon::STOP.contains(name.as_str())
            && !matches!(name.as_str(), "ok" | "tv" | "i'm");
        let month_or_day =
            lexicon::MONTHS.iter().chain(&lexicon::WEEKDAYS).any(|m| m.to_lowercase() == name);
        let all_capitals = lower.len() > 2
            && words
                .iter()
                .filter(|t| t.text.chars().count() > 1)
                .all(|t| t.text.chars().all(|c| !c.is_lowercase()));
        if (capital && !month_or_day && !all_capitals
            || known.contains(&name)
                && !lexicon::is_finite(&name)
                && !lexicon::STOP.contains(name.as_str()))
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    let relation = relation(&words, &person_words);
    let own_subject = words.windows(2).any(|w| {
        (w[1].is("i") || person_words.contains(&w[1].lower))
            && (lexicon::AUXILIARIES.contains(w[0].lower.as_str())
                || lexicon::MODALS.contains(w[0].lower.as_str()))
    }) || words.windows(2).any(|w| {
        w[0].is("i") && lexicon::is_finite(&w[1].lower) && !words.first().is_some_and(|f| f.is("i"))
    });
    let attributes = attributes(&text, &lower, kind, relation.is_some());
    let relation_noun = relation.as_ref().map(|(_, n)| lexicon::stem(n));
    let date_words: HashSet<String> = dates::find(asked)
        .iter()
        .flat_map(|f| {
            lexicon::words(&asked[f.start..f.end]).map(str::to_lowercase).collect::<Vec<_>>()
        })
        .collect();
    let span = dates::asked_span(asked, now);
    let mut stems: Vec<String> = Vec::new();
    for word in &lower {
        let plain = word.trim_end_matches("'s");
        if lexicon::STOP.contains(plain)
            || EMPTY.contains(&plain)
            || matches!(
                plain,
                "what"
                    | "where"
                    | "who"
                    | "when"
                    | "how"
                    | "which"
                    | "whose"
                    | "why"
                    | "what'"
                    | "whats"
                    | "wheres"
                    | "whos"
                    | "whens"
                    | "hows"
            )
            || names.iter().any(|n| n == plain)
            || person_words.iter().any(|n| n == plain)
            || date_words.contains(plain)
            || span.is_some()
                && (matches!(
                    plain,
                    "yesterday"
                        | "today"
                        | "tomorrow"
                        | "last"
                        | "next"
                        | "weekend"
                        | "ago"
                        | "tonight"
                ) || lexicon::MONTHS
                    .iter()
                    .chain(&lexicon::WEEKDAYS)
                    .any(|m| m.to_lowercase() == plain))
        {
            continue;
        }
        let stem = lexicon::stem(plain);
        if relation_noun.as_ref() == Some(&stem) || stems.contains(&stem) || stem.is_empty() {
            continue;
        }
        stems.push(stem);
    }
    let past = span.is_some()
        || [
            " was ",
            " were ",
            " used to ",
            " before ",
            " previously ",
            " originally ",
            " formerly ",
            " old job",
            " in the past ",
            " first ",
            " earlier ",
        ]
        .iter()
        .any(|p| text.contains(p))
            && !text.contains(" was born ");
    let hypothetical =
        lower.iter().any(|w| matches!(*w, "should" | "could" | "would" | "can" | "shall"));
    let advice = [" should i ", " should we ", " can i ", " could i ", " shall i "]
        .iter()
        .any(|p| text.contains(p))
        && !lower.iter().any(|w| matches!(*w, "eat" | "remember"));
    Question {
        kind,
        own,
        own_subject,
        hypothetical,
        advice,
        names,
        relation,
        attributes,
        stems,
        past,
        span,
    }
}

fn kind(lower: &[&str], text: &str) -> Kind {
    let about = [
        " know about ",
        " remember about ",
        " tell me about ",
        " tell me everything about ",
        " know of ",
        " everything about ",
        " all about ",
        " facts about ",
        " know regarding ",
        " remember of ",
        " told you about ",
        " tell you about ",
        " said about ",
        " say about ",
        " learned about ",
        " learn about ",
        " memories of ",
        " memories about ",
        " describe ",
    ];
    if about.iter().any(|p| text.contains(p))
        || matches!(
            lower,
            ["who", "is" | "am" | "are", _]
                | ["who", "is" | "are", "my", _]
                | ["what", "about", ..]
        ) && lower.len() <= 4
    {
        return if lower.first() == Some(&"who") && lower.get(2) == Some(&"my") {
            Kind::Who
        } else {
            Kind::List
        };
    }
    match lower {
        ["when" | "when's" | "whens", ..] => Kind::When,
        ["where" | "where's" | "wheres", ..] => Kind::Where,
        ["who" | "who's" | "whos" | "whose" | "whom", ..] => Kind::Who,
        ["why", ..] => Kind::Why,
        ["how", "old", ..] => Kind::HowOld,
        ["how", "many" | "much", ..] => Kind::HowMany,
        ["how", "long", ..] => Kind::HowLong,
        ["what" | "which", "day" | "date" | "year" | "month" | "time", ..] => Kind::When,
        [
            "what" | "which" | "in" | "from",
            "city" | "town" | "country" | "place" | "what" | "which",
            ..,
        ] if text.contains(" city ")
            || text.contains(" town ")
            || text.contains(" country ")
            || text.contains(" place ") =>
        {
            Kind::Where
        }
        [first, ..]
            if matches!(
                *first,
                "do" | "does"
                    | "did"
                    | "is"
                    | "are"
                    | "was"
                    | "were"
                    | "am"
                    | "have"
                    | "has"
                    | "had"
                    | "can"
                    | "could"
                    | "will"
                    | "would"
            ) =>
        {
            // "Do you know where I live?", "Can you tell me my name?"
            let inner = lower.iter().position(|w| {
                matches!(*w, "where" | "when" | "who" | "what" | "which" | "how" | "whose" | "why")
            });
            match inner {
                Some(at) if at >= 2 => kind(&lower[at..], text),
                _ if matches!(lower.get(1), Some(&"you")) => Kind::What,
                _ => Kind::YesNo,
            }
        }
        ["remind" | "tell", "me", rest @ ..] if !rest.is_empty() => match rest[0] {
            "where" | "when" | "who" | "what" | "how" | "which" | "whose" | "why" => {
                kind(rest, text)
            }
            _ => Kind::What,
        },
        _ => {
            if text.contains(" how old ") {
                Kind::HowOld
            } else {
                Kind::What
            }
        }
    }
}

/// "my dog", "my younger sister", "Emily's husband".
fn relation(words: &[Token], person: &[String]) -> Option<(Option<String>, String)> {
    for (i, token) in words.iter().enumerate() {
        let lower = token.lower.trim_end_matches("'s");
        if !is_creature(lower) || i == 0 {
            continue;
        }
        // "What kind of dog do I have?"
        let has = words[i + 1..].windows(2).any(|w| w[0].is("i") && w[1].among(&["have", "own"]));
        if has && words[..i].iter().any(|t| t.among(&["kind", "type", "sort", "breed"])) {
            return Some((None, lower.to_owned()));
        }
        for owner in words[..i].iter().rev().take(3) {
            if owner.among(&["my", "our"]) {
                return Some((None, lower.to_owned()));
            }
            if let Some(name) = owner.lower.strip_suffix("'s").filter(|n| !is_creature(n)) {
                let own = person.iter().any(|p| p == name);
                return Some(((!own).then(|| name.to_owned()), lower.to_owned()));
            }
        }
    }
    None
}

fn attributes(text: &str, lower: &[&str], kind: Kind, related: bool) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut add = |names: &[&str]| out.extend(names.iter().map(|n| (*n).to_owned()));
    let has = |words: &[&str]| lower.iter().any(|w| words.contains(&w.trim_end_matches("'s")));
    if let Some(at) =
        lower.iter().position(|w| matches!(*w, "favourite" | "favorite" | "fav" | "fave"))
    {
        let noun: Vec<String> = lower[at + 1..]
            .iter()
            .take_while(|w| !matches!(**w, "is" | "of" | "in" | "was" | "again" | "are"))
            .take(3)
            .map(|w| w.replace("color", "colour"))
            .collect();
        return vec![format!("favourite {}", noun.join(" "))];
    }
    for compound in [
        "phone number",
        "wifi password",
        "wi-fi password",
        "email address",
        "middle name",
        "last name",
        "first name",
        "blood type",
        "zodiac sign",
        "license plate",
    ] {
        if text.contains(&format!(" {compound} ")) {
            return match compound {
                "email address" => vec!["email".into()],
                other => vec![other.to_owned()],
            };
        }
    }
    if kind == Kind::HowOld || has(&["age"]) {
        add(&["age"]);
    }
    if has(&[
        "live", "living", "lives", "lived", "home", "hometown", "reside", "based", "city", "moved",
        "move",
    ]) && matches!(kind, Kind::Where | Kind::What | Kind::When | Kind::Who | Kind::YesNo)
        && !has(&["work"])
        && !text.contains(" for a living ")
    {
        add(&["home", "past home"]);
    }
    if has(&["job", "profession", "occupation", "living", "career"]) && !has(&["in", "where"])
        || text.contains(" do for a living ")
        || text.contains(" for work ")
        || kind == Kind::What && has(&["work", "works"]) && !has(&["on"])
    {
        add(&["job", "employer", "field"]);
    }
    if (kind == Kind::Where || kind == Kind::Who || has(&["company", "employer"]))
        && has(&["work", "works", "working", "employer", "company", "employed"])
    {
        add(&["employer", "job", "field"]);
    }
    if has(&["name", "called", "named", "names"]) && !related {
        add(&["name"]);
    }
    if related && (kind == Kind::Who || has(&["name", "called", "named", "names"])) {
        add(&["name", "relation"]);
    }
    if has(&["birthday", "bday"]) || has(&["born"]) && kind == Kind::When {
        add(&["birthday"]);
    }
    if has(&["from", "born", "birthplace", "origin", "hometown"])
        && matches!(kind, Kind::Where | Kind::What)
    {
        add(&["birthplace", "childhood"]);
    }
    if has(&["breed"])
        || text.contains(" kind of dog ")
        || text.contains(" type of dog ")
        || text.contains(" kind of cat ")
        || text.contains(" sort of dog ")
    {
        add(&["breed"]);
    }
    if has(&["allergic", "allergy", "allergies"]) {
        add(&["allergy", "no allergy"]);
    }
    if kind != Kind::YesNo && has(&["like", "likes", "love", "loves", "enjoy", "enjoys", "into"]) {
        add(&["likes"]);
    }
    if kind != Kind::YesNo && has(&["hate", "dislike", "hates", "dislikes"])
        || text.contains(" not like ")
        || text.contains(" don't like ")
        || text.contains(" doesn't like ")
    {
        add(&["dislikes"]);
    }
    if has(&["hobby", "hobbies"]) || text.contains(" free time ") || text.contains(" for fun ") {
        add(&["hobby", "likes"]);
    }
    if has(&["married", "wife", "husband", "spouse", "partner"]) && !related {
        add(&["relationship status", "partner"]);
    }
    if has(&["instrument", "instruments", "play", "sport", "sports"]) {
        add(&["hobby"]);
    }
    if has(&["pet", "pets"]) {
        add(&["pet", "relation"]);
    }
    if has(&["language", "languages", "speak"]) {
        add(&["language"]);
    }
    if has(&["drive", "car"]) {
        add(&["car"]);
    }
    if has(&["eat", "diet", "vegetarian", "vegan"]) && kind == Kind::What {
        add(&["diet", "diet restriction", "allergy"]);
    }
    if has(&["study", "studying", "studies", "major", "degree"]) {
        add(&["field of study", "school", "education"]);
    }
    if has(&["school", "university", "college"]) {
        add(&["school", "education"]);
    }
    if has(&["email", "mail"]) {
        add(&["email"]);
    }
    if has(&[
        "password", "pin", "address", "height", "weight", "nickname", "colour", "color", "code",
    ]) {
        if has(&["address"]) {
            out.push("home".into());
        }
        for w in lower {
            if matches!(
                *w,
                "password"
                    | "pin"
                    | "address"
                    | "height"
                    | "weight"
                    | "nickname"
                    | "colour"
                    | "color"
                    | "code"
            ) {
                out.push(w.replace("color", "colour"));
            }
        }
    }
    out
}
