//! `stab`: what length a frame counts as.

use super::args::{Args, Wrong};
use super::units::{number, signed, size, some_size};
use crate::discipline::SizeTable;
use candor_core::diagnostic::Findings;

/// `stab`, up to the first word that is not of it.
pub(super) fn read(args: &mut Args<'_, '_>, findings: &mut Findings) -> Option<SizeTable> {
    const MOST_SLOTS: u32 = 4096;
    let (mut overhead, mut mpu, mut mtu, mut slots) = (0, 0, 2047, 512);
    loop {
        let option = args.next_text();
        match option {
            "overhead" | "mpu" | "mtu" | "tsize" | "linklayer" => args.take(),
            _ => break,
        };
        match option {
            "overhead" => overhead = args.value(findings, signed)?,
            "mpu" => mpu = args.value(findings, size)?,
            "mtu" => mtu = args.value(findings, some_size)?,
            "tsize" => {
                slots = args.value(findings, |text| match number(text)? {
                    slots if (1..=MOST_SLOTS).contains(&slots) => Ok(slots),
                    _ => Err(Wrong::new("A size table has 1 to 4096 slots", "write tsize 512")),
                })?
            }
            _ => args.value(findings, |text| match text {
                "ethernet" => Ok(()),
                _ => Err(Wrong::new("CAN has no cells as ATM has", "leave linklayer out")),
            })?,
        }
    }
    // A table for more slots than 16 bits of memory hold is no table; u32 fits usize wherever this runs.
    Some(SizeTable::even(overhead, mpu, mtu, usize::try_from(slots).unwrap_or(usize::MAX)))
}
