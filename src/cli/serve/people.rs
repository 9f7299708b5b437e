//! Many people: the folders that are their homes, and what has to be done while they are served.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs::{self, DirEntry};
use std::io;
use std::mem;
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use super::super::output::one_line;
use super::super::report::{self, Failure};
use super::person::{Person, Shared};
use super::token;
use crate::interfaces::Cancel;
use crate::server::Keys;

/// Between two looks at whose turn it is to have their memory built.
const TICK: Duration = Duration::from_millis(250);
/// Ticks between two looks at the folder.
const TICKS_PER_SCAN: u32 = 4;
/// Of the names of all, where they are shown.
const NAMES_CHARS_MAX: usize = 300;

const SAME_TOKEN: &str = "somebody else has the same API key. Remove the file serve-token from the folder that is a copy: another one is made";

pub struct People {
    shared: Arc<Shared>,
    folder: PathBuf,
    /// Of those who are let in.
    keys: Arc<RwLock<Keys>>,
    known: BTreeMap<OsString, Known>,
}

/// A home that was found.
struct Known {
    person: Arc<Person>,
    /// Another folder of the same name is another home.
    inode: u64,
    /// By which a token is known to be another one.
    mark: Option<Mark>,
    /// Or why there is none.
    token: Result<String, String>,
    /// Why the person is not let in, as it was said.
    trouble: Option<String>,
}

/// A file's place, times and mode.
type Mark = (u64, i64, i64, u32);

impl People {
    /// # Errors
    /// If the folder can't be read.
    pub fn new(
        shared: &Arc<Shared>,
        folder: PathBuf,
        keys: Arc<RwLock<Keys>>,
    ) -> Result<Self, Failure> {
        // As long as the process lives, wherever it may go.
        let unreadable =
            |source| Failure::Unreadable { path: folder.display().to_string(), source };
        let folder = folder.canonicalize().map_err(unreadable)?;
        let mut people = Self { shared: Arc::clone(shared), folder, keys, known: BTreeMap::new() };
        people.scan(false).map_err(unreadable)?;
        Ok(people)
    }

    /// Who they are, and where their keys are.
    pub fn described(&self) -> String {
        let names: Vec<&str> =
            self.known.values().map(|known| known.person.name.as_str()).collect();
        let n = names.len();
        let who = if n == 1 { "1 person".into() } else { format!("{n} people") };
        let names = one_line(&names.join(", "), NAMES_CHARS_MAX);
        let file = self.folder.join("NAME").join(token::FILE);
        format!("{who} ({names}); the API key of each is in {}.", file.display())
    }

    /// Until the end: finds who came and went, lets go of what is not used, and has memory built in turn.
    pub fn look_after(mut self, ended: &Cancel) {
        for tick in 0_u32.. {
            if ended.is_cancelled() {
                return;
            }
            if tick % TICKS_PER_SCAN == 0 {
                // A folder that can't be read for a while has not lost its people.
                let _ = self.scan(true);
                self.shared.homes.let_go();
            }
            self.shared.homes.take_turns();
            thread::sleep(TICK);
        }
    }

    fn scan(&mut self, tells: bool) -> io::Result<()> {
        let entries: Vec<DirEntry> = fs::read_dir(&self.folder)?.collect::<io::Result<_>>()?;
        let mut before = mem::take(&mut self.known);
        for entry in entries {
            let name = entry.file_name();
            let is_hidden = name.as_encoded_bytes().starts_with(b".");
            if is_hidden || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let mut known = match before.remove(&name) {
                Some(known) if known.inode == entry.ino() => known,
                other => {
                    before.extend(other.map(|other| (name.clone(), other)));
                    let known = Known::new(&self.shared, &entry);
                    if tells {
                        let (who, at) = (&known.person.name, &known.person.home);
                        let at = at.join(token::FILE);
                        self.note(&format!(
                            "{who} is served, too: the API key is in {}.",
                            at.display()
                        ));
                    }
                    known
                }
            };
            known.read_token();
            self.known.insert(name, known);
        }
        for gone in before.into_values() {
            self.shared.homes.remove(gone.person.id);
            self.note(&format!("{} is served no longer.", gone.person.name));
        }
        self.let_in();
        Ok(())
    }

    fn note(&self, text: &str) {
        self.shared.app.console.note(text);
    }

    /// Who has a token that nobody else has is let in; why others are not, is said once.
    fn let_in(&mut self) {
        let mut n_with: HashMap<String, usize> = HashMap::new();
        for token in self.known.values().filter_map(|known| known.token.as_ref().ok()) {
            *n_with.entry(token.clone()).or_default() += 1;
        }
        let mut keys = Keys::new();
        for known in self.known.values_mut() {
            let trouble = match &known.token {
                Ok(token) if n_with.get(token) == Some(&1) => {
                    keys.push((token.clone(), Arc::<Person>::clone(&known.person)));
                    None
                }
                Ok(_) => Some(SAME_TOKEN.to_owned()),
                Err(why) => Some(why.clone()),
            };
            if let Some(why) = &trouble
                && trouble != known.trouble
            {
                known.person.warn(&format!("not let in: {why}"));
            }
            known.trouble = trouble;
        }
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
    }
}

impl Known {
    fn new(shared: &Arc<Shared>, entry: &DirEntry) -> Self {
        let name = one_line(&entry.file_name().to_string_lossy(), NAMES_CHARS_MAX);
        let person = Arc::new(Person::new(shared, name, entry.path()));
        let token = Err(String::new());
        Self { person, inode: entry.ino(), mark: None, token, trouble: None }
    }

    /// Reads the token if it is new, and makes one where there is none.
    fn read_token(&mut self) {
        let file = self.person.home.join(token::FILE);
        let mark = fs::metadata(&file)
            .ok()
            .map(|found| (found.ino(), found.mtime(), found.mtime_nsec(), found.mode()));
        let before = mem::replace(&mut self.mark, mark);
        if mark.is_some() && mark == before {
            return;
        }
        self.token = if mark.is_none() && before.is_some() {
            // The folder may just be on its way out: a new file would stop that.
            Err("the API key is gone".into())
        } else {
            token::of_file(&file).map_err(|failure| report::text_of(&failure))
        };
    }
}
