//! The command line, as clap sees it. No behaviour: only names, types and help.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::eval::Method;
use crate::store::AnyId;

/// A private assistant that remembers, on your own machine.
///
/// Without a command it opens the chat. Nothing leaves this machine; the only command that uses the
/// network is `model pull`.
#[derive(Debug, Parser)]
#[command(name = "inglenook", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
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
    /// Chat sessions
    #[command(subcommand)]
    Session(Session),
    /// What is remembered
    #[command(subcommand)]
    Memory(Memory),
    /// Language and embedding models
    #[command(subcommand)]
    Model(Model),
    /// Measure what a model is good at
    #[command(subcommand)]
    Eval(Eval),
    /// Measure how fast this machine is
    #[command(subcommand)]
    Bench(Bench),
    /// Check this machine, the memory and the models
    Doctor(Doctor),
    /// Where everything lives
    Dirs(Dirs),
    /// Completions for your shell, on stdout
    Completions { shell: Shell },
    /// The manual page, on stdout, or all pages into a folder
    Man {
        /// Write one page a command into this folder
        #[arg(long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub struct Ask {
    /// The question; without it, stdin is read
    pub question: Vec<String>,
    /// The answer with its evidence, entropies, tokens and times
    #[arg(long)]
    pub json: bool,
    /// Print the answer only when it is complete
    #[arg(long)]
    pub no_stream: bool,
    /// Leave no trace: neither question nor answer is stored
    #[arg(long, conflicts_with = "session")]
    pub incognito: bool,
    /// What recall takes for the reader's uncertainty
    #[arg(long, value_name = "SIGNAL",
          value_parser = ["auto", "entropy", "nll", "question-nll", "overlap"])]
    pub uncertainty: Option<String>,
    /// Continue this session (see `session list`)
    #[arg(long, value_name = "ID", value_parser = parse_session)]
    pub session: Option<crate::memory::SessionId>,
}

#[derive(Debug, Args)]
pub struct Import {
    /// The file, or `-` for stdin
    pub file: PathBuf,
    /// Only this conversation of a LoCoMo file (its `sample_id`)
    #[arg(long, value_name = "ID")]
    pub conversation: Option<String>,
    /// Machine-readable summary
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One message a line; `import` reads it back
    Jsonl,
    /// For reading
    Markdown,
    /// All four levels
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
    },
}

#[derive(Debug, Subcommand)]
pub enum Memory {
    /// Themes, their facts, the episodes and the messages behind them
    Tree {
        /// 1 themes, 2 facts, 3 episodes, 4 messages
        #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=4))]
        depth: u8,
        /// Only this theme
        #[arg(long, value_name = "ID", value_parser = parse_theme)]
        theme: Option<crate::memory::ThemeId>,
        #[arg(long)]
        json: bool,
    },
    /// Facts, episodes and messages about something, best first
    Search {
        #[arg(required = true)]
        query: Vec<String>,
        /// How many
        #[arg(short, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
        k: u16,
        #[arg(long)]
        json: bool,
    },
    /// One theme (t2), fact (s31), episode (e4), message (m12) or session (c3)
    Show {
        #[arg(value_parser = parse_any)]
        id: AnyId,
        #[arg(long)]
        json: bool,
    },
    /// Correct a fact, an episode's text, or a theme's name
    Edit {
        #[arg(value_parser = parse_any)]
        id: AnyId,
        /// The new text, or `-` for stdin
        text: String,
        /// A new title (episodes only)
        #[arg(long)]
        title: Option<String>,
    },
    /// Erase for good: messages, and all that was derived from them
    Forget {
        /// Themes, facts, episodes, messages or sessions (t2 s31 e4 m12 c3)
        #[arg(value_parser = parse_any, required_unless_present = "matching")]
        ids: Vec<AnyId>,
        /// Every message and fact that contains this text
        #[arg(long = "match", value_name = "TEXT", id = "matching")]
        matching: Option<String>,
        /// Don't ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Take back the newest edit or consolidation
    Undo,
    /// How much there is
    Stats {
        #[arg(long)]
        json: bool,
    },
    /// Check that nothing is lost, doubled or out of place
    Verify {
        #[arg(long)]
        json: bool,
    },
    /// Build what is still to be built, and settle contradictions
    Consolidate {
        /// Do it now, and come back when all is done
        #[arg(long)]
        wait: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum Model {
    /// What is installed, and what can be pulled
    List {
        #[arg(long)]
        json: bool,
    },
    /// Download a model of the catalogue (the one command that uses the network)
    Pull {
        /// A name from `model list`; the default model without one
        name: Option<String>,
        /// Use it from now on
        #[arg(long)]
        r#use: bool,
    },
    /// Take a model from disk: a GGUF file, a safetensors folder, a wheel or zip with one inside
    Import {
        path: PathBuf,
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

#[derive(Debug, Subcommand)]
pub enum Eval {
    /// The starter's work on held-out items, and which signal tells evidence from noise
    Starter(EvalStarter),
    /// What recall finds within so many characters, against plain retrieval, without a reader
    Retrieval(EvalRetrieval),
    /// What organising facts into themes is worth, part by part
    Themes(EvalThemes),
    /// Questions about conversations in LoCoMo's form, answered by the model
    Locomo(EvalLocomo),
    /// Questions about chats in LongMemEval's form, answered by the model
    #[command(name = "longmemeval")]
    LongMem(EvalLongMem),
    /// Questions about made-up people in PerLTQA's form, answered by the model
    #[command(name = "perltqa")]
    PerLtqa(EvalPerLtqa),
    /// Questions about multi-session chats in MSC's form, answered by the model
    Msc(EvalMsc),
    /// Whether the reader's uncertainty tells which episodes hold evidence, and what its threshold buys
    Gate(EvalGate),
    /// Score a file of answers: F1, BLEU-1, ROUGE-L
    Score(EvalScore),
}

#[derive(Debug, Args)]
pub struct EvalLocomo {
    /// Conversations in LoCoMo's form (locomo10.json or a part of it)
    pub file: PathBuf,
    /// Ready-made memories, a folder a conversation; without it the program builds its own
    #[arg(long, value_name = "DIR")]
    pub memories: Option<PathBuf>,
    /// Where the run is kept: every answer, the tables, what was run
    #[arg(long, value_name = "DIR", default_value = "eval-locomo")]
    pub out: PathBuf,
    #[command(flatten)]
    pub run: EvalRun,
}

#[derive(Debug, Args)]
pub struct EvalLongMem {
    /// Questions in LongMemEval's form (longmemeval_s_cleaned.json or a part of it)
    pub file: PathBuf,
    /// Where the run is kept: every answer, the tables, what was run
    #[arg(long, value_name = "DIR", default_value = "eval-longmemeval")]
    pub out: PathBuf,
    #[command(flatten)]
    pub run: EvalRun,
}

#[derive(Debug, Args)]
pub struct EvalPerLtqa {
    /// Questions in PerLTQA's form (perltqa_en_v2.json); perltmem_en_v2.json lies beside it
    pub file: PathBuf,
    /// Where the run is kept: every answer, the tables, what was run
    #[arg(long, value_name = "DIR", default_value = "eval-perltqa")]
    pub out: PathBuf,
    #[command(flatten)]
    pub run: EvalRun,
}

#[derive(Debug, Args)]
pub struct EvalMsc {
    /// Chats with questions in the form of MSC-Self-Instruct (msc_self_instruct.jsonl)
    pub file: PathBuf,
    /// Where the run is kept: every answer, the tables, what was run
    #[arg(long, value_name = "DIR", default_value = "eval-msc")]
    pub out: PathBuf,
    #[command(flatten)]
    pub run: EvalRun,
}

#[derive(Debug, Args)]
pub struct EvalRun {
    /// What chooses the evidence; may be given several times (without it all but the structural
    /// modes)
    ///
    /// A structural mode is spelt structural:STRUCTURE:RETRIEVAL:SHOWN, of
    /// chunks|triples|facts|summaries|mixed, single|rerank|iterative and memory-only|memory-doc;
    /// `structural` alone is structural:mixed:iterative:memory-only, `structural:*` all thirty
    #[arg(long, value_name = "METHOD", value_delimiter = ',', value_parser = method_names())]
    pub method: Vec<String>,
    /// The share of tokens that rag-pruning and lightmem keep, by the reader's cross-entropy
    #[arg(long, value_name = "R", default_value_t = 0.6, value_parser = parse_ratio)]
    pub pruning_ratio: f64,
    /// At most so many questions, drawn from all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
    /// What recall takes for the reader's uncertainty
    #[arg(long, value_name = "SIGNAL",
          value_parser = ["auto", "entropy", "nll", "question-nll", "overlap"])]
    pub uncertainty: Option<String>,
    /// Go on with the run in --out
    #[arg(long)]
    pub resume: bool,
    /// Machine-readable figures and answers
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct EvalGate {
    /// Conversations in LoCoMo's form (locomo10.json or a part of it)
    pub file: PathBuf,
    /// Ready-made memories, a folder a conversation, with vectors if there are any
    #[arg(long, value_name = "DIR")]
    pub memories: PathBuf,
    /// At most so many questions, drawn from all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
    /// The signal whose threshold is tried; all are calibrated
    #[arg(long, value_name = "SIGNAL",
          value_parser = ["auto", "entropy", "nll", "question-nll", "overlap"])]
    pub uncertainty: Option<String>,
    /// Keep the tables and plots in this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Machine-readable figures
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct EvalScore {
    /// Rows with `pred` and `ref`: JSON lines, or a JSON array
    pub file: PathBuf,
    /// Each row's figures, for machines
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct EvalRetrieval {
    /// Questions in LoCoMo's form (locomo10.json or a part of it); those in --memories without it
    pub file: Option<PathBuf>,
    /// Ready-made memories, a folder a conversation, with vectors if there are any
    #[arg(long, value_name = "DIR")]
    pub memories: PathBuf,
    /// Fit the relevance's weights anew; each conversation is measured with those of the others
    #[arg(long)]
    pub fit: bool,
    /// Keep the tables and plots in this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Machine-readable figures
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct EvalThemes {
    /// Questions in LoCoMo's form (locomo10.json or a part of it); those in --memories without it
    pub file: Option<PathBuf>,
    /// Ready-made memories, a folder a conversation, with vectors if there are any
    #[arg(long, value_name = "DIR")]
    pub memories: PathBuf,
    /// Keep the tables and plots in this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Machine-readable figures
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct EvalStarter {
    /// Machine-readable figures
    #[arg(long)]
    pub json: bool,
    /// At most so many items a row (500, and 400 questions of LoCoMo, without it)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub items: Option<u16>,
    /// Only this task; may be given several times
    #[arg(long, value_name = "NAME")]
    pub task: Vec<crate::eval::Task>,
    /// Other items than the built-in ones (one JSON object a line)
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// LoCoMo's questions (locomo10.json or a part of it); those in --memories without it
    #[arg(long, value_name = "FILE")]
    pub locomo: Option<PathBuf>,
    /// LoCoMo's observations, a folder a conversation; ../shared/data/locomo-dev-memories without it
    #[arg(long, value_name = "DIR")]
    pub memories: Option<PathBuf>,
    /// The model was trained on the bare prompts, as the starter was
    #[arg(long)]
    pub trained: bool,
}

#[derive(Debug, Subcommand)]
pub enum Bench {
    /// One more fact, and one more question, in a made-up memory of a given size
    Memory(BenchMemory),
    /// Tokens per second, loading time and memory of a language model: --model, or the one in use
    Engine(BenchEngine),
    /// How long the embedder in use takes for one text and for many
    Embedder(BenchEmbedder),
}

#[derive(Debug, Args)]
pub struct BenchMemory {
    /// Sizes, smallest first whatever the order; a hundred thousand takes minutes and 1.5 GB of disk
    /// (all sizes are kept until the last is measured)
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1000,10000",
          value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub semantics: Vec<u32>,
    /// This size alone, asked as standard input says: the command runs itself so
    #[arg(long, hide = true)]
    pub part: Option<u32>,
    /// Machine-readable figures
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct BenchEngine {
    /// Processor threads; without it, one a core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Tokens of the prompt
    #[arg(long, value_name = "N", default_value_t = 512,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub prompt: u32,
    /// Tokens generated after it
    #[arg(long, value_name = "N", default_value_t = 64,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub decode: u32,
    /// How often; medians are printed
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub rounds: u16,
    /// Also a chat's turn while the memory generates without a pause, against an idle engine
    #[arg(long)]
    pub beside_memory: bool,
    /// Machine-readable figures
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct BenchEmbedder {
    /// Processor threads; without it, one a core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// How often; medians are printed
    #[arg(long, value_name = "N", default_value_t = 20,
          value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub rounds: u16,
    /// Machine-readable figures
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Doctor {
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Dirs {
    #[arg(long)]
    pub json: bool,
}

/// The names of methods; the thirty modes are not listed where all are.
fn method_names() -> PossibleValuesParser {
    let shown = Method::NAMED.iter().map(|method| method.as_str()).chain(Method::FAMILY);
    let modes = Method::ALL.iter().skip(Method::NAMED.len()).map(|method| method.as_str());
    let modes = modes.map(|name| PossibleValue::new(name).hide(true));
    shown.map(PossibleValue::new).chain(modes).collect::<Vec<_>>().into()
}

fn parse_ratio(text: &str) -> Result<f64, String> {
    let ratio: f64 = text.parse().map_err(|_| "a number is wanted, such as 0.6".to_owned())?;
    if ratio > 0.0 && ratio <= 1.0 { Ok(ratio) } else { Err("above 0, and at most 1".into()) }
}

fn parse_session(text: &str) -> Result<crate::memory::SessionId, String> {
    text.parse().map_err(|_| "a session's id looks like c3 (see `inglenook session list`)".into())
}

fn parse_theme(text: &str) -> Result<crate::memory::ThemeId, String> {
    text.parse().map_err(|_| "a theme's id looks like t2 (see `inglenook memory tree`)".into())
}

/// `t2`, `s31`, `e4`, `m12`, `c3`: the letter says of what, so it must be there.
fn parse_any(text: &str) -> Result<AnyId, String> {
    let wrong = || {
        "an id looks like t2 (theme), s31 (fact), e4 (episode), m12 (message) or c3 (session)"
            .to_owned()
    };
    let id = match text.chars().next() {
        Some('m') => text.parse().map(AnyId::Message),
        Some('e') => text.parse().map(AnyId::Episode),
        Some('s') => text.parse().map(AnyId::Semantic),
        Some('t') => text.parse().map(AnyId::Theme),
        Some('c') => text.parse().map(AnyId::Session),
        _ => return Err(wrong()),
    };
    id.map_err(|_| wrong())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
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
