//! What forgetting would take, for the question before it.

use crate::extractive::{self, Candidate};
use crate::memory::{Message, Moment, Origin, Semantic, plain_text};
use crate::store::{AnyId, ForgetPlan, Reader, StoreError};
use crate::texts::{plural, text};
use crate::tui::event::{OtherPlan, StoreReply};
use crate::tui::speaker;
use crate::tui::state::{Confirm, Confirmed, Overlay, State};

/// Texts shown in each section of a plan; the rest are counted.
const PLAN_LINES_MAX: usize = 40;
/// Characters of each text that are shown.
const PLAN_CHARS_MAX: usize = 200;

/// The question before these, or what holds a text, are forgotten.
pub(super) fn plan(
    r: &Reader<'_>,
    ids: &[AnyId],
    matching: Option<&str>,
) -> Result<StoreReply, StoreError> {
    let plan = r.plan_forget(ids, matching)?;
    let lines = plan_lines(r, &plan)?;
    let other = less(r, ids, matching)?;
    Ok(StoreReply::ForgetPlan { plan, lines, other })
}

/// The facts that a sentence means, or, where no fact is made of it yet, the messages.
pub(super) fn about(r: &Reader<'_>, what: &str, now: Moment) -> Result<Vec<AnyId>, StoreError> {
    const UNREAD_MAX: u32 = 200;
    let person = r.user_name()?;
    let candidate = |text: &str, at: Moment, raw_speaker, superseded| Candidate {
        text: text.to_owned(),
        relevance: 1.0,
        at: at.civil(),
        raw_speaker,
        superseded,
        origin: Origin::Person,
        answers: None,
    };
    let find = |among: &[Candidate]| extractive::meant(what, among, now.civil(), person.as_deref());
    let facts = r.semantics()?;
    let of_fact =
        |s: &Semantic| candidate(&s.content, s.created_at, None, s.superseded_by.is_some());
    let found = find(&facts.iter().map(of_fact).collect::<Vec<_>>());
    if !found.is_empty() {
        return Ok(found.into_iter().map(|i| AnyId::Semantic(facts[i].id)).collect());
    }
    let unread = r.newest_open_messages(UNREAD_MAX)?;
    let name = person.clone().unwrap_or_else(|| extractive::THE_USER.into());
    let of_message = |m: &Message| candidate(&m.content, m.created_at, Some(name.clone()), false);
    let found = find(&unread.iter().map(of_message).collect::<Vec<_>>());
    Ok(found.into_iter().map(|i| AnyId::Message(unread[i].id)).collect())
}

/// What can go alone: of a fact, only the fact; of a text that was searched for, only its words.
fn less(
    r: &Reader<'_>,
    ids: &[AnyId],
    matching: Option<&str>,
) -> Result<Option<Box<OtherPlan>>, StoreError> {
    let are_facts = !ids.is_empty() && ids.iter().all(|id| matches!(id, AnyId::Semantic(_)));
    let other = match matching {
        Some(part) => OtherPlan { what: text!("only these words"), plan: r.plan_blot(part)? },
        None if are_facts => OtherPlan { what: text!("only the fact"), plan: r.plan_strike(ids)? },
        None => return Ok(None),
    };
    Ok(Some(Box::new(other)))
}

/// The facts of a plan: those that go, and those that rest on messages that stay and are only
/// rewritten with their episode.
pub(super) fn split(
    r: &Reader<'_>,
    plan: &ForgetPlan,
) -> Result<(Vec<Semantic>, Vec<Semantic>), StoreError> {
    let facts = r.semantics_by_id(&plan.semantics)?;
    Ok(facts
        .into_iter()
        .partition(|s| s.messages.iter().any(|m| plan.messages.binary_search(m).is_ok())))
}

/// Nothing goes before the person has seen what.
pub(super) fn ask(
    state: &mut State,
    plan: ForgetPlan,
    lines: Vec<String>,
    other: Option<Box<OtherPlan>>,
) {
    if plan.messages.is_empty() && plan.semantics.is_empty() {
        state.say(text!("Nothing in memory matches that."));
        return;
    }
    let other = other.map(|other| (other.what.into(), Confirmed::Forget(Box::new(other.plan))));
    state.overlay = Some(Overlay::Confirm(Confirm {
        title: text!("Forget this for good?").into(),
        lines,
        yes: text!("forget").into(),
        then: Confirmed::Forget(Box::new(plan)),
        other,
        scroll: 0,
        armed: 0,
    }));
}

/// What goes, as the person reads it.
pub(super) fn plan_lines(r: &Reader<'_>, plan: &ForgetPlan) -> Result<Vec<String>, StoreError> {
    let short = |text: &str| -> String {
        let flat = plain_text(text).split_whitespace().collect::<Vec<_>>().join(" ");
        match flat.char_indices().nth(PLAN_CHARS_MAX) {
            Some((at, _)) => format!("{}…", &flat[..at]),
            None => flat,
        }
    };
    let mut lines = Vec::new();
    let mut section = |title: &str, rows: Vec<String>| {
        if rows.is_empty() {
            return;
        }
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(title.to_owned());
        let n = rows.len();
        lines.extend(rows.into_iter().take(PLAN_LINES_MAX).map(|row| format!("  {row}")));
        if n > PLAN_LINES_MAX {
            lines.push(format!("  {}", text!("… and {n} more", n = n - PLAN_LINES_MAX)));
        }
    };
    let rows = r
        .messages_by_id(&plan.messages)?
        .iter()
        .map(|m| format!("{}: {}", speaker(m), short(&m.content)))
        .collect();
    section(&plural!("{n} message", "{n} messages", plan.messages.len()), rows);
    let (gone, rewritten) = split(r, plan)?;
    let rows = gone.iter().map(|s| short(&s.content)).collect();
    section(&plural!("{n} fact", "{n} facts", gone.len()), rows);
    if !(plan.rewritten.is_empty() && rewritten.is_empty()) {
        let what = [
            plural!("{n} episode", "{n} episodes", plan.rewritten.len()),
            plural!("{n} fact", "{n} facts", rewritten.len()),
        ];
        section(text!("Written again from what stays"), vec![what.join(", ")]);
    }
    if plan.n_elsewhere > 0 {
        let places = plural!("{n} place", "{n} places", plan.n_elsewhere);
        section(
            text!("In titles of chats, corrections, the undo log and what was struck out"),
            vec![places],
        );
    }
    lines.push(String::new());
    lines.push(text!("Forgetting can't be undone.").into());
    Ok(lines)
}
