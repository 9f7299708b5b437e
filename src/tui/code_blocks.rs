//! The code blocks of a Markdown text: where they are, and what is in them.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::tui::terminal;

/// A fenced code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeBlock {
    /// Its bytes in the text, fences included.
    pub range: Range<usize>,
    /// The word after the fence, perhaps empty.
    pub language: String,
    pub code: String,
    /// Whether it stands by itself, neither in a list nor in a quotation.
    pub is_alone: bool,
}

/// All fenced blocks, in order. A text that the parser fails on has none: model output is hostile input.
pub fn code_blocks(text: &str) -> Vec<CodeBlock> {
    // Most texts have none.
    if !text.contains("```") && !text.contains("~~~") {
        return Vec::new();
    }
    terminal::guarded(|| parse(text)).unwrap_or_default()
}

fn parse(text: &str) -> Vec<CodeBlock> {
    let mut blocks = Vec::new();
    let mut open: Option<CodeBlock> = None;
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                let language = language.split([' ', ',', '{']).next().unwrap_or("").to_owned();
                open =
                    Some(CodeBlock { range, language, code: String::new(), is_alone: depth == 0 });
            }
            Event::Start(_) => depth += 1,
            Event::End(TagEnd::CodeBlock) if open.is_some() => blocks.extend(open.take()),
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Text(code) => {
                if let Some(block) = &mut open {
                    block.code.push_str(&code);
                }
            }
            _ => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fenced_blocks_are_found() {
        let text = "One:\n\n```rust\nlet x = 1;\n```\n\n- two:\n  ~~~\n  b\n  ~~~\n\n```\nopen";
        let blocks = code_blocks(text);
        let found: Vec<(&str, &str, bool)> =
            blocks.iter().map(|b| (b.language.as_str(), b.code.as_str(), b.is_alone)).collect();
        assert_eq!(found, [("rust", "let x = 1;\n", true), ("", "b\n", false), ("", "open", true)]);
        assert!(text[blocks[0].range.clone()].starts_with("```rust"));
        assert_eq!(code_blocks("no `code` here"), []);
    }
}
