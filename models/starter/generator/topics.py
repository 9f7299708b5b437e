"""Topics for boundary detection: pairs that may follow one another in any order, and openers.

Each topic is {name, turns, openers, unseen_turns, unseen_openers}; turns are [user, assistant] templates
in the `(a|b)` language of grammar.py with the fillers {N} {P} {W}.
"""

import json
from pathlib import Path

HERE = Path(__file__).parent
MORE = HERE / "topics_more.json"  # written later, without sight of those kept apart; for training only
TOPICS = json.loads((HERE / "topics.json").read_text())


def add_more():
    """Adds the turns and openers that were written later; what measures goes without them."""
    more = json.loads(MORE.read_text())
    for topic in TOPICS:
        topic["more_turns"], topic["more_openers"] = more[topic["name"]]["turns"], more[topic["name"]]["openers"]


def pool(rng, topic, kind, unseen=False):
    """The `kind` ("turns" or "openers") of a topic to draw from: in training half the time those written later."""
    if unseen:
        return topic["unseen_" + kind]
    return topic["more_" + kind] if topic["more_" + kind] and rng.random() < 0.5 else topic[kind]
