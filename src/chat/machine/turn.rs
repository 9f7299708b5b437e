//! A turn: from a submitted message to its saved reply.

use crate::chat::machine::phase::{Draft, Phase, Turn};
use crate::chat::machine::{
    Begun, Effect, Level, Machine, MessageKind, Model, OpenSession, Outcome, PhaseName, ReplyJob,
    ReplyStep, TurnEvent, TurnId, Update, UserMessage, hint, notice,
};
use crate::chat::noting;
use crate::chat::policy::{self, Plan, Reader};
use crate::chat::quote::{Cited, Quote};
use crate::chat::speech::is_refusal;
use crate::chat::tools::{CallResult, ToolUse};
use crate::chat::window::Window;
use crate::extractive;
use crate::memory::{Message, Moment, Role, title_of};
use crate::texts::text;

/// A reply goes to disk each time it has grown by this much.
pub(super) const CHECKPOINT_BYTES: usize = 600;

const UNKEPT: &str = "I have read it. Nothing of it is kept: this is incognito.";

pub(super) const BUSY: Effect = Effect::Tell(Update::Busy);

impl Machine {
    pub(super) fn submit(&mut self, text: String, at: Moment, kind: MessageKind) -> Vec<Effect> {
        if text.trim().is_empty() {
            return Vec::new();
        }
        let refusal = if self.is_busy() {
            Some(BUSY)
        } else if kind == MessageKind::Remember && self.incognito {
            Some(hint(text!("Incognito keeps nothing. /incognito ends it.")))
        } else {
            None
        };
        if let Some(refusal) = refusal {
            return vec![Effect::Tell(Update::Returned { text }), refusal];
        }
        let turn = self.next_turn();
        let (session, title) = match &self.session {
            Some(open) if policy::names_better(&text, &open.title) => {
                (Some(open.id), title_of(&text))
            }
            Some(open) => (Some(open.id), open.title.clone()),
            None => (None, title_of(&text)),
        };
        let message = UserMessage { turn, session, title, text, at, kind };
        let saving = Phase::Saving { message: message.clone(), stopped: false };
        vec![Effect::PauseWorker, self.to(saving), Effect::SaveUser(message)]
    }

    pub(super) fn regenerate(&mut self, at: Moment) -> Vec<Effect> {
        if self.is_busy() {
            return vec![BUSY];
        }
        let id = self.next_turn();
        let Some((mut turn, replies)) = self.last_turn_again(id, at) else {
            return vec![hint(text!("There is nothing to answer again yet."))];
        };
        turn.replaces = replies.iter().map(|reply| reply.id).collect();
        self.answer_again(turn, String::new())
    }

    /// Goes on with the last reply, if it was stopped or cut.
    pub(super) fn go_on(&mut self, at: Moment) -> Vec<Effect> {
        if self.is_busy() {
            return vec![BUSY];
        }
        let is_stopped = |session: &OpenSession| {
            session.history.last().is_some_and(|m| m.role == Role::Assistant && !m.complete)
        };
        if !self.session.as_ref().is_some_and(is_stopped) {
            return vec![hint(text!("The last reply is whole: there is nothing to go on with."))];
        }
        let id = self.next_turn();
        let Some((mut turn, mut replies)) = self.last_turn_again(id, at) else {
            return vec![hint(text!("The last reply is whole: there is nothing to go on with."))];
        };
        let Some(Message { id, content, .. }) = replies.pop() else { return Vec::new() };
        turn.begun = Some(Begun { id, text: content.clone() });
        self.answer_again(turn, content)
    }

    /// The last message once more, and the replies that it had: the model does not see them.
    fn last_turn_again(&mut self, id: TurnId, at: Moment) -> Option<(Turn, Vec<Message>)> {
        let session = self.session.as_mut()?;
        let n = session.history.iter().rposition(|m| m.role == Role::User)?;
        let replies = session.history.split_off(n + 1);
        let question = session.history[n].content.clone();
        Some((Turn::new(id, session.id, question, MessageKind::Chat, at), replies))
    }

    fn answer_again(&mut self, turn: Turn, begun: String) -> Vec<Effect> {
        let replaces = turn.begun.iter().map(|begun| begun.id).chain(turn.replaces.clone());
        let again = Update::Again { replaces: replaces.collect(), begun };
        let mut effects = vec![Effect::PauseWorker, Effect::Tell(again)];
        effects.extend(self.answer(turn));
        effects
    }

    fn next_turn(&mut self) -> TurnId {
        self.last_turn += 1;
        self.last_turn
    }

    /// An event of the turn that is going on.
    pub(super) fn turn_event(&mut self, event: TurnEvent) -> Vec<Effect> {
        match (std::mem::take(&mut self.phase), event) {
            (
                Phase::Saving { message: UserMessage { text, kind, at, .. }, stopped },
                TurnEvent::UserSaved { title, message, user_name },
            ) => {
                self.user_name = user_name;
                let session = message.session;
                self.user_saved(&title, &message);
                let saved = Effect::Tell(Update::UserMessage { title, message });
                let turn = Turn::new(self.last_turn, session, text, kind, at);
                let then = if stopped { self.rest() } else { self.answer(turn) };
                [vec![saved], then].concat()
            }
            (Phase::Saving { message, .. }, TurnEvent::NotSaved { error }) => {
                let text =
                    text!("Your message could not be saved, so it was not sent: {error}", error);
                let returned = Effect::Tell(Update::Returned { text: message.text });
                self.end(vec![returned, notice(Level::Error, text)])
            }
            (Phase::Recalling { turn, .. }, TurnEvent::Recalled { reads, .. })
                if reads || turn.begun.is_some() =>
            {
                self.generate(turn, reads)
            }
            (
                Phase::Recalling { turn, .. },
                TurnEvent::Recalled { quote, is_private, nearest, .. },
            ) => self.quote(turn, quote, is_private, nearest),
            (Phase::Recalling { turn, for_model, .. }, TurnEvent::Failed { error }) => {
                self.recall_failed(turn, for_model, &error)
            }
            (Phase::Replying { turn, draft }, TurnEvent::Text(piece)) => {
                self.text(turn, draft, piece)
            }
            (Phase::Replying { turn, draft }, TurnEvent::Generated(outcome)) => {
                self.generated(turn, draft, outcome)
            }
            (Phase::Replying { turn, draft }, TurnEvent::Failed { error }) => {
                self.generate_failed(turn, draft, &error)
            }
            (Phase::Replying { turn, draft }, TurnEvent::Asked { said, written, call }) => {
                self.asked(turn, draft, (said, written), call)
            }
            (Phase::Calling { turn, draft, asked }, TurnEvent::Called(result)) => {
                self.called(turn, draft, asked, result)
            }
            (Phase::Calling { turn, draft, asked }, TurnEvent::Failed { error }) => {
                self.called(turn, draft, asked, CallResult::error(error))
            }
            (phase @ Phase::Replying { .. }, TurnEvent::Window(window)) => {
                self.phase = phase;
                self.window(window)
            }
            (phase @ Phase::Replying { .. }, TurnEvent::QuestionCut) => {
                self.phase = phase;
                let text = text!(
                    "This message is longer than the model's window, so the model reads \
                     only its beginning. All of it is kept."
                );
                vec![notice(Level::Warning, text)]
            }
            (phase @ Phase::Replying { .. }, TurnEvent::FilesInParts) => {
                self.phase = phase;
                let text = text!(
                    "This is longer than the model's window, so the model reads the parts that bear on the question."
                );
                vec![notice(Level::Info, text)]
            }
            (Phase::Finishing { then, .. }, TurnEvent::ReplySaved(saved)) => {
                if let Some(session) = &mut self.session {
                    session.id = saved.message.session;
                    session.history.push(saved.message.clone());
                }
                let done = Effect::Tell(Update::ReplyDone(saved));
                let then = then.map(|text| notice(Level::Info, text));
                self.end([done].into_iter().chain(then).collect())
            }
            (Phase::Finishing { .. }, TurnEvent::NotSaved { error }) => {
                // Not in the history: the model must not build on what nobody can look up.
                let text = text!(
                    "The reply above could not be saved: {error}. Your message is saved.",
                    error
                );
                self.end(vec![notice(Level::Error, text)])
            }
            // A stopped job still answers.
            (phase, _) => {
                self.phase = phase;
                Vec::new()
            }
        }
    }

    fn user_saved(&mut self, title: &str, message: &Message) {
        let session = self.session.get_or_insert_with(|| OpenSession {
            id: message.session,
            title: title.to_owned(),
            history: Vec::new(),
            n_dropped: 0,
        });
        // Another device's chat goes on in a fork.
        session.id = message.session;
        title.clone_into(&mut session.title);
        session.history.push(message.clone());
    }

    /// The model is ready, or failed to load and the previous one stays in use.
    pub(super) fn answer_waiting(&mut self) -> Vec<Effect> {
        match std::mem::take(&mut self.phase) {
            Phase::AwaitingModel(turn) => self.answer(turn),
            phase => {
                self.phase = phase;
                Vec::new()
            }
        }
    }

    /// The message is on disk: answer it, or wait for the model.
    fn answer(&mut self, turn: Turn) -> Vec<Effect> {
        let profile = match &self.model {
            Model::Ready(profile) => profile,
            Model::Loading { .. } => return vec![self.to(Phase::AwaitingModel(turn))],
            Model::Absent => {
                let text = text!(
                    "Your message is kept, but no model is loaded. Choose one with /model, then /retry."
                );
                return self.end(vec![notice(Level::Warning, text)]);
            }
        };
        let by_clock = extractive::by_clock(&turn.question, turn.at.civil());
        if let Some(said) = by_clock.filter(|_| turn.kind == MessageKind::Chat) {
            return self.say(&turn, said, Cited::default());
        }
        match policy::plan(profile, turn.kind, &turn.question) {
            Plan::Acknowledge => {
                let is_asked = turn.kind == MessageKind::Remember;
                let kept = is_asked.then(|| "Kept, in your own words.".to_owned());
                match self.noted(&turn).or(kept) {
                    Some(_) if self.incognito => self.say(&turn, UNKEPT.into(), Cited::default()),
                    Some(noted) => {
                        let text = extractive::with_feeling(&turn.question, noted);
                        self.say(&turn, text, Cited::default())
                    }
                    // Nothing in it to remember: small talk after all.
                    None => self.generate(turn, false),
                }
            }
            Plan::React => {
                let noted = (!self.incognito).then(|| self.noted(&turn)).flatten();
                self.generate(Turn { noted, ..turn }, false)
            }
            Plan::Quote => self.recall(turn, false, false),
            Plan::Read => self.recall(turn, true, false),
            // What is to be done, not known.
            Plan::Look if policy::is_task(&turn.question) && self.offers_tools(&turn) => {
                self.generate(turn, false)
            }
            Plan::Look => {
                let for_model = profile.reader != Reader::Extractive;
                self.recall(turn, for_model, true)
            }
            Plan::Talk => self.generate(turn, false),
        }
    }

    /// What will be remembered of the message.
    fn noted(&self, turn: &Turn) -> Option<String> {
        noting::acknowledge(&turn.question, self.earlier(), turn.at, self.user_name.as_deref())
    }

    /// The session before the question.
    fn earlier(&self) -> &[Message] {
        let history = self.session.as_ref().and_then(|session| session.history.split_last());
        history.map_or(&[], |(_, earlier)| earlier)
    }

    pub(super) fn start(&self, turn: &Turn, step: ReplyStep) -> Effect {
        let (question, history) = (turn.question.clone(), self.earlier().to_vec());
        Effect::Start(ReplyJob {
            turn: turn.id,
            question,
            history,
            step,
            begun: turn.begun.clone(),
            exchanges: turn.exchanges.clone(),
        })
    }

    fn recall(&mut self, turn: Turn, for_model: bool, look: bool) -> Vec<Effect> {
        let job = self.start(&turn, ReplyStep::Recall { for_model, look });
        vec![self.to(Phase::Recalling { turn, for_model }), job]
    }

    fn generate(&mut self, mut turn: Turn, with_memories: bool) -> Vec<Effect> {
        if !with_memories && turn.tools == ToolUse::None && self.offers_tools(&turn) {
            turn.tools = ToolUse::Offered;
        }
        let step = ReplyStep::Generate { with_memories, tools: turn.tools };
        let job = self.start(&turn, step);
        let text = turn.begun.as_ref().map(|begun| begun.text.clone()).unwrap_or_default();
        let draft = Draft { n_saved: text.len(), text };
        vec![self.to(Phase::Replying { turn, draft }), job]
    }

    /// A reply that needs no generation.
    fn say(&mut self, turn: &Turn, text: String, cited: Cited) -> Vec<Effect> {
        let replying = Effect::Tell(Update::Phase(PhaseName::Replying));
        let told = Effect::Tell(Update::ReplyText(text.clone()));
        vec![replying, told, self.finish(turn, text, true, None, cited)]
    }

    /// Says the quote. What needs no memory, the model answers instead of "nothing found" or a hedged quote.
    fn quote(
        &mut self,
        mut turn: Turn,
        quote: Option<Quote>,
        is_private: bool,
        nearest: Option<Quote>,
    ) -> Vec<Effect> {
        let is_task = policy::is_task(&turn.question);
        if quote.as_ref().is_some_and(|quote| quote.reminds) {
            turn.reminder = quote;
            return self.generate(turn, false);
        }
        let is_hedged = |quote: &Quote| quote.text.starts_with(extractive::HEDGE) && !is_task;
        let by_model = quote.as_ref().is_none_or(is_hedged);
        let says_no = quote.is_none() && self.says_no(&turn.question);
        if by_model && !is_private || says_no {
            return self.generate(turn, false);
        }
        if quote.is_none() && self.offers_tools(&turn) {
            turn.tools = ToolUse::Required;
            return self.generate(turn, false);
        }
        let found = quote.unwrap_or_else(|| Quote::nothing(nearest));
        self.say(&turn, found.text, found.cited)
    }

    fn says_no(&self, question: &str) -> bool {
        matches!(&self.model, Model::Ready(profile) if policy::says_no(profile, question))
    }

    fn recall_failed(&mut self, turn: Turn, for_model: bool, error: &str) -> Vec<Effect> {
        // What is not in a memory that can't be read, nobody knows.
        if !for_model || self.says_no(&turn.question) {
            let text = text!("The memory could not be searched: {error}", error);
            return self.dropped(&turn, vec![], notice(Level::Error, text));
        }
        let text =
            text!("The memory could not be searched ({error}). Answering without it.", error);
        let mut effects = vec![notice(Level::Warning, text)];
        effects.extend(self.generate(turn, false));
        effects
    }

    fn window(&mut self, window: Window) -> Vec<Effect> {
        let mut effects = vec![Effect::Tell(Update::Window(window))];
        let Some(session) = &mut self.session else { return effects };
        if window.n_dropped > 0 && session.n_dropped == 0 {
            effects.push(notice(
                Level::Info,
                text!(
                    "This chat is now longer than the model's window. What is above the line is no \
                     longer read word for word; it stays in memory."
                ),
            ));
        }
        session.n_dropped = window.n_dropped;
        effects
    }

    fn text(&mut self, turn: Turn, mut draft: Draft, piece: String) -> Vec<Effect> {
        draft.text.push_str(&piece);
        let mut effects = vec![Effect::Tell(Update::ReplyText(piece))];
        if draft.text.len() - draft.n_saved >= CHECKPOINT_BYTES {
            draft.n_saved = draft.text.len();
            effects.push(turn.save(draft.text.clone(), false, false, Cited::default()));
        }
        self.phase = Phase::Replying { turn, draft };
        effects
    }

    fn generated(&mut self, mut turn: Turn, mut draft: Draft, outcome: Outcome) -> Vec<Effect> {
        if draft.text.trim().is_empty() {
            // An empty reply is a failure of the model, not an answer.
            let text = text!("The model had nothing to say. /retry asks it again.");
            return self.dropped(&turn, vec![], notice(Level::Warning, text));
        }
        let is_complete = outcome == Outcome::Ended;
        let (mut effects, mut cited) = (Vec::new(), Cited::default());
        if let Some(reminder) = turn.reminder.take().filter(|_| is_complete) {
            effects.push(Effect::Tell(Update::ReplyText(reminder.text.clone())));
            // "You haven't told me anything about the oven", and then what was told of it.
            draft.text = if is_refusal(&draft.text) {
                reminder.text.trim_start().to_owned()
            } else {
                draft.text.trim_end().to_owned() + &reminder.text
            };
            cited = reminder.cited;
        }
        let limit = (outcome == Outcome::Cut).then(|| {
            text!("The reply reached its limit and ends here. Alt+↑, then g: it goes on.")
                .to_owned()
        });
        let then = limit.or_else(|| turn.noted.take());
        effects.push(self.finish(&turn, draft.text, is_complete, then, cited));
        effects
    }

    fn generate_failed(&mut self, turn: Turn, draft: Draft, error: &str) -> Vec<Effect> {
        let text =
            text!("The reply failed: {error}. Your message is kept; /retry asks again.", error);
        let failed = notice(Level::Error, text);
        if draft.text.trim().is_empty() {
            return self.dropped(&turn, vec![], failed);
        }
        vec![failed, self.finish(&turn, draft.text, false, None, Cited::default())]
    }

    pub(super) fn finish(
        &mut self,
        turn: &Turn,
        text: String,
        complete: bool,
        then: Option<String>,
        cited: Cited,
    ) -> Effect {
        self.phase = Phase::Finishing { turn: turn.id, then };
        turn.save(text, complete, true, cited)
    }

    pub(super) fn stop(&mut self) -> Vec<Effect> {
        match std::mem::take(&mut self.phase) {
            Phase::Saving { message, .. } => {
                self.phase = Phase::Saving { message, stopped: true };
                Vec::new()
            }
            Phase::AwaitingModel(_) => {
                let text = text!("Stopped. Your message is kept; /retry answers it.");
                self.end(vec![notice(Level::Info, text)])
            }
            Phase::Replying { turn, draft }
            | Phase::Asking { turn, draft, .. }
            | Phase::Calling { turn, draft, .. }
                if !draft.text.trim().is_empty() =>
            {
                let saved = self.finish(&turn, draft.text, false, None, Cited::default());
                vec![Effect::Cancel, saved]
            }
            Phase::Recalling { turn, .. }
            | Phase::Replying { turn, .. }
            | Phase::Asking { turn, .. }
            | Phase::Calling { turn, .. } => {
                let text = text!("Stopped. /retry answers it after all.");
                self.dropped(&turn, vec![Effect::Cancel], notice(Level::Info, text))
            }
            phase @ (Phase::Idle | Phase::Finishing { .. }) => {
                self.phase = phase;
                Vec::new()
            }
        }
    }

    /// The reply came to nothing. What it was to replace is the model's to read again.
    pub(super) fn dropped(
        &mut self,
        turn: &Turn,
        mut effects: Vec<Effect>,
        why: Effect,
    ) -> Vec<Effect> {
        effects.extend([Effect::Tell(Update::ReplyDropped), why]);
        let mut effects = self.end(effects);
        if !turn.replaces.is_empty() || turn.begun.is_some() {
            effects.push(Effect::LoadSession(turn.session));
        }
        effects
    }

    /// These effects, then those of becoming idle.
    fn end(&mut self, mut effects: Vec<Effect>) -> Vec<Effect> {
        effects.extend(self.rest());
        effects
    }

    pub(super) fn rest(&mut self) -> Vec<Effect> {
        let mut effects = vec![self.to(Phase::Idle), Effect::ResumeWorker];
        if let Some(name) = self.arrived.take() {
            effects.extend(self.load_model(Some(name)));
        }
        effects
    }
}
