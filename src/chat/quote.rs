//! Answers that rules make of evidence, and how sure they are (pure, but for what an encoder reads).

use crate::chat::policy::{ModelProfile, NOTHING_FOUND, cautions, head, reminds};
use crate::chat::sureness::Sureness;
use crate::extractive::{self, Candidate, ExtractiveAnswer, HEDGE, Words};
use crate::interfaces::Reranker;
use crate::memory::relevance::Relevance;
use crate::memory::{Message, MessageId, Moment, Origin, Role, Semantic};
use crate::model_policy::{changed, odds_of_change};
use crate::recall::{Evidence, MessageEvidence, SemanticEvidence, read_cited};

/// An answer made of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    pub text: String,
    pub cited: Cited,
    /// It answers nothing: it stands below what the model says to a task.
    pub reminds: bool,
}

impl Quote {
    /// Memory has no answer; below stands what comes nearest.
    pub fn nothing(nearest: Option<Self>) -> Self {
        let (below, cited) =
            nearest.map(|nearest| (nearest.text, nearest.cited)).unwrap_or_default();
        let recalled = cited.recalled.or_else(|| Some(Vec::new()));
        let text = NOTHING_FOUND.to_owned() + &below;
        Self { text, cited: Cited { recalled, ..cited }, reminds: false }
    }
}

/// What a reply quotes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cited {
    /// Messages of the open chat.
    pub from_chat: Vec<MessageId>,
    /// Recalled texts, where the rules answered; `None` where a model did, whose words may come
    /// from anything in its prompt.
    pub recalled: Option<Vec<String>>,
    /// How likely it is right, if that was asked.
    pub sureness: Option<Sureness>,
}

impl Cited {
    /// By their indices: what was recalled, and behind it the messages of the open chat.
    fn of(cited: &[usize], recalled: &[Candidate], from_chat: &[MessageId]) -> Self {
        let here = cited.iter().filter_map(|index| index.checked_sub(recalled.len()));
        let texts = cited.iter().filter_map(|&index| recalled.get(index)).map(|c| c.text.clone());
        Self {
            from_chat: here.filter_map(|index| from_chat.get(index).copied()).collect(),
            recalled: Some(texts.collect()),
            sureness: None,
        }
    }

    /// Also what this quotes.
    pub fn add(&mut self, other: &Self) {
        self.from_chat.extend(&other.from_chat);
        if let (Some(texts), Some(others)) = (&mut self.recalled, &other.recalled) {
            texts.extend_from_slice(others);
        }
    }
}

/// In place of what a small model would say about medicines.
const CAUTION: &str = "I can't judge medicines: please ask a pharmacist or a doctor.";

/// The newest messages of the open chat that the rules read, as a model reads its window.
const N_WINDOW: usize = 60;
/// What was just said counts as much as a moderately relevant memory: it is about this chat, but
/// nothing selected it.
const WINDOW_RELEVANCE: f64 = 0.5;

/// What the person said here, or a fact made of it (`speaker`: `None`), which nothing selected.
fn said_here(text: &str, at: Moment, speaker: Option<&str>, superseded: bool) -> Candidate {
    Candidate {
        text: head(text).to_owned(),
        relevance: WINDOW_RELEVANCE,
        at: at.civil(),
        raw_speaker: speaker.map(str::to_owned),
        superseded,
        origin: Origin::Person,
        answers: None,
    }
}

/// Adds what the person said in the open chat, which may not have reached memory yet, unless it is there; its messages.
fn add_chat<'a>(
    candidates: &mut Vec<Candidate>,
    earlier: impl DoubleEndedIterator<Item = &'a Message>,
    user_name: Option<&str>,
) -> Vec<MessageId> {
    let name = user_name.unwrap_or(extractive::THE_USER);
    let mut from = Vec::new();
    for line in earlier.rev().filter(|l| l.role == Role::User).take(N_WINDOW) {
        // Recall may have found it already.
        let mut known = candidates.iter_mut();
        if let Some(known) = known.find(|c| c.text.trim() == line.content.trim()) {
            if known.origin < Origin::Person {
                (known.origin, known.at) = (Origin::Person, line.created_at.civil());
            }
            continue;
        }
        candidates.push(said_here(&line.content, line.created_at, Some(name), false));
        from.push(line.id);
    }
    from
}

/// How likely a later text changes an earlier one and its answer, as the encoder reads them.
fn odds_by(encoder: Option<&dyn Reranker>) -> impl Fn(&str, &str, &[&str]) -> Vec<[f64; 2]> {
    move |question, earlier, later| odds_of_change(encoder, question, earlier, later)
}

/// What stands below a model's words: what was told since its answer from memory and may change it, or where nothing
/// answers (`None`), what comes nearest.
pub fn below<'a>(
    profile: &ModelProfile,
    (question, answer): (&str, Option<&str>),
    mut candidates: Vec<Candidate>,
    earlier: impl DoubleEndedIterator<Item = &'a Message>,
    at: Moment,
    user_name: Option<&str>,
) -> Option<Quote> {
    let n_recalled = candidates.len();
    let from = add_chat(&mut candidates, earlier, user_name);
    let (question, at) = (head(question), at.civil());
    let odds = odds_by(profile.encoder.as_deref());
    let found = match answer {
        Some(text) => {
            let answer = ExtractiveAnswer { text: text.into(), cited: Vec::new(), sure: false };
            extractive::told_since(question, &answer, &candidates, at, user_name, &odds)
        }
        None => extractive::nearest(question, &candidates, at, user_name, &odds),
    }?;
    let cited = Cited::of(&found.cited, &candidates[..n_recalled], &from);
    Some(Quote { text: found.text, cited, reminds: false })
}

/// The answer made of evidence, by the `words` that were found in it if they were looked for; `None` if nothing answers.
/// `earlier` is the open chat: what was said a minute ago may not have reached memory yet.
pub fn quote<'a>(
    profile: &ModelProfile,
    question: &str,
    (mut candidates, words): (Vec<Candidate>, &Words),
    earlier: impl DoubleEndedIterator<Item = &'a Message>,
    at: Moment,
    user_name: Option<&str>,
) -> Option<Quote> {
    let n_recalled = candidates.len();
    let from = add_chat(&mut candidates, earlier, user_name);
    // "I'm allergic to nuts, can I eat pesto?"
    let told = extractive::told_with(head(question));
    let name = user_name.unwrap_or(extractive::THE_USER);
    candidates.extend(told.map(|text| said_here(&text, at, Some(name), false)));
    let encoder = profile.encoder.as_deref();
    let changed_by =
        |question: &str, earlier: &str, later: &[&str]| changed(encoder, question, earlier, later);
    let question = head(question);
    let now = at.civil();
    let answer = match words {
        Words::Answer(found) => {
            let (words, told) =
                extractive::in_words(question, &candidates, found, now, user_name, &changed_by);
            Some(told.below(words.as_deref()))
        }
        Words::None => None,
        Words::Unread => extractive::answer_by(question, &candidates, now, user_name, &changed_by),
    };
    let remind = || extractive::reminder(question, &candidates, now, user_name, &changed_by);
    let is_sure = answer.as_ref().is_some_and(|answer| answer.sure);
    let cautions = cautions(profile, question) && !is_sure;
    let mut reminds = reminds(profile, question) && !is_sure && !cautions;
    let is_half = |answer: &ExtractiveAnswer| !answer.text.starts_with(HEDGE);
    let answer = match answer {
        // "When does Clara visit, and what can I cook?": what is known, and what to heed.
        Some(half) if reminds && extractive::asks_twice(question) && is_half(&half) => {
            reminds = false;
            let besides = remind();
            let text = besides.as_ref().map_or("", |besides| &besides.text);
            let text = format!("{}{text}", half.text);
            let cited = half.cited.into_iter().chain(besides.into_iter().flat_map(|b| b.cited));
            ExtractiveAnswer { text, cited: cited.collect(), sure: false }
        }
        _ if reminds => remind()?,
        _ if cautions => {
            let besides = remind().map(|besides| (besides.text, besides.cited));
            let (text, cited) = besides.unwrap_or_default();
            ExtractiveAnswer { text: format!("{CAUTION}{text}"), cited, sure: true }
        }
        answer => answer?,
    };
    let (mut answer, mut sureness_of) = (answer, None);
    if !reminds && !cautions {
        sureness_of = sureness(encoder, &mut candidates, &answer, question, user_name);
        let odds = odds_by(encoder);
        let since = extractive::told_since(question, &answer, &candidates, now, user_name, &odds);
        if let Some(since) = since {
            answer.text += &since.text;
            answer.cited.extend(since.cited);
        }
    }
    let cited = Cited::of(&answer.cited, &candidates[..n_recalled], &from);
    let cited = Cited { sureness: sureness_of, ..cited };
    Some(Quote { text: answer.text, cited, reminds })
}

/// What is planned for the days that the question names, of all facts and of the messages that none were made of yet.
pub fn what_is_on(
    question: &str,
    facts: &[Semantic],
    unnoted: &[Message],
    at: Moment,
    user_name: Option<&str>,
) -> (Quote, Evidence) {
    let name = user_name.unwrap_or(extractive::THE_USER);
    let of_facts =
        facts.iter().map(|f| said_here(&f.content, f.created_at, None, f.superseded_by.is_some()));
    let said = unnoted.iter().rev().map(|m| said_here(&m.content, m.created_at, Some(name), false));
    let candidates: Vec<Candidate> = of_facts.chain(said).collect();
    let answer = extractive::what_is_on(head(question), &candidates, at.civil(), user_name);
    let mut evidence = Evidence::default();
    let mut texts = Vec::new();
    for index in answer.cited {
        if let Some(index) = index.checked_sub(facts.len()) {
            let message = &unnoted[unnoted.len() - 1 - index];
            texts.push(message.content.clone());
            evidence.messages.push(MessageEvidence {
                id: message.id,
                speaker: name.to_owned(),
                text: message.content.clone(),
            });
        } else {
            let fact = &facts[index];
            texts.push(fact.content.clone());
            evidence.semantics.push(SemanticEvidence {
                id: fact.id,
                text: fact.content.clone(),
                messages: fact.messages.clone(),
                relevance: 1.0,
                superseded: false,
            });
        }
    }
    let cited = Cited { recalled: Some(texts), ..Cited::default() };
    (Quote { text: answer.text, cited, reminds: false }, evidence)
}

fn sureness(
    encoder: Option<&dyn Reranker>,
    candidates: &mut [Candidate],
    answer: &ExtractiveAnswer,
    question: &str,
    user_name: Option<&str>,
) -> Option<Sureness> {
    let weights = Relevance::default().answering;
    // A failure is no reason not to answer.
    let read = read_cited(candidates, &answer.cited, encoder?, &weights, (question, user_name));
    let likeliest =
        |()| answer.cited.iter().filter_map(|&i| candidates[i].answers).reduce(f64::max);
    let probability = read.ok().and_then(likeliest)?;
    let most = if answer.text.starts_with(HEDGE) { Sureness::FairlySure } else { Sureness::Sure };
    Some(Sureness::of(probability).min(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::policy::Reader;
    use crate::interfaces::{Clock as _, ModelError, ModelInfo};
    use crate::memory::SemanticId;
    use crate::testing::{ManualClock, fact, message};

    /// A reranker that gives every text this score.
    struct Scores(f32);

    impl Reranker for Scores {
        fn scores(&self, _: &str, texts: &[&str]) -> Result<Option<Vec<f32>>, ModelError> {
            Ok(Some(vec![self.0; texts.len()]))
        }
    }

    fn answered(question: &str, encoder: Option<f32>) -> Option<Quote> {
        let info = ModelInfo {
            name: "m".into(),
            fingerprint: String::new(),
            n_parameters: 135_000_000,
            context_tokens: 2_048,
            vocabulary: 100,
            starter: true,
        };
        let encoder = encoder.map(|score| std::sync::Arc::new(Scores(score)) as _);
        let profile = ModelProfile::new(&info, Reader::Extractive, encoder);
        let said = |id, text| message(id, Role::User, text);
        let earlier = [
            said(1, "I moved to Lund last week."),
            said(3, "I have a dog named Max."),
            said(5, "I'm allergic to nuts."),
        ];
        let at = ManualClock::at("2026-11-21T10:00:00Z").now();
        quote(&profile, question, (Vec::new(), &Words::Unread), earlier.iter(), at, None)
    }

    #[test]
    fn what_is_on_rests_on_facts_and_on_what_none_was_made_of() {
        let at = ManualClock::at("2026-11-21T10:00:00Z").now();
        let facts = [
            fact(1, 1, "Ana lives in Lund", None),
            fact(2, 1, "Ana flies to Rome on 25 November 2026", None),
        ];
        // The newest first.
        let unnoted = [
            message(9, Role::User, "remind me to call Sara on Tuesday"),
            message(8, Role::User, "hi"),
        ];
        let (quote, evidence) =
            what_is_on("what's on next week?", &facts, &unnoted, at, Some("Ana"));
        assert!(quote.text.contains("You fly to Rome"), "{}", quote.text);
        let ids = (evidence.messages[0].id, evidence.semantics[0].id);
        assert_eq!(ids, (MessageId(9), SemanticId(2)));
        assert_eq!((evidence.messages.len(), evidence.semantics.len()), (1, 1));
        let cited = quote.cited.recalled.unwrap_or_default();
        assert_eq!(cited, [&*unnoted[0].content, &*facts[1].content]);
    }

    #[test]
    fn what_was_just_said_is_evidence() {
        let told = answered("Where do I live?", None).unwrap();
        assert!(told.text.contains("Lund"), "{told:?}");
        assert_eq!((told.cited.from_chat, told.cited.sureness), (vec![MessageId(1)], None));
        assert_eq!(answered("What is my job?", None), None);
    }

    #[test]
    fn of_two_questions_one_is_answered_and_the_other_reminded() {
        let told = answered("Where do I live, and what should I cook tonight?", None).unwrap();
        assert!(told.text.starts_with("You moved to Lund"), "{told:?}");
        assert!(told.text.contains("You told me: You are allergic to nuts."), "{told:?}");
        assert!(!told.reminds && told.cited.from_chat.len() == 2, "{told:?}");
    }

    #[test]
    fn an_answer_says_how_sure_it_is() {
        let sureness = |score| answered("Where do I live?", Some(score)).unwrap().cited.sureness;
        assert_eq!(sureness(15.0), Some(Sureness::Sure));
        assert_eq!(sureness(10.0), Some(Sureness::FairlySure));
        assert_eq!(sureness(8.0), Some(Sureness::Guessing));
    }
}
