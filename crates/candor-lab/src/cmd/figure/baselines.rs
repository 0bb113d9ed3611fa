//! Engines compared with the same system calls without rules, and with can-gw.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use candor_lab::record::engine_of_baseline;
use serde_json::Value;

use super::{Made, Unfit, number, text};

/// Each result has one source of frames: figures of different sources cannot be compared.
pub(super) fn make(results: &[Value]) -> Result<Made, Unfit> {
    let mut table = String::from(
        "| engine | candor p50 | p99 | baseline p50 | p99 | candor ÷ baseline | can-gw p50 | p99 | candor ÷ can-gw |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for measured in results {
        let mut order = Vec::new();
        let mut all = BTreeMap::new();
        for record in measured.as_array().ok_or("an array of gateways is missing")? {
            let engine = text(&record["conditions"], "engine")?;
            if record["lost"] != 0 {
                return Err(format!("{engine} lost {} frames", record["lost"]).into());
            }
            let latency = &record["latency"];
            all.insert(engine, (number(latency, "p50_ns")?, number(latency, "p99_ns")?));
            order.push(engine);
        }
        let kernel = all.get("kernel").ok_or("can-gw was not measured")?;
        for name in order {
            let Some(engine) = engine_of_baseline(name) else { continue };
            let (baseline, candor) = (all[name], all.get(engine).ok_or_else(|| format!("{engine} was not measured"))?);
            writeln!(
                table,
                "| `{engine}` | {} | {} | {} | {} | {:.3} | {} | {} | {:.2} |",
                candor.0,
                candor.1,
                baseline.0,
                baseline.1,
                candor.0 / baseline.0,
                kernel.0,
                kernel.1,
                candor.0 / kernel.0
            )?;
        }
    }
    Ok(Made { table, ..Made::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_engine_is_a_row_with_its_baseline() {
        let record = |engine: &str, p50: u32| json!({ "conditions": { "engine": engine }, "lost": 0, "latency": { "p50_ns": p50, "p99_ns": p50 } });
        let measured = |lost: u32| {
            let mut all =
                json!([record("kernel", 100), record("read-write", 300), record("baseline of read-write", 200)]);
            all[1]["lost"] = lost.into();
            all
        };
        let table = make(&[measured(0)]).unwrap().table;
        assert!(table.ends_with("| `read-write` | 300 | 300 | 200 | 200 | 1.500 | 100 | 100 | 3.00 |\n"), "{table}");
        assert!(make(&[measured(1)]).is_err());
    }
}
