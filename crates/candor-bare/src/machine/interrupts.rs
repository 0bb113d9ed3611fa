//! Interrupts: devices wake the processor from `hlt`, and nothing else happens in a handler.

use core::arch::asm;
use core::ptr;

use super::cpu::{Area, Ports};

/// Vector of all cards. Priority 4.
const DEVICE: u8 = 0x40;
/// Vector of [`Parameters`](candor_bare::Parameters)' author, who has asked to stop. It only wakes.
const SPURIOUS: u8 = 0xFF;

/// Registers of the local interrupt controller.
mod local {
    pub(super) const ID: u64 = 0x20;
    pub(super) const PRIORITY: u64 = 0x80;
    pub(super) const DONE: u64 = 0xB0;
    pub(super) const SPURIOUS: u64 = 0xF0;
    pub(super) const ENABLED: u32 = 0x100;
}

/// A level of the line, not a change, raises the interrupt.
const BY_LEVEL: u32 = 1 << 15;
const MASKED: u32 = 1 << 16;

// SAFETY: the two controllers are there on every PC, at these addresses below 4 GiB, where there is no memory.
const LOCAL: Area = unsafe { Area::new(0xFEE0_0000, 0x1000) };
// SAFETY: as above.
const SHARED: Area = unsafe { Area::new(0xFEC0_0000, 0x20) };

#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Gate([u64; 2]);

static mut GATES: [Gate; 256] = [Gate([0; 2]); 256];

#[repr(C, packed)]
struct Pointer {
    limit: u16,
    base: u64,
}

unsafe extern "C" {
    fn on_device();
    fn on_exception();
}

/// Sets up the processor's side. Interrupts stay off.
pub(super) fn set_up() {
    for vector in 0..=u8::MAX {
        let handler = if vector < 32 { on_exception as *const () } else { on_device as *const () };
        let address = handler.expose_provenance() as u64;
        // Code segment 18, present, interrupts stay off in the handler.
        let low = address & 0xFFFF | 0x18 << 16 | 0x8E00 << 32 | (address >> 16 & 0xFFFF) << 48;
        let gate = (&raw mut GATES).cast::<Gate>().wrapping_add(vector.into());
        // SAFETY: one of the 256 gates; this is the only processor that runs this program, and nothing holds a reference.
        unsafe { ptr::write_volatile(gate, Gate([low, address >> 32])) };
    }
    let base = (&raw mut GATES).expose_provenance() as u64;
    let pointer = Pointer { limit: 256 * 16 - 1, base };
    // SAFETY: the table has 256 valid gates and lives for ever.
    unsafe { asm!("lidt [{}]", in(reg) &raw const pointer, options(readonly, nostack, preserves_flags)) };
    LOCAL.write_32(local::SPURIOUS, local::ENABLED | u32::from(SPURIOUS));
    LOCAL.write_32(local::PRIORITY, 0);
}

/// Sends a line of the cards to this processor.
pub(super) fn route(line: u8) {
    let processor = LOCAL.read_32(local::ID) & 0xFF00_0000;
    entry(line, u32::from(DEVICE) | BY_LEVEL, processor);
}

/// Switches a line off.
pub(super) fn mask(line: u8) {
    entry(line, u32::from(DEVICE) | BY_LEVEL | MASKED, 0);
}

/// Sleeps until there is an interrupt. A processor that polled would be counted in the time of the other.
#[inline]
pub(super) fn wait() {
    // SAFETY: the handler of devices changes no register and no memory but the stack, which this block may use.
    unsafe { asm!("sti", "hlt", "cli") };
}

/// The cards have been served: their line may interrupt again, and does so if it is still active.
#[inline]
pub(super) fn done() {
    LOCAL.write_32(local::DONE, 0);
}

/// Keeps the processor in its deepest sleep.
pub(super) fn halt_for_ever() -> ! {
    loop {
        // SAFETY: changes nothing; interrupts are off.
        unsafe { asm!("cli", "hlt", options(nomem, nostack)) };
    }
}

/// Keeps the old interrupt controller quiet, for a machine without another system.
pub(super) fn mask_old_controllers() {
    for base in [0x21, 0xA1] {
        // SAFETY: the mask registers of the two old controllers, which access no memory.
        let ports = unsafe { Ports::new(base) };
        ports.write(0, 0xFF);
    }
}

/// Writes an entry of the shared controller: masked first, so that it is never half of each.
fn entry(line: u8, low: u32, high: u32) {
    let register = 0x10 + 2 * u32::from(line);
    for (register, value) in [(register, MASKED), (register + 1, high), (register, low)] {
        SHARED.write_32(0x00, register);
        SHARED.write_32(0x10, value);
    }
}

/// From `start.s`.
#[unsafe(no_mangle)]
extern "C" fn exception() -> ! {
    let address: u64;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, cr2", out(reg) address, options(nomem, nostack, preserves_flags)) };
    panic!("exception of the processor; last bad address {address:#x}")
}
