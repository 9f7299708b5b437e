//! The prompt around the memories: what fits into the token budget.
//!
//! `[begin][system][user: block, question][assistant`.

use super::{RecallConfig, RecallRequest};
use crate::interfaces::{LanguageModel, TurnRole};
use crate::prompts::Answer;

/// One token in this many of the window is kept free for the reply …
const REPLY_SHARE: usize = 8;
/// … but no more than this.
const REPLY_TOKENS_MAX: usize = 1_024;

/// The parts of the prompt that do not depend on the memories.
pub(super) struct Frame {
    /// Begin token, system turn, and the opening of the user's turn.
    pub head: Vec<u32>,
    /// The question alone, for a prompt without memories.
    pub bare_question: Vec<u32>,
    /// The block's end and the question.
    pub question: Vec<u32>,
    /// Closes the user's turn and opens the answer's.
    pub tail: Vec<u32>,
    /// Tokens of evidence that fit between, including the opening of the block.
    pub evidence_tokens: usize,
    /// The question was longer than the window and is cut at its end.
    pub question_cut: bool,
}

impl Frame {
    /// Shares out the window: first the question, then half of the rest for evidence (at most
    /// `evidence_tokens_max`). `has_evidence` says whether there will be any.
    pub(super) fn new(
        model: &dyn LanguageModel,
        request: &RecallRequest<'_>,
        has_evidence: bool,
        config: &RecallConfig,
    ) -> Self {
        let &RecallRequest { system, asked: question, .. } = request;
        let window = config.window_tokens.min(model.info().context_tokens);
        let room = window - REPLY_TOKENS_MAX.min(window / REPLY_SHARE);
        let (mut head, mut open) = (model.begin(), model.open_turn(TurnRole::User));
        if !system.is_empty() {
            head.extend(model.turn(TurnRole::System, system));
            open = model.open_first_turn();
        }
        let mut tail = model.close_turn(TurnRole::User);
        tail.extend(model.open_reply());
        let mut bare_question = model.encode(question.trim());
        let mut asked = model.encode(&Answer.close(question));
        if head.len() + open.len() + tail.len() >= room {
            // The question matters more than the system turn.
            (head, open) = (model.begin(), model.open_turn(TurnRole::User));
        }
        let fixed = head.len() + open.len() + tail.len();
        let left = room.saturating_sub(fixed);
        let question_cut = bare_question.len() > left;
        bare_question.truncate(left);
        let n_question = asked.len().max(bare_question.len());
        let evidence_tokens = if has_evidence && n_question < left {
            ((left - n_question) / 2).min(config.evidence_tokens_max)
        } else {
            0
        };
        asked.truncate(left);
        head.extend(open);
        Self { head, bare_question, question: asked, tail, evidence_tokens, question_cut }
    }
}
