"""Scenarios of changed facts (corrections/*.txt) → rows for two heads of the encoder, which read an earlier line and a later message.

A block each, blocks apart by a blank line; a line is a letter, a blank, and text that somebody might type:

    @ kind of change
    B what was said before             L a fact in it that will change (third person)      K a fact in it that will not
    C a message that changes L (several, each in other words)        N a near miss that changes nothing
    M something else said before       Q a question whose answer changed       P a question whose answer stays

What people say otherwise changes hardly anything: later messages and facts of the histories and the notebooks, most of them those that share
words with the earlier one, are added as such.

Head `line` says whether the message changes the line (adds, changes, unrelated); head `answer` reads a question before the line and
says whether its answer is another now (changes, stays).
"""

import random
import re
from pathlib import Path

import histories
import notebooks

THIRD = [(r"\bi'?m\b", "the user is"), (r"\bi'?ve\b", "the user has"), (r"\bi'll\b", "the user will"), (r"\bi'd\b", "the user would"),
         (r"\bwe're\b", "the user and others are"), (r"\bwe've\b", "the user and others have"), (r"\bwe'll\b", "the user and others will"),
         (r"\bi (am|was|have|do|don'?t)\b", r"the user \1"), (r"\bam i\b", "is the user"), (r"\bi\b", "the user"), (r"\bmyself\b", "the user"),
         (r"\bmy\b", "the user's"), (r"\bmine\b", "the user's"), (r"\bme\b", "the user"), (r"\bwe\b", "the user and others"),
         (r"\bours?\b", "the user and others'"), (r"\bus\b", "the user and others")]
IRREGULAR = {"am": "is", "are": "is", "have": "has", "do": "does", "go": "goes", "don't": "doesn't"}
VERBS = set("""work live take play drive ride keep pay want like love hate think hope wish need know see get bank report train smoke drink eat run
    walk swim sing teach study write read use owe own rent wear prefer share volunteer bake practise sleep speak start call miss sell buy feel
    remember mean guess learn drop""".split())


def third(text):
    """As the program's rules would retell it, roughly."""
    text = text.replace("\u2019", "'")
    for pattern, to in THIRD:
        text = re.sub(pattern, to, text, flags=re.I)

    def inflected(match):
        subject, verb = match.groups()
        low = verb.lower()
        if low in VERBS:
            return subject + (low + "es" if re.search("(s|sh|ch|x)$", low) else low[:-1] + "ies" if re.search("[^aeiou]y$", low) else low + "s")
        return subject + IRREGULAR.get(low, verb)

    text = re.sub(r"\b(the user )([\w']+)", inflected, text, flags=re.I).strip()
    return (text[:1].upper() + text[1:]).rstrip(".!")


def either(rng, text):
    return rng.choice([text, third(text)])


def scenarios(folder):
    for path in sorted(Path(folder).glob("*.txt")):
        for block in re.split("^@ ", path.read_text(), flags=re.M)[1:]:
            said = {key: [] for key in "BLKCNMQP"}
            for line in filter(None, block.splitlines()[1:]):
                if line[:1] not in said or line[1:2] != " ":
                    raise SystemExit(f"{path}: {line!r} is of no kind")
                said[line[0]].append(line[2:].strip())
            yield path.stem, said


def line_rows(s, rng):
    for c in s["C"]:
        for form in (c, third(c)):
            yield from (("changes", line, form) for line in s["B"] + s["L"])
            yield from (("adds", line, form) for line in s["K"])
        yield from (("adds", line, either(rng, c)) for line in s["M"])
    for n in s["N"]:
        yield from (("adds", line, either(rng, n)) for line in s["B"] + s["L"] + s["K"][:1])
    # What is said after a correction does not take it back, and what is said again changes nothing.
    yield from (("adds", rng.choice(s["C"]), n) for n in s["N"][:2])
    yield from (("adds", line, said) for line, said in zip(s["L"], s["B"]))


def answer_rows(s, rng):
    for question in s["Q"]:
        for line in s["B"] + s["L"]:
            yield from (("changes", f"{question} || {line}", either(rng, c)) for c in s["C"])
            yield from (("stays", f"{question} || {line}", either(rng, n)) for n in s["N"])
        yield from (("stays", f"{question} || {rng.choice(s['C'])}", n) for n in s["N"][:1])
    for question in s["P"]:
        for line in s["B"] + s["K"] + s["M"]:
            yield from (("stays", f"{question} || {line}", either(rng, c)) for c in s["C"])
        yield from (("stays", f"{question} || {line}", n) for line in (s["K"] or s["B"])[:1] for n in s["N"][:1])


def rows(folder, head):
    """(writer, label, texts) of all scenarios; a seventh or so are of strangers, whose words have nothing to do with each other."""
    rng = random.Random(3)
    everything = list(scenarios(folder))
    for i, (writer, s) in enumerate(everything):
        made = list((line_rows if head == "line" else answer_rows)(s, rng))
        for _, other in rng.sample(everything, min(6, len(everything))):
            if other is not s:
                line, said = rng.choice(s["B"] + s["L"] + s["K"]), either(rng, rng.choice(other["C"] + other["N"][:1]))
                if head == "line":
                    made.append(("unrelated", line, said))
                elif s["Q"] or s["P"]:
                    made.append(("stays", f"{rng.choice(s['Q'] + s['P'])} || {line}", said))
        yield from ((f"{writer}-{i // 20}", label, tuple(texts)) for label, *texts in dict.fromkeys(made))
    yield from ordinary(histories.training() + notebooks.training(), head, rng)


# ------------------------------------------------------------------------------------------------ ordinary talk


def words(text):
    return {word for word in re.findall(r"[a-z']{4,}", text.lower())} - {"that", "this", "with", "have", "from", "what", "when", "user"}


def told(path):
    """Of a history, as the user and another, or a notebook: messages, facts as (last message, text), and (question, its messages)."""
    if path.suffix == ".json":
        notebook = notebooks.load(path)
        return [text.removeprefix("The user: ") for text in notebook.messages], [], [asked for asked in notebook.questions if asked[1]]
    history = histories.load(path)
    speaker = history.units[0].text.split(": ")[0]
    renamed = lambda text: re.sub(rf"\b{re.escape(speaker)}\b", "the user", text)
    messages = [unit.text.split(": ", 1) for unit in history.units[: len(history.turns)]]
    facts = [(max(unit.messages), third(renamed(unit.text))) for unit in history.units[len(history.turns):] if unit.messages]
    asked = [(re.sub(rf"\b{re.escape(speaker)}'s\b", "my", q.text), sorted(q.evidence)) for q in history.questions]
    return [text if who == speaker else "" for who, text in messages], facts, asked


def later_ones(rng, text, later):
    """Some of what came later: mostly what shares words with it."""
    own = words(text)
    near = sorted(later, key=lambda other: -len(own & words(other)))[:6]
    return rng.sample(near, min(3, len(near))) + rng.sample(later, min(1, len(later)))


def ordinary(paths, head, rng):
    for path in paths:
        messages, facts, asked = told(path)
        if head == "line":
            for lines in (list(enumerate(messages)), facts):
                lines = [(at, text) for at, text in lines if len(text) > 20]
                for at, text in rng.sample(lines, min(20, len(lines))):
                    for other in later_ones(rng, text, [t for i, t in lines if i > at]):
                        yield path.stem, "adds" if words(text) & words(other) else "unrelated", (text, other)
        else:
            for question, evidence in rng.sample(asked, min(40, len(asked))):
                lines = [text for at, text in facts if at in evidence] + [messages[at] for at in evidence if messages[at]]
                for line in rng.sample(lines, min(1, len(lines))):
                    later = [text for at, text in enumerate(messages) if at > max(evidence) and len(text) > 20]
                    for other in later_ones(rng, question, later):
                        yield path.stem, "stays", (f"{question} || {line}", other)
