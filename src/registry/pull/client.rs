//! Requests to the hub, and to where it redirects: all of the program's network code.
//!
//! Redirects are followed here, one by one: what the hub says of a file stands in the first answer, not in the last; the
//! token goes to the hub alone; and there is an end to them. Nothing is compressed on the way (`identity`): a compressed
//! answer has neither the length nor the ranges of the file.

use std::time::Duration;

use thiserror::Error;
use ureq::http::{HeaderMap, Method, Request, Response, StatusCode, Uri, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body};

/// The hub itself redirects once or twice, a mirror once more.
const REDIRECTS_MAX: usize = 10;
/// Of an answer that says what went wrong.
const MESSAGE_BYTES_MAX: u64 = 4096;

/// Why a request had no useful answer.
#[derive(Debug, Error)]
pub enum HubError {
    #[error(transparent)]
    Transport(#[from] ureq::Error),
    #[error("the connection broke")]
    Broken(#[source] std::io::Error),
    #[error("the server answered {status}: {message}")]
    Status {
        status: StatusCode,
        /// `X-Error-Code` of the hub: `GatedRepo`, `RepoNotFound`, …
        code: String,
        message: String,
        /// `Retry-After`.
        wait: Option<Duration>,
    },
    #[error("the server redirected more than {REDIRECTS_MAX} times, last to {to}")]
    Redirects { to: String },
    #[error("{from} redirects to `{to}`, which can't be followed: {why}")]
    Redirect { from: String, to: String, why: &'static str },
    #[error("the answer ended after {received} of {expected} bytes")]
    Short { received: u64, expected: u64 },
    #[error("the answer is longer than the {expected} bytes that were announced")]
    Long { expected: u64 },
    #[error("the answer is not the part of the file that was asked for")]
    WrongRange,
    #[error("the answer can't be understood: {0}")]
    Malformed(String),
    #[error("the system's certificates can't be used: {0}")]
    Certificates(String),
}

impl HubError {
    /// Whether another attempt may help: connections break, and servers are busy.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Transport(e) => {
                !matches!(
                    e,
                    ureq::Error::BadUri(_)
                        | ureq::Error::HostNotFound
                        | ureq::Error::Tls(_)
                        | ureq::Error::Rustls(_)
                ) && !is_refused(e)
            }
            Self::Status { status, .. } => {
                status.is_server_error() || matches!(status.as_u16(), 408 | 416 | 425 | 429)
            }
            Self::Broken(_) | Self::Short { .. } | Self::Long { .. } | Self::WrongRange => true,
            Self::Redirects { .. }
            | Self::Redirect { .. }
            | Self::Malformed(_)
            | Self::Certificates(_) => false,
        }
    }
}

/// Nobody listens there, or the certificate is not trusted.
fn is_refused(error: &ureq::Error) -> bool {
    use std::io::ErrorKind as K;
    matches!(error, ureq::Error::Io(e) if matches!(e.kind(), K::ConnectionRefused | K::InvalidData))
}

/// Talks to one hub.
pub struct Client {
    agent: Agent,
    endpoint: Uri,
    token: Option<String>,
}

impl Client {
    /// `timeout` is how long the server may be silent.
    pub fn new(endpoint: &str, token: Option<String>, timeout: Duration) -> Result<Self, HubError> {
        let malformed = || HubError::Malformed(format!("`{endpoint}` is not the address of a hub"));
        let endpoint: Uri = endpoint.parse().map_err(|_| malformed())?;
        if !matches!(endpoint.scheme_str(), Some("http" | "https")) || endpoint.host().is_none() {
            return Err(malformed());
        }
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .accept_encoding("identity")
            .user_agent(concat!("inglenook/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(timeout))
            .timeout_connect(Some(timeout))
            .timeout_per_read(Some(timeout))
            .timeout_per_write(Some(timeout))
            .tls_config(TlsConfig::builder().root_certs(root_certificates()?).build())
            .build();
        let token = token.filter(|_| is_private(&endpoint));
        Ok(Self { agent: agent.into(), endpoint, token })
    }

    /// Asks for `url`, from byte `from` on, and follows its redirects until `is_enough` or the last answer. An error unless that
    /// is a success.
    pub fn ask(
        &self,
        method: &Method,
        url: &str,
        from: Option<&str>,
        mut is_enough: impl FnMut(&HeaderMap) -> bool,
    ) -> Result<Response<Body>, HubError> {
        let malformed = |what: &str| HubError::Malformed(format!("`{what}` is not an address"));
        let mut at: Uri = url.parse().map_err(|_| malformed(url))?;
        for _ in 0..=REDIRECTS_MAX {
            let mut request = Request::builder().method(method).uri(at.clone());
            if let Some(range) = from {
                request = request.header(header::RANGE, range);
            }
            if let Some(token) = &self.token
                && is_same_origin(&at, &self.endpoint)
            {
                request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
            }
            let request =
                request.body(()).map_err(|e| HubError::Malformed(format!("the request: {e}")))?;
            let answer = self.agent.run(request)?;
            let status = answer.status();
            if is_enough(answer.headers()) && (status.is_success() || status.is_redirection()) {
                return Ok(answer);
            }
            if status.is_success() {
                return Ok(answer);
            }
            if !status.is_redirection() {
                return Err(failed(answer));
            }
            let to = text(answer.headers(), "location").unwrap_or_default();
            at = follow(&at, to)?;
        }
        Err(HubError::Redirects { to: at.to_string() })
    }
}

/// The system's, so that a company's own certificate counts; Mozilla's where the system has none.
fn root_certificates() -> Result<RootCerts, HubError> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"];
        return match found.errors.first() {
            Some(e) if named.iter().any(|name| std::env::var_os(name).is_some()) => {
                Err(HubError::Certificates(e.to_string()))
            }
            _ => Ok(RootCerts::WebPki),
        };
    }
    Ok(RootCerts::from(found.certs.iter().map(|c| Certificate::from_der(c).to_owned())))
}

/// Whether nobody on the way reads what is sent there.
fn is_private(endpoint: &Uri) -> bool {
    let local = matches!(endpoint.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
    endpoint.scheme_str() == Some("https") || local
}

fn is_same_origin(a: &Uri, b: &Uri) -> bool {
    let port = |uri: &Uri| {
        uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 })
    };
    let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
    a.scheme() == b.scheme() && host(a) == host(b) && port(a) == port(b)
}

/// Where `Location: to` leads from `at`.
fn follow(at: &Uri, to: &str) -> Result<Uri, HubError> {
    let refuse = |why| HubError::Redirect { from: at.to_string(), to: to.to_owned(), why };
    let scheme = at.scheme_str().unwrap_or("https");
    let authority = at.authority().map_or("", |a| a.as_str());
    let full = if to.is_empty() {
        return Err(refuse("it names no address"));
    } else if to.starts_with("//") {
        format!("{scheme}:{to}")
    } else if to.starts_with('/') {
        format!("{scheme}://{authority}{to}")
    } else if to.contains("://") {
        to.to_owned()
    } else {
        let folder = at.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{scheme}://{authority}{folder}/{to}")
    };
    let full = full.split('#').next().unwrap_or_default();
    let next: Uri = full.parse().map_err(|_| refuse("it is not an address"))?;
    match (next.scheme_str(), next.host()) {
        (Some("https"), Some(_)) => Ok(next),
        (Some("http"), Some(_)) if scheme == "http" => Ok(next),
        (Some("http"), Some(_)) => Err(refuse("it leaves the encrypted connection")),
        _ => Err(refuse("it is not an address of the web")),
    }
}

/// A header's text.
pub fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// What an answer that is neither a success nor a redirect says.
fn failed(mut answer: Response<Body>) -> HubError {
    let said = |name| text(answer.headers(), name).unwrap_or_default().to_owned();
    let (code, mut message) = (said("x-error-code"), said("x-error-message"));
    let wait = text(answer.headers(), "retry-after").and_then(|s| s.parse().ok());
    let status = answer.status();
    let is_text =
        text(answer.headers(), "content-type").is_some_and(|t| t.starts_with("text/plain"));
    if message.is_empty() && is_text {
        let body = answer.body_mut().with_config().limit(MESSAGE_BYTES_MAX).read_to_string();
        message = body.unwrap_or_default();
    }
    if message.is_empty() {
        status.canonical_reason().unwrap_or("no reason").clone_into(&mut message);
    }
    HubError::Status { status, code, message, wait: wait.map(Duration::from_secs) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(at: &str, to: &str, expected: Option<&str>) {
        let next = follow(&at.parse().unwrap(), to).ok().map(|uri| uri.to_string());
        assert_eq!(next.as_deref(), expected, "{at} → {to}");
    }

    #[test]
    fn redirects_lead_where_a_browser_would_go_but_not_out_of_encryption() {
        let at = "https://hub/o/m/resolve/main/a.json?x=1";
        check(at, "/api/cache/a?e=%22b%22", Some("https://hub/api/cache/a?e=%22b%22"));
        check(at, "b.json", Some("https://hub/o/m/resolve/main/b.json"));
        check(at, "//cdn/b", Some("https://cdn/b"));
        check(at, "https://cdn:444/b#part", Some("https://cdn:444/b"));
        check(at, "http://cdn/b", None);
        check(at, "file:///etc/passwd", None);
        check(at, "", None);
        check(at, "https://", None);
        check("http://hub/a", "http://hub2/a", Some("http://hub2/a"));
        check("http://hub/a", "https://hub/a", Some("https://hub/a"));
    }

    #[test]
    fn a_token_belongs_to_one_origin() {
        let same = |a: &str, b: &str| is_same_origin(&a.parse().unwrap(), &b.parse().unwrap());
        assert!(same("https://hub/x", "https://HUB:443"));
        for other in ["http://hub", "https://hub:444", "https://hub.evil", "https://evil"] {
            assert!(!same("https://hub", other), "{other}");
        }
        let sends = |endpoint: &str| {
            let client = Client::new(endpoint, Some("t".into()), Duration::from_secs(1)).unwrap();
            client.token.is_some()
        };
        assert!(sends("https://hub") && sends("http://127.0.0.1:9") && !sends("http://hub"));
        assert!(Client::new("ftp://hub", None, Duration::from_secs(1)).is_err());
        assert!(Client::new("hub", None, Duration::from_secs(1)).is_err());
    }
}
