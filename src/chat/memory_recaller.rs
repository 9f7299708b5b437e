//! The conversation's recall: [`Recall`] behind the port [`Recaller`].

use crate::chat::ports::{Question, Recaller, Recollection};
use crate::chat::prompt::turn_role;
use crate::error_chain::error_chain;
use crate::interfaces::{Models, TurnRole};
use crate::recall::{Recall, RecallConfig, RecallError, RecallRequest};
use crate::store::Store;

/// Searches the memory with this configuration.
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
            question.history.iter().map(|m| (turn_role(m.role), m.text.clone())).collect()
        } else {
            // Rules do not read the window: what was just said is evidence like anything else.
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
            other => Some(error_chain(&other)),
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
