//! Advice is asked for: what it has to heed, above all what somebody may not eat.

use super::Statement;
use super::answer::LIST_MAX;
use super::attributes::is_creature;
use super::evidence::{Evidence, is_about_person};
use super::lexicon;
use super::lists::{Pairs, Words};
use super::patterns::Patterns;
use super::question::{Kind, Question};
use super::sentences::sentences;

static ADVICE: Patterns = Patterns::new("advice");
static ASKS_TO_EAT: Patterns = Patterns::new("asks to eat");
static ASKS_TO_TAKE: Patterns = Patterns::new("asks to take medicine");
static DENIES: Words = Words::new("denies a food");
static FOOD: Words = Words::new("food");
static KINDS_OF_FOOD: Pairs = Pairs::new("kinds of food");
static MEDICINES: Words = Words::new("medicines");
static MEDICINE_ENDINGS: Words = Words::new("medicine endings");
static MAY_NOT_EAT: Patterns = Patterns::new("may not eat");
static NO_FOOD: Words = Words::new("allergens that are no food");

/// Whether it asks what to do: "What should I get my brother for his birthday?"
pub fn asks_advice(text: &str) -> bool {
    sentences(text).iter().any(|sentence| {
        let words: Vec<String> =
            lexicon::words(sentence).take(40).map(|word| word.to_lowercase()).collect();
        is_advice(&words.iter().map(String::as_str).collect::<Vec<_>>())
    })
}

/// As [`asks_advice`], of one sentence's words in lowercase.
pub(super) fn is_advice(lower: &[&str]) -> bool {
    // "Which novel should I be reading?" asks for what was told.
    let is_going_on =
        |words: &[&str]| matches!(words, ["should", "i", "be", verb] if verb.ends_with("ing"));
    ADVICE.match_any(lower) && !lower.windows(4).any(is_going_on)
}

/// What may harm somebody, so that advice about it has to heed what was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heeded {
    /// What somebody may not eat or drink.
    Food,
    /// What somebody is allergic to, or takes.
    Medicine,
}

impl Heeded {
    /// What memory is asked for besides.
    pub fn sought(self) -> &'static str {
        match self {
            Self::Food => "Who can't eat something, is allergic or vegetarian?",
            Self::Medicine => "Who is allergic to a medicine, or takes one?",
        }
    }

    /// Whether a statement says what somebody may not have of it.
    pub(super) fn forbids(self, statement: &Statement) -> bool {
        let value = statement.value.as_deref().unwrap_or_default();
        let words = |text: &str| lexicon::words(text).map(str::to_lowercase).collect::<Vec<_>>();
        let names = |list: &Words| words(value).iter().any(|word| list.has(word));
        match (self, statement.attribute.as_deref()) {
            (Self::Food, Some("allergy")) => !names(&NO_FOOD) && !names(&MEDICINES),
            (Self::Medicine, Some("allergy")) => names(&MEDICINES),
            (Self::Food, Some("diet" | "diet restriction")) => true,
            (Self::Food, _) => MAY_NOT_EAT.match_any(&words(&statement.text)),
            (Self::Medicine, _) => {
                let words = words(&statement.text);
                let takes = |word: &String| matches!(word.as_str(), "take" | "takes" | "on");
                words.iter().any(takes) && words.iter().any(|word| is_medicine(word))
            }
        }
    }
}

/// A word in lowercase.
fn is_medicine(word: &str) -> bool {
    let ends = || MEDICINE_ENDINGS.iter().any(|ending| word.ends_with(ending));
    MEDICINES.has(word) || word.len() > 7 && ends()
}

/// Whether it asks if somebody may take a medicine, or how much.
pub fn asks_to_take_medicine(text: &str) -> bool {
    sentences(text).iter().any(|sentence| {
        let lower: Vec<String> = lexicon::words(sentence).map(str::to_lowercase).collect();
        lower.iter().any(|word| is_medicine(word)) && ASKS_TO_TAKE.match_any(&lower)
    })
}

/// What advice has to heed, if it is about food or a medicine.
pub fn heeded(advice: &str) -> Option<Heeded> {
    if lexicon::words(advice).any(|word| is_medicine(&word.to_lowercase())) {
        return Some(Heeded::Medicine);
    }
    let stems = lexicon::content_stems(advice);
    let named = |list: &str| list.split(' ').any(|word| stems.contains(&lexicon::stem(word)));
    let is_named = || KINDS_OF_FOOD.iter().any(|(_, foods)| named(foods));
    let is_food = |word: &str| FOOD.has(&word.to_lowercase());
    (lexicon::words(advice).any(is_food) || is_named()).then_some(Heeded::Food)
}

/// Whether it asks if somebody may eat something, or what.
pub(super) fn asks_to_eat(asked: &Question) -> bool {
    let lower: Vec<String> = lexicon::words(&asked.text).map(str::to_lowercase).collect();
    ASKS_TO_EAT.match_any(&lower)
}

/// What those who are asked about may not have, the newest first.
pub(super) fn restrictions<'a>(
    heeded: Heeded,
    asked: &Question,
    evidence: &'a [Evidence],
    person: Option<&str>,
) -> Vec<&'a Evidence> {
    told_of(asked, evidence, person, &|statement| heeded.forbids(statement))
}

/// What is told of those who are asked about and `is_sought`, the newest first.
fn told_of<'a>(
    asked: &Question,
    evidence: &'a [Evidence],
    person: Option<&str>,
    is_sought: &dyn Fn(&Statement) -> bool,
) -> Vec<&'a Evidence> {
    // "Can my son have …", "Can he have …": whoever that is.
    let lower: Vec<String> = lexicon::words(&asked.text).map(str::to_lowercase).collect();
    let points =
        lower.iter().any(|w| matches!(&**w, "he" | "she" | "him" | "her" | "they" | "them"));
    let kin: Vec<&String> = lower.iter().filter(|word| is_creature(word)).collect();
    let is_asked_about = |e: &&Evidence| {
        let subject = e.statement.subject.as_deref().unwrap_or_default();
        let words: Vec<String> = lexicon::words(subject).map(str::to_lowercase).collect();
        if !asked.names.is_empty() {
            return asked.names.iter().any(|name| words.contains(name));
        }
        let is_own = is_about_person(e, person);
        if points { !is_own } else { is_own || kin.iter().any(|word| words.contains(word)) }
    };
    let mut found: Vec<&Evidence> = evidence
        .iter()
        .filter(|e| !e.superseded && e.successor.is_none())
        .filter(is_asked_about)
        .filter(|e| is_sought(&e.statement))
        .collect();
    found.sort_by_key(|e| std::cmp::Reverse((e.at, e.order)));
    found.truncate(LIST_MAX);
    found
}

/// The restrictions that speak of what a question asks to eat: "Can I eat hazelnut cake?" with an allergy to nuts. "What can Sara eat?" is
/// about all of hers.
pub(super) fn forbidden<'a>(
    asked: &Question,
    evidence: &'a [Evidence],
    person: Option<&str>,
) -> Vec<&'a Evidence> {
    let may_ask = !asked.past && matches!(asked.kind, Kind::YesNo | Kind::What);
    if !may_ask || !asks_to_eat(asked) {
        return Vec::new();
    }
    let says_eat = || lexicon::words(&asked.text).any(|word| word.eq_ignore_ascii_case("eat"));
    if asked.kind == Kind::What && !asked.names.is_empty() && says_eat() {
        return restrictions(Heeded::Food, asked, evidence, person);
    }
    let eaten: Vec<&str> = asked
        .words
        .iter()
        .map(String::as_str)
        .filter(|word| !FOOD.has(word) && !asked.names.iter().any(|name| name == word))
        .collect();
    // "takes ramipril and no grapefruit"
    let denies = |statement: &Statement| {
        let words: Vec<&str> = lexicon::words(&statement.text).collect();
        let is_eaten = |word: &&str| eaten.contains(&&*lexicon::stem(word));
        words.windows(2).any(|w| DENIES.has(&w[0].to_lowercase()) && is_eaten(&w[1]))
    };
    let mut found = told_of(asked, evidence, person, &|statement| {
        Heeded::Food.forbids(statement) || denies(statement)
    });
    let names = |list: &str, food: &str| list.split(' ').any(|word| lexicon::stem(word) == food);
    let is_kind = |food: &str, kind: &str| {
        KINDS_OF_FOOD.iter().any(|(kinds, foods)| names(kinds, kind) && names(foods, food))
    };
    found.retain(|e| {
        let told = lexicon::content_stems(&e.statement.text);
        told.iter().any(|told| {
            eaten.iter().any(|food| food == told || is_kind(food, told) || is_kind(told, food))
        })
    });
    found
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::super::evidence::collect;
    use super::super::question::analyse;
    use super::super::tests::evidence;
    use super::*;

    /// What forbids what is asked for.
    fn found(question: &str) -> Vec<String> {
        let at = date(2026, 11, 16).at(10, 0, 0, 0);
        let told = [
            "Ana is allergic to nuts",
            "Ana is allergic to penicillin",
            "Ana is lactose intolerant",
            "Ana doesn't eat mushrooms",
            "Ana likes cats",
            "Ana takes ramipril every morning and no grapefruit",
            "Sara is vegetarian",
            "Tom is vegan",
            "Finn has a peanut allergy",
            "Ana's daughter can't have dairy",
        ];
        let told: Vec<_> = told.iter().map(|text| evidence(text, at)).collect();
        let evidence = collect(&told, Some("Ana"));
        let known = ["sara", "tom", "finn"].map(str::to_owned).into();
        let asked = analyse(question, at, Some("Ana"), &known);
        let found = forbidden(&asked, &evidence, Some("Ana"));
        found.into_iter().map(|e| e.statement.text.clone()).collect()
    }

    #[test]
    fn what_forbids_a_food() {
        let nuts: &[&str] = &["Ana is allergic to nuts"];
        for (question, expected) in [
            ("Can I eat hazelnut cake?", nuts),
            ("hey, may i have a bit of the walnut bread", nuts),
            ("Is pesto safe for me?", nuts),
            ("should we order satay", nuts),
            ("Can I have an ice cream?", &["Ana is lactose intolerant"]),
            ("am I allowed to eat mushroom soup", &["Ana doesn't eat mushrooms"]),
            (
                "can I drink grapefruit juice",
                &["Ana takes ramipril every morning and no grapefruit"],
            ),
            ("Can I take penicillin?", &[]),
            ("Can I have a cat?", &[]),
            ("Can I eat soup?", &[]),
            ("Did I eat walnuts yesterday?", &[]),
            ("Can Sara eat steak?", &["Sara is vegetarian"]),
            ("Can Sara eat walnuts?", &[]),
            ("would Tom eat honey?", &["Tom is vegan"]),
            ("What can Sara eat?", &["Sara is vegetarian"]),
            ("What can Sara do on Friday?", &[]),
            ("what can't sara eat", &["Sara is vegetarian"]),
            ("can i give Finn a peanut butter sandwich", &["Finn has a peanut allergy"]),
            ("Can he have some satay?", &["Finn has a peanut allergy"]),
            ("can my daughter have a glass of milk", &["Ana's daughter can't have dairy"]),
            ("can i have a cheese toastie", &["Ana is lactose intolerant"]),
        ] {
            assert_eq!(found(question), expected, "{question}");
        }
    }

    #[test]
    fn advice_about_food_heeds_what_nobody_may_eat() {
        for (text, expected) in [
            ("What can I eat at the party?", true),
            ("What should I cook tonight?", true),
            ("Is satay safe for me?", true),
            ("can I have some pesto", true),
            ("What should I wear tonight?", false),
        ] {
            assert_eq!(asks_advice(text) && heeded(text) == Some(Heeded::Food), expected, "{text}");
        }
        assert_eq!(heeded("Should I take ibuprofen for my back?"), Some(Heeded::Medicine));
        for (text, expected) in [
            ("can i take ibuprofen with that?", true),
            ("Is apixaban safe with grapefruit?", true),
            ("how many paracetamol can she have", true),
            ("When do I take my pills?", false),
            ("Can I take the bus?", false),
            ("Should we take a statistics class?", false),
        ] {
            assert_eq!(asks_to_take_medicine(text), expected, "{text}");
        }
        for text in ["What can I not eat?", "what can't i eat", "Can you eat?", "Did I eat?"] {
            assert!(!asks_advice(text), "{text}");
        }
    }
}
