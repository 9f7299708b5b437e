//! Vectors out of the bytes of a NumPy file: the form in which ready-made memories bring them.

use inglenook::memory::Embedding;

/// Rows of a two-dimensional array of little-endian `f32` (version 1: eight bytes of magic and
/// version, two of the header's length, the header, the rows), made unit vectors.
///
/// # Errors
/// Why the bytes are no such array.
pub fn rows(bytes: &[u8]) -> Result<Vec<Embedding>, &'static str> {
    const FORM: &str = "it is no two-dimensional array of little-endian f32";
    if !bytes.starts_with(b"\x93NUMPY\x01") || bytes.len() < 10 {
        return Err("it is no NumPy file of version 1");
    }
    let header_length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = bytes.get(10..10 + header_length).ok_or(FORM)?;
    let header = std::str::from_utf8(header).map_err(|_| FORM)?;
    if !header.contains("'<f4'") || !header.contains("'fortran_order': False") {
        return Err(FORM);
    }
    let shape = header.split_once("'shape': (").and_then(|(_, rest)| rest.split_once(')'));
    let (n_rows, width) = shape.and_then(|(shape, _)| shape.split_once(',')).ok_or(FORM)?;
    let n_rows: usize = n_rows.trim().parse().map_err(|_| FORM)?;
    let width: usize = width.trim().parse().map_err(|_| FORM)?;
    let values = &bytes[10 + header_length..];
    let n_bytes = n_rows.checked_mul(width).and_then(|n| n.checked_mul(4));
    if width == 0 || n_bytes != Some(values.len()) {
        return Err("its size is not what its header says");
    }
    values
        .chunks_exact(4 * width)
        .map(|row| {
            let values = row.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            Embedding::normalise(values.collect()).map_err(|_| "a row has no direction")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, values: &[f32]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        bytes
    }

    #[test]
    fn rows_are_read_and_anything_else_is_refused() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n";
        let rows_of = |header: &str, values: &[f32]| rows(&file(header, values));
        let found = rows_of(header, &[3.0, 4.0, 0.0, 2.0]).unwrap();
        assert_eq!(found.len(), 2);
        assert!((found[0].cosine(&found[1]) - 0.8).abs() < 1e-6);
        assert!(rows_of(header, &[3.0, 4.0, 0.0]).is_err());
        assert!(rows_of(header, &[0.0; 4]).is_err());
        for (from, to) in [("<f4", "<f8"), ("False", "True"), ("(2, 2)", "(4,)"), ("2, 2", "-2, 2")]
        {
            assert!(rows_of(&header.replace(from, to), &[1.0; 4]).is_err(), "{to}");
        }
        let whole = file(header, &[3.0, 4.0, 0.0, 2.0]);
        for n in 0..whole.len() {
            assert!(rows(&whole[..n]).is_err(), "{n}");
        }
    }
}
