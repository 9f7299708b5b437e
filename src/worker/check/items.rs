//! The built-in items of `model check`: invented people, written for this program.

use crate::prompts::Relation;

/// Facts (with the day of November 2026 on which they were said), a question, and what a right
/// answer contains; nothing: the facts do not tell, and a right answer says so.
pub(super) struct Question {
    pub facts: &'static [(i8, &'static str)],
    pub asked: &'static str,
    pub answer: Option<&'static str>,
}

const fn ask(
    facts: &'static [(i8, &'static str)],
    asked: &'static str,
    answer: Option<&'static str>,
) -> Question {
    Question { facts, asked, answer }
}

pub(super) const QUESTIONS: [Question; 20] = [
    ask(
        &[(2, "Ana lives in Lund."), (3, "Ana's sister Ida is a nurse.")],
        "Where does Ana live?",
        Some("lund"),
    ),
    ask(
        &[(2, "Ben's dog is called Biscuit."), (4, "Ben plays the cello.")],
        "What is Ben's dog called?",
        Some("biscuit"),
    ),
    ask(
        &[(1, "Carla works as a baker."), (6, "Carla is allergic to walnuts.")],
        "What is Carla allergic to?",
        Some("walnut"),
    ),
    ask(
        &[(5, "Deniz is 34 years old."), (5, "Deniz has two cats.")],
        "How old is Deniz?",
        Some("34"),
    ),
    ask(
        &[(3, "Elif lives in Bursa."), (9, "Elif moved to Izmir on 7 November 2026.")],
        "Where does Elif live now?",
        Some("izmir"),
    ),
    ask(
        &[(1, "Farid drives a blue van."), (2, "Farid's van broke down on 1 November 2026.")],
        "When did Farid's van break down?",
        Some("1 november"),
    ),
    ask(
        &[(7, "Greta's favourite tea is mint."), (8, "Greta dislikes coffee.")],
        "What is Greta's favourite tea?",
        Some("mint"),
    ),
    ask(
        &[(4, "Hugo is learning Finnish."), (4, "Hugo's teacher is called Aino.")],
        "Who teaches Hugo Finnish?",
        Some("aino"),
    ),
    ask(
        &[(2, "Ines plans to run a marathon in May 2027."), (3, "Ines runs every morning.")],
        "What does Ines plan for May 2027?",
        Some("marathon"),
    ),
    ask(
        &[(6, "Jakob's flight to Porto is on 20 November 2026."), (6, "Jakob has a window seat.")],
        "When does Jakob fly to Porto?",
        Some("20 november"),
    ),
    ask(
        &[(1, "Kemi studies chemistry in Lagos."), (2, "Kemi sings in a choir.")],
        "What does Kemi study?",
        Some("chemistry"),
    ),
    ask(
        &[(3, "Lena's brother Otto is a carpenter."), (4, "Lena paints birds.")],
        "What does Lena's brother do?",
        Some("carpenter"),
    ),
    ask(
        &[(2, "Max is a golden retriever."), (8, "Max is a Labrador mix.")],
        "What breed is Max, by the latest note?",
        Some("labrador"),
    ),
    ask(
        &[(5, "Nora's garden has three apple trees."), (6, "Nora sold her bicycle.")],
        "How many apple trees does Nora have?",
        Some("three"),
    ),
    ask(
        &[(2, "Ana lives in Lund."), (3, "Ana's sister Ida is a nurse.")],
        "What is Ana's favourite film?",
        None,
    ),
    ask(
        &[(2, "Ben's dog is called Biscuit."), (4, "Ben plays the cello.")],
        "Where was Ben born?",
        None,
    ),
    ask(
        &[(1, "Carla works as a baker."), (6, "Carla is allergic to walnuts.")],
        "How many children does Carla have?",
        None,
    ),
    ask(
        &[(5, "Deniz is 34 years old."), (5, "Deniz has two cats.")],
        "What car does Deniz drive?",
        None,
    ),
    ask(
        &[(7, "Greta's favourite tea is mint."), (8, "Greta dislikes coffee.")],
        "When is Greta's birthday?",
        None,
    ),
    ask(&[(4, "Hugo is learning Finnish.")], "What is the name of Hugo's wife?", None),
];

/// A message of Ana's on Monday, 16 November 2026, and the words that each of its facts has to
/// contain. No facts: nothing is to be noted.
pub(super) struct ExtractionItem {
    pub text: &'static str,
    pub facts: &'static [&'static [&'static str]],
}

const fn told(text: &'static str, facts: &'static [&'static [&'static str]]) -> ExtractionItem {
    ExtractionItem { text, facts }
}

pub(super) const TOLD: [ExtractionItem; 12] = [
    told("I moved to Lund last year.", &[&["lund"]]),
    told(
        "My dog Max is a golden retriever. He loves playing fetch.",
        &[&["max", "retriever"], &["fetch"]],
    ),
    told("I'm a nurse at the city hospital.", &[&["nurse"]]),
    told("My sister Ida is getting married on 12 June 2027.", &[&["ida", "12 june"]]),
    told("Yesterday I adopted a cat called Miso.", &[&["miso"]]),
    told("I can't eat peanuts, I'm allergic.", &[&["peanut"]]),
    told("I play the cello in an orchestra every Thursday.", &[&["cello"]]),
    told("My favourite author is Tove Jansson.", &[&["jansson"]]),
    told("How was your day?", &[]),
    told("Thanks, that helps a lot!", &[]),
    told("Good morning!", &[]),
    told("Can you explain how tides work?", &[]),
];

/// A message, and whether it is to be stored.
pub(super) const ROUTED: [(&str, bool); 10] = [
    ("My brother lives in Porto.", true),
    ("I'm allergic to cats.", true),
    ("I started a new job at the library.", true),
    ("My birthday is on 3 March.", true),
    ("I really dislike olives.", true),
    ("What time is it?", false),
    ("Thanks a lot!", false),
    ("Hello there", false),
    ("Can you help me with an email?", false),
    ("Ok, sounds good.", false),
];

/// What was said before, what is said next, and whether another topic begins.
pub(super) const TOPICS: [(&[&str], &str, bool); 6] = [
    (
        &["My dog Max is ill.", "Oh no, what does he have?"],
        "The vet thinks it is an infection.",
        false,
    ),
    (&["My dog Max is ill.", "Oh no, what does he have?"], "How do I file my taxes?", true),
    (&["I baked bread today.", "Which flour did you use?"], "Rye, from the mill nearby.", false),
    (&["I baked bread today.", "Lovely, rye is tasty."], "My flight to Rome was cancelled.", true),
    (&["I run every morning.", "How far do you run?"], "Six kilometres, along the river.", false),
    (
        &["I run every morning.", "That is a good habit."],
        "My sister is getting married in June.",
        true,
    ),
];

/// An earlier fact, a later one, and how they relate.
pub(super) const PAIRS: [(&str, &str, Relation); 12] = [
    ("Max is a golden retriever.", "Max is a Labrador mix.", Relation::Update),
    ("Ana lives in Oslo.", "Ana lives in Lund.", Relation::Update),
    ("Ben is 33 years old.", "Ben is 34 years old.", Relation::Update),
    ("Carla works as a baker.", "Carla works as a teacher now.", Relation::Update),
    ("Deniz drives an Opel.", "Deniz drives an Audi.", Relation::Update),
    ("Max loves playing fetch.", "Max is now 5 years old.", Relation::Both),
    ("Ana lives in Lund.", "Ana has a dog.", Relation::Both),
    ("Ben plays the cello.", "Ben's sister plays the piano.", Relation::Both),
    ("Carla is allergic to walnuts.", "Carla likes rye bread.", Relation::Both),
    ("Deniz has two cats.", "Deniz visited Rome in 2024.", Relation::Both),
    ("Elif is a nurse.", "Elif works as a nurse.", Relation::Same),
    ("Farid likes mint tea.", "Farid enjoys mint tea.", Relation::Same),
];
