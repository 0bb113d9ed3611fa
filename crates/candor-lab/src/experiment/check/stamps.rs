//! `stamps`: whether a plan can have stamps of an adapter.

use crate::experiment::check::levels::suggest;
use crate::experiment::parse::Spec;
use crate::experiment::{Cell, Plan, StampSource, Topology, code};
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::Spanned;
use candor_core::document::quote;

/// The source that is written; `None` after saying that there is no such.
pub(super) fn source(written: &Spanned<String>, findings: &mut Findings) -> Option<StampSource> {
    let source = written.value.parse().ok();
    if source.is_none() {
        let known: Vec<_> = StampSource::ALL.iter().map(|source| source.name()).collect();
        let message = format!("{} is no source of stamps", quote(&written.value));
        let diagnostic = Diagnostic::error(code::STAMPS, written.span.clone(), message)
            .help("write \"kernel\", or \"hardware\" for stamps that the adapter takes on the wire");
        findings.report(suggest(diagnostic, &written.value, &known));
    }
    source
}

/// Says why the plan cannot have the stamps of an adapter, if it asks for them and cannot. Whether the adapter takes any is known
/// only where it is.
pub(super) fn can_be_had(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    let Some(written) = spec.stamps.as_ref().filter(|_| plan.stamps == StampSource::Hardware) else { return };
    let mut refuse = |message: String, help: &str| {
        findings.report(Diagnostic::error(code::IMPOSSIBLE, written.span.clone(), message).help(help));
    };
    if plan.stages {
        let message = "`stages = true` and `stamps = \"hardware\"` do not go together: the parts of a frame's time would be \
                       differences of two clocks";
        refuse(message.to_owned(), "leave one of the two out, or make two plans of them");
    }
    if let Some((cell, (why, help))) = plan.cells().iter().find_map(|cell| Some((cell, obstacle(plan, cell)?))) {
        refuse(format!("There can be no cell {cell}: {why}"), help);
    }
}

/// Why no adapter can stamp the frames of a cell, and what to do.
fn obstacle(plan: &Plan, cell: &Cell) -> Option<(String, &'static str)> {
    const ELSEWHERE: &str =
        "write stamps = \"kernel\", or measure with testbed = \"host\" or \"ssh\", or topology = \"wire\"";
    match cell.place.topology {
        Topology::Vcan => return Some(("virtual interfaces have no adapter that could stamp".to_owned(), ELSEWHERE)),
        Topology::Kvaser => return Some(("the emulated cards take no stamps".to_owned(), ELSEWHERE)),
        Topology::Wire | Topology::Bench => {}
    }
    let bench = plan.bench.as_ref().filter(|_| cell.place.topology == Topology::Bench)?;
    let (testbed, gateway) = (cell.place.testbed, plan.gateway(cell));
    let far = bench.far(testbed, gateway);
    if far == bench.monitor {
        let why = format!("{far} is monitor and far side at once, so that both stamps of a frame would be one");
        let help = "the far side has to be another channel of the adapter; without a gateway it is `from` on host, and the \
                    monitor on ssh: take such cells away with an [[exclude]]";
        return Some((why, help));
    }
    bench.hears_own(testbed, gateway).then(|| {
        let why = format!("{far} is the gateway's own interface, and frames that leave have no stamp of the adapter");
        (why, "write as `receive` another interface on the second bus: a channel of the adapter that has the monitor")
    })
}
