//! One conversation: a pure turn machine, the driver that runs it, and one question for `ask`.
//!
//! The machine decides (`machine`, `policy`, `sampling`, `window`, `prompt`, `stream`, `tools`), the driver acts
//! (`driver`, `executor`). Nothing here knows a terminal.

mod ask;
#[cfg(all(test, feature = "starter"))]
#[path = "../../tests/chat/corrections.rs"]
#[expect(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]
mod corrections;
mod driver;
mod executor;
pub mod export;
mod machine;
mod noting;
mod own_files;
mod passages;
mod persona;
pub mod policy;
pub mod prompt;
mod quote;
pub mod sampling;
mod speech;
mod stream;
mod sureness;
mod template;
mod tools;
mod window;

pub use ask::{ChatError, answer_in};
pub use driver::Driver;
#[cfg(feature = "server")]
pub use executor::reader_of;
pub use executor::{Allowed, ChatConfig, Parts};
pub use machine::{Command, Forked, Level, MessageKind, PhaseName, SavedReply, Update};
pub use own_files::OwnFile;
pub use persona::Persona;
pub use policy::ModelProfile;
#[cfg(feature = "server")]
pub use stream::Stream as Thoughts;
pub use sureness::Sureness;
pub use template::{Filled, INPUT, Template};
pub use tools::{Call, CallResult, Permission, ToolsStatus};
pub use window::Window;
