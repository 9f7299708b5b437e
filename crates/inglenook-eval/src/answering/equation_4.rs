//! The paper's Stage I on the product's memory: Eq. 4 on themes, then on their facts.

use std::collections::{BTreeMap, BTreeSet};

use inglenook::memory::ThemeId;
use inglenook::recall::FoundFact;
use inglenook::store::{Level, Reader, StoreError};

use crate::lexical::by_largest;
use crate::representatives::{Normaliser, Selection, select_representatives};

/// Parameters of Eq. 4.
#[derive(Clone, Copy)]
struct Rule {
    /// 1 is coverage alone, 0 is relevance alone.
    alpha: f64,
    /// Most themes.
    n_themes: usize,
    /// Most facts.
    n_semantics: usize,
    /// Selection stops when this share of the candidates is covered.
    coverage_target: f64,
}

impl Rule {
    /// The official code's.
    const PAPER: Self = Self { alpha: 0.7, n_themes: 5, n_semantics: 20, coverage_target: 1.0 };
}

/// A [`inglenook::recall::FactRule`] with the official code's parameters.
pub(super) fn by_equation_4(
    reader: &Reader<'_>,
    found: &[FoundFact],
) -> Result<Vec<usize>, StoreError> {
    choose(reader, found, Rule::PAPER)
}

fn choose(reader: &Reader<'_>, found: &[FoundFact], rule: Rule) -> Result<Vec<usize>, StoreError> {
    let mut best: BTreeMap<i64, f64> = BTreeMap::new();
    for fact in found {
        let relevance = best.entry(fact.theme.0).or_insert(0.0);
        *relevance = relevance.max(fact.relevance);
    }
    let themes: BTreeSet<ThemeId> =
        representatives(reader, Level::Theme, best, rule, rule.n_themes)?
            .into_iter()
            .map(ThemeId)
            .collect();
    let induced: BTreeMap<i64, usize> = found
        .iter()
        .enumerate()
        .filter(|(_, fact)| themes.contains(&fact.theme))
        .map(|(i, fact)| (fact.id.0, i))
        .collect();
    let nodes = induced.iter().map(|(&id, &i)| (id, found[i].relevance)).collect();
    Ok(representatives(reader, Level::Semantic, nodes, rule, rule.n_semantics)?
        .into_iter()
        .filter_map(|id| induced.get(&id).copied())
        .collect())
}

/// Selects by Eq. 4 among nodes with their relevance, along stored edges.
fn representatives(
    reader: &Reader<'_>,
    level: Level,
    nodes: BTreeMap<i64, f64>,
    rule: Rule,
    budget: usize,
) -> Result<Vec<i64>, StoreError> {
    let nodes: Vec<(i64, f64)> = nodes.into_iter().collect();
    let place: BTreeMap<i64, usize> =
        nodes.iter().enumerate().map(|(i, &(id, _))| (id, i)).collect();
    let mut neighbours: Vec<Vec<(usize, f64)>> = vec![Vec::new(); nodes.len()];
    for (a, b, weight) in reader.edges(level)? {
        if let (Some(&a), Some(&b)) = (place.get(&a), place.get(&b))
            && weight > 0.0
        {
            neighbours[a].push((b, f64::from(weight)));
        }
    }
    let mut relevance: Vec<f64> = nodes.iter().map(|&(_, r)| r).collect();
    by_largest(&mut relevance);
    let chosen = select_representatives(&Selection {
        relevance: &relevance,
        neighbours: &neighbours,
        alpha: rule.alpha,
        normaliser: Normaliser::LargestGain,
        coverage_target: rule.coverage_target,
        budget,
    });
    Ok(chosen.into_iter().map(|i| nodes[i].0).collect())
}

#[cfg(test)]
mod tests {
    use inglenook::memory::SemanticId;
    use inglenook::store::Store;

    use super::*;

    #[test]
    fn the_papers_selection_keeps_to_its_themes() {
        let found: Vec<FoundFact> = [(1, 0.5), (2, 0.9), (2, 0.1), (3, 0.8)]
            .iter()
            .zip(1..)
            .map(|(&(theme, relevance), id)| FoundFact {
                id: SemanticId(id),
                theme: ThemeId(theme),
                relevance,
            })
            .collect();
        let rule = Rule { n_themes: 1, coverage_target: 2.0, ..Rule::PAPER };
        let chosen = Store::in_memory().unwrap().read(|r| choose(r, &found, rule)).unwrap();
        assert_eq!(chosen, [1, 2], "the best theme's facts");
    }
}
