//! Error counters and states (ISO 11898-1, fault confinement).

/// Error state of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeState {
    /// Both counters up to 127: error flags are dominant.
    Active,
    /// A counter is 128 or more: error flags are recessive.
    Passive,
    /// The transmit error counter is 256 or more.
    BusOff,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Transmit error counter. In bus-off, up to 263.
    pub tec: u32,
    /// Receive error counter, at most 255.
    pub rec: u32,
}

impl Counters {
    pub fn state(self) -> NodeState {
        match (self.tec, self.rec) {
            (256.., _) => NodeState::BusOff,
            (128.., _) | (_, 128..) => NodeState::Passive,
            _ => NodeState::Active,
        }
    }

    pub fn raise_tec(&mut self, by: u32) {
        self.tec += by;
    }

    pub fn raise_rec(&mut self, by: u32) {
        self.rec = (self.rec + by).min(255);
    }

    pub fn sent(&mut self) {
        self.tec = self.tec.saturating_sub(1);
    }

    /// Choice: 127 for a counter above 127, where the standard allows 119 to 127.
    pub fn received(&mut self) {
        self.rec = if self.rec > 127 { 127 } else { self.rec.saturating_sub(1) };
    }
}
