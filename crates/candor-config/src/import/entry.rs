//! The can-gw job of a cangw command, bit for bit.

use std::num::NonZeroU32;

use super::options::{Given, Value};
use super::value::{self, RawOperand};
use super::{ENDS_HELP, code};
use crate::plan::{BusIndex, Echo, Incoming, Timestamp};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_SFF_MASK, CANFD_MAX_DLEN, FrameFormat};
use candor_core::interface_name;
use candor_core::job::Job;
use candor_core::rule::{ChecksumSpan, Checksums, Modifications, Operand, Operation};

/// `CGW_MOD_FUNCS`; cangw ignores further modifications.
const MAX_MODIFICATIONS: usize = 4;

/// `CGW_MAX_HOPS`, the largest `max_hops` of can-gw.
const MAX_HOPS: u8 = 6;

/// A job, and the values by which can-gw compares it with another one.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Position of the whole command.
    pub(super) span: Span,
    pub(super) source: String,
    pub(super) destination: String,
    /// The buses are set by [`job`](Self::job).
    job: Job,
    /// Indexed by operation: AND, OR, XOR, SET.
    operands: [Option<RawOperand>; 4],
}

impl Entry {
    /// Reads the options of -A or -D. `None` if cangw would reject them, which is reported.
    pub(super) fn read(span: Span, given: &[Given<'_>], findings: &mut Findings) -> Option<Self> {
        let has = |letter| given.iter().any(|option| option.letter == letter);
        let format = if has('X') { FrameFormat::Fd } else { FrameFormat::Classic };

        // All options are read first, so that all errors are reported.
        let (_, source) = last(given, 's', findings, |value, findings| interface(value, 's', findings));
        let (_, destination) = last(given, 'd', findings, |value, findings| interface(value, 'd', findings));
        let (_, filter) = last(given, 'f', findings, value::filter);
        let (_, hop_limit) = last(given, 'l', findings, value::hop_limit);
        let (uid, uid_value) = last(given, 'u', findings, value::uid);
        let (xor, xor_value) = last(given, 'x', findings, value::xor_checksum);
        let (crc8, crc8_value) = last(given, 'c', findings, value::crc8_checksum);
        let (profile, profile_value) = last(given, 'p', findings, value::crc8_profile);
        let operands = operands(given, format, findings);
        for (letter, end) in [('s', &source), ('d', &destination)] {
            if *end == Some(None) {
                let message = format!("-{letter} is missing: cangw requires a source and a destination");
                findings.error(code::USAGE, &span, message, ENDS_HELP);
            }
        }
        let operands = operands?;
        let is_changed = operands.iter().any(Option::is_some);
        if let (false, Some(checksum)) = (is_changed, xor.or(crc8)) {
            let help = "add one without effect: -m OR:D:0.0.0000000000000000, or with -X a -M with 64 zero bytes";
            findings.error(code::USAGE, &checksum.span(), "cangw rejects a checksum without a modification", help);
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
        let mut checksums = Checksums { crc8: crc8_value?, xor: xor_value? };
        if let (Some(crc8), Some(profile)) = (&mut checksums.crc8, profile_value?) {
            crc8.profile = profile;
        }
        let operand =
            |operation: Operation| operands[operation as usize].as_ref().map_or(Operand::NONE, RawOperand::operand);
        let job = Job {
            modifications: Modifications {
                and: operand(Operation::And),
                or: operand(Operation::Or),
                xor: operand(Operation::Xor),
                set: operand(Operation::Set),
            },
            checksums,
            echo: if has('e') { Echo::On } else { Echo::Off },
            hop_limit: hop_limit?,
            timestamp: if has('t') { Timestamp::Kept } else { Timestamp::Fresh },
            incoming: if has('i') { Incoming::Allowed } else { Incoming::Skipped },
            uid: uid_number,
            ..Job::plain(BusIndex(0), BusIndex(0), format, filter?.unwrap_or(Filter::ALL))
        };
        Some(Self { span, source: source??, destination: destination??, job, operands })
    }

    /// Returns true if the kernel accepts the job and it can ever forward a frame; reports it otherwise.
    pub(super) fn is_accepted(&self, findings: &mut Findings) -> bool {
        let max_len = self.format().max_len();
        let Checksums { crc8, xor } = self.job.checksums;
        let mut spans = crc8.map(|crc8| crc8.span).into_iter().chain(xor.map(|xor| xor.span));
        if let Some(hops) = self.job.hop_limit.filter(|hops| *hops > MAX_HOPS) {
            let message = format!("The hop limit {hops} is above {MAX_HOPS}, the highest max_hops of can-gw");
            findings.error(code::KERNEL, &self.span, message, "lower -l");
            return false;
        }
        if let Some(ChecksumSpan { from, to, result }) = spans.find(|span| !fits(*span, max_len)) {
            let last = max_len - 1;
            let message =
                format!("The kernel rejects the positions {from}:{to}:{result}; the range is -{max_len} to {last}");
            findings.error(code::KERNEL, &self.span, message, "correct the checksum");
            return false;
        }
        let source = &self.source;
        if *source == self.destination && self.job.incoming == Incoming::Skipped {
            let message = format!("The job leads from {source} to {source}, so it never forwards a frame: left out");
            findings.report(
                Diagnostic::warning(code::NEVER_FIRES, self.span.clone(), message)
                    .help("newer kernels reject it; with -i it would send the frames back"),
            );
            return false;
        }
        filter_keeps_its_bits(self.job.filter, &self.span, findings);
        true
    }

    /// The job, between these buses.
    pub(super) fn job(&self, from: BusIndex, to: BusIndex) -> Job {
        Job { from, to, ..self.job.clone() }
    }

    pub(super) const fn format(&self) -> FrameFormat {
        self.job.format
    }

    pub(super) const fn uid(&self) -> Option<NonZeroU32> {
        self.job.uid
    }

    /// Equal interfaces and filters (`struct can_can_gw`), which an update by uid does not change.
    pub(super) fn has_ends_of(&self, other: &Self) -> bool {
        let ends = |entry: &Self| (entry.source.clone(), entry.destination.clone(), entry.job.filter);
        ends(self) == ends(other)
    }

    /// Equal flags and hop limits.
    pub(super) fn has_flags_of(&self, other: &Self) -> bool {
        let flags = |Job { format, echo, timestamp, incoming, hop_limit, .. }: &Job| {
            (*format, *echo, *timestamp, *incoming, *hop_limit)
        };
        flags(&self.job) == flags(&other.job)
    }

    /// Equal modifications and checksums (`struct cf_mod`).
    pub(super) fn has_changes_of(&self, other: &Self) -> bool {
        self.operands == other.operands && self.job.checksums == other.job.checksums
    }

    /// Takes modifications and checksums from another command.
    pub(super) fn update(&mut self, other: Self) {
        self.job.modifications = other.job.modifications;
        self.job.checksums = other.job.checksums;
        self.operands = other.operands;
        self.span = other.span;
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

/// An option of which cangw uses the last value: that value, and the parsed one. The latter is `None` after an error in
/// any value, because cangw reads them all, and `Some(None)` without the option.
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

fn interface(value: &Value<'_>, letter: char, findings: &mut Findings) -> Option<String> {
    let message = match interface_name::check(value.text()) {
        _ if value.text() == "(null)" => "The interface had been removed when cangw listed the job".to_owned(),
        Ok(()) => return Some(value.text().to_owned()),
        Err(error) => error.to_string(),
    };
    findings.error(code::VALUE, &value.span(), message, format!("write a name listed by `ip link` after -{letter}"));
    None
}

/// All modifications, by operation; `None` after an error.
fn operands(given: &[Given<'_>], format: FrameFormat, findings: &mut Findings) -> Option<[Option<RawOperand>; 4]> {
    let errors = findings.errors();
    let (right, wrong, help) = match format {
        FrameFormat::Classic => ('m', 'M', "write -m with 8 data bytes, or add -X for a CAN FD job"),
        FrameFormat::Fd => ('M', 'm', "write -M with flags and 64 data bytes, or remove -X"),
    };
    for option in given.iter().filter(|option| option.letter == wrong) {
        let message = match format {
            FrameFormat::Classic => "cangw rejects -M without -X",
            FrameFormat::Fd => "cangw rejects -m with -X",
        };
        findings.error(code::USAGE, &option.span, message, help);
    }
    let mut operands: [Option<(RawOperand, Span)>; 4] = [const { None }; 4];
    let values = given.iter().filter(|option| option.letter == right).filter_map(|option| option.value.as_ref());
    for (count, value) in values.enumerate() {
        if count >= MAX_MODIFICATIONS {
            let message = format!("cangw ignores every -{right} after the fourth");
            let help = "a command has one each of AND, OR, XOR and SET; combine fields, as in SET:ID:…";
            findings.report(Diagnostic::warning(code::IGNORED, value.span(), message).help(help));
            continue;
        }
        let Some((operation, operand)) = value::modification(value, format, findings) else { continue };
        if let Some((_, first)) = operands[operation as usize].replace((operand, value.span())) {
            let message = format!("can-gw uses only the last {}; this one is ignored", operation.name().to_uppercase());
            findings.report(
                Diagnostic::warning(code::OVERWRITTEN, first, message)
                    .also(value.span(), "this one is used")
                    .help("combine all fields in one, as in SET:ID:…"),
            );
        }
    }
    (findings.errors() == errors).then(|| operands.map(|operand| operand.map(|(operand, _)| operand)))
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

/// cangw passes identifiers unchanged, so 29-bit identifiers are often written without their flag.
fn filter_keeps_its_bits(filter: Filter, span: &Span, findings: &mut Findings) {
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
