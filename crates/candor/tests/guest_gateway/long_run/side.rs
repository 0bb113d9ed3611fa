//! A bus of the long run: an adapter of the gateway, and nodes that send and receive.

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

use candor_core::frame::CAN_MTU;
use candor_core::units::BitRate;
use candor_io::can::{Batch, First, MAX_BATCH};
use candor_io::packet::TransmitRing;

use super::{GROUP, INTERVAL, QUEUE};
use crate::prelude::*;
use crate::serial::Serial;

/// Frames received by the nodes of a bus.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) frames: AtomicU64,
    /// The number after that of the last frame.
    next: AtomicU32,
    /// The last byte of the last frame.
    pub(super) marker: AtomicU8,
    pub(super) unordered: AtomicU64,
    /// Number of times that a driver opened a controller.
    pub(super) opened: AtomicU32,
    /// Errors on the bus: the controller cannot send.
    pub(super) is_disturbed: AtomicBool,
}

impl Heard {
    fn frame(&self, number: u32, marker: u8) {
        let before = self.next.swap(number + 1, Relaxed);
        self.unordered.fetch_add(u64::from(number < before), Relaxed);
        self.marker.store(marker, Relaxed);
        self.frames.fetch_add(1, Relaxed);
    }

    /// Reads what the driver sends to a controller, until that is unplugged.
    fn listen(&self, mut line: fs::File) {
        let (mut bytes, mut word) = ([0; 4096], Vec::with_capacity(64));
        while let Ok(len @ 1..) = line.read(&mut bytes) {
            for &byte in &bytes[..len] {
                if byte != b'\r' {
                    word.push(byte);
                    continue;
                }
                match word[..] {
                    // `tIIILNNNNNNNN000000MM`
                    [b't', ..] => {
                        let digits = std::str::from_utf8(&word).unwrap();
                        let number = u32::from_str_radix(&digits[5..13], 16).unwrap();
                        self.frame(number, u8::from_str_radix(&digits[19..21], 16).unwrap());
                    }
                    [b'O'] => drop(self.opened.fetch_add(1, Relaxed)),
                    _ => {}
                }
                word.clear();
            }
            while self.is_disturbed.load(Relaxed) {
                std::thread::sleep(INTERVAL);
            }
        }
    }
}

#[derive(Debug)]
pub(super) enum Adapter {
    /// Its bus is the other end of a vxcan pair.
    Virtual {
        near: InterfaceIndex,
        sender: TransmitRing,
        listener: CanSocket,
    },
    Controller(Serial),
}

/// A bus with an adapter of the gateway, and nodes that send and receive.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) name: &'static str,
    pub(super) adapter: Option<Adapter>,
    pub(super) heard: Arc<Heard>,
    /// A controller is on the bus if its driver has opened it since.
    pub(super) off_at: u32,
    pub(super) sent: u32,
    id: u32,
    batch: Batch,
}

impl Side {
    pub(super) fn new(name: &'static str, id: u32) -> Self {
        Self { name, adapter: None, heard: Arc::default(), off_at: 0, sent: 0, id, batch: Batch::default() }
    }

    fn interface(&self) -> String {
        format!("t-{}", self.name)
    }

    pub(super) fn statistic(&self, counter: &str) -> u64 {
        let path = format!("/sys/class/net/{}/statistics/{counter}", self.interface());
        fs::read_to_string(path).unwrap().trim().parse().unwrap()
    }

    pub(super) fn plug_in_virtual(&mut self) {
        let client = &mut Client::open().unwrap();
        let (near, far) = (self.interface(), format!("n-{}", self.name));
        link::create_vxcan(client, [&near, &far]).unwrap();
        let [near, node] = [&near, &far].map(|name| link::by_name(client, name).unwrap().unwrap().index);
        // In this order candor's end has a carrier as soon as it is up, and the nodes miss no frame of it.
        link::set_up(client, node).unwrap();
        // One system call for a group; sendmmsg() in static programs makes one for each frame.
        let sender = TransmitRing::open(node, GROUP as usize, None).unwrap();
        let listener = listener_on(node);
        listener.set_receive_buffer(1 << 20).unwrap();
        link::set_up(client, near).unwrap();
        let state = format!("/sys/class/net/{far}/operstate");
        wait_until("the nodes are on the bus", || fs::read_to_string(&state).unwrap().trim() == "up");
        self.adapter = Some(Adapter::Virtual { near, sender, listener });
    }

    pub(super) fn plug_in_controller(&mut self) {
        let serial = Serial::attach(&self.interface());
        let (heard, line) = (Arc::clone(&self.heard), serial.line.try_clone().unwrap());
        std::thread::spawn(move || heard.listen(line));
        self.adapter = Some(Adapter::Controller(serial));
        let client = &mut Client::open().unwrap();
        let name = self.interface();
        wait_until("the interface exists", || link::by_name(client, &name).unwrap().is_some());
        let index = link::by_name(client, &name).unwrap().unwrap().index;
        link::set_can_bitrate(client, index, BitRate::from_bits_per_second(1_000_000).unwrap()).unwrap();
        link::set_tx_queue_len(client, index, QUEUE).unwrap();
        link::set_up(client, index).unwrap();
    }

    pub(super) fn unplug(&mut self) {
        self.off_at = self.heard.opened.load(Relaxed);
        match self.adapter.as_mut() {
            Some(Adapter::Virtual { near, listener, .. }) => {
                link::delete(&mut Client::open().unwrap(), *near).unwrap();
                // The first call returns the error of the interface.
                let _ = listener.recv_batch(&mut self.batch, First::DoesNotWait);
                self.hear();
            }
            Some(Adapter::Controller(serial)) => serial.detach(),
            None => unreachable!(),
        }
        self.adapter = None;
    }

    pub(super) fn say(&mut self, words: &str) {
        let Some(Adapter::Controller(serial)) = self.adapter.as_mut() else { unreachable!() };
        serial.line.write_all(words.as_bytes()).unwrap();
    }

    /// The nodes of the bus send, if the adapter can receive. Returns the number of frames.
    pub(super) fn send_group(&mut self) -> u64 {
        let numbers = self.sent..self.sent + GROUP;
        match &mut self.adapter {
            Some(Adapter::Virtual { sender, .. }) => {
                let frames: Vec<_> = numbers.clone().map(|number| frame(self.id, number)).collect();
                let sent = sender.send(frames.iter().map(<[u8; CAN_MTU]>::as_slice));
                assert_eq!(sent.taken, GROUP as usize, "{sent:?}");
            }
            Some(Adapter::Controller(_)) if self.heard.opened.load(Relaxed) > self.off_at => {
                let words = numbers.clone().map(|number| format!("t{:03X}8{number:08X}00000000\r", self.id));
                self.say(&words.collect::<String>());
            }
            Some(Adapter::Controller(_)) | None => return 0,
        }
        self.sent = numbers.end;
        GROUP.into()
    }

    /// The nodes of a virtual bus receive.
    pub(super) fn hear(&mut self) {
        let Some(Adapter::Virtual { listener, .. }) = &self.adapter else { return };
        let mut received = MAX_BATCH;
        while received == MAX_BATCH {
            received = listener.recv_batch(&mut self.batch, First::DoesNotWait).unwrap();
            for received in self.batch.frames() {
                let frame = Frame::from_kernel(received.bytes).unwrap();
                self.heard.frame(number_of(&frame), frame.data[7]);
            }
        }
    }
}

fn frame(id: u32, number: u32) -> [u8; CAN_MTU] {
    let mut data = [0; 8];
    data[..4].copy_from_slice(&number.to_be_bytes());
    *bytes_of(&classic(id, &data)).first_chunk().unwrap()
}
