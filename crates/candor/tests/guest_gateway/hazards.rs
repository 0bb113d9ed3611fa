//! What `candor check` warns of, done to a real kernel: the harm is as it says.

use std::path::Path;
use std::time::{Duration, Instant};

use candor_config::config::{self, code};
use candor_config::plan::BusIndex;
use candor_core::filter::Filter;
use candor_core::frame::{FrameFormat, RawId};
use candor_core::job::Job;
use candor_egress::discipline::{Discipline, Etf};
use candor_egress::handle::Handle;
use candor_egress::netlink;
use candor_egress::tree::Qdisc;
use candor_io::can::{CanSocket, InterfaceIndex, Options, Stamps};
use candor_io::signal::Signal;
use candor_netlink::cangw::{self, CangwJob, JobCounters};
use candor_netlink::client::Client;
use serde_json::Value;

use crate::candor::{Ended, Run, notices};
use crate::frames::{classic, send, sender_on};
use crate::pair::Pair;
use crate::queues;
use crate::require::{Bus, Feature, require};

const FRAMES: u64 = 100;
const BUSES: &str = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n";
/// `CLOCK_TAI`, the only one that etf takes.
const CLOCK_TAI: i32 = 11;

#[test]
#[ignore = "runs in a guest"]
fn a_bridge_with_echo_deletes_one_frame_for_each_and_is_no_hazard() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let (left, _right) = (Bus::new("left"), Bus::new("right"));
    let text = format!("{BUSES}{}both-ways = true\necho = true\n", route("over"));
    assert_eq!(config::load(text.as_bytes()).unwrap().warnings, []);
    let ended = run_and_send(&text, &left, &[]);
    assert_eq!(counted(&ended, "over"), (FRAMES, 0, 0));
    assert_eq!(counted(&ended, "over/back"), (0, 0, FRAMES));
}

#[test]
#[ignore = "runs in a guest"]
fn a_ring_through_a_vxcan_pair_never_ends() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let text = "[bus.a]\ninterface = \"t-near\"\nvxcan-peer = \"b\"\n[bus.b]\ninterface = \"t-far\"\n\
                [[route]]\nname = \"round\"\nfrom = \"b\"\nto = \"a\"\nmatch = \"123\"\n";
    let findings = config::load(text.as_bytes()).unwrap_err();
    assert_eq!(findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), [code::CIRCULATES]);

    // No candor runs such a file, so the job is given to the kernel as it stands.
    let pair = Pair::new(["t-near", "t-far"]);
    let job = Job::plain(BusIndex(1), BusIndex(0), FrameFormat::Classic, Filter::exact(RawId(0x123)));
    let job = CangwJob::new(&job, pair.far, pair.near);
    let mut client = Client::open().unwrap();
    let listening = sender_on(pair.near);
    cangw::add(&mut client, &job).unwrap();

    // What came into the machine at the end to which the route leads stops there.
    send(&listening, &classic(0x123, &[1, 2, 3]));
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(count(&mut client, pair.near).handled, 0);

    // What came in at the other goes round until the job is taken away.
    let started = Instant::now();
    send(&sender_on(pair.far), &classic(0x123, &[1, 2, 3]));
    std::thread::sleep(Duration::from_millis(100));
    let seen = count(&mut client, pair.near);
    cangw::delete(&mut client, &job).unwrap();
    assert!(started.elapsed() < Duration::from_secs(1), "one frame kept the machine busy for {:?}", started.elapsed());
    assert!(seen.handled > 100 && (seen.dropped, seen.deleted) == (0, 0), "{seen:?}");
    println!("one frame went round {} times in 0.1 s", seen.handled);
}

#[test]
#[ignore = "runs in a guest"]
fn the_fq_qdisc_drops_frames_that_keep_their_time_stamps() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let (left, right) = (Bus::new("left"), Bus::new("right"));
    // Somebody has to ask for time stamps, or frames have none to keep.
    let _stamped = CanSocket::open(left.index, &Options { stamps: Stamps::On, ..Options::default() }).unwrap();
    let text = format!("{BUSES}{}echo = true\nkeep-timestamp = true\n", route("over"));
    let found: Vec<_> = config::load(text.as_bytes()).unwrap().warnings.iter().map(|finding| finding.code).collect();
    assert_eq!(found, [code::KEEPS_TIMESTAMP]);

    assert_eq!(counted(&run_and_send(&text, &left, &[]), "over"), (FRAMES, 0, 0));
    queues::set_root(right.index, Discipline::Other { kind: "fq".into(), options: Vec::new() });
    let said = ["Route \"over\" keeps timestamps, which the qdisc fq of t-right takes for the transmit time"];
    assert_eq!(counted(&run_and_send(&text, &left, &said), "over"), (0, FRAMES, 0));
    let without = text.replace("keep-timestamp = true\n", "");
    assert_eq!(counted(&run_and_send(&without, &left, &[]), "over"), (FRAMES, 0, 0));

    // The advice helps, and so does taking it away: vcan has none by default.
    queues::set_root(right.index, Discipline::PfifoFast);
    assert_eq!(counted(&run_and_send(&text, &left, &[]), "over"), (FRAMES, 0, 0));
    queues::delete_root(right.index);
    let there = netlink::qdiscs(&mut Client::open().unwrap()).unwrap().into_iter();
    let there = there.filter(|qdisc| qdisc.interface == right.index).map(|there| there.qdisc);
    let noqueue = Qdisc { handle: Handle::NONE, parent: Handle::ROOT, stab: None, discipline: Discipline::Noqueue };
    assert_eq!(there.collect::<Vec<_>>(), [noqueue]);
}

#[test]
#[ignore = "runs in a guest"]
fn the_etf_qdisc_drops_every_frame_of_a_gateway() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let (left, right) = (Bus::new("left"), Bus::new("right"));
    let clock_id = CLOCK_TAI;
    let etf = Etf { delta_ns: 0, clock_id, deadline_mode: false, offload: false, skip_sock_check: false };
    queues::set_root(right.index, Discipline::Etf(etf));
    let said = ["t-right has the qdisc etf, which drops frames without a transmit time"];
    for kept in ["", "keep-timestamp = true\n"] {
        let text = format!("{BUSES}{}echo = true\n{kept}", route("over"));
        assert_eq!(counted(&run_and_send(&text, &left, &said), "over"), (0, FRAMES, 0), "{kept}");
    }
}

fn route(name: &str) -> String {
    format!("[[route]]\nname = \"{name}\"\nfrom = \"left\"\nto = \"right\"\nmatch = \"123\"\nframes = \"classic\"\n")
}

/// Runs a gateway, which must say this at the start, while frames come in.
fn run_and_send(text: &str, from: &Bus, said: &[&str]) -> Ended {
    let run_dir = tempfile::tempdir().unwrap();
    let candor = start(text, run_dir.path()).start();
    let notices = notices(&candor.before_ready);
    assert_eq!(notices.len(), said.len(), "{notices:?}");
    for (notice, said) in notices.iter().zip(said) {
        assert!(notice.contains(said), "{notice}");
    }
    let sender = sender_on(from.index);
    (0..FRAMES).for_each(|_| send(&sender, &classic(0x123, &[1, 2, 3])));
    candor.end(Signal::Terminate)
}

fn start<'a>(gateway: &'a str, run_dir: &Path) -> Run<'a> {
    Run { gateway, engine: "kernel", run_dir: run_dir.to_owned(), uid: None }
}

/// Handled, dropped and deleted of a route.
fn counted(ended: &Ended, route: &str) -> (u64, u64, u64) {
    let counters = ended.event("final-counters")["routes"].as_array().unwrap().clone();
    let of = counters.into_iter().find(|counters| counters["route"] == route).unwrap();
    let number = |of: &Value, key: &str| of[key].as_u64().unwrap();
    (number(&of, "handled"), number(&of, "dropped"), number(&of, "deleted"))
}

fn count(client: &mut Client, destination: InterfaceIndex) -> JobCounters {
    cangw::dump(client).unwrap().into_iter().find(|job| job.destination == destination).unwrap().counters
}
