//! Reads `vectors.txt`, which describes its own format.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::str::FromStr;

use super::super::{Errno, Interface, Kernel, Loopback, SameInterface, State};
use super::{Event, Expected, Vector};
use crate::filter::{CAN_INV_FILTER, Filter};
use crate::frame::{CAN_MTU, CANFD_MAX_DLEN, Frame, FrameFormat, RawId};
use crate::job::{BusIndex, Echo, Incoming, Job, Timestamp};
use crate::rule::{ChecksumSpan, Checksums, Crc8Checksum, Crc8Profile, XorChecksum};

/// All vectors.
///
/// # Panics
/// If `vectors.txt` has a mistake.
#[must_use]
pub fn all() -> Vec<Vector> {
    let mut scripts: Vec<Script> = Vec::new();
    let mut lines = include_str!("../vectors.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix('[') {
            let shows = lines.next().expect("a vector has a title");
            let vector = Vector {
                name: name.trim_end_matches(']'),
                shows,
                kernel: Kernel::DEFAULT,
                interfaces: vec![],
                events: vec![],
            };
            scripts.push(Script { vector, jobs: HashMap::new() });
        } else {
            scripts.last_mut().expect("a vector begins with its name").read(line);
        }
    }
    scripts.into_iter().map(|script| script.vector).collect()
}

struct Script {
    vector: Vector,
    /// Jobs by the names that `let` gives them.
    jobs: HashMap<&'static str, Job>,
}

impl Script {
    fn read(&mut self, line: &'static str) {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb {
            "vcan" => {
                let vcan = |index| Interface::vcan(&format!("vcan{index}"));
                self.vector.interfaces = (0..number(rest)).map(vcan).collect();
            }
            "max-hops" => self.vector.kernel.max_hops = number(rest),
            "refuse-same-interface" => self.vector.kernel.same_interface = SameInterface::Refused,
            "classic-only" => self.interface(rest).mtu = CAN_MTU,
            "room" => {
                let (interface, room) = cut(rest, ' ');
                self.interface(interface).room = Some(number(room));
            }
            "pair" => {
                let (one, other) = cut(rest, ' ');
                self.interface(one).peer = Some(bus(other));
                self.interface(other).peer = Some(bus(one));
            }
            "let" => {
                let (name, job) = rest.split_once(" = ").expect("let NAME = JOB");
                let job = self.job(job);
                self.jobs.insert(name, job);
            }
            _ if verb.starts_with(|first: char| first.is_ascii_digit()) => {
                let event = rest.strip_prefix("* ").expect("N * EVENT");
                (0..number(verb)).for_each(|_: u32| self.read(event));
            }
            _ => {
                let event = self.event(verb, rest);
                self.vector.events.push(event);
            }
        }
    }

    fn event(&self, verb: &str, rest: &'static str) -> Event {
        match verb {
            "add" | "delete" => {
                let (job, answer) = match rest.split_once(" ! ") {
                    Some((job, "EINVAL")) => (job, Err(Errno::Einval)),
                    Some((job, "ENODEV")) => (job, Err(Errno::Enodev)),
                    _ => (rest, Ok(())),
                };
                let job = self.job(job);
                if verb == "add" { Event::Add { job, answer } } else { Event::Delete { job, answer } }
            }
            "list" => Event::List(rest.split(", ").filter(|job| !job.is_empty()).map(|job| self.listed(job)).collect()),
            "send" => {
                let (frame, sees) = rest.split_once(" >").expect("send FRAME > …");
                let (on, frame) = if frame.contains(':') { frame_on(frame) } else { (BusIndex(0), self::frame(frame)) };
                let (stamps, sees): (Vec<&str>, _) = sees.split_whitespace().partition(|word| !word.contains(':'));
                let stamp = stamps.first().map(|&stamp| match stamp {
                    "fresh" => Timestamp::Fresh,
                    "kept" => Timestamp::Kept,
                    other => panic!("{other} is not a timestamp"),
                });
                let sees = sees.into_iter().map(frame_on).collect();
                Event::Send { on, frame, loopback: Loopback::On, sees, stamp }
            }
            "send-without-loopback" => {
                let (on, frame) = (BusIndex(0), frame(rest));
                Event::Send { on, frame, loopback: Loopback::Off, sees: Vec::new(), stamp: None }
            }
            "flush" => Event::Flush,
            "up" => Event::Set(bus(rest), State::Up),
            "down" => Event::Set(bus(rest), State::Down),
            "remove" => Event::Detach(bus(rest)),
            "rename" => {
                let (interface, name) = cut(rest, ' ');
                Event::Rename(bus(interface), name)
            }
            other => panic!("{other} is not an event"),
        }
    }

    fn interface(&mut self, index: &str) -> &mut Interface {
        &mut self.vector.interfaces[bus(index).0]
    }

    fn listed(&self, entry: &str) -> Expected {
        let (job, counters) = entry.rsplit_once(' ').expect("a job and its counters");
        let job = self.job(job);
        Expected { way: (job.from, job.to), filter_id: job.filter.id, counted: numbers(counters, '/') }
    }

    fn job(&self, text: &str) -> Job {
        let mut words = text.split(' ');
        let first = words.next().unwrap_or_default();
        let mut job = self.jobs.get(first).cloned().unwrap_or_else(|| {
            let (from, to) = cut(first, '>');
            Job { echo: Echo::On, ..Job::plain(bus(from), bus(to), FrameFormat::Classic, Filter::ALL) }
        });
        words.for_each(|word| set(&mut job, word));
        job
    }
}

/// Sets an attribute of a job.
fn set(job: &mut Job, attribute: &str) {
    let (name, value) = attribute.split_once('=').unwrap_or((attribute, ""));
    match name {
        "fd" => job.format = FrameFormat::Fd,
        "silent" => job.echo = Echo::Off,
        "back" => job.incoming = Incoming::Allowed,
        "keep-stamp" => job.timestamp = Timestamp::Kept,
        "no-checksums" => job.checksums = Checksums::NONE,
        "hops" => job.hop_limit = Some(number(value)),
        "uid" => job.uid = NonZeroU32::new(number(value)),
        "f" => {
            let (separator, inverted) = if value.contains('~') { ('~', CAN_INV_FILTER) } else { (':', 0) };
            let (id, mask) = cut(value, separator);
            job.filter = Filter { id: hex::<u32>(id) | inverted, mask: hex(mask) };
        }
        "x" => {
            let (positions, init) = value.rsplit_once(':').expect("positions and initial value");
            job.checksums.xor = Some(XorChecksum { span: span(positions), init: hex(init) });
        }
        "c" => {
            let (span, profile) = (span(value), Crc8Profile::None);
            job.checksums.crc8 = Some(Crc8Checksum { span, init: 0xFF, final_xor: 0xFF, table: crc8_table(), profile });
        }
        "p" => {
            let profile = match cut(value, ':') {
                ("1", byte) => Crc8Profile::Byte(hex(byte)),
                ("2", bytes) => Crc8Profile::ByteByCounter(buffer(bytes)),
                _ => Crc8Profile::IdXor,
            };
            job.checksums.crc8.as_mut().expect("a profile follows its CRC").profile = profile;
        }
        _ => modify(job, name, value),
    }
}

fn modify(job: &mut Job, name: &str, value: &str) {
    let (operation, field) = cut(name, '.');
    let operand = match operation {
        "and" => &mut job.modifications.and,
        "or" => &mut job.modifications.or,
        "xor" => &mut job.modifications.xor,
        "set" => &mut job.modifications.set,
        other => panic!("{other} is not an operation"),
    };
    match field {
        "id" => operand.id = Some(hex(value)),
        "len" => operand.len = Some(hex(value)),
        "flags" => operand.flags = Some(hex(value)),
        "data" => operand.data = Some(buffer(value)),
        other => panic!("{other} is not a field"),
    }
}

fn frame_on(text: &str) -> (BusIndex, Frame) {
    let (interface, frame) = cut(text, ':');
    (bus(interface), self::frame(frame))
}

fn frame(text: &str) -> Frame {
    let notation = text.split(['/', '@']).next().unwrap_or_default();
    let frame: Frame = notation.parse().unwrap_or_else(|error| panic!("{text} is not a frame: {error}"));
    let id = text.split_once('@').map_or(frame.id, |(_, id)| RawId(hex(id)));
    let data = text.split_once('/').map_or(frame.data, |(_, data)| buffer(data));
    Frame { id, data, ..frame }
}

/// Bytes, or one of them so often (`AA*64`), and zeros.
fn buffer<const LEN: usize>(text: &str) -> [u8; LEN] {
    let (bytes, times) = text.split_once('*').map_or((text, 1), |(bytes, times)| (bytes, number(times)));
    let digits = bytes.repeat(times);
    assert!(digits.len() <= 2 * CANFD_MAX_DLEN, "{text} is too long");
    std::array::from_fn(|at| digits.get(2 * at..2 * at + 2).map_or(0, hex))
}

fn span(positions: &str) -> ChecksumSpan {
    let [from, to, result] = numbers(positions, ':');
    ChecksumSpan { from, to, result }
}

fn crc8_table() -> [u8; 256] {
    let remainder = |byte: u8| (0..8).fold(byte, |crc, _| if crc & 0x80 == 0 { crc << 1 } else { crc << 1 ^ 0x1D });
    std::array::from_fn(|index| remainder(index.to_le_bytes()[0]))
}

fn bus(index: &str) -> BusIndex {
    BusIndex(number(index))
}

fn cut(text: &str, at: char) -> (&str, &str) {
    text.split_once(at).unwrap_or_else(|| panic!("{text} has no {at}"))
}

fn numbers<T: FromStr + Copy + Default, const N: usize>(text: &str, separator: char) -> [T; N] {
    let mut numbers = [T::default(); N];
    numbers.iter_mut().zip(text.split(separator)).for_each(|(place, written)| *place = number(written));
    numbers
}

fn number<T: FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text} is not a number"))
}

fn hex<T: TryFrom<u32>>(text: &str) -> T {
    let value = u32::from_str_radix(text, 16).ok().and_then(|value| T::try_from(value).ok());
    value.unwrap_or_else(|| panic!("{text} is not a hexadecimal number of this size"))
}
