//! What a wheel or zip contains, determined before anything is unpacked.
//!
//! Links are skipped. Refused are paths that leave the folder, encrypted entries, more entries or bytes
//! than a model has, and compression ratios that weights never have.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use super::error::{RegistryError, io_error, not_a_model};
use super::import::belongs_to_a_model;

const ENTRIES_MAX: usize = 20_000;
/// Weights barely compress; tokenizers do, by a factor of five or so.
const RATIO_MAX: u64 = 200;

/// A file in an archive.
pub(super) struct Entry {
    pub index: usize,
    pub path: PathBuf,
    /// Unpacked, as the archive declares it.
    pub bytes: u64,
}

/// The model in an archive.
pub(super) enum Contents {
    Gguf(Entry),
    /// With paths relative to the model's folder.
    Folder(Vec<Entry>),
}

pub(super) type Archive = ZipArchive<BufReader<File>>;

pub(super) fn error(path: &Path, reason: &str) -> RegistryError {
    RegistryError::Archive { path: path.display().to_string(), reason: reason.to_owned() }
}

/// Opens the archive and finds the model in it.
pub(super) fn open(path: &Path, bytes_max: u64) -> Result<(Archive, Contents), RegistryError> {
    let file = File::open(path).map_err(|e| io_error("read", path, e))?;
    let mut archive =
        ZipArchive::new(BufReader::new(file)).map_err(|e| error(path, &e.to_string()))?;
    if archive.len() > ENTRIES_MAX {
        return Err(error(path, &format!("it has {} entries", archive.len())));
    }
    let entries = entries(&mut archive, path, bytes_max)?;
    let contents = find_model(entries).map_err(|reason| not_a_model(path, reason))?;
    Ok((archive, contents))
}

/// The files of the archive, if all of them can be trusted.
fn entries(
    archive: &mut Archive,
    path: &Path,
    bytes_max: u64,
) -> Result<Vec<Entry>, RegistryError> {
    let mut entries = Vec::new();
    let mut total: u64 = 0;
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(|e| error(path, &e.to_string()))?;
        if !entry.is_file() {
            continue;
        }
        let Some(name) = entry.enclosed_name() else {
            return Err(error(path, "it has an entry whose path leaves the folder"));
        };
        let bytes = entry.size();
        total = total.saturating_add(bytes);
        if total > bytes_max {
            return Err(error(path, &format!("it unpacks to more than {bytes_max} bytes")));
        }
        if bytes > 1 << 20 && bytes / entry.compressed_size().max(1) > RATIO_MAX {
            return Err(error(path, &format!("{} unpacks to too much", name.display())));
        }
        if entry.encrypted() {
            return Err(error(path, "it is encrypted"));
        }
        entries.push(Entry { index, path: name, bytes });
    }
    Ok(entries)
}

/// The one model among the files, or why there is none.
fn find_model(mut entries: Vec<Entry>) -> Result<Contents, &'static str> {
    let with_extension =
        |e: &'static str| entries.iter().filter(move |x| x.path.extension() == Some(e.as_ref()));
    let ggufs: Vec<usize> = with_extension("gguf").map(|entry| entry.index).collect();
    let mut folders: BTreeSet<PathBuf> =
        with_extension("safetensors").filter_map(|e| Some(e.path.parent()?.into())).collect();
    folders.retain(|folder| entries.iter().any(|e| e.path == folder.join("config.json")));
    match (ggufs.as_slice(), folders.pop_first(), folders.is_empty()) {
        ([index], None, _) => {
            entries.retain(|entry| entry.index == *index);
            entries.pop().map(Contents::Gguf).ok_or("the archive is empty")
        }
        ([], Some(folder), true) => {
            let inside = entries.into_iter().filter_map(|entry| {
                let path = entry.path.strip_prefix(&folder).ok()?.to_path_buf();
                belongs_to_a_model(path.to_str()?).then_some(Entry { path, ..entry })
            });
            Ok(Contents::Folder(inside.collect()))
        }
        ([], None, _) => Err(
            "the archive holds neither a GGUF file nor a folder with config.json and safetensors",
        ),
        _ => Err("the archive holds more than one model"),
    }
}
