//! The whole of `starter` with a scripted model: what it reads, how it counts.

use std::sync::Arc;

use inglenook::interfaces::{Cancel, LanguageModel, Models};
use inglenook::testing::ScriptedModel;

use super::*;

const ITEMS: &str = r#"
{"task":"answer","phrasing":"seen","memories":[{"date":"2021-08-09","text":"Wanda works at Mafen Labs."},{"date":"2021-08-10","text":"Otto has a cat."}],"question":"Where does Wanda work?","answer":"Mafen Labs","accept":["Mafen Labs"],"evidence":0}
{"task":"answer","phrasing":"seen","memories":[{"date":"2021-08-09","text":"Ida moved to Losal."},{"date":"2021-08-10","text":"Ida plays the harp."}],"question":"Which instrument does Ida play?","answer":"the harp","accept":["harp","the harp"],"evidence":[1]}
{"task":"answer","phrasing":"unseen","memories":[{"date":"2021-08-09","text":"Ben's dog is called Kripe."}],"question":"How is Ben's dog called?","answer":"Kripe","evidence":0}
{"task":"absent","memories":[{"date":"2021-08-09","text":"Ben likes tea."}],"question":"What is Ben's job?"}
{"task":"copy","memories":[{"date":"2021-08-09","text":"Ben's code is ab."}],"question":"What is the code?","answer":"ab"}
{"task":"router","phrasing":"seen","text":"My brother lives in Losal.","answer":"store"}
{"task":"router","phrasing":"seen","text":"Good morning!","answer":"discard"}
{"task":"boundary","phrasing":"seen","history":["The user: My dog is ill.","Assistant: Oh no."],"next":"The user: How do I file my taxes?","answer":"yes"}
{"task":"conflict","phrasing":"unseen","earlier":"Ana lives in Oslo.","later":"Ana lives in Lund.","answer":"update"}
{"task":"conflict","phrasing":"unseen","earlier":"Ana lives in Oslo.","later":"Ana has a dog.","answer":"keep"}
{"task":"extraction","phrasing":"seen","date":"2021-08-09","speaker":"The user","text":"I have a cat, and I drive a van.","answer":["The user drives a van.","The user has a cat."]}
{"task":"extraction","phrasing":"seen","date":"2021-08-09","speaker":"The user","text":"How are you today?","answer":[]}
{"task":"episode","date":"2021-08-10","lines":["The user: I flew home yesterday.","Assistant: Nice."],"title":"A flight","story":"On 9 August 2021 the user flew home."}
{"task":"theme","facts":["Ana has a dog.","Ana walks her dog."],"answer":"Ana's dog","accept":["Ana and her dog"]}
{"task":"merge","earlier":"Ana lives in Lund.","later":"Ana works in Lund.","answer":"Ana lives and works in Lund."}
"#;

fn scripted() -> ScriptedModel {
    ScriptedModel::new(&[
        ("Where does Wanda work?", "Mafen Labs."),
        ("Which instrument does Ida play?", "harp"),
        ("How is Ben's dog called?", "I don't know."),
        ("What is Ben's job?", "I don't know."),
        ("My brother lives in Losal.", "store"),
        ("Good morning!", "discard"),
        ("How do I file my taxes?", "yes"),
        ("Ana lives in Lund.", "update"),
        ("New: Ana has a dog.", "update"),
        ("I drive a van.", "The user has a cat.\nThe user drives a van."),
        ("How are you today?", "NONE"),
        ("I flew home yesterday.", "Title: A flight\nStory: On 9 August 2021 the user flew home."),
        ("Ana walks her dog.", "Ana and her dog"),
        ("Ana works in Lund.", "Ana works in Lund."),
    ])
    .with_info(|info| info.starter = true)
    .with_uncertainty(|context, question| {
        let told = ["Mafen Labs", "the harp", "Kripe"]
            .iter()
            .zip(["Wanda", "instrument", "dog"])
            .any(|(value, about)| context.contains(value) && question.contains(about));
        if told { 0.25 } else { 1.5 }
    })
}

fn models(language: ScriptedModel) -> [Models; 1] {
    let language: Arc<dyn LanguageModel> = Arc::new(language);
    [inglenook::testing::models(language)]
}

fn report(options: &Options<'_>) -> Report {
    let items = parse(ITEMS, "the test").unwrap();
    measure(&models(scripted()), items, options, &mut |_, _, _| {}, &Cancel::default()).unwrap()
}

#[test]
fn every_task_has_its_figures() {
    let report = report(&Options::default());
    let found: Vec<String> = report
        .rows
        .iter()
        .map(|row| {
            let value = row.value.map_or_else(|| "-".into(), |v| format!("{v:.3}"));
            format!("{} {} {} {value} {}", row.task, row.phrasing, row.metric, row.items)
        })
        .collect();
    insta::assert_snapshot!(found.join("\n"), @r"
    answer seen exact 1.000 2
    answer seen f1 1.000 2
    answer seen false_unknown 0.000 2
    answer seen copy_token_accuracy 0.000 2
    answer seen rules_quote_holds_it 1.000 2
    answer seen rules_silent 0.000 2
    answer unseen exact 0.000 1
    answer unseen f1 0.000 1
    answer unseen false_unknown 1.000 1
    answer unseen copy_token_accuracy 0.000 1
    answer unseen rules_quote_holds_it 1.000 1
    answer unseen rules_silent 0.000 1
    absent  says_unknown 1.000 1
    copy  token_accuracy 0.000 1
    router seen balanced_accuracy 1.000 2
    router seen rules_balanced_accuracy 1.000 2
    boundary seen balanced_accuracy 1.000 1
    boundary seen rules_balanced_accuracy 0.000 1
    conflict unseen balanced_accuracy 0.500 2
    conflict unseen rules_balanced_accuracy 1.000 2
    extraction seen f1 1.000 2
    extraction seen exact 1.000 2
    extraction seen rules_f1 1.000 2
    episode  f1 1.000 1
    episode  title_f1 1.000 1
    episode  dates_right 1.000 1
    theme  exact 1.000 1
    theme  f1 1.000 1
    merge  exact 0.000 1
    merge  f1 0.800 1
    locomo  absent - 0
    ");
}

#[test]
fn the_gate_tells_evidence_from_noise() {
    let report = report(&Options { tasks: [Task::Gate].into(), ..Options::default() });
    assert!(report.rows.is_empty());
    let auc = |signal: &str, context: usize| {
        let found = |row: &&GateRow| (row.signal, row.context) == (signal, context);
        report.gate.iter().find(found).unwrap().auc
    };
    // Scripted: lower with the evidence, whatever stands before it.
    for signal in ["entropy", "nll", "question-nll"] {
        assert_eq!((auc(signal, 0), auc(signal, 3)), (Some(1.0), Some(1.0)), "{signal}");
    }
    for signal in ["word-overlap", "overlap", "similarity", "relevance", "overlap+similarity"] {
        assert!(auc(signal, 0).unwrap() > 0.8, "{signal}: {:?}", report.gate);
    }
    let locomo: Vec<_> = report.gate.iter().filter(|row| row.set == "locomo").collect();
    assert_eq!((locomo.len(), locomo[0].signal, locomo[0].auc), (1, "absent", None));
    assert!(report.gate.iter().filter(|row| row.set == "generated").all(|row| row.pairs == 3));
}

#[test]
fn two_copies_find_what_one_finds() {
    let two = [models(scripted()), models(scripted())].concat();
    let items = parse(ITEMS, "the test").unwrap();
    let options = Options::default();
    let found = measure(&two, items, &options, &mut |_, _, _| {}, &Cancel::default()).unwrap();
    let one = report(&options);
    assert_eq!((found.rows, found.gate), (one.rows, one.gate));
}

#[test]
fn items_and_tasks_are_limited() {
    let tasks = [Task::Answer, Task::Merge];
    let limited =
        report(&Options { items_max: Some(1), tasks: tasks.into(), ..Options::default() });
    assert!(limited.gate.is_empty());
    assert!(limited.rows.iter().all(|row| row.items == 1), "{:?}", limited.rows);
    let named: std::collections::BTreeSet<&str> = limited.rows.iter().map(|row| row.task).collect();
    assert_eq!(named.into_iter().collect::<Vec<_>>(), ["answer", "merge"]);
}

#[test]
fn progress_comes_to_its_end_and_cancelling_stops_it() {
    let items = || parse(ITEMS, "the test").unwrap();
    let mut seen = Vec::new();
    let options = Options::default();
    let mut on_progress = |done, of, _: Task| seen.push((done, of));
    measure(&models(scripted()), items(), &options, &mut on_progress, &Cancel::default()).unwrap();
    let n = seen.len();
    assert!(seen.iter().enumerate().all(|(i, step)| *step == (i, n)), "{seen:?}");

    let cancel = Cancel::default();
    cancel.cancel();
    let stopped = measure(&models(scripted()), items(), &options, &mut |_, _, _| {}, &cancel);
    assert!(matches!(stopped, Err(EvalError::Cancelled)));
}

/// The starter is asked in the sentences that it was trained on, another model at length; a
/// candidate for the starter as the starter is.
#[test]
fn the_style_is_the_model_s() {
    let asked = |starter: bool, trained: bool| {
        let model = scripted().with_info(|info| info.starter = starter);
        let options = Options { tasks: [Task::Router].into(), trained, ..Options::default() };
        let items = parse(ITEMS, "the test").unwrap();
        measure(&models(model.clone()), items, &options, &mut |_, _, _| {}, &Cancel::default())
            .unwrap();
        model.prompts().iter().any(|prompt| prompt.contains("small talk"))
    };
    assert!(!asked(true, false) && asked(false, false) && !asked(false, true));
}

#[test]
fn a_bad_item_is_named_by_its_line() {
    let check = |text: &str, reason: &str| match parse(text, "f") {
        Err(EvalError::BadItem { line, reason: found, .. }) => {
            assert!(line == 2 && found.contains(reason), "{line}: {found}");
        }
        other => panic!("{other:?}"),
    };
    check("\nnothing", "expected");
    check("\n{\"task\":\"dance\"}", "dance");
    check(
        "\n{\"task\":\"answer\",\"memories\":[],\"question\":\"q\",\"answer\":\"a\",\"evidence\":0}",
        "evidence",
    );
    check("\n{\"task\":\"copy\",\"memories\":[],\"question\":\"q\"}", "no answer");
}
