//! The program: everything is in the library, so that tests and evaluation can call it.

use std::process::ExitCode;

fn main() -> ExitCode {
    inglenook::cli::run(std::env::args_os())
}
