//! The command line, as clap sees it. No behaviour: only names, types and help.

mod memory;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::store::AnyId;

pub use memory::{Keyring, Memory};

/// A private assistant that remembers, on your own machine.
///
/// Without a command it opens the chat. Nothing leaves this machine, unless you share the memory with
/// your other devices (`sync`, sealed); the network is used only to download a model that you chose
/// (`model pull`, or /model in the chat) and for a sync through PostgreSQL, and only `serve` listens.
#[derive(Debug, Parser)]
#[command(name = "inglenook", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    /// The chat as lines, without a screen: for screen readers, dumb terminals and pipes
    #[arg(long)]
    pub plain: bool,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Flags that every command takes.
#[derive(Debug, Args)]
pub struct Global {
    /// Where the memory and imported models live
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub data_dir: Option<PathBuf>,
    /// The language model to use: an installed name, or the path of a model
    #[arg(short, long, global = true, value_name = "NAME", help_heading = "Global options")]
    pub model: Option<String>,
    /// Configuration file
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    pub config: Option<PathBuf>,
    /// No progress and no remarks: results and errors only
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub quiet: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Ask one question and print the answer
    Ask(Ask),
    #[command(about = format!("Import a conversation ({})", crate::imports::format_summaries()))]
    Import(Import),
    /// Write out everything that was said, or everything that is known
    Export(Export),
    /// Copy the memory to a new file, also while a chat is open; the copy is checked
    Backup(Backup),
    /// Put a backup in the place of the memory
    Restore(Restore),
    /// One memory on several devices, through a folder that all of them have, or PostgreSQL
    #[command(subcommand)]
    Sync(Sync),
    /// Chat sessions
    #[command(subcommand)]
    Session(Session),
    /// What is remembered
    #[command(subcommand)]
    Memory(Memory),
    /// Language and embedding models
    #[command(subcommand)]
    Model(Model),
    /// Let other programs use the memory, by the Model Context Protocol on stdin and stdout
    Mcp {
        /// Only the tools that change nothing: neither `remember` nor `forget`
        #[arg(long)]
        read_only: bool,
        #[command(flatten)]
        wait: Wait,
    },
    /// Let other programs use the model and the memory, by OpenAI's protocol over HTTP, on this machine
    Serve(Serve),
    /// Check this machine, the memory and the models
    Doctor {
        #[arg(long)]
        json: bool,
    },
    /// Where everything lives
    Dirs {
        #[arg(long)]
        json: bool,
    },
    /// The keys of the chat, on stdout, in the form of `keys.toml` beside the settings (`docs/guide.md`)
    Keys,
    /// Completions for your shell, on stdout
    Completions { shell: Shell },
    /// The manual page, on stdout, or all pages into a folder
    Man {
        /// Write one page per command into this folder
        #[arg(long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
}

/// Of commands that write to the memory.
#[derive(Debug, Clone, Copy, Args)]
pub struct Wait {
    /// How long another inglenook that is writing is waited for (then: exit code 11)
    #[arg(long, value_name = "SECONDS", default_value_t = crate::store::WAIT.as_secs())]
    pub wait: u64,
}

#[derive(Debug, Args)]
pub struct Ask {
    /// The question; what stdin holds goes with it, or is the question
    pub question: Vec<String>,
    /// Text files that go with the question
    #[arg(short, long, value_name = "FILE")]
    pub file: Vec<PathBuf>,
    /// As what the model answers: a file in the folder `roles` beside the settings (`docs/guide.md`)
    #[arg(short, long, value_name = "NAME")]
    pub role: Option<String>,
    /// A prompt of your own that the words fill: a file in the folder `prompts` beside the settings (`docs/guide.md`)
    #[arg(short, long, value_name = "NAME")]
    pub prompt: Option<String>,
    /// The answer with its evidence, entropies, tokens and times
    #[arg(long)]
    pub json: bool,
    /// Print the answer only when it is complete
    #[arg(long)]
    pub no_stream: bool,
    /// Leave no trace: neither question nor answer is stored
    #[arg(long, conflicts_with = "session")]
    pub incognito: bool,
    /// What recall uses as the reader's uncertainty
    #[arg(long, value_name = "SIGNAL",
          value_parser = ["auto", "entropy", "nll", "question-nll", "overlap"])]
    pub uncertainty: Option<String>,
    /// Continue this session (see `session list`)
    #[arg(long, value_name = "ID", value_parser = parse_session)]
    pub session: Option<crate::memory::SessionId>,
    #[command(flatten)]
    pub wait: Wait,
}

#[derive(Debug, Args)]
pub struct Serve {
    /// The port; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = 8462)]
    pub port: u16,
    /// The address: another one than 127.0.0.1 lets other machines in, unencrypted
    #[arg(long, value_name = "ADDRESS", default_value_t = std::net::Ipv4Addr::LOCALHOST.into())]
    pub host: std::net::IpAddr,
    /// Where the API key lies, made at the first start; without it, beside the memory
    #[arg(long, value_name = "FILE", conflicts_with = "people")]
    pub token_file: Option<PathBuf>,
    /// Serve many: each folder in this one is a person's memory, with an API key of its own
    #[arg(long, value_name = "FOLDER")]
    pub people: Option<PathBuf>,
    /// With --people: how many memories are open at a time
    #[arg(long, value_name = "N", default_value_t = 64, requires = "people")]
    pub open: u16,
    #[command(flatten)]
    pub wait: Wait,
}

#[derive(Debug, Args)]
pub struct Import {
    /// The file, or `-` for stdin, or Jan's data folder, or `notes` and a folder, or `memories` and a file
    pub file: PathBuf,
    /// After `notes`: a folder of Markdown files (an Obsidian vault); read again, what changed is taken anew. After
    /// `memories`: a file, or `-`, into which you pasted what ChatGPT or Claude says that it remembers of you
    #[arg(value_name = "PATH", conflicts_with = "conversation")]
    pub folder: Option<PathBuf>,
    /// Only this conversation: its title or id
    #[arg(long, value_name = "ID")]
    pub conversation: Option<String>,
    /// Say what the file holds, and write nothing
    #[arg(long)]
    pub preview: bool,
    /// Machine-readable summary
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub wait: Wait,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One message per line; `import` reads it back
    Jsonl,
    /// For reading
    Markdown,
    /// All four levels; `import` makes the same memory of it where none is yet
    Json,
}

#[derive(Debug, Args)]
pub struct Export {
    #[arg(long, value_enum, default_value = "jsonl")]
    pub format: ExportFormat,
    /// Only this session
    #[arg(long, value_name = "ID", value_parser = parse_session)]
    pub session: Option<crate::memory::SessionId>,
    /// A new file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What `memory encrypt`, `decrypt` and `rekey` do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    Encrypt,
    Decrypt,
    Rekey,
}

#[derive(Debug, Args)]
pub struct Backup {
    /// The new file
    #[arg(required_unless_present = "auto")]
    pub file: Option<PathBuf>,
    /// With a passphrase; an encrypted memory's backup has the memory's anyway
    #[arg(long, conflicts_with = "auto")]
    pub encrypt: bool,
    /// Into the folder `backups` beside the memory, named by the time
    #[arg(long, conflicts_with = "file")]
    pub auto: bool,
    /// With --auto: how many of the newest stay
    #[arg(long, value_name = "N", default_value_t = 7, requires = "auto",
          value_parser = clap::value_parser!(u16).range(1..))]
    pub keep: u16,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Restore {
    /// What `backup` wrote
    pub file: PathBuf,
    /// Though there is a memory: it stays until the backup is checked and in its place, and is gone then
    #[arg(long)]
    pub replace: bool,
    #[command(flatten)]
    pub wait: Wait,
}

#[derive(Debug, Subcommand)]
pub enum Sync {
    /// Begin to share this memory, or join what another device began
    Init {
        /// A folder that something else carries (Syncthing, a cloud drive, a stick), or postgres://USER@HOST/DATABASE
        #[arg(value_name = "FOLDER|URL")]
        place: String,
        /// To join: the code that the first device showed, or `-` for stdin; without it, it is asked for
        #[arg(long, value_name = "CODE")]
        code: Option<String>,
        /// What this device is called on the others; without it, its host name
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        wait: Wait,
    },
    /// Exchange with the other devices now; an open chat does so by itself
    Now {
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        wait: Wait,
    },
    /// Where it is shared, with whom, and what waits
    Status {
        /// The code, for another device
        #[arg(long)]
        show_code: bool,
        #[arg(long)]
        json: bool,
    },
    /// The devices that share this memory
    Devices {
        #[arg(long)]
        json: bool,
    },
    /// Take over what a lost device shared, or, of this device, leave
    Remove {
        /// Its name or id (see `sync devices`)
        device: String,
        /// Don't ask
        #[arg(short, long)]
        yes: bool,
        #[command(flatten)]
        wait: Wait,
    },
    /// The SQL that makes the table in PostgreSQL, for a role that may not make it itself
    Sql,
}

#[derive(Debug, Subcommand)]
pub enum Session {
    /// All sessions, newest first
    List {
        #[arg(long)]
        json: bool,
    },
    /// What was said in one
    Show {
        #[arg(value_parser = parse_session)]
        id: crate::memory::SessionId,
        #[arg(long)]
        json: bool,
    },
    /// Forget one, with all that was derived from it
    Delete {
        #[arg(value_parser = parse_session)]
        id: crate::memory::SessionId,
        /// Don't ask
        #[arg(short, long)]
        yes: bool,
        #[command(flatten)]
        wait: Wait,
    },
}

#[derive(Debug, Subcommand)]
pub enum Model {
    /// What is installed, and what can be pulled
    List {
        #[arg(long)]
        json: bool,
    },
    /// Download a model (the one command that uses the network)
    Pull {
        /// A name from `model list`, or any repository of the hub: owner/repo, owner/repo:Q4_K_M or owner/repo:FILE. The default
        /// model without one
        what: Option<String>,
        /// Its name from now on
        #[arg(long)]
        name: Option<String>,
        /// Don't ask
        #[arg(short, long)]
        yes: bool,
        /// Use it from now on
        #[arg(long)]
        r#use: bool,
    },
    /// Find the models of other programs on this machine: Ollama, LM Studio, Jan, GPT4All, llama.cpp, Hugging Face
    Scan {
        /// Use them where they lie, or only those named: nothing is copied
        #[arg(long, value_name = "NAME", num_args = 0..)]
        link: Option<Vec<String>>,
        #[arg(long)]
        json: bool,
    },
    /// Take a model from disk: a GGUF file, a safetensors folder, a wheel or zip with one inside
    Import {
        path: PathBuf,
        /// Use it where it lies instead of copying it
        #[arg(long)]
        link: bool,
        /// Its name from now on
        #[arg(long)]
        name: Option<String>,
    },
    /// Hash the files again and compare
    Verify {
        name: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// Use this model from now on
    Use { name: String },
    /// Delete a model's files
    Remove {
        name: String,
        /// Don't ask
        #[arg(short, long)]
        yes: bool,
    },
    /// The logits at every position of a sequence of token ids
    Probe {
        /// A GGUF file or a safetensors folder
        path: PathBuf,
        /// Comma-separated ids
        #[arg(long, value_delimiter = ',', required = true, num_args = 1..)]
        tokens: Vec<u32>,
        /// As the model runs, with its inputs rounded, instead of exactly
        #[arg(long)]
        fast: bool,
        #[arg(long)]
        json: bool,
    },
    /// Grade a model on the built-in items: which steps it may do by itself
    Check {
        name: Option<String>,
        #[arg(long)]
        json: bool,
    },
}

fn parse_session(text: &str) -> Result<crate::memory::SessionId, String> {
    text.parse().map_err(|_| "a session's id looks like c3 (see `inglenook session list`)".into())
}

fn parse_theme(text: &str) -> Result<crate::memory::ThemeId, String> {
    text.parse().map_err(|_| "a theme's id looks like t2 (see `inglenook memory tree`)".into())
}

/// `t2`, `s31`, `e4`, `m12`, `c3`: the letter gives the kind, so it is required.
fn parse_any(text: &str) -> Result<AnyId, String> {
    text.parse().map_err(|_| {
        "an id looks like t2 (theme), s31 (fact), e4 (episode), m12 (message) or c3 (session)"
            .into()
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn ids_name_their_kind() {
        assert_eq!(parse_any("s31").unwrap(), AnyId::Semantic(crate::memory::SemanticId(31)));
        for text in ["31", "x3", "s", "", "s-", "ſ3"] {
            assert!(parse_any(text).is_err(), "{text:?}");
        }
    }
}
