//! Replies under way, token by token: several go through the model together, each with its own keys and values, so
//! that the weights are read once for all of them. Knows neither the queue nor text.

use candle_core::Tensor;

use super::decoder::Decoder;
use super::mask::Mask;
use super::sampler::Sampler;
use super::sequence::Sequence;
use super::weights::backend;
use crate::interfaces::{Cancel, Finish, ModelError, Sampling};

/// One reply under way; its tokens are in a [`Sequence`].
pub struct Generation {
    sampler: Sampler,
    /// Tokens that end a turn.
    stops: Vec<u32>,
    mask: Option<Box<Mask>>,
    cancel: [Cancel; 2],
    /// Tokens held when it began.
    before: usize,
    tokens_left: usize,
}

/// What a step of a generation gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A token, which the sequence holds now.
    Token(u32),
    /// The end.
    Finished(Finish),
}

impl Generation {
    /// Of what follows `sequence`.
    pub fn new(
        sequence: &Sequence,
        sampling: &Sampling,
        stops: &[u32],
        mask: Option<Box<Mask>>,
        cancel: &[Cancel; 2],
    ) -> Self {
        Self {
            sampler: Sampler::new(sampling),
            stops: stops.to_vec(),
            mask,
            cancel: cancel.clone(),
            before: sequence.tokens().len(),
            tokens_left: sampling.tokens_max,
        }
    }

    /// Whether it ends before another token is drawn.
    fn end(&self, sequence: &Sequence, decoder: &Decoder) -> Option<Finish> {
        let finished = self.mask.as_ref().and_then(|mask| mask.finish());
        if self.tokens_left == 0 {
            return Some(finished.unwrap_or(Finish::Length));
        }
        if self.cancel.iter().any(Cancel::is_cancelled) {
            return Some(Finish::Cancelled);
        }
        let is_full = sequence.tokens().len() >= decoder.context_tokens();
        finished.or(is_full.then_some(Finish::Length))
    }

    fn draw(&mut self, mut logits: Vec<f32>, sequence: &Sequence) -> Result<Next, ModelError> {
        if let Some(mask) = &mut self.mask {
            mask.apply(&mut logits, &self.stops);
        }
        let token = self.sampler.draw(logits, sequence.tokens())?;
        if self.stops.contains(&token) {
            let finish = self.mask.as_ref().map_or(Ok(Finish::EndOfTurn), |mask| mask.end());
            return finish.map(Next::Finished);
        }
        if let Some(mask) = &mut self.mask {
            mask.advance(token)?;
        }
        self.tokens_left -= 1;
        Ok(Next::Token(token))
    }
}

/// One token of each reply, or its end; the outcomes stand in the replies' order. A reply that fails does not disturb
/// the others.
pub fn step(
    decoder: &Decoder,
    replies: &mut [(&mut Sequence, &mut Generation)],
    pause: &mut (dyn FnMut() + Send),
) -> Vec<Result<Next, ModelError>> {
    pause();
    let mut drawn = draw_each(decoder, replies, pause);
    // Texts whose keys are rotated in another way can't go through the model together.
    for is_long in [false, true] {
        let mut going_on = Vec::new();
        for ((sequence, generation), next) in replies.iter_mut().zip(&mut drawn) {
            if let Ok(Next::Token(token)) = *next
                && sequence.will_be_long(decoder) == is_long
            {
                going_on.push((&mut **sequence, token, generation.before, next));
            }
        }
        if !going_on.is_empty() {
            extend(decoder, &mut going_on, pause);
        }
    }
    drawn
}

type Extended<'a> = (&'a mut Sequence, u32, usize, &'a mut Result<Next, ModelError>);

/// Together, or one by one if that fails.
fn extend(decoder: &Decoder, replies: &mut [Extended<'_>], pause: &mut (dyn FnMut() + Send)) {
    let mut together: Vec<(&mut Sequence, u32)> =
        replies.iter_mut().map(|(sequence, token, ..)| (&mut **sequence, *token)).collect();
    let fails = Sequence::extend_each(decoder, &mut together, pause).is_err();
    for (sequence, token, before, next) in replies {
        if fails
            && let Err(error) = Sequence::extend_each(decoder, &mut [(sequence, *token)], pause)
        {
            **next = Err(error);
            continue;
        }
        let previous = sequence.tokens().len() - 1;
        if previous > *before {
            sequence.forget_end(previous);
        }
    }
}

fn draw_each(
    decoder: &Decoder,
    replies: &mut [(&mut Sequence, &mut Generation)],
    pause: &mut (dyn FnMut() + Send),
) -> Vec<Result<Next, ModelError>> {
    let mut hidden: Vec<Tensor> = Vec::with_capacity(replies.len());
    let mut drawn = Vec::with_capacity(replies.len());
    for (sequence, generation) in replies.iter_mut() {
        drawn.push(match generation.end(sequence, decoder) {
            Some(finish) => Ok(Next::Finished(finish)),
            None => sequence.last_hidden(decoder, pause).map(|last| {
                hidden.push(last);
                // Until it is drawn.
                Next::Token(0)
            }),
        });
    }
    let logits = logits_of(decoder, &hidden).map(Vec::into_iter);
    // One text whose numbers are no numbers must not end the others.
    let mut rows = logits.map_err(|_| hidden.into_iter());
    for ((sequence, generation), drawn) in replies.iter_mut().zip(&mut drawn) {
        if !matches!(drawn, Ok(Next::Token(_))) {
            continue;
        }
        let logits = match &mut rows {
            Ok(rows) => Ok(rows.next().unwrap_or_default()),
            Err(hidden) => logits_of(decoder, &hidden.next().into_iter().collect::<Vec<_>>())
                .map(|mut rows| rows.pop().unwrap_or_default()),
        };
        *drawn = logits.and_then(|logits| generation.draw(logits, sequence));
    }
    drawn
}

fn logits_of(decoder: &Decoder, hidden: &[Tensor]) -> Result<Vec<Vec<f32>>, ModelError> {
    match hidden {
        [] => Ok(Vec::new()),
        [one] => decoder.logits(one),
        several => decoder.logits(&Tensor::cat(several, 0).map_err(backend)?),
    }
}
