//! A folder that something else carries: Syncthing, a cloud drive, a stick.
//!
//! `inglenook-sync.json` names the sync, `DEVICE/000000000001.piece` are the pieces. A file appears whole, by renaming; what
//! carries the folder may show it in part or late, and put files of its own there: whatever has another name is left alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::seal::PIECE_BYTES_MAX;
use super::{Carrier, CarrierError, DeviceId};

const HEADER: &str = "inglenook-sync.json";
const SUFFIX: &str = ".piece";
/// Of a file that is being written.
const PART: &str = ".part";
const N_DIGITS: usize = 12;

/// A folder, by its absolute path.
pub struct Folder(PathBuf);

impl Folder {
    /// # Errors
    /// If the path can't be made absolute.
    pub fn new(path: &Path) -> Result<Self, CarrierError> {
        let absolute = std::path::absolute(path).map_err(|e| {
            CarrierError::of(format!("cannot find the folder {}", path.display()), e)
        })?;
        Ok(Self(absolute))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    fn device(&self, device: DeviceId) -> PathBuf {
        self.0.join(device.to_string())
    }

    fn piece(&self, device: DeviceId, piece: u64) -> PathBuf {
        self.device(device).join(format!("{piece:0N_DIGITS$}{SUFFIX}"))
    }

    /// Nothing is looked for or written in a folder without the header: a stick may be pulled out, and what is left of its
    /// mount point is another folder.
    fn check_presence(&self) -> Result<(), CarrierError> {
        match fs::symlink_metadata(self.0.join(HEADER)) {
            Ok(found) if found.is_file() => Ok(()),
            Err(e) if e.kind() != ErrorKind::NotFound => Err(failed("read", &self.0, e)),
            _ => Err(CarrierError::new(format!(
                "the folder {} is not there, or not whole",
                self.0.display()
            ))
            .hint("plug the stick in or let the folder arrive: nothing is lost meanwhile")),
        }
    }
}

fn failed(action: &str, path: &Path, source: io::Error) -> CarrierError {
    CarrierError::of(format!("cannot {action} {}", path.display()), source)
}

/// The names of what is directly in a folder and, by its own entry, a folder or a file. None if there is no such folder.
fn names(dir: &Path, folders: bool) -> Result<Vec<String>, CarrierError> {
    let unreadable = |e| failed("read", dir, e);
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(unreadable(e)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(unreadable)?;
        // It may have gone since. What a link leads to is none of ours.
        let Ok(kind) = entry.file_type() else { continue };
        let is_wanted = if folders { kind.is_dir() } else { kind.is_file() };
        if is_wanted && let Ok(name) = entry.file_name().into_string() {
            names.push(name);
        }
    }
    Ok(names)
}

/// `None` if there is none, or something that is no file.
fn read(path: &Path) -> Result<Option<Vec<u8>>, CarrierError> {
    let unreadable = |e| failed("read", path, e);
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        libc::O_NOFOLLOW | libc::O_NONBLOCK,
    );
    let file = match options.open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(unreadable(e)),
    };
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    // One more than a piece can have: then it is none.
    file.take(PIECE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(Some(bytes))
}

/// Writes a new file that outlives a loss of power.
fn write(path: &Path, bytes: &[u8]) -> Result<(), CarrierError> {
    let part = path.with_extension(PART.trim_start_matches('.'));
    let unwritable = |e| failed("write", path, e);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // Of one that was killed.
    remove(&part)?;
    let mut file = options.open(&part).map_err(unwritable)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let is_new = written.and_then(|()| match fs::symlink_metadata(path) {
        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(&part, path),
    });
    is_new.map_err(|e| {
        let _ = fs::remove_file(&part);
        unwritable(e)
    })?;
    sync(path.parent().unwrap_or(path))
}

fn remove(path: &Path) -> Result<(), CarrierError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(failed("remove", path, e)),
        _ => Ok(()),
    }
}

/// What was renamed or removed in a folder outlives a loss of power, where its file system knows how.
fn sync(dir: &Path) -> Result<(), CarrierError> {
    use ErrorKind::{InvalidInput, NotFound, Unsupported};
    match File::open(dir).and_then(|dir| dir.sync_all()) {
        Err(e) if ![InvalidInput, NotFound, Unsupported].contains(&e.kind()) => {
            Err(failed("write", dir, e))
        }
        _ => Ok(()),
    }
}

fn make(dir: &Path, with_parents: bool) -> Result<(), CarrierError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(with_parents);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(dir) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(failed("make", dir, e)),
        _ => Ok(()),
    }
}

impl Carrier for Folder {
    fn header(&mut self) -> Result<Option<Vec<u8>>, CarrierError> {
        read(&self.0.join(HEADER))
    }

    fn begin(&mut self, header: &[u8]) -> Result<(), CarrierError> {
        make(&self.0, true)?;
        write(&self.0.join(HEADER), header)
    }

    fn devices(&mut self) -> Result<Vec<DeviceId>, CarrierError> {
        self.check_presence()?;
        let mut devices: Vec<DeviceId> = names(&self.0, true)?
            .iter()
            .filter_map(|name| name.parse::<DeviceId>().ok().filter(|id| id.to_string() == *name))
            .collect();
        devices.sort_unstable();
        Ok(devices)
    }

    fn pieces(&mut self, device: DeviceId) -> Result<Vec<u64>, CarrierError> {
        self.check_presence()?;
        let dir = self.device(device);
        if fs::symlink_metadata(&dir).is_ok_and(|found| !found.is_dir()) {
            return Ok(Vec::new());
        }
        let mut pieces: Vec<u64> = names(&dir, false)?
            .iter()
            .filter_map(|name| {
                let digits = name.strip_suffix(SUFFIX)?;
                let is_number =
                    digits.len() == N_DIGITS && digits.bytes().all(|b| b.is_ascii_digit());
                digits.parse().ok().filter(|_| is_number)
            })
            .collect();
        pieces.sort_unstable();
        Ok(pieces)
    }

    fn read(&mut self, device: DeviceId, piece: u64) -> Result<Option<Vec<u8>>, CarrierError> {
        let read = read(&self.piece(device, piece))?;
        if read.is_none() {
            self.check_presence()?;
        }
        Ok(read)
    }

    fn write(&mut self, device: DeviceId, piece: u64, bytes: &[u8]) -> Result<(), CarrierError> {
        self.check_presence()?;
        let dir = self.device(device);
        make(&dir, false)?;
        if fs::symlink_metadata(&dir).is_ok_and(|found| !found.is_dir()) {
            return Err(CarrierError::new(format!("{} is no folder", dir.display())));
        }
        sync(&self.0)?;
        for name in names(&dir, false)? {
            if name.ends_with(PART) && name.len() == N_DIGITS + PART.len() {
                remove(&dir.join(name))?;
            }
        }
        write(&self.piece(device, piece), bytes)
    }

    fn remove(&mut self, device: DeviceId, piece: u64) -> Result<(), CarrierError> {
        self.check_presence()?;
        remove(&self.piece(device, piece))?;
        let dir = self.device(device);
        // Where it was the last.
        if fs::remove_dir(&dir).is_ok() { sync(&self.0) } else { sync(&dir) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: DeviceId = DeviceId([7; 8]);

    fn folder() -> (tempfile::TempDir, Folder) {
        let dir = tempfile::tempdir().unwrap();
        let mut folder = Folder::new(&dir.path().join("sync")).unwrap();
        folder.begin(b"header").unwrap();
        (dir, folder)
    }

    #[test]
    fn pieces_are_written_once_read_and_removed() {
        let (_dir, mut folder) = folder();
        assert_eq!(folder.header().unwrap().unwrap(), b"header");
        assert!(folder.begin(b"another").is_err());
        assert_eq!(folder.devices().unwrap(), []);
        assert_eq!(folder.pieces(DEVICE).unwrap(), [0_u64; 0]);
        for piece in [2, 1, 10] {
            folder.write(DEVICE, piece, &[piece as u8]).unwrap();
        }
        assert!(folder.write(DEVICE, 2, b"another").is_err());
        assert_eq!(folder.devices().unwrap(), [DEVICE]);
        assert_eq!(folder.pieces(DEVICE).unwrap(), [1, 2, 10]);
        assert_eq!(folder.read(DEVICE, 2).unwrap().unwrap(), [2]);
        assert_eq!(folder.read(DEVICE, 3).unwrap(), None);
        for piece in [1, 2, 10, 11] {
            folder.remove(DEVICE, piece).unwrap();
        }
        assert_eq!(folder.devices().unwrap(), []);
        assert_eq!(names(&folder.0, false).unwrap(), [HEADER]);
    }

    #[test]
    fn what_others_put_there_is_left_alone() {
        let (_dir, mut folder) = folder();
        folder.write(DEVICE, 1, b"one").unwrap();
        let dir = folder.device(DEVICE);
        let foreign = [
            "000000000001.sync-conflict-20261127-101010-ABCDEFG.piece",
            ".syncthing.000000000002.piece.tmp",
            "2.piece",
            "+00000000002.piece",
            "000000000003.piece.gpg",
            "Thumbs.db",
        ];
        for name in foreign {
            fs::write(dir.join(name), "x").unwrap();
        }
        fs::create_dir(dir.join("000000000004.piece")).unwrap();
        fs::create_dir(folder.0.join("0707070707070707.sync-conflict")).unwrap();
        fs::write(folder.0.join("0808080808080808"), "a file").unwrap();
        // What a killed one left, and what only looks so.
        fs::write(dir.join("000000000009.part"), "x").unwrap();
        fs::write(dir.join("mine.part"), "x").unwrap();
        #[cfg(unix)]
        {
            let link = |to: &Path, at: PathBuf| std::os::unix::fs::symlink(to, at).unwrap();
            link(&folder.piece(DEVICE, 1), folder.piece(DEVICE, 5));
            link(&dir, folder.0.join("0909090909090909"));
            assert!(read(&folder.piece(DEVICE, 5)).is_err());
            assert!(folder.write(DeviceId([9; 8]), 7, b"seven").is_err());
        }
        assert_eq!(folder.devices().unwrap(), [DEVICE]);
        assert_eq!(folder.pieces(DEVICE).unwrap(), [1]);
        assert_eq!(folder.pieces(DeviceId([9; 8])).unwrap(), [0_u64; 0]);
        folder.write(DEVICE, 6, b"six").unwrap();
        let left = names(&dir, false).unwrap();
        assert!(!left.iter().any(|name| name == "000000000009.part"), "{left:?}");
        assert!(foreign.iter().chain(&["mine.part"]).all(|name| left.iter().any(|l| l == name)));
    }

    #[test]
    fn a_folder_that_is_gone_is_neither_read_as_empty_nor_made_anew() {
        let (dir, mut folder) = folder();
        folder.write(DEVICE, 1, b"one").unwrap();
        let elsewhere = dir.path().join("pulled out");
        fs::rename(&folder.0, &elsewhere).unwrap();
        for mount_point_stays in [false, true] {
            if mount_point_stays {
                fs::create_dir(&folder.0).unwrap();
            }
            assert!(folder.devices().is_err());
            assert!(folder.pieces(DEVICE).is_err());
            assert!(folder.read(DEVICE, 1).is_err());
            assert!(folder.write(DEVICE, 2, b"two").is_err());
            assert!(folder.remove(DEVICE, 1).is_err());
        }
        assert_eq!(names(&folder.0, true).unwrap().len(), 0);
        fs::remove_dir(&folder.0).unwrap();
        fs::rename(&elsewhere, &folder.0).unwrap();
        assert_eq!(folder.pieces(DEVICE).unwrap(), [1]);
    }
}
