//! JSON of `candor egress`.

use candor_egress::canonical::Difference;
use candor_egress::control_group::GroupName;
use candor_egress::kernel::{Applied, Event, News};
use candor_egress::lint::Finding;
use candor_egress::tree::Tree;
use serde::Serialize;

use super::draw::{Drawing, part_line};
use super::{Compared, Wanted};

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct PlanView<'a> {
    file: &'a str,
    equal: bool,
    interfaces: Vec<InterfaceView<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct VerifyView<'a> {
    #[serde(flatten)]
    plan: PlanView<'a>,
    /// Traps on this machine.
    findings: Vec<FindingView<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct InterfaceView<'a> {
    interface: &'a str,
    bus: &'a str,
    equal: bool,
    /// Queued frames would be lost.
    loses_frames: bool,
    requests: usize,
    differences: Vec<DifferenceView>,
}

/// The part of a tree that differs; `wanted` and `found` are lines of tc.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DifferenceView {
    change: &'static str,
    place: String,
    wanted: Option<String>,
    found: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FindingView<'a> {
    interface: &'a str,
    bus: &'a str,
    code: &'static str,
    message: String,
    help: &'static str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct ApplyView<'a> {
    pub(super) file: &'a str,
    pub(super) interfaces: Vec<AppliedView<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct AppliedView<'a> {
    interface: &'a str,
    requests: usize,
    lost_frames: bool,
    /// The interface had only the default qdisc.
    was_default: bool,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct ClearView<'a> {
    pub(super) interfaces: Vec<ClearedView<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct ClearedView<'a> {
    pub(super) interface: &'a str,
    pub(super) cleared: bool,
    /// `true` if the tree is not that of the file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) left: bool,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct ShowView {
    pub(super) interfaces: Vec<Drawing>,
}

/// A line of `candor egress watch --json`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct NewsView<'a> {
    interface: &'a str,
    #[serde(flatten)]
    event: EventView<'a>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
enum EventView<'a> {
    AsWanted,
    Drifted { differences: Vec<DifferenceView> },
    Failed { why: &'a str },
    Followed { groups: Vec<String> },
    Fought,
    Gone,
    NoGroups { groups: Vec<String> },
    PutBack { is_new: bool, differences: Vec<DifferenceView> },
}

impl<'a> PlanView<'a> {
    pub(super) fn of(file: &'a str, compared: &[Compared<'a>]) -> Self {
        let interface = |one: &Compared<'a>| InterfaceView {
            interface: &one.wanted.interface,
            bus: &one.wanted.bus,
            equal: one.is_equal(),
            loses_frames: one.loses_frames,
            requests: one.requests,
            differences: differences(&one.differences),
        };
        let equal = compared.iter().all(Compared::is_equal);
        Self { file, equal, interfaces: compared.iter().map(interface).collect() }
    }
}

impl<'a> VerifyView<'a> {
    pub(super) fn of(plan: PlanView<'a>, traps: &[(&'a Wanted, Finding)]) -> Self {
        let finding = |(wanted, finding): &(&'a Wanted, Finding)| FindingView {
            interface: &wanted.interface,
            bus: &wanted.bus,
            code: finding.code(),
            message: finding.trap.to_string(),
            help: finding.trap.help(),
        };
        Self { plan, findings: traps.iter().map(finding).collect() }
    }
}

fn differences(differences: &[Difference]) -> Vec<DifferenceView> {
    let view = |difference: &Difference| {
        let (change, wanted, found) = match difference {
            Difference::Missing(part) => ("make", Some(part), None),
            Difference::Extra(part) => ("take-away", None, Some(part)),
            Difference::Differs { wanted, found } => ("change", Some(wanted), Some(found)),
        };
        let place = difference.slot().to_string();
        DifferenceView { change, place, wanted: wanted.map(part_line), found: found.map(part_line) }
    };
    differences.iter().map(view).collect()
}

impl<'a> From<&'a Applied> for AppliedView<'a> {
    fn from(applied: &'a Applied) -> Self {
        Self {
            interface: &applied.interface,
            requests: applied.steps.requests.len(),
            lost_frames: applied.steps.loses_frames,
            was_default: applied.before == Tree::default(),
        }
    }
}

impl<'a> From<&'a News> for NewsView<'a> {
    fn from(News { interface, event }: &'a News) -> Self {
        let names = |groups: &[GroupName]| groups.iter().map(GroupName::to_string).collect();
        let event = match event {
            Event::AsWanted => EventView::AsWanted,
            Event::Drifted(found) => EventView::Drifted { differences: differences(found) },
            Event::Failed(why) => EventView::Failed { why },
            Event::Followed(groups) => EventView::Followed { groups: names(groups) },
            Event::Fought => EventView::Fought,
            Event::Gone => EventView::Gone,
            Event::NoGroups(groups) => EventView::NoGroups { groups: names(groups) },
            Event::PutBack { is_new, differences: found } => {
                EventView::PutBack { is_new: *is_new, differences: differences(found) }
            }
        };
        Self { interface, event }
    }
}
