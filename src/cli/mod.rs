//! The command line: arguments → wiring → one command → exit code.
//!
//! This is where concrete models, the store and the terminal meet. Each command group has its file;
//! what they share is here ([`App`]), in `output` (what is shown) and in `report` (what went wrong).
//! `inglenook-eval` is wired by the same [`App`], so that it measures what this program runs.

mod args;
mod ask;
mod backup;
mod chat;
mod config;
mod dirs;
mod doctor;
mod export;
mod import;
mod import_jan;
mod import_memories;
mod import_notes;
mod import_whole;
mod import_zip;
mod interrupt;
mod language;
mod machine;
mod mcp;
mod memory;
mod model;
#[cfg(feature = "hub")]
mod model_pull;
mod model_scan;
mod models;
mod output;
mod passphrase;
mod policy;
#[cfg(feature = "hub")]
mod pullable;
mod report;
#[cfg(feature = "server")]
mod serve;
mod session;
mod shell;
mod sync;
mod tools;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use clap::Parser as _;

use self::args::{Cli, Command};
use self::config::Config;
use self::dirs::Directories;
use self::passphrase::Key;
use self::policy::Policy;
use self::report::Outcome;
use crate::attachments;
use crate::inference;
use crate::interfaces::{Cancel, Clock as _, SystemClock};
use crate::memory::plain_text;
use crate::store::{self, Store};
pub use crate::tui::ScreenBench;

pub use self::args::Global;
#[cfg(fuzzing)]
pub use self::import_zip::{conversations, is_zip};
pub use self::output::{Console, Progress, bytes, counted, one_line};
pub use self::report::{
    EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE, Failure, io_hint, model_hint, print_error,
    store_hint,
};

/// What every command is given.
pub struct App {
    dirs: Directories,
    config: Config,
    /// What is allowed on this machine.
    policy: Policy,
    /// Where results, remarks and progress go.
    pub console: Console,
    /// `--model`.
    model: Option<String>,
    /// Set by Ctrl+C, for commands that check it.
    pub cancel: Cancel,
    /// How long other processes that write are waited for.
    wait: Duration,
    key: Mutex<Key>,
}

impl App {
    /// Finds the directories and reads the configuration, which may have warnings.
    fn new(global: Global) -> Result<(Self, Vec<String>), Failure> {
        let policy = Policy::of_machine()?;
        let dirs = Directories::from_env(&global)?;
        let (config, warnings) = Config::read(&dirs.config_file, global.config.is_some())?;
        let console = Console::new(global.quiet);
        let app = Self {
            dirs,
            config,
            policy,
            console,
            model: global.model,
            cancel: Cancel::default(),
            wait: store::WAIT,
            key: Mutex::default(),
        };
        Ok((app, warnings))
    }

    /// For another program with the same flags, directories and models: warnings are printed, and
    /// the first Ctrl+C sets [`App::cancel`].
    ///
    /// # Errors
    /// If there is no home directory, or the configuration cannot be used.
    pub fn start(global: Global) -> Result<Self, Failure> {
        inference::set_up_allocator();
        let (app, warnings) = Self::new(global)?;
        for warning in warnings {
            app.console.warn(&warning);
        }
        interrupt::watch(&app.cancel, true);
        Ok(app)
    }

    /// For the memory of another home.
    #[cfg(feature = "server")]
    fn elsewhere(&self, dirs: Directories, config: Config, key: Key) -> Self {
        Self {
            dirs,
            config,
            policy: self.policy.clone(),
            console: self.console,
            model: self.model.clone(),
            cancel: self.cancel.clone(),
            wait: self.wait,
            key: Mutex::new(key),
        }
    }

    /// The memory, for writing.
    fn open(&self) -> Result<Store, Failure> {
        self.policy.check_memory(&self.dirs.data)?;
        let store = self.unlocked(|key| Store::open_with(&self.dirs.data, key, self.wait))?;
        self.retain(&store, SystemClock.now())?;
        Ok(store)
    }

    /// The memory, to forget in it on a full disk.
    fn open_in_place(&self) -> Result<Store, Failure> {
        self.policy.check_memory(&self.dirs.data)?;
        self.console.warn(
            "the disk is full, so the memory is overwritten in place: do not kill the program meanwhile, that would destroy it",
        );
        interrupt::hold_off();
        self.unlocked(|key| Store::open_in_place(&self.dirs.data, key, self.wait))
    }

    /// The memory, for reading: works beside a running chat. One that does not exist yet is empty.
    ///
    /// # Errors
    /// If it is corrupt, from a newer version, or cannot be read.
    pub fn open_read_only(&self) -> Result<Store, Failure> {
        self.policy.check_memory(&self.dirs.data)?;
        self.unlocked(|key| Store::open_read_only_with(&self.dirs.data, key))
    }
}

/// What people say lies in this process's memory: no core file gets it, and (on Linux) no other process of theirs may look.
fn keep_memory_private() {
    use rustix::process;
    let none = process::Rlimit { current: Some(0), maximum: Some(0) };
    // Where the system refuses, the program works as well.
    let _ = process::setrlimit(process::Resource::Core, none);
    #[cfg(target_os = "linux")]
    let _ = process::set_dumpable_behavior(process::DumpableBehavior::NotDumpable);
}

/// Runs the program. `args` begins with its name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    keep_memory_private();
    let args: Vec<OsString> = args.into_iter().collect();
    if args.get(1).is_some_and(|first| first == attachments::PDF_READER) {
        return attachments::read_pdf();
    }
    inference::set_up_allocator();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(e) => {
            // It quotes what was typed, or what a shell's `*` found.
            if args.iter().all(|arg| arg.to_str().is_some_and(|text| plain_text(text) == text)) {
                let _ = e.print();
            } else {
                let _ = write!(io::stderr(), "{}", plain_text(&e.render().ansi().to_string()));
            }
            if args.get(1).is_some_and(|command| command == "eval" || command == "bench") {
                Console::new(false).note("hint: `inglenook-eval` measures now");
            }
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
        Some(Command::Keys) => return shell::keys(console),
        _ => {}
    }
    let plain = cli.plain;
    let (mut app, warnings) = App::new(cli.global)?;
    // The chat shows them on its screen.
    let Some(command) = cli.command else { return chat::run(&app, warnings, plain) };
    for warning in warnings {
        console.warn(&warning);
    }
    app.policy.check(&command)?;
    app.wait = wait(&command).map_or(store::WAIT, |of| Duration::from_secs(of.wait));
    interrupt::watch(&app.cancel, is_cooperative(&command));
    let audited = policy::audited(&command);
    let outcome = run_command(&app, command);
    if let (Some(what), Ok(_)) = (audited, &outcome) {
        app.audit(what, 0);
    }
    outcome
}

fn run_command(app: &App, command: Command) -> Outcome {
    match command {
        Command::Ask(args) => ask::run(app, &args),
        Command::Import(args) => import::run(app, &args),
        Command::Export(args) => export::run(app, &args),
        Command::Backup(args) => backup::backup(app, &args),
        Command::Restore(args) => backup::restore(app, &args),
        Command::Sync(args) => sync::run(app, args),
        Command::Session(args) => session::run(app, args),
        Command::Memory(args) => memory::run(app, args),
        Command::Model(args) => model::run(app, args),
        Command::Mcp { read_only, .. } => mcp::run(app, read_only),
        #[cfg(feature = "server")]
        Command::Serve(args) => serve::run(app, &args),
        #[cfg(not(feature = "server"))]
        Command::Serve(_) => Err(Failure::Usage {
            what: "this inglenook was built without `serve`".into(),
            hint: "build it with `--features server`".into(),
        }),
        Command::Doctor { json } => doctor::run(app, json),
        Command::Dirs { json } => dirs::run(&app.dirs, app.console, json),
        Command::Completions { shell } => shell::completions(app.console, shell),
        Command::Man { output } => shell::man(app.console, output.as_deref()),
        Command::Keys => shell::keys(app.console),
    }
}

/// How long the command waits for other processes, where it says so.
fn wait(command: &Command) -> Option<args::Wait> {
    use args::{Memory, Session, Sync};
    Some(match command {
        Command::Ask(args) => args.wait,
        Command::Import(args) => args.wait,
        Command::Restore(args) => args.wait,
        Command::Serve(args) => args.wait,
        Command::Mcp { wait, .. }
        | Command::Sync(
            Sync::Init { wait, .. } | Sync::Now { wait, .. } | Sync::Remove { wait, .. },
        )
        | Command::Session(Session::Delete { wait, .. })
        | Command::Memory(
            Memory::Edit { wait, .. }
            | Memory::Forget { wait, .. }
            | Memory::Undo { wait, .. }
            | Memory::Rebuild { wait, .. }
            | Memory::Repair(wait)
            | Memory::Encrypt(wait)
            | Memory::Decrypt(wait)
            | Memory::Rekey(wait),
        ) => *wait,
        _ => return None,
    })
}

/// Whether the command checks the cancel flag and stops in an orderly way.
fn is_cooperative(command: &Command) -> bool {
    matches!(
        command,
        Command::Ask(_)
            | Command::Serve(_)
            | Command::Memory(
                args::Memory::Consolidate { wait: true } | args::Memory::Rebuild { .. }
            )
            | Command::Model(args::Model::Check { .. })
    )
}
