//! A queue in the order of arbitration, seen on the bus.

use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG, CAN_SFF_MASK, CANFD_BRS};
use candor_core::random::SplitMix64;
use candor_egress::arbitration::{Arbitration, Limits};
use candor_egress::discipline::Discipline;
use candor_egress::handle::Handle;
use candor_egress::netlink::arbitration::key;
use candor_egress::netlink::arbitration::oracle::Oracle;
use candor_egress::netlink::{self, QueueError, TcError};
use candor_egress::tree::Qdisc;

use super::*;
use crate::metrics;

const FRAMES: u32 = 100;
/// The most urgent identifier.
const PLUG: u32 = 0;

fn waiting(client: &mut Client, interface: InterfaceIndex) -> u32 {
    let all = netlink::qdiscs(client).unwrap();
    all.iter().find(|listed| listed.interface == interface && listed.is_root()).unwrap().stats.backlog_frames
}

/// Sends frames until one waits.
fn plug_in(client: &mut Client, interface: InterfaceIndex, socket: &CanSocket) {
    while waiting(client, interface) == 0 {
        send(socket, &classic(PLUG, &[0; 8]));
    }
}

/// With `has_fd`, half of the data frames are FD frames.
fn random_frame(random: &mut SplitMix64, number: u32, has_fd: bool) -> Frame {
    let bits = u32::try_from(random.next_u64() >> 32).unwrap();
    let id = if random.below(2) == 0 { bits & CAN_SFF_MASK } else { bits & CAN_EFF_MASK | CAN_EFF_FLAG };
    match random.below(4) {
        0 => classic(id | CAN_RTR_FLAG, &[]),
        1 | 2 if has_fd => Frame::fd(RawId(id), CANFD_BRS, &number.to_be_bytes()).unwrap(),
        _ => classic(id, &number.to_be_bytes()),
    }
}

#[test]
#[ignore = "runs in a guest"]
fn frames_are_sent_in_the_order_of_arbitration() {
    sends_in_order("b0:10k:t-near,t-far --depth 1", false);
}

#[test]
#[ignore = "runs in a guest"]
fn classic_and_fd_frames_are_sent_in_one_order() {
    // Adapters with CAN FD hold ten frames.
    sends_in_order("b0:10k/100k:t-near,t-far", true);
}

/// All wait while the first frame is on the bus, for more than 10 ms. Then one after another wins.
fn sends_in_order(bus: &str, has_fd: bool) {
    let Some(wire) = Wire::start(&format!("--bus {bus}")) else { return };
    let (client, near) = (&mut Client::open().unwrap(), index("t-near").unwrap());
    let limits = Limits { frames: 2 * FRAMES, per_socket: None, max_age_ms: None, replace_same_id: false };
    let arbitration = Arbitration::new(limits).unwrap();
    let mut oracle = Oracle::new(arbitration.options());
    let discipline = Discipline::Arbitration(arbitration);
    let queue = Qdisc { handle: Handle::new(1, 0), parent: Handle::ROOT, stab: None, discipline };
    match netlink::replace_qdisc(client, near, &queue) {
        Err(TcError::Queue(QueueError::Unsupported(why))) => {
            skip(Feature::BpfQueues, &why);
            return;
        }
        other => other.unwrap(),
    }
    let plug = classic(PLUG, &[0; 8]);
    let sockets = [open("t-near"), open("t-near"), open("t-near")];
    plug_in(client, near, &sockets[0]);
    oracle.arrive(key(plug.id.0), None, 0, plug);
    let mut random = SplitMix64::new(0);
    for number in 0..FRAMES {
        let frame = random_frame(&mut random, number, has_fd);
        send(&sockets[random.below(sockets.len())], &frame);
        oracle.arrive(key(frame.id.0), None, 0, frame);
    }
    assert_eq!(waiting(client, near), FRAMES + 1, "none has left");
    let expected = oracle.reset();
    let far = open("t-far");
    let last = expected[expected.len() - 1];
    while next_frame(&far) != last {}
    let ended = wire.end();
    let log = ended.frames();
    assert!(log.len() >= expected.len(), "{}", ended.log);
    let last: Vec<_> = log[log.len() - expected.len()..].iter().map(|logged| logged.frame).collect();
    assert_eq!(last, expected);
}

#[test]
#[ignore = "runs in a guest"]
fn metrics_separate_drops_by_reason() {
    let Some(_wire) = Wire::start("--bus b0:10k:t-near,t-far --depth 1") else { return };
    if let Err(QueueError::Unsupported(why)) = netlink::arbitration::layout() {
        skip(Feature::BpfQueues, &why);
        return;
    }
    let (client, near) = (&mut Client::open().unwrap(), index("t-near").unwrap());
    let gateway = "[bus.a]\ninterface = \"t-near\"\n[bus.b]\ninterface = \"t-far\"\n\
                   [egress.a]\nqueue = \"arbitration\"\nframes = 8\nper-socket = 5\nmax-age = \"9s\"\n"
        .to_owned()
        + &route("none", "b", "a", "match = \"7FF\"");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.toml");
    fs::write(&file, &gateway).unwrap();
    let own = &[("full", 5), ("per-socket", 2), ("expired", 0), ("replaced", 0), ("failed", 0)][..];
    // Only the process that made the queue knows more than the kernel.
    let other = &[("per-socket", 2), ("unknown", 5)][..];
    for (is_own, expected) in [(true, own), (false, other)] {
        if !is_own {
            output(Command::new(program()).args(["egress", "apply"]).arg(&file)).assert(0, &[]);
        }
        let run_dir = tempfile::tempdir().unwrap();
        let run =
            Run { gateway: &gateway, engine: "read-write", run_dir: run_dir.path().to_owned(), uid: None }.start();
        let sockets = [open("t-near"), open("t-near"), open("t-near")];
        plug_in(client, near, &sockets[0]);
        // One socket fills its places, and another one the queue.
        let refused = |socket: &CanSocket| (0..7).filter(|_| try_send(socket, &classic(0x7FF, &[])).is_err()).count();
        assert_eq!([refused(&sockets[1]), refused(&sockets[2])], [2, 5]);
        let text = metrics::of_run_dir(run_dir.path());
        let name = "candor_bus_arbitration_dropped_frames_total";
        for (reason, frames) in expected {
            let line = format!("{name}{{bus=\"a\",interface=\"t-near\",reason=\"{reason}\"}} {frames}\n");
            assert!(text.contains(&line), "{line}{text}");
        }
        assert_eq!(text.lines().filter(|line| line.starts_with(name)).count(), expected.len(), "{text}");
        run.stop();
    }
}
