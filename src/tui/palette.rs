//! What the screen's roles look like (`assets/palette.toml`).
//!
//! Colours are decided once, at the start, from plain facts about the terminal. A palette knows
//! roles, never panels.

use ratatui::style::{Color, Modifier, Style};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

const SOURCE: &str = include_str!("../../assets/palette.toml");

/// One style a role.
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

/// What decides the palette.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalEnv {
    pub no_color: bool,
    pub term: String,
    pub colorterm: String,
    /// `COLORFGBG`, as some terminals set it: `15;0` is white on black.
    pub colorfgbg: String,
}

impl TerminalEnv {
    /// From the environment.
    pub fn from_env() -> Self {
        let var = |name: &str| std::env::var(name).unwrap_or_default();
        Self {
            no_color: !var("NO_COLOR").is_empty(),
            term: var("TERM"),
            colorterm: var("COLORTERM"),
            colorfgbg: var("COLORFGBG"),
        }
    }
}

/// The four palettes of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaletteKind {
    Ansi,
    Dark,
    Light,
    Mono,
}

impl PaletteKind {
    /// Which palette suits a terminal.
    pub fn of(terminal: &TerminalEnv) -> Self {
        if terminal.no_color || terminal.term == "dumb" {
            return Self::Mono;
        }
        let deep = matches!(terminal.colorterm.as_str(), "truecolor" | "24bit");
        let background = terminal.colorfgbg.rsplit(';').next().and_then(|b| b.parse::<u8>().ok());
        match (deep, background) {
            (true, Some(0..=6 | 8)) => Self::Dark,
            (true, Some(7 | 9..=15)) => Self::Light,
            _ => Self::Ansi,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    ansi: Palette,
    dark: Palette,
    light: Palette,
    mono: Palette,
}

/// A role's words: colours, `on` and a colour, `bold`, …
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

impl Palette {
    /// The palette of that kind. A broken file would show as an unstyled screen; a test reads it.
    pub fn of(kind: PaletteKind) -> Self {
        parse(kind).unwrap_or_default()
    }
}

fn parse(kind: PaletteKind) -> Option<Palette> {
    let file: File = toml::from_str(SOURCE).ok()?;
    Some(match kind {
        PaletteKind::Ansi => file.ansi,
        PaletteKind::Dark => file.dark,
        PaletteKind::Light => file.light,
        PaletteKind::Mono => file.mono,
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn every_palette_of_the_file_is_readable() {
        for kind in [PaletteKind::Ansi, PaletteKind::Dark, PaletteKind::Light, PaletteKind::Mono] {
            let palette = parse(kind).unwrap();
            assert_ne!(palette.selected, palette.text, "{kind:?}: a selection must show");
            assert_ne!(palette.error, palette.muted, "{kind:?}");
        }
    }

    #[test]
    fn mono_has_no_colour() {
        let shown = format!("{:?}", parse(PaletteKind::Mono).unwrap());
        for word in ["fg: Some", "bg: Some", "Rgb", "Cyan"] {
            assert!(!shown.contains(word), "{shown}");
        }
    }

    #[track_caller]
    fn check(no_color: bool, term: &str, colorterm: &str, colorfgbg: &str, expected: PaletteKind) {
        let terminal = TerminalEnv {
            no_color,
            term: term.into(),
            colorterm: colorterm.into(),
            colorfgbg: colorfgbg.into(),
        };
        assert_eq!(PaletteKind::of(&terminal), expected);
    }

    #[test]
    fn the_terminal_decides() {
        check(true, "xterm-256color", "truecolor", "15;0", PaletteKind::Mono);
        check(false, "dumb", "", "", PaletteKind::Mono);
        check(false, "xterm-256color", "truecolor", "15;0", PaletteKind::Dark);
        check(false, "xterm-256color", "24bit", "0;default;15", PaletteKind::Light);
        // 24-bit colour on an unknown background: only the terminal's own colours are safe.
        check(false, "xterm-256color", "truecolor", "", PaletteKind::Ansi);
        check(false, "xterm", "", "15;0", PaletteKind::Ansi);
        check(false, "xterm", "truecolor", "default;default", PaletteKind::Ansi);
    }
}
