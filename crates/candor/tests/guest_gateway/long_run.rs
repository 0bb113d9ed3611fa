//! The long run: two adapters at half load, while the file is reloaded, adapters are replaced, controllers go bus-off, and
//! the disk of the run directory is full. Every frame arrives once and in order, or its loss is in the counters. In the end
//! candor has no page and no descriptor more than after the warm-up, and the kernel no job and no socket.
//!
//! `cargo xtask soak` runs it for hours of a clock that skips idle time; without that, a minute takes a minute.

mod side;

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering::Relaxed;

use candor_core::units::parse_duration;

use self::side::{Adapter, Side};
use crate::candor::write;
use crate::metrics::talk;
use crate::prelude::*;

const NEEDS: &[Feature] = &[Feature::Root, Feature::Slcan, Feature::Vcan, Feature::Cangw];
const ENGINES: &str = "kernel,mmap-adaptive";
const NAMES: [&str; 2] = ["left", "right"];

/// A frame of 8 bytes takes 112 µs at 1 Mbit/s. Half of the bus, and half of that in each direction.
const INTERVAL: Duration = Duration::from_micros(448);
/// Frames that come at once, because wake-ups take most of the time.
const GROUP: u32 = 60;
const QUEUE: u32 = 100;
/// Frames that candor and the adapter can hold at the end of an adapter.
const IN_FLIGHT: u64 = (QUEUE + 2 * GROUP) as u64;

/// The heap's order varies with the time of the events.
const PAGES: u64 = 4;

const SECOND: Duration = Duration::from_secs(1);
/// The run continues if no frame has moved for so long.
const CALM: Duration = Duration::from_millis(300);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Reload,
    /// An adapter of this side is unplugged, and another one plugged in: a virtual one, or one with a controller (slcan),
    /// which costs a system call for each frame.
    Virtual(usize),
    Controller(usize),
    BusOff(usize),
    /// The disk is full during a reload.
    FullDisk,
    /// The disk is full when an adapter comes back.
    VirtualOnFullDisk(usize),
}

const EVENTS: [Event; 11] = [
    Event::Reload,
    Event::Virtual(1),
    Event::FullDisk,
    Event::Controller(0),
    Event::BusOff(0),
    Event::Virtual(0),
    Event::Reload,
    Event::VirtualOnFullDisk(1),
    Event::Controller(1),
    Event::BusOff(1),
    Event::Virtual(1),
];

impl Event {
    /// The side whose adapter is replaced.
    const fn replaced(self) -> Option<usize> {
        match self {
            Self::Virtual(side) | Self::Controller(side) | Self::VirtualOnFullDisk(side) => Some(side),
            Self::Reload | Self::BusOff(_) | Self::FullDisk => None,
        }
    }
}

/// Frames from one side to the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    sent: u64,
    /// Those sent while an adapter was missing, or its interface was not noticed yet.
    exposed: u64,
    heard: u64,
    /// By candor's routes.
    handled: u64,
    dropped: u64,
    /// In candor's socket or ring.
    lost: u64,
    /// By the interfaces of both sides, which start at 0 with an adapter.
    came: u64,
    left: u64,
}

/// Account of all frames, with each reason for a missing one.
#[derive(Clone, Copy, Debug, Default)]
struct Ledger {
    sent: u64,
    heard: u64,
    dropped: u64,
    lost: u64,
    /// Handled, but lost in the queue of a controller that went bus-off, or in an unplugged one.
    unsent: u64,
    /// Neither, while an adapter was missing.
    away: u64,
}

/// Resources that must not grow: resident pages and descriptors of candor; jobs, sockets and CAN filters of the whole kernel.
type Held = [u64; 5];

fn most(one: Held, other: Held) -> Held {
    std::array::from_fn(|at| one[at].max(other[at]))
}

struct LongRun {
    engine: String,
    sides: [Side; 2],
    candor: Candor,
    marker: u8,
    next_group: Instant,
    exposed: [u64; 2],
    is_exposed: bool,
    before: [Count; 2],
    ledger: [Ledger; 2],
    events: u32,
    scene: Scenario,
}

impl LongRun {
    fn start(engine: &str) -> Option<Self> {
        let scene = Scenario::new(NEEDS, [])?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs"]).arg(scene.run_dir.path());
        assert!(mount.status().unwrap().success());
        let mut sides = [Side::new(NAMES[0], 0x123), Side::new(NAMES[1], 0x124)];
        sides.iter_mut().for_each(Side::plug_in_virtual);
        let candor = scene.run(&gateway(1), engine).start_from(&scene.files.path().join("candor.toml"));
        Some(Self {
            engine: engine.to_owned(),
            sides,
            candor,
            marker: 1,
            next_group: Instant::now(),
            exposed: [0; 2],
            is_exposed: false,
            before: [Count::default(); 2],
            ledger: [Ledger::default(); 2],
            events: 0,
            scene,
        })
    }

    /// Frames in both directions for this time.
    fn flow(&mut self, time: Duration) {
        self.next_group = self.next_group.max(Instant::now());
        let end = self.next_group + time;
        while self.next_group < end {
            for (side, exposed) in self.sides.iter_mut().zip(&mut self.exposed) {
                let sent = side.send_group();
                *exposed += if self.is_exposed { sent } else { 0 };
            }
            self.next_group += INTERVAL * GROUP;
            std::thread::sleep(self.next_group.saturating_duration_since(Instant::now()));
            self.sides.iter_mut().for_each(Side::hear);
        }
    }

    /// Reloads the file with another marker.
    fn reload(&mut self) -> Value {
        write(&self.scene.files.path().join("candor.toml"), &gateway(self.marker ^ 3));
        let answer = self.candor.reload();
        self.marker ^= if answer["event"] == "reloaded" { 3 } else { 0 };
        answer
    }

    /// Frames flow while there is no room in the run directory.
    fn with_full_disk<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        let path = self.scene.run_dir.path().join("filler");
        let mut filler = fs::File::create(&path).unwrap();
        while filler.write_all(&[0; 4096]).is_ok() {}
        let done = act(self);
        self.flow(SECOND);
        fs::remove_file(path).unwrap();
        done
    }

    fn unplug(&mut self, side: usize) {
        self.is_exposed = true;
        self.sides[side].unplug();
        self.flow(SECOND / 2);
    }

    fn is_back(&mut self) {
        self.flow(SECOND / 2);
        self.candor.notice_with("is back; its routes continue");
        self.is_exposed = false;
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Reload => assert_eq!(self.reload()["event"], "reloaded"),
            Event::Virtual(side) => {
                self.unplug(side);
                self.sides[side].plug_in_virtual();
                self.is_back();
            }
            Event::Controller(side) => {
                self.unplug(side);
                self.sides[side].plug_in_controller();
                self.is_back();
            }
            Event::BusOff(side) => {
                // Frames queue up until the controller gives up.
                self.sides[side].heard.is_disturbed.store(true, Relaxed);
                self.flow(2 * INTERVAL * GROUP);
                self.sides[side].off_at = self.sides[side].heard.opened.load(Relaxed);
                self.sides[side].say("sb256256\r");
                self.sides[side].heard.is_disturbed.store(false, Relaxed);
                self.flow(SECOND);
                self.candor.notice_with("is back on its bus");
            }
            Event::FullDisk => {
                let answer = self.with_full_disk(Self::reload);
                assert!(answer["because"].as_str().unwrap().contains("No space left on device"), "{answer}");
                assert_eq!(self.reload()["event"], "reloaded");
            }
            Event::VirtualOnFullDisk(side) => {
                self.unplug(side);
                self.with_full_disk(|run| run.sides[side].plug_in_virtual());
                self.candor.notice_with("No space left on device");
                // The next check is after a second.
                self.flow(2 * SECOND);
                self.is_exposed = false;
            }
        }
    }

    fn count(&self) -> [Count; 2] {
        let files = self.scene.run_dir.path().read_dir().unwrap().map(|entry| entry.unwrap().path());
        let socket = files.into_iter().find(|path| path.extension().is_some_and(|end| end == "metrics")).unwrap();
        let text = talk(UnixStream::connect(socket).unwrap());
        [0, 1].map(|from| {
            let [from_side, to] = [&self.sides[from], &self.sides[1 - from]];
            let sum = |metric: &str, label: &str| {
                let label = format!("{label}=\"{}\"", from_side.name);
                let lines = text.lines().filter(|line| line.starts_with(metric) && line.contains(&label));
                lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum::<u64>()
            };
            Count {
                sent: from_side.sent.into(),
                exposed: self.exposed[from],
                heard: to.heard.frames.load(Relaxed),
                handled: sum("candor_route_handled_frames_total{", "from"),
                dropped: sum("candor_route_dropped_frames_total{", "from"),
                lost: sum("candor_bus_lost_frames_total{", "bus"),
                came: from_side.statistic("rx_packets"),
                left: to.statistic("tx_packets"),
            }
        })
    }

    /// Checks that the frames of the last event have arrived or are counted.
    fn settle(&mut self, event: Event) {
        let mut now = self.count();
        loop {
            std::thread::sleep(CALM);
            self.sides.iter_mut().for_each(Side::hear);
            let before = std::mem::replace(&mut now, self.count());
            if before == now {
                break;
            }
        }
        for from in [0, 1] {
            let (before, now) = (self.before[from], now[from]);
            let context = format!("{} {event:?} from {}: {before:?} {now:?}", self.engine, NAMES[from]);
            let by = |count: fn(Count) -> u64| count(now) - count(before);
            let (sent, heard, exposed) = (by(|c| c.sent), by(|c| c.heard), by(|c| c.exposed));
            let (handled, dropped, lost) = (by(|c| c.handled), by(|c| c.dropped), by(|c| c.lost));
            let to = 1 - from;
            assert!(sent > 0 && heard > 0, "{context}");
            let unordered = self.sides[to].heard.unordered.load(Relaxed);
            assert_eq!(unordered, 0, "doubled or out of order: {context}");
            assert_eq!(self.sides[to].heard.marker.load(Relaxed), self.marker, "{context}");

            let missing = sent.checked_sub(heard + dropped + lost).unwrap_or_else(|| panic!("{context}"));
            let is_kernel = self.engine == "kernel";
            let (unsent, away) = match event.replaced() {
                None => {
                    assert_eq!(sent, handled + dropped + lost, "{context}");
                    assert_eq!(sent, by(|c| c.came), "{context}");
                    // The driver does not count a frame whose end it did not see.
                    assert!((heard - 1..=heard).contains(&by(|c| c.left)), "{context}");
                    (missing, 0)
                }
                // The counters of a job go with its interface.
                Some(_) if is_kernel => (0, missing),
                Some(side) => {
                    let unseen = sent.checked_sub(handled + dropped + lost).unwrap_or_else(|| panic!("{context}"));
                    assert!(unseen == 0 || side == from, "{context}");
                    (missing - unseen, unseen)
                }
            };
            let may_be_unsent = match event {
                Event::BusOff(side) => side == to,
                event => event.replaced() == Some(to),
            };
            assert!(unsent == 0 || may_be_unsent && unsent <= IN_FLIGHT, "{unsent} frames: {context}");
            assert!(away <= exposed, "{away} frames: {context}");
            let ledger = &mut self.ledger[from];
            for (total, one) in [
                (&mut ledger.sent, sent),
                (&mut ledger.heard, heard),
                (&mut ledger.dropped, dropped),
                (&mut ledger.lost, lost),
                (&mut ledger.unsent, unsent),
                (&mut ledger.away, away),
            ] {
                *total += one;
            }
        }
        self.before = now;
        self.events += 1;
    }

    fn held(&self) -> Held {
        let read = |path: &str| fs::read_to_string(path).unwrap();
        let word = |text: &str, at: usize| text.split_whitespace().nth(at).unwrap().parse().unwrap();
        let proc = format!("/proc/{}", self.candor.pid());
        let pages = word(&read(&format!("{proc}/statm")), 1);
        let descriptors = fs::read_dir(format!("{proc}/fd")).unwrap().count();
        let jobs = cangw::dump(&mut Client::open().unwrap()).unwrap().len();
        let sockets = word(&read("/proc/net/sockstat"), 2);
        let statistics = read("/proc/net/can/stats");
        let filters = statistics.lines().find(|line| line.contains("current receive list entries")).unwrap();
        [pages, descriptors as u64, jobs as u64, sockets, word(filters, 0)]
    }
}

impl Drop for LongRun {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.scene.run_dir.path()).status();
        for side in self.sides.iter_mut().filter(|side| side.adapter.is_some()) {
            side.unplug();
        }
    }
}

fn gateway(marker: u8) -> String {
    let tables = NAMES.map(|name| format!("[bus.{name}]\ninterface = \"t-{name}\"\nrestart-after = \"300ms\"\n"));
    let change = format!("and = {{ data = \"FFFFFFFFFFFFFF00\" }}\nor = {{ data = \"00000000000000{marker:02X}\" }}");
    let one = |name, uid: u8, id, from, to| {
        let keys = format!("match = \"{id}\"\nframes = \"classic\"\nuid = \"{uid:02X}\"\n{change}");
        route(name, from, to, &keys)
    };
    let further = if marker == 1 { String::new() } else { route("further", "left", "right", "match = \"7F0\"") };
    tables.concat() + &one("over", 1, "123", "left", "right") + &one("back", 2, "124", "right", "left") + &further
}

#[test]
#[ignore = "runs in a guest"]
fn two_buses_under_load_while_everything_happens() {
    let chosen = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let time = parse_duration(&chosen("CANDOR_SOAK_TIME", "1min")).unwrap();
    for engine in chosen("CANDOR_SOAK_ENGINES", ENGINES).split(',') {
        let Some(mut run) = LongRun::start(engine) else { return };
        let began = Instant::now();
        let is_short = time < Duration::from_secs(1800);
        let (mut warm, mut later) = (Held::default(), Held::default());
        while began.elapsed() < time {
            let mut held = Held::default();
            for event in EVENTS {
                // Frames to a controller take longer.
                let is_slow = run.sides.iter().any(|side| matches!(side.adapter, Some(Adapter::Controller(_))));
                run.flow(if is_slow || is_short { SECOND / 2 } else { 30 * SECOND });
                run.happen(event);
                run.flow(SECOND / 2);
                run.settle(event);
                held = most(held, run.held());
            }
            let hours = began.elapsed().as_secs_f64() / 3600.0;
            let [pages, descriptors, jobs, sockets, filters] = held;
            println!(
                "{engine}, {hours:.2} h, {} events: {pages} pages, {descriptors} descriptors; in the kernel {jobs} jobs, \
                 {sockets} sockets, {filters} filters",
                run.events
            );
            for (name, ledger) in NAMES.iter().zip(&run.ledger) {
                println!("  from {name}: {ledger:?}");
            }
            let is_warm = warm != Held::default() && began.elapsed() >= time / 2;
            let part = if is_warm { &mut later } else { &mut warm };
            *part = most(*part, held);
        }
        later[0] = later[0].saturating_sub(PAGES);
        assert_eq!(most(later, warm), warm, "{engine}: something has grown");
    }
}
