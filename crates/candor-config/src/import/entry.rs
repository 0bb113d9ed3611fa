//! A can-gw job as a cangw command asks for it: what the kernel gets, bit for bit.

use std::num::NonZeroU32;

use super::options::{Given, Value};
use super::value::{self, RawOperand};
use super::{ENDS_HELP, code};
use crate::plan::{BusIndex, Echo, Incoming, Timestamp};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::filter::Filter;
use candor_core::frame::{CANFD_MAX_DLEN, FrameFormat};
use candor_core::job::Job;
use candor_core::rule::{ChecksumSpan, Checksums, Modifications, Operand, Operation};

/// `CGW_MOD_FUNCS`: cangw ignores further modifications.
const MAX_MODIFICATIONS: usize = 4;

/// `CGW_MAX_HOPS`: can-gw's module parameter goes no higher.
const MAX_HOPS: u8 = 6;

/// Everything that can-gw compares when it looks for a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The command.
    pub(super) span: Span,
    pub(super) ends: Ends,
    pub(super) handling: Handling,
    pub(super) changes: Changes,
    /// Only if there is a modification.
    pub(super) uid: Option<NonZeroU32>,
}

/// Attributes that an update by uid does not change: `struct can_can_gw`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) source: String,
    pub(super) destination: String,
    pub(super) filter: Filter,
}

/// Flags and hop limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handling {
    pub(super) format: FrameFormat,
    pub(super) echo: Echo,
    pub(super) timestamp: Timestamp,
    pub(super) incoming: Incoming,
    pub(super) hop_limit: Option<u8>,
}

/// `struct cf_mod`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    and: Option<RawOperand>,
    or: Option<RawOperand>,
    xor: Option<RawOperand>,
    set: Option<RawOperand>,
    checksums: Checksums,
}

impl Entry {
    /// Reads the options of -A or -D. `None`, after saying why, if cangw would refuse them.
    pub(super) fn read(span: Span, given: &[Given<'_>], findings: &mut Findings) -> Option<Self> {
        let has = |letter| given.iter().any(|option| option.letter == letter);
        let format = if has('X') { FrameFormat::Fd } else { FrameFormat::Classic };

        // Everything is read before anything is missed, so that all mistakes are told at once.
        let (_, source) = last(given, 's', findings, |value, findings| interface(value, 's', findings));
        let (_, destination) = last(given, 'd', findings, |value, findings| interface(value, 'd', findings));
        let (_, filter) = last(given, 'f', findings, value::filter);
        let (_, hop_limit) = last(given, 'l', findings, value::hop_limit);
        let (uid, uid_value) = last(given, 'u', findings, value::uid);
        let (xor, xor_value) = last(given, 'x', findings, value::xor_checksum);
        let (crc8, crc8_value) = last(given, 'c', findings, value::crc8_checksum);
        let (profile, profile_value) = last(given, 'p', findings, value::crc8_profile);
        let changes = modifications(given, format, findings);
        for (letter, end) in [('s', &source), ('d', &destination)] {
            if *end == Some(None) {
                let message = format!("-{letter} is missing: cangw requires a source and a destination");
                findings.report(Diagnostic::error(code::USAGE, span.clone(), message).help(ENDS_HELP));
            }
        }
        let mut changes = changes?;
        let is_changed = changes.is_active();
        if !is_changed && let Some(checksum) = xor.or(crc8) {
            findings.report(
                Diagnostic::error(code::USAGE, checksum.span(), "cangw rejects a checksum without a modification")
                    .help("add one without effect: -m OR:D:0.0.0000000000000000, or with -X a -M with 64 zero bytes"),
            );
            return None;
        }
        let mut ignored = |value: &Value<'_>, message: &str, help: &str| {
            findings.report(Diagnostic::warning(code::IGNORED, value.span(), message).help(help));
        };
        if let (Some(profile), None) = (profile, crc8) {
            ignored(profile, "cangw ignores -p without -c", "add the checksum, or remove -p");
        }
        let mut uid_number = uid_value?.and_then(NonZeroU32::new);
        if let Some(uid) = uid {
            if uid_number.is_none() {
                ignored(uid, "cangw treats uid 0 as no uid", "write another number, or remove -u");
            } else if !is_changed {
                ignored(uid, "can-gw ignores a uid without a modification", "remove -u, or add -m or -M");
                uid_number = None;
            }
        }
        changes.checksums.xor = xor_value?;
        changes.checksums.crc8 = crc8_value?;
        if let (Some(crc8), Some(profile)) = (&mut changes.checksums.crc8, profile_value?) {
            crc8.profile = profile;
        }
        let (echo, timestamp, incoming) = (
            if has('e') { Echo::On } else { Echo::Off },
            if has('t') { Timestamp::Kept } else { Timestamp::Fresh },
            if has('i') { Incoming::Allowed } else { Incoming::Skipped },
        );
        let handling = Handling { format, echo, timestamp, incoming, hop_limit: hop_limit? };
        let ends = Ends { source: source??, destination: destination??, filter: filter?.unwrap_or(Filter::ALL) };
        Some(Self { span, ends, handling, changes, uid: uid_number })
    }

    /// Returns true if the kernel accepts the job and it can ever forward a frame; reports it otherwise.
    pub(super) fn is_accepted(&self, findings: &mut Findings) -> bool {
        let max_len = self.handling.format.max_len();
        let refusal = match self.handling.hop_limit {
            Some(hops) if hops > MAX_HOPS => {
                Some((format!("The hop limit {hops} is above {MAX_HOPS}, the highest max_hops of can-gw"), "lower -l"))
            }
            _ => self.changes.spans().find(|span| !fits(*span, max_len)).map(|ChecksumSpan { from, to, result }| {
                let message = format!(
                    "The kernel rejects the positions {from}:{to}:{result}; the range is -{max_len} to {}",
                    max_len - 1
                );
                (message, "correct the checksum")
            }),
        };
        if let Some((message, help)) = refusal {
            findings.report(Diagnostic::error(code::KERNEL, self.span.clone(), message).help(help));
            return false;
        }
        let Ends { source, destination, filter } = &self.ends;
        if source == destination && self.handling.incoming == Incoming::Skipped {
            let message = format!("The job leads from {source} to {source}, so it never forwards a frame: left out");
            findings.report(
                Diagnostic::warning(code::NEVER_FIRES, self.span.clone(), message)
                    .help("newer kernels reject it; with -i it would send the frames back"),
            );
            return false;
        }
        filter_keeps_its_bits(*filter, &self.span, findings);
        true
    }

    /// The job, between these buses.
    pub(super) fn job(&self, from: BusIndex, to: BusIndex) -> Job {
        let Handling { format, echo, timestamp, incoming, hop_limit } = self.handling;
        Job {
            modifications: self.changes.modifications(),
            checksums: self.changes.checksums,
            echo,
            hop_limit,
            timestamp,
            incoming,
            uid: self.uid,
            ..Job::plain(from, to, format, self.ends.filter)
        }
    }
}

impl Changes {
    fn modifications(&self) -> Modifications {
        let operand = |raw: &Option<RawOperand>| raw.as_ref().map_or(Operand::NONE, RawOperand::operand);
        Modifications {
            and: operand(&self.and),
            or: operand(&self.or),
            xor: operand(&self.xor),
            set: operand(&self.set),
        }
    }

    const fn is_active(&self) -> bool {
        self.and.is_some() || self.or.is_some() || self.xor.is_some() || self.set.is_some()
    }

    fn spans(&self) -> impl Iterator<Item = ChecksumSpan> {
        let Checksums { crc8, xor } = self.checksums;
        crc8.map(|crc8| crc8.span).into_iter().chain(xor.map(|xor| xor.span))
    }

    const fn slot(&mut self, operation: Operation) -> &mut Option<RawOperand> {
        match operation {
            Operation::And => &mut self.and,
            Operation::Or => &mut self.or,
            Operation::Xor => &mut self.xor,
            Operation::Set => &mut self.set,
        }
    }
}

impl RawOperand {
    fn operand(&self) -> Operand {
        let mut data = [0; CANFD_MAX_DLEN];
        data[..self.data.len()].copy_from_slice(&self.data);
        Operand {
            id: self.has_id.then_some(self.id),
            len: self.has_len.then_some(self.len),
            flags: self.has_flags.then_some(self.flags),
            data: self.has_data.then_some(data),
        }
    }
}

/// An option that counts once: its last value, and what is read from it. The latter is `None` if a value is wrong, be it
/// one that is lost, for cangw reads them all; and `Some(None)` if there is none.
fn last<'g, 'w, T>(
    given: &'g [Given<'w>],
    letter: char,
    findings: &mut Findings,
    read: impl Fn(&Value<'w>, &mut Findings) -> Option<T>,
) -> (Option<&'g Value<'w>>, Option<Option<T>>) {
    let mut last: Option<&Value<'w>> = None;
    let mut result = Some(None);
    for next in given.iter().filter(|option| option.letter == letter).filter_map(|option| option.value.as_ref()) {
        result = match (result, read(next, findings)) {
            (Some(_), Some(value)) => Some(Some(value)),
            _ => None,
        };
        if let Some(lost) = last.replace(next) {
            let message = format!("cangw uses only the last -{letter}; this one is ignored");
            findings.report(
                Diagnostic::warning(code::OVERWRITTEN, lost.span(), message)
                    .also(next.span(), "this one is used")
                    .help("write one command for each, or remove it"),
            );
        }
    }
    (last, result)
}

/// # Source
/// [`dev_valid_name()`](https://github.com/gregkh/linux/blob/v6.1.192/net/core/dev.c#L1049) in Linux 6.1.
fn interface(value: &Value<'_>, letter: char, findings: &mut Findings) -> Option<String> {
    let name = value.text();
    let is_odd = |c: char| matches!(c, '/' | ':') || c.is_whitespace() || c.is_control();
    let message = match name {
        "(null)" => "The interface had been removed when cangw listed the job".to_owned(),
        "" | "." | ".." => format!("{name:?} is not a valid interface name"),
        _ if name.len() > 15 => format!("An interface name has at most 15 bytes; {name:?} has {}", name.len()),
        _ if name.contains(is_odd) => format!("{name:?} is not a valid interface name"),
        _ => return Some(name.to_owned()),
    };
    let help = format!("write a name listed by `ip link` after -{letter}");
    findings.report(Diagnostic::error(code::VALUE, value.span(), message).help(help));
    None
}

/// All modifications; `None` if one is wrong or of the other format.
fn modifications(given: &[Given<'_>], format: FrameFormat, findings: &mut Findings) -> Option<Changes> {
    let (right, wrong, help) = match format {
        FrameFormat::Classic => ('m', 'M', "write -m with 8 data bytes, or add -X for a CAN FD job"),
        FrameFormat::Fd => ('M', 'm', "write -M with flags and 64 data bytes, or remove -X"),
    };
    let mut is_right = true;
    for option in given.iter().filter(|option| option.letter == wrong) {
        let message = match format {
            FrameFormat::Classic => "cangw rejects -M without -X",
            FrameFormat::Fd => "cangw rejects -m with -X",
        };
        findings.report(Diagnostic::error(code::USAGE, option.span.clone(), message).help(help));
        is_right = false;
    }
    let mut changes = Changes::default();
    let mut places: [Option<Span>; 4] = [const { None }; 4];
    let values = given.iter().filter(|option| option.letter == right).filter_map(|option| option.value.as_ref());
    for (count, value) in values.enumerate() {
        if count >= MAX_MODIFICATIONS {
            let message = format!("cangw ignores every -{right} after the fourth");
            let help = "a command has one each of AND, OR, XOR and SET; combine fields, as in SET:ID:…";
            findings.report(Diagnostic::warning(code::IGNORED, value.span(), message).help(help));
            continue;
        }
        let Some((operation, operand)) = value::modification(value, format, findings) else {
            is_right = false;
            continue;
        };
        let place = &mut places[operation as usize];
        if let Some(first) = place.replace(value.span()) {
            let message = format!("can-gw uses only the last {}; this one is ignored", operation.name().to_uppercase());
            findings.report(
                Diagnostic::warning(code::OVERWRITTEN, first, message)
                    .also(value.span(), "this one is used")
                    .help("combine all fields in one, as in SET:ID:…"),
            );
        }
        *changes.slot(operation) = Some(operand);
    }
    is_right.then_some(changes)
}

/// # Source
/// [`cgw_chk_csum_parms()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L289) in Linux 6.1.
fn fits(span: ChecksumSpan, max_len: usize) -> bool {
    let ChecksumSpan { from, to, result } = span;
    [from, to, result].into_iter().all(|position| {
        let distance = usize::from(position.unsigned_abs());
        if position < 0 { distance <= max_len } else { distance < max_len }
    })
}

/// cangw takes identifiers as they are, so that many a 29-bit identifier is written without its flag.
fn filter_keeps_its_bits(filter: Filter, span: &Span, findings: &mut Findings) {
    use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_SFF_MASK};
    let Filter { id, mask } = filter;
    let bits = id & CAN_EFF_MASK;
    if mask & CAN_ERR_FLAG == 0 && mask & CAN_EFF_FLAG != 0 && id & CAN_EFF_FLAG == 0 && bits > CAN_SFF_MASK {
        let message = format!(
            "Without bit 80000000, this filter matches the 11-bit identifier {:03X}, not {bits:08X}",
            id & CAN_SFF_MASK
        );
        let help = format!("for the 29-bit identifier, write {:08X}; it was imported as written", id | CAN_EFF_FLAG);
        findings.report(Diagnostic::warning(code::FILTER, span.clone(), message).help(help));
    }
}
