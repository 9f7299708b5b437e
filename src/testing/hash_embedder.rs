//! An embedder without weights: hashed words and character trigrams, so that texts that share
//! words are similar. Deterministic.

use crate::interfaces::{Embedder, ModelError};
use crate::memory::Embedding;

const DIMENSIONS: usize = 128;

/// Hashes words and trigrams into a vector.
#[derive(Debug, Clone, Default)]
pub struct HashEmbedder;

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

fn vector(text: &str) -> Vec<f32> {
    let mut v = vec![0.0; DIMENSIONS];
    let mut add = |feature: &[u8], weight: f32| {
        let h = fnv1a(feature);
        let bucket = (h % DIMENSIONS as u64) as usize;
        v[bucket] += if h >> 63 == 0 { weight } else { -weight };
    };
    add(b"\0bias", 0.1);
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty())
    {
        add(word.as_bytes(), 1.0);
        for trigram in word.as_bytes().windows(3) {
            add(trigram, 0.2);
        }
    }
    v
}

impl Embedder for HashEmbedder {
    fn id(&self) -> &'static str {
        "hash-128"
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        texts
            .iter()
            .map(|text| {
                Embedding::normalise(vector(text))
                    .or_else(|_| Embedding::normalise(vec![1.0; DIMENSIONS]))
                    .map_err(|e| ModelError::Backend { what: e.to_string(), source: None })
            })
            .collect()
    }
}
