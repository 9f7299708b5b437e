//! Tools in a chat: how a model asks for a call, and what goes back to it (pure).
//!
//! What a tool gives is data. It lives as long as its turn, in the model's window and on the screen; it is no message, so
//! memory never hears of it.

use std::io;

use serde::Serialize as _;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Map, Value, json};

use crate::mcp::{Offered, ServerConfig, ServerState, schema};

/// Calls for one answer.
pub const CALLS_MAX: usize = 5;
/// Of what a server says about a tool.
const DESCRIPTION_CHARS_MAX: usize = 1_000;

/// A call that a model asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub server: String,
    pub tool: String,
    pub arguments: Map<String, Value>,
}

/// What the person says to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    No,
    Once,
    /// For this tool, as long as this chat is open.
    Chat,
}

/// What came of a call: plain text, cut to what the model's window can take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    pub text: String,
    pub is_error: bool,
}

impl CallResult {
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true }
    }
}

/// A call of this turn that is over, as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// What was said before it.
    pub said: String,
    /// The call, as the model wrote it.
    pub written: String,
    pub result: CallResult,
}

/// Whether tools go with a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolUse {
    #[default]
    None,
    Offered,
    /// No more calls: the model is to answer from what it has.
    Over,
    /// Without a call, nothing is to be said: only memory or a tool could know it.
    Required,
}

/// What `/tools` shows.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolsStatus {
    /// The servers; or why there are none.
    pub servers: Result<Vec<(ServerConfig, ServerState)>, String>,
    pub on: bool,
}

/// A reply as it arrives: a call in it is held back, and the first one ends it. A reply that is nothing but a call without its
/// marks (Qwen2.5-Coder, in a fence mostly) is one, too.
#[derive(Debug)]
pub struct CallStream {
    marks: [&'static str; 2],
    held: String,
    call: Option<String>,
    is_whole: bool,
    /// Something was shown.
    is_begun: bool,
}

impl CallStream {
    /// `marks`: what a call stands between.
    pub fn new(marks: [&'static str; 2]) -> Self {
        Self { marks, held: String::new(), call: None, is_whole: false, is_begun: false }
    }

    /// The text that may be shown now.
    pub fn push(&mut self, piece: &str) -> String {
        let [open, close] = self.marks;
        if let Some(call) = &mut self.call {
            if !self.is_whole {
                call.push_str(piece);
                if let Some(end) = call.find(close) {
                    call.truncate(end);
                    self.is_whole = true;
                }
            }
            return String::new();
        }
        self.held.push_str(piece);
        if let Some(at) = self.held.find(open) {
            let call = self.held.split_off(at);
            self.call = Some(String::new());
            self.push(&call[open.len()..]);
            return std::mem::take(&mut self.held);
        }
        if !self.is_begun && may_be_bare(&self.held) {
            return String::new();
        }
        // Its end may become the mark.
        let n_kept = (1..open.len()).rev().find(|&n| self.held.ends_with(&open[..n]));
        let kept = self.held.split_off(self.held.len() - n_kept.unwrap_or(0));
        let shown = std::mem::replace(&mut self.held, kept);
        self.is_begun |= !shown.is_empty();
        shown
    }

    /// The call is complete: the model can stop.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// What was held back although it was no call, and the call, as it was written.
    pub fn finish(self) -> (String, Option<String>) {
        match self.call.or_else(|| bare_call(&self.held).filter(|_| !self.is_begun)) {
            Some(call) => (String::new(), Some(call.trim().to_owned())),
            None => (self.held, None),
        }
    }
}

/// Without the line that opens a fence, as far as that has come.
fn unfenced(text: &str) -> &str {
    let text = text.trim_start();
    match text.strip_prefix("```") {
        Some(fenced) => fenced.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim_start(),
        None => text.trim_start_matches('`'),
    }
}

/// Whether a reply may become a call without marks.
fn may_be_bare(text: &str) -> bool {
    const OPENING: &str = "{\"name\":\"";
    let begun: String = unfenced(text).chars().filter(|c| !c.is_whitespace()).take(9).collect();
    OPENING.starts_with(&begun)
}

/// A reply that is nothing but a call.
fn bare_call(text: &str) -> Option<String> {
    let text = unfenced(text).trim_end().trim_end_matches('`').trim_end();
    let call: Value = serde_json::from_str(text).ok()?;
    (call["name"].is_string() && call["arguments"].is_object()).then(|| text.to_owned())
}

/// The call that a model wrote.
///
/// # Errors
/// Why it is none, in words for the model, which can mend that.
pub fn read_call(written: &str, offered: &[Offered]) -> Result<Call, String> {
    let call: Value = serde_json::from_str(written)
        .map_err(|e| format!("The call is no JSON object with `name` and `arguments`: {e}."))?;
    let name = call["name"].as_str().ok_or("The call has no `name`.")?;
    let Some(Offered { server, tool, .. }) = offered.iter().find(|known| known.called == name)
    else {
        let known: Vec<&str> = offered.iter().map(|known| known.called.as_str()).collect();
        return Err(format!("There is no tool `{name}`. There are: {}.", known.join(", ")));
    };
    let arguments = match call.get("arguments") {
        None | Some(Value::Null) => json!({}),
        // Some models write them as text.
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        Some(arguments) => arguments.clone(),
    };
    let fits = schema::validate(&tool.schema, &arguments);
    match (fits, arguments) {
        (Ok(()), Value::Object(arguments)) => {
            Ok(Call { server: server.clone(), tool: tool.name.clone(), arguments })
        }
        (fits, _) => {
            let why = fits.err().unwrap_or_else(|| "they are no object".into());
            Err(format!("The arguments of `{name}` don't fit: {why}."))
        }
    }
}

/// A call as models have seen calls in training; what is none stays as it is.
pub fn rewritten(written: &str) -> String {
    match serde_json::from_str(written) {
        Ok(call @ Value::Object(_)) => spaced(&call),
        _ => written.to_owned(),
    }
}

/// A tool on a line, as models have seen tools in training: JSON with Python's spaces.
pub fn listed(Offered { called, tool, .. }: &Offered) -> String {
    let description: String = tool.description.chars().take(DESCRIPTION_CHARS_MAX).collect();
    let function = json!({"name": called, "description": description, "parameters": tool.schema});
    spaced(&json!({"type": "function", "function": function}))
}

fn spaced(value: &Value) -> String {
    struct Spaced;
    fn separate<W: ?Sized + io::Write>(writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }
    impl Formatter for Spaced {
        fn begin_array_value<W: ?Sized + io::Write>(
            &mut self,
            writer: &mut W,
            first: bool,
        ) -> io::Result<()> {
            separate(writer, first)
        }
        fn begin_object_key<W: ?Sized + io::Write>(
            &mut self,
            writer: &mut W,
            first: bool,
        ) -> io::Result<()> {
            separate(writer, first)
        }
        fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
            writer.write_all(b": ")
        }
    }
    let mut out = Vec::new();
    // Writing into memory does not fail.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut out, Spaced));
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::mcp::Tool;

    const MARKS: [&str; 2] = ["<tool_call>", "</tool_call>"];

    fn read(pieces: &[&str]) -> (String, Option<String>, bool) {
        let mut stream = CallStream::new(MARKS);
        let mut said: String = pieces.iter().map(|piece| stream.push(piece)).collect();
        let is_whole = stream.is_whole();
        let (rest, call) = stream.finish();
        said.push_str(&rest);
        (said, call, is_whole)
    }

    fn offered() -> Vec<Offered> {
        let schema = json!({
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        });
        let tool = Tool { name: "get.weather".into(), description: "The weather".into(), schema };
        vec![Offered { called: "get_weather".into(), server: "home".into(), tool }]
    }

    #[test]
    fn a_call_is_held_back_and_ends_the_reply() {
        let call = |text: &str| Some(text.to_owned());
        assert_eq!(read(&["Hello", " <b>you"]), ("Hello <b>you".into(), None, false));
        let whole = read(&["I look. <tool", "_call>\n{\"name\"", ": 1}\n</tool_call> and more"]);
        assert_eq!(whole, ("I look. ".into(), call("{\"name\": 1}"), true));
        assert_eq!(read(&["<tool_call>{\"na"]), (String::new(), call("{\"na"), false));
        assert_eq!(read(&["a <tool_cal"]), ("a <tool_cal".into(), None, false));
        for fence in ["", "```json\n", "```\n"] {
            let end = if fence.is_empty() { "" } else { "\n```\n" };
            let bare = format!("{fence}{{\n  \"name\": \"a\",\n  \"arguments\": {{}}\n}}{end}");
            let pieces: Vec<&str> = bare.split_inclusive([' ', '\n', 'j']).collect();
            let call = call("{\n  \"name\": \"a\",\n  \"arguments\": {}\n}");
            assert_eq!(read(&pieces), (String::new(), call, false));
            // Any other code is shown.
            for other in
                ["fn main() {}", "{\"name\": \"Ana\"}", "{\"name\": \"a\", \"arguments\": 1}"]
            {
                let other = format!("{fence}{other}{end}");
                assert_eq!(read(&[&other]), (other, None, false));
            }
        }
        let mut stream = CallStream::new(MARKS);
        assert_eq!(stream.push("```rust\nfn"), "```rust\nfn", "code is not held back");
        let second = read(&["<tool_call>1</tool_call>\n<tool_call>2</tool_call>"]);
        assert_eq!(second, (String::new(), call("1"), true));
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_the_pieces_end(
            text in "(<tool_call>|</tool_call>|<|tool|é|\\{|\n|```|json|\"name\": \"a\"){0,12}", cut in 0usize..60,
        ) {
            let cut = text.floor_char_boundary(cut);
            prop_assert_eq!(read(&[&text]), read(&[&text[..cut], &text[cut..]]));
        }
    }

    #[test]
    fn a_call_names_a_tool_and_its_arguments_fit() {
        #[track_caller]
        fn check(written: &str, expected: Result<&str, &str>) {
            match (read_call(written, &offered()), expected) {
                (Ok(call), Ok(city)) => {
                    assert_eq!((call.server.as_str(), call.tool.as_str()), ("home", "get.weather"));
                    assert_eq!(call.arguments["city"], city);
                }
                (Err(why), Err(expected)) => assert!(why.contains(expected), "{why}"),
                (read, expected) => panic!("{written}: {read:?}, not {expected:?}"),
            }
        }
        check(r#"{"name": "get_weather", "arguments": {"city": "Lund"}}"#, Ok("Lund"));
        check(r#"{"name": "get_weather", "arguments": "{\"city\": \"Lund\"}"}"#, Ok("Lund"));
        check(r#"{"name": "get_weather", "arguments": {}}"#, Err("city: is missing"));
        check(r#"{"name": "get_weather"}"#, Err("city: is missing"));
        check(r#"{"name": "get_weather", "arguments": "Lund"}"#, Err("don't fit"));
        check(r#"{"name": "get_weather", "arguments": [1]}"#, Err("has to be of type object"));
        check(r#"{"name": "rm", "arguments": {}}"#, Err("There are: get_weather."));
        check(r#"{"arguments": {}}"#, Err("no `name`"));
        check(r#"["get_weather"]"#, Err("no `name`"));
        check(r#"{"name": "get_wea"#, Err("no JSON object"));
        check("", Err("no JSON object"));
    }

    #[test]
    fn a_tool_is_listed_as_python_would() {
        let expected = r#"{"type": "function", "function": {"name": "get_weather", "description": "The weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}"#;
        assert_eq!(listed(&offered()[0]), expected);
        assert_eq!(
            spaced(&json!({"a": [1, "é\n", {}], "b": []})),
            r#"{"a": [1, "é\n", {}], "b": []}"#
        );
    }
}
