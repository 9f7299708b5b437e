//! Imported text reaches the terminal without control sequences.

use inglenook::memory::plain_text;

use super::Home;

const HOSTILE: &str = "a\u{1b}[31mred\u{1b}]0;title\u{7} \u{9b}2J \u{202e}txet\u{202c} \rover \u{7f}\u{200b}z\u{1b}Pq\u{1b}\\";

#[test]
fn escape_sequences_never_reach_stdout_or_an_export() {
    let home = Home::new();
    let line = serde_json::json!({
        "role": "user", "speaker": HOSTILE, "content": HOSTILE, "id": HOSTILE,
        "title": HOSTILE, "created_at": "2026-11-16T10:00:00Z",
    });
    let path = home.file("hostile.jsonl", format!("{line}\n"));
    home.ok(&["import", path.to_str().unwrap()]);
    for args in [
        &["session", "list"][..],
        &["session", "list", "--json"],
        &["session", "show", "c1"],
        &["session", "show", "c1", "--json"],
        &["memory", "show", "m1"],
        &["memory", "show", "m1", "--json"],
        &["export"],
        &["export", "--format", "markdown"],
        &["export", "--format", "json"],
        &["memory", "forget", "m1", "--yes"],
    ] {
        let text = home.ok(args);
        assert!(text.contains("red"), "{args:?} shows the text");
        assert_eq!(plain_text(&text), text, "{args:?}");
    }
}

#[test]
fn a_json_export_keeps_the_text_itself() {
    let home = Home::new();
    home.import(&[("user", HOSTILE)]);
    let export = home.json(&["export", "--format", "json"]);
    assert_eq!(export["sessions"][0]["messages"][0]["content"], HOSTILE);
}

#[test]
fn usage_errors_are_plain_too() {
    let home = Home::new();
    for args in [
        &["memory", "show", HOSTILE][..],
        &["memory", "show", "m1", HOSTILE],
        &[HOSTILE],
        &["export", "--format", HOSTILE],
        &["--nothing\u{1b}]52;c;aGk=\u{7}"],
    ] {
        let stderr = home.fails(args, 2);
        assert_eq!(plain_text(&stderr), stderr, "{args:?}");
        assert!(!stderr.contains('\u{7}') && stderr.contains("error:"), "{stderr}");
    }
}

#[test]
fn file_names_in_errors_are_plain_too() {
    let home = Home::new();
    let stderr = home.fails(&["import", "/nowhere/\u{1b}[31mred"], 1);
    assert_eq!(plain_text(&stderr), stderr);
}
