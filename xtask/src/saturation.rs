//! Figure 4.4 of the 2014 report: latency and loss over the period of frames, for each gateway, drawn and printed.

mod plot;

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::Value;

use crate::lab::{self, Guest};
use crate::{static_build, step};

/// can-gw, the report's gateways, and two that came since, each with the period in µs at which the report's began to lose
/// frames (sections 4.2 and 4.3).
const GATEWAYS: [(&str, &str); 12] = [
    ("kernel", "below 120"),
    ("read-write", "150 to 155"),
    ("readbusy-write", "150 to 155"),
    ("readnb-write", "150 to 155"),
    ("mmap-write", "127"),
    ("mmapbusy-write", "127"),
    ("readnb-mmap", "below 120"),
    ("mmsg-mmsg", "120"),
    ("mmap-mmap", "120"),
    ("mmapbusy-mmap", "120"),
    ("mmap-adaptive", ""),
    ("uring-uring", ""),
];

/// Periods in instructions, first, last and step: the same work for processors of any speed.
const FROM: u32 = 16_000;
const TO: u32 = 36_000;
const STEP: usize = 1250;

/// Processors, by the `shift` of QEMU's instruction counter: 250 and 125 million instructions a second.
const SHIFTS: [u8; 2] = [2, 3];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Frames of each stream.
    #[arg(long, default_value_t = 3200)]
    frames: u32,
    /// Kernel by its name in `candor-lab kernels` (default: Debian stable).
    #[arg(long)]
    kernel: Option<String>,
    /// Where to draw the curves.
    #[arg(long, default_value = "docs/saturation.svg")]
    svg: PathBuf,
}

/// A stream at one gateway.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    /// At which the tester sent. What came in may have had a longer one, where frames were lost before that.
    period_us: f64,
    /// `None` if every frame was lost.
    p50_us: Option<f64>,
    lost: u32,
    /// Frames that were still under way when the last one came in.
    behind: u32,
}

/// One line of the picture.
struct Curve {
    engine: String,
    points: Vec<Point>,
}

/// The same gateways on one processor.
struct Panel {
    caption: String,
    frames: u32,
    /// What the tester takes of a period.
    tester_us: f64,
    curves: Vec<Curve>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let candor = static_build::lab()?;
    let folder = lab::folder("saturation")?;
    let files = GATEWAYS
        .iter()
        .map(|(engine, _)| {
            lab::write(&folder, engine, &lab::one_rule(engine, "can2", "can3", lab::may_send_by_ring(engine)))
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut panels = Vec::new();
    for shift in SHIFTS {
        let guest =
            Guest { candor: &candor, kernel: args.kernel.as_deref(), topology: "kvaser", shift, timeout: "120min" };
        let periods: Vec<_> = (FROM..=TO).step_by(STEP).map(|count| format!("{}ns", count << shift)).collect();
        let arguments = [
            "stream",
            "--way",
            "can0:can2:can3",
            "--down",
            "can1,can4",
            "--frames",
            &args.frames.to_string(),
            "--periods",
            &periods.join(","),
        ];
        let (measured, _) = guest.json(&files, &arguments.map(str::to_owned))?;
        let panel = panel(shift, &measured)?;
        println!("{}: the tester takes {:.1} µs of a period\n", panel.caption, panel.tester_us);
        panels.push(panel);
    }
    println!("{}", table(&panels));
    let svg = step::root().join(&args.svg);
    plot::draw(&svg, &panels)?;
    println!("drawn: {}", svg.display());
    Ok(())
}

fn panel(shift: u8, measured: &Value) -> anyhow::Result<Panel> {
    let number = |of: &Value, key: &str| of[key].as_f64().with_context(|| format!("no {key} in {of}"));
    let count = |of: &Value, key: &str| {
        let count = of[key].as_u64().with_context(|| format!("no {key} in {of}"))?;
        anyhow::Ok(u32::try_from(count)?)
    };
    let point = |of: &Value| {
        let not_sent = count(of, "not_sent")?;
        Ok(Point {
            period_us: number(of, "asked_period_ns")? / 1000.0,
            p50_us: of["p50_ns"].as_f64().map(|ns| ns / 1000.0),
            lost: count(of, "lost")? + not_sent,
            behind: count(of, "behind")?,
        })
    };
    let curve = |of: &Value| {
        let engine = of["engine"].as_str().context("a gateway without an engine")?.to_owned();
        let points = of["streams"].as_array().context("no streams")?.iter().map(point);
        Ok(Curve { engine, points: points.collect::<anyhow::Result<_>>()? })
    };
    let curves = measured["gateways"].as_array().context("no gateways")?.iter().map(curve);
    let release = measured["kernel_release"].as_str().unwrap_or_default();
    Ok(Panel {
        caption: format!("{} million instructions a second, Linux {release}", 1000 >> shift),
        frames: count(measured, "frames")?,
        tester_us: number(measured, "tester_ns")? / 1000.0,
        curves: curves.collect::<anyhow::Result<_>>()?,
    })
}

/// The shortest period from which on `holds` for every longer one, too; `None` if it does not hold for the longest.
fn shortest(points: &[Point], holds: impl Fn(&Point) -> bool) -> Option<f64> {
    let mut sorted: Vec<_> = points.iter().collect();
    sorted.sort_by(|one, other| other.period_us.total_cmp(&one.period_us));
    sorted.into_iter().take_while(|point| holds(point)).last().map(|point| point.period_us)
}

/// Frames under way at the end of a stream with which a gateway has kept up: as many as it takes at once.
const AT_ONCE: u32 = 64;

fn table(panels: &[Panel]) -> String {
    let mut text = String::from("| gateway |");
    let mut write = |words: std::fmt::Arguments<'_>| text.write_fmt(words).expect("a String takes everything");
    for panel in panels {
        write(format_args!(" {}: nothing lost | and nothing left behind |", panel.caption));
    }
    write(format_args!(" report |\n|---|{}--:|", "--:|".repeat(2 * panels.len())));
    for (engine, reported) in GATEWAYS {
        write(format_args!("\n| `{engine}` |"));
        for panel in panels {
            let points =
                panel.curves.iter().find(|curve| curve.engine == engine).map_or(&[][..], |curve| &curve.points);
            let loses_nothing = shortest(points, |point| point.lost == 0);
            let keeps_up = shortest(points, |point| point.lost == 0 && point.behind <= AT_ONCE);
            for period in [loses_nothing, keeps_up] {
                write(format_args!(" {} |", period.map_or_else(|| "-".to_owned(), |us| format!("{us:.0} µs"))));
            }
        }
        write(format_args!(" {reported} |"));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(period_us: f64, lost: u32, behind: u32) -> Point {
        Point { period_us, p50_us: Some(1.0), lost, behind }
    }

    #[test]
    fn the_shortest_period_is_that_before_the_first_loss() {
        let points =
            [point(100.0, 9, 0), point(110.0, 0, 0), point(120.0, 1, 0), point(130.0, 0, 70), point(140.0, 0, 1)];
        assert_eq!(shortest(&points, |point| point.lost == 0), Some(130.0));
        assert_eq!(shortest(&points, |point| point.lost == 0 && point.behind <= AT_ONCE), Some(140.0));
        // What is lucky at a short period has not borne it.
        assert_eq!(shortest(&points[..3], |point| point.lost == 0), None);
        assert_eq!(shortest(&[], |_| true), None);
    }
}
