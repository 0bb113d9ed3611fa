//! What `candor run` prints: text for people, one JSON object a line for programs.
//!
//! Text: one line for each job or route, then a line that begins with `ready`; whoever starts candor waits for it.

use std::fmt::Write as _;
use std::time::Duration;

use candor_core::filter::Filter;
use candor_core::frame::FrameFormat;
use candor_core::job::Job;
use candor_core::placement::Side;
use candor_core::plan::{Engine, Plan, RouteIndex};
use candor_engine::machine::Machine;
use candor_engine::realtime::{self, Obtained};
use candor_engine::{Ended, Gateway, Notice, RouteCounters};
use candor_io::signal::Signal;
use serde_json::{Value, json};

use super::output::{Output, Stream};
use crate::cmd::show;
use crate::gateway_file::plural;

/// When counters are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Running,
    End,
}

/// The form of the output, and the way there.
#[derive(Debug)]
pub(super) struct Report {
    json: bool,
    output: Output,
}

impl Report {
    pub(super) const fn new(json: bool, output: Output) -> Self {
        Self { json, output }
    }

    pub(super) fn started(&self, gateway: &Gateway, file: &str) {
        let (plan, pid) = (gateway.plan(), std::process::id());
        let in_kernel = |job: &&Job| gateway.placement().side(job.route) == Side::Kernel;
        let (jobs, kernel_jobs) = (gateway.jobs().len(), gateway.jobs().iter().filter(in_kernel).count());
        let engine = plan.engine().name();
        // One text, so that many jobs do not fill the queue.
        if self.json {
            let mut text: String = gateway.jobs().iter().map(|job| line(&job_json(gateway, job))).collect();
            let event = json!({
                "event": "ready", "file": file, "engine": engine, "jobs": jobs, "kernel_jobs": kernel_jobs, "pid": pid
            });
            if let Some(obtained) = obtained(gateway) {
                let mut realtime = show::obtained_json(&obtained);
                realtime["event"] = "realtime".into();
                text += &line(&realtime);
            }
            text += &line(&event);
            return self.out(text);
        }
        let mut text: String = gateway.jobs().iter().map(|job| job_text(gateway, job)).collect();
        let routes = || (0..plan.routes().len()).map(RouteIndex);
        let user_routes = routes().filter(|route| gateway.placement().side(*route) == Side::User).count();
        let what = match (plan.engine(), kernel_jobs, user_routes) {
            (Engine::Auto, 0, routes) => format!("{} in user space", plural(routes, "route")),
            (Engine::Auto, jobs, 0) => format!("{} in the kernel", plural(jobs, "can-gw job")),
            (Engine::Auto, jobs, routes) => {
                format!("{} in the kernel and {} in user space", plural(jobs, "can-gw job"), plural(routes, "route"))
            }
            (Engine::Kernel, jobs, _) => plural(jobs, "can-gw job"),
            (Engine::User(_), _, routes) => plural(routes, "route"),
        };
        if let Some(obtained) = obtained(gateway) {
            let _ = writeln!(text, "real time: {}", show::obtained_text(plan.realtime(), &obtained));
        }
        let _ = writeln!(text, "ready: {what} of {file}, {engine} engine, process {pid}; Ctrl-C or SIGTERM ends it");
        self.out(text);
    }

    /// Warnings go to standard error, what was done to standard output; JSON goes all to standard output.
    pub(super) fn notice(&self, notice: &Notice) {
        let text = notice.to_string();
        match (self.json, notice.is_warning()) {
            (true, warning) => self.out(line(&json!({"event": "notice", "warning": warning, "text": text}))),
            (false, true) => self.output.say(Stream::Error, format!("warning: {text}\n")),
            (false, false) => self.out(format!("{text}\n")),
        }
    }

    pub(super) fn counters(&self, plan: &Plan, counters: &[RouteCounters], elapsed: Duration, moment: Moment) {
        if self.json {
            let routes: Vec<_> = plan
                .routes()
                .iter()
                .zip(counters)
                .map(|(route, counters)| {
                    let RouteCounters { handled, dropped, deleted, drops, matched } = counters;
                    let mut counted =
                        json!({"route": route.name, "handled": handled, "dropped": dropped, "deleted": deleted});
                    // The kernel's own gateway knows neither.
                    if let Some(matched) = matched {
                        counted["matched"] = json!(matched);
                        counted["drops"] = drops.by_reason().into_iter().collect();
                    }
                    counted
                })
                .collect();
            let event = match moment {
                Moment::Running => "counters",
                Moment::End => "final-counters",
            };
            let elapsed_s = elapsed.as_secs_f64();
            return self.out(line(&json!({"event": event, "elapsed_s": elapsed_s, "routes": routes})));
        }
        let names = plan.routes().iter().map(|route| route.name.as_str());
        self.out(table(names.zip(counters), elapsed, moment));
    }

    pub(super) fn ended(&self, signal: Signal, ended: &Ended) {
        ended.notices.iter().for_each(|notice| self.notice(notice));
        let (signal, removed, missing) = (signal.name(), ended.removed_jobs, ended.missing_jobs);
        if self.json {
            let event = json!({"event": "ended", "signal": signal, "removed_jobs": removed, "missing_jobs": missing});
            return self.out(line(&event));
        }
        let jobs = match (removed, missing) {
            (0, 0) => String::new(),
            (_, 0) => format!("; removed {}", plural(removed, "can-gw job")),
            (_, _) => format!("; removed {}, {missing} were gone already", plural(removed, "can-gw job")),
        };
        self.out(format!("ended by {signal}{jobs}\n"));
    }

    /// Waits a moment until all is written.
    pub(super) fn finish(self) {
        self.output.finish();
    }

    fn out(&self, text: String) {
        self.output.say(Stream::Output, text);
    }
}

/// What the kernel says of what `[realtime]` asked for; `None` if it asked for nothing.
fn obtained(gateway: &Gateway) -> Option<Obtained> {
    let is_asked = !gateway.plan().realtime().is_empty();
    is_asked.then(|| realtime::obtained(&Machine::here(), std::process::id()))
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
    // The other engines have one place only.
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

/// Why a route is in user space.
fn because(gateway: &Gateway, route: RouteIndex) -> Option<String> {
    gateway.placement().because(route).map(|because| because.in_words(gateway.plan()))
}

const fn format_name(format: FrameFormat) -> &'static str {
    match format {
        FrameFormat::Classic => "classic",
        FrameFormat::Fd => "fd",
    }
}

fn table<'a>(rows: impl Iterator<Item = (&'a str, &'a RouteCounters)>, elapsed: Duration, moment: Moment) -> String {
    let title = match moment {
        Moment::Running => format!("after {:.1} s", elapsed.as_secs_f64()),
        Moment::End => format!("at the end, after {:.1} s", elapsed.as_secs_f64()),
    };
    let rows: Vec<_> = rows.collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).chain([title.len()]).max().unwrap_or_default();
    let mut text = format!("{title:width$}  {:>12}  {:>12}  {:>12}\n", "handled", "dropped", "deleted");
    for (name, RouteCounters { handled, dropped, deleted, drops, .. }) in rows {
        let _ = write!(text, "{name:width$}  {handled:>12}  {dropped:>12}  {deleted:>12}");
        let reasons = drops.by_reason().into_iter().filter(|(_, frames)| *frames > 0);
        let reasons: Vec<_> = reasons.map(|(reason, frames)| format!("{reason} {frames}")).collect();
        let _ = writeln!(text, "{}{}", if reasons.is_empty() { "" } else { "  dropped: " }, reasons.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use candor_engine::Drops;

    use super::*;

    #[test]
    fn the_table_lines_up() {
        let drops = Drops { full: 4, expired: 2, ..Drops::default() };
        let speed = RouteCounters { handled: 12_345, dropped: 6, drops, ..RouteCounters::default() };
        let rows = [("speed", &speed), ("a route with a long name for the dashboard", &RouteCounters::default())];
        insta::assert_snapshot!(table(rows.into_iter(), Duration::from_millis(1500), Moment::End), @r"
        at the end, after 1.5 s                          handled       dropped       deleted
        speed                                              12345             6             0  dropped: full 4, expired 2
        a route with a long name for the dashboard             0             0             0
        ");
    }
}
