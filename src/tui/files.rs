//! `@path` in a message: which words name files, completing one, and the message with what the files hold.

use std::fs;
use std::path::{Path, PathBuf};

use crate::attachments::{self, AttachError};
use crate::memory::with_attached;
use crate::texts::{self, text};

/// Names shown at once.
const SHOWN_MAX: usize = 12;

/// A word that names a file: "@notes.md", "@~/a.md", @"two words.md".
fn path_of(word: &str) -> Option<&str> {
    let path = word.strip_prefix('@')?;
    let path = path.strip_prefix('"').map_or(path, |p| p.trim_end_matches('"'));
    (!path.is_empty()).then_some(path)
}

/// The words of a line, those after `@"` up to the next quote.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = match rest.strip_prefix("@\"").and_then(|after| after.find('"')) {
            Some(at) => at + 3,
            None => rest.find(char::is_whitespace).unwrap_or(rest.len()),
        };
        words.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    words
}

/// The words of a message that may name files.
pub fn mentions(text: &str) -> bool {
    text.contains('@') && words(text).into_iter().any(|word| path_of(word).is_some())
}

/// `~` is the person's home.
fn expanded(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(path),
    }
}

/// Whether somebody who writes this means a file, though there is none: "@ana" is a name.
fn looks_like_path(path: &str) -> bool {
    path.contains('/')
        || path.rsplit_once('.').is_some_and(|(name, end)| !name.is_empty() && !end.is_empty())
}

/// A message with the text of the files that it names.
///
/// # Errors
/// Why one of them can't go with it.
pub fn attach(text: &str) -> Result<String, String> {
    let mut out = text.to_owned();
    for path in words(text).into_iter().filter_map(path_of) {
        // "Look at @notes.md." ends a sentence.
        let bare = path.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
        let found = [path, bare].into_iter().map(expanded).find(|path| path.exists());
        let Some(found) = found else {
            if looks_like_path(bare) && !bare.contains('@') {
                return Err(text!("there is no file {name}", name = bare));
            }
            continue;
        };
        let file = attachments::read(&found).map_err(reason)?;
        out = with_attached(&out, &file.label, &file.text);
    }
    Ok(out)
}

/// Why a file can't go with a message.
fn reason(error: AttachError) -> String {
    match error {
        AttachError::Unreadable { name, source } => format!("{name}: {source}"),
        AttachError::Folder { name } => text!("{name} is a folder; name the files in it", name),
        AttachError::TooLong { name } => text!("{name} is longer than 16 MB", name),
        AttachError::NotText { name, what } => {
            let what = texts::lookup(what);
            text!("{name} is {what}: the models here read text only", name, what)
        }
        AttachError::NotUtf8 { name } => {
            text!("{name} is not UTF-8 text; `iconv` makes it so", name)
        }
        AttachError::Empty { name } => {
            text!("{name} has no text in it (scanned pages are pictures)", name)
        }
        AttachError::Pdf { name, why } => {
            text!("{name} is a PDF that can't be read: {why}", name, why)
        }
    }
}

/// What a word that begins like this can become: all that fits, or as much as all that fits have in common, and what fits.
pub fn complete(word: &str) -> (String, Vec<String>) {
    let Some(path) = word.strip_prefix('@') else { return (word.to_owned(), Vec::new()) };
    let path = path.strip_prefix('"').unwrap_or(path);
    let (folder, begin) = path.rsplit_once('/').map_or(("", path), |(f, b)| (&path[..=f.len()], b));
    let place = if folder.is_empty() { PathBuf::from(".") } else { expanded(folder) };
    let mut names: Vec<String> = fs::read_dir(place)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_hidden = name.starts_with('.') && !begin.starts_with('.');
            let fits = name.starts_with(begin) && !is_hidden && !name.contains(['"', '\n']);
            let slash = if entry.path().is_dir() { "/" } else { "" };
            fits.then(|| format!("{name}{slash}"))
        })
        .collect();
    names.sort();
    let Some(first) = names.first() else { return (word.to_owned(), names) };
    let n = names.iter().fold(first.len(), |n, name| {
        first.bytes().zip(name.bytes()).take(n).take_while(|(a, b)| a == b).count()
    });
    let common = &first[..first.floor_char_boundary(n)];
    let path = format!("{folder}{common}");
    let is_whole = names.len() == 1 && !common.ends_with('/');
    let completed = match (path.contains(' '), is_whole) {
        (true, true) => format!("@\"{path}\""),
        (true, false) => format!("@\"{path}"),
        (false, _) => format!("@{path}"),
    };
    (completed, names)
}

/// The names that a word can become, for the status line.
pub fn listed(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN_MAX).map(String::as_str).collect::<Vec<_>>().join("  ");
    match names.len() {
        0 => text!("No file begins like that.").into(),
        n if n > SHOWN_MAX => text!("{names}  … {n} more", names = shown, n = n - SHOWN_MAX),
        _ => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_completed_and_attached() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).display().to_string();
        for (name, text) in
            [("notes.md", "tea"), ("novel.md", "once"), ("two words.txt", "more"), (".hidden", "x")]
        {
            fs::write(path(name), text).unwrap();
        }
        fs::create_dir(path("folder")).unwrap();
        let attached =
            attach(&format!("Sum up @{}, and @\"{}\"!", path("notes.md"), path("two words.txt")));
        let attached = attached.unwrap();
        assert!(attached.contains("notes.md, 3 bytes]\ntea\n"), "{attached}");
        assert!(attached.contains("two words.txt, 4 bytes]\nmore\n"), "{attached}");
        for plain in ["mail me @ home", "hi @ana", "a@b.c", "no files", "@"] {
            assert_eq!(attach(plain).as_deref(), Ok(plain));
        }
        assert_eq!(attach("read @no/such.md").unwrap_err(), "there is no file no/such.md");
        assert!(attach(&format!("@{}", path("folder"))).unwrap_err().contains("is a folder"));

        let complete = |name: &str| complete(&format!("@{}", path(name)));
        assert_eq!(complete("not").0, format!("@{}", path("notes.md")));
        let (word, names) = complete("no");
        assert_eq!(
            (word, listed(&names)),
            (format!("@{}", path("no")), "notes.md  novel.md".into())
        );
        assert_eq!(complete("two").0, format!("@\"{}\"", path("two words.txt")));
        assert_eq!(complete("fol").0, format!("@{}/", path("folder")));
        assert_eq!(listed(&complete("zzz").1), "No file begins like that.");
        assert_eq!(complete("").1.len(), 4);
    }
}
