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
        &["wants", "line", "answer", "span"],
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
        ("hi", [0.0173, 0.9655, 0.0088, 0.0084]),
        ("thx man, that helped", [0.0122, 0.9715, 0.008, 0.0082]),
        ("What is the capital of France?", [0.0466, 0.011, 0.012, 0.9304]),
        ("and in winter?", [0.059, 0.0103, 0.0131, 0.9177]),
        ("What is my sister's name?", [0.9608, 0.0145, 0.0099, 0.0149]),
        ("when is Lena's recital", [0.9681, 0.012, 0.0068, 0.0131]),
        ("I moved to Lund last week.", [0.0072, 0.0077, 0.9758, 0.0093]),
        (
            "my boss asked me why I was late, so I told him about the train",
            [0.0076, 0.0084, 0.9738, 0.0102],
        ),
        ("Suggest a dish I'd like.", [0.9782, 0.0081, 0.0055, 0.0081]),
        (&long, [0.925, 0.0186, 0.0473, 0.009]),
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
    close("line", &[four, fifth], &[0.9306, 0.0474, 0.022]);
    let cheese = "I eat cheese again since Monday.";
    close("line", &["The user is vegan", cheese], &[0.1798, 0.785, 0.0352]);
    let red_car = "My sister's boss has a red car.";
    close("line", &["The user lives in Ghent", red_car], &[0.6918, 0.0148, 0.2934]);
    // The answer changes, stays.
    let porridge = "What do I eat for breakfast? || I have porridge in the morning";
    close("answer", &[porridge, "I swapped the porridge for eggs."], &[0.9118, 0.0882]);
    let tulsa = "Where does Kaylee live? || Kaylee lives in Tulsa";
    close("answer", &[tulsa, fifth], &[0.0382, 0.9618]);
}

#[test]
fn spans_equal_those_of_the_training_code() {
    let encoder = starter::reranker();
    let niece = "my niece saoirse starts college in galway on monday, she's nervous";
    let rent = "Good news: he came down to \u{20ac}840 in the end, so I signed.";
    // As above: the best first and last token, and the sum of their scores less that of no answer.
    for (question, text, words, log_odds) in [
        ("Who is going to Galway?", niece, "saoirse", 1.315),
        ("When does college start?", niece, "monday", 2.125),
        ("What does the dog eat?", niece, "saoirse starts college in galway", -19.064),
        ("How much is the rent?", rent, "\u{20ac}840", -0.281),
    ] {
        let span = encoder.spans(question, &[text]).unwrap().unwrap().remove(0).unwrap();
        assert_eq!(&text[span.bytes.clone()], words, "{question}");
        assert!((span.log_odds - log_odds).abs() < 0.2, "{question} {span:?}");
    }
    // A long text is read in parts, and others beside it change nothing.
    let long = format!("{}{niece}", "Nothing else was said on that day. ".repeat(40));
    let texts = ["It rains.", &long, "ድመቷ የት ትተኛለች?"];
    let spans = encoder.spans("When does college start?", &texts).unwrap().unwrap();
    let [Some(rain), Some(college), None] = &spans[..] else { panic!("{spans:?}") };
    assert!(rain.log_odds < 0.0 && college.log_odds > 0.0, "{spans:?}");
    assert!(long[..college.bytes.end].ends_with(" monday"), "{spans:?}");
    assert_eq!(encoder.spans("", &["hi"]).unwrap(), None);
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
