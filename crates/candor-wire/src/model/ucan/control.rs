//! Control requests of ucan.
//!
//! ```text
//!  GET 0          │clock, 4│tx_fifo│sjw max│tseg1 min│max│tseg2 min│max│brp step, 2│brp min, 4│brp max, 4│
//!                 │modes, 2│filters, 2│receive mailboxes, 2│                              26 bytes in all
//!  SET_BITTIMING  │tq in ns, 4│brp, 2│sample point, 2│prop_seg│phase_seg1│phase_seg2│sjw│  12 bytes
//!  START          │modes, 2│
//! ```
//!
//! Little endian; a field without a number is a byte.

use std::num::NonZeroU8;

use candor_bus::Timing;
use candor_core::units::BitRate;

use crate::exchange::Channel;
use crate::model::{Action, Setting};
use crate::timing::{BitTiming, TimingLimits};
use crate::usb::{Recipient, Setup, Stall};

/// `UCAN_DEVICE_GET_FW_STRING`, to the device.
const FIRMWARE: u8 = 0;
/// `UCAN_COMMAND_*`, to the interface.
const START: u8 = 0;
const STOP: u8 = 1;
const RESET: u8 = 4;
const GET: u8 = 5;
const SET_BITTIMING: u8 = 7;
const RESTART: u8 = 8;
/// `UCAN_COMMAND_GET_*`.
const INFO: u16 = 0;
const PROTOCOL_VERSION: u16 = 1;

/// `UCAN_MODE_*`.
const SILENT: u16 = 1 << 1;
const ONE_SHOT: u16 = 1 << 3;
const BERR_REPORT: u16 = 1 << 4;
const MODES: u16 = SILENT | ONE_SHOT | BERR_REPORT;

/// Limits of a bxCAN. `tseg` and `sjw` must fit into bytes.
const LIMITS: TimingLimits =
    TimingLimits { clock_hz: 48_000_000, tseg1: 1..=16, tseg2: 1..=8, sjw_max: 4, brp: 1..=1024 };

const CHANNEL: Channel = Channel(0);

pub(super) fn answer(depth: NonZeroU8, setup: &Setup, into: &mut Vec<u8>) -> Result<(), Stall> {
    match (setup.recipient, setup.request, setup.value) {
        (Recipient::Device, FIRMWARE, 0) => into.extend(b"candor\0"),
        (Recipient::Interface, GET, PROTOCOL_VERSION) => into.extend(3_u32.to_le_bytes()),
        (Recipient::Interface, GET, INFO) => {
            let byte = |value: &u32| u8::try_from(*value).unwrap_or(u8::MAX);
            into.extend(LIMITS.clock_hz.to_le_bytes());
            into.extend([depth.get(), byte(&LIMITS.sjw_max)]);
            into.extend([LIMITS.tseg1.start(), LIMITS.tseg1.end(), LIMITS.tseg2.start(), LIMITS.tseg2.end()].map(byte));
            into.extend(1_u16.to_le_bytes());
            into.extend(LIMITS.brp.start().to_le_bytes());
            into.extend(LIMITS.brp.end().to_le_bytes());
            into.extend(MODES.to_le_bytes());
            into.extend(0_u16.to_le_bytes());
            into.extend(1_u16.to_le_bytes());
        }
        _ => return Err(Stall),
    }
    Ok(())
}

pub(super) fn obey(nominal: &mut Option<BitRate>, setup: &Setup, data: &[u8]) -> Result<Action, Stall> {
    if setup.recipient != Recipient::Interface {
        return Err(Stall);
    }
    match setup.request {
        // RESET keeps the bit timing: the driver resets whenever the interface goes down, but sets it only when
        // `ip link` does.
        RESET | STOP => Ok(Action::Stop(CHANNEL)),
        RESTART => Ok(Action::Restart(CHANNEL)),
        SET_BITTIMING => {
            *nominal = Some(bit_rate(data)?);
            Ok(Action::Nothing)
        }
        START => {
            let &[low, high] = data else { return Err(Stall) };
            let modes = u16::from_le_bytes([low, high]);
            if modes & !MODES != 0 {
                return Err(Stall);
            }
            let setting = Setting {
                timing: Timing { nominal: nominal.ok_or(Stall)?, data: None },
                listen_only: modes & SILENT != 0,
                one_shot: modes & ONE_SHOT != 0,
                bus_errors: modes & BERR_REPORT != 0,
            };
            Ok(Action::Start(CHANNEL, setting))
        }
        _ => Err(Stall),
    }
}

fn bit_rate(data: &[u8]) -> Result<BitRate, Stall> {
    // The quantum in ns and the sample point follow from the registers.
    let &[_, _, _, _, brp_low, brp_high, _, _, prop_seg, phase_seg1, phase_seg2, sjw] = data else { return Err(Stall) };
    let timing = BitTiming {
        prop_seg: prop_seg.into(),
        phase_seg1: phase_seg1.into(),
        phase_seg2: phase_seg2.into(),
        sjw: sjw.into(),
        brp: u16::from_le_bytes([brp_low, brp_high]).into(),
    };
    LIMITS.bit_rate(&timing).map_err(|_out_of_range| Stall)
}
