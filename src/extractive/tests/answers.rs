use super::*;

const ANSWERS: &str = include_str!("cases/answers.txt");

fn candidates() -> Vec<Candidate> {
    cases(ANSWERS, "what Ana told")
        .into_iter()
        .enumerate()
        .map(|(i, (text, _))| {
            let at = NOW.saturating_add(jiff::Span::new().minutes(i as i64));
            Candidate { superseded: i == 0, ..evidence(&text, at) }
        })
        .collect()
}

#[test]
fn the_best_evidence_is_quoted() {
    for (question, expected) in cases(ANSWERS, "best evidence") {
        let got = answer(&question, &candidates(), NOW, Some("Ana"));
        let text = got.as_ref().map(|a| a.text.as_str()).unwrap_or_default();
        assert!(text.contains(&expected[0]), "{question:?} got {got:?}");
        if question != "What's my name?" {
            assert!(text.contains("said on 21 November 2026"), "no source: {text}");
        }
    }
}

#[test]
fn an_unrelated_question_gets_nothing() {
    for (question, _) in cases(ANSWERS, "nothing answers") {
        assert_eq!(answer(&question, &candidates(), NOW, Some("Ana")), None, "of {question:?}");
    }
    assert_eq!(answer("", &candidates(), NOW, Some("Ana")), None);
    assert_eq!(answer("Where do I live?", &[], NOW, None), None);
}

#[test]
fn broad_questions_list_what_is_known() {
    let got = answer("What do we know about Max?", &candidates(), NOW, Some("Ana"));
    let text = got.map(|a| a.text).unwrap_or_default();
    for fact in ["your dog", "Labrador mix", "5 years old", "playing fetch"] {
        assert!(text.contains(fact), "{fact:?} not in {text}");
    }
    assert!(!text.contains("golden"), "{text}");
    let got = answer("What do you know about me?", &candidates(), NOW, Some("Ana"));
    let text = got.map(|a| a.text).unwrap_or_default();
    assert!(text.lines().count() > 6, "{text}");
    let got = answer("tell me about emily", &candidates(), NOW, Some("Ana"));
    assert!(got.is_some_and(|a| a.text.contains("Your sister Emily lives in Portland")));
}

#[test]
fn the_latest_value_wins_even_over_raw_messages() {
    let raw = |text: &str, minutes: i64| Candidate {
        relevance: 0.9,
        raw_speaker: Some("Ana".into()),
        ..evidence(text, NOW.saturating_add(jiff::Span::new().minutes(minutes)))
    };
    let all = [
        raw("My dog Max is a golden retriever. He loves playing fetch.", 0),
        raw("Actually, Max is a Labrador mix, not a purebred.", 5),
        raw("Do you think Max is a poodle?", 9),
    ];
    let got = answer("What breed is Max?", &all, NOW, Some("Ana"));
    let got = got.unwrap_or_else(|| panic!("no answer"));
    assert!(got.text.contains("Labrador") && !got.text.contains("golden"), "{}", got.text);
    assert_eq!(got.cited, [1]);
}

#[test]
fn the_person_is_addressed_and_others_are_not() {
    assert_eq!(to_second_person("", None), "");
    for (section, person) in
        [("second person of the user", None), ("second person of Ana", Some("Ana"))]
    {
        for (text, expected) in cases(ANSWERS, section) {
            assert_eq!(to_second_person(&text, person), expected[0], "of {text:?}");
        }
    }
}

#[test]
fn acknowledgements_say_back_what_is_kept() {
    let noted = |text: &str| {
        let told = said("The user", None, text);
        acknowledge(&statements(std::slice::from_ref(&told)), &told, None)
    };
    assert_eq!(
        noted("My dog Max is a golden retriever. He loves playing fetch."),
        "Noted: your dog Max is a golden retriever. Max loves playing fetch."
    );
    assert_eq!(
        noted("I moved to Lund last week"),
        "Noted: you moved to Lund (week of 9 November 2026)."
    );
    assert_eq!(noted("i have a cat called tom"), "Noted: you have a cat called Tom.");
    // Of a week only the best.
    let week = "my sister Ida is having her baby in February and she wants me to come to Umeå for two weeks, so i have to \
        sort out who takes the cat, he's called Sotis and hates everybody but me";
    assert_eq!(
        noted(week),
        "Noted: your sister Ida is having her baby in February 2027. Ida wants you to come to Umeå for two weeks. \
         Your cat is called Sotis. And 2 more."
    );
}

#[test]
fn two_questions_in_one_are_both_answered() {
    let at = date(2026, 11, 16).at(10, 0, 0, 0);
    let told = ["Clara visits the user on 5 December 2026", "Clara is allergic to nuts"];
    let candidates: Vec<Candidate> = told.iter().map(|text| evidence(text, at)).collect();
    let answered = |question: &str| {
        answer(question, &candidates, NOW, None).map(|a| (a.text, a.sure)).unwrap_or_default()
    };
    let (both, sure) = answered("When does Clara visit, and what is Clara allergic to?");
    assert!(both.contains("5 December") && both.contains("nuts") && sure, "{both}");
    let (half, sure) = answered("When does Clara visit, and what can I cook?");
    assert!(half.contains("5 December") && half.contains("about “what can I cook”"), "{half}");
    assert!(!sure);
    let (half, sure) = answered("When does Clara visit, and who is Bo?");
    assert!(half.contains("5 December") && half.contains("about “who is Bo”") && sure, "{half}");
    // The second needs the first, or is none.
    for one in ["When does Clara visit and what is she allergic to?", "Is Clara nice and kind?"] {
        assert!(!answered(one).0.contains("I find nothing"), "{one}");
    }
}

#[test]
fn a_fact_of_many_updates_answers_for_every_time() {
    // On the 5th of January, March, …, the latest is not superseded.
    let cities = ["Lisbon", "Ghent", "Turin", "Graz", "Cork"];
    let candidates: Vec<Candidate> = cities
        .iter()
        .enumerate()
        .map(|(i, city)| {
            let at = date(2026, 1 + 2 * i as i8, 5).at(10, 0, 0, 0);
            let superseded = i + 1 < cities.len();
            Candidate { superseded, ..evidence(&format!("The user lives in {city} now"), at) }
        })
        .collect();
    for (question, expected) in [
        ("Where do I live?", "You live in Cork now. (said on 5 September 2026)"),
        ("Where do I live now?", "You live in Cork now."),
        ("Where did I live in March?", "You live in Ghent. (said on 5 March 2026; no longer so)"),
        // Nothing was said in April: what was said before still held.
        ("Where did I live in April?", "You live in Ghent."),
        ("Where did I live in August 2026?", "You live in Graz."),
        ("Where did I live last month?", "You live in Cork now."),
    ] {
        let found = answer(question, &candidates, NOW, None).map(|a| a.text).unwrap_or_default();
        assert!(found.starts_with(expected), "{question}: {found}");
    }
}

#[test]
fn what_was_before_is_known_before_the_facts_are_compared() {
    let said = |text: &str, minute: i8| Candidate {
        raw_speaker: Some("user".into()),
        ..evidence(text, date(2026, 11, 21).at(10, minute, 0, 0))
    };
    let candidates = [said("I live in Lund.", 1), said("I live in Malmö now.", 5)];
    let now = date(2026, 11, 21).at(10, 9, 0, 0);
    for (question, expected) in [
        ("Where did I live before?", "You live in Lund."),
        ("Where do I live?", "You live in Malmö"),
    ] {
        let found = answer(question, &candidates, now, None).map(|a| a.text).unwrap_or_default();
        assert!(found.starts_with(expected), "{question}: {found}");
    }
}

#[test]
fn what_a_correction_leaves_is_still_answered() {
    let said = |text: &str, hour: i8| Candidate {
        raw_speaker: Some("The user".into()),
        ..evidence(text, NOW.date().at(hour, 0, 0, 0))
    };
    let check = |before: &str, change: &str, question: &str, expected: &str| {
        let candidates = [said(before, 9), said(change, 10)];
        let got = answer(question, &candidates, NOW, None).map(|a| a.text).unwrap_or_default();
        assert!(got.contains(expected), "{question} {got}");
    };
    let rent = "The rent for my flat is 850 euros and the landlord is Mr. Oduya.";
    check(rent, "I made a mistake, the rent is 870 euros.", "How much is my rent?", "870");
    check(rent, "I made a mistake, the rent is 870 euros.", "Who is my landlord?", "Oduya");
    let car = "My car is a red Fiat and it's parked on Mill Lane.";
    check(car, "My car is a blue Peugeot now.", "What car do I have?", "Peugeot");
    let vegan = "I'm vegan and I play the cello.";
    check(vegan, "I'm not vegan any more.", "Am I vegan?", "not vegan");
}

/// Kin by another word, where somebody is now, and a later saying about somebody else, whatever a model makes of it.
#[test]
fn who_and_where_the_family_is() {
    let at = NOW;
    let later = at + jiff::SignedDuration::from_hours(1);
    let mut told: Vec<Candidate> = [
        "Tomas and others have twins, Noor and Milan; they turn six on 9 January 2027",
        "Milan can't have eggs",
        "Greta is Tomas's mother",
        "Greta is at the Sint-Lucas hospital",
    ]
    .map(|text| evidence(text, at))
    .into();
    told.push(evidence("Greta is home again since 20 November 2026", later));
    told.push(evidence("Tomas's sister Ines broke her hip again on 17 November 2026", later));
    let answer = |question| {
        let changed = |_: &str, _: &str, later: &[&str]| vec![0.99; later.len()];
        let answer = answer_by(question, &told, later, Some("Tomas"), &changed);
        answer.map(|answer| answer.text).unwrap_or_default()
    };
    for (question, expected) in [
        ("When do the twins turn six?", "You have twins, Noor and Milan; they turn six"),
        ("Where is my mother now?", "Greta is home again"),
        ("Where is Greta?", "Greta is home again"),
    ] {
        let text = answer(question);
        assert!(text.starts_with(expected), "{question}: {text}");
    }
    let kids = answer("What do you know about my kids?");
    assert!(kids.contains("twins, Noor and Milan") && kids.contains("eggs"), "{kids}");
}
