//! Forms of a [`Drawing`](super::drawing::Drawing).

mod json;
mod svg;
mod text;

pub(super) use json::json;
pub(super) use svg::svg;
pub(super) use text::text;
