//! The narrative of an episode: title, time, story.

use jiff::civil::DateTime;
use minijinja::context;

use super::{Line, Problem, Prompt, Style, asset, date, reply};

/// Asks for an episode's title and third-person story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Episode<'a> {
    pub lines: &'a [Line],
    /// When the first line was said, wall clock.
    pub started_at: DateTime,
}

/// What was read. An empty title or story means that the model gave none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EpisodeDraft {
    pub title: String,
    pub content: String,
    pub timestamp: Option<DateTime>,
}

impl Episode<'_> {
    #[must_use]
    pub fn fill(&self, style: Style) -> Prompt {
        let lines: Vec<_> = self.lines.iter().map(Line::render).collect();
        asset::prompt(
            "episode",
            style,
            context! {
                lines,
                started => date(self.started_at),
                started_iso => self.started_at.strftime("%Y-%m-%d %H:%M").to_string(),
            },
        )
    }

    /// Reads `Title: / Time: / Story:` lines in any order, or a JSON object with `title`,
    /// `timestamp` and `content`. Text without any mark is the story.
    #[must_use]
    pub fn parse(reply: &str) -> (EpisodeDraft, Vec<Problem>) {
        let text = reply::clean(reply);
        let mut draft = from_json(&text).unwrap_or_else(|| from_fields(&text));
        let mut problems = Vec::new();
        if text.is_empty() {
            problems.push(Problem::Empty);
        } else {
            let mut missing = |field, value: &str| {
                if value.is_empty() {
                    problems.push(Problem::Missing { field });
                }
            };
            missing("title", &draft.0.title);
            missing("story", &draft.0.content);
            match read_time(&draft.1) {
                Some(at) => draft.0.timestamp = Some(at),
                None if draft.1.is_empty() => problems.push(Problem::Missing { field: "time" }),
                None => problems.push(Problem::Unreadable {
                    field: "time",
                    received: reply::shorten(&draft.1),
                }),
            }
        }
        (draft.0, problems)
    }
}

fn from_json(text: &str) -> Option<(EpisodeDraft, String)> {
    let object = text.get(text.find('{')?..=text.rfind('}')?)?;
    let value: serde_json::Value = serde_json::from_str(object).ok()?;
    let field = |names: &[&str]| {
        names.iter().find_map(|n| value.get(n)?.as_str()).unwrap_or_default().trim().to_owned()
    };
    let draft = EpisodeDraft {
        title: field(&["title", "Title"]),
        content: field(&["content", "story", "Story"]),
        timestamp: None,
    };
    Some((draft, field(&["timestamp", "time", "Time"])))
}

fn from_fields(text: &str) -> (EpisodeDraft, String) {
    let (mut title, mut time, mut story) = (String::new(), String::new(), Vec::new());
    let mut marked = false;
    for line in text.lines() {
        let bare = reply::strip_marks(line);
        let mark = bare.split_once(':').map(|(name, rest)| {
            (name.trim_matches(['*', ' ']).to_lowercase(), rest.trim_matches(['*', ' ', '"']))
        });
        match mark {
            Some((name, rest)) if name == "title" => rest.clone_into(&mut title),
            Some((name, rest)) if name == "time" || name == "timestamp" => {
                rest.clone_into(&mut time);
            }
            Some((name, rest)) if name == "story" || name == "content" => {
                marked = true;
                story = vec![rest.to_owned()];
            }
            _ if bare.is_empty() || (!marked && reply::is_preamble(bare)) => {}
            _ => story.push(bare.to_owned()),
        }
    }
    let content = story.join(" ").trim().to_owned();
    (EpisodeDraft { title, content, timestamp: None }, time)
}

fn read_time(text: &str) -> Option<DateTime> {
    let text = text.trim();
    ["%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"]
        .iter()
        .find_map(|format| DateTime::strptime(format, text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(reply: &str, title: &str, content: &str, time: Option<&str>, n_problems: usize) {
        let (draft, problems) = Episode::parse(reply);
        assert_eq!((draft.title.as_str(), draft.content.as_str()), (title, content), "{reply}");
        assert_eq!(draft.timestamp.map(|t| t.to_string()).as_deref(), time, "{reply}");
        assert_eq!(problems.len(), n_problems, "{problems:?}");
    }

    #[test]
    fn the_asked_form_and_what_small_models_make_of_it() {
        check(
            "Title: A move to Lund\nTime: 2026-11-16 09:05\nStory: Ana moved.\nShe is glad.",
            "A move to Lund",
            "Ana moved. She is glad.",
            Some("2026-11-16T09:05:00"),
            0,
        );
        check("Sure, here it is:\n**Title:** X\n**Story:** Y", "X", "Y", None, 1);
        check(
            r#"```json
{"title": "X", "content": "Y", "timestamp": "2026-11-16T09:05:00"}
```"#,
            "X",
            "Y",
            Some("2026-11-16T09:05:00"),
            0,
        );
        check("They talked about tea.", "", "They talked about tea.", None, 2);
        check("Title: X\nTime: yesterday\nStory: Y", "X", "Y", None, 1);
        check("{\"title\": ", "", "", None, 3);
        check("", "", "", None, 1);
    }
}
