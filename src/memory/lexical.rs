//! Words that texts share: terms, and how rare they are. Stop words and stems are English; other languages
//! pass through unchanged.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rust_stemmers::{Algorithm, Stemmer};

/// Words that do not tell what a question is about.
const STOP_WORDS: &str = " a an the of to in on at for and or is are was were be been do does did \
    has have had with by from as that this it its his hers her their he she they i you we my your \
    our me him them us what when where who whom which how why would could should will can may \
    might about into than then there so if not no am s t d ll ve re m tell know please ";

/// The words of a text in lower case, in order, without stop words.
pub fn content_words(text: &str) -> Vec<String> {
    words(text).filter(|word| !is_stop_word(word)).collect()
}

/// Stems of the words of a text, in order, without stop words.
pub fn terms(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    words(text)
        .filter(|word| !is_stop_word(word))
        .map(|word| stemmer.stem(&word).into_owned())
        .collect()
}

/// The words of a text in lower case, in order.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_lowercase)
}

fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&format!(" {word} "))
}

/// In how many of some texts each term occurs.
#[derive(Debug, Clone, Default)]
pub struct Rarity {
    n_texts: f64,
    n_with: HashMap<String, f64>,
}

impl Rarity {
    /// Counts the terms of these texts.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut rarity = Self::default();
        for text in texts {
            rarity.n_texts += 1.0;
            for term in terms(text).into_iter().collect::<BTreeSet<_>>() {
                *rarity.n_with.entry(term).or_default() += 1.0;
            }
        }
        rarity
    }

    /// Inverse document frequency as in BM25, above 0.
    pub fn idf(&self, term: &str) -> f64 {
        let n_with = self.n_with.get(term).copied().unwrap_or(0.0);
        (1.0 + (self.n_texts - n_with + 0.5) / (n_with + 0.5)).ln()
    }

    /// Weights of a question's terms by their rarity; they sum to 1.
    pub fn weights(&self, question: &BTreeSet<String>) -> BTreeMap<String, f64> {
        let sum: f64 = question.iter().map(|term| self.idf(term)).sum();
        question.iter().map(|term| (term.clone(), self.idf(term) / sum)).collect()
    }
}

/// Mean of two shares of the question's terms, by weight: the share that no line contains, and the
/// smallest share that a single line lacks. The question's words scattered over thirty facts are no
/// answer, while two lines may hold half of one each. In [0, 1]; for a single line it is 1 minus the
/// share that the line contains.
pub fn unnamed(weights: &BTreeMap<String, f64>, lines: &[&BTreeSet<String>]) -> f64 {
    // Starts at 0.0, because the sum of no floats is −0.
    let weight = |is_missing: &dyn Fn(&String) -> bool| {
        weights
            .iter()
            .filter(|(term, _)| is_missing(term))
            .fold(0.0, |sum, (_, weight)| sum + weight)
    };
    let everywhere = weight(&|term| !lines.iter().any(|line| line.contains(term)));
    let together = lines
        .iter()
        .map(|line| weight(&|term| !line.contains(term)))
        .fold(weight(&|_| true), f64::min);
    f64::midpoint(everywhere, together)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_stemmed_and_meaningful() {
        assert_eq!(terms("Where did Ana's dogs go running?"), ["ana", "dog", "go", "run"]);
        assert_eq!(terms("Größe 東京 42"), ["größe", "東京", "42"]);
        assert_eq!(terms("what is the"), Vec::<String>::new());
    }

    #[test]
    fn what_is_unnamed_falls_with_rare_words_and_with_words_together() {
        let set = |text| terms(text).into_iter().collect::<BTreeSet<String>>();
        let rarity = Rarity::new(["Ana has a dog", "Ana barks", "Ana runs"]);
        assert!(rarity.idf("dog") > rarity.idf("ana") && rarity.idf("ana") > 0.0);
        let weights = rarity.weights(&set("Ana's dog"));
        assert!((weights.values().sum::<f64>() - 1.0).abs() < 1e-12);
        let (ana, dog, both) = (set("Ana"), set("a dog"), set("the dog of Ana"));
        let left = |lines: &[&BTreeSet<String>]| unnamed(&weights, lines);
        assert!((left(&[]) - 1.0).abs() < 1e-12);
        assert!((left(&[&dog]) - weights["ana"]).abs() < 1e-12);
        assert!(left(&[&dog]) < left(&[&ana]), "the rare word weighs more");
        assert!(left(&[&dog, &ana]) < left(&[&dog]) && left(&[&dog, &ana]) > 0.0);
        assert!(left(&[&both]).abs() < 1e-12);
        assert!(unnamed(&BTreeMap::new(), &[&both]).abs() < 1e-12);
    }
}
