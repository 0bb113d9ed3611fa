//! Control requests of gs_usb.
//!
//! ```text
//!  DEVICE_CONFIG  │0│0│0│channels - 1│software version│hardware version│
//!  BT_CONST       │features│clock│tseg1 min│max│tseg2 min│max│sjw max│brp min│max│step│
//!  BT_CONST_EXT   … and       │tseg1 min│max│tseg2 min│max│sjw max│brp min│max│step│   of the data phase
//!  BITTIMING      │prop_seg│phase_seg1│phase_seg2│sjw│brp│
//!  MODE           │1 start, 0 reset│flags│
//!  GET_STATE      │state│receive counter│transmit counter│
//! ```
//!
//! 4-byte words, little endian; the first four fields of DEVICE_CONFIG are bytes.

use candor_bus::{BusNs, ErrorState, Timing};
use candor_core::units::BitRate;

use super::{Options, Registers, SLOTS};
use crate::exchange::Channel;
use crate::model::{Action, Health, Setting, stamp_us};
use crate::timing::{BitTiming, TimingLimits};
use crate::usb::{Recipient, Setup, Stall};

/// `GS_USB_BREQ_*`.
const HOST_FORMAT: u8 = 0;
const BITTIMING: u8 = 1;
const MODE: u8 = 2;
const BT_CONST: u8 = 4;
const DEVICE_CONFIG: u8 = 5;
const TIMESTAMP: u8 = 6;
const DATA_BITTIMING: u8 = 10;
const BT_CONST_EXT: u8 = 11;
const GET_STATE: u8 = 14;

/// `GS_CAN_FEATURE_*`; `GS_CAN_MODE_*` has the same bits.
const LISTEN_ONLY: u32 = 1 << 0;
const ONE_SHOT: u32 = 1 << 3;
const HW_TIMESTAMP: u32 = 1 << 4;
const FD: u32 = 1 << 8;
const HAS_BT_CONST_EXT: u32 = 1 << 10;
const BERR_REPORTING: u32 = 1 << 12;
const HAS_GET_STATE: u32 = 1 << 13;

/// `GS_CAN_STATE_STOPPED`.
const STOPPED: u32 = 4;

/// Limits of an M_CAN, the controller of most FD adapters.
const NOMINAL: TimingLimits =
    TimingLimits { clock_hz: 80_000_000, tseg1: 2..=256, tseg2: 2..=128, sjw_max: 128, brp: 1..=512 };
const DATA: TimingLimits =
    TimingLimits { clock_hz: 80_000_000, tseg1: 1..=32, tseg2: 1..=16, sjw_max: 16, brp: 1..=32 };

const fn features(options: &Options) -> u32 {
    let fd = if options.fd { FD | HAS_BT_CONST_EXT } else { 0 };
    LISTEN_ONLY | ONE_SHOT | HW_TIMESTAMP | BERR_REPORTING | HAS_GET_STATE | fd
}

pub(super) fn answer(
    options: &Options,
    setup: &Setup,
    health: &[Health],
    now: BusNs,
    into: &mut Vec<u8>,
) -> Result<(), Stall> {
    if setup.recipient != Recipient::Interface {
        return Err(Stall);
    }
    // wValue is a channel, except for DEVICE_CONFIG and TIMESTAMP.
    let health = || health.get(usize::from(setup.value)).copied().ok_or(Stall);
    match setup.request {
        DEVICE_CONFIG => {
            into.extend([0, 0, 0, options.channels.get() - 1]);
            words(&[2, 1], into);
        }
        BT_CONST => {
            health()?;
            words(&[features(options)], into);
            words(&limits(&NOMINAL), into);
        }
        BT_CONST_EXT if options.fd => {
            health()?;
            words(&[features(options)], into);
            words(&limits(&NOMINAL), into);
            words(&limits(&DATA)[1..], into);
        }
        TIMESTAMP => words(&[stamp_us(now)], into),
        GET_STATE => {
            let Health { is_started, state, counters } = health()?;
            let state = match state {
                _ if !is_started => STOPPED,
                ErrorState::Active => 0,
                ErrorState::Warning => 1,
                ErrorState::Passive => 2,
                ErrorState::BusOff => 3,
            };
            words(&[state, counters.receive.into(), counters.transmit.into()], into);
        }
        _ => return Err(Stall),
    }
    Ok(())
}

pub(super) fn obey(options: &Options, channels: &mut [Registers], setup: &Setup, data: &[u8]) -> Result<Action, Stall> {
    if setup.recipient != Recipient::Interface {
        return Err(Stall);
    }
    if setup.request == HOST_FORMAT {
        return Ok(Action::Nothing); // always little endian
    }
    let channel = Channel(u8::try_from(setup.value).map_err(|_no_channel| Stall)?);
    let registers = channels.get_mut(usize::from(channel.0)).ok_or(Stall)?;
    match setup.request {
        // Survives a reset: drivers up to 2025 set it only when `ip link` does, later ones at each start.
        BITTIMING => registers.nominal = Some(bit_rate(&NOMINAL, data)?),
        DATA_BITTIMING if options.fd => registers.data = Some(bit_rate(&DATA, data)?),
        MODE => return mode(options, channel, registers, data),
        _ => return Err(Stall),
    }
    Ok(Action::Nothing)
}

fn mode(options: &Options, channel: Channel, registers: &mut Registers, data: &[u8]) -> Result<Action, Stall> {
    let [mode, flags] = read_words(data)?;
    match mode {
        0 => Ok(Action::Stop(channel)),
        1 if flags & !features(options) == 0 => {
            let nominal = registers.nominal.ok_or(Stall)?;
            let data = if flags & FD == 0 { None } else { Some(registers.data.ok_or(Stall)?) };
            registers.is_stamped = flags & HW_TIMESTAMP != 0;
            registers.plugs = SLOTS - options.depth;
            let setting = Setting {
                timing: Timing { nominal, data },
                listen_only: flags & LISTEN_ONLY != 0,
                one_shot: flags & ONE_SHOT != 0,
                bus_errors: flags & BERR_REPORTING != 0,
            };
            Ok(Action::Start(channel, setting))
        }
        _ => Err(Stall),
    }
}

fn bit_rate(limits: &TimingLimits, data: &[u8]) -> Result<BitRate, Stall> {
    let [prop_seg, phase_seg1, phase_seg2, sjw, brp] = read_words(data)?;
    limits.bit_rate(&BitTiming { prop_seg, phase_seg1, phase_seg2, sjw, brp }).map_err(|_out_of_range| Stall)
}

/// `struct gs_device_bt_const` without its features.
fn limits(limits: &TimingLimits) -> [u32; 9] {
    let TimingLimits { clock_hz, tseg1, tseg2, sjw_max, brp } = limits;
    [*clock_hz, *tseg1.start(), *tseg1.end(), *tseg2.start(), *tseg2.end(), *sjw_max, *brp.start(), *brp.end(), 1]
}

fn words(words: &[u32], into: &mut Vec<u8>) {
    into.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

/// Reads exactly `N` little-endian words.
fn read_words<const N: usize>(bytes: &[u8]) -> Result<[u32; N], Stall> {
    let (words, rest) = bytes.as_chunks::<4>();
    let words: &[[u8; 4]; N] = words.try_into().map_err(|_other_length| Stall)?;
    if rest.is_empty() { Ok(words.map(u32::from_le_bytes)) } else { Err(Stall) }
}
