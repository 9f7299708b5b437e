//! `bench …`: what the product costs on this machine.

mod memory;
mod screen;
mod speed;

use std::process::ExitCode;
use std::time::Instant;

use inglenook::cli::{App, Failure, bytes};
use serde_json::json;

use super::args::{Bench as Args, BenchEmbedder, BenchEngine};
use super::error::{CommandError, Outcome};
use speed::{SpeedOptions, Streams, measure_speed};

pub fn run(app: &App, args: &Args) -> Outcome {
    match args {
        Args::Memory(args) => memory::run(app, args),
        Args::Engine(args) => engine(app, args),
        Args::Embedder(args) => embedder(app, args),
        Args::Screen(args) => screen::run(app, args),
    }
}

fn engine(app: &App, args: &BenchEngine) -> Outcome {
    let Some(path) = app.registry()?.files_in_use().map_err(Failure::from)? else {
        return Err(Failure::Usage {
            what: "the starter is in use, which is part of this program and has no file".into(),
            hint: "Name a model: --model PATH.".into(),
        }
        .into());
    };
    use_threads(args.threads)?;
    let options = SpeedOptions {
        prompt: args.prompt as usize,
        decode: args.decode as usize,
        rounds: args.rounds.into(),
        beside_memory: args.beside_memory,
        streams: args.streams.map(Into::into),
    };
    let progress = app.console.progress();
    let on_round =
        |round: usize| progress.set(round as u64, u64::from(args.rounds), "running made-up tokens");
    let measured = measure_speed(&path, options, &on_round, &app.cancel);
    progress.finish();
    let speed = measured?;
    let mut figures = json!({
        "prefill_tokens_per_s": speed.prefill_tokens_per_s,
        "decode_tokens_per_s": speed.decode_tokens_per_s,
        "first_token_s": speed.first_token_s,
        "load_s": speed.load_s,
        "resident_bytes": speed.resident_bytes,
    });
    if let Some(beside) = speed.beside_memory {
        figures["beside_memory"] =
            json!({ "first_token": beside.first_token, "decode": beside.decode });
    }
    if let Some(streams) = speed.streams {
        figures["streams"] = json!({ "batch": streams.batch, "asked_apart": streams.asked_apart });
    }
    app.console.report(&figures, args.json, |_| {
        if let Some(beside) = speed.beside_memory {
            app.console.line(&format!(
                "beside memory: first token {:.2} × idle, decode {:.2} × idle",
                beside.first_token, beside.decode,
            ))?;
        }
        if let Some((n, Streams { batch, asked_apart })) = options.streams.zip(speed.streams) {
            app.console.line(&format!(
                "{n} at once    {batch:.1} tokens/s as one batch, {asked_apart:.1} each asked for by itself: {:.2} ×",
                asked_apart / batch,
            ))?;
        }
        app.console.line(&format!(
            "prefill      {:.1} tokens/s ({} tokens)\n\
             decode       {:.1} tokens/s ({} tokens)\n\
             loaded in    {:.2} s, first token after {:.2} s\n\
             most memory  {}",
            speed.prefill_tokens_per_s,
            options.prompt,
            speed.decode_tokens_per_s,
            options.decode,
            speed.load_s,
            speed.first_token_s,
            speed.resident_bytes.map_or_else(|| "unknown here".into(), bytes),
        ))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Sizes the global thread pool; must come before any computation.
fn use_threads(threads: Option<u16>) -> Result<(), Failure> {
    let Some(threads) = threads else { return Ok(()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
    pool.map_err(|e| Failure::Usage {
        what: format!("{threads} threads can't be had: {e}"),
        hint: "Try fewer.".into(),
    })
}

/// About thirty tokens for any tokenizer of English.
const SENTENCE: &str = "We walked along the river for an hour this morning, then my sister told me that she is \
                        going to move to another town next spring, to be near her work.";
const N_TEXTS: usize = 32;

fn embedder(app: &App, args: &BenchEmbedder) -> Outcome {
    use_threads(args.threads)?;
    let embedder = app.embedder()?;
    let texts: Vec<String> = (0..N_TEXTS).map(|i| format!("{i}. {SENTENCE}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let milliseconds = |texts: &[&str]| -> Result<f64, CommandError> {
        embedder.embed(texts)?;
        let mut times = Vec::new();
        for _ in 0..args.rounds {
            let begun = Instant::now();
            embedder.embed(texts)?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    };
    let (one_ms, many_ms) = (milliseconds(&texts[..1])?, milliseconds(&texts)?);
    let figures = json!({ "texts": N_TEXTS, "one_ms": one_ms, "many_ms": many_ms });
    app.console.report(&figures, args.json, |_| {
        app.console.line(&format!("one text  {one_ms:.2} ms\n{N_TEXTS} texts  {many_ms:.2} ms"))
    })?;
    Ok(ExitCode::SUCCESS)
}
