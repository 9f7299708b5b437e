//! `config.toml`: every setting is optional, and an unknown key is reported with its line.
//! `docs/settings.md` lists them.

use std::path::Path;

use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::chat::ChatConfig;
use crate::chat::sampling::Setting;
use crate::model_policy::Mode;
use crate::tui::palette;

/// The settings in the file, or the program's defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub model: Option<String>,
    pub chat: ChatConfig,
    pub writer: Mode,
    pub reader: Mode,
    pub uncertainty: Option<String>,
    pub rerank: Option<usize>,
    /// 0: never.
    pub lock_minutes: f64,
    /// The colours of the chat.
    pub palette: Option<String>,
    /// The chat as lines, without a screen.
    pub plain: bool,
    /// The language of its texts.
    pub language: Option<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            model: None,
            chat: ChatConfig::default(),
            writer: Mode::default(),
            reader: Mode::default(),
            uncertainty: None,
            rerank: None,
            lock_minutes: 15.0,
            palette: None,
            plain: false,
            language: None,
        }
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("cannot read the configuration {path}")]
    Unreadable {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("{path}, line {line}: {reason}")]
    Invalid { path: String, line: usize, reason: String },
}

impl Config {
    /// Reads the file, with a warning per unknown key. A missing file sets nothing if it need not exist.
    ///
    /// # Errors
    /// If it must exist and does not, is unreadable, is not TOML, or gives a known key an invalid value.
    pub fn read(path: &Path, must_exist: bool) -> Result<(Self, Vec<String>), ConfigError> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, &path.display().to_string()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && !must_exist => {
                Ok((Self::default(), Vec::new()))
            }
            Err(source) => {
                Err(ConfigError::Unreadable { path: path.display().to_string(), source })
            }
        }
    }

    fn parse(text: &str, path: &str) -> Result<(Self, Vec<String>), ConfigError> {
        let table = DeTable::parse(text).map_err(|e| ConfigError::Invalid {
            path: path.to_owned(),
            line: e.span().map_or(1, |span| line_of(text, span.start)),
            reason: e.message().to_owned(),
        })?;
        let mut reader = ConfigReader { text, path, config: Self::default(), warnings: Vec::new() };
        reader.table("", table.get_ref())?;
        Ok((reader.config, reader.warnings))
    }
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|&b| b == b'\n').count()
}

struct ConfigReader<'t> {
    text: &'t str,
    path: &'t str,
    config: Config,
    warnings: Vec<String>,
}

impl ConfigReader<'_> {
    fn table(&mut self, prefix: &str, table: &DeTable<'_>) -> Result<(), ConfigError> {
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            let line = line_of(self.text, key.span().start);
            if prefix.is_empty()
                && ["chat", "memory", "recall", "screen"].contains(&name.as_str())
                && let DeValue::Table(inner) = value.get_ref()
            {
                self.table(&format!("{name}."), inner)?;
            } else if let Err(reason) = self.set(&name, value) {
                return Err(ConfigError::Invalid { path: self.path.to_owned(), line, reason });
            }
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> Result<(), String> {
        let config = &mut self.config;
        let signal = &["auto", "entropy", "nll", "question-nll", "overlap"];
        match name {
            "model" => config.model = Some(text(name, value)?),
            "chat.window_tokens" => config.chat.window_tokens = count(name, value, 256)?,
            "chat.lock_minutes" => config.lock_minutes = number(name, value, 0.0, 1e6)?.into(),
            "memory.writer" => config.writer = mode(name, value)?,
            "recall.reader" => config.reader = mode(name, value)?,
            "recall.uncertainty" => config.uncertainty = Some(one_of(name, value, signal)?),
            "screen.palette" => {
                config.palette = Some(one_of(name, value, &palette::NAMES.map(|(name, _)| name))?);
            }
            "screen.language" => config.language = Some(text(name, value)?),
            "screen.plain" => config.plain = flag(name, value)?,
            "recall.rerank" => config.rerank = Some(count(name, value, 0)?),
            _ => {
                if let Some(setting) = name.strip_prefix("chat.").and_then(Setting::named) {
                    let text = digits(value).and_then(|text| setting.parse(&text));
                    let must = || format!("`{name}` must be {}", setting.range_text());
                    config.chat.sampling.configured.insert(setting, text.ok_or_else(must)?);
                    return Ok(());
                }
                let line = line_of(self.text, value.span().start);
                self.warnings.push(format!("{}, line {line}: unknown key `{name}`", self.path));
            }
        }
        Ok(())
    }
}

fn text(name: &str, value: &Spanned<DeValue<'_>>) -> Result<String, String> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.to_string()),
        _ => Err(format!("`{name}` must be text in quotes")),
    }
}

fn flag(name: &str, value: &Spanned<DeValue<'_>>) -> Result<bool, String> {
    match value.get_ref() {
        DeValue::Boolean(is_so) => Ok(*is_so),
        _ => Err(format!("`{name}` must be true or false")),
    }
}

fn one_of(name: &str, value: &Spanned<DeValue<'_>>, known: &[&str]) -> Result<String, String> {
    let wrong = || format!("`{name}` must be one of {}", known.join(", "));
    let text = text(name, value).map_err(|_| wrong())?;
    if known.contains(&text.as_str()) { Ok(text) } else { Err(wrong()) }
}

fn mode(name: &str, value: &Spanned<DeValue<'_>>) -> Result<Mode, String> {
    let mode = one_of(name, value, &["auto", "extractive", "generative"])?;
    serde_json::from_value(mode.into()).map_err(|error| error.to_string())
}

/// A number as it is written.
fn digits(value: &Spanned<DeValue<'_>>) -> Option<String> {
    match value.get_ref() {
        DeValue::Integer(n) => Some(n.as_str().replace('_', "")),
        DeValue::Float(n) => Some(n.as_str().replace('_', "")),
        _ => None,
    }
}

fn count(name: &str, value: &Spanned<DeValue<'_>>, min: usize) -> Result<usize, String> {
    let parsed = digits(value).and_then(|text| text.parse().ok());
    parsed.filter(|&n| n >= min).ok_or_else(|| format!("`{name}` must be a number from {min} up"))
}

fn number(name: &str, value: &Spanned<DeValue<'_>>, min: f32, max: f32) -> Result<f32, String> {
    let parsed = digits(value).and_then(|text| text.parse::<f32>().ok());
    parsed
        .filter(|n| (min..=max).contains(n))
        .ok_or_else(|| format!("`{name}` must be a number from {min} to {max}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_example_is_valid_and_complete() {
        let (_, example) = include_str!("../../docs/settings.md").split_once("```toml").unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let (config, warnings) = Config::parse(example, "config.toml").unwrap();
        assert_eq!(warnings, Vec::<String>::new());
        let mut chat = config.chat.clone();
        let configured = std::mem::take(&mut chat.sampling.configured);
        assert_eq!(chat, ChatConfig::default());
        // All but the seed, with the values that hold without the file.
        for setting in Setting::ALL {
            let (value, _) = ChatConfig::default().sampling.value(setting, None);
            assert_eq!(configured.get(&setting), value.as_ref(), "{}", setting.name());
        }
        assert_eq!(config.uncertainty.as_deref(), Some("auto"));
        assert_eq!(config.rerank, Some(48));
        assert_eq!(config.writer, Mode::Auto);
        assert_eq!(config.palette.as_deref(), Some("hearth"));
        assert_eq!(config.language.as_deref(), Some("de"));
    }

    #[test]
    fn a_wrong_value_is_an_error_with_its_line() {
        for (text, expected) in [
            ("model = 3", "c, line 1: `model` must be text in quotes"),
            ("\n[chat]\ntop_p = 7.5", "c, line 3: `chat.top_p` must be a number from 0 to 1"),
            (
                "[memory]\nwriter = \"me\"",
                "c, line 2: `memory.writer` must be one of auto, extractive, generative",
            ),
            (
                "[chat]\nwindow_tokens = 10",
                "c, line 2: `chat.window_tokens` must be a number from 256 up",
            ),
            ("chat = 3", "c, line 1: unknown"),
            ("\n[chat]\ntemprature = 1", "c, line 3: unknown key `chat.temprature`"),
            ("[colour]\nred = 1", "c, line 1: unknown key `colour`"),
        ] {
            match Config::parse(text, "c") {
                Err(e) => assert_eq!(e.to_string(), expected),
                Ok((_, warnings)) => assert!(warnings[0].starts_with(expected), "{warnings:?}"),
            }
        }
        assert!(matches!(Config::parse("a = [", "c"), Err(ConfigError::Invalid { line: 1, .. })));
    }
}
