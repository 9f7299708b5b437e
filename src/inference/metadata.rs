//! What a model file's header says: typed values (GGUF only), and where the tensors are.
//!
//! Knows no file format ([`super::gguf`] and [`super::safetensors`] read them) and no meaning of a key (the
//! decoder's configuration, the tokenizer and the chat template look up their own).

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use candle_core::quantized::GgmlDType;
use packed_matmul::Format;

use super::config::EXPERTS_MAX;

/// How a tensor's values are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredType {
    /// In one of GGUF's types, which include f32, f16 and bf16.
    Ggml(GgmlDType),
    /// In one of GGUF's types that candle does not have.
    Packed(Format),
    /// In f64.
    F64,
    /// In a type that nothing computes with.
    Other,
}

impl StoredType {
    /// The type of its blocks in candle, if values share them.
    pub fn quantised(self) -> Option<GgmlDType> {
        match self {
            Self::Ggml(dtype) if dtype.block_size() > 1 => Some(dtype),
            _ => None,
        }
    }

    /// The format by which [`packed_matmul`] multiplies it.
    pub fn packed(self) -> Option<Format> {
        match self {
            Self::Packed(format) => Some(format),
            Self::Ggml(GgmlDType::Q4_0) => Some(Format::Q4_0),
            Self::Ggml(GgmlDType::Q4_1) => Some(Format::Q4_1),
            Self::Ggml(GgmlDType::Q5_0) => Some(Format::Q5_0),
            Self::Ggml(GgmlDType::Q5_1) => Some(Format::Q5_1),
            Self::Ggml(GgmlDType::Q8_0) => Some(Format::Q8_0),
            Self::Ggml(GgmlDType::Q2K) => Some(Format::Q2K),
            Self::Ggml(GgmlDType::Q3K) => Some(Format::Q3K),
            Self::Ggml(GgmlDType::Q4K) => Some(Format::Q4K),
            Self::Ggml(GgmlDType::Q5K) => Some(Format::Q5K),
            Self::Ggml(GgmlDType::Q6K) => Some(Format::Q6K),
            _ => None,
        }
    }

    /// Values of a block, and its bytes, in a GGUF file.
    pub fn block(self) -> Option<(usize, usize)> {
        match self {
            Self::Ggml(dtype) => Some((dtype.block_size(), dtype.type_size())),
            Self::Packed(format) => Some((format.block_columns(), format.block_bytes())),
            Self::F64 | Self::Other => None,
        }
    }
}

impl fmt::Display for StoredType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ggml(dtype) => write!(f, "{dtype:?}"),
            Self::Packed(format) => write!(f, "{format:?}"),
            Self::F64 => f.write_str("F64"),
            Self::Other => f.write_str("other"),
        }
    }
}

/// Where a tensor's bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorEntry {
    /// As the file names it.
    pub name: String,
    /// How its values are stored.
    pub stored: StoredType,
    /// Outermost first, as candle has it (GGUF files have them the other way round).
    pub dims: Vec<usize>,
    /// From the start of the file.
    pub start: usize,
    /// Its length.
    pub n_bytes: usize,
}

impl TensorEntry {
    /// Its part of the file.
    pub fn range(&self) -> Range<usize> {
        self.start..self.start + self.n_bytes
    }
}

/// One value. Integers of every width are widened, so that a writer's choice of width never
/// matters to a reader.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Integer(i128),
    Float(f64),
    Boolean(bool),
    String(String),
    Integers(Vec<i64>),
    Floats(Vec<f32>),
    Booleans(Vec<bool>),
    Strings(Vec<String>),
    /// An array of arrays: no model uses one; kept so that a file with one still loads.
    Nested,
}

/// Values by key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata(BTreeMap<String, Value>);

impl Metadata {
    /// Adds a value; false if the key was there already.
    pub fn insert(&mut self, key: String, value: Value) -> bool {
        self.0.insert(key, value).is_none()
    }

    /// A value of any type.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// A string.
    pub fn string(&self, key: &str) -> Option<&str> {
        let Value::String(s) = self.get(key)? else { return None };
        Some(s)
    }

    /// An integer, if it fits in 64 bits.
    pub fn integer(&self, key: &str) -> Option<i64> {
        let Value::Integer(i) = self.get(key)? else { return None };
        i64::try_from(*i).ok()
    }

    /// A number; integers count.
    pub fn float(&self, key: &str) -> Option<f64> {
        match self.get(key)? {
            Value::Float(f) => Some(*f),
            Value::Integer(i) => Some(*i as f64),
            _ => None,
        }
    }

    /// A boolean.
    pub fn boolean(&self, key: &str) -> Option<bool> {
        let Value::Boolean(b) = self.get(key)? else { return None };
        Some(*b)
    }

    /// An array of strings.
    pub fn strings(&self, key: &str) -> Option<&[String]> {
        let Value::Strings(v) = self.get(key)? else { return None };
        Some(v)
    }

    /// An array of integers.
    pub fn integers(&self, key: &str) -> Option<&[i64]> {
        let Value::Integers(v) = self.get(key)? else { return None };
        Some(v)
    }

    /// An array of floats.
    pub fn floats(&self, key: &str) -> Option<&[f32]> {
        let Value::Floats(v) = self.get(key)? else { return None };
        Some(v)
    }
}

/// What the name of a tensor with a matrix for each expert ends with, and of each, where its number stands for `{}`; of
/// two, the rows of the one come before those of the other.
const OF_EXPERTS: [(&str, &[&str]); 4] = [
    ("ffn_gate_up_exps.weight", &["ffn_gate_exps.{}.weight", "ffn_up_exps.{}.weight"]),
    ("_exps.weight", &["_exps.{}.weight"]),
    (".experts.gate_up_proj", &[".experts.{}.gate_proj.weight", ".experts.{}.up_proj.weight"]),
    (".experts.down_proj", &[".experts.{}.down_proj.weight"]),
];

/// What its name begins with and what its matrices' names end with, if a tensor holds a matrix for each expert.
fn of_experts(tensor: &TensorEntry) -> Option<(&str, &'static [&'static str])> {
    let &[n, n_out, _] = tensor.dims.as_slice() else { return None };
    let (name, parts) = OF_EXPERTS
        .into_iter()
        .find_map(|(end, parts)| Some((tensor.name.strip_suffix(end)?, parts)))?;
    let is_whole = (1..=EXPERTS_MAX).contains(&n) && n_out.is_multiple_of(parts.len());
    is_whole.then_some((name, parts))
}

/// How many matrices a tensor holds.
pub fn n_matrices(tensor: &TensorEntry) -> usize {
    of_experts(tensor).map_or(1, |(_, parts)| tensor.dims[0] * parts.len())
}

/// A tensor of matrices, one for each expert (`ffn_up_exps.weight`), as one tensor each (`ffn_up_exps.7.weight`); any
/// other as it is.
pub fn matrices(tensor: TensorEntry) -> Vec<TensorEntry> {
    let Some((name, parts)) = of_experts(&tensor) else { return vec![tensor] };
    let [n_out, n_in] = [tensor.dims[1] / parts.len(), tensor.dims[2]];
    let n_bytes = tensor.n_bytes / n_matrices(&tensor);
    let matrix = |index: usize| {
        let (expert, part) = (index / parts.len(), parts[index % parts.len()]);
        TensorEntry {
            name: format!("{name}{}", part.replace("{}", &expert.to_string())),
            stored: tensor.stored,
            dims: vec![n_out, n_in],
            start: tensor.start + index * n_bytes,
            n_bytes,
        }
    };
    (0..n_matrices(&tensor)).map(matrix).collect()
}
