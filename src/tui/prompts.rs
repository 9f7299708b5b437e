//! Prompts of the person's own: `/name words` fills one into the input, `/prompts` lists them.

use crate::chat::{Filled, Level, Template};
use crate::memory::plain_text;
use crate::texts::text;
use crate::tui::event::Effect;
use crate::tui::pickers::{self, Item, Pick, PickerKind};
use crate::tui::slash;
use crate::tui::state::State;

/// The prompts that were last read.
#[derive(Debug, Default)]
pub struct Prompts {
    pub usable: Vec<Template>,
    /// Those with the name of a command, which goes before them.
    hidden: Vec<String>,
    /// Those of them that were spoken of.
    told: Vec<String>,
}

/// What was read.
pub(super) fn set(state: &mut State, prompts: Vec<Template>, unusable: Vec<(String, String)>) {
    let (hidden, usable): (Vec<_>, Vec<_>) =
        prompts.into_iter().partition(|prompt| slash::find(&prompt.name).is_some());
    state.prompts.hidden = hidden.into_iter().map(|prompt| prompt.name).collect();
    let is_command = |name: &String| {
        let why = text!("/{name} is a command of inglenook; give the file another name", name);
        (name.clone(), why)
    };
    let unusable = state.prompts.hidden.iter().map(is_command).chain(unusable);
    let item = |prompt: &Template| {
        let label = format!("/{} {}", prompt.name, prompt.usage());
        let detail = plain_text(&prompt.description).into_owned();
        let text = format!("/{} ", prompt.name);
        let pick =
            if prompt.usage().is_empty() { Pick::Prompt(prompt.clone()) } else { Pick::Text(text) };
        Item::new(plain_text(label.trim_end()), detail, pick)
    };
    let usable_items = usable.iter().map(item);
    let items = usable_items.chain(unusable.map(pickers::unusable_item)).collect();
    pickers::fill(state, PickerKind::Prompts, items);
    state.prompts.usable = usable;
}

/// The prompt that a line calls, filled.
pub(super) fn called(state: &State, line: &str) -> Option<Filled> {
    let (name, words) = slash::divide(line);
    let prompt = state.prompts.usable.iter().find(|prompt| prompt.name == name)?;
    Some(prompt.fill(words))
}

/// Puts a prompt into the input, for the person to see, and to send.
pub(super) fn put(state: &mut State, Filled { text, missing }: Filled) -> Vec<Effect> {
    state.editor.set_template(&text, missing);
    if !to_next_place(state) {
        state.say(text!("Enter sends it."));
    }
    Vec::new()
}

/// Goes to the next place that nothing fills yet; false if there is none.
pub(super) fn to_next_place(state: &mut State) -> bool {
    let Some(place) = state.editor.next_place(state.palette.selected) else { return false };
    let name = place.trim_matches(['{', '}']).trim().to_owned();
    state.say(text!("{name}: type what goes here. Tab goes to the next place.", name));
    true
}

/// Says once that a command went before a prompt of the same name.
pub(super) fn tell_hidden(state: &mut State, line: &str) {
    let (name, _) = slash::divide(line);
    let prompts = &mut state.prompts;
    if prompts.hidden.iter().any(|hidden| hidden == name)
        && !prompts.told.iter().any(|told| told == name)
    {
        prompts.told.push(name.to_owned());
        let text = text!(
            "prompts/{name}.md was not used: /{name} is a command of inglenook. Give the file another name.",
            name
        );
        state.notice(Level::Info, text);
    }
}
