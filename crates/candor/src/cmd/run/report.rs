//! Output of `candor run`: text, JSON lines, or log lines.
//!
//! Text begins with one line per job or route, then a line that starts with `ready`, for which scripts can wait.

pub(in crate::cmd) mod events;
mod tables;

use std::fmt::Write as _;
use std::time::Duration;

use candor_cli::gateway_file::plural;
use candor_cli::render::{self, Finding};
use candor_config::placement::Side;
use candor_config::plan::{Engine, Plan, RouteIndex};
use candor_core::filter::Filter;
use candor_core::job::Job;
use candor_engine::realtime::{self, Obtained};
use candor_engine::{BusCounters, Ended, FrameCounters, Gateway, GuardEvent, Notice, Reloaded, RouteCounters};
use candor_io::machine::Machine;
use candor_io::signal::Signal;
use serde_json::Value;
use tracing::Level;

use super::log::LogLine;
use super::output::{Output, Stream};
use crate::cmd::audit::{Audit, SignedView};
use crate::cmd::job_text::frames_of;
use crate::cmd::show;
use events::{
    AlarmView, Answer, BusView, CountersView, Event, FrameView, ModeAnswer, ModeView, ReloadView, ReloadedView,
    RouteView,
};
use tables::{bus_table, table};

/// Counters in plan order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted<'a> {
    pub(super) routes: &'a [RouteCounters],
    pub(super) frames: &'a [FrameCounters],
    pub(super) buses: &'a [BusCounters],
}

impl<'a> Counted<'a> {
    pub(super) fn of(ended: &'a Ended) -> Self {
        Self { routes: &ended.counters, frames: &ended.frames, buses: &ended.buses }
    }
}

/// Occasion of a counter table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Running,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Json,
    Log,
}

#[derive(Debug)]
pub(super) struct Report {
    form: Form,
    output: Output,
}

impl Report {
    pub(super) const fn new(form: Form, output: Output) -> Self {
        Self { form, output }
    }

    pub(super) fn started(&self, gateway: &Gateway, file: &str, signed: Option<SignedView<'_>>) {
        let (plan, pid) = (gateway.plan(), std::process::id());
        let engine = plan.engine().name();
        let obtained = obtained(gateway);
        // One text, so that many jobs do not fill the queue.
        if self.form == Form::Json {
            let (jobs, kernel_jobs) = (gateway.jobs().len(), kernel_jobs(gateway));
            let realtime = obtained.map(|obtained| Event::Realtime(obtained.into()));
            let ready = Event::Ready { file, engine, jobs, kernel_jobs, pid, signed };
            let last: String = realtime.iter().chain([&ready]).map(render::line).collect();
            return self.out(jobs_json(gateway) + &last);
        }
        let what = what_runs(gateway);
        let realtime =
            obtained.map(|obtained| format!("real time: {}", show::obtained_text(plan.realtime(), &obtained)));
        let signed = signed.map_or_else(String::new, |signed| format!("; {signed}"));
        let ready = format!("ready: {what} of {file}, {engine} engine, process {pid}{signed}");
        if self.form == Form::Log {
            realtime.iter().for_each(|text| self.log(LogLine::new(Level::INFO, "realtime", text)));
            return self.log(LogLine::new(Level::INFO, "ready", &ready));
        }
        let mut text: String = gateway.jobs().iter().map(|job| job_text(gateway, job)).collect();
        realtime.iter().for_each(|realtime| text += &format!("{realtime}\n"));
        self.out(text + &ready + "; Ctrl-C or SIGTERM ends it\n");
    }

    /// Text goes to people, who have the other lines; the journal gets it nevertheless.
    pub(super) fn audit(&self, audit: &Audit<'_>) {
        match self.form {
            Form::Json => self.out(render::line(&Event::Audit(audit.view()))),
            Form::Log | Form::Text => self.log(LogLine::of_audit(audit)),
        }
    }

    /// Reports a reload. Returns the answer for `candor reload`.
    pub(super) fn reloaded(&self, gateway: &Gateway, file: &str, reloaded: &Reloaded) -> Value {
        let view = ReloadView { file, reloaded: Some(ReloadedView::of(gateway, reloaded)), ..ReloadView::default() };
        let mut text = format!("reloaded: {} of {file}\n", what_runs(gateway));
        if !reloaded.new_routes.is_empty() {
            let _ = writeln!(text, "new: {}", reloaded.new_routes.join(", "));
        }
        for gone in &reloaded.gone_routes {
            let RouteCounters { handled, dropped, deleted, .. } = gone.counters;
            let _ = writeln!(text, "gone: {}: handled {handled}, dropped {dropped}, deleted {deleted}", gone.name);
        }
        self.answer("reloaded", &Event::Reloaded(&view), jobs_json(gateway), &view, &text)
    }

    /// Reports an invalid file. Returns the answer for `candor reload`.
    pub(super) fn invalid(&self, file: &str, findings: Vec<Finding<'_>>, text: &str) -> Value {
        let because = Some("the file is not valid");
        let view = ReloadView { file, because, findings, valid: Some(false), ..ReloadView::default() };
        self.answer("invalid", &Event::Invalid(&view), String::new(), &view, text)
    }

    /// Reports why the file cannot be run. Returns the answer for `candor reload`.
    pub(super) fn not_reloaded(&self, file: &str, because: &str) -> Value {
        let text = format!("{file} was not loaded, and the running gateway is unchanged: {because}\n");
        let view = ReloadView { file, because: Some(because), ..ReloadView::default() };
        self.answer("not-reloaded", &Event::NotReloaded(&view), String::new(), &view, &text)
    }

    /// Reports a mode that was entered or left. Returns the answer for `candor mode`.
    pub(super) fn mode(&self, view: &ModeView<'_>) -> Value {
        let text = view.text();
        let taken = view.because.is_none();
        match (self.form, taken) {
            // A question is no event.
            _ if view.by.is_none() => {}
            (Form::Json, _) => self.out(render::line(&Event::Mode(view))),
            (Form::Text, true) => self.out(text.clone()),
            (Form::Text, false) => self.output.say(Stream::Error, text.clone()),
            (Form::Log, true) => self.log(LogLine::new(Level::INFO, "mode", &text)),
            (Form::Log, false) => self.log(LogLine::new(Level::ERROR, "mode", &text)),
        }
        let mut answer = serde_json::json!(ModeAnswer { taken, mode: view });
        answer["text"] = text.into();
        answer
    }

    fn answer(
        &self,
        name: &'static str,
        event: &Event<'_>,
        jobs: String,
        reload: &ReloadView<'_>,
        text: &str,
    ) -> Value {
        let taken = reload.because.is_none();
        match (self.form, taken) {
            (Form::Json, _) => self.out(jobs + &render::line(event)),
            (Form::Text, true) => self.out(text.to_owned()),
            (Form::Text, false) => self.output.say(Stream::Error, text.to_owned()),
            (Form::Log, true) => self.log(LogLine::new(Level::INFO, name, text)),
            (Form::Log, false) => self.log(LogLine::new(Level::ERROR, name, text)),
        }
        let mut answer = serde_json::json!(Answer { taken, reload });
        answer["text"] = text.into();
        answer
    }

    /// Text for standard error or the log.
    pub(super) fn warn(&self, text: String) {
        match self.form {
            _ if text.is_empty() => {}
            Form::Log => self.log(LogLine::new(Level::WARN, "finding", &text)),
            Form::Text | Form::Json => self.output.say(Stream::Error, text),
        }
    }

    /// What a guard found. Alarms go to standard error, as warnings do.
    pub(super) fn alarm(&self, event: &GuardEvent, plan: &Plan) {
        let view = AlarmView::of(event, plan);
        let text = view.text();
        match (self.form, view.state) {
            (Form::Json, _) => self.out(render::line(&Event::Alarm(view))),
            (Form::Text, "over") => self.out(format!("{text}\n")),
            (Form::Text, _) => self.output.say(Stream::Error, format!("{text}\n")),
            (Form::Log, "over") => self.log(LogLine::new(Level::INFO, "alarm", &text)),
            (Form::Log, _) => self.log(LogLine::new(Level::WARN, "alarm", &text)),
        }
    }

    pub(super) fn notice(&self, notice: &Notice) {
        self.message(&notice.to_string(), notice.is_warning());
    }

    /// Warnings go to standard error, what was done to standard output; JSON goes all to standard output.
    pub(super) fn message(&self, text: &str, is_warning: bool) {
        match (self.form, is_warning) {
            (Form::Json, warning) => self.out(render::line(&Event::Notice { warning, text })),
            (Form::Text, true) => self.output.say(Stream::Error, format!("warning: {text}\n")),
            (Form::Text, false) => self.out(format!("{text}\n")),
            (Form::Log, true) => self.log(LogLine::new(Level::WARN, "notice", text)),
            (Form::Log, false) => self.log(LogLine::new(Level::INFO, "notice", text)),
        }
    }

    pub(super) fn counters(
        &self,
        plan: &Plan,
        Counted { routes, frames, buses }: Counted<'_>,
        elapsed: Duration,
        moment: Moment,
    ) {
        let named = plan.routes().iter().map(|route| route.name.as_str()).zip(routes);
        let frames = plan.frames().iter().map(|frame| frame.name.as_str()).zip(frames);
        let event = match moment {
            Moment::Running => "counters",
            Moment::End => "final-counters",
        };
        match self.form {
            Form::Log => {
                let routes = named.map(|(name, counted)| LogLine::of_route(event, name, counted));
                let buses = buses.iter().map(|counted| LogLine::of_bus(event, counted));
                let frames = frames.map(|(name, counted)| LogLine::of_frame(event, name, counted));
                self.output.log(routes.chain(frames).chain(buses).collect());
            }
            Form::Json => {
                let view = CountersView {
                    elapsed_s: elapsed.as_secs_f64(),
                    routes: named.map(|(name, counters)| RouteView::of(name, counters)).collect(),
                    frames: frames.map(|(name, counters)| FrameView::of(name, counters)).collect(),
                    buses: buses.iter().map(BusView::from).collect(),
                };
                self.out(match moment {
                    Moment::Running => render::line(&Event::Counters(view)),
                    Moment::End => render::line(&Event::FinalCounters(view)),
                });
            }
            Form::Text => self.out(table(named, frames, elapsed, moment) + &bus_table(buses)),
        }
    }

    pub(super) fn ended(&self, signal: Signal, ended: &Ended) {
        ended.notices.iter().for_each(|notice| self.notice(notice));
        let (signal, removed_jobs, missing_jobs) = (signal.name(), ended.removed_jobs, ended.missing_jobs);
        let jobs = match (removed_jobs, missing_jobs) {
            (0, 0) => String::new(),
            (_, 0) => format!("; removed {}", plural(removed_jobs, "can-gw job")),
            (_, _) => format!("; removed {}, {missing_jobs} were already gone", plural(removed_jobs, "can-gw job")),
        };
        let text = format!("ended by {signal}{jobs}\n");
        match self.form {
            Form::Json => self.out(render::line(&Event::Ended { signal, removed_jobs, missing_jobs })),
            Form::Log => self.log(LogLine::new(Level::INFO, "ended", &text)),
            Form::Text => self.out(text),
        }
    }

    /// Waits up to a second until everything is written.
    pub(super) fn finish(self) {
        self.output.finish();
    }

    fn log(&self, line: LogLine) {
        self.output.log(vec![line]);
    }

    fn out(&self, text: String) {
        self.output.say(Stream::Output, text);
    }
}

/// The real-time settings in effect; `None` if the file has no `[realtime]`.
fn obtained(gateway: &Gateway) -> Option<Obtained> {
    let is_asked = !gateway.plan().realtime().is_empty();
    is_asked.then(|| realtime::obtained(&Machine::here(), std::process::id()))
}

fn jobs_json(gateway: &Gateway) -> String {
    gateway.jobs().iter().map(|job| render::line(&Event::job(gateway, job))).collect()
}

fn kernel_jobs(gateway: &Gateway) -> usize {
    gateway.jobs().iter().filter(|job| gateway.placement().side(job.route) == Side::Kernel).count()
}

/// Number of jobs and routes by engine.
pub(super) fn what_runs(gateway: &Gateway) -> String {
    let plan = gateway.plan();
    let routes = (0..plan.routes().len()).map(RouteIndex);
    let on = |side| routes.clone().filter(|route| gateway.placement().side(*route) == side).count();
    let (programs, user_routes) = (on(Side::Bpf), on(Side::User));
    let composed = plural(plan.frames().len(), "composed frame");
    let routes = match (plan.engine(), kernel_jobs(gateway), user_routes) {
        _ if plan.routes().is_empty() => String::new(),
        (Engine::Auto, jobs, users) => {
            let parts = [
                (jobs, plural(jobs, "can-gw job") + " in the kernel"),
                (programs, plural(programs, "route") + " in eBPF programs"),
                (users, plural(users, "route") + " in user space"),
            ];
            parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect::<Vec<_>>().join(" and ")
        }
        (Engine::Bpf, ..) => plural(programs, "route") + " in eBPF programs",
        (Engine::Kernel, jobs, _) => plural(jobs, "can-gw job"),
        (Engine::User(_), _, routes) => plural(routes, "route"),
    };
    let watched = plan.watched().iter().map(|frame| frame.signals.len()).sum();
    let mode = plan.mode().map_or_else(String::new, |mode| format!(", in mode {:?}", mode.name));
    let all = [
        (!routes.is_empty(), routes),
        (!plan.frames().is_empty(), composed),
        (watched > 0, plural(watched, "watched signal")),
    ];
    let all: Vec<_> = all.into_iter().filter(|(is_there, _)| *is_there).map(|(_, text)| text).collect();
    // All routes may be in modes.
    if all.is_empty() { format!("no route{mode}") } else { all.join(" and ") + &mode }
}

fn job_text(gateway: &Gateway, job: &Job) -> String {
    let plan = gateway.plan();
    let (from, to) = (plan.bus(job.from), plan.bus(job.to));
    let filter = if job.filter == Filter::ALL { "all".to_owned() } else { format!("filter {}", job.filter) };
    let payload = if job.payload.is_empty() { "" } else { ", by payload" };
    // With the other engines all routes are on one side.
    let place = match (plan.engine(), gateway.placement().side(job.route)) {
        (Engine::Bpf | Engine::Kernel | Engine::User(_), _) => "",
        (Engine::Auto, Side::Kernel) => "; in the kernel",
        (Engine::Auto, Side::Bpf) => "; in an eBPF program, because ",
        (Engine::Auto, Side::User) => "; in user space, because ",
    };
    let why = gateway.placement().reason(plan, job.route).filter(|_| !place.is_empty()).unwrap_or_default();
    format!(
        "route {:?}: {} ({}) -> {} ({}), {} frames, {filter}{payload}{place}{why}\n",
        plan.route(job.route).name,
        from.name,
        from.interface,
        to.name,
        to.interface,
        frames_of(job),
    )
}
