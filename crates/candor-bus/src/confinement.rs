//! Fault confinement: error counters and error states.

/// Error counter from which a node is in the warning state.
pub const CAN_ERROR_WARNING_THRESHOLD: u16 = 96;
/// Error counter from which a node is error-passive.
pub const CAN_ERROR_PASSIVE_THRESHOLD: u16 = 128;
/// Transmit error counter from which a node is bus-off.
pub const CAN_BUS_OFF_THRESHOLD: u16 = 256;
/// Value of a receive error counter above 127 after a received frame. The standard allows 119 to 127.
const RECEIVE_AFTER_PASSIVE: u16 = 127;

/// Bits of the suspend transmission field.
const SUSPEND_BITS: u32 = 8;

/// Error state of a node, as [`enum can_state`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/can/netlink.h#L69) in Linux 6.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorState {
    /// Both counters below 96.
    #[default]
    Active,
    /// A counter is 96 or more. The node behaves as an active one.
    Warning,
    /// A counter is 128 or more: error flags are recessive, and the node waits 8 bits after its own frames.
    Passive,
    /// The transmit error counter is above 255: the node does not take part.
    BusOff,
}

/// The error counters of a node.
///
/// # Source
/// ISO 11898-1:2015, clause 12.1.4 (rules a to h); [`struct can_berr_counter`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/can/netlink.h#L82).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counters {
    /// Transmit error counter (TEC): above 127 error passive, above 255 bus-off.
    pub transmit: u16,
    /// Receive error counter (REC): above 127 error passive.
    pub receive: u16,
}

impl Counters {
    /// Maximum of the receive error counter, as in controllers.
    pub(crate) const RECEIVE_MAX: u16 = 255;

    /// Returns the error state that follows from both counters.
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

    /// Returns true if the node is error-passive or bus-off.
    #[must_use]
    pub const fn is_passive(self) -> bool {
        self.transmit >= CAN_ERROR_PASSIVE_THRESHOLD || self.receive >= CAN_ERROR_PASSIVE_THRESHOLD
    }

    /// Bits that a sender waits after the intermission of its own frame.
    pub(crate) const fn suspend_bits(self) -> u32 {
        if self.is_passive() { SUSPEND_BITS } else { 0 }
    }

    /// Rules c, d and f: a sender detects an error.
    pub(crate) const fn transmit_error(&mut self) {
        self.transmit = self.transmit.saturating_add(8);
    }

    /// Rule a: a receiver detects an error.
    pub(crate) fn receive_error(&mut self) {
        self.receive = (self.receive + 1).min(Self::RECEIVE_MAX);
    }

    /// Rules b, e and f: a receiver flagged an error first, or detects one in its flag.
    pub(crate) fn receive_error_in_flag(&mut self) {
        self.receive = (self.receive + 8).min(Self::RECEIVE_MAX);
    }

    /// Rule g: a sent frame is acknowledged.
    pub(crate) const fn sent(&mut self) {
        self.transmit = self.transmit.saturating_sub(1);
    }

    /// Rule h: a frame is received.
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
    fn states_have_the_thresholds_of_the_standard() {
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
    fn received_frame_ends_the_passive_state_of_a_receiver() {
        let mut counters = Counters { transmit: 0, receive: 250 };
        counters.received();
        assert_eq!(counters, Counters { transmit: 0, receive: 127 });
        counters.received();
        assert_eq!(counters.receive, 126);
    }

    #[test]
    fn counters_stay_within_bounds() {
        let mut counters = Counters { transmit: 0, receive: 254 };
        counters.sent();
        counters.receive_error_in_flag();
        assert_eq!(counters, Counters { transmit: 0, receive: 255 });
    }
}
