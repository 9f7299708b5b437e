"""The relations, by domain. Every module has a list `RELATIONS`."""

import importlib
import json
import pkgutil
from pathlib import Path

MORE = Path(__file__).parent / "more"  # wordings written later, without sight of those kept apart; for training only


def load():
    """All relations of all domains, names unique."""
    found = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        for relation in importlib.import_module(f"{__name__}.{module}").RELATIONS:
            if relation.name in found:
                raise ValueError(f"relation {relation.name} stands twice")
            found[relation.name] = relation
    relations = sorted(found.values(), key=lambda relation: relation.name)
    for number, relation in enumerate(relations):
        relation.number = number
    return relations


def add_more(relations):
    """Adds the wordings that were written later; what measures goes without them."""
    found = {relation.name: relation for relation in relations}
    for path in sorted(MORE.glob("*.json")):
        for name, wordings in json.loads(path.read_text()).items():
            found[name].add(wordings)
