//! The guard of the generative writer: a fact whose names, numbers or dates do not occur in its
//! sources is refused.

use std::collections::HashSet;

use jiff::civil::DateTime;
use thiserror::Error;

use super::{dates, lexicon};

/// What a fact claims that its sources do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Ungrounded {
    /// A name that no source has.
    #[error("a name")]
    Name,
    /// A number that no source has.
    #[error("a number")]
    Number,
    /// A date that no source has.
    #[error("a date")]
    Date,
    /// A relative or a pet that no source has.
    #[error("a relative")]
    Relative,
    /// More than half of its words.
    #[error("words")]
    Words,
    /// No word that carries meaning.
    #[error("nothing said")]
    Empty,
}

/// Checks `fact` against the messages that it was made from, said at `at`. Speakers' names belong
/// to the sources ("Ana: I moved …"); "the user" is always known.
///
/// # Errors
///
/// If the fact has a name, number, date or relative that no source has, or mostly words that none has,
/// or no words that carry meaning.
pub fn grounded(fact: &str, sources: &[&str], at: DateTime) -> Result<(), Ungrounded> {
    let fact = lexicon::clip(fact, 4_000);
    let mut stems: HashSet<String> = HashSet::new();
    let mut numbers: HashSet<String> = HashSet::new();
    let mut spans = Vec::new();
    for source in sources {
        let source = lexicon::clip(source, 64 << 10);
        let mut before: Option<i64> = None;
        for word in lexicon::words(source) {
            stems.insert(lexicon::stem(word));
            for part in word.split(['-', '\'']) {
                stems.insert(lexicon::stem(part));
            }
            if let Some(n) = lexicon::number(word) {
                numbers.insert(n.to_string());
                if let Some(tens) = before.filter(|t| *t >= 20 && t % 10 == 0 && n < 10) {
                    numbers.insert((tens + n).to_string());
                }
                before = Some(n);
            } else {
                before = None;
            }
            for digits in digit_runs(word) {
                numbers.insert(digits);
            }
        }
        for sentence in super::sentences(source) {
            spans.extend(dates::resolve(sentence, at).spans);
            spans.extend(dates::find(sentence).into_iter().map(|f| f.span));
        }
    }
    spans.push(dates::DateSpan::day(at.date()));
    // Dates first; what they consist of is not checked again.
    let mut rest = String::with_capacity(fact.len());
    let mut done = 0;
    for found in dates::find(fact) {
        let known = spans.iter().any(|s| s.overlaps(found.span));
        if !known {
            return Err(Ungrounded::Date);
        }
        if found.start >= done {
            rest.push_str(&fact[done..found.start]);
            rest.push(' ');
            done = found.end;
        }
    }
    rest.push_str(&fact[done..]);
    let (mut content, mut missing) = (0, 0);
    let mut first_of_sentence = true;
    for word in lexicon::words(&rest) {
        let lower = word.to_lowercase().replace('\u{2019}', "'");
        let bare = lower.strip_suffix("'s").unwrap_or(&lower);
        for digits in digit_runs(word) {
            if !numbers.contains(&digits) {
                return Err(Ungrounded::Number);
            }
        }
        if let Some(n) = lexicon::number(word).filter(|_| !matches!(bare, "a" | "an" | "one"))
            && !numbers.contains(&n.to_string())
        {
            return Err(Ungrounded::Number);
        }
        let stop = lexicon::STOP.has(bare) || bare == "user";
        let known = stop
            || stems.contains(&lexicon::stem(bare))
            || bare.split('-').all(|p| stems.contains(&lexicon::stem(p)) || lexicon::STOP.has(p));
        let name = lexicon::starts_upper(word)
            && !(first_of_sentence && (stop || lexicon::is_finite(bare)));
        if !known && name && !first_of_sentence {
            return Err(Ungrounded::Name);
        }
        // The first word of a fact is its subject: nearly always a name.
        if !known && first_of_sentence && !stop {
            return Err(Ungrounded::Name);
        }
        if !known && (lexicon::KIN.has(bare) || lexicon::PETS.has(bare)) && !is_known(bare, &stems)
        {
            return Err(Ungrounded::Relative);
        }
        if !stop {
            content += 1;
            missing += usize::from(!known);
        }
        first_of_sentence = false;
    }
    if content == 0 {
        return Err(Ungrounded::Empty);
    }
    // Paraphrase is allowed; a fact of mostly new words is not.
    if missing * 2 > content {
        return Err(Ungrounded::Words);
    }
    Ok(())
}

/// Whether another word for the relative is in a source.
fn is_known(relative: &str, stems: &HashSet<String>) -> bool {
    const SAME: [&[&str]; 4] = [
        &["mother", "mum", "mom", "mommy"],
        &["father", "dad", "daddy"],
        &["child", "children", "kid", "kids", "son", "daughter", "baby", "toddler"],
        &["friend", "friends", "mate", "buddy"],
    ];
    let same = SAME.iter().find(|words| words.contains(&relative));
    same.is_some_and(|words| words.iter().any(|word| stems.contains(&lexicon::stem(word))))
}

/// "3pm" → "3", "555-1234" → "555", "1234", "1,000" → "1000".
fn digit_runs(word: &str) -> Vec<String> {
    word.replace(',', "")
        .split(|c: char| !c.is_ascii_digit())
        .filter(|d| !d.is_empty())
        .map(|d| d.trim_start_matches('0').to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::cases;
    use super::*;

    const AT: DateTime = jiff::civil::date(2026, 11, 21).at(10, 0, 0, 0);

    #[test]
    fn facts_stand_on_their_sources_and_inventions_are_refused() {
        assert_eq!(grounded("", &["Ana: I like tea"], AT), Err(Ungrounded::Empty));
        for (section, ok) in [("grounded", true), ("invented", false)] {
            for (fact, source) in cases(include_str!("tests/cases/grounded.txt"), section) {
                let got = grounded(&fact, &[&source[0]], AT);
                assert_eq!(got.is_ok(), ok, "{fact:?} from {source:?}: {got:?}");
            }
        }
    }
}
