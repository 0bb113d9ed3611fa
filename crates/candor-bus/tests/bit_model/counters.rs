//! Error counters and what follows from them (ISO 11898-1 fault confinement).

/// Error state of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeState {
    /// Both counters up to 127: error flags are dominant.
    Active,
    /// A counter from 128 on: error flags are recessive.
    Passive,
    /// The transmit error counter has reached 256: no part in anything.
    BusOff,
}

/// The two counters of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Transmit error counter. May stand above 256 in bus-off, by less than 8.
    pub tec: u32,
    /// Receive error counter, 255 at most.
    pub rec: u32,
}

impl Counters {
    /// The state these counters mean.
    pub fn state(self) -> NodeState {
        match (self.tec, self.rec) {
            (256.., _) => NodeState::BusOff,
            (128.., _) | (_, 128..) => NodeState::Passive,
            _ => NodeState::Active,
        }
    }

    /// Adds to the transmit error counter.
    pub fn raise_tec(&mut self, by: u32) {
        self.tec += by;
    }

    /// Adds to the receive error counter, which stops at 255.
    pub fn raise_rec(&mut self, by: u32) {
        self.rec = (self.rec + by).min(255);
    }

    /// A frame was sent well.
    pub fn sent(&mut self) {
        self.tec = self.tec.saturating_sub(1);
    }

    /// A frame was received well.
    ///
    /// Choice: the standard allows 119 to 127 for a counter above 127; 127 is taken.
    pub fn received(&mut self) {
        self.rec = if self.rec > 127 { 127 } else { self.rec.saturating_sub(1) };
    }
}
