//! Programs that were not written for inglenook.

use std::process::Command;

use inglenook::testing::skip;

use super::client::Server;
use super::home::Home;
use super::python::run_script;

/// `openai` from PyPI, by `tests/serve/client.py`.
#[test]
fn the_openai_python_package_is_served() {
    served("openai", "INGLENOOK_OPENAI_PYTHON", "serve/client.py", "/v1");
}

/// `mcp` from PyPI, by `tests/mcp/client.py`.
#[test]
fn the_official_client_of_agents_is_served() {
    served("mcp", "INGLENOOK_MCP_PYTHON", "mcp/client.py", "/mcp");
}

/// Runs a script against a server.
fn served(package: &str, variable: &str, script: &str, path: &str) {
    let home = Home::new();
    let server = Server::start(&home);
    let url = format!("http://{}{path}", server.address);
    run_script(package, variable, script, &[&url, &server.token]);
}

/// `llm` from PyPI, a command for the terminal.
#[test]
fn the_program_llm_is_served() {
    let program = std::env::var("INGLENOOK_LLM").unwrap_or_else(|_| "llm".into());
    let home = Home::new();
    let server = Server::start(&home);
    let models = format!(
        "- model_id: here\n  model_name: inglenook\n  api_base: http://{}/v1\n  api_key_name: here\n",
        server.address
    );
    std::fs::create_dir(home.dir.path().join("llm")).unwrap();
    home.file("llm/extra-openai-models.yaml", models);
    let run = |args: &[&str]| {
        Command::new(&program)
            .args(args)
            .env("LLM_USER_PATH", home.dir.path().join("llm"))
            .env("HOME", home.dir.path())
            .output()
    };
    if let Err(error) = run(&["--version"]) {
        return skip(&format!(
            "{program}: {error}; `pip install llm`, or INGLENOOK_LLM=where it is"
        ));
    }
    let key = server.token.as_str();
    for extra in [&["--no-stream"][..], &[]] {
        let args =
            [&["-m", "here", "--key", key, "-s", "Be brief."], extra, &["Good morning!"]].concat();
        let output = run(&args).unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && !said.trim().is_empty(), "{output:?}");
    }
    let args = ["-m", "here", "--key", key, "--schema", "name, age int", "Invent somebody."];
    let output = run(&args).unwrap();
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    // Where this version knows of schemas for such models.
    if output.status.success() {
        assert!(said["name"].is_string() && said["age"].is_i64(), "{output:?}");
    }
}
