//! How much memory this machine has.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// Of the machine, or of the container that the program runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    pub total: u64,
    /// What can be had without swapping.
    pub free: u64,
}

/// Bytes of weights that this machine's processor reads and multiplies a second, by the number of its cores: 10 GB/s each, 40 at
/// most, for a list that can't take the time to measure. `doctor` does.
pub fn supposed_decode_rate() -> f64 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores as f64 * 10e9).min(40e9)
}

/// `None` where the system does not say.
pub fn memory() -> Option<Memory> {
    let what = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(what).ok()?;
    let mut memory = Memory { total: system.total_memory(), free: system.available_memory() };
    if let Some(limits) = system.cgroup_limits() {
        memory.total = memory.total.min(limits.total_memory);
        memory.free = memory.free.min(limits.free_memory);
    }
    (memory.total > 0).then_some(memory)
}
