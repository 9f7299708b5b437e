//! The chat's system turn.

use jiff::civil::DateTime;
use minijinja::context;

use super::{Style, asset::PROMPTS, date};

/// The text of the system turn of a chat. It is short: small models repeat what they are told of themselves,
/// of the person, or of how to answer. `today` is the date on the wall clock; `None` for a model that would
/// talk about it.
pub fn chat_system(style: Style, today: Option<DateTime>) -> String {
    match style {
        Style::Trained => PROMPTS.render("chat", "system", context! {}),
        Style::Instructed => {
            let today = today.map(|at| format!("{}, {}", at.strftime("%A"), date(at)));
            PROMPTS.render("chat", "instructed", context! { today })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_day() {
        let today = jiff::civil::date(2026, 11, 21).at(10, 0, 0, 0);
        let text = chat_system(Style::Instructed, Some(today));
        assert!(
            text.starts_with("Today is Saturday, 21 November 2026. You are Inglenook"),
            "{text}"
        );
        assert!(!chat_system(Style::Trained, Some(today)).contains("2026"));
        let text = chat_system(Style::Instructed, None);
        assert_eq!(text, "You are Inglenook, a helpful AI assistant.");
    }
}
