//! A picture in the style of Figure 2.1 of the 2011 report: qdiscs and classes as boxes, children to the right.

use std::fmt::Write as _;

use super::short;
use super::text::remarks;
use super::{Counted, Drawing, TreeObject, What};

const MOST_CHARACTERS: usize = 60;
/// Lines of a qdisc or filter: a match may have hundreds of identifiers.
const MOST_LINES: usize = 4;
/// Width of a character, an upper bound for common monospaced fonts.
const CHARACTER_PX: usize = 7;
const LINE_PX: usize = 17;
const PADDING_PX: usize = 8;
const GAP_X_PX: usize = 44;
const GAP_Y_PX: usize = 14;
const MARGIN_PX: usize = 16;
const TITLE_PX: usize = 34;

struct Placed {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    lines: Vec<(&'static str, String)>,
    class: &'static str,
    parent: Option<usize>,
}

pub(in crate::cmd::egress) fn svg(drawing: &Drawing) -> String {
    let mut widths = Vec::new();
    measure(&drawing.boxes, 0, &mut widths);
    let mut layout = Layout { columns: columns(&widths), placed: Vec::new() };
    let mut y = MARGIN_PX + TITLE_PX;
    for one in boxes(&drawing.boxes) {
        y = layout.place(one, 0, y, None);
    }
    let width = layout.placed.iter().map(|placed| placed.x + placed.width).max().unwrap_or(200) + MARGIN_PX;
    picture(drawing, &layout.placed, width, y + MARGIN_PX)
}

fn boxes(below: &[TreeObject]) -> impl Iterator<Item = &TreeObject> {
    below.iter().filter(|one| one.what != What::Filter)
}

fn lines(one: &TreeObject) -> Vec<(&'static str, String)> {
    let name = format!("{} {}", one.name, one.words);
    let mut lines: Vec<_> = wrapped(name.trim(), "").into_iter().map(|line| ("name", line)).collect();
    lines.extend(one.band.as_ref().map(|band| ("band", band.clone())));
    lines.extend(one.counted.as_ref().map(|counted| ("counted", counters(counted))).filter(|line| !line.1.is_empty()));
    for filter in one.below.iter().filter(|one| one.what == What::Filter) {
        let text = format!("▸ {} {}", filter.name, filter.words);
        lines.extend(wrapped(&text, "  ").into_iter().map(|line| ("filter", line)));
        let counted = filter.counted.as_ref().map(counters).filter(|text| !text.is_empty());
        lines.extend(counted.map(|text| ("counted", format!("  {text}"))));
    }
    lines
}

/// Wraps between words, and omits the rest.
fn wrapped(text: &str, indent: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let number = lines.len();
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= MOST_CHARACTERS => {
                *line += &format!(" {word}");
            }
            Some(line) if number == MOST_LINES => {
                line.push_str(" …");
                break;
            }
            Some(_) => lines.push(format!("{indent}{word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| short(line, MOST_CHARACTERS + indent.len() + 2)).collect()
}

fn counters(counted: &Counted) -> String {
    let numbers = [
        counted.frames.map(|number| format!("{number} frames")),
        counted.dropped.filter(|number| *number > 0).map(|number| format!("{number} dropped")),
        counted.waiting.filter(|number| *number > 0).map(|number| format!("{number} waiting")),
    ];
    let numbers: Vec<_> = numbers.into_iter().flatten().collect();
    short((numbers.join(", ") + &remarks(counted)).trim(), MOST_CHARACTERS)
}

fn width(one: &TreeObject) -> usize {
    let longest = lines(one).iter().map(|(_, text)| text.chars().count()).max().unwrap_or_default();
    longest * CHARACTER_PX + 2 * PADDING_PX
}

fn measure(below: &[TreeObject], depth: usize, widths: &mut Vec<usize>) {
    for one in boxes(below) {
        if widths.len() <= depth {
            widths.push(0);
        }
        widths[depth] = widths[depth].max(width(one));
        measure(&one.below, depth + 1, widths);
    }
}

fn columns(widths: &[usize]) -> Vec<usize> {
    let begin = |next: &mut usize, width: &usize| {
        let begin = *next;
        *next += width + GAP_X_PX;
        Some(begin)
    };
    widths.iter().scan(MARGIN_PX, begin).collect()
}

struct Layout {
    columns: Vec<usize>,
    placed: Vec<Placed>,
}

impl Layout {
    /// Places a box at the middle of its children, and returns the start of the next one.
    fn place(&mut self, one: &TreeObject, depth: usize, top: usize, parent: Option<usize>) -> usize {
        let (height, of_others, all) = (height(one), height_of_others(one), whole_height(one));
        let me = self.placed.len();
        let class = if one.what == What::Qdisc { "qdisc" } else { "class" };
        let (x, y, width) = (self.columns[depth], top + (all - height) / 2, width(one));
        self.placed.push(Placed { x, y, width, height, lines: lines(one), class, parent });
        let mut next = top + (all - of_others) / 2;
        for below in boxes(&one.below) {
            next = self.place(below, depth + 1, next, Some(me));
        }
        top + all + GAP_Y_PX
    }
}

fn height(one: &TreeObject) -> usize {
    lines(one).len() * LINE_PX + 2 * PADDING_PX
}

fn height_of_others(one: &TreeObject) -> usize {
    let heights = boxes(&one.below).map(|below| whole_height(below) + GAP_Y_PX);
    heights.sum::<usize>().saturating_sub(GAP_Y_PX)
}

fn whole_height(one: &TreeObject) -> usize {
    height(one).max(height_of_others(one))
}

fn picture(drawing: &Drawing, placed: &[Placed], width: usize, height: usize) -> String {
    let bus = drawing.bus.as_ref().map_or_else(String::new, |bus| format!(" (bus {bus})"));
    let title = escaped(&format!("{}{bus}", drawing.interface));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} \
         {height}\">\n<title>{title}</title>\n<style>\ntext {{ font: 11px monospace; fill: #222; white-space: pre; }}\n\
         .title {{ font-size: 16px; font-weight: bold; }}\n.name {{ font-weight: bold; }}\n.band {{ fill: #1b6e3c; \
         font-weight: bold; }}\n.counted {{ fill: #555; }}\n.filter {{ fill: #7a4a00; }}\nrect {{ stroke: #444; }}\n\
         rect.qdisc {{ fill: #e8f0fb; }}\nrect.class {{ fill: #f3f7ec; }}\npath {{ fill: none; stroke: #888; }}\n\
         </style>\n<rect width=\"{width}\" height=\"{height}\" style=\"fill: #fff; stroke: none\"/>\n"
    );
    let baseline = MARGIN_PX + 14;
    let _ = writeln!(svg, "<text class=\"title\" x=\"{MARGIN_PX}\" y=\"{baseline}\">{title}</text>");
    for one in placed {
        if let Some(parent) = one.parent.map(|parent| &placed[parent]) {
            let (from_x, from_y) = (parent.x + parent.width, parent.y + parent.height / 2);
            let (to_x, to_y) = (one.x, one.y + one.height / 2);
            let middle = to_x.saturating_sub(GAP_X_PX / 2);
            let _ = writeln!(svg, "<path d=\"M{from_x},{from_y} H{middle} V{to_y} H{to_x}\"/>");
        }
    }
    for Placed { x, y, width, height, lines, class, .. } in placed {
        let _ = writeln!(
            svg,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\"/>"
        );
        for (number, (kind, text)) in (1..).zip(lines) {
            let (x, y) = (x + PADDING_PX, y + PADDING_PX + number * LINE_PX - 5);
            let _ = writeln!(svg, "<text class=\"{kind}\" x=\"{x}\" y=\"{y}\">{}</text>", escaped(text));
        }
    }
    svg + "</svg>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
