//! A model's chat template and a conversation: which format it is taken for, and what that makes of the text.
//!
//! One byte says which control tokens the vocabulary has; then the template and the text, with a byte 0xfe between.
#![no_main]

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use inglenook::inference::tokenizer::Tokenizer;
use inglenook::inference::{ChatTemplate, TemplateHints, gguf};
use inglenook::interfaces::TurnRole;
use inglenook_fuzz::in_a_thread;
use libfuzzer_sys::fuzz_target;

/// Added by one bit each.
const CONTROL: [&[&str]; 6] = [
    &["<|im_start|>", "<|im_end|>"],
    &["<think>", "</think>"],
    &["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
    &["<|eom_id|>", "<|begin_of_text|>"],
    &["</s>"],
    &["<|user|>", "<|end|>"],
];

static TOKENIZERS: LazyLock<Mutex<HashMap<u8, Arc<Tokenizer>>>> = LazyLock::new(Mutex::default);

fuzz_target!(|data: &[u8]| {
    let Some((&bits, rest)) = data.split_first() else { return };
    let bits = bits & 0x3f;
    let mut parts = rest.splitn(2, |&byte| byte == 0xfe).map(String::from_utf8_lossy);
    let template = parts.next().unwrap_or_default().into_owned();
    let text = parts.next().unwrap_or_default();
    let mut all = TOKENIZERS.lock().expect("nothing panics with it");
    let tokenizer = all.entry(bits).or_insert_with(|| Arc::new(tokenizer(bits))).clone();
    drop(all);
    let chat_template = Some(template).filter(|template| !template.is_empty());
    let hints = TemplateHints { chat_template, eos: vec![u32::from(bits), 300, u32::MAX] };
    in_a_thread(|| check(&tokenizer, &ChatTemplate::recognise(&tokenizer, &hints), &text));
});

fn check(tokenizer: &Tokenizer, template: &ChatTemplate, text: &str) {
    let control: Vec<u32> =
        CONTROL.iter().copied().flatten().filter_map(|token| tokenizer.special(token)).collect();
    let is_token = |&id: &u32| (id as usize) < tokenizer.n_ids();
    assert!(template.end_of_turn().iter().all(is_token));
    for role in [TurnRole::System, TurnRole::User, TurnRole::Assistant] {
        let around = [template.open_turn(role), template.open_reply(), template.close_turn()];
        assert!(around.concat().iter().all(is_token));
        let content = template.content(role, text);
        assert!(text.contains(content));
        let prepared = template.prepare(content);
        assert_eq!(template.prepare(&prepared), prepared, "a second time");
        let ids = tokenizer.encode(&prepared);
        assert!(!ids.iter().any(|id| control.contains(id)), "{text:?} holds a control token");
        assert_eq!(tokenizer.decode(&ids), prepared, "tokens and back");
        // Where roles are plain text, the text opens no turn.
        let opening = tokenizer.decode(template.open_turn(TurnRole::User));
        if opening.starts_with("<|user|>") {
            assert!(!prepared.contains("<|user|>"), "{prepared:?}");
        }
        if template.stop_text().is_some() {
            assert!(!prepared.split('\n').any(|line| line.starts_with("User:")), "{prepared:?}");
        }
    }
}

/// A byte-level vocabulary with some control tokens, by way of a GGUF file.
fn tokenizer(bits: u8) -> Tokenizer {
    let stands_for_itself = |b: &u8| matches!(b, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let mut tokens: Vec<String> = Vec::new();
    let mut n_others = 0;
    for byte in 0..=255u8 {
        let code = if stands_for_itself(&byte) { u32::from(byte) } else { 0x100 + n_others };
        n_others += u32::from(!stands_for_itself(&byte));
        tokens.extend(char::from_u32(code).map(String::from));
    }
    let sets = CONTROL.iter().enumerate().filter(|(bit, _)| bits & 1 << bit != 0);
    tokens.extend(sets.flat_map(|(_, set)| set.iter().map(|&token| token.to_owned())));
    let types = (0..tokens.len()).map(|i| if i < 256 { 1 } else { 3_u32 });
    let types: Vec<u8> = types.flat_map(u32::to_le_bytes).collect();

    let string = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let list = |kind: u32, n: usize, items: Vec<u8>| {
        [&9_u32.to_le_bytes()[..], &kind.to_le_bytes(), &(n as u64).to_le_bytes(), &items].concat()
    };
    let text = |text: &str| [&8_u32.to_le_bytes()[..], &string(text)].concat();
    let values = [
        ("model", text("gpt2")),
        ("pre", text("gpt-2")),
        ("tokens", list(8, tokens.len(), tokens.iter().flat_map(|token| string(token)).collect())),
        ("token_type", list(4, tokens.len(), types)),
        ("merges", list(8, 0, Vec::new())),
    ];
    let mut file = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend((values.len() as u64).to_le_bytes());
    for (key, value) in values {
        file.extend(string(&format!("tokenizer.ggml.{key}")));
        file.extend(value);
    }
    let header = gguf::parse(&file).expect("a header");
    Tokenizer::from_gguf(&header.metadata).expect("a vocabulary")
}
