//! HU-xiaobai/xMemory's code (375ae14, MIT), written anew from its behaviour, so that the two can be compared: how it
//! organises facts into themes, and how it recalls. On the five conversations of `../shared/data` it equals that code.

pub mod recall;
pub mod themes;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod golden_recall;
