//! Tokens of one sentence: words and marks, and whether white space stood before them.
//!
//! Contractions of pronouns are opened ("I'm" → "I am"), so that a subject can be exchanged
//! together with its verb.

use super::lexicon;
use super::lists::{Table, Words};

static CONTRACTIONS: Table = Table::new("contractions");
static MISSING_APOSTROPHES: Table = Table::new("missing apostrophes");
static CONTRACTING_PRONOUNS: Words = Words::new("contracting pronouns");

/// A word, a number or one mark.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// As it was typed.
    pub text: String,
    /// In lowercase.
    pub lower: String,
    /// Whether white space stands before it.
    pub space_before: bool,
    /// Whether it holds a letter or a digit.
    pub word: bool,
}

impl Token {
    pub(super) fn new(text: impl Into<String>, space_before: bool) -> Self {
        let text = text.into();
        let lower = text.to_lowercase();
        let word = text.chars().any(char::is_alphanumeric);
        Self { text, lower, space_before, word }
    }

    /// Starts with a capital.
    pub fn upper(&self) -> bool {
        lexicon::starts_upper(&self.text)
    }

    /// Whether it is this word, whatever its capitals.
    pub fn is(&self, lower: &str) -> bool {
        self.lower == lower
    }

    pub(super) fn within(&self, words: &Words) -> bool {
        words.has(&self.lower)
    }

    pub(super) fn among(&self, lowers: &[&str]) -> bool {
        lowers.contains(&self.lower.as_str())
    }
}

/// Access to the tokens of a sentence by index; out of range is false or empty.
pub(super) trait Sentence {
    /// The word at `i` in lowercase; empty beyond the end.
    fn lower(&self, i: usize) -> &str;
    fn among(&self, i: usize, words: &[&str]) -> bool;
    fn is_upper(&self, i: usize) -> bool;
    /// The first index from `i` on that does not hold an adverb.
    fn after_adverbs(&self, i: usize) -> usize;
    /// The words in lowercase, without punctuation.
    fn lower_words(&self) -> Vec<&str>;
}

impl Sentence for [Token] {
    fn lower(&self, i: usize) -> &str {
        self.get(i).map_or("", |t| t.lower.as_str())
    }

    fn among(&self, i: usize, words: &[&str]) -> bool {
        self.get(i).is_some_and(|t| t.among(words))
    }

    fn is_upper(&self, i: usize) -> bool {
        self.get(i).is_some_and(Token::upper)
    }

    fn after_adverbs(&self, i: usize) -> usize {
        i + self.iter().skip(i).take_while(|t| lexicon::is_adverb(&t.lower)).count()
    }

    fn lower_words(&self) -> Vec<&str> {
        self.iter().filter(|t| t.word).map(|t| t.lower.as_str()).collect()
    }
}

/// Splits a sentence.
pub fn tokens(sentence: &str) -> Vec<Token> {
    let mut out = Vec::new();
    for chunk in sentence.split_whitespace() {
        let mut space = !out.is_empty();
        let verbatim = chunk.contains("://")
            || chunk.starts_with("www.")
            || (chunk.contains('@') && chunk.contains('.'));
        if verbatim {
            let core = chunk.trim_end_matches(['.', ',', '!', '?', ')', ';', ':', '"']);
            if !core.is_empty() {
                out.push(Token::new(core, space));
                space = false;
            }
            for c in chunk[core.len()..].chars() {
                out.push(Token::new(c, space));
                space = false;
            }
            continue;
        }
        let chars: Vec<char> = chunk.chars().collect();
        let mut i = 0;
        while i < chars.len() {
            let start = i;
            if chars[i].is_alphanumeric() {
                while i < chars.len() && (chars[i].is_alphanumeric() || joins(&chars, i)) {
                    i += 1;
                }
            } else {
                i += 1;
                // Emoji with their modifiers, and runs of one mark ("...", "!!!").
                while i < chars.len()
                    && !chars[i].is_alphanumeric()
                    && (chars[i] == chars[start]
                        || !chars[start].is_ascii() && !chars[i].is_ascii())
                {
                    i += 1;
                }
            }
            let text: String = chars[start..i].iter().collect();
            for (n, part) in open_contraction(&text).into_iter().enumerate() {
                out.push(Token::new(part, space || n > 0));
            }
            space = false;
        }
    }
    resolve_clitics(&mut out);
    out
}

/// Whether the character at `i` is inside a word or number: an apostrophe, a hyphen, a full stop, a comma, …
fn joins(chars: &[char], i: usize) -> bool {
    let (Some(&before), Some(&after)) =
        (i.checked_sub(1).and_then(|p| chars.get(p)), chars.get(i + 1))
    else {
        return false;
    };
    match chars[i] {
        '\'' | '\u{2019}' | '-' | '_' | '&' => before.is_alphanumeric() && after.is_alphanumeric(),
        '.' | ',' | ':' => before.is_ascii_digit() && after.is_ascii_digit(),
        '/' => before.is_alphanumeric() && after.is_alphanumeric(),
        // Combining marks.
        c => matches!(u32::from(c), 0x300..=0x36f | 0xfe0f | 0x200d),
    }
}

/// `'d` and `'s` stay marked until the words after them are known.
fn open_contraction(word: &str) -> Vec<String> {
    let straight = word.replace(['\u{2019}', '\u{2018}', '`'], "'");
    let lower = straight.to_lowercase();
    match lower.as_str() {
        "im" if word == "IM" => {}
        "u" => return vec![if word == "U" { "You".into() } else { "you".into() }],
        lower => {
            if let Some(opened) = CONTRACTIONS.get(lower) {
                return opened.split(' ').map(str::to_owned).collect();
            }
            if let Some(fixed) = MISSING_APOSTROPHES.get(lower) {
                return vec![if lexicon::starts_upper(word) {
                    lexicon::capitalise(fixed)
                } else {
                    (*fixed).to_owned()
                }];
            }
        }
    }
    if let Some((head, tail)) = lower.split_once('\'') {
        let pronoun = CONTRACTING_PRONOUNS.has(head);
        if pronoun && matches!(tail, "m" | "re" | "ve" | "ll" | "d" | "s") {
            let head: String = straight.chars().take(head.chars().count()).collect();
            let head = if head == "i" { "I".to_owned() } else { head };
            let tail = match tail {
                "m" => "am",
                "re" => "are",
                "ve" => "have",
                "ll" => "will",
                "d" => "'d",
                _ => "'s",
            };
            return vec![head, tail.to_owned()];
        }
        // "my dog's" and "Max's" may mean "is"; only the words after tell.
    }
    vec![straight]
}

/// "'d" → "had" or "would"; "'s" → "is" or "has".
fn resolve_clitics(tokens: &mut [Token]) {
    for i in 0..tokens.len() {
        let verb = tokens.after_adverbs(i + 1);
        let next = tokens.lower(verb);
        let fixed = match tokens[i].lower.as_str() {
            "'d" if next == "better" => "had",
            "'d" if lexicon::is_participle(next) && !lexicon::is_base_verb(next) => "had",
            "'d" => "would",
            "'s" if i > 0 && (lexicon::is_only_participle(next) || has_done(tokens, verb)) => "has",
            "'s" if i > 0 => "is",
            _ => continue,
        };
        tokens[i] = Token::new(fixed, true);
    }
}

/// "'s put a code on it", "'s robbed me", "'s asked to stay": a participle with an object. Of the ones that take an object
/// in the passive nobody can tell.
fn has_done(words: &[Token], verb: usize) -> bool {
    const IN_THE_PASSIVE: [&str; 9] =
        ["allowed", "awarded", "called", "given", "named", "offered", "owed", "paid", "shown"];
    const OBJECTS: [&str; 13] =
        ["a", "an", "her", "him", "his", "it", "me", "my", "our", "the", "their", "them", "us"];
    lexicon::is_participle(words.lower(verb))
        && !words.among(verb, &IN_THE_PASSIVE)
        && (words.among(verb + 1, &OBJECTS)
            || words.lower(verb) == "asked" && words.among(verb + 1, &["for", "if", "to"]))
}

/// Puts a sentence together again.
pub fn join(tokens: &[Token]) -> String {
    let mut out = String::new();
    for (i, token) in tokens.iter().enumerate() {
        if i > 0 && token.space_before {
            out.push(' ');
        }
        out.push_str(&token.text);
    }
    out
}
