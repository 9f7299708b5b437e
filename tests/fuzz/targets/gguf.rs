//! A GGUF file: its header, its settings, and, where it is a model, a step of it.
#![no_main]

use std::collections::HashSet;
use std::path::Path;

use candle_core::Device;
use inglenook::inference::config::DecoderConfig;
use inglenook::inference::decoder::Decoder;
use inglenook::inference::gguf;
use inglenook::inference::sequence::Sequence;
use inglenook::inference::weights::{Bytes, Weights};
use inglenook::interfaces::ModelError;
use inglenook_fuzz::assert_printable;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    match gguf::parse(data) {
        Err(reason) => assert_printable(&reason),
        Ok(header) => {
            let mut names = HashSet::new();
            let mut spans = Vec::new();
            for tensor in &header.tensors {
                assert!(names.insert(&tensor.name), "{:?} twice", tensor.name);
                let range = tensor.range();
                assert!(range.start <= range.end && range.end <= data.len(), "{tensor:?}");
                assert!(tensor.stored.block().is_some() && !tensor.dims.contains(&0), "{tensor:?}");
                spans.push((range.start, range.end));
            }
            spans.sort_unstable();
            assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "overlap: {spans:?}");
            match run(data) {
                Ok(logits) => assert!(logits.iter().all(|l| l.is_finite()), "{logits:?}"),
                Err(error) => assert_printable(&error.to_string()),
            }
        }
    }
});

fn run(data: &[u8]) -> Result<Vec<f32>, ModelError> {
    let weights = Weights::from_bytes(Path::new("m.gguf"), Bytes::Owned(data.to_vec()))?;
    let config = DecoderConfig::from_gguf(weights.metadata()).map_err(|r| weights.bad(r))?;
    let decoder = Decoder::load(config, &weights, &Device::Cpu, &|_| {})?;
    let mut sequence = Sequence::default();
    sequence.extend(&decoder, &[1, 2, 3], 0..0, &mut |_, _| {}, &mut || {})?;
    sequence.last_logits(&decoder, &mut || {})
}
