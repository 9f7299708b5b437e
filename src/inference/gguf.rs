//! The header of a GGUF file, checked before candle sees a byte of it.
//!
//! ```text
//! "GGUF"  version u32 (2 or 3)  n_tensors u64  n_values u64
//! n_values ×  { key string, type u32, value }
//! n_tensors × { name string, n_dims u32, dims u64 × n_dims (innermost first), type u32, offset u64 }
//! padding to `general.alignment` (32 unless said), then the tensors' bytes; offsets count from here
//! string = length u64, bytes;  array = element type u32, length u64, elements;  little-endian
//! ```
//!
//! A file is hostile until proven otherwise: every length is compared with what is left of the
//! file before anything is allocated, so that memory stays within a small multiple of the header.
//! candle's own reader panics on an alignment of 0 and accepts a tensor of 2^40 × 2^40, which is
//! why it is not used. This module interprets no key except `general.alignment` and those that
//! begin with `split.`.

use std::collections::HashSet;

use candle_core::quantized::GgmlDType;
use packed_matmul::Format;

use super::config::printable;
use super::metadata::{Metadata, StoredType, TensorEntry, Value};

const MAGIC: &[u8; 4] = b"GGUF";
const N_TENSORS_MAX: u64 = 1 << 16;
const N_VALUES_MAX: u64 = 1 << 16;
const NAME_BYTES_MAX: u64 = 1 << 10;
const STRING_BYTES_MAX: u64 = 1 << 24;
const ARRAY_ELEMENTS_MAX: u64 = 1 << 22;
const NESTING_MAX: u32 = 4;
/// Of memory for all metadata: the largest vocabularies take some 40 MB.
const METADATA_BYTES_MAX: u64 = 128 << 20;
const ALIGNMENT_DEFAULT: usize = 32;
const ALIGNMENT_MAX: usize = 1 << 16;
/// No tensor of a model that could run here has more elements.
const ELEMENTS_MAX: u64 = 1 << 40;

/// A header that passed every check.
#[derive(Debug, Clone)]
pub struct Header {
    /// 2 or 3.
    pub version: u32,
    /// What the file says about itself.
    pub metadata: Metadata,
    /// Where its tensors are.
    pub tensors: Vec<TensorEntry>,
}

impl Header {
    /// In how many files the model is.
    fn n_parts(&self) -> usize {
        let n = self.metadata.integer("split.count").unwrap_or(1);
        usize::try_from(n).unwrap_or(1).max(1)
    }

    /// Refuses it in the place of another part.
    ///
    /// # Errors
    /// The reason, as the end of a sentence that starts with the file's name.
    pub fn check_part(&self, index: usize, n_parts: usize) -> Result<(), String> {
        let said = self.metadata.integer("split.no").unwrap_or(0).saturating_add(1);
        let (number, in_all) = (index + 1, self.n_parts());
        if in_all == n_parts && usize::try_from(said) == Ok(number) {
            return Ok(());
        }
        Err(match n_parts {
            1 => format!(
                "it is part {said} of {in_all} of a split model; the others are found by names \
                 such as model-00001-of-{in_all:05}.gguf"
            ),
            _ => format!(
                "it is part {said} of {in_all} by its header, where part {number} of {n_parts} belongs"
            ),
        })
    }
}

/// True if the bytes claim to be a GGUF file.
pub fn has_magic(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads and checks the header of the whole file `bytes`.
///
/// # Errors
/// The reason, as the end of a sentence that starts with the file's name.
pub fn parse(bytes: &[u8]) -> Result<Header, String> {
    let mut cursor = Cursor { bytes, at: 0, room: METADATA_BYTES_MAX };
    let magic = cursor.take(4, "the magic bytes")?;
    if magic != MAGIC {
        return Err("it is not a GGUF file (it does not start with `GGUF`)".into());
    }
    let version = cursor.u32("the version")?;
    match version {
        2 | 3 => {}
        1 => return Err("GGUF version 1 is too old (2 and 3 are read)".into()),
        v if matches!(v.swap_bytes(), 1..=3) => return Err("it is a big-endian GGUF file".into()),
        v => return Err(format!("GGUF version {v} is unknown (2 and 3 are read)")),
    }
    let n_tensors = cursor.u64("the number of tensors")?;
    let n_values = cursor.u64("the number of metadata values")?;
    if n_tensors > N_TENSORS_MAX {
        return Err(format!("it claims {n_tensors} tensors (at most {N_TENSORS_MAX} are allowed)"));
    }
    if n_values > N_VALUES_MAX {
        return Err(format!(
            "it claims {n_values} metadata values (at most {N_VALUES_MAX} are allowed)"
        ));
    }
    let mut metadata = Metadata::default();
    for _ in 0..n_values {
        let key = cursor.string(NAME_BYTES_MAX, "a metadata key")?;
        let kind = cursor.u32("a value's type")?;
        let value = cursor.value(kind, &key)?;
        if !metadata.insert(key.clone(), value) {
            return Err(format!("the metadata key {key:?} occurs twice"));
        }
    }
    let alignment = alignment(&metadata)?;
    let mut tensors = Vec::new();
    for _ in 0..n_tensors {
        tensors.push(cursor.tensor()?);
    }
    place(&mut tensors, cursor.at.next_multiple_of(alignment), alignment, bytes.len())?;
    Ok(Header { version, metadata, tensors })
}

fn alignment(metadata: &Metadata) -> Result<usize, String> {
    match metadata.get("general.alignment") {
        None => Ok(ALIGNMENT_DEFAULT),
        Some(Value::Integer(n)) => match usize::try_from(*n) {
            Ok(n @ 1..=ALIGNMENT_MAX) if n.is_power_of_two() => Ok(n),
            _ => Err(format!("`general.alignment` is {n} (a power of two up to 65536 is needed)")),
        },
        Some(_) => Err("`general.alignment` is not an integer".into()),
    }
}

/// Offsets → places in the file: aligned, inside it, and no two tensors on the same bytes.
fn place(
    tensors: &mut [TensorEntry],
    data_start: usize,
    alignment: usize,
    file_bytes: usize,
) -> Result<(), String> {
    let mut names = HashSet::new();
    let mut spans = Vec::with_capacity(tensors.len());
    for TensorEntry { name, start, n_bytes, .. } in tensors {
        if !names.insert(name.as_str()) {
            return Err(format!("the tensor {name:?} occurs twice"));
        }
        if !start.is_multiple_of(alignment) {
            return Err(format!(
                "the tensor {name:?} starts at {start}, which is not a multiple of the alignment {alignment}"
            ));
        }
        let place = data_start.checked_add(*start);
        let end = place.and_then(|place| place.checked_add(*n_bytes));
        let (Some(place), Some(end)) = (place, end.filter(|&end| end <= file_bytes)) else {
            return Err(format!(
                "the tensor {name:?} lies outside the file, which has {file_bytes} bytes (cut off?)"
            ));
        };
        *start = place;
        spans.push((place, end, &*name));
    }
    spans.sort_unstable_by_key(|&(start, end, _)| (start, end));
    for pair in spans.windows(2) {
        if pair[1].0 < pair[0].1 {
            return Err(format!("the tensors {:?} and {:?} overlap", pair[0].2, pair[1].2));
        }
    }
    Ok(())
}

/// The types that are computed with; anything else is refused by name.
fn stored_type(id: u32, name: &str) -> Result<StoredType, String> {
    Ok(StoredType::Ggml(match id {
        20 => return Ok(StoredType::Packed(Format::IQ4NL)),
        23 => return Ok(StoredType::Packed(Format::IQ4XS)),
        39 => return Ok(StoredType::Packed(Format::MXFP4)),
        0 => GgmlDType::F32,
        1 => GgmlDType::F16,
        2 => GgmlDType::Q4_0,
        3 => GgmlDType::Q4_1,
        6 => GgmlDType::Q5_0,
        7 => GgmlDType::Q5_1,
        8 => GgmlDType::Q8_0,
        10 => GgmlDType::Q2K,
        11 => GgmlDType::Q3K,
        12 => GgmlDType::Q4K,
        13 => GgmlDType::Q5K,
        14 => GgmlDType::Q6K,
        30 => GgmlDType::BF16,
        other => {
            let known = match other {
                16 => "IQ2_XXS",
                17 => "IQ2_XS",
                18 => "IQ3_XXS",
                19 => "IQ1_S",
                21 => "IQ3_S",
                22 => "IQ2_S",
                29 => "IQ1_M",
                34 => "TQ1_0",
                35 => "TQ2_0",
                _ => "",
            };
            let named = if known.is_empty() { format!("number {other}") } else { known.into() };
            return Err(format!(
                "the tensor {name:?} has the type {named}, which is not supported \
                 (F32, F16, BF16, Q8_0, Q4_0, IQ4_NL, IQ4_XS, MXFP4 and the K types are)"
            ));
        }
    }))
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Bytes of memory that metadata may still take.
    room: u64,
}

impl<'a> Cursor<'a> {
    fn remaining(&self) -> u64 {
        (self.bytes.len() - self.at) as u64
    }

    fn take(&mut self, n: usize, what: &str) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(n).filter(|&end| end <= self.bytes.len());
        let Some(end) = end else {
            return Err(format!("the file ends within {} (cut off?)", printable(what)));
        };
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], String> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N, what)?);
        Ok(out)
    }

    fn u32(&mut self, what: &str) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    fn u64(&mut self, what: &str) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    fn string(&mut self, bytes_max: u64, what: &str) -> Result<String, String> {
        let n = self.u64(what)?;
        if n > bytes_max {
            return Err(format!("a text of {n} bytes is too long (at most {bytes_max})"));
        }
        let bytes = self.take(n as usize, what)?;
        // Some writers end strings with a NUL, and some files are not valid UTF-8.
        let end = bytes.iter().rposition(|&b| b != 0).map_or(0, |at| at + 1);
        self.spend(bytes.len().next_multiple_of(16) as u64)?;
        Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    /// Counts memory that a value takes.
    fn spend(&mut self, n_bytes: u64) -> Result<(), String> {
        let left = self.room.checked_sub(n_bytes);
        self.room = left.ok_or("its metadata would take more than 128 MB of memory")?;
        Ok(())
    }

    fn value(&mut self, kind: u32, key: &str) -> Result<Value, String> {
        Ok(match kind {
            6 | 12 => Value::Float(self.float(kind, key)?),
            7 => Value::Boolean(self.boolean(key)?),
            8 => Value::String(self.string(STRING_BYTES_MAX, key)?),
            9 => self.array_value(key, 0)?,
            _ => Value::Integer(self.integer(kind, key)?),
        })
    }

    fn float(&mut self, kind: u32, key: &str) -> Result<f64, String> {
        Ok(match kind {
            6 => f32::from_le_bytes(self.array(key)?).into(),
            _ => f64::from_le_bytes(self.array(key)?),
        })
    }

    fn boolean(&mut self, key: &str) -> Result<bool, String> {
        match self.array::<1>(key)? {
            [0] => Ok(false),
            [1] => Ok(true),
            [b] => Err(format!("the value of {key:?} is {b}, not a truth value")),
        }
    }

    fn integer(&mut self, kind: u32, key: &str) -> Result<i128, String> {
        Ok(match kind {
            0 => u8::from_le_bytes(self.array(key)?).into(),
            1 => i8::from_le_bytes(self.array(key)?).into(),
            2 => u16::from_le_bytes(self.array(key)?).into(),
            3 => i16::from_le_bytes(self.array(key)?).into(),
            4 => u32::from_le_bytes(self.array(key)?).into(),
            5 => i32::from_le_bytes(self.array(key)?).into(),
            10 => u64::from_le_bytes(self.array(key)?).into(),
            11 => i64::from_le_bytes(self.array(key)?).into(),
            other => return Err(format!("the value of {key:?} has the unknown type {other}")),
        })
    }

    fn array_value(&mut self, key: &str, depth: u32) -> Result<Value, String> {
        let kind = self.u32(key)?;
        let n = self.u64(key)?;
        if n > ARRAY_ELEMENTS_MAX {
            return Err(format!("the array {key:?} claims {n} elements (at most 4194304)"));
        }
        let element_bytes_min = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            8 | 10..=12 => 8,
            9 => 12,
            other => return Err(format!("the array {key:?} has the unknown type {other}")),
        };
        if n * element_bytes_min > self.remaining() {
            return Err(format!("the file ends within the array {key:?} (cut off?)"));
        }
        let in_memory = match kind {
            8 => size_of::<String>(),
            6 | 12 => size_of::<f32>(),
            7 => size_of::<bool>(),
            _ => size_of::<i64>(),
        };
        self.spend(n * in_memory as u64)?;
        let range = 0..n;
        Ok(match kind {
            6 | 12 => Value::Floats(
                range.map(|_| Ok(self.float(kind, key)? as f32)).collect::<Result<_, String>>()?,
            ),
            7 => Value::Booleans(range.map(|_| self.boolean(key)).collect::<Result<_, _>>()?),
            8 => Value::Strings(
                range.map(|_| self.string(STRING_BYTES_MAX, key)).collect::<Result<_, _>>()?,
            ),
            9 if depth >= NESTING_MAX => {
                return Err(format!("the array {key:?} is nested too deeply"));
            }
            9 => {
                for _ in range {
                    self.array_value(key, depth + 1)?;
                }
                Value::Nested
            }
            _ => Value::Integers(
                range
                    .map(|_| {
                        let wide = self.integer(kind, key)?;
                        i64::try_from(wide)
                            .map_err(|_| format!("the array {key:?} holds {wide}: too large"))
                    })
                    .collect::<Result<_, _>>()?,
            ),
        })
    }

    /// As the file states it: `start` is an offset that nothing has checked yet.
    fn tensor(&mut self) -> Result<TensorEntry, String> {
        let name = self.string(NAME_BYTES_MAX, "a tensor's name")?;
        let what = "a tensor's description";
        let n_dims = self.u32(what)?;
        if !(1..=4).contains(&n_dims) {
            return Err(format!("the tensor {name:?} has {n_dims} dimensions (1 to 4 are read)"));
        }
        let mut dims = Vec::with_capacity(4);
        for _ in 0..n_dims {
            dims.push(self.u64(what)?);
        }
        let n_elements = dims
            .iter()
            .try_fold(1u64, |n, &d| n.checked_mul(d))
            .filter(|n| (1..=ELEMENTS_MAX).contains(n))
            .ok_or_else(|| format!("the tensor {name:?} has impossible dimensions {dims:?}"))?;
        let stored = stored_type(self.u32(what)?, &name)?;
        let offset = self.u64(what)?;
        let (block, block_bytes) = stored.block().unwrap_or((1, 1));
        let block = block as u64;
        if dims[0] % block != 0 {
            return Err(format!(
                "the tensor {name:?} has rows of {} values, which {stored} can't hold \
                 (a multiple of {block} is needed)",
                dims[0]
            ));
        }
        // What an address can't hold lies outside the file.
        let address = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        Ok(TensorEntry {
            name,
            stored,
            dims: dims.into_iter().rev().map(address).collect(),
            start: address(offset),
            n_bytes: address(n_elements / block * block_bytes as u64),
        })
    }
}
