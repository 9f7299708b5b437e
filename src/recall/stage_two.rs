//! Stage II: admits episodes and their messages while they lower the reader's uncertainty.

use std::collections::{BTreeMap, BTreeSet};

use super::candidates::Candidates;
use super::evidence::EpisodeEvidence;
use super::pipeline::{OnProgress, Pipeline};
use super::stage_one::Coarse;
use super::uncertainty_probe::UncertaintyProbe;
use super::{Progress, RecallError, lines};
use crate::memory::inclusion::{Inclusion, UncertaintyGate};
use crate::memory::{Episode, EpisodeId, Message, MessageId};

/// The result of Stage II.
#[derive(Debug, Clone, Default)]
pub(super) struct Outcome {
    /// The uncertainty with the coarse context; `None` if nothing was measured.
    pub coarse: Option<f64>,
    /// The uncertainty with everything admitted.
    pub last: Option<f64>,
    /// In the order of probing.
    pub probes: Vec<EpisodeEvidence>,
    /// The messages that were admitted beside their episodes.
    pub messages: Vec<Message>,
    /// The text of everything admitted, in the order in which it was shown.
    pub admitted: Vec<String>,
}

/// The episodes of the coarse context, most promising first: by their own score plus the relevance of
/// the selected units that come from them.
fn probe_order(candidates: &Candidates, coarse: &Coarse) -> Vec<Episode> {
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

impl Pipeline<'_> {
    /// Probes the episodes of the coarse context, which the probe has been shown.
    pub(super) fn gate(
        &self,
        probe: &mut dyn UncertaintyProbe,
        coarse: &Coarse,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Outcome, RecallError> {
        let config = self.setup.config;
        // Whether something of this cost may be shown, though it may be refused.
        let affords = |n_spent: usize, cost: usize, probe: &dyn UncertaintyProbe| {
            let share = (probe.n_held() as f64 * config.overhead_share) as usize;
            n_spent + cost <= share.max(config.overhead_tokens_min)
        };
        let uncertainty = probe.measure()?;
        let n_question = probe.cost("");
        // Tokens that do not stay in the prompt.
        let mut n_spent = n_question;
        let mut gate = UncertaintyGate::new(config.gate, uncertainty);
        // What the reader sees already.
        let mut seen: BTreeSet<MessageId> = coarse.messages.iter().map(|m| m.unit.id).collect();
        let mut outcome = Outcome { coarse: Some(uncertainty), ..Outcome::default() };
        let mut episodes = probe_order(self.candidates, coarse);
        // They retell what the person corrected since.
        let is_left_out =
            |m: &MessageId| self.candidates.refused.contains(m) || coarse.hidden.contains(m);
        episodes.retain(|e| !e.messages.iter().any(is_left_out));
        let n = episodes.len().min(config.gate.probes_max);
        for episode in &episodes {
            if gate.is_done() || !gate.can_gain() {
                break;
            }
            self.setup.cancel.check()?;
            on_progress(Progress::Probing { episode: outcome.probes.len() + 1, of: n });
            let (mark, before) = (probe.mark(), gate.reference());
            let line = lines::of_episode(episode);
            let cost = probe.cost(&line);
            // Too long; a shorter one may still fit.
            if !affords(n_spent, cost, probe) || !probe.show(&line)? {
                continue;
            }
            let after = probe.measure()?;
            n_spent += n_question;
            let mut probed = EpisodeEvidence {
                id: episode.id,
                title: episode.title.clone(),
                admitted: gate.record(after) == Inclusion::Admit,
                expanded: false,
                entropy_before_nats: before,
                entropy_after_nats: after,
            };
            if probed.admitted {
                outcome.admitted.push(line);
                let mut own = self.messages_of(&episode.messages)?;
                own.retain(|m| !seen.contains(&m.id) && !m.content.trim().is_empty());
                let ids = own.iter().map(|m| m.id);
                let origins = self.setup.store.read(|r| r.message_origins(ids))?;
                let line = |m: &Message| {
                    lines::of_message(m, self.setup.user, coarse.mark(origins.get(&m.id)))
                };
                let raw: String = own.iter().map(line).collect();
                let mark = probe.mark();
                let cost = probe.cost(&raw);
                if !own.is_empty() && affords(n_spent, cost, probe) && probe.show(&raw)? {
                    let expanded = probe.measure()?;
                    n_spent += n_question;
                    if gate.decide_expansion(after, expanded) == Inclusion::Admit {
                        gate.record_expansion(expanded);
                        seen.extend(own.iter().map(|m| m.id));
                        outcome.admitted.push(raw);
                        outcome.messages.extend(own);
                        probed.expanded = true;
                        probed.entropy_after_nats = expanded;
                    } else {
                        probe.roll_back(mark);
                        n_spent += cost - n_question;
                    }
                }
            } else {
                probe.roll_back(mark);
                n_spent += cost - n_question;
            }
            outcome.probes.push(probed);
        }
        outcome.last = Some(gate.admitted());
        Ok(outcome)
    }

    /// Messages by id, without those that were forgotten since the search.
    fn messages_of(&self, ids: &[MessageId]) -> Result<Vec<Message>, RecallError> {
        let mut found = self.setup.store.read(|r| r.find_messages(ids.iter().copied()))?;
        for message in found.values_mut() {
            message.created_at = message.created_at.min(self.candidates.now);
        }
        Ok(found.into_values().collect())
    }
}
