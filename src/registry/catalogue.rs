//! The models that `model pull` can download: `models/catalogue.toml`, compiled in.

use serde::{Deserialize, Serialize};

use super::RegistryError;

/// What a model is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelPurpose {
    /// Chats, writes memory, answers.
    #[default]
    Language,
    /// Turns text into vectors.
    Embedding,
}

impl ModelPurpose {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Language => "language",
            Self::Embedding => "embedding",
        }
    }
}

/// One file of a model on the hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogueFile {
    /// Relative to the repository.
    pub path: String,
    /// Outranks the hash that the hub states.
    #[serde(default)]
    pub sha256: Option<String>,
}

/// One model that can be pulled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogueModel {
    pub name: String,
    #[serde(rename = "kind")]
    pub purpose: ModelPurpose,
    pub repo: String,
    pub revision: String,
    /// The commit that the revision is, if it is known already.
    #[serde(skip)]
    pub commit: Option<String>,
    pub files: Vec<CatalogueFile>,
    pub licence: String,
    pub bytes_approx: u64,
    #[serde(default)]
    pub context_tokens: u64,
    /// What a token of the conversation takes in memory; 0 for an embedder.
    #[serde(default)]
    pub kv_bytes_per_token: u64,
    /// For the list.
    #[serde(default)]
    pub good_at: Option<String>,
    /// Of those that fit, the highest is recommended.
    #[serde(default)]
    pub rank: Option<u32>,
    /// The one of its kind that is offered first.
    #[serde(default)]
    pub default: bool,
}

/// All models that can be pulled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catalogue {
    #[serde(rename = "model")]
    pub models: Vec<CatalogueModel>,
}

impl CatalogueModel {
    /// Bytes that it takes to run with a conversation of `window_tokens`: the weights, some of which are repacked; keys and values;
    /// the program with its embedder.
    pub fn needed_bytes(&self, window_tokens: u64) -> u64 {
        let window = window_tokens.min(self.context_tokens);
        self.bytes_approx
            + self.bytes_approx * 15 / 100
            + self.kv_bytes_per_token * window
            + 300_000_000
    }

    /// Whether it runs beside other programs on a machine with `total` bytes of memory.
    pub fn fits(&self, total: u64, window_tokens: u64) -> bool {
        self.needed_bytes(window_tokens) <= total / 4 * 3
    }
}

const BUILT_IN: &str = include_str!("../../models/catalogue.toml");

impl Catalogue {
    /// The catalogue that comes with the program. A test parses it, so it is never refused.
    pub fn built_in() -> Result<Self, RegistryError> {
        Self::parse(BUILT_IN)
    }

    fn parse(text: &str) -> Result<Self, RegistryError> {
        toml::from_str(text).map_err(|e| RegistryError::Manifest {
            path: "models/catalogue.toml".into(),
            reason: e.message().to_owned(),
        })
    }

    pub fn get(&self, name: &str) -> Option<&CatalogueModel> {
        self.models.iter().find(|m| m.name.eq_ignore_ascii_case(name))
    }

    /// The language model for a machine with `total` bytes of memory that reads and multiplies `decode_rate` bytes of weights a
    /// second: the best that leaves two fifths of the memory to the rest, and writes as fast as people speak.
    pub fn recommended(
        &self,
        total: u64,
        window_tokens: u64,
        decode_rate: f64,
    ) -> Option<&CatalogueModel> {
        const TOKENS_PER_SECOND_MIN: f64 = 4.0;
        let fits = |m: &&CatalogueModel| {
            m.needed_bytes(window_tokens) <= total / 5 * 3
                && decode_rate >= m.bytes_approx as f64 * TOKENS_PER_SECOND_MIN
        };
        self.models.iter().filter(|m| m.rank.is_some()).filter(fits).max_by_key(|m| m.rank)
    }

    /// The language model that is offered first.
    #[cfg(any(feature = "hub", test))]
    pub fn default_language(&self) -> Option<&CatalogueModel> {
        self.models.iter().find(|m| m.default && m.purpose == ModelPurpose::Language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_catalogue_is_sound() {
        let catalogue = Catalogue::built_in().unwrap();
        assert!(catalogue.default_language().is_some());
        for model in &catalogue.models {
            assert!(!model.files.is_empty(), "{} has no files", model.name);
            assert_eq!(
                catalogue.models.iter().filter(|m| m.name == model.name).count(),
                1,
                "{} is listed twice",
                model.name
            );
            assert_eq!(model.repo.split('/').count(), 2, "{}", model.repo);
            let is_language = model.purpose == ModelPurpose::Language;
            assert_eq!(model.kv_bytes_per_token > 0, is_language, "{}", model.name);
            assert_eq!(model.good_at.is_some(), is_language, "{}", model.name);
            assert!(model.context_tokens > 0 && model.bytes_approx > 0, "{}", model.name);
            for file in &model.files {
                let Some(hash) = &file.sha256 else { continue };
                let is_hash = hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
                assert!(is_hash && *hash == hash.to_lowercase(), "{}", model.name);
            }
            for file in &model.files {
                assert!(!file.path.starts_with('/') && !file.path.contains(".."), "{}", file.path);
            }
        }
    }

    #[test]
    fn each_machine_has_its_model() {
        let catalogue = Catalogue::built_in().unwrap();
        let at_rate = |gigabytes: u64, rate: f64| {
            catalogue.recommended(gigabytes << 30, 8192, rate).map(|model| model.name.as_str())
        };
        let recommended = |gigabytes: u64| at_rate(gigabytes, 40e9);
        // Memory alone makes no model fast.
        assert_eq!(at_rate(32, 22e9), Some("qwen3-8b"));
        assert_eq!(at_rate(32, 2e9), Some("qwen3-0.6b"));
        assert_eq!(at_rate(32, 1e9), None);
        assert_eq!(recommended(2), None);
        assert_eq!(recommended(4), Some("qwen3-0.6b"));
        assert_eq!(recommended(8), Some("qwen3-4b"));
        assert_eq!(recommended(16), Some("qwen3-8b"));
        assert_eq!(recommended(32), Some("qwen3-14b"));
        let model = catalogue.get("qwen3-4b").unwrap();
        // 2.50 GB of weights, 0.37 for repacking, 1.21 of keys and values, 0.3 for the rest.
        assert_eq!(
            model.needed_bytes(8192),
            2_497_280_736 + 374_592_110 + 147_456 * 8192 + 300_000_000
        );
        assert!(model.fits(8 << 30, 8192) && !model.fits(4 << 30, 8192));
        assert!(
            model.needed_bytes(1 << 30) > model.needed_bytes(262_144) - 1,
            "no more than its context"
        );
    }
}
