//! Conflicts between two facts, by rules: keep both, let the later supersede the earlier, or merge
//! two that say the same.

use std::collections::HashSet;

use super::attributes::is_single_valued;
use super::changes::Line;
use super::{Judgement, Statement, lexicon};

/// Judges a pair, the later said after the earlier. `similarity`: cosine of their vectors.
pub fn judge(earlier: &Statement, later: &Statement, similarity: f32) -> Judgement {
    if earlier.text.trim().eq_ignore_ascii_case(later.text.trim()) {
        return Judgement::Merge(later.text.clone());
    }
    let (a, b) = (earlier, later);
    let same_subject = match (&a.subject, &b.subject) {
        (Some(x), Some(y)) => same_name(x, y),
        _ => false,
    };
    let (x, y) = (substance(&a.text), substance(&b.text));
    // A relation ("Max is Ana's dog") stays true whatever else is said.
    let relations = [a, b].map(|s| s.attribute.as_deref() == Some("relation"));
    if relations != [false, false] {
        let same = relations == [true, true] && same_subject && x == y;
        return if same { Judgement::Merge(later.text.clone()) } else { Judgement::KeepBoth };
    }
    if Line::new(&a.text, None).changed_by(&Line::new(&b.text, None)) {
        return Judgement::Supersedes;
    }
    if same_subject && let Some(judgement) = by_values(a, b) {
        return judgement.unwrap_or_else(|| merge_or_keep(a, b, &x, &y));
    }
    let (n_a, n_b) = (numbers(&a.text), numbers(&b.text));
    let same_numbers = n_a == n_b || n_a.is_empty() || n_b.is_empty();
    let same_matter = (same_subject || a.subject.is_none() && b.subject.is_none())
        && (a.attribute == b.attribute || a.attribute.is_none() || b.attribute.is_none());
    if same_matter && same_numbers && x.len() >= 2 && y.len() >= 2 && similarity >= 0.3 {
        return merge_or_keep(a, b, &x, &y);
    }
    Judgement::KeepBoth
}

/// Whether two values of one attribute, or of opposite ones, contradict; `None` if they are neither, or are the same.
pub(super) fn contradicts(earlier: &Statement, later: &Statement) -> Option<bool> {
    by_values(earlier, later)?.map(|judgement| judgement == Judgement::Supersedes)
}

/// Judges two values of one single-valued attribute, or of opposite ones; `Some(None)` if they are the same.
#[expect(clippy::option_option, reason = "no judgement, or one that needs the whole text")]
fn by_values(a: &Statement, b: &Statement) -> Option<Option<Judgement>> {
    let (attribute, other) = (a.attribute.as_deref()?, b.attribute.as_deref()?);
    let x = substance(a.value.as_deref().unwrap_or_default());
    let y = substance(b.value.as_deref().unwrap_or_default());
    let contained = x.is_subset(&y) || y.is_subset(&x);
    if attribute == other && is_single_valued(attribute) {
        // "Lund" and "Lund, Sweden"; "nurse" and "paediatric nurse".
        let more_exact = contained && MAY_BE_MORE_EXACT.contains(&attribute);
        let vague = x.is_empty() || y.is_empty() || more_exact;
        let judgement = if vague { Judgement::KeepBoth } else { Judgement::Supersedes };
        return Some((x != y).then_some(judgement));
    }
    if OPPOSITES.contains(&(attribute, other)) || OPPOSITES.contains(&(other, attribute)) {
        let denies = contained && !x.is_empty() && !y.is_empty();
        return Some(Some(if denies { Judgement::Supersedes } else { Judgement::KeepBoth }));
    }
    None
}

const OPPOSITES: [(&str, &str); 4] =
    [("likes", "dislikes"), ("allergy", "no allergy"), ("pet", "no pet"), ("has", "lacks")];

/// Attributes whose longer value may only be more exact.
#[rustfmt::skip]
const MAY_BE_MORE_EXACT: [&str; 10] = [
    "home", "birthplace", "job", "employer", "school", "address", "location", "field of study",
    "partner", "name",
];

/// Words with digits.
fn numbers(text: &str) -> HashSet<String> {
    lexicon::words(text)
        .filter(|w| w.chars().any(|c| c.is_ascii_digit()))
        .map(str::to_lowercase)
        .collect()
}

/// "The user" and "the user" are one name.
pub(super) fn same_name(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim().to_lowercase(), b.trim().to_lowercase());
    a == b || a.strip_prefix("the ").unwrap_or(&a) == b.strip_prefix("the ").unwrap_or(&b)
}

fn merge_or_keep(
    a: &Statement,
    b: &Statement,
    x: &HashSet<String>,
    y: &HashSet<String>,
) -> Judgement {
    if x.is_subset(y) {
        return Judgement::Merge(b.text.clone());
    }
    if y.is_subset(x) {
        return Judgement::Merge(a.text.clone());
    }
    Judgement::KeepBoth
}

/// Stems that carry meaning, numbers included; not "user", which stands for the person.
pub(super) fn substance(text: &str) -> HashSet<String> {
    let mut out: HashSet<String> = lexicon::content_stems(text).into_iter().collect();
    // These mean little; negation means much and stays.
    for empty in ["user", "is", "was", "be"] {
        out.remove(empty);
    }
    out
}

pub(super) fn negates(text: &str) -> bool {
    lexicon::words(text).any(|w| {
        let lower = w.to_lowercase().replace('\u{2019}', "'");
        lower.ends_with("n't")
            || matches!(
                lower.as_str(),
                "not" | "never" | "longer" | "stopped" | "quit" | "anymore" | "cannot" | "without"
            )
    })
}

#[cfg(test)]
mod tests {
    use super::super::parse_statement;
    use super::super::tests::cases;
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

    #[track_caller]
    fn of_section(section: &str, expected: &str) {
        for (earlier, later) in cases(include_str!("tests/cases/conflicts.txt"), section) {
            check(&earlier, &later[0], expected);
        }
    }

    #[test]
    fn a_new_value_takes_the_place_of_the_old_one() {
        of_section("the later one counts", "later");
    }

    #[test]
    fn what_can_be_true_together_stays() {
        of_section("both stay", "both");
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
