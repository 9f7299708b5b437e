//! The command line: arguments → wiring → one measurement → tables or JSON.

mod answering;
mod args;
mod bench;
mod error;
mod folder;
mod gate;
mod score;
mod turns;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Instant;

use clap::Parser as _;
use inglenook::cli::{App, EXIT_USAGE, Failure, counted, one_line};
use inglenook::recall::RecallConfig;

use self::answering::time_left;
use self::args::{Cli, Command, Retrieval, Starter, Themes};
use self::error::{CommandError, Outcome};
use self::folder::keep;
use crate as eval;
use crate::{
    Category, Conversation, EvalError, Options, Report, RetrievalModels, RetrievalReport,
    ThemesReport,
};

/// Where the project's measurements look for data, relative to the checkout.
const MEMORIES: &str = "../shared/data/locomo-dev-memories";
const QUESTIONS: &str = "../shared/data/locomo-dev.json";

/// Models with at most this many parameters run as several copies in parallel.
const TINY_PARAMETERS: u64 = 100_000_000;
const COPIES_MAX: usize = 4;

/// Runs the program. `args` begins with its name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(e) => {
            let _ = e.print();
            return ExitCode::from(u8::try_from(e.exit_code()).unwrap_or(EXIT_USAGE));
        }
    };
    dispatch(cli).unwrap_or_else(|error| error.report())
}

fn dispatch(cli: Cli) -> Outcome {
    let app = App::start(cli.global)?;
    match &cli.command {
        Command::Starter(args) => starter(&app, args),
        Command::Retrieval(args) => retrieval(&app, args),
        Command::Themes(args) => themes(&app, args),
        Command::Locomo(args) => answering::locomo(&app, args),
        Command::LongMem(args) => answering::long_mem_eval(&app, args),
        Command::PerLtqa(args) => answering::perltqa(&app, args),
        Command::Msc(args) => answering::msc(&app, args),
        Command::Gate(args) => gate::run(&app, args),
        Command::Score(args) => score::run(&app, args),
        Command::Turns(args) => turns::run(&app, args),
        Command::Bench(args) => bench::run(&app, args),
    }
}

fn starter(app: &App, args: &Starter) -> Outcome {
    let items = match &args.file {
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|source| CommandError::file("read", path, source))?;
            eval::parse(&text, &path.display().to_string())?
        }
        None => eval::built_in()?,
    };
    if items.is_empty() {
        return Err(Failure::Usage {
            what: "there are no items".into(),
            hint: "a build with the feature `starter` brings them along; --file reads others"
                .into(),
        }
        .into());
    }
    let locomo = conversations(args)?;
    let mut copies = vec![app.models()?];
    if copies[0].language.info().n_parameters <= TINY_PARAMETERS {
        // A tiny model keeps at most one core busy.
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 1..n_cores.min(COPIES_MAX) {
            copies.push(app.models()?);
        }
    }
    let options = Options {
        items_max: args.items.map(usize::from),
        tasks: args.task.iter().copied().collect(),
        trained: args.trained,
        locomo: locomo.as_deref(),
    };
    let progress = app.console.progress();
    let mut on_progress = |done: usize, of: usize, task: eval::Task| {
        progress.set(done as u64, of as u64, &format!("{task}: item {done} of {of}"));
    };
    let measured = eval::measure(&copies, items, &options, &mut on_progress, &app.cancel);
    progress.finish();
    app.console.report(&measured?, args.json, |report| print(app, report))?;
    Ok(ExitCode::SUCCESS)
}

/// The conversations named on the command line, or the project's if they are there.
fn conversations(args: &Starter) -> Result<Option<Vec<Conversation>>, EvalError> {
    let memories = args.memories.clone().unwrap_or_else(|| PathBuf::from(MEMORIES));
    if args.memories.is_none() && args.locomo.is_none() && !memories.is_dir() {
        return Ok(None);
    }
    let beside =
        || Some(PathBuf::from(QUESTIONS)).filter(|p| args.memories.is_none() && p.exists());
    let questions = args.locomo.clone().or_else(beside);
    Ok(Some(eval::load(questions.as_deref(), Path::new(&memories))?))
}

fn print(app: &App, report: &Report) -> Result<(), Failure> {
    let figure = |value: Option<f64>| value.map_or_else(|| "–".into(), |v| format!("{v:.3}"));
    app.console.line(&format!(
        "{} ({}), {:.0} s",
        one_line(&report.model, 80),
        one_line(&report.sha256, 12),
        report.seconds
    ))?;
    for row in &report.rows {
        app.console.line(&format!(
            "  {:<10} {:<10} {:<23} {:>5}  {}",
            row.task,
            one_line(&row.phrasing, 20),
            row.metric,
            figure(row.value),
            counted(row.items, "item"),
        ))?;
    }
    if !report.gate.is_empty() {
        app.console.line("evidence told from noise (area under the ROC curve; pairs won)")?;
    }
    for row in &report.gate {
        let after = if row.context == 0 {
            String::new()
        } else {
            format!("after {}", counted(row.context, "note"))
        };
        app.console.line(&format!(
            "  {:<10} {:<20} {:<14} {:>5}  {:>5}  {}",
            row.set,
            row.signal,
            after,
            figure(row.auc),
            figure(row.paired),
            counted(row.pairs, "pair"),
        ))?;
    }
    Ok(())
}

fn retrieval(app: &App, args: &Retrieval) -> Outcome {
    let (embedder, reranker) = (app.embedder()?, app.reranker()?);
    let (progress, began) = (app.console.progress(), OnceLock::new());
    let measured = eval::measure_retrieval(
        args.file.as_deref(),
        &args.memories,
        RetrievalModels { embedder: embedder.as_ref(), reranker: reranker.as_deref() },
        &RecallConfig::default(),
        args.fit,
        &|done, of| {
            // The clock starts with the first question, after loading.
            let began = *began.get_or_init(Instant::now);
            let left = time_left(began.elapsed().as_secs_f64(), done - 1, of - done);
            progress.set(done as u64, of as u64, &format!("question {done} of {of}{left}"));
        },
        &app.cancel,
    );
    progress.finish();
    let report = measured?;
    app.console.report(&report, args.json, |report| print_retrieval(app, report))?;
    keep(app, args.out.as_deref(), &report.markdown(), &report.plots())?;
    Ok(ExitCode::SUCCESS)
}

fn print_retrieval(app: &App, report: &RetrievalReport) -> Result<(), Failure> {
    app.console.line(&format!(
        "{}, {}; vectors: {}, for naive-rag: {}; loaded in {:.1} s; {:.1} s, {:.1} of it building",
        counted(report.conversations, "conversation"),
        counted(report.questions, "question"),
        one_line(&report.vectors, 40),
        one_line(&report.message_vectors, 40),
        report.seconds_to_load,
        report.seconds,
        report.seconds_to_build,
    ))?;
    app.console.line("evidence recall within so many characters")?;
    for row in report.rows.iter().filter(|row| row.category == Category::All) {
        let by_category = report.rows.iter().filter_map(|other| match other.category {
            Category::One(category)
                if (other.method, other.budget_characters)
                    == (row.method, row.budget_characters) =>
            {
                Some(format!("{category}: {:.3}", other.evidence_recall))
            }
            _ => None,
        });
        let budget = row.budget_characters.map_or_else(|| "own".into(), |n| n.to_string());
        app.console.line(&format!(
            "  {:<10} {budget:>5} {:>5.0} used  {:.3}  ({})",
            row.method,
            row.mean_characters,
            row.evidence_recall,
            by_category.collect::<Vec<_>>().join(", "),
        ))?;
    }
    app.console.line("blocks with one, two and more words of the answer; to have them all")?;
    for row in report.density.iter().filter(|row| row.category == Category::All) {
        app.console.line(&format!(
            "  {:<10} {:.3} {:.3} {:.3}  {:.1} blocks, {:.0} tokens  ({})",
            row.method,
            row.one_hit,
            row.two_hit,
            row.multi_hit,
            row.blocks_to_cover,
            row.tokens_to_cover,
            counted(row.questions, "question"),
        ))?;
    }
    if !report.weights.is_empty() {
        app.console.line("weights that all conversations together give")?;
    }
    for row in &report.weights {
        app.console.line(&format!("  {:<18} {:<16} {:>7.2}", row.of, row.cue, row.weight))?;
    }
    Ok(())
}

fn themes(app: &App, args: &Themes) -> Outcome {
    let embedder = app.embedder()?;
    let (progress, start) = (app.console.progress(), Instant::now());
    let measured = eval::measure_themes(
        args.file.as_deref(),
        &args.memories,
        embedder.as_ref(),
        &|done, of| {
            let left = time_left(start.elapsed().as_secs_f64(), done, of - done);
            progress.set(done as u64, of as u64, &format!("variant {done} of {of}{left}"));
        },
        &app.cancel,
    );
    progress.finish();
    let report = measured?;
    app.console.report(&report, args.json, |report| print_themes(app, report))?;
    keep(app, args.out.as_deref(), &report.markdown(), &report.plots())?;
    Ok(ExitCode::SUCCESS)
}

fn print_themes(app: &App, report: &ThemesReport) -> Result<(), Failure> {
    app.console.line(&format!(
        "{}, {}, {}; {:.1} s",
        counted(report.conversations, "conversation"),
        counted(report.semantics, "fact"),
        counted(report.questions, "question"),
        report.seconds,
    ))?;
    let classes = eval::SIZE_CLASSES.map(|least| format!("{least:>4}+")).concat();
    app.console.line(&format!(
        "  {:<14} themes  mean{classes}  moved  cohesion  held-out  Eq. 1  together  recall  \
         multi-hop  40 facts  comparisons  N/2",
        "",
    ))?;
    for row in &report.rows {
        let sizes = row.sizes.map(|n| format!("{n:>5}")).concat();
        app.console.line(&format!(
            "  {:<14} {:>6} {:>5.2}{sizes}  {:>5.3}  {:>8.3}  {:>8.3}  {:>5.3}  {:>8.1}  {:>6.3}  \
             {:>9.3}  {:>8.3}  {:>11.0}  {:.3}",
            row.variant,
            row.themes,
            row.mean_size,
            row.reassigned,
            row.cohesion,
            row.held_out,
            row.guidance,
            row.together,
            row.evidence_recall,
            row.multi_hop_recall,
            row.pool_recall,
            row.comparisons,
            row.recall_at_half,
        ))?;
    }
    Ok(())
}
