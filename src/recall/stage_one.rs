//! Stage I: selects the coarse context from the candidates, facts and whole messages under one budget.

use std::collections::{BTreeMap, BTreeSet};

use super::candidates::Scored;
use super::config::{RecallConfig, StageOne};
use crate::memory::mix::{Unit, UnitKind, select_mixed, worth};
use crate::memory::relevance::by_largest;
use crate::memory::representatives::{
    CoverageWeight, Normaliser, Selection, select_representatives,
};
use crate::memory::{Message, Semantic, Theme, ThemeId};
use crate::store::{Level, Reader, StoreError};

/// The coarse context: what the reader gets before any episode is probed.
#[derive(Debug, Clone, Default)]
pub(super) struct Coarse {
    /// By the relevance of their best fact.
    pub themes: Vec<Theme>,
    /// Best first.
    pub semantics: Vec<Scored<Semantic>>,
    /// Best first.
    pub messages: Vec<Scored<Message>>,
}

impl Coarse {
    pub(super) fn is_empty(&self) -> bool {
        self.semantics.is_empty() && self.messages.is_empty()
    }

    /// Selects from facts and messages, each best first.
    pub(super) fn select(
        reader: &Reader<'_>,
        semantics: &[Scored<Semantic>],
        messages: &[Scored<Message>],
        config: &RecallConfig,
        budget_characters: usize,
    ) -> Result<Self, StoreError> {
        let semantics: Vec<&Scored<Semantic>> = match config.stage_one {
            StageOne::Relevance => semantics.iter().collect(),
            StageOne::Representatives { alpha, n_themes, n_semantics, coverage_target } => {
                let rule = Rule { alpha, coverage_target };
                let themes = themes_by_equation_4(reader, semantics, rule, n_themes)?;
                semantics_by_equation_4(reader, semantics, &themes, rule, n_semantics)?
            }
        };
        // Facts alone are of similar length, so relevance is as good an order.
        let is_mixed = !messages.is_empty();
        let unit = |relevance, n_characters, kind| Unit {
            worth: if is_mixed { worth(relevance, n_characters) } else { relevance },
            n_characters,
            kind,
        };
        let mut units: Vec<Unit<'_>> = semantics
            .iter()
            .map(|s| {
                unit(s.relevance, characters_of_fact(&s.unit), UnitKind::Fact(&s.unit.messages))
            })
            .collect();
        units.extend(messages.iter().map(|m| {
            unit(m.relevance, characters_of_message(&m.unit), UnitKind::Message(m.unit.id))
        }));
        let mut coarse = Self::default();
        for i in select_mixed(&units, budget_characters) {
            match semantics.get(i) {
                Some(&semantic) => coarse.semantics.push(semantic.clone()),
                None => coarse.messages.push(messages[i - semantics.len()].clone()),
            }
        }
        let mut ids: Vec<ThemeId> = Vec::new();
        for semantic in &coarse.semantics {
            if !ids.contains(&semantic.unit.theme) {
                ids.push(semantic.unit.theme);
            }
        }
        coarse.themes = reader.themes_by_id(&ids)?;
        Ok(coarse)
    }
}

/// Characters that a fact takes of the budget.
pub(super) fn characters_of_fact(semantic: &Semantic) -> usize {
    semantic.content.chars().count()
}

/// Characters that a message takes, as `Speaker: text`.
pub(super) fn characters_of_message(message: &Message) -> usize {
    message.content.chars().count()
        + message.speaker.as_ref().map_or(0, |name| name.chars().count() + 2)
}

/// Parameters of Eq. 4.
#[derive(Clone, Copy)]
struct Rule {
    alpha: f64,
    coverage_target: f64,
}

/// Selects by Eq. 4 among nodes with their relevance, along stored edges.
fn representatives<Id: Copy + Ord>(
    nodes: &[(Id, f64)],
    edges: &[Vec<(Id, f32)>],
    rule: Rule,
    budget: usize,
) -> Vec<Id> {
    let place: BTreeMap<Id, usize> =
        nodes.iter().enumerate().map(|(i, &(id, _))| (id, i)).collect();
    let neighbours: Vec<Vec<(usize, f64)>> = edges
        .iter()
        .map(|list| {
            list.iter()
                .filter_map(|&(id, w)| Some((*place.get(&id)?, f64::from(w))))
                .filter(|&(_, w)| w > 0.0)
                .collect()
        })
        .collect();
    let mut relevance: Vec<f64> = nodes.iter().map(|&(_, r)| r).collect();
    by_largest(&mut relevance);
    let chosen = select_representatives(&Selection {
        relevance: &relevance,
        neighbours: &neighbours,
        alpha: rule.alpha,
        normaliser: Normaliser::LargestGain,
        weight: CoverageWeight::Edge,
        coverage_target: rule.coverage_target,
        budget,
    });
    chosen.into_iter().map(|i| nodes[i].0).collect()
}

fn themes_by_equation_4(
    reader: &Reader<'_>,
    semantics: &[Scored<Semantic>],
    rule: Rule,
    n_themes: usize,
) -> Result<BTreeSet<ThemeId>, StoreError> {
    let mut best: BTreeMap<ThemeId, f64> = BTreeMap::new();
    for semantic in semantics {
        let relevance = best.entry(semantic.unit.theme).or_insert(0.0);
        *relevance = relevance.max(semantic.relevance);
    }
    let nodes: Vec<(ThemeId, f64)> = best.into_iter().collect();
    let edges = nodes
        .iter()
        .map(|(id, _)| {
            let edges = reader.neighbours(Level::Theme, id.0)?;
            Ok(edges.into_iter().map(|(other, w)| (ThemeId(other), w)).collect())
        })
        .collect::<Result<Vec<_>, StoreError>>()?;
    Ok(representatives(&nodes, &edges, rule, n_themes).into_iter().collect())
}

fn semantics_by_equation_4<'a>(
    reader: &Reader<'_>,
    semantics: &'a [Scored<Semantic>],
    themes: &BTreeSet<ThemeId>,
    rule: Rule,
    n_semantics: usize,
) -> Result<Vec<&'a Scored<Semantic>>, StoreError> {
    let induced: BTreeMap<i64, &Scored<Semantic>> = semantics
        .iter()
        .filter(|s| themes.contains(&s.unit.theme))
        .map(|s| (s.unit.id.0, s))
        .collect();
    let nodes: Vec<(i64, f64)> = induced.iter().map(|(&id, s)| (id, s.relevance)).collect();
    let edges = nodes
        .iter()
        .map(|&(id, _)| reader.neighbours(Level::Semantic, id))
        .collect::<Result<Vec<_>, StoreError>>()?;
    Ok(representatives(&nodes, &edges, rule, n_semantics)
        .into_iter()
        .filter_map(|id| induced.get(&id).copied())
        .collect())
}
