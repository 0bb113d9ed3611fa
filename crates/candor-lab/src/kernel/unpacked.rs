//! Unpacks the kernel from its self-extracting image.
//!
//! A guest that counts instructions needs about 5 billion of them to unpack a Debian 6.1 kernel, as many as for the
//! rest of the boot and most of a run. The host does it once, when the kernel is fetched.
//!
//! # Source
//! [`Documentation/x86/boot.rst`](https://github.com/gregkh/linux/blob/v6.1.192/Documentation/x86/boot.rst) of Linux 6.1; the
//! [.xz file format](https://tukaani.org/xz/xz-file-format.txt); the
//! [PVH boot protocol](https://xenbits.xen.org/docs/unstable/misc/pvh.html) of Xen, which QEMU uses for ELF kernels.

use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{Endianness, elf};

/// `HdrS` in the setup header; version 2.08 added the location of the payload.
const MAGIC_AT: usize = 0x202;
const MAGIC: &[u8] = b"HdrS";
const VERSION_AT: usize = 0x206;
const VERSION_WITH_PAYLOAD: u16 = 0x0208;
const SETUP_SECTORS_AT: usize = 0x1F1;
const PAYLOAD_OFFSET_AT: usize = 0x248;
const PAYLOAD_LENGTH_AT: usize = 0x24C;
const SECTOR_BYTES: usize = 512;

const XZ_MAGIC: &[u8] = b"\xFD7zXZ\x00";
const XZ_HEADER_BYTES: usize = 12;
const XZ_FILTER_X86: u64 = 0x04;
const XZ_FILTER_LZMA2: u64 = 0x21;

const PVH_ENTRY: u32 = 18;

/// The kernel as an ELF file that QEMU can boot, or `None` if it is packed in another way.
pub(super) fn unpack(image: &[u8]) -> Option<Vec<u8>> {
    let kernel = unpack_xz(payload(image)?)?;
    has_pvh_entry(&kernel).then_some(kernel)
}

fn payload(image: &[u8]) -> Option<&[u8]> {
    let number =
        |at: usize| -> Option<usize> { usize::try_from(u32::from_le_bytes(*image.get(at..)?.first_chunk()?)).ok() };
    let version = u16::from_le_bytes(*image.get(VERSION_AT..)?.first_chunk()?);
    if !image.get(MAGIC_AT..)?.starts_with(MAGIC) || version < VERSION_WITH_PAYLOAD {
        return None;
    }
    let sectors = match *image.get(SETUP_SECTORS_AT)? {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let start = (sectors + 1) * SECTOR_BYTES + number(PAYLOAD_OFFSET_AT)?;
    image.get(start..)?.get(..number(PAYLOAD_LENGTH_AT)?)
}

/// Unpacks the only block of an .xz stream. apt has checked the checksum of the package.
fn unpack_xz(stream: &[u8]) -> Option<Vec<u8>> {
    let block = stream.strip_prefix(XZ_MAGIC).and_then(|_| stream.get(XZ_HEADER_BYTES..))?;
    let header_bytes = (usize::from(*block.first()?) + 1) * 4;
    let flags = *block.get(1)?;
    let mut header = block.get(2..header_bytes)?;
    for _size_present in [0x40, 0x80].into_iter().filter(|bit| flags & bit != 0) {
        number(&mut header)?;
    }
    let mut filters = Vec::new();
    for _ in 0..=(flags & 3) {
        filters.push(number(&mut header)?);
        let properties = usize::try_from(number(&mut header)?).ok()?;
        header = header.get(properties..)?;
    }
    let mut packed = block.get(header_bytes..)?;
    let mut unpacked = Vec::new();
    lzma_rs::lzma2_decompress(&mut packed, &mut unpacked).ok()?;
    match filters.as_slice() {
        [XZ_FILTER_LZMA2] => {}
        [XZ_FILTER_X86, XZ_FILTER_LZMA2] => make_calls_relative(&mut unpacked),
        _ => return None,
    }
    Some(unpacked)
}

/// A number of the .xz format: 7 bits per byte, lowest first.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Undoes the x86 filter of .xz, which makes targets of calls and jumps (`E8`, `E9`) absolute so that equal bytes pack
/// better.
///
/// A byte that looks like an instruction may be part of an earlier operand; `near` has a bit for each of the last three
/// bytes that looked like one, latest lowest.
fn make_calls_relative(code: &mut [u8]) {
    /// True if a target can be here, by `near`.
    const POSSIBLE: [bool; 8] = [true, true, true, false, true, false, false, false];
    /// Byte of the target, from its end, that was the nearest such byte.
    const BYTE: [usize; 8] = [0, 1, 2, 2, 3, 3, 3, 3];
    let is_sign = |byte: u8| byte == 0 || byte == 0xFF;

    let mut near = 0_usize;
    let mut last = None;
    let mut at = 0;
    while at + 4 < code.len() {
        if code[at] & 0xFE != 0xE8 {
            at += 1;
            continue;
        }
        let distance = last.map_or(usize::MAX, |last| at - last);
        last = Some(at);
        near = if distance > 3 { 0 } else { (near << (distance - 1)) & 7 };
        let doubtful = near != 0 && (!POSSIBLE[near] || is_sign(code[at + 4 - BYTE[near]]));
        if doubtful || !is_sign(code[at + 4]) {
            near = (near << 1) | 1;
            at += 1;
            continue;
        }
        let operand = [code[at + 1], code[at + 2], code[at + 3], code[at + 4]];
        let relative = relative_target(u32::from_le_bytes(operand), at, near, BYTE[near] * 8, is_sign);
        code[at + 1..at + 5].copy_from_slice(&relative.to_le_bytes());
        at += 5;
        // The operand's last byte counts as the position after the instruction.
        near = 0;
        last = None;
    }
}

/// The packer repeats the conversion until the doubtful byte is no longer a sign; so does this.
fn relative_target(absolute: u32, at: usize, near: usize, shift: usize, is_sign: impl Fn(u8) -> bool) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "positions count modulo 2^32")]
    let end = (at as u32).wrapping_add(5);
    let mut source = absolute;
    let target = loop {
        let target = source.wrapping_sub(end);
        if near == 0 || !is_sign(target.to_le_bytes()[3 - shift / 8]) {
            break target;
        }
        source = target ^ ((1 << (32 - shift)) - 1);
    };
    // Sign-extended from 25 bits.
    let target = target & 0x01FF_FFFF;
    if target & 0x0100_0000 == 0 { target } else { target | 0xFE00_0000 }
}

fn has_pvh_entry(kernel: &[u8]) -> bool {
    let Ok(header) = elf::FileHeader64::<Endianness>::parse(kernel) else { return false };
    let Ok(endian) = header.endian() else { return false };
    let Ok(segments) = header.program_headers(endian, kernel) else { return false };
    for segment in segments {
        let Ok(Some(mut notes)) = segment.notes(endian, kernel) else { continue };
        while let Ok(Some(note)) = notes.next() {
            if note.name() == b"Xen" && note.n_type(endian) == elf::NoteType(PVH_ENTRY) {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The packer: the same walk with the inverse addition.
    fn make_calls_absolute(code: &mut [u8]) {
        let is_sign = |byte: u8| byte == 0 || byte == 0xFF;
        let (mut mask, mut previous) = (0_u32, -1_i64);
        let mut at = 0;
        while at + 4 < code.len() {
            if code[at] & 0xFE == 0xE8 {
                let position = i64::try_from(at).unwrap();
                let distance = position - previous;
                previous = position;
                mask = if distance > 3 { 0 } else { (mask << (distance - 1)) & 7 };
                let byte = [0, 1, 2, 2, 3, 3, 3, 3][mask as usize];
                let skip = mask != 0 && (![0, 1, 2, 4].contains(&mask) || is_sign(code[at + 4 - byte]));
                if !skip && is_sign(code[at + 4]) {
                    let operand: [u8; 4] = code[at + 1..at + 5].try_into().unwrap();
                    let mut source = u32::from_le_bytes(operand);
                    let target = loop {
                        let target = source.wrapping_add(u32::try_from(at).unwrap() + 5);
                        if mask == 0 || !is_sign(target.to_le_bytes()[3 - byte]) {
                            break target;
                        }
                        source = target ^ ((1 << (32 - byte * 8)) - 1);
                    };
                    let sign = 0_u32.wrapping_sub(target & 0x0100_0000);
                    code[at + 1..at + 5].copy_from_slice(&((target & 0x01FF_FFFF) | sign).to_le_bytes());
                    at += 4;
                } else {
                    mask = (mask << 1) | 1;
                }
            }
            at += 1;
        }
    }

    proptest! {
        #[test]
        fn undoes_the_x86_filter(code in proptest::collection::vec(
            prop_oneof![Just(0xE8_u8), Just(0xE9), Just(0), Just(0xFF), any::<u8>()], 0..400,
        )) {
            let mut changed = code.clone();
            make_calls_absolute(&mut changed);
            make_calls_relative(&mut changed);
            prop_assert_eq!(changed, code);
        }

        #[test]
        fn garbage_is_not_unpacked(mut image in proptest::collection::vec(any::<u8>(), 0..2000), header in any::<bool>()) {
            if header && image.len() > MAGIC_AT + 8 {
                image[MAGIC_AT..MAGIC_AT + 4].copy_from_slice(MAGIC);
            }
            prop_assert_eq!(unpack(&image), None);
        }
    }

    #[test]
    fn unpacks_a_stream_of_one_block() {
        let mut stream = Vec::new();
        lzma_rs::xz_compress(&mut b"hello hello hello".as_slice(), &mut stream).unwrap();
        assert_eq!(unpack_xz(&stream).as_deref(), Some(b"hello hello hello".as_slice()));
        for cut in 0..stream.len() {
            // Truncated streams must not panic.
            let _ = unpack_xz(&stream[..cut]);
        }
    }
}
