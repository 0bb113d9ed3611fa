//! Figure 4.4 of the 2014 report: latencies above, losses below, a column for each CPU speed; and the shortest periods.

use candor_lab::plot::{Axis, Corner, Document, Entry, Mark, Panel, Sample, Scale, legend};
use maud::{Markup, html};
use serde_json::Value;

use super::{Made, Unfit, array, number, text};

/// In the order of the table: engine, class (by family) and mark of its line, and the period in µs at which the
/// report's gateway began to lose frames (sections 4.2 and 4.3).
const ENGINES: [(&str, &str, Mark, &str); 12] = [
    ("kernel", "s5", Mark::Ring, "below 120"),
    ("read-write", "s1", Mark::Ring, "150 to 155"),
    ("readbusy-write", "s1", Mark::Cross, "150 to 155"),
    ("readnb-write", "s1", Mark::Triangle, "150 to 155"),
    ("mmap-write", "s0", Mark::Ring, "127"),
    ("mmapbusy-write", "s0", Mark::Triangle, "127"),
    ("readnb-mmap", "s6", Mark::Triangle, "below 120"),
    ("mmsg-mmsg", "s4", Mark::Ring, "120"),
    ("mmap-mmap", "s2", Mark::Ring, "120"),
    ("mmapbusy-mmap", "s2", Mark::Triangle, "120"),
    ("mmap-adaptive", "s7", Mark::Ring, ""),
    ("uring-uring", "s3", Mark::Cross, ""),
];

/// Frames in flight at the end of a stream that the gateway keeps up with: the largest batch of an engine.
const AT_ONCE: f64 = 64.0;

const COLUMN: f64 = 620.0;
const SIZE: [f64; 2] = [2.0 * COLUMN, 860.0];

#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    /// Period of the tester. Frames that it could not send make the period at the gateway longer.
    period_us: f64,
    /// `None` if every frame was lost.
    p50_us: Option<f64>,
    lost: f64,
    /// Frames in flight when the last one arrived.
    backlog: f64,
}

struct Curve {
    engine: String,
    points: Vec<Point>,
}

struct Speed {
    caption: String,
    frames: f64,
    /// Time of the tester in each period.
    tester_us: f64,
    curves: Vec<Curve>,
}

pub(super) fn make(results: &[Value]) -> Result<Made, Unfit> {
    let speeds = results.iter().map(speed).collect::<Result<Vec<_>, _>>()?;
    Ok(Made { table: table(&speeds), svg: draw(&speeds) })
}

fn speed(measured: &Value) -> Result<Speed, Unfit> {
    let point = |of: &Value| {
        Ok(Point {
            period_us: number(of, "asked_period_ns")? / 1000.0,
            p50_us: of["p50_ns"].as_f64().map(|ns| ns / 1000.0),
            lost: number(of, "lost")? + number(of, "not_sent")?,
            backlog: number(of, "behind")?,
        })
    };
    let curve = |of: &Value| {
        let points = array(of, "streams")?.iter().map(point).collect::<Result<_, Unfit>>()?;
        Ok(Curve { engine: text(of, "engine")?.to_owned(), points })
    };
    let linux = text(measured, "kernel_release")?;
    let caption = match measured["instruction_ns"].as_f64() {
        Some(ns) => format!("{:.0} million instructions per second, Linux {linux}", 1000.0 / ns),
        None => format!("Linux {linux}"),
    };
    Ok(Speed {
        caption,
        frames: number(measured, "frames")?,
        tester_us: number(measured, "tester_ns")? / 1000.0,
        curves: array(measured, "gateways")?.iter().map(curve).collect::<Result<_, Unfit>>()?,
    })
}

/// The shortest period such that `holds` for it and for all longer ones.
fn shortest(points: &[Point], holds: impl Fn(&Point) -> bool) -> Option<f64> {
    let mut sorted: Vec<_> = points.iter().collect();
    sorted.sort_by(|one, other| other.period_us.total_cmp(&one.period_us));
    sorted.into_iter().take_while(|point| holds(point)).last().map(|point| point.period_us)
}

fn table(speeds: &[Speed]) -> String {
    let testers = speeds
        .iter()
        .map(|speed| format!("{}: the tester takes {:.1} µs of a period\n", speed.caption, speed.tester_us));
    let captions: String = speeds.iter().map(|speed| format!(" {}: lost | backlog |", speed.caption)).collect();
    let mut text = testers.collect::<String>();
    text += &format!("\n| gateway |{captions} report: lost |\n|---|{}--:|\n", "--:|".repeat(2 * speeds.len()));
    for (engine, _, _, reported) in ENGINES {
        text += &format!("| `{engine}` |");
        for speed in speeds {
            let curve = speed.curves.iter().find(|curve| curve.engine == engine);
            let points = curve.map_or(&[][..], |curve| &curve.points);
            let no_loss = shortest(points, |point| point.lost == 0.0);
            let no_backlog = shortest(points, |point| point.lost == 0.0 && point.backlog <= AT_ONCE);
            for period in [no_loss, no_backlog] {
                text += &period.map_or_else(|| " - |".to_owned(), |us| format!(" {us:.0} |"));
            }
        }
        text += &format!(" {reported} |\n");
    }
    text
}

fn draw(speeds: &[Speed]) -> String {
    let drawing = html! { @for (left, speed) in [0.0, COLUMN].into_iter().zip(speeds) { (column(speed, left)) } };
    Document {
        title: "Latency and loss over the period of frames (Figure 4.4 of the 2014 report)",
        description: "Median latency in µs, logarithmic, and lost frames in % over the period of frames in µs, \
                      one line for each engine, one column for each CPU speed.",
        size: SIZE,
    }
    .with(&drawing)
}

fn column(speed: &Speed, left: f64) -> Markup {
    let across = [left + 82.0, left + COLUMN - 16.0];
    let points = || speed.curves.iter().flat_map(|curve| &curve.points);
    let periods = points().map(|point| point.period_us);
    let (least, most) = periods.fold((f64::MAX, 0.0_f64), |(least, most), one| (least.min(one), most.max(one)));
    let x = Axis::new(Scale::linear(least.min(most), most, across), "period in µs");
    let share = |lost: f64| 100.0 * lost / speed.frames.max(1.0);
    let most_lost = points().map(|point| share(point.lost)).fold(1.0, f64::max);
    let latency = Scale::fitted(points().filter_map(|point| point.p50_us), [530.0, 34.0]);
    let latencies = Panel { x: x.clone(), y: Axis::new(latency, "median latency in µs") };
    let loss = Scale::linear(0.0, most_lost * 1.05, [810.0, 610.0]);
    let losses = Panel { x, y: Axis::new(loss, "lost frames in %") };
    let entries: Vec<Entry<'_>> = speed.curves.iter().map(|curve| look(&curve.engine)).collect();
    html! {
        (latencies.caption(&speed.caption))
        (latencies.axes()) (losses.axes())
        @for (curve, Entry { class, sample, .. }) in speed.curves.iter().zip(&entries) {
            @let mark = if let Sample::Marked(mark) = sample { *mark } else { Mark::Cross };
            @let p50 = || curve.points.iter().map(|point| (point.period_us, point.p50_us));
            @let lost = || curve.points.iter().map(|point| (point.period_us, Some(share(point.lost))));
            path.line.thin.(class) d=(latencies.line(p50())) {}
            path.line.thin.(class) d=(losses.line(lost())) {}
            (latencies.marks(p50(), mark, class))
            (losses.marks(lost().filter(|(_, lost)| *lost > Some(0.0)), mark, class))
        }
        (legend(&entries, &latencies, Corner::TopRight))
    }
}

fn look(engine: &str) -> Entry<'_> {
    let found = ENGINES.iter().find(|(known, ..)| *known == engine);
    let (class, mark) = found.map_or(("s5", Mark::Cross), |(_, class, mark, _)| (*class, *mark));
    Entry { name: engine, class: class.to_owned(), sample: Sample::Marked(mark) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn point(period_us: f64, lost: f64, backlog: f64) -> Point {
        Point { period_us, p50_us: Some(1.0), lost, backlog }
    }

    #[test]
    fn shortest_period_is_before_the_first_loss() {
        let points = [
            point(100.0, 9.0, 0.0),
            point(110.0, 0.0, 0.0),
            point(120.0, 1.0, 0.0),
            point(130.0, 0.0, 70.0),
            point(140.0, 0.0, 1.0),
        ];
        assert_eq!(shortest(&points, |point| point.lost == 0.0), Some(130.0));
        assert_eq!(shortest(&points, |point| point.lost == 0.0 && point.backlog <= AT_ONCE), Some(140.0));
        // A shorter period without loss below one with loss does not count.
        assert_eq!(shortest(&points[..3], |point| point.lost == 0.0), None);
        assert_eq!(shortest(&[], |_| true), None);
    }

    #[test]
    fn streams_are_a_row_and_a_line() {
        let stream = |period: u32, p50: Option<u32>, lost: u32| json!({ "asked_period_ns": period, "p50_ns": p50, "lost": lost, "not_sent": 0, "behind": 0 });
        let streams =
            [stream(64_000, None, 3200), stream(69_000, Some(9_000_000), 10), stream(74_000, Some(60_000), 0)];
        let measured = json!({
            "kernel_release": "6.1", "frames": 3200, "tester_ns": 67_000, "instruction_ns": 4,
            "gateways": [{ "engine": "kernel", "streams": streams }],
        });
        let made = make(&[measured]).unwrap();
        assert!(made.table.contains("| `kernel` | 74 | 74 | below 120 |"), "{}", made.table);
        assert!(made.table.contains("250 million instructions per second, Linux 6.1"), "{}", made.table);
        assert_eq!(made.svg.matches("<path class=\"line").count(), 2);
        assert!(make(&[json!({})]).is_err());
    }
}
