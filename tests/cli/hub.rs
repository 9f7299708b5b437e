//! `model pull`, as a person uses it.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::Home;
use super::elsewhere::MODEL;
use super::mock_hub::{Faults, MockHub};

fn at(home: &Home, hub: &MockHub, args: &[&str]) -> Output {
    home.command(args).env("HF_ENDPOINT", &hub.endpoint).env("HF_TOKEN", "secret").output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_new_user_pulls_uses_and_chats() {
    let home = Home::new();
    let model = std::fs::read(MODEL).unwrap();
    let files: [(&str, &[u8]); 3] =
        [("Tiny-Q4_K_M.gguf", &model), ("Tiny-BF16.gguf", &model[..5000]), ("README.md", b"hello")];
    let faults = Faults { cuts: vec![50_000, 60_000], gated: Some("secret"), ..Faults::default() };
    let hub = MockHub::start("owner/Tiny-GGUF", &files, faults);

    // Nobody to ask: nothing is downloaded.
    let output = at(&home, &hub, &["model", "pull", "owner/Tiny-GGUF"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(hub.ranges().is_empty());
    let output = at(&home, &hub, &["model", "pull", "owner/Tiny-GGUF", "--yes", "--use"]);
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    for part in ["Tiny-Q4_K_M.gguf", "licence apache-2.0", "Q4_K_M: 4 bits", "BF16 (5 kB)"] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    assert_eq!(hub.ranges(), ["", "50000-", "110000-"]);
    let cache = home.dir.path().join(".cache/huggingface/hub/models--owner--Tiny-GGUF/snapshots");
    assert!(cache.is_dir());
    home.ok(&["ask", "--incognito", "hello"]);
    assert!(home.ok(&["model", "verify"]).starts_with("sound"));
    // And `scan` knows that it is here.
    let found = home.json(&["model", "scan", "--json"]);
    assert_eq!(found[0]["installed_as"], "tiny-q4_k_m");
    home.ok(&["model", "remove", "tiny-q4_k_m", "--yes"]);
}

#[test]
fn what_the_hub_refuses_is_explained() {
    let home = Home::new();
    let faults = Faults { gated: Some("other"), ..Faults::default() };
    let hub = MockHub::start("owner/m", &[("m-Q8_0.gguf", &[7; 5000])], faults);
    let output = at(&home, &hub, &["model", "pull", "owner/m", "--yes"]);
    assert!(stderr(&output).contains("accepted its conditions"), "{}", stderr(&output));
    hub.set(Faults::default());
    let output = at(&home, &hub, &["model", "pull", "owner/n", "--yes"]);
    assert!(stderr(&output).contains("has no repository owner/n"), "{}", stderr(&output));
    let output = at(&home, &hub, &["model", "pull", "owner/m:Q2_K", "--yes"]);
    assert!(stderr(&output).contains("name one of Q8_0"), "{}", stderr(&output));
    let output = at(&home, &hub, &["model", "pull", "owner/m/x", "--yes"]);
    assert!(stderr(&output).contains("OWNER/REPO"), "{}", stderr(&output));
    // A file that is no model goes again.
    let output = at(&home, &hub, &["model", "pull", "owner/m", "--yes"]);
    assert_eq!(output.status.code(), Some(1));
    let blobs = home.dir.path().join(".cache/huggingface/hub/models--owner--m/blobs");
    let left = std::fs::read_dir(blobs).unwrap().flatten();
    assert!(left.map(|e| e.path()).all(|p| p.extension().is_some_and(|e| e == "lock")));
    // What this machine may not run is not even fetched.
    hub.forget_seen();
    let policy = home.file("policy.toml", "models = []");
    let mut command = home.command(&["model", "pull", "owner/m", "--yes"]);
    command.env("HF_ENDPOINT", &hub.endpoint).env("INGLENOOK_POLICY", policy);
    assert_eq!(command.output().unwrap().status.code(), Some(5));
    assert!(hub.ranges().is_empty());
}

#[test]
fn a_killed_pull_goes_on_where_it_stopped() {
    let home = Home::new();
    let model = std::fs::read(MODEL).unwrap();
    let faults = Faults { cuts: vec![50_000], silent: 0, ..Faults::default() };
    let hub = MockHub::start("owner/t", &[("t-Q4_K_M.gguf", &model)], faults);
    // After the cut the server is silent, until the process is killed.
    let mut command = std::process::Command::new(super::PROGRAM);
    command.args(["model", "pull", "owner/t", "--yes"]).env_clear();
    command.env("HOME", home.dir.path()).env("INGLENOOK_HOME", home.data());
    let mut child = command.env("HF_ENDPOINT", &hub.endpoint).spawn().unwrap();
    while hub.ranges().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    hub.set(Faults { silent: 1, ..Faults::default() });
    std::thread::sleep(std::time::Duration::from_millis(100));
    child.kill().unwrap();
    child.wait().unwrap();
    hub.set(Faults::default());
    hub.forget_seen();
    let output = at(&home, &hub, &["model", "pull", "owner/t", "--yes"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(hub.ranges(), ["50000-"]);
}

/// Answers over TLS for `localhost` what the server at `plain` says; the address.
fn behind_tls(plain: &str) -> String {
    let fixture = |name: &str| format!("{}/tests/fixtures/tls/{name}", env!("CARGO_MANIFEST_DIR"));
    let chain = CertificateDer::from_pem_file(fixture("cert.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(fixture("key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![chain], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let plain = plain.trim_start_matches("http://").to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            // A client that does not trust the certificate goes.
            let _ = forward(rustls::StreamOwned::new(connection, stream.unwrap()), &plain);
        }
    });
    format!("https://localhost:{port}")
}

fn forward(
    mut outside: rustls::StreamOwned<rustls::ServerConnection, TcpStream>,
    plain: &str,
) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        outside.read_exact(&mut byte)?;
        request.push(byte[0]);
    }
    let mut inside = TcpStream::connect(plain)?;
    inside.write_all(&request)?;
    std::io::copy(&mut inside, &mut outside)?;
    outside.conn.send_close_notify();
    outside.flush()
}

#[test]
fn the_systems_certificates_count() {
    let home = Home::new();
    let model = std::fs::read(MODEL).unwrap();
    let hub = MockHub::start("owner/t", &[("t-Q4_K_M.gguf", &model)], Faults::default());
    let endpoint = behind_tls(&hub.endpoint);
    hub.set_cdn(&behind_tls(&hub.cdn()));
    let pull = |roots: Option<&str>| {
        let mut command = home.command(&["model", "pull", "owner/t", "--yes"]);
        command.env("HF_ENDPOINT", &endpoint);
        if let Some(file) = roots {
            let path = format!("{}/tests/fixtures/tls/{file}", env!("CARGO_MANIFEST_DIR"));
            command.env("SSL_CERT_FILE", path);
        }
        command.output().unwrap()
    };
    let output = pull(None);
    assert!(!output.status.success());
    assert!(stderr(&output).contains("certificate"), "{}", stderr(&output));
    let output = pull(Some("nothing.pem"));
    assert!(stderr(&output).contains("certificates can't be used"), "{}", stderr(&output));
    let output = pull(Some("ca.pem"));
    assert!(output.status.success(), "{}", stderr(&output));

    // Out of an encrypted connection nothing leads.
    home.ok(&["model", "remove", "t-q4_k_m", "--yes"]);
    hub.set_cdn(&format!("http://{}", hub.cdn()));
    let output = pull(Some("ca.pem"));
    assert!(stderr(&output).contains("leaves the encrypted connection"), "{}", stderr(&output));
}
