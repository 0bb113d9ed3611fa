//! A gateway with four mistakes: it drops remote frames, forgets raw DLCs, doubles every 100th frame and lets two frames
//! change places now and then. It is this very test program, started with a variable that says so.

use candor_core::filter::Filter;
use candor_core::frame::{CANFD_MTU, Frame};
use candor_io::can::{CanSocket, Options};
use candor_netlink::client::Client;
use candor_netlink::link;

use crate::frames::send;

/// Names its interfaces, `vcan0:vcan1`, and may say after how many frames it gives up: `vcan0:vcan1:500`.
pub(super) const VARIABLE: &str = "CANDOR_TEST_BROKEN_GATEWAY";
const DOUBLED: u32 = 100;
const SWAPPED: u32 = 250;

/// The command that runs it where [`VARIABLE`] is set.
pub(super) fn command() -> Vec<String> {
    let this = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    let test = "conformant::broken::the_broken_gateway";
    [this.as_str(), test, "--exact", "--ignored", "--nocapture"].map(String::from).into()
}

/// No test: runs until it is killed or gives up.
#[test]
#[ignore = "it is the gateway of another test"]
fn the_broken_gateway() {
    let Ok(interfaces) = std::env::var(VARIABLE) else {
        println!("SKIP is the gateway of another test");
        return;
    };
    let mut words = interfaces.split(':');
    let (from, to) = (words.next().unwrap(), words.next().unwrap());
    let last = words.next().map_or(u32::MAX, |frames| frames.parse().unwrap());
    let open = |name, filters: &[Filter]| {
        let link = link::by_name(&mut Client::open().unwrap(), name).unwrap().unwrap();
        CanSocket::open(link.index, &Options { filters, ..Options::default() }).unwrap()
    };
    let (left, right) = (open(from, &[Filter::ALL]), open(to, &[]));
    let send = |frame: &Frame| send(&right, frame);
    let mut held = None;
    for number in 1..=last {
        let mut frame = loop {
            let mut bytes = [0; CANFD_MTU];
            let len = left.read(&mut bytes).unwrap();
            let frame = Frame::from_kernel(&bytes[..len]).unwrap();
            if !frame.id.is_rtr() {
                break frame;
            }
        };
        frame.len8_dlc = 0;
        if number % SWAPPED == 0 {
            held = Some(frame);
            continue;
        }
        send(&frame);
        if number % DOUBLED == 0 {
            send(&frame);
        }
        if let Some(held) = held.take() {
            send(&held);
        }
    }
}
