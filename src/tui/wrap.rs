//! Styled text broken into lines of a given width.
//!
//! By grapheme cluster and display width, so that wide characters, emoji and combining marks stay
//! whole; at spaces where there are any. It knows nothing of markdown or panels.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Cells that a grapheme cluster takes.
pub fn cells(grapheme: &str) -> usize {
    grapheme.width()
}

struct Cluster<'a> {
    text: &'a str,
    style: Style,
    cells: usize,
}

impl Cluster<'_> {
    fn is_space(&self) -> bool {
        self.text == " "
    }
}

fn collect(clusters: &[Cluster<'_>]) -> Vec<Span<'static>> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    for cluster in clusters {
        match spans.last_mut() {
            Some(last) if last.style == cluster.style => {
                last.content.to_mut().push_str(cluster.text);
            }
            _ => spans.push(Span::styled(cluster.text.to_owned(), cluster.style)),
        }
    }
    spans
}

/// Breaks `line` at `width` cells. Lines after the first are indented by `hang` cells.
pub fn wrap(line: &Line<'_>, width: usize, hang: usize) -> Vec<Line<'static>> {
    let width = width.max(1);
    let hang = if hang + 8 > width { 0 } else { hang };
    let clusters: Vec<Cluster<'_>> = line
        .spans
        .iter()
        .flat_map(|span| {
            let style = line.style.patch(span.style);
            span.content.graphemes(true).map(move |text| Cluster {
                text,
                style,
                cells: cells(text),
            })
        })
        .collect();
    let mut lines = Vec::new();
    let mut start = 0;
    loop {
        let indent = if lines.is_empty() { 0 } else { hang };
        let room = width - indent;
        let mut end = start;
        let mut used = 0;
        // One past the last space at which the line may break.
        let mut soft = None;
        while end < clusters.len() && used + clusters[end].cells <= room {
            used += clusters[end].cells;
            end += 1;
            if clusters[end - 1].is_space() {
                soft = Some(end);
            }
        }
        if end < clusters.len() {
            if clusters[end].is_space() {
                // The space that does not fit is the break itself.
                soft = Some(end);
            }
            // A word that starts the line has no space before it: break inside the word.
            let leading = clusters[start..end].iter().take_while(|c| c.is_space()).count();
            if let Some(at) = soft
                && at > start + leading
            {
                end = at;
            }
            if end == start {
                // One cluster is wider than the line: clip it rather than loop for ever.
                end = start + 1;
            }
        }
        let mut shown = end;
        if end < clusters.len() {
            while shown > start && clusters[shown - 1].is_space() {
                shown -= 1;
            }
        }
        let mut spans = collect(&clusters[start..shown]);
        if indent > 0 {
            spans.insert(0, Span::raw(" ".repeat(indent)));
        }
        lines.push(Line::from(spans));
        start = end;
        while start < clusters.len() && clusters[start].is_space() {
            start += 1;
        }
        if start >= clusters.len() {
            return lines;
        }
    }
}

/// Plain text as wrapped lines of one style; keeps its line breaks, expands tabs.
pub fn plain(text: &str, style: Style, width: usize) -> Vec<Line<'static>> {
    text.lines()
        .flat_map(|line| {
            let line = line.replace('\t', "    ");
            let hang = line.len() - line.trim_start().len();
            wrap(&Line::styled(line, style), width, hang)
        })
        .collect()
}

/// Cut to `width` cells, with an ellipsis if something was cut; line breaks become spaces.
pub fn ellipsis(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    // The length of what is kept if there is more: it leaves a cell for the ellipsis.
    let mut kept = 0;
    for (n, word) in text.split_whitespace().enumerate() {
        let space = (n > 0).then_some(" ");
        for grapheme in space.into_iter().chain(word.graphemes(true)) {
            if used < width {
                kept = out.len();
            }
            used += cells(grapheme);
            if used > width {
                out.truncate(kept);
                out.push_str(if width > 0 { "…" } else { "" });
                return out;
            }
            out.push_str(grapheme);
        }
    }
    out
}

/// As [`ellipsis`], but keeps leading spaces.
pub fn ellipsis_keep_indent(text: &str, width: usize) -> String {
    let indent = text.len() - text.trim_start_matches(' ').len();
    format!("{}{}", &text[..indent], ellipsis(text, width.saturating_sub(indent)))
}

/// Display width of a text.
pub fn width(text: &str) -> usize {
    text.graphemes(true).map(cells).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(|l| l.spans.iter().map(|s| s.content.as_ref()).collect()).collect()
    }

    #[track_caller]
    fn check(input: &str, width: usize, hang: usize, expected: &[&str]) {
        assert_eq!(text(&wrap(&Line::raw(input.to_owned()), width, hang)), expected);
    }

    #[test]
    fn breaks_at_spaces_and_inside_long_words() {
        check("", 10, 0, &[""]);
        check("one two three", 7, 0, &["one two", "three"]);
        check("one two three", 8, 0, &["one two", "three"]);
        check("abcdefghij", 4, 0, &["abcd", "efgh", "ij"]);
        check("a abcdefghij", 4, 0, &["a", "abcd", "efgh", "ij"]);
        check("- item that wraps twice over", 14, 2, &["- item that", "  wraps twice", "  over"]);
        check("trailing   ", 8, 0, &["trailing"]);
    }

    #[test]
    fn wide_characters_stay_whole() {
        check("日本語", 4, 0, &["日本", "語"]);
        check("日本語", 5, 0, &["日本", "語"]);
        check("👩‍👩‍👧👩‍👩‍👧", 3, 0, &["👩‍👩‍👧", "👩‍👩‍👧"]);
        check("日", 1, 0, &["日"]);
    }

    #[test]
    fn cut_texts_say_so() {
        assert_eq!(ellipsis("short", 10), "short");
        assert_eq!(ellipsis("exactly 10", 10), "exactly 10");
        assert_eq!(ellipsis("one more than 10", 10), "one more …");
        assert_eq!(ellipsis("two\n lines", 20), "two lines");
        assert_eq!(ellipsis("日本語日本語", 5), "日本…");
        assert_eq!(ellipsis("anything", 0), "");
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide_and_no_word_is_lost(
            input in "[a-z日é👍🏽 ]{0,80}", width in 2usize..40, hang in 0usize..6,
        ) {
            let lines = wrap(&Line::raw(input.clone()), width, hang);
            for line in text(&lines) {
                // One cluster may be wider than the line: it is clipped on the screen.
                let one = line.trim_start().graphemes(true).count() <= 1;
                prop_assert!(one || super::width(&line) <= width, "{line:?} in {width}");
            }
            let kept: String = text(&lines).concat().split(' ').collect();
            let all: String = input.split(' ').collect();
            prop_assert_eq!(kept, all);
        }

        #[test]
        fn ellipsis_fits(input in "\\PC{0,40}", width in 0usize..20) {
            prop_assert!(super::width(&ellipsis(&input, width)) <= width);
        }
    }
}
