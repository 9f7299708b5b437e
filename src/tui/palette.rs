//! What the screen's roles look like (`assets/palette.toml`).
//!
//! Colours are decided once, at the start, from plain facts about the terminal. A palette knows
//! roles, never panels.

use std::collections::HashMap;

use ratatui::style::{Color, Modifier, Style};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::texts::key;

const SOURCE: &str = include_str!("../../assets/palette.toml");

/// One style per role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Palette {
    /// The whole screen's.
    #[serde(deserialize_with = "style")]
    pub ground: Style,
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
    pub keyword: Style,
    #[serde(deserialize_with = "style")]
    pub string: Style,
    #[serde(deserialize_with = "style")]
    pub comment: Style,
    #[serde(deserialize_with = "style")]
    pub number: Style,
    #[serde(deserialize_with = "style")]
    pub name: Style,
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

/// The palettes that a person can choose, with what each is like.
pub const NAMES: [(&str, &str); 9] = [
    ("ansi", key!("the terminal's own colours")),
    ("hearth", key!("dark, warm")),
    ("dusk", key!("dark, blue")),
    ("forest", key!("dark, green")),
    ("contrast", key!("dark, high contrast")),
    ("paper", key!("light, warm")),
    ("mist", key!("light, cool")),
    ("rose", key!("light, rose")),
    ("mono", key!("no colours")),
];

/// Whether a person can choose this palette.
pub fn is_name(name: &str) -> bool {
    NAMES.iter().any(|(known, _)| *known == name)
}

impl Palette {
    /// The palette that suits a terminal, by its environment, or the one that was chosen as far as the terminal can.
    pub fn of(env: &dyn Fn(&str) -> String, chosen: Option<&str>) -> Self {
        let colours = Colours::of(env);
        match chosen.filter(|name| is_name(name)) {
            _ if colours == Colours::None => Self::named("mono"),
            Some(name) if colours == Colours::Sixteen && name != "mono" => Self::named("ansi"),
            Some(name) => Self::named(name).in_colours(colours),
            // On the ground that the terminal says it has.
            None => Self { ground: Style::new(), ..Self::named(suiting(env)) },
        }
    }

    /// A palette from the file. A broken file would give an unstyled screen; a test reads it.
    pub fn named(name: &str) -> Self {
        let palettes = toml::from_str::<HashMap<String, Self>>(SOURCE);
        palettes.ok().and_then(|mut all| all.remove(name)).unwrap_or_default()
    }

    /// With the nearest colours that the terminal has.
    fn in_colours(mut self, colours: Colours) -> Self {
        if colours == Colours::Many {
            return self;
        }
        for style in self.roles() {
            style.fg = style.fg.map(of_256);
            style.bg = style.bg.map(of_256);
        }
        self
    }

    fn roles(&mut self) -> [&mut Style; 26] {
        [
            &mut self.ground,
            &mut self.text,
            &mut self.muted,
            &mut self.accent,
            &mut self.user,
            &mut self.heading,
            &mut self.code,
            &mut self.keyword,
            &mut self.string,
            &mut self.comment,
            &mut self.number,
            &mut self.name,
            &mut self.link,
            &mut self.quote,
            &mut self.marker,
            &mut self.border,
            &mut self.border_focus,
            &mut self.selected,
            &mut self.ok,
            &mut self.warning,
            &mut self.error,
            &mut self.bar,
            &mut self.bar_refused,
            &mut self.theme,
            &mut self.superseded,
            &mut self.badge,
        ]
    }
}

/// How many colours a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Colours {
    None,
    Sixteen,
    TwoHundred,
    Many,
}

impl Colours {
    fn of(env: &dyn Fn(&str) -> String) -> Self {
        let term = env("TERM");
        if !env("NO_COLOR").is_empty() || term == "dumb" {
            return Self::None;
        }
        let is_deep = matches!(env("COLORTERM").as_str(), "truecolor" | "24bit");
        match () {
            () if is_deep || term.ends_with("-direct") => Self::Many,
            () if term.contains("256color") => Self::TwoHundred,
            () => Self::Sixteen,
        }
    }
}

/// The nearest of the 256 colours that do not depend on the terminal's theme: a cube of six steps, and greys.
fn of_256(colour: Color) -> Color {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let Color::Rgb(r, g, b) = colour else { return colour };
    let distance = |a: [u8; 3]| -> u32 {
        let of = |x: u8, y: u8| u32::from(x.abs_diff(y)).pow(2);
        of(a[0], r) + of(a[1], g) + of(a[2], b)
    };
    let step = |x: u8| (0..6).min_by_key(|&i| STEPS[i].abs_diff(x)).unwrap_or(0);
    let cube = [step(r), step(g), step(b)];
    let in_cube = distance(cube.map(|i| STEPS[i]));
    let grey = |i: u8| 8 + 10 * i;
    let nearest = (0..24).min_by_key(|&i| distance([grey(i); 3])).unwrap_or(0);
    if distance([grey(nearest); 3]) < in_cube {
        return Color::Indexed(232 + nearest);
    }
    Color::Indexed((16 + 36 * cube[0] + 6 * cube[1] + cube[2]) as u8)
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
        (true, Some(0..=6 | 8)) => "hearth",
        (true, Some(7 | 9..=15)) => "paper",
        _ => "ansi",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_palette_of_the_file_is_readable() {
        for (name, _) in NAMES {
            let palette = Palette::named(name);
            assert_ne!(palette.selected, palette.text, "{name}: a selection must show");
            assert_ne!(palette.error, palette.muted, "{name}");
            assert_ne!(palette, Palette::default(), "{name} is not in the file");
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
        assert!(is_coloured("hearth") && !is_coloured("mono"), "{:?}", Palette::named("mono"));
    }

    #[test]
    fn what_is_chosen_is_shown_as_far_as_the_terminal_can() {
        let of = |term: &'static str, colorterm: &'static str, chosen| {
            let env = move |name: &str| match name {
                "TERM" => term.to_owned(),
                "COLORTERM" => colorterm.to_owned(),
                _ => String::new(),
            };
            Palette::of(&env, Some(chosen))
        };
        assert_eq!(of("xterm-256color", "truecolor", "dusk"), Palette::named("dusk"));
        let few = of("tmux-256color", "", "dusk");
        assert!(matches!(few.accent.fg, Some(Color::Indexed(16..))), "{:?}", few.accent);
        assert!(matches!(few.ground.bg, Some(Color::Indexed(16..))), "{:?}", few.ground);
        assert_eq!(of("linux", "", "dusk"), Palette::named("ansi"));
        assert_eq!(of("linux", "", "mono"), Palette::named("mono"));
        assert_eq!(of("dumb", "truecolor", "dusk"), Palette::named("mono"));
        assert_eq!(of_256(Color::Rgb(255, 0, 0)), Color::Indexed(196));
        assert_eq!(of_256(Color::Rgb(0x80, 0x80, 0x80)), Color::Indexed(244));
        assert_eq!(of_256(Color::Cyan), Color::Cyan);
    }

    /// Contrast of text on the ground, as WCAG works it out.
    #[test]
    fn what_is_to_be_read_can_be_read() {
        let light = |colour: Option<Color>| {
            let Some(Color::Rgb(r, g, b)) = colour else { panic!("{colour:?}") };
            let linear = |c: u8| (f64::from(c) / 255.0).powf(2.2);
            0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
        };
        for (name, _) in NAMES.into_iter().filter(|(name, _)| !["ansi", "mono"].contains(name)) {
            let p = Palette::named(name);
            let ground = light(p.ground.bg);
            for (what, style) in [
                ("text", p.ground),
                ("muted", p.muted),
                ("accent", p.accent),
                ("keyword", p.keyword),
                ("string", p.string),
                ("number", p.number),
                ("name", p.name),
                ("link", p.link),
                ("quote", p.quote),
                ("warning", p.warning),
                ("error", p.error),
            ] {
                let (a, b) = (light(style.fg).max(ground), light(style.fg).min(ground));
                let contrast = (a + 0.05) / (b + 0.05);
                assert!(contrast >= 4.0, "{what} of {name}: {contrast:.1}");
            }
        }
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
        check("", "xterm-256color", "truecolor", "15;0", "hearth");
        check("", "xterm-256color", "24bit", "0;default;15", "paper");
        // 24-bit colour on an unknown background: only the terminal's own colours are safe.
        check("", "xterm-256color", "truecolor", "", "ansi");
        check("", "xterm", "", "15;0", "ansi");
        check("", "xterm", "truecolor", "default;default", "ansi");
    }
}
