//! Small words to write vectors with.

use std::num::NonZeroU32;

use super::super::{Errno, Interface, Kernel, Loopback, SameInterface, State};
use super::{Event, Expected, Vector};
use crate::filter::{CAN_INV_FILTER, Filter};
use crate::frame::{CANFD_MAX_DLEN, CANFD_MTU, Frame, FrameFormat};
use crate::job::Job;
use crate::job::{BusIndex, Echo, Incoming, Timestamp};
use crate::rule::{ChecksumSpan, Checksums, Crc8Checksum, Crc8Profile, Modifications, Operand, Operation, XorChecksum};

/// A script that shows this, with this many vcan interfaces and a kernel as it comes.
pub(super) fn shows(shows: &'static str, interfaces: usize) -> Vector {
    let interfaces = (0..interfaces).map(|index| Interface::vcan(&format!("vcan{index}"))).collect();
    Vector { name: "", shows, kernel: Kernel::DEFAULT, interfaces, events: Vec::new() }
}

impl Vector {
    pub(super) fn max_hops(mut self, max_hops: u8) -> Self {
        self.kernel.max_hops = max_hops;
        self
    }

    pub(super) fn refusing_same_interface(mut self) -> Self {
        self.kernel.same_interface = SameInterface::Refused;
        self
    }

    pub(super) fn with(mut self, interface: usize, change: impl FnOnce(&mut Interface)) -> Self {
        change(&mut self.interfaces[interface]);
        self
    }

    pub(super) fn add(self, job: &Job) -> Self {
        self.then(Event::Add { job: job.clone(), answer: Ok(()) })
    }

    pub(super) fn add_refused(self, job: &Job, errno: Errno) -> Self {
        self.then(Event::Add { job: job.clone(), answer: Err(errno) })
    }

    pub(super) fn delete(self, job: &Job) -> Self {
        self.then(Event::Delete { job: job.clone(), answer: Ok(()) })
    }

    pub(super) fn delete_refused(self, job: &Job) -> Self {
        self.then(Event::Delete { job: job.clone(), answer: Err(Errno::Einval) })
    }

    /// A frame on the first interface; what the other sockets see: index of the interface and frame.
    pub(super) fn send(self, frame: &str, sees: &[(usize, &str)]) -> Self {
        self.send_from(0, frame, sees)
    }

    pub(super) fn send_from(self, on: usize, frame: &str, sees: &[(usize, &str)]) -> Self {
        let sees = sees.iter().map(|(on, frame)| (*on, self::frame(frame))).collect();
        self.send_raw(on, self::frame(frame), sees)
    }

    pub(super) fn send_raw(self, on: usize, frame: Frame, sees: Vec<(usize, Frame)>) -> Self {
        let sees = sees.into_iter().map(|(on, frame)| (BusIndex(on), frame)).collect();
        self.then(Event::Send { on: BusIndex(on), frame, loopback: Loopback::On, sees, stamp: None })
    }

    pub(super) fn send_without_loopback(self, frame: &str) -> Self {
        let frame = self::frame(frame);
        self.then(Event::Send { on: BusIndex(0), frame, loopback: Loopback::Off, sees: Vec::new(), stamp: None })
    }

    pub(super) fn send_stamped(self, text: &str, to: usize, stamp: Timestamp) -> Self {
        let (on, frame, sees) = (BusIndex(0), frame(text), vec![(BusIndex(to), frame(text))]);
        self.then(Event::Send { on, frame, loopback: Loopback::On, sees, stamp: Some(stamp) })
    }

    /// The jobs with their counters, newest first.
    pub(super) fn list(self, jobs: &[(&Job, [u32; 3])]) -> Self {
        let expected = |&(job, counted): &(&Job, [u32; 3])| Expected {
            way: (job.from, job.to),
            filter_id: job.filter.id,
            counted,
        };
        let jobs = jobs.iter().map(expected).collect();
        self.then(Event::List(jobs))
    }

    pub(super) fn set(self, interface: usize, state: State) -> Self {
        self.then(Event::Set(BusIndex(interface), state))
    }

    pub(super) fn then(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }
}

/// A classic job with echo, so that sockets on vcan see what it does.
pub(super) fn job(from: usize, to: usize) -> Job {
    Job { echo: Echo::On, ..Job::plain(BusIndex(from), BusIndex(to), FrameFormat::Classic, Filter::ALL) }
}

/// The same for FD frames.
pub(super) fn fd_job(from: usize, to: usize) -> Job {
    Job { format: FrameFormat::Fd, ..job(from, to) }
}

/// A job of the way that most vectors take, 0 to 1.
pub(super) fn forward() -> Job {
    job(0, 1)
}

/// Builder methods for the remaining attributes of a job.
impl Job {
    pub(super) fn filtered(self, id: u32, mask: u32) -> Self {
        Self { filter: Filter { id, mask }, ..self }
    }

    pub(super) fn inverted(self, id: u32, mask: u32) -> Self {
        self.filtered(id | CAN_INV_FILTER, mask)
    }

    pub(super) fn without_echo(self) -> Self {
        Self { echo: Echo::Off, ..self }
    }

    pub(super) fn hop_limit(self, limit: u8) -> Self {
        Self { hop_limit: Some(limit), ..self }
    }

    pub(super) fn back_to_incoming(self) -> Self {
        Self { incoming: Incoming::Allowed, ..self }
    }

    pub(super) fn keeping_stamps(self) -> Self {
        Self { timestamp: Timestamp::Kept, ..self }
    }

    pub(super) fn uid(self, uid: u32) -> Self {
        Self { uid: NonZeroU32::new(uid), ..self }
    }

    pub(super) fn id(mut self, operation: Operation, id: u32) -> Self {
        operand(&mut self.modifications, operation).id = Some(id);
        self
    }

    pub(super) fn len(mut self, operation: Operation, len: u8) -> Self {
        operand(&mut self.modifications, operation).len = Some(len);
        self
    }

    pub(super) fn flags(mut self, operation: Operation, flags: u8) -> Self {
        operand(&mut self.modifications, operation).flags = Some(flags);
        self
    }

    /// The bytes given, the rest 0.
    pub(super) fn data(mut self, operation: Operation, bytes: &[u8]) -> Self {
        let mut data = [0; CANFD_MAX_DLEN];
        data[..bytes.len()].copy_from_slice(bytes);
        operand(&mut self.modifications, operation).data = Some(data);
        self
    }

    /// A modification that changes nothing: checksums are computed.
    pub(super) fn no_op(self) -> Self {
        self.data(Operation::Or, &[])
    }

    pub(super) fn xor(mut self, positions: [i8; 3], init: u8) -> Self {
        self.checksums.xor = Some(XorChecksum { span: span(positions), init });
        self
    }

    /// Polynomial 1D, most significant bit first, initial value and final XOR FF.
    pub(super) fn crc8(mut self, positions: [i8; 3], profile: Crc8Profile) -> Self {
        let span = span(positions);
        self.checksums.crc8 = Some(Crc8Checksum { span, init: 0xFF, final_xor: 0xFF, table: table(), profile });
        self
    }

    pub(super) fn without_checksums(self) -> Self {
        Self { checksums: Checksums::NONE, ..self }
    }
}

fn operand(modifications: &mut Modifications, operation: Operation) -> &mut Operand {
    match operation {
        Operation::And => &mut modifications.and,
        Operation::Or => &mut modifications.or,
        Operation::Xor => &mut modifications.xor,
        Operation::Set => &mut modifications.set,
    }
}

fn span([from, to, result]: [i8; 3]) -> ChecksumSpan {
    ChecksumSpan { from, to, result }
}

fn table() -> [u8; 256] {
    let remainder = |byte: u8| (0..8).fold(byte, |crc, _| if crc & 0x80 == 0 { crc << 1 } else { crc << 1 ^ 0x1D });
    std::array::from_fn(|index| remainder(index.to_le_bytes()[0]))
}

/// # Panics
/// If the text is no frame: vectors are written by hand.
pub(super) fn frame(text: &str) -> Frame {
    text.parse().unwrap_or_else(|error| panic!("{text} is no frame: {error}"))
}

/// Every byte that the kernel keeps of a frame.
pub(super) fn bytes(frame: &Frame) -> String {
    let mut bytes = [0; CANFD_MTU];
    let len = frame.to_kernel(&mut bytes);
    let data: String = bytes[4..len].iter().map(|byte| format!("{byte:02X}")).collect();
    format!("{:08X} {data}", frame.id.0)
}
