//! A node whose frame is destroyed again and again: from error-active to bus-off, and back.

use candor_lab::plot::{Axis, Corner, Document, Entry, Panel, Sample, Scale, legend};
use maud::html;

use super::log::Line;
use super::{Made, Unfit};

const SIZE: [f64; 2] = [1100.0, 420.0];
/// Transmit error counter at which a state begins.
const STATES: [(f64, &str); 3] = [(96.0, "error-warning"), (128.0, "error-passive"), (256.0, "bus-off")];
/// Start of the time axis in ms.
const START: f64 = -2.0;
/// Vertical range of the frames, below the counter.
const FRAMES: [f64; 2] = [-45.0, -15.0];

/// Times in ms since the first frame.
#[derive(Default)]
struct Story {
    sent: Vec<(f64, f64)>,
    destroyed: Vec<(f64, f64)>,
    /// Time, and transmit error counter of can0 from then on.
    counter: Vec<(f64, f64)>,
    bus_off: Option<f64>,
    back: Option<f64>,
}

pub(super) fn make(logs: &[Vec<Line>]) -> Result<Made, Unfit> {
    let [log] = logs else { return Err("bus-off is drawn from one log".into()) };
    let story = story(log)?;
    let bus_off = story.bus_off.ok_or("can0 did not become bus-off")?;
    let back = story.back.ok_or("can0 stayed bus-off")?;
    let first = story.destroyed.first().ok_or("no frame was destroyed")?.0;
    let last = story.sent.last().ok_or("no frame was sent")?.1 + 3.0;
    let title = format!(
        "A frame that is destroyed {} times: bus-off after {:.1} ms, back {:.1} ms later",
        story.destroyed.len(),
        bus_off - first,
        back - bus_off
    );
    let across = Scale::linear(START, last, [72.0, SIZE[0] - 16.0]);
    let mut counter = Axis::new(Scale::linear(-60.0, 350.0, [366.0, 12.0]), "transmit error counter of can0");
    counter.ticks.retain(|(value, _)| (0.0..=256.0).contains(value));
    let panel = Panel {
        x: Axis::new(across, "ms since the first frame (125 kbit/s; back after restart-ms 60 and 128 times 11 bits)"),
        y: counter,
    };
    let steps = story.counter.iter().scan(0.0, |before, &(at, value)| {
        let fall = [(at, *before), (at, value)];
        *before = value;
        Some(fall)
    });
    let end = story.counter.last().map(|&(_, value)| (last, value));
    let steps = steps.flatten().chain(end).map(|(at, value)| (at, Some(value)));
    let bands = [(&story.sent, "s2", "frames"), (&story.destroyed, "s1", "destroyed by an error frame")];
    let entries = bands.map(|(_, class, name)| Entry { name, class: class.to_owned(), sample: Sample::Band });
    let drawing = html! {
        (panel.axes())
        @for (value, state) in STATES { (panel.level(value, state)) }
        path.line.s0 d=(panel.line(steps)) {}
        @for (frames, class, _) in bands {
            @for &(start, end) in frames { (panel.band([start, end], FRAMES, class)) }
        }
        (legend(&entries, &panel, Corner::TopLeft))
    };
    let description = "The transmit error counter of can0 over time: it rises by 8 with each destroyed frame, through \
                       error-warning and error-passive to bus-off, and is zero after the restart.";
    Ok(Made { svg: Document { title: &title, description, size: SIZE }.with(&drawing), ..Made::default() })
}

/// Counts as in ISO 11898-1, 8 up for a destroyed frame and 1 down for a sent one, until the log states the counter.
fn story(log: &[Line]) -> Result<Story, Unfit> {
    let first = log.iter().find_map(|line| match line {
        Line::Frame { start, .. } => Some(*start),
        _ => None,
    });
    let first = first.ok_or("no frame was sent")?;
    let mut state_at = None;
    let mut story = Story { counter: vec![(START, 0.0)], ..Story::default() };
    for line in log {
        let before = story.counter.last().map_or(0.0, |&(_, counter)| counter);
        match line {
            Line::Frame { start, end, node, .. } if node == "can0" => {
                story.sent.push((start - first, end - first));
                story.counter.push((end - first, (before - 1.0).max(0.0)));
            }
            Line::Error { start, end, at, node } if node == "can0" => {
                story.destroyed.push((start - first, end - first));
                // A change of the state is logged before this, with the counter.
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
