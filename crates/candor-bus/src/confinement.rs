//! Fault confinement: a node that errs too often falls silent by itself.

/// Where an error counter begins to be worth a warning.
pub const CAN_ERROR_WARNING_THRESHOLD: u16 = 96;
/// The first value of an error counter that makes the node error-passive.
pub const CAN_ERROR_PASSIVE_THRESHOLD: u16 = 128;
/// The first value of a transmit error counter that takes the node off the bus.
pub const CAN_BUS_OFF_THRESHOLD: u16 = 256;
/// Value of a receive error counter above 127 after the next good frame. The standard allows 119 to 127.
const RECEIVE_AFTER_PASSIVE: u16 = 127;

/// Bits of the suspend transmission field.
const SUSPEND_BITS: u32 = 8;

/// Error state of a node, named as in the kernel's `enum can_state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorState {
    /// Both counters below 96.
    #[default]
    Active,
    /// A counter has reached 96; the node does everything an active one does.
    Warning,
    /// A counter has reached 128: error flags of this node are recessive, and it waits 8 bits before it sends twice.
    Passive,
    /// The transmit counter has gone beyond 255: the node takes no part.
    BusOff,
}

/// The error counters of a node.
///
/// # Source
/// ISO 11898-1:2015, clause 12.1.4 (rules a to h); [`struct can_berr_counter`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/can/netlink.h#L82).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counters {
    /// Transmit error counter.
    pub transmit: u16,
    /// Receive error counter.
    pub receive: u16,
}

impl Counters {
    /// Counters that make a node error passive stay so until a good frame; these are bounded there, as in silicon.
    pub(crate) const RECEIVE_MAX: u16 = 255;

    /// The state that these counters mean.
    #[must_use]
    pub const fn state(self) -> ErrorState {
        match self.transmit {
            CAN_BUS_OFF_THRESHOLD.. => ErrorState::BusOff,
            _ if self.is_passive() => ErrorState::Passive,
            CAN_ERROR_WARNING_THRESHOLD.. => ErrorState::Warning,
            _ if self.receive >= CAN_ERROR_WARNING_THRESHOLD => ErrorState::Warning,
            _ => ErrorState::Active,
        }
    }

    /// Returns true if error flags are recessive.
    #[must_use]
    pub const fn is_passive(self) -> bool {
        self.transmit >= CAN_ERROR_PASSIVE_THRESHOLD || self.receive >= CAN_ERROR_PASSIVE_THRESHOLD
    }

    /// Returns the number of bits a sender with these counters waits after its own frame, beyond the intermission.
    pub(crate) const fn suspend_bits(self) -> u32 {
        if self.is_passive() { SUSPEND_BITS } else { 0 }
    }

    /// Rules c, d and f: an error of a sender.
    pub(crate) const fn transmit_error(&mut self) {
        self.transmit = self.transmit.saturating_add(8);
    }

    /// Rule a: a receiver detected an error.
    pub(crate) fn receive_error(&mut self) {
        self.receive = (self.receive + 1).min(Self::RECEIVE_MAX);
    }

    /// Rules b, e and f: a receiver was the first to flag an error, or met one while it did.
    pub(crate) fn receive_error_of_mine(&mut self) {
        self.receive = (self.receive + 8).min(Self::RECEIVE_MAX);
    }

    /// Rule g: a frame of this node arrived.
    pub(crate) const fn sent(&mut self) {
        self.transmit = self.transmit.saturating_sub(1);
    }

    /// Rule h: a frame of another node arrived.
    pub(crate) const fn received(&mut self) {
        self.receive = match self.receive {
            CAN_ERROR_PASSIVE_THRESHOLD.. => RECEIVE_AFTER_PASSIVE,
            receive => receive.saturating_sub(1),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_begin_where_the_standard_says() {
        for (transmit, receive, state) in [
            (0, 95, ErrorState::Active),
            (95, 0, ErrorState::Active),
            (96, 0, ErrorState::Warning),
            (0, 96, ErrorState::Warning),
            (127, 127, ErrorState::Warning),
            (128, 0, ErrorState::Passive),
            (0, 128, ErrorState::Passive),
            (255, 255, ErrorState::Passive),
            (256, 0, ErrorState::BusOff),
        ] {
            assert_eq!(Counters { transmit, receive }.state(), state, "{transmit} {receive}");
        }
    }

    #[test]
    fn a_good_frame_ends_the_passivity_of_a_receiver_at_once() {
        let mut counters = Counters { transmit: 0, receive: 250 };
        counters.received();
        assert_eq!(counters, Counters { transmit: 0, receive: 127 });
        counters.received();
        assert_eq!(counters.receive, 126);
    }

    #[test]
    fn counters_stay_in_their_bounds() {
        let mut counters = Counters { transmit: 0, receive: 254 };
        counters.sent();
        counters.receive_error_of_mine();
        assert_eq!(counters, Counters { transmit: 0, receive: 255 });
    }
}
