//! The gate's report.

use std::fmt::Write as _;

use super::{cell, shown};
use crate::answering::calibration::GateReport;
use crate::metrics::Interval;

impl GateReport {
    /// Tables of the calibration and of the sweep. No seconds: the same data give the same text.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "# Does the gate know what it lets in?\n\nReader: {} ({}). Questions: {} of {}, in {} \
             conversations.\n\n## Calibration\n\nEvery episode is shown alone behind the coarse context. AUC: how \
             often an episode that holds evidence lowers the uncertainty more than one that holds none, \
             over all probes and within a question (mean over the questions with both, 95 % \
             interval). *order*: the order in which they are probed, without any reader.\n\n\
             | Signal | AUC | Within a question | Questions | Probes | With evidence |\n\
             |---|---|---|---|---|---|\n",
            cell(&self.model),
            self.sha256.chars().take(12).collect::<String>(),
            self.questions,
            self.questions_in_file,
            self.conversations,
        );
        for row in &self.signals {
            let auc = row.auc.map_or_else(|| "–".into(), |auc| format!("{auc:.3}"));
            let _ = writeln!(
                text,
                "| {} | {auc} | {} | {} | {} | {} |",
                row.signal,
                interval(row.within, 3),
                row.questions,
                row.probes,
                row.with_evidence,
            );
        }
        if let Some(swept) = self.swept {
            self.write_sweep(&mut text, swept);
        }
        if !self.skipped.is_empty() {
            text += "\n## Left out\n\n";
            for skipped in &self.skipped {
                let _ = writeln!(text, "- {}: {}", cell(&skipped.what), cell(&skipped.reason));
            }
        }
        text
    }

    fn write_sweep(&self, text: &mut String, swept: &str) {
        let _ = write!(
            text,
            "\n## Threshold\n\nThe program's own recall, answering. An episode is admitted from such a drop of {swept} on; \
             means with 95 % intervals over the same questions.\n\n\
             | Admits from | Questions | F1 | Tokens/query | Tokens processed | Evidence recall |\n\
             |---|---|---|---|---|---|\n",
        );
        for row in &self.sweep {
            let from = row.threshold.map_or_else(|| "nothing".into(), |t| format!("{t:.2}"));
            let _ = writeln!(
                text,
                "| {from} | {} | {} | {} | {} | {} |",
                row.questions,
                shown(&row.f1, 3),
                shown(&row.tokens, 0),
                shown(&row.processed_tokens, 0),
                interval(row.evidence_recall, 3),
            );
        }
    }
}

fn interval(interval: Option<Interval>, digits: usize) -> String {
    interval.map_or_else(|| "–".into(), |interval| shown(&interval, digits))
}
