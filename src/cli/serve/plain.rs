//! Replies without memory: what was sent, as a prompt, and what the model says to it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::of_model;
use crate::chat::sampling::SamplingSettings;
use crate::chat::{ModelProfile, Parts, Thoughts, prompt, reader_of};
use crate::interfaces::{
    Cancel, Clock as _, Context, Finish, LanguageModel, ModelError, Models, Priority, Sampling,
    StopText, SystemClock,
};
use crate::memory::{Message, Moment, Role, SessionId};
use crate::server::{ApiError, Asked, Author, Ended, Replied};

/// The longest reply where no length is asked for.
const REPLY_TOKENS_MAX: usize = 4_096;
/// Contexts that are kept to begin others with, and their tokens together (of SmolLM2-135M 23 KB each). The newest is kept however
/// long it is.
const N_KEPT_MAX: usize = 8;
const KEPT_TOKENS_MAX: usize = 4_096;
/// Tokens read at a time: between them others have their turn, and it is seen whether anybody still waits.
const CHUNK_TOKENS: usize = 512;

pub struct Plain {
    model: Arc<dyn LanguageModel>,
    profile: ModelProfile,
    sampling: SamplingSettings,
    /// Whose they are: what others said is not begun with, so that nothing tells of it.
    owner: u64,
    prefixes: Arc<Mutex<Prefixes>>,
    reading: Mutex<()>,
    n_forgettings: AtomicU64,
}

/// Contexts of earlier prompts and replies with their owners, the newest last.
#[derive(Default)]
pub struct Prefixes(Vec<(u64, Box<dyn Context>)>);

impl Plain {
    pub fn new(models: &Models, parts: &Parts, owner: u64, prefixes: Arc<Mutex<Prefixes>>) -> Self {
        let info = models.language.info();
        let reader = reader_of(parts.reader, &parts.store, models);
        Self {
            model: Arc::clone(&models.language),
            profile: ModelProfile::new(info, reader, models.reranker.clone()),
            sampling: parts.config.sampling.clone(),
            owner,
            prefixes,
            reading: Mutex::default(),
            n_forgettings: AtomicU64::default(),
        }
    }

    fn prefixes(&self) -> MutexGuard<'_, Prefixes> {
        self.prefixes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was forgotten may stand in what is kept here.
    pub fn drop_forgotten(&self, n_forgettings: u64) {
        if self.n_forgettings.swap(n_forgettings, Ordering::SeqCst) != n_forgettings {
            self.prefixes().0.retain(|(owner, _)| *owner != self.owner);
        }
    }

    pub fn reply(
        &self,
        asked: &Asked,
        cancel: &Cancel,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<Replied, ApiError> {
        let now = SystemClock.now();
        let prompt = self.prompt(asked, now);
        let context_tokens = self.model.info().context_tokens;
        let room = context_tokens.saturating_sub(prompt.len());
        if room == 0 {
            let n = prompt.len();
            return Err(ApiError::too_long(format!(
                "The prompt takes {n} tokens, and the model's context holds {context_tokens}: send less of the conversation."
            )));
        }
        let tokens_max = asked.tokens_max.unwrap_or(REPLY_TOKENS_MAX).min(room);
        let sampling = self.sampling(asked, tokens_max, now);
        let since = self.n_forgettings.load(Ordering::SeqCst);
        let (mut context, n_cached) = self.begin(&prompt, since, cancel).map_err(of_model)?;
        let mut said = Said::new(asked, on_text);
        let mut thoughts = asked.form.is_none().then(Thoughts::default);
        let generated = context.generate(&sampling, cancel, &mut |piece| {
            match &mut thoughts {
                Some(thoughts) => said.push(&thoughts.push(piece)),
                None => said.push(piece),
            }
            if said.stops.found() {
                cancel.cancel();
            }
        });
        let generated = generated.map_err(of_model)?;
        if let Some(mut thoughts) = thoughts {
            said.push(&thoughts.finish());
        }
        let (text, found) = said.finish();
        self.keep(context, prompt.len(), since);
        let is_long = generated.finish == Finish::Length && !found;
        Ok(Replied {
            text,
            ended: if is_long { Ended::Length } else { Ended::Stop },
            n_prompt: prompt.len(),
            n_cached,
            n_generated: generated.n_tokens,
            memory: None,
        })
    }

    fn prompt(&self, asked: &Asked, now: Moment) -> Vec<u32> {
        let message = |role, text: &str| Message::unkept(SessionId(0), role, text, now);
        let (mut system, mut said) = (Vec::new(), Vec::new());
        for line in &asked.lines {
            match line.author {
                Author::System => system.push(line.text.as_str()),
                Author::User => said.push(message(Role::User, &line.text)),
                Author::Assistant => said.push(message(Role::Assistant, &line.text)),
            }
        }
        let system = if system.is_empty() { self.profile.system(now) } else { system.join("\n\n") };
        let question = said.pop().map(|message| message.content).unwrap_or_default();
        prompt::build(
            self.model.as_ref(),
            &system,
            &said,
            &question,
            prompt::Tools::default(),
            usize::MAX,
        )
        .tokens
    }

    fn sampling(&self, asked: &Asked, tokens_max: usize, now: Moment) -> Sampling {
        let fresh = now.timestamp.as_nanosecond() as u64;
        let own = self.sampling.sampling(Some(&self.profile), fresh);
        Sampling {
            temperature: asked.temperature.unwrap_or(own.temperature),
            top_p: asked.top_p.unwrap_or(own.top_p),
            seed: asked.seed.unwrap_or(own.seed),
            // The marks of JSON are repeated by nature.
            repetition_penalty: if asked.form.is_some() { 1.0 } else { own.repetition_penalty },
            tokens_max,
            constraint: asked.form.clone(),
            ..own
        }
    }

    /// A context that holds the prompt, and how many of its tokens were there already. One prompt of a person is read at a time, so
    /// that what several begin with is read once; those of others take turns with it.
    fn begin(
        &self,
        prompt: &[u32],
        since: u64,
        cancel: &Cancel,
    ) -> Result<(Box<dyn Context>, usize), ModelError> {
        let _one = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        cancel.check()?;
        let mut prefixes = self.prefixes();
        let shared = |(owner, context): &(u64, Box<dyn Context>)| {
            let same = context.tokens().iter().zip(prompt).take_while(|(a, b)| a == b);
            if *owner == self.owner { same.count() } else { 0 }
        };
        let best = prefixes.0.iter().map(shared).enumerate();
        let (mut context, n_shared) = match best.max_by_key(|&(at, n)| (n, at)) {
            Some((at, n)) if n > 0 => {
                let kept = prefixes.0.remove(at);
                let forked = kept.1.fork()?;
                prefixes.0.push(kept);
                (forked, n)
            }
            _ => (self.model.context(Priority::Chat)?, 0),
        };
        drop(prefixes);
        context.truncate(n_shared);
        for chunk in prompt[n_shared..].chunks(CHUNK_TOKENS) {
            cancel.check()?;
            context.extend(chunk)?;
        }
        self.keep(context.fork()?, prompt.len(), since);
        Ok((context, n_shared))
    }

    /// What was said goes on where it ended; the prompt alone is needed no longer. What was forgotten `since` may stand in it.
    fn keep(&self, context: Box<dyn Context>, n_prompt: usize, since: u64) {
        let mut prefixes = self.prefixes();
        if self.n_forgettings.load(Ordering::SeqCst) != since {
            return;
        }
        let prompt = &context.tokens()[..n_prompt.min(context.len())];
        prefixes.0.retain(|(owner, kept)| *owner != self.owner || kept.tokens() != prompt);
        prefixes.keep(self.owner, context);
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        self.prefixes().0.retain(|(owner, _)| *owner != self.owner);
    }
}

impl Prefixes {
    fn keep(&mut self, owner: u64, context: Box<dyn Context>) {
        let Self(kept) = self;
        kept.push((owner, context));
        let n_tokens = |kept: &[(u64, Box<dyn Context>)]| kept.iter().map(|(_, c)| c.len()).sum();
        while kept.len() > N_KEPT_MAX || kept.len() > 1 && KEPT_TOKENS_MAX < n_tokens(kept) {
            kept.remove(0);
        }
    }
}

/// The text of a reply on its way out: without blanks before it, up to the first stop.
pub struct Said<'a> {
    pub stops: StopText,
    text: String,
    on_text: &'a mut dyn FnMut(&str),
}

impl<'a> Said<'a> {
    pub fn new(asked: &'a Asked, on_text: &'a mut dyn FnMut(&str)) -> Self {
        Self {
            stops: StopText::new(asked.stops.iter().map(String::as_str)),
            text: String::new(),
            on_text,
        }
    }

    pub fn push(&mut self, piece: &str) {
        let piece = self.stops.push(piece);
        self.add(&piece);
    }

    fn add(&mut self, piece: &str) {
        let piece = if self.text.is_empty() { piece.trim_start() } else { piece };
        if !piece.is_empty() {
            self.text.push_str(piece);
            (self.on_text)(piece);
        }
    }

    /// All of it, and whether a stop ended it.
    pub fn finish(mut self) -> (String, bool) {
        let rest = self.stops.finish();
        self.add(&rest);
        (self.text, self.stops.found())
    }
}
