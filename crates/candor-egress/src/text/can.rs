//! The filter `can` of the report of 2011, which never came into the kernel: `basic` with `canid` came of it.

use super::args::{Arg, Args};
use super::code;
use super::ematch::can_rule;
use super::tail::Tail;
use crate::ematch::{CanRule, Ematch};
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_SFF_MASK};

/// Reads `sffid ID[:MASK]` and `effid ID[:MASK]`.
pub(super) fn read(
    kind: &Arg<'_>,
    tail: &mut Tail,
    args: &mut Args<'_, '_>,
    findings: &mut Findings,
) -> Option<Ematch> {
    let mut rules = Vec::new();
    let start = kind.span().start;
    while let Some(arg) = args.peek() {
        let is_extended = match arg.text() {
            "sffid" | "sff" => false,
            "effid" | "eff" => true,
            _ if tail.takes(args, findings)? => continue,
            _ => {
                tail.takes_rest("can", &["sffid", "effid"], args, findings)?;
                continue;
            }
        };
        args.take();
        rules.push(args.value(findings, |text| can_rule(text, is_extended))?);
    }
    let span = start..args.span().end;
    if rules.is_empty() {
        let diagnostic = Diagnostic::error(code::MISSING, span, "This filter has no identifier");
        findings.report(diagnostic.help("add sffid or effid, such as sffid 0x123"));
        return None;
    }
    findings.report(
        Diagnostic::note(
            code::CAN_FILTER,
            kind.span(),
            "The filter `can` of 2011 is in no kernel; read as basic with canid",
        )
        .help(format!("write basic match '{}'", super::print::canid(&rules))),
    );
    let is_all_zero = |extended: u32, all: u32| CanRule { id: extended, mask: all };
    let [standard, extended] = [is_all_zero(0, CAN_SFF_MASK), is_all_zero(CAN_EFF_FLAG, CAN_EFF_MASK)];
    if rules.len() == 2 && rules.contains(&standard) && rules.contains(&extended) {
        let message = "This is identifier 0 alone; the report means all identifiers with it";
        let help = "for all of them write sffid 0x0:0x0 effid 0x0:0x0";
        findings.report(Diagnostic::note(code::CAN_FILTER, span, message).help(help));
    }
    Some(Ematch::Canid(rules))
}
