//! The built-in encoder against its training code, and with damaged files.
#![expect(clippy::unwrap_used, reason = "tests")]
#![cfg(feature = "starter")]

use std::path::Path;

use inglenook::inference::heads::BertHeads;
use inglenook::inference::starter;
use inglenook::inference::weights::Bytes;

fn file(name: &str) -> &'static [u8] {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/starter").join(name);
    std::fs::read(path).unwrap().leak()
}

fn load(encoder: &'static [u8], embedder: &'static [u8]) -> Option<BertHeads> {
    let path = Path::new("encoder.gguf");
    BertHeads::from_gguf(
        path,
        Bytes::Static(encoder),
        Bytes::Static(embedder),
        &["wants", "line", "answer"],
    )
    .ok()
}

#[test]
fn probabilities_equal_those_of_the_training_code() {
    let encoder = starter::reranker();
    let aside = "she talked and talked of this and that, ".repeat(12);
    let long = format!("My neighbour has rung, and {aside}so where did I put the spare key?");
    // `train_encoder.Encoder` in f32 with the matrices of the file, PyTorch 2.15. Memory, small talk, a statement,
    // the world.
    let rows: [(&str, [f32; 4]); 10] = [
        ("hi", [0.011, 0.9672, 0.0127, 0.0092]),
        ("thx man, that helped", [0.011, 0.965, 0.0121, 0.0119]),
        ("What is the capital of France?", [0.0117, 0.0149, 0.011, 0.9624]),
        ("and in winter?", [0.0165, 0.016, 0.0104, 0.9571]),
        ("What is my sister's name?", [0.9683, 0.009, 0.0115, 0.0111]),
        ("when is Lena's recital", [0.9705, 0.008, 0.0113, 0.0102]),
        ("I moved to Lund last week.", [0.0075, 0.0092, 0.975, 0.0084]),
        (
            "my boss asked me why I was late, so I told him about the train",
            [0.0067, 0.01, 0.9751, 0.0082],
        ),
        ("Suggest a dish I'd like.", [0.9719, 0.0084, 0.0096, 0.0101]),
        (&long, [0.9336, 0.0143, 0.0345, 0.0176]),
    ];
    let close = |head: &str, texts: &[&str], expected: &[f32]| {
        let said = encoder.probabilities(head, &[texts]).unwrap().unwrap();
        for (said, expected) in said[0].iter().zip(expected) {
            assert!((said - expected).abs() < 0.01, "{texts:?}: {said} {expected}");
        }
    };
    for (text, expected) in rows {
        close("wants", &[text], &expected);
    }
    // It adds, changes, is unrelated.
    let fifth = "Kaylee had her fifth birthday party Saturday.";
    let four = "The user's grandbaby Kaylee is four";
    close("line", &[four, fifth], &[0.9344, 0.0577, 0.0079]);
    let cheese = "I eat cheese again since Monday.";
    close("line", &["The user is vegan", cheese], &[0.1039, 0.8755, 0.0206]);
    let red_car = "My sister's boss has a red car.";
    close("line", &["The user lives in Ghent", red_car], &[0.8271, 0.021, 0.1519]);
    // The answer changes, stays.
    let porridge = "What do I eat for breakfast? || I have porridge in the morning";
    close("answer", &[porridge, "I swapped the porridge for eggs."], &[0.9168, 0.0832]);
    let tulsa = "Where does Kaylee live? || Kaylee lives in Tulsa";
    close("answer", &[tulsa, fifth], &[0.0509, 0.9491]);
}

#[test]
fn what_it_cannot_read_it_does_not_judge() {
    let encoder = starter::reranker();
    for text in ["", "  ", "ድመቷ የት ትተኛለች?"] {
        assert_eq!(encoder.probabilities("wants", &[&[text]]).unwrap(), None, "{text}");
    }
    assert_eq!(encoder.probabilities("no such head", &[&["hi"]]).unwrap(), None);
    let long = "very ".repeat(5_000);
    for text in [long.as_str(), "[CLS] [SEP] [MASK]", "\0\u{202e}\u{1f600}"] {
        let said = encoder.probabilities("line", &[&[text, "hi"], &["hi", text]]).unwrap();
        let is_whole = |odds: &Vec<f32>| (odds.iter().sum::<f32>() - 1.0).abs() < 1e-4;
        assert!(said.is_none_or(|said| said.iter().all(is_whole)));
    }
}

#[test]
fn damaged_files_are_errors() {
    let (whole, embedder) = (file("encoder.gguf"), file("embedder.gguf"));
    assert!(load(whole, embedder).is_some());
    for length in [0, 4, 24, 100, 3_000, 300_000, whole.len() - 1] {
        assert!(load(&whole[..length], embedder).is_none(), "{length}");
    }
    assert!(load(whole, &embedder[..embedder.len() / 2]).is_none());
    // A file without the head.
    assert!(load(file("reranker.gguf"), embedder).is_none());
}
