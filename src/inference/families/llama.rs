//! Llama 2 and 3, TinyLlama, SmolLM2 and the many models with their shape.

use super::{DecoderFamily, TensorNames};
use crate::inference::chat_template::{ChatFormat, Clues, NEUTRAL, Piece, Trim, break_role_marks};
use crate::inference::config::{Activation, attend_to_everything};
use crate::inference::tokenizer::PreTokenizer;

/// Its entry in the table.
pub static FAMILY: DecoderFamily = DecoderFamily {
    name: "llama",
    classes: &["LlamaForCausalLM"],
    gguf_rope_interleaved: true,
    chat_formats: &[&LLAMA31, &LLAMA3, &ZEPHYR],
    pre_tokenizers: &[PRE_TOKENIZER],
    ..PLAIN
};

/// Layers as Llama's, without anything of its own: what other families start from.
pub const PLAIN: DecoderFamily = DecoderFamily {
    name: "",
    classes: &[],
    tensors: TENSORS,
    qkv_bias: false,
    query_gates: false,
    head_norms: false,
    value_norms: false,
    norms_from_one: false,
    gguf_rope_interleaved: false,
    partial_rotation: false,
    activation: Activation::Silu,
    tied: None,
    defaults: &[],
    configure: attend_to_everything,
    chat_formats: &[],
    pre_tokenizers: &[],
};

/// The names that most decoders since use too.
pub const TENSORS: TensorNames = TensorNames {
    layer: ("model.layers.", "blk."),
    embedding: ("model.embed_tokens", "token_embd"),
    head: ("lm_head", "output"),
    norm: ("model.norm", "output_norm"),
    attention_norm: ("input_layernorm", "attn_norm"),
    query: ("self_attn.q_proj", "attn_q"),
    key: ("self_attn.k_proj", "attn_k"),
    value: ("self_attn.v_proj", "attn_v"),
    output: ("self_attn.o_proj", "attn_output"),
    fused_attention: None,
    query_norm: ("self_attn.q_norm", "attn_q_norm"),
    key_norm: ("self_attn.k_norm", "attn_k_norm"),
    post_attention_norm: None,
    feed_forward_norm: ("post_attention_layernorm", "ffn_norm"),
    post_feed_forward_norm: None,
    gate: ("mlp.gate_proj", "ffn_gate"),
    up: ("mlp.up_proj", "ffn_up"),
    down: ("mlp.down_proj", "ffn_down"),
    fused_feed_forward: None,
    experts: None,
    convolution: None,
    recurrence: None,
    per_layer: None,
    layer_scale: None,
    beside: None,
};

/// How its vocabulary, and those made from it, split text.
pub const PRE_TOKENIZER: PreTokenizer = PreTokenizer {
    names: &["llama-bpe", "llama3", "llama-v3"],
    rules: &[
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ],
    ignore_merges: true,
    begins: true,
    nfc: false,
};

/// What Llama 3.1 and later say before anything else. The second date is the one that their template falls back
/// to (Llama 3.2's would ask the clock): the same prompt on another day gives the same memory, and the chat's own
/// system text, which follows, tells the day.
const DATES: [&str; 2] = ["Cutting Knowledge Date: December 2023\n", "Today Date: 26 Jul 2024\n\n"];

const OPEN: &[Piece] = &[
    Piece::Special("<|start_header_id|>"),
    Piece::Role,
    Piece::Special("<|end_header_id|>"),
    Piece::Text("\n\n"),
];
const OPEN_DATED: &[Piece] = &[
    Piece::Special("<|start_header_id|>"),
    Piece::Role,
    Piece::Special("<|end_header_id|>"),
    Piece::Text("\n\n"),
    Piece::Text(DATES[0]),
    Piece::Text(DATES[1]),
];

fn is_llama3(clues: &Clues<'_>) -> bool {
    clues.has_all(&["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"])
}

/// `<|start_header_id|>user<|end_header_id|>⏎⏎…<|eot_id|>`, texts without surrounding whitespace.
static LLAMA3: ChatFormat = ChatFormat {
    name: "Llama3",
    recognise: is_llama3,
    open: [OPEN; 3],
    close: [&[Piece::Special("<|eot_id|>")]; 3],
    trims: [Trim::Ends; 3],
    ..NEUTRAL
};

/// Llama 3.1 and later: the system's turn begins with two dates.
static LLAMA31: ChatFormat = ChatFormat {
    name: "Llama31",
    recognise: |clues| {
        // Only Llama 3.1 and later have the token for a message that is not the last of its turn.
        let dated = match clues.template {
            "" => clues.has("<|eom_id|>"),
            template => template.contains(DATES[0]),
        };
        is_llama3(clues) && dated
    },
    open: [OPEN_DATED, OPEN, OPEN],
    ..LLAMA3
};

const ZEPHYR_OPEN: &[Piece] = &[Piece::Text("<|"), Piece::Role, Piece::Text("|>\n")];

/// `<|user|>⏎…</s>⏎`, roles in plain text (TinyLlama).
static ZEPHYR: ChatFormat = ChatFormat {
    name: "Zephyr",
    recognise: |clues| {
        let written = ["<|user|>", "<|assistant|>"].iter().all(|m| clues.template.contains(m));
        written && clues.has("</s>")
    },
    open: [ZEPHYR_OPEN; 3],
    close: [&[Piece::Special("</s>"), Piece::Text("\n")]; 3],
    prepare: break_role_marks,
    ..NEUTRAL
};
