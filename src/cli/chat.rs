//! Without a command: the chat screen. Also the settings that the screen and `ask` share.

use std::process::ExitCode;
use std::sync::Arc;

use super::App;
use super::report::{Failure, Outcome};
use crate::chat::ChatConfig;
use crate::interfaces::{Signal, SystemClock};
use crate::model_policy::Mode;
use crate::recall::RecallConfig;
use crate::tui;
use crate::worker::WorkerConfig;

pub fn run(app: &App, notices: Vec<String>) -> Outcome {
    let registry = app.registry()?;
    registry.check_default()?;
    let store = app.open()?;
    let exit_code = tui::run(tui::App {
        source: Arc::new(registry),
        store,
        clock: Arc::new(SystemClock),
        config: app.chat_config(),
        recall: app.recall_config(None)?,
        worker: WorkerConfig {
            writer: app.worker_config().writer,
            ..WorkerConfig::beside_chat(None)
        },
        reader: app.reader(),
        notices,
    })?;
    Ok(ExitCode::from(exit_code))
}

impl App {
    /// Window and sampling, from the configuration.
    pub(super) fn chat_config(&self) -> ChatConfig {
        let set = &self.config;
        let mut config = ChatConfig::default();
        config.window_tokens = set.window_tokens.unwrap_or(config.window_tokens);
        let sampling = &mut config.sampling;
        sampling.tokens_max = set.reply_tokens_max.unwrap_or(sampling.tokens_max);
        sampling.temperature = set.temperature.unwrap_or(sampling.temperature);
        sampling.top_p = set.top_p.unwrap_or(sampling.top_p);
        sampling.min_p = set.min_p.unwrap_or(sampling.min_p);
        sampling.repetition_penalty = set.repetition_penalty.unwrap_or(sampling.repetition_penalty);
        config
    }

    /// How recall works, from `--uncertainty` and the configuration.
    ///
    /// # Errors
    /// If `asked` names no signal.
    pub fn recall_config(&self, asked: Option<&str>) -> Result<RecallConfig, Failure> {
        let signal = match asked.or(self.config.uncertainty.as_deref()) {
            None | Some("auto") => None,
            Some(name) => Some(name.parse::<Signal>().map_err(|e| Failure::Usage {
                what: e.to_string(),
                hint: "auto probes no episodes".into(),
            })?),
        };
        let default = RecallConfig::default();
        let window_tokens = self.config.window_tokens.unwrap_or(default.window_tokens);
        let n_reranked = self.config.rerank.unwrap_or(default.n_reranked);
        Ok(RecallConfig { signal, window_tokens, n_reranked, ..default })
    }

    /// The configured reader; `None`: the program decides.
    pub(super) fn reader(&self) -> Option<Mode> {
        self.config.reader.as_deref().map(|mode| Mode::from_setting(Some(mode)))
    }
}
