//! A safetensors file's header, and the same bytes as the `config.json` beside it.
#![no_main]

use inglenook::inference::config::DecoderConfig;
use inglenook::inference::safetensors;
use inglenook_fuzz::assert_printable;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    match safetensors::parse(data) {
        Err(reason) => assert_printable(&reason),
        Ok(tensors) => {
            // They cover the file from the end of the header, without holes or overlap.
            let mut spans: Vec<_> = tensors.iter().map(|tensor| tensor.range()).collect();
            spans.sort_unstable_by_key(|span| (span.start, span.end));
            let header = 8 + u64::from_le_bytes(*data.first_chunk().expect("parsed")) as usize;
            let end = spans.iter().fold(header, |end, span| {
                assert_eq!(span.start, end, "{spans:?}");
                span.end
            });
            assert_eq!(end, data.len());
        }
    }
    let text = data.get(8..).unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    if let Err(reason) = DecoderConfig::from_json(&text) {
        assert_printable(&reason);
    }
});
