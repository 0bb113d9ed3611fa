//! Jobs as command lines of `cangw` (can-utils).

use std::fmt::Write as _;

use super::{Echo, Incoming, Job, Timestamp};
use crate::filter::Filter;
use crate::frame::FrameFormat;
use crate::rule::{ChecksumSpan, Crc8Checksum, Crc8Profile, Operand, XorChecksum};

/// The arguments of `cangw` that add this job, without the program name.
///
/// Features that only user space supports ([`Job::is_for_kernel`]) are omitted. All numbers are hexadecimal except the
/// hop limit, the positions of checksums and the number of a profile.
///
/// # Source
/// [`cangw.c`](https://github.com/linux-can/can-utils/blob/v2020.11.0/cangw.c) of can-utils 2020.11 and of 2026.
#[must_use]
pub fn cangw_arguments(job: &Job, source: &str, destination: &str) -> Vec<String> {
    let mut arguments: Vec<String> = ["-A", "-s", source, "-d", destination].map(String::from).into();
    if job.format == FrameFormat::Fd {
        arguments.push("-X".into());
    }
    if job.echo == Echo::On {
        arguments.push("-e".into());
    }
    if job.timestamp == Timestamp::Kept {
        arguments.push("-t".into());
    }
    if job.incoming == Incoming::Allowed {
        arguments.push("-i".into());
    }
    let mut option = |name: &str, value: String| arguments.extend([name.into(), value]);
    if job.filter != Filter::ALL {
        option("-f", job.filter.to_string());
    }
    if let Some(hops) = job.hop_limit {
        option("-l", hops.to_string());
    }
    let modifications = &job.modifications;
    // Without a modification the kernel ignores the uid.
    if let Some(uid) = job.uid.filter(|_| !modifications.is_empty()) {
        option("-u", format!("{uid:X}"));
    }
    for (operation, operand) in modifications.operands() {
        if operand.is_empty() {
            continue;
        }
        let name = operation.name().to_uppercase();
        match job.format {
            FrameFormat::Classic => option("-m", classic_modification(&name, operand)),
            FrameFormat::Fd => option("-M", fd_modification(&name, operand)),
        }
    }
    // cangw refuses checksums without a modification, and the kernel ignores them.
    if !modifications.is_empty() {
        if let Some(xor) = &job.checksums.xor {
            option("-x", xor_checksum(xor));
        }
        if let Some(crc8) = &job.checksums.crc8 {
            option("-c", crc8_checksum(crc8));
            if let Some(profile) = crc8_profile(&crc8.profile) {
                option("-p", profile);
            }
        }
    }
    arguments
}

fn classic_modification(name: &str, operand: &Operand) -> String {
    let fields = letters([('I', operand.id.is_some()), ('L', operand.len.is_some()), ('D', operand.data.is_some())]);
    let data = &operand.data.unwrap_or([0; 64])[..FrameFormat::Classic.max_len()];
    let (id, len) = (operand.id.unwrap_or(0), operand.len.unwrap_or(0));
    format!("{name}:{fields}:{id:03X}.{len:X}.{}", hex(data))
}

fn fd_modification(name: &str, operand: &Operand) -> String {
    let fields = letters([
        ('I', operand.id.is_some()),
        ('F', operand.flags.is_some()),
        ('L', operand.len.is_some()),
        ('D', operand.data.is_some()),
    ]);
    let data = hex(&operand.data.unwrap_or([0; 64]));
    let (id, flags, len) = (operand.id.unwrap_or(0), operand.flags.unwrap_or(0), operand.len.unwrap_or(0));
    format!("{name}:{fields}:{id:03X}.{flags:X}.{len:X}.{data}")
}

fn xor_checksum(xor: &XorChecksum) -> String {
    let ChecksumSpan { from, to, result } = xor.span;
    format!("{from}:{to}:{result}:{:02X}", xor.init)
}

fn crc8_checksum(crc8: &Crc8Checksum) -> String {
    let ChecksumSpan { from, to, result } = crc8.span;
    format!("{from}:{to}:{result}:{:02X}:{:02X}:{}", crc8.init, crc8.final_xor, hex(&crc8.table))
}

fn crc8_profile(profile: &Crc8Profile) -> Option<String> {
    match profile {
        Crc8Profile::None => None,
        Crc8Profile::Byte(byte) => Some(format!("1:{byte:02X}")),
        Crc8Profile::ByteByCounter(bytes) => Some(format!("2:{}", hex(bytes))),
        Crc8Profile::IdXor => Some("3:".into()),
    }
}

fn letters<const N: usize>(fields: [(char, bool); N]) -> String {
    fields.into_iter().filter_map(|(letter, active)| active.then_some(letter)).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02X}").expect("writing to a String cannot fail");
        text
    })
}

#[cfg(test)]
mod tests;
