//! What a hub may list, and what is made of it.

use super::*;

#[test]
fn a_repository_is_named_in_the_usual_ways_and_no_other() {
    for (text, repo, which) in [
        ("owner/repo", "owner/repo", None),
        ("owner/Repo-1.5_x", "owner/Repo-1.5_x", None),
        ("owner/repo:Q4_K_M", "owner/repo", Some("Q4_K_M")),
        ("owner/repo:sub/file.gguf", "owner/repo", Some("sub/file.gguf")),
        ("owner/repo:", "owner/repo", None),
        ("https://huggingface.co/owner/repo/", "owner/repo", None),
        ("hf.co/owner/repo:q8_0", "owner/repo", Some("q8_0")),
    ] {
        let wanted = Wanted { repo: repo.into(), which: which.map(str::to_owned) };
        assert_eq!(Wanted::parse(text), Some(wanted), "{text}");
    }
    for text in [
        "",
        "name",
        "/",
        "a/",
        "/b",
        "a/b/c",
        "../b",
        "a/..",
        "a/b..c",
        "a/.b",
        "a b/c",
        "a/b?x",
        "a/b#",
        "http://x/a/b",
        "a\\b/c",
        "a/b\u{0}",
        "a/é",
    ] {
        assert_eq!(Wanted::parse(text), None, "{text}");
    }
}

fn decided(info: Value) -> Result<Plan, Nothing> {
    let wanted = Wanted { repo: "o/M".into(), which: None };
    decide(&wanted, serde_json::from_value(info).unwrap(), None)
}

fn licence(info: Value) -> Option<String> {
    licence_of(&serde_json::from_value(info).unwrap())
}

#[test]
fn a_hostile_list_names_no_path_outside() {
    for path in [
        "../x.gguf",
        "/x.gguf",
        "a//x.gguf",
        "a/../x.gguf",
        "./x.gguf",
        "a\\x.gguf",
        "x\n.gguf",
        "c:x.gguf",
        "",
    ] {
        let error = decided(serde_json::json!({"siblings": [{"rfilename": path}]})).unwrap_err();
        assert!(error.0.contains("neither a GGUF"), "{path:?}: {error:?}");
    }
    let plan = decided(serde_json::json!({
        "sha": "../../evil",
        "siblings": [{"rfilename": "sub/M-Q4_0.gguf", "size": 9, "lfs": {"sha256": "../../evil", "size": 8}}],
        "cardData": {"license": 7},
    }))
    .unwrap();
    assert_eq!((plan.model.commit, &plan.model.files[0].sha256), (None, &None));
    assert_eq!((plan.model.bytes_approx, plan.has_licence), (8, false));
    assert_eq!(plan.model.files[0].path, "sub/M-Q4_0.gguf");
}

#[test]
fn split_models_are_not_half_pulled() {
    let part =
        |n| serde_json::json!({"rfilename": format!("M-Q4_K_M-0000{n}-of-00002.gguf"), "size": 9});
    for one in [part(1), part(2)] {
        let error = decided(serde_json::json!({"siblings": [one]})).unwrap_err();
        assert!(error.0.contains("some are missing"), "{error:?}");
    }
    let whole = serde_json::json!({"rfilename": "M-Q8_0.gguf", "size": 9});
    let plan = decided(serde_json::json!({"siblings": [part(2), whole]})).unwrap();
    assert_eq!(plan.model.files[0].path, "M-Q8_0.gguf");
    // In their order, whatever the hub's is, and as large as both.
    let small = serde_json::json!({"rfilename": "M-Q2_K.gguf", "size": 9});
    let plan = decided(serde_json::json!({"siblings": [small, part(2), part(1)]})).unwrap();
    let paths: Vec<&str> = plan.model.files.iter().map(|f| f.path.as_str()).collect();
    assert_eq!(paths, ["M-Q4_K_M-00001-of-00002.gguf", "M-Q4_K_M-00002-of-00002.gguf"]);
    assert_eq!((plan.model.bytes_approx, plan.model.name.as_str()), (18, "m-q4_k_m"));
    assert_eq!(plan.quantisation.as_deref(), Some("Q4_K_M"));
    assert_eq!(plan.others, [("Q2_K".to_owned(), Some(9))]);
}

#[test]
fn the_weights_of_a_safetensors_model_are_those_its_index_names() {
    let paths = [
        "config.json",
        "tokenizer.json",
        "model.safetensors.index.json",
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
        "consolidated.safetensors",
        "original/model.safetensors",
    ];
    let siblings: Vec<_> = paths.iter().map(|p| serde_json::json!({"rfilename": p})).collect();
    let plan = decided(serde_json::json!({"siblings": siblings})).unwrap();
    let chosen: Vec<&str> = plan.model.files.iter().map(|f| f.path.as_str()).collect();
    assert_eq!(chosen, paths[..5]);
    assert_eq!((plan.needed_bytes, plan.model.name.as_str()), (None, "m"));
}

#[test]
fn the_licence_is_what_the_card_says() {
    let card = |card: Value| licence(serde_json::json!({"cardData": card}));
    assert_eq!(card(serde_json::json!({"license": "mit"})).as_deref(), Some("mit"));
    assert_eq!(card(serde_json::json!({"license": ["mit", "x"]})).as_deref(), Some("mit"));
    let named = serde_json::json!({"license": "other", "license_name": "lfm1.0"});
    assert_eq!(card(named).as_deref(), Some("lfm1.0"));
    assert_eq!(card(serde_json::json!({"license": "a\u{1b}[31mb"})).as_deref(), Some("a[31mb"));
    assert_eq!(card(Value::Null), None);
    assert_eq!(licence(serde_json::json!({"tags": ["license:gemma"]})).as_deref(), Some("gemma"));
}
