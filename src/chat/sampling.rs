//! The sampling settings that a person can change: the names, ranges and defaults that the configuration, roles and `/set` share, and which
//! of them goes before which.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use crate::chat::policy::ModelProfile;
use crate::interfaces::Sampling;
use crate::texts::text;

/// One setting, by its name in `config.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setting {
    Temperature,
    TopP,
    MinP,
    RepetitionPenalty,
    ReplyTokensMax,
    Seed,
}

/// As one line, for [`read`].
pub fn written(settings: &Settings) -> String {
    let texts: Vec<String> =
        settings.iter().map(|(setting, value)| format!("{}={value}", setting.name())).collect();
    texts.join(" ")
}

/// What [`written`] wrote; what is unknown or out of range is left out.
pub fn read(text: &str) -> Settings {
    let one = |text: &str| {
        let (name, value) = text.split_once('=')?;
        let setting = Setting::named(name)?;
        Some((setting, setting.parse(value)?))
    };
    text.split_whitespace().filter_map(one).collect()
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SettingValue {
    Number(f32),
    Whole(u64),
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n) => n.fmt(f),
            Self::Whole(n) => n.fmt(f),
        }
    }
}

enum Range {
    Number(RangeInclusive<f32>),
    /// From this one on.
    Whole(u64),
}

impl Setting {
    pub const ALL: [Self; 6] = [
        Self::Temperature,
        Self::TopP,
        Self::MinP,
        Self::RepetitionPenalty,
        Self::ReplyTokensMax,
        Self::Seed,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Temperature => "temperature",
            Self::TopP => "top_p",
            Self::MinP => "min_p",
            Self::RepetitionPenalty => "repetition_penalty",
            Self::ReplyTokensMax => "reply_tokens_max",
            Self::Seed => "seed",
        }
    }

    /// What it does, in a few words.
    pub fn help(self) -> &'static str {
        match self {
            Self::Temperature => text!("0 to 5; 0: the likeliest word"),
            Self::TopP => text!("0 to 1; 1: no word is left out"),
            Self::MinP => text!("0 to 1; 0: no word is left out"),
            Self::RepetitionPenalty => text!("0.5 to 3; 1: none"),
            Self::ReplyTokensMax => text!("the longest reply"),
            Self::Seed => text!("same prompt, same reply"),
        }
    }

    fn range(self) -> Range {
        match self {
            Self::Temperature => Range::Number(0.0..=5.0),
            Self::TopP | Self::MinP => Range::Number(0.0..=1.0),
            Self::RepetitionPenalty => Range::Number(0.5..=3.0),
            Self::ReplyTokensMax => Range::Whole(1),
            Self::Seed => Range::Whole(0),
        }
    }

    /// "a number from 0 to 5".
    pub fn range_text(self) -> String {
        match self.range() {
            Range::Number(range) => {
                text!("a number from {least} to {most}", least = range.start(), most = range.end())
            }
            Range::Whole(least) => text!("a whole number from {least} up", least),
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|setting| setting.name() == name)
    }

    /// `None` if it is out of range.
    pub fn parse(self, text: &str) -> Option<SettingValue> {
        match self.range() {
            Range::Number(range) => {
                text.parse().ok().filter(|n| range.contains(n)).map(SettingValue::Number)
            }
            Range::Whole(least) => {
                text.parse().ok().filter(|&n| n >= least).map(SettingValue::Whole)
            }
        }
    }

    /// `None` if each reply draws its own.
    fn default(self) -> Option<SettingValue> {
        Some(match self {
            Self::Temperature => SettingValue::Number(0.7),
            Self::TopP => SettingValue::Number(0.9),
            Self::MinP => SettingValue::Number(0.05),
            Self::RepetitionPenalty => SettingValue::Number(1.1),
            Self::ReplyTokensMax => SettingValue::Whole(1_024),
            Self::Seed => return None,
        })
    }

    fn put(self, value: SettingValue, sampling: &mut Sampling) {
        match (self, value) {
            (Self::Temperature, SettingValue::Number(n)) => sampling.temperature = n,
            (Self::TopP, SettingValue::Number(n)) => sampling.top_p = n,
            (Self::MinP, SettingValue::Number(n)) => sampling.min_p = n,
            (Self::RepetitionPenalty, SettingValue::Number(n)) => sampling.repetition_penalty = n,
            (Self::ReplyTokensMax, SettingValue::Whole(n)) => {
                sampling.tokens_max = n.try_into().unwrap_or(usize::MAX);
            }
            (Self::Seed, SettingValue::Whole(n)) => sampling.seed = n,
            // `parse` gives each its own kind.
            _ => {}
        }
    }
}

/// What one place says of the settings.
pub type Settings = BTreeMap<Setting, SettingValue>;

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Default,
    Config,
    /// What suits the model in use.
    Model,
    Role,
    Chat,
}

/// What the configuration and the open chat say; the latter goes before everything else.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SamplingSettings {
    pub configured: Settings,
    pub chat: Settings,
}

impl SamplingSettings {
    /// A setting's value for the next reply of a model (`None`: each reply draws its own), and where it comes from.
    pub fn value(
        &self,
        setting: Setting,
        model: Option<&ModelProfile>,
    ) -> (Option<SettingValue>, Source) {
        let role = model.and_then(|model| model.role.as_ref());
        let said = |settings: &Settings, source| {
            settings.get(&setting).map(|&value| (Some(value), source))
        };
        let own = said(&self.chat, Source::Chat)
            .or_else(|| role.and_then(|role| said(&role.sampling, Source::Role)));
        own.unwrap_or_else(|| {
            let (value, source) = said(&self.configured, Source::Config)
                .unwrap_or_else(|| (setting.default(), Source::Default));
            let suits = model.and_then(|model| model.suits(setting, value?));
            suits.map_or((value, source), |value| (Some(value), Source::Model))
        })
    }

    /// How the next reply of a model is drawn; with `seed`, unless one is set.
    pub fn sampling(&self, model: Option<&ModelProfile>, seed: u64) -> Sampling {
        let mut sampling = Sampling { seed, ..Sampling::greedy(1) };
        for setting in Setting::ALL {
            if let (Some(value), _) = self.value(setting, model) {
                setting.put(value, &mut sampling);
            }
        }
        sampling
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::own_files::OwnFile as _;
    use crate::chat::persona::Persona;
    use crate::chat::policy::Reader;
    use crate::interfaces::LanguageModel as _;
    use crate::testing::ScriptedModel;

    fn model(n_parameters: u64, starter: bool) -> ModelProfile {
        let model = ScriptedModel::new(&[]).with_info(|info| {
            info.n_parameters = n_parameters;
            info.starter = starter;
        });
        ModelProfile::new(model.info(), Reader::Generative, None)
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let check = |name: &str, text: &str, expected: Option<SettingValue>| {
            assert_eq!(Setting::named(name).unwrap().parse(text), expected, "{name} {text}");
        };
        check("temperature", "0.2", Some(SettingValue::Number(0.2)));
        check("seed", "18446744073709551615", Some(SettingValue::Whole(u64::MAX)));
        for (name, text) in [
            ("temperature", "5.1"),
            ("temperature", "-0.1"),
            ("temperature", "NaN"),
            ("temperature", "0,2"),
            ("temperature", ""),
            ("top_p", "inf"),
            ("repetition_penalty", "0"),
            ("reply_tokens_max", "0"),
            ("reply_tokens_max", "1.5"),
            ("seed", "-1"),
        ] {
            check(name, text, None);
        }
        assert_eq!(Setting::named("heat"), None);
        let kept = Settings::from([
            (Setting::Temperature, SettingValue::Number(0.2)),
            (Setting::Seed, SettingValue::Whole(u64::MAX)),
        ]);
        assert_eq!(read(&written(&kept)), kept);
        assert_eq!(read("heat=1 top_p=9 seed 3 =="), Settings::new());
        let fits = |setting: &Setting| {
            setting.default().is_none_or(|value| setting.parse(&value.to_string()) == Some(value))
        };
        assert!(Setting::ALL.iter().all(fits));
    }

    #[test]
    fn the_chat_goes_before_the_role_the_model_and_the_configuration() {
        let text = "---\ntemperature: 0.4\nseed: 3\n---\nYou translate.";
        let mut large = model(7_000_000_000, false);
        let mut settings = SamplingSettings::default();
        let check = |settings: &SamplingSettings, model: &ModelProfile, value, source| {
            let expected = (Some(SettingValue::Number(value)), source);
            assert_eq!(settings.value(Setting::Temperature, Some(model)), expected);
        };
        check(&settings, &large, 0.7, Source::Default);
        settings.configured.insert(Setting::Temperature, SettingValue::Number(0.9));
        check(&settings, &large, 0.9, Source::Config);
        check(&settings, &model(135_000_000, true), 0.0, Source::Model);
        assert_eq!(settings.sampling(Some(&large), 5).seed, 5);
        large.role = Some(Persona::parse("fr", text).unwrap().into());
        check(&settings, &large, 0.4, Source::Role);
        settings.chat.insert(Setting::Temperature, SettingValue::Number(0.1));
        check(&settings, &large, 0.1, Source::Chat);
        check(&settings, &model(135_000_000, true), 0.1, Source::Chat);
        let sampling = settings.sampling(Some(&large), 5);
        assert_eq!((sampling.temperature, sampling.seed, sampling.tokens_max), (0.1, 3, 1_024));
        assert_eq!((sampling.top_p, sampling.min_p, sampling.repetition_penalty), (0.9, 0.05, 1.1));
        // A small number is not made larger.
        let starter = model(135_000_000, true);
        assert_eq!(settings.sampling(Some(&starter), 5).tokens_max, 256);
        settings.configured.insert(Setting::ReplyTokensMax, SettingValue::Whole(50));
        assert_eq!(settings.sampling(Some(&starter), 5).tokens_max, 50);
    }
}
