"""Prompts as the program writes them, from the same files (`assets/prompts`), so that the two can't drift apart: a sentence
changed there changes the training data, and a test of `src/prompts` fails until the model is trained on it."""

import re
from pathlib import Path

PROMPTS = Path(__file__).resolve().parents[3] / "assets" / "prompts"
TASKS = ("answer", "router", "boundary", "episode", "conflict", "merge", "theme")


def section(name, part):
    """A section of a prompt file, without its templating."""
    text = (PROMPTS / f"{name}.txt").read_text()
    found = re.search(rf"^=== {part}\n(.*?)(?=^=== |\Z)", text, re.S | re.M)
    return found.group(1).strip()


SENTENCES = {task: section(task, "system") for task in TASKS}
OPEN = section("answer", "open")
CLOSE = section("answer", "close").replace("{{ question }}", "").strip()


def boundary(history, new):
    """The person's side of a prompt, as `src/prompts` fills it; so the next ones."""
    return "\n".join([*history, f"New: {new}"])


def conflict(earlier, later):
    return f"Old: {earlier}\nNew: {later}"


def dated(day, lines):
    return "\n".join([f"Date: {day}", *lines])
