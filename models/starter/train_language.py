"""Trains the starter's language model, on the processor or on a GPU (`--device cuda`).

    python train_language.py --work DIR --minutes 90 [--device cpu|cuda] [--resume]

Llama architecture; matrices by Muon, the rest by Adam; the learning rate follows the time spent of
`--minutes`, so that a busy machine changes the number of steps and nothing else. Checkpoints go to
DIR/state.pt every few minutes, the log to DIR/log.jsonl. Samples are generated on the way from the step's
number: the same seed gives the same samples.
"""

import argparse
import bisect
import json
import math
import os
import random
import re
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import nn

import convert
from generator import lexicon, mixture, render
from generator.answer import KIN

SIZES = {  # name: (width, layers, heads, key/value heads, feed-forward)
    "small": (256, 8, 4, 2, 512),
    "large": (512, 10, 8, 4, 1536),
}
CONTEXT = 1024
# Hints: what heads of a layer are told to look at: from the end of a line or a question whom it is about; from the end
# of a line its value; from the end of a question its line; from each token of an answer the next. Heads 0 and 1 share
# their values, so do 2 and 3: one of each, and two layers for most, because what a token is does not fit through the 64
# numbers of one head.
POINTERS = [(3, "subject", (1, 3)), (4, "value", (1, 3)), (5, "value", (1, 3)), (5, "line", (0, 2)), (6, "line", (0, 2)), (6, "copy", (1, 3)), (7, "copy", (1, 3))]
HINT_WEIGHTS = {"subject": 0.2, "value": 0.4, "line": 0.5, "first": 0.4, "copy": 0.15, "naming": 0.25}
NAMED_BEFORE = 5  # the layer before which a relation is to be known
NAMED = 320  # how many names of relations a batch of 4,096 tokens has room for
RELATIONS = 128
WIDTHS = (256, 512, CONTEXT)  # of rows
STEP_SECONDS_MAX = 20  # of a step; more was a pause, which does not count as time spent
NOISE = 0.12  # share of words replaced by a neighbour


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-5)


class Block(nn.Module):
    def __init__(self, width, heads, kv_heads, feed):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, width // heads
        self.input_norm, self.post_norm = Norm(width), Norm(width)
        self.qkv = nn.Linear(width, (heads + 2 * kv_heads) * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.gate_up = nn.Linear(width, 2 * feed, bias=False)
        self.down = nn.Linear(feed, width, bias=False)

    def forward(self, x, cos, sin, mask, goals=()):
        """x: (rows, tokens, width); cos, sin: (rows, tokens, 1, head size / 2); mask: (rows, 1, tokens, tokens).
        goals: (name, heads, (rows, tokens)), the place that each token is to look at, or -1. Also gives by name the mean
        log of what these heads pay it, (rows, tokens), 0 where there is none."""
        b, t, w = x.shape
        qkv = self.qkv(self.input_norm(x)).view(b, t, self.heads + 2 * self.kv_heads, self.size)
        qk, v = qkv[:, :, : self.heads + self.kv_heads], qkv[:, :, self.heads + self.kv_heads :]
        half = self.size // 2
        first, second = qk[..., :half], qk[..., half:]
        qk = torch.cat((first * cos - second * sin, second * cos + first * sin), -1)
        q, k = qk[:, :, : self.heads], qk[:, :, self.heads :]
        repeat = self.heads // self.kv_heads
        k, v = (z.repeat_interleave(repeat, dim=2).transpose(1, 2) for z in (k, v))
        paid = {}
        if x.device.type == "cpu" or goals:  # written out, to be fused: on the processor faster than the library's
            scores = (q.transpose(1, 2) * self.size**-0.5) @ k.transpose(2, 3) + mask
            shares = F.softmax(scores, -1, dtype=torch.float32).to(x.dtype)
            y = shares @ v
            for name, heads, goal in goals:  # dense: cheaper than to gather, whose way back is slow
                at_goal = (torch.arange(t, device=x.device) == goal[:, :, None]).to(x.dtype)
                none = (goal < 0).float()
                paid[name] = sum(((shares[:, head] * at_goal).sum(-1, dtype=torch.float32) + none).clamp(min=1e-30).log() for head in heads) / len(heads)
        else:
            y = F.scaled_dot_product_attention(q.transpose(1, 2), k, v, attn_mask=mask)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, w))
        gate, up = self.gate_up(self.post_norm(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up), paid


class Llama(nn.Module):
    def __init__(self, size, vocab):
        super().__init__()
        width, layers, heads, kv_heads, feed = SIZES[size]
        self.shape = dict(zip(("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "intermediate_size"), SIZES[size]))
        self.embed = nn.Embedding(vocab, width)
        self.layers = nn.ModuleList(Block(width, heads, kv_heads, feed) for _ in range(layers))
        self.norm = Norm(width)
        half = width // heads // 2
        angles = torch.outer(torch.arange(CONTEXT).float(), 10_000.0 ** (-torch.arange(half) / half))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        self.relations = nn.Embedding(RELATIONS, width)  # for training only
        for name, p in self.named_parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=0.03 if name in ("embed.weight", "relations.weight") else 0.4 / math.sqrt(p.shape[1]))
            if name.endswith(("o.weight", "down.weight")):
                p.data.mul_(0.3)

    def hidden(self, ids, places, branches, goals=None):
        """`places`: position of each token; `branches`: 100 s + b for branch b of sample s in the row (0 is its
        trunk): a token sees what stands before it in the trunk and in its own branch of its own sample."""
        x = self.embed(ids)
        cos, sin = (table[places][:, :, None, :].to(x.dtype) for table in (self.cos, self.sin))
        order = torch.arange(ids.shape[1], device=ids.device)
        trunk = branches - branches % 100
        seen = (branches[:, None, :] == branches[:, :, None]) | (branches[:, None, :] == trunk[:, :, None])
        seen = seen & (order[None, :] <= order[:, None])[None]
        mask = torch.where(seen, 0.0, -1e9).to(x.dtype)[:, None]
        paid, told = {}, None
        for i, layer in enumerate(self.layers):
            if i == NAMED_BEFORE:
                told = F.rms_norm(x, (x.shape[-1],))
            told_heads = [(name, heads, goals[name]) for at, name, heads in POINTERS if at == i] if goals else []
            x, shares = layer(x, cos, sin, mask, told_heads)
            for name, share in shares.items():
                paid.setdefault(name, []).append(share)
        return self.norm(x), {name: sum(shares) / len(shares) for name, shares in paid.items()}, told

    def logits_at(self, batch, where, goals=None):
        """Logits at the positions (rows, columns) of `where` only: the table is the largest matrix; the pointers'
        log shares; and the states before the layer that looks for the line."""
        hidden, paid, told = self.hidden(*batch, goals)
        return F.linear(hidden[where], self.embed.weight).float(), paid, told

    def start_from(self, tensors):
        """`tensors`: under their names in transformers, as `export` writes them."""
        self.embed.weight.data.copy_(tensors["model.embed_tokens.weight"])
        self.norm.weight.data.copy_(tensors["model.norm.weight"])
        for i, layer in enumerate(self.layers):
            part = lambda name: tensors[f"model.layers.{i}.{name}.weight"]  # noqa: B023, E731
            layer.qkv.weight.data.copy_(torch.cat([part(f"self_attn.{x}_proj") for x in "qkv"]))
            layer.gate_up.weight.data.copy_(torch.cat([part(f"mlp.{x}_proj") for x in ("gate", "up")]))
            layer.o.weight.data.copy_(part("self_attn.o_proj"))
            layer.down.weight.data.copy_(part("mlp.down_proj"))
            layer.input_norm.weight.data.copy_(part("input_layernorm"))
            layer.post_norm.weight.data.copy_(part("post_attention_layernorm"))

    def export(self, folder, tokenizer):
        heads, kv, size = self.layers[0].heads, self.layers[0].kv_heads, self.layers[0].size
        out = {"model.embed_tokens.weight": self.embed.weight, "model.norm.weight": self.norm.weight}
        for i, layer in enumerate(self.layers):
            q, k, v = layer.qkv.weight.split((heads * size, kv * size, kv * size))
            gate, up = layer.gate_up.weight.chunk(2)
            for name, tensor in {
                "self_attn.q_proj": q, "self_attn.k_proj": k, "self_attn.v_proj": v, "self_attn.o_proj": layer.o.weight,
                "mlp.gate_proj": gate, "mlp.up_proj": up, "mlp.down_proj": layer.down.weight,
                "input_layernorm": layer.input_norm.weight, "post_attention_layernorm": layer.post_norm.weight,
            }.items():
                out[f"model.layers.{i}.{name}.weight"] = tensor
        Path(folder).mkdir(parents=True, exist_ok=True)
        save_file({k: v.detach().float().cpu().contiguous() for k, v in out.items()}, f"{folder}/model.safetensors")
        config = {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": self.embed.weight.shape[0], **self.shape,
            "head_dim": size, "max_position_embeddings": CONTEXT, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "rope_scaling": None,
            "hidden_act": "silu", "tie_word_embeddings": True, "attention_bias": False, "mlp_bias": False, "bos_token_id": None,
            "eos_token_id": 0, "pad_token_id": 0, "torch_dtype": "float32"}
        Path(f"{folder}/config.json").write_text(json.dumps(config, indent=1))
        tokenizer.save(f"{folder}/tokenizer.json")
        Path(f"{folder}/prompts.json").write_text(json.dumps(render.trained_prompts(), indent=1) + "\n")


def word_vectors(tokenizer, minilm):
    """MiniLM's word vectors (Apache-2.0) of our tokens, which tokens have one, and which begin with a capital."""
    words = load_file(f"{minilm}/model.safetensors")["embeddings.word_embeddings.weight"].float()
    pieces = Tokenizer.from_file(f"{minilm}/tokenizer.json")
    pieces.no_padding(), pieces.no_truncation()
    vocab = pieces.get_vocab()
    size = tokenizer.get_vocab_size()
    rows, found, capital = torch.zeros(size, words.shape[1]), torch.zeros(size, dtype=torch.bool), torch.zeros(size, dtype=torch.bool)
    for i in range(4, size):
        text = tokenizer.decode([i])
        word = text.strip()
        if not word or not word.isprintable() or "\ufffd" in word:
            continue
        inside = not text.startswith(" ") and word.isalpha()
        if inside and "##" + word.lower() in vocab:
            ids = [vocab["##" + word.lower()]]
        else:
            ids = pieces.encode(word, add_special_tokens=False).ids
        if ids and vocab["[UNK]"] not in ids:
            rows[i], found[i], capital[i] = words[ids].mean(0), True, word[0].isupper()
    return rows, found, capital


def start_table(table, tokenizer, minilm):
    """Starts the token table from MiniLM's words, projected on their first principal axes: the model then knows from
    the start that "job" and "work" are alike."""
    rows, found, capital = word_vectors(tokenizer, minilm)
    centred = rows[found] - rows[found].mean(0)
    _, s, axes = torch.linalg.svd(centred, full_matrices=False)
    kept = (s[: table.shape[1]] ** 2).sum() / (s**2).sum()
    start = centred @ axes[: table.shape[1]].T
    start *= 0.03 / start.std()
    generator = torch.Generator().manual_seed(1)
    start += 0.006 * torch.randn(start.shape, generator=generator)
    start += capital[found, None] * 0.012 * torch.randn(table.shape[1], generator=generator)
    table.data[found] = start
    print(f"token table: {int(found.sum())} of {table.shape[0]} from MiniLM, {kept:.3f} of the variance", flush=True)


def neighbours(tokenizer, minilm, n=6, least=0.4):
    """For each token that is a word in small letters up to n others that MiniLM holds to be like it: (tokens, n)
    and how many there are. A word now and then replaced by one of them teaches more wordings than were written."""
    rows, found, capital = word_vectors(tokenizer, minilm)
    kept = {word for kin in KIN for word in kin.split()} | set("i me my mine you your he she him her his they them their it its this that "
                                                                "not no never two three four five six seven eight nine ten one".split())
    words = [tokenizer.decode([i]) for i in range(len(rows))]
    plain = torch.tensor([bool(f) and w.startswith(" ") and w[1:].isalpha() and w[1:].islower() and len(w) > 3 and w[1:] not in kept
                          for w, f in zip(words, found)])
    ids = plain.nonzero()[:, 0]
    unit = F.normalize(rows[ids] - rows[ids].mean(0), dim=1)
    alike, which = (unit @ unit.T - 2 * torch.eye(len(ids))).topk(n, dim=1)
    others, count = np.zeros((len(rows), n), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    others[ids], count[ids] = ids[which].numpy(), (alike >= least).sum(1).numpy()
    return others, count


@torch.no_grad()
def orthogonal(g, steps=5):
    """Newton-Schulz iteration of Muon on a stack of matrices (K. Jordan et al., 2024)."""
    x = g.bfloat16()
    flip = x.shape[-2] > x.shape[-1]
    if flip:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        a = x @ x.mT
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return (x.mT if flip else x).float()


class Optimizer:
    """Muon for the blocks' matrices (stacked over the layers), Adam for the table and the norms; float
    masters of bfloat16 weights."""

    def __init__(self, model, muon_rate, adam_rate):
        self.muon_rate, self.adam_rate, self.step_count = muon_rate, adam_rate, 0
        self.stacks = {}  # name: (weight, its rows) of each layer; query, key and value are matrices of their own
        for layer in model.layers:
            q, kv, feed = layer.heads * layer.size, layer.kv_heads * layer.size, layer.down.weight.shape[1]
            for name, weight, rows in (
                ("q", layer.qkv.weight, slice(0, q)), ("k", layer.qkv.weight, slice(q, q + kv)),
                ("v", layer.qkv.weight, slice(q + kv, q + 2 * kv)), ("o", layer.o.weight, slice(None)),
                ("gate", layer.gate_up.weight, slice(0, feed)), ("up", layer.gate_up.weight, slice(feed, 2 * feed)),
                ("down", layer.down.weight, slice(None)),
            ):
                self.stacks.setdefault(name, []).append((weight, rows))
        matrices = {id(p): p for ps in self.stacks.values() for p, _ in ps}
        self.others = [p for p in model.parameters() if id(p) not in matrices]
        self.matrices = list(matrices.values())
        self.master = {k: torch.stack([p.detach()[rows].float() for p, rows in ps]) for k, ps in self.stacks.items()}
        self.momentum = {k: torch.zeros_like(v) for k, v in self.master.items()}
        self.other_master = [p.detach().float().clone() for p in self.others]
        self.first = [torch.zeros_like(p) for p in self.other_master]
        self.second = [torch.zeros_like(p) for p in self.other_master]
        model.to(torch.bfloat16)
        self.write()

    @torch.no_grad()
    def write(self):
        for k, ps in self.stacks.items():
            for (p, rows), m in zip(ps, self.master[k]):
                p[rows].copy_(m)
        for p, m in zip(self.others, self.other_master):
            p.copy_(m)

    @torch.no_grad()
    def step(self, scale):
        self.step_count += 1
        warm = min(1.0, self.step_count / 60)
        momentum = 0.85 + 0.10 * min(1.0, self.step_count / 300)
        for k, ps in self.stacks.items():
            g = torch.stack([p.grad[rows].float() for p, rows in ps])
            buffer = self.momentum[k].lerp_(g, 1 - momentum)
            update = orthogonal(g.lerp(buffer, momentum))
            rows, columns = update.shape[-2:]
            rate = self.muon_rate * scale * warm
            self.master[k].mul_(1 - rate * 0.05).add_(update, alpha=-rate * max(1.0, rows / columns) ** 0.5)
        rate = self.adam_rate * scale * warm
        for p, m, first, second in zip(self.others, self.other_master, self.first, self.second):
            g = p.grad.float()
            first.lerp_(g, 0.1)
            second.lerp_(g * g, 0.02)
            hat = (first / (1 - 0.9**self.step_count)) / ((second / (1 - 0.98**self.step_count)).sqrt() + 1e-9)
            m.add_(hat, alpha=-rate * (1.0 if m.ndim == 2 else 2.0))
        self.write()
        for p in self.matrices + self.others:
            p.grad = None

    def state(self):
        return {k: getattr(self, k) for k in ("step_count", "master", "momentum", "other_master", "first", "second")}

    def load(self, state):
        for k, v in state.items():
            if isinstance(v, list) and len(v) < len(self.others):  # a state from before there were relations
                v = v + getattr(self, k)[len(v) :]
            setattr(self, k, v)
        self.write()


def span(encoding, text, words):
    """The first and the last token of these words in the text, or None."""
    found = words and (re.search(rf"\b{re.escape(words)}\b", text, re.I) or re.search(re.escape(words), text, re.I))
    inside = [i for i, (start, end) in enumerate(encoding.offsets) if found and end > found.start() and start < found.end()]
    return (inside[0], inside[-1]) if inside else None


def encode(tokenizer, sample, noise=None):
    """Token ids, loss weights, positions, branches and hints of a sample (see `render.branching`). Hints, as (from,
    to): the end of a line and its value; the token before an answer and the end of its line; each token of an answer
    and the same one in the line; and (token, relation) of ends of lines and questions. `noise`: (rng,
    neighbours): replaces words of lines and questions that are about relations."""
    trunk, branches, (golds, facts, marks) = sample
    pieces = list(trunk) + [piece for branch in branches for piece in branch]
    encodings = tokenizer.encode_batch([p for p, _ in pieces], add_special_tokens=False)
    values = {line: value for line, _, value, _ in facts} | {gold[0]: gold[2] for gold in golds if gold}
    subjects = {line: subject for line, _, _, subject in facts}
    ids, weights, places, owners = [], [], [], []
    hints = {"subject": [], "value": [], "line": [], "copy": [], "naming": []}
    lines = {}  # piece of the trunk: (its first token, its last, the first of its value)
    asked = None  # whom the question is about
    after_trunk = index = 0
    for number, part in enumerate([trunk, *branches]):
        place = after_trunk
        gold = golds[number - 1] if 0 < number <= len(golds) else None
        for piece, (text, weight) in enumerate(part):
            encoding = encodings[index]
            index += 1
            new, begin = encoding.ids, len(ids)
            if number == 0:
                end = begin + len(new) - 1
                value, subject = (span(encoding, text, of.get(piece)) for of in (values, subjects))
                lines[piece] = begin, end, value and begin + value[0]
                if subject:
                    hints["subject"].append((end, begin + subject[1]))
                if value:
                    hints["value"].append((end, begin + value[0]))
                    if noise and piece in subjects:
                        new = replaced(new, *noise, value)
            elif gold and piece == len(part) - 3:
                asked = span(encoding, text, gold[3])
                asked = asked and begin + asked[1]
                if noise and gold[1] is not None:
                    new = replaced(new, *noise, (0, -1))
            elif gold and piece == len(part) - 1:
                line, relation, _, _ = gold
                if asked is not None:
                    hints["subject"].append((begin - 1, asked))
                hints["line"].append((begin - 1, lines[line][1]))
                if relation is not None:
                    hints["naming"].append((begin - 1, relation))
                at = lines[line][2]
                for i, token in enumerate(new[:-1]) if at is not None else ():
                    if at + i > lines[line][1] or ids[at + i] != token:
                        break
                    hints["copy"].append((begin + i - 1, at + i))
            for mark, relation in marks.get(number, ()):  # ends of lines inside a person's words
                if piece == len(part) - 3:
                    before = [i for i, (_, stop) in enumerate(encoding.offsets) if stop <= mark]
                    hints["naming"] += [(begin + before[-1], relation)] if before else []
            ids += new
            weights += [weight] * len(new)
            places += range(place, place + len(new))
            owners += [number] * len(new)
            place += len(new)
        after_trunk = after_trunk or place
    hints["naming"] += [(lines[line][1], relation) for line, relation, _, _ in facts]
    hints = {name: [hint for hint in found if hint[0] < CONTEXT] for name, found in hints.items()}
    return *(a[:CONTEXT] for a in (ids, weights, places, owners)), hints


def replaced(ids, rng, others, share, keep):
    out = list(ids)
    for i, token in enumerate(ids):
        if others[1][token] and rng.random() < share and not keep[0] <= i <= keep[1]:
            out[i] = int(others[0][token, rng.randrange(others[1][token])])
    return out


def packed(samples):
    """Rows by width: the longest sample that is left, then the longest that fits, until none does. Samples of one
    width seldom fill a row, and a row half empty costs as much as a full one."""
    left = sorted(samples, key=lambda s: len(s[0]))
    lengths = [len(s[0]) for s in left]
    rows = {width: [] for width in WIDTHS}
    while left:
        width = next(width for width in WIDTHS if lengths[-1] <= width)
        row, room = [], width
        while len(row) < 90 and (fits := bisect.bisect_right(lengths, room)):
            row.append(left.pop(fits - 1))
            room -= lengths.pop(fits - 1)
        rows[width].append(row)
    return rows


def batches(tokenizer, seed, progress, tokens, n, others=None, waiting=None):
    """About n batches of `tokens` tokens, of rows of 256, 512 or 1,024: three shapes only, for the compiler's sake.
    `others`: see `neighbours`; `waiting`: samples that were left over before, and are now."""
    rng = random.Random(seed)
    noise = (rng, others, NOISE) if others and progress > mixture.SHORT else None
    samples = waiting if waiting is not None else []
    have = sum(len(s[0]) for s in samples)
    while have < (n + 3) * tokens:
        samples.append(encode(tokenizer, mixture.sample(rng, progress), noise))
        have += len(samples[-1][0])
    rows = packed(samples)
    samples.clear()
    out = []
    for width, of_width in rows.items():
        rng.shuffle(of_width)
        each = tokens // width
        full = len(of_width) - len(of_width) % each
        out += [tensors(of_width[i : i + each], width, rng, tokens * 5 // 16) for i in range(0, full, each)]
        samples += [s for row in of_width[full:] for s in row]
    rng.shuffle(out)
    return out


def tensors(rows, width, rng=None, n_targets=None):
    """ids, places, branches (rows, width), and (rows, columns), targets, weights of what is predicted: each
    token of weight 1, and a random part of the others, as large as their weight. Then the hints: by name the
    goal of each token (rows, width) or -1, and for "naming" (rows, columns, relations)."""
    ids, places, owners = (np.zeros((len(rows), width), dtype=np.int64) for _ in range(3))
    owners -= 100
    found, soft, named = [], [], []
    hints = {name: np.full((len(rows), width), -1) for name in ("subject", "value", "line", "copy")}
    for row, samples in enumerate(rows):
        start = 0
        for number, (i, w, p, o, of_sample) in enumerate(samples):
            for name, pairs in of_sample.items():
                if name == "naming":
                    named += [(row, start + a, relation) for a, relation in pairs]
                for a, b in pairs if name != "naming" else ():
                    hints[name][row, start + a] = start + b
            end = start + len(i)
            ids[row, start:end], places[row, start:end] = i, np.minimum(p, CONTEXT - 1)
            owners[row, start:end] = np.array(o) + 100 * number
            for column in range(1, len(i)):  # branches begin with a control token, which is never predicted
                if w[column] >= 0.99:
                    found.append((row, start + column - 1, i[column], 1.0))
                elif rng is not None and rng.random() < w[column]:
                    soft.append((row, start + column - 1, i[column], 0.3))
            start = end
    if n_targets is not None:
        rng.shuffle(soft)
        found = (found + soft)[:n_targets]
        found += [(0, 0, 0, 0.0)] * (n_targets - len(found))
        rng.shuffle(named)
        n = len(ids) * width * NAMED // 4096
        named = named[:n] + [(0, 0, -1)] * (n - len(named))
    columns = list(zip(*found))
    batch = tuple(torch.from_numpy(a) for a in (ids, places, owners))
    hints = {name: torch.from_numpy(goals) for name, goals in hints.items()}
    hints["naming"] = torch.tensor(named).T.contiguous() if named else torch.zeros((3, 0), dtype=torch.int64)
    return batch, (torch.tensor(columns[0]), torch.tensor(columns[1])), torch.tensor(columns[2]), torch.tensor(columns[3]), hints


def loss_of(model, batch, where, targets, weights, hints):
    """The weighted loss of the tokens, and of the hints. Heads are told where to look, and the states before the
    line is looked for are told which relation a line and a question are about: a copy needs every step of the
    way at once, so the words alone teach it late."""
    logits, paid, states = model.logits_at(batch, where, hints)
    rows, columns, relation = hints["naming"]
    guesses = F.linear(states[rows, columns], model.relations.weight).float()
    begins = hints["line"] >= 0  # where an answer begins
    masks = {name: hints[name] >= 0 for name in paid} | {"first": begins & (hints["copy"] >= 0)}
    masks["copy"] = masks["copy"] & ~begins
    paid["first"] = paid["copy"]
    losses = {name: -(paid[name] * mask).sum() / mask.sum().clamp(min=1) for name, mask in masks.items()}
    naming = F.cross_entropy(guesses, relation.clamp(min=0), reduction="none")
    losses["naming"] = (naming * (relation >= 0)).sum() / (relation >= 0).sum().clamp(min=1)
    tokens = F.cross_entropy(logits, targets, reduction="none")
    sharp = (weights >= 0.99).float()
    loss = (tokens * weights).sum() / weights.sum() + sum(HINT_WEIGHTS[name] * loss for name, loss in losses.items())
    return loss, (tokens.detach() * sharp).sum() / sharp.sum().clamp(min=1), *(losses[name].detach() for name in HINT_WEIGHTS)


@torch.no_grad()
def exact(model, tokenizer, samples, device, budget=12_000):
    """Share of answers of which every token (and the end) is the likeliest, given those before it; the share of
    such tokens, and of first ones; and of hints of which the place, or the relation, is the likeliest."""
    good, first, token_good, total, tokens, paid_sum, named = 0, 0, 0, 0, 0, {}, []
    encoded = sorted((encode(tokenizer, s) for s in samples), key=lambda s: len(s[0]))
    while encoded:
        take = max(1, budget // len(encoded[-1][0]))
        part, encoded = encoded[-take:], encoded[:-take]
        batch, where, targets, _, hints = tensors([[s] for s in part], max(len(s[0]) for s in part))
        hints = {name: h.to(device) for name, h in hints.items()}
        logits, paid, states = model.logits_at(tuple(b.to(device) for b in batch), tuple(w.to(device) for w in where), hints)
        for name, log in paid.items():
            paid_sum.setdefault(name, []).extend((log[hints[name] >= 0] > math.log(0.5)).tolist())
        guesses = F.linear(states[hints["naming"][0], hints["naming"][1]], model.relations.weight).argmax(-1)
        named += (guesses == hints["naming"][2]).tolist()
        right = logits.argmax(-1).cpu() == targets
        for row in range(len(part)):
            of_row = right[where[0] == row]
            good, first = good + bool(of_row.all()), first + bool(of_row[0])
            token_good, tokens, total = token_good + int(of_row.sum()), tokens + len(of_row), total + 1
    shares = [sum(hits) / max(1, len(hits)) for hits in (*paid_sum.values(), named)]
    return [round(share, 4) for share in (good / total, token_good / tokens, first / total, *shares)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True)
    parser.add_argument("--minutes", type=float, required=True, help="whole training time, earlier runs counted in")
    parser.add_argument("--stop-after", type=float, default=1e9, help="minutes of this run; resume later")
    parser.add_argument("--size", default="small", choices=SIZES)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--minilm")
    parser.add_argument("--start", help="a language.gguf to go on from, its tokenizer.json in --work; see also --begin")
    parser.add_argument("--begin", type=float, default=0.0, help="share of the samples' curriculum that is skipped, with --start 0.5")
    parser.add_argument("--tokens", type=int, default=4096, help="tokens a step")
    parser.add_argument("--muon", type=float, default=0.02)
    parser.add_argument("--adam", type=float, default=0.001)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--cooldown", type=float, default=0.7, help="last part of the time, in which the rate falls")
    parser.add_argument("--threads", type=int)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    if args.threads:
        torch.set_num_threads(args.threads)
    work = Path(args.work)
    tokenizer = Tokenizer.from_file(f"{work}/tokenizer.json")
    lexicon.use_pieces([tokenizer.decode([i]) for i in range(tokenizer.get_vocab_size())])
    model = Llama(args.size, tokenizer.get_vocab_size())
    if args.start and not args.resume:
        model.start_from(convert.read_language(args.start, *SIZES[args.size][2:4]))
    elif args.minilm and not args.resume:
        start_table(model.embed.weight, tokenizer, args.minilm)
    others = neighbours(tokenizer, args.minilm) if args.minilm else None
    model.to(args.device)
    optimizer = Optimizer(model, args.muon, args.adam)
    step, seen, spent, round_ = 0, 0, 0.0, 0
    if args.resume:
        state = torch.load(work / "state.pt", map_location=args.device, weights_only=True)
        optimizer.load(state["optimizer"])
        step, seen, spent, round_ = (state[k] for k in ("step", "seen", "spent", "round"))
    n_parameters = sum(p.numel() for p in model.parameters())
    print(f"{n_parameters / 1e6:.2f} M parameters, starts at step {step}, {spent / 60:.1f} minutes", flush=True)
    forward = torch.compile(loss_of, dynamic=False) if args.compile else loss_of
    if args.compile:
        global orthogonal
        orthogonal = torch.compile(orthogonal, dynamic=False)
    log = open(work / "log.jsonl", "a")
    begun, last = time.time(), time.time()
    waiting = []
    losses, last_eval, last_save, tokens_since, since = [], spent, spent, 0, spent

    def save():
        torch.save({"optimizer": optimizer.state(), "step": step, "seen": seen, "spent": spent, "round": round_}, work / "state.tmp")
        os.replace(work / "state.tmp", work / "state.pt")

    while spent < args.minutes * 60 and time.time() - begun < args.stop_after * 60:
        progress = max(args.begin, spent / (args.minutes * 60))
        for batch, where, targets, weights, hints in batches(tokenizer, args.seed * 1_000_003 + round_, progress, args.tokens, 8, others, waiting):
            share = spent / (args.minutes * 60)
            scale = min(1.0, max(0.02, (1 - share) / args.cooldown))
            if args.device != "cpu":
                batch, where = tuple(b.to(args.device) for b in batch), tuple(w.to(args.device) for w in where)
                targets, weights, hints = targets.to(args.device), weights.to(args.device), {k: h.to(args.device) for k, h in hints.items()}
            loss, *parts = forward(model, batch, where, targets, weights, hints)
            loss.backward()
            optimizer.step(scale)
            losses.append((loss.item(), *(p.item() for p in parts)))
            step, seen, tokens_since = step + 1, seen + batch[0].numel(), tokens_since + batch[0].numel()
            now = time.time()
            spent, last = spent + min(now - last, STEP_SECONDS_MAX), now
            if step % 25 == 0:
                mean = np.mean(losses[-25:], axis=0)
                print(f"step {step} min {spent / 60:.1f} tokens {seen / 1e6:.2f}M loss {mean[0]:.3f} answers {mean[1]:.3f} {' '.join(f'{name} {x:.3f}' for name, x in zip(HINT_WEIGHTS, mean[2:]))} {tokens_since / (spent - since + 1e-9):.0f}/s", flush=True)
                tokens_since, since = 0, spent
        round_ += 1
        if spent - last_save > 120:
            save()
            last_save = spent
        if spent - last_eval > 300:
            last_eval = spent
            row = {"step": step, "minutes": round(spent / 60, 1), "tokens": seen, "loss": float(np.mean(losses[-100:], axis=0)[0])}
            for name, samples in mixture.probes().items():
                row[name] = exact(model, tokenizer, samples, args.device)
            print(json.dumps(row), flush=True)
            log.write(json.dumps(row) + "\n")
            log.flush()
            last = time.time()
    save()
    model.export(work / "model", tokenizer)
    row = {"done": step, "minutes": round(spent / 60, 1)}
    for name, samples in mixture.probes(n=400).items():
        row[name] = exact(model, tokenizer, samples, args.device)
    print(json.dumps(row))
    log.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
