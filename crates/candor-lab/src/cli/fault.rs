//! Words for faults: after `candor-lab wire inject`, in `--fault`, and as JSON at the socket of a `candor-lab wire`.

use std::fmt;
use std::str::FromStr;

use candor_core::frame::{Frame, FrameTextError, RawId};
use candor_core::units::{QuantityError, parse_duration_or_zero};
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::{Map, Value, json};

/// What can go wrong on a bus.
#[derive(Clone, Debug, PartialEq, Subcommand, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum FaultWords {
    /// A node sends a frame over and over, without a gap: the babbling idiot. Who has a higher identifier waits.
    Babble {
        /// The bus.
        bus: String,
        /// The frame, in can-utils notation.
        #[arg(long, default_value = "000#")]
        #[serde(default)]
        frame: FrameText,
        /// The interface whose controller does it (default: one more node, which is no interface).
        #[arg(long, value_name = "IF")]
        node: Option<String>,
        /// How long (default: until release or clear).
        #[arg(long = "for", value_name = "TIME")]
        for_ns: Option<Ns>,
    },
    /// Everybody sees a bit of the next frame wrong, which destroys it.
    BitError {
        /// The bus.
        bus: String,
        /// Only frames that this interface sends.
        #[arg(long, value_name = "IF")]
        node: Option<String>,
        /// Only frames of this identifier: 3 hexadecimal digits, or 8 of an extended one.
        #[arg(long)]
        id: Option<Identifier>,
        /// Which bit; start of frame is 0 and stuff bits count (default: one that the seed chooses for each frame).
        #[arg(long)]
        bit: Option<u32>,
        /// How many frames, repetitions included.
        #[arg(long, default_value_t = 1, value_name = "FRAMES")]
        #[serde(default = "once")]
        times: u32,
    },
    /// From now on everybody sees each bit of a frame wrong with this probability; 0 ends it.
    BitErrorRate {
        /// The bus.
        bus: String,
        /// The probability, such as 1e-5.
        rate: f64,
    },
    /// A node falls off the bus, as after 32 errors of its own. Its driver brings it back, or nobody does.
    BusOff {
        /// The interface.
        #[arg(value_name = "IF")]
        node: String,
    },
    /// End every fault of a bus, and forget those that are planned. What was unplugged stays so.
    Clear {
        /// The bus.
        bus: String,
    },
    /// Set the error counters of a node, and with them its state: passive from 128 on, bus-off with TX 256.
    Counters {
        /// The interface.
        #[arg(value_name = "IF")]
        node: String,
        /// The transmit error counter, up to 256.
        tx: u16,
        /// The receive error counter, up to 255.
        rx: u16,
    },
    /// A node takes a bit of the next frame for wrong that the others see right, and destroys it by its error flag.
    ErrorFrame {
        /// The interface.
        #[arg(value_name = "IF")]
        node: String,
        /// Only frames of this identifier: 3 hexadecimal digits, or 8 of an extended one.
        #[arg(long)]
        id: Option<Identifier>,
        /// Which bit; start of frame is 0 and stuff bits count (default: one that the seed chooses for each frame).
        #[arg(long)]
        bit: Option<u32>,
        /// How many frames, repetitions included.
        #[arg(long, default_value_t = 1, value_name = "FRAMES")]
        #[serde(default = "once")]
        times: u32,
    },
    /// A controller starts no frame any more, and its driver waits. It hears and acknowledges.
    Freeze {
        /// The interface.
        #[arg(value_name = "IF")]
        node: String,
        /// How long (default: until thaw or clear).
        #[arg(long = "for", value_name = "TIME")]
        for_ns: Option<Ns>,
    },
    /// Nobody acknowledges the next frame.
    LostAck {
        /// The bus.
        bus: String,
        /// Only frames that this interface sends.
        #[arg(long, value_name = "IF")]
        node: Option<String>,
        /// Only frames of this identifier: 3 hexadecimal digits, or 8 of an extended one.
        #[arg(long)]
        id: Option<Identifier>,
        /// How many frames, repetitions included.
        #[arg(long, default_value_t = 1, value_name = "FRAMES")]
        #[serde(default = "once")]
        times: u32,
    },
    /// End stuck and babble on a bus.
    Release {
        /// The bus.
        bus: String,
    },
    /// Plug an adapter in again: its interfaces get the names, bit rates and states that they had.
    Replug {
        /// One of its interfaces.
        #[arg(value_name = "IF")]
        node: String,
    },
    /// Hold the wire dominant, as a short circuit or a broken transceiver does.
    Stuck {
        /// The bus.
        bus: String,
        /// How long (default: until release or clear).
        #[arg(long = "for", value_name = "TIME")]
        for_ns: Option<Ns>,
    },
    /// Let a frozen controller go on.
    Thaw {
        /// The interface.
        #[arg(value_name = "IF")]
        node: String,
    },
    /// Pull the USB plug of an adapter: all of its interfaces disappear.
    Unplug {
        /// One of its interfaces.
        #[arg(value_name = "IF")]
        node: String,
    },
}

const fn once() -> u32 {
    1
}

impl FaultWords {
    /// The bus or the interface that it is for.
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

    /// How long, if not until somebody ends it.
    pub(crate) const fn lasts(&self) -> Option<Ns> {
        match self {
            Self::Babble { for_ns, .. } | Self::Freeze { for_ns, .. } | Self::Stuck { for_ns, .. } => *for_ns,
            _ => None,
        }
    }
}

/// A fault, and when.
#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct TimedFault {
    #[command(subcommand)]
    pub(crate) words: FaultWords,
    /// When, on the time line of the bus, as the log has it (default: now).
    #[arg(long, value_name = "TIME", global = true)]
    pub(crate) at: Option<Ns>,
}

/// `--fault` has the words in one argument.
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
                ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "there are no words".to_owned(),
                ErrorKind::InvalidSubcommand => {
                    format!("there is no fault `{}`", text.split_whitespace().next().unwrap_or_default())
                }
                _ => first_lines(&error.to_string()),
            };
            format!("{what}; candor-lab wire inject --help lists the words")
        })
    }
}

/// Without the usage that clap adds, which is that of a program.
fn first_lines(said: &str) -> String {
    let what = said.split("\n\n").next().unwrap_or(said).trim();
    what.strip_prefix("error: ").unwrap_or(what).to_owned()
}

/// The key beside those of the fault.
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
        // Flattened, unknown keys would be taken for nothing.
        let mut object = Map::deserialize(deserializer)?;
        let at = object.remove(AT).map_or(Ok(None), serde_json::from_value).map_err(de::Error::custom)?;
        let words = FaultWords::deserialize(Value::Object(object)).map_err(de::Error::custom)?;
        Ok(Self { words, at })
    }
}

/// A time or a moment.
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

/// An identifier as can-utils write it: the number of digits says whether it is an extended one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identifier(pub(crate) RawId);

impl FromStr for Identifier {
    type Err = FrameTextError;

    fn from_str(text: &str) -> Result<Self, FrameTextError> {
        format!("{text}#").parse::<Frame>().map(|frame| Self(frame.id))
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.0.is_eff() { 8 } else { 3 };
        write!(f, "{:0digits$X}", self.0.bits())
    }
}

/// A frame in can-utils notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameText(pub(crate) Frame);

impl Default for FrameText {
    fn default() -> Self {
        Self("000#".parse().expect("is a frame"))
    }
}

impl FromStr for FrameText {
    type Err = FrameTextError;

    fn from_str(text: &str) -> Result<Self, FrameTextError> {
        text.parse().map(Self)
    }
}

impl fmt::Display for FrameText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// In JSON as people write it.
macro_rules! in_json_as_text {
    ($($kind:ty),*) => {$(
        impl Serialize for $kind {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $kind {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(|error| de::Error::custom(format!("`{text}`: {error}")))
            }
        }
    )*};
}

in_json_as_text!(Identifier, FrameText);

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> TimedFault {
        text.parse().unwrap()
    }

    #[test]
    fn one_line_json_and_arguments_mean_the_same() {
        for (line, json) in [
            ("bus-off can1 --at 2s", r#"{"fault":"bus-off","node":"can1","at_ns":2000000000}"#),
            ("babble b0", r#"{"fault":"babble","bus":"b0"}"#),
            (
                "babble b0 --frame 12345678#AA --for 1.5ms",
                r#"{"fault":"babble","bus":"b0","frame":"12345678#AA","for_ns":1500000}"#,
            ),
            (
                "bit-error b0 --node can0 --id 123 --bit 20 --times 3",
                r#"{"fault":"bit-error","bus":"b0","node":"can0","id":"123","bit":20,"times":3}"#,
            ),
            ("bit-error-rate b0 1e-5", r#"{"fault":"bit-error-rate","bus":"b0","rate":0.00001}"#),
            ("counters can0 128 0", r#"{"fault":"counters","node":"can0","tx":128,"rx":0}"#),
            ("lost-ack b0 --id 00000123", r#"{"fault":"lost-ack","bus":"b0","id":"00000123"}"#),
        ] {
            let of_json: TimedFault = serde_json::from_str(json).unwrap();
            assert_eq!(words(line), of_json, "{line}");
            let again: TimedFault = serde_json::from_value(serde_json::to_value(&of_json).unwrap()).unwrap();
            assert_eq!(again, of_json);
        }
    }

    #[test]
    fn mistakes_are_told_in_a_line_or_two() {
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
