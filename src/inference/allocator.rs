//! How the system's allocator is used.

/// What is freed is there for whoever comes next, at once. To be called before there are threads; elsewhere
/// than with glibc it does nothing.
///
/// - One arena: with one for each thread, keys, values and activations of a turn that ran on one core stay
///   resident beside those of the next one on another (70 MB with a model of 0.6 billion weights and a prompt
///   of 512 tokens). Small pieces come from each thread's own cache as before.
/// - Up to 64 MB stay with the process instead of going back to the system after each layer, to come back as
///   fresh pages: a sixth of a prefill.
pub fn set_up_allocator() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "settings of the C library")]
    // SAFETY: sets numbers; no memory is involved. It fails for settings that are unknown only, and
    // then things stay as they were.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 64 << 20);
    }
}
