//! What is asked, listed and known, as lines.

use std::fmt::Write as _;

use super::telling::SEVERAL;
use crate::memory::Moment;
use crate::store::FOUND;
use crate::texts::{self, text};
use crate::tui::keys::{Action, Context};
use crate::tui::page::known::Known;
use crate::tui::page::rows::{self, Row};
use crate::tui::page::{Page, Tab};
use crate::tui::pickers::Picker;
use crate::tui::slash::COMMANDS;
use crate::tui::state::{Confirm, MemoryPane, Pane, State};
use crate::tui::view;

/// Facts that one command tells.
const N_FACTS: usize = 60;

pub(super) fn question(state: &State, confirm: &Confirm) -> Vec<String> {
    let key = |action| state.keys.of(Context::Confirm, action);
    let mut answers = vec![format!("{}: {}", key(Action::Accept), confirm.yes)];
    if let Some((what, _)) = &confirm.other {
        answers.push(format!("{}: {what}", key(Action::Other)));
    }
    answers.push(format!("{}: {}", key(Action::Close), text!("leave it")));
    let mut lines = vec![confirm.title.clone()];
    lines.extend(confirm.lines.iter().cloned());
    lines.push(format!("{}.", answers.join(", ")));
    lines
}

pub(super) fn list(picker: &Picker) -> Vec<String> {
    let items = picker.visible();
    let mut lines: Vec<String> = items
        .iter()
        .enumerate()
        .map(|(n, item)| {
            let mut line = format!("{}. {}", n + 1, item.label);
            if !item.detail.is_empty() {
                let _ = write!(line, ", {}", item.detail);
            }
            if let Some(preview) = &item.preview {
                let _ = write!(line, ": {}", preview.replace([FOUND.0, FOUND.1], ""));
            }
            line
        })
        .collect();
    if lines.is_empty() {
        lines.push(picker.empty().to_owned());
    }
    lines.push(text!("A number chooses, words narrow the list, Enter alone leaves it.").into());
    lines
}

pub(super) fn help() -> Vec<String> {
    let own = [
        (text!("/memory people"), text!("what is known of people; or plans, places, everything")),
        (text!("/correct s12 SENTENCE"), text!("put a fact right; its number is from /memory")),
    ];
    let line = |usage: &str, help: &str| format!("{}: {help}", usage.trim_end());
    let commands = COMMANDS.iter().map(|command| {
        let usage = format!("/{} {}", command.name, texts::lookup(command.arguments));
        line(&usage, texts::lookup(command.help))
    });
    let own = own.into_iter().map(|(usage, help)| line(usage, help));
    let several =
        text!("A message of several lines stands between {quotes} and {quotes}.", quotes = SEVERAL);
    commands.chain(own).chain([several]).collect()
}

/// What is known: a tab, or the person and how much there is of the rest.
pub(super) fn memory(pane: &mut MemoryPane, tab: Option<Tab>, now: Moment) -> Vec<String> {
    if let Some(error) = &pane.error {
        return vec![text!("Error: {text}", text = error)];
    }
    let Page { known, .. } = &pane.page;
    let shown = tab.unwrap_or_default();
    let mut lines = vec![format!("{}:", shown.names().0)];
    if shown == Tab::Everything {
        let current: Vec<&Known> =
            known.all.iter().filter(|known| known.superseded.is_none()).collect();
        lines.extend(current.iter().take(N_FACTS).map(|known| fact(known, now)));
        more(&mut lines, current.len());
        return lines;
    }
    pane.page.tab = shown;
    pane.rebuild_page(now);
    let page = &pane.page;
    let mut n = 0;
    for (at, row) in page.rows.iter().enumerate() {
        n += usize::from(matches!(row, Row::Fact(_)));
        if n > N_FACTS {
            continue;
        }
        match (row, page.at(at)) {
            (Row::Heading(heading), _) => lines.push(format!("{heading}:")),
            (Row::Fact(row), Some(known)) if row.before => {
                lines.push(format!("{} {}", text!("Before:"), fact(known, now)));
            }
            (Row::Fact(_), known) => lines.extend(known.map(|known| fact(known, now))),
        }
    }
    if n == 0 {
        lines = vec![view::empty_tab(page).to_owned()];
    }
    more(&mut lines, n);
    if tab.is_none() {
        let others = Tab::ALL.into_iter().filter(|&other| other != shown);
        let count = |tab: Tab| format!("{} {}", tab.names().0, page.n_of(tab));
        let others: Vec<String> = others.map(count).collect();
        lines.push(text!(
            "Besides: {tabs}. /memory and the name tells them.",
            tabs = others.join(", ")
        ));
    }
    lines
}

fn more(lines: &mut Vec<String>, n: usize) {
    if n > N_FACTS {
        lines.push(text!("… and {n} more", n = n - N_FACTS));
    }
}

/// "You live in Lund. s12, told on 20 November"
fn fact(known: &Known, now: Moment) -> String {
    format!("{} {}, {}", known.sentence, known.id, rows::source(known, now))
}

/// What imports taught, as it is kept.
pub(super) fn learned(pane: &MemoryPane) -> Vec<String> {
    let Some(tree) = &pane.tree else { return Vec::new() };
    let facts = || tree.themes.iter().flat_map(|theme| &theme.facts);
    let mut lines = Vec::new();
    for learned in &tree.learned {
        lines.push(format!("{}:", learned.source));
        for (id, _) in learned.facts.iter().take(N_FACTS) {
            let fact = facts().find(|fact| fact.id == *id);
            lines.extend(fact.map(|fact| format!("{} {}", fact.content, fact.id)));
        }
        more(&mut lines, learned.facts.len());
    }
    lines.push(if lines.is_empty() {
        text!("Nothing new was learnt from imports.").into()
    } else {
        text!("/forget s12 throws one away, /correct s12 puts it right.").into()
    });
    lines
}

/// Why the last answer; `None` until all of it is read.
pub(super) fn why(state: &State) -> Option<Vec<String>> {
    let Some(Pane::Why(pane)) = &state.pane else { return None };
    if let Some(reply) = pane.reply {
        match state.transcript.why(reply) {
            Some((Some(_), true)) if pane.grounds.is_some() => {}
            Some((None, true)) => {}
            _ => return None,
        }
    }
    let lines = view::why_lines(state, pane, super::telling::WIDTH);
    let bare = |line: String| line.trim_start_matches(['▌', '▰', '▱', ' ']).to_owned();
    Some(lines.iter().map(|line| bare(line.to_string())).collect())
}
