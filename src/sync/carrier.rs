//! What carries the log from one device to another: numbered pieces of bytes, each written once, that no carrier can read.

use super::DeviceId;

/// Why a carrier could not do it.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct CarrierError {
    /// What was tried, and where.
    pub what: String,
    /// The cause.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
    /// What the person can do about it, if that is known.
    pub hint: Option<String>,
}

impl CarrierError {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), source: None, hint: None }
    }

    pub(super) fn of(
        what: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { source: Some(source.into()), ..Self::new(what) }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Pieces of each device's log. A piece is written by its own device only, whole or not at all, never changed, and taken
/// away when others stand in its place.
pub trait Carrier: Send {
    /// What the first device wrote for the others to know the sync by; `None` before.
    ///
    /// # Errors
    /// If it can't be reached or read.
    fn header(&mut self) -> Result<Option<Vec<u8>>, CarrierError>;

    /// Makes the place, and writes the header.
    ///
    /// # Errors
    /// If it can't be reached or written, or there is one.
    fn begin(&mut self, header: &[u8]) -> Result<(), CarrierError>;

    /// The devices that have pieces.
    ///
    /// # Errors
    /// If it can't be reached or read.
    fn devices(&mut self) -> Result<Vec<DeviceId>, CarrierError>;

    /// The numbers of a device's pieces, in their order.
    ///
    /// # Errors
    /// If it can't be reached or read.
    fn pieces(&mut self, device: DeviceId) -> Result<Vec<u64>, CarrierError>;

    /// A piece, as far as it has arrived, or `None` if it is gone meanwhile.
    ///
    /// # Errors
    /// If it can't be reached or read.
    fn read(&mut self, device: DeviceId, piece: u64) -> Result<Option<Vec<u8>>, CarrierError>;

    /// Writes a piece. When it returns, the piece outlives a loss of power.
    ///
    /// # Errors
    /// If it can't be reached or written, or there is such a piece.
    fn write(&mut self, device: DeviceId, piece: u64, bytes: &[u8]) -> Result<(), CarrierError>;

    /// Takes a piece away; one that is not there is no error.
    ///
    /// # Errors
    /// If it can't be reached or written.
    fn remove(&mut self, device: DeviceId, piece: u64) -> Result<(), CarrierError>;
}
