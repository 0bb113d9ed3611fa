//! The gateway as `cangw` commands: a shell script that installs the same jobs.
//!
//! can-gw puts a new job at the head of its list, so the commands stand in reverse, as `candor run` installs them: then
//! frames are delivered in the order of the file.

use candor_core::job::{self, Job};
use candor_core::plan::{Engine, Plan};

pub(super) fn plan(plan: &Plan) -> String {
    let mut text = String::from("#!/bin/sh\n# The last route comes first: can-gw delivers to the newest job first.\n");
    if plan.engine() == Engine::ReadWrite {
        text.push_str("# This gateway runs in user space; these can-gw jobs would do the same in the kernel.\n");
    }
    let mut previous = None;
    for job in job::lower(plan).into_iter().rev() {
        if previous != Some(job.route) {
            text.push_str(&format!("# route {}\n", plan.route(job.route).name));
            previous = Some(job.route);
        }
        text.push_str(&command(plan, &job));
    }
    text
}

fn command(plan: &Plan, job: &Job) -> String {
    let (from, to) = (plan.bus(job.from), plan.bus(job.to));
    let arguments = job::cangw_arguments(job, &from.interface, &to.interface);
    let words: Vec<_> = arguments.iter().map(|argument| quoted(argument)).collect();
    format!("cangw {}\n", words.join(" "))
}

/// A word that the shell leaves alone. Interfaces may have almost any name.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '~' | '/' | '=');
    if !word.is_empty() && !word.starts_with('~') && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
