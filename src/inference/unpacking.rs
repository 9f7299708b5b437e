//! Values as stored → f32.

use candle_core::quantized::{GgmlDType, QTensor, ggml_file::qtensor_from_ggml};
use candle_core::{Device, Result};

use super::metadata::StoredType;

/// The values of a tensor that candle can unpack, in f32; `None` for another.
pub fn unpacked(stored: StoredType, dims: &[usize], bytes: &[u8]) -> Option<Result<Vec<f32>>> {
    Some(Ok(match stored {
        StoredType::Ggml(GgmlDType::F32) => floats(bytes, f32::from_le_bytes),
        StoredType::Ggml(GgmlDType::F16) => floats(bytes, |b| half::f16::from_le_bytes(b).to_f32()),
        StoredType::Ggml(GgmlDType::BF16) => {
            floats(bytes, |b| half::bf16::from_le_bytes(b).to_f32())
        }
        StoredType::F64 => floats(bytes, |b| f64::from_le_bytes(b) as f32),
        StoredType::Ggml(dtype) => {
            let blocks = blocks(dtype, dims, bytes, &Device::Cpu);
            let values = blocks.and_then(|b| b.dequantize(&Device::Cpu)?.flatten_all());
            return Some(values.and_then(|v| v.to_vec1()));
        }
        StoredType::Packed(_) | StoredType::Other => return None,
    }))
}

/// Little-endian numbers.
fn floats<const N: usize>(bytes: &[u8], value: fn([u8; N]) -> f32) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&b| value(b)).collect()
}

/// Blocks as candle has them.
pub fn blocks(dtype: GgmlDType, dims: &[usize], bytes: &[u8], device: &Device) -> Result<QTensor> {
    // A copy, because candle reads the blocks through a pointer of their own type: an allocation is
    // aligned for it, bytes compiled into the program are not.
    let aligned = bytes.to_vec();
    qtensor_from_ggml(dtype, &aligned, dims.to_vec(), device)
}
