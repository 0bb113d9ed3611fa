//! Events of supervised interfaces as text.

use candor_egress::control_group::GroupName;
use candor_egress::kernel::{Event, News};

use super::{groups, plan};

/// News in words, a line for each difference below them.
pub(in crate::cmd) fn text(News { interface, event }: &News) -> String {
    let lines = |differences: &[_]| -> String {
        differences.iter().map(|difference| format!("  {}\n", plan::line(difference))).collect()
    };
    let text = match event {
        Event::AsWanted => "as the file wants it again\n".to_owned(),
        Event::Drifted(differences) => format!("NOT as the file wants it\n{}", lines(differences)),
        Event::Failed(why) => format!("cannot be looked at or changed: {why}\n"),
        Event::Followed(groups) => {
            format!("frames from {} are known again: it is another group of the same name\n", named(groups))
        }
        Event::NoGroups(groups) => {
            let lines: String = groups.iter().map(|name| format!("  {name}: {}\n", groups::remedy(name))).collect();
            format!("no frames from {} until it is there\n{lines}", named(groups))
        }
        Event::Fought => "somebody changes its queues again and again; left alone for a minute\n".to_owned(),
        Event::Gone => "gone\n".to_owned(),
        Event::PutBack { is_new: true, .. } => "came back, and has its tree again\n".to_owned(),
        Event::PutBack { differences, .. } => format!("somebody had changed it; put back\n{}", lines(differences)),
    };
    format!("{interface}: {text}")
}

fn names(groups: &[GroupName]) -> Vec<String> {
    groups.iter().map(GroupName::to_string).collect()
}

fn named(groups: &[GroupName]) -> String {
    names(groups).join(", ")
}
