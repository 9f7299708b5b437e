use super::*;

#[track_caller]
fn check(text: &str, expected: &[String]) {
    assert_eq!(of_ana(text), expected, "of {text:?}");
    assert!(expected.is_empty() || says_something(&said("Ana", None, text)), "of {text:?}");
}

#[track_caller]
fn nothing(text: &str) {
    assert_eq!(of_ana(text), Vec::<String>::new(), "of {text:?}");
    assert!(!says_something(&said("Ana", None, text)), "of {text:?}");
}

const STATEMENTS: &str = include_str!("cases/statements.txt");

#[track_caller]
fn of_section(section: &str) {
    for (text, expected) in cases(STATEMENTS, section) {
        check(&text, &expected);
    }
}

#[test]
fn one_fact() {
    of_section("one fact");
}

#[test]
fn several_facts_in_one_message() {
    of_section("several facts");
}

#[test]
fn names_and_relations_become_facts_of_their_own() {
    of_section("names and relations");
}

#[test]
fn pronouns_are_resolved_only_when_clear() {
    of_section("pronouns");
}

#[test]
fn a_pronoun_may_point_to_the_message_before() {
    let first = said("Ana", None, "My dog Max is sick");
    let second = Utterance { message: MessageId(2), ..said("Ana", None, "He has a fever") };
    let got = texts_of(&[first, second.clone()]);
    assert_eq!(got, ["Ana's dog Max is sick", "Max is Ana's dog", "Max has a fever"]);
    // The router keeps it for that.
    assert!(says_something(&second));
}

#[test]
fn what_was_said_earlier_tells_what_is_meant_and_is_a_source() {
    let at = |id, text| Utterance { message: MessageId(id), ..said("Ana", None, text) };
    let told = "My grandmother Edith is 87 and the wedding is on 6 June.";
    let earlier = [at(1, told), at(2, "It rains.")];
    for (text, expected) in [
        ("She is already 88.", "Edith is already 88"),
        ("sorry, it's the 13th of June", "The wedding is on 13 June 2027"),
    ] {
        let got = statements_after(&earlier, &[at(3, text)]);
        let got: Vec<_> = got.iter().map(|s| (s.text.as_str(), &s.messages[..])).collect();
        assert_eq!(got, [(expected, &[MessageId(3), MessageId(1)][..])]);
    }
    // What is told again is told.
    assert_eq!(statements_after(&earlier, &[at(3, told)]), super::statements(&[at(3, told)]));
}

#[test]
fn a_pronoun_points_to_whoever_was_named_last() {
    let first = said("Ana", None, "My partner Jonas is a luthier, he builds violins.");
    let second = "We have a greyhound called Pixel. She's afraid of thunder.";
    let second = Utterance { message: MessageId(2), ..said("Ana", None, second) };
    let third =
        Utterance { message: MessageId(3), ..said("Ana", None, "She is lovely. He is 41.") };
    let got = texts_of(&[first.clone(), second]);
    assert!(got.contains(&"Pixel is afraid of thunder".into()), "{got:?}");
    assert!(!texts_of(&[first, third]).contains(&"Jonas is lovely".into()));
}

#[test]
fn nothing_to_remember() {
    nothing("");
    nothing("   ");
    for (text, _) in cases(STATEMENTS, "nothing to remember") {
        nothing(&text);
    }
}

#[test]
fn other_languages_are_quoted_never_rewritten() {
    for text in [
        "Ich wohne in Berlin und habe einen Hund.",
        "Vivo en Madrid con mi familia",
        "J'habite à Paris et je suis médecin",
        "私は東京に住んでいます。",
        "Меня зовут Анна, я живу в Москве",
        "Jag bor i Lund och har en katt",
    ] {
        check(text, &[format!("Ana said: \"{text}\"")]);
    }
    // One English sentence among others is read as English.
    let expected = ["Ana said: \"Jag bor i Lund.\"", "Ana has a cat"].map(str::to_owned);
    check("Jag bor i Lund. I have a cat.", &expected);
}

#[test]
fn the_user_until_the_name_is_known() {
    let told = "My dog Max lives with my sister Emily. I'm Ana.";
    assert_eq!(
        texts_of(&[said("The user", None, told)]),
        [
            "The user's dog Max lives with the user's sister Emily",
            "Max is the user's dog",
            "Emily is the user's sister",
            "The user is Ana",
        ]
    );
}

#[test]
fn two_people_keep_their_names() {
    for (text, expected) in cases(STATEMENTS, "between two people") {
        let got = texts_of(&[said("Caroline", Some("Melanie"), &text)]);
        assert_eq!(got, expected, "of {text:?}");
    }
}

#[test]
fn the_assistant_states_nothing() {
    let mut reply = said("Assistant", None, "I live in a computer. My name is Inglenook.");
    reply.role = Role::Assistant;
    assert_eq!(super::super::statements(&[reply]), []);
}

#[test]
fn statements_name_their_message() {
    let got = super::super::statements(&[said("Ana", None, "I live in Lund")]);
    assert_eq!(
        got,
        [Statement {
            text: "Ana lives in Lund".into(),
            subject: Some("Ana".into()),
            attribute: Some("home".into()),
            value: Some("Lund".into()),
            messages: vec![MessageId(1)],
        }]
    );
}
