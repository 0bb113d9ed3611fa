//! The syntax of faults: for `candor-lab wire inject`, in `--fault`, and as JSON on the control socket.

use std::fmt;
use std::str::FromStr;

use candor_core::frame::{Frame, FrameTextError, RawId};
use candor_core::units::{QuantityError, parse_duration_or_zero};
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::{Map, Value, json};

/// A fault of a bus or a node.
#[derive(Clone, Debug, PartialEq, Subcommand, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum FaultWords {
    /// Let a node send a frame continuously (babbling idiot). Frames with higher identifiers wait.
    Babble {
        /// Name of the bus.
        bus: String,
        /// Frame, in can-utils notation.
        #[arg(long, default_value = "000#")]
        #[serde(default = "urgent", with = "text")]
        frame: Frame,
        /// Interface whose controller sends it (default: an additional node without an interface).
        #[arg(long, value_name = "IF")]
        node: Option<String>,
        /// Duration (default: until release or clear).
        #[arg(long = "for", value_name = "TIME")]
        for_ns: Option<Ns>,
    },
    /// Invert a bit of the next frame for all nodes, which destroys it.
    BitError {
        /// Name of the bus.
        bus: String,
        /// Only frames of this interface.
        #[arg(long, value_name = "IF")]
        node: Option<String>,
        /// Only frames with this identifier: 3 hexadecimal digits, or 8 for an extended one.
        #[arg(long)]
        id: Option<Identifier>,
        /// Bit number; start of frame is 0 and stuff bits count (default: random for each frame).
        #[arg(long)]
        bit: Option<u32>,
        /// Number of frames, including retransmissions.
        #[arg(long, default_value_t = 1, value_name = "FRAMES")]
        #[serde(default = "once")]
        times: u32,
    },
    /// Invert each bit for all nodes with this probability; 0 ends it.
    BitErrorRate {
        /// Name of the bus.
        bus: String,
        /// Probability, such as 1e-5.
        rate: f64,
    },
    /// Set a node bus-off, as after 32 transmit errors. Only its driver can restart it.
    BusOff {
        /// Interface of the node.
        #[arg(value_name = "IF")]
        node: String,
    },
    /// End all faults of a bus, and drop scheduled ones. Unplugged adapters stay unplugged.
    Clear {
        /// Name of the bus.
        bus: String,
    },
    /// Set the error counters of a node, and thereby its state: error-passive from 128 on, bus-off at TX 256.
    Counters {
        /// Interface of the node.
        #[arg(value_name = "IF")]
        node: String,
        /// Transmit error counter, up to 256.
        tx: u16,
        /// Receive error counter, up to 255.
        rx: u16,
    },
    /// Invert a bit of the next frame for one node, which destroys the frame by its error flag.
    ErrorFrame {
        /// Interface of the node.
        #[arg(value_name = "IF")]
        node: String,
        /// Only frames with this identifier: 3 hexadecimal digits, or 8 for an extended one.
        #[arg(long)]
        id: Option<Identifier>,
        /// Bit number; start of frame is 0 and stuff bits count (default: random for each frame).
        #[arg(long)]
        bit: Option<u32>,
        /// Number of frames, including retransmissions.
        #[arg(long, default_value_t = 1, value_name = "FRAMES")]
        #[serde(default = "once")]
        times: u32,
    },
    /// Stop transmissions of a controller. It still receives and acknowledges.
    Freeze {
        /// Interface of the node.
        #[arg(value_name = "IF")]
        node: String,
        /// Duration (default: until thaw or clear).
        #[arg(long = "for", value_name = "TIME")]
        for_ns: Option<Ns>,
    },
    /// Suppress the acknowledgement of the next frame.
    LostAck {
        /// Name of the bus.
        bus: String,
        /// Only frames of this interface.
        #[arg(long, value_name = "IF")]
        node: Option<String>,
        /// Only frames with this identifier: 3 hexadecimal digits, or 8 for an extended one.
        #[arg(long)]
        id: Option<Identifier>,
        /// Number of frames, including retransmissions.
        #[arg(long, default_value_t = 1, value_name = "FRAMES")]
        #[serde(default = "once")]
        times: u32,
    },
    /// End stuck and babble on a bus.
    Release {
        /// Name of the bus.
        bus: String,
    },
    /// Plug an adapter in again: its interfaces get their previous names, bit rates and states.
    Replug {
        /// One of its interfaces.
        #[arg(value_name = "IF")]
        node: String,
    },
    /// Hold the bus dominant, like a short circuit or a broken transceiver.
    Stuck {
        /// Name of the bus.
        bus: String,
        /// Duration (default: until release or clear).
        #[arg(long = "for", value_name = "TIME")]
        for_ns: Option<Ns>,
    },
    /// End freeze of a controller.
    Thaw {
        /// Interface of the node.
        #[arg(value_name = "IF")]
        node: String,
    },
    /// Unplug an adapter: all of its interfaces disappear.
    Unplug {
        /// One of its interfaces.
        #[arg(value_name = "IF")]
        node: String,
    },
}

const fn once() -> u32 {
    1
}

/// The frame that wins every arbitration.
fn urgent() -> Frame {
    "000#".parse().expect("the notation is valid")
}

impl FaultWords {
    /// The bus or the interface that it names.
    pub(crate) fn place(&self) -> &str {
        match self {
            Self::Babble { bus, .. }
            | Self::BitError { bus, .. }
            | Self::BitErrorRate { bus, .. }
            | Self::Clear { bus }
            | Self::LostAck { bus, .. }
            | Self::Release { bus }
            | Self::Stuck { bus, .. } => bus,
            Self::BusOff { node }
            | Self::Counters { node, .. }
            | Self::ErrorFrame { node, .. }
            | Self::Freeze { node, .. }
            | Self::Replug { node }
            | Self::Thaw { node }
            | Self::Unplug { node } => node,
        }
    }

    /// Its duration, if it ends by itself.
    pub(crate) const fn lasts(&self) -> Option<Ns> {
        match self {
            Self::Babble { for_ns, .. } | Self::Freeze { for_ns, .. } | Self::Stuck { for_ns, .. } => *for_ns,
            _ => None,
        }
    }
}

/// A fault and its time.
#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct TimedFault {
    #[command(subcommand)]
    pub(crate) words: FaultWords,
    /// Bus time, as in the log (default: now).
    #[arg(long, value_name = "TIME", global = true)]
    pub(crate) at: Option<Ns>,
}

/// `--fault` has the syntax in one argument.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true, disable_help_subcommand = true)]
struct OneLine {
    #[command(flatten)]
    fault: TimedFault,
}

impl FromStr for TimedFault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let line = OneLine::try_parse_from(text.split_whitespace());
        line.map(|line| line.fault).map_err(|error| {
            let what = match error.kind() {
                ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "there is no fault".to_owned(),
                ErrorKind::InvalidSubcommand => {
                    format!("there is no fault `{}`", text.split_whitespace().next().unwrap_or_default())
                }
                _ => first_lines(&error.to_string()),
            };
            format!("{what}; candor-lab wire inject --help lists the faults")
        })
    }
}

/// Removes the usage that clap adds.
fn first_lines(error: &str) -> String {
    let what = error.split("\n\n").next().unwrap_or(error).trim();
    what.strip_prefix("error: ").unwrap_or(what).to_owned()
}

/// The key in addition to those of the fault.
const AT: &str = "at_ns";

impl Serialize for TimedFault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serde_json::to_value(&self.words).map_err(ser::Error::custom)?;
        object[AT] = json!(self.at);
        object.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TimedFault {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // `flatten` would accept unknown keys.
        let mut object = Map::deserialize(deserializer)?;
        let at = object.remove(AT).map_or(Ok(None), serde_json::from_value).map_err(de::Error::custom)?;
        let words = FaultWords::deserialize(Value::Object(object)).map_err(de::Error::custom)?;
        Ok(Self { words, at })
    }
}

/// A time or a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Ns(pub(crate) u64);

impl FromStr for Ns {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let time = parse_duration_or_zero(text)?;
        Ok(Self(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// An identifier in can-utils notation: the number of digits selects the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identifier(pub(crate) RawId);

impl FromStr for Identifier {
    type Err = FrameTextError;

    fn from_str(text: &str) -> Result<Self, FrameTextError> {
        format!("{text}#").parse::<Frame>().map(|frame| Self(frame.id))
    }
}

impl Serialize for Identifier {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        text::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Identifier {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text::deserialize(deserializer)
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.0.is_eff() { 8 } else { 3 };
        write!(f, "{:0digits$X}", self.0.bits())
    }
}

/// JSON strings in the notation of the command line.
mod text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub(super) fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(super) fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|error| de::Error::custom(format!("`{text}`: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> TimedFault {
        text.parse().unwrap()
    }

    #[test]
    fn one_line_and_json_are_equivalent() {
        for case in include_str!("fault/equivalent.txt").trim_end().split("\n\n") {
            let (line, json) = case.split_once('\n').unwrap();
            let of_json: TimedFault = serde_json::from_str(json).unwrap();
            assert_eq!(words(line), of_json, "{line}");
            let again: TimedFault = serde_json::from_value(serde_json::to_value(&of_json).unwrap()).unwrap();
            assert_eq!(again, of_json);
        }
    }

    #[test]
    fn errors_have_one_or_two_lines() {
        let of_line = |text: &str| text.parse::<TimedFault>().unwrap_err();
        let of_json = |text: &str| serde_json::from_str::<TimedFault>(text).unwrap_err().to_string();
        insta::assert_snapshot!(
            [
                of_line("bus-of can1"),
                of_line(""),
                of_line("bus-off"),
                of_line("bus-off can1 --at 2"),
                of_line("bit-error b0 --id 12"),
                of_json(r#"{"fault":"bus-off","interface":"can1"}"#),
                of_json(r#"{"fault":"bus-of","node":"can1"}"#),
                of_json(r#"{"fault":"lost-ack","bus":"b0","id":"12"}"#),
            ]
            .join("\n")
        );
    }
}
