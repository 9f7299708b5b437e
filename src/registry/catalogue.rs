//! The models that `model pull` can download: `models/catalogue.toml`, compiled in.

use serde::{Deserialize, Serialize};

use super::RegistryError;

/// What a model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelPurpose {
    /// Chats, writes memory, answers.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogueModel {
    pub name: String,
    #[serde(rename = "kind")]
    pub purpose: ModelPurpose,
    pub repo: String,
    pub revision: String,
    pub files: Vec<CatalogueFile>,
    pub licence: String,
    pub bytes_approx: u64,
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
            for file in &model.files {
                assert!(!file.path.starts_with('/') && !file.path.contains(".."), "{}", file.path);
            }
        }
    }
}
