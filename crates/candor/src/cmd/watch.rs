//! `candor watch`: what the rules of a gateway say of the frames on its buses, without a gateway.
//!
//! ```text
//!  sockets ─▶ listening ─▶ RuleSet (as in user space) ─┬─ taken: the guards and checks of the routes count
//!                                                      └─ by no route: Unlisted
//!                          look ◀─ every 250 ms: what they counted becomes alarms
//! ```

mod json;
mod unlisted;

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use candor_cli::gateway_file::{Form, GatewayFile, plural};
use candor_cli::table::{cells, table};
use candor_cli::{Exit, Outcome, render};
use candor_config::plan::{BusIndex, Plan};
use candor_core::frame::{CAN_ERR_FLAG, RawId};
use candor_core::job::{Job, RealtimeNs};
use candor_core::ruleset::{RuleSet, Visit};
use candor_engine::{GuardFinding, Guards, Recurring};
use candor_io::can::Heard;
use candor_io::signal::EndingSignals;
use candor_netlink::client::Client;
use candor_netlink::link;

use super::listening::{self, Listener, Port};
use super::run::report::events::AlarmView;
use super::{in_mode, init};
use crate::cli::{Through, WatchArgs};
use crate::netns;
pub(super) use json::Event;
use json::{CheckView, RouteView, UnlistedView, WatchingView};
use unlisted::Unlisted;

/// Between two looks at what was counted.
const LOOK: Duration = Duration::from_millis(250);

pub(crate) fn run(args: &WatchArgs) -> Outcome {
    netns::enter(&args.netns)?;
    let signals = EndingSignals::block()?;
    let file = GatewayFile::read(&args.file)?;
    let Some(loaded) = file.gateway_and_warnings(Form::running(args.json))? else { return Ok(Exit::No) };
    let plan = &in_mode(loaded.plan.clone(), args.mode.as_deref())?;
    let mut ports = open(args, plan)?;
    let mut watch = Watch::new(plan, args.json);
    watch.begin(&args.file.display().to_string(), &ports)?;
    let listened = listening::listen(&mut ports, args.duration, &signals, &mut watch);
    watch.end(&ports)?;
    listened?;
    Ok(if watch.alarms == 0 { Exit::Fine } else { Exit::No })
}

/// The buses from which routes come, or those that the arguments name.
fn open(args: &WatchArgs, plan: &Plan) -> Result<Vec<Port<BusIndex>>, Box<dyn Error>> {
    let has_routes = |bus: BusIndex| plan.routes().iter().any(|route| route.from == bus);
    let find = |name: &String| {
        let find = |is: &dyn Fn(&candor_config::plan::Bus) -> bool| plan.buses().iter().position(is);
        let found = find(&|bus| bus.name == *name).or_else(|| find(&|bus| bus.interface == *name)).map(BusIndex);
        let found = found.ok_or_else(|| {
            let names: Vec<_> = plan.buses().iter().map(|bus| bus.name.as_str()).collect();
            format!("--on {name}: the file has no such bus; it has {}", names.join(", "))
        })?;
        if !has_routes(found) {
            return Err(format!("--on {name}: no route comes from this bus, so every frame would be reported"));
        }
        Ok(found)
    };
    let mut buses = if args.on.is_empty() {
        (0..plan.buses().len()).map(BusIndex).filter(|bus| has_routes(*bus)).collect()
    } else {
        args.on.iter().map(find).collect::<Result<Vec<_>, _>>()?
    };
    buses.sort_unstable();
    buses.dedup();
    if buses.is_empty() {
        return Err(
            "the file has no routes, which say what is allowed; candor-lab learn allow writes them from logs".into()
        );
    }
    listening::check_number(buses.len())?;
    let links = link::list(&mut Client::open()?)?;
    buses
        .into_iter()
        .map(|bus| Port::open(bus, init::named(&links, &plan.bus(bus).interface)?, Some(Through::Socket)))
        .collect()
}

struct Watch<'a> {
    plan: &'a Plan,
    jobs: Vec<Job>,
    rules: RuleSet,
    guards: Guards,
    /// By route and bad verdict of its check.
    verdicts: Vec<Vec<Recurring>>,
    /// By bus.
    unlisted: Vec<Unlisted>,
    /// By route.
    passed: Vec<u64>,
    refused: Vec<u64>,
    /// How often frames were missed.
    silences: Vec<u64>,
    frames: u64,
    /// Alarms that began.
    alarms: u64,
    looked: Option<Instant>,
    started: Instant,
    json: bool,
    text: String,
}

impl<'a> Watch<'a> {
    fn new(plan: &'a Plan, json: bool) -> Self {
        let jobs = candor_config::lower(plan);
        let routes = plan.routes().len();
        Self {
            plan,
            rules: RuleSet::compile(&jobs, plan.buses().len()),
            jobs,
            guards: Guards::default(),
            verdicts: plan
                .routes()
                .iter()
                .map(|route| vec![Recurring::default(); route.bad_verdicts().len()])
                .collect(),
            unlisted: plan.buses().iter().map(|_bus| Unlisted::default()).collect(),
            passed: vec![0; routes],
            refused: vec![0; routes],
            silences: vec![0; routes],
            frames: 0,
            alarms: 0,
            looked: None,
            started: Instant::now(),
            json,
            text: String::new(),
        }
    }

    fn begin(&self, file: &str, ports: &[Port<BusIndex>]) -> io::Result<()> {
        let buses: Vec<&str> = ports.iter().map(|port| self.plan.bus(port.bus).name.as_str()).collect();
        let mut routes = 0;
        for route in self.plan.routes().iter().filter(|route| ports.iter().any(|port| port.bus == route.from)) {
            routes += 1;
            if route.claimed().is_some_and(|guard| guard.learns()) {
                render::err(&format!(
                    "note: route {:?}: `claimed` in j1939 is not judged, because nobody listens on the other bus; list the addresses\n",
                    route.name
                ));
            }
        }
        if self.json {
            return render::out(&render::line(&Event::Watching(WatchingView { file, buses, routes })));
        }
        render::err(&format!("watching {}: {}\n", buses.join(", "), plural(routes, "route")));
        Ok(())
    }

    /// Adds a line; `text` is a sentence.
    fn tell(&mut self, event: &Event<'_>, begins: bool, text: &str) {
        self.alarms += u64::from(begins);
        self.text += &if self.json { render::line(event) } else { format!("{text}\n") };
    }

    /// What was counted since the last look.
    fn raise(&mut self, now: Instant) {
        let plan = self.plan;
        // Nothing is sent.
        for event in self.guards.look(plan, now, |_alarm| None) {
            let view = AlarmView::of(&event, plan);
            let (begins, text) = (view.state == "begins", view.text());
            if let GuardFinding::Silent { .. } = event.what {
                self.silences[event.route.0] += 1;
            }
            self.tell(&Event::Alarm(view), begins, &text);
        }
        for (at, route) in plan.routes().iter().enumerate() {
            for (number, (verdict, total)) in route.bad_verdicts().into_iter().enumerate() {
                let told: Vec<_> = self.verdicts[at][number].look(total, now).collect();
                for told in told {
                    let view = CheckView::new(&route.name, verdict, told);
                    let text = view.text();
                    self.tell(&Event::Check(view), view.begins(), &text);
                }
            }
        }
        let mut news = Vec::new();
        for (unlisted, bus) in self.unlisted.iter_mut().zip(plan.buses()) {
            news.extend(unlisted.look(now).into_iter().map(|one| (bus.name.as_str(), one)));
        }
        for (bus, one) in &news {
            let view = UnlistedView::new(bus, one);
            let (begins, text) = (view.begins(), view.text());
            self.tell(&Event::Unlisted(view), begins, &text);
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.text.is_empty() {
            render::out(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }

    /// The last alarms, and the sums.
    fn end(&mut self, ports: &[Port<BusIndex>]) -> io::Result<()> {
        self.raise(Instant::now());
        let lost = ports.iter().map(Port::lost).sum();
        let routes = self.plan.routes().iter().enumerate();
        let routes = routes.filter(|(_, route)| ports.iter().any(|port| port.bus == route.from));
        let routes: Vec<_> = routes
            .map(|(at, route)| RouteView::new(route, self.passed[at], self.refused[at], self.silences[at]))
            .collect();
        let unlisted = self.unlisted.iter().map(Unlisted::frames).sum();
        let (frames, alarms) = (self.frames, self.alarms);
        if self.json {
            self.text += &render::line(&Event::End { frames, lost, alarms, unlisted, routes });
            return self.flush();
        }
        self.flush()?;
        let mut rows = vec![cells(["route", "allowed", "not allowed", "why"])];
        rows.extend(routes.iter().filter(|route| route.refused + route.violations() > 0).map(RouteView::row));
        let mut text = if rows.len() > 1 { table(&rows, 1..3) } else { String::new() };
        text += &format!(
            "frames: {frames} in {:.1} s, {unlisted} that no route takes; {}\n",
            self.started.elapsed().as_secs_f64(),
            plural(usize::try_from(alarms).unwrap_or(usize::MAX), "alarm"),
        );
        if lost > 0 {
            text += &format!("{lost} frames lost: they came faster than they were judged\n");
        }
        render::err(&text);
        Ok(())
    }
}

impl Listener<BusIndex> for Watch<'_> {
    fn frame(&mut self, _number: usize, bus: &BusIndex, heard: Heard, bytes: &[u8]) -> bool {
        let at = RealtimeNs(heard.at.0);
        let Some(id) = bytes.first_chunk().map(|id| RawId(u32::from_ne_bytes(*id))) else { return true };
        if id.0 & CAN_ERR_FLAG != 0 {
            return true;
        }
        self.frames += 1;
        let Self { jobs, rules, passed, refused, .. } = self;
        let mut judged = Judged { at, jobs, passed, refused, is_taken: false };
        rules.from_bus(*bus).route(bytes, &mut judged);
        if !judged.is_taken {
            self.unlisted[bus.0].take(id, at, bytes);
        }
        true
    }

    fn look(&mut self, _ports: &[Port<BusIndex>]) -> io::Result<Option<Duration>> {
        let now = Instant::now();
        if self.looked.is_none_or(|looked| now.duration_since(looked) >= LOOK) {
            self.looked = Some(now);
            self.raise(now);
        }
        self.flush()?;
        Ok(Some(LOOK))
    }
}

/// Counts what the routes do with a frame.
struct Judged<'a> {
    at: RealtimeNs,
    jobs: &'a [Job],
    passed: &'a mut [u64],
    refused: &'a mut [u64],
    is_taken: bool,
}

impl Visit for Judged<'_> {
    fn at(&self) -> RealtimeNs {
        self.at
    }

    fn pass(&mut self, job: usize, _to: BusIndex, _bytes: &[u8]) {
        self.is_taken = true;
        self.passed[self.jobs[job].route.0] += 1;
    }

    fn send(&mut self, job: usize, to: BusIndex, bytes: &[u8]) {
        self.pass(job, to, bytes);
    }

    fn delete(&mut self, job: usize) {
        self.is_taken = true;
        self.refused[self.jobs[job].route.0] += 1;
    }
}
