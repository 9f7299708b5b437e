//! Names of a GGUF model that was split into several files.

use std::path::{Path, PathBuf};

/// No model is published in more files.
const PARTS_MAX: usize = 512;

/// A file's name as one of several, as llama.cpp's `gguf-split` names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<'a> {
    /// `model`, of `model-00002-of-00003.gguf`.
    pub stem: &'a str,
    /// From 1.
    pub number: usize,
    /// At least 2, and at most 512.
    pub n_parts: usize,
}

impl<'a> Part<'a> {
    /// `None` for the name, or the path, of a whole model.
    pub fn of(name: &'a str) -> Option<Self> {
        let digits = |text: &str| {
            let is_number = text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit());
            is_number.then(|| text.parse().ok()).flatten()
        };
        let end = name.len().checked_sub(".gguf".len())?;
        let (rest, extension) = name.split_at_checked(end)?;
        let (rest, n_parts) = rest.rsplit_once("-of-")?;
        let (stem, number) = rest.rsplit_once('-')?;
        let (number, n_parts) = (digits(number)?, digits(n_parts)?);
        let is_one = extension.eq_ignore_ascii_case(".gguf")
            && (2..=PARTS_MAX).contains(&n_parts)
            && (1..=n_parts).contains(&number);
        is_one.then_some(Self { stem, number, n_parts })
    }

    /// The names of all parts, in their order.
    pub fn all(&self) -> impl Iterator<Item = String> {
        part_names(self.stem, self.n_parts)
    }
}

/// `stem-00001-of-00003.gguf`, …; `stem.gguf` of a model in one file.
pub fn part_names(stem: &str, n_parts: usize) -> impl Iterator<Item = String> {
    (1..=n_parts).map(move |number| match n_parts {
        1 => format!("{stem}.gguf"),
        _ => format!("{stem}-{number:05}-of-{n_parts:05}.gguf"),
    })
}

/// The files of the GGUF model that this one is, or is a part of, in their order.
pub fn parts_of(path: &Path) -> Vec<PathBuf> {
    match path.file_name().and_then(|name| name.to_str()).and_then(Part::of) {
        Some(part) => part.all().map(|name| path.with_file_name(name)).collect(),
        None => vec![path.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_known_by_their_names() {
        let part = Part::of("m/Qwen2.5-7B-Q4_K_M-00002-of-00003.gguf").unwrap();
        assert_eq!((part.stem, part.number, part.n_parts), ("m/Qwen2.5-7B-Q4_K_M", 2, 3));
        let names: Vec<String> = part.all().collect();
        assert_eq!(names[2], "m/Qwen2.5-7B-Q4_K_M-00003-of-00003.gguf");
        for whole in [
            "model.gguf",
            ".gguf",
            "",
            "é.gguf",
            "m-00001-of-00001.gguf",
            "m-00003-of-00002.gguf",
            "m-00000-of-00002.gguf",
            "m-1-of-2.gguf",
            "m-0000+-of-00002.gguf",
            "m-00001-of-99999.gguf",
            "m-00001-of-00002.txt",
            "m-00001-of-00002",
        ] {
            assert_eq!(Part::of(whole), None, "{whole}");
        }
        let beside = parts_of(Path::new("/a/m-00002-of-00002.gguf"));
        assert_eq!(beside[0], Path::new("/a/m-00001-of-00002.gguf"));
        assert_eq!(parts_of(Path::new("/a/m.gguf")), [Path::new("/a/m.gguf")]);
        assert_eq!(part_names("m", 1).collect::<Vec<_>>(), ["m.gguf"]);
    }
}
