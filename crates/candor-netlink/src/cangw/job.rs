//! Values and encoding of a job.

use std::num::NonZeroU32;

use candor_core::filter::Filter;
use candor_core::frame::FrameFormat;
use candor_core::job::Job;
use candor_core::job::{Echo, Incoming, Timestamp};
use candor_core::rule::{Checksums, Modifications, Operand};
use candor_io::can::InterfaceIndex;

use super::{
    AF_CAN, CGW_CS_CRC8, CGW_CS_XOR, CGW_DELETED, CGW_DROPPED, CGW_DST_IF, CGW_FDMOD_AND, CGW_FDMOD_OR, CGW_FDMOD_SET,
    CGW_FDMOD_XOR, CGW_FILTER, CGW_HANDLED, CGW_LIM_HOPS, CGW_MOD_AND, CGW_MOD_OR, CGW_MOD_SET, CGW_MOD_UID,
    CGW_MOD_XOR, CGW_SRC_IF, CGW_TYPE_CAN_CAN, HEADER_BYTES, checksum, operand,
};
use crate::codec::{Attribute, DecodeError, Message, MessageWriter};

/// `CGW_FLAGS_…`. The kernel stores unknown bits, so any value can be listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct JobFlags(pub u16);

impl JobFlags {
    /// `CGW_FLAGS_CAN_ECHO`: local sockets receive the routed frame.
    pub const ECHO: Self = Self(0x1);
    /// `CGW_FLAGS_CAN_SRC_TSTAMP`: the receive timestamp is kept.
    pub const SOURCE_TIMESTAMP: Self = Self(0x2);
    /// `CGW_FLAGS_CAN_IIF_TX_OK`: frames may be sent on the interface they arrived on.
    pub const INCOMING_INTERFACE: Self = Self(0x4);
    /// `CGW_FLAGS_CAN_FD`: the job matches FD frames instead of classic ones.
    pub const FD: Self = Self(0x8);
    /// No flag of the kernel: candor's records of jobs in eBPF programs have it for CAN XL frames.
    pub const XL: Self = Self(0x8000);

    /// True if all of these flags are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the flags of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The frame format that a job with these flags matches.
    #[must_use]
    pub const fn format(self) -> FrameFormat {
        if self.contains(Self::FD) { FrameFormat::Fd } else { FrameFormat::Classic }
    }
}

/// Counters of a job; each wraps at 2³².
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct JobCounters {
    /// Frames accepted by the transmit queue.
    pub handled: u32,
    /// Frames that could not be sent, or without memory for a copy.
    pub dropped: u32,
    /// Frames above the hop limit or of an invalid length.
    pub deleted: u32,
}

/// A job as the kernel stores it.
///
/// Operand fields that the job does not modify are 0, as this crate encodes them. A job of another program with other
/// values there can be decoded, but deleting it needs an [`ExactJob`](super::ExactJob).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CangwJob {
    /// Index of the interface whose frames the job handles.
    pub source: InterfaceIndex,
    /// Index of the interface that sends them.
    pub destination: InterfaceIndex,
    /// Echo, timestamp, format.
    pub flags: JobFlags,
    /// Identifier and mask, not normalised.
    pub filter: Filter,
    /// Allowed hops; 0 for the limit of the module.
    pub hop_limit: u8,
    /// Id by which the modifications can be replaced while the job runs; 0 for none.
    pub uid: u32,
    /// Changes to the frame.
    pub modifications: Modifications,
    /// Checksums computed after the changes.
    pub checksums: Checksums,
    /// Not part of the identity, and not sent.
    pub counters: JobCounters,
}

impl CangwJob {
    /// A job for classic frames that changes nothing.
    #[must_use]
    pub fn plain(source: InterfaceIndex, destination: InterfaceIndex, filter: Filter) -> Self {
        Self {
            source,
            destination,
            flags: JobFlags::default(),
            filter,
            hop_limit: 0,
            uid: 0,
            modifications: Modifications::NONE,
            checksums: Checksums::NONE,
            counters: JobCounters::default(),
        }
    }

    /// Converts a job between two interfaces. Features of user space (`payload`, `send_as`) are omitted: the placement
    /// of routes keeps such jobs out of the kernel.
    #[must_use]
    pub fn new(job: &Job, source: InterfaceIndex, destination: InterfaceIndex) -> Self {
        let flags = [
            (JobFlags::ECHO, job.echo == Echo::On),
            (JobFlags::SOURCE_TIMESTAMP, job.timestamp == Timestamp::Kept),
            (JobFlags::INCOMING_INTERFACE, job.incoming == Incoming::Allowed),
            (JobFlags::FD, job.format == FrameFormat::Fd),
            (JobFlags::XL, job.is_xl),
        ];
        let flags = flags.into_iter().filter(|(_, on)| *on).fold(JobFlags::default(), |all, (flag, _)| all.with(flag));
        Self {
            flags,
            hop_limit: job.hop_limit.unwrap_or_default(),
            uid: job.uid.map_or(0, NonZeroU32::get),
            modifications: job.modifications,
            checksums: job.checksums,
            ..Self::plain(source, destination, job.filter)
        }
        .as_kept()
    }

    /// The job as the kernel will list it: without fields that its format lacks, and without checksums and uid if there
    /// are no modifications.
    fn as_kept(self) -> Self {
        let kept = Self::from_bytes(&self.to_bytes()).expect("what was just written can be read");
        let (checksums, uid) =
            if kept.modifications.is_empty() { (Checksums::NONE, 0) } else { (kept.checksums, kept.uid) };
        Self { checksums, uid, ..kept }
    }

    /// Equality without counters, as for deletion in the kernel.
    #[must_use]
    pub fn is_same_job(&self, other: &Self) -> bool {
        let Self { source, destination, flags, filter, hop_limit, uid, modifications, checksums, counters: _ } = self;
        // Short and distinguishing fields first: gateways have thousands of jobs.
        *filter == other.filter
            && *source == other.source
            && *destination == other.destination
            && *flags == other.flags
            && *hop_limit == other.hop_limit
            && *uid == other.uid
            && *modifications == other.modifications
            && *checksums == other.checksums
    }

    /// Decodes a job from the payload of a message.
    ///
    /// # Errors
    /// [`DecodeError`] if an attribute is missing or too short.
    pub fn decode(message: &Message<'_>) -> Result<Self, DecodeError> {
        let (header, attributes) = message.split::<HEADER_BYTES>()?;
        let flags = JobFlags(u16::from_ne_bytes([header[2], header[3]]));
        let mut parts = Parts::default();
        for attribute in attributes {
            parts.take(&attribute?, flags.format())?;
        }
        parts.job(flags)
    }

    /// Encodes the job as a payload without counters.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = MessageWriter::new(0, 0);
        self.encode(&mut writer);
        writer.payload().to_vec()
    }

    /// Decodes the result of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// [`DecodeError`] if something is missing or too short.
    pub fn from_bytes(payload: &[u8]) -> Result<Self, DecodeError> {
        Self::decode(&Message { kind: 0, flags: 0, sequence: 0, payload })
    }

    /// Appends header and attributes, without counters.
    pub(super) fn encode(&self, writer: &mut MessageWriter) {
        let [low, high] = self.flags.0.to_ne_bytes();
        writer.header(&[AF_CAN, CGW_TYPE_CAN_CAN, low, high]);
        if self.uid != 0 {
            writer.attribute(CGW_MOD_UID, &self.uid.to_ne_bytes());
        }
        let format = self.flags.format();
        for (kind, operand) in modification_kinds(format).into_iter().zip(operands(&self.modifications)) {
            if !operand.is_empty() {
                writer.attribute(kind, &operand::encode(operand, format));
            }
        }
        if let Some(crc8) = &self.checksums.crc8 {
            writer.attribute(CGW_CS_CRC8, &checksum::encode_crc8(crc8));
        }
        if let Some(xor) = &self.checksums.xor {
            writer.attribute(CGW_CS_XOR, &checksum::encode_xor(xor));
        }
        if self.hop_limit != 0 {
            writer.attribute(CGW_LIM_HOPS, &[self.hop_limit]);
        }
        let filter = [self.filter.id.to_ne_bytes(), self.filter.mask.to_ne_bytes()].concat();
        writer.attribute(CGW_FILTER, &filter);
        writer.attribute(CGW_SRC_IF, &self.source.number().to_ne_bytes());
        writer.attribute(CGW_DST_IF, &self.destination.number().to_ne_bytes());
    }
}

/// A job during decoding. A repeated attribute replaces the earlier one, as in the kernel.
#[derive(Default)]
struct Parts {
    source: Option<InterfaceIndex>,
    destination: Option<InterfaceIndex>,
    filter: Option<Filter>,
    hop_limit: u8,
    uid: u32,
    modifications: Modifications,
    checksums: Checksums,
    counters: JobCounters,
}

impl Parts {
    fn take(&mut self, attribute: &Attribute<'_>, format: FrameFormat) -> Result<(), DecodeError> {
        let [and, or, xor, set] = modification_kinds(format);
        let modifications = &mut self.modifications;
        match attribute.kind {
            kind if kind == and => modifications.and = operand::decode(attribute, format)?,
            kind if kind == or => modifications.or = operand::decode(attribute, format)?,
            kind if kind == xor => modifications.xor = operand::decode(attribute, format)?,
            kind if kind == set => modifications.set = operand::decode(attribute, format)?,
            CGW_CS_XOR => self.checksums.xor = Some(checksum::decode_xor(attribute)?),
            CGW_CS_CRC8 => self.checksums.crc8 = Some(checksum::decode_crc8(attribute)?),
            CGW_HANDLED => self.counters.handled = attribute.u32()?,
            CGW_DROPPED => self.counters.dropped = attribute.u32()?,
            CGW_DELETED => self.counters.deleted = attribute.u32()?,
            CGW_SRC_IF => self.source = InterfaceIndex::new(attribute.u32()?),
            CGW_DST_IF => self.destination = InterfaceIndex::new(attribute.u32()?),
            CGW_FILTER => {
                let [i0, i1, i2, i3, m0, m1, m2, m3] = *attribute.array::<8>()?;
                let (id, mask) = (u32::from_ne_bytes([i0, i1, i2, i3]), u32::from_ne_bytes([m0, m1, m2, m3]));
                self.filter = Some(Filter { id, mask });
            }
            CGW_LIM_HOPS => self.hop_limit = attribute.u8()?,
            CGW_MOD_UID => self.uid = attribute.u32()?,
            _ => {}
        }
        Ok(())
    }

    fn job(self, flags: JobFlags) -> Result<CangwJob, DecodeError> {
        Ok(CangwJob {
            source: self.source.ok_or(DecodeError::MissingAttribute { kind: CGW_SRC_IF })?,
            destination: self.destination.ok_or(DecodeError::MissingAttribute { kind: CGW_DST_IF })?,
            flags,
            // The kernel omits a filter of zeros.
            filter: self.filter.unwrap_or(Filter::ALL),
            hop_limit: self.hop_limit,
            uid: self.uid,
            modifications: self.modifications,
            checksums: self.checksums,
            counters: self.counters,
        })
    }
}

/// The attributes of AND, OR, XOR and SET for a frame format; the kernel ignores those of the other format.
const fn modification_kinds(format: FrameFormat) -> [u16; 4] {
    match format {
        FrameFormat::Classic => [CGW_MOD_AND, CGW_MOD_OR, CGW_MOD_XOR, CGW_MOD_SET],
        FrameFormat::Fd => [CGW_FDMOD_AND, CGW_FDMOD_OR, CGW_FDMOD_XOR, CGW_FDMOD_SET],
    }
}

const fn operands(modifications: &Modifications) -> [&Operand; 4] {
    [&modifications.and, &modifications.or, &modifications.xor, &modifications.set]
}
