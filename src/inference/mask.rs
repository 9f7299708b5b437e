//! Which tokens a constrained reply may go on with.
//!
//! A token is allowed if a well-formed reply goes on with its bytes, and if the tokens that are left then still
//! complete it: so a reply is well-formed also where the budget ends it. Ending is allowed where the reply is
//! complete. Knows bytes and logits, neither the model nor its text.

use std::sync::Arc;

use super::token_trie::{TokenSet, TokenTrie, WORD_CHARS_MAX};
use crate::grammar::{Constraint, Needs, Position, RunStart};
use crate::interfaces::{Finish, ModelError};

/// One reply's progress through its constraint.
#[derive(Debug)]
pub struct Mask {
    constraint: Constraint,
    trie: Arc<TokenTrie>,
    needs: Needs,
    position: Position,
    tokens_left: usize,
    /// Something was forbidden for want of tokens.
    squeezed: bool,
    allowed: TokenSet,
    path: Vec<Position>,
}

impl Mask {
    /// Before the first of at most `tokens_max` tokens.
    ///
    /// # Errors
    /// [`ModelError::ConstraintTooLong`] if so few complete no reply, or this vocabulary spells none.
    pub fn new(
        constraint: &Constraint,
        trie: Arc<TokenTrie>,
        tokens_max: usize,
    ) -> Result<Self, ModelError> {
        let automaton = constraint.automaton();
        let needs = Needs::new(automaton, &|bytes| trie.holds(bytes));
        let position = automaton.start();
        let needed_tokens = needs.tokens(automaton, position).map(|n| n as usize);
        if needed_tokens.is_none_or(|needed| needed > tokens_max) {
            return Err(ModelError::ConstraintTooLong { needed_tokens, tokens_max });
        }
        Ok(Self {
            constraint: constraint.clone(),
            needs,
            position,
            tokens_left: tokens_max,
            squeezed: false,
            allowed: TokenSet::empty(trie.n_ids()),
            path: Vec::new(),
            trie,
        })
    }

    /// How the reply ended, if it is complete and nothing may follow.
    pub fn finish(&self) -> Option<Finish> {
        let goes_on = self.tokens_left > 0 && self.constraint.automaton().goes_on(self.position);
        if goes_on { None } else { self.end().ok() }
    }

    /// How the reply ends here.
    ///
    /// # Errors
    /// [`ModelError::NotANumber`] if it is not complete: nothing that was allowed had a probability.
    pub fn end(&self) -> Result<Finish, ModelError> {
        if !self.constraint.automaton().accepts(self.position) {
            return Err(ModelError::NotANumber);
        }
        Ok(if self.squeezed { Finish::Length } else { Finish::EndOfTurn })
    }

    /// Leaves the logits of allowed tokens as they are and makes all others impossible. `stops` end a reply.
    pub fn apply(&mut self, logits: &mut [f32], stops: &[u32]) {
        self.find_allowed();
        let ends: Vec<(usize, f32)> = if self.constraint.automaton().accepts(self.position) {
            stops.iter().filter_map(|&id| Some((id as usize, *logits.get(id as usize)?))).collect()
        } else {
            Vec::new()
        };
        self.allowed.keep(logits);
        for (id, logit) in ends {
            logits[id] = logit;
        }
    }

    /// One more token, which was allowed.
    ///
    /// # Errors
    /// [`ModelError::NotANumber`] if it was not: nothing that was allowed had a probability.
    pub fn advance(&mut self, token: u32) -> Result<(), ModelError> {
        if !self.allowed.contains(token) {
            return Err(ModelError::NotANumber);
        }
        let bytes = self.trie.bytes(token);
        let after = self.constraint.automaton().walk(self.position, bytes);
        self.position = after.ok_or(ModelError::NotANumber)?;
        self.tokens_left -= 1;
        Ok(())
    }

    fn find_allowed(&mut self) {
        let Self { constraint, trie, needs, position, tokens_left, squeezed, allowed, path } = self;
        let automaton = constraint.automaton();
        allowed.clear();
        let Some(left) = tokens_left.checked_sub(1) else { return };
        let mut affordable = |after| {
            let needed = needs.tokens(automaton, after);
            let fits = needed.is_some_and(|n| n as usize <= left);
            *squeezed |= needed.is_some() && !fits;
            fits
        };
        let step = |position, byte| automaton.step(position, byte);
        if let Some(run) = automaton.run(*position) {
            for (n_chars, words) in (0..=WORD_CHARS_MAX).zip(&trie.words) {
                let Some(words) = words else { continue };
                for (n_spaces, words) in (0..).zip(&words.by_spaces) {
                    let n_counted = match (run.start, n_spaces) {
                        (RunStart::Inside, _) | (RunStart::First | RunStart::Indented, 0) => {
                            n_chars
                        }
                        (RunStart::Indented, 1) => n_chars - 1,
                        (RunStart::First | RunStart::Indented, _) => continue,
                    };
                    if position.after_run(run, n_counted).is_some_and(&mut affordable) {
                        allowed.add(words);
                    }
                }
            }
        } else {
            trie.word_tree.walk(*position, path, step, |token, after| {
                if affordable(after) {
                    allowed.insert(token);
                }
            });
        }
        trie.other_tree.walk(*position, path, step, |token, after| {
            if affordable(after) {
                allowed.insert(token);
            }
        });
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]
mod tests {
    use std::time::Instant;

    use proptest::prelude::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use serde_json::json;

    use super::*;
    use crate::grammar::{DateForm, Lines, Schema};

    fn event() -> Constraint {
        let schema = json!({
            "type": "object",
            "properties": {
                "title": {"type": "string", "minLength": 2, "maxLength": 40},
                "day": {"type": "string", "format": "date"},
                "who": {"type": "array", "minItems": 2, "maxItems": 5,
                        "items": {"type": "string", "maxLength": 12}},
                "sure": {"type": "boolean"},
                "n": {"type": "integer"},
            },
            "required": ["title", "who"],
        });
        Constraint::json(&Schema::from_json(&schema).unwrap()).unwrap()
    }

    fn list(prefix: &str, min: u16, max: u16, chars_max: u16) -> Constraint {
        let lines = Lines { prefix: prefix.into(), min, max, chars_max };
        Constraint::lines(&lines).unwrap()
    }

    fn forms() -> Vec<Constraint> {
        vec![
            event(),
            list("- ", 2, 4, 20),
            list("", 1, 3, 45),
            Constraint::date(DateForm::Iso),
            Constraint::date(DateForm::Written),
        ]
    }

    /// Every byte, and words, marks and broken characters as vocabularies have them.
    fn vocabulary(more: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let bytes = (0..=255u8).map(|byte| vec![byte]);
        bytes.chain([Vec::new()]).chain(more.iter().cloned()).collect()
    }

    fn token() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            4 => "[a-z ]{1,6}".prop_map(String::into_bytes),
            2 => "[a-zé東🙂 ]{1,40}".prop_map(String::into_bytes),
            3 => r#"[":,{}\[\]\\\n\- a0-9]{1,5}"#.prop_map(String::into_bytes),
            1 => Just(b"{\"title\": \"".to_vec()),
            1 => Just(b"\n- ".to_vec()),
            1 => prop::collection::vec(any::<u8>(), 1..4),
        ]
    }

    fn mask(form: &Constraint, tokens: &[Vec<u8>], tokens_max: usize) -> Result<Mask, ModelError> {
        let tokens: Vec<&[u8]> = tokens.iter().map(Vec::as_slice).collect();
        Mask::new(form, Arc::new(TokenTrie::new(&tokens)), tokens_max)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

        /// The tree and the sets of words allow what trying each token for itself allows; some token or the end
        /// is always allowed; and whatever is drawn, the reply is complete when it ends.
        #[test]
        fn the_mask_is_what_trying_every_token_gives(
            more in prop::collection::vec(token(), 0..200), form in 0..5_usize,
            spare in 0..40_usize, seed in any::<u64>(),
        ) {
            let form = &forms()[form];
            let tokens = vocabulary(&more);
            let Err(ModelError::ConstraintTooLong { needed_tokens: Some(needed), .. }) =
                mask(form, &tokens, 0) else { panic!("no reply is empty") };
            prop_assert!(mask(form, &tokens, needed - 1).is_err());
            let mut mask = mask(form, &tokens, needed + spare).unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut said = Vec::new();
            let automaton = form.automaton();
            while mask.finish().is_none() {
                let stop = tokens.len() as u32;
                let mut logits = vec![0.0; tokens.len() + 3];
                mask.apply(&mut logits, &[stop]);
                for (token, id) in tokens.iter().zip(0..) {
                    let after = automaton.walk(mask.position, token).filter(|_| !token.is_empty());
                    let needed = after.and_then(|after| mask.needs.tokens(automaton, after));
                    let good = needed.is_some_and(|n| (n as usize) < mask.tokens_left);
                    prop_assert_eq!(logits[id] == 0.0, good, "{:?}", token);
                }
                let complete = automaton.accepts(mask.position);
                prop_assert_eq!(logits[stop as usize] == 0.0, complete);
                prop_assert!(logits[stop as usize + 1] < 0.0, "an id of no token");
                let allowed: Vec<u32> =
                    (0..).zip(&logits).filter(|(_, l)| **l == 0.0).map(|(id, _)| id).collect();
                prop_assert!(!allowed.is_empty(), "a dead end after {said:?}");
                let drawn = allowed[rng.random_range(0..allowed.len())];
                if drawn == stop {
                    prop_assert!(mask.end().is_ok());
                    break;
                }
                said.extend_from_slice(&tokens[drawn as usize]);
                mask.advance(drawn).unwrap();
            }
            prop_assert!(automaton.accepts(automaton.walk(automaton.start(), &said).unwrap()));
        }
    }

    #[test]
    fn what_was_not_allowed_is_refused() {
        let tokens = vocabulary(&[]);
        let mut mask = mask(&Constraint::date(DateForm::Iso), &tokens, 20).unwrap();
        mask.apply(&mut vec![0.0; tokens.len()], &[]);
        assert!(matches!(mask.end(), Err(ModelError::NotANumber)));
        assert!(matches!(mask.advance(u32::from(b'x')), Err(ModelError::NotANumber)));
        mask.advance(u32::from(b'1')).unwrap();
        let letters: Vec<Vec<u8>> = (b'a'..=b'z').map(|byte| vec![byte]).collect();
        let refused = super::tests::mask(&Constraint::date(DateForm::Iso), &letters, 99);
        assert!(matches!(refused, Err(ModelError::ConstraintTooLong { needed_tokens: None, .. })));
    }

    /// As large and as mixed as Qwen's: half of it words with a space in front, a sixth of it Chinese, broken
    /// characters, marks, code.
    fn large_vocabulary() -> Vec<Vec<u8>> {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
        let mut word = |alphabet: &[char], n_max: usize| -> String {
            let n = rng.random_range(1..=n_max);
            (0..n).map(|_| alphabet[rng.random_range(0..alphabet.len())]).collect()
        };
        let latin: Vec<char> =
            ('a'..='z').chain('a'..='z').chain('A'..='Z').chain('à'..='ÿ').collect();
        let cyrillic: Vec<char> = ('а'..='я').collect();
        let chinese: Vec<char> = ('\u{4e00}'..='\u{9fff}').collect();
        let marks: Vec<char> = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\n\t  ".chars().collect();
        while tokens.len() < 151_000 {
            let token = match tokens.len() % 12 {
                0..=4 => format!(" {}", word(&latin, 9)),
                5..=7 => word(&latin, 10),
                8 => format!(" {}", word(&cyrillic, 8)),
                9 => word(&chinese, 3),
                10 => word(&marks, 4) + &word(&latin, 5),
                _ => {
                    let text = word(&chinese, 2);
                    let bytes = text.as_bytes();
                    tokens.push(bytes[..bytes.len() - 1].to_vec());
                    continue;
                }
            };
            tokens.push(token.into_bytes());
        }
        tokens
    }

    #[test]
    fn a_mask_over_a_large_vocabulary_is_quick() {
        let tokens = large_vocabulary();
        let slices: Vec<&[u8]> = tokens.iter().map(Vec::as_slice).collect();
        let since = Instant::now();
        let trie = Arc::new(TokenTrie::new(&slices));
        println!(
            "the tree of {} tokens: {:.0} ms",
            tokens.len(),
            since.elapsed().as_secs_f64() * 1e3
        );
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (name, form) in ["json", "list", "lines", "iso", "written"].iter().zip(forms()) {
            let since = Instant::now();
            let mut mask = Mask::new(&form, Arc::clone(&trie), 100).unwrap();
            let start = since.elapsed().as_secs_f64() * 1e3;
            let mut seconds = Vec::new();
            for _ in 0..40 {
                mask = Mask::new(&form, Arc::clone(&trie), 100).unwrap();
                while mask.finish().is_none() {
                    let mut logits = vec![0.0f32; tokens.len()];
                    let since = Instant::now();
                    mask.apply(&mut logits, &[]);
                    seconds.push(since.elapsed().as_secs_f64());
                    let allowed: Vec<u32> =
                        (0..).zip(&logits).filter(|(_, l)| **l == 0.0).map(|(id, _)| id).collect();
                    mask.advance(allowed[rng.random_range(0..allowed.len())]).unwrap();
                }
            }
            drop(mask);
            seconds.sort_by(f64::total_cmp);
            let at = |share: f64| seconds[(share * (seconds.len() - 1) as f64) as usize] * 1e3;
            println!(
                "{name}: {} masks, median {:.3} ms, 99 % {:.3} ms, most {:.3} ms; begun in {start:.2} ms",
                seconds.len(),
                at(0.5),
                at(0.99),
                at(1.0)
            );
            assert!(at(0.5) < 5.0, "a mask takes {} ms", at(0.5));
        }
    }
}
