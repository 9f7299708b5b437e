//! What went wrong, in OpenAI's form: a status and `{"error": {"message", "type", "param", "code"}}`.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// Of HTTP.
    pub status: u16,
    /// What programs tell errors apart by; often none.
    pub code: Option<&'static str>,
    /// The field of the request that is wrong.
    pub param: Option<String>,
    /// What failed, why, and what to do.
    pub message: String,
}

impl ApiError {
    /// With a status and a message alone.
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, code: None, param: None, message: message.into() }
    }

    /// A field of the request is wrong.
    pub fn field(param: &str, message: impl Into<String>) -> Self {
        Self { param: Some(param.to_owned()), ..Self::new(400, message) }
    }

    /// Nobody has this token. It says nothing of who has others.
    pub fn wrong_token() -> Self {
        let message = "The token is missing or wrong: it goes as the API key (`Authorization: Bearer …`), and the file that `inglenook serve` names at its start holds it.";
        Self { code: Some("invalid_api_key"), ..Self::new(401, message) }
    }

    /// Other programs are kept from the memory.
    pub fn forbidden_memory() -> Self {
        Self::new(403, "Other programs can't use the memory here, by this machine's policy.")
    }

    /// The prompt and a reply don't fit the model's context.
    pub fn too_long(message: impl Into<String>) -> Self {
        Self { code: Some("context_length_exceeded"), ..Self::field("messages", message) }
    }

    /// As programs read it.
    pub fn to_json(&self) -> Value {
        let kind = match self.status {
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        let Self { code, param, message, .. } = self;
        json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = json_response(status, &self.to_json());
        let header = match self.status {
            401 => (header::WWW_AUTHENTICATE, "Bearer"),
            429 | 503 => (header::RETRY_AFTER, "1"),
            _ => return response,
        };
        response.headers_mut().insert(header.0, HeaderValue::from_static(header.1));
        response
    }
}

/// A response of JSON.
pub(super) fn json_response(status: StatusCode, value: &Value) -> Response {
    response(status, "application/json", value.to_string())
}

pub(super) fn response(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    // What was said is nobody's to keep.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
