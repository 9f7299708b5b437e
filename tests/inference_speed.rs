//! Tokens per second, for people: `cargo test --release --test inference_speed -- --ignored
//! --nocapture`, with `INGLENOOK_SPEED_MODEL` a GGUF file or a directory (else the prototype of the
//! starter).

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use std::path::{Path, PathBuf};
use std::time::Instant;

/// Processor seconds of this process: with `RAYON_NUM_THREADS=1` a measure that a busy machine
/// disturbs little.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks: f64 =
        stat.split_whitespace().skip(13).take(2).filter_map(|t| t.parse::<f64>().ok()).sum();
    ticks / 100.0
}

use inglenook::inference::load_decoder;
use inglenook::inference::sequence::Sequence;
use inglenook::inference::weights::Precision;
use inglenook::interfaces::{Cancel, Sampling};

#[test]
#[ignore = "a measurement"]
fn prefill_and_decode() {
    let prototype = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/models/starter-proto");
    let path = std::env::var("INGLENOOK_SPEED_MODEL").map_or(prototype, PathBuf::from);
    let begun = Instant::now();
    let decoder = load_decoder(&path, Precision::Auto).unwrap();
    println!("{}: loaded in {:.2} s", path.display(), begun.elapsed().as_secs_f64());
    let vocabulary = decoder.vocabulary() as u32;
    for n in [128, 512, 900] {
        for round in 0..2 {
            let tokens: Vec<u32> = (0..n).map(|i| (i * 7919 + 13) % vocabulary).collect();
            let mut sequence = Sequence::default();
            let (begun, cpu) = (Instant::now(), processor_seconds());
            sequence.extend(&decoder, &tokens, 0..0, &mut |_, _| {}, &mut || {}).unwrap();
            let prefill = begun.elapsed().as_secs_f64();
            let prefill_cpu = processor_seconds() - cpu;
            let (begun, cpu) = (Instant::now(), processor_seconds());
            let sampling = Sampling::greedy(32);
            let never = [Cancel::default(), Cancel::default()];
            sequence.generate(&decoder, &sampling, &[], &never, &mut |_| true, &mut || {}).unwrap();
            let decode = begun.elapsed().as_secs_f64();
            let decode_cpu = processor_seconds() - cpu;
            if round == 1 {
                println!(
                    "  {n} tokens: prefill {:.0} tokens/s ({:.0} a processor second), then decode \
                     {:.1} ({:.1}) tokens/s",
                    f64::from(n) / prefill,
                    f64::from(n) / prefill_cpu,
                    32.0 / decode,
                    32.0 / decode_cpu,
                );
            }
        }
    }
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let line = |key| status.lines().find(|l| l.starts_with(key)).unwrap_or_default().to_owned();
        println!("  {} {}", line("VmHWM"), line("VmRSS"));
    }
}
