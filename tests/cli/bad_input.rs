//! Damaged and hostile input: a message that names the file, the exit code, and no data lost.

use super::Home;

#[test]
fn a_damaged_memory_is_named_and_not_changed() {
    let home = Home::new();
    home.import(&[("user", "I live in Lund.")]);
    let file = home.data().join("memory.db");
    let garbage = b"this is no database".repeat(500);
    for extra in ["memory.db-wal", "memory.db-shm"] {
        let _ = std::fs::remove_file(home.data().join(extra));
    }
    std::fs::write(&file, &garbage).unwrap();
    for args in [&["memory", "stats"][..], &["memory", "undo"], &["session", "list"], &["export"]] {
        let stderr = home.fails(args, 1);
        assert!(stderr.contains("memory.db") && stderr.contains("damaged"), "{args:?}: {stderr}");
        assert!(stderr.contains("hint:"), "{stderr}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), garbage, "not a byte was changed");
    let output = home.run(&["doctor"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("BAD memory"));
}

#[test]
fn a_line_without_an_end_is_refused() {
    let home = Home::new();
    let long = format!(
        "{{\"role\":\"user\",\"content\":\"hello\",\"created_at\":1}}\n{{\"content\":\"{}\"}}\n",
        "x".repeat(17 << 20)
    );
    let file = home.file("long.jsonl", long);
    let stderr = home.fails(&["import", file.to_str().unwrap()], 1);
    assert!(stderr.contains("line 2: the line is longer than 16 MB"), "{stderr}");
    assert!(stderr.contains("nothing was imported"), "{stderr}");
}

/// Bytes flipped on the disk inside what was said: named, and no obstacle to anything.
#[test]
fn damaged_words_can_be_read_exported_and_forgotten() {
    let home = Home::new();
    home.import(&[("user", "my dog is called Gallimaufry"), ("user", "I live in Lund")]);
    let file = home.data().join("memory.db");
    let word = b"Gallimaufry";
    let mut bytes = std::fs::read(&file).unwrap();
    let places: Vec<usize> =
        (0..bytes.len() - word.len()).filter(|&i| bytes[i..].starts_with(word)).collect();
    assert!(!places.is_empty());
    // A letter, and a byte that begins no character.
    for (at, byte, says) in
        [(1, b'e', "is not as it was written"), (4, 0xff, "holds bytes that are no text")]
    {
        for place in &places {
            bytes[place + at] = byte;
        }
        std::fs::write(&file, &bytes).unwrap();
        let verify = home.run(&["memory", "verify"]);
        let found = String::from_utf8_lossy(&verify.stdout);
        assert!(found.contains("m1 ") && found.contains(says), "{found}");
        assert!(!found.contains("m2"), "{found}");
        assert_ne!(verify.status.code(), Some(0));
    }
    for args in [&["export"][..], &["export", "--format", "json"], &["session", "show", "c1"]] {
        let text = home.ok(args);
        assert!(text.contains("Gell\u{fffd}maufry") && text.contains("Lund"), "{args:?}: {text}");
    }
    home.ok(&["memory", "forget", "m1", "--yes"]);
    assert!(!home.ok(&["export"]).contains("maufry"));
    let left = std::fs::read(&file).unwrap();
    assert!(!left.windows(5).any(|part| part == b"aufry"));
    home.ok(&["memory", "verify"]);
    home.ok(&["session", "delete", "c1", "--yes"]);
}

#[test]
fn a_data_directory_that_cannot_be_made_is_named() {
    let home = Home::new();
    let file = home.file("file", "x");
    let dir = file.join("data");
    let import = home.file("a.jsonl", "{\"role\":\"user\",\"content\":\"x\",\"created_at\":1}");
    let stderr =
        home.fails(&["import", import.to_str().unwrap(), "--data-dir", dir.to_str().unwrap()], 1);
    assert!(stderr.contains(dir.to_str().unwrap()), "{stderr}");
    assert!(stderr.contains("hint:"), "{stderr}");
}

#[test]
fn files_without_a_conversation_are_refused() {
    let home = Home::new();
    let cases: [(&str, &[u8], &str); 7] = [
        ("empty", b"", "holds no messages"),
        ("latin1", b"{\"role\":\"user\"}\ncaf\xe9", "line 2: this is not UTF-8"),
        ("binary", b"\x7fELF\x00\x01", "line 1"),
        ("object", b"{\"a\": 1}", "`role` is missing"),
        ("cut", b"[{\"sample_id\": \"conv-26\", \"conv", "line 1: EOF"),
        ("number", b"[3]", "not a LoCoMo file"),
        ("chatgpt", b"[{\"title\": \"x\", \"mapping\": {}}]", "ChatGPT"),
    ];
    for (name, bytes, expected) in cases {
        let path = home.file(name, bytes);
        let stderr = home.fails(&["import", path.to_str().unwrap()], 1);
        assert!(stderr.contains(expected), "{name}: {stderr}");
        assert!(stderr.contains(path.to_str().unwrap()), "{name} is not named: {stderr}");
    }
    assert!(!home.data().exists(), "nothing was made");
}

#[test]
fn a_deeply_nested_file_is_refused() {
    let home = Home::new();
    let path = home.file("deep", "[".repeat(200_000));
    home.fails(&["import", path.to_str().unwrap()], 1);
    let path = home.file("deep.jsonl", format!("{{\"role\":{}", "[".repeat(200_000)));
    home.fails(&["import", path.to_str().unwrap()], 1);
}
