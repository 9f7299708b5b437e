//! What a program asks for: the bodies of `/v1/chat/completions`, `/v1/responses` and `/v1/embeddings`.
//!
//! What can't be done is refused; the penalties of OpenAI's sampling, and what only concerns its own service, are left aside.

use axum::http::HeaderMap;
use serde_json::{Map, Value, json};

use super::error::ApiError;
use crate::grammar::Constraint;

const N_LINES_MAX: usize = 4_096;
const N_STOPS_MAX: usize = 4;
const STOP_BYTES_MAX: usize = 256;
const N_INPUTS_MAX: usize = 2_048;

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// Instructions.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// By whom.
    pub author: Author,
    /// Verbatim.
    pub text: String,
}

/// A reply that is asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The model's name; one or another may be served.
    pub model: String,
    /// Oldest first; the last is the user's.
    pub lines: Vec<Line>,
    /// At most so many tokens.
    pub tokens_max: Option<usize>,
    /// In 0 to 2.
    pub temperature: Option<f32>,
    /// In 0 to 1.
    pub top_p: Option<f32>,
    /// The same seed, the same reply.
    pub seed: Option<u64>,
    /// Where the reply ends; none of them is in it.
    pub stops: Vec<String>,
    /// The form of the reply.
    pub form: Option<Constraint>,
    /// With memory.
    pub memory: Option<Memory>,
    /// As it is written.
    pub(super) streams: bool,
    /// Streamed, with what it took.
    pub(super) counts: bool,
}

/// How memory takes part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// The chat that this goes on; without it, the one in which all that comes before was said, or a new one.
    pub session: Option<String>,
}

type Body = Map<String, Value>;

/// A field that is there and not null.
fn field<'a>(body: &'a Body, name: &str) -> Option<&'a Value> {
    body.get(name).filter(|value| !value.is_null())
}

fn number(body: &Body, name: &str, min: f64, max: f64) -> Result<Option<f64>, ApiError> {
    let Some(value) = field(body, name) else { return Ok(None) };
    match value.as_f64().filter(|n| (min..=max).contains(n)) {
        Some(n) => Ok(Some(n)),
        None => {
            Err(ApiError::field(name, format!("`{name}` has to be a number from {min} to {max}.")))
        }
    }
}

fn count(body: &Body, name: &str) -> Result<Option<usize>, ApiError> {
    let Some(value) = field(body, name) else { return Ok(None) };
    match value.as_u64().filter(|&n| n > 0) {
        Some(n) => Ok(Some(usize::try_from(n).unwrap_or(usize::MAX))),
        None => Err(ApiError::field(name, format!("`{name}` has to be a whole number above 0."))),
    }
}

fn flag(body: &Body, name: &str) -> Result<bool, ApiError> {
    match field(body, name) {
        None => Ok(false),
        Some(Value::Bool(is_set)) => Ok(*is_set),
        Some(_) => Err(ApiError::field(name, format!("`{name}` has to be true or false."))),
    }
}

fn model(body: &Body) -> Result<String, ApiError> {
    match field(body, "model") {
        Some(Value::String(name)) => Ok(name.clone()),
        _ => Err(ApiError::field(
            "model",
            "`model` has to name a model (GET /v1/models lists them).",
        )),
    }
}

/// What is never done, whatever it is asked as.
fn refuse_impossible(body: &Body) -> Result<(), ApiError> {
    let asks = |name: &str| match field(body, name) {
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(fields)) => !fields.is_empty(),
        Some(Value::Number(n)) => n.as_u64() != Some(0),
        Some(value) => *value == Value::Bool(true),
        None => false,
    };
    for name in ["tools", "functions", "logit_bias", "logprobs", "audio", "background", "prompt"] {
        if asks(name) {
            return Err(ApiError::field(
                name,
                format!("`{name}` is not offered here: leave it out."),
            ));
        }
    }
    if field(body, "previous_response_id").is_some() || field(body, "conversation").is_some() {
        let message =
            "Responses are not kept here: send what was said as `input`, or use \"memory\": true.";
        return Err(ApiError::field("previous_response_id", message));
    }
    match field(body, "n") {
        Some(n) if n.as_u64() != Some(1) => {
            Err(ApiError::field("n", "Only one reply is given (`n`: 1)."))
        }
        _ => Ok(()),
    }
}

/// `/v1/chat/completions`.
///
/// # Errors
/// 400, if a field is wrong or asks for what is not done here.
pub(super) fn chat(body: &Body, headers: &HeaderMap) -> Result<Asked, ApiError> {
    refuse_impossible(body)?;
    let listed = field(body, "messages").and_then(Value::as_array);
    let lines = listed.map(|messages| lines("messages", messages)).transpose()?.unwrap_or_default();
    let form = field(body, "response_format").map(|format| {
        form("response_format", format, |f| f.get("json_schema").and_then(|of| of.get("schema")))
    });
    let options = field(body, "stream_options").and_then(Value::as_object);
    Ok(Asked {
        model: model(body)?,
        lines: ended_by_user("messages", lines)?,
        tokens_max: count(body, "max_completion_tokens")?.or(count(body, "max_tokens")?),
        stops: stops(body)?,
        form: form.transpose()?.flatten(),
        counts: options
            .is_some_and(|options| options.get("include_usage") == Some(&Value::Bool(true))),
        ..common(body, headers)?
    })
}

/// `/v1/responses`.
///
/// # Errors
/// As [`chat`].
pub(super) fn responses(body: &Body, headers: &HeaderMap) -> Result<Asked, ApiError> {
    refuse_impossible(body)?;
    let mut said = match field(body, "input") {
        Some(Value::String(text)) => vec![Line { author: Author::User, text: text.clone() }],
        Some(Value::Array(items)) => lines("input", items)?,
        _ => {
            return Err(ApiError::field(
                "input",
                "`input` has to be a text, or a list of messages.",
            ));
        }
    };
    if let Some(instructions) = field(body, "instructions").and_then(Value::as_str) {
        said.insert(0, Line { author: Author::System, text: instructions.to_owned() });
    }
    let format = field(body, "text").and_then(|text| text.get("format"));
    let form = format.map(|format| form("text.format", format, |f| f.get("schema")));
    Ok(Asked {
        model: model(body)?,
        lines: ended_by_user("input", said)?,
        tokens_max: count(body, "max_output_tokens")?,
        form: form.transpose()?.flatten(),
        ..common(body, headers)?
    })
}

/// What both have.
fn common(body: &Body, headers: &HeaderMap) -> Result<Asked, ApiError> {
    let seed = match field(body, "seed") {
        None => None,
        Some(seed) => match seed.as_i64() {
            Some(seed) => Some(seed.cast_unsigned()),
            None => return Err(ApiError::field("seed", "`seed` has to be a whole number.")),
        },
    };
    Ok(Asked {
        model: String::new(),
        lines: Vec::new(),
        tokens_max: None,
        temperature: number(body, "temperature", 0.0, 2.0)?.map(|n| n as f32),
        top_p: number(body, "top_p", 0.0, 1.0)?.map(|n| n as f32),
        seed,
        stops: Vec::new(),
        form: None,
        memory: memory(body, headers)?,
        streams: flag(body, "stream")?,
        counts: false,
    })
}

/// `"memory": true`, `"memory": {"session": "c3"}`, or the headers of the same meaning.
fn memory(body: &Body, headers: &HeaderMap) -> Result<Option<Memory>, ApiError> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let session = header("x-inglenook-session").map(str::to_owned);
    match field(body, "memory") {
        Some(Value::Bool(true)) => Ok(Some(Memory { session })),
        Some(Value::Bool(false)) => Ok(None),
        Some(Value::Object(fields)) => {
            let named = fields.get("session").and_then(Value::as_str).map(str::to_owned);
            Ok(Some(Memory { session: named.or(session) }))
        }
        Some(_) => Err(ApiError::field(
            "memory",
            "`memory` has to be true, false or {\"session\": \"c3\"}.",
        )),
        None => match header("x-inglenook-memory").map(str::trim) {
            Some("true" | "1") => Ok(Some(Memory { session })),
            None | Some("false" | "0") => Ok(None),
            Some(_) => Err(ApiError::new(400, "X-Inglenook-Memory has to be true or false.")),
        },
    }
}

fn lines(param: &str, items: &[Value]) -> Result<Vec<Line>, ApiError> {
    if items.len() > N_LINES_MAX {
        return Err(ApiError::field(param, format!("There are more than {N_LINES_MAX} messages.")));
    }
    items.iter().enumerate().map(|(n, item)| line(&format!("{param}[{n}]"), item)).collect()
}

fn line(param: &str, item: &Value) -> Result<Line, ApiError> {
    let author = match item.get("role").and_then(Value::as_str) {
        Some("system" | "developer") => Author::System,
        Some("user") => Author::User,
        Some("assistant") => Author::Assistant,
        _ => {
            let message = "`role` has to be system, developer, user or assistant.";
            return Err(ApiError::field(param, message));
        }
    };
    let text = match item.get("content") {
        None | Some(Value::Null) if author == Author::Assistant => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let part = |part: &Value| match part.get("type").and_then(Value::as_str) {
                Some("text" | "input_text" | "output_text") => {
                    part.get("text")?.as_str().map(str::to_owned)
                }
                _ => None,
            };
            let texts: Option<Vec<String>> = parts.iter().map(part).collect();
            match texts {
                Some(texts) => texts.concat(),
                None => return Err(ApiError::field(param, "Only parts of text can be read here.")),
            }
        }
        _ => return Err(ApiError::field(param, "`content` has to be a text, or a list of parts.")),
    };
    Ok(Line { author, text })
}

fn ended_by_user(param: &str, lines: Vec<Line>) -> Result<Vec<Line>, ApiError> {
    let last = lines.last();
    if last.is_some_and(|line| line.author == Author::User && !line.text.trim().is_empty()) {
        return Ok(lines);
    }
    Err(ApiError::field(param, format!("`{param}` has to end with something that the user says.")))
}

fn stops(body: &Body) -> Result<Vec<String>, ApiError> {
    let stops: Option<Vec<String>> = match field(body, "stop") {
        None => Some(Vec::new()),
        Some(Value::String(stop)) => Some(vec![stop.clone()]),
        Some(Value::Array(stops)) => stops.iter().map(|s| s.as_str().map(str::to_owned)).collect(),
        Some(_) => None,
    };
    let is_good = |stop: &String| !stop.is_empty() && stop.len() <= STOP_BYTES_MAX;
    stops.filter(|stops| stops.len() <= N_STOPS_MAX && stops.iter().all(is_good)).ok_or_else(|| {
        let wanted = format!("`stop` has to be a text of 1 to {STOP_BYTES_MAX} bytes, or up to {N_STOPS_MAX} of them.");
        ApiError::field("stop", wanted)
    })
}

fn form<'a>(
    param: &str,
    format: &'a Value,
    schema: impl Fn(&'a Value) -> Option<&'a Value>,
) -> Result<Option<Constraint>, ApiError> {
    let any = json!({"type": "object"});
    let schema = match format.get("type").and_then(Value::as_str) {
        Some("text") => return Ok(None),
        Some("json_object") => &any,
        Some("json_schema") => {
            schema(format).ok_or_else(|| ApiError::field(param, "The schema is missing."))?
        }
        _ => {
            return Err(ApiError::field(
                param,
                "`type` has to be text, json_object or json_schema.",
            ));
        }
    };
    let refused = |error: crate::grammar::SchemaError| ApiError::field(param, format!("{error}."));
    Constraint::json(schema).map(Some).map_err(refused)
}

/// What is to become vectors.
#[derive(Debug)]
pub(super) struct Embedded {
    pub model: String,
    pub texts: Vec<String>,
    pub dimensions: Option<usize>,
    pub in_base64: bool,
}

/// `/v1/embeddings`.
///
/// # Errors
/// As [`chat`].
pub(super) fn embeddings(body: &Body) -> Result<Embedded, ApiError> {
    let texts: Option<Vec<String>> = match field(body, "input") {
        Some(Value::String(text)) => Some(vec![text.clone()]),
        Some(Value::Array(texts)) => texts.iter().map(|t| t.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    let fits = |texts: &Vec<String>| (1..=N_INPUTS_MAX).contains(&texts.len());
    let texts = texts.filter(fits).ok_or_else(|| {
        ApiError::field(
            "input",
            format!("`input` has to be a text, or 1 to {N_INPUTS_MAX} of them."),
        )
    })?;
    let in_base64 = match field(body, "encoding_format").map(Value::as_str) {
        None | Some(Some("float")) => false,
        Some(Some("base64")) => true,
        _ => {
            return Err(ApiError::field(
                "encoding_format",
                "`encoding_format` has to be float or base64.",
            ));
        }
    };
    Ok(Embedded { model: model(body)?, texts, dimensions: count(body, "dimensions")?, in_base64 })
}
