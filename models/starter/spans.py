"""Questions, texts, and where in the text the answer stands: rows for the encoder's head `span`.

    python spans.py --squadshifts DIR --qamr DIR --out spans.jsonl

A row is {"q": question, "t": text, "a": …, "b": …, "s": source}: the answer is t[a:b], or there is none (-1). Written for this project:
histories/ and chats/, talk/reading*.txt, talk/near*.txt (questions that a text nearly answers), notebooks/, corrections/ (what was told before
answers as before, what changed it answers anew); all of these again in the middle of longer messages. Open
texts, in windows of whole sentences: SQuADShifts' Amazon, Reddit and Wikipedia questions (arXiv 2004.14444, CC BY 4.0;
modestyachts/squadshifts-website, datasets/*_v1.0.json) and QAMR's (arXiv 1711.05885, MIT; uwnlp/qamr, data/filtered/{dev,test}.tsv and
data/wiki-sentences.tsv). What does not answer are other sentences, lines that share words with the question, and messages of others.
"""

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from pathlib import Path

import memory_tasks
import notebooks

WORDS_MAX = 70  # of a window
# Rows with and without an answer, of each source.
KEPT = {"amazon_reviews": (7500, 1200), "reddit": (7500, 1200), "new_wiki": (3500, 700), "qamr": (3500, 400), "history": (10**6, 9000),
        "reading": (10**6, 6500), "notebook": (0, 2500), "correction": (14000, 7500), "near": (10**6, 10**6),
        "longer": (8000, 6500)}
HERE = Path(__file__).parent
# Says nothing of what an answer is about.
STOP = set("""a an the of to in on at is are was were it he she they i you his her their my your and or for with by from that this
    be been as s""".split())
LEADING = r"^(the|a|an|in|on|at|to|his|her|their|about|for|by|with|from|because|yes, |no, )\s+"
SENTENCE_END = re.compile(r'(?<=[.!?])["”)]?\s+(?=[A-Z"“0-9(])|\n+')


def row(question, text, place, source):
    first, last = place or (-1, -1)
    return {"q": question, "t": text, "a": first, "b": last, "s": source}


def content(text):
    return {word for word in re.findall(r"\w+", text.lower()) if word not in STOP}


def locate(text, answer):
    """Where a text says the answer: as it stands, or else the fewest words among which all of its own stand."""
    answer = answer.strip().rstrip(".").strip()
    for form in (answer, re.sub(LEADING, "", answer, flags=re.I)):
        found = form and re.search(r"(?<!\w)" + re.escape(form) + r"(?!\w)", text, re.I)
        if found:
            return found.span()
    wanted = {word[:5] if len(word) > 5 else word for word in content(answer)}
    if not 0 < len(wanted) <= 8:
        return None
    words = [(m[0].lower(), *m.span()) for m in re.finditer(r"\w+", text)]
    best = None
    for i in range(len(words)):
        have = set()
        for j in range(i, min(len(words), i + 2 * len(wanted) + 4)):
            have.add(words[j][0][:5] if len(words[j][0]) > 5 else words[j][0])
            if wanted <= have:
                if best is None or j - i < best[0]:
                    best = (j - i, words[i][1], words[j][2])
                break
    return best and best[1:]


# ------------------------------------------------------------------------------------------- open texts


def sentences(text):
    ends = [(m.start(), m.end()) for m in SENTENCE_END.finditer(text)]
    starts = [0, *(end for _, end in ends)]
    return [(a, b) for a, b in zip(starts, [*(start for start, _ in ends), len(text)]) if b > a]


def window(rng, text, first, last):
    """Some of the sentences around [first, last), and where those bytes are in them; None if they are too long."""
    parts = sentences(text)
    i = next(k for k, (_, end) in enumerate(parts) if first < end)
    j = max(i, next((k for k, (_, end) in enumerate(parts) if last <= end), len(parts) - 1))
    length = lambda i, j: len(text[parts[i][0]: parts[j][1]].split())
    wanted = rng.choice((10, 20, 30, 45, 60, WORDS_MAX))
    if length(i, j) > WORDS_MAX:
        return None
    while length(i, j) < wanted:
        wider = [(i - 1, j)] * (i > 0) + [(i, j + 1)] * (j < len(parts) - 1)
        wider = [ends for ends in wider if length(*ends) <= WORDS_MAX]
        if not wider:
            break
        i, j = rng.choice(wider)
    start = parts[i][0]
    return text[start: parts[j][1]], (first - start, last - start)


def squadshifts(rng, folder):
    for name in ("amazon_reviews", "reddit", "new_wiki"):
        paragraphs = [p for article in json.loads((folder / f"{name}_v1.0.json").read_text())["data"] for p in article["paragraphs"]]
        for paragraph in paragraphs:
            text = paragraph["context"]
            for asked in paragraph["qas"]:
                said = [answer["text"] for answer in asked["answers"]]
                # The one that most annotators gave, and of those the shortest.
                answer = max(asked["answers"], key=lambda a: (said.count(a["text"]), -len(a["text"])))
                found = window(rng, text, answer["answer_start"], answer["answer_start"] + len(answer["text"]))
                if not found:
                    continue
                yield row(asked["question"], *found, name)
                tells = lambda part: any(answer.lower() in part.lower() for answer in said)
                others = [a for a, b in sentences(text) if text[a:b] not in found[0] and not tells(text[a:b])]
                other = window(rng, text, (start := rng.choice(others)), start + 1) if others and rng.random() < 0.35 else None
                if other and not tells(other[0]):
                    yield row(asked["question"], other[0], None, name)


def qamr(rng, folder):
    """At most eight questions about each sentence, whose words are put together again."""
    brackets = {"-LRB-": "(", "-RRB-": ")", "``": '"', "''": '"'}
    told = {}
    for line in (folder / "wiki-sentences.tsv").read_text().splitlines():
        name, words = line.split("\t")[:2]
        text, places = "", []
        for word in (brackets.get(word, word) for word in words.split(" ")):
            if text and not re.match(r"^([.,;:!?)%]|'s|n't|'re|'ve|'ll)$", word) and not text.endswith("("):
                text += " "
            places.append((len(text), len(text) + len(word)))
            text += word
        told[name] = text, places
    rows = [line.split("\t") for part in ("dev", "test") for line in (folder / f"{part}.tsv").read_text().splitlines()]
    rng.shuffle(rows)
    asked = Counter()
    for fields in rows:
        answers = [sorted(map(int, field.split(":")[-1].split())) for field in fields[6:9] if field.split(":")[-1].strip()]
        if fields[0] not in told or not answers:
            continue
        text, places = told[fields[0]]
        words = min(answers, key=len)
        if words != list(range(words[0], words[-1] + 1)) or len(text.split()) > WORDS_MAX or asked[fields[0]] == 8:
            continue
        asked[fields[0]] += 1
        yield row(fields[5], text, (places[words[0]][0], places[words[-1]][1]), "qamr")
        other = rng.choice(rows)[0]
        if other != fields[0] and other in told and rng.random() < 0.12:
            yield row(fields[5], told[other][0], None, "qamr")


# ---------------------------------------------------------------------------------------------- our own


def from_histories(rng):
    for h in memory_tasks.all_histories(False):
        for asked in h.questions:
            tells = [h.lines[m] for m in asked.evidence] + [f for f in h.facts if set(f.messages) & asked.evidence]
            for unit in tells:
                for text in {unit.text, unit.text.partition(": ")[2]} if unit in h.lines else [unit.text]:
                    if len(text.split()) <= 80 and (place := locate(text, asked.answer)):
                        yield row(asked.text, text, place, "history")
            others = [u for u in (*h.lines, *h.facts) if not set(u.messages) & asked.evidence]
            rng.shuffle(others)
            others.sort(key=lambda u: -len(content(u.text) & content(asked.text)))
            for unit in [*others[:2], *rng.sample(others, 1)]:
                text = unit.text.partition(": ")[2] if unit in h.lines and rng.random() < 0.5 else unit.text
                if len(text.split()) <= 80 and not locate(text, asked.answer):
                    yield row(asked.text, text, None, "history")


def from_reading(rng):
    for told in memory_tasks.all_reading():
        notes = [re.sub(r"^[Tt]he user: ", "", text) for _, text in told["N"]]
        for question, answer in told["QA"]:
            nearest = sorted(notes, key=lambda note: -len(content(note) & content(question)))
            if "haven't told" in answer or "not told" in answer:
                yield from (row(question, note, None, "reading") for note in nearest[:3])
                continue
            found = [(note, place) for note in nearest if (place := locate(note, answer))]
            if found:
                yield row(question, *found[0], "reading")
                others = [note for note in nearest if not locate(note, answer)]
                yield from (row(question, note, None, "reading") for note in [*others[:2], *rng.sample(others, min(1, len(others)))])


def near():
    """Of talk/near*.txt: a text, and ("+", question | its words in the text) or ("-", question that it does not answer)."""
    for path in sorted((HERE / "talk").glob("near*.txt")):
        for item in path.read_text().split("\n\n"):
            (_, text), *asked = [(line[0], line[2:].strip()) for line in item.splitlines() if line.strip()]
            yield text, asked


def from_near(rng):
    items = list(near())
    texts = [text for text, _ in items]
    for text, questions in items:
        for kind, asked in questions:
            question, _, answer = asked.partition(" | ")
            yield row(question, text, locate(text, answer) if kind == "+" else None, "near")
            if kind == "+" and (other := rng.choice(texts)) != text:
                yield row(question, other, None, "near")


def from_notebooks(rng):
    for path in notebooks.training():
        notebook = notebooks.load(path)
        said = [message.removeprefix("The user: ") for message in notebook.messages]
        for question, places in notebook.questions:
            others = [text for i, text in enumerate(said) if i not in places]
            others.sort(key=lambda text: -len(content(text) & content(question)))
            yield from (row(question, text, None, "notebook") for text in [*others[:2], *rng.sample(others, 1)])


def from_corrections(rng):
    scenarios = memory_tasks.all_scenarios()
    for said in scenarios:
        if not said["answers"] or not said["B"]:
            continue
        asked = [(kind, q, said["answers"].get(f"{kind}{k}")) for kind in "QP" for k, q in enumerate(said[kind], 1)]
        for kind, question, answers in asked:
            if not answers or re.match(r"(yes|no)\b", answers[0], re.I):
                continue
            before, after = answers[0], answers[1].split(" / ") if len(answers) > 1 else []
            for text in (*said["B"], *said["L"], *said["K"]):
                if place := locate(text, before):
                    yield row(question, text, place, "correction")
            for i, text in enumerate(said["C"] if kind == "Q" and after else ()):
                if place := locate(text, after[i] if len(after) == len(said["C"]) else after[0]):
                    yield row(question, text, place, "correction")
            near = said["N"] if kind == "Q" else said["C"]
            other = rng.choice(rng.choice(scenarios)["B"] or ["I am tired today."])
            for text in [*said["M"], *rng.sample(near, min(1, len(near))), other]:
                if not any(locate(text, answer) for answer in (before, *after)):
                    yield row(question, text, None, "correction")


# Says nothing, at length.
FILLER = [line.strip() for line in """Nothing else was said on that day.|Not much happened otherwise.|It rained and rained.|We talked of this and that.|ok anyway.|so yeah.
    |I had a coffee and looked out of the window for a while.|The bus was full again.|nothing new here really|Lunch was soup.|That was all for today.
    |I was tired and went to bed.|He talked and talked.|blah blah you know how it goes|We laughed a lot.|Nobody said much.|then we went home
    |There was a lot of traffic.""".split("|")]


def in_longer(rng, rows, texts=None):
    """The same questions, with other things told before and after what is read."""
    texts = sorted(text for text in (texts or {row["t"] for row in rows}) if len(text) < 170)
    for told in rows:
        answer = told["t"][told["a"]: told["b"]].lower() if told["a"] >= 0 else "\n"
        others = rng.sample(FILLER, 3) if rng.random() < 0.2 else rng.sample(texts, 8)
        others = [text for text in others if text != told["t"] and answer not in text.lower()]
        wanted, before, after = rng.choice((140, 190, 240, 290, 330)), "", ""
        for _ in range(6):
            length = len(before) + len(told["t"]) + len(after)
            other = rng.choice(others or FILLER)
            if length >= wanted or length + len(other) > 360:
                continue
            if rng.random() < 0.6:
                before += other + rng.choice((" ", " ", ". ", "\n"))
            else:
                after += rng.choice((" ", " ", ". ", "\n")) + other
        if len(told["t"]) < 220 and before + after:
            place = (told["a"] + len(before), told["b"] + len(before)) if told["a"] >= 0 else None
            yield row(told["q"], before + told["t"] + after, place, "longer")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--squadshifts", type=Path, required=True)
    parser.add_argument("--qamr", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    rng = random.Random(5)
    of = defaultdict(list)
    open_texts = squadshifts(rng, args.squadshifts), qamr(rng, args.qamr)
    for rows in (*open_texts, from_histories(rng), from_reading(rng), from_near(rng), from_notebooks(rng), from_corrections(rng)):
        for found in rows:
            of[found["s"], found["a"] < 0].append(found)
    own = [x for (name, _), rows in sorted(of.items()) if name in ("history", "reading", "near", "correction") for x in rows]
    for found in in_longer(rng, own):
        of[found["s"], found["a"] < 0].append(found)
    chosen = [x for (name, none), rows in sorted(of.items()) for x in rng.sample(rows, min(len(rows), KEPT[name][none]))]
    rng.shuffle(chosen)
    args.out.write_text("".join(json.dumps(x) + "\n" for x in chosen))
    print(f"{len(chosen)} rows, {sum(x['a'] < 0 for x in chosen)} without an answer: {dict(Counter(x['s'] for x in chosen))}")


if __name__ == "__main__":
    main()
