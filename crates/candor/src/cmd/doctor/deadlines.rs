//! Deadlines of `[[traffic]]` against what drivers buffer and queues hold.

use std::num::NonZeroU32;
use std::time::Duration;

use candor_bounds::{Analysis, MessageId, Ns};
use candor_cli::gateway_file::plural;
use candor_config::bounds::{Model, Question, milliseconds};
use candor_config::plan::Plan;

use super::check::{self, Check};

/// Of the frames that this machine sends on a bus whose driver buffers so many frames. `waiting`: frames in the kernel's
/// default queue. `None` if the file does not describe enough traffic.
pub(super) fn check(plan: &Plan, bus: &str, buffered: Option<u64>, waiting: Option<u32>) -> Option<Check> {
    let frames = buffered.and_then(|frames| NonZeroU32::new(frames.try_into().ok()?)).unwrap_or(NonZeroU32::MIN);
    // What the gateway itself adds is not known here.
    let question = |controller| Question { latency: Some(Duration::ZERO), controller, ..Question::default() };
    let model = Model::of(plan, &question(frames)).ok()?;
    let analyse = |model: &Model<'_>| model.network.analyse(question(frames).assumptions).ok();
    let analysis = analyse(&model)?;
    let own: Vec<MessageId> = model.sent_here(bus);
    let of_own = |analysis: &Analysis| own.iter().copied().find(|message| !analysis.bound(*message).holds());
    let shortest = own.iter().map(|message| analysis.bound(*message).deadline).min()?;
    if let Some(message) = of_own(&analysis) {
        let bound = analysis.bound(message);
        let response = bound.response.map_or_else(|| "none".to_owned(), milliseconds);
        let (name, deadline) = (model.name(message), milliseconds(bound.deadline));
        let single = Model::of(plan, &question(NonZeroU32::MIN)).ok()?;
        let because = match of_own(&analyse(&single)?) {
            None => format!(" because the driver buffers {}", plural(frames.get().try_into().ok()?, "frame")),
            Some(_) => String::new(),
        };
        return Some(check::DEADLINES.weak(
            format!("{name} can miss its deadline{because}: bound {response}, deadline {deadline}"),
            format!("candor bounds FILE --controller {frames} --latency TIME --propose"),
        ));
    }
    let longest_frame = own.iter().map(|message| analysis.bound(*message).frame.bus).max()?;
    let longest_deadline = own.iter().map(|message| analysis.bound(*message).deadline).max()?;
    if let Some(waiting) = waiting {
        let full = Ns(longest_frame.0.saturating_mul(waiting.into()));
        if full > longest_deadline {
            let most = (longest_deadline.0 / longest_frame.0).max(1);
            return Some(check::DEADLINES.weak(
                format!(
                    "{waiting} frames in the queue take {}, longer than every deadline ({})",
                    milliseconds(full),
                    milliseconds(longest_deadline)
                ),
                format!("[egress.{bus}] with queue = {most}, or max-age"),
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
        let found = |buffered, waiting| check(&loaded.plan, "a", buffered, waiting).unwrap();
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
        assert_eq!(check(&loaded.plan, "b", None, None), None);
    }
}
