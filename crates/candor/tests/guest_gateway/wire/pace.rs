//! The pace of frames, and how many an urgent one has to wait for.
//!
//! `CANDOR_CASES` is the number of frames or tries of each kind. `--nocapture` prints the figures of docs/wire.md.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use candor_core::bits::FrameBits;
use candor_core::frame::CANFD_BRS;
use candor_core::realtime::RtPriority;
use candor_io::clock::{self, MonotonicNs};
use candor_io::schedule::{self, Policy};
use nix::sys::socket::{setsockopt, sockopt};

use super::*;
use crate::kernel;

fn cases(default: usize) -> usize {
    std::env::var("CANDOR_CASES").ok().map_or(default, |cases| cases.parse().unwrap())
}

/// More than the ten frames in the queue of the interface and the ten in the controller.
const QUEUED: u64 = 50;

/// At 1 Mbit/s, where a real-time kernel and its threads for USB need more than the duration of a frame: 170 µs.
const REAL_TIME_NS: u64 = 200_000;

/// Below the simulation.
const SENDER: Policy = Policy::Fifo(RtPriority::new(20).expect("20 is between 1 and 99"));

/// At 1 Mbit/s, the guest needs 80 % of its only CPU for the frames. Other work of the kernel, such as the end of what
/// an earlier test used, then makes gaps of 0.1 ms: seen once, 5 of them in 99 times, on Linux 7.3.
const TRIES: usize = 3;

#[test]
#[ignore = "runs in a guest"]
fn a_flood_leaves_no_gap_at_any_bit_rate() {
    let classic = classic(0x100, &[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]);
    let fd = Frame::fd(RawId(0x100), CANFD_BRS, &[0x5a; 64]).unwrap();
    let kbit = |kbit: u32| BitRate::from_bits_per_second(kbit * 1000).unwrap();
    for (rates, nominal, data, frame) in [
        ("125k", 125, None, classic),
        ("250k", 250, None, classic),
        ("500k", 500, None, classic),
        ("1M", 1000, None, classic),
        ("500k/2M", 500, Some(2000), fd),
    ] {
        let exact_ns = FrameBits::of(&frame).wire_time_ns(kbit(nominal), data.map(kbit));
        let tries = if nominal == 1000 { TRIES } else { 1 };
        for number in 1..=tries {
            let Some(times) = flood(rates, frame, exact_ns) else { return };
            if nominal == 1000 && kernel::is_real_time() {
                let mean_ns = times.iter().sum::<u64>() / u64::try_from(times.len()).unwrap();
                println!("{rates}: {mean_ns} ns from frame to frame on average");
                assert!((exact_ns..=REAL_TIME_NS).contains(&mean_ns), "{rates}: {mean_ns} ns: {times:?}");
                break;
            }
            let holes = times.iter().filter(|&&time| time != exact_ns).count();
            println!("{rates}: {} times from frame to frame, {holes} of them not {exact_ns} ns", times.len());
            if holes == 0 {
                break;
            }
            assert!(number < tries, "{rates}: {exact_ns} ns, but {times:?}");
        }
    }
}

/// The times from the start of a frame to the start of the next, in nanoseconds.
fn flood(rates: &str, frame: Frame, exact_ns: u64) -> Option<Vec<u64>> {
    let wire = Wire::start(&format!("--bus b0:{rates}:t-near,t-far"))?;
    let frames = vec![frame; cases(100)];
    // Since 6.6, the scheduler lets another process finish its share first.
    thread::scope(|scope| {
        scope.spawn(|| {
            schedule::set_policy(SENDER).unwrap();
            send_all(&open("t-near"), &frames);
        });
    });
    // No receiver: with one CPU at 1 Mbit/s the sender needs its time. The last frames are still queued.
    thread::sleep(Duration::from_nanos(QUEUED * exact_ns));
    let log = wire.end().frames();
    assert_eq!(log.iter().map(|logged| logged.frame).collect::<Vec<_>>(), frames, "{rates}");
    Some(log.windows(2).map(|pair| pair[1].start_ns - pair[0].start_ns).collect())
}

/// The queue of the interface has bands, and an urgent frame overtakes all frames in it. It cannot overtake those in the
/// controller, so the depth of a controller matters.
#[test]
#[ignore = "runs in a guest"]
fn an_urgent_frame_waits_for_what_the_controller_holds() {
    /// `TC_PRIO_INTERACTIVE`, which the default qdisc has in its first band.
    const URGENT: i32 = 6;
    for depth in [1_u8, 2, 3, 10] {
        let Some(wire) = Wire::start(&format!("--bus b0:125k:t-near,t-far --depth {depth}")) else { return };
        let (patient, urgent) = (open("t-near"), open("t-near"));
        setsockopt(&urgent, sockopt::Priority, &URGENT).unwrap();
        let done = AtomicBool::new(false);
        let mut sent_at: Vec<u64> = Vec::new();
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    send_all(&patient, &[classic(0x700, &[0x55; 8])]);
                }
            });
            let tries = cases(20);
            for number in 0..tries {
                // Not in phase with the frames of the flood.
                thread::sleep(Duration::from_micros(13_000 + 137 * u64::try_from(number).unwrap()));
                let MonotonicNs(now) = clock::monotonic().unwrap();
                sent_at.push(u64::try_from(now).unwrap() - wire.started_ns);
                send_all(&urgent, &[classic(0x100, &[0x55; 8])]);
            }
            thread::sleep(Duration::from_millis(20));
            done.store(true, Ordering::Relaxed);
        });
        let log = wire.end().frames();
        let urgent = log.iter().filter(|logged| logged.frame.id == RawId(0x100));
        let ahead: Vec<usize> = urgent
            .zip(&sent_at)
            .map(|(urgent, &sent)| {
                let is_ahead = |start: u64, end: u64| end > sent && start < urgent.start_ns;
                log.iter().filter(|other| is_ahead(other.start_ns, other.end_ns)).count()
            })
            .collect();
        assert_eq!(ahead.len(), sent_at.len(), "an urgent frame is missing");
        let (least, most) = (*ahead.iter().min().unwrap(), *ahead.iter().max().unwrap());
        #[expect(clippy::cast_precision_loss, reason = "small numbers, printed only")]
        let mean = ahead.iter().sum::<usize>() as f64 / ahead.len() as f64;
        println!("depth {depth}: {least} to {most} frames of the flood ahead of an urgent one, {mean:.2} on average");
        // Those in the controller, and one that the driver holds or that started meanwhile.
        let depth = usize::from(depth);
        assert!(most <= depth + 1 && mean <= 0.2 + depth as f64, "depth {depth}: {ahead:?}");
        assert!(depth == 1 || least >= depth - 1, "depth {depth}: the controller was not full: {ahead:?}");
    }
}
