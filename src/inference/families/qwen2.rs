//! Qwen2 and Qwen2.5.

use super::{DecoderFamily, llama};
use crate::inference::chat_template::{ChatFormat, NEUTRAL, Piece, ToolFormat};
use crate::inference::tokenizer::PreTokenizer;

/// Its entry in the table.
pub static FAMILY: DecoderFamily = DecoderFamily {
    name: "qwen2",
    classes: &["Qwen2ForCausalLM"],
    qkv_bias: true,
    chat_formats: &[&CHAT_ML],
    pre_tokenizers: &[
        PRE_TOKENIZER,
        PreTokenizer { names: &["deepseek-r1-qwen"], nfc: false, ..PRE_TOKENIZER },
    ],
    ..llama::PLAIN
};

/// How its vocabulary splits text.
pub const PRE_TOKENIZER: PreTokenizer = PreTokenizer {
    names: &["qwen2"],
    rules: &[
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ],
    ignore_merges: false,
    begins: false,
    nfc: true,
};

const OPEN: &[Piece<'_>] = &[Piece::Special("<|im_start|>"), Piece::Role, Piece::Text("\n")];

/// `<|im_start|>user⏎…<|im_end|>⏎` (Qwen2.5, SmolLM2).
pub static CHAT_ML: ChatFormat = ChatFormat {
    name: "ChatMl",
    recognise: |clues| {
        clues.has_all(&["<|im_start|>", "<|im_end|>"]) && !clues.has("<|start_header_id|>")
    },
    open: [OPEN; 3],
    close: [&[Piece::Special("<|im_end|>"), Piece::Text("\n")]; 3],
    drops_thoughts: true,
    tools: Some(&HERMES),
    ..NEUTRAL
};

/// `<tool_call>{"name": …, "arguments": …}</tool_call>` (Qwen2.5, Qwen3, Hermes).
static HERMES: ToolFormat = ToolFormat {
    recognise: |clues| {
        // Qwen3-Coder writes calls as XML.
        ["tools", CALL[0], "<tool_response>"].iter().all(|part| clues.template.contains(part))
            && !clues.template.contains("<function=")
    },
    list: [
        &[Piece::Text(
            "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with \
             function signatures within <tools></tools> XML tags:\n<tools>",
        )],
        &[
            Piece::Text(
                "\n</tools>\n\nFor each function call, return a json object with function name and arguments within ",
            ),
            Piece::Mark(CALL[0]),
            Piece::Mark(CALL[1]),
            Piece::Text(" XML tags:\n"),
            Piece::Mark(CALL[0]),
            Piece::Text("\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n"),
            Piece::Mark(CALL[1]),
        ],
    ],
    call: CALL,
    result: ["<tool_response>", "</tool_response>"],
};

const CALL: [&str; 2] = ["<tool_call>", "</tool_call>"];
