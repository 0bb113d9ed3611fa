//! Events of supervised interfaces as text.

use candor_egress::control_group::GroupName;
use candor_egress::kernel::{Event, News};

use super::{groups, plan};

/// An event, followed by a line for each difference.
pub(in crate::cmd) fn text(News { interface, event }: &News) -> String {
    let lines = |differences: &[_]| -> String {
        differences.iter().map(|difference| format!("  {}\n", plan::line(difference))).collect()
    };
    let text = match event {
        Event::AsWanted => "matches the file again\n".to_owned(),
        Event::Drifted(differences) => format!("DIFFERS from the file\n{}", lines(differences)),
        Event::Failed(why) => format!("cannot be read or changed: {why}\n"),
        Event::Followed(groups) => {
            format!("frames from {} are matched again: the cgroup was created again\n", named(groups))
        }
        Event::NoGroups(groups) => {
            let lines: String = groups.iter().map(|name| format!("  {name}: {}\n", groups::remedy(name))).collect();
            format!("matches no frames from {} until the cgroup exists\n{lines}", named(groups))
        }
        Event::Fought => "another program keeps changing its qdiscs; left unchanged for a minute\n".to_owned(),
        Event::Gone => "gone\n".to_owned(),
        Event::PutBack { is_new: true, .. } => "is back; its tree is restored\n".to_owned(),
        Event::PutBack { differences, .. } => format!("changed by another program; restored\n{}", lines(differences)),
    };
    format!("{interface}: {text}")
}

fn names(groups: &[GroupName]) -> Vec<String> {
    groups.iter().map(GroupName::to_string).collect()
}

fn named(groups: &[GroupName]) -> String {
    names(groups).join(", ")
}
