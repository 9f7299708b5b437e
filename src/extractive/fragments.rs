//! "Actually no, since 2018.": a correction without a subject, put into the statement that it corrects.

use jiff::civil::DateTime;

use super::attributes::main_verb;
use super::lexicon;
use super::lists::Words;
use super::words::{Sentence, Token, join, tokens};
use super::{Statement, dates};

static OPENINGS: Words = Words::new("correction openings");
static STRONG: Words = Words::new("strong correction openings");
static PREPOSITIONS: Words = Words::new("prepositions of relations");

/// More words than this are a sentence of their own.
const WORDS_MAX: usize = 7;

/// How many statements back the corrected one may be.
const N_BACK: usize = 3;

/// Whether a message may be such a correction, which is read together with what was said before.
pub(super) fn opens_correction(text: &str) -> bool {
    gives_a_value(text)
        || lexicon::words(text).take(3).any(|w| STRONG.has(w.to_lowercase().as_str()))
}

/// "Make that seven, …"
pub(super) fn gives_a_value(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    ["make that ", "make it "].iter().any(|opening| lower.starts_with(opening))
}

/// Whether a sentence is one if there is something before it that it may correct.
pub(super) fn may_correct(sentence: &str) -> bool {
    let telling = |t: &Token| t.upper() || lexicon::is_value(&t.lower);
    value(sentence, "", false).is_some_and(|value| tokens(&value).iter().any(telling))
}

/// The corrected statement, if the sentence is such a correction of one of those said before, and that one.
pub(super) fn corrected<'a>(
    sentence: &str,
    at: DateTime,
    before: &'a [Statement],
) -> Option<(String, &'a Statement)> {
    let sentence = last_clause(sentence);
    // "6:45, not 7" says what it takes the place of.
    let wrong = sentence.split_once(" not ").map(|(_, wrong)| {
        let wrong = wrong.split(',').next().unwrap_or(wrong);
        let wrong = wrong.trim_end_matches(['.', '!', ' ']).to_lowercase();
        wrong.strip_prefix("the ").map(str::to_owned).unwrap_or(wrong)
    });
    let reach = if wrong.is_some() { before.len() } else { N_BACK };
    before.iter().rev().take(reach).enumerate().find_map(|(n_back, statement)| {
        let words = tokens(&statement.text);
        if let Some(day) = wrong.as_deref().and_then(nth) {
            return with_day(sentence, day, &words).map(|text| (text, statement));
        }
        let place = wrong.as_ref().and_then(|wrong| words.iter().position(|t| t.is(wrong)));
        if n_back >= N_BACK && place.is_none() {
            return None;
        }
        let said = value(sentence, &statement.text, place.is_some() && says_what_is(sentence))?;
        // "the 13th of June"
        let of_said = tokens(&said);
        let day = of_said.iter().any(|t| lexicon::is_month_or_weekday(&t.lower))
            && !of_said[0].within(&PREPOSITIONS);
        let value = if day { format!("on {said}") } else { said.clone() };
        let value = dates::resolve(&value, at).text;
        // Of a date more than the weekday is wrong.
        if let Some(place) = place.filter(|_| dates::find(&value).is_empty()) {
            let mut words = words;
            words[place] = Token::new(said, words[place].space_before);
            return Some((join(&words), statement));
        }
        if tells_more(&value) {
            return None;
        }
        let text = with_value(&statement.text, value.trim())?;
        (!text.eq_ignore_ascii_case(&statement.text)).then_some((text, statement))
    })
}

/// "3rd" → 3
fn nth(word: &str) -> Option<u8> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let is_nth = ["st", "nd", "rd", "th"].contains(&&word[digits.len()..]);
    digits.parse().ok().filter(|n| is_nth && (1..=31).contains(n))
}

fn is_month(word: &str) -> bool {
    lexicon::is_month_or_weekday(word) && !word.ends_with("day")
}

/// "It's the 5th not the 3rd": the statement, if it has that day, with the other one.
fn with_day(sentence: &str, wrong: u8, words: &[Token]) -> Option<String> {
    let days = lexicon::words(sentence).map(|word| (word, nth(&word.to_lowercase())));
    let (said, right) =
        days.filter_map(|(word, day)| Some((word, day?))).find(|&(_, day)| day != wrong)?;
    let at = (0..words.len()).find(|&i| {
        nth(words.lower(i)) == Some(wrong)
            || words.lower(i).parse() == Ok(wrong) && is_month(words.lower(i + 1))
    })?;
    let mut words = words.to_vec();
    let is_date = is_month(words.lower(at + 1));
    let day = if is_date { right.to_string() } else { said.to_owned() };
    words[at] = Token::new(day, words[at].space_before);
    // "Thursday 3 December" is another weekday now.
    if at > 0 && words[at - 1].lower.ends_with("day") {
        words.remove(at - 1);
    }
    Some(join(&words))
}

/// Whether a date stands with something else: "the repair man comes on Friday" is about him, not about the race on 16 May.
fn tells_more(value: &str) -> bool {
    dates::find(value).first().is_some_and(|date| {
        let others = format!("{} {}", &value[..date.start], &value[date.end..]);
        let is_other = |t: &Token| {
            t.word
                && !lexicon::STOP.has(&t.lower)
                && !t.within(&PREPOSITIONS)
                && !lexicon::is_month_or_weekday(&t.lower)
        };
        tokens(&others).iter().any(is_other)
    })
}

/// "It's Friday, not Thursday".
fn says_what_is(clause: &str) -> bool {
    let clause = clause.trim_start().to_lowercase();
    ["it's ", "its ", "it is ", "that's "].iter().any(|opening| clause.starts_with(opening))
}

/// "The garage called, it's Friday not Thursday": what comes before tells how the person knows.
fn last_clause(sentence: &str) -> &str {
    let mut clauses = sentence.match_indices(", ").map(|(at, comma)| &sentence[at + comma.len()..]);
    clauses.find(|c| says_what_is(c) && c.contains(" not ")).unwrap_or(sentence)
}

/// What is left of the sentence without its opening and without what repeats the statement.
/// `is_strong`: it is known to correct the statement.
fn value(sentence: &str, statement: &str, is_strong: bool) -> Option<String> {
    let words = tokens(sentence);
    let known: Vec<String> = lexicon::words(statement).map(lexicon::stem).collect();
    let mut strong = is_strong || gives_a_value(sentence);
    let pronoun = |t: &Token| t.among(&["he", "she", "they", "it", "i", "we", "my", "the", "a"]);
    let start = words.iter().take_while(|t| {
        strong |= t.within(&STRONG);
        let preposition = t.within(&PREPOSITIONS) || t.among(&["since", "until", "from"]);
        !t.word
            || t.within(&OPENINGS)
            || pronoun(t)
            || lexicon::AUXILIARIES.has(&t.lower)
            || !preposition
                && known.contains(&lexicon::stem(&t.lower))
                && !t.lower.chars().any(|c| c.is_ascii_digit())
    });
    let start = start.count();
    let mut rest = words.get(start..).unwrap_or_default();
    // "…, not 2019", "… I mean"
    if let Some(end) = rest
        .iter()
        .position(|t| matches!(t.text.as_str(), "," | "." | "!" | ";" | "—") || t.is("not"))
    {
        rest = &rest[..end];
    }
    let n_words = rest.iter().filter(|t| t.word).count();
    let verb =
        rest.iter().any(|t| lexicon::helps(&t.lower) || lexicon::is_past(&t.lower) && !t.upper());
    (strong && !verb && (1..=WORDS_MAX).contains(&n_words)).then(|| join(rest).trim().to_owned())
}

/// The statement with its date, number or name replaced by one of the same kind.
fn with_value(statement: &str, value: &str) -> Option<String> {
    let words = tokens(value);
    let first = words.first()?;
    let lead = (first.within(&PREPOSITIONS) || first.among(&["since", "until", "from"]))
        .then_some(first.lower.as_str());
    let core = if lead.is_some() { join(&words[1..]) } else { join(&words) };
    let core = core.trim();
    let (new, old) = (dates::find(value), dates::find(statement));
    if let Some(new) = new.first() {
        let date = &value[new.start..new.end];
        if let Some(old) = old.last() {
            // "Thursday 3 December" is another weekday now.
            let before = &statement[..old.start];
            let day = before.trim_end().rsplit(' ').next().unwrap_or_default();
            let is_day = lexicon::is_month_or_weekday(&day.to_lowercase());
            let before = if is_day { before.trim_end().trim_end_matches(day) } else { before };
            return Some(format!("{before}{date}{}", &statement[old.end..]));
        }
        // "on Friday at ten", whose date nobody gave: its numbers are not days.
        let mut words = tokens(statement);
        let day =
            words.iter().rposition(|t| t.upper() && lexicon::is_month_or_weekday(&t.lower))?;
        words[day] = Token::new(date, words[day].space_before);
        return Some(join(&words));
    }
    let shape = |word: &str| -> Option<(bool, bool)> {
        let low = word.to_lowercase();
        let digits = low.chars().filter(char::is_ascii_digit).count();
        let year = digits == 4 && low.len() == 4;
        let time = low.contains(':') || low.ends_with("am") || low.ends_with("pm");
        (digits > 0 || lexicon::number(&low).is_some_and(|n| n > 1))
            .then_some((year, time && digits > 0))
    };
    let words_of = tokens(statement);
    let mut numbers = tokens(core).into_iter().filter(|t| t.word);
    if let Some((number, kind)) = numbers.find_map(|t| Some((t.clone(), shape(&t.lower)?))) {
        let after = |i: usize| lead.is_none_or(|lead| i > 0 && words_of[i - 1].is(lead));
        // "The 13th" is no age.
        let is_nth = nth(&number.lower).is_some();
        let fits = |i: usize| {
            shape(&words_of[i].lower) == Some(kind)
                && (!is_nth || nth(words_of.lower(i)).is_some() || is_month(words_of.lower(i + 1)))
        };
        let place =
            |strict: bool| (1..words_of.len()).rev().find(|&i| fits(i) && (!strict || after(i)));
        let at = place(true).or_else(|| place(false))?;
        let mut words = words_of;
        words[at] = Token::new(number.text, words[at].space_before);
        return Some(join(&words));
    }
    // "No, in Malmö", "No, Anna": a name for a name.
    let is_name = |t: &Token| t.word && t.upper() && !lexicon::STOP.has(&t.lower);
    if !tokens(core).iter().all(is_name) {
        return None;
    }
    let verb = main_verb(&words_of)?;
    let at = match lead {
        Some(lead) => (verb..words_of.len()).find(|&i| words_of[i].is(lead))? + 1,
        None => (verb + 1..words_of.len()).rev().find(|&i| is_name(&words_of[i]))?,
    };
    let mut begin = at;
    while lead.is_none() && begin > verb + 1 && is_name(&words_of[begin - 1]) {
        begin -= 1;
    }
    let n_old = words_of[begin..].iter().take_while(|t| is_name(t)).count();
    let mut words = words_of;
    (n_old > 0).then(|| {
        words.splice(begin..begin + n_old, [Token::new(core, true)]);
        join(&words)
    })
}

#[cfg(test)]
mod tests {
    use super::super::parse_statement;
    use super::super::tests::cases;
    use super::*;

    #[test]
    fn a_correction_takes_its_subject_from_what_it_corrects() {
        let at = jiff::civil::date(2026, 11, 22).at(10, 0, 0, 0);
        for (before, case) in cases(include_str!("tests/cases/changes.txt"), "corrections") {
            let expected = case.get(1).map_or("", String::as_str);
            let before_it = [parse_statement(&before)];
            let got = corrected(&case[0], at, &before_it).map(|(text, _)| text);
            assert_eq!(got.unwrap_or_default(), expected, "{before:?} + {:?}", case[0]);
        }
    }

    #[test]
    fn a_correction_is_of_what_it_is_about() {
        let at = jiff::civil::date(2026, 11, 28).at(10, 0, 0, 0);
        let before = [
            "The washing machine broke again, the repair man can come on Thursday 3 December 2026 between two and four",
            "Tomas started a course",
            "Tomas is from Porto",
            "The user has signed up for the half marathon in Gothenburg on 16 May 2027",
        ];
        let before = before.map(parse_statement);
        let sentence = "actually the repair man comes on friday, not thursday";
        let (got, of) = corrected(sentence, at, &before).unwrap();
        assert_eq!(of, &before[0]);
        assert!(
            got.starts_with("The washing machine") && got.contains("on 4 December 2026"),
            "{got}"
        );
        assert_eq!(corrected(sentence, at, &before[1..]), None);
    }
}
