"""Writes a GGUF file of random F16 weights in the shape of a real model, for llama.cpp to quantise.

    pip install gguf numpy
    python write_model.py qwen3-0.6b out.gguf [--layers N]

The vocabulary is the real one's size and has no words: both engines are fed numbers. Each row of the token table
is a direction of its own, an output matrix of its own has the same rows in another order, and the layers add to
it as a trained model's do (their outputs are smaller than what they are added to), so that the next token is
not a coin's toss. Names and metadata are those of llama.cpp, which refuses a file that lacks one.
"""

import argparse

import gguf
import numpy as np


FIELDS = "arch hidden layers heads kv_heads size feed vocabulary theta tied context".split()


def shape(*of_all, **own):
    return dict(zip(FIELDS, of_all, strict=True), **own)


SHAPES = {
    "qwen3-0.6b": shape("qwen3", 1024, 28, 16, 8, 128, 3072, 151_936, 1e6, True, 40_960),
    "qwen3-4b": shape("qwen3", 2560, 36, 32, 8, 128, 9728, 151_936, 1e6, True, 40_960),
    "llama-3.2-1b": shape("llama", 2048, 16, 32, 8, 64, 8192, 128_256, 5e5, True, 131_072, llama3=True),
    "qwen2.5-0.5b": shape("qwen2", 896, 24, 14, 2, 64, 4864, 151_936, 1e6, True, 32_768),
    "gemma-3-1b": shape("gemma3", 1152, 26, 4, 1, 256, 6912, 262_144, 1e6, True, 32_768, window=512),
    "phi-4-mini": shape("phi3", 3072, 32, 24, 8, 128, 8192, 200_064, 1e4, True, 131_072, rotated=96, original=4096),
    "smollm3-3b": shape("smollm3", 2048, 36, 16, 4, 128, 11_008, 128_256, 5e6, True, 65_536),
    "ministral-3-3b": shape("mistral3", 3072, 26, 32, 8, 128, 9216, 131_072, 1e6, True, 262_144, original=16_384),
    "granite-4.0-350m": shape("granite", 1024, 28, 16, 4, 64, 2048, 100_352, 1e7, True, 32_768),
    "granite-4.0-1b": shape("granite", 2048, 40, 16, 4, 128, 4096, 100_352, 1e7, True, 131_072),
    "qwen3-30b-a3b": shape("qwen3moe", 2048, 48, 32, 4, 128, 6144, 151_936, 1e6, False, 40_960, experts=(128, 8, 768)),
    "lfm2-350m": shape("lfm2", 1024, 16, 16, 8, 64, 4608, 65_536, 1e6, True, 128_000, attend=(2, 5, 8, 10, 12, 14)),
    "lfm2-1.2b": shape("lfm2", 2048, 16, 32, 8, 64, 8192, 65_536, 1e6, True, 128_000, attend=(2, 5, 8, 10, 12, 14)),
    "qwen3.5-0.8b": shape("qwen35", 1024, 24, 8, 2, 256, 3584, 248_320, 1e7, True, 262_144, rotated=64, states=(16, 128)),
    # Heads of 256 with a window and of 512 without; every fifth layer is without, and the last 20 share keys.
    "gemma-4-e2b": shape("gemma4", 1536, 35, 8, 1, 256, 6144, 262_144, 1e6, True, 131_072, window=512, shared=20, own=256, each=5),
    # In layers without a window two heads of keys, which are values, too; experts beside the dense part.
    "gemma-4-26b-a4b": shape(
        "gemma4", 2816, 30, 16, 8, 256, 2112, 262_144, 1e6, True, 262_144, window=1024, each=6, full_kv=2, experts=(128, 8, 704)
    ),
    "tiny-llama": shape("llama", 256, 3, 4, 2, 64, 768, 2_048, 1e4, False, 2_048),
    "tiny-qwen2": shape("qwen2", 256, 3, 4, 2, 64, 768, 2_048, 1e6, True, 2_048),
    "tiny-qwen3": shape("qwen3", 256, 3, 4, 2, 128, 768, 2_048, 1e6, False, 2_048),
    "tiny-gemma3": shape("gemma3", 256, 7, 4, 1, 64, 768, 2_048, 1e6, True, 2_048, window=16),
    "tiny-gemma4": shape("gemma4", 256, 6, 4, 1, 64, 768, 2_048, 1e6, True, 2_048, window=16, shared=3, own=256, each=3),
    "tiny-gemma4-moe": shape(
        "gemma4", 256, 6, 4, 2, 64, 512, 2_048, 1e6, True, 2_048, window=16, each=3, full_kv=1, experts=(16, 4, 256)
    ),
    "tiny-phi3": shape("phi3", 256, 3, 4, 2, 64, 768, 2_048, 1e4, True, 8_192, rotated=48, original=4096),
    "tiny-smollm3": shape("smollm3", 256, 5, 4, 2, 64, 768, 2_048, 5e6, True, 2_048),
    "tiny-mistral3": shape("mistral3", 256, 3, 4, 2, 128, 768, 2_048, 1e6, True, 2_048, original=16_384),
    "tiny-granite": shape("granite", 256, 3, 4, 2, 64, 768, 2_048, 1e7, True, 2_048),
    "tiny-qwen3-moe": shape("qwen3moe", 256, 3, 4, 2, 64, 768, 2_048, 1e6, False, 2_048, experts=(16, 4, 256)),
    "tiny-lfm2": shape("lfm2", 256, 4, 4, 2, 64, 768, 2_048, 1e6, True, 2_048, attend=(2,)),
    "tiny-qwen35": shape("qwen35", 256, 5, 4, 2, 128, 768, 2_048, 1e7, True, 2_048, rotated=32, states=(4, 128)),
    "odd-qwen2": shape("qwen2", 224, 3, 7, 1, 32, 608, 2_000, 1e6, True, 2_048),
}


def add_metadata(out, s):
    arch, size = s["arch"], s["size"]
    out.add_block_count(s["layers"])
    out.add_context_length(s["context"])
    out.add_embedding_length(s["hidden"])
    n_own = s["layers"] - s.get("shared", 0)
    widths = [s["feed"] * (1 if i < n_own else 2) for i in range(s["layers"])]
    out.add_feed_forward_length(widths if "shared" in s else s["feed"])
    out.add_head_count(s["heads"])
    # Of each layer, where some do not attend.
    attend = s.get("attend")
    if "full_kv" in s:
        out.add_head_count_kv([s["kv_heads"] if slides(s, i) else s["full_kv"] for i in range(s["layers"])])
    else:
        out.add_head_count_kv([s["kv_heads"] * (i in attend) for i in range(s["layers"])] if attend else s["kv_heads"])
    if arch != "lfm2":
        out.add_key_length(size * (1 + (arch == "gemma4")))
        out.add_value_length(size * (1 + (arch == "gemma4")))
    out.add_layer_norm_rms_eps(1e-5 if arch in ("lfm2", "granite", "phi3", "mistral3") else 1e-6)
    out.add_rope_freq_base(s["theta"])
    if arch in ("llama", "smollm3", "mistral3", "granite") or "rotated" in s:
        out.add_rope_dimension_count(s.get("rotated", size))
    out.add_vocab_size(s["vocabulary"])
    out.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    out.add_tokenizer_model("no_vocab")
    if arch == "gemma3":
        out.add_sliding_window(s["window"])
    if arch == "gemma4":
        out.add_sliding_window(s["window"])
        out.add_array("gemma4.attention.sliding_window_pattern", [slides(s, i) for i in range(s["layers"])])
        out.add_uint32("gemma4.attention.shared_kv_layers", s.get("shared", 0))
        out.add_uint32("gemma4.embedding_length_per_layer_input", s.get("own", 0))
        out.add_float32("gemma4.final_logit_softcapping", 30)
        out.add_float32("gemma4.rope.freq_base_swa", 1e4)
        out.add_rope_dimension_count(2 * size)
        out.add_uint32("gemma4.rope.dimension_count_swa", size)
        out.add_uint32("gemma4.attention.key_length_swa", size)
        out.add_uint32("gemma4.attention.value_length_swa", size)
    if arch == "phi3":
        out.add_float32("phi3.rope.scaling.attn_factor", (1 + np.log(32) / np.log(s["original"])) ** 0.5)
        out.add_uint32("phi3.rope.scaling.original_context_length", s["original"])
    if arch == "mistral3":
        out.add_string("mistral3.rope.scaling.type", "yarn")
        out.add_float32("mistral3.rope.scaling.factor", 16)
        out.add_uint32("mistral3.rope.scaling.original_context_length", s["original"])
        out.add_float32("mistral3.rope.scaling.yarn_beta_fast", 32)
        out.add_float32("mistral3.rope.scaling.yarn_beta_slow", 1)
        out.add_float32("mistral3.rope.scaling.yarn_log_multiplier", 1)
        out.add_float32("mistral3.attention.temperature_scale", 0.1)
    if arch == "granite":
        out.add_float32("granite.embedding_scale", 12)
        out.add_float32("granite.attention.scale", 1 / size)
        out.add_float32("granite.residual_scale", 0.25)
        out.add_float32("granite.logit_scale", 4)
    if "experts" in s:
        n, used, width = s["experts"]
        out.add_expert_count(n)
        out.add_expert_used_count(used)
        out.add_expert_feed_forward_length(width)
    if arch == "lfm2":
        out.add_uint32("lfm2.shortconv.l_cache", 3)
    if arch == "qwen35":
        n, dim = s["states"]
        pairs = s["rotated"] // 2
        out.add_rope_dimension_sections([pairs // 3 + 1, pairs // 3 + 1, pairs - 2 * (pairs // 3 + 1), 0])
        out.add_ssm_conv_kernel(4)
        out.add_ssm_state_size(dim)
        out.add_ssm_group_count(n)
        out.add_ssm_time_step_rank(n)
        out.add_ssm_inner_size(n * dim)
        out.add_uint32("qwen35.full_attention_interval", 4)


def slides(s, layer):
    return (layer + 1) % s["each"] != 0


class Weights:
    def __init__(self, out, seed):
        self.out, self.rng = out, np.random.default_rng(seed)

    def normal(self, *shape, std):
        values = np.empty(shape, dtype=np.float16)
        for part in np.array_split(values.reshape(-1, shape[-1]), max(1, values.size >> 24)):
            part[:] = self.rng.standard_normal(part.shape, dtype=np.float32) * np.float32(std)
        return values

    def matrix(self, name, *shape, std=None):
        self.out.add_tensor(f"{name}.weight", self.normal(*shape, std=std or shape[-1] ** -0.5))

    def output(self, name, *shape, std=0.03):
        """What a layer adds to its input."""
        self.matrix(name, *shape, std=std * shape[-1] ** -0.5)

    def ones(self, name, n):
        self.out.add_tensor(f"{name}.weight", (1 + 0.1 * self.rng.standard_normal(n)).astype(np.float32))

    def floats(self, name, values):
        self.out.add_tensor(name, np.ascontiguousarray(values, dtype=np.float32))


def add_attention(w, blk, s):
    hidden, size, heads, kv_heads = s["hidden"], s["size"], s["heads"], s["kv_heads"]
    if s["arch"] == "gemma4":
        layer = int(blk.split(".")[1])
        is_full = not slides(s, layer)
        size *= 2 if is_full else 1
        kv_heads = s["full_kv"] if is_full and "full_kv" in s else kv_heads * (layer < s["layers"] - s.get("shared", 0))
    rows = dict(q=heads * size * (1 + (s["arch"] == "qwen35")), k=kv_heads * size, v=kv_heads * size)
    if "full_kv" in s and is_full:
        rows["v"] = 0
    if s["arch"] == "phi3":
        w.matrix(f"{blk}.attn_qkv", sum(rows.values()), hidden)
    else:
        for name, n in rows.items():
            if not n:
                continue
            w.matrix(f"{blk}.attn_{name}", n, hidden)
            if s["arch"] == "qwen2":
                w.floats(f"{blk}.attn_{name}.bias", 0.02 * w.rng.standard_normal(n))
    if s["arch"] in ("qwen3", "qwen3moe", "qwen35", "gemma3", "gemma4", "lfm2"):
        w.ones(f"{blk}.attn_q_norm", size)
        if kv_heads:
            w.ones(f"{blk}.attn_k_norm", size)
    w.output(f"{blk}.attn_output", hidden, heads * size)


def add_convolution(w, blk, s):
    hidden = s["hidden"]
    w.matrix(f"{blk}.shortconv.in_proj", 3 * hidden, hidden)
    w.floats(f"{blk}.shortconv.conv.weight", w.rng.standard_normal((hidden, 3)) * 3**-0.5)
    w.output(f"{blk}.shortconv.out_proj", hidden, hidden)


def add_states(w, blk, s):
    hidden, (n, dim) = s["hidden"], s["states"]
    w.matrix(f"{blk}.attn_qkv", 3 * n * dim, hidden)
    w.matrix(f"{blk}.attn_gate", n * dim, hidden)
    w.matrix(f"{blk}.ssm_beta", n, hidden)
    w.matrix(f"{blk}.ssm_alpha", n, hidden)
    w.floats(f"{blk}.ssm_conv1d.weight", w.rng.standard_normal((3 * n * dim, 4)) / 2)
    w.floats(f"{blk}.ssm_a", -w.rng.uniform(0.1, 4, n))
    w.floats(f"{blk}.ssm_dt.bias", w.rng.uniform(-4, 0, n))
    w.ones(f"{blk}.ssm_norm", dim)
    w.output(f"{blk}.ssm_out", hidden, n * dim)


def add_feed_forward(w, blk, s):
    hidden, feed = s["hidden"], s["feed"]
    if s["arch"] == "gemma4" and int(blk.split(".")[1]) >= s["layers"] - s.get("shared", 0):
        feed *= 2
    if s["arch"] == "gemma4" and "experts" in s:
        n, _, width = s["experts"]
        w.floats(f"{blk}.ffn_gate_inp.weight", w.normal(n, hidden, std=hidden**-0.5))
        w.floats(f"{blk}.ffn_gate_inp.scale", hidden**0.5 * (1 + 0.1 * w.rng.standard_normal(hidden)))
        w.floats(f"{blk}.ffn_down_exps.scale", w.rng.uniform(0.7, 1.3, n))
        w.matrix(f"{blk}.ffn_gate_up_exps", n, 2 * width, hidden)
        w.output(f"{blk}.ffn_down_exps", n, hidden, width)
        w.ones(f"{blk}.pre_ffw_norm_2", hidden)
        w.ones(f"{blk}.post_ffw_norm_1", hidden)
        w.ones(f"{blk}.post_ffw_norm_2", hidden)
    if s["arch"] == "qwen3moe":
        n, _, width = s["experts"]
        w.floats(f"{blk}.ffn_gate_inp.weight", w.normal(n, hidden, std=hidden**-0.5))
        w.matrix(f"{blk}.ffn_gate_exps", n, width, hidden)
        w.matrix(f"{blk}.ffn_up_exps", n, width, hidden)
        w.output(f"{blk}.ffn_down_exps", n, hidden, width)
        return
    if s["arch"] == "phi3":
        w.matrix(f"{blk}.ffn_up", 2 * feed, hidden)
    else:
        w.matrix(f"{blk}.ffn_gate", feed, hidden)
        w.matrix(f"{blk}.ffn_up", feed, hidden)
    w.output(f"{blk}.ffn_down", hidden, feed)


def add_rotation(w, s):
    size, theta = s["size"], s["theta"]
    if s["arch"] == "gemma4":
        w.floats("rope_freqs.weight", [1.0] * (size // 4) + [1e30] * (size - size // 4))
    if "llama3" in s:  # Llama 3.2's scaling of the rotations
        f = theta ** (-np.arange(0, size, 2, dtype=np.float32) / size)
        smooth = np.clip((8192 * f / (2 * np.pi) - 1) / (4 - 1), 0, 1)
        w.floats("rope_freqs.weight", 1 / ((1 - smooth) / 32 + smooth))
    if s["arch"] == "phi3":
        pairs = s["rotated"] // 2
        w.floats("rope_factors_short.weight", np.ones(pairs))
        w.floats("rope_factors_long.weight", np.geomspace(1, 48, pairs))


def add_own_vectors(w, s):
    """Gemma 4's vectors of a token in each layer."""
    hidden, own = s["hidden"], s["own"]
    w.matrix("per_layer_token_embd", s["vocabulary"], s["layers"] * own, std=own**-0.5)
    w.matrix("per_layer_model_proj", s["layers"] * own, hidden)
    w.ones("per_layer_proj_norm", own)
    for i in range(s["layers"]):
        w.matrix(f"blk.{i}.inp_gate", own, hidden)
        w.matrix(f"blk.{i}.proj", hidden, own)
        w.floats(f"blk.{i}.post_norm.weight", 0.1 + 0.01 * w.rng.standard_normal(hidden))
        w.floats(f"blk.{i}.layer_output_scale.weight", [1.0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("out")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    s = SHAPES[args.shape]
    s["layers"] = args.layers or s["layers"]
    arch, hidden = s["arch"], s["hidden"]
    out = gguf.GGUFWriter(args.out, arch)
    out.add_name(args.shape)
    add_metadata(out, s)
    w = Weights(out, args.seed)
    table = w.normal(s["vocabulary"], hidden, std=0.04)
    out.add_tensor("token_embd.weight", table)
    w.ones("token_embd_norm" if arch == "lfm2" else "output_norm", hidden)
    if not s["tied"]:
        out.add_tensor("output.weight", np.ascontiguousarray(np.roll(table, 1, axis=0)))
    add_rotation(w, s)
    if "own" in s:
        add_own_vectors(w, s)
    elif arch == "gemma4":
        for i in range(s["layers"]):
            w.floats(f"blk.{i}.layer_output_scale.weight", [1.0])
    for i in range(s["layers"]):
        blk = f"blk.{i}"
        w.ones(f"{blk}.attn_norm", hidden)
        w.ones(f"{blk}.post_attention_norm" if arch == "qwen35" else f"{blk}.ffn_norm", hidden)
        if arch in ("gemma3", "gemma4"):
            # What a layer adds is scaled by them alone.
            for norm in ("post_attention_norm", "post_ffw_norm"):
                w.floats(f"{blk}.{norm}.weight", 0.1 + 0.01 * w.rng.standard_normal(hidden))
        if "attend" in s and i not in s["attend"]:
            add_convolution(w, blk, s)
        elif "states" in s and (i + 1) % 4 != 0:
            add_states(w, blk, s)
        else:
            add_attention(w, blk, s)
        add_feed_forward(w, blk, s)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    main()
