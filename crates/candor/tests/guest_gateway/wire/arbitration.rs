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

const FRAMES: u32 = 200;

fn random_frame(random: &mut SplitMix64, number: u32) -> Frame {
    let bits = u32::try_from(random.next_u64() >> 32).unwrap();
    let id = if random.below(2) == 0 { bits & CAN_SFF_MASK } else { bits & CAN_EFF_MASK | CAN_EFF_FLAG };
    match random.below(4) {
        0 => classic(id | CAN_RTR_FLAG, &[]),
        _ => classic(id, &number.to_be_bytes()),
    }
}

/// Nobody acknowledges frames until all wait. Then one after another wins.
#[test]
#[ignore = "runs in a guest"]
fn frames_are_sent_in_the_order_of_arbitration() {
    let Some(wire) = Wire::start("--bus b0:1M:t-near,t-far --depth 1") else { return };
    let (client, near, far) = (&mut Client::open().unwrap(), index("t-near").unwrap(), index("t-far").unwrap());
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
    link::set_down(client, far).unwrap();
    let waits = |client: &mut Client| {
        let all = netlink::qdiscs(client).unwrap();
        all.iter().find(|listed| listed.interface == near && listed.is_root()).unwrap().stats.backlog_frames
    };
    let plug = classic(0x7EF, &[]);
    while waits(client) == 0 {
        send(&open("t-near"), &plug);
    }
    oracle.arrive(key(plug.id.0), None, 0, plug);
    let mut random = SplitMix64::new(0);
    let sockets = [open("t-near"), open("t-near"), open("t-near")];
    for number in 0..FRAMES {
        let frame = random_frame(&mut random, number);
        send(&sockets[random.below(sockets.len())], &frame);
        oracle.arrive(key(frame.id.0), None, 0, frame);
    }
    assert_eq!(waits(client), FRAMES + 1);
    link::set_up(client, far).unwrap();
    let far = open("t-far");
    wait_until("all frames are sent", || waits(client) == 0);
    // Those of the controller.
    while hear(&far, Duration::from_millis(100)).is_some() {}
    let log = wire.end().frames();
    let expected = oracle.reset();
    let last: Vec<_> = log[log.len() - expected.len()..].iter().map(|logged| logged.frame).collect();
    assert_eq!(last, expected);
}
