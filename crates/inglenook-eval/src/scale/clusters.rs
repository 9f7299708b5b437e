//! Made-up facts with vectors. People return to the same things, so facts form groups, groups form topics, and
//! all of them lie in the cone that an embedder maps one person's life to.
//!
//! The parameters, chosen and not fitted, give two random facts a cosine of about 0.3, two of a topic 0.45 and two
//! of a group 0.7. (MiniLM on the five dev conversations: 0.34 to 0.385 for random facts.)

use std::fmt::Write as _;

use inglenook::memory::Embedding;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

pub(super) const DIMENSIONS: usize = 384;

/// Squared lengths of a fact's components: cone, topic, group, individual.
const SHARES: [f32; 4] = [0.30, 0.15, 0.25, 0.30];

/// Squared length of a question's individual component: questions are further from facts than facts from each other.
const QUESTION_SHARES: [f32; 4] = [0.25, 0.15, 0.20, 0.40];

/// One in this many facts begins a group.
const NEW_GROUP_EVERY: u32 = 7;

const N_GENERAL_WORDS: usize = 3_000;

/// A generator of facts. The same seed and size give the same facts.
pub(super) struct Clusters {
    rng: ChaCha8Rng,
    cone: Vec<f32>,
    /// Seeds of the topics and of their groups.
    topics: Vec<(u64, Vec<u64>)>,
}

/// A fact or a question.
pub(super) struct Drawn {
    pub vector: Embedding,
    pub text: String,
}

impl Clusters {
    /// For `n` facts. More facts have more topics, and more facts per topic.
    pub(super) fn new(seed: u64, n_facts: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let n_topics = ((n_facts as f64).sqrt() * 2.0).ceil() as usize;
        let cone = direction(rng.random());
        let topics = (0..n_topics.max(1)).map(|_| (rng.random(), Vec::new())).collect();
        Self { rng, cone, topics }
    }

    pub(super) fn fact(&mut self) -> Drawn {
        // Some topics come up more often than others.
        let u: f64 = self.rng.random();
        let at = (u.powf(1.5) * self.topics.len() as f64) as usize;
        let is_new = self.rng.random_ratio(1, NEW_GROUP_EVERY);
        let fresh = self.rng.random();
        let (topic, groups) = &mut self.topics[at];
        let topic = *topic;
        let group = match groups.choose(&mut self.rng) {
            Some(&group) if !is_new => group,
            _ => {
                groups.push(fresh);
                fresh
            }
        };
        self.drawn(topic, group, SHARES)
    }

    /// A question about an existing group.
    pub(super) fn question(&mut self) -> Drawn {
        let known: Vec<&(u64, Vec<u64>)> = self.topics.iter().filter(|t| !t.1.is_empty()).collect();
        let found = known.choose(&mut self.rng).map(|t| (t.0, t.1.choose(&mut self.rng).copied()));
        let (topic, group) = found.unwrap_or_default();
        self.drawn(topic, group.unwrap_or_default(), QUESTION_SHARES)
    }

    fn drawn(&mut self, topic: u64, group: u64, shares: [f32; 4]) -> Drawn {
        let parts =
            [&self.cone, &direction(topic), &direction(group), &direction(self.rng.random())];
        let mut vector = vec![0.0f32; DIMENSIONS];
        for (part, share) in parts.into_iter().zip(shares) {
            for (x, y) in vector.iter_mut().zip(part) {
                *x += share.sqrt() * y;
            }
        }
        // Words of its topic, of its group, and common words by a Zipf-like distribution.
        let mut text = "Ana".to_owned();
        for (letter, seed) in [('t', topic), ('t', topic), ('g', group), ('g', group)] {
            let _ = write!(text, " {letter}{}{}", seed % 1_000_000, self.rng.random_range(0..6));
        }
        for _ in 0..4 {
            let u: f64 = self.rng.random();
            let _ = write!(text, " word{}", (N_GENERAL_WORDS as f64).powf(u) as usize);
        }
        // No vector that is drawn here is empty or without a direction.
        let vector = Embedding::normalise(vector).unwrap_or_else(|_| unreachable!());
        Drawn { vector, text }
    }
}

/// A random direction.
fn direction(seed: u64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut values = Vec::with_capacity(DIMENSIONS);
    while values.len() < DIMENSIONS {
        // Box–Muller transform.
        let (u, v): (f32, f32) = (1.0 - rng.random::<f32>(), rng.random());
        let (radius, angle) = ((-2.0 * u.ln()).sqrt(), std::f32::consts::TAU * v);
        values.extend([radius * angle.cos(), radius * angle.sin()]);
    }
    let length = values.iter().map(|x| x * x).sum::<f32>().sqrt();
    values.iter().map(|x| x / length).collect()
}
