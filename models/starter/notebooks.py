"""Notebooks that were written for this project: what somebody told the assistant, and what they ask later.

    python notebooks.py [FILE...]     says what is wrong in them, and what they hold

A notebook is JSON: `messages` ({date, text}, in order), `questions` ({q, from: [places of the messages that answer]}),
most of them in other words than the message's, and `absent` ({q}): questions that no message answers.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "notebooks"
# Never trained on. What recall takes a score for was fitted on the first four; tests/notebooks.rs asks the others' questions.
HELD_OUT = ("n09", "n10", "n11", "n12", "n03", "n04", "n19", "n20", "n21")


@dataclass
class Notebook:
    """Messages as the reranker reads them, and (question, places of the messages that answer; none if it is absent)."""

    messages: list[str]
    questions: list[tuple[str, list[int]]]


def load(path):
    raw = json.loads(path.read_text())
    asked = [(item["q"], item["from"]) for item in raw["questions"]]
    return Notebook(["The user: " + m["text"] for m in raw["messages"]], asked + [(item["q"], []) for item in raw["absent"]])


def training():
    return [path for path in sorted(FOLDER.glob("*.json")) if path.stem not in HELD_OUT]


def faults(path):
    """What is wrong in a file."""
    raw = json.loads(path.read_text())
    days = [m["date"] for m in raw["messages"]]
    if days != sorted(days):
        yield "the messages are not in the order of their dates"
    asked = [item["q"] for item in raw["questions"] + raw["absent"]]
    yield from (f"asked twice: {q}" for q in sorted(set(asked)) if asked.count(q) > 1)
    for item in raw["questions"]:
        if not item["from"] or not all(0 <= i < len(days) for i in item["from"]):
            yield f"no such message: {item}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    files = parser.parse_args().files or sorted(FOLDER.glob("*.json"))
    n_messages = n_answered = n_absent = n_faults = 0
    for path in files:
        for fault in faults(path):
            n_faults += 1
            print(f"{path.name}: {fault}")
        notebook = load(path)
        n_messages += len(notebook.messages)
        n_answered += sum(bool(places) for _, places in notebook.questions)
        n_absent += sum(not places for _, places in notebook.questions)
    print(f"{len(files)} notebooks, {n_messages} messages, {n_answered} questions, {n_absent} without an answer, {n_faults} faults")
    raise SystemExit(n_faults > 0)


if __name__ == "__main__":
    main()
