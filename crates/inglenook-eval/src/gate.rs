//! Which signal tells evidence from noise: the note that answers a question against a random one.
//!
//! Every signal scores a note: the higher, the more likely it is evidence. The drop of the reader's uncertainty
//! is measured as recall measures it, before and after the note is shown, alone and after three other
//! notes. The figures are areas under the ROC curve.

use std::collections::{BTreeMap, BTreeSet};

use inglenook::interfaces::{Cancel, Embedder, LanguageModel, ModelError, Signal};
use inglenook::memory::Embedding;
use inglenook::memory::direction::{self, Direction};
use inglenook::memory::lexical::{self, Rarity};
use inglenook::memory::relevance::{Cues, Relevance};
use inglenook::prompts::MemoryLine;
use inglenook::recall::RecallConfig;
use inglenook::worker::check::Reader;
use jiff::civil::DateTime;

use super::items::{QuestionItem, at_noon};
use super::locomo::Conversation;
use super::sample::{Draws, some};
use super::{EvalError, GateRow};
use crate::lexical::{Bm25, by_largest, overlap};
use crate::metrics::{mean, roc_auc, wins};

/// Numbers of notes shown before the one that is scored.
const CONTEXTS: [usize; 2] = [0, 3];

/// Pairs that are also scored after other notes; this takes as long as all pairs alone.
const BEHIND_MAX: usize = 250;

/// Signals from the model's own uncertainty.
const BY_MODEL: [Signal; 3] = [Signal::Entropy, Signal::Nll, Signal::QuestionNll];

const BATCH: usize = 64;

/// The notes to be searched.
struct Corpus {
    notes: Vec<Note>,
    terms: Vec<BTreeSet<String>>,
    rarity: Rarity,
    index: Bm25,
    speakers: BTreeSet<String>,
}

struct Note {
    text: String,
    at: DateTime,
    speaker: Option<String>,
}

impl Corpus {
    fn new(notes: Vec<Note>) -> Self {
        let texts = || notes.iter().map(|note| note.text.as_str());
        Self {
            terms: texts().map(|text| lexical::terms(text).into_iter().collect()).collect(),
            rarity: Rarity::new(texts()),
            index: Bm25::new(texts()),
            speakers: notes.iter().filter_map(|note| note.speaker.clone()).collect(),
            notes,
        }
    }

    fn line(&self, note: usize) -> MemoryLine<'_> {
        let Note { text, at, .. } = &self.notes[note];
        MemoryLine::Semantic { text, at: *at, superseded: false }
    }

    /// 1 if the question names the note's speaker, 0 if it names another, as in recall.
    fn speaker_cue(&self, question: &str, note: usize) -> f64 {
        let words: BTreeSet<&str> = question.split(|c: char| !c.is_alphanumeric()).collect();
        let mut named = self.speakers.iter().filter(|name| words.contains(name.as_str()));
        match (named.next(), named.next(), &self.notes[note].speaker) {
            (Some(name), None, Some(speaker)) => f64::from(name == speaker),
            _ => 0.5,
        }
    }
}

/// A question, its evidence, a random note, and notes to show before either, as indices into the corpus.
pub(super) struct Probe {
    corpus: usize,
    question: String,
    evidence: usize,
    random: usize,
    others: Vec<usize>,
    /// Whether it is also scored after the other notes.
    behind: bool,
}

/// A set of probes.
pub(super) struct Set {
    name: &'static str,
    corpora: Vec<Corpus>,
    probes: Vec<Probe>,
}

impl Set {
    /// The random note is from another item, the notes before it from the same.
    pub(super) fn generated(items: &[&QuestionItem], n_max: Option<usize>) -> Self {
        let mut notes = Vec::new();
        let mut starts = Vec::new();
        for item in items {
            starts.push(notes.len());
            notes.extend(item.memories.iter().map(|note| Note {
                text: note.text.clone(),
                at: at_noon(note.date),
                speaker: None,
            }));
        }
        let n = notes.len();
        let mut probes = Vec::new();
        for (item, start) in items.iter().zip(starts) {
            let own = start..start + item.memories.len();
            let mut draws = Draws::new(&item.question);
            let elsewhere: Vec<usize> = (0..n).filter(|i| !own.contains(i)).collect();
            let silent: Vec<usize> =
                own.filter(|i| !item.evidence().contains(&(i - start))).collect();
            let Some(&evidence) = item.evidence().first() else { continue };
            let Some(random) = draws.pick(&elsewhere) else { continue };
            probes.push(Probe {
                corpus: 0,
                question: item.question.clone(),
                evidence: start + evidence,
                random,
                others: draws.pick_many(&silent, CONTEXTS[1]),
                behind: false,
            });
        }
        Self::new("generated", vec![Corpus::new(notes)], probes, n_max)
    }

    /// All notes are from the same conversation.
    pub(super) fn locomo(conversations: &[Conversation], n_max: Option<usize>) -> Self {
        let (mut corpora, mut probes) = (Vec::new(), Vec::new());
        for (corpus, conversation) in conversations.iter().enumerate() {
            let note = |observation: &super::locomo::Observation| Note {
                text: observation.text.clone(),
                at: observation.at,
                speaker: Some(observation.speaker.clone()),
            };
            corpora.push(Corpus::new(conversation.observations.iter().map(note).collect()));
            for question in &conversation.questions {
                let mut draws = Draws::new(&question.text);
                let silent = conversation.others(question);
                let Some(evidence) = draws.pick(&question.gold) else { continue };
                let drawn = draws.pick_many(&silent, 1 + CONTEXTS[1]);
                let Some((&random, others)) = drawn.split_first() else { continue };
                probes.push(Probe {
                    corpus,
                    question: question.text.clone(),
                    evidence,
                    random,
                    others: others.to_vec(),
                    behind: false,
                });
            }
        }
        Self::new("locomo", corpora, probes, n_max)
    }

    fn new(
        name: &'static str,
        corpora: Vec<Corpus>,
        probes: Vec<Probe>,
        n_max: Option<usize>,
    ) -> Self {
        let mut probes = some(probes, n_max.unwrap_or(usize::MAX), name);
        for i in some((0..probes.len()).collect(), BEHIND_MAX, name) {
            probes[i].behind = true;
        }
        Self { name, corpora, probes }
    }

    pub(super) fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// One question's scores.
    pub(super) fn scores(
        &self,
        probe: &Probe,
        model: &dyn LanguageModel,
        reader: &Reader<'_>,
        vectors: &Vectors<'_>,
    ) -> Result<Scores, EvalError> {
        let corpus = &self.corpora[probe.corpus];
        let mut scores = Scores::default();
        for n in probe.contexts() {
            ask(model, reader, corpus, probe, n, &mut scores)?;
        }
        compare(corpus, probe, vectors, &mut scores);
        Ok(scores)
    }

    /// The figures of every signal.
    pub(super) fn rows(&self, scores: Vec<Scores>) -> Vec<GateRow> {
        let mut all = Scores::default();
        for scores in scores {
            all.extend(scores);
        }
        all.rows(self.name)
    }

    /// The vectors of all texts that are compared.
    pub(super) fn vectors(
        &self,
        embedder: &dyn Embedder,
        cancel: &Cancel,
    ) -> Result<Vectors<'_>, EvalError> {
        let mut texts: BTreeSet<&str> = BTreeSet::new();
        for probe in &self.probes {
            let notes = &self.corpora[probe.corpus].notes;
            texts.extend([
                probe.question.as_str(),
                &notes[probe.evidence].text,
                &notes[probe.random].text,
            ]);
        }
        // Of similar length together: short ones need not wait for long ones.
        let mut texts: Vec<&str> = texts.into_iter().collect();
        texts.sort_by_key(|text| text.len());
        let mut vectors = BTreeMap::new();
        for batch in texts.chunks(BATCH) {
            if cancel.is_cancelled() {
                return Err(EvalError::Cancelled);
            }
            vectors.extend(batch.iter().copied().zip(embedder.embed(batch)?));
        }
        Ok(vectors)
    }
}

impl Probe {
    fn contexts(&self) -> impl Iterator<Item = usize> {
        CONTEXTS.into_iter().filter(|&n| n == 0 || self.behind)
    }
}

/// By text.
pub(super) type Vectors<'a> = BTreeMap<&'a str, Embedding>;

/// What the reader's uncertainty loses by either note, behind the first `n` others.
fn ask(
    model: &dyn LanguageModel,
    reader: &Reader<'_>,
    corpus: &Corpus,
    probe: &Probe,
    n: usize,
    scores: &mut Scores,
) -> Result<(), ModelError> {
    let others: Vec<MemoryLine<'_>> =
        probe.others.iter().take(n).map(|&note| corpus.line(note)).collect();
    let question = reader.question(&probe.question);
    let n_positions = RecallConfig::default().n_positions;
    let mut context = reader.read(&others)?;
    let mark = context.len();
    let before = context.uncertainty(&question, reader.tail(), n_positions)?;
    let mut after = |note: usize| {
        context.extend(&model.encode(&corpus.line(note).render()))?;
        let after = context.uncertainty(&question, reader.tail(), n_positions);
        context.truncate(mark);
        after
    };
    let (evidence, random) = (after(probe.evidence)?, after(probe.random)?);
    for signal in BY_MODEL {
        let loss = |after| signal.of(&before) - signal.of(after);
        scores.add(signal.as_str(), n, loss(&evidence), loss(&random));
    }
    Ok(())
}

/// The signals that need no language model.
fn compare(corpus: &Corpus, probe: &Probe, vectors: &Vectors<'_>, scores: &mut Scores) {
    let question: BTreeSet<String> = lexical::terms(&probe.question).into_iter().collect();
    let pair = [probe.evidence, probe.random];
    let words = pair.map(|note| overlap(&question, &corpus.terms[note]));
    scores.add("word-overlap", 0, words[0], words[1]);

    // What recall calls overlap: rare terms weigh more.
    let weights = corpus.rarity.weights(&question);
    let mut rare = [0.0; 2];
    for n in probe.contexts() {
        let mut lines: Vec<&BTreeSet<String>> =
            probe.others.iter().take(n).map(|&note| &corpus.terms[note]).collect();
        let before = lexical::unnamed(&weights, &lines);
        let named = pair.map(|note| {
            lines.push(&corpus.terms[note]);
            let after = lexical::unnamed(&weights, &lines);
            lines.pop();
            before - after
        });
        scores.add(Signal::Overlap.as_str(), n, named[0], named[1]);
        if n == 0 {
            rare = named;
        }
    }

    let cosine = |note: usize| {
        let asked = vectors.get(probe.question.as_str());
        let note = vectors.get(corpus.notes[note].text.as_str());
        asked.zip(note).map_or(0.0, |(a, b)| f64::from(a.cosine(b)))
    };
    let similar = pair.map(cosine);
    scores.add("similarity", 0, similar[0], similar[1]);

    let mut matching = corpus.index.scores(&probe.question);
    by_largest(&mut matching);
    let all = corpus.notes.iter().filter_map(|note| vectors.get(note.text.as_str()).cloned());
    let all: Vec<_> = all.collect();
    let direction = vectors
        .get(probe.question.as_str())
        .map(|asked| Direction::new(asked, &direction::mean(&all), all.len()));
    let nearness = |note: usize| {
        let note = vectors.get(corpus.notes[note].text.as_str())?;
        direction.as_ref().map(|d| d.nearness(note.cosine(&d.vector)))
    };
    let relevance = pair.map(|note| {
        Relevance::default().of_semantic(&Cues {
            dense: nearness(note),
            lexical: matching[note],
            speaker: corpus.speaker_cue(&probe.question, note),
            n_characters: corpus.notes[note].text.chars().count(),
            ..Cues::default()
        })
    });
    scores.add("relevance", 0, relevance[0], relevance[1]);
    scores.add("overlap+similarity", 0, rare[0] + similar[0], rare[1] + similar[1]);
}

/// Evidence and noise, signal by signal, in the order in which the signals first came.
#[derive(Default)]
pub(super) struct Scores(Vec<(&'static str, usize, Vec<f64>, Vec<f64>)>);

impl Scores {
    fn add(&mut self, signal: &'static str, context: usize, evidence: f64, noise: f64) {
        let known = self.0.iter().position(|s| (s.0, s.1) == (signal, context));
        let at = known.unwrap_or_else(|| {
            self.0.push((signal, context, Vec::new(), Vec::new()));
            self.0.len() - 1
        });
        self.0[at].2.push(evidence);
        self.0[at].3.push(noise);
    }

    fn extend(&mut self, other: Self) {
        for (signal, context, evidence, noise) in other.0 {
            for (evidence, noise) in evidence.into_iter().zip(noise) {
                self.add(signal, context, evidence, noise);
            }
        }
    }

    fn rows(mut self, set: &'static str) -> Vec<GateRow> {
        self.0.sort_by_key(|s| s.1);
        self.0
            .iter()
            .map(|(signal, context, evidence, noise)| {
                let won: Vec<f64> = evidence.iter().zip(noise).map(|(&e, &n)| wins(e, n)).collect();
                GateRow {
                    set,
                    signal,
                    context: *context,
                    auc: roc_auc(evidence, noise),
                    paired: mean(&won),
                    pairs: won.len(),
                }
            })
            .collect()
    }
}
