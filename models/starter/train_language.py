"""Trains the starter's language model, on the processor or on a GPU (`--device cuda`).

    python train_language.py --work DIR --minutes 90 [--device cpu|cuda] [--resume]

Llama architecture; matrices by Muon, the rest by Adam; the learning rate follows the time spent of
`--minutes`, so that a busy machine changes the number of steps and nothing else. Checkpoints go to
DIR/state.pt every few minutes, the log to DIR/log.jsonl. Samples are generated on the way from the step's
number: the same seed gives the same samples.
"""

import argparse
import json
import math
import os
import random
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import nn

from generator import mixture, render

SIZES = {  # name: (width, layers, heads, key/value heads, feed-forward)
    "small": (256, 8, 4, 2, 512),
    "large": (512, 10, 8, 4, 1536),
}
CONTEXT = 1024
POINTS, LABELS = 160, 128  # hints a batch of 4,096 tokens
POINTER_LAYER, POINTER_HEAD = 5, 2
RELATIONS = 128


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

    def forward(self, x, cos, sin, mask, points=None):
        """x: (rows, tokens, width); cos, sin: (rows, tokens, 1, head size / 2); mask: (rows, 1, tokens, tokens).
        points: (rows, from, to) of tokens; then also the log of what one head pays `to` from `from`."""
        b, t, w = x.shape
        heads = self.qkv(self.input_norm(x)).view(b, t, self.heads + 2 * self.kv_heads, self.size)
        qk, v = heads[:, :, : self.heads + self.kv_heads], heads[:, :, self.heads + self.kv_heads :]
        half = self.size // 2
        first, second = qk[..., :half], qk[..., half:]
        qk = torch.cat((first * cos - second * sin, second * cos + first * sin), -1)
        q, k = qk[:, :, : self.heads], qk[:, :, self.heads :]
        repeat = self.heads // self.kv_heads
        k, v = (z.repeat_interleave(repeat, dim=2).transpose(1, 2) for z in (k, v))
        if x.device.type == "cpu":  # written out, for the compiler to fuse: here faster than the library's
            scores = (q.transpose(1, 2) * self.size**-0.5) @ k.transpose(2, 3) + mask
            y = F.softmax(scores, -1, dtype=torch.float32).to(x.dtype) @ v
        else:
            y = F.scaled_dot_product_attention(q.transpose(1, 2), k, v, attn_mask=mask)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, w))
        gate, up = self.gate_up(self.post_norm(x)).chunk(2, -1)
        x = x + self.down(F.silu(gate) * up)
        if points is None:
            return x
        rows, start, goal = points
        paid = (q[rows, start, POINTER_HEAD][:, None] * self.size**-0.5 @ k[rows, POINTER_HEAD].transpose(1, 2))[:, 0]
        paid = F.log_softmax((paid + mask[rows, 0, start]).float(), -1)
        return x, paid.gather(1, goal[:, None])[:, 0]


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

    def hidden(self, ids, places, branches, points=None):
        """`places`: position of each token; `branches`: 100 s + b for branch b of sample s in the row (0 is its
        trunk): a token sees what stands before it in the trunk and in its own branch of its own sample."""
        x = self.embed(ids)
        cos, sin = (table[places][:, :, None, :].to(x.dtype) for table in (self.cos, self.sin))
        order = torch.arange(ids.shape[1], device=ids.device)
        trunk = branches - branches % 100
        seen = (branches[:, None, :] == branches[:, :, None]) | (branches[:, None, :] == trunk[:, :, None])
        seen = seen & (order[None, :] <= order[:, None])[None]
        mask = torch.where(seen, 0.0, -1e9).to(x.dtype)[:, None]
        paid = told = None
        for i, layer in enumerate(self.layers):
            if points is not None and i == POINTER_LAYER:
                told = F.rms_norm(x, (x.shape[-1],))
                x, paid = layer(x, cos, sin, mask, points)
            else:
                x = layer(x, cos, sin, mask)
        return self.norm(x), paid, told

    def logits_at(self, batch, where, points=None):
        """Logits at the positions (rows, columns) of `where` only: the table is the largest matrix; the pointers'
        log shares; and the states before the pointers' layer."""
        hidden, paid, told = self.hidden(*batch, points)
        return F.linear(hidden[where], self.embed.weight).float(), paid, told

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


def start_table(table, tokenizer, minilm):
    """Starts the token table from MiniLM's word table (Apache-2.0), projected on its first principal
    axes: the model then knows from the start that "job" and "work" are alike."""
    words = load_file(f"{minilm}/model.safetensors")["embeddings.word_embeddings.weight"].float()
    pieces = Tokenizer.from_file(f"{minilm}/tokenizer.json")
    pieces.no_padding(), pieces.no_truncation()
    vocab = pieces.get_vocab()
    rows, found = torch.zeros(table.shape[0], words.shape[1]), torch.zeros(table.shape[0], dtype=torch.bool)
    capital = torch.zeros(table.shape[0], dtype=torch.bool)
    for i in range(4, table.shape[0]):
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


def encode(tokenizer, sample):
    """Token ids, loss weights, positions, branches and hints of a sample (see `render.branching`): from the token
    before each answer to the end of the line that answers it, with the relation's number (or -1); and the
    ends of lines with theirs."""
    trunk, branches, (golds, labels) = sample
    pieces = list(trunk) + [piece for branch in branches for piece in branch]
    encodings = iter(tokenizer.encode_batch([p for p, _ in pieces], add_special_tokens=False))
    ids, weights, places, owners, points = [], [], [], [], []
    after_trunk = 0
    ends = {}
    for number, part in enumerate([trunk, *branches]):
        place = after_trunk
        for piece, (_, weight) in enumerate(part):
            new = next(encodings).ids
            if number == 0:
                ends[piece] = len(ids) + len(new) - 1
            elif piece == len(part) - 1 and number <= len(golds) and golds[number - 1]:
                line, relation = golds[number - 1]
                points.append((len(ids) - 1, ends[line], -1 if relation is None else relation))
            ids += new
            weights += [weight] * len(new)
            places += range(place, place + len(new))
            owners += [number] * len(new)
            place += len(new)
        after_trunk = after_trunk or place
    points = [p for p in points if p[0] < CONTEXT]
    labels = [(ends[piece], relation) for piece, relation in labels if ends[piece] < CONTEXT]
    return [*(a[:CONTEXT] for a in (ids, weights, places, owners)), points, labels]


def batches(tokenizer, seed, progress, tokens, n):
    """n batches of `tokens` tokens. Samples are packed into rows of 512 tokens, longer ones into rows of
    1,024: two shapes only, for the compiler's sake."""
    rng = random.Random(seed)
    rows = {512: [], CONTEXT: []}
    room = {512: [], CONTEXT: []}
    out = []
    while len(out) < n:
        s = encode(tokenizer, mixture.sample(rng, progress))
        width = 512 if len(s[0]) <= 512 else CONTEXT
        for index, free in enumerate(room[width]):
            if free >= len(s[0]) and len(rows[width][index]) < 90:
                rows[width][index].append(s)
                room[width][index] -= len(s[0])
                break
        else:
            if len(rows[width]) == tokens // width:  # full: the rows go out
                out.append(tensors(rows[width], width, rng, tokens * 5 // 16))
                rows[width], room[width] = [], []
            rows[width].append([s])
            room[width].append(width - len(s[0]))
    return out


def tensors(rows, width, rng=None, n_targets=None):
    """ids, places, branches (rows, width), and (rows, columns), targets, weights of what is predicted: each
    token of weight 1, and a random part of the others, as large as their weight."""
    ids, places, owners = (np.zeros((len(rows), width), dtype=np.int64) for _ in range(3))
    owners -= 100
    found, soft, points, labels = [], [], [], []
    for row, samples in enumerate(rows):
        start = 0
        for number, (i, w, p, o, to, told) in enumerate(samples):
            points += [(row, start + a, start + b, c) for a, b, c in to]
            labels += [(row, start + a, c) for a, c in told]
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
        points = padded(points, len(ids) * width * POINTS // 4096, (0, 0, -1, -1), rng)
        labels = padded(labels, len(ids) * width * LABELS // 4096, (0, 0, -1), rng)
    columns = list(zip(*found))
    batch = tuple(torch.from_numpy(a) for a in (ids, places, owners))
    hints = [torch.tensor(h).T.contiguous() if h else None for h in (points, labels)]
    return batch, (torch.tensor(columns[0]), torch.tensor(columns[1])), torch.tensor(columns[2]), torch.tensor(columns[3]), *hints


def padded(hints, n, nothing, rng):
    rng.shuffle(hints)
    return hints[:n] + [nothing] * (n - len(hints))


def loss_of(model, batch, where, targets, weights, points, labels):
    """The weighted loss of the tokens, and of the hints. One head is told at the end of which line the answer is
    known, and the states before it are told which relation a line and a question are about: a copy needs
    every step of the way at once, so the words alone teach it late."""
    real = (points[2] >= 0).float()
    logits, paid, states = model.logits_at(batch, where, (points[0], points[1], points[2].clamp(min=0)))
    rows, columns = torch.cat((points[0], labels[0])), torch.cat((points[1], labels[1]))
    relation = torch.cat((points[3], labels[2]))
    guesses = F.linear(states[rows, columns], model.relations.weight).float()
    naming = F.cross_entropy(guesses, relation.clamp(min=0), reduction="none")
    known = (relation >= 0).float()
    naming = (naming * known).sum() / known.sum().clamp(min=1)
    each = F.cross_entropy(logits, targets, reduction="none")
    sharp = (weights >= 0.99).float()
    pointing = -(paid * real).sum() / real.sum().clamp(min=1)
    loss = (each * weights).sum() / weights.sum()
    return loss + 0.5 * pointing + 0.2 * naming, (each.detach() * sharp).sum() / sharp.sum().clamp(min=1), pointing.detach(), naming.detach()


@torch.no_grad()
def exact(model, tokenizer, samples, device, budget=12_000):
    """Share of answers of which every token (and the end) is the likeliest, given those before it, and
    the share of such tokens."""
    good, token_good, total, tokens = 0, 0, 0, 0
    encoded = sorted((encode(tokenizer, s) for s in samples), key=lambda s: len(s[0]))
    while encoded:
        take = max(1, budget // len(encoded[-1][0]))
        part, encoded = encoded[-take:], encoded[:-take]
        batch, where, targets, *_ = tensors([[s] for s in part], max(len(s[0]) for s in part))
        logits, *_ = model.logits_at(tuple(b.to(device) for b in batch), tuple(w.to(device) for w in where))
        right = logits.argmax(-1).cpu() == targets
        for row in range(len(part)):
            of_row = right[where[0] == row]
            good += bool(of_row.all())
            token_good, tokens, total = token_good + int(of_row.sum()), tokens + len(of_row), total + 1
    return good / total, token_good / tokens


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True)
    parser.add_argument("--minutes", type=float, required=True, help="whole training time, earlier runs counted in")
    parser.add_argument("--stop-after", type=float, default=1e9, help="minutes of this run; resume later")
    parser.add_argument("--size", default="small", choices=SIZES)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--minilm")
    parser.add_argument("--tokens", type=int, default=4096, help="tokens a step")
    parser.add_argument("--muon", type=float, default=0.03)
    parser.add_argument("--adam", type=float, default=0.001)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--cooldown", type=float, default=0.35, help="last part of the time, in which the rate falls")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    work = Path(args.work)
    tokenizer = Tokenizer.from_file(f"{work}/tokenizer.json")
    model = Llama(args.size, tokenizer.get_vocab_size())
    if args.minilm and not args.resume:
        start_table(model.embed.weight, tokenizer, args.minilm)
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
    log = open(work / "log.jsonl", "a")
    begun, last = time.time(), time.time()
    losses, last_eval, last_save, tokens_since, since = [], spent, spent, 0, spent

    def save():
        torch.save({"optimizer": optimizer.state(), "step": step, "seen": seen, "spent": spent, "round": round_}, work / "state.tmp")
        os.replace(work / "state.tmp", work / "state.pt")

    while spent < args.minutes * 60 and time.time() - begun < args.stop_after * 60:
        progress = spent / (args.minutes * 60)
        for batch, where, targets, weights, points, labels in batches(tokenizer, args.seed * 1_000_003 + round_, progress, args.tokens, 8):
            share = spent / (args.minutes * 60)
            scale = min(1.0, max(0.02, (1 - share) / args.cooldown))
            if args.device != "cpu":
                batch, where = tuple(b.to(args.device) for b in batch), tuple(w.to(args.device) for w in where)
                targets, weights, points, labels = (t.to(args.device) for t in (targets, weights, points, labels))
            loss, *parts = forward(model, batch, where, targets, weights, points, labels)
            loss.backward()
            optimizer.step(scale)
            losses.append((loss.item(), *(p.item() for p in parts)))
            step, seen, tokens_since = step + 1, seen + batch[0].numel(), tokens_since + batch[0].numel()
            now = time.time()
            spent, last = spent + now - last, now
            if step % 25 == 0:
                mean = np.mean(losses[-25:], axis=0)
                print(f"step {step} min {spent / 60:.1f} tokens {seen / 1e6:.2f}M loss {mean[0]:.3f} answers {mean[1]:.3f} pointing {mean[2]:.3f} naming {mean[3]:.3f} {tokens_since / (spent - since + 1e-9):.0f}/s", flush=True)
                tokens_since, since = 0, spent
        round_ += 1
        if spent - last_save > 120:
            save()
            last_save = spent
        if spent - last_eval > 300:
            last_eval = spent
            row = {"step": step, "minutes": round(spent / 60, 1), "tokens": seen, "loss": float(np.mean(losses[-100:], axis=0)[0])}
            for name, samples in mixture.probes().items():
                whole, token = exact(model, tokenizer, samples, args.device)
                row[name] = [round(whole, 3), round(token, 4)]
            print(json.dumps(row), flush=True)
            log.write(json.dumps(row) + "\n")
            log.flush()
            last = time.time()
    save()
    model.export(work / "model", tokenizer)
    row = {"done": step, "minutes": round(spent / 60, 1)}
    for name, samples in mixture.probes(n=400).items():
        row[name] = [round(x, 4) for x in exact(model, tokenizer, samples, args.device)]
    print(json.dumps(row))
    log.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
