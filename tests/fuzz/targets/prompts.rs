//! What a model replies, read by every parser; and the same text as the data of a prompt.
#![no_main]

use inglenook::prompts::{
    Answer, Episode, Line, MemoryLine, MergedFact, Problem, Semantics, ThemeName, data, reply,
};
use inglenook_fuzz as _;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    parse(&text);
    fill(&text);
});

fn parse(text: &str) {
    let (facts, problems) = Semantics::parse(text);
    assert!(facts.len() <= Semantics::FACTS_MAX);
    for fact in &facts {
        assert_line(fact);
        assert!(fact.chars().count() <= Semantics::FACT_CHARS_MAX, "{fact:?}");
    }
    for problem in &problems {
        if let Problem::Dropped { line, .. } = problem {
            assert!(line.chars().count() <= 61, "{line:?}");
        }
    }
    if let Some(name) = ThemeName::parse(text) {
        assert_line(&name);
        assert!(name.chars().count() <= ThemeName::CHARS_MAX, "{name:?}");
    }
    if let Some(fact) = MergedFact::parse(text) {
        assert_line(&fact);
    }
    let draft = Episode::parse(text);
    for text in [&draft.title, &draft.content].into_iter().filter(|text| !text.is_empty()) {
        assert_line(text);
    }
    let answer = Answer.parse(text);
    Answer.refuses(&answer);
    let clean = reply::clean(text);
    for text in [&answer, &clean] {
        assert_clean(text);
        assert!(!text.contains("<think>"), "{text:?}");
    }
    assert!(clean.len() <= text.len());
}

/// Text from outside stays on its line and inside its block.
fn fill(text: &str) {
    let line = data(text);
    assert!(!line.chars().any(char::is_control), "{line:?}");
    assert_eq!(data(&line), line, "a second time");
    for mark in ["</", "<|", "[/", "[INST"] {
        assert!(!line.contains(mark), "{mark} in {line:?}");
    }
    let at = jiff::civil::date(2026, 11, 16).at(9, 0, 0, 0);
    let said = Line { speaker: text.to_owned(), at, text: text.to_owned() };
    let notes = [
        MemoryLine::Theme { name: text },
        MemoryLine::Semantic { text, at, superseded: true },
        MemoryLine::Episode { title: text, content: text, at },
        MemoryLine::Message { speaker: text, text, at },
    ];
    for rendered in notes.iter().map(MemoryLine::render) {
        assert_eq!(rendered.matches('\n').count(), 1, "{rendered:?}");
    }
    let filled = Answer.fill(&notes, "Who is Max?");
    assert_eq!(filled.matches("</memories>").count(), 1, "{filled:?}");
    assert!(!said.render().contains('\n'));
}

/// Without control characters; lines and tabs stay.
fn assert_clean(text: &str) {
    assert!(!text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{text:?}");
    assert_eq!(text.trim(), text);
}

/// One line that says something.
fn assert_line(text: &str) {
    assert_clean(text);
    assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
}
