//! LightMem (Fang et al., 2025): compressed messages, topics, notes, updates in sleep time.
//!
//! Online (§3.1, §3.2): each message is compressed to the share r of its tokens; compressed messages
//! fill a sensory buffer of 512 tokens; when it is full they are cut into topics; topics fill a
//! short-term buffer of th tokens; when that is full one call notes what their messages tell, and the
//! notes go into long-term memory at once. Offline (§3.3): every note gets the queue of later notes
//! that are most similar to it, and is judged against them: it stays, is deleted, or is merged. An
//! answer sees the 60 notes nearest to the question.
//!
//! Deviations, where something of the paper's is not available:
//! - the reader's own cross-entropy in place of LLMLingua-2 ([`super::pruning`]): the paper's other form;
//! - no attention matrix: a dip of the similarity of neighbours stands for its local peak ([`topics`]);
//! - an update is judged pair by pair, as the product judges facts, not all of a queue in one reply;
//! - the paper prints no prompt for notes: `assets/prompts/topic_notes.txt` is our own.
//!
//! Numbers that the paper does not print (60 notes; queues of 10; similarity 0.9) are those of its
//! released LoCoMo scripts. Where the model is not good enough to write, rules extract statements, from the
//! uncompressed messages because they need whole sentences. Ready-made memories replace the notes; then
//! only the updates are done.

mod sleep;
mod topics;

use std::collections::BTreeMap;
use std::ops::Range;

use inglenook::interfaces::{Context, LanguageModel as _, Priority, TurnRole};
use inglenook::prompts::Line;

use super::built_cache::{BuildResult, MadeBy, Unit};
use super::memory_builder::{MemoryBuilder, MeteredWriter, Searchable};
use super::pruning::{Pieces, prune};
use crate::EvalError;
use crate::prompts::TopicNotes;
use crate::retrieval::vectors::embed;

/// Size of the sensory buffer (§5.1).
const SENSORY_TOKENS: usize = 512;
/// th, the size of the short-term buffer (a row of Table 3).
const SHORT_TERM_TOKENS: usize = 512;
/// Longest reply with notes; at most a quarter of the model's context.
const NOTES_TOKENS_MAX: usize = 512;
/// A message that is longer than a buffer is compressed again, to this share (Appendix C.1).
const AGAIN: f64 = 0.5;

/// Notes that an answer sees.
pub(super) const N_SHOWN: usize = 60;

/// The long-term memory of a conversation, or why there is none.
///
/// # Errors
/// If the engine or the disk fails, or it was cancelled.
pub(super) fn memory(builder: &MemoryBuilder<'_>) -> Result<Result<Searchable, String>, EvalError> {
    let made = builder.make("lightmem", |writer| build(builder, writer))?;
    Ok(made.and_then(|notes| match notes.emptiness() {
        Some(reason) => Err(reason),
        None => Ok(notes),
    }))
}

fn build(builder: &MemoryBuilder<'_>, writer: &MeteredWriter) -> Result<BuildResult, EvalError> {
    let mut counts = BTreeMap::new();
    let (made_by, notes) = match builder.given()? {
        Some(ready) => (MadeBy::Given, ready.facts.clone()),
        None => online(builder, writer, &mut counts)?,
    };
    counts.insert("notes".into(), notes.len() as u64);
    let result = sleep::update(notes, builder, writer)?;
    counts.insert("pairs judged".into(), result.n_judged);
    counts.insert("deleted".into(), result.n_deleted);
    counts.insert("merged".into(), result.n_merged);
    Ok(BuildResult { made_by, units: result.units, counts })
}

/// A message after compression.
struct Compressed {
    text: String,
    n_tokens: usize,
}

fn online(
    builder: &MemoryBuilder<'_>,
    writer: &MeteredWriter,
    counts: &mut BTreeMap<String, u64>,
) -> Result<(MadeBy, Vec<Unit>), EvalError> {
    let messages = &builder.conversation.messages;
    let of = messages.len();
    let mut compressed = Vec::with_capacity(of);
    let mut n_tokens_before = 0;
    let mut start = writer.model.context(Priority::Memory)?;
    let opening = [writer.model.begin(), writer.model.open_turn(TurnRole::User)].concat();
    start.extend(&opening)?;
    // In a small context, leave room for the prompt, the messages and their notes.
    let quarter = writer.model.info().context_tokens / 4;
    let sensory_tokens = SENSORY_TOKENS.min(quarter);
    for (done, said) in messages.iter().enumerate() {
        builder.step(done, of)?;
        let (message, before) =
            compress(&said.text, builder.pruning_ratio, sensory_tokens, &*start, writer)?;
        n_tokens_before += before as u64;
        compressed.push(message);
    }
    let n_tokens: Vec<usize> = compressed.iter().map(|message| message.n_tokens).collect();
    let texts: Vec<String> = compressed.iter().map(|message| message.text.clone()).collect();
    let vectors = embed(builder.models.embedder.as_ref(), &texts)?;
    let topics = topics::topics(messages, &n_tokens, &vectors, sensory_tokens);

    let mut notes = Vec::new();
    let (mut n_calls, mut n_too_long, mut n_unread) = (0, 0, 0);
    for buffer in topics::filled(&topics, &n_tokens, SHORT_TERM_TOKENS.min(quarter)) {
        builder.step(buffer.last().map_or(0, |topic| topic.end), of)?;
        n_calls += 1;
        let noted = if builder.model_use.plan.semantics {
            noted(buffer, &compressed, builder, writer)?
        } else {
            Some(stated(buffer, builder)?)
        };
        n_too_long += u64::from(noted.is_none());
        n_unread += u64::from(noted.as_ref().is_some_and(Vec::is_empty));
        notes.extend(noted.into_iter().flatten());
    }
    for (name, n) in [
        ("messages", of as u64),
        ("tokens said", n_tokens_before),
        ("tokens kept", n_tokens.iter().sum::<usize>() as u64),
        ("topics", topics.len() as u64),
        ("buffers noted", n_calls),
        ("prompts too long", n_too_long),
        ("buffers without notes", n_unread),
    ] {
        counts.insert(name.into(), n);
    }
    let made_by = if builder.model_use.plan.semantics { MadeBy::Model } else { MadeBy::Rules };
    Ok((made_by, notes))
}

/// The message without the tokens that the model would predict, and its original token count. A message
/// that would become empty stays as it was (Appendix C.1).
fn compress(
    text: &str,
    ratio: f64,
    tokens_max: usize,
    start: &dyn Context,
    writer: &MeteredWriter,
) -> Result<(Compressed, usize), EvalError> {
    let model = &writer.model;
    let n_before = Pieces::new(text, model).n_tokens();
    let room = model.info().context_tokens.saturating_sub(start.len()).max(1);
    let mut kept = text.to_owned();
    let mut ratio = ratio;
    loop {
        let mut pieces = Vec::new();
        for run in Pieces::new(&kept, model).in_runs(room) {
            let nlls = start.fork()?.extend_with_nlls(&run.tokens())?;
            pieces.extend(run.weighed(&mut nlls.into_iter()));
        }
        let shorter = prune(&[pieces], ratio).concat();
        if shorter.is_empty() || shorter == kept {
            break;
        }
        kept = shorter;
        if model.encode(&kept).len() <= tokens_max {
            break;
        }
        ratio = AGAIN;
    }
    let n_tokens = model.encode(&kept).len();
    Ok((Compressed { text: kept, n_tokens }, n_before))
}

/// One call for all topics of a full buffer; `None` if they are too long for the model's context.
fn noted(
    buffer: &[Range<usize>],
    compressed: &[Compressed],
    builder: &MemoryBuilder<'_>,
    writer: &MeteredWriter,
) -> Result<Option<Vec<Unit>>, EvalError> {
    let lines: Vec<Vec<Line>> = buffer
        .iter()
        .map(|topic| {
            let lines = builder.lines(topic.clone()).into_iter();
            lines
                .zip(&compressed[topic.clone()])
                .map(|(line, short)| Line { text: short.text.clone(), ..line })
                .collect()
        })
        .collect();
    let topics: Vec<&[Line]> = lines.iter().map(Vec::as_slice).collect();
    let prompt = TopicNotes { topics: &topics }.fill();
    let tokens_max = NOTES_TOKENS_MAX.min(writer.model.info().context_tokens / 4);
    let Some(reply) = writer.generative.ask(&prompt, tokens_max, None, builder.cancel)? else {
        return Ok(None);
    };
    let of: Vec<usize> = buffer.iter().cloned().flatten().collect();
    let (notes, _) = TopicNotes::parse(&reply.text, of.len());
    let unit = |(number, text): (usize, String)| {
        let place = of[number];
        Unit { text, at: builder.conversation.messages[place].at, messages: vec![place] }
    };
    Ok(Some(notes.into_iter().map(unit).collect()))
}

/// By rules, topic by topic.
fn stated(buffer: &[Range<usize>], builder: &MemoryBuilder<'_>) -> Result<Vec<Unit>, EvalError> {
    let mut units = Vec::new();
    for topic in buffer {
        units.extend(builder.stated(topic.clone())?);
    }
    Ok(units)
}
