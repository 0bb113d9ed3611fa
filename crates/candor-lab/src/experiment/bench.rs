//! A bench of the user's own: interfaces of this machine, and a board that is reached by ssh.

use super::{Gateway, Testbed};
use candor_core::units::BitRate;

/// Interfaces of testbeds that are no guests, between which and around which the gateway is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bench {
    /// The tester sends here.
    pub send: String,
    /// It watches here what came onto the first bus.
    pub monitor: String,
    /// It hears here what comes out.
    pub receive: String,
    /// Those of the gateway, on the first and on the second bus; of the board if the gateway is there. `None` where candor starts
    /// no gateway.
    pub gateway: Option<(String, String)>,
    /// The second wire, if frames take time on it that is not the gateway's.
    pub wire: Option<Wire>,
}

/// Bit rates of a wire on which frames take time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Of the arbitration phase.
    pub nominal: BitRate,
    /// Of the data phase, if frames switch.
    pub data: Option<BitRate>,
}

/// A board that `ssh` reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ssh {
    /// As `ssh` takes it: `user@board`, or a name of its configuration.
    pub host: String,
    /// Further options of `ssh`.
    pub options: Vec<String>,
    /// A static candor for the board, beside the plan; `None`: that of this machine.
    pub candor: Option<String>,
    /// Whether `sudo -n` gives the gateway its privileges there.
    pub sudo: bool,
}

impl Bench {
    /// Where the tester hears what comes out of a gateway. Without one that is the first bus: the interface of the gateway that is
    /// not there, or where that is unknown or of another machine, the monitor's.
    #[must_use]
    pub fn far(&self, testbed: Testbed, gateway: &Gateway) -> &str {
        match (gateway, &self.gateway) {
            (Gateway::None, Some((from, _))) if testbed == Testbed::Host => from,
            (Gateway::None, _) => &self.monitor,
            _ => &self.receive,
        }
    }

    /// Whether what comes out is heard on the interface that sends it: such an interface has no other side. Names of a board's
    /// interfaces mean nothing here.
    #[must_use]
    pub fn hears_own(&self, testbed: Testbed, gateway: &Gateway) -> bool {
        let is_here = testbed == Testbed::Host && *gateway != Gateway::None;
        is_here && self.gateway.as_ref().is_some_and(|(_, to)| *to == self.receive)
    }
}
