//! Writes memory with a language model and checks every output against its source.
//!
//! A fact is refused if its names, numbers or dates do not occur in its messages, or if it is less likely with the
//! messages in the prompt than without them. Where nothing usable is left (broken output, a context that is too
//! small), the rules write instead: a model can improve memory, but never lose any.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::civil::DateTime;

use super::forms::Forms;
use super::guard::{is_about, is_grounded};
use super::{Extractive, Writer};
use crate::extractive::{self, Judgement, Statement, Utterance};
use crate::grammar::Constraint;
use crate::interfaces::{
    Cancel, Finish, Generated, LanguageModel, ModelError, Priority, Sampling, TurnRole,
};
use crate::memory::{MessageId, Role};
use crate::model_policy::prompt_style;
use crate::prompts::{
    Boundary, Conflict, Episode, EpisodeDraft, Line, MergedFact, Problem, Prompt, Relation, Router,
    Semantics, Style, ThemeName,
};

/// Longest reply of a step.
const EPISODE_TOKENS_MAX: usize = 320;
const FACTS_TOKENS_MAX: usize = 400;
const LINE_TOKENS_MAX: usize = 48;

/// A boundary decision sees at most this many lines before it.
const HISTORY_LINES: usize = 6;

/// The model sees at most this much of a message; the store keeps all of it.
const LINE_CHARS_MAX: usize = 2_000;

/// Facts as the model wrote them, and what was left out of its reply.
pub type NotedFacts = (Vec<String>, Vec<Problem>);

/// Writes memory with a language model.
pub struct Generative {
    model: Arc<dyn LanguageModel>,
    style: Style,
    forms: Forms,
    routes: bool,
}

impl Generative {
    /// A writer that words its prompts as suits the model.
    pub fn new(model: Arc<dyn LanguageModel>) -> Self {
        let style = prompt_style(model.info());
        Self::with_style(model, style)
    }

    /// A writer that words its prompts in this style.
    pub fn with_style(model: Arc<dyn LanguageModel>, style: Style) -> Self {
        Self { model, style, forms: Forms::new(style), routes: true }
    }

    /// Whether the model decides which messages facts are noted from; otherwise rules do.
    #[must_use]
    pub fn routing(self, routes: bool) -> Self {
        Self { routes, ..self }
    }

    fn tokens(&self, prompt: &Prompt) -> Vec<u32> {
        let model = &*self.model;
        let mut tokens = model.begin();
        tokens.extend(model.turn(TurnRole::System, &prompt.system));
        tokens.extend(model.first_turn(&prompt.user));
        tokens.extend(model.open_reply());
        tokens
    }

    /// The reply to a prompt by greedy decoding; `None` if prompt and reply may not fit the model's
    /// context.
    ///
    /// # Errors
    /// If the model fails, or `cancel` was set.
    pub fn ask(
        &self,
        prompt: &Prompt,
        tokens_max: usize,
        form: Option<&Constraint>,
        cancel: &Cancel,
    ) -> Result<Option<Generated>, ModelError> {
        cancel.check()?;
        let tokens = self.tokens(prompt);
        if tokens.len() + tokens_max > self.model.info().context_tokens {
            return Ok(None);
        }
        let mut context = self.model.context(Priority::Memory)?;
        context.extend(&tokens)?;
        let sampling = Sampling { constraint: form.cloned(), ..Sampling::greedy(tokens_max) };
        let reply = context.generate(&sampling, cancel, &mut |_| {})?;
        match reply.finish {
            Finish::Cancelled => Err(ModelError::Cancelled),
            _ => Ok(Some(reply)),
        }
    }

    /// The index of the likeliest choice, by logits in one pass; `None` if the prompt does not fit.
    fn choose(
        &self,
        prompt: &Prompt,
        choices: &[&str],
        cancel: &Cancel,
    ) -> Result<Option<usize>, ModelError> {
        cancel.check()?;
        let tokens = self.tokens(prompt);
        if tokens.len() + LINE_TOKENS_MAX > self.model.info().context_tokens {
            return Ok(None);
        }
        let mut context = self.model.context(Priority::Memory)?;
        context.extend(&tokens)?;
        let choices: Vec<Vec<u32>> = choices.iter().map(|c| self.model.encode(c)).collect();
        let scores = context.choose(&choices)?;
        if scores.iter().any(|s| s.is_nan()) {
            return Err(ModelError::NotANumber);
        }
        Ok(scores.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map(|(i, _)| i))
    }

    /// Whether to store a message. One that does not fit in a prompt is stored: the facts are checked
    /// anyway.
    ///
    /// # Errors
    /// If the model fails, or `cancel` was set.
    pub fn route(&self, line: &Utterance, cancel: &Cancel) -> Result<bool, ModelError> {
        let text = shortened(&line.text);
        let prompt = Router { text: &text }.fill(self.style);
        Ok(self.choose(&prompt, &Router::CHOICES, cancel)?.is_none_or(|i| i == 0))
    }

    /// How a later fact relates to an earlier one; `None` if the prompt does not fit.
    ///
    /// # Errors
    /// If the model fails, or `cancel` was set.
    pub fn relation(
        &self,
        earlier: &str,
        later: &str,
        cancel: &Cancel,
    ) -> Result<Option<Relation>, ModelError> {
        let prompt = Conflict { earlier, later }.fill(self.style);
        let index = self.choose(&prompt, Conflict::choices(self.style), cancel)?;
        Ok(index.map(|i| Conflict::RELATIONS[i]))
    }

    /// Whether a new topic begins at `next`; `None` if the prompt does not fit.
    ///
    /// # Errors
    /// If the model fails, or `cancel` was set.
    pub fn starts_topic(
        &self,
        history: &[Line],
        next: &Line,
        cancel: &Cancel,
    ) -> Result<Option<bool>, ModelError> {
        let history = &history[history.len().saturating_sub(HISTORY_LINES)..];
        let prompt = Boundary { history, next }.fill(self.style);
        Ok(self.choose(&prompt, &Boundary::CHOICES, cancel)?.map(|i| i == 0))
    }

    /// An episode as the model writes it, unchecked; `None` if the prompt does not fit.
    ///
    /// # Errors
    /// If the model fails, or `cancel` was set.
    pub fn draft_episode(
        &self,
        lines: &[Line],
        started_at: DateTime,
        cancel: &Cancel,
    ) -> Result<Option<EpisodeDraft>, ModelError> {
        let prompt = Episode { lines, started_at }.fill(self.style);
        let reply = self.ask(&prompt, EPISODE_TOKENS_MAX, None, cancel)?;
        Ok(reply.map(|reply| Episode::parse(&reply.text)))
    }

    /// As [`Self::draft_episode`], of the title alone.
    fn draft_title(
        &self,
        lines: &[Line],
        started_at: DateTime,
        cancel: &Cancel,
    ) -> Result<Option<EpisodeDraft>, ModelError> {
        let prompt = Episode { lines, started_at }.fill(self.style);
        let reply = self.ask(&prompt, LINE_TOKENS_MAX, self.forms.title.as_ref(), cancel)?;
        let whole = reply.filter(|reply| reply.finish != Finish::Length);
        Ok(whole
            .map(|reply| EpisodeDraft { content: String::new(), ..Episode::parse(&reply.text) }))
    }

    /// Facts as the model writes them, unchecked; `None` if the prompt does not fit.
    ///
    /// # Errors
    /// If the model fails, or `cancel` was set.
    pub fn draft_facts(
        &self,
        lines: &[Line],
        started_at: DateTime,
        about: &str,
        cancel: &Cancel,
    ) -> Result<Option<NotedFacts>, ModelError> {
        let mut noted = NotedFacts::default();
        for prompt in (Semantics { lines, started_at, about }).fill(self.style) {
            let form = self.forms.facts.as_ref();
            let Some(reply) = self.ask(&prompt, FACTS_TOKENS_MAX, form, cancel)? else {
                return Ok(None);
            };
            // A fact that was cut off can mean the opposite.
            let whole = match reply.finish {
                Finish::Length => reply.text.rfind('\n').unwrap_or(0),
                _ => reply.text.len(),
            };
            let (facts, problems) = Semantics::parse(&reply.text[..whole]);
            let is_new = |fact: &String| !noted.0.contains(fact);
            let new: Vec<String> = facts.into_iter().filter(is_new).collect();
            noted.0.extend(new);
            noted.1.extend(problems);
        }
        Ok(Some(noted))
    }

    /// The facts that are no less likely with the lines in the prompt than without them: a fact that they make less
    /// likely was not read in them. All of them, for a model that was trained to note.
    fn likelier(
        &self,
        facts: Vec<String>,
        lines: &[Line],
        started_at: DateTime,
        about: &str,
        cancel: &Cancel,
    ) -> Result<Vec<String>, ModelError> {
        if facts.is_empty() || self.style == Style::Trained {
            return Ok(facts);
        }
        let choices: Vec<Vec<u32>> = facts.iter().map(|fact| self.model.encode(fact)).collect();
        let scores = |lines: &[Line]| -> Result<Vec<f64>, ModelError> {
            cancel.check()?;
            let mut context = self.model.context(Priority::Memory)?;
            let prompt = Semantics { lines, started_at, about }.fill_whole(self.style);
            context.extend(&self.tokens(&prompt))?;
            context.choose(&choices)
        };
        let (with, without) = (scores(lines)?, scores(&[])?);
        let is_read = with.iter().zip(&without).map(|(with, without)| with >= without);
        Ok(facts.into_iter().zip(is_read).filter_map(|(fact, read)| read.then_some(fact)).collect())
    }

    /// A theme's name as the model writes it; `None` if it gives none.
    ///
    /// # Errors
    /// If the model fails, or `cancel` was set.
    pub fn draft_theme_name(
        &self,
        facts: &[&str],
        cancel: &Cancel,
    ) -> Result<Option<String>, ModelError> {
        let prompt = ThemeName { facts }.fill(self.style);
        let reply = self.ask(&prompt, LINE_TOKENS_MAX, self.forms.theme.as_ref(), cancel)?;
        Ok(reply.and_then(|reply| ThemeName::parse(&reply.text)))
    }

    /// One fact out of two as the model writes it, unchecked; `None` if it gives none.
    ///
    /// # Errors
    /// If the model fails, or `cancel` was set.
    pub fn draft_merged(
        &self,
        earlier: &str,
        later: &str,
        cancel: &Cancel,
    ) -> Result<Option<String>, ModelError> {
        let prompt = MergedFact { earlier, later }.fill(self.style);
        let reply = self.ask(&prompt, LINE_TOKENS_MAX * 2, self.forms.merged.as_ref(), cancel)?;
        Ok(reply.and_then(|reply| MergedFact::parse(&reply.text)))
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(LINE_CHARS_MAX).collect()
}

fn lines(utterances: &[Utterance]) -> Vec<Line> {
    utterances.iter().map(line).collect()
}

fn line(utterance: &Utterance) -> Line {
    Line { speaker: utterance.speaker.clone(), at: utterance.at, text: shortened(&utterance.text) }
}

/// "Ana", "Caroline and Melanie".
fn names(utterances: &[Utterance]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for utterance in utterances {
        if !names.contains(&utterance.speaker.as_str()) {
            names.push(&utterance.speaker);
        }
    }
    names.join(" and ")
}

/// Whether one of two facts could replace the other: they state the same attribute of the same subject
/// or, if the rules know no attribute, share a word besides the subject's name.
fn about_the_same(earlier: &Statement, later: &Statement) -> bool {
    let equal = |a: &Option<String>, b: &Option<String>| {
        a.as_ref().zip(b.as_ref()).map(|(a, b)| a.eq_ignore_ascii_case(b))
    };
    if equal(&earlier.subject, &later.subject) == Some(false) {
        return false;
    }
    equal(&earlier.attribute, &later.attribute).unwrap_or_else(|| {
        let subject = |s: &Statement| content_words(s.subject.as_deref().unwrap_or_default());
        let mut shared: BTreeSet<String> = content_words(&earlier.text)
            .intersection(&content_words(&later.text))
            .cloned()
            .collect();
        shared.retain(|w| !subject(earlier).contains(w) && !subject(later).contains(w));
        !shared.is_empty()
    })
}

/// Words longer than three letters or with a digit: roughly those that carry meaning.
fn content_words(text: &str) -> BTreeSet<String> {
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| w.chars().count() > 3 || w.chars().any(|c| c.is_ascii_digit()))
        .map(str::to_owned)
        .collect()
}

/// Whether a merged fact has exactly the content words of both facts.
fn keeps_both(merged: &str, earlier: &str, later: &str) -> bool {
    let either: BTreeSet<String> =
        content_words(earlier).union(&content_words(later)).cloned().collect();
    content_words(merged) == either
}

/// The messages that a fact comes from: those that share most words with it.
pub fn sources(fact: &str, lines: &[Utterance]) -> Vec<MessageId> {
    let fact = content_words(fact);
    let shared: Vec<usize> =
        lines.iter().map(|line| content_words(&line.text).intersection(&fact).count()).collect();
    let most = shared.iter().copied().max().unwrap_or(0);
    lines
        .iter()
        .zip(&shared)
        // More than half as many as the best: a fact may come from two messages.
        .filter(|&(_, &n)| most == 0 || n * 2 > most)
        .map(|(line, _)| line.message)
        .collect()
}

impl Writer for Generative {
    fn boundary(
        &self,
        history: &[Utterance],
        next: &Utterance,
        _: Option<f32>,
        cancel: &Cancel,
    ) -> Result<Option<bool>, ModelError> {
        self.starts_topic(&lines(history), &line(next), cancel)
    }

    fn episode(
        &self,
        utterances: &[Utterance],
        cancel: &Cancel,
    ) -> Result<EpisodeDraft, ModelError> {
        let by_rules = Extractive.episode(utterances, cancel)?;
        let Some(first) = utterances.first() else { return Ok(by_rules) };
        let lines = lines(utterances);
        let draft = match self.style {
            // It gives better titles than the rules, and worse stories.
            Style::Trained => self.draft_title(&lines, first.at, cancel)?,
            Style::Instructed => self.draft_episode(&lines, first.at, cancel)?,
        };
        let Some(draft) = draft else { return Ok(by_rules) };
        let content: Vec<&str> = extractive::sentences(&draft.content)
            .into_iter()
            .filter(|sentence| is_grounded(sentence, utterances))
            .collect();
        let title =
            Some(draft.title).filter(|title| !title.is_empty() && is_grounded(title, utterances));
        Ok(EpisodeDraft {
            title: title.unwrap_or(by_rules.title),
            content: if content.is_empty() { by_rules.content } else { content.join(" ") },
        })
    }

    fn statements(
        &self,
        earlier: &[Utterance],
        utterances: &[Utterance],
        cancel: &Cancel,
    ) -> Result<Vec<Statement>, ModelError> {
        let mut stored = Vec::new();
        for utterance in utterances {
            // An assistant's words are no source of facts about the person.
            let is_stored = utterance.role == Role::User
                && if self.routes {
                    self.route(utterance, cancel)?
                } else {
                    extractive::says_something(utterance)
                };
            if is_stored {
                stored.push(utterance.clone());
            }
        }
        let Some(first) = stored.first() else { return Ok(Vec::new()) };
        let about = names(&stored);
        let mut lines = lines(&stored);
        for line in &mut lines {
            // Small models resolve "last Tuesday" wrongly.
            line.text = extractive::dated(&line.text, line.at);
        }
        let noted = self.draft_facts(&lines, first.at, &about, cancel)?;
        let Some((facts, problems)) = noted else {
            return Extractive.statements(earlier, &stored, cancel);
        };
        let n_given = facts.len();
        let grounded = facts.into_iter().filter(|fact| is_grounded(fact, &stored)).collect();
        let kept = self.likelier(grounded, &lines, first.at, &about, cancel)?;
        if kept.is_empty() && (n_given > 0 || !problems.is_empty()) {
            return Extractive.statements(earlier, &stored, cancel);
        }
        Ok(kept
            .into_iter()
            .map(|text| {
                let messages = sources(&text, &stored);
                Statement { messages, ..extractive::parse_statement(&text) }
            })
            .collect())
    }

    fn theme_name(&self, facts: &[&str], cancel: &Cancel) -> Result<String, ModelError> {
        match self.draft_theme_name(facts, cancel)?.filter(|name| is_about(name, facts)) {
            Some(name) => Ok(name),
            None => Extractive.theme_name(facts, cancel),
        }
    }

    fn judge(
        &self,
        earlier: &Statement,
        later: &Statement,
        similarity: f32,
        cancel: &Cancel,
    ) -> Result<Judgement, ModelError> {
        // Facts about different things cannot contradict each other, whatever a small model says: Max's
        // age does not replace what he loves (the small-LLM paper's sixth test).
        if !about_the_same(earlier, later) {
            return Ok(Judgement::KeepBoth);
        }
        match self.relation(&earlier.text, &later.text, cancel)? {
            None => Extractive.judge(earlier, later, similarity, cancel),
            Some(Relation::Both) => Ok(Judgement::KeepBoth),
            Some(Relation::Update) => Ok(Judgement::Supersedes),
            Some(Relation::Same) => {
                let merged = self
                    .draft_merged(&earlier.text, &later.text, cancel)?
                    .filter(|text| keeps_both(text, &earlier.text, &later.text));
                // If the merged text drops or adds something, the later fact stays.
                Ok(merged.map_or(Judgement::Supersedes, Judgement::Merge))
            }
        }
    }
}
