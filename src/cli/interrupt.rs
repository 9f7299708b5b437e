//! Ctrl+C: the first one asks the command to stop, the second one ends the program. Exit code 130.
//!
//! The store needs no cleaning up: an uncommitted transaction leaves no trace.

use std::io::Write as _;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};

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
                if IS_HELD_OFF.load(Ordering::SeqCst) {
                    continue;
                }
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

/// From now on SIGTERM and SIGHUP ask the command to stop, as the first Ctrl+C does.
#[cfg(feature = "server")]
pub fn stop_when_terminated(cancel: &Cancel) {
    let cancel = cancel.clone();
    let spawned = std::thread::Builder::new().name("terminate".into()).spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else {
            return;
        };
        runtime.block_on(async {
            if let (Ok(mut terminate), Ok(mut hang_up)) =
                (signal(SignalKind::terminate()), signal(SignalKind::hangup()))
            {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = hang_up.recv() => {}
                }
                cancel.cancel();
            }
        });
    });
    drop(spawned);
}

/// While it is held, SIGTERM and SIGHUP end the program and leave the terminal as it was. The screen catches both for good, so that
/// after it nobody would: a passphrase would be asked for where the terminal is gone.
pub fn end_by_signals() -> impl Drop {
    IS_ASKING.store(true, Ordering::SeqCst);
    WATCHED.call_once(|| {
        let spawned = std::thread::Builder::new().name("signals".into()).spawn(|| {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build()
            else {
                return;
            };
            runtime.block_on(async {
                let (Ok(mut terminate), Ok(mut hang_up)) =
                    (signal(SignalKind::terminate()), signal(SignalKind::hangup()))
                else {
                    return;
                };
                loop {
                    let code = tokio::select! {
                        _ = terminate.recv() => 143,
                        _ = hang_up.recv() => 129,
                    };
                    if IS_ASKING.load(Ordering::SeqCst) {
                        let _ = crossterm::terminal::disable_raw_mode();
                        let _ = writeln!(std::io::stderr());
                        std::process::exit(code);
                    }
                }
            });
        });
        drop(spawned);
    });
    Asking
}

/// From now on no signal ends the program but the one that nobody can catch: what is being done can't be undone halfway.
pub fn hold_off() {
    IS_HELD_OFF.store(true, Ordering::SeqCst);
    // Caught, and nothing done about it while nobody is asked.
    drop(end_by_signals());
}

static IS_HELD_OFF: AtomicBool = AtomicBool::new(false);
static IS_ASKING: AtomicBool = AtomicBool::new(false);
static WATCHED: Once = Once::new();

struct Asking;

impl Drop for Asking {
    fn drop(&mut self) {
        IS_ASKING.store(false, Ordering::SeqCst);
    }
}
