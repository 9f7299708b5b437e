//! The servers of `mcp.json`, which other programs have in the same form, and what runs of them.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::ToolResult;
use super::client::{Client, ClientError};
use crate::error_chain::error_chain;
use crate::interfaces::Cancel;

/// A server that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// What it is called here.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables that it gets beside the usual ones.
    pub env: Vec<(String, String)>,
}

/// Of a name that is shown and that a model reads.
const NAME_CHARS_MAX: usize = 64;

/// The servers that a file's text names, in its order.
///
/// # Errors
/// What is wrong with it.
pub fn read_servers(text: &str) -> Result<Vec<ServerConfig>, String> {
    #[derive(Deserialize)]
    struct File {
        #[serde(rename = "mcpServers")]
        servers: Map<String, Value>,
    }
    #[derive(Deserialize)]
    struct Server {
        command: Option<String>,
        #[serde(default)]
        args: Vec<String>,
        #[serde(default)]
        env: Map<String, Value>,
        #[serde(default)]
        disabled: bool,
    }
    let file: File = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let mut servers = Vec::new();
    for (name, server) in file.servers {
        let of = |why: String| format!("server `{name}`: {why}");
        let Server { command, args, env, disabled } =
            serde_json::from_value(server).map_err(|e| of(e.to_string()))?;
        if disabled {
            continue;
        }
        if name.is_empty() || name.chars().count() > NAME_CHARS_MAX {
            return Err(of(format!("a name has 1 to {NAME_CHARS_MAX} characters")));
        }
        let command = command.filter(|command| !command.is_empty()).ok_or_else(|| {
            of("it has no `command`; only programs on this machine can be used, no `url`".into())
        })?;
        let text = |(key, value): (String, Value)| match value {
            Value::String(value) => Ok((key, value)),
            _ => Err(of(format!("`env`: `{key}` has to be text"))),
        };
        let env = env.into_iter().map(text).collect::<Result<_, _>>()?;
        servers.push(ServerConfig { name, command, args, env });
    }
    Ok(servers)
}

/// A tool that a server offers.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// As its server has it.
    pub name: String,
    /// For a model; empty if there is none.
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: Value,
}

impl Tool {
    /// From a server's list.
    pub(super) fn read(listed: &Value) -> Option<Self> {
        let name = listed["name"].as_str()?.to_owned();
        let is_usable = !name.is_empty() && name.chars().count() <= NAME_CHARS_MAX;
        let description = listed["description"].as_str().unwrap_or_default().to_owned();
        let schema = listed.get("inputSchema").cloned();
        let schema = schema.unwrap_or_else(|| json!({"type": "object", "properties": {}}));
        is_usable.then_some(Self { name, description, schema })
    }
}

/// A tool under the name by which a model calls it.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    /// Letters, digits, `_` and `-`.
    pub called: String,
    /// Its server's name.
    pub server: String,
    /// The tool.
    pub tool: Tool,
}

/// How a server is.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerState {
    /// Nobody needed it yet.
    Waiting,
    /// With the tools that it offers.
    Running(Vec<Tool>),
    /// It did not start, or did not answer as it should.
    Failed(String),
}

struct Server {
    config: ServerConfig,
    client: Option<Client>,
    state: ServerState,
}

/// All servers, of which those run that were needed. They end with it.
pub struct Servers(Vec<Server>);

impl Servers {
    /// Starts nothing.
    pub fn new(configs: &[ServerConfig]) -> Self {
        let server = |config: &ServerConfig| Server {
            config: config.clone(),
            client: None,
            state: ServerState::Waiting,
        };
        Self(configs.iter().map(server).collect())
    }

    /// How each of them is, with the command that starts it.
    pub fn states(&self) -> Vec<(ServerConfig, ServerState)> {
        self.0.iter().map(|server| (server.config.clone(), server.state.clone())).collect()
    }

    /// Whether some wait to be started.
    pub fn are_waiting(&self) -> bool {
        self.0.iter().any(|server| server.state == ServerState::Waiting)
    }

    /// Starts those that wait, side by side; which of them failed, and why.
    pub fn start(&mut self, cancel: &Cancel) -> Vec<(String, String)> {
        let waiting = self.0.iter_mut().filter(|server| server.state == ServerState::Waiting);
        std::thread::scope(|scope| {
            let starts: Vec<_> =
                waiting.map(|server| scope.spawn(move || server.start(cancel))).collect();
            starts.into_iter().filter_map(|start| start.join().ok().flatten()).collect()
        })
    }

    /// The tools of those that run.
    pub fn tools(&self) -> Vec<Offered> {
        let mut taken = HashSet::new();
        let mut offered = Vec::new();
        for server in &self.0 {
            let ServerState::Running(tools) = &server.state else { continue };
            for tool in tools {
                // Two servers may name a tool alike.
                let mut called = plain_name(&tool.name);
                if !taken.insert(called.clone()) {
                    called = plain_name(&format!("{}_{}", server.config.name, tool.name));
                    if !taken.insert(called.clone()) {
                        continue;
                    }
                }
                let (server, tool) = (server.config.name.clone(), tool.clone());
                offered.push(Offered { called, server, tool });
            }
        }
        offered
    }

    /// Runs a tool. A server that does not answer as it should is ended.
    ///
    /// # Errors
    /// Why there is no result.
    pub fn call(
        &mut self,
        server: &str,
        tool: &str,
        arguments: &Map<String, Value>,
        cancel: &Cancel,
    ) -> Result<ToolResult, String> {
        let server = self.0.iter_mut().find(|known| known.config.name == server);
        let server = server.ok_or("there is no such server")?;
        let Some(client) = &mut server.client else {
            return Err(match &server.state {
                ServerState::Failed(why) => why.clone(),
                _ => "it does not run".into(),
            });
        };
        match client.call(tool, arguments, cancel) {
            Err(error @ (ClientError::Cancelled | ClientError::TooLong)) => Err(error.to_string()),
            Err(error) => {
                let why = error_chain(&error);
                server.client = None;
                server.state = ServerState::Failed(why.clone());
                Err(why)
            }
            Ok(result) => Ok(result),
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // All are told before the first is waited for.
        self.0.iter_mut().filter_map(|server| server.client.as_mut()).for_each(Client::hang_up);
    }
}

impl Server {
    fn start(&mut self, cancel: &Cancel) -> Option<(String, String)> {
        match Client::start(&self.config, cancel) {
            Ok((client, tools)) => {
                self.client = Some(client);
                self.state = ServerState::Running(tools);
                None
            }
            Err(ClientError::Cancelled) => None,
            Err(error) => {
                let why = error_chain(&error);
                self.state = ServerState::Failed(why.clone());
                Some((self.config.name.clone(), why))
            }
        }
    }
}

/// As models write the names of functions.
fn plain_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_as_other_programs_write_it() {
        let text = r#"{"mcpServers": {
            "files": {"command": "npx", "args": ["-y", "server"], "env": {"ROOT": "/tmp"}, "type": "stdio"},
            "off": {"command": "x", "disabled": true},
            "plain": {"command": "server"}
        }, "theme": "dark"}"#;
        let server =
            |name: &str, command: &str, args: &[&str], env: &[(&str, &str)]| ServerConfig {
                name: name.into(),
                command: command.into(),
                args: args.iter().map(ToString::to_string).collect(),
                env: env.iter().map(|&(key, value)| (key.into(), value.into())).collect(),
            };
        let files = server("files", "npx", &["-y", "server"], &[("ROOT", "/tmp")]);
        assert_eq!(read_servers(text), Ok(vec![files, server("plain", "server", &[], &[])]));
        assert_eq!(read_servers(r#"{"mcpServers": {}}"#), Ok(Vec::new()));
        for (text, why) in [
            ("{", "EOF"),
            ("{}", "mcpServers"),
            (r#"{"mcpServers": {"a": {"url": "https://x"}}}"#, "server `a`: it has no `command`"),
            (r#"{"mcpServers": {"a": {"command": ""}}}"#, "server `a`: it has no `command`"),
            (r#"{"mcpServers": {"a": {"command": "x", "args": "y"}}}"#, "server `a`: invalid type"),
            (r#"{"mcpServers": {"a": {"command": "x", "env": {"k": 1}}}}"#, "`k` has to be text"),
            (r#"{"mcpServers": {"": {"command": "x"}}}"#, "a name has"),
        ] {
            let refused = read_servers(text).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }

    #[test]
    fn tools_of_one_name_are_told_apart() {
        let tool =
            |name: &str| Tool { name: name.into(), description: String::new(), schema: json!({}) };
        let running = |name: &str, tools: &[&str]| Server {
            config: ServerConfig {
                name: name.into(),
                command: String::new(),
                args: Vec::new(),
                env: Vec::new(),
            },
            client: None,
            state: ServerState::Running(tools.iter().map(|name| tool(name)).collect()),
        };
        let servers =
            Servers(vec![running("a", &["search", "read.file"]), running("my b", &["search"])]);
        let called: Vec<String> = servers.tools().into_iter().map(|o| o.called).collect();
        assert_eq!(called, ["search", "read_file", "my_b_search"]);
    }
}
