//! Evidence of several levels under one budget (DESIGN §6): facts and whole raw messages, what repeats
//! chosen ones last. Intact units only (invariant 7).

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};

use super::MessageId;

/// A unit that may be chosen.
#[derive(Debug, Clone)]
pub struct Unit<'a> {
    /// What it is chosen by: [`worth`], or in a plain list its relevance.
    pub worth: f64,
    /// What it takes of the budget.
    pub n_characters: usize,
    pub kind: UnitKind<'a>,
}

/// What a unit is, and the messages it stands for.
#[derive(Debug, Clone, Copy)]
pub enum UnitKind<'a> {
    /// A semantic and where it comes from. Two facts of one message are two facts.
    Fact(&'a [MessageId]),
    Message(MessageId),
}

/// What is left of a message's worth once a chosen fact says what it says: it comes when little else is
/// left to tell, with the words that the fact has not. On the dev conversations a fortieth finds as many
/// messages as leaving it out, and a tenth more of the answers' words (docs/log.md).
const MESSAGE_AFTER_ITS_FACT: f64 = 0.025;

/// What is left of a fact's worth once all its messages have been chosen whole: its date is worked out
/// and its subject named, where the message says "I" and "last week".
const FACT_AFTER_ITS_MESSAGES: f64 = 0.1;

/// Relevance for its length. By relevance alone long units crowd out short ones; by relevance a
/// character, scraps crowd out what tells something. On the dev conversations of LoCoMo every power
/// from 0.5 to 0.7 finds as much, to half a point (docs/log.md).
#[must_use]
pub fn worth(relevance: f64, n_characters: usize) -> f64 {
    const POWER: f64 = 0.6;
    relevance / (n_characters.max(1) as f64).powf(POWER)
}

/// How many units that don't fit are passed over before selection ends: a shorter one further down
/// may still fit, but should not be far-fetched.
const N_PASSED_OVER: usize = 30;

/// A unit in the order of choosing: by what is left of its worth, of equals the smaller number.
#[derive(Debug, PartialEq)]
struct Candidate {
    worth: f64,
    i: usize,
    is_repeat: bool,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.worth.total_cmp(&other.worth).then(other.i.cmp(&self.i))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Units by falling worth, as many as fit in `budget_characters`; one that repeats what was chosen is
/// worth less by then. The numbers of the chosen, in the order of choosing; ties go to the smaller.
#[must_use]
pub fn select_mixed(units: &[Unit<'_>], budget_characters: usize) -> Vec<usize> {
    let candidate =
        |(i, unit): (usize, &Unit<'_>)| Candidate { worth: unit.worth, i, is_repeat: false };
    let mut left: BinaryHeap<Candidate> = units.iter().enumerate().map(candidate).collect();
    let (mut by_facts, mut whole) = (BTreeSet::new(), BTreeSet::new());
    let mut chosen = Vec::new();
    let (mut room, mut n_passed_over) = (budget_characters, 0);
    while let Some(Candidate { worth, i, is_repeat }) = left.pop() {
        let unit = &units[i];
        let (repeats, share) = match unit.kind {
            UnitKind::Fact(messages) => {
                let all_whole = !messages.is_empty() && messages.iter().all(|m| whole.contains(m));
                (all_whole, FACT_AFTER_ITS_MESSAGES)
            }
            UnitKind::Message(message) if whole.contains(&message) => continue,
            UnitKind::Message(message) => (by_facts.contains(&message), MESSAGE_AFTER_ITS_FACT),
        };
        if repeats && !is_repeat {
            left.push(Candidate { worth: worth * share, i, is_repeat: true });
            continue;
        }
        if unit.n_characters > room {
            n_passed_over += 1;
            if n_passed_over > N_PASSED_OVER {
                break;
            }
            continue;
        }
        room -= unit.n_characters;
        match unit.kind {
            UnitKind::Fact(messages) => by_facts.extend(messages.iter().copied()),
            UnitKind::Message(message) => drop(whole.insert(message)),
        }
        chosen.push(i);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(worth: f64, n_characters: usize, kind: UnitKind<'_>) -> Unit<'_> {
        Unit { worth, n_characters, kind }
    }

    #[test]
    fn what_repeats_comes_last_and_what_is_too_long_not_at_all() {
        let (one, both) = ([MessageId(1)], [MessageId(1), MessageId(2)]);
        let units = [
            unit(0.5, 10, UnitKind::Message(MessageId(1))),
            unit(0.9, 10, UnitKind::Fact(&one)),
            unit(0.6, 10, UnitKind::Fact(&one)),
            unit(0.4, 25, UnitKind::Message(MessageId(2))),
            unit(0.3, 15, UnitKind::Fact(&both)),
            unit(0.2, 5, UnitKind::Message(MessageId(2))),
        ];
        let check = |budget, expected: &[usize]| {
            assert_eq!(select_mixed(&units, budget), expected, "{budget}");
        };
        check(100, &[1, 2, 3, 4, 0]);
        check(60, &[1, 2, 3, 4]);
        check(55, &[1, 2, 3, 0]);
        check(35, &[1, 2, 4]);
        check(25, &[1, 2, 5]);
        check(4, &[]);
    }

    #[test]
    fn a_fact_beside_its_whole_message_comes_after_others_half_as_good() {
        let (one, two) = ([MessageId(1)], [MessageId(2)]);
        let units = [
            unit(0.9, 1, UnitKind::Message(MessageId(1))),
            unit(0.8, 1, UnitKind::Fact(&one)),
            unit(0.4, 1, UnitKind::Fact(&two)),
            unit(0.9, 1, UnitKind::Message(MessageId(1))),
            unit(0.7, 1, UnitKind::Fact(&[])),
        ];
        assert_eq!(select_mixed(&units, 9), [0, 4, 2, 1], "and no message twice");
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_chosen_twice_or_beyond_the_budget(
            drawn in proptest::collection::vec((0.0..1.0f64, 1usize..40, 0i64..6, proptest::bool::ANY), 0..40),
            budget in 0usize..400,
        ) {
            let messages: Vec<[MessageId; 1]> = drawn.iter().map(|d| [MessageId(d.2)]).collect();
            let units: Vec<Unit<'_>> = drawn
                .iter()
                .zip(&messages)
                .map(|(&(worth, n, id, is_fact), own)| {
                    unit(worth, n, if is_fact { UnitKind::Fact(own) } else { UnitKind::Message(MessageId(id)) })
                })
                .collect();
            let chosen = select_mixed(&units, budget);
            let distinct: BTreeSet<usize> = chosen.iter().copied().collect();
            proptest::prop_assert_eq!(distinct.len(), chosen.len());
            proptest::prop_assert!(chosen.iter().map(|&i| units[i].n_characters).sum::<usize>() <= budget);
            // With room for everything, everything is told: only a message's second copy is left out.
            let all = select_mixed(&units, usize::MAX);
            for (i, unit) in units.iter().enumerate() {
                let told = match unit.kind {
                    UnitKind::Fact(_) => all.contains(&i),
                    UnitKind::Message(id) => all.iter().any(|&j| matches!(units[j].kind, UnitKind::Message(other) if other == id)),
                };
                proptest::prop_assert!(told, "{i} of {units:?}");
            }
        }
    }

    #[test]
    fn of_two_as_relevant_the_shorter_is_worth_more() {
        assert!(worth(0.5, 100) > worth(0.5, 200));
        assert!(worth(0.6, 110) > worth(0.5, 100), "a little longer is no harm");
        assert!(worth(0.5, 0).is_finite());
    }
}
