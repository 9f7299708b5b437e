//! Ctrl+C: the first one asks the command to stop, the second one ends the program. Exit code 130.
//!
//! The store needs no cleaning up: an uncommitted transaction leaves no trace.

use crate::interfaces::Cancel;

/// Watches for Ctrl+C from now on. If the command is `cooperative`, the first one only sets the flag
/// that it checks; otherwise the program ends at once.
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
    // Without the thread the signal itself ends the program, which is good enough.
    drop(spawned);
}
