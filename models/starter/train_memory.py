"""Trains the memory model from SmolLM2-135M-Instruct (Apache-2.0), on the processor.

    python train_memory.py --base SmolLM2.gguf --work DIR --minutes 90 [--resume] [--decay MINUTES]
    python train_memory.py --base SmolLM2.gguf --work DIR --export FILE [--kind Q4_1]

All matrices but the token table, AdamW, bf16 products, a constant learning rate that falls over the last --decay minutes. A step is
2,048 tokens of packed samples; a branch sees the beginning it hangs on and itself. Every fourth step keeps the model near its base
where it talks about the world. Checkpoints every ten minutes (weights.safetensors, and optimizer.pt to go on from); log.jsonl. Of the vocabulary the first 32,768 tokens stay (10 MB less, 1.4 % more tokens): merges stand in the order in
which they were learnt, so that none of these needs one that went.

A batch of rows of 1,024 takes 2.6 s for 4.0 if glibc keeps its memory: MALLOC_MMAP_THRESHOLD_=8589934592 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=1073741824.
"""

import argparse
import json
import os
import random
import time
from pathlib import Path

import gguf
import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

import convert
import memory_tasks

WIDTH, LAYERS, HEADS, KV, SIZE = 576, 30, 9, 3, 64
ROW = 1024
VOCABULARY = 32_768
KEEP_EVERY = 8  # steps


def vocabulary(reader):
    """The tokens that stay, their types, the merges that make them."""
    field = lambda key: reader.fields[f"tokenizer.ggml.{key}"].contents()  # noqa: E731
    tokens = field("tokens")[:VOCABULARY]
    known = set(tokens)
    return tokens, field("token_type")[:VOCABULARY], [m for m in field("merges") if m.replace(" ", "", 1) in known]


def tokenizer(reader):
    tokens, types, merges = vocabulary(reader)
    t = Tokenizer(models.BPE(vocab={x: i for i, x in enumerate(tokens)}, merges=[tuple(m.split(" ", 1)) for m in merges]))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens([AddedToken(x, special=True, normalized=False) for x, k in zip(tokens, types) if k == 3])
    return t


def weights(reader):
    out = {}
    for x in reader.tensors:
        array = gguf.quants.dequantize(x.data, x.tensor_type)[: VOCABULARY if x.name == "token_embd.weight" else None]
        out[x.name] = torch.tensor(np.array(array, dtype=np.float32))
    return out


def rope(x, cos, sin):
    """Interleaved, as the file's rows are ordered. x: (rows, heads, tokens, size)."""
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2)


def layer(x, cos, sin, bias, norms, qkv, output, gate_up, down):
    rows, n, _ = x.shape
    product = lambda x, w: F.linear(x, w.to(torch.bfloat16))  # noqa: E731
    y = product(F.rms_norm(x, (WIDTH,), norms[0], 1e-5).to(torch.bfloat16), qkv)
    q, k, v = y.view(rows, n, HEADS + 2 * KV, SIZE).transpose(1, 2).split((HEADS, KV, KV), 1)
    q, k = rope(q.float(), cos, sin).to(torch.bfloat16), rope(k.float(), cos, sin).to(torch.bfloat16)
    k, v = (z.repeat_interleave(HEADS // KV, 1) for z in (k, v))
    # Written out: on this processor twice as fast as the library's with a mask.
    y = F.softmax((q * SIZE**-0.5) @ k.transpose(2, 3) + bias, -1) @ v
    x = x + product(y.transpose(1, 2).reshape(rows, n, WIDTH), output).float()
    y = product(F.rms_norm(x, (WIDTH,), norms[1], 1e-5).to(torch.bfloat16), gate_up)
    gate, up = y.chunk(2, -1)
    return x + product(F.silu(gate) * up, down).float()


PARTS = {"qkv": ("attn_q", "attn_k", "attn_v"), "output": ("attn_output",), "gate_up": ("ffn_gate", "ffn_up"), "down": ("ffn_down",)}


def matrices(w):
    """Four a layer: what goes in together is one."""
    return {f"{i}.{part}": torch.cat([w[f"blk.{i}.{x}.weight"] for x in names]) for i in range(LAYERS) for part, names in PARTS.items()}


class Model:
    """The token table and the norms stay as in the base."""

    def __init__(self, w, learnt=None, compiled=True):
        self.embed = w["token_embd.weight"]
        self.head = self.embed.to(torch.bfloat16)
        self.norm = w["output_norm.weight"]
        self.norms = [[w[f"blk.{i}.{x}_norm.weight"] for x in ("attn", "ffn")] for i in range(LAYERS)]
        start = matrices(w)
        self.base = {k: x.to(torch.bfloat16) for k, x in start.items()}
        self.p = {k: torch.nn.Parameter((learnt or {}).get(k, x).float()) for k, x in start.items()}
        self.inverse = 100_000.0 ** (-torch.arange(0, SIZE, 2).float() / SIZE)
        self.layer = torch.compile(layer, dynamic=False) if compiled else layer

    def hidden(self, ids, places, mask, is_base=False):
        """ids, places: (rows, tokens); mask: (rows, 1, tokens, tokens), true where a token may look. `is_base`: as it was before training."""
        angle = places[:, None, :, None].float() * self.inverse
        cos, sin = angle.cos(), angle.sin()
        bias = torch.zeros(mask.shape, dtype=torch.bfloat16).masked_fill_(~mask, -30000.0)
        x = self.embed[ids]
        of = self.base if is_base else self.p
        for i in range(LAYERS):
            x = self.layer(x, cos, sin, bias, self.norms[i], *(of[f"{i}.{part}"] for part in PARTS))
        return F.rms_norm(x, (WIDTH,), self.norm, 1e-5)

    def learnt(self, w):
        """The matrices, by their names in the file."""
        out = {}
        for i in range(LAYERS):
            for part, names in PARTS.items():
                names = [f"blk.{i}.{x}.weight" for x in names]
                out.update(zip(names, self.p[f"{i}.{part}"].detach().split([w[name].shape[0] for name in names])))
        return out


class Packer:
    """Rows of samples from a seeded stream. A token carries its sample, its branch (0 is the shared beginning), and its place."""

    def __init__(self, tok, seed, draw=memory_tasks.sample):
        self.tok, self.rng, self.draw, self.open = tok, random.Random(seed), draw, {512: [], ROW: []}
        self.turn = lambda role, text: f"<|im_start|>{role}\n{text}<|im_end|>\n"

    def sample(self, drawn=None):
        task, shared, pairs = drawn or self.draw(self.rng)
        encode = lambda text: self.tok.encode(text, add_special_tokens=False).ids  # noqa: E731
        head = encode(self.turn("system", memory_tasks.SYSTEM.get(task, task)) + f"<|im_start|>user\n{shared}")
        ids, branch, place, goal = list(head), [0] * len(head), list(range(len(head))), [-100] * len(head)
        is_chat = isinstance(pairs, memory_tasks.Chat)
        for b, (asked, reply) in enumerate(pairs, 1):
            q = encode(("\n<|im_start|>user\n" if is_chat and b > 1 else "") + f"{asked}<|im_end|>\n<|im_start|>assistant\n")
            a = encode(f"{reply}<|im_end|>")
            if len(ids) + len(q) + len(a) > ROW:
                if is_chat:
                    break
                continue
            start = len(ids) if is_chat else len(head)
            ids += q + a
            branch += [1 if is_chat else b] * (len(q) + len(a))
            place += range(start, start + len(q) + len(a))
            goal += [-100] * (len(q) - 1) + a + [-100]
        # The goal of a token stands at the token before it.
        return ids, branch, place, goal

    def batch(self):
        """Rows of 512 for samples that fit, of 1,024 for the others, 2,048 tokens in all: attention costs the square."""
        while True:
            ids, branch, place, goal = self.sample()
            if all(g == -100 for g in goal):
                continue
            size = 512 if len(ids) <= 512 else ROW
            rows, full = self.open[size], None
            if not rows or len(rows[-1][0]) + len(ids) > size:
                if len(rows) * size == 2 * ROW:
                    full, rows = rows, []
                    self.open[size] = rows
                rows.append(([], [], [], [], []))
            number = rows[-1][1][-1] + 1 if rows[-1][1] else 1
            for of, value in zip(rows[-1], (ids, [number] * len(ids), branch, place, goal)):
                of.extend(value)
            if full:
                return self.tensors(full)

    @staticmethod
    def tensors(rows):
        size = 512 if len(rows) > 2 else ROW  # few shapes: each is compiled once
        fill = lambda k, value: torch.tensor([r[k] + [value] * (size - len(r[k])) for r in rows])  # noqa: E731
        ids, sample, branch, place, goal = fill(0, 2), fill(1, 0), fill(2, 0), fill(3, 0), fill(4, -100)
        return ids, place, mask_of(sample, branch), goal


def mask_of(sample, branch):
    n = sample.shape[1]
    same = sample[:, :, None] == sample[:, None, :]
    seen = (branch[:, None, :] == 0) | (branch[:, :, None] == branch[:, None, :])
    return (same & seen & torch.ones(n, n, dtype=torch.bool).tril())[:, None]


def logits_of(model, batch, is_base=False):
    """Of the tokens before a reply's: (tokens, vocabulary), and the reply's tokens."""
    ids, place, mask, goal = batch
    at = goal >= 0
    return F.linear(model.hidden(ids, place, mask, is_base)[at].to(torch.bfloat16), model.head).float(), goal[at]


def loss_of(model, batch):
    logits, goal = logits_of(model, batch)
    return F.cross_entropy(logits, goal, reduction="sum"), len(goal)


def drift_of(model, batch):
    """KL divergence of the model from the base, in nats, summed over the replies of texts that are nobody's task: what it knew it keeps."""
    with torch.no_grad():
        base = F.log_softmax(logits_of(model, batch, is_base=True)[0], -1)
    logits, goal = logits_of(model, batch)
    return F.kl_div(F.log_softmax(logits, -1), base, reduction="sum", log_target=True), len(goal)


def held_out(tok, model, n=10):
    """Mean loss a reply token on histories that nothing is trained on, by task."""
    out = {}
    packer = Packer(tok, 7)
    for make in (memory_tasks.notes_sample, memory_tasks.answer_sample, memory_tasks.episode_sample, memory_tasks.boundary_sample, memory_tasks.theme_sample):
        rng, total, count = random.Random(5), 0.0, 0
        with torch.no_grad():
            for _ in range(n):
                ids, *rest = packer.sample(make(rng, True))
                s, c = loss_of(model, packer.tensors([(ids, [1] * len(ids), *rest)]))
                total, count = total + s.item(), count + c
        out[make.__name__.removesuffix("_sample")] = round(total / max(1, count), 4)
    return out


def export(base, matrices, out, kind, table):
    """The matrices in blocks of `kind`, the token table in those of `table`, the vectors as in the base file."""
    reader = gguf.GGUFReader(base)
    writer = gguf.GGUFWriter(out, "llama")
    tokens, types, merges = vocabulary(reader)
    changed = {"tokenizer.ggml.tokens": tokens, "tokenizer.ggml.token_type": types, "tokenizer.ggml.merges": merges, "llama.vocab_size": len(tokens),
               # Twice what it was trained on.
               "llama.context_length": 2 * ROW,
               "general.name": "inglenook memory model", "general.basename": "inglenook-memory", "general.finetune": "memory"}
    for key, field in reader.fields.items():
        if not key.startswith("GGUF.") and key != "general.architecture":
            of = field.types[1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(key, changed.get(key, field.contents()), field.types[0], of)
    kind, table = gguf.GGMLQuantizationType[kind], gguf.GGMLQuantizationType[table] if table else None
    for x in reader.tensors:
        if x.name == "token_embd.weight" and table in (None, x.tensor_type):
            writer.add_tensor(x.name, x.data[:VOCABULARY], raw_dtype=x.tensor_type)
        elif len(x.shape) == 1:
            writer.add_tensor(x.name, matrices[x.name].numpy())
        else:
            convert.add_quantised(writer, x.name, matrices[x.name].numpy(), table if x.name == "token_embd.weight" else kind)
    convert.finish(writer, out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--base", required=True)
    parser.add_argument("--start", help="a file to go on from, such as language.gguf; the base stays the base")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=90)
    parser.add_argument("--decay", type=float, default=0)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--export", type=Path)
    parser.add_argument("--kind", default="Q5_1")
    parser.add_argument("--table", help="kind of the token table; as in the base without it")
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--seed", type=int, default=1000)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(2)
    reader = gguf.GGUFReader(args.base)
    tok, w = tokenizer(reader), weights(reader)
    kept = args.work / "weights.safetensors"
    learnt = matrices(weights(gguf.GGUFReader(args.start))) if args.start else None
    if (args.resume or args.export) and kept.exists():
        learnt = load_file(kept)
    model = Model(w, learnt, compiled=not args.export)
    if args.export:
        return export(args.base, {**w, **model.learnt(w)}, args.export, args.kind, args.table)
    adam = torch.optim.AdamW(model.p.values(), lr=args.rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True)
    step, seen, drift = 0, 0, 0.0
    if args.resume and (args.work / "optimizer.pt").exists():
        state = torch.load(args.work / "optimizer.pt", weights_only=False)
        adam.load_state_dict(state["adam"])
        step, seen = state["step"], state["tokens"]
    log = open(args.work / "log.jsonl", "a", buffering=1)
    packer, open_text = Packer(tok, args.seed + step), Packer(tok, args.seed + step, memory_tasks.open_sample)

    def save():
        save_file({k: v.detach() for k, v in model.p.items()}, str(kept) + ".new")
        torch.save({"adam": adam.state_dict(), "step": step, "tokens": seen}, args.work / "optimizer.new")
        os.replace(str(kept) + ".new", kept)
        os.replace(args.work / "optimizer.new", args.work / "optimizer.pt")

    begun = saved = shown = time.time()
    first, total, count, tokens = step, 0.0, 0, seen
    log.write(json.dumps({"step": step, "held_out": held_out(tok, model)}) + "\n")
    while (spent := (time.time() - begun) / 60) < args.minutes:
        warm = min(1.0, (step + 1) / 40, (step - first + 1) / 10)
        left = args.minutes - spent
        cool = min(1.0, left / args.decay) if args.decay else 1.0
        for group in adam.param_groups:
            group["lr"] = args.rate * warm * max(cool, 0.02)
        keeps = step % KEEP_EVERY == 0
        batch = (open_text if keeps else packer).batch()
        loss, n = (drift_of if keeps else loss_of)(model, batch)
        (loss / n).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.p.values(), 1.0)
        adam.step()
        adam.zero_grad(set_to_none=True)
        if keeps:
            drift = loss.item() / n
        else:
            total, count = total + loss.item(), count + n
        step, seen = step + 1, seen + batch[0].numel()
        if step % 20 == 0:
            log.write(json.dumps({"step": step, "tokens": seen, "loss": round(total / count, 4), "drift": round(drift, 4), "norm": round(norm.item(), 2), "per_second": round((seen - tokens) / (time.time() - shown)), "minutes": round(spent, 1)}) + "\n")
            total, count, tokens, shown = 0.0, 0, seen, time.time()
        if time.time() - saved > 600:
            log.write(json.dumps({"step": step, "held_out": held_out(tok, model)}) + "\n")
            save()
            saved = shown = time.time()
            tokens = seen
    log.write(json.dumps({"step": step, "tokens": seen, "held_out": held_out(tok, model)}) + "\n")
    save()


if __name__ == "__main__":
    main()
