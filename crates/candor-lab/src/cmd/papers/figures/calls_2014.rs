//! "Evaluation of Linux CAN system calls", technical report 2014.

mod alone;
mod calls;
mod streams;

use super::Figure;

pub(super) fn figures() -> impl Iterator<Item = &'static Figure> {
    [calls::FIGURES, alone::FIGURES, streams::FIGURES].into_iter().flatten()
}
