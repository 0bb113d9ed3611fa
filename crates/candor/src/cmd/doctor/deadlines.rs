//! Deadlines of `[[traffic]]` against what drivers buffer and queues hold.

use std::num::NonZeroU32;
use std::time::Duration;

use candor_bounds::{Analysis, Controller, MessageId, Ns};
use candor_cli::gateway_file::plural;
use candor_config::bounds::{Model, Question, milliseconds};
use candor_config::plan::{Bus, Plan, Queueing};

use super::check::{self, Check};

/// Frames in a queue of `[egress]` whose length is not written.
const USUAL_QUEUE: u32 = 100;

/// Of the frames that this machine sends on a bus. `buffered`: frames that the driver of an interface buffers; `waiting`: those
/// in the kernel's default queue. `None` if the file does not describe enough traffic.
pub(super) fn check(
    plan: &Plan,
    bus: &str,
    buffered: impl Fn(&str) -> Option<u64>,
    waiting: Option<u32>,
) -> Option<Check> {
    // What the gateway itself adds is not known here.
    let question = Question { latency: Some(Duration::ZERO), ..Question::default() };
    let depth = |bus: &Bus| buffered(&bus.interface).and_then(|frames| NonZeroU32::new(frames.try_into().ok()?));
    let frames = plan.buses().iter().find(|one| one.name == bus).and_then(depth).unwrap_or(NonZeroU32::MIN);
    let single = Model::of(plan, &question).ok()?;
    let mut model = Model::of(plan, &question).ok()?;
    for node in model.nodes_of_this_machine().collect::<Vec<_>>() {
        let own = &mut model.network.nodes[node.0];
        let frames = depth(plan.bus(model.buses[own.bus.0])).unwrap_or(NonZeroU32::MIN);
        own.controller = Controller::Fifo(frames);
    }
    let analyse = |model: &Model<'_>| model.network.analyse(question.assumptions).ok();
    let analysis = analyse(&model)?;
    let own: Vec<MessageId> = model.sent_here(bus);
    let of_own = |analysis: &Analysis| own.iter().copied().find(|message| !analysis.bound(*message).holds());
    let shortest = own.iter().map(|message| analysis.bound(*message).deadline).min()?;
    if let Some(message) = of_own(&analysis) {
        let bound = analysis.bound(message);
        let response = bound.response.map_or_else(|| "none".to_owned(), milliseconds);
        let (name, deadline) = (model.name(message), milliseconds(bound.deadline));
        let because = match of_own(&analyse(&single)?) {
            None => format!(" because the driver buffers {}", plural(frames.get().try_into().ok()?, "frame")),
            Some(_) => String::new(),
        };
        return Some(check::DEADLINES.weak(
            format!("{name} can miss its deadline{because}: bound {response}, deadline {deadline}"),
            format!("candor bounds FILE --controller {frames} --latency TIME --propose"),
        ));
    }
    let bands =
        match plan.egress().iter().find(|egress| plan.bus(egress.bus).name == bus).map(|egress| &egress.queueing) {
            Some(Queueing::Bands(policy)) => policy.bands(),
            _ => &[],
        };
    // Queues of the usual length only fill if a bound does not hold.
    let bands = bands.iter().enumerate().filter(|(_, band)| band.queue.frames() > USUAL_QUEUE);
    let queues = bands.map(|(at, band)| (Some((at, &band.name)), band.queue.frames()));
    for (band, waiting) in queues.chain(waiting.map(|waiting| (None, waiting))) {
        let is_in = |message: &&MessageId| band.is_none_or(|(at, _)| model.network.messages[message.0].band == at);
        let of_queue = || own.iter().filter(is_in).map(|message| analysis.bound(*message));
        let longest = of_queue().map(|bound| bound.frame.bus).max().zip(of_queue().map(|bound| bound.deadline).max());
        let Some((frame, deadline)) = longest else { continue };
        let full = Ns(frame.0.saturating_mul(waiting.into()));
        if full > deadline {
            let most = (deadline.0 / frame.0).max(1);
            let (queue, place) = match band {
                Some((_, name)) => (format!("band {name}"), format!("[[egress.{bus}.band]] {name}")),
                None => ("queue".to_owned(), format!("[egress.{bus}]")),
            };
            return Some(check::DEADLINES.weak(
                format!(
                    "{waiting} frames in the {queue} take {}, longer than every deadline ({})",
                    milliseconds(full),
                    milliseconds(deadline)
                ),
                format!("{place} with queue = {most}, or max-age"),
            ));
        }
    }
    let count = plural(own.len(), "message");
    Some(check::DEADLINES.ok(format!("{count} of this machine, the shortest deadline is {}", milliseconds(shortest))))
}

#[cfg(test)]
mod tests {
    use candor_config::config;

    use super::*;
    use crate::cmd::doctor::check::Verdict;

    fn file(period: &str) -> String {
        let own = |id: &str, deadline: &str| {
            format!(
                "[[traffic]]\nbus = \"a\"\nid = \"{id}\"\nlength = 8\nperiod = \"{period}\"\n\
                 deadline = \"{deadline}\"\nsender = \"candor\"\n"
            )
        };
        let bus = "[bus.a]\ninterface = \"can0\"\nbitrate = \"500kbit/s\"\n[egress.a]\n[[egress.a.band]]\nname = \"1\"\n\
                   match = \"100\"\n[[egress.a.band]]\nname = \"2\"\n";
        let many: String = (0x300..0x30A).map(|id| own(&format!("{id:X}"), period)).collect();
        format!("{bus}{}{many}", own("100", "2ms"))
    }

    #[test]
    fn names_what_makes_a_frame_late() {
        let loaded = config::load(file("50ms").as_bytes()).unwrap();
        let found = |buffered, waiting| check(&loaded.plan, "a", |_| buffered, waiting).unwrap();
        assert_eq!(found(Some(1), None).verdict, Verdict::Ok);
        let deep = found(Some(10), None);
        assert_eq!(deep.verdict, Verdict::Weak);
        assert!(
            deep.found.contains("100 on bus a can miss its deadline because the driver buffers 10 frames"),
            "{deep:?}"
        );
        let long = found(Some(1), Some(1000));
        assert!(long.found.contains("1000 frames in the queue take"), "{long:?}");
        assert_eq!(found(Some(1), Some(100)).verdict, Verdict::Ok);
        let text = file("50ms").replace("name = \"2\"\n", "name = \"2\"\nqueue = 1000\n");
        let long = check(&config::load(text.as_bytes()).unwrap().plan, "a", |_| None, None).unwrap();
        assert!(long.found.contains("1000 frames in the band 2 take"), "{long:?}");
        assert_eq!(check(&loaded.plan, "b", |_| None, None), None);
    }
}
