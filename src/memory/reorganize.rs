//! Attach, split, merge: how a partition of semantics into themes grows (xMemory §3.2).
//!
//! Every operation moves semantics and loses none. It knows nothing of themes' names or storage: the
//! outcome is a list of [`Change`]s.

use std::cmp::Reverse;

use super::guidance::{held_out, held_out_of};
use super::partition::{Cluster, Partition};
use super::splitting::split_candidates;
use super::{Embedding, SemanticId, ThemeId};

/// One change of the partition; changes apply in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The new semantic joined a theme.
    Attached {
        /// The new semantic.
        semantic: SemanticId,
        /// Its theme.
        theme: ThemeId,
    },
    /// A theme was made; its members follow.
    Created {
        /// Its id.
        theme: ThemeId,
    },
    /// A semantic moved. A theme that this leaves empty is gone.
    Moved {
        /// The semantic.
        semantic: SemanticId,
        /// Where it was.
        from: ThemeId,
        /// Where it is now.
        to: ThemeId,
    },
}

/// Most members of a theme (paper, appendix B.3 and Table 8).
pub const THEME_SIZE_MAX: usize = 12;

/// How many nearest themes a theme may merge with or move facts to.
const N_NEAREST: usize = 10;

/// How many tiny themes near a changed one may merge after each insert.
const N_TINY_NEIGHBOURS: usize = 2;

/// What organises a partition. The paper's operations (§3.2) under the objective [`held_out`], with
/// thresholds that scale with the embedder ([`Rules::of`]). Beyond the paper, themes that are nearly
/// the same merge too, and after a split a fact may move to a nearby theme, if that raises the
/// objective. All gains are local: an insert never looks at all facts or themes, except to find the
/// nearest. (`inglenook-eval` compares others, the paper's too.) Similarities are cosines.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// A fact joins the nearest theme if that is at least this similar …
    pub attach_min: f64,
    /// … or at least this similar and has room.
    pub attach_lenient_min: f64,
    /// A theme of at most this many members is tiny and tries to join another.
    pub tiny_max: usize,
    /// Least similarity at which a tiny theme joins another.
    pub merge_tiny_min: f64,
    /// Least similarity at which any two themes may merge.
    pub merge_min: f64,
    /// When a theme is split by connected components, least similarity at which semantics are linked.
    pub link_min: f64,
    /// A fact moves only if the sum of [`held_out`] rises by more than this.
    pub move_gain_min: f64,
    /// Most members of a theme.
    pub size_max: usize,
    /// What the objective gains if these themes become those clusters.
    pub gain: fn(&Partition, &[ThemeId], &[Cluster]) -> f64,
}

impl Rules {
    /// As they are for MiniLM: the official code's thresholds.
    pub const MINILM: Self = Self {
        attach_min: 0.62,
        attach_lenient_min: 0.52,
        tiny_max: 2,
        merge_tiny_min: 0.50,
        merge_min: 0.78,
        link_min: 0.66,
        // Less is not worth a write.
        move_gain_min: 0.02,
        size_max: THEME_SIZE_MAX,
        gain: held_out_gain,
    };

    /// For the vectors of this partition.
    pub fn of(partition: &Partition) -> Self {
        let unrelated = unrelated_similarity(partition);
        let scale = |x: f64| rescaled(x, unrelated);
        Self {
            attach_min: scale(Self::MINILM.attach_min),
            attach_lenient_min: scale(Self::MINILM.attach_lenient_min),
            merge_tiny_min: scale(Self::MINILM.merge_tiny_min),
            merge_min: scale(Self::MINILM.merge_min),
            link_min: scale(Self::MINILM.link_min),
            ..Self::MINILM
        }
    }
}

/// Mean cosine of two facts of one person's memory under MiniLM, for which the official thresholds
/// were chosen (measured on the five dev conversations: 0.340 to 0.385).
const UNRELATED_MINILM: f64 = 0.36;

/// MiniLM's mean counts as much as this many facts.
const PRIOR_WEIGHT: f64 = 24.0;

/// [`UNRELATED_MINILM`] for this partition's embedder: models differ (BGE's unrelated texts lie at 0.6). A
/// few facts say little, so MiniLM's mean counts as much as [`PRIOR_WEIGHT`] facts.
fn unrelated_similarity(partition: &Partition) -> f64 {
    let n = partition.n_semantics() as f64;
    let measured = partition.mean_similarity().unwrap_or(UNRELATED_MINILM).clamp(-0.2, 0.9);
    (PRIOR_WEIGHT * UNRELATED_MINILM + n * measured) / (PRIOR_WEIGHT + n)
}

/// Maps a MiniLM threshold to the scale on which unrelated texts lie at `unrelated`, identical ones at
/// 1.
fn rescaled(threshold: f64, unrelated: f64) -> f64 {
    let share = (threshold - UNRELATED_MINILM) / (1.0 - UNRELATED_MINILM);
    unrelated + share * (1.0 - unrelated)
}

/// Attaches a semantic to the most similar theme if that is similar enough, else to a new one (§3.2).
/// Then a theme over the cap is split, and tiny themes nearby are merged where that raises the
/// objective. A semantic that was there already is attached again. Returns the changes in order.
pub fn attach(
    partition: &mut Partition,
    semantic: SemanticId,
    embedding: Embedding,
) -> Vec<Change> {
    partition.remove(semantic);
    let rules = Rules::of(partition);
    attach_by(&rules, partition, semantic, embedding)
}

/// [`attach`] of a semantic that is in no theme, by these rules.
pub fn attach_by(
    rules: &Rules,
    partition: &mut Partition,
    semantic: SemanticId,
    embedding: Embedding,
) -> Vec<Change> {
    let mut changes = Vec::new();
    let best = partition.nearest_themes(&embedding, 1, None).first().copied();
    let home = best.filter(|&(theme, similarity)| {
        let has_room =
            partition.theme(theme).is_some_and(|cluster| cluster.n_members() < rules.size_max);
        similarity >= rules.attach_min || (similarity >= rules.attach_lenient_min && has_room)
    });
    let theme = home.map_or_else(
        || {
            let theme = partition.next_theme_id();
            changes.push(Change::Created { theme });
            theme
        },
        |(theme, _)| theme,
    );
    partition.put(semantic, embedding, theme);
    changes.push(Change::Attached { semantic, theme });

    let mut touched = vec![theme];
    if partition.theme(theme).is_some_and(|cluster| cluster.n_members() > rules.size_max) {
        touched.extend(split(partition, theme, rules, &mut changes));
        for &theme in &touched {
            move_to_better(partition, theme, rules, &mut changes);
        }
    }
    let mut tiny = touched.clone();
    for &theme in &touched {
        let near = nearest(partition, theme);
        tiny.extend(
            near.iter()
                .filter(|&&(other, similarity)| {
                    similarity >= rules.merge_tiny_min && is_tiny(partition, other, rules)
                })
                .take(N_TINY_NEIGHBOURS)
                .map(|&(other, _)| other),
        );
    }
    tiny.dedup();
    for theme in tiny {
        merge(partition, theme, rules, &mut changes);
    }
    changes
}

fn is_tiny(partition: &Partition, theme: ThemeId, rules: &Rules) -> bool {
    partition.theme(theme).is_some_and(|cluster| cluster.n_members() <= rules.tiny_max)
}

/// The nearest themes with their similarities, nearest first.
fn nearest(partition: &Partition, theme: ThemeId) -> Vec<(ThemeId, f64)> {
    partition
        .theme(theme)
        .and_then(Cluster::centroid)
        .map(|centroid| partition.nearest_themes(&centroid, N_NEAREST, Some(theme)))
        .unwrap_or_default()
}

/// N times the gain of the whole partition's objective, from these themes alone.
fn held_out_gain(partition: &Partition, removed: &[ThemeId], added: &[Cluster]) -> f64 {
    let gone = removed.iter().filter_map(|&id| partition.theme(id));
    added.iter().map(held_out).sum::<f64>() - gone.map(held_out).sum::<f64>()
}

/// Splits an overfull theme by the candidate with the highest gain and returns the new themes. The
/// largest piece keeps the id, so that few semantics move.
fn split(
    partition: &mut Partition,
    theme: ThemeId,
    rules: &Rules,
    changes: &mut Vec<Change>,
) -> Vec<ThemeId> {
    let Some(cluster) = partition.theme(theme) else { return Vec::new() };
    let members = cluster.members();
    let candidates = split_candidates(members, rules.size_max, rules.link_min);
    let score = |pieces: &[Vec<usize>]| {
        let added: Vec<Cluster> = pieces
            .iter()
            .filter_map(|piece| Cluster::of(piece.iter().map(|&i| members[i].clone()).collect()))
            .collect();
        (rules.gain)(partition, &[theme], &added)
    };
    // On a tie, the first.
    let scored = candidates.into_iter().map(|pieces| (score(&pieces), pieces));
    let best = scored.reduce(|best, next| if next.0 > best.0 { next } else { best });
    let Some((_, best)) = best else { return Vec::new() };
    let mut pieces: Vec<Vec<SemanticId>> =
        best.into_iter().map(|piece| piece.into_iter().map(|i| members[i].0).collect()).collect();
    pieces.sort_by_key(|piece| Reverse(piece.len()));
    pieces[1..].iter().map(|piece| move_out(partition, theme, piece, changes)).collect()
}

/// Moves `semantics` from a theme to a new one.
pub fn move_out(
    partition: &mut Partition,
    from: ThemeId,
    semantics: &[SemanticId],
    changes: &mut Vec<Change>,
) -> ThemeId {
    let to = partition.next_theme_id();
    changes.push(Change::Created { theme: to });
    for &semantic in semantics {
        partition.move_to(semantic, to);
        changes.push(Change::Moved { semantic, from, to });
    }
    to
}

/// Moves all members of `from` to `to`.
pub fn move_all(partition: &mut Partition, from: ThemeId, to: ThemeId, changes: &mut Vec<Change>) {
    let semantics: Vec<SemanticId> = partition
        .theme(from)
        .map(|cluster| cluster.members().iter().map(|(id, _)| *id).collect())
        .unwrap_or_default();
    for semantic in semantics {
        partition.move_to(semantic, to);
        changes.push(Change::Moved { semantic, from, to });
    }
}

/// Moves each fact of a theme to the most similar nearby theme with room, if that raises the sum of
/// [`held_out`] over both. The last fact stays: emptying a theme is a merge's decision.
fn move_to_better(
    partition: &mut Partition,
    theme: ThemeId,
    rules: &Rules,
    changes: &mut Vec<Change>,
) {
    let near = nearest(partition, theme);
    let Some(cluster) = partition.theme(theme) else { return };
    let semantics: Vec<(SemanticId, Embedding)> = cluster.members().to_vec();
    for (semantic, embedding) in semantics {
        let Some(from) = partition.theme(theme).filter(|from| from.n_members() > 1) else { return };
        let open = near.iter().filter_map(|&(id, _)| Some((id, partition.theme(id)?)));
        let best = open
            .filter(|(_, to)| to.n_members() < rules.size_max)
            .map(|(id, to)| (to.similarity(&embedding), id, to))
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let Some((_, to_id, to)) = best else { return };
        let shifted = |of: &Cluster, sign: f64| -> Vec<f64> {
            let vector = embedding.as_slice().iter().map(|&x| sign * f64::from(x));
            of.sum().iter().zip(vector).map(|(total, x)| total + x).collect()
        };
        let without = from.members().iter().filter(|(id, _)| *id != semantic).map(|(_, x)| x);
        let with = to.members().iter().map(|(_, x)| x).chain([&embedding]);
        let after =
            held_out_of(without, &shifted(from, -1.0)) + held_out_of(with, &shifted(to, 1.0));
        if after - held_out(from) - held_out(to) > rules.move_gain_min {
            partition.move_to(semantic, to_id);
            changes.push(Change::Moved { semantic, from: theme, to: to_id });
        }
    }
}

/// Merges `theme` with the one of its nearest themes that raises the objective most, if any does. A
/// tiny theme may merge with any that is near enough, others only with one that is nearly the same.
fn merge(
    partition: &mut Partition,
    theme: ThemeId,
    rules: &Rules,
    changes: &mut Vec<Change>,
) -> Option<ThemeId> {
    let cluster = partition.theme(theme)?;
    let similarity_min =
        if is_tiny(partition, theme, rules) { rules.merge_tiny_min } else { rules.merge_min };
    let mut best: Option<(f64, ThemeId)> = None;
    for (other, similarity) in nearest(partition, theme) {
        let Some(target) = partition.theme(other) else { continue };
        let n_members = target.n_members() + cluster.n_members();
        if similarity < similarity_min || n_members > rules.size_max {
            continue;
        }
        let merged = [target.joined(cluster)];
        let gain = (rules.gain)(partition, &[theme, other], &merged);
        if gain > best.map_or(0.0, |(highest, _)| highest) {
            best = Some((gain, other));
        }
    }
    let (_, other) = best?;
    // The larger (on a tie, the older) keeps its id.
    let rank = |id| (partition.theme(id).map_or(0, Cluster::n_members), Reverse(id));
    let (from, to) = if rank(other) > rank(theme) { (theme, other) } else { (other, theme) };
    move_all(partition, from, to, changes);
    Some(to)
}

#[cfg(test)]
mod tests;
