//! Forms of a [`Drawing`](super::drawing::Drawing).

mod svg;
mod text;

pub(super) use svg::svg;
pub(super) use text::text;
