//! `inglenook mcp`: the memory for other programs, by the Model Context Protocol over stdin and stdout; `serve` offers it over HTTP.
//!
//! What is offered is in `assets/mcp/`; the protocol itself is [`crate::mcp`]. What a tool returns is data with its date and
//! with whose word it is; what a program notes is its own word, whomever it quotes ([`Origin::Agent`](crate::memory::Origin)).

mod home;
mod reading;
mod resources;
mod units;
mod writing;

use std::borrow::Cow;
use std::io::IsTerminal as _;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use self::home::Home;
#[cfg(feature = "server")]
pub use self::home::Readers;
use super::App;
use super::report::{self, Failure, Outcome, done as ended};
use crate::interfaces::{Cancel, ModelError};
use crate::mcp::{self, Caller, Page, Refusal, Service, ToolResult};
use crate::memory::plain_text;
use crate::recall::RecallError;
use crate::store::{AnyId, StoreError};

/// What is offered, as the lists show it.
#[derive(Deserialize)]
struct Offer {
    tools: Vec<Value>,
    templates: Vec<Value>,
}

static OFFER: LazyLock<Offer> = LazyLock::new(|| {
    // A test reads it.
    serde_json::from_str(include_str!("../../../assets/mcp/offer.json"))
        .unwrap_or(Offer { tools: Vec::new(), templates: Vec::new() })
});

const INSTRUCTIONS: &str = include_str!("../../../assets/mcp/instructions.txt");

pub fn run(app: &App, read_only: bool) -> Outcome {
    if std::io::stdin().is_terminal() {
        app.console.note(
            "This speaks the Model Context Protocol with the program that starts it: docs/mcp.md says how to set one up. Ctrl+D ends it.",
        );
        // While the terminal is still there to ask for a passphrase on.
        app.open_read_only()?;
    }
    let server = Server::new(app, read_only);
    mcp::serve(&server, std::io::stdin(), std::io::stdout()).map_err(|e| match e.kind() {
        std::io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
        _ => Failure::Output(e),
    })?;
    ended()
}

/// The memory as a service.
pub struct Server<'a> {
    home: Home<'a>,
    tools: Vec<Value>,
    /// Something was noted or forgotten, of which the memory is still to be built.
    is_behind: AtomicBool,
}

impl<'a> Server<'a> {
    fn new(app: &'a App, read_only: bool) -> Self {
        Self::of(Home::new(app, None), read_only)
    }

    /// With models that are loaded already.
    #[cfg(feature = "server")]
    pub fn with_readers(app: &'a App, readers: Readers) -> Self {
        Self::of(Home::new(app, Some(readers)), false)
    }

    fn of(home: Home<'a>, read_only: bool) -> Self {
        let offered = |tool: &&Value| !read_only || tool["annotations"]["readOnlyHint"] == true;
        let tools = OFFER.tools.iter().filter(offered).cloned().collect();
        Self { home, tools, is_behind: AtomicBool::new(false) }
    }

    fn answer(
        &self,
        caller: &Caller,
        tool: &str,
        args: &Map<String, Value>,
        cancel: &Cancel,
    ) -> Answered {
        let home = &self.home;
        match tool {
            "recall" => reading::recall(home, args, cancel),
            "search" => reading::search(home, args),
            "fetch" => reading::fetch(home, args),
            "recent" => reading::recent(home, args),
            "themes" => reading::themes(home, args),
            "why" => reading::why(home, args),
            "remember" => writing::remember(home, caller, args),
            "forget" => writing::forget(home, args),
            _ => Err(Mistake(format!("there is no tool {tool:?}")).into()),
        }
    }
}

impl Service for Server<'_> {
    fn instructions(&self) -> &str {
        INSTRUCTIONS.trim_end()
    }

    fn tools(&self) -> &[Value] {
        &self.tools
    }

    fn call(
        &self,
        caller: &Caller,
        tool: &str,
        arguments: &Map<String, Value>,
        cancel: &Cancel,
    ) -> ToolResult {
        match self.answer(caller, tool, arguments, cancel) {
            Ok(result) => {
                if matches!(tool, "remember" | "forget") {
                    self.is_behind.store(true, Ordering::Relaxed);
                }
                result
            }
            Err(NoAnswer::Mistake(Mistake(what))) => ToolResult::error(plain(&what)),
            Err(NoAnswer::Failure(failure)) => {
                let text = described(&failure);
                self.home.app.console.warn(&format!("{tool}: {text}"));
                ToolResult::error(text)
            }
        }
    }

    fn templates(&self) -> &[Value] {
        &OFFER.templates
    }

    fn resources(&self, cursor: Option<&str>) -> Result<Page, Refusal> {
        resources::list(&self.home, cursor)
    }

    fn read(&self, uri: &str) -> Result<Value, Refusal> {
        resources::read(&self.home, uri)
    }

    fn rests_after(&self) -> Option<Duration> {
        /// Programs ask several things in a row.
        const PAUSE: Duration = Duration::from_secs(2);
        self.is_behind.load(Ordering::Relaxed).then_some(PAUSE)
    }

    fn rest(&self, cancel: &Cancel) {
        self.is_behind.store(false, Ordering::Relaxed);
        match self.home.build(cancel) {
            Ok(is_behind) => self.is_behind.store(is_behind, Ordering::Relaxed),
            Err(failure) => self.home.app.console.warn(&described(&failure)),
        }
    }
}

/// Why a tool has no answer.
enum NoAnswer {
    /// The caller's, who can mend it.
    Mistake(Mistake),
    Failure(Failure),
}

/// What is wrong with a call, in words for the model that made it.
#[derive(Debug)]
struct Mistake(String);

type Answered = Result<ToolResult, NoAnswer>;

impl From<Mistake> for NoAnswer {
    fn from(mistake: Mistake) -> Self {
        Self::Mistake(mistake)
    }
}

impl<E: Into<Failure>> From<E> for NoAnswer {
    fn from(error: E) -> Self {
        Self::Failure(error.into())
    }
}

impl From<RecallError> for Failure {
    fn from(error: RecallError) -> Self {
        match error {
            RecallError::Store(error) => error.into(),
            RecallError::Model(error) => error.into(),
            RecallError::Cancelled => ModelError::Cancelled.into(),
        }
    }
}

/// What failed, why, and what to do, in words.
fn described(failure: &Failure) -> String {
    plain(&report::text_of(failure))
}

/// Without what a reader would not see: a memory may be hostile.
fn plain(text: &str) -> String {
    plain_text(text).into_owned()
}

/// Likewise, every text of it.
pub(super) fn plain_value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(plain) = plain_text(text) {
                *text = plain;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain_value),
        Value::Object(fields) => fields.values_mut().for_each(plain_value),
        _ => {}
    }
}

fn done(text: String, mut structured: Value) -> Answered {
    plain_value(&mut structured);
    Ok(ToolResult { text: plain(&text), structured: Some(structured), is_error: false })
}

fn optional<'a>(args: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    args.get(name).and_then(Value::as_str)
}

/// A text that the schema requires.
fn text_of<'a>(args: &'a Map<String, Value>, name: &str) -> &'a str {
    optional(args, name).unwrap_or_default()
}

/// A number that the schema bounds.
fn number(args: &Map<String, Value>, name: &str, default: usize) -> usize {
    args.get(name).and_then(Value::as_f64).map_or(default, |n| n as usize)
}

fn id_of(args: &Map<String, Value>) -> Result<AnyId, Mistake> {
    let text = text_of(args, "id").trim();
    // Also as a resource's address.
    let bare = text.rsplit('/').next().unwrap_or(text);
    bare.parse().map_err(|_: StoreError| {
        Mistake(
            "`id` looks like t2 (theme), s31 (fact), e4 (episode), m12 (message) or c3 (session)."
                .into(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_described_for_programs_and_people() {
        let names: Vec<&str> = OFFER.tools.iter().filter_map(|t| t["name"].as_str()).collect();
        let wanted = ["recall", "search", "fetch", "remember", "recent", "themes", "why", "forget"];
        assert_eq!(names, wanted);
        for tool in &OFFER.tools {
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
            assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
            assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
            assert_eq!(tool["annotations"]["openWorldHint"], false, "{tool}");
            assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{tool}");
            assert!(tool["description"].as_str().unwrap().len() > 40, "{tool}");
        }
        assert_eq!(OFFER.templates.len(), 2);
    }
}
