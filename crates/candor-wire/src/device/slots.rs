//! Frames of one channel that the driver has handed over.

use candor_bus::Tag;

use crate::usbip::Seqnum;

/// A transfer of the driver that is not answered yet, with the number of bytes that it carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) seqnum: Seqnum,
    pub(super) bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Filled {
    slot: u32,
    tag: Tag,
    /// `None`: the disposition of the frame is known, and a message to the driver is queued.
    held: Option<Held>,
}

/// The slots of a channel. A slot is taken from the transfer that carries a frame to the delivery of the message about its
/// disposition, so that a driver that posts no transfers cannot make the memory grow.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    filled: Vec<Filled>,
}

impl Slots {
    pub(super) const fn len(&self) -> usize {
        self.filled.len()
    }

    pub(super) fn holds_slot(&self, slot: u32) -> bool {
        self.filled.iter().any(|filled| filled.slot == slot)
    }

    pub(super) fn holds_transfer(&self, seqnum: Seqnum) -> bool {
        self.filled.iter().any(|filled| filled.held.is_some_and(|held| held.seqnum == seqnum))
    }

    /// Fills a slot; without a transfer, the disposition of the frame is already known.
    pub(super) fn fill(&mut self, slot: u32, tag: Tag, held: Option<Held>) {
        self.filled.push(Filled { slot, tag, held });
    }

    /// The disposition of a frame is known: returns its slot and its transfer, once.
    pub(super) fn settle(&mut self, tag: Tag) -> Option<(u32, Held)> {
        let filled = self.filled.iter_mut().find(|filled| filled.tag == tag)?;
        filled.held.take().map(|held| (filled.slot, held))
    }

    pub(super) fn first_unsettled(&self) -> Option<Tag> {
        self.filled.iter().find(|filled| filled.held.is_some()).map(|filled| filled.tag)
    }

    pub(super) fn free(&mut self, slot: u32) {
        self.filled.retain(|filled| filled.slot != slot);
    }

    /// The driver cancels its transfer.
    pub(super) fn unlink(&mut self, victim: Seqnum) -> Option<Tag> {
        let index = self.filled.iter().position(|filled| filled.held.is_some_and(|held| held.seqnum == victim))?;
        Some(self.filled.remove(index).tag)
    }

    /// Frees all slots and returns the held transfers.
    pub(super) fn clear(&mut self) -> impl Iterator<Item = Held> {
        self.filled.drain(..).filter_map(|filled| filled.held)
    }
}
