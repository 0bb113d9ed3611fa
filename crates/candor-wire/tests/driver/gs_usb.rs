//! `gs_usb.c` of Linux 6.1.192.

use std::collections::BTreeMap;

use candor_core::frame::{CANFD_BRS, CANFD_ESI, CANFD_FDF, Frame, FrameFormat, RawId};
use candor_wire::model::GsUsb;
use candor_wire::usbip::Seqnum;

use super::{Driver, Heard, Host, word, words};

const LENGTHS: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64];
const FEATURE_HW_TIMESTAMP: u32 = 1 << 4;
const FEATURE_FD: u32 = 1 << 8;
const FEATURE_BT_CONST_EXT: u32 = 1 << 10;
pub(crate) const MODE_LISTEN_ONLY: u32 = 1 << 0;
pub(crate) const MODE_FD: u32 = 1 << 8;
pub(crate) const MODE_BERR_REPORTING: u32 = 1 << 12;

#[derive(Clone, Debug, Default)]
struct ChannelState {
    is_open: bool,
    /// 76 instead of 20 bytes (`hf_size_tx`).
    has_long_frames: bool,
    /// Used slots, with their pending transfer.
    slots: BTreeMap<u32, Option<Seqnum>>,
    pub(crate) tx_dropped: u32,
}

pub(crate) struct GsUsbDriver {
    pub(crate) host: Host,
    pub(crate) features: u32,
    channels: Vec<ChannelState>,
    posted: Vec<Seqnum>,
    /// `hf_size_rx`.
    room: usize,
}

impl GsUsbDriver {
    /// `gs_usb_probe` on an enumerated device.
    pub(crate) fn probe(model: GsUsb, queue_frames: usize) -> Self {
        let mut host = Host::new(model, queue_frames);
        assert_eq!(host.enumerate(), (0x1D50, 0x606F));
        host.control_out(0x41, 0, 1, 0, &words(&[0x0000_BEEF])).unwrap();
        let config = host.control_in(0xC1, 5, 1, 0, 12).unwrap();
        assert_eq!(config.len(), 12);
        let count = u16::from(config[3]) + 1;
        let mut features = 0;
        for channel in 0..count {
            let limits = host.control_in(0xC1, 4, channel, 0, 40).unwrap();
            assert_eq!(limits.len(), 40);
            features = word(&limits, 0);
            if features & FEATURE_FD != 0 && features & FEATURE_BT_CONST_EXT != 0 {
                let extended = host.control_in(0xC1, 11, channel, 0, 72).unwrap();
                assert_eq!(extended.len(), 72);
                assert_eq!(extended[..40], limits);
            }
        }
        let payload = if features & FEATURE_FD == 0 { 8 } else { 64 };
        let room = 12 + payload + if features & FEATURE_HW_TIMESTAMP == 0 { 0 } else { 4 };
        Self { host, features, channels: vec![ChannelState::default(); count.into()], posted: Vec::new(), room }
    }

    fn is_stamped(&self) -> bool {
        self.features & FEATURE_HW_TIMESTAMP != 0
    }

    /// `gs_can_open` at 500 kbit/s, with FD at 2 Mbit/s in the data phase.
    pub(crate) fn open(&mut self, channel: u8, mode: u32) -> Result<(), i32> {
        if self.channels.iter().all(|state| !state.is_open) {
            self.host.control_in(0xC1, 6, 0, 0, 4).unwrap();
            self.posted = (0..30).map(|_| self.host.post(self.room)).collect();
        }
        let mut mode = mode;
        if self.is_stamped() {
            mode |= FEATURE_HW_TIMESTAMP;
        }
        self.host.control_out(0x41, 1, channel.into(), 0, &words(&[69, 70, 20, 10, 1])).unwrap(); // 80 MHz / 160
        if mode & MODE_FD != 0 {
            self.host.control_out(0x41, 10, channel.into(), 0, &words(&[14, 15, 10, 5, 1])).unwrap(); // 80 MHz / 40
        }
        self.host.control_out(0x41, 2, channel.into(), 0, &words(&[1, mode]))?;
        let state = &mut self.channels[usize::from(channel)];
        (state.is_open, state.has_long_frames) = (true, mode & MODE_FD != 0);
        Ok(())
    }

    /// `gs_can_close`.
    pub(crate) fn close(&mut self, channel: u8) {
        self.channels[usize::from(channel)].is_open = false;
        if self.channels.iter().all(|state| !state.is_open) {
            for seqnum in std::mem::take(&mut self.posted) {
                self.host.unlink(seqnum);
            }
        }
        for (slot, _) in self.channels[usize::from(channel)].slots.clone() {
            self.kill(channel, slot);
        }
        self.host.control_out(0x41, 2, channel.into(), 0, &words(&[0, 0])).unwrap();
        self.channels[usize::from(channel)].slots.clear();
    }

    pub(crate) fn tx_dropped(&self, channel: u8) -> u32 {
        self.channels[usize::from(channel)].tx_dropped
    }

    /// `gs_usb_receive_bulk_callback`.
    fn received(&mut self, data: &[u8], heard: &mut Vec<Heard>) {
        assert!(data.len() >= 12, "short read");
        let (echo, id) = (word(data, 0), word(data, 4));
        let [dlc, channel, flags, _] = data[8..12].try_into().unwrap();
        assert!(usize::from(channel) < self.channels.len(), "a wrong channel detaches all interfaces");
        let is_fd = flags & 2 != 0;
        let length = if is_fd { usize::from(LENGTHS[usize::from(dlc)]) } else { usize::from(dlc.min(8)) };
        let payload = if is_fd { 64 } else { 8 };
        assert!(data.len() >= 12 + if self.is_stamped() { payload + 4 } else { length }, "short read");
        let stamp = self.is_stamped().then(|| word(data, 12 + payload));
        if !self.channels[usize::from(channel)].is_open {
            return;
        }
        if echo != u32::MAX {
            let held = self.channels[usize::from(channel)].slots.remove(&echo);
            let held = held.unwrap_or_else(|| panic!("Unexpected unused echo id {echo}"));
            assert_eq!(held, None, "an echo comes after the answer to its transfer");
            heard.push(Heard::Echo(channel, echo, stamp));
        } else if id & 0x2000_0000 != 0 {
            heard.push(Heard::Error(channel, id, data[12..20].try_into().unwrap()));
        } else {
            let is_remote = !is_fd && id & 0x4000_0000 != 0;
            let mut frame = Frame {
                format: if is_fd { FrameFormat::Fd } else { FrameFormat::Classic },
                id: RawId(id),
                len: u8::try_from(length).unwrap(),
                len8_dlc: if !is_fd && dlc > 8 { dlc } else { 0 },
                flags: 0,
                data: [0; 64],
            };
            if is_fd {
                frame.flags = CANFD_FDF | (flags >> 2 & (CANFD_BRS | CANFD_ESI));
            }
            if !is_remote {
                frame.data[..length].copy_from_slice(&data[12..12 + length]);
            }
            heard.push(Heard::Received(channel, frame, stamp));
        }
        if flags & 1 != 0 {
            heard.push(Heard::Overflow(channel));
        }
    }
}

impl Driver for GsUsbDriver {
    fn host(&mut self) -> &mut Host {
        &mut self.host
    }

    /// `gs_can_start_xmit`.
    fn send(&mut self, channel: u8, frame: &Frame) -> Option<u32> {
        let state = &mut self.channels[usize::from(channel)];
        let slot = (0..10).find(|slot| !state.slots.contains_key(slot))?;
        let (mut flags, dlc) = match frame.format {
            FrameFormat::Classic => (0, frame.raw_dlc()),
            FrameFormat::Fd => {
                (2, u8::try_from(LENGTHS.iter().position(|&length| length >= frame.len).unwrap()).unwrap())
            }
        };
        flags |= (frame.flags & CANFD_BRS) << 2 | (frame.flags & CANFD_ESI) << 2;
        let mut message = words(&[slot, frame.id.0]);
        message.extend([dlc, channel, flags, 0]);
        let length = usize::from(frame.len);
        message.extend_from_slice(&frame.data[..length]);
        // Uninitialised bytes after the length.
        message.resize(12 + if state.has_long_frames { 64 } else { 8 }, 0x5A);
        let seqnum = self.host.bulk_out(&message);
        state.slots.insert(slot, Some(seqnum));
        Some(slot)
    }

    fn poll(&mut self) -> Vec<Heard> {
        let mut heard = Vec::new();
        for answer in self.host.answers() {
            if let Some(index) = self.posted.iter().position(|&posted| posted == answer.seqnum) {
                assert_eq!(answer.status, 0, "a failed transfer is not posted again");
                self.received(&answer.data, &mut heard);
                self.posted[index] = self.host.post(self.room);
                continue;
            }
            for (state, channel) in self.channels.iter_mut().zip(0..) {
                let Some((&slot, held)) = state.slots.iter_mut().find(|(_, held)| **held == Some(answer.seqnum)) else {
                    continue;
                };
                *held = None;
                if answer.status != 0 {
                    state.slots.remove(&slot);
                    state.tx_dropped += 1;
                    heard.push(Heard::Dropped(channel, slot));
                }
            }
        }
        heard
    }

    fn taken(&self) -> usize {
        self.channels.iter().map(|state| state.slots.len()).sum()
    }

    fn kill(&mut self, channel: u8, slot: u32) {
        let Some(Some(seqnum)) = self.channels[usize::from(channel)].slots.get(&slot).copied() else { return };
        assert!(self.host.unlink(seqnum), "the transfer is pending");
        let state = &mut self.channels[usize::from(channel)];
        state.slots.remove(&slot);
        state.tx_dropped += 1;
    }
}
