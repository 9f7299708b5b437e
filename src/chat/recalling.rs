//! Recall, as the conversation asks for it.

use crate::chat::driver::in_words;
use crate::chat::recollection::{Question, Recaller, Recollection};
use crate::interfaces::{Models, TurnRole};
use crate::memory::Role;
use crate::recall::{Recall, RecallConfig, RecallError, RecallRequest};
use crate::store::Store;

/// Asks [`Recall`], with this configuration.
#[derive(Debug, Clone, Default)]
pub struct MemoryRecaller {
    pub config: RecallConfig,
}

impl Recaller for MemoryRecaller {
    fn recall(
        &self,
        store: &Store,
        models: &Models,
        question: Question<'_>,
        on_progress: &mut dyn FnMut(String),
    ) -> Result<Recollection, Option<String>> {
        let history: Vec<(TurnRole, String)> = if question.for_model {
            question
                .history
                .iter()
                .map(|line| {
                    let role = match line.role {
                        Role::User => TurnRole::User,
                        Role::Assistant => TurnRole::Assistant,
                    };
                    (role, line.text.clone())
                })
                .collect()
        } else {
            // Rules do not read the window: what was just said is evidence like all the rest.
            Vec::new()
        };
        let mut config = self.config.clone();
        config.window_tokens = config.window_tokens.min(question.window_tokens);
        let recall = Recall { store, models, config };
        let request = RecallRequest {
            question: question.text,
            now: question.at,
            system: question.system,
            history: &history,
            prompt: question.for_model,
            reuse: question.reuse,
            cancel: question.cancel,
        };
        let mut evidence = recall
            .run(request, &mut |progress| on_progress(progress.to_string()))
            .map_err(|error| match error {
            RecallError::Cancelled => None,
            other => Some(in_words(&other)),
        })?;
        Ok(Recollection {
            record: evidence.to_json(),
            candidates: std::mem::take(&mut evidence.candidates),
            context: evidence.context.take(),
            n_left_out: evidence.n_history_left_out,
            question_cut: evidence.question_cut,
        })
    }
}
