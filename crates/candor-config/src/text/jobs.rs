//! Jobs → routes with names.

use std::collections::{HashMap, HashSet};

use crate::plan::{Bus, Engine, Formats, Modes, Plan, Route};
use candor_core::frame::{CAN_MAX_DLEN, CANFD_MAX_DLEN, FrameFormat};
use candor_core::job::Job;
use candor_core::realtime::Realtime;
use candor_core::rule::{Checksums, Modifications, Operand, Operation};

/// The gateway of these jobs; [`lower()`](crate::lower()) makes the same jobs in the same order.
///
/// Buses have the names of their interfaces, routes those of their ends: `can0-to-can1`, `can0-to-can1-2`. A classic job
/// and an equal FD job after it become one route for any format; all others become a route each.
///
/// Values without effect are omitted, as in the kernel: checksums and uid without a modification, bytes after the eighth
/// and flags in a classic job.
///
/// # Panics
/// If a bus of a job is not a position in `interfaces`.
pub fn of_jobs(interfaces: &[String], jobs: &[Job]) -> Plan {
    let mut names = Names::default();
    let mut routes = Vec::new();
    let mut ahead = jobs.iter().map(effective).peekable();
    while let Some(job) = ahead.next() {
        let merged = ahead.peek().and_then(|next| for_any_format(&job, next));
        let name = names.take(&interfaces[job.from.0], &interfaces[job.to.0]);
        let route = Route::of_job(job, name);
        routes.push(match merged {
            Some(modifications) => {
                ahead.next();
                Route { formats: Formats::Any, modifications, ..route }
            }
            None => route,
        });
    }
    let buses = interfaces.iter().map(|interface| Bus::on(interface)).collect();
    Plan {
        engine: Engine::Kernel,
        realtime: Realtime::default(),
        databases: Vec::new(),
        buses,
        routes,
        frames: Vec::new(),
        watched: Vec::new(),
        egress: Vec::new(),
        modes: Modes::default(),
        traffic: Vec::new(),
        links: Vec::new(),
    }
}

/// Unique names for routes.
#[derive(Debug, Default)]
struct Names {
    taken: HashSet<String>,
    /// The next number for each pair of ends, so that many routes between them take no longer.
    next: HashMap<String, u64>,
}

impl Names {
    fn take(&mut self, from: &str, to: &str) -> String {
        let first = format!("{from}-to-{to}");
        let number = self.next.entry(first.clone()).or_insert(1);
        loop {
            let name = if *number == 1 { first.clone() } else { format!("{first}-{number}") };
            *number += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// The job without values that have no effect.
fn effective(job: &Job) -> Job {
    let mut job = job.clone();
    if job.format == FrameFormat::Classic {
        let Modifications { and, or, xor, set } = &mut job.modifications;
        for operand in [and, or, xor, set] {
            operand.flags = None;
            if let Some(data) = &mut operand.data {
                data[CAN_MAX_DLEN..].fill(0);
            }
        }
    }
    if job.modifications.is_empty() {
        job.checksums = Checksums::NONE;
        job.uid = None;
    }
    job
}

/// The modifications of one route for a classic and an FD job, if they have the same effect.
fn for_any_format(classic: &Job, fd: &Job) -> Option<Modifications> {
    let alike = Job { modifications: classic.modifications, format: FrameFormat::Classic, ..fd.clone() };
    // A uid is for one job: can-gw would take the second for an update of the first.
    if classic.format != FrameFormat::Classic
        || fd.format != FrameFormat::Fd
        || alike != *classic
        || classic.uid.is_some()
        || classic.send_as.is_some()
    {
        return None;
    }
    let (one, other) = (&classic.modifications, &fd.modifications);
    Some(Modifications {
        and: operand(Operation::And, &one.and, &other.and)?,
        or: operand(Operation::Or, &one.or, &other.or)?,
        xor: operand(Operation::Xor, &one.xor, &other.xor)?,
        set: operand(Operation::Set, &one.set, &other.set)?,
    })
}

/// The operand that means `classic` in classic frames and `fd` in FD frames.
fn operand(operation: Operation, classic: &Operand, fd: &Operand) -> Option<Operand> {
    let has_format = |operand: &Operand| operand.len.is_some() || operand.flags.is_some();
    if classic.id != fd.id || has_format(classic) || has_format(fd) {
        return None;
    }
    let data = match (classic.data, fd.data) {
        (None, None) => None,
        (Some(classic), Some(fd)) => {
            let mut same = [operation.identity()?; CANFD_MAX_DLEN];
            same[..CAN_MAX_DLEN].copy_from_slice(&classic[..CAN_MAX_DLEN]);
            (same == fd).then_some(Some(fd))?
        }
        _ => return None,
    };
    Some(Operand { data, ..*classic })
}
