//! The built-in items of `model check` (`assets/model-check.json`): invented people, written for this
//! program.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use serde::Deserialize;

use crate::prompts::Relation;

#[expect(clippy::expect_used, reason = "a constant file, read in the tests")]
pub(super) static ITEMS: LazyLock<Items> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../assets/model-check.json")).expect("valid items")
});

/// The items, one group for each step of memory.
#[derive(Deserialize, Hash)]
pub(super) struct Items {
    pub questions: Vec<Question>,
    pub told: Vec<Told>,
    pub routed: Vec<Routed>,
    pub topics: Vec<Topic>,
    pub pairs: Vec<Pair>,
    pub titles: Vec<Title>,
    pub themes: Vec<Theme>,
}

/// One item of any group.
pub(super) enum Item<'a> {
    Question(&'a Question),
    Told(&'a Told),
    Routed(&'a Routed),
    Topic(&'a Topic),
    Pair(&'a Pair),
    Title(&'a Title),
    Theme(&'a Theme),
}

impl Items {
    fn all(&self) -> impl Iterator<Item = Item<'_>> {
        let Self { questions, told, routed, topics, pairs, titles, themes } = self;
        let questions = questions.iter().map(Item::Question).chain(told.iter().map(Item::Told));
        let choices = routed.iter().map(Item::Routed).chain(topics.iter().map(Item::Topic));
        let names = titles.iter().map(Item::Title).chain(themes.iter().map(Item::Theme));
        questions.chain(choices).chain(pairs.iter().map(Item::Pair)).chain(names)
    }

    pub fn n(&self) -> usize {
        self.all().count()
    }

    pub fn item(&self, i: usize) -> Option<Item<'_>> {
        self.all().nth(i)
    }

    /// Tells these items from those of another version.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

/// Facts (with the day of November 2026 on which they were said), a question, and words of which a right
/// answer contains one; no words: the facts do not tell, and a right answer says so.
#[derive(Deserialize, Hash)]
pub(super) struct Question {
    pub facts: Vec<(i8, String)>,
    pub asked: String,
    pub answers: Vec<String>,
}

impl Question {
    /// Whether an answer, or none, is right.
    pub fn is_answered_by(&self, answer: Option<&str>) -> bool {
        match answer {
            Some(text) => {
                let text = text.to_lowercase();
                self.answers.iter().any(|answer| text.contains(answer))
            }
            None => self.answers.is_empty(),
        }
    }
}

/// A message of Ana's on Monday, 16 November 2026, and the words that each of its facts has to
/// contain. No facts: nothing is to be noted.
#[derive(Deserialize, Hash)]
pub(super) struct Told {
    pub text: String,
    pub facts: Vec<Vec<String>>,
}

/// A message, and whether it is to be stored.
#[derive(Deserialize, Hash)]
pub(super) struct Routed {
    pub text: String,
    pub store: bool,
}

/// What was said before, what is said next, and whether another topic begins.
#[derive(Deserialize, Hash)]
pub(super) struct Topic {
    pub history: Vec<String>,
    pub next: String,
    pub new: bool,
}

/// An earlier fact, a later one, and how they relate.
#[derive(Deserialize, Hash)]
pub(super) struct Pair {
    pub earlier: String,
    pub later: String,
    pub relation: Relation,
}

/// Lines of a chat that Ana begins, and words of which its title has one.
#[derive(Deserialize, Hash)]
pub(super) struct Title {
    pub lines: Vec<String>,
    pub words: Vec<String>,
}

/// Facts with one thing in common, and words of which its name has one.
#[derive(Deserialize, Hash)]
pub(super) struct Theme {
    pub facts: Vec<String>,
    pub words: Vec<String>,
}
