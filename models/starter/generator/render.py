"""Samples in the starter's chat template, with the system sentences of `assets/prompts`.

The program reads the same files (`src/prompts`), so the two can't drift apart: a sentence changed
there changes the training data, and `tests/starter.rs` fails until the model is trained on it.
"""

import re
from pathlib import Path

PROMPTS = Path(__file__).resolve().parents[3] / "assets" / "prompts"
NO_HINTS = [], [], {}
SYSTEM, USER, ASSISTANT, END = "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"


def system_sentence(name):
    """The section `=== system` of one prompt file: all that the starter is told."""
    text = (PROMPTS / f"{name}.txt").read_text()
    found = re.search(r"^=== system\n(.*?)(?=^=== |\Z)", text, re.S | re.M)
    return found.group(1).strip()


FILES = {"answer": "answer", "chat": "chat", "router": "router", "boundary": "boundary", "extraction": "semantics",
         "episode": "episode", "conflict": "conflict", "merge": "merge", "theme": "theme"}
SENTENCES = {task: system_sentence(file) for task, file in FILES.items()}


def prepare(text):
    """A space before every line, so that each word has one tokenisation; not before `[date]`."""
    return "\n".join(line if line.startswith(("[", " ")) or not line else " " + line for line in text.split("\n"))


def boundary(history, new):
    """The person's side of a prompt, as `src/prompts` fills it; so the next ones."""
    return "\n".join([*history, f"New: {new}"])


def conflict(earlier, later):
    return f"Old: {earlier}\nNew: {later}"


def dated(day, lines):
    return "\n".join([f"Date: {day}", *lines])


def trained_prompts():
    """Every prompt with the same fillings as in `src/prompts`' test, which compares them with its own:
    `prompts.json` is written with the weights, so that a changed prompt shows."""
    said, told = "The user: I moved to Lund.", "Assistant: Nice!"
    day = "16 November 2026"
    users = {
        "answer": f"{OPEN}\n[{day}] Ana lives in Lund.\n{CLOSE}\nWhere does Ana live?",
        "router": "I moved to Lund.", "boundary": boundary([said, told], said), "episode": dated(day, [said, told]),
        "extraction": dated(day, [said, told]), "theme": "I moved to Lund.\nAna has a dog.",
        "conflict": conflict("I moved to Lund.", "Ana lives in Lund."), "merge": "I moved to Lund.\nAna lives in Lund."}
    return [{"task": task, "system": SENTENCES[task], "user": users.get(task, "")} for task in SENTENCES]


def section(name, part):
    """Another section of a prompt file, without its templating."""
    text = (PROMPTS / f"{name}.txt").read_text()
    found = re.search(rf"^=== {part}\n(.*?)(?=^=== |\Z)", text, re.S | re.M)
    return found.group(1).strip()


OPEN = section("answer", "open")
CLOSE = section("answer", "close").replace("{{ question }}", "").strip()


def turn(user, assistant, weights=(0.3, 1.0), open_turn=True):
    """(text, loss weight) pieces of one turn: of what the person says, of what the model must say."""
    start = [(USER, 0.0)] if open_turn else []
    return [*start, (prepare(user), weights[0]), (f"{END}{ASSISTANT}", 0.0), (prepare(assistant) + END, weights[1])]


def block(lines, of_lines=0.1):
    """The notes before a question, as `prompts::Answer` puts them."""
    notes = [(prepare(line) + "\n", of_lines) for line in lines]
    return [(prepare(OPEN) + "\n", 0.0), *notes, (prepare(CLOSE) + "\n", 0.0)]


def branching(task, lines, turns, golds=(), facts=(), marks=()):
    """A sample whose turns all follow the same beginning and don't see each other: as many questions about
    the same notes, each as the program would ask it. Returns (trunk, branches, hints); hints tell the training
    what the text does not. `golds`: for each turn (line that answers it, number of its relation or None, whom it asks
    about or None) or None; `facts`: (line, relation, value, whom it is about); `marks`: for each turn (end of a line in the person's words, relation)."""
    trunk = [(f"{SYSTEM}{prepare(SENTENCES[task])}{END}", 0.0)]
    if lines:
        trunk += [(USER, 0.0), *block(lines)]
    golds = [gold and (gold[0] + 3, gold[1], turn[1], gold[2]) for gold, turn in zip(golds, turns)]
    hints = golds, [(line + 3, *fact) for line, *fact in facts], {i + 1: mark for i, mark in enumerate(marks)}
    return trunk, [turn(*t, open_turn=not lines) for t in turns], hints


def conversation(task, turns):
    """A sample whose turns follow one another; each is (notes, user, assistant)."""
    trunk = [(f"{SYSTEM}{prepare(SENTENCES[task])}{END}", 0.0)]
    for lines, user, assistant in turns:
        if lines:
            trunk += [(USER, 0.0), *block(lines)]
        trunk += turn(user, assistant, open_turn=not lines)
    return trunk, [], NO_HINTS


def plain(text, weight=0.5):
    """Running text without any turn."""
    return [(prepare(text), weight)], [], NO_HINTS
