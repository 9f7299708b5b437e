//! What a model's files say that bears on its chat format.

use std::path::Path;

use serde_json::Value;

use crate::inference::load::read_text;
use crate::inference::metadata::Metadata;

/// Hints from the files beside the weights.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TemplateHints {
    /// The model's own (Jinja) template.
    pub chat_template: Option<String>,
    /// Tokens that end a text.
    pub eos: Vec<u32>,
}

impl TemplateHints {
    /// From GGUF metadata.
    pub fn from_gguf(metadata: &Metadata) -> Self {
        let id = |key: &str| metadata.integer(key).and_then(|id| u32::try_from(id).ok());
        Self {
            chat_template: metadata.string("tokenizer.chat_template").map(str::to_owned),
            eos: ["eos", "eot", "eom"]
                .iter()
                .filter_map(|name| id(&format!("tokenizer.ggml.{name}_token_id")))
                .collect(),
        }
    }

    /// From `tokenizer_config.json`, `chat_template.jinja`, `generation_config.json` and
    /// `config.json` of a model's directory. Files that are absent or damaged say nothing.
    pub fn from_directory(directory: &Path) -> Self {
        let text = |name: &str| read_text(&directory.join(name)).ok();
        let json = |name: &str| serde_json::from_str::<Value>(&text(name)?).ok();
        let chat_template = text("chat_template.jinja").or_else(|| {
            let config = json("tokenizer_config.json")?;
            match config.get("chat_template")? {
                Value::String(template) => Some(template.clone()),
                // Several, by name.
                Value::Array(templates) => templates
                    .iter()
                    .find(|t| t.get("name").and_then(Value::as_str) == Some("default"))
                    .and_then(|t| t.get("template")?.as_str().map(str::to_owned)),
                _ => None,
            }
        });
        let mut eos = Vec::new();
        for name in ["generation_config.json", "config.json"] {
            let ids = json(name).and_then(|config| config.get("eos_token_id").cloned());
            let ids = match ids {
                Some(Value::Array(ids)) => ids,
                Some(id) => vec![id],
                None => continue,
            };
            eos.extend(ids.iter().filter_map(|id| u32::try_from(id.as_u64()?).ok()));
        }
        eos.sort_unstable();
        eos.dedup();
        Self { chat_template, eos }
    }
}
