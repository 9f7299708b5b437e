//! The program: everything is in the library, so that tests can call it.

use std::process::ExitCode;

fn main() -> ExitCode {
    inglenook_eval::cli::run(std::env::args_os())
}
