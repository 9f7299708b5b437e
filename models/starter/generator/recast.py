"""Recasts open training text into samples for the starter's language model.

Reads `../shared/data/training/*.jsonl.gz` ({source, licence, messages}), takes only rows under MIT, Apache-2.0 or CC BY 4.0
(no share-alike rows), and yields dictionaries of five kinds, deterministically by seed:

  {"task": "answer" | "cloze", "lines": [...], "turns": [[question, answer, index of the line], ...], "kind", "source", "licence"}
  {"task": "chat", "turns": [[user, assistant], ...], "source", "licence"}
  {"task": "text", "text": "...", "source", "licence"}
  {"task": "boundary", "history": ["A: ..", ...], "next": "A: ..", "answer": "yes" | "no", "source", "licence"}

`kind` of an answer sample says where its questions come from: "human" (the data set's own question), "rule" (made from a sentence
by a pattern, the answer being a span of it), "mixed" (both; lines of different texts shuffled), "dialogue".
An answer always stands literally in its line. Python's standard library only.

    python -m generator.recast --training ../../../shared/data/training --out recast.jsonl [--seed 1]
"""
import argparse
import collections
import gzip
import json
import os
import random
import re

from .lexicon import held_out

LICENCES = {"MIT", "Apache-2.0", "CC BY 4.0"}
LINE_MAX, TOTAL_MAX, ANSWER_WORDS, QUESTION_WORDS = 220, 1600, 6, 25
# Stand in for the nameless speakers of the dialogues (the generator's held-out names must not be among them).
WOMEN = ("Amy Carla Emma Grace Irene Karen Maria Olivia Rachel Tina Wendy Bella Diana Fiona Hannah Julia Laura Nina Rita Vera Zoe Alice "
         "Clara Ella Gina Ivy Kate Mia Rosa Sue Anna Betty Cindy Donna Eva Gloria Helen Iris Jane Kim Linda Megan Nora Paula Ruth Sara "
         "Tara Ursula Violet Yvonne Abby Brenda Claire Daisy Elsa Flora Heidi Isabel Joan Kelly Lily Molly Naomi Pam Rose Sonia Tess").split()
MEN = ("Ben David Frank Henry Jack Leo Nathan Paul Sam Victor Adam Chris Eric George Ian Kevin Mark Oscar Peter Steve Tom Will Bob Dan "
       "Fred Harry James Liam Noah Ted Alan Brian Carl Derek Edward Felix Gary Hugo Ivan Joe Keith Luke Mike Neil Otto Phil Ralph Scott "
       "Tony Walter Andy Bruce Colin Dennis Evan Greg Howard Jason Kurt Louis Martin Nick Patrick Roger Simon Tim Vincent Alex").split()


WOMEN, MEN = [n for n in WOMEN if not held_out(n)], [n for n in MEN if not held_out(n)]
NAMES = WOMEN + MEN
SURNAMES = "Adams Baker Clark Davis Ellis Foster Gray Hall Irwin Jones Kelley Lewis Moore Nolan Owens Parker Quinn Reed Shaw Turner Wells Young".split()
SURNAMES = [n for n in SURNAMES if not held_out(n)]
# ---------------------------------------------------------------------------------------------------------------- text

_MAP = {0x2018: "'", 0x2019: "'", 0x201a: "'", 0x201b: "'", 0x2032: "'", 0x60: "'", 0xb4: "'", 0x201c: '"', 0x201d: '"',
        0x201e: '"', 0xab: '"', 0xbb: '"', 0x2033: '"', 0x2010: "-", 0x2011: "-", 0x2012: "-", 0x2013: "-", 0x2014: " - ",
        0x2015: " - ", 0x2212: "-", 0x2026: "...", 0xa0: " ", 0x200b: "", 0xfeff: "", 0x2022: "-", 0xad: "", 0x2009: " ",
        0x202f: " ", 0x3000: " "}


def clean(text):
    """One line of plain text with ASCII punctuation, tokenised text joined again."""
    text = text.replace("<|endoftext|>", " ").replace("\\r", " ").replace("\\n", " ").translate(_MAP)
    text = text.replace("''", '"')
    text = re.sub(r"\[\d+\]", "", text)
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r" ([.,!?;:%)\]])(?=$|[\s\"')])", r"\1", text)
    text = re.sub(r"([(\[]) ", r"\1", text)
    text = re.sub(r"(?<=\w) ' ?(?=(?:t|s|m|re|ve|ll|d|clock)\b)", "'", text)
    text = re.sub(r" (n't|'s|'m|'re|'ve|'ll|'d)\b", r"\1", text)
    text = re.sub(r"(?<=[a-z0-9)])([.!?][\"']?)(?=[A-Z][a-z])", r"\1 ", text)
    text = re.sub(r"\bs/he\b", "she", text)
    return text


_ABBREVIATION = re.compile(r"\b(Mr|Mrs|Ms|Dr|St|Jr|Sr|Lt|Col|Gen|Sgt|Capt|Prof|Rev|Hon|No|Vol|vs|etc|Inc|Co|Ltd|e\.g|i\.e|a\.k\.a|[A-Z])\.(?= )")


def sentences(text):
    out = []
    for part in text.split("\n"):
        part = clean(part)
        if not part:
            continue
        part = _ABBREVIATION.sub(lambda m: m.group(0)[:-1] + "\0", part)
        for s in re.split(r"(?<=[.!?])[\"')]*\s+(?=[A-Z0-9\"'(])", part):
            s = s.replace("\0", ".").strip()
            if s:
                out.append(s)
    return out


def lines_of(text):
    """Sentences as memory lines; one that is too long is cut at a comma, semicolon or conjunction."""
    out = []
    for s in sentences(text):
        if s.count('"') % 2:
            s = s.replace('"', "")
        while len(s) > LINE_MAX:
            cuts = [m.end() for m in re.finditer(r"[;,:] |(?= (?:and|but|who|which|when|while|because) )", s[:LINE_MAX]) if 60 < m.end()]
            cut = cuts[-1] if cuts else s.rfind(" ", 0, LINE_MAX)
            if cut <= 0:
                break
            out.append(s[:cut].strip().rstrip(",;:"))
            s = s[cut:].strip()
        if s and len(s) <= LINE_MAX:
            out.append(s)
    out = [s[:1].upper() + s[1:] for s in out]
    return [s for s in out if len(s) >= 12 and len(re.findall(r"[A-Za-z]", s)) >= 0.6 * len(s)]


def words(text):
    return re.findall(r"[A-Za-z0-9][A-Za-z0-9'\-]*", text)


def find(span, line):
    """The span as it stands in the line (case-insensitive, at word boundaries), or None."""
    m = re.search(r"(?<![\w])" + re.escape(span) + r"(?![\w])", line, re.I)
    return m.group(0) if m else None


STOP = set("""a an the of in on at to for from by with and or but if then so as is are was were be been being am do does did done has have had
having will would can could shall should may might must not no yes it its he she they them his her their him we us our you your i me my mine
this that these those there here what which who whom whose when where why how than too very just also into onto over under after before during
about up down out off all any some more most other such only own same s t name person people thing one two first last""".split())


def content(text):
    return {w.lower().removesuffix("'s")[:5] for w in words(text) if w.lower() not in STOP and len(w) > 2}


def choose(rng, template):
    """Expands (a|b|c), innermost first."""
    while True:
        m = re.search(r"\(([^()]*\|[^()]*)\)", template)
        if not m:
            break
        template = template[:m.start()] + rng.choice(m.group(1).split("|")) + template[m.end():]
    template = re.sub(r"  +", " ", template).strip()
    template = re.sub(r" ([:?!])", r"\1", template)
    return template[:1].upper() + template[1:]


# -------------------------------------------------------------------------------------------------------------- reading

def load(folder):
    rows = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".jsonl.gz"):
            with gzip.open(os.path.join(folder, name), "rt", encoding="utf-8") as f:
                for line in f:
                    row = json.loads(line)
                    if row["licence"] in LICENCES:
                        rows.append(row)
    return rows


QUOREF = {
    "Answer_Friend_Question": r"answer this question: (?P<q>.*?), using the article: (?P<p>.*), what would be the answer \?$",
    "Answer_Question_Given_Context": r"^Given the following context:\s+(?P<p>.*)\s+answer the following question:\s+(?P<q>.*)$",
    "Answer_Test": r"answer for the question: (?P<q>[^\n]*?) \?\n\n(?P<p>.*)$",
    "Context_Contains_Answer": r"^This article: (?P<p>.*) contains an answer for the question: (?P<q>.*?), what is it \?$",
    "Find_Answer": r"answer for the question: (?P<q>[^\n]*?) , can you please find it\?\s+(?P<p>.*)$",
    "Found_Context_Online": r"answer the question: (?P<q>[^\n]*)\n\n(?P<p>.*)$",
    "Given_Context_Answer_Question": r"^(?P<q>[^\n]*)\n\nAnswer the above question based on the context below:\s+(?P<p>.*)$",
    "Guess_Answer": r"answer to the question: (?P<q>.*?) is inside the article: (?P<p>.*), can you guess it \?$",
    "Read_And_Extract_": r"answer for the question: (?P<q>[^\n]*)\n\n(?P<p>.*)$",
    "What_Is_The_Answer": r"answer for the question: (?P<q>[^\n]*?) from the following article \?\n\n(?P<p>.*)$",
    "Guess_Title_For_Context": r"^Given the below context:\s+(?P<p>.*)\s+Guess a valid title for it!$",
}
UNFIT = re.compile(r"\b(rap(e|ed|es|ing|ist)|anal(ly)?|vagina|penis|sodom\w*|sexual\w*|incest|porn\w*|prostitut\w*|masturbat\w*|molest\w*|orgy|poop\w*|suicide|"
                   r"fuck\w*|shit\w*|bitch\w*|nigg\w*|faggot\w*|slut\w*|whore\w*|blowjob|naked|nude|sex|kill(ed|s|ing)? (himself|herself|themselves)|mak(e|es|ing) out|passionate\w*|lust\w*|disembowel\w*)\b", re.I)
NO_ANSWER = re.compile(r"no answer|can't answer|no i can't|not answerable|insufficient information", re.I)


class Passage:
    def __init__(self, text, source, licence):
        self.text, self.source, self.licence, self.pairs = text, source, licence, {}


def reading(rows):
    """Passages with their human questions, plain facts with a question, single statements, step lists."""
    passages, facts, statements, steps, concepts = {}, {}, {}, {}, {}

    def passage(text, source, licence):
        if len(UNFIT.findall(text)) >= 1:
            return Passage("", source, licence)
        text = text.strip()
        if text.endswith("..."):                       # the rows are cut at about 2,000 characters
            cut = max(text.rfind(". "), text.rfind(".\n"))
            text = text[:cut + 1] if cut > 0 else text
        key = clean(text[:160])[:100]
        p = passages.get(key)
        if p is None:
            p = passages[key] = Passage(text, source, licence)
        elif len(text) > len(p.text):
            p.text = text
        return p

    for row in rows:
        source, licence = row["source"], row["licence"]
        if not source.startswith("p3/"):
            continue
        u, a = row["messages"][0]["content"].strip(), row["messages"][1]["content"].replace("<|endoftext|>", "").strip()
        name = source[3:]
        q = p = None
        if name.startswith("duorc"):
            kind = name.split("_", 2)[2]
            base = "p3/" + "_".join(name.split("_")[:2])
            if kind == "build_story_around_qa":
                p = a
            elif kind == "generate_question_by_answer":
                m = re.match(r"Generate a question that has the following answer: \n(.*?) \nfor the following movie plot: \n(.*)$", u, re.S)
                if m:
                    q, p, a = a, m.group(2), m.group(1)
            elif kind in ("generate_question", "title_generation"):
                m = re.search(r"following movie plot: (.*)$", u, re.S)
                p = m.group(1) if m else None
            else:
                m = (re.search(r"(?:My question|Question): ([^\n]*)(?:\n|$)", u))
                n = re.search(r"(?:Movie plot|Context): (.*?)(?:\nMy question: [^\n]*)?$", u, re.S)
                if m and n:
                    q, p = m.group(1), n.group(1)
            if p:
                target = passage(p, base, licence)
                if q and not NO_ANSWER.search(a):
                    target.pairs[clean(q)] = clean(a)
        elif name.startswith("quoref"):
            m = re.search(QUOREF.get(name[7:], r"$^"), u, re.S)
            if m:
                target = passage(m.group("p"), "p3/quoref", licence)
                if "q" in m.groupdict():
                    target.pairs[clean(m.group("q"))] = clean(a)
        elif name.startswith("cosmos_qa") and not name.endswith("only_question_answer"):
            t = re.sub(r"^(Read the following context[^\n]*\n|Based on the context and[^\n]*\n\s*)", "", u)
            t = re.sub(r"^Context: ", "", t).split("\n")[0]
            if len(t) > 80:
                passage(t, "p3/cosmos_qa", licence)
        elif name == "ropes_prompt_bottom_hint_beginning":
            m = re.match(r"Background: (.*?)\n\nParagraph: (.*?)\n\nGiven the paragraph", u, re.S)
            if m:
                passage(m.group(1), "p3/ropes", licence)
                passage(m.group(2), "p3/ropes", licence)
        elif name == "qasc_qa_with_combined_facts_1":
            m = re.match(r"If (.*?), then (.*?\?)\s+Answer choices", u, re.S)
            if m:
                fact = clean(m.group(1)).rstrip(".")
                facts.setdefault(fact[:1].upper() + fact[1:] + ".", (clean(m.group(2)), clean(a), "p3/qasc", licence))
        elif name == "qasc_qa_with_separated_facts_3":
            for m in re.finditer(r"Fact \d: (.*?\.)", u):
                statements.setdefault(clean(m.group(1)), ("p3/qasc", licence))
        elif name == "quartz_use_info_from_paragraph_question":
            m = re.search(r"Paragraph :\s+(.*?)\s+Question:", u, re.S)
            if m:
                for s in lines_of(m.group(1)):
                    statements.setdefault(s, ("p3/quartz", licence))
        elif name == "social_i_qa_Generate_answer":
            s = u.split("\n\nGiven the context")[0]
            for s in lines_of(s)[:1]:
                statements.setdefault(s, ("p3/social_i_qa", licence))
        elif name == "wiqa_effect_with_label_answer":
            m = re.match(r"Process:\n(.*?)\n\nQuestion:", u, re.S)
            if m:
                ss = [clean(s.lstrip("- ")).rstrip(".") for s in m.group(1).split("\n")]
                ss = [s for s in ss if s]
                steps.setdefault(tuple(ss), ("p3/wiqa", licence))
        elif name == "common_gen_sentence_to_concepts":
            m = re.match(r"We have the sentence: (.*); \nExtract", u, re.S)
            if m:
                s = clean(m.group(1)).rstrip(".") + "."
                s = s[:1].upper() + s[1:]
                concepts.setdefault(s, ([clean(c) for c in a.split(",")], "p3/common_gen", licence))
    return list(passages.values()), facts, statements, steps, concepts


def dialogues(rows):
    """[(source, licence, [(role, text), ...])]; and MemoChat's summaries as (topic, summary)."""
    out, summaries, seen, told = [], {}, set(), []

    def add(source, licence, turns):
        turns = [(r, clean(t)) for r, t in turns]
        turns = [(r, t) for r, t in turns if t]
        key = tuple(t for _, t in turns[:4])
        if len(turns) >= 2 and key not in seen and not any("UNANSWERABLE" in t or UNFIT.search(t) for _, t in turns):
            seen.add(key)
            out.append((source, licence, turns))

    for row in rows:
        source, licence = row["source"].split("/")[0], row["licence"]
        if source in ("taskmaster-4", "memorybank"):
            add(source, licence, [(m["role"], m["content"]) for m in row["messages"]])
        elif source == "memochat":
            u, a = row["messages"][0]["content"], row["messages"][1]["content"]
            for m in re.finditer(r"\n\((?:\d+)\) ([^\n.]{3,60})\. ([^\n]{20,300})", u):
                if "NOTO" not in m.group(1):
                    summaries.setdefault(clean(m.group(2)), clean(m.group(1)))
            for m in re.finditer(r"'Related Summaries': (['\"])(.*?)\1, 'Related Dialogs'", u):
                summaries.setdefault(clean(m.group(2)), "")
            if "-line Task Conversation" in u[:60]:
                turns = [(m.group(1), m.group(2)) for m in re.finditer(r"\(line \d+\) (user|bot): ([^\n]*)", u)]
                turns = [("user" if r == "user" else "assistant", t) for r, t in turns]
                try:
                    segments = json.loads(a)
                except ValueError:
                    continue
                for s in segments:
                    if "summary" not in s:                 # open-domain questions: their topics drift, no hard boundary
                        continue
                    summaries.setdefault(clean(s["summary"]), clean(s["topic"]))
                    add(source, licence, turns[s["start"] - 1:s["end"]])
                    told.append((clean(s["summary"]), [(r, clean(t)) for r, t in turns[s["start"] - 1:s["end"]]]))
            elif "Recent Dialogs:" in u:
                m = re.search(r"Recent Dialogs:\n(.*?)\n```", u, re.S)
                turns = [t.split(": ", 1) for t in (m.group(1).strip() if m else "").split(" ### ")]
                turns = [("user" if t[0] == "user" else "assistant", t[1]) for t in turns if len(t) == 2]
                n = re.search(r"User Input:\nuser: (.*) ### bot:", u, re.S)
                if n:
                    turns += [("user", n.group(1)), ("assistant", a)]
                    add(source, licence, turns)
    return out, summaries, told


# --------------------------------------------------------------------------------------------------- questions by pattern

PERSON_VERBS = ("said|says|asked|asks|told|tells|decided|decides|wanted|wants|loved|loves|went|goes|felt|feels|thought|thinks|tried|tries|"
                "knew|knows|realized|realizes|bought|buys|gave|gives|took|takes|met|meets|married|marries|helped|helps|agreed|agrees|"
                "died|dies|finds|found|arrives|arrived|begins|learns|learned|discovers|sees|saw|asks|wrote|writes|played|plays|hated|"
                "needed|needs|liked|likes|got|gets|returns|returned|leaves|left|calls|called|escapes|escaped|refuses|refused")
IRREGULAR = ("was|is|has|had|became|began|wrote|took|went|came|got|made|gave|found|left|met|saw|told|said|knew|felt|kept|brought|bought|"
             "ran|won|lost|held|led|spent|sold|built|sent|taught|caught|fought|drove|flew|fell|grew|rode|sang|spoke|stole|threw|wore|broke|"
             "chose|drank|ate|drew|hid|let|put|cut|hit|set|read|thought|understood|woke|wanted|could|would|can|will|must")
PREP = "a|an|the|to|his|her|that|him|them|in|on|for|by|into|out|up|with|at|from|their|off|back|down|away|over|as|and|about|it|how|what|who"
NAME = r"[A-Z][a-z]+(?:[ -](?:de |van |von |O'|Mc)?[A-Z][a-z]+){0,2}"
NP = r"(?:(?:the|a|an|his|her|their|some|two|three|four|five|new|my|our|\d+) )?(?:[A-Za-z'\-]+ ){0,3}?[A-Za-z'\-]+"
NP_END = r"(?=[.,;!?]|$| (?:and|to|with|in|on|at|for|from|by|who|that|because|when|after|before|while|so|but|where|which|as|since|during|into|from|out|there|together|today|yesterday|tomorrow|last|next|again|recently|is|was|are|were|has|had|about|of his|whose|if|than|not|can|will|would)\b)"
DO = {"decided": "decide", "wanted": "want", "needed": "need", "planned": "plan", "tried": "try", "agreed": "agree", "promised": "promise",
      "hoped": "hope", "offered": "offer", "refused": "refuse", "learned": "learn", "forgot": "forget", "managed": "manage", "chose": "choose",
      "began": "begin", "started": "start", "attempted": "attempt", "threatened": "threaten"}
DOES = {"decides": "decide", "wants": "want", "needs": "need", "plans": "plan", "tries": "try", "agrees": "agree", "promises": "promise",
        "hopes": "hope", "offers": "offer", "refuses": "refuse", "learns": "learn", "manages": "manage", "chooses": "choose",
        "begins": "begin", "starts": "start", "attempts": "attempt", "threatens": "threaten", "expects": "expect"}
OBJECT = {"bought": "buy", "buys": "buy", "killed": "kill", "kills": "kill", "met": "meet", "meets": "meet", "married": "marry", "marries": "marry",
          "loved": "love", "loves": "love", "visited": "visit", "visits": "visit", "found": "find", "finds": "find", "saved": "save", "saves": "save",
          "helped": "help", "helps": "help", "followed": "follow", "follows": "follow", "called": "call", "calls": "call", "invited": "invite",
          "invites": "invite", "discovered": "discover", "discovers": "discover", "played": "play", "plays": "play", "wrote": "write",
          "writes": "write", "took": "take", "takes": "take", "sold": "sell", "sells": "sell", "stole": "steal", "steals": "steal",
          "made": "make", "makes": "make", "attacked": "attack", "attacks": "attack", "built": "build", "lost": "lose", "loses": "lose",
          "won": "win", "wins": "win", "ordered": "order", "orders": "order", "ate": "eat", "eats": "eat", "needed": "need", "needs": "need",
          "wanted": "want", "wants": "want", "kidnaps": "kidnap", "kidnapped": "kidnap", "shoots": "shoot", "shot": "shoot", "sees": "see",
          "saw": "see", "hires": "hire", "hired": "hire", "rescues": "rescue", "rescued": "rescue", "confronts": "confront", "likes": "like",
          "liked": "like", "hates": "hate", "recommends": "recommend", "recommended": "recommend", "studied": "study", "studies": "study",
          "received": "receive", "receives": "receive", "murders": "murder", "brought": "bring", "brings": "bring", "joined": "join",
          "joins": "join", "teaches": "teach", "taught": "teach", "sends": "send", "sent": "send", "suggests": "suggest", "suggested": "suggest"}
GO = {"went": "go", "goes": "go", "travels": "travel", "traveled": "travel", "travelled": "travel", "moved": "move", "moves": "move",
      "returned": "return", "returns": "return", "drove": "drive", "drives": "drive", "flew": "fly", "flies": "fly", "ran": "run", "runs": "run",
      "came": "come", "comes": "come", "walked": "walk", "walks": "walk", "escapes": "escape", "escaped": "escape", "heads": "head"}
ABOUT = {"tells": "tell", "told": "tell", "asks": "ask", "asked": "ask", "reminds": "remind", "reminded": "remind", "informs": "inform", "warns": "warn",
         "informed": "inform", "warned": "warn", "consults": "consult", "complains": "complain"}
ASK = {"asks": "ask", "asked": "ask", "tells": "tell", "told": "tell", "invites": "invite", "invited": "invite", "helps": "help", "helped": "help",
       "persuades": "persuade", "persuaded": "persuade", "calls": "call", "called": "call", "advises": "advise", "advised": "advise", "wants": "want",
       "wanted": "want", "thanks": "thank", "thanked": "thank", "shows": "show", "showed": "show", "reminds": "remind", "offers": "offer",
       "gives": "give", "gave": "give", "teaches": "teach", "taught": "teach", "warns": "warn", "warned": "warn", "interviews": "interview"}
LIKING = {"likes": "like", "liked": "like", "loves": "love", "loved": "love", "enjoys": "enjoy", "enjoyed": "enjoy", "hates": "hate", "hated": "hate",
          "suggests": "suggest", "suggested": "suggest", "recommends": "recommend", "prefers": "prefer", "preferred": "prefer", "avoids": "avoid",
          "considers": "consider", "keeps": "keep", "regrets": "regret", "started": "start", "needs": "need", "buys": "buy", "bought": "buy",
          "orders": "order", "ordered": "order", "sells": "sell", "makes": "make", "made": "make"}
PLACING = set("in on at to for from with by between near behind under over into around through up down out off away back outside inside across along not so very too too".split())
KIN = ("sister|brother|wife|husband|son|daughter|father|mother|friend|boss|partner|girlfriend|boyfriend|cousin|uncle|aunt|fiance|fiancee|"
       "grandfather|grandmother|assistant|roommate|neighbor|neighbour|teacher|colleague|dog|cat|rival|boyhood friend|best friend")
NOT_NAME = set("""The A An He She It They We I You His Her Their Its This That These Those There Here When While After Before As At In On For
From By With And But Or So If Then Now Later Soon Once Meanwhile However Although Though Because Since Despite Unable During Upon Back Both
All Some Many Most Each Every One Two Three Four Five Several Another Other What Which Who Where Why How Yes No Not Just Only Even Also
Suddenly Finally Eventually Instead Afterwards Next Today Yesterday Tomorrow Mr Mrs Ms Dr To Of Everyone Someone Nobody Nothing Everything
Please Thanks Thank Ok Okay Oh Well Hi Hello Hey Sure Great Sorry Let My Your Our Do Does Did Is Are Was Were Can Could Would Will Should Have
Has Had Be Been Other Others Such Same Like Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July
August September October November December English American French German British Italian Chinese Russian Spanish Indian Japanese""".split())


class Lexicon:
    """Which capitalised words are names, which names are persons: counted over the text itself."""

    def __init__(self, texts):
        inside, lower, persons = collections.Counter(), collections.Counter(), collections.Counter()
        for t in texts:
            for m in re.finditer(r"(?<=[a-z,] )([A-Z][a-z]+)", t):
                inside[m.group(1)] += 1
            for m in re.finditer(r"\b([a-z]+)\b", t):
                lower[m.group(1)] += 1
            for m in re.finditer(r"\b([A-Z][a-z]+) (?:%s)\b" % PERSON_VERBS, t):
                persons[m.group(1)] += 1
            for m in re.finditer(r"\b(?:Mr|Mrs|Ms|Dr|Miss|Captain|Sergeant|Professor|Aunt|Uncle)\.? ([A-Z][a-z]+)", t):
                persons[m.group(1)] += 2
        self.names = {w for w in set(inside) | set(persons) if w not in NOT_NAME and lower[w.lower()] * 4 <= inside[w] + persons[w]}
        self.persons = {w for w in persons if w in self.names} | set(NAMES)
        self.names |= set(NAMES)

    def is_name(self, span):
        parts = re.split(r"[ -]", span)
        return parts[0] in self.names and not any(p in NOT_NAME for p in parts)

    def is_person(self, span):
        return self.is_name(span) and any(p in self.persons for p in re.split(r"[ -]", span))


def trim_predicate(rest):
    """A verb phrase cut where a clause ends, at most 16 words."""
    rest = rest.rstrip(" .!?").replace('"', "") if rest.count('"') % 2 else rest.rstrip(" .!?")
    m = re.search(r" (?:and|so|but|because) (?:he|she|they|it|there|then|[A-Z][a-z]+|the user)\b", rest)
    if m and len(rest[:m.start()].split(" ")) >= 2:
        rest = rest[:m.start()]
    for m in re.finditer(r"(, |; | - | but | so that | while | because |: )", rest):
        if len(words(rest[:m.start()])) >= 4:
            rest = rest[:m.start()]
            break
    w = rest.split(" ")
    if len(w) > 16:
        m = [x.start() for x in re.finditer(r" (?:and|when|after|who|which|where|until|as|in|to|with)\b", " ".join(w[:16]))]
        m = [x for x in m if len(rest[:x].split(" ")) >= 5]
        rest = rest[:m[-1]] if m else ""
    return rest.strip(" ,;:-")


REWORD = [tuple(x.split("=")) for x in """buys=purchases|bought=purchased|wants to=would like to|wanted to=wished to|talk about=discuss|talks about=discusses|helps=assists|helped=assisted|
tells=informs|told=informed|asks for=requests|asked for=requested|big=large|large=big|house=home|movie=film|begins=starts|began=started|starts=begins|started=began|
tries to=attempts to|tried to=attempted to|needs to=has to|needed to=had to|decides to=chooses to|decided to=chose to|likes=is fond of|liked=was fond of|
enjoys=likes|enjoyed=liked|afraid=scared|angry=mad|happy=glad|sick=ill|kids=children|children=kids|car=vehicle|money=cash|is going to=will|thinks=believes|thought=believed|
finds=discovers|found=discovered|meets=runs into|met=ran into|goes to=heads to|went to=headed to|leaves=departs from|
looks for=searches for|looked for=searched for|is looking for=is searching for|recommends=suggests|suggests=proposes|suggested=proposed|worried=anxious|tired=exhausted|
difficult=hard|store=shop|shop=store|apartment=flat|friend=pal|quickly=fast|trip=journey|gift=present|picks=chooses|picked=chose|repair=fix|fix=repair|
watched=looked at|agrees to=consents to|agreed to=consented to|dinner=supper""".replace("\n", "").split("|") if "=" in x]


def reword(rng, rest):
    """One or two words put otherwise, so that the question is no echo of the line."""
    hits = [(a, b) for a, b in REWORD if re.search(r"\b%s\b" % a, rest)]
    for a, b in rng.sample(hits, min(len(hits), 2)):
        rest = re.sub(r"\b%s\b" % a, b, rest, count=1)
    rest = re.sub(r"\ban (?=[bcdfgj-np-tv-z])", "a ", rest)
    return re.sub(r"\ba (?=[aeio])", "an ", rest)


def rename(rng, lex, line, q, a):
    """Other names for the persons of a line, so that no name is learned with its fact."""
    found = []
    for m in re.finditer(NAME, line):
        for w in m.group(0).split(" "):
            if w in lex.persons and w not in NOT_NAME and w not in found and (m.group(0) in lex.persons or w == m.group(0).split(" ")[0] or w == m.group(0).split(" ")[-1]):
                found.append(w)
    if not found or len(found) > 4:
        return line, q, a
    he, she = re.search(r"\b(he|him|his)\b", line), re.search(r"\b(she|her|hers|daughter|wife|pregnant|actress)\b", line)
    fit = MEN if he and not she else WOMEN if she and not he else NAMES
    fit = [n for n in fit if n not in line]
    new = dict(zip(found, rng.sample(fit, len(found))))
    for m in re.finditer(NAME, line):                       # a surname stays a surname
        parts = m.group(0).split(" ")
        titled = re.search(r"\b(Mr|Mrs|Ms|Dr|Miss|Mister|Captain|Sergeant|Professor)\.? $", line[:m.start()])
        for w in parts[0 if titled else 1:]:
            if w in new:
                new[w] = rng.choice(SURNAMES)
    put = lambda t: re.sub(r"\b(%s)\b" % "|".join(map(re.escape, found)), lambda m: new[m.group(1)], t)
    line, q, a = put(line), put(q), put(a)
    return line, q, a


def rule_questions(line, lex, rng):
    """[(question, answer)] made from one sentence; the answer is a span of it."""
    out = []
    m = re.match(r"(%s) ((?:never |also |then |soon |later |finally |now |quickly |eventually )?([a-z]+)) (.+)$" % NAME, line)
    if m and lex.is_person(m.group(1)):
        x, verb, after = m.group(1), m.group(3), m.group(4)
        finite = re.fullmatch(IRREGULAR, verb) or re.search(r"[a-z]{2}ed$", verb) or (
            re.search(r"[a-z]{2}s$", verb) and re.match(r"(?:%s)\b" % PREP, after)) or verb in DOES or verb in OBJECT or verb in GO
        if finite:
            rest = trim_predicate(m.group(2) + " " + after)
            if rng.random() < 0.4:                      # a shorter question, no mere echo
                cuts = [c.start() for c in re.finditer(r" (?:and|when|after|who|which|where|until|to|with|on|in|at|for|from|because|about|by)\b", rest)]
                cuts = [c for c in cuts if len(rest[:c].split(" ")) >= 4 and rest[:c].split(" ")[-1] not in STOP | {"much", "many"} | set(DO) | set(DOES) and rest[:c].split(" ")[-2] not in ("and", "but", "or")
                        and not re.search(r"\bto (get|be|have|do|make|take|go|put|give|bring)$", rest[:c])
                        and not re.search(r"\b(who|which|that|so|when) [\w']+(?: [\w']+)?$", rest[:c])]
                rest = rest[:rng.choice(cuts)].strip(" ,;:-") if cuts else rest
            if rng.random() < 0.5:
                rest = reword(rng, rest)
            if 3 <= len(rest.split(" ")) <= 16 and x.split(" ")[0] not in rest and rest.count('"') != 1 and rest.count("(") == rest.count(")"):
                out.append((choose(rng, "(who|who|who|which person|which person|do you (know|remember) who|can you (tell me|say) who|which of them)") + " " + rest + "?", x))
        for table, aux in ((DO, "did"), (DOES, "does")):
            if verb in table:
                n = re.match(r"to ((?:[a-z'\-]+)(?: [A-Za-z'\-]+){0,5}?)(?=[.,;!?]|$| (?:and|because|so|but|when|while|after|before|who|that|which|since)\b)", after)
                if n:
                    out.append((choose(rng, f"(what {aux} {x} {table[verb]} to do|what is it that {x} {verb} to do|what {'was' if aux == 'did' else 'is'} it {x} {verb} to do|tell me what {x} {verb} to do)?"), n.group(1)))
        if verb in GO:
            n = re.match(r"(?:back )?to (%s)%s" % (NP, NP_END), after)
            if n and not lex.is_person(n.group(1)) and (n.group(1)[0].isupper() and lex.is_name(n.group(1)) or re.match(r"(the|a|an|his|her|their|my|school|work|bed|college|church|town|home)\b", n.group(1))):
                aux = "does" if verb.endswith("s") else "did"
                out.append((choose(rng, f"(where {aux} {x} {GO[verb]}|to which place {aux} {x} {GO[verb]}|where was it that {x} {verb}|what place {aux} {x} {GO[verb]} to)?"), n.group(1)))
        if verb in OBJECT:
            n = re.match(r"(%s)%s" % (NAME, NP_END), after)
            k = re.match(r"((?:the|a|an|his|her|their|some|two|three|new|\d+) (?:[a-z'\-]+ ){0,3}?[A-Za-z'\-]+)%s" % NP_END, after)
            aux = "does" if verb.endswith("s") else "did"
            if n and lex.is_person(n.group(1)):
                out.append((choose(rng, f"(who|whom|which person) {aux} {x} {OBJECT[verb]}?"), n.group(1)))
            elif k and len(words(k.group(1))) <= 5 and not re.search(r"\b(him|her|it|them|that)$", k.group(1)):
                person = not re.search(r"(dog|cat)s?$", k.group(1)) and re.search(r"\b(%s|man|woman|girl|boy|doctor|police|officer|killer|guy|lady|people|men)s?$" % KIN, k.group(1))
                out.append((choose(rng, f"{'who' if person else 'what'} {aux} {x} {OBJECT[verb]}?"), k.group(1)))
        aux = "does" if verb.endswith("s") else "did"
        n = re.match(r"(%s|the user) (?:about|of) ([^.;!?]+?)(?=[.,;!?]|$| (?:and|because|so|but|when|while|who|which|that)\b)" % NAME, after)
        if n and verb in ABOUT and n.group(1) != "the user" or n and verb in ABOUT and rng.random() < 0.7:
            out.append((choose(rng, f"(what {aux} {x} {ABOUT[verb]} {n.group(1)} about|about what {aux} {x} {ABOUT[verb]} {n.group(1)})?"), n.group(2)))
            out.append((choose(rng, f"(who|whom) {aux} {x} {ABOUT[verb]} about {n.group(2)}?"), n.group(1)))
        n = re.match(r"(%s|the user)\b (?:to|for|that|if|how|whether|the|a|an|some|out|about|with)\b ([a-z' \-]{4,50}?)(?=[.,;!?]|$| (?:and|because|so|but|when|while|who|which)\b)" % NAME, after)
        if n and verb in ASK and (n.group(1) == "the user" or lex.is_person(n.group(1))):
            tail = after[len(n.group(1)):n.end()].strip()
            if tail.split(" ")[-1] not in STOP and len(tail.split(" ")) >= 2:
                out.append((choose(rng, f"(who|whom|which person) {aux} {x} {ASK[verb]} {tail}?"), n.group(1)))
        n = re.match(r"([a-z]+ing (?:[A-Za-z'\-]+ ?){0,4}?)(?=[.,;!?]|$| (?:and|because|so|but|when|while|for|who|which|instead)\b)", after)
        if n and verb in LIKING:
            out.append((choose(rng, f"what {aux} {x} {LIKING[verb]}?"), n.group(1).strip()))
        n = re.match(r"((?:[a-z\-]+ )?[a-z\-]+(?:s|food|music|coffee|tea|milk|juice))%s" % NP_END, after)
        if n and verb in LIKING and not re.match(r"(the|a|an|to|his|her|that|it|this)\b", n.group(1)):
            out.append((choose(rng, f"what {aux} {x} {LIKING[verb]}?"), n.group(1)))
        if verb in ("has", "had"):
            n = re.match(r"((?:a|an|two|three|some) (?:[a-z\-]+ ){0,3}?[a-z\-]+)%s" % NP_END, after)
            if n:
                out.append((choose(rng, f"what {aux if verb == 'had' else 'does'} {x} have?"), n.group(1)))
        if verb in ("feels", "felt"):
            n = re.match(r"((?:very |so |really )?[a-z]+)(?=[.,;!?]|$| (?:and|because|about|that|when|with|after)\b)", after)
            if n:
                out.append((choose(rng, f"(how {aux} {x} feel|what {aux} {x} feel)?"), n.group(1)))
        if verb in ("is", "was") and " because " in after:
            n = re.match(r"([a-z' \-]{3,50}?) because (?:of )?([^.;!?,]+)", after)
            if n and not re.search(r"\bthat\b", n.group(1)):
                out.append((choose(rng, f"(why {verb} {x} {n.group(1)}|for what reason {verb} {x} {n.group(1)})?"), n.group(2).strip()))
        if verb in ("is", "was"):
            n = re.match(r"([a-z]+ing)(?: for| to| at| with| about| in| on| as| under| by| of| from| up| out)? ((?:the |a |an |his |her |their )?[A-Za-z'\-]+(?: [a-z'\-]+){0,3}?)%s" % NP_END, after)
            if n and n.group(1) not in ("going", "being", "having", "trying") and n.group(2).split(" ")[0] not in PLACING and not lex.is_person(n.group(2)) and not re.search(r"\b(it|him|her|them|to)\b", n.group(2)):
                between = after[n.end(1):n.start(2)].strip()
                if between or n.group(1) not in ("working", "sitting", "standing", "living", "lying", "staying"):
                    out.append((choose(rng, f"what {verb} {x} {n.group(1)} {between}?"), n.group(2)))
        if verb in ("gave", "gives"):
            n = re.match(r"(%s) ((?:a|an|the|his|her|some|two) (?:[a-z\-]+ ){0,2}?[a-z\-]+)%s" % (NAME, NP_END), after)
            if n and lex.is_person(n.group(1)):
                aux = "does" if verb.endswith("s") else "did"
                out.append((f"What {aux} {x} give {n.group(1)}?", n.group(2)))
                out.append((f"Who {verb} {n.group(1)} {n.group(2)}?", x))
        if verb in ("is", "was"):
            n = re.match(r"((?:a|an) (?:[a-z\-]+ ){0,3}?[a-z\-]+)%s" % NP_END, after)
            if n and not re.match(r"a (bit|little|lot|few)\b", n.group(1)):
                out.append((choose(rng, f"(what|who) {verb} {x}?"), n.group(1)))
            n = re.match(r"((?:[a-z]+ed|born|killed|found|shot|sent|taken|held|known|built|written|made|seen|given|told)\b(?: [a-z]+){0,2}?) (in|at|on|by|to) (%s|\d{4}|the [a-z]+(?: [a-z]+)?)%s" % (NAME, NP_END), after)
            if n:
                v, p, a = n.groups()
                if re.fullmatch(r"\d{4}", a) and p == "in":
                    out.append((choose(rng, f"(when|in (which|what) year) {verb} {x} {v}?"), a))
                elif p in ("in", "at") and a[0].isupper() and lex.is_name(a) and not lex.is_person(a):
                    out.append((choose(rng, f"(where|in which place) {verb} {x} {v}?"), a))
                elif p == "by" and (lex.is_person(a) or a.startswith("the ")):
                    out.append((choose(rng, f"(who {verb} {x} {v} by|by whom {verb} {x} {v})?"), a))
    for m in re.finditer(r"\b(%s)'s (%s),? (%s)\b" % (NAME, KIN, NAME), line):
        if lex.is_name(m.group(1)) and lex.is_name(m.group(3)):
            out.append((choose(rng, f"(who is|what is the name of|what is the first name of|do you know the name of|tell me the name of) {m.group(1)}'s {m.group(2)}?").replace("the first name", "the name"), m.group(3)))
            out.append((choose(rng, f"whose {m.group(2)} is {m.group(3)}?"), m.group(1)))
    for m in re.finditer(r"\b(?:his|her|their) (%s) (%s)\b" % (KIN, NAME), line):
        if lex.is_name(m.group(2)):
            out.append((choose(rng, f"(what is the name of the {m.group(1)}|what is the {m.group(1)} called|who is the {m.group(1)}|what is the {m.group(1)}'s name)?"), m.group(2)))
    for m in re.finditer(r"\b(?:a|an|the|his|her|their) ((?:[a-z\-]+ )?[a-z\-]+),? (?:named|called) (%s)\b" % NAME, line):
        if m.group(2).split(" ")[0] not in NOT_NAME and not re.search(r"\b(is|was|are|were|and|which|who|now|also|been|be|so|often|newly)\b", m.group(1)):
            out.append((choose(rng, f"(what is the name of the {m.group(1)}|what is the {m.group(1)} (called|named)|which name does the {m.group(1)} have|how is the {m.group(1)} called)?"), m.group(2)))
    return [(q, a) for q, a in out if ok_pair(q, a, line)]


def ok_pair(q, a, line):
    return (1 <= len(a.split()) <= ANSWER_WORDS and len(q.split()) <= QUESTION_WORDS and a in line and len(a) > 1
            and not re.search(r"\b(and|but|so) (they|he|she|it|I|we)\b|^(the user|her|him|them) (and|[a-z]+$)|^(her|him|them) (to|in|from|out|back|up|down|with|for|on|into|at|by)\b|(^| )[A-Z]$|\byou\b", a) and not re.search(r"^(her|his) [a-z]+(ing|ed)$", a)
            and not re.search(r"(?:^| )(it|that|this|them|there|these|those|so|the|a|an|to|of)$", a) and not q.endswith(",?")
            and a.lower() not in {"it", "him", "her", "them", "that", "this", "be", "do so", "he", "she", "they"})


# ---------------------------------------------------------------------------------------------------------------- cloze

_BLANKS = ["____", "____", "____", "___", "...", "_____", "[blank]"]
CLOZE = {
    "name": ["(which|what) name (goes with|belongs in|fits in|completes|is missing from|fills the gap in) (this|this sentence|the following|): {C}(?|)",
             "(which|what) name (stands|is|was|stood) (in the gap|where the gap is|in place of the blank): {C}(?|)",
             "fill in the name: {C}", "(complete|finish) (the sentence|this|it) with (a|the|the right) name: {C}",
             "who or what is {B} here: {C}?", "name the missing one: {C}", "{C} - (which|what) name (is that|goes there|is missing)?",
             "(somebody|someone) wrote {C}. (which|what) name was (left out|there|blotted out)?", "the name is gone: {C} (what|which) was it?",
             "(what|which) name do the memories (have|give) (here|for this): {C}(?|)", "I (forgot|do not remember) the name: {C}"],
    "number": ["(which|what) number (goes with|belongs in|fits in|completes|is missing from|fills the gap in) (this|this sentence|the following|): {C}(?|)",
               "fill in the number: {C}", "(complete|finish) (the sentence|this|it) with (a|the|the right) number: {C}",
               "(which|what) (number|figure) (is|stands|was|stood) (in the gap|in the blank): {C}(?|)", "{C} - (which|what) (number|figure) (is that|goes there|is missing)?",
               "the number is gone: {C} (what|which) was it?", "I (forgot|do not remember) the number: {C}"],
    "year": ["(which|what) year (goes with|belongs in|fits in|completes|is missing from) (this|this sentence|the following|): {C}(?|)", "fill in the year: {C}",
             "{C} - (which|what) year (was that|goes there|is missing)?", "(which|what) year (was|is|stands) (in the gap|in the blank|meant): {C}(?|)",
             "I (forgot|do not remember) the year: {C}"],
    "quote": ["(which|what) (title|quoted words|words in quotes) (goes with|belong in|fit|complete) (this|the following|): {C}(?|)", "what (is|was) (called|said|named|put in quotes) here: {C}?",
              "fill in the quoted words: {C}", "{C} - what stands between the quotation marks?"],
    "word": ["(which|what) word (goes with|belongs in|fits in|completes|is missing from|fills the gap in) (this|this sentence|the following|): {C}(?|)",
             "fill in the (missing|) word: {C}", "(complete|finish) (the sentence|this|it): {C}", "{C} - (which|what) word (is that|goes there|is missing)?",
             "the word is gone: {C} (what|which) was it?"],
}
KEYED = {
    "name": ["(which|what) name (is mentioned|comes up|stands|appears|is found|is given) (together with|with|next to|along with) {K}?", "who or what (is mentioned|comes up|appears) (together with|along with|with) {K}?",
             "(which|what) name do you (know|have) (about|on|for) {K}?", "name (linked to|connected with|for|with) {K}?", "{K}: (which|what) name?", "whose name (is|comes) (with|close to|beside) {K}?"],
    "number": ["(which|what) number (is mentioned|comes up|stands|appears|is given) (together with|with|next to|along with) {K}?", "{K}: (which|what) number?", "(which|what) (figure|number) (is|was) (given|named) (for|with) {K}?"],
    "year": ["(which|what) year (is mentioned|comes up|stands|appears|is given) (together with|with|along with) {K}?", "{K}: (which|what) year?", "(which|what) year (is|was) (given|named) (for|with) {K}?"],
    "quote": ["(which|what) title (is mentioned|comes up|appears|is given) (together with|with|along with) {K}?"],
    "word": [],
}


def cloze_targets(line, lex):
    """[(kind, span, start, end)] that a question could ask for."""
    out = []
    for m in re.finditer(r'"([^"]{3,40})"', line):
        if len(m.group(1).split()) <= ANSWER_WORDS and m.group(1)[0].isalnum():
            out.append(("quote", m.group(1).rstrip(".,!?"), m.start(1)))
    for m in re.finditer(r"(?<![\w.,$:/-])\d[\d,.:]*\d(?![\w/-])|(?<![\w.,$:/-])\d+(?![\w.:/-])", line):
        kind = "year" if re.fullmatch(r"1[5-9]\d\d|20[0-3]\d", m.group(0)) else "number"
        out.append((kind, m.group(0), m.start()))
    for m in re.finditer(NAME, line):
        s, at = m.group(0), m.start()
        while s and s.split(" ")[0] in NOT_NAME and " " in s:
            cut = s.index(" ") + 1
            s, at = s[cut:], at + cut
        if lex.is_name(s) and not line[at + len(s):at + len(s) + 1].isalpha():
            out.append(("name", s, at))
    return [(k, s, at, at + len(s)) for k, s, at in out if s]


def cloze_turn(rng, lines, i, target, lex):
    kind, span, start, end = target
    everything = " ".join(lines)
    if len(re.findall(r"(?<!\w)" + re.escape(span) + r"(?!\w)", everything, re.I)) != 1:
        return None
    line = lines[i]
    if kind == "name" and any(len(re.findall(r"(?<!\w)" + re.escape(p) + r"(?!\w)", everything)) > 1 for p in span.split(" ")):
        return None
    if KEYED[kind] and rng.random() < 0.35:
        if len([t for t in cloze_targets(line, lex) if t[0] == kind]) == 1:
            keys = [w for w in words(line[:start] + " " + line[end:])
                    if len(w) > 3 and w.lower() not in STOP | {"because", "which", "something", "someone"} and w[0].islower() and "'" not in w
                    and len(re.findall(r"\b" + re.escape(w[:5]), everything, re.I)) == 1]
            if len(keys) >= 2:
                at = rng.randrange(len(keys) - 1)
                ks = keys[at:at + rng.choice([2, 2, 3])]
                mark = rng.choice(['"', "'", ""])
                ks = [mark + k + mark for k in ks]
                k = ", ".join(ks[:-1]) + rng.choice([" and ", " and ", ", "]) + ks[-1]
                return choose(rng, rng.choice(KEYED[kind]).replace("{K}", k)), span
    before, after = line[:start].split(" "), line[end:]
    n = rng.choice([4, 6, 8, 12])
    tail = after.split(" ")
    head = " ".join(before[-n:]) if rng.random() < 0.7 or len(tail) < 4 else " ".join(before[-2:])
    rest = " ".join(tail[:rng.choice([4, 6, 9]) + 1])
    blank = rng.choice(_BLANKS)
    c = (head + blank + rest).strip().rstrip(".!?,;:").replace("(", "").replace(")", "").replace("|", "")
    if len(words(c)) < 4:
        return None
    mark = rng.choice(['"', "", "", "'"])
    if '"' in c or "'" in c:
        mark = ""
    template = rng.choice(CLOZE[kind])
    q = choose(rng, template.replace("{C}", "\1").replace("{B}", blank)).replace("\1", mark + c + mark)
    q = re.sub(r"([?!.])\?$", r"\1", q)
    return (q, span) if len(q.split()) <= QUESTION_WORDS + 5 else None


# -------------------------------------------------------------------------------------------------------------- samples

def total(lines):
    return sum(len(x) + 1 for x in lines)


def window(rng, lines, must, low=3, high=10):
    """A run of lines around the index `must` -> (start, end), at most 1,300 characters."""
    size = rng.randint(low, high)
    a = b = must
    while b - a + 1 < size:
        options = [x for x in (a - 1, b + 1) if 0 <= x < len(lines)]
        options = [x for x in options if total(lines[min(a, x):max(b, x) + 1]) <= 1300]
        if not options:
            break
        x = rng.choice(options)
        a, b = min(a, x), max(b, x)
    return a, b + 1


def gold(line_list, q, a):
    """(index, the span as written) of the sentence that answers, or None when the overlap with the question is too small."""
    wanted, best = content(q) - content(a), None
    if not wanted:
        return None
    for i, line in enumerate(line_list):
        span = find(a, line)
        if span:
            score = len(wanted & content(line))
            if best is None or score > best[0]:
                best = (score, i, span)
    holders = sum(1 for line in line_list if find(a, line))
    if best and (best[0] >= 2 or best[0] / len(wanted) >= 0.5 and holders == 1) and best[0] >= 0.34 * len(wanted):
        return best[1], best[2], best[0] / len(wanted)
    return None


def finish(sample, rng):
    lines = sample["lines"]
    if len(set(lines)) < len(lines):
        return None
    seen, turns = set(), []
    for q, a, i in sample["turns"]:
        key = (a, i, frozenset(content(q)))
        q = re.sub(r"  +", " ", q)
        if find(a, q):
            continue
        if a in lines[i] and key not in seen and 1 <= len(a.split()) <= ANSWER_WORDS and not held_out(a):
            seen.add(key)
            turns.append([q, a, i])
    while turns and total(lines) + sum(len(q) + len(a) + 2 for q, a, _ in turns) > TOTAL_MAX:
        turns.pop()
    sample["turns"] = turns
    return sample if turns and len(lines) >= 3 else None


def question_form(rng, q):
    q = q.strip().rstrip(" ?.").strip()
    return q[:1].upper() + q[1:] + "?"


def unambiguous(lines, i, q, a, lex):
    """A made question must not fit another line as well."""
    wanted = content(q) - content(a)
    return bool(wanted) and all(len(wanted & content(x)) < 0.75 * len(wanted) for j, x in enumerate(lines) if j != i)


def turns_for(rng, lines, lex, share_rule=1.0):
    out = []
    for i, line in enumerate(lines):
        found = rule_questions(line, lex, rng)
        rng.shuffle(found)
        for q, a in found[:2]:
            if rng.random() < share_rule and unambiguous(lines, i, q, a, lex):
                out.append([q, a, i])
    return out


FIRST = [  # what a speaker says of himself; {X} the speaker
    (r"\bI (?:really |just |also )?(?:want|would like|'d like|need) to ((?:[a-z'\-]+)(?: [A-Za-z0-9'\-]+){0,5}?)(?=[.,;!?]|$| (?:and|because|so|but|when|before|please)\b)",
     ["what does {X} want to do?", "what would {X} like to do?", "what is it {X} wants to do?"]),
    (r"\bI (?:really |just |also )?(?:like|love|enjoy) ((?:the |my )?[a-z\-]+(?: [a-z\-]+){0,3}?)(?=[.,;!?]|$| (?:and|because|so|but|when|too|very|most|best)\b)",
     ["what does {X} (like|enjoy|love)?", "what (is|was) {X} fond of?", "tell me what {X} likes."]),
    (r"\bI(?:'m| am) (?:from) ([A-Z][a-z]+(?: [A-Z][a-z]+)?)", ["where (is|does) {X} (come |)from?", "what place is {X} from?"]),
    (r"\bI (?:live|work|study|studied|worked|lived) (?:in|at) ((?:the |a |an )?[A-Za-z]+(?: [A-Za-z]+){0,3}?)(?=[.,;!?]|$| (?:and|because|so|but|with|for|as|near)\b)",
     ["which place does {X} mention?"]),
    (r"\bI (?:just |recently |have |also )?bought ((?:a|an|the|some|two|three|my|this|new) [a-z\-]+(?: [a-z\-]+){0,2}?)(?=[.,;!?]|$| (?:and|because|so|but|for|from|at|in|yesterday|last|today)\b)",
     ["what did {X} buy?", "what has {X} bought?", "which thing did {X} buy?"]),
    (r"\bI(?:'m| am) (?:planning|going|trying|hoping) to ((?:[a-z'\-]+)(?: [A-Za-z0-9'\-]+){0,5}?)(?=[.,;!?]|$| (?:and|because|so|but|when|before)\b)",
     ["what is {X} (planning|going|trying) to do?", "what are {X}'s plans?"]),
    (r"\b(?:I'm|I am|my name is|My name is|This is) ([A-Z][a-z]+(?: [A-Z][a-z]+)?)(?=[.,!?]|$)", ["what name does {X} give?"]),
    (r"\bI went to ((?:the |a |an |my )?[A-Za-z]+(?: [A-Za-z]+){0,3}?)(?=[.,;!?]|$| (?:and|because|so|but|with|for|last|yesterday|today|to|in|recently|once|again)\b)",
     ["where did {X} go?", "which place did {X} go to?", "where has {X} been?"]),
    (r"\b(?:I want|I would like|I'd like|I'll have|I will have|Can I get|Can I have|can I get|can I please have|Could I get|I'll get|I'll take|I need|Let me get|May I have|may I have|I'd like to order|I would like to order|I want to order) ((?:a|an|one|two|three|some|the|\d) (?!of)[A-Za-z0-9%\-]+(?: [A-Za-z0-9%\-]+){0,3}?)(?=[.,;!?]|$| (?:and|because|so|but|to go|please|with|that|I|thanks|thank|for|instead|today|from|but)\b)",
     ["what (did|does) {X} (order|ask for|want)?", "what would {X} like to have?", "which order did {X} give?", "what was it {X} asked for?"]),
    (r"\b[Mm]y favou?rite ([a-z]+(?: [a-z]+)?) is ([A-Za-z]+(?: [A-Za-z]+){0,3}?)(?=[.,;!?]|$)", ["what is {X}'s favourite {1}?", "which {1} does {X} like best?"]),
    (r"\bI have ((?:a|an) [a-z]+(?: [a-z\-]+){0,2}?)(?=[.,;!?]|$| (?:and|because|so|but|that|who|to|in|with|for)\b)", ["what does {X} have?"]),
    (r"\bI feel (?:so |very |really |a bit |a little )?([a-z]+)(?=[.,;!?]|$| (?:and|because|about|that|when)\b)", ["how does {X} feel?", "how is {X} feeling?"]),
]
# "live in" / "work at" get their own question words
FIRST_VERB = {"live": "live", "lived": "live", "work": "work", "worked": "work", "study": "study", "studied": "study"}


def said(rng, name, text):
    return choose(rng, "{N} (said|said|said|says|wrote|told):").replace("{N}", name).replace("told:", "said:") + " " + text


def speakers(rng):
    r = rng.random()
    if r < 0.35:
        return "The user", "The assistant"
    a, b = rng.sample(NAMES, 2)
    return (a, b) if r < 0.8 else ("The user", b) if r < 0.9 else (a, "The assistant")


def in_question(name):
    return name[:1].lower() + name[1:] if name.startswith("The ") else name


def shorten(text, limit):
    """The first whole sentences within `limit` words, or None."""
    out = []
    for s in sentences(text):
        if len(" ".join(out + [s]).split()) > limit:
            break
        out.append(s)
    return " ".join(out) or None


def put_names(text, x, y):
    text = re.sub(r"\b([Tt]he )?[Uu]ser\b", x, text)
    text = re.sub(r"\b([Tt]he )?[Bb]ot\b", y, text)
    return re.sub(r"(^|[.!?] )the user\b", r"\1The user", text)


def told_samples(rng, told, lex, rounds):
    """Dialogues, asked about with questions made from their summaries: the answer stands in a message in other surroundings."""
    for summary, turns in told:
        if UNFIT.search(summary + " ".join(t for _, t in turns)):
            continue
        for _ in range(rounds):
            he, she = re.search(r"\b(he|him|his)\b", summary), re.search(r"\b(she|her)\b", summary)
            fit = [n for n in (MEN if he and not she else WOMEN if she and not he else NAMES) if n not in summary]
            x, y = rng.sample(fit, 2)
            lines, who = [], []
            for role, text in turns:
                text = shorten(text, 40)
                name = x if role == "user" else y
                if text and len(text) <= LINE_MAX - 15 and total(lines) + len(text) < 1250 and len(lines) < 14:
                    lines.append(f"{name} {rng.choice(['said', 'said', 'said', 'says', 'wrote'])}: {text}")
                    who.append(name)
            if len(lines) < 3:
                continue
            asked, cloze = [], []
            for line in lines_of(put_names(summary, x, y)):
                for q, a in rule_questions(line, lex, rng):
                    if a in (x, y):
                        wanted = content(q)
                        scores = [(len(wanted & content(t)), -i) for i, t in enumerate(lines) if who[i] == a]
                        best = max(scores, default=(0, 0))
                        if best[0] >= 2:
                            asked.append([q, a, -best[1]])
                        continue
                    if lex.is_person(a) or any(w in lex.persons and w not in (x, y) for w in words(q)[1:]):
                        continue                        # a speaker's true name: it went with the new one
                    for b in dict.fromkeys([a, re.sub(r"^(the|a|an|his|her|their|some|to) ", "", a)]):
                        at = [i for i, t in enumerate(lines) if find(b, t.split(": ", 1)[1])]
                        if len(at) in (1, 2) and len(b) > 3:
                            asked.append([q, find(b, lines[at[0]].split(": ", 1)[1]), at[0]])
                            break
                for t in cloze_targets(line, lex):
                    if t[1] not in (x, y) and not lex.is_person(t[1]):
                        at = [i for i, z in enumerate(lines) if find(t[1], z)]
                        if len(at) == 1:
                            c = cloze_turn(rng, [line], 0, t, lex)
                            if c:
                                cloze.append([c[0], find(c[1], lines[at[0]]), at[0]])
            for task, ts in (("answer", asked), ("cloze", cloze)):
                rng.shuffle(ts)
                if ts:
                    s = finish({"task": task, "lines": lines, "turns": ts[:5], "kind": "summary", "source": "memochat", "licence": "MIT"}, rng)
                    if s:
                        yield s


def dialogue_samples(rng, talks, lex, each):
    """Windows of messages; questions about what a speaker says of himself, who said something, and cloze."""
    for source, licence, turns in talks:
        per = each.get(source, 1)
        for _ in range(per if per >= 1 else (1 if rng.random() < per else 0)):
            x, y = speakers(rng)
            size = rng.randint(3, 10)
            at = rng.randrange(max(1, len(turns) - size + 1))
            part = turns[at:at + size]
            if len(part) < 3:
                continue
            lines, who, body = [], [], []
            for role, text in part:
                text = shorten(text, 36)
                if not text or len(text) > LINE_MAX - 22 or re.search(r"https?:|www\.|language model|\bAI\b|```", text):
                    continue
                name = x if role == "user" else y
                if total(lines) + len(text) > 1250:
                    break
                lines.append(f"{name} {rng.choice(['said', 'said', 'said', 'says', 'wrote'])}: {text}")
                who.append(name)
                body.append(text)
            if len(lines) < 3:
                continue
            answer, cloze = [], []
            asked = set()
            for i, text in enumerate(body):
                for pattern, questions in FIRST:
                    hits = [re.search(pattern, b) for b, w in zip(body, who) if w == who[i]]
                    if sum(1 for h in hits if h) != 1:
                        continue
                    m = re.search(pattern, text)
                    if not m:
                        continue
                    a = m.group(m.lastindex)
                    q = rng.choice(questions)
                    v = re.search(r"\bI (live|work|study|studied|worked|lived) (?:in|at)", m.group(0))
                    if v and "place" in q:
                        q = "where (does|did) {X} " + FIRST_VERB[v.group(1)] + "?"
                    if m.lastindex == 2:
                        q = q.replace("{1}", m.group(1))
                    q = choose(rng, q.replace("{X}", in_question(who[i])))
                    if pattern.startswith(r"\bI(?:'m| am) (?:from)"):
                        q = f"Where is {in_question(who[i])} from?"
                    if ok_pair(q, a, lines[i]) and (who[i], pattern) not in asked and a.split()[0] not in ("it", "that", "this", "you", "be", "know", "see", "your"):
                        asked.add((who[i], pattern))
                        answer.append([q, a, i])
            if x != "The user" and y != "The assistant" and rng.random() < 0.3:
                i = rng.randrange(len(body))
                w = max(sentences(body[i]) or [""], key=len).split(" ")
                if len(w) >= 6:
                    k = rng.randint(5, min(9, len(w)))
                    s = rng.randrange(len(w) - k + 1)
                    quote = " ".join(w[s:s + k]).strip(" .,!?;:\"'")
                    if sum(quote in b for b in body) == 1 and '"' not in quote and '(' not in quote and '|' not in quote:
                        answer.append([choose(rng, "(who (said|wrote|was it who said)|which (of them|speaker|person) said|whose words are|who spoke the words)") + f' "{quote}"?', who[i], i])
            for i, text in enumerate(body):
                offset = len(lines[i]) - len(text)
                targets = [(k, s, a + offset, b + offset) for k, s, a, b in cloze_targets(text, lex) if s not in (x, y)]
                if targets and rng.random() < 0.8:
                    t = cloze_turn(rng, lines, i, rng.choice(targets), lex)
                    if t:
                        cloze.append([t[0], t[1], i])
            rng.shuffle(answer)
            rng.shuffle(cloze)
            for task, turns_ in (("answer", answer), ("cloze", cloze)):
                if turns_:
                    s = finish({"task": task, "lines": lines, "turns": turns_[:5], "kind": "dialogue", "source": source, "licence": licence}, rng)
                    if s:
                        yield s


# ------------------------------------------------------------------------------------------------------------------ chat

LIES = re.compile(r"language model|\bAI\b|\bA\.I|artificial intelligence|chatbot|OpenAI|ChatGPT|companion|virtual|robot|as an assistant|my (memory|memories|name|friend|family|"
                  r"wife|husband|job|house|life|mother|father|favou?rite|dear)|remember(ed)? (you|that you|when you|our|last|the last)|last time|you (told|mentioned|said)|"
                  r"we (talked|discussed|met|went)|see you again(?= |!)|back again|love to (visit|try|go|see)|previous(ly)?|earlier|\b(order|menu|coffee bar|barista|ready in|checkout|screen|display|your drink|dollars)\b|```|https?:|www\.|\[|\]|<|>|\{|=", re.I)
MAY_SAY = re.compile(r"I(?:'m| am) (?:sorry|glad|happy to|happy for|here|sure|afraid|always here|willing)|I (?:understand|think|hope|recommend|suggest|agree|see|can|could|would|believe|wish|will help|know how|'d suggest)|I'd (?:suggest|recommend|be happy|love to help)|"
                     r"may I|can I|could I|shall I|should I|I'll (?:be here|help)|do I|I don't know", re.I)


VOCATIVE = re.compile(r"(?<=[a-z]), (?:%s|[A-Z][a-z]+(?=[.!?]))(?=[,.!?])" % "|".join(NAMES))
# a reply of a person with a life, a shop, company: not for an assistant to imitate
PERSONAL = re.compile(r"\b(he|she|they|him|her|his|them|their|sir|madam|ma'am|miss|mr|mrs|let's|let us|here|dollars|yuan|price|yes|no|yeah|it won't|boss|car|room|hotel|honey|dear|man|guys?)\b", re.I)


OPENER = re.compile(r"(I'm (so |very )?(sorry|glad|happy)|I am (sorry|glad)|I hope|I think|I see|I understand|That's (great|good|wonderful|nice|too bad|a (good|great|shame))|That sounds|Congratulations|Good luck|Don't worry|"
                    r"You're welcome|Not at all|My pleasure|Take care|Have a|Good (morning|afternoon|evening|night)|Bye|Goodbye|See you|What (happened|do you)|How (do|did|was|about)|Are you (all right|okay|sure|stressed)|Maybe you|You (should|could|can))", re.I)
IMPERATIVE = re.compile(r"(give|write|list|name|describe|explain|generate|create|find|suggest|make|tell me|can you tell|classify|identify|rewrite|rephrase|convert|calculate|what (is|are) (the|an?)\b|how (do|can|does)|why (is|are|do|does))\b", re.I)


def honest(reply):
    rest = MAY_SAY.sub(" ", reply)
    return not LIES.search(reply) and not re.search(r"\b(I|I'm|I've|I'd|I'll|my|mine|me|we|We|our|us|myself)\b", rest)


def plain(text, limit):
    return (text and 1 <= len(text.split()) <= limit and all(ord(c) < 127 or c.isalpha() and ord(c) < 0x180 for c in text)
            and not re.search(r"```|https?:|www\.|[{}<>\[\]|\\=_#*]|\n|\b[1-9]\.\s|: \d+\.|^- ", text))


def chat_samples(rows, talks):
    seen = set()
    for row in rows:
        source = row["source"].split("/")[0]
        ms = row["messages"]
        if source in ("rasbt", "llamafactory", "gpteacher-roleplay"):
            u, a = ms[0]["content"], ms[1]["content"]
            if "\n" in a.strip() or re.search(r"\b(you are|imagine|pretend|roleplay|role-play|act as|as if you|you're an?|step into|assume the|your)\b", u, re.I):
                continue
            u, a = clean(u), clean(a)
            if plain(u, 30) and plain(a, 30) and honest(a) and not UNFIT.search(u + " " + a) and u not in seen and a[-1:] in ".!?":
                seen.add(u)
                yield {"task": "chat", "turns": [[u, a]], "source": source, "licence": row["licence"]}
    for source, licence, turns in talks:
        run = []
        for (r1, u), (r2, a) in zip(turns, turns[1:]):
            if (r1, r2) != ("user", "assistant"):
                continue
            u, a = VOCATIVE.sub("", u), VOCATIVE.sub("", a)
            u = re.sub(r"^(Hi|Hello|Hey),? (AI|my) ?(companion|friend)?\b[,.!]? ?", r"\1, ", u)
            short = a if len(a.split()) <= 30 else shorten(a, 30)
            good = (short and plain(u, 30) and plain(short, 30) and honest(short) and short[-1:] in ".!?" and u[-1:] in ".!?"
                    and not re.search(r"companion|\bAI\b|remember|language model|\byour (name|favou?rite|family|job)\b|do you (like|have|often|ever|play)", u, re.I))
            if good and source == "memochat" and (not (OPENER.match(short) or IMPERATIVE.match(u)) or PERSONAL.search(short) or re.search(r"(?<=[a-z,] )[A-Z][a-z]", short + " " + u)
                                                  or len(short.split()) < 4 or not re.search(r"[?!]$|\b(I|my|I'm|I've)\b|^(give|write|list|name|describe|explain|generate|create|find|suggest|make|tell)\b", u, re.I)):
                good = False
            if good and source == "memorybank" and re.search(r"(?<=[a-z,] )[A-Z][a-z]+[,.!?]", short):
                good = False
            if source == "taskmaster-4" and (not re.match(r"(what|how|which|why|is|are|does)\b", u, re.I) or not u.endswith("?") or re.search(r"\b(shop|bar|pick|sell|correct|confirm|price|cost|wait|now)\b|\?", u + a, re.I)):
                good = False                            # a shop's replies: only what explains a drink
            if good and (u, short) not in seen:
                seen.add((u, short))
                run.append([u, short])
            else:
                if run:
                    yield {"task": "chat", "turns": run, "source": source, "licence": licence}
                run = []
            if len(run) == 4:
                yield {"task": "chat", "turns": run, "source": source, "licence": licence}
                run = []
        if run:
            yield {"task": "chat", "turns": run, "source": source, "licence": licence}


# -------------------------------------------------------------------------------------------------------------- boundary

def boundary_samples(rng, talks, counts):
    for source, wanted in counts.items():
        pool = [t for t in talks if t[0] == source]
        short = []
        for _, licence, turns in pool:
            ts = [(r, shorten(t, 25)) for r, t in turns]
            if all(t for _, t in ts[:2]):
                short.append((licence, ts))
        made, tries, seen = 0, 0, set()
        while made < wanted and tries < wanted * 30 and len(short) > 4:
            tries += 1
            answer = "yes" if made % 2 else "no"
            licence, ts = rng.choice(short)
            role = "user" if source == "taskmaster-4" or rng.random() < 0.75 else "assistant"
            if answer == "no":
                at = [i for i in range(2, len(ts)) if ts[i][0] == role]
                if not at:
                    continue
                i = rng.choice(at)
                nxt = ts[i]
            else:
                at = [i for i in range(2, len(ts) + 1) if ts[i - 1][0] != role]
                if not at:
                    continue
                i = rng.choice(at)
                _, other = rng.choice(short)
                if other is ts:
                    continue
                k = [j for j in range(len(other)) if other[j][0] == role]
                if not k:
                    continue
                # mostly the other's opening, sometimes a turn inside it, so that a greeting alone does not tell
                j = k[0] if source == "taskmaster-4" or rng.random() < 0.6 else rng.choice(k)
                nxt = other[j]
            n = rng.randint(2, 6)
            history = ts[max(0, i - n):i]
            if len(history) < 2 or not nxt[1] or not all(t for _, t in history) or len(nxt[1].split()) < 3:
                continue
            if answer == "yes" and (content(nxt[1]) & content(" ".join(t for _, t in history)) and source != "taskmaster-4") and rng.random() < 0.5:
                continue
            key = (history[-1][1], nxt[1])
            if key in seen:
                continue
            seen.add(key)
            r = rng.random()
            names = ("A", "B") if r < 0.35 else ("The user", "Assistant") if r < 0.55 else ("User", "Assistant") if r < 0.65 else tuple(rng.sample(NAMES, 2))
            label = lambda t: (names[0] if t[0] == "user" else names[1]) + ": " + t[1]
            made += 1
            yield {"task": "boundary", "history": [label(t) for t in history], "next": label(nxt), "answer": answer, "source": source, "licence": licence}


# ------------------------------------------------------------------------------------------------------------------ text

def text_samples(rng, texts):
    for source, licence, ss in texts:
        at = 0
        while at < len(ss):
            want, out = rng.randint(300, 700), []
            while at < len(ss) and len(" ".join(out)) + len(ss[at]) + 1 <= want:
                out.append(ss[at])
                at += 1
            if not out:
                at += 1
                continue
            t = " ".join(out)
            if len(t) >= 300:
                yield {"task": "text", "text": t, "source": source, "licence": licence}


# ------------------------------------------------------------------------------------------------------------------- all

def name_summary(rng, s):
    """MemoChat's summaries speak of `user` and `bot`: give them names."""
    he, she = re.search(r"\b(he|him|his)\b", s), re.search(r"\b(she|her)\b", s)
    fit = [n for n in NAMES if not (he and not she and n in WOMEN or she and not he and n in MEN)]
    a, b = rng.sample([n for n in fit if n not in s], 2)
    if rng.random() < 0.25:
        a = "the user"
    s = re.sub(r"\b([Uu]ser|[Bb]ot)'ll\b", r"\1 will", s)
    s = re.sub(r"\b(the )?[Uu]ser\b", a, s)
    s = re.sub(r"\b(the )?[Bb]ot\b", b, s)
    s = re.sub(r"\bthe the user\b", "the user", s)
    s = re.sub(r"(^|[.!?] )the user\b", r"\1The user", s)
    return [x[:1].upper() + x[1:] for x in lines_of(s)]


def samples(seed, training=None, rounds=6, mixed=7000):
    training = training or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../shared/data/training")
    rng = random.Random(seed)
    rows = load(training)
    passages, facts, statements, steps, concepts = reading(rows)
    talks, summaries, told = dialogues(rows)
    for p in passages:
        p.lines = lines_of(p.text)
    lex = Lexicon([x for p in passages for x in p.lines] + list(statements) + list(summaries) + [t for _, _, ts in talks for _, t in ts])

    # 1. reading comprehension: windows of the passage with the data set's own questions, filled up with made ones
    pool = []                                              # (line, question, answer, kind, source, licence) for mixed windows
    for p in passages:
        golds = []
        for q, a in p.pairs.items():
            a = a.rstrip(" .")
            if not a or len(a.split()) > ANSWER_WORDS or len(q.split()) > QUESTION_WORDS or len(q.split()) < 3:
                continue
            g = gold(p.lines, q, a)
            if g:
                q = question_form(rng, q)
                golds.append((g[0], q, g[1]))
                if g[2] >= 0.6:
                    pool.append((p.lines[g[0]], q, g[1], "human", p.source, p.licence))
        p.golds = golds
        for line in p.lines:
            if not re.match(r"(He|She|They|It|His|Her|Their|This|That|These|Then|But|So|And)\b", line):
                for q, a in rule_questions(line, lex, rng)[:2]:
                    pool.append((line, q, a, "rule", p.source, p.licence))
        for k in range(rounds if golds else 0):
            left = list(golds)
            rng.shuffle(left)
            used = 0
            while left and used < (3 if k else 99):
                a, b = window(rng, p.lines, left[0][0])
                here = [g for g in left if a <= g[0] < b]
                left = [g for g in left if not a <= g[0] < b]
                lines = p.lines[a:b]
                turns = [[q, s, i - a] for i, q, s in here]
                extra = turns_for(rng, lines, lex)
                rng.shuffle(extra)
                turns += extra[:4]
                rng.shuffle(turns)
                s = finish({"task": "answer", "lines": lines, "turns": turns, "kind": "human", "source": p.source, "licence": p.licence}, rng)
                used += 1
                if s:
                    yield s
        # windows without a human question
        for k in range(rounds // 2):
            if len(p.lines) < 3:
                continue
            a, b = window(rng, p.lines, rng.randrange(len(p.lines)), 4, 10)
            lines = p.lines[a:b]
            turns = turns_for(rng, lines, lex)
            rng.shuffle(turns)
            if len(turns) >= 2:
                s = finish({"task": "answer", "lines": lines, "turns": turns[:6], "kind": "rule", "source": p.source, "licence": p.licence}, rng)
                if s:
                    yield s
        # cloze
        for k in range(rounds):
            if len(p.lines) < 3:
                continue
            a, b = window(rng, p.lines, rng.randrange(len(p.lines)))
            lines = p.lines[a:b]
            turns = []
            for i, line in enumerate(lines):
                ts = cloze_targets(line, lex)
                rng.shuffle(ts)
                for t in ts[:1]:
                    c = cloze_turn(rng, lines, i, t, lex)
                    if c:
                        turns.append([c[0], c[1], i])
            rng.shuffle(turns)
            if turns:
                s = finish({"task": "cloze", "lines": lines, "turns": turns[:5], "kind": "passage", "source": p.source, "licence": p.licence}, rng)
                if s:
                    yield s

    # steps of a process
    for ss, (source, licence) in steps.items():
        for k in range(2):
            ordinals = "first second third fourth fifth sixth seventh eighth".split()
            if not 3 <= len(ss) <= 8 or min(len(x.split()) for x in ss) < 3:
                continue
            form = rng.choice(["Step {n}: {s}.", "The {o} step: {s}.", "Step {n} is this: {s}."])
            order = list(range(len(ss)))
            if k:
                rng.shuffle(order)
            lines = [form.format(n=i + 1, o=ordinals[i], s=ss[i])[:LINE_MAX] for i in order]
            turns = []
            for at, i in enumerate(order):
                if len(ss[i].split()) <= ANSWER_WORDS:
                    forms = [f"(what (is|happens in|is done in) the {ordinals[i]} step|which step is the {ordinals[i]}|what is step {i + 1}|what happens in step {i + 1})?"]
                    if i == len(ss) - 1:
                        forms.append("(what is the (last|final) step|how does it end|what comes last)?")
                    if i == 0:
                        forms.append("(how does it (start|begin)|what comes first|what is the first step)?")
                    turns.append([choose(rng, rng.choice(forms)), ss[i], at])
            rng.shuffle(turns)
            s = finish({"task": "answer", "lines": lines, "turns": turns[:4], "kind": "rule", "source": source, "licence": licence}, rng)
            if s:
                yield s

    # lines of many texts, shuffled: like memories of different days
    for line, (q, a, source, licence) in facts.items():
        g = find(a, line)
        if g and len(a.split()) <= ANSWER_WORDS and len(q.split()) <= QUESTION_WORDS and len(line) <= LINE_MAX:
            pool.append((line, question_form(rng, q), g, "human", source, licence))
    for line, (source, licence) in statements.items():
        for q, a in rule_questions(line, lex, rng):
            pool.append((line, q, a, "rule", source, licence))
    named = [x for x in summaries if not UNFIT.search(x) and re.search(r"[a-z)\"'0-9][.!?]$", x)]
    statements = {x: v for x, v in statements.items() if not UNFIT.search(x)}
    pool = [x for x in pool if not UNFIT.search(x[0])]
    loose = [(x, s, l) for x, (s, l) in statements.items()] + [(x, c[1], c[2]) for x, c in concepts.items()]
    loose += [(x, p.source, p.licence) for p in passages for x in p.lines if len(x) < 140 and not re.match(r"(He|She|They|It|His|Her|Their|This|That)\b", x)]
    by_kind = {"human": [x for x in pool if x[3] == "human"], "rule": [x for x in pool if x[3] == "rule"]}
    things = [x for x in by_kind["rule"] if not lex.is_person(x[2])]         # most made questions ask for a person: even it out
    told_of = []
    for x in named:
        if any(not lex.is_person(a) and a != "The user" for y in lines_of(put_names(x, NAMES[0], NAMES[-1])) for _, a in rule_questions(y, lex, rng)):
            told_of.append(x)
    for k in range(mixed):
        n = rng.randint(3, 10)
        rows_, asked = [], []
        for _ in range(rng.randint(min(3, n), min(7, n))):
            r = rng.random()
            if r < 0.38 and named:
                other = told_of and rng.random() < 0.6
                ss = name_summary(rng, rng.choice(told_of if other else named))
                ss = [(x, rule_questions(x, lex, rng)) for x in ss]
                ss = [(x, qs) for x, qs in ss if qs]
                if ss:
                    x, qs = rng.choice(ss)
                    qs = [y for y in qs if other and not lex.is_person(y[1])] or qs
                    q, a = rng.choice(qs)
                    asked.append((x, q, a, "rule", "memochat", "MIT"))
            elif by_kind["human"] and r < 0.52:
                asked.append(rng.choice(by_kind["human"]))
            elif by_kind["rule"]:
                other = things and rng.random() < 0.6
                x = rng.choice(things if other else by_kind["rule"])
                if not other and rng.random() < 0.5:                      # another question about the same line, when there is one
                    qs = rule_questions(x[0], lex, rng)
                    x = (x[0], *rng.choice(qs), *x[3:]) if qs else x
                asked.append((*rename(rng, lex, *x[:3]), *x[3:]) if rng.random() < 0.85 else x)
        lines = list(dict.fromkeys(x[0] for x in asked))
        while len(lines) < n:
            x = rng.choice(loose)[0] if rng.random() < 0.6 or not named else rng.choice(name_summary(rng, rng.choice(named)) or [""])
            if x and len(x) <= LINE_MAX and x not in lines:
                lines.append(x)
        if total(lines) > 1300:
            keep = lines[:len(set(x[0] for x in asked))]
            for x in lines[len(keep):]:
                if total(keep) + len(x) <= 1300:
                    keep.append(x)
            lines = keep
        rng.shuffle(lines)
        turns = [[q, a, lines.index(x)] for x, q, a, *_ in asked if unambiguous(lines, lines.index(x), q, a, lex)]
        origin = sorted(set(x[4] for x in asked))
        licence = sorted(set(x[5] for x in asked))
        s = finish({"task": "answer", "lines": lines, "turns": turns, "kind": "mixed", "source": "+".join(origin), "licence": "+".join(licence)}, rng)
        if s:
            yield s

    # cloze over single sentences with their concepts, and over summaries
    cs = [(x, c) for x, c in concepts.items() if len(x.split()) >= 6]
    for k in range(600 if cs else 0):
        some = rng.sample(cs, min(len(cs), rng.randint(3, 10)))
        lines, turns = [x for x, _ in some], []
        for i, (x, (ks, _, _)) in enumerate(some):
            ks = [c for c in ks if find(c, x)]
            if ks:
                c = rng.choice(ks)
                at = re.search(r"(?<!\w)" + re.escape(c) + r"(?!\w)", x, re.I)
                t = cloze_turn(rng, lines, i, ("word", at.group(0), at.start(), at.end()), lex)
                if t:
                    turns.append([t[0], t[1], i])
        rng.shuffle(turns)
        s = finish({"task": "cloze", "lines": lines, "turns": turns[:5], "kind": "concepts", "source": some[0][1][1], "licence": some[0][1][2]}, rng)
        if s:
            yield s
    for k in range(1500 if named else 0):
        lines, turns = [], []
        for s in rng.sample(named, min(len(named), rng.randint(3, 6))):
            for x in name_summary(rng, s)[:2]:
                if total(lines) + len(x) < 1250 and len(lines) < 10:
                    lines.append(x)
        rng.shuffle(lines)
        for i, line in enumerate(lines):
            ts = cloze_targets(line, lex)
            if ts:
                t = cloze_turn(rng, lines, i, rng.choice(ts), lex)
                if t:
                    turns.append([t[0], t[1], i])
        rng.shuffle(turns)
        s = finish({"task": "cloze", "lines": lines, "turns": turns[:5], "kind": "summary", "source": "memochat", "licence": "MIT"}, rng)
        if s:
            yield s

    # 2. dialogue
    yield from dialogue_samples(rng, talks, lex, {"memochat": 3, "memorybank": 4, "taskmaster-4": 0.35})
    yield from told_samples(rng, told, lex, 3)
    # 3. chat
    yield from chat_samples(rows, talks)
    # 4. text
    texts = [(p.source, p.licence, sentences(p.text)) for p in passages]
    for source, licence, turns in talks:
        if source != "taskmaster-4":
            x, y = speakers(rng)
            texts.append((source, licence, [f"{x if r == 'user' else y}: {t}" for r, t in turns if len(t) < 400]))
    for row in rows:
        if row["source"] in ("gpteacher-roleplay", "llamafactory"):
            a = row["messages"][1]["content"]
            if not LIES.search(a) and not UNFIT.search(a) and not re.search(r"```|\n\s*[-*\d]|\d\. ", a):
                texts.append((row["source"], row["licence"], sentences(a)))
    yield from text_samples(rng, texts)
    # 5. boundary
    yield from boundary_samples(rng, talks, {"taskmaster-4": 900, "memorybank": 700, "memochat": 1400})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--training", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    counts, questions, chars = collections.Counter(), collections.Counter(), collections.Counter()
    with open(args.out + ".part", "w", encoding="utf-8") as f:
        for s in samples(args.seed, args.training):
            text = json.dumps(s, ensure_ascii=False)
            f.write(text + "\n")
            key = (s["task"], s["source"] if s.get("kind") != "mixed" else "(mixed)", s["licence"])
            counts[key] += 1
            questions[key] += len(s.get("turns", [0]))
            body = [s.get("text", ""), s.get("next", "")] + s.get("lines", []) + s.get("history", []) + [str(x) for t in s.get("turns", []) for x in t[:2]]
            chars[key] += sum(len(x) for x in body)
    os.replace(args.out + ".part", args.out)
    print("| task | source | licence | samples | questions or turns | mean characters |\n|---|---|---|--:|--:|--:|")
    for key in sorted(counts):
        print("| %s | %s | %s | %d | %d | %d |" % (*key, counts[key], questions[key], chars[key] // counts[key]))
    for task in sorted(set(k[0] for k in counts)):
        ks = [k for k in counts if k[0] == task]
        n = sum(counts[k] for k in ks)
        print("| **%s** | all | | %d | %d | %d |" % (task, n, sum(questions[k] for k in ks), sum(chars[k] for k in ks) // n))
    print("%d samples, %.1f million characters" % (sum(counts.values()), sum(chars.values()) / 1e6))


if __name__ == "__main__":
    main()
