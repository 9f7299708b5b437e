"""The relations, by domain. Every module has a list `RELATIONS`."""

import importlib
import pkgutil


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
