//! `memory forget`: shows the plan, asks, and erases for good.

use std::fmt::Write as _;

use super::super::App;
use super::super::backup::remark_on_backups;
use super::super::output::{counted, one_line};
use super::super::report::{Failure, Outcome, done};
use super::super::session::{SOURCE_CHARS_MAX, speaker};
use super::day;
use crate::store::{self, AnyId, ForgetPlan, Reader, Store, StoreError};

/// How many of each level are quoted; the rest is counted.
const QUOTED_MAX: usize = 10;

/// What the person named.
#[derive(Clone, Copy)]
pub enum Forgotten<'a> {
    /// With all that they come from and all that came of them.
    Units(&'a [AnyId]),
    /// Whatever holds this text, likewise.
    Matching(&'a str),
    /// All chats that first came from this file.
    Source(&'a str),
    /// The facts alone.
    Facts(&'a [AnyId]),
    /// The words alone.
    Words(&'a str),
}

pub fn run(app: &App, what: Forgotten<'_>, yes: bool) -> Outcome {
    if matches!(what, Forgotten::Matching(text) | Forgotten::Words(text) if text.trim().is_empty())
    {
        return Err(Failure::Usage {
            what: "--match and --redact need some text".into(),
            hint: "an empty text would match everything; `rm -r` on the folder that \
                   `inglenook dirs` names erases everything"
                .into(),
        });
    }
    let (mut store, mut in_place) = match app.open() {
        Err(Failure::Store(error)) if error.is_no_space() && lacks_space(app) => {
            (app.open_in_place()?, true)
        }
        opened => (opened?, false),
    };
    let (plan, text) = store.read(|r| {
        let plan = match what {
            Forgotten::Units(ids) => r.plan_forget(ids, None)?,
            Forgotten::Matching(text) => r.plan_forget(&[], Some(text))?,
            Forgotten::Source(name) => {
                let sessions = r.sessions()?.into_iter();
                // As it is written, or as it is listed.
                let is_named =
                    |source: &String| source == name || one_line(source, SOURCE_CHARS_MAX) == name;
                let from = sessions.filter(|session| session.source.as_ref().is_some_and(is_named));
                let ids: Vec<AnyId> = from.map(|session| AnyId::Session(session.id)).collect();
                r.plan_forget(&ids, None)?
            }
            Forgotten::Facts(ids) => r.plan_strike(ids)?,
            Forgotten::Words(text) => r.plan_blot(text)?,
        };
        let text = describe(r, &plan)?;
        Ok((plan, text))
    })?;
    if plan.is_empty() {
        // The last forgetting may have been killed before the file was cleaned.
        if store.read(|r| r.scrub_is_due())? {
            store.scrub()?;
        }
        app.console.line("Nothing of that is remembered.")?;
        if matches!(what, Forgotten::Source(_)) {
            app.console.note("`inglenook session list` names the files that chats came from.");
        }
        return warn_of_backups(app);
    }
    app.console.write(&text)?;
    if !yes && !app.console.confirm("Erase this for good? It can't be undone.")? {
        app.console.line("Nothing was erased.")?;
        return done();
    }
    let mut erased = erase(&store, &plan);
    let is_full = erased.as_ref().is_err_and(StoreError::is_no_space);
    if is_full && !in_place && lacks_space(app) {
        drop(store);
        (store, in_place) = (app.open_in_place()?, true);
        erased = erase(&store, &plan);
    }
    app.audit("forget", plan.messages.len() + plan.blotted.len());
    erased?;
    let changed = match plan.blotted.len() {
        0 => String::new(),
        n => format!(" {} stay without these words.", counted(n, "message")),
    };
    let how = if in_place { " The disk is full, so it was overwritten in place." } else { "" };
    app.console.line(&format!(
        "Erased: {}, {}, {}.{changed}{how} No copy is left in the memory file.",
        counted(plan.messages.len(), "message"),
        counted(plan.episodes.len(), "episode"),
        counted(plan.semantics.len(), "fact"),
    ))?;
    warn_of_backups(app)
}

pub fn erase(store: &Store, plan: &ForgetPlan) -> Result<(), StoreError> {
    store.write(|tx| tx.forget(plan))?;
    store.scrub()
}

/// Whether there is no room for a second copy of the memory, and somewhat more.
fn lacks_space(app: &App) -> bool {
    /// Bytes.
    const MORE: u64 = 1 << 20;
    let data = &app.dirs.data;
    let size = |name| std::fs::metadata(data.join(name)).map_or(0, |of| of.len());
    let needed = store::FILES.into_iter().map(size).sum::<u64>() + MORE;
    store::space_left(data).is_some_and(|left| left < needed)
}

fn warn_of_backups(app: &App) -> Outcome {
    let backups = remark_on_backups(&app.dirs.data)?;
    if !backups.is_empty() {
        app.console.warn(&backups);
    }
    done()
}

pub fn describe(reader: &Reader<'_>, plan: &ForgetPlan) -> Result<String, StoreError> {
    let mut text = String::from("This would be erased:\n");
    let sessions = quoted(&plan.sessions)
        .iter()
        .map(|&id| Ok(format!("{id} {}", one_line(&reader.session(id)?.title, 100))))
        .collect::<Result<_, StoreError>>()?;
    section(&mut text, "session", sessions, plan.sessions.len());
    let messages = reader.messages_by_id(quoted(&plan.messages))?;
    let messages = messages.iter().map(|m| {
        let (day, who) = (day(m.created_at), one_line(speaker(m), 40));
        format!("{} {day}, {who}: {}", m.id, one_line(&m.content, 100))
    });
    section(&mut text, "message", messages.collect(), plan.messages.len());
    let facts = reader.semantics_by_id(quoted(&plan.semantics))?;
    let facts = facts.iter().map(|s| format!("{} {}", s.id, one_line(&s.content, 100)));
    section(&mut text, "fact", facts.collect(), plan.semantics.len());
    let episodes = reader.episodes_by_id(quoted(&plan.episodes))?;
    let episodes = episodes.iter().map(|e| format!("{} {}", e.id, one_line(&e.title, 100)));
    section(&mut text, "episode", episodes.collect(), plan.episodes.len());
    if !plan.rewritten.is_empty() {
        let _ = writeln!(
            text,
            "  {} of these keep other messages, and will be written anew from them.",
            plan.rewritten.len()
        );
    }
    if plan.n_elsewhere > 0 {
        let places = counted(plan.n_elsewhere, "place");
        let _ = writeln!(
            text,
            "  {places} in titles of chats, corrections, the undo log and what was struck out."
        );
    }
    if !plan.struck.is_empty() {
        text +=
            "  The messages that they come from stay; these facts are not made from them again.\n";
    }
    if !plan.blotted.is_empty() {
        let messages = counted(plan.blotted.len(), "message");
        let _ = writeln!(
            text,
            "  {messages} stay, with […] for these words; what was made of them is made anew."
        );
    }
    if !plan.themes.is_empty() {
        let _ = writeln!(text, "  {} will be named anew.", counted(plan.themes.len(), "theme"));
    }
    Ok(text)
}

fn quoted<T>(ids: &[T]) -> &[T] {
    &ids[..ids.len().min(QUOTED_MAX)]
}

fn section(text: &mut String, what: &str, lines: Vec<String>, total: usize) {
    if total == 0 {
        return;
    }
    let _ = writeln!(text, "  {}", counted(total, what));
    for line in &lines {
        let _ = writeln!(text, "    {line}");
    }
    if total > lines.len() {
        let _ = writeln!(text, "    … and {} more", total - lines.len());
    }
}
