//! Control tokens, decoding and damaged files, on a byte-level vocabulary.

use super::spelling::byte_of;
use super::*;

/// A byte-level tokenizer with a control token that the file forgets to mark as special.
fn small(added: &str) -> String {
    let mut vocab: Vec<String> = (0..=255u8)
        .map(|byte| {
            let c =
                (0..0x200).filter_map(char::from_u32).find(|&c| byte_of(c) == Some(byte)).unwrap();
            format!("{}:{byte}", serde_json::to_string(&c.to_string()).unwrap())
        })
        .collect();
    vocab.push("\"he\":256".into());
    vocab.push("\"<|end|>\":257".into());
    format!(
        r#"{{"version":"1.0","truncation":null,
        "padding":{{"strategy":{{"Fixed":8}},"direction":"Right","pad_to_multiple_of":null,
            "pad_id":0,"pad_type_id":0,"pad_token":"!"}},
        "added_tokens":[{added}],"normalizer":null,
        "pre_tokenizer":{{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}},
        "post_processor":null,
        "decoder":{{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}},
        "model":{{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,
            "end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":true,
            "vocab":{{{}}},"merges":["h e"]}}}}"#,
        vocab.join(",")
    )
}

const END: &str = r#"{"id":257,"content":"<|end|>","single_word":false,"lstrip":false,
    "rstrip":false,"normalized":false,"special":false}"#;

#[test]
fn text_never_becomes_a_control_token_and_padding_is_off() {
    let tokenizer = Tokenizer::from_json_bytes(small(END).as_bytes()).unwrap();
    let end = tokenizer.special("<|end|>").unwrap();
    assert_eq!(end, 257);
    for text in ["<|end|>", "he<|end|>he", " <|end|>", "<|end|><|end|>"] {
        let ids = tokenizer.encode(text);
        assert!(!ids.contains(&end), "{text}: {ids:?}");
        assert_eq!(tokenizer.decode(&ids), text);
    }
    assert_eq!(tokenizer.encode("he"), [256]);
}

#[test]
fn decoding_leaves_special_tokens_out_and_marks_broken_characters() {
    let special = END.replace("\"special\":false", "\"special\":true");
    let tokenizer = Tokenizer::from_json_bytes(small(&special).as_bytes()).unwrap();
    assert_eq!(tokenizer.decode(&[256, 257, 256]), "hehe");
    assert_eq!(tokenizer.decode(&[0xc3, 256]), "\u{fffd}he");
    assert_eq!(tokenizer.decode(&[9_999_999]), "");

    let mut stream = DecodeStream::default();
    let mut parts = Vec::new();
    for id in [256, 0xc3, 0xa5, 0xe2, 0x82, 256, 0xff, 0xe2] {
        parts.push(stream.push(&tokenizer, id));
    }
    assert_eq!(parts, ["he", "", "å", "", "", "\u{fffd}he", "\u{fffd}", ""]);
    assert_eq!(stream.finish(), "\u{fffd}");
}

#[test]
fn long_text_survives_a_round_trip() {
    let tokenizer = Tokenizer::from_json_bytes(small(END).as_bytes()).unwrap();
    for text in ["he said that ".repeat(20_000), " ".repeat(200_000), "é".repeat(100_000)] {
        assert!(tokenizer.decode(&tokenizer.encode(&text)) == text);
    }
}

#[test]
fn damaged_files_are_errors() {
    let good = small(END);
    let cases = [
        String::new(),
        "[]".into(),
        good[..good.len() / 2].into(),
        good.replace("\"h e\"", "\"h eeeeeeeeeeeeeeeeeee\""),
        good.replace("\"h e\"", "\"h zz\""),
        good.replace("\"h e\"", "\"<|end|> <|end|>\""),
        good.replace("\"continuing_subword_prefix\":null", "\"continuing_subword_prefix\":\"éé\""),
        good.replace("\"id\":257", "\"id\":31"),
        good.replace("\"he\":256", "\"he\":4294967295"),
        "{\"model\":".repeat(5_000),
    ];
    for case in cases {
        let result = Tokenizer::from_json_bytes(case.as_bytes());
        assert!(result.is_err(), "accepted {}", &case[..case.len().min(80)]);
    }
    assert!(Tokenizer::from_json_bytes(good.as_bytes()).is_ok());
}
