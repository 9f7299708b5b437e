"""Writes the reranker's file with weights of five bits that keep what a short training changed.

    python quantise.py --minilm DIR --embedder embedder.gguf --start reranker.gguf --weights near.pt --out reranker.gguf

A training of some hundred steps moves most weights by less than half a step of Q5_0, and it starts from weights on that grid: rounded
to the nearest they fall back (AUC of what nearly answers 0.91 → 0.65). So the grid is another (its scale 16/15 of ggml's, whose
largest weight is always on it), and what rounding a column loses is made good in those that follow (GPTQ, arXiv 2210.17323,
algorithm 1), by what the layers read of some 170 questions of the training.
"""

import argparse
import contextlib
import itertools
import random

import numpy as np
import torch

import convert
import histories
import notebooks
import train_reranker as training
from minilm import padded, whole_tokenizer

BLOCK, SCALE, N_BLOCKS, DAMPING = 32, 16 / 15, 14, 0.01


def quantised(weight, products):
    """A matrix's weights on the grid, and its scales [rows, blocks]; `products` are those of its inputs, XᵀX."""
    weight, products, n = weight.clone().double(), products.double(), weight.shape[1]
    products += torch.eye(n) * DAMPING * products.diag().mean()
    inverse = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(products)), upper=True)
    out, of_blocks = torch.zeros_like(weight), []
    for start in range(0, n, BLOCK):
        end = start + BLOCK
        largest = weight[:, start:end].gather(1, weight[:, start:end].abs().argmax(1, keepdim=True))[:, 0]
        scale = (largest / -16 * SCALE).half().double().where(largest != 0, 1e-8)
        of_blocks.append(scale)
        lost = torch.zeros(len(weight), BLOCK, dtype=torch.float64)
        for j in range(start, end):
            out[:, j] = ((weight[:, j] / scale).add(16.5).floor().clamp(0, 31) - 16) * scale
            lost[:, j - start] = (weight[:, j] - out[:, j]) / inverse[j, j]
            weight[:, j + 1: end] -= lost[:, j - start, None] * inverse[j, j + 1: end]
        weight[:, end:] -= lost @ inverse[start:end, end:]
    return out.float(), torch.stack(of_blocks, 1)


def packed(weight, of_blocks):
    """The bytes of Q5_0: scale, 32 high bits, 16 bytes of two low halves."""
    codes = torch.round(weight.view(len(weight), -1, BLOCK) / of_blocks[..., None]).add(16).to(torch.uint8).numpy().reshape(-1, BLOCK)
    scale = of_blocks.numpy().astype(np.float16).reshape(-1, 1).view(np.uint8)
    high = np.packbits(codes >> 4, axis=1, bitorder="little")
    low = (codes[:, :16] & 15) | ((codes[:, 16:] & 15) << 4)
    return np.concatenate([scale, high, low], axis=1).reshape(len(weight), -1)


@torch.no_grad()
def products_of(encoder, inputs, module):
    """XᵀX of what a module reads, without padding."""
    total = torch.zeros(module.in_features, module.in_features)

    def add(_, read):
        total.add_(read[0][mask == 1].T @ read[0][mask == 1])
        raise StopIteration  # what follows is not needed

    hook = module.register_forward_pre_hook(add)
    for ids, mask in inputs:
        with contextlib.suppress(StopIteration):
            encoder(input_ids=ids, attention_mask=mask)
    hook.remove()
    return total


def texts_read(tokenizer):
    """As the last training reads them."""
    of_histories = [item for path in histories.training() for item in training.history_items(path, None, tokenizer)]
    of_notebooks = [item for path in notebooks.training() for item in training.notebook_items(path, None, tokenizer)]
    turns = training.of_near(random.Random(3), of_histories, of_notebooks)
    blocks = itertools.islice(training.batches(random.Random(3), turns, tokenizer), N_BLOCKS)
    return [padded([ids for _, read in block for ids, _ in read]) for block in blocks]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--minilm", "--embedder", "--start", "--weights", "--out"):
        parser.add_argument(name, required=True)
    args = parser.parse_args()
    tokenizer = whole_tokenizer(args.minilm)
    model = training.read(args.start, args.minilm, args.embedder, tokenizer)
    model.load_state_dict(torch.load(args.weights), strict=False)
    encoder, inputs, found = model.encoder.eval(), texts_read(tokenizer), {}
    for layer in encoder.encoder.layer:
        reads = layer.attention.self
        for modules in ([reads.query, reads.key, reads.value], [layer.attention.output.dense], [layer.intermediate.dense], [layer.output.dense]):
            products = products_of(encoder, inputs, modules[0])
            for module in modules:
                weight, of_blocks = quantised(module.weight.data, products)
                module.weight.data.copy_(weight)
                found[id(module)] = packed(weight, of_blocks)
    modules, names = dict(encoder.named_modules()), convert.encoder_names(len(encoder.encoder.layer))
    rows = {f"{target}.weight": found[id(modules[source])] for target, source in names if id(modules[source]) in found}
    convert.reranker(args.minilm, model.state_dict(), args.out, rows)


if __name__ == "__main__":
    main()
