//! The six multi-session tests of the small-LLM memory paper (Table 1), end to end: insert into an
//! empty memory, update one fact without losing the others, two more inserts, recall in a new
//! session (whose question is not stored), append the age without losing the rest. The paper's own
//! system failed the sixth.
//!
//! Three times: with the rules as writer and reader over a hashing embedder, the same with the
//! starter's own models, and with a generative writer and reader (scripted).
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "support/worker.rs"]
mod support;

use inglenook::extractive;
use inglenook::interfaces::{Cancel, Clock, Sampling};
use inglenook::memory::{Role, SessionId};
use inglenook::model_policy::{Mode, Reader};
use inglenook::recall::{Evidence, Recall, RecallConfig, RecallRequest};
use inglenook::store::{AnyId, JobKind, Store};
use inglenook::testing::ScriptedModel;
use inglenook::worker::WorkerConfig;
use support::{Bed, models, models_with};

const INSERT: &str = "My dog Max is a golden retriever. He loves playing fetch.";
const UPDATE: &str = "Actually, Max is a Labrador mix, not a purebred.";
const STORMS: &str = "Max gets anxious during thunderstorms.";
const EMILY: &str = "Max lives with my sister Emily in Portland.";
const QUESTION: &str = "What do we know about Max?";
const AGE: &str = "Max is now 5 years old.";

/// The person says something, gets a reply and pauses, so that the memory is brought up to date.
fn turn(bed: &Bed, session: SessionId, text: &str) {
    bed.say(session, Role::User, text);
    bed.say(session, Role::Assistant, "I see.");
    bed.store.write(|tx| tx.enqueue(&JobKind::Close(session))).unwrap();
    bed.work();
}

/// Current facts that contain all these words.
#[track_caller]
fn expect(bed: &Bed, present: &[&[&str]], absent: &[&str]) {
    let facts = bed.current();
    for words in present {
        let found = facts.iter().any(|fact| {
            let fact = fact.to_lowercase();
            words.iter().all(|word| fact.contains(word))
        });
        assert!(found, "{words:?} in {facts:#?}");
    }
    for word in absent {
        assert!(!facts.iter().any(|f| f.to_lowercase().contains(word)), "{word} in {facts:#?}");
    }
}

fn recall(bed: &Bed, question: &str, reader: Reader) -> Evidence {
    // The scripted model's tokens are bytes.
    let config = RecallConfig { evidence_tokens_max: 2_048, ..RecallConfig::default() };
    let recall = Recall { store: &bed.store, models: &bed.models, config };
    let request = RecallRequest {
        question,
        asked: question,
        recent: "",
        best_min: 0.0,
        rules_first: false,
        looks_for_words: false,
        now: bed.clock.now(),
        system: "You are a helpful assistant with memory.",
        reader,
        reuse: None,
        cancel: &Cancel::default(),
    };
    recall.run(request, &mut |_| {}).unwrap()
}

/// The rules quote the evidence.
fn read_by_rules(bed: &Bed, question: &str) -> String {
    let evidence = recall(bed, question, Reader::Extractive);
    let answer = extractive::answer(question, &evidence.candidates, bed.clock.now().civil(), None);
    answer.map_or_else(|| format!("nothing, of {:#?}", evidence.candidates), |a| a.text)
}

/// The model answers from the evidence in its context; the script repeats what it was given.
fn read_by_model(bed: &Bed, question: &str) -> String {
    let mut evidence = recall(bed, question, Reader::Generative);
    let block = evidence.block.clone();
    let context = evidence.context.as_mut().unwrap();
    let reply =
        context.generate(&Sampling::greedy(200), &Cancel::default(), &mut |_| {}).unwrap().text;
    format!("{reply}\n{block}")
}

/// The evidence may contain a superseded fact, if it is marked as such.
fn current_part(answer: &str) -> String {
    answer.lines().filter(|line| !line.contains("(no longer so)")).collect::<Vec<_>>().join("\n")
}

fn six_tests(bed: &Bed, read: fn(&Bed, &str) -> String) {
    let fetch: &[&str] = &["max", "fetch"];
    let labrador: &[&str] = &["max", "labrador mix"];
    let storms: &[&str] = &["max", "thunderstorms"];
    let emily: &[&str] = &["max", "emily", "portland"];
    let age: &[&str] = &["max", "5 years"];
    let first = bed.session("first");
    // 1: empty insertion.
    turn(bed, first, INSERT);
    expect(bed, &[&["max", "golden retriever"], fetch], &["labrador"]);
    // 2: the update keeps what it does not contradict, and the old value as history.
    turn(bed, first, UPDATE);
    expect(bed, &[labrador, fetch], &["golden retriever"]);
    let history = bed.semantics();
    let old = history.iter().find(|s| s.content.contains("golden retriever")).unwrap();
    let new = history.iter().find(|s| Some(s.id) == old.superseded_by).unwrap();
    assert!(new.content.contains("Labrador"), "{new:?}");
    // 3, 4: non-empty insertions; Emily is the user's sister, not Max's.
    turn(bed, first, STORMS);
    turn(bed, first, EMILY);
    expect(bed, &[labrador, fetch, storms, emily], &["his sister", "golden retriever"]);
    // 5: a question in a new session does not become a memory.
    bed.clock.advance(jiff::SignedDuration::from_hours(26));
    let n_before = bed.semantics().len();
    let second = bed.session("second");
    let answer = read(bed, QUESTION);
    for word in ["Labrador", "Emily", "Portland", "thunderstorms"] {
        assert!(answer.contains(word), "{word} in {answer}");
    }
    turn(bed, second, QUESTION);
    assert_eq!(bed.semantics().len(), n_before, "{:#?}", bed.current());
    expect(bed, &[labrador, fetch, storms, emily], &[]);
    // 6: the age is appended, and nothing is lost.
    turn(bed, second, AGE);
    expect(bed, &[labrador, fetch, storms, emily, age], &["golden retriever"]);
    bed.clock.advance(jiff::SignedDuration::from_hours(26));
    let answer = read(bed, "How old is Max?");
    assert!(answer.contains('5'), "{answer}");
    let answer = current_part(&read(bed, "What breed is Max?"));
    assert!(answer.contains("Labrador"), "{answer}");
}

#[test]
fn the_six_tests_pass_with_rules() {
    let bed = Bed::new(Store::in_memory().unwrap(), models());
    six_tests(&bed, read_by_rules);
    let answer = read_by_rules(&bed, "What breed is Max?");
    assert!(!answer.contains("golden retriever"), "{answer}");
}

#[cfg(feature = "starter")]
#[test]
fn the_six_tests_pass_with_the_starter() {
    let models = inglenook::interfaces::Models {
        language: inglenook::inference::starter::language(&|_| {}).unwrap(),
        embedder: inglenook::inference::starter::embedder(&|_| {}).unwrap(),
        reranker: Some(inglenook::inference::starter::reranker()),
        memory: None,
    };
    let bed = Bed::new(Store::in_memory().unwrap(), models);
    six_tests(&bed, read_by_rules);
}

/// A script for every prompt about these messages. The rule whose needle occurs last in the prompt
/// answers, so the last line of the prompt decides.
fn scripted() -> ScriptedModel {
    let facts = [
        (INSERT, "- Max is a golden retriever.\n- Max loves playing fetch."),
        (UPDATE, "Max is a Labrador mix."),
        (STORMS, "1. Max gets anxious during thunderstorms."),
        (EMILY, "Max lives with the user's sister Emily in Portland."),
        (AGE, "Max is 5 years old."),
    ];
    let mut rules: Vec<(String, String)> = Vec::new();
    for (text, reply) in facts {
        rules.push((format!("Answer with one word.{text}"), "store".into()));
        rules.push((format!("small talk.Date: 16 November 2026\nThe user: {text}"), reply.into()));
        rules.push((format!("small talk.Date: 17 November 2026\nThe user: {text}"), reply.into()));
    }
    rules.push((format!("Answer with one word.{QUESTION}"), "discard".into()));
    // Like small models, it takes everything about Max for an update, the age included.
    for new in ["Max is a Labrador mix.", "Max is 5 years old."] {
        rules.push((format!("\nNew: {new}"), "update".into()));
    }
    // The reader is given the notes before the question.
    rules.push(("</memories>\nHow old is Max?".into(), "He is 5.".into()));
    rules.push(("keep or same.".into(), "keep".into()));
    rules.push(("Answer with one word: update, keep or same.".into(), "keep".into()));
    rules.push(("Write only the name.".into(), "Max's life".into()));
    let rules: Vec<(&str, &str)> = rules.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    ScriptedModel::new(&rules).with_default_reply("Title: Talk\nStory: Ana flew to Mars in 1912.")
}

fn written_by_model(models: inglenook::interfaces::Models) -> Bed {
    let store = Store::in_memory().unwrap();
    let mut bed = Bed::new(store, models);
    bed.config.writer = inglenook::model_policy::Mode::Generative;
    bed
}

#[test]
fn the_six_tests_pass_with_a_generative_writer() {
    let model = scripted();
    let bed = written_by_model(models_with(model.clone()));
    six_tests(&bed, read_by_model);
    assert!(read_by_model(&bed, "How old is Max?").starts_with("He is 5."));
    let prompts = model.prompts();
    let n_asked = |needle: &str| prompts.iter().filter(|p| p.contains(needle)).count();
    assert!(n_asked("Should this message be stored?") >= 6);
    // Each time for the facts, and twice for how likely they are, with the messages and without.
    assert_eq!(n_asked("List the facts in the message"), 5 * 3);
    assert!(n_asked("update or keep?") >= 1);
    // The invented story was refused, and a theme got its name.
    let (episodes, themes) = bed.store.read(|r| Ok((r.episodes()?, r.themes()?))).unwrap();
    assert!(episodes.iter().all(|e| !e.content.contains("Mars")), "{episodes:#?}");
    assert!(themes.iter().all(|t| t.name == "Max's life"), "{themes:#?}");
}

/// Invented facts do not become memories: wrong names, numbers and dates are refused, and where
/// nothing is left the rules write.
#[test]
fn a_generative_writer_cannot_invent() {
    let says = |reply: &str| {
        ScriptedModel::new(&[("Answer with one word.I moved to Lund last week.", "store")])
            .with_default_reply(reply)
    };
    let check = |reply: &str, facts: &[&str]| {
        let bed = written_by_model(models_with(says(reply)));
        let session = bed.session("s");
        turn(&bed, session, "I moved to Lund last week.");
        assert_eq!(bed.current(), facts, "{reply}");
    };
    let by_rules = "The user moved to Lund (week of 9 November 2026)";
    check(
        "The user moved to Lund in November 2026.",
        &["The user moved to Lund in November 2026."],
    );
    check("The user moved to Malmö last week.", &[by_rules]);
    check("The user moved to Lund in March 1999.", &[by_rules]);
    check("The user moved to Lund with 3 cats.", &[by_rules]);
    check(
        "The user moved to Lund.\nThe user's wife Berta loves Lund.",
        &["The user moved to Lund."],
    );
    check("", &[by_rules]);
    check("{\"facts\": [", &[by_rules]);
    check("<think>The user", &[by_rules]);
    check("none", &[]);
}

/// "I have five chickens now" takes back three, and leaves the rabbit.
#[test]
fn what_a_correction_leaves_is_a_fact_with_the_same_sources_until_it_is_undone() {
    let bed = Bed::new(Store::in_memory().unwrap(), models());
    let session = bed.session("s");
    turn(&bed, session, "I have three chickens and a rabbit called Clover.");
    let before = bed.current();
    turn(&bed, session, "I have five chickens now.");
    expect(&bed, &[&["five chickens"], &["has a rabbit called clover"]], &["three chickens"]);
    let facts = bed.semantics();
    let old = facts.iter().find(|s| s.content.contains("three chickens")).unwrap();
    let rest = facts.iter().find(|s| s.content.contains("has a rabbit")).unwrap();
    assert_eq!((&rest.messages, rest.created_at), (&old.messages, old.created_at));
    while bed.store.write(|tx| tx.undo()).unwrap().is_some() {}
    let undone = bed.current();
    assert!(before.iter().all(|fact| undone.contains(fact)), "{undone:#?}");
    assert!(
        !undone.iter().any(|fact| fact.contains("has a rabbit called") && !fact.contains("three"))
    );
    assert_eq!(bed.store.read(|r| r.verify()).unwrap(), [""; 0]);
}

/// Whichever model is in use, what is said stands on the memory page before the chat is over.
#[test]
fn facts_come_while_the_chat_is_open() {
    for mode in [Mode::Auto, Mode::Extractive] {
        let model = ScriptedModel::new(&[]).with_default_reply("Noted.");
        let mut bed = Bed::new(Store::in_memory().unwrap(), models_with(model));
        bed.config = WorkerConfig { live: true, writer: mode, ..WorkerConfig::default() };
        let session = bed.session("s");
        bed.say(session, Role::User, "I live in Lund.");
        bed.say(session, Role::Assistant, "Noted.");
        bed.work();
        let facts = bed.current();
        assert!(facts.iter().any(|fact| fact.contains("lives in Lund")), "{mode:?} {facts:?}");
    }
}

#[test]
fn what_an_earlier_episode_tells_is_a_source_and_takes_along_what_rests_on_it() {
    let bed = Bed::new(Store::in_memory().unwrap(), models());
    let chat = bed.session("Gran");
    let say = |text: &str| {
        let id = bed.say(chat, Role::User, text);
        bed.close(chat);
        bed.work();
        id
    };
    let told = say("My grandmother Edith is 87 and lives in Bath.");
    let wedding = say("The wedding is on 6 June.");
    let older = say("She is already 88.");
    let moved = say("sorry, it's the 13th of June");
    for (text, messages) in [
        ("Edith is already 88", [told, older]),
        ("The wedding is on 13 June 2027", [wedding, moved]),
    ] {
        let facts = bed.semantics();
        let fact = facts.iter().find(|fact| fact.content == text);
        assert_eq!(fact.unwrap_or_else(|| panic!("{text}: {facts:#?}")).messages, messages);
    }
    let plan = bed.store.read(|r| r.plan_forget(&[AnyId::Message(told)], None)).unwrap();
    bed.store.write(|tx| tx.forget(&plan)).unwrap();
    bed.work();
    let left = bed.current();
    assert!(left.iter().all(|fact| !fact.contains("Edith")), "{left:?}");
    assert!(left.iter().any(|fact| fact.contains("13 June")), "{left:?}");
}
