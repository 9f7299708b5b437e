//! The command line: arguments → wiring → one command → exit code.
//!
//! This is where concrete models, the store and the terminal meet. Each command group has its file;
//! what they share is here ([`App`]), in `output` (what is shown) and in `report` (what went wrong).

mod args;
mod ask;
mod bench;
mod chat;
mod config;
mod dirs;
mod doctor;
mod eval;
mod export;
mod import;
mod interrupt;
mod memory;
mod model;
mod models;
mod output;
mod report;
mod session;
mod shell;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;

use self::args::{Cli, Command};
use self::config::Config;
use self::dirs::Directories;
use self::output::Console;
use self::report::{Failure, Outcome};
use crate::interfaces::Cancel;
use crate::store::Store;

/// What every command is given.
pub(crate) struct App {
    dirs: Directories,
    config: Config,
    console: Console,
    /// `--model`.
    model: Option<String>,
    /// Set by Ctrl+C, for commands that check it.
    cancel: Cancel,
}

impl App {
    /// The memory, for writing.
    fn open(&self) -> Result<Store, Failure> {
        Ok(Store::open(&self.dirs.data)?)
    }

    /// The memory, for reading: works beside a running chat.
    fn open_read_only(&self) -> Result<Store, Failure> {
        Ok(Store::open_read_only(&self.dirs.data)?)
    }
}

/// Runs the program. `args` begins with its name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    crate::inference::set_up_allocator();
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(e) => {
            let _ = e.print();
            return ExitCode::from(u8::try_from(e.exit_code()).unwrap_or(report::EXIT_USAGE));
        }
    };
    match dispatch(cli) {
        Ok(code) => code,
        Err(failure) => report::report(&failure),
    }
}

fn dispatch(cli: Cli) -> Outcome {
    let console = Console::new(cli.global.quiet);
    // These need no directories, so they work without a home.
    match &cli.command {
        Some(Command::Completions { shell }) => return shell::completions(console, *shell),
        Some(Command::Man { output }) => return shell::man(console, output.as_deref()),
        _ => {}
    }
    let dirs = Directories::from_env(&cli.global)?;
    let (config, warnings) = Config::read(&dirs.config_file, cli.global.config.is_some())?;
    let app = App { dirs, config, console, model: cli.global.model, cancel: Cancel::default() };
    // The chat shows them on its screen.
    let Some(command) = cli.command else { return chat::run(&app, warnings) };
    for warning in warnings {
        console.warn(&warning);
    }
    interrupt::watch(&app.cancel, is_cooperative(&command));
    match command {
        Command::Ask(args) => ask::run(&app, &args),
        Command::Import(args) => import::run(&app, &args),
        Command::Export(args) => export::run(&app, &args),
        Command::Session(args) => session::run(&app, args),
        Command::Memory(args) => memory::run(&app, args),
        Command::Model(args) => model::run(&app, args),
        Command::Eval(args) => eval::run(&app, &args),
        Command::Bench(args) => bench::run(&app, &args),
        Command::Doctor(args) => doctor::run(&app, &args),
        Command::Dirs(args) => dirs::run(&app.dirs, app.console, args.json),
        Command::Completions { shell } => shell::completions(console, shell),
        Command::Man { output } => shell::man(console, output.as_deref()),
    }
}

/// Commands that check the cancel flag and stop in an orderly way.
fn is_cooperative(command: &Command) -> bool {
    matches!(
        command,
        Command::Ask(_)
            | Command::Memory(args::Memory::Consolidate { wait: true })
            | Command::Eval(_)
            | Command::Bench(_)
            | Command::Model(args::Model::Check { .. })
    )
}
