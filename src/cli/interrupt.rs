//! Ctrl+C: the first one asks the command to stop, the second one does not ask. Exit code 130.
//!
//! The store needs no help: a transaction that did not commit leaves no trace.

use crate::interfaces::Cancel;

/// Listens from now on. With `cooperative`, the flag is set first and the command is trusted to
/// look at it; otherwise the program ends at once.
pub fn watch(cancel: &Cancel, cooperative: bool) {
    let cancel = cancel.clone();
    let spawned = std::thread::Builder::new().name("interrupt".into()).spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else {
            return;
        };
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                if !cooperative || cancel.is_cancelled() {
                    std::process::exit(i32::from(super::report::EXIT_INTERRUPTED));
                }
                cancel.cancel();
            }
        });
    });
    // Without the thread Ctrl+C ends the program by the signal itself, which is good enough.
    drop(spawned);
}
