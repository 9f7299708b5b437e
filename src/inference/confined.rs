//! Model files are opened, parsed and run in threads that can do little else.
//!
//! Such a thread takes rights from itself by Landlock before it opens the file, and what it spawns (the engine, the
//! tokenizer's thread) has no more than it has. Left to it are its model's files and what the system says of itself, for
//! reading. Files that are open already stay usable: mapped weights, the terminal. The thread that starts it keeps all rights,
//! so that the next model can be elsewhere.
//!
//! Threads share memory. This holds a parser that was tricked into opening, writing or connecting; it does not hold code that
//! an attacker runs in the process.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use crate::interfaces::{ModelError, parts_of};

/// What a thread that reads a model can't do, by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confinement {
    /// Read other files, write, execute, use TCP.
    FilesAndTcp,
    /// The same but TCP: before Linux 6.7.
    Files,
    /// The kernel forbids it nothing.
    None,
}

/// How models are read on this system.
///
/// # Errors
/// If a thread can't be confined, although the kernel could; no model can be loaded then.
pub fn confinement() -> Result<Confinement, ModelError> {
    in_thread(&[], Ok)
}

/// Runs `work` in a confined thread, which may read the model at `path`; without one, nothing that a person wrote.
pub(super) fn reading<T: Send>(
    path: Option<&Path>,
    work: impl FnOnce() -> Result<T, ModelError> + Send,
) -> Result<T, ModelError> {
    let files = path.map(files_of).unwrap_or_default();
    in_thread(&files, |_| {
        // The pool's threads, which compute for all models, have the rights of the one that starts them. An error: they
        // have been started.
        let _ = rayon::ThreadPoolBuilder::new().build_global();
        work()
    })
}

fn in_thread<T: Send>(
    files: &[PathBuf],
    work: impl FnOnce(Confinement) -> Result<T, ModelError> + Send,
) -> Result<T, ModelError> {
    let failed =
        |what: &str, source| ModelError::Backend { what: what.into(), source: Some(source) };
    thread::scope(|scope| {
        let confined = thread::Builder::new().name("model".into()).spawn_scoped(scope, || {
            let confinement = confine(files).map_err(|e| {
                failed("the thread that reads the model could not give up its rights (Landlock)", e)
            })?;
            work(confinement)
        });
        let confined = confined.map_err(|e| {
            failed("the thread that reads the model could not be started", e.into())
        })?;
        confined.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// What belongs to the model at `path`: a GGUF file, or its parts, or a folder and what its links lead to. In a Hugging Face cache every
/// file is a link.
fn files_of(path: &Path) -> Vec<PathBuf> {
    let folder = if path.is_dir() {
        path.to_owned()
    } else if path.extension().is_some_and(|e| e == "safetensors") {
        // The parent of "model.safetensors" is "".
        Path::new(".").join(path.parent().unwrap_or(path))
    } else {
        return parts_of(path);
    };
    let entries = [folder.clone(), folder.join("1_Pooling")]
        .into_iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flat_map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())));
    let links = entries.filter(|path| path.is_symlink() && path.is_file());
    links.chain([folder.clone()]).collect()
}

type Confined = Result<Confinement, Box<dyn std::error::Error + Send + Sync>>;

/// Takes all rights from the calling thread but to read `files`. A kernel that can't forbid something allows it, as it did
/// before; any other failure is an error, since whoever can provoke it could otherwise choose to go without.
#[cfg(target_os = "linux")]
fn confine(files: &[PathBuf]) -> Confined {
    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, LandlockStatus, Ruleset, RulesetAttr as _,
        RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
    };

    /// The newest that the crate knows: a model needs none of what it forbids.
    const NEWEST: ABI = ABI::V10;
    /// Number of processors, memory, this process's mappings.
    const SYSTEM: [&str; 2] = ["/proc", "/sys"];

    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let mut ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .add_rules(path_beneath_rules(SYSTEM, read))?
        .add_rules(path_beneath_rules(files, read))?;
    if cfg!(feature = "cuda") {
        let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        ruleset = ruleset
            .add_rules(path_beneath_rules(gpu_libraries(), read))?
            .add_rules(path_beneath_rules(gpu_devices(), device))?;
    }
    let status = ruleset.restrict_self()?;
    Ok(match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => Confinement::None,
        (_, LandlockStatus::Available { effective_abi, .. }) if effective_abi < ABI::V4 => {
            Confinement::Files
        }
        _ => Confinement::FilesAndTcp,
    })
}

#[cfg(not(target_os = "linux"))]
fn confine(_: &[PathBuf]) -> Confined {
    Ok(Confinement::None)
}

/// Where the driver's libraries lie, which load more when they are first needed.
#[cfg(target_os = "linux")]
fn gpu_libraries() -> Vec<PathBuf> {
    let named = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let usual = ["/usr", "/lib", "/lib64", "/opt", "/etc"].map(PathBuf::from);
    std::env::split_paths(&named).filter(|path| path.is_absolute()).chain(usual).collect()
}

#[cfg(target_os = "linux")]
fn gpu_devices() -> Vec<PathBuf> {
    let devices = fs::read_dir("/dev").into_iter().flatten().flatten();
    let of_gpu =
        devices.filter(|device| device.file_name().to_string_lossy().starts_with("nvidia"));
    of_gpu.map(|device| device.path()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;
    use crate::testing::skip;

    /// A folder with a model's folder and something else in it.
    struct Place {
        dir: tempfile::TempDir,
        listener: TcpListener,
    }

    impl Place {
        /// None, with the calling test skipped, where the kernel can't confine a thread so far.
        fn new() -> Option<Self> {
            if confinement().unwrap() != Confinement::FilesAndTcp {
                skip("this kernel has no Landlock of Linux 6.7");
                return None;
            }
            let dir = tempfile::tempdir().unwrap();
            for (folder, file) in [("model", "model.gguf"), (".ssh", "key")] {
                fs::create_dir(dir.path().join(folder)).unwrap();
                fs::write(dir.path().join(folder).join(file), "text").unwrap();
            }
            Some(Self { dir, listener: TcpListener::bind("127.0.0.1:0").unwrap() })
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().join(name)
        }

        /// What the calling thread can do here, by name.
        fn attempts(&self) -> BTreeMap<&'static str, bool> {
            let (model, key) = (self.path("model/model.gguf"), self.path(".ssh/key"));
            let (new, renamed) = (self.path("model/new"), self.path("model/renamed"));
            let append = |path: &Path| OpenOptions::new().append(true).open(path).map(drop);
            let did = |result: io::Result<()>| match result {
                Ok(()) => true,
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => false,
                Err(e) => panic!("neither done nor refused: {e}"),
            };
            BTreeMap::from([
                ("read the model", did(fs::read(&model).map(drop))),
                ("list the model's folder", did(fs::read_dir(self.path("model")).map(drop))),
                ("read its own mappings", did(fs::read("/proc/self/maps").map(drop))),
                ("read a key", did(fs::read(&key).map(drop))),
                ("list the folder", did(fs::read_dir(self.dir.path()).map(drop))),
                ("write to the model", did(append(&model))),
                ("write to a key", did(append(&key))),
                ("truncate", did(File::options().write(true).truncate(true).open(&key).map(drop))),
                ("create", did(fs::write(&new, "").and_then(|()| fs::remove_file(&new)))),
                (
                    "rename",
                    did(fs::rename(&model, &renamed).and_then(|()| fs::rename(&renamed, &model))),
                ),
                ("execute", did(Command::new("/bin/true").status().map(drop))),
                ("connect", did(TcpStream::connect(self.listener.local_addr().unwrap()).map(drop))),
                ("listen", did(TcpListener::bind("127.0.0.1:0").map(drop))),
            ])
        }
    }

    #[track_caller]
    fn check(attempts: Result<BTreeMap<&'static str, bool>, ModelError>, expected: &[&str]) {
        let attempts = attempts.unwrap().into_iter();
        let done: Vec<&str> = attempts.filter_map(|(name, done)| done.then_some(name)).collect();
        assert_eq!(done, expected);
    }

    #[test]
    fn a_confined_thread_reads_its_model_and_does_nothing_else() {
        let Some(place) = Place::new() else { return };
        let folder = place.path("model");
        let of_folder = ["list the model's folder", "read its own mappings", "read the model"];
        check(reading(Some(&folder), || Ok(place.attempts())), &of_folder);
        // What it spawns is no freer.
        let spawned =
            || Ok(thread::scope(|scope| scope.spawn(|| place.attempts()).join().unwrap()));
        check(reading(Some(&folder), spawned), &of_folder);
        let file = folder.join("model.gguf");
        let of_file = ["read its own mappings", "read the model"];
        check(reading(Some(&file), || Ok(place.attempts())), &of_file);
        let of_none = ["read its own mappings"];
        check(reading(None, || Ok(place.attempts())), &of_none);
        // Whoever started them can do all of it still.
        assert!(place.attempts().into_values().all(|done| done));
    }

    #[test]
    fn links_lead_to_what_they_name_and_to_nothing_beside_it() {
        let Some(place) = Place::new() else { return };
        let snapshot = place.path("models--a--b/snapshots/1f");
        let blobs = place.path("models--a--b/blobs");
        fs::create_dir_all(snapshot.join("1_Pooling")).unwrap();
        fs::create_dir(&blobs).unwrap();
        for name in ["1", "2", "3"] {
            fs::write(blobs.join(name), name).unwrap();
        }
        symlink("../../blobs/1", snapshot.join("model.gguf")).unwrap();
        symlink("../../../blobs/2", snapshot.join("1_Pooling/config.json")).unwrap();
        let read = |path: &str| {
            let path = snapshot.join(path);
            fs::read_to_string(path).map_err(|e| e.kind())
        };
        let refused = Err(io::ErrorKind::PermissionDenied);
        let all = || Ok(["model.gguf", "1_Pooling/config.json", "../../blobs/3"].map(read));
        let of_folder = reading(Some(&snapshot), all).unwrap();
        assert_eq!(of_folder, [Ok("1".into()), Ok("2".into()), refused.clone()]);
        let of_file = reading(Some(&snapshot.join("model.gguf")), all).unwrap();
        assert_eq!(of_file, [Ok("1".into()), refused.clone(), refused]);
    }

    #[test]
    fn a_panic_reaches_whoever_waits() {
        let panicked = std::panic::catch_unwind(|| {
            reading(None, || -> Result<(), ModelError> { panic!("a test panics") })
        });
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"a test panics"));
    }
}
