//! Evidence of several levels under one budget (DESIGN §6): facts, and whole raw messages that no
//! chosen fact covers yet. Intact units only (invariant 7).

use std::collections::BTreeSet;

use super::MessageId;

/// A unit that may be chosen.
#[derive(Debug, Clone)]
pub struct Unit<'a> {
    /// What it is chosen by: [`worth`], or in a plain list its relevance.
    pub worth: f64,
    /// What it takes of the budget.
    pub n_characters: usize,
    pub kind: Kind<'a>,
}

/// What a unit is, and the messages it stands for.
#[derive(Debug, Clone, Copy)]
pub enum Kind<'a> {
    /// A semantic and where it comes from. Two facts of one message are two facts.
    Fact(&'a [MessageId]),
    Message(MessageId),
}

/// When a fact is passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// Never: its date is worked out and its subject named, where the message says "I" and "last
    /// week".
    Allowed,
    /// When all its messages have been chosen whole.
    Avoided,
}

/// Relevance for its length. By relevance alone long units crowd out short ones; by relevance a
/// character, scraps crowd out what tells something. On the dev conversations of LoCoMo every power
/// from 0.5 to 0.7 finds as much, to half a point (tests/bench/LOG.md).
#[must_use]
pub fn worth(relevance: f64, n_characters: usize) -> f64 {
    const POWER: f64 = 0.6;
    relevance / (n_characters.max(1) as f64).powf(POWER)
}

/// How many units that don't fit are passed over before selection ends: a shorter one further down
/// may still fit, but should not be far-fetched.
const N_PASSED_OVER: usize = 30;

/// Units by falling worth, as many as fit in `budget_characters`, without messages that a
/// chosen fact covers; the numbers of the chosen, best first. Ties go to the smaller number.
#[must_use]
pub fn select_mixed(units: &[Unit<'_>], budget_characters: usize, repeats: Repeats) -> Vec<usize> {
    let mut order: Vec<usize> = (0..units.len()).collect();
    order.sort_by(|&a, &b| units[b].worth.total_cmp(&units[a].worth).then(a.cmp(&b)));
    let (mut by_facts, mut whole) = (BTreeSet::new(), BTreeSet::new());
    let mut chosen = Vec::new();
    let (mut left, mut n_passed_over) = (budget_characters, 0);
    for i in order {
        let unit = &units[i];
        let is_repeat = match unit.kind {
            Kind::Fact(messages) => {
                repeats == Repeats::Avoided
                    && !messages.is_empty()
                    && messages.iter().all(|m| whole.contains(m))
            }
            Kind::Message(message) => by_facts.contains(&message) || whole.contains(&message),
        };
        if is_repeat {
            continue;
        }
        if unit.n_characters > left {
            n_passed_over += 1;
            if n_passed_over > N_PASSED_OVER {
                break;
            }
            continue;
        }
        left -= unit.n_characters;
        match unit.kind {
            Kind::Fact(messages) => by_facts.extend(messages.iter().copied()),
            Kind::Message(message) => {
                whole.insert(message);
            }
        }
        chosen.push(i);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covered_and_too_long_units_are_passed_over() {
        let (one, both) = ([MessageId(1)], [MessageId(1), MessageId(2)]);
        let unit = |worth, n_characters, kind| Unit { worth, n_characters, kind };
        let units = [
            unit(0.5, 10, Kind::Message(MessageId(1))),
            unit(0.9, 10, Kind::Fact(&one)),
            unit(0.6, 10, Kind::Fact(&one)),
            unit(0.4, 25, Kind::Message(MessageId(2))),
            unit(0.3, 15, Kind::Fact(&both)),
            unit(0.2, 5, Kind::Message(MessageId(2))),
        ];
        let check = |budget, expected: &[usize]| {
            assert_eq!(select_mixed(&units, budget, Repeats::Avoided), expected, "{budget}");
        };
        check(100, &[1, 2, 3, 4]);
        check(45, &[1, 2, 3]);
        check(35, &[1, 2, 4]);
        check(25, &[1, 2, 5]);
        check(4, &[]);
    }

    #[test]
    fn a_fact_may_stand_beside_its_whole_message() {
        let one = [MessageId(1)];
        let units = [
            Unit { worth: 0.9, n_characters: 1, kind: Kind::Message(MessageId(1)) },
            Unit { worth: 0.5, n_characters: 1, kind: Kind::Fact(&one) },
        ];
        assert_eq!(select_mixed(&units, 9, Repeats::Avoided), [0]);
        assert_eq!(select_mixed(&units, 9, Repeats::Allowed), [0, 1]);
    }

    #[test]
    fn of_two_as_relevant_the_shorter_is_worth_more() {
        assert!(worth(0.5, 100) > worth(0.5, 200));
        assert!(worth(0.6, 110) > worth(0.5, 100), "a little longer is no harm");
        assert!(worth(0.5, 0).is_finite());
    }
}
