//! Text → unit vectors, with an encoder.
//!
//! A directory with `config.json`, `tokenizer.json` and safetensors (and, if it comes from
//! sentence-transformers, what that says about pooling, length and prompt), or one GGUF file as
//! llama.cpp's converter writes it. Always on the CPU. [`super::families`] tells which encoder it is.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::config::printable;
use super::confined;
use super::encoder::Encoder;
use super::families::{self, ENCODERS};
use super::load::{self, Opened};
use super::tokenizer::Tokenizer;
use super::weights::{Weights, backend, bad_file};
use crate::interfaces::{Embedder, LoadProgress, ModelError};
use crate::memory::Embedding;
use crate::texts::key;

/// Tokens that go through the encoder at once.
const BATCH_TOKENS: usize = 2048;

/// How token vectors become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pooling {
    Mean,
    /// The first token's.
    Cls,
}

/// An encoder with its tokenizer and pooling.
pub struct EncoderEmbedder {
    encoder: Box<dyn Encoder>,
    tokenizer: Tokenizer,
    settings: Settings,
    id: String,
}

/// What a model's files say besides the encoder.
struct Settings {
    pooling: Pooling,
    /// Put before each text (E5: `query: `).
    prompt: String,
    /// Longest text in tokens; the rest is cut off.
    tokens_max: usize,
}

/// Loads an embedding model: a directory or a GGUF file.
///
/// # Errors
/// [`ModelError::BadFile`] if a file is missing, damaged, or of another architecture.
pub fn load(
    path: &Path,
    progress: &(dyn Fn(LoadProgress) + Sync),
) -> Result<Arc<dyn Embedder>, ModelError> {
    progress(LoadProgress { stage: key!("reading the embedding model").into(), fraction: None });
    Ok(Arc::new(EncoderEmbedder::from_files(path)?))
}

fn unsupported(architecture: &str) -> String {
    let known = ENCODERS.map(|family| format!("`{}`", family.name)).join(", ");
    format!("its architecture is `{}` (embedding models are {known})", printable(architecture))
}

impl EncoderEmbedder {
    /// From a directory of safetensors and JSON files, or a GGUF file.
    ///
    /// # Errors
    /// As [`load()`].
    pub fn from_files(path: &Path) -> Result<Self, ModelError> {
        confined::reading(Some(path), || Self::read(path))
    }

    fn read(path: &Path) -> Result<Self, ModelError> {
        let Opened { path: directory, weights, config } = load::open(path)?;
        let Some(config) = config else { return Self::from_gguf(&weights) };
        let config_path = directory.join("config.json");
        let config: Value = load::parse_json(&config_path, &config)?;
        // Old BERTs name no type.
        let name = config.get("model_type").and_then(Value::as_str).unwrap_or("bert");
        let family =
            families::encoder(name).ok_or_else(|| bad_file(&config_path, unsupported(name)))?;
        let build = (family.read)(&config).map_err(|reason| bad_file(&config_path, reason))?;
        let tokenizer_path = directory.join("tokenizer.json");
        let tokenizer = Tokenizer::from_json_file(&tokenizer_path)
            .map_err(|reason| bad_file(&tokenizer_path, reason))?;
        let settings = Settings::from_directory(&directory)?;
        Self::new(&weights, tokenizer, settings, family.name, || build(&weights))
    }

    /// From a whole GGUF file: weights, configuration and vocabulary.
    ///
    /// # Errors
    /// As [`load()`].
    pub fn from_gguf(weights: &Weights) -> Result<Self, ModelError> {
        let metadata = weights.metadata();
        let name = metadata.string("general.architecture").unwrap_or("unknown");
        let family =
            families::encoder(name).and_then(|family| Some((family.name, family.load_gguf?)));
        let Some((name, load)) = family else {
            return Err(weights.bad(unsupported(name)));
        };
        let pooling = match metadata.integer(&format!("{name}.pooling_type")) {
            None | Some(1) => Pooling::Mean,
            Some(2) => Pooling::Cls,
            Some(other) => {
                return Err(weights.bad(format!("it asks for pooling of type {other}")));
            }
        };
        let tokenizer = Tokenizer::from_gguf(metadata).map_err(|reason| weights.bad(reason))?;
        let settings = Settings { pooling, prompt: String::new(), tokens_max: usize::MAX };
        Self::new(weights, tokenizer, settings, name, || load(weights))
    }

    fn new(
        weights: &Weights,
        tokenizer: Tokenizer,
        settings: Settings,
        family: &str,
        encoder: impl FnOnce() -> Result<Box<dyn Encoder>, ModelError> + Send,
    ) -> Result<Self, ModelError> {
        let hash = || {
            let mut hasher = Sha256::new();
            for (_, bytes) in weights.files() {
                hasher.update(bytes.as_slice());
            }
            hasher.update(settings.prompt.as_bytes());
            // Sixteen hex digits of it are plenty to tell models apart.
            let digest = hasher.finalize();
            digest.iter().take(8).fold(0, |hash, &byte| hash << 8 | u64::from(byte))
        };
        let (hash, encoder) = rayon::join(hash, encoder);
        let encoder = encoder?;
        let shape = encoder.shape();
        if tokenizer.n_ids() > shape.vocabulary {
            return Err(weights.bad(format!(
                "its tokenizer has {} tokens, its word table {} rows",
                tokenizer.n_ids(),
                shape.vocabulary
            )));
        }
        let settings =
            Settings { tokens_max: settings.tokens_max.min(shape.tokens_max), ..settings };
        let frame = tokenizer.begin().len();
        if frame == 0 || settings.tokens_max <= frame {
            return Err(weights.bad("its tokenizer puts no [CLS] and [SEP] around a text"));
        }
        let id = format!("{family}-{}-{:?}-{hash:016x}", shape.hidden, settings.pooling);
        Ok(Self { encoder, tokenizer, settings, id: id.to_lowercase() })
    }

    /// Longest text in tokens; the rest is cut off.
    pub fn tokens_max(&self) -> usize {
        self.settings.tokens_max
    }

    fn tokens(&self, text: &str) -> Vec<u32> {
        let Settings { prompt, tokens_max, .. } = &self.settings;
        if prompt.is_empty() {
            self.tokenizer.encode_framed(text, *tokens_max)
        } else {
            self.tokenizer.encode_framed(&format!("{prompt}{text}"), *tokens_max)
        }
    }

    /// Encodes `batch` and appends a vector each.
    fn embed_batch(
        &self,
        batch: &[Vec<u32>],
        embeddings: &mut Vec<Embedding>,
    ) -> Result<(), ModelError> {
        let hidden = self.dimensions();
        let states = self.encoder.states(batch).map_err(backend)?;
        let mut rest = states.as_slice();
        for tokens in batch {
            let (text, after) = rest.split_at(tokens.len() * hidden);
            rest = after;
            let vector = match self.settings.pooling {
                Pooling::Cls => text[..hidden].to_vec(),
                // No division by the length: the normalisation below would undo it.
                Pooling::Mean => {
                    text.chunks_exact(hidden).fold(vec![0.0; hidden], |mut sum, row| {
                        for (s, &x) in sum.iter_mut().zip(row) {
                            *s += x;
                        }
                        sum
                    })
                }
            };
            embeddings.push(Embedding::normalise(vector).map_err(|_| ModelError::NotANumber)?);
        }
        Ok(())
    }
}

impl Settings {
    fn from_directory(directory: &Path) -> Result<Self, ModelError> {
        let json = |name: &str| read_json(&directory.join(name));
        let pooling = match json("1_Pooling/config.json")? {
            None => Pooling::Mean,
            Some(pooling) => {
                let on = |key: &str| pooling.get(key).and_then(Value::as_bool).unwrap_or(false);
                match (on("pooling_mode_mean_tokens"), on("pooling_mode_cls_token")) {
                    (true, false) => Pooling::Mean,
                    (false, true) => Pooling::Cls,
                    _ => {
                        let reason = "it asks for a pooling other than mean or CLS";
                        return Err(bad_file(&directory.join("1_Pooling/config.json"), reason));
                    }
                }
            }
        };
        let prompt = json("config_sentence_transformers.json")?
            .and_then(|config| {
                let name = config.get("default_prompt_name")?.as_str()?;
                Some(config.get("prompts")?.get(name)?.as_str()?.to_owned())
            })
            .unwrap_or_default();
        let tokens_max = json("sentence_bert_config.json")?
            .and_then(|config| config.get("max_seq_length")?.as_u64())
            .and_then(|n| usize::try_from(n).ok())
            .unwrap_or(usize::MAX);
        Ok(Self { pooling, prompt, tokens_max })
    }
}

impl Embedder for EncoderEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> usize {
        self.encoder.shape().hidden
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        let mut embeddings = Vec::with_capacity(texts.len());
        let (mut batch, mut n_tokens) = (Vec::new(), 0);
        for text in texts {
            let tokens = self.tokens(text);
            if n_tokens + tokens.len() > BATCH_TOKENS && !batch.is_empty() {
                self.embed_batch(&batch, &mut embeddings)?;
                batch.clear();
                n_tokens = 0;
            }
            n_tokens += tokens.len();
            batch.push(tokens);
        }
        if !batch.is_empty() {
            self.embed_batch(&batch, &mut embeddings)?;
        }
        Ok(embeddings)
    }
}

/// A JSON file; None if it is absent.
fn read_json(path: &Path) -> Result<Option<Value>, ModelError> {
    if matches!(path.try_exists(), Ok(false)) {
        return Ok(None);
    }
    load::parse_json(path, &load::read_text(path)?).map(Some)
}
