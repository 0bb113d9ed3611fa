//! Precision of the tester: its own overhead, and its stamps against an independent witness.
//!
//! ```text
//!  no gateway:     send ──▶ first bus ──▶ monitor, and a second tap     sending = t_monitor − t_send − time on the wire
//!                                                                       taps = t_tap − t_monitor, of one and the same frame
//!  with gateway:   t_far − t_monitor   against   end on the second wire − end on the first, in the log of candor-lab wire
//! ```
//!
//! # Source
//! [Timing Analysis of a Linux-Based CAN-to-CAN Gateway](https://lwn.net/images/conf/rtlws-2011/proc/Sojka.pdf)
//! (Sojka and others, 2011), section 2.4, figures 4 and 5. Its witness was a CANalyzer.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use candor_core::frame::Frame;

use crate::record::Sample;
use crate::stats::{LatencyNs, Series};
use crate::tester::{Pattern, StampSource, tag_of};

/// The tester's overhead, without a gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// From before the send call to the monitor's stamp, less the time on the wire; empty if stamps are of another
    /// clock.
    pub sending: Vec<LatencyNs>,
    /// Stamp of a second tap less the monitor's, for a frame that reaches both at once; negative if the tap was first.
    pub taps: Vec<LatencyNs>,
    /// Delay of the monitor's stamp after the end of frame on the wire, less the shortest such delay; empty without a
    /// log.
    pub stamps: Vec<LatencyNs>,
    /// Frames that only one of the two received.
    pub unseen: usize,
}

/// Total latencies by stamps and by the witness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witnessed {
    /// Far stamp less the monitor's, including the time on the second wire, as in figure 4.
    pub by_stamps: Vec<LatencyNs>,
    /// From end of frame to end of frame.
    pub by_witness: Vec<LatencyNs>,
    pub difference: Vec<LatencyNs>,
    /// Frames that did not arrive, or that are not in the log.
    pub unseen: usize,
}

impl Own {
    /// From a series whose far side is a second tap on the first bus. `wire` is the log of that time.
    pub fn of(samples: &[Sample], stamps: StampSource, first: &str, wire: Option<&[OnWire]>) -> Self {
        let mut own = Self::default();
        let ends = wire.map(|wire| ends(wire, first));
        let mut after_end = Vec::new();
        for sample in samples {
            let (Some(monitor), Some(tap)) = (sample.monitor_ns, sample.far_ns) else {
                own.unseen += 1;
                continue;
            };
            if stamps == StampSource::Kernel {
                own.sending.push(LatencyNs(monitor - sample.sent_ns - i64::from(sample.wire_ns)));
            }
            own.taps.push(LatencyNs(tap - monitor));
            if let Some(end) = ends.as_ref().and_then(|ends| ends.get(&sample.tag)) {
                after_end.push(monitor - end);
            }
        }
        // The clocks of stamps and wire have different origins and the same rate.
        if let Some(&shortest) = after_end.iter().min() {
            own.stamps = after_end.into_iter().map(|after| LatencyNs(after - shortest)).collect();
        }
        own
    }
}

impl Witnessed {
    /// From a series through a gateway, and the log of both wires.
    pub fn of(samples: &[Sample], wire: &[OnWire], first: &str, second: &str) -> Self {
        let mut witnessed = Self::default();
        let [first, second] = [first, second].map(|bus| ends(wire, bus));
        for sample in samples {
            let stamps = sample.monitor_ns.zip(sample.far_ns);
            let ends = first.get(&sample.tag).zip(second.get(&sample.tag));
            let (Some((monitor, far)), Some((first, second))) = (stamps, ends) else {
                witnessed.unseen += 1;
                continue;
            };
            let (by_stamps, by_witness) = (far - monitor, second - first);
            witnessed.by_stamps.push(LatencyNs(by_stamps));
            witnessed.by_witness.push(LatencyNs(by_witness));
            witnessed.difference.push(LatencyNs(by_stamps - by_witness));
        }
        witnessed
    }

    /// Frames that differ by more than this.
    pub fn beyond(&self, ns: u64) -> usize {
        self.difference.iter().filter(|difference| difference.0.unsigned_abs() > ns).count()
    }
}

/// True if numbers are unique in the log: they repeat after 65 536 frames.
pub const fn has_one_frame_of_each_number(pattern: &Pattern) -> bool {
    pattern.frames.saturating_add(pattern.warm_up) <= 0x1_0000
}

pub fn series(latencies: &[LatencyNs]) -> Option<Series> {
    Series::new(latencies.to_vec())
}

/// End of frame on a bus, by number.
fn ends(wire: &[OnWire], bus: &str) -> BTreeMap<u16, i64> {
    let here = wire.iter().filter(|seen| seen.bus == bus);
    here.filter_map(|seen| Some((tag_of(&seen.frame)?, seen.end_ns))).collect()
}

/// First line; docs/wire.md describes the format.
const HEADLINE: &str = "# candor-lab wire log, form 1";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnWire {
    pub bus: String,
    /// Start of frame, on the time line of the buses.
    pub start_ns: i64,
    pub end_ns: i64,
    pub frame: Frame,
}

#[derive(Debug)]
pub struct WireLog {
    file: File,
    rest: String,
}

impl WireLog {
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, rest: String::new() })
    }

    pub fn read(&mut self) -> io::Result<Vec<OnWire>> {
        self.file.read_to_string(&mut self.rest)?;
        let end = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let frames = frames(&self.rest[..end])?;
        self.rest.drain(..end);
        Ok(frames)
    }
}

fn frames(lines: &str) -> io::Result<Vec<OnWire>> {
    let mut all = Vec::new();
    for line in lines.lines() {
        if line.starts_with('#') && line != HEADLINE {
            return Err(unreadable(line));
        }
        if let Some(words) = line.strip_prefix("frame ") {
            all.push(frame(words).ok_or_else(|| unreadable(line))?);
        }
    }
    Ok(all)
}

fn unreadable(line: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not a line of candor-lab wire --log, form 1: {line}"))
}

/// `BUS START END NODE FRAME RETRIES LOST`.
fn frame(words: &str) -> Option<OnWire> {
    let mut words = words.split(' ');
    let mut next = || words.next();
    let (bus, start_ns, end_ns) = (next()?.to_owned(), nanoseconds(next()?)?, nanoseconds(next()?)?);
    let _node = next()?;
    Some(OnWire { bus, start_ns, end_ns, frame: next()?.parse().ok()? })
}

/// Seconds with nine decimals.
fn nanoseconds(seconds: &str) -> Option<i64> {
    let (whole, part) = seconds.split_once('.')?;
    let (whole, part): (i64, i64) = (whole.parse().ok()?, (part.len() == 9).then(|| part.parse().ok())??);
    whole.checked_mul(1_000_000_000)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Disposition;

    fn sample(tag: u16, sent: i64, monitor: Option<i64>, far: Option<i64>) -> Sample {
        Sample {
            sequence: u32::from(tag),
            tag,
            due_ns: sent,
            sent_ns: sent,
            monitor_ns: monitor,
            far_ns: far,
            inside: crate::record::Inside::default(),
            wire_ns: 200,
            disposition: Disposition::of_stamps(monitor, far),
        }
    }

    fn on_wire(bus: &str, tag: u16, end_ns: i64) -> OnWire {
        OnWire { bus: bus.to_owned(), start_ns: end_ns - 200, end_ns, frame: format!("123#{tag:04X}").parse().unwrap() }
    }

    fn plain(latencies: &[LatencyNs]) -> Vec<i64> {
        latencies.iter().map(|latency| latency.0).collect()
    }

    #[test]
    fn overhead_excludes_time_on_the_wire() {
        let samples = [
            sample(1, 0, Some(1_200), Some(1_190)),
            sample(2, 5_000, Some(6_500), None),
            sample(3, 9_000, Some(10_230), Some(10_250)),
        ];
        let wire = [on_wire("first", 1, 100_400), on_wire("second", 3, 7), on_wire("first", 3, 109_400)];
        let own = Own::of(&samples, StampSource::Kernel, "first", Some(&wire));
        assert_eq!((plain(&own.sending), plain(&own.taps), own.unseen), (vec![1_000, 1_030], vec![-10, 20], 1));
        // 1200 − 100 400 is the shortest; the other is 30 longer.
        assert_eq!(plain(&own.stamps), [0, 30]);
        assert_eq!(Own::of(&samples, StampSource::Kernel, "first", None).stamps, []);
        // Sending has another clock than the adapter; both taps have the adapter's.
        let of_adapter = Own::of(&samples, StampSource::Hardware, "first", Some(&wire));
        assert_eq!(of_adapter, Own { sending: Vec::new(), ..own });
    }

    #[test]
    fn witness_measures_from_end_to_end() {
        let samples = [
            sample(7, 0, Some(1_000), Some(1_900)),
            sample(8, 5_000, Some(6_000), Some(6_800)),
            sample(9, 9_000, Some(9_500), None),
        ];
        let wire = [on_wire("first", 7, 50_000), on_wire("second", 7, 50_890), on_wire("first", 8, 60_000)];
        let witnessed = Witnessed::of(&samples, &wire, "first", "second");
        assert_eq!((plain(&witnessed.by_stamps), plain(&witnessed.by_witness)), (vec![900], vec![890]));
        assert_eq!((plain(&witnessed.difference), witnessed.unseen), (vec![10], 2));
        assert_eq!((witnessed.beyond(9), witnessed.beyond(10)), (1, 0));
    }

    use std::io::Write as _;

    #[test]
    fn reads_frames_as_they_are_appended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wire.log");
        let mut file = File::create(&path).unwrap();
        let mut log = WireLog::open(&path).unwrap();
        file.write_all(
            b"# candor-lab wire log, form 1\nstate b0 1.000222000 can2 error-passive 128 3\nframe b0 1.000000000 1.00",
        )
        .unwrap();
        assert_eq!(log.read().unwrap(), []);
        file.write_all(b"0222000 can0 123#1122 2 1\nlost b0 1.000000000 can2 7\n").unwrap();
        let frame = "123#1122".parse().unwrap();
        let seen = OnWire { bus: "b0".to_owned(), start_ns: 1_000_000_000, end_ns: 1_000_222_000, frame };
        assert_eq!(log.read().unwrap(), [seen]);
        assert_eq!(log.read().unwrap(), []);
    }

    #[test]
    fn other_files_are_refused() {
        for wrong in ["# candor-lab wire log, form 2\n", "frame b0 1.0 1.000222000 can0 123#1122 2 1\n", "frame b0\n"] {
            assert!(frames(wrong).is_err(), "{wrong}");
        }
    }
}
