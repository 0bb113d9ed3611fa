//! What has become of interfaces whose trees are kept, in words.

use candor_egress::control_group::GroupName;
use candor_egress::kernel::News;
use serde_json::{Value, json};

use super::{groups, plan};

/// News in words, a line for each difference below them.
pub(in crate::cmd) fn text(news: &News) -> String {
    let lines = |differences: &[_]| -> String {
        differences.iter().map(|difference| format!("  {}\n", plan::line(difference))).collect()
    };
    match news {
        News::AsWanted { interface } => format!("{interface}: as the file wants it again\n"),
        News::Drifted { interface, differences } => {
            format!("{interface}: NOT as the file wants it\n{}", lines(differences))
        }
        News::Failed { interface, why } => format!("{interface}: cannot be looked at or changed: {why}\n"),
        News::Followed { interface, groups } => {
            format!(
                "{interface}: frames from {} are known again: it is another group of the same name\n",
                named(groups)
            )
        }
        News::NoGroups { interface, groups } => {
            let lines: String = groups.iter().map(|name| format!("  {name}: {}\n", groups::remedy(name))).collect();
            format!("{interface}: no frames from {} until it is there\n{lines}", named(groups))
        }
        News::Fought { interface } => {
            format!("{interface}: somebody changes its queues again and again; left alone for a minute\n")
        }
        News::Gone { interface } => format!("{interface}: gone\n"),
        News::PutBack { interface, is_new: true, .. } => format!("{interface}: came back, and has its tree again\n"),
        News::PutBack { interface, differences, .. } => {
            format!("{interface}: somebody had changed it; put back\n{}", lines(differences))
        }
    }
}

pub(super) fn as_json(news: &News) -> Value {
    match news {
        News::AsWanted { interface } => json!({"event": "as-wanted", "interface": interface}),
        News::Drifted { interface, differences } => {
            json!({"event": "drifted", "interface": interface, "differences": plan::differences_json(differences)})
        }
        News::Failed { interface, why } => json!({"event": "failed", "interface": interface, "why": why}),
        News::Fought { interface } => json!({"event": "fought", "interface": interface}),
        News::Followed { interface, groups } => {
            json!({"event": "followed", "interface": interface, "groups": names(groups)})
        }
        News::NoGroups { interface, groups } => {
            json!({"event": "no-groups", "interface": interface, "groups": names(groups)})
        }
        News::Gone { interface } => json!({"event": "gone", "interface": interface}),
        News::PutBack { interface, is_new, differences } => json!({
            "event": "put-back",
            "interface": interface,
            "is_new": is_new,
            "differences": plan::differences_json(differences),
        }),
    }
}

fn names(groups: &[GroupName]) -> Vec<String> {
    groups.iter().map(GroupName::to_string).collect()
}

fn named(groups: &[GroupName]) -> String {
    names(groups).join(", ")
}
