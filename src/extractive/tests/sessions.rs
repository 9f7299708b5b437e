//! Whole conversations on the rules alone: a memory of statements, judged pairwise, and the extractive reader.

use super::*;

/// What worker, store and recall do, without them.
#[derive(Default)]
struct Memory {
    facts: Vec<(Statement, bool)>,
}

impl Memory {
    fn hear(&mut self, text: &str) {
        for statement in statements(&[said("The user", None, text)]) {
            let mut absorbed = false;
            for (old, superseded) in &mut self.facts {
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
                self.facts.push((statement, false));
            }
        }
    }

    fn current(&self) -> Vec<&str> {
        self.facts.iter().filter(|f| !f.1).map(|f| f.0.text.as_str()).collect()
    }

    fn ask(&self, question: &str, person: Option<&str>) -> Option<String> {
        let candidates: Vec<Candidate> = self
            .facts
            .iter()
            .map(|(s, superseded)| Candidate {
                relevance: 0.4,
                superseded: *superseded,
                ..evidence(&s.text, NOW)
            })
            .collect();
        answer(question, &candidates, NOW, person).map(|a| a.text)
    }
}

#[test]
fn the_papers_own_wording_is_split_so_that_nothing_is_lost() {
    let mut memory = Memory::default();
    memory.hear("Max, a golden retriever, loves playing fetch.");
    memory.hear("Max is a Labrador mix.");
    memory.hear("Max is 4.");
    memory.hear("Max is now 5 years old.");
    assert_eq!(
        memory.current(),
        ["Max loves playing fetch", "Max is a Labrador mix", "Max is now 5 years old",]
    );
}

#[test]
fn a_new_user_tells_three_things_and_asks_later() {
    let mut memory = Memory::default();
    memory.hear("hey! im ana, 34, from porto");
    memory.hear("i work as a nurse and i moved to lund last week");
    memory.hear("my cat luna hates the vacuum cleaner");
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
