//! Who is let in, and who answers them.

use std::sync::{Arc, PoisonError, RwLock};

use axum::http::{HeaderMap, header};
use subtle::ConstantTimeEq as _;

use super::Service;
use super::error::ApiError;

/// Tokens, one of which has to come with every request but `/health`, and what answers whoever has it.
pub type Keys = Vec<(String, Arc<dyn Service>)>;

/// Who may ask.
#[derive(Clone)]
pub struct Access {
    /// They may change meanwhile.
    pub keys: Arc<RwLock<Keys>>,
    /// Each of them has their share of the server.
    pub is_for_many: bool,
    /// Only this machine: requests that were meant for another name are refused, as a web page's would be whose name was made to
    /// lead here.
    pub is_local: bool,
}

impl Access {
    /// What answers the request; nobody in particular where no token is needed.
    pub(super) fn let_in(
        &self,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<Option<Arc<dyn Service>>, ApiError> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        if self.is_local && !text(header::HOST).is_some_and(is_this_machine) {
            let message =
                "The Host header has to be 127.0.0.1 or localhost: only this machine is served.";
            return Err(ApiError::new(403, message));
        }
        if path == "/health" {
            return Ok(None);
        }
        let given = text(header::AUTHORIZATION).and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let given = given.ok_or_else(ApiError::wrong_token)?;
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let mut found = None;
        // All of them, so that the time does not tell which came close.
        for (token, service) in &*keys {
            if bool::from(given.as_bytes().ct_eq(token.as_bytes())) {
                found = Some(Arc::clone(service));
            }
        }
        found.map(Some).ok_or_else(ApiError::wrong_token)
    }
}

pub(super) fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|local| name.eq_ignore_ascii_case(local))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_local() {
        for host in
            ["127.0.0.1", "127.0.0.1:8462", "localhost:1", "LOCALHOST", "[::1]:8462", "[::1]"]
        {
            assert!(is_this_machine(host), "{host}");
        }
        for host in
            ["", "evil.example", "127.0.0.1.evil.example", "localhost:x", "127.0.0.1:80:90", "::1"]
        {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
