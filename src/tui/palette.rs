//! What the screen's roles look like (`assets/palette.toml`).
//!
//! Colours are decided once, at the start, from plain facts about the terminal. A palette knows
//! roles, never panels.

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;

const SOURCE: &str = include_str!("../../assets/palette.toml");

/// One style a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Palette {
    pub text: Style,
    pub muted: Style,
    pub accent: Style,
    pub user: Style,
    pub assistant: Style,
    pub heading: Style,
    pub code: Style,
    pub link: Style,
    pub quote: Style,
    pub marker: Style,
    pub border: Style,
    pub border_focus: Style,
    pub selected: Style,
    pub ok: Style,
    pub warning: Style,
    pub error: Style,
    pub bar: Style,
    pub bar_refused: Style,
    pub theme: Style,
    pub superseded: Style,
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
    #[must_use]
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
    #[must_use]
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

type Words = Vec<String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Roles {
    text: Words,
    muted: Words,
    accent: Words,
    user: Words,
    assistant: Words,
    heading: Words,
    code: Words,
    link: Words,
    quote: Words,
    marker: Words,
    border: Words,
    border_focus: Words,
    selected: Words,
    ok: Words,
    warning: Words,
    error: Words,
    bar: Words,
    bar_refused: Words,
    theme: Words,
    superseded: Words,
    badge: Words,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    ansi: Roles,
    dark: Roles,
    light: Roles,
    mono: Roles,
}

fn style(words: &Words) -> Option<Style> {
    let mut style = Style::new();
    for word in words {
        style = match word.as_str() {
            "bold" => style.add_modifier(Modifier::BOLD),
            "dim" => style.add_modifier(Modifier::DIM),
            "italic" => style.add_modifier(Modifier::ITALIC),
            "underlined" => style.add_modifier(Modifier::UNDERLINED),
            "reversed" => style.add_modifier(Modifier::REVERSED),
            "crossed_out" => style.add_modifier(Modifier::CROSSED_OUT),
            colour => match colour.strip_prefix("on ") {
                Some(background) => style.bg(background.parse::<Color>().ok()?),
                None => style.fg(colour.parse::<Color>().ok()?),
            },
        };
    }
    Some(style)
}

impl Roles {
    fn palette(&self) -> Option<Palette> {
        Some(Palette {
            text: style(&self.text)?,
            muted: style(&self.muted)?,
            accent: style(&self.accent)?,
            user: style(&self.user)?,
            assistant: style(&self.assistant)?,
            heading: style(&self.heading)?,
            code: style(&self.code)?,
            link: style(&self.link)?,
            quote: style(&self.quote)?,
            marker: style(&self.marker)?,
            border: style(&self.border)?,
            border_focus: style(&self.border_focus)?,
            selected: style(&self.selected)?,
            ok: style(&self.ok)?,
            warning: style(&self.warning)?,
            error: style(&self.error)?,
            bar: style(&self.bar)?,
            bar_refused: style(&self.bar_refused)?,
            theme: style(&self.theme)?,
            superseded: style(&self.superseded)?,
            badge: style(&self.badge)?,
        })
    }
}

impl Palette {
    /// The palette of that kind. A broken file would show as an unstyled screen; a test reads it.
    #[must_use]
    pub fn of(kind: PaletteKind) -> Self {
        parse(kind).unwrap_or_default()
    }
}

fn parse(kind: PaletteKind) -> Option<Palette> {
    let file: File = toml::from_str(SOURCE).ok()?;
    match kind {
        PaletteKind::Ansi => file.ansi,
        PaletteKind::Dark => file.dark,
        PaletteKind::Light => file.light,
        PaletteKind::Mono => file.mono,
    }
    .palette()
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
