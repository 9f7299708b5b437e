//! JSON documents of any size: one element at a time, so that a hostile one takes little more memory than its text.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::de::IgnoredAny;
use serde_json::{Deserializer, Error, Value};

use super::{ImportError, ImportFile};

/// Bytes of an element.
const ELEMENT_MAX: usize = 64 << 20;

/// Values in an element: each takes some 70 bytes of memory, however short it is.
const VALUES_MAX: usize = 4_000_000;

const ELEMENTS_MAX: usize = 1_000_000;

/// Hands over the elements of a document that is a list, or else the document itself.
pub(super) fn elements(
    file: &ImportFile<'_>,
    mut each: impl FnMut(Value) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let text = file.text.trim_start();
    let Some(list) = text.strip_prefix('[') else {
        let (document, after) = element(file, text, 1)?;
        if !after.trim().is_empty() {
            return Err(damaged(file, after, (1, 1), "more follows where the document should end"));
        }
        return each(document);
    };
    let mut rest = list.trim_start();
    let mut goes_on = !rest.starts_with(']');
    let mut n = 0;
    while goes_on {
        n += 1;
        if n > ELEMENTS_MAX {
            return Err(refused(file, n, "there are more than 1,000,000 in the list"));
        }
        let (value, after) = element(file, rest, n)?;
        each(value)?;
        let after = after.trim_start();
        let next = after.strip_prefix(',');
        goes_on = next.is_some();
        rest = next.unwrap_or(after);
    }
    match rest.strip_prefix(']') {
        Some(after) if after.trim().is_empty() => Ok(()),
        _ => Err(damaged(file, rest, (1, 1), "the list is cut off or damaged here")),
    }
}

/// The element at the beginning of `rest`, the `n`th, and what follows it.
fn element<'a>(
    file: &ImportFile<'a>,
    rest: &'a str,
    n: usize,
) -> Result<(Value, &'a str), ImportError> {
    let syntax = |e: Error| {
        let text = e.to_string();
        let reason = text.split(" at line ").next().unwrap_or(&text);
        damaged(file, rest, (e.line(), e.column()), reason)
    };
    let head = &rest[..rest.floor_char_boundary(ELEMENT_MAX)];
    // Where it ends, before any of it is built.
    let mut values = Deserializer::from_str(head).into_iter::<IgnoredAny>();
    match values.next().unwrap_or_else(|| serde_json::from_str(head)) {
        Ok(_) => {}
        Err(e) if e.is_eof() && head.len() < rest.len() => {
            return Err(refused(file, n, "it is larger than 64 MB"));
        }
        Err(e) => return Err(syntax(e)),
    }
    let (element, after) = rest.split_at(values.byte_offset());
    // Those in strings are counted too: no conversation has a tenth as many.
    if element.bytes().filter(|b| matches!(b, b',' | b'[' | b'{')).count() > VALUES_MAX {
        return Err(refused(file, n, "it holds more than 4,000,000 values"));
    }
    Ok((value(element).map_err(syntax)?, after))
}

/// An error at a line and column of `rest`, which is the end of the file or a part of it.
fn damaged(
    file: &ImportFile<'_>,
    rest: &str,
    (line, column): (usize, usize),
    reason: &str,
) -> ImportError {
    let before = &file.text[..file.text.len() - rest.len()];
    let last = before.rsplit('\n').next().unwrap_or_default();
    let column = if line == 1 { last.len() + column } else { column };
    ImportError::Syntax {
        path: file.path.to_owned(),
        place: format!("line {}", before.matches('\n').count() + line),
        reason: format!("{reason} (column {column})"),
    }
}

fn refused(file: &ImportFile<'_>, n: usize, reason: &str) -> ImportError {
    ImportError::Syntax {
        path: file.path.to_owned(),
        place: format!("element {n}"),
        reason: reason.to_owned(),
    }
}

/// A value, even if a text in it was cut inside a character: JavaScript and Python write the half that is left as an
/// escape which JSON refuses.
pub(super) fn value(text: &str) -> Result<Value, Error> {
    static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
        let pair = r"\\u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2}";
        let half = r"\\u[dD][89a-fA-F][[:xdigit:]]{2}";
        Regex::new(&format!(r"{pair}|({half})|\\.")).expect("a constant")
    });
    let whole = |escape: &Captures<'_>| match escape.get(1) {
        Some(_) => r"\ufffd".to_owned(),
        None => escape[0].to_owned(),
    };
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&ESCAPE.replace_all(text, whole)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Vec<Value>, String> {
        let mut all = Vec::new();
        let file = ImportFile { text, path: "f", conversation: None };
        let read = elements(&file, |element| {
            all.push(element);
            Ok(())
        });
        read.map(|()| all).map_err(|e| e.to_string())
    }

    #[test]
    fn elements_are_read_one_by_one() {
        for (text, expected) in [
            ("[]", vec![]),
            (" [ ] \n", vec![]),
            (
                "[1,\n {\"a\": [2, \"]\"]} , null]",
                vec![json!(1), json!({"a": [2, "]"]}), json!(null)],
            ),
            ("{\"a\": [1, 2]}\n", vec![json!({"a": [1, 2]})]),
        ] {
            assert_eq!(read(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn damage_is_named_with_its_place() {
        for (text, expected) in [
            ("[", "line 1: EOF while parsing a value (column 1)"),
            ("[1,", "line 1: EOF while parsing a value (column 3)"),
            ("[1,]", "line 1: expected value (column 4)"),
            ("[1\n", "line 2: the list is cut off or damaged here (column 1)"),
            ("[1] 2", "line 1: the list is cut off or damaged here (column 3)"),
            ("[1,\n 2, {\"a\":\n x}]", "line 3: expected value (column 2)"),
            ("[1,\n 2, x]", "line 2: expected value (column 5)"),
            ("{} {}", "line 1: more follows where the document should end (column 3)"),
        ] {
            assert_eq!(read(text).unwrap_err(), format!("f, {expected}"), "{text}");
        }
    }

    #[test]
    fn what_would_take_too_much_memory_is_refused() {
        let large = format!("[1, \"{}\"]", "a".repeat(ELEMENT_MAX));
        assert_eq!(read(&large).unwrap_err(), "f, element 2: it is larger than 64 MB");
        let many = format!("[[{}0]]", "0,".repeat(VALUES_MAX));
        assert_eq!(read(&many).unwrap_err(), "f, element 1: it holds more than 4,000,000 values");
        let n = std::cell::Cell::new(0);
        let many = format!("[{}0]", "0,".repeat(ELEMENTS_MAX));
        let file = ImportFile { text: &many, path: "f", conversation: None };
        let read = elements(&file, |_| {
            n.set(n.get() + 1);
            Ok(())
        });
        assert!(read.unwrap_err().to_string().contains("more than 1,000,000"));
        assert_eq!(n.get(), ELEMENTS_MAX);
    }

    #[test]
    fn half_of_a_character_does_not_spoil_the_rest() {
        for (text, expected) in [
            (r#""dog \ud83d\udc36""#, "dog \u{1f436}"),
            (r#""dog \ud83d""#, "dog \u{fffd}"),
            (
                r#""\uD83D\uD83D\uDC36 \udc36 \n \ud83d\u0041""#,
                "\u{fffd}\u{1f436} \u{fffd} \n \u{fffd}A",
            ),
            // A backslash and letters, not an escape.
            (r#""\\ud83d \udc36""#, "\\ud83d \u{fffd}"),
        ] {
            assert_eq!(value(text).unwrap(), expected, "{text}");
        }
        assert!(value(r#""\ud83""#).is_err());
    }
}
