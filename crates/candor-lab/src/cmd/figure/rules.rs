//! Median latency over the number of rules: a panel for each source of frames, and where user space overtakes can-gw.

use candor_lab::plot::{Axis, Corner, Document, Entry, Mark, Panel, Sample, Scale, legend};
use maud::{Markup, html};
use serde_json::Value;

use super::{Made, Unfit, number, text};

const COLUMN: f64 = 580.0;
const SIZE: [f64; 2] = [2.0 * COLUMN, 440.0];

struct Series {
    label: String,
    is_kernel: bool,
    /// Number of rules and median latency in instructions, ascending.
    points: Vec<(f64, f64)>,
}

pub(super) fn make(results: &[Value]) -> Result<Made, Unfit> {
    let panels = results.iter().map(panel).collect::<Result<Vec<_>, _>>()?;
    let table = panels.iter().map(|(caption, all)| format!("{caption}\n\n{}\n{}\n", table(all), crossings(all)));
    Ok(Made { table: table.collect(), svg: draw(&panels) })
}

/// Caption and series, from the names of the gateway files: `ENGINE.FRAMES.RULES.toml`.
fn panel(measured: &Value) -> Result<(String, Vec<Series>), Unfit> {
    let mut all: Vec<Series> = Vec::new();
    for record in measured.as_array().ok_or("an array of gateways is missing")? {
        let conditions = &record["conditions"];
        let device = text(conditions, "device")?;
        let file = device.rsplit('/').next().unwrap_or(device);
        let mut parts = file.split('.');
        let (Some(engine), Some(frames), Some(Ok(rules))) = (parts.next(), parts.next(), parts.next().map(str::parse))
        else {
            return Err(format!("{device} is not named ENGINE.FRAMES.RULES").into());
        };
        let label = match (engine, frames) {
            ("kernel", "classic") => "can-gw, classic frames only".to_owned(),
            ("kernel", _) => "can-gw, classic and FD frames".to_owned(),
            (engine, _) => engine.to_owned(),
        };
        let instruction_ns = conditions["instruction_ns"].as_f64().unwrap_or(1.0);
        let point = (rules, number(&record["latency"], "p50_ns")? / instruction_ns);
        match all.iter_mut().find(|series| series.label == label) {
            Some(series) => series.points.push(point),
            None => all.push(Series { label, is_kernel: engine == "kernel", points: vec![point] }),
        }
    }
    if all.iter().any(|series| series.points.len() != all[0].points.len()) {
        return Err("the gateways were not measured with the same numbers of rules".into());
    }
    let is_timer = measured[0]["conditions"]["traffic"].as_str().is_some_and(|traffic| traffic.contains("timer"));
    Ok((format!("frames from {}", if is_timer { "a timer" } else { "calls" }), all))
}

fn table(all: &[Series]) -> String {
    let labels: String = all.iter().map(|series| format!(" {} |", series.label)).collect();
    let mut text = format!("| rules |{labels}\n|--:|{}\n", "--:|".repeat(all.len()));
    for (row, (rules, _)) in all.first().map_or(&[][..], |first| &first.points).iter().enumerate() {
        let cells: String = all.iter().map(|series| format!(" {:.0} |", series.points[row].1)).collect();
        text += &format!("| {rules} |{cells}\n");
    }
    text
}

fn crossings(all: &[Series]) -> String {
    let pairs = all.iter().filter(|user| !user.is_kernel).flat_map(|user| {
        all.iter().filter(|kernel| kernel.is_kernel).map(move |kernel| format!("{}\n", crossing(kernel, user)))
    });
    pairs.collect()
}

/// The number of rules from which user space is faster, interpolated linearly.
fn crossing(kernel: &Series, user: &Series) -> String {
    let gains = kernel.points.iter().zip(&user.points).map(|((rules, kernel), (_, user))| (*rules, kernel - user));
    let gains: Vec<(f64, f64)> = gains.collect();
    let found = gains.windows(2).find(|pair| pair[0].1 <= 0.0 && pair[1].1 > 0.0);
    let (label, user) = (&kernel.label, &user.label);
    match found {
        Some(&[(x0, y0), (x1, y1)]) => {
            format!("{user} is faster than {label} from {:.0} rules on", x0 - y0 * (x1 - x0) / (y1 - y0))
        }
        _ => format!("{user} is not faster than {label} up to {} rules", gains.last().map_or(0.0, |last| last.0)),
    }
}

fn draw(panels: &[(String, Vec<Series>)]) -> String {
    let all = || panels.iter().flat_map(|(_, all)| all).flat_map(|series| &series.points);
    let most = all().map(|(_, p50)| *p50).fold(1.0, f64::max);
    let drawing = html! {
        @for (left, (caption, all)) in [0.0, COLUMN].into_iter().zip(panels) { (column(caption, all, left, most)) }
    };
    Document {
        title: "Latency of a gateway with many masked rules",
        description: "Median latency in instructions over the number of rules with a mask: can-gw rises, user space is constant.",
        size: SIZE,
    }
    .with(&drawing)
}

fn column(caption: &str, all: &[Series], left: f64, most: f64) -> Markup {
    let across = [left + 84.0, left + COLUMN - 16.0];
    let rules = all.iter().flat_map(|series| &series.points).map(|(rules, _)| *rules).fold(1.0, f64::max);
    let panel = Panel {
        x: Axis::new(Scale::linear(0.0, rules * 1.02, across), "rules with a mask (29-bit identifiers, 8 masks)"),
        y: Axis::new(Scale::linear(0.0, most * 1.1, [390.0, 34.0]), "median latency in instructions"),
    };
    let labels: Vec<&str> = all.iter().map(|series| series.label.as_str()).collect();
    let entries = Entry::all(&labels, Sample::Marked(Mark::Ring));
    html! {
        (panel.caption(caption))
        (panel.axes())
        @for (series, entry) in all.iter().zip(&entries) {
            @let points = || series.points.iter().map(|(rules, p50)| (*rules, Some(*p50)));
            path.line.(entry.class) d=(panel.line(points())) {}
            (panel.marks(points(), Mark::Ring, &entry.class))
        }
        (legend(&entries, &panel, Corner::BottomRight))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn user_space_overtakes_between_two_numbers_of_rules() {
        let record = |file: &str, p50: u32| json!({ "conditions": { "device": file, "instruction_ns": 1 }, "latency": { "p50_ns": p50 } });
        let measured: Value = [
            record("/tmp/kernel.any.1.toml", 100),
            record("/tmp/kernel.any.101.toml", 300),
            record("/tmp/read-write.any.1.toml", 200),
            record("/tmp/read-write.any.101.toml", 200),
        ]
        .into_iter()
        .collect();
        let made = make(&[measured]).unwrap();
        assert!(made.table.contains("| 101 | 300 | 200 |"), "{}", made.table);
        assert!(made.table.contains("read-write is faster than can-gw, classic and FD frames from 51 rules on"));
        assert_eq!(made.svg.matches("<path class=\"line").count(), 2);
    }
}
