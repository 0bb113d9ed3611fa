//! What `candor run` and the program `candor-link` say to each other: one JSON object in each line.
//!
//! `candor run` writes commands to the standard input of `candor-link serve`, which ends with it. `candor-link` writes
//! reports to its standard output. It talks to the network, so `candor run` bounds what it takes from it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Longest line that is read, in bytes.
pub const MAX_LINE_BYTES: usize = 256 << 10;

/// From `candor run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Starts a link.
    Start(Start),
    /// Ends the link of this name.
    Stop(String),
}

/// A link to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Its name in the file.
    pub link: String,
    /// Arguments of `candor-link open`.
    pub arguments: Vec<String>,
    /// For TLS, read by `candor run`, because `candor-link` may not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Pem>,
}

/// Files of TLS as texts in PEM.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pem {
    /// Certificates of authorities.
    pub ca: String,
    /// The own certificate, and those that lead to an authority.
    pub cert: String,
    /// The own private key.
    pub key: String,
}

/// Says nothing of the key.
impl std::fmt::Debug for Pem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pem")
    }
}

/// From `candor-link`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// Something happened.
    Event(Event),
    /// The state of a link, when it has changed, at most once a second but for connections.
    State(State),
}

/// Something that people should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The link; empty for `candor-link` itself.
    pub link: String,
    /// In words. It may have bytes of the peer.
    pub text: String,
    /// False for what is as it should be.
    pub is_warning: bool,
}

/// The state of a link. All counters are frames since the link started, but for connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct State {
    /// Its name in the file.
    pub link: String,
    /// Frames can be exchanged now.
    pub is_up: bool,
    /// Address of the peer of the connection.
    pub peer: Option<String>,
    /// Connections so far.
    pub connections: u64,
    /// Put on the bus.
    pub received_frames: u64,
    /// Taken by the network.
    pub sent_frames: u64,
    /// Waiting for the network.
    pub waiting_frames: u64,
    /// Frames that the peer had and that did not arrive, as far as the protocol tells.
    pub lost_frames: u64,
    /// Datagrams that did not arrive.
    pub lost_datagrams: u64,
    /// Frames of the bus that were not sent, by reason.
    pub dropped_frames: BTreeMap<String, u64>,
    /// Frames of the peer that were not put on the bus, by reason.
    pub refused_frames: BTreeMap<String, u64>,
}
