//! How dense evidence is (xMemory §5.2): the blocks that hold words of the answer, and how many of
//! them, best first, it takes to have every word of it.

use std::collections::BTreeSet;

use inglenook::memory::lexical;
use serde::Serialize;

use super::Category;

/// Tokens per word, an estimate that does not depend on a tokenizer.
const TOKENS_PER_WORD: f64 = 1.3;

/// How dense one method's evidence is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DensityRow {
    pub method: &'static str,
    pub category: Category,
    /// Shares of the blocks that hold exactly one, exactly two, and three or more different
    /// content words of the answer.
    pub one_hit: f64,
    pub two_hit: f64,
    pub multi_hit: f64,
    /// Mean over the questions that every method covers: blocks, best first, until all words are there …
    pub blocks_to_cover: f64,
    /// … and their tokens (1.3 a word).
    pub tokens_to_cover: f64,
    /// Questions in these means.
    pub questions: usize,
    /// Questions whose answers' words this method finds.
    pub covered: usize,
}

/// The words of one answer in one list of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Hits {
    one: usize,
    two: usize,
    multi: usize,
    blocks: usize,
    /// Blocks and tokens until all words were there.
    cover: Option<(usize, f64)>,
}

impl Hits {
    /// `None` where the answer has no content words.
    pub(super) fn of<'a>(answer: &str, blocks: impl Iterator<Item = &'a str>) -> Option<Self> {
        let wanted: BTreeSet<String> = lexical::terms(answer).into_iter().collect();
        if wanted.is_empty() {
            return None;
        }
        let (mut hits, mut found, mut tokens) = (Self::default(), BTreeSet::new(), 0.0);
        for text in blocks {
            let terms: BTreeSet<String> = lexical::terms(text).into_iter().collect();
            let own: BTreeSet<&String> = wanted.intersection(&terms).collect();
            hits.blocks += 1;
            match own.len() {
                0 => {}
                1 => hits.one += 1,
                2 => hits.two += 1,
                _ => hits.multi += 1,
            }
            found.extend(own.into_iter().cloned());
            tokens += text.split_whitespace().count() as f64 * TOKENS_PER_WORD;
            if hits.cover.is_none() && found.len() == wanted.len() {
                hits.cover = Some((hits.blocks, tokens));
            }
        }
        Some(hits)
    }
}

/// One row per method and category; `questions` has every method's hits for each question.
pub(super) fn rows<const N: usize>(
    methods: [&'static str; N],
    questions: &[(u64, [Hits; N])],
) -> Vec<DensityRow> {
    let mut categories: BTreeSet<Category> =
        questions.iter().map(|(category, _)| Category::One(*category)).collect();
    categories.insert(Category::All);
    let mut rows = Vec::new();
    for category in categories {
        let of = questions.iter().filter(|q| category.includes(q.0)).map(|(_, hits)| hits);
        let of: Vec<&[Hits; N]> = of.collect();
        let methods = methods.into_iter().enumerate();
        rows.extend(methods.map(|(m, method)| row(method, m, category, &of)));
    }
    rows
}

/// Of the `m`-th method.
fn row<const N: usize>(
    method: &'static str,
    m: usize,
    category: Category,
    questions: &[&[Hits; N]],
) -> DensityRow {
    let by_all: Vec<&&[Hits; N]> =
        questions.iter().filter(|hits| hits.iter().all(|h| h.cover.is_some())).collect();
    let share = |part: f64, whole: usize| if whole == 0 { 0.0 } else { part / whole as f64 };
    let sum = |of: fn(&Hits) -> usize| questions.iter().map(|hits| of(&hits[m])).sum();
    let blocks: usize = sum(|h| h.blocks);
    let hit = |of: fn(&Hits) -> usize| share(sum(of) as f64, blocks);
    let covers = || by_all.iter().filter_map(|hits| hits[m].cover);
    DensityRow {
        method,
        category,
        one_hit: hit(|h| h.one),
        two_hit: hit(|h| h.two),
        multi_hit: hit(|h| h.multi),
        blocks_to_cover: share(covers().map(|c| c.0 as f64).sum(), by_all.len()),
        tokens_to_cover: share(covers().map(|c| c.1).sum(), by_all.len()),
        questions: by_all.len(),
        covered: sum(|h| usize::from(h.cover.is_some())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_answer_are_counted_block_by_block() {
        let of =
            |blocks: &[&str]| Hits::of("a red kite and a lake", blocks.iter().copied()).unwrap();
        let found = of(&["nothing here", "the kites", "red lake", "red kite lake"]);
        assert_eq!((found.one, found.two, found.multi, found.blocks), (1, 1, 1, 4));
        let (blocks, tokens) = found.cover.unwrap();
        assert_eq!(blocks, 3);
        assert!((tokens - 6.0 * TOKENS_PER_WORD).abs() < 1e-9);
        assert_eq!(of(&["red", "kite"]).cover, None);
        assert_eq!(Hits::of("the", std::iter::empty()), None);
        let questions = [(4, [found, of(&["red kite lake"])]), (1, [found, of(&["red"])])];
        let rows = rows(["a", "b"], &questions);
        let of_rows: Vec<_> = rows.iter().map(|row| (row.category, row.method)).collect();
        let [all, one, four] = [Category::All, Category::One(1), Category::One(4)];
        assert_eq!(
            of_rows,
            [(all, "a"), (all, "b"), (one, "a"), (one, "b"), (four, "a"), (four, "b")]
        );
        assert_eq!((rows[2].questions, rows[2].covered, rows[4].questions), (0, 1, 1));
        assert_eq!((rows[0].questions, rows[0].covered, rows[1].covered), (1, 2, 1));
        assert!((rows[0].blocks_to_cover - 3.0).abs() < 1e-9);
        assert!((rows[1].blocks_to_cover - 1.0).abs() < 1e-9);
        assert!((rows[1].one_hit - 0.5).abs() < 1e-9 && (rows[1].multi_hit - 0.5).abs() < 1e-9);
    }
}
