//! Text → unit vectors, with a BERT encoder.
//!
//! MiniLM, BGE, E5 and their kin: a directory with `config.json`, `tokenizer.json` and safetensors
//! (and, if it comes from sentence-transformers, what that says about pooling, length and prompt),
//! or one GGUF file as llama.cpp's converter writes it. Always on the CPU.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::bert::{Bert, BertConfig};
use super::metadata::Metadata;
use super::tokenizer::Tokenizer;
use super::weights::{Bytes, Weights, backend, bad_file};
use crate::interfaces::{Embedder, LoadProgress, ModelError};
use crate::memory::Embedding;

/// Tokens that go through the encoder at once.
const BATCH_TOKENS: usize = 2048;
/// Small JSON files beside the weights are not larger.
const JSON_BYTES_MAX: u64 = 1 << 20;

/// How token vectors become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pooling {
    Mean,
    /// The first token's.
    Cls,
}

/// A BERT encoder with its tokenizer and pooling.
pub struct BertEmbedder {
    bert: Bert,
    tokenizer: Tokenizer,
    pooling: Pooling,
    /// Put before each text (E5: `query: `).
    prompt: String,
    tokens_max: usize,
    id: String,
}

/// Loads an embedding model: a directory or a GGUF file.
///
/// # Errors
/// If a file is missing, damaged, or of another architecture.
pub fn load(
    path: &Path,
    progress: &(dyn Fn(LoadProgress) + Sync),
) -> Result<Arc<dyn Embedder>, ModelError> {
    progress(LoadProgress { stage: "reading the embedding model".into(), fraction: None });
    if path.is_dir() {
        Ok(Arc::new(BertEmbedder::from_directory(path)?))
    } else {
        Ok(Arc::new(BertEmbedder::from_gguf(path, Bytes::map(path)?)?))
    }
}

impl BertEmbedder {
    /// From a directory of safetensors and JSON files.
    ///
    /// # Errors
    /// As [`load`].
    pub fn from_directory(directory: &Path) -> Result<Self, ModelError> {
        let path = |name: &str| directory.join(name);
        let json = |name: &str| read_json(&path(name));
        let config_path = path("config.json");
        let Some(config) = json("config.json")? else {
            return Err(bad_file(&config_path, "there is no such file"));
        };
        let config: BertConfig = serde_json::from_value(config)
            .map_err(|e| bad_file(&config_path, format!("it describes no BERT encoder: {e}")))?;
        let weights_path = path("model.safetensors");
        let weights =
            Weights::from_safetensors(vec![(weights_path.clone(), Bytes::map(&weights_path)?)])?;
        let tokenizer_path = path("tokenizer.json");
        let tokenizer = Tokenizer::from_json_file(&tokenizer_path)
            .map_err(|e| bad_file(&tokenizer_path, e.to_string()))?;

        let pooling = match json("1_Pooling/config.json")? {
            None => Pooling::Mean,
            Some(pooling) => {
                let on = |key: &str| pooling.get(key).and_then(Value::as_bool).unwrap_or(false);
                match (on("pooling_mode_mean_tokens"), on("pooling_mode_cls_token")) {
                    (true, false) => Pooling::Mean,
                    (false, true) => Pooling::Cls,
                    _ => {
                        let reason = "it asks for a pooling other than mean or CLS";
                        return Err(bad_file(&path("1_Pooling/config.json"), reason));
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
        Self::new(&weights, config, tokenizer, pooling, prompt, tokens_max)
    }

    /// From a whole GGUF file: weights, configuration and vocabulary.
    ///
    /// # Errors
    /// If it is damaged or holds no BERT encoder.
    pub fn from_gguf(path: &Path, bytes: Bytes) -> Result<Self, ModelError> {
        let weights = Weights::from_bytes(path, bytes)?;
        let metadata: &Metadata = weights.metadata();
        let architecture = metadata.string("general.architecture").unwrap_or("unknown");
        if architecture != "bert" {
            let reason =
                format!("its architecture is `{architecture}` (embedding models are `bert`)");
            return Err(weights.bad(reason));
        }
        let rows = |name: &str| weights.dims(name).and_then(|dims| dims.first().copied());
        let config = BertConfig::from_gguf(
            metadata,
            rows("token_embd.weight").unwrap_or(0),
            rows("token_types.weight").unwrap_or(0),
        )
        .map_err(|reason| weights.bad(reason))?;
        let pooling = match metadata.integer("bert.pooling_type") {
            None | Some(1) => Pooling::Mean,
            Some(2) => Pooling::Cls,
            Some(other) => {
                return Err(weights.bad(format!("it asks for pooling of type {other}")));
            }
        };
        let tokenizer = Tokenizer::from_gguf(metadata).map_err(|e| weights.bad(e.to_string()))?;
        Self::new(&weights, config, tokenizer, pooling, String::new(), usize::MAX)
    }

    fn new(
        weights: &Weights,
        config: BertConfig,
        tokenizer: Tokenizer,
        pooling: Pooling,
        prompt: String,
        tokens_max: usize,
    ) -> Result<Self, ModelError> {
        let tokens_max = tokens_max.min(config.max_position_embeddings);
        if tokenizer.n_ids() > config.vocab_size {
            return Err(weights.bad(format!(
                "its tokenizer has {} tokens, its word table {} rows",
                tokenizer.n_ids(),
                config.vocab_size
            )));
        }
        let frame = tokenizer.begin().len();
        if frame == 0 || tokens_max <= frame {
            return Err(weights.bad("its tokenizer puts no [CLS] and [SEP] around a text"));
        }
        let hidden = config.hidden_size;
        let hash = || {
            let mut hasher = Sha256::new();
            for (_, bytes) in weights.files() {
                hasher.update(bytes.as_slice());
            }
            hasher.update(prompt.as_bytes());
            // Sixteen hex digits of it are plenty to tell models apart.
            let digest = hasher.finalize();
            digest.iter().take(8).fold(0, |hash, &byte| hash << 8 | u64::from(byte))
        };
        let (hash, bert) = rayon::join(hash, || Bert::load(weights, config));
        let id = format!("bert-{hidden}-{pooling:?}-{hash:016x}").to_lowercase();
        Ok(Self { bert: bert?, tokenizer, pooling, prompt, tokens_max, id })
    }

    /// Longest text in tokens; the rest is cut off.
    pub fn tokens_max(&self) -> usize {
        self.tokens_max
    }

    fn tokens(&self, text: &str) -> Vec<u32> {
        if self.prompt.is_empty() {
            self.tokenizer.encode_framed(text, self.tokens_max)
        } else {
            self.tokenizer.encode_framed(&format!("{}{text}", self.prompt), self.tokens_max)
        }
    }

    /// Encodes `batch` and appends a vector each.
    fn embed_batch(
        &self,
        batch: &[Vec<u32>],
        embeddings: &mut Vec<Embedding>,
    ) -> Result<(), ModelError> {
        let ids = batch.concat();
        let lengths: Vec<usize> = batch.iter().map(Vec::len).collect();
        let hidden = self.dimensions();
        let states = self.bert.forward(&ids, &lengths).map_err(backend)?;
        let mut rest = states.as_slice();
        for length in lengths {
            let (text, after) = rest.split_at(length * hidden);
            rest = after;
            let vector = match self.pooling {
                Pooling::Cls => text[..hidden].to_vec(),
                // The division by the length goes with the normalisation.
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

impl Embedder for BertEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> usize {
        self.bert.config().hidden_size
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

/// A small JSON file; None if it is absent.
fn read_json(path: &PathBuf) -> Result<Option<Value>, ModelError> {
    match std::fs::metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Ok(file) if file.len() > JSON_BYTES_MAX => {
            return Err(bad_file(path, format!("it has {} bytes", file.len())));
        }
        _ => {}
    }
    let text = std::fs::read_to_string(path)
        .map_err(|e| bad_file(path, format!("it can't be read ({e})")))?;
    let value = serde_json::from_str(&text)
        .map_err(|e| bad_file(path, format!("it is not valid JSON: {e}")))?;
    Ok(Some(value))
}
