//! The Model Context Protocol: as a server speaks it, over lines of JSON-RPC or HTTP, and as a client of servers that it starts.
//!
//! Two eras at once (`docs/decisions/028-own-json-rpc-for-mcp.md`): since revision 2026-07-28 every request carries its
//! version and nothing is remembered between two of them; before, a client begins with `initialize`. What a server offers is
//! a [`Service`]; nothing here knows a memory, a file or a model.
//!
//! - `message`: bytes → requests, notifications, and what is none → the error that the protocol wants.
//! - `protocol`: a request → what is to be done, in either era.
//! - [`http`]: one message, answered in its response.
//! - `stdio`: lines in and out, one request worked on at a time, bounded in every direction.
//! - `schema`: the part of JSON Schema that the tools use.
//! - `client`: one server that was started here; `servers`: all that a file names.

mod client;
pub mod http;
mod message;
mod protocol;
pub mod schema;
mod servers;
mod stdio;

use std::time::Duration;

use serde_json::{Map, Value};

use crate::interfaces::Cancel;

pub use servers::{Offered, ServerConfig, ServerState, Servers, Tool, read_servers};
pub use stdio::serve;

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// For a model to read.
    pub text: String,
    /// The same by the tool's output schema; `None` if it failed.
    pub structured: Option<Value>,
    /// Whether the tool failed: then the text says why, and what to do.
    pub is_error: bool,
}

impl ToolResult {
    /// A failure, in words for a model.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), structured: None, is_error: true }
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// As the protocol has them.
    pub items: Vec<Value>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// Why a resource can't be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The request itself is wrong: there is no such resource or page.
    Request(String),
    /// Something failed here.
    Failed(String),
}

/// Who asks: self-reported, for labels only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The client program's name.
    pub name: Option<String>,
}

/// What a server offers. Methods other than the lists are called one at a time.
pub trait Service: Send + Sync {
    /// For the client's model: what this is for.
    fn instructions(&self) -> &str;

    /// The tools, as `tools/list` shows them: always the same.
    fn tools(&self) -> &[Value];

    /// Runs a tool of that list, with arguments that fit its input schema. When `cancel` is set, nobody waits for the result.
    fn call(
        &self,
        caller: &Caller,
        tool: &str,
        arguments: &Map<String, Value>,
        cancel: &Cancel,
    ) -> ToolResult;

    /// Templates of resources, as `resources/templates/list` shows them.
    fn templates(&self) -> &[Value];

    /// A page of the resources; `cursor` is the last page's `next`.
    ///
    /// # Errors
    /// If there is no such page, or something fails.
    fn resources(&self, cursor: Option<&str>) -> Result<Page, Refusal>;

    /// A resource's `contents`.
    ///
    /// # Errors
    /// If there is no such resource, or something fails.
    fn read(&self, uri: &str) -> Result<Value, Refusal>;

    /// How long to wait for the next request before [`Service::rest`]; `None` if there is nothing to do.
    fn rests_after(&self) -> Option<Duration>;

    /// Does what is left to do while nobody asks; `cancel` is set as soon as somebody does.
    fn rest(&self, cancel: &Cancel);
}
