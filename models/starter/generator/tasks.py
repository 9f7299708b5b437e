"""The memory work besides reading: what to store, where a topic ends, facts, conflicts, names, small talk.

Every function gives one (user text, assistant text) turn, or lines and turns, in the form of `assets/prompts`.
"""

import json
from datetime import timedelta

from . import lexicon, render
from .answer import PERSON_RELATIONS, Subject, ask, fillers, subject, write_fact
from .grammar import fill
from .topics import HERE, TOPICS, pool

CHATTER = json.loads((HERE / "chatter.json").read_text())

# Small talk that can hold a fact: neither clearly to be stored nor to be discarded.
EITHER = {"its_my_birthday", "feeling_ill", "sadness", "loneliness", "anxiety", "good_news", "bad_news", "going_out"}
IDLE_TALK = [intent for intent in CHATTER["small_talk"] if intent["intent"] not in EITHER]
ME = Subject("The user", "I", "u", me=True, speaker="The user")
SINGLE = [r for r in PERSON_RELATIONS if r.single]
SEVERAL = [r for r in PERSON_RELATIONS if not r.single]


def typed(rng, text):
    """As people type: now and then no capital, no full stop."""
    if rng.random() < 0.15:
        text = text[0].lower() + text[1:]
    if rng.random() < 0.15:
        text = text.rstrip(".!")
    return text


def said(rng, phrasing, held, relation=None, value=None):
    """What a person says about themselves, with the relation and its value."""
    relation = relation or rng.choice(PERSON_RELATIONS)
    value = value or lexicon.value(relation.value, rng, held)
    slots = {**ME.slots(rng, "I", held), "V": value}
    return fill(rng.choice(relation.wordings("says", phrasing)), rng, slots), relation, value


def idle(rng, phrasing, held):
    """A message without a lasting fact."""
    draw, unseen = rng.random(), phrasing == "unseen"
    if draw < 0.5:
        template = rng.choice(CHATTER["discard_unseen" if unseen else "discard"])
    elif draw < 0.85:
        template = rng.choice(rng.choice(IDLE_TALK)["users_unseen" if unseen else "users"])
    else:
        return ask(rng, ME if rng.random() < 0.6 else subject(rng, held, set()), rng.choice(PERSON_RELATIONS), phrasing, held)
    return fill(template, rng, fillers(rng, held))


def router(rng, phrasing="seen", held=False):
    """A message, and whether to store it."""
    if rng.random() < 0.5:
        return typed(rng, idle(rng, phrasing, held)), "discard"
    if rng.random() < 0.25:
        text = fill(rng.choice(CHATTER["store_extra_unseen" if phrasing == "unseen" else "store_extra"]), rng, fillers(rng, held))
    else:
        text = said(rng, phrasing, held)[0]
        if rng.random() < 0.2:
            text = rng.choice((f"{idle(rng, 'seen', held)} {text}", f"Oh, {text}", f"{said(rng, phrasing, held)[0]} {text}", f"By the way: {text}"))
    return typed(rng, text), "store"


def boundary(rng, phrasing="seen", held=False):
    """Lines `A: ...` of one topic and a new turn, of the same topic or of another."""
    unseen = phrasing == "unseen"
    first, second = rng.choice((("The user", "Assistant"),) * 3 + (("A", "B"), (lexicon.person_name(rng, held)[0], lexicon.person_name(rng, held)[0])))
    topic, other = rng.sample(TOPICS, 2)
    pairs = list(topic["unseen_turns"] if unseen else topic["turns"])
    if unseen:  # few: those of training fill the history up
        pairs += rng.sample(topic["turns"], 3)
    elif topic["more_turns"]:
        pairs = rng.sample(pairs, 4) + rng.sample(topic["more_turns"], 4)
    filler = lambda template: fill(template, rng, fillers(rng, held))  # noqa: E731
    rng.shuffle(pairs)
    lines, n_pairs = [], rng.choice((1, 1, 2, 2, 3))
    for user, reply in pairs[1 : 1 + n_pairs]:
        lines += [f"{first}: {filler(user)}", f"{second}: {filler(reply)}"]
    if rng.random() < 0.3 and len(lines) > 2:
        lines = lines[1:]
    yes = rng.random() < 0.5
    if yes:
        if rng.random() < 0.5:
            new = filler(rng.choice(pool(rng, other, "openers", unseen)))
        elif rng.random() < 0.7:
            new = filler(rng.choice(pool(rng, other, "turns", unseen))[0])
        else:
            new = said(rng, phrasing, held)[0] if rng.random() < 0.6 else idle(rng, phrasing, held)
    else:
        new = filler(pairs[0][0])
        if rng.random() < 0.15 and not lines[-1].startswith(first):
            new = filler(rng.choice(("Yes, (that's right|exactly).", "(Really|Do you think so)?", "(I'll|I will) (try|do) that.", "Good (idea|point).", "No, not (yet|really).", "(Thanks|Thank you), that helps.", "What would you do?", "I (hope|think) so.", "Why (is that|do you say that)?")))
    return render.boundary(lines, f"{first}: {typed(rng, new)}"), "yes" if yes else "no"


def conflict(rng, phrasing="seen", held=False):
    """An old and a new fact: does the new one replace it?"""
    who = subject(rng, held, set())
    day = lexicon.random_date(rng)
    update = rng.random() < 0.5

    def pick(pool, of=who):
        while True:
            relation = rng.choice(pool)
            if relation.subject != "user" or of.me:
                return relation

    def fact(of, relation, earlier=None):
        value = lexicon.value(relation.value, rng, held)
        while value == earlier:
            value = lexicon.value(relation.value, rng, held)
        return write_fact(rng, of, relation, value, day, phrasing, held, earlier, raw=0)

    if update:
        relation = pick(SINGLE)
        old = fact(who, relation)
        new = fact(who, relation, old.value)
    else:
        draw = rng.random()
        if draw < 0.35 and SEVERAL:
            relation = pick(SEVERAL)
            old = fact(who, relation)
            new = fact(who, relation, old.value)
        elif draw < 0.7:
            relation, other = pick(SINGLE), pick(PERSON_RELATIONS)
            while other is relation:
                other = pick(PERSON_RELATIONS)
            old, new = fact(who, relation), fact(who, other)
        else:
            other = subject(rng, held, {who.in_facts})
            relation = pick(SINGLE)
            while relation.subject == "user" and not other.me:
                relation = pick(SINGLE)
            old = fact(who, relation)
            new = fact(other, relation, old.value)
    return render.conflict(old.text, new.text), "update" if update else "keep"


def small(text):
    """A fact inside a sentence: "The user" loses its capital, names keep theirs."""
    return "the" + text[3:] if text.startswith("The ") else text


def merge(rng, phrasing="seen", held=False):
    who = subject(rng, held, set())
    one, two = rng.sample([r for r in PERSON_RELATIONS if r.subject != "user" or who.me], 2)
    day = lexicon.random_date(rng)
    first, second = (write_fact(rng, who, r, lexicon.value(r.value, rng, held), day, phrasing, held, raw=0).text for r in (one, two))
    return f"{first}\n{second}", f"{first.rstrip('.')}, and {small(second)}"


def theme(rng, phrasing="seen", held=False):
    """Facts of one topic, and its name. (lines, the name, all names that are right)"""
    who = subject(rng, held, set())
    relation = rng.choice([r for r in PERSON_RELATIONS if r.subject != "user" or who.me])
    day = lexicon.random_date(rng)
    same = [r for r in PERSON_RELATIONS if r.topic == relation.topic and (r.subject != "user" or who.me)]
    chosen = [relation] + [r for r in rng.sample(same, min(len(same), rng.randrange(1, 5))) if r is not relation]
    if len(chosen) == 1:
        chosen *= 2
    lines = [write_fact(rng, who, r, lexicon.value(r.value, rng, held), day, phrasing, held, raw=0).text for r in chosen]
    rng.shuffle(lines)
    slots = who.slots(rng, who.in_facts, held)
    slots["S's"] = who.in_facts + "'s"
    names = [fill(t, rng, slots) for t in relation.theme]
    return "\n".join(lines), names[0] if rng.random() < 0.6 else rng.choice(names), names


DONE = """flew to {city}|bought {thing}|visited {firstname}|met {fullname}|finished reading {book}|watched {film}|cooked {food}|lost a {item}|sold {thing}|
heard {band} live|drove to {city}|had lunch at {place}|found a {item}|started at {company}|saw a {animal} in the garden|signed up for {sport}|
repaired {thing}|moved to {city}|got a letter from {firstname}|had dinner with {firstname}|won a game of {game}|planted a {plant}|adopted a {animal}|
baked {food}|passed the {subject} exam|hired {firstname}|broke up with {firstname}|painted the door {colour}|called {firstname}|walked to {place}"""
DONE = [" ".join(d.split()) for d in DONE.split("|")]
PLANNED = ["fly to {city}", "visit {firstname}", "meet {fullname}", "start at {company}", "move to {city}", "have dinner at {place}", "sell {thing}", "take the {subject} exam", "see {film}"]
WHEN = [("today", 0), ("this morning", 0), ("this afternoon", 0), ("yesterday", -1), ("last night", -1), ("the day before yesterday", -2), ("two days ago", -2)]
SOON = [("tomorrow", 1), ("tonight", 0), ("the day after tomorrow", 2), ("tomorrow morning", 1)]


def dated(rng, held, day):
    """(what is said, the fact with its absolute date after the subject)"""
    slots = {kind: (lambda k=kind: lexicon.value(k, rng, held)) for kind in lexicon.KINDS}
    if rng.random() < 0.75:
        done, (when, shift) = fill(rng.choice(DONE), rng, slots), rng.choice(WHEN)
        done = done[0].lower() + done[1:]
        text = rng.choice((f"I {done} {when}.", f"{when.capitalize()} I {done}.", f"Guess what, I {done} {when}!", f"So {when} I {done}."))
        return text, f"{done} on {lexicon.date_text(day + timedelta(days=shift))}."
    plan, (when, shift) = fill(rng.choice(PLANNED), rng, slots), rng.choice(SOON)
    plan = plan[0].lower() + plan[1:]
    text = rng.choice((f"I'm going to {plan} {when}.", f"{when.capitalize()} I will {plan}.", f"I'll {plan} {when}."))
    return text, f"will {plan} on {lexicon.date_text(day + timedelta(days=shift))}."


def extraction(rng, phrasing="seen", held=False):
    """(prompt, facts one a line or NONE, day, speaker, message)"""
    day = lexicon.random_date(rng)
    speaker = "The user" if rng.random() < 0.6 else lexicon.person_name(rng, held)[0]
    messages, facts = [], []
    for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 2))):
        if rng.random() < 0.3:
            text, fact = dated(rng, held, day)
            messages.append(text)
            facts.append(f"{speaker} {fact}")
        else:
            text, relation, value = said(rng, phrasing, held)
            slots = {**ME.slots(rng, speaker, held), "V": value, "S's": speaker + "'s"}
            fact = fill(relation.facts_short[0] if rng.random() < 0.8 else rng.choice(relation.facts_short), rng, slots)
            messages.append(text)
            facts.append(fact.replace(" The user", " the user"))
    if not messages or rng.random() < 0.15:
        messages.insert(rng.randrange(len(messages) + 1), idle(rng, phrasing, held))
    message = " ".join(m if m[-1] in ".!?" else m + "." for m in messages)
    return render.dated(lexicon.date_text(day), [f"{speaker}: {message}"]), "\n".join(facts) or "NONE", day, speaker, message


def episode(rng, phrasing="seen", held=False):
    """A short talk, its title and its story with absolute dates."""
    day = lexicon.random_date(rng)
    speaker = "The user" if rng.random() < 0.6 else lexicon.person_name(rng, held)[0]
    lines, story, title = [], [], None
    for _ in range(rng.choice((1, 2, 2, 3))):
        if rng.random() < 0.4:
            text, fact = dated(rng, held, day)
            story.append(f"{speaker} {fact}")
            title = title or "News"
        else:
            text, relation, value = said(rng, phrasing, held)
            slots = {**ME.slots(rng, speaker, held), "V": value, "S's": speaker + "'s"}
            story.append(fill(relation.facts_short[0], rng, slots).replace(" The user", " the user"))
            title = title or fill(relation.theme[0], rng, {**slots, "S's": speaker + "'s"})
        lines.append(f"{speaker}: {text}")
        if rng.random() < 0.8:
            lines.append(f"Assistant: {fill(rng.choice(CHATTER['acknowledge']), rng, fillers(rng, held))}")
    opening = f"On {lexicon.date_text(day)}, {small(speaker)} talked with the assistant."
    return render.dated(lexicon.date_text(day), lines), f"Title: {title}\n{opening} {' '.join(story)}", day, lines
