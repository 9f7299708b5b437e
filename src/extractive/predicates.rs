//! What "X is …" and "X's Y is …" say: breed, job, age, diet, whose name.

use std::sync::LazyLock;

use regex::Regex;

use super::attributes::{Parsed, SINGLE, is_creature, is_single_valued, some};
use super::lexicon::{self, BREEDS};
use super::values::{age, place_after};

/// "Ana's NOUN is VALUE".
pub(super) fn possession(owner: &str, noun: &str, subject: &str, value: &str) -> Option<Parsed> {
    let low = noun.to_lowercase();
    let head = low.rsplit(' ').next().unwrap_or(&low).to_owned();
    let bare = value.trim_start_matches("now ").trim_start_matches("actually ");
    let first = bare.split(' ').next().unwrap_or_default();
    let name_like = !first.is_empty()
        && lexicon::starts_upper(first)
        && bare.split([' ', ',']).take_while(|w| !w.is_empty()).take(3).all(lexicon::starts_upper)
        && bare.split(' ').count() <= 3;
    if is_creature(&head) || is_creature(&low) {
        // "Ana's dog is Max" names it; all else is about the dog.
        return name_like.then(|| some(subject, "name", bare)).flatten();
    }
    let attribute = match low.as_str() {
        "name" | "first name" | "full name" | "nickname" | "last name" | "middle name"
        | "surname" => {
            if low == "name" {
                "name".to_owned()
            } else {
                low.clone()
            }
        }
        "bday" | "birthday" | "date of birth" => "birthday".into(),
        "phone" | "phone number" | "number" | "mobile" | "cell" | "telephone number"
        | "mobile number" => "phone number".into(),
        "email" | "email address" | "e-mail" | "mail" => "email".into(),
        "job" | "profession" | "occupation" | "work" | "job title" => "job".into(),
        "employer" | "company" => "employer".into(),
        "hometown" | "home town" | "birthplace" => "birthplace".into(),
        "favorite" | "favourite" => "favourite".into(),
        "age" => "age".into(),
        "dream" | "goal" | "plan" | "hobby" | "hobbies" | "plans" | "goals" => "plan".into(),
        _ => low
            .replace("favorite", "favourite")
            .replace("color", "colour")
            .replace("fav ", "favourite ")
            .replace("fave ", "favourite "),
    };
    let attribute =
        if attribute == "plan" && low.starts_with("hobb") { "hobby".into() } else { attribute };
    let about_value = first.chars().any(char::is_numeric)
        || matches!(first, "a" | "an" | "the")
        || lexicon::starts_upper(first)
        || SINGLE.contains(&attribute.as_str())
        || is_single_valued(&attribute)
        || matches!(attribute.as_str(), "plan" | "hobby");
    let thing = low.split(' ').count() == 1 && !is_single_valued(&attribute) || attribute == "car";
    if thing && predicate_colour(bare) {
        return None;
    }
    if !about_value || low.split(' ').count() > 4 {
        return None;
    }
    // "Ana's meeting is at 3pm" has a time; "Ana's car is a Tesla" is one.
    some(owner, &attribute, bare)
}

static TALL: LazyLock<Regex> = LazyLock::new(|| {
    super::pattern(r"^\d'\d+|^[\d.,']+ ?(?:cm|m|metres|meters|feet|ft|foot)[\w ]* tall")
});

fn predicate_colour(text: &str) -> bool {
    static COLOUR: LazyLock<Regex> = LazyLock::new(|| {
        super::pattern(
            r"^(?i)(?:dark |light |bright |pale )?(?:black|white|brown|grey|gray|orange|red|blue|green|yellow|purple|pink|golden|beige|cream|silver)(?: and \w+)?$",
        )
    });
    COLOUR.is_match(text)
}

pub(super) fn predicate(
    subject: &str,
    tail: &str,
    low: &str,
    negated: bool,
    past: bool,
) -> Option<Parsed> {
    let starts = |prefix: &str| low.starts_with(prefix).then(|| tail[prefix.len()..].to_owned());
    if negated {
        if let Some(v) = starts("allergic to ") {
            return some(subject, "no allergy", &v);
        }
        return None;
    }
    if let Some(n) = age(low) {
        return some(subject, if past { "past" } else { "age" }, &n);
    }
    for (prefix, attribute) in [
        ("named ", "name"),
        ("called ", "name"),
        ("from ", "birthplace"),
        ("originally from ", "birthplace"),
        ("born in ", "birthplace"),
        ("born on ", "birthday"),
        ("based in ", "home"),
        ("living in ", "home"),
        ("moving to ", "plan"),
        ("allergic to ", "allergy"),
        ("married to ", "partner"),
        ("engaged to ", "partner"),
        ("dating ", "partner"),
        ("into ", "likes"),
        ("a fan of ", "likes"),
        ("a big fan of ", "likes"),
        ("a huge fan of ", "likes"),
        ("fond of ", "likes"),
        ("obsessed with ", "likes"),
        ("afraid of ", "fear"),
        ("scared of ", "fear"),
        ("terrified of ", "fear"),
        ("working as ", "job"),
        ("working at ", "employer"),
        ("working for ", "employer"),
        ("employed at ", "employer"),
        ("employed by ", "employer"),
        ("studying at ", "school"),
        ("studying ", "field of study"),
        ("learning ", "learning"),
        ("fluent in ", "language"),
        ("planning ", "plan"),
        ("diagnosed with ", "health"),
        ("interested in ", "likes"),
        ("training for ", "plan"),
    ] {
        if let Some(v) = starts(prefix) {
            let v = match prefix {
                "living in " | "based in " => place_after(
                    &format!("in {low_v}", low_v = v.to_lowercase()),
                    &format!("in {v}"),
                    "in",
                )
                .unwrap_or(v),
                _ => v,
            };
            let attribute = match attribute {
                "birthplace"
                    if prefix == "born in " && v.starts_with(|c: char| c.is_ascii_digit()) =>
                {
                    "birthday"
                }
                "home" if past => "past home",
                other => other,
            };
            return some(subject, attribute, &v);
        }
    }
    let words: Vec<&str> = low.split(' ').collect();
    // "The user is Ana".
    if words.len() <= 2
        && !subject.contains("'s")
        && tail
            .split(' ')
            .all(|w| lexicon::starts_upper(w) && w.chars().all(|c| c.is_alphabetic() || c == '-'))
        && super::names::may_be_a_name(tail)
    {
        return some(subject, "name", tail);
    }
    if matches!(
        words.first(),
        Some(&("vegetarian" | "vegan" | "pescatarian" | "gluten-free" | "gluten" | "omnivore"))
    ) || matches!(words.as_slice(), ["a" | "an", "vegetarian" | "vegan" | "pescatarian", ..])
    {
        return some(subject, "diet", tail);
    }
    if matches!(
        words.first(),
        Some(&("single" | "married" | "divorced" | "engaged" | "widowed" | "separated"))
    ) && words.len() <= 5
    {
        return some(subject, "relationship status", tail);
    }
    if predicate_colour(low) {
        return some(subject, "colour", tail);
    }
    if TALL.is_match(low) {
        return some(subject, "height", tail);
    }
    // "a golden retriever", "a nurse at the hospital".
    let article = matches!(words.first(), Some(&("a" | "an")));
    let phrase: Vec<&str> = words
        .iter()
        .skip(usize::from(article))
        .take_while(|w| {
            !matches!(
                w.trim_end_matches(','),
                "and"
                    | "not"
                    | "who"
                    | "that"
                    | "which"
                    | "at"
                    | "in"
                    | "for"
                    | "with"
                    | "on"
                    | "from"
                    | "of"
                    | "by"
                    | "but"
            )
        })
        .copied()
        .collect();
    let phrase_end = phrase.iter().position(|w| w.ends_with(',')).map_or(phrase.len(), |p| p + 1);
    let phrase = &phrase[..phrase_end];
    let head = phrase.last()?.trim_matches(|c: char| !c.is_alphanumeric());
    let breed = BREEDS.contains(head)
        || phrase
            .iter()
            .any(|w| BREEDS.contains(w.trim_matches(',')) && *w != "lab" || *w == "mix");
    if breed && !matches!(head, "owner" | "breeder" | "lover") {
        let words_in = phrase.len() + usize::from(article);
        let value: Vec<&str> = tail.split(' ').take(words_in).skip(usize::from(article)).collect();
        return some(subject, "breed", &value.join(" "));
    }
    if words.iter().any(|w| w.ends_with("'s")) || matches!(words.first(), Some(&"the")) {
        // "Max is Ana's dog".
        static RELATION: LazyLock<Regex> =
            LazyLock::new(|| super::pattern(r"^(?:the user's|[\w-]+'s) [\w -]{2,40}$"));
        if RELATION.is_match(low) && is_creature(words.last()?) {
            return some(subject, "relation", tail);
        }
        return None;
    }
    if article && is_job(head) {
        return some(subject, if past { "past" } else { "job" }, tail.get(words[0].len() + 1..)?);
    }
    None
}

const JOBS: &[&str] = &[
    "nurse",
    "doctor",
    "surgeon",
    "chef",
    "cook",
    "pilot",
    "judge",
    "clerk",
    "mechanic",
    "electrician",
    "librarian",
    "musician",
    "technician",
    "physician",
    "politician",
    "student",
    "consultant",
    "accountant",
    "assistant",
    "architect",
    "analyst",
    "intern",
    "developer",
    "freelancer",
    "therapist",
    "scientist",
    "journalist",
    "dentist",
    "pharmacist",
    "vet",
    "veterinarian",
    "ceo",
    "cto",
    "founder",
    "coach",
    "model",
    "actor",
    "actress",
    "waiter",
    "waitress",
    "carpenter",
    "plumber",
    "farmer",
    "lawyer",
    "solicitor",
    "paramedic",
    "guard",
    "firefighter",
    "policeman",
    "soldier",
    "translator",
    "tutor",
    "barista",
    "bartender",
    "baker",
    "florist",
    "psychologist",
    "sociologist",
    "counselor",
    "counsellor",
    "researcher",
    "professor",
    "lecturer",
    "astronaut",
    "principal",
    "secretary",
    "entrepreneur",
    "salesman",
    "stylist",
    "hairdresser",
    "postman",
    "gardener",
    "historian",
    "mathematician",
    "sailor",
    "diver",
    "economist",
    "statistician",
    "biologist",
    "chemist",
    "physicist",
];

fn is_job(head: &str) -> bool {
    JOBS.contains(&head)
        || (head.len() > 4
            && (head.ends_with("eer")
                || head.ends_with("ist")
                || head.ends_with("er")
                || head.ends_with("or"))
            && !matches!(
                head,
                "mother"
                    | "father"
                    | "sister"
                    | "brother"
                    | "daughter"
                    | "lover"
                    | "member"
                    | "owner"
                    | "number"
                    | "survivor"
                    | "dreamer"
                    | "smoker"
                    | "user"
                    | "swimmer"
                    | "runner"
                    | "reader"
                    | "gamer"
                    | "learner"
                    | "beginner"
                    | "believer"
                    | "stepmother"
                    | "stepfather"
                    | "grandmother"
                    | "grandfather"
                    | "partner"
                    | "bookworm"
                    | "minor"
                    | "loner"
                    | "foodie"
                    | "traveler"
                    | "traveller"
                    | "winner"
                    | "supporter"
                    | "fighter"
                    | "drinker"
                    | "eater"
                    | "neighbor"
                    | "monster"
                    | "disaster"
                    | "helper"
                    | "killer"
                    | "matter"
                    | "winter"
                    | "summer"
                    | "flower"
                    | "color"
                    | "honor"
                    | "perfectionist"
                    | "optimist"
                    | "pessimist"
                    | "feminist"
                    | "activist"
                    | "minimalist"
                    | "breeder"
                    | "retriever"
                    | "pointer"
                    | "setter"
                    | "boxer"
                    | "computer"
                    | "chapter"
                    | "letter"
                    | "mentor"
                    | "leader"
                    | "hamster"
                    | "keeper"
                    | "answer"
                    | "order"
                    | "paper"
                    | "laser"
                    | "starter"
                    | "favor"
                    | "error"
                    | "mirror"
                    | "factor"
                    | "motor"
                    | "tumor"
                    | "cancer"
                    | "fever"
                    | "river"
                    | "center"
                    | "theater"
                    | "game-changer"
                    | "newcomer"
                    | "newbie"
                    | "cluster"
                    | "better"
                    | "cover"
                    | "tiger"
                    | "sweater"
                    | "weather"
                    | "character"
                    | "register"
                    | "offer"
                    | "lecturer"
            ))
}
