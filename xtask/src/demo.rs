//! The demo: candor's main job on a machine without CAN.

use std::path::PathBuf;
use std::process::Command;

use crate::{static_build, step};

/// The gateway files that are measured, the kernel's first.
const GATEWAYS: [&str; 2] = ["examples/kvaser-kernel.toml", "examples/kvaser-read-write.toml"];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Frames for each gateway.
    #[arg(long, default_value_t = 10_000)]
    frames: u32,
    /// File for the report.
    #[arg(long, default_value = "report.html")]
    html: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let candor = static_build::lab()?;
    let records = step::metadata()?.target_directory.join("demo-records");
    step::run(
        Command::new(&candor)
            .current_dir(step::root())
            .args(["bench"])
            .args(GATEWAYS)
            .args(["--frames", &args.frames.to_string()])
            .args(["--records", records.as_str()])
            .arg("--html")
            .arg(&args.html),
    )
}
