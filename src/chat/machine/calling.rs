//! A turn's calls of tools: asked for, allowed or not, made, and gone on from.

use std::collections::BTreeSet;

use crate::chat::machine::phase::{Draft, Phase, Turn};
use crate::chat::machine::turn::BUSY;
use crate::chat::machine::{Effect, Level, Machine, Model, ReplyStep, Update, hint, notice};
use crate::chat::policy;
use crate::chat::quote::Cited;
use crate::chat::tools::{CALLS_MAX, Call, CallResult, Exchange, Permission, ToolUse};
use crate::texts::{self, key, text};

pub(super) const NO_TOOLS: &str = key!(
    "This model is offered no tools: it knows none, or in a form that is not known here. Qwen2.5 and \
     Qwen3 models can use them (/model)."
);
const ONLY_CALLS: &str = key!(
    "The model goes on asking for tools and does not answer. What they gave stands above; /retry asks it again."
);
/// The model reads it, too.
const NOT_ALLOWED: &str = key!("The person did not allow this call.");

/// The tools that the person has allowed for as long as this chat is open: server and name.
pub(super) type Permitted = BTreeSet<(String, String)>;

/// A call that the model has asked for.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    said: String,
    written: String,
    call: Call,
}

impl Machine {
    pub(super) fn set_tools(&mut self, on: bool) -> Vec<Effect> {
        if self.is_busy() {
            return vec![BUSY];
        }
        if !on {
            return self.end_tools();
        }
        if self.incognito {
            return vec![hint(text!("Incognito chats start no servers. /incognito ends it."))];
        }
        match &self.model {
            Model::Ready(profile) if !profile.knows_tools => {
                return vec![notice(Level::Warning, texts::lookup(NO_TOOLS))];
            }
            Model::Ready(_) => {}
            Model::Loading { .. } | Model::Absent => {
                return vec![hint(text!("There is no model yet that could use them."))];
            }
        }
        self.permitted.get_or_insert_default();
        vec![Effect::Tell(Update::ToolsOn(true))]
    }

    /// They are off again, and their servers end.
    pub(super) fn end_tools(&mut self) -> Vec<Effect> {
        match self.permitted.take() {
            Some(_) => vec![Effect::StopTools, Effect::Tell(Update::ToolsOn(false))],
            None => Vec::new(),
        }
    }

    /// Whether tools may help with this turn.
    pub(super) fn offers_tools(&self, turn: &Turn) -> bool {
        let Model::Ready(profile) = &self.model else { return false };
        self.permitted.is_some()
            && profile.knows_tools
            && turn.begun.is_none()
            && policy::may_need_tools(profile, turn.kind, &turn.question)
    }

    pub(super) fn asked(
        &mut self,
        mut turn: Turn,
        draft: Draft,
        (said, written): (String, String),
        call: Result<Call, String>,
    ) -> Vec<Effect> {
        // Small models ask once more for what they have.
        let is_known = |e: &Exchange| e.written == written && !e.result.is_error;
        let is_over = turn.tools == ToolUse::Over || turn.exchanges.len() >= CALLS_MAX;
        if is_over || turn.exchanges.iter().any(is_known) {
            let has_result = turn.exchanges.iter().any(|exchange| !exchange.result.is_error);
            if turn.tools != ToolUse::Over && has_result {
                turn.tools = ToolUse::Over;
                return self.after_call(turn, draft);
            }
            let only_calls = texts::lookup(ONLY_CALLS);
            if draft.text.trim().is_empty() {
                return self.dropped(&turn, vec![], notice(Level::Warning, only_calls));
            }
            let then = Some(only_calls.to_owned());
            return vec![self.finish(&turn, draft.text, false, then, Cited::default())];
        }
        match call {
            Ok(call) => {
                let tool = (call.server.clone(), call.tool.clone());
                let is_permitted = self.permitted.as_ref().is_some_and(|p| p.contains(&tool));
                let asked = Asked { said, written, call };
                if is_permitted {
                    return self.call_tool(turn, draft, asked);
                }
                let asks = Effect::Tell(Update::Asks(asked.call.clone()));
                vec![self.to(Phase::Asking { turn, draft, asked }), asks]
            }
            Err(why) => {
                let result = CallResult::error(why);
                turn.exchanges.push(Exchange { said, written, result });
                self.after_call(turn, draft)
            }
        }
    }

    pub(super) fn permit(&mut self, permission: Permission) -> Vec<Effect> {
        match std::mem::take(&mut self.phase) {
            Phase::Asking { turn, draft, asked } => match permission {
                Permission::No => self.called(turn, draft, asked, CallResult::error(NOT_ALLOWED)),
                Permission::Once => self.call_tool(turn, draft, asked),
                Permission::Chat => {
                    let tool = (asked.call.server.clone(), asked.call.tool.clone());
                    self.permitted.get_or_insert_default().insert(tool);
                    self.call_tool(turn, draft, asked)
                }
            },
            phase => {
                self.phase = phase;
                Vec::new()
            }
        }
    }

    fn call_tool(&mut self, turn: Turn, draft: Draft, asked: Asked) -> Vec<Effect> {
        let job = self.start(&turn, ReplyStep::Call(asked.call.clone()));
        vec![self.to(Phase::Calling { turn, draft, asked }), job]
    }

    pub(super) fn called(
        &mut self,
        mut turn: Turn,
        draft: Draft,
        asked: Asked,
        result: CallResult,
    ) -> Vec<Effect> {
        let Asked { said, written, call } = asked;
        turn.exchanges.push(Exchange { said, written, result: result.clone() });
        let mut effects = vec![Effect::Tell(Update::Called { call, result })];
        effects.extend(self.after_call(turn, draft));
        effects
    }

    /// The model reads what came of its call, and goes on.
    fn after_call(&mut self, mut turn: Turn, mut draft: Draft) -> Vec<Effect> {
        let has_result = turn.exchanges.iter().any(|exchange| !exchange.result.is_error);
        if turn.tools == ToolUse::Required && has_result {
            turn.tools = ToolUse::Offered;
        }
        let step = ReplyStep::Generate { with_memories: false, tools: turn.tools };
        let job = self.start(&turn, step);
        let mut effects = Vec::new();
        if !draft.text.trim().is_empty() {
            draft.text.push_str("\n\n");
            effects.push(Effect::Tell(Update::ReplyText("\n\n".into())));
        }
        effects.extend([self.to(Phase::Replying { turn, draft }), job]);
        effects
    }
}
