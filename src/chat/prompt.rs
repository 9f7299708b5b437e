//! A conversation as tokens: system turn, the window of messages, the person's last turn.
//!
//! It asks the model for tokens and turns only. Prompts with memories are built by `recall`.

use crate::chat::tools::Exchange;
use crate::chat::window;
use crate::interfaces::{LanguageModel, TurnRole};
use crate::memory::{Message, Role};

/// A prompt and what had to be left out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub tokens: Vec<u32>,
    pub n_dropped: usize,
    /// The last turn alone is too long: only its beginning is in it.
    pub is_cut: bool,
}

/// What tools add to a prompt.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tools<'a> {
    /// Those that are offered, each a line of JSON.
    pub listed: &'a [String],
    /// The calls of this turn so far.
    pub exchanges: &'a [Exchange],
}

/// Everything up to the assistant's turn, within `budget` tokens unless the system turn alone is longer.
pub fn build(
    model: &dyn LanguageModel,
    system: &str,
    history: &[Message],
    question: &str,
    tools: Tools<'_>,
    budget: usize,
) -> Prompt {
    let mut head = model.begin();
    head.extend(match tools.listed {
        [] => model.turn(TurnRole::System, system),
        listed => model.system_with_tools(system, listed),
    });
    let mut words = model.encode(question.trim());
    let (opened, opened_first) = (model.open_turn(TurnRole::User), model.open_first_turn());
    let mut closed = model.close_turn(TurnRole::User);
    closed.extend(calls(model, tools.exchanges, budget / 2));
    closed.extend(model.open_reply());
    let fixed = head.len() + opened.len() + closed.len();
    let room = budget.saturating_sub(fixed);
    let is_cut = words.len() > room;
    words.truncate(room);
    let turn = |message: &Message| match message.role {
        Role::User => model.turn(TurnRole::User, &message.content),
        Role::Assistant => model.turn(TurnRole::Assistant, &message.content),
    };
    let mut first = window::fit(history.iter().map(|m| turn(m).len()), room - words.len());
    // Where the system's text opens the user's turn, a reply can't come first.
    let is_reply = |m: &Message| m.role == Role::Assistant;
    if opened_first != opened {
        first += history[first..].iter().take_while(|m| is_reply(m)).count();
    }
    let mut tokens = head;
    let mut rest = history[first..].iter();
    match rest.next() {
        Some(message) if !is_reply(message) => tokens.extend(model.first_turn(&message.content)),
        Some(message) => tokens.extend(turn(message)),
        None => {}
    }
    tokens.extend(rest.flat_map(turn));
    tokens.extend(if first == history.len() { opened_first } else { opened });
    tokens.extend(words);
    tokens.extend(closed);
    Prompt { tokens, n_dropped: first, is_cut }
}

/// The turns of the newest calls that fit.
fn calls(model: &dyn LanguageModel, exchanges: &[Exchange], budget: usize) -> Vec<u32> {
    let turns = |e: &Exchange| model.call_turns(&e.said, &e.written, &e.result.text);
    let turns: Vec<Vec<u32>> = exchanges.iter().map(turns).collect();
    turns[window::fit(turns.iter().map(Vec::len), budget)..].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ScriptedModel, message};

    fn lines(n: i64, text: &str) -> Vec<Message> {
        let role = |i| if i % 2 == 0 { Role::User } else { Role::Assistant };
        (0..n).map(|i| message(i, role(i), text)).collect()
    }

    #[track_caller]
    fn check(
        system: &str,
        history: &[Message],
        question: &str,
        (n_dropped, n_tokens, is_cut): (usize, usize, bool),
    ) {
        let model = ScriptedModel::new(&[]);
        let prompt = build(&model, system, history, question, Tools::default(), 100);
        assert_eq!((prompt.n_dropped, prompt.tokens.len()), (n_dropped, n_tokens));
        assert_eq!(prompt.is_cut, is_cut);
        assert_eq!(prompt.tokens.last(), model.open_turn(TurnRole::Assistant).first());
    }

    #[test]
    fn where_the_system_opens_the_first_turn_no_reply_comes_first() {
        let model = ScriptedModel::new(&[]).joining_system();
        let prompt =
            build(&model, "sys", &lines(100, "0123456789"), "where?", Tools::default(), 100);
        // As below, but for the reply of message 93 and the opening of message 94.
        assert_eq!((prompt.n_dropped, prompt.tokens.len()), (94, 14 + 6 * 12 - 1));
        let open = model.open_turn(TurnRole::User);
        assert_eq!(prompt.tokens[5..7], [u32::from(b'0'), u32::from(b'1')]);
        assert_eq!(prompt.tokens.iter().filter(|token| open.contains(token)).count(), 3);
        let first = build(&model, "sys", &[], "where?", Tools::default(), 100).tokens;
        assert_eq!(first.len(), 13);
        assert_eq!(first[5..11], model.encode("where?"));
    }

    #[test]
    fn the_newest_whole_messages_stay() {
        // Each turn is 10 bytes and two specials. System 3+2, question 6+2, the answer's opening 1: 14;
        // 86 / 12 = 7 messages.
        check("sys", &lines(100, "0123456789"), "where?", (93, 14 + 7 * 12, false));
        // A question longer than the window is cut.
        check("sys", &lines(4, "hello"), &"x".repeat(500), (4, 100, true));
        // A window smaller than the system turn: that, and what frames the question, but not a word of it.
        check(&"s".repeat(150), &lines(2, "a"), "hi", (2, 152 + 3, true));
    }
}
