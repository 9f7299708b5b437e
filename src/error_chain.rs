//! An error together with what caused it, as text.

use std::error::Error;

/// The error's message and those of its causes, outermost first. A message that the one before it
/// already contains is left out: wrappers often repeat what they wrap.
pub fn error_messages(error: &dyn Error) -> Vec<String> {
    let mut messages = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if messages.last().is_none_or(|last| !last.contains(&message)) {
            messages.push(message);
        }
        cause = error.source();
    }
    messages
}

/// The error and its causes on one line: `cannot read x: permission denied`.
pub fn error_chain(error: &dyn Error) -> String {
    error_messages(error).join(": ")
}

#[cfg(test)]
mod tests {
    use thiserror::Error;

    use super::*;

    #[derive(Debug, Error)]
    #[error("{message}")]
    struct Layer {
        message: &'static str,
        source: Option<Box<Layer>>,
    }

    fn chain(messages: &[&'static str]) -> String {
        let nested = messages
            .iter()
            .rev()
            .fold(None, |source, &message| Some(Box::new(Layer { message, source })));
        nested.map_or_else(String::new, |error| error_chain(&*error))
    }

    #[test]
    fn causes_follow_the_error_in_order() {
        assert_eq!(chain(&["cannot load the model"]), "cannot load the model");
        assert_eq!(
            chain(&["cannot load the model", "cannot read x", "permission denied"]),
            "cannot load the model: cannot read x: permission denied"
        );
    }

    #[test]
    fn a_cause_that_its_wrapper_repeats_is_left_out() {
        assert_eq!(
            chain(&["cannot read x: not found", "not found", "os error 2"]),
            "cannot read x: not found: os error 2"
        );
    }
}
