//! A queue in the order of arbitration, seen on the bus.

use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG, CAN_SFF_MASK};
use candor_core::random::SplitMix64;
use candor_egress::arbitration::{Arbitration, Limits};
use candor_egress::discipline::Discipline;
use candor_egress::handle::Handle;
use candor_egress::netlink::arbitration::key;
use candor_egress::netlink::arbitration::oracle::Oracle;
use candor_egress::netlink::{self, QueueError, TcError};
use candor_egress::tree::Qdisc;

use super::*;

const FRAMES: u32 = 100;

fn random_frame(random: &mut SplitMix64, number: u32) -> Frame {
    let bits = u32::try_from(random.next_u64() >> 32).unwrap();
    let id = if random.below(2) == 0 { bits & CAN_SFF_MASK } else { bits & CAN_EFF_MASK | CAN_EFF_FLAG };
    match random.below(4) {
        0 => classic(id | CAN_RTR_FLAG, &[]),
        _ => classic(id, &number.to_be_bytes()),
    }
}

/// All wait while the first frame is on the bus, for more than 10 ms. Then one after another wins.
#[test]
#[ignore = "runs in a guest"]
fn frames_are_sent_in_the_order_of_arbitration() {
    let Some(wire) = Wire::start("--bus b0:10k:t-near,t-far --depth 1") else { return };
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
    let waits = |client: &mut Client| {
        let all = netlink::qdiscs(client).unwrap();
        all.iter().find(|listed| listed.interface == near && listed.is_root()).unwrap().stats.backlog_frames
    };
    // The most urgent one.
    let plug = classic(0, &[0; 8]);
    let sockets = [open("t-near"), open("t-near"), open("t-near")];
    while waits(client) == 0 {
        send(&sockets[0], &plug);
    }
    oracle.arrive(key(plug.id.0), None, 0, plug);
    let mut random = SplitMix64::new(0);
    for number in 0..FRAMES {
        let frame = random_frame(&mut random, number);
        send(&sockets[random.below(sockets.len())], &frame);
        oracle.arrive(key(frame.id.0), None, 0, frame);
    }
    assert_eq!(waits(client), FRAMES + 1, "none has left");
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
