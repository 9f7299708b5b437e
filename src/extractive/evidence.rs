//! Candidates taken apart into single facts, and who goes by which name among them.

use std::collections::{HashMap, HashSet};

use jiff::civil::DateTime;

use super::attributes::{is_single_valued, parse_statement};
use super::changes::Line;
use super::lexicon::{self, starts_upper};
use super::{Candidate, Statement, Utterance, fragments};
use crate::memory::{MessageId, Origin, Role};

pub(super) struct Evidence {
    pub candidate: usize,
    /// Other candidates that say the same.
    pub also: Vec<usize>,
    pub statement: Statement,
    pub stems: HashSet<String>,
    /// Every word in lowercase, to look up names.
    pub words: HashSet<String>,
    pub at: DateTime,
    pub relevance: f64,
    pub superseded: bool,
    /// As of [`Candidate::origin`].
    pub origin: Origin,
    /// A raw message or a sentence of an episode, not an extracted fact.
    pub raw: bool,
    pub order: usize,
    /// The `order` of the later statement that makes it untrue.
    pub successor: Option<usize>,
    /// It makes another one untrue.
    pub replaces: bool,
    /// The `order` of what that leaves of it.
    pub rest: Option<usize>,
}

impl Evidence {
    fn new(
        statement: Statement,
        candidate: usize,
        of: &Candidate,
        raw: bool,
        order: usize,
    ) -> Self {
        let words: HashSet<String> = lexicon::words(&statement.text)
            .map(|w| {
                let lower = w.to_lowercase().replace('\u{2019}', "'");
                lower.strip_suffix("'s").map(str::to_owned).unwrap_or(lower)
            })
            .collect();
        Self {
            candidate,
            also: Vec::new(),
            stems: words.iter().map(|w| lexicon::stem(w)).collect(),
            words,
            statement,
            at: of.at,
            relevance: of.relevance.clamp(0.0, 1.0),
            superseded: of.superseded,
            origin: of.origin,
            raw,
            order,
            successor: None,
            replaces: false,
            rest: None,
        }
    }
}

/// Facts one by one, from third-person texts, episodes and raw messages.
pub(super) fn collect(candidates: &[Candidate], person: Option<&str>) -> Vec<Evidence> {
    let mut out: Vec<Evidence> = Vec::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (index, candidate) in candidates.iter().enumerate().take(400) {
        let raw;
        let statements: Vec<Statement> = if let Some(speaker) = &candidate.raw_speaker {
            raw = true;
            let speaker = if is_user(speaker) { person.unwrap_or("The user") } else { speaker };
            let utterance = |message: i64, said: &Candidate| Utterance {
                message: MessageId(message),
                role: Role::User,
                addressee: None,
                speaker: speaker.to_owned(),
                text: said.text.clone(),
                at: said.at,
            };
            let mut lines: Vec<Utterance> = Vec::new();
            if fragments::opens_correction(&candidate.text) {
                lines.extend(said_before(candidates, candidate).map(|said| utterance(1, said)));
            }
            lines.push(utterance(0, candidate));
            let mut made = super::statements(&lines);
            made.retain(|statement| statement.messages.first() == Some(&MessageId(0)));
            made
        } else {
            let text = lexicon::clip(&candidate.text, 20_000);
            let text = text
                .strip_prefix("On ")
                .and_then(|rest| rest.split_once(": "))
                .filter(|(date, _)| date.len() < 24)
                .map_or(text, |(_, rest)| rest);
            let sentences = super::sentences(text);
            raw = sentences.len() > 1;
            sentences.into_iter().map(|s| parse_statement(s.trim_end_matches('.'))).collect()
        };
        for statement in statements {
            let key = statement.text.to_lowercase();
            // The same fact from several levels: the extracted one is kept.
            if let Some(&at) = seen.get(&key) {
                let known = &mut out[at];
                known.relevance = known.relevance.max(candidate.relevance);
                known.also.push(index);
                // The highest saying counts, with its date; a lower one adds nothing to it.
                if candidate.origin > known.origin {
                    known.also.push(known.candidate);
                    known.candidate = index;
                    (known.origin, known.at, known.superseded) =
                        (candidate.origin, candidate.at, candidate.superseded);
                    known.raw = raw;
                    continue;
                }
                if candidate.origin < known.origin {
                    continue;
                }
                // Told again, it holds.
                let holds = known.superseded && !candidate.superseded;
                if !raw && (known.raw || holds) {
                    known.also.push(known.candidate);
                    known.candidate = index;
                    known.superseded = candidate.superseded;
                    known.raw = false;
                    known.at = candidate.at;
                }
                continue;
            }
            seen.insert(key, out.len());
            out.push(Evidence::new(statement, index, candidate, raw, out.len()));
        }
    }
    settle(candidates, &mut out, person);
    out
}

/// Whether a statement is about the person: see [`Origin::outranks`].
pub(super) fn is_about_person(e: &Evidence, person: Option<&str>) -> bool {
    e.statement.subject.as_deref().is_some_and(|subject| is_person(subject, person))
}

/// Indices of the candidates from elsewhere that say otherwise than the person did before: see [`Origin::prevails`].
pub fn refuted(candidates: &[Candidate], person: Option<&str>) -> HashSet<usize> {
    let out = collect(candidates, person);
    let has_successor = |e: &Evidence| match e.successor {
        Some(successor) => out[successor].origin.prevails(e.origin),
        None => e.superseded && !candidates[e.candidate].superseded,
    };
    // "Ana works in Cairo" beside "the user's friend Ana works in Porto". One at a time, or nearly: where somebody works, but
    // not what they like.
    let has_one = |of: &str| of == "field" || is_single_valued(of);
    let names = |e: &Evidence| -> Vec<String> {
        let words = e.statement.subject.as_deref().unwrap_or_default().split_whitespace();
        words.filter(|word| lexicon::starts_upper(word)).map(str::to_lowercase).collect()
    };
    let differs = |a: &Evidence, b: &Evidence| {
        let [a, b] =
            [a, b].map(|e| e.statement.value.as_deref().unwrap_or_default().to_lowercase());
        !a.contains(&b) && !b.contains(&a)
    };
    let same_of_another = |e: &Evidence| {
        e.statement.attribute.as_deref().is_some_and(has_one)
            && out.iter().filter(|own| own.origin.prevails(e.origin)).any(|own| {
                let (a, b) = (names(own), names(e));
                let is_same =
                    if a.len() > 1 && b.len() > 1 { a == b } else { a.last() == b.last() };
                is_same
                    && !b.is_empty()
                    && own.at <= e.at
                    && own.statement.attribute == e.statement.attribute
                    && differs(own, e)
            })
    };
    out.iter()
        .filter(|e| e.origin.is_elsewhere() && (has_successor(e) || same_of_another(e)))
        .flat_map(|e| e.also.iter().chain([&e.candidate]).copied())
        .filter(|&i| candidates[i].origin.is_elsewhere())
        .collect()
}

/// What stands behind a quote of that origin: where the person said things themselves, that this is not their word.
pub(super) fn source_mark(candidates: &[Candidate], origin: Origin) -> &'static str {
    let is_elsewhere = candidates.iter().any(|c| c.origin.prevails(origin));
    if is_elsewhere { "; from elsewhere" } else { "" }
}

/// The last messages that the same person sent shortly before, in order.
fn said_before<'a>(
    candidates: &'a [Candidate],
    this: &Candidate,
) -> impl Iterator<Item = &'a Candidate> {
    let mut before: Vec<&Candidate> = candidates
        .iter()
        .filter(|c| c.raw_speaker == this.raw_speaker && c.at < this.at)
        .filter(|c| this.at.duration_since(c.at).as_mins() <= 30)
        .collect();
    before.sort_by_key(|c| c.at);
    before.into_iter().rev().take(4).rev()
}

/// Marks what something said later makes untrue, whether or not the memory has been consolidated since; what is
/// left of such a statement becomes evidence of its own.
fn settle(candidates: &[Candidate], out: &mut Vec<Evidence>, person: Option<&str>) {
    /// At most this many of the most relevant statements are compared,
    const COMPARED_MAX: usize = 96;
    /// each, for every word, with at most this many of the last that share it.
    const SHARING_MAX: usize = 24;
    let mut by_time: Vec<usize> = (0..out.len()).collect();
    by_time.sort_by(|&i, &j| out[j].relevance.total_cmp(&out[i].relevance).then(i.cmp(&j)));
    by_time.truncate(COMPARED_MAX);
    by_time.sort_by_key(|&i| (out[i].at, i));
    let mut lines: HashMap<usize, Line> =
        by_time.iter().map(|&i| (i, Line::new(&out[i].statement.text, person))).collect();
    let mut by_stem: HashMap<String, Vec<usize>> = HashMap::new();
    for &later in &by_time {
        let line = &lines[&later];
        let sharing = line.stems.iter().filter_map(|stem| by_stem.get(stem));
        let mut earlier: Vec<usize> =
            sharing.flat_map(|of| of.iter().rev().take(SHARING_MAX)).copied().collect();
        earlier.sort_unstable();
        earlier.dedup();
        for stem in &line.stems {
            by_stem.entry(stem.clone()).or_default().push(later);
        }
        for earlier in earlier {
            let (a, b) = (&out[earlier], &out[later]);
            let before =
                a.at < b.at || a.at == b.at && a.candidate == b.candidate && earlier < later;
            if !before || !lines[&earlier].changed_by(&lines[&later]) {
                continue;
            }
            if a.origin.outranks(b.origin, is_about_person(a, person)) {
                // Nothing lower takes it back, least of all what the person said here: then it is the later one that does not hold.
                out[later].superseded = true;
                continue;
            }
            let above = |successor: usize| {
                out[successor].origin.outranks(b.origin, is_about_person(a, person))
            };
            if a.successor.is_some_and(above) {
                continue;
            }
            let rest = lines[&earlier].remainder(&lines[&later]);
            let (candidate, raw) = (a.candidate, a.raw);
            out[later].replaces = true;
            out[earlier].superseded = true;
            out[earlier].successor = Some(later);
            let Some(text) = rest else { continue };
            let same = |e: &Evidence| e.statement.text.eq_ignore_ascii_case(&text);
            out[earlier].rest = out.iter().position(same).or(Some(out.len()));
            if out[earlier].rest == Some(out.len()) {
                let of = Candidate { superseded: false, ..candidates[candidate].clone() };
                let n = out.len();
                let line = Line::new(&text, person);
                for stem in &line.stems {
                    by_stem.entry(stem.clone()).or_default().push(n);
                }
                out.push(Evidence::new(parse_statement(&text), candidate, &of, raw, n));
                lines.insert(n, line);
            }
        }
    }
}

/// The last in the chain of statements that replaced one another, from `e` on.
pub(super) fn latest_of<'a>(evidence: &'a [Evidence], e: &'a Evidence) -> &'a Evidence {
    let mut last = e;
    // Each is said later than the one before, so this ends.
    while let Some(next) = last.successor {
        last = &evidence[next];
    }
    last
}

/// Whether a speaker's name stands for the person, whatever they are called.
pub(super) fn is_user(speaker: &str) -> bool {
    matches!(speaker.to_lowercase().as_str(), "" | "user" | "you" | "the user" | "me")
}

/// Whether a name is the person's.
pub(super) fn is_person(name: &str, person: Option<&str>) -> bool {
    is_user(name) || person.is_some_and(|person| person.eq_ignore_ascii_case(name))
}

/// Owner, noun and name, in lowercase, of "Ana's dog" → Max, from what the evidence says of
/// names and relations. The person's own have no owner.
pub(super) fn aliases(
    evidence: &[Evidence],
    person: Option<&str>,
) -> Vec<(String, String, String)> {
    let mut out = Vec::new();
    let person = person.map(str::to_lowercase);
    let mut add = |owner: &str, noun: &str, name: &str| {
        let owner = owner.to_lowercase();
        let owner = owner.strip_prefix("the ").unwrap_or(&owner);
        let own = owner == "user" || person.as_deref() == Some(owner);
        let owner = if own { String::new() } else { owner.to_owned() };
        out.push((owner, noun.to_lowercase(), name.to_lowercase()));
    };
    for e in evidence.iter().filter(|e| !e.superseded) {
        let (Some(subject), Some(attribute), Some(value)) =
            (&e.statement.subject, e.statement.attribute.as_deref(), &e.statement.value)
        else {
            continue;
        };
        let owned = |text: &str| {
            let (owner, noun) = text.rsplit_once("'s ")?;
            Some((owner.to_owned(), noun.rsplit(' ').next().unwrap_or(noun).to_owned()))
        };
        match attribute {
            "relation" => {
                if let Some((owner, noun)) = owned(value) {
                    add(&owner, &noun, subject);
                }
            }
            "name" => {
                if let Some((owner, noun)) = owned(subject) {
                    add(&owner, &noun, value);
                }
            }
            "partner" => {
                for noun in ["wife", "husband", "partner", "spouse"] {
                    add(subject, noun, value);
                }
            }
            "pet" | "family" => {
                let words: Vec<&str> = value.split(' ').collect();
                // "twins, Noor and Milan"
                if let Some(at) = words.iter().position(|word| word.ends_with(',')) {
                    let is_name = |word: &&&str| **word == "and" || starts_upper(word);
                    for name in words[at + 1..].iter().take_while(is_name) {
                        if starts_upper(name) {
                            add(
                                subject,
                                words[at].trim_end_matches(','),
                                name.trim_matches([',', ';']),
                            );
                        }
                    }
                }
                for w in words.windows(3) {
                    if matches!(w[1], "named" | "called") && starts_upper(w[2]) {
                        add(subject, w[0], w[2].trim_matches(','));
                    }
                }
            }
            _ => {}
        }
    }
    out
}
