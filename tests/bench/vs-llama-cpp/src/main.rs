//! inglenook's engine beside llama.cpp, on the same GGUF file.
//!
//! ```text
//! RUSTFLAGS="-C target-cpu=native" cargo build --release    # or llama.cpp is built for any x86-64
//! python write_model.py qwen3-0.6b f16.gguf                 # random weights in the real shape
//! vs-llama-cpp quantise f16.gguf q4_k_m.gguf Q4_K_M
//! vs-llama-cpp compare --inglenook ../../../target/release/inglenook-eval --rounds 5 --threads 2 FILE…
//! vs-llama-cpp logits --inglenook ../../../target/release/inglenook FILE…
//! ```
//!
//! `compare` starts each program anew in every round, one after the other, and prints medians and
//! ratios; `logits` compares what both think of the same tokens.

use std::ffi::CString;
use std::process::Command;
use std::time::Instant;

use llama_cpp_sys_2 as llama;
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    match command.as_str() {
        "quantise" => quantise(&rest),
        "engine" => {
            println!("{}", engine(&Options::read(&rest)?)?);
            Ok(())
        }
        "compare" => compare(&Options::read(&rest)?),
        "logits" => logits(&Options::read(&rest)?),
        _ => Err("quantise IN OUT TYPE | engine FILE | compare FILE… | logits FILE…".into()),
    }
}

struct Options {
    files: Vec<String>,
    inglenook: String,
    threads: usize,
    rounds: usize,
    prompt: usize,
    decode: usize,
}

impl Options {
    fn read(args: &[String]) -> Result<Self, Failure> {
        let mut options = Self {
            files: Vec::new(),
            inglenook: "inglenook".into(),
            threads: 2,
            rounds: 5,
            prompt: 512,
            decode: 64,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "--inglenook" => options.inglenook = value()?.clone(),
                "--threads" => options.threads = value()?.parse()?,
                "--rounds" => options.rounds = value()?.parse()?,
                "--prompt" => options.prompt = value()?.parse()?,
                "--decode" => options.decode = value()?.parse()?,
                file => options.files.push(file.to_owned()),
            }
        }
        Ok(options)
    }

    fn file(&self) -> Result<&str, Failure> {
        self.files.first().map(String::as_str).ok_or("which file?".into())
    }
}

fn quantise(args: &[String]) -> Result<(), Failure> {
    let [from, to, kind] = args else { return Err("quantise IN OUT TYPE".into()) };
    let ftype = match kind.as_str() {
        "F16" => llama::LLAMA_FTYPE_MOSTLY_F16,
        "BF16" => llama::LLAMA_FTYPE_MOSTLY_BF16,
        "Q4_0" => llama::LLAMA_FTYPE_MOSTLY_Q4_0,
        "Q4_1" => llama::LLAMA_FTYPE_MOSTLY_Q4_1,
        "Q5_1" => llama::LLAMA_FTYPE_MOSTLY_Q5_1,
        "Q2_K" => llama::LLAMA_FTYPE_MOSTLY_Q2_K,
        "Q3_K_M" => llama::LLAMA_FTYPE_MOSTLY_Q3_K_M,
        "IQ4_NL" => llama::LLAMA_FTYPE_MOSTLY_IQ4_NL,
        "IQ4_XS" => llama::LLAMA_FTYPE_MOSTLY_IQ4_XS,
        "Q4_K_M" => llama::LLAMA_FTYPE_MOSTLY_Q4_K_M,
        "Q5_K_M" => llama::LLAMA_FTYPE_MOSTLY_Q5_K_M,
        "Q6_K" => llama::LLAMA_FTYPE_MOSTLY_Q6_K,
        "Q8_0" => llama::LLAMA_FTYPE_MOSTLY_Q8_0,
        other => return Err(format!("no such type: {other}").into()),
    };
    let (from, to) = (CString::new(from.as_str())?, CString::new(to.as_str())?);
    // SAFETY: both strings outlive the call; the parameters are llama.cpp's own.
    let code = unsafe {
        llama::llama_backend_init();
        let mut params = llama::llama_model_quantize_default_params();
        params.ftype = ftype;
        // Real weights come quantised already.
        params.allow_requantize = true;
        llama::llama_model_quantize(from.as_ptr(), to.as_ptr(), &raw const params)
    };
    if code == 0 { Ok(()) } else { Err(format!("llama.cpp could not quantise ({code})").into()) }
}

/// The tokens that both are fed.
fn tokens(n: usize, vocabulary: usize) -> Vec<i32> {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % vocabulary as u64) as i32
        })
        .collect()
}

/// A loaded model and a context, freed at the end.
struct Llama {
    model: *mut llama::llama_model,
    context: *mut llama::llama_context,
    vocabulary: usize,
}

impl Llama {
    fn load(file: &str, threads: usize, n_context: usize) -> Result<Self, Failure> {
        unsafe extern "C" fn silent(
            _: llama::ggml_log_level,
            _: *const std::ffi::c_char,
            _: *mut std::ffi::c_void,
        ) {
        }
        let path = CString::new(file)?;
        // SAFETY: plain calls of llama.cpp's interface in their documented order.
        unsafe {
            llama::llama_log_set(Some(silent), std::ptr::null_mut());
            llama::llama_backend_init();
            let mut params = llama::llama_model_default_params();
            // `PLAIN=1`: without repacking for AMX and the like.
            params.use_extra_bufts = std::env::var_os("PLAIN").is_none();
            let model =
                llama::llama_model_load_from_file(path.as_ptr(), params);
            if model.is_null() {
                return Err(format!("llama.cpp can't load {file}").into());
            }
            let mut params = llama::llama_context_default_params();
            params.n_ctx = n_context as u32;
            // Any prompt at once, 512 tokens at a time.
            params.n_batch = (n_context as u32).max(512);
            params.n_ubatch = 512;
            params.n_threads = threads as i32;
            params.n_threads_batch = threads as i32;
            params.no_perf = true;
            let context = llama::llama_init_from_model(model, params);
            if context.is_null() {
                return Err("llama.cpp can't make a context".into());
            }
            // Threads that stay, as llama.cpp's own programs have them.
            let mut pool = llama::ggml_threadpool_params_default(threads as i32);
            let pool = llama::ggml_threadpool_new(&raw mut pool);
            llama::llama_attach_threadpool(context, pool, pool);
            let vocabulary = llama::llama_vocab_n_tokens(llama::llama_model_get_vocab(model));
            Ok(Self { model, context, vocabulary: vocabulary as usize })
        }
    }

    fn forget(&mut self) {
        // SAFETY: the context is alive.
        unsafe { llama::llama_memory_clear(llama::llama_get_memory(self.context), true) }
    }

    /// Runs tokens; the logits of the last are then at index −1.
    fn run(&mut self, tokens: &mut [i32]) -> Result<(), Failure> {
        // SAFETY: the batch borrows the tokens for the length of the call.
        let code = unsafe {
            llama::llama_decode(
                self.context,
                llama::llama_batch_get_one(tokens.as_mut_ptr(), tokens.len() as i32),
            )
        };
        if code == 0 { Ok(()) } else { Err(format!("llama_decode: {code}").into()) }
    }

    fn last_logits(&self) -> &[f32] {
        // SAFETY: after `run` there are `vocabulary` of them.
        unsafe {
            let logits = llama::llama_get_logits_ith(self.context, -1);
            std::slice::from_raw_parts(logits, self.vocabulary)
        }
    }
}

impl Drop for Llama {
    fn drop(&mut self) {
        // SAFETY: made by llama.cpp, freed once.
        unsafe {
            llama::llama_free(self.context);
            llama::llama_model_free(self.model);
        }
    }
}

fn argmax(row: &[f32]) -> usize {
    row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(i, _)| i)
}

fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap_or_default();
    let kib: u64 = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    kib * 1024
}

/// The same figures as `inglenook-eval bench engine --json`.
fn engine(options: &Options) -> Result<Value, Failure> {
    let begun = Instant::now();
    let n_context = options.prompt + options.decode + 8;
    let mut model = Llama::load(options.file()?, options.threads, n_context.next_multiple_of(256))?;
    let load_s = begun.elapsed().as_secs_f64();
    let prompt = tokens(options.prompt, model.vocabulary);
    model.run(&mut prompt[..1].to_vec())?;
    let first = argmax(model.last_logits());
    let first_token_s = begun.elapsed().as_secs_f64();
    std::hint::black_box(first);
    model.forget();
    let prefill = Instant::now();
    model.run(&mut prompt.clone())?;
    let mut next = argmax(model.last_logits());
    let prefill_s = prefill.elapsed().as_secs_f64();
    let decode = Instant::now();
    for _ in 0..options.decode {
        model.run(&mut [next as i32])?;
        next = argmax(model.last_logits());
    }
    let decode_s = decode.elapsed().as_secs_f64();
    Ok(json!({
        "prefill_tokens_per_s": options.prompt as f64 / prefill_s,
        "decode_tokens_per_s": options.decode as f64 / decode_s,
        "first_token_s": first_token_s,
        "load_s": load_s,
        "resident_bytes": peak_bytes(),
    }))
}

const FIGURES: [&str; 5] =
    ["prefill_tokens_per_s", "decode_tokens_per_s", "first_token_s", "load_s", "resident_bytes"];

fn compare(options: &Options) -> Result<(), Failure> {
    println!("| file | | prefill {} | decode {} | first token | load | peak resident |", options.prompt, options.decode);
    println!("|---|---|---|---|---|---|---|");
    for file in &options.files {
        let mut ours: Vec<Value> = Vec::new();
        let mut theirs: Vec<Value> = Vec::new();
        let numbers = [
            ("--threads", options.threads),
            ("--prompt", options.prompt),
            ("--decode", options.decode),
        ];
        for _ in 0..options.rounds {
            let mut us = Command::new(&options.inglenook);
            us.args(["bench", "engine", "--json", "--rounds", "1", "--model", file]);
            let mut them = Command::new(std::env::current_exe()?);
            them.args(["engine", file]);
            for (command, rows) in [(&mut us, &mut ours), (&mut them, &mut theirs)] {
                for (name, n) in numbers {
                    command.args([name, &n.to_string()]);
                }
                let output = command.output()?;
                if !output.status.success() {
                    return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
                }
                rows.push(serde_json::from_slice(&output.stdout)?);
            }
        }
        let median = |rows: &[Value], key: &str| {
            let mut values: Vec<f64> = rows.iter().filter_map(|r| r[key].as_f64()).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
        };
        let bytes = std::fs::metadata(file)?.len() as f64;
        let name = std::path::Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
        for (who, rows) in [("inglenook", &ours), ("llama.cpp", &theirs)] {
            let [prefill, decode, first, load, resident] = FIGURES.map(|f| median(rows, f));
            println!(
                "| {name} | {who} | {prefill:.1}/s | {decode:.1}/s | {first:.2} s | {load:.2} s | {:.0} MB, {:.2} × file |",
                resident / 1e6,
                resident / bytes
            );
        }
        let [prefill, decode, first, load, resident] =
            FIGURES.map(|f| median(&ours, f) / median(&theirs, f));
        println!("| {name} | **ratio** | **{prefill:.2}** | **{decode:.2}** | {first:.2} | {load:.2} | {resident:.2} |");
    }
    Ok(())
}

/// Cosines and the likeliest tokens, position by position.
fn logits(options: &Options) -> Result<(), Failure> {
    println!("| file | positions | least cosine | mean cosine | same argmax |");
    println!("|---|---|---|---|---|");
    for file in &options.files {
        let n = options.prompt.min(64);
        let mut model = Llama::load(file, options.threads, 256)?;
        let tokens = tokens(n, model.vocabulary);
        let mut theirs = Vec::with_capacity(n);
        for &token in &tokens {
            model.run(&mut [token])?;
            theirs.push(model.last_logits().to_vec());
        }
        let list: Vec<String> = tokens.iter().map(ToString::to_string).collect();
        let output = Command::new(&options.inglenook)
            .args(["model", "probe", file, "--fast", "--json", "--tokens", &list.join(",")])
            .output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        let ours: Value = serde_json::from_slice(&output.stdout)?;
        let rows = ours["logits"].as_array().ok_or("no logits")?;
        let (mut least, mut sum, mut same) = (1f64, 0f64, 0usize);
        for (row, other) in rows.iter().zip(&theirs) {
            let row: Vec<f32> = row
                .as_array()
                .ok_or("no row")?
                .iter()
                .map(|x| x.as_f64().unwrap_or(f64::NAN) as f32)
                .collect();
            let dot = |a: &[f32], b: &[f32]| -> f64 {
                a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
            };
            let cosine = dot(&row, other) / (dot(&row, &row) * dot(other, other)).sqrt();
            least = least.min(cosine);
            sum += cosine;
            same += usize::from(argmax(&row) == argmax(other));
        }
        let name = std::path::Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
        println!("| {name} | {n} | {least:.6} | {:.6} | {same} of {n} |", sum / n as f64);
    }
    Ok(())
}
