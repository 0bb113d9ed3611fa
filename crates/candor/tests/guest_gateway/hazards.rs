//! The hazards that `candor check` warns of, on a real kernel.

use candor_config::config::code;
use candor_core::filter::Filter;
use candor_egress::discipline::{Discipline, Etf};
use candor_egress::handle::Handle;
use candor_egress::netlink;
use candor_egress::tree::Qdisc;
use candor_io::can::Stamps;
use candor_netlink::cangw::JobCounters;

use crate::kernel;
use crate::prelude::*;
use crate::queues;

const FRAMES: u64 = 100;
/// `CLOCK_TAI` is the only clock that etf accepts.
pub(crate) const ETF: Etf =
    Etf { delta_ns: 0, clock_id: 11, deadline_mode: false, offload: false, skip_sock_check: false };

fn over(keys: &str) -> String {
    let keys = format!("match = \"123\"\nframes = \"classic\"\necho = true\n{keys}");
    LEFT_RIGHT.to_owned() + &route("over", "left", "right", &keys)
}

#[test]
#[ignore = "runs in a guest"]
fn a_bridge_with_echo_deletes_one_frame_for_each() {
    let Some(scene) = Scenario::new(VCAN_AND_CANGW, ["left", "right"]) else { return };
    let text = over("both-ways = true");
    assert_eq!(config::load(text.as_bytes()).unwrap().warnings, []);
    let ended = run_and_send(&scene, &text, &[]);
    assert_eq!(ended.counted("over"), [FRAMES, 0, 0]);
    assert_eq!(ended.counted("over/back"), [0, 0, FRAMES]);
}

#[test]
#[ignore = "runs in a guest"]
fn a_ring_through_a_vxcan_pair_never_ends() {
    let Some(_machine) = require(VCAN_AND_CANGW) else { return };
    let text = "[bus.a]\ninterface = \"t-near\"\nvxcan-peer = \"b\"\n[bus.b]\ninterface = \"t-far\"\n".to_owned()
        + &route("round", "b", "a", "match = \"123\"");
    let findings = config::load(text.as_bytes()).unwrap_err();
    assert_eq!(findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), [code::CIRCULATES]);

    // candor refuses such a file, so the test gives the job to the kernel.
    let pair = Pair::new(["t-near", "t-far"]);
    let job = Job::plain(BusIndex(1), BusIndex(0), FrameFormat::Classic, Filter::exact(RawId(0x123)));
    let job = CangwJob::new(&job, pair.far, pair.near);
    let mut client = Client::open().unwrap();
    let near = sender_on(pair.near);
    cangw::add(&mut client, &job).unwrap();

    // A frame that enters at the destination of the route stops there.
    send(&near, &classic(0x123, &[1, 2, 3]));
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(count(&mut client, pair.near).handled, 0);

    // One that enters at its source circulates until the job is deleted.
    let started = Instant::now();
    send(&sender_on(pair.far), &classic(0x123, &[1, 2, 3]));
    std::thread::sleep(Duration::from_millis(100));
    let seen = count(&mut client, pair.near);
    cangw::delete(&mut client, &job).unwrap();
    assert!(started.elapsed() < Duration::from_secs(1), "one frame kept the machine busy for {:?}", started.elapsed());
    assert!(seen.handled > 100 && (seen.dropped, seen.deleted) == (0, 0), "{seen:?}");
    println!("one frame circulated {} times in 0.1 s", seen.handled);
}

#[test]
#[ignore = "runs in a guest"]
fn fq_drops_frames_that_keep_their_timestamps_before_7_2() {
    let Some(scene) = Scenario::new(VCAN_AND_CANGW, ["left", "right"]) else { return };
    let right = scene.index("right");
    // Frames have timestamps only if a socket asks for them.
    let options = Options { stamps: Stamps::On, ..Options::default() };
    let _stamped = CanSocket::open(scene.index("left"), &options).unwrap();
    let text = over("keep-timestamp = true");
    let found: Vec<_> = config::load(text.as_bytes()).unwrap().warnings.iter().map(|finding| finding.code).collect();
    assert_eq!(found, [code::KEEPS_TIMESTAMP]);

    let counted = |text: &str, notices: &[&str]| run_and_send(&scene, text, notices).counted("over");
    assert_eq!(counted(&text, &[]), [FRAMES, 0, 0]);
    queues::set_root(right, Discipline::Other { kind: "fq".into(), options: Vec::new() });
    let notice = "Route \"over\" keeps timestamps, which the qdisc fq of t-right takes for the transmit time";
    if kernel::version() < (7, 2, 0) {
        assert_eq!(counted(&text, &[notice]), [0, FRAMES, 0]);
    } else {
        assert_eq!(counted(&text, &[]), [FRAMES, 0, 0]);
    }
    assert_eq!(counted(&over(""), &[]), [FRAMES, 0, 0]);

    // Both remedies work: another qdisc, and none, the default of vcan.
    queues::set_root(right, Discipline::PfifoFast);
    assert_eq!(counted(&text, &[]), [FRAMES, 0, 0]);
    queues::delete_root(right);
    let qdiscs = netlink::qdiscs(&mut Client::open().unwrap()).unwrap().into_iter();
    let qdiscs = qdiscs.filter(|found| found.interface == right).map(|found| found.qdisc);
    let noqueue = Qdisc { handle: Handle::NONE, parent: Handle::ROOT, stab: None, discipline: Discipline::Noqueue };
    assert_eq!(qdiscs.collect::<Vec<_>>(), [noqueue]);
}

#[test]
#[ignore = "runs in a guest"]
fn etf_drops_every_frame_of_a_gateway() {
    let Some(scene) = Scenario::new(VCAN_AND_CANGW, ["left", "right"]) else { return };
    queues::set_root(scene.index("right"), Discipline::Etf(ETF));
    let notice = ["t-right has the qdisc etf, which drops frames without a transmit time"];
    for kept in ["", "keep-timestamp = true"] {
        assert_eq!(run_and_send(&scene, &over(kept), &notice).counted("over"), [0, FRAMES, 0], "{kept}");
    }
}

/// Runs a gateway, which must give these notices at the start, and sends frames to it.
fn run_and_send(scene: &Scenario, text: &str, expected: &[&str]) -> Ended {
    let candor = scene.start(text, "kernel");
    let notices = notices(&candor.before_ready);
    assert_eq!(notices.len(), expected.len(), "{notices:?}");
    for (notice, expected) in notices.iter().zip(expected) {
        assert!(notice.contains(expected), "{notice}");
    }
    let sender = scene.sender("left");
    (0..FRAMES).for_each(|_| send(&sender, &classic(0x123, &[1, 2, 3])));
    // On a busy machine, the kernel may still be at it.
    wait_until("all frames are counted", || {
        let JobCounters { handled, dropped, deleted } = count(&mut Client::open().unwrap(), scene.index("right"));
        u64::from(handled + dropped + deleted) == FRAMES
    });
    candor.end(Signal::Terminate)
}

fn count(client: &mut Client, destination: InterfaceIndex) -> JobCounters {
    cangw::dump(client).unwrap().into_iter().find(|job| job.destination == destination).unwrap().counters
}
