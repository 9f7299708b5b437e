//! Who answers a message, and how (pure): rules quote memory, rules acknowledge, or the model
//! speaks.
//!
//! A tiny model makes things up. So where the reader is extractive, the rules of `extractive` say
//! everything that touches memory, and the model only what needs none. What is special about the
//! built-in starter is decided here.

use std::borrow::Cow;
use std::sync::Arc;

use crate::chat::machine::MessageKind;
use crate::chat::persona::Persona;
use crate::chat::sampling::{Setting, SettingValue};
use crate::extractive::{self, Intent, Wants};
use crate::interfaces::{ModelInfo, Reranker};
use crate::memory::{Message, Moment, Role, attached, own_words};
pub use crate::model_policy::Reader;
use crate::model_policy::{N_PARAMETERS_GENERATE_MIN, prompt_style, wants};
use crate::prompts::{Style, chat_system, role_system};

/// Says that memory has no answer.
pub const NOTHING_FOUND: &str = "You have not told me that.";
/// Starter only: what it says is short; longer is babble.
const STARTER_REPLY_TOKENS: u64 = 256;
/// Qwen2.5-0.5B put the sister in Lisbon into its haiku about a greyhound; no size in between was tried.
const N_PARAMETERS_UNDISTRACTED: u64 = 1_000_000_000;

/// How a loaded model takes part in the chat.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelProfile {
    pub name: String,
    pub reader: Reader,
    /// Classifies what a message wants; without it, rules do.
    pub encoder: Option<Arc<dyn Reranker>>,
    /// How it is asked.
    pub style: Style,
    /// The built-in starter.
    pub starter: bool,
    /// What it is told that it is; an assistant, without one.
    pub role: Option<Arc<Persona>>,
    /// Its format says how it is offered tools.
    pub knows_tools: bool,
    /// So small that it talks about whatever it is told, and that too many words other than the likeliest are wrong.
    is_small: bool,
    /// So small that what was said before gets into whatever it writes.
    is_distracted: bool,
}

impl ModelProfile {
    /// What a message most probably wants.
    pub fn wants(&self, text: &str) -> Wants {
        wants(self.encoder.as_deref(), head(text))
    }

    /// Whether it needs no check of what it says where no memory is read.
    pub fn talks_freely(&self) -> bool {
        !self.is_distracted
    }

    /// The profile of a model whose evidence is read by `reader`.
    pub fn new(info: &ModelInfo, reader: Reader, encoder: Option<Arc<dyn Reranker>>) -> Self {
        Self {
            name: info.name.clone(),
            reader,
            encoder,
            style: prompt_style(info),
            starter: info.starter,
            role: None,
            knows_tools: false,
            is_small: info.n_parameters < N_PARAMETERS_GENERATE_MIN,
            is_distracted: info.starter || info.n_parameters < N_PARAMETERS_UNDISTRACTED,
        }
    }

    /// How a reader of memories is asked.
    pub fn style_of(&self, reader: Reader) -> Style {
        if reader == Reader::BuiltIn { Style::Trained } else { self.style }
    }

    /// The system turn of a prompt without memories; it names the day, but not to a small model.
    pub fn system(&self, now: Moment) -> String {
        let today = (!self.is_small).then(|| now.civil());
        match &self.role {
            Some(role) => role_system(&role.system, today),
            None => chat_system(today),
        }
    }

    /// What suits the model better than a configured value: greedy if small, short replies from the starter.
    pub(super) fn suits(&self, setting: Setting, value: SettingValue) -> Option<SettingValue> {
        match (setting, value) {
            (Setting::Temperature, _) if self.is_small => Some(SettingValue::Number(0.0)),
            (Setting::ReplyTokensMax, SettingValue::Whole(n)) if self.starter => {
                (n > STARTER_REPLY_TOKENS).then_some(SettingValue::Whole(STARTER_REPLY_TOKENS))
            }
            _ => None,
        }
    }
}

/// How a turn is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// Recall, then quote the best evidence.
    Quote,
    /// Say back what will be remembered.
    Acknowledge,
    /// The model says something to what is told; below it stands what will be remembered.
    React,
    /// The model says something, without memories.
    Talk,
    /// Recall; where the rules are not sure of an answer, a model reads the evidence.
    Read,
    /// As [`Self::Quote`] or [`Self::Read`] if memory knows somebody who is mentioned and has something to say;
    /// otherwise as [`Self::Talk`].
    Look,
}

/// Rules read only the beginning of a message; a pasted book is still kept whole.
const RULES_BYTES_MAX: usize = 16_000;

pub(super) fn head(text: &str) -> &str {
    let text = own_words(text);
    &text[..text.floor_char_boundary(RULES_BYTES_MAX)]
}

/// How this message is answered.
pub fn plan(profile: &ModelProfile, kind: MessageKind, text: &str) -> Plan {
    if kind == MessageKind::Chat && attached(text).next().is_some() {
        // What is asked is asked of what is attached; the starter can't read it.
        let quotes = profile.starter && extractive::intent(head(text)) == Intent::Question;
        return if quotes { Plan::Quote } else { Plan::Talk };
    }
    let text = head(text);
    if kind == MessageKind::Remember {
        return Plan::Acknowledge;
    }
    let has_memory = profile.role.as_ref().is_none_or(|role| role.memory);
    if has_memory && extractive::asks_what_is_on(text) {
        return Plan::Quote;
    }
    if has_memory && extractive::asks_to_be_reminded(text) {
        return Plan::Acknowledge;
    }
    if let Some(role) = &profile.role
        && (!role.memory || profile.wants(text) == Wants::Statement)
    {
        return Plan::Talk;
    }
    match (profile.wants(text), profile.reader) {
        (Wants::SmallTalk, _) if has_to_heed(text) => Plan::Look,
        (Wants::Memory, Reader::Extractive) => Plan::Quote,
        (Wants::Memory, _) => Plan::Read,
        // In the person's own words: a small model that reacts adds what was not told.
        (Wants::Statement, _) if profile.is_distracted => Plan::Acknowledge,
        (Wants::Statement, _) => Plan::React,
        (Wants::World, _) => Plan::Look,
        (Wants::SmallTalk, _) => Plan::Talk,
    }
}

/// Whether a message is a task or asks for advice, which memory helps with, and which can be done without.
pub fn is_task(text: &str) -> bool {
    let text = head(text);
    extractive::intent(text) == Intent::Request || extractive::asks_advice(text)
}

/// "Remind me, which requiem shall we be singing?" too.
fn is_question(text: &str) -> bool {
    let is_asked = || head(text).trim_end().ends_with('?') && !extractive::asks_to_write(text);
    !is_task(text) || is_asked() && !extractive::asks_advice(text)
}

/// Whether advice is asked about food or a medicine, which has to heed what somebody may not have.
fn has_to_heed(text: &str) -> bool {
    extractive::asks_advice(text) && extractive::heeded(text).is_some()
}

/// Whether a model does a task without notes, and what they say stands below (Qwen2.5-0.5B would cook the pork that Sara doesn't eat).
pub fn reminds(profile: &ModelProfile, text: &str) -> bool {
    // The one in the box would say what it reads: "Hazelnuts."
    let needs_none = || {
        extractive::asks_advice(text)
            || extractive::asks_to_write(text)
            || profile.wants(text) != Wants::Memory
            || profile.starter && extractive::heeded(text).is_some()
    };
    profile.is_distracted && is_task(text) && needs_none()
}

/// Whether a question about a medicine is left to those who know: what a small model says may harm.
pub fn cautions(profile: &ModelProfile, text: &str) -> bool {
    profile.is_distracted && extractive::asks_to_take_medicine(head(text))
}

/// Whether only rules read the memories found for it, whatever the model says.
pub fn is_read_by_rules(profile: &ModelProfile, text: &str) -> bool {
    reminds(profile, text) || cautions(profile, text)
}

/// Who reads the memories found for it, where a model may: the built-in one answers questions only, in English.
pub fn reader_for(profile: &ModelProfile, text: &str) -> Reader {
    match profile.reader {
        Reader::BuiltIn if is_question(text) && !extractive::is_foreign(head(text)) => {
            Reader::BuiltIn
        }
        Reader::BuiltIn if profile.is_small => Reader::Extractive,
        Reader::BuiltIn => Reader::Generative,
        reader => reader,
    }
}

/// What memory is searched for: the question, and what advice has to heed.
pub fn sought(question: &str) -> Cow<'_, str> {
    let heeds = is_task(question) || extractive::asks_to_take_medicine(question);
    match extractive::heeded(question).filter(|_| heeds) {
        Some(besides) => format!("{question} {}", besides.sought()).into(),
        None => question.into(),
    }
}

/// What a small model reads in place of a greeting like "heyyy".
pub fn spelled_out(profile: &ModelProfile, text: &str) -> Option<String> {
    profile.is_distracted.then(|| extractive::spelled_out(text)).flatten()
}

/// Whether a chat that began with small talk ("hey!") is better named after what was said next.
pub fn names_better(text: &str, title: &str) -> bool {
    let says_little = |text: &str| extractive::wants(text) == Wants::SmallTalk;
    says_little(title) && !says_little(head(text))
}

/// Whether a tool may help with a message: something is to be done, or to be known.
pub fn may_need_tools(profile: &ModelProfile, kind: MessageKind, text: &str) -> bool {
    kind == MessageKind::Chat && matches!(profile.wants(text), Wants::World | Wants::Memory)
}

/// Whether the starter says in its own words that memory has nothing, where it has nothing. Not of a question about the
/// world, to which it would say something.
pub fn says_no(profile: &ModelProfile, text: &str) -> bool {
    profile.starter
        && profile.reader == Reader::Generative
        && profile.wants(text) == Wants::Memory
        && !is_task(text)
}

/// Whether a reply can do without the chat so far: thanks, and small talk that refers to nothing said before; for a distracted
/// model, which repeats what it has just read, any message that does not refer or carry on.
pub fn stands_alone(profile: &ModelProfile, text: &str) -> bool {
    const POINTING: [&str; 17] = [
        "that", "that's", "it", "it's", "its", "this", "those", "more", "else", "again", "another",
        "shorter", "why", "yes", "no", "sure", "so",
    ];
    const GOING_ON: [&str; 7] = ["and", "but", "or", "then", "now", "also", "what about"];
    let text = head(text);
    // A small model would go on about what was said before.
    if extractive::intent(text) == Intent::Thanks {
        return true;
    }
    let lower = text.to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let goes_on = GOING_ON.iter().any(|opening| {
        lower.strip_prefix(opening).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    });
    // "What should I give Rui for his birthday?"
    let is_name = |w: &str| w.starts_with(char::is_uppercase) && w != "I" && !w.starts_with("I'");
    let is_named = words.clone().skip(1).any(is_name);
    let points = |word: &str| {
        POINTING.contains(&word) || !is_named && extractive::OF_SOMEBODY.contains(&word)
    };
    !words.map(str::to_lowercase).any(|word| points(&word))
        && (profile.is_distracted && !goes_on || profile.wants(text) == Wants::SmallTalk)
}

/// A chat as the model that talks sees it: without exchanges in which rules quoted memory or found nothing, which
/// it would imitate. Acknowledgements are reworded, or left out for a distracted model.
pub fn as_talk(profile: &ModelProfile, history: &[Message]) -> Vec<Message> {
    let mut talk: Vec<Message> = Vec::with_capacity(history.len());
    for message in history {
        let is_noted = extractive::is_acknowledgement(&message.content);
        let is_from_rules =
            message.role == Role::Assistant && extractive::is_from_rules(&message.content);
        if message.role == Role::Assistant
            && ["You have not told me", "You haven't told me"]
                .iter()
                .any(|opening| message.content.starts_with(opening))
            || is_from_rules && (profile.is_distracted || !is_noted)
        {
            talk.pop();
            continue;
        }
        let mut message = message.clone();
        if is_from_rules {
            "I will remember that.".clone_into(&mut message.content);
        }
        if message.role == Role::Assistant {
            message.content.truncate(extractive::without_reminder(&message.content).len());
        }
        talk.push(message);
    }
    talk
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::own_files::OwnFile as _;
    use crate::chat::sampling::SamplingSettings;
    use crate::testing::message;

    fn profile(reader: Reader, n_parameters: u64, starter: bool) -> ModelProfile {
        let info = ModelInfo {
            name: "m".into(),
            fingerprint: String::new(),
            n_parameters,
            context_tokens: 2_048,
            vocabulary: 100,
            starter,
        };
        ModelProfile::new(&info, reader, None)
    }

    #[test]
    fn a_small_model_sees_no_more_of_the_chat_than_it_needs() {
        let of = |n| profile(Reader::Generative, n, false);
        let check = |text: &str, small: bool, large: bool| {
            assert_eq!(stands_alone(&of(500_000_000), text), small, "{text}");
            assert_eq!(stands_alone(&of(7_000_000_000), text), large, "{text}");
        };
        check("Write a haiku about a greyhound.", true, false);
        check("What should I give Ines for her birthday?", true, false);
        check("What should I give her for the birthday?", false, false);
        check("Good morning!", true, true);
        check("And of Spain?", false, false);
        check("Make it shorter.", false, false);
        let said = |role, text: &str| message(1, role, text);
        let history = [
            said(Role::User, "I'm a vet."),
            said(Role::Assistant, "Congratulations! Noted: you are a vet."),
            said(Role::User, "Who is Bo?"),
            said(Role::Assistant, NOTHING_FOUND),
            said(Role::User, "What is a colt?"),
            said(Role::Assistant, "A young male horse."),
        ];
        let talk = |n| -> Vec<String> {
            as_talk(&of(n), &history).into_iter().map(|message| message.content).collect()
        };
        let kept = ["What is a colt?", "A young male horse."];
        assert_eq!(talk(500_000_000), kept);
        assert_eq!(
            talk(7_000_000_000),
            [&["I'm a vet.", "I will remember that."], &kept[..]].concat()
        );
    }

    #[test]
    fn memory_is_asked_only_where_it_is_wanted() {
        let reads = profile(Reader::Generative, 500_000_000, false);
        let small = profile(Reader::Extractive, 135_000_000, false);
        let check = |text: &str, large: Plan, of_small: Plan| {
            assert_eq!(plan(&reads, MessageKind::Chat, text), large, "{text}");
            assert_eq!(plan(&small, MessageKind::Chat, text), of_small, "{text}");
        };
        for text in ["hi", "thanks!"] {
            check(text, Plan::Talk, Plan::Talk);
        }
        check("what's on next week?", Plan::Quote, Plan::Quote);
        check("remind me to call Sara", Plan::Acknowledge, Plan::Acknowledge);
        for text in ["Write a haiku about the sea.", "What is the capital of France?"] {
            check(text, Plan::Look, Plan::Look);
        }
        check("What is my sister's name?", Plan::Read, Plan::Quote);
        check("I moved to Lund last week.", Plan::Acknowledge, Plan::Acknowledge);
        assert_eq!(plan(&reads, MessageKind::Remember, "Why not?"), Plan::Acknowledge);
        let large = profile(Reader::Generative, 1_500_000_000, false);
        let told = plan(&large, MessageKind::Chat, "I moved to Lund last week.");
        assert_eq!(told, Plan::React);
        assert!(is_task("Suggest a dish") && !is_task("Where do I live?"));
    }

    #[test]
    fn the_built_in_model_reads_for_questions_in_english() {
        let check = |text: &str, of_large: Reader, of_small: Reader| {
            let of = |n| reader_for(&profile(Reader::BuiltIn, n, false), text);
            assert_eq!([of(500_000_000), of(135_000_000)], [of_large, of_small], "{text}");
        };
        check("Where does my sister live?", Reader::BuiltIn, Reader::BuiltIn);
        check("Wo wohnt meine Schwester?", Reader::Generative, Reader::Extractive);
        check("Remind me, where does she live?", Reader::BuiltIn, Reader::BuiltIn);
        check("Suggest a dish for my sister.", Reader::Generative, Reader::Extractive);
        let own = profile(Reader::Generative, 500_000_000, false);
        assert_eq!(reader_for(&own, "Where does my sister live?"), Reader::Generative);
    }

    #[test]
    fn a_chat_is_not_called_after_a_greeting() {
        assert!(names_better("I moved to Lund last week.", "hey!"));
        assert!(!names_better("thanks", "hey!"));
        assert!(!names_better("Where do I live?", "I moved to Lund last week."));
    }

    #[test]
    fn a_role_speaks_for_itself() {
        let role = |text: &str| Some(Arc::new(Persona::parse("fr", text).unwrap()));
        let mut reads = profile(Reader::Generative, 500_000_000, false);
        reads.role = role("---\ntemperature: 0.1\nreply_tokens_max: 50\n---\nYou translate.");
        let check = |profile: &ModelProfile, text: &str, expected: Plan| {
            assert_eq!(plan(profile, MessageKind::Chat, text), expected, "{text}");
        };
        check(&reads, "I moved to Lund last week.", Plan::Talk);
        check(&reads, "What is my sister's name?", Plan::Read);
        check(&reads, "What is the capital of France?", Plan::Look);
        assert_eq!(plan(&reads, MessageKind::Remember, "I am 34"), Plan::Acknowledge);
        let now =
            crate::interfaces::Clock::now(&crate::testing::ManualClock::at("2026-11-21T10:00:00Z"));
        let system = reads.system(now);
        assert!(system.starts_with("You translate.\nToday is "), "{system}");
        let sampling = SamplingSettings::default().sampling(Some(&reads), 1);
        assert_eq!((sampling.temperature, sampling.tokens_max), (0.1, 50));
        // One without memory asks it nothing.
        reads.role = role("---\nmemory: no\n---\nYou translate.");
        check(&reads, "What is my sister's name?", Plan::Talk);
    }
}
