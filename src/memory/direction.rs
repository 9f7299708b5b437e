//! A question's vector without what all memories have in common.
//!
//! Sentences about the same few people have similar vectors whatever they say, and so does the
//! question. Subtracting the common part leaves what tells them apart.

use super::Embedding;
use super::embedding::dot;

/// The mean of vectors of one length, by component; empty without vectors.
pub fn mean(vectors: &[Embedding]) -> Vec<f64> {
    let mut mean = vec![0.0; vectors.first().map_or(0, Embedding::dimensions)];
    for vector in vectors {
        for (sum, x) in mean.iter_mut().zip(vector.as_slice()) {
            *sum += f64::from(*x) / vectors.len() as f64;
        }
    }
    mean
}

/// What the vectors of one level are compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct Direction {
    /// The question's vector without the common part, at unit length.
    pub vector: Embedding,
    /// The cosine of an average memory with [`Self::vector`].
    average: f64,
}

impl Direction {
    /// Subtracts part of a mean of `n` vectors, of all or some memories of one level. With few of them
    /// little is subtracted: what they have in common may be what they are about.
    pub fn new(question: &Embedding, mean: &[f64], n: usize) -> Self {
        /// With this many vectors, half of their mean is subtracted.
        const N_HALF: f64 = 20.0;
        if n == 0 {
            return Self { vector: question.clone(), average: 0.0 };
        }
        let share = n as f64 / (n as f64 + N_HALF);
        let rest =
            question.as_slice().iter().zip(mean).map(|(q, m)| (f64::from(*q) - share * m) as f32);
        // A question that equals the common part stays as it is.
        let vector = Embedding::normalise(rest.collect()).unwrap_or_else(|_| question.clone());
        let mean: Vec<f32> = mean.iter().map(|&m| m as f32).collect();
        let average = f64::from(dot(&mean, vector.as_slice()));
        Self { vector, average }
    }

    /// How much nearer a memory with this `cosine` to [`Self::vector`] is than an average one.
    pub fn nearness(&self, cosine: f32) -> f64 {
        f64::from(cosine) - self.average
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::unit;

    #[test]
    fn what_all_have_in_common_does_not_count() {
        // All speak of x; the question asks for y as well; only one memory has it.
        let other = unit(&[1.0, 0.0, 0.3]);
        let wanted = unit(&[1.0, 0.3, 0.0]);
        let sample: Vec<Embedding> =
            std::iter::repeat_n(other.clone(), 99).chain([wanted.clone()]).collect();
        let question = unit(&[1.0, 0.2, 0.0]);
        let plain = question.cosine(&wanted) - question.cosine(&other);
        let direction = Direction::new(&question, &mean(&sample), sample.len());
        let nearness = |memory: &Embedding| direction.nearness(memory.cosine(&direction.vector));
        assert!(nearness(&wanted) - nearness(&other) > f64::from(3.0 * plain));
        assert!(nearness(&other).abs() < 0.05, "an average one is neither near nor far");
    }

    #[test]
    fn without_memories_it_is_the_question() {
        let question = unit(&[1.0, 2.0, 3.0]);
        let direction = Direction::new(&question, &[], 0);
        assert!(direction.vector.cosine(&question) > 0.999_999);
        assert!(direction.nearness(0.5) - 0.5 < 1e-9);
        // Nor can it come to nothing.
        let same = Direction::new(&question, &mean(std::slice::from_ref(&question)), 1000);
        assert!(same.vector.as_slice().iter().all(|x| x.is_finite()));
    }
}
