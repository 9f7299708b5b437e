//! The search alone: what is found, and in what order.

use super::*;
use crate::extractive::Words;
use crate::interfaces::{Reranker, Span};
use crate::memory::relevance::{Relevance, Reranking};

/// Facts and messages are searched in separate snapshots: what is written or forgotten between the two
/// is no error.
#[test]
fn what_is_written_and_forgotten_meanwhile_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let builder = Builder::within(Store::open(dir.path()).unwrap());
    builder.tell("Max", 0, &[("Max sleeps on the sofa.", "Max the dog sleeps on the sofa.")]);
    let config = RecallConfig::default();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let id = builder.say(Role::User, "Max sleeps in the garden, I think.", 1);
                let forget = |tx: &mut crate::store::WriteTx<'_>| {
                    let plan = tx.plan_forget(&[crate::store::AnyId::Message(id)], None)?;
                    tx.forget(&plan)
                };
                builder.store.write(forget).unwrap();
            }
        });
        let ask =
            || EvidenceSearch::new(&builder.store, &HashEmbedder, None, &config, QUESTION, at(2));
        let mut found = (0..200).map(|_| ask().map(|search| search.facts().len()));
        let wrong = found.find(|found| !matches!(found, Ok(1)));
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(wrong.is_none(), "{wrong:?}");
    });
}

/// A reranker that prefers texts with a word, and does not read questions with "xyzzy".
struct WordReranker {
    word: &'static str,
    read: std::sync::Mutex<Vec<String>>,
}

impl Reranker for WordReranker {
    fn scores(&self, question: &str, texts: &[&str]) -> Result<Option<Vec<f32>>, ModelError> {
        self.read.lock().unwrap().extend(texts.iter().map(|&text| text.to_owned()));
        let score = |text: &&str| if text.contains(self.word) { 9.0 } else { -9.0 };
        Ok((!question.contains("xyzzy")).then(|| texts.iter().map(score).collect()))
    }

    fn spans(&self, _: &str, texts: &[&str]) -> Result<Option<Vec<Option<Span>>>, ModelError> {
        let found = |text: &&str| {
            let at = text.find(self.word)?;
            Some(Span { bytes: at..at + self.word.len(), log_odds: 9.0 })
        };
        Ok(Some(texts.iter().map(found).collect()))
    }
}

/// The facts that are found, best first.
fn facts(
    builder: &Builder,
    reranker: &WordReranker,
    config: &RecallConfig,
    question: &str,
) -> Vec<String> {
    let (store, reranker): (_, Option<&dyn Reranker>) = (&builder.store, Some(reranker));
    let search = EvidenceSearch::new(store, &HashEmbedder, reranker, config, question, at(9));
    search.unwrap().facts().into_iter().map(|fact| fact.text).collect()
}

#[test]
fn what_a_reranker_prefers_comes_first() {
    let (builder, _) = dog_memory();
    builder.store.write(|tx| tx.set_setting("user_name", "Ana")).unwrap();
    builder.tell("Ana", 4, &[("I like Max", "Ana likes Max")]);
    let reranking = Reranking { bias: 0.0, features: [1.0, 0.5, 0.0, 0.0] };
    let relevance = Relevance { reranking, ..Default::default() };
    let config = RecallConfig { relevance, relevance_min: 0.0, ..RecallConfig::default() };
    let ask = |word, question: &str, n_reranked| {
        let reranker = WordReranker { word, read: std::sync::Mutex::default() };
        let config = RecallConfig { n_reranked, ..config.clone() };
        let facts = facts(&builder, &reranker, &config, question);
        (facts, reranker.read.into_inner().unwrap())
    };
    let question = QUESTION;
    assert!(ask("nothing", question, 0).0[0].contains("kitchen"));
    let (facts, read) = ask("post", question, 32);
    assert!(facts[0].contains("post"), "{facts:?}");
    assert!(read.contains(&"The user: Max sleeps in the kitchen".to_owned()), "{read:?}");
    assert_eq!(read.len(), 9, "each fact and each message once");
    assert!(ask("post", "xyzzy: where does Max sleep?", 32).0[0].contains("kitchen"));
    let (facts, read) = ask("kitchen", question, 1);
    assert!(facts[0].contains("kitchen") && read.len() == 1);
    // A question that says "I" is about whom the facts call by name.
    assert!(ask("", "What do I like?", 32).1.contains(&"The user likes Max".to_owned()));
    assert!(ask("", "What does Ana like?", 32).1.contains(&"Ana likes Max".to_owned()));
}

#[test]
fn what_was_superseded_stays_behind_whatever_a_reranker_says() {
    let builder = Builder::new();
    let old = builder.tell("Weight", 1, &[("Max weighs five kilos", "Max weighs five kilos")]);
    let new = builder.tell("Weight", 2, &[("Max weighs six kilos", "Max weighs six kilos")]);
    builder.store.write(|tx| tx.supersede(old.facts[0], new.facts[0], None, at(3))).unwrap();
    let reranker = WordReranker { word: "five", read: std::sync::Mutex::default() };
    let reranking = Reranking { bias: 0.0, features: [0.5, 0.5, 0.0, 0.0] };
    let relevance = Relevance { reranking, ..Default::default() };
    let config = RecallConfig { relevance, ..RecallConfig::default() };
    let first = |question: &str| facts(&builder, &reranker, &config, question).remove(0);
    assert_eq!(first("What does Max weigh?"), "Max weighs six kilos");
    assert_eq!(first("What did Max weigh before?"), "Max weighs five kilos");
}

#[test]
fn rules_have_a_reranker_read_only_what_they_are_not_sure_of() {
    let (builder, _) = dog_memory();
    builder.tell("Classes", 4, &[("I joined pottery classes", "The user joined pottery classes")]);
    let ask = |question: &str| {
        let reranker =
            Arc::new(WordReranker { word: "pottery", read: std::sync::Mutex::default() });
        let models =
            Models { reranker: Some(reranker.clone()), ..models(&ScriptedModel::new(&[])) };
        let cancel = Cancel::default();
        let config = RecallConfig::default();
        let request =
            RecallRequest { now: at(9), reader: Reader::Extractive, ..request(question, &cancel) };
        let recall = Recall { store: &builder.store, models: &models, config };
        let evidence = recall.run(request, &mut |_| {}).unwrap();
        let found = extractive::answer(question, &evidence.candidates, at(9).civil(), None);
        let n_read = reranker.read.lock().unwrap().len();
        (found.map(|found| found.text), n_read)
    };
    let (found, n_read) = ask("Where does Max sleep?");
    assert!(found.unwrap().contains("kitchen") && n_read == 0, "{n_read}");
    let (found, n_read) = ask("Which craft is new to me?");
    assert!(found.unwrap().contains("pottery") && n_read > 4, "{n_read}");
    let (found, n_read) = ask("xyzzy: which craft is new to me?");
    assert!(found.is_none() && n_read > 4, "{found:?}");
}

#[test]
fn words_are_looked_for_in_what_was_said() {
    let said = "I joined pottery classes, on Mondays behind the old mill.";
    let builder = Builder::new();
    builder.tell("Classes", 4, &[(said, "The user joined pottery classes")]);
    let reranker = Arc::new(WordReranker { word: "pottery", read: std::sync::Mutex::default() });
    let models = Models { reranker: Some(reranker), ..models(&ScriptedModel::new(&[])) };
    let (cancel, config) = (Cancel::default(), RecallConfig::default());
    let request = RecallRequest {
        now: at(9),
        reader: Reader::Extractive,
        looks_for_words: true,
        ..request("Which craft is new to me?", &cancel)
    };
    let recall = Recall { store: &builder.store, models: &models, config };
    let evidence = recall.run(request, &mut |_| {}).unwrap();
    let Words::Answer(found) = &evidence.words else { panic!("{:?}", evidence.words) };
    assert_eq!(evidence.candidates[found.candidate].text, said);
    let shown: Vec<&str> = evidence.messages.iter().map(|m| m.text.as_str()).collect();
    assert_eq!(shown, [said]);
}
