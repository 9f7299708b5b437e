//! Wires a conversation: recall, the memory worker and the choice of a reader.

use std::sync::Arc;

use crate::chat::{Background, Parts, Reader, SharedModels, WorkerStatus};
use crate::error_chain::error_chain;
use crate::interfaces::ModelInfo;
use crate::memory::SessionId;
use crate::model_policy::{Grade, Mode, reader_generates};
use crate::store::Store;
use crate::tui::runner::App;
use crate::worker::{Worker, WorkerHandle, WorkerState};

/// The memory worker beside a chat.
struct Beside(WorkerHandle);

impl Background for Beside {
    fn pause(&self) {
        self.0.pause();
    }

    fn resume(&self) {
        self.0.resume();
    }

    fn remember(&self, session: SessionId, text: &str) -> Result<(), String> {
        self.0.remember(session, text).map(|_| ()).map_err(|error| error_chain(&error))
    }

    fn status(&self) -> WorkerStatus {
        let status = self.0.status();
        status_line(&status.state, status.jobs_left)
    }

    fn stop(self: Box<Self>) {
        self.0.stop();
    }
}

fn status_line(state: &WorkerState, jobs_left: usize) -> WorkerStatus {
    let left = |text: String| match jobs_left {
        0 => text,
        n => format!("{text}, {n} left"),
    };
    let (text, busy, failed) = match state {
        WorkerState::Working { what } => (left(format!("memory: {what}")), true, false),
        WorkerState::Failed { what } => (format!("memory: {what}"), false, true),
        // It pauses during every reply; that is worth a word only if it has work.
        WorkerState::Paused if jobs_left > 0 => (left("memory waits".into()), false, false),
        WorkerState::Idle | WorkerState::Paused => ("memory idle".into(), false, false),
    };
    WorkerStatus { text, busy, failed }
}

/// Who reads the evidence: as `mode` says, else by the setting `reader` and the model's grade.
pub fn reader_of(mode: Option<Mode>, store: &Store, info: &ModelInfo) -> Reader {
    let (setting, grade) = store
        .read(|r| Ok((r.setting("reader")?, r.setting(&info.grade_key())?)))
        .unwrap_or_default();
    let mode = mode.unwrap_or_else(|| Mode::from_setting(setting.as_deref()));
    let grade = Grade::from_setting(grade.as_deref());
    if reader_generates(mode, info, grade.as_ref()) {
        Reader::Generative
    } else {
        Reader::Extractive
    }
}

/// The parts of the screen's conversation.
pub(super) fn of_app(app: App, models: SharedModels) -> Parts {
    let App { source, store, clock, config, recall, worker, reader, .. } = app;
    let worker_clock = Arc::clone(&clock);
    Parts {
        store,
        source,
        clock,
        config,
        recaller: Arc::new(recall),
        reader_of: Arc::new(move |store, info| reader_of(reader, store, info)),
        background_of: Arc::new(move |store, models| {
            let clock = Arc::clone(&worker_clock);
            let worker = Worker::start(store.clone(), models.clone(), clock, worker.clone());
            Some(Box::new(Beside(worker)) as Box<dyn Background>)
        }),
        models,
        incognito: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worker_in_a_few_words() {
        let check = |state: WorkerState, left, text: &str, busy, failed| {
            let text = text.to_owned();
            assert_eq!(status_line(&state, left), WorkerStatus { text, busy, failed });
        };
        check(WorkerState::Idle, 0, "memory idle", false, false);
        check(WorkerState::Paused, 0, "memory idle", false, false);
        check(WorkerState::Paused, 2, "memory waits, 2 left", false, false);
        let what = "noting facts".to_owned();
        check(WorkerState::Working { what }, 3, "memory: noting facts, 3 left", true, false);
        let what = "1 step failed".to_owned();
        check(WorkerState::Failed { what }, 3, "memory: 1 step failed", false, true);
    }
}
