//! Recall and generation, on a thread of their own.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::chat::driver::Input;
use crate::chat::executor::calls::Offer;
use crate::chat::executor::{KeptContext, Parts, RunningServers, TurnData, lock};
use crate::chat::machine::{Event, Outcome, ReplyJob, ReplyStep, TurnEvent, Update};
use crate::chat::passages::{parts_of_files, quote_files};
use crate::chat::policy::{self, ModelProfile};
use crate::chat::prompt;
use crate::chat::quote::{self, Cited, Quote};
use crate::chat::speech::{Listener, Speech};
use crate::chat::stream::Stream;
use crate::chat::sureness::Sureness;
use crate::chat::tools::{CallStream, ToolUse, read_call, rewritten};
use crate::chat::window::{self, Window};
use crate::error_chain::error_chain;
use crate::extractive::{self, Candidate, Intent, Wants};
use crate::interfaces::{Cancel, Context, Finish, ModelError, Models, Priority, Sampling};
use crate::memory::{Message, Moment, Role, attached};
use crate::prompts::{Answer, MemoryLine, Style};
use crate::recall::{Progress, Recall, RecallRequest, is_of_assistant};
use crate::store::KnownName;

/// The longest answer from memories.
const ANSWER_TOKENS_MAX: usize = 160;

/// A step of a reply, with everything that it needs.
pub(in crate::chat) struct Job {
    pub(in crate::chat) request: ReplyJob,
    pub(super) parts: Parts,
    pub(super) models: Models,
    pub(super) profile: ModelProfile,
    pub(super) data: Arc<Mutex<TurnData>>,
    pub(super) kept: KeptContext,
    pub(super) servers: RunningServers,
    pub(super) cancel: Cancel,
    pub(super) now: Moment,
    pub(super) user_name: Option<String>,
}

impl Job {
    /// Runs to its end; what happens on the way is sent too.
    pub(in crate::chat) fn run(self, send: &mut dyn FnMut(Input)) {
        let turn = self.request.turn;
        let event = match &self.request.step {
            &ReplyStep::Recall { for_model, look } => {
                let known = self.known_name();
                let question = &self.request.question;
                // The starter knows little of the world: memory is asked first.
                let asks_first = extractive::asks_who(question)
                    || extractive::asks_of_kin(question)
                    // What suits others may not suit this person.
                    || extractive::asks_advice(question)
                        && extractive::is_of_speaker(question)
                    || extractive::asks_if_possible(question)
                    || policy::cautions(&self.profile, question)
                    || self.profile.starter
                        && extractive::intent(question) == Intent::Question
                        && !extractive::asks_assistant(question);
                if look && known == KnownName::None && !asks_first {
                    TurnEvent::Recalled { quote: None, reads: false, is_private: false }
                } else {
                    // The starter would answer a question about strangers out of nothing.
                    let asks = self.profile.starter
                        || known == KnownName::Name
                        || extractive::is_of_speaker(question);
                    let knows_them = known == KnownName::Person;
                    let is_private = if policy::is_task(question) {
                        // A task is done without memories; whether they can meet Eva, only they know.
                        knows_them && extractive::asks_if_possible(question)
                    } else {
                        knows_them || !look && asks
                    };
                    let for_model = for_model && !policy::is_read_by_rules(&self.profile, question);
                    let mut report = |text| send(Input::Tell(Update::Progress(text)));
                    self.recall(for_model, look, is_private, &mut report)
                }
            }
            ReplyStep::Call(call) => TurnEvent::Called(self.call(call)),
            &ReplyStep::Generate { with_memories, tools } => {
                let offer = self.offer(tools, send);
                let generated = self.generate(with_memories, tools, &offer, &mut |event| {
                    send(Input::Event(Event::Turn(turn, event)));
                });
                match generated {
                    Ok(event) => event,
                    Err(ModelError::Cancelled) => TurnEvent::Generated(Outcome::Stopped),
                    Err(error) => TurnEvent::Failed { error: error_chain(&error) },
                }
            }
        };
        send(Input::Event(Event::Turn(turn, event)));
    }

    /// Tokens for the prompt and for the reply.
    pub(super) fn budgets(&self) -> (usize, usize) {
        let context = self.models.language.info().context_tokens;
        window::budgets(context, self.parts.config.window_tokens, self.sampling().tokens_max)
    }

    /// How a reply is drawn that no memories are read for.
    fn sampling(&self) -> Sampling {
        let seed = self.request.turn ^ self.now.as_millisecond().unsigned_abs();
        self.parts.config.sampling.sampling(Some(&self.profile), seed)
    }

    /// Whether a model is to do something with what memory knows, not to say what it knows. (The starter is not trained for it.)
    fn is_task(&self) -> bool {
        self.profile.style == Style::Instructed && policy::is_task(&self.request.question)
    }

    /// The person's name in prompts.
    fn person(&self) -> &str {
        self.user_name.as_deref().unwrap_or(extractive::THE_USER)
    }

    /// What was said last in this chat, as lines that follow the memories.
    fn recent(&self) -> String {
        const N_LINES: usize = 4;
        const CHARACTERS_MAX: usize = 200;
        let history = &self.request.history;
        let mut lines = String::new();
        let of_assistant = is_of_assistant(&self.request.question);
        // Questions, requests and the assistant's own words are no evidence, unless the latter are asked for.
        let is_told = |message: &&Message| match message.role {
            Role::User => {
                extractive::intent(&message.content) != Intent::Question
                    && !extractive::only_requests(&message.content)
            }
            Role::Assistant => of_assistant && !extractive::is_from_rules(&message.content),
        };
        let told: Vec<&Message> = history.iter().filter(is_told).collect();
        for message in &told[told.len().saturating_sub(N_LINES)..] {
            let text: String = message.content.chars().take(CHARACTERS_MAX).collect();
            let at = message.created_at.civil();
            lines += &match message.role {
                Role::User => {
                    let text = extractive::retold(&text, self.person(), None);
                    MemoryLine::Semantic { text: &text, at, superseded: false }.render()
                }
                Role::Assistant => {
                    MemoryLine::Message { speaker: "The assistant", text: &text, at }.render()
                }
            };
        }
        lines
    }

    /// Whom in the question memory, or this chat, knows; nobody, if the memory cannot be read.
    fn known_name(&self) -> KnownName {
        let said = self.request.history.iter().filter(|message| message.role == Role::User);
        // As facts, which capitalise a name even if the person does not.
        let said: Vec<String> = said
            .flat_map(|message| policy::facts(&message.content, self.person(), message.created_at))
            .collect();
        let known =
            self.parts.store.read(|reader| reader.known_name_in(&self.request.question, &said));
        known.unwrap_or(KnownName::None)
    }

    fn recall(
        &self,
        for_model: bool,
        look: bool,
        is_private: bool,
        on_progress: &mut dyn FnMut(String),
    ) -> TurnEvent {
        /// Reranker scores: for 14 questions that a memory of 577 facts answers, the best unit scored 0.06 to
        /// 0.79 where anything was found; for questions about strangers, 0.01 to 0.24.
        const BEST_MIN: f64 = 0.02;
        const BEST_MIN_LOOKING: f64 = 0.3;
        /// Of a small memory something always ranks first: for a question about the world it also has to answer. (Of notebooks, 4 of
        /// 42 answers that were less probable were right.)
        const ANSWERS_MIN_LOOKING: f64 = 0.1;
        let since = Instant::now();
        let recent = self.recent();
        let question = &self.request.question;
        if attached(question).next().is_some() {
            return self.quote_files(is_private);
        }
        // "Can I meet Eva on Friday?": a small model would say something.
        let asks_if_free = self.profile.role.is_none()
            && !self.profile.talks_freely()
            && extractive::asks_if_free(policy::head(question), self.now.civil());
        if asks_if_free || extractive::asks_what_is_on(question) {
            return self.what_is_on(is_private);
        }
        let style = self.profile.style;
        let is_task = self.is_task();
        let asked = match style {
            Style::Instructed if !is_task => extractive::asked_by(self.person(), question),
            Style::Instructed | Style::Trained => question.clone(),
        };
        let system = if is_task {
            Answer.task_system(self.user_name.as_deref().unwrap_or("the user"), self.now.civil())
        } else {
            Answer.chat_system(style, self.now.civil())
        };
        let sought = policy::sought(question);
        // What was just said is evidence like anything else: recall's prompt has no chat window.
        let request = RecallRequest {
            question: &sought,
            asked: &asked,
            recent: &recent,
            best_min: if look { BEST_MIN_LOOKING } else { BEST_MIN },
            rules_first: for_model,
            now: self.now,
            system: &system,
            prompt: for_model,
            reuse: None,
            cancel: &self.cancel,
        };
        let mut config = self.parts.recall.clone();
        config.window_tokens = config.window_tokens.min(self.parts.config.window_tokens);
        let recall = Recall { store: &self.parts.store, models: &self.models, config };
        let mut report = |progress: Progress| on_progress(progress.to_string());
        let recalled = (self.parts.recaller)(recall, request, &mut report);
        match recalled {
            Ok(mut evidence) => {
                let candidates = std::mem::take(&mut evidence.candidates);
                let reads = evidence.context.is_some();
                let likeliest = candidates.iter().filter_map(|c| c.answers).reduce(f64::max);
                let mut data = lock(&self.data);
                data.recall_seconds = since.elapsed().as_secs_f64();
                let has_none = look && likeliest.is_some_and(|p| p < ANSWERS_MIN_LOOKING);
                if has_none && !policy::is_read_by_rules(&self.profile, question) {
                    return TurnEvent::Recalled { quote: None, reads: false, is_private };
                }
                data.reads_recalled = reads;
                data.sources.clone_from(&candidates);
                data.sureness = likeliest.filter(|_| reads).map(Sureness::of_reading);
                data.recent = recent;
                data.recalled = Some(evidence);
                drop(data);
                let quote = (!reads).then(|| self.quote(candidates)).flatten();
                TurnEvent::Recalled { quote, reads, is_private }
            }
            Err(error) => TurnEvent::Failed { error: error_chain(&error) },
        }
    }

    /// What the attached files say.
    fn quote_files(&self, is_private: bool) -> TurnEvent {
        let read = self.profile.encoder.as_deref().map(|e| quote_files(&self.request.question, e));
        match read.transpose() {
            Ok(said) => {
                let cited = Cited { recalled: Some(Vec::new()), ..Cited::default() };
                let quote = said.flatten().map(|text| Quote { text, cited, reminds: false });
                TurnEvent::Recalled { quote, reads: false, is_private }
            }
            Err(error) => TurnEvent::Failed { error: error_chain(&error) },
        }
    }

    /// What is planned: no search finds all of it by what the question says.
    fn what_is_on(&self, is_private: bool) -> TurnEvent {
        const UNNOTED_MAX: u32 = 200;
        let found = self.parts.store.read(|r| {
            let refused = r.refused_messages()?;
            let mut unnoted = r.newest_unnoted_messages(UNNOTED_MAX)?;
            unnoted.retain(|message| !refused.contains(&message.id));
            Ok((r.semantics()?, unnoted))
        });
        match found {
            Ok((facts, unnoted)) => {
                let name = self.user_name.as_deref();
                let (quote, evidence) =
                    quote::what_is_on(&self.request.question, &facts, &unnoted, self.now, name);
                lock(&self.data).recalled = Some(evidence);
                TurnEvent::Recalled { quote: Some(quote), reads: false, is_private }
            }
            Err(error) => TurnEvent::Failed { error: error_chain(&error) },
        }
    }

    /// What the reply is checked against; an answer from memory may rest on `candidates`.
    fn listener(&self, with_memories: bool, candidates: &[Candidate]) -> Listener {
        let message = &self.request.question;
        if !with_memories && (self.profile.role.is_some() || self.profile.talks_freely()) {
            return Listener::World;
        }
        if !with_memories {
            return match self.profile.wants(message) {
                Wants::Memory if policy::says_no(&self.profile, message) => {
                    Listener::Unanswered { question: message.clone(), at: self.now.civil() }
                }
                Wants::World | Wants::Memory => Listener::World,
                Wants::SmallTalk | Wants::Statement => Listener::Told { message: message.clone() },
            };
        }
        if self.is_task() {
            return Listener::World;
        }
        let mut sources: Vec<String> = candidates.iter().map(|c| c.text.clone()).collect();
        sources.extend(lock(&self.data).recent.lines().map(str::to_owned));
        Listener::Memory {
            question: message.clone(),
            sources,
            at: self.now.civil(),
            is_task: policy::is_task(message),
        }
    }

    /// What the rules answer.
    fn quote(&self, candidates: Vec<Candidate>) -> Option<Quote> {
        let ReplyJob { question, history, .. } = &self.request;
        let name = self.user_name.as_deref();
        // What the person corrected since they said it is no evidence; without the list, all of it is.
        let refused = self.parts.store.read(|r| r.refused_messages()).unwrap_or_default();
        let said = history.iter().filter(|m| !refused.contains(&m.id));
        quote::quote(&self.profile, question, candidates, said, self.now, name)
    }

    /// A context that holds the whole prompt, ready to decode: recall's, or one without memories.
    fn prefill(
        &self,
        with_memories: bool,
        offer: &Offer,
        on_event: &mut dyn FnMut(TurnEvent),
    ) -> Result<Box<dyn Context>, ModelError> {
        let (limit_tokens, _) = self.budgets();
        let begun = self.request.begun.as_ref();
        let begun = begun.map(|begun| self.models.language.encode(&begun.text)).unwrap_or_default();
        let recalled = match (with_memories, &mut lock(&self.data).recalled) {
            (true, Some(r)) => r.context.take().map(|c| (c, 0, r.question_cut)),
            _ => None,
        };
        let (mut context, n_dropped, cut) = if let Some(recalled) = recalled {
            recalled
        } else {
            let model = self.models.language.as_ref();
            let room = limit_tokens.saturating_sub(begun.len());
            let parts = self.parts_of_files(room)?;
            if parts.is_some() {
                on_event(TurnEvent::FilesInParts);
            }
            let spelled = policy::spelled_out(&self.profile, &self.request.question);
            let question = parts.as_ref().or(spelled.as_ref()).unwrap_or(&self.request.question);
            let alone = policy::stands_alone(&self.profile, question);
            let history = if alone && !with_memories {
                Vec::new()
            } else {
                policy::as_talk(&self.profile, &self.request.history)
            };
            let system = self.profile.system(self.now);
            let tools = prompt::Tools { listed: &offer.lines, exchanges: &self.request.exchanges };
            let built = prompt::build(model, &system, &history, question, tools, room);
            let mut context = match lock(&self.kept).take() {
                Some(context) => context,
                None => model.context(Priority::Chat)?,
            };
            context.refill(&built.tokens)?;
            (context, built.n_dropped, built.is_cut)
        };
        context.extend(&begun)?;
        let used_tokens = context.len();
        on_event(TurnEvent::Window(Window { used_tokens, limit_tokens, n_dropped }));
        if cut {
            on_event(TurnEvent::QuestionCut);
        }
        Ok(context)
    }

    /// The question with the parts of its files that bear on it, where all of them do not fit.
    fn parts_of_files(&self, room_tokens: usize) -> Result<Option<String>, ModelError> {
        /// Of the room: what is read is waited for.
        const SHARE: usize = 3;
        const TOKEN_BYTES: usize = 3;
        let question = &self.request.question;
        let Some(encoder) = self.profile.encoder.as_deref() else { return Ok(None) };
        let asks = extractive::intent(policy::head(question)) == Intent::Question;
        if !asks || attached(question).next().is_none() {
            return Ok(None);
        }
        if self.models.language.encode(question).len() < room_tokens {
            return Ok(None);
        }
        parts_of_files(question, encoder, room_tokens / SHARE * TOKEN_BYTES)
    }

    fn generate(
        &self,
        with_memories: bool,
        tools: ToolUse,
        offer: &Offer,
        on_event: &mut dyn FnMut(TurnEvent),
    ) -> Result<TurnEvent, ModelError> {
        let mut context = self.prefill(with_memories, offer, on_event)?;
        if self.cancel.is_cancelled() {
            return Ok(TurnEvent::Generated(Outcome::Stopped));
        }
        lock(&self.data).n_prompt = Some(context.len());
        let sampling = self.reply_sampling(with_memories);
        let since = Instant::now();
        let mut first: Option<Instant> = None;
        // What goes on begins with neither thoughts nor blanks that are not its own.
        let mut stream =
            self.request.begun.as_ref().map_or_else(Stream::default, |_| Stream::going_on());
        let mut calls = offer.marks.map(CallStream::new);
        let candidates = std::mem::take(&mut lock(&self.data).sources);
        let listener = match offer.marks {
            Some(_) => Listener::World,
            None => self.listener(with_memories, &candidates),
        };
        let mut speech = Speech::new(listener, self.user_name.clone());
        let mut said = String::new();
        let mut show = |piece: String| {
            // Nobody but a tool knows.
            if !piece.is_empty() && tools != ToolUse::Required {
                said.push_str(&piece);
                on_event(TurnEvent::Text(piece));
            }
        };
        let generated = context.generate(&sampling, &self.cancel, &mut |piece| {
            first.get_or_insert_with(Instant::now);
            let piece = stream.push(piece);
            show(speech.push(&match &mut calls {
                Some(calls) => calls.push(&piece),
                None => piece,
            }));
            if speech.is_over() || calls.as_ref().is_some_and(CallStream::is_whole) {
                self.cancel.cancel();
            }
        });
        let is_whole = calls.as_ref().is_some_and(CallStream::is_whole);
        let mut rest = stream.finish();
        let mut call = None;
        if let Some(mut calls) = calls {
            rest = calls.push(&rest);
            let (held, written) = calls.finish();
            rest.push_str(&held);
            call = written;
        }
        show(speech.push(&rest));
        show(speech.finish());
        // What the person stopped is not answered in its place.
        let is_stopped = self.cancel.is_cancelled() && !speech.is_over() && !is_whole;
        if speech.is_refused() && !is_stopped {
            let quote = self.quote(candidates);
            show(quote.map_or_else(|| policy::NOTHING_FOUND.to_owned(), |quote| quote.text));
        }
        let mut data = lock(&self.data);
        if let Some(first) = first {
            data.generating_seconds = first.elapsed().as_secs_f64();
            let start = data.started.unwrap_or(since);
            data.first_token_seconds = Some(first.duration_since(start).as_secs_f64());
        }
        let generated = generated?;
        if !with_memories {
            *lock(&self.kept) = Some(context);
        }
        data.n_generated = generated.n_tokens;
        if let Some(written) = call.filter(|_| !is_stopped) {
            let call = read_call(&written, &offer.tools);
            let written = rewritten(&written);
            return Ok(TurnEvent::Asked { said, written, call });
        }
        if tools == ToolUse::Required && !is_stopped {
            on_event(TurnEvent::Text(policy::NOTHING_FOUND.to_owned()));
            return Ok(TurnEvent::Generated(Outcome::Ended));
        }
        Ok(TurnEvent::Generated(match generated.finish {
            Finish::EndOfTurn => Outcome::Ended,
            Finish::Length => Outcome::Cut,
            Finish::Cancelled if speech.is_over() => Outcome::Ended,
            Finish::Cancelled => Outcome::Stopped,
        }))
    }

    /// How the reply is drawn: what is read from memory, without chance.
    fn reply_sampling(&self, with_memories: bool) -> Sampling {
        let (_, reply_tokens) = self.budgets();
        let mut sampling = if with_memories && !self.is_task() {
            Sampling::greedy(ANSWER_TOKENS_MAX)
        } else {
            self.sampling()
        };
        sampling.tokens_max = sampling.tokens_max.min(reply_tokens);
        sampling
    }
}
