//! Stage II: admits episodes and their messages while they lower the reader's uncertainty.

use std::collections::{BTreeMap, BTreeSet};

use super::candidates::Candidates;
use super::lines::{self, Names};
use super::stage_one::Coarse;
use super::uncertainty_probe::UncertaintyProbe;
use crate::interfaces::{Cancel, ModelError};
use crate::memory::inclusion::{GatePolicy, Inclusion, UncertaintyGate};
use crate::memory::{Episode, EpisodeId, Message, MessageId};

/// An episode that was shown to the reader.
#[derive(Debug, Clone)]
pub(super) struct ProbedEpisode {
    pub episode: Episode,
    pub admitted: bool,
    /// The messages that were admitted beside it; empty if it was not expanded.
    pub messages: Vec<Message>,
    pub before: f64,
    pub after: f64,
}

/// The result of Stage II.
#[derive(Debug, Clone, Default)]
pub(super) struct Outcome {
    /// The uncertainty with the coarse context; `None` if nothing was measured.
    pub coarse: Option<f64>,
    /// The uncertainty with everything admitted.
    pub last: Option<f64>,
    /// In the order of probing.
    pub probes: Vec<ProbedEpisode>,
    /// The text of everything admitted, in the order in which it was shown.
    pub admitted: Vec<String>,
}

/// The episodes of the coarse context, most promising first: by their own score plus the relevance of
/// the selected units that come from them.
pub(super) fn probe_order(candidates: &Candidates, coarse: &Coarse) -> Vec<Episode> {
    /// What the best supported episode gains.
    const SUPPORT: f64 = 0.5;
    let mut support: BTreeMap<EpisodeId, f64> = BTreeMap::new();
    for semantic in &coarse.semantics {
        for &episode in &semantic.unit.episodes {
            *support.entry(episode).or_insert(0.0) += semantic.relevance;
        }
    }
    for message in &coarse.messages {
        if let Some(episode) = message.unit.episode {
            *support.entry(episode).or_insert(0.0) += message.relevance;
        }
    }
    let largest = support.values().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let mut order: Vec<(f64, &Episode)> = support
        .iter()
        .filter_map(|(id, sum)| {
            let (episode, own) = (candidates.episodes.get(id)?, candidates.episode_scores.get(id)?);
            Some((own + SUPPORT * sum / largest, episode))
        })
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.id.cmp(&b.1.id)));
    order.into_iter().map(|(_, episode)| episode.clone()).collect()
}

/// How to gate.
pub(super) struct Gating<'a> {
    pub policy: GatePolicy,
    pub names: Names<'a>,
    pub cancel: &'a Cancel,
    pub overhead_share: f64,
    pub overhead_tokens_min: usize,
    /// Messages that the reader sees already, in the coarse context or in the window.
    pub seen: BTreeSet<MessageId>,
}

/// The budget of tokens that do not stay in the prompt.
struct Overhead {
    n_spent: usize,
    share: f64,
    tokens_min: usize,
}

impl Overhead {
    /// Whether something of this cost may be shown, though it may be refused.
    fn affords(&self, cost: usize, probe: &dyn UncertaintyProbe) -> bool {
        let most = ((probe.n_held() as f64 * self.share) as usize).max(self.tokens_min);
        self.n_spent + cost <= most
    }
}

/// Probes `episodes` in order; `messages_of` gives an episode's messages. The probe has been shown
/// the coarse context.
pub(super) fn admit<E: From<ModelError>>(
    probe: &mut dyn UncertaintyProbe,
    episodes: &[Episode],
    gating: Gating<'_>,
    mut messages_of: impl FnMut(&Episode) -> Result<Vec<Message>, E>,
    mut on_probe: impl FnMut(usize, usize),
) -> Result<Outcome, E> {
    let coarse = probe.measure()?;
    let n_question = probe.cost("");
    let mut overhead = Overhead {
        n_spent: n_question,
        share: gating.overhead_share,
        tokens_min: gating.overhead_tokens_min,
    };
    let mut gate = UncertaintyGate::new(gating.policy, coarse);
    let mut seen = gating.seen;
    let mut outcome = Outcome { coarse: Some(coarse), ..Outcome::default() };
    let n = episodes.len().min(gating.policy.probes_max);
    for episode in episodes {
        if gate.is_done() || !gate.can_gain() {
            break;
        }
        if gating.cancel.is_cancelled() {
            return Err(ModelError::Cancelled.into());
        }
        on_probe(outcome.probes.len() + 1, n);
        let (mark, before) = (probe.mark(), gate.reference());
        let line = lines::of_episode(episode);
        let cost = probe.cost(&line);
        // Too long; a shorter one may still fit.
        if !overhead.affords(cost, probe) || !probe.show(&line)? {
            continue;
        }
        let after = probe.measure()?;
        overhead.n_spent += n_question;
        let mut probed = ProbedEpisode {
            episode: episode.clone(),
            admitted: gate.record(after) == Inclusion::Admit,
            messages: Vec::new(),
            before,
            after,
        };
        if probed.admitted {
            outcome.admitted.push(line);
            let own: Vec<Message> = messages_of(episode)?
                .into_iter()
                .filter(|m| !seen.contains(&m.id) && !m.content.trim().is_empty())
                .collect();
            let raw: String = own.iter().map(|m| lines::of_message(m, &gating.names)).collect();
            let mark = probe.mark();
            let cost = probe.cost(&raw);
            if !own.is_empty() && overhead.affords(cost, probe) && probe.show(&raw)? {
                let expanded = probe.measure()?;
                overhead.n_spent += n_question;
                if gate.decide_expansion(after, expanded) == Inclusion::Admit {
                    gate.record_expansion(expanded);
                    seen.extend(own.iter().map(|m| m.id));
                    outcome.admitted.push(raw);
                    probed.messages = own;
                    probed.after = expanded;
                } else {
                    probe.roll_back(mark);
                    overhead.n_spent += cost - n_question;
                }
            }
        } else {
            probe.roll_back(mark);
            overhead.n_spent += cost - n_question;
        }
        outcome.probes.push(probed);
    }
    outcome.last = Some(gate.admitted());
    Ok(outcome)
}
