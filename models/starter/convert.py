"""Writes the GGUF files of the embedder and the reranker that are compiled into the program.

    python convert.py embedder --minilm DIR --student student.pt --out embedder.gguf
    python convert.py reranker --minilm DIR --weights reranker.pt --out reranker.gguf

Matrices become Q8_0 (the reranker's Q5_0), everything one-dimensional stays F32. Names and key layout are llama.cpp's, so
that other programs can read the files too (BERT's vocabulary has `▁` in front of words instead of `##` in front of the rest).
"""

import argparse
import json
from pathlib import Path

import gguf
import numpy as np
import torch
from tokenizers import Tokenizer

Q8_0 = gguf.GGMLQuantizationType.Q8_0
Q5_0 = gguf.GGMLQuantizationType.Q5_0
POSITIONS_KEPT = 256  # MiniLM's own limit


def add_quantised(writer, name, array, kind=Q8_0, bytes_of=None):
    """`bytes_of`: what is quantised already, by name."""
    if bytes_of and name in bytes_of:
        writer.add_tensor(name, bytes_of[name], raw_dtype=kind)
        return
    array = np.ascontiguousarray(array, dtype=np.float32)
    writer.add_tensor(name, gguf.quants.quantize(array, kind), raw_dtype=kind)


def finish(writer, out):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{out}: {Path(out).stat().st_size} bytes")


def reachable(tokenizer, token):
    """Whether any text can yield this token: the rest of the table is dead weight (unused slots,
    accented letters, which are stripped first, punctuation and ideographs inside words)."""
    if token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"):
        return True
    if token.startswith("[unused"):
        return False
    word = "a" + token[2:] if token.startswith("##") and len(token) > 2 else token
    normal = tokenizer.normalizer.normalize_str(word)
    pieces = [piece for piece, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal)]
    return normal == word and pieces == [word]


def embedder(minilm, student, out):
    config = json.loads((Path(minilm) / "config.json").read_text())
    tokenizer = Tokenizer.from_file(f"{minilm}/tokenizer.json")
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    kept = [(token, i) for token, i in vocabulary if reachable(tokenizer, token)]
    print(f"vocabulary: {len(kept)} of {len(vocabulary)} can occur")
    tensors = {k: v.float().numpy() for k, v in torch.load(student).items()}
    n_layers = layers_in(tensors)

    writer = bert_writer(out, "inglenook-embedder", config, n_layers)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_tokenizer_model("bert")
    writer.add_token_list([
        token if token.startswith("[") and token.endswith("]") and len(token) > 2
        else token[2:] if token.startswith("##") and len(token) > 2
        else "▁" + token
        for token, _ in kept
    ])
    special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    writer.add_token_types([
        gguf.TokenType.CONTROL if token in special else gguf.TokenType.NORMAL for token, _ in kept
    ])
    place = {token: i for i, (token, _) in enumerate(kept)}
    writer.add_uint32("tokenizer.ggml.unknown_token_id", place["[UNK]"])
    writer.add_uint32("tokenizer.ggml.padding_token_id", place["[PAD]"])
    writer.add_uint32("tokenizer.ggml.cls_token_id", place["[CLS]"])
    writer.add_uint32("tokenizer.ggml.seperator_token_id", place["[SEP]"])
    rows = np.array([i for _, i in kept])
    add_quantised(writer, "token_embd.weight", tensors["embeddings.word_embeddings.weight"][rows])
    # Five bits here keep the file under 16 MB, and cost nothing that can be measured.
    encoder(writer, tensors, n_layers, Q5_0)
    finish(writer, out)


def bert_writer(out, name, config, n_layers):
    writer = gguf.GGUFWriter(out, "bert")
    writer.add_name(name)
    writer.add_context_length(POSITIONS_KEPT)
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_block_count(n_layers)
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    return writer


def encoder(writer, tensors, n_layers, kind_of_ffn_up, kind=Q8_0, last=None, bytes_of=None):
    """Positions, token types, norms and layers; no words. `last`: the kind of the last layer."""
    positions = tensors["embeddings.position_embeddings.weight"][:POSITIONS_KEPT]
    writer.add_tensor("position_embd.weight", positions.astype(np.float16))
    writer.add_tensor("token_types.weight",
                      tensors["embeddings.token_type_embeddings.weight"].astype(np.float32))

    def both(target, source, kind):
        weight = tensors[f"{source}.weight"]
        if weight.ndim == 1:
            writer.add_tensor(f"{target}.weight", weight.astype(np.float32))
        else:
            add_quantised(writer, f"{target}.weight", weight, kind, bytes_of)
        writer.add_tensor(f"{target}.bias", tensors[f"{source}.bias"].astype(np.float32))

    for target, source in encoder_names(n_layers):
        of_layer = last if last and target.startswith(f"blk.{n_layers - 1}.") else kind_of_ffn_up if target.endswith("ffn_up") else kind
        both(target, source, of_layer)


def encoder_names(n_layers):
    """What a part is called in the file, and in the library."""
    parts = {"attn_q": "attention.self.query", "attn_k": "attention.self.key", "attn_v": "attention.self.value",
             "attn_output": "attention.output.dense", "attn_output_norm": "attention.output.LayerNorm",
             "ffn_up": "intermediate.dense", "ffn_down": "output.dense", "layer_output_norm": "output.LayerNorm"}
    yield "token_embd_norm", "embeddings.LayerNorm"
    for i in range(n_layers):
        yield from ((f"blk.{i}.{target}", f"encoder.layer.{i}.{source}") for target, source in parts.items())


def load_encoder(path, bert):
    """Fills a library's BERT with what `encoder` wrote (no words; of the positions the first ones); all the file's tensors, by name."""
    found = {t.name: torch.tensor(gguf.quants.dequantize(t.data, t.tensor_type)) for t in gguf.GGUFReader(path).tensors}
    names = encoder_names(len(bert.encoder.layer))
    layers = {f"{source}.{x}": found[f"{target}.{x}"] for target, source in names for x in ("weight", "bias")}
    layers["embeddings.token_type_embeddings.weight"] = found["token_types.weight"]
    positions = found["position_embd.weight"].float()
    bert.embeddings.position_embeddings.weight.data[: len(positions)] = positions
    bert.load_state_dict(layers, strict=False)
    return found


def layers_in(tensors):
    return 1 + max(int(k.split(".")[2]) for k in tensors if k.startswith("encoder.layer."))


def reranker(minilm, state, out, bytes_of=None):
    """Its words are the embedder's, so they are not in its file."""
    config = json.loads((Path(minilm) / "config.json").read_text())
    state = {k: v.float().numpy() for k, v in state.items()}
    tensors = {k.removeprefix("encoder."): v for k, v in state.items() if k.startswith("encoder.")}
    n_layers = layers_in(tensors)
    writer = bert_writer(out, "inglenook-reranker", config, n_layers)
    writer.add_float32("inglenook.reranker.bias", float(state["first.bias"][0]))
    writer.add_float32("inglenook.reranker.scale", float(state["scale"]))
    for name in ("gate", "value", "first"):
        writer.add_tensor(f"{name}.weight", state[f"{name}.weight"][0].astype(np.float32))
    encoder(writer, tensors, n_layers, Q5_0, Q5_0, bytes_of=bytes_of)
    finish(writer, out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    student = commands.add_parser("embedder")
    student.add_argument("--minilm", required=True)
    student.add_argument("--student", required=True)
    ranker = commands.add_parser("reranker")
    ranker.add_argument("--minilm", required=True)
    ranker.add_argument("--weights", required=True)
    for command in (student, ranker):
        command.add_argument("--out", required=True)
    args = parser.parse_args()
    if args.command == "embedder":
        embedder(args.minilm, args.student, args.out)
    else:
        reranker(args.minilm, torch.load(args.weights), args.out)
