//! Quotes the candidate that a reranker takes for an answer.
//!
//! The rules compare words; somebody who started pottery classes may ask which craft they are
//! learning.

use jiff::civil::DateTime;

use super::advice::{heeded, restrictions};
use super::answer::{HEDGE, known_names, running_dates};
use super::evidence::{Evidence, collect, is_person, source_mark};
use super::lexicon::{capitalise, clip_words};
use super::newest::Sources;
use super::question::{Question, analyse};
use super::second_person::{is_acknowledgement, small_you, to_second_person};
use super::since::{NEAREST, SINCE};
use super::{Candidate, Changed, ExtractiveAnswer, Intent, dates, intent};
use crate::memory::{Origin, plain_text};

/// A candidate that answers with at least this probability is quoted as an answer …
const STATED_MIN: f64 = 0.75;
/// … and goes with at least this before what came from elsewhere, if the person said it here, whoever it is about …
const OWN_MIN: f64 = 0.9;
/// … with at least this probability, as possibly related …
const OFFERED_MIN: f64 = 0.3;
/// … and below this probability, what the rules are unsure of is withheld.
const REFUTED_MAX: f64 = 0.03;
/// A short message that answers nearly as probably as a fact made of it is quoted instead.
const AS_SAID_SHARE: f64 = 0.5;
const AS_SAID_BYTES: usize = 240;
/// A longer message is quoted only up to here.
const QUOTED_CHARACTERS: usize = 400;

/// Index of the candidate that most probably answers, and whether it is an answer rather than possibly related;
/// `None` if none is likely to answer. What the person said here goes before what came from elsewhere.
pub(super) fn best(candidates: &[Candidate], asked: &Question) -> Option<(usize, bool)> {
    let past = asked.past;
    let min = if asked.own { STATED_MIN } else { OWN_MIN };
    let goes_first = |c: &Candidate, p: f64| c.origin == Origin::Person && p >= min;
    let likely = || {
        let read = candidates.iter().enumerate().filter(|(_, c)| past || !c.superseded);
        read.filter_map(|(i, c)| c.answers.map(|p| (i, c, p))).filter(|&(_, c, _)| !is_question(c))
    };
    let best = likely().filter(|&(.., p)| p >= OFFERED_MIN).max_by(|a, b| {
        let first = goes_first(a.1, a.2).cmp(&goes_first(b.1, b.2));
        first.then(a.2.total_cmp(&b.2)).then(b.0.cmp(&a.0))
    })?;
    // The person's own words rather than what was made of them.
    let is_fact = best.1.raw_speaker.is_none() && !best.1.superseded;
    let as_said = likely()
        .filter(|(_, c, _)| is_fact && c.raw_speaker.is_some() && c.at == best.1.at)
        .filter(|&(_, c, p)| p >= best.2 * AS_SAID_SHARE && c.text.len() <= AS_SAID_BYTES)
        .max_by(|a, b| a.2.total_cmp(&b.2));
    Some((as_said.unwrap_or(best).0, best.2 >= STATED_MIN))
}

/// Quotes a candidate: a message word for word. `mark` is its [`source_mark`].
pub(super) fn quote(
    candidate: &Candidate,
    index: usize,
    stated: bool,
    person: Option<&str>,
    mark: &str,
) -> ExtractiveAnswer {
    let on = dates::long_date(candidate.at.date());
    let text = match &candidate.raw_speaker {
        None => {
            let text = running_dates(candidate.text.trim().trim_end_matches('.'));
            let text = capitalise(&to_second_person(&text, person));
            let text = if stated { text } else { small_you(&text) };
            let before = if candidate.superseded { "; no longer so" } else { "" };
            format!("{text}. (said on {on}{before}{mark})")
        }
        Some(speaker) => {
            let who = if is_person(speaker, person) { "you" } else { speaker };
            let text = plain_text(&candidate.text);
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            format!("“{}” ({who} said on {on}{mark})", clip_words(&line, QUOTED_CHARACTERS))
        }
    };
    let hedge = if stated { "" } else { HEDGE };
    ExtractiveAnswer { text: format!("{hedge}{text}"), cited: vec![index], sure: false }
}

/// Begins what stands below a reply to a task.
pub const REMINDER: &str = "\n\nYou told me: ";

/// A reply without what stands below it.
pub fn without_reminder(reply: &str) -> &str {
    let before = |text| reply.rsplit_once(text).map(|(before, _)| before);
    [REMINDER, SINCE, NEAREST].into_iter().find_map(before).unwrap_or(reply)
}

/// Whether rules made this reply out of what the person said: it tells nothing more.
pub fn is_from_rules(reply: &str) -> bool {
    let text = without_reminder(reply);
    is_acknowledgement(text) || ["(said on ", "you said on "].iter().any(|said| text.contains(said))
}

/// What was told that a task should heed: "You told me: Sara doesn't eat pork. (said on …)". What those who are meant may not have, if it is
/// about food or a medicine, and at most two of the candidates that the reranker finds to answer.
pub fn reminder(
    task: &str,
    candidates: &[Candidate],
    now: DateTime,
    person: Option<&str>,
    changed: &Changed<'_>,
) -> Option<ExtractiveAnswer> {
    const PROBABILITY_MIN: f64 = 0.3;
    const N_MAX: usize = 2;
    // Each with what is said of it; `None`: all of it.
    let mut cited: Vec<(usize, Option<String>)> = Vec::new();
    let mut forbidden: Vec<(usize, Option<String>)> = Vec::new();
    if let Some(kind) = heeded(task) {
        let evidence = collect(candidates, person);
        let known = known_names(&evidence);
        let sources = Sources { candidates, evidence: &evidence, changed, person };
        // Not what was taken back since.
        let holds = |e: &Evidence| {
            let value = e.statement.value.as_ref().unwrap_or(&e.statement.text);
            let asked = analyse(&format!("Can I eat {value}?"), now, person, &known);
            !e.superseded
                && e.successor.is_none()
                && sources.newer(&asked, e.candidate, &e.statement.text).is_none()
        };
        let said = |e: &Evidence| (e.candidate, holds(e).then(|| e.statement.text.clone()));
        forbidden.extend(evidence.iter().filter(|e| kind.forbids(&e.statement)).map(said));
        let asked = analyse(task, now, person, &known);
        // "Clara is vegetarian, where should we eat?"
        let with_it = |e: &&Evidence| e.at == now && kind.forbids(&e.statement);
        let own = restrictions(kind, &asked, &evidence, person).into_iter();
        let own = evidence.iter().filter(with_it).chain(own).map(said);
        for part in own.filter(|(_, text)| text.is_some()) {
            if !cited.contains(&part) {
                cited.push(part);
            }
        }
    }
    let heeded = |c: &Candidate| c.answers.filter(|&p| p >= PROBABILITY_MIN && !c.superseded);
    let mut found: Vec<(usize, f64)> = candidates
        .iter()
        .enumerate()
        .filter(|(_, c)| !is_question(c) && c.text.len() <= AS_SAID_BYTES)
        .filter_map(|(i, c)| heeded(c).map(|p| (i, p)))
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    let n = cited.len().max(N_MAX);
    for (i, _) in found {
        // Of a message that says what may not be eaten, that.
        let of_it: Vec<_> = forbidden.iter().filter(|(of, _)| *of == i).collect();
        let part = of_it.iter().copied().filter(|(_, text)| text.is_some()).cloned();
        cited.extend(part.filter(|part| !cited.contains(part)).collect::<Vec<_>>());
        cited.extend(of_it.is_empty().then_some((i, None)));
    }
    cited.truncate(n);
    let said = |(i, text): &(usize, Option<String>)| {
        let of = &candidates[*i];
        let mark = source_mark(candidates, of.origin);
        let part = text.as_ref().map(|text| Candidate {
            text: text.clone(),
            raw_speaker: None,
            ..of.clone()
        });
        quote(part.as_ref().unwrap_or(of), *i, true, person, mark).text
    };
    let text = cited.iter().map(said).collect::<Vec<_>>().join("\n\n");
    (!text.is_empty()).then(|| ExtractiveAnswer {
        text: format!("{REMINDER}{text}"),
        cited: cited.into_iter().map(|(i, _)| i).collect(),
        sure: false,
    })
}

/// Whether the reranker read all of these and found none likely to answer.
pub(super) fn refutes(candidates: &[Candidate], cited: &[usize]) -> bool {
    cited.iter().all(|&i| candidates[i].answers.is_some_and(|p| p < REFUTED_MAX))
}

/// An earlier question is not an answer.
pub(super) fn is_question(candidate: &Candidate) -> bool {
    candidate.raw_speaker.is_some() && intent(&candidate.text) == Intent::Question
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::super::answer;
    use super::super::tests::evidence;
    use super::*;

    #[test]
    fn a_task_is_reminded_of_what_bears_on_it() {
        let at = date(2026, 11, 16).at(10, 0, 0, 0);
        let told = |text: &str, answers| Candidate { answers, ..evidence(text, at) };
        let candidates = [told("Sara eats no pork", Some(0.6)), told("Sara runs", Some(0.1))];
        let later = date(2026, 11, 20).at(10, 0, 0, 0);
        let remind =
            |task: &str, of: &[Candidate]| reminder(task, of, later, None, &|_, _, _| Vec::new());
        let said = remind("What should I give Sara?", &candidates).unwrap();
        assert_eq!(said.text, "\n\nYou told me: Sara eats no pork. (said on 16 November 2026)");
        assert_eq!(said.cited, [0]);
        assert_eq!(remind("What should I give Sara?", &candidates[1..]), None);
        // Where it is about food, whatever the reranker says.
        let own = told("The user is allergic to hazelnuts", Some(0.1));
        let said = remind("What should I cook tonight?", &[own.clone(), candidates[1].clone()]);
        let text = said.unwrap().text;
        assert_eq!(
            text,
            "\n\nYou told me: You are allergic to hazelnuts. (said on 16 November 2026)"
        );
        assert_eq!(remind("What should I cook for Sara?", std::slice::from_ref(&own)), None);
        let back = Candidate {
            raw_speaker: Some("me".into()),
            ..evidence(
                "Turns out I'm not allergic to hazelnuts after all",
                at + jiff::Span::new().days(1),
            )
        };
        assert_eq!(remind("What should I cook tonight?", &[own, back]), None);
    }

    fn fact(text: &str, answers: f64) -> Candidate {
        let at = date(2026, 3, 4).at(10, 0, 0, 0);
        Candidate { answers: Some(answers), ..evidence(text, at) }
    }

    fn said(speaker: &str, text: &str, answers: f64) -> Candidate {
        Candidate { raw_speaker: Some(speaker.into()), ..fact(text, answers) }
    }

    #[track_caller]
    fn check(question: &str, candidates: &[Candidate], expected: Option<&str>) {
        let now = date(2026, 11, 23).at(10, 0, 0, 0);
        let found = answer(question, candidates, now, Some("Ana"));
        assert!(found.as_ref().is_none_or(|found| !found.sure), "{found:?}");
        let text = found.map(|found| found.text.replace(HEDGE, "~ "));
        assert_eq!(text.as_deref(), expected, "{question}");
    }

    #[test]
    fn what_answers_in_other_words_is_offered() {
        let pottery = "Ana started pottery classes on Tuesdays.";
        let candidates =
            [fact("Ana's sister paints", 0.45), fact(pottery, 0.9), fact("Ana likes tea", 0.0)];
        let quoted = "You started pottery classes on Tuesdays. (said on 4 March 2026)";
        check("Which craft am I learning?", &candidates, Some(quoted));
        let hedged = "~ you started pottery classes on Tuesdays. (said on 4 March 2026)";
        check("Which craft am I learning?", &[fact(pottery, 0.4)], Some(hedged));
        check("Which craft am I learning?", &[fact(pottery, 0.1)], None);
        let unread = Candidate { answers: None, ..fact(pottery, 0.0) };
        check("Which craft am I learning?", &[unread], None);
    }

    #[test]
    fn a_message_is_quoted_word_for_word() {
        let text = "they let me go\nat the bakery\u{1b}[31m, can you believe it";
        let quoted =
            "“they let me go at the bakery, can you believe it” (you said on 4 March 2026)";
        let question = "What happened to my job?";
        check(question, &[said("The user", text, 0.8)], Some(quoted));
        check(question, &[said("Ana", text, 0.8)], Some(quoted));
        let by_tom = "“I was fired” (Tom said on 4 March 2026)";
        check(question, &[said("Tom", "I was fired", 0.8)], Some(by_tom));
        let long = said("Ana", &"they let me go ".repeat(200), 0.8);
        let now = date(2026, 11, 23).at(10, 0, 0, 0);
        let text = answer(question, &[long], now, None).map(|a| a.text).unwrap_or_default();
        assert!(text.chars().count() < 500 && text.contains('…'), "{text}");
    }

    #[test]
    fn a_short_message_is_quoted_rather_than_the_fact_made_of_it() {
        let made = fact("Dario got his money back, Ana and others are square", 0.9);
        let told = "Gave Dario his money back, we're square";
        let quoted = "“Gave Dario his money back, we're square” (you said on 4 March 2026)";
        let question = "How did we settle our debts?";
        check(question, &[made.clone(), said("Ana", told, 0.6)], Some(quoted));
        let as_fact = "Dario got his money back, you are square. (said on 4 March 2026)";
        check(question, &[made.clone(), said("Ana", told, 0.3)], Some(as_fact));
        check(question, &[made, said("Ana", &told.repeat(9), 0.6)], Some(as_fact));
    }

    #[test]
    fn neither_questions_nor_what_is_no_longer_so_are_offered() {
        let question = "Which craft am I learning?";
        check(question, &[said("Ana", "which craft am i learning", 0.9)], None);
        let old = Candidate { superseded: true, ..fact("Ana is learning to weave", 0.9) };
        check(question, std::slice::from_ref(&old), None);
        let quoted = "You did learn weaving. (said on 4 March 2026; no longer so)";
        let old = Candidate { text: "Ana did learn weaving".into(), ..old };
        check("Which craft was mine before?", &[old], Some(quoted));
    }

    #[test]
    fn what_shares_words_only_is_not_offered_where_it_was_read() {
        let question = "Where did my neighbour park the van yesterday?";
        let near = |answers| {
            let text = "Ana's neighbour did park the van in the field";
            [Candidate { answers, ..fact(text, 0.0) }]
        };
        let quoted = "~ your neighbour did park the van in the field. (said on 4 March 2026)";
        check(question, &near(None), Some(quoted));
        check(question, &near(Some(0.2)), Some(quoted));
        check(question, &near(Some(0.01)), None);
    }
}
