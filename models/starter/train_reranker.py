"""The built-in reranker: MiniLM's six layers, trained to tell the line that answers a question.

    python train_reranker.py --minilm DIR --training DIR --embedder embedder.gguf --out DIR

Steps, each kept in --out:
  1. pairs.jsonl     {question, positive, negatives}: replies to questions in dialogues (permissive licences only), and invented
                     notes and questions by generator/answer.py; to the negatives of dialogues come the lines that MiniLM takes
                     for nearest to the question (the shipped file also saw questions made from open text, by recast.py, up to
                     commit 7eda387)
  2. open.pt         the encoder with the starter embedder's word table (frozen, as are the two lowest layers), and the
                     head of src/inference/reranker.rs; one positive among seven negatives, cross-entropy; mixed with
                     the weights from before
  3. histories.pt    trained further on the questions of histories/ (histories.py): turns and facts of two people's chats
                     that were written for this project; negatives are what is nearest in the same history
  4. notebooks.pt    and further, with notebooks/ (notebooks.py): what one person told the assistant, asked for in other
                     words, and questions that nothing answers; scores are to compare between questions too; mixed again
  5. near.pt         and further, with talk/near*.txt and talk/reading*.txt: questions that a text nearly answers (the shipped
                     file: from the one before with `--start`, 700 steps, the nearest by words alone)
`quantise.py` writes the file that is compiled in. LoCoMo is never read here.
"""

import argparse
import gzip
import itertools
import json
import os
import random
import re
import time
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
import snowballstemmer
import torch
from torch import nn
from torch.nn import functional
from sklearn.feature_extraction.text import TfidfVectorizer
from transformers import BertModel

import convert
import histories
import memory_tasks
import notebooks
import spans
from generator import answer, relation, topics
from minilm import autocast, padded, starter_words, whole_tokenizer

LICENCES = {"MIT", "Apache-2.0", "CC BY 4.0"}
N_OPEN, N_INVENTED, N_CONTEXTS = 16_000, 9_000, 6_000
QUESTION_TOKENS_MAX, TEXT_TOKENS_MAX = 48, 96
TURNS, NEGATIVES, AHEAD = 12, 7, 16
LEARNING_RATE, HEAD_RATE, SCALE_RATE = 5e-5, 5e-4, 0.02
NOTEBOOKS_LEARNING_RATE = 3e-5
N_FROZEN = 2
TRAINED_SHARE, NOTEBOOKS_TRAINED_SHARE = 0.6, 0.3
HEAD = ("gate.weight", "value.weight", "first.weight", "first.bias")
# Of the second training: how many of a question's nearest units are its negatives, how much of the first goes on.
N_NEAREST, OPEN_SHARE = 24, 0.15
# Of the third: how much of it is notebooks, and how much counts whether each text answers, beside which answers best.
NOTEBOOKS_SHARE, ANSWERS_SHARE = 0.25, 0.5
# Of the fourth: its rate, its negatives a question, how often a text stands in a longer message, and every which text is kept out.
NEAR_RATE, NEAR_NEGATIVES, LONGER_SHARE, KEPT_OUT = 4e-5, 4, 0.35, 20
CLS, SEP = 101, 102


# ------------------------------------------------------------------------------------------------- pairs


def invented(rng):
    """Notes of the starter's own relations; the others of the same notebook are negatives."""
    relation.add_more(answer.RELATIONS)
    topics.add_more()
    for _ in range(N_CONTEXTS):
        context = answer.Context(rng, rng.choice((8, 10, 10, 12, 14)), False, "seen")
        lines = context.lines()
        place = {id(f): next((i for i, t in enumerate(lines) if f.text in t), None) for f in context.facts}
        for question, _, fact in context.questions(4, 0.0):
            i = None if fact is None else place.get(id(fact))
            if i is None:
                continue
            others = [k for k in range(len(lines)) if k != i]
            rng.shuffle(others)
            undated = rng.random() < 0.6
            line = lambda k: re.sub(r"^\[[^\]]*\] ?", "", lines[k]) if undated else lines[k]
            yield {"q": question, "pos": line(i), "neg": [line(k) for k in others[:9]], "s": "invented"}


def replies(rng, training):
    """A question of a dialogue and the turn after it, among the dialogue's other turns."""
    with gzip.open(Path(training) / "dialogues.jsonl.gz", "rt") as rows:
        for row in map(json.loads, rows):
            if row["licence"] not in LICENCES:
                continue
            said = [re.sub(r"\s+", " ", m["content"].replace("<|endoftext|>", "")).strip() for m in row["messages"]]
            fits = lambda k, most: 4 <= len(said[k].split()) <= most
            asked = [i for i in range(len(said) - 1) if said[i].endswith("?") and fits(i, 30) and fits(i + 1, 80)]
            rng.shuffle(asked)
            for i in asked[:2] if len(said) >= 6 else ():
                others = [k for k in range(len(said)) if k not in (i, i + 1) and fits(k, 80)]
                rng.shuffle(others)
                if len(others) >= 3:
                    yield {"q": said[i], "pos": said[i + 1], "neg": [said[k] for k in others[:6]], "s": "dialogue"}


def vectors(model, tokenizer, texts):
    out = []
    with torch.inference_mode(), autocast():
        for k in range(0, len(texts), 128):
            ids, mask = padded([tokenizer.encode(text).ids[:64] for text in texts[k: k + 128]])
            hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state.float() * mask[..., None]
            out.append(functional.normalize(hidden.sum(1) / mask.sum(1, keepdim=True), dim=1))
    return torch.cat(out)


def add_nearest(rng, pairs, model, tokenizer):
    """The nearest lines of all texts as negatives; near-copies of the positive are left out."""
    lines = sorted({text for pair in pairs for text in [pair["pos"], *pair["neg"]]}, key=len)
    questions = sorted({pair["q"] for pair in pairs}, key=len)
    of_lines, of_questions = vectors(model, tokenizer, lines), vectors(model, tokenizer, questions)
    nearest = {}
    for k in range(0, len(questions), 512):
        for question, ids in zip(questions[k:], (of_questions[k: k + 512] @ of_lines.T).topk(24, dim=1).indices):
            nearest[question] = ids.tolist()
    for pair in pairs:
        words = set(pair["pos"].lower().split())
        copies = lambda text: len(words & set(text.lower().split())) > 0.6 * len(words | set(text.lower().split()))
        found = [lines[k] for k in nearest[pair["q"]]]
        found = [t for t in found if t != pair["pos"] and t not in pair["neg"] and not copies(t)]
        rng.shuffle(pair["neg"])
        # The very nearest may well answer in other words.
        pair["neg"] = found[1:6] + pair["neg"][:4]


def make_pairs(args, model, tokenizer):
    rng = random.Random(7)
    of_text = [*replies(rng, args.training)]
    rng.shuffle(of_text)
    of_text = of_text[:N_OPEN]
    add_nearest(rng, of_text, model, tokenizer)
    notes = list(invented(rng))
    rng.shuffle(notes)
    pairs = of_text + notes[:N_INVENTED]
    rng.shuffle(pairs)
    return pairs


# ------------------------------------------------------------------------------------------------- model


class Reranker(nn.Module):
    """As src/inference/reranker.rs has it."""

    def __init__(self, encoder):
        super().__init__()
        hidden = encoder.config.hidden_size
        self.encoder = encoder
        self.gate = nn.Linear(hidden, 1, bias=False)
        self.value = nn.Linear(hidden, 1, bias=False)
        self.first = nn.Linear(hidden, 1)
        nn.init.zeros_(self.gate.weight)
        nn.init.normal_(self.value.weight, std=0.01)
        nn.init.normal_(self.first.weight, std=0.01)
        nn.init.zeros_(self.first.bias)
        self.scale = nn.Parameter(torch.tensor(15.0))

    def forward(self, ids, mask, n_question):
        states = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        place = torch.arange(ids.shape[1])[None]
        question = (place > 0) & (place <= n_question[:, None])
        text = (place > n_question[:, None] + 1) & (mask == 1) & (ids != SEP)
        unit = functional.normalize(states, dim=-1)
        nearest = (unit @ unit.transpose(1, 2)).masked_fill(~text[:, None], -1.0).max(2).values
        weights = torch.softmax(self.gate(states)[..., 0].masked_fill(~question, -1e9), 1)
        by_token = self.scale * nearest + self.value(states)[..., 0]
        return (weights * by_token).sum(1) + self.first(states[:, 0])[..., 0]


# ---------------------------------------------------------------------------------------------- training


SAID = re.compile(r"^([A-Z]\w+|The user|The assistant) (?:said|says|wrote|writes): ")
WORD = re.compile(r"[A-Za-z0-9']+")


def as_message(text):
    """`Ana said: …` → `Ana: …`, as messages are shown to it."""
    return SAID.sub(lambda found: found.group(1) + ": ", text)


def without_a_word(rng, share, question, positive):
    """Now and then a word that both have is missing: meaning has to do."""
    if rng.random() > share:
        return question
    have = {word.lower() for word in WORD.findall(positive)}
    shared = [w for w in WORD.findall(question) if w.lower() in have and len(w) > 3]
    if len(shared) < 2:
        return question
    return re.sub(r"\b" + re.escape(rng.choice(shared)) + r"\b", "", question, count=1).replace("  ", " ")


@dataclass
class Turn:
    """A question and its texts, the positive first, if there is one."""

    question: str
    texts: list[str]
    is_answered: bool = True
    # Its negatives are known not to answer.
    is_certain: bool = True


def open_turn(rng, pair, share=0.25):
    form = as_message if rng.random() < 0.7 else str
    texts = [form(t) for t in [pair["pos"], *pair["neg"][:NEGATIVES]]]
    return Turn(without_a_word(rng, share, pair["q"], pair["pos"]), texts, is_certain=False)


def of_open(rng, pairs):
    """Turn after turn, again and again."""
    while True:
        yield from (open_turn(rng, pair) for pair in pairs)


def item_turn(rng, item, n_negatives=NEGATIVES):
    """Any positive, and negatives that are more often near than far."""
    question, positives, nearest = item
    chosen = set()
    weights = [1 / (3 + rank) for rank in range(len(nearest))]
    while len(chosen) < min(n_negatives + (not positives), len(nearest)):
        chosen.add(rng.choices(range(len(nearest)), weights)[0])
    negatives = [nearest[k] for k in chosen]
    if not positives:
        return Turn(question, negatives, is_answered=False)
    positive = rng.choice(positives)
    return Turn(without_a_word(rng, 0.15, question, positive), [positive, *negatives])


def of_items(rng, items, pairs, others=(), share=0.0):
    """Now and then a turn of the first training; this share of the rest from the others."""
    while True:
        if rng.random() < OPEN_SHARE:
            yield open_turn(rng, rng.choice(pairs), 0.0)
        else:
            yield item_turn(rng, rng.choice(others if rng.random() < share else items))


def with_nearest(texts, asked, model, tokenizer):
    """(question, the texts that it rests on, the nearest others); by MiniLM's cosines (if it is given) and stems in common."""
    stem = snowballstemmer.stemmer("english").stemWord
    words = lambda text: [stem(word) for word in re.findall(r"[a-z0-9']+", text.lower())]
    questions = [question for question, _ in asked]
    table = TfidfVectorizer(analyzer=words, sublinear_tf=True)
    of_texts = table.fit_transform(texts)
    lexical = (table.transform(questions) @ of_texts.T).toarray()
    lexical /= np.maximum(lexical.max(1, keepdims=True), 1e-6)
    near = 0.35 * lexical
    if model:
        near += (vectors(model, tokenizer, questions) @ vectors(model, tokenizer, texts).T).numpy()
    for (question, rests), row in zip(asked, near):
        others = [k for k in np.argsort(-row) if k not in set(rests)]
        yield question, [texts[k] for k in rests], [texts[k] for k in others[:N_NEAREST]]


def history_items(path, model, tokenizer):
    history = histories.load(path)
    rests = lambda q: [k for k, unit in enumerate(history.units) if q.evidence & set(unit.messages)]
    asked = [(question.text, rests(question)) for question in history.questions]
    return with_nearest([unit.text for unit in history.units], asked, model, tokenizer)


def notebook_items(path, model, tokenizer):
    notebook = notebooks.load(path)
    return with_nearest(notebook.messages, notebook.questions, model, tokenizer)


def in_form(text):
    """As recall shows it: a message with its speaker, a fact as it stands."""
    return text if re.match(r"The user\b|[A-Z]\w+: ", text) or "the user" in text else "The user: " + text


def near_turn(rng, item, texts):
    """A text, a question that it answers or nearly does, and other texts."""
    text, kind, asked = item
    question, _, answer = asked.partition(" | ")
    silent = [t for t in rng.sample(texts, 60) if t != text and not (answer and answer.lower() in t.lower())]
    nearest = max(silent, key=lambda t: len(spans.content(t) & spans.content(question)))
    read = [text, nearest, *rng.sample(silent, 2)] if kind == "+" else [text, *rng.sample(silent, 2)]
    longer = lambda t: next((row["t"] for row in spans.in_longer(rng, [spans.row(question, t, None, "near")], silent)), t)
    read = [longer(t) if rng.random() < LONGER_SHARE else t for t in read]
    return Turn(question, [in_form(t) for t in read], is_answered=kind == "+")


def reading_turn(rng, item):
    question, positives, others = item
    others = sorted(others, key=lambda t: -len(spans.content(t) & spans.content(question)))
    texts = [*positives, *others[:2], *rng.sample(others[2:], min(2, len(others[2:])))]
    return Turn(question, [in_form(t) for t in texts], is_answered=bool(positives))


def reading_items():
    for told in memory_tasks.all_reading():
        notes = [text for _, text in told["N"]]
        for question, answer in told["QA"]:
            if re.search(r"don't know|not told|haven't told", answer):
                yield question, [], notes
            elif tell := [note for note in notes if spans.locate(note, answer)]:
                yield question, tell[:1], [note for note in notes if note not in tell]


def of_near(rng, of_histories, of_notebooks):
    texts = [text for text, _ in spans.near()]
    kept = [item for i, item in enumerate(spans.near()) if i % KEPT_OUT]
    asked = {kind: [(text, kind, q) for text, questions in kept for k, q in questions if k == kind] for kind in "+-"}
    reading = list(reading_items())
    while True:
        part = rng.random()
        if part < 0.5:
            yield near_turn(rng, rng.choice(asked["+" if part < 0.25 else "-"]), texts)
            continue
        items = of_histories if part < 0.83 else of_notebooks
        yield reading_turn(rng, rng.choice(reading)) if part < 0.7 else item_turn(rng, rng.choice(items), NEAR_NEGATIVES)


def batches(rng, turns, tokenizer):
    """Without end: batches of similar length within blocks, so that little is padding."""
    known = {}

    def tokens(text, most):
        if text not in known:
            known[text] = tokenizer.encode(text, add_special_tokens=False).ids
        return known[text][:most]

    while True:
        block = []
        for turn in itertools.islice(turns, TURNS * AHEAD):
            question = tokens(turn.question, QUESTION_TOKENS_MAX)
            texts = [tokens(text, TEXT_TOKENS_MAX) for text in turn.texts]
            block.append((turn, [([CLS, *question, SEP, *text, SEP], len(question)) for text in texts]))
        block.sort(key=lambda read: max(len(ids) for ids, _ in read[1]))
        parts = [block[k: k + TURNS] for k in range(0, len(block), TURNS)]
        rng.shuffle(parts)
        yield from parts


class Answers(nn.Module):
    """A score → the log-odds that the text answers; only for training."""

    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.tensor(0.8))
        self.bias = nn.Parameter(torch.tensor(-7.0))

    def loss(self, scores, is_answered):
        right = torch.zeros_like(scores)
        right[0] = float(is_answered)
        return functional.binary_cross_entropy_with_logits(self.slope * scores + self.bias, right, reduction="sum")


def train(model, turns, tokenizer, minutes, out, rate=LEARNING_RATE, answers_share=0.0):
    frozen = [model.encoder.embeddings, *model.encoder.encoder.layer[:N_FROZEN]]
    for module in frozen:
        module.requires_grad_(False)
    answers = Answers()
    body = [p for p in model.encoder.parameters() if p.requires_grad]
    head = [model.gate.weight, model.value.weight, model.first.weight, model.first.bias]
    scales = [model.scale, *answers.parameters()]
    rates = (rate, HEAD_RATE * rate / LEARNING_RATE, SCALE_RATE * rate / LEARNING_RATE)
    groups = [{"params": body}, {"params": head}, {"params": scales, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    start = saved = time.time()
    losses, right, judged = [], [], []
    for step, block in enumerate(batches(random.Random(5), turns, tokenizer), 1):
        progress = (time.time() - start) / (60 * minutes)
        if progress >= 1:
            break
        share = min(1, step / 60) * max(0.02, 1 - progress)
        for group, most in zip(optimizer.param_groups, rates):
            group["lr"] = most * share
        rows = [row for _, read in block for row in read]
        ids, mask = padded([ids for ids, _ in rows])
        with autocast():
            scores = model(ids, mask, torch.tensor([n for _, n in rows]))
        scored = list(zip((turn for turn, _ in block), scores.split([len(read) for _, read in block])))
        best = [torch.logsumexp(s, 0) - s[0] for turn, s in scored if turn.is_answered]
        answering = [answers.loss(s, turn.is_answered) for turn, s in scored if turn.is_certain and answers_share]
        loss = sum(best) / len(block) + answers_share * sum(answering) / len(block)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(body + head + [model.scale], 1.0)
        optimizer.step()
        losses.append(sum(best).item() / max(1, len(best)))
        judged.append(sum(answering).item() / len(answering) if answering else 0.0)
        right += [int(s.argmax() == 0) for turn, s in scored if turn.is_answered]
        if step % 20 == 0:
            print(f"step {step} {time.time() - start:.0f} s loss {np.mean(losses[-50:]):.3f} first {np.mean(right[-50 * TURNS:]):.3f} "
                  f"answers {np.mean(judged[-50:]):.3f} at {-answers.bias.item() / answers.slope.item():.2f}", flush=True)
        if time.time() - saved > 240:
            save(model.state_dict(), out)
            saved = time.time()


def mixed(begin, end, share):
    """WiSE-FT: between the weights before training and after, as what was trained on is not what it is for."""
    return {k: torch.lerp(begin[k], v, share) if v.is_floating_point() else v for k, v in end.items()}


def copied(model, zeroed=()):
    return {k: torch.zeros_like(v) if k in zeroed else v.clone() for k, v in model.state_dict().items()}


def save(state, path):
    """The words are the embedder's."""
    kept = {k: v for k, v in state.items() if "word_embeddings" not in k}
    torch.save(kept, f"{path}.tmp")
    os.rename(f"{path}.tmp", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--minilm", "--training", "--embedder", "--out"):
        parser.add_argument(name, required=True)
    for name, minutes in (("open", 52.0), ("history", 58.0), ("notebook", 45.0), ("near", 35.0)):
        parser.add_argument(f"--{name}-minutes", type=float, default=minutes)
    parser.add_argument("--start", help="reranker.gguf: only the last training, from its weights")
    args = parser.parse_args()
    (out := Path(args.out)).mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    tokenizer = whole_tokenizer(args.minilm)
    encoder = None if args.start else BertModel.from_pretrained(args.minilm, add_pooling_layer=False)
    of_histories = [item for path in histories.training() for item in history_items(path, encoder, tokenizer)]
    of_notebooks = [item for path in notebooks.training() for item in notebook_items(path, encoder, tokenizer)]
    print(f"{len(of_histories)} questions about histories, {len(of_notebooks)} about notebooks", flush=True)
    if args.start:
        model = read(args.start, args.minilm, args.embedder, tokenizer)
    else:
        model = up_to_notebooks(args, encoder, tokenizer, of_histories, of_notebooks)
    turns = of_near(random.Random(6), of_histories, of_notebooks)
    stage(model, out / "near", lambda to: train(model, turns, tokenizer, args.near_minutes, to, NEAR_RATE, answers_share=1.0))


def up_to_notebooks(args, encoder, tokenizer, of_histories, of_notebooks):
    kept = (out := Path(args.out)) / "pairs.jsonl"
    if not kept.exists():
        pairs = make_pairs(args, encoder, tokenizer)
        kept.write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    pairs = [json.loads(line) for line in kept.open()]
    pairs += [p for p in pairs if p["s"] in ("human", "dialogue")] * 3
    random.Random(1).shuffle(pairs)
    rows, words = starter_words(args.embedder, tokenizer)
    with torch.no_grad():
        encoder.embeddings.word_embeddings.weight[rows] = words
    model = Reranker(encoder)
    begin = copied(model, zeroed=HEAD)
    stage(model, out / "open", lambda to: train(model, of_open(random.Random(5), pairs), tokenizer, args.open_minutes, to),
          lambda end: mixed(begin, end, TRAINED_SHARE))
    turns = of_items(random.Random(5), of_histories, pairs)
    stage(model, out / "histories", lambda to: train(model, turns, tokenizer, args.history_minutes, to))
    last = of_items(random.Random(6), of_histories, pairs, of_notebooks, NOTEBOOKS_SHARE)
    before = copied(model)
    stage(model, out / "notebooks", lambda to: train(model, last, tokenizer, args.notebook_minutes, to, NOTEBOOKS_LEARNING_RATE,
                                                      ANSWERS_SHARE), lambda end: mixed(before, end, NOTEBOOKS_TRAINED_SHARE))
    return model


def stage(model, path, run, mixed=lambda end: end):
    """A training, unless its end is in --out."""
    if path.with_suffix(".pt").exists():
        model.load_state_dict(torch.load(path.with_suffix(".pt")), strict=False)
        return
    run(path.with_suffix(".part"))
    model.load_state_dict(mixed(model.state_dict()))
    save(model.state_dict(), path.with_suffix(".pt"))


def read(path, minilm, embedder, tokenizer):
    """The model of a file that convert.py or quantise.py wrote."""
    model = Reranker(BertModel.from_pretrained(minilm, add_pooling_layer=False))
    fields = gguf.GGUFReader(path).fields
    value = lambda name: torch.tensor(float(fields[f"inglenook.reranker.{name}"].parts[-1][0]))
    rows, words = starter_words(embedder, tokenizer)
    with torch.no_grad():
        model.encoder.embeddings.word_embeddings.weight[rows] = words
        found = convert.load_encoder(path, model.encoder)
        for name in ("gate", "value", "first"):
            getattr(model, name).weight[0] = found[f"{name}.weight"]
        model.first.bias[0] = value("bias")
        model.scale.copy_(value("scale"))
    return model


if __name__ == "__main__":
    main()
