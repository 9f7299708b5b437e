//! The chat as lines (`--plain`).

use super::Home;

#[test]
fn a_chat_goes_through_a_pipe() {
    let home = Home::new();
    let lines = [
        "I moved to Lund last week",
        "where do I live?",
        "/why",
        "/memory",
        "/forget Lund",
        "n",
        "/sessions",
        "",
        "/nonsense",
        "what day is it today?",
        "\"\"\"I have a dog.",
        "He is called Max.\"\"\"",
    ];
    let output = home.command(&["--plain"]).write_stdin(lines.join("\n")).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(!told.contains(|c: char| c.is_control() && c != '\n'), "{told:?}");
    let mut rest = &*told;
    // One after the other.
    for part in [
        "/help lists the commands",
        "The model is starter.",
        "Answer: Noted: you moved to Lund",
        "Answer: You moved to Lund",
        "Because you said, today",
        "“I moved to Lund last week”",
        "About you:\nYou moved to Lund",
        "Forget this for good?",
        ": leave it.\n",
        "1. I moved to Lund last week, ",
        "There is no /nonsense",
        "Answer: It is ",
        "Noted: you have a dog",
    ] {
        let found = rest.to_lowercase().find(&part.to_lowercase());
        let at = found.unwrap_or_else(|| panic!("no {part:?} in {rest:?} of {told}"));
        rest = &rest[at + part.len()..];
    }
    // What was said is kept.
    let kept = home.ok(&["export"]);
    assert!(kept.contains("I have a dog.\\nHe is called Max."), "{kept}");
}
