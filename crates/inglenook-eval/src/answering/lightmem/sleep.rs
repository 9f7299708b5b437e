//! Sleep-time updates (§3.3). Every note is judged against the later notes of its queue as they were before
//! the update, so queues are independent.

use inglenook::extractive::{self, Judgement, Statement};
use inglenook::memory::consolidation::{Dated, update_queue};
use inglenook::memory::{Moment, SemanticId};

use super::super::built_cache::Unit;
use super::super::memory_builder::{MemoryBuilder, MeteredWriter};
use crate::EvalError;
use crate::retrieval::vectors::embed;

/// n, the length of an update queue.
const QUEUE_LENGTH: usize = 10;
/// Pairs less similar are not judged.
const SIMILARITY_MIN: f32 = 0.9;

/// The notes after an update.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Updated {
    pub units: Vec<Unit>,
    pub n_judged: u64,
    pub n_deleted: u64,
    pub n_merged: u64,
}

/// Deletes notes that a later one outdates or repeats, and merges into a note what later ones add.
pub(super) fn update(
    notes: Vec<Unit>,
    builder: &MemoryBuilder<'_>,
    writer: &MeteredWriter,
) -> Result<Updated, EvalError> {
    let texts: Vec<String> = notes.iter().map(|note| note.text.clone()).collect();
    let vectors = embed(builder.models.embedder.as_ref(), &texts)?;
    let dated: Vec<Dated<'_>> = notes
        .iter()
        .zip(&vectors)
        .enumerate()
        .map(|(i, (note, embedding))| {
            let (id, at) = (SemanticId(i as i64), Moment::from_civil_utc(note.at));
            Dated { id, at, embedding }
        })
        .collect();
    let statement =
        |text: &str| Statement { messages: Vec::new(), ..extractive::parse_statement(text) };
    let mut result = Updated { units: Vec::new(), n_judged: 0, n_deleted: 0, n_merged: 0 };
    for (i, note) in notes.iter().enumerate() {
        builder.step(i, notes.len())?;
        let mut updated = Some(note.clone());
        for (later, similarity) in update_queue(dated[i], &dated, QUEUE_LENGTH, SIMILARITY_MIN) {
            let Some(earlier) = &mut updated else { break };
            let Ok(later) = usize::try_from(later.0) else { continue };
            let later = &notes[later];
            result.n_judged += 1;
            let (before, after) = (statement(&earlier.text), statement(&later.text));
            match writer.writers.conflict.judge(&before, &after, similarity, builder.cancel)? {
                Judgement::KeepBoth => {}
                // The later note already says everything.
                Judgement::Merge(text) if text == later.text => updated = None,
                Judgement::Supersedes => updated = None,
                Judgement::Merge(text) => {
                    earlier.text = text;
                    earlier.messages.extend(&later.messages);
                    earlier.messages.sort_unstable();
                    earlier.messages.dedup();
                    result.n_merged += 1;
                }
            }
        }
        result.n_deleted += u64::from(updated.is_none());
        result.units.extend(updated);
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::super::built_cache::BuiltCache;
    use super::super::super::data::Conversation;
    use super::super::super::memory_builder::ModelUse;
    use super::super::super::meter::Metered;
    use super::*;
    use inglenook::interfaces::{Cancel, LanguageModel};
    use inglenook::model_policy::Plan;
    use inglenook::testing::ScriptedModel;
    use inglenook::worker::writer::{Generative, Writers};

    const HOUSE: &str = "Ana lives in a small yellow house by the old harbour of the quiet town of";

    /// `relation` is the model's word on every pair, `merged` its sentence for two that say the same.
    fn night(notes: &[(&str, i8)], relation: &str, merged: &str) -> Updated {
        let model = ScriptedModel::new(&[("New: ", relation)]).with_default_reply(merged);
        let language: Arc<dyn LanguageModel> = Arc::new(model);
        let models = inglenook::testing::models(Arc::clone(&language));
        let conversation = Conversation {
            name: "c".into(),
            speaker: None,
            messages: Vec::new(),
            questions: Vec::new(),
        };
        let dir = tempfile::tempdir().unwrap();
        let model_use = ModelUse { plan: Plan::all(true), thinks: true };
        let builder = MemoryBuilder {
            conversation: &conversation,
            place: 0,
            models: &models,
            model_use,
            ready: None,
            cache: &BuiltCache::of(dir.path(), "a run".into()),
            pruning_ratio: 1.0,
            on_step: &|_, _| {},
            cancel: &Cancel::default(),
        };
        let writer = MeteredWriter {
            model: Metered::new(Arc::clone(&language)),
            writers: Writers::new(Arc::clone(&language), model_use.plan),
            generative: Generative::new(language),
        };
        let units = notes.iter().enumerate().map(|(i, &(town, day))| Unit {
            text: format!("{HOUSE} {town}"),
            at: jiff::civil::date(2026, 11, day).at(9, 0, 0, 0),
            messages: vec![i],
        });
        update(units.collect(), &builder, &writer).unwrap()
    }

    #[track_caller]
    fn check(result: &Updated, towns: &[&str], counts: [u64; 3]) {
        let texts: Vec<&str> =
            result.units.iter().map(|u| u.text.strip_prefix(HOUSE).unwrap().trim()).collect();
        assert_eq!(texts, towns);
        assert_eq!([result.n_judged, result.n_deleted, result.n_merged], counts, "{result:?}");
    }

    #[test]
    fn only_a_later_note_updates_an_earlier_one() {
        check(&night(&[("Lund", 1), ("Malmö", 2)], "update", ""), &["Malmö"], [1, 1, 0]);
        check(&night(&[("Lund", 2), ("Malmö", 1)], "update", ""), &["Lund"], [1, 1, 0]);
        check(&night(&[("Lund", 1), ("Malmö", 2)], "keep", ""), &["Lund", "Malmö"], [1, 0, 0]);
        check(&night(&[], "update", ""), &[], [0, 0, 0]);
    }

    #[test]
    fn what_says_the_same_is_merged_or_goes() {
        let both = format!("{HOUSE} Lund since 2024");
        let result = night(&[("Lund", 1), ("since 2024", 2)], "same", &both);
        check(&result, &["Lund since 2024", "since 2024"], [1, 0, 1]);
        assert_eq!(result.units[0].messages, [0, 1], "it rests on both");
        // The later note already says everything.
        let result = night(&[("Lund", 1), ("Lund since 2024", 2)], "same", &both);
        check(&result, &["Lund since 2024"], [1, 1, 0]);
    }
}
