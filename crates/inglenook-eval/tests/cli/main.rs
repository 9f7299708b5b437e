//! The program as a person or a script runs it: the real binary, real files, exit codes.
//!
//! No test needs a network. Tests that need `../shared` are skipped without it.

#![expect(clippy::unwrap_used, reason = "tests")]

mod answering;
mod bench;
#[path = "../../../../tests/support/home.rs"]
mod home;
mod measuring;
mod starter;

use home::Home;
use inglenook::testing::shared;

/// What [`Home`] runs.
const PROGRAM: &str = env!("CARGO_BIN_EXE_inglenook-eval");

#[test]
fn help_names_every_command_and_no_path_of_ours() {
    let home = Home::new();
    let help = home.ok(&["--help"]);
    for command in [
        "starter",
        "retrieval",
        "themes",
        "locomo",
        "longmemeval",
        "perltqa",
        "msc",
        "gate",
        "score",
        "bench",
    ] {
        assert!(help.contains(&format!("\n  {command} ")), "{command} is not in the help");
        let help = home.ok(&[command, "--help"]);
        assert!(!help.contains("../"), "{help}");
    }
    assert!(!home.data().exists(), "help makes no files");
}
