//! Products with quantised and dense matrices.
