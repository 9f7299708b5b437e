//! A running server, and a client of it that can be as clumsy as a test wants.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Home, PROGRAM};

/// A running server. It is killed when dropped; [`Server::end`] asks it to stop.
pub struct Server {
    process: Child,
    pub address: String,
    pub token: String,
}

/// A response.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Got {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{self:?}: {e}"))
    }

    /// The data of its events.
    #[track_caller]
    pub fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]").map(|d| serde_json::from_str(d).unwrap()).collect()
    }
}

impl Server {
    #[track_caller]
    pub fn start(home: &Home) -> Self {
        Self::start_with(home, &[], &[])
    }

    #[track_caller]
    pub fn start_with(home: &Home, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut process = Command::new(PROGRAM)
            .args(["serve", "--port", "0"])
            .args(args)
            .env_clear()
            .env("INGLENOOK_HOME", home.data())
            .env("HOME", home.dir.path())
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix("/v1"));
        let address = address.unwrap_or_else(|| panic!("not an address: {line:?}")).to_owned();
        let token = std::fs::read_to_string(home.data().join("serve-token")).unwrap_or_default();
        Self { process, address, token: token.trim().to_owned() }
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(2))).unwrap();
        stream
    }

    /// Sends bytes as they are, and reads until the server closes.
    pub fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // The server may answer, and close, before it has all of it.
        let _ = stream.write_all(bytes);
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The bytes of a request with this server's token.
    pub fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
        self.request_with(&self.token, method, path, headers, body)
    }

    pub fn request_with(
        &self,
        token: &str,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> Vec<u8> {
        format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            self.address,
            token,
            body.len()
        )
        .into_bytes()
    }

    pub fn got(&self, bytes: &[u8]) -> Got {
        let text = self.raw(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or_default();
        let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body = if is_chunked { unchunked(body) } else { body.to_owned() };
        Got { status, head: head.to_owned(), body }
    }

    pub fn get(&self, path: &str) -> Got {
        self.got(&self.request("GET", path, "", ""))
    }

    pub fn post(&self, path: &str, body: &Value) -> Got {
        self.got(&self.request("POST", path, "", &body.to_string()))
    }

    /// A chat completion's fields beside the model and one message.
    pub fn say(&self, text: &str, mut fields: Value) -> Got {
        fields["model"] = "inglenook".into();
        fields["messages"] = json!([{"role": "user", "content": text}]);
        self.post("/v1/chat/completions", &fields)
    }

    /// What a metric counts.
    #[track_caller]
    pub fn metric(&self, name: &str) -> u64 {
        let text = self.get("/metrics").body;
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse().unwrap()
    }

    #[track_caller]
    pub fn wait_for(&self, name: &str, value: u64) {
        let since = Instant::now();
        while self.metric(name) != value {
            assert!(since.elapsed() < Duration::from_mins(1), "{name} is not {value}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Asks it to stop, and waits; an orderly end is exit code 0.
    #[track_caller]
    pub fn end(mut self) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let n = usize::from_str_radix(size, 16).unwrap_or(0);
        if n == 0 || rest.len() < n {
            break;
        }
        whole += &rest[..n];
        body = rest[n..].trim_start_matches("\r\n");
    }
    whole
}
