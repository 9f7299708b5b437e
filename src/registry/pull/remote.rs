//! One file on the hub: what it is, and its bytes.

use crate::interfaces::Cancel;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::path::Path;

use hf_hub::Repo;
use ureq::http::{HeaderMap, Method, StatusCode};

use super::client::{Client, HubError, text};

/// What the hub says of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Remote {
    /// The commit that it was found in, if that is a hash.
    pub commit: Option<String>,
    /// SHA-256 of a large file, git's blob hash of a small one, if it is a hash.
    pub etag: Option<String>,
    pub bytes: Option<u64>,
}

/// The file's address in a revision, or in a commit.
pub fn url_of(endpoint: &str, repo: &Repo, revision: Option<&str>, file: &str) -> String {
    let endpoint = endpoint.trim_end_matches('/');
    let own = repo.url_revision();
    let revision = revision.unwrap_or(&own);
    format!("{endpoint}/{}/resolve/{revision}/{}", repo.url(), escaped(file))
}

/// A path within an address.
fn escaped(path: &str) -> String {
    use std::fmt::Write as _;
    path.bytes().fold(String::with_capacity(path.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"/-._~+".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// Asks for a file without its content. The hub answers for a large file with a redirect to where its content is, and says in
/// that answer what the file is; for a small one with a redirect to a cache of its own. A mirror may redirect before.
pub fn metadata(client: &Client, url: &str) -> Result<Remote, HubError> {
    let mut remote = Remote::default();
    let headed = client.ask(&Method::HEAD, url, None, |headers| remote.learn(headers, true));
    let answer = match headed {
        // Not every mirror knows HEAD.
        Err(HubError::Status {
            status: StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED,
            ..
        }) => {
            remote = Remote::default();
            client.ask(&Method::GET, url, Some("bytes=0-0"), |headers| remote.learn(headers, true))
        }
        answer => answer,
    }?;
    remote.learn(answer.headers(), answer.status().is_redirection());
    if remote.bytes.is_none() {
        remote.bytes = match answer.status() {
            StatusCode::PARTIAL_CONTENT => content_range(answer.headers()).and_then(|r| r.total),
            _ => text(answer.headers(), "content-length").and_then(|n| n.parse().ok()),
        };
    }
    Ok(remote)
}

impl Remote {
    /// Takes what the headers say; whether that is all there is to know.
    fn learn(&mut self, headers: &HeaderMap, is_redirect: bool) -> bool {
        // They become parts of paths, so a hostile server could otherwise write anywhere.
        let hash = |name, lengths: &[usize]| {
            let value = text(headers, name)?.trim_start_matches("W/").trim_matches('"');
            let is_hash =
                lengths.contains(&value.len()) && value.bytes().all(|b| b.is_ascii_hexdigit());
            is_hash.then(|| value.to_ascii_lowercase())
        };
        self.commit = self.commit.take().or_else(|| hash("x-repo-commit", &[40]));
        self.etag = self.etag.take().or_else(|| hash("x-linked-etag", &[40, 64]));
        if self.bytes.is_none() {
            self.bytes = text(headers, "x-linked-size").and_then(|n| n.parse().ok());
        }
        if !is_redirect && self.etag.is_none() {
            self.etag = hash("etag", &[40, 64]);
        }
        self.commit.is_some() && self.etag.is_some() && self.bytes.is_some()
    }
}

/// `Content-Range: bytes 100-199/200`.
struct ContentRange {
    start: u64,
    total: Option<u64>,
}

fn content_range(headers: &HeaderMap) -> Option<ContentRange> {
    let (range, total) = text(headers, "content-range")?.strip_prefix("bytes ")?.split_once('/')?;
    let start = range.split_once('-')?.0.parse().ok()?;
    Some(ContentRange { start, total: total.parse().ok() })
}

/// Appends to `part` what of the file is missing, until `cancel` is raised; `on_bytes` gets its length. An error may leave it longer than it was: the next
/// call goes on from there.
pub fn download(
    client: &Client,
    url: &str,
    bytes: Option<u64>,
    part: &Path,
    cancel: &Cancel,
    on_bytes: &mut dyn FnMut(u64),
) -> Result<(), DownloadError> {
    let mut file = OpenOptions::new().append(true).create(true).open(part)?;
    let mut at = file.metadata()?.len();
    if bytes == Some(at) {
        on_bytes(at);
        return Ok(());
    }
    if bytes.is_some_and(|bytes| at > bytes) {
        file.set_len(0)?;
        at = 0;
    }
    let range = (at > 0).then(|| format!("bytes={at}-"));
    let answered = client.ask(&Method::GET, url, range.as_deref(), |_| false);
    let mut answer = match answered {
        // There is nothing after what is here: it belongs to another file.
        Err(e @ HubError::Status { status: StatusCode::RANGE_NOT_SATISFIABLE, .. }) => {
            file.set_len(0)?;
            return Err(e.into());
        }
        answer => answer?,
    };
    if at > 0 && !goes_on_at(answer.headers(), answer.status(), at, bytes) {
        file.set_len(0)?;
        at = 0;
        // It may be from the middle of the file.
        if answer.status() == StatusCode::PARTIAL_CONTENT {
            return Err(HubError::WrongRange.into());
        }
    }
    copy(&mut answer.body_mut().as_reader(), &mut file, (at, bytes), cancel, on_bytes)
}

/// Whether an answer is the rest of the file from `at` on.
fn goes_on_at(headers: &HeaderMap, status: StatusCode, at: u64, bytes: Option<u64>) -> bool {
    if status != StatusCode::PARTIAL_CONTENT || headers.contains_key("content-encoding") {
        return false;
    }
    if let Some(range) = content_range(headers) {
        return range.start == at;
    }
    // Some mirrors leave it out; the length tells as well.
    let length = text(headers, "content-length").and_then(|n| n.parse::<u64>().ok());
    length.is_some() && length == bytes.map(|bytes| bytes - at)
}

fn copy(
    from: &mut dyn Read,
    to: &mut File,
    (mut at, bytes): (u64, Option<u64>),
    cancel: &Cancel,
    on_bytes: &mut dyn FnMut(u64),
) -> Result<(), DownloadError> {
    let mut block = vec![0; 1 << 18];
    loop {
        if cancel.is_cancelled() {
            return Err(DownloadError::Stopped);
        }
        let n = match from.read(&mut block) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(HubError::Broken(e).into()),
        };
        at += n as u64;
        if let Some(expected) = bytes.filter(|&bytes| at > bytes) {
            to.set_len(0)?;
            return Err(HubError::Long { expected }.into());
        }
        to.write_all(&block[..n])?;
        on_bytes(at);
    }
    if let Some(expected) = bytes.filter(|&bytes| at < bytes) {
        return Err(HubError::Short { received: at, expected }.into());
    }
    to.sync_all()?;
    Ok(())
}

/// Why a file is not here.
#[derive(Debug)]
pub enum DownloadError {
    Hub(HubError),
    /// The disk's.
    Disk(io::Error),
    /// As was asked.
    Stopped,
}

impl From<HubError> for DownloadError {
    fn from(error: HubError) -> Self {
        Self::Hub(error)
    }
}

impl From<io::Error> for DownloadError {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_revisions_too() {
        let repo = Repo::with_revision("o/m".into(), hf_hub::RepoType::Model, "refs/pr/1".into());
        let url = url_of("https://hub/", &repo, None, "a b/ü#?.gguf");
        assert_eq!(url, "https://hub/o/m/resolve/refs%2Fpr%2F1/a%20b/%C3%BC%23%3F.gguf");
        assert!(url_of("https://hub", &repo, Some("c0"), "f").ends_with("/resolve/c0/f"));
    }
}
