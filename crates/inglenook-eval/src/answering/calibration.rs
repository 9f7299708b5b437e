//! `gate`: whether a drop of the reader's uncertainty tells which episodes hold evidence, and what
//! the gate's threshold buys (the third open question of xMemory's review).
//!
//! *Calibration.* Every question's episodes are shown to the reader one by one behind the coarse
//! context, as Stage II shows them, and none stays: the drop that each causes is a score, and an
//! episode that holds a message the answer rests on should have a larger one. *Sweep.* The product's own
//! recall answers at each threshold.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use inglenook::interfaces::{Cancel, Context, Models, Signal, Uncertainty};
use inglenook::memory::Moment;
use inglenook::memory::inclusion::{GatePolicy, Reference};
use inglenook::model_policy::Reader;
use inglenook::recall::{Recall, RecallConfig, RecallRequest};
use serde::Serialize;

use super::data::{Conversation, DataSet, Question};
use super::memory::{self, ProgramMemory};
use super::memory_builder::ModelUse;
use super::meter::Metered;
use super::method::Method;
use super::methods::{self, Answerer};
use super::{Skipped, chosen, of_question};
use crate::metrics::{Interval, interval, roc_auc};
use crate::plot::{Plot, Point, against_tokens};
use crate::{EvalError, SEED, Scored};

/// Episodes probed per question: the official code's maximum.
const N_PROBES: usize = 10;

/// One value of a measurement.
type Value = fn(&Uncertainty) -> f64;

/// What one measurement of the reader tells, by name; a larger drop should mean evidence.
const BY_READER: [(&str, Value); 4] = [
    ("entropy", |measured| measured.entropy_nats),
    ("entropy of the first token", |measured| measured.first_entropy_nats),
    ("nll", |measured| measured.nll_nats),
    ("question-nll", |measured| measured.question_nll_nats),
];

/// Sets of probes of a question: those by the reader, the entropy against that without any evidence, the overlap.
const N_SETS: usize = BY_READER.len() + 2;

/// Smallest drops that admit or expand an episode, in nats (for [`Signal::Overlap`] a fraction). 0.45 is
/// the official code's; infinity admits nothing.
const THRESHOLDS: [f64; 8] = [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.45, f64::INFINITY];

/// The arguments of one measurement.
#[derive(Debug, Clone)]
pub struct GateRun<'a> {
    /// LoCoMo's file.
    pub file: &'a Path,
    pub memories: &'a Path,
    pub questions_max: Option<usize>,
    pub recall: RecallConfig,
    /// Whether thresholds are tried, too.
    pub sweeps: bool,
    /// The model's grade, as in [`super::Run::grade`].
    pub grade: Option<(String, String)>,
}

/// How well one signal tells episodes with evidence from others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SignalRow {
    /// The signal's name, or `order`: the order of probing, as a baseline.
    pub signal: &'static str,
    /// Area under the ROC curve over all probes: one threshold for all questions.
    pub auc: Option<f64>,
    /// Mean over questions of the AUC within a question, with its interval.
    pub within: Option<Interval>,
    /// Questions with probes of both kinds.
    pub questions: usize,
    pub probes: usize,
    /// Those that hold evidence.
    pub with_evidence: usize,
}

/// Recall's answers with one threshold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SweepRow {
    /// `None` if nothing is admitted.
    pub threshold: Option<f64>,
    pub questions: usize,
    pub f1: Interval,
    pub tokens: Interval,
    pub processed_tokens: Interval,
    /// Mean over the questions whose evidence is known.
    pub evidence_recall: Option<Interval>,
}

/// The calibration of every signal and the sweep over one signal's threshold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateReport {
    pub model: String,
    pub sha256: String,
    pub questions: usize,
    pub questions_in_file: usize,
    pub conversations: usize,
    pub signals: Vec<SignalRow>,
    /// The signal of the sweep, if there was one.
    pub swept: Option<&'static str>,
    pub sweep: Vec<SweepRow>,
    pub skipped: Vec<Skipped>,
}

/// Measures calibration and sweep. Questions are sampled as `locomo` samples them.
///
/// # Errors
/// If the data can't be read, the model or a store fails, or the run was cancelled.
pub fn measure_gate(
    run: &GateRun<'_>,
    models: &Models,
    on_progress: &dyn Fn(usize, usize),
    cancel: &Cancel,
) -> Result<GateReport, EvalError> {
    let (conversations, mut skipped) = DataSet::Locomo.load(run.file)?;
    let chosen = chosen(&conversations, run.questions_max);
    let info = models.language.info();
    let grade = run.grade.as_ref();
    let swept = run.sweeps.then(|| run.recall.signal.unwrap_or(super::usual_signal(info)));
    let model = Metered::new(Arc::clone(&models.language));
    let system = methods::system(&model);
    let head = methods::head(&model, &system)?;
    let mut probes: Vec<Vec<Probe>> = vec![Vec::new(); N_SETS];
    let mut answers: Vec<Vec<Answer>> = vec![Vec::new(); THRESHOLDS.len()];
    let (mut n_done, mut n_answered, mut n_conversations) = (0, 0, 0);
    for (i, conversation) in conversations.iter().enumerate() {
        let asked: Vec<&Question> =
            chosen.iter().filter(|(of, _)| *of == i).map(|&(_, asked)| asked).collect();
        if asked.is_empty() {
            continue;
        }
        let Some(folder) = memory::folder(run.memories, conversation) else {
            let reason = EvalError::NoMemory.to_string();
            skipped.push(Skipped { what: conversation.name.clone(), reason });
            n_done += asked.len();
            continue;
        };
        let memory = memory::given(folder, conversation, &models.embedder, grade)?;
        n_conversations += 1;
        let bed = Probing {
            conversation,
            memory: &memory,
            models,
            model: &model,
            system: &system,
            head: &*head,
            cancel,
        };
        for asked in asked {
            match bed.question(&run.recall, swept, asked, n_done) {
                Ok((own_probes, own_answers)) => {
                    n_answered += 1;
                    probes.iter_mut().zip(own_probes).for_each(|(all, own)| all.extend(own));
                    answers.iter_mut().zip(own_answers).for_each(|(all, own)| all.push(own));
                }
                Err(error) => {
                    let what = format!("{}, question {}", conversation.name, asked.place + 1);
                    skipped.push(Skipped { what, reason: of_question(error)? });
                }
            }
            n_done += 1;
            on_progress(n_done, chosen.len());
        }
    }
    let names = BY_READER.iter().map(|&(name, _)| name);
    let names = names.chain(["entropy against no evidence", "overlap"]);
    let mut signals: Vec<SignalRow> = names
        .zip(&probes)
        .map(|(name, probes)| signal_row(name, probes, |probe| probe.drop))
        .collect();
    signals.push(signal_row("entropy per character", &probes[0], |probe| {
        probe.drop / probe.n_characters as f64
    }));
    signals.push(signal_row("order", &probes[0], |probe| -(probe.place as f64)));
    Ok(GateReport {
        model: info.name.clone(),
        sha256: models.language.weights_sha256(),
        questions: n_answered,
        questions_in_file: conversations
            .iter()
            .map(|conversation| conversation.questions.len())
            .sum(),
        conversations: n_conversations,
        signals,
        swept: swept.map(Signal::as_str),
        sweep: THRESHOLDS.iter().zip(&answers).filter_map(|(&t, of)| sweep_row(t, of)).collect(),
        skipped,
    })
}

impl GateReport {
    /// Tokens against F1, threshold by threshold.
    #[must_use]
    pub fn plot(&self) -> Option<Plot> {
        let points: Vec<Point> = self
            .sweep
            .iter()
            .map(|row| {
                let name =
                    row.threshold.map_or_else(|| "nothing".into(), |t| format!("from {t:.2}"));
                Point { name, tokens: row.tokens, f1: row.f1 }
            })
            .collect();
        let title =
            format!("What {} admits: tokens a query against F1, 95 % intervals", self.swept?);
        against_tokens("gate.svg", &title, &points, true)
    }
}

/// How one episode changed the reader's uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Probe {
    question: usize,
    /// In the order of probing, from 0.
    place: usize,
    drop: f64,
    /// Of the episode's narrative.
    n_characters: usize,
    is_evidence: bool,
}

#[derive(Debug, Clone, Copy)]
struct Answer {
    f1: f64,
    tokens: f64,
    processed_tokens: f64,
    evidence_recall: Option<f64>,
}

/// A gate that admits only an episode that removes all uncertainty, so that every episode is measured after
/// the same context. (A gate that can't admit anything would not probe.)
fn nothing_admits() -> GatePolicy {
    GatePolicy {
        reference: Reference::Coarse,
        admit_drop_min: 0.0,
        admit_share_min: 1.0,
        expand_drop_min: f64::INFINITY,
        misses_max: usize::MAX,
        probes_max: N_PROBES,
    }
}

fn at_threshold(gate: GatePolicy, threshold: f64) -> GatePolicy {
    if threshold.is_infinite() {
        return GatePolicy { probes_max: 0, ..gate };
    }
    GatePolicy {
        admit_drop_min: threshold,
        admit_share_min: 0.0,
        expand_drop_min: threshold,
        ..gate
    }
}

/// A conversation whose questions can be probed and answered.
struct Probing<'a> {
    conversation: &'a Conversation,
    memory: &'a ProgramMemory,
    models: &'a Models,
    model: &'a Metered,
    system: &'a str,
    head: &'a dyn Context,
    cancel: &'a Cancel,
}

impl Probing<'_> {
    /// Its probes under every signal, its answers at every threshold.
    fn question(
        &self,
        recall: &RecallConfig,
        swept: Option<Signal>,
        asked: &Question,
        number: usize,
    ) -> Result<(Vec<Vec<Probe>>, Vec<Answer>), EvalError> {
        let probes = self.all_probes(recall, asked, number)?;
        let Some(swept) = swept else { return Ok((probes, Vec::new())) };
        let answers = THRESHOLDS.into_iter().map(|threshold| {
            let gate = at_threshold(recall.gate, threshold);
            let recall = RecallConfig { signal: Some(swept), gate, ..recall.clone() };
            self.answer(&recall, asked)
        });
        Ok((probes, answers.collect::<Result<_, _>>()?))
    }

    /// The probes of every set. The reader measures each episode once.
    fn all_probes(
        &self,
        recall: &RecallConfig,
        asked: &Question,
        question: usize,
    ) -> Result<Vec<Vec<Probe>>, EvalError> {
        self.model.take_measured();
        let by_entropy = self.probes(recall, Signal::Entropy, asked, question)?;
        let measured = self.model.take_measured();
        let Some((coarse, after)) = measured.split_first() else {
            return Ok(vec![Vec::new(); N_SETS]);
        };
        let before = &coarse.uncertainty;
        let empty =
            self.head.fork()?.uncertainty(&coarse.question, &coarse.tail, coarse.n_positions)?;
        let with = |drop: &dyn Fn(&Uncertainty) -> f64| -> Vec<Probe> {
            let probes = by_entropy.iter().zip(after);
            probes.map(|(&probe, m)| Probe { drop: drop(&m.uncertainty), ..probe }).collect()
        };
        let mut sets: Vec<Vec<Probe>> = BY_READER
            .iter()
            .map(|(_, value)| with(&|after| value(before) - value(after)))
            .collect();
        sets.push(with(&|after| empty.entropy_nats - after.entropy_nats));
        sets.push(self.probes(recall, Signal::Overlap, asked, question)?);
        Ok(sets)
    }

    fn probes(
        &self,
        recall: &RecallConfig,
        signal: Signal,
        asked: &Question,
        question: usize,
    ) -> Result<Vec<Probe>, EvalError> {
        let config = RecallConfig {
            signal: Some(signal),
            gate: nothing_admits(),
            overhead_tokens_min: usize::MAX,
            ..recall.clone()
        };
        let models = Models {
            language: Arc::clone(&self.models.language),
            embedder: Arc::clone(&self.memory.embedder),
            reranker: self.models.reranker.clone(),
            memory: None,
        };
        let recall = Recall { store: &self.memory.store, models: &models, config };
        let request = RecallRequest {
            question: &asked.text,
            asked: &asked.text,
            recent: "",
            best_min: 0.0,
            rules_first: false,
            looks_for_words: false,
            now: asked.at.map_or(self.memory.now, Moment::from_civil_utc),
            system: self.system,
            reader: Reader::Generative,
            reuse: Some(self.head.fork()?),
            cancel: self.cancel,
        };
        let evidence = recall.run(request, &mut |_| {})?;
        // If an episode was admitted after all, the ones after it were measured with it in context.
        let n = evidence
            .episodes
            .iter()
            .position(|episode| episode.admitted)
            .map_or(usize::MAX, |i| i + 1);
        let mut probes = Vec::new();
        for (place, episode) in evidence.episodes.iter().take(n).enumerate() {
            let told = self.memory.store.read(|r| r.episodes_by_id(&[episode.id]))?;
            let n_characters = told.iter().map(|told| told.content.chars().count()).sum();
            let messages: Vec<_> = told.into_iter().flat_map(|told| told.messages).collect();
            let ids: BTreeSet<String> = self
                .memory
                .store
                .read(|r| r.message_external_ids(&messages))?
                .into_iter()
                .map(|(_, id)| id)
                .collect();
            probes.push(Probe {
                question,
                place,
                drop: episode.entropy_before_nats - episode.entropy_after_nats,
                n_characters,
                is_evidence: !ids.is_disjoint(&asked.evidence),
            });
        }
        Ok(probes)
    }

    fn answer(&self, recall: &RecallConfig, asked: &Question) -> Result<Answer, EvalError> {
        let answerer = Answerer {
            messages: &self.conversation.messages,
            vectors: &[],
            memory: Some(self.memory),
            notes: None,
            structures: None,
            model_use: ModelUse::of(
                inglenook::model_policy::Mode::Auto,
                self.models.language.info(),
                None,
            ),
            pruning_ratio: 1.0,
            models: self.models,
            model: self.model,
            recall,
            signal: Signal::Entropy,
            system: self.system,
            head: self.head,
            whole: std::cell::RefCell::default(),
            cancel: self.cancel,
        };
        let answered = answerer.answer(Method::Full, asked)?;
        let n_named = asked.evidence.len();
        let n_found = asked.evidence.intersection(&answered.covered).count();
        Ok(Answer {
            f1: Scored::of(&answered.text, &asked.answer).f1,
            tokens: answered.tokens as f64,
            processed_tokens: answered.processed_tokens as f64,
            evidence_recall: (n_named > 0).then(|| n_found as f64 / n_named as f64),
        })
    }
}

fn signal_row(signal: &'static str, probes: &[Probe], score: fn(&Probe) -> f64) -> SignalRow {
    let of = |probes: &[Probe], is_evidence| -> Vec<f64> {
        probes.iter().filter(|probe| probe.is_evidence == is_evidence).map(score).collect()
    };
    let auc = |probes: &[Probe]| roc_auc(&of(probes, true), &of(probes, false));
    let within: Vec<f64> =
        probes.chunk_by(|a, b| a.question == b.question).filter_map(auc).collect();
    SignalRow {
        signal,
        auc: auc(probes),
        within: interval(&within, SEED),
        questions: within.len(),
        probes: probes.len(),
        with_evidence: of(probes, true).len(),
    }
}

fn sweep_row(threshold: f64, answers: &[Answer]) -> Option<SweepRow> {
    let of =
        |value: fn(&Answer) -> f64| interval(&answers.iter().map(value).collect::<Vec<_>>(), SEED);
    let recalls: Vec<f64> = answers.iter().filter_map(|answer| answer.evidence_recall).collect();
    Some(SweepRow {
        threshold: threshold.is_finite().then_some(threshold),
        questions: answers.len(),
        f1: of(|answer| answer.f1)?,
        tokens: of(|answer| answer.tokens)?,
        processed_tokens: of(|answer| answer.processed_tokens)?,
        evidence_recall: interval(&recalls, SEED),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use inglenook::memory::inclusion::{Inclusion, UncertaintyGate};

    #[test]
    fn every_episode_is_measured_behind_the_same_context() {
        let mut gate = UncertaintyGate::new(nothing_admits(), 0.8);
        for after in [0.7, 0.1, 0.9, 0.001] {
            assert!(gate.can_gain() && !gate.is_done());
            assert_eq!((gate.reference(), gate.record(after)), (0.8, Inclusion::Refuse));
        }
    }

    #[test]
    fn thresholds_are_what_they_say() {
        let decide = |threshold, after| {
            UncertaintyGate::new(at_threshold(GatePolicy::default(), threshold), 1.0).record(after)
        };
        assert_eq!(decide(0.0, 0.999), Inclusion::Admit);
        assert_eq!(decide(0.0, 1.0), Inclusion::Refuse);
        assert_eq!(decide(0.45, 0.56), Inclusion::Refuse);
        assert!(
            UncertaintyGate::new(at_threshold(GatePolicy::default(), f64::INFINITY), 1.0).is_done()
        );
    }

    #[test]
    fn probes_are_compared_in_all_and_within_their_question() {
        let probe = |question, place, drop, is_evidence| Probe {
            question,
            place,
            drop,
            n_characters: 100,
            is_evidence,
        };
        let probes = [
            // The second question's drops are all larger: that hides the evidence of the first.
            probe(0, 0, 0.1, false),
            probe(0, 1, 0.2, true),
            probe(1, 0, 0.9, true),
            probe(1, 1, 0.8, false),
            probe(2, 0, 0.5, true),
        ];
        let row = signal_row("entropy", &probes, |probe| probe.drop);
        assert_eq!((row.questions, row.probes, row.with_evidence), (2, 5, 3));
        assert_eq!(row.within.unwrap().mean, 1.0);
        assert!((row.auc.unwrap() - 4.0 / 6.0).abs() < 1e-12, "{row:?}");
        let order = signal_row("order", &probes, |probe| -(probe.place as f64));
        assert_eq!(order.within.unwrap().mean, 0.5);
        assert_eq!(signal_row("none", &[], |probe| probe.drop).auc, None);
    }
}
