//! What a wheel or zip contains, determined before anything is unpacked.
//!
//! Refused: paths that leave the folder, links, encrypted entries, more entries or bytes than a
//! model has, and entries that claim to shrink more than weights ever do.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use super::error::{RegistryError, io_error};
use super::import::belongs_to_a_model;

const ENTRIES_MAX: usize = 20_000;
/// Weights barely compress; tokenizers do, by a factor of five or so.
const RATIO_MAX: u64 = 200;

/// The model in an archive.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Contents {
    Gguf {
        index: usize,
    },
    /// Entries with their paths relative to the model's folder.
    Folder {
        entries: Vec<(usize, PathBuf)>,
    },
}

pub(super) type Archive = ZipArchive<BufReader<File>>;

pub(super) fn error(path: &Path, reason: &str) -> RegistryError {
    RegistryError::Archive { path: path.display().to_string(), reason: reason.to_owned() }
}

pub(super) fn open(path: &Path, bytes_max: u64) -> Result<(Archive, Contents), RegistryError> {
    let file = File::open(path).map_err(|e| io_error("read", path, e))?;
    let mut archive =
        ZipArchive::new(BufReader::new(file)).map_err(|e| error(path, &e.to_string()))?;
    if archive.len() > ENTRIES_MAX {
        return Err(error(path, &format!("it has {} entries", archive.len())));
    }
    let mut ggufs = Vec::new();
    // Those with weights.
    let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
    let mut names = Vec::new();
    let mut total: u64 = 0;
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(|e| error(path, &e.to_string()))?;
        if !entry.is_file() {
            continue;
        }
        // A path that leads outside is an attack: nothing in the archive is trusted.
        let Some(name) = entry.enclosed_name() else {
            return Err(error(path, "it has an entry whose path leaves the folder"));
        };
        total = total.saturating_add(entry.size());
        if total > bytes_max {
            return Err(error(path, &format!("it unpacks to more than {bytes_max} bytes")));
        }
        let suspicious =
            entry.size() > 1 << 20 && entry.size() / entry.compressed_size().max(1) > RATIO_MAX;
        if suspicious {
            return Err(error(path, &format!("{} unpacks to too much", name.display())));
        }
        if entry.encrypted() {
            return Err(error(path, "it is encrypted"));
        }
        match name.extension().and_then(|e| e.to_str()) {
            Some("gguf") => ggufs.push(index),
            Some("safetensors") => folders.extend(name.parent().map(Path::to_path_buf)),
            _ => {}
        }
        names.push((index, name));
    }
    folders.retain(|folder| names.iter().any(|(_, name)| *name == folder.join("config.json")));
    let folders: Vec<PathBuf> = folders.into_iter().collect();
    let not_a_model = |reason: &str| RegistryError::NotAModel {
        path: path.display().to_string(),
        reason: reason.into(),
    };
    let contents = match (ggufs.as_slice(), folders.as_slice()) {
        ([index], []) => Contents::Gguf { index: *index },
        ([], [folder]) => Contents::Folder {
            entries: names
                .iter()
                .filter_map(|(index, name)| {
                    let inside = name.strip_prefix(folder).ok()?;
                    belongs_to_a_model(inside.to_str()?).then(|| (*index, inside.to_path_buf()))
                })
                .collect(),
        },
        ([], []) => {
            return Err(not_a_model(
                "the archive holds neither a GGUF file nor a folder with config.json and \
                 safetensors",
            ));
        }
        _ => return Err(not_a_model("the archive holds more than one model")),
    };
    Ok((archive, contents))
}

pub(super) fn total_bytes(
    archive: &mut Archive,
    path: &Path,
    wanted: &[(usize, PathBuf)],
) -> Result<u64, RegistryError> {
    wanted.iter().try_fold(0, |sum: u64, (index, _)| {
        let entry = archive.by_index_raw(*index).map_err(|e| error(path, &e.to_string()))?;
        Ok(sum + entry.size())
    })
}
