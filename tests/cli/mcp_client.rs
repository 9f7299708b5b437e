//! A client of `inglenook mcp` that speaks revision 2026-07-28.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use inglenook::mcp::schema::validate;
use serde_json::{Value, json};

use super::Home;

/// A client of a running server.
pub struct Client {
    server: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    last_id: u64,
    pub tools: Vec<Value>,
}

impl Client {
    pub fn start(home: &Home) -> Self {
        Self::start_with(home, &[], &[])
    }

    pub fn start_with(home: &Home, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut server = Command::new(super::PROGRAM)
            .arg("mcp")
            .args(args)
            .env_clear()
            .env("INGLENOOK_HOME", home.data())
            .env("HOME", home.dir.path())
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (to, from) = (server.stdin.take(), server.stdout.take().unwrap());
        let from = BufReader::new(from);
        let mut client = Self { server, to, from, last_id: 0, tools: Vec::new() };
        let listed = client.result("tools/list", json!({}));
        client.tools.clone_from(listed["tools"].as_array().unwrap());
        client
    }

    pub fn send(&mut self, line: &str) {
        self.to.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    #[track_caller]
    pub fn next(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?}: {e}"))
    }

    /// The reply to a request of revision 2026-07-28.
    #[track_caller]
    pub fn ask(&mut self, method: &str, mut params: Value) -> Value {
        self.last_id += 1;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test-agent", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let id = self.last_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&request.to_string());
        let reply = self.next();
        assert_eq!(reply["id"], id, "{reply}");
        reply
    }

    #[track_caller]
    pub fn result(&mut self, method: &str, params: Value) -> Value {
        let mut reply = self.ask(method, params);
        assert!(reply.get("error").is_none(), "{method}: {reply}");
        reply["result"].take()
    }

    /// What a tool answers, checked against its own schema, and its text.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> (Value, String) {
        let params = json!({"name": tool, "arguments": arguments});
        let mut result = self.result("tools/call", params);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        let schema = self.tools.iter().find(|t| t["name"] == tool).unwrap();
        let fits = validate(&schema["outputSchema"], &result["structuredContent"]);
        assert_eq!(fits, Ok(()), "{tool}: {result}");
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        (result["structuredContent"].take(), text)
    }

    /// Why a tool failed.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let params = json!({"name": tool, "arguments": arguments});
        let result = self.result("tools/call", params);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        assert!(result.get("structuredContent").is_none(), "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Ends as a client does, by closing the input.
    #[track_caller]
    pub fn end(mut self) {
        drop(self.to.take());
        assert!(self.server.wait().unwrap().success());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
