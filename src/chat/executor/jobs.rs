//! Recall and generation, on a thread of their own.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::chat::driver::Input;
use crate::chat::executor::{KeptContext, Parts, RunningServers, TurnData, lock};
use crate::chat::machine::{Event, Outcome, ReplyJob, ReplyStep, TurnEvent, Update};
use crate::chat::noting;
use crate::chat::passages::quote_files;
use crate::chat::policy::{self, ModelProfile, Reader};
use crate::chat::quote::{self, Cited, Quote};
use crate::chat::sureness::Sureness;
use crate::chat::window;
use crate::error_chain::error_chain;
use crate::extractive::{self, Candidate, Intent, Wants, Words};
use crate::interfaces::{Cancel, ModelError, Models, Sampling};
use crate::memory::{Message, Moment, Role, attached};
use crate::prompts::{Answer, MemoryLine, Style};
use crate::recall::{Evidence, Progress, Recall, RecallRequest, is_of_assistant};
use crate::store::KnownName;

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
                let goes_on = self.goes_on_from_what_was_told();
                let asks_first = goes_on
                    || extractive::asks_who(question)
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
                    TurnEvent::nothing(false)
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
                        knows_them || goes_on || !look && asks
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
    pub(super) fn sampling(&self) -> Sampling {
        let seed = self.request.turn ^ self.now.as_millisecond().unsigned_abs();
        self.parts.config.sampling.sampling(Some(&self.profile), seed)
    }

    /// Whether a model is to do something with what memory knows, not to say what it knows. (The starter is not trained for it.)
    pub(super) fn is_task(&self) -> bool {
        let question = &self.request.question;
        self.profile.style == Style::Instructed
            && policy::is_task(question)
            && policy::reader_for(&self.profile, question) != Reader::BuiltIn
    }

    /// Whether words that answer are looked for first: what reads is no better at finding them.
    fn is_read_in_words(&self, reader: Reader) -> bool {
        let question = &self.request.question;
        (reader == Reader::BuiltIn || self.profile.starter)
            && !policy::is_task(question)
            && !extractive::is_foreign(policy::head(question))
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
            .flat_map(|message| noting::facts(&message.content, self.person(), message.created_at))
            .collect();
        let known =
            self.parts.store.read(|reader| reader.known_name_in(&self.request.question, &said));
        known.unwrap_or(KnownName::None)
    }

    /// "When does it mature?" after what was told of a savings account, or asked about it: the world does not know, but a
    /// small model would say something.
    fn goes_on_from_what_was_told(&self) -> bool {
        if self.profile.talks_freely() || !extractive::points_back(&self.request.question) {
            return false;
        }
        let said = self.request.history.iter().rev().filter(|message| {
            message.role == Role::User && !extractive::points_back(&message.content)
        });
        let mut wanted = said.map(|message| self.profile.wants(&message.content));
        let before = wanted.find(|wants| *wants != Wants::SmallTalk);
        matches!(before, Some(Wants::Statement | Wants::Memory))
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
        let is_task = self.is_task();
        let read_by = || policy::reader_for(&self.profile, question);
        let reader = if for_model { read_by() } else { Reader::Extractive };
        let style = self.profile.style_of(reader);
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
            looks_for_words: for_model && !look && self.is_read_in_words(reader),
            now: self.now,
            system: &system,
            reader,
            reuse: None,
            cancel: &self.cancel,
        };
        let mut config = self.parts.recall.clone();
        config.window_tokens = config.window_tokens.min(self.parts.config.window_tokens);
        let recall = Recall { store: &self.parts.store, models: &self.models, config };
        let mut report = |progress: Progress| on_progress(progress.to_string());
        let recalled = (self.parts.recaller)(recall, request, &mut report);
        match recalled {
            Ok(evidence) => {
                lock(&self.data).recall_seconds = since.elapsed().as_secs_f64();
                self.recalled(evidence, recent, look, is_private)
            }
            Err(error) => TurnEvent::Failed { error: error_chain(&error) },
        }
    }

    /// What becomes of what was recalled: the rules answer, or a model reads.
    fn recalled(
        &self,
        mut evidence: Evidence,
        recent: String,
        look: bool,
        is_private: bool,
    ) -> TurnEvent {
        /// Of a small memory something always ranks first: for a question about the world it also has to answer. (Of notebooks, 4 of
        /// 42 answers that were less probable were right.)
        const ANSWERS_MIN_LOOKING: f64 = 0.1;
        let question = &self.request.question;
        let candidates = std::mem::take(&mut evidence.candidates);
        let words = std::mem::take(&mut evidence.words);
        let reads = evidence.context.is_some();
        let likeliest = candidates.iter().filter_map(|c| c.answers).reduce(f64::max);
        let answers_nothing = look && likeliest.is_some_and(|p| p < ANSWERS_MIN_LOOKING);
        if answers_nothing && !policy::is_read_by_rules(&self.profile, question) {
            return TurnEvent::nothing(is_private);
        }
        let mut data = lock(&self.data);
        data.reads_recalled = reads;
        data.sources.clone_from(&candidates);
        data.sureness = likeliest.filter(|_| reads).map(Sureness::of_reading);
        data.recent = recent;
        data.recalled = Some(evidence);
        drop(data);
        let quote = (!reads).then(|| self.quote(candidates, &words)).flatten();
        if reads || quote.is_some() || !is_private {
            return TurnEvent::Recalled { quote, reads, is_private, nearest: None };
        }
        let is_sure = words == Words::None;
        // Otherwise the starter says so itself.
        let denies = is_sure || !policy::says_no(&self.profile, question);
        let sources = denies.then(|| lock(&self.data).sources.clone());
        let nearest = sources.and_then(|sources| self.below(None, sources));
        let quote = is_sure.then(|| Quote::nothing(nearest.clone()));
        TurnEvent::Recalled { quote, reads, is_private, nearest }
    }

    /// What the attached files say.
    fn quote_files(&self, is_private: bool) -> TurnEvent {
        let read = self.profile.encoder.as_deref().map(|e| quote_files(&self.request.question, e));
        match read.transpose() {
            Ok(said) => {
                let cited = Cited { recalled: Some(Vec::new()), ..Cited::default() };
                let quote = said.flatten().map(|text| Quote { text, cited, reminds: false });
                TurnEvent::Recalled { quote, reads: false, is_private, nearest: None }
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
                let quote = Some(quote);
                TurnEvent::Recalled { quote, reads: false, is_private, nearest: None }
            }
            Err(error) => TurnEvent::Failed { error: error_chain(&error) },
        }
    }

    /// The chat so far, without what the person corrected since they said it.
    fn said(&self) -> Vec<&Message> {
        // Without the list, all of it is evidence.
        let refused = self.parts.store.read(|r| r.refused_messages()).unwrap_or_default();
        self.request.history.iter().filter(|m| !refused.contains(&m.id)).collect()
    }

    /// What the rules answer.
    pub(super) fn quote(&self, candidates: Vec<Candidate>, words: &Words) -> Option<Quote> {
        let (question, said) = (&self.request.question, self.said().into_iter());
        let name = self.user_name.as_deref();
        quote::quote(&self.profile, question, (candidates, words), said, self.now, name)
    }

    /// What stands below a model's answer, or below the words that nothing answers.
    pub(super) fn below(
        &self,
        answer: Option<&str>,
        mut candidates: Vec<Candidate>,
    ) -> Option<Quote> {
        let unread = lock(&self.data).recalled.as_ref().and_then(|found| found.nearest.clone());
        candidates.extend(unread.iter().map(|(_, candidate)| candidate.clone()));
        let (asked, said) = ((&*self.request.question, answer), self.said().into_iter());
        let name = self.user_name.as_deref();
        let mut below = quote::below(&self.profile, asked, candidates, said, self.now, name)?;
        // No other evidence has it.
        below.cited.from_chat.extend(unread.map(|(id, _)| id));
        Some(below)
    }
}
