"""Chat histories that were written for this project, with the facts in them and questions about them.

    python histories.py [FILE...]                 says what is wrong in them, and what they hold
    python histories.py --export DIR [FILE...]    those that nothing was trained on, for `inglenook-eval retrieval --memories DIR`

    @speakers Priya, Tomasz
    @session 2022-03-14
    1 Priya: The landlord finally fixed the heating.
    2 Tomasz: About time!
    F 1: Priya's landlord repaired the heating in March 2022.
    @questions
    Q 1.1 | What got repaired in Priya's flat? | the heating

Turns count from 1 in each session. A fact names the turns of its session that it is from; a question every turn (session.turn)
that by itself gives the answer or a part of it.
"""

import argparse
import json
import re
import sys
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

FOLDER = Path(__file__).parent / "histories"


@dataclass
class Unit:
    """A message as it is shown, `Speaker: text`, or a fact; and the messages that it covers."""

    text: str
    messages: list[int]


@dataclass
class Question:
    text: str
    answer: str
    evidence: set[int]


@dataclass
class History:
    """Units: all messages in order, then all facts."""

    days: list[str] = field(default_factory=list)
    # Of each message: (its session, counted from 1, its turn).
    turns: list[tuple[int, int]] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def is_held_out(path):
    """Each writer's second: for choosing by, never trained on."""
    return path.stem.endswith("02")


def training():
    return sorted(path for path in FOLDER.glob("*.txt") if not is_held_out(path))


def load(path):
    history, speakers, place = History(), [], {}
    facts, n_sessions, n_turns, asking = [], 0, 0, False
    wrong = lambda line, what: history.errors.append(f"{path}:{line}: {what}")
    for n, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        line = line.strip()
        if not line:
            continue
        if line.startswith("@speakers "):
            speakers = [name.strip() for name in line.removeprefix("@speakers ").split(",")]
        elif line.startswith("@session "):
            n_sessions, n_turns = n_sessions + 1, 0
            history.days.append(line.removeprefix("@session "))
            if not re.fullmatch(r"@session \d{4}-\d\d-\d\d", line):
                wrong(n, "a date is year-month-day")
        elif line == "@questions":
            asking = True
        elif asking and (found := re.fullmatch(r"Q ([\d., ]+)\|([^|]+)\|([^|]+)", line)):
            named = [part.strip() for part in found[1].split(",") if part.strip()]
            for part in named:
                if part not in place:
                    wrong(n, f"there is no turn {part}")
            evidence = {place[part] for part in named if part in place}
            history.questions.append(Question(found[2].strip(), found[3].strip(), evidence))
        elif not asking and (found := re.fullmatch(r"F ([\d, ]+): (.+)", line)):
            named = [f"{n_sessions}.{part.strip()}" for part in found[1].split(",") if part.strip()]
            for part in named:
                if part not in place:
                    wrong(n, f"there is no turn {part} above it")
            facts.append(Unit(found[2], [place[part] for part in named if part in place]))
        elif not asking and (found := re.fullmatch(r"(\d+) ([^:]{1,30}): (.+)", line)):
            n_turns += 1
            if int(found[1]) != n_turns:
                wrong(n, f"turn {found[1]} stands where {n_turns} is due")
            if found[2] not in speakers:
                wrong(n, f"{found[2]} is no speaker")
            place[f"{n_sessions}.{n_turns}"] = len(place)
            history.turns.append((n_sessions, n_turns))
            history.units.append(Unit(f"{found[2]}: {found[3]}", [len(place) - 1]))
        else:
            wrong(n, f"not understood: {line[:60]}")
    history.units += facts
    return history


def export(history, folder):
    """In the form that `eval retrieval` reads: LoCoMo's, with memories."""
    folder.mkdir(parents=True, exist_ok=True)
    ids = [f"D{session}:{turn}" for session, turn in history.turns]
    at = [f"10:00 am on {date.fromisoformat(day):%-d %B, %Y}" for day in history.days]
    messages, facts = history.units[: len(ids)], history.units[len(ids):]
    session_of = lambda unit: history.turns[unit.messages[0]][0]
    episodes = []
    for k, day in enumerate(at, 1):
        said = [(i, *unit.text.split(": ", 1)) for i, unit in zip(ids, messages) if session_of(unit) == k]
        told = [unit.text for unit in facts if session_of(unit) == k]
        episodes.append({
            "episode_id": f"e{k}", "title": f"session {k}", "content": " ".join(told), "created_at": day,
            "original_messages": [{"dia_id": i, "role": who, "content": text} for i, who, text in said],
        })
    semantics = [
        {"content": unit.text, "evidence": [ids[m] for m in unit.messages],
         "source_episodes": [f"e{session_of(unit)}"], "created_at": at[session_of(unit) - 1]}
        for unit in facts
    ]
    asked = [
        {"question": q.text, "answer": q.answer, "evidence": [ids[m] for m in sorted(q.evidence)],
         "category": 1 if len(q.evidence) > 1 else 4}
        for q in history.questions
    ]
    for name, rows in (("episodes", episodes), ("semantics", semantics)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "qa.json").write_text(json.dumps(asked))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--export", type=Path, metavar="DIR")
    args = parser.parse_args()
    n_questions = n_wrong = 0
    for path in args.files or sorted(FOLDER.glob("*.txt")):
        if args.export and not args.files and not is_held_out(path):
            continue
        history = load(path)
        n_questions += len(history.questions)
        n_wrong += len(history.errors)
        print(path, len(history.units), "units", len(history.questions), "questions")
        print("".join(f"  {error}\n" for error in history.errors), end="")
        if args.export:
            export(history, args.export / path.stem)
    print(n_questions, "questions,", n_wrong, "errors")
    sys.exit(n_wrong > 0)


if __name__ == "__main__":
    main()
