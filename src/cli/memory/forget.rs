//! `memory forget`: shows the plan, asks, and erases for good.

use std::fmt::Write as _;

use super::super::App;
use super::super::backup::remark_on_backups;
use super::super::output::{counted, one_line};
use super::super::report::{Failure, Outcome, done};
use super::super::session::speaker;
use super::day;
use crate::store::{AnyId, ForgetPlan, Reader, StoreError};

/// How many of each level are quoted; the rest is counted.
const QUOTED_MAX: usize = 10;

pub fn run(app: &App, ids: &[AnyId], matching: Option<&str>, yes: bool) -> Outcome {
    if matching.is_some_and(|text| text.trim().is_empty()) {
        return Err(Failure::Usage {
            what: "--match needs some text".into(),
            hint: "an empty text would match everything; `rm -r` on the folder that \
                   `inglenook dirs` names erases everything"
                .into(),
        });
    }
    let store = app.open()?;
    let (plan, text) = store.read(|r| {
        let plan = r.plan_forget(ids, matching)?;
        let text = describe(r, &plan)?;
        Ok((plan, text))
    })?;
    if plan.is_empty() {
        app.console.line("Nothing of that is remembered.")?;
        return done();
    }
    app.console.write(&text)?;
    if !yes && !app.console.confirm("Erase this for good? It can't be undone.")? {
        app.console.line("Nothing was erased.")?;
        return done();
    }
    store.write(|tx| tx.forget(&plan))?;
    store.scrub()?;
    app.console.line(&format!(
        "Erased: {}, {}, {}. No copy is left in the memory file.",
        counted(plan.messages.len(), "message"),
        counted(plan.episodes.len(), "episode"),
        counted(plan.semantics.len(), "fact"),
    ))?;
    let backups = remark_on_backups(&app.dirs.data)?;
    if !backups.is_empty() {
        app.console.warn(&backups);
    }
    done()
}

fn describe(reader: &Reader<'_>, plan: &ForgetPlan) -> Result<String, StoreError> {
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
        let _ = writeln!(text, "  {places} in titles of chats and in the undo log.");
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
