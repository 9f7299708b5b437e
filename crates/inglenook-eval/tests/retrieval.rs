//! Evidence recall on five real conversations of LoCoMo: a measurement, run by
//! `cargo test --release -p inglenook-eval --test retrieval -- --ignored --nocapture`.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement")]

use inglenook::inference::starter;
use inglenook::interfaces::Cancel;
use inglenook::recall::RecallConfig;
use inglenook::testing::shared;
use inglenook_eval::{BUDGETS, Category, RetrievalModels, RetrievalReport, measure_retrieval};

fn recall(report: &RetrievalReport, method: &str, category: Category, budget: usize) -> f64 {
    let row = report.rows.iter().find(|row| {
        (row.method, row.category, row.budget_characters) == (method, category, Some(budget))
    });
    row.unwrap().evidence_recall
}

#[test]
#[ignore = "a measurement of some seconds; needs ../shared/data"]
fn evidence_recall() {
    let Some(memories) = shared("data/locomo-dev-memories") else { return };
    let embedder = starter::embedder(&|_| {}).unwrap();
    let reranker = starter::reranker();
    let report = measure_retrieval(
        None,
        &memories,
        RetrievalModels { embedder: embedder.as_ref(), reranker: Some(reranker.as_ref()) },
        &RecallConfig::default(),
        false,
        &|_, _| {},
        &Cancel::default(),
    )
    .unwrap();
    for row in &report.rows {
        println!("{row:?}");
    }
    for row in &report.density {
        println!("{row:?}");
    }
    println!("{:.1} s", report.seconds);
    let of = |method, category, budget| recall(&report, method, category, budget);
    assert!(of("full", Category::All, 1350) >= 0.75);
    assert!(of("full", Category::All, 2700) >= 0.82);
    for budget in BUDGETS {
        let flat = of("flat", Category::All, budget);
        assert!(of("hybrid", Category::All, budget) > flat, "{budget}");
        assert!(of("full", Category::All, budget) > flat, "{budget}");
    }
}
