//! Whether the logs that a plan replays can be sent again.

use crate::experiment::check::levels::Factor;
use crate::experiment::parse::Spec;
use crate::experiment::replay::Log;
use crate::experiment::traffic::Traffic;
use crate::experiment::{Available, Plan, code};
use candor_core::diagnostic::{Diagnostic, Findings};

/// Takes the logs that somebody has read into the plan, and says what is wrong with them where they are named.
pub(super) fn logs(plan: &mut Plan, spec: &Spec, available: Available<'_>, findings: &mut Findings) {
    let Some(files) = available.logs else { return };
    let included = spec.includes.iter().flat_map(|selection| &selection.levels);
    let levels = spec.factors.iter().chain(included).filter(|levels| levels.factor == Factor::Traffic);
    for written in levels.flat_map(|levels| &levels.levels) {
        let Ok(traffic @ Traffic::Replay { .. }) = written.value.parse() else { continue };
        let Traffic::Replay { file, interface } = &traffic else { continue };
        if !plan.cells().iter().any(|cell| cell.traffic == traffic) {
            continue;
        }
        let Some(bytes) = files.get(file) else { continue };
        let read = Log::of(bytes).and_then(|log| Ok((log.frames(interface.as_deref())?.len(), log)));
        let wrong =
            |message: String, help: &str| Diagnostic::error(code::LOG, written.span.clone(), message).help(help);
        let (frames, log) = match read {
            Ok(read) => read,
            Err(error) => {
                let help =
                    "correct the log, or choose another; nothing of a log is left out in silence but error frames";
                findings.report(wrong(format!("{file}: {error}"), help));
                continue;
            }
        };
        let wanted = u64::from(plan.warm_up) + u64::from(plan.frames);
        let warm_up = plan.warm_up;
        if frames as u64 <= u64::from(warm_up) {
            let message = format!("{file} has {frames} frames, and the first {warm_up} only warm the gateway up");
            findings.report(wrong(message, "write warm-up = 0, or replay a longer log"));
        } else if frames as u64 > wanted {
            let message = format!("{file} has {frames} frames, of which the first {wanted} are sent");
            findings.report(
                Diagnostic::warning(code::CUT, written.span.clone(), message)
                    .help(format!("write frames = {} to send all of them", frames as u64 - u64::from(warm_up))),
            );
        }
        plan.logs.insert(file.clone(), log);
    }
}
