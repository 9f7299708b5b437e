//! The built-in items of `model check` (`assets/model-check.json`): invented people, written for this
//! program.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::prompts::Relation;

#[expect(clippy::expect_used, reason = "a constant file, read in the tests")]
pub(super) static ITEMS: LazyLock<Items> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../assets/model-check.json")).expect("valid items")
});

/// The items, one group for each task of memory.
#[derive(Deserialize)]
pub(super) struct Items {
    pub questions: Vec<Question>,
    pub told: Vec<Told>,
    pub routed: Vec<Routed>,
    pub topics: Vec<Topic>,
    pub pairs: Vec<Pair>,
}

impl Items {
    pub fn n(&self) -> usize {
        let Self { questions, told, routed, topics, pairs } = self;
        questions.len() + told.len() + routed.len() + topics.len() + pairs.len()
    }
}

/// Facts (with the day of November 2026 on which they were said), a question, and what a right
/// answer contains; nothing: the facts do not tell, and a right answer says so.
#[derive(Deserialize)]
pub(super) struct Question {
    pub facts: Vec<(i8, String)>,
    pub asked: String,
    pub answer: Option<String>,
}

/// A message of Ana's on Monday, 16 November 2026, and the words that each of its facts has to
/// contain. No facts: nothing is to be noted.
#[derive(Deserialize)]
pub(super) struct Told {
    pub text: String,
    pub facts: Vec<Vec<String>>,
}

/// A message, and whether it is to be stored.
#[derive(Deserialize)]
pub(super) struct Routed {
    pub text: String,
    pub store: bool,
}

/// What was said before, what is said next, and whether another topic begins.
#[derive(Deserialize)]
pub(super) struct Topic {
    pub history: Vec<String>,
    pub next: String,
    pub new: bool,
}

/// An earlier fact, a later one, and how they relate.
#[derive(Deserialize)]
pub(super) struct Pair {
    pub earlier: String,
    pub later: String,
    pub relation: Relation,
}
