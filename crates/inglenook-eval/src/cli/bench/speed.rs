//! How fast the engine is with a model on this machine: what `inglenook-eval bench engine` prints.

use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use inglenook::inference::decoder::Decoder;
use inglenook::inference::engine::Engine;
use inglenook::inference::generation::{Generation, step};
use inglenook::inference::sequence::Sequence;
use inglenook::inference::{Precision, load_decoder};
use inglenook::interfaces::{Cancel, ModelError, Priority, Sampling};

/// What to measure.
#[derive(Debug, Clone, Copy)]
pub struct SpeedOptions {
    /// Tokens of the prompt.
    pub prompt: usize,
    /// Tokens generated after it.
    pub decode: usize,
    /// How often; medians count.
    pub rounds: usize,
    /// Also while the worker generates without a pause.
    pub beside_memory: bool,
    /// Also so many replies at once.
    pub streams: Option<usize>,
}

/// Medians of the rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    /// Of the prompt.
    pub prefill_tokens_per_s: f64,
    /// Of the tokens after it.
    pub decode_tokens_per_s: f64,
    /// From opening the file to the first token after a prompt of one; once.
    pub first_token_s: f64,
    /// From opening the file until tokens can be run; once.
    pub load_s: f64,
    /// Most memory that was this process's at once, mapped files included; where the system tells.
    pub resident_bytes: Option<u64>,
    /// Where it was asked for.
    pub beside_memory: Option<BesideMemory>,
    /// Where it was asked for.
    pub streams: Option<Streams>,
}

/// Several replies at once, in tokens per second of all together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Streams {
    /// As one batch: step by step, with nothing between.
    pub batch: f64,
    /// Each asked for by a thread of its own, as a server's requests are.
    pub asked_apart: f64,
}

/// A chat's turn while the worker generates without a pause, as multiples of the same on an idle
/// engine (invariant 3: chat outranks memory).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BesideMemory {
    /// Time to the first token.
    pub first_token: f64,
    /// Tokens per second after it.
    pub decode: f64,
}

/// Loads the model at `path` and runs made-up tokens; no tokenizer is needed.
///
/// # Errors
/// If the files are unusable, the run is longer than the context, or `cancel` was set.
pub fn measure_speed(
    path: &Path,
    options: SpeedOptions,
    on_round: &dyn Fn(usize),
    cancel: &Cancel,
) -> Result<Speed, ModelError> {
    let begun = Instant::now();
    let decoder = load_decoder(path, Precision::Auto)?;
    let load_s = begun.elapsed().as_secs_f64();
    let tokens = made_up_tokens(options.prompt, decoder.vocabulary());
    let likeliest = |sequence: &mut Sequence| -> Result<u32, ModelError> {
        Ok(argmax(&sequence.last_logits(&decoder, &mut || {})?))
    };
    let run = |sequence: &mut Sequence, tokens: &[u32]| {
        sequence.extend(&decoder, tokens, 0..0, &mut |_, _| {}, &mut || {})
    };
    let mut sequence = Sequence::default();
    run(&mut sequence, &tokens[..1])?;
    likeliest(&mut sequence)?;
    let first_token_s = begun.elapsed().as_secs_f64();
    // Its keys and values are no part of a turn's.
    drop(sequence);

    let (mut prefills, mut decodes) = (Vec::new(), Vec::new());
    for round in 0..options.rounds {
        on_round(round);
        if cancel.is_cancelled() {
            return Err(ModelError::Cancelled);
        }
        let mut sequence = Sequence::default();
        let begun = Instant::now();
        run(&mut sequence, &tokens)?;
        let mut next = likeliest(&mut sequence)?;
        prefills.push(options.prompt as f64 / begun.elapsed().as_secs_f64());
        let begun = Instant::now();
        for _ in 0..options.decode {
            run(&mut sequence, &[next])?;
            next = likeliest(&mut sequence)?;
        }
        decodes.push(options.decode as f64 / begun.elapsed().as_secs_f64());
    }
    let resident_bytes = peak_resident_bytes();
    let (engine, _thread) = Engine::start(decoder)?;
    let beside_memory =
        options.beside_memory.then(|| beside_memory(&engine, &tokens, options)).transpose()?;
    let streams = options.streams.map(|n| streams(&engine, n, tokens[0], options)).transpose()?;
    Ok(Speed {
        prefill_tokens_per_s: median(prefills),
        decode_tokens_per_s: median(decodes),
        first_token_s,
        load_s,
        resident_bytes,
        beside_memory,
        streams,
    })
}

/// Has the engine read `tokens` and reply with `n` more, each told to `on_token` when it is drawn, until a flag is raised.
fn speak(
    engine: &Engine,
    priority: Priority,
    tokens: &[u32],
    n: usize,
    cancel: &[Cancel; 2],
    mut on_token: impl FnMut() + Send + 'static,
) -> Result<(), ModelError> {
    let (mut sequence, tokens) = (Sequence::default(), tokens.to_vec());
    engine.ask(priority, &mut sequence, move |sequence, decoder, pause| {
        sequence.extend(decoder, &tokens, 0..0, &mut |_, _| {}, pause)
    })?;
    let generation = Generation::new(&sequence, &Sampling::greedy(n), &[], None, cancel);
    let tell = move |_| {
        on_token();
        true
    };
    let reply = engine.begin_reply(priority, std::mem::take(&mut sequence), generation, tell);
    reply.wait(&mut sequence).map(drop)
}

/// Seconds to the first token after `tokens`, and from there to the last of `n`.
fn turn(engine: &Engine, tokens: &[u32], n: usize) -> Result<(f64, f64), ModelError> {
    let begun = Instant::now();
    let (drawn, times) = mpsc::channel();
    let on_token = move || drawn.send(begun.elapsed().as_secs_f64()).unwrap_or_default();
    speak(engine, Priority::Chat, tokens, n, &Default::default(), on_token)?;
    let first = times.iter().next().unwrap_or_default();
    Ok((first, begun.elapsed().as_secs_f64() - first))
}

/// In turns, so that what else the machine does touches both alike.
fn streams(
    engine: &Engine,
    n: usize,
    first: u32,
    options: SpeedOptions,
) -> Result<Streams, ModelError> {
    let (n_decode, cancel) = (options.decode, Default::default());
    let (mut batches, mut apart) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        batches.push(engine.ask(
            Priority::Chat,
            &mut Sequence::default(),
            move |_, decoder, _| batch(decoder, n, first, n_decode),
        )?);
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let speak = || speak(engine, Priority::Chat, &[first], n_decode, &cancel, || {});
            let replies: Vec<_> = (0..n).map(|_| scope.spawn(speak)).collect();
            replies.into_iter().try_for_each(|r| r.join().map_err(|_| ModelError::EngineStopped)?)
        })?;
        apart.push((n * n_decode) as f64 / begun.elapsed().as_secs_f64());
    }
    Ok(Streams { batch: median(batches), asked_apart: median(apart) })
}

/// Tokens per second of `n` replies.
fn batch(decoder: &Decoder, n: usize, first: u32, n_decode: usize) -> Result<f64, ModelError> {
    let begun = Instant::now();
    let mut replies = Vec::new();
    for _ in 0..n {
        let mut sequence = Sequence::default();
        sequence.extend(decoder, &[first], 0..0, &mut |_, _| {}, &mut || {})?;
        let sampling = Sampling::greedy(n_decode);
        let generation = Generation::new(&sequence, &sampling, &[], None, &Default::default());
        replies.push((sequence, generation));
    }
    let mut replies: Vec<_> = replies.iter_mut().map(|(s, g)| (s, g)).collect();
    for _ in 0..n_decode {
        for next in step(decoder, &mut replies, &mut || {}) {
            next?;
        }
    }
    Ok((n * n_decode) as f64 / begun.elapsed().as_secs_f64())
}

fn beside_memory(
    engine: &Engine,
    tokens: &[u32],
    options: SpeedOptions,
) -> Result<BesideMemory, ModelError> {
    std::thread::scope(|scope| {
        let (mut idle, mut beside) = (Vec::new(), Vec::new());
        for _ in 0..options.rounds {
            idle.push(turn(engine, tokens, options.decode)?);
            let until = Cancel::default();
            let cancel = [until.clone(), Cancel::default()];
            let memory = scope.spawn(move || {
                while !cancel[0].is_cancelled() {
                    speak(engine, Priority::Memory, &tokens[..1], 256, &cancel, || {})?;
                }
                Ok::<(), ModelError>(())
            });
            std::thread::sleep(Duration::from_millis(50));
            let turn = turn(engine, tokens, options.decode);
            until.cancel();
            memory.join().map_err(|_| ModelError::EngineStopped)??;
            beside.push(turn?);
        }
        let of = |turns: &[(f64, f64)], pick: fn(&(f64, f64)) -> f64| {
            median(turns.iter().map(pick).collect())
        };
        Ok(BesideMemory {
            first_token: of(&beside, |t| t.0) / of(&idle, |t| t.0),
            decode: of(&idle, |t| t.1) / of(&beside, |t| t.1),
        })
    })
}

/// The token with the highest logit, the first of equals.
fn argmax(logits: &[f32]) -> u32 {
    let best = logits.iter().enumerate().rev().max_by(|a, b| a.1.total_cmp(b.1));
    best.map_or(0, |(token, _)| token as u32)
}

/// The same numbers every time, spread over the vocabulary (xorshift; what
/// `tests/bench/vs-llama-cpp` feeds llama.cpp).
fn made_up_tokens(n: usize, vocabulary: usize) -> Vec<u32> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % vocabulary as u64) as u32
        })
        .collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn peak_resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
