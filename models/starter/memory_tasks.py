"""What the memory model learns: samples of (task or system turn, shared lines, [(asked, reply), …]). The pairs are branches of the shared
beginning, or the turns of one chat (`Chat`).

    python memory_tasks.py [SEED]      shows one of each
    python memory_tasks.py --prompts   writes prompts.json

All of it is this project's own: histories (facts, questions; titles, stories, topics and themes in the .json beside each), chats of people
with the assistant, scenarios of corrections with their answers, turns, the generator; for talk the open instructions of
`shared/data/training` under MIT and Apache-2.0.
"""

import gzip
import json
import random
import re
import subprocess
import sys
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path

import changes
import histories
from generator import answer as generated, lexicon, render, tasks, topics

topics.add_more()
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CHATS = HERE / "chats"
TRAINING = ROOT.parent / "shared" / "data" / "training"
TALK = "You are Inglenook, a helpful AI assistant."
SYSTEM = {**render.SENTENCES, "notes": render.section("semantics", "line")}
UNKNOWN = "I don't know."


class Chat(list):
    """Pairs of which each follows the one before."""


def long_date(day):
    return f"{day:%A}, {lexicon.date_text(day)}"


@lru_cache(maxsize=None)
def history(path):
    h = histories.load(path)
    n = len(h.turns)
    side = path.with_suffix(".json")
    h.side = json.loads(side.read_text()) if side.exists() else None
    h.speakers = list(dict.fromkeys(u.text.split(": ", 1)[0] for u in h.units[:n]))
    h.lines, h.facts = h.units[:n], h.units[n:]
    h.day = [date.fromisoformat(h.days[s - 1]) for s, _ in h.turns]
    h.sessions = [[i for i, (s, _) in enumerate(h.turns) if s == k] for k in range(1, len(h.days) + 1)]
    return h


@lru_cache(maxsize=None)
def all_histories(held):
    chosen = [p for p in [*sorted(histories.FOLDER.glob("*.txt")), *sorted(CHATS.glob("*.txt"))] if histories.is_held_out(p) == held]
    return [history(p) for p in chosen]


@lru_cache(maxsize=None)
def all_scenarios():
    """Those of corrections/*.txt, each with its answers: {"Q1": [before, after], "P1": [answer]}."""
    out = []
    for stem, said in changes.scenarios(HERE / "corrections"):
        out.append((stem, {**said, "answers": {}}))
    for stem in {stem for stem, _ in out}:
        blocks = [said for of, said in out if of == stem]
        for line in (HERE / "corrections" / f"{stem}.answers.tsv").read_text().splitlines():
            number, of, *fields = line.split("\t")
            blocks[int(number) - 1]["answers"][of] = fields
    return [said for _, said in out]


@lru_cache(maxsize=None)
def turns():
    out = {}
    for path in sorted((HERE / "turns").glob("*.tsv")):
        for line in path.read_text().splitlines():
            label, _, text = line.partition("\t")
            out.setdefault(label, []).append(text)
    return out


def renamer(rng, h, share=0.6):
    """A function that gives the speakers other names, the same in every text."""
    if rng.random() > share:
        return lambda text: text
    if "Assistant" in h.speakers:
        person = next(who for who in h.speakers if who != "Assistant")
        if person == "The user":
            return lambda text: text
        other = lexicon.person_name(rng)[0]
        return lambda text: re.sub(rf"\b{re.escape(person)}\b", other, text)
    others = []
    while len(others) < len(h.speakers):
        name = lexicon.person_name(rng)[0]
        if name not in others and not any(name in u.text for u in h.units):
            others.append(name)
    table = dict(zip(h.speakers, others))
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, table)) + r")\b")
    return lambda text: pattern.sub(lambda m: table[m[1]], text)


def end(text):
    return text if text[-1] in ".!?\"'" else text + "."


@lru_cache(maxsize=1)
def dated_table():
    """Of each (day, text) of the histories: the text as the program shows it to a model."""
    said = [(h.day[m].isoformat(), u.text.split(": ", 1)[1]) for held in (False, True) for h in all_histories(held) for m, u in enumerate(h.lines)]
    said += [(day, text.split(": ", 1)[1]) for block in all_reading() for day, text in block["N"] if ": " in text]
    run = ["cargo", "run", "--quiet", "--release", "-p", "inglenook-eval", "--example", "dated"]
    asked = "".join(f"{day}\t{text}\n" for day, text in said)
    out = subprocess.run(run, input=asked, text=True, capture_output=True, check=True, cwd=ROOT).stdout.splitlines()
    return dict(zip(said, out, strict=True))


def dated(h, m):
    """A line with its relative dates resolved as the program's rules do it before a model sees it."""
    who, text = h.lines[m].text.split(": ", 1)
    return f"{who}: {dated_table()[h.day[m].isoformat(), text]}"


@lru_cache(maxsize=None)
def all_reading():
    """Notes of a person and questions about them: {"N": [(day, text)], "QA": [(question, answer)]}."""
    out = []
    text = "\n\n".join(path.read_text().strip() for path in sorted((HERE / "talk").glob("reading*.txt")))
    for part in text.split("\n\n"):
        notes, pairs = [], []
        for line in part.split("\n"):
            kind, text = line[0], line[2:].strip()
            if kind == "N":
                notes.append((text[:10], text[11:]))
            elif kind == "Q":
                asked = text
            elif kind == "A":
                pairs.append((asked, text))
        out.append({"N": notes, "QA": pairs})
    return out


def noted(day, lines, found, rng):
    """The sample of these lines, whose facts are `found` = [(index, fact)]: each line is asked about by itself, with all of them before it."""
    shown = set(re.findall(r"\w+", render.dated(long_date(day), lines)))
    # What the lines don't name can't be learnt from them.
    unsaid = {at for at, fact in found if any(w not in shown for w in re.findall(r"(?<=\s)[A-Z]\w+|\d+", fact))}
    facts = {m: "\n".join(fact for at, fact in found if at == m) for m, _ in found if m not in unsaid}
    none = [m for m in range(len(lines)) if m not in facts and m not in unsaid]
    asked = [*facts, *rng.sample(none, min(len(none), len(facts) + 1))]
    return "notes", render.dated(long_date(day), lines) + "\n", [(f"Line: {lines[m]}", facts.get(m, "NONE")) for m in rng.sample(asked, len(asked))]


def notes_sample(rng, held=False):
    h = rng.choice(all_histories(held))
    session = rng.choice(h.sessions)
    n = rng.randrange(2, min(len(session), 14) + 1)
    start = rng.randrange(0, len(session) - n + 1)
    chosen, rename = session[start : start + n], renamer(rng, h)
    resolved = held or rng.random() < 0.75
    lines = [rename(dated(h, m) if resolved else h.lines[m].text) for m in chosen]
    # A fact belongs to the last of its lines.
    found = [(chosen.index(max(f.messages)), rename(f.text)) for f in h.facts if set(f.messages) <= set(chosen)]
    return noted(h.day[chosen[0]], lines, found, rng)


def own_notes_sample(rng):
    """A person and the assistant."""
    who = "The user" if rng.random() < 0.6 else lexicon.person_name(rng)[0]
    as_said = lambda fact: end(fact if who == "The user" else re.sub(r"\b[Tt]he user\b", who, fact))  # noqa: E731
    lines, found = [], []
    for _ in range(rng.choice((1, 1, 2, 3, 4, 6))):
        if rng.random() < 0.45:
            said = rng.choice(all_scenarios())
            if not said["B"] or not said["L"]:
                continue
            found += [(len(lines), as_said(fact)) for fact in said["L"] + said["K"]]
            lines.append(f"{who}: {said['B'][0]}")
        else:
            lines.append(f"{who}: {rng.choice(turns()[rng.choice('SSWWM')])}")
        if rng.random() < 0.5:
            lines.append(f"Assistant: {lexicon_fill(rng, rng.choice(tasks.CHATTER['acknowledge']))}")
    return noted(lexicon.random_date(rng), lines, found, rng) if lines else own_notes_sample(rng)


def lexicon_fill(rng, template):
    return tasks.fill(template, rng, generated.fillers(rng, False))


def generated_notes_sample(rng):
    lines, found = [], []
    for _ in range(3):
        prompt, reply, day, speaker, _ = tasks.extraction(rng)
        found += [(len(lines), fact) for fact in reply.split("\n") if reply != "NONE"]
        lines.append(" ".join(prompt.split("\n")[1:]))
    return noted(day, lines, found, rng)


def block(lines, rng):
    """The notes as the program shows them, now and then in parts with a heading each."""
    shown, next_heading = [], 0 if rng.random() < 0.4 else len(lines)
    for at, line in enumerate(lines):
        if at == next_heading:
            words = [w for w in re.findall(r"[A-Za-z]{4,}", line.partition("] ")[2]) if w not in ("user", "said")] or ["life"]
            start = rng.randrange(len(words))
            shown.append(f"About {' '.join(words[start : start + rng.choice((1, 2, 2, 3))]).lower()}:")
            next_heading += rng.choice((1, 2, 3, 5))
        shown.append(line)
    return "\n".join([render.OPEN, *shown, render.CLOSE, ""])


def answer_sample(rng, held=False):
    h = rng.choice(all_histories(held))
    rename = renamer(rng, h)
    asked = rng.sample(h.questions, min(len(h.questions), rng.choice((1, 2, 3, 4))))
    shown = []
    for q in asked:
        facts = [f for f in h.facts if set(f.messages) & q.evidence]
        for m in q.evidence:
            by_fact = [f for f in facts if m in f.messages]
            shown.append(rng.choice(by_fact) if by_fact and rng.random() < 0.3 else h.lines[m])
    for _ in range(rng.choice((2, 4, 6, 8, 10))):
        unit = rng.choice(h.facts if rng.random() < 0.5 else h.lines)
        shown.append(unit)
    told = {m for u in shown for m in u.messages}
    absent = [q for q in rng.sample(h.questions, min(12, len(h.questions))) if not q.evidence & told][: rng.choice((0, 1, 1, 2))]
    unique = list({id(u): u for u in shown}.values())
    unique.sort(key=lambda u: h.day[u.messages[0]])
    resolved = rng.random() < 0.8
    text = lambda u: rename(u.text) if u in h.facts else as_said(rename(dated(h, u.messages[0]) if resolved else u.text))  # noqa: E731
    lines = [f"[{lexicon.date_text(h.day[u.messages[0]])}] {text(u)}" for u in unique]
    pairs = [(rename(q.text), end(rename(q.answer[0].upper() + q.answer[1:]))) for q in asked] + [(rename(q.text), UNKNOWN) for q in absent]
    rng.shuffle(pairs)
    return "answer", block(lines, rng), pairs


def as_said(line):
    """A line of a chat as evidence shows it."""
    return line.replace(": ", " said: ", 1)


def reading_sample(rng):
    told = rng.choice(all_reading())
    who = "The user" if rng.random() < 0.8 else lexicon.person_name(rng)[0]
    lines = []
    for day, text in told["N"]:
        speaker, _, said = text.partition(": ")
        if said and len(speaker.split()) < 3:
            text = as_said(f"{speaker}: {dated_table()[day, said] if rng.random() < 0.8 else said}")
        lines.append(f"[{lexicon.date_text(date.fromisoformat(day))}] {text if who == 'The user' else re.sub(r'[Tt]he user', who, text)}")
    return "answer", block(lines, rng), told["QA"]


def correction_sample(rng):
    """Notes of which a later one may change an earlier one: the newest is right."""
    said = rng.choice(all_scenarios())
    if not said["answers"] or not said["B"]:
        return correction_sample(rng)
    day = lexicon.random_date(rng)
    step = lambda: timedelta(days=rng.choice((0, 1, 3, 9, 30, 90)))  # noqa: E731
    note = lambda text: f"[{lexicon.date_text(day)}] {text}" if text.startswith("The user") else f"[{lexicon.date_text(day)}] The user said: {text}"  # noqa: E731
    lines, others = [], []
    while len(others) < rng.choice((0, 1, 3, 6)):
        other = rng.choice(all_scenarios())
        if other is not said and other["B"]:
            others.append(rng.choice(other["B"] + [end(f) for f in other["L"] + other["K"] if f.startswith("The user")]))
    told = rng.choice([said["B"], [end(x) for x in said["L"] + said["K"]]]) if said["L"] else said["B"]
    third = lambda text: text if text is said["B"][0] or text.startswith("The user") else f"The user said: {text}"  # noqa: E731
    changed = bool(said["C"]) and rng.random() < 0.6
    mark = " (no longer so)" if changed and told is not said["B"] and rng.random() < 0.4 else ""
    early = [*others[::2], *(third(x) + (mark if x.rstrip(".") in {f.rstrip(".") for f in said["L"]} else "") for x in told), *(said["M"] if rng.random() < 0.5 else ())]
    for text in rng.sample(early, len(early)):
        lines.append(note(text))
    which = rng.randrange(len(said["C"])) if said["C"] else 0
    late = [*others[1::2], *([rng.choice(said["N"])] if said["N"] and rng.random() < 0.6 else ())]
    late += [said["C"][which]] if changed else []
    for text in rng.sample(late, len(late)):
        day += step()
        lines.append(note(text))
    pairs = []
    for k, q in enumerate(said["Q"], 1):
        if f"Q{k}" in said["answers"]:
            old, *new = said["answers"][f"Q{k}"]
            new = new[0].split(" / ") if new else [old]
            pairs.append((q, (new[which] if len(new) == len(said["C"]) else new[0]) if changed else old))
    for k, p in enumerate(said["P"], 1):
        if f"P{k}" in said["answers"]:
            pairs.append((p, said["answers"][f"P{k}"][0]))
    return ("answer", block(lines, rng), pairs) if pairs else correction_sample(rng)


def generated_answer_sample(rng):
    n = rng.choice((2, 4, 6, 8, 10))
    context = generated.Context(rng, n, False, "seen")
    lines = context.lines()
    return "answer", block(lines, rng), [(q, end(a)) for q, a, _ in context.questions(max(1, n - 3), 0.25)]


def boundary_sample(rng, held=False):
    pairs = []
    for _ in range(4):
        if rng.random() < 0.5:
            pairs.append(tasks.boundary(rng)[:2])
            continue
        h = rng.choice(all_histories(held))
        if not h.side:
            continue
        k = rng.randrange(len(h.sessions))
        session, starts = h.sessions[k], set(h.side["sessions"][k]["starts"])
        wanted = rng.random() < 0.5
        places = [t for t in range(2, len(session) + 1) if (t in starts) == wanted]
        if not places:
            continue
        t = rng.choice(places)
        rename = renamer(rng, h)
        before = [rename(h.lines[m].text) for m in session[max(0, t - 1 - rng.choice((2, 4, 6))) : t - 1]]
        pairs.append((render.boundary(before, rename(h.lines[session[t - 1]].text)), "yes" if wanted else "no"))
    return ("boundary", "", pairs) if pairs else boundary_sample(rng, held)


def episode_sample(rng, held=False):
    chosen = [h for h in all_histories(held) if h.side]
    if not chosen or rng.random() < 0.1:
        prompt, reply, day, lines = tasks.episode(rng)
        return "episode", "", [(render.dated(long_date(day), lines), reply)]
    h = rng.choice(chosen)
    k = rng.randrange(len(h.sessions))
    rename = renamer(rng, h)
    side = h.side["sessions"][k]
    prompt = render.dated(long_date(h.day[h.sessions[k][0]]), [rename(h.lines[m].text) for m in h.sessions[k]])
    return "episode", "", [(prompt, rename(f"Title: {side['title']}\n{side['story']}"))]


def theme_sample(rng, held=False):
    chosen = [h for h in all_histories(held) if h.side]
    pairs = []
    for _ in range(4):
        if not chosen or rng.random() < 0.3:
            pairs.append(tasks.theme(rng)[:2])
            continue
        h = rng.choice(chosen)
        theme, rename = rng.choice(h.side["themes"]), renamer(rng, h)
        facts = [rename(h.facts[f - 1].text) for f in theme["facts"]]
        pairs.append(("\n".join(facts), rename(theme["name"])))
    return "theme", "", pairs


def conflict_sample(rng):
    pairs = []
    for _ in range(6):
        if rng.random() < 0.35:
            pairs.append(tasks.conflict(rng)[:2])
            continue
        said = rng.choice(all_scenarios())
        if not said["L"] or not said["C"] or not said["N"]:
            continue
        if rng.random() < 0.5:
            old, new, label = rng.choice(said["L"]), rng.choice(said["C"]), "update"
        elif said["K"] and rng.random() < 0.4:
            old, new, label = rng.choice(said["K"]), rng.choice(said["C"]), "keep"
        else:
            old, new, label = rng.choice(said["L"]), rng.choice(said["N"]), "keep"
        pairs.append((render.conflict(end(old), end(changes.either(rng, new))), label))
    return ("conflict", "", pairs) if pairs else conflict_sample(rng)


def router_sample(rng):
    pairs = [tasks.router(rng)[:2] for _ in range(3)]
    pairs += [(rng.choice(turns()[label]), "store" if label == "T" else "discard") for label in rng.choices("TTTSWM", k=4)]
    h = rng.choice(all_histories(False))
    noted = {m for f in h.facts for m in f.messages}
    for m in rng.sample(range(len(h.lines)), 3):
        pairs.append((h.lines[m].text.split(": ", 1)[1], "store" if m in noted else "discard"))
    return "router", "", pairs


def merge_sample(rng):
    return "merge", "", [tasks.merge(rng)[:2] for _ in range(2)]


@lru_cache(maxsize=None)
def open_talk():
    rows = []
    for line in gzip.open(TRAINING / "instructions.jsonl.gz", "rt"):
        row = json.loads(line)
        if row["source"] in ("rasbt", "llamafactory", "gpteacher-roleplay") and sum(len(m["content"]) for m in row["messages"]) < 1200:
            rows.append([m["content"].strip() for m in row["messages"] if m["role"] in ("user", "assistant")])
    return [r for r in rows if len(r) >= 2]


# What it says in a language that it does not speak: the signs of the language, the sentence, and by a word of the message what comes first.
LANGUAGES = [
    ("ich|du|ist|und|nicht|wie|was|wer|kannst|mir|mein|meine|der|das|hallo|danke|guten|gute|tschüss|bitte|heute|bin|ein|eine|wann|wo|servus|moin|na",
     "Ich spreche leider kaum Deutsch. Auf Englisch kann ich besser antworten.",
     {"hallo|guten tag|guten morgen|guten abend|servus|moin|grüß": "Hallo!", "danke": "Gern geschehen.", "tschüss|gute nacht|bis bald|bis morgen": "Bis bald!"}),
    ("je|tu|est|le|la|les|une|pas|que|qui|quel|quelle|mon|ma|bonjour|salut|merci|bonsoir|bonne|ça|c'est|suis|où|comment|quand|au revoir",
     "Je parle très peu français. En anglais, je peux mieux répondre.",
     {"bonjour|salut|bonsoir|coucou": "Bonjour !", "merci": "Avec plaisir.", "au revoir|bonne nuit|à bientôt|à demain": "À bientôt !"}),
    ("el|los|una|que|qué|quién|cómo|cuál|mi|hola|gracias|buenos|buenas|adiós|es|estoy|soy|no|tengo|por|para|dónde|cuándo|eres|y|en",
     "Hablo muy poco español. En inglés puedo responder mejor.",
     {"hola|buenos días|buenas tardes": "¡Hola!", "gracias": "De nada.", "adiós|hasta luego|buenas noches|hasta mañana": "¡Hasta pronto!"}),
]
ENGLISH_ONLY = "I only speak English well. Could you say that in English?"


def in_its_language(asked):
    """The reply to a message that is not in English."""
    words = re.findall(r"[\w']+", asked.lower())
    counts = [sum(bool(re.fullmatch(signs, w)) for w in words) for signs, _, _ in LANGUAGES]
    if not any(counts):
        return ENGLISH_ONLY
    _, sentence, first = LANGUAGES[counts.index(max(counts))]
    opening = next((said for signs, said in first.items() if re.search(rf"\b({signs})\b", asked.lower())), "")
    return f"{opening} {sentence}".strip()


@lru_cache(maxsize=None)
def own_talk():
    """By kind: plain talk, and questions about the world, tasks and other languages."""
    talk, other = [], []
    for path in sorted((HERE / "talk").glob("*.tsv")):
        for asked, reply, label in (line.split("\t") for line in path.read_text().splitlines()):
            if "languages" in label:
                reply = in_its_language(asked)
            # A bare "Paris." to a question about the world teaches a form in which the base knows nothing.
            if label != "world" or len(reply.split()) >= 7 or path.stem.startswith("plain"):
                (talk if path.stem.startswith("plain") and label != "world" else other).append((asked, reply))
    return talk, other


@lru_cache(maxsize=None)
def own_chats(plain):
    out = []
    names = "chats-[f-z].txt" if plain else "chats-[a-e].txt"
    for part in "\n\n".join(path.read_text().strip() for path in sorted((HERE / "talk").glob(names))).split("\n\n"):
        lines = part.split("\n")
        out.append(Chat((asked[2:], reply[2:]) for asked, reply in zip(lines[::2], lines[1::2])))
    return out


def chat_sample(rng):
    """Talk without memories, as `assets/prompts/chat.txt` asks for it."""
    if rng.random() < 0.4:
        return TALK, "", Chat(rng.choice(own_chats(rng.random() < 0.75)))
    talk, other = own_talk()
    return TALK, "", [rng.choice(talk if rng.random() < 0.65 else other) for _ in range(5)]


def open_sample(rng):
    """Open instructions: the model is to go on answering them as its base does."""
    row = rng.choice(open_talk())
    return rng.choice((TALK, TALK, "You are a helpful AI assistant.", "Answer briefly.")), "", Chat(zip(row[::2], row[1::2]))


TASKS = [  # (share of samples, what makes one)
    (0.07, notes_sample), (0.02, own_notes_sample), (0.005, generated_notes_sample), (0.14, answer_sample), (0.26, reading_sample),
    (0.08, correction_sample), (0.04, generated_answer_sample), (0.02, boundary_sample), (0.025, episode_sample), (0.03, theme_sample),
    (0.02, conflict_sample), (0.015, router_sample), (0.005, merge_sample), (0.27, chat_sample),
]


def sample(rng):
    return rng.choices([make for _, make in TASKS], [share for share, _ in TASKS])[0](rng)


def prompts():
    """What the program says to the model for one example of each task; a test in `src/prompts` compares."""
    said = ["The user: I moved to Lund.", "Assistant: Nice!"]
    day = long_date(date(2026, 11, 16))
    users = {
        "answer": "\n".join([render.OPEN, "[16 November 2026] Ana lives in Lund.", render.CLOSE, "Where does Ana live?"]),
        "router": "I moved to Lund.",
        "boundary": render.boundary(said, said[0]),
        "notes": f"{render.dated(day, said)}\nLine: {said[0]}",
        "episode": render.dated(day, said),
        "conflict": render.conflict("I moved to Lund.", "Ana lives in Lund."),
        "merge": "I moved to Lund.\nAna lives in Lund.",
        "theme": "I moved to Lund.\nAna has a dog.",
    }
    chat = {"task": "chat", "system": TALK, "user": ""}
    return [chat, *({"task": task, "system": SYSTEM[task], "user": user} for task, user in users.items())]


if __name__ == "__main__":
    if sys.argv[1:] == ["--prompts"]:
        sys.exit(print(json.dumps(prompts(), indent=1)))
    rng = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    for _, make in TASKS:
        task, shared, pairs = make(rng)
        print(f"=== {make.__name__}: {SYSTEM.get(task, task)}\n{shared}" + "\n".join(f"Q {q}\nA {a}" for q, a in pairs))
