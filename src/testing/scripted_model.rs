//! A language model that says what a test tells it to.
//!
//! Tokens are bytes (0–255), with special tokens above. It finds the rule whose needle occurs last in
//! the context's text, and answers, or chooses, by that rule's reply; uncertainty and likelihoods come
//! from closures.

use std::sync::{Arc, Mutex};

use crate::grammar::{Constraint, Lines};
use crate::interfaces::{
    Cancel, Context, Finish, Generated, LanguageModel, MemoryModel, ModelError, ModelInfo,
    Priority, Sampling, TurnRole, Uncertainty,
};

const OPEN_SYSTEM: u32 = 256;
const OPEN_USER: u32 = 257;
const OPEN_ASSISTANT: u32 = 258;
const CLOSE: u32 = 259;
const VOCABULARY: usize = 260;

type UncertaintyRule = dyn Fn(&str, &str) -> f64 + Send + Sync;
type NllRule = dyn Fn(&[u8], u8) -> f64 + Send + Sync;

struct Script {
    info: ModelInfo,
    replies: Vec<(String, String)>,
    default_reply: String,
    uncertainty: Box<UncertaintyRule>,
    nll: Box<NllRule>,
    joins_system: bool,
    knows_tools: bool,
    log: Mutex<Vec<String>>,
}

/// A scripted [`LanguageModel`]; clones share the script, so every `with_…` comes before the first clone.
#[derive(Clone)]
pub struct ScriptedModel(Arc<Script>);

impl ScriptedModel {
    /// `replies`: (needle in the prompt, reply). For [`Context::choose`] the reply is the choice
    /// that is preferred, by its text.
    pub fn new(replies: &[(&str, &str)]) -> Self {
        Self(Arc::new(Script {
            info: ModelInfo {
                name: "scripted".into(),
                fingerprint: "scripted".into(),
                n_parameters: 1_000_000_000,
                context_tokens: 1 << 20,
                vocabulary: VOCABULARY,
                starter: false,
            },
            replies: replies.iter().map(|&(n, r)| (n.to_owned(), r.to_owned())).collect(),
            default_reply: "OK.".into(),
            uncertainty: Box::new(|_, _| 1.0),
            nll: Box::new(|_, _| 1.0),
            joins_system: false,
            knows_tools: false,
            log: Mutex::default(),
        }))
    }

    #[expect(clippy::expect_used, reason = "a test double")]
    fn script(&mut self) -> &mut Script {
        Arc::get_mut(&mut self.0).expect("not shared yet")
    }

    /// Uncertainty in nats from (context text, question).
    #[must_use]
    pub fn with_uncertainty(
        mut self,
        f: impl Fn(&str, &str) -> f64 + Send + Sync + 'static,
    ) -> Self {
        self.script().uncertainty = Box::new(f);
        self
    }

    /// Negative log-likelihood in nats of a byte, from the bytes of text before it.
    #[must_use]
    pub fn with_nlls(mut self, f: impl Fn(&[u8], u8) -> f64 + Send + Sync + 'static) -> Self {
        self.script().nll = Box::new(f);
        self
    }

    /// The reply where no needle is found.
    #[must_use]
    pub fn with_default_reply(mut self, reply: &str) -> Self {
        self.script().default_reply = reply.into();
        self
    }

    /// The system's text opens the user's first turn, as Gemma has it.
    #[must_use]
    pub fn joining_system(mut self) -> Self {
        self.script().joins_system = true;
        self
    }

    /// Its format knows tools: a call stands between `<tool_call>` and `</tool_call>`.
    #[must_use]
    pub fn knowing_tools(mut self) -> Self {
        self.script().knows_tools = true;
        self
    }

    /// Changes what it says of itself.
    #[must_use]
    pub fn with_info(mut self, f: impl FnOnce(&mut ModelInfo)) -> Self {
        f(&mut self.script().info);
        self
    }

    /// The text of every prompt that was answered so far (generate and choose).
    ///
    /// # Panics
    /// If a test thread panicked while asking.
    #[expect(clippy::expect_used, reason = "a test double")]
    pub fn prompts(&self) -> Vec<String> {
        self.0.log.lock().expect("not poisoned").clone()
    }

    fn reply(&self, text: &str) -> String {
        if let Ok(mut log) = self.0.log.lock() {
            log.push(text.to_owned());
        }
        self.0
            .replies
            .iter()
            .filter_map(|(needle, reply)| {
                text.rfind(needle.as_str()).map(|at| (at + needle.len(), reply))
            })
            .max_by_key(|&(at, _)| at)
            .map_or_else(|| self.0.default_reply.clone(), |(_, reply)| reply.clone())
    }
}

fn bytes_of(tokens: &[u32]) -> Vec<u8> {
    tokens.iter().filter_map(|&t| u8::try_from(t).ok()).collect()
}

fn text_of(tokens: &[u32]) -> String {
    String::from_utf8_lossy(&bytes_of(tokens)).into_owned()
}

/// What a model that wants to say `reply` says under a constraint: its lines with the required prefix, cut where
/// the form or the budget (`chars_max`) ends them; and whether the budget cut anything off.
fn constrained(
    reply: &str,
    constraint: &Constraint,
    chars_max: usize,
) -> Result<(String, bool), ModelError> {
    let Some(Lines { prefix, max, chars_max: line_max }) = constraint.form() else {
        return Ok((reply.to_owned(), false));
    };
    let needed = prefix.chars().count() + 1;
    if needed > chars_max {
        let needed_tokens = Some(needed);
        return Err(ModelError::ConstraintTooLong { needed_tokens, tokens_max: chars_max });
    }
    let bare = |line: &str| {
        let line = line.trim_start();
        line.strip_prefix(prefix.trim_end()).unwrap_or(line).trim_start().to_owned()
    };
    let lines = reply.lines().map(bare).filter(|line| !line.is_empty());
    let mut lines: Vec<String> = lines.take((*max).into()).collect();
    if lines.is_empty() {
        lines.push("!".into());
    }
    let mut said: Vec<char> = Vec::new();
    for line in lines {
        let separator = if said.is_empty() { "" } else { "\n" };
        if said.len() + separator.len() + needed > chars_max {
            return Ok((said.into_iter().collect(), true));
        }
        said.extend(separator.chars().chain(prefix.chars()));
        said.extend(line.chars().filter(|c| !c.is_control()).take((*line_max).into()));
    }
    let cut = said.len() > chars_max;
    Ok((said.into_iter().take(chars_max).collect(), cut))
}

impl MemoryModel for ScriptedModel {
    fn loaded(&self) -> Result<Arc<dyn LanguageModel>, ModelError> {
        Ok(Arc::new(self.clone()))
    }
}

impl LanguageModel for ScriptedModel {
    fn info(&self) -> &ModelInfo {
        &self.0.info
    }

    fn weights_sha256(&self) -> String {
        "scripted".into()
    }

    fn encode(&self, text: &str) -> Vec<u32> {
        text.bytes().map(u32::from).collect()
    }

    fn decode(&self, tokens: &[u32]) -> String {
        text_of(tokens)
    }

    fn open_turn(&self, role: TurnRole) -> Vec<u32> {
        vec![match role {
            TurnRole::System => OPEN_SYSTEM,
            TurnRole::User => OPEN_USER,
            TurnRole::Assistant => OPEN_ASSISTANT,
        }]
    }

    fn open_first_turn(&self) -> Vec<u32> {
        if self.0.joins_system { Vec::new() } else { self.open_turn(TurnRole::User) }
    }

    fn close_turn(&self, _: TurnRole) -> Vec<u32> {
        vec![CLOSE]
    }

    fn open_reply(&self) -> Vec<u32> {
        self.open_turn(TurnRole::Assistant)
    }

    fn turn(&self, role: TurnRole, text: &str) -> Vec<u32> {
        [self.open_turn(role), self.encode(text), self.close_turn(role)].concat()
    }

    fn call_marks(&self) -> Option<[&'static str; 2]> {
        self.0.knows_tools.then_some(["<tool_call>", "</tool_call>"])
    }

    fn system_with_tools(&self, text: &str, tools: &[String]) -> Vec<u32> {
        self.turn(TurnRole::System, &format!("{text}\n{}", tools.join("\n")))
    }

    fn begin(&self) -> Vec<u32> {
        Vec::new()
    }

    fn context(&self, _: Priority) -> Result<Box<dyn Context>, ModelError> {
        Ok(Box::new(ScriptedContext { model: self.clone(), tokens: Vec::new(), n_processed: 0 }))
    }
}

struct ScriptedContext {
    model: ScriptedModel,
    tokens: Vec<u32>,
    n_processed: u64,
}

impl Context for ScriptedContext {
    fn len(&self) -> usize {
        self.tokens.len()
    }

    fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    fn n_processed(&self) -> u64 {
        self.n_processed
    }

    fn extend(&mut self, tokens: &[u32]) -> Result<(), ModelError> {
        let needed_tokens = self.tokens.len() + tokens.len();
        let context_tokens = self.model.0.info.context_tokens;
        if needed_tokens > context_tokens {
            return Err(ModelError::ContextOverflow { needed_tokens, context_tokens });
        }
        self.tokens.extend_from_slice(tokens);
        self.n_processed += tokens.len() as u64;
        Ok(())
    }

    fn truncate(&mut self, len: usize) {
        self.tokens.truncate(len);
    }

    fn fork(&self) -> Result<Box<dyn Context>, ModelError> {
        Ok(Box::new(Self {
            model: self.model.clone(),
            tokens: self.tokens.clone(),
            n_processed: 0,
        }))
    }

    fn extend_with_logits(
        &mut self,
        tokens: &[u32],
        n_last: usize,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        self.extend(tokens)?;
        Ok(vec![vec![0.0; VOCABULARY]; n_last])
    }

    fn extend_with_nlls(&mut self, tokens: &[u32]) -> Result<Vec<f64>, ModelError> {
        let mut bytes = bytes_of(&self.tokens);
        self.extend(tokens)?;
        let nll = |&token: &u32| {
            // A special token is certain: the format requires it.
            let Ok(byte) = u8::try_from(token) else { return 0.0 };
            let nll = (self.model.0.nll)(&bytes, byte);
            bytes.push(byte);
            nll
        };
        Ok(tokens.iter().map(nll).collect())
    }

    fn uncertainty(
        &mut self,
        question: &[u32],
        tail: &[u32],
        _: usize,
    ) -> Result<Uncertainty, ModelError> {
        let nats = (self.model.0.uncertainty)(&text_of(&self.tokens), &text_of(question));
        self.n_processed += (question.len() + tail.len()) as u64;
        Ok(Uncertainty {
            entropy_nats: nats,
            first_entropy_nats: nats,
            nll_nats: nats,
            question_nll_nats: nats,
        })
    }

    fn choose(&mut self, choices: &[Vec<u32>]) -> Result<Vec<f64>, ModelError> {
        let wanted = self.model.reply(&text_of(&self.tokens));
        Ok(choices
            .iter()
            .map(|c| if text_of(c).trim() == wanted.trim() { -0.05 } else { -3.0 })
            .collect())
    }

    fn generate(
        &mut self,
        sampling: &Sampling,
        cancel: &Cancel,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<Generated, ModelError> {
        let mut reply = self.model.reply(&text_of(&self.tokens));
        let mut finish = Finish::EndOfTurn;
        if let Some(constraint) = &sampling.constraint {
            let (fitting, cut) = constrained(&reply, constraint, sampling.tokens_max)?;
            reply = fitting;
            finish = if cut { Finish::Length } else { finish };
        }
        let mut text = String::new();
        for (n, c) in reply.chars().enumerate() {
            if cancel.is_cancelled() {
                finish = Finish::Cancelled;
                break;
            }
            if n >= sampling.tokens_max {
                finish = Finish::Length;
                break;
            }
            text.push(c);
            on_text(c.encode_utf8(&mut [0; 4]));
        }
        let n_tokens = text.len();
        self.extend(&self.model.encode(&text))?;
        Ok(Generated { text, n_tokens, finish })
    }
}
