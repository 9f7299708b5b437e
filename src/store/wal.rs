//! The write-ahead log: SQLite reads it up to the first frame whose checksum is wrong and says nothing of what lies behind.
//!
//! <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::Path;

use rusqlite::Connection;

use super::backup::is_encrypted_file;
use super::error::Result;
use super::open::{FILE_NAME, with_suffix};

/// Looks again at a log that seems damaged, so often …
const TRIES: usize = 5;
/// … after such pauses.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
const COPY: &str = "Copy memory.db and memory.db-wal to another place before anything is written";
const MAGIC: u32 = 0x377f_0682;

/// What is wrong with the log in a data directory, as a sentence. An encrypted memory's checksums are of the text: there
/// [`Store::log_damage`](super::Store::log_damage) tells.
///
/// To be called where this process has not opened the memory: closing a file drops SQLite's locks on it.
pub fn log_damage(data_dir: &Path) -> Option<String> {
    let database = data_dir.join(FILE_NAME);
    if is_encrypted_file(&database).unwrap_or(true) {
        return None;
    }
    lasting(|| Ok(damage(&database))).ok().flatten()
}

/// What `look` finds every time. A chat that writes meanwhile makes a sound log look damaged: it shows a transaction to readers
/// only when it is on the disk, and may begin the log anew.
fn lasting(look: impl Fn() -> Result<Option<String>>) -> Result<Option<String>> {
    let mut found = look()?;
    for _ in 0..TRIES {
        if found.is_none() {
            break;
        }
        std::thread::sleep(PAUSE);
        found = look()?;
    }
    Ok(found)
}

fn damage(database: &Path) -> Option<String> {
    let log = match File::open(with_suffix(database, "-wal")) {
        Err(e) if e.kind() == ErrorKind::NotFound => return None,
        log => log,
    };
    match log.and_then(|log| frames(BufReader::new(log))) {
        Ok(found) => lost(found.map(|found| found.all - found.intact)),
        Err(error) => Some(format!("the write-ahead log cannot be read: {error}")),
    }
}

fn lost(n: Option<u64>) -> Option<String> {
    let what = match n {
        Some(0) => return None,
        Some(n) => format!(
            ": {n} of its pages, the newest, cannot be read, and what they held may be lost"
        ),
        None => " at its beginning: none of it can be read".to_owned(),
    };
    Some(format!("the write-ahead log is damaged{what}. {COPY}"))
}

/// As [`log_damage`], by what SQLite has read: of damage done to the file since, it knows nothing.
pub(super) fn unread(conn: &Connection, database: &Path) -> Result<Option<String>> {
    let once = || -> Result<Option<String>> {
        let ended = match File::open(with_suffix(database, "-wal")) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            log => log.and_then(|log| frames(BufReader::new(log))),
        };
        // This opens the log.
        conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        let n_read = conn.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get::<_, i64>(1));
        let n_read = match n_read {
            // Where nothing can be written SQLite does not say.
            Err(e) if e.sqlite_error_code() == Some(rusqlite::ErrorCode::ReadOnly) => {
                return Ok(None);
            }
            n => n?,
        };
        let n_read = u64::try_from(n_read).unwrap_or(0);
        Ok(match ended {
            Ok(ended) => lost(ended.map(|found| found.all.saturating_sub(n_read))),
            Err(error) => Some(format!("the write-ahead log cannot be read: {error}")),
        })
    };
    lasting(once)
}

/// The messages behind `last` were there once.
pub(super) fn cut_off(last: i64, noted: i64) -> String {
    let what = if noted == last + 1 {
        format!("m{noted} is gone")
    } else {
        format!("m{} to m{noted} are gone", last + 1)
    };
    format!(
        "{what}: the end of the write-ahead log was cut off, or an older copy was put in the memory's place. \
         If you have nothing to put back, `inglenook memory repair` goes on with what is here"
    )
}

/// Frames of a log up to the last that ends a transaction.
#[derive(Default)]
struct Frames {
    all: u64,
    /// Those that SQLite reads: neither they nor others before them changed.
    intact: u64,
}

/// `None` if SQLite reads nothing at all.
fn frames(mut log: impl Read) -> io::Result<Option<Frames>> {
    let mut header = [0; HEADER];
    if !fill(&mut log, &mut header)? {
        return Ok(Some(Frames::default()));
    }
    let word = |bytes: &[u8], at: usize| {
        bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_be_bytes)
    };
    let page = word(&header, 8) as usize;
    // The lowest bit tells the order of bytes in the sums.
    let is_big = word(&header, 0) & 1 == 1;
    let mut sums = summed([0, 0], &header[..24], is_big);
    if word(&header, 0) & !1 != MAGIC
        || !(512..=65536).contains(&page)
        || sums != [word(&header, 24), word(&header, 28)]
    {
        return Ok(None);
    }
    let (mut is_intact, mut n, mut found) = (true, 0, Frames::default());
    let mut frame = vec![0; FRAME_HEADER + page];
    while fill(&mut log, &mut frame)? {
        n += 1;
        sums = summed(summed(sums, &frame[..8], is_big), &frame[FRAME_HEADER..], is_big);
        // Frames of an earlier round, with another salt, may stay behind the newer ones.
        let is_of_this_round = frame[8..16] == header[16..24];
        is_intact &= is_of_this_round && sums == [word(&frame, 16), word(&frame, 20)];
        // The last frame of a transaction holds the size of the database.
        if is_of_this_round && word(&frame, 4) != 0 {
            found.all = n;
            if is_intact {
                found.intact = n;
            }
        }
    }
    Ok(Some(found))
}

/// False at the end of the file.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(e),
    }
}

fn summed([mut a, mut b]: [u32; 2], bytes: &[u8], is_big: bool) -> [u32; 2] {
    for pair in bytes.chunks_exact(8) {
        let (x, y) = pair.split_at(4);
        let word = |bytes: &[u8]| {
            let bytes = bytes.try_into().unwrap_or_default();
            if is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        a = a.wrapping_add(word(x)).wrapping_add(b);
        b = b.wrapping_add(word(y)).wrapping_add(a);
    }
    [a, b]
}
