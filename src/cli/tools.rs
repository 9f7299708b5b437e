//! `mcp.json`: the servers whose tools a chat may use, in the form that other programs have.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::App;
use super::policy::Policy;
use crate::mcp::{ServerConfig, read_servers};
use crate::texts::text;

/// A longer file is none that a person wrote.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Why there are no tools.
#[derive(Debug, PartialEq, Eq)]
pub struct NoServers {
    pub why: String,
    /// The file is there and can't be used.
    pub is_broken: bool,
}

impl App {
    /// The servers that may be started.
    ///
    /// # Errors
    /// If there are none.
    pub(super) fn servers(&self) -> Result<Vec<ServerConfig>, NoServers> {
        allowed(&self.policy, &self.dirs.servers())
    }
}

fn allowed(policy: &Policy, file: &Path) -> Result<Vec<ServerConfig>, NoServers> {
    if !policy.tools() {
        let why = text!("This machine's policy allows no tools of other programs.").into();
        return Err(NoServers { why, is_broken: false });
    }
    read(file)
}

fn read(path: &Path) -> Result<Vec<ServerConfig>, NoServers> {
    let broken = |why: String| {
        let why = text!(
            "{path} can't be used, so there are no tools: {why}. Mend it, or remove it, and start again.",
            path = path.display(),
            why
        );
        NoServers { why, is_broken: true }
    };
    let servers = match fs::metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(broken(e.to_string())),
        Ok(found) if is_anybodys(&found) => {
            let why = text!(
                "every user of this machine can write it, and it names programs to be started"
            );
            return Err(broken(why.into()));
        }
        Ok(found) if found.len() > FILE_BYTES_MAX => {
            return Err(broken(text!("it is larger than 1 MiB").into()));
        }
        Ok(_) => {
            let text = fs::read_to_string(path).map_err(|e| broken(e.to_string()))?;
            read_servers(&text).map_err(broken)?
        }
    };
    if servers.is_empty() {
        let why = text!(
            "There are no tools. {path} may name servers that offer some, in the form that other programs have: \
             {form}. It is read when the chat starts.",
            path = path.display(),
            form = r#"{"mcpServers": {"NAME": {"command": "PROGRAM", "args": [], "env": {}}}}"#
        );
        return Err(NoServers { why, is_broken: false });
    }
    Ok(servers)
}

fn is_anybodys(file: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    file.mode() & 0o002 != 0
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_that_can_not_be_used_is_named_with_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mcp.json");
        let none = read(&file).unwrap_err();
        assert!(!none.is_broken && none.why.contains("mcpServers"), "{none:?}");
        fs::write(&file, r#"{"mcpServers": {"a": {"url": "https://x"}}}"#).unwrap();
        let none = read(&file).unwrap_err();
        let named = none.why.contains("mcp.json") && none.why.contains("server `a`: it has no");
        assert!(none.is_broken && named, "{none:?}");
        fs::write(&file, r#"{"mcpServers": {"a": {"command": "x"}}}"#).unwrap();
        assert_eq!(read(&file).unwrap().len(), 1);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(read(&file).unwrap_err().is_broken);
    }

    #[test]
    fn a_policy_can_forbid_every_server() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mcp.json");
        fs::write(&file, r#"{"mcpServers": {"a": {"command": "x"}}}"#).unwrap();
        for (policy, may_start) in [
            ("", true),
            ("mcp = false", true),
            ("tools = false", false),
            ("tools = false\nexport = true", false),
            // They would be told what is remembered.
            ("export = false", false),
            ("export = false\ntools = true", true),
        ] {
            let servers = allowed(&toml::from_str(policy).unwrap(), &file);
            assert_eq!(servers.is_ok_and(|servers| servers.len() == 1), may_start, "{policy}");
        }
        // Also of a file that is broken, nothing is said but that.
        fs::write(&file, "{").unwrap();
        let none = allowed(&toml::from_str("tools = false").unwrap(), &file).unwrap_err();
        assert!(!none.is_broken && none.why.contains("policy"), "{none:?}");
    }
}
