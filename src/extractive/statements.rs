//! The person's own statements, one fact each, in the third person and with absolute dates.
//!
//! Questions, small talk and what is said to or about the assistant are dropped. Text that is not
//! English is quoted, never rewritten.

use std::collections::{HashMap, HashSet};

use jiff::civil::DateTime;

use super::antecedents::Antecedents;
use super::attributes::{is_single_valued, parse_statement};
use super::clauses::clauses;
use super::facts::{facts, relations};
use super::language::{self, Language};
use super::lexicon::{self, capitalise};
use super::lists::Words;
use super::patterns::Patterns;
use super::person::{self, Parties};
use super::planning::asked_to_remind;
use super::repairs::{name_the_nameless, restore_subject, strip_vocative, trim_end};
use super::words::{Sentence, Token, join, tokens};
use super::{Statement, Utterance, dates, fragments, intent, openings, sentences, small_talk};
use crate::memory::{MessageId, Role, plain_text};

static ABOUT_THE_CONVERSATION: Patterns = Patterns::new("about the conversation");
static CAPITALS_TO_LOWER: Words = Words::new("capitals to lower");
static LOOSE_PRONOUNS: Words = Words::new("loose pronouns");

/// A longer sentence is not a person's statement but a paste or a log.
const SENTENCE_CHARS_MAX: usize = 1_500;

/// Most statements of one message: a pasted book is not a person's own words.
const STATEMENTS_MAX: usize = 64;

/// Only this much of a message is read.
const MESSAGE_BYTES_MAX: usize = 64 << 10;

/// A correction may be of one of so many statements before it.
const N_BEFORE: usize = 32;

/// A continuation ("It was wonderful.") joins the sentence before it up to this length.
const JOINED_CHARS_MAX: usize = 280;

/// The statements of a run of messages, in order.
pub fn statements(utterances: &[Utterance]) -> Vec<Statement> {
    run(&[], utterances).0
}

/// Those of a run of messages that may speak of what was said `earlier`, or correct it.
pub fn statements_after(earlier: &[Utterance], utterances: &[Utterance]) -> Vec<Statement> {
    run(earlier, utterances).0
}

/// Whether a message is worth storing: a statement can be made of it, by itself or together with what was
/// said before ("He loves playing fetch").
pub fn says_something(utterance: &Utterance) -> bool {
    let (statements, n_loose) = run(&[], std::slice::from_ref(utterance));
    !statements.is_empty() || n_loose > 0
}

/// The statements, and how many more sentences lack only what a pronoun in them means.
fn run(earlier: &[Utterance], utterances: &[Utterance]) -> (Vec<Statement>, usize) {
    let (mut n_loose, mut own) = (0, 0);
    let mut out: Vec<Statement> = Vec::new();
    let mut seen = HashSet::new();
    let mut memory: HashMap<&str, (Antecedents, DateTime)> = HashMap::new();
    for part in [earlier, utterances] {
        // What was said earlier may be told again.
        (n_loose, own) = (0, out.len());
        seen.clear();
        for utterance in part.iter().filter(|u| is_a_person(u)) {
            let (antecedents, last) = memory
                .entry(&utterance.speaker)
                .or_insert_with(|| (Antecedents::default(), utterance.at));
            if utterance.at.duration_since(*last).as_mins() > 30 {
                *antecedents = Antecedents::default();
            }
            *last = utterance.at;
            let before = &out[out.len().saturating_sub(N_BEFORE)..];
            let mut message = Message::new(utterance, antecedents, before);
            message.read();
            n_loose += message.n_loose;
            let made = message.made.into_iter().take(STATEMENTS_MAX);
            out.extend(made.filter(|statement| seen.insert(statement.text.to_lowercase())));
        }
    }
    (out.split_off(own), n_loose)
}

/// The assistant's words are nobody's memories.
fn is_a_person(utterance: &Utterance) -> bool {
    utterance.role == Role::User
        || !matches!(
            utterance.speaker.to_lowercase().as_str(),
            "" | "assistant" | "the assistant" | "inglenook" | "ai" | "system" | "bot"
        )
}

/// Without code blocks and quoted lines: they are not the person's own words.
fn without_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
            continue;
        }
        if !code && !line.trim_start().starts_with('>') {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// One message on its way to statements.
struct Message<'a> {
    utterance: &'a Utterance,
    parties: Parties<'a>,
    antecedents: &'a mut Antecedents,
    made: Vec<Statement>,
    /// Where a clause was said: this message, and those that tell whom its pronoun means.
    messages: Vec<MessageId>,
    /// The latest statements of the messages before this one.
    before: &'a [Statement],
    /// The statement that a continuation ("It was wonderful.") may join.
    previous: Option<usize>,
    /// Sentences dropped only because a pronoun in them is not resolved.
    n_loose: usize,
}

impl<'a> Message<'a> {
    fn new(
        utterance: &'a Utterance,
        antecedents: &'a mut Antecedents,
        before: &'a [Statement],
    ) -> Self {
        let parties =
            Parties { speaker: &utterance.speaker, addressee: utterance.addressee.as_deref() };
        let (made, messages) = (Vec::new(), vec![utterance.message]);
        Self { utterance, parties, antecedents, made, messages, before, previous: None, n_loose: 0 }
    }

    fn add(&mut self, text: &str) {
        let statement = parse_statement(text);
        self.made.push(Statement { messages: self.messages.clone(), ..statement });
    }

    fn read(&mut self) {
        let text = plain_text(lexicon::clip(&self.utterance.text, MESSAGE_BYTES_MAX));
        for sentence in sentences(&without_quoted(&text)) {
            if self.made.len() >= STATEMENTS_MAX {
                break;
            }
            // The headings that a note stands below; "Run some code please".
            let words: Vec<Token> = tokens(sentence).into_iter().filter(|t| t.word).collect();
            let begs = words.last().is_some_and(|t| t.is("please")) && intent::is_request(&words);
            if sentence.contains(" › ") || begs {
                continue;
            }
            let language = if sentence.len() > SENTENCE_CHARS_MAX {
                Language::None
            } else {
                language::of(sentence)
            };
            if language == Language::English {
                self.read_sentence(sentence);
                continue;
            }
            self.previous = None;
            if language == Language::Other {
                let name = capitalise(&self.utterance.speaker);
                self.add(&format!("{name} said: \"{}\"", sentence.trim()));
            }
        }
    }

    fn read_sentence(&mut self, sentence: &str) {
        self.messages = vec![self.utterance.message];
        let before = if self.made.is_empty() { self.before } else { &self.made };
        if let Some((text, of)) = fragments::corrected(sentence, self.utterance.at, before) {
            // What stays of it was said there.
            self.messages = said_in(self.utterance.message, &of.messages);
            self.add(&text);
            // "Make that seven, my cousin is coming too"
            if let Some((_, rest)) =
                sentence.split_once(", ").filter(|_| fragments::gives_a_value(sentence))
            {
                self.read_sentence(rest);
            }
            return;
        }
        // Without what it corrects it yields no statement.
        self.n_loose += usize::from(fragments::may_correct(sentence));
        // Only a person who is not asked themself keeps it.
        let wish = asked_to_remind(sentence).filter(|_| self.utterance.addressee.is_none());
        let sentence = wish.as_deref().unwrap_or(sentence);
        let mut words = self.opened(&tokens(sentence));
        let asks = intent::is_question(&words, sentence) || intent::is_recall_request(&words);
        if asks && !tells(&words, sentence) {
            self.previous = None;
            return;
        }
        trim_end(&mut words);
        let name = super::user_name(sentence);
        if words.is_empty()
            || small_talk::is_thanks(sentence)
            || small_talk::is_greeting(sentence)
            || small_talk::is_small_talk(&words)
            || intent::is_request(&words)
            || is_about_the_conversation(&words)
        {
            return;
        }
        let mut words = name_the_nameless(restore_subject(words));
        // "hi im tom": the name that was understood is written as one.
        for word in &mut words {
            let part = |name: &String| {
                name.split(' ').find(|part| part.to_lowercase() == word.text).map(str::to_owned)
            };
            if let Some(part) = name.as_ref().and_then(part) {
                *word = Token::new(part, word.space_before);
            }
        }
        for clause in clauses(&words) {
            self.read_clause(&clause);
        }
    }

    /// Without openings and the name of the one spoken to.
    fn opened(&self, words: &[Token]) -> Vec<Token> {
        strip_vocative(&openings::strip_opening(words), self.parties)
    }

    fn read_clause(&mut self, clause: &[Token]) {
        let clause = self.opened(clause);
        let named_first = clause.first().is_some_and(|t| t.upper() && !t.is("i"));
        if clause.iter().filter(|t| t.word).count() < 2
            || small_talk::is_small_talk(&clause)
            || intent::is_request(&clause) && !named_first
        {
            return;
        }
        let (clause, tell) = self.antecedents.resolve(clause);
        self.messages = said_in(self.utterance.message, tell);
        let Some(third) = person::third_person(&clause, self.parties) else { return };
        let text = finish(&join(&third), self.utterance);
        // "I'm Ana", said by Ana.
        if text.chars().filter(|c| c.is_alphanumeric()).count() < 4
            || text == format!("{0} is {0}", self.parties.speaker)
        {
            return;
        }
        if starts_loose(&clause) && starts_loose(&tokens(&text)) {
            self.add_loose(&text);
            return;
        }
        let named = third != clause;
        self.antecedents.note(&text, self.parties, &self.messages);
        let first = self.made.len();
        for fact in facts(&text) {
            self.add(&attribute_to_speaker(fact, named, self.utterance));
        }
        self.previous = (self.made.len() > first).then_some(first);
        for relation in relations(&text) {
            if self.made.iter().all(|s| s.text != relation) {
                self.add(&relation);
            }
        }
    }

    /// A sentence about something said before joins it, or is quoted, or is dropped.
    fn add_loose(&mut self, text: &str) {
        let small = uncapitalise(text);
        if let Some(before) = self.previous.and_then(|at| self.made.get_mut(at)) {
            let single = before.attribute.as_deref().is_some_and(is_single_valued);
            if !single && before.text.len() + text.len() < JOINED_CHARS_MAX {
                before.text = format!("{}; {small}", before.text);
                return;
            }
        }
        if lexicon::content_stems(text).len() >= 4 {
            self.add(&format!("{} said: {small}", capitalise(&self.utterance.speaker)));
            self.previous = Some(self.made.len() - 1);
        } else {
            self.n_loose += 1;
        }
    }
}

/// A message, and others that tell what it means.
fn said_in(message: MessageId, others: &[MessageId]) -> Vec<MessageId> {
    let others = others.iter().copied().filter(|other| *other != message);
    std::iter::once(message).chain(others).collect()
}

/// Whether a message is more than small talk: the rules find something lasting in it, or a correction.
pub fn tells_something(text: &str) -> bool {
    let utterance = Utterance {
        message: MessageId(0),
        role: Role::User,
        speaker: super::THE_USER.to_owned(),
        addressee: None,
        text: text.to_owned(),
        at: DateTime::default(),
    };
    let lasts = |s: &Statement| s.attribute.as_deref().is_some_and(|a| a != "name");
    !text.contains('?')
        && (fragments::opens_correction(text) && fragments::may_correct(text)
            || statements(&[utterance]).iter().any(lasts))
}

/// "Did you know that I have a dog?" asks nothing.
fn tells(words: &[Token], sentence: &str) -> bool {
    let opened = tokens(sentence);
    let asks_politely = match opened.lower(0) {
        "did" => {
            opened.lower(1) == "you" && opened.lower(2) == "know"
                || opened.lower(1) == "i" && opened.among(2, &["tell", "mention"])
        }
        "can" | "could" | "would" => {
            opened.lower(1) == "you" && opened.among(2, &["remember", "please", "note"])
        }
        _ => false,
    };
    asks_politely
        && (3..opened.len()).contains(&words.len())
        && (words.among(0, &["i", "my", "our", "we"]) || words.is_upper(0))
}

/// "I have a question", "I told you", "I'm writing to you": nothing outside this conversation.
fn is_about_the_conversation(words: &[Token]) -> bool {
    ABOUT_THE_CONVERSATION.match_any(&words.lower_words())
}

/// Begins with a pronoun that was not resolved.
fn starts_loose(words: &[Token]) -> bool {
    words.first().is_some_and(|t| t.within(&LOOSE_PRONOUNS))
}

fn uncapitalise(text: &str) -> String {
    let (first, rest) = text.split_at(text.find(' ').unwrap_or(text.len()));
    let first = if CAPITALS_TO_LOWER.has(first) { &first.to_lowercase() } else { first };
    format!("{first}{rest}")
}

/// Dates, capital, no end mark.
fn finish(text: &str, utterance: &Utterance) -> String {
    let resolved = dates::resolve(text, utterance.at).text;
    let trimmed = resolved.trim().trim_end_matches(['.', '!', ',', ';', ':', ' ', '…']);
    let trimmed = trimmed.trim_start_matches([',', ' ', '-', '–', '—', ':']);
    capitalise(trimmed)
}

/// Between two named people a statement that names nobody says whose it is.
fn attribute_to_speaker(fact: String, named: bool, utterance: &Utterance) -> String {
    if utterance.addressee.is_none() || named || fact.contains(utterance.speaker.as_str()) {
        return fact;
    }
    // Facts about named others stand by themselves: "Max gets anxious".
    let statement = parse_statement(&fact);
    if statement.subject.as_deref().is_some_and(lexicon::starts_upper)
        && statement.attribute.is_some()
    {
        return fact;
    }
    format!("{} said: {fact}", utterance.speaker)
}
