//! Which tokens a constrained reply may continue with.
//!
//! A token is allowed if a well-formed reply continues with its bytes and the tokens left after it suffice
//! to complete that reply, so a reply is well-formed even when the budget ends it. Ending is allowed where the
//! reply is complete. Knows bytes and logits, neither the model nor its text.

use std::sync::Arc;

use super::tokenizer::Tokenizer;
use crate::grammar::{Constraint, MinCompletion, Position};
use crate::interfaces::{Finish, ModelError};

/// One reply's progress through its constraint.
pub struct Mask {
    constraint: Constraint,
    vocabulary: Arc<Vocabulary>,
    min_completion: MinCompletion,
    position: Position,
    tokens_left: usize,
    /// Some token was forbidden because too few tokens would have been left after it.
    budget_exhausted: bool,
    /// By token id.
    allowed: Vec<bool>,
}

impl Mask {
    /// At the start of a reply of at most `tokens_max` tokens.
    ///
    /// # Errors
    /// [`ModelError::ConstraintTooLong`] if so few tokens can't complete a reply, or this vocabulary can't spell one.
    pub fn new(
        constraint: &Constraint,
        vocabulary: Arc<Vocabulary>,
        tokens_max: usize,
    ) -> Result<Self, ModelError> {
        let min_completion = MinCompletion::new(constraint, &|bytes| vocabulary.is_token(bytes));
        let position = constraint.start();
        let needed_tokens = min_completion.tokens(position).map(|n| n as usize);
        if needed_tokens.is_none_or(|needed| needed > tokens_max) {
            return Err(ModelError::ConstraintTooLong { needed_tokens, tokens_max });
        }
        Ok(Self {
            constraint: constraint.clone(),
            min_completion,
            position,
            tokens_left: tokens_max,
            budget_exhausted: false,
            allowed: vec![false; vocabulary.shapes.len()],
            vocabulary,
        })
    }

    /// How the reply ended, if it is complete and nothing may follow.
    pub fn finish(&self) -> Option<Finish> {
        let continues = self.tokens_left > 0 && self.constraint.may_continue(self.position);
        if continues { None } else { self.end().ok() }
    }

    /// How the reply ends here.
    ///
    /// # Errors
    /// [`ModelError::NotANumber`] if it is not complete: no allowed token had a probability.
    pub fn end(&self) -> Result<Finish, ModelError> {
        if !self.constraint.accepts(self.position) {
            return Err(ModelError::NotANumber);
        }
        Ok(if self.budget_exhausted { Finish::Length } else { Finish::EndOfTurn })
    }

    /// Keeps the logits of allowed tokens and sets all others to −∞. `stops` end a reply.
    pub fn apply(&mut self, logits: &mut [f32], stops: &[u32]) {
        self.find_allowed();
        let ends: Vec<(usize, f32)> = if self.constraint.accepts(self.position) {
            stops.iter().filter_map(|&id| Some((id as usize, *logits.get(id as usize)?))).collect()
        } else {
            Vec::new()
        };
        let allowed = self.allowed.iter().chain(std::iter::repeat(&false));
        for (logit, _) in logits.iter_mut().zip(allowed).filter(|(_, allowed)| !**allowed) {
            *logit = f32::NEG_INFINITY;
        }
        for (id, logit) in ends {
            logits[id] = logit;
        }
    }

    /// Moves on past a token that [`Self::apply`] allowed.
    ///
    /// # Errors
    /// [`ModelError::NotANumber`] if it was not: no allowed token had a probability.
    pub fn advance(&mut self, token: u32) -> Result<(), ModelError> {
        if self.allowed.get(token as usize) != Some(&true) {
            return Err(ModelError::NotANumber);
        }
        let after = self.constraint.walk(self.position, self.vocabulary.bytes(token));
        self.position = after.ok_or(ModelError::NotANumber)?;
        self.tokens_left -= 1;
        Ok(())
    }

    fn find_allowed(&mut self) {
        let Self { constraint, vocabulary, min_completion, position, .. } = self;
        let Some(left) = self.tokens_left.checked_sub(1) else { return self.allowed.fill(false) };
        let budget_exhausted = &mut self.budget_exhausted;
        let takes_text = constraint.takes_text(*position);
        let takes_quotes = constraint.takes_quotes();
        for ((allowed, shape), id) in self.allowed.iter_mut().zip(&vocabulary.shapes).zip(0..) {
            let after = match *shape {
                Shape::Empty => None,
                Shape::Text { n_chars, n_spaces, has_quotes }
                    if takes_text && (takes_quotes || !has_quotes) =>
                {
                    constraint.after_text(*position, n_chars, n_spaces)
                }
                _ => constraint.walk(*position, vocabulary.bytes(id)),
            };
            let needed = after.and_then(|after| min_completion.tokens(after));
            *allowed = needed.is_some_and(|n| n as usize <= left);
            *budget_exhausted |= needed.is_some() && !*allowed;
        }
    }
}

/// What a token's bytes are, so that most need not be walked one by one.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// Complete characters without control characters: `n_spaces` spaces, then something else.
    Text {
        n_chars: u16,
        n_spaces: u16,
        has_quotes: bool,
    },
    Other,
    /// No bytes: a special token.
    Empty,
}

impl Shape {
    fn of(bytes: &[u8]) -> Self {
        if bytes.is_empty() {
            return Self::Empty;
        }
        let is_plain =
            |text: &&str| !text.contains(|c| c < ' ' || c == '\x7f') && text.contains(|c| c != ' ');
        let Some(text) = str::from_utf8(bytes).ok().filter(is_plain) else { return Self::Other };
        let n_spaces = text.bytes().take_while(|&byte| byte == b' ').count();
        match (u16::try_from(text.chars().count()), u16::try_from(n_spaces)) {
            (Ok(n_chars), Ok(n_spaces)) => {
                Self::Text { n_chars, n_spaces, has_quotes: text.contains(['"', '\\']) }
            }
            _ => Self::Other,
        }
    }
}

/// The bytes of every token.
pub struct Vocabulary {
    /// `bytes[starts[id]..starts[id + 1]]` are those of one token.
    bytes: Vec<u8>,
    starts: Vec<u32>,
    shapes: Vec<Shape>,
    /// Ids in the order of their bytes.
    sorted: Vec<u32>,
}

impl Vocabulary {
    /// The tokens that text can be made of.
    pub fn of(tokenizer: &Tokenizer) -> Self {
        Self::new((0..tokenizer.n_ids() as u32).map(|id| tokenizer.text_bytes(id)))
    }

    /// The bytes of each id in order; none where it stands for no text.
    fn new<'t>(tokens: impl Iterator<Item = &'t [u8]>) -> Self {
        let (mut bytes, mut starts, mut shapes) = (Vec::new(), vec![0], Vec::new());
        for token in tokens {
            bytes.extend_from_slice(token);
            starts.push(bytes.len() as u32);
            shapes.push(Shape::of(token));
        }
        let mut sorted: Vec<u32> = (0..shapes.len() as u32).collect();
        let vocabulary = Self { bytes, starts, shapes, sorted: Vec::new() };
        sorted.sort_unstable_by_key(|&id| vocabulary.bytes(id));
        Self { sorted, ..vocabulary }
    }

    fn bytes(&self, id: u32) -> &[u8] {
        let start = |id: usize| self.starts[id] as usize;
        &self.bytes[start(id as usize)..start(id as usize + 1)]
    }

    fn is_token(&self, bytes: &[u8]) -> bool {
        self.sorted.binary_search_by_key(&bytes, |&id| self.bytes(id)).is_ok()
    }
}

#[cfg(test)]
#[expect(clippy::print_stdout, reason = "tests")]
mod tests {
    use std::time::Instant;

    use proptest::prelude::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::grammar::Lines;

    fn list(prefix: &str, max: u16, chars_max: u16) -> Constraint {
        let lines = Lines { prefix: prefix.into(), max, chars_max };
        Constraint::lines(lines).unwrap()
    }

    fn forms() -> Vec<Constraint> {
        let schema = serde_json::json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "kind": {"enum": ["a", "ab", "é\""]},
                "sizes": {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 3},
                "more": {"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 3}]}
            },
            "required": ["kind"]
        });
        let json = Constraint::json(&schema).unwrap();
        vec![list("- ", 4, 20), list("", 3, 45), list("Name:", 1, 30), json]
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
            1 => Just(b"Name".to_vec()),
            1 => Just(b"\n- ".to_vec()),
            1 => prop::collection::vec(any::<u8>(), 1..4),
        ]
    }

    fn mask(form: &Constraint, tokens: &[Vec<u8>], tokens_max: usize) -> Result<Mask, ModelError> {
        let vocabulary = Vocabulary::new(tokens.iter().map(Vec::as_slice));
        Mask::new(form, Arc::new(vocabulary), tokens_max)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

        /// A token is allowed if walking its bytes says so; some token or the end is always allowed; and whatever
        /// is drawn, the reply is complete when it ends.
        #[test]
        fn the_mask_is_what_trying_every_token_gives(
            more in prop::collection::vec(token(), 0..200), form in 0..4_usize,
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
            while mask.finish().is_none() {
                let stop = tokens.len() as u32;
                let mut logits = vec![0.0; tokens.len() + 3];
                mask.apply(&mut logits, &[stop]);
                for (token, id) in tokens.iter().zip(0..) {
                    let after = form.walk(mask.position, token).filter(|_| !token.is_empty());
                    let needed = after.and_then(|after| mask.min_completion.tokens(after));
                    let good = needed.is_some_and(|n| (n as usize) < mask.tokens_left);
                    prop_assert_eq!(logits[id] == 0.0, good, "{:?}", token);
                }
                let complete = form.accepts(mask.position);
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
            prop_assert!(form.accepts(form.walk(form.start(), &said).unwrap()));
        }
    }

    #[test]
    fn what_was_not_allowed_is_refused() {
        let tokens = vocabulary(&[]);
        let mut mask = mask(&list("1", 1, 8), &tokens, 20).unwrap();
        mask.apply(&mut vec![0.0; tokens.len()], &[]);
        assert!(matches!(mask.end(), Err(ModelError::NotANumber)));
        assert!(matches!(mask.advance(u32::from(b'x')), Err(ModelError::NotANumber)));
        mask.advance(u32::from(b'1')).unwrap();
        let letters: Vec<Vec<u8>> = (b'a'..=b'z').map(|byte| vec![byte]).collect();
        let refused = super::tests::mask(&list("1", 1, 8), &letters, 99);
        assert!(matches!(refused, Err(ModelError::ConstraintTooLong { needed_tokens: None, .. })));
    }

    /// As large as Qwen's and as mixed: words of five alphabets, half of them with a space in front, some broken off.
    fn large_vocabulary() -> Vec<Vec<u8>> {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut tokens = vocabulary(&[]);
        while tokens.len() < 151_000 {
            let first = u32::from(['a', 'à', 'а', '一', '!'][rng.random_range(0..5)]);
            let n_chars = rng.random_range(1..=9);
            let word = (0..n_chars).filter_map(|_| char::from_u32(first + rng.random_range(0..26)));
            let mut token = word.collect::<String>().into_bytes();
            match tokens.len() % 12 {
                0..=5 => token.insert(0, b' '),
                11 => drop(token.pop()),
                _ => {}
            }
            tokens.push(token);
        }
        tokens
    }

    #[test]
    fn a_mask_over_a_large_vocabulary_is_quick() {
        let tokens = large_vocabulary();
        let vocabulary = Arc::new(Vocabulary::new(tokens.iter().map(Vec::as_slice)));
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for form in forms() {
            let mut seconds = Vec::new();
            for _ in 0..40 {
                let mut mask = Mask::new(&form, Arc::clone(&vocabulary), 100).unwrap();
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
            seconds.sort_by(f64::total_cmp);
            let median_ms = seconds[seconds.len() / 2] * 1e3;
            println!("{form:?}: median of {} masks {median_ms:.3} ms", seconds.len());
            assert!(median_ms < 5.0, "a mask takes {median_ms} ms");
        }
    }
}
