//! Styled text broken into lines of a given width.
//!
//! By grapheme cluster and display width, so that wide characters, emoji and combining marks stay
//! whole; at spaces where there are any. It knows nothing of markdown or panels.

use ratatui::style::Style;
use ratatui::text::{Line, Span, StyledGrapheme};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

fn is_space(grapheme: &StyledGrapheme<'_>) -> bool {
    grapheme.symbol == " "
}

/// Breaks `line` at `width` cells. Lines after the first are indented by `hang` cells.
pub fn wrap(line: &Line<'_>, width: usize, hang: usize) -> Vec<Line<'static>> {
    let width = width.max(1);
    if is_simple_and_fits(line, width) {
        let spans = line.spans.iter().filter(|span| !span.content.is_empty());
        let owned = |span: &Span<'_>| {
            Span::styled(span.content.as_ref().to_owned(), line.style.patch(span.style))
        };
        return vec![Line::from(spans.map(owned).collect::<Vec<_>>())];
    }
    let hang = if hang + 8 > width { 0 } else { hang };
    let graphemes: Vec<_> = line.styled_graphemes(Style::default()).collect();
    let mut rest = &graphemes[..];
    let mut lines = Vec::new();
    loop {
        let indent = if lines.is_empty() { 0 } else { hang };
        let mut used = 0;
        let fitting = rest.iter().take_while(|grapheme| {
            used += grapheme.symbol.width();
            used <= width - indent
        });
        // A grapheme that is wider than the line is clipped, rather than tried for ever.
        let mut end = fitting.count().max(1).min(rest.len());
        let mut n_shown = end;
        if end < rest.len() {
            // A word that starts the line has no space before it: break inside the word.
            let leading = rest.iter().take_while(|g| is_space(g)).count();
            let space = rest[..end].iter().rposition(is_space).filter(|&at| at >= leading);
            if let Some(at) = space
                && !is_space(&rest[end])
            {
                end = at + 1;
            }
            n_shown = rest[..end].iter().rposition(|g| !is_space(g)).map_or(0, |at| at + 1);
        }
        let mut spans = Vec::new();
        if indent > 0 {
            spans.push(Span::raw(" ".repeat(indent)));
        }
        spans.extend(rest[..n_shown].chunk_by(|a, b| a.style == b.style).map(|run| {
            let text: String = run.iter().map(|grapheme| grapheme.symbol).collect();
            Span::styled(text, run[0].style)
        }));
        lines.push(Line::from(spans));
        let n_spaces = rest[end..].iter().take_while(|g| is_space(g)).count();
        rest = &rest[end + n_spaces..];
        if rest.is_empty() {
            return lines;
        }
    }
}

/// Most lines: nothing is to be broken or left out.
fn is_simple_and_fits(line: &Line<'_>, width: usize) -> bool {
    let texts = || line.spans.iter().map(|span| span.content.as_ref());
    texts().map(str::len).sum::<usize>() <= width
        && texts().all(is_simple)
        && !texts().rfind(|text| !text.is_empty()).is_some_and(|text| text.ends_with(' '))
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

/// Text of which each byte takes a cell.
fn is_simple(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Whether a text holds a word, which is in lower case.
pub fn holds(text: &str, word: &str) -> bool {
    if !word.is_ascii() {
        return text.to_lowercase().contains(word);
    }
    let (text, word) = (text.as_bytes(), word.as_bytes());
    word.is_empty() || text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}

/// Cut to `width` cells, with an ellipsis if something was cut; line breaks become spaces.
pub fn ellipsis(text: &str, width: usize) -> String {
    if text.len() <= width && is_simple(text) && text.trim() == text && !text.contains("  ") {
        return text.to_owned();
    }
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
            used += grapheme.width();
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

/// The beginning of a text that takes at most `width` cells; line breaks become spaces.
pub fn cut(text: &str, width: usize) -> String {
    let mut used = 0;
    let graphemes = text.graphemes(true).map(|g| if g.contains('\n') { " " } else { g });
    let fits = graphemes.take_while(|g| {
        used += g.width();
        used <= width
    });
    fits.collect()
}

/// As [`ellipsis`], but keeps leading spaces.
pub fn ellipsis_keep_indent(text: &str, width: usize) -> String {
    let indent = text.len() - text.trim_start_matches(' ').len();
    format!("{}{}", &text[..indent], ellipsis(text, width.saturating_sub(indent)))
}

/// The parts of "one · two · three" that fit, none of them cut; the first is.
pub fn parts_that_fit(text: &str, width: usize) -> String {
    let ends = text.rmatch_indices(" · ").map(|(end, _)| end);
    let fits = |&end: &usize| self::width(&text[..end]) <= width;
    let end = std::iter::once(text.len()).chain(ends).find(fits);
    end.map_or_else(|| ellipsis(text, width), |end| text[..end].to_owned())
}

/// Display width of a text.
pub fn width(text: &str) -> usize {
    if is_simple(text) {
        return text.len();
    }
    text.graphemes(true).map(UnicodeWidthStr::width).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(|l| l.spans.iter().map(|s| s.content.as_ref()).collect()).collect()
    }

    #[test]
    fn parts_are_whole() {
        for (width, expected) in
            [(14, "1 · two · 日本"), (13, "1 · two"), (7, "1 · two"), (6, "1"), (0, "")]
        {
            assert_eq!(parts_that_fit("1 · two · 日本", width), expected, "{width}");
        }
        assert_eq!(parts_that_fit("long · b", 3), "lo…");
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
        fn words_are_found_in_either_case(text in "[a-cA-C éÉ]{0,12}", word in "[a-cé]{0,3}") {
            prop_assert_eq!(holds(&text, &word), text.to_lowercase().contains(&word));
        }

        #[test]
        fn simple_texts_are_as_wide_as_others(input in "[a-z ]{0,30}", width in 0usize..20) {
            let other = input.replace(' ', "\u{2003}");
            let same = ellipsis(&other, width);
            prop_assert_eq!(super::width(&other), super::width(&input));
            prop_assert_eq!(ellipsis(&input, width), same);
        }

        #[test]
        fn ellipsis_fits(input in "\\PC{0,40}", width in 0usize..20) {
            prop_assert!(super::width(&ellipsis(&input, width)) <= width);
        }
    }
}
