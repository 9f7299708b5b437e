//! A clock that a test sets.

use std::sync::Mutex;

use jiff::{SignedDuration, tz::Offset};

use crate::interfaces::Clock;
use crate::memory::Moment;

/// A [`Clock`] that stands still until told to move.
#[derive(Debug)]
pub struct ManualClock(Mutex<Moment>);

impl ManualClock {
    /// `at` as `2026-11-21T10:00:00Z`.
    ///
    /// # Panics
    /// If `at` is not a timestamp.
    #[expect(clippy::expect_used, reason = "a test double")]
    pub fn at(at: &str) -> Self {
        let timestamp = at.parse().expect("an RFC 3339 timestamp");
        Self(Mutex::new(Moment::new(timestamp, Offset::UTC)))
    }

    /// Moves forward.
    ///
    /// # Panics
    /// If the time leaves jiff's range.
    #[expect(clippy::expect_used, reason = "a test double")]
    pub fn advance(&self, by: SignedDuration) {
        let mut now = self.0.lock().expect("not poisoned");
        now.timestamp = now.timestamp.checked_add(by).expect("in range");
    }
}

impl Clock for ManualClock {
    #[expect(clippy::expect_used, reason = "a test double")]
    fn now(&self) -> Moment {
        *self.0.lock().expect("not poisoned")
    }
}
