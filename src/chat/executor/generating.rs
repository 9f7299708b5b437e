//! Generation: the prompt, the model's words and what they are checked against.

use std::sync::Arc;
use std::time::Instant;

use crate::chat::executor::calls::Offer;
use crate::chat::executor::jobs::Job;
use crate::chat::executor::lock;
use crate::chat::machine::{Outcome, TurnEvent};
use crate::chat::passages::parts_of_files;
use crate::chat::policy;
use crate::chat::prompt;
use crate::chat::speech::{Listener, Speech};
use crate::chat::stream::Stream;
use crate::chat::tools::{CallStream, ToolUse, read_call, rewritten};
use crate::chat::window::Window;
use crate::extractive::{self, Candidate, Intent, Wants, Words};
use crate::interfaces::{Context, Finish, ModelError, Priority, Sampling};
use crate::memory::attached;
use crate::model_policy::reading_model;
use crate::prompts::MemoryLine;

/// The longest answer from memories.
const ANSWER_TOKENS_MAX: usize = 160;

impl Job {
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
        // Without the date before a line, which would make somebody 29 on the 29th.
        let said = lock(&self.data);
        sources.extend(said.recent.lines().map(|line| MemoryLine::undated(line).to_owned()));
        Listener::Memory {
            question: message.clone(),
            sources,
            at: self.now.civil(),
            is_task: policy::is_task(message),
        }
    }

    /// A context that holds the whole prompt, ready to decode: recall's, or one without memories.
    fn prefill(
        &self,
        with_memories: bool,
        offer: &Offer,
        on_event: &mut dyn FnMut(TurnEvent),
    ) -> Result<Box<dyn Context>, ModelError> {
        let (limit_tokens, _) = self.budgets();
        let recalled = match (with_memories, &mut lock(&self.data).recalled) {
            (true, Some(r)) => r.context.take().map(|c| (c, 0, r.question_cut)),
            _ => None,
        };
        let model = match &recalled {
            Some(_) => {
                let reader = policy::reader_for(&self.profile, &self.request.question);
                reading_model(reader, &self.models)?
            }
            None => Arc::clone(&self.models.language),
        };
        lock(&self.data).speaks = Some(model.info().name.clone());
        let begun = self.request.begun.as_ref();
        let begun = begun.map(|begun| model.encode(&begun.text)).unwrap_or_default();
        let (mut context, n_dropped, cut) = if let Some(recalled) = recalled {
            recalled
        } else {
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
            let built = prompt::build(&*model, &system, &history, question, tools, room);
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

    pub(super) fn generate(
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
        let is_answer = matches!(listener, Listener::Memory { .. });
        let is_denial = matches!(listener, Listener::Unanswered { .. });
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
        let is_refused = speech.is_refused();
        let mut below = None;
        if is_refused && !is_stopped {
            let quote = self.quote(candidates.clone(), &Words::Unread);
            if quote.is_none() {
                below = self.below(None, candidates);
            }
            show(quote.map_or_else(|| policy::NOTHING_FOUND.to_owned(), |quote| quote.text));
        } else if !is_stopped && is_denial {
            below = self.below(None, candidates);
        } else if !is_stopped && is_answer {
            below = self.below(Some(&said), candidates);
        }
        if let Some(below) = below {
            said.push_str(&below.text);
            lock(&self.data).below = Some(below.cited);
            on_event(TurnEvent::Text(below.text));
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
