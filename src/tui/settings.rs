//! `/set`: how the replies of the open chat are drawn, as a list and by name.

use crate::chat::Command;
use crate::chat::sampling::{Setting, Source};
use crate::memory::plain_text;
use crate::texts::text;
use crate::tui::event::Effect;
use crate::tui::pickers::{Item, Pick, Picker, PickerKind};
use crate::tui::state::{Overlay, State};

/// `/set`, `/set temperature`, `/set temperature 0.2`.
pub(super) fn set(state: &mut State, arguments: &str) -> Vec<Effect> {
    let mut words = arguments.split([' ', '=']).filter(|word| !word.is_empty());
    let Some(name) = words.next() else {
        let mut picker = Picker::new(PickerKind::Settings);
        picker.items = items(state);
        picker.loading = false;
        state.overlay = Some(Overlay::Picker(picker));
        return Vec::new();
    };
    let Some(setting) = Setting::named(&name.to_lowercase().replace('-', "_")) else {
        let names = Setting::ALL.map(Setting::name).join(", ");
        state.say(text!("There is no {name}, but {names}.", name, names));
        return Vec::new();
    };
    let (name, is_set) = (setting.name(), state.sampling.chat.contains_key(&setting));
    let before = told(state, setting);
    let text = words.collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        state.sampling.chat.remove(&setting);
        let now = told(state, setting);
        state.say(if is_set {
            text!("{name} is {value} again.", name, value = now)
        } else {
            text!(
                "{name} is {value}. It can be {range}.",
                name,
                value = now,
                range = setting.range_text()
            )
        });
        return vec![Effect::Chat(Command::Set(setting, None))];
    }
    let Some(value) = setting.parse(&text) else {
        let range = setting.range_text();
        state.say(text!("{name} is {range}: /set {name} {text} is not.", name, range, text));
        state.editor.set(&format!("/set {name} "));
        return Vec::new();
    };
    state.say(text!("{name} is {value} in this chat; it was {before}.", name, value, before));
    vec![Effect::Chat(Command::Set(setting, Some(value)))]
}

/// "0.7 (default)".
fn told(state: &State, setting: Setting) -> String {
    let (value, source) = row(state, setting);
    format!("{value} ({source})")
}

/// A setting's value and where it comes from.
fn row(state: &State, setting: Setting) -> (String, String) {
    let model = state.model.profile();
    let (value, source) = state.sampling.value(setting, model);
    let role = model.and_then(|model| model.role.as_ref());
    let source = match source {
        Source::Default => text!("default").into(),
        Source::Config => "config.toml".into(),
        Source::Model => text!("suits this model").into(),
        Source::Role => {
            text!("role {name}", name = plain_text(role.map_or("", |role| &role.name)))
        }
        Source::Chat => text!("this chat").into(),
    };
    (value.map_or_else(|| text!("random").into(), |value| value.to_string()), source)
}

fn items(state: &State) -> Vec<Item> {
    let item = |setting: Setting| {
        let (name, (value, source)) = (setting.name(), row(state, setting));
        Item::new(format!("{name:<19}{value}"), source, Pick::Text(format!("/set {name} ")))
    };
    Setting::ALL.map(item).into()
}
