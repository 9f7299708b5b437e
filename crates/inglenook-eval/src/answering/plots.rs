//! The plots of a run, beside its report.

use super::report::AnswersReport;
use crate::Category;
use crate::plot::{Plot, Point, against_tokens};

/// Those that the run has figures for.
pub(super) fn of(report: &AnswersReport) -> Vec<Plot> {
    let points: Vec<Point> = report
        .methods()
        .into_iter()
        .filter_map(|method| {
            let figure = |metric| report.figure(method, Category::All, metric);
            let (tokens, f1) = (figure("tokens")?.interval, figure("f1")?.interval);
            Some(Point { name: method.to_owned(), tokens, f1 })
        })
        .collect();
    against_tokens("tokens-f1.svg", "Tokens a query against F1, 95 % intervals", &points, false)
        .into_iter()
        .collect()
}
