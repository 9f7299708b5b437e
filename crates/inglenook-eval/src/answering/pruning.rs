//! Pruning: text without the words that its reader would predict.
//!
//! LightMem §3.1 and the pruning baseline of xMemory §5.2 use LLMLingua-2, a classifier trained to
//! keep or drop tokens. Instead of that extra model the reader itself scores tokens, LightMem's other
//! variant: by cross-entropy, −ln p(token | prefix); the fraction r with the highest scores stays. As in
//! LLMLingua-2, words are kept or dropped whole, by the mean over their tokens.

use inglenook::interfaces::LanguageModel;

/// A word with the space before it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub text: String,
    pub n_tokens: usize,
    /// Mean cross-entropy of its tokens, in nats.
    pub nll_nats: f64,
}

/// A text's words as tokens, not yet scored.
pub(super) struct Pieces {
    texts: Vec<String>,
    tokens: Vec<Vec<u32>>,
}

impl Pieces {
    pub(super) fn new(text: &str, model: &dyn LanguageModel) -> Self {
        let texts = pieces(text);
        let tokens = texts.iter().map(|piece| model.encode(piece)).collect();
        Self { texts, tokens }
    }

    pub(super) fn n_tokens(&self) -> usize {
        self.tokens.iter().map(Vec::len).sum()
    }

    pub(super) fn tokens(&self) -> Vec<u32> {
        self.tokens.concat()
    }

    /// Scores the pieces by the cross-entropies of their tokens, consumed from `nlls`.
    pub(super) fn weighed(self, nlls: &mut impl Iterator<Item = f64>) -> Vec<Piece> {
        let piece = |(text, tokens): (String, &Vec<u32>)| {
            let n_tokens = tokens.len();
            let total: f64 = nlls.by_ref().take(n_tokens).sum();
            Piece { text, n_tokens, nll_nats: total / n_tokens.max(1) as f64 }
        };
        self.texts.into_iter().zip(&self.tokens).map(piece).collect()
    }

    /// Splits into runs of at most `tokens_max` tokens, for a model whose context is shorter than the text; a
    /// longer piece is cut.
    pub(super) fn in_runs(self, tokens_max: usize) -> Vec<Self> {
        let mut runs = vec![Self { texts: Vec::new(), tokens: Vec::new() }];
        for (text, mut tokens) in self.texts.into_iter().zip(self.tokens) {
            // The end of a word that fills the context is dropped.
            tokens.truncate(tokens_max);
            let last = runs.len() - 1;
            if runs[last].n_tokens() + tokens.len() > tokens_max && runs[last].n_tokens() > 0 {
                runs.push(Self { texts: vec![text], tokens: vec![tokens] });
            } else {
                runs[last].texts.push(text);
                runs[last].tokens.push(tokens);
            }
        }
        runs
    }
}

/// Words with the spaces before them. In scripts without spaces every character is one.
fn pieces(text: &str) -> Vec<String> {
    const FIRST_WITHOUT_SPACES: char = '\u{2e80}';
    let mut pieces = Vec::<String>::new();
    let (mut in_word, mut alone) = (false, false);
    for c in text.chars() {
        let begins = match pieces.last() {
            None => true,
            Some(_) if c.is_whitespace() => in_word,
            Some(_) => in_word && (alone || c >= FIRST_WITHOUT_SPACES),
        };
        if begins {
            pieces.push(String::new());
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(c);
        }
        in_word = !c.is_whitespace();
        alone = c >= FIRST_WITHOUT_SPACES;
    }
    pieces
}

/// Keeps the fraction `ratio` of all tokens, the pieces with the highest cross-entropy first (ties: the
/// earlier). A text without any piece left is empty.
#[must_use]
pub(super) fn prune(texts: &[Vec<Piece>], ratio: f64) -> Vec<String> {
    let all: Vec<&Piece> = texts.iter().flatten().collect();
    let n_all: usize = all.iter().map(|piece| piece.n_tokens).sum();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|&a, &b| all[b].nll_nats.total_cmp(&all[a].nll_nats).then(a.cmp(&b)));
    let mut left = (ratio * n_all as f64).round() as usize;
    let mut stays = vec![false; all.len()];
    for place in order {
        // A threshold: once a piece does not fit, nothing below it stays.
        let Some(rest) = left.checked_sub(all[place].n_tokens) else { break };
        left = rest;
        stays[place] = true;
    }
    let mut stays = stays.into_iter();
    let kept = |pieces: &Vec<Piece>| {
        let kept: String = pieces
            .iter()
            .zip(&mut stays)
            .filter(|(_, stays)| *stays)
            .map(|(piece, _)| piece.text.as_str())
            .collect();
        kept.trim().to_owned()
    };
    texts.iter().map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use inglenook::interfaces::Priority;
    use inglenook::testing::ScriptedModel;

    #[test]
    fn words_keep_their_spaces() {
        let check = |text: &str, expected: &[&str]| assert_eq!(pieces(text), expected);
        check("I  moved to\tLund", &["I", "  moved", " to", "\tLund"]);
        check(" a ", &[" a", " "]);
        check("東京へ go", &["東", "京", "へ", " go"]);
        check("", &[]);
    }

    fn piece(text: &str, n_tokens: usize, nll_nats: f64) -> Piece {
        Piece { text: text.into(), n_tokens, nll_nats }
    }

    #[test]
    fn what_is_expected_goes_first() {
        let texts = [
            vec![
                piece("I", 1, 0.5),
                piece(" moved", 1, 2.0),
                piece(" to", 1, 0.1),
                piece(" Lund", 2, 5.0),
            ],
            vec![piece("Oh", 1, 0.2), piece(" yes", 1, 0.5)],
        ];
        let check = |ratio: f64, expected: [&str; 2]| assert_eq!(prune(&texts, ratio), expected);
        check(1.0, ["I moved to Lund", "Oh yes"]);
        check(0.0, ["", ""]);
        check(3.0 / 7.0, ["moved Lund", ""]);
        // Of two that are worth the same, the earlier.
        check(4.0 / 7.0, ["I moved Lund", ""]);
        // The most surprising does not fit, so nothing below it stays either.
        check(1.0 / 7.0, ["", ""]);
    }

    #[test]
    fn a_word_is_worth_the_mean_of_its_tokens() {
        // A byte is a token here: vowels are foretold.
        let model = ScriptedModel::new(&[])
            .with_nlls(|_, byte| if b"aeiou ".contains(&byte) { 0.0 } else { 3.0 });
        let mut context = model.context(Priority::Memory).unwrap();
        context.extend(&[257]).unwrap();
        let cut = Pieces::new("aid mum", &model);
        let nlls = context.extend_with_nlls(&cut.tokens()).unwrap();
        let weighed = cut.weighed(&mut nlls.into_iter());
        assert_eq!(weighed, [piece("aid", 3, 1.0), piece(" mum", 4, 1.5)]);
        assert_eq!(context.len(), 8);
        let runs = Pieces::new("aid mum x", &model).in_runs(4);
        let sizes: Vec<usize> = runs.iter().map(Pieces::n_tokens).collect();
        assert_eq!(sizes, [3, 4, 2]);
        assert_eq!(Pieces::new("longword a", &model).in_runs(3)[0].n_tokens(), 3);
    }
}
