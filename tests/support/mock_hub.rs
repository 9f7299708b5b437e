//! A Hugging Face hub on this machine, which answers as the real one does, or misbehaves as asked.
//!
//! A large file (LFS) is answered with a redirect to another host, which knows ranges and no commits; a small one with a
//! relative redirect to a cache that compresses for whoever lets it, and then knows no ranges.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use sha1::{Digest as _, Sha1};
use sha2::Sha256;

pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const LFS_BYTES_MIN: usize = 1000;

/// How the hub misbehaves.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// Cut the connection after this many bytes of a body, as often as listed.
    pub cuts: Vec<usize>,
    /// Cut most bodies at a random byte, from this seed.
    pub random_cuts: Option<u64>,
    /// The first byte of a file is another one.
    pub wrong: bool,
    /// Bodies are longer than they should be.
    pub longer: bool,
    /// The etag that is stated, instead of the right one.
    pub etag: Option<String>,
    /// So many requests for bodies are never answered.
    pub silent: usize,
    /// So many requests are answered with this status before any other.
    pub busy: Vec<u16>,
    /// Every address redirects to itself.
    pub endless: bool,
    /// Every address first redirects, absolutely, to the same under `localhost`.
    pub moved: bool,
    /// Ranges are answered without `Content-Range`.
    pub no_content_range: bool,
    /// Ranges are ignored.
    pub no_ranges: bool,
    /// Another range than was asked for.
    pub wrong_range: bool,
    pub no_head: bool,
    /// Only for whoever has this token.
    pub gated: Option<&'static str>,
}

/// A request that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub of_cdn: bool,
    pub method: String,
    pub path: String,
    /// `100-`, without the unit.
    pub range: String,
    pub token: Option<String>,
    /// How many bytes of a body were sent.
    pub sent: usize,
}

#[derive(Debug, Clone)]
pub struct HubFile {
    pub path: String,
    pub bytes: Vec<u8>,
}

struct State {
    repo: String,
    files: Vec<HubFile>,
    card: serde_json::Value,
    faults: Mutex<Faults>,
    seen: Mutex<Vec<Seen>>,
    /// Connections that are left without an answer.
    held: Mutex<Vec<TcpStream>>,
    hub: String,
    /// Where the second listener is.
    cdn: String,
    /// Where the hub says that it is.
    cdn_said: Mutex<String>,
}

pub struct MockHub {
    pub endpoint: String,
    state: Arc<State>,
}

/// SHA-256 of a large file, git's hash of a small one.
pub fn etag_of(bytes: &[u8]) -> String {
    let hex = |hash: &[u8]| {
        hash.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        })
    };
    if bytes.len() >= LFS_BYTES_MIN {
        hex(&Sha256::digest(bytes))
    } else {
        let blob = [format!("blob {}\0", bytes.len()).as_bytes(), bytes].concat();
        hex(&Sha1::digest(blob))
    }
}

impl MockHub {
    pub fn start(repo: &str, files: &[(&str, &[u8])], faults: Faults) -> Self {
        Self::with_card(repo, files, serde_json::json!({"license": "apache-2.0"}), faults)
    }

    pub fn with_card(
        repo: &str,
        files: &[(&str, &[u8])],
        card: serde_json::Value,
        faults: Faults,
    ) -> Self {
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [hub, cdn] =
            listeners.each_ref().map(|l| format!("127.0.0.1:{}", l.local_addr().unwrap().port()));
        let files = files
            .iter()
            .map(|(path, bytes)| HubFile { path: (*path).to_owned(), bytes: bytes.to_vec() });
        let state = Arc::new(State {
            repo: repo.to_owned(),
            files: files.collect(),
            card,
            faults: Mutex::new(faults),
            seen: Mutex::default(),
            held: Mutex::default(),
            cdn_said: Mutex::new(format!("http://{cdn}")),
            cdn,
            hub: hub.clone(),
        });
        for (listener, of_cdn) in listeners.into_iter().zip([false, true]) {
            let state = Arc::clone(&state);
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    let state = Arc::clone(&state);
                    // A client that is gone is no error here.
                    std::thread::spawn(move || state.answer(stream.unwrap(), of_cdn).ok());
                }
            });
        }
        Self { endpoint: format!("http://{hub}"), state }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().unwrap().clone()
    }

    pub fn forget_seen(&self) {
        self.state.seen.lock().unwrap().clear();
    }

    pub fn set(&self, faults: Faults) {
        *self.state.faults.lock().unwrap() = faults;
    }

    /// Where large files are: host and port.
    pub fn cdn(&self) -> String {
        self.state.cdn.clone()
    }

    /// Says that large files are at another address.
    pub fn set_cdn(&self, address: &str) {
        address.clone_into(&mut self.state.cdn_said.lock().unwrap());
    }

    /// The ranges of all requests for bodies.
    pub fn ranges(&self) -> Vec<String> {
        self.seen()
            .iter()
            .filter(|s| s.method == "GET" && s.sent > 0)
            .map(|s| s.range.clone())
            .collect()
    }
}

struct Request {
    method: String,
    path: String,
    range: String,
    token: Option<String>,
    takes_gzip: bool,
    host: String,
}

impl Request {
    fn read(stream: &TcpStream) -> std::io::Result<Option<Self>> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let Some(first) = lines.next().transpose()? else { return Ok(None) };
        let mut words = first.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut request = Self {
            method: method.to_owned(),
            path: path.to_owned(),
            range: String::new(),
            token: None,
            takes_gzip: false,
            host: String::new(),
        };
        for line in lines {
            let line = line?;
            let Some((name, value)) = line.split_once(':') else { break };
            let value = value.trim();
            match name.to_lowercase().as_str() {
                "range" => value.trim_start_matches("bytes=").clone_into(&mut request.range),
                "authorization" => {
                    request.token = Some(value.trim_start_matches("Bearer ").to_owned());
                }
                "accept-encoding" => request.takes_gzip = value.contains("gzip"),
                "host" => value.clone_into(&mut request.host),
                _ => {}
            }
        }
        Ok(Some(request))
    }
}

/// What is answered, without a body.
fn head(stream: &mut TcpStream, status: &str, headers: &str, length: usize) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    )
}

impl State {
    fn answer(&self, mut stream: TcpStream, of_cdn: bool) -> std::io::Result<()> {
        let Some(request) = Request::read(&stream)? else { return Ok(()) };
        let index = {
            let mut seen = self.seen.lock().unwrap();
            seen.push(Seen {
                of_cdn,
                method: request.method.clone(),
                path: request.path.clone(),
                range: request.range.clone(),
                token: request.token.clone(),
                sent: 0,
            });
            seen.len() - 1
        };
        let faults = self.faults.lock().unwrap().clone();
        if let Some(status) = faults.busy.first() {
            self.faults.lock().unwrap().busy.remove(0);
            return head(&mut stream, &format!("{status} Busy"), "Retry-After: 0\r\n", 0);
        }
        if faults.no_head && request.method == "HEAD" {
            return head(&mut stream, "405 Method Not Allowed", "", 0);
        }
        if faults.endless {
            let to = format!("Location: {}x\r\n", request.path);
            return head(&mut stream, "307 Temporary Redirect", &to, 0);
        }
        if faults.moved && request.host.starts_with("127") && !of_cdn {
            let port = self.hub.rsplit(':').next().unwrap();
            let to = format!("Location: http://localhost:{port}{}\r\n", request.path);
            return head(&mut stream, "308 Permanent Redirect", &to, 0);
        }
        let path = request.path.split('?').next().unwrap_or_default().replace("%20", " ");
        if of_cdn {
            let file = self.files.iter().find(|f| path == format!("/{}", etag_of(&f.bytes)));
            return match file {
                Some(file) => self.body(&mut stream, &request, file, "", index),
                None => head(&mut stream, "403 Forbidden", "", 0),
            };
        }
        if faults.gated.is_some_and(|token| request.token.as_deref() != Some(token)) {
            let headers = "X-Error-Code: GatedRepo\r\nX-Error-Message: Access is restricted\r\n";
            return head(&mut stream, "401 Unauthorized", headers, 0);
        }
        if let Some(rest) = path.strip_prefix("/api/models/") {
            return match rest.strip_suffix("/revision/main") {
                Some(repo) if repo == self.repo => {
                    let text = self.info().to_string();
                    head(&mut stream, "200 OK", "Content-Type: application/json\r\n", text.len())?;
                    stream.write_all(text.as_bytes())
                }
                _ => not_found(&mut stream),
            };
        }
        let cached = format!("/api/resolve-cache/models/{}/{COMMIT}/", self.repo);
        if let Some(file) = path.strip_prefix(&cached).and_then(|name| self.file(name)) {
            let headers = Self::headers(&faults, &file.bytes);
            return self.body(&mut stream, &request, file, &headers, index);
        }
        let base = format!("/{}/resolve/", self.repo);
        let Some((revision, name)) = path.strip_prefix(&base).and_then(|p| p.split_once('/'))
        else {
            return not_found(&mut stream);
        };
        let known = revision == "main" || revision == COMMIT;
        let Some(file) = self.file(name).filter(|_| known) else {
            let headers = "X-Error-Code: EntryNotFound\r\nX-Error-Message: Entry not found\r\n";
            return head(&mut stream, "404 Not Found", headers, 0);
        };
        let etag = etag_of(&file.bytes);
        if file.bytes.len() >= LFS_BYTES_MIN {
            let headers = format!(
                "X-Repo-Commit: {COMMIT}\r\nX-Linked-Size: {}\r\nX-Linked-Etag: \"{}\"\r\nETag: \"0f\"\r\n\
                 Location: {}/{etag}?X-Signature=abc\r\n",
                file.bytes.len(),
                faults.etag.as_ref().unwrap_or(&etag),
                self.cdn_said.lock().unwrap()
            );
            return head(&mut stream, "302 Found", &headers, 0);
        }
        let headers =
            format!("X-Repo-Commit: {COMMIT}\r\nLocation: {cached}{name}?etag=%22{etag}%22\r\n");
        head(&mut stream, "307 Temporary Redirect", &headers, 0)
    }

    fn headers(faults: &Faults, bytes: &[u8]) -> String {
        let etag = faults.etag.clone().unwrap_or_else(|| etag_of(bytes));
        format!("X-Repo-Commit: {COMMIT}\r\nETag: \"{etag}\"\r\n")
    }

    fn file(&self, name: &str) -> Option<&HubFile> {
        self.files.iter().find(|file| file.path == name)
    }

    fn info(&self) -> serde_json::Value {
        let siblings: Vec<_> = self
            .files
            .iter()
            .map(|file| {
                let (etag, size) = (etag_of(&file.bytes), file.bytes.len());
                let mut sibling =
                    serde_json::json!({"rfilename": file.path, "size": size, "blobId": "00"});
                if size >= LFS_BYTES_MIN {
                    sibling["lfs"] =
                        serde_json::json!({"sha256": etag, "size": size, "pointerSize": 134});
                }
                sibling
            })
            .collect();
        serde_json::json!({
            "id": self.repo, "sha": COMMIT, "private": false, "gated": false,
            "siblings": siblings, "cardData": self.card, "tags": ["gguf"],
        })
    }

    /// Where the next body is cut, of so many bytes.
    fn cut(&self, length: usize) -> usize {
        let mut faults = self.faults.lock().unwrap();
        if let Some(seed) = &mut faults.random_cuts {
            *seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let random = (*seed >> 33) as usize;
            return if random.is_multiple_of(4) { length } else { random / 4 % (length + 1) };
        }
        if faults.cuts.is_empty() { length } else { faults.cuts.remove(0).min(length) }
    }

    fn body(
        &self,
        stream: &mut TcpStream,
        request: &Request,
        file: &HubFile,
        headers: &str,
        index: usize,
    ) -> std::io::Result<()> {
        let faults = self.faults.lock().unwrap().clone();
        if request.method != "HEAD" && faults.silent > 0 {
            self.faults.lock().unwrap().silent -= 1;
            self.held.lock().unwrap().push(stream.try_clone()?);
            return Ok(());
        }
        let total = file.bytes.len();
        let mut body = file.bytes.clone();
        if faults.wrong {
            body[0] ^= 1;
        }
        if faults.longer {
            body.extend([7; 100]);
        }
        let asked = request.range.split_once('-').filter(|_| !faults.no_ranges);
        let (status, mut headers) = match asked {
            // Compressed, it has neither a length nor ranges; here it is only called so.
            _ if request.takes_gzip => ("200 OK", format!("{headers}Content-Encoding: gzip\r\n")),
            None => ("200 OK", headers.to_owned()),
            Some((from, to)) => {
                let from: usize = from.parse().unwrap();
                let to = to.parse().map_or(body.len(), |to: usize| to + 1);
                if from >= body.len() {
                    return head(stream, "416 Range Not Satisfiable", headers, 0);
                }
                let shown = if faults.wrong_range { from / 2 } else { from };
                body = body[from..to].to_vec();
                let mut headers = headers.to_owned();
                if !faults.no_content_range {
                    write!(headers, "Content-Range: bytes {shown}-{}/{total}\r\n", to - 1).unwrap();
                }
                ("206 Partial Content", headers)
            }
        };
        headers += "Accept-Ranges: bytes\r\n";
        head(stream, status, &headers, body.len())?;
        if request.method == "HEAD" {
            return Ok(());
        }
        body.truncate(self.cut(body.len()));
        self.seen.lock().unwrap()[index].sent = body.len();
        stream.write_all(&body)
    }
}

/// As the hub answers for a repository that it does not have, or does not show.
fn not_found(stream: &mut TcpStream) -> std::io::Result<()> {
    let headers =
        "X-Error-Code: RepoNotFound\r\nX-Error-Message: Invalid username or password.\r\n";
    head(stream, "401 Unauthorized", headers, 0)
}
