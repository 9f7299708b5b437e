//! `eval …`, as a person and as a script reads it: the built-in items and others, conversations in
//! LoCoMo's form, files of answers.

use super::{Home, shared};

/// One item of each kind that is checked here.
const ITEMS: &str = r#"{"task":"answer","phrasing":"seen","memories":[{"date":"2021-08-09","text":"Wanda works at Mafen Labs."},{"date":"2021-08-10","text":"Otto has a cat."}],"question":"Where does Wanda work?","answer":"Mafen Labs","accept":["Mafen Labs"],"evidence":0}
{"task":"answer","phrasing":"seen","memories":[{"date":"2021-08-09","text":"Otto has a cat."},{"date":"2021-08-10","text":"Ida lives in Lund."}],"question":"Where does Ida live?","answer":"Lund","accept":["Lund"],"evidence":1}
{"task":"router","phrasing":"seen","text":"My sister lives in Oslo.","answer":"store"}
{"task":"router","phrasing":"seen","text":"Hello!","answer":"discard"}
"#;

#[cfg(feature = "starter")]
#[test]
fn the_starter_is_measured_on_its_own_items() {
    let home = Home::new();
    let report = home.json(&["starter", "--items", "3", "--json"]);
    assert_eq!(report["model"], "starter");
    assert_eq!(report["sha256"].as_str().unwrap().len(), 64);
    assert!(report["seconds"].as_f64().unwrap() > 0.0);
    let rows = report["rows"].as_array().unwrap();
    for (task, metric) in [
        ("answer", "exact"),
        ("answer", "false_unknown"),
        ("answer", "copy_token_accuracy"),
        ("absent", "says_unknown"),
        ("copy", "token_accuracy"),
        ("router", "balanced_accuracy"),
        ("boundary", "balanced_accuracy"),
        ("conflict", "balanced_accuracy"),
        ("extraction", "f1"),
        ("episode", "dates_right"),
        ("theme", "f1"),
        ("merge", "f1"),
    ] {
        let row = rows.iter().find(|row| row["task"] == task && row["metric"] == metric);
        let row = row.unwrap_or_else(|| panic!("{task} {metric} is missing: {report}"));
        assert!((1..=3).contains(&row["items"].as_u64().unwrap()), "{row}");
        let value = row["value"].as_f64();
        assert!(value.is_none_or(|v| (0.0..=1.0).contains(&v)), "{row}");
        assert!(value.is_some() || metric == "dates_right", "{row}");
    }
    let gate = report["gate"].as_array().unwrap();
    for signal in ["entropy", "nll", "question-nll", "overlap", "similarity", "relevance"] {
        let row = gate.iter().find(|row| row["set"] == "generated" && row["signal"] == signal);
        let auc = row.unwrap()["auc"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&auc), "{signal}: {auc}");
    }
    // No LoCoMo beside this test's folder, or there is: a row says so either way.
    assert!(gate.iter().any(|row| row["set"] == "locomo"), "{gate:?}");
    assert!(rows.iter().any(|row| row["task"] == "locomo"), "{rows:?}");
    assert!(!home.data().join("memory.db").exists(), "measuring leaves no memory");
}

#[cfg(feature = "starter")]
#[test]
fn other_items_and_single_tasks() {
    let home = Home::new();
    let file = home.file("items.jsonl", ITEMS);
    let file = file.to_str().unwrap();
    let report = home.json(&["starter", "--file", file, "--task", "router", "--json"]);
    let rows = report["rows"].as_array().unwrap();
    // The model's, and the rules' beside it.
    assert_eq!((rows.len(), &rows[0]["items"]), (2, &2.into()), "{report}");
    assert_eq!(rows[0]["value"], 1.0);
    assert_eq!(report["gate"].as_array().unwrap().len(), 0);

    let args = ["starter", "--file", file, "--items", "2", "--task", "answer", "--task", "gate"];
    let table = home.ok(&args);
    for text in ["starter (", "answer     seen       exact", "overlap+similarity", "2 pairs"] {
        assert!(table.contains(text), "{text} is not in\n{table}");
    }
    assert!(!table.contains("router"), "{table}");
}

#[cfg(feature = "starter")]
#[test]
fn real_conversations_are_read_where_they_are() {
    let (Some(questions), Some(memories)) =
        (shared("data/locomo-dev.json"), shared("data/locomo-dev-memories"))
    else {
        return;
    };
    let home = Home::new();
    let [questions, memories] = [&questions, &memories].map(|path| path.to_str().unwrap());
    let args = ["starter", "--task", "locomo", "--task", "gate", "--items", "3", "--json"];
    let with = [&args[..], &["--memories", memories, "--locomo", questions]].concat();
    let report = home.json(&with);
    let quote = |row: &&serde_json::Value| row["metric"] == "quote_f1";
    assert!(report["rows"].as_array().unwrap().iter().any(|row| quote(&row)), "{report}");
    let gate = report["gate"].as_array().unwrap();
    assert!(gate.iter().any(|row| row["set"] == "locomo" && row["pairs"] == 3), "{report}");
    // The questions that lie beside the observations are the same.
    let beside = home.json(&[&args[..], &["--memories", memories]].concat());
    assert_eq!((&report["rows"], &report["gate"]), (&beside["rows"], &beside["gate"]));
}

#[test]
fn what_can_t_be_measured_is_said() {
    let home = Home::new();
    let file = home.file("items.jsonl", "{\"task\":\"dance\"}\n");
    let file = file.to_str().unwrap();
    let stderr = home.fails(&["starter", "--file", file], 1);
    assert!(stderr.contains("line 1") && stderr.contains("dance"), "{stderr}");
    let empty = home.file("empty.jsonl", "\n");
    home.fails(&["starter", "--file", empty.to_str().unwrap()], 2);
    home.fails(&["starter", "--file", "/nowhere/items.jsonl"], 1);
    home.fails(&["starter", "--task", "dance"], 2);
    home.fails(&["starter", "--items", "0"], 2);
    let items = home.file("good.jsonl", ITEMS);
    let items = items.to_str().unwrap();
    home.fails(&["starter", "--file", items, "--memories", "/nowhere"], 1);
    home.fails(&["starter", "--file", items, "--model", "nothing"], 3);
}

/// A made-up conversation of two sessions in the form of LoCoMo's memories, without vectors.
#[cfg(feature = "starter")]
fn conversation(home: &Home) -> (std::path::PathBuf, std::path::PathBuf) {
    use serde_json::json;

    let (first, second) = ("1:56 pm on 8 May, 2023", "9:05 am on 2 June, 2023");
    let said = |id: &str, role: &str, content: &str| json!({"dia_id": id, "role": role, "content": content});
    let episodes = [
        json!({"episode_id": "e1", "title": "session 1", "created_at": first,
        "content": "Ana adopted a dog named Pixel, and Ben learns to sail.",
        "original_messages": [
            said("D1:1", "Ana", "I adopted a dog last week, his name is Pixel!"),
            said("D1:2", "Ben", "Lovely. I am learning to sail on the lake."),
            said("D1:3", "Ana", "Wow, the weather is nice for that."),
        ]}),
        json!({"episode_id": "e2", "title": "session 2", "created_at": second,
        "content": "Ben bought a red boat.",
        "original_messages": [
            said("D2:1", "Ben", "I bought a red boat in Malmö."),
            said("D2:2", "Ana", "Congratulations, Ben."),
        ]}),
    ];
    let fact = |at: &str, content: &str, id: &str| {
        json!({"content": content, "speaker": &content[..3], "evidence": [id],
            "source_episodes": ["e1"], "created_at": at})
    };
    let semantics = [
        fact(first, "Ana adopted a dog named Pixel.", "D1:1"),
        fact(first, "Ben learns to sail.", "D1:2"),
        fact(second, "Ben bought a red boat.", "D2:1"),
        fact(second, "Ben rests on nothing that was said.", "D9:9"),
    ];
    let qa = json!([
        {"question": "What is the name of Ana's dog?", "answer": "Pixel", "evidence": ["D1:1"], "category": 4},
        {"question": "What does Ben need his boat for?", "answer": "to sail", "evidence": ["D1:2", "D2:1"], "category": 1},
        {"question": "When?", "answer": 2023, "evidence": [], "category": 2},
        {"question": "Trap?", "evidence": ["D1:1"], "category": 5},
    ]);
    let lines = |values: &[serde_json::Value]| {
        let lines: Vec<String> = values.iter().map(ToString::to_string).collect();
        lines.join("\n")
    };
    std::fs::create_dir_all(home.dir.path().join("memories/Ana_0")).unwrap();
    home.file("memories/Ana_0/episodes.jsonl", lines(&episodes));
    home.file("memories/Ana_0/semantics.jsonl", lines(&semantics));
    home.file("memories/Ana_0/qa.json", qa.to_string());
    let turns = |episode: &serde_json::Value| -> Vec<serde_json::Value> {
        let messages = episode["original_messages"].as_array().unwrap().iter();
        let turn = |m: &serde_json::Value| json!({"speaker": m["role"], "dia_id": m["dia_id"], "text": m["content"]});
        messages.map(turn).collect()
    };
    let talk = json!({"speaker_a": "Ana", "speaker_b": "Ben",
        "session_1_date_time": first, "session_1": turns(&episodes[0]),
        "session_2_date_time": second, "session_2": turns(&episodes[1])});
    let file = json!([{"sample_id": "conv-1", "conversation": talk, "qa": qa}]).to_string();
    (home.file("locomo.json", file), home.dir.path().join("memories"))
}

#[cfg(feature = "starter")]
#[test]
fn retrieval_is_measured_at_equal_characters() {
    let home = Home::new();
    let (file, memories) = conversation(&home);
    let [file, memories] = [&file, &memories].map(|path| path.to_str().unwrap());
    let report = home.json(&["retrieval", file, "--memories", memories, "--json"]);
    assert_eq!((&report["conversations"], &report["questions"]), (&1.into(), &2.into()));
    let rows = report["rows"].as_array().unwrap();
    for method in ["naive-rag", "flat", "hybrid", "official", "stage-one", "full"] {
        let of_all: Vec<_> =
            rows.iter().filter(|row| row["method"] == method && row["category"] == "all").collect();
        assert_eq!(of_all.len(), if method == "official" { 1 } else { 5 }, "{method}: {report}");
        for row in of_all {
            assert_eq!(row["questions"], 2, "{row}");
            let recall = row["evidence_recall"].as_f64().unwrap();
            assert!(recall > 0.99 || (method == "official" && recall > 0.0), "{row}");
            let used = row["mean_characters"].as_f64().unwrap();
            let budget = row["budget_characters"].as_f64();
            assert!(used > 0.0 && budget.is_none_or(|budget| used <= budget), "{row}");
        }
        assert!(rows.iter().any(|row| row["method"] == method && row["category"] == 1), "{report}");
    }
    let density = report["density"].as_array().unwrap();
    assert!(density.iter().any(|row| row["category"] == 4), "{report}");
    let density: Vec<_> = density.iter().filter(|row| row["category"] == "all").collect();
    let methods: Vec<_> = density.iter().map(|row| row["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["naive-rag", "full"]);
    for row in density {
        assert!(row["one_hit"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["blocks_to_cover"].as_f64().unwrap() >= 1.0, "{row}");
        assert!(row["tokens_to_cover"].as_f64().unwrap() >= 1.3, "{row}");
    }
    assert!(!home.data().join("memory.db").exists(), "measuring leaves no memory");

    assert_eq!(report["weights"], serde_json::json!([]));

    // One conversation has no others to learn from; all together give weights.
    let fitted = home.json(&["retrieval", file, "--memories", memories, "--fit", "--json"]);
    assert_eq!(fitted["rows"], report["rows"]);
    let weights = fitted["weights"].as_array().unwrap();
    assert!(weights.iter().any(|row| row["of"] == "message" && row["cue"] == "lexical"));
    assert!(weights.iter().all(|row| row["weight"].as_f64().is_some_and(f64::is_finite)));

    // Without a file the folder's own questions are asked; a table is for people.
    let table = home.ok(&["retrieval", "--memories", memories]);
    for text in ["1 conversation, 2 questions", "stage-one", "blocks"] {
        assert!(table.contains(text), "{text} is not in\n{table}");
    }
    let bad = home.file("memories/Ana_0/semantics.f32.npy", "no vectors");
    let stderr = home.fails(&["retrieval", "--memories", memories], 1);
    assert!(stderr.contains("NumPy") && stderr.contains(bad.to_str().unwrap()), "{stderr}");
    home.fails(&["retrieval", "--memories", "/nowhere"], 1);
}

#[cfg(feature = "starter")]
#[test]
fn themes_are_measured_part_by_part() {
    let home = Home::new();
    let (file, memories) = conversation(&home);
    let [file, memories] = [&file, &memories].map(|path| path.to_str().unwrap());
    let report = home.json(&["themes", file, "--memories", memories, "--json"]);
    let counts = ["conversations", "semantics", "questions"].map(|key| report[key].as_u64());
    assert_eq!(counts, [Some(1), Some(4), Some(2)], "{report}");
    let rows = report["rows"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| row["variant"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "full",
            "no-split",
            "no-merge",
            "no-move",
            "neither",
            "unguided",
            "unguided-10",
            "equation-1",
            "sparsity-only",
            "semantics-only",
            "cap-8",
            "cap-10",
            "cap-14",
            "paper",
            "official"
        ]
    );
    for row in rows {
        let themes = row["themes"].as_u64().unwrap();
        assert!((1..=4).contains(&themes), "{row}");
        assert!((row["mean_size"].as_f64().unwrap() - 4.0 / themes as f64).abs() < 1e-9, "{row}");
        let of_sizes = row["sizes"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap());
        assert_eq!(of_sizes.sum::<u64>(), themes, "{row}");
        // So few facts are all in the pool and fit.
        assert_eq!(row["pool_recall"], 1.0, "{row}");
        assert_eq!(row["evidence_recall"], 1.0, "{row}");
        assert_eq!(row["comparisons"].as_f64(), Some((themes + 4) as f64), "{row}");
        assert!(row["cohesion"].as_f64().unwrap() > 0.5, "{row}");
    }
    assert!(!home.data().join("memory.db").exists(), "measuring leaves no memory");

    let table = home.ok(&["themes", "--memories", memories]);
    for text in ["1 conversation, 4 facts, 2 questions", "held-out", "semantics-only"] {
        assert!(table.contains(text), "{text} is not in\n{table}");
    }
    home.fails(&["themes", "--memories", "/nowhere"], 1);
    home.fails(&["themes"], 2);
}

#[cfg(feature = "starter")]
#[test]
fn tables_and_plots_are_kept_and_the_same_each_time() {
    let home = Home::new();
    let (file, memories) = conversation(&home);
    let [file, memories] = [&file, &memories].map(|path| path.to_str().unwrap());
    let kept = |args: &[&str], out: &str, plot: &str| {
        let out = home.dir.path().join(out);
        let all = [args, &[file, "--memories", memories, "--out", out.to_str().unwrap()]].concat();
        home.ok(&all);
        ["report.md", plot].map(|name| std::fs::read_to_string(out.join(name)).unwrap())
    };
    for (args, plot, parts) in [
        (&["retrieval"][..], "recall.svg", ["## Coverage", "| full | 1350 |", "2-hit"]),
        (&["themes"], "themes.svg", ["w/o merge&split", "| 12 |", "flips over time"]),
        (
            &["gate", "--uncertainty", "entropy"],
            "gate.svg",
            ["| question-nll |", "| 0.45 | 3 |", "Questions: 3 of 3"],
        ),
    ] {
        let name = args[1];
        let [report, svg] = kept(args, name, plot);
        for part in parts {
            assert!(report.contains(part), "{part} is not in\n{report}");
        }
        assert!(svg.starts_with("<svg"), "{svg}");
        assert_eq!(kept(args, &format!("{name}-again"), plot), [report, svg], "{name}");
    }
}

/// The files of our own in tests/fixtures/datasets.
#[cfg(feature = "starter")]
#[test]
fn other_data_sets_are_answered_from_their_published_form() {
    let home = Home::new();
    let fixture =
        |name: &str| format!("{}/tests/fixtures/datasets/{name}", env!("CARGO_MANIFEST_DIR"));
    for (command, name, kind, n_answers, n_left_out) in [
        ("perltqa", "perltqa_en_v2.json", "Relationships (1) BLEU-1", 4, 3),
        ("msc", "msc_self_instruct.jsonl", "Deep memory retrieval (2) BLEU-1", 2, 2),
    ] {
        let out = home.dir.path().join(command);
        let (file, out_text) = (fixture(name), out.to_str().unwrap());
        let args = [command, &file, "--method", "naive-rag,memory-only", "--out", out_text];
        // Some of it can't be read: that is said, and the exit code too.
        let warnings = home.fails(&args, 1);
        assert_eq!(warnings.matches("left out").count(), n_left_out, "{warnings}");
        let report = std::fs::read_to_string(out.join("report.md")).unwrap();
        assert!(report.contains(kind) && report.contains("pay for itself?"), "{report}");
        let answers = std::fs::read_to_string(out.join("answers.jsonl")).unwrap();
        assert_eq!(answers.lines().count(), 2 * n_answers, "{answers}");
        let timings = std::fs::read_to_string(out.join("timings.md")).unwrap();
        assert!(timings.contains("| (building a memory) |"), "{timings}");
        assert!(out.join("tokens-f1.svg").is_file());
    }
}

/// Where a data set that is not there can be had.
#[test]
fn data_sets_that_are_not_there_are_told_of() {
    let home = Home::new();
    for (command, place) in [
        ("locomo", "github.com/snap-research/locomo"),
        ("longmemeval", "huggingface.co/datasets/xiaowu0162/longmemeval-cleaned"),
        ("perltqa", "github.com/Elvin-Yiming-Du/PerLTQA"),
        ("msc", "huggingface.co/datasets/MemGPT/MSC-Self-Instruct"),
    ] {
        let out = home.dir.path().join("out");
        let args = [command, "/nowhere/file.json", "--out", out.to_str().unwrap()];
        let stderr = home.fails(&args, 1);
        assert!(stderr.contains("is not there") && stderr.contains(place), "{stderr}");
        assert!(!out.exists(), "nothing is begun");
    }
}

#[test]
fn answers_are_scored_and_a_bad_row_is_named() {
    let home = Home::new();
    let good = "{\"pred\": \"in Lund\", \"ref\": \"Lund\"}\n{\"pred\": \"2022.\", \"ref\": 2022}\n";
    let file = home.file("answers.jsonl", good);
    let file = file.to_str().unwrap();
    let scores = home.json(&["score", file, "--json"]);
    let third = 2.0 / 3.0;
    let expected = serde_json::json!({"rows": [
        {"f1": third, "bleu1": 0.5, "rouge_l": third},
        {"f1": 1.0, "bleu1": 0.5, "rouge_l": 1.0},
    ]});
    assert_eq!(scores, expected);
    let array = home.file("answers.json", format!("[{}]", good.trim().replace('\n', ",\n")));
    assert_eq!(home.json(&["score", array.to_str().unwrap(), "--json"]), expected);
    let table = home.ok(&["score", file]);
    for text in ["2 rows", "rouge_l  0.8333  [0.6667, 1.0000]", "exact    0.5000"] {
        assert!(table.contains(text), "{text} is not in\n{table}");
    }

    home.file("answers.jsonl", format!("{good}{{\"pred\": 1}}\n{good}"));
    let output = home.run(&["score", file, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let scores: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(scores["rows"].as_array().map(Vec::len), Some(4));
    assert_eq!(scores["skipped"][0]["line"], 3);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("line 3 of") && stderr.contains("it has no `ref`"), "{stderr}");
    home.fails(&["score", "/nowhere"], 1);
    home.fails(&["score"], 2);
    assert!(!home.data().exists(), "scoring makes no files");
}

#[cfg(feature = "starter")]
#[test]
fn questions_are_answered_under_every_method() {
    let home = Home::new();
    let (file, memories) = conversation(&home);
    let out = home.dir.path().join("run");
    let [file, memories, out] =
        [&file, &memories, &out].map(|path| path.to_str().unwrap().to_owned());
    let run = ["locomo", &file, "--memories", &memories, "--out", &out];
    let report = home.json(&[&run[..], &["--json"]].concat());
    let answers = report["answers"].as_array().unwrap();
    // Three questions (the fourth has no answer, as it should) and eight methods.
    assert_eq!(answers.len(), 24, "{report}");
    for answer in answers {
        let number = |key: &str| answer[key].as_u64().unwrap();
        assert!(answer["f1"].as_f64().is_some_and(|f1| (0.0..=1.0).contains(&f1)), "{answer}");
        assert!(number("tokens") > number("processed_tokens"), "{answer}");
        assert!(number("tokens") >= number("prompt_tokens"), "{answer}");
        // The starter's gate goes by words: the model is asked for the answer only, but where it weighs
        // the words of what it is shown.
        let weighs = u64::from(answer["method"] == "rag-pruning");
        assert_eq!(number("model_calls"), 1 + weighs, "{answer}");
        let named = number("evidence_named");
        assert_eq!(answer["evidence_recall"].is_null(), named == 0, "{answer}");
    }
    let figure = |method: &str, metric: &str| {
        let mut rows = report["figures"].as_array().unwrap().iter();
        let row = rows.find(|row| {
            row["method"] == method && row["metric"] == metric && row["category"] == "all"
        });
        row.unwrap_or_else(|| panic!("{method} {metric}")).clone()
    };
    for method in [
        "full-context",
        "naive-rag",
        "rag-pruning",
        "memory-only",
        "+repsel",
        "+uncsion",
        "full",
        "lightmem",
    ] {
        let recall = figure(method, "evidence_recall");
        // Eq. 4 stops once what it has chosen covers the others.
        let least = if method == "+repsel" { 0.5 } else { 1.0 };
        assert_eq!(recall["questions"], 2, "{method}");
        assert!(recall["mean"].as_f64().is_some_and(|mean| mean >= least), "{method} {recall}");
        assert!(figure(method, "tokens")["low"].as_f64().unwrap() > 0.0);
    }
    assert_eq!(report["differences"].as_array().map(Vec::len), Some(28 * 5));
    assert_eq!(report["seconds"].as_array().map(Vec::len), Some(8));
    assert_eq!(report["construction"][0]["memory"], "lightmem");
    assert_eq!(report["construction"][0]["made_by"], "given");
    assert_eq!(report["construction_seconds"].as_array().map(Vec::len), Some(1));
    let manifest = &report["manifest"];
    assert_eq!(manifest["model"]["name"], "starter");
    assert_eq!(manifest["data"]["questions"], 3);
    for hash in ["/program/sha256", "/model/sha256", "/data/sha256", "/memories/sha256"] {
        let hash = manifest.pointer(hash).and_then(|hash| hash.as_str());
        assert_eq!(hash.map(str::len), Some(64), "{manifest}");
    }
    assert!(!home.data().join("memory.db").exists(), "measuring leaves no memory");

    // It is not begun twice, nor mixed with another; complete, it is shown again.
    let stderr = home.fails(&run, 2);
    assert!(stderr.contains("--resume"), "{stderr}");
    let stderr = home.fails(&[&run[..], &["--resume", "--limit", "2"]].concat(), 2);
    assert!(stderr.contains("its limit differs"), "{stderr}");
    let table = home.ok(&[&run[..], &["--resume"]].concat());
    for text in ["| Method |", "Multi-hop (1) BLEU-1", "| +uncsion |", "| Seconds |"] {
        assert!(table.contains(text), "{text} is not in\n{table}");
    }
    let kept = std::fs::read_to_string(home.dir.path().join("run/report.md")).unwrap();
    assert!(table.starts_with(&kept), "{kept}");
}

#[cfg(feature = "starter")]
#[test]
fn a_killed_run_goes_on_to_the_same_bytes() {
    let home = Home::new();
    let (file, memories) = conversation(&home);
    // Ten times the questions: there is time to be killed in.
    let mut document: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let qa = document[0]["qa"].as_array().unwrap().clone();
    let many: Vec<_> = std::iter::repeat_n(qa, 10).flatten().collect();
    document[0]["qa"] = many.into();
    let file = home.file("many.json", document.to_string());
    let at = |out: &str| home.dir.path().join(out);
    let run = |out: &str, resume: bool| -> Vec<String> {
        let [file, memories, out] = [&file, &memories, &at(out)].map(|p| p.display().to_string());
        let mut args = vec!["locomo".into(), file, "--memories".into(), memories];
        let methods = "naive-rag,lightmem,full,structural:triples:iterative:memory-doc";
        args.extend(["--method", methods, "--out"].map(str::to_owned));
        args.push(out);
        args.extend(resume.then(|| "--resume".to_owned()));
        args
    };
    let ok = |args: &[String]| home.ok(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let n_lines = |out: &str| {
        std::fs::read(at(out).join("answers.jsonl"))
            .map_or(0, |bytes| String::from_utf8_lossy(&bytes).matches('\n').count())
    };
    ok(&run("whole", false));
    assert_eq!(n_lines("whole"), 120);
    let mut n_killed = 0;
    for (out, kill_at) in [("first", 1), ("second", 20), ("third", 40)] {
        let mut child = std::process::Command::new(super::PROGRAM)
            .args(run(out, false))
            .env("INGLENOOK_HOME", home.data())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        while n_lines(out) < kill_at && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        n_killed += usize::from(n_lines(out) < 120);
        ok(&run(out, true));
        for name in [
            "manifest.json",
            "answers.jsonl",
            "report.json",
            "report.md",
            "built/0000-lightmem.json",
            "built/0000-triples.json",
        ] {
            let bytes = |out: &str| std::fs::read(at(out).join(name)).unwrap();
            assert!(bytes(out) == bytes("whole"), "{name} after a kill at {kill_at}");
        }
    }
    assert!(n_killed > 0, "every run was over before it was killed");
}

#[cfg(feature = "starter")]
#[test]
fn a_bad_item_is_left_out_and_the_exit_code_says_so() {
    let home = Home::new();
    let (file, memories) = conversation(&home);
    let mut document: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    document[0]["qa"][0]["answer"] = serde_json::Value::Null;
    let file = home.file("damaged.json", document.to_string());
    let out = home.dir.path().join("run");
    let [file, memories, out] =
        [&file, &memories, &out].map(|path| path.to_str().unwrap().to_owned());
    let args = ["locomo", &file, "--memories", &memories, "--out", &out, "--json"];
    let output = home.run(&[&args[..], &["--method", "memory-only"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("left out: conv-1, question 1: it has no `answer`"), "{stderr}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["answers"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["skipped"][0]["what"], "conv-1, question 1");

    let stderr = home.fails(&["locomo", "/nowhere/locomo10.json", "--out", &out], 1);
    assert!(stderr.contains("https://github.com/snap-research/locomo"), "{stderr}");
    let text = home.file("text.json", "\"text\"");
    let stderr = home.fails(&["locomo", text.to_str().unwrap(), "--out", &out], 1);
    assert!(stderr.contains("not in the form of LoCoMo"), "{stderr}");
    let stderr = home.fails(&["locomo", &file, "--method", "telepathy"], 2);
    assert!(stderr.contains("rag-pruning") && stderr.contains("structural:*"), "{stderr}");
    assert!(!stderr.contains("structural:chunks"), "thirty names are no help: {stderr}");
    home.fails(&["locomo", &file, "--method", "structural:facts"], 2);
    for ratio in ["0", "1.5", "NaN", "much"] {
        home.fails(&["locomo", &file, "--pruning-ratio", ratio], 2);
    }
    // Nobody says anything in it.
    document[0]["conversation"]["session_1"] = serde_json::json!([]);
    document[0]["conversation"]["session_2"] =
        serde_json::json!([{"speaker": "Ben", "dia_id": "D2:1", "text": "Hi!"}]);
    let silent = home.file("silent.json", document.to_string());
    let silent = silent.to_str().unwrap();
    let out = home.dir.path().join("silent").display().to_string();
    let method = "structural:triples:single:memory-only";
    let stderr = home.fails(&["locomo", silent, "--method", method, "--out", &out], 1);
    assert!(stderr.contains("the rules found no triples in this conversation"), "{stderr}");
}

#[cfg(feature = "starter")]
#[test]
fn chats_in_the_form_of_longmemeval_are_asked_about() {
    let home = Home::new();
    let item = serde_json::json!({
        "question_id": "q1", "question_type": "single-session-user",
        "question": "What is my dog called?", "answer": "Pixel",
        "question_date": "2023/06/01 (Thu) 10:00",
        "haystack_session_ids": ["s1"], "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        "haystack_sessions": [[
            {"role": "user", "content": "My dog is called Pixel.", "has_answer": true},
            {"role": "assistant", "content": "A lovely name."},
        ]],
        "answer_session_ids": ["s1"],
    });
    let file = home.file("longmemeval.json", serde_json::json!([item]).to_string());
    let out = home.dir.path().join("run");
    let [file, out] = [&file, &out].map(|path| path.to_str().unwrap().to_owned());
    let report = home.json(&["longmemeval", &file, "--out", &out, "--json"]);
    let answers = report["answers"].as_array().unwrap();
    assert_eq!(answers.len(), 8);
    assert!(answers.iter().all(|answer| answer["evidence_recall"] == 1.0), "{report}");
    let stderr = home.fails(&["longmemeval", "/nowhere.json", "--out", &out], 1);
    assert!(stderr.contains("huggingface.co/datasets/xiaowu0162/longmemeval-cleaned"), "{stderr}");
}
