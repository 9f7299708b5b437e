//! What forgetting reaches.
//!
//! From what the person named to the messages (a text can't be taken out of a fact, a summary or a
//! name, so whatever was derived from a message goes with it), and from there to everything that
//! may quote them:
//!
//! - the replies to them, the replies that quote them or what was derived from them (for a model's
//!   reply: that had it in the prompt), and the replies that repeat their words;
//! - their episodes, with all the facts of those: an episode is told anew from the messages that
//!   stay, and its facts are written anew from it, but for those that the person corrected;
//! - the names of themes that ever held such a fact, or that have a word of it that no member backs;
//! - what calls the person by a name that only these messages knew.
//!
//! Citations are followed one step only: a reply that cites an episode that holds a reply that …
//! would soon take all of them. Beyond that step a reply has to have a word that the person
//! said nowhere else.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::answers::ids_in_reply;
use super::error::Result;
use super::forks::Forks;
use super::quoting::{Quoted, contains, has_words, telling_words};
use super::records::{AnyId, ForgetPlan, Session};
use super::settings::USER_NAME;
use super::transaction::Reader;
use crate::memory::lexical::words;
use crate::memory::{
    Episode, EpisodeId, Message, MessageId, Role, Semantic, SemanticId, SessionId, ThemeId,
};

/// The whole memory, as planning needs it.
struct Everything {
    messages: Vec<Message>,
    episodes: Vec<Episode>,
    semantics: Vec<Semantic>,
    sessions: HashSet<SessionId>,
    /// Another device may add to them.
    foreign: Vec<SessionId>,
    forks: Forks,
    /// Facts that the person corrected, with what the store still has of what they said before.
    corrected: HashMap<SemanticId, Vec<String>>,
}

/// Between two named people neither is the assistant, so nobody's words are a reply to be taken along.
pub(super) fn is_reply(message: &Message) -> bool {
    message.role == Role::Assistant && message.speaker.is_none()
}

impl Everything {
    fn load(reader: &Reader<'_>) -> Result<Self> {
        Ok(Self {
            messages: reader.all_messages()?,
            episodes: reader.episodes()?,
            semantics: reader.semantics()?,
            sessions: reader.sessions()?.into_iter().map(|s| s.id).collect(),
            foreign: reader.foreign_sessions()?,
            forks: reader.forks()?,
            corrected: reader.corrected()?,
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

/// Facts that keep what was left of a fact that one of `gone` took back in part: that fact itself holds again.
fn left_by(all: &[Semantic], gone: &BTreeSet<SemanticId>) -> Vec<SemanticId> {
    let split =
        all.iter().filter_map(|s| Some((s, s.superseded_by.filter(|by| gone.contains(by))?)));
    let of = |(whole, by): (&Semantic, SemanticId)| {
        let later = all.iter().filter(|s| s.id > by && s.messages == whole.messages);
        let rests = later.filter(|s| is_part_of(&s.content, &whole.content));
        rests.map(|s| s.id).collect::<Vec<_>>()
    };
    split.flat_map(of).collect()
}

/// Whether a text may be what is left of another one.
pub(super) fn is_part_of(text: &str, whole: &str) -> bool {
    let known: Vec<String> = words(whole).collect();
    let counted = |w: &str| w == "one" || w.bytes().all(|b| b.is_ascii_digit());
    words(text).all(|w| counted(&w) || known.iter().any(|k| k.starts_with(&w)))
}

/// Words that are written as names are, or hold a digit, in lowercase.
fn names_in(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|w| w.starts_with(char::is_uppercase) || w.contains(|c: char| c.is_ascii_digit()))
        .filter(|w| !["The", "A", "An", "I", "My"].contains(w))
        .map(str::to_lowercase)
}

/// Words of three letters and more ("Max"), or with a digit.
pub(super) fn words_of(text: &str) -> impl Iterator<Item = String> {
    words(text).filter(|w| w.chars().count() >= 3 || w.bytes().any(|b| b.is_ascii_digit()))
}

/// What is derived from some messages (and what was named itself).
fn reach(all: &Everything, messages: &BTreeSet<MessageId>, plan: &ForgetPlan) -> HashSet<AnyId> {
    let goes = |id: &MessageId| messages.contains(id);
    let semantics = all
        .semantics
        .iter()
        .filter(|s| plan.semantics.contains(&s.id) || s.messages.iter().any(goes))
        .map(|s| AnyId::Semantic(s.id));
    let episodes = all
        .episodes
        .iter()
        .filter(|e| plan.episodes.contains(&e.id) || e.messages.iter().any(goes))
        .map(|e| AnyId::Episode(e.id));
    messages.iter().copied().map(AnyId::Message).chain(semantics).chain(episodes).collect()
}

impl Reader<'_> {
    /// What forgetting these (and, with `matching`, every message, speaker, episode, fact, title and entry of the undo log containing
    /// that text, as people read it: [`contains`]) would take: themes and semantics reach their messages, messages what was
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
            plan.n_elsewhere = self.n_elsewhere(text)?;
            let says = |m: &&Message| {
                contains(&m.content, text)
                    || m.speaker.as_deref().is_some_and(|s| contains(s, text))
            };
            seeds.extend(all.messages.iter().filter(says).map(|m| m.id));
            facts.extend(all.semantics.iter().filter(|s| contains(&s.content, text)).map(|s| s.id));
            plan.episodes.extend(
                all.episodes
                    .iter()
                    .filter(|e| contains(&e.title, text) || contains(&e.content, text))
                    .map(|e| e.id),
            );
        }
        seeds.extend(self.evidence_messages(facts.iter().copied())?);
        plan.semantics = facts.into_iter().collect();
        plan.seeds = plan.sessions.iter().copied().map(AnyId::Session).collect();
        plan.seeds.extend(seeds.iter().copied().map(AnyId::Message));
        plan.messages = seeds.iter().copied().collect();
        plan.messages.extend(self.replies_about(&all, &seeds, &plan)?);
        self.derive(&all, plan)
    }

    /// Every chat that came from a file from which something of this came; nothing, if it was all said here.
    ///
    /// # Errors
    /// As [`Self::plan_forget`].
    pub fn chats_of_its_files(&self, id: AnyId) -> Result<Vec<AnyId>> {
        let messages = match id {
            AnyId::Message(id) => vec![id],
            AnyId::Episode(id) => {
                self.episodes_by_id(&[id])?.into_iter().flat_map(|e| e.messages).collect()
            }
            AnyId::Semantic(id) => self.evidence_messages([id])?,
            AnyId::Theme(id) => {
                let members = self.themes_by_id(&[id])?.into_iter().flat_map(|theme| theme.members);
                self.evidence_messages(members)?
            }
            AnyId::Session(id) => self.messages(id)?.iter().map(|m| m.id).collect(),
        };
        let messages = self.messages_by_id(&messages)?;
        let of: BTreeSet<SessionId> = messages.iter().map(|m| m.session).collect();
        let chats = self.sessions()?;
        let files: HashSet<&String> =
            chats.iter().filter(|s| of.contains(&s.id)).filter_map(|s| s.source.as_ref()).collect();
        let is_theirs = |s: &&Session| s.source.as_ref().is_some_and(|file| files.contains(file));
        Ok(chats.iter().filter(is_theirs).map(|s| AnyId::Session(s.id)).collect())
    }

    /// The plan again, with what was said, replied and derived since it was made.
    pub(super) fn renew(&self, plan: &ForgetPlan) -> Result<ForgetPlan> {
        let all = Everything::load(self)?;
        let mut plan = plan.clone();
        // Somebody else may have forgotten some of it.
        let messages: HashSet<MessageId> = all.messages.iter().map(|m| m.id).collect();
        plan.seeds.retain(|seed| match seed {
            AnyId::Session(id) => all.sessions.contains(id),
            AnyId::Message(id) => messages.contains(id),
            _ => false,
        });
        plan.messages.extend(self.plan_forget(&plan.seeds, None)?.messages);
        self.derive(&all, plan)
    }

    /// The replies that may quote the seeds.
    fn replies_about(
        &self,
        all: &Everything,
        seeds: &BTreeSet<MessageId>,
        plan: &ForgetPlan,
    ) -> Result<BTreeSet<MessageId>> {
        let records = self.answer_records()?.into_iter();
        let cited: HashMap<MessageId, HashSet<AnyId>> =
            records.map(|(reply, record)| (reply, ids_in_reply(&record))).collect();
        let cites_any = |reply: &MessageId, reach: &HashSet<AnyId>| {
            cited.get(reply).is_some_and(|cited| !cited.is_disjoint(reach))
        };
        // Facts that undo took away: nothing is known any more of what they said.
        let known: HashSet<AnyId> = all.semantics.iter().map(|s| AnyId::Semantic(s.id)).collect();
        let is_undone = |id: &AnyId| matches!(id, AnyId::Semantic(_)) && !known.contains(id);
        let cites_undone =
            |reply: &MessageId| cited.get(reply).is_some_and(|cited| cited.iter().any(is_undone));
        let first_reach = reach(all, seeds, plan);
        let mut quoted = Quoted::default();
        for message in all.messages.iter().filter(|m| seeds.contains(&m.id)) {
            if !is_reply(message) {
                quoted.add(&message.content);
            }
        }
        let reached = |s: &&Semantic| first_reach.contains(&AnyId::Semantic(s.id));
        for semantic in all.semantics.iter().filter(reached) {
            quoted.add(&semantic.content);
        }
        let mut replies = BTreeSet::new();
        let is_said = |m: &Message| !is_reply(m);
        let mut answers_seed: HashMap<SessionId, bool> = HashMap::new();
        for message in &all.messages {
            let is_seed = |m: &Message| seeds.contains(&m.id);
            let answers_seed = answers_seed.entry(message.session).or_insert_with(|| {
                all.forks.last_before(message.session, &all.messages, is_said).is_some_and(is_seed)
            });
            if !is_reply(message) {
                *answers_seed = is_seed(message);
            } else if *answers_seed
                || cites_any(&message.id, &first_reach)
                || quoted.is_in(&message.content)
            {
                replies.insert(message.id);
            }
        }
        // From here on a citation alone is too weak. But a word that the person said nowhere else
        // gives a reply away, if the window or its evidence could have brought it there.
        let words = all.words_only_in(seeds, plan);
        let first = seeds.first().copied();
        let named: Vec<&Message> = all.messages.iter().filter(|m| seeds.contains(&m.id)).collect();
        let sessions = all.forks.showing(&named);
        let mut candidates: Vec<&Message> = all
            .messages
            .iter()
            .filter(|m| is_reply(m) && Some(m.id) > first)
            .filter(|m| words_of(&m.content).any(|w| words.contains(&w)))
            .collect();
        loop {
            let gone: BTreeSet<MessageId> = seeds.union(&replies).copied().collect();
            let reach = reach(all, &gone, plan);
            let before = candidates.len();
            candidates.retain(|m| {
                let goes = sessions.contains(&m.session)
                    || cites_any(&m.id, &reach)
                    || cites_undone(&m.id);
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
        // A correction outlives its episode, unless it holds a name or a number that only those messages said.
        let only_said_there = all.words_only_in(&messages, &ForgetPlan::default());
        let spared = |s: &Semantic| {
            let says = |text: &String| names_in(text).any(|name| only_said_there.contains(&name));
            all.corrected
                .get(&s.id)
                .is_some_and(|before| !says(&s.content) && !before.iter().any(says))
        };
        let named: HashSet<SemanticId> = plan.semantics.iter().copied().collect();
        let mut semantics: BTreeSet<SemanticId> = all
            .semantics
            .iter()
            .filter(|s| {
                named.contains(&s.id)
                    || s.messages.iter().any(goes)
                    || s.episodes.iter().any(|e| episodes.contains(e)) && !spared(s)
            })
            .map(|s| s.id)
            .collect();
        semantics.extend(left_by(&all.semantics, &semantics));
        let corrected = semantics.iter().filter(|id| all.corrected.contains_key(id));
        semantics.extend(self.made_of_corrections(corrected.copied())?);
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
        // A chat that only showed what goes.
        let shows = |id: SessionId, gone: bool| {
            all.messages.iter().any(|m| goes(&m.id) == gone && all.forks.shows(id, m))
        };
        sessions.extend(all.forks.sessions().filter(|id| shows(*id, true) && !shows(*id, false)));
        sessions.retain(|id| !all.foreign.contains(id));
        sessions.extend(plan.sessions.iter().filter(|id| all.sessions.contains(id)));
        sessions.retain(|id| !stays.contains(id));
        let themes = self.themes_to_rename(all, &messages, &semantics, &plan)?;
        Ok(ForgetPlan {
            messages: messages.into_iter().collect(),
            episodes: episodes.into_iter().collect(),
            semantics: semantics.into_iter().collect(),
            sessions: sessions.into_iter().collect(),
            rewritten,
            themes,
            blotted: plan.blotted.iter().copied().filter(|id| known.contains(id)).collect(),
            ..plan
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
        let parts: Vec<String> = words(&name).collect();
        let says = |m: &Message| m.role == Role::User && has_words(&m.content, &parts);
        let mut saying = all.messages.iter().filter(|m| says(m)).peekable();
        let is_said = saying.peek().is_some();
        Ok((is_said && saying.all(|m| messages.contains(&m.id))).then_some(name))
    }

    fn themes_to_rename(
        &self,
        all: &Everything,
        messages: &BTreeSet<MessageId>,
        semantics: &BTreeSet<SemanticId>,
        plan: &ForgetPlan,
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
                        || plan.is_in(&theme.name)
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
    let parts: Vec<String> = words(name).collect();
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
