//! Arguments of `candor record`.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::time::Duration;

use candor_core::units::{parse_duration, parse_duration_or_zero};
use clap::builder::{PathBufValueParser, TypedValueParser as _};
use clap::{ArgGroup, Args, ValueEnum};

use super::{BusesArgs, NetnsArgs};

/// Record the frames of CAN buses in files of Wireshark (pcapng).
///
/// Files have the names and bit rates of the buses, receive times of the kernel in ns, which frames a program of this machine sent,
/// and how many frames were lost. candor-lab convert makes other formats of them. Sends nothing. Ends at SIGINT or SIGTERM.
///
/// With --file-size or --file-time there are many files: OUT gets a number, which goes on after that of files that exist. With
/// --trigger only the time around frames that match is recorded; candor run can send a frame for each alarm, which then is such a
/// frame.
///
/// At least once a second everything is given to the system, and every --sync time to the disk: a crash of candor loses at
/// most the last second, one of the machine the last --sync time. A file that ends within a frame can be read up to that frame. On a full
/// disk --keep removes its oldest files; otherwise the recording ends with the last whole frame.
///
/// Exit status: 0 it was ended by a signal or has recorded what was wanted, 1 no frame was recorded in the time of --duration or
/// the gateway file is not valid, 2 it could not run or go on.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("many").args(["file_size", "file_time"]).multiple(true))]
#[command(after_help = "\
Examples:
  candor record can0 can1 --out drive.pcapng
  candor record --config car.toml --out drive.pcapng                        the buses of a gateway, with their names
  candor record any --out /var/log/can/drive.pcapng --file-size 100MB --keep 50     always the last 5 GB
  candor record can0 --out fault.pcapng --trigger errors --before 10s --after 5s    what led to an error frame
  candor record can0 --out crash.pcapng --database car.dbc --trigger \"ABS1.VehSpd > 50\"")]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    pub(crate) buses: BusesArgs,
    /// File to write. It must not exist.
    #[arg(long, short, value_name = "OUT", default_value = "candor.pcapng")]
    #[arg(value_parser = PathBufValueParser::new().try_map(of_pcapng))]
    pub(crate) out: PathBuf,
    /// Begin a new file after this size, such as 100MB.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) file_size: Option<NonZeroU64>,
    /// Begin a new file after this time.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) file_time: Option<Duration>,
    /// Keep this number of files, and delete the oldest.
    #[arg(long, value_name = "N", requires = "many")]
    pub(crate) keep: Option<NonZeroU32>,
    /// Record only around frames that match, as with --match (repeatable).
    #[arg(long, value_name = "FILTER")]
    pub(crate) trigger: Vec<String>,
    /// Time before a frame of --trigger that is recorded, too.
    #[arg(long, value_name = "TIME", requires = "trigger", default_value = "10s", value_parser = parse_duration_or_zero)]
    pub(crate) before: Duration,
    /// Time after it.
    #[arg(long, value_name = "TIME", requires = "trigger", default_value = "10s", value_parser = parse_duration_or_zero)]
    pub(crate) after: Duration,
    /// Write to the disk so often; 0s leaves it to the system.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration_or_zero)]
    pub(crate) sync: Duration,
    /// How frames are received [default: ring if that is permitted, otherwise socket].
    #[arg(long, value_name = "WAY")]
    pub(crate) through: Option<Through>,
    /// End after this number of recorded frames.
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<NonZeroU32>,
    /// End after this time.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) duration: Option<Duration>,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// Print JSON at the end.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How frames are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Through {
    /// Memory-mapped rings, which take a third of the processor time; need CAP_NET_RAW and CAP_BPF
    Ring,
    /// A socket, which needs no privileges
    Socket,
}

/// Refuses names of other formats, which would be misread.
fn of_pcapng(path: PathBuf) -> Result<PathBuf, String> {
    const OTHERS: [&str; 10] = ["asc", "blf", "candump", "csv", "log", "mcap", "mdf4", "mf4", "parquet", "trc"];
    if path.as_os_str() == "-" {
        return Err("a recording is a file; candor dump prints frames".to_owned());
    }
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if OTHERS.iter().any(|other| ending.eq_ignore_ascii_case(other)) {
        let (pcapng, other) = (path.with_extension("pcapng"), path.display());
        let pcapng = pcapng.display();
        return Err(format!("candor record writes pcapng; record {pcapng}, then: candor-lab convert {pcapng} {other}"));
    }
    Ok(path)
}

/// A size such as 100MB or 512kB; of at least 64 kB, because a file has its own header.
fn parse_bytes(text: &str) -> Result<NonZeroU64, String> {
    let units = [("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000_u64)];
    let number = units.into_iter().find_map(|(unit, factor)| {
        let number = text.strip_suffix(unit)?.trim_end().parse::<u64>().ok()?;
        number.checked_mul(factor)
    });
    match number {
        Some(bytes @ 64_000..) => Ok(NonZeroU64::new(bytes).unwrap_or(NonZeroU64::MAX)),
        Some(_) => Err("the smallest file is 64kB".to_owned()),
        None => Err("write a number and kB, MB or GB, such as 100MB".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_bytes("100MB").map(NonZeroU64::get), Ok(100_000_000));
        assert_eq!(parse_bytes("64 kB").map(NonZeroU64::get), Ok(64_000));
        for wrong in ["63kB", "100", "MB", "-1MB", "99999999999999GB", "1.5MB"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn files_of_other_formats_are_refused() {
        let of = |name: &str| of_pcapng(name.into());
        assert_eq!(of("drive.pcapng"), Ok("drive.pcapng".into()));
        assert_eq!(of("drive"), Ok("drive".into()));
        assert_eq!(
            of("a/drive.BLF").unwrap_err(),
            "candor record writes pcapng; record a/drive.pcapng, then: candor-lab convert a/drive.pcapng a/drive.BLF"
        );
        assert_eq!(of("-").unwrap_err(), "a recording is a file; candor dump prints frames");
    }
}
