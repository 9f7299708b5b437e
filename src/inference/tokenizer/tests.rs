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

/// With these parts in place of `null` or of the model; `e` is the text that is encoded.
#[track_caller]
fn check_hostile(parts: &[(&str, &str)], expected: &str) {
    let model = r#"{"type":"WordLevel","vocab":{"e":0},"unk_token":"e"}"#;
    let defaults = [
        ("normalizer", "null"),
        ("pre_tokenizer", "null"),
        ("post_processor", "null"),
        ("model", model),
    ];
    let fields = defaults.map(|(key, default)| {
        let own = parts.iter().find(|(name, _)| *name == key);
        format!("\"{key}\":{}", own.map_or(default, |(_, value)| value))
    });
    let file = format!(
        "{{\"version\":\"1.0\",\"added_tokens\":[],\"decoder\":null,{}}}",
        fields.join(",")
    );
    let reason =
        Tokenizer::from_json_bytes(file.as_bytes()).map_or_else(|reason| reason, |_| "fine".into());
    assert!(reason.contains(expected), "{reason:?} instead of {expected:?}");
}

#[test]
fn rules_that_would_fill_the_memory_are_refused() {
    let replace = |pattern: &str, by: &str, times: usize| {
        let one = format!(r#"{{"type":"Replace","pattern":{pattern},"content":"{by}"}}"#);
        format!(r#"{{"type":"Sequence","normalizers":[{}]}}"#, vec![one; times].join(","))
    };
    let too_long = "over 512 times";
    let ee = "e".repeat(1_000);
    check_hostile(&[("normalizer", &replace(r#"{"String":"e"}"#, &ee, 3))], too_long);
    check_hostile(&[("normalizer", &replace(r#"{"Regex":"x*"}"#, "ee", 8))], too_long);
    for empty in [r#"{"Regex":""}"#, r#"{"String":""}"#] {
        check_hostile(&[("normalizer", &replace(empty, "e", 1))], "looks for the empty text");
    }
    check_hostile(&[("normalizer", &replace(r#"{"String":"e"}"#, "x", 50))], "fine");
    check_hostile(&[("normalizer", &replace(r#"{"String":" "}"#, "▁", 3))], "fine");
    let bytes =
        r#"{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}"#;
    let steps = |n: usize| {
        format!(r#"{{"type":"Sequence","pretokenizers":[{}]}}"#, vec![bytes; n].join(","))
    };
    check_hostile(&[("pre_tokenizer", &steps(30))], too_long);
    let replaced = replace(r#"{"String":"e"}"#, "eeee", 4);
    check_hostile(&[("normalizer", &replaced), ("pre_tokenizer", &steps(1))], "fine");
    check_hostile(&[("normalizer", &replaced), ("pre_tokenizer", &steps(2))], too_long);

    let table = |bytes: &[u8]| {
        let text = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, bytes);
        format!(r#"{{"type":"Precompiled","precompiled_charsmap":"{text}"}}"#)
    };
    let shorter = "shorter than it claims";
    // The crate would reserve 8 GB for it.
    check_hostile(&[("normalizer", &table(b"\xff\xff\xff\xffaa"))], shorter);
    check_hostile(&[("normalizer", &table(b"\0\0\0"))], shorter);
    let long = [&[4, 0, 0, 0, 0, 0, 0, 0][..], ee.as_bytes(), b"\0"].concat();
    check_hostile(&[("normalizer", &table(&long))], too_long);
    check_hostile(&[("normalizer", &table(b"\x04\0\0\0\0\0\0\0x\0"))], "fine");
}

#[test]
fn a_frame_of_a_million_tokens_is_refused() {
    let frame = |n_parts: usize, n_ids: usize| {
        let part = r#"{"SpecialToken":{"id":"x","type_id":0}}"#;
        let (parts, ids) = (vec![part; n_parts].join(","), vec!["0"; n_ids].join(","));
        let names = vec!["\"e\""; n_ids].join(",");
        let template = format!(
            r#"{{"type":"TemplateProcessing","single":[{parts}],
            "pair":[{{"Sequence":{{"id":"A","type_id":0}}}},{{"Sequence":{{"id":"B","type_id":1}}}}],
            "special_tokens":{{"x":{{"id":"x","ids":[{ids}],"tokens":[{names}]}}}}}}"#
        );
        [template.clone(), format!(r#"{{"type":"Sequence","processors":[{template}]}}"#)]
    };
    for (n_parts, n_ids, expected) in [(17, 1, "too many"), (1, 257, "too many"), (16, 256, "fine")]
    {
        for processor in frame(n_parts, n_ids) {
            check_hostile(&[("post_processor", &processor)], expected);
        }
    }
}

#[test]
fn models_that_would_take_hours_for_a_word_are_refused() {
    let word_piece = |n: usize| {
        format!(
            r#"{{"type":"WordPiece","unk_token":"e","continuing_subword_prefix":"\u0023\u0023",
            "max_input_chars_per_word":{n},"vocab":{{"e":0}}}}"#
        )
    };
    check_hostile(&[("model", &word_piece(1_000))], "fine");
    check_hostile(&[("model", &word_piece(1_001))], "over 1,000 characters");
    let unigram = |n: usize| {
        format!(r#"{{"type":"Unigram","unk_id":0,"vocab":[["e",0.0],["{}",-1.0]]}}"#, "x".repeat(n))
    };
    check_hostile(&[("model", &unigram(1_000))], "fine");
    check_hostile(&[("model", &unigram(1_001))], "over 1,000 characters");
}

#[test]
fn millions_of_merges_or_tokens_are_refused() {
    let few = small(END);
    let merges = few.replace(r#"["h e"]"#, &format!(r#"["h e"{}]"#, r#","h e""#.repeat(1 << 20)));
    let tokens = few.replace(r#""he":256"#, &format!(r#""he":256{}"#, r#","x":1"#.repeat(1 << 20)));
    for file in [merges, tokens] {
        let refused = Tokenizer::from_json_bytes(file.as_bytes()).err().unwrap();
        assert!(refused.contains("over a million"), "{refused}");
    }
}
