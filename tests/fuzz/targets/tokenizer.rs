//! A vocabulary, as a GGUF file or a `tokenizer.json`, and after the last byte 0xfe a text for it.
#![no_main]

use std::panic;

use inglenook::inference::gguf;
use inglenook::inference::tokenizer::{DecodeStream, Tokenizer};
use inglenook_fuzz::in_a_thread;
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: {
        // The product turns panics of the crate `tokenizers` into errors; libFuzzer's hook would abort there.
        // What nothing catches still ends the run: set FUZZ_PANICS to see where.
        if std::env::var_os("FUZZ_PANICS").is_none() {
            panic::set_hook(Box::new(|_| {}));
        } else {
            drop(panic::take_hook());
        }
    },
    |data: &[u8]| {
        let cut = data.iter().rposition(|&byte| byte == 0xfe).unwrap_or(data.len());
        let (file, text) = data.split_at(cut);
        let text = String::from_utf8_lossy(text.get(1..).unwrap_or_default());
        let tokenizer = if gguf::has_magic(file) {
            gguf::parse(file).and_then(|header| Tokenizer::from_gguf(&header.metadata))
        } else {
            Tokenizer::from_json_bytes(file)
        };
        let Ok(tokenizer) = tokenizer else { return };
        in_a_thread(|| {
            for text in [&*text, " Ana's 12 dogs\n\n <|im_end|></s>[SEP] é東🙂", "<|im_start|>"] {
                check(&tokenizer, text);
            }
        });
    }
);

fn check(tokenizer: &Tokenizer, text: &str) {
    let ids = tokenizer.encode(text);
    for &id in &ids {
        assert!((id as usize) < tokenizer.n_ids(), "{id} of {}", tokenizer.n_ids());
        let is_control =
            tokenizer.text_bytes(id).is_empty() && !tokenizer.token_bytes(id).is_empty();
        assert!(!is_control, "{text:?} became the control token {id}");
    }
    for mark in marks(text) {
        if let Some(id) = tokenizer.special(mark) {
            assert!(!ids.contains(&id), "{mark:?} of {text:?} became {id}");
        }
    }
    let mut stream = DecodeStream::default();
    let mut streamed: String = ids.iter().map(|&id| stream.push(tokenizer, id)).collect();
    streamed += &stream.finish();
    assert_eq!(streamed, tokenizer.decode(&ids));

    let begin = tokenizer.begin();
    for tokens_max in [0, 4, 512] {
        let framed = tokenizer.encode_framed(text, tokens_max);
        assert!(framed.len() <= tokens_max.max(begin.len()), "{} of {tokens_max}", framed.len());
    }
}

/// Whatever looks like a control token: `<…>` and `[…]`.
fn marks(text: &str) -> impl Iterator<Item = &str> {
    let pairs = [('<', '>'), ('[', ']')];
    pairs.into_iter().flat_map(move |(open, close)| {
        text.match_indices(open).filter_map(move |(start, _)| {
            let end = start + text[start..].find(close)? + 1;
            Some(&text[start..end]).filter(|mark| mark.len() > 2)
        })
    })
}
