//! The whole way, with a scripted reader.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use inglenook::interfaces::Signal;
use inglenook::testing::ScriptedModel;
use serde_json::{Value, json};

use super::*;
use crate::Category;

/// Two conversations; only the first has ready-made memories.
fn write_data(dir: &Path) {
    let (first, second) = ("1:56 pm on 8 May, 2023", "9:05 am on 2 June, 2023");
    let said = |speaker: &str, id: &str, text: &str| json!({"speaker": speaker, "dia_id": id, "text": text});
    let sessions = [
        [
            said("Ana", "D1:1", "I adopted a dog last week, his name is Pixel!"),
            said("Ben", "D1:2", "Lovely. I am learning to sail on the lake."),
        ],
        [
            said("Ben", "D2:1", "I bought a red boat in Malmö."),
            said("Ana", "D2:2", "Congratulations, Ben."),
        ],
    ];
    let qa = json!([
        {"question": "What is the name of Ana's dog?", "answer": "Pixel", "evidence": ["D1:1"], "category": 4},
        {"question": "What does Ben need his boat for?", "answer": "to sail", "evidence": ["D1:2", "D2:1"], "category": 1},
        {"question": "When was the boat bought?", "answer": 2023, "evidence": [], "category": 2},
        {"question": "Trap?", "evidence": ["D1:1"], "category": 5},
    ]);
    let talk = |a: &str| {
        json!({"speaker_a": a, "speaker_b": "Ben",
            "session_1_date_time": first, "session_1": sessions[0],
            "session_2_date_time": second, "session_2": sessions[1]})
    };
    let samples = json!([
        {"sample_id": "conv-1", "conversation": talk("Ana"), "qa": qa},
        {"sample_id": "conv-2", "conversation": talk("Zoe"), "qa": [qa[0]]},
    ]);
    std::fs::write(dir.join("locomo.json"), samples.to_string()).unwrap();

    let own = dir.join("memories/Ana_0");
    std::fs::create_dir_all(&own).unwrap();
    let raw = |turn: &Value| json!({"dia_id": turn["dia_id"], "role": turn["speaker"], "content": turn["text"]});
    let episode = |id: &str, at: &str, conversation: &str, turns: &[Value]| {
        let messages: Vec<Value> = turns.iter().map(raw).collect();
        json!({"episode_id": id, "title": "session", "created_at": at, "content": conversation, "original_messages": messages})
            .to_string()
    };
    let episodes = [
        episode("e1", first, "Ana adopted Pixel, and Ben learns to sail.", &sessions[0]),
        episode("e2", second, "Ben bought a red boat.", &sessions[1]),
    ];
    std::fs::write(own.join("episodes.jsonl"), episodes.join("\n")).unwrap();
    let fact = |at: &str, text: &str, id: &str| {
        json!({"content": text, "speaker": "", "evidence": [id], "created_at": at}).to_string()
    };
    let facts = [
        fact(first, "Ana adopted a dog named Pixel.", "D1:1"),
        fact(first, "Ben learns to sail.", "D1:2"),
        fact(second, "Ben bought a red boat.", "D2:1"),
    ];
    std::fs::write(own.join("semantics.jsonl"), facts.join("\n")).unwrap();
}

pub(super) fn reader(context_tokens: usize) -> Models {
    let replies = [("What is the name of Ana's dog?", "Answer: Pixel."), ("boat for?", "to row")];
    let model = ScriptedModel::new(&replies).with_info(|info| info.context_tokens = context_tokens);
    inglenook::testing::models(Arc::new(model))
}

pub(super) struct Bed {
    dir: tempfile::TempDir,
}

impl Bed {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        write_data(dir.path());
        Self { dir }
    }

    /// `stop_after` so many answers of this attempt.
    pub(super) fn run(
        &self,
        out: &str,
        models: &Models,
        change: impl FnOnce(&mut Run<'_>),
        stop_after: Option<usize>,
    ) -> Result<Ran, EvalError> {
        let path = |name: &str| self.dir.path().join(name);
        let (file, memories, out) = (path("locomo.json"), path("memories"), path(out));
        let mut run = Run {
            set: DataSet::Locomo,
            file: &file,
            memories: Some(&memories),
            methods: SIX.into(),
            questions_max: None,
            out: &out,
            resume: false,
            recall: RecallConfig::default(),
            writer: WorkerConfig::default(),
            pruning_ratio: 0.6,
            grade: None,
            manifest: json!({"data": {"name": "locomo.json"}, "program": {"sha256": "p"}}),
        };
        change(&mut run);
        let cancel = Cancel::default();
        let on_step = |step: Step<'_>| {
            if let Step::Answering { done, earlier, .. } = step
                && Some(done - earlier) == stop_after
            {
                cancel.cancel();
            }
        };
        measure_answers(&run, models, &on_step, &cancel)
    }

    pub(super) fn path(&self, out: &str) -> std::path::PathBuf {
        self.dir.path().join(out)
    }

    /// Of a folder of the run, by name.
    pub(super) fn files(&self, out: &str, folder: &str) -> BTreeMap<String, Vec<u8>> {
        let Ok(entries) = std::fs::read_dir(self.path(out).join(folder)) else {
            return BTreeMap::new();
        };
        entries
            .map(|entry| entry.unwrap().path())
            .map(|path| {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                (name, std::fs::read(path).unwrap())
            })
            .collect()
    }

    pub(super) fn bytes(&self, out: &str) -> Vec<Vec<u8>> {
        [
            "manifest.json",
            "answers.jsonl",
            "memories.jsonl",
            "report.json",
            "report.md",
            "tokens-f1.svg",
        ]
        .map(|name| std::fs::read(self.dir.path().join(out).join(name)).unwrap_or_default())
        .to_vec()
    }
}

pub(super) const LONG: usize = 1 << 20;

/// Those that build nothing of their own (`methods_tests` has the others).
const SIX: [Method; 6] = [
    Method::FullContext,
    Method::NaiveRag,
    Method::MemoryOnly,
    Method::RepSel,
    Method::UncSion,
    Method::Full,
];

pub(super) fn tokens_of(row: &AnswerRow) -> [u64; 4] {
    match row.line.outcome {
        Outcome::Answered { prompt_tokens, tokens, processed_tokens, model_calls, .. } => {
            [prompt_tokens, tokens, processed_tokens, model_calls]
        }
        Outcome::Failed { .. } => [0; 4],
    }
}

#[test]
fn every_method_answers_every_question() {
    let bed = Bed::new();
    let ran = bed.run("out", &reader(LONG), |_| {}, None).unwrap();
    let report = &ran.report;
    assert_eq!(report.answers.len(), 4 * 6);
    let first: Vec<&str> = report.answers[..6].iter().map(|row| row.line.method.as_str()).collect();
    assert_eq!(first, SIX.map(Method::as_str), "question by question");
    for row in report.answers.iter().filter(|row| row.line.conversation == "conv-1") {
        let f1 = row.scored.unwrap().f1;
        let expected = match row.line.question {
            0 => 1.0,
            1 => 0.5, // "to" of "to row"
            _ => 0.0,
        };
        assert_eq!(f1, expected, "{row:?}");
        let recall = row.evidence_recall;
        assert_eq!(recall.is_none(), row.line.question == 2, "{row:?}");
        assert!(recall.is_none_or(|recall| recall > 0.0), "{row:?}");
        let [prompt, tokens, processed, calls] = tokens_of(row);
        assert!(prompt > 0 && tokens >= prompt && processed < tokens, "{row:?}");
        match row.line.method.as_str() {
            // Every message is shown, nothing is tried.
            "full-context" | "naive-rag" => {
                assert!(recall.is_none_or(|recall| recall == 1.0));
                assert_eq!(calls, 1);
            }
            "memory-only" | "+repsel" | "full" => assert_eq!(calls, 1),
            // The reader is asked how unsure it is.
            _ => assert!(calls >= 2, "{row:?}"),
        }
    }
    // Of either every message is shown; that one of them keeps them between questions is not counted.
    for question in report.answers.chunks(6) {
        assert_eq!(tokens_of(&question[0]), tokens_of(&question[1]), "{question:?}");
    }
    // The second conversation has no memories: said once, and the others go on.
    assert_eq!(report.skipped.len(), 1, "{:?}", report.skipped);
    assert_eq!(report.skipped[0].what, "conv-2, 4 answers");
    let figure = |method, metric| report.figure(method, Category::All, metric).unwrap();
    assert_eq!(figure("full", "f1").questions, 3);
    assert_eq!(figure("full", "evidence_recall").questions, 2);
    assert_eq!(figure("naive-rag", "f1").questions, 4);
    let pair = |row: &&DifferenceRow| row.method == "full" && row.against == "naive-rag";
    let pair = report.differences.iter().filter(pair).find(|row| row.metric == "f1").unwrap();
    assert_eq!((pair.questions, pair.interval.mean, pair.sure), (3, 0.0, false));
    assert_eq!(ran.seconds.iter().map(|row| row.times).sum::<usize>(), 24);
    let [memory] = &report.memories[..] else { panic!("{:?}", report.memories) };
    let counts = [memory.messages, memory.episodes, memory.facts, memory.inserts.iter().sum()];
    assert_eq!(
        (memory.conversation.as_str(), counts, memory.built),
        ("conv-1", [4, 2, 3, 3], None)
    );
    for text in [
        "| +uncsion |",
        "what building them took is not known",
        "| conv-1 | 4 | 2 | 3 |",
        "Multi-hop (1) BLEU-1",
        "full − naive-rag",
        "conv-2, 4 answers",
    ] {
        assert!(ran.markdown.contains(text), "{text} is not in\n{}", ran.markdown);
    }
}

#[test]
fn a_stopped_run_goes_on_to_the_same_bytes() {
    let bed = Bed::new();
    let models = reader(LONG);
    let whole = bed.run("whole", &models, |_| {}, None).unwrap();
    for n in [0, 1, 7, 23] {
        let out = format!("stopped-{n}");
        let stopped = bed.run(&out, &models, |_| {}, Some(n));
        assert!(matches!(stopped, Err(EvalError::Cancelled)), "{n}");
        let lines = std::fs::read_to_string(bed.dir.path().join(&out).join("answers.jsonl"));
        assert_eq!(lines.unwrap().lines().count(), n);
        let ran = bed.run(&out, &models, |run| run.resume = true, None).unwrap();
        assert_eq!(ran.report, whole.report);
        assert!(bed.bytes(&out) == bed.bytes("whole"), "after {n}");
    }
    // Nothing is left to do, and nothing changes.
    bed.run("whole", &models, |run| run.resume = true, Some(0)).unwrap();
    let other = bed.run(
        "whole",
        &models,
        |run| {
            run.resume = true;
            run.questions_max = Some(2);
        },
        None,
    );
    assert!(matches!(other, Err(EvalError::OtherRun { what, .. }) if what == "limit"));
}

#[test]
fn questions_are_drawn_and_methods_chosen() {
    let bed = Bed::new();
    let some = |run: &mut Run<'_>| {
        run.questions_max = Some(2);
        run.methods = [Method::NaiveRag].into();
    };
    let report = bed.run("out", &reader(LONG), some, None).unwrap().report;
    assert_eq!(report.answers.len(), 2);
    assert_eq!(report.manifest["data"]["questions"], 2);
    assert_eq!(report.manifest["data"]["questions_in_file"], 4);
    assert!(report.skipped.is_empty(), "memories that nobody needs: {:?}", report.skipped);
}

#[test]
fn what_does_not_fit_is_cut_at_whole_messages() {
    let bed = Bed::new();
    let baselines = |run: &mut Run<'_>| {
        run.methods = [Method::FullContext, Method::NaiveRag].into();
        run.questions_max = Some(1);
    };
    let all = bed.run("all", &reader(LONG), baselines, None).unwrap().report;
    let n = tokens_of(&all.answers[0])[0] as usize;
    // A token is a byte: the oldest message no longer fits.
    let report = bed.run("cut", &reader(n), baselines, None).unwrap().report;
    for row in &report.answers {
        let [prompt, ..] = tokens_of(row);
        assert!(prompt > 0 && (prompt as usize) < n - 40, "{row:?}");
    }
    // Not even the question fits: an error of that question alone.
    let none = bed.run("none", &reader(300), baselines, None).unwrap().report;
    assert_eq!(none.skipped.len(), 1, "{none:?}");
    assert!(none.skipped[0].reason.contains("tokens"), "{:?}", none.skipped);
    assert!(none.figures.is_empty());
}

#[test]
fn a_memory_is_built_where_none_is_given() {
    let bed = Bed::new();
    let models = reader(LONG);
    let own = |run: &mut Run<'_>| {
        run.memories = None;
        run.methods = [Method::MemoryOnly, Method::Full].into();
        run.writer.writer = inglenook::model_policy::Mode::Extractive;
    };
    let report = bed.run("out", &models, own, None).unwrap().report;
    assert!(report.skipped.is_empty(), "{:?}", report.skipped);
    let recall = report.figure("full", Category::All, "evidence_recall").unwrap();
    assert!(recall.interval.mean > 0.3, "{recall:?}");
    // Rules wrote it: the model had nothing to do.
    let nothing = Some(BuildCost { tokens: 0, written_tokens: 0, model_calls: 0 });
    assert!(report.memories.len() == 2 && report.memories.iter().all(|m| m.built == nothing));
}

/// A model that writes the memory is counted, and a run that was stopped counts the same.
#[test]
fn building_a_memory_is_measured() {
    let bed = Bed::new();
    let models = reader(LONG);
    let own = |run: &mut Run<'_>| {
        run.memories = None;
        run.methods = [Method::NaiveRag, Method::MemoryOnly].into();
        run.writer.writer = inglenook::model_policy::Mode::Generative;
    };
    let whole = bed.run("whole", &models, own, None).unwrap();
    let built = whole.report.memories[0].built.unwrap();
    assert!(built.tokens > built.written_tokens && built.model_calls > 0, "{built:?}");
    assert!(whole.seconds.iter().any(|row| row.method == journal::BUILDING && row.times == 2));
    let pay = &whole.report.break_even[0];
    assert_eq!((pay.method.as_str(), pay.against.as_str()), ("memory-only", "naive-rag"));
    assert!(pay.building_tokens.unwrap() > 0.0, "{pay:?}");
    assert!(whole.markdown.contains("pay for itself?"), "{}", whole.markdown);
    for n in [1, 3] {
        let out = format!("stopped-{n}");
        let stopped = bed.run(&out, &models, own, Some(n));
        assert!(matches!(stopped, Err(EvalError::Cancelled)), "{n}");
        let resumed = |run: &mut Run<'_>| {
            own(run);
            run.resume = true;
        };
        bed.run(&out, &models, resumed, None).unwrap();
        assert!(bed.bytes(&out) == bed.bytes("whole"), "after {n}");
    }
}

#[test]
fn the_gate_is_calibrated_and_swept() {
    let bed = Bed::new();
    let path = |name: &str| bed.dir.path().join(name);
    let (file, memories) = (path("locomo.json"), path("memories"));
    let run = GateRun {
        file: &file,
        memories: &memories,
        questions_max: None,
        recall: RecallConfig { signal: Some(Signal::Overlap), ..RecallConfig::default() },
        sweeps: true,
        grade: None,
    };
    let done = std::cell::RefCell::new(Vec::new());
    let on_progress = |n, of| done.borrow_mut().push((n, of));
    let measured = || measure_gate(&run, &reader(LONG), &on_progress, &Cancel::default()).unwrap();
    let report = measured();
    assert_eq!((report.questions, report.conversations, report.swept), (3, 1, Some("overlap")));
    assert_eq!(done.borrow().last(), Some(&(3, 4)), "the second conversation has no memories");
    assert_eq!(report.skipped.len(), 1, "{:?}", report.skipped);
    let names: Vec<&str> = report.signals.iter().map(|row| row.signal).collect();
    let expected = [
        "entropy",
        "entropy of the first token",
        "nll",
        "question-nll",
        "entropy against no evidence",
        "overlap",
        "entropy per character",
        "order",
    ];
    assert_eq!(names, expected);
    for row in &report.signals {
        assert!(row.probes > 0 && row.with_evidence > 0, "{row:?}");
        assert!(row.auc.is_none_or(|auc| (0.0..=1.0).contains(&auc)), "{row:?}");
    }
    let [all, .., nothing] = &report.sweep[..] else { panic!("{:?}", report.sweep) };
    assert_eq!((all.threshold, nothing.threshold), (Some(0.0), None));
    assert!(all.tokens.mean >= nothing.tokens.mean, "{:?}", report.sweep);
    let text = report.markdown();
    for part in ["| order |", "| nothing | 3 |", "| 0.45 | 3 |", "Questions: 3 of 4"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert_eq!((measured(), report.plot().unwrap().file), (report.clone(), "gate.svg"));
    let bare = GateRun { sweeps: false, ..run.clone() };
    let bare = measure_gate(&bare, &reader(LONG), &on_progress, &Cancel::default()).unwrap();
    assert_eq!((&bare.signals, bare.questions), (&report.signals, 3));
    assert!(
        bare.sweep.is_empty() && bare.plot().is_none() && !bare.markdown().contains("Threshold")
    );
}

/// A chat of its own for every question, and a memory built from it.
#[test]
fn questions_with_histories_of_their_own() {
    let bed = Bed::new();
    let chat = |id: &str, kind: &str, said: &str| {
        json!({
            "question_id": id, "question_type": kind, "question": "What is the name of Ana's dog?",
            "answer": "Pixel", "question_date": "2023/06/01 (Thu) 10:00",
            "haystack_session_ids": ["s1"], "haystack_dates": ["2023/05/20 (Sat) 02:21"],
            "haystack_sessions": [[
                {"role": "user", "content": said, "has_answer": true},
                {"role": "assistant", "content": "Noted."},
            ]],
            "answer_session_ids": ["s1"],
        })
    };
    let items = json!([
        chat("q1", "single-session-user", "Ana has a dog. The dog's name is Pixel."),
        chat("q2", "knowledge-update", "Ana's dog Pixel is ill."),
        chat("q3_abs", "knowledge-update", "Ana has no dog."),
        chat("q4", "riddle", "Ana has no dog."),
    ]);
    let file = bed.dir.path().join("questions.json");
    std::fs::write(&file, items.to_string()).unwrap();
    let out = bed.dir.path().join("out");
    let run = Run {
        set: DataSet::LongMemEval,
        file: &file,
        memories: None,
        methods: [Method::NaiveRag, Method::Full].into(),
        questions_max: None,
        out: &out,
        resume: false,
        recall: RecallConfig::default(),
        writer: WorkerConfig {
            writer: inglenook::model_policy::Mode::Extractive,
            ..WorkerConfig::default()
        },
        pruning_ratio: 0.6,
        grade: None,
        manifest: json!({"data": {}}),
    };
    let ran = measure_answers(&run, &reader(LONG), &|_| {}, &Cancel::default()).unwrap();
    assert_eq!(ran.report.answers.len(), 4);
    for row in &ran.report.answers {
        assert_eq!(row.scored.map(|s| s.f1), Some(1.0), "{row:?}");
        assert_eq!(row.evidence_recall, Some(1.0), "{row:?}");
    }
    let skipped: Vec<&str> = ran.report.skipped.iter().map(|s| s.what.as_str()).collect();
    assert_eq!(skipped, ["q4"], "what has no answer is not asked");
    for text in ["# LongMemEval", "single-session-user (1) BLEU-1", "knowledge-update (1)"] {
        assert!(ran.markdown.contains(text), "{text} is not in\n{}", ran.markdown);
    }
}

/// Eq. 4 has nothing to cover without them.
#[test]
fn ready_made_memories_have_their_graph() {
    let bed = Bed::new();
    let (conversations, _) = DataSet::Locomo.load(&bed.dir.path().join("locomo.json")).unwrap();
    let folder = memory::folder(&bed.dir.path().join("memories"), &conversations[0]).unwrap();
    let given = memory::given(folder, &conversations[0], &reader(LONG).embedder, None).unwrap();
    let edges = given.store.read(|r| r.edges(inglenook::store::Level::Semantic)).unwrap();
    assert_eq!(edges.len(), 3 * 2, "each of three facts has the others near: {edges:?}");
    assert!(memory::folder(&bed.dir.path().join("memories"), &conversations[1]).is_none());
}
