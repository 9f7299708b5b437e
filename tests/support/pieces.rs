//! What is in the pieces of a sync.

use std::fmt::Write as _;

use inglenook::sync::{Code, Found, Log, Piece, Place};

/// A line for each entry: its device and piece, and what it says.
pub fn texts(place: &Place, code: &Code) -> String {
    let Found::Sync(mut log, _) = Log::join(place.open().unwrap(), code).unwrap() else { panic!() };
    let mut text = String::new();
    for device in log.carrier.devices().unwrap() {
        for piece in log.carrier.pieces(device).unwrap() {
            let Piece::Whole { entries, .. } = log.read(device, piece).unwrap() else {
                panic!("{device} {piece}")
            };
            for entry in entries {
                let entry = serde_json::to_string(&entry).unwrap();
                writeln!(text, "{device}/{piece} {entry}").unwrap();
            }
        }
    }
    text
}
