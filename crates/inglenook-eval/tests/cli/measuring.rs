//! `retrieval`, `themes`, `gate` on made-up memories, and `score`.

use super::Home;
#[cfg(feature = "starter")]
use super::answering::conversation;

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
        let name = args[0];
        let [report, svg] = kept(args, name, plot);
        for part in parts {
            assert!(report.contains(part), "{part} is not in\n{report}");
        }
        assert!(svg.starts_with("<svg"), "{svg}");
        assert_eq!(kept(args, &format!("{name}-again"), plot), [report, svg], "{name}");
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
