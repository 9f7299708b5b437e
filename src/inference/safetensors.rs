//! The header of a safetensors file, checked before candle sees a byte of it.
//!
//! ```text
//! header length u64 · header JSON { name: { dtype, shape, data_offsets: [begin, end] }, … } · bytes
//! ```
//! Offsets count from the end of the header; the tensors cover the bytes without holes or overlap.

use candle_core::quantized::GgmlDType;
use serde_json::{Map, Value};

use super::metadata::{StoredType, TensorEntry};

/// As JSON it takes up to 60 times as much memory. A tensor takes some 150 bytes of it; the format itself would allow
/// 100 MB.
const HEADER_BYTES_MAX: u64 = 4 << 20;
const N_DIMS_MAX: usize = 8;

/// Reads and checks the header of the whole file `bytes`.
///
/// # Errors
/// The reason, as the end of a sentence that starts with the file's name.
pub fn parse(bytes: &[u8]) -> Result<Vec<TensorEntry>, String> {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return Err("it is too short for a safetensors file (cut off?)".into());
    };
    let length = u64::from_le_bytes(*length);
    if length > HEADER_BYTES_MAX {
        return Err(format!(
            "its header claims {length} bytes (at most {HEADER_BYTES_MAX} are allowed): \
             not a safetensors file?"
        ));
    }
    let length = length as usize;
    let Some((header, data)) = rest.split_at_checked(length) else {
        return Err(format!(
            "its header claims {length} bytes but only {} follow (cut off?)",
            rest.len()
        ));
    };
    let header: Map<String, Value> =
        serde_json::from_slice(header).map_err(|e| format!("its header is not valid JSON: {e}"))?;
    let mut tensors = Vec::with_capacity(header.len());
    for (name, value) in header {
        if name != "__metadata__" {
            tensors.push(entry(name, &value, 8 + length, data.len())?);
        }
    }
    let mut spans: Vec<_> = tensors.iter().map(|t| (t.start, t.n_bytes, &t.name)).collect();
    spans.sort_unstable();
    let mut end = 8 + length;
    for (start, n_bytes, name) in spans {
        if start != end {
            let what = if start < end { "overlaps another tensor" } else { "leaves a hole" };
            return Err(format!("the tensor {name:?} {what}"));
        }
        end += n_bytes;
    }
    if end != bytes.len() {
        return Err(format!("{} bytes at its end belong to no tensor", bytes.len() - end));
    }
    Ok(tensors)
}

fn entry(
    name: String,
    value: &Value,
    data_start: usize,
    data_bytes: usize,
) -> Result<TensorEntry, String> {
    let wrong = |what: &str| format!("the tensor {name:?} has no valid {what}");
    let dtype = value.get("dtype").and_then(Value::as_str).ok_or_else(|| wrong("dtype"))?;
    let (stored, bits) = match dtype {
        "F32" => (StoredType::Ggml(GgmlDType::F32), 32),
        "F16" => (StoredType::Ggml(GgmlDType::F16), 16),
        "BF16" => (StoredType::Ggml(GgmlDType::BF16), 16),
        "F64" => (StoredType::F64, 64),
        "I64" | "U64" | "C64" => (StoredType::Other, 64),
        "I32" | "U32" => (StoredType::Other, 32),
        "I16" | "U16" => (StoredType::Other, 16),
        "I8" | "U8" | "BOOL" | "F8_E4M3" | "F8_E5M2" | "F8_E8M0" => (StoredType::Other, 8),
        "F6_E2M3" | "F6_E3M2" => (StoredType::Other, 6),
        "F4" => (StoredType::Other, 4),
        other => return Err(format!("the tensor {name:?} has the unknown type {other:?}")),
    };
    let shape = value.get("shape").and_then(Value::as_array).ok_or_else(|| wrong("shape"))?;
    if shape.len() > N_DIMS_MAX {
        return Err(format!("the tensor {name:?} has {} dimensions", shape.len()));
    }
    let dims: Vec<usize> = shape
        .iter()
        .map(|d| d.as_u64().and_then(|d| usize::try_from(d).ok()))
        .collect::<Option<_>>()
        .ok_or_else(|| wrong("shape"))?;
    let n_bytes = dims
        .iter()
        .try_fold(1usize, |n, &d| n.checked_mul(d))
        .and_then(|n| n.checked_mul(bits))
        .filter(|n| n % 8 == 0)
        .map(|n| n / 8)
        .ok_or_else(|| format!("the tensor {name:?} has impossible dimensions {dims:?}"))?;
    let offsets = value.get("data_offsets").and_then(Value::as_array);
    let (begin, end) = match offsets.map(Vec::as_slice) {
        Some([begin, end]) => (begin.as_u64(), end.as_u64()),
        _ => (None, None),
    };
    let (Some(begin), Some(end)) = (begin, end) else { return Err(wrong("data_offsets")) };
    if begin > end || end > data_bytes as u64 {
        return Err(format!(
            "the tensor {name:?} lies outside the file, which has {data_bytes} bytes of data (cut off?)"
        ));
    }
    if end - begin != n_bytes as u64 {
        return Err(format!(
            "the tensor {name:?} has {} bytes where its shape {dims:?} needs {n_bytes}",
            end - begin
        ));
    }
    Ok(TensorEntry { start: data_start + begin as usize, name, stored, dims, n_bytes })
}
