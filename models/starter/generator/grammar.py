"""The template language: `(a|b|)` picks one alternative at random, `{slot}` is filled.

A template is parsed once and kept; filling costs some microseconds.
"""

import re
from functools import lru_cache

_TOKEN = re.compile(r"\{[^{}]+\}|[()|]|[^{}()|]+")


@lru_cache(maxsize=None)
def parse(template):
    """Nested: a sequence is a tuple of str, ('slot', name) and ('choice', (sequence, ...))."""
    tokens = _TOKEN.findall(template)
    position = 0

    def sequence(depth):
        nonlocal position
        parts = []
        while position < len(tokens):
            token = tokens[position]
            if token in ("|", ")") and depth:
                break
            position += 1
            if token == "(":
                parts.append(choice(depth + 1))
            elif token[0] == "{":
                parts.append(("slot", token[1:-1]))
            else:
                parts.append(token)
        return tuple(parts)

    def choice(depth):
        nonlocal position
        options = [sequence(depth)]
        while position < len(tokens) and tokens[position] == "|":
            position += 1
            options.append(sequence(depth))
        if position >= len(tokens):
            raise ValueError(f"a parenthesis is not closed: {template}")
        position += 1
        return ("choice", tuple(options))

    return sequence(0)


def _fill(parts, rng, slots, out):
    for part in parts:
        if isinstance(part, str):
            out.append(part)
        elif part[0] == "slot":
            value = slots[part[1]]
            out.append(value if isinstance(value, str) else value())
        else:
            _fill(part[1][int(rng.random() * len(part[1]))], rng, slots, out)


_SPACES = re.compile(r"\s+")
_BEFORE = re.compile(r" +([,.;:?!])")
_STOP = re.compile(r"([.?!])[.]+$")


def fill(template, rng, slots):
    """One sentence of the template; KeyError names a slot that nobody fills."""
    out = []
    _fill(parse(template), rng, slots, out)
    text = _SPACES.sub(" ", "".join(out)).strip()
    text = _BEFORE.sub(r"\1", text)
    text = _STOP.sub(r"\1", text)
    return text[:1].upper() + text[1:]
