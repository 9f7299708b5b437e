"""What the trainings on MiniLM share: the starter embedder's words, batches of token ids, and products in bf16."""

import gguf
import numpy as np
import torch
from tokenizers import Tokenizer


def autocast():
    """bf16 where the processor has it; it is sixty times slower than float32 where not."""
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=torch.cpu.get_capabilities()["avx512_bf16"])


def whole_tokenizer(minilm):
    """Pads nothing and cuts nothing."""
    tokenizer = Tokenizer.from_file(f"{minilm}/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def padded(rows):
    n = max(map(len, rows))
    ids = torch.tensor([row + [0] * (n - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (n - len(row)) for row in rows])
    return ids, mask


def starter_words(embedder, tokenizer):
    """The starter embedder's word table, and where MiniLM has each of its rows."""
    file = gguf.GGUFReader(embedder)
    table = next(t for t in file.tensors if t.name == "token_embd.weight")
    field, known = file.fields["tokenizer.ggml.tokens"], tokenizer.get_vocab()
    tokens = [bytes(field.parts[i]).decode() for i in field.data]
    name = lambda t: t if len(t) > 2 and t[0] == "[" else t[1:] if t[0] == "▁" else "##" + t
    rows = torch.tensor([known[name(token)] for token in tokens])
    return rows, torch.from_numpy(gguf.quants.dequantize(table.data, table.tensor_type).astype(np.float32))
