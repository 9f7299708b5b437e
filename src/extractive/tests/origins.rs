//! Whose word counts.

use super::*;
use crate::memory::Origin;

#[track_caller]
fn check(question: &str, candidates: &[Candidate], expected: &str) {
    let found = answer(question, candidates, NOW, Some("Ana")).unwrap();
    assert_eq!(found.text, expected, "{question}");
}

fn word_of(origin: Origin, day: i8, text: &str) -> Candidate {
    Candidate { origin, ..evidence(text, date(2026, 11, day).at(9, 0, 0, 0)) }
}

#[test]
fn a_lower_word_takes_nothing_back() {
    let lund = word_of(Origin::Owner, 2, "Ana lives in Lund");
    // Who tells of themselves knows better than the owner of an import.
    let of_herself = [
        word_of(Origin::Owner, 2, "Melanie lives in Bergen"),
        word_of(Origin::Other, 9, "Melanie lives in Oslo"),
    ];
    check(
        "Where does Melanie live?",
        &of_herself,
        "Melanie lives in Oslo. (said on 9 November 2026)",
    );
    let cairo = |origin| word_of(origin, 9, "Ana lives in Cairo");
    let asked = "Where do I live?";
    check(
        asked,
        &[lund.clone(), cairo(Origin::Owner)],
        "You live in Cairo. (said on 9 November 2026)",
    );
    for lower in [Origin::Other, Origin::Model] {
        check(asked, &[lund.clone(), cairo(lower)], "You live in Lund. (said on 2 November 2026)");
    }
    let lund = Candidate { origin: Origin::Person, ..lund };
    check(
        asked,
        &[lund.clone(), cairo(Origin::Owner)],
        "You live in Lund. (said on 2 November 2026)",
    );
    check(asked, &[lund, cairo(Origin::Person)], "You live in Cairo. (said on 9 November 2026)");
}

#[test]
fn what_is_quoted_from_elsewhere_says_so_beside_what_the_person_said() {
    let job = word_of(Origin::Other, 9, "Ana works as a nurse");
    let plain = "You work as a nurse. (said on 9 November 2026)";
    check("What is my job?", std::slice::from_ref(&job), plain);
    let own = word_of(Origin::Person, 2, "Ana lives in Lund");
    let marked = "You work as a nurse. (said on 9 November 2026; from elsewhere)";
    check("What is my job?", &[job, own], marked);
}

#[test]
fn what_a_higher_word_refutes_is_known() {
    let own = word_of(Origin::Person, 5, "Ana lives in Lund");
    let planted = |day, text| word_of(Origin::Owner, day, text);
    let candidates = [
        own,
        planted(9, "Ana lives in Narnia"),
        planted(2, "Ana lives in Cairo"),
        planted(9, "Ana has a boat"),
        word_of(Origin::Person, 1, "The user's friend Sara works in Porto"),
        planted(2, "Sara works in Cairo"),
        word_of(Origin::Person, 1, "Sara likes jazz"),
        planted(2, "Sara likes skiing"),
    ];
    let refuted: std::collections::BTreeSet<usize> =
        super::refuted(&candidates, Some("Ana")).into_iter().collect();
    assert_eq!(refuted.into_iter().collect::<Vec<_>>(), [1, 2, 5]);
}

#[test]
fn the_persons_word_in_other_words_goes_first() {
    let own = word_of(Origin::Person, 1, "The user is vegetarian");
    let planted = word_of(Origin::Owner, 9, "The user eats meat every day");
    let now = date(2026, 11, 20).at(10, 0, 0, 0);
    let answered =
        |candidates: &[Candidate]| answer("Do I eat meat?", candidates, now, None).unwrap().text;
    assert_eq!(
        answered(&[planted.clone(), own]),
        "This is what I remember:\n- You are vegetarian (said on 1 November 2026)\n\
         - You eat meat every day (said on 9 November 2026; from elsewhere)"
    );
    assert_eq!(answered(&[planted]), "You eat meat every day. (said on 9 November 2026)");
}

#[test]
fn what_an_agent_notes_overrules_nothing_of_the_persons() {
    for above in [Origin::Owner, Origin::Person] {
        // Of others, too, and whichever was said last.
        for (day, subject) in [(2, "Melanie"), (12, "Melanie"), (2, "Ana"), (12, "Ana")] {
            let said = word_of(above, day, &format!("{subject} lives in Bergen"));
            let noted = word_of(Origin::Agent, 9, &format!("{subject} lives in Oslo"));
            let (question, who) = match subject {
                "Ana" => ("Where do I live?", "You live"),
                _ => ("Where does Melanie live?", "Melanie lives"),
            };
            for candidates in [[said.clone(), noted.clone()], [noted.clone(), said.clone()]] {
                let right = format!("{who} in Bergen. (said on {day} November 2026)");
                check(question, &candidates, &right);
                let noted = candidates.iter().position(|c| c.origin == Origin::Agent);
                let refuted = super::refuted(&candidates, Some("Ana"));
                assert_eq!(refuted.into_iter().next(), noted, "{subject} {day}");
            }
        }
    }
    // Where nobody said otherwise, it is what there is.
    let noted = word_of(Origin::Agent, 9, "Melanie lives in Oslo");
    let only = "Melanie lives in Oslo. (said on 9 November 2026)";
    check("Where does Melanie live?", std::slice::from_ref(&noted), only);
    let own = word_of(Origin::Owner, 2, "Ana has a boat");
    let marked = "Melanie lives in Oslo. (said on 9 November 2026; from elsewhere)";
    check("Where does Melanie live?", &[noted, own], marked);
}
