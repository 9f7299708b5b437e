//! Reports without a reader, as tables of the papers' shapes. They hold no seconds: the same data give
//! the same text.

use std::fmt::Write as _;

use super::growth::AGES;
use super::{BUDGETS, Category, DensityRow, RetrievalReport, ThemesReport, ThemesRow};
use crate::plot::{Bars, Plot, bars};

/// LoCoMo's categories in the papers' order.
const KINDS: [(Category, &str); 5] = [
    (Category::One(1), "Multi-hop"),
    (Category::One(2), "Temporal"),
    (Category::One(3), "Open-domain"),
    (Category::One(4), "Single-hop"),
    (Category::All, "All"),
];

impl RetrievalReport {
    /// Evidence recall, evidence density (xMemory Figure 4) and coverage (Tables 3 and 5).
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "# What recall finds\n\n{} conversations, {} questions. Vectors of the memories: {}; of the messages \
             that naive-rag searches: {}. No reader is asked.\n\n## Evidence recall within so many \
             characters\n\n",
            self.conversations, self.questions, self.vectors, self.message_vectors
        );
        text += &head("Method | Characters", KINDS.map(|(_, name)| name).as_slice());
        let mut groups: Vec<(&str, Option<usize>)> =
            self.rows.iter().map(|row| (row.method, row.budget_characters)).collect();
        groups.dedup();
        for (method, budget) in groups {
            let shown = budget.map_or_else(|| "its own".into(), |n| n.to_string());
            let _ = write!(text, "| {method} | {shown} |");
            for (kind, _) in KINDS {
                let row = self.rows.iter().find(|row| {
                    (row.method, row.budget_characters, row.category) == (method, budget, kind)
                });
                let shown = row.map_or_else(|| "–".into(), |r| format!("{:.3}", r.evidence_recall));
                let _ = write!(text, " {shown} |");
            }
            text += "\n";
        }
        text += "\n## Evidence density\n\nThe shape of xMemory's Figure 4: the share, in percent, of the blocks a reader is \
                 shown that hold exactly one, exactly two, and more different content words of the \
                 answer.\n\n";
        text += &head("Questions | Method", &["1-hit", "2-hit", "Multi-hit"]);
        self.density_rows(&mut text, |row| {
            let percent = |share: f64| format!("{:.2}", 100.0 * share);
            vec![percent(row.one_hit), percent(row.two_hit), percent(row.multi_hit)]
        });
        text += "\n## Coverage\n\nThe shape of xMemory's Tables 3 and 5: blocks, best first, and their tokens (1.3 a word) until \
                 every content word of the answer is there, over the questions where all methods have \
                 them.\n\n";
        text += &head("Questions | Method", &["Blocks", "Tokens", "Questions compared", "Covered"]);
        self.density_rows(&mut text, |row| {
            vec![
                format!("{:.2}", row.blocks_to_cover),
                format!("{:.1}", row.tokens_to_cover),
                row.questions.to_string(),
                row.covered.to_string(),
            ]
        });
        text
    }

    fn density_rows(&self, text: &mut String, cells: impl Fn(&DensityRow) -> Vec<String>) {
        for (kind, name) in KINDS {
            for row in self.density.iter().filter(|row| row.category == kind) {
                let _ = writeln!(text, "| {name} | {} | {} |", row.method, cells(row).join(" | "));
            }
        }
    }

    /// Evidence recall by method, a bar a budget.
    #[must_use]
    pub fn plots(&self) -> Vec<Plot> {
        let budgets: Vec<Option<usize>> = BUDGETS.into_iter().map(Some).chain([None]).collect();
        let names = budgets.iter().map(|budget| {
            budget.map_or_else(|| "its own size".to_owned(), |n| format!("{n} characters"))
        });
        let names: Vec<String> = names.collect();
        let of_all = || self.rows.iter().filter(|row| row.category == Category::All);
        let mut methods: Vec<&str> = of_all().map(|row| row.method).collect();
        methods.dedup();
        let rows: Vec<Bars> = methods
            .into_iter()
            .map(|method| {
                let of = |&budget| {
                    of_all().find(|row| (row.method, row.budget_characters) == (method, budget))
                };
                let recall = |budget| of(budget).map_or(0.0, |row| row.evidence_recall);
                Bars { name: method.to_owned(), values: budgets.iter().map(recall).collect() }
            })
            .collect();
        let series: Vec<&str> = names.iter().map(String::as_str).collect();
        let title = "Evidence recall within so many characters";
        bars("recall.svg", title, &series, &rows).into_iter().collect()
    }
}

impl ThemesReport {
    /// The ablation of the construction (xMemory Tables 6 to 8, Figure 5), without a reader.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "# What organising facts into themes is worth\n\n{} conversations, {} facts, {} questions. No reader is \
             asked: recall is the share of an answer's messages that Stage I finds within 1,350 \
             characters.\n\n## Every variant\n\n",
            self.conversations, self.semantics, self.questions
        );
        let columns = [
            "Themes",
            "Facts a theme",
            "Largest",
            "Reassigned %",
            "Cohesion",
            "Held-out cohesion",
            "Eq. 1",
            "Recall",
            "Multi-hop recall",
            "Recall of 40 facts",
            "Comparisons",
        ];
        text += &head("Variant", &columns);
        for row in &self.rows {
            let _ = writeln!(
                text,
                "| {} | {} | {:.2} | {} | {:.1} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.0} |",
                row.variant,
                row.themes,
                row.mean_size,
                row.largest,
                100.0 * row.reassigned,
                row.cohesion,
                row.held_out,
                row.guidance,
                row.evidence_recall,
                row.multi_hop_recall,
                row.pool_recall,
                row.comparisons,
            );
        }
        text += "\n## Retroactive restructuring\n\nThe shape of xMemory's Tables 6 and 7.\n\n";
        text +=
            &head("Setting", &["Multi-hop recall", "Recall", "Reassigned %", "#Themes", "#Facts"]);
        let settings = [
            ("neither", "w/o merge&split"),
            ("no-split", "w/o split"),
            ("no-merge", "w/o merge"),
            ("full", "full"),
        ];
        for (variant, name) in settings {
            let Some(row) = self.row(variant) else { continue };
            let _ = writeln!(
                text,
                "| {name} | {:.3} | {:.3} | {:.2} | {} | {} |",
                row.multi_hop_recall,
                row.evidence_recall,
                100.0 * row.reassigned,
                row.themes,
                self.semantics,
            );
        }
        text += "\n## The cap\n\nThe shape of xMemory's Table 8.\n\n";
        text += &head("Upper bound", &["Multi-hop recall", "Recall", "#Themes", "Facts a theme"]);
        for (variant, name) in [("cap-14", "14"), ("full", "12"), ("cap-10", "10"), ("cap-8", "8")]
        {
            let Some(row) = self.row(variant) else { continue };
            let _ = writeln!(
                text,
                "| {name} | {:.3} | {:.3} | {} | {:.2} |",
                row.multi_hop_recall, row.evidence_recall, row.themes, row.mean_size,
            );
        }
        text += "\n## Theme flips over time\n\nChanges of a theme for each fact that came, by tenth of a memory's life.\n\n";
        let ages: Vec<String> = (1..=AGES).map(|age| age.to_string()).collect();
        text += &head("Variant", &ages.iter().map(String::as_str).collect::<Vec<_>>());
        for row in &self.rows {
            let flips: Vec<String> = row.flips.iter().map(|n| format!("{n:.2}")).collect();
            let _ = writeln!(text, "| {} | {} |", row.variant, flips.join(" | "));
        }
        text
    }

    fn row(&self, variant: &str) -> Option<&ThemesRow> {
        self.rows.iter().find(|row| row.variant == variant)
    }

    /// The ablation (Figure 5).
    #[must_use]
    pub fn plots(&self) -> Vec<Plot> {
        let rows: Vec<Bars> = self
            .rows
            .iter()
            .map(|row| Bars {
                name: row.variant.to_owned(),
                values: vec![row.evidence_recall, row.held_out, row.reassigned],
            })
            .collect();
        let series = ["evidence recall of Stage I", "held-out cohesion", "reassigned facts"];
        bars("themes.svg", "Ways to organise the same facts", &series, &rows).into_iter().collect()
    }
}

/// The first two lines of a table.
fn head(first: &str, columns: &[&str]) -> String {
    let n = first.split('|').count() + columns.len();
    format!("| {first} | {} |\n|{}\n", columns.join(" | "), "---|".repeat(n))
}
