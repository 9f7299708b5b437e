//! The conflict router by rules: keep both, let the later one take the earlier one's place, or
//! merge two that say the same.

use std::collections::HashSet;

use super::attributes::{is_single_valued, parse_statement};
use super::{Judgement, Statement, dates, lexicon};

/// Judges a pair, the later said after the earlier. `similarity`: cosine of their vectors.
pub fn judge(earlier: &Statement, later: &Statement, similarity: f32) -> Judgement {
    judge_for(None, earlier, later, similarity)
}

/// The same, where it is known that "the user" of older facts is `person`.
pub fn judge_for(
    person: Option<&str>,
    earlier: &Statement,
    later: &Statement,
    similarity: f32,
) -> Judgement {
    if earlier.text.trim().eq_ignore_ascii_case(later.text.trim()) {
        return Judgement::Merge(later.text.clone());
    }
    let (a, b) = (completed(earlier), completed(later));
    let (stems_a, stems_b) = (substance(&a.text), substance(&b.text));
    let (not_a, not_b) = (negates(&a.text), negates(&b.text));
    let same_subject = match (&a.subject, &b.subject) {
        (Some(x), Some(y)) => same_name(&with_name(x, person), &with_name(y, person)),
        _ => false,
    };
    // Quotations are opaque, and hold no attribute.
    // Who someone is to someone outlives whatever else is said of them.
    let relation = |s: &Statement| s.attribute.as_deref() == Some("relation");
    if relation(&a) || relation(&b) {
        return if relation(&a) && relation(&b) && same_subject && stems_a == stems_b {
            Judgement::Merge(later.text.clone())
        } else {
            Judgement::KeepBoth
        };
    }
    if same_subject && let (Some(attribute), Some(other)) = (&a.attribute, &b.attribute) {
        if attribute == other && is_single_valued(attribute) {
            let (x, y) =
                (a.value.as_deref().unwrap_or_default(), b.value.as_deref().unwrap_or_default());
            return match agreement(attribute, x, y) {
                Agreement::Same => merge_or_keep(&a, &b, &stems_a, &stems_b),
                Agreement::Compatible => Judgement::KeepBoth,
                Agreement::Different => Judgement::Supersedes,
            };
        }
        if opposite(attribute, other) {
            let (x, y) = (
                substance(a.value.as_deref().unwrap_or_default()),
                substance(b.value.as_deref().unwrap_or_default()),
            );
            if !x.is_empty() && !y.is_empty() && (x.is_subset(&y) || y.is_subset(&x)) {
                return Judgement::Supersedes;
            }
            return Judgement::KeepBoth;
        }
    }
    // "doesn't live in Rome anymore", "no longer works at X": the same predicate denied.
    let same_opening = a.text.split(' ').next() == b.text.split(' ').next();
    if (same_subject || same_opening) && not_a != not_b {
        let x = without_negation(&stems_a);
        let y = without_negation(&stems_b);
        let common = x.intersection(&y).count();
        let smaller = x.len().min(y.len());
        if smaller >= 2 && common >= smaller && common >= 2 {
            return Judgement::Supersedes;
        }
    }
    if not_a == not_b {
        let numbers = |t: &str| -> HashSet<String> {
            lexicon::words(t)
                .filter(|w| w.chars().any(|c| c.is_ascii_digit()))
                .map(str::to_lowercase)
                .collect()
        };
        let (n_a, n_b) = (numbers(&a.text), numbers(&b.text));
        let dates_differ = n_a != n_b && !(n_a.is_empty() || n_b.is_empty());
        let same_matter = (same_subject || a.subject.is_none() && b.subject.is_none())
            && (a.attribute == b.attribute || a.attribute.is_none() || b.attribute.is_none());
        if same_matter
            && !dates_differ
            && stems_a.len() >= 2
            && stems_b.len() >= 2
            && similarity >= 0.3
        {
            return merge_or_keep(&a, &b, &stems_a, &stems_b);
        }
        // "X has a cat" … "X now has two cats": only with a sign of correction.
        if same_subject
            && similarity >= 0.75
            && corrects(&b.text)
            && a.attribute == b.attribute
            && a.attribute.is_none()
        {
            let common = stems_a.intersection(&stems_b).count();
            if common * 3 >= stems_a.len().min(stems_b.len()) * 2 && common >= 2 {
                return Judgement::Supersedes;
            }
        }
    }
    Judgement::KeepBoth
}

fn completed(statement: &Statement) -> Statement {
    if statement.attribute.is_some() && statement.subject.is_some() && statement.value.is_some() {
        return statement.clone();
    }
    let mut parsed = parse_statement(&statement.text);
    parsed.messages.clone_from(&statement.messages);
    parsed
}

/// "The user's dog" → "Ana's dog" once the name is known.
fn with_name(subject: &str, person: Option<&str>) -> String {
    match (person, subject.strip_prefix("The user").or_else(|| subject.strip_prefix("the user"))) {
        (Some(person), Some(rest)) => format!("{person}{rest}"),
        _ => subject.to_owned(),
    }
}

pub(super) fn same_name(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim().to_lowercase(), b.trim().to_lowercase());
    a == b || a.strip_prefix("the ").unwrap_or(&a) == b.strip_prefix("the ").unwrap_or(&b)
}

enum Agreement {
    Same,
    /// One is more exact than the other, or they don't exclude each other.
    Compatible,
    Different,
}

fn agreement(attribute: &str, a: &str, b: &str) -> Agreement {
    let (x, y) = (substance(a), substance(b));
    if x == y {
        return Agreement::Same;
    }
    if x.is_empty() || y.is_empty() {
        return Agreement::Compatible;
    }
    match attribute {
        // "Lund" and "Lund, Sweden"; "nurse" and "paediatric nurse".
        "home" | "birthplace" | "job" | "employer" | "school" | "address" | "location"
        | "field of study"
            if x.is_subset(&y) || y.is_subset(&x) =>
        {
            Agreement::Compatible
        }
        "partner" | "name" if x.is_subset(&y) || y.is_subset(&x) => Agreement::Compatible,
        _ => Agreement::Different,
    }
}

fn opposite(a: &str, b: &str) -> bool {
    matches!(
        (a, b),
        ("likes", "dislikes")
            | ("dislikes", "likes")
            | ("allergy", "no allergy")
            | ("no allergy", "allergy")
            | ("pet", "no pet")
            | ("no pet", "pet")
            | ("has", "lacks")
            | ("lacks", "has")
    )
}

fn merge_or_keep(
    a: &Statement,
    b: &Statement,
    x: &HashSet<String>,
    y: &HashSet<String>,
) -> Judgement {
    if x.is_subset(y) && no_extra_date(&a.text, &b.text) {
        return Judgement::Merge(b.text.clone());
    }
    if y.is_subset(x) && no_extra_date(&b.text, &a.text) {
        return Judgement::Merge(a.text.clone());
    }
    Judgement::KeepBoth
}

/// True if the first has no date that the second lacks.
fn no_extra_date(a: &str, b: &str) -> bool {
    let theirs = dates::find(b);
    dates::find(a).iter().all(|x| theirs.iter().any(|y| x.span == y.span))
}

/// Stems that carry meaning, the person's "user" included, numbers included.
fn substance(text: &str) -> HashSet<String> {
    let mut out: HashSet<String> = lexicon::content_stems(text).into_iter().collect();
    // "is", "has" mean little, negation means much.
    for empty in ["user", "is", "was", "be"] {
        out.remove(empty);
    }
    out
}

fn negates(text: &str) -> bool {
    lexicon::words(text).any(|w| {
        let lower = w.to_lowercase().replace('\u{2019}', "'");
        lower.ends_with("n't")
            || matches!(
                lower.as_str(),
                "not" | "never" | "longer" | "stopped" | "quit" | "anymore" | "cannot" | "without"
            )
    })
}

fn without_negation(stems: &HashSet<String>) -> HashSet<String> {
    stems
        .iter()
        .filter(|s| {
            !matches!(s.as_str(), "anymor" | "longer" | "stop" | "quit" | "long" | "anymore")
        })
        .cloned()
        .collect()
}

fn corrects(text: &str) -> bool {
    let low = text.to_lowercase();
    [" now ", " actually ", " instead", ", not ", " rather than ", " no longer ", " changed "]
        .iter()
        .any(|c| low.contains(c))
        || low.ends_with(" now")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(earlier: &str, later: &str, expected: &str) {
        let got = match judge(&parse_statement(earlier), &parse_statement(later), 0.7) {
            Judgement::KeepBoth => "both".to_owned(),
            Judgement::Supersedes => "later".to_owned(),
            Judgement::Merge(text) => format!("merge: {text}"),
        };
        assert_eq!(got, expected, "of {earlier:?} and {later:?}");
    }

    #[test]
    fn a_new_value_takes_the_place_of_the_old_one() {
        for (earlier, later) in [
            ("The user's dog Max is a golden retriever", "Max is a Labrador mix, not a purebred"),
            ("Max is a golden retriever", "Max is a Labrador mix, not a purebred"),
            ("Max is 4 years old", "Max is now 5 years old"),
            ("Ana lives in Rome", "Ana moved to Lund (week of 9 November 2026)"),
            ("Ana lives in Rome", "Ana now lives in Lund"),
            ("Ana works as a nurse", "Ana is a teacher"),
            ("Ana works at Ericsson", "Ana works for IKEA now"),
            ("The user's favourite colour is blue", "The user's favorite color is green"),
            ("Ana's name is Ana", "Ana's name is Anna"),
            ("Ana likes coffee", "Ana doesn't like coffee anymore"),
            ("Ana likes coffee", "Ana hates coffee"),
            ("Ana is vegetarian", "Ana is vegan"),
            ("Ana is allergic to peanuts", "Ana isn't allergic to peanuts"),
            ("Ana's phone number is 555-1234", "Ana's phone number is 555-9876"),
            ("Ana's wifi password is hunter2", "Ana's wifi password is swordfish"),
            ("Ana is married", "Ana is divorced"),
            ("Ana lives in Rome", "Ana no longer lives in Rome"),
            ("Ana plays the piano", "Ana doesn't play the piano anymore"),
            ("The meeting with Bob is at 3pm", "The meeting with Bob is at 4pm"),
            ("Ana's car is a Volvo", "Ana's car is a Tesla"),
        ] {
            check(earlier, later, "later");
        }
    }

    #[test]
    fn what_can_be_true_together_stays() {
        for (earlier, later) in [
            ("Max is a Labrador mix", "Max is now 5 years old"),
            ("Max loves playing fetch", "Max is a Labrador mix, not a purebred"),
            ("Max loves playing fetch", "Max is now 5 years old"),
            ("Max gets anxious during thunderstorms", "Max is now 5 years old"),
            ("Max lives with the user's sister Emily in Portland", "Max is now 5 years old"),
            ("Max is the user's dog", "Max is a Labrador mix, not a purebred"),
            ("Ana likes coffee", "Ana likes tea"),
            ("Ana has a dog named Max", "Ana has a cat named Tom"),
            ("Ana lives in Rome", "Tom lives in Lund"),
            ("Ana speaks Swedish", "Ana speaks German"),
            ("Ana is allergic to peanuts", "Ana is allergic to cats"),
            ("Ana lives in Lund", "Ana lives in Lund, Sweden with Tom"),
            ("Ana went to Rome on 3 May 2026", "Ana went to Rome on 9 June 2026"),
            ("Ana's sister is a doctor", "Ana's brother is a teacher"),
            ("Ana's car is red", "Ana's car is a Volvo"),
            ("Ana plays the piano", "Ana plays tennis"),
            ("Ana doesn't like tea", "Ana likes coffee"),
            ("The meeting with Bob is at 3pm", "The meeting with Eve is at 4pm"),
            ("Ana lived in Rome", "Ana lives in Lund"),
        ] {
            check(earlier, later, "both");
        }
    }

    #[test]
    fn what_says_the_same_becomes_one() {
        check("Ana likes tea", "Ana likes tea", "merge: Ana likes tea");
        check("Ana likes tea", "Ana likes green tea", "merge: Ana likes green tea");
        check(
            "Max loves playing fetch",
            "Max loves playing fetch in the park",
            "merge: Max loves playing fetch in the park",
        );
        check("Ana works as a nurse", "Ana is a nurse", "merge: Ana works as a nurse");
    }
}
