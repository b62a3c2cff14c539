//! lock-keeper
