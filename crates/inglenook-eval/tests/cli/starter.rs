//! `starter`: the built-in items and others, and the project's own conversations.

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
    assert!((0.0..=1.0).contains(&rows[0]["value"].as_f64().unwrap()), "{report}");
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
