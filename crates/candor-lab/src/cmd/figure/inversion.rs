//! Priority inversion: a high-priority frame waits in its controller for low-priority ones, which lose arbitration to
//! the frames of another node.

use candor_lab::plot::{Axis, Document, Panel, Scale, px};
use maud::{Markup, html};

use super::log::Line;
use super::{Made, Unfit};

const SIZE: [f64; 2] = [1100.0, 460.0];
const PANEL_HEIGHT: f64 = SIZE[1] / 2.0;

/// Sender, identifier, label and class of each row, from the top.
const ROWS: [(&str, &str, &str, &str); 3] = [
    ("can0", "100", "can0, high priority: 100", "s1"),
    ("can1", "400", "can1: 400", "s0"),
    ("can0", "700", "can0, low priority: 700", "s5"),
];

struct Run {
    caption: String,
    /// Row, start and end in ms since the high-priority frame was sent.
    frames: Vec<(usize, f64, f64)>,
}

pub(super) fn make(logs: &[Vec<Line>]) -> Result<Made, Unfit> {
    let [fifo, lowest_id] = logs else { return Err("priority inversion is drawn from two logs".into()) };
    let runs = [
        run("Oldest frame first (--order fifo)", fifo)?,
        run("Lowest identifier first (--order lowest-id)", lowest_id)?,
    ];
    let all = || runs.iter().flat_map(|run| &run.frames);
    let range =
        [all().map(|frame| frame.1).fold(0.0, f64::min) - 0.5, all().map(|frame| frame.2).fold(0.0, f64::max) + 0.5];
    let drawing = html! { @for (top, run) in [0.0, PANEL_HEIGHT].into_iter().zip(&runs) { (panel(run, range, top)) } };
    let description = runs.each_ref().map(|run| run.caption.as_str()).join("; ");
    let title = "A high-priority frame in a controller that holds ten: frames on a bus with 125 kbit/s";
    Ok(Made { svg: Document { title, description: &description, size: SIZE }.with(&drawing), ..Made::default() })
}

fn run(order: &str, log: &[Line]) -> Result<Run, Unfit> {
    let sent = log.iter().find_map(|line| match line {
        Line::Frame { start, node, .. } if node == "can2" => Some(*start),
        _ => None,
    });
    let sent = sent.ok_or("no frame of can2 marks the time when the high-priority frame was sent")?;
    let mut frames = Vec::new();
    for line in log {
        let Line::Frame { start, end, node, frame } = line else { continue };
        let row = ROWS.iter().position(|(sender, id, ..)| node == sender && frame.split('#').next() == Some(*id));
        frames.extend(row.map(|row| (row, start - sent, end - sent)));
    }
    let first = frames.iter().find(|(row, ..)| *row == 0).ok_or("the high-priority frame is missing")?;
    Ok(Run { caption: format!("{order}: received {:.1} ms after it was sent", first.2), frames })
}

fn panel(run: &Run, [from, to]: [f64; 2], top: f64) -> Markup {
    let across = Scale::linear(from, to, [196.0, SIZE[0] - 16.0]);
    let rows = Axis { scale: Scale::linear(0.0, 3.0, [top + 176.0, top + 32.0]), title: "", ticks: Vec::new() };
    let panel = Panel { x: Axis::new(across, "ms since the high-priority frame was sent"), y: rows };
    let height = |row: usize| (ROWS.len() - row) as f64;
    html! {
        text.caption x=(px(SIZE[0] / 2.0)) y=(px(top + 20.0)) text-anchor="middle" { (run.caption) }
        (panel.axes())
        @for &(at, start, end) in &run.frames { (panel.band([start, end], [height(at) - 0.8, height(at) - 0.2], ROWS[at].3)) }
        @for (at, (_, _, name, _)) in ROWS.iter().enumerate() {
            text.name x="186" y=(px(panel.y.scale.at(height(at) - 0.5) + 5.0)) text-anchor="end" { (name) }
        }
        (panel.upright(0.0, "line thin s1"))
    }
}
