//! Priority inversion: an urgent frame behind patient ones in the same controller, which lose to those of another node.

use std::path::Path;

use anyhow::Context as _;
use plotters::coord::Shift;
use plotters::prelude::*;

use super::log::Line;
use super::{BLUE, FONT, GREY, Guest, RED, thin};

const SIZE: (u32, u32) = (1100, 460);
/// A bus for the frames, and one that only tells when the urgent one was given to its interface.
const BUSES: &str = "--bus b0:125k:can0,can1 --bus mark:1M:can2,can3 --depth 10";

/// Who sends what, by the beginning of its frames: from above, with its colour.
const LANES: [(&str, &str, &str, RGBColor); 3] = [
    ("can0", "100", "can0, urgent: 100", RED),
    ("can1", "400", "can1: 400", BLUE),
    ("can0", "700", "can0, patient: 700", GREY),
];

/// What one order of a controller made of it, in ms since the urgent frame was sent.
struct Panel {
    caption: String,
    /// Lane, start and end.
    frames: Vec<(usize, f64, f64)>,
}

pub(super) fn draw(path: &Path, guest: Guest<'_>) -> anyhow::Result<()> {
    let play = |order: &str| guest.play(&format!("{BUSES} --order {order}"), "", "inversion.log");
    let panels = [
        panel("The oldest first (--order fifo)", &play("fifo")?)?,
        panel("The lowest identifier first (--order lowest-id)", &play("lowest-id")?)?,
    ];
    let all = || panels.iter().flat_map(|panel| &panel.frames);
    let range =
        all().map(|frame| frame.1).fold(0.0, f64::min) - 0.5..all().map(|frame| frame.2).fold(0.0, f64::max) + 0.5;
    let whole = SVGBackend::new(path, SIZE).into_drawing_area();
    whole.fill(&WHITE)?;
    let whole =
        whole.titled("An urgent frame in a controller of ten: 125 kbit/s, what went over the wire", (FONT, 19))?;
    for (area, panel) in whole.split_evenly((panels.len(), 1)).iter().zip(&panels) {
        draw_panel(area, panel, range.clone())?;
    }
    whole.present()?;
    Ok(())
}

fn panel(order: &str, log: &[Line]) -> anyhow::Result<Panel> {
    let sent = log.iter().find_map(|line| match line {
        Line::Frame { start, node, .. } if node == "can2" => Some(*start),
        _ => None,
    });
    let sent = sent.context("nothing marks the moment of the urgent frame")?;
    let mut frames = Vec::new();
    for line in log {
        let Line::Frame { start, end, node, frame } = line else { continue };
        let lane = LANES.iter().position(|(sender, id, ..)| node == sender && frame.split('#').next() == Some(*id));
        frames.extend(lane.map(|lane| (lane, start - sent, end - sent)));
    }
    let urgent = frames.iter().find(|(lane, ..)| *lane == 0).context("the urgent frame is missing")?;
    Ok(Panel { caption: format!("{order}: over the wire {:.1} ms after it was sent", urgent.2), frames })
}

fn draw_panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    panel: &Panel,
    range: std::ops::Range<f64>,
) -> anyhow::Result<()> {
    let lanes = f64::from(u8::try_from(LANES.len())?);
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.caption, (FONT, 15))
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(150)
        .build_cartesian_2d(range, 0.0..lanes)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .light_line_style(WHITE)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc("ms since the urgent frame was sent")
        .label_style((FONT, 13))
        .draw()?;
    let top = |lane: usize| lanes - f64::from(u8::try_from(lane).unwrap_or(u8::MAX));
    for &(lane, start, end) in &panel.frames {
        let corners = [(start, top(lane) - 0.8), (end, top(lane) - 0.2)];
        chart.draw_series([Rectangle::new(corners, LANES[lane].3.filled()), Rectangle::new(corners, thin())])?;
    }
    for (lane, (_, _, name, _)) in LANES.iter().enumerate() {
        let (_, y) = chart.backend_coord(&(0.0, top(lane) - 0.5));
        let (_, above) = area.get_base_pixel();
        area.draw(&Text::new(*name, (12, y - above - 7), (FONT, 14)))?;
    }
    chart.draw_series([PathElement::new([(0.0, 0.0), (0.0, lanes)], RED.stroke_width(2))])?;
    Ok(())
}
