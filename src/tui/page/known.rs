//! What is remembered, as the memory's page says it: read on the store's thread.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::extractive::{self, About, Names, Plan, THE_USER, Utterance, said_to, to_second_person};
use crate::memory::{
    Message, MessageId, Moment, Semantic, SemanticId, SessionId, own_words, plain_text,
};
use crate::store::{AnyId, FactSource, Reader, Session, StoreError, Visit};
use crate::texts::text;

/// Messages of which no fact is made yet that are read: the newest.
const OPEN_MAX: u32 = 30;
/// What is told of the person first, in this order.
#[rustfmt::skip]
const FIRST: [&str; 14] = [
    "name", "age", "birthday", "pronouns", "birthplace", "home", "job", "employer", "school",
    "relationship status", "partner", "family", "diet", "allergy",
];

/// One fact; or what a message says of which no fact is made yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// A fact's, or that message's.
    pub id: AnyId,
    /// The sentence to the person.
    pub sentence: String,
    pub told: Moment,
    pub from: Source,
    /// Where it was said.
    pub session: SessionId,
    pub message: MessageId,
    pub about_you: bool,
    /// Whom else it is about, as headings: "Emily, your sister".
    pub people: Vec<String>,
    pub plan: Option<Plan>,
    pub places: Vec<String>,
    /// It says only who somebody is, as their heading does.
    pub is_relation: bool,
    /// Its place among what is told of the person; lower is further up.
    pub rank: usize,
    pub pinned: bool,
    /// What took its place, and when.
    pub superseded: Option<(SemanticId, Moment)>,
    /// What became of it since the person last looked.
    pub change: Option<Change>,
}

/// Where a fact is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The chat of this title.
    Chat(String),
    /// The file that was imported.
    File(String),
    /// Another program.
    Agent(String),
    /// The person wrote it themself.
    Correction,
    /// Still only in the chat.
    Unsettled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    New,
    Corrected,
    Superseded,
}

/// Everything that is known, and when the person last looked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Knowledge {
    pub all: Vec<Known>,
    pub visit: Option<Visit>,
}

/// Reads it.
pub fn read(r: &Reader<'_>, facts: &[Semantic]) -> Result<Knowledge, StoreError> {
    let person = r.user_name()?;
    let sessions: HashMap<SessionId, Session> =
        r.sessions()?.into_iter().map(|session| (session.id, session)).collect();
    let visit = r.page_visit()?;
    let corrected = visit.map(|visit| r.corrected_since(&visit)).transpose()?.unwrap_or_default();
    let open = unsettled(r, &sessions, person.as_deref(), facts)?;
    let texts = facts.iter().map(|fact| &fact.content).chain(open.iter().map(|(_, text)| text));
    let reading = Reading {
        names: Names::of(texts.map(String::as_str), person.as_deref()),
        person,
        sources: r.fact_sources()?,
        pinned: r.pinned_facts()?,
        sessions,
        visit,
        corrected,
    };
    let known = facts.iter().filter_map(|fact| reading.fact(fact));
    let open = open.iter().map(|(message, text)| Known {
        session: message.session,
        message: message.id,
        ..reading.known(AnyId::Message(message.id), text, message.created_at)
    });
    let mut all: Vec<Known> = known.chain(open).collect();
    all.sort_by_key(|known| Reverse((known.told, known.message)));
    Ok(Knowledge { all, visit })
}

struct Reading {
    names: Names,
    person: Option<String>,
    sources: BTreeMap<SemanticId, FactSource>,
    pinned: BTreeSet<SemanticId>,
    sessions: HashMap<SessionId, Session>,
    visit: Option<Visit>,
    corrected: BTreeSet<SemanticId>,
}

impl Reading {
    fn fact(&self, fact: &Semantic) -> Option<Known> {
        let source = self.sources.get(&fact.id)?;
        let session = self.sessions.get(&source.session)?;
        let name = |name: &Option<String>, or: &str| name.clone().unwrap_or_else(|| or.to_owned());
        let from = if source.corrected {
            Source::Correction
        } else if session.agent {
            Source::Agent(name(&session.source, text!("another program")))
        } else if session.imported {
            Source::File(name(&session.source, text!("an import")))
        } else {
            Source::Chat(session.title.clone())
        };
        Some(Known {
            from,
            session: source.session,
            message: source.message,
            pinned: self.pinned.contains(&fact.id),
            superseded: fact.superseded_by.zip(fact.superseded_at),
            change: self.change(fact),
            ..self.known(AnyId::Semantic(fact.id), &fact.content, fact.created_at)
        })
    }

    /// Of a text alone.
    fn known(&self, id: AnyId, text: &str, told: Moment) -> Known {
        let text = plain_text(text);
        let About { you, people, plan, places } = self.names.about(&text, told.civil().date());
        let statement = extractive::parse_statement(&text);
        let attribute = statement.attribute.as_deref();
        let is_person =
            |subject: &str| subject == THE_USER || Some(subject) == self.person.as_deref();
        let first = |attribute: &str| FIRST.iter().position(|first| *first == attribute);
        let of_person = attribute.filter(|_| statement.subject.as_deref().is_some_and(is_person));
        Known {
            id,
            sentence: said_to(&text, self.person.as_deref()),
            told,
            from: Source::Unsettled,
            session: SessionId(0),
            message: MessageId(0),
            about_you: you,
            people: people.iter().map(|name| self.heading(name)).collect(),
            plan,
            places,
            is_relation: attribute == Some("relation"),
            rank: of_person.and_then(first).unwrap_or(FIRST.len()),
            pinned: false,
            superseded: None,
            change: self.is_since(told.as_millisecond()).then_some(Change::New),
        }
    }

    /// "Emily, your sister"
    fn heading(&self, name: &str) -> String {
        let said = |text: &str| to_second_person(text, self.person.as_deref());
        let heading = said(&name.replacen("the user", "The user", 1));
        match self.names.relation(name).map(said) {
            Some(relation) if relation.starts_with("Your ") => {
                format!("{heading}, your {}", &relation["Your ".len()..])
            }
            Some(relation) => format!("{heading}, {relation}"),
            None => heading,
        }
    }

    /// Whether the person has not looked since then; all is new to somebody who never has, however long ago it was told.
    fn is_since(&self, ms: i64) -> bool {
        self.visit.is_none_or(|visit| ms >= visit.ms)
    }

    fn change(&self, fact: &Semantic) -> Option<Change> {
        let was_new = self.visit.is_none_or(|visit| fact.id > visit.newest);
        match fact.superseded_by.zip(fact.superseded_at) {
            // What came and went meanwhile was never seen.
            Some(_) if was_new => None,
            Some((by, at)) => (self.is_since(at.as_millisecond())
                || self.visit.is_some_and(|visit| by > visit.newest))
            .then_some(Change::Superseded),
            None if self.corrected.contains(&fact.id) => Some(Change::Corrected),
            None => was_new.then_some(Change::New),
        }
    }
}

/// What the newest messages say of which no fact is made yet, as the rules read it.
fn unsettled(
    r: &Reader<'_>,
    sessions: &HashMap<SessionId, Session>,
    person: Option<&str>,
    facts: &[Semantic],
) -> Result<Vec<(Message, String)>, StoreError> {
    let mut open = r.newest_unnoted_messages(OPEN_MAX)?;
    open.reverse();
    open.retain(|m| m.complete && sessions.get(&m.session).is_some_and(|s| !s.imported));
    let line = |m: &Message| Utterance {
        message: m.id,
        role: m.role,
        speaker: person.unwrap_or(THE_USER).to_owned(),
        addressee: None,
        text: own_words(&m.content).to_owned(),
        at: m.created_at.civil(),
    };
    let lines: Vec<Utterance> = open.iter().map(line).collect();
    let told = extractive::memorable(&extractive::statements(&lines), &lines);
    let bare = |text: &str| text.trim_end_matches('.').to_lowercase();
    let known: HashSet<String> = facts.iter().map(|fact| bare(&fact.content)).collect();
    let of = |statement: extractive::Statement| {
        let message = open.iter().find(|m| statement.messages.contains(&m.id))?;
        Some((message.clone(), statement.text))
    };
    Ok(told.into_iter().filter(|s| !known.contains(&bare(&s.text))).filter_map(of).collect())
}
