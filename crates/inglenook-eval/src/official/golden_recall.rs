//! Recall of the official code on five real conversations, question by question: Stage I, the
//! order of the probes, and the gate under a scripted reader. Needs `../shared/data`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use inglenook::memory::Embedding;
use sha2::{Digest, Sha256};

use super::golden::{Conversation, USERS, skipped};
use super::recall::{OfficialGate, OfficialMemory, SourcedSemantic};
use crate::retrieval::growth::Organiser;

/// The reader of the reference runs: certain of an episode by chance.
fn scripted_uncertainty(question: &str, episode: &str) -> f64 {
    let hash = Sha256::digest(format!("{question}|{episode}"));
    let first = u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]);
    0.4 + 1.2 * f64::from(first) / f64::from(u32::MAX)
}

fn strings(value: &serde_json::Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect()
}

/// `Jon_1-s6-2` is of session 6.
fn session(semantic_id: &str) -> usize {
    let session = semantic_id.split("-s").nth(1).unwrap().split('-').next().unwrap();
    session.parse().unwrap()
}

/// A conversation with the themes that our official policy gives it, and names for comparing.
struct Reference {
    conversation: Conversation,
    memory: OfficialMemory,
    /// By our number.
    theme_names: Vec<String>,
    episode_names: Vec<String>,
    questions: Vec<String>,
    question_vectors: Vec<Embedding>,
}

impl Reference {
    fn load(user: &'static str) -> Self {
        let conversation = Conversation::load(user);
        let named: HashMap<BTreeSet<&str>, &str> = conversation.golden["themes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|theme| {
                let members = strings(&theme["semantic_ids"]).into_iter().collect();
                (members, theme["theme_id"].as_str().unwrap())
            })
            .collect();
        let partition = conversation.organised(Organiser::Official).0;
        let mut theme_names = Vec::new();
        let mut theme_of = BTreeMap::new();
        for (number, (_, cluster)) in partition.themes().enumerate() {
            let members = cluster.members().iter().map(|(id, _)| id.0 as usize);
            theme_of.extend(members.clone().map(|i| (i, number)));
            let members: BTreeSet<&str> = members.map(|i| conversation.ids[i].as_str()).collect();
            theme_names.push((*named.get(&members).expect("the same theme")).to_owned());
        }
        let episode_names: Vec<String> = conversation
            .lines("episodes.jsonl")
            .iter()
            .map(|episode| episode["episode_id"].as_str().unwrap().to_owned())
            .collect();
        let episode = |name: &str| episode_names.iter().position(|known| known == name).unwrap();
        let semantics: Vec<SourcedSemantic> = conversation
            .lines("semantics.jsonl")
            .iter()
            .enumerate()
            .map(|(i, semantic)| SourcedSemantic {
                embedding: conversation.vectors[i].clone(),
                theme: theme_of[&i],
                episodes: strings(&semantic["source_episodes"]).into_iter().map(episode).collect(),
                batch: session(&conversation.ids[i]),
            })
            .collect();
        let questions = std::fs::read_to_string(conversation.directory().join("qa.json")).unwrap();
        let questions: Vec<serde_json::Value> = serde_json::from_str(&questions).unwrap();
        Self {
            memory: OfficialMemory::new(&semantics, &conversation.matrix("episodes.f32.npy")),
            theme_names,
            episode_names,
            questions: questions
                .iter()
                .map(|q| q["question"].as_str().unwrap().to_owned())
                .collect(),
            question_vectors: conversation.matrix("questions.f32.npy"),
            conversation,
        }
    }

    /// Which of the four results differ for a question of the reference runs, and how.
    fn differences(&self, golden: &serde_json::Value) -> Vec<String> {
        let at = usize::try_from(golden["q"].as_u64().unwrap()).unwrap();
        let found = self.memory.recall(&self.question_vectors[at]);
        let episodes: Vec<&str> =
            found.probes.iter().map(|&i| self.episode_names[i].as_str()).collect();

        let mut gate = OfficialGate::new(1.0);
        for episode in &episodes {
            if !gate.is_done() {
                gate.record(scripted_uncertainty(&self.questions[at], episode));
            }
        }
        let gated: Vec<(&str, bool)> =
            gate.admitted().iter().map(|a| (episodes[a.probe], a.expanded)).collect();

        let themes: Vec<&str> =
            found.themes.iter().map(|&i| self.theme_names[i].as_str()).collect();
        let semantics: Vec<&str> =
            found.semantics.iter().map(|&i| self.conversation.ids[i].as_str()).collect();
        let pairs = [
            ("themes", serde_json::json!(themes)),
            ("semantics", serde_json::json!(semantics)),
            ("episodes_probe_order", serde_json::json!(episodes)),
            ("gated", serde_json::json!(gated)),
        ];
        pairs
            .into_iter()
            .filter(|(what, found)| golden[*what] != *found)
            .map(|(what, found)| {
                let user = self.conversation.user;
                format!("{user} question {at}, {what}: {found} is not {}", golden[what])
            })
            .collect()
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the agreement is the outcome")]
fn official_recall_equals_the_reference() {
    if skipped() {
        return;
    }
    let mut differences = Vec::new();
    for reference in USERS.iter().map(|user| Reference::load(user)) {
        let golden = reference.conversation.golden["stage"].as_array().unwrap();
        let of_each: Vec<Vec<String>> = golden.iter().map(|q| reference.differences(q)).collect();
        let n_equal = of_each.iter().filter(|found| found.is_empty()).count();
        println!("{}: {n_equal} of {} questions agree", reference.conversation.user, golden.len());
        differences.extend(of_each.into_iter().flatten());
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
