//! The picture of the curve.

use std::path::Path;

use plotters::prelude::*;

use super::{COUNTS, Panel};

const SIZE: (u32, u32) = (1160, 480);
/// Colours that people with any colour vision can tell apart: can-gw twice, then engines.
const COLOURS: [RGBColor; 4] =
    [RGBColor(213, 94, 0), RGBColor(0, 114, 178), RGBColor(0, 158, 115), RGBColor(204, 121, 167)];

/// Draws the medians over the number of rules, each panel for itself.
pub(super) fn draw(path: &Path, panels: &[Panel]) -> anyhow::Result<()> {
    let whole = SVGBackend::new(path, SIZE).into_drawing_area();
    whole.fill(&WHITE)?;
    let whole = whole.titled("A frame's way through a gateway with many masked rules", ("sans-serif", 19))?;
    let top = panels.iter().flat_map(|panel| &panel.all).flat_map(|series| &series.p50).max().copied().unwrap_or(1);
    for (area, panel) in whole.split_evenly((1, panels.len())).iter().zip(panels) {
        draw_panel(area, panel, top)?;
    }
    whole.present()?;
    Ok(())
}

fn draw_panel(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    panel: &Panel,
    top: u64,
) -> anyhow::Result<()> {
    let right = COUNTS[COUNTS.len() - 1];
    let mut chart = ChartBuilder::on(area)
        .caption(panel.caption, ("sans-serif", 15))
        .margin(10)
        .x_label_area_size(44)
        .y_label_area_size(76)
        .build_cartesian_2d(0..right + 16, 0..top + top / 10)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc("rules with a mask (29-bit identifiers, 8 masks)")
        .y_desc("median latency in instructions")
        .label_style(("sans-serif", 13))
        .draw()?;
    for (series, colour) in panel.all.iter().zip(COLOURS) {
        let points = || COUNTS.iter().copied().zip(series.p50.iter().copied());
        chart
            .draw_series(LineSeries::new(points(), colour.stroke_width(2)))?
            .label(series.label)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
        chart.draw_series(points().map(|point| Circle::new(point, 3, colour.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.9))
        .border_style(BLACK.mix(0.3))
        .label_font(("sans-serif", 13))
        .draw()?;
    Ok(())
}
