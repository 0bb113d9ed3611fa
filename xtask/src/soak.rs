//! A gateway under load for long, in virtual time.

use anyhow::{Context as _, bail};

use crate::lab::{self, Guest};
use crate::static_build;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Virtual minutes. Ten take about half an hour of a processor that does nothing else.
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Bit rate of the bus of which the frames take half. Emulated buses have none of their own.
    #[arg(long, default_value = "1Mbit/s")]
    bitrate: String,
    /// Engine of the gateway.
    #[arg(long, default_value = "mmap-adaptive")]
    engine: String,
    /// Kernel by its name in `candor-lab kernels` (default: Debian stable).
    #[arg(long)]
    kernel: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let candor = static_build::lab()?;
    let folder = lab::folder("soak")?;
    let echo = lab::may_send_by_ring(&args.engine);
    let file = lab::write(&folder, &args.engine, &lab::one_rule(&args.engine, "can2", "can3", echo))?;
    let guest = Guest { candor: &candor, kernel: args.kernel.as_deref(), topology: "kvaser", shift: 0, timeout: "24h" };
    let time = format!("{}ms", (args.minutes * 60_000.0).round());
    let arguments =
        ["soak", "--way", "can0:can2:can3", "--down", "can1,can4", "--time", &time, "--bitrate", &args.bitrate];
    let arguments = arguments.map(str::to_owned);
    let (soak, is_fine) = guest.json(&[file], &arguments)?;
    let number = |key: &str| soak[key].as_u64().with_context(|| format!("no {key} in {soak}"));
    let last = |key: &str| {
        soak[key].as_array().and_then(|all| all.last()?.as_u64()).with_context(|| format!("no {key} in {soak}"))
    };
    println!(
        "{} on {}: {} frames, one every {} us, {} of them came in and {} left; longest latency {} instructions; {} KiB \
         of its own, of which {} bytes came while it ran, and {} KiB with the pages of the program that were used",
        args.engine,
        soak["kernel_release"].as_str().unwrap_or_default(),
        number("frames")?,
        number("period_ns")? / 1000,
        number("came")?,
        number("left")?,
        number("max_ns")?,
        last("own_memory_bytes")? >> 10,
        number("growth_bytes")?,
        last("memory_bytes")? >> 10,
    );
    if !is_fine {
        bail!("a frame was lost, doubled or out of order, or the memory grew: {soak}");
    }
    Ok(())
}
