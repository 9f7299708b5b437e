//! What a device remembers of its sync: where it is, its secret, and which pieces it has seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::seal::{Code, SyncId};
use super::{Carrier, CarrierError, DeviceId, Folder};

/// What carries the pieces, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// A folder, by its absolute path.
    Folder(String),
    /// A database, by its URL.
    Postgres(String),
}

impl Place {
    /// From what a person types.
    ///
    /// # Errors
    /// If it can't be the name of a place.
    pub fn named(text: &str) -> Result<Self, CarrierError> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        if text.contains("://") {
            return Err(CarrierError::new(format!("{text} is neither a folder nor a PostgreSQL database"))
                .hint("`inglenook sync init FOLDER`, or `inglenook sync init postgres://USER@HOST/DATABASE`"));
        }
        let folder = Folder::new(Path::new(text))?;
        let path = folder.path().to_str().map(ToOwned::to_owned);
        path.map(Self::Folder).ok_or_else(|| CarrierError::new("the folder's name is no UTF-8"))
    }

    /// # Errors
    /// If it can't be reached.
    pub fn open(&self) -> Result<Box<dyn Carrier>, CarrierError> {
        match self {
            Self::Folder(path) => Ok(Box::new(Folder::new(Path::new(path))?)),
            #[cfg(feature = "postgres")]
            Self::Postgres(url) => Ok(Box::new(super::Postgres::connect(url)?)),
            #[cfg(not(feature = "postgres"))]
            Self::Postgres(_) => {
                Err(CarrierError::new("this inglenook was built without PostgreSQL")
                    .hint("build it with the feature `postgres`, or use a folder"))
            }
        }
    }
}

/// Without a password.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => f.write_str(path),
            Self::Postgres(url) => {
                let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
                // Parameters may hold one, too.
                let rest = rest.split('?').next().unwrap_or_default();
                let (user, place) = match rest.rsplit_once('@') {
                    Some((login, place)) => (login.split(':').next().unwrap_or_default(), place),
                    None => ("", rest),
                };
                let at = if user.is_empty() { "" } else { "@" };
                write!(f, "{scheme}://{user}{at}{place}")
            }
        }
    }
}

/// Kept in the memory, encrypted where that is; changed by whoever holds the lock of the exchange.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SyncState {
    pub place: Place,
    pub code: Code,
    pub id: SyncId,
    /// What this device is called on the others.
    pub name: String,
    /// The number of this device's next piece; none is used twice.
    pub next: u64,
    /// This device's pieces and their lengths; 0 where that is not known.
    pub own: BTreeMap<u64, u64>,
    /// The greatest number of a unit of this device that was sent.
    pub n_sent: u64,
    pub others: BTreeMap<DeviceId, Other>,
    /// A piece of this device may hold what counts no longer.
    pub compaction_is_due: bool,
    /// When the last exchange came to its end (`None`: the first device has yet to write the header), in milliseconds since the Unix epoch.
    pub exchanged_at: Option<i64>,
}

/// Another device, as far as it is known from its pieces.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Other {
    pub name: String,
    /// When it wrote the newest piece that was seen, by its clock.
    pub wrote_at: i64,
    /// Those of its pieces that were joined.
    pub seen: BTreeSet<u64>,
}

impl SyncState {
    pub fn new(place: Place, code: Code, id: SyncId, name: String) -> Self {
        Self {
            place,
            code,
            id,
            name,
            next: 1,
            own: BTreeMap::new(),
            n_sent: 0,
            others: BTreeMap::new(),
            compaction_is_due: false,
            exchanged_at: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_shown_without_its_password() {
        for (url, shown) in [
            ("postgres://ana:s3c@re/t@host/db", "postgres://ana@host/db"),
            ("postgresql://ana@host:5433/db", "postgresql://ana@host:5433/db"),
            ("postgres://host/db?user=ana&password=s3cret", "postgres://host/db"),
        ] {
            assert_eq!(Place::named(url).unwrap().to_string(), shown);
        }
        assert!(Place::named("https://host/db").is_err());
        let place = Place::named("some/folder").unwrap();
        assert!(Path::new(&place.to_string()).is_absolute());
    }

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let place = Place::Folder("/sync".into());
        let mut state =
            SyncState::new(place, Code::random().unwrap(), SyncId::random().unwrap(), "a".into());
        state.own.insert(3, 512);
        state.others.entry(DeviceId([1; 8])).or_default().seen.insert(7);
        let text = serde_json::to_string(&state).unwrap();
        let read: SyncState = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        assert_eq!(read.code, state.code);
        assert!(!format!("{state:?}").contains(&*state.code.to_text()));
    }
}
