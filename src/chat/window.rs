//! The sliding window: which messages the model reads word for word.
//!
//! Pure arithmetic over token counts. A message is in the window whole or not at all (invariant 7).

/// The last 8,192 tokens, or the model's limit (DESIGN §7).
pub const WINDOW_TOKENS: usize = 8_192;

/// The messages that fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    /// The index of the first message in the window.
    pub first: usize,
    /// Tokens of all of them.
    pub tokens: usize,
}

/// The longest run of newest messages that fits in `budget` tokens.
pub fn fit(tokens: &[usize], budget: usize) -> Fit {
    let mut first = tokens.len();
    let mut sum = 0_usize;
    while first > 0 {
        let with = sum.saturating_add(tokens[first - 1]);
        if with > budget {
            break;
        }
        sum = with;
        first -= 1;
    }
    Fit { first, tokens: sum }
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

    #[track_caller]
    fn check(tokens: &[usize], budget: usize, first: usize, sum: usize) {
        assert_eq!(fit(tokens, budget), Fit { first, tokens: sum });
    }

    #[test]
    fn cuts_at_whole_messages() {
        check(&[], 10, 0, 0);
        check(&[5, 5], 10, 0, 10);
        check(&[5, 5, 5], 10, 1, 10);
        check(&[5, 11], 10, 2, 0);
        // A short old message behind a long one is out too: the window has no holes.
        check(&[1, 20, 3], 10, 2, 3);
        check(&[usize::MAX, 3], 10, 1, 3);
    }

    #[test]
    fn small_contexts_leave_room_for_the_reply() {
        assert_eq!(budgets(32_768, WINDOW_TOKENS, 1_024), (8_192, 1_024));
        assert_eq!(budgets(8_192, WINDOW_TOKENS, 1_024), (7_168, 1_024));
        assert_eq!(budgets(512, WINDOW_TOKENS, 1_024), (384, 128));
        assert_eq!(budgets(2, WINDOW_TOKENS, 1_024), (1, 1));
    }

    proptest! {
        #[test]
        fn never_over_budget_and_never_less_than_possible(
            tokens in proptest::collection::vec(0usize..500, 0..60),
            budget in 0usize..5_000,
        ) {
            let Fit { first, tokens: sum } = fit(&tokens, budget);
            prop_assert!(sum <= budget);
            prop_assert_eq!(sum, tokens[first..].iter().sum::<usize>());
            prop_assert!(first == 0 || sum + tokens[first - 1] > budget);
        }
    }
}
