//! The constraint against a regular expression, which shares nothing with it.

#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;

/// A reply that goes where the bytes of `will` lead and ends on the shortest way; on its way every position can
/// be completed, within the number of bytes that was told.
fn reply(constraint: &Constraint, will: &[u8]) -> Vec<u8> {
    let min_completion = MinCompletion::in_bytes(constraint);
    let mut position = constraint.start();
    let mut bytes = Vec::new();
    for &byte in will {
        let steps = (0..=255).filter_map(|byte| Some((byte, constraint.step(position, byte)?)));
        let allowed: Vec<(u8, Position)> = steps.collect();
        assert_eq!(allowed.is_empty(), !constraint.may_continue(position));
        if allowed.is_empty() {
            break;
        }
        let wanted = allowed.iter().find(|(allowed, _)| *allowed == byte);
        let (byte, after) = *wanted.unwrap_or(&allowed[usize::from(byte) % allowed.len()]);
        bytes.push(byte);
        position = after;
        let needed = min_completion.tokens(constraint, position).expect("no dead end");
        let end = constraint.completion(position);
        assert!(end.len() <= needed as usize, "{} bytes instead of {needed}", end.len());
        assert!(constraint.accepts(constraint.walk(position, &end).expect("it goes on so")));
    }
    bytes.extend(constraint.completion(position));
    bytes
}

fn accepts(constraint: &Constraint, bytes: &[u8]) -> bool {
    constraint.walk(constraint.start(), bytes).is_some_and(|end| constraint.accepts(end))
}

/// One byte put in, taken out or changed.
fn changed(bytes: &[u8], at: usize, by: u8) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let at = at % (bytes.len() + 1);
    match by % 3 {
        0 => out.insert(at, b"\"\\,:{}[]- 0aeE.\n\xc3\xa9"[usize::from(by) % 18]),
        1 if at < out.len() => drop(out.remove(at)),
        _ if at < out.len() => out[at] = by,
        _ => {}
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn lines_are_what_the_expression_says(
        min in 1_u16..4, more in 0_u16..3, chars_max in 1_u16..6, prefix in "(|- |\\*)",
        will in prop::collection::vec(any::<u8>(), 0..60),
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 12),
    ) {
        let lines = Lines { min, max: min + more, prefix, chars_max };
        let constraint = Constraint::lines(&lines).unwrap();
        let indent = if lines.prefix.ends_with(' ') { "" } else { " ?" };
        let line = format!(
            r"{}{indent}[^\x00-\x20\x7f][^\x00-\x1f\x7f]{{0,{}}}",
            regex::escape(&lines.prefix), chars_max - 1,
        );
        let pattern = format!(r"^{line}(?:\n{line}){{{},{}}}$", min - 1, lines.max - 1);
        let reference = regex::bytes::Regex::new(&pattern).unwrap();
        let said = reply(&constraint, &will);
        prop_assert!(reference.is_match(&said), "{}", String::from_utf8_lossy(&said));
        prop_assert!(str::from_utf8(&said).is_ok());
        for (at, by) in changes {
            let other = changed(&said, at, by);
            prop_assert_eq!(accepts(&constraint, &other), reference.is_match(&other), "{:?}", other);
        }
    }
}

#[test]
fn impossible_lists_are_refused() {
    let lines = Lines { min: 1, max: 2, prefix: "- ".into(), chars_max: 9 };
    assert!(Constraint::lines(&lines).is_ok());
    for impossible in [
        Lines { min: 0, ..lines.clone() },
        Lines { min: 3, ..lines.clone() },
        Lines { chars_max: 0, ..lines.clone() },
        Lines { prefix: "-\n".into(), ..lines.clone() },
    ] {
        assert!(Constraint::lines(&impossible).is_err(), "{impossible:?}");
    }
}

#[test]
fn longer_tokens_shorten_a_prefix() {
    let lines = Lines { min: 2, max: 2, prefix: "Name: ".into(), chars_max: 9 };
    let constraint = Constraint::lines(&lines).unwrap();
    let bytes = MinCompletion::in_bytes(&constraint);
    assert_eq!(bytes.tokens(&constraint, constraint.start()), Some(15)); // "Name: !" twice and a line feed
    let needed = |tokens: &[&str]| {
        let is_token = |bytes: &[u8]| tokens.iter().any(|token| token.as_bytes() == bytes);
        MinCompletion::new(&constraint, &is_token).tokens(&constraint, constraint.start())
    };
    assert_eq!(needed(&["Name", ": ", "a", "\n"]), Some(7));
    assert_eq!(needed(&["Name", "Na", "m", "e", ": ", ":", " ", "a", "\n"]), Some(7));
    assert_eq!(needed(&["Name", ":", "a", "\n"]), None, "nothing spells the prefix");
    assert_eq!(needed(&["Name", ": ", "a"]), None, "nothing separates lines");
    assert_eq!(needed(&["Name", ": ", "\n"]), None, "nothing spells a line");
}
