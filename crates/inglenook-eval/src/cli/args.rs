//! The command line, as clap sees it. No behaviour: only names, types and help.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand};
use inglenook::cli::Global;

use crate::Method;

/// Measures inglenook: what recall finds, how well a model answers and writes, and what it costs.
///
/// Its tables are those of the papers; README.md says which data each command reads.
#[derive(Debug, Parser)]
#[command(name = "inglenook-eval", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// The starter's work on held-out items, and which signal tells evidence from noise
    Starter(Starter),
    /// What recall finds within so many characters, against plain retrieval, without a reader
    Retrieval(Retrieval),
    /// What organising facts into themes is worth, part by part
    Themes(Themes),
    /// Questions about conversations in LoCoMo's form, answered by the model
    Locomo(Locomo),
    /// Questions about chats in LongMemEval's form, answered by the model
    #[command(name = "longmemeval")]
    LongMem(LongMem),
    /// Questions about made-up people in PerLTQA's form, answered by the model
    #[command(name = "perltqa")]
    PerLtqa(PerLtqa),
    /// Questions about multi-session chats in MSC's form, answered by the model
    Msc(Msc),
    /// Whether the reader's uncertainty tells which episodes hold evidence, and what its threshold buys
    Gate(Gate),
    /// Score a file of answers: F1, BLEU-1, ROUGE-L
    Score(Score),
    /// Whether the program sees what a message wants: small talk, the world, memory, or to tell something
    Turns(Turns),
    /// Measure how fast this machine is
    #[command(subcommand)]
    Bench(Bench),
}

#[derive(Debug, Args)]
pub struct Locomo {
    /// Conversations in LoCoMo's form (locomo10.json or a part of it)
    pub file: PathBuf,
    /// Ready-made memories, a folder a conversation; without it the product builds its own
    #[arg(long, value_name = "DIR")]
    pub memories: Option<PathBuf>,
    /// Where the run is kept: every answer, the tables, what was run
    #[arg(long, value_name = "DIR", default_value = "eval-locomo")]
    pub out: PathBuf,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Debug, Args)]
pub struct LongMem {
    /// Questions in LongMemEval's form (longmemeval_s_cleaned.json or a part of it)
    pub file: PathBuf,
    /// Where the run is kept: every answer, the tables, what was run
    #[arg(long, value_name = "DIR", default_value = "eval-longmemeval")]
    pub out: PathBuf,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Debug, Args)]
pub struct PerLtqa {
    /// Questions in PerLTQA's form (perltqa_en_v2.json); perltmem_en_v2.json lies beside it
    pub file: PathBuf,
    /// Where the run is kept: every answer, the tables, what was run
    #[arg(long, value_name = "DIR", default_value = "eval-perltqa")]
    pub out: PathBuf,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Debug, Args)]
pub struct Msc {
    /// Chats with questions in the form of MSC-Self-Instruct (msc_self_instruct.jsonl)
    pub file: PathBuf,
    /// Where the run is kept: every answer, the tables, what was run
    #[arg(long, value_name = "DIR", default_value = "eval-msc")]
    pub out: PathBuf,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Debug, Args)]
pub struct RunArgs {
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
pub struct Gate {
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
    /// Only tell evidence from the rest; try no thresholds
    #[arg(long)]
    pub no_sweep: bool,
    /// Keep the tables and plots in this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Machine-readable figures
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Score {
    /// Rows with `pred` and `ref`: JSON lines, or a JSON array
    pub file: PathBuf,
    /// Each row's figures, for machines
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Turns {
    /// Messages a line: S, W, M or T, a tab, the text
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Retrieval {
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
pub struct Themes {
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
pub struct Starter {
    /// Machine-readable figures
    #[arg(long)]
    pub json: bool,
    /// At most so many items a row (500, and 400 questions of LoCoMo, without it)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub items: Option<u16>,
    /// Only this task; may be given several times
    #[arg(long, value_name = "NAME")]
    pub task: Vec<crate::Task>,
    /// Other items than the built-in ones (one JSON object a line)
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// LoCoMo's questions (locomo10.json or a part of it); those in --memories without it
    #[arg(long, value_name = "FILE")]
    pub locomo: Option<PathBuf>,
    /// LoCoMo's observations, a folder a conversation; without it the project's, where they are
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
    /// What a key, a scroll, a piece of a reply costs until it is drawn, in a long chat and in a large memory
    Screen(BenchScreen),
}

#[derive(Debug, Args)]
pub struct BenchScreen {
    /// Messages of the chat, which is made up
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub messages: u32,
    /// Facts of the memory, which are made up
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub facts: u32,
    /// Machine-readable figures
    #[arg(long)]
    pub json: bool,
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
    /// Also so many replies at once: as one batch, and each asked for by itself
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=8))]
    pub streams: Option<u16>,
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
