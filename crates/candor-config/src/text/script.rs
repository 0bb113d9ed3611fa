//! A gateway as a shell script of cangw commands.

use std::collections::BTreeMap;

use candor_core::job::{Job, cangw_arguments};

use crate::placement::{Because, KernelAbilities, Placement, not_for_kernel};
use crate::plan::{Engine, Plan, RouteIndex};

/// A script that installs the same can-gw jobs, which [`crate::import::cangw`] reads as the same jobs.
///
/// can-gw adds a new job at the head of its list, so the commands are in reverse order, as in `candor run`. A route that
/// can-gw does not support becomes a comment with the reason.
pub fn script(plan: &Plan) -> String {
    let mut text = String::from("#!/bin/sh\n# The last route comes first: can-gw delivers to the newest job first.\n");
    if matches!(plan.engine(), Engine::User(_)) {
        text.push_str("# This gateway runs in user space; these can-gw jobs would do the same in the kernel.\n");
    }
    if plan.engine() == Engine::Auto && plan.routes().iter().any(|route| route.hop_limit.is_none()) {
        text.push_str("# Where can-gw is loaded with max_hops above 1, candor adds -l 1 to the commands without -l.\n");
    }
    let mut routes: BTreeMap<RouteIndex, Vec<Job>> = BTreeMap::new();
    for job in crate::lower(plan) {
        routes.entry(job.route).or_default().push(job);
    }
    if plan.engine() == Engine::Bpf {
        text.push_str("# This gateway runs in eBPF programs; these can-gw jobs would do the same.\n");
    }
    let placement = Placement::of(plan, KernelAbilities::EVERY).ok();
    for (index, jobs) in routes.into_iter().rev() {
        let name = &plan.route(index).name;
        // A command that does less would forward what the route refuses, or without its checksum.
        if let Some(why) = not_for_kernel(plan.route(index), KernelAbilities::NEWEST) {
            text.push_str(&format!("# route {name} is left out: {}\n", why.in_words(plan)));
            continue;
        }
        match placement.as_ref().and_then(|placement| placement.because(index)) {
            Some(Because::Chosen) | None => text.push_str(&format!("# route {name}\n")),
            Some(why) => {
                let why = why.in_words(plan);
                text.push_str(&format!("# route {name}; candor runs it in user space: {why}\n"));
            }
        }
        for job in jobs.iter().rev() {
            text.push_str(&command(plan, job));
        }
    }
    for frame in plan.frames() {
        text.push_str(&format!("# frame {} is left out: candor run composes it\n", frame.name));
    }
    text
}

fn command(plan: &Plan, job: &Job) -> String {
    let (from, to) = (plan.bus(job.from), plan.bus(job.to));
    let arguments = cangw_arguments(job, &from.interface, &to.interface);
    let words: Vec<_> = arguments.iter().map(|argument| quoted(argument)).collect();
    format!("cangw {}\n", words.join(" "))
}

/// A word, quoted for the shell if necessary.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '~' | '/' | '=');
    if !word.is_empty() && !word.starts_with('~') && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
