//! `eval starter`: the built-in items and others, as a person and as a script reads them.

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
    let report = home.json(&["eval", "starter", "--items", "3", "--json"]);
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
    let report = home.json(&["eval", "starter", "--file", file, "--task", "router", "--json"]);
    let rows = report["rows"].as_array().unwrap();
    // The model's, and the rules' beside it.
    assert_eq!((rows.len(), &rows[0]["items"]), (2, &2.into()), "{report}");
    assert_eq!(rows[0]["value"], 1.0);
    assert_eq!(report["gate"].as_array().unwrap().len(), 0);

    let args =
        ["eval", "starter", "--file", file, "--items", "2", "--task", "answer", "--task", "gate"];
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
    let args = ["eval", "starter", "--task", "locomo", "--task", "gate", "--items", "3", "--json"];
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
    let stderr = home.fails(&["eval", "starter", "--file", file], 1);
    assert!(stderr.contains("line 1") && stderr.contains("dance"), "{stderr}");
    let empty = home.file("empty.jsonl", "\n");
    home.fails(&["eval", "starter", "--file", empty.to_str().unwrap()], 2);
    home.fails(&["eval", "starter", "--file", "/nowhere/items.jsonl"], 1);
    home.fails(&["eval", "starter", "--task", "dance"], 2);
    home.fails(&["eval", "starter", "--items", "0"], 2);
    let items = home.file("good.jsonl", ITEMS);
    let items = items.to_str().unwrap();
    home.fails(&["eval", "starter", "--file", items, "--memories", "/nowhere"], 1);
    home.fails(&["eval", "starter", "--file", items, "--model", "nothing"], 3);
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
    let file = json!([{"conversation": {"speaker_a": "Ana"}, "qa": qa}]).to_string();
    (home.file("locomo.json", file), home.dir.path().join("memories"))
}

#[cfg(feature = "starter")]
#[test]
fn retrieval_is_measured_at_equal_characters() {
    let home = Home::new();
    let (file, memories) = conversation(&home);
    let [file, memories] = [&file, &memories].map(|path| path.to_str().unwrap());
    let report = home.json(&["eval", "retrieval", file, "--memories", memories, "--json"]);
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
    let fitted = home.json(&["eval", "retrieval", file, "--memories", memories, "--fit", "--json"]);
    assert_eq!(fitted["rows"], report["rows"]);
    let weights = fitted["weights"].as_array().unwrap();
    assert!(weights.iter().any(|row| row["of"] == "message" && row["cue"] == "lexical"));
    assert!(weights.iter().all(|row| row["weight"].as_f64().is_some_and(f64::is_finite)));

    // Without a file the folder's own questions are asked; a table is for people.
    let table = home.ok(&["eval", "retrieval", "--memories", memories]);
    for text in ["1 conversation, 2 questions", "stage-one", "blocks"] {
        assert!(table.contains(text), "{text} is not in\n{table}");
    }
    let bad = home.file("memories/Ana_0/semantics.f32.npy", "no vectors");
    let stderr = home.fails(&["eval", "retrieval", "--memories", memories], 1);
    assert!(stderr.contains("NumPy") && stderr.contains(bad.to_str().unwrap()), "{stderr}");
    home.fails(&["eval", "retrieval", "--memories", "/nowhere"], 1);
}

#[cfg(feature = "starter")]
#[test]
fn themes_are_measured_part_by_part() {
    let home = Home::new();
    let (file, memories) = conversation(&home);
    let [file, memories] = [&file, &memories].map(|path| path.to_str().unwrap());
    let report = home.json(&["eval", "themes", file, "--memories", memories, "--json"]);
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

    let table = home.ok(&["eval", "themes", "--memories", memories]);
    for text in ["1 conversation, 4 facts, 2 questions", "held-out", "semantics-only"] {
        assert!(table.contains(text), "{text} is not in\n{table}");
    }
    home.fails(&["eval", "themes", "--memories", "/nowhere"], 1);
    home.fails(&["eval", "themes"], 2);
}
