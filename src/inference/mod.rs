//! Language models and embedders on candle.
//!
//! Everything that knows a tensor lives here and nowhere else; outward this module speaks the
//! types of [`crate::interfaces`].

pub mod chat_template;
pub mod gguf;
pub mod metadata;
pub mod tokenizer;
mod tokenizer_gguf;
