//! `inglenook ask`: answers one question, in a new session or an existing one.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use super::App;
use super::args;
use super::report::{EXIT_INTERRUPTED, Failure, Outcome, done, text_of};
use crate::attachments::{self, AttachError, Attachment};
use crate::chat::{Filled, INPUT, OwnFile as _, Parts, Persona, Template, Update, answer_in};
use crate::extractive::asked_to_forget;
use crate::interfaces::{LoadProgress, ModelSource, Models, SystemClock};
use crate::memory::{SessionId, plain_text, with_attached};
use crate::store::Store;
use crate::worker::{self, WorkerConfig};

/// How long building the memory of earlier messages may delay the answer.
const PATIENCE: Duration = Duration::from_secs(3);

pub fn run(app: &App, args: &args::Ask) -> Outcome {
    let question = question(app, args)?;
    let role = args.role.as_deref().map(|name| role(app, name)).transpose()?;
    // `--model` goes before what the role says.
    let model = role.as_ref().filter(|_| app.model.is_none()).and_then(|role| role.model.clone());
    let registry = app.registry_for(model.as_deref())?;
    registry.check_default()?;
    let incognito = args.incognito || app.policy.is_incognito();
    if let Some(session) = args.session.filter(|_| app.policy.is_incognito()) {
        return Err(Failure::Forbidden {
            what: format!("{session} can't be continued: nothing that is said is kept here"),
            hint: String::new(),
        });
    }
    // Incognito writes nothing, so it also works beside a running chat.
    let store = if incognito { app.open_read_only()? } else { app.open()? };
    if let Some(session) = args.session {
        store.read(|r| r.session(session))?;
    }
    let source: Arc<dyn ModelSource> = if incognito {
        Arc::new(registry)
    } else {
        let models = app.models_named(model.as_deref())?;
        catch_up(app, &store, &models, args.session);
        Arc::new(models)
    };
    let parts = app.parts(store.clone(), source, args.uncertainty.as_deref())?;
    let mut parts = Parts { incognito, ..parts };
    parts.config.role = role.map(Arc::new);
    let streams = !args.json && !args.no_stream;
    let mut streamed = String::new();
    let mut broken: Option<Failure> = None;
    let progress = app.console.progress();
    let answered = answer_in(parts, args.session, &question, &app.cancel, &mut |update| {
        match update {
            Update::LoadProgress(LoadProgress { stage, fraction }) => {
                progress.set((fraction.unwrap_or(0.0) * 100.0) as u64, 100, stage);
            }
            Update::Progress(what) => progress.set(100, 100, what),
            Update::ReplyText(piece) if streams => {
                // Models may begin with spaces or newlines.
                let piece = if streamed.is_empty() { piece.trim_start() } else { piece };
                if piece.is_empty() {
                    return;
                }
                progress.finish();
                streamed.push_str(piece);
                if let Err(failure) = app.console.write(piece) {
                    // Nobody reads the output any more.
                    app.cancel.cancel();
                    broken.get_or_insert(failure);
                }
            }
            _ => {}
        }
    });
    progress.finish();
    if let Some(failure) = broken {
        return Err(failure);
    }
    let answered = match answered {
        Ok(answered) => answered,
        Err(e) => {
            if !streamed.is_empty() {
                app.console.write("\n")?;
            }
            return Err(e.into());
        }
    };
    if args.json {
        let mut record = answered.record;
        record["answer"] = plain_text(&answered.text).into();
        app.console.json(&record)?;
    } else if streamed.is_empty() {
        app.console.line(answered.text.trim_end())?;
    } else if !streamed.ends_with('\n') {
        app.console.write("\n")?;
    }
    for notice in &answered.notices {
        app.console.note(notice);
    }
    if !incognito {
        note_pending_steps(app, &store);
    }
    if !answered.complete && app.cancel.is_cancelled() {
        return Ok(ExitCode::from(EXIT_INTERRUPTED));
    }
    done()
}

fn role(app: &App, name: &str) -> Result<Persona, Failure> {
    Persona::read(&app.dirs.roles(), name)
        .map_err(|what| Failure::Usage { what, hint: "docs/guide.md shows one".into() })
}

fn prompt(app: &App, name: &str) -> Result<Template, Failure> {
    Template::read(&app.dirs.prompts(), name)
        .map_err(|what| Failure::Usage { what, hint: "docs/guide.md shows one".into() })
}

/// A prompt with these words, and what stdin holds in the place of those that it takes.
fn filled(prompt: &Template, words: &[String], has_stdin: bool) -> Result<String, Failure> {
    let Filled { text, missing } = prompt.fill_words(words, has_stdin);
    let Some(place) = missing.first() else { return Ok(text) };
    let (name, usage) = (&prompt.name, prompt.usage());
    let piped = if prompt.has(INPUT) { ", or a text on stdin in the place of INPUT" } else { "" };
    Err(Failure::Usage {
        what: format!("nothing fills {place} of the prompt {name}"),
        hint: format!("inglenook ask -p {name} {usage}{piped}"),
    })
}

/// Builds the memory of earlier messages, so that recall finds them although no chat has run since.
/// An answer without them is better than none, so a failure is only a warning.
fn catch_up(app: &App, store: &Store, models: &Models, current_session: Option<SessionId>) {
    let config = WorkerConfig { live: true, current_session, ..app.worker_config() };
    let clock = Arc::new(SystemClock);
    let progress = app.console.progress();
    progress.set(0, 0, "remembering what was said before");
    let caught_up = worker::catch_up(store, models, clock, config, PATIENCE, &app.cancel);
    progress.finish();
    if let Err(error) = caught_up {
        app.console.warn(&text_of(&error.into()));
    }
}

/// Mentions queued steps, if there are more than this question has added.
fn note_pending_steps(app: &App, store: &Store) {
    const FEW: usize = 4;
    let n = store.read(|r| r.pending_jobs()).map_or(0, |jobs| jobs.len());
    if n > FEW {
        app.console.note(&format!(
            "{n} steps of building the memory wait for the next chat, or for `inglenook memory consolidate --wait`."
        ));
    }
}

/// What was asked, with what the files and stdin hold. With nothing else, stdin is the question.
fn question(app: &App, args: &args::Ask) -> Result<String, Failure> {
    let prompt = args.prompt.as_deref().map(|name| prompt(app, name)).transpose()?;
    let mut question = args.question.join(" ").trim().to_owned();
    let mut files = Vec::new();
    for path in &args.file {
        files.push(attachments::read(path)?);
    }
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        if question.is_empty() && prompt.is_none() {
            // A question has no heading, and may be a few words.
            let text = attachments::read_from(stdin.lock(), "stdin");
            question = match text {
                Ok(text) => text.text.trim().to_owned(),
                Err(AttachError::Empty { .. }) => String::new(),
                Err(error) => return Err(error.into()),
            };
        } else if is_stdin_ready() {
            match attachments::read_from(stdin.lock(), "stdin") {
                Ok(text) => files.push(text),
                Err(AttachError::Empty { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        } else {
            app.console.note("Nothing came on stdin; the question goes without it.");
        }
    }
    if let Some(prompt) = prompt {
        question = filled(&prompt, &args.question, files.len() > args.file.len())?;
    }
    if question.is_empty() && files.is_empty() {
        return Err(Failure::Usage {
            what: "there is no question".into(),
            hint: "inglenook ask \"where do I live?\", or a question on stdin".into(),
        });
    }
    if let Some(what) = asked_to_forget(&question).filter(|_| files.is_empty()) {
        return Err(Failure::Usage {
            what: "`ask` forgets nothing".into(),
            hint: format!(
                "inglenook memory search \"{what}\" finds it, and inglenook memory forget s12, or --match WORDS, erases it for good"
            ),
        });
    }
    let attach =
        |question: String, file: &Attachment| with_attached(&question, &file.label, &file.text);
    Ok(files.iter().fold(question, attach))
}

/// Whether anything comes on stdin, or its end. Where a program starts this one with a pipe that it never closes, nothing does.
fn is_stdin_ready() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    const PATIENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };
    let stdin = std::io::stdin();
    let mut wanted = [PollFd::new(&stdin, PollFlags::IN)];
    poll(&mut wanted, Some(&PATIENCE)).is_ok_and(|n| n > 0)
}
