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
    BertHeads::from_gguf(path, Bytes::Static(encoder), Bytes::Static(embedder), &["wants"]).ok()
}

#[test]
fn probabilities_equal_those_of_the_training_code() {
    let encoder = starter::reranker();
    let aside = "she talked and talked of this and that, ".repeat(12);
    let long = format!("My neighbour has rung, and {aside}so where did I put the spare key?");
    // `train_encoder.Encoder` in f32 with the matrices of the file, PyTorch 2.15. Memory, small talk, a statement,
    // the world.
    let rows: [(&str, [f32; 4]); 10] = [
        ("hi", [0.0207, 0.9514, 0.0119, 0.016]),
        ("thx man, that helped", [0.0049, 0.9812, 0.0065, 0.0074]),
        ("What is the capital of France?", [0.0104, 0.0298, 0.0171, 0.9426]),
        ("and in winter?", [0.0095, 0.0271, 0.01, 0.9534]),
        ("What is my sister's name?", [0.9777, 0.0092, 0.0081, 0.005]),
        ("when is Lena's recital", [0.9796, 0.0066, 0.0084, 0.0055]),
        ("I moved to Lund last week.", [0.0047, 0.0053, 0.9875, 0.0025]),
        (
            "my boss asked me why I was late, so I told him about the train",
            [0.0058, 0.0068, 0.9847, 0.0027],
        ),
        ("Suggest a dish I'd like.", [0.9878, 0.003, 0.0033, 0.0059]),
        (&long, [0.915, 0.025, 0.0259, 0.0341]),
    ];
    for (text, expected) in rows {
        let said = encoder.probabilities("wants", &[text]).unwrap().unwrap();
        for (said, expected) in said.iter().zip(expected) {
            assert!((said - expected).abs() < 0.01, "{text}: {said} {expected}");
        }
    }
}

#[test]
fn what_it_cannot_read_it_does_not_judge() {
    let encoder = starter::reranker();
    for text in ["", "  ", "ድመቷ የት ትተኛለች?"] {
        assert_eq!(encoder.probabilities("wants", &[text]).unwrap(), None, "{text}");
    }
    assert_eq!(encoder.probabilities("no such head", &["hi"]).unwrap(), None);
    let long = "very ".repeat(5_000);
    for text in [long.as_str(), "[CLS] [SEP] [MASK]", "\0\u{202e}\u{1f600}"] {
        let said = encoder.probabilities("wants", &[text, text]).unwrap();
        assert!(said.is_none_or(|said| (said.iter().sum::<f32>() - 1.0).abs() < 1e-4));
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
