//! Methods that build or prune for themselves, the whole way, with a scripted reader.

use std::collections::BTreeSet;
use std::sync::Arc;

use inglenook::testing::ScriptedModel;
use serde_json::json;

use super::tests::{Bed, LONG, reader, tokens_of};
use super::*;
use crate::Category;

/// What the model writes into memory, by the end of its prompt.
const WRITES: [(&str, &str); 6] = [
    ("Knowledge triples:", "<Ana; adopted; Pixel>\n<Ben; bought in Malmö; a red boat>"),
    (
        "Atomic facts and key elements:",
        "1. Ana adopted the dog Pixel. | Ana | Pixel\n2. Ben bought a red boat in Malmö. | Ben",
    ),
    ("Summary:", "Ana adopted Pixel, and Ben sails."),
    ("\nAnswer:", "Doc: 2, Relevance Score: 9\nDoc: 1, Relevance Score: 2"),
    ("Thought:", "Ben wants to sail. So the answer is: sailing."),
    ("Notes:", "1: Ana adopted a dog, Pixel.\n2: Ben learns to sail."),
];

fn models(model: ScriptedModel) -> Models {
    inglenook::testing::models(Arc::new(model))
}

/// It writes, ranks and reasons.
fn writer() -> ScriptedModel {
    let answer = ("What is the name of Ana's dog?\n", "Pixel");
    ScriptedModel::new(&[&[answer][..], &WRITES].concat()).with_default_reply("to sail")
}

/// As the starter: it reads, and gives names.
fn starter() -> ScriptedModel {
    writer().with_info(|info| info.starter = true)
}

fn methods(names: &[&str]) -> BTreeSet<Method> {
    names.iter().flat_map(|name| Method::named(name).unwrap()).collect()
}

/// The prompts of answers that name one of the words, and of no answer that names another.
fn answers_with<'p>(prompts: &'p [String], word: &str) -> Vec<&'p String> {
    prompts.iter().filter(|p| p.contains("<memories>\n") && p.contains(word)).collect()
}

#[test]
fn what_the_reader_expects_is_pruned() {
    let bed = Bed::new();
    // Everything but words with a capital, and the spaces after them, is foretold.
    let model = ScriptedModel::new(&[]).with_nlls(|before, byte| {
        let word = before.rsplit(|&b| b == b' ').next().unwrap_or_default();
        let first = word.first().copied().unwrap_or(byte);
        if first.is_ascii_uppercase() { 4.0 } else { 0.5 }
    });
    let prompts = model.clone();
    let change = |run: &mut Run<'_>| {
        run.methods = methods(&["naive-rag", "rag-pruning"]);
        run.pruning_ratio = 0.25;
        run.questions_max = Some(1);
    };
    let report = bed.run("out", &models(model), change, None).unwrap().report;
    let [naive, pruned] = &report.answers[..] else { panic!("{report:?}") };
    let (naive_tokens, pruned_tokens) = (tokens_of(naive), tokens_of(pruned));
    assert!(pruned_tokens[0] < naive_tokens[0] * 3 / 4, "{naive_tokens:?} {pruned_tokens:?}");
    // The reader read the whole block once to weigh it, and the rest of it to answer.
    assert!(pruned_tokens[2] > naive_tokens[2], "{naive_tokens:?} {pruned_tokens:?}");
    assert_eq!((naive_tokens[3], pruned_tokens[3]), (1, 2));
    let prompts = prompts.prompts();
    assert!(prompts[0].contains("[8 May 2023] Ana said: I adopted a dog last week"), "{prompts:?}");
    let kept = "<memories>\n[8 May 2023] Ben said: Lovely. I\n\
                [2 June 2023] Ana said: Congratulations, Ben.\n</memories>";
    assert!(prompts[1].contains(kept), "who and when stay: {}", prompts[1]);
    assert_eq!(report.manifest["pruning_ratio"], 0.25);
    // All of it is naive RAG again.
    let all = |run: &mut Run<'_>| {
        change(run);
        run.pruning_ratio = 1.0;
    };
    let report = bed.run("all", &reader(LONG), all, None).unwrap().report;
    assert_eq!(tokens_of(&report.answers[0])[0], tokens_of(&report.answers[1])[0]);
}

#[test]
fn every_structural_mode_answers() {
    let bed = Bed::new();
    let model = writer();
    let own = |run: &mut Run<'_>| {
        run.memories = None;
        run.methods = methods(&["structural:*"]);
    };
    let ran = bed.run("out", &models(model.clone()), own, None).unwrap();
    let report = &ran.report;
    assert!(report.skipped.is_empty(), "{:?}", report.skipped);
    assert_eq!(report.answers.len(), 30 * 4);
    let recall = |method: &str| {
        report.figure(method, Category::All, "evidence_recall").unwrap().interval.mean
    };
    // So few messages that everything is found; a summary alone says too little of each message.
    assert_eq!(recall("structural:chunks:single:memory-only"), 1.0);
    assert_eq!(recall("structural:summaries:single:memory-only"), 0.0);
    assert_eq!(recall("structural:summaries:single:memory-doc"), 1.0);
    assert!(recall("structural:facts:single:memory-only") > 0.5);
    let calls =
        |method: &str| report.figure(method, Category::All, "model_calls").unwrap().interval.mean;
    assert_eq!(calls("structural:facts:single:memory-only"), 1.0);
    assert_eq!(calls("structural:facts:rerank:memory-only"), 2.0, "ranks, then answers");
    // The thought is the same each time, so the second round is the last.
    assert_eq!(calls("structural:facts:iterative:memory-only"), 3.0);
    let made: Vec<(&str, MadeBy, u64)> = report
        .construction
        .iter()
        .map(|row| (row.memory.as_str(), row.made_by, row.model_calls))
        .collect();
    // Two conversations of two sessions, a document each.
    assert_eq!(
        made,
        [
            ("chunks", MadeBy::Rules, 0),
            ("facts", MadeBy::Model, 4),
            ("summaries", MadeBy::Model, 4),
            ("triples", MadeBy::Model, 4),
        ]
    );
    assert!(report.construction[1].tokens > 0);
    assert_eq!(ran.construction_seconds.len(), 8);
    let prompts = model.prompts();
    let shown = answers_with(&prompts, "[8 May 2023] Ana; adopted; Pixel\n");
    assert!(!shown.is_empty(), "triples are shown");
    let ranked = prompts.iter().find(|prompt| prompt.contains("Document 1: ")).unwrap();
    assert!(ranked.ends_with("Question: What is the name of Ana's dog?\nAnswer:"), "{ranked}");
    for text in
        ["| facts | model | 2 | 8 | 4 |", "| Seconds of building |", "thoughts, ranks: model"]
    {
        let all = format!("{}{}", ran.markdown, ran.markdown_of_seconds);
        assert!(all.contains(text), "{text} is not in\n{all}");
    }
}

#[test]
fn a_thought_is_searched_for() {
    let bed = Bed::new();
    let model = writer();
    let own = |run: &mut Run<'_>| {
        run.memories = None;
        run.methods = methods(&["structural:chunks:iterative:memory-doc"]);
    };
    bed.run("out", &models(model.clone()), own, None).unwrap();
    let thoughts: Vec<String> =
        model.prompts().into_iter().filter(|prompt| prompt.ends_with("Thought:")).collect();
    assert!(thoughts.len() >= 8, "two rounds a question: {}", thoughts.len());
    assert!(thoughts[0].contains("\n[8 May 2023] Ben said: Lovely."), "{}", thoughts[0]);
}

/// Fourteen facts of each of two documents; ten are kept.
#[test]
fn the_reader_ranks_in_words_or_by_likelihood() {
    let facts: Vec<String> = (1..=14)
        .map(|n| {
            format!("{n}. Ana owns {} number {n}.", if n % 3 == 0 { "treasure" } else { "item" })
        })
        .collect();
    let ranks: Vec<String> = (19..=28).map(|n| format!("Doc: {n}, Relevance Score: 9")).collect();
    let facts = facts.join("\n");
    let scripted = || {
        let replies =
            [("Atomic facts and key elements:", facts.as_str()), ("\nAnswer:", &ranks.join("\n"))];
        let unsure = |context: &str, _: &str| if context.contains("treasure") { 0.5 } else { 2.0 };
        ScriptedModel::new(&replies).with_uncertainty(unsure)
    };
    let bed = Bed::new();
    let ranked = |run: &mut Run<'_>| {
        run.memories = None;
        run.methods = methods(&["structural:facts:rerank:memory-only"]);
        run.questions_max = Some(1);
    };
    let model = scripted();
    bed.run("words", &models(model.clone()), ranked, None).unwrap();
    let prompts = model.prompts();
    let asked = prompts.iter().find(|prompt| prompt.contains("Document 28: ")).unwrap();
    let shown = answers_with(&prompts, "Ana owns")[0];
    assert_eq!(shown.matches("] Ana owns ").count(), 10, "{shown}");
    // The first stands on the line of the turn's opening.
    for n in 2..=28 {
        let line = asked.lines().find(|line| line.starts_with(&format!("Document {n}: "))).unwrap();
        let fact = line.split_once(": ").unwrap().1;
        let copies = shown.matches(fact).count();
        assert!(n < 19 || copies > 0, "document {n} is among the best: {shown}");
    }

    // Graded: it writes well and answers badly.
    let good = json!({"model": 1.0, "rules": 0.5, "standard_error": 0.1});
    let bad = json!({"model": 0.1, "rules": 0.5, "standard_error": 0.1});
    let grade = json!({"answering": bad, "extraction": good, "router": good, "boundary": good,
        "conflict": good, "title": good, "theme": good, "n_items": 250, "seconds": 1.0});
    let model = scripted();
    let graded = |run: &mut Run<'_>| {
        ranked(run);
        run.grade = Some(("grade:scripted".into(), grade.to_string()));
    };
    let report = bed.run("likelihood", &models(model.clone()), graded, None).unwrap().report;
    let prompts = model.prompts();
    assert!(!prompts.iter().any(|prompt| prompt.contains("Document 1: ")));
    let shown = answers_with(&prompts, "Ana owns")[0];
    assert_eq!(shown.matches("] Ana owns ").count(), 10, "{shown}");
    assert_eq!(shown.matches("treasure").count(), 8, "all that make the question likely: {shown}");
    assert_eq!(tokens_of(&report.answers[0])[3], 28 + 1, "a measurement a memory, and the answer");
}

#[test]
fn rules_write_where_the_model_does_not() {
    let bed = Bed::new();
    let model = starter();
    let own = |run: &mut Run<'_>| {
        run.memories = None;
        run.methods = methods(&["structural:*", "lightmem"]);
    };
    let report = bed.run("out", &models(model.clone()), own, None).unwrap().report;
    assert!(report.skipped.is_empty(), "{:?}", report.skipped);
    assert_eq!(report.answers.len(), 31 * 4);
    for row in &report.construction {
        assert_eq!(row.made_by, MadeBy::Rules, "{row:?}");
        // LightMem weighs every message, whoever writes.
        assert_eq!(row.model_calls, if row.memory == "lightmem" { 8 } else { 0 }, "{row:?}");
    }
    for prompt in model.prompts() {
        let asked = prompt.trim_end();
        assert!(!WRITES.iter().any(|(end, _)| asked.ends_with(end.trim())), "{prompt}");
    }
    let shown = model.prompts();
    assert!(!answers_with(&shown, "Ben; bought; a red boat in Malmö\n").is_empty(), "{shown:?}");
    // Ranked by the question's likelihood, a call a memory.
    let calls =
        |method: &str| report.figure(method, Category::All, "model_calls").unwrap().interval.mean;
    assert!(calls("structural:facts:rerank:memory-only") > 2.0);
    assert_eq!(calls("structural:facts:iterative:memory-only"), 1.0, "a quote is no call");
    assert_eq!(report.manifest["written_by"]["thoughts, ranks"], "rules");
}

#[test]
fn notes_are_taken_of_compressed_topics() {
    let bed = Bed::new();
    // Short words are foretold.
    let model = writer().with_nlls(|before, _| {
        let word = before.rsplit(|&b| b == b' ').next().unwrap_or_default();
        if word.len() < 4 { 0.5 } else { 3.0 }
    });
    let own = |run: &mut Run<'_>| {
        run.memories = None;
        run.methods = methods(&["lightmem"]);
    };
    let report = bed.run("out", &models(model.clone()), own, None).unwrap().report;
    assert!(report.skipped.is_empty(), "{:?}", report.skipped);
    let [row] = &report.construction[..] else { panic!("{:?}", report.construction) };
    assert_eq!(
        (row.memory.as_str(), row.made_by, row.conversations),
        ("lightmem", MadeBy::Model, 2)
    );
    let count = |name: &str| row.counts[name];
    assert_eq!(count("messages"), 8);
    assert!(count("tokens kept") <= count("tokens said") * 6 / 10, "{row:?}");
    assert_eq!((count("topics"), count("buffers noted"), count("notes")), (4, 2, 4), "{row:?}");
    // A call a message to weigh it, one a buffer to note it.
    assert_eq!(row.model_calls, 8 + 2);
    let prompts = model.prompts();
    let noted = prompts.iter().find(|prompt| prompt.ends_with("Notes:")).unwrap();
    assert!(noted.contains("\nTopic 2, 2 June 2023\n3. Ben: "), "{noted}");
    assert!(!noted.contains("I am learning to sail on the lake"), "compressed: {noted}");
    assert!(!answers_with(&prompts, "[8 May 2023] Ben learns to sail.\n").is_empty());
    let recall = report.figure("lightmem", Category::All, "evidence_recall").unwrap();
    assert!(recall.interval.mean > 0.5, "{recall:?}");
}

#[test]
fn ready_made_memories_serve() {
    let bed = Bed::new();
    let model = writer();
    let given = |run: &mut Run<'_>| {
        run.methods = methods(&[
            "lightmem",
            "structural:mixed:single:memory-only",
            "structural:facts:single:memory-only",
            "structural:summaries:single:memory-only",
            "structural:triples:single:memory-only",
            "structural:chunks:single:memory-only",
        ]);
    };
    let report = bed.run("out", &models(model.clone()), given, None).unwrap().report;
    let made = |memory: &str| {
        report.construction.iter().find(|row| row.memory == memory).map(|row| row.made_by)
    };
    assert_eq!(made("lightmem"), Some(MadeBy::Given));
    assert_eq!(made("facts"), Some(MadeBy::Given));
    assert_eq!(made("summaries"), Some(MadeBy::Given));
    assert_eq!(made("triples"), Some(MadeBy::Model), "nobody gives triples");
    let prompts = model.prompts();
    assert!(!answers_with(&prompts, "[8 May 2023] Ben learns to sail.\n").is_empty());
    assert!(!answers_with(&prompts, "Ana adopted Pixel, and Ben learns to sail.").is_empty());
    // The second conversation has none: its messages can still be searched.
    assert_eq!(report.skipped.len(), 1, "{:?}", report.skipped);
    assert_eq!(report.skipped[0].what, "conv-2, 4 answers");
    assert_eq!(report.skipped[0].reason, "there are no memories of this conversation");
}

#[test]
fn a_memory_that_nothing_came_of_is_said() {
    let bed = Bed::new();
    let model = ScriptedModel::new(&[("Knowledge triples:", "I don't know any.")]);
    let own = |run: &mut Run<'_>| {
        run.memories = None;
        let names = ["structural:triples:single:memory-doc", "structural:mixed:single:memory-doc"];
        run.methods = methods(&names);
    };
    let report = bed.run("out", &models(model), own, None).unwrap().report;
    assert_eq!(report.skipped.len(), 2, "{:?}", report.skipped);
    for skipped in &report.skipped {
        let reason =
            "not possible with this model: the model found no triples in this conversation";
        assert_eq!(skipped.reason, reason);
    }
    let answered = |method: &str| report.figure(method, Category::All, "f1").is_some();
    assert!(!answered("structural:triples:single:memory-doc"));
    assert!(answered("structural:mixed:single:memory-doc"), "the other three are there");
    let triples = report.construction.iter().find(|row| row.memory == "triples").unwrap();
    assert_eq!((triples.units, triples.model_calls), (0, 4), "what it took is kept all the same");
}

#[test]
fn a_stopped_run_builds_only_what_is_not_there() {
    let bed = Bed::new();
    let names = ["rag-pruning", "lightmem", "structural:mixed:rerank:memory-doc"];
    let own = |resume: bool| {
        move |run: &mut Run<'_>| {
            run.memories = None;
            run.methods = methods(&names);
            run.resume = resume;
        }
    };
    let whole = bed.run("whole", &models(writer()), own(false), None).unwrap();
    let memories = |out: &str| bed.files(out, "built");
    assert_eq!(memories("whole").len(), 2 * 5);
    for n in [0, 2, 10] {
        let out = format!("stopped-{n}");
        let stopped = bed.run(&out, &models(writer()), own(false), Some(n));
        assert!(matches!(stopped, Err(EvalError::Cancelled)), "{n}");
        let there = memories(&out);
        let model = writer();
        let ran = bed.run(&out, &models(model.clone()), own(true), None).unwrap();
        assert_eq!(ran.report, whole.report);
        assert!(bed.bytes(&out) == bed.bytes("whole"), "after {n}");
        assert_eq!(memories(&out), memories("whole"), "after {n}");
        let written = model.prompts().iter().filter(|prompt| prompt.ends_with("Notes:")).count();
        let had = there.iter().filter(|(name, _)| name.contains("lightmem")).count();
        assert_eq!(written + had, 2, "after {n}");
    }
    // A memory that was cut off in the middle is made again.
    let (name, text) = memories("whole").pop_first().unwrap();
    let path = bed.path("whole").join("built").join(name);
    std::fs::write(&path, &text[..text.len() / 2]).unwrap();
    let answers = bed.path("whole").join("answers.jsonl");
    let lines = std::fs::read_to_string(&answers).unwrap();
    let kept: Vec<&str> = lines.lines().take(3).collect();
    std::fs::write(&answers, kept.join("\n") + "\n").unwrap();
    let again = bed.run("whole", &models(writer()), own(true), None).unwrap();
    assert_eq!(again.report, whole.report);
    assert_eq!(std::fs::read(&path).unwrap(), text);
}
