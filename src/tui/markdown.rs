//! Markdown in replies → wrapped lines.
//!
//! tui-markdown parses and styles; this adds the palette, the wrapping and a guard: model output is
//! hostile input, so if the parser panics, the reply is shown as plain text.

use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};
use tui_markdown::{Options, StyleSheet};

use crate::memory::plain_text;
use crate::tui::code_blocks::{CodeBlock, code_blocks};
use crate::tui::palette::Palette;
use crate::tui::{highlight, terminal, wrap};

#[derive(Debug, Clone)]
struct Sheet(Palette);

impl StyleSheet for Sheet {
    fn heading(&self, _: u8) -> Style {
        self.0.heading
    }
    fn code(&self) -> Style {
        self.0.code
    }
    fn link(&self) -> Style {
        self.0.link
    }
    fn blockquote(&self) -> Style {
        self.0.quote
    }
    fn heading_meta(&self) -> Style {
        self.0.muted
    }
    fn metadata_block(&self) -> Style {
        self.0.muted
    }
    fn heading_marker(&self, _: u8) -> &'static str {
        ""
    }
    fn code_block_fence(&self) -> &'static str {
        ""
    }
    fn html(&self) -> Style {
        self.0.muted
    }
    fn math_inline(&self) -> Style {
        self.0.code
    }
    fn math_display(&self) -> Style {
        self.0.code
    }
    fn footnote_ref(&self) -> Style {
        self.0.muted
    }
    fn footnote_def(&self) -> Style {
        self.0.muted
    }
    fn table_header(&self) -> Style {
        self.0.heading
    }
    fn table_border(&self) -> Style {
        self.0.border
    }
    fn list_marker(&self) -> Style {
        self.0.marker
    }
    fn image_alt(&self) -> Style {
        self.0.muted
    }
}

/// The indent, in cells, of the second and later lines of a list item or quotation.
fn hang_of(text: &str) -> usize {
    let trimmed = text.trim_start_matches(' ');
    let indent = text.len() - trimmed.len();
    if trimmed.starts_with("- ") || trimmed.starts_with("• ") {
        return indent + 2;
    }
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && trimmed[digits..].starts_with(". ") {
        return indent + digits + 2;
    }
    indent
}

/// Cells before a line of code.
const CODE_INDENT: usize = 2;

/// `source` as lines of at most `width` cells.
pub fn render(source: &str, palette: &Palette, width: usize) -> Vec<Line<'static>> {
    let source = plain_text(source).replace('\t', "    ");
    let mut lines: Vec<Line<'static>> = Vec::new();
    let mut from = 0;
    for block in code_blocks(&source).into_iter().filter(|block| block.is_alone) {
        part(&mut lines, prose(&source[from..block.range.start], palette, width));
        part(&mut lines, code(&block, palette, width));
        from = block.range.end;
    }
    part(&mut lines, prose(&source[from..], palette, width));
    lines
}

/// Adds a part, after an empty line.
fn part(lines: &mut Vec<Line<'static>>, mut more: Vec<Line<'static>>) {
    let is_empty = |line: &Line<'_>| line.width() == 0;
    more.truncate(more.iter().rposition(|line| !is_empty(line)).map_or(0, |last| last + 1));
    if more.is_empty() {
        return;
    }
    if !lines.is_empty() {
        lines.push(Line::raw(""));
    }
    lines.extend(more);
}

fn code(block: &CodeBlock, palette: &Palette, width: usize) -> Vec<Line<'static>> {
    let indent = if width > 4 * CODE_INDENT { CODE_INDENT } else { 0 };
    let lines = highlight::lines(&block.language, &block.code, palette);
    lines
        .iter()
        .flat_map(|line| {
            let text: String = line.spans.iter().map(|s| s.content.as_ref()).collect();
            let hang = text.len() - text.trim_start_matches(' ').len();
            wrap::wrap(line, width - indent, hang)
        })
        .map(|mut line| {
            line.spans.insert(0, Span::raw(" ".repeat(indent)));
            line
        })
        .collect()
}

/// Markdown without code blocks of its own.
fn prose(source: &str, palette: &Palette, width: usize) -> Vec<Line<'static>> {
    let table = u16::try_from(width.max(1)).unwrap_or(u16::MAX);
    let options = Options::new(Sheet(*palette)).table_width(table);
    // A line stays a line, as in most chats: small models write verses and addresses without the two blanks of a hard break.
    // What is indented goes on with the line above it.
    let source = &*source.replace('\n', "  \n").replace("  \n ", "\n ");
    let lines = terminal::guarded(|| {
        let text: Text<'_> = tui_markdown::from_str_with_options(source, &options);
        text.lines.iter().flat_map(|line| wrapped(line, palette, width)).collect::<Vec<_>>()
    });
    lines.unwrap_or_else(|| wrap::plain(source, palette.text, width))
}

fn wrapped(line: &Line<'_>, palette: &Palette, width: usize) -> Vec<Line<'static>> {
    let mut line = line.clone();
    if let Some(first) = line.spans.first_mut()
        && first.content.trim_start_matches(' ') == "- "
    {
        *first = Span::styled(first.content.replace('-', "•"), palette.marker);
    }
    let text: String = line.spans.iter().map(|s| s.content.as_ref()).collect();
    wrap::wrap(&line, width, hang_of(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(source: &str, width: usize) -> Vec<String> {
        render(source, &Palette::named("mono"), width)
            .iter()
            .map(|l| l.spans.iter().map(|s| s.content.as_ref()).collect())
            .collect()
    }

    #[test]
    fn lists_hang_and_code_keeps_its_lines() {
        assert_eq!(
            shown("Two:\n\n- a first item that is long\n- second\n\n```rust\nlet x = 1;\n```", 16),
            ["Two:", "", "• a first item", "  that is long", "• second", "", "  let x = 1;"]
        );
        assert_eq!(shown("# Title\n\ntext **bold**", 20), ["Title", "", "text bold"]);
        assert_eq!(
            shown("Rain falls,\nand **the sea**\nis grey.\n\nThe end", 20),
            ["Rain falls,", "and the sea", "is grey.", "", "The end"]
        );
        assert_eq!(
            shown("1. one\n   more\n2. two\n> a\n> b\n\nT\n===\n", 20),
            ["1. one more", "2. two", "", "> a", "> b", "", "T"]
        );
        assert_eq!(shown("|a|b|\n|-|-|\n|1|2|\n\nx", 20).len(), 7);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        /// Anything that looks like markdown, however nested or broken.
        #[test]
        fn never_fails_and_never_too_wide(
            source in "([-*_`~#>|\\[\\]()!:$^\\\\ \n]|[0-9]\\. |a|日|<b>|```|---|\\|-\\|){0,60}",
            width in 4usize..50,
        ) {
            for line in shown(&source, width) {
                prop_assert!(wrap::width(&line) <= width, "{:?}", line);
            }
        }
    }
}
