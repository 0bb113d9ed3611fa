//! JSON of `candor run --json`, `candor reload --json` and `candor mode --json`.

use std::collections::BTreeMap;

use candor_cli::gateway_file::plural;
use candor_cli::render::Finding;
use candor_config::placement::Side;
use candor_config::plan::Plan;
use candor_core::frame::RawId;
use candor_core::job::Job;
use candor_core::order;
use candor_engine::{
    BusCounters, FrameCounters, Gateway, GuardEvent, GuardFinding, ModeChange, ModeOutcome, Reloaded, RouteCounters,
};
use serde::Serialize;

use crate::cmd::audit::{AuditView, SignedView};
use crate::cmd::job_text::{frames_of, side_name};
use crate::cmd::show::ObtainedView;

/// A line of `candor run --json`.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) enum Event<'a> {
    Notice {
        warning: bool,
        text: &'a str,
    },
    /// A can-gw job.
    Job(JobView<'a>),
    /// A job in user space.
    Rule(JobView<'a>),
    Realtime(ObtainedView),
    Ready {
        file: &'a str,
        engine: &'static str,
        jobs: usize,
        kernel_jobs: usize,
        pid: u32,
        /// If the file needed a signature.
        #[serde(skip_serializing_if = "Option::is_none")]
        signed: Option<SignedView<'a>>,
    },
    /// What a guard found.
    Alarm(AlarmView<'a>),
    Audit(AuditView<'a>),
    /// A mode was entered or left, or could not be.
    Mode(&'a ModeView<'a>),
    Counters(CountersView<'a>),
    FinalCounters(CountersView<'a>),
    Reloaded(&'a ReloadView<'a>),
    NotReloaded(&'a ReloadView<'a>),
    Invalid(&'a ReloadView<'a>),
    Ended {
        signal: &'static str,
        removed_jobs: usize,
        missing_jobs: usize,
    },
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct JobView<'a> {
    route: &'a str,
    from: &'a str,
    to: &'a str,
    format: &'static str,
    filter: String,
    side: &'static str,
    because: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct CountersView<'a> {
    pub(super) elapsed_s: f64,
    pub(super) routes: Vec<RouteView<'a>>,
    /// Composed frames.
    pub(super) frames: Vec<FrameView<'a>>,
    pub(super) buses: Vec<BusView<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct FrameView<'a> {
    frame: &'a str,
    /// Frames of its sources.
    received: u64,
    sent: u64,
    /// Frames that were not sent, by reason.
    drops: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct RouteView<'a> {
    route: &'a str,
    handled: u64,
    dropped: u64,
    deleted: u64,
    #[serde(flatten)]
    user: Option<UserView>,
}

/// Counters that can-gw does not have.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct UserView {
    matched: u64,
    handled_bytes: Option<u64>,
    /// Dropped frames by reason.
    drops: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct BusView<'a> {
    bus: &'a str,
    interface: &'a str,
    received: u64,
    taken: u64,
    unwanted: u64,
    lost_in_socket: u64,
    lost_in_ring: u64,
    sent: u64,
    refused: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct AlarmView<'a> {
    pub(in crate::cmd) route: &'a str,
    /// The violated rule, or `silent`.
    pub(in crate::cmd) rule: &'static str,
    /// `begins`, `goes-on`, or `over`.
    pub(in crate::cmd) state: &'static str,
    /// Frames that violated the rule since the last event.
    pub(in crate::cmd) frames: u64,
    /// The last of them, as candump writes it.
    pub(in crate::cmd) frame: Option<String>,
    /// Its receive timestamp in nanoseconds since 1970.
    pub(in crate::cmd) received_ns: Option<i64>,
    /// The identifier that is silent.
    pub(in crate::cmd) id: Option<String>,
    /// Why the frame of the alarm was not sent.
    pub(in crate::cmd) not_sent: Option<&'a str>,
}

impl<'a> AlarmView<'a> {
    pub(in crate::cmd) fn of(event: &'a GuardEvent, plan: &'a Plan) -> Self {
        let (mut frame, mut received_ns) = (None, None);
        let (rule, state, frames, id) = match &event.what {
            GuardFinding::Violation { rule, frames, last, goes_on } => {
                frame = last.map(|last| last.frame.to_string());
                received_ns = last.map(|last| last.at.0).filter(|at| *at != 0);
                (rule.name(), if *goes_on { "goes-on" } else { "begins" }, *frames, None)
            }
            GuardFinding::Over { rule } => (rule.name(), "over", 0, None),
            GuardFinding::Silent { id, .. } => ("silent", "begins", 0, id.map(id_text)),
            GuardFinding::Heard { id } => ("silent", "over", 0, id.map(id_text)),
        };
        let route = &plan.route(event.route).name;
        Self { route, rule, state, frames, frame, received_ns, id, not_sent: event.not_sent.as_deref() }
    }

    /// A sentence.
    pub(in crate::cmd) fn text(&self) -> String {
        let of = self.id.as_ref().map_or(String::new(), |id| format!(" of identifier {id}"));
        let mut text = match (self.rule, self.state) {
            ("silent", "begins") => format!("alarm: route {:?}: no frame{of} passes", self.route),
            ("silent", _) => format!("alarm over: route {:?}: frames{of} pass again", self.route),
            (rule, "over") => format!("alarm over: route {:?}: no frame violates `{rule}` any more", self.route),
            (rule, state) => {
                let again = if state == "goes-on" { " again" } else { "" };
                let count = plural(usize::try_from(self.frames).unwrap_or(usize::MAX), "frame");
                format!("alarm: route {:?}: {count} violated `{rule}`{again}", self.route)
            }
        };
        if let Some(frame) = &self.frame {
            text += &format!(", the last one {frame}");
        }
        if let Some(why) = self.not_sent {
            text += &format!("; the frame of the alarm was not sent: {why}");
        }
        text
    }
}

pub(in crate::cmd) fn id_text(id: RawId) -> String {
    if id.is_eff() { format!("{:08X}", id.bits()) } else { format!("{:03X}", id.bits()) }
}

/// The result of a reload.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct ReloadView<'a> {
    pub(in crate::cmd) file: &'a str,
    /// The reason why the gateway still runs the old file.
    pub(in crate::cmd) because: Option<&'a str>,
    pub(in crate::cmd) findings: Vec<Finding<'a>>,
    /// `false` for a file that is not valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cmd) valid: Option<bool>,
    #[serde(flatten)]
    pub(in crate::cmd) reloaded: Option<ReloadedView<'a>>,
}

/// The current mode, and what became of a change.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct ModeView<'a> {
    /// The mode that lasts now; `null` for none.
    pub(in crate::cmd) mode: Option<&'a str>,
    /// Seconds until it is left.
    pub(in crate::cmd) remaining_s: Option<f64>,
    /// The mode before the change.
    pub(in crate::cmd) before: Option<&'a str>,
    /// The mode that was to be entered; `null` to be in none.
    pub(in crate::cmd) wanted: Option<&'a str>,
    /// `command`, `frame` or `time`; `null` if nothing was to change.
    pub(in crate::cmd) by: Option<&'static str>,
    /// Names of routes.
    pub(in crate::cmd) added: &'a [String],
    pub(in crate::cmd) removed: &'a [String],
    /// The removed routes with their counters.
    pub(in crate::cmd) gone_routes: Vec<RouteView<'a>>,
    /// The reason why nothing has changed.
    pub(in crate::cmd) because: Option<&'a str>,
}

/// The output of `candor mode --json`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct ModeAnswer<'a> {
    pub(in crate::cmd) taken: bool,
    #[serde(flatten)]
    pub(in crate::cmd) mode: &'a ModeView<'a>,
}

impl<'a> ModeView<'a> {
    pub(in crate::cmd) fn of(gateway: &'a Gateway, change: Option<&'a ModeChange>) -> Self {
        let (mode, left) = gateway.mode().unzip();
        let now = Self {
            mode: mode.map(|mode| mode.name.as_str()),
            remaining_s: left.map(|left| left.as_secs_f64()),
            ..Self::default()
        };
        let Some(ModeChange { before, wanted, cause, outcome }) = change else { return now };
        let (before, wanted, by) = (before.as_deref(), wanted.as_deref(), Some(cause.name()));
        match outcome {
            Ok(ModeOutcome { changes, gone_routes }) => {
                let gone_routes = gone_routes.iter().map(|gone| RouteView::of(&gone.name, &gone.counters)).collect();
                Self { before, wanted, by, added: &changes.added, removed: &changes.removed, gone_routes, ..now }
            }
            Err(because) => Self { before, wanted, by, because: Some(because), ..now },
        }
    }

    /// Lines for people.
    pub(in crate::cmd) fn text(&self) -> String {
        let lasts = self.remaining_s.map_or_else(String::new, |left| format!("{} s left", left.round()));
        let name = |mode: Option<&str>| format!("{:?}", mode.unwrap_or_default());
        let Some(by) = self.by else {
            return match self.mode {
                Some(_) => format!("mode {}, {lasts}\n", name(self.mode)),
                None => "no mode\n".to_owned(),
            };
        };
        if let Some(because) = self.because {
            return match self.wanted {
                Some(_) => format!(
                    "mode {} was not entered (by {by}), and the gateway is unchanged: {because}\n",
                    name(self.wanted)
                ),
                None => format!(
                    "mode {} could not be left (by {by}): {because}; candor tries again each second, and ends if that fails\n",
                    name(self.before)
                ),
            };
        }
        let mut text = match (self.before, self.wanted) {
            (None, None) => "no mode, as before\n".to_owned(),
            (Some(_), None) => format!("mode {} left by {by}\n", name(self.before)),
            (before, wanted) if before == wanted => format!("mode {} goes on: {lasts}\n", name(wanted)),
            (before, wanted) => {
                let instead = before.map_or_else(String::new, |_| format!(" in place of {}", name(before)));
                format!("mode {} entered by {by}{instead}: {lasts}\n", name(wanted))
            }
        };
        if !self.added.is_empty() {
            text += &format!("new: {}\n", self.added.join(", "));
        }
        for RouteView { route, handled, dropped, deleted, .. } in &self.gone_routes {
            text += &format!("gone: {route}: handled {handled}, dropped {dropped}, deleted {deleted}\n");
        }
        text
    }

    /// For the audit line.
    pub(in crate::cmd) fn audited(&self) -> String {
        let by = self.by.unwrap_or_default();
        match (self.wanted, self.before) {
            (Some(wanted), _) => format!("{wanted} entered by {by}"),
            (None, before) => format!("{} left by {by}", before.unwrap_or_default()),
        }
    }
}

/// The changes of a reload that was accepted.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct ReloadedView<'a> {
    jobs: usize,
    kernel_jobs: usize,
    new_routes: &'a [String],
    gone_routes: Vec<RouteView<'a>>,
    gone_buses: Vec<BusView<'a>>,
}

/// The output of `candor reload --json`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct Answer<'a> {
    pub(in crate::cmd) taken: bool,
    #[serde(flatten)]
    pub(in crate::cmd) reload: &'a ReloadView<'a>,
}

impl<'a> Event<'a> {
    pub(super) fn job(gateway: &'a Gateway, job: &Job) -> Self {
        let (plan, placement) = (gateway.plan(), gateway.placement());
        let side = placement.side(job.route);
        let view = JobView {
            route: &plan.route(job.route).name,
            from: &plan.bus(job.from).interface,
            to: &plan.bus(job.to).interface,
            format: frames_of(job),
            filter: job.filter.to_string(),
            side: side_name(side),
            because: placement.reason(plan, job.route),
        };
        match side {
            Side::Kernel => Self::Job(view),
            Side::Bpf | Side::User => Self::Rule(view),
        }
    }
}

impl<'a> RouteView<'a> {
    pub(super) fn of(route: &'a str, counters: &RouteCounters) -> Self {
        let &RouteCounters { handled, dropped, deleted, drops, matched, handled_bytes, .. } = counters;
        let drops = || order::map(drops.by_reason());
        let user = matched.map(|matched| UserView { matched, handled_bytes, drops: drops() });
        Self { route, handled, dropped, deleted, user }
    }
}

impl<'a> FrameView<'a> {
    pub(super) fn of(frame: &'a str, &FrameCounters { received, sent, drops }: &FrameCounters) -> Self {
        Self { frame, received, sent, drops: order::map(drops.by_reason()) }
    }
}

impl<'a> From<&'a BusCounters> for BusView<'a> {
    fn from(counters: &'a BusCounters) -> Self {
        Self {
            bus: &counters.bus,
            interface: &counters.interface,
            received: counters.received,
            taken: counters.taken,
            unwanted: counters.unwanted,
            lost_in_socket: counters.lost_in_socket,
            lost_in_ring: counters.lost_in_ring,
            sent: counters.sent,
            refused: counters.refused,
        }
    }
}

impl<'a> ReloadedView<'a> {
    pub(super) fn of(gateway: &Gateway, reloaded: &'a Reloaded) -> Self {
        Self {
            jobs: gateway.jobs().len(),
            kernel_jobs: super::kernel_jobs(gateway),
            new_routes: &reloaded.new_routes,
            gone_routes: reloaded.gone_routes.iter().map(|gone| RouteView::of(&gone.name, &gone.counters)).collect(),
            gone_buses: reloaded.gone_buses.iter().map(BusView::from).collect(),
        }
    }
}

/// Events of all kinds.
#[cfg(test)]
pub(in crate::cmd) fn samples<'a>(counted: &RouteCounters, bus: &'a BusCounters) -> Vec<Event<'a>> {
    const DONE: &ReloadView<'_> =
        &ReloadView { file: "car.toml", because: None, findings: Vec::new(), valid: None, reloaded: None };
    const MODE: &ModeView<'_> = &ModeView {
        mode: Some("service"),
        remaining_s: Some(600.0),
        before: None,
        wanted: Some("service"),
        by: Some("frame"),
        added: &[],
        removed: &[],
        gone_routes: Vec::new(),
        because: None,
    };
    let job = || JobView {
        route: "r",
        from: "can0",
        to: "can1",
        format: "fd",
        filter: "123:7FF".into(),
        side: "user",
        because: Some("can-gw is missing".into()),
    };
    let counters = || CountersView {
        elapsed_s: 1.5,
        routes: vec![RouteView::of("r", counted), RouteView::of("s", &RouteCounters::default())],
        frames: vec![FrameView::of("Dashboard", &FrameCounters::default())],
        buses: vec![bus.into()],
    };
    vec![
        Event::Notice { warning: true, text: "can0 is down" },
        Event::Job(job()),
        Event::Rule(job()),
        Event::Ready { file: "car.toml", engine: "auto", jobs: 2, kernel_jobs: 1, pid: 812, signed: None },
        Event::Counters(counters()),
        Event::FinalCounters(counters()),
        Event::Reloaded(DONE),
        Event::NotReloaded(DONE),
        Event::Invalid(DONE),
        Event::Mode(MODE),
        Event::Ended { signal: "SIGINT", removed_jobs: 1, missing_jobs: 0 },
    ]
}
