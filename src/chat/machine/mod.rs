//! One conversation as a state machine: `handle(event) → effects`.
//!
//! Pure: it knows neither SQLite nor a model nor a thread. The driver executes the effects and
//! answers each with an event (`events`, `effects`). What belongs to a turn lives in the phase
//! (`turn`), so an answer that arrives after its turn is over finds nothing to change.

mod calling;
mod effects;
mod events;
mod phase;
mod turn;

use std::sync::Arc;

use crate::chat::machine::calling::{NO_TOOLS, Permitted};
use crate::chat::machine::phase::Phase;
use crate::chat::persona::Persona;
use crate::chat::policy::ModelProfile;
use crate::chat::sampling::{self, Setting, SettingValue, Settings};
use crate::memory::{Message, MessageId, Moment, SessionId, title_of};
use crate::store::Conversation;
use crate::texts::{self, text};

pub use effects::{
    Begun, Effect, Level, PhaseName, Reply, ReplyJob, ReplyStep, Update, UserMessage,
};
pub use events::{Command, Event, Forked, MessageKind, Outcome, SavedReply, TurnEvent, TurnId};

#[derive(Debug, Clone, Default, PartialEq)]
enum Model {
    #[default]
    Absent,
    Loading {
        /// The model that was in use before.
        before: Option<ModelProfile>,
        /// The role that was chosen meanwhile.
        role: Option<Chosen>,
    },
    Ready(ModelProfile),
}

/// A role, or that there is to be none.
#[derive(Debug, Clone, PartialEq)]
struct Chosen(Option<Arc<Persona>>);

impl Model {
    /// The model that can still answer if the one being loaded fails.
    fn usable(self) -> Option<ModelProfile> {
        match self {
            Self::Ready(profile) => Some(profile),
            Self::Loading { before, .. } => before,
            Self::Absent => None,
        }
    }
}

/// The chat on the screen; it exists from its first saved message on.
#[derive(Debug, Clone)]
struct OpenSession {
    id: SessionId,
    title: String,
    history: Vec<Message>,
    /// How many of the oldest messages no longer fit in the model's window.
    n_dropped: usize,
}

/// The state of a conversation.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    phase: Phase,
    /// The number of the newest turn.
    last_turn: TurnId,
    model: Model,
    session: Option<OpenSession>,
    incognito: bool,
    /// How the replies of the chat on the screen are drawn.
    sampling: Settings,
    /// A model that was downloaded while a reply was being written.
    arrived: Option<String>,
    /// The person's name, as of the last saved message.
    user_name: Option<String>,
    /// Tools that need not be asked for again; `None` where none are offered, as in each chat at first.
    permitted: Option<Permitted>,
}

fn notice(level: Level, text: impl Into<String>) -> Effect {
    Effect::Tell(Update::Notice { level, text: text.into() })
}

/// What is gone again in a moment.
fn hint(text: impl Into<String>) -> Effect {
    Effect::Tell(Update::Hint(text.into()))
}

/// What was written for a chat that could not be made.
fn given_back(then: Forked, why: Effect) -> Vec<Effect> {
    let returned = match then {
        Forked::Submit(text) => Some(Effect::Tell(Update::Returned { text })),
        Forked::Nothing | Forked::Answer => None,
    };
    returned.into_iter().chain([why]).collect()
}

impl Machine {
    /// The name of the phase.
    pub fn phase(&self) -> PhaseName {
        self.phase.name()
    }

    /// One step.
    pub fn handle(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Command { command, at } => self.command(command, at),
            Event::Turn(turn, event) if self.phase.turn() == Some(turn) => self.turn_event(event),
            // The answer to a turn that is over.
            Event::Turn(..) => Vec::new(),
            Event::ModelReady(profile) => self.model_ready(profile),
            Event::ModelFailed { error } => self.model_failed(error),
            Event::Pulled { name, result } => self.pulled(name, result),
            Event::SessionLoaded { session, conversation } => {
                if self.is_busy() {
                    // A reload during a turn: the turn's own events keep the screen right.
                    return Vec::new();
                }
                self.loaded(session, conversation)
            }
            Event::Forked { session, conversation, then, at } => {
                self.forked(session, conversation, then, at)
            }
            Event::NotForked { error, then } => {
                let text = text!("A chat could not be made of this one: {error}.", error);
                given_back(then, notice(Level::Error, text))
            }
            Event::SessionNotLoaded { session, error } => self.session_not_loaded(session, &error),
            Event::IncognitoFailed { error } => self.incognito_failed(&error),
        }
    }

    fn command(&mut self, command: Command, at: Moment) -> Vec<Effect> {
        match command {
            Command::Submit { text, kind } => self.submit(text, at, kind),
            Command::Regenerate => self.regenerate(at),
            Command::Continue => self.go_on(at),
            Command::Choose { chosen, others } => self.choose(chosen, others),
            Command::Fork { parent, before, then } => self.fork(parent, before, then, at),
            Command::Stop => self.stop(),
            Command::LoadModel(name) => self.load_model(name),
            Command::Pull(name) => vec![Effect::Pull(name)],
            Command::StopPull => vec![Effect::StopPull],
            Command::Role(role) => self.set_role(role),
            Command::Set(setting, value) => self.set(setting, value),
            Command::NewSession => {
                let mut effects = self.leave_chat();
                effects.push(self.tell_session(Conversation::default()));
                effects
            }
            Command::OpenSession(session) => {
                let mut effects = self.leave_chat();
                effects.push(Effect::LoadSession(session));
                effects
            }
            Command::Incognito(on) => self.set_incognito(on),
            // A call that is being made holds the servers.
            Command::ListTools if self.is_busy() => vec![turn::BUSY],
            Command::ListTools => vec![Effect::ListTools { on: self.permitted.is_some() }],
            Command::Tools(on) => self.set_tools(on),
            Command::Permit(permission) => self.permit(permission),
            Command::Reload => self.session.iter().map(|s| Effect::LoadSession(s.id)).collect(),
            Command::Leave => self.leave_session(),
        }
    }

    fn to(&mut self, phase: Phase) -> Effect {
        let name = phase.name();
        self.phase = phase;
        Effect::Tell(Update::Phase(name))
    }

    fn is_busy(&self) -> bool {
        !matches!(self.phase, Phase::Idle)
    }

    // — the model —

    fn load_model(&mut self, name: Option<String>) -> Vec<Effect> {
        let waiting = matches!(self.phase, Phase::AwaitingModel(_));
        let mut effects = if waiting { Vec::new() } else { self.stop() };
        let before = std::mem::take(&mut self.model).usable();
        self.model = Model::Loading { before, role: None };
        effects.push(Effect::Tell(Update::Loading { name: name.clone() }));
        effects.push(Effect::LoadModel(name));
        effects
    }

    fn set_role(&mut self, role: Option<Arc<Persona>>) -> Vec<Effect> {
        if self.is_busy() {
            return vec![turn::BUSY];
        }
        let mut effects = vec![Effect::UseRole(role.clone())];
        let wanted = role.as_ref().and_then(|role| role.model.clone());
        match &mut self.model {
            Model::Ready(profile) => {
                profile.role = role;
                effects.push(Effect::Tell(Update::Ready(profile.clone())));
                if wanted.as_ref().is_none_or(|name| *name == profile.name) {
                    return effects;
                }
            }
            Model::Loading { before, role: chosen } => {
                if let Some(profile) = before {
                    profile.role.clone_from(&role);
                }
                *chosen = Some(Chosen(role));
                effects.push(hint(text!("It counts once the model is ready.")));
            }
            Model::Absent => {}
        }
        if wanted.is_some() {
            effects.extend(self.load_model(wanted));
        }
        effects
    }

    fn set(&mut self, setting: Setting, value: Option<SettingValue>) -> Vec<Effect> {
        match value {
            Some(value) => self.sampling.insert(setting, value),
            None => self.sampling.remove(&setting),
        };
        self.use_sampling()
    }

    fn use_sampling(&self) -> Vec<Effect> {
        let settings = self.sampling.clone();
        vec![Effect::UseSampling(settings.clone()), Effect::Tell(Update::Sampling(settings))]
    }

    fn pulled(&mut self, name: String, result: Result<bool, String>) -> Vec<Effect> {
        let is_here = result == Ok(true);
        let mut effects = vec![Effect::Tell(Update::Pulled { name: name.clone(), result })];
        match (is_here, self.is_busy()) {
            (true, false) => effects.extend(self.load_model(Some(name))),
            (true, true) => self.arrived = Some(name),
            (false, _) => {}
        }
        effects
    }

    fn model_ready(&mut self, mut profile: ModelProfile) -> Vec<Effect> {
        let mut effects = Vec::new();
        // What is ready was begun with the role of before.
        if let Model::Loading { role: Some(Chosen(role)), .. } = &self.model {
            profile.role.clone_from(role);
            effects.push(Effect::UseRole(role.clone()));
        }
        self.model = Model::Ready(profile.clone());
        let lacks_tools = self.permitted.is_some() && !profile.knows_tools;
        effects.push(Effect::Tell(Update::Ready(profile)));
        effects.extend(lacks_tools.then(|| notice(Level::Warning, texts::lookup(NO_TOOLS))));
        effects.extend(self.answer_waiting());
        effects
    }

    fn model_failed(&mut self, error: String) -> Vec<Effect> {
        let still = std::mem::take(&mut self.model).usable();
        self.model = still.clone().map_or(Model::Absent, Model::Ready);
        let mut effects = vec![Effect::Tell(Update::LoadFailed { error, still: still.clone() })];
        if still.is_some() {
            effects.extend(self.answer_waiting());
        } else if matches!(self.phase, Phase::AwaitingModel(_)) {
            effects.push(notice(
                Level::Warning,
                text!(
                    "Your message is kept, but there is no model to answer it. \
                     Choose another with /model, then /retry."
                ),
            ));
            effects.extend(self.rest());
        }
        effects
    }

    // — sessions —

    /// Another chat comes, which does not go on from this one.
    fn leave_chat(&mut self) -> Vec<Effect> {
        let mut effects = self.leave_session();
        if !self.sampling.is_empty() {
            self.sampling.clear();
            effects.extend(self.use_sampling());
        }
        effects
    }

    fn leave_session(&mut self) -> Vec<Effect> {
        let mut effects = self.stop();
        if self.is_busy() {
            effects.extend(self.rest());
        }
        effects.extend(self.end_tools());
        if let Some(session) = self.session.take()
            && !self.incognito
        {
            effects.push(Effect::CloseSession(session.id));
        }
        effects
    }

    fn tell_session(&self, conversation: Conversation) -> Effect {
        let session = self.session.as_ref().map(|s| s.id);
        Effect::Tell(Update::Session { session, conversation, incognito: self.incognito })
    }

    /// A chat as it was read, and how its replies were drawn; or the open one once more.
    fn loaded(&mut self, id: SessionId, conversation: Conversation) -> Vec<Effect> {
        let is_open = self.session.as_ref().is_some_and(|open| open.id == id);
        let kept = sampling::read(&conversation.sampling);
        let mut effects = vec![self.show(id, conversation)];
        if !is_open && self.sampling != kept {
            self.sampling = kept;
            effects.extend(self.use_sampling());
        }
        effects
    }

    /// Opens a chat as it was read.
    fn show(&mut self, id: SessionId, conversation: Conversation) -> Effect {
        let Conversation { title, messages, aside, .. } = &conversation;
        let shown = messages.iter().filter(|m| !aside.contains(&m.id));
        let (title, history) = (title.clone(), shown.cloned().collect());
        self.session = Some(OpenSession { id, title, history, n_dropped: 0 });
        self.tell_session(conversation)
    }

    // — versions and forks —

    /// Another version of a reply holds from now on.
    fn choose(&mut self, chosen: Message, others: Vec<MessageId>) -> Vec<Effect> {
        if self.is_busy() {
            return vec![turn::BUSY];
        }
        let history = self.session.iter_mut().flat_map(|s| &mut s.history);
        for message in history.filter(|m| others.contains(&m.id)) {
            message.clone_from(&chosen);
        }
        vec![Effect::Choose { chosen: chosen.id, others }]
    }

    fn fork(
        &mut self,
        parent: SessionId,
        before: MessageId,
        then: Forked,
        at: Moment,
    ) -> Vec<Effect> {
        if self.is_busy() {
            return given_back(then, turn::BUSY);
        }
        let title = match &then {
            Forked::Submit(text) => Some(title_of(text)),
            Forked::Nothing | Forked::Answer => None,
        };
        vec![Effect::Fork { parent, before, title, at, then }]
    }

    fn forked(
        &mut self,
        session: SessionId,
        conversation: Conversation,
        then: Forked,
        at: Moment,
    ) -> Vec<Effect> {
        let mut effects = self.leave_session();
        effects.push(self.show(session, conversation));
        effects.extend(match then {
            Forked::Nothing => Vec::new(),
            Forked::Submit(text) => self.submit(text, at, MessageKind::Chat),
            Forked::Answer => self.regenerate(at),
        });
        effects
    }

    fn session_not_loaded(&mut self, session: SessionId, error: &str) -> Vec<Effect> {
        // If a reload fails, the open session was forgotten: an empty chat says enough.
        let forgotten = self.session.take().is_some_and(|open| open.id == session);
        let mut effects = vec![self.tell_session(Conversation::default())];
        if !forgotten {
            let text = text!("The chat could not be opened: {error}.", error);
            effects.push(notice(Level::Warning, text));
        }
        effects
    }

    /// Whether what is said is kept nowhere.
    pub fn is_incognito(&self) -> bool {
        self.incognito
    }

    fn incognito_failed(&mut self, error: &str) -> Vec<Effect> {
        self.incognito = false;
        vec![
            self.tell_session(Conversation::default()),
            notice(
                Level::Error,
                text!("Incognito is not possible: {error}. This chat is kept.", error),
            ),
        ]
    }

    fn set_incognito(&mut self, on: bool) -> Vec<Effect> {
        if on == self.incognito {
            let text = if on {
                text!("Incognito is on already.")
            } else {
                text!("Incognito is off already.")
            };
            return vec![hint(text)];
        }
        let mut effects = self.leave_chat();
        self.incognito = on;
        effects.push(Effect::UseStore { incognito: on });
        effects.push(self.tell_session(Conversation::default()));
        effects.push(notice(
            Level::Info,
            if on {
                text!(
                    "Incognito: a new chat that is kept nowhere and remembered by nobody. What is \
                     already in memory can still be asked about. /incognito ends it."
                )
            } else {
                text!("Incognito is over; that chat is gone.")
            },
        ));
        effects
    }
}

#[cfg(test)]
mod tests;
