//! The six tests of the small-LLM memory agent (its Table 1), on the rules alone: a memory of
//! statements, judged pairwise, and the extractive reader.

use super::*;

/// What worker, store and recall do, without them.
#[derive(Default)]
struct Memory {
    facts: Vec<(Statement, DateTime, bool)>,
}

impl Memory {
    fn hear(&mut self, text: &str, at: DateTime) -> bool {
        let utterance = Utterance { at, ..said("The user", None, text) };
        if route(&utterance) == Route::Discard {
            return false;
        }
        for statement in statements(&[utterance]) {
            let mut absorbed = false;
            for (old, _, superseded) in &mut self.facts {
                if *superseded {
                    continue;
                }
                match judge(old, &statement, 0.6) {
                    Judgement::KeepBoth => {}
                    Judgement::Supersedes => *superseded = true,
                    Judgement::Merge(text) => {
                        absorbed |= text == old.text;
                        *superseded |= text == statement.text && text != old.text;
                    }
                }
            }
            if !absorbed {
                self.facts.push((statement, at, false));
            }
        }
        true
    }

    fn current(&self) -> Vec<&str> {
        self.facts.iter().filter(|f| !f.2).map(|f| f.0.text.as_str()).collect()
    }

    fn ask(&self, question: &str, person: Option<&str>) -> Option<String> {
        let candidates: Vec<Candidate> = self
            .facts
            .iter()
            .map(|(s, at, superseded)| Candidate {
                relevance: 0.4,
                superseded: *superseded,
                ..evidence(&s.text, *at)
            })
            .collect();
        answer(question, &candidates, NOW, person).map(|a| a.text)
    }
}

#[test]
fn the_six_multi_session_tests() {
    let mut memory = Memory::default();
    // 1: insertion into an empty memory.
    assert!(memory.hear("My dog Max is a golden retriever. He loves playing fetch.", NOW));
    assert_eq!(
        memory.current(),
        [
            "The user's dog Max is a golden retriever",
            "Max is the user's dog",
            "Max loves playing fetch",
        ]
    );
    // 2: the breed is corrected, the rest stays.
    assert!(memory.hear("Actually, Max is a Labrador mix, not a purebred.", NOW));
    assert_eq!(
        memory.current(),
        [
            "Max is the user's dog",
            "Max loves playing fetch",
            "Max is a Labrador mix, not a purebred",
        ]
    );
    // 3 and 4: more, without conflicts.
    assert!(memory.hear("Max gets anxious during thunderstorms.", NOW));
    assert!(memory.hear("Max lives with my sister Emily in Portland.", NOW));
    assert_eq!(
        memory.current()[3..],
        [
            "Max gets anxious during thunderstorms",
            "Max lives with the user's sister Emily in Portland",
            "Emily is the user's sister",
        ]
    );
    // 5: recall in a new session; the question itself is discarded.
    assert!(!memory.hear("What do we know about Max?", NOW));
    let told = memory.ask("What do we know about Max?", None).unwrap_or_default();
    for fact in [
        "Max is your dog",
        "Labrador mix",
        "loves playing fetch",
        "anxious during thunderstorms",
        "Max lives with your sister Emily in Portland",
    ] {
        assert!(told.contains(fact), "{fact:?} is not in {told}");
    }
    assert!(!told.contains("golden"), "the old breed is still told: {told}");
    // 6: the age is appended; nothing else is lost.
    let before = memory.current().len();
    assert!(memory.hear("Max is now 5 years old.", NOW));
    assert_eq!(memory.current().len(), before + 1);
    let told = memory.ask("What do we know about Max?", None).unwrap_or_default();
    for fact in ["5 years old", "Labrador mix", "playing fetch", "thunderstorms", "Portland"] {
        assert!(told.contains(fact), "{fact:?} is not in {told}");
    }
    // History can be asked about.
    let past = memory.ask("What breed was Max before?", None).unwrap_or_default();
    assert!(past.contains("golden retriever") && past.contains("no longer"), "{past}");
}

#[test]
fn the_papers_own_wording_is_split_so_that_nothing_is_lost() {
    let mut memory = Memory::default();
    memory.hear("Max, a golden retriever, loves playing fetch.", NOW);
    memory.hear("Max is a Labrador mix.", NOW);
    memory.hear("Max is 4.", NOW);
    memory.hear("Max is now 5 years old.", NOW);
    assert_eq!(
        memory.current(),
        ["Max loves playing fetch", "Max is a Labrador mix", "Max is now 5 years old",]
    );
}

#[test]
fn a_new_user_tells_three_things_and_asks_later() {
    let mut memory = Memory::default();
    memory.hear("hey! im ana, 34, from porto", NOW);
    memory.hear("i work as a nurse and i moved to lund last week", NOW);
    memory.hear("my cat luna hates the vacuum cleaner", NOW);
    let ask = |q: &str| memory.ask(q, Some("Ana")).unwrap_or_else(|| panic!("no answer to {q:?}"));
    assert!(ask("what's my name?").contains("Ana"));
    assert!(ask("how old am i").contains("34"));
    assert!(ask("where do i live").contains("lund"));
    assert!(ask("when did I move to Lund?").contains("in the week of 9 November 2026"));
    assert!(ask("what do i do for a living?").contains("nurse"));
    assert!(ask("where am i from").contains("porto"));
    assert!(ask("what is my cat called").contains("Luna"));
    assert!(ask("what does luna hate").contains("vacuum cleaner"));
    assert_eq!(memory.ask("what is my dog called", Some("Ana")), None);
    assert_eq!(memory.ask("what is my phone number", Some("Ana")), None);
    assert_eq!(memory.ask("who won the world cup in 1998", Some("Ana")), None);
}
