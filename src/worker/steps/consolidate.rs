//! In idle time: judges a fact against its update queue (LightMem §3.3; the conflict router of the
//! small-LLM paper), pair by pair: keep both, let the later supersede, or merge.
//!
//! Each pair is judged once, when the fact with the higher id has its turn. Nothing is overwritten: a
//! superseded fact keeps its row, its theme and its time span. Where only a part of it changed ("is 34 and
//! works as a nurse"), the rest becomes a fact of its own from the same messages.

use super::semantics::same_text;
use crate::extractive::{self, Judgement, Statement, THE_USER};
use crate::interfaces::Cancel;
use crate::memory::consolidation::{Dated, update_queue};
use crate::memory::{Semantic, SemanticId};
use crate::store::{Job, JobKind, Level, NewSemantic};
use crate::worker::cache::Cache;
use crate::worker::step_context::{StepContext, StepError, found};

/// How many earlier facts of the same subject and attribute are judged besides the similar ones.
const SAME_ATTRIBUTE_MAX: usize = 8;

/// Length n of the update queue.
const QUEUE_LENGTH: usize = 6;

/// Pairs less similar than this are not judged.
const QUEUE_SIMILARITY_MIN: f32 = 0.4;

/// A fact that takes something back is also judged against at most this many facts that share its words.
const SAME_WORDS_MAX: usize = 12;

/// An earlier fact, the later one, and what stays true of the earlier.
type Superseded = (SemanticId, SemanticId, Option<NewSemantic>);

impl StepContext {
    /// Judges one fact.
    pub(in crate::worker) fn consolidate(
        &mut self,
        job: &Job,
        id: SemanticId,
        cancel: &Cancel,
    ) -> Result<(), StepError> {
        let read = self.store.read(|r| Ok((r.semantics_by_id(&[id])?, r.user_name()?)));
        let Some((mut rows, name)) = found(read)? else { return self.finish(job) };
        let Some(this) = rows.pop().filter(|s| s.superseded_by.is_none()) else {
            return self.finish(job);
        };
        let mut candidates = candidates(self.cache()?, &this);
        // By its vector, "Fifi died" is close to nothing that was said of Fifi.
        if extractive::takes_back(&this.content) {
            let found =
                self.store.read(|r| r.full_text(Level::Semantic, &this.content, SAME_WORDS_MAX))?;
            candidates.extend(found.into_iter().map(|(id, _)| SemanticId(id)).filter(|i| *i < id));
            candidates.sort_unstable();
            candidates.dedup();
        }
        let (mut others, origins) = self.store.read(|r| {
            let origins = r.fact_origins(candidates.iter().copied().chain([id]))?;
            Ok((r.semantics_by_id(&candidates)?, origins))
        })?;
        // What others say, or a model, takes nothing back that the person said.
        let origin = |id: SemanticId| origins.get(&id).copied().unwrap_or_default();
        others.retain(|other| {
            let (earlier, later) = in_order(other, &this);
            let is_about_person = earlier.subject.as_deref().is_some_and(|subject| {
                subject == extractive::THE_USER || Some(subject) == name.as_deref()
            });
            other.superseded_by.is_none()
                && !origin(earlier.id).outranks(origin(later.id), is_about_person)
        });
        // In the order in which they were stated, so that the newest fact is judged last.
        others.sort_by_key(|s| (s.created_at.timestamp, s.id));

        let writers = self.writers()?;
        let mut superseded: Vec<Superseded> = Vec::new();
        let mut merged = None;
        for other in &others {
            let (earlier, later) = in_order(other, &this);
            let (before, after) =
                (of_user(earlier, name.as_deref()), of_user(later, name.as_deref()));
            let similarity = self.similarity(this.id, other.id)?;
            match writers.conflict.judge(&before, &after, similarity, cancel)? {
                Judgement::KeepBoth => {}
                // What the person said is not put together with what others did.
                Judgement::Merge(_) if origin(earlier.id) != origin(later.id) => {}
                Judgement::Supersedes => {
                    let rest = rest(earlier, later, name.as_deref());
                    superseded.push((earlier.id, later.id, self.unless_refused(rest)?));
                }
                Judgement::Merge(text) if same_text(&text, &later.content) => {
                    superseded.push((earlier.id, later.id, None));
                }
                // Said twice in one episode: the fuller version stays.
                Judgement::Merge(text)
                    if same_text(&text, &earlier.content) && earlier.episodes == later.episodes =>
                {
                    superseded.push((later.id, earlier.id, None));
                }
                Judgement::Merge(text) => {
                    merged = self.unless_refused(Some(join(text, earlier, later)))?;
                    superseded.extend(merged.is_some().then_some((earlier.id, later.id, None)));
                }
            }
            if merged.is_some() || superseded.iter().any(|(gone, ..)| *gone == this.id) {
                break;
            }
        }
        self.apply_judgement(job, superseded, merged, cancel)
    }

    /// What the person struck out or corrected isn't made again of other facts either.
    fn unless_refused(&self, fact: Option<NewSemantic>) -> Result<Option<NewSemantic>, StepError> {
        let Some(fact) = fact else { return Ok(None) };
        Ok((!self.store.read(|r| r.is_refused(&fact))?).then_some(fact))
    }

    fn similarity(&mut self, a: SemanticId, b: SemanticId) -> Result<f32, StepError> {
        let cache = self.cache()?;
        Ok(cache
            .hierarchy
            .embedding(a)
            .zip(cache.hierarchy.embedding(b))
            .map_or(0.0, |(a, b)| a.cosine(b)))
    }

    fn apply_judgement(
        &mut self,
        job: &Job,
        superseded: Vec<Superseded>,
        merged: Option<NewSemantic>,
        cancel: &Cancel,
    ) -> Result<(), StepError> {
        let parts = merged.as_ref().and(superseded.last()).map(|&(a, b, _)| (a, b));
        let mut facts: Vec<NewSemantic> = merged.into_iter().collect();
        let mut pairs = Vec::new();
        for (earlier, later, rest) in superseded {
            let place = rest.is_some().then_some(facts.len());
            facts.extend(rest);
            pairs.push((earlier, later, place));
        }
        self.insert_facts(facts, cancel, |tx, ids| {
            for (earlier, later, place) in pairs {
                let rows = tx.semantics_by_id(&[earlier, later])?;
                let at = rows[0].created_at.max(rows[1].created_at);
                match ids.first() {
                    Some(&joint) if parts == Some((earlier, later)) => {
                        tx.merge([earlier, later], joint, at)?;
                    }
                    _ => {
                        let rest = place.and_then(|place| ids.get(place).copied());
                        tx.supersede(earlier, later, rest, at)?;
                    }
                }
                tx.enqueue(&JobKind::NameTheme(rows[0].theme))?;
            }
            tx.finish_job(job.id)
        })?;
        Ok(())
    }
}

/// The facts to judge against: the update queue in both directions of time, and earlier facts of the
/// same subject and attribute.
fn candidates(cache: &Cache, this: &Semantic) -> Vec<SemanticId> {
    let before = cache.facts.range(..this.id);
    let mut ids = Vec::new();
    if let Some(embedding) = cache.hierarchy.embedding(this.id) {
        let of = Dated { id: this.id, at: this.created_at, embedding };
        let others: Vec<Dated<'_>> = cache
            .hierarchy
            .partition
            .themes()
            .flat_map(|(_, cluster)| cluster.members())
            .filter(|(id, _)| *id < this.id)
            .filter_map(|(id, embedding)| {
                Some(Dated { id: *id, at: cache.facts.get(id)?.at, embedding })
            })
            .collect();
        ids.extend(
            update_queue(of, &others, QUEUE_LENGTH, QUEUE_SIMILARITY_MIN)
                .into_iter()
                .map(|(id, _)| id),
        );
        // Earlier facts whose queue Q(e_i) contains this one.
        let mut earlier: Vec<(SemanticId, f32)> = others
            .iter()
            .filter(|o| o.at.timestamp <= this.created_at.timestamp)
            .map(|o| (o.id, embedding.cosine(o.embedding)))
            .filter(|&(_, similarity)| similarity >= QUEUE_SIMILARITY_MIN)
            .collect();
        earlier.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ids.extend(earlier.into_iter().take(QUEUE_LENGTH).map(|(id, _)| id));
    }
    if let (Some(subject), Some(attribute)) = (&this.subject, &this.attribute) {
        let same =
            |a: &Option<String>, b: &String| a.as_ref().is_some_and(|a| a.eq_ignore_ascii_case(b));
        ids.extend(
            before
                .rev()
                .filter(|(_, f)| same(&f.attribute, attribute))
                // "The user" and "Ana" may be the same person: the judge knows the name.
                .filter(|(_, f)| {
                    same(&f.subject, subject)
                        || is_user(subject)
                        || f.subject.as_deref().is_some_and(is_user)
                })
                .map(|(&id, _)| id)
                .take(SAME_ATTRIBUTE_MAX),
        );
    }
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn is_user(subject: &str) -> bool {
    subject.eq_ignore_ascii_case(THE_USER)
}

/// The earlier and the later of two facts, by time and then by id.
fn in_order<'a>(a: &'a Semantic, b: &'a Semantic) -> (&'a Semantic, &'a Semantic) {
    let key = |s: &Semantic| (s.created_at.timestamp, s.id);
    if key(a) <= key(b) { (a, b) } else { (b, a) }
}

/// The fact as the judge sees it: the person is "the user" also where the name is known, which is not in every fact.
fn of_user(semantic: &Semantic, name: Option<&str>) -> Statement {
    let text = extractive::as_user(&semantic.content, name);
    Statement { messages: semantic.messages.clone(), ..extractive::parse_statement(&text) }
}

/// What stays true of the earlier fact: from the same messages, stated at the same time.
fn rest(earlier: &Semantic, later: &Semantic, name: Option<&str>) -> Option<NewSemantic> {
    let content = extractive::remainder(&earlier.content, &later.content, name)?;
    let parsed = extractive::parse_statement(&content);
    Some(NewSemantic {
        subject: parsed.subject.or_else(|| earlier.subject.clone()),
        attribute: parsed.attribute,
        content,
        created_at: earlier.created_at,
        messages: earlier.messages.clone(),
    })
}

fn join(text: String, earlier: &Semantic, later: &Semantic) -> NewSemantic {
    let parsed = extractive::parse_statement(&text);
    NewSemantic {
        subject: parsed.subject.or_else(|| later.subject.clone()),
        attribute: parsed.attribute,
        content: text,
        created_at: later.created_at,
        messages: [earlier.messages.as_slice(), &later.messages].concat(),
    }
}
