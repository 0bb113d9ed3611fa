//! Clocks and sleeping.
