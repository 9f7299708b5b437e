//! The threads that compute a forward pass: rayon's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Runs `work` over so many rows on a thread of rayon's pool. The other threads stay awake for the many short products of
/// few rows: to wake one takes longer than some of them.
pub(super) fn in_pool<T: Send>(n_rows: usize, work: impl FnOnce() -> T + Send) -> T {
    const FEW: usize = 8;
    rayon::scope(|_| {
        if n_rows > FEW {
            return work();
        }
        let done = Arc::new(AtomicBool::new(false));
        let (here, seen) = (rayon::current_thread_index(), Arc::clone(&done));
        rayon::spawn_broadcast(move |_| {
            if rayon::current_thread_index() != here {
                stay_awake(&seen);
            }
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        result
    })
}

/// Computes what others offer until `done`, or until nobody offered anything for a while: this may run within a task that
/// they wait for.
fn stay_awake(done: &AtomicBool) {
    /// Longer than what one thread computes alone between two products.
    const IDLE: Duration = Duration::from_micros(200);
    const N_SPINS: usize = 32;
    let mut since = Instant::now();
    while !done.load(Ordering::Relaxed) {
        if rayon::yield_now() == Some(rayon::Yield::Executed) {
            since = Instant::now();
        } else if since.elapsed() > IDLE {
            return;
        } else {
            (0..N_SPINS).for_each(|_| std::hint::spin_loop());
        }
    }
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    /// A thread that stays awake within a task that others wait for has to let it go on.
    #[test]
    fn staying_awake_keeps_nobody_waiting() {
        let sum = |from: u64| (from..from + 1_000).into_par_iter().map(|n| n * n).sum::<u64>();
        let expected: Vec<u64> = (0..200).map(|n| (n..n + 1_000).map(|n| n * n).sum()).collect();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for n_rows in [1, 64] {
                        let nested = || (0..200).into_par_iter().map(sum).collect::<Vec<u64>>();
                        for _ in 0..20 {
                            assert_eq!(in_pool(n_rows, nested), expected);
                        }
                    }
                });
            }
        });
    }
}
