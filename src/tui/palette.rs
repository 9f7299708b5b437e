//! What the screen's roles look like (`assets/palette.toml`).
//!
//! Colours are decided once, at the start, from plain facts about the terminal. A palette knows
//! roles, never panels.

use std::collections::HashMap;

use ratatui::style::{Color, Modifier, Style};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

const SOURCE: &str = include_str!("../../assets/palette.toml");

/// One style per role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Palette {
    #[serde(deserialize_with = "style")]
    pub text: Style,
    #[serde(deserialize_with = "style")]
    pub muted: Style,
    #[serde(deserialize_with = "style")]
    pub accent: Style,
    #[serde(deserialize_with = "style")]
    pub user: Style,
    #[serde(deserialize_with = "style")]
    pub heading: Style,
    #[serde(deserialize_with = "style")]
    pub code: Style,
    #[serde(deserialize_with = "style")]
    pub link: Style,
    #[serde(deserialize_with = "style")]
    pub quote: Style,
    #[serde(deserialize_with = "style")]
    pub marker: Style,
    #[serde(deserialize_with = "style")]
    pub border: Style,
    #[serde(deserialize_with = "style")]
    pub border_focus: Style,
    #[serde(deserialize_with = "style")]
    pub selected: Style,
    #[serde(deserialize_with = "style")]
    pub ok: Style,
    #[serde(deserialize_with = "style")]
    pub warning: Style,
    #[serde(deserialize_with = "style")]
    pub error: Style,
    #[serde(deserialize_with = "style")]
    pub bar: Style,
    #[serde(deserialize_with = "style")]
    pub bar_refused: Style,
    #[serde(deserialize_with = "style")]
    pub theme: Style,
    #[serde(deserialize_with = "style")]
    pub superseded: Style,
    #[serde(deserialize_with = "style")]
    pub badge: Style,
}

impl Palette {
    /// The palette that suits a terminal, by its environment.
    pub fn of(env: &dyn Fn(&str) -> String) -> Self {
        Self::named(suiting(env))
    }

    /// A palette from the file. A broken file would give an unstyled screen; a test reads it.
    pub fn named(name: &str) -> Self {
        let palettes = toml::from_str::<HashMap<String, Self>>(SOURCE);
        palettes.ok().and_then(|mut all| all.remove(name)).unwrap_or_default()
    }
}

/// The style that a role's words describe: a colour, `on` and a colour, `bold`, …
fn style<'de, D: Deserializer<'de>>(words: D) -> Result<Style, D::Error> {
    let mut style = Style::new();
    for word in Vec::<String>::deserialize(words)? {
        let colour = |name: &str| name.parse::<Color>().map_err(D::Error::custom);
        style = match word.as_str() {
            "bold" => style.add_modifier(Modifier::BOLD),
            "dim" => style.add_modifier(Modifier::DIM),
            "italic" => style.add_modifier(Modifier::ITALIC),
            "underlined" => style.add_modifier(Modifier::UNDERLINED),
            "reversed" => style.add_modifier(Modifier::REVERSED),
            "crossed_out" => style.add_modifier(Modifier::CROSSED_OUT),
            word => match word.strip_prefix("on ") {
                Some(background) => style.bg(colour(background)?),
                None => style.fg(colour(word)?),
            },
        };
    }
    Ok(style)
}

/// The name of the palette that suits a terminal.
fn suiting(env: &dyn Fn(&str) -> String) -> &'static str {
    if !env("NO_COLOR").is_empty() || env("TERM") == "dumb" {
        return "mono";
    }
    let deep = matches!(env("COLORTERM").as_str(), "truecolor" | "24bit");
    // As some terminals set it: `15;0` is white on black.
    let colours = env("COLORFGBG");
    let background = colours.rsplit(';').next().and_then(|b| b.parse::<u8>().ok());
    match (deep, background) {
        (true, Some(0..=6 | 8)) => "dark",
        (true, Some(7 | 9..=15)) => "light",
        _ => "ansi",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_palette_of_the_file_is_readable() {
        for name in ["ansi", "dark", "light", "mono"] {
            let palette = Palette::named(name);
            assert_ne!(palette.selected, palette.text, "{name}: a selection must show");
            assert_ne!(palette.error, palette.muted, "{name}");
        }
    }

    #[test]
    fn mono_has_no_colour() {
        let is_coloured = |name: &str| {
            let shown = format!("{:?}", Palette::named(name));
            [".fg(", ".on_", ".cyan()", ".yellow()", "gray()", ".light_"]
                .iter()
                .any(|colour| shown.contains(colour))
        };
        assert!(is_coloured("dark") && !is_coloured("mono"), "{:?}", Palette::named("mono"));
    }

    #[track_caller]
    fn check(no_color: &str, term: &str, colorterm: &str, colorfgbg: &str, expected: &str) {
        let name = suiting(&|variable| {
            let value = match variable {
                "NO_COLOR" => no_color,
                "TERM" => term,
                "COLORTERM" => colorterm,
                _ => colorfgbg,
            };
            value.to_owned()
        });
        assert_eq!(name, expected);
    }

    #[test]
    fn the_terminal_decides() {
        check("1", "xterm-256color", "truecolor", "15;0", "mono");
        check("", "dumb", "", "", "mono");
        check("", "xterm-256color", "truecolor", "15;0", "dark");
        check("", "xterm-256color", "24bit", "0;default;15", "light");
        // 24-bit colour on an unknown background: only the terminal's own colours are safe.
        check("", "xterm-256color", "truecolor", "", "ansi");
        check("", "xterm", "", "15;0", "ansi");
        check("", "xterm", "truecolor", "default;default", "ansi");
    }
}
