//! Arguments of `candor-lab replay`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use candor_recording::Format;
use clap::Args;

use super::convert::formats;

/// Send the frames of a recording again, and measure how late they are.
///
/// FILE has any format that candor-lab convert reads. Each frame is sent at its time since the first one, divided by --speed. A frame
/// that the queue of the interface refuses is tried again every 0.2 ms, and later frames wait for it. Lateness is the time from the
/// moment at which a frame is due until the kernel has accepted it. Error frames and those of buses that --onto does not name are
/// left out and counted.
///
/// Ends at SIGINT or SIGTERM.
///
/// Exit status: 0 frames were sent, 1 FILE is cut or damaged, or no frame of it was sent, 2 it could not run or go on.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab replay drive.pcapng --onto can0=vcan0,can1=vcan1
  candor-lab replay drive.blf --onto vcan0                     all buses onto one
  candor-lab replay drive.log --onto powertrain=can2 --speed 2 --repeat 10
  candor-lab replay drive.asc --onto can0=vcan0 --json | jq .onto[0].late.p99_ns")]
pub(crate) struct ReplayArgs {
    /// Recording to send; - reads standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Interface onto which the frames of a bus of FILE are sent; without NAME, those of all other buses (repeatable).
    #[arg(long, value_name = "[NAME=]INTERFACE", required = true, value_delimiter = ',', value_parser = onto)]
    pub(crate) onto: Vec<Onto>,
    /// Send at this multiple of the original speed.
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = speed)]
    pub(crate) speed: f64,
    /// Send the recording this number of times, one after the other.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) repeat: NonZeroU32,
    /// Format of FILE, if its ending does not say it.
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) from: Option<Format>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where the frames of a bus go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Onto {
    /// `None`: all that no other entry names.
    pub(crate) bus: Option<String>,
    pub(crate) interface: String,
}

fn onto(text: &str) -> Result<Onto, String> {
    // Names of interfaces may contain =, but rarely do; those of buses often come from people.
    let (bus, interface) = text.rsplit_once('=').map_or((None, text), |(bus, interface)| (Some(bus), interface));
    if interface.is_empty() || bus.is_some_and(str::is_empty) {
        return Err("write NAME=INTERFACE, such as can0=vcan0, or INTERFACE".to_owned());
    }
    Ok(Onto { bus: bus.map(str::to_owned), interface: interface.to_owned() })
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok().filter(|speed| (0.001..=1000.0).contains(speed));
    speed.ok_or_else(|| "write a number from 0.001 to 1000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_contain_equals_signs() {
        let found = |bus: Option<&str>| Ok(Onto { bus: bus.map(str::to_owned), interface: "vcan0".to_owned() });
        assert_eq!(onto("vcan0"), found(None));
        assert_eq!(onto("body=vcan0"), found(Some("body")));
        assert_eq!(onto("a=b=vcan0"), found(Some("a=b")));
        for wrong in ["", "=", "can0=", "=vcan0"] {
            assert!(onto(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn speeds_are_positive() {
        assert_eq!(speed("0.5"), Ok(0.5));
        for wrong in ["0", "-1", "NaN", "inf", "1001", "2x"] {
            assert!(speed(wrong).is_err(), "{wrong}");
        }
    }
}
