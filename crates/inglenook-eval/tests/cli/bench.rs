//! `bench memory` at sizes that take no time: shapes and counts, no times.

use super::Home;

#[test]
fn a_made_up_memory_is_measured_at_every_size() {
    let home = Home::new();
    let report = home.json(&["bench", "memory", "--semantics", "300,40,40", "--json"]);
    let rows = report["rows"].as_array().unwrap();
    let sizes: Vec<_> = rows.iter().map(|row| row["semantics"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [40, 300], "smallest first, each once: {report}");
    for row in rows {
        let of = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("{name}: {row}"));
        // At most twelve facts a theme, and groups hold several.
        let facts = of("semantics");
        assert!((facts / 12.0..facts).contains(&of("themes")), "{row}");
        for what in ["insert", "selection"] {
            let (p50, p99) = (of(&format!("{what}_p50_ms")), of(&format!("{what}_p99_ms")));
            assert!(0.0 < p50 && p50 <= p99, "{row}");
        }
        assert!(of("insert_max_ms") >= of("insert_p99_ms"), "{row}");
        assert!(of("insert_seconds") > 0.0, "{row}");
        assert_eq!(of("neighbour_recall"), 1.0, "exact at this size: {row}");
        if cfg!(target_os = "linux") {
            assert!((1e6..1e9).contains(&of("resident_bytes")), "{row}");
        }
    }
    let table = home.ok(&["bench", "memory", "--semantics", "20"]);
    assert!(table.contains("insert p50, p99") && table.contains("       20 "), "{table}");
    assert!(!home.data().join("memory.db").exists(), "measuring leaves no memory");
}

#[test]
fn impossible_sizes_are_refused() {
    let home = Home::new();
    for sizes in ["0", "ten", "10,,20", "-5", "99999999"] {
        home.fails(&["bench", "memory", "--semantics", sizes], 2);
    }
}

/// One of the random models.
fn model(name: &str) -> String {
    format!("{}/../../tests/fixtures/models/{name}/model.gguf", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_engine_is_measured_with_any_model() {
    let home = Home::new();
    let model = model("qwen3-q4_k_m-gguf");
    let few = ["--prompt", "20", "--decode", "4", "--rounds", "2", "--threads", "2"];
    let command = [&["bench", "engine", "--model", &model][..], &few].concat();
    let figures = home.json(&[&command[..], &["--json"]].concat());
    let of = |name: &str| figures[name].as_f64().unwrap_or_else(|| panic!("{name}: {figures}"));
    assert!(of("prefill_tokens_per_s") > 0.0 && of("decode_tokens_per_s") > 0.0);
    assert!(0.0 < of("load_s") && of("load_s") < of("first_token_s"));
    if cfg!(target_os = "linux") {
        assert!((1e6..1e9).contains(&of("resident_bytes")), "{figures}");
    }
    let beside = home.json(&[&command[..], &["--beside-memory", "--json"]].concat());
    for figure in ["first_token", "decode"] {
        assert!(beside["beside_memory"][figure].as_f64().unwrap() > 0.0, "{beside}");
    }
    let table = home.ok(&command);
    assert!(table.contains("(20 tokens)") && table.contains("first token after"), "{table}");
}

#[test]
fn an_engine_that_has_nothing_to_run_says_so() {
    let home = Home::new();
    let error = home.fails(&["bench", "engine"], 2);
    assert!(error.contains("starter") && error.contains("--model PATH"), "{error}");
    home.fails(&["bench", "engine", "--model", "no-such-model"], 3);
    let model = model("qwen3-q4_k_m-gguf");
    let error = home.fails(&["bench", "engine", "--model", &model, "--prompt", "9999"], 1);
    assert!(error.contains("context"), "{error}");
    home.fails(&["bench", "engine", "--model", &model, "--threads", "0"], 2);
}

#[test]
fn the_embedder_is_measured() {
    let home = Home::new();
    let figures = home.json(&["bench", "embedder", "--rounds", "2", "--json"]);
    let of = |name: &str| figures[name].as_f64().unwrap_or_else(|| panic!("{name}: {figures}"));
    assert!(of("texts") > 1.0 && of("one_ms") > 0.0 && of("many_ms") > 0.0, "{figures}");
    assert!(home.ok(&["bench", "embedder", "--rounds", "1"]).contains("one text"));
}
