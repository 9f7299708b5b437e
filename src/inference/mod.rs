//! Language models and embedders on candle.
//!
//! Everything that knows a tensor lives here and nowhere else; outward this module speaks the types of
//! [`crate::interfaces`]. From the bottom up: [`gguf`] and [`safetensors`] check headers, [`weights`] hands out
//! tensors, `families` says what each architecture calls them and how it differs, [`decoder`] computes with a
//! `kv_cache` (and `states`), [`sequence`] is tokens with their cache, [`generation`] replies under way, several at a time, `mask` restricts a constrained reply to the tokens that
//! may follow, `engine` is the one thread that owns the weights, `model` the handle that the rest of the program
//! holds. What opens a file, and what computes, runs `confined`. Beside them, `encoder`, `bert`, `padded` and [`embedder`] turn text into vectors, and [`starter`] is
//! what is compiled in.

mod allocator;
mod attention;
mod bert;
mod branches;
mod chat_template;
pub mod config;
mod confined;
mod cost;
pub mod decoder;
pub mod embedder;
mod encoder;
pub mod engine;
mod families;
pub mod generation;
pub mod gguf;
pub mod heads;
mod kv_cache;
mod linear;
mod load;
mod mask;
mod measure;
mod metadata;
mod model;
mod ops;
mod padded;
mod probability;
pub mod reranker;
mod rope;
pub mod safetensors;
mod sampler;
pub mod sequence;
#[cfg(feature = "starter")]
pub mod starter;
mod states;
mod table;
pub mod tokenizer;
mod trunk;
mod unpacking;
mod weight_files;
pub mod weights;

pub use allocator::set_up_allocator;
#[cfg(fuzzing)]
pub use chat_template::{ChatTemplate, TemplateHints};
pub use confined::{Confinement, confinement};
pub use cost::TokenCost;
pub use embedder::load as load_embedder;
#[cfg(feature = "cuda")]
pub use load::without_gpu;
pub use load::{FileSummary, ModelKind, load_decoder, load_language, probe, probe_with, validate};
pub use measure::{Speed, measure};
pub use packed_matmul::InstructionSet;
pub use weights::Precision;
