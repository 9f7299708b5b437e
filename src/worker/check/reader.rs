//! Reads notes and answers questions as `ask` does: the notes in their block, then the question.

use crate::interfaces::{
    Cancel, Context, Finish, LanguageModel, ModelError, Priority, Sampling, TurnRole,
};
use crate::prompts::{Answer, MemoryLine, Style};

/// Longest answer: a few words.
pub const ANSWER_TOKENS_MAX: usize = 40;

/// A model that is asked about notes.
pub struct Reader<'a> {
    model: &'a dyn LanguageModel,
    /// The system turn and the block's opening: every question begins with them.
    head: Box<dyn Context>,
    tail: Vec<u32>,
}

impl<'a> Reader<'a> {
    /// A reader whose prompts are worded in `style`.
    ///
    /// # Errors
    /// If the model fails.
    pub fn new(model: &'a dyn LanguageModel, style: Style) -> Result<Self, ModelError> {
        Self::with_system(model, &Answer.system(style))
    }

    /// A reader with this system turn.
    ///
    /// # Errors
    /// If the model fails.
    pub fn with_system(model: &'a dyn LanguageModel, system: &str) -> Result<Self, ModelError> {
        let mut tokens = model.begin();
        tokens.extend(model.turn(TurnRole::System, system));
        tokens.extend(model.open_first_turn());
        tokens.extend(model.encode(&Answer.open()));
        let mut head = model.context(Priority::Memory)?;
        head.extend(&tokens)?;
        let mut tail = model.close_turn(TurnRole::User);
        tail.extend(model.open_reply());
        Ok(Self { model, head, tail })
    }

    /// A context that holds the notes, ready for a question.
    ///
    /// # Errors
    /// As [`Context::extend`].
    pub fn read(&self, notes: &[MemoryLine<'_>]) -> Result<Box<dyn Context>, ModelError> {
        let mut context = self.head.fork()?;
        if !notes.is_empty() {
            let notes: String = notes.iter().map(MemoryLine::render).collect();
            context.extend(&self.model.encode(&notes))?;
        }
        Ok(context)
    }

    /// Tokens of the block's end and the question.
    pub fn question(&self, question: &str) -> Vec<u32> {
        self.model.encode(&Answer.close(question))
    }

    /// Tokens that close the question's turn and open the answer's.
    pub fn tail(&self) -> &[u32] {
        &self.tail
    }

    /// The answer by greedy decoding. The context then ends after the question.
    ///
    /// # Errors
    /// As [`Context::generate`], and [`ModelError::Cancelled`] if `cancel` was set.
    pub fn answer(
        &self,
        context: &mut dyn Context,
        question: &str,
        cancel: &Cancel,
    ) -> Result<String, ModelError> {
        let mut tokens = self.question(question);
        tokens.extend(&self.tail);
        context.extend(&tokens)?;
        let before = context.len();
        let sampling = Sampling::greedy(ANSWER_TOKENS_MAX);
        let reply = context.generate(&sampling, cancel, &mut |_| {})?;
        context.truncate(before);
        match reply.finish {
            Finish::Cancelled => Err(ModelError::Cancelled),
            Finish::EndOfTurn | Finish::Length => Ok(Answer.parse(&reply.text)),
        }
    }
}
