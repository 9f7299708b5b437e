//! The weights of the built-in models, 125 MB, as bytes of the program. In a crate of their own, so that nothing carries
//! them along that is compiled again with every change. What they are: `models/starter/card.md`.

/// A GGUF file.
pub static LANGUAGE: &[u8] = include_bytes!("../../../models/starter/language.gguf");
/// A GGUF file.
pub static EMBEDDER: &[u8] = include_bytes!("../../../models/starter/embedder.gguf");
/// A GGUF file; its word table is the embedder's.
pub static RERANKER: &[u8] = include_bytes!("../../../models/starter/reranker.gguf");
/// A GGUF file; its word table is the embedder's.
pub static ENCODER: &[u8] = include_bytes!("../../../models/starter/encoder.gguf");
