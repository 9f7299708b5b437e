//! Selects facts and whole raw messages under one budget; units that repeat selected ones
//! come last. Units are never cut (invariant 7).

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};

use super::MessageId;

/// A unit that may be selected.
#[derive(Debug, Clone)]
pub struct Unit<'a> {
    /// Larger is better: [`worth`], or the relevance where all units are of one kind.
    pub worth: f64,
    /// Its cost.
    pub n_characters: usize,
    /// Fact or message.
    pub kind: UnitKind<'a>,
}

/// What a unit is, and the messages it stands for.
#[derive(Debug, Clone, Copy)]
pub enum UnitKind<'a> {
    /// A semantic and its source messages. Two facts of one message do not repeat each other.
    Fact(&'a [MessageId]),
    /// A whole message.
    Message(MessageId),
}

/// Factor on a message's worth once a fact from it is selected: it still adds the words that the fact
/// lacks. On the dev conversations 1/40 finds as many messages as leaving it out, and a tenth more of the
/// answers' words (docs/log.md).
const MESSAGE_AFTER_ITS_FACT: f64 = 0.025;

/// Factor on a fact's worth once all its messages are selected: it still resolves "I" and "last week" to
/// a name and a date.
const FACT_AFTER_ITS_MESSAGES: f64 = 0.1;

/// Relevance weighed against length: `relevance / n_characters^0.6`. By relevance alone, long units crowd
/// out short ones; by relevance per character, fragments crowd out everything else. On the dev
/// conversations of LoCoMo all powers from 0.5 to 0.7 find as much, to half a point
/// (docs/log.md).
pub fn worth(relevance: f64, n_characters: usize) -> f64 {
    const POWER: f64 = 0.6;
    relevance / (n_characters.max(1) as f64).powf(POWER)
}

/// How many units that do not fit are skipped before selection ends: a shorter one further down may
/// still fit, but should not be too irrelevant.
const N_PASSED_OVER: usize = 30;

/// A unit in the selection queue: by remaining worth, then by the smaller index.
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

/// Greedily selects units by worth, as many as fit in `budget_characters`; a unit that repeats selected
/// ones is worth less by then. Returns indices into `units`, in the order of selection.
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
