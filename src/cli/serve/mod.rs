//! `inglenook serve`: the model, and the memory where it is asked for, for programs that speak OpenAI's protocol; the memory for
//! those that speak the Model Context Protocol.
//!
//! The protocols themselves are [`crate::server`]. One process has one model, which all requests share, and the memory of one
//! person or of many.

mod agents;
mod background;
mod homes;
mod people;
mod person;
mod plain;
mod remembering;
mod token;

use std::net::TcpListener;
use std::sync::{Arc, PoisonError, RwLock};

use self::people::People;
use self::person::{Person, Shared, open_memory};
use super::App;
use super::args;
use super::interrupt;
use super::report::{self, Failure, Outcome, done};
use crate::interfaces::{Cancel, ModelError};
use crate::memory::plain_text;
use crate::server::{self, Access, ApiError, Keys, Service};

/// What any program may call the model, whichever it is.
const ALIAS: &str = "inglenook";

/// Memories that may be open at a time, at the least: each request under way holds one, and so does the work in the background.
const N_OPEN_MIN: u16 = 10;

pub fn run(app: &App, args: &args::Serve) -> Outcome {
    app.registry()?.check_default()?;
    let file = args.token_file.clone().unwrap_or_else(|| app.dirs.data.join(token::FILE));
    let own = match args.people {
        // While the terminal is still there to ask for a passphrase on.
        None => Some((open_memory(app)?, token::of_file(&file)?)),
        Some(_) => None,
    };
    let address = (args.host, args.port);
    let listener = TcpListener::bind(address).and_then(|l| Ok((l.local_addr()?, l)));
    let (address, listener) = listener.map_err(|source| Failure::File {
        action: "listen on",
        path: format!("{}:{}", args.host, args.port),
        source,
    })?;
    interrupt::stop_when_terminated(&app.cancel);
    let n_open = args.people.is_some().then(|| args.open.max(N_OPEN_MIN).into());
    let shared = Shared::new(app, n_open)?;
    let keys = Arc::<RwLock<Keys>>::default();
    if let Some((store, token)) = own {
        let person: Arc<dyn Service> = Arc::new(Person::alone(&shared, store)?);
        keys.write().unwrap_or_else(PoisonError::into_inner).push((token, person));
    }
    let folder = args.people.clone();
    let people =
        folder.map(|folder| People::new(&shared, folder, Arc::clone(&keys))).transpose()?;
    app.console.line(&format!("http://{address}/v1"))?;
    let key = people
        .as_ref()
        .map_or_else(|| format!("The API key is in {}.", file.display()), People::described);
    app.console.note(&format!(
        "{} for programs that speak OpenAI's protocol; the memory for agents is at /mcp. {key} Ctrl+C ends it.",
        shared.model(),
    ));
    let is_local = args.host.is_loopback();
    if !is_local {
        app.console.warn(
            "other machines can reach this: nothing is encrypted on the way, and the token lets in whoever has it",
        );
    }
    let ended = Cancel::default();
    let served = std::thread::scope(|scope| {
        if let Some(people) = people {
            scope.spawn(|| people.look_after(&ended));
        }
        let access = Access { keys, is_for_many: args.people.is_some(), is_local };
        let served = server::serve(listener, access, &app.cancel);
        ended.cancel();
        served
    });
    shared.homes.close();
    served.map_err(|source| Failure::File {
        action: "serve on",
        path: address.to_string(),
        source,
    })?;
    done()
}

fn names(own: &str) -> Vec<String> {
    vec![own.to_owned(), ALIAS.to_owned()]
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
