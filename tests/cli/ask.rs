//! `ask`, with the built-in starter.

use inglenook::store::Store;

use super::Home;

/// A memory that knows where the person lives and what their dog is called.
pub fn remembering() -> Home {
    let home = Home::new();
    home.import(&[
        ("user", "I live in Lund."),
        ("assistant", "Noted."),
        ("user", "My dog is called Max."),
        ("assistant", "Noted."),
    ]);
    home.ok(&["memory", "consolidate", "--wait"]);
    home
}

#[test]
fn the_json_output_has_its_documented_fields() {
    let home = remembering();
    let answer = home.json(&["ask", "--json", "What is my dog called?"]);
    let keys = |pointer: &str| -> Vec<String> {
        answer.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect()
    };
    for key in ["answer", "model", "evidence", "entropy_nats", "tokens", "seconds"] {
        assert!(keys("").iter().any(|k| k == key), "{key} is missing in {answer}");
    }
    for key in ["themes", "semantics", "episodes"] {
        assert!(answer["evidence"][key].is_array(), "{key} in {answer}");
    }
    assert_eq!(keys("/entropy_nats"), ["coarse", "final"]);
    assert_eq!(keys("/tokens"), ["prompt", "processed", "generated"]);
    assert_eq!(keys("/seconds"), ["recall", "first_token", "total"]);
    assert_eq!(answer["model"], "starter");
    assert!(answer["answer"].as_str().unwrap().contains("Max"), "{answer}");
    let semantics = answer["evidence"]["semantics"].as_array().unwrap();
    let dog = semantics
        .iter()
        .find(|s| s["text"].as_str().unwrap().contains("Max"))
        .unwrap_or_else(|| panic!("{answer}"));
    assert!(dog["id"].as_str().unwrap().starts_with('s'));
    assert!(dog["messages"].as_array().is_some_and(|m| !m.is_empty()), "{answer}");
    for episode in answer["evidence"]["episodes"].as_array().unwrap() {
        for key in
            ["id", "title", "admitted", "expanded", "entropy_before_nats", "entropy_after_nats"]
        {
            assert!(episode.get(key).is_some(), "{key} in {episode}");
        }
    }
    assert!(answer["seconds"]["total"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_role_is_a_file_beside_the_settings() {
    let home = remembering();
    let none = home.fails(&["ask", "-r", "fr", "hello"], 2);
    assert!(none.contains("roles/fr.md would be this one"), "{none}");
    let roles = home.data().join("roles");
    std::fs::create_dir_all(&roles).unwrap();
    let write = |name: &str, text: &str| std::fs::write(roles.join(name), text).unwrap();
    write("fr.md", "---\nmemory: no\nreply_tokens_max: 8\n---\nYou speak of trains.");
    let with_role = home.json(&["ask", "--json", "-r", "fr", "What is my dog called?"]);
    assert_eq!(with_role["evidence"]["semantics"].as_array().unwrap().len(), 0, "{with_role}");
    assert!(with_role["tokens"]["generated"].as_u64().unwrap() <= 8, "{with_role}");
    write("bad.md", "---\nvoice: deep\n---\nHi");
    let bad = home.fails(&["ask", "-r", "bad", "hello"], 2);
    assert!(bad.contains("line 2: `voice`"), "{bad}");
}

#[test]
fn a_prompt_is_a_file_beside_the_settings() {
    let home = Home::new();
    let none = home.fails(&["ask", "-p", "translate", "hello"], 2);
    assert!(none.contains("prompts/translate.md would be this one"), "{none}");
    let prompts = home.data().join("prompts");
    std::fs::create_dir_all(&prompts).unwrap();
    let text = "---\ndescription: x\n---\nInto {{language}}, briefly:\n\n{{input}}\n";
    std::fs::write(prompts.join("translate.md"), text).unwrap();
    let missing = home.fails(&["ask", "--prompt", "translate"], 2);
    assert!(missing.contains("nothing fills {{language}} of the prompt translate"), "{missing}");
    assert!(missing.contains("inglenook ask -p translate LANGUAGE INPUT…"), "{missing}");
    home.ok(&["ask", "-p", "translate", "French", "good", "evening"]);
    // What is piped is no word of the person's.
    let args = ["ask", "-p", "translate", "Old Norse"];
    let output = home.command(&args).write_stdin("I live in Oslo.").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = home.ok(&["export"]);
    assert!(said.contains("\"Into French, briefly:\\n\\ngood evening\""), "{said}");
    let piped = "\"Into Old Norse, briefly:\\n\\n[attached: stdin, 15 bytes]\\nI live in Oslo.";
    assert!(said.contains(piped), "{said}");
    home.ok(&["memory", "consolidate", "--wait"]);
    assert!(!home.ok(&["memory", "tree", "--depth", "2"]).contains("Oslo"));
}

#[test]
fn it_forgets_nothing_and_says_what_does() {
    let home = remembering();
    let refused = home.fails(&["ask", "please forget where I live"], 2);
    assert!(refused.contains("inglenook memory forget"), "{refused}");
    assert!(home.ok(&["memory", "tree"]).contains("Lund"));
}

/// Without a chat between the questions, and without a word that question and answer share.
#[cfg(feature = "starter")]
#[test]
fn an_earlier_question_is_remembered() {
    let home = Home::new();
    for (question, expected) in [
        ("I moved to Lund in March with my sister Clara.", "Lund"),
        ("Where do I live?", "Lund"),
        ("I sold my car and bought a red bicycle.", "bicycle"),
        ("What did I buy?", "bicycle"),
        ("I moved to Malmö.", "Malmö"),
        ("Where do I live now?", "Malmö"),
    ] {
        let answer = home.ok(&["ask", question]);
        assert!(answer.contains(expected), "{question}: {answer}");
    }
    let facts = home.json(&["memory", "stats", "--json"])["semantics"].as_u64();
    home.ok(&["ask", "--incognito", "Where do I live?"]);
    assert_eq!(home.json(&["memory", "stats", "--json"])["semantics"].as_u64(), facts);
    home.ok(&["memory", "verify"]);
}

#[test]
fn files_and_stdin_go_with_the_question() {
    let home = Home::new();
    let note = home.file("note.txt", "The plumber comes on Friday.");
    let args = ["ask", "--json", "-f", note.to_str().unwrap(), "When does the plumber come?"];
    let output = home.command(&args).write_stdin("Bring the key.").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = home.ok(&["export"]);
    let question = "When does the plumber come?\\n\\n[attached: ";
    assert!(
        said.contains(question) && said.contains("note.txt, 28 bytes]\\nThe plumber"),
        "{said}"
    );
    assert!(said.contains("[attached: stdin, 14 bytes]\\nBring the key."), "{said}");
    // Nothing is learnt from a file as if the person had said it.
    let note = home.file("diary.txt", "I live in Lund. My dog is called Rex.");
    home.ok(&["ask", "-f", note.to_str().unwrap(), "What is this?"]);
    home.ok(&["memory", "consolidate", "--wait"]);
    let facts = home.ok(&["memory", "tree", "--depth", "2"]);
    assert!(!facts.contains("Rex") && !facts.contains("Lund"), "{facts}");
    let page = home.file("page.html", "<html><body><p>Tea &amp; cake</p><script>x</script></body>");
    home.ok(&["ask", "-f", page.to_str().unwrap(), "What is there?"]);
    assert!(home.ok(&["export"]).contains("bytes]\\nTea & cake\\n"));
    let picture = home.file("picture.png", b"\x89PNG\xff");
    let refused = home.fails(&["ask", "-f", picture.to_str().unwrap(), "what is this?"], 2);
    assert!(refused.contains("is an image"), "{refused}");
    home.fails(&["ask", "-f", "nothing.txt", "what?"], 1);
}

#[test]
fn a_pipe_that_nobody_closes_keeps_no_question_waiting() {
    let home = Home::new();
    let mut child = std::process::Command::new(crate::PROGRAM)
        .args(["ask", "--no-stream", "hello", "--data-dir", home.data().to_str().unwrap()])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let open = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("Nothing came on stdin"));
    drop(open);
}

#[test]
fn questions_come_from_stdin_too_and_answers_can_be_unstreamed() {
    let home = remembering();
    for args in [&["ask"][..], &["ask", "--no-stream"]] {
        let output = home.command(args).write_stdin("Where do I live?\n").output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("Lund") && text.ends_with('\n'), "{text}");
    }
    let output = home.command(&["ask"]).write_stdin("  \n").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let output = home.command(&["ask"]).write_stdin(&b"caf\xe9?"[..]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("UTF-8"));
}

#[test]
fn it_never_invents_a_memory() {
    let home = Home::new();
    let answer = home.json(&["ask", "--json", "What is my cat called?"]);
    assert_eq!(answer["evidence"]["semantics"].as_array().unwrap().len(), 0);
    let said = answer["answer"].as_str().unwrap();
    // In the model's own words, or in the program's.
    assert!(said.starts_with("You haven't told me") || said.starts_with("You have not"), "{said}");
}

#[test]
fn a_session_can_be_continued() {
    let home = Home::new();
    home.ok(&["ask", "I play the cello."]);
    let sessions = home.json(&["session", "list", "--json"]);
    assert_eq!(sessions.as_array().unwrap().len(), 1);
    assert_eq!(sessions[0]["messages"], 2);
    let id = sessions[0]["id"].as_str().unwrap();
    home.ok(&["ask", "--session", id, "And the harp."]);
    let session = home.json(&["session", "show", id, "--json"]);
    assert_eq!(session["messages"].as_array().unwrap().len(), 4);
    assert_eq!(session["messages"][2]["content"], "And the harp.");
    assert_eq!(home.json(&["session", "list", "--json"]).as_array().unwrap().len(), 1);
    let stderr = home.fails(&["ask", "--session", "c99", "hi"], 1);
    assert!(stderr.contains("c99"), "{stderr}");
}

#[test]
fn incognito_leaves_no_trace_and_works_beside_a_chat() {
    let home = remembering();
    let before = home.ok(&["export", "--format", "json"]);
    let chat = Store::open(&home.data()).unwrap();
    let answer = home.ok(&["ask", "--incognito", "Where do I live?"]);
    assert!(answer.contains("Lund"), "{answer}");
    drop(chat);
    let told = home.ok(&["ask", "--incognito", "my pin is 1234"]);
    assert!(told.contains("Nothing of it is kept") && !told.contains("Noted"), "{told}");
    assert_eq!(home.ok(&["export", "--format", "json"]), before);
}

#[test]
fn a_missing_model_is_reported_before_anything_is_stored() {
    let home = Home::new();
    let stderr = home.fails(&["ask", "-m", "nothing", "hi"], 3);
    assert!(stderr.contains("`nothing`"), "{stderr}");
    let stderr = home.fails(&["-m", "nothing"], 3);
    assert!(stderr.contains("`nothing`"), "{stderr}");
    assert!(!home.data().exists());
    let path = home.file("bad.gguf", "GGUF but no more");
    let stderr = home.fails(&["ask", "-m", path.to_str().unwrap(), "hi"], 1);
    assert!(stderr.contains("bad.gguf"), "{stderr}");
    // In its own folder the file name is enough.
    let mut command = home.command(&["ask", "-m", "bad.gguf", "hi"]);
    let output = command.current_dir(path.parent().unwrap()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("cannot use the model file bad.gguf"), "{stderr}");
}

#[test]
fn the_chat_needs_a_terminal_and_says_so() {
    let home = Home::new();
    let stderr = home.fails(&[], 2);
    assert!(stderr.contains("terminal") && stderr.contains("inglenook ask"), "{stderr}");
}

#[test]
fn a_pdf_goes_with_the_question() {
    let home = Home::new();
    let pdf = include_bytes!("../fixtures/page.pdf");
    let path = home.file("-a.pdf", pdf);
    let question = "Where is the meeting?";
    let file = format!("--file={}", path.display());
    assert!(home.ok(&["ask", &file, question]).contains("Bergen"));
    let piped = home.command(&["ask", question]).write_stdin(&pdf[..]).output().unwrap();
    assert!(String::from_utf8_lossy(&piped.stdout).contains("Bergen"), "{piped:?}");
    let broken = home.file("b.pdf", "%PDF-1.4\nbroken");
    let error = home.fails(&["ask", &format!("--file={}", broken.display()), question], 1);
    assert!(error.contains("b.pdf is a PDF that can't be read"), "{error}");
}
