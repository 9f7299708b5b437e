//! Full text: FTS5 with BM25, over the words of any text.

use std::collections::HashSet;

use super::error::Result;
use super::records::Level;
use super::transaction::{self, Reader};
use crate::memory::lexical;

/// At most this many distinct words of a query are looked up: a pasted page would otherwise match
/// everything, slowly.
const TERMS_MAX: usize = 128;

/// In a level of up to so many units every word of a query counts …
const UNITS_MAX: i64 = 4_096;

/// … and in a larger one only the rarest, as long as their rows are no more than this in all.
const ROWS_MAX: usize = 1_024;

/// The words of any text, each once, in quotes: whatever the text holds, none of it is FTS5 syntax.
pub(super) fn quoted_words(query: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    query
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .filter(|word| seen.insert(word.clone()))
        .take(TERMS_MAX)
        // `to_lowercase` can bring in combining marks, but never a quote.
        .map(|word| format!("\"{word}\""))
        .collect()
}

/// What memory knows of the names in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnownName {
    /// Nobody and nothing.
    None,
    /// Somebody or something.
    Name,
    /// Somebody who is or does something: "Lena plays the cello".
    Person,
}

/// Whether `name` (in lower case) is never part of a longer one in `text`: who knows a James need not know James Bond.
fn stands_alone(text: &str, name: &str) -> bool {
    let is_name = |word: &str| word.starts_with(char::is_uppercase) && word != "I";
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.iter().enumerate().filter(|(_, word)| bare(word) == name).all(|(i, _)| {
        let before = i.checked_sub(1).filter(|&i| i > 0).map(|i| words[i]);
        !before.is_some_and(is_name) && !words.get(i + 1).is_some_and(|word| is_name(word))
    })
}

/// Whether a fact says who `name` (in lower case) is or what it does: "Lena plays the cello", "Ana's manager is
/// Priya". Of a place a fact says neither, only that somebody lives there or went there.
fn acts(fact: &str, name: &str) -> bool {
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let words: Vec<&str> = fact.split_whitespace().collect();
    // "Ana's cousin Pawel", but not "Ana's hometown Porto".
    let is_theirs = words.windows(3).any(|three| {
        let place = ["hometown", "city", "town", "village", "country", "street", "company"];
        (three[0].ends_with("'s") || matches!(three[0], "their" | "her" | "his"))
            && three[1].chars().all(char::is_lowercase)
            && !place.contains(&three[1])
            && bare(three[2]) == name
    });
    is_theirs
        || words.windows(2).any(|pair| {
            let (first, second) = (pair[0], pair[1]);
            let does = second.len() > 3
                && second.ends_with('s')
                && second.chars().all(char::is_lowercase)
                && !matches!(second, "always" | "this");
            first.to_lowercase() == name && (does || matches!(second, "is" | "was" | "has"))
                || bare(second) == name && matches!(first, "is" | "named" | "called")
        })
}

impl Reader<'_> {
    /// The most that is known of a name in `text`: of a word that occurs in facts, or in what was just
    /// `said`, with a capital and never without.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn known_name_in(&self, text: &str, said: &[String]) -> Result<KnownName> {
        const WORDS_MAX: usize = 32;
        let mut seen = HashSet::new();
        let mut known = KnownName::None;
        for word in lexical::content_words(text).into_iter().take(WORDS_MAX) {
            if word.chars().count() < 3 || !seen.insert(word.clone()) {
                continue;
            }
            // "pawels wife"
            let bare = word.strip_suffix('s').filter(|bare| bare.chars().count() > 3);
            for word in [Some(word.as_str()), bare].into_iter().flatten() {
                known = known.max(self.known_name(text, word, said)?);
            }
        }
        Ok(known)
    }

    /// What is known of one word, in lower case.
    fn known_name(&self, text: &str, word: &str, said: &[String]) -> Result<KnownName> {
        const N_UNITS: i64 = 8;
        // Not in messages: the question is one of them.
        let mut found: Vec<String> = self.all(
            "SELECT content FROM semantic JOIN (SELECT rowid AS found FROM semantic_text
             WHERE semantic_text MATCH ?1 LIMIT ?2) ON id = found",
            rusqlite::params![format!("\"{word}\""), N_UNITS],
            |row| transaction::text(row, 0),
        )?;
        found.extend(said.iter().filter(|text| text.to_lowercase().contains(word)).cloned());
        let mut written = found
            .iter()
            .flat_map(|text| text.split(|c: char| !c.is_alphanumeric()))
            .filter(|written| written.to_lowercase() == word)
            .peekable();
        let is_name = written.peek().is_some()
            && written.all(|written| written.starts_with(char::is_uppercase));
        Ok(match is_name {
            false => KnownName::None,
            true if stands_alone(text, word) && found.iter().any(|fact| acts(fact, word)) => {
                KnownName::Person
            }
            true => KnownName::Name,
        })
    }

    /// The `k` best by BM25: `(raw id, score)`, best first, scores > 0. `query` is any text: it is tokenised
    /// and quoted, never parsed as FTS5 syntax. Superseded facts are found too. In a large memory,
    /// words that very many rows have are left out, as long as there are others.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn full_text(&self, level: Level, query: &str, k: usize) -> Result<Vec<(i64, f32)>> {
        let expression = self.telling(level, quoted_words(query))?.join(" OR ");
        if expression.is_empty() {
            return Ok(Vec::new());
        }
        let name = level.name();
        let sql = format!(
            "SELECT rowid, -bm25({name}_text) AS score FROM {name}_text
             WHERE {name}_text MATCH ?1 ORDER BY score DESC, rowid LIMIT ?2"
        );
        let k = i64::try_from(k).unwrap_or(i64::MAX);
        self.all(&sql, rusqlite::params![expression, k], |row| {
            // A word that every row has weighs next to nothing, which an f32 could round to 0.
            Ok((row.get(0)?, (row.get::<_, f64>(1)? as f32).max(f32::MIN_POSITIVE)))
        })
    }

    /// The words that the fewest rows have, at least one: BM25 is worked out for every row that has
    /// one of the words, and most of that time goes into the words that say least.
    fn telling(&self, level: Level, words: Vec<String>) -> Result<Vec<String>> {
        let name = level.name();
        // By their ids, of which the first is another one after each rebuilding.
        let span = format!("SELECT (SELECT max(id) FROM {name}) - (SELECT min(id) FROM {name})");
        let span = self.optional(&span, [], |row| row.get(0))?;
        if span.flatten().is_none_or(|span: i64| span < UNITS_MAX) {
            return Ok(words);
        }
        // Without BM25 a row is only stepped over, and the limit ends that as soon as enough is known.
        let sql = format!(
            "SELECT count(*) FROM
             (SELECT 1 FROM {name}_text WHERE {name}_text MATCH ?1 LIMIT {ROWS_MAX} + 1)"
        );
        let mut counted = Vec::with_capacity(words.len());
        for word in words {
            let n = self.optional(&sql, [&word], |row| row.get::<_, i64>(0))?.unwrap_or(0);
            counted.push((usize::try_from(n).unwrap_or(0), word));
        }
        let mut order: Vec<usize> = (0..counted.len()).collect();
        order.sort_by_key(|&i| counted[i].0);
        let (mut n_rows, mut kept) = (0, vec![false; counted.len()]);
        for i in order {
            n_rows += counted[i].0;
            if n_rows > ROWS_MAX && kept.contains(&true) {
                break;
            }
            kept[i] = counted[i].0 > 0;
        }
        Ok(counted.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|((_, w), _)| w).collect())
    }
}
