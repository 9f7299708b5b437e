"""Writes `evaluation.jsonl`: what `inglenook-eval starter` asks. 500 items a task (and phrasing).

    python make_evaluation.py --out evaluation.jsonl

Every name and value is from the held-out part (`generator/lexicon.py`); `phrasing` says whether the wordings
were seen in training or kept apart. Closed kinds (months, weekdays, small numbers) are the exception: they
have too few values to keep any apart. The seed is fixed, so the file is the same each time.
"""

import argparse
import json
import random

from generator import lexicon, tasks
from generator.answer import Context

INVENTED = {"fullname", "company", "code", "word", "place", "book", "film", "song", "street", "school", "petname", "firstname", "city"}


def reading(rng, phrasing, n_lines, absent=False, only=None):
    """Memory lines and one question; the asked fact's line is the evidence."""
    while True:
        context = Context(rng, n_lines, held=True, phrasing=phrasing)
        asked = context.questions(1 if not absent else 12, absent=0.5 if absent else 0.0)
        asked = [a for a in asked if (a[2] is None) == absent]
        if only:
            asked = [a for a in context.questions(8, absent=0.0) if isinstance(a[2].relation.value, str) and a[2].relation.value in only]
        if len(context.facts) + len(context.extra) != n_lines or not asked:
            continue
        question, value, fact = asked[0]
        rows = []
        for line in context.lines():
            date, text = line[1:].split("] ", 1)
            day, month, year = date.split()
            iso = f"{int(year):04}-{lexicon.MONTHS.index(month) + 1:02}-{int(day):02}"
            rows.append({"date": iso, "text": text})
        item = {"memories": rows, "question": question}
        if not absent:
            if fact.relation.value == "date" and value not in fact.text:
                continue
            item["answer"] = value
            item["accept"] = [value]
            item["evidence"] = next(i for i, r in enumerate(rows) if r["text"] == fact.text)
        return item


def items(n):
    for phrasing in ("seen", "unseen"):
        rng = random.Random(f"answer {phrasing}")
        for _ in range(n):
            yield {"task": "answer", "phrasing": phrasing, **reading(rng, phrasing, 10)}
    rng = random.Random("absent")
    for i in range(n):
        phrasing = ("seen", "unseen")[i % 2]
        yield {"task": "absent", "phrasing": phrasing, **reading(rng, phrasing, 10, absent=True)}
    rng = random.Random("copy")
    for _ in range(n):
        yield {"task": "copy", "phrasing": "seen", **reading(rng, "seen", 5, only=INVENTED)}
    for phrasing in ("seen", "unseen"):
        rng = random.Random(f"tasks {phrasing}")
        for _ in range(n):
            text, label, _ = tasks.router(rng, phrasing, True)
            yield {"task": "router", "phrasing": phrasing, "text": text, "answer": label}
        for _ in range(n):
            text, label, _ = tasks.boundary(rng, phrasing, True)
            *history, new = text.split("\n")
            yield {"task": "boundary", "phrasing": phrasing, "history": history, "next": new.removeprefix("New: "), "answer": label}
        for _ in range(n):
            text, label, _ = tasks.conflict(rng, phrasing, True)
            old, new = text.split("\n")
            yield {"task": "conflict", "phrasing": phrasing, "earlier": old.removeprefix("Old: "), "later": new.removeprefix("New: "), "answer": label}
        for _ in range(n):
            _, facts, day, speaker, message = tasks.extraction(rng, phrasing, True)
            yield {"task": "extraction", "phrasing": phrasing, "date": day.isoformat(), "speaker": speaker, "text": message,
                   "answer": [] if facts == "NONE" else facts.split("\n")}
    rng = random.Random("writing")
    for _ in range(n):
        _, written, day, lines = tasks.episode(rng, "unseen", True)
        title, story = written.split("\n", 1)
        yield {"task": "episode", "phrasing": "unseen", "date": day.isoformat(), "lines": lines, "title": title.removeprefix("Title: "), "story": story}
    for _ in range(n):
        facts, name, names = tasks.theme(rng, "unseen", True)
        yield {"task": "theme", "phrasing": "unseen", "facts": facts.split("\n"), "answer": name, "accept": names}
    for _ in range(n):
        facts, sentence = tasks.merge(rng, "unseen", True)
        one, two = facts.split("\n")
        yield {"task": "merge", "phrasing": "unseen", "earlier": one, "later": two, "answer": sentence}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--items", type=int, default=500)
    args = parser.parse_args()
    with open(args.out, "w") as out:
        for item in items(args.items):
            out.write(json.dumps(item, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
