//! The picture of the curve.

use std::path::Path;

use plotters::prelude::*;

use super::{COUNTS, Series};

const SIZE: (u32, u32) = (900, 460);
/// Colours that people with any colour vision can tell apart.
const COLOURS: [RGBColor; 3] = [RGBColor(213, 94, 0), RGBColor(0, 114, 178), RGBColor(0, 158, 115)];

/// Draws the medians over the number of rules.
pub(super) fn draw(path: &Path, all: &[Series]) -> anyhow::Result<()> {
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let top = all.iter().flat_map(|series| &series.p50).max().copied().unwrap_or(1);
    let right = COUNTS[COUNTS.len() - 1];
    let mut chart = ChartBuilder::on(&area)
        .caption("A frame's way through a gateway with many masked rules", ("sans-serif", 19))
        .margin(14)
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
    for (series, colour) in all.iter().zip(COLOURS) {
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
    area.present()?;
    Ok(())
}
