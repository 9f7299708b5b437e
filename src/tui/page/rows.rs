//! The rows of a tab: headings, facts, and below each fact what it took the place of.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use jiff::civil::Date;

use super::known::{Change, Known, Source};
use super::{Page, Tab};
use crate::extractive::Plan;
use crate::memory::{Moment, SemanticId};
use crate::store::AnyId;
use crate::texts::text;
use crate::tui::{dates, wrap};

/// A row of the page.
#[derive(Debug, Clone, PartialEq)]
pub enum Row {
    Heading(String),
    Fact(FactRow),
}

/// One fact on the page.
#[derive(Debug, Clone, PartialEq)]
pub struct FactRow {
    /// Its place among all that is known.
    pub known: usize,
    /// What it stands under.
    pub heading: String,
    /// It held before the one above it.
    pub before: bool,
    /// Over.
    pub past: bool,
}

/// The rows of the tab that is open, as far as they contain these words.
pub fn rows(page: &Page, words: &[String], today: Date) -> Vec<Row> {
    let all = &page.known.all;
    let mut before: HashMap<SemanticId, Vec<usize>> = HashMap::new();
    for (n, known) in all.iter().enumerate() {
        if let Some((by, _)) = known.superseded.filter(|_| !page.changes) {
            before.entry(by).or_default().push(n);
        }
    }
    let mut list = List { all, before, words, today, rows: Vec::new() };
    if page.changes {
        for (heading, change) in [
            (text!("New"), Change::New),
            (text!("Corrected by you"), Change::Corrected),
            (text!("No longer so"), Change::Superseded),
        ] {
            list.group(
                heading,
                (0..all.len()).filter(|&n| all[n].change == Some(change)).collect(),
            );
        }
        return list.rows;
    }
    let on_tab = |n: &usize| all[*n].superseded.is_none() && page.tab.holds(&all[*n]);
    let (pinned, mut rest): (Vec<usize>, Vec<usize>) =
        (0..all.len()).filter(on_tab).partition(|&n| all[n].pinned);
    list.group(text!("Pinned"), pinned);
    match page.tab {
        Tab::You => {
            rest.sort_by_key(|&n| (all[n].rank, n));
            list.group(if list.rows.is_empty() { "" } else { text!("Also") }, rest);
        }
        Tab::People => list.groups(&rest, |known| &known.people),
        Tab::Plans => list.plans(rest),
        Tab::Places => list.groups(&rest, |known| &known.places),
        // A tree of its own.
        Tab::Everything => {}
    }
    list.rows
}

struct List<'a> {
    all: &'a [Known],
    /// What each fact took the place of.
    before: HashMap<SemanticId, Vec<usize>>,
    words: &'a [String],
    today: Date,
    rows: Vec<Row>,
}

impl List<'_> {
    /// A heading with its facts, if any of them is looked for.
    fn group(&mut self, heading: &str, facts: Vec<usize>) {
        let facts: Vec<usize> = facts.into_iter().filter(|&n| self.is_wanted(n, heading)).collect();
        if facts.is_empty() {
            return;
        }
        if !heading.is_empty() {
            self.rows.push(Row::Heading(heading.to_owned()));
        }
        for known in facts {
            self.fact(known, heading, false);
        }
    }

    fn fact(&mut self, known: usize, heading: &str, before: bool) {
        let past = matches!(self.all[known].plan, Some(Plan::On(_, last)) if last < self.today);
        self.rows.push(Row::Fact(FactRow { known, heading: heading.to_owned(), before, past }));
        if let AnyId::Semantic(id) = self.all[known].id {
            for earlier in self.before.get(&id).cloned().unwrap_or_default() {
                self.fact(earlier, heading, true);
            }
        }
    }

    /// Whether it holds all words that are looked for, its heading and what it took the place of included.
    fn is_wanted(&self, known: usize, heading: &str) -> bool {
        let fact = &self.all[known];
        let texts = [heading, &fact.sentence, fact.from.name()];
        let earlier = || match fact.id {
            AnyId::Semantic(id) => self.before.get(&id).map_or(&[][..], Vec::as_slice),
            _ => &[],
        };
        self.words.iter().all(|word| texts.iter().any(|text| wrap::holds(text, word)))
            || earlier().iter().any(|&n| self.is_wanted(n, heading))
    }

    /// A heading for each name, the one with the most facts first.
    fn groups(&mut self, facts: &[usize], names: fn(&Known) -> &[String]) {
        let mut of: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let all = self.all;
        for &n in facts {
            for name in names(&all[n]) {
                of.entry(name).or_default().push(n);
            }
        }
        let mut groups: Vec<(&str, Vec<usize>)> = of.into_iter().collect();
        groups.sort_by_key(|(_, facts)| Reverse(facts.len()));
        for (name, mut facts) in groups {
            if facts.iter().any(|&n| !all[n].is_relation) {
                facts.retain(|&n| !all[n].is_relation);
            }
            self.group(name, facts);
        }
    }

    /// By the day that they speak of; what is over last, the newest first.
    fn plans(&mut self, plans: Vec<usize>) {
        let (mut coming, mut undated, mut past) = (Vec::new(), Vec::new(), Vec::new());
        for n in plans {
            match self.all[n].plan {
                Some(Plan::On(first, last)) if last >= self.today => coming.push((first, n)),
                Some(Plan::On(first, _)) => past.push((Reverse(first), n)),
                _ => undated.push(n),
            }
        }
        coming.sort_unstable();
        past.sort_unstable();
        let bare = |plans: Vec<(Date, usize)>| plans.into_iter().map(|(_, n)| n).collect();
        self.group(text!("Coming up"), bare(coming));
        self.group(text!("Without a day"), undated);
        self.group(text!("Past"), past.into_iter().map(|(_, n)| n).collect());
    }
}

impl Source {
    fn name(&self) -> &str {
        match self {
            Self::Chat(name) | Self::File(name) | Self::Agent(name) => name,
            Self::Correction | Self::Unsettled => "",
        }
    }
}

/// When it was told, and where: "told on 20 November, in ‘Dinner plans’".
pub fn source(known: &Known, now: Moment) -> String {
    let day = dates::on_day(known.told, now);
    let from = match &known.from {
        Source::Chat(title) if title.is_empty() => text!("told {day}", day),
        Source::Chat(title) => text!("told {day}, in ‘{title}’", day, title),
        Source::File(name) => text!("from {name}, {day}", name, day),
        Source::Agent(name) => text!("noted by {name} {day}", name, day),
        Source::Correction => text!("corrected by you, told {day}", day),
        Source::Unsettled => text!("told {day}, not noted yet", day),
    };
    match known.superseded {
        Some((_, at)) => {
            text!("until {date}, {source}", date = dates::day_of(at, now), source = from)
        }
        None => from,
    }
}
