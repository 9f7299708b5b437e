//! A GGUF file as two, as llama.cpp's `gguf-split` divides it.

use std::path::Path;

use inglenook::inference::gguf;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Writes `STEM-00001-of-00002.gguf` and `STEM-00002-of-00002.gguf` into `folder`.
pub fn split(whole: &Path, folder: &Path, stem: &str) {
    let bytes = std::fs::read(whole).unwrap();
    let header = gguf::parse(&bytes).unwrap();
    let n_values = u64::from_le_bytes(bytes[16..24].try_into().unwrap());
    let name = &header.tensors[0].name;
    let first = [&(name.len() as u64).to_le_bytes()[..], name.as_bytes()].concat();
    let mut at = bytes.windows(first.len()).position(|w| w == first).unwrap();
    let values = &bytes[24..at];
    // Name, number of dimensions, dimensions, type; then comes the offset.
    let described: Vec<&[u8]> = header
        .tensors
        .iter()
        .map(|tensor| {
            let dims = at + 8 + tensor.name.len();
            let end = dims + 4 + 8 * u32_at(&bytes, dims) as usize + 4;
            let described = &bytes[at..end];
            at = end + 8;
            described
        })
        .collect();
    let half = described.len() / 2;
    for (number, tensors) in [0..half, half..described.len()].into_iter().enumerate() {
        let mut part = b"GGUF".to_vec();
        part.extend(3_u32.to_le_bytes());
        part.extend((tensors.len() as u64).to_le_bytes());
        part.extend((3 + if number == 0 { n_values } else { 0 }).to_le_bytes());
        part.extend(if number == 0 { values } else { &[] });
        let mut value = |key: &str, kind: u32, value: &[u8]| {
            part.extend((key.len() as u64).to_le_bytes());
            part.extend(key.as_bytes());
            part.extend(kind.to_le_bytes());
            part.extend(value);
        };
        value("split.no", 2, &(number as u16).to_le_bytes());
        value("split.count", 2, &2_u16.to_le_bytes());
        value("split.tensors.count", 5, &(described.len() as i32).to_le_bytes());
        let mut data = Vec::new();
        for index in tensors {
            part.extend(described[index]);
            part.extend((data.len() as u64).to_le_bytes());
            let tensor = &header.tensors[index];
            data.extend(&bytes[tensor.start..tensor.start + tensor.n_bytes]);
            data.resize(data.len().next_multiple_of(32), 0);
        }
        part.resize(part.len().next_multiple_of(32), 0);
        part.extend(data);
        let name = format!("{stem}-{:05}-of-00002.gguf", number + 1);
        std::fs::write(folder.join(name), part).unwrap();
    }
}
