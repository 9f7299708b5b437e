"""Samples in the starter's chat template, with the system sentences of `assets/prompts`.

The program reads the same files (`src/prompts`), so the two can't drift apart: a sentence changed
there changes the training data, and `tests/starter.rs` fails until the model is trained on it.
"""

import re
from pathlib import Path

PROMPTS = Path(__file__).resolve().parents[3] / "assets" / "prompts"
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


def turn(user, assistant, weights=(0.3, 1.0)):
    """(text, loss weight) pieces of one turn: of what the person says, of what the model must say."""
    return [(USER, 0.0), (prepare(user), weights[0]), (f"{END}{ASSISTANT}", 0.0), (prepare(assistant) + END, weights[1])]


def branching(task, lines, turns, of_lines=0.1):
    """A sample whose turns all follow the same system turn and don't see each other: as many questions
    about the same memories, each as the program would ask it. (trunk, branches)"""
    trunk = [(f"{SYSTEM}{prepare(SENTENCES[task])}", 0.0)]
    trunk += [("\n" + prepare(line), of_lines) for line in lines]
    return trunk + [(END, 0.0)], [turn(*t) for t in turns]


def conversation(task, lines, turns, of_lines=0.1):
    """A sample whose turns follow one another."""
    trunk, branches = branching(task, lines, turns, of_lines)
    return trunk + [piece for branch in branches for piece in branch], []


def plain(text, weight=0.5):
    """Running text without any turn."""
    return [(prepare(text), weight)], []
