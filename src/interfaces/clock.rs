//! Time, as an argument.

use jiff::{Timestamp, tz::TimeZone};

use crate::memory::Moment;

/// Where "now" comes from.
pub trait Clock: Send + Sync {
    /// The present moment.
    fn now(&self) -> Moment;
}

/// The machine's clock and time zone.
#[derive(Debug, Clone, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        let timestamp = Timestamp::now();
        Moment::new(timestamp, TimeZone::system().to_offset(timestamp))
    }
}
