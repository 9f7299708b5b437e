//! An episode's title and narrative.

use jiff::civil::DateTime;
use minijinja::context;

use super::{Line, Prompt, Style, asset::PROMPTS, reply, started};

/// Asks for an episode's title and third-person story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Episode<'a> {
    /// The messages, oldest first.
    pub lines: &'a [Line],
    /// When the first one was sent, by the wall clock.
    pub started_at: DateTime,
}

/// An episode's texts; what a model did not give is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EpisodeDraft {
    /// A few words.
    pub title: String,
    /// The story in the third person.
    pub content: String,
}

impl Episode<'_> {
    /// Both turns of the prompt.
    pub fn fill(&self, style: Style) -> Prompt {
        let lines: Vec<_> = self.lines.iter().map(Line::render).collect();
        PROMPTS.prompt(
            "episode",
            style,
            context! {
                lines,
                started => started(self.started_at, style),
                started_iso => self.started_at.strftime("%Y-%m-%d %H:%M").to_string(),
            },
        )
    }

    /// Reads `Title: / Time: / Story:` lines in any order, or a JSON object with `title` and
    /// `content`. Text without these marks is the story.
    pub fn parse(reply: &str) -> EpisodeDraft {
        let text = reply::clean(reply);
        from_json(&text).unwrap_or_else(|| from_fields(&text))
    }
}

fn from_json(text: &str) -> Option<EpisodeDraft> {
    let object = text.get(text.find('{')?..=text.rfind('}')?)?;
    let value: serde_json::Value = serde_json::from_str(object).ok()?;
    let field = |names: &[&str]| {
        reply::one_line(names.iter().find_map(|n| value.get(n)?.as_str()).unwrap_or_default())
    };
    Some(EpisodeDraft {
        title: field(&["title", "Title"]),
        content: field(&["content", "story", "Story"]),
    })
}

fn from_fields(text: &str) -> EpisodeDraft {
    let (mut title, mut story) = (String::new(), Vec::new());
    let mut marked = false;
    for line in text.lines() {
        let bare = reply::strip_marks(line);
        let mark = bare.split_once(':').map(|(name, rest)| {
            (name.trim_matches(['*', ' ']).to_lowercase(), rest.trim_matches(['*', ' ', '"']))
        });
        match mark.as_ref().map(|(name, rest)| (name.as_str(), *rest)) {
            Some(("title", rest)) => title = reply::one_line(rest),
            Some(("time" | "timestamp", _)) => {}
            Some(("story" | "content", rest)) => {
                marked = true;
                story = vec![rest.to_owned()];
            }
            _ if bare.is_empty() || (!marked && reply::is_preamble(bare)) => {}
            _ => story.push(bare.to_owned()),
        }
    }
    EpisodeDraft { title, content: story.join(" ").trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_asked_form_and_what_small_models_make_of_it() {
        let check = |reply: &str, title: &str, content: &str| {
            let draft = Episode::parse(reply);
            assert_eq!((draft.title.as_str(), draft.content.as_str()), (title, content), "{reply}");
        };
        check(
            "Title: A move to Lund\nTime: 2026-11-16 09:05\nStory: Ana moved.\nShe is glad.",
            "A move to Lund",
            "Ana moved. She is glad.",
        );
        check("Sure, here it is:\n**Title:** X\n**Story:** Y", "X", "Y");
        check("```json\n{\"title\": \"X\", \"content\": \"Y\"}\n```", "X", "Y");
        check("{\"title\": \"X\\nY\", \"story\": \"\\u001bZ\"}", "X Y", "Z");
        check("Title:\tX\nStory:\tY", "X", "Y");
        check("They talked about tea.", "", "They talked about tea.");
        check("Title: X\nTime: yesterday\nStory: Y", "X", "Y");
        check("{\"title\": ", "", "");
        check("", "", "");
    }
}
