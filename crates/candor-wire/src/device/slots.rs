//! Frames of one channel on their way to the wire.

use candor_bus::Tag;

use crate::usbip::Seqnum;

/// A transfer of the driver that is not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) seqnum: Seqnum,
    /// How many bytes it brought.
    pub(super) bytes: usize,
}

/// A slot that the driver filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Filled {
    slot: u32,
    tag: Tag,
    /// The transfer that waits for the disposition of the frame. `None`: the disposition is known, and the driver will be told.
    held: Option<Held>,
}

/// The slots of a channel. One is taken from the transfer that brings a frame to the message that tells its disposition, so
/// that a driver which does not listen cannot make us remember more and more.
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

    pub(super) fn fill(&mut self, slot: u32, tag: Tag, held: Held) {
        self.filled.push(Filled { slot, tag, held: Some(held) });
    }

    /// A frame whose disposition was known from the beginning.
    pub(super) fn fill_settled(&mut self, slot: u32, tag: Tag) {
        self.filled.push(Filled { slot, tag, held: None });
    }

    /// The disposition of a frame is known: gives back its slot and its transfer, once.
    pub(super) fn settle(&mut self, tag: Tag) -> Option<(u32, Held)> {
        let filled = self.filled.iter_mut().find(|filled| filled.tag == tag)?;
        filled.held.take().map(|held| (filled.slot, held))
    }

    /// A frame whose disposition is not known yet.
    pub(super) fn first_unsettled(&self) -> Option<Tag> {
        self.filled.iter().find(|filled| filled.held.is_some()).map(|filled| filled.tag)
    }

    /// The driver knows the disposition of the frame in this slot.
    pub(super) fn free(&mut self, slot: u32) {
        self.filled.retain(|filled| filled.slot != slot);
    }

    /// The driver wants its transfer back.
    pub(super) fn unlink(&mut self, victim: Seqnum) -> Option<Tag> {
        let index = self.filled.iter().position(|filled| filled.held.is_some_and(|held| held.seqnum == victim))?;
        Some(self.filled.remove(index).tag)
    }

    /// Frees everything; gives back the transfers that were held.
    pub(super) fn clear(&mut self) -> impl Iterator<Item = Held> {
        self.filled.drain(..).filter_map(|filled| filled.held)
    }
}
