//! The log as pieces: entries, one a line of JSON, after a line that says who wrote them and when.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::seal::{Code, PIECE_BYTES_MAX, Seal, SealError, SyncId};
use super::{Carrier, CarrierError, DeviceId, Entry, Uid};

/// A piece of this length is written before it gets longer: it is read, and joined in one transaction, as a whole.
pub const PIECE_BYTES: usize = 256 << 10;
/// What the header says that it is.
const CHECK: &[u8] = b"inglenook sync";

/// Why the log can't be used.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error(transparent)]
    Carrier(#[from] CarrierError),
    #[error("what is there was not made by `inglenook sync init`")]
    NotASync,
    #[error("a newer inglenook began this sync")]
    Newer,
    #[error("that is not the code of this sync")]
    WrongCode,
    #[error("another sync has taken the place of this memory's")]
    AnotherSync,
    #[error("{uid} is too long to be shared")]
    TooLong { uid: Uid },
    #[error("cannot seal what is to be shared")]
    Seal(#[from] SealError),
    #[error("cannot write down what is to be shared")]
    Json(#[from] serde_json::Error),
}

/// What stands beside the pieces, readable by all, so that a wrong code is found at once.
#[derive(Serialize, Deserialize)]
struct Header {
    inglenook_sync: u8,
    id: SyncId,
    check: String,
}

/// Who wrote a piece, and when by its clock: for people to see, nothing depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    pub name: String,
    /// Milliseconds since the Unix epoch.
    pub at: i64,
}

/// What was found under a piece's name.
#[derive(Debug, PartialEq)]
pub enum Piece {
    Whole {
        author: Author,
        entries: Vec<Entry>,
        bytes: usize,
    },
    /// It, or the rest of it, may still come.
    NotWhole,
    Damaged(String),
    Gone,
}

/// What a carrier holds.
pub enum Found {
    Sync(Log, SyncId),
    None(Box<dyn Carrier>),
}

/// The log of one sync, on its carrier.
pub struct Log {
    pub carrier: Box<dyn Carrier>,
    seal: Seal,
}

impl Log {
    /// Begins a sync.
    ///
    /// # Errors
    /// If there is one, or the carrier can't be written.
    pub fn begin(
        mut carrier: Box<dyn Carrier>,
        code: &Code,
        id: &SyncId,
    ) -> Result<Self, LogError> {
        let seal = Seal::new(code, id);
        let check = BASE64.encode(seal.seal(None, CHECK.to_vec())?);
        let mut text = serde_json::to_vec(&Header { inglenook_sync: 1, id: id.clone(), check })?;
        text.push(b'\n');
        carrier.begin(&text)?;
        Ok(Self { carrier, seal })
    }

    /// Opens the sync that is there; gives the carrier back if none is.
    ///
    /// # Errors
    /// [`LogError::WrongCode`], [`LogError::NotASync`], [`LogError::Newer`], or if the carrier can't be read.
    pub fn join(mut carrier: Box<dyn Carrier>, code: &Code) -> Result<Found, LogError> {
        let Some(text) = carrier.header()? else { return Ok(Found::None(carrier)) };
        let version: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(&text).map_err(|_| LogError::NotASync)?;
        match version.get("inglenook_sync").and_then(serde_json::Value::as_u64) {
            Some(1) => {}
            Some(_) => return Err(LogError::Newer),
            None => return Err(LogError::NotASync),
        }
        let header: Header = serde_json::from_slice(&text).map_err(|_| LogError::NotASync)?;
        let check = BASE64.decode(&header.check).map_err(|_| LogError::NotASync)?;
        let seal = Seal::new(code, &header.id);
        match seal.open(None, &check) {
            Ok(opened) if opened.trim_ascii_end() == CHECK => {}
            _ => return Err(LogError::WrongCode),
        }
        Ok(Found::Sync(Self { carrier, seal }, header.id))
    }

    /// # Errors
    /// If the carrier can't be read.
    pub fn read(&mut self, device: DeviceId, piece: u64) -> Result<Piece, LogError> {
        let Some(bytes) = self.carrier.read(device, piece)? else { return Ok(Piece::Gone) };
        Ok(match self.seal.open(Some((device, piece)), &bytes) {
            Ok(text) => parsed(&text).unwrap_or_else(|| {
                Piece::Damaged(
                    "it can't be understood: a newer inglenook may have written it".into(),
                )
            }),
            Err(SealError::NotWhole) => Piece::NotWhole,
            Err(why) => Piece::Damaged(why.to_string()),
        })
    }

    /// Writes a piece, and returns its length.
    ///
    /// # Errors
    /// If the carrier can't be written, or has such a piece.
    pub fn write(
        &mut self,
        device: DeviceId,
        piece: u64,
        author: &Author,
        packed: Packed,
    ) -> Result<u64, LogError> {
        let mut text = serde_json::to_vec(author)?;
        text.push(b'\n');
        text.extend(packed.lines);
        let sealed = self.seal.seal(Some((device, piece)), text)?;
        self.carrier.write(device, piece, &sealed)?;
        Ok(sealed.len() as u64)
    }
}

/// `None` if it is no piece's text.
fn parsed(text: &[u8]) -> Option<Piece> {
    let mut lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let author = serde_json::from_slice(lines.next()?).ok()?;
    let entries: Result<_, _> = lines.map(serde_json::from_slice).collect();
    Some(Piece::Whole { author, entries: entries.ok()?, bytes: text.len() })
}

/// Entries of which a piece is made.
#[derive(Debug, Default)]
pub struct Packed {
    lines: Vec<u8>,
}

impl Packed {
    /// Adds an entry. If it has no place beside the others, they are returned, and the entry is alone.
    ///
    /// # Errors
    /// If it is longer than a piece may be.
    pub fn add(&mut self, entry: &Entry) -> Result<Option<Self>, LogError> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        // An author's line is short.
        if line.len() > PIECE_BYTES_MAX - (1 << 16) {
            return Err(LogError::TooLong { uid: entry.uid });
        }
        let is_full = !self.is_empty() && self.lines.len() + line.len() > PIECE_BYTES;
        let full = is_full.then(|| std::mem::take(self));
        self.lines.extend(line);
        Ok(full)
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
