//! Instructions per frame in bursts: all engines on one pair of buses, and one bus compared with many.

use std::fmt::Write as _;

use candor_lab::record::engine_of_baseline;
use serde_json::Value;

use super::{Made, Unfit, array, number, text};

/// Burst size of the ratios.
const OF_RATIOS: f64 = 16.0;

/// Median and p99 of one frame.
type Quantiles = (f64, f64);

struct Gateway {
    engine: String,
    single: Option<Quantiles>,
    /// Frames per burst, and quantiles per frame.
    bursts: Vec<(f64, Quantiles)>,
}

impl Gateway {
    fn in_bursts_of(&self, size: f64) -> Result<f64, Unfit> {
        let found = self.bursts.iter().find(|(frames, _)| *frames == size);
        Ok(found.map(|(_, (p50, _))| *p50).ok_or_else(|| format!("{} without bursts of {size}", self.engine))?)
    }
}

fn gateways(measured: &Value) -> Result<Vec<Gateway>, Unfit> {
    let quantiles = |of: &Value| Ok::<_, Unfit>((number(of, "p50_ns")?, number(of, "p99_ns")?));
    let burst = |of: &Value| Ok::<_, Unfit>((number(of, "frames")?, quantiles(of)?));
    let gateway = |of: &Value| {
        let single = (!of["single"].is_null()).then(|| quantiles(&of["single"])).transpose()?;
        let bursts = array(of, "bursts")?.iter().map(burst).collect::<Result<_, _>>()?;
        Ok(Gateway { engine: text(of, "engine")?.to_owned(), single, bursts })
    };
    array(measured, "gateways")?.iter().map(gateway).collect()
}

/// A row for each engine, with its ratios to its baseline, can-gw and `read-write`.
pub(super) fn engines(results: &[Value]) -> Result<Made, Unfit> {
    let mut table = String::new();
    for measured in results {
        let all = gateways(measured)?;
        let find = |engine: &str| all.iter().find(|one| one.engine == engine);
        let base =
            |engine: &str| find(engine).ok_or_else(|| format!("{engine} was not measured"))?.in_bursts_of(OF_RATIOS);
        let (kernel, read_write) = (base("kernel")?, base("read-write")?);
        let sizes = || all.first().into_iter().flat_map(|one| &one.bursts).map(|(frames, _)| frames);
        write!(table, "Linux {}\n\n| engine | single |", text(measured, "kernel_release")?)?;
        sizes().try_for_each(|size| write!(table, " {size} |"))?;
        table += " baseline: single | baseline: 16 | ÷ baseline: single | ÷ baseline: 16 | ÷ can-gw: 16 | ÷ read-write: 16 |\n|---|--:|";
        table += &"--:|".repeat(sizes().count() + 6);
        for one in all.iter().filter(|one| engine_of_baseline(&one.engine).is_none()) {
            let cell = |(p50, p99): Quantiles| format!(" {p50} / {p99} |");
            write!(table, "\n| `{}` |{}", one.engine, one.single.map_or_else(|| " |".to_owned(), cell))?;
            one.bursts.iter().try_for_each(|(_, burst)| write!(table, "{}", cell(*burst)))?;
            let of_burst = one.in_bursts_of(OF_RATIOS)?;
            match all.iter().find(|other| engine_of_baseline(&other.engine) == Some(&one.engine)) {
                Some(baseline) => {
                    let (single, burst) = (baseline.single.map(|(p50, _)| p50), baseline.in_bursts_of(OF_RATIOS)?);
                    let ratio = one.single.zip(single).map(|((p50, _), base)| p50 / base);
                    write!(
                        table,
                        " {} | {burst} |{}",
                        single.unwrap_or_default(),
                        ratio.map_or_else(|| " |".to_owned(), |ratio| format!(" {ratio:.3} |"))
                    )?;
                    write!(table, " {:.3} |", of_burst / burst)?;
                }
                None => table += " | | | |",
            }
            write!(table, " {:.3} | {:.3} |", of_burst / kernel, of_burst / read_write)?;
        }
        write!(table, "\n\nSubtracted: {}\n", measured["tester"])?;
    }
    Ok(Made { table, ..Made::default() })
}

/// The results are pairs: one bus, many buses.
pub(super) fn buses(results: &[Value]) -> Result<Made, Unfit> {
    let mut table = String::new();
    for pair in results.chunks(2) {
        let [one, many] = pair else { return Err("one bus and many are two results".into()) };
        let first = |of: &Value| Ok::<_, Unfit>(gateways(of)?.into_iter().next().ok_or("no gateway was measured")?);
        let (few, all) = (first(one)?, first(many)?);
        let head =
            format!("{}\n\n| frames on each bus | 1 bus | {} buses | ratio |\n", few.engine, number(many, "ways")?);
        table += &(head + "|--:|--:|--:|--:|\n");
        for ((size, one), (_, many)) in few.bursts.iter().zip(&all.bursts) {
            writeln!(table, "| {size} | {} / {} | {} / {} | {:.2} |", one.0, one.1, many.0, many.1, many.0 / one.0)?;
        }
        table.push('\n');
    }
    Ok(Made { table, ..Made::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn gateway(engine: &str, p50: u32) -> Value {
        json!({ "engine": engine, "single": { "p50_ns": p50, "p99_ns": p50 },
                "bursts": [{ "frames": 16, "p50_ns": p50, "p99_ns": p50 + 1 }] })
    }

    fn measured(gateways: &[Value]) -> Value {
        json!({ "kernel_release": "6.1", "ways": gateways.len(), "tester": 7, "gateways": gateways })
    }

    #[test]
    fn engines_are_compared_with_baseline_can_gw_and_read_write() {
        let all = [gateway("kernel", 100), gateway("read-write", 400), gateway("baseline of read-write", 200)];
        let table = engines(&[measured(&all)]).unwrap().table;
        assert!(
            table.contains("| `read-write` | 400 / 400 | 400 / 401 | 200 | 200 | 2.000 | 2.000 | 4.000 | 1.000 |"),
            "{table}"
        );
        assert!(table.contains("| `kernel` | 100 / 100 | 100 / 101 | | | | | 1.000 | 0.250 |"), "{table}");
        assert!(engines(&[measured(&all[..1])]).is_err());
    }

    #[test]
    fn one_bus_is_compared_with_many() {
        let (one, many) = (measured(&[gateway("read-write", 400)]), measured(&[gateway("read-write", 500)]));
        let table = buses(&[one, many]).unwrap().table;
        assert!(table.contains("| 16 | 400 / 401 | 500 / 501 | 1.25 |"), "{table}");
    }
}
