"""The built-in embedder: a two-layer BERT distilled from all-MiniLM-L6-v2.

    python distil_embedder.py --minilm DIR --training DIR --out DIR [--minutes 25]

Steps, each kept in --out so that a stopped run goes on where it was:
  1. sentences.json   60,000 sentences of the permissively licensed rows (LICENCES below)
  2. teacher.npy      MiniLM's unit vectors of them
  3. student.pt       word, position and layer-norm weights of MiniLM, its layers 0 and 5, then
                      trained: (1 - cosine to the teacher's vector) + SIMILARITY_WEIGHT * mean
                      squared error of the batch's similarity matrix
LoCoMo is never read here (evaluate_embedder.py reads it).
"""

import argparse
import gzip
import json
import math
import random
import re
import time
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel

from minilm import autocast

SEED = 20261121
N_SENTENCES = 60_000
TOKENS_MAX = 96
BATCH = 128
LEARNING_RATE = 4e-4
SIMILARITY_WEIGHT = 10.0
# Share-alike rows (CC BY-SA) are left out, so that the weights can stay Apache-2.0.
LICENCES = {"MIT", "Apache-2.0", "CC BY 4.0"}
# Conversational and narrative sources first: memories look like them.
SHARES = {
    "memochat": 0.22, "cosmos": 0.16, "gpteacher": 0.12, "duorc": 0.14, "taskmaster": 0.08,
    "memorybank": 0.06, "llamafactory": 0.06, "quoref": 0.05, "social": 0.05, "ropes": 0.02,
    "commonsense": 0.02, "common_gen": 0.01, "rasbt": 0.01,
}


def pieces(text):
    """Sentences, and now and then two or three of them together (messages, narratives)."""
    text = text.replace("<|endoftext|>", " ")
    text = re.sub(r"\s+", " ", text)
    sentences = [s.strip() for s in re.split(r"(?<=[.!?])\s+(?=[\"'A-Z0-9])", text)]
    sentences = [s for s in sentences if 8 <= len(s) <= 400 and re.search("[a-zA-Z]{2}", s)]
    out = list(sentences)
    for i in range(0, len(sentences) - 2, 5):
        out.append(" ".join(sentences[i:i + 3])[:600])
    return out


def collect(training):
    rng = random.Random(SEED)
    pools = {key: set() for key in SHARES}
    rows = 0
    for path in sorted(Path(training).glob("*.jsonl.gz")):
        for line in gzip.open(path, "rt"):
            row = json.loads(line)
            if row["licence"] not in LICENCES:
                continue
            key = next((k for k in SHARES if k in row["source"]), None)
            if key is None:
                continue
            rows += 1
            for message in row["messages"]:
                pools[key].update(pieces(message["content"]))
    chosen, used = [], {}
    for key, share in SHARES.items():
        pool = sorted(pools[key])
        rng.shuffle(pool)
        take = pool[: int(share * N_SENTENCES)]
        used[key] = (len(take), len(pool))
        chosen += take
    rest = sorted(set().union(*pools.values()) - set(chosen))
    rng.shuffle(rest)
    chosen += rest[: max(0, N_SENTENCES - len(chosen))]
    rng.shuffle(chosen)
    print(f"rows {rows}, sentences {len(chosen)}, by source (used, available): {used}", flush=True)
    return chosen


def tokenise(tokenizer, sentences):
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS_MAX)
    return [e.ids for e in tokenizer.encode_batch(sentences)]


def batch_of(ids):
    n = max(map(len, ids))
    tokens = torch.zeros(len(ids), n, dtype=torch.long)
    mask = torch.zeros(len(ids), n, dtype=torch.long)
    for i, row in enumerate(ids):
        tokens[i, : len(row)] = torch.tensor(row)
        mask[i, : len(row)] = 1
    return tokens, mask


def embed(model, tokens, mask):
    hidden = model(input_ids=tokens, attention_mask=mask).last_hidden_state.float()
    weights = mask.unsqueeze(-1).float()
    return torch.nn.functional.normalize((hidden * weights).sum(1) / weights.sum(1), dim=-1)


def embed_all(model, ids, size=64):
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    out, start = None, time.time()
    with torch.inference_mode():
        for n, k in enumerate(range(0, len(order), size)):
            rows = order[k: k + size]
            vectors = embed(model, *batch_of([ids[i] for i in rows])).numpy()
            if out is None:
                out = np.zeros((len(ids), vectors.shape[1]), dtype=np.float32)
            out[rows] = vectors
            if n % 100 == 0:
                print(f"  embedded {k + len(rows)}/{len(ids)}, {time.time() - start:.0f} s", flush=True)
    return out


def student_of(teacher):
    config = BertConfig.from_dict({**teacher.config.to_dict(), "num_hidden_layers": 2})
    student = BertModel(config, add_pooling_layer=False)
    student.embeddings.load_state_dict(teacher.embeddings.state_dict())
    for i, source in enumerate((0, teacher.config.num_hidden_layers - 1)):
        student.encoder.layer[i].load_state_dict(teacher.encoder.layer[source].state_dict())
    return student


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minilm", required=True)
    parser.add_argument("--training", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(args.threads)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)

    tokenizer = Tokenizer.from_file(f"{args.minilm}/tokenizer.json")
    teacher = BertModel.from_pretrained(args.minilm, add_pooling_layer=False).eval()
    if (out / "sentences.json").exists():
        sentences = json.loads((out / "sentences.json").read_text())
    else:
        sentences = collect(args.training)
        (out / "sentences.json").write_text(json.dumps(sentences))
    ids = tokenise(tokenizer, sentences)
    print(f"mean tokens {sum(map(len, ids)) / len(ids):.1f}", flush=True)
    if (out / "teacher.npy").exists():
        targets = np.load(out / "teacher.npy")
    else:
        targets = embed_all(teacher, ids)
        np.save(out / "teacher.npy", targets)
    targets = torch.from_numpy(targets)

    student = student_of(teacher)
    del teacher
    held_out = range(len(ids) - 1000, len(ids))
    train = np.arange(len(ids) - 1000)
    optimizer = torch.optim.AdamW(student.parameters(), lr=LEARNING_RATE, weight_decay=0.01,
                                  betas=(0.9, 0.98))
    state = {"step": 0, "epoch": 0, "seconds": 0.0}
    if (out / "state.pt").exists():
        saved = torch.load(out / "state.pt")
        student.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        state = saved["state"]
    budget, start, before = args.minutes * 60, time.time(), state["seconds"]

    def save():
        torch.save({"model": student.state_dict(), "optimizer": optimizer.state_dict(),
                    "state": state}, out / "state.tmp")
        (out / "state.tmp").rename(out / "state.pt")
        torch.save(student.state_dict(), out / "student.pt")

    def validate():
        student.eval()
        with torch.inference_mode():
            total, n = 0.0, 0
            for k in range(0, len(held_out), 100):
                rows = list(held_out[k: k + 100])
                v = embed(student, *batch_of([ids[i] for i in rows]))
                total += (v * targets[rows]).sum().item()
                n += len(rows)
        student.train()
        return total / n

    student.train()
    for module in student.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    last_save = time.time()
    while state["seconds"] < budget:
        rng = np.random.default_rng(SEED + state["epoch"])
        order = rng.permutation(train)
        # Batches of similar length within shuffled blocks: little padding, still mixed.
        blocks = []
        for k in range(0, len(order), BATCH * 40):
            block = sorted(order[k: k + BATCH * 40], key=lambda i: len(ids[i]))
            blocks += [block[j: j + BATCH] for j in range(0, len(block), BATCH)]
        random.Random(state["epoch"]).shuffle(blocks)
        for rows in blocks:
            state["seconds"] = before + time.time() - start
            progress = min(1.0, state["seconds"] / budget)
            if progress >= 1.0:
                break
            warm = min(1.0, (state["step"] + 1) / 100)
            rate = LEARNING_RATE * warm * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * progress)))
            for group in optimizer.param_groups:
                group["lr"] = rate
            tokens, mask = batch_of([ids[i] for i in rows])
            target = targets[rows]
            with autocast():
                vectors = embed(student, tokens, mask)
            cosine = 1 - (vectors * target).sum(-1).mean()
            similarity = ((vectors @ vectors.T) - (target @ target.T)).square().mean()
            loss = cosine + SIMILARITY_WEIGHT * similarity
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
            optimizer.step()
            state["step"] += 1
            if state["step"] % 50 == 0:
                print(f"step {state['step']} epoch {state['epoch']} {state['seconds']:.0f} s "
                      f"cosine loss {cosine.item():.4f} similarity {similarity.item():.5f} "
                      f"lr {rate:.2e}", flush=True)
            if time.time() - last_save > 120:
                save()
                last_save = time.time()
                print(f"  held-out cosine {validate():.4f}", flush=True)
        else:
            state["epoch"] += 1
    save()
    print(f"done: {state}, held-out cosine {validate():.4f}", flush=True)


if __name__ == "__main__":
    main()
