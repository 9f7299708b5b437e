//! `locomo`, `longmemeval`, `perltqa`, `msc`: answers under every method, and a run's folder.

use super::Home;

/// A made-up conversation of two sessions in the form of LoCoMo's memories, without vectors.
#[cfg(feature = "starter")]
pub fn conversation(home: &Home) -> (std::path::PathBuf, std::path::PathBuf) {
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
fn missing_data_sets_are_named_with_their_source() {
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
    // Three times the questions: there is time to be killed in.
    let mut document: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let qa = document[0]["qa"].as_array().unwrap().clone();
    let many: Vec<_> = std::iter::repeat_n(qa, 3).flatten().collect();
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
    assert_eq!(n_lines("whole"), 36);
    let mut n_killed = 0;
    for (out, kill_at) in [("first", 1), ("second", 8), ("third", 16)] {
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
        n_killed += usize::from(n_lines(out) < 36);
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
