//! Mixed lines and the ids that reference tokenizers make of them (`tests/fixtures/make_tokenizers.py`).

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use inglenook::inference::gguf;
use inglenook::inference::tokenizer::Tokenizer;

const N_LINES: usize = 10_000;

pub fn read(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tokenizers");
    fs::read(folder.join(name)).unwrap()
}

fn numbers(name: &str) -> Vec<u32> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tokenizers");
    let bytes = fs::read(folder.join(name)).unwrap_or_default();
    bytes.as_chunks::<4>().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect()
}

/// SplitMix64, as the script has it.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

fn lines() -> Vec<String> {
    let kinds: Vec<Vec<String>> = serde_json::from_slice(&read("fragments.json")).unwrap();
    let mut draw = Draw(2);
    let mut line = || {
        let mut line = String::new();
        for _ in 0..=draw.below(12) {
            let kind = if draw.below(2) == 0 { &kinds[0] } else { &kinds[draw.below(kinds.len())] };
            line += &kind[draw.below(kind.len())];
            line += if draw.below(3) > 0 { " " } else { "" };
        }
        line
    };
    (0..N_LINES).map(|_| line()).collect()
}

fn fnv1a(ids: &[u32]) -> u32 {
    let bytes = ids.iter().flat_map(|id| id.to_le_bytes());
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[track_caller]
pub fn check_file(kind: &str, gguf: &[u8], tags: &[String]) {
    let header = gguf::parse(gguf).unwrap();
    let tokenizer = Tokenizer::from_gguf(&header.metadata).unwrap();
    let expected = numbers(&format!("{kind}.ids"));
    let changed: HashSet<u32> = numbers(&format!("{kind}.changed")).into_iter().collect();
    assert!(expected.len() >= 900, "{kind}: {} lines", expected.len());
    let mut wrong = Vec::new();
    let lines = lines();
    let lines = lines.iter().filter(|line| !tags.iter().any(|tag| line.contains(tag)));
    for ((line, expected), index) in lines.zip(expected).zip(0..) {
        let ids = tokenizer.encode(line);
        if fnv1a(&ids) != expected {
            let pieces = ids.iter().map(|&id| tokenizer.decode(&[id])).collect::<Vec<_>>();
            wrong.push(format!("{index}: {line:?} as {ids:?} {pieces:?}"));
        }
        let back = tokenizer.decode(&ids);
        assert_eq!(back != *line, changed.contains(&index), "{line:?} comes back as {back:?}");
        // Encoding the decoded text gives the same ids again.
        assert_eq!(tokenizer.encode(&back), ids, "{back:?}");
    }
    assert!(wrong.is_empty(), "{} lines of {kind} differ:\n{}", wrong.len(), {
        wrong.truncate(10);
        wrong.join("\n")
    });
}
