//! The built-in reranker against its training code, and with damaged files.
#![expect(clippy::unwrap_used, reason = "tests")]
#![cfg(feature = "starter")]

use std::path::Path;

use inglenook::inference::reranker::BertReranker;
use inglenook::inference::starter;
use inglenook::inference::weights::Bytes;

fn file(name: &str) -> &'static [u8] {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/starter").join(name);
    std::fs::read(path).unwrap().leak()
}

fn load(reranker: &'static [u8], embedder: &'static [u8]) -> Option<BertReranker> {
    let path = Path::new("reranker.gguf");
    BertReranker::from_gguf(path, Bytes::Static(reranker), Bytes::Static(embedder)).ok()
}

const QUESTION: &str = "Which instrument does Nora play?";
const TEXTS: [&str; 4] = [
    "Nora: I have been practising the cello every evening.",
    "Nora likes to play with her dog.",
    "Tom plays the trumpet in a brass band.",
    "",
];

#[test]
fn scores_equal_those_of_the_training_code() {
    let scores = starter::reranker().scores(QUESTION, &TEXTS).unwrap().unwrap();
    // `train_reranker.Reranker` in f32 with the matrices of the file, PyTorch 2.15.
    for (score, expected) in scores.iter().zip([7.923_18, 4.791_32, 5.725_63, -23.024_47]) {
        assert!((score - expected).abs() < 0.02, "{scores:?}");
    }
    assert!(scores[0] > scores[1] && scores[0] > scores[2] && scores[0] > scores[3]);
}

#[test]
fn a_score_does_not_depend_on_the_batch() {
    let reranker = starter::reranker();
    let together = reranker.scores(QUESTION, &TEXTS).unwrap().unwrap();
    for (text, expected) in TEXTS.iter().zip(together) {
        let alone = reranker.scores(QUESTION, &[text]).unwrap().unwrap()[0];
        assert!((alone - expected).abs() < 1e-3, "{text}: {alone} {expected}");
    }
    assert_eq!(reranker.scores(QUESTION, &[]).unwrap(), Some(Vec::new()));
}

#[test]
fn unreadable_questions_have_no_scores() {
    let reranker = starter::reranker();
    for question in ["猫はどこで寝ますか?", "ድመቷ የት ትተኛለች?", "  ", ""]
    {
        assert_eq!(reranker.scores(question, &TEXTS).unwrap(), None, "{question}");
    }
    let long = "very ".repeat(5_000);
    for (question, text) in [(QUESTION, long.as_str()), (&long, TEXTS[0])] {
        let score = reranker.scores(question, &[text]).unwrap().unwrap()[0];
        assert!(score.is_finite());
    }
    let odd = ["[CLS] [SEP] [MASK]", "\0\u{202e}\u{1f600}", "猫", "\n\n"];
    assert_eq!(reranker.scores(QUESTION, &odd).unwrap().unwrap().len(), odd.len());
}

#[test]
fn damaged_files_are_errors() {
    let (whole, embedder) = (file("reranker.gguf"), file("embedder.gguf"));
    assert!(load(whole, embedder).is_some());
    for length in [0, 4, 24, 100, 3_000, 300_000, whole.len() - 1] {
        assert!(load(&whole[..length], embedder).is_none(), "{length}");
    }
    assert!(load(whole, &embedder[..embedder.len() / 2]).is_none());
    // Exchanged files, and the vocabulary of a language model.
    assert!(load(embedder, whole).is_none() && load(whole, file("language.gguf")).is_none());
    let find = |key: &[u8]| whole.windows(key.len()).position(|w| w == key).unwrap() + key.len();
    let changed = |at: usize, bytes: [u8; 4]| {
        let mut changed = whole.to_vec();
        changed[at..at + 4].copy_from_slice(&bytes);
        load(changed.leak(), embedder)
    };
    let heads = find(b"bert.attention.head_count") + 4;
    for count in [0u32, 7, u32::MAX] {
        assert!(changed(heads, count.to_le_bytes()).is_none(), "{count}");
    }
    let scale = find(b"inglenook.reranker.scale") + 4;
    assert!(changed(scale, f32::NAN.to_le_bytes()).is_none());
    assert!(changed(find(b"inglenook.reranker.scal"), *b"\0\0\0\0").is_none());
}
