//! The chat's system turn.

use jiff::civil::DateTime;
use minijinja::context;

use super::{Style, asset, date};

/// The text of the system turn of a chat. It is short: small models repeat what they are told of themselves,
/// of the person, or of how to answer. `today` is the date and time on the wall clock.
#[must_use]
pub fn chat_system(style: Style, today: DateTime) -> String {
    match style {
        Style::Trained => asset::render("chat", "system", context! {}),
        Style::Instructed => {
            let today = format!("{}, {}", today.strftime("%A"), date(today));
            asset::render("chat", "instructed", context! { today })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_day() {
        let today = jiff::civil::date(2026, 11, 21).at(10, 0, 0, 0);
        let text = chat_system(Style::Instructed, today);
        assert!(
            text.starts_with("Today is Saturday, 21 November 2026. You are Inglenook"),
            "{text}"
        );
        assert!(!chat_system(Style::Trained, today).contains("2026"));
    }
}
