"""What the model sees, and when: the shares of the tasks over the training time."""

import json
import os
import random
import re
from functools import lru_cache

from . import answer, lexicon, relations, render, tasks, topics

RECAST = os.environ.get("STARTER_RECAST")  # the file that recast.py writes; without it: generated tasks only
relations.add_more(answer.RELATIONS)
topics.add_more()
# Until these shares of the training time: copying, reading one to five lines, mostly reading of up to
# ten lines; then everything; then more of what learns last.
COPYING, SHORT, READING, LAST = 0.02, 0.04, 0.45, 0.86


def answer_sample(rng, n_lines=None, n_questions=None, held=False, phrasing="seen", absent=0.05):
    if n_lines is None:
        n_lines = rng.choice((2, 3, 4, 5, 6, 8, 8, 10, 10, 10, 12)) if rng.random() < 0.95 else rng.randrange(13, 28)
    n_questions = n_questions or next(n_lines + more for least, more in ((10, -2), (7, 0), (4, 1), (0, 2)) if n_lines >= least)
    context = answer.Context(rng, n_lines, held, phrasing)
    lines = context.lines()
    asked = context.questions(n_questions, absent)
    place = {id(f): next(i for i, text in enumerate(lines) if f.text in text) for f in context.facts}
    golds = [fact and (place[id(fact)], fact.relation.number, mention(fact.who, question)) for question, _, fact in asked]
    facts = [(place[id(f)], f.relation.number, f.value, f.who.in_facts) for f in context.facts]
    return render.branching("answer", lines, [(q, a) for q, a, _ in asked], golds, facts)


def mention(who, question):
    """How a question names the one it is about; None where it takes a second step to know."""
    if who.me:
        found = re.search(r"\b(I|my|me|mine)\b", question, re.I)
        return found and found.group()
    return who.in_questions if who.in_questions.lower() in question.lower() else None


def lookup_sample(rng):
    """`word: value` lines and questions that name the key: teaches copying."""
    n = rng.randrange(2, 9)
    keys, lines, turns = set(), [], []
    while len(lines) < n:
        key = lexicon.invent(rng) if rng.random() < 0.6 else rng.choice(lexicon.ITEMS)
        if key in keys:
            continue
        keys.add(key)
        value = lexicon.value(rng.choice(("city", "fullname", "company", "code", "food", "word", "thing", "place", "book")), rng)
        middle = rng.choice((":", " is", " =", " belongs to", " goes with", " ->"))
        lines.append(f"{key}{middle} {value}")
        turns.append((rng.choice((f"{key}?", f"What goes with {key}?", f"Tell me {key}.", key)), value))
    order = rng.sample(range(n), n)
    return render.branching("answer", lines, [turns[i] for i in order], [(i, None, None) for i in order])


def repeat_sample(rng):
    """A row of invented words, twice or three times over: what copying is learnt from first."""
    row = " ".join(rng.choice((lexicon.invent(rng), lexicon.invent(rng).capitalize(), rng.choice(lexicon.ITEMS), lexicon.person_name(rng)[0])) for _ in range(rng.randrange(3, 20)))
    return [(" " + row + ".", 0.05)] + [(" " + row + ".", 1.0)] * rng.randrange(1, 3), [], render.NO_HINTS


@lru_cache(maxsize=1)
def recast():
    rows = {}
    if RECAST:
        for line in open(RECAST):
            row = json.loads(line)
            rows.setdefault(row["task"], []).append(row)
    return rows


def real_reading(rng):
    row = rng.choice(recast()["cloze" if rng.random() < 0.2 else "answer"])
    lines = row["lines"]
    if rng.random() < 0.6:
        start = lexicon.random_date(rng, 2018, 2026)
        days = [start] + [lexicon.random_date(rng, 2018, 2026) for _ in lines[1:]] if rng.random() < 0.5 else [start] * len(lines)
        lines = [answer.memory_line(day, text) for day, text in zip(days, lines)]
    golds = [(t[2], None, None) for t in row["turns"]]
    return render.branching("answer", lines, [(t[0], t[1]) for t in row["turns"]], golds)


def several(task, make, n):
    return lambda rng: render.branching(task, [], [make(rng)[:2] for _ in range(n)])


def ends(text, numbers):
    """(end of the line in the prepared text, number) of the lines that have one."""
    prepared, at, marks = render.prepare(text), -1, []
    for number in numbers:
        at = prepared.find("\n", at + 1) if "\n" in prepared[at + 1 :] else len(prepared)
        if number is not None:
            marks.append((at, number))
    return marks


MORE_YES = 0.2  # share of the "no" that are drawn again: left alone, it leans to "no"


def boundary_sample(rng):
    turns, marks = [], []
    for _ in range(5):
        if "boundary" in recast() and rng.random() < 0.3:
            row = rng.choice(recast()["boundary"])
            turns.append((render.boundary(row["history"], row["next"]), row["answer"]))
            marks.append([])
        else:
            text, label, numbers = tasks.boundary(rng)
            if label == "no" and rng.random() < MORE_YES:
                text, label, numbers = tasks.boundary(rng)
            turns.append((text, label))
            marks.append(ends(text, numbers))
    return render.branching("boundary", [], turns, marks=marks)


def numbered(task, make, n):
    """n turns, each with the numbers of its lines' relations."""

    def sample(rng):
        made = [make(rng) for _ in range(n)]
        marks = [ends(text, numbers if isinstance(numbers, (list, tuple)) else [numbers]) for text, _, numbers in made]
        return render.branching(task, [], [(text, answer) for text, answer, _ in made], marks=marks)

    return sample


def chat_sample(rng):
    if "chat" in recast() and rng.random() < 0.06:
        return render.conversation("chat", [([], *turn) for turn in rng.choice(recast()["chat"])["turns"]])
    return render.conversation("chat", tasks.chat(rng))


TASKS = [  # (share of the samples, what makes one)
    (0.46, answer_sample),
    (0.10, lambda rng: real_reading(rng) if RECAST else answer_sample(rng)),
    (0.06, numbered("router", tasks.router, 8)),
    (0.17, boundary_sample),
    (0.065, numbered("conflict", tasks.conflict, 8)),
    (0.04, several("extraction", tasks.extraction, 4)),
    (0.06, chat_sample),
    (0.012, several("episode", tasks.episode, 2)),
    (0.01, several("theme", tasks.theme, 3)),
    (0.008, several("merge", tasks.merge, 3)),
    (0.015, lambda rng: render.plain(rng.choice(recast()["text"])["text"]) if RECAST else lookup_sample(rng)),
]


# Towards the end: small talk, which has few tokens, and boundaries, which are learnt last, weigh more.
TASKS_LAST = [
    (0.40, answer_sample),
    (0.05, lambda rng: real_reading(rng) if RECAST else answer_sample(rng)),
    (0.03, numbered("router", tasks.router, 8)),
    (0.17, boundary_sample),
    (0.04, numbered("conflict", tasks.conflict, 8)),
    (0.04, several("extraction", tasks.extraction, 4)),
    (0.16, several("chat", tasks.small_talk, 12)),
    (0.06, chat_sample),
    (0.02, several("episode", tasks.episode, 2)),
    (0.01, several("theme", tasks.theme, 3)),
    (0.02, several("merge", tasks.merge, 3)),
]


def sample(rng, progress):
    """One sample at this share of the training time."""
    draw = rng.random()
    if progress < COPYING:
        return repeat_sample(rng) if draw < 0.6 else lookup_sample(rng) if draw < 0.85 else answer_sample(rng, rng.randrange(1, 5))
    if progress < SHORT:
        return lookup_sample(rng) if draw < 0.2 else answer_sample(rng, rng.randrange(1, 6))
    if draw > 0.96:
        return lookup_sample(rng) if draw > 0.98 else repeat_sample(rng)
    if progress < READING and draw < 0.72:
        return answer_sample(rng, rng.choice((2, 3, 3, 4, 4, 5, 6, 8, 10)), absent=0.015)
    of = TASKS if progress < LAST else TASKS_LAST
    return rng.choices([make for _, make in of], [share for share, _ in of])[0](rng)


@lru_cache(maxsize=4)
def probes(n=200):
    """Held-out names and values; reading with one question at ten lines, as the program asks."""
    out = {}
    for phrasing in ("seen", "unseen"):
        rng = random.Random(99)
        out[phrasing] = [answer_sample(rng, 10, 1, True, phrasing, 0.0) for _ in range(n)]
    for task in ("router", "boundary", "conflict", "extraction"):
        rng = random.Random(99)
        make = getattr(tasks, task)
        out[task] = [render.branching(task, [], [make(rng, "unseen", True)[:2]]) for _ in range(n)]
    return out
