//! The picture: latencies above, losses below, a column for each processor.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::{Curve, Panel};

const SIZE: (u32, u32) = (1240, 900);

/// Colours that people with any colour vision can tell apart, and marks for those that share one: each family of engines has
/// a colour.
const LOOKS: [(&str, RGBColor, Mark); 12] = [
    ("kernel", RGBColor(0, 0, 0), Mark::Dot),
    ("read-write", RGBColor(213, 94, 0), Mark::Dot),
    ("readbusy-write", RGBColor(213, 94, 0), Mark::Cross),
    ("readnb-write", RGBColor(213, 94, 0), Mark::Triangle),
    ("mmap-write", RGBColor(0, 114, 178), Mark::Dot),
    ("mmapbusy-write", RGBColor(0, 114, 178), Mark::Triangle),
    ("readnb-mmap", RGBColor(86, 180, 233), Mark::Triangle),
    ("mmsg-mmsg", RGBColor(230, 159, 0), Mark::Dot),
    ("mmap-mmap", RGBColor(0, 158, 115), Mark::Dot),
    ("mmapbusy-mmap", RGBColor(0, 158, 115), Mark::Triangle),
    ("mmap-adaptive", RGBColor(204, 121, 167), Mark::Dot),
    ("uring-uring", RGBColor(128, 128, 128), Mark::Cross),
];

#[derive(Clone, Copy)]
enum Mark {
    Dot,
    Cross,
    Triangle,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

pub(super) fn draw(path: &Path, panels: &[Panel]) -> anyhow::Result<()> {
    let whole = SVGBackend::new(path, SIZE).into_drawing_area();
    whole.fill(&WHITE)?;
    let whole = whole
        .titled("Latency and loss over the period of frames (Figure 4.4 of the report of 2014)", ("sans-serif", 19))?;
    let (above, below) = whole.split_vertically(560);
    for (area, panel) in above.split_evenly((1, panels.len())).iter().zip(panels) {
        draw_latencies(area, panel)?;
    }
    for (area, panel) in below.split_evenly((1, panels.len())).iter().zip(panels) {
        draw_losses(area, panel)?;
    }
    whole.present()?;
    Ok(())
}

fn periods(panel: &Panel) -> std::ops::Range<f64> {
    let all = || panel.curves.iter().flat_map(|curve| &curve.points).map(|point| point.period_us);
    all().fold(f64::INFINITY, f64::min)..all().fold(0.0, f64::max)
}

fn draw_latencies(area: &Area<'_>, panel: &Panel) -> anyhow::Result<()> {
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.caption, ("sans-serif", 15))
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(64)
        .build_cartesian_2d(periods(panel), (10.0..100_000.0_f64).log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc("period in µs")
        .y_desc("median latency in µs")
        .label_style(("sans-serif", 13))
        .draw()?;
    for curve in &panel.curves {
        let (colour, mark) = look(curve);
        let points: Vec<_> = curve.points.iter().filter_map(|one| Some((one.period_us, one.p50_us?))).collect();
        chart
            .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(1)))?
            .label(&curve.engine)
            .legend(move |(x, y)| {
                EmptyElement::at((x, y))
                    + PathElement::new([(0, 0), (20, 0)], colour.stroke_width(1))
                    + marked((10, 0), colour, mark)
            });
        chart.draw_series(points.iter().map(|point| EmptyElement::at(*point) + marked((0, 0), colour, mark)))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.9))
        .border_style(BLACK.mix(0.3))
        .label_font(("sans-serif", 12))
        .draw()?;
    Ok(())
}

fn draw_losses(area: &Area<'_>, panel: &Panel) -> anyhow::Result<()> {
    let share = |lost: u32| 100.0 * f64::from(lost) / f64::from(panel.frames.max(1));
    let most = panel.curves.iter().flat_map(|curve| &curve.points).map(|point| share(point.lost)).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(64)
        .build_cartesian_2d(periods(panel), 0.0..most * 1.05)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc("period in µs")
        .y_desc("lost frames in %")
        .label_style(("sans-serif", 13))
        .draw()?;
    for curve in &panel.curves {
        let (colour, mark) = look(curve);
        let points = || curve.points.iter().map(|one| (one.period_us, share(one.lost)));
        chart.draw_series(LineSeries::new(points(), colour.stroke_width(1)))?;
        let lost = points().filter(|(_, lost)| *lost > 0.0);
        chart.draw_series(lost.map(|point| EmptyElement::at(point) + marked((0, 0), colour, mark)))?;
    }
    Ok(())
}

fn look(curve: &Curve) -> (RGBColor, Mark) {
    let found = LOOKS.iter().find(|(engine, ..)| *engine == curve.engine);
    found.map_or((BLACK, Mark::Cross), |(_, colour, mark)| (*colour, *mark))
}

fn marked(at: (i32, i32), colour: RGBColor, mark: Mark) -> PathElement<(i32, i32)> {
    let (x, y) = at;
    let outline: &[(i32, i32)] = match mark {
        Mark::Dot => &[(-2, -2), (2, -2), (2, 2), (-2, 2), (-2, -2)],
        Mark::Cross => &[(-3, -3), (3, 3), (0, 0), (-3, 3), (3, -3)],
        Mark::Triangle => &[(-3, 3), (3, 3), (0, -3), (-3, 3)],
    };
    PathElement::new(outline.iter().map(|(dx, dy)| (x + dx, y + dy)).collect::<Vec<_>>(), colour.stroke_width(2))
}
