//! From a path (or bytes compiled into the program) to a model: what the files are, whether they
//! are sound, and how to run them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use candle_core::Device;
use serde_json::Value;

use super::chat_template::{ChatTemplate, TemplateHints};
use super::config::{DecoderConfig, architecture_of_json, printable};
use super::confined;
use super::cost::TokenCost;
use super::decoder::Decoder;
use super::engine::Engine;
use super::families::{self, EncoderFamily};
use super::model::EngineModel;
use super::sequence::Sequence;
use super::tokenizer::Tokenizer;
use super::weight_files::WeightFiles;
use super::weights::{Bytes, Precision, Weights, bad_file};
use crate::interfaces::{LanguageModel, LoadProgress, ModelError, ModelInfo, Part, parts_of};
use crate::texts::key;

/// Called at every stage of loading.
type Progress<'a> = &'a (dyn Fn(LoadProgress) + Sync);

const TEXT_BYTES_MAX: u64 = 16 << 20;

/// What a model's files are good for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelKind {
    /// A decoder that this program runs.
    Language,
    /// An encoder that this program runs.
    Embedder,
    /// Something else, by the name its files give.
    Unsupported(String),
}

/// What a model's headers say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSummary {
    /// What the model is good for.
    pub kind: ModelKind,
    /// `llama`, `qwen3`, `BertModel`, …
    pub architecture: String,
    /// The weights' files.
    pub files: Vec<PathBuf>,
    /// Size of the files.
    pub bytes: u64,
    /// Number of parameters.
    pub n_parameters: u64,
    /// The type that most parameters are stored in: `Q4K`, `BF16`, …
    pub storage: String,
    /// Of a decoder.
    pub context_tokens: Option<usize>,
    /// Of a decoder.
    pub n_layers: Option<usize>,
    /// Of a decoder: the length of a token's vector.
    pub hidden: Option<usize>,
    /// Of a decoder.
    pub cost: Option<TokenCost>,
}

impl FileSummary {
    /// "llama, 22 layers, 2048 wide, 1100 million parameters, Q4K", for people.
    pub fn description(&self) -> String {
        let mut parts = vec![self.architecture.clone()];
        parts.extend(self.n_layers.map(|n| format!("{n} layers")));
        parts.extend(self.hidden.map(|n| format!("{n} wide")));
        let millions = self.n_parameters as f64 / 1e6;
        let digits = usize::from(millions < 10.0);
        parts.push(format!("{millions:.digits$} million parameters"));
        parts.push(self.storage.clone());
        parts.join(", ")
    }
}

/// A model's files, opened and their headers checked.
pub(super) struct Opened {
    pub path: PathBuf,
    pub weights: Weights,
    /// `config.json`, beside safetensors.
    pub config: Option<String>,
}

pub(super) fn read_text(path: &Path) -> Result<String, ModelError> {
    let n_bytes = fs::metadata(path).map_err(|e| bad_file(path, e.to_string()))?.len();
    if n_bytes > TEXT_BYTES_MAX {
        return Err(bad_file(path, format!("{n_bytes} bytes are too many for a text file")));
    }
    fs::read_to_string(path).map_err(|e| bad_file(path, format!("it can't be read ({e})")))
}

pub(super) fn parse_json(path: &Path, text: &str) -> Result<Value, ModelError> {
    serde_json::from_str(text).map_err(|e| bad_file(path, format!("it is not valid JSON: {e}")))
}

pub(super) fn open(path: &Path) -> Result<Opened, ModelError> {
    if path.is_dir() {
        return open_directory(path);
    }
    if path.extension().is_some_and(|e| e == "safetensors") {
        let beside = path.parent().unwrap_or(Path::new("."));
        if beside.join("config.json").is_file() {
            let weights = Weights::from_bytes(path, Bytes::map(path)?)?;
            let config = read_text(&beside.join("config.json"))?;
            return Ok(Opened { path: beside.to_owned(), weights, config: Some(config) });
        }
        return Err(bad_file(path, "there is no config.json beside it"));
    }
    let bytes = Bytes::map(path)?;
    if !super::gguf::has_magic(bytes.as_slice()) {
        let reason = "it is not a GGUF file (it does not start with `GGUF`)";
        return Err(bad_file(path, reason));
    }
    let parts = parts_of(path);
    let first = parts.first().cloned().unwrap_or_else(|| path.to_owned());
    let weights = match parts.as_slice() {
        [_] => Weights::from_bytes(path, bytes)?,
        _ => Weights::from_gguf(mapped(parts)?)?,
    };
    Ok(Opened { path: first, weights, config: None })
}

fn mapped(files: Vec<PathBuf>) -> Result<Vec<(PathBuf, Bytes)>, ModelError> {
    files
        .into_iter()
        .map(|file| {
            let bytes = Bytes::map(&file)?;
            Ok((file, bytes))
        })
        .collect()
}

fn open_directory(path: &Path) -> Result<Opened, ModelError> {
    let config_path = path.join("config.json");
    let with_extension = |extension: &str| -> Result<Vec<PathBuf>, ModelError> {
        let entries = fs::read_dir(path).map_err(|e| bad_file(path, e.to_string()))?;
        let mut files: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|p| p.extension().is_some_and(|e| e == extension))
            .collect();
        files.sort();
        Ok(files)
    };
    if !config_path.is_file() {
        return match with_extension("gguf")?.as_slice() {
            files if files.first().is_some_and(|first| parts_of(first) == files) => open(&files[0]),
            [] => Err(bad_file(path, "it holds neither a config.json nor a GGUF file")),
            _ => Err(bad_file(path, "it holds several GGUF files; name one of them")),
        };
    }
    let config = read_text(&config_path)?;
    let single = path.join("model.safetensors");
    let index = path.join("model.safetensors.index.json");
    let files = if single.is_file() {
        vec![single]
    } else if index.is_file() {
        shards(path, &index)?
    } else {
        with_extension("safetensors")?
    };
    if files.is_empty() {
        return Err(bad_file(path, "it holds no .safetensors file"));
    }
    let weights = Weights::from_safetensors(mapped(files)?)?;
    Ok(Opened { path: path.to_owned(), weights, config: Some(config) })
}

/// The files that `model.safetensors.index.json` names; none outside the directory.
fn shards(directory: &Path, index: &Path) -> Result<Vec<PathBuf>, ModelError> {
    let json = parse_json(index, &read_text(index)?)?;
    let map = json
        .get("weight_map")
        .and_then(Value::as_object)
        .ok_or_else(|| bad_file(index, "it has no `weight_map`"))?;
    let mut names: Vec<&str> = map.values().filter_map(Value::as_str).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .map(|name| {
            let plain = Path::new(name).file_name().is_some_and(|f| f == name);
            if plain {
                Ok(directory.join(name))
            } else {
                Err(bad_file(index, format!("it names a file outside its directory: {name:?}")))
            }
        })
        .collect()
}

impl Opened {
    fn decoder_config(&self) -> Result<DecoderConfig, ModelError> {
        match &self.config {
            Some(text) => DecoderConfig::from_json(text),
            None => DecoderConfig::from_gguf(self.weights.metadata()),
        }
        .map_err(|reason| bad_file(&self.path, reason))
    }

    /// Refuses an embedder whose configuration this program can't compute.
    fn check_encoder(&self, family: &EncoderFamily) -> Result<(), ModelError> {
        let refuse = |reason| Err(bad_file(&self.path, reason));
        match self.config.as_deref().map(serde_json::from_str::<Value>) {
            None if family.load_gguf.is_none() => {
                refuse(format!("no GGUF file of `{}` can be read, only safetensors", family.name))
            }
            None => Ok(()),
            Some(Ok(config)) => (family.read)(&config).map(drop).or_else(refuse),
            Some(Err(e)) => refuse(format!("config.json is not valid JSON: {e}")),
        }
    }

    fn architecture(&self) -> String {
        let named = match &self.config {
            Some(text) => architecture_of_json(text),
            None => self.weights.metadata().string("general.architecture").map(str::to_owned),
        };
        named.map_or_else(|| "unnamed".into(), |name| printable(&name))
    }

    fn decoder(&self, progress: Progress<'_>) -> Result<Decoder, ModelError> {
        let config = self.decoder_config()?;
        let n_layers = config.n_layers;
        Decoder::load(config, &self.weights, &device(), &|done| {
            progress(LoadProgress {
                stage: key!("reading weights").into(),
                fraction: Some(done as f32 / n_layers as f32),
            });
        })
    }
}

/// The processor; with the feature `cuda`, the first GPU if one can be used.
fn device() -> Device {
    #[cfg(feature = "cuda")]
    if let Ok(gpu) = gpu() {
        return gpu;
    }
    Device::Cpu
}

#[cfg(feature = "cuda")]
fn gpu() -> Result<Device, String> {
    // The first line is the reason; a backtrace may follow.
    Device::new_cuda(0).map_err(|e| e.to_string().lines().next().unwrap_or_default().to_owned())
}

/// Why models run on the processor although this program was built with GPU support; `None` where a
/// GPU runs them.
#[cfg(feature = "cuda")]
pub fn without_gpu() -> Option<String> {
    confined::reading(None, || Ok(gpu().err())).unwrap_or_else(|e| Some(e.to_string()))
}

/// Checks the headers of a GGUF file or of a safetensors directory, and says what they hold.
/// Nothing is computed.
///
/// # Errors
/// [`ModelError::BadFile`] with the reason, for files that are damaged or make no sense. A sound
/// file of an architecture that this program does not run is no error: see
/// [`FileSummary::kind`].
pub fn validate(path: &Path) -> Result<FileSummary, ModelError> {
    confined::reading(Some(path), || summary(path))
}

fn summary(path: &Path) -> Result<FileSummary, ModelError> {
    let opened = open(path)?;
    let architecture = opened.architecture();
    let (kind, config) = if families::decoder(&architecture).is_some() {
        (ModelKind::Language, Some(opened.decoder_config()?))
    } else if let Some(family) = families::encoder(&architecture) {
        opened.check_encoder(family)?;
        (ModelKind::Embedder, None)
    } else {
        (ModelKind::Unsupported(architecture.clone()), None)
    };
    let weights = &opened.weights;
    Ok(FileSummary {
        kind,
        files: weights.files().iter().map(|(path, _)| path.clone()).collect(),
        bytes: weights.files().iter().map(|(_, bytes)| bytes.as_slice().len() as u64).sum(),
        n_parameters: weights.n_parameters(),
        storage: weights.storage(),
        context_tokens: config.as_ref().map(|c| c.context_tokens),
        n_layers: config.as_ref().map(|c| c.n_layers),
        hidden: config.as_ref().map(|c| c.hidden),
        cost: config.as_ref().map(|c| TokenCost::of(weights, c)),
        architecture: config.map_or(architecture, |c| c.family.name.into()),
    })
}

/// The decoder alone, without tokenizer and engine.
///
/// # Errors
/// [`ModelError::BadFile`] with the reason.
pub fn load_decoder(path: &Path, precision: Precision) -> Result<Decoder, ModelError> {
    confined::reading(Some(path), || {
        let Opened { path, weights, config } = open(path)?;
        Opened { path, weights: weights.with_precision(precision), config }.decoder(&|_| {})
    })
}

/// The logits after each of `tokens`, from the beginning of a context, computed in f32 whatever the
/// weights are stored in; no tokenizer is needed.
///
/// # Errors
/// If the files are unusable, a token is outside the vocabulary, or there are more tokens than the
/// context holds.
pub fn probe(path: &Path, tokens: &[u32]) -> Result<Vec<Vec<f32>>, ModelError> {
    probe_with(path, tokens, Precision::Exact)
}

/// [`probe`], computed as `precision` says.
///
/// # Errors
/// As [`probe`].
pub fn probe_with(
    path: &Path,
    tokens: &[u32],
    precision: Precision,
) -> Result<Vec<Vec<f32>>, ModelError> {
    let decoder = load_decoder(path, precision)?;
    let mut rows = Vec::new();
    let mut keep = |_, row: &[f32]| rows.push(row.to_vec());
    confined::reading(None, || {
        Sequence::default().extend(&decoder, tokens, 0..tokens.len(), &mut keep, &mut || {})
    })?;
    Ok(rows)
}

/// Loads a GGUF file, or a directory with `config.json`, `*.safetensors` and `tokenizer.json`, and
/// starts its engine.
///
/// # Errors
/// [`ModelError::BadFile`] with the reason.
pub fn load_language(
    path: &Path,
    progress: Progress<'_>,
) -> Result<Arc<dyn LanguageModel>, ModelError> {
    progress(LoadProgress { stage: key!("checking the file").into(), fraction: None });
    Ok(Arc::new(confined::reading(Some(path), || model(path, progress))?))
}

pub(super) fn model(path: &Path, progress: Progress<'_>) -> Result<EngineModel, ModelError> {
    let opened = open(path)?;
    let name = (name_of(path), false);
    if opened.config.is_some() {
        let at = opened.path.join("tokenizer.json");
        let hints = TemplateHints::from_directory(&opened.path);
        return start(&opened, name, &hints, progress, || {
            Tokenizer::from_json_file(&at).map_err(|reason| bad_file(&at, reason))
        });
    }
    let metadata = opened.weights.metadata();
    let name = match metadata.string("general.name") {
        // Ollama calls a file by its hash.
        Some(own) if name.0.starts_with("sha256-") => (printable(own), false),
        _ => name,
    };
    start(&opened, name, &TemplateHints::from_gguf(metadata), progress, || {
        Tokenizer::from_gguf(metadata).map_err(|reason| bad_file(&opened.path, reason))
    })
}

/// A file's name without `.gguf`, a folder's name, or a repository's for a snapshot in the Hugging
/// Face cache (`models--Qwen--Qwen3-0.6B/snapshots/<commit>`).
fn name_of(path: &Path) -> String {
    let text = |part: Option<&std::ffi::OsStr>| {
        part.map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
    };
    if path.extension().is_some_and(|e| e == "gguf" || e == "safetensors") {
        let name = text(path.file_name());
        return Part::of(&name).map_or_else(|| text(path.file_stem()), |part| part.stem.to_owned());
    }
    let name = path.file_name();
    let snapshot = path.parent().filter(|p| p.ends_with("snapshots")).and_then(Path::parent);
    let repository = text(snapshot.and_then(Path::file_name));
    match repository.strip_prefix("models--") {
        Some(repository) => repository.rsplit("--").next().unwrap_or(repository).to_owned(),
        None => text(name),
    }
}

/// As [`load_language`], for the starter: the bytes of a whole GGUF file.
#[cfg(feature = "starter")]
pub(super) fn load_starter(
    weights: &'static [u8],
    progress: Progress<'_>,
) -> Result<Arc<dyn LanguageModel>, ModelError> {
    let model = confined::reading(None, || {
        let path = PathBuf::from("(built in) starter");
        let weights = Weights::from_bytes(&path, Bytes::Static(weights))?;
        let hints = TemplateHints::from_gguf(weights.metadata());
        let opened = Opened { path, weights, config: None };
        start(&opened, ("starter".into(), true), &hints, progress, || {
            Tokenizer::from_gguf(opened.weights.metadata())
                .map_err(|reason| bad_file(&opened.path, reason))
        })
    })?;
    Ok(Arc::new(model))
}

/// Loads weights and tokenizer at the same time, then starts the engine. The model's name, and whether it is the starter.
fn start(
    opened: &Opened,
    (name, starter): (String, bool),
    hints: &TemplateHints,
    progress: Progress<'_>,
    tokenizer: impl FnOnce() -> Result<Tokenizer, ModelError> + Send,
) -> Result<EngineModel, ModelError> {
    let (decoder, tokenizer) = std::thread::scope(|scope| {
        let tokenizer = scope.spawn(tokenizer);
        let decoder = opened.decoder(progress);
        progress(LoadProgress { stage: key!("building the tokenizer").into(), fraction: None });
        (decoder, tokenizer.join())
    });
    let died = |what: &str| ModelError::Backend { what: format!("{what} failed"), source: None };
    let decoder = decoder?;
    let tokenizer = tokenizer.map_err(|_| died("reading the tokenizer"))??;
    let template = ChatTemplate::recognise(&tokenizer, hints);
    let files = WeightFiles::of(opened.weights.files());
    let info = ModelInfo {
        name: name.chars().filter(|c| !c.is_control()).collect(),
        // Now that the system has read them.
        fingerprint: files.fingerprint(),
        n_parameters: opened.weights.n_parameters(),
        context_tokens: decoder.context_tokens(),
        vocabulary: decoder.vocabulary(),
        starter,
    };
    let (engine, _thread) = Engine::start(decoder)?;
    Ok(EngineModel::new(info, files, tokenizer, template, engine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_called_what_its_file_is() {
        for (path, name) in [
            ("/m/Qwen3-0.6B-Q4_K_M.gguf", "Qwen3-0.6B-Q4_K_M"),
            ("/m/Qwen3-0.6B", "Qwen3-0.6B"),
            ("/hub/models--Qwen--Qwen3-0.6B/snapshots/e1f2", "Qwen3-0.6B"),
            ("/x/snapshots/e1f2", "e1f2"),
        ] {
            assert_eq!(name_of(Path::new(path)), name);
        }
    }
}
