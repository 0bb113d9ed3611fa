//! A plot as a file.

use maud::{Markup, PreEscaped, html};

use super::style::resolved;

/// Space above the drawing.
const TITLE_HEIGHT: f64 = 40.0;

/// An SVG file without external references. Screen readers read title and description.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    /// Drawn above the plot.
    pub title: &'a str,
    /// Not drawn: axes and series in a sentence.
    pub description: &'a str,
    /// In pixels, without the title.
    pub size: [f64; 2],
}

impl Document<'_> {
    /// The text of the file. The origin of the drawing is below the title.
    pub fn with(&self, drawing: &Markup) -> String {
        let [width, height] = [self.size[0], self.size[1] + TITLE_HEIGHT];
        let svg = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height)
                font-family="system-ui, sans-serif" role="img" aria-labelledby="title desc" {
                title #title { (self.title) }
                desc #desc { (self.description) }
                style { (PreEscaped(resolved())) }
                rect.ground width=(width) height=(height) {}
                text.title x=(width / 2.0) y="27" text-anchor="middle" { (self.title) }
                g transform=(format!("translate(0 {TITLE_HEIGHT})")) { (drawing) }
            }
        };
        format!("{}\n", svg.into_string())
    }
}
