//! The memory core on real vectors: `cargo bench -p inglenook-eval --bench memory`. Sizes that no personal memory has
//! yet are measured by `inglenook-eval bench memory`.
//!
//! The vectors are those of the five dev conversations, where they lie beside the checkout.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a benchmark")]

use std::path::Path;
use std::sync::LazyLock;

use divan::{Bencher, black_box};
use inglenook::memory::partition::Cluster;
use inglenook::memory::{Embedding, Hierarchy, SemanticId};
use inglenook_eval::{assimilate, npy};

fn main() {
    if CONVERSATIONS.is_empty() {
        eprintln!("skipped: the benchmark: ../shared/data/locomo-dev-memories is not there");
        return;
    }
    divan::main();
}

/// 1,143 semantics altogether.
static CONVERSATIONS: LazyLock<Vec<Vec<Embedding>>> = LazyLock::new(|| {
    let memories =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/locomo-dev-memories");
    ["Caroline_0", "Jon_1", "Tim_4", "James_6", "Calvin_9"]
        .iter()
        .filter_map(|folder| std::fs::read(memories.join(folder).join("semantics.f32.npy")).ok())
        .map(|bytes| npy::rows(&bytes).unwrap())
        .collect()
});

fn insert(hierarchy: &mut Hierarchy, number: usize, vector: &Embedding) {
    assimilate(hierarchy, SemanticId(number as i64), vector.clone());
}

fn assimilated(vectors: &[Embedding]) -> Hierarchy {
    let mut hierarchy = Hierarchy::default();
    for (number, vector) in vectors.iter().enumerate() {
        insert(&mut hierarchy, number, vector);
    }
    hierarchy
}

/// The five conversations from nothing: themes and both graphs, one semantic after the other. The
/// official Python takes 9 s.
#[divan::bench]
fn assimilate_five_conversations(bencher: Bencher<'_, '_>) {
    bencher.bench(|| CONVERSATIONS.iter().map(|v| assimilated(v)).collect::<Vec<_>>());
}

/// One semantic more, in the largest conversation.
#[divan::bench]
fn insert_one(bencher: Bencher<'_, '_>) {
    let vectors = CONVERSATIONS.iter().max_by_key(|v| v.len()).unwrap();
    let (last, before) = vectors.split_last().unwrap();
    let hierarchy = assimilated(before);
    bencher.with_inputs(|| hierarchy.clone()).bench_values(|mut hierarchy| {
        insert(&mut hierarchy, before.len(), last);
        hierarchy
    });
}

/// The ten themes nearest to a vector: what every insert asks several times.
#[divan::bench]
fn nearest_themes(bencher: Bencher<'_, '_>) {
    let vectors = CONVERSATIONS.iter().max_by_key(|v| v.len()).unwrap();
    let hierarchy = assimilated(vectors);
    bencher.bench(|| hierarchy.partition.nearest_themes(black_box(&vectors[0]), 10, None));
}

/// A theme from its members, as every candidate of a split is made.
#[divan::bench]
fn cluster_of_twelve(bencher: Bencher<'_, '_>) {
    let vectors = &CONVERSATIONS[0];
    let members = || (0..12).map(|i| (SemanticId(i), vectors[i as usize].clone())).collect();
    bencher.with_inputs(members).bench_values(Cluster::of);
}
