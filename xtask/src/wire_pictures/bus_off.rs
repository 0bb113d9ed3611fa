//! A node whose frame breaks again and again: from error-active to bus-off, and back.

use std::path::Path;

use anyhow::Context as _;
use plotters::prelude::*;

use super::log::Line;
use super::{BLUE, FONT, GREEN, Guest, RED, thin};

const SIZE: (u32, u32) = (1100, 460);
/// Each frame of this identifier breaks, 32 times: 8 for each.
const BUSES: &str = "--bus b0:125k:can0,can1 --model ucan --fault 'bit-error b0 --id 124 --bit 20 --times 32'";
/// The kernel says up to a second later that an interface is operational again.
const PREPARE: &str =
    "ip link set can0 down && ip link set can0 type can restart-ms 60 && ip link set can0 up && sleep 1.5";
/// Where a state begins, in the words of the kernel.
const STATES: [(f64, &str); 3] = [(96.0, "error-warning"), (128.0, "error-passive"), (256.0, "bus-off")];

/// In ms since the first frame.
#[derive(Default)]
struct Story {
    good: Vec<(f64, f64)>,
    broken: Vec<(f64, f64)>,
    /// The transmit error counter of can0 from this time on.
    counter: Vec<(f64, f64)>,
    bus_off: Option<f64>,
    back: Option<f64>,
}

pub(super) fn draw(path: &Path, guest: Guest<'_>) -> anyhow::Result<()> {
    let story = story(&guest.play(BUSES, PREPARE, "bus-off.log")?)?;
    let (bus_off, back) =
        (story.bus_off.context("can0 did not become bus-off")?, story.back.context("can0 stayed away")?);
    let last = story.good.last().context("no frame")?.1 + 3.0;
    let whole = SVGBackend::new(path, SIZE).into_drawing_area();
    whole.fill(&WHITE)?;
    let caption = format!(
        "A frame that breaks 32 times: bus-off after {:.1} ms, back {:.1} ms later (restart-ms 60, then 128 times 11 bits)",
        bus_off - story.broken.first().context("nothing broke")?.0,
        back - bus_off
    );
    let whole = whole.titled(&caption, (FONT, 17))?;
    let mut chart = ChartBuilder::on(&whole)
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(-2.0..last, -60.0..290.0)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(BLACK.mix(0.1))
        .x_desc("ms since the first frame, 125 kbit/s")
        .y_desc("transmit error counter of can0")
        .y_label_formatter(&|counter| if *counter < 0.0 { String::new() } else { format!("{counter:.0}") })
        .label_style((FONT, 13))
        .draw()?;
    for (counter, state) in STATES {
        chart.draw_series([PathElement::new([(-2.0, counter), (last, counter)], BLACK.mix(0.35))])?;
        chart.draw_series([Text::new(state, (last - 16.0, counter + 14.0), (FONT, 13))])?;
    }
    let steps = story.counter.windows(2).flat_map(|pair| [pair[0], (pair[1].0, pair[0].1)]);
    let end = story.counter.last().map(|&(_, counter)| (last, counter));
    chart.draw_series(LineSeries::new(steps.chain(story.counter.last().copied()).chain(end), BLUE.stroke_width(2)))?;
    for (frames, colour, name) in [(&story.good, GREEN, "frames"), (&story.broken, RED, "broken by an error frame")] {
        let boxes = frames.iter().flat_map(|&(start, end)| {
            let corners = [(start, -45.0), (end, -15.0)];
            [Rectangle::new(corners, colour.filled()), Rectangle::new(corners, thin())]
        });
        chart
            .draw_series(boxes)?
            .label(name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 16, y + 5)], colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.9))
        .border_style(BLACK.mix(0.3))
        .label_font((FONT, 13))
        .draw()?;
    whole.present()?;
    Ok(())
}

/// ISO 11898-1 counts 8 for each frame that breaks, and takes 1 for each that does not; where the log says the counter, that
/// counts.
fn story(log: &[Line]) -> anyhow::Result<Story> {
    let first = log.iter().find_map(|line| match line {
        Line::Frame { start, .. } => Some(*start),
        _ => None,
    });
    let first = first.context("no frame")?;
    let mut state_at = None;
    let mut story = Story { counter: vec![(-2.0, 0.0)], ..Story::default() };
    for line in log {
        let before = story.counter.last().map_or(0.0, |&(_, counter)| counter);
        match line {
            Line::Frame { start, end, node, .. } if node == "can0" => {
                story.good.push((start - first, end - first));
                story.counter.push((end - first, (before - 1.0).max(0.0)));
            }
            Line::Error { start, end, at, node } if node == "can0" => {
                story.broken.push((start - first, end - first));
                // Where the state changed, its line has come before and has said it.
                if state_at != Some(*at) {
                    story.counter.push((at - first, before + 8.0));
                }
            }
            Line::State { at, node, state, transmit } if node == "can0" && *at > first => {
                state_at = Some(*at);
                let at = at - first;
                story.counter.push((at, f64::from(*transmit)));
                match state.as_str() {
                    "bus-off" => story.bus_off = Some(at),
                    _ if story.bus_off.is_some() && story.back.is_none() => story.back = Some(at),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    Ok(story)
}
