//! The zip in which a chat service sends people their data.

use std::io::{Read, Seek};
use std::path::Path;

use serde_json::Value;
use zip::ZipArchive;

use crate::imports::ImportError;

/// Bytes that its conversations may unpack to.
const UNPACKED_MAX: u64 = 1 << 30;

/// Whether a file is a zip, by its first bytes.
pub fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

/// The conversations in it: `conversations.json`, or that in parts, each with its name.
pub fn conversations(
    zip: impl Read + Seek,
    path: &str,
) -> Result<Vec<(String, Vec<u8>)>, ImportError> {
    let unknown = |reason: String| ImportError::UnknownFormat { path: path.to_owned(), reason };
    let mut archive =
        ZipArchive::new(zip).map_err(|e| unknown(format!("it is a damaged zip ({e})")))?;
    let is_part = |name: &str| {
        let file = name.rsplit('/').next().unwrap_or(name);
        file.starts_with("conversations")
            && Path::new(file).extension().is_some_and(|e| e == "json")
    };
    let all = archive.file_names().filter_map(Result::ok);
    let mut names: Vec<String> = all.filter(|name| is_part(name)).map(Into::into).collect();
    names.sort();
    if names.is_empty() {
        return Err(unknown("it is a zip without a conversations.json".into()));
    }
    let mut left = UNPACKED_MAX;
    let mut parts = Vec::new();
    for name in names {
        let file = archive.by_name(&name).map_err(|e| unknown(format!("{name}: {e}")))?;
        let mut text = Vec::new();
        file.take(left + 1).read_to_end(&mut text).map_err(|e| unknown(format!("{name}: {e}")))?;
        left = left
            .checked_sub(text.len() as u64)
            .ok_or_else(|| unknown("it unpacks to more than 1 GB".into()))?;
        parts.push((format!("{path}, {name}"), text));
    }
    Ok(parts)
}

/// Whose it is, by the account that lies beside the conversations.
pub fn owner(zip: impl Read + Seek) -> Option<String> {
    const BYTES_MAX: u64 = 1 << 20;
    let mut archive = ZipArchive::new(zip).ok()?;
    let is_account =
        |name: &str| matches!(name.rsplit('/').next().unwrap_or(name), "user.json" | "users.json");
    let names: Vec<String> = archive.file_names().filter_map(Result::ok).map(Into::into).collect();
    let file = archive.by_name(names.iter().find(|name| is_account(name))?).ok()?;
    let account: Value = serde_json::from_reader(file.take(BYTES_MAX)).ok()?;
    // One, where several share an export.
    let account = match &account {
        Value::Array(all) => all.iter().next().filter(|_| all.len() == 1)?,
        one => one,
    };
    let named =
        |key: &str| account.get(key).and_then(Value::as_str).filter(|name| !name.is_empty());
    ["full_name", "name", "email_address", "email"].into_iter().find_map(named).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use super::*;

    fn zip(files: &[(&str, &str)]) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in files {
            zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    #[test]
    fn conversations_are_found_in_order() {
        let file = zip(&[
            ("x/conversations-001.json", "b"),
            ("users.json", "u"),
            ("x/conversations-000.json", "a"),
        ]);
        assert!(is_zip(&file) && !is_zip(b"[]"));
        let parts = conversations(Cursor::new(&file), "export.zip").unwrap();
        let shape: Vec<(&str, &[u8])> =
            parts.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
        let name = |part: &str| format!("export.zip, x/conversations-{part}.json");
        assert_eq!(shape, [(name("000").as_str(), &b"a"[..]), (name("001").as_str(), b"b")]);
        let of = |account: &str| owner(Cursor::new(zip(&[("users.json", account)])));
        assert_eq!(
            of(r#"[{"uuid": "1", "full_name": "Petra Berg"}]"#).as_deref(),
            Some("Petra Berg")
        );
        assert_eq!(of(r#"{"id": "1", "email": "p@b.se"}"#).as_deref(), Some("p@b.se"));
        for none in ["", "[]", "{}", "3", r#"[{"full_name": "A"}, {"full_name": "B"}]"#] {
            assert_eq!(of(none), None, "{none}");
        }
        let error = |bytes: &[u8]| conversations(Cursor::new(bytes), "z").unwrap_err().to_string();
        assert!(error(&zip(&[("users.json", "")])).contains("without a conversations.json"));
        assert!(error(&file[..file.len() / 2]).contains("damaged zip"));
    }
}
