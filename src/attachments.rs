//! Reads a file that goes with a message: text as it is, HTML and PDF as their text; what is no text is refused in a
//! sentence. It knows neither the chat nor memory.

use std::fs::File;
use std::io::{Read, Write as _};
use std::panic;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use rustix::process::{Resource, Rlimit, setrlimit};
use thiserror::Error;

use crate::texts::{key, text};

/// Larger files are not read.
pub const BYTES_MAX: u64 = 16 << 20;

/// A file as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// "notes.md, 3.2 kB".
    pub label: String,
    pub text: String,
}

/// Why a file can't go with a message.
#[derive(Debug, Error)]
pub enum AttachError {
    #[error("{name} cannot be read")]
    Unreadable {
        name: String,
        #[source]
        source: std::io::Error,
    },
    #[error("{name} is a folder; name the files in it")]
    Folder { name: String },
    #[error("{name} is longer than 16 MB")]
    TooLong { name: String },
    #[error("{name} is {what}: the models here read text only")]
    NotText { name: String, what: &'static str },
    #[error("{name} is not UTF-8 text; `iconv` makes it so")]
    NotUtf8 { name: String },
    #[error("{name} has no text in it (scanned pages are pictures)")]
    Empty { name: String },
    #[error("{name} is a PDF that can't be read: {why}")]
    Pdf { name: String, why: String },
}

/// How files begin that are no text.
const KINDS: [(&[u8], &str); 12] = [
    (b"\x89PNG", key!("an image")),
    (b"\xff\xd8\xff", key!("an image")),
    (b"GIF8", key!("an image")),
    (b"BM", key!("an image")),
    (b"II*\0", key!("an image")),
    (b"MM\0*", key!("an image")),
    (b"PK\x03\x04", key!("an archive or an office document")),
    (b"\x1f\x8b", key!("an archive")),
    (b"\xd0\xcf\x11\xe0", key!("an office document")),
    (b"\x7fELF", key!("a program")),
    (b"ID3", key!("a sound")),
    (b"OggS", key!("a sound")),
];

/// "10.0 MB", "98.2 kB", "312 bytes".
pub fn size_of(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Reads a file.
///
/// # Errors
/// If it is no file, too long, or nothing that can be read as text.
pub fn read(path: &Path) -> Result<Attachment, AttachError> {
    let name = path.display().to_string();
    let unreadable = |source| AttachError::Unreadable { name: name.clone(), source };
    if path.is_dir() {
        return Err(AttachError::Folder { name });
    }
    let file = File::open(path).map_err(unreadable)?;
    from_bytes(&name, bytes(file, &name)?)
}

/// All of it, up to the limit.
fn bytes(from: impl Read, name: &str) -> Result<Vec<u8>, AttachError> {
    let mut bytes = Vec::new();
    from.take(BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| AttachError::Unreadable { name: name.to_owned(), source })?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(AttachError::TooLong { name: name.to_owned() });
    }
    Ok(bytes)
}

/// What comes on a pipe.
///
/// # Errors
/// As [`read`].
pub fn read_from(from: impl Read, name: &str) -> Result<Attachment, AttachError> {
    from_bytes(name, bytes(from, name)?)
}

fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Attachment, AttachError> {
    let name = name.to_owned();
    let n = bytes.len();
    let is_image = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP")
        || bytes.get(4..8) == Some(b"ftyp");
    let known = KINDS.iter().find(|(begin, _)| bytes.starts_with(begin)).map(|(_, what)| *what);
    let text = if bytes.starts_with(b"%PDF") {
        of_pdf(bytes).map_err(|why| AttachError::Pdf { name: name.clone(), why })?
    } else if let Some(what) = known.or(is_image.then_some(key!("an image or a film"))) {
        return Err(AttachError::NotText { name, what });
    } else if bytes.contains(&0) {
        return Err(AttachError::NotText { name, what: key!("no text") });
    } else {
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| AttachError::NotUtf8 { name: name.clone() })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        if is_html(&name, text) { of_html(text) } else { text.to_owned() }
    };
    if text.trim().is_empty() {
        return Err(AttachError::Empty { name });
    }
    let label = format!("{}, {}", short(&name), size_of(n));
    Ok(Attachment { label, text })
}

/// The end of a long path.
fn short(name: &str) -> &str {
    const CHARS_MAX: usize = 80;
    let n = name.chars().count();
    name.char_indices().nth(n.saturating_sub(CHARS_MAX)).map_or(name, |(at, _)| &name[at..])
}

/// The argument with which this program reads a PDF from its input, and its text begins with this line.
pub const PDF_READER: &str = "__pdf";

/// PDFs are hostile input, and large programs: another process of this program reads them, within limits.
fn of_pdf(pdf: Vec<u8>) -> Result<String, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut reader = Command::new(program)
        .arg(PDF_READER)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    let input = reader.stdin.take();
    let feed = std::thread::spawn(move || input.map(|mut input| input.write_all(&pdf)));
    let out = reader.wait_with_output().map_err(|e| e.to_string())?;
    // One that ended early did not read all of it.
    let _ = feed.join();
    let said = String::from_utf8_lossy(&out.stdout);
    match said.split_once('\n') {
        Some((PDF_READER, text)) if out.status.success() => Ok(text.to_owned()),
        Some((PDF_READER, why)) => Err(why.trim().to_owned()),
        _ => Err(text!("it is damaged, or too much for the reader").into()),
    }
}

/// What [`of_pdf`] starts: text on standard output, or why there is none, and the exit code.
pub fn read_pdf() -> ExitCode {
    const SECONDS_MAX: u64 = 30;
    const MEMORY_MAX: u64 = 4 << 30;
    limit(Resource::Cpu, SECONDS_MAX);
    limit(Resource::As, MEMORY_MAX);
    let mut pdf = Vec::new();
    let read = std::io::stdin().lock().take(BYTES_MAX).read_to_end(&mut pdf);
    let text = match read {
        Ok(_) => pdf_text(&pdf),
        Err(e) => Err(e.to_string()),
    };
    let (said, code) = match text {
        Ok(text) => (text, ExitCode::SUCCESS),
        Err(why) => (why, ExitCode::FAILURE),
    };
    let said = &said[..said.floor_char_boundary(BYTES_MAX as usize)];
    let _ = write!(std::io::stdout().lock(), "{PDF_READER}\n{said}");
    code
}

fn limit(resource: Resource, most: u64) {
    let limits = Rlimit { current: Some(most), maximum: Some(most) };
    // Where the system has no such limit, there is none.
    let _ = setrlimit(resource, limits);
}

fn pdf_text(pdf: &[u8]) -> Result<String, String> {
    let read = || pdf_extract::extract_text_from_mem(pdf).map_err(|e| e.to_string());
    let text = panic::catch_unwind(read).unwrap_or_else(|_| Err("it is damaged".into()))?;
    // Paragraphs stand apart; single lines of a table do, too.
    Ok(text.replace("\n\n\n", "\n\n").trim().to_owned())
}

fn is_html(name: &str, text: &str) -> bool {
    let extension = Path::new(name).extension();
    let is = |end: &str| extension.is_some_and(|extension| extension.eq_ignore_ascii_case(end));
    let begin = text.trim_start();
    let begin = begin[..begin.floor_char_boundary(15)].to_lowercase();
    is("html") || is("htm") || begin.starts_with("<!doctype html") || begin.starts_with("<html")
}

/// Elements whose text is not for people.
const HIDDEN: [&str; 6] = ["head", "noscript", "script", "style", "svg", "template"];
/// Elements that stand in lines of their own.
const BLOCKS: [&str; 31] = [
    "article",
    "aside",
    "blockquote",
    "br",
    "dd",
    "div",
    "dl",
    "dt",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "td",
    "th",
    "tr",
    "ul",
];

/// The text of an HTML page, in lines.
fn of_html(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        push_text(&mut out, &rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("<!--") {
            rest = after.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let is_tag = rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c));
        if !is_tag {
            push_text(&mut out, "<");
            rest = &rest[1..];
            continue;
        }
        let (tag, after) = rest[1..].split_once('>').unwrap_or((&rest[1..], ""));
        let word = tag.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric());
        let name = word.into_iter().next().unwrap_or_default().to_ascii_lowercase();
        rest = after;
        if HIDDEN.contains(&name.as_str()) && !tag.starts_with('/') && !tag.ends_with('/') {
            let close = format!("</{name}");
            let end = find_ignoring_case(rest, &close).unwrap_or(rest.len());
            rest = rest[end..].split_once('>').map_or("", |(_, after)| after);
        } else if BLOCKS.contains(&name.as_str()) {
            while out.ends_with(' ') {
                out.pop();
            }
            if name == "td" || name == "th" {
                out.push_str(if tag.starts_with('/') { "\t" } else { "" });
            } else if !out.is_empty() && !out.ends_with("\n\n") {
                out.push('\n');
            }
            if name == "li" && !tag.starts_with('/') {
                out.push_str("- ");
            }
        }
    }
    push_text(&mut out, rest);
    out.trim().to_owned()
}

fn find_ignoring_case(text: &str, part: &str) -> Option<usize> {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    text.windows(part.len()).position(|window| window.eq_ignore_ascii_case(part))
}

/// Text between tags: white space is one space, entities are characters.
fn push_text(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut n = c.len_utf8();
        let c = if c == '&' { entity(rest, &mut n) } else { c };
        rest = &rest[n..];
        if !c.is_whitespace() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with(char::is_whitespace) {
            out.push(' ');
        }
    }
}

/// The character that an entity stands for, and its length; the `&` itself if it is none.
fn entity(text: &str, n: &mut usize) -> char {
    const NAMED: [(&str, char); 12] = [
        ("amp", '&'),
        ("apos", '\''),
        ("euro", '€'),
        ("gt", '>'),
        ("hellip", '…'),
        ("lt", '<'),
        ("mdash", '—'),
        ("nbsp", ' '),
        ("ndash", '–'),
        ("quot", '"'),
        ("rsquo", '’'),
        ("shy", ' '),
    ];
    let end = text.bytes().take(12).position(|b| b == b';');
    let Some(end) = end else { return '&' };
    let name = &text[1..end];
    let number = name.strip_prefix('#').and_then(|digits| match digits.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    });
    let named = NAMED.iter().find(|(known, _)| *known == name).map(|(_, c)| *c);
    match number.and_then(char::from_u32).or(named) {
        Some(c) => {
            *n = end + 1;
            c
        }
        None => '&',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, bytes: &[u8], expected: &str) {
        let read = read_from(bytes, name);
        let said = read.map_or_else(|e| e.to_string(), |a| format!("{} | {}", a.label, a.text));
        assert_eq!(said, expected);
    }

    #[test]
    fn text_is_read_and_the_rest_refused_in_a_sentence() {
        check("a.md", "\u{feff}# Tea\n".as_bytes(), "a.md, 9 bytes | # Tea\n");
        check("a.png", b"\x89PNG\r\n", "a.png is an image: the models here read text only");
        check("a", b"RIFF1234WEBPVP8", "a is an image or a film: the models here read text only");
        check("a.bin", b"a\0b", "a.bin is no text: the models here read text only");
        check("a.txt", b"caf\xe9", "a.txt is not UTF-8 text; `iconv` makes it so");
        check("a.txt", b" \n", "a.txt has no text in it (scanned pages are pictures)");
        let error = read(Path::new("/")).unwrap_err().to_string();
        assert_eq!(error, "/ is a folder; name the files in it");
        assert!(
            read(Path::new("/no/such/file")).unwrap_err().to_string().contains("cannot be read")
        );
    }

    #[test]
    fn a_page_is_its_text() {
        let page = "<!DOCTYPE html><html><head><title>x</title></head><body><!-- no -->\n\
            <h1>Tea &amp; cake</h1><p>One\n  line &#8212; 3 < 4 &nope; &lt;b&gt;</p>\
            <SCRIPT>var a = '<p>';</SCRIPT><ul><li>one<li>two</ul>\
            <table><tr><td>a</td><td>b</td></tr></table>end</body></html>";
        let expected = "Tea & cake\n\nOne line — 3 < 4 &nope; <b>\n\n- one\n- two\n\na\tb\t\n\nend";
        assert_eq!(of_html(page), expected);
        for broken in ["<", "<p", "<!--", "<script>", "&", "&#x110000;", "</", "<b<b>", "a<é>"] {
            of_html(broken);
        }
    }

    #[test]
    fn a_pdf_is_its_text() {
        let pdf = include_bytes!("../tests/fixtures/page.pdf");
        assert_eq!(pdf_text(pdf).as_deref(), Ok("The meeting is on Tuesday in Bergen."));
        assert!(pdf_text(b"%PDF-1.4\nbroken").is_err());
        // Any part of it, and any byte of it another one.
        for at in 0..pdf.len() {
            let _ = pdf_text(&pdf[..at]);
            let mut other = pdf.to_vec();
            other[at] ^= 1;
            let _ = pdf_text(&other);
        }
    }
}
