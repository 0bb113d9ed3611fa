//! `ucan.c` of Linux 6.1.192.

use candor_core::frame::{Frame, FrameFormat, RawId};
use candor_wire::model::Ucan;
use candor_wire::usbip::Seqnum;

use super::{Driver, Heard, Host, word};

/// `struct ucan_urb_context`.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    is_taken: bool,
    transfer: Option<Seqnum>,
}

pub(crate) struct UcanDriver {
    pub(crate) host: Host,
    slots: Vec<Slot>,
    posted: Vec<Seqnum>,
    pub(crate) is_bus_off: bool,
}

impl UcanDriver {
    /// `ucan_probe` on an enumerated device.
    pub(crate) fn probe(model: Ucan, queue_frames: usize) -> Self {
        let mut host = Host::new(model, queue_frames);
        assert_eq!(host.enumerate(), (0x2294, 0x425B));
        assert_eq!(host.control_in(0xC1, 5, 1, 0, 128).unwrap(), [3, 0, 0, 0]);
        let info = host.control_in(0xC1, 5, 0, 0, 26).unwrap();
        assert_eq!(info.len(), 26);
        let name = host.control_in(0xC0, 0, 0, 0, 128).unwrap();
        assert!(!name.is_empty());
        host.control_out(0x41, 4, 0, 0, &[]).unwrap();
        Self { host, slots: vec![Slot::default(); info[4].into()], posted: Vec::new(), is_bus_off: false }
    }

    pub(crate) fn depth(&self) -> usize {
        self.slots.len()
    }

    /// `ip link set canX type can bitrate 500000`.
    pub(crate) fn set_bit_timing(&mut self) -> Result<(), i32> {
        // tq 125 ns, brp 6, sample point 87.5 %, prop 6, phase 7, phase 2, sjw 1: 48 MHz / 96
        self.host.control_out(0x41, 7, 0, 0, &[125, 0, 0, 0, 6, 0, 0x6B, 0x03, 6, 7, 2, 1])
    }

    /// `ucan_open`.
    pub(crate) fn open(&mut self, mode: u16) -> Result<(), i32> {
        self.host.control_out(0x41, 0, 0, 0, &(mode | 1 << 4).to_le_bytes())?;
        self.posted = (0..8).map(|_| self.host.post(512)).collect();
        Ok(())
    }

    /// `ucan_close`.
    pub(crate) fn close(&mut self) {
        for slot in 0..self.slots.len() {
            self.kill(0, u32::try_from(slot).unwrap());
        }
        for seqnum in std::mem::take(&mut self.posted) {
            self.host.unlink(seqnum);
        }
        self.host.control_out(0x41, 1, 0, 0, &[]).unwrap();
        self.host.control_out(0x41, 4, 0, 0, &[]).unwrap();
        self.slots.fill(Slot::default());
        self.is_bus_off = false;
    }

    /// `ip link set canX type can restart`.
    pub(crate) fn restart(&mut self) {
        assert!(std::mem::take(&mut self.is_bus_off));
        self.host.control_out(0x41, 8, 0, 0, &[]).unwrap();
    }

    /// `ucan_read_bulk_callback`.
    fn received(&mut self, data: &[u8], heard: &mut Vec<Heard>) {
        let mut at = 0;
        while at < data.len() {
            assert!(data.len() - at >= 4, "invalid message (short; no hdr)");
            let length = usize::from(u16::from_le_bytes([data[at], data[at + 1]]));
            assert!(length > 0 && length <= data.len() - at, "invalid message (short; no data)");
            let message = &data[at..at + length];
            match message[2] {
                1 => self.completed(&message[4..], heard),
                2 => self.frame(message, heard),
                kind => panic!("invalid message (type; t:{kind})"),
            }
            at = (at + length).next_multiple_of(4);
        }
    }

    fn completed(&mut self, entries: &[u8], heard: &mut Vec<Heard>) {
        for entry in entries.chunks_exact(2) {
            let slot = self.slots.get_mut(usize::from(entry[0])).expect("invalid echo_index");
            assert!(slot.is_taken, "a slot is completed once");
            assert_eq!(slot.transfer, None, "completion comes after the answer to the transfer");
            slot.is_taken = false;
            let number = u32::from(entry[0]);
            heard.push(if entry[1] & 1 == 1 { Heard::Echo(0, number, None) } else { Heard::Dropped(0, number) });
        }
    }

    fn frame(&mut self, message: &[u8], heard: &mut Vec<Heard>) {
        let id = word(message, 4);
        let data = &message[8..];
        if id & 0x2000_0000 != 0 {
            let data: [u8; 8] = data.try_into().unwrap();
            self.is_bus_off |= id & 0x40 != 0;
            if id & 4 != 0 && data[1] & 1 != 0 {
                heard.push(Heard::Overflow(0));
            } else {
                heard.push(Heard::Error(0, id, data));
            }
            return;
        }
        let mut frame =
            Frame { format: FrameFormat::Classic, id: RawId(id), len: 0, len8_dlc: 0, flags: 0, data: [0; 64] };
        if id & 0x4000_0000 != 0 {
            assert_eq!(data.len(), 1, "a remote frame has its length as data");
            frame.len = data[0].min(8);
        } else {
            frame.len = u8::try_from(data.len()).unwrap().min(8);
            frame.data[..data.len()].copy_from_slice(data);
        }
        heard.push(Heard::Received(0, frame, None));
    }
}

impl Driver for UcanDriver {
    fn host(&mut self) -> &mut Host {
        &mut self.host
    }

    /// `ucan_start_xmit`.
    fn send(&mut self, _channel: u8, frame: &Frame) -> Option<u32> {
        let index = self.slots.iter().position(|slot| !slot.is_taken)?;
        let slot = u8::try_from(index).unwrap();
        let data = if frame.id.is_rtr() { vec![frame.len] } else { frame.data[..usize::from(frame.len)].to_vec() };
        let length = u16::try_from(8 + data.len()).unwrap();
        let mut message = length.to_le_bytes().to_vec();
        message.extend([2, slot]);
        message.extend(frame.id.0.to_le_bytes());
        message.extend(data);
        let transfer = Some(self.host.bulk_out(&message));
        self.slots[index] = Slot { is_taken: true, transfer };
        Some(slot.into())
    }

    fn poll(&mut self) -> Vec<Heard> {
        let mut heard = Vec::new();
        for answer in self.host.answers() {
            if let Some(index) = self.posted.iter().position(|&posted| posted == answer.seqnum) {
                assert_eq!(answer.status, 0);
                self.received(&answer.data, &mut heard);
                self.posted[index] = self.host.post(512);
                continue;
            }
            if let Some((slot, number)) =
                self.slots.iter_mut().zip(0..).find(|(slot, _)| slot.transfer == Some(answer.seqnum))
            {
                slot.transfer = None;
                if answer.status != 0 {
                    slot.is_taken = false;
                    heard.push(Heard::Dropped(0, number));
                }
            }
        }
        heard
    }

    fn taken(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_taken).count()
    }

    fn kill(&mut self, _channel: u8, slot: u32) {
        let Some(Slot { transfer: Some(seqnum), .. }) = self.slots.get(slot as usize).copied() else { return };
        assert!(self.host.unlink(seqnum), "the transfer is pending");
        self.slots[slot as usize] = Slot::default();
    }
}
