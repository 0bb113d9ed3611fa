//! `candor run`: starts the gateway of a file, supervises it, and removes it at the end.

mod egress;
mod links;
pub(super) mod log;
mod metrics;
mod output;
mod reload;
pub(super) mod report;
mod service;
mod startup;

use std::panic;
use std::time::{Duration, Instant};

use candor_config::changes::Changes;
use candor_config::config::Loaded;
use candor_config::plan::Plan;
use candor_core::causes::in_full;
use candor_core::diagnostic::{Diagnostic, Severity};
use candor_engine::reconcile::{self, DownCount};
use candor_engine::{Gateway, GatewayError, MeasureLatency};
use candor_io::signal::{EndingSignals, Sender, Signal, Woken};

use crate::cli::{Address, RunArgs};
use crate::cmd::audit::{Audit, Cause, FileView, SignedView, Who};
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::gateway_file::plural;
use candor_cli::render;
use egress::Egress;
use links::{LinkProgram, Links};
use metrics::{Metrics, Observer};
use reload::{Hangup, Origin, Reloader};
use report::{Counted, Moment, Report};
use service::Service;
use startup::Started;

/// Interval of checks without an event. Interface changes and ending threads wake the supervisor; this finds deleted jobs, and
/// is long because a check takes processor time from forwarding.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &RunArgs) -> Outcome {
    clear_after_panic();
    let Some(Started { plan, origin, signals, hangup, report, metrics, links }) = startup::start(args)? else {
        return Ok(Exit::No);
    };
    let outcome = forward(plan, origin, (args, links), &signals, hangup, &report, metrics);
    report.finish();
    outcome
}

/// A panic ends the process at once, without `Drop`, so the kernel would go on forwarding.
fn clear_after_panic() {
    let tell = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        tell(panic);
        let text = match reconcile::abandon() {
            Ok(DownCount { filters: 0, removed: 0, .. }) => "This is an error in candor, please report it.".to_owned(),
            Ok(done) => format!(
                "This is an error in candor, please report it. Nothing of this gateway forwards any more: {} of can-gw and {} of \
                 programs were removed from the kernel.",
                plural(done.removed, "job"),
                plural(done.filters, "filter"),
            ),
            Err(error) => format!(
                "This is an error in candor, please report it. The kernel may go on forwarding; `candor down` ends that: {}",
                in_full(&error)
            ),
        };
        render::err(&format!("{text}\n"));
    }));
}

/// The findings of a file above notes: a note concerns what the gateway itself finds out and reports at its start.
fn warnings(loaded: &Loaded) -> Vec<Diagnostic> {
    loaded.warnings.iter().filter(|finding| finding.severity < Severity::Note).cloned().collect()
}

/// Runs the gateway until a signal. Never blocks on output.
fn forward(
    plan: Plan,
    origin: Origin,
    (args, links): (&RunArgs, Option<LinkProgram>),
    signals: &EndingSignals,
    hangup: Hangup,
    report: &Report,
    mut metrics: Metrics,
) -> Outcome {
    if plan.is_only_traffic() {
        return Err(format!("{} has only traffic, for candor bounds: there is nothing to run", origin.name).into());
    }
    // Their interfaces are those of buses.
    let links = Links::start(&plan, &args.file, links, report)?;
    // Installed before the first frame and removed after the last one.
    let egress = Egress::start(&plan, report)?;
    let latency = if args.latency { MeasureLatency::Yes } else { MeasureLatency::No };
    let mut gateway = Gateway::start_with(plan, latency, &mut |notice| report.notice(&notice))?;
    let started = Instant::now();
    let mut reloader = Reloader::new(args, origin);
    if let Some(path) = reloader.metrics()
        && let Err(error) = metrics.listen(&Address::Unix(path))
    {
        report.warn(format!("warning: candor top cannot connect to this gateway: {}\n", in_full(&error)));
    }
    let Origin { name, contents, who, .. } = reloader.origin();
    report.started(&gateway, name, SignedView::of_file(contents));
    report.audit(&Audit {
        cause: Cause::Start,
        mode: None,
        who: *who,
        signal: None,
        files: FileView::all(contents),
        changes: Changes::between(None, Some(gateway.plan())),
        because: None,
    });
    let service = Service::new(report, started);
    service.ready(&report::what_runs(&gateway));
    let (stats, observer) = (args.stats, Observer::start(&gateway));
    let running = Running {
        signals,
        hangup,
        stats,
        started,
        report,
        reloader: &mut reloader,
        service,
        metrics,
        observer,
        egress,
        links,
    };
    let followed = running.follow(&mut gateway);
    let plan = gateway.plan().clone();
    let ended = |asked: Option<Asked>, because| {
        report.audit(&Audit {
            cause: Cause::End,
            mode: None,
            who: Who::sender(asked.and_then(|(_, sender)| sender)),
            signal: asked.map(|(signal, _)| signal.name()),
            files: FileView::all(&reloader.origin().contents),
            changes: Changes::between(Some(&plan), None),
            because,
        });
    };
    let (asked, egress, links) = match followed {
        Ok(followed) => followed,
        Err(error) => {
            drop(gateway);
            ended(None, Some(in_full(&*error)));
            return Err(error);
        }
    };
    let stopped = gateway.stop();
    ended(Some(asked), stopped.as_ref().err().map(|error| in_full(error)));
    let stopped = stopped?;
    drop(egress);
    drop(links);
    report.counters(&plan, Counted::of(&stopped), started.elapsed(), Moment::End);
    report.ended(asked.0, &stopped);
    Ok(Exit::Fine)
}

/// A signal and its sender.
type Asked = (Signal, Option<Sender>);

/// The event loop of a running gateway.
struct Running<'a, 'r> {
    signals: &'a EndingSignals,
    hangup: Hangup,
    stats: Option<Duration>,
    started: Instant,
    report: &'a Report,
    reloader: &'r mut Reloader<'a>,
    service: Service<'a>,
    metrics: Metrics,
    observer: Observer,
    egress: Egress<'a>,
    links: Links<'a>,
}

impl<'a> Running<'a, '_> {
    /// Runs until a signal ends the gateway; prints counters at the interval of `--stats`.
    fn follow(mut self, gateway: &mut Gateway) -> Result<(Asked, Egress<'a>, Links<'a>), Box<dyn std::error::Error>> {
        let interval = self.stats.unwrap_or(CHECK_INTERVAL);
        let mut next = self.started + interval;
        loop {
            // An ending signal takes precedence over everything else.
            let now = Instant::now();
            let due = next.saturating_duration_since(now);
            let occasions = [gateway.check_within(), self.service.due_within(now)];
            let occasion = occasions.into_iter().flatten().fold(due, Duration::min);
            let asked = self.wait(now + occasion, gateway)?;
            if let Some(asked) = asked.filter(|(signal, _)| *signal != Signal::Hangup || self.hangup.is_end()) {
                self.service.stopping();
                return Ok((asked, self.egress, self.links));
            }
            gateway.check()?.iter().for_each(|notice| self.report.notice(notice));
            self.egress.look();
            self.links.look();
            self.service.is_alive(Instant::now());
            self.metrics
                .answer(|| self.observer.text(gateway, self.started.elapsed(), &self.egress, self.links.states()));
            if let Some((_, sender)) = asked {
                self.service.reloading();
                self.reloader.reload(gateway, (&mut self.egress, &mut self.links), self.report, sender)?;
                self.service.ready(&report::what_runs(gateway));
            }
            let now = Instant::now();
            if now >= next {
                next = following(next, interval, now);
                if self.stats.is_some() {
                    let elapsed = self.started.elapsed();
                    let (routes, frames, buses) = (gateway.counters(), gateway.frame_counters(), gateway.buses());
                    let counted = Counted { routes: &routes, frames: &frames, buses: &buses };
                    self.report.counters(gateway.plan(), counted, elapsed, Moment::Running);
                }
            }
        }
    }

    /// Enters or leaves modes for frames that were received, or because their time is over.
    fn look_at_modes(&mut self, gateway: &mut Gateway) -> Result<(), GatewayError> {
        let report = self.report;
        if let Some(change) = gateway.look_at_modes(&mut |notice| report.notice(&notice))? {
            self.reloader.tell_mode(&change, (Who::default(), None), gateway, report);
            self.service.ready(&report::what_runs(gateway));
        }
        Ok(())
    }

    /// Waits for a signal, an event or the given time. Control groups, guards and modes are looked at more often in between: a full
    /// check would be too expensive for that.
    fn wait(&mut self, until: Instant, gateway: &mut Gateway) -> Result<Option<Asked>, Box<dyn std::error::Error>> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let groups = self.egress.groups_due_within().filter(|within| *within < left);
            let looks = [gateway.guards_due_within(), gateway.modes_due_within()].into_iter().flatten();
            let look = looks.filter(|within| *within < left);
            let woken = self.signals.wait_or_check(groups.into_iter().chain(look).min().unwrap_or(left))?;
            if gateway.guards_due_within().is_some_and(|within| within.is_zero()) {
                gateway.look_at_guards().iter().for_each(|event| self.report.alarm(event, gateway.plan()));
            }
            if gateway.modes_due_within().is_some_and(|within| within.is_zero()) {
                self.look_at_modes(gateway)?;
            }
            let is_early = Instant::now() < until;
            match woken {
                Woken::Signal(signal, sender) => return Ok(Some((signal, sender))),
                Woken::Timeout if is_early && !(groups.is_some() && self.egress.have_groups_moved()) => {}
                Woken::Check | Woken::Timeout => return Ok(None),
            }
        }
    }
}

/// The time of the check after the one that was due at `due`; late checks are not caught up.
fn following(due: Instant, interval: Duration, now: Instant) -> Instant {
    match due + interval {
        next if next > now => next,
        _ => now + interval,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_check_is_followed_by_a_full_interval() {
        let (due, interval) = (Instant::now(), Duration::from_secs(2));
        assert_eq!(following(due, interval, due + Duration::from_millis(1)), due + interval);
        let late = due + Duration::from_secs(5);
        assert_eq!(following(due, interval, late), late + interval);
    }
}
