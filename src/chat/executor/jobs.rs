//! Recall and generation, on a thread of their own.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::chat::driver::Input;
use crate::chat::executor::{ChatConfig, KeptContext, TurnData, lock};
use crate::chat::machine::{Event, Outcome, ReplyJob, ReplyStep, TurnEvent, Update};
use crate::chat::policy::ModelProfile;
use crate::chat::ports::Recaller;
use crate::chat::stream::Stream;
use crate::chat::{prompt, window};
use crate::error_chain::error_chain;
use crate::interfaces::{Cancel, Context, Finish, ModelError, Models, Priority, TurnRole};
use crate::memory::Moment;
use crate::prompts::ChatSystem;
use crate::recall::{RecallError, RecallRequest};
use crate::store::Store;

/// A step of a reply, with everything that it needs.
pub(in crate::chat) struct Job {
    pub(super) request: ReplyJob,
    pub(super) models: Models,
    pub(super) profile: ModelProfile,
    pub(super) store: Store,
    pub(super) recaller: Arc<dyn Recaller>,
    pub(super) config: ChatConfig,
    pub(super) data: Arc<Mutex<TurnData>>,
    pub(super) kept: KeptContext,
    pub(super) cancel: Cancel,
    pub(super) now: Moment,
    pub(super) user_name: Option<String>,
}

impl Job {
    /// The event that says that this job failed.
    pub(in crate::chat) fn failure(&self) -> impl Fn(String) -> Event + Clone + use<> {
        let (turn, step) = (self.request.turn, self.request.step);
        move |error| {
            let failed = match step {
                ReplyStep::Recall { .. } => TurnEvent::RecallFailed { error },
                ReplyStep::Generate { .. } => TurnEvent::GenerateFailed { error },
            };
            Event::Turn(turn, failed)
        }
    }

    /// Runs to its end; what happens on the way is sent too.
    pub(in crate::chat) fn run(self, send: &mut dyn FnMut(Input)) {
        let turn = self.request.turn;
        let event = match self.request.step {
            ReplyStep::Recall { for_model } => {
                self.recall(for_model, &mut |text| send(Input::Tell(Update::Progress(text))))
            }
            ReplyStep::Generate { with_memories } => {
                let generated = self.generate(with_memories, &mut |event| {
                    send(Input::Event(Event::Turn(turn, event)));
                });
                match generated {
                    Ok(outcome) => TurnEvent::Generated(outcome),
                    Err(ModelError::Cancelled) => TurnEvent::Generated(Outcome::Stopped),
                    Err(error) => TurnEvent::GenerateFailed { error: error_chain(&error) },
                }
            }
        };
        send(Input::Event(Event::Turn(turn, event)));
    }

    fn system(&self) -> String {
        ChatSystem { today: self.now.civil(), user_name: self.user_name.as_deref() }
            .fill(self.profile.style)
    }

    /// Tokens for the prompt and for the reply.
    fn budgets(&self) -> (usize, usize) {
        let context = self.models.language.info().context_tokens;
        window::budgets(context, self.config.window_tokens, self.config.sampling.tokens_max)
    }

    fn recall(&self, for_model: bool, on_progress: &mut dyn FnMut(String)) -> TurnEvent {
        let since = Instant::now();
        let system = self.system();
        // Rules do not read the window: what was just said is evidence like anything else.
        let window = if for_model { &self.request.history[..] } else { &[] };
        let history: Vec<(TurnRole, String)> =
            window.iter().map(|m| (prompt::turn_role(m.role), m.text.clone())).collect();
        let request = RecallRequest {
            question: &self.request.question,
            now: self.now,
            system: &system,
            history: &history,
            prompt: for_model,
            reuse: if for_model { lock(&self.kept).take() } else { None },
            cancel: &self.cancel,
        };
        let window_tokens = self.config.window_tokens;
        let recalled = self.recaller.recall(
            &self.store,
            &self.models,
            request,
            window_tokens,
            &mut |progress| {
                on_progress(progress.to_string());
            },
        );
        match recalled {
            Ok(mut evidence) => {
                let candidates = std::mem::take(&mut evidence.candidates);
                let mut data = lock(&self.data);
                data.recall_seconds = since.elapsed().as_secs_f64();
                data.recalled = Some(evidence);
                TurnEvent::Recalled(candidates)
            }
            Err(RecallError::Cancelled) => TurnEvent::RecallFailed { error: "stopped".into() },
            Err(error) => TurnEvent::RecallFailed { error: error_chain(&error) },
        }
    }

    /// A context that holds the whole prompt, ready to decode: recall's, or one without memories.
    fn prefill(
        &self,
        with_memories: bool,
        on_event: &mut dyn FnMut(TurnEvent),
    ) -> Result<Box<dyn Context>, ModelError> {
        let (limit_tokens, _) = self.budgets();
        let recalled = match (with_memories, &mut lock(&self.data).recalled) {
            (true, Some(r)) => r.context.take().map(|c| (c, r.n_history_left_out, r.question_cut)),
            _ => None,
        };
        let (context, n_dropped, cut) = if let Some(recalled) = recalled {
            recalled
        } else {
            let model = self.models.language.as_ref();
            let alone = self.profile.small_talk_alone && !with_memories;
            let history = if alone { &[][..] } else { &self.request.history };
            let question = &self.request.question;
            let built = prompt::build(model, &self.system(), history, question, limit_tokens);
            let mut context = model.context(Priority::Chat)?;
            context.extend(&built.tokens)?;
            (context, built.n_dropped, built.cut.is_some())
        };
        let used_tokens = context.len();
        on_event(TurnEvent::Window { used_tokens, limit_tokens, n_dropped });
        if cut {
            on_event(TurnEvent::QuestionCut);
        }
        Ok(context)
    }

    fn generate(
        &self,
        with_memories: bool,
        on_event: &mut dyn FnMut(TurnEvent),
    ) -> Result<Outcome, ModelError> {
        let mut context = self.prefill(with_memories, on_event)?;
        if self.cancel.is_cancelled() {
            return Ok(Outcome::Stopped);
        }
        lock(&self.data).n_prompt = Some(context.len());
        let (_, reply_tokens) = self.budgets();
        let mut sampling = self.profile.sampling(&self.config.sampling);
        sampling.tokens_max = sampling.tokens_max.min(reply_tokens);
        sampling.seed ^= self.request.turn ^ self.now.as_millisecond().unsigned_abs();
        let since = Instant::now();
        let mut first: Option<Instant> = None;
        let mut stream = Stream::default();
        let mut show = |piece: String| {
            if !piece.is_empty() {
                on_event(TurnEvent::Text(piece));
            }
        };
        let generated = context.generate(&sampling, &self.cancel, &mut |piece| {
            first.get_or_insert_with(Instant::now);
            show(stream.push(piece));
        });
        show(stream.finish());
        let mut data = lock(&self.data);
        if let Some(first) = first {
            data.generating_seconds = first.elapsed().as_secs_f64();
            let start = data.started.unwrap_or(since);
            data.first_token_seconds = Some(first.duration_since(start).as_secs_f64());
        }
        let generated = generated?;
        *lock(&self.kept) = Some(context);
        data.n_generated = generated.n_tokens;
        Ok(match generated.finish {
            Finish::EndOfTurn => Outcome::Ended,
            Finish::Length => Outcome::Cut,
            Finish::Cancelled => Outcome::Stopped,
        })
    }
}
