//! Without a command: the chat screen. Also the settings that the screen and `ask` share.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::App;
use super::language;
use super::report::{Failure, Outcome};
use crate::chat::{Allowed, ChatConfig, Parts};
use crate::interfaces::{ModelSource, Signal, SystemClock};
use crate::recall::RecallConfig;
use crate::store::{Store, StoreError};
use crate::texts::text;
use crate::tui::keys::Keymap;
use crate::tui::{self, Beginning, Left};
use crate::worker::WorkerConfig;

pub fn run(app: &App, notices: Vec<String>, plain: bool) -> Outcome {
    let mut notices = notices;
    notices.extend(language::choose(app.config.language.as_deref(), &app.dirs.texts())?);
    notices.extend(app.servers().err().filter(|none| none.is_broken).map(|none| none.why));
    let (keys, wrong) = keys(app);
    notices.extend(wrong);
    let mut beginning = Beginning { notices, ..Beginning::default() };
    // A wrong name is said before anything is opened.
    let registry = app.registry()?;
    registry.check_default()?;
    #[cfg(feature = "hub")]
    let registry = super::pullable::ChatModels::new(app, registry);
    let source: Arc<dyn ModelSource> = Arc::new(registry);
    let mut store = app.open()?;
    // A terminal that can't move its cursor has no screen.
    let is_plain =
        plain || app.config.plain || env::var_os("TERM").is_some_and(|term| term == "dumb");
    loop {
        let parts = app.parts(store, Arc::clone(&source), None)?;
        let worker = WorkerConfig { writer: app.config.writer, ..WorkerConfig::beside_chat(None) };
        let lock_after = app.lock_after();
        let parts = Parts { worker: Some(worker), ..parts };
        let begins = Beginning {
            lock_after,
            palette: app.config.palette.clone(),
            keys: keys.clone(),
            ..beginning
        };
        let run = if is_plain { tui::run_plain } else { tui::run };
        match run(parts, begins)? {
            Left::Quit(code) => return Ok(ExitCode::from(code)),
            Left::Locked(draft) => {
                app.lock();
                app.console.line("Locked, because nobody was there (`lock_minutes`).")?;
                store = reopened(app)?;
                beginning = Beginning { draft, ..Beginning::default() };
            }
        }
    }
}

/// The person's keys, and what of `keys.toml` can't be; without the file, the usual ones.
fn keys(app: &App) -> (Keymap, Vec<String>) {
    let path = app.dirs.keys();
    match fs::read_to_string(&path) {
        Ok(text) => Keymap::parse(&text, &path.display().to_string()),
        Err(e) if e.kind() == ErrorKind::NotFound => (Keymap::default(), Vec::new()),
        Err(e) => {
            let why = text!(
                "{path} can't be read ({error}): all keys are the usual ones",
                path = path.display(),
                error = e
            );
            (Keymap::default(), vec![why])
        }
    }
}

/// The memory of a locked chat, once somebody knows the passphrase.
fn reopened(app: &App) -> Result<Store, Failure> {
    /// The last writes of the chat may take a moment.
    const PATIENCE: Duration = Duration::from_secs(30);
    let since = Instant::now();
    loop {
        match app.open() {
            Err(Failure::Store(StoreError::WrongPassphrase { .. })) => {
                app.console.warn("that was not the passphrase either");
            }
            Err(Failure::Store(StoreError::Locked { .. })) if since.elapsed() < PATIENCE => {
                thread::sleep(Duration::from_millis(100));
            }
            other => return other,
        }
    }
}

impl App {
    /// The parts of a conversation without a worker, from the configuration and `--uncertainty`.
    ///
    /// # Errors
    /// If `uncertainty` names no signal.
    pub(super) fn parts(
        &self,
        store: Store,
        source: Arc<dyn ModelSource>,
        uncertainty: Option<&str>,
    ) -> Result<Parts, Failure> {
        Ok(Parts {
            store,
            source,
            clock: Arc::new(SystemClock),
            config: ChatConfig {
                roles: self.dirs.roles(),
                prompts: self.dirs.prompts(),
                ..self.config.chat.clone()
            },
            recall: self.recall_config(uncertainty)?,
            recaller: Arc::new(|recall, request, report| recall.run(request, report)),
            reader: self.config.reader,
            worker: None,
            models: Arc::default(),
            incognito: self.policy.is_incognito(),
            allowed: Allowed {
                exports: self.policy.exports(),
                sync: self.policy.syncs(),
                audit: self.audit_file(),
                tools: self.servers().map_err(|none| none.why),
            },
        })
    }

    /// How recall works, from `--uncertainty` and the configuration.
    ///
    /// # Errors
    /// If `asked` names no signal.
    pub fn recall_config(&self, asked: Option<&str>) -> Result<RecallConfig, Failure> {
        let signal = match asked.or(self.config.uncertainty.as_deref()) {
            None | Some("auto") => None,
            Some(name) => {
                let unknown =
                    |what| Failure::Usage { what, hint: "auto probes no episodes".into() };
                Some(name.parse::<Signal>().map_err(unknown)?)
            }
        };
        let default = RecallConfig::default();
        let window_tokens = self.config.chat.window_tokens;
        let n_reranked = self.config.rerank.unwrap_or(default.n_reranked);
        Ok(RecallConfig { signal, window_tokens, n_reranked, ..default })
    }
}
