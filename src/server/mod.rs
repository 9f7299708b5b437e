//! OpenAI's protocol and the Model Context Protocol over HTTP: what may be asked, by whom, and in what form the answer comes.
//!
//! A [`Service`] answers. **Invariant:** this knows no memory, file or model.

mod access;
mod error;
mod http;
mod queue;
mod reply;
mod request;

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use base64::Engine as _;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, watch};

use self::access::is_this_machine;
use self::error::{json_response, response};
use self::queue::{Place, Queue, Share, Who};
use self::reply::{Form, Protocol};
use crate::interfaces::Cancel;
use crate::mcp::http as mcp;

pub use self::access::{Access, Keys};
pub use self::error::ApiError;
pub use self::reply::{Ended, Replied};
pub use self::request::{Asked, Author, Line, Memory};

const BODY_BYTES_MAX: usize = 16 << 20;
/// For the whole body of a request.
const BODY_PATIENCE: Duration = Duration::from_mins(1);
/// For work that outlasts its client when the server stops: it is told to end, and saves what was said.
const LEAVE_PATIENCE: Duration = Duration::from_secs(8);

/// What answers. Each call has a thread of its own.
pub trait Service: Send + Sync + 'static {
    /// Names by which the language model can be asked for, the first its own.
    fn models(&self) -> Vec<String>;

    /// Likewise, the embedder.
    fn embedders(&self) -> Vec<String>;

    /// A reply; each piece of it goes to `on_text` as soon as it is there. Ends early, with what there is, once `cancel` is
    /// raised.
    ///
    /// # Errors
    /// If there is none.
    fn reply(
        &self,
        asked: &Asked,
        cancel: &Cancel,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<Replied, ApiError>;

    /// A unit vector for each text, and the number of tokens in all of them.
    ///
    /// # Errors
    /// If the model fails, or `cancel` is raised.
    fn embed(&self, texts: &[String], cancel: &Cancel) -> Result<(Vec<Vec<f32>>, usize), ApiError>;

    /// The answer to a message of the Model Context Protocol. `unique` is a text that no other message has.
    ///
    /// # Errors
    /// If agents are not served.
    fn agent(
        &self,
        head: &mcp::Head,
        body: &[u8],
        unique: &str,
        cancel: &Cancel,
    ) -> Result<mcp::Response, ApiError>;
}

/// What is between a request and its answer.
#[derive(Clone)]
struct Gate {
    queue: Arc<Queue>,
    access: Access,
}

/// What answers a request that was let in.
#[derive(Clone)]
struct Server {
    service: Arc<dyn Service>,
    queue: Arc<Queue>,
}

impl Server {
    fn who(&self) -> Who {
        Arc::as_ptr(&self.service).addr()
    }
}

/// Serves until `stop` is raised, then ends what was begun.
///
/// # Errors
/// If the system can't provide what a server needs.
pub fn serve(listener: TcpListener, access: Access, stop: &Cancel) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let queue = Queue::new(if access.is_for_many { Share::OF_MANY } else { Share::WHOLE });
    let gate = Gate { queue: Arc::clone(&queue), access };
    let served = runtime.block_on(async {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let (stopping, stopped) = watch::channel(false);
        let watched = async {
            while !stop.is_cancelled() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            queue.close();
            let _ = stopping.send(true);
        };
        tokio::join!(watched, http::accept(listener, router(gate), stopped));
        Ok(())
    });
    runtime.shutdown_timeout(LEAVE_PATIENCE);
    served
}

fn router(gate: Gate) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/responses", post(responses))
        .route("/v1/embeddings", post(embeddings))
        .route("/v1/models", get(models))
        .route("/v1/models/{*name}", get(one_model))
        .route("/mcp", post(agent))
        .route("/metrics", get(async |State(gate): State<Gate>| gate.queue.metrics()))
        .route("/health", get(async || json_response(StatusCode::OK, &json!({"status": "ok"}))))
        .fallback(async |request: Request| {
            let message =
                format!("There is no {} {} here.", request.method(), request.uri().path());
            ApiError::new(404, message)
        })
        .method_not_allowed_fallback(async |request: Request| {
            let message = format!("{} has no {}.", request.uri().path(), request.method());
            ApiError::new(405, message)
        })
        .layer(middleware::from_fn_with_state(gate.clone(), admit))
        .with_state(gate)
}

/// Lets in who may ask, and counts.
async fn admit(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    const ROUTES: [&str; 7] = [
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/embeddings",
        "/v1/models",
        "/mcp",
        "/metrics",
        "/health",
    ];
    let path = request.uri().path();
    let route = ROUTES.iter().find(|route| path == **route).copied().unwrap_or("other");
    let response = match gate.access.let_in(path, request.headers()) {
        Err(error) => error.into_response(),
        Ok(service) => {
            let queue = Arc::clone(&gate.queue);
            if let Some(service) = service {
                request.extensions_mut().insert(Server { service, queue });
            }
            next.run(request).await
        }
    };
    gate.queue.count(route, response.status().as_u16());
    response
}

/// Whether a page sent this that is no page of this server: browsers say whose it is, programs say nothing.
fn is_of_a_page(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let Some(origin) = text(header::ORIGIN) else { return false };
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    !is_this_machine(host) && text(header::HOST) != Some(host)
}

/// The body of a request.
async fn whole(body: Body) -> Result<Bytes, ApiError> {
    let read = axum::body::to_bytes(body, BODY_BYTES_MAX);
    match tokio::time::timeout(BODY_PATIENCE, read).await {
        Err(_) => Err(ApiError::new(408, "The request did not come to its end in time.")),
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) => {
            let is_long = std::error::Error::source(&error)
                .is_some_and(|source| source.to_string().contains("length limit"));
            let message = format!("The request is larger than {} MB.", BODY_BYTES_MAX >> 20);
            Err(if is_long {
                ApiError::new(413, message)
            } else {
                ApiError::new(400, "The request broke off.")
            })
        }
    }
}

/// Likewise, an object.
async fn object(body: Body) -> Result<Map<String, Value>, ApiError> {
    match serde_json::from_slice(&whole(body).await?) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(ApiError::new(400, "The request has to be a JSON object.")),
        Err(error) => Err(ApiError::new(400, format!("The request is not JSON: {error}."))),
    }
}

/// The name by which the answer goes.
fn known(asked: &str, names: &[String]) -> Result<String, ApiError> {
    match names {
        [own, ..] if names.iter().any(|name| name == asked) => Ok(own.clone()),
        _ => {
            let message =
                format!("There is no model {asked:?} here. There is: {}.", names.join(", "));
            Err(ApiError {
                code: Some("model_not_found"),
                param: Some("model".into()),
                ..ApiError::new(404, message)
            })
        }
    }
}

async fn chat(
    Extension(server): Extension<Server>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let asked = request::chat(&object(body).await?, &headers)?;
    let protocol = Protocol::Chat { counts: asked.counts };
    answer(server, asked, protocol).await
}

async fn responses(
    Extension(server): Extension<Server>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let asked = request::responses(&object(body).await?, &headers)?;
    answer(server, asked, Protocol::Responses).await
}

enum Told {
    Text(String),
    Done(Result<Replied, ApiError>),
}

async fn answer(server: Server, asked: Asked, protocol: Protocol) -> Result<Response, ApiError> {
    let model = known(&asked.model, &server.service.models())?;
    let form = Form::new(protocol, &fresh_id(), model, now());
    let (mut place, permit) = server.queue.enter(server.who()).await?;
    let streams = asked.streams;
    // A reply is never long, so a slow reader keeps nobody waiting.
    let (tell, mut told) = mpsc::unbounded_channel();
    let cancel = place.cancel.clone();
    tokio::task::spawn_blocking(move || {
        let mut on_text = |piece: &str| {
            if tell.send(Told::Text(piece.to_owned())).is_err() {
                cancel.cancel();
            }
        };
        let replied = server.service.reply(&asked, &cancel, &mut on_text);
        let _ = tell.send(Told::Done(replied));
        drop(permit);
    });
    if streams {
        // An error before the first word is a plain one.
        let first = match told.recv().await.unwrap_or_else(broken) {
            Told::Done(Err(error)) => {
                place.done(None);
                return Err(error);
            }
            first => first,
        };
        return Ok(stream(Stream { form, told, place, first: Some(first), is_over: false }));
    }
    loop {
        if let Told::Done(replied) = told.recv().await.unwrap_or_else(broken) {
            place.done(replied.as_ref().ok());
            return Ok(json_response(StatusCode::OK, &form.whole(&replied?)));
        }
    }
}

/// The thread that answers has panicked.
fn broken() -> Told {
    Told::Done(Err(fault()))
}

fn fault() -> ApiError {
    ApiError::new(500, "An internal error: a bug in inglenook.")
}

/// A reply that is sent while it is written. Dropped with the connection, it ends the work.
struct Stream {
    form: Form,
    told: mpsc::UnboundedReceiver<Told>,
    place: Place,
    first: Option<Told>,
    is_over: bool,
}

fn stream(stream: Stream) -> Response {
    let events = futures_util::stream::unfold(stream, async |mut stream| {
        if stream.is_over {
            return None;
        }
        let (begins, told) = match stream.first.take() {
            Some(first) => (true, first),
            None => (false, stream.told.recv().await.unwrap_or_else(broken)),
        };
        let mut events = if begins { stream.form.opening() } else { String::new() };
        events += &match told {
            Told::Text(text) => stream.form.piece(&text),
            Told::Done(replied) => {
                stream.is_over = true;
                stream.place.done(replied.as_ref().ok());
                stream.form.closing(&replied)
            }
        };
        Some((Ok::<_, Infallible>(events), stream))
    });
    response(StatusCode::OK, "text/event-stream", Body::from_stream(Box::pin(events)))
}

/// Does what is answered at once, when its turn comes; the flag is raised when the client goes away.
async fn in_turn<T: Send + 'static>(
    server: Server,
    work: impl FnOnce(&dyn Service, &Cancel) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let (mut place, permit) = server.queue.enter(server.who()).await?;
    let cancel = place.cancel.clone();
    let done = tokio::task::spawn_blocking(move || {
        let done = work(server.service.as_ref(), &cancel);
        drop(permit);
        done
    });
    let done = done.await.unwrap_or_else(|_| Err(fault()));
    place.done(None);
    done
}

async fn embeddings(
    Extension(server): Extension<Server>,
    body: Body,
) -> Result<Response, ApiError> {
    let asked = request::embeddings(&object(body).await?)?;
    let model = known(&asked.model, &server.service.embedders())?;
    let texts = asked.texts;
    let embedded = in_turn(server, move |service, cancel| service.embed(&texts, cancel)).await;
    let (vectors, n_tokens) = embedded?;
    let length = vectors.first().map_or(0, Vec::len);
    if asked.dimensions.is_some_and(|wanted| wanted != length) {
        let message = format!("{model} gives vectors of {length} dimensions.");
        return Err(ApiError::field("dimensions", message));
    }
    let data: Vec<Value> = vectors
        .iter()
        .enumerate()
        .map(|(index, vector)| {
            let vector: Value = if asked.in_base64 {
                let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
                base64::engine::general_purpose::STANDARD.encode(bytes).into()
            } else {
                vector.iter().copied().collect()
            };
            json!({"object": "embedding", "index": index, "embedding": vector})
        })
        .collect();
    let usage = json!({"prompt_tokens": n_tokens, "total_tokens": n_tokens});
    let listed = json!({"object": "list", "data": data, "model": model, "usage": usage});
    Ok(json_response(StatusCode::OK, &listed))
}

/// A message of an agent, and its answer.
async fn agent(
    Extension(server): Extension<Server>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    if is_of_a_page(&headers) {
        return Err(ApiError::new(403, "Pages of other sites are not served."));
    }
    let text = |name| headers.get(name).map(|v| v.to_str().unwrap_or("?").to_owned());
    let head = mcp::Head {
        version: text("mcp-protocol-version"),
        method: text("mcp-method"),
        name: text("mcp-name"),
        session: text("mcp-session-id"),
    };
    let message = whole(body).await?;
    let answered =
        in_turn(server, move |service, cancel| service.agent(&head, &message, &fresh_id(), cancel));
    let mcp::Response { status, body, session } = answered.await?;
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = match body {
        Some(body) => json_response(status, &body),
        None => status.into_response(),
    };
    if let Some(session) = session.and_then(|session| HeaderValue::from_str(&session).ok()) {
        response.headers_mut().insert("mcp-session-id", session);
    }
    Ok(response)
}

fn described(name: &str) -> Value {
    json!({"id": name, "object": "model", "created": 0, "owned_by": "inglenook"})
}

fn all_models(server: &Server) -> Vec<String> {
    let own = [server.service.models(), server.service.embedders()];
    own.into_iter().filter_map(|names| names.into_iter().next()).collect()
}

async fn models(Extension(server): Extension<Server>) -> Response {
    let data: Vec<Value> = all_models(&server).iter().map(|name| described(name)).collect();
    json_response(StatusCode::OK, &json!({"object": "list", "data": data}))
}

async fn one_model(
    Extension(server): Extension<Server>,
    Path(name): Path<String>,
) -> Result<Response, ApiError> {
    let names = [server.service.models(), server.service.embedders()].concat();
    known(&name, &names)?;
    Ok(json_response(StatusCode::OK, &described(&name)))
}

/// Seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or_default()
}

fn fresh_id() -> String {
    let mut bytes = [0u8; 16];
    // An id is no secret: where there is no randomness, they are all the same.
    let _ = getrandom::fill(&mut bytes);
    format!("{:032x}", u128::from_le_bytes(bytes))
}
