//! What is in a repository of the hub, and which of it to download.

use std::path::Path;

use hf_hub::{Repo, RepoType};
use serde::Deserialize;
use serde_json::Value;
use ureq::http::Method;

use super::client::{Client, HubError};
use super::quantisation::{Candidate, Choice, choose, needed_bytes};
use super::{Attempts, failed};
use crate::interfaces::Part;
use crate::registry::catalogue::{CatalogueFile, CatalogueModel};
use crate::registry::error::RegistryError;
use crate::registry::hub_cache::is_commit;
use crate::registry::import::{belongs_to_a_model, plain_name};
use crate::registry::{HubSettings, ModelPurpose};

/// `owner/repo[:quantisation or file]`, as the person typed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub repo: String,
    /// `Q4_K_M`, or a file's path.
    pub which: Option<String>,
}

impl Wanted {
    /// `None` for what is not the address of a repository.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text =
            ["https://huggingface.co/", "https://hf.co/", "huggingface.co/", "hf.co/", "hf://"]
                .iter()
                .find_map(|prefix| text.strip_prefix(prefix))
                .unwrap_or(text);
        let (repo, which) = match text.split_once(':') {
            Some((repo, which)) => (repo, Some(which.to_owned()).filter(|w| !w.is_empty())),
            None => (text.trim_end_matches('/'), None),
        };
        let is_part = |part: &str| {
            !part.is_empty()
                && part.len() <= 96
                && !part.starts_with('.')
                && !part.contains("..")
                && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        };
        let (owner, name) = repo.split_once('/')?;
        (is_part(owner) && is_part(name)).then(|| Self { repo: repo.to_owned(), which })
    }
}

/// What would be downloaded, and why.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// As if it were in the catalogue.
    pub model: CatalogueModel,
    /// `Q4_K_M`, of a GGUF file whose name says it.
    pub quantisation: Option<String>,
    pub why: String,
    /// Bytes that it takes to run, if the hub says how large it is.
    pub needed_bytes: Option<u64>,
    pub is_too_large: bool,
    /// The licence is known to the hub.
    pub has_licence: bool,
    /// `Q8_0 (640 MB)`, …: what could be chosen instead.
    pub others: Vec<(String, Option<u64>)>,
}

impl Plan {
    /// The hashes of the weights, as far as the hub states them, with the files' paths.
    pub fn weight_hashes(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_weights =
            |path: &str| has_extension(path, "gguf") || has_extension(path, "safetensors");
        let files = self.model.files.iter().filter(move |file| is_weights(&file.path));
        files.filter_map(|file| Some((file.path.as_str(), file.sha256.as_deref()?)))
    }
}

/// The hub's description of a repository, as far as it is needed.
#[derive(Debug, Deserialize)]
struct Info {
    sha: Option<String>,
    #[serde(default)]
    siblings: Vec<Sibling>,
    #[serde(default, rename = "cardData")]
    card: Option<Card>,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Sibling {
    rfilename: String,
    #[serde(default)]
    size: Option<u64>,
    #[serde(default)]
    lfs: Option<Lfs>,
}

#[derive(Debug, Deserialize)]
struct Lfs {
    #[serde(default)]
    sha256: Option<String>,
    #[serde(default)]
    size: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Card {
    #[serde(default)]
    license: Value,
    #[serde(default)]
    license_name: Option<String>,
}

/// A repository has hundreds of files, and a line or two on each.
const INFO_BYTES_MAX: u64 = 16 << 20;

/// Asks the hub what `wanted` has, and chooses for a machine with `memory` bytes free.
pub(crate) fn plan(
    wanted: &Wanted,
    hub: &HubSettings,
    memory: Option<u64>,
) -> Result<Plan, RegistryError> {
    let fail = |e| failed(&wanted.repo, hub, "the list of files", e);
    let client = Client::new(&hub.endpoint, hub.token.clone(), hub.timeout).map_err(fail)?;
    let repo = Repo::new(wanted.repo.clone(), RepoType::Model);
    let url = format!("{}/api/{}?blobs=true", hub.endpoint.trim_end_matches('/'), repo.api_url());
    let mut attempts = Attempts::new(hub);
    let info = loop {
        match ask(&client, &url) {
            Ok(info) => break info,
            Err(e) => attempts.wait_or_give_up(e).map_err(fail)?,
        }
    };
    decide(wanted, info, memory).map_err(|(why, there)| RegistryError::NothingToRun {
        repo: wanted.repo.clone(),
        why,
        there,
    })
}

fn ask(client: &Client, url: &str) -> Result<Info, HubError> {
    let mut answer = client.ask(&Method::GET, url, None, |_| false)?;
    let text = answer.body_mut().with_config().limit(INFO_BYTES_MAX).read_to_string();
    let text = text.map_err(|e| match e {
        ureq::Error::BodyExceedsLimit(_) => {
            HubError::Malformed("the list of files is too long".into())
        }
        e => HubError::Transport(e),
    })?;
    serde_json::from_str(&text).map_err(|e| HubError::Malformed(e.to_string()))
}

/// Why nothing can be chosen, and what there is.
type Nothing = (String, Vec<String>);

fn decide(wanted: &Wanted, info: Info, memory: Option<u64>) -> Result<Plan, Nothing> {
    let files: Vec<&Sibling> = info.siblings.iter().filter(|s| is_plain(&s.rfilename)).collect();
    let bytes_of = |s: &Sibling| s.lfs.as_ref().and_then(|lfs| lfs.size).or(s.size);
    let ggufs: Vec<&Sibling> = files.iter().copied().filter(|s| is_gguf(&s.rfilename)).collect();
    let total = |parts: &[&Sibling]| {
        parts.iter().try_fold(0_u64, |sum, s| Some(sum.saturating_add(bytes_of(s)?)))
    };
    let candidate = |s: &&Sibling| {
        let parts = whole(&s.rfilename, &ggufs)?;
        Some(Candidate::new(&s.rfilename, total(&parts)))
    };
    let candidates: Vec<Candidate> = ggufs.iter().filter_map(candidate).collect();

    let (chosen, quantisation, why, is_too_large) = if ggufs.is_empty() {
        let chosen = safetensors(&files, wanted.which.as_deref())?;
        (chosen, None, "safetensors, the only form that there is".to_owned(), None)
    } else {
        let choice = match &wanted.which {
            Some(which) => named(&candidates, which)?,
            None => choose(&candidates, memory).ok_or_else(|| nothing_runs(&candidates))?,
        };
        let chosen = whole(&choice.file.path, &ggufs).unwrap_or_default();
        (chosen, choice.file.quantisation, choice.why, Some(choice.is_too_large))
    };

    let bytes = total(&chosen);
    let needed = bytes.map(needed_bytes);
    let fits = needed.zip(memory).is_none_or(|(needed, memory)| needed <= memory);
    let licence = licence_of(&info);
    let others = candidates.iter().filter(|c| chosen.iter().all(|s| s.rfilename != c.path));
    let others = others.map(|c| (c.quantisation.clone().unwrap_or(c.path.clone()), c.bytes));
    let file_name = |s: &Sibling| s.rfilename.rsplit('/').next().unwrap_or_default().to_owned();
    let name = match chosen.as_slice() {
        [file, ..] if is_gguf(&file.rfilename) => {
            let name = file_name(file);
            let stem = Part::of(&name).map_or(name.as_str(), |part| part.stem);
            stem.to_lowercase().trim_end_matches(".gguf").to_owned()
        }
        _ => wanted.repo.split('/').nth(1).unwrap_or_default().to_owned(),
    };
    Ok(Plan {
        quantisation,
        why,
        needed_bytes: needed,
        is_too_large: is_too_large.unwrap_or(!fits) || !fits,
        has_licence: licence.is_some(),
        others: others.collect(),
        model: CatalogueModel {
            name: plain_name(&name).unwrap_or_else(|| "model".into()),
            // Until its header is read.
            purpose: ModelPurpose::Language,
            repo: wanted.repo.clone(),
            revision: "main".into(),
            commit: info.sha.clone().filter(|sha| is_commit(sha)),
            files: chosen.iter().map(|s| as_file(s)).collect(),
            licence: licence.unwrap_or_else(|| "unknown".into()),
            bytes_approx: bytes.unwrap_or(0),
            ..CatalogueModel::default()
        },
    })
}

fn as_file(sibling: &Sibling) -> CatalogueFile {
    let sha256 = sibling.lfs.as_ref().and_then(|lfs| lfs.sha256.clone());
    let is_hash = |s: &String| s.len() == 64 && s.bytes().all(|b| b.is_ascii_hexdigit());
    CatalogueFile {
        path: sibling.rfilename.clone(),
        sha256: sha256.filter(is_hash).map(|hash| hash.to_ascii_lowercase()),
    }
}

/// A path that stays in its folder, on every system.
fn is_plain(path: &str) -> bool {
    path.len() <= 500
        && !path.starts_with('/')
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
        && !path.chars().any(|c| c.is_control() || "\\:*?\"<>|".contains(c))
}

/// A model's weights, and not what comes with it to see or to quantise it.
fn is_gguf(path: &str) -> bool {
    let lower = path.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();
    has_extension(path, "gguf") && !name.contains("mmproj") && !name.contains("imatrix")
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|e| e.eq_ignore_ascii_case(extension))
}

/// All files of the model that this one is, or is the first part of; `None` if it is a later part, or one is missing.
fn whole<'a>(path: &str, all: &[&'a Sibling]) -> Option<Vec<&'a Sibling>> {
    let at = |path: &str| all.iter().copied().find(|s| s.rfilename == path);
    match Part::of(path) {
        None => Some(vec![at(path)?]),
        Some(part) if part.number == 1 => part.all().map(|name| at(&name)).collect(),
        Some(_) => None,
    }
}

/// The file that the person named, by its path, its name or its quantisation; a split one also by any of its parts.
fn named(candidates: &[Candidate], which: &str) -> Result<Choice, Nothing> {
    let name_of = |path: &str| path.rsplit('/').next().unwrap_or_default().to_lowercase();
    let first = Part::of(which).and_then(|part| part.all().next());
    let which = first.as_deref().unwrap_or(which);
    let which_lower = which.to_lowercase();
    let is_named = |c: &&Candidate| {
        let name = name_of(&c.path);
        let stem = Part::of(&name).map_or(name.trim_end_matches(".gguf"), |part| part.stem);
        c.path == which || name == which_lower || stem == which_lower.trim_end_matches(".gguf")
    };
    let is_of_kind =
        |c: &&Candidate| c.quantisation.as_deref().is_some_and(|q| q.eq_ignore_ascii_case(which));
    let found = candidates.iter().find(is_named);
    let mut of_kind: Vec<&Candidate> = candidates.iter().filter(is_of_kind).collect();
    of_kind.sort_by_key(|c| (c.path.len(), &c.path));
    let Some(file) = found.or(of_kind.first().copied()) else {
        return Err((format!("it has no GGUF file of `{which}`"), kinds(candidates)));
    };
    Ok(Choice { file: file.clone(), why: "as you named it".into(), is_too_large: false })
}

fn nothing_runs(candidates: &[Candidate]) -> Nothing {
    let why = if candidates.is_empty() {
        "its models are split into several files, of which some are missing"
    } else {
        "it has no GGUF file of a quantisation that can be chosen by itself"
    };
    (why.into(), kinds(candidates))
}

/// What can be named after the colon.
fn kinds(candidates: &[Candidate]) -> Vec<String> {
    let mut kinds: Vec<String> = candidates
        .iter()
        .map(|c| c.quantisation.clone().unwrap_or_else(|| c.path.clone()))
        .collect();
    kinds.sort();
    kinds.dedup();
    kinds.truncate(40);
    kinds
}

/// The files of a safetensors model.
fn safetensors<'a>(
    files: &[&'a Sibling],
    which: Option<&str>,
) -> Result<Vec<&'a Sibling>, Nothing> {
    if let Some(which) = which {
        return Err((format!("it has no GGUF file, so none of `{which}`"), Vec::new()));
    }
    let has = |name: &str| files.iter().any(|s| s.rfilename == name);
    // Mistral publishes the same weights a second time, in a file that no configuration belongs to.
    let is_weights = |path: &str| {
        if has("model.safetensors") {
            path == "model.safetensors"
        } else if has("model.safetensors.index.json") {
            path.starts_with("model-")
        } else {
            true
        }
    };
    let chosen: Vec<&Sibling> = files
        .iter()
        .copied()
        .filter(|s| belongs_to_a_model(&s.rfilename))
        .filter(|s| !s.rfilename.ends_with(".safetensors") || is_weights(&s.rfilename))
        .collect();
    let missing = if !chosen.iter().any(|s| s.rfilename.ends_with(".safetensors")) {
        "neither a GGUF file nor safetensors (pickles are not read: `docs/adding-a-model.md`)"
    } else if !has("config.json") {
        "no config.json"
    } else if !has("tokenizer.json") {
        "no tokenizer.json"
    } else {
        return Ok(chosen);
    };
    Err((format!("it has {missing}"), Vec::new()))
}

/// As the repository's card says.
fn licence_of(info: &Info) -> Option<String> {
    let card = info.card.as_ref();
    let named = card.and_then(|card| card.license_name.clone());
    let of_card = card.and_then(|card| match &card.license {
        Value::String(text) => Some(text.clone()),
        Value::Array(list) => list.first()?.as_str().map(str::to_owned),
        _ => None,
    });
    let of_tags = info.tags.iter().find_map(|tag| Some(tag.strip_prefix("license:")?.to_owned()));
    let licence = match of_card.or(of_tags)? {
        other if other == "other" => named.unwrap_or(other),
        licence => licence,
    };
    Some(licence.chars().filter(|c| !c.is_control()).take(60).collect())
}

#[cfg(test)]
mod tests;
