//! The handles that the rest of the program holds: a model and its contexts.
//!
//! They turn text into tokens and tokens into text around the [`super::engine`], which does the
//! computing on its own thread.

use std::sync::mpsc;
use std::sync::{Arc, OnceLock};

use super::chat_template::ChatTemplate;
use super::decoder::Decoder;
use super::engine::{Engine, Pause};
use super::generation::Generation;
use super::mask::{Mask, Vocabulary};
use super::sequence::Sequence;
use super::tokenizer::{DecodeStream, Tokenizer};
use super::weight_files::WeightFiles;
use crate::interfaces::{
    Cancel, Context, Finish, Generated, LanguageModel, ModelError, ModelInfo, Priority, Sampling,
    StopText, TurnRole, Uncertainty,
};

struct Shared {
    info: ModelInfo,
    files: WeightFiles,
    tokenizer: Tokenizer,
    template: ChatTemplate,
    /// Tokens that end a turn when the model generates them.
    stops: Vec<u32>,
    engine: Engine,
    /// Built at the first constrained reply: a large vocabulary takes a tenth of a second.
    vocabulary: OnceLock<Arc<Vocabulary>>,
}

impl Shared {
    fn vocabulary(&self) -> Arc<Vocabulary> {
        Arc::clone(self.vocabulary.get_or_init(|| Arc::new(Vocabulary::of(&self.tokenizer))))
    }
}

/// A loaded model: [`LanguageModel`] on an [`Engine`].
#[derive(Clone)]
pub struct EngineModel(Arc<Shared>);

impl EngineModel {
    /// Wraps a running engine.
    pub fn new(
        info: ModelInfo,
        files: WeightFiles,
        tokenizer: Tokenizer,
        template: ChatTemplate,
        engine: Engine,
    ) -> Self {
        let mut stops = template.end_of_turn().to_vec();
        // A control token that opens a turn ends the current one: the model is playing both sides.
        for role in [TurnRole::System, TurnRole::User, TurnRole::Assistant] {
            let opening = template.open_turn(role).first();
            stops.extend(opening.filter(|&&id| tokenizer.token_bytes(id).is_empty()));
        }
        stops.sort_unstable();
        stops.dedup();
        let vocabulary = OnceLock::new();
        Self(Arc::new(Shared { info, files, tokenizer, template, stops, engine, vocabulary }))
    }
}

impl LanguageModel for EngineModel {
    fn info(&self) -> &ModelInfo {
        &self.0.info
    }

    fn weights_sha256(&self) -> String {
        self.0.files.sha256()
    }

    fn encode(&self, text: &str) -> Vec<u32> {
        self.0.tokenizer.encode(&self.0.template.prepare(text))
    }

    fn decode(&self, tokens: &[u32]) -> String {
        self.0.tokenizer.decode(tokens)
    }

    fn open_turn(&self, role: TurnRole) -> Vec<u32> {
        self.0.template.open_turn(role).to_vec()
    }

    fn open_first_turn(&self) -> Vec<u32> {
        self.0.template.open_first_turn().to_vec()
    }

    fn close_turn(&self, role: TurnRole) -> Vec<u32> {
        self.0.template.close_turn(role).to_vec()
    }

    fn open_reply(&self) -> Vec<u32> {
        self.0.template.open_reply().to_vec()
    }

    fn turn(&self, role: TurnRole, text: &str) -> Vec<u32> {
        let mut tokens = self.open_turn(role);
        tokens.extend(self.encode(self.0.template.content(role, text)));
        tokens.extend(self.close_turn(role));
        tokens
    }

    fn call_marks(&self) -> Option<[&'static str; 2]> {
        self.0.template.tools().map(|tools| tools.call)
    }

    fn system_with_tools(&self, text: &str, tools: &[String]) -> Vec<u32> {
        let Shared { template, tokenizer, .. } = &*self.0;
        match template.tools() {
            Some(format) => template.system_with_tools(tokenizer, format, text, tools),
            None => self.turn(TurnRole::System, text),
        }
    }

    fn call_turns(&self, said: &str, call: &str, result: &str) -> Vec<u32> {
        let Shared { template, tokenizer, .. } = &*self.0;
        match template.tools() {
            Some(format) => template.call_turns(tokenizer, format, said, call, result),
            None => {
                [self.turn(TurnRole::Assistant, said), self.turn(TurnRole::User, result)].concat()
            }
        }
    }

    fn begin(&self) -> Vec<u32> {
        self.0.template.begin().to_vec()
    }

    fn context(&self, priority: Priority) -> Result<Box<dyn Context>, ModelError> {
        self.0.engine.check()?;
        Ok(Box::new(EngineContext { model: self.clone(), priority, sequence: Sequence::default() }))
    }
}

struct EngineContext {
    model: EngineModel,
    priority: Priority,
    sequence: Sequence,
}

impl EngineContext {
    fn shared(&self) -> &Shared {
        &self.model.0
    }

    /// Refuses what can't fit before any work is done.
    fn fits(&self, n_tokens: usize) -> Result<(), ModelError> {
        let needed_tokens = self.sequence.tokens().len() + n_tokens;
        let context_tokens = self.shared().info.context_tokens;
        if needed_tokens > context_tokens {
            return Err(ModelError::ContextOverflow { needed_tokens, context_tokens });
        }
        Ok(())
    }

    fn ask<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Sequence, &Decoder, Pause<'_>) -> Result<T, ModelError> + Send + 'static,
    ) -> Result<T, ModelError> {
        self.model.0.engine.ask(self.priority, &mut self.sequence, work)
    }
}

impl Context for EngineContext {
    fn len(&self) -> usize {
        self.sequence.tokens().len()
    }

    fn tokens(&self) -> &[u32] {
        self.sequence.tokens()
    }

    fn n_processed(&self) -> u64 {
        self.sequence.n_processed()
    }

    fn extend(&mut self, tokens: &[u32]) -> Result<(), ModelError> {
        self.extend_with_logits(tokens, 0).map(|_| ())
    }

    fn truncate(&mut self, len: usize) {
        self.sequence.truncate(len);
    }

    fn fork(&self) -> Result<Box<dyn Context>, ModelError> {
        self.shared().engine.check()?;
        Ok(Box::new(Self {
            model: self.model.clone(),
            priority: self.priority,
            sequence: self.sequence.fork(),
        }))
    }

    fn extend_with_logits(
        &mut self,
        tokens: &[u32],
        n_last: usize,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        self.fits(tokens.len())?;
        let wanted = tokens.len().saturating_sub(n_last)..tokens.len();
        let tokens = tokens.to_vec();
        self.ask(move |sequence, decoder, pause| {
            let mut rows = Vec::with_capacity(wanted.len());
            let mut keep = |_, row: &[f32]| rows.push(row.to_vec());
            sequence.extend(decoder, &tokens, wanted, &mut keep, pause)?;
            Ok(rows)
        })
    }

    fn extend_with_nlls(&mut self, tokens: &[u32]) -> Result<Vec<f64>, ModelError> {
        self.fits(tokens.len())?;
        let tokens = tokens.to_vec();
        self.ask(move |sequence, decoder, pause| sequence.extend_with_nlls(decoder, &tokens, pause))
    }

    fn uncertainty(
        &mut self,
        question: &[u32],
        tail: &[u32],
        n_positions: usize,
    ) -> Result<Uncertainty, ModelError> {
        self.fits(question.len() + tail.len())?;
        let (question, tail) = (question.to_vec(), tail.to_vec());
        let stops = self.shared().stops.clone();
        self.ask(move |sequence, decoder, pause| {
            sequence.uncertainty(decoder, &question, &tail, n_positions, &stops, pause)
        })
    }

    fn choose(&mut self, choices: &[Vec<u32>]) -> Result<Vec<f64>, ModelError> {
        self.fits(choices.iter().map(Vec::len).max().unwrap_or(0).saturating_sub(1))?;
        let choices = choices.to_vec();
        self.ask(move |sequence, decoder, pause| sequence.choose(decoder, &choices, pause))
    }

    fn generate(
        &mut self,
        sampling: &Sampling,
        cancel: &Cancel,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<Generated, ModelError> {
        let shared = Arc::clone(&self.model.0);
        let before = self.sequence.tokens().len();
        let mut stream = DecodeStream::default();
        let room = shared.info.context_tokens.saturating_sub(before);
        let mask = match &sampling.constraint {
            Some(form) => {
                Some(Mask::new(form, shared.vocabulary(), sampling.tokens_max.min(room))?)
            }
            None => None,
        };
        // A constrained reply ends as its form says.
        let stop_text = shared.template.stop_text().filter(|_| mask.is_none());
        let mut stop_text = StopText::new(stop_text);
        let mut generated = Generated { text: String::new(), n_tokens: 0, finish: Finish::Length };
        let mut give = |generated: &mut Generated, piece: &str| {
            if !piece.is_empty() {
                on_text(piece);
                generated.text.push_str(piece);
            }
        };
        let enough = Cancel::default();
        let stops = shared.stops.clone();
        let cancel = [cancel.clone(), enough.clone()];
        let (drawn, tokens) = mpsc::channel();
        let sequence = std::mem::take(&mut self.sequence);
        let mask = mask.map(Box::new);
        let generation = Generation::new(&sequence, sampling, &stops, mask, &cancel);
        let tell = move |token| drawn.send(token).is_ok();
        let pending = shared.engine.begin_reply(self.priority, sequence, generation, tell);
        for token in tokens {
            if stop_text.found() {
                continue; // drawn before the engine saw that it was enough
            }
            generated.n_tokens += 1;
            let piece = stop_text.push(&stream.push(&shared.tokenizer, token));
            give(&mut generated, &piece);
            if stop_text.found() {
                enough.cancel();
            }
        }
        let finish = pending.wait(&mut self.sequence)?;
        if stop_text.found() {
            self.sequence.truncate(before + generated.n_tokens);
            generated.finish = Finish::EndOfTurn;
        } else {
            generated.finish = finish;
            let rest = stop_text.push(&stream.finish()) + &stop_text.finish();
            give(&mut generated, &rest);
        }
        Ok(generated)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::ErrorKind;
    use std::path::Path;

    use super::*;
    use crate::inference::confined::{self, Confinement};
    use crate::inference::load;

    #[test]
    fn the_engine_is_as_confined_as_what_started_it() {
        if confined::confinement().unwrap() == Confinement::None {
            return crate::testing::skip("this kernel has no Landlock");
        }
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures/models/llama-f16-gguf/model.gguf");
        let model = confined::reading(Some(&fixture), || load::model(&fixture, &|_| {})).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let (secret, new) = (dir.path().join("secret"), dir.path().join("new"));
        fs::write(&secret, "text").unwrap();
        let attempts = move || {
            let refused = |result: std::io::Result<()>| result.map_err(|e| e.kind());
            let read = refused(fs::read(&secret).map(drop));
            let write = refused(fs::write(&new, ""));
            (read, write)
        };
        let here = attempts.clone();
        let in_engine = model.0.engine.ask(
            Priority::Chat,
            &mut Sequence::default(),
            move |_: &mut Sequence, _: &Decoder, _: Pause<'_>| Ok(attempts()),
        );
        let refused = Err(ErrorKind::PermissionDenied);
        assert_eq!(in_engine.unwrap(), (refused, refused));
        assert_eq!(here(), (Ok(()), Ok(())));
    }
}
