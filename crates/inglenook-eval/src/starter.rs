//! `starter`: every task of the starter on held-out items, and the gate's signals.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use inglenook::interfaces::{Cancel, Embedder, LanguageModel, Models};
use inglenook::prompts::Style;
use inglenook::worker::check::Reader;
use inglenook::worker::writer::Generative;

use super::gate::Set;
use super::items::{Item, QuestionItem};
use super::locomo::{self, Conversation};
use super::sample::some;
use super::{EvalError, GateRow, Report, Row, Task, reading, rules, writing};
use crate::metrics::{balanced_accuracy, mean};

/// Default number of items per task and phrasing.
const ITEMS_MAX: usize = 500;

/// What to measure.
#[derive(Debug, Clone, Default)]
pub struct Options<'a> {
    /// Most items per row. `None`: 500, 400 of LoCoMo's questions, and all pairs for the gate.
    pub items_max: Option<usize>,
    /// Only these tasks; empty means all.
    pub tasks: BTreeSet<Task>,
    /// Whether the model was trained on the bare prompts, though it is not the built-in one.
    pub trained: bool,
    /// Real conversations, if there are any.
    pub locomo: Option<&'a [Conversation]>,
}

impl Options<'_> {
    fn wants(&self, task: Task) -> bool {
        self.tasks.is_empty() || self.tasks.contains(&task)
    }
}

type OnProgress<'a> = dyn FnMut(usize, usize, Task) + Send + 'a;

/// Counts items and checks for cancellation.
struct Progress<'a, 'f> {
    /// Items begun.
    begun: Mutex<(usize, &'a mut OnProgress<'f>)>,
    of: usize,
    cancel: &'a Cancel,
}

impl Progress<'_, '_> {
    /// Before each item.
    fn step(&self, task: Task) -> Result<(), EvalError> {
        if self.cancel.is_cancelled() {
            return Err(EvalError::Cancelled);
        }
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let n = begun.0;
        (begun.1)(n, self.of, task);
        begun.0 += 1;
        Ok(())
    }
}

/// Measures a model; `on_progress(done, of, task)`. `copies` are copies of the same model, each with its own
/// engine; that many items run in parallel.
///
/// # Errors
/// If a model fails, or `cancel` was set.
///
/// # Panics
/// If there is no model, or a model's code panics.
pub fn measure(
    copies: &[Models],
    items: Vec<Item>,
    options: &Options<'_>,
    on_progress: &mut OnProgress<'_>,
    cancel: &Cancel,
) -> Result<Report, EvalError> {
    let start = Instant::now();
    let models = &copies[0];
    let info = models.language.info();
    let style = if options.trained || info.starter { Style::Trained } else { Style::Instructed };
    let mut benches = Vec::new();
    for models in copies {
        benches.push(Bench::new(models, style, cancel)?);
    }
    let n_max = options.items_max.unwrap_or(ITEMS_MAX);
    let groups = grouped(items, n_max);

    let mut sets = Vec::new();
    if options.wants(Task::Gate) {
        let asked: Vec<&QuestionItem> = groups
            .iter()
            .filter(|((task, _), _)| *task == Task::Answer)
            .flat_map(|(_, items)| items.iter().filter_map(asked))
            .collect();
        sets.push(("generated", Some(Set::generated(&asked, Some(n_max)))));
        sets.push(("locomo", options.locomo.map(|all| Set::locomo(all, options.items_max))));
    }
    let cases = match options.locomo {
        Some(all) if options.wants(Task::Locomo) => locomo::cases(all, options.items_max),
        _ => Vec::new(),
    };
    let wanted = || groups.iter().filter(|((task, _), _)| options.wants(*task));
    let of = wanted().map(|(_, items)| items.len()).sum::<usize>()
        + sets.iter().filter_map(|(_, set)| set.as_ref()).map(|s| s.probes().len()).sum::<usize>()
        + cases.len();
    let progress = Progress { begun: Mutex::new((0, on_progress)), of, cancel };

    let mut rows = Vec::new();
    for ((task, phrasing), items) in wanted() {
        let figures = share_out(&mut benches, items, |bench, item| {
            progress.step(*task)?;
            bench.item(item)
        })?;
        rows.extend(Figures::of(figures).rows(*task, phrasing, items.len()));
    }
    if options.wants(Task::Locomo) {
        let read = share_out(&mut benches, &cases, |bench, case| {
            progress.step(Task::Locomo)?;
            reading::read_real(&bench.reader, case, cancel)
        })?;
        rows.extend(locomo_rows(&cases, &read));
    }
    let mut gate = Vec::new();
    for (name, set) in sets {
        let Some(set) = set.filter(|set| !set.probes().is_empty()) else {
            gate.push(absent(name));
            continue;
        };
        let vectors = set.vectors(&*models.embedder, cancel)?;
        let scores = share_out(&mut benches, set.probes(), |bench, probe| {
            progress.step(Task::Gate)?;
            set.scores(probe, bench.model, &bench.reader, &vectors)
        })?;
        gate.extend(set.rows(scores));
    }
    Ok(Report {
        model: info.name.clone(),
        sha256: models.language.weights_sha256(),
        rows,
        gate,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// Distributes the items over the copies; results are in the order of the items.
fn share_out<T: Sync, R: Send>(
    benches: &mut [Bench<'_>],
    items: &[T],
    work: impl Fn(&Bench<'_>, &T) -> Result<R, EvalError> + Sync,
) -> Result<Vec<R>, EvalError> {
    let next = AtomicUsize::new(0);
    let one = |bench: &Bench<'_>| -> Result<Vec<(usize, R)>, EvalError> {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return Ok(done) };
            match work(bench, item) {
                Ok(result) => done.push((at, result)),
                Err(error) => {
                    // Stops the other threads.
                    next.store(items.len(), Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    };
    let mut results = Vec::with_capacity(items.len());
    std::thread::scope(|scope| {
        let one = &one;
        let threads: Vec<_> =
            benches.iter_mut().map(|bench| scope.spawn(move || one(bench))).collect();
        for thread in threads {
            match thread.join() {
                Ok(done) => results.extend(done?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok::<(), EvalError>(())
    })?;
    results.sort_by_key(|(at, _)| *at);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

fn absent(set: &'static str) -> GateRow {
    GateRow { set, signal: "absent", context: 0, auc: None, paired: None, pairs: 0 }
}

type Groups = BTreeMap<(Task, String), Vec<Item>>;

/// Groups items by task and phrasing, at most `n_max` each.
fn grouped(items: Vec<Item>, n_max: usize) -> Groups {
    let mut groups = Groups::new();
    for item in items {
        groups.entry((item.task(), item.phrasing().to_owned())).or_default().push(item);
    }
    for ((task, phrasing), items) in &mut groups {
        *items = some(std::mem::take(items), n_max, &format!("{task} {phrasing}"));
    }
    groups
}

fn asked(item: &Item) -> Option<&QuestionItem> {
    match item {
        Item::Answer(item) | Item::Absent(item) | Item::Copy(item) => Some(item),
        _ => None,
    }
}

/// One copy of the model, with its prompts and rules.
struct Bench<'a> {
    model: &'a dyn LanguageModel,
    reader: Reader<'a>,
    writer: Generative,
    embedder: &'a dyn Embedder,
    cancel: &'a Cancel,
}

/// Figures by metric, in order of first appearance.
#[derive(Default)]
struct Figures {
    values: Vec<(&'static str, Vec<f64>)>,
    decisions: Vec<writing::Decision>,
    /// Figures of the rules.
    by_rules: Vec<writing::Decision>,
}

impl Figures {
    fn of(items: Vec<Self>) -> Self {
        let mut all = Self::default();
        for item in items {
            for (metric, values) in item.values {
                all.all(metric, values);
            }
            all.decisions.extend(item.decisions);
            all.by_rules.extend(item.by_rules);
        }
        all
    }

    fn all(&mut self, metric: &'static str, values: impl IntoIterator<Item = f64>) {
        let known = self.values.iter().position(|(name, _)| *name == metric);
        let at = known.unwrap_or_else(|| {
            self.values.push((metric, Vec::new()));
            self.values.len() - 1
        });
        self.values[at].1.extend(values);
    }

    fn one(&mut self, metric: &'static str, value: f64) {
        self.all(metric, [value]);
    }

    fn share(&mut self, metric: &'static str, of: bool) {
        self.one(metric, f64::from(of));
    }

    fn rows(self, task: Task, phrasing: &str, items: usize) -> Vec<Row> {
        let row = |metric, value| Row {
            task: task.as_str(),
            phrasing: phrasing.to_owned(),
            metric,
            value,
            items,
        };
        let mut rows: Vec<Row> =
            self.values.iter().map(|(metric, values)| row(metric, mean(values))).collect();
        for (metric, decisions) in
            [("balanced_accuracy", &self.decisions), ("rules_balanced_accuracy", &self.by_rules)]
        {
            if !decisions.is_empty() {
                rows.push(row(metric, balanced_accuracy(decisions)));
            }
        }
        rows
    }
}

impl<'a> Bench<'a> {
    fn new(models: &'a Models, style: Style, cancel: &'a Cancel) -> Result<Self, EvalError> {
        let model = &*models.language;
        let writer = Generative::with_style(Arc::clone(&models.language), style);
        let reader = Reader::new(model, style)?;
        Ok(Self { model, reader, writer, embedder: &*models.embedder, cancel })
    }

    /// One item's figures.
    fn item(&self, item: &Item) -> Result<Figures, EvalError> {
        let (model, writer, embedder, cancel) =
            (self.model, &self.writer, self.embedder, self.cancel);
        let mut figures = Figures::default();
        match item {
            Item::Answer(item) => {
                let answered = reading::answer(model, &self.reader, item, cancel)?;
                figures.share("exact", answered.exact);
                figures.one("f1", answered.f1);
                figures.share("false_unknown", answered.refused);
                let right = answered.continued.into_iter().map(f64::from);
                figures.all("copy_token_accuracy", right);
                let quoted = rules::quote(item, embedder)?;
                figures.share("rules_quote_holds_it", quoted.holds);
                figures.share("rules_silent", quoted.silent);
            }
            Item::Absent(item) => {
                let answered = reading::answer(model, &self.reader, item, cancel)?;
                figures.share("says_unknown", answered.refused);
            }
            Item::Copy(item) => {
                let right = reading::forced(model, &self.reader, item)?;
                figures.all("token_accuracy", right.into_iter().map(f64::from));
            }
            Item::Router(item) => {
                figures.decisions.push(writing::route(writer, item, cancel)?);
                figures.by_rules.push(rules::route(item));
            }
            Item::Boundary(item) => {
                figures.decisions.push(writing::starts_topic(writer, item, cancel)?);
                figures.by_rules.push(rules::starts_topic(item, embedder, cancel)?);
            }
            Item::Conflict(item) => {
                figures.decisions.push(writing::relation(writer, item, cancel)?);
                figures.by_rules.push(rules::relation(item, embedder)?);
            }
            Item::Extraction(item) => {
                let compared = writing::extract(writer, item, cancel)?;
                figures.one("f1", compared.f1);
                figures.share("exact", compared.exact);
                figures.one("rules_f1", rules::extract(item, cancel)?.f1);
            }
            Item::Episode(item) => {
                let told = writing::tell(writer, item, cancel)?;
                figures.one("f1", told.story.f1);
                figures.one("title_f1", told.title.f1);
                figures.all("dates_right", told.dates_right.map(f64::from));
            }
            Item::Theme(item) => {
                let compared = writing::name(writer, item, cancel)?;
                figures.share("exact", compared.exact);
                figures.one("f1", compared.f1);
            }
            Item::Merge(item) => {
                let compared = writing::merge(writer, item, cancel)?;
                figures.share("exact", compared.exact);
                figures.one("f1", compared.f1);
            }
        }
        Ok(figures)
    }
}

/// The reader's F1 on real conversations, beside that of a quote.
fn locomo_rows(cases: &[locomo::Case<'_>], read: &[(f64, f64)]) -> Vec<Row> {
    let mut kinds: BTreeMap<&str, (Figures, usize)> = BTreeMap::new();
    for (case, (f1, quote_f1)) in cases.iter().zip(read) {
        let (figures, n) = kinds.entry(case.kind).or_default();
        figures.one("f1", *f1);
        figures.one("quote_f1", *quote_f1);
        *n += 1;
    }
    if kinds.is_empty() {
        let (task, phrasing) = (Task::Locomo.as_str(), String::new());
        return vec![Row { task, phrasing, metric: "absent", value: None, items: 0 }];
    }
    let rows = kinds.into_iter().map(|(kind, (figures, n))| figures.rows(Task::Locomo, kind, n));
    rows.flatten().collect()
}
