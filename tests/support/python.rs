//! Scripts that drive other people's packages, by the Python that has them.

use std::process::Command;

use inglenook::testing::skip;

/// Runs a script of `tests/` by the Python that a variable names; skipped where that has no `package`.
#[track_caller]
pub fn run_script(package: &str, variable: &str, script: &str, args: &[&str]) {
    let python = std::env::var(variable).unwrap_or_else(|_| "python3".into());
    let script = format!("{}/tests/{script}", env!("CARGO_MANIFEST_DIR"));
    let reason = match Command::new(&python).arg(script).args(args).output() {
        Err(error) => format!("{python}: {error}"),
        Ok(output) if output.status.code() == Some(77) => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        Ok(output) => {
            let said = [output.stdout, output.stderr].concat();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
            return;
        }
    };
    skip(&format!("{reason}; `pip install {package}`, or {variable}=a python that has it"));
}
