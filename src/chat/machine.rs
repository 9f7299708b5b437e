//! One conversation as a state machine: `handle(event) → effects`.
//!
//! Pure. It knows neither SQLite nor a model nor a thread: the driver executes the effects and
//! answers each with an event. Late answers carry the number of their turn and are dropped when the
//! turn is over.

use serde_json::Value;

use crate::chat::policy::{self, Cited, Plan, Reader};
use crate::extractive::Candidate;
use crate::memory::{Message, MessageId, Moment, Role, SessionId};

/// A reply that is still being written goes to disk each time it has grown by so many bytes.
const CHECKPOINT_BYTES: usize = 600;

/// Numbers the turns of a run of the program.
pub type Turn = u64;

/// What the machine has to know of the loaded model.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    pub name: String,
    pub starter: bool,
    pub reader: Reader,
    pub context_tokens: usize,
}

/// How the person asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    #[default]
    Chat,
    /// `/remember`: a statement, whatever it looks like.
    Remember,
}

/// What recall found, as far as the reply depends on it. Its context and pieces stay with the
/// driver.
#[derive(Debug, Clone, Default)]
pub struct Found {
    pub candidates: Vec<Candidate>,
}

/// A message of this session, for the model's window.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub id: MessageId,
    pub role: Role,
    pub text: String,
    pub at: Moment,
}

impl Line {
    fn of(message: &Message) -> Self {
        let Message { id, role, content, created_at, .. } = message;
        Self { id: *id, role: *role, text: content.clone(), at: *created_at }
    }
}

/// What happens to a conversation.
#[derive(Debug, Clone)]
pub enum Event {
    LoadModel {
        name: Option<String>,
    },
    ModelReady {
        facts: Facts,
    },
    ModelFailed {
        error: String,
    },
    Submit {
        text: String,
        at: Moment,
        kind: Kind,
    },
    Regenerate {
        at: Moment,
    },
    Stop,
    UserSaved {
        turn: Turn,
        session: SessionId,
        title: String,
        message: Message,
        /// The person's name, once they said it.
        name: Option<String>,
    },
    UserNotSaved {
        turn: Turn,
        error: String,
    },
    Recalled {
        turn: Turn,
        found: Found,
    },
    RecallFailed {
        turn: Turn,
        error: String,
    },
    Window {
        turn: Turn,
        used_tokens: usize,
        limit_tokens: usize,
        n_dropped: usize,
    },
    QuestionCut {
        turn: Turn,
    },
    Text {
        turn: Turn,
        piece: String,
    },
    Generated {
        turn: Turn,
        outcome: Outcome,
    },
    GenerateFailed {
        turn: Turn,
        error: String,
    },
    ReplySaved {
        turn: Turn,
        message: Message,
        record: Value,
        last: bool,
        /// Tokens a second, of a reply that was generated.
        speed: Option<f64>,
    },
    ReplyNotSaved {
        turn: Turn,
        error: String,
        last: bool,
    },
    NewSession,
    OpenSession {
        session: SessionId,
    },
    SessionLoaded {
        session: SessionId,
        title: String,
        messages: Vec<Message>,
    },
    SessionNotLoaded {
        session: SessionId,
        error: String,
    },
    /// Something was forgotten or edited: read the open session again.
    Reload,
    Incognito {
        on: bool,
    },
    IncognitoFailed {
        error: String,
    },
    Leave,
}

/// How a generation ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    Ended,
    /// At the limit of one reply.
    Cut,
    Stopped,
}

/// What the driver has to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    LoadModel {
        name: Option<String>,
    },
    /// One durable transaction: the session if it is new, the message, its memory job.
    SaveUser {
        turn: Turn,
        session: Option<SessionId>,
        title: String,
        text: String,
        at: Moment,
        kind: Kind,
    },
    /// `for_model`: leave a prompt in the model's context, not only candidates to quote.
    Recall {
        turn: Turn,
        question: String,
        history: Vec<Line>,
        for_model: bool,
    },
    Generate {
        turn: Turn,
        question: String,
        history: Vec<Line>,
        with_memories: bool,
    },
    /// `last`: the answer's evidence is recorded with it.
    SaveReply {
        turn: Turn,
        session: SessionId,
        text: String,
        complete: bool,
        last: bool,
        /// What of its evidence the reply quotes.
        cited: Cited,
    },
    Cancel {
        turn: Turn,
    },
    LoadSession {
        session: SessionId,
    },
    /// The sitting is over: its last episode can be closed.
    CloseSession {
        session: SessionId,
    },
    UseStore {
        incognito: bool,
    },
    PauseWorker,
    ResumeWorker,
    Tell(Update),
}

/// What the screen is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    Loading {
        name: Option<String>,
    },
    LoadProgress {
        stage: String,
        fraction: Option<f32>,
    },
    Ready(Facts),
    LoadFailed {
        error: String,
        still: Option<Facts>,
    },
    Phase(Phase),
    Progress(String),
    UserMessage {
        session: SessionId,
        title: String,
        message: Message,
    },
    /// The message could not be taken: here it is again.
    Returned {
        text: String,
    },
    ReplyText(String),
    ReplyDone {
        message: Message,
        record: Value,
        speed: Option<f64>,
    },
    /// The reply failed before a word of it.
    ReplyDropped,
    Window {
        used_tokens: usize,
        limit_tokens: usize,
        n_dropped: usize,
    },
    Session {
        session: Option<SessionId>,
        title: String,
        messages: Vec<Message>,
        incognito: bool,
    },
    Worker {
        text: String,
        busy: bool,
        failed: bool,
    },
    /// The worker wrote: open panels read again.
    MemoryChanged,
    Notice {
        level: Level,
        text: String,
    },
}

/// How loud a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Info,
    Warning,
    Error,
}

/// Where a turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    #[default]
    Idle,
    Saving,
    /// On disk; the model is still being loaded.
    AwaitingModel,
    Recalling,
    Replying,
    /// The reply's text is complete and on its way to disk.
    Finishing,
}

#[derive(Debug, Clone, PartialEq)]
enum Model {
    Absent,
    Loading { before: Option<Facts> },
    Ready(Facts),
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Machine {
    turn: Turn,
    phase: Phase,
    model: Model,
    session: Option<SessionId>,
    title: String,
    incognito: bool,
    history: Vec<Line>,
    n_dropped: usize,
    /// Of the turn that is going on.
    question: String,
    kind: Kind,
    asked_at: Option<Moment>,
    user_name: Option<String>,
    plan: Option<Plan>,
    reply: String,
    saved_bytes: usize,
    cited: Cited,
    /// Stop was asked for while the message was on its way to disk.
    stop_after_save: bool,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            turn: 0,
            phase: Phase::Idle,
            model: Model::Absent,
            session: None,
            title: String::new(),
            incognito: false,
            history: Vec::new(),
            n_dropped: 0,
            question: String::new(),
            kind: Kind::Chat,
            asked_at: None,
            user_name: None,
            plan: None,
            reply: String::new(),
            saved_bytes: 0,
            cited: Cited::default(),
            stop_after_save: false,
        }
    }
}

fn notice(level: Level, text: impl Into<String>) -> Effect {
    Effect::Tell(Update::Notice { level, text: text.into() })
}

impl Machine {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        self.session
    }

    #[must_use]
    pub fn turn(&self) -> Turn {
        self.turn
    }

    /// One step.
    pub fn handle(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::LoadModel { name } => self.load_model(name),
            Event::ModelReady { facts } => self.model_ready(facts),
            Event::ModelFailed { error } => self.model_failed(error),
            Event::Submit { text, at, kind } => self.submit(text, at, kind),
            Event::Regenerate { at } => self.regenerate(at),
            Event::Stop => self.stop(),
            Event::UserSaved { turn, session, title, message, name } => {
                self.user_saved(turn, session, title, message, name)
            }
            Event::UserNotSaved { turn, error } => self.user_not_saved(turn, error),
            Event::Recalled { turn, found } => self.recalled(turn, found),
            Event::RecallFailed { turn, error } => self.recall_failed(turn, error),
            Event::Window { turn, used_tokens, limit_tokens, n_dropped } => {
                self.window(turn, used_tokens, limit_tokens, n_dropped)
            }
            Event::QuestionCut { turn } if turn == self.turn => {
                vec![notice(
                    Level::Warning,
                    "This message is longer than the model's window, so the model reads only its \
                     beginning. All of it is kept.",
                )]
            }
            Event::Text { turn, piece } => self.text(turn, piece),
            Event::Generated { turn, outcome } => self.generated(turn, outcome),
            Event::GenerateFailed { turn, error } => self.generate_failed(turn, error),
            Event::ReplySaved { turn, message, record, last, speed } => {
                self.reply_saved(turn, message, record, last, speed)
            }
            Event::ReplyNotSaved { turn, error, last } => self.reply_not_saved(turn, error, last),
            Event::NewSession => self.new_session(),
            Event::OpenSession { session } => {
                let mut effects = self.leave_session();
                effects.push(Effect::LoadSession { session });
                effects
            }
            Event::SessionLoaded { session, title, messages } => {
                self.session_loaded(session, title, messages)
            }
            Event::SessionNotLoaded { session, error } => self.session_not_loaded(session, &error),
            Event::Reload => {
                self.session.map(|session| Effect::LoadSession { session }).into_iter().collect()
            }
            Event::Incognito { on } => self.set_incognito(on),
            Event::IncognitoFailed { error } => self.incognito_failed(&error),
            Event::Leave => self.leave_session(),
            Event::QuestionCut { .. } => Vec::new(),
        }
    }

    fn to(&mut self, phase: Phase) -> Effect {
        self.phase = phase;
        Effect::Tell(Update::Phase(phase))
    }

    fn busy(&self) -> bool {
        self.phase != Phase::Idle
    }

    // — the model —

    fn load_model(&mut self, name: Option<String>) -> Vec<Effect> {
        let mut effects = if self.phase == Phase::AwaitingModel { vec![] } else { self.stop() };
        let before = match std::mem::replace(&mut self.model, Model::Absent) {
            Model::Ready(facts) => Some(facts),
            Model::Loading { before } => before,
            Model::Absent => None,
        };
        self.model = Model::Loading { before };
        effects.push(Effect::Tell(Update::Loading { name: name.clone() }));
        effects.push(Effect::LoadModel { name });
        effects
    }

    fn model_ready(&mut self, facts: Facts) -> Vec<Effect> {
        self.model = Model::Ready(facts.clone());
        let mut effects = vec![Effect::Tell(Update::Ready(facts))];
        if self.phase == Phase::AwaitingModel {
            effects.extend(self.proceed());
        }
        effects
    }

    fn model_failed(&mut self, error: String) -> Vec<Effect> {
        let before = match std::mem::replace(&mut self.model, Model::Absent) {
            Model::Loading { before } => before,
            Model::Ready(facts) => Some(facts),
            Model::Absent => None,
        };
        if let Some(facts) = before.clone() {
            self.model = Model::Ready(facts);
        }
        let mut effects = vec![Effect::Tell(Update::LoadFailed { error, still: before.clone() })];
        if self.phase == Phase::AwaitingModel {
            if before.is_some() {
                effects.extend(self.proceed());
            } else {
                effects.push(notice(
                    Level::Warning,
                    "Your message is kept, but there is no model to answer it. \
                     Choose another with /model, then /retry.",
                ));
                effects.extend(self.rest());
            }
        }
        effects
    }

    // — a turn —

    fn submit(&mut self, text: String, at: Moment, kind: Kind) -> Vec<Effect> {
        if text.trim().is_empty() {
            return Vec::new();
        }
        if self.busy() {
            return vec![
                Effect::Tell(Update::Returned { text }),
                notice(Level::Info, "Still answering. Esc stops it."),
            ];
        }
        if kind == Kind::Remember && self.incognito {
            return vec![
                Effect::Tell(Update::Returned { text }),
                notice(Level::Info, "Incognito keeps nothing. /incognito ends it."),
            ];
        }
        self.begin_turn(text.clone(), at, kind);
        let title =
            if self.session.is_some() { self.title.clone() } else { policy::title_of(&text) };
        vec![
            Effect::PauseWorker,
            self.to(Phase::Saving),
            Effect::SaveUser { turn: self.turn, session: self.session, title, text, at, kind },
        ]
    }

    fn begin_turn(&mut self, question: String, at: Moment, kind: Kind) {
        self.turn += 1;
        self.question = question;
        self.kind = kind;
        self.asked_at = Some(at);
        self.plan = None;
        self.reply.clear();
        self.saved_bytes = 0;
        self.cited = Cited::default();
        self.stop_after_save = false;
    }

    fn regenerate(&mut self, at: Moment) -> Vec<Effect> {
        if self.busy() {
            return vec![notice(Level::Info, "Still answering. Esc stops it.")];
        }
        let Some(at_user) = self.history.iter().rposition(|l| l.role == Role::User) else {
            return vec![notice(Level::Info, "There is nothing to answer again yet.")];
        };
        // The earlier reply stays in the record of the chat, but the model does not see it.
        self.history.truncate(at_user + 1);
        let question = self.history[at_user].text.clone();
        self.begin_turn(question, at, Kind::Chat);
        let mut effects = vec![Effect::PauseWorker];
        effects.extend(self.proceed());
        effects
    }

    fn user_saved(
        &mut self,
        turn: Turn,
        session: SessionId,
        title: String,
        message: Message,
        name: Option<String>,
    ) -> Vec<Effect> {
        if turn != self.turn {
            return Vec::new();
        }
        self.session = Some(session);
        self.title.clone_from(&title);
        self.user_name = name;
        self.history.push(Line::of(&message));
        let mut effects = vec![Effect::Tell(Update::UserMessage { session, title, message })];
        if self.stop_after_save {
            effects.extend(self.rest());
        } else {
            effects.extend(self.proceed());
        }
        effects
    }

    fn user_not_saved(&mut self, turn: Turn, error: String) -> Vec<Effect> {
        if turn != self.turn {
            return Vec::new();
        }
        let text = std::mem::take(&mut self.question);
        let mut effects = vec![
            Effect::Tell(Update::Returned { text }),
            notice(
                Level::Error,
                format!("Your message could not be saved, so it was not sent: {error}"),
            ),
        ];
        effects.extend(self.rest());
        effects
    }

    /// The message is on disk: answer it, or wait for the model.
    fn proceed(&mut self) -> Vec<Effect> {
        let facts = match &self.model {
            Model::Ready(facts) => facts.clone(),
            Model::Loading { .. } => return vec![self.to(Phase::AwaitingModel)],
            Model::Absent => {
                let mut effects = vec![notice(
                    Level::Warning,
                    "Your message is kept, but no model is loaded. Choose one with /model, then /retry.",
                )];
                effects.extend(self.rest());
                return effects;
            }
        };
        let plan = policy::plan(facts.reader, self.kind, &self.question);
        self.plan = Some(plan);
        match plan {
            Plan::Acknowledge => {
                let text = policy::acknowledge(
                    &self.question,
                    &self.earlier(),
                    self.asked_at,
                    self.user_name.as_deref(),
                );
                let kept =
                    (self.kind == Kind::Remember).then(|| "Kept, in your own words.".to_owned());
                match text.or(kept) {
                    Some(text) => self.say(text),
                    // Nothing in it to hold on to: small talk after all.
                    None => self.generate(false),
                }
            }
            Plan::Quote | Plan::Converse => {
                let (turn, question, history) = (self.turn, self.question.clone(), self.earlier());
                let for_model = plan == Plan::Converse;
                vec![
                    self.to(Phase::Recalling),
                    Effect::Recall { turn, question, history, for_model },
                ]
            }
            Plan::SmallTalk => self.generate(false),
        }
    }

    /// The session before the question.
    fn earlier(&self) -> Vec<Line> {
        let n = self.history.len().saturating_sub(1);
        self.history[..n].to_vec()
    }

    fn generate(&mut self, with_memories: bool) -> Vec<Effect> {
        let (turn, question, history) = (self.turn, self.question.clone(), self.earlier());
        vec![self.to(Phase::Replying), Effect::Generate { turn, question, history, with_memories }]
    }

    /// A reply that needs no generation.
    fn say(&mut self, text: String) -> Vec<Effect> {
        self.reply.clone_from(&text);
        vec![self.to(Phase::Replying), Effect::Tell(Update::ReplyText(text)), self.finish(true)]
    }

    fn finish(&mut self, complete: bool) -> Effect {
        self.phase = Phase::Finishing;
        Effect::SaveReply {
            turn: self.turn,
            session: self.session.unwrap_or(SessionId(0)),
            text: self.reply.clone(),
            complete,
            last: true,
            cited: std::mem::take(&mut self.cited),
        }
    }

    fn recalled(&mut self, turn: Turn, found: Found) -> Vec<Effect> {
        if turn != self.turn || self.phase != Phase::Recalling {
            return Vec::new();
        }
        match self.plan {
            Some(Plan::Quote) => {
                let starter = matches!(&self.model, Model::Ready(f) if f.starter);
                let quote = policy::quote(
                    &self.question,
                    found.candidates,
                    &self.earlier(),
                    self.asked_at,
                    self.user_name.as_deref(),
                    starter,
                );
                self.cited = quote.cited;
                self.say(quote.text)
            }
            _ => self.generate(true),
        }
    }

    fn recall_failed(&mut self, turn: Turn, error: String) -> Vec<Effect> {
        if turn != self.turn || self.phase != Phase::Recalling {
            return Vec::new();
        }
        if self.plan == Some(Plan::Quote) {
            let mut effects = vec![
                Effect::Tell(Update::ReplyDropped),
                notice(Level::Error, format!("The memory could not be searched: {error}")),
            ];
            effects.extend(self.rest());
            return effects;
        }
        let mut effects = vec![notice(
            Level::Warning,
            format!("The memory could not be searched ({error}). Answering without it."),
        )];
        effects.extend(self.generate(false));
        effects
    }

    fn window(
        &mut self,
        turn: Turn,
        used_tokens: usize,
        limit_tokens: usize,
        n_dropped: usize,
    ) -> Vec<Effect> {
        if turn != self.turn {
            return Vec::new();
        }
        let mut effects =
            vec![Effect::Tell(Update::Window { used_tokens, limit_tokens, n_dropped })];
        if n_dropped > 0 && self.n_dropped == 0 {
            effects.push(notice(
                Level::Info,
                "This chat is now longer than the model's window. What is above the line is no \
                 longer read word for word; it stays in memory.",
            ));
        }
        self.n_dropped = n_dropped;
        effects
    }

    fn text(&mut self, turn: Turn, piece: String) -> Vec<Effect> {
        if turn != self.turn || self.phase != Phase::Replying {
            return Vec::new();
        }
        self.reply.push_str(&piece);
        let mut effects = vec![Effect::Tell(Update::ReplyText(piece))];
        if self.reply.len() - self.saved_bytes >= CHECKPOINT_BYTES {
            self.saved_bytes = self.reply.len();
            effects.push(Effect::SaveReply {
                turn,
                session: self.session.unwrap_or(SessionId(0)),
                text: self.reply.clone(),
                complete: false,
                last: false,
                cited: Cited::default(),
            });
        }
        effects
    }

    fn generated(&mut self, turn: Turn, outcome: Outcome) -> Vec<Effect> {
        if turn != self.turn || self.phase != Phase::Replying {
            return Vec::new();
        }
        if self.reply.trim().is_empty() {
            // An empty turn is a model's failure, not an answer.
            self.reply.clear();
            let mut effects = vec![
                Effect::Tell(Update::ReplyDropped),
                notice(Level::Warning, "The model had nothing to say. /retry asks it again."),
            ];
            effects.extend(self.rest());
            return effects;
        }
        let mut effects = vec![self.finish(outcome != Outcome::Stopped)];
        if outcome == Outcome::Cut {
            effects.push(notice(Level::Info, "The reply reached its limit and ends here."));
        }
        effects
    }

    fn generate_failed(&mut self, turn: Turn, error: String) -> Vec<Effect> {
        if turn != self.turn || self.phase != Phase::Replying {
            return Vec::new();
        }
        let said = notice(
            Level::Error,
            format!("The reply failed: {error}. Your message is kept; /retry asks again."),
        );
        if self.reply.trim().is_empty() {
            let mut effects = vec![Effect::Tell(Update::ReplyDropped), said];
            effects.extend(self.rest());
            return effects;
        }
        vec![said, self.finish(false)]
    }

    fn stop(&mut self) -> Vec<Effect> {
        let turn = self.turn;
        match self.phase {
            Phase::Idle | Phase::Finishing => Vec::new(),
            Phase::Saving => {
                self.stop_after_save = true;
                Vec::new()
            }
            Phase::AwaitingModel => {
                let mut effects =
                    vec![notice(Level::Info, "Stopped. Your message is kept; /retry answers it.")];
                effects.extend(self.rest());
                effects
            }
            Phase::Recalling => {
                let mut effects = vec![Effect::Cancel { turn }, Effect::Tell(Update::ReplyDropped)];
                effects.push(notice(Level::Info, "Stopped. /retry answers it after all."));
                effects.extend(self.rest());
                effects
            }
            Phase::Replying => {
                let mut effects = vec![Effect::Cancel { turn }];
                if self.reply.trim().is_empty() {
                    effects.push(Effect::Tell(Update::ReplyDropped));
                    effects.push(notice(Level::Info, "Stopped. /retry answers it after all."));
                    effects.extend(self.rest());
                } else {
                    effects.push(self.finish(false));
                }
                effects
            }
        }
    }

    fn reply_saved(
        &mut self,
        turn: Turn,
        message: Message,
        record: Value,
        last: bool,
        speed: Option<f64>,
    ) -> Vec<Effect> {
        if turn != self.turn || !last {
            return Vec::new();
        }
        self.history.push(Line::of(&message));
        let mut effects = vec![Effect::Tell(Update::ReplyDone { message, record, speed })];
        effects.extend(self.rest());
        effects
    }

    fn reply_not_saved(&mut self, turn: Turn, error: String, last: bool) -> Vec<Effect> {
        if turn != self.turn || !last {
            return Vec::new();
        }
        // The model shall not continue from what nobody can look up; the screen still shows it.
        self.reply.clear();
        let mut effects = vec![notice(
            Level::Error,
            format!("The reply above could not be saved: {error}. Your message is saved."),
        )];
        effects.extend(self.rest());
        effects
    }

    fn rest(&mut self) -> Vec<Effect> {
        self.plan = None;
        vec![self.to(Phase::Idle), Effect::ResumeWorker]
    }

    // — sessions —

    fn leave_session(&mut self) -> Vec<Effect> {
        let mut effects = self.stop();
        // Whatever still arrives belongs to a turn that is over.
        self.turn += 1;
        if self.busy() {
            effects.extend(self.rest());
        }
        if let Some(session) = self.session.take()
            && !self.incognito
        {
            effects.push(Effect::CloseSession { session });
        }
        self.title.clear();
        self.history.clear();
        self.n_dropped = 0;
        effects
    }

    fn told_session(&self, messages: Vec<Message>) -> Effect {
        Effect::Tell(Update::Session {
            session: self.session,
            title: self.title.clone(),
            messages,
            incognito: self.incognito,
        })
    }

    fn new_session(&mut self) -> Vec<Effect> {
        let mut effects = self.leave_session();
        effects.push(self.told_session(Vec::new()));
        effects
    }

    fn session_loaded(
        &mut self,
        session: SessionId,
        title: String,
        messages: Vec<Message>,
    ) -> Vec<Effect> {
        if self.busy() {
            // A reload beside a running turn: the turn's own events keep the screen right.
            return Vec::new();
        }
        self.session = Some(session);
        self.title = title;
        self.history = messages.iter().map(Line::of).collect();
        self.n_dropped = 0;
        vec![self.told_session(messages)]
    }

    fn session_not_loaded(&mut self, session: SessionId, error: &str) -> Vec<Effect> {
        // A reload that fails is the open session forgotten: an empty chat says enough.
        let forgotten = self.session == Some(session);
        self.session = None;
        self.title.clear();
        self.history.clear();
        let mut effects = vec![self.told_session(Vec::new())];
        if !forgotten {
            let text = format!("The chat could not be opened: {error}.");
            effects.push(notice(Level::Warning, text));
        }
        effects
    }

    fn incognito_failed(&mut self, error: &str) -> Vec<Effect> {
        self.incognito = false;
        vec![
            self.told_session(Vec::new()),
            notice(Level::Error, format!("Incognito is not possible: {error}. This chat is kept.")),
        ]
    }

    fn set_incognito(&mut self, on: bool) -> Vec<Effect> {
        if on == self.incognito {
            return vec![notice(
                Level::Info,
                if on { "Incognito is on already." } else { "Incognito is off already." },
            )];
        }
        let mut effects = self.leave_session();
        self.incognito = on;
        effects.push(Effect::UseStore { incognito: on });
        effects.push(self.told_session(Vec::new()));
        effects.push(notice(
            Level::Info,
            if on {
                "Incognito: a new chat that is kept nowhere and remembered by nobody. What is \
                 already in memory can still be asked about. /incognito ends it."
            } else {
                "Incognito is over; that chat is gone."
            },
        ));
        effects
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
