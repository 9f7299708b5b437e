//! `model scan`: GGUF files that other programs have put on this machine.
//!
//! What is found here may be wrong, hostile or huge. A folder that can't be read is a remark, not a failure. Links are
//! followed, since people keep models on other disks, but no folder is entered twice, none too deeply, and only so many
//! entries are looked at. Only regular files that begin as a GGUF file does are models; nothing else of a file is read here.

mod places;

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::interfaces::{Part, parts_of};

pub use places::{Layout, Place, System, places};

/// A model's file, as another program keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    pub program: &'static str,
    /// As the other program calls it, made into a name of ours. Unique among those found.
    pub name: String,
    pub path: PathBuf,
    pub bytes: u64,
    /// If the other program names the file by its hash. Nothing was checked.
    pub sha256: Option<String>,
}

/// All that was found, and what could not be looked at.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    pub files: Vec<FoundFile>,
    pub remarks: Vec<String>,
}

/// A folder of models has hundreds of entries; a home directory that someone pointed a setting to has millions.
const ENTRIES_MAX: usize = 20_000;
/// `models--OWNER--NAME/snapshots/COMMIT/FOLDER/FILE` is four deep.
const DEPTH_MAX: usize = 8;
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// What a file or folder is, whatever it is called.
#[cfg(unix)]
pub(super) type Identity = (u64, u64);
#[cfg(not(unix))]
pub(super) type Identity = PathBuf;

#[cfg(unix)]
pub(super) fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    path.metadata().ok().map(|m| (m.dev(), m.ino()))
}

#[cfg(not(unix))]
pub(super) fn identity(path: &Path) -> Option<Identity> {
    path.canonicalize().ok()
}

/// Opens a file without waiting for whoever writes a pipe, and says what it opened.
fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    Ok((file, metadata))
}

/// The text of a small file; none if it can't be read.
fn read_small(path: &Path) -> Option<String> {
    let (file, metadata) = open(path).ok()?;
    let mut text = String::new();
    (metadata.len() <= TEXT_BYTES_MAX).then_some(())?;
    file.take(TEXT_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The models in all places, by names that are not `taken`.
pub fn scan(places: &[Place], taken: impl Iterator<Item = String>) -> Findings {
    let mut scan = Scan::default();
    for place in places {
        scan.program = place.program;
        scan.entries_left = ENTRIES_MAX;
        match place.layout {
            Layout::Ollama => scan.ollama(&place.dir),
            Layout::Tree => scan.walk(&place.dir, 0, &mut |scan, path| scan.in_tree(path)),
            Layout::HubCache => scan.hub_cache(&place.dir),
        }
        if scan.entries_left == 0 {
            let shown = place.dir.display();
            scan.remark(format!(
                "{shown} has more than {ENTRIES_MAX} entries: not all were looked at"
            ));
        }
    }
    scan.findings.files.sort_by(|a, b| (a.program, &a.path).cmp(&(b.program, &b.path)));
    name_apart(&mut scan.findings.files, taken.map(|name| name.to_lowercase()).collect());
    scan.findings
}

/// Gives each its own name: `llama3`, `llama3-2`, ….
fn name_apart(files: &mut [FoundFile], mut taken: BTreeSet<String>) {
    for file in files {
        let base = file.name.clone();
        let mut n = 1;
        while !taken.insert(file.name.clone()) {
            n += 1;
            file.name = format!("{base}-{n}");
        }
    }
}

#[derive(Default)]
struct Scan {
    program: &'static str,
    findings: Findings,
    entries_left: usize,
    folders_seen: HashSet<Identity>,
    files_seen: HashSet<Identity>,
}

type Visit<'a> = &'a mut dyn FnMut(&mut Scan, &Path);

impl Scan {
    fn remark(&mut self, text: String) {
        const REMARKS_MAX: usize = 20;
        if self.findings.remarks.len() < REMARKS_MAX {
            self.findings.remarks.push(text);
        }
    }

    /// Calls `visit` with every file below `dir`, in the order of their names.
    fn walk(&mut self, dir: &Path, depth: usize, visit: Visit<'_>) {
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return,
            Err(e) => return self.remark(format!("{} can't be looked into: {e}", dir.display())),
        };
        let is_new = identity(dir).is_some_and(|folder| self.folders_seen.insert(folder));
        if !is_new || depth > DEPTH_MAX {
            return;
        }
        let mut paths = Vec::new();
        for entry in entries {
            if self.entries_left == 0 {
                break;
            }
            self.entries_left -= 1;
            match entry {
                Ok(entry) => paths.push(entry.path()),
                Err(e) => self.remark(format!("{} can't be looked into: {e}", dir.display())),
            }
        }
        paths.sort();
        for path in paths {
            match path.metadata() {
                Ok(m) if m.is_dir() => self.walk(&path, depth + 1, visit),
                Ok(m) if m.is_file() => visit(self, &path),
                // A link that leads nowhere, a pipe, a socket.
                _ => {}
            }
        }
    }

    /// Takes the file, if it is a GGUF file and was not found under another name.
    fn take(&mut self, path: &Path, name: &str, sha256: Option<String>) {
        let mut magic = [0; 4];
        let opened = open(path).and_then(|(mut file, metadata)| {
            file.read_exact(&mut magic)?;
            Ok(metadata)
        });
        let metadata = match opened {
            Ok(metadata) => metadata,
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                return self.remark(format!("{} can't be read: {e}", path.display()));
            }
            Err(_) => return,
        };
        let is_new = identity(path).is_some_and(|file| self.files_seen.insert(file));
        if magic == *b"GGUF" && is_new {
            self.findings.files.push(FoundFile {
                program: self.program,
                name: super::import::plain_name(name).unwrap_or_else(|| "model".into()),
                path: path.to_path_buf(),
                bytes: parts_of(path).iter().skip(1).fold(metadata.len(), |sum, part| {
                    sum.saturating_add(part.metadata().map_or(0, |m| m.len()))
                }),
                sha256,
            });
        }
    }

    fn in_tree(&mut self, path: &Path) {
        if !path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gguf")) {
            return;
        }
        // What comes with a model to see or to quantise it is none.
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let part = Part::of(&file);
        if part.as_ref().is_some_and(|part| part.number > 1) {
            return;
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let stem = part.map_or(stem, |part| part.stem.into());
        let lower = stem.to_lowercase();
        if lower.starts_with("mmproj") || lower.contains("imatrix") {
            return;
        }
        // Jan calls every file `model.gguf`, in a folder that has the name.
        let folder = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy());
        let name = if lower == "model" { folder.unwrap_or(stem) } else { stem };
        self.take(path, &name, None);
    }

    fn hub_cache(&mut self, cache: &Path) {
        let repos = match fs::read_dir(cache) {
            Ok(repos) => repos,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return,
            Err(e) => return self.remark(format!("{} can't be looked into: {e}", cache.display())),
        };
        let mut repos: Vec<PathBuf> = repos.take(ENTRIES_MAX).flatten().map(|e| e.path()).collect();
        repos
            .retain(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("models--")));
        repos.sort();
        for repo in repos {
            self.walk(&repo.join("snapshots"), 0, &mut |scan, path| {
                let before = scan.findings.files.len();
                scan.in_tree(path);
                // Its content is named by its hash.
                if let Some(file) = scan.findings.files.get_mut(before) {
                    file.sha256 = super::hub_cache::sha256_of_blob(path);
                }
            });
        }
    }

    /// `manifests/HOST/NAMESPACE/NAME/TAG` names a blob.
    fn ollama(&mut self, dir: &Path) {
        let manifests = dir.join("manifests");
        self.walk(&manifests, 0, &mut |scan, path| {
            let Ok(name) = path.strip_prefix(&manifests) else { return };
            let Some(hash) = read_small(path).and_then(|text| model_of_manifest(&text)) else {
                return;
            };
            scan.take(
                &dir.join("blobs").join(format!("sha256-{hash}")),
                &ollama_name(name),
                Some(hash),
            );
        });
    }
}

/// `registry.ollama.ai/library/llama3.2/3b` → `llama3.2-3b`; what is not from there keeps its owner.
fn ollama_name(manifest: &Path) -> String {
    let parts: Vec<_> = manifest.iter().map(|part| part.to_string_lossy()).collect();
    let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    let parts = match parts.as_slice() {
        ["registry.ollama.ai", "library", rest @ ..]
        | ["registry.ollama.ai" | "hf.co", rest @ ..] => rest,
        all => all,
    };
    match parts {
        [name @ .., "latest"] => name.join("-"),
        all => all.join("-"),
    }
}

/// The hash of the one blob that is a model's weights. It becomes a part of a path, so it is nothing but a hash.
fn model_of_manifest(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Manifest {
        layers: Vec<Layer>,
    }
    #[derive(Deserialize)]
    struct Layer {
        #[serde(rename = "mediaType", default)]
        media_type: String,
        #[serde(default)]
        digest: String,
    }
    let manifest: Manifest = serde_json::from_str(text).ok()?;
    let is_model = |layer: &&Layer| layer.media_type == "application/vnd.ollama.image.model";
    let mut layers = manifest.layers.iter().filter(is_model);
    let (layer, None) = (layers.next()?, layers.next()) else { return None };
    let hash = layer.digest.strip_prefix("sha256:")?;
    let is_hash = hash.len() == 64 && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    is_hash.then(|| hash.to_owned())
}

#[cfg(test)]
mod tests;
