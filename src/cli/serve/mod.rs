//! `inglenook serve`: the model, and the memory where it is asked for, for programs that speak OpenAI's protocol; the memory for
//! those that speak the Model Context Protocol.
//!
//! The protocols themselves are [`crate::server`]. One process has one model, which all requests share.

mod agents;
mod plain;
mod remembering;
mod token;

use std::net::TcpListener;
use std::sync::Arc;

use self::agents::Agents;
use self::plain::Plain;
use self::remembering::Remembering;
use super::App;
use super::args;
use super::interrupt;
use super::mcp::Readers;
use super::report::{self, Failure, Outcome, done};
use crate::interfaces::{Cancel, Embedder, ModelError};
use crate::mcp::http as mcp;
use crate::memory::plain_text;
use crate::server::{self, Access, ApiError, Asked, Replied, Service};

/// What any program may call the model, whichever it is.
const ALIAS: &str = "inglenook";

pub fn run(app: &App, args: &args::Serve) -> Outcome {
    let registry = app.registry()?;
    registry.check_default()?;
    let incognito = app.policy.is_incognito();
    // While the terminal is still there to ask for a passphrase on. Incognito writes nothing.
    let store = if incognito { app.open_read_only()? } else { app.open()? };
    let file = args.token_file.clone().unwrap_or_else(|| app.dirs.data.join("serve-token"));
    let token = token::of_file(&file)?;
    let address = (args.host, args.port);
    let listener = TcpListener::bind(address).and_then(|l| Ok((l.local_addr()?, l)));
    let (address, listener) = listener.map_err(|source| Failure::File {
        action: "listen on",
        path: format!("{}:{}", args.host, args.port),
        source,
    })?;
    let models = app.models()?;
    interrupt::stop_when_terminated(&app.cancel);
    let parts = app.parts(store, Arc::new(models.clone()), None)?;
    let plain = Plain::new(&models, &parts);
    let remembering =
        Remembering::start(parts, models.clone(), app.worker_config(), app.policy.serves());
    let (agents, asked) = agents::of(app.policy.serves());
    let readers =
        Readers { embedder: Arc::clone(&models.embedder), reranker: models.reranker.clone() };
    let served = Served {
        names: names(&models.language.info().name),
        embedder_names: names(models.embedder.id()),
        embedder: models.embedder,
        plain,
        remembering,
        agents,
    };
    app.console.line(&format!("http://{address}/v1"))?;
    app.console.note(&format!(
        "{} for programs that speak OpenAI's protocol; the memory for agents is at /mcp. The API key is in {}. Ctrl+C ends it.",
        served.names[0],
        file.display()
    ));
    let is_local = args.host.is_loopback();
    if !is_local {
        app.console.warn(
            "other machines can reach this: nothing is encrypted on the way, and the token lets in whoever has it",
        );
    }
    let access = Access { token, is_local };
    let ended = std::thread::scope(|scope| {
        scope.spawn(move || agents::answer_all(app, readers, asked));
        server::serve(listener, Arc::new(served), access, &app.cancel)
    });
    ended.map_err(|source| Failure::File {
        action: "serve on",
        path: address.to_string(),
        source,
    })?;
    done()
}

fn names(own: &str) -> Vec<String> {
    vec![own.to_owned(), ALIAS.to_owned()]
}

struct Served {
    names: Vec<String>,
    embedder_names: Vec<String>,
    embedder: Arc<dyn Embedder>,
    plain: Plain,
    remembering: Remembering,
    agents: Agents,
}

impl Service for Served {
    fn models(&self) -> Vec<String> {
        self.names.clone()
    }

    fn embedders(&self) -> Vec<String> {
        self.embedder_names.clone()
    }

    fn reply(
        &self,
        asked: &Asked,
        cancel: &Cancel,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<Replied, ApiError> {
        if let Some(memory) = &asked.memory {
            return self.remembering.reply(asked, memory, cancel, on_text);
        }
        self.plain.drop_forgotten(self.remembering.n_forgettings());
        self.plain.reply(asked, cancel, on_text)
    }

    fn embed(&self, texts: &[String], cancel: &Cancel) -> Result<(Vec<Vec<f32>>, usize), ApiError> {
        /// Texts at a time: between them other requests have their turn.
        const N_TOGETHER: usize = 32;
        let mut vectors = Vec::with_capacity(texts.len());
        for some in texts.chunks(N_TOGETHER) {
            cancel.check().map_err(of_model)?;
            let some: Vec<&str> = some.iter().map(String::as_str).collect();
            let embedded = self.embedder.embed(&some).map_err(of_model)?;
            vectors.extend(embedded.iter().map(|vector| vector.as_slice().to_vec()));
        }
        // As the language model counts: the embedder does not say.
        Ok((vectors, texts.iter().map(|text| self.plain.n_tokens(text)).sum()))
    }

    fn agent(
        &self,
        head: &mcp::Head,
        body: &[u8],
        unique: &str,
        cancel: &Cancel,
    ) -> Result<mcp::Response, ApiError> {
        self.agents.answer(head, body, unique, cancel)
    }
}

/// What a model's failure means to a program.
fn of_model(error: ModelError) -> ApiError {
    match error {
        ModelError::ContextOverflow { .. } => ApiError::too_long(format!("{error}.")),
        ModelError::ConstraintTooLong { .. } => ApiError::field("max_tokens", format!("{error}.")),
        ModelError::Cancelled => ApiError::new(503, "The reply was stopped before its first word."),
        error => of_failure(&error.into()),
    }
}

/// What failed here, why, and what to do.
fn of_failure(failure: &Failure) -> ApiError {
    ApiError::new(500, plain_text(&report::text_of(failure)).into_owned())
}
