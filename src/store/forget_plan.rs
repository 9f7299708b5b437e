//! What forgetting reaches.
//!
//! From what the person named to the messages (a text can't be taken out of a fact, a summary or a
//! name, so whatever was derived from a message goes with it), and from there to everything that
//! may quote them:
//!
//! - the replies to them, the replies that quote them or what was derived from them (of a model's
//!   reply: that had it in the prompt), and the replies that repeat their words;
//! - their episodes, with all the facts of those: an episode is told anew from the messages that
//!   stay, and its facts are written anew from it;
//! - the names of themes that ever held such a fact, or that have a word of it that no member backs;
//! - what calls the person by a name that only these messages knew.
//!
//! Citations are followed one step, not for ever: a reply that cites an episode that holds a reply
//! that … would soon be all of them. Beyond that step a reply has to have a word that the person
//! said nowhere else.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::error::{Result, StoreError};
use super::quoting::{Quoted, contains, has_words, telling_words, words};
use super::records::{AnyId, ForgetPlan, Level};
use super::settings::USER_NAME;
use super::transaction::Reader;
use crate::memory::{
    Episode, EpisodeId, Message, MessageId, Role, Semantic, SemanticId, SessionId, ThemeId,
};

/// The whole memory, as planning needs it.
struct Everything {
    messages: Vec<Message>,
    episodes: Vec<Episode>,
    semantics: Vec<Semantic>,
    sessions: HashSet<SessionId>,
}

/// Of two named people neither is the assistant: nobody's words are a reply to be taken along.
fn is_reply(message: &Message) -> bool {
    message.role == Role::Assistant && message.speaker.is_none()
}

impl Everything {
    fn load(reader: &Reader<'_>) -> Result<Self> {
        Ok(Self {
            messages: reader.all_messages()?,
            episodes: reader.episodes()?,
            semantics: reader.semantics()?,
            sessions: reader.sessions()?.into_iter().map(|s| s.id).collect(),
        })
    }

    /// Words of what was named that no person says in a message that stays. A reply's own words
    /// ("said on …") are in every reply: they give nothing away.
    fn words_only_in(&self, seeds: &BTreeSet<MessageId>, plan: &ForgetPlan) -> HashSet<String> {
        let mut only: HashSet<String> = self
            .messages
            .iter()
            .filter(|m| seeds.contains(&m.id) && !is_reply(m))
            .map(|m| &m.content)
            .chain(
                self.semantics
                    .iter()
                    .filter(|s| plan.semantics.contains(&s.id))
                    .map(|s| &s.content),
            )
            .flat_map(|text| words_of(text))
            .collect();
        for message in self.messages.iter().filter(|m| !seeds.contains(&m.id) && !is_reply(m)) {
            for word in words(&message.content) {
                only.remove(&word);
            }
        }
        only
    }
}

/// Words of three letters and more ("Max"), or with a digit.
/// What was left of facts of which those that go took a part back: the facts themselves hold again.
fn left_by(all: &[Semantic], gone: &BTreeSet<SemanticId>) -> Vec<SemanticId> {
    let split =
        all.iter().filter_map(|s| Some((s, s.superseded_by.filter(|by| gone.contains(by))?)));
    let of = |(whole, by): (&Semantic, SemanticId)| {
        let known = words(&whole.content);
        let is_part = |text: &str| {
            let counted = |w: &str| w == "one" || w.bytes().all(|b| b.is_ascii_digit());
            words(text).iter().all(|w| counted(w) || known.iter().any(|k| k.starts_with(w)))
        };
        let later = all.iter().filter(|s| s.id > by && s.messages == whole.messages);
        later.filter(|s| is_part(&s.content)).map(|s| s.id).collect::<Vec<_>>()
    };
    split.flat_map(of).collect()
}

fn words_of(text: &str) -> impl Iterator<Item = String> {
    words(text)
        .into_iter()
        .filter(|w| w.chars().count() >= 3 || w.bytes().any(|b| b.is_ascii_digit()))
}

/// What is derived from some messages (and what was named itself).
struct Reach {
    messages: HashSet<i64>,
    semantics: HashSet<i64>,
    episodes: HashSet<i64>,
}

impl Reach {
    fn of(all: &Everything, messages: &BTreeSet<MessageId>, plan: &ForgetPlan) -> Self {
        let goes = |id: &MessageId| messages.contains(id);
        let semantics = all
            .semantics
            .iter()
            .filter(|s| plan.semantics.contains(&s.id) || s.messages.iter().any(goes))
            .map(|s| s.id.0);
        let episodes = all
            .episodes
            .iter()
            .filter(|e| plan.episodes.contains(&e.id) || e.messages.iter().any(goes))
            .map(|e| e.id.0);
        Self {
            messages: messages.iter().map(|id| id.0).collect(),
            semantics: semantics.collect(),
            episodes: episodes.collect(),
        }
    }

    fn has_any_of(&self, cited: &Mentioned) -> bool {
        cited.any(Level::Message, |id| self.messages.contains(&id))
            || cited.any(Level::Semantic, |id| self.semantics.contains(&id))
            || cited.any(Level::Episode, |id| self.episodes.contains(&id))
    }
}

/// Ids in an evidence record.
#[derive(Debug, Default)]
pub(super) struct Mentioned(HashSet<(Level, i64)>);

impl Mentioned {
    /// All ids in a record: `"s12"` anywhere, bare numbers under a key that says of what. Without
    /// `refused`, episodes that did not get into the prompt are left out.
    pub(super) fn in_record(record: &Value, refused: bool) -> Self {
        let mut found = Self::default();
        found.walk(record, None, refused);
        found
    }

    /// The ids whose words may be in the reply itself: those that it says it quotes (the
    /// extractive reader), else all that was in the prompt.
    pub(super) fn in_reply(record: &Value) -> Self {
        match record.get("quoted") {
            Some(quoted @ Value::Array(_)) => Self::in_record(quoted, false),
            _ => Self::in_record(record, false),
        }
    }

    fn walk(&mut self, value: &Value, of: Option<Level>, refused: bool) {
        match value {
            Value::Object(fields) => {
                if !refused && fields.get("admitted") == Some(&Value::Bool(false)) {
                    return;
                }
                for (key, value) in fields {
                    let of = match key.as_str() {
                        "message" | "messages" => Some(Level::Message),
                        "episode" | "episodes" => Some(Level::Episode),
                        "semantic" | "semantics" => Some(Level::Semantic),
                        "theme" | "themes" => Some(Level::Theme),
                        "id" | "ids" => of,
                        _ => None,
                    };
                    self.walk(value, of, refused);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.walk(item, of, refused)),
            Value::Number(number) => self.0.extend(of.zip(number.as_i64())),
            Value::String(text) => match text.parse() {
                Ok(AnyId::Message(id)) => drop(self.0.insert((Level::Message, id.0))),
                Ok(AnyId::Episode(id)) => drop(self.0.insert((Level::Episode, id.0))),
                Ok(AnyId::Semantic(id)) => drop(self.0.insert((Level::Semantic, id.0))),
                Ok(AnyId::Theme(id)) => drop(self.0.insert((Level::Theme, id.0))),
                Ok(AnyId::Session(_)) => {}
                Err(_) => self.0.extend(of.zip(text.parse().ok())),
            },
            Value::Null | Value::Bool(_) => {}
        }
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = (Level, i64)> {
        self.0.iter().copied()
    }

    pub(super) fn any(&self, level: Level, mut goes: impl FnMut(i64) -> bool) -> bool {
        self.0.iter().any(|&(l, id)| l == level && goes(id))
    }
}

impl Reader<'_> {
    /// What forgetting these (or, with `matching`, every message and fact containing that text,
    /// ignoring case) would take: themes and semantics reach their messages, messages what was
    /// derived from them.
    ///
    /// # Errors
    /// If one of the ids does not exist, the text is empty, or the memory cannot be read.
    pub fn plan_forget(&self, ids: &[AnyId], matching: Option<&str>) -> Result<ForgetPlan> {
        let all = Everything::load(self)?;
        let mut plan =
            ForgetPlan { matching: matching.map(str::to_owned), ..ForgetPlan::default() };
        let mut seeds: BTreeSet<MessageId> = BTreeSet::new();
        let mut facts: BTreeSet<SemanticId> = BTreeSet::new();
        for id in ids {
            match *id {
                AnyId::Message(id) => {
                    self.messages_by_id(&[id])?;
                    seeds.insert(id);
                }
                AnyId::Episode(id) => {
                    seeds.extend(self.episodes_by_id(&[id])?.into_iter().flat_map(|e| e.messages));
                }
                AnyId::Semantic(id) => {
                    facts.insert(self.semantic(id)?.id);
                }
                AnyId::Theme(id) => {
                    facts.extend(self.themes_by_id(&[id])?.into_iter().flat_map(|t| t.members));
                }
                AnyId::Session(id) => {
                    plan.sessions.push(self.session(id)?.id);
                    seeds.extend(self.messages(id)?.iter().map(|m| m.id));
                }
            }
        }
        if let Some(text) = matching {
            if text.trim().is_empty() {
                return Err(StoreError::invalid("the text to forget is empty"));
            }
            seeds.extend(all.messages.iter().filter(|m| contains(&m.content, text)).map(|m| m.id));
            facts.extend(all.semantics.iter().filter(|s| contains(&s.content, text)).map(|s| s.id));
            plan.episodes.extend(
                all.episodes
                    .iter()
                    .filter(|e| contains(&e.title, text) || contains(&e.content, text))
                    .map(|e| e.id),
            );
        }
        seeds.extend(self.evidence_messages(&facts.iter().copied().collect::<Vec<_>>())?);
        plan.semantics = facts.into_iter().collect();
        plan.messages = seeds.iter().copied().collect();
        plan.messages.extend(self.replies_about(&all, &seeds, &plan)?);
        self.derive(&all, plan)
    }

    /// The plan again, with what was written since it was made.
    pub(super) fn renew(&self, plan: &ForgetPlan) -> Result<ForgetPlan> {
        self.derive(&Everything::load(self)?, plan.clone())
    }

    /// The replies that may quote the seeds.
    fn replies_about(
        &self,
        all: &Everything,
        seeds: &BTreeSet<MessageId>,
        plan: &ForgetPlan,
    ) -> Result<BTreeSet<MessageId>> {
        let records: HashMap<MessageId, Mentioned> = self
            .answer_records()?
            .into_iter()
            .map(|(reply, record)| (reply, Mentioned::in_reply(&record)))
            .collect();
        let reach = Reach::of(all, seeds, plan);
        let mut quoted = Quoted::default();
        for message in all.messages.iter().filter(|m| seeds.contains(&m.id)) {
            if !is_reply(message) {
                quoted.add(&message.content);
            }
        }
        for semantic in all.semantics.iter().filter(|s| reach.semantics.contains(&s.id.0)) {
            quoted.add(&semantic.content);
        }
        let mut replies = BTreeSet::new();
        let mut answers_seed: HashMap<SessionId, bool> = HashMap::new();
        for message in &all.messages {
            if !is_reply(message) {
                answers_seed.insert(message.session, seeds.contains(&message.id));
            } else if answers_seed.get(&message.session) == Some(&true)
                || records.get(&message.id).is_some_and(|cited| reach.has_any_of(cited))
                || quoted.is_in(&message.content)
            {
                replies.insert(message.id);
            }
        }
        // From here on a citation alone is too weak. But a word that the person said nowhere else
        // gives a reply away, if the window or its evidence could have brought it there.
        let words = all.words_only_in(seeds, plan);
        let first = seeds.first().copied();
        let sessions: HashSet<SessionId> =
            all.messages.iter().filter(|m| seeds.contains(&m.id)).map(|m| m.session).collect();
        let mut candidates: Vec<&Message> = all
            .messages
            .iter()
            .filter(|m| is_reply(m) && Some(m.id) > first)
            .filter(|m| words_of(&m.content).any(|w| words.contains(&w)))
            .collect();
        loop {
            let gone: BTreeSet<MessageId> = seeds.union(&replies).copied().collect();
            let reach = Reach::of(all, &gone, plan);
            let before = candidates.len();
            candidates.retain(|m| {
                let goes = sessions.contains(&m.session)
                    || records.get(&m.id).is_some_and(|cited| reach.has_any_of(cited));
                if goes {
                    replies.insert(m.id);
                }
                !goes
            });
            if candidates.len() == before {
                return Ok(replies);
            }
        }
    }

    /// From the messages that go (and the facts and episodes that were named) to all that is
    /// derived from them.
    fn derive(&self, all: &Everything, plan: ForgetPlan) -> Result<ForgetPlan> {
        let known: HashSet<MessageId> = all.messages.iter().map(|m| m.id).collect();
        let messages: BTreeSet<MessageId> =
            plan.messages.iter().copied().filter(|id| known.contains(id)).collect();
        let goes = |id: &MessageId| messages.contains(id);
        let mut episodes: BTreeSet<EpisodeId> = all
            .episodes
            .iter()
            .filter(|e| plan.episodes.contains(&e.id) || e.messages.iter().any(goes))
            .map(|e| e.id)
            .collect();
        if let Some(name) = self.name_that_goes(all, &messages)? {
            episodes.extend(named_only_by_us(all, &messages, &name));
        }
        let mut semantics: BTreeSet<SemanticId> = all
            .semantics
            .iter()
            .filter(|s| {
                plan.semantics.contains(&s.id)
                    || s.messages.iter().any(goes)
                    || s.episodes.iter().any(|e| episodes.contains(e))
            })
            .map(|s| s.id)
            .collect();
        semantics.extend(left_by(&all.semantics, &semantics));
        let rewritten = all
            .episodes
            .iter()
            .filter(|e| episodes.contains(&e.id) && !e.messages.iter().all(goes))
            .map(|e| e.id)
            .collect();
        let stays: HashSet<SessionId> =
            all.messages.iter().filter(|m| !goes(&m.id)).map(|m| m.session).collect();
        let mut sessions: BTreeSet<SessionId> =
            all.messages.iter().filter(|m| goes(&m.id)).map(|m| m.session).collect();
        sessions.extend(plan.sessions.iter().filter(|id| all.sessions.contains(id)));
        sessions.retain(|id| !stays.contains(id));
        let themes = self.themes_to_rename(all, &messages, &semantics, plan.matching.as_deref())?;
        Ok(ForgetPlan {
            messages: messages.into_iter().collect(),
            episodes: episodes.into_iter().collect(),
            semantics: semantics.into_iter().collect(),
            sessions: sessions.into_iter().collect(),
            rewritten,
            themes,
            matching: plan.matching,
        })
    }

    /// The person's name, if the messages that go are the only ones of theirs that say it.
    pub(super) fn name_that_goes_with(&self, messages: &[MessageId]) -> Result<Option<String>> {
        self.name_that_goes(&Everything::load(self)?, &messages.iter().copied().collect())
    }

    fn name_that_goes(
        &self,
        all: &Everything,
        messages: &BTreeSet<MessageId>,
    ) -> Result<Option<String>> {
        let Some(name) = self.setting(USER_NAME)? else { return Ok(None) };
        let parts = words(&name);
        let says = |m: &Message| m.role == Role::User && has_words(&m.content, &parts);
        let (mut by_those, mut by_others) = (false, false);
        for message in all.messages.iter().filter(|m| says(m)) {
            if messages.contains(&message.id) {
                by_those = true;
            } else {
                by_others = true;
            }
        }
        Ok((by_those && !by_others).then_some(name))
    }

    fn themes_to_rename(
        &self,
        all: &Everything,
        messages: &BTreeSet<MessageId>,
        semantics: &BTreeSet<SemanticId>,
        matching: Option<&str>,
    ) -> Result<Vec<ThemeId>> {
        let mut held: HashSet<i64> = HashSet::new();
        for id in semantics {
            held.extend(self.all(
                "SELECT theme FROM theme_history WHERE semantic = ?1",
                [id.0],
                |row| row.get::<_, i64>(0),
            )?);
        }
        let gone: HashSet<String> = all
            .messages
            .iter()
            .filter(|m| messages.contains(&m.id))
            .map(|m| &m.content)
            .chain(all.semantics.iter().filter(|s| semantics.contains(&s.id)).map(|s| &s.content))
            .flat_map(|text| telling_words(text))
            .collect();
        let mut backed: HashMap<ThemeId, HashSet<String>> = HashMap::new();
        for semantic in all.semantics.iter().filter(|s| !semantics.contains(&s.id)) {
            backed.entry(semantic.theme).or_default().extend(words(&semantic.content));
        }
        // A theme without members that stay is not renamed; it goes.
        Ok(self
            .themes()?
            .into_iter()
            .filter(|theme| {
                backed.get(&theme.id).is_some_and(|backed| {
                    held.contains(&theme.id.0)
                        || matching.is_some_and(|text| contains(&theme.name, text))
                        || telling_words(&theme.name)
                            .any(|w| gone.contains(&w) && !backed.contains(&w))
                })
            })
            .map(|theme| theme.id)
            .collect())
    }
}

/// Episodes that call the person by a name that none of their own staying messages says, or whose
/// facts do.
fn named_only_by_us(
    all: &Everything,
    messages: &BTreeSet<MessageId>,
    name: &str,
) -> BTreeSet<EpisodeId> {
    let parts = words(name);
    let says: HashSet<MessageId> = all
        .messages
        .iter()
        .filter(|m| !messages.contains(&m.id) && has_words(&m.content, &parts))
        .map(|m| m.id)
        .collect();
    let mut found = BTreeSet::new();
    for episode in &all.episodes {
        let named = has_words(&episode.title, &parts) || has_words(&episode.content, &parts);
        if named && !episode.messages.iter().any(|m| says.contains(m)) {
            found.insert(episode.id);
        }
    }
    for semantic in &all.semantics {
        let subject = semantic.subject.as_deref().is_some_and(|s| has_words(s, &parts));
        if (subject || has_words(&semantic.content, &parts))
            && !semantic.messages.iter().any(|m| says.contains(m))
        {
            found.extend(&semantic.episodes);
        }
    }
    found
}
