"""Reading: memory lines about several people, questions about them, and the words that answer.

What makes it reading and not guessing: the same relation of other people and other relations of the
same person stand among the lines, values are often invented words, values change (the latest counts),
some questions take two steps, and a few can't be answered.
"""

from datetime import timedelta

from . import lexicon
from .grammar import fill
from .relation import load

RELATIONS = load()
PERSON_RELATIONS = [r for r in RELATIONS if r.subject in ("person", "user")]

KIN = {"sister": "f", "brother": "m", "mother": "f", "father": "m", "aunt": "f", "uncle": "m", "cousin": "f", "grandmother": "f",
       "grandfather": "m", "daughter": "f", "son": "m", "wife": "f", "husband": "m", "best friend": "m", "neighbour": "m",
       "colleague": "f", "boss": "m", "flatmate": "f", "niece": "f", "nephew": "m", "girlfriend": "f", "boyfriend": "m"}
PRONOUNS = {"f": ("she", "her", "her", "herself"), "m": ("he", "him", "his", "himself"), "u": ("they", "them", "their", "themself")}
STRANGE = 0.45  # values in training that are none for their question: else a model guesses what it need not read
FRAMED = 0.12  # sentences in training with something around them that doesn't matter
UNKNOWN = "I don't know."
KIN_FACTS = ["{A's} {K} is {B}.", "{A's} {K} is (called|named) {B}.", "{B} is {A's} {K}.", "{A} has a {K} (called|named|by the name of) {B}.",
             "The name of {A's} {K} is {B}.", "{A} said that {B} is (their {K}|the {K})." , "{A's} {K}, {B}, came to visit.", "{A} introduced {B} as {A's} {K}."]
KIN_FACTS_UNSEEN = ["{B}, (the|a) {K} of {A}, was there too.", "Everybody calls {A's} {K} {B}."]


class Subject:
    """Someone that facts are about: how facts name them, how questions do."""

    def __init__(self, in_facts, in_questions, gender, me=False, speaker=None):
        self.in_facts, self.in_questions, self.gender, self.me, self.speaker = in_facts, in_questions, gender, me, speaker

    def slots(self, rng, name, held):
        he, him, his, himself = PRONOUNS[self.gender]
        possessive = name + ("'" if name.endswith("s") and rng.random() < 0.5 else "'s")
        return {"S": name, "S's": possessive, "he": he, "him": him, "his": his, "himself": himself, **fillers(rng, held)}


def fillers(rng, held=False):
    return {"N": lambda: lexicon.person_name(rng, held)[0], "N2": lambda: lexicon.person_name(rng, held)[0],
            "P": lambda: lexicon.value("place", rng, held), "D": lambda: lexicon.date_text(lexicon.random_date(rng)),
            "M": lambda: rng.choice(lexicon.MONTHS), "Y": lambda: str(rng.randrange(2012, 2027)),
            "W": lambda: rng.choice(lexicon.WEEKDAYS)}


def subject(rng, held, taken):
    """The user, a relative of the user, a named person, or a relative of a named person."""
    while True:
        draw = rng.random()
        if draw < 0.25:
            found = Subject("The user", "I", "u", me=True, speaker="The user")
        elif draw < 0.45:
            kin = rng.choice(list(KIN))
            found = Subject(f"The user's {kin}", f"my {kin}", KIN[kin])
        else:
            name, gender = lexicon.person_name(rng, held)
            if draw < 0.9:
                found = Subject(name, name, gender, speaker=name)
            else:
                kin = rng.choice(list(KIN))
                found = Subject(f"{name}'s {kin}", f"{name}'s {kin}", KIN[kin])
        if found.in_facts not in taken:
            taken.add(found.in_facts)
            return found


def mid_sentence(template, slots, rng, who):
    """Facts begin with their subject or not: `The user` is small inside a sentence."""
    text = fill(template, rng, {**slots, "S": "\x01" + slots["S"], "S's": "\x01" + slots["S's"]} if who.in_facts.startswith("The ") else slots)
    if "\x01" not in text:
        return text
    if text.startswith("\x01"):
        text = text[1:]
    return text.replace("\x01T", "t").replace("\x01", "")


def memory_line(day, text):
    return f"[{lexicon.date_text(day)}] {text}"


class Fact:
    """One memory: what it tells of whom, how it is written, and whether a newer one replaced it."""

    def __init__(self, who, relation, value, day, text):
        self.who, self.relation, self.value, self.day, self.text, self.stale = who, relation, value, day, text, False


def write_fact(rng, who, relation, value, day, phrasing, held, earlier=None, raw=0.15):
    """The relation as a fact in the third person or as what the person said."""
    slots = {**who.slots(rng, who.in_facts, held), "V": value}
    if earlier is not None and relation.updates and phrasing == "seen" and rng.random() < 0.5:
        text = mid_sentence(rng.choice(relation.updates), {**slots, "V0": earlier}, rng, who)
    elif who.speaker and relation.says and rng.random() < raw:
        text = f"{who.speaker} said: {fill(rng.choice(relation.wordings('says', phrasing)), rng, slots)}"
    else:
        templates = relation.wordings("facts", phrasing)
        if phrasing == "seen" and rng.random() < 0.12:
            templates = relation.facts_short
        text = mid_sentence(rng.choice(templates), slots, rng, who)
    if value not in text and value[0].islower():
        text = text.replace(value[0].upper() + value[1:], value, 1)
    if not held and " said: " not in text and rng.random() < FRAMED:
        text = framed(rng, text, BEFORE_FACT, AFTER_FACT).rstrip(".") + "."
    return Fact(who, relation, value, day, text)


def ask(rng, who, relation, phrasing, held):
    slots = who.slots(rng, who.in_questions, held)
    if who.me:
        text = fill(rng.choice(relation.wordings("questions_me", phrasing)), rng, slots)
    else:
        text = fill(rng.choice(relation.wordings("questions", phrasing)), rng, slots)
    if not held and rng.random() < FRAMED:
        text = framed(rng, text, BEFORE_QUESTION, AFTER_QUESTION)
    if rng.random() < 0.06:
        text = text.rstrip("?.!")
    if rng.random() < 0.06:
        text = text[0].lower() + text[1:]
    return text


BEFORE_QUESTION = ["Hey, {q}", "So, {q}", "Quick question: {q}", "I forgot: {q}", "Sorry, {q}", "Just checking: {q}", "One more thing: {q}", "Hm, {q}",
                   "Do you happen to know? {Q}", "Let me think. {Q}", "I should know this. {Q}", "Can you help me? {Q}", "{N} wants to know: {q}", "{N} asked me: {q}"]
AFTER_QUESTION = ["{Q} I forgot.", "{Q} Do you know?", "{Q} I can't remember.", "{Q} {N} is asking.", "{Q} Just the answer, please.", "{Q} Thanks!"]
BEFORE_FACT = ["As far as (we|people) know, {s}", "It (turns out|turned out|seems) that {s}", "According to {N}, {s}", "{N} says that {s}", "It was mentioned at {P} that {s}",
               "Note: {s}", "By the way, {s}", "(Apparently|Indeed|In fact|Right now|These days), {s}", "It is a fact that {s}", "On {D} it came up that {s}"]
AFTER_FACT = ["{s}, as {N} (told|reminded) everyone.", "{s}, and {N} knows it.", "{s} ({N} was there too).", "{s}; {N} heard about it at {P}.", "{s}. {N} was surprised."]


SMALL_WORDS = set("the a an my his her their this that these those in on at to for from with by as of since until every each all after before "
                  "when while because what which who whom whose where why how do does did is are was were has have had can could would will "
                  "should tell remind name give it there if once during".split())


def framed(rng, text, before, after):
    """The sentence with something around it that doesn't matter."""
    small = text[0].lower() + text[1:] if text.split()[0].lower() in SMALL_WORDS else text
    slots = {"q": small, "Q": text, "s": small.rstrip(".!"), **fillers(rng)}
    return fill(rng.choice(before if rng.random() < 0.6 else after), rng, slots)


def theme_of(rng, fact):
    return fill(rng.choice(fact.relation.theme), rng, {"S": fact.who.in_facts, "S's": fact.who.in_facts + "'s"})


class Context:
    """Memory lines and what can be asked about them."""

    def __init__(self, rng, n_lines, held=False, phrasing="seen", change=0.12, hops=0.08):
        self.rng, self.held, self.phrasing = rng, held, phrasing
        self.facts, self.extra = [], []
        self.two_steps = []  # (asked as, the Fact that answers)
        start = lexicon.random_date(rng, 2018, 2026)
        day = lambda: start + timedelta(days=rng.randrange(500))  # noqa: E731
        taken = set()
        people = [subject(rng, held, taken) for _ in range(max(1, min(n_lines, rng.choice((1, 2, 2, 3, 3, 4, 5)))))]
        shared = rng.sample(PERSON_RELATIONS, min(len(PERSON_RELATIONS), max(2, n_lines // 2)))
        used = set()
        attempts = 0
        while len(self.facts) + len(self.extra) < n_lines and attempts < 20 * n_lines + 50:
            attempts += 1
            who = rng.choice(people)
            relation = rng.choice(shared) if rng.random() < 0.6 else rng.choice(PERSON_RELATIONS)
            if (relation.subject == "user" and not who.me) or (who, relation.name) in used:
                continue
            used.add((who, relation.name))
            value = lexicon.value(relation.value, rng, held) if held or rng.random() > STRANGE else lexicon.strange(rng)
            room = n_lines - len(self.facts) - len(self.extra)
            if relation.single and room >= 2 and rng.random() < change:
                first, second = sorted((day(), day()))
                if first == second:
                    second += timedelta(days=40)
                old = write_fact(rng, who, relation, lexicon.value(relation.value, rng, held), first, phrasing, held)
                old.stale = True
                if old.value == value:
                    continue
                self.facts += [old, write_fact(rng, who, relation, value, second, phrasing, held, earlier=old.value)]
            elif room >= 2 and who.speaker and rng.random() < hops:
                kin, gender = rng.choice(list(KIN.items()))
                name, _ = lexicon.person_name(rng, held)
                if name in taken or f"{who.in_facts}'s {kin}" in taken:
                    continue
                taken.update((name, f"{who.in_facts}'s {kin}"))
                other = Subject(name, name, gender)
                slots = {"A": who.in_facts, "A's": who.in_facts + "'s", "K": kin, "B": name}
                linking = fill(rng.choice(KIN_FACTS_UNSEEN if phrasing == "unseen" else KIN_FACTS), rng, slots)
                linking = linking.replace(" The user", " the user")
                self.extra.append(memory_line(day(), linking))
                fact = write_fact(rng, other, relation, value, day(), phrasing, held, raw=0)
                self.facts.append(fact)
                asked = "my " + kin if who.me else f"{who.in_questions}'s {kin}"
                self.two_steps.append((Subject(asked, asked, gender), fact))
            else:
                self.facts.append(write_fact(rng, who, relation, value, day(), phrasing, held))
        self.people = people

    def lines(self):
        """By date or in any order (the date decides which value is the latest); sometimes under the names
        of their themes, or as an episode with its title, as the program shows them."""
        rng = self.rng
        plain = self.held or rng.random() < 0.7
        titled = 0.0 if plain or rng.random() < 0.5 else 0.3
        marked = not plain
        rows = []
        for f in self.facts:
            text = f.text
            if rng.random() < titled:
                text = f"{theme_of(rng, f)}: {text}"
            if f.stale and marked and rng.random() < 0.6:
                text += " (no longer so)"
            rows.append((f.day, memory_line(f.day, text), f))
        rows += [(None, text, None) for text in self.extra]
        rng.shuffle(rows)
        if rng.random() < 0.5:
            rows = sorted((r for r in rows if r[0]), key=lambda r: r[0]) + [r for r in rows if not r[0]]
        if plain or rng.random() < 0.5:
            return [text for _, text, _ in rows]
        rows.sort(key=lambda r: r[2].relation.topic if r[2] else "")
        out, topic = [], None
        for _, text, f in rows:
            if f and f.relation.topic != topic:
                topic = f.relation.topic
                out.append(f"About {theme_of(rng, f)}:")
            out.append(text)
        return out

    def questions(self, n, absent=0.08, phrasing=None):
        """n times (question, answer, Fact or None); a fact may be asked for more than once."""
        rng, phrasing = self.rng, phrasing or self.phrasing
        pool = [f for f in self.facts if not f.stale]
        hops = {id(fact): who for who, fact in self.two_steps}
        known = {(f.who.in_facts, f.relation.name) for f in self.facts}
        topics = {(f.who.in_facts, f.relation.topic) for f in self.facts}
        out, asked, queue = [], set(), []
        for _ in range(3 * n):
            if len(out) == n:
                break
            if absent and rng.random() < absent:
                who, relation = rng.choice(self.people), rng.choice(PERSON_RELATIONS)
                key = (who.in_facts, relation.name)
                if key in known or (relation.subject == "user" and not who.me) or (who.in_facts, relation.topic) in topics:
                    continue
                question, value, fact = ask(rng, who, relation, phrasing, self.held), UNKNOWN, None
            else:
                if not queue:
                    queue = rng.sample(pool, len(pool))
                fact = queue.pop()
                who = hops[id(fact)] if id(fact) in hops and rng.random() < 0.7 else fact.who
                question, value = ask(rng, who, fact.relation, phrasing, self.held), fact.value
            if question not in asked:
                asked.add(question)
                out.append((question, value, fact))
        return out
