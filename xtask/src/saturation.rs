//! Figure 4.4 of the 2014 report: streams of all engines on two CPU speeds, in the laboratory.

use std::path::PathBuf;

use crate::lab::{self, Guest};
use crate::{static_build, step};

/// can-gw, the report's gateways, and two newer ones.
const ENGINES: [&str; 12] = [
    "kernel",
    "read-write",
    "readbusy-write",
    "readnb-write",
    "mmap-write",
    "mmapbusy-write",
    "readnb-mmap",
    "mmsg-mmsg",
    "mmap-mmap",
    "mmapbusy-mmap",
    "mmap-adaptive",
    "uring-uring",
];

/// Periods in instructions, first, last and step: the same work for CPUs of any speed.
const FROM: u32 = 16_000;
const TO: u32 = 36_000;
const STEP: usize = 1250;

/// CPUs, by the `shift` of QEMU's instruction counter: 250 and 125 million instructions per second.
const SHIFTS: [u8; 2] = [2, 3];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Frames of each stream.
    #[arg(long, default_value_t = 3200)]
    frames: u32,
    /// Kernel by its name in `candor-lab kernels` (default: Debian stable).
    #[arg(long)]
    kernel: Option<String>,
    /// SVG file to draw.
    #[arg(long, default_value = "docs/saturation.svg")]
    svg: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let candor = static_build::lab()?;
    let folder = lab::folder("saturation")?;
    let files = ENGINES
        .iter()
        .map(|engine| {
            lab::write(&folder, engine, &lab::one_rule(engine, "can2", "can3", lab::may_send_by_ring(engine)))
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut results = Vec::new();
    for shift in SHIFTS {
        let guest =
            Guest { candor: &candor, kernel: args.kernel.as_deref(), topology: "kvaser", shift, timeout: "120min" };
        let periods: Vec<_> = (FROM..=TO).step_by(STEP).map(|count| format!("{}ns", count << shift)).collect();
        let (frames, periods) = (args.frames.to_string(), periods.join(","));
        let arguments =
            ["stream", "--way", "can0:can2:can3", "--down", "can1,can4", "--frames", &frames, "--periods", &periods];
        let (measured, _) = guest.json(&files, &arguments.map(str::to_owned))?;
        results.push(lab::write_result(&folder, &format!("shift-{shift}"), &measured)?);
    }
    lab::figure(&candor, "saturation", &results, Some(&step::root().join(&args.svg)))
}
