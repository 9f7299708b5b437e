//! One conversation: a pure turn machine, the driver that executes it, and one question for `ask`.
//!
//! The machine decides (`machine`, `policy`, `window`, `prompt`, `stream`), the driver does
//! (`driver`, `hands`), `recollection` says what they need of recall and of the worker. Nothing
//! here knows a terminal.

mod driver;
pub mod export;
mod hands;
pub mod machine;
mod once;
pub mod policy;
pub mod prompt;
mod recalling;
mod recollection;
mod stream;
pub mod window;

pub use driver::{Command, Driver};
pub use hands::{ChatConfig, Parts, SharedModels};
pub use machine::{Facts, Kind, Level, Phase, Update};
pub use once::{Answered, ChatError, Step, answer_in, answer_once};
pub use policy::Reader;
pub use recalling::MemoryRecaller;
pub use recollection::{Background, Question, Recaller, Recollection};
