//! The figures of a series.

use candor_lab::stats::{Quantile, Series};
use serde_json::{Value, json};

/// Smallest, median, 90 %, 99 %, largest and how many, for programs.
pub(super) fn distribution(series: &Series) -> Value {
    json!({
        "count": series.count(),
        "min_ns": series.min().0,
        "p50_ns": series.quantile(Quantile::P50).0,
        "p90_ns": series.quantile(Quantile::P90).0,
        "p99_ns": series.quantile(Quantile::P99).0,
        "max_ns": series.max().0,
    })
}

/// The same for people: each in a column of ten, below [`head`].
pub(super) fn columns(series: &Series) -> String {
    let at = |quantile| series.quantile(quantile).0;
    let figures = [series.min().0, at(Quantile::P50), at(Quantile::P90), at(Quantile::P99), series.max().0];
    figures.map(|figure| format!(" {figure:>10}")).concat()
}

/// What stands above the [`columns`].
pub(super) fn head() -> String {
    ["min", "p50", "p90", "p99", "max"].map(|name| format!(" {name:>10}")).concat()
}
