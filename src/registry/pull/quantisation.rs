//! Which of a repository's GGUF files suits this machine.
//!
//! Every token reads all weights, so half the bytes are twice the speed; below four bits a small model loses more than it
//! gains. `Q4_K_M` is what most programs take, and what is taken here, unless the model is so small that `Q8_0` costs little
//! and its quality matters more. Where the first choice is missing or does not fit, the next one of [`ORDER`] that fits is
//! taken; where none fits, the smallest, with a warning.

use std::sync::LazyLock;

use regex::Regex;

/// By preference, of those that run here.
const ORDER: [&str; 18] = [
    "Q4_K_M", "Q4_K_S", "IQ4_XS", "IQ4_NL", "Q5_K_M", "Q5_K_S", "Q4_0", "Q4_1", "Q6_K", "Q5_0",
    "Q5_1", "Q8_0", "Q3_K_L", "Q3_K_M", "F16", "BF16", "Q3_K_S", "Q2_K",
];
/// A model whose `Q8_0` is no larger answers better from that, and is fast enough.
const SMALL_BYTES: u64 = 1_000_000_000;

/// What a machine of `memory` bytes can hold: the rest is for the conversation, the embedder and other programs.
pub fn needed_bytes(file_bytes: u64) -> u64 {
    file_bytes.saturating_add(file_bytes / 8 + 500_000_000)
}

/// A GGUF file of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub path: String,
    /// `Q4_K_M`, as its name says.
    pub quantisation: Option<String>,
    pub bytes: Option<u64>,
}

impl Candidate {
    pub fn new(path: &str, bytes: Option<u64>) -> Self {
        Self { path: path.to_owned(), quantisation: quantisation_of(path), bytes }
    }

    fn rank(&self) -> Option<usize> {
        let name = self.quantisation.as_deref()?;
        ORDER.iter().position(|known| *known == name)
    }

    fn fits(&self, memory: Option<u64>) -> bool {
        match (self.bytes, memory) {
            (Some(bytes), Some(memory)) => needed_bytes(bytes) <= memory,
            _ => true,
        }
    }
}

/// `Qwen3-4B-UD-Q4_K_XL.gguf` → `Q4_K_XL`: the last part of the name that is one.
fn quantisation_of(path: &str) -> Option<String> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)(?:^|[-_.])((?:IQ|TQ|Q)[1-9](?:_[0-9A-Z]+)*|BF16|F16|F32|FP16|FP32|MXFP4)(?:[-.]|$)").ok()
    });
    let name = path.rsplit('/').next()?;
    let name = name.get(..name.len().checked_sub(".gguf".len())?)?;
    let found = PATTERN.as_ref()?.captures_iter(name).last()?;
    let found = found.get(1)?.as_str().to_uppercase();
    Some(found.replace("FP16", "F16").replace("FP32", "F32"))
}

/// A choice, and why it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub file: Candidate,
    pub why: String,
    /// It may not fit.
    pub is_too_large: bool,
}

/// The file for a machine with so much memory free; `None` if there is none of a kind that runs here.
pub fn choose(candidates: &[Candidate], memory: Option<u64>) -> Option<Choice> {
    let mut known: Vec<&Candidate> = candidates.iter().filter(|c| c.rank().is_some()).collect();
    if known.is_empty() {
        // Names that say nothing: the one file that there is.
        let [only] = candidates else { return None };
        let why = "the only file".to_owned();
        return only.quantisation.is_none().then(|| Choice {
            file: only.clone(),
            why,
            is_too_large: !only.fits(memory),
        });
    }
    known.sort_by_key(|c| (c.rank(), c.path.len(), &c.path));
    let small = |c: &&&Candidate| {
        c.quantisation.as_deref() == Some("Q8_0") && c.bytes.is_some_and(|b| b <= SMALL_BYTES)
    };
    let best = known.iter().find(small).filter(|c| c.fits(memory));
    let (file, why) = if let Some(file) = best {
        (file, "so small a model answers better from 8 bits")
    } else if let Some(file) = known.iter().find(|c| c.fits(memory)) {
        let first = known.first().is_some_and(|c| c == file);
        let why = if first && file.rank() == Some(0) {
            "4 bits: the usual balance of quality and speed"
        } else if first {
            "the nearest to the usual 4 bits that there is"
        } else {
            "larger ones do not fit"
        };
        (file, why)
    } else {
        let smallest = known.iter().min_by_key(|c| c.bytes)?;
        return Some(Choice {
            file: (*smallest).clone(),
            why: "the smallest that there is".into(),
            is_too_large: true,
        });
    };
    Some(Choice { file: (*file).clone(), why: why.into(), is_too_large: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_how_a_file_is_quantised() {
        for (path, expected) in [
            ("Qwen3-0.6B-Q4_K_M.gguf", Some("Q4_K_M")),
            ("sub/qwen2.5-0.5b-instruct-q4_k_m.gguf", Some("Q4_K_M")),
            ("Qwen3-4B-UD-Q4_K_XL.gguf", Some("Q4_K_XL")),
            ("SmolLM2-135M-Instruct.Q4_1.gguf", Some("Q4_1")),
            ("gemma-3-1b-it-IQ4_XS.gguf", Some("IQ4_XS")),
            ("model-F16.gguf", Some("F16")),
            ("model.fp16.gguf", Some("F16")),
            ("gpt-oss-20b-MXFP4.gguf", Some("MXFP4")),
            ("Q4_0.gguf", Some("Q4_0")),
            ("phi-4-mini-BF16.gguf", Some("BF16")),
            ("model.gguf", None),
            ("llama-3-8b.gguf", None),
            (".gguf", None),
            ("", None),
        ] {
            assert_eq!(quantisation_of(path).as_deref(), expected, "{path}");
        }
    }

    /// Files by quantisation and megabytes → the chosen one.
    #[track_caller]
    fn check(files: &[(&str, u64)], memory_mb: u64, expected: Option<(&str, bool)>) {
        let candidates: Vec<Candidate> = files
            .iter()
            .map(|(name, mb)| Candidate::new(&format!("m-{name}.gguf"), Some(mb * 1_000_000)))
            .collect();
        let choice = choose(&candidates, Some(memory_mb * 1_000_000));
        let chosen =
            choice.as_ref().map(|c| (c.file.quantisation.as_deref().unwrap(), c.is_too_large));
        assert_eq!(chosen, expected, "{choice:?}");
    }

    #[test]
    fn memory_decides() {
        let of_4b = [
            ("Q2_K", 1700),
            ("Q3_K_M", 2100),
            ("Q4_K_M", 2500),
            ("Q6_K", 3300),
            ("Q8_0", 4300),
            ("BF16", 8000),
        ];
        check(&of_4b, 16_000, Some(("Q4_K_M", false)));
        check(&of_4b, 3_400, Some(("Q4_K_M", false)));
        check(&of_4b, 3_000, Some(("Q3_K_M", false)));
        check(&of_4b, 2_600, Some(("Q2_K", false)));
        check(&of_4b, 2_000, Some(("Q2_K", true)));
        let of_135m = [("Q4_K_M", 105), ("Q8_0", 145), ("F16", 270)];
        check(&of_135m, 4_000, Some(("Q8_0", false)));
        check(
            &[("IQ2_XXS", 1000), ("Q8_0", 4300), ("Q5_K_M", 3000)],
            16_000,
            Some(("Q5_K_M", false)),
        );
        check(&[("IQ2_XXS", 1000)], 16_000, None);
        check(&[], 16_000, None);
        // Nothing is known of the memory, or of the sizes.
        let unknown = [Candidate::new("m-Q8_0.gguf", None), Candidate::new("m-Q4_K_M.gguf", None)];
        assert_eq!(choose(&unknown, None).unwrap().file.path, "m-Q4_K_M.gguf");
        assert_eq!(choose(&[Candidate::new("m.gguf", None)], None).unwrap().why, "the only file");
    }
}
