//! The chat's system turn.

use jiff::civil::DateTime;
use minijinja::context;

use super::{asset::PROMPTS, day};

/// The text of the system turn of a chat. It is short: small models repeat what they are told of themselves,
/// of the person, or of how to answer. `today` is the date on the wall clock; `None` for a model that would
/// talk about it.
pub fn chat_system(today: Option<DateTime>) -> String {
    let today = today.map(day);
    PROMPTS.render("chat", "system", context! { today })
}

/// The system turn of a role.
pub fn role_system(role: &str, today: Option<DateTime>) -> String {
    let today = today.map(|today| format!("\nToday is {}.", day(today))).unwrap_or_default();
    format!("{role}{today}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_day() {
        let today = jiff::civil::date(2026, 11, 21).at(10, 0, 0, 0);
        let text = chat_system(Some(today));
        assert!(
            text.starts_with("Today is Saturday, 21 November 2026. You are Inglenook"),
            "{text}"
        );
        let text = chat_system(None);
        assert_eq!(text, "You are Inglenook, a helpful AI assistant.");
    }
}
