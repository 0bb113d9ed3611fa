//! The figures of a series, for programs.

use candor_core::stats::{Quantile, Series};
use serde_json::{Value, json};

/// Smallest, median, 90 %, 99 %, largest and how many.
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
