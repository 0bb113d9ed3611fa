//! The options of filters.

use crate::action::Action;
use crate::constants::Constant;
use crate::ematch::{CanRule, Ematch};
use crate::filter::{Classifier, Flow, FlowKey};
use crate::handle::Handle;
use candor_core::diagnostic::Span;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_SFF_MASK};

use super::actions::{Tail, starts_action};
use super::args::{Arg, Args, Wrong};
use super::ematch::can_rule;
use super::units::{class_handle, node, number};
use super::{code, ematch, selector};

const KINDS: &[&str] = &["basic", "u32", "fw", "flow", "matchall"];

const REASONS: &[(&str, &str)] = &[
    ("bpf", "the behaviour of a BPF program is unknown; for control groups use bands with cgroup or unit"),
    ("cgroup", "it supports cgroup v1 only; use bands with cgroup or unit in place of the tree"),
    ("flower", "it cannot match CAN frames; use basic with canid"),
    ("route", "CAN has no routes"),
    ("rsvp", "CAN has no reservations"),
    ("tcindex", "it matches an IP field"),
];

#[derive(Debug)]
pub(super) struct Found {
    pub(super) handle: u32,
    pub(super) classifier: Classifier,
    pub(super) class: Option<Handle>,
    pub(super) actions: Vec<Action>,
}

/// Reads the rest of a filter; `number` is its handle.
pub(super) fn read(kind: &Arg<'_>, handle: Option<(String, Span)>, args: &mut Args<'_>) -> Option<Found> {
    let mut tail = Tail::default();
    let mut mask = None;
    let read_handle = |text: &str, mask: &mut Option<u32>| match (kind.text(), text.split_once('/')) {
        ("u32", _) => node(text),
        ("fw", Some((mark, bits))) => {
            *mask = Some(number(bits)?);
            number(mark)
        }
        _ => number(text),
    };
    let is_known = KINDS.contains(&kind.text()) || kind.text() == "can";
    let own_handle = match handle.filter(|_| is_known).map(|(text, span)| (read_handle(&text, &mut mask), span)) {
        None => Some(0),
        Some((Ok(handle), _)) => Some(handle),
        Some((Err(wrong), span)) => args.fail(code::VALUE, span, wrong.message, wrong.help),
    };
    let classifier = match kind.text() {
        "basic" => Classifier::Basic(basic(&mut tail, args)?),
        "can" => Classifier::Basic(Some(can_filter(kind, &mut tail, args)?)),
        "flow" => Classifier::Flow(flow(&mut tail, args)?),
        "fw" => {
            tail.takes_rest("fw", &[], args)?;
            Classifier::Fw { mask }
        }
        "matchall" => {
            tail.takes_rest("matchall", &[], args)?;
            Classifier::Matchall
        }
        "u32" => Classifier::U32(selector::read(&mut tail, args)?),
        _ => {
            let before = ["protocol", "prio", "handle", "parent", "dev"];
            let known: Vec<_> = KINDS.iter().chain(&before).copied().collect();
            let known = if REASONS.iter().any(|(name, _)| *name == kind.text()) { KINDS } else { &known };
            return args.unknown_kind(kind, "filter", known, REASONS);
        }
    };
    let handle = own_handle?;
    if matches!(classifier, Classifier::Flow(_)) && handle == 0 {
        return args.missing("handle", "flow needs a handle: add handle 1 before it");
    }
    let Tail { class, actions } = tail;
    Some(Found { handle, classifier, class, actions })
}

fn basic(tail: &mut Tail, args: &mut Args<'_>) -> Option<Option<Ematch>> {
    let mut expression = None;
    while args.peek().is_some() {
        if args.takes("match") {
            expression = Some(ematch::read(args)?);
        } else if !tail.takes(args)? {
            tail.takes_rest("basic", &["match"], args)?;
        }
    }
    Some(expression)
}

fn flow(tail: &mut Tail, args: &mut Args<'_>) -> Option<Flow> {
    const OWN: &[&str] = &["hash", "map", "keys", "key", "divisor", "perturb", "baseclass"];
    let mut flow = Flow::default();
    while let Some(arg) = args.peek() {
        if OWN.contains(&arg.text()) {
            args.take();
        } else if starts_action(arg.text()) {
            tail.takes(args)?;
            continue;
        } else {
            return args.unknown(arg, "flow", &[OWN, &["action"]].concat());
        }
        match arg.text() {
            "hash" => flow.hashed = true,
            "map" => flow.hashed = false,
            "keys" | "key" => flow.keys = args.value(flow_keys)?,
            "divisor" => {
                flow.divisor = Some(args.value(|text| match number(text)? {
                    0 => Err(Wrong::new("The divisor must not be 0", "write 1 or more")),
                    divisor => Ok(divisor),
                })?)
            }
            "perturb" => flow.perturb_s = args.value(number)?,
            _ => flow.base = Some(args.value(class_handle)?),
        }
    }
    let wrong = match (flow.hashed, flow.keys.len()) {
        (_, 0) => Some("flow has no keys: add some, such as hash keys src"),
        (false, 2..) => Some("map takes one key: write hash for several"),
        (false, _) if flow.perturb_s > 0 => Some("perturb is for hash: remove it"),
        _ => None,
    };
    if let Some((message, help)) = wrong.and_then(|wrong| wrong.split_once(": ")) {
        return args.fail(code::VALUE, args.span(), message, help);
    }
    Some(flow)
}

fn flow_keys(text: &str) -> Result<Vec<FlowKey>, Wrong> {
    let mut keys = Vec::new();
    for name in text.split(',') {
        keys.push(FlowKey::of_word(name).ok_or_else(|| {
            let message = format!("CAN frames have no {}", candor_core::document::quote(name));
            Wrong::new(message, format!("write one or more of {}", FlowKey::words().join(",")))
        })?);
    }
    // The kernel keeps a set of bits.
    candor_core::order::sort(&mut keys);
    keys.dedup();
    Ok(keys)
}

/// Reads the filter `can` of the report of 2011, which is in no kernel: `sffid ID[:MASK]` and `effid ID[:MASK]`.
fn can_filter(kind: &Arg<'_>, tail: &mut Tail, args: &mut Args<'_>) -> Option<Ematch> {
    let mut rules = Vec::new();
    let start = kind.span().start;
    while let Some(arg) = args.peek() {
        let is_extended = match arg.text() {
            "sffid" | "sff" => false,
            "effid" | "eff" => true,
            _ if tail.takes(args)? => continue,
            _ => {
                tail.takes_rest("can", &["sffid", "effid"], args)?;
                continue;
            }
        };
        args.take();
        rules.push(args.value(|text| can_rule(text, is_extended))?);
    }
    let span = start..args.span().end;
    if rules.is_empty() {
        return args.fail(
            code::MISSING,
            span,
            "This filter has no identifier",
            "add sffid or effid, such as sffid 0x123",
        );
    }
    args.note(
        code::CAN_FILTER,
        kind.span(),
        "No kernel has the filter `can` of 2011; read as basic with canid",
        format!("write basic match '{}'", super::print::canid(&rules)),
    );
    let is_all_zero = |extended: u32, all: u32| CanRule { id: extended, mask: all };
    let [standard, extended] = [is_all_zero(0, CAN_SFF_MASK), is_all_zero(CAN_EFF_FLAG, CAN_EFF_MASK)];
    if rules.len() == 2 && rules.contains(&standard) && rules.contains(&extended) {
        let message = "This matches identifier 0 only; the report intends all identifiers";
        let help = "to match all, write sffid 0x0:0x0 effid 0x0:0x0";
        args.note(code::CAN_FILTER, span, message, help);
    }
    Some(Ematch::Canid(rules))
}
