//! Evidence of several levels under one budget (DESIGN §6): facts, and whole raw messages that no
//! chosen fact covers yet. Intact units only (invariant 7).

use std::collections::BTreeSet;

use super::MessageId;

/// A unit that may be chosen.
#[derive(Debug, Clone)]
pub struct Unit<'a> {
    pub relevance: f64,
    /// What it takes of the budget.
    pub n_characters: usize,
    /// The messages it stands for: a fact those that it came from, a message itself.
    pub covers: &'a [MessageId],
}

/// How many units that don't fit are passed over before selection ends: a shorter one further down
/// may still fit, but should not be far-fetched.
const N_PASSED_OVER: usize = 30;

/// Units by falling relevance, without those whose messages are covered already, as many as fit in
/// `budget_characters`; the numbers of the chosen, best first. Ties go to the smaller number.
#[must_use]
pub fn select_mixed(units: &[Unit<'_>], budget_characters: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..units.len()).collect();
    order.sort_by(|&a, &b| units[b].relevance.total_cmp(&units[a].relevance).then(a.cmp(&b)));
    let mut covered: BTreeSet<MessageId> = BTreeSet::new();
    let mut chosen = Vec::new();
    let (mut left, mut n_passed_over) = (budget_characters, 0);
    for i in order {
        let unit = &units[i];
        if !unit.covers.is_empty() && unit.covers.iter().all(|m| covered.contains(m)) {
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
        covered.extend(unit.covers);
        chosen.push(i);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covered_and_too_long_units_are_passed_over() {
        let (a, b, both) = ([MessageId(1)], [MessageId(2)], [MessageId(1), MessageId(2)]);
        let unit = |relevance, n_characters, covers| Unit { relevance, n_characters, covers };
        let units = [
            unit(0.5, 10, &a[..]),
            unit(0.9, 10, &a[..]),
            unit(0.4, 25, &b[..]),
            unit(0.3, 15, &both[..]),
            unit(0.2, 5, &b[..]),
        ];
        assert_eq!(select_mixed(&units, 30), [1, 3]);
        assert_eq!(select_mixed(&units, 35), [1, 2]);
        assert_eq!(select_mixed(&units, 12), [1]);
        assert_eq!(select_mixed(&units, 4), Vec::<usize>::new());
    }
}
