"""The built-in encoder: MiniLM's layers over the embedder's word table, and heads that say something of a text or of two.

    python train_encoder.py --minilm DIR --embedder embedder.gguf --head wants=turns --spans spans.jsonl --out /tmp/encoder.gguf

Data of a head are TSV files, or a folder of them: label, text (of a pair: label, first text, second text); a folder of scenarios (changes.py);
or talk/ (of its near*.txt, what was told, and two questions about it). A file is a writer; a head's only file counts as twelve, piece by piece.
`--folds 3` says how well the same training does on writers that it did not see, instead of writing a file. `--spans` (spans.py) is one more head:
where in a text the answer to a question begins and ends, as in SQuAD 2; both at [CLS] where it has none. All heads are trained together (`--only`:
one, on the layers as they are), with the layers but the lowest two; the word table stays.
"""

import argparse
import json
import os
import random
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from transformers import BertModel

import changes
import convert
import spans
from minilm import autocast, padded, starter_words, whole_tokenizer

# Of a longer text the beginning and the end are read: what asks is often the last sentence.
TOKENS_BEGINNING, TOKENS_END = 24, 40
BATCH, SMOOTHING = 32, 0.05
N_FROZEN = 2  # the lowest layers; it costs nothing, and saves a quarter of the time
LEARNING_RATE, HEAD_RATE, WARM_UP = 6e-5, 1e-3, 0.1
CLS, SEP = 101, 102
SPAN = "span"
# Of a question and of a text, where the answer is looked for.
QUESTION_MAX, TEXT_MAX = 32, 93


@dataclass
class Task:
    """A head and what it is trained on: (writer, label, texts)."""

    name: str
    rows: list
    labels: list


def read_rows(path, head):
    if Path(path).name == "talk":
        for text, asked in spans.near():
            said = [("T", text), *(("M", question.split(" | ")[0]) for _, question in asked[::5][:2])]
            yield from (("near", label, (text,)) for label, text in said)
        return
    if list(Path(path).glob("*.txt")):
        yield from changes.rows(path, head)
        return
    files = sorted(Path(path).glob("*.tsv")) if Path(path).is_dir() else [Path(path)]
    for file in files:
        lines = [line.split("\t") for line in file.read_text().splitlines() if "\t" in line]
        for i, (label, *texts) in enumerate(lines):
            writer = file.stem if len(files) > 1 else f"{file.stem}-{12 * i // len(lines)}"
            yield writer, label, tuple(texts)


def read_task(spec, known=()):
    name, paths = spec.split("=", 1)
    rows = [row for path in paths.split(",") for row in read_rows(path, name)]
    labels = next((task.labels for task in known if task.name == name), sorted({label for _, label, _ in rows}))
    return Task(name, rows, labels)


# ----------------------------------------------------------------------------------------------- texts


def misspelt(rng, text):
    places = [i for i in range(1, len(text) - 2) if text[i - 1: i + 2].isalpha()]
    if not places:
        return text
    i = rng.choice(places)
    swapped = text[:i] + text[i + 1] + text[i] + text[i + 2:]
    return rng.choice([swapped, text[:i] + text[i + 1:], text[:i] + text[i] + text[i:]])


def varied(rng, text):
    """As somebody else might type it (the vocabulary has no capitals anyway)."""
    if rng.random() < 0.4:
        text = text.rstrip(".?!")
    if rng.random() < 0.15:
        text = re.sub(r"[,;]", "", text)
    if rng.random() < 0.15:
        text = text.replace("'", "")
    if rng.random() < 0.15:
        text = misspelt(rng, text)
    return text


def encoded(tokenizer, texts):
    """[CLS] text [SEP], or [CLS] first [SEP] second [SEP]."""
    ids = [CLS]
    for text in texts:
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        if len(tokens) > TOKENS_BEGINNING + TOKENS_END:
            tokens = tokens[:TOKENS_BEGINNING] + tokens[-TOKENS_END:]
        ids += [*tokens, SEP]
    return ids


def batches(rng, tokenizer, task, rows):
    """The rows, varied; texts of similar length together, so that little is padding."""
    read = [(encoded(tokenizer, [varied(rng, text) for text in texts]), task.labels.index(label))
            for _, label, texts in rows]
    return mixed(rng, task, read)


def mixed(rng, task, read):
    rng.shuffle(read)
    for k in range(0, len(read), BATCH * 16):
        block = sorted(read[k: k + BATCH * 16], key=lambda row: len(row[0]))
        for j in range(0, len(block), BATCH):
            yield task, block[j: j + BATCH]


def encoded_span(tokenizer, rng, row):
    """[CLS] question [SEP] text [SEP], and the first and last token of the answer; (0, 0) without one. None if the text is too long."""
    question = tokenizer.encode(varied(rng, row["q"]), add_special_tokens=False).ids[:QUESTION_MAX]
    read = tokenizer.encode(row["t"], add_special_tokens=False)
    if not question or not 0 < len(read.ids) <= TEXT_MAX:
        return None
    before = len(question) + 2
    inside = [i for i, (a, b) in enumerate(read.offsets) if a < row["b"] and b > row["a"]] if row["a"] >= 0 else []
    if row["a"] >= 0 and not inside:
        return None
    place = (before + inside[0], before + inside[-1]) if inside else (0, 0)
    return [CLS, *question, SEP, *read.ids, SEP], (place, before)


def batches_of_spans(rng, tokenizer, task, rows):
    """As `batches`; a label is (first and last token, where the text begins)."""
    return mixed(rng, task, [found for row in rows if (found := encoded_span(tokenizer, rng, row))])


# ----------------------------------------------------------------------------------------------- model


class Encoder(nn.Module):
    """As src/inference/heads.rs has it: a head sees the mean of the last hidden states."""

    def __init__(self, args, tokenizer, tasks):
        super().__init__()
        self.trunk = BertModel.from_pretrained(args.minilm, add_pooling_layer=False)
        self.trunk.encoder.layer = self.trunk.encoder.layer[:args.layers]
        rows, words = starter_words(args.embedder, tokenizer)
        table = self.trunk.embeddings.word_embeddings.weight.requires_grad_(False)
        table[rows] = words
        for layer in self.trunk.encoder.layer[:N_FROZEN]:
            layer.requires_grad_(False)
        self.heads = nn.ModuleDict({task.name: nn.Linear(table.shape[1], len(task.labels)) for task in tasks})
        if SPAN in self.heads:
            nn.init.zeros_(self.heads[SPAN].weight)
        if args.start and args.start.endswith(".gguf"):
            found = convert.load_encoder(args.start, self.trunk)
            heads = {name.replace("head.", "heads."): x for name, x in found.items() if name.startswith("head.")}
            self.load_state_dict(heads, strict=False)
        elif args.start:
            self.load_state_dict(torch.load(args.start), strict=False)

    def states(self, ids, mask):
        return self.trunk(input_ids=ids, attention_mask=mask).last_hidden_state.float() * mask[..., None]

    def span_loss(self, ids, mask, labels):
        """Of the two ends, among the text's tokens and [CLS]."""
        scores = self.heads[SPAN](functional.dropout(self.states(ids, mask), 0.1, self.training))
        place, begins = torch.tensor([place for place, _ in labels]), torch.tensor([begin for _, begin in labels])
        at = torch.arange(ids.shape[1])[None]
        text = (at == 0) | ((at >= begins[:, None]) & (mask == 1) & (ids != SEP))
        scores = scores.masked_fill(~text[..., None], -1e4)
        return (functional.cross_entropy(scores[..., 0], place[:, 0]) + functional.cross_entropy(scores[..., 1], place[:, 1])) / 2

    def forward(self, ids, mask, name):
        states = self.states(ids, mask)
        mean = states.sum(1) / mask.sum(1, keepdim=True)
        return self.heads[name](functional.dropout(mean, 0.1, self.training))


def save(model, path):
    if path:
        torch.save({name: value for name, value in model.state_dict().items() if "word_embeddings" not in name}, path)


def train(model, tokenizer, tasks, args):
    epochs, keep = args.epochs, args.keep
    most = {task.name: min(len(task.rows), args.most if task.name in args.few or not args.few else 10**9) for task in tasks}
    rng = random.Random(args.seed)
    trunk = [p for p in model.trunk.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW([{"params": trunk, "lr": args.rate},
                                   {"params": model.heads.parameters(), "lr": HEAD_RATE}], weight_decay=0.01, fused=True)
    n_steps = epochs * sum(-(-n // BATCH) for n in most.values())
    rate = lambda step: min((step + 1) / (WARM_UP * n_steps), 1 - step / n_steps)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    model.train()
    begun, step, losses, of_head = time.time(), 0, [], {}
    for epoch in range(epochs):
        chosen = [(task, rng.sample(task.rows, most[task.name])) for task in tasks]
        parts = [batch for task, rows in chosen
                 for batch in (batches_of_spans if task.name == SPAN else batches)(rng, tokenizer, task, rows)]
        rng.shuffle(parts)
        for task, rows in parts:
            ids, mask = padded([ids for ids, _ in rows])
            labels = [label for _, label in rows]
            with autocast():
                if task.name == SPAN:
                    loss = model.span_loss(ids, mask, labels)
                else:
                    loss = functional.cross_entropy(model(ids, mask, task.name).float(), torch.tensor(labels), label_smoothing=SMOOTHING)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(trunk, 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            of_head.setdefault(task.name, []).append(loss.item())
            step += 1
            if step % 250 == 0:
                print(step, f"{time.time() - begun:.0f} s", {name: round(float(np.mean(x[-100:])), 3) for name, x in of_head.items()}, flush=True)
                save(model, keep)
        print(f"epoch {epoch + 1}: {step} steps, {time.time() - begun:.0f} s, loss {np.mean(losses[-100:]):.3f}", flush=True)
        save(model, keep)


@torch.inference_mode()
def probabilities(model, tokenizer, name, rows):
    model.eval()
    order = sorted(range(len(rows)), key=lambda i: len("".join(rows[i][2])))
    out = [None] * len(rows)
    for k in range(0, len(order), 64):
        ids, mask = padded([encoded(tokenizer, rows[i][2]) for i in order[k: k + 64]])
        for i, row in zip(order[k:], torch.softmax(model(ids, mask, name), 1).tolist()):
            out[i] = row
    return out


def score(model, tokenizer, task, rows, wrong):
    """The share that is right; what is not goes to `wrong`."""
    said = [task.labels[int(np.argmax(row))] for row in probabilities(model, tokenizer, task.name, rows)]
    for (writer, label, texts), guess in zip(rows, said):
        if guess != label:
            print(task.name, writer, label, guess, *texts, sep="\t", file=wrong)
    return sum(guess == label for guess, (_, label, _) in zip(said, rows)) / max(1, len(rows))


# ------------------------------------------------------------------------------------------------ file


def write(model, tasks, out):
    state = {name: value.float().numpy() for name, value in model.trunk.state_dict().items()}
    config = model.trunk.config.to_dict()
    n_layers = convert.layers_in(state)
    writer = convert.bert_writer(out, "inglenook-encoder", config, n_layers)
    for task in tasks:
        head = model.heads[task.name]
        writer.add_array(f"inglenook.head.{task.name}", task.labels)
        writer.add_tensor(f"head.{task.name}.weight", head.weight.detach().numpy())
        writer.add_tensor(f"head.{task.name}.bias", head.bias.detach().numpy())
    # Most of what five bits change, they change in the last layer.
    convert.encoder(writer, state, n_layers, convert.Q5_0, convert.Q5_0, last=convert.Q8_0)
    convert.finish(writer, out)


def cross_validate(args, tokenizer, tasks, wrong):
    right = {task.name: [] for task in tasks}
    for fold in range(args.folds):
        parts, held = [], {}
        for task in tasks:
            writers = sorted({writer for writer, _, _ in task.rows})
            random.Random(3).shuffle(writers)
            out = set(writers[fold::args.folds])
            held[task.name] = [row for row in task.rows if row[0] in out]
            parts.append(Task(task.name, [row for row in task.rows if row[0] not in out], task.labels))
        if args.write_folds:
            for task in parts:
                for kind, rows in (("train", task.rows), ("held", held[task.name])):
                    text = "".join("\t".join([label, *texts]) + "\n" for _, label, texts in rows)
                    Path(args.write_folds, f"{task.name}-{fold}-{kind}.tsv").write_text(text)
            continue
        torch.manual_seed(args.seed)
        model = Encoder(args, tokenizer, parts)
        train(model, tokenizer, parts, args)
        for task in parts:
            share = score(model, tokenizer, task, held[task.name], wrong)
            right[task.name].append((share, len(held[task.name])))
            print(f"fold {fold}, {task.name}: {share:.4f} of {len(held[task.name])}", flush=True)
        for spec in args.choose:
            other = read_task(spec, tasks)
            print(f"fold {fold}, {spec}: {score(model, tokenizer, other, other.rows, wrong):.4f}", flush=True)
        if args.only_fold:
            return
    for name, shares in right.items():
        if shares:
            print(f"{name}: {sum(s * n for s, n in shares) / sum(n for _, n in shares):.4f} of writers never seen", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minilm", required=True)
    parser.add_argument("--embedder", required=True)
    parser.add_argument("--head", action="append", required=True, metavar="NAME=FILES")
    parser.add_argument("--spans", help="rows of spans.py")
    parser.add_argument("--choose", action="append", default=[], metavar="NAME=FILE", help="scored, never trained on")
    parser.add_argument("--out", help="the GGUF file; beside it .wrong.tsv")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--most", type=int, default=10**9, help="rows of a head in an epoch, others in each")
    parser.add_argument("--few", action="append", default=[], metavar="NAME", help="`--most` is for this head; for all without")
    parser.add_argument("--only", metavar="NAME", help="this head alone is trained, on the layers as they are")
    parser.add_argument("--start", help="weights that an earlier training kept, or its GGUF; MiniLM's without")
    parser.add_argument("--keep", help="keeps the weights here after each epoch")
    parser.add_argument("--rate", type=float, default=LEARNING_RATE)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folds", type=int, default=0)
    parser.add_argument("--only-fold", action="store_true", help="the first only")
    parser.add_argument("--write-folds", help="write the folds' data to this folder, for another model; train nothing")
    args = parser.parse_args()
    tokenizer = whole_tokenizer(args.minilm)
    tasks = [read_task(spec) for spec in args.head]
    if args.spans:
        tasks.append(Task(SPAN, [json.loads(line) for line in open(args.spans)], ["first", "last"]))
    for task in tasks:
        print(f"{task.name}: {len(task.rows)} rows, labels {task.labels}", flush=True)
    with open(f"{args.out}.wrong.tsv" if args.out else os.devnull, "w") as wrong:
        if args.folds:
            return cross_validate(args, tokenizer, tasks, wrong)
        torch.manual_seed(args.seed)
        model = Encoder(args, tokenizer, tasks)
        if args.only:
            model.requires_grad_(False).heads[args.only].requires_grad_(True)
        if args.epochs:
            train(model, tokenizer, [task for task in tasks if args.only in (None, task.name)], args)
        for spec in args.choose:
            other = read_task(spec, tasks)
            print(f"{spec}: {score(model, tokenizer, other, other.rows, wrong):.4f}", flush=True)
        write(model, tasks, args.out)


if __name__ == "__main__":
    sys.exit(main())
