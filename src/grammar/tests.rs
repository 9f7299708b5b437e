//! The constraint against a regular expression, which shares nothing with it.

use proptest::prelude::*;

use super::*;

/// For a vocabulary of single bytes.
fn in_bytes(constraint: &Constraint) -> MinCompletion {
    MinCompletion::new(constraint, &|bytes| bytes.len() == 1)
}

/// A reply that goes where the bytes of `will` lead and then ends by the shortest way; no position on it is a dead
/// end, and from each some byte leads closer to the end, as the bound says.
fn reply(constraint: &Constraint, will: &[u8]) -> Vec<u8> {
    let min_completion = in_bytes(constraint);
    let mut position = constraint.start();
    let (mut bytes, mut will) = (Vec::new(), will.iter());
    loop {
        let steps = (0..=255).filter_map(|byte| Some((byte, constraint.step(position, byte)?)));
        let allowed: Vec<(u8, Position)> = steps.collect();
        assert_eq!(allowed.is_empty(), !constraint.may_continue(position));
        let needed = |position| min_completion.tokens(position).expect("no dead end");
        let nearest = allowed.iter().min_by_key(|&&(_, after)| needed(after));
        assert_eq!(constraint.accepts(position), needed(position) == 0);
        assert!(needed(position) == 0 || nearest.is_some_and(|n| needed(n.1) < needed(position)));
        let next = match will.next() {
            Some(byte) if !allowed.is_empty() => {
                let wanted = allowed.iter().find(|(allowed, _)| allowed == byte);
                wanted.or(Some(&allowed[usize::from(*byte) % allowed.len()]))
            }
            _ => nearest.filter(|_| !constraint.accepts(position)),
        };
        let Some(&(byte, after)) = next else { return bytes };
        bytes.push(byte);
        position = after;
    }
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
        max in 1_u16..6, chars_max in 1_u16..6, prefix in "(|- |\\*)",
        will in prop::collection::vec(any::<u8>(), 0..60),
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 12),
    ) {
        let lines = Lines { max, prefix, chars_max };
        let constraint = Constraint::lines(lines.clone()).unwrap();
        let indent = if lines.prefix.ends_with(' ') { "" } else { " ?" };
        let line = format!(
            r"{}{indent}[^\x00-\x20\x7f][^\x00-\x1f\x7f]{{0,{}}}",
            regex::escape(&lines.prefix), chars_max - 1,
        );
        let pattern = format!(r"^{line}(?:\n{line}){{0,{}}}$", lines.max - 1);
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
    let lines = Lines { max: 2, prefix: "- ".into(), chars_max: 9 };
    assert!(Constraint::lines(lines.clone()).is_some());
    for impossible in [
        Lines { max: 0, ..lines.clone() },
        Lines { chars_max: 0, ..lines.clone() },
        Lines { prefix: "-\n".into(), ..lines.clone() },
    ] {
        assert_eq!(Constraint::lines(impossible), None);
    }
}

#[test]
fn longer_tokens_shorten_a_prefix() {
    let lines = Lines { max: 2, prefix: "Name: ".into(), chars_max: 9 };
    let constraint = Constraint::lines(lines).unwrap();
    assert_eq!(in_bytes(&constraint).tokens(constraint.start()), Some(7)); // "Name: !"
    let needed = |tokens: &[&str]| {
        let is_token = |bytes: &[u8]| tokens.iter().any(|token| token.as_bytes() == bytes);
        MinCompletion::new(&constraint, &is_token).tokens(constraint.start())
    };
    assert_eq!(needed(&["Name", ": ", "a"]), Some(3));
    assert_eq!(needed(&["Name", "Na", "m", "e", ": ", ":", " ", "a", "\n"]), Some(3));
    assert_eq!(needed(&["Name", ":", "a", "\n"]), None, "nothing spells the prefix");
    assert_eq!(needed(&["Name", ": ", "\n"]), None, "nothing spells a line");
}
