//! What programs have to know to be let in.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use super::super::report::Failure;
use crate::registry::hex;

/// Where it lies in a home.
pub const FILE: &str = "serve-token";

const RANDOM_BYTES: usize = 32;
const CHARS_MIN: usize = 16;
const FILE_BYTES_MAX: u64 = 4_096;

/// The token in this file, which is made if there is none.
///
/// # Errors
/// If the file can't be read or made, can be read by others, or holds no token.
pub fn of_file(path: &Path) -> Result<String, Failure> {
    let failed =
        |action| move |source| Failure::File { action, path: path.display().to_string(), source };
    if !path.exists() {
        match make(path) {
            // By another process, meanwhile.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map_err(failed("write")),
        }
    }
    let found = fs::metadata(path).map_err(failed("read"))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if found.permissions().mode() & 0o077 != 0 {
            return Err(Failure::Usage {
                what: format!("others can read the token in {}", path.display()),
                hint: format!("chmod 600 {0}, or remove it: another one is made", path.display()),
            });
        }
    }
    let is_small = found.is_file() && found.len() <= FILE_BYTES_MAX;
    let text =
        if is_small { fs::read_to_string(path).map_err(failed("read"))? } else { String::new() };
    let token = text.trim();
    if token.len() < CHARS_MIN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::Usage {
            what: format!("{} holds no token", path.display()),
            hint: format!(
                "a token is one line of at least {CHARS_MIN} letters and digits; without the file, one is made"
            ),
        });
    }
    Ok(token.to_owned())
}

/// A new file with a new token, whole from the first; an error if there is one.
fn make(path: &Path) -> io::Result<String> {
    let mut random = [0u8; RANDOM_BYTES];
    getrandom::fill(&mut random)?;
    let token = hex(&random);
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // Nobody else can read it.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(format!("{token}\n").as_bytes())?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path)?;
    Ok(token)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_token_is_made_once_and_is_nobody_elses() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("new/token");
        let token = of_file(&file).unwrap();
        assert_eq!((token.len(), of_file(&file).unwrap()), (64, token.clone()));
        let mode = |file: &Path| fs::metadata(file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&file), 0o600);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(of_file(&file).is_err());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        for bad in ["", "short\n", "two words of some length\n"] {
            fs::write(&file, bad).unwrap();
            assert!(of_file(&file).is_err(), "{bad:?}");
        }
    }
}
