//! Reads and changes the store for panes and lists, on a thread of its own, so that neither the
//! screen nor a running reply waits for a large read, a scrub or an embedding.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::error::Error;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use serde_json::Value;

use crate::chat::{OwnFile as _, Parts, Persona, Template, export};
use crate::error_chain::error_chain;
use crate::extractive::{THE_USER, as_fact, said_to, to_second_person};
use crate::memory::{
    EpisodeId, Message, MessageId, Role, Semantic, SemanticId, SessionId, plain_text,
};
use crate::store::{AnyId, ForgetPlan, Reader, StoreError, audit};
use crate::texts::{key, text};
use crate::tui::event::{Greeting, StoreReply, StoreRequest, ThemeRow, Tree};
use crate::tui::page::known::{self, Knowledge};
use crate::tui::why::Recorded;
use crate::tui::{files, forgetting};

/// The setting that keeps the palette that was chosen.
pub const PALETTE: &str = "palette";
/// What could not be done, where the memory could not be read.
pub const READ_MEMORY: &str = key!("read the memory");
/// Messages found in all chats that are shown.
const FOUND_MAX: u32 = 50;
/// How many of the person's newest messages Ctrl+R searches.
const HISTORY_MAX: usize = 300;

/// The way to the store's thread.
pub struct Requests {
    sender: Sender<StoreRequest>,
    thread: JoinHandle<()>,
}

impl Requests {
    pub fn send(&self, request: StoreRequest) {
        // Without the thread there is no answer, and the loop notices nothing worse.
        let _ = self.sender.send(request);
    }

    /// Waits until all that was asked for is done.
    pub fn finish(self) {
        drop(self.sender);
        let _ = self.thread.join();
    }
}

/// Answers the screen's requests, with the conversation's store, models and clock.
pub struct StoreThread(pub Parts);

impl StoreThread {
    /// Starts the thread; the sender takes requests.
    ///
    /// # Errors
    /// If the thread can't be started.
    pub fn start(
        self,
        on_reply: impl Fn(StoreReply) + Send + 'static,
    ) -> std::io::Result<Requests> {
        let (sender, requests) = mpsc::channel();
        let thread = thread::Builder::new().name("store".into()).spawn(move || {
            while let Ok(request) = requests.recv() {
                on_reply(self.answer(request));
            }
        })?;
        Ok(Requests { sender, thread })
    }

    /// Answers one request.
    pub fn answer(&self, request: StoreRequest) -> StoreReply {
        let what = match request {
            StoreRequest::Greeting | StoreRequest::Tree { .. } | StoreRequest::Messages(_) => {
                READ_MEMORY
            }
            StoreRequest::Sessions => key!("list the chats"),
            StoreRequest::Find(_) => key!("search the chats"),
            StoreRequest::Rename { .. } => key!("rename the chat"),
            StoreRequest::Pin { .. } => key!("pin the chat"),
            StoreRequest::DeleteChats(_) => key!("delete the chats"),
            StoreRequest::Look(_) => key!("keep the colours"),
            StoreRequest::Attach(_) | StoreRequest::CompletePath(_) => key!("read the files"),
            StoreRequest::Models => key!("list the models"),
            StoreRequest::Roles(_) => key!("read the roles"),
            StoreRequest::Prompts => key!("read the prompts"),
            StoreRequest::History => key!("read your earlier messages"),
            StoreRequest::Why(_) | StoreRequest::Whys(_) | StoreRequest::Grounds { .. } => {
                key!("read the evidence")
            }
            StoreRequest::PlanForget { .. }
            | StoreRequest::PlanForgetAbout { .. }
            | StoreRequest::PlanForgetFile(_) => key!("look for that"),
            StoreRequest::Forget(_) | StoreRequest::Strike(_) => key!("forget that"),
            StoreRequest::SeeLearned | StoreRequest::KeepLearned(_) => key!("keep what was learnt"),
            StoreRequest::VisitPage => key!("keep what you have seen"),
            StoreRequest::PinFact { .. } => key!("pin the fact"),
            StoreRequest::Edit { .. } => key!("correct it"),
            StoreRequest::Undo => key!("undo"),
            StoreRequest::Export { .. } => key!("save the chat"),
        };
        let failed = |error: Box<dyn Error>| failed(what, &*error);
        self.try_answer(request).unwrap_or_else(failed)
    }

    fn try_answer(&self, request: StoreRequest) -> Result<StoreReply, Box<dyn Error>> {
        let store = &self.0.store;
        Ok(match request {
            StoreRequest::Greeting => StoreReply::Greeting(store.read(greeting)?),
            StoreRequest::Tree { learned } => StoreReply::Tree(store.read(|r| tree(r, learned))?),
            StoreRequest::Messages(episode) => {
                let messages = store.read(|r| messages(r, episode))?;
                StoreReply::Messages { episode, messages }
            }
            StoreRequest::Sessions => StoreReply::Sessions(store.read(|r| r.sessions())?),
            StoreRequest::Find(query) => {
                let found = store.read(|r| r.find_said(&query, FOUND_MAX))?;
                StoreReply::Found { query, found }
            }
            StoreRequest::Attach(text) => {
                StoreReply::Attached(files::attach(&text).map_err(|why| (why, text)))
            }
            StoreRequest::CompletePath(word) => {
                let (completed, names) = files::complete(&word);
                StoreReply::CompletedPath { word, completed, names }
            }
            StoreRequest::DeleteChats(chats) => {
                let ids: Vec<AnyId> = chats.into_iter().map(AnyId::Session).collect();
                self.forget(&store.read(|r| r.plan_forget(&ids, None))?)?
            }
            StoreRequest::Models => StoreReply::Models {
                installed: self.0.source.installed(),
                pullable: self.0.source.pullable(),
            },
            StoreRequest::Roles(Some(name)) => {
                StoreReply::Role(Persona::read(&self.0.config.roles, &name))
            }
            StoreRequest::Roles(None) => {
                let (roles, unusable) = Persona::read_all(&self.0.config.roles);
                StoreReply::Roles { roles, unusable }
            }
            StoreRequest::Prompts => {
                let (prompts, unusable) = Template::read_all(&self.0.config.prompts);
                StoreReply::Prompts { prompts, unusable }
            }
            StoreRequest::History => StoreReply::History(store.read(history)?),
            StoreRequest::Why(message) => {
                StoreReply::Why { message, record: store.read(|r| r.answer_record(message))? }
            }
            StoreRequest::Grounds { reply, of } => store.read(|r| grounds(r, reply, &of))?,
            StoreRequest::Whys(session) => StoreReply::Whys(store.read(|r| whys(r, session))?),
            StoreRequest::PlanForget { ids, matching } => {
                store.read(|r| forgetting::plan(r, &ids, matching.as_deref()))?
            }
            StoreRequest::PlanForgetAbout { what, text } => {
                let now = self.0.clock.now();
                store.read(|r| match &forgetting::about(r, &what, now)?[..] {
                    [] => Ok(StoreReply::NothingAbout { what, text }),
                    ids => forgetting::plan(r, ids, None),
                })?
            }
            StoreRequest::PlanForgetFile(id) => {
                let ids = store.read(|r| r.chats_of_its_files(id))?;
                if ids.is_empty() {
                    return Err(
                        text!("it was said here and came from no file: f forgets it").into()
                    );
                }
                store.read(|r| {
                    let plan = r.plan_forget(&ids, None)?;
                    let mut lines =
                        vec![text!("All that came from {files}", files = files(r, &ids)?)];
                    lines.extend(forgetting::plan_lines(r, &plan)?);
                    Ok(StoreReply::ForgetPlan { plan, lines, other: None })
                })?
            }
            StoreRequest::Forget(plan) => self.forget(&plan)?,
            StoreRequest::Strike(facts) => {
                let ids: Vec<AnyId> = facts.into_iter().map(AnyId::Semantic).collect();
                self.forget(&store.read(|r| r.plan_strike(&ids))?)?
            }
            request @ (StoreRequest::Rename { .. }
            | StoreRequest::Pin { .. }
            | StoreRequest::Look(_)
            | StoreRequest::VisitPage
            | StoreRequest::PinFact { .. }
            | StoreRequest::SeeLearned
            | StoreRequest::KeepLearned(_)) => self.keep(&request)?,
            StoreRequest::Edit { semantic, text } => self.edit(semantic, &text)?,
            StoreRequest::Undo => {
                let undone = store.write(|tx| tx.undo_own())?;
                StoreReply::Undone(undone.map(|what| self.in_full(what)))
            }
            StoreRequest::Export { .. } if !self.0.allowed.exports => {
                return Err(text!("this machine's policy forbids it").into());
            }
            StoreRequest::Export { session, path } => self.export(session, path)?,
        })
    }

    /// A small thing, without anything to say about it.
    fn keep(&self, request: &StoreRequest) -> Result<StoreReply, StoreError> {
        let now = self.0.clock.now();
        self.0.store.write(|tx| match request {
            StoreRequest::Rename { session, title } => tx.rename_session(*session, title),
            StoreRequest::Pin { session, pinned } => tx.pin_session(*session, *pinned),
            StoreRequest::Look(name) => tx.set_setting(PALETTE, name),
            StoreRequest::VisitPage => tx.visit_page(now),
            StoreRequest::PinFact { fact, pinned } => tx.pin_fact(*fact, *pinned),
            StoreRequest::SeeLearned => tx.see_learned(),
            StoreRequest::KeepLearned(facts) => tx.keep_learned(facts),
            _ => Ok(()),
        })?;
        Ok(StoreReply::Done)
    }

    /// Before it is done: what can't be noted is not done.
    fn audit(&self, what: &str, n: usize) -> io::Result<()> {
        self.0.allowed.audit.as_ref().map_or(Ok(()), |file| audit(file, what, n))
    }

    fn forget(&self, plan: &ForgetPlan) -> Result<StoreReply, Box<dyn Error>> {
        let store = &self.0.store;
        let (gone, _) = store.read(|r| forgetting::split(r, plan))?;
        self.audit("forget", plan.messages.len() + plan.blotted.len())?;
        store.write(|tx| tx.forget(plan))?;
        if let Err(error) = store.scrub() {
            let what = key!("clear what was forgotten from the disk (/forget again)");
            return Ok(failed(what, &error));
        }
        Ok(StoreReply::Forgotten {
            n_messages: plan.messages.len(),
            n_facts: gone.len() + plan.struck.len(),
            n_blotted: plan.blotted.len(),
        })
    }

    /// What was undone, with the fact as it is again.
    fn in_full(&self, what: String) -> String {
        let fact = || {
            let id = what.strip_prefix("edit of ")?.parse().ok()?;
            let read = self.0.store.read(|r| Ok((r.semantics_by_id(&[id])?, r.user_name()?)));
            let (facts, person) = read.ok()?;
            Some(said_to(&facts.first()?.content, person.as_deref()))
        };
        fact().map_or_else(|| what.clone(), |fact| format!("{what}: “{}”", plain_text(&fact)))
    }

    fn edit(&self, semantic: SemanticId, text: &str) -> Result<StoreReply, Box<dyn Error>> {
        let models = self.0.loaded().ok_or(text!("the model is still being loaded"))?.models;
        let person = self.0.store.read(|r| r.user_name())?;
        let person = person.as_deref().unwrap_or(THE_USER);
        let text = as_fact(&plain_text(text), person);
        let before = self.0.store.read(|r| r.semantics_by_id(&[semantic]))?;
        let bare = |text: &str| text.trim_end_matches('.').to_owned();
        if before.iter().any(|fact| bare(&fact.content) == bare(&text)) {
            return Ok(StoreReply::Done);
        }
        let vectors = models.embedder.embed(&[&*text])?;
        let embedding = vectors.first().ok_or(text!("the embedding model gave no vector"))?;
        self.0.store.write(|tx| match tx.embedder_id()? {
            Some(found) if found != models.embedder.id() => {
                let expected = models.embedder.id().to_owned();
                Err(StoreError::EmbedderChanged { found, expected })
            }
            _ => tx.edit_semantic(semantic, &text, embedding),
        })?;
        Ok(StoreReply::Edited)
    }

    fn export(
        &self,
        session: SessionId,
        path: Option<PathBuf>,
    ) -> Result<StoreReply, Box<dyn Error>> {
        let (session, messages) =
            self.0.store.read(|r| Ok((r.session(session)?, r.conversation(session)?.messages)))?;
        let path = path.unwrap_or_else(|| {
            let day = self.0.clock.now().civil().date();
            PathBuf::from(format!("inglenook-{day}-{}.md", slug(&session.title)))
        });
        let json = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
        let text = if json {
            export::json(&session, &messages)
        } else {
            export::markdown(&session, &messages)
        };
        self.audit("export", messages.len())?;
        export::write_new(&path, &text).map_err(|e| match e.kind() {
            std::io::ErrorKind::AlreadyExists => {
                text!("{path} is there already, and nothing is overwritten", path = path.display())
            }
            _ => format!("{}: {e}", path.display()),
        })?;
        Ok(StoreReply::Exported(fs::canonicalize(&path).unwrap_or(path)))
    }
}

fn failed(what: &'static str, error: &dyn Error) -> StoreReply {
    StoreReply::Failed { what, error: error_chain(error) }
}

/// "I moved to Lund!" → "i-moved-to-lund".
fn slug(title: &str) -> String {
    let mut out = String::new();
    for c in plain_text(title).to_lowercase().chars() {
        if c.is_alphanumeric() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        if out.len() >= 40 {
            break;
        }
    }
    let out = out.trim_end_matches('-');
    if out.is_empty() { "chat".into() } else { out.into() }
}

pub(super) fn tree(r: &Reader<'_>, learned: bool) -> Result<Tree, StoreError> {
    let semantics = r.semantics()?;
    let known = if learned { Knowledge::default() } else { known::read(r, &semantics)? };
    let episodes = r.episodes()?;
    let named: HashSet<EpisodeId> = semantics.iter().flat_map(|s| s.episodes.clone()).collect();
    let facts: HashMap<SemanticId, Semantic> = semantics.into_iter().map(|s| (s.id, s)).collect();
    let mut themes: Vec<ThemeRow> = r
        .themes()?
        .into_iter()
        .map(|t| ThemeRow {
            id: t.id,
            name: t.name,
            facts: t.members.iter().filter_map(|id| facts.get(id).cloned()).collect(),
        })
        .collect();
    themes.sort_by_key(|t| (std::cmp::Reverse(t.facts.len()), t.id));
    Ok(Tree {
        themes,
        without_facts: episodes.iter().filter(|e| !named.contains(&e.id)).map(|e| e.id).collect(),
        episodes,
        n_messages: r.stats()?.messages,
        known,
        learned: if learned { r.learned()? } else { Vec::new() },
    })
}

fn messages(r: &Reader<'_>, episode: EpisodeId) -> Result<Vec<Message>, StoreError> {
    let episodes = r.episodes_by_id(&[episode])?;
    let ids: Vec<MessageId> = episodes.into_iter().flat_map(|e| e.messages).collect();
    r.messages_by_id(&ids)
}

/// The newest messages of the person, oldest first, without repetitions.
fn history(r: &Reader<'_>) -> Result<Vec<String>, StoreError> {
    let mut sessions = r.sessions()?;
    sessions.retain(|s| !s.imported);
    sessions.sort_by_key(|s| std::cmp::Reverse(s.updated_at));
    let mut seen = HashSet::new();
    let mut texts = Vec::new();
    for session in sessions {
        for message in r.messages(session.id)?.into_iter().rev() {
            if message.role == Role::User
                && message.content.len() < 10_000
                && seen.insert(message.content.clone())
            {
                texts.push(message.content);
            }
        }
        if texts.len() >= HISTORY_MAX {
            break;
        }
    }
    texts.truncate(HISTORY_MAX);
    texts.reverse();
    Ok(texts)
}

fn greeting(r: &Reader<'_>) -> Result<Greeting, StoreError> {
    /// As many as a large screen shows.
    const N: usize = 7;
    let name = r.user_name()?;
    let mut chats: Vec<_> = r.sessions()?.into_iter().filter(|chat| !chat.imported).collect();
    chats.sort_by_key(|chat| Reverse(chat.updated_at));
    chats.truncate(N);
    let facts = r.newest_facts(N)?;
    let seen = r.learned_seen()?;
    let is_new = r.next_semantic_id()?.0 - 1 > seen.0;
    let mut imports = if is_new { r.learned()? } else { Vec::new() }.into_iter();
    let unseen = imports.find(|import| import.facts.iter().any(|(fact, _)| *fact > seen));
    Ok(Greeting {
        chats: chats.into_iter().map(|chat| (chat.id, chat.title, chat.updated_at)).collect(),
        facts: facts.iter().map(|fact| to_second_person(fact, name.as_deref())).collect(),
        learned: unseen.map(|import| (import.facts.len(), import.source)),
        name,
    })
}

/// The names of the files that these chats came from.
fn files(r: &Reader<'_>, chats: &[AnyId]) -> Result<String, StoreError> {
    let chats: HashSet<&AnyId> = chats.iter().collect();
    let chats = r.sessions()?.into_iter().filter(|s| chats.contains(&AnyId::Session(s.id)));
    let names: BTreeSet<String> =
        chats.filter_map(|s| s.source).map(|name| plain_text(&name).into_owned()).collect();
    Ok(names.into_iter().collect::<Vec<_>>().join(", "))
}

/// The messages that these memories were made of, and those among them; the oldest first.
fn grounds(r: &Reader<'_>, reply: MessageId, of: &[AnyId]) -> Result<StoreReply, StoreError> {
    let (mut facts, mut messages) = (Vec::new(), Vec::new());
    for id in of {
        match *id {
            AnyId::Semantic(id) => facts.push(id),
            AnyId::Message(id) => messages.push(id),
            _ => {}
        }
    }
    // What was forgotten since is not there.
    let facts = r.semantics_by_id(&facts)?;
    messages.extend(facts.into_iter().flat_map(|fact| fact.messages));
    messages.sort_unstable();
    messages.dedup();
    Ok(StoreReply::Grounds { reply, said: r.messages_by_id(&messages)? })
}

/// What the answers of a chat rest on.
fn whys(r: &Reader<'_>, session: SessionId) -> Result<HashMap<MessageId, Recorded>, StoreError> {
    let messages = r.conversation(session)?.messages;
    let replies = messages.iter().filter(|m| m.role == Role::Assistant).map(|m| m.id);
    let records = r.records_of(replies)?;
    let recorded = |record: Option<Value>| record.as_ref().map(Recorded::of).unwrap_or_default();
    Ok(records.into_iter().map(|(id, record)| (id, recorded(record))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_safe_file_names() {
        assert_eq!(slug("I moved to Lund!"), "i-moved-to-lund");
        assert_eq!(slug("../../etc/passwd"), "etc-passwd");
        assert_eq!(slug("\u{1b}[31m—"), "chat");
        assert!(slug(&"long ".repeat(40)).len() <= 44);
    }
}
