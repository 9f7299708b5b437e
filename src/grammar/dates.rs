//! Days of the calendar, 1900 to 2099: a person's life, as far as a chat tells of it.

use super::automaton::{Automaton, END, StateId};
use super::build::Builder;

/// How a date is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateForm {
    /// `2026-11-22`
    Iso,
    /// `22 November 2026`, as the prompts write it.
    Written,
}

const MONTHS: [(&str, u8); 12] = [
    ("January", 31),
    ("February", 28),
    ("March", 31),
    ("April", 30),
    ("May", 31),
    ("June", 30),
    ("July", 31),
    ("August", 31),
    ("September", 30),
    ("October", 31),
    ("November", 30),
    ("December", 31),
];

/// Every fourth year here: 1900 alone is a century that is none.
fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && year != 1900
}

impl DateForm {
    pub(super) fn compile(self) -> Automaton {
        let mut builder = Builder::new();
        let start = self.build(&mut builder, END);
        builder.finish(start)
    }

    pub(super) fn build(self, builder: &mut Builder, next: StateId) -> StateId {
        match self {
            Self::Iso => iso(builder, next),
            Self::Written => written(builder, next),
        }
    }
}

/// The texts with what follows each.
fn choice(builder: &mut Builder, options: &[(String, StateId)]) -> StateId {
    let options: Vec<(&[u8], StateId)> =
        options.iter().map(|(text, next)| (text.as_bytes(), *next)).collect();
    builder.choice(&options)
}

fn iso(builder: &mut Builder, next: StateId) -> StateId {
    let days = [28, 29].map(|february| {
        let months = MONTHS.iter().zip(1..).flat_map(|(&(_, days), month)| {
            let days = if month == 2 { february } else { days };
            (1..=days).map(move |day| (format!("-{month:02}-{day:02}"), next))
        });
        choice(builder, &months.collect::<Vec<_>>())
    });
    let years = (1900..2100).map(|year| (year.to_string(), days[usize::from(is_leap(year))]));
    choice(builder, &years.collect::<Vec<_>>())
}

fn written(builder: &mut Builder, next: StateId) -> StateId {
    let all: Vec<(String, StateId)> = (1900..2100).map(|year| (year.to_string(), next)).collect();
    let leap: Vec<(String, StateId)> =
        (1900..2100).filter(|&year| is_leap(year)).map(|year| (year.to_string(), next)).collect();
    let (any_year, leap_year) = (choice(builder, &all), choice(builder, &leap));
    let mut days = Vec::new();
    for (month, n_days) in MONTHS {
        days.extend((1..=n_days).map(|day| (format!("{day} {month} "), any_year)));
    }
    days.push(("29 February ".into(), leap_year));
    choice(builder, &days)
}
