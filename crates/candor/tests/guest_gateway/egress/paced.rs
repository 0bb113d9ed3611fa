//! A virtual bus that `tbf` makes slow (section 3.3 of the report of 2011), what `tbf` needs, and what it does to a tree below
//! it. Times are those of a guest that counts instructions; elsewhere they mean nothing.

use std::time::{Duration, Instant};

use candor_config::config;
use candor_core::frame::{Frame, RawId};
use candor_egress::compile;
use candor_egress::discipline::Tbf;
use candor_egress::text;
use candor_io::can::CanSocket;
use candor_netlink::client::Errno;

use super::*;
use crate::frames::{classic, hear, listener_on, send, sender_on, try_send};

pub(super) const PATIENCE: Duration = Duration::from_secs(20);
const ENOBUFS: i32 = 105;
/// What nobody else is called.
const SHAPER: u16 = 0xFF0;
/// A bus of 1 Mbit/s, at 128 bits for each frame.
pub(super) const MBIT_FRAMES_PER_SECOND: u64 = 7812;

/// A tree below a shaper at the root, which has the size table then: newer kernels refuse one anywhere else.
pub(super) fn below_shaper(tree: &Tree, tbf: Tbf) -> Tree {
    let mut tree = tree.clone();
    let class = Handle::new(SHAPER, 1);
    let mut stab = None;
    for qdisc in tree.qdiscs.iter_mut().filter(|qdisc| qdisc.parent == Handle::ROOT) {
        stab = qdisc.stab.take();
        qdisc.parent = class;
    }
    let (handle, parent) = (class.qdisc(), Handle::ROOT);
    tree.qdiscs.insert(0, Qdisc { handle, parent, stab, discipline: Discipline::Tbf(tbf) });
    tree
}

/// The trees of the buses of a file.
pub(super) fn trees(file: &str) -> Vec<Tree> {
    let plan = config::load(file.as_bytes()).unwrap().plan;
    compile::trees(plan.egress()).into_values().collect()
}

pub(super) fn tree(lines: &str) -> Tree {
    text::parse(lines).unwrap_or_else(|findings| panic!("{lines}: {findings:#?}")).tree
}

pub(super) fn has_time() -> bool {
    is_there(Feature::Clock)
}

/// Which frames come, by their identifiers, and when, reckoned from the first of them.
pub(super) fn arrivals(far: &CanSocket, count: usize) -> Vec<(u32, Duration)> {
    let mut first = None;
    let next = || {
        let frame = hear(far, PATIENCE).expect("a frame is missing");
        let now = Instant::now();
        (frame.id.0, now - *first.get_or_insert(now))
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Hears so many frames, for each of which its sender hands over another one, so that all always have some.
pub(super) fn hear_and_replace(place: &Place, senders: &[(&CanSocket, u32)], count: usize) -> Vec<(u32, Duration)> {
    let far = listener_on(place.pair.far);
    for _ in 0..40 {
        senders.iter().for_each(|(socket, id)| send(socket, &classic(*id, &[0; 8])));
    }
    let began = Instant::now();
    let mut all = Vec::new();
    while all.len() < count {
        let frame = hear(&far, PATIENCE).expect("a frame is missing");
        all.push((frame.id.0, began.elapsed()));
        let (socket, id) = senders.iter().find(|(_, own)| *own == frame.id.0).unwrap();
        send(socket, &classic(*id, &[0; 8]));
    }
    all
}

/// Frames per second between the first and the last of these.
pub(super) fn rate(arrivals: &[(u32, Duration)]) -> f64 {
    let (_, took) = arrivals[arrivals.len() - 1];
    let (_, began) = arrivals[0];
    let count = u32::try_from(arrivals.len() - 1).unwrap();
    f64::from(count) / (took - began).as_secs_f64()
}

#[track_caller]
pub(super) fn within(found: f64, wanted: f64, tolerance: f64) {
    println!("{found:.2} for {wanted}");
    assert!((found - wanted).abs() <= tolerance, "{found} instead of {wanted}");
}

#[test]
#[ignore = "runs in a guest"]
fn a_virtual_bus_is_as_slow_as_one_of_1_mbit() {
    let Some(_machine) = require(NEEDS) else { return };
    if !has_time() {
        return;
    }
    let mut place = Place::new();
    place.make(&tree("qdisc root handle 1: tbf rate 1mbit burst 16 limit 10000")).unwrap();
    let sender = sender_on(place.pair.near);
    let heard = hear_and_replace(&place, &[(&sender, 0x123)], 401);
    // A bucket of one frame forgets by how much the timer was late, a microsecond each time.
    within(rate(&heard[100..]), 7812.5, 0.015 * 7812.5);
}

/// The example of section 3.1.5: ten frames at once, then 781.25 in a second.
#[test]
#[ignore = "runs in a guest"]
fn a_bucket_of_ten_frames_lets_ten_go_at_once() {
    let Some(_machine) = require(NEEDS) else { return };
    if !has_time() {
        return;
    }
    let mut place = Place::new();
    place.make(&tree("qdisc root handle 1: tbf rate 0.1mbit burst 160b latency 70ms")).unwrap();
    let (sender, far) = (sender_on(place.pair.near), listener_on(place.pair.far));
    (0..60).for_each(|_| send(&sender, &classic(0x123, &[0; 8])));
    let arrivals = arrivals(&far, 60);
    let at_once = arrivals.iter().filter(|(_, at)| *at < Duration::from_micros(500)).count();
    assert_eq!(at_once, 10, "{arrivals:?}");
    within(rate(&arrivals[10..]), 781.25, 1.0);
}

/// 24 bytes in the report; what is smaller than a frame lets none go.
#[test]
#[ignore = "runs in a guest"]
fn a_bucket_of_one_frame_is_the_smallest() {
    let Some(_machine) = require(NEEDS) else { return };
    let mut place = Place::new();
    let (sender, far) = (sender_on(place.pair.near), listener_on(place.pair.far));
    for (burst, is_enough) in [(16, true), (15, false)] {
        place.make(&tree(&format!("qdisc root handle 1: tbf rate 1mbit burst {burst} limit 10000"))).unwrap();
        for _ in 0..3 {
            let outcome = try_send(&sender, &classic(0x123, &[0; 8])).map_err(|error| error.raw_os_error());
            assert_eq!(outcome, if is_enough { Ok(()) } else { Err(Some(ENOBUFS)) }, "{burst}");
        }
        arrivals(&far, if is_enough { 3 } else { 0 });
        place.clear();
    }
}

/// A shaper that is so slow that nothing more leaves once a frame has, and one that holds nothing back; a CAN FD frame is too
/// long for both.
fn shaper(is_open: bool) -> Tbf {
    let rate = ByteRate(if is_open { 100_000_000 } else { 1 });
    Tbf { rate, burst_bytes: if is_open { 64 } else { 16 }, limit_bytes: 10_000, peak: None }
}

/// Urgent frames (0x080) come when patient ones (0x200) wait already below a shaper.
fn order_below_shaper(place: &mut Place, scheduler: &str) -> Result<Vec<u32>, TcError> {
    let filters = "filter prio 1 basic match 'canid(sff 0x080)' flowid 1:1\nfilter prio 2 basic flowid 1:2";
    let tree = below_shaper(&tree(&format!("{scheduler}\n{filters}")), shaper(false));
    place.make(&tree)?;
    let (sender, far) = (sender_on(place.pair.near), listener_on(place.pair.far));
    // The first one finds a full bucket.
    [0x200, 0x200, 0x200, 0x080, 0x080].iter().for_each(|id| send(&sender, &classic(*id, &[0; 8])));
    let opened = Qdisc { discipline: Discipline::Tbf(shaper(true)), ..tree.qdiscs[0].clone() };
    place.kernel.carry_out(&Step::ChangeQdisc(opened)).unwrap();
    // The kernel looks again when the next frame comes, even if that is refused.
    let too_long = Frame::fd(RawId(1), 0, &[]).unwrap();
    assert_eq!(try_send(&sender, &too_long).unwrap_err().raw_os_error(), Some(ENOBUFS));
    let order = arrivals(&far, 5).into_iter().map(|(id, _)| id).collect();
    place.clear();
    Ok(order)
}

/// Only `prio` can say which frame is next without taking it: that is why the shaper of section 3.3 is no place for every tree.
#[test]
#[ignore = "runs in a guest"]
fn a_shaper_parks_a_frame_of_all_schedulers_but_prio() {
    const HTB: &str = "qdisc root handle 1: htb\n\
        class parent 1: classid 1:1 htb rate 10000kbps burst 64k cburst 64k quantum 16 prio 0\n\
        class parent 1: classid 1:2 htb rate 10000kbps burst 64k cburst 64k quantum 16 prio 1";
    let Some(_machine) = require(NEEDS) else { return };
    let mut place = Place::new();
    let prio = order_below_shaper(&mut place, "qdisc root handle 1: prio").unwrap();
    assert_eq!(prio, [0x200, 0x080, 0x080, 0x200, 0x200]);
    for scheduler in [HTB, "qdisc root handle 1: ets bands 2 strict 2"] {
        match order_below_shaper(&mut place, scheduler) {
            Ok(order) => assert_eq!(order, [0x200, 0x200, 0x080, 0x080, 0x200], "{scheduler}"),
            Err(error) => {
                assert!(error.errno() == Some(Errno::ENOENT) && scheduler.contains("ets"), "{error}: {scheduler}");
                skip(Feature::Ets, &error.to_string());
                place.clear();
            }
        }
    }
}

/// A rate of a band is one of frames, to the frame in a second.
#[test]
#[ignore = "runs in a guest"]
fn a_band_is_throttled_to_the_frame() {
    let Some(_machine) = require(NEEDS) else { return };
    if !has_time() {
        return;
    }
    for limit in [20, 100, 500, 1000, 2000] {
        let file =
            format!("[bus.b]\ninterface = \"can0\"\n[[egress.b.band]]\nname = \"all\"\nrate = \"{limit} frames/s\"\n");
        let mut place = Place::new();
        place.make(&trees(&file)[0]).unwrap();
        let socket = sender_on(place.pair.near);
        let heard = hear_and_replace(&place, &[(&socket, 0x123)], 2 * usize::try_from(limit).unwrap() + 1);
        within(rate(&heard), f64::from(limit), 1.0);
    }
}
