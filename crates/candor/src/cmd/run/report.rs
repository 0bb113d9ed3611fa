//! Output of `candor run`: text, JSON lines, or log lines.
//!
//! Text begins with one line per job or route, then a line that starts with `ready`, for which scripts can wait.

mod tables;

use std::fmt::Write as _;
use std::time::Duration;

use candor_config::placement::Side;
use candor_config::plan::{Engine, Plan, RouteIndex};
use candor_core::filter::Filter;
use candor_core::frame::FrameFormat;
use candor_core::job::Job;
use candor_engine::realtime::{self, Obtained};
use candor_engine::{BusCounters, Ended, Gateway, Notice, Reloaded, RouteCounters};
use candor_io::machine::Machine;
use candor_io::signal::Signal;
use serde_json::{Value, json};

use super::log::{LogLine, Weight};
use super::output::{Output, Stream};
use super::reload;
use crate::cmd::show;
use candor_cli::gateway_file::plural;
use tables::{bus_table, table};

/// Occasion of a counter table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Running,
    End,
}

/// Output format.
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

    pub(super) fn started(&self, gateway: &Gateway, file: &str) {
        let (plan, pid) = (gateway.plan(), std::process::id());
        let in_kernel = |job: &&Job| gateway.placement().side(job.route) == Side::Kernel;
        let (jobs, kernel_jobs) = (gateway.jobs().len(), gateway.jobs().iter().filter(in_kernel).count());
        let engine = plan.engine().name();
        // One text, so that many jobs do not fill the queue.
        if self.form == Form::Json {
            let event = json!({
                "event": "ready", "file": file, "engine": engine, "jobs": jobs, "kernel_jobs": kernel_jobs, "pid": pid
            });
            let mut text = jobs_json(gateway);
            if let Some(obtained) = obtained(gateway) {
                let mut realtime = show::obtained_json(&obtained);
                realtime["event"] = "realtime".into();
                text += &line(&realtime);
            }
            return self.out(text + &line(&event));
        }
        let what = what_runs(gateway);
        if self.form == Form::Log {
            if let Some(obtained) = obtained(gateway) {
                let text = format!("real time: {}", show::obtained_text(plan.realtime(), &obtained));
                self.log(LogLine::new(Weight::Information, "realtime", &text));
            }
            let text = format!("ready: {what} of {file}, {engine} engine, process {pid}");
            return self.log(LogLine::new(Weight::Information, "ready", &text));
        }
        let mut text: String = gateway.jobs().iter().map(|job| job_text(gateway, job)).collect();
        if let Some(obtained) = obtained(gateway) {
            let _ = writeln!(text, "real time: {}", show::obtained_text(plan.realtime(), &obtained));
        }
        let _ = writeln!(text, "ready: {what} of {file}, {engine} engine, process {pid}; Ctrl-C or SIGTERM ends it");
        self.out(text);
    }

    /// Reports a reload. Returns the answer for `candor reload`.
    pub(super) fn reloaded(&self, gateway: &Gateway, file: &str, reloaded: &Reloaded) -> Value {
        let in_kernel = |job: &&Job| gateway.placement().side(job.route) == Side::Kernel;
        let mut event = reload::answer(file, None, &json!([]));
        event["jobs"] = gateway.jobs().len().into();
        event["kernel_jobs"] = gateway.jobs().iter().filter(in_kernel).count().into();
        event["new_routes"] = json!(reloaded.new_routes);
        event["gone_routes"] = reloaded.gone_routes.iter().map(|gone| route_json(&gone.name, &gone.counters)).collect();
        event["gone_buses"] = reloaded.gone_buses.iter().map(bus_json).collect();
        let mut text = format!("reloaded: {} of {file}\n", what_runs(gateway));
        if !reloaded.new_routes.is_empty() {
            let _ = writeln!(text, "new: {}", reloaded.new_routes.join(", "));
        }
        for gone in &reloaded.gone_routes {
            let RouteCounters { handled, dropped, deleted, .. } = gone.counters;
            let _ = writeln!(text, "gone: {}: handled {handled}, dropped {dropped}, deleted {deleted}", gone.name);
        }
        self.answer("reloaded", jobs_json(gateway), &mut event, text)
    }

    /// Reports an invalid file. Returns the answer for `candor reload`.
    pub(super) fn invalid(&self, file: &str, findings: &Value, text: String) -> Value {
        let mut event = reload::answer(file, Some("the file is not valid"), findings);
        event["valid"] = false.into();
        self.answer("invalid", String::new(), &mut event, text)
    }

    /// Reports why the file cannot be run. Returns the answer for `candor reload`.
    pub(super) fn not_reloaded(&self, file: &str, because: &str) -> Value {
        let text = format!("{file} was not loaded, and the running gateway is unchanged: {because}\n");
        let mut event = reload::answer(file, Some(because), &json!([]));
        self.answer("not-reloaded", String::new(), &mut event, text)
    }

    fn answer(&self, name: &'static str, before: String, event: &mut Value, text: String) -> Value {
        let taken = event["taken"] == true;
        let mut said = event.clone();
        if let Some(said) = said.as_object_mut() {
            said.remove("text");
            said.remove("taken");
            said.insert("event".into(), name.into());
        }
        match (self.form, taken) {
            (Form::Json, _) => self.out(before + &line(&said)),
            (Form::Text, true) => self.out(text.clone()),
            (Form::Text, false) => self.output.say(Stream::Error, text.clone()),
            (Form::Log, true) => self.log(LogLine::new(Weight::Information, name, &text)),
            (Form::Log, false) => self.log(LogLine::new(Weight::Error, name, &text)),
        }
        event["text"] = text.into();
        event.take()
    }

    /// Text for standard error or the log.
    pub(super) fn warn(&self, text: String) {
        match self.form {
            _ if text.is_empty() => {}
            Form::Log => self.log(LogLine::new(Weight::Warning, "finding", &text)),
            Form::Text | Form::Json => self.output.say(Stream::Error, text),
        }
    }

    pub(super) fn notice(&self, notice: &Notice) {
        self.tell(&notice.to_string(), notice.is_warning());
    }

    /// Warnings go to standard error, what was done to standard output; JSON goes all to standard output.
    pub(super) fn tell(&self, text: &str, is_warning: bool) {
        match (self.form, is_warning) {
            (Form::Json, warning) => self.out(line(&json!({"event": "notice", "warning": warning, "text": text}))),
            (Form::Text, true) => self.output.say(Stream::Error, format!("warning: {text}\n")),
            (Form::Text, false) => self.out(format!("{text}\n")),
            (Form::Log, true) => self.log(LogLine::new(Weight::Warning, "notice", text)),
            (Form::Log, false) => self.log(LogLine::new(Weight::Information, "notice", text)),
        }
    }

    pub(super) fn counters(
        &self,
        plan: &Plan,
        counters: &[RouteCounters],
        buses: &[BusCounters],
        elapsed: Duration,
        moment: Moment,
    ) {
        let event = match moment {
            Moment::Running => "counters",
            Moment::End => "final-counters",
        };
        if self.form == Form::Log {
            let routes = plan.routes().iter().zip(counters);
            let routes = routes.map(|(route, counted)| LogLine::of_route(event, &route.name, counted));
            let buses = buses.iter().map(|counted| LogLine::of_bus(event, counted));
            return self.output.log(routes.chain(buses).collect());
        }
        if self.form == Form::Json {
            let named = plan.routes().iter().zip(counters);
            let routes: Vec<_> = named.map(|(route, counters)| route_json(&route.name, counters)).collect();
            let buses: Vec<_> = buses.iter().map(bus_json).collect();
            let elapsed_s = elapsed.as_secs_f64();
            return self.out(line(&json!({"event": event, "elapsed_s": elapsed_s, "routes": routes, "buses": buses})));
        }
        let names = plan.routes().iter().map(|route| route.name.as_str());
        self.out(table(names.zip(counters), elapsed, moment) + &bus_table(buses));
    }

    pub(super) fn ended(&self, signal: Signal, ended: &Ended) {
        ended.notices.iter().for_each(|notice| self.notice(notice));
        let (signal, removed, missing) = (signal.name(), ended.removed_jobs, ended.missing_jobs);
        if self.form == Form::Json {
            let event = json!({"event": "ended", "signal": signal, "removed_jobs": removed, "missing_jobs": missing});
            return self.out(line(&event));
        }
        let jobs = match (removed, missing) {
            (0, 0) => String::new(),
            (_, 0) => format!("; removed {}", plural(removed, "can-gw job")),
            (_, _) => format!("; removed {}, {missing} were already gone", plural(removed, "can-gw job")),
        };
        let text = format!("ended by {signal}{jobs}\n");
        match self.form {
            Form::Log => self.log(LogLine::new(Weight::Information, "ended", &text)),
            Form::Text | Form::Json => self.out(text),
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

fn route_json(name: &str, counters: &RouteCounters) -> Value {
    let RouteCounters { handled, dropped, deleted, drops, matched, handled_bytes, .. } = counters;
    let mut counted = json!({"route": name, "handled": handled, "dropped": dropped, "deleted": deleted});
    // can-gw counts none of these.
    if let Some(matched) = matched {
        counted["matched"] = json!(matched);
        counted["drops"] = drops.by_reason().into_iter().collect();
        counted["handled_bytes"] = json!(handled_bytes);
    }
    counted
}

fn bus_json(counters: &BusCounters) -> Value {
    let BusCounters { bus, interface, received, taken, unwanted, lost_in_socket, lost_in_ring, sent, refused, .. } =
        counters;
    json!({
        "bus": bus,
        "interface": interface,
        "received": received,
        "taken": taken,
        "unwanted": unwanted,
        "lost_in_socket": lost_in_socket,
        "lost_in_ring": lost_in_ring,
        "sent": sent,
        "refused": refused,
    })
}

fn jobs_json(gateway: &Gateway) -> String {
    gateway.jobs().iter().map(|job| line(&job_json(gateway, job))).collect()
}

/// Number of jobs and routes by engine.
pub(super) fn what_runs(gateway: &Gateway) -> String {
    let plan = gateway.plan();
    let in_kernel = |job: &&Job| gateway.placement().side(job.route) == Side::Kernel;
    let kernel_jobs = gateway.jobs().iter().filter(in_kernel).count();
    let routes = || (0..plan.routes().len()).map(RouteIndex);
    let user_routes = routes().filter(|route| gateway.placement().side(*route) == Side::User).count();
    match (plan.engine(), kernel_jobs, user_routes) {
        (Engine::Auto, 0, routes) => format!("{} in user space", plural(routes, "route")),
        (Engine::Auto, jobs, 0) => format!("{} in the kernel", plural(jobs, "can-gw job")),
        (Engine::Auto, jobs, routes) => {
            format!("{} in the kernel and {} in user space", plural(jobs, "can-gw job"), plural(routes, "route"))
        }
        (Engine::Kernel, jobs, _) => plural(jobs, "can-gw job"),
        (Engine::User(_), _, routes) => plural(routes, "route"),
    }
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

fn job_json(gateway: &Gateway, job: &Job) -> Value {
    let (plan, placement) = (gateway.plan(), gateway.placement());
    let (event, side) = match placement.side(job.route) {
        Side::Kernel => ("job", "kernel"),
        Side::User => ("rule", "user"),
    };
    json!({
        "event": event,
        "route": plan.route(job.route).name,
        "from": plan.bus(job.from).interface,
        "to": plan.bus(job.to).interface,
        "format": format_name(job.format),
        "filter": job.filter.to_string(),
        "side": side,
        "because": because(gateway, job.route),
    })
}

fn job_text(gateway: &Gateway, job: &Job) -> String {
    let plan = gateway.plan();
    let (from, to) = (plan.bus(job.from), plan.bus(job.to));
    let filter = if job.filter == Filter::ALL { "all".to_owned() } else { format!("filter {}", job.filter) };
    let payload = if job.payload.is_empty() { "" } else { ", by payload" };
    // With the other engines all routes are on one side.
    let place = match (plan.engine(), because(gateway, job.route)) {
        (Engine::Kernel | Engine::User(_), _) => String::new(),
        (Engine::Auto, None) => "; in the kernel".into(),
        (Engine::Auto, Some(because)) => format!("; in user space, because {because}"),
    };
    format!(
        "route {:?}: {} ({}) -> {} ({}), {} frames, {filter}{payload}{place}\n",
        plan.route(job.route).name,
        from.name,
        from.interface,
        to.name,
        to.interface,
        format_name(job.format),
    )
}

/// The reason why a route runs in user space.
fn because(gateway: &Gateway, route: RouteIndex) -> Option<String> {
    gateway.placement().because(route).map(|because| because.in_words(gateway.plan()))
}

const fn format_name(format: FrameFormat) -> &'static str {
    match format {
        FrameFormat::Classic => "classic",
        FrameFormat::Fd => "fd",
    }
}
