//! "Timing Analysis of a Linux-Based CAN-to-CAN Gateway", RTLWS 2011.

mod filters;
mod hops;
mod kernel;
mod precision;
mod user;

use super::Figure;

/// By what they are about.
pub(super) fn figures() -> impl Iterator<Item = &'static Figure> {
    [precision::FIGURES, kernel::FIGURES, filters::FIGURES, user::FIGURES, hops::FIGURES].into_iter().flatten()
}
