//! Plain files of the person's own, in a folder beside the settings: roles (`persona`) and prompts (`template`). Settings may stand first,
//! between two lines `---`.

use std::path::Path;
use std::{fs, io};

use crate::texts::{self, text};

/// Longer ones leave no room for a conversation.
const BYTES_MAX: usize = 16_000;

/// The settings of a file, by line number, and its text.
type Parsed = (Vec<(usize, String, String)>, String);

/// A role or a prompt.
pub trait OwnFile: Sized {
    /// "role".
    const WHAT: &'static str;

    /// The file's, without `.md`.
    fn name(&self) -> &str;

    /// Reads a file's text.
    ///
    /// # Errors
    /// Which line is wrong, and how, for people.
    fn parse(name: &str, text: &str) -> Result<Self, String>;

    /// The file called `name` in a folder.
    ///
    /// # Errors
    /// If there is none, or it can't be used; for people, with those that there are.
    fn read(folder: &Path, name: &str) -> Result<Self, String> {
        let what = texts::lookup(Self::WHAT);
        let (files, unusable) = Self::read_all(folder);
        if let Some((_, why)) = unusable.iter().find(|(other, _)| other == name) {
            return Err(text!("the {what} {name} can't be used: {why}", what, name, why));
        }
        let names: Vec<String> = files.iter().map(|file| file.name().to_owned()).collect();
        files.into_iter().find(|file| file.name() == name).ok_or_else(|| {
            let folder = folder.display();
            match names.as_slice() {
                [] => text!(
                    "there are no {what}s yet; {folder}/{name}.md would be this one",
                    what,
                    folder,
                    name
                ),
                names => text!(
                    "there is no {what} {name} in {folder}, but {names}",
                    what,
                    name,
                    folder,
                    names = names.join(", ")
                ),
            }
        })
    }

    /// All files in a folder by name, and those that can't be used with the reason. Nothing, if there is no such folder.
    fn read_all(folder: &Path) -> (Vec<Self>, Vec<(String, String)>) {
        let Ok(entries) = fs::read_dir(folder) else { return (Vec::new(), Vec::new()) };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut paths: Vec<_> =
            paths.filter(|p| p.extension().is_some_and(|e| e == "md")).collect();
        paths.sort();
        let (mut files, mut unusable) = (Vec::new(), Vec::new());
        for path in paths {
            let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
            let text = read_text(&path).map_err(|error| error.to_string());
            match text.and_then(|text| Self::parse(name, &text)) {
                Ok(file) => files.push(file),
                Err(why) => unusable.push((name.to_owned(), why)),
            }
        }
        (files, unusable)
    }
}

/// Divides a file's text.
///
/// # Errors
/// If it has none, or too much, or its settings are no settings.
pub(super) fn divide(text: &str) -> Result<Parsed, String> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let (head, body) = match text.strip_prefix("---\n") {
        Some(rest) => {
            let end = rest.strip_prefix("---\n").map(|body| ("", body));
            end.or_else(|| rest.split_once("\n---\n"))
                .ok_or(text!("no line --- ends its settings"))?
        }
        None => ("", text.as_str()),
    };
    let mut settings = Vec::new();
    for (n, line) in head.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wanted = || text!("line {n}: `key: value` is wanted", n = n + 2);
        let (key, value) = line.split_once(':').ok_or_else(wanted)?;
        settings.push((n + 2, key.trim().to_owned(), value.trim().trim_matches('"').to_owned()));
    }
    match body.trim() {
        "" => Err(text!("it says nothing to the model").into()),
        body if body.len() > BYTES_MAX => {
            Err(text!("it is {n} bytes long (at most {most})", n = body.len(), most = BYTES_MAX))
        }
        body => Ok((settings, body.to_owned())),
    }
}

/// A file of no more than one may have, and a little.
fn read_text(path: &Path) -> io::Result<String> {
    use io::Read as _;
    let mut text = String::new();
    fs::File::open(path)?.take(2 * BYTES_MAX as u64).read_to_string(&mut text)?;
    Ok(text)
}
