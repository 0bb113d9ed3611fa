//! Measures vehicles, each a bridge in a process of its own, through one router: what arrives, what is lost, and memory.
//!
//! `cargo run --release -p candor-bridge --example fleet -- run --router zenohd`
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement")]

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _, stdin};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use candor_bridge::bridge::Bridge;
use candor_bridge::bus::Bus;
use candor_bridge::counts::Counts;
use candor_bridge::payload;
use candor_bridge::settings;
use candor_core::frame::Frame;
use candor_io::clock;
use candor_io::signal::{self, Signal};
use clap::Parser;
use serde_json::Value;
use zenoh::{Config, Session, Wait as _};

#[derive(Debug, Parser)]
enum Cli {
    /// Start everything, and print the figures.
    Run(Fleet),
    /// A router of this build.
    Router { port: u16 },
    /// A bridge with a simulated bus. It starts with a line of its input, and ends with the next.
    Vehicle { name: String, port: u16, frames: u32, period_us: u32 },
}

#[derive(Debug, clap::Args)]
struct Fleet {
    /// Program `zenohd`; without it a router of this build.
    #[arg(long)]
    router: Option<String>,
    #[arg(long, default_value_t = 100)]
    vehicles: usize,
    /// Of each vehicle.
    #[arg(long, default_value_t = 3000)]
    frames: u32,
    /// Time between two frames of a vehicle.
    #[arg(long, default_value_t = 10_000)]
    period_us: u32,
    /// Stop the router by a signal in the middle, and start it again after this time.
    #[arg(long)]
    restart_after_ms: Option<u64>,
}

fn main() {
    match Cli::parse() {
        Cli::Run(fleet) => fleet.run(),
        Cli::Router { port } => {
            let _session = session("router", "listen", port);
            stdin().lines().for_each(drop);
        }
        Cli::Vehicle { name, port, frames, period_us } => vehicle(&name, port, frames, period_us),
    }
}

/// A configuration without multicast.
fn config(mode: &str, key: &str, port: u16) -> String {
    let other = if key == "listen" { "connect" } else { "listen" };
    format!(
        "{{ mode: \"{mode}\", scouting: {{ multicast: {{ enabled: false }} }}, {other}: {{ endpoints: [] }}, \
         {key}: {{ endpoints: [\"tcp/127.0.0.1:{port}\"] }} }}"
    )
}

fn session(mode: &str, key: &str, port: u16) -> Session {
    zenoh::open(Config::from_json5(&config(mode, key, port)).unwrap()).wait().unwrap()
}

/// A bus with a frame in each period.
#[derive(Debug)]
struct Simulated {
    period: Duration,
    frames: u32,
    sent: AtomicU32,
    start: Mutex<Option<Instant>>,
}

impl Bus for Simulated {
    fn read(&self, timeout: Duration, take: &mut dyn FnMut(Frame, u64)) -> u64 {
        let (sent, start) = (self.sent.load(Ordering::Relaxed), *self.start.lock().unwrap());
        let Some(start) = start.filter(|_start| sent < self.frames) else {
            thread::sleep(timeout);
            return 0;
        };
        thread::sleep((start + self.period * sent).saturating_duration_since(Instant::now()));
        let stamp = clock::realtime().unwrap().0;
        take("123#1122334455667788".parse().unwrap(), u64::try_from(stamp).unwrap());
        self.sent.store(sent + 1, Ordering::Relaxed);
        0
    }

    fn write(&self, _: &Frame) -> bool {
        false
    }
}

fn vehicle(name: &str, port: u16, frames: u32, period_us: u32) {
    let text = format!(
        "[bus.front]\ninterface = \"can0\"\n[zenoh]\nprefix = \"candor/{name}\"\nconfig = \"zenoh.json5\"\nmax-age = \"1min\"\n"
    );
    let zenoh = config("client", "connect", port).into_bytes();
    let (settings, _) = settings::load(text.as_bytes(), &|_| Ok(zenoh.clone())).unwrap();
    let bus = Arc::new(Simulated {
        period: Duration::from_micros(period_us.into()),
        frames,
        sent: AtomicU32::new(0),
        start: Mutex::new(None),
    });
    let bridge = Bridge::start(&settings, &[Arc::clone(&bus) as Arc<dyn Bus>], |_| {});
    let mut lines = stdin().lines();
    let _start = lines.next();
    *bus.start.lock().unwrap() = Some(Instant::now());
    // The frames of a batch that Zenoh is just taking are in no counter.
    let is_settled = |counts: &Counts| counts.published + counts.dropped.values().sum::<u64>() == u64::from(frames);
    while !is_settled(&bridge.counts()) {
        thread::sleep(Duration::from_millis(100));
    }
    println!("{}", serde_json::to_string(&bridge.counts()).unwrap());
    let _end = lines.next();
    let _ = bridge.stop();
}

/// The most memory that a process had so far, in KiB.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Time of the processor that a process had so far, in seconds.
fn cpu(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    fields.skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

/// Frames by key, their highest number, and all times from a stamp to here in microseconds.
#[derive(Debug, Default)]
struct Heard {
    keys: HashMap<String, (u64, u32)>,
    took_us: Vec<u64>,
}

fn listen(session: &Session) -> Arc<Mutex<Heard>> {
    let heard = Arc::new(Mutex::new(Heard::default()));
    let into = Arc::clone(&heard);
    let take = move |sample: zenoh::sample::Sample| {
        let now = u64::try_from(clock::realtime().unwrap().0).unwrap();
        let sent = payload::decode(&sample.payload().to_bytes()).unwrap();
        let mut heard = into.lock().unwrap();
        let (count, highest) = heard.keys.entry(sample.key_expr().to_string()).or_default();
        *count += 1;
        *highest = sent.number.max(*highest);
        heard.took_us.push(now.saturating_sub(sent.stamp_ns) / 1000);
    };
    session.declare_subscriber("candor/*/front/frame/*").callback(take).background().wait().unwrap();
    heard
}

impl Fleet {
    fn router(&self, port: u16) -> Child {
        let own = std::env::current_exe().unwrap();
        let mut command = match &self.router {
            Some(program) => {
                let mut command = Command::new(program);
                command.arg("--no-multicast-scouting");
                command.args(["--listen", &format!("tcp/127.0.0.1:{port}")]);
                command
            }
            None => {
                let mut command = Command::new(own);
                command.args(["router", &port.to_string()]);
                command
            }
        };
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn run(&self) {
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let mut router = self.router(port);
        let subscriber = session_when_there(port);
        let heard = listen(&subscriber);
        let mut vehicles: Vec<(Child, ChildStdin)> = (0..self.vehicles)
            .map(|at| {
                let mut command = Command::new(std::env::current_exe().unwrap());
                command.args(["vehicle", &format!("car{at}"), &port.to_string()]);
                command.args([self.frames, self.period_us].map(|number| number.to_string()));
                let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
                let input = child.stdin.take().unwrap();
                (child, input)
            })
            .collect();
        // Until all of them are connected.
        thread::sleep(Duration::from_secs(10));
        let begin = Instant::now();
        vehicles.iter_mut().for_each(|(_, input)| writeln!(input).unwrap());
        if let Some(pause) = self.restart_after_ms {
            let half = Duration::from_micros(u64::from(self.frames) * u64::from(self.period_us) / 2);
            thread::sleep(half);
            signal::send(router.id(), Signal::Terminate).unwrap();
            router.wait().unwrap();
            thread::sleep(Duration::from_millis(pause));
            router = self.router(port);
        }
        let counts: Vec<Value> = vehicles
            .iter_mut()
            .map(|(child, _)| {
                let mut line = String::new();
                BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
                serde_json::from_str(&line).unwrap()
            })
            .collect();
        // What is on its way arrives.
        let count = || heard.lock().unwrap().took_us.len();
        let mut known = 0;
        while count() != known {
            known = count();
            thread::sleep(Duration::from_secs(2));
        }
        let took = begin.elapsed() - Duration::from_secs(2);
        self.print(&counts, &heard.lock().unwrap(), took);
        let mut memory: Vec<_> = vehicles.iter().map(|(child, _)| peak(child.id())).collect();
        memory.sort_unstable();
        let busy: f64 = vehicles.iter().map(|(child, _)| cpu(child.id())).sum();
        println!("memory of a bridge: median {} KiB, most {} KiB", memory[memory.len() / 2], memory[memory.len() - 1]);
        println!("memory of the router {} KiB, of the subscriber {} KiB", peak(router.id()), peak(std::process::id()));
        println!(
            "time of processors: bridges {busy:.1} s, router {:.1} s, subscriber {:.1} s",
            cpu(router.id()),
            cpu(std::process::id())
        );
        for (mut child, input) in vehicles {
            drop(input);
            child.wait().unwrap();
        }
        subscriber.close().wait().unwrap();
        signal::send(router.id(), Signal::Terminate).unwrap();
        router.wait().unwrap();
    }

    fn print(&self, counts: &[Value], heard: &Heard, took: Duration) {
        let sum = |name: &str| counts.iter().filter_map(|one| one[name].as_u64()).sum::<u64>();
        let dropped: u64 = counts.iter().filter_map(|one| one["dropped"].as_object()?.values().next()?.as_u64()).sum();
        let arrived = heard.took_us.len() as u64;
        let gaps: u64 = heard.keys.values().map(|(count, highest)| u64::from(*highest) - count).sum();
        println!("{} vehicles, a frame in {} us each, {took:.1?}", self.vehicles, self.period_us);
        println!("frames: read {}, published {}, dropped {dropped}", sum("received"), sum("published"));
        println!("arrived {arrived}, gaps in their numbers {gaps}, from {} vehicles", heard.keys.len());
        println!("{:.0} frames/s", arrived as f64 / took.as_secs_f64());
        let mut took_us = heard.took_us.clone();
        took_us.sort_unstable();
        let quantile = |per_mille: usize| took_us.get(took_us.len() * per_mille / 1000).copied().unwrap_or_default();
        println!(
            "from stamp to subscriber: median {} us, p99 {} us, most {} us",
            quantile(500),
            quantile(990),
            took_us[took_us.len() - 1]
        );
    }
}

/// A session of a client, as soon as the router is there.
fn session_when_there(port: u16) -> Session {
    let mut config = Config::from_json5(&config("client", "connect", port)).unwrap();
    config.insert_json5("connect/timeout_ms", "-1").unwrap();
    zenoh::open(config).wait().unwrap()
}
