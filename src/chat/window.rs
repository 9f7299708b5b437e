//! The sliding window: which messages the model reads word for word.
//!
//! Pure arithmetic over token counts. A message is in the window whole or not at all (invariant 7).

/// How much of the window a prompt takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub used_tokens: usize,
    pub limit_tokens: usize,
    /// How many of the chat's oldest messages no longer fit.
    pub n_dropped: usize,
}

/// The default window, in tokens; a model with a smaller context has its own limit.
pub const WINDOW_TOKENS: usize = 8_192;

/// The index of the first message of the longest run of newest messages that fits in `budget` tokens.
/// Counts no more messages than it has to.
pub fn fit(
    tokens: impl DoubleEndedIterator<Item = usize> + ExactSizeIterator,
    budget: usize,
) -> usize {
    let mut first = tokens.len();
    let mut sum = 0_usize;
    for n in tokens.rev() {
        sum = sum.saturating_add(n);
        if sum > budget {
            break;
        }
        first -= 1;
    }
    first
}

/// How a model's context is divided: tokens for the prompt, tokens for the reply.
pub fn budgets(
    context_tokens: usize,
    window_tokens: usize,
    reply_tokens_max: usize,
) -> (usize, usize) {
    let window = context_tokens.min(window_tokens);
    let reply = reply_tokens_max.min(window / 4).max(1);
    // Where the model's context is longer than the window, the reply does not eat into it.
    let prompt = window.min(context_tokens.saturating_sub(reply));
    (prompt, reply)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_contexts_leave_room_for_the_reply() {
        assert_eq!(budgets(32_768, WINDOW_TOKENS, 1_024), (8_192, 1_024));
        assert_eq!(budgets(8_192, WINDOW_TOKENS, 1_024), (7_168, 1_024));
        assert_eq!(budgets(512, WINDOW_TOKENS, 1_024), (384, 128));
        assert_eq!(budgets(2, WINDOW_TOKENS, 1_024), (1, 1));
        assert_eq!(fit([usize::MAX, 3].into_iter(), 10), 1);
    }

    proptest! {
        #[test]
        fn never_over_budget_and_never_less_than_possible(
            tokens in proptest::collection::vec(0usize..500, 0..60),
            budget in 0usize..5_000,
        ) {
            let first = fit(tokens.iter().copied(), budget);
            let sum = tokens[first..].iter().sum::<usize>();
            prop_assert!(sum <= budget);
            prop_assert!(first == 0 || sum + tokens[first - 1] > budget);
        }
    }
}
