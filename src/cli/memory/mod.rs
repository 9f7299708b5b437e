//! `memory …`: reading, correcting and erasing what is remembered.

mod consolidate;
mod edit;
pub mod forget;
mod learned;
mod rebuild;
pub mod search;
pub mod show;
mod tree;

use serde_json::{Value, json};

use self::forget::Forgotten;
use super::App;
use super::args::{Encryption, Memory as Args};
use super::output::counted;
use super::passphrase;
use super::report::{Failure, Outcome, done, found_problems};
use crate::memory::{Episode, Message, Moment, Semantic, Theme};
use crate::store::{self, MemoryStats, Session, StoreError};

pub fn run(app: &App, args: Args) -> Outcome {
    match args {
        Args::Tree { depth, theme, json } => tree::run(app, depth, theme, json),
        Args::Search { query, k, json } => search::run(app, &query.join(" "), k.into(), json),
        Args::Learned { import, json } => learned::run(app, import.as_deref(), json),
        Args::Show { id, json } => show::run(app, id, json),
        Args::Edit { id, text, title, .. } => edit::run(app, id, &text, title.as_deref()),
        Args::Forget { ids, matching, source, only, redact, yes, .. } => {
            let what = match (&matching, &redact, &source) {
                (Some(text), ..) => Forgotten::Matching(text),
                (_, Some(text), _) => Forgotten::Words(text),
                (.., Some(name)) => Forgotten::Source(name),
                _ if only => Forgotten::Facts(&ids),
                _ => Forgotten::Units(&ids),
            };
            forget::run(app, what, yes)
        }
        Args::Undo { any, .. } => edit::undo(app, any),
        Args::Repair(_) => repair(app),
        Args::Encrypt(_) => passphrase::change(app, Encryption::Encrypt),
        Args::Decrypt(_) => passphrase::change(app, Encryption::Decrypt),
        Args::Rekey(_) => passphrase::change(app, Encryption::Rekey),
        Args::Keyring(to) => passphrase::keep(app, to),
        Args::Stats { json } => stats(app, json),
        Args::Verify { json } => verify(app, json),
        Args::Rebuild { yes, .. } => rebuild::run(app, yes),
        Args::Consolidate { wait } => consolidate::run(app, wait),
    }
}

fn stats(app: &App, json: bool) -> Outcome {
    let store = app.open_read_only()?;
    let stats = store.read(|r| r.stats())?;
    if json {
        app.console.json(&stats)?;
        return done();
    }
    let rows = [
        ("messages", stats.messages.to_string(), String::new()),
        ("episodes", stats.episodes.to_string(), String::new()),
        ("facts", stats.semantics.to_string(), format!("{} superseded", stats.superseded)),
        (
            "themes",
            stats.themes.to_string(),
            format!("the largest has {}", counted(stats.largest_theme, "fact")),
        ),
        ("edges", stats.edges.to_string(), String::new()),
        ("jobs", stats.jobs_pending.to_string(), format!("{} failed", stats.jobs_failed)),
        (
            "moved",
            format!("{:.1} %", stats.reassignment_ratio * 100.0),
            "facts that changed their theme".into(),
        ),
    ];
    for (name, value, remark) in rows {
        app.console.line(format!("{name:<10} {value:>7}  {remark}").trim_end())?;
    }
    done()
}

/// Looks first: a sound memory stays as it is.
fn repair(app: &App) -> Outcome {
    match findings(app) {
        Ok((of_file, of_log, _)) if of_file.is_empty() && of_log.is_none() => {
            app.console.line("The memory is sound: nothing to repair.")?;
            return done();
        }
        Err(
            failure @ (Failure::Forbidden { .. }
            | Failure::Store(
                StoreError::NeedsPassphrase { .. } | StoreError::WrongPassphrase { .. },
            )),
        ) => {
            return Err(failure);
        }
        Ok(_) | Err(_) => {}
    }
    let stamp = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    let repaired = app.unlocked(|key| store::repair(&app.dirs.data, key, &stamp, app.wait))?;
    let lost = match (repaired.n_lost, repaired.n_changed) {
        (0, 0) => "no message is lost or changed".to_owned(),
        (lost, changed) => format!(
            "{} could not be read, {changed} are not as they were written",
            counted(lost, "message")
        ),
    };
    app.console.line(&format!(
        "Repaired: {} taken over; {lost}. Facts are made from them anew: `inglenook memory consolidate --wait`, or in the chat.",
        counted(repaired.copied.stats.messages, "message")
    ))?;
    app.console.note(&format!(
        "The damaged file is kept as {}: delete it when you no longer need it.",
        repaired.kept_as.display()
    ));
    if repaired.copied.findings.is_empty() { done() } else { found_problems() }
}

/// What is wrong with the memory's file, and with its log, and how much there is.
fn findings(app: &App) -> Result<(Vec<String>, Option<String>, MemoryStats), Failure> {
    // Before it is opened: what SQLite does not read, it may throw away.
    let of_log = store::log_damage(&app.dirs.data);
    let store = app.open_read_only()?;
    let (of_file, stats) = store.read(|r| Ok((r.verify()?, r.stats()?)))?;
    let of_log = match of_log {
        None => store.log_damage()?,
        found => found,
    };
    Ok((of_file, of_log, stats))
}

fn verify(app: &App, json: bool) -> Outcome {
    let (mut violations, of_log, stats) = findings(app)?;
    let is_log_only = violations.is_empty();
    violations.extend(of_log);
    if json {
        app.console.json(&json!({ "sound": violations.is_empty(), "violations": violations }))?;
    } else if violations.is_empty() {
        app.console.line(&format!(
            "Sound: {}; nothing is lost, doubled or out of place.",
            unit_counts(&stats).join(", ")
        ))?;
    } else {
        for violation in &violations {
            app.console.line(&format!("broken: {violation}"))?;
        }
        // A repair reads what SQLite reads of the log.
        if !is_log_only {
            app.console.note(
                "hint: `inglenook memory repair` makes a new memory of what can be read; please report this.",
            );
        }
    }
    if violations.is_empty() { done() } else { found_problems() }
}

/// "3 messages", "1 episode", "2 facts", "1 theme".
pub fn unit_counts(stats: &MemoryStats) -> [String; 4] {
    [
        counted(stats.messages, "message"),
        counted(stats.episodes, "episode"),
        counted(stats.semantics, "fact"),
        counted(stats.themes, "theme"),
    ]
}

/// "16 Nov 2026 10:03", in the local time of the message.
pub fn when(at: Moment) -> String {
    at.civil().strftime("%-d %b %Y %H:%M").to_string()
}

pub fn day(at: Moment) -> String {
    at.civil().strftime("%-d %b %Y").to_string()
}

/// With its UTC offset.
pub fn rfc3339(at: Moment) -> String {
    at.timestamp.display_with_offset(at.offset).to_string()
}

fn ids(ids: &[impl ToString]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

pub fn json_of_session(s: &Session, messages: &[Message]) -> Value {
    json!({
        "id": s.id.to_string(),
        "title": s.title,
        "created_at": rfc3339(s.created_at),
        "imported": s.imported,
        "source": s.source,
        "messages": messages.iter().map(json_of_message).collect::<Vec<_>>(),
    })
}

pub fn json_of_message(m: &Message) -> Value {
    json!({
        "id": m.id.to_string(),
        "role": m.role.as_str(),
        "speaker": m.speaker,
        "content": m.content,
        "created_at": rfc3339(m.created_at),
        "external_id": m.external_id,
        "episode": m.episode.map(|e| e.to_string()),
        "complete": m.complete,
    })
}

pub fn json_of_episode(e: &Episode) -> Value {
    json!({
        "id": e.id.to_string(),
        "session": e.session.to_string(),
        "title": e.title,
        "content": e.content,
        "started_at": rfc3339(e.started_at),
        "ended_at": rfc3339(e.ended_at),
        "messages": ids(&e.messages),
    })
}

pub fn json_of_semantic(s: &Semantic) -> Value {
    json!({
        "id": s.id.to_string(),
        "text": s.content,
        "subject": s.subject,
        "attribute": s.attribute,
        "theme": s.theme.to_string(),
        "created_at": rfc3339(s.created_at),
        "superseded_by": s.superseded_by.map(|id| id.to_string()),
        "superseded_at": s.superseded_at.map(rfc3339),
        "episodes": ids(&s.episodes),
        "messages": ids(&s.messages),
    })
}

pub fn json_of_theme(t: &Theme) -> Value {
    json!({ "id": t.id.to_string(), "name": t.name, "semantics": ids(&t.members) })
}
