"""Writes a GGUF file of random F16 weights in the shape of a real model, for llama.cpp to quantise.

    pip install gguf numpy
    python write_model.py qwen3-0.6b out.gguf [--layers N]

The vocabulary is the real one's size and has no words: both engines are fed numbers. Each row of the token table
is a direction of its own, an output matrix of its own has the same rows in another order, and the layers add to
it as a trained model's do (their outputs are smaller than what they are added to), so that the next token is
not a coin's toss.
"""

import argparse

import gguf
import numpy as np

SHAPES = {  # arch, hidden, layers, heads, kv heads, head size, feed-forward, vocabulary, rope theta, tied, context
    "qwen3-0.6b": ("qwen3", 1024, 28, 16, 8, 128, 3072, 151_936, 1e6, True, 40_960),
    "llama-3.2-1b": ("llama", 2048, 16, 32, 8, 64, 8192, 128_256, 5e5, True, 131_072),
    "qwen2.5-0.5b": ("qwen2", 896, 24, 14, 2, 64, 4864, 151_936, 1e6, True, 32_768),
    "tiny-llama": ("llama", 256, 3, 4, 2, 64, 768, 2_048, 1e4, False, 2_048),
    "tiny-qwen2": ("qwen2", 256, 3, 4, 2, 64, 768, 2_048, 1e6, True, 2_048),
    "tiny-qwen3": ("qwen3", 256, 3, 4, 2, 128, 768, 2_048, 1e6, False, 2_048),
    "odd-qwen2": ("qwen2", 224, 3, 7, 1, 32, 608, 2_000, 1e6, True, 2_048),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("out")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    arch, hidden, layers, heads, kv_heads, size, feed, vocabulary, theta, tied, context = SHAPES[args.shape]
    layers = args.layers or layers
    rng = np.random.default_rng(args.seed)
    out = gguf.GGUFWriter(args.out, arch)
    out.add_name(args.shape)
    out.add_block_count(layers)
    out.add_context_length(context)
    out.add_embedding_length(hidden)
    out.add_feed_forward_length(feed)
    out.add_head_count(heads)
    out.add_head_count_kv(kv_heads)
    out.add_key_length(size)
    out.add_value_length(size)
    out.add_layer_norm_rms_eps(1e-6)
    out.add_rope_freq_base(theta)
    if arch == "llama":
        out.add_rope_dimension_count(size)
    out.add_vocab_size(vocabulary)
    out.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    out.add_tokenizer_model("no_vocab")

    def normal(*shape, std):
        return (rng.standard_normal(shape, dtype=np.float32) * std).astype(np.float16)

    def ones(n):
        return (1 + 0.1 * rng.standard_normal(n)).astype(np.float32)

    def bias(n):
        return (0.02 * rng.standard_normal(n)).astype(np.float32)

    table = normal(vocabulary, hidden, std=0.04)
    out.add_tensor("token_embd.weight", table)
    out.add_tensor("output_norm.weight", ones(hidden))
    if not tied:
        out.add_tensor("output.weight", np.ascontiguousarray(np.roll(table, 1, axis=0)))
    if args.shape == "llama-3.2-1b":  # Llama 3.2's scaling of the rotations
        f = theta ** (-np.arange(0, size, 2, dtype=np.float32) / size)
        wave = 2 * np.pi / f
        smooth = np.clip((8192 / wave - 1) / (4 - 1), 0, 1)
        out.add_tensor("rope_freqs.weight", (1 / ((1 - smooth) / 32 + smooth)).astype(np.float32))
    for i in range(layers):
        blk = f"blk.{i}"
        out.add_tensor(f"{blk}.attn_norm.weight", ones(hidden))
        out.add_tensor(f"{blk}.ffn_norm.weight", ones(hidden))
        for name, n in (("q", heads * size), ("k", kv_heads * size), ("v", kv_heads * size)):
            out.add_tensor(f"{blk}.attn_{name}.weight", normal(n, hidden, std=hidden**-0.5))
            if arch == "qwen2":
                out.add_tensor(f"{blk}.attn_{name}.bias", bias(n))
        if arch == "qwen3":
            out.add_tensor(f"{blk}.attn_q_norm.weight", ones(size))
            out.add_tensor(f"{blk}.attn_k_norm.weight", ones(size))
        out.add_tensor(f"{blk}.attn_output.weight", normal(hidden, heads * size, std=0.03 * (heads * size) ** -0.5))
        out.add_tensor(f"{blk}.ffn_gate.weight", normal(feed, hidden, std=hidden**-0.5))
        out.add_tensor(f"{blk}.ffn_up.weight", normal(feed, hidden, std=hidden**-0.5))
        out.add_tensor(f"{blk}.ffn_down.weight", normal(hidden, feed, std=0.03 * feed**-0.5))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    main()
