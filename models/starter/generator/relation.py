"""What one relation ("works at", "favourite drink") brings: its wordings, kept apart for measuring."""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent


def plain(template):
    return "".join(c for c in template.lower() if c.isalnum() or c in "{}")


@dataclass
class Relation:
    name: str
    topic: str
    theme: list
    subject: str  # person | user | pet | thing
    value: object  # a kind of lexicon.py, or a list of literals
    single: bool  # a new value replaces the old one
    facts: list
    facts_unseen: list
    questions: list
    questions_unseen: list
    questions_me: list
    questions_me_unseen: list
    says: list
    says_unseen: list
    facts_short: list
    updates: list = field(default_factory=list)

    def __post_init__(self):
        """Keeps about one wording in six apart, drawn by its own hash: neither the easy nor the odd ones
        are chosen by hand (`facts` and `facts_unseen` only say in which order they were written)."""
        self.split = {}
        for what in ("facts", "questions", "questions_me", "says"):
            every = list(dict.fromkeys(getattr(self, what) + getattr(self, what + "_unseen")))
            ranked = sorted(every, key=lambda t: hashlib.sha256(t.encode()).digest())
            apart = set(ranked[: max(2, round(len(ranked) / 6))])
            self.split[what] = {"seen": [t for t in every if t not in apart], "unseen": [t for t in every if t in apart]}

    def add(self, more):
        """More wordings to train on: none of them is kept apart, and none that is kept apart comes in by them."""
        for what, every in more.items():
            split = self.split[what]
            known = {plain(t) for t in split["seen"] + split["unseen"]}
            split["seen"] = split["seen"] + [t for t in every if plain(t) not in known]

    def wordings(self, what, phrasing):
        """`what`: facts, questions, questions_me or says; `phrasing`: seen or unseen."""
        return self.split[what][phrasing]


def load():
    """All relations, by name."""
    return [Relation(**row) for row in json.loads((HERE / "relations.json").read_text())]


def add_more(relations):
    """Adds the wordings that were written later; what measures goes without them."""
    found = {relation.name: relation for relation in relations}
    for path in sorted((HERE / "more").glob("*.json")):
        for name, wordings in json.loads(path.read_text()).items():
            found[name].add(wordings)
